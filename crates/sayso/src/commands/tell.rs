//! `sayso tell`: sends a message to an agent.

use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::when;
use sayso_core::text::harmless_line;
use sayso_core::{Exit, MessageId};
use sayso_server::wire;

/// Send a text to an agent; it is kept until the agent has read it.
#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let id = args.id.unwrap_or_else(|| desk.new_message_id());
    let message = desk.tell(&actor, id, &args.agent, &context.words(&args.text)?)?;
    super::agent::nudge(context, &desk, &actor);
    let out = context.out;
    match out.json {
        true => out.json(&wire::Message::of(&message, &when::rfc3339)),
        false => {
            let handle = out.paint(Look::Name, &message.handle);
            out.line(&format!("message {handle} waits for {}", harmless_line(&message.to)));
        }
    }
    Ok(Exit::Ok)
}
