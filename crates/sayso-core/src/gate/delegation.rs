//! Delegation and deputies: the people whose vote one person may give, by delegation or as a deputy. A person with
//! several votes still counts as one person and uses one of them, so an absence never turns one approver into two.

use super::{AnswerSignature, Gate};
use crate::{Actor, Approvers, IdentityProof, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The maximum number of assignments of votes that are tried. Beyond it the approval counts as insufficient.
const CHOICES_MAX: usize = 10_000;

/// An absent person with a deputy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Absentee {
    /// The name of the person.
    pub name: String,
    /// The proof given when the absence was set: a deputy never gets more than that.
    pub proof: IdentityProof,
}

/// The introduction of one person by another: by an invitation that was used, or by a credential made for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The name of the person who was introduced.
    pub name: String,
    /// The name of the person who delegates.
    pub by: String,
    /// The time of the delegation.
    pub at: Timestamp,
}

/// Returns the people who introduced these voices after a moment, directly or through others. They had the chance to
/// answer under those names, and to delegate them.
pub(super) fn let_in_since<'a>(
    actor: &'a Actor,
    voices: &BTreeSet<&'a str>,
    since: Timestamp,
) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::new();
    let mut open: Vec<_> = voices.iter().copied().collect();
    while let Some(name) = open.pop() {
        let later = actor.introductions.iter().filter(|it| it.name == name && it.at > since);
        open.extend(later.map(|it| it.by.as_str()).filter(|by| known.insert(*by)));
    }
    known.remove(actor.name.as_str());
    known
}

/// The voices of each person who signed. Signatures are one person's where [`AnswerSignature::is_one_with`] says so, also
/// through a third.
pub(super) fn people<'a>(
    signatures: impl Iterator<Item = &'a AnswerSignature>,
) -> Vec<BTreeSet<&'a str>> {
    let mut all: Vec<Vec<&AnswerSignature>> = vec![];
    for signature in signatures {
        let is_same = |other: &&AnswerSignature| signature.is_one_with(other);
        let (same, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|person| person.iter().any(is_same));
        all = others;
        all.push(same.into_iter().flatten().chain([signature]).collect());
    }
    let voices = |person: Vec<&'a AnswerSignature>| {
        person.into_iter().flat_map(AnswerSignature::represented).collect()
    };
    all.into_iter().map(voices).collect()
}

/// A delegation of one gate to another person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateDelegation {
    /// The name of the person who delegates.
    pub from: String,
    /// The name of the person who may answer instead.
    pub to: String,
    /// The reason of the delegation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time of the delegation.
    pub at: Timestamp,
}

/// The audience of a gate, as seen by one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAudience {
    /// For this person: by name, since anyone may answer, or since they got it by delegation or claimed it.
    Yours,
    /// For several people, of whom this person is one.
    Groups,
    /// For other people; this person may only look.
    Others,
}

impl Gate {
    /// Returns the audience as seen by this person.
    pub fn audience_for(&self, actor: &Actor) -> GateAudience {
        let voices = self.represented(&actor.name, &actor.stands_for);
        let is_handed = self.delegations.iter().any(|handed| handed.to == actor.name);
        let is_taken = self.claim.as_ref().is_some_and(|claim| claim.by == actor.name);
        let names_them = |approvers: &Approvers| match approvers {
            Approvers::Anyone => true,
            Approvers::Person(name) => voices.contains(name.as_str()),
            Approvers::All(_) | Approvers::Some { .. } => false,
        };
        match self.is_for(actor) {
            false => GateAudience::Others,
            true if is_handed || is_taken || self.approvers().any(names_them) => {
                GateAudience::Yours
            }
            true => GateAudience::Groups,
        }
    }

    /// Returns the people whose vote this person may give here: themselves, people who delegated this gate to them,
    /// and absent people whose deputy they are. People who are excluded have no vote to pass on.
    pub fn represented<'a>(
        &'a self,
        name: &'a str,
        stands_for: &'a [Absentee],
    ) -> BTreeSet<&'a str> {
        let least = self.opened.least_proof;
        let absent = stands_for.iter().filter(|a| a.proof >= least).map(|a| a.name.as_str());
        let handed = self.delegations.iter().filter(|d| d.to == name).map(|d| d.from.as_str());
        let others = absent.chain(handed).filter(|other| !self.excludes(other));
        others.chain([name]).collect()
    }

    /// True if the gate holds a vote of this person, or a delegation by them.
    pub fn holds_voice_of(&self, name: &str) -> bool {
        self.votes.iter().any(|vote| vote.is_of(name))
            || self.delegations.iter().any(|handed| handed.from == name)
    }

    /// True if the approval takes more people than this one, with all the voices they have.
    pub fn takes_others_than(&self, actor: &Actor) -> bool {
        let voices = [self.represented(&actor.name, &actor.stands_for)];
        !self.approvers().any(|approvers| suffices(approvers, &voices))
    }

    /// True if this person is excluded because they launched the asker.
    pub fn excludes(&self, name: &str) -> bool {
        self.opened.launcher_excluded && self.opened.lineage.launcher.as_deref() == Some(name)
    }

    /// True if one of these people is among the approvers.
    pub(super) fn admits(&self, voices: &BTreeSet<&str>) -> bool {
        self.approvers().any(|approvers| voices.iter().any(|voice| approvers.admits(voice)))
    }
}

/// True if it suffices that each of these people approves with one of the votes they have.
pub(super) fn suffices(approvers: &Approvers, people: &[BTreeSet<&str>]) -> bool {
    let mut choices = 0;
    choose(approvers, people, &mut vec![], &mut choices)
}

fn choose<'a>(
    approvers: &Approvers,
    people: &[BTreeSet<&'a str>],
    chosen: &mut Vec<&'a str>,
    choices: &mut usize,
) -> bool {
    let Some((first, others)) = people.split_first() else {
        *choices += 1;
        // Two people who use the same vote count as one.
        return approvers.satisfied_by(&chosen.iter().copied().collect());
    };
    for voice in first {
        if *choices >= CHOICES_MAX {
            return false;
        }
        chosen.push(voice);
        let is_enough = choose(approvers, others, chosen, choices);
        chosen.pop();
        if is_enough {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_is_one_voice() {
        let person = |name: &str| Approvers::Person(name.into());
        let both = || Approvers::All(vec![person("ann"), person("bob")]);
        let two =
            || Approvers::Some { least: 2, of: vec![person("ann"), person("bob"), person("cid")] };
        let group = |least| Approvers::Some { least, of: vec![person("ann"), person("cid")] };
        type Case = (&'static str, Approvers, &'static [&'static [&'static str]], bool);
        let table: Vec<Case> = vec![
            ("their own", person("ann"), &[&["ann"]], true),
            ("a stand-in", person("ann"), &[&["ann", "bob"]], true),
            ("somebody else", person("ann"), &[&["bob"]], false),
            ("nobody", Approvers::Anyone, &[], false),
            ("one for two", both(), &[&["ann", "bob"]], false),
            ("two, one of them for another", both(), &[&["ann", "dan"], &["bob"]], true),
            ("two, who could be taken wrongly", both(), &[&["ann", "bob"], &["bob"]], true),
            ("two with one voice", both(), &[&["ann", "bob"], &["cid"]], false),
            ("one for two of three", two(), &[&["ann", "bob", "cid"]], false),
            ("two for two of three", two(), &[&["ann", "bob"], &["cid", "bob"]], true),
            ("both for the same one", two(), &[&["ann"], &["ann"]], false),
            ("a stand-in from outside", group(2), &[&["ann", "eve"], &["cid"]], true),
            ("one of a group", group(1), &[&["cid", "eve"]], true),
        ];
        for (name, approvers, people, expected) in table {
            let people: Vec<_> = people.iter().map(|all| all.iter().copied().collect()).collect();
            assert_eq!(suffices(&approvers, &people), expected, "{name}");
        }
    }

    /// Many people with many votes are tried in bounded time, and an unfinished search counts as insufficient.
    #[test]
    fn there_is_an_end_to_choosing() {
        let names: Vec<String> = (0..12).map(|n| format!("p{n}")).collect();
        let all: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let people = vec![all; 12];
        let missing = Approvers::Person("nobody".into());
        assert!(!suffices(&missing, &people));
    }
}
