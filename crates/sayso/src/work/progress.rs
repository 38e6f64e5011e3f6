//! The progress output of a worker: a line for each event, and on a terminal an animated line for each running agent.

use crate::card::pad;
use crate::out::{Look, Out};
use crate::when;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sayso_core::TaskId;
use sayso_core::run::Spent;
use sayso_core::task::Task;
use sayso_core::text::{harmless_line, shorten};
use sayso_engine::agents::Heard;
use sayso_engine::worker::{Came, Progress, Tally};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The refresh interval of the animated lines.
const TICK: Duration = Duration::from_millis(120);

/// Prints the progress of a worker.
pub(crate) struct View<'a> {
    out: &'a Out,
    moving: Option<MultiProgress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bars: BTreeMap<TaskId, (ProgressBar, String)>,
    /// Lines held back while a person types.
    held: Option<Vec<String>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(out: &'a Out) -> Self {
        let is_seen = std::io::stderr().is_terminal() && out.is_lively();
        let moving = is_seen.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Self { out, moving, state: Mutex::default() }
    }

    pub(crate) fn show(&self, progress: Progress) {
        match progress {
            Progress::Started { task, agent, resumed } => self.started(&task, &agent, resumed),
            Progress::Heard { task, heard } => self.heard(task, &heard),
            Progress::Waits { task, waits } => {
                self.set(task, if waits { "waits for a person" } else { "goes on" });
            }
            Progress::Checking { task, command } => self.set(task, &format!("checks: {command}")),
            Progress::Ended { task, what, note, spent } => self.ended(&task, what, &note, spent),
            Progress::Landed { task, what } => {
                self.line(&format!("  {} {}", self.name(&task), harmless_line(&what)));
            }
            Progress::Resting { agent, until } => {
                let until = when::local(until);
                let agent = harmless_line(&agent);
                self.line(&format!(
                    "  {agent} is waiting_for_reset: its limit is used up until {until}"
                ));
            }
            Progress::Recovered { task, processes } => {
                let left = match processes {
                    0 => String::new(),
                    n => format!(", {n} of its processes were ended"),
                };
                self.line(&format!(
                    "  {} its worker is gone{left}; it is taken up again",
                    self.name(&task)
                ));
            }
            Progress::Spent { what } => self.line(&format!("  the budget is used up: {what}")),
        }
    }

    /// Holds lines back while a person types, or releases them.
    pub(crate) fn hold(&self, hold: bool) {
        let held = {
            let mut state = self.state();
            for (bar, _) in state.bars.values() {
                match hold {
                    true => bar.disable_steady_tick(),
                    false => bar.enable_steady_tick(TICK),
                }
            }
            match hold {
                true => {
                    state.held.get_or_insert_with(Vec::new);
                    None
                }
                false => state.held.take(),
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
            shorten(&harmless_line(&task.title), self.out.width().saturating_sub(36).max(20));
        let agent = harmless_line(agent);
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

    fn heard(&self, task: TaskId, heard: &Heard) {
        match heard {
            Heard::Says(text) | Heard::Does(text) => self.set(task, text),
            Heard::Began => self.set(task, "has begun"),
            Heard::Session(_) | Heard::Spent(_) | Heard::Limited(_) => {}
        }
    }

    fn set(&self, task: TaskId, text: &str) {
        if let Some((bar, _)) = self.state().bars.get(&task) {
            bar.set_message(shorten(&harmless_line(text), self.out.width()));
        }
    }

    fn ended(&self, task: &Task, what: Came, note: &str, spent: Spent) {
        if let Some((bar, _)) = self.state().bars.remove(&task.id) {
            bar.finish_and_clear();
        }
        let out = self.out;
        let (icon, look, words) = match what {
            Came::Completed => (out.icon("✓", "ok:"), Look::Good, "completed"),
            Came::Stepped => (out.icon("✓", "ok:"), Look::Good, "did its step"),
            Came::Waits => (out.icon("❓", "?"), Look::Warn, "waits for a person"),
            Came::Again => (out.icon("↻", "~"), Look::Faint, "to be tried again"),
            Came::Later => (out.icon("◷", "~"), Look::Faint, "to be tried again later"),
            Came::Failed => (out.icon("✗", "!"), Look::Bad, "failed"),
            Came::Blocked => (out.icon("⊘", "!"), Look::Bad, "blocked"),
            Came::Gone => (out.icon("–", "-"), Look::Faint, "no longer ours"),
        };
        let took = in_words(&spent);
        let room = out.width().saturating_sub(14 + words.len() + took.len()).max(30);
        let note = shorten(&harmless_line(note), room);
        let colon = if note.is_empty() { "" } else { ": " };
        let cost = out.paint(Look::Faint, &took);
        self.line(&format!(
            "{} {} {}{colon}{note} {cost}",
            out.paint(look, icon),
            self.name(&task.handle),
            out.paint(look, words),
        ));
    }

    fn name(&self, handle: &str) -> String {
        self.out.paint(Look::Name, handle)
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

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is fine: each bar and line is inserted as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time and cost of a turn, in words.
pub(crate) fn in_words(spent: &Spent) -> String {
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
pub(crate) fn sum(tally: &Tally) -> String {
    let Tally { turns, completed, asked, failed, spent, .. } = tally;
    let many = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let turns = many(*turns, "turn");
    format!("{turns}: {completed} completed, {asked} asked, {failed} failed {}", in_words(spent))
}
