//! The agents: detecting them, starting them, and parsing their output.
//!
//! This crate knows no store, no HTTP and no person. An [`AgentConfig`] is started for one [`TurnInput`]; the [`AgentProcess`] process
//! emits events until it has [`FinishedTurn`]; [`final_message::read`] parses its final message.

pub mod agent;
pub mod agent_detection;
mod clients;
pub mod environment;
pub mod events;
pub mod final_message;
mod lines;
pub mod live;
mod log;
mod output_parser;
pub mod process_context;
pub mod process_info;
pub mod process_tree;
mod rate_limit;
pub mod scripted;
pub mod session;

pub use agent::{AgentAdapter, AgentConfig, StartError, TurnInput};
pub use environment::allowed;
pub use events::{AgentEvent, FinishedTurn, TokenUsage, UsageLimit};
pub use final_message::{AgentQuestion, TurnResult};
pub use live::AgentProcess;
pub use output_parser::format_log_line;
pub use session::{
    AgentSessions, NudgeOutcome, PromptKind, SessionBackend, SessionError, SessionLocation,
    SessionSpec,
};
