//! The pages of tasks: as a tree, as a board, and one task with its questions, answers, runs and timeline.

use super::super::route::{EmptyInput, OperationInput};
use super::super::time::rfc3339;
use super::card::MomentView;
use super::frame::PageFrame;
use super::markdown;
use super::{HtmlPage, PageContext};
use crate::text;
use crate::wire;
use askama::Template;
use sayso_core::gate::Gate;
use sayso_core::task::{Task, TaskEvent, TaskStatus};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{TaskId, Timestamp};
use sayso_engine::{GateFilter, Result, TaskFilter, TaskRow};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// The most tasks on a page.
const TASKS_MAX: usize = 500;

/// The deepest level of a tree that is indented; deeper tasks stand there, too.
const DEPTH_MAX: usize = 12;

/// The most gates, runs and subtasks of a task that are shown.
const GATES_MAX: usize = 200;
const RUNS_MAX: usize = 50;
const PARTS_MAX: usize = 200;

/// The most tasks of a tree whose questions are shown.
const ASKED_MAX: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub(super) struct TasksPageQuery {
    #[serde(default)]
    view: TasksView,
    /// Also tasks that are over.
    #[serde(default)]
    all: bool,
    part: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TasksView {
    #[default]
    Tree,
    Board,
}

#[derive(Template)]
#[template(path = "tasks.html")]
struct TasksPage {
    frame: PageFrame,
    list: TasksPart,
}

#[derive(Template)]
#[template(path = "tasks_list.html")]
struct TasksPart {
    base: String,
    is_board: bool,
    all: bool,
    rows: Vec<TaskView>,
    columns: Vec<BoardColumn>,
    is_empty: bool,
    is_cut: bool,
}

struct BoardColumn {
    title: &'static str,
    rows: Vec<TaskView>,
}

struct TaskView {
    handle: String,
    title: String,
    state: &'static str,
    priority: u8,
    labels: Vec<String>,
    depth: usize,
    open_children: u64,
    blockers: u64,
    /// The flow that leads it.
    flow: Option<String>,
    /// The open questions on it: the gate and the question.
    asked: Vec<(String, String)>,
}

/// Another task, in a line.
struct TaskLink {
    handle: String,
    title: String,
    state: &'static str,
}

impl TaskLink {
    fn of(row: &TaskRow) -> Self {
        let TaskView { handle, title, state, .. } = TaskView::of(row, 0);
        Self { handle, title, state }
    }

    fn shown(&self) -> String {
        in_words(self.state)
    }
}

/// Returns a state in words. A task that waits for a person may wait for a yes as well as for words.
fn in_words(state: &str) -> String {
    match state {
        "awaiting_input" => "waits for a person".to_owned(),
        other => other.replace('_', " "),
    }
}

impl TaskView {
    fn shown(&self) -> String {
        in_words(self.state)
    }

    fn of(row: &TaskRow, depth: usize) -> Self {
        let task = &row.task;
        Self {
            handle: task.handle.clone(),
            title: shorten(&sanitize_line(&task.title), 200),
            state: task.shown_state(row.blockers > 0),
            priority: task.priority,
            labels: task.labels.iter().map(|label| sanitize_line(label)).collect(),
            depth: depth.min(DEPTH_MAX),
            open_children: row.open_children,
            blockers: row.blockers,
            flow: row.flow.clone(),
            asked: vec![],
        }
    }
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, TasksPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let TasksPageQuery { view, all, part } = asked.query;
    let filter = TaskFilter { all, limit: TASKS_MAX, ..TaskFilter::default() };
    let found = at.desk.tasks(&filter)?;
    let frame = at.frame("tasks")?;
    let is_board = view == TasksView::Board;
    let (rows, columns) = if is_board {
        (vec![], columns(&found.items, at.desk.now()))
    } else {
        (with_questions(at, tree(&found.items), &found.items)?, vec![])
    };
    let base = frame.base.clone();
    let is_empty = found.items.is_empty();
    let list = TasksPart { base, is_board, all, rows, columns, is_empty, is_cut: found.more };
    match part {
        Some(_) => HtmlPage::of(&list),
        None => HtmlPage::of(&TasksPage { frame, list }),
    }
}

const COLUMNS: [&str; 5] =
    [READY, "In progress", "Waits for a person", "Blocked or put off", "Over"];

const READY: &str = "Ready";

fn columns(rows: &[TaskRow], now: Timestamp) -> Vec<BoardColumn> {
    let of = |title: &str| {
        let of_it = rows.iter().filter(|row| column(row, now) == title);
        of_it.map(|row| TaskView::of(row, 0)).collect()
    };
    COLUMNS.map(|title| BoardColumn { title, rows: of(title) }).into()
}

/// Returns the column of a task on the board. Ready is what `sayso ready` would hand out, and nothing else.
fn column(row: &TaskRow, now: Timestamp) -> &'static str {
    let task = &row.task;
    let waits_for_tasks = row.blockers > 0 || row.open_children > 0;
    match task.status {
        TaskStatus::Closed | TaskStatus::Failed | TaskStatus::Deleted => "Over",
        _ if task.is_waiting() => "Waits for a person",
        TaskStatus::InProgress => "In progress",
        _ if waits_for_tasks => "Blocked or put off",
        // The flow decides when it is worked on.
        TaskStatus::Open | TaskStatus::Deferred if row.flow.is_some() => "In progress",
        TaskStatus::Open | TaskStatus::Deferred => match task.workable_from() {
            Some(from) if from <= now => READY,
            _ => "Blocked or put off",
        },
        TaskStatus::Blocked => "Blocked or put off",
    }
}

/// Adds the open questions to a tree, for at most that many tasks.
fn with_questions(
    at: &PageContext,
    mut tree: Vec<TaskView>,
    rows: &[TaskRow],
) -> Result<Vec<TaskView>> {
    for row in rows.iter().filter(|row| row.task.is_waiting()).take(ASKED_MAX) {
        let filter =
            GateFilter { task: Some(row.task.id), limit: GATES_MAX, ..GateFilter::default() };
        let gates = at.desk.gates(&at.actor, filter)?.items;
        let open = gates.iter().filter(|gate| gate.is_open());
        let asked = open.map(|gate| {
            let question = shorten(&sanitize_line(&gate.card.question), 120);
            (gate.handle().to_owned(), question)
        });
        if let Some(view) = tree.iter_mut().find(|view| view.handle == row.task.handle) {
            view.asked = asked.collect();
        }
    }
    Ok(tree)
}

/// Orders tasks as a tree: each below its parent, where that is shown.
fn tree(rows: &[TaskRow]) -> Vec<TaskView> {
    let shown: HashSet<TaskId> = rows.iter().map(|row| row.task.id).collect();
    let mut children: HashMap<Option<TaskId>, Vec<&TaskRow>> = HashMap::new();
    for row in rows {
        let parent = row.task.parent.filter(|parent| shown.contains(parent));
        children.entry(parent).or_default().push(row);
    }
    let mut tree = vec![];
    let mut next: Vec<(&TaskRow, usize)> = below(&children, None, 0);
    while let Some((row, depth)) = next.pop() {
        tree.push(TaskView::of(row, depth));
        next.extend(below(&children, Some(row.task.id), depth + 1));
    }
    tree
}

/// Returns the children of a task, the last first.
fn below<'a>(
    children: &HashMap<Option<TaskId>, Vec<&'a TaskRow>>,
    parent: Option<TaskId>,
    depth: usize,
) -> Vec<(&'a TaskRow, usize)> {
    let all = children.get(&parent).into_iter().flatten();
    all.rev().map(|row| (*row, depth)).collect()
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct TaskPageQuery {
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage {
    frame: PageFrame,
    body: TaskPart,
}

#[derive(Template)]
#[template(path = "task_body.html")]
struct TaskPart {
    base: String,
    task: TaskView,
    parent: Option<String>,
    /// The tasks it waits for, the tasks that wait for it, and its subtasks.
    behind: Vec<TaskLink>,
    before: Vec<TaskLink>,
    parts: Vec<TaskLink>,
    body: String,
    created_by: String,
    created: MomentView,
    closed_because: Option<String>,
    questions: Vec<QuestionView>,
    timeline: Vec<TaskEventView>,
    runs: Vec<wire::RunJson>,
}

/// A question that was asked, and its outcome.
pub(super) struct QuestionView {
    pub(super) handle: String,
    pub(super) kind: &'static str,
    pub(super) question: String,
    pub(super) asker: String,
    pub(super) asked: MomentView,
    pub(super) is_open: bool,
    pub(super) answer: String,
    pub(super) ending: String,
    pub(super) ended: Option<MomentView>,
}

/// An entry of the task's timeline.
struct TaskEventView {
    when: MomentView,
    what: String,
    by: String,
    /// A note, as Markdown.
    note: Option<String>,
    gate: Option<String>,
}

pub(super) fn one(
    at: &PageContext,
    asked: OperationInput<1, TaskPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let id = at.task(&asked.names[0])?;
    let row = at.desk.task(id)?;
    let frame = at.frame("tasks")?;
    let body = task_part(at, &row, frame.base.clone())?;
    match asked.query.part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&TaskPage { frame, body }),
    }
}

fn task_part(at: &PageContext, row: &TaskRow, base: String) -> Result<TaskPart> {
    let (task, now) = (&row.task, at.desk.now());
    let filter = GateFilter { task: Some(task.id), limit: GATES_MAX, ..GateFilter::default() };
    let mut gates = at.desk.gates(&at.actor, filter)?.items;
    gates.sort_by_key(|gate| gate.opened_at);
    let parent = task.parent.map(|parent| at.desk.task_names(&[parent])).transpose()?;
    let runs = at.desk.runs_of(task.id, RUNS_MAX)?;
    Ok(TaskPart {
        base,
        // On its own page a task has its whole title.
        task: TaskView { title: sanitize_line(&task.title), ..TaskView::of(row, 0) },
        behind: behind(at, task)?,
        before: before(at, task.id)?,
        parts: parts(at, task.id)?,
        parent: parent.and_then(|mut names| names.pop()).map(|(_, handle, _)| handle),
        body: markdown::render(&task.body).html,
        created_by: sanitize_line(&task.created_by),
        created: MomentView::of(task.created_at, now),
        closed_because: closed_because(task),
        questions: gates.iter().map(|gate| question(gate, now)).collect(),
        timeline: timeline(at, task.id)?,
        runs: runs.iter().map(|run| wire::RunJson::of(run, &rfc3339)).collect(),
    })
}

/// Returns the tasks it waits for.
fn behind(at: &PageContext, task: &Task) -> Result<Vec<TaskLink>> {
    let rows = task.blocked_by.iter().take(PARTS_MAX).map(|id| at.desk.task(*id));
    rows.map(|row| Ok(TaskLink::of(&row?))).collect()
}

/// Returns the tasks that wait for it, among those on a page of tasks.
fn before(at: &PageContext, id: TaskId) -> Result<Vec<TaskLink>> {
    let filter = TaskFilter { limit: TASKS_MAX, ..TaskFilter::default() };
    let rows = at.desk.tasks(&filter)?.items;
    Ok(rows.iter().filter(|row| row.task.blocked_by.contains(&id)).map(TaskLink::of).collect())
}

/// Returns the subtasks of a task.
fn parts(at: &PageContext, id: TaskId) -> Result<Vec<TaskLink>> {
    let filter =
        TaskFilter { parent: Some(id), all: true, limit: PARTS_MAX, ..TaskFilter::default() };
    Ok(at.desk.tasks(&filter)?.items.iter().map(TaskLink::of).collect())
}

fn closed_because(task: &Task) -> Option<String> {
    let closure = task.closure.as_ref()?;
    let by = sanitize_line(&closure.by);
    Some(if closure.reason.is_empty() {
        format!("{} by {by}", task.status)
    } else {
        format!("{} by {by}: {}", task.status, sanitize_line(&closure.reason))
    })
}

pub(super) fn question(gate: &Gate, now: sayso_core::Timestamp) -> QuestionView {
    let answer = gate.answer().map(|(answer, _)| answer.as_text()).unwrap_or_default();
    QuestionView {
        handle: gate.handle().to_owned(),
        kind: gate.opened.kind.as_str(),
        question: sayso_core::text::sanitize(&gate.card.question).text,
        asker: sanitize_line(&gate.opened.lineage.asker),
        asked: MomentView::of(gate.opened_at, now),
        is_open: gate.is_open(),
        answer: sayso_core::text::sanitize(&answer).text,
        ending: text::ending_in_words(gate),
        ended: gate.ended_at().map(|at| MomentView::of(at, now)),
    }
}

fn timeline(at: &PageContext, task: TaskId) -> Result<Vec<TaskEventView>> {
    let (history, now) = (at.desk.history(task)?, at.desk.now());
    let happened = |(at, event): &(sayso_core::Timestamp, TaskEvent)| {
        let when = MomentView::of(*at, now);
        if let TaskEvent::Noted(note) = event {
            let (what, by) = ("noted".to_owned(), sanitize_line(&note.author));
            return Some(TaskEventView {
                when,
                what,
                by,
                note: Some(markdown::render(&note.text).html),
                gate: None,
            });
        }
        let mut told = wire::TaskEventJson::all(&vec![(*at, event.clone())], &rfc3339);
        let told = told.pop()?;
        let what = told.what.trim_start_matches("task.").replace('_', " ");
        let more = [told.kind, told.ending, told.verdict, told.reason].into_iter().flatten();
        let more: Vec<_> = more.map(|word| sanitize_line(&word)).collect();
        let what = if more.is_empty() { what } else { format!("{what}: {}", more.join(", ")) };
        let by = told.by.map(|by| sanitize_line(&by)).unwrap_or_default();
        Some(TaskEventView { when, what, by, note: None, gate: told.gate })
    };
    Ok(history.iter().filter_map(happened).collect())
}
