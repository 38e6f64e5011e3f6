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

/// What came of smuggling.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SmuggleReport {
    /// The commands that rules ask about or deny.
    pub(crate) commands: Vec<String>,
    /// How many lines were tried.
    pub(crate) tried: usize,
    /// The lines that no rule stops.
    pub(crate) passed: Vec<SmuggledLine>,
    /// Patterns for which no plain line could be written.
    pub(crate) left_out: Vec<String>,
}

/// A line that runs a command past the rule about it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SmuggledLine {
    /// The command.
    pub(crate) command: String,
    /// The kind of way.
    pub(crate) kind: String,
    /// The line.
    pub(crate) line: String,
}

impl SmuggleReport {
    pub(crate) fn of(smuggled: policy::Smuggled) -> Self {
        let line = |passed: policy::SmuggledLine| {
            let policy::SmuggledLine { target, section, line } = passed;
            SmuggledLine { command: target, kind: section, line }
        };
        let policy::Smuggled { targets, tried, passed, left_out } = smuggled;
        let passed = passed.into_iter().map(line).collect();
        Self { commands: targets, tried, passed, left_out }
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
