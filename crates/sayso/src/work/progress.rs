//! The progress output of a worker: a line for each event, and on a terminal an animated line for each running agent.

use crate::card::pad;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sayso_core::TaskId;
use sayso_core::run::RunUsage;
use sayso_core::task::Task;
use sayso_core::text::{sanitize_line, shorten};
use sayso_engine::agents::AgentEvent;
use sayso_engine::worker::{TurnOutcome, WorkTotals, WorkerProgress};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The refresh interval of the animated lines.
const TICK: Duration = Duration::from_millis(120);

/// Prints the progress of a worker.
pub(crate) struct ProgressView<'a> {
    out: &'a CliOutput,
    moving: Option<MultiProgress>,
    state: Mutex<ProgressState>,
}

#[derive(Default)]
struct ProgressState {
    bars: BTreeMap<TaskId, (ProgressBar, String)>,
    /// Lines held back while a person types.
    held: Option<Vec<String>>,
}

impl<'a> ProgressView<'a> {
    pub(crate) fn new(out: &'a CliOutput) -> Self {
        let is_seen = std::io::stderr().is_terminal() && out.can_animate();
        let moving = is_seen.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Self { out, moving, state: Mutex::default() }
    }

    pub(crate) fn show(&self, progress: WorkerProgress) {
        match progress {
            WorkerProgress::Started { task, agent, resumed } => {
                self.started(&task, &agent, resumed)
            }
            WorkerProgress::Heard { task, heard } => self.heard(task, &heard),
            WorkerProgress::Waits { task, waits } => {
                self.set(task, if waits { "waits for a person" } else { "goes on" });
            }
            WorkerProgress::Checking { task, command } => {
                self.set(task, &format!("checks: {command}"))
            }
            WorkerProgress::Ended { task, what, note, spent } => {
                self.ended(&task, what, &note, spent)
            }
            WorkerProgress::Landed { task, what } => {
                self.line(&format!("  {} {}", self.name(&task), sanitize_line(&what)));
            }
            WorkerProgress::Resting { agent, until } => {
                let until = time::local(until);
                let agent = sanitize_line(&agent);
                self.line(&format!(
                    "  {agent} is waiting_for_reset: its limit is used up until {until}"
                ));
            }
            WorkerProgress::Recovered { task, processes } => {
                let left = match processes {
                    0 => String::new(),
                    n => format!(", {n} of its processes were ended"),
                };
                self.line(&format!(
                    "  {} its worker is gone{left}; it is taken up again",
                    self.name(&task)
                ));
            }
            WorkerProgress::Spent { what } => {
                self.line(&format!("  the budget is used up: {what}"))
            }
        }
    }

    /// Holds lines back while a person types, or releases them.
    pub(crate) fn hold(&self, hold: bool) {
        let held = {
            let mut state = self.state();
            for (bar, _) in state.bars.values() {
                if hold { bar.disable_steady_tick() } else { bar.enable_steady_tick(TICK) }
            }
            if hold {
                state.held.get_or_insert_with(Vec::new);
                None
            } else {
                state.held.take()
            }
        };
        if let Some(moving) = &self.moving {
            let target =
                if hold { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
            if hold {
                let _ = moving.clear();
            }
            moving.set_draw_target(target);
        }
        for line in held.into_iter().flatten() {
            self.line(&line);
        }
    }

    /// Removes the animated lines.
    pub(crate) fn close(&self) {
        if let Some(moving) = &self.moving {
            let _ = moving.clear();
        }
    }

    fn started(&self, task: &Task, agent: &str, resumed: bool) {
        let verb = if resumed { "goes on with" } else { "works on" };
        let title =
            shorten(&sanitize_line(&task.title), self.out.width().saturating_sub(36).max(20));
        let agent = sanitize_line(agent);
        let arrow = self.out.icon("▶", ">");
        self.line(&format!("{arrow} {} {agent} {verb}: {title}", self.name(&task.handle)));
        let Some(moving) = &self.moving else { return };
        let style =
            ProgressStyle::with_template("  {spinner} {prefix:.cyan} {elapsed:>4} {wide_msg:.dim}");
        let bar = ProgressBar::new_spinner().with_prefix(pad(&task.handle, 5));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let bar = moving.add(bar);
        bar.enable_steady_tick(TICK);
        self.state().bars.insert(task.id, (bar, task.handle.clone()));
    }

    fn heard(&self, task: TaskId, heard: &AgentEvent) {
        match heard {
            AgentEvent::Says(text) | AgentEvent::Does(text) => self.set(task, text),
            AgentEvent::Began => self.set(task, "has begun"),
            AgentEvent::Session(_) | AgentEvent::Spent(_) | AgentEvent::Limited(_) => {}
        }
    }

    fn set(&self, task: TaskId, text: &str) {
        if let Some((bar, _)) = self.state().bars.get(&task) {
            bar.set_message(shorten(&sanitize_line(text), self.out.width()));
        }
    }

    fn ended(&self, task: &Task, what: TurnOutcome, note: &str, spent: RunUsage) {
        if let Some((bar, _)) = self.state().bars.remove(&task.id) {
            bar.finish_and_clear();
        }
        let out = self.out;
        let (icon, look, words) = match what {
            TurnOutcome::Completed => (out.icon("✓", "ok:"), OutputStyle::Good, "completed"),
            TurnOutcome::StepDone => (out.icon("✓", "ok:"), OutputStyle::Good, "did its step"),
            TurnOutcome::Waits => (out.icon("❓", "?"), OutputStyle::Warn, "waits for a person"),
            TurnOutcome::Retry => (out.icon("↻", "~"), OutputStyle::Faint, "to be tried again"),
            TurnOutcome::Deferred => {
                (out.icon("◷", "~"), OutputStyle::Faint, "to be tried again later")
            }
            TurnOutcome::Failed => (out.icon("✗", "!"), OutputStyle::Bad, "failed"),
            TurnOutcome::Blocked => (out.icon("⊘", "!"), OutputStyle::Bad, "blocked"),
            TurnOutcome::LostLease => (out.icon("–", "-"), OutputStyle::Faint, "no longer ours"),
        };
        let took = in_words(&spent);
        let room = out.width().saturating_sub(14 + words.len() + took.len()).max(30);
        let note = shorten(&sanitize_line(note), room);
        let colon = if note.is_empty() { "" } else { ": " };
        let cost = out.paint(OutputStyle::Faint, &took);
        self.line(&format!(
            "{} {} {}{colon}{note} {cost}",
            out.paint(look, icon),
            self.name(&task.handle),
            out.paint(look, words),
        ));
    }

    fn name(&self, handle: &str) -> String {
        self.out.paint(OutputStyle::Name, handle)
    }

    fn line(&self, text: &str) {
        if let Some(held) = &mut self.state().held {
            held.push(text.to_owned());
            return;
        }
        match &self.moving {
            Some(moving) => moving.suspend(|| self.out.remark(text)),
            None => self.out.remark(text),
        }
    }

    fn state(&self) -> MutexGuard<'_, ProgressState> {
        // A poisoned lock is fine: each bar and line is inserted as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time and cost of a turn, in words.
pub(crate) fn in_words(spent: &RunUsage) -> String {
    let tokens = spent.input_tokens.saturating_add(spent.output_tokens);
    let mut parts = vec![seconds(spent.work_millis)];
    if spent.waited_millis > 0 {
        parts.push(format!("{} waiting", seconds(spent.waited_millis)));
    }
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    if spent.cost_micros > 0 {
        parts.push(format!("${:.2}", spent.cost_micros as f64 / 1e6));
    }
    format!("({})", parts.join(", "))
}

/// A duration, as short as possible.
pub(crate) fn seconds(millis: u64) -> String {
    match millis / 1_000 {
        s if s < 60 => format!("{:.1}s", millis as f64 / 1_000.0),
        s if s < 3_600 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{}h{:02}m", s / 3_600, s / 60 % 60),
    }
}

/// A one-line summary of a worker's turns.
pub(crate) fn sum(tally: &WorkTotals) -> String {
    let WorkTotals { turns, completed, asked, failed, spent, .. } = tally;
    let many = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let turns = many(*turns, "turn");
    format!("{turns}: {completed} completed, {asked} asked, {failed} failed {}", in_words(spent))
}
