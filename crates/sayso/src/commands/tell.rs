//! `sayso tell`: sends a message to an agent.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use sayso_core::text::sanitize_line;
use sayso_core::{CommandExit, MessageId};
use sayso_server::wire;

/// Send a text to an agent; it is kept until the agent has read it.
#[derive(clap::Args)]
pub(crate) struct TellArgs {
    /// The name of the agent.
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The text; a dash reads it from standard input.
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// A ULID of your own: sending again with it is the same message.
    #[arg(long, value_name = "ULID")]
    id: Option<MessageId>,
}

pub(crate) fn run(args: TellArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = args.id.unwrap_or_else(|| desk.new_message_id());
    let message = desk.tell(&actor, id, &args.agent, &context.words(&args.text)?)?;
    super::agent::nudge(context, &desk, &actor);
    let out = context.out;
    if out.json {
        out.json(&wire::MessageJson::of(&message, &time::rfc3339))
    } else {
        let handle = out.paint(OutputStyle::Name, &message.handle);
        out.line(&format!("message {handle} waits for {}", sanitize_line(&message.to)));
    }
    Ok(CommandExit::Ok)
}
