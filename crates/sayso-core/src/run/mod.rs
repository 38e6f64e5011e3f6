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
    /// Where it works and who looks after it there.
    #[serde(default)]
    pub holder: Holder,
    /// The conversation it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Where a run works, and the process that looks after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The machine.
    pub host: String,
    /// The repository on it.
    pub repository: String,
    /// The worker's process, and what tells it from a later one with the same number.
    pub process: String,
}

impl Holder {
    /// Whether what this one left behind is at hand there: worktree and conversation.
    pub fn is_at_the_place_of(&self, other: &Holder) -> bool {
        (&self.host, &self.repository) == (&other.host, &other.repository)
    }
}

/// What a run used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens the model read.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// Money, in millionths of a dollar, as the agent reported it.
    pub cost_micros: u64,
    /// How long the agent worked, in milliseconds, without the time it waited for a person.
    #[serde(default)]
    pub work_millis: u64,
    /// How long it waited for a person, in milliseconds.
    #[serde(default)]
    pub waited_millis: u64,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Spent) -> Spent {
        Spent {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            work_millis: self.work_millis.saturating_add(other.work_millis),
            waited_millis: self.waited_millis.saturating_add(other.waited_millis),
        }
    }
}

/// Where a run stands. It is one turn of an agent: one that asks a person ends with the question, and
/// the answer begins the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// At work.
    Running,
    /// Over.
    Ended {
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
        /// What it used up.
        #[serde(default)]
        spent: Spent,
        /// When.
        at: Timestamp,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It finished its work.
    Completed,
    /// It asked a person.
    Asked,
    /// It said nothing that counts.
    Unclear,
    /// It failed.
    Failed,
    /// The agent may do no more for now: its rate limit is used up.
    Limited,
    /// Somebody stopped it.
    Stopped,
    /// Its worker died or was not heard of in time.
    Lost,
}

impl How {
    /// Its name in every door.
    pub const fn as_str(self) -> &'static str {
        match self {
            How::Completed => "completed",
            How::Asked => "asked",
            How::Unclear => "unclear",
            How::Failed => "failed",
            How::Limited => "waiting_for_reset",
            How::Stopped => "stopped",
            How::Lost => "lost",
        }
    }
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
    /// End.
    End {
        /// The number the worker believes it holds.
        fence: u64,
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
        /// What it used up.
        spent: Spent,
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
    /// It is over.
    Ended {
        /// How.
        how: How,
        /// What it said, or what went wrong.
        note: String,
        /// What it used up.
        #[serde(default)]
        spent: Spent,
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
        Command::End { fence, how, note, spent } => end(run, *fence, *how, note, *spent, actor),
        Command::Lose => lose(run, at),
    }
}

fn end(
    run: &Run,
    fence: u64,
    how: How,
    note: &str,
    spent: Spent,
    actor: &Actor,
) -> Result<Vec<Event>, Refusal> {
    check_fence(run, fence)?;
    match &run.state {
        State::Running => {
            let note = if note.is_empty() { format!("by {}", actor.name) } else { note.into() };
            Ok(vec![Event::Ended { how, note, spent }])
        }
        State::Ended { how: before, .. } if *before == how => Ok(vec![]),
        State::Ended { .. } => Err(over(run)),
    }
}

fn lose(run: &Run, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    match &run.state {
        State::Running if at >= run.lease_until => {
            let (note, spent) = ("its lease ran out".into(), Spent::default());
            Ok(vec![Event::Ended { how: How::Lost, note, spent }])
        }
        State::Running => {
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
                session: started.session.clone(),
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
        Event::Ended { how, note, spent } => {
            run.state = State::Ended { how: *how, note: note.clone(), spent: *spent, at };
        }
    }
    Some(run)
}

/// What an event makes the world do.
pub fn effects(event: &Event) -> Vec<Effect> {
    match event {
        Event::Ended { .. } => vec![Effect::RevokeToken],
        Event::Started(_) | Event::Renewed { .. } | Event::Named { .. } | Event::Unknown => vec![],
    }
}
