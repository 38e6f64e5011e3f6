//! The interactive prompt: asks the person at this terminal as soon as a gate opens, while agents work. Another
//! person may answer first, from any place; then the prompt is dismissed here.

use super::ProgressView;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sayso_core::gate::Gate;
use sayso_core::{Actor, GateId, answer_input};
use sayso_engine::{Desk, GateFilter};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval at which an open prompt checks its gate.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The maximum number of gates fetched.
const GATES_MAX: usize = 500;

/// A person at a terminal who is prompted.
pub(crate) struct GatePrompter<'a> {
    pub(crate) context: &'a CliContext<'a>,
    pub(crate) desk: &'a Desk,
    pub(crate) person: &'a Actor,
    pub(crate) view: &'a ProgressView<'a>,
    pub(crate) stop: &'a AtomicBool,
    /// True if skipped gates are asked again, for a person who alone can answer them.
    pub(crate) insists: bool,
}

/// The outcome of a prompt.
enum PromptOutcome {
    Line(String),
    /// Another person answered, or the gate was withdrawn.
    Settled(Box<Gate>),
    /// End of input, or a stop request.
    Over,
}

impl GatePrompter<'_> {
    /// Prompts for every gate that `concerns` this terminal until `is_done` says that no more will come.
    pub(crate) fn attend(
        &self,
        concerns: &dyn Fn(&Gate) -> bool,
        is_done: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut skipped = BTreeSet::new();
        loop {
            // Read before the gates are fetched, so that a gate from before the end is still found.
            let was_done = is_done();
            let waiting = self.waiting(concerns, &skipped)?;
            let Some(gate) = waiting else {
                if was_done || self.is_stopped() {
                    return Ok(());
                }
                if self.insists {
                    skipped.clear();
                }
                std::thread::sleep(LOOK_EVERY / 4);
                continue;
            };
            self.view.hold(true);
            let asked = self.ask(&gate, &mut skipped);
            self.view.hold(false);
            if !asked? {
                return Ok(());
            }
        }
    }

    fn waiting(
        &self,
        concerns: &dyn Fn(&Gate) -> bool,
        skipped: &BTreeSet<GateId>,
    ) -> Result<Option<Gate>> {
        let mut filter = GateFilter { limit: GATES_MAX, ..GateFilter::default() };
        let is_next = |gate: &Gate| concerns(gate) && !skipped.contains(&gate.opened.id);
        loop {
            let page = self.desk.gates(self.person, filter.clone())?;
            filter.after = page.items.last().map(|gate| gate.opened.id);
            let next = page.items.into_iter().find(is_next);
            if next.is_some() || !page.more {
                return Ok(next);
            }
        }
    }

    /// Prompts for one gate. True if the loop continues.
    fn ask(&self, gate: &Gate, skipped: &mut BTreeSet<GateId>) -> Result<bool> {
        let out = self.context.out;
        // Input typed before the question was shown is not an answer to it.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        out.message("");
        out.message(&card::gate_question(out, gate, self.desk.now()));
        self.desk.see(self.person, std::slice::from_ref(gate))?;
        loop {
            let how =
                format!("{} (empty leaves it open):", answer_input::input_help(&gate.card.shape));
            let _ = write!(std::io::stderr(), "\n{} ", out.paint(OutputStyle::Strong, &how));
            match self.read_or_settle(gate)? {
                PromptOutcome::Over => {
                    out.message(&format!("\ngate {} stays open", gate.handle()));
                    return Ok(false);
                }
                PromptOutcome::Settled(gate) => {
                    out.message(&format!("\n{} meanwhile", card::ending_in_words(&gate)));
                    return Ok(true);
                }
                PromptOutcome::Line(line) if line.trim().is_empty() => {
                    skipped.insert(gate.opened.id);
                    out.message(&if self.insists {
                        "left open for now (Ctrl+C ends)".to_owned()
                    } else {
                        format!(
                            "left open; Ctrl+C ends, an answer from elsewhere goes on: {}",
                            card::how_to_answer(gate)[0]
                        )
                    });
                    return Ok(true);
                }
                PromptOutcome::Line(line) => match self.answer(gate, line.trim()) {
                    Ok(()) => return Ok(true),
                    Err(failure) => {
                        out.error(failure.code.as_str(), &failure.message, failure.hint.as_deref());
                        if !self.desk.gate(gate.opened.id)?.is_open() {
                            return Ok(true);
                        }
                    }
                },
            }
        }
    }

    fn answer(&self, gate: &Gate, typed: &str) -> Result<()> {
        let out = self.context.out;
        let answer = answer_input::parse_answer(&gate.card.shape, typed)?;
        let answered =
            self.desk.answer(self.person, gate.opened.id, answer, gate.digest.as_str())?;
        let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
        out.message(&format!("{tick} gate {} {}", gate.handle(), card::ending_in_words(&answered)));
        Ok(())
    }

    /// Waits for a line, or until the gate is settled by another person.
    fn read_or_settle(&self, gate: &Gate) -> Result<PromptOutcome> {
        let stdin = std::io::stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
        loop {
            if self.is_stopped() {
                return Ok(PromptOutcome::Over);
            }
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            // A signal that arrived meanwhile is checked at the top.
            if poll(&mut ready, Some(&wait)).unwrap_or(0) > 0 {
                let mut line = String::new();
                return Ok(match stdin.read_line(&mut line)? {
                    0 => PromptOutcome::Over,
                    _ => PromptOutcome::Line(line),
                });
            }
            let now = self.desk.gate(gate.opened.id)?;
            if !now.is_open() {
                return Ok(PromptOutcome::Settled(Box::new(now)));
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}
