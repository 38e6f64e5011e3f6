//! The shield of an answer: no agent moves a task away under an answer that its asker has not been handed.

use super::{Command, Task};
use crate::gate::{Delivery, Ending, Gate, Held};
use crate::{Actor, Code, Refusal, Role};

/// Whether this actor may do this to a task on which these gates were asked. An answer that is on its way keeps its
/// task from being closed, deleted, failed, blocked or deferred by an agent: nobody would hear it. The run that has
/// the task is at work on it and hears what is new; a person knows what they do.
pub fn check_is_heard(
    task: &Task,
    command: &Command,
    actor: &Actor,
    gates: &[Gate],
) -> Result<(), Refusal> {
    let Some(verb) = verb(command).filter(|_| actor.role == Role::Agent) else { return Ok(()) };
    let has_the_task = actor.run.is_some() && actor.run == task.run;
    let Some(gate) = gates.iter().find(|gate| is_unheard(gate)).filter(|_| !has_the_task) else {
        return Ok(());
    };
    let (handle, asker) = (gate.handle(), &gate.opened.lineage.asker);
    let message = format!(
        "agent {} may not {verb} task {}: {asker} has not heard the answer to gate {handle}",
        actor.name, task.handle
    );
    Err(Refusal::new(Code::Unheard, message).hint(match actor.is_asker(&gate.opened.lineage) {
        true => format!("hear it first: sayso wait {handle}"),
        false => "its asker gets it from a worker (sayso work), or when it asks again".into(),
    }))
}

/// A person answered an agent that was not handed it yet. A move of the task that was held is not meant: a yes has
/// moved the task, and after a no the agent is to ask for its next move.
fn is_unheard(gate: &Gate) -> bool {
    if matches!(gate.opened.held, Some(Held::Move { .. })) {
        return false;
    }
    let is_answered = matches!(gate.ending, Some(Ending::Answered { .. }));
    let is_on_its_way = match gate.delivery {
        Delivery::Pending { .. } | Delivery::Failed { .. } => true,
        Delivery::None
        | Delivery::Delivered { .. }
        | Delivery::Acknowledged { .. }
        | Delivery::Never { .. } => false,
    };
    gate.opened.lineage.role == Role::Agent && is_answered && is_on_its_way
}

/// The commands after which no worker takes the task, in a word.
const fn verb(command: &Command) -> Option<&'static str> {
    match command {
        Command::Close { .. } => Some("close"),
        Command::Delete { .. } => Some("delete"),
        Command::Defer { .. } => Some("defer"),
        Command::Fail { .. } => Some("fail"),
        Command::Block { .. } => Some("block"),
        Command::Create(_)
        | Command::Edit(_)
        | Command::AddDependency { .. }
        | Command::RemoveDependency { .. }
        | Command::Start { .. }
        | Command::Note { .. }
        | Command::Ask { .. }
        | Command::Settle { .. }
        | Command::Reopen { .. } => None,
    }
}

impl Command {
    /// Whether it takes a task out of the hands of those who would hear an answer on it.
    pub const fn moves_away(&self) -> bool {
        verb(self).is_some()
    }
}
