//! `sayso update`: changes a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::identity;
use clap_complete::ArgValueCompleter;
use sayso_core::task::{TaskEdit, TaskStatus};
use sayso_core::{Actor, Answer, Code, CommandExit, GateKind, TaskId};
use sayso_engine::Desk;

/// Change a task.
///
/// Clearing what a task waits for (`--awaiting=null`) and giving a verdict are a person's.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso update t7k2 --priority 0 --add-label urgent
  sayso update t7k2 --awaiting approval     hand it to a person
  sayso update t7k2 --awaiting=null         take it back from them
  sayso update t7k2 --verdict approved      the same as: sayso approve t7k2")]
pub(crate) struct UpdateArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// A new title for it.
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// A new description; a dash reads it from standard input.
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// From 0, at once, to 4, some day.
    #[arg(short, long, value_name = "P", value_parser = shared::priority)]
    priority: Option<u8>,
    /// The type of work.
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    sort: Option<String>,
    /// The size; null for none.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Add a label; may be given several times.
    #[arg(short = 'l', long = "add-label", alias = "label", value_name = "LABEL")]
    add_label: Vec<String>,
    /// Remove a label; may be given several times.
    #[arg(long, value_name = "LABEL")]
    remove_label: Vec<String>,
    /// The epic it is part of; null for none.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    parent: Option<String>,
    /// The gate at completion: approval, review or content; null for none.
    #[arg(long, value_name = "KIND")]
    requires: Option<String>,
    /// open, in_progress, closed, deferred, failed or blocked.
    #[arg(short, long, value_name = "STATUS")]
    status: Option<String>,
    /// The reason, for a status.
    #[arg(long, value_name = "TEXT", requires = "status")]
    reason: Option<String>,
    /// Hand it to a person: work, approval, input, review, …; null takes it back.
    #[arg(long, value_name = "KIND")]
    awaiting: Option<String>,
    /// The question for the person, with --awaiting.
    #[arg(long, value_name = "TEXT", requires = "awaiting")]
    question: Option<String>,
    /// The old name of --awaiting work.
    #[arg(long, conflicts_with = "awaiting")]
    manual: bool,
    /// approved or rejected, for what it waits for.
    #[arg(long, value_name = "VERDICT", conflicts_with_all = ["awaiting", "manual"])]
    verdict: Option<String>,
}

pub(crate) fn run(args: UpdateArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_task(&args.id)?;
    let edit = edit(&args, context, &desk)?;
    let says_nothing = args.verdict.is_none() && args.awaiting.is_none() && args.status.is_none();
    if says_nothing && !args.manual && edit == TaskEdit::default() {
        return Err(Failure::new(Code::BadValue, "nothing is to be changed")
            .hint("say what, as in: sayso update ID --priority 1; see sayso update --help"));
    }
    if let Some(typed) = &args.verdict {
        give_verdict(context, &desk, id, typed)?;
    }
    if args.manual {
        context.out.remark("note: --manual is now --awaiting work");
        desk.hand_over(&actor, id, GateKind::Work, None)?;
    }
    match args.awaiting.as_deref() {
        Some("null" | "none" | "") => {
            let person = identity::person(context, &desk)?;
            desk.clear_awaiting(&person, id, "taken back")?;
        }
        Some(kind) => {
            desk.hand_over(&actor, id, shared::kind(kind)?, args.question.clone())?;
        }
        None => {}
    }
    if edit != TaskEdit::default() {
        let loosens = edit.requires.is_some() && desk.task(id)?.task.requires.is_some();
        let actor = identity::person_if(loosens, context, &desk, &actor)?;
        desk.edit_task(&actor, id, edit)?;
    }
    let reason = args.reason.as_deref().unwrap_or("");
    match args.status.as_deref().map(status).transpose()? {
        Some(TaskStatus::Closed) => {
            let completed = super::close::close(context, &desk, &actor, id, reason, false)?;
            super::close::report(context, &desk, &completed, "updated")
        }
        Some(TaskStatus::Open) => {
            super::reopen::reopen(context, &desk, &actor, id, reason)?;
            super::reopen::report(context, &desk, id, "updated")
        }
        Some(status) => {
            set_status(context, &desk, &actor, id, status, reason)?;
            shared::report_task(context, &desk, id, "updated")
        }
        None => shared::report_task(context, &desk, id, "updated"),
    }
}

fn status(typed: &str) -> Result<TaskStatus> {
    typed.parse().map_err(|e: String| Failure::new(Code::BadValue, e))
}

fn edit(args: &UpdateArgs, context: &CliContext<'_>, desk: &Desk) -> Result<TaskEdit> {
    let or_none = |typed: &String| Some(typed.clone()).filter(|t| t != "null");
    let parent = match args.parent.as_deref() {
        None => None,
        Some("null") => Some(None),
        Some(typed) => Some(Some(desk.find_task(typed)?)),
    };
    let requires = match args.requires.as_deref() {
        None => None,
        Some("null") => Some(None),
        Some(typed) => Some(Some(shared::kind(typed)?)),
    };
    Ok(TaskEdit {
        title: args.title.clone(),
        body: args.description.as_deref().map(|text| context.text(text)).transpose()?,
        sort: args.sort.clone(),
        priority: args.priority,
        size: args.size.as_ref().map(or_none),
        parent,
        requires,
        add_labels: args.add_label.iter().cloned().collect(),
        remove_labels: args.remove_label.iter().cloned().collect(),
    })
}

fn give_verdict(context: &CliContext<'_>, desk: &Desk, id: TaskId, typed: &str) -> Result<()> {
    let answer = match typed {
        "approved" => Answer::approved(),
        "rejected" => Answer::rejected(None),
        _ => {
            return Err(Failure::new(Code::BadValue, format!("{typed:?} is no verdict"))
                .hint("take approved or rejected"));
        }
    };
    let person = identity::person(context, desk)?;
    let gate = desk.gate(desk.find_gate(&id.to_string())?)?;
    let digest = shared::shown_digest(&gate, &person, None);
    let answered = desk.answer(&person, gate.opened.id, answer, &digest);
    answered.map(drop).map_err(|error| shared::with_command_hint(&gate, error))
}

/// Sets a status that has no further effects. Opening and closing have commands of their own.
fn set_status(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    status: TaskStatus,
    reason: &str,
) -> Result<()> {
    let waits = desk.task(id)?.task.is_waiting();
    let actor = &identity::person_if(waits, context, desk, actor)?;
    match status {
        TaskStatus::Open | TaskStatus::Closed => {}
        TaskStatus::InProgress => drop(desk.start_task(actor, id, None)?),
        TaskStatus::Deferred => drop(desk.defer_task(actor, id, None)?),
        TaskStatus::Failed => drop(desk.fail_task(actor, id, reason)?),
        TaskStatus::Blocked => drop(desk.block_task(actor, id, reason)?),
        TaskStatus::Deleted => {
            return Err(Failure::new(Code::BadValue, "a task is deleted with: sayso delete ID"));
        }
    }
    Ok(())
}
