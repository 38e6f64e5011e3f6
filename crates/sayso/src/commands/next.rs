//! `sayso next`: shows the next task or request.

use super::shared;
use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::{Code, CommandExit, TaskId};
use sayso_engine::{CardView, Desk, InboxFilter, TaskFilter};
use sayso_server::wire;

/// The task to work on next, or with `--awaiting` the gate to answer next.
#[derive(clap::Args)]
pub(crate) struct NextArgs {
    /// Only what is under this epic.
    #[arg(value_name = "EPIC", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    /// The card that comes first in the inbox; with KINDS only of these.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "all")]
    awaiting: Option<String>,
}

pub(crate) fn run(args: NextArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.awaiting {
        Some(kinds) => next_gate(context, args.epic.as_deref(), &kinds),
        None => next_task(context, args.epic.as_deref()),
    }
}

fn next_task(context: &CliContext<'_>, epic: Option<&str>) -> Result<CommandExit> {
    let (desk, _) = context.open()?;
    let under = epic.map(|typed| desk.find_task(typed)).transpose()?;
    let filter =
        TaskFilter { ready_at: Some(desk.now()), under, limit: 1, ..TaskFilter::default() };
    let page = desk.tasks(&filter)?;
    let nothing = || Failure::new(Code::NotFound, "no task is ready").hint("see: sayso list");
    let row = page.items.first().ok_or_else(nothing)?;
    if context.out.json {
        context.out.json(&wire::TaskJson::of(row, &[], &time::rfc3339))
    } else {
        context.out.line(&card::task_row(context.out, row))
    }
    Ok(CommandExit::Ok)
}

fn next_gate(context: &CliContext<'_>, epic: Option<&str>, kinds: &str) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let under = epic.map(|typed| desk.find_task(typed)).transpose()?;
    let kinds = shared::kinds(kinds)?;
    let mut filter = InboxFilter { kinds, limit: shared::ROWS, ..InboxFilter::default() };
    let asked = loop {
        let page = desk.inbox(&actor, &filter)?;
        filter.after = page.items.last().map(|card| card.gate.opened.id);
        let wanted = |card: &CardView| under.map_or(Ok(true), |epic| is_under(&desk, epic, card));
        if let Some(card) = first(page.items, wanted)? {
            break card;
        }
        if !page.more {
            return Err(Failure::new(Code::NotFound, "nothing waits for a person"));
        }
    };
    if context.out.json {
        context.out.json(&wire::CardJson::of(&asked, &time::rfc3339))
    } else {
        context.out.line(&card::asked_card(context.out, &asked, desk.now()))
    }
    desk.see_card(&actor, &asked)?;
    Ok(CommandExit::Ok)
}

fn first(
    cards: Vec<CardView>,
    wanted: impl Fn(&CardView) -> Result<bool>,
) -> Result<Option<CardView>> {
    for card in cards {
        if wanted(&card)? {
            return Ok(Some(card));
        }
    }
    Ok(None)
}

/// True if a card's waiting task is this epic, or part of it.
fn is_under(desk: &Desk, epic: TaskId, card: &CardView) -> Result<bool> {
    for asker in &card.askers {
        let mut above = asker.task;
        while let Some(task) = above {
            if task == epic {
                return Ok(true);
            }
            above = desk.task(task)?.task.parent;
        }
    }
    Ok(false)
}
