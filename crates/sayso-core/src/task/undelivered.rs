//! Protects undelivered answers: an agent may not move a task away before an answer on it was delivered to its asker.

use super::{Task, TaskCommand};
use crate::gate::{DeferredAction, DeliveryState, Gate, GateEnding};
use crate::{Actor, Code, Refusal, Role};

/// Checks that a command on a task loses no answer to these gates. While an answer is undelivered, no agent closes,
/// deletes, fails, blocks, defers or takes its task, or puts it behind or below another: the asker would not hear the
/// answer. Exempt are the live run of the task, which hears what is new, and people.
pub fn check_answers_delivered(
    task: &Task,
    command: &TaskCommand,
    actor: &Actor,
    gates: &[Gate],
) -> Result<(), Refusal> {
    let Some(verb) = verb(command).filter(|_| actor.role == Role::Agent) else { return Ok(()) };
    let has_the_task = actor.run.is_some() && actor.run == task.run;
    let Some(gate) = gates.iter().find(|gate| is_undelivered(gate)).filter(|_| !has_the_task)
    else {
        return Ok(());
    };
    let (handle, asker) = (gate.handle(), &gate.opened.lineage.asker);
    let message = format!(
        "agent {} may not {verb} task {}: {asker} has not heard the answer to gate {handle}",
        actor.name, task.handle
    );
    Err(Refusal::new(Code::Unheard, message).hint(if actor.is_asker(&gate.opened.lineage) {
        format!("hear it first: sayso wait {handle}")
    } else {
        "its asker gets it from a worker (sayso work), or when it asks again".into()
    }))
}

/// True if a person's answer to an agent is undelivered. A deferred move of the task does not count: an approval has
/// moved the task, and after a rejection the agent asks for its next move.
fn is_undelivered(gate: &Gate) -> bool {
    if matches!(gate.opened.held, Some(DeferredAction::Move { .. })) {
        return false;
    }
    let is_answered = matches!(gate.ending, Some(GateEnding::Answered { .. }));
    let is_on_its_way = match gate.delivery {
        DeliveryState::Pending { .. } | DeliveryState::Failed { .. } => true,
        DeliveryState::None
        | DeliveryState::Delivered { .. }
        | DeliveryState::Acknowledged { .. }
        | DeliveryState::Never { .. } => false,
    };
    gate.opened.lineage.role == Role::Agent && is_answered && is_on_its_way
}

/// The commands after which no worker takes the task for its asker, in words.
fn verb(command: &TaskCommand) -> Option<&'static str> {
    match command {
        TaskCommand::Close { .. } => Some("close"),
        TaskCommand::Delete { .. } => Some("delete"),
        TaskCommand::Defer { .. } => Some("defer"),
        TaskCommand::Fail { .. } => Some("fail"),
        TaskCommand::Block { .. } => Some("block"),
        TaskCommand::Start { .. } => Some("take"),
        TaskCommand::AddDependency { .. } => Some("add a dependency to"),
        // An epic can be closed or put off, and its parts with it.
        TaskCommand::Edit(edit) => edit.parent.as_ref().map(|_| "change the epic of"),
        TaskCommand::Create(_)
        | TaskCommand::RemoveDependency { .. }
        | TaskCommand::Note { .. }
        | TaskCommand::Ask { .. }
        | TaskCommand::Settle { .. }
        | TaskCommand::Reopen { .. } => None,
    }
}

impl TaskCommand {
    /// True if no worker takes the task after this command, so that answers on it are not delivered.
    pub fn moves_away(&self) -> bool {
        verb(self).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskId;
    use crate::task::TaskEdit;
    use crate::testing::{run_id, task_id};

    fn edit(parent: Option<Option<TaskId>>) -> TaskCommand {
        TaskCommand::Edit(Box::new(TaskEdit {
            parent,
            title: Some("Other".into()),
            ..TaskEdit::default()
        }))
    }

    #[test]
    fn which_commands_move_a_task_away() {
        let reason = String::new;
        for (command, expected) in [
            (TaskCommand::Close { reason: reason(), open_children: 0 }, Some("close")),
            (TaskCommand::Delete { reason: reason(), open_children: 0 }, Some("delete")),
            (TaskCommand::Defer { until: None }, Some("defer")),
            (TaskCommand::Fail { reason: reason() }, Some("fail")),
            (TaskCommand::Block { reason: reason() }, Some("block")),
            (TaskCommand::Start { run: None }, Some("take")),
            (TaskCommand::Start { run: Some(run_id(2)) }, Some("take")),
            (TaskCommand::AddDependency { on: task_id(9) }, Some("add a dependency to")),
            (edit(Some(Some(task_id(9)))), Some("change the epic of")),
            (edit(Some(None)), Some("change the epic of")),
            (edit(None), None),
            (TaskCommand::RemoveDependency { on: task_id(7) }, None),
            (TaskCommand::Note { text: "hm".into(), as_agent: false }, None),
            (TaskCommand::Reopen { reason: reason() }, None),
        ] {
            assert_eq!(verb(&command), expected, "{command:?}");
            assert_eq!(command.moves_away(), expected.is_some(), "{command:?}");
        }
    }
}
