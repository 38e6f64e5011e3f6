//! A parsed policy file: groups, rules, defaults, and its own tests.

use crate::demands::{Demands, Effect, Escalation, Hours};
use crate::expression::Expression;
use crate::judge::{Opened, Trace, judge};
use crate::matching::Match;
use crate::mistake::Mistake;
use crate::parse;
use crate::people::{Group, Groups, Who};
use crate::request::{On, Request};
use crate::view::View;
use sayso_core::{AtEnd, Proof, Risk};
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
pub enum Layer {
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

impl Layer {
    /// Returns the order of layers, from the outermost inward.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Layer::Floor => 0,
            Layer::Admin => 1,
            Layer::Space => 2,
            Layer::Agent(_) => 3,
            Layer::Task(_) => 4,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Floor => f.write_str("floor"),
            Layer::Admin => f.write_str("admin"),
            Layer::Space => f.write_str("space"),
            Layer::Agent(name) => write!(f, "agent {name}"),
            Layer::Task(handle) => write!(f, "task {handle}"),
        }
    }
}

/// One policy file. A value of this type has no mistakes of its own.
#[derive(Debug)]
pub struct Policy {
    pub(crate) layer: Layer,
    pub(crate) file: String,
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) otherwise: Otherwise,
    pub(crate) terms: Terms,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tests: Vec<Test>,
    /// The relevant content of the file, for the digest.
    pub(crate) content: serde_json::Value,
}

impl Policy {
    /// Parses a policy and checks it, conditions included. `file` is its name in messages.
    ///
    /// Returns as many mistakes as can be found at once, ordered by line.
    pub fn parse(layer: Layer, file: &str, text: &str) -> Result<Policy, Vec<Mistake>> {
        parse::policy(layer, file, text, true)
    }

    /// Parses a text that [`Policy::parse`] accepted before, without checking conditions and unreachable rules again,
    /// which takes time. A condition that is wrong after all asks.
    pub fn parse_again(layer: Layer, file: &str, text: &str) -> Result<Policy, Vec<Mistake>> {
        parse::policy(layer, file, text, false)
    }

    pub fn layer(&self) -> &Layer {
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
    pub fn governs(&self, on: On) -> bool {
        let restricts = |rule: &Rule| rule.on == on && rule.then != Effect::Allow;
        self.otherwise.of(on) != Effect::Allow || self.rules.iter().any(restricts)
    }

    /// Describes its rules for an agent, one line each; empty if the file is for another agent.
    pub fn in_words(&self, agent: &str) -> Vec<String> {
        let is_for = match &self.layer {
            Layer::Agent(name) => name == agent,
            Layer::Floor | Layer::Admin | Layer::Space | Layer::Task(_) => true,
        };
        let line = |rule: &Rule| {
            let then = match rule.then {
                Effect::Allow => "allowed",
                Effect::Ask => "a person is asked",
                Effect::Deny => "never",
            };
            format!("{} ({}): {then}. {}", rule.name, rule.on, rule.reason).trim_end().to_owned()
        };
        self.rules.iter().filter(|_| is_for).map(line).collect()
    }

    /// Returns the tests in the file.
    pub fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// Runs the tests in the file against this file alone.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        let opened = Opened::of(self, &Groups { scopes: vec![&self.groups] });
        let run = |test: &Test| {
            let view = View::of(&test.request);
            let judged = judge(self, &opened, &view, &mut Trace::Off);
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

impl Rule {
    /// True if it looks at the commands of a line.
    pub(crate) fn speaks_of_commands(&self) -> bool {
        // Any command of a line may touch the path.
        let speaks = |matches: &Match| {
            matches.command.is_some() || (matches.path.is_some() && matches.tool.is_none())
        };
        speaks(&self.matches)
            || self.unless.as_ref().is_some_and(speaks)
            || self.when.as_ref().is_some_and(|when| when.text.contains("tool.command"))
    }
}

/// The effects for requests that no rule matches, by subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Otherwise {
    effects: [Effect; 5],
}

impl Default for Otherwise {
    /// Opt-in: without a rule only questions are gated, which need an answer anyway.
    fn default() -> Self {
        let mut otherwise = Self { effects: [Effect::Allow; 5] };
        otherwise.set(On::Ask, Effect::Ask);
        otherwise
    }
}

impl Otherwise {
    pub(crate) const fn of(&self, on: On) -> Effect {
        self.effects[on as usize]
    }

    pub(crate) const fn set(&mut self, on: On, effect: Effect) {
        self.effects[on as usize] = effect;
    }
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) line: u64,
    pub(crate) on: On,
    pub(crate) matches: Match,
    pub(crate) unless: Option<Match>,
    pub(crate) when: Option<Expression>,
    pub(crate) then: Effect,
    pub(crate) reason: String,
    pub(crate) terms: Terms,
}

/// The demands of an ask, as far as a rule or a file states them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) of: Option<Who>,
    pub(crate) veto: Option<Vec<Who>>,
    pub(crate) not_launcher: Option<bool>,
    pub(crate) proof: Option<Proof>,
    pub(crate) risk: Option<Risk>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) remind_ms: Option<Vec<u64>>,
    pub(crate) escalate: Option<Vec<(u64, Who)>>,
    pub(crate) at_end: Option<AtEnd>,
    pub(crate) hours: Option<Hours>,
    /// The line in the file.
    pub(crate) line: u64,
}

impl Terms {
    /// Returns these, completed by those of the file.
    pub(crate) fn or(&self, file: &Terms) -> Terms {
        Terms {
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
    pub(crate) fn open_up(&self, groups: &Groups<'_>) -> Demands {
        let veto = self.veto.iter().flatten().flat_map(|who| match who {
            Who::Group(name) => groups.people(name),
            Who::Person(name) => [name.clone()].into(),
            Who::Anyone | Who::All(_) | Who::AtLeast(..) => Default::default(),
        });
        let who = self.of.clone().unwrap_or(Who::Anyone);
        let approvers = who.open_up(groups);
        // A level adds people: earlier approvers can still decide.
        let mut levels: Vec<&(u64, Who)> = self.escalate.iter().flatten().collect();
        levels.sort_by_key(|(after_ms, _)| *after_ms);
        let mut ways = vec![who];
        let escalate = levels
            .into_iter()
            .map(|(after_ms, level)| {
                ways.push(level.clone());
                let approvers = Who::AtLeast(1, ways.clone()).open_up(groups);
                Escalation { after_ms: *after_ms, approvers }
            })
            .collect();
        Demands {
            approvers,
            veto: veto.collect(),
            not_launcher: self.not_launcher.unwrap_or_default(),
            proof: self.proof.unwrap_or(Proof::None),
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
pub struct Test {
    pub name: String,
    /// The line in the file.
    pub line: u64,
    pub request: Request,
    /// The expected decision.
    pub expect: Effect,
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
