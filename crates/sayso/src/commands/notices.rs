//! `sayso notices`: lists, tests and sends notices.

use super::shared::{self, ROWS, rows};
use crate::card;
use crate::config;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Look;
use crate::trust::Untrusted;
use crate::{courier, when, work};
use clap_complete::ArgValueCompleter;
use sayso_core::text::harmless_line;
use sayso_core::{Code, Deed, Exit};
use sayso_engine::{Channel, NoticeState, NoticeText};
use sayso_server::notices::{Notice, in_a_word};
use sayso_server::wire;

/// List the notices sent to people, and whether they arrive.
///
/// Channels are set under `notify` in the settings of the machine that sends. `sayso work`, and a command that
/// waits for an answer, sends what is due; here is what has not been sent yet, and why.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  sayso notices                       what is not sent yet, and why
  sayso notices --gate g7k2           everything about one gate
  sayso notices test phone            try a channel
  sayso notices send --watch          send what is due, and stay")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Everything about this gate, also what was sent.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    gate: Option<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = ROWS, value_name = "N", value_parser = rows)]
    limit: usize,
}

#[derive(clap::Subcommand)]
enum What {
    /// Send a test notice by a channel of this machine.
    Test {
        /// The name of the channel.
        #[arg(value_name = "CHANNEL")]
        channel: String,
    },
    /// Send what is due by the channels of this machine.
    Send {
        /// Stay, and send all that comes.
        #[arg(short, long)]
        watch: bool,
    },
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.what {
        Some(What::Test { channel }) => test(context, &channel),
        Some(What::Send { watch }) => send(context, watch),
        None => list(context, args.gate.as_deref(), args.limit),
    }
}

fn list(context: &Context<'_>, gate: Option<&str>, limit: usize) -> Result<Exit> {
    let (desk, actor) = context.sit_down_to_look()?;
    let out = context.out;
    let notices = match gate {
        Some(typed) => desk.told(&actor, desk.find_gate(typed)?)?,
        None => desk.notices(&actor, limit)?,
    };
    if out.json {
        let items = notices.iter().map(|n| Notice::of(n, &when::rfc3339)).collect();
        out.json(&wire::Page { items, next: None });
        return Ok(Exit::Ok);
    }
    if notices.is_empty() {
        out.remark("no notices");
    }
    for notice in &notices {
        let look = match in_a_word(notice) {
            "failing" => Look::Warn,
            "sent" => Look::Good,
            _ => Look::Faint,
        };
        let row = [
            out.paint(Look::Name, &card::pad(&notice.handle, 6)),
            card::pad(notice.occasion.as_str(), 12),
            card::pad(&by_whom(notice), 24),
            out.paint(look, &in_words(notice, desk.now())),
        ];
        out.line(row.join("  ").trim_end());
    }
    Ok(Exit::Ok)
}

/// The recipient: `ann by phone`, or the channel alone.
pub(super) fn by_whom(notice: &NoticeState) -> String {
    match &notice.person {
        Some(person) => format!("{} by {}", harmless_line(person), notice.channel),
        None => format!("by {}", notice.channel),
    }
}

fn in_words(notice: &NoticeState, now: sayso_core::Timestamp) -> String {
    let error = notice.error.as_deref().map(harmless_line).unwrap_or_default();
    match (notice.sent_at, notice.due_at) {
        (Some(at), _) => format!("sent {}", when::relative(at, now)),
        (None, Some(due)) => {
            let due = match due <= now {
                true => "due".into(),
                false => format!("due {}", when::relative(due, now)),
            };
            match (notice.attempts, error.as_str()) {
                (0, _) | (_, "") => due,
                (1, _) => format!("tried once: {error}; {due}"),
                (n, _) => format!("tried {n} times: {error}; {due}"),
            }
        }
        (None, None) => format!("not sent: {error}"),
    }
}

fn test(context: &Context<'_>, name: &str) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    actor.check(Deed::Read, "send a test notice").map_err(sayso_engine::Error::from)?;
    let location = config::locate(&context.globals)?;
    let channel = channel(&location, name)?;
    let id = desk.new_message_id().to_string();
    let text = NoticeText::test(desk.space_name(), &actor.name, &id, desk.now());
    channel.send(&text, desk.now(), location.pages.as_deref()).map_err(|why| {
        Failure::new(Code::Failure, format!("channel {name}: {}", harmless_line(&why)))
            .hint("mend it under `notify` in the settings, then try again")
    })?;
    context.out.remark(&format!("a test notice went out by {name}"));
    Ok(Exit::Ok)
}

fn channel(location: &config::Location, name: &str) -> Result<Channel> {
    let known: Vec<_> = location.channels.iter().map(|settings| settings.name.as_str()).collect();
    let found = location.channels.iter().find(|settings| settings.name == name);
    let Some(settings) = found else {
        let setting = format!("notify.{name}");
        let untrusted = location.untrusted.as_ref();
        if let Some(untrusted) = untrusted.filter(|u| u.settings.contains(&setting)) {
            return Err(untrusted.refused());
        }
        let hint = match known.as_slice() {
            [] => {
                "no channel is set on this machine; add one under `notify` in the settings".into()
            }
            known => format!("the channels of this machine are: {}", known.join(", ")),
        };
        return Err(
            Failure::new(Code::NotFound, format!("there is no channel {name:?}")).hint(hint)
        );
    };
    settings.channel(&work::environment())
}

fn send(context: &Context<'_>, watch: bool) -> Result<Exit> {
    let desk = context.desk()?;
    let Some(courier) = courier::courier(context, &desk)? else {
        let untrusted = config::locate(&context.globals)?.untrusted;
        if let Some(untrusted) = untrusted.filter(Untrusted::concerns_notices) {
            return Err(untrusted.refused());
        }
        return Err(Failure::new(Code::BadConfig, "no channel is set on this machine")
            .hint("add one under `notify` in .sayso/config.yaml, or in your own settings"));
    };
    let sent = match watch {
        true => courier.run(&*work::stop_flag()?),
        false => courier.send_due()?,
    };
    let failed = match sent.failed {
        0 => String::new(),
        n => format!(", {n} failed; see: sayso notices"),
    };
    context.out.remark(&format!("{} sent{failed}", sent.sent));
    Ok(Exit::Ok)
}
