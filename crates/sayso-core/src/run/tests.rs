//! Tests of runs as scripts of workers, agents and timers: `opal start | @100 | relay lose`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::testing::{Row, at, cell, explore, page, run_id, space, task_id, through_json, who};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The fencing number of the run in these tests.
const FENCE: u64 = 7;

/// The time at which the first lease expires.
const LEASE: i64 = 60;

fn started() -> RunSpec {
    RunSpec {
        id: run_id(1),
        space: space(),
        task: task_id(1),
        agent: "fixer".into(),
        launcher: "lea".into(),
        fence: FENCE,
        lease_until: at(LEASE),
        holder: LeaseHolder::default(),
        session: None,
    }
}

/// A run that a script drives, with its log.
#[derive(Default)]
struct Play {
    run: Option<Run>,
    now: i64,
    log: Vec<(RunEvent, Timestamp)>,
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
                None => cells.push(self.step(step, FENCE)),
            }
        }
        cells
    }

    fn step(&mut self, step: &str, fence: u64) -> String {
        let outcome = self.decide(step, fence);
        for event in outcome.iter().flatten() {
            self.run = apply(self.run.take(), event, at(self.now));
            self.log.push((event.clone(), at(self.now)));
        }
        cell(&outcome, RunEvent::name)
    }

    fn decide(&self, step: &str, fence: u64) -> Result<Vec<RunEvent>, Refusal> {
        let (name, verb) = step.split_once(' ').unwrap();
        decide(self.run.as_ref(), &self.command(verb, fence), &who(name), at(self.now))
    }

    fn command(&self, verb: &str, fence: u64) -> RunCommand {
        let stale = fence - 1;
        let until = at(self.now + 60);
        match verb {
            "start" => RunCommand::Start(Box::new(started())),
            "start other" => RunCommand::Start(Box::new(RunSpec { task: task_id(2), ..started() })),
            "renew" => RunCommand::Renew { fence, until },
            "renew briefly" => RunCommand::Renew { fence, until: at(self.now + 1) },
            "renew stale" => RunCommand::Renew { fence: stale, until },
            "name" => RunCommand::Name { session: "s-1".into() },
            "end" => end(fence, RunEndKind::Completed, ""),
            "end asked" => end(fence, RunEndKind::Asked, "which colour?"),
            "end failed" => end(fence, RunEndKind::Failed, "out of tokens"),
            "end stale" => end(stale, RunEndKind::Completed, ""),
            "lose" => RunCommand::Lose,
            _ => panic!("{verb:?} is no verb"),
        }
    }
}

fn end(fence: u64, how: RunEndKind, note: &str) -> RunCommand {
    RunCommand::End { fence, how, note: note.into(), spent: RunUsage::default() }
}

const VERBS: &str = "start, start other, name, renew, renew briefly, end, end asked, end failed, lose, \
                     renew stale, end stale";

/// Returns a run as one line.
fn in_words(run: Option<&Run>) -> String {
    let Some(run) = run else { return "absent".into() };
    let until = run.lease_until.as_micros() / 1_000_000;
    let named = run.session.as_ref().map_or("", |_| ", named");
    match &run.state {
        RunState::Running => format!("running until {until}{named}"),
        RunState::Ended { how, note, .. } => format!("{how:?}: {note}{named}").to_lowercase(),
    }
}

#[test]
fn the_run_on_a_page() {
    let actors = ["opal", "fixer", "rival", "ann", "relay", "aude"];
    let states = [
        ("absent", ""),
        ("running", "opal start"),
        ("its lease is over", "opal start | @60"),
        ("it asked", "opal start | opal end asked"),
        ("completed", "opal start | opal end"),
        ("lost", "opal start | @60 | relay lose"),
    ];
    let section = |(state, script): (&str, &str)| {
        let rows = VERBS.split(", ").map(|verb| {
            let mut row = Row { command: verb.into(), cells: vec![], becomes: vec![] };
            for actor in actors {
                let mut play = Play::of(script);
                let cell = play.step(&format!("{actor} {verb}"), FENCE);
                let changed = cell != "=" && !cell.starts_with("SAY");
                row.becomes.extend(changed.then(|| in_words(play.run.as_ref())));
                row.cells.push(cell);
            }
            row
        });
        (format!("{state}: {}", in_words(Play::of(script).run.as_ref())), rows.collect())
    };
    insta::assert_snapshot!("run", page(&actors, states.into_iter().map(section).collect()));
}

#[test]
fn who_asked_has_no_lease_to_lose() {
    let mut play = Play::of("opal start | opal end asked | @9999");
    assert_eq!(play.play("relay lose | opal end asked"), ["=", "="]);
    assert_eq!(in_words(play.run.as_ref()), "asked: which colour?");
}

#[test]
fn a_renewal_that_was_overtaken_does_not_shorten_the_lease() {
    let mut play = Play::of("opal start | opal renew");
    let before = play.run.clone();
    assert_eq!(play.play("opal renew briefly | opal renew"), ["=", "="]);
    assert_eq!(play.run, before);
}

#[test]
fn the_end_of_a_run_takes_its_token() {
    let play = Play::of("opal start | @20 | opal renew | opal name | opal end");
    let heard: Vec<_> = play.log.iter().map(|(event, _)| effects(event)).collect();
    assert_eq!(heard, [vec![], vec![], vec![], vec![RunEffect::RevokeToken]]);
}

#[test]
fn every_event_survives_its_json_and_a_later_ones_changes_nothing() {
    let play = Play::of("opal start | @20 | opal renew | opal name | opal end failed");
    assert_eq!(play.log.len(), 4, "an event is missing here");
    for (event, _) in &play.log {
        assert_eq!(through_json(event), *event);
    }
    let later: RunEvent = serde_json::from_str(r#"{"event": "paused", "for": 5}"#).unwrap();
    assert_eq!(later, RunEvent::Unknown);
    for script in ["", "opal start", "opal start | opal end"] {
        let play = Play::of(script);
        assert_eq!(apply(play.run.clone(), &later, at(99)), play.run, "{script}");
    }
    // A run ends once: no later event in the log changes that.
    let ended = Play::of("opal start | opal name | opal end").run;
    for (event, _) in &play.log {
        assert_eq!(apply(ended.clone(), event, at(99)), ended, "{}", event.name());
    }
}

#[test]
fn whatever_is_tried_a_stale_fence_is_never_accepted() {
    let seen = RefCell::new(BTreeMap::<String, u32>::new());
    let count = |what: &str| *seen.borrow_mut().entry(what.into()).or_default() += 1;
    let verbs = "name, renew, renew, renew briefly, end, end asked, lose".split(", ");
    let verb = prop::sample::select(verbs.collect::<Vec<_>>());
    let actor =
        prop::sample::select(&["opal", "opal", "relay", "ann", "fixer", "rival", "aude"][..]);
    let fence = prop_oneof![2 => Just(FENCE), 1 => 1..FENCE * 2];
    let steps = prop::collection::vec((actor, verb, fence, 0..30_i64), 1..30);
    explore(4_000, &steps, |steps| {
        let mut play = Play::of("opal start");
        for (actor, verb, fence, pause) in steps {
            play.now += pause;
            let line = format!("{actor} {verb}");
            let before = play.run.clone().unwrap();
            prop_assert_eq!(play.decide(&line, fence), play.decide(&line, fence));
            let cell = play.step(&line, fence);
            let after = play.run.clone().unwrap();

            let refused = cell.starts_with("SAY");
            let carries_fence = !matches!(verb, "name" | "lose");
            prop_assert!(refused || !carries_fence || fence == FENCE, "{} with {}", &line, fence);
            prop_assert!(refused || !matches!(actor, "rival" | "aude"), "{}", &line);
            if before.state == RunState::Running && after.state == RunState::Running {
                prop_assert!(after.lease_until >= before.lease_until, "{}", &line);
            }
            if let RunState::Ended { how, .. } = &after.state {
                let was_late =
                    before.state != RunState::Running || at(play.now) >= before.lease_until;
                prop_assert!(*how != RunEndKind::Lost || was_late, "{}", &line);
                let had_ended = matches!(before.state, RunState::Ended { .. });
                prop_assert!(!had_ended || before.state == after.state, "{}", &line);
            }
            if !refused {
                prop_assert_eq!(play.decide(&line, fence), Ok(vec![]), "again: {}", &line);
            }
            count(if carries_fence && fence != FENCE { "stale" } else { &cell });
        }
        let replayed = play
            .log
            .iter()
            .fold(None, |run: Option<Run>, (event, at)| apply(run, &through_json(event), *at));
        prop_assert_eq!(replayed, play.run);
        Ok(())
    });
    let seen = seen.into_inner();
    for (what, least) in [
        ("stale", 8_000),
        ("renewed", 300),
        ("named", 1_500),
        ("ended", 2_000),
        ("SAY040", 700),
        ("SAY018", 8_000),
    ] {
        let times = seen.get(what).copied().unwrap_or(0);
        assert!(
            times >= least,
            "{what} happened {times} times, too rarely to say anything: {seen:#?}"
        );
    }
}
