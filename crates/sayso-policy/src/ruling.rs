//! All policies together: what they say of a request, and why.

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

/// Every policy that holds in a space, from the outermost layer inward.
///
/// Each file is judged by itself and the strictest word counts, so a further layer can only tighten.
#[derive(Debug)]
pub struct Policies {
    pub(crate) files: Vec<(Policy, Opened)>,
    pub(crate) groups: BTreeMap<String, Group>,
    digest: Digest,
}

impl Policies {
    /// These policies, in whatever order.
    pub fn new(policies: Vec<Policy>) -> Self {
        Self::with_groups(policies, &BTreeMap::new())
    }

    /// These policies, with groups of people that are kept elsewhere; every policy can name them.
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

    /// Names all that these policies say: the version that gates and audit entries carry. Names of
    /// files, comments and tests do not change it.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Whether there is no policy at all. Then nothing is gated that was not asked for.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files, from the outermost layer inward.
    pub fn files(&self) -> impl Iterator<Item = &Policy> {
        self.files.iter().map(|(policy, _)| policy)
    }

    /// One of them may ask or deny where this is about.
    pub fn governs(&self, on: On) -> bool {
        self.files().any(|policy| policy.governs(on))
    }

    /// Everybody in a group that the space, or people kept elsewhere, know; the owners, if that is nobody.
    pub fn people_in(&self, group: &str) -> Vec<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, Layer::Agent(_)));
        let scopes = shared.map(|policy| &policy.groups).chain([&self.groups]).collect();
        Groups { scopes }.people(group).into_iter().collect()
    }

    /// The groups that the space, or people kept elsewhere, know by name.
    pub fn group_names(&self) -> std::collections::BTreeSet<String> {
        let shared = self.files.iter().map(|(policy, _)| policy);
        let shared = shared.filter(|policy| !matches!(policy.layer, Layer::Agent(_)));
        shared.flat_map(|policy| policy.groups.keys()).chain(self.groups.keys()).cloned().collect()
    }

    /// What they say of a request. Deny outweighs ask, ask outweighs allow, and several asks are
    /// merged to the strictest.
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

    /// The same ruling, with everything that was looked at on the way.
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

    /// Runs the tests written in the files, each against its own file.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.files().flat_map(Policy::run_tests).collect()
    }
}

/// The groups the policy at this place can see: its own, those further out, those kept elsewhere.
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

/// Whether a policy of this layer has a say in this request.
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

/// What policy says of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Allow, ask or deny.
    pub effect: Effect,
    /// What is demanded; there exactly when a person is asked.
    pub demands: Option<Demands>,
    /// The rules that decided. None where there is no policy.
    pub because: Vec<Because>,
}

impl Ruling {
    /// Why, in words for whoever is asked or refused.
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
    /// The layer it comes from.
    pub layer: String,
    /// The file.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// What it came to. A rule that denies asks, where it is not certain that it is meant.
    pub effect: Effect,
    /// The rule's own reason.
    pub reason: String,
    /// What else is to be known: a condition that failed, a part that cannot be told.
    pub note: Option<String>,
}

impl Because {
    /// `pushes (space.yaml:4)`.
    pub fn place(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or("otherwise");
        match self.line {
            Some(line) => format!("{rule} ({}:{line})", self.file),
            None => format!("{rule} ({})", self.file),
        }
    }
}

/// A ruling and the way to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Explanation {
    /// The request, in a line.
    pub request: String,
    /// The commands that were found in its command line.
    pub commands: Vec<String>,
    /// Why it cannot be told what the command line runs.
    pub unclear: Option<String>,
    /// Every rule that was looked at, in order.
    pub looked: Vec<Looked>,
    /// What came of it.
    pub ruling: Ruling,
    /// What must be shown in red: silence that would approve.
    pub alarms: Vec<String>,
    /// The version of the policies.
    pub policy: Digest,
}

/// A rule that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The layer it comes from.
    pub layer: String,
    /// The file.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// What it says.
    pub says: Effect,
    /// Whether it speaks of the request.
    pub matched: bool,
    /// Why, or why not.
    pub why: String,
    /// Whether it is one of those that decided.
    pub decided: bool,
}
