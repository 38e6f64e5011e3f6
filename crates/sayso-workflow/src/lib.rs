//! Durable questions to people, for programs written in Rust.
//!
//! A program asks under a *key* of its own. The key names the question: when the program is killed
//! and started again, the same key finds the same question, asked once, with its answer if somebody
//! gave one meanwhile. Phases and whole workflows are built on this.
//!
//! ```no_run
//! use sayso_workflow::{Inbox, Question, Reply};
//! use std::time::Duration;
//!
//! let inbox = Inbox::open(".sayso/sayso.db", "my-project", "release-bot")?;
//! let question = Question::choice("Ship 1.2 today?", ["yes", "no"]);
//! match inbox.ask("ship-1.2", question)?.wait(Some(Duration::from_secs(60)))? {
//!     Reply::Approved(answer) => println!("a person said {answer}"),
//!     Reply::Rejected(reason) => println!("a person said no: {reason}"),
//!     Reply::Unanswered(why) => println!("nobody answered: {why}"),
//!     Reply::Pending => println!("nobody has answered yet; ask again later"),
//! }
//! # Ok::<(), sayso_workflow::Error>(())
//! ```

use sayso_core::gate::{Card, Gate};
use sayso_core::{
    Actor, Choice, Digest, Door, GateId, Kind, Proof, Role, Shape, TaskId, Timestamp, Verdict,
};
use sayso_engine::{Ask, Desk, Place, Waited, World};
use std::path::Path;
use std::time::Duration;

pub use sayso_engine::Error;

/// The result of anything here.
pub type Result<T> = std::result::Result<T, Error>;

/// A space, and the name this program asks under.
pub struct Inbox {
    desk: Desk,
    asker: Actor,
}

impl Inbox {
    /// Opens a space in a SQLite file, as `sayso init` makes it.
    pub fn open(file: impl AsRef<Path>, space: &str, program: &str) -> Result<Self> {
        Self::at(Place::Sqlite(file.as_ref().to_owned()), space, program)
    }

    /// Opens a space wherever it is kept.
    pub fn at(place: Place, space: &str, program: &str) -> Result<Self> {
        let desk = Desk::open(place, space, World::real())?;
        let asker = Actor::new(Role::Service, program, Proof::None, desk.level(), Door::Workflow);
        Ok(Self { desk, asker })
    }

    /// Asks, or finds what was asked under this key before. The same key with another question is
    /// refused: a key means one question.
    pub fn ask(&self, key: &str, question: Question) -> Result<Pending<'_>> {
        let card = Card {
            question: question.text,
            narrative: question.context,
            facts: vec![],
            shape: question.shape,
        };
        let ask = Ask::new(self.id_of(key), question.kind, question.task, card);
        let gate = self.desk.ask(&self.asker, ask)?;
        Ok(Pending { inbox: self, gate })
    }

    /// The id a key stands for: always the same for the same program and space.
    fn id_of(&self, key: &str) -> GateId {
        let name = format!("{}\n{}\n{key}", self.desk.space(), self.asker.name);
        let digest = Digest::of_bytes(name.as_bytes());
        let chance = u128::from_str_radix(&digest.as_str()[..20], 16).unwrap_or_default();
        // The time of an id only orders ids; one that is derived belongs to no moment.
        GateId::mint(Timestamp::from_micros(0), chance)
    }
}

/// What a person is asked.
#[derive(Debug, Clone)]
pub struct Question {
    kind: Kind,
    text: String,
    context: String,
    shape: Shape,
    task: Option<TaskId>,
}

impl Question {
    fn new(kind: Kind, text: impl Into<String>, shape: Shape) -> Self {
        Self { kind, text: text.into(), context: String::new(), shape, task: None }
    }

    /// Asks for yes or no.
    pub fn approval(text: impl Into<String>) -> Self {
        Self::new(Kind::Approval, text, Shape::Verdict)
    }

    /// Asks for a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Kind::Decision, text, Shape::Text)
    }

    /// Asks to pick one of the options.
    pub fn choice<S: Into<String>>(
        text: impl Into<String>,
        options: impl IntoIterator<Item = S>,
    ) -> Self {
        let option = |name: S| Choice { name: name.into(), consequence: String::new() };
        let options = options.into_iter().map(option).collect();
        Self::new(Kind::Decision, text, Shape::Choice { options, multi: false, other: false })
    }

    /// What else the person should know.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// The task that waits for the answer.
    #[must_use]
    pub fn on_task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }
}

/// A question that was asked.
pub struct Pending<'a> {
    inbox: &'a Inbox,
    gate: Gate,
}

/// What came of a question. No answer is never an empty answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A person said yes, and this.
    Approved(String),
    /// A person said no, and why.
    Rejected(String),
    /// It was withdrawn, expired or replaced.
    Unanswered(String),
    /// Nobody has answered yet; the question stays open.
    Pending,
}

impl Pending<'_> {
    /// What people call the question.
    pub fn handle(&self) -> &str {
        self.gate.handle()
    }

    /// Waits for the answer, at most for `timeout`. The process may die meanwhile: asking again
    /// under the same key goes on from here.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Reply> {
        let Inbox { desk, asker } = self.inbox;
        match desk.wait(self.gate.opened.id, timeout)? {
            Waited::TimedOut(_) => Ok(Reply::Pending),
            Waited::Ended(gate) => {
                desk.acknowledge(asker, gate.opened.id)?;
                Ok(reply(&gate))
            }
        }
    }
}

fn reply(gate: &Gate) -> Reply {
    match gate.answer() {
        Some((answer, _)) if answer.verdict == Verdict::Approved => {
            Reply::Approved(answer.as_text())
        }
        Some((answer, _)) => Reply::Rejected(answer.reason.clone().unwrap_or_default()),
        None => Reply::Unanswered(gate.state().to_owned()),
    }
}
