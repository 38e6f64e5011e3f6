//! The live page: running agents, the questions each of them waits for, and recent activity.

use super::super::route::{EmptyInput, OperationInput};
use super::audit::EntryView;
use super::card::{CardRow, MomentView};
use super::frame::PageFrame;
use super::{HtmlPage, PageContext};
use askama::Template;
use sayso_core::TaskId;
use sayso_core::run::Run;
use sayso_core::text::sanitize_line;
use sayso_engine::{InboxFilter, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::HashMap;

/// The number of recent audit entries that are read.
const HAPPENED: u64 = 30;

/// The most open questions that are matched with running agents, and the most that are shown.
const CARDS: usize = 50;
const TOLD: usize = 8;

#[derive(Deserialize, JsonSchema)]
pub(super) struct LivePageQuery {
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "live.html")]
struct LivePage {
    frame: PageFrame,
    body: LivePart,
}

#[derive(Template)]
#[template(path = "live_body.html")]
struct LivePart {
    base: String,
    runs: Vec<RunView>,
    waiting: Vec<CardRow>,
    /// The number of cards that wait; cut if that is more than are shown.
    count: String,
    is_cut: bool,
    happened: Vec<EntryView>,
}

struct RunView {
    id: String,
    agent: String,
    task: String,
    title: String,
    host: String,
    number: u64,
    since: MomentView,
    /// The questions it asked and waits for.
    waits: Vec<WaitView>,
    output: Vec<String>,
}

struct WaitView {
    handle: String,
    question: String,
    asked: MomentView,
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, LivePageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let frame = at.frame("live")?;
    let filter = InboxFilter { limit: CARDS, ..InboxFilter::default() };
    let mut waiting = CardRow::all(at, &at.desk.inbox(&at.actor, &filter)?.items)?;
    let runs = runs(at, &at.desk.live_runs()?, &waiting)?;
    let is_cut = waiting.len() > TOLD;
    waiting.truncate(TOLD);
    let count = match frame.waiting.as_str() {
        "" => waiting.len().to_string(),
        counted => counted.to_owned(),
    };
    let base = frame.base.clone();
    let body = LivePart { base, runs, waiting, count, is_cut, happened: happened(at)? };
    match asked.query.part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&LivePage { frame, body }),
    }
}

fn runs(at: &PageContext, runs: &[Run], waiting: &[CardRow]) -> Result<Vec<RunView>> {
    let now = at.desk.now();
    let mut titles: HashMap<TaskId, (String, String)> = HashMap::new();
    for run in runs {
        let task = at.desk.task(run.started.task)?.task;
        titles.insert(task.id, (task.handle.clone(), sanitize_line(&task.title)));
    }
    let view = |run: &Run| {
        let (task, title) = titles.get(&run.started.task).cloned().unwrap_or_default();
        let is_its = |row: &&CardRow| row.task.as_deref() == Some(task.as_str());
        let waits = waiting.iter().filter(is_its).map(|row| WaitView {
            handle: row.handle.clone(),
            question: row.question.clone(),
            asked: MomentView { at: row.asked.at.clone(), words: row.asked.words.clone() },
        });
        RunView {
            id: run.started.id.to_string(),
            waits: waits.collect(),
            agent: sanitize_line(&run.started.agent),
            task,
            title,
            host: sanitize_line(&run.started.holder.host),
            number: run.started.fence,
            since: MomentView::of(run.started_at, now),
            output: at.output_of(run),
        }
    };
    Ok(runs.iter().map(view).collect())
}

/// Returns the recent activity that is visible to the caller, newest first.
fn happened(at: &PageContext) -> Result<Vec<EntryView>> {
    let end = at.desk.happened(&at.actor, None, 1)?.seen;
    let after = end.saturating_sub(HAPPENED);
    let happened = at.desk.happened(&at.actor, Some(after), HAPPENED as usize)?;
    let now = at.desk.now();
    Ok(happened.entries.iter().rev().map(|entry| EntryView::of(entry, now)).collect())
}
