//! Evaluates a phase: functions of a phase and a scope for the prompt and command, the question, the values for the
//! state, and the next phase.

use super::definition::{
    AnswerForm, BranchTarget, ChoiceOptions, PhaseAsk, PhaseBranch, PhaseCheck, PhaseDefinition,
    PhaseWork, QuestionRecipient, StateSetting, WrittenOption,
};
use super::output::shortened;
use super::scope::{AnswerState, ExpressionScope};
use super::template::TextTemplate;
use super::{ITEMS_MAX, PARTS_MAX};
use sayso_core::{AnswerShape, ChoiceOption, Risk};
use sayso_engine::{ShellCommand, StepCheck};
use sayso_policy::CelFormula;
use serde_json::{Map, Value};

/// The maximum size of the state, as JSON.
const STATE_BYTES_MAX: usize = 1024 * 1024;

/// The maximum sizes of a question and of its context, at the beginning and at the end of each. A card takes both
/// together, with the options.
const QUESTION_BYTES_MAX: (usize, usize) = (8 * 1024, 8 * 1024);
const CONTEXT_BYTES_MAX: (usize, usize) = (64 * 1024, 64 * 1024);

/// An expression of a phase that could not be computed. A flow does not continue past it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` on line {line}: {why}")]
pub struct ExpressionError {
    /// The key in the file.
    pub key: &'static str,
    /// The line in the file.
    pub line: u64,
    /// The reason, in words.
    pub why: String,
}

impl ExpressionError {
    pub(super) fn new(key: &'static str, line: u64, why: impl Into<String>) -> Self {
        Self { key, line, why: why.into() }
    }
}

/// The evaluated question of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseQuestion {
    /// The text of the question.
    pub text: String,
    /// Further context for the person.
    pub context: String,
    /// The form of the answer.
    pub shape: AnswerShape,
    /// The people it is for; empty means anyone.
    pub to: Vec<QuestionRecipient>,
    /// The risk of a wrong answer.
    pub risk: Option<Risk>,
    /// The time until its deadline.
    pub deadline_ms: Option<u64>,
}

/// The next place of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseExit {
    /// Another phase by name.
    Phase(String),
    /// The flow is complete.
    End,
    /// A person said no, and the phase has no rule for that: the flow ends as rejected.
    Rejected,
    /// The question ended without an answer, and the phase has no rule for that: the flow fails.
    Unanswered,
}

impl From<&BranchTarget> for PhaseExit {
    fn from(target: &BranchTarget) -> Self {
        match target {
            BranchTarget::Phase(name) => PhaseExit::Phase(name.clone()),
            BranchTarget::End => PhaseExit::End,
        }
    }
}

/// The time at which values are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTiming {
    /// After the step: values that do not look at an answer are set.
    Done,
    /// After the question ended, or was not asked: values that look at the answer are set, also where there is none.
    Heard,
}

impl PhaseDefinition {
    /// Renders the prompt of this phase; none if no agent works in it.
    pub fn prompt(&self, scope: &ExpressionScope) -> Result<Option<String>, ExpressionError> {
        match &self.work {
            PhaseWork::Agent { prompt } => prompt.render(scope).map(Some),
            PhaseWork::Run { .. } | PhaseWork::Nothing => Ok(None),
        }
    }

    /// Renders the command of this phase; none if it runs none.
    pub fn command(
        &self,
        scope: &ExpressionScope,
    ) -> Result<Option<ShellCommand>, ExpressionError> {
        match &self.work {
            PhaseWork::Run { command, .. } => {
                scope.with(|values| command.command(values)).map(Some)
            }
            PhaseWork::Agent { .. } | PhaseWork::Nothing => Ok(None),
        }
    }

    /// Renders the checks that must hold before its work counts.
    pub fn step_checks(&self, scope: &ExpressionScope) -> Result<Vec<StepCheck>, ExpressionError> {
        let check = |check: &PhaseCheck| {
            scope.with(|values| {
                Ok(match check {
                    PhaseCheck::File(path) => StepCheck::File(path.text(values)?),
                    PhaseCheck::Passes(command) => StepCheck::Passes(command.command(values)?),
                    PhaseCheck::Fails(command) => StepCheck::Fails(command.command(values)?),
                })
            })
        };
        self.checks.iter().map(check).collect()
    }

    /// Evaluates the items of the step; none if it is done once.
    pub fn items(&self, scope: &ExpressionScope) -> Result<Option<Vec<Value>>, ExpressionError> {
        let Some(each) = &self.each else { return Ok(None) };
        let wrong = |why: String| {
            ExpressionError::new("each", self.each_line, format!("`{}` {why}", each.text()))
        };
        match scope.with(|values| each.value(values)).map_err(&wrong)? {
            Value::Array(items) if items.len() > ITEMS_MAX => {
                Err(wrong(format!("has {} items; {ITEMS_MAX} are taken", items.len())))
            }
            Value::Array(items) => Ok(Some(items)),
            other => Err(wrong(format!("comes to {other}, which is no list"))),
        }
    }

    /// Returns true if a person is asked.
    pub fn is_asked(&self, scope: &ExpressionScope) -> Result<bool, ExpressionError> {
        match &self.ask {
            None => Ok(false),
            Some(PhaseAsk { when: None, .. }) => Ok(true),
            Some(PhaseAsk { when: Some(when), when_line, .. }) => {
                scope.with(|values| self.holds("if", *when_line, when, values))
            }
        }
    }

    fn holds(
        &self,
        key: &'static str,
        line: u64,
        when: &CelFormula,
        values: &sayso_policy::FormulaValues<'_>,
    ) -> Result<bool, ExpressionError> {
        when.holds(values)
            .map_err(|why| ExpressionError::new(key, line, format!("`{}`: {why}", when.text())))
    }

    /// Renders the question; none if the phase has none. [`is_asked`](Self::is_asked) tells if it is to be asked.
    pub fn question(
        &self,
        scope: &ExpressionScope,
    ) -> Result<Option<PhaseQuestion>, ExpressionError> {
        let Some(ask) = &self.ask else { return Ok(None) };
        let text = |template: &TextTemplate| template.render(scope);
        let question = text(&ask.question)?;
        if question.trim().is_empty() {
            return Err(ExpressionError::new("ask", ask.line, "the question is empty"));
        }
        let shape = match &ask.form {
            AnswerForm::Approval => AnswerShape::Verdict,
            AnswerForm::Text => AnswerShape::Text,
            AnswerForm::Form { schema } => AnswerShape::Form { schema: schema.clone() },
            AnswerForm::Choice { options, multi, other } => AnswerShape::Choice {
                options: options_of(options, ask.options_line, scope)?,
                multi: *multi,
                other: *other,
            },
        };
        shape
            .check()
            .map_err(|refusal| ExpressionError::new("ask", ask.options_line, refusal.message))?;
        let context = ask.context.as_ref().map(text).transpose()?.unwrap_or_default();
        // A question that cannot be asked, since it is too long, would block the flow for good.
        let (question, _) = shortened(&question, 0, QUESTION_BYTES_MAX);
        let (context, _) = shortened(&context, 0, CONTEXT_BYTES_MAX);
        let (to, risk, deadline_ms) = (ask.to.clone(), ask.risk, ask.deadline_ms);
        Ok(Some(PhaseQuestion { text: question, context, shape, to, risk, deadline_ms }))
    }

    /// Returns the state after the values that this phase sets at this moment.
    pub fn apply_set(
        &self,
        scope: &ExpressionScope,
        moment: SetTiming,
    ) -> Result<Map<String, Value>, ExpressionError> {
        let mut after = scope.clone();
        let is_answered = matches!(scope.heard, AnswerState::Answered(_));
        for StateSetting { name, formula, line } in &self.set {
            let is_of_answer =
                ["human", "approved", "asked"].iter().any(|word| formula.names(word));
            let is_now = match moment {
                SetTiming::Done => !is_of_answer,
                SetTiming::Heard => is_of_answer,
            };
            if !is_now {
                continue;
            }
            let value = match after.with(|values| formula.value(values)) {
                Ok(value) => value,
                // Without an answer there is nothing to keep. An answer of an earlier round must not stand for it
                // either.
                Err(_) if !is_answered && formula.names("human") => Value::Null,
                Err(why) => {
                    let why = format!("{name}: `{}`: {why}", formula.text());
                    return Err(ExpressionError::new("set", *line, why));
                }
            };
            after.state.insert(name.clone(), value);
        }
        let bytes = serde_json::to_string(&after.state).map_or(0, |text| text.len());
        if bytes > STATE_BYTES_MAX {
            let why = format!("the state would have {bytes} bytes; {STATE_BYTES_MAX} are kept");
            let line = self.set.first().map_or(self.line, |setting| setting.line);
            return Err(ExpressionError::new("set", line, why));
        }
        Ok(after.state)
    }

    /// Returns the next place of the flow, once the step is done and the question, if one was asked, has ended.
    pub fn next(&self, scope: &ExpressionScope) -> Result<PhaseExit, ExpressionError> {
        let (branches, is_no): (Vec<&PhaseBranch>, bool) = match &scope.heard {
            AnswerState::Silence => {
                return Ok(self.on_silence.as_ref().map_or(PhaseExit::Unanswered, PhaseExit::from));
            }
            AnswerState::Answered(human) if human.rejected() => {
                (self.rejection_branches().collect(), true)
            }
            AnswerState::Answered(_) | AnswerState::NotAsked => (self.next.iter().collect(), false),
        };
        let is_unasked = scope.heard == AnswerState::NotAsked;
        let taken = scope.with(|values| {
            for PhaseBranch { when, to, line } in branches {
                let holds = match when {
                    None => true,
                    Some(when) => self
                        .holds("if", *line, when, values)
                        .map_err(|wrong| unasked(wrong, is_unasked && when.names("human")))?,
                };
                if holds {
                    return Ok(Some(to.into()));
                }
            }
            Ok(None)
        })?;
        match (taken, is_no) {
            (Some(way), _) => Ok(way),
            (None, true) => {
                Ok(self.on_reject.as_ref().map_or(PhaseExit::Rejected, PhaseExit::from))
            }
            (None, false) => {
                Err(ExpressionError::new("next", self.next_line, "none of its conditions holds"))
            }
        }
    }
}

/// Adds to an error that its condition looks at an answer although no question was asked.
fn unasked(wrong: ExpressionError, is_so: bool) -> ExpressionError {
    if is_so {
        ExpressionError {
            why: format!(
                "{}; nobody was asked, so there is no `human`: look at `asked` first",
                wrong.why
            ),
            ..wrong
        }
    } else {
        wrong
    }
}

fn options_of(
    options: &ChoiceOptions,
    line: u64,
    scope: &ExpressionScope,
) -> Result<Vec<ChoiceOption>, ExpressionError> {
    let formula = match options {
        ChoiceOptions::Written(written) => {
            let text = |template: &TextTemplate| template.render(scope);
            let choice = |option: &WrittenOption| {
                let WrittenOption { name, consequence, declines } = option;
                let (name, consequence) = (text(name)?, text(consequence)?);
                Ok(ChoiceOption { name, consequence, declines: *declines })
            };
            return written.iter().map(choice).collect();
        }
        ChoiceOptions::Computed(formula) => formula,
    };
    let wrong =
        |why: &str| ExpressionError::new("options", line, format!("`{}` {why}", formula.text()));
    let value = scope.with(|values| formula.value(values)).map_err(|why| wrong(&why))?;
    let Value::Array(items) = value else { return Err(wrong("comes to no list")) };
    if items.is_empty() || items.len() > PARTS_MAX {
        return Err(wrong(&format!("has {} options; 1 to {PARTS_MAX} are taken", items.len())));
    }
    let choice = |item: &Value| {
        let field = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        let name = item.as_str().map(str::to_owned).or_else(|| field("name"));
        let name = name.ok_or_else(|| wrong("has an option without a name"))?;
        let consequence = field("consequence").unwrap_or_default();
        let declines = match item.get("declines") {
            None | Some(Value::Null) => false,
            Some(said) => said.as_bool().ok_or_else(|| wrong("has `declines` that is no truth"))?,
        };
        Ok(ChoiceOption { name, consequence, declines })
    };
    items.iter().map(choice).collect()
}
