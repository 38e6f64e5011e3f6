//! `sayso flow cancel`: cancels a flow.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;
use sayso_engine::worker::end_command;
use sayso_server::wire;
use sayso_workflow::file::step_id;

/// Take a flow back; what it asked is withdrawn.
///
/// Its agents' questions are withdrawn, too, what it runs is ended, and the task that was made for it is closed. What
/// its agents did stays on the branch of that task.
#[derive(clap::Args)]
pub(crate) struct FlowCancelArgs {
    /// The ID of the flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    flow: String,
    /// The reason, as it is recorded.
    #[arg(value_name = "REASON", default_value = "")]
    reason: String,
}

pub(crate) fn run(args: &FlowCancelArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let out = context.out;
    let flow = desk.cancel_flow(&actor, desk.find_flow(&args.flow)?, &args.reason)?;
    // The process that runs the flow ends its commands. It may have died while a command runs on.
    let running = (0..).find(|item| !flow.outputs.contains_key(item));
    running.map(|item| end_command(&step_id(&flow, item)));
    if out.json {
        out.json(&wire::FlowJson::of(&flow, &desk.flow_status(&flow)?, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    out.line(&format!("{tick} flow {} is cancelled", flow.started.handle));
    Ok(CommandExit::Ok)
}
