//! The run: one execution of an agent on a task, held by a lease and numbered by a fence.

#[cfg(test)]
mod tests;

use crate::{Actor, Code, Deed, Refusal, Role, RunId, SpaceId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// A run as its events made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What was started.
    pub started: Started,
    /// When it began.
    pub started_at: Timestamp,
    /// The agent's own name for its conversation, once known.
    pub session: Option<String>,
    /// Whoever holds the run has to renew it before this.
    pub lease_until: Timestamp,
    /// Where it stands.
    pub state: State,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Made by the worker.
    pub id: RunId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The task it works on.
    pub task: TaskId,
    /// Which agent.
    pub agent: String,
    /// Who launched it.
    pub launcher: String,
    /// The task's count of runs when this one began.
    pub fence: u64,
    /// The first lease.
    pub lease_until: Timestamp,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// At work.
    Running,
    /// Waits for a person; its process may be gone.
    Parked,
    /// Over.
    Ended {
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It finished its work.
    Completed,
    /// It failed.
    Failed,
    /// Somebody stopped it.
    Stopped,
    /// Its worker was not heard of in time.
    Lost,
}

/// What can be asked of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin.
    Start(Box<Started>),
    /// Keep the lease.
    Renew {
        /// The number the worker believes it holds.
        fence: u64,
        /// Until when.
        until: Timestamp,
    },
    /// Note the agent's name for its conversation.
    Name {
        /// The session.
        session: String,
    },
    /// Wait for a person.
    Park {
        /// The number the worker believes it holds.
        fence: u64,
    },
    /// Go on after an answer.
    Resume {
        /// The number the worker believes it holds.
        fence: u64,
        /// The new lease.
        until: Timestamp,
    },
    /// End.
    End {
        /// The number the worker believes it holds.
        fence: u64,
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
    },
    /// Give up a run whose lease ran out.
    Lose,
}

/// What can happen to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It began.
    Started(Box<Started>),
    /// The lease was kept.
    Renewed {
        /// Until when.
        until: Timestamp,
    },
    /// The agent named its conversation.
    Named {
        /// The session.
        session: String,
    },
    /// It waits for a person.
    Parked,
    /// It goes on.
    Resumed {
        /// The new lease.
        until: Timestamp,
    },
    /// It is over.
    Ended {
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
    },
    /// Written by a later version; it says nothing to this one.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Its name, as it stands in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::Started(_) => "run.started",
            Event::Renewed { .. } => "run.renewed",
            Event::Named { .. } => "run.named",
            Event::Parked => "run.parked",
            Event::Resumed { .. } => "run.resumed",
            Event::Ended { .. } => "run.ended",
            Event::Unknown => "run.unknown",
        }
    }
}

/// What a run's event makes the world do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The run's credential stops working.
    RevokeToken,
}

/// Judges a command. The same command again yields no events and no refusal.
pub fn decide(
    run: Option<&Run>,
    command: &Command,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let Some(run) = run else {
        return match command {
            Command::Start(started) => {
                check_is_theirs(started.id, actor)?;
                Ok(vec![Event::Started(started.clone())])
            }
            _ => Err(Refusal::new(Code::NotFound, "there is no such run")),
        };
    };
    check_is_theirs(run.started.id, actor)?;
    match command {
        Command::Start(started) if run.started == **started => Ok(vec![]),
        Command::Start(started) => {
            Err(Refusal::new(Code::Clash, format!("id {} is another run", started.id)))
        }
        Command::Renew { fence, until } => {
            check_live(run, *fence, at)?;
            // A renewal that was overtaken on its way does not shorten the lease.
            let is_later = *until > run.lease_until;
            Ok(if is_later { vec![Event::Renewed { until: *until }] } else { vec![] })
        }
        Command::Name { session } if run.session.as_ref() == Some(session) => Ok(vec![]),
        Command::Name { session } => Ok(vec![Event::Named { session: session.clone() }]),
        Command::Park { fence } if run.state == State::Parked => {
            check_fence(run, *fence).map(|()| vec![])
        }
        Command::Park { fence } => {
            check_live(run, *fence, at)?;
            Ok(vec![Event::Parked])
        }
        Command::Resume { fence, until } => resume(run, *fence, *until),
        Command::End { fence, how, note } => end(run, *fence, *how, note, actor),
        Command::Lose => lose(run, at),
    }
}

fn resume(run: &Run, fence: u64, until: Timestamp) -> Result<Vec<Event>, Refusal> {
    check_fence(run, fence)?;
    match &run.state {
        State::Parked => Ok(vec![Event::Resumed { until }]),
        State::Running if run.lease_until == until => Ok(vec![]),
        // Two workers must not both believe that they resumed it.
        State::Running => {
            Err(Refusal::new(Code::WrongState, format!("run {} is at work", run.started.id)))
        }
        State::Ended { .. } => Err(over(run)),
    }
}

fn end(run: &Run, fence: u64, how: How, note: &str, actor: &Actor) -> Result<Vec<Event>, Refusal> {
    check_fence(run, fence)?;
    match &run.state {
        State::Running | State::Parked => {
            let note = if note.is_empty() { format!("by {}", actor.name) } else { note.into() };
            Ok(vec![Event::Ended { how, note }])
        }
        State::Ended { how: before, .. } if *before == how => Ok(vec![]),
        State::Ended { .. } => Err(over(run)),
    }
}

/// A parked run waits for a person and has no lease to lose: thinking time stops this clock.
fn lose(run: &Run, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    match &run.state {
        State::Running if at >= run.lease_until => {
            Ok(vec![Event::Ended { how: How::Lost, note: "its lease ran out".into() }])
        }
        State::Running | State::Parked => {
            Err(Refusal::new(Code::WrongState, format!("run {} is alive", run.started.id)))
        }
        State::Ended { .. } => Ok(vec![]),
    }
}

/// An agent keeps its own run alive and touches no other; an auditor only reads.
fn check_is_theirs(run: RunId, actor: &Actor) -> Result<(), Refusal> {
    actor.check(Deed::Track, "run agents")?;
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
        State::Running if at < run.lease_until => Ok(()),
        State::Running => {
            Err(Refusal::new(Code::Fenced, format!("the lease of run {} is over", run.started.id))
                .hint("the task may be somebody else's by now; start a new run"))
        }
        State::Parked => {
            Err(Refusal::new(Code::WrongState, format!("run {} is parked", run.started.id)))
        }
        State::Ended { .. } => Err(over(run)),
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

/// Folds an event into a run. Total: an event that says nothing to this version changes nothing.
pub fn apply(run: Option<Run>, event: &Event, at: Timestamp) -> Option<Run> {
    let Some(mut run) = run else {
        return match event {
            Event::Started(started) => Some(Run {
                started: (**started).clone(),
                started_at: at,
                session: None,
                lease_until: started.lease_until,
                state: State::Running,
            }),
            _ => None,
        };
    };
    // A run ends once; only its session's name may still be learnt.
    if matches!(run.state, State::Ended { .. }) && !matches!(event, Event::Named { .. }) {
        return Some(run);
    }
    match event {
        Event::Started(_) | Event::Unknown => {}
        Event::Renewed { until } => run.lease_until = *until,
        Event::Named { session } => run.session = Some(session.clone()),
        Event::Parked => run.state = State::Parked,
        Event::Resumed { until } => (run.state, run.lease_until) = (State::Running, *until),
        Event::Ended { how, note } => {
            run.state = State::Ended { how: *how, note: note.clone() };
        }
    }
    Some(run)
}

/// What an event makes the world do.
pub fn effects(event: &Event) -> Vec<Effect> {
    match event {
        Event::Ended { .. } => vec![Effect::RevokeToken],
        Event::Started(_)
        | Event::Renewed { .. }
        | Event::Named { .. }
        | Event::Parked
        | Event::Resumed { .. }
        | Event::Unknown => vec![],
    }
}
