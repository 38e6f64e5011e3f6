//! The page of the audit log: its entries, newest first, and its verification.

use super::super::route::{EmptyInput, OperationInput};
use super::card::MomentView;
use super::frame::PageFrame;
use super::{HtmlPage, PageContext};
use askama::Template;
use sayso_core::audit::ChainEntry;
use sayso_core::text::{sanitize_line, shorten};
use sayso_engine::{ListedEntry, Result};
use schemars::JsonSchema;
use serde::Deserialize;

/// The number of entries on a page.
const ENTRIES: u64 = 100;

/// So much of an answer is shown; the whole of it is on the page of its gate.
const ANSWER_CHARS_MAX: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(super) struct AuditPageQuery {
    /// The entries before this one.
    before: Option<u64>,
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: PageFrame,
    list: AuditPart,
}

#[derive(Template)]
#[template(path = "audit_list.html")]
struct AuditPart {
    base: String,
    entries: Vec<EntryView>,
    earlier: Option<u64>,
}

/// An entry as the page shows it.
pub(super) struct EntryView {
    pub(super) seq: u64,
    pub(super) when: MomentView,
    pub(super) actor: String,
    pub(super) role: &'static str,
    pub(super) door: String,
    pub(super) proof: &'static str,
    pub(super) action: String,
    /// The action in words.
    pub(super) words: String,
    /// The page of its object, below the space's.
    pub(super) place: Option<String>,
    pub(super) object: String,
    pub(super) reason: String,
    /// The answer or the vote.
    pub(super) answer: Option<String>,
    /// The other events of the same entry.
    pub(super) also: Vec<String>,
    pub(super) is_refused: bool,
}

impl EntryView {
    pub(super) fn of(entry: &ChainEntry, now: sayso_core::Timestamp) -> Self {
        Self {
            seq: entry.seq,
            when: MomentView::of(entry.at, now),
            actor: sanitize_line(&entry.actor),
            role: entry.role.as_str(),
            door: crate::wire::serde_name(&entry.door),
            proof: entry.proof.as_str(),
            action: sanitize_line(&entry.action),
            words: words(&entry.action),
            place: place(entry),
            object: sanitize_line(&entry.object),
            reason: sanitize_line(&entry.reason),
            answer: None,
            also: vec![],
            is_refused: crate::wire::serde_name(&entry.outcome) == "refused",
        }
    }
}

impl EntryView {
    /// The same with what the log says of it.
    fn listed(listed: &ListedEntry, now: sayso_core::Timestamp) -> Self {
        let shown = |answer: &String| shorten(&sanitize_line(answer), ANSWER_CHARS_MAX);
        let also = listed.also.iter().map(|what| sanitize_line(what)).collect();
        Self { answer: listed.answer.as_ref().map(shown), also, ..Self::of(&listed.entry, now) }
    }
}

/// Returns the words for an action, as they follow the name of its actor.
fn words(action: &str) -> String {
    let plain = match action {
        "gate.opened" => "asked",
        "gate.answered" => "answered",
        "gate.seen" => "looked at",
        "gate.voted" => "gave one of the yeses for",
        "gate.delivered" => "was handed the answer to",
        "gate.acknowledged" => "went on with",
        "gate.revised" => "asked otherwise at",
        "gate.withdrawn" => "took back",
        "gate.claimed" => "took",
        "gate.released" => "gave back",
        "gate.snoozed" => "put off",
        "gate.delegated" => "handed on",
        "task.created" => "made",
        "task.closed" => "closed",
        "person.logged_in" => "logged in as",
        "person.joined" => "joined as",
        // The name of the action says it well enough.
        other => return sanitize_line(&other.replace(['.', '_'], " ")),
    };
    plain.to_owned()
}

/// Returns the page of an entry's object.
fn place(entry: &ChainEntry) -> Option<String> {
    let page = match entry.action.split('.').next()? {
        "gate" => "gates",
        "task" => "tasks",
        _ => return None,
    };
    let is_handle = entry.object.bytes().all(|b| b.is_ascii_alphanumeric());
    is_handle.then(|| format!("{page}/{}", entry.object))
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, AuditPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let AuditPageQuery { before, part } = asked.query;
    let head = at.desk.audit_head(&at.actor)?.seq;
    let until = before.map_or(head, |before| before.saturating_sub(1).min(head));
    let behind = until.saturating_sub(ENTRIES);
    let rows = match until - behind {
        0 => vec![],
        count => at.desk.audit_listed(&at.actor, behind, count as usize)?,
    };
    let now = at.desk.now();
    // An unreadable entry is for the verification to name.
    let read = rows.iter().rev().filter_map(|(_, listed)| listed.as_ref());
    let entries = read.map(|listed| EntryView::listed(listed, now)).collect();
    let frame = at.frame("audit")?;
    let earlier = (behind > 0).then_some(behind + 1);
    let list = AuditPart { base: frame.base.clone(), entries, earlier };
    match part {
        Some(_) => HtmlPage::of(&list),
        None => HtmlPage::of(&AuditPage { frame, list }),
    }
}
