//! Tests of timers: each fires once, in order, never early.

use super::{Play, check_with, two_of_three};
use crate::gate::{EscalationLevel, GateEnding, GateEvent, GateSchedule, GateSpec, TimerKind};
use crate::testing::{at, explore};
use crate::{Approvers, Risk, TimeoutAction, Verdict};
use proptest::prelude::*;

fn person(name: &str) -> Approvers {
    Approvers::Person(name.into())
}

/// A gate for ann, with reminders at 20 and 40, level bob at 60, the warning at 90 and the deadline at 100.
fn schedule(at_end: TimeoutAction) -> impl Fn(&mut GateSpec) {
    move |rules| {
        rules.approvers = person("ann");
        rules.schedule = GateSchedule {
            remind_at: vec![at(20), at(40)],
            levels: vec![EscalationLevel { at: Some(at(60)), approvers: person("bob") }],
            warn_micros: at(10).as_micros() - at(0).as_micros(),
            period_micros: at(100).as_micros() - at(0).as_micros(),
            at_end,
        };
    }
}

#[test]
fn each_thing_happens_once_in_its_time() {
    check_with(
        schedule(TimeoutAction::Deny),
        "fixer open | relay tick | @19 | relay tick | @20 | relay tick | relay tick | @45 | relay tick | @59 | \
         bob yes | @60 | relay tick | relay tick | @90 | relay tick | relay tick | @99 | relay tick | @100 | \
         relay tick | relay tick",
        &[
            "opened",
            "=",
            "=",
            "reminded",
            "=",
            "reminded",
            "SAY013",
            "escalated",
            "=",
            "warned",
            "=",
            "=",
            "expired",
            "=",
        ],
    );
}

#[test]
fn what_was_missed_is_made_up_for_in_order() {
    check_with(
        schedule(TimeoutAction::Deny),
        "fixer open | @500 | ann yes | relay tick | relay tick",
        &["opened", "SAY003", "reminded+escalated+warned+expired", "="],
    );
    check_with(
        schedule(TimeoutAction::Deny),
        "fixer open | ann yes | @500 | relay tick",
        &["opened", "answered", "="],
    );
}

#[test]
fn what_the_end_means() {
    for (at_end, happens) in [
        (TimeoutAction::Deny, "expired"),
        (TimeoutAction::Fail, "expired"),
        (TimeoutAction::Approve, "expired"),
        (TimeoutAction::Keep, "overdue"),
        (TimeoutAction::Defer, "deferred"),
        // Bob is the last level.
        (TimeoutAction::Escalate, "expired"),
    ] {
        check_with(
            schedule(at_end),
            "fixer open | @95 | relay tick | @100 | relay tick | relay tick",
            &["opened", "reminded+escalated+warned", happens, "="],
        );
    }
}

/// With a level in between, the deadline still counts, even if no timer has fired.
#[test]
fn an_answer_after_the_last_level_is_too_late() {
    check_with(
        schedule(TimeoutAction::Escalate),
        "fixer open | @100 | ann yes | bob yes | relay tick | ann yes",
        &["opened", "SAY003", "SAY013", "reminded+escalated+warned+expired", "SAY003"],
    );
}

#[test]
fn silence_is_a_yes_for_low_risk_only() {
    for (at_end, risk, verdict) in [
        (TimeoutAction::Approve, Risk::Low, Verdict::Approved),
        (TimeoutAction::Approve, Risk::Medium, Verdict::Rejected),
        (TimeoutAction::Approve, Risk::Critical, Verdict::Rejected),
        (TimeoutAction::Deny, Risk::Low, Verdict::Rejected),
        (TimeoutAction::Fail, Risk::Low, Verdict::Rejected),
    ] {
        let mut play = Play::with(|rules| {
            schedule(at_end)(rules);
            rules.risk = risk;
        });
        play.play("fixer open | @100 | relay tick");
        assert_eq!(play.gate().verdict(), Some(verdict), "{at_end:?} {risk:?}");
        assert_eq!(play.gate().answer(), None, "nobody has answered");
        assert!(matches!(play.gate().ending, Some(GateEnding::Expired { .. })));
    }
}

#[test]
fn a_level_without_a_moment_begins_where_the_one_below_ends() {
    let levels = |rules: &mut GateSpec| {
        schedule(TimeoutAction::Escalate)(rules);
        let level = |name| EscalationLevel { at: None, approvers: person(name) };
        rules.schedule.levels = vec![level("bob"), level("cid")];
        rules.schedule.remind_at = vec![];
        rules.schedule.warn_micros = 0;
    };
    check_with(
        levels,
        "fixer open | @100 | bob yes | relay tick | relay tick | cid yes | @199 | relay tick | @200 | relay tick | \
         cid no",
        &["opened", "SAY013", "escalated", "=", "SAY013", "=", "escalated", "answered"],
    );
    // The first approvers may still answer.
    check_with(
        levels,
        "fixer open | @210 | relay tick | ann yes",
        &["opened", "escalated", "answered"],
    );
    check_with(
        levels,
        "fixer open | @100 | relay tick | @200 | relay tick | @300 | ann yes | relay tick",
        &["opened", "escalated", "escalated", "SAY003", "expired"],
    );
}

#[test]
fn what_is_kept_or_put_off_can_still_be_answered() {
    for at_end in [TimeoutAction::Keep, TimeoutAction::Defer] {
        let script = "fixer open | @150 | relay tick | @160 | ann yes";
        let mut play = Play::with(schedule(at_end));
        play.play(script);
        assert!(play.gate().answer().is_some(), "{at_end:?}");
    }
    // A new period starts when the timer fires, so that people have all of it.
    check_with(
        schedule(TimeoutAction::Defer),
        "fixer open | @150 | relay tick | @239 | relay tick | @240 | relay tick | @250 | relay tick",
        &["opened", "reminded+escalated+warned+deferred", "=", "warned", "deferred"],
    );
}

#[test]
fn more_time_is_given_by_those_who_are_asked() {
    check_with(
        schedule(TimeoutAction::Deny),
        "fixer open | fixer extend | bob extend | relay extend | ann extend past | ann extend | ann extend | @899 | \
         relay tick | @900 | ann extend | relay tick",
        &[
            "opened",
            "SAY010",
            "SAY013",
            "SAY010",
            "SAY038",
            "extended",
            "=",
            "reminded+escalated+warned",
            "SAY003",
            "expired",
        ],
    );
}

#[test]
fn nobody_is_reminded_of_what_they_put_off() {
    check_with(
        |rules| {
            schedule(TimeoutAction::Deny)(rules);
            rules.schedule.levels = vec![];
            rules.deadline = None;
            rules.schedule.remind_at = vec![at(20), at(600)];
        },
        "fixer open | ann snooze | @30 | relay tick | @500 | relay tick | @600 | relay tick",
        &["opened", "snoozed", "=", "woken", "reminded"],
    );
}

#[test]
fn what_was_put_off_is_brought_back_by_putting_it_off_until_now() {
    check_with(
        schedule(TimeoutAction::Deny),
        "fixer open | ann snooze past | ann snooze | bob snooze past | ann snooze past | ann snooze past | @20 | \
         relay tick | relay tick",
        &["opened", "SAY038", "snoozed", "SAY013", "snoozed", "SAY038", "reminded", "="],
    );
}

/// The rejection of a person with a veto counts, the approval does not.
#[test]
fn a_veto_ends_it_and_opens_nothing() {
    let with_veto = |rules: &mut GateSpec| {
        rules.approvers = two_of_three();
        rules.veto = ["dan".to_owned()].into();
    };
    check_with(with_veto, "fixer open | ann yes | dan no", &["opened", "voted", "answered"]);
    check_with(with_veto, "fixer open | ann yes | dan yes", &["opened", "voted", "SAY013"]);
    check_with(with_veto, "fixer open | fixer no", &["opened", "SAY010"]);
    check_with(
        |rules| rules.approvers = two_of_three(),
        "fixer open | dan no",
        &["opened", "SAY013"],
    );
}

/// For any schedule and any times of firing: no timer is early, each level fires once and in order, no due timer is
/// left, and no event follows the end.
#[test]
fn time_is_kept_whoever_looks_whenever() {
    let at_end = prop::sample::select(TimeoutAction::ALL.to_vec());
    let moments = || prop::collection::btree_set(1..300_i64, 0..4);
    let looks = prop::collection::vec(1..60_i64, 1..30);
    let all = (at_end, moments(), moments(), 0..80_i64, 1..200_i64, looks);
    explore(2_000, &all, |(at_end, reminders, levels, warn, deadline, looks)| {
        let micros = |n: i64| at(n).as_micros() - at(0).as_micros();
        let mut play = Play::with(|rules| {
            rules.deadline = Some(at(deadline));
            rules.schedule = GateSchedule {
                remind_at: reminders.iter().map(|n| at(*n)).collect(),
                levels: levels
                    .iter()
                    .map(|n| EscalationLevel { at: Some(at(*n)), approvers: person("bob") })
                    .collect(),
                warn_micros: micros(warn),
                period_micros: micros(50),
                at_end,
            };
        });
        play.now = 0;
        play.play("fixer open");
        for pause in looks {
            play.now += pause;
            let due = play.gate().next_due();
            let before = play.log.len();
            play.step("relay tick");
            let fired = play.log.len() > before;
            prop_assert_eq!(fired, due.is_some_and(|(when, _)| when <= at(play.now)));
            prop_assert!(play.gate().next_due().is_none_or(|(when, _)| when > at(play.now)));
            prop_assert_eq!(play.decide("relay tick"), Ok(vec![]));
        }
        let reached: Vec<u32> = play
            .log
            .iter()
            .filter_map(|(event, _)| match event {
                GateEvent::Escalated { level, .. } => Some(*level),
                _ => None,
            })
            .collect();
        prop_assert!(reached.iter().copied().eq(1..=reached.len() as u32), "{:?}", reached);
        prop_assert!(reached.len() <= levels.len());
        for (event, when) in &play.log {
            let is_early = match event {
                GateEvent::Reminded => reminders.iter().all(|n| at(*n) > *when),
                GateEvent::Expired { .. } | GateEvent::Overdue | GateEvent::Deferred { .. } => {
                    at(deadline) > *when
                }
                _ => false,
            };
            prop_assert!(!is_early, "{:?} at {:?}", event, when);
        }
        let ends =
            play.log.iter().position(|(event, _)| matches!(event, GateEvent::Expired { .. }));
        prop_assert!(ends.is_none_or(|place| place == play.log.len() - 1));
        Ok(())
    });
}

#[test]
fn what_comes_first_at_one_moment() {
    let mut play = Play::with(|rules| {
        schedule(TimeoutAction::Deny)(rules);
        rules.schedule.remind_at = vec![at(60)];
        rules.deadline = Some(at(60));
        rules.schedule.warn_micros = 0;
    });
    play.play("fixer open");
    assert_eq!(play.gate().next_due(), Some((at(60), TimerKind::Remind)));
    play.play("@60 | relay tick");
    let names: Vec<_> = play.log.iter().map(|(event, _)| event.name()).collect();
    assert_eq!(names, ["gate.opened", "gate.reminded", "gate.escalated", "gate.expired"]);
}
