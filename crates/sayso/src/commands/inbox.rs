//! `sayso inbox`: lists open requests, full screen at a terminal.

use super::shared::{self, PagingArgs};
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::{time, tui};
use sayso_core::gate::{self, AlertKind, GateAlert};
use sayso_core::{Actor, CommandExit, Role};
use sayso_engine::{Desk, GateFilter, InboxFilter};
use sayso_server::wire;

/// The maximum number of alerts shown.
const ALERTS_MAX: usize = 20;

/// List what waits for you: what unblocks most first, then oldest first. Where one asks much, what it asks beyond
/// twenty comes last.
///
/// At a terminal it opens full screen, with keys to look around and to answer; `?` tells them. With
/// `--plain` or `--json`, for a page (`--after`, `-n`) or for what has ended (`--done`), in a pipe, on a
/// terminal that cannot move its cursor and for a screen reader it prints a list.
///
/// The same question of several agents is one card, and one answer goes to all of them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso inbox                      what waits for you, full screen
  sayso inbox --plain              everything that waits, as a list
  sayso inbox --kind input,review  only these kinds
  sayso inbox --whose yours        not what waits for others
  sayso inbox --done               what was answered, newest first")]
pub(crate) struct InboxArgs {
    /// Only these kinds, separated by commas.
    #[arg(long, value_name = "KINDS")]
    kind: Option<String>,
    /// Only what waits for you (yours), for a group you are in (groups), or for others.
    #[arg(long, value_name = "WHOSE")]
    whose: Option<WhoseFilter>,
    /// Requests that have ended instead, newest first.
    #[arg(long)]
    done: bool,
    /// Also what was put off.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

/// The value of `--whose`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum WhoseFilter {
    Yours,
    Groups,
    Others,
}

impl From<WhoseFilter> for gate::GateAudience {
    fn from(typed: WhoseFilter) -> Self {
        match typed {
            WhoseFilter::Yours => gate::GateAudience::Yours,
            WhoseFilter::Groups => gate::GateAudience::Groups,
            WhoseFilter::Others => gate::GateAudience::Others,
        }
    }
}

impl From<WhoseFilter> for tui::InboxListKind {
    fn from(typed: WhoseFilter) -> Self {
        match typed {
            WhoseFilter::Yours => tui::InboxListKind::Yours,
            WhoseFilter::Groups => tui::InboxListKind::Groups,
            WhoseFilter::Others => tui::InboxListKind::All,
        }
    }
}

pub(crate) fn run(args: InboxArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let after = args.paging.after.as_deref().map(|id| shared::find_gate(&desk, id)).transpose()?;
    let kinds = shared::kinds(args.kind.as_deref().unwrap_or_default())?;
    let limit = args.paging.limit;
    let wants_page = args.done || after.is_some() || limit != shared::ROWS;
    if !wants_page && actor.role == Role::Human && tui::fits(context) {
        let view = args.whose.map_or(tui::InboxListKind::Yours, Into::into);
        return tui::open(context, desk, actor, view, tui::InboxScope { kinds, all: args.all });
    }
    if args.done {
        let filter = GateFilter { ended: true, kinds, after, limit, ..GateFilter::default() };
        return done(context, &desk, &actor, filter);
    }
    let whose = args.whose.map(Into::into);
    let page = desk.inbox(&actor, &InboxFilter { kinds, whose, all: args.all, after, limit })?;
    let last = page.items.last().map(|card| card.gate.handle().to_owned());
    let next = last.filter(|_| page.more);
    let alerts = desk.alerts(&actor, ALERTS_MAX)?;
    let out = context.out;
    if out.json {
        let items =
            page.items.iter().map(|card| wire::CardJson::of(card, &time::rfc3339)).collect();
        let alerts =
            alerts.iter().map(|alert| wire::AlertJson::of(alert, &time::rfc3339)).collect();
        out.json(&wire::InboxJson { items, next, alerts });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark(match actor.role {
            Role::Agent => "nothing that you asked still waits",
            _ => "nothing waits for you",
        });
    }
    shared::print_cards(context, &desk, &page.items)?;
    say_more(context, next);
    // The person is seeing the cards above now.
    let is_above = |alert: &&GateAlert| {
        let mut askers = page.items.iter().flat_map(|card| &card.askers);
        alert.trouble == AlertKind::Unseen && askers.any(|asker| asker.handle == alert.gate)
    };
    let others: Vec<_> = alerts.iter().filter(|alert| !is_above(alert)).cloned().collect();
    if !others.is_empty() {
        out.line("");
    }
    shared::print_alerts(context, &others, desk.now());
    Ok(CommandExit::Ok)
}

fn say_more(context: &CliContext<'_>, next: Option<String>) {
    let out = context.out;
    if let Some(next) = next {
        out.remark(
            &out.paint(OutputStyle::Faint, &format!("there are more; go on with --after {next}")),
        );
    }
}

/// Lists ended gates, newest first.
fn done(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    filter: GateFilter,
) -> Result<CommandExit> {
    let page = desk.gates(actor, filter)?;
    let last = page.items.last().map(|gate| gate.handle().to_owned());
    let next = last.filter(|_| page.more);
    let out = context.out;
    if out.json {
        let items = page.items.iter().map(|g| wire::GateJson::of(g, &time::rfc3339)).collect();
        out.json(&wire::PageJson { items, next });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark("nothing has been answered yet");
    }
    shared::print_gates(context, desk, &page.items)?;
    say_more(context, next);
    Ok(CommandExit::Ok)
}
