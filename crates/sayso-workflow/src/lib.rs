//! Durable workflows that run agents and ask people, for programs written in Rust.
//!
//! A [`Workflow`] is a list of phases. In a phase an agent may work (any async closure), a person may be asked, and
//! the results of both determine the next phase. A *flow* is one durable execution of a workflow. The output of a
//! finished step is recorded before the next begins: a program that is killed continues where it was. No finished
//! step is done again, and no question is asked twice.
//!
//! ```no_run
//! use sayso_workflow::{FlowOutcome, FlowState, HumanInput, HumanQuestion, Inbox, Phase, Workflow};
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
//!             .agent(|state: FlowState<Essay>| write(state.topic.clone(), state.reason()))
//!             .keep(|state, draft: &String| state.draft = draft.clone())
//!             .human_if(|state, _| HumanQuestion::approval(format!("Publish this?\n{}", state.draft)))
//!             .next_by(["publish", "write"], |state, _| if state.approved { "publish" } else { "write" }),
//!     )
//!     .phase(Phase::new("publish").agent(|_| async { Ok::<_, String>(()) }).terminal())
//!     .build()?;
//!
//! let inbox = Inbox::open(".sayso/sayso.db", "my-project", "essay-bot")?;
//! let flow = inbox.begin(&essay, "cats", Essay { topic: "cats".into(), draft: String::new() }).await?;
//! // Run again after any crash: the same key is the same flow.
//! match flow.run(HumanInput::Park).await? {
//!     FlowOutcome::Done(state) => println!("{}", state.draft),
//!     FlowOutcome::Waits(questions) => {
//!         questions.iter().for_each(|question| println!("{} waits in the inbox", question.handle));
//!     }
//!     other => println!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Runtime
//! Everything asynchronous here needs a [tokio](https://docs.rs/tokio) runtime with its timers (`enable_all`, or
//! `#[tokio::main]`). [`block_on`] brings one for programs that have none.
//!
//! # Guarantees
//! - A no never continues by accident. It ends the flow as rejected, unless the phase has a rule for it:
//!   by [`Phase::on_reject`], or because [`Phase::next_by`] looks at it.
//! - A yes counts in the phase that asked: a phase that may ask and asked no question is not approved.
//! - No answer is not an answer: a question that expired or was withdrawn leads to
//!   [`Phase::on_silence`], or the flow fails.
//! - A flow continues with the version of the workflow it began with, or with one that
//!   [declares](WorkflowBuilder::compatible_versions) that it is compatible with that version. Any other version is refused, and
//!   the flow stays as it is.

#![warn(missing_docs)]

mod agent;
mod diagnostic;
mod error;
mod event;
mod executor;
pub mod file;
pub mod graph;
mod handler;
mod human;
mod inbox;
mod phase;
mod plan;
mod state;
mod workflow;

mod blocking;

pub use agent::{InstalledAgent, TurnFuture, TurnReport};
pub use blocking::{block_on, blocking};
pub use diagnostic::{WorkflowDiagnostic, WorkflowDiagnostics};
pub use error::{Error, Result};
pub use event::{WorkflowEvent, WorkflowEventStream, question_id};
pub use executor::FlowProgress;
pub use handler::{
    AskFuture, AutoApprove, HandlerReply, HandlerRequest, HumanInput, QuestionHandler,
    TerminalHandler, handler_fn,
};
pub use human::{HumanQuestion, options as options_of};
pub use inbox::{
    FlowHandle, FlowOutcome, Inbox, InboxQuestion, OpenQuestion, PendingQuestion, QuestionReply,
};
pub use phase::Phase;
pub use plan::{WorkFuture, WorkOutcome};
pub use state::{AnswerRecord, FlowState};
pub use workflow::{Workflow, WorkflowBuilder};

// Re-exports of the types in the signatures above, so that a program needs one crate.
pub use sayso_core::approvers::Approvers;
pub use sayso_core::flow::{Flow as FlowRecord, FlowEndKind};
pub use sayso_core::{
    Actor, Answer, AnswerContent, AnswerShape, AssuranceLevel, ChoiceOption, Code, EntryPoint,
    FlowId, GateId, GateKind, IdentityProof, Risk, Role, TaskId, Timestamp, Verdict,
};
pub use sayso_engine::{Desk, Error as DeskError, StoreLocation};
