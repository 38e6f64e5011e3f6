//! Approval rules: one person, all of, k of n (quorum). Decides if the votes given satisfy the rule.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The approvers whose approval opens a gate. Groups are resolved to people before they get here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approvers {
    /// Any one person of the space.
    #[default]
    Anyone,
    /// The person of this name.
    Person(String),
    /// Every one of these parts.
    All(Vec<Approvers>),
    /// At least `least` of these parts, by as many different people.
    Some {
        /// The number of parts required.
        least: usize,
        /// The parts to choose from.
        of: Vec<Approvers>,
    },
}

impl Approvers {
    /// True if the approvals of these people suffice. An empty list is never satisfied.
    pub fn satisfied_by(&self, yes: &BTreeSet<&str>) -> bool {
        match self {
            Approvers::Anyone => !yes.is_empty(),
            Approvers::Person(name) => yes.contains(name.as_str()),
            Approvers::All(parts) => !parts.is_empty() && parts.iter().all(|p| p.satisfied_by(yes)),
            Approvers::Some { least, of } => {
                // A person in two groups counts once.
                let people = yes.iter().filter(|name| self.admits(name)).count();
                let parts = of.iter().filter(|p| p.satisfied_by(yes)).count();
                *least > 0 && parts >= *least && people >= *least
            }
        }
    }

    /// True if this person's vote counts.
    pub fn admits(&self, name: &str) -> bool {
        match self {
            Approvers::Anyone => true,
            Approvers::Person(person) => person == name,
            Approvers::All(parts) | Approvers::Some { of: parts, .. } => {
                parts.iter().any(|p| p.admits(name))
            }
        }
    }

    /// True if the rule could ever be satisfied with the person `missing_after` left out.
    pub fn can_be_satisfied(&self, without: Option<&str>) -> bool {
        // Placeholders stand for the people that "anyone" may be; a control character keeps them apart from real
        // names.
        let strangers: Vec<String> = (0..self.size()).map(|n| format!("\0{n}")).collect();
        let mut people: BTreeSet<&str> = strangers.iter().map(String::as_str).collect();
        self.names(&mut people);
        people.retain(|name| Some(*name) != without);
        self.satisfied_by(&people)
    }

    /// Returns the same rule with each name replaced by the result of `each`: the name itself, the members of a
    /// group, or a refusal.
    pub fn try_map<E>(
        &self,
        each: &mut impl FnMut(&str) -> Result<Vec<String>, E>,
    ) -> Result<Approvers, E> {
        let mut list = |parts: &[Approvers]| -> Result<Vec<Approvers>, E> {
            let mut found: Vec<Approvers> = vec![];
            for part in parts {
                let opened = match part {
                    Approvers::Person(name) => {
                        each(name)?.into_iter().map(Approvers::Person).collect()
                    }
                    Approvers::Anyone => vec![Approvers::Anyone],
                    Approvers::All(_) | Approvers::Some { .. } => vec![part.try_map(each)?],
                };
                // A person in two groups counts once; "anyone" twice is two people.
                for one in opened {
                    if one == Approvers::Anyone || !found.contains(&one) {
                        found.push(one);
                    }
                }
            }
            Ok(found)
        };
        Ok(match self {
            Approvers::Anyone => Approvers::Anyone,
            Approvers::Person(name) => {
                let mut people: Vec<_> = each(name)?.into_iter().map(Approvers::Person).collect();
                match people.len() {
                    1 => people.remove(0),
                    _ => Approvers::Some { least: 1, of: people },
                }
            }
            Approvers::All(parts) => Approvers::All(list(parts)?),
            Approvers::Some { least, of } => Approvers::Some { least: *least, of: list(of)? },
        })
    }

    fn size(&self) -> usize {
        match self {
            Approvers::Anyone | Approvers::Person(_) => 1,
            Approvers::All(parts) | Approvers::Some { of: parts, .. } => {
                parts.iter().map(Approvers::size).sum()
            }
        }
    }

    fn names<'a>(&'a self, into: &mut BTreeSet<&'a str>) {
        match self {
            Approvers::Anyone => {}
            Approvers::Person(name) => drop(into.insert(name)),
            Approvers::All(parts) | Approvers::Some { of: parts, .. } => {
                parts.iter().for_each(|p| p.names(into));
            }
        }
    }

    /// Returns the approvals that are still missing after those of `yes`; `None` if they suffice.
    pub fn missing_after(&self, yes: &BTreeSet<&str>) -> Option<Approvers> {
        if self.satisfied_by(yes) {
            return None;
        }
        let rest = |parts: &[Approvers]| -> Vec<_> {
            parts.iter().filter_map(|part| part.missing_after(yes)).collect()
        };
        Some(match self {
            Approvers::Anyone | Approvers::Person(_) => self.clone(),
            Approvers::All(parts) => Self::all_of(rest(parts)),
            Approvers::Some { least, of } => {
                let rest = rest(of);
                let given = of.len() - rest.len();
                match least.checked_sub(given).filter(|missing| *missing > 0) {
                    Some(missing) if missing == rest.len() => Self::all_of(rest),
                    Some(least) => Approvers::Some { least, of: rest },
                    // Enough parts, but by too few people: the next approver must be a different person.
                    None => self.clone(),
                }
            }
        })
    }

    fn all_of(mut parts: Vec<Approvers>) -> Self {
        match parts.len() {
            1 => parts.remove(0),
            _ => Approvers::All(parts),
        }
    }

    /// Returns the rule as text: `ann`, `2 of (ann, bob, cid)`.
    pub fn in_words(&self) -> String {
        let list = |parts: &[Approvers]| {
            parts.iter().map(Approvers::in_words).collect::<Vec<_>>().join(", ")
        };
        match self {
            Approvers::Anyone => "anyone".into(),
            Approvers::Person(name) => name.clone(),
            Approvers::All(parts) => format!("all of ({})", list(parts)),
            Approvers::Some { least, of } => format!("{least} of ({})", list(of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_suffices() {
        let person = |n: &str| Approvers::Person(n.into());
        let two =
            Approvers::Some { least: 2, of: vec![person("ann"), person("bob"), person("cid")] };
        let both = Approvers::All(vec![two.clone(), person("dan")]);
        let any_two = Approvers::Some { least: 2, of: vec![Approvers::Anyone, Approvers::Anyone] };
        let one_of = |names: [&str; 2]| Approvers::Some { least: 1, of: names.map(person).into() };
        let groups =
            Approvers::Some { least: 2, of: vec![one_of(["ann", "bob"]), one_of(["ann", "cid"])] };
        let table: Vec<(&Approvers, &[&str], bool)> = vec![
            (&Approvers::Anyone, &[], false),
            (&Approvers::Anyone, &["eve"], true),
            (&two, &["ann"], false),
            (&two, &["ann", "eve"], false),
            (&two, &["ann", "cid"], true),
            (&both, &["ann", "cid"], false),
            (&both, &["ann", "cid", "dan"], true),
            (&any_two, &["ann"], false),
            (&any_two, &["ann", "bob"], true),
            (&groups, &["ann"], false),
            (&groups, &["ann", "eve"], false),
            (&groups, &["ann", "bob"], true),
        ];
        for (approvers, yes, expected) in table {
            let yes = yes.iter().copied().collect();
            assert_eq!(approvers.satisfied_by(&yes), expected, "{approvers:?} {yes:?}");
        }
        assert!(both.admits("dan") && !both.admits("eve"));
        assert_eq!(both.in_words(), "all of (2 of (ann, bob, cid), dan)");
    }

    #[test]
    fn whose_yes_is_missing() {
        let person = |n: &str| Approvers::Person(n.into());
        let of = |least, names: &[&str]| Approvers::Some {
            least,
            of: names.iter().map(|n| person(n)).collect(),
        };
        let both = Approvers::All(vec![of(2, &["ann", "bob", "cid"]), person("dan")]);
        let any_two = Approvers::Some { least: 2, of: vec![Approvers::Anyone, Approvers::Anyone] };
        let table: [(&Approvers, &[&str], &str); 8] = [
            (&of(2, &["ann", "bob"]), &["ann"], "bob"),
            (&of(2, &["ann", "bob", "cid"]), &["ann"], "1 of (bob, cid)"),
            (&of(3, &["ann", "bob", "cid"]), &["ann"], "all of (bob, cid)"),
            (&both, &["ann"], "all of (1 of (bob, cid), dan)"),
            (&both, &["ann", "bob"], "dan"),
            (&any_two, &["ann"], "2 of (anyone, anyone)"),
            (&of(2, &["ann", "bob"]), &["eve"], "all of (ann, bob)"),
            (&of(2, &["ann", "bob"]), &["ann", "bob"], ""),
        ];
        for (approvers, yes, expected) in table {
            let yes = yes.iter().copied().collect();
            let missing = approvers.missing_after(&yes).map(|it| it.in_words()).unwrap_or_default();
            assert_eq!(missing, expected, "{approvers:?} {yes:?}");
        }
    }

    #[test]
    fn an_empty_group_is_never_satisfied() {
        let everyone = BTreeSet::from(["ann", "bob"]);
        assert!(!Approvers::All(vec![]).satisfied_by(&everyone));
        assert!(!Approvers::Some { least: 0, of: vec![] }.satisfied_by(&everyone));
        assert!(!Approvers::Some { least: 1, of: vec![] }.satisfied_by(&everyone));
    }

    #[test]
    fn who_could_ever_suffice() {
        let person = |n: &str| Approvers::Person(n.into());
        let of = |least, names: &[&str]| Approvers::Some {
            least,
            of: names.iter().map(|n| person(n)).collect(),
        };
        let any_two = Approvers::Some { least: 2, of: vec![Approvers::Anyone, Approvers::Anyone] };
        for (approvers, without, expected) in [
            (Approvers::Anyone, Some("ann"), true),
            (person("ann"), None, true),
            (person("ann"), Some("ann"), false),
            (of(2, &["ann", "bob"]), None, true),
            (of(2, &["ann", "bob"]), Some("bob"), false),
            (of(3, &["ann", "bob"]), None, false),
            (of(2, &["ann", "ann"]), None, false),
            (of(0, &["ann"]), None, false),
            (any_two, None, true),
            (Approvers::All(vec![]), None, false),
        ] {
            assert_eq!(approvers.can_be_satisfied(without), expected, "{approvers:?} {without:?}");
        }
    }
}
