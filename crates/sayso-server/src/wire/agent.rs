//! Wire types of managed agents, and of actions on them.

use super::Clock;
use sayso_core::gate::Action;
use sayso_core::text::harmless_line;
use sayso_engine::agents::Where;
use sayso_engine::{Member, Pending, Stationed};
use schemars::JsonSchema;
use serde::Serialize;

/// An agent that can be spawned, and its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Agent {
    /// The name of the agent.
    pub name: String,
    /// The program it runs.
    pub program: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The backend: process or tmux.
    pub backend: String,
    /// The machine it is to run on; none is any.
    pub host: Option<String>,
    /// running, ended, elsewhere (on another machine), or stopped.
    pub state: String,
    /// The place where it runs.
    pub running: Option<AgentRunning>,
    /// The action on it that is pending.
    pub pending: Option<Order>,
}

/// The place where an agent runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentRunning {
    /// The machine it runs on.
    pub host: String,
    /// The time since which it runs.
    pub since: String,
    /// True if it is alive; none if that cannot be seen from here.
    pub alive: Option<bool>,
    /// Its process, if it is one.
    pub pid: Option<u32>,
    /// Its session, if it is in tmux.
    pub session: Option<String>,
    /// The path of its log.
    pub log: String,
}

/// An action on an agent that is pending.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Order {
    /// spawn, restart or stop.
    pub action: String,
    /// The machine it is done on; none is any.
    pub host: Option<String>,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The error of the last attempt.
    pub error: Option<String>,
}

/// The outcome of a request for an action on an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentOutcome {
    /// The name of the agent.
    pub agent: String,
    /// spawn, restart or stop.
    pub action: String,
    /// True if it was done. If not, it will be, by the next sayso on the machine it is for.
    pub done: bool,
    /// The action that was done, or the one it waits for.
    pub what: String,
    /// The full id of the gate a person is asked at first.
    pub gate: Option<String>,
}

impl Agent {
    /// Converts an agent to its wire form; whether it is alive is seen from its machine only.
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

/// Returns the state of an agent, given whether it was started and is alive.
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

/// Returns the text about a pending action on an agent.
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
