//! `sayso agent list`: the agents and their state.

use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::{card, when};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Exit, Timestamp};
use sayso_engine::agents::Where;
use sayso_engine::{Keeper, Member};
use sayso_server::wire;

/// The agents there are, and how they stand.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent list
  sayso agent list --json")]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _, keeper) = super::sit_down(context)?;
    let members = desk.members()?;
    let out = context.out;
    if out.json {
        out.json(&members.iter().map(|member| on_the_wire(member, &keeper)).collect::<Vec<_>>());
        return Ok(Exit::Ok);
    }
    if members.is_empty() {
        out.remark("there are no agents; set some in a fleet file: sayso apply FILE");
    }
    for member in &members {
        print(out, member, &keeper, desk.now());
    }
    Ok(Exit::Ok)
}

fn on_the_wire(member: &Member, keeper: &Keeper) -> wire::Agent {
    wire::Agent::of(member, |at| keeper.is_alive(at), &when::rfc3339)
}

fn print(out: &Out, member: &Member, keeper: &Keeper, now: Timestamp) {
    let Member { name, spec, stationed, pending } = member;
    let name = out.paint(Look::Name, &card::pad(&harmless_line(name), 12));
    let stands = match (on_the_wire(member, keeper).state.as_str(), stationed) {
        ("running", Some(at)) => {
            out.paint(Look::Good, &format!("runs since {}", when::relative(at.since, now)))
        }
        ("elsewhere", Some(at)) => format!("was started {}", when::relative(at.since, now)),
        (_, Some(at)) => out
            .paint(Look::Bad, &format!("started {}, and has ended", when::relative(at.since, now))),
        (_, None) => out.paint(Look::Faint, "does not run"),
    };
    let place = stationed.as_ref().map(|at| {
        let host = harmless_line(&at.host);
        match &at.place {
            Where::Process(leader) => format!(" on {host}, process {}", leader.pid),
            Where::Tmux { session, .. } => format!(" on {host}, session {session}"),
        }
    });
    out.line(&format!("{name} {stands}{}", place.unwrap_or_default()));
    let words: Vec<_> = std::iter::once(&spec.program).chain(&spec.args).cloned().collect();
    let host = spec.host.as_ref().map(|host| format!(", on {}", harmless_line(host)));
    let about = format!("{} ({}{})", words.join(" "), spec.backend, host.unwrap_or_default());
    let about = shorten(&harmless_line(&about), out.width().saturating_sub(14));
    out.line(&out.paint(Look::Faint, &format!("{:13}{about}", "")));
    if let Some(pending) = pending {
        out.line(&out.paint(Look::Warn, &format!("{:13}{}", "", super::outlook(pending))));
    }
}
