//! The domain model of sayso as pure state machines: no clock, no randomness, no I/O.
//!
//! Each state machine ([`gate`], [`task`], [`run`], [`flow`]) has three functions. `decide` checks a command against
//! a state and returns events or a [`Refusal`]; `apply` folds an event into the state; `effects` returns the side
//! effects of an event. Time, ids and credentials are parameters, so that table tests can cover all permissions.

#![warn(missing_docs)]

pub mod actor;
pub mod answer;
pub mod answer_input;
pub mod approvers;
pub mod audit;
pub mod code;
pub mod digest;
pub mod flow;
pub mod gate;
pub mod id;
pub mod kind;
pub mod login_backoff;
pub mod message;
pub mod notice;
pub mod rate;
pub mod refusal;
pub mod run;
pub mod task;
pub mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
pub mod threshold;
pub mod time;
pub mod timeout;

pub use actor::{Actor, AssuranceLevel, EntryPoint, IdentityProof, Lineage, Permission, Role};
pub use answer::{Answer, AnswerContent, AnswerShape, ChoiceOption};
pub use approvers::Approvers;
pub use code::{Code, CommandExit};
pub use digest::Digest;
pub use gate::LifecycleAction;
pub use id::{FlowId, GateId, MessageId, RunId, SpaceId, TaskId, TokenId};
pub use kind::{GateKind, TaskOutcome, Verdict};
pub use notice::{ChannelInfo, NoticePreference, NoticeReason};
pub use rate::{RateLimit, TokenBucket};
pub use refusal::{FieldError, Refusal};
pub use threshold::AskThreshold;
pub use time::Timestamp;
pub use timeout::{Risk, TimeoutAction};
