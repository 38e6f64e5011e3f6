//! `sayso agent list`: the agents there are, and how they stand.

use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::{card, when};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Exit, Timestamp};
use sayso_engine::agents::Where;
use sayso_engine::{Keeper, Member};
use serde::Serialize;

/// The agents there are, and how they stand.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent list
  sayso agent list --json")]
pub(crate) struct Args {}

/// An agent that can be spawned, and how it stands.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Row {
    /// What people call it.
    name: String,
    /// The program.
    program: String,
    /// What it is started with.
    args: Vec<String>,
    /// process or tmux.
    backend: String,
    /// The machine it is to run on; none is any.
    host: Option<String>,
    /// running, ended, elsewhere (on another machine), or stopped.
    state: &'static str,
    /// Where it runs.
    running: Option<Running>,
    /// What is to be done to it.
    pending: Option<Order>,
}

/// Where an agent runs.
#[derive(Serialize, schemars::JsonSchema)]
struct Running {
    /// The machine.
    host: String,
    /// Since when.
    since: String,
    /// Whether it is alive; none if that cannot be seen from here.
    alive: Option<bool>,
    /// Its process, if it is one.
    pid: Option<u32>,
    /// Its session, if it is in tmux.
    session: Option<String>,
    /// Where what it writes is kept.
    log: String,
}

/// What is to be done.
#[derive(Serialize, schemars::JsonSchema)]
struct Order {
    /// spawn, restart or stop.
    action: String,
    /// The machine it is done on; none is any.
    host: Option<String>,
    /// How often it was tried.
    attempts: u32,
    /// Why it did not work the last time.
    error: Option<String>,
}

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _, keeper) = super::sit_down(context)?;
    let members = desk.members()?;
    let out = context.out;
    if out.json {
        out.json(&members.iter().map(|member| Row::of(member, &keeper)).collect::<Vec<_>>());
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

impl Row {
    fn of(member: &Member, keeper: &Keeper) -> Self {
        let Member { name, spec, stationed, pending } = member;
        let running = stationed.as_ref().map(|at| Running {
            host: at.host.clone(),
            since: when::rfc3339(at.since),
            alive: keeper.is_alive(at),
            pid: pid(&at.place),
            session: session(&at.place).map(str::to_owned),
            log: at.log.display().to_string(),
        });
        let pending = pending.as_ref().map(|pending| Order {
            action: pending.order.action.to_string(),
            host: pending.order.host.clone(),
            attempts: pending.attempts,
            error: pending.error.clone(),
        });
        Self {
            name: name.clone(),
            program: spec.program.clone(),
            args: spec.args.clone(),
            backend: spec.backend.to_string(),
            host: spec.host.clone(),
            state: state(member, keeper),
            running,
            pending,
        }
    }
}

fn state(member: &Member, keeper: &Keeper) -> &'static str {
    match member.stationed.as_ref().map(|at| keeper.is_alive(at)) {
        None => "stopped",
        Some(Some(true)) => "running",
        Some(Some(false)) => "ended",
        Some(None) => "elsewhere",
    }
}

fn pid(place: &Where) -> Option<u32> {
    match place {
        Where::Process(leader) => Some(leader.pid),
        Where::Tmux { .. } => None,
    }
}

fn session(place: &Where) -> Option<&str> {
    match place {
        Where::Process(_) => None,
        Where::Tmux { session, .. } => Some(session),
    }
}

fn print(out: &Out, member: &Member, keeper: &Keeper, now: Timestamp) {
    let Member { name, spec, stationed, pending } = member;
    let name = out.paint(Look::Name, &card::pad(&harmless_line(name), 12));
    let stands = match (state(member, keeper), stationed) {
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
