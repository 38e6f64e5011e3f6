//! What may happen in sayso: pure rules, no clock, no chance, no I/O.
//!
//! Each machine ([`gate`], [`task`], [`run`], [`flow`]) is three functions. `decide` judges a command against
//! a state and returns events or a [`Refusal`]; `apply` folds an event into the state; `effects`
//! names what an event makes the world do. Time, ids and credentials are handed in, so the whole
//! authority model can be tested by table.

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
