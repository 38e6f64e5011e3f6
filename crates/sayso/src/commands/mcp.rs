//! `sayso mcp`: serves the Model Context Protocol to agents.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{identity, notice_sending, time};
use sayso_core::{Code, CommandExit, EntryPoint, Refusal};
use sayso_server::mcp::{self, McpSetup};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Serve the Model Context Protocol to agents. Their clients start this; people do not.
///
/// On standard input and output it serves the one agent that started it; with `--http` any number, each
/// with a token of its own. Through it agents ask people, get their answers and messages, and work on
/// tasks. No tool answers a gate.
#[derive(clap::Args)]
#[command(after_help = "Examples (in the client's configuration):
  sayso mcp
  sayso mcp --http 127.0.0.1:7412

Whoever calls is known by the token in SAYSO_TOKEN_FILE, or over HTTP by `Authorization: Bearer`.")]
pub(crate) struct McpArgs {
    /// Serve over HTTP at this address, in place of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// A name clients may call this machine by, beside localhost; may be given several times.
    #[arg(long, value_name = "HOST", requires = "http")]
    host: Vec<String>,
    /// The time for which a question waits for a person before the call comes back without an answer.
    #[arg(long, value_name = "TIME", default_value = "4m", value_parser = time::duration)]
    hold: Duration,
    /// The file with the agent's token, for when the environment has none of an agent's.
    #[arg(long, value_name = "FILE", conflicts_with = "http")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(args: McpArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let desk = context.desk()?;
    if args.http.is_some() && desk.is_remote() {
        let message = "agents that speak HTTP speak to the server itself";
        return Err(Failure::new(Code::BadValue, message).hint(format!(
            "they find it at {}/mcp/{}, or start `sayso mcp` without --http beside them",
            desk.address(),
            desk.space_name()
        )));
    }
    let folder = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let root = folder.filter(|_| args.http.is_none());
    let setup = McpSetup { desk: desk.clone(), hold: args.hold, root, time: time::rfc3339 };
    // This process may be the only one that sends notices.
    let sending = notice_sending::send_in_background(context, &desk);
    match args.http {
        None => {
            let caller = move || {
                let agent =
                    identity::calling_agent(&desk, args.token_file.as_deref(), EntryPoint::Mcp);
                agent.map_err(|failure| {
                    let refusal = Refusal::new(failure.code, failure.message);
                    failure.hint.map_or(refusal.clone(), |hint| refusal.hint(hint)).into()
                })
            };
            mcp::on_stdio(setup, Arc::new(caller))?;
        }
        Some(address) => {
            let listening = mcp::listen(setup, address, args.host)?;
            context.out.line(&listening.url());
            listening.serve()?;
        }
    }
    drop(sending);
    Ok(CommandExit::Ok)
}
