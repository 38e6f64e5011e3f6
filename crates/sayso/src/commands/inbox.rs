//! `sayso inbox`: what waits for people.

use super::shared::{self, Paging};
use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::when;
use sayso_core::{Exit, Role};
use sayso_engine::GateFilter;
use sayso_server::wire;

/// What waits for you, oldest first.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso inbox                      everything that waits
  sayso inbox --kind input,review  only these kinds
  sayso inbox --done               what was answered, newest first")]
pub(crate) struct Args {
    /// Only these kinds, separated by commas.
    #[arg(long, value_name = "KINDS")]
    kind: Option<String>,
    /// What has ended instead, newest first.
    #[arg(long)]
    done: bool,
    /// Also what was put off.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_to_look()?;
    let after = args.paging.after.as_deref().map(|id| shared::find_gate(&desk, id)).transpose()?;
    let filter = GateFilter {
        ended: args.done,
        kinds: shared::kinds(args.kind.as_deref().unwrap_or_default())?,
        awake_at: (!args.all).then(|| desk.now()),
        after,
        limit: args.paging.limit,
        ..GateFilter::default()
    };
    let page = desk.gates(&actor, filter)?;
    let last = page.items.last().map(|gate| gate.handle().to_owned());
    let next = last.filter(|_| page.more);
    let out = context.out;
    if out.json {
        let items = page.items.iter().map(|g| wire::Gate::of(g, &when::rfc3339)).collect();
        out.json(&wire::Page { items, next });
        return Ok(Exit::Ok);
    }
    if page.items.is_empty() {
        out.remark(match (actor.role, args.done) {
            (_, true) => "nothing has been answered yet",
            (Role::Agent, false) => "nothing that you asked still waits",
            (_, false) => "nothing waits for you",
        });
    }
    shared::print_gates(context, &desk, &page.items)?;
    if let Some(next) = next {
        out.remark(&out.paint(Look::Faint, &format!("there are more; go on with --after {next}")));
    }
    Ok(Exit::Ok)
}
