//! The agents: detecting them, starting them, and parsing their output.
//!
//! This crate knows no store, no HTTP and no person. An [`Agent`] is started for one [`Turn`]; the [`Live`] process
//! emits events until it has [`Finished`]; [`signal::read`] parses its final message.

pub mod agent;
mod clients;
mod ear;
pub mod environment;
pub mod heard;
mod limit;
mod lines;
pub mod live;
mod log;
pub mod marks;
pub mod process;
pub mod processes;
pub mod scripted;
pub mod signal;
pub mod station;
pub mod surroundings;

pub use agent::{Adapter, Agent, StartError, Turn};
pub use ear::readable;
pub use environment::allowed;
pub use heard::{Finished, Heard, Limit, Spent};
pub use live::Live;
pub use signal::{Request, Said};
pub use station::{Backend, NudgeOutcome, PromptKind, Station, StationError, Stations, Where};
