//! `sayso agent list`: the agents and their state.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::{card, time};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{CommandExit, Timestamp};
use sayso_engine::agents::SessionLocation;
use sayso_engine::{AgentSupervisor, ManagedAgent};
use sayso_server::wire;

/// The agents there are, and how they stand.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent list
  sayso agent list --json")]
pub(crate) struct AgentListArgs {}

pub(crate) fn run(_: AgentListArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _, keeper) = super::open_with_supervisor(context)?;
    let members = desk.members()?;
    let out = context.out;
    if out.json {
        out.json(&members.iter().map(|member| on_the_wire(member, &keeper)).collect::<Vec<_>>());
        return Ok(CommandExit::Ok);
    }
    if members.is_empty() {
        out.remark("there are no agents; set some in a fleet file: sayso apply FILE");
    }
    for member in &members {
        print(out, member, &keeper, desk.now());
    }
    Ok(CommandExit::Ok)
}

fn on_the_wire(member: &ManagedAgent, keeper: &AgentSupervisor) -> wire::AgentJson {
    wire::AgentJson::of(member, |at| keeper.is_alive(at), &time::rfc3339)
}

fn print(out: &CliOutput, member: &ManagedAgent, keeper: &AgentSupervisor, now: Timestamp) {
    let ManagedAgent { name, spec, stationed, pending } = member;
    let name = out.paint(OutputStyle::Name, &card::pad(&sanitize_line(name), 12));
    let stands = match (on_the_wire(member, keeper).state.as_str(), stationed) {
        ("running", Some(at)) => {
            out.paint(OutputStyle::Good, &format!("runs since {}", time::relative(at.since, now)))
        }
        ("elsewhere", Some(at)) => format!("was started {}", time::relative(at.since, now)),
        (_, Some(at)) => out.paint(
            OutputStyle::Bad,
            &format!("started {}, and has ended", time::relative(at.since, now)),
        ),
        (_, None) => out.paint(OutputStyle::Faint, "does not run"),
    };
    let place = stationed.as_ref().map(|at| {
        let host = sanitize_line(&at.host);
        match &at.place {
            SessionLocation::Process(leader) => format!(" on {host}, process {}", leader.pid),
            SessionLocation::Tmux { session, .. } => format!(" on {host}, session {session}"),
        }
    });
    out.line(&format!("{name} {stands}{}", place.unwrap_or_default()));
    let words: Vec<_> = std::iter::once(&spec.program).chain(&spec.args).cloned().collect();
    let host = spec.host.as_ref().map(|host| format!(", on {}", sanitize_line(host)));
    let about = format!("{} ({}{})", words.join(" "), spec.backend, host.unwrap_or_default());
    let about = shorten(&sanitize_line(&about), out.width().saturating_sub(14));
    out.line(&out.paint(OutputStyle::Faint, &format!("{:13}{about}", "")));
    if let Some(pending) = pending {
        out.line(&out.paint(
            OutputStyle::Warn,
            &format!("{:13}{}", "", super::pending_action_text(pending)),
        ));
    }
}
