//! `sayso run`: runs an agent on one task, and prompts at this terminal.

use super::shared;
use super::work::{AgentChoiceArgs, warn_of_changes};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::work::gate_prompt::GatePrompter;
use crate::work::task_file::TaskFile;
use crate::work::{self, ProgressView, WorkOptions};
use crate::{card, identity};
use clap_complete::ArgValueCompleter;
use sayso_core::task::{TaskEdit, TaskStatus};
use sayso_core::{Actor, Code, CommandExit, TaskId};
use sayso_engine::worker::{WorkScope, WorkerConfig};
use sayso_engine::{Desk, NewTask, TaskFilter};
use sayso_server::wire;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Let an agent work on one task or task file, and be asked here.
///
/// When the agent asks, the question is shown at this terminal; the first answer, from here or any
/// other place, wins. Ctrl+C ends the agent and leaves the question open: run it again and the same
/// question is there. Without a terminal it ends when the task waits for a person.
///
/// It ends with 0 only when the task is closed: with 7 when it waits for a person, with 8 when it was rejected, with
/// 14 when it is not done for another reason, and with 128 and the number of the signal that ended it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso run fix-login.md              a task file: markdown, with settings in front
  sayso run t7k2 --threshold often    a task, asked about a lot

A task file:
  ---
  threshold: 4        # how much the agent is to ask, from 0 to 5
  requires: approval  # what has to be signed off at the end
  ---
  # Fix the login page
  What is to be done.")]
pub(crate) struct RunArgs {
    /// A task, or a file that describes one.
    #[arg(value_name = "TASK", add = ArgValueCompleter::new(shared::live_tasks))]
    task: String,
    #[command(flatten)]
    agent: AgentChoiceArgs,
}

pub(crate) fn run(args: RunArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor, location) = work::open_for_work(context)?;
    let path = Path::new(&args.task);
    let file = if path.is_file() || path.extension().is_some_and(|e| e == "md") {
        Some(TaskFile::read(path)?)
    } else {
        None
    };
    let AgentChoiceArgs { agent, threshold } = args.agent;
    let wanted = WorkOptions { agent, jobs: Some(1), threshold, ..WorkOptions::default() };
    let setup = work::setup(context, &location, (&desk, &actor), wanted)?;
    let task = match file {
        Some(file) => {
            check_role(&setup, &file)?;
            from_file(&desk, &actor, &file, path)?
        }
        None => desk.find_task(&args.task)?,
    };
    check_can_run(&desk, task)?;
    warn_of_changes(context, &setup);
    let stop = work::stop_flag()?;
    let is_attended = identity::has_terminal() && !context.globals.no_input && !context.out.json;
    // A person who may not answer here watches, and answers in another place.
    let person = if is_attended { identity::person(context, &desk).ok() } else { None };
    let view = ProgressView::new(context.out);
    let is_done = AtomicBool::new(false);
    let scope = WorkScope { tasks: [task].into(), watch: person.is_some(), ..WorkScope::default() };
    let setup = WorkerConfig { scope, ..setup };
    let outcome = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let outcome = work::work_and_notify(context, &desk, setup, &view, &stop).map(drop);
            is_done.store(true, Ordering::SeqCst);
            outcome
        });
        let attended = match &person {
            Some(person) => {
                let (desk, view, stop) = (&desk, &view, &*stop);
                let attendant = GatePrompter { context, desk, person, view, stop, insists: false };
                let is_about_it = |gate: &sayso_core::gate::Gate| gate.opened.task == Some(task);
                let attended = attendant.attend(&is_about_it, &|| is_done.load(Ordering::SeqCst));
                // The person has left the prompt: the agent ends, pending gates stay.
                stop.store(true, Ordering::SeqCst);
                attended
            }
            None => Ok(()),
        };
        let worked = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        worked.and(attended)
    });
    outcome?;
    report(context, &desk, &actor, task)
}

fn check_role(setup: &WorkerConfig, file: &TaskFile) -> Result<()> {
    let known: Vec<_> = setup.roles.keys().map(String::as_str).collect();
    if let Some(role) = file.settings.role.as_deref().filter(|role| !known.contains(role)) {
        return Err(Failure::new(Code::TaskFile, format!("there is no role {role:?}"))
            .hint(format!("take one of {}, or write .sayso/roles/{role}.md", known.join(", "))));
    }
    if let Some(agent) = file.settings.agent.as_deref().filter(|a| !setup.agents.contains_key(*a)) {
        let known: Vec<_> = setup.agents.keys().map(String::as_str).collect();
        return Err(Failure::new(Code::TaskFile, format!("there is no agent {agent:?}"))
            .hint(format!("take one of {}, or name it in .sayso/config.yaml", known.join(", "))));
    }
    Ok(())
}

fn check_can_run(desk: &Desk, id: TaskId) -> Result<()> {
    let row = desk.task(id)?;
    let (task, handle) = (&row.task, &row.task.handle);
    let no = |why: &str, hint: String| {
        Err(Failure::new(Code::WrongState, format!("task {handle} {why}")).hint(hint))
    };
    match task.status {
        TaskStatus::Closed | TaskStatus::Deleted => {
            no("is closed", format!("open it again with: sayso reopen {handle}"))
        }
        TaskStatus::Failed | TaskStatus::Blocked if !task.is_waiting() => {
            let why = task.closure.as_ref().map_or("", |closure| closure.reason.as_str());
            no(
                &format!("is {}: {why}", task.status),
                format!("try again with: sayso reopen {handle}"),
            )
        }
        _ if row.blockers > 0 => {
            no("waits for other tasks", format!("see which with: sayso show {handle}"))
        }
        _ if row.open_children > 0 => no(
            "has parts that are not closed",
            format!("work on them with: sayso work --epic {handle}"),
        ),
        _ => Ok(()),
    }
}

/// The task of a file: the one created from it before, updated from the file, or a new one.
fn from_file(desk: &Desk, actor: &Actor, file: &TaskFile, path: &Path) -> Result<TaskId> {
    let mark = format!("file:{}", path.display());
    let filter = TaskFilter { label: Some(mark.clone()), limit: 1, ..TaskFilter::default() };
    if let Some(row) = desk.tasks(&filter)?.items.into_iter().next() {
        let (title, body) = (Some(file.title.clone()), Some(file.body.clone()));
        // A file can require a sign-off later on; removing the setting does not remove the sign-off.
        let requires = file.requires().map(Some);
        let add_labels = file.labels();
        let edit = TaskEdit { title, body, add_labels, requires, ..TaskEdit::default() };
        desk.edit_task(actor, row.task.id, edit)?;
        return Ok(row.task.id);
    }
    let settings = &file.settings;
    let new = NewTask {
        id: desk.new_task_id(),
        title: file.title.clone(),
        body: file.body.clone(),
        sort: settings.sort.clone().unwrap_or_else(|| "task".into()),
        priority: settings.priority.unwrap_or(2),
        size: settings.size.clone(),
        labels: file.labels().into_iter().chain([mark]).collect(),
        parent: settings.parent.as_deref().map(|typed| desk.find_task(typed)).transpose()?,
        blocked_by: shared::tasks(desk, &settings.blocked_by)?.into_iter().collect(),
        requires: file.requires(),
        awaiting: None,
    };
    Ok(desk.create_task(actor, new)?.id)
}

/// Prints the state of the task, and returns the exit code.
fn report(context: &CliContext<'_>, desk: &Desk, actor: &Actor, id: TaskId) -> Result<CommandExit> {
    let out = context.out;
    let row = desk.task(id)?;
    let gates = shared::open_gates_of(desk, actor, &row)?;
    if out.json {
        out.json(&wire::TaskJson::of(&row, &gates, &crate::time::rfc3339))
    } else {
        out.line(&card::task_row(out, &row))
    }
    let task = &row.task;
    for gate in gates.iter().filter(|_| !out.json) {
        out.line(&card::question_below(out, gate, desk.now()));
    }
    Ok(match task.status {
        TaskStatus::Failed | TaskStatus::Blocked => CommandExit::Error,
        _ if task.is_waiting() => CommandExit::TimedOut,
        TaskStatus::Closed if task.verdict == Some(sayso_core::Verdict::Rejected) => {
            CommandExit::Rejected
        }
        TaskStatus::Closed => CommandExit::Ok,
        // It was deleted meanwhile.
        TaskStatus::Deleted => CommandExit::Unanswered,
        // A task that is not done must not end with exit code 0.
        TaskStatus::Open | TaskStatus::InProgress | TaskStatus::Deferred => {
            let exit = work::ended_by_signal().unwrap_or(CommandExit::Unfinished);
            out.remark(&format!("it is not done; go on with: sayso run {}", task.handle));
            exit
        }
    })
}
