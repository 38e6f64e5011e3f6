//! Checks policies against the names that exist in a space: unknown people, groups, roles and statuses, and empty
//! groups.

use crate::approvers::{ApproverExpression, GroupScopes};
use crate::diagnostic::{FileDiagnostic, FileDiagnostics, nearest};
use crate::glob::DualPattern;
use crate::parse;
use crate::policy::{AskTerms, Policy, PolicyLayer, PolicyRule};
use crate::ruling::PolicySet;
use sayso_core::task::TaskStatus;
use std::collections::{BTreeMap, BTreeSet};

/// The names that exist. A kind that is `None` is not known, and is not checked.
#[derive(Debug, Clone, Default)]
pub struct KnownNames {
    pub statuses: Option<BTreeSet<String>>,
    /// The roles that agents work in.
    pub roles: Option<BTreeSet<String>>,
    pub people: Option<BTreeSet<String>>,
    pub agents: Option<BTreeSet<String>>,
    /// Groups from outside the policies; every policy can name them.
    pub groups: BTreeMap<String, Vec<String>>,
}

impl KnownNames {
    /// Returns the statuses that every space has, and no other names.
    pub fn of_every_space() -> Self {
        let statuses = TaskStatus::ALL.iter().map(|status| status.as_str().to_owned()).collect();
        Self { statuses: Some(statuses), ..Self::default() }
    }
}

/// Returns all mistakes in these files, each on its own and all together against the known names, so that a person
/// fixes them at once. A file is its layer, its name and its text.
pub fn mistakes<'a>(
    files: impl IntoIterator<Item = (PolicyLayer, &'a str, &'a str)>,
    known: &KnownNames,
) -> Vec<FileDiagnostic> {
    let (mut names, mut policies, mut found, mut is_whole) = (vec![], vec![], vec![], true);
    for (layer, file, text) in files {
        let (policy, mistakes) = parse::as_far_as_possible(layer, file, text, true);
        names.push(file);
        is_whole &= policy.is_some();
        policies.extend(policy);
        found.extend(mistakes);
    }
    // While one file cannot be read, the names it defines are not known.
    if is_whole {
        let is_news = |mistake: &FileDiagnostic, found: &[FileDiagnostic]| {
            found.iter().all(|other| (&other.file, other.line) != (&mistake.file, mistake.line))
        };
        let in_the_world = PolicySet::with_groups(policies, &known.groups).check(known);
        let news: Vec<_> = in_the_world.into_iter().filter(|m| is_news(m, &found)).collect();
        found.extend(news);
    }
    let place = |file: &str| names.iter().position(|name| *name == file);
    found.sort_by_key(|mistake| (place(&mistake.file), mistake.line));
    found
}

impl PolicySet {
    /// Returns the mistakes in these policies against the known names: unknown groups, people, agents, roles and
    /// statuses, demands that cannot be met, groups that are defined twice.
    pub fn check(&self, known: &KnownNames) -> Vec<FileDiagnostic> {
        let mut all = vec![];
        for at in 0..self.files.len() {
            let (policy, _) = &self.files[at];
            let mut checker = PolicyChecker {
                known,
                groups: self.scope_of(at),
                mistakes: FileDiagnostics::of(&policy.file),
            };
            self.check_double_groups(at, &mut checker.mistakes);
            checker.policy(policy);
            all.extend(checker.mistakes.into_sorted());
        }
        all
    }

    fn scope_of(&self, at: usize) -> GroupScopes<'_> {
        let own = &self.files[at].0;
        let outward = self.files().filter(|p| p.layer.rank() <= own.layer.rank());
        let scopes = std::iter::once(&own.groups)
            .chain(outward.map(|policy| &policy.groups))
            .chain([&self.groups])
            .collect();
        GroupScopes { scopes }
    }

    fn check_double_groups(&self, at: usize, mistakes: &mut FileDiagnostics) {
        let (policy, _) = &self.files[at];
        for (name, group) in &policy.groups {
            let earlier =
                self.files[..at].iter().find(|(other, _)| other.groups.contains_key(name));
            let place = match earlier {
                Some((other, _)) => other.file.as_str(),
                None if self.groups.contains_key(name) => "the list of people",
                None => continue,
            };
            let what = format!("the group `{name}` is defined in {place} already");
            mistakes.add(group.line, what, "use that one, or give this one another name");
        }
    }
}

struct PolicyChecker<'a> {
    known: &'a KnownNames,
    groups: GroupScopes<'a>,
    mistakes: FileDiagnostics,
}

impl PolicyChecker<'_> {
    fn policy(&mut self, policy: &Policy) {
        if let PolicyLayer::Agent(name) = &policy.layer {
            self.name(0, "agent", name, self.known.agents.as_ref());
        }
        for (name, group) in &policy.groups {
            for person in &group.people {
                self.name(group.line, "person", person, self.known.people.as_ref());
            }
            for other in &group.groups {
                self.group(group.line, other);
            }
            if self.groups.members(name).is_empty() {
                let what = format!("nobody is in the group `{name}`");
                self.mistakes.add(group.line, what, "add somebody, or drop it");
            }
        }
        self.terms(&policy.terms);
        for rule in &policy.rules {
            self.rule(rule);
        }
    }

    fn rule(&mut self, rule: &PolicyRule) {
        for matches in [Some(&rule.matches), rule.unless.as_ref()].into_iter().flatten() {
            let known = self.known;
            for (what, patterns, names) in [
                ("status", &matches.from, &known.statuses),
                ("status", &matches.to, &known.statuses),
                ("role", &matches.role, &known.roles),
                ("agent", &matches.agent, &known.agents),
                ("agent", &matches.target, &known.agents),
            ] {
                for pattern in patterns.iter().flatten() {
                    self.pattern(rule.line, what, pattern, names.as_ref());
                }
            }
        }
        self.terms(&rule.terms);
    }

    /// Reports a pattern that matches no existing name.
    fn pattern(
        &mut self,
        line: u64,
        what: &str,
        pattern: &DualPattern,
        names: Option<&BTreeSet<String>>,
    ) {
        let Some(names) = names else { return };
        if !names.iter().any(|name| pattern.loose.fits(name)) {
            self.unknown(line, what, &pattern.text, names);
        }
    }

    fn name(&mut self, line: u64, what: &str, name: &str, names: Option<&BTreeSet<String>>) {
        if let Some(names) = names.filter(|names| !names.contains(name)) {
            self.unknown(line, what, name, names);
        }
    }

    fn unknown(&mut self, line: u64, what: &str, name: &str, names: &BTreeSet<String>) {
        let fix = match nearest(name, names.iter().map(String::as_str)) {
            Some(close) => format!("write `{close}`"),
            None if names.len() <= 12 => {
                let all: Vec<_> = names.iter().map(String::as_str).collect();
                format!("there are {}", all.join(", "))
            }
            None => "mend the name".into(),
        };
        self.mistakes.add(line, format!("there is no {what} `{name}`"), fix);
    }

    fn group(&mut self, line: u64, name: &str) {
        if self.groups.find(name).is_none() {
            let names = self.groups.scopes.iter().flat_map(|scope| scope.keys());
            let fix = match nearest(name, names.map(String::as_str)) {
                Some(close) => format!("write `@{close}`"),
                None => format!("add it to `groups:`, as `{name}: [ann, bob]`"),
            };
            self.mistakes.add(line, format!("there is no group `@{name}`"), fix);
        }
    }

    fn terms(&mut self, terms: &AskTerms) {
        let line = terms.line;
        let levels = terms.escalate.iter().flatten().map(|(_, who)| who);
        for who in terms.of.iter().chain(levels) {
            let mut is_known = true;
            for name in who.names() {
                is_known &= self.check_approver(line, name);
            }
            if is_known && !who.resolve(&self.groups).can_be_satisfied(None) {
                let what = "more people are asked for than there are";
                self.mistakes.add(line, what, "ask for fewer, or add people to the group");
            }
        }
        for who in terms.veto.iter().flatten() {
            self.check_approver(line, who);
        }
    }

    fn check_approver(&mut self, line: u64, who: &ApproverExpression) -> bool {
        match who {
            ApproverExpression::Person(name) => {
                self.name(line, "person", name, self.known.people.as_ref());
                self.known.people.as_ref().is_none_or(|people| people.contains(name))
            }
            ApproverExpression::Group(name) => {
                self.group(line, name);
                self.groups.find(name).is_some()
            }
            ApproverExpression::Anyone
            | ApproverExpression::All(_)
            | ApproverExpression::AtLeast(..) => true,
        }
    }
}
