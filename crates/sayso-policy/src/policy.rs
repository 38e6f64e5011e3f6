//! One policy file, read: groups, rules, what holds otherwise, and its own tests.

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

/// The longest file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The most rules of a file.
pub const RULES_MAX: usize = 1_000;
/// The most tests of a file.
pub const TESTS_MAX: usize = 1_000;

/// Where a policy stands. Each layer may only tighten what the ones before it say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Built in.
    Floor,
    /// Of whoever looks after the installation.
    Admin,
    /// Of the space.
    Space,
    /// Of one agent, by its name; for lifecycle, of the requester and of the target.
    Agent(String),
    /// Of one task, by its handle.
    Task(String),
}

impl Layer {
    /// From the outermost inward.
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

/// One policy file. Whoever holds one knows that it has no mistakes of its own.
#[derive(Debug)]
pub struct Policy {
    pub(crate) layer: Layer,
    pub(crate) file: String,
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) otherwise: Otherwise,
    pub(crate) terms: Terms,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tests: Vec<Test>,
    /// All that matters of the file, for the digest.
    pub(crate) content: serde_json::Value,
}

impl Policy {
    /// Reads a policy and checks it, conditions included. `file` is its name in messages.
    ///
    /// The mistakes are as many as can be found at once, in the order of lines.
    pub fn parse(layer: Layer, file: &str, text: &str) -> Result<Policy, Vec<Mistake>> {
        parse::policy(layer, file, text, true)
    }

    /// Reads a text that [`Policy::parse`] accepted before, without looking again at conditions and
    /// at rules that are never reached, which costs time. A condition that is wrong after all asks.
    pub fn parse_again(layer: Layer, file: &str, text: &str) -> Result<Policy, Vec<Mistake>> {
        parse::policy(layer, file, text, false)
    }

    /// Where it stands.
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// What it was called when it was read.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The names of its rules, in the order of the file.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    /// It may ask or deny where this is about.
    pub fn governs(&self, on: On) -> bool {
        let restricts = |rule: &Rule| rule.on == on && rule.then != Effect::Allow;
        self.otherwise.of(on) != Effect::Allow || self.rules.iter().any(restricts)
    }

    /// What its rules say to an agent, a line each; nothing where the file is about another agent.
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

    /// The tests written in the file.
    pub fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// Runs the tests written in the file against this file alone.
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
    /// Whether it looks at what commands run.
    pub(crate) fn speaks_of_commands(&self) -> bool {
        // A path may be meant by whatever a line does.
        let speaks = |matches: &Match| {
            matches.command.is_some() || (matches.path.is_some() && matches.tool.is_none())
        };
        speaks(&self.matches)
            || self.unless.as_ref().is_some_and(speaks)
            || self.when.as_ref().is_some_and(|when| when.text.contains("tool.command"))
    }
}

/// What holds where no rule speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Otherwise {
    effects: [Effect; 5],
}

impl Default for Otherwise {
    /// Opt-in: nothing is gated that was not asked for. A question is a question anyway.
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

/// One rule.
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

/// How something is asked, as far as a rule or a file says.
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
    /// Where it is written.
    pub(crate) line: u64,
}

impl Terms {
    /// These, and those of the file where these say nothing.
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

    /// With people in the place of groups, and the defaults in the place of nothing.
    pub(crate) fn open_up(&self, groups: &Groups<'_>) -> Demands {
        let veto = self.veto.iter().flatten().flat_map(|who| match who {
            Who::Group(name) => groups.people(name),
            Who::Person(name) => [name.clone()].into(),
            Who::Anyone | Who::All(_) | Who::AtLeast(..) => Default::default(),
        });
        let who = self.of.clone().unwrap_or(Who::Anyone);
        let approvers = who.open_up(groups);
        // Whoever could decide before still can: a level adds people.
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

/// A case written in a policy file.
#[derive(Debug, Clone)]
pub struct Test {
    /// What it shows.
    pub name: String,
    /// Where it is written.
    pub line: u64,
    /// What is asked.
    pub request: Request,
    /// What the policy is to say.
    pub expect: Effect,
    /// The rule that is to decide; `otherwise` for none.
    pub by: Option<String>,
}

/// What came of a test.
#[derive(Debug, Clone, Serialize)]
pub struct TestOutcome {
    /// The file it is in.
    pub file: String,
    /// Where.
    pub line: u64,
    /// What it is called.
    pub name: String,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
}

impl TestOutcome {
    /// Whether the policy said what was expected.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }
}
