//! `sayso messages`: lists messages to agents.

use super::shared::{ROWS, rows};
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, CommandExit};
use sayso_engine::Desk;
use sayso_server::wire;

/// Messages to agents, oldest first. An agent sees its own.
#[derive(clap::Args)]
pub(crate) struct MessagesArgs {
    /// Only those to this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Also those that were read.
    #[arg(long)]
    all: bool,
    /// Note that this message was read.
    #[arg(long, value_name = "ID")]
    ack: Vec<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = ROWS, value_name = "N", value_parser = rows)]
    limit: usize,
}

pub(crate) fn run(args: MessagesArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let out = context.out;
    if !args.ack.is_empty() {
        return acknowledge(context, &desk, &actor, &args.ack);
    }
    let page = desk.messages(&actor, args.agent.as_deref(), !args.all, None, args.limit)?;
    if out.json {
        let items = page.items.iter().map(|m| wire::MessageJson::of(m, &time::rfc3339)).collect();
        out.json(&wire::PageJson { items, next: None });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark("no messages");
    }
    if page.more {
        out.remark(&format!("the oldest {} of more; show more with --limit", page.items.len()));
    }
    for message in &page.items {
        let sent = time::relative(message.sent_at, desk.now());
        let (from, to) = (sanitize_line(&message.from), sanitize_line(&message.to));
        let handle = out.paint(OutputStyle::Name, &message.handle);
        out.line(&format!("{handle}  {from} to {to}, {sent}"));
        card::indented(out, &message.text, "   ").iter().for_each(|line| out.line(line));
    }
    Ok(CommandExit::Ok)
}

fn acknowledge(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    names: &[String],
) -> Result<CommandExit> {
    let mut read = vec![];
    for name in names {
        let message = desk.read_message(actor, name)?;
        context.out.remark(&format!("message {} is read", message.handle));
        read.push(wire::MessageJson::of(&message, &time::rfc3339));
    }
    if context.out.json {
        context.out.json(&wire::PageJson { items: read, next: None });
    }
    Ok(CommandExit::Ok)
}
