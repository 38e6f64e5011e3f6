//! Wire types of managed agents, and of actions on them.

use super::TimeFormatter;
use sayso_core::gate::LifecycleAction;
use sayso_core::text::sanitize_line;
use sayso_engine::agents::SessionLocation;
use sayso_engine::{ManagedAgent, PendingOrder, RunningAgent};
use schemars::JsonSchema;
use serde::Serialize;

/// An agent that can be spawned, and its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Agent")]
pub struct AgentJson {
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
    pub pending: Option<OrderJson>,
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
#[schemars(rename = "Order")]
pub struct OrderJson {
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

impl AgentJson {
    /// Converts an agent to its wire form; whether it is alive is seen from its machine only.
    pub fn of(
        member: &ManagedAgent,
        is_alive: impl Fn(&RunningAgent) -> Option<bool>,
        time: TimeFormatter<'_>,
    ) -> Self {
        let ManagedAgent { name, spec, stationed, pending } = member;
        let alive = stationed.as_ref().map(is_alive);
        let running = stationed.as_ref().map(|at| AgentRunning {
            host: at.host.clone(),
            since: time(at.since),
            alive: alive.flatten(),
            pid: match &at.place {
                SessionLocation::Process(leader) => Some(leader.pid),
                SessionLocation::Tmux { .. } => None,
            },
            session: match &at.place {
                SessionLocation::Process(_) => None,
                SessionLocation::Tmux { session, .. } => Some(session.clone()),
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
            pending: pending.as_ref().map(OrderJson::of),
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

impl OrderJson {
    fn of(pending: &PendingOrder) -> Self {
        Self {
            action: pending.order.action.to_string(),
            host: pending.order.host.clone(),
            attempts: pending.attempts,
            error: pending.error.clone(),
        }
    }
}

/// Returns the text about a pending action on an agent.
pub fn pending_action_text(pending: &PendingOrder) -> String {
    let agent = sanitize_line(&pending.order.agent);
    let what = match pending.order.action {
        LifecycleAction::Spawn => "spawned",
        LifecycleAction::Restart => "restarted",
        LifecycleAction::Stop => "stopped",
    };
    match (&pending.error, &pending.order.host) {
        (Some(error), _) => {
            format!("{agent} is not {what} yet, and it is tried again: {}", sanitize_line(error))
        }
        (None, Some(host)) => {
            format!("{agent} will be {what} by the next sayso on {}", sanitize_line(host))
        }
        (None, None) => format!("{agent} will be {what} by the next sayso"),
    }
}
