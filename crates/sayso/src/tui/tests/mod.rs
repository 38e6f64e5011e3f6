//! Tests of the terminal inbox: its screens, keys and events. There is no desk and no clock: replies of the desk and
//! the time are passed in.
#![allow(clippy::unwrap_used, clippy::panic)]

mod hostile;
mod lines;
mod lists;
mod marks;
mod refused;
mod rules;
mod screens;

use super::keys::tests::press;
use super::state::{
    CardCount, InboxEffect, InboxEvent, InboxListKind, InboxRow, InboxState, LoadedPage,
    RefreshedList,
};
use super::update::{begin, update};
use super::view::view;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use sayso_core::gate::{
    self, AnswerSignature, Card, CardFact, Gate, GateSpec, Receipt, ReceiptStage as Step,
};
use sayso_core::{
    Actor, Answer, AnswerShape, AssuranceLevel, ChoiceOption, EntryPoint, GateId, GateKind,
    IdentityProof, Risk, Role, SpaceId, Timestamp,
};
use sayso_engine::{CardAsker, CardView};
use std::time::Duration;

const MINUTE: i64 = 60 * 1_000_000;

pub(super) fn noon() -> Timestamp {
    Timestamp::from_micros(1_760_000_000_000_000)
}

fn person(name: &str) -> Actor {
    Actor::new(Role::Human, name, IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Tui)
}

/// A question of an agent's, some minutes before noon.
fn opened(number: u128, kind: GateKind, shape: AnswerShape, question: &str) -> GateSpec {
    let id = GateId::mint(noon(), number);
    let space = SpaceId::mint(noon(), 1);
    let card = Card { question: question.into(), narrative: String::new(), facts: vec![], shape };
    let asker = Actor {
        launcher: Some("ann".into()),
        ..Actor::new(
            Role::Agent,
            "coder",
            IdentityProof::Token,
            AssuranceLevel::S0,
            EntryPoint::Mcp,
        )
    };
    GateSpec::new(id, space, &format!("g{number}k2m"), kind, card, asker.lineage())
}

fn waits(opened: GateSpec, minutes: i64) -> Gate {
    let at = noon().plus_micros(-minutes * MINUTE);
    gate::apply(None, &gate::GateEvent::Opened(Box::new(opened)), at).unwrap()
}

fn verdict(number: u128, question: &str) -> Gate {
    waits(opened(number, GateKind::Approval, AnswerShape::Verdict, question), 3)
}

fn answered(gate: Gate, by: &str, answer: Answer) -> Gate {
    let by = AnswerSignature::of(&person(by), noon());
    gate::apply(Some(gate), &gate::GateEvent::Answered { answer, by }, noon()).unwrap()
}

/// The same gate with another card.
fn revised(gate: &Gate, question: &str) -> Gate {
    let card = Card { question: question.into(), ..gate.card.clone() };
    let revision = gate.revision + 1;
    let digest = gate.opened.digest(&card, revision);
    let event = gate::GateEvent::Revised { card, revision, digest };
    gate::apply(Some(gate.clone()), &event, noon()).unwrap()
}

fn row(gate: Gate) -> InboxRow {
    InboxRow::new(asked(gate), None)
}

fn asked(gate: Gate) -> CardView {
    let asker = CardAsker {
        gate: gate.opened.id,
        handle: gate.opened.handle.clone(),
        name: gate.opened.lineage.asker.clone(),
        task: None,
        at: gate.opened_at,
        digest: gate.digest.clone(),
        is_seen: false,
    };
    CardView { askers: vec![asker], ..CardView::alone(gate) }
}

fn options(names: &[(&str, &str)]) -> Vec<ChoiceOption> {
    let option = |(name, leads_to): &(&str, &str)| ChoiceOption {
        name: (*name).into(),
        consequence: (*leads_to).into(),
        declines: false,
    };
    names.iter().map(option).collect()
}

/// A terminal of a size, with an inbox on it and ann before it.
struct Stage {
    state: InboxState,
    at: Duration,
    done: Vec<InboxEffect>,
}

impl Stage {
    /// The list was fetched and drawn, and a moment has passed.
    fn with(size: (u16, u16), gates: Vec<Gate>) -> Self {
        let mut stage = Self::opened(size);
        stage.load(gates, None);
        stage.settle();
        stage
    }

    /// Nothing was fetched yet.
    fn opened(size: (u16, u16)) -> Self {
        let mut state = InboxState::new(person("ann"), "shop", InboxListKind::Yours);
        (state.size, state.now) = (size, noon());
        let done = begin(&state);
        Self { state, at: Duration::ZERO, done }
    }

    fn load(&mut self, gates: Vec<Gate>, next: Option<GateId>) {
        let rows = gates.into_iter().map(row).collect();
        let page = Ok(LoadedPage { rows, next, alerts: vec![], in_groups: None });
        let list = self.state.list.number;
        self.happen(InboxEvent::Page { list, is_first: true, page });
    }

    fn happen(&mut self, event: InboxEvent) {
        let effects = update(&mut self.state, event, self.at);
        self.done.extend(effects);
    }

    /// Draws, and a moment passes.
    fn settle(&mut self) {
        self.draw();
        self.pass(500);
    }

    fn pass(&mut self, millis: u64) {
        self.at += Duration::from_millis(millis);
        self.happen(InboxEvent::Tick(self.state.now));
    }

    fn keys(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| self.happen(InboxEvent::Key(press(key))));
    }

    /// Goes to the card below, draws it and lets a moment pass.
    fn next(&mut self) {
        self.keys(&["j"]);
        self.settle();
    }

    /// Reads the card to its end, as fast as counts.
    fn read_on(&mut self) {
        self.settle();
        for _ in 0..20 {
            self.keys(&["J"]);
            self.settle();
        }
        self.draw();
        assert_eq!(self.state.drawn.as_ref().map(|drawn| drawn.unread), Some(0), "there is an end");
    }

    /// Marks the first cards of the list, one after the other.
    fn mark(&mut self, count: usize) {
        self.keys(&["x"]);
        for _ in 1..count {
            self.next();
            self.keys(&["x"]);
        }
    }

    fn write(&mut self, text: &str) {
        text.chars().for_each(|letter| self.keys(&[&letter.to_string()]));
    }

    /// The identity check succeeds.
    fn prove(&mut self) {
        self.happen(InboxEvent::Proved(Ok(false)));
    }

    /// The list was refreshed: these cards are in it, and those have changed.
    fn refresh(&mut self, first: Vec<Gate>, changed: Vec<Gate>) {
        let rows = first.into_iter().map(row).collect();
        let first = LoadedPage { rows, next: None, alerts: vec![], in_groups: None };
        let cards = changed.into_iter().map(asked).collect();
        let list = self.state.list.number;
        self.happen(InboxEvent::Refreshed { list, found: Ok(RefreshedList { first, cards }) });
    }

    fn draw(&mut self) -> String {
        let (columns, rows) = self.state.size;
        let area = Rect::new(0, 0, columns, rows);
        let mut buffer = Buffer::empty(area);
        let drawn = view(&self.state, area, &mut buffer);
        self.happen(InboxEvent::Drawn(drawn.card));
        text_of(&buffer)
    }

    /// The latest answers that were sent.
    fn said(&self) -> Vec<sayso_engine::CardAnswer> {
        let sent = self.done.iter().rev().find_map(|effect| match effect {
            InboxEffect::Send(says) => Some(says.clone()),
            _ => None,
        });
        sent.unwrap_or_default()
    }

    /// The number of calls that sent answers.
    fn sent(&self) -> usize {
        self.done.iter().filter(|effect| matches!(effect, InboxEffect::Send(_))).count()
    }
}

/// The text on a screen. A wide character takes its cells once.
fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let line = |y: u16| {
        let (mut line, mut skip) = (String::new(), 0);
        for x in area.left()..area.right() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buffer[(x, y)].symbol();
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        line.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(line).collect::<Vec<_>>().join("\n")
}

/// Usual cards: a call with facts and a diff, a choice, a question.
fn usual() -> Vec<Gate> {
    let fact = |name: &str, value: &str, verified: bool| CardFact {
        name: name.into(),
        value: value.into(),
        verified,
    };
    let mut call = opened(1, GateKind::Tool, AnswerShape::Verdict, "May this command run?");
    call.risk = Risk::High;
    call.card.facts = vec![
        fact("program", "/usr/bin/git", true),
        fact("command", "git push --force origin main", true),
        fact(
            "diff",
            "--- a/deploy.sh\n+++ b/deploy.sh\n@@ -1,2 +1,2 @@\n set -e\n-make\n+make deploy",
            true,
        ),
        fact("tests", "all green", false),
    ];
    call.card.narrative =
        "The branch was rebased, so the push has to be forced.\n\nI checked that nobody else works on it.".into();
    call.deadline = Some(noon().plus_micros(90 * MINUTE));
    let choices = options(&[("Firefox", ""), ("Chrome", "needs the new driver"), ("Safari", "")]);
    let shape = AnswerShape::Choice { options: choices, multi: true, other: true };
    let choice = opened(2, GateKind::Input, shape, "Which browsers are to be supported?");
    let question = opened(3, GateKind::Decision, AnswerShape::Text, "Which port is free?");
    vec![waits(call, 125), waits(choice, 12), waits(question, 0)]
}

/// The timeline of a gate, as the desk returns it.
fn way(gate: &Gate) -> Receipt {
    let step = |stage: Step, by: &str, minutes: i64| gate::ReceiptStep {
        stage,
        at: noon().plus_micros(-minutes * MINUTE),
        by: by.into(),
        door: Some(EntryPoint::Mcp),
        note: String::new(),
    };
    let steps =
        vec![step(Step::Asked, &gate.opened.lineage.asker, 125), step(Step::Seen, "bob", 60)];
    Receipt { steps, ..Receipt::default() }
}
