//! Tests of flows as scripts of programs, people and crashes: `relay start | relay take | relay ask`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::testing::{ONE_OF_EACH_ROLE, Row, at, cell, explore, page, space, through_json, who};
use crate::{Actor, Code, IdentityProof, Refusal};
use proptest::prelude::*;
use serde_json::json;

fn flow_id() -> FlowId {
    FlowId::mint(at(0), 1)
}

fn gate(n: u128) -> GateId {
    GateId::mint(at(0), n)
}

fn started() -> FlowSpec {
    FlowSpec {
        id: flow_id(),
        space: space(),
        handle: "f001".into(),
        workflow: "release".into(),
        version: "1".into(),
        definition: None,
        title: String::new(),
        task: None,
        phase: "plan".into(),
        state: json!({"n": 0}),
        launcher: "relay".into(),
        launcher_role: None,
        place: None,
    }
}

fn holder(process: &str) -> LeaseHolder {
    LeaseHolder { host: "here".into(), repository: String::new(), process: process.into() }
}

fn heard(gate: GateId, answer: Answer) -> QuestionOutcome {
    let (by, question, ended) = ("ann".into(), String::new(), "answered".into());
    QuestionOutcome { gate: Some(gate), answer: Some(answer), by, question, ended, more: false }
}

/// Returns the actor of a name. The service is a script of the local user, which may lead flows as that user does.
fn leader(name: &str) -> Actor {
    let actor = who(name);
    match actor.role {
        Role::Service => Actor { proof: IdentityProof::None, ..actor },
        _ => actor,
    }
}

/// A flow that a script drives.
#[derive(Default)]
struct Play {
    flow: Option<Flow>,
    now: i64,
    log: Vec<(FlowLogEvent, Timestamp)>,
}

impl Play {
    fn of(script: &str) -> Self {
        let mut play = Self { now: 10, ..Self::default() };
        play.play(script);
        play
    }

    fn play(&mut self, script: &str) -> Vec<String> {
        let mut cells = vec![];
        for step in script.split('|').map(str::trim).filter(|step| !step.is_empty()) {
            match step.strip_prefix('@') {
                Some(time) => self.now = time.parse().unwrap(),
                None => cells.push(self.step(step)),
            }
        }
        cells
    }

    fn step(&mut self, step: &str) -> String {
        let (name, verb) = step.split_once(' ').unwrap();
        let outcome = decide(self.flow.as_ref(), &self.command(verb), &leader(name), at(self.now));
        for event in outcome.iter().flatten() {
            self.flow = apply(self.flow.take(), event, at(self.now));
            self.log.push((event.clone(), at(self.now)));
        }
        cell(&outcome, FlowLogEvent::name)
    }

    fn command(&self, verb: &str) -> FlowCommand {
        let (fence, position) = self.flow.as_ref().map_or((0, 0), |f| (f.fence, f.position));
        let held = LeaseClaim::Held(fence);
        let going_on = |claim, steps| FlowCommand::Advance(FlowAdvance { claim, position, steps });
        let take = |process: &str, dead| LeaseClaim::Take {
            holder: holder(process),
            until: at(self.now + 60),
            dead,
            place: None,
            adopts: false,
        };
        let with = |step| going_on(held.clone(), vec![step]);
        let complete =
            |n: u32| StepRecord::Complete { item: 0, output: json!({"n": n}), state: None };
        let end = |how| StepRecord::End { how, note: String::new(), state: None };
        let hear =
            |n, answer| StepRecord::Hear { item: 0, heard: heard(gate(n), answer), state: None };
        match verb {
            "start" => FlowCommand::Start(Box::new(started())),
            "start other" => FlowCommand::Start(Box::new(FlowSpec {
                state: json!({"n": 1}),
                handle: "f002".into(),
                ..started()
            })),
            "take" => going_on(take("one", None), vec![]),
            "take from the dead" => going_on(take("two", Some(fence)), vec![]),
            "keep" => with(StepRecord::Keep { until: at(self.now + 60) }),
            "let go" => with(StepRecord::Release),
            "complete" => with(complete(1)),
            "complete otherwise" => with(complete(2)),
            "ask" => with(StepRecord::Ask { item: 0, gate: gate(1) }),
            "ask another" => with(StepRecord::Ask { item: 0, gate: gate(2) }),
            "hear yes" => with(hear(1, Answer::approved())),
            "hear no" => with(hear(1, Answer::rejected(None))),
            "hear another" => with(hear(2, Answer::approved())),
            "hear otherwise" => with(StepRecord::Hear {
                item: 0,
                heard: QuestionOutcome { gate: None, ..heard(gate(1), Answer::approved()) },
                state: None,
            }),
            "move" => with(StepRecord::Move { to: "write".into(), state: Some(json!({"n": 1})) }),
            "end" => with(end(FlowEndKind::Done)),
            "cancel" => FlowCommand::Cancel { reason: "not needed".into() },
            "complete stale" => {
                going_on(LeaseClaim::Held(fence.wrapping_sub(1)), vec![complete(1)])
            }
            "complete elsewhere" => FlowCommand::Advance(FlowAdvance {
                claim: held,
                position: position + 1,
                steps: vec![complete(1)],
            }),
            "all of it" => going_on(
                take("one", None),
                vec![
                    complete(1),
                    StepRecord::Move { to: "ask".into(), state: None },
                    StepRecord::Ask { item: 0, gate: gate(1) },
                    StepRecord::Release,
                ],
            ),
            _ => panic!("{verb:?} is no verb"),
        }
    }
}

const VERBS: &str = "start, start other, take, take from the dead, keep, let go, complete, \
    complete otherwise, ask, ask another, hear yes, hear no, hear another, hear otherwise, move, end, \
    cancel, complete stale, complete elsewhere, all of it";

/// Returns a flow as one line.
fn in_words(flow: Option<&Flow>) -> String {
    let Some(flow) = flow else { return "absent".into() };
    let held = flow.hold.as_ref().map_or(String::new(), |hold| {
        format!(", held by {} until {}", hold.holder.process, hold.until.as_micros() / 1_000_000)
    });
    let Flow { phase, position, fence, .. } = flow;
    let counts = [flow.outputs.len(), flow.asked.len(), flow.heard.len()];
    format!("{} in {phase} {position}, {counts:?}, number {fence}{held}", flow.basic_status())
}

/// The status of a flow, by its history, its open questions and its lease.
#[test]
fn every_standing_has_its_word() {
    use QuestionStatus::{Answered, Open, Unanswered};
    let check = |script: &str, questions: QuestionStatus, is_held: bool, expected: &str| {
        let flow = Play::of(script).flow.unwrap();
        assert_eq!(flow.status(questions, is_held).as_str(), expected, "{script}");
    };
    check("relay start", Answered, false, "idle");
    check("relay start | relay take", Answered, true, "running");
    check("relay start | relay take", Answered, false, "idle");
    check("relay start | relay take | relay ask", Open, false, "waiting");
    check("relay start | relay take | relay ask", Answered, false, "answered");
    check("relay start | relay take | relay ask", Unanswered, false, "unanswered");
    check("relay start | relay take | relay ask", Unanswered, true, "running");
    check("relay start | relay take", Unanswered, false, "idle");
    check("relay start | relay take", Open, true, "waiting");
    check("relay start | relay cancel", Open, true, "cancelled");
    let mut stuck = Play::of("relay start").flow.unwrap();
    stuck.stuck = Some(FlowStall { why: "no".into(), at: at(1) });
    assert_eq!(stuck.status(Answered, false).as_str(), "stuck");
    assert_eq!(stuck.status(Open, false).as_str(), "waiting");
}

#[test]
fn the_flow_on_a_page() {
    let actors = ONE_OF_EACH_ROLE;
    let states = [
        ("absent", ""),
        ("begun", "relay start"),
        ("held", "relay start | relay take"),
        ("its lease is over", "relay start | relay take | @70"),
        ("its step is done", "relay start | relay take | relay complete"),
        ("it asked", "relay start | relay take | relay complete | relay ask"),
        ("it waits, nobody holds it", "relay start | relay take | relay ask | relay let go"),
        ("it heard yes", "relay start | relay take | relay ask | relay hear yes"),
        ("in its next phase", "relay start | relay take | relay complete | relay move"),
        ("at its end", "relay start | relay take | relay end"),
        ("cancelled while it asked", "relay start | relay take | relay ask | ann cancel"),
    ];
    let section = |(state, script): (&str, &str)| {
        let rows = VERBS.split(", ").map(|verb| {
            let verb = verb.trim();
            let mut row = Row { command: verb.into(), cells: vec![], becomes: vec![] };
            for actor in actors {
                let mut play = Play::of(script);
                let cell = play.step(&format!("{actor} {verb}"));
                let changed = cell != "=" && !cell.starts_with("SAY");
                row.becomes.extend(changed.then(|| in_words(play.flow.as_ref())));
                row.cells.push(cell);
            }
            row
        });
        (format!("{state}: {}", in_words(Play::of(script).flow.as_ref())), rows.collect())
    };
    insta::assert_snapshot!("flow", page(&actors, states.into_iter().map(section).collect()));
}

#[test]
fn no_agent_leads_a_flow() {
    for verb in VERBS.split(", ") {
        let mut play = Play::of("relay start | relay take | relay ask");
        assert_eq!(play.step(&format!("fixer {}", verb.trim())), "SAY037", "{verb}");
    }
}

#[test]
fn what_goes_wrong_in_the_middle_leaves_nothing() {
    let mut play = Play::of("relay start | relay take | relay ask");
    let before = play.flow.clone();
    let advance = FlowAdvance {
        claim: LeaseClaim::Held(1),
        position: 0,
        steps: vec![
            StepRecord::Complete { item: 0, output: json!(1), state: None },
            StepRecord::Move { to: "write".into(), state: None },
        ],
    };
    let refused =
        decide(play.flow.as_ref(), &FlowCommand::Advance(advance), &leader("relay"), at(11));
    assert_eq!(refused.map_err(|refusal| refusal.code), Err(Code::WrongState));
    assert_eq!(play.flow, before);
    assert_eq!(play.play("relay hear yes | relay move"), ["heard", "moved"]);
}

#[test]
fn what_is_too_large_is_refused() {
    let large = json!("x".repeat(STATE_BYTES_MAX));
    let refused = |command| {
        let flow = Play::of("relay start | relay take").flow;
        let outcome = decide(flow.as_ref(), &command, &leader("relay"), at(11));
        outcome.map_err(|refusal: Refusal| refusal.code).expect_err("it is refused")
    };
    let with = |step| {
        FlowCommand::Advance(FlowAdvance {
            claim: LeaseClaim::Held(1),
            position: 0,
            steps: vec![step],
        })
    };
    let complete =
        |item, output: &Value| StepRecord::Complete { item, output: output.clone(), state: None };
    assert_eq!(refused(with(complete(0, &large))), Code::TooLarge);
    assert_eq!(refused(with(complete(ITEMS_MAX, &json!(1)))), Code::TooLarge);
    assert_eq!(
        refused(with(StepRecord::Move { to: "a".into(), state: Some(large) })),
        Code::TooLarge
    );
    for name in ["", "  ", "a\nb", &"x".repeat(NAME_BYTES_MAX + 1)] {
        let step = StepRecord::Move { to: name.into(), state: None };
        assert_eq!(refused(with(step)), Code::BadValue, "{name:?}");
    }
}

#[test]
fn a_flow_does_not_walk_in_circles_for_ever() {
    let mut play = Play::of("relay start | relay take");
    if let Some(flow) = &mut play.flow {
        flow.position = POSITIONS_MAX - 1;
    }
    assert_eq!(play.play("relay move | relay move"), ["moved", "SAY015"]);
}

/// For any steps in any order: replaying the log gives the flow, a question has an outcome before the flow leaves the
/// phase, and no event follows the end.
#[test]
fn any_play_leaves_a_log_that_makes_the_flow() {
    let verbs: Vec<_> = VERBS.split(", ").map(|verb| verb.trim().to_owned()).collect();
    let steps = prop::collection::vec((prop::sample::select(verbs), 0_i64..40), 1..40);
    let moved = std::cell::Cell::new(0);
    explore(400, &steps, |steps| {
        let mut play = Play::of("");
        for (verb, pause) in steps {
            play.now += pause;
            play.step(&format!("relay {verb}"));
        }
        let mut again = None;
        for (event, at) in &play.log {
            let before: Option<Flow> = again;
            prop_assert!(before.as_ref().is_none_or(Flow::is_live), "{event:?} after the end");
            if let (FlowLogEvent::Moved { .. }, Some(before)) = (event, &before) {
                moved.set(moved.get() + 1);
                prop_assert!(!before.is_waiting(), "it walked past a question");
            }
            again = apply(before, &through_json(event), *at);
        }
        prop_assert_eq!(again, play.flow.map(|flow| through_json(&flow)));
        Ok(())
    });
    assert!(moved.get() > 50, "hardly anything moved: {}", moved.get());
}
