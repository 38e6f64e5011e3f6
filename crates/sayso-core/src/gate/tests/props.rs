//! Property tests of a gate: random actors, commands and times, against a model of a few lines.

use super::{
    DeliveryState, Gate, GateCommand, GateEnding, GateEvent, GateSpec, Play, apply, decide, opened,
    two_of_three,
};
use crate::testing::{at, explore, through_json, who};
use crate::{Approvers, Code, IdentityProof, Role};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const PEOPLE: &str = "ann, bob, cid, dan, lea";
const PROGRAMS: &str = "fixer, rival, opal, adam, aude, relay";
const VERBS: &str = "open, open other, revise same, revise, see, claim, release, snooze, remind, escalate, \
                     yes, yes but, yes stale, no, tick, withdraw, supersede, deliver, acknowledge, \
                     fail delivery";
/// Commands that are not idempotent. Any other one may be repeated without effect.
const COUNTED: &str = "remind, escalate, fail delivery";

fn one_of(list: &'static str) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(list.split(", ").collect::<Vec<_>>())
}

type Step = (&'static str, &'static str, i64);

fn steps() -> impl Strategy<Value = (GateSpec, Vec<Step>)> {
    let actor = prop_oneof![
        3 => one_of(PEOPLE),
        2 => one_of(PROGRAMS),
        1 => Just("fixer"),
    ];
    let verb = prop_oneof![
        3 => one_of(VERBS),
        1 => one_of("yes, no, acknowledge"),
    ];
    let first =
        prop_oneof![4 => Just("fixer"), 1 => actor.clone()].prop_map(|name| (name, "open", 0));
    let rules = (any::<bool>(), 0..4, any::<bool>(), any::<bool>());
    let rest = prop::collection::vec((actor, verb, 0..4_i64), 1..30);
    (rules, first, rest).prop_map(|((quorum, strict, excluded, hurry), first, mut steps)| {
        let rules = GateSpec {
            approvers: if quorum { two_of_three() } else { Approvers::Anyone },
            least_proof: if strict == 0 { IdentityProof::Passphrase } else { IdentityProof::Tty },
            launcher_excluded: excluded,
            deadline: hurry.then(|| at(20)),
            ..opened(&who("fixer"))
        };
        steps.insert(0, first);
        (rules, steps)
    })
}

/// A second, independent implementation of the rules.
#[derive(Default)]
struct Model {
    asker: Option<&'static str>,
    ending: &'static str,
    votes: BTreeMap<&'static str, &'static str>,
    revised: bool,
    delivery: &'static str,
}

impl Model {
    /// Returns the state of the gate and of its delivery after a step.
    fn step(
        &mut self,
        rules: &GateSpec,
        (actor, verb, _): Step,
        now: i64,
    ) -> (&'static str, &'static str) {
        if self.asker.is_none() && verb.starts_with("open") && actor != "aude" {
            (self.asker, self.ending) = (Some(actor), "open");
        } else if self.asker.is_some() && self.ending == "open" {
            self.while_open(rules, actor, verb, now);
        } else if self.asker.is_some() {
            self.after_the_end(actor, verb);
        }
        (self.ending, self.delivery)
    }

    fn while_open(&mut self, rules: &GateSpec, actor: &'static str, verb: &'static str, now: i64) {
        let is_late = rules.deadline.is_some_and(|deadline| at(now) >= deadline);
        let one_of_two = rules.approvers != Approvers::Anyone;
        let is_approver = PEOPLE.contains(actor)
            && !(one_of_two && ["dan", "lea"].contains(&actor))
            && !(rules.launcher_excluded && actor == "lea" && self.was_launched())
            && rules.least_proof == IdentityProof::Tty;
        let is_asker = self.asker == Some(actor);
        match verb {
            "revise" if is_asker && !is_late && !self.revised => {
                self.revised = true;
                self.votes.clear();
            }
            "revise same" if is_asker && !is_late && self.revised => {
                self.revised = false;
                self.votes.clear();
            }
            "no" if is_approver && !is_late => self.end("answered"),
            "yes" | "yes but" if is_approver && !is_late => {
                self.votes.insert(actor, verb);
                let agreed = self.votes.values().filter(|said| **said == verb).count();
                if !one_of_two || agreed == 2 {
                    self.end("answered");
                }
            }
            "tick" if is_late && actor != "aude" => self.end("expired"),
            "withdraw" if is_asker || is_approver => self.end("withdrawn"),
            "supersede" if is_asker => self.end("superseded"),
            _ => {}
        }
    }

    fn after_the_end(&mut self, actor: &str, verb: &str) {
        let is_other_agent = ["fixer", "rival"].contains(&actor) && self.asker != Some(actor);
        if actor == "aude" || is_other_agent || self.delivery == "acknowledged" {
            return;
        }
        match verb {
            "deliver" => self.delivery = "delivered",
            "acknowledge" => self.delivery = "acknowledged",
            "fail delivery" => self.delivery = "failed",
            _ => {}
        }
    }

    fn end(&mut self, how: &'static str) {
        (self.ending, self.delivery) = (how, "pending");
    }

    fn was_launched(&self) -> bool {
        matches!(self.asker, Some("fixer" | "rival"))
    }
}

fn may_follow(before: &DeliveryState, after: &DeliveryState) -> bool {
    use DeliveryState::{Acknowledged, Delivered, Failed, None, Pending};
    match (before, after) {
        _ if before == after => true,
        (None, Pending { .. }) => true,
        (
            Pending { .. } | Failed { .. },
            Delivered { .. } | Failed { .. } | Acknowledged { .. },
        ) => true,
        (Delivered { .. }, Failed { .. } | Acknowledged { .. }) => true,
        _ => false,
    }
}

#[test]
fn whatever_is_tried_a_gate_ends_once_and_by_a_person() {
    let seen = RefCell::new(BTreeMap::<String, u32>::new());
    let count = |what: &str| *seen.borrow_mut().entry(what.into()).or_default() += 1;
    explore(5_000, &steps(), |(rules, steps)| {
        let mut model = Model::default();
        let mut play = Play::with(|r| *r = rules.clone());
        for step @ (actor, verb, pause) in steps {
            play.now += pause;
            let line = format!("{actor} {verb}");
            let before = play.gate.clone();
            let logged = play.log.len();
            let outcome = play.decide(&line);
            prop_assert_eq!(&outcome, &play.decide(&line), "decided twice: {}", &line);
            play.step(&line);

            let (state, delivery) = model.step(&rules, step, play.now);
            let got = play.gate.as_ref().map_or(("", ""), |g| match g.delivery {
                DeliveryState::None => (g.state(), ""),
                _ => (g.state(), g.delivery.as_str()),
            });
            prop_assert_eq!(got, (state, delivery), "{} at {}", &line, play.now);

            if let (Some(before), Some(after)) = (&before, &play.gate) {
                prop_assert!(before.is_open() || before.ending == after.ending, "{}", &line);
                prop_assert!(may_follow(&before.delivery, &after.delivery), "{}", &line);
            }
            for (event, _) in &play.log[logged..] {
                let is_verdict =
                    matches!(event, GateEvent::Answered { .. } | GateEvent::Voted { .. });
                prop_assert!(!is_verdict || who(actor).role == Role::Human, "{}", &line);
                count(event.name());
            }
            match &outcome {
                Err(refusal) => count(refusal.code.as_str()),
                Ok(_) if !COUNTED.contains(verb) => {
                    prop_assert_eq!(play.decide(&line), Ok(vec![]), "again: {}", &line);
                    count("said again");
                }
                Ok(_) => {}
            }
        }
        let endings = play.log.iter().filter(|(e, _)| is_ending(e)).count();
        prop_assert!(endings <= 1);
        let replayed = play
            .log
            .iter()
            .fold(None, |gate: Option<Gate>, (event, at)| apply(gate, &through_json(event), *at));
        prop_assert_eq!(&replayed, &play.gate);
        prop_assert_eq!(&play.gate.as_ref().map(through_json), &play.gate);
        Ok(())
    });
    let seen = seen.into_inner();
    for (what, least) in [
        ("gate.opened", 4_500),
        ("gate.voted", 250),
        ("gate.answered", 800),
        ("gate.expired", 150),
        ("gate.withdrawn", 400),
        ("gate.superseded", 150),
        ("gate.revised", 120),
        ("gate.acknowledged", 800),
        ("gate.delivery_failed", 250),
        ("said again", 10_000),
        (Code::NotHuman.as_str(), 8_000),
        (Code::AlreadyAnswered.as_str(), 2_000),
        (Code::Stale.as_str(), 150),
        (Code::ProofTooLow.as_str(), 1_000),
        (Code::NotAnApprover.as_str(), 1_500),
        (Code::Clash.as_str(), 2_000),
        (Code::NotWaiting.as_str(), 2_000),
    ] {
        let times = seen.get(what).copied().unwrap_or(0);
        assert!(
            times >= least,
            "{what} happened {times} times, too rarely to say anything: {seen:#?}"
        );
    }
}

fn is_ending(event: &GateEvent) -> bool {
    matches!(
        event,
        GateEvent::Answered { .. }
            | GateEvent::Expired { .. }
            | GateEvent::Withdrawn { .. }
            | GateEvent::Superseded { .. }
    )
}

/// Many people answer at the same time; each sees the gate as the others left it. One answer counts, and the others
/// are told whose.
#[test]
fn of_many_racers_one_wins() {
    let racers = prop::collection::vec((one_of(PEOPLE), any::<bool>()), 2..64);
    explore(200, &racers, |racers| {
        let mut play = Play::with(|_| {});
        play.play("fixer open");
        let mut winners = BTreeSet::new();
        for (name, yes) in racers {
            let line = format!("{name} {}", if yes { "yes" } else { "no" });
            match play.decide(&line) {
                Ok(events) if events.is_empty() => prop_assert!(winners.contains(&line)),
                Ok(_) => prop_assert!(winners.insert(line.clone())),
                Err(refusal) => {
                    let Some(GateEnding::Answered { by, .. }) = &play.gate().ending else {
                        panic!("refused while open: {refusal}")
                    };
                    let names_winner = refusal.message.ends_with(&format!("by {}", by.name));
                    prop_assert!(names_winner, "{}", refusal);
                }
            }
            play.step(&line);
        }
        prop_assert_eq!(winners.len(), 1);
        Ok(())
    });
}

/// A command for a gate that does not exist opens nothing.
#[test]
fn nothing_but_open_makes_a_gate() {
    for verb in VERBS.split(", ").filter(|v| !v.starts_with("open")) {
        let play = Play::with(|_| {});
        let command: GateCommand = play.command(verb, &who("ann"));
        let code = decide(None, &command, &who("ann"), at(10)).err().map(|r| r.code);
        assert_eq!(code, Some(Code::NotFound), "{verb}");
    }
}
