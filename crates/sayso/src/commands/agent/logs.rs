//! `sayso agent logs`: shows an agent's output.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use clap_complete::ArgValueCompleter;
use sayso_core::text::sanitize;
use sayso_core::{Code, CommandExit};
use sayso_engine::agents::session::tail;

/// The most bytes read from a log.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Show an agent's output, the last lines of it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent logs fixer
  sayso agent logs fixer -n 500
  sayso agent logs fixer --screen")]
pub(crate) struct AgentLogsArgs {
    /// The name of the agent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: String,
    /// Show at most this many lines.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Show its screen as it is now, if it runs in tmux.
    #[arg(long)]
    screen: bool,
}

pub(crate) fn run(args: AgentLogsArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor, keeper) = super::open_with_supervisor(context)?;
    let text = if args.screen {
        desk.screen(&actor, &keeper, &args.name)?
    } else {
        let log = desk.log_of(&actor, &keeper, &args.name)?;
        tail(&log, LOG_BYTES_MAX).map_err(|error| {
            let message = format!("the log {} cannot be read: {error}", log.display());
            Failure::new(Code::NotFound, message)
        })?
    };
    let text = anstream::adapter::strip_str(&text).to_string();
    let lines: Vec<_> = text.trim_end().lines().collect();
    for line in &lines[lines.len().saturating_sub(args.limit)..] {
        context.out.line(&sanitize(line.trim_end_matches('\r')).text);
    }
    Ok(CommandExit::Ok)
}
