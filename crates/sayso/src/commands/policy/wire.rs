//! What `sayso policy … --json` prints. Fields are only ever added.

use sayso_core::text::harmless_line;
use sayso_policy as policy;
use schemars::JsonSchema;
use serde::Serialize;

/// A policy to start from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Preset {
    /// Its name.
    pub(crate) name: String,
    /// What it says, in a line.
    pub(crate) says: String,
    /// The file.
    text: String,
}

impl Preset {
    pub(crate) fn of(preset: policy::Preset) -> Self {
        let (name, text) = (preset.as_str(), preset.text());
        // The first line of each says what it is: `# name: words`.
        let first = text.lines().next().unwrap_or_default();
        let says = first.trim_start_matches(['#', ' ']).trim_start_matches(name);
        let says = says.trim_start_matches([':', ' ']);
        Self { name: name.into(), says: says.into(), text: text.into() }
    }
}

/// What came of the tests in policies.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tested {
    /// How many passed.
    pub(crate) passed: usize,
    /// How many failed.
    pub(crate) failed: usize,
    /// All of them, in the order of the files.
    pub(crate) tests: Vec<Test>,
}

/// What came of one test.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Test {
    /// The file it is in.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: u64,
    /// What it is called.
    pub(crate) name: String,
    /// Whether the policy said what was expected.
    pub(crate) passed: bool,
    /// What was expected, and what was said by whom instead.
    pub(crate) failure: Option<String>,
}

impl Tested {
    pub(crate) fn of(outcomes: Vec<policy::TestOutcome>) -> Self {
        let test = |outcome: policy::TestOutcome| {
            let passed = outcome.passed();
            let policy::TestOutcome { file, line, name, failure } = outcome;
            Test { file, line, name, passed, failure }
        };
        let tests: Vec<Test> = outcomes.into_iter().map(test).collect();
        let passed = tests.iter().filter(|test| test.passed).count();
        Self { passed, failed: tests.len() - passed, tests }
    }
}

/// What policies make of a request, and the way to it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Explained {
    /// The request, in a line.
    pub(crate) request: String,
    /// allow, ask or deny.
    pub(crate) effect: String,
    /// Why, in words for whoever is asked or refused.
    pub(crate) reason: String,
    /// The rules that decided; none where there is no policy.
    pub(crate) because: Vec<Because>,
    /// What is demanded; there exactly when a person is asked.
    pub(crate) demands: Option<Demands>,
    /// What silence would approve. Nothing, in most policies.
    pub(crate) alarms: Vec<String>,
    /// The commands that were found in its command line.
    pub(crate) commands: Vec<String>,
    /// Why it cannot be told what the command line runs.
    pub(crate) unclear: Option<String>,
    /// Every rule that was looked at, in order.
    pub(crate) looked: Vec<Looked>,
    /// The digest of all the policies.
    pub(crate) policy: String,
    /// Who approved the same before, where that is remembered: then it is allowed.
    pub(crate) remembered: Option<String>,
}

/// One reason for a ruling.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Because {
    /// The layer it comes from: `admin`, `space`, `agent NAME`.
    pub(crate) layer: String,
    /// The file.
    pub(crate) file: String,
    /// The line of the rule.
    pub(crate) line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub(crate) rule: Option<String>,
    /// What it came to: allow, ask or deny.
    pub(crate) effect: String,
    /// The rule's own reason.
    pub(crate) reason: String,
    /// What else is to be known: a condition that failed, a part that cannot be told.
    pub(crate) note: Option<String>,
}

/// What an ask demands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Demands {
    /// All of it, in words.
    pub(crate) words: String,
    /// Whose yes is needed, in words.
    approvers: String,
    /// Whose no settles it.
    veto: Vec<String>,
    /// Whether whoever launched the agent is left out.
    not_launcher: bool,
    /// The least proof of the person who answers.
    least_proof: String,
    /// low, medium, high or critical.
    risk: String,
    /// How long it may take, in milliseconds.
    deadline_ms: Option<u64>,
    /// When people are reminded, in milliseconds from the moment it is asked.
    pub(crate) remind_ms: Vec<u64>,
    /// Who may decide from when on.
    escalate: Vec<Level>,
    /// What happens at the deadline: approve, keep, defer, escalate, fail or deny.
    at_end: String,
}

/// One level up.
#[derive(Serialize, JsonSchema)]
struct Level {
    /// When, in milliseconds from the moment it is asked.
    after_ms: u64,
    /// Whose yes is needed from then on, in words.
    approvers: String,
}

/// A rule that was looked at.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Looked {
    /// The layer it comes from.
    pub(crate) layer: String,
    /// The file.
    pub(crate) file: String,
    /// The line of the rule.
    pub(crate) line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub(crate) rule: Option<String>,
    /// What it says: allow, ask or deny.
    pub(crate) says: String,
    /// Whether it speaks of the request.
    pub(crate) matched: bool,
    /// Why, or why not.
    pub(crate) why: String,
    /// Whether it is one of those that decided.
    pub(crate) decided: bool,
}

impl Explained {
    pub(crate) fn of(explanation: policy::Explanation) -> Self {
        let policy::Explanation { request, commands, unclear, looked, ruling, alarms, policy } =
            explanation;
        Self {
            request,
            effect: ruling.effect.to_string(),
            reason: ruling.reason(),
            demands: ruling.demands.as_ref().map(Demands::of),
            because: ruling.because.into_iter().map(Because::of).collect(),
            alarms,
            commands,
            unclear,
            looked: looked.into_iter().map(Looked::of).collect(),
            policy: policy.to_string(),
            remembered: None,
        }
    }
}

impl Because {
    fn of(because: policy::Because) -> Self {
        let policy::Because { layer, file, line, rule, effect, reason, note } = because;
        Self { layer, file, line, rule, effect: effect.to_string(), reason, note }
    }
}

impl Looked {
    fn of(looked: policy::Looked) -> Self {
        let policy::Looked { layer, file, line, rule, says, matched, why, decided } = looked;
        Self { layer, file, line, rule, says: says.to_string(), matched, why, decided }
    }
}

impl Demands {
    fn of(demands: &policy::Demands) -> Self {
        let level = |level: &policy::Escalation| Level {
            after_ms: level.after_ms,
            approvers: level.approvers.in_words(),
        };
        Self {
            words: demands.in_words(),
            approvers: demands.approvers.in_words(),
            veto: demands.veto.iter().cloned().collect(),
            not_launcher: demands.not_launcher,
            least_proof: demands.proof.as_str().into(),
            risk: demands.risk.as_str().into(),
            deadline_ms: demands.deadline_ms,
            remind_ms: demands.remind_ms.clone(),
            escalate: demands.escalate.iter().map(level).collect(),
            at_end: demands.at_end.as_str().into(),
        }
    }
}

/// `file:line`, made harmless.
pub(crate) fn place(file: &str, line: Option<u64>) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    harmless_line(&format!("{file}{line}"))
}

/// Enough of a digest to tell two apart.
pub(crate) fn short(digest: &str) -> String {
    let hash = digest.rsplit(':').next().unwrap_or_default();
    hash.chars().take(12).collect()
}

/// The policies in force.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InForce {
    /// The digest of all of them; gates and audit entries carry it.
    pub(crate) digest: String,
    /// From the outermost inward.
    pub(crate) layers: Vec<Layer>,
}

/// The policy of one layer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Layer {
    /// `space`, or `agent NAME`.
    pub(crate) layer: String,
    /// How many rules it has.
    pub(crate) rules: usize,
    /// How many tests.
    pub(crate) tests: usize,
    /// Who put it in force.
    pub(crate) set_by: String,
    /// When.
    pub(crate) set_at: String,
    /// The file, as it was set.
    pub(crate) text: String,
}

/// What a policy would have changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Replayed {
    /// Requests since then were looked at.
    pub(crate) since: String,
    /// How many.
    pub(crate) looked: u64,
    /// How many would be decided otherwise.
    pub(crate) changed: u64,
    /// What became of them, by sort of change; those that stay the same come without examples.
    pub(crate) changes: Vec<Change>,
}

/// One sort of change.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Change {
    /// What is said now: allow, ask or deny.
    pub(crate) before: String,
    /// What would be said.
    pub(crate) after: String,
    /// Whether both ask, but not in the same way.
    pub(crate) asked_otherwise: bool,
    /// How often.
    pub(crate) count: u64,
    /// The first few.
    pub(crate) examples: Vec<Example>,
}

/// A request that would be decided otherwise.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Example {
    /// The gate it was asked at, or its id.
    pub(crate) name: String,
    /// The request, in a line.
    pub(crate) request: String,
    /// Who decides now: rule, file and line.
    pub(crate) before: Vec<String>,
    /// Who would decide.
    pub(crate) after: Vec<String>,
}

impl Replayed {
    pub(crate) fn of(since: String, replay: policy::Replay) -> Self {
        let change = |(change, changed): (policy::Change, policy::Changed)| Change {
            before: change.before.to_string(),
            after: change.after.to_string(),
            asked_otherwise: change.asked_otherwise,
            count: changed.count,
            examples: changed.examples.into_iter().map(Example::of).collect(),
        };
        let (looked, changed) = (replay.looked, replay.changed());
        Self { since, looked, changed, changes: replay.changes.into_iter().map(change).collect() }
    }
}

impl Change {
    /// Whether it is none.
    pub(crate) fn is_none(&self) -> bool {
        self.before == self.after && !self.asked_otherwise
    }
}

impl Example {
    fn of(example: policy::Example) -> Self {
        let policy::Example { name, request, before, after } = example;
        Self { name, request, before, after }
    }
}

/// A rule that people's answers suggest.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Suggestion {
    /// What to write, as YAML.
    pub(crate) rule: String,
    /// The rule to give it to as its `unless`; none if it is a rule of its own.
    pub(crate) exception_of: Option<String>,
    /// How often it was approved. It was never denied.
    pub(crate) approved: usize,
    /// By whom.
    pub(crate) people: Vec<String>,
    /// What was approved, the first few.
    pub(crate) examples: Vec<String>,
}

impl Suggestion {
    pub(crate) fn of(suggestion: policy::Suggestion) -> Self {
        let policy::Suggestion { rule, exception_of, approved, people, examples } = suggestion;
        Self { rule, exception_of, approved, people: people.into_iter().collect(), examples }
    }
}
