//! `sayso flow list`: lists flows, newest first.

use crate::commands::shared::PagingArgs;
use crate::context::CliContext;
use crate::exit::Result;
use crate::time;
use sayso_core::CommandExit;
use sayso_engine::FlowFilter;
use sayso_server::wire;

/// Flows, newest first: those under way, or all of them.
#[derive(clap::Args)]
pub(crate) struct FlowListArgs {
    /// Those that are over, too.
    #[arg(short, long)]
    all: bool,
    /// Only walks through this workflow.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(crate) fn run(args: &FlowListArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let out = context.out;
    let after = args.paging.after.as_deref().map(|typed| desk.find_flow(typed)).transpose()?;
    let (all, workflow, limit) = (args.all, args.workflow.clone(), args.paging.limit);
    let page = desk.flows(&FlowFilter { all, over: false, workflow, after, limit })?;
    let last = page.items.last().map(|flow| flow.started.handle.clone());
    let next = last.filter(|_| page.more);
    if out.json {
        let told = |flow| Ok(wire::FlowJson::of(flow, &desk.flow_status(flow)?, &time::rfc3339));
        let items = page.items.iter().map(told).collect::<Result<_>>()?;
        out.json(&wire::PageJson { items, next });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark(if args.all {
            "there are no flows; begin one with: sayso flow run FILE"
        } else {
            "no flow is under way; see those that are over with: sayso flow list --all"
        });
    }
    for flow in &page.items {
        super::show_in_list(context, &desk, flow)?;
    }
    if let Some(next) = next {
        out.remark(&format!("there are more; go on with --after {next}"));
    }
    Ok(CommandExit::Ok)
}
