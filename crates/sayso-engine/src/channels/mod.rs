//! Notification channels, one file each. A channel is configured on the machine that sends; it tells people which
//! request waits and how to look at it, and no content that it sends decides anything.

pub(crate) mod command;
pub(crate) mod webhook;

use crate::{NetworkScope, NoticeText};
use sayso_core::{ChannelInfo, Timestamp};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// A notification channel, as it is configured on this machine.
#[derive(Debug, Clone)]
pub struct NoticeChannel {
    pub name: String,
    /// The people that it reaches; empty if it has no named recipient.
    pub people: Vec<String>,
    /// True if it also notifies that a request is settled.
    pub settled: bool,
    /// The timeout of sending.
    pub timeout: Duration,
    pub kind: ChannelKind,
}

/// The transport of a channel.
#[derive(Debug, Clone)]
pub enum ChannelKind {
    /// Runs a command of the user.
    Command {
        /// The program and its arguments; no shell reads them.
        argv: Vec<String>,
        folder: PathBuf,
        /// The part of our environment that the command gets.
        environment: Vec<(String, String)>,
    },
    /// Posts to a URL, signed.
    Webhook {
        url: String,
        /// The file with the signing secret.
        secret: PathBuf,
        /// The networks that the URL may lead to.
        reach: NetworkScope,
    },
}

impl NoticeChannel {
    /// The maximum timeout of sending: well within the lease of a claimed notice.
    pub const TIMEOUT_MAX: Duration = Duration::from_secs(30);

    /// Returns the description of the channel for the desk.
    pub fn reach(&self) -> ChannelInfo {
        let Self { name, people: who, settled, .. } = self;
        ChannelInfo { channel: name.clone(), who: who.clone(), settled: *settled }
    }

    /// Sends a notice. `pages` is the base URL of the space's pages, if there are any.
    pub fn send(
        &self,
        text: &NoticeText,
        at: Timestamp,
        pages: Option<&str>,
    ) -> Result<(), String> {
        let message = message(text, at, pages);
        let timeout = self.timeout.min(Self::TIMEOUT_MAX);
        match &self.kind {
            ChannelKind::Command { argv, folder, environment } => {
                command::run(argv, folder, environment, text, &message, timeout)
            }
            ChannelKind::Webhook { url, secret, reach } => {
                webhook::post(url, secret, *reach, text, &message, at, timeout)
            }
        }
    }
}

/// Checks the name of a channel: the outbox uses other characters in the names of internal channels.
pub fn check_channel_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 60 && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(format!(
            "{name:?} is no name of a channel; take letters, digits, dashes, dots and underscores"
        ))
    }
}

/// Builds the JSON message of all channels that send JSON: event type, time and data.
fn message(text: &NoticeText, at: Timestamp, pages: Option<&str>) -> Value {
    let what = text.occasion.map_or("test".into(), |why| format!("gate.{}", why.as_str()));
    let seconds =
        |from: Timestamp| at.as_micros().saturating_sub(from.as_micros()).max(0) / 1_000_000;
    let card = pages.filter(|_| text.gate.is_some()).map(|pages| card_at(pages, &text.handle));
    json!({
        "type": what,
        "timestamp": rfc3339(at),
        "data": {
            "notice": text.id,
            "to": text.to,
            "space": text.space,
            "gate": text.gate,
            "handle": text.handle,
            "kind": text.kind,
            "risk": text.risk,
            "level": text.level,
            "reminder": text.reminder,
            "title": text.title,
            "line": line(text),
            "asked_by": text.asked_by,
            "asked_at": rfc3339(text.asked_at),
            "age_seconds": seconds(text.asked_at),
            "deadline": text.deadline.map(rfc3339),
            "at_end": text.deadline.map(|_| text.at_end.as_str()),
            "look": look(text),
            "url": card,
        }
    })
}

/// Describes the waiting request in one line.
pub(crate) fn line(text: &NoticeText) -> String {
    let NoticeText { handle, space, title, kind, risk, asked_by, .. } = text;
    match text.occasion {
        None => format!("A test from space {space}: nothing waits for you."),
        Some(why) => format!(
            "{title} (gate {handle} of {space} {}: {kind}, {} risk, asked by {asked_by})",
            why.in_words(),
            risk.as_str()
        ),
    }
}

/// Returns the command that shows the request.
pub(crate) fn look(text: &NoticeText) -> String {
    match text.gate {
        Some(_) => format!("sayso show {}", text.handle),
        None => "sayso inbox".into(),
    }
}

/// Returns the URL of a card.
fn card_at(pages: &str, handle: &str) -> String {
    format!("{}/gates/{handle}", pages.trim_end_matches('/'))
}

fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map(|at| at.to_string()).unwrap_or_default()
}
