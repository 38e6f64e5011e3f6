//! `sayso next`: what to do next.

use super::shared;
use crate::card;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::gate::Gate;
use sayso_core::{Code, Exit, TaskId};
use sayso_engine::{Desk, GateFilter, TaskFilter};
use sayso_server::wire;

/// The task to work on next, or with `--awaiting` the gate to answer next.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what is under this epic.
    #[arg(value_name = "EPIC", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    /// The gate that has waited longest; with KINDS only of these.
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
    let mut filter = GateFilter {
        kinds: shared::kinds(kinds)?,
        awake_at: Some(desk.now()),
        limit: shared::ROWS,
        ..GateFilter::default()
    };
    let gate = loop {
        let page = desk.gates(&actor, filter.clone())?;
        filter.after = page.items.last().map(|gate| gate.opened.id);
        let wanted = |gate: &Gate| under.map_or(Ok(true), |epic| is_under(&desk, epic, gate));
        if let Some(gate) = first(page.items, wanted)? {
            break gate;
        }
        if !page.more {
            return Err(Failure::new(Code::NotFound, "nothing waits for a person"));
        }
    };
    match context.out.json {
        true => context.out.json(&wire::Gate::of(&gate, &when::rfc3339)),
        false => context.out.line(&card::gate_card(context.out, &gate, desk.now())),
    }
    desk.see(&actor, &[gate])?;
    Ok(Exit::Ok)
}

fn first(gates: Vec<Gate>, wanted: impl Fn(&Gate) -> Result<bool>) -> Result<Option<Gate>> {
    for gate in gates {
        if wanted(&gate)? {
            return Ok(Some(gate));
        }
    }
    Ok(None)
}

/// Whether the task behind a gate is this epic, or part of it.
fn is_under(desk: &Desk, epic: TaskId, gate: &Gate) -> Result<bool> {
    let mut above = gate.opened.task;
    while let Some(task) = above {
        if task == epic {
            return Ok(true);
        }
        above = desk.task(task)?.task.parent;
    }
    Ok(false)
}
