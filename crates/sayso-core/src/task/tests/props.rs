//! Property tests of a task: random actors and commands, against a model of a few lines.

use super::{
    CompletionEffect, GateKind, Play, Task, TaskOutcome, TaskStatus, apply, completion,
    expected_status,
};
use crate::Role;
use crate::testing::{explore, through_json, who};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

const ACTORS: &str = "ann, ann, ann, bob, fixer, fixer, opal, adam, relay, aude";
const ASKS: &str =
    "ask input 1, ask approval 2, ask checkpoint 3, ask escalation 4, ask review 5, ask tool 6";
const SETTLES: &str = "yes, yes, no, end";
const OTHERS: &str = "start, start, start, retitle, require review, require nothing, note, undepend, \
                      close, delete, fail, block, defer, reopen, reopen, reopen";

fn one_of(list: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(list.split(", ").collect::<Vec<_>>())
}

/// A second, independent implementation of asking and settling.
#[derive(Default)]
struct Model {
    waits: BTreeMap<String, GateKind>,
    /// The answers since the task last began to wait.
    answers: Vec<(GateKind, bool)>,
}

impl Model {
    /// Updates the model by the outcome of a step; returns the status after a release, if there was one.
    fn hear(&mut self, what: &str, cell: &str, requires: Option<GateKind>) -> Option<TaskStatus> {
        let words: Vec<&str> = what.split(' ').collect();
        match words[..] {
            ["ask", kind, n] if cell == "asked" => {
                self.waits.insert(n.into(), kind.parse().unwrap());
                None
            }
            [verb @ ("yes" | "no" | "end"), n] if cell.starts_with("settled") => {
                let kind = self.waits.remove(n).unwrap();
                let is_other_sign_off = requires.is_some_and(|required| required != kind)
                    && ["approval", "review", "content"].contains(&kind.as_str());
                match verb {
                    "no" => self.answers.push((kind, false)),
                    "yes" if !is_other_sign_off => self.answers.push((kind, true)),
                    _ => {}
                }
                if !self.waits.is_empty() {
                    return None;
                }
                let answers = std::mem::take(&mut self.answers);
                let status = expected_status(&answers);
                cell.contains("released").then_some(if answers.is_empty() {
                    TaskStatus::Open
                } else {
                    status
                })
            }
            // A status set by an actor outweighs the answers so far.
            ["close" | "delete" | "fail" | "block" | "defer" | "reopen"] if cell != "=" => {
                if !cell.starts_with("SAY") {
                    self.answers.clear();
                }
                None
            }
            _ => None,
        }
    }
}

#[test]
fn whatever_is_tried_a_waiting_task_waits_for_a_person() {
    let seen = RefCell::new(BTreeMap::<String, u32>::new());
    let count = |what: &str| *seen.borrow_mut().entry(what.into()).or_default() += 1;
    let verb = prop_oneof![3 => one_of(ASKS), 5 => one_of(SETTLES), 4 => one_of(OTHERS)];
    let steps = prop::collection::vec((one_of(ACTORS), verb, 0..6_usize), 1..40);
    explore(4_000, &(any::<bool>(), steps), |(requires, steps)| {
        let mut model = Model::default();
        let mut play = Play::of(requires.then_some(GateKind::Approval), "");
        for (actor, verb, pick) in steps {
            play.now += 1;
            // The verdict is for one of the open gates, if there are any.
            let n = model.waits.keys().cycle().nth(pick).map_or("9", String::as_str);
            let is_settle = SETTLES.contains(verb);
            let what = if is_settle { format!("{verb} {n}") } else { verb.to_owned() };
            let line = format!("{actor} {what}");
            let before = play.task().clone();
            prop_assert_eq!(play.decide(&line), play.decide(&line), "decided twice: {}", &line);
            let cell = play.step(&line);
            let after = play.task();
            let released_to = model.hear(&what, &cell, before.requires);

            let waits: Vec<GateKind> = model.waits.values().copied().collect();
            let got: Vec<GateKind> = after.waits_for.values().copied().collect();
            prop_assert_eq!(got, waits, "{}", &line);
            if let Some(status) = released_to {
                prop_assert!(
                    is_released(&before, after, status),
                    "{}: {:?} {:?}",
                    &line,
                    before,
                    after
                );
                count(&format!("released {status}"));
            }
            if who(actor).role != Role::Human {
                let ended = !before.status.is_over() && after.status.is_over();
                // The last question may be withdrawn; only a person's answer ends the task.
                let by_answers = before.leaning.is_some() && cell == "settled+released";
                prop_assert!(!ended || !before.is_waiting() || by_answers, "{}", &line);
                prop_assert!(!ended || before.requires.is_none() || by_answers, "{}", &line);
                prop_assert!(before.requires.is_none() || after.requires == before.requires);
                prop_assert!(before.verdict == after.verdict || by_answers, "{}", &line);
                if after.requires.is_some() {
                    prop_assert!(matches!(
                        completion(after, &who("fixer")),
                        CompletionEffect::Opens(_)
                    ));
                }
            }
            prop_assert!(after.fence >= before.fence && after.updated_at >= before.updated_at);
            cell.split('+').for_each(count);
            count(after.status.as_str());
        }
        let replayed = play
            .log
            .iter()
            .fold(None, |task: Option<Task>, (event, at)| apply(task, &through_json(event), *at));
        prop_assert_eq!(&replayed, &play.task);
        prop_assert_eq!(&play.task.as_ref().map(through_json), &play.task);
        Ok(())
    });
    let seen = seen.into_inner();
    for (what, least) in [
        ("asked", 5_000),
        ("settled", 4_000),
        ("released", 2_000),
        ("released closed", 500),
        ("released open", 1_000),
        ("closed", 1_000),
        ("deleted", 500),
        ("started", 1_000),
        ("reopened", 500),
        ("SAY010", 3_000),
        ("SAY018", 1_000),
        ("SAY037", 1_000),
    ] {
        let times = seen.get(what).copied().unwrap_or(0);
        assert!(
            times >= least,
            "{what} happened {times} times, too rarely to say anything: {seen:#?}"
        );
    }
}

/// True if the status after a release is right. Done and abandoned close the task. Otherwise a live run continues, a
/// deferred task stays deferred, and the rest is open; a failed or blocked task may stay so without an answer.
fn is_released(before: &Task, after: &Task, status: TaskStatus) -> bool {
    match (status, before.status) {
        (TaskStatus::Closed, _) => after.status == TaskStatus::Closed,
        (_, TaskStatus::Deferred | TaskStatus::InProgress) => after.status == before.status,
        (_, TaskStatus::Failed | TaskStatus::Blocked) => {
            after.status == TaskStatus::Open || after.status == before.status
        }
        _ => after.status == TaskStatus::Open,
    }
}

/// The order of precedence is tested by itself, because `max` depends on it.
#[test]
fn a_refusal_outweighs_going_on_and_that_outweighs_done() {
    assert!(TaskOutcome::Abandoned > TaskOutcome::Back && TaskOutcome::Back > TaskOutcome::Done);
}
