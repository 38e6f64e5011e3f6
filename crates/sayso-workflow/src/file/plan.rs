//! A workflow file as a plan for the executor.

use super::definition::{PhaseDefinition, PhaseWork, QuestionRecipient, WorkflowDefinition};
use super::evaluate::{ExpressionError, PhaseExit, PhaseQuestion, SetTiming};
use super::human_answer::HumanAnswer as Person;
use super::output::gathered;
use super::scope::{AnswerState, ExpressionScope};
use crate::plan::{ExecutionPlan, PhaseTransition, WorkFuture as Doing, WorkOutcome};
use crate::workflow::rejected;
use crate::{Error, HumanQuestion, Result};
use sayso_core::approvers::Approvers;
use sayso_core::flow::{Flow, FlowEndKind};
use sayso_core::text::shorten;
use sayso_engine::ShellCommand;
use sayso_engine::worker::{AgentStep, StepCheck};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of characters of an item in the message of a failed step.
const ITEM_CHARS_MAX: usize = 100;

/// The executor of the steps of a flow: agents and commands.
pub trait StepExecutor: Send + Sync {
    /// Begins a step and returns its future.
    fn work(&self, flow: &Flow, job: StepJob) -> Doing;
    /// Returns the people in a group, for a question to a group.
    fn group(&self, name: &str) -> Vec<String>;
}

/// A step of a flow that the crew has to do.
#[derive(Debug, Clone)]
pub enum StepJob {
    /// A step for an agent.
    Agent(Box<AgentStep>),
    /// A step for the shell.
    Command(Box<CommandJob>),
}

/// A step that is a shell command.
#[derive(Debug, Clone)]
pub struct CommandJob {
    /// The identity of this execution of the step.
    pub id: String,
    /// The name of the phase.
    pub name: String,
    /// The command and its values.
    pub shell: ShellCommand,
    /// True if each exit code is a result.
    pub any_code: bool,
    /// The checks that must hold before it counts.
    pub checks: Vec<StepCheck>,
    /// The number of retries after the first attempt.
    pub retries: u32,
    /// Patterns of the only paths it may change.
    pub writes: Option<Vec<String>>,
}

/// A workflow file with the crew that does its steps.
pub(crate) struct FilePlan {
    pub(crate) definition: WorkflowDefinition,
    pub(crate) version: String,
    pub(crate) crew: Arc<dyn StepExecutor>,
}

/// Returns the identity of an execution of the present phase: everything that is started for it carries this mark.
pub fn step_id(flow: &Flow, item: u32) -> String {
    format!("{}/{}/{item}", flow.started.id, flow.position)
}

/// Returns the first state of a flow through a file.
pub fn begin(input: Map<String, Value>) -> Value {
    json!({"input": input, "state": input})
}

impl FilePlan {
    fn at(&self, flow: &Flow) -> Result<&PhaseDefinition> {
        let found = self.definition.phase(&flow.phase);
        found.ok_or_else(|| Error::lost(flow, "the workflow has no such phase"))
    }

    fn scope(&self, flow: &Flow) -> Result<ExpressionScope> {
        let map = |name: &str| flow.state.get(name).and_then(Value::as_object).cloned();
        let outputs: Vec<Value> = flow.outputs.values().cloned().collect();
        let output = match (self.at(flow)?.each.is_some(), outputs.is_empty()) {
            (true, _) => Some(gathered(outputs)),
            (false, true) => None,
            (false, false) => outputs.into_iter().next(),
        };
        let heard =
            flow.heard.values().next().map_or(AnswerState::NotAsked, |heard| match &heard.answer {
                Some(answer) => AnswerState::Answered(Person::of(answer, &heard.by)),
                None => AnswerState::Silence,
            });
        let (input, state) = (map("input").unwrap_or_default(), map("state").unwrap_or_default());
        Ok(ExpressionScope { input, state, output, item: None, heard })
    }

    fn item_scope(&self, flow: &Flow, item: u32) -> Result<ExpressionScope> {
        let (phase, scope) = (self.at(flow)?, self.scope(flow)?);
        let Some(items) = phase.items(&scope).map_err(|wrong| uncomputed(flow, &wrong))? else {
            return Ok(scope);
        };
        let found = items.into_iter().nth(item as usize);
        let found =
            found.ok_or_else(|| Error::lost(flow, "there are fewer items than there were"))?;
        Ok(scope.with_item(found))
    }

    fn job(&self, flow: &Flow, item: u32) -> std::result::Result<StepJob, Error> {
        let (phase, scope) = (self.at(flow)?, self.item_scope(flow, item)?);
        let wrong = |wrong: ExpressionError| uncomputed(flow, &wrong);
        let checks = phase.step_checks(&scope).map_err(wrong)?;
        let id = step_id(flow, item);
        let (name, writes, retries) = (phase.name.clone(), phase.writes.clone(), phase.retries);
        if let Some(instructions) = phase.prompt(&scope).map_err(wrong)? {
            let (agent, role, model) =
                (phase.agent.clone(), phase.role.clone(), phase.model.clone());
            let step =
                AgentStep { id, name, instructions, agent, role, model, checks, retries, writes };
            return Ok(StepJob::Agent(Box::new(step)));
        }
        let any_code = matches!(&phase.work, PhaseWork::Run { any_code: true, .. });
        match phase.command(&scope).map_err(wrong)? {
            Some(shell) => {
                let command = CommandJob { id, name, shell, any_code, checks, retries, writes };
                Ok(StepJob::Command(Box::new(command)))
            }
            None => Err(Error::lost(flow, "there is nothing to be done in it")),
        }
    }

    /// Returns the scope on leaving a phase. If no question was asked there is no answer, and the values that `set`
    /// takes from one say so: an approval of an earlier round is not left behind.
    fn leaving(&self, flow: &Flow) -> Result<ExpressionScope> {
        let (phase, scope) = (self.at(flow)?, self.scope(flow)?);
        if phase.ask.is_none() || !flow.heard.is_empty() {
            return Ok(scope);
        }
        let state = phase.apply_set(&scope, SetTiming::Heard);
        let state = state.map_err(|wrong| uncomputed(flow, &wrong))?;
        Ok(ExpressionScope { state, ..scope })
    }

    fn with_state(flow: &Flow, state: Map<String, Value>) -> Value {
        let input = flow.state.get("input").cloned().unwrap_or_default();
        json!({"input": input, "state": state})
    }

    fn human(&self, flow: &Flow, question: PhaseQuestion) -> Result<HumanQuestion> {
        let PhaseQuestion { text, context, shape, to, risk, deadline_ms } = question;
        let mut human = HumanQuestion::of(text, shape).context(context);
        if !to.is_empty() {
            let people = self.people(&to);
            if people.is_empty() {
                return Err(no_recipients(flow, &to));
            }
            human = human.to(Approvers::Some { least: 1, of: people });
        }
        if let Some(risk) = risk {
            human = human.risk(risk);
        }
        Ok(match deadline_ms {
            Some(ms) => human.within(Duration::from_millis(ms)),
            None => human,
        })
    }

    /// Returns these people. A group without members admits no one: it never means everyone.
    fn people(&self, to: &[QuestionRecipient]) -> Vec<Approvers> {
        let people = to.iter().flat_map(|to| match to {
            QuestionRecipient::Person(name) => vec![name.clone()],
            QuestionRecipient::Group(name) => self.crew.group(name),
        });
        people.map(Approvers::Person).collect()
    }
}

fn uncomputed(flow: &Flow, wrong: &ExpressionError) -> Error {
    let (name, phase) = (flow.started.handle.clone(), flow.phase.clone());
    Error::Uncomputed { flow: name, phase, why: wrong.to_string() }
}

/// The error for a question without recipients. Groups are configured outside of the flow, and the flow continues
/// when one of these has a member.
fn no_recipients(flow: &Flow, to: &[QuestionRecipient]) -> Error {
    let names: Vec<_> = to.iter().map(|to| to.name().to_owned()).collect();
    let names = names.join(", ");
    let first = names.split(", ").next().unwrap_or_default();
    Error::step(
        flow,
        format!(
            "nobody could answer its question: nobody is in group {names}. Name its people, in a policy \
             (`groups: {{{first}: [ann]}}`, then: sayso policy set FILE) or in a fleet file; then: sayso \
             flow resume {}",
            flow.started.handle
        ),
    )
}

impl ExecutionPlan for FilePlan {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn is_compatible_with(&self, version: &str) -> bool {
        self.version == version
    }

    fn has(&self, phase: &str) -> bool {
        self.definition.phase(phase).is_some()
    }

    fn item_count(&self, flow: &Flow) -> Result<Option<u32>> {
        let phase = self.at(flow)?;
        if matches!(phase.work, PhaseWork::Nothing) {
            return Ok(None);
        }
        let items = phase.items(&self.scope(flow)?).map_err(|wrong| uncomputed(flow, &wrong))?;
        Ok(Some(items.map_or(1, |items| u32::try_from(items.len()).unwrap_or(u32::MAX))))
    }

    fn at_once(&self, _: &Flow) -> usize {
        // They share one folder.
        1
    }

    fn work(&self, flow: &Flow, item: u32) -> Result<Doing> {
        let is_for_each = self.at(flow)?.each.is_some();
        let doing = self.crew.work(flow, self.job(flow, item)?);
        let Some(items) = self.item_count(flow)?.filter(|_| is_for_each) else { return Ok(doing) };
        let named = self.item_scope(flow, item)?.item.unwrap_or_default();
        let named = shorten(&named.to_string(), ITEM_CHARS_MAX);
        Ok(Box::pin(async move {
            match doing.await {
                WorkOutcome::Failed(why) => {
                    WorkOutcome::Failed(format!("item {} of {items}, {named}: {why}", item + 1))
                }
                other => other,
            }
        }))
    }

    fn retries(&self, _: &Flow) -> u32 {
        // The crew retries the step itself, and says what failed.
        0
    }

    fn keep(&self, flow: &Flow) -> Result<Value> {
        let state = self.at(flow)?.apply_set(&self.scope(flow)?, SetTiming::Done);
        Ok(Self::with_state(flow, state.map_err(|wrong| uncomputed(flow, &wrong))?))
    }

    fn questions(&self, flow: &Flow) -> Result<Vec<(u32, HumanQuestion)>> {
        let (phase, scope) = (self.at(flow)?, self.scope(flow)?);
        let wrong = |wrong: ExpressionError| uncomputed(flow, &wrong);
        if !phase.is_asked(&scope).map_err(wrong)? {
            return Ok(vec![]);
        }
        let question = phase.question(&scope).map_err(wrong)?;
        question.into_iter().map(|question| Ok((0, self.human(flow, question)?))).collect()
    }

    fn hear(&self, flow: &Flow) -> Result<Value> {
        let state = self.at(flow)?.apply_set(&self.scope(flow)?, SetTiming::Heard);
        Ok(Self::with_state(flow, state.map_err(|wrong| uncomputed(flow, &wrong))?))
    }

    fn leave(&self, flow: &Flow) -> Result<Option<Value>> {
        Ok(Some(Self::with_state(flow, self.leaving(flow)?.state)))
    }

    fn transition(&self, flow: &Flow) -> Result<PhaseTransition> {
        let phase = self.at(flow)?;
        Ok(match phase.next(&self.leaving(flow)?).map_err(|wrong| uncomputed(flow, &wrong))? {
            PhaseExit::Phase(to) => PhaseTransition::To(to),
            PhaseExit::End => PhaseTransition::End(FlowEndKind::Done, String::new()),
            PhaseExit::Rejected => {
                PhaseTransition::End(FlowEndKind::Rejected, rejected(flow, &phase.name))
            }
            PhaseExit::Unanswered => {
                let why = format!("the question in {:?} ended without an answer", phase.name);
                PhaseTransition::End(FlowEndKind::Failed, why)
            }
        })
    }
}
