//! The events of a running agent, and the result of a turn.

use sayso_core::Timestamp;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// An event of a running agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// The agent has started its turn. Sent once, and never before the prompt was read.
    Began,
    /// The session ID, by which this conversation can be resumed.
    Session(String),
    /// A text of the agent.
    Says(String),
    /// An action of the agent: a tool call, in one line.
    Does(String),
    /// The usage of a part of the work; the amounts of one turn are to be added up.
    Spent(TokenUsage),
    /// A rate or usage limit was reached.
    Limited(UsageLimit),
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinishedTurn {
    /// The exit code; none if a signal ended the process.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// The agent's own final message.
    pub message: Option<String>,
    /// The session ID, by which this conversation can be resumed.
    pub session: Option<String>,
    /// The total usage of this turn.
    pub spent: TokenUsage,
    /// The limit that stopped it.
    pub limited: Option<UsageLimit>,
    /// The client's error message, or the end of its stderr.
    pub problem: Option<String>,
    /// True if the client does not know the session to be resumed.
    pub session_gone: bool,
    /// True if it ended at a tool call that waits for a person: resumed without a prompt, it continues with that
    /// call.
    pub deferred: bool,
    /// True if the log was cut, because there was more output than is kept.
    pub capped: bool,
}

/// The usage of a model: tokens and cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read by the model, cached ones included.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
    /// Cost in millionths of a dollar; zero where the client does not report it.
    pub cost_micros: u64,
}

impl TokenUsage {
    /// Converts dollars, as clients report them.
    pub(crate) fn micros(dollars: f64) -> u64 {
        // The cast from a float saturates, and NaN becomes zero.
        (dollars * 1_000_000.0).round() as u64
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}

/// Returns the excess over `other`; never less than zero.
impl Sub for TokenUsage {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
        }
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A rate or usage limit of the model's provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLimit {
    /// The time at which it ends, if the client said so.
    pub until: Option<Timestamp>,
    pub text: String,
}
