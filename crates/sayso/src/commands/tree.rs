//! `sayso tree`: shows tasks as a tree.

use super::shared;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, CommandExit, TaskId};
use sayso_engine::{Desk, TaskFilter, TaskRow};
use sayso_server::wire;
use serde::Serialize;
use std::collections::BTreeMap;

/// Tasks as a tree of epics and their parts, with what each waits for.
#[derive(clap::Args)]
pub(crate) struct TreeArgs {
    /// Only this task and what is under it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: Option<String>,
    /// Show closed ones, too.
    #[arg(short, long)]
    all: bool,
    /// Read at most this many tasks.
    #[arg(short = 'n', long, default_value_t = 1_000, value_name = "N")]
    limit: usize,
}

/// A task and what is under it, for `--json`.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Branch")]
pub(crate) struct TaskBranch {
    /// The task itself.
    #[serde(flatten)]
    task: wire::TaskJson,
    /// The tasks under it.
    children: Vec<TaskBranch>,
}

struct TaskTree<'a> {
    context: &'a CliContext<'a>,
    desk: Desk,
    actor: Actor,
    children: BTreeMap<Option<TaskId>, Vec<TaskRow>>,
}

pub(crate) fn run(args: TreeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let root = args.id.map(|typed| desk.find_task(&typed)).transpose()?;
    let filter =
        TaskFilter { all: args.all, under: root, limit: args.limit, ..TaskFilter::default() };
    let page = desk.tasks(&filter)?;
    let mut rows = page.items;
    if let Some(root) = root {
        rows.insert(0, desk.task(root)?);
    }
    let known: Vec<_> = rows.iter().map(|row| row.task.id).collect();
    let mut children: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in rows {
        // A task under a closed or unread one is shown at the top rather than not at all.
        let parent = row.task.parent.filter(|p| known.contains(p) && Some(row.task.id) != root);
        children.entry(parent).or_default().push(row);
    }
    let tree = TaskTree { context, desk, actor, children };
    if context.out.json {
        context.out.json(&tree.branches(None)?)
    } else {
        tree.print(None, "")?
    }
    if page.more {
        context.out.remark("there are more tasks; show more with --limit");
    }
    Ok(CommandExit::Ok)
}

impl TaskTree<'_> {
    fn branches(&self, parent: Option<TaskId>) -> Result<Vec<TaskBranch>> {
        let mut branches = vec![];
        for row in self.children.get(&parent).into_iter().flatten() {
            let gates = shared::open_gates_of(&self.desk, &self.actor, row)?;
            let task = wire::TaskJson::of(row, &gates, &time::rfc3339);
            branches.push(TaskBranch { task, children: self.branches(Some(row.task.id))? });
        }
        Ok(branches)
    }

    fn print(&self, parent: Option<TaskId>, margin: &str) -> Result<()> {
        let out = self.context.out;
        let rows = self.children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        for (at, row) in rows.iter().enumerate() {
            let is_last = at + 1 == rows.len();
            let (branch, below) = match (parent.is_none(), is_last) {
                (true, _) => ("", ""),
                (false, true) => (out.icon("└── ", "`-- "), "    "),
                (false, false) => (out.icon("├── ", "|-- "), out.icon("│   ", "|   ")),
            };
            out.line(&format!("{margin}{branch}{}", card::task_row(out, row)));
            let deeper = format!("{margin}{below}");
            for gate in shared::open_gates_of(&self.desk, &self.actor, row)? {
                let question = shorten(&sanitize_line(&gate.card.question), 80);
                let handle = out.paint(OutputStyle::Name, gate.handle());
                let hook = out.icon("└── ", "`-- ");
                out.line(&format!("{deeper}{hook}Question {handle}: {question}"));
            }
            self.print(Some(row.task.id), &deeper)?;
        }
        Ok(())
    }
}
