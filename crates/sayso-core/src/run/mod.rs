//! The run: one execution of an agent on a task, with a lease and a fencing number against stale workers.

#[cfg(test)]
mod tests;

use crate::{Actor, Code, Permission, Refusal, Role, RunId, SpaceId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// A run, folded from its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The parameters with which it was started.
    pub started: RunSpec,
    /// The time of the start.
    pub started_at: Timestamp,
    /// The agent's id of its conversation (session), once known.
    pub session: Option<String>,
    /// The time at which the lease expires unless the worker renews it.
    pub lease_until: Timestamp,
    /// The state: running, or ended with a result.
    pub state: RunState,
}

/// The parameters with which a run is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The id, chosen by the worker.
    pub id: RunId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The task it works on.
    pub task: TaskId,
    /// The name of the agent.
    pub agent: String,
    /// The name of the actor who launched it.
    pub launcher: String,
    /// The fencing number: the task's count of runs at the start.
    pub fence: u64,
    /// The time at which the first lease expires.
    pub lease_until: Timestamp,
    /// The worker process and the place where it works.
    #[serde(default)]
    pub holder: LeaseHolder,
    /// The conversation it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The holder of a lease: the process and the place where it works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// The name of the machine.
    pub host: String,
    /// The path of the repository.
    pub repository: String,
    /// The worker's process id, with a mark that tells it from a later process with the same number.
    pub process: String,
}

impl LeaseHolder {
    /// True if the worktree and the conversation of one are available to the other: same machine, same repository.
    pub fn is_at_the_place_of(&self, other: &LeaseHolder) -> bool {
        (&self.host, &self.repository) == (&other.host, &other.repository)
    }
}

/// The usage of a run: tokens, money and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    /// The number of tokens the model read.
    pub input_tokens: u64,
    /// The number of tokens the model wrote.
    pub output_tokens: u64,
    /// The cost in millionths of a dollar, as the agent reported it.
    pub cost_micros: u64,
    /// The working time in milliseconds, without the time it waited for a person.
    #[serde(default)]
    pub work_millis: u64,
    /// The time it waited for a person, in milliseconds.
    #[serde(default)]
    pub waited_millis: u64,
}

impl RunUsage {
    /// Returns the sum of both.
    #[must_use]
    pub const fn plus(self, other: RunUsage) -> RunUsage {
        RunUsage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            work_millis: self.work_millis.saturating_add(other.work_millis),
            waited_millis: self.waited_millis.saturating_add(other.waited_millis),
        }
    }
}

/// The state of a run. A run is one turn of an agent: if it asks a person it ends with the question, and the answer
/// starts the next run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The agent is working.
    Running,
    /// The run has ended.
    Ended {
        /// The kind of ending.
        how: RunEndKind,
        /// The final message of the agent, or the error.
        note: String,
        /// The usage of the run.
        #[serde(default)]
        spent: RunUsage,
        /// The time of the ending.
        at: Timestamp,
    },
}

/// The kind of ending of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEndKind {
    /// The agent finished its work.
    Completed,
    /// The agent asked a person.
    Asked,
    /// The agent's final message has no signal.
    Unclear,
    /// The agent failed with an error.
    Failed,
    /// The rate limit of the agent is used up.
    Limited,
    /// An actor stopped the run.
    Stopped,
    /// The worker died or did not renew the lease in time.
    Lost,
}

impl RunEndKind {
    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunEndKind::Completed => "completed",
            RunEndKind::Asked => "asked",
            RunEndKind::Unclear => "unclear",
            RunEndKind::Failed => "failed",
            RunEndKind::Limited => "waiting_for_reset",
            RunEndKind::Stopped => "stopped",
            RunEndKind::Lost => "lost",
        }
    }
}

/// A command to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommand {
    /// Start the run.
    Start(Box<RunSpec>),
    /// Renew the lease.
    Renew {
        /// The fencing number that the worker holds.
        fence: u64,
        /// The time at which the lease expires.
        until: Timestamp,
    },
    /// Record the agent's id of its conversation.
    Name {
        /// The id of the conversation.
        session: String,
    },
    /// End the run.
    End {
        /// The fencing number that the worker holds.
        fence: u64,
        /// The kind of ending.
        how: RunEndKind,
        /// The final message of the agent, or the error.
        note: String,
        /// The usage of the run.
        spent: RunUsage,
    },
    /// Mark a run as lost after its lease expired.
    Lose,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run was started.
    Started(Box<RunSpec>),
    /// The lease was renewed.
    Renewed {
        /// The time at which the lease expires.
        until: Timestamp,
    },
    /// The agent reported the id of its conversation.
    Named {
        /// The id of the conversation.
        session: String,
    },
    /// The run has ended.
    Ended {
        /// The kind of ending.
        how: RunEndKind,
        /// The final message of the agent, or the error.
        note: String,
        /// The usage of the run.
        #[serde(default)]
        spent: RunUsage,
    },
    /// An event of a later version, which this one ignores.
    #[serde(other)]
    Unknown,
}

impl RunEvent {
    /// Returns the name used in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            RunEvent::Started(_) => "run.started",
            RunEvent::Renewed { .. } => "run.renewed",
            RunEvent::Named { .. } => "run.named",
            RunEvent::Ended { .. } => "run.ended",
            RunEvent::Unknown => "run.unknown",
        }
    }
}

/// A side effect of a run's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// Revoke the run's credential.
    RevokeToken,
}

/// Decides a command. A repeated command returns no events and no refusal (idempotent).
pub fn decide(
    run: Option<&Run>,
    command: &RunCommand,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<RunEvent>, Refusal> {
    let Some(run) = run else {
        return match command {
            RunCommand::Start(started) => {
                check_is_theirs(started.id, actor)?;
                Ok(vec![RunEvent::Started(started.clone())])
            }
            _ => Err(Refusal::new(Code::NotFound, "there is no such run")),
        };
    };
    check_is_theirs(run.started.id, actor)?;
    match command {
        RunCommand::Start(started) if run.started == **started => Ok(vec![]),
        RunCommand::Start(started) => {
            Err(Refusal::new(Code::Clash, format!("id {} is another run", started.id)))
        }
        RunCommand::Renew { fence, until } => {
            check_live(run, *fence, at)?;
            // A renewal that arrives late does not shorten the lease.
            let is_later = *until > run.lease_until;
            Ok(if is_later { vec![RunEvent::Renewed { until: *until }] } else { vec![] })
        }
        RunCommand::Name { session } if run.session.as_ref() == Some(session) => Ok(vec![]),
        RunCommand::Name { session } => Ok(vec![RunEvent::Named { session: session.clone() }]),
        RunCommand::End { fence, how, note, spent } => end(run, *fence, *how, note, *spent, actor),
        RunCommand::Lose => lose(run, at),
    }
}

fn end(
    run: &Run,
    fence: u64,
    how: RunEndKind,
    note: &str,
    spent: RunUsage,
    actor: &Actor,
) -> Result<Vec<RunEvent>, Refusal> {
    check_fence(run, fence)?;
    match &run.state {
        RunState::Running => {
            let note = if note.is_empty() { format!("by {}", actor.name) } else { note.into() };
            Ok(vec![RunEvent::Ended { how, note, spent }])
        }
        RunState::Ended { how: before, .. } if *before == how => Ok(vec![]),
        RunState::Ended { .. } => Err(over(run)),
    }
}

fn lose(run: &Run, at: Timestamp) -> Result<Vec<RunEvent>, Refusal> {
    match &run.state {
        RunState::Running if at >= run.lease_until => {
            let (note, spent) = ("its lease ran out".into(), RunUsage::default());
            Ok(vec![RunEvent::Ended { how: RunEndKind::Lost, note, spent }])
        }
        RunState::Running => {
            Err(Refusal::new(Code::WrongState, format!("run {} is alive", run.started.id)))
        }
        RunState::Ended { .. } => Ok(vec![]),
    }
}

/// Checks that the actor may change this run. An agent may change its own run only; an auditor none.
fn check_is_theirs(run: RunId, actor: &Actor) -> Result<(), Refusal> {
    actor.check(Permission::Track, "run agents")?;
    if actor.role == Role::Agent && actor.run != Some(run) {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("agent {} may not touch run {run}, which is not its own", actor.name),
        ));
    }
    Ok(())
}

fn check_live(run: &Run, fence: u64, at: Timestamp) -> Result<(), Refusal> {
    check_fence(run, fence)?;
    match &run.state {
        RunState::Running if at < run.lease_until => Ok(()),
        RunState::Running => {
            Err(Refusal::new(Code::Fenced, format!("the lease of run {} is over", run.started.id))
                .hint("the task may be somebody else's by now; start a new run"))
        }
        RunState::Ended { .. } => Err(over(run)),
    }
}

fn check_fence(run: &Run, fence: u64) -> Result<(), Refusal> {
    if fence == run.started.fence {
        return Ok(());
    }
    Err(Refusal::new(
        Code::Fenced,
        format!("run {} has number {}, not {fence}", run.started.id, run.started.fence),
    ))
}

fn over(run: &Run) -> Refusal {
    Refusal::new(Code::WrongState, format!("run {} is over", run.started.id))
}

/// Folds an event into a run. Total: an event unknown to this version changes nothing.
pub fn apply(run: Option<Run>, event: &RunEvent, at: Timestamp) -> Option<Run> {
    let Some(mut run) = run else {
        return match event {
            RunEvent::Started(started) => Some(Run {
                started: (**started).clone(),
                started_at: at,
                session: started.session.clone(),
                lease_until: started.lease_until,
                state: RunState::Running,
            }),
            _ => None,
        };
    };
    // A run ends once; only the id of its conversation may still become known.
    if matches!(run.state, RunState::Ended { .. }) && !matches!(event, RunEvent::Named { .. }) {
        return Some(run);
    }
    match event {
        RunEvent::Started(_) | RunEvent::Unknown => {}
        RunEvent::Renewed { until } => run.lease_until = *until,
        RunEvent::Named { session } => run.session = Some(session.clone()),
        RunEvent::Ended { how, note, spent } => {
            run.state = RunState::Ended { how: *how, note: note.clone(), spent: *spent, at };
        }
    }
    Some(run)
}

/// Returns the side effects of an event.
pub fn effects(event: &RunEvent) -> Vec<RunEffect> {
    match event {
        RunEvent::Ended { .. } => vec![RunEffect::RevokeToken],
        RunEvent::Started(_)
        | RunEvent::Renewed { .. }
        | RunEvent::Named { .. }
        | RunEvent::Unknown => vec![],
    }
}
