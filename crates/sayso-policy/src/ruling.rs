//! The decision of all policies on a request (the ruling), with its reasons.

use crate::demands::{Demands, Effect, in_words};
use crate::judge::{Judged, Opened, Trace, base, judge};
use crate::people::{Group, Groups};
use crate::policy::{Layer, Policy, TestOutcome};
use crate::request::{On, Request, Subject};
use crate::shell::Simple;
use crate::view::View;
use sayso_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Every policy of a space, from the outermost layer inward.
///
/// Each file is evaluated by itself and the strictest decision counts, so a further layer can only tighten.
#[derive(Debug)]
pub struct Policies {
    pub(crate) files: Vec<(Policy, Opened)>,
    pub(crate) groups: BTreeMap<String, Group>,
    digest: Digest,
}

impl Policies {
    /// Combines these policies, in any order.
    pub fn new(policies: Vec<Policy>) -> Self {
        Self::with_groups(policies, &BTreeMap::new())
    }

    /// Combines these policies with groups from outside; every policy can name them.
    pub fn with_groups(mut policies: Vec<Policy>, people: &BTreeMap<String, Vec<String>>) -> Self {
        policies.sort_by_key(|policy| policy.layer.rank());
        let groups: BTreeMap<String, Group> = people
            .iter()
            .map(|(name, people)| {
                let people = people.iter().cloned().collect();
                (name.clone(), Group { people, ..Group::default() })
            })
            .collect();
        let opened: Vec<Opened> = (0..policies.len())
            .map(|at| Opened::of(&policies[at], &scope(&policies, at, &groups)))
            .collect();
        let content: Vec<_> = policies
            .iter()
            .map(|policy| json!({"layer": policy.layer, "policy": policy.content}))
            .collect();
        let digest = Digest::of(&json!({"policies": content, "groups": people}));
        Self { files: policies.into_iter().zip(opened).collect(), groups, digest }
    }

    /// Returns the digest of their content: the version that gates and audit entries carry. File names, comments and
    /// tests do not change it.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// True if there is no policy at all. Then only questions are gated.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files, from the outermost layer inward.
    pub fn files(&self) -> impl Iterator<Item = &Policy> {
        self.files.iter().map(|(policy, _)| policy)
    }

    /// True if one of them may ask or deny for this subject.
    pub fn governs(&self, on: On) -> bool {
        self.files().any(|policy| policy.governs(on))
    }

    /// Returns all people in a group of the space or from outside; the owners, if it is empty.
    pub fn people_in(&self, group: &str) -> Vec<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, Layer::Agent(_)));
        let scopes = shared.map(|policy| &policy.groups).chain([&self.groups]).collect();
        Groups { scopes }.people(group).into_iter().collect()
    }

    /// Returns the names of the groups of the space and from outside.
    pub fn group_names(&self) -> std::collections::BTreeSet<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, Layer::Agent(_)));
        shared.flat_map(|policy| policy.groups.keys()).chain(self.groups.keys()).cloned().collect()
    }

    /// Decides a request. Deny outweighs ask, ask outweighs allow, and several asks are merged to the strictest.
    pub fn ruling(&self, request: &Request) -> Ruling {
        self.ruling_on(&View::of(request))
    }

    pub(crate) fn ruling_on(&self, view: &View<'_>) -> Ruling {
        self.rule(view, &mut Trace::Off)
    }

    fn rule(&self, view: &View<'_>, trace: &mut Trace<'_>) -> Ruling {
        let mut all = base(view.request.on());
        for (policy, opened) in self.files.iter().filter(|(p, _)| applies(&p.layer, view.request)) {
            let judged = judge(policy, opened, view, trace);
            all = stricter(all, judged);
        }
        let Judged { effect, demands, because } = all;
        let demands = (effect == Effect::Ask).then_some(demands);
        Ruling { effect, demands, because }
    }

    /// Decides a request, and returns every rule that was checked.
    pub fn explain(&self, request: &Request) -> Explanation {
        let view = View::of(request);
        let mut looked = vec![];
        let ruling = self.rule(&view, &mut Trace::On(&mut looked));
        for entry in &mut looked {
            entry.decided = ruling.because.iter().any(|because| {
                (&because.layer, &because.file, &because.rule)
                    == (&entry.layer, &entry.file, &entry.rule)
            });
        }
        let silent = ruling.demands.as_ref().filter(|demands| demands.may_approve_by_silence());
        let alarms = silent
            .and_then(|demands| demands.deadline_ms)
            .map(|ms| format!("if nobody answers within {}, it counts as approved", in_words(ms)))
            .into_iter()
            .collect();
        let commands = view.line.iter().flat_map(|line| &line.commands).map(Simple::in_words);
        Explanation {
            request: request.in_words(),
            commands: commands.collect(),
            unclear: view.unclear().map(str::to_owned),
            looked,
            ruling,
            alarms,
            policy: self.digest.clone(),
        }
    }

    /// Runs the tests in the files, each against its own file.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.files().flat_map(Policy::run_tests).collect()
    }
}

/// Returns the groups that the policy at this index can name: its own, those of outer layers, those from outside.
pub(crate) fn scope<'a>(
    policies: &'a [Policy],
    at: usize,
    elsewhere: &'a BTreeMap<String, Group>,
) -> Groups<'a> {
    let own = &policies[at];
    let outward = policies.iter().rev().filter(|p| p.layer.rank() <= own.layer.rank());
    let scopes = std::iter::once(&own.groups)
        .chain(outward.map(|policy| &policy.groups))
        .chain([elsewhere])
        .collect();
    Groups { scopes }
}

/// True if a policy of this layer applies to this request.
fn applies(layer: &Layer, request: &Request) -> bool {
    match layer {
        Layer::Floor | Layer::Admin | Layer::Space => true,
        Layer::Agent(name) => {
            let is_target = match &request.subject {
                Subject::Lifecycle(lifecycle) => lifecycle.target == *name,
                Subject::Tool(_)
                | Subject::Transition(_)
                | Subject::Result(_)
                | Subject::Ask(_) => false,
            };
            is_target || request.agent.name == *name
        }
        Layer::Task(handle) => request.task.as_ref().is_some_and(|task| task.handle == *handle),
    }
}

fn stricter(mut a: Judged, mut b: Judged) -> Judged {
    if a.effect != b.effect {
        return if a.effect > b.effect { a } else { b };
    }
    a.because.append(&mut b.because);
    let demands = a.demands.merge(&b.demands);
    Judged { effect: a.effect, demands, because: a.because }
}

/// The policy decision on a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Allow, ask or deny.
    pub effect: Effect,
    /// The demands; present if and only if a person is asked.
    pub demands: Option<Demands>,
    /// The rules that decided. Empty without a policy.
    pub because: Vec<Because>,
}

impl Ruling {
    /// Returns the reasons, for the approver or the refused agent.
    pub fn reason(&self) -> String {
        let said: Vec<String> = self
            .because
            .iter()
            .flat_map(|because| {
                let reason = (!because.reason.is_empty()).then(|| because.reason.clone());
                let fallback =
                    || because.rule.as_ref().map(|rule| format!("The rule {rule} says so."));
                let note =
                    because.note.as_ref().map(|note| format!("{}: {note}.", because.place()));
                reason.or_else(|| note.is_none().then(fallback).flatten()).into_iter().chain(note)
            })
            .collect();
        said.join(" ")
    }
}

/// One reason for a ruling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    pub layer: String,
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for the `otherwise` of the file.
    pub rule: Option<String>,
    /// The effect it had. A rule that denies asks, if it is not certain that it matches.
    pub effect: Effect,
    /// The reason written in the rule.
    pub reason: String,
    /// A note: a condition that failed, or a part that cannot be determined.
    pub note: Option<String>,
}

impl Because {
    /// Returns the rule with its position: `pushes (space.yaml:4)`.
    pub fn place(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or("otherwise");
        match self.line {
            Some(line) => format!("{rule} ({}:{line})", self.file),
            None => format!("{rule} ({})", self.file),
        }
    }
}

/// A ruling with the trace of how it was reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Explanation {
    /// The request, in one line.
    pub request: String,
    /// The commands that were found in its command line.
    pub commands: Vec<String>,
    /// The reason why it cannot be determined what the command line runs.
    pub unclear: Option<String>,
    /// Every rule that was checked, in order.
    pub looked: Vec<Looked>,
    pub ruling: Ruling,
    /// Warnings to show in red: timeouts that would approve.
    pub alarms: Vec<String>,
    /// The version of the policies.
    pub policy: Digest,
}

/// A rule that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    pub layer: String,
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for the `otherwise` of the file.
    pub rule: Option<String>,
    /// The effect of the rule.
    pub says: Effect,
    /// True if it matches the request.
    pub matched: bool,
    /// The reason for matching or not.
    pub why: String,
    /// True if it is one of those that decided.
    pub decided: bool,
}
