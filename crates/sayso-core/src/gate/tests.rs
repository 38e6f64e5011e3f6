//! Tests of gates as scripts of people, agents and timers: `fixer open | ann yes | bob no`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod props;
mod same;
mod time;
mod voices;
mod way;

use super::*;
use crate::testing::{ONE_OF_EACH_ROLE, Row, at, cell, page, space, task_id, through_json, who};
use crate::{Actor, AnswerContent, Approvers, Code, GateKind, IdentityProof, Refusal, Role};

/// The deadline of every gate here, unless the test sets another.
const DEADLINE: i64 = 100;

fn card(question: &str) -> Card {
    Card {
        question: question.into(),
        narrative: "the tests are green".into(),
        facts: vec![CardFact {
            name: "to".into(),
            value: serde_json::json!({"id": u64::MAX, "rate": 0.5}),
            verified: true,
        }],
        shape: AnswerShape::Verdict,
    }
}

fn opened(asker: &Actor) -> GateSpec {
    let id = GateId::mint(at(0), 1);
    let (task, deadline) = (Some(task_id(1)), Some(at(DEADLINE)));
    // A tool call, because its approval may change the arguments.
    let kind = GateKind::Tool;
    let opened = GateSpec::new(id, space(), "g0001", kind, card("Ship it?"), asker.lineage());
    GateSpec { task, deadline, ..opened }
}

fn two_of_three() -> Approvers {
    let of = ["ann", "bob", "cid"].map(|name| Approvers::Person(name.into())).into();
    Approvers::Some { least: 2, of }
}

/// A gate that a script drives, with its log.
struct Play {
    /// The parameters for `open`, apart from the lineage, which is the opener's.
    rules: GateSpec,
    gate: Option<Gate>,
    now: i64,
    log: Vec<(GateEvent, Timestamp)>,
    /// Pairs of a person and the person who introduced them.
    introductions: Vec<Introduction>,
}

impl Play {
    fn with(change: impl FnOnce(&mut GateSpec)) -> Self {
        let mut rules = opened(&who("fixer"));
        change(&mut rules);
        Self { rules, gate: None, now: 10, log: vec![], introductions: vec![] }
    }

    /// Runs `ann yes`, `@100` or several of them separated by `|`; returns the outcome of each.
    fn play(&mut self, script: &str) -> Vec<String> {
        let mut cells = vec![];
        for step in script.split('|').map(str::trim) {
            match step.strip_prefix('@') {
                Some(time) => self.now = time.parse().unwrap(),
                None => cells.push(self.step(step)),
            }
        }
        cells
    }

    fn step(&mut self, step: &str) -> String {
        let outcome = self.decide(step);
        for event in outcome.iter().flatten() {
            self.gate = apply(self.gate.take(), event, at(self.now));
            self.log.push((event.clone(), at(self.now)));
        }
        cell(&outcome, GateEvent::name)
    }

    fn decide(&self, step: &str) -> Result<Vec<GateEvent>, Refusal> {
        let (name, verb) = step.split_once(' ').unwrap();
        // `bob+ann` is bob as the deputy of ann.
        let mut names = name.split('+');
        let actor = who(names.next().unwrap());
        let stands_for = names.map(|name| Absentee { name: name.into(), proof: actor.proof });
        let introductions = self.introductions.clone();
        let actor = Actor { stands_for: stands_for.collect(), introductions, ..actor.clone() };
        decide(self.gate.as_ref(), &self.command(verb, &actor), &actor, at(self.now))
    }

    fn command(&self, verb: &str, actor: &Actor) -> GateCommand {
        let digest = self.gate.as_ref().map_or(String::new(), |g| g.digest.to_string());
        let mine = GateSpec { lineage: actor.lineage(), ..self.rules.clone() };
        let answer =
            |answer: Answer, digest: &str| GateCommand::Answer { answer, digest: digest.into() };
        let no = Answer::rejected(Some("not yet".into()));
        match verb {
            "open" => GateCommand::Open(Box::new(mine)),
            "open other" => {
                GateCommand::Open(Box::new(GateSpec { card: card("Delete it?"), ..mine }))
            }
            "revise same" => GateCommand::Revise(card("Ship it?")),
            "revise" => GateCommand::Revise(card("Ship it now?")),
            "see" => GateCommand::MarkSeen { digest },
            "see stale" => GateCommand::MarkSeen { digest: "0".repeat(64) },
            "claim" => GateCommand::Claim { until: at(500) },
            "claim past" => GateCommand::Claim { until: at(0) },
            "release" => GateCommand::Release,
            "snooze" => GateCommand::Snooze { until: at(500) },
            "snooze past" => GateCommand::Snooze { until: at(0) },
            "remind" => GateCommand::Remind,
            "escalate" => GateCommand::Escalate,
            "yes" => answer(Answer::approved(), &digest),
            "yes but" => {
                let content = AnswerContent::Arguments(serde_json::json!({"force": false}));
                answer(Answer { content, ..Answer::approved() }, &digest)
            }
            "yes stale" => answer(Answer::approved(), &"0".repeat(64)),
            "no" => answer(no, &digest),
            "tick" => GateCommand::Tick,
            "extend" => GateCommand::Extend { until: at(900) },
            "extend past" => GateCommand::Extend { until: at(0) },
            "withdraw" => GateCommand::Withdraw { reason: "not needed".into() },
            "supersede" => GateCommand::Supersede { by: GateId::mint(at(0), 2) },
            "supersede itself" => GateCommand::Supersede { by: GateId::mint(at(0), 1) },
            "deliver" => GateCommand::Deliver,
            "acknowledge" => GateCommand::Acknowledge,
            "fail delivery" => GateCommand::FailDelivery { why: "agent did not start".into() },
            _ => match verb.split_once(' ') {
                Some(("delegate", to)) => {
                    GateCommand::Delegate { to: to.into(), reason: String::new() }
                }
                Some(("drop", of)) => GateCommand::DropVotes { of: of.into() },
                _ => panic!("{verb:?} is no verb"),
            },
        }
    }

    fn gate(&self) -> &Gate {
        self.gate.as_ref().unwrap()
    }
}

/// Returns a gate as one line.
fn in_words(gate: Option<&Gate>) -> String {
    let Some(gate) = gate else { return "absent".into() };
    let mut words = vec![gate.state().to_owned()];
    words.extend((!gate.is_open()).then(|| gate.delivery.as_str().into()));
    words.extend((gate.revision > 1).then(|| format!("revision {}", gate.revision)));
    words.extend(gate.seen.last().map(|s| format!("seen by {}", s.by)));
    words.extend(gate.claim.as_ref().map(|c| format!("claimed by {}", c.by)));
    words.extend(gate.snoozed_until.map(|_| "snoozed".into()));
    words.extend((gate.reminders > 0).then(|| format!("reminded {}", gate.reminders)));
    words.extend((gate.escalation > 0).then(|| format!("level {}", gate.escalation)));
    words.extend(gate.votes.iter().map(|v| format!("vote of {}", v.by.name)));
    words.join(", ")
}

fn check(script: &str, expected: &[&str]) {
    check_with(|_| {}, script, expected);
}

fn check_with(change: impl FnOnce(&mut GateSpec), script: &str, expected: &[&str]) {
    assert_eq!(Play::with(change).play(script), expected, "{script}");
}

#[test]
fn the_gate_on_a_page() {
    let actors = ["fixer", "rival", "ann", "bob", "opal", "adam", "relay", "aude"];
    let states = [
        ("absent", "@10"),
        ("open", "fixer open"),
        ("seen by ann", "fixer open | ann see"),
        ("claimed by ann", "fixer open | ann claim"),
        ("snoozed", "fixer open | ann snooze"),
        ("one of two yeses: ann's", "fixer open | ann yes"),
        ("past its deadline", "fixer open | @100"),
        ("answered, pending", "fixer open | ann yes"),
        ("answered, delivered", "fixer open | ann yes | fixer deliver"),
        ("answered, acknowledged", "fixer open | ann yes | fixer acknowledge"),
        ("answered, delivery failed", "fixer open | ann yes | opal fail delivery"),
        ("expired", "fixer open | @100 | relay tick"),
        ("withdrawn", "fixer open | fixer withdraw"),
        ("superseded", "fixer open | fixer supersede"),
    ];
    let verbs = "open, open other, see stale, see, claim past, snooze past, claim, snooze, release, remind, \
                 escalate, yes stale, yes, yes but, no, withdraw, tick, revise same, revise, \
                 extend past, extend, supersede itself, supersede, deliver, acknowledge, fail delivery";
    let section = |(state, script): (&str, &str)| {
        let play = || {
            let mut play = Play::with(|rules| {
                if state.contains("yeses") {
                    rules.approvers = two_of_three();
                }
            });
            play.play(script);
            play
        };
        let rows = verbs.split(", ").map(|verb| {
            let mut row = Row { command: verb.into(), cells: vec![], becomes: vec![] };
            for actor in actors {
                let mut play = play();
                let cell = play.step(&format!("{actor} {verb}"));
                let changed = cell != "=" && !cell.starts_with("SAY");
                row.becomes.extend(changed.then(|| in_words(play.gate.as_ref())));
                row.cells.push(cell);
            }
            row
        });
        (format!("{state}: {}", in_words(play().gate.as_ref())), rows.collect())
    };
    insta::assert_snapshot!("gate", page(&actors, states.into_iter().map(section).collect()));
}

#[test]
fn only_a_person_decides() {
    for name in ONE_OF_EACH_ROLE {
        for verb in ["yes", "no", "claim", "snooze", "release", "withdraw"] {
            let mut play = Play::with(|_| {});
            // Asked by another agent, so that no actor here withdraws a question of its own.
            play.play("rival open");
            let code = play.decide(&format!("{name} {verb}")).err().map(|r| r.code);
            let expected = (who(name).role != Role::Human).then_some(Code::NotHuman);
            assert_eq!(code, expected, "{name} {verb}");
        }
    }
}

#[test]
fn a_verdict_needs_the_proof_the_gate_asks_for() {
    use IdentityProof::{None, Passphrase, Presence, Token, Tty, TwoPeople};
    let proofs = [None, Token, Tty, Passphrase, Presence, TwoPeople];
    for least in proofs {
        for proof in proofs {
            let mut play = Play::with(|rules| rules.least_proof = least);
            play.play("fixer open");
            let ann = Actor { proof, ..who("ann") };
            for verb in ["yes", "no", "withdraw"] {
                let command = play.command(verb, &ann);
                let code = decide(play.gate.as_ref(), &command, &ann, at(10)).err().map(|r| r.code);
                let expected = (proof < least).then_some(Code::ProofTooLow);
                assert_eq!(code, expected, "{verb} with {proof:?} where {least:?} is needed");
            }
        }
    }
}

#[test]
fn who_launched_the_agent_is_left_out_where_that_is_the_rule() {
    let excluded = |rules: &mut GateSpec| rules.launcher_excluded = true;
    check("fixer open | lea yes", &["opened", "answered"]);
    check_with(
        excluded,
        "fixer open | lea yes | lea withdraw | lea claim | ann yes",
        &["opened", "SAY013", "SAY013", "SAY013", "answered"],
    );
}

#[test]
fn an_agent_cannot_ask_in_another_name() {
    let forge = |change: fn(&mut GateSpec)| {
        let mut forged = opened(&who("fixer"));
        change(&mut forged);
        let command = GateCommand::Open(Box::new(forged));
        decide(None, &command, &who("fixer"), at(10)).err().map(|r| r.code)
    };
    assert_eq!(forge(|_| {}), None);
    assert_eq!(forge(|o| o.lineage.launcher = None), Some(Code::NotAllowed));
    assert_eq!(forge(|o| o.lineage.role = Role::Human), Some(Code::NotAllowed));
    assert_eq!(forge(|o| o.lineage = who("rival").lineage()), Some(Code::NotAllowed));
    // A worker finds the question in the agent's output and opens the gate for it.
    let for_fixer = GateCommand::Open(Box::new(opened(&who("fixer"))));
    assert!(decide(None, &for_fixer, &who("opal"), at(10)).is_ok());
}

#[test]
fn only_those_it_is_for_may_answer_claim_or_put_it_off() {
    let for_ann = |rules: &mut GateSpec| rules.approvers = Approvers::Person("ann".into());
    check_with(
        for_ann,
        "fixer open | bob yes | bob no | bob claim | bob snooze | bob withdraw | ann yes",
        &["opened", "SAY013", "SAY013", "SAY013", "SAY013", "SAY013", "answered"],
    );
}

#[test]
fn what_nobody_could_answer_is_not_asked() {
    for approvers in [
        Approvers::All(vec![]),
        Approvers::Some { least: 0, of: vec![Approvers::Anyone] },
        Approvers::Some { least: 2, of: vec![Approvers::Person("ann".into())] },
    ] {
        check_with(|rules| rules.approvers = approvers, "fixer open", &["SAY038"]);
    }
    let only_launcher = |rules: &mut GateSpec| {
        (rules.approvers, rules.launcher_excluded) = (Approvers::Person("lea".into()), true);
    };
    check_with(only_launcher, "fixer open", &["SAY038"]);
}

#[test]
fn cards_out_of_bounds_are_refused() {
    let choice = AnswerShape::Choice { options: vec![], multi: false, other: false };
    let fact = CardFact { name: "n".into(), value: serde_json::Value::Null, verified: false };
    for (name, card, expected) in [
        ("empty", card(" \n"), Code::BadValue),
        ("long", card(&"x".repeat(CARD_BYTES_MAX)), Code::TooLarge),
        ("many facts", Card { facts: vec![fact; FACTS_MAX + 1], ..card("?") }, Code::TooLarge),
        ("no options", Card { shape: choice, ..card("?") }, Code::BadValue),
    ] {
        let mut play = Play::with(|_| {});
        let open = GateSpec { card: card.clone(), ..opened(&who("fixer")) };
        let fixer = who("fixer");
        let opening = decide(None, &GateCommand::Open(Box::new(open)), &fixer, at(10));
        play.play("fixer open");
        let revising = decide(play.gate.as_ref(), &GateCommand::Revise(card), &fixer, at(10));
        for outcome in [opening, revising] {
            assert_eq!(outcome.err().map(|r| r.code), Some(expected), "{name}");
        }
    }
}

#[test]
fn the_first_answer_wins_and_the_next_one_is_told_who() {
    check(
        "fixer open | ann yes | ann yes | bob yes | ann no | bob no",
        &["opened", "answered", "=", "SAY004", "SAY004", "SAY004"],
    );
    let mut play = Play::with(|_| {});
    play.play("fixer open | ann yes");
    let refusal = play.decide("bob no").unwrap_err();
    assert_eq!(refusal.message, "gate g0001 is already answered: approved by ann");
}

#[test]
fn what_would_be_done_is_worded_by_nobody() {
    let held = DeferredAction::Lifecycle { action: LifecycleAction::Spawn, agent: "fixer".into() };
    let mut play = Play::with(|opened| opened.held = Some(held));
    play.play("fixer open");
    assert_eq!(play.decide("fixer revise").unwrap_err().code, Code::NotAllowed);
    assert_eq!(play.gate().revision, 1);
}

#[test]
fn a_verdict_binds_to_what_was_shown() {
    let mut play = Play::with(|_| {});
    play.play("fixer open");
    let shown_first = play.gate().digest.clone();
    play.play("fixer revise");
    let shown_now = play.gate().digest.clone();
    assert_ne!(shown_first, shown_now);
    let too_short = &shown_now.as_str()[..8];
    for (digest, expected) in [
        (shown_first.as_str(), Some(Code::Stale)),
        (shown_first.short(), Some(Code::Stale)),
        ("", Some(Code::Stale)),
        (too_short, Some(Code::Stale)),
        ("ééééééééé", Some(Code::Stale)),
        (shown_now.as_str(), None),
        (shown_now.short(), None),
        (&shown_now.as_str().to_uppercase(), None),
    ] {
        let command = GateCommand::Answer { answer: Answer::approved(), digest: digest.into() };
        let outcome = decide(play.gate.as_ref(), &command, &who("ann"), at(10));
        assert_eq!(outcome.err().map(|r| r.code), expected, "{digest:?}");
    }
}

#[test]
fn every_rule_of_a_verdict_is_in_the_digest() {
    let plain = opened(&who("fixer"));
    let digest = |o: &GateSpec| o.digest(&o.card, 1);
    let changes: [fn(&mut GateSpec); 8] = [
        |o| o.id = GateId::mint(at(0), 9),
        |o| o.kind = GateKind::Review,
        |o| o.task = None,
        |o| o.card.narrative.push('!'),
        |o| o.card.facts[0].value["id"] = (u64::MAX - 1).into(),
        |o| o.approvers = two_of_three(),
        |o| o.least_proof = IdentityProof::Presence,
        |o| o.launcher_excluded = true,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut changed = plain.clone();
        change(&mut changed);
        assert_ne!(digest(&changed), digest(&plain), "change {n}");
    }
    assert_ne!(plain.digest(&plain.card, 2), digest(&plain));
}

#[test]
fn an_answer_in_time_counts_and_a_late_one_does_not() {
    check(
        "fixer open | @99 | relay tick | ann yes | @100 | relay tick",
        &["opened", "=", "answered", "="],
    );
    check(
        "fixer open | @100 | ann yes | ann no | relay tick | relay tick | ann yes",
        &["opened", "SAY003", "SAY003", "expired", "=", "SAY003"],
    );
    check_with(
        |rules| rules.deadline = None,
        "fixer open | @9999 | relay tick | ann yes",
        &["opened", "=", "answered"],
    );
}

#[test]
fn several_yeses_open_it_and_one_no_closes_it() {
    let play = |script| {
        let mut play = Play::with(|rules| rules.approvers = two_of_three());
        let cells = play.play(script);
        (cells.join(" "), in_words(play.gate.as_ref()))
    };
    for (script, cells, state) in [
        ("fixer open | ann yes | ann yes", "opened voted =", "open, vote of ann"),
        ("fixer open | ann yes | dan yes", "opened voted SAY013", "open, vote of ann"),
        (
            "fixer open | ann yes | bob no",
            "opened voted answered",
            "answered, pending, vote of ann",
        ),
        // Approvals of different content do not add up; a person may change their vote.
        (
            "fixer open | ann yes | bob yes but",
            "opened voted voted",
            "open, vote of ann, vote of bob",
        ),
        ("fixer open | ann yes | ann yes but", "opened voted voted", "open, vote of ann"),
        // A vote does not count for a later card.
        ("fixer open | ann yes | fixer revise", "opened voted revised", "open, revision 2"),
        (
            "fixer open | ann yes | fixer revise | bob yes | ann yes",
            "opened voted revised voted answered",
            "answered, pending, revision 2, vote of bob",
        ),
        // Ann repeats her vote because the reply was lost: it is accepted, as it agrees with the answer that counts.
        (
            "fixer open | ann yes | bob yes | ann yes",
            "opened voted answered =",
            "answered, pending, vote of ann",
        ),
        (
            "fixer open | ann yes | bob no | ann yes",
            "opened voted answered SAY004",
            "answered, pending, vote of ann",
        ),
        (
            "fixer open | ann yes | bob yes | cid yes",
            "opened voted answered SAY004",
            "answered, pending, vote of ann",
        ),
    ] {
        assert_eq!(play(script), (cells.into(), state.into()), "{script}");
    }
}

#[test]
fn asking_again_is_the_same_question_or_a_clash() {
    for state in ["@10", "fixer revise", "ann yes", "fixer withdraw", "@100 | relay tick"] {
        let mut play = Play::with(|_| {});
        play.play(&format!("fixer open | {state}"));
        let again = play.play("fixer open | fixer open other | rival open | ann open");
        assert_eq!(again, ["=", "SAY030", "SAY030", "SAY030"], "{state}");
    }
    let mut play = Play::with(|_| {});
    play.play("fixer open");
    let elsewhere = GateSpec { space: crate::SpaceId::mint(at(0), 2), ..opened(&who("fixer")) };
    let outcome =
        decide(play.gate.as_ref(), &GateCommand::Open(Box::new(elsewhere)), &who("fixer"), at(10));
    assert_eq!(outcome.err().map(|r| r.code), Some(Code::Clash));
    // The desk assigns the handle, and a deadline counts from now: a retry may bring others.
    let retry = GateSpec { handle: "g1".into(), deadline: None, ..opened(&who("fixer")) };
    let outcome =
        decide(play.gate.as_ref(), &GateCommand::Open(Box::new(retry)), &who("fixer"), at(10));
    assert_eq!(outcome, Ok(vec![]));
}

#[test]
fn every_failed_handing_over_is_counted() {
    let mut play = Play::with(|_| {});
    play.play("fixer open | ann yes");
    for attempts in 1..=3 {
        play.play("opal deliver | opal fail delivery");
        let DeliveryState::Failed { attempts: counted, .. } = play.gate().delivery else {
            panic!("{:?}", play.gate().delivery)
        };
        assert_eq!(counted, attempts);
    }
    assert_eq!(play.play("fixer acknowledge"), ["delivered+acknowledged"]);
}

#[test]
fn what_each_event_makes_the_world_do() {
    let mut play = Play::with(|_| {});
    let mut heard = vec![];
    for step in "fixer open|relay remind|relay escalate|relay remind|ann see|ann yes|opal deliver"
        .split('|')
    {
        play.play(step);
        heard.push(effects(play.gate(), &play.log.last().unwrap().0));
    }
    use crate::NoticeReason::{Asked, Escalated, Reminded};
    let notify = |level, reminder, occasion| vec![GateEffect::Notify { level, reminder, occasion }];
    let settled = vec![GateEffect::Retract, GateEffect::Deliver];
    let expected = [
        notify(0, 0, Asked),
        notify(0, 1, Reminded),
        notify(1, 0, Escalated),
        notify(1, 1, Reminded),
        vec![],
        settled.clone(),
        vec![],
    ];
    assert_eq!(heard, expected);
    for end in ["ann no", "fixer withdraw", "fixer supersede", "@100 | relay tick"] {
        let mut play = Play::with(|_| {});
        play.play(&format!("fixer open | {end}"));
        assert_eq!(effects(play.gate(), &play.log.last().unwrap().0), settled, "{end}");
    }
}

/// Returns one event of each kind that the scripts cause.
fn every_event() -> Vec<GateEvent> {
    let scripts = [
        "fixer open | fixer revise | ann see | ann claim | ann release | ann snooze | relay remind \
         | relay escalate | ann yes | bob yes but | bob yes | opal fail delivery | fixer acknowledge",
        "fixer open | fixer withdraw",
        "fixer open | fixer supersede",
        "fixer open | @100 | relay tick",
    ];
    let mut events: Vec<GateEvent> = vec![];
    for script in scripts {
        let mut play = Play::with(|rules| rules.approvers = two_of_three());
        play.play(script);
        for (event, _) in play.log {
            if events.iter().all(|e| e.name() != event.name()) {
                events.push(event);
            }
        }
    }
    assert_eq!(events.len(), 16, "an event is missing here");
    events
}

#[test]
fn every_event_survives_its_json() {
    for event in every_event() {
        assert_eq!(through_json(&event), event);
    }
}

#[test]
fn an_event_of_a_later_version_changes_nothing() {
    let later = r#"{"event": "notarised", "to": "bob", "until": {"year": 2040}}"#;
    let event: GateEvent = serde_json::from_str(later).unwrap();
    assert_eq!(event, GateEvent::Unknown);
    for script in ["@10", "fixer open", "fixer open | ann yes"] {
        let mut play = Play::with(|_| {});
        if script != "@10" {
            play.play(script);
        }
        assert_eq!(apply(play.gate.clone(), &event, at(50)), play.gate, "{script}");
    }
}

#[test]
fn what_stands_in_the_log_behind_the_end_does_not_undo_it() {
    for end in ["ann yes", "ann no", "fixer withdraw", "fixer supersede", "@100 | relay tick"] {
        let mut play = Play::with(|_| {});
        play.play(&format!("fixer open | {end}"));
        let ended = play.gate.clone();
        for event in every_event() {
            let moves_delivery =
                event.name().contains("deliver") || event == GateEvent::Acknowledged;
            let after = apply(ended.clone(), &event, at(200)).unwrap();
            assert_eq!(after.ending, play.gate().ending, "{end}, then {}", event.name());
            assert!(moves_delivery || Some(after) == ended, "{end}, then {}", event.name());
        }
    }
    // An open gate is not delivered, and an acknowledged one does not change again.
    for script in ["fixer open", "fixer open | ann yes | fixer acknowledge"] {
        let mut play = Play::with(|_| {});
        play.play(script);
        for event in every_event().iter().filter(|e| e.name().contains("deliver")) {
            assert_eq!(apply(play.gate.clone(), event, at(200)), play.gate, "{script}");
        }
    }
}
