//! `sayso notices`: lists, tests and sends notices.

use super::shared::{self, ROWS, rows};
use crate::card;
use crate::config;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::trust::UntrustedSettings;
use crate::{notice_sending, time, work};
use clap_complete::ArgValueCompleter;
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit, Permission};
use sayso_engine::{NoticeChannel, NoticeState, NoticeText};
use sayso_server::notices::{NoticeJson, state_name};
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
pub(crate) struct NoticesArgs {
    #[command(subcommand)]
    what: Option<NoticesCommand>,
    /// Everything about this gate, also what was sent.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    gate: Option<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = ROWS, value_name = "N", value_parser = rows)]
    limit: usize,
}

#[derive(clap::Subcommand)]
enum NoticesCommand {
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

pub(crate) fn run(args: NoticesArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.what {
        Some(NoticesCommand::Test { channel }) => test(context, &channel),
        Some(NoticesCommand::Send { watch }) => send(context, watch),
        None => list(context, args.gate.as_deref(), args.limit),
    }
}

fn list(context: &CliContext<'_>, gate: Option<&str>, limit: usize) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let out = context.out;
    let notices = match gate {
        Some(typed) => desk.told(&actor, desk.find_gate(typed)?)?,
        None => desk.notices(&actor, limit)?,
    };
    if out.json {
        let items = notices.iter().map(|n| NoticeJson::of(n, &time::rfc3339)).collect();
        out.json(&wire::PageJson { items, next: None });
        return Ok(CommandExit::Ok);
    }
    if notices.is_empty() {
        out.remark("no notices");
    }
    for notice in &notices {
        let look = match state_name(notice) {
            "failing" => OutputStyle::Warn,
            "sent" => OutputStyle::Good,
            _ => OutputStyle::Faint,
        };
        let row = [
            out.paint(OutputStyle::Name, &card::pad(&notice.handle, 6)),
            card::pad(notice.occasion.as_str(), 12),
            card::pad(&by_whom(notice), 24),
            out.paint(look, &in_words(notice, desk.now())),
        ];
        out.line(row.join("  ").trim_end());
    }
    Ok(CommandExit::Ok)
}

/// The recipient: `ann by phone`, or the channel alone.
pub(super) fn by_whom(notice: &NoticeState) -> String {
    match &notice.person {
        Some(person) => format!("{} by {}", sanitize_line(person), notice.channel),
        None => format!("by {}", notice.channel),
    }
}

fn in_words(notice: &NoticeState, now: sayso_core::Timestamp) -> String {
    let error = notice.error.as_deref().map(sanitize_line).unwrap_or_default();
    match (notice.sent_at, notice.due_at) {
        (Some(at), _) => format!("sent {}", time::relative(at, now)),
        (None, Some(due)) => {
            let due =
                if due <= now { "due".into() } else { format!("due {}", time::relative(due, now)) };
            match (notice.attempts, error.as_str()) {
                (0, _) | (_, "") => due,
                (1, _) => format!("tried once: {error}; {due}"),
                (n, _) => format!("tried {n} times: {error}; {due}"),
            }
        }
        (None, None) => format!("not sent: {error}"),
    }
}

fn test(context: &CliContext<'_>, name: &str) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    actor.check(Permission::Read, "send a test notice").map_err(sayso_engine::Error::from)?;
    let location = config::locate(&context.globals)?;
    let channel = channel(&location, name)?;
    let id = desk.new_message_id().to_string();
    let text = NoticeText::test(desk.space_name(), &actor.name, &id, desk.now());
    channel.send(&text, desk.now(), location.pages.as_deref()).map_err(|why| {
        Failure::new(Code::Failure, format!("channel {name}: {}", sanitize_line(&why)))
            .hint("mend it under `notify` in the settings, then try again")
    })?;
    context.out.remark(&format!("a test notice went out by {name}"));
    Ok(CommandExit::Ok)
}

fn channel(location: &config::SpaceLocation, name: &str) -> Result<NoticeChannel> {
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

fn send(context: &CliContext<'_>, watch: bool) -> Result<CommandExit> {
    let desk = context.desk()?;
    let Some(courier) = notice_sending::notice_sender(context, &desk)? else {
        let untrusted = config::locate(&context.globals)?.untrusted;
        if let Some(untrusted) = untrusted.filter(UntrustedSettings::concerns_notices) {
            return Err(untrusted.refused());
        }
        return Err(Failure::new(Code::BadConfig, "no channel is set on this machine")
            .hint("add one under `notify` in .sayso/config.yaml, or in your own settings"));
    };
    let sent = if watch { courier.run(&*work::stop_flag()?) } else { courier.send_due()? };
    let failed = match sent.failed {
        0 => String::new(),
        n => format!(", {n} failed; see: sayso notices"),
    };
    context.out.remark(&format!("{} sent{failed}", sent.sent));
    Ok(CommandExit::Ok)
}
