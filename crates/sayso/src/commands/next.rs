//! `sayso next`: shows the next task or request.

use super::shared;
use crate::card;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::{Code, Exit, TaskId};
use sayso_engine::{Asked, Desk, InboxFilter, TaskFilter};
use sayso_server::wire;

/// The task to work on next, or with `--awaiting` the gate to answer next.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what is under this epic.
    #[arg(value_name = "EPIC", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    /// The card that comes first in the inbox; with KINDS only of these.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "all")]
    awaiting: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.awaiting {
        Some(kinds) => next_gate(context, args.epic.as_deref(), &kinds),
        None => next_task(context, args.epic.as_deref()),
    }
}

fn next_task(context: &Context<'_>, epic: Option<&str>) -> Result<Exit> {
    let (desk, _) = context.sit_down()?;
    let under = epic.map(|typed| desk.find_task(typed)).transpose()?;
    let filter =
        TaskFilter { ready_at: Some(desk.now()), under, limit: 1, ..TaskFilter::default() };
    let page = desk.tasks(&filter)?;
    let nothing = || Failure::new(Code::NotFound, "no task is ready").hint("see: sayso list");
    let row = page.items.first().ok_or_else(nothing)?;
    match context.out.json {
        true => context.out.json(&wire::Task::of(row, &[], &when::rfc3339)),
        false => context.out.line(&card::task_row(context.out, row)),
    }
    Ok(Exit::Ok)
}

fn next_gate(context: &Context<'_>, epic: Option<&str>, kinds: &str) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let under = epic.map(|typed| desk.find_task(typed)).transpose()?;
    let kinds = shared::kinds(kinds)?;
    let mut filter = InboxFilter { kinds, limit: shared::ROWS, ..InboxFilter::default() };
    let asked = loop {
        let page = desk.inbox(&actor, &filter)?;
        filter.after = page.items.last().map(|card| card.gate.opened.id);
        let wanted = |card: &Asked| under.map_or(Ok(true), |epic| is_under(&desk, epic, card));
        if let Some(card) = first(page.items, wanted)? {
            break card;
        }
        if !page.more {
            return Err(Failure::new(Code::NotFound, "nothing waits for a person"));
        }
    };
    match context.out.json {
        true => context.out.json(&wire::Card::of(&asked, &when::rfc3339)),
        false => context.out.line(&card::asked_card(context.out, &asked, desk.now())),
    }
    desk.see_card(&actor, &asked)?;
    Ok(Exit::Ok)
}

fn first(cards: Vec<Asked>, wanted: impl Fn(&Asked) -> Result<bool>) -> Result<Option<Asked>> {
    for card in cards {
        if wanted(&card)? {
            return Ok(Some(card));
        }
    }
    Ok(None)
}

/// True if a card's waiting task is this epic, or part of it.
fn is_under(desk: &Desk, epic: TaskId, card: &Asked) -> Result<bool> {
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
