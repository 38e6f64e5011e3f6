//! The JSON output of `sayso policy …`. Fields are only ever added.

use sayso_core::text::sanitize_line;
use sayso_policy as policy;
use schemars::JsonSchema;
use serde::Serialize;

/// A policy to start from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Preset")]
pub(crate) struct PresetJson {
    /// The name of the preset.
    pub(crate) name: String,
    /// A description in one line.
    pub(crate) says: String,
    /// The text of the file.
    text: String,
}

impl PresetJson {
    pub(crate) fn of(preset: policy::PolicyPreset) -> Self {
        let (name, text) = (preset.as_str(), preset.text());
        // The first line of each is its description: `# name: words`.
        let first = text.lines().next().unwrap_or_default();
        let says = first.trim_start_matches(['#', ' ']).trim_start_matches(name);
        let says = says.trim_start_matches([':', ' ']);
        Self { name: name.into(), says: says.into(), text: text.into() }
    }
}

/// The results of the tests in policies.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tested")]
pub(crate) struct PolicyTestReport {
    /// The number of tests that passed.
    pub(crate) passed: usize,
    /// The number of tests that failed.
    pub(crate) failed: usize,
    /// All of them, in the order of the files.
    pub(crate) tests: Vec<PolicyTestJson>,
}

/// The result of one test.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Test")]
pub(crate) struct PolicyTestJson {
    /// The file it is in.
    pub(crate) file: String,
    /// The line it starts at.
    pub(crate) line: u64,
    /// The name of the test.
    pub(crate) name: String,
    /// True if the decision was the expected one.
    pub(crate) passed: bool,
    /// The expected decision, and the actual one with its rule.
    pub(crate) failure: Option<String>,
}

impl PolicyTestReport {
    pub(crate) fn of(outcomes: Vec<policy::TestOutcome>) -> Self {
        let test = |outcome: policy::TestOutcome| {
            let passed = outcome.passed();
            let policy::TestOutcome { file, line, name, failure } = outcome;
            PolicyTestJson { file, line, name, passed, failure }
        };
        let tests: Vec<PolicyTestJson> = outcomes.into_iter().map(test).collect();
        let passed = tests.iter().filter(|test| test.passed).count();
        Self { passed, failed: tests.len() - passed, tests }
    }
}

/// The result of a smuggling test.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SmuggleReport {
    /// The commands that rules ask about or deny.
    pub(crate) commands: Vec<String>,
    /// The number of lines that were tried.
    pub(crate) tried: usize,
    /// The lines that no rule stops.
    pub(crate) passed: Vec<SmuggledLineJson>,
    /// Patterns for which no plain line could be written.
    pub(crate) left_out: Vec<String>,
}

/// A line that runs a command past the rule about it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SmuggledLine")]
pub(crate) struct SmuggledLineJson {
    /// The command that is hidden.
    pub(crate) command: String,
    /// The kind of hiding.
    pub(crate) kind: String,
    /// The line that hides it.
    pub(crate) line: String,
}

impl SmuggleReport {
    pub(crate) fn of(smuggled: policy::BypassReport) -> Self {
        let line = |passed: policy::BypassLine| {
            let policy::BypassLine { target, section, line } = passed;
            SmuggledLineJson { command: target, kind: section, line }
        };
        let policy::BypassReport { targets, tried, passed, left_out } = smuggled;
        let passed = passed.into_iter().map(line).collect();
        Self { commands: targets, tried, passed, left_out }
    }
}

/// A position as `file:line`, made harmless.
pub(crate) fn place(file: &str, line: Option<u64>) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    sanitize_line(&format!("{file}{line}"))
}

/// A short prefix of a digest, enough to tell two apart.
pub(crate) fn short(digest: &str) -> String {
    let hash = digest.rsplit(':').next().unwrap_or_default();
    hash.chars().take(12).collect()
}

/// The changes that a policy would have made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Replayed")]
pub(crate) struct PolicyReplayReport {
    /// The time of the oldest request examined.
    pub(crate) since: String,
    /// The number of requests examined.
    pub(crate) looked: u64,
    /// The number of requests that would be decided differently.
    pub(crate) changed: u64,
    /// The counts by kind of change; requests that stay the same come without examples.
    pub(crate) changes: Vec<RulingChangeJson>,
}

/// A kind of change.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Change")]
pub(crate) struct RulingChangeJson {
    /// The present decision: allow, ask or deny.
    pub(crate) before: String,
    /// The decision under the new policy.
    pub(crate) after: String,
    /// True if both ask, but not in the same way.
    pub(crate) asked_otherwise: bool,
    /// The number of such requests.
    pub(crate) count: u64,
    /// The first few requests of this kind.
    pub(crate) examples: Vec<ReplayExampleJson>,
}

/// A request that would be decided differently.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Example")]
pub(crate) struct ReplayExampleJson {
    /// The gate it was asked at, or its id.
    pub(crate) name: String,
    /// The request, in a line.
    pub(crate) request: String,
    /// The rules that decide now, with file and line.
    pub(crate) before: Vec<String>,
    /// The rules that would decide.
    pub(crate) after: Vec<String>,
}

impl PolicyReplayReport {
    pub(crate) fn of(since: String, replay: policy::ReplayReport) -> Self {
        let change =
            |(change, changed): (policy::RulingChange, policy::ChangedRequests)| RulingChangeJson {
                before: change.before.to_string(),
                after: change.after.to_string(),
                asked_otherwise: change.asked_otherwise,
                count: changed.count,
                examples: changed.examples.into_iter().map(ReplayExampleJson::of).collect(),
            };
        let (looked, changed) = (replay.looked, replay.changed());
        Self { since, looked, changed, changes: replay.changes.into_iter().map(change).collect() }
    }
}

impl RulingChangeJson {
    /// True if nothing would change.
    pub(crate) fn is_none(&self) -> bool {
        self.before == self.after && !self.asked_otherwise
    }
}

impl ReplayExampleJson {
    fn of(example: policy::ReplayExample) -> Self {
        let policy::ReplayExample { name, request, before, after } = example;
        Self { name, request, before, after }
    }
}

/// A rule that people's answers suggest.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Suggestion")]
pub(crate) struct SuggestionJson {
    /// The suggested rule, as YAML.
    pub(crate) rule: String,
    /// The rule to give it to as its `unless`; none if it is a rule of its own.
    pub(crate) exception_of: Option<String>,
    /// The number of approvals. It was never denied.
    pub(crate) approved: usize,
    /// The people who approved it.
    pub(crate) people: Vec<String>,
    /// The first few requests that were approved.
    pub(crate) examples: Vec<String>,
}

impl SuggestionJson {
    pub(crate) fn of(suggestion: policy::RuleSuggestion) -> Self {
        let policy::RuleSuggestion { rule, exception_of, approved, people, examples } = suggestion;
        Self { rule, exception_of, approved, people: people.into_iter().collect(), examples }
    }
}
