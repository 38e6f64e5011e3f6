//! The domain model of sayso as pure state machines: no clock, no randomness, no I/O.
//!
//! Each state machine ([`gate`], [`task`], [`run`], [`flow`]) has three functions. `decide` checks a command against
//! a state and returns events or a [`Refusal`]; `apply` folds an event into the state; `effects` returns the side
//! effects of an event. Time, ids and credentials are parameters, so that table tests can cover all permissions.

#![warn(missing_docs)]

pub mod actor;
pub mod answer;
pub mod approvers;
pub mod audit;
pub mod code;
pub mod demand;
pub mod digest;
pub mod flow;
pub mod gate;
pub mod guessing;
pub mod id;
pub mod kind;
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
pub mod typed;

pub use actor::{Actor, Deed, Door, Level, Lineage, Proof, Role};
pub use answer::{Answer, Choice, Content, Shape};
pub use approvers::Approvers;
pub use code::{Code, Exit};
pub use demand::{AtEnd, Risk};
pub use digest::Digest;
pub use gate::Action;
pub use id::{FlowId, GateId, MessageId, RunId, SpaceId, TaskId, TokenId};
pub use kind::{Kind, Outcome, Verdict};
pub use notice::{Occasion, Reach, Wish};
pub use rate::{RateLimit, TokenBucket};
pub use refusal::{Misfit, Refusal};
pub use threshold::Threshold;
pub use time::Timestamp;
