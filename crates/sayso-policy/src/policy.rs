//! A parsed policy file: groups, rules, defaults, and its own tests.

use crate::approvers::{ApproverExpression, GroupScopes, PeopleGroup};
use crate::demands::{AskDemands, DeadlineHours, EscalationStep, PolicyEffect};
use crate::diagnostic::FileDiagnostic;
use crate::evaluate::{ResolvedPolicy, RuleTrace, judge};
use crate::expression::CelCondition;
use crate::matching::RuleMatch;
use crate::parse;
use crate::request::{PolicyRequest, RuleSubject};
use crate::view::RequestView;
use sayso_core::{IdentityProof, Risk, TimeoutAction};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The largest policy file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The most rules of a file.
pub const RULES_MAX: usize = 1_000;
/// The most tests of a file.
pub const TESTS_MAX: usize = 1_000;

/// The layer of a policy. Each layer can only tighten those before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyLayer {
    /// The built-in policy.
    Floor,
    /// The policy of the installation's administrator.
    Admin,
    /// The policy of a space.
    Space,
    /// The policy of one agent, by its name; for lifecycle, of the requester and of the target.
    Agent(String),
    /// The policy of one task, by its handle.
    Task(String),
}

impl PolicyLayer {
    /// Returns the order of layers, from the outermost inward.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            PolicyLayer::Floor => 0,
            PolicyLayer::Admin => 1,
            PolicyLayer::Space => 2,
            PolicyLayer::Agent(_) => 3,
            PolicyLayer::Task(_) => 4,
        }
    }
}

impl fmt::Display for PolicyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyLayer::Floor => f.write_str("floor"),
            PolicyLayer::Admin => f.write_str("admin"),
            PolicyLayer::Space => f.write_str("space"),
            PolicyLayer::Agent(name) => write!(f, "agent {name}"),
            PolicyLayer::Task(handle) => write!(f, "task {handle}"),
        }
    }
}

/// One policy file. A value of this type has no mistakes of its own.
#[derive(Debug)]
pub struct Policy {
    pub(crate) layer: PolicyLayer,
    pub(crate) file: String,
    pub(crate) groups: BTreeMap<String, PeopleGroup>,
    pub(crate) otherwise: DefaultEffects,
    pub(crate) terms: AskTerms,
    pub(crate) rules: Vec<PolicyRule>,
    pub(crate) tests: Vec<PolicyTest>,
    /// The relevant content of the file, for the digest.
    pub(crate) content: serde_json::Value,
}

impl Policy {
    /// Parses a policy and checks it, conditions included. `file` is its name in messages.
    ///
    /// Returns as many mistakes as can be found at once, ordered by line.
    pub fn parse(
        layer: PolicyLayer,
        file: &str,
        text: &str,
    ) -> Result<Policy, Vec<FileDiagnostic>> {
        parse::policy(layer, file, text, true)
    }

    /// Parses a text that [`Policy::parse`] accepted before, without checking conditions and unreachable rules again,
    /// which takes time. A condition that is wrong after all asks.
    pub fn parse_again(
        layer: PolicyLayer,
        file: &str,
        text: &str,
    ) -> Result<Policy, Vec<FileDiagnostic>> {
        parse::policy(layer, file, text, false)
    }

    pub fn layer(&self) -> &PolicyLayer {
        &self.layer
    }

    /// Returns the name under which it was parsed.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the names of its rules, in file order.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    /// True if it may ask or deny for this subject.
    pub fn governs(&self, on: RuleSubject) -> bool {
        let restricts = |rule: &PolicyRule| rule.on == on && rule.then != PolicyEffect::Allow;
        self.otherwise.of(on) != PolicyEffect::Allow || self.rules.iter().any(restricts)
    }

    /// Describes its rules for an agent, one line each; empty if the file is for another agent.
    pub fn in_words(&self, agent: &str) -> Vec<String> {
        let is_for = match &self.layer {
            PolicyLayer::Agent(name) => name == agent,
            PolicyLayer::Floor | PolicyLayer::Admin | PolicyLayer::Space | PolicyLayer::Task(_) => {
                true
            }
        };
        let line = |rule: &PolicyRule| {
            let then = match rule.then {
                PolicyEffect::Allow => "allowed",
                PolicyEffect::Ask => "a person is asked",
                PolicyEffect::Deny => "never",
            };
            format!("{} ({}): {then}. {}", rule.name, rule.on, rule.reason).trim_end().to_owned()
        };
        self.rules.iter().filter(|_| is_for).map(line).collect()
    }

    /// Returns the tests in the file.
    pub fn tests(&self) -> &[PolicyTest] {
        &self.tests
    }

    /// Runs the tests in the file against this file alone.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        let opened = ResolvedPolicy::of(self, &GroupScopes { scopes: vec![&self.groups] });
        let run = |test: &PolicyTest| {
            let view = RequestView::of(&test.request);
            let judged = judge(self, &opened, &view, &mut RuleTrace::Off);
            let deciders: Vec<&str> =
                judged.because.iter().map(|b| b.rule.as_deref().unwrap_or("otherwise")).collect();
            let by = deciders.join(", ");
            let failure = match &test.by {
                _ if judged.effect != test.expect => {
                    Some(format!("{} was expected, {} is said by {by}", test.expect, judged.effect))
                }
                Some(rule) if !deciders.contains(&rule.as_str()) => {
                    Some(format!("{rule} was to decide, {by} did"))
                }
                Some(_) | None => None,
            };
            TestOutcome {
                file: self.file.clone(),
                line: test.line,
                name: test.name.clone(),
                failure,
            }
        };
        self.tests.iter().map(run).collect()
    }
}

impl PolicyRule {
    /// True if it looks at the commands of a line.
    pub(crate) fn speaks_of_commands(&self) -> bool {
        // Any command of a line may touch the path.
        let speaks = |matches: &RuleMatch| {
            matches.command.is_some() || (matches.path.is_some() && matches.tool.is_none())
        };
        speaks(&self.matches)
            || self.unless.as_ref().is_some_and(speaks)
            || self.when.as_ref().is_some_and(|when| when.text.contains("tool.command"))
    }
}

/// The effects for requests that no rule matches, by subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DefaultEffects {
    effects: [PolicyEffect; 5],
}

impl Default for DefaultEffects {
    /// Opt-in: without a rule only questions are gated, which need an answer anyway.
    fn default() -> Self {
        let mut otherwise = Self { effects: [PolicyEffect::Allow; 5] };
        otherwise.set(RuleSubject::Ask, PolicyEffect::Ask);
        otherwise
    }
}

impl DefaultEffects {
    pub(crate) const fn of(&self, on: RuleSubject) -> PolicyEffect {
        self.effects[on as usize]
    }

    pub(crate) const fn set(&mut self, on: RuleSubject, effect: PolicyEffect) {
        self.effects[on as usize] = effect;
    }
}

#[derive(Debug)]
pub(crate) struct PolicyRule {
    pub(crate) name: String,
    pub(crate) line: u64,
    pub(crate) on: RuleSubject,
    pub(crate) matches: RuleMatch,
    pub(crate) unless: Option<RuleMatch>,
    pub(crate) when: Option<CelCondition>,
    pub(crate) then: PolicyEffect,
    pub(crate) reason: String,
    pub(crate) terms: AskTerms,
}

/// The demands of an ask, as far as a rule or a file states them.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskTerms {
    pub(crate) of: Option<ApproverExpression>,
    pub(crate) veto: Option<Vec<ApproverExpression>>,
    pub(crate) not_launcher: Option<bool>,
    pub(crate) proof: Option<IdentityProof>,
    pub(crate) risk: Option<Risk>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) remind_ms: Option<Vec<u64>>,
    pub(crate) escalate: Option<Vec<(u64, ApproverExpression)>>,
    pub(crate) at_end: Option<TimeoutAction>,
    pub(crate) hours: Option<DeadlineHours>,
    /// The line in the file.
    pub(crate) line: u64,
}

impl AskTerms {
    /// Returns these, completed by those of the file.
    pub(crate) fn or(&self, file: &AskTerms) -> AskTerms {
        AskTerms {
            of: self.of.clone().or_else(|| file.of.clone()),
            veto: self.veto.clone().or_else(|| file.veto.clone()),
            not_launcher: self.not_launcher.or(file.not_launcher),
            proof: self.proof.or(file.proof),
            risk: self.risk.or(file.risk),
            deadline_ms: self.deadline_ms.or(file.deadline_ms),
            remind_ms: self.remind_ms.clone().or_else(|| file.remind_ms.clone()),
            escalate: self.escalate.clone().or_else(|| file.escalate.clone()),
            at_end: self.at_end.or(file.at_end),
            hours: self.hours.or(file.hours),
            line: if self.line > 0 { self.line } else { file.line },
        }
    }

    /// Resolves groups to people and fills in the defaults.
    pub(crate) fn resolve(&self, groups: &GroupScopes<'_>) -> AskDemands {
        let veto = self.veto.iter().flatten().flat_map(|who| match who {
            ApproverExpression::Group(name) => groups.people(name),
            ApproverExpression::Person(name) => [name.clone()].into(),
            ApproverExpression::Anyone
            | ApproverExpression::All(_)
            | ApproverExpression::AtLeast(..) => Default::default(),
        });
        let who = self.of.clone().unwrap_or(ApproverExpression::Anyone);
        let approvers = who.resolve(groups);
        // A level adds people: earlier approvers can still decide.
        let mut levels: Vec<&(u64, ApproverExpression)> = self.escalate.iter().flatten().collect();
        levels.sort_by_key(|(after_ms, _)| *after_ms);
        let mut ways = vec![who];
        let escalate = levels
            .into_iter()
            .map(|(after_ms, level)| {
                ways.push(level.clone());
                let approvers = ApproverExpression::AtLeast(1, ways.clone()).resolve(groups);
                EscalationStep { after_ms: *after_ms, approvers }
            })
            .collect();
        AskDemands {
            approvers,
            veto: veto.collect(),
            not_launcher: self.not_launcher.unwrap_or_default(),
            proof: self.proof.unwrap_or(IdentityProof::None),
            risk: self.risk.unwrap_or_default(),
            deadline_ms: self.deadline_ms,
            remind_ms: self.remind_ms.clone().unwrap_or_default(),
            escalate,
            at_end: self.at_end.unwrap_or_default(),
            hours: self.hours.unwrap_or_default(),
        }
    }
}

/// A test case in a policy file.
#[derive(Debug, Clone)]
pub struct PolicyTest {
    pub name: String,
    /// The line in the file.
    pub line: u64,
    pub request: PolicyRequest,
    /// The expected decision.
    pub expect: PolicyEffect,
    /// The rule that is to decide; `otherwise` for none.
    pub by: Option<String>,
}

/// The result of a test.
#[derive(Debug, Clone, Serialize)]
pub struct TestOutcome {
    pub file: String,
    pub line: u64,
    pub name: String,
    /// The reason of the failure, if it failed.
    pub failure: Option<String>,
}

impl TestOutcome {
    /// True if the policy decided as expected.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }
}
