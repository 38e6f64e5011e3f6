//! What is heard of an agent while it works, and what is left when it has finished.

use sayso_core::Timestamp;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// One thing heard of an agent at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The agent has begun its turn. Heard once, and never before the prompt was taken.
    Began,
    /// The session, by which this conversation can be resumed.
    Session(String),
    /// What the agent says.
    Says(String),
    /// What the agent does: a tool it uses, in a line.
    Does(String),
    /// What this much of the work has used; the amounts of one turn are to be added up.
    Spent(Spent),
    /// A rate or usage limit was reached.
    Limited(Limit),
}

/// What is left when an agent has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The agent's own final message.
    pub message: Option<String>,
    /// The session, by which this conversation can be resumed.
    pub session: Option<String>,
    /// Everything used in this turn.
    pub spent: Spent,
    /// The limit that stopped it.
    pub limited: Option<Limit>,
    /// The client's own words on what went wrong, or the end of its stderr.
    pub problem: Option<String>,
    /// The session to be resumed is not known to the client.
    pub session_gone: bool,
    /// It ended at a call that waits for a person: resumed without a word, it goes on with that call.
    pub deferred: bool,
    /// The log was cut: there was more output than is kept.
    pub capped: bool,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens read by the model, cached ones included.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
    /// Cost in millionths of a dollar; zero where the client does not say.
    pub cost_micros: u64,
}

impl Spent {
    /// Dollars as a client writes them.
    pub(crate) fn micros(dollars: f64) -> u64 {
        // A cast from a float stops at the ends, and what is no number becomes zero.
        (dollars * 1_000_000.0).round() as u64
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}

/// What is left above `other`; never less than nothing.
impl Sub for Spent {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A rate or usage limit of the model's provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// When it is lifted, if the client said so.
    pub until: Option<Timestamp>,
    /// The client's words.
    pub text: String,
}
