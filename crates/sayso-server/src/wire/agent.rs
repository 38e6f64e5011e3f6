//! Agents that can be spawned, and what came of it.

use super::Clock;
use sayso_core::gate::Action;
use sayso_core::text::harmless_line;
use sayso_engine::agents::Where;
use sayso_engine::{Member, Pending, Stationed};
use schemars::JsonSchema;
use serde::Serialize;

/// An agent that can be spawned, and how it stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Agent {
    /// What people call it.
    pub name: String,
    /// The program.
    pub program: String,
    /// What it is started with.
    pub args: Vec<String>,
    /// process or tmux.
    pub backend: String,
    /// The machine it is to run on; none is any.
    pub host: Option<String>,
    /// running, ended, elsewhere (on another machine), or stopped.
    pub state: String,
    /// Where it runs.
    pub running: Option<AgentRunning>,
    /// What is to be done to it.
    pub pending: Option<Order>,
}

/// Where an agent runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentRunning {
    /// The machine.
    pub host: String,
    /// Since when.
    pub since: String,
    /// Whether it is alive; none if that cannot be seen from here.
    pub alive: Option<bool>,
    /// Its process, if it is one.
    pub pid: Option<u32>,
    /// Its session, if it is in tmux.
    pub session: Option<String>,
    /// Where what it writes is kept.
    pub log: String,
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Order {
    /// spawn, restart or stop.
    pub action: String,
    /// The machine it is done on; none is any.
    pub host: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it did not work the last time.
    pub error: Option<String>,
}

/// What came of a wish about an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentOutcome {
    /// The agent.
    pub agent: String,
    /// spawn, restart or stop.
    pub action: String,
    /// Whether it was done. What was not will be, by the next sayso on the machine it is for.
    pub done: bool,
    /// What was done, or what it waits for.
    pub what: String,
    /// The full id of the gate a person is asked at first.
    pub gate: Option<String>,
}

impl Agent {
    /// An agent for the wire; whether it is alive is seen from its machine only.
    pub fn of(
        member: &Member,
        is_alive: impl Fn(&Stationed) -> Option<bool>,
        time: Clock<'_>,
    ) -> Self {
        let Member { name, spec, stationed, pending } = member;
        let alive = stationed.as_ref().map(is_alive);
        let running = stationed.as_ref().map(|at| AgentRunning {
            host: at.host.clone(),
            since: time(at.since),
            alive: alive.flatten(),
            pid: match &at.place {
                Where::Process(leader) => Some(leader.pid),
                Where::Tmux { .. } => None,
            },
            session: match &at.place {
                Where::Process(_) => None,
                Where::Tmux { session, .. } => Some(session.clone()),
            },
            log: at.log.display().to_string(),
        });
        Self {
            name: name.clone(),
            program: spec.program.clone(),
            args: spec.args.clone(),
            backend: spec.backend.to_string(),
            host: spec.host.clone(),
            state: state(alive).into(),
            running,
            pending: pending.as_ref().map(Order::of),
        }
    }
}

/// How an agent stands: where it was started, whether it is alive.
fn state(alive: Option<Option<bool>>) -> &'static str {
    match alive {
        None => "stopped",
        Some(Some(true)) => "running",
        Some(Some(false)) => "ended",
        Some(None) => "elsewhere",
    }
}

impl Order {
    fn of(pending: &Pending) -> Self {
        Self {
            action: pending.order.action.to_string(),
            host: pending.order.host.clone(),
            attempts: pending.attempts,
            error: pending.error.clone(),
        }
    }
}

/// What is going to happen to an agent.
pub fn outlook(pending: &Pending) -> String {
    let agent = harmless_line(&pending.order.agent);
    let what = match pending.order.action {
        Action::Spawn => "spawned",
        Action::Restart => "restarted",
        Action::Stop => "stopped",
    };
    match (&pending.error, &pending.order.host) {
        (Some(error), _) => {
            format!("{agent} is not {what} yet, and it is tried again: {}", harmless_line(error))
        }
        (None, Some(host)) => {
            format!("{agent} will be {what} by the next sayso on {}", harmless_line(host))
        }
        (None, None) => format!("{agent} will be {what} by the next sayso"),
    }
}
