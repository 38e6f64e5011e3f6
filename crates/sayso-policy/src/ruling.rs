//! The decision of all policies on a request (the ruling), with its reasons.

use crate::approvers::{GroupScopes, PeopleGroup};
use crate::demands::{AskDemands, PolicyEffect, in_words};
use crate::evaluate::{FileDecision, ResolvedPolicy, RuleTrace, base, judge};
use crate::policy::{Policy, PolicyLayer, TestOutcome};
use crate::request::{PolicyRequest, RequestedAction, RuleSubject};
use crate::shell::SimpleCommand;
use crate::view::RequestView;
use sayso_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Every policy of a space, from the outermost layer inward.
///
/// Each file is evaluated by itself and the strictest decision counts, so a further layer can only tighten.
#[derive(Debug)]
pub struct PolicySet {
    pub(crate) files: Vec<(Policy, ResolvedPolicy)>,
    pub(crate) groups: BTreeMap<String, PeopleGroup>,
    digest: Digest,
}

impl PolicySet {
    /// Combines these policies, in any order.
    pub fn new(policies: Vec<Policy>) -> Self {
        Self::with_groups(policies, &BTreeMap::new())
    }

    /// Combines these policies with groups from outside; every policy can name them.
    pub fn with_groups(mut policies: Vec<Policy>, people: &BTreeMap<String, Vec<String>>) -> Self {
        policies.sort_by_key(|policy| policy.layer.rank());
        let groups: BTreeMap<String, PeopleGroup> = people
            .iter()
            .map(|(name, people)| {
                let people = people.iter().cloned().collect();
                (name.clone(), PeopleGroup { people, ..PeopleGroup::default() })
            })
            .collect();
        let opened: Vec<ResolvedPolicy> = (0..policies.len())
            .map(|at| ResolvedPolicy::of(&policies[at], &scope(&policies, at, &groups)))
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
    pub fn governs(&self, on: RuleSubject) -> bool {
        self.files().any(|policy| policy.governs(on))
    }

    /// Returns all people in a group of the space or from outside; the owners, if it is empty.
    pub fn people_in(&self, group: &str) -> Vec<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, PolicyLayer::Agent(_)));
        let scopes = shared.map(|policy| &policy.groups).chain([&self.groups]).collect();
        GroupScopes { scopes }.people(group).into_iter().collect()
    }

    /// Returns the names of the groups of the space and from outside.
    pub fn group_names(&self) -> std::collections::BTreeSet<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, PolicyLayer::Agent(_)));
        shared.flat_map(|policy| policy.groups.keys()).chain(self.groups.keys()).cloned().collect()
    }

    /// Decides a request. Deny outweighs ask, ask outweighs allow, and several asks are merged to the strictest.
    pub fn ruling(&self, request: &PolicyRequest) -> Ruling {
        self.ruling_on(&RequestView::of(request))
    }

    pub(crate) fn ruling_on(&self, view: &RequestView<'_>) -> Ruling {
        self.rule(view, &mut RuleTrace::Off)
    }

    fn rule(&self, view: &RequestView<'_>, trace: &mut RuleTrace<'_>) -> Ruling {
        let mut all = base(view.request.on());
        for (policy, opened) in self.files.iter().filter(|(p, _)| applies(&p.layer, view.request)) {
            let judged = judge(policy, opened, view, trace);
            all = stricter(all, judged);
        }
        let FileDecision { effect, demands, because } = all;
        let demands = (effect == PolicyEffect::Ask).then_some(demands);
        Ruling { effect, demands, because }
    }

    /// Decides a request, and returns every rule that was checked.
    pub fn explain(&self, request: &PolicyRequest) -> RulingExplanation {
        let view = RequestView::of(request);
        let mut looked = vec![];
        let ruling = self.rule(&view, &mut RuleTrace::On(&mut looked));
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
        let commands =
            view.line.iter().flat_map(|line| &line.commands).map(SimpleCommand::in_words);
        RulingExplanation {
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
    elsewhere: &'a BTreeMap<String, PeopleGroup>,
) -> GroupScopes<'a> {
    let own = &policies[at];
    let outward = policies.iter().rev().filter(|p| p.layer.rank() <= own.layer.rank());
    let scopes = std::iter::once(&own.groups)
        .chain(outward.map(|policy| &policy.groups))
        .chain([elsewhere])
        .collect();
    GroupScopes { scopes }
}

/// True if a policy of this layer applies to this request.
fn applies(layer: &PolicyLayer, request: &PolicyRequest) -> bool {
    match layer {
        PolicyLayer::Floor | PolicyLayer::Admin | PolicyLayer::Space => true,
        PolicyLayer::Agent(name) => {
            let is_target = match &request.subject {
                RequestedAction::Lifecycle(lifecycle) => lifecycle.target == *name,
                RequestedAction::Tool(_)
                | RequestedAction::Transition(_)
                | RequestedAction::Result(_)
                | RequestedAction::Ask(_) => false,
            };
            is_target || request.agent.name == *name
        }
        PolicyLayer::Task(handle) => {
            request.task.as_ref().is_some_and(|task| task.handle == *handle)
        }
    }
}

fn stricter(mut a: FileDecision, mut b: FileDecision) -> FileDecision {
    if a.effect != b.effect {
        return if a.effect > b.effect { a } else { b };
    }
    a.because.append(&mut b.because);
    let demands = a.demands.merge(&b.demands);
    FileDecision { effect: a.effect, demands, because: a.because }
}

/// The policy decision on a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Allow, ask or deny.
    pub effect: PolicyEffect,
    /// The demands; present if and only if a person is asked.
    pub demands: Option<AskDemands>,
    /// The rules that decided. Empty without a policy.
    pub because: Vec<RulingReason>,
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
pub struct RulingReason {
    pub layer: String,
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for the `otherwise` of the file.
    pub rule: Option<String>,
    /// The effect it had. A rule that denies asks, if it is not certain that it matches.
    pub effect: PolicyEffect,
    /// The reason written in the rule.
    pub reason: String,
    /// A note: a condition that failed, or a part that cannot be determined.
    pub note: Option<String>,
}

impl RulingReason {
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
pub struct RulingExplanation {
    /// The request, in one line.
    pub request: String,
    /// The commands that were found in its command line.
    pub commands: Vec<String>,
    /// The reason why it cannot be determined what the command line runs.
    pub unclear: Option<String>,
    /// Every rule that was checked, in order.
    pub looked: Vec<CheckedRule>,
    pub ruling: Ruling,
    /// Warnings to show in red: timeouts that would approve.
    pub alarms: Vec<String>,
    /// The version of the policies.
    pub policy: Digest,
}

/// A rule that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedRule {
    pub layer: String,
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for the `otherwise` of the file.
    pub rule: Option<String>,
    /// The effect of the rule.
    pub says: PolicyEffect,
    /// True if it matches the request.
    pub matched: bool,
    /// The reason for matching or not.
    pub why: String,
    /// True if it is one of those that decided.
    pub decided: bool,
}
