//! Durable workflows that run agents and ask people, for programs written in Rust.
//!
//! A [`Workflow`] is a list of phases. In a phase an agent may work (any async closure), a person may be
//! asked, and what came of both says which phase is next. A *flow* is one walk through a workflow. What a
//! finished step gave is written down before the next begins: a program that is killed goes on where it
//! was. No step that is done is done again, and no question is asked twice.
//!
//! ```no_run
//! use sayso_workflow::{Human, HumanInput, Inbox, Outcome, Phase, State, Workflow};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Clone, Serialize, Deserialize)]
//! struct Essay { topic: String, draft: String }
//!
//! # async fn write(topic: String, wish: Option<String>) -> Result<String, std::io::Error> { todo!() }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let essay = Workflow::new("essay", 1)
//!     .phase(
//!         Phase::new("write")
//!             .agent(|state: State<Essay>| write(state.topic.clone(), state.reason()))
//!             .keep(|state, draft: &String| state.draft = draft.clone())
//!             .human_if(|state, _| Human::approval(format!("Publish this?\n{}", state.draft)))
//!             .next_by(["publish", "write"], |state, _| if state.approved { "publish" } else { "write" }),
//!     )
//!     .phase(Phase::new("publish").agent(|_| async { Ok::<_, String>(()) }).terminal())
//!     .build()?;
//!
//! let inbox = Inbox::open(".sayso/sayso.db", "my-project", "essay-bot")?;
//! let flow = inbox.begin(&essay, "cats", Essay { topic: "cats".into(), draft: String::new() }).await?;
//! // Run again after any crash: the same key is the same flow.
//! match flow.run(HumanInput::Park).await? {
//!     Outcome::Done(state) => println!("{}", state.draft),
//!     Outcome::Waits(questions) => {
//!         questions.iter().for_each(|question| println!("{} waits in the inbox", question.handle));
//!     }
//!     other => println!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What it runs on
//! Everything asynchronous here needs a [tokio](https://docs.rs/tokio) runtime with its timers (`enable_all`, or
//! `#[tokio::main]`). [`block_on`] brings one for programs that have none.
//!
//! # What never happens
//! - A no goes nowhere by accident. It ends the flow as rejected, unless the phase says where it leads:
//!   by [`Phase::on_reject`], or because [`Phase::next_by`] looks at it.
//! - A yes counts in the phase that asked: one that may ask and asked nobody was not approved by anybody.
//! - No answer is not an answer: a question that expired or was taken back leads to
//!   [`Phase::on_silence`], or the flow fails.
//! - A flow goes on with the version of the workflow it began with, or with one that says it
//!   [goes on](Workflow::goes_on_from) with that version. Anything else is refused, and the flow stays as it is.

mod agent;
mod error;
mod event;
pub mod file;
pub mod graph;
mod handler;
mod human;
mod inbox;
mod mistake;
mod phase;
mod plan;
mod state;
mod walk;
mod workflow;

mod blocking;

pub use agent::{Agent, Turned, Turning};
pub use blocking::{block_on, blocking};
pub use error::{Error, Result};
pub use event::{Event, Events, question_id};
pub use handler::{Asking, AutoApprove, Handler, HumanInput, Request, Terminal, Told, by};
pub use human::{Human, options as options_of};
pub use inbox::{Flow, Inbox, Outcome, Pending, Question, Reply, Waiting};
pub use mistake::{Mistake, Mistakes};
pub use phase::Phase;
pub use plan::{Work, Worked};
pub use state::{Said, State};
pub use walk::Walked;
pub use workflow::{Builder, Workflow};

// What stands in signatures above, so that a program names one crate.
pub use sayso_core::approvers::Approvers;
pub use sayso_core::flow::{Flow as FlowRecord, How};
pub use sayso_core::{
    Actor, Answer, Choice, Code, Content, Door, FlowId, GateId, Kind, Level, Proof, Risk, Role,
    Shape, TaskId, Timestamp, Verdict,
};
pub use sayso_engine::{Desk, Error as DeskError, Place};
