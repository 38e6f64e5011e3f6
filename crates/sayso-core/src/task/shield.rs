//! Protects undelivered answers: an agent may not move a task away before an answer on it was delivered to its asker.

use super::{Command, Task};
use crate::gate::{Delivery, Ending, Gate, Held};
use crate::{Actor, Code, Refusal, Role};

/// Whether this actor may do this to a task on which these gates were asked. An answer that is on its way keeps its
/// task from being closed, deleted, failed, blocked, deferred, taken, or put behind or below another by an agent: its
/// asker would not hear it. The run that has the task is at work on it and hears what is new; a person knows what
/// they do.
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

/// True if a person's answer to an agent is undelivered. A deferred move of the task does not count: an approval has
/// moved the task, and after a rejection the agent asks for its next move.
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

/// The commands after which no worker takes the task for its asker, in words.
fn verb(command: &Command) -> Option<&'static str> {
    match command {
        Command::Close { .. } => Some("close"),
        Command::Delete { .. } => Some("delete"),
        Command::Defer { .. } => Some("defer"),
        Command::Fail { .. } => Some("fail"),
        Command::Block { .. } => Some("block"),
        Command::Start { .. } => Some("take"),
        Command::AddDependency { .. } => Some("add a dependency to"),
        // An epic can be closed or put off, and its parts with it.
        Command::Edit(edit) => edit.parent.as_ref().map(|_| "change the epic of"),
        Command::Create(_)
        | Command::RemoveDependency { .. }
        | Command::Note { .. }
        | Command::Ask { .. }
        | Command::Settle { .. }
        | Command::Reopen { .. } => None,
    }
}

impl Command {
    /// True if no worker takes the task after this command, so that answers on it are not delivered.
    pub fn moves_away(&self) -> bool {
        verb(self).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskId;
    use crate::task::Edit;
    use crate::testing::{run_id, task_id};

    fn edit(parent: Option<Option<TaskId>>) -> Command {
        Command::Edit(Box::new(Edit { parent, title: Some("Other".into()), ..Edit::default() }))
    }

    #[test]
    fn which_commands_move_a_task_away() {
        let reason = String::new;
        for (command, expected) in [
            (Command::Close { reason: reason(), open_children: 0 }, Some("close")),
            (Command::Delete { reason: reason(), open_children: 0 }, Some("delete")),
            (Command::Defer { until: None }, Some("defer")),
            (Command::Fail { reason: reason() }, Some("fail")),
            (Command::Block { reason: reason() }, Some("block")),
            (Command::Start { run: None }, Some("take")),
            (Command::Start { run: Some(run_id(2)) }, Some("take")),
            (Command::AddDependency { on: task_id(9) }, Some("add a dependency to")),
            (edit(Some(Some(task_id(9)))), Some("change the epic of")),
            (edit(Some(None)), Some("change the epic of")),
            (edit(None), None),
            (Command::RemoveDependency { on: task_id(7) }, None),
            (Command::Note { text: "hm".into(), as_agent: false }, None),
            (Command::Reopen { reason: reason() }, None),
        ] {
            assert_eq!(verb(&command), expected, "{command:?}");
            assert_eq!(command.moves_away(), expected.is_some(), "{command:?}");
        }
    }
}
