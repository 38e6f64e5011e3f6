//! Tests of deduplication and of the order of cards.

use super::card;
use crate::gate::{
    Card, DeferredAction, Gate, GateEvent, GateSpec, LifecycleAction, QueuedGate, TaskDependents,
    apply, card_of_gates, cards_after, limit_per_asker, queued_cards,
};
use crate::testing::{at, space, task_id, who};
use crate::{
    AnswerShape, Approvers, ChoiceOption, Digest, FlowId, GateId, GateKind, IdentityProof, Risk,
    SpaceId, TimeoutAction,
};
use serde_json::json;

fn words(question: &str) -> Card {
    Card { shape: AnswerShape::Text, ..card(question) }
}

fn flow_id(chance: u128) -> FlowId {
    FlowId::mint(at(0), chance)
}

/// Returns a question of `fixer`, modified by `change`.
fn asked(change: impl FnOnce(&mut GateSpec)) -> Gate {
    let lineage = who("fixer").lineage();
    let id = GateId::mint(at(0), 1);
    let mut opened =
        GateSpec::new(id, space(), "g0001", GateKind::Input, words("Which port?"), lineage);
    opened.task = Some(task_id(1));
    change(&mut opened);
    apply(None, &GateEvent::Opened(Box::new(opened)), at(10)).unwrap()
}

/// Returns the effect of a change on the dedup key: the same key, another one, or none.
fn effect(change: impl FnOnce(&mut GateSpec)) -> &'static str {
    let plain = asked(|_| ()).dedup_key().unwrap();
    match asked(change).dedup_key() {
        Some(same) if same == plain => "same",
        Some(_) => "other",
        None => "never",
    }
}

fn choice(names: &[&str]) -> AnswerShape {
    let option = |name: &&str| ChoiceOption::named(*name);
    AnswerShape::Choice { options: names.iter().map(option).collect(), multi: false, other: false }
}

#[test]
fn what_makes_two_questions_the_same() {
    type Change = fn(&mut GateSpec);
    let table: &[(&str, &str, Change)] = &[
        // Each asker's own: the asker, the time, the deadline, the task.
        ("another gate", "same", |o| o.id = GateId::mint(at(5), 9)),
        ("another handle", "same", |o| o.handle = "g0002".into()),
        ("another asker", "same", |o| o.lineage = who("rival").lineage()),
        ("another task", "same", |o| o.task = Some(task_id(2))),
        ("no task", "same", |o| o.task = None),
        ("a deadline", "same", |o| o.deadline = Some(at(99))),
        ("another end of its time", "same", |o| o.schedule.at_end = TimeoutAction::Keep),
        ("asked through a client's tool", "same", |o| {
            o.held = Some(DeferredAction::Call { digest: Digest::of(&1), beside: None });
        }),
        // Everything a person reads, and everything an answer is bound to.
        ("another space", "other", |o| o.space = SpaceId::mint(at(0), 9)),
        ("another kind", "other", |o| o.kind = GateKind::Decision),
        ("another word", "other", |o| o.card = words("Which port")),
        ("another case", "other", |o| o.card = words("which port?")),
        ("another space between words", "other", |o| o.card = words("Which  port?")),
        ("other words of the asker", "other", |o| o.card.narrative = "hurry".into()),
        ("another fact", "other", |o| o.card.facts[0].value = serde_json::json!("x")),
        ("a fact that is only said", "other", |o| o.card.facts[0].verified = false),
        ("no facts", "other", |o| o.card.facts.clear()),
        ("options", "other", |o| o.card.shape = choice(&["80", "81"])),
        ("a yes or no", "other", |o| o.card.shape = AnswerShape::Verdict),
        ("other people", "other", |o| o.approvers = Approvers::Person("ann".into())),
        ("more proof", "other", |o| o.least_proof = IdentityProof::Passphrase),
        ("no launcher", "other", |o| o.launcher_excluded = true),
        ("a veto", "other", |o| o.veto = ["bob".into()].into()),
        ("less risk", "other", |o| o.risk = Risk::Low),
        ("another policy", "other", |o| o.policy = Some(Digest::of(&1))),
        // A flow's question belongs to that flow alone.
        ("asked by a flow", "other", |o| o.flow = Some(flow_id(1))),
        // Decisions that are made each time.
        ("high risk", "never", |o| o.risk = Risk::High),
        ("critical risk", "never", |o| o.risk = Risk::Critical),
        ("a sign-off", "never", |o| o.kind = GateKind::Approval),
        ("a review", "never", |o| o.kind = GateKind::Review),
        ("a judgement", "never", |o| o.kind = GateKind::Content),
        ("a phase", "never", |o| o.kind = GateKind::Checkpoint),
        ("work by hand", "never", |o| o.kind = GateKind::Work),
        ("a tool call", "never", |o| o.kind = GateKind::Tool),
        ("a move", "never", |o| o.kind = GateKind::Transition),
        ("a start of an agent", "never", |o| o.kind = GateKind::Lifecycle),
        ("what starts an agent", "never", |o| {
            o.held = Some(DeferredAction::Lifecycle {
                action: LifecycleAction::Spawn,
                agent: "x".into(),
            });
        }),
    ];
    let wrong: Vec<_> = table
        .iter()
        .filter(|(_, expected, change)| effect(change) != *expected)
        .map(|(what, expected, change)| format!("{what}: {}, not {expected}", effect(change)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(table.len(), 37);
}

/// Equal questions of two flows have a card each: one answer never continues both.
#[test]
fn two_flows_never_ask_the_same() {
    let shapes = [
        AnswerShape::Verdict,
        AnswerShape::Text,
        choice(&["80", "81"]),
        AnswerShape::Form { schema: json!({}) },
    ];
    let mut checked = 0;
    for shape in shapes {
        for task in [None, Some(task_id(1))] {
            let of = |flow: u128| {
                asked(|o| {
                    (o.card.shape, o.task) = (shape.clone(), task);
                    o.flow = Some(flow_id(flow));
                })
            };
            assert_ne!(of(1).dedup_key(), of(2).dedup_key(), "{shape:?} {task:?}");
            assert_eq!(of(1).dedup_key(), of(1).dedup_key(), "{shape:?} {task:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 8);
}

#[test]
fn a_yes_is_for_one_piece_of_work() {
    let yes_or_no = |task| {
        asked(|o| {
            o.card.shape = AnswerShape::Verdict;
            o.task = task;
        })
    };
    let [one, two, none] = [Some(task_id(1)), Some(task_id(2)), None].map(yes_or_no);
    assert_eq!(one.dedup_key(), yes_or_no(Some(task_id(1))).dedup_key());
    assert_ne!(one.dedup_key(), two.dedup_key());
    assert_ne!(one.dedup_key(), none.dedup_key());
}

#[test]
fn without_a_task_a_yes_is_for_whoever_asked() {
    let of = |asker: &str, shape: AnswerShape| {
        asked(|o| {
            (o.card.shape, o.task) = (shape, None);
            o.lineage = who(asker).lineage();
        })
        .dedup_key()
    };
    assert!(of("fixer", AnswerShape::Verdict).is_some());
    assert_eq!(of("fixer", AnswerShape::Verdict), of("fixer", AnswerShape::Verdict));
    assert_ne!(of("fixer", AnswerShape::Verdict), of("rival", AnswerShape::Verdict));
    // Information applies to all askers.
    for shape in [AnswerShape::Text, choice(&["80", "81"])] {
        assert_eq!(of("fixer", shape.clone()), of("rival", shape));
    }
}

#[test]
fn options_and_their_consequences_and_order_count() {
    let with = |shape: AnswerShape| asked(|o| o.card.shape = shape).dedup_key();
    let plain = with(choice(&["a", "b"]));
    assert!(plain.is_some());
    assert_eq!(plain, with(choice(&["a", "b"])));
    assert_ne!(plain, with(choice(&["b", "a"])));
    assert_ne!(plain, with(choice(&["a", "b", "c"])));
    let AnswerShape::Choice { mut options, multi, other } = choice(&["a", "b"]) else { panic!() };
    options[0].consequence = "drops the table".into();
    assert_ne!(plain, with(AnswerShape::Choice { options: options.clone(), multi, other }));
}

#[test]
fn a_revision_asks_something_else() {
    let gate = asked(|_| ());
    let (before, card) = (gate.dedup_key(), words("Which host?"));
    let revision = 2;
    let digest = gate.opened.digest(&card, revision);
    let revised =
        apply(Some(gate), &GateEvent::Revised { card, revision, digest }, at(11)).unwrap();
    assert_ne!(revised.dedup_key(), before);
    assert_eq!(revised.dedup_key(), asked(|o| o.card = words("Which host?")).dedup_key());
}

/// Parses `id same? task? asker @time [~until]`, one per word group: `1 =a t1 fixer @5`.
fn waiting(line: &str) -> QueuedGate {
    let mut words = line.split_whitespace();
    let id = words.next().unwrap().parse().unwrap();
    let mut waiting = QueuedGate {
        id: GateId::mint(at(0), id),
        same: None,
        task: None,
        asker: "fixer".into(),
        opened_at: at(0),
        snoozed_until: None,
        flow: None,
    };
    for word in words {
        let rest = &word[1..];
        match word.as_bytes()[0] {
            b'=' => waiting.same = Some(rest.into()),
            b'f' => waiting.flow = Some(crate::FlowId::mint(at(0), rest.parse().unwrap())),
            b't' => waiting.task = Some(task_id(rest.parse().unwrap())),
            b'@' => waiting.opened_at = at(rest.parse().unwrap()),
            b'~' => waiting.snoozed_until = Some(at(rest.parse().unwrap())),
            b'_' => waiting.asker = rest.into(),
            _ => panic!("{word:?}"),
        }
    }
    waiting
}

/// Returns the cards as the numbers of their gates, with the amount of work each unblocks.
fn line(gates: &[&str], awake_at: Option<i64>) -> String {
    line_with(gates, "", awake_at)
}

/// The same with dependencies: `2>1` says that task 2 waits for task 1.
fn line_with(gates: &[&str], tasks: &str, awake_at: Option<i64>) -> String {
    let gates: Vec<_> = gates.iter().map(|line| waiting(line)).collect();
    shown(&queued_cards(&gates, &waits(tasks), awake_at.map(at)))
}

fn waits(tasks: &str) -> TaskDependents {
    let pair = |pair: &str| {
        let (waits, task) = pair.split_once('>').unwrap();
        (task_id(task.parse().unwrap()), task_id(waits.parse().unwrap()))
    };
    tasks.split_whitespace().map(pair).collect()
}

fn shown(line: &[crate::gate::QueuedCard]) -> String {
    let number =
        |id: &GateId| (1..100).find(|n| GateId::mint(at(0), *n) == *id).unwrap().to_string();
    let card = |card: &crate::gate::QueuedCard| {
        let gates: Vec<_> = card.gates.iter().map(number).collect();
        let more = if card.unblocks.more { "+" } else { "" };
        format!("{}:{}{more}", gates.join("+"), card.unblocks.count())
    };
    line.iter().map(card).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_unblocks_most_comes_first_then_what_waits_longest() {
    for (gates, expected) in [
        // Single gates: oldest first, the id between equals; a task counts as much as an asker without one.
        (&["1 @5", "2 t1 @4", "3 @6"][..], "2:1 1:1 3:1"),
        (&["2 @5", "1 @5"], "1:1 2:1"),
        // Several askers of one question come before older questions.
        (&["1 @1", "2 =a _x @5", "3 =a _y @6"], "2+3:2 1:1"),
        // Their gates are ordered by age, independent of the input order.
        (&["9 =a _x @7", "4 =a _y @6", "5 =a _z @5"], "5+4+9:3"),
        // Two agents on one task unblock one piece of work; one agent on two tasks unblocks two.
        (&["1 =a t1 _x @2", "2 =a t1 _y @3", "3 =b t2 @4", "4 =b t3 @5"], "3+4:2 1+2:1"),
        // The same asker twice, without a task, counts once.
        (&["1 =a @2", "2 =a @3", "3 @1"], "3:1 1+2:1"),
        // Equal counts: the one whose first gate is older.
        (&["1 =a t1 @3", "2 =a t2 @9", "3 =b t3 @2", "4 =b t4 @9"], "3+4:2 1+2:2"),
        (&[], ""),
    ] {
        assert_eq!(line(gates, None), expected, "{gates:?}");
        let mut backwards = gates.to_vec();
        backwards.reverse();
        assert_eq!(line(&backwards, None), expected, "the order of rows does not count");
    }
}

#[test]
fn what_is_put_off_is_left_out_unless_somebody_asks_it_anew() {
    let gates = ["1 =a _x @1 ~50", "2 @2 ~50", "3 @3"];
    assert_eq!(line(&gates, None), "1:1 2:1 3:1");
    assert_eq!(line(&gates, Some(49)), "3:1");
    assert_eq!(line(&gates, Some(50)), "1:1 2:1 3:1");
    let joined = ["1 =a _x @1 ~50", "2 @2 ~50", "3 @3", "4 =a _y @40"];
    assert_eq!(line(&joined, Some(49)), "1+4:2 3:1");
}

#[test]
fn all_that_waits_behind_a_task_counts() {
    for (gates, tasks, expected) in [
        // Dependents, and their dependents; younger, and yet first.
        (&["1 t9 @1", "2 t1 @5"][..], "2>1 3>2", "2:3 1:1"),
        // Each task counts once, even with several paths to it.
        (&["1 t1 @1"], "2>1 3>1 4>2 4>3", "1:4"),
        // Two gates of one card whose tasks block the same one.
        (&["1 =a t1 @1", "2 =a t2 @2"], "3>1 3>2", "1+2:3"),
        // A card's task that waits for another of its tasks is not counted twice.
        (&["1 =a t1 @1", "2 =a t2 @2"], "2>1", "1+2:2"),
        // A task does not unblock its own dependency.
        (&["1 t2 @1"], "2>1", "1:1"),
        // A cycle, which the desk does not allow, terminates all the same.
        (&["1 t1 @1"], "2>1 1>2", "1:2"),
        // A flow without a task is one piece of work for each flow; with one, the task stands for it.
        (&["1 =a f1 @1", "2 =a f2 @2", "3 =b f3 t1 @1", "4 =b f4 t1 @1"], "", "1+2:2 3+4:1"),
        // Equal counts: oldest first.
        (&["1 t1 @9", "2 t2 @8"], "3>1 4>2", "2:2 1:2"),
    ] {
        assert_eq!(line_with(gates, tasks, None), expected, "{gates:?} {tasks}");
    }
}

#[test]
fn the_first_tasks_are_named_and_not_all_are_counted() {
    let chain: Vec<_> = (1..=200).map(|n| format!("{}>{n}", n + 1)).collect();
    let line = queued_cards(&[waiting("1 t1")], &waits(&chain.join(" ")), None);
    let unblocks = &line[0].unblocks;
    assert_eq!((unblocks.tasks, unblocks.more), (99, true));
    assert_eq!(unblocks.first, [1, 2, 3].map(task_id));
    let exactly = queued_cards(&[waiting("1 t1")], &waits(&chain[..98].join(" ")), None);
    assert_eq!((exactly[0].unblocks.tasks, exactly[0].unblocks.more), (99, false));
}

#[test]
fn a_page_goes_on_behind_its_last_card() {
    let rows = ["1 @1", "2 =a _x @5", "3 =a _y @6", "4 @2", "5 t1 @9"].map(waiting);
    let tasks = waits("2>1 3>2");
    let all = queued_cards(&rows, &tasks, None);
    assert_eq!(shown(&all), "5:3 2+3:2 1:1 4:1");
    let after = |gates: &[&str]| {
        let gates: Vec<_> = gates.iter().map(|gate| waiting(gate)).collect();
        shown(&cards_after(all.clone(), &card_of_gates(gates.iter().collect(), &tasks)))
    };
    // Any gate of the card identifies it.
    assert_eq!(after(&["3 =a _y @6"]), "1:1 4:1");
    assert_eq!(after(&["1 @1"]), "4:1");
    assert_eq!(after(&["4 @2"]), "");
    // A card that has ended meanwhile has the place it would have now: no card after it is lost.
    assert_eq!(after(&["9 =b @0"]), "1:1 4:1");
    assert_eq!(after(&["9 t1 @0"]), "5:3 2+3:2 1:1 4:1");
    assert_eq!(after(&["8 =b _x @0", "9 =b _y @1"]), "2+3:2 1:1 4:1");
}

#[test]
fn the_many_cards_of_one_asker_stand_behind_those_of_others() {
    let own: Vec<_> = (1..=25).map(|n| format!("{n} @{n} _many")).collect();
    let others = ["30 @30 _calm", "31 @31 _other"];
    let rows: Vec<_> = own.iter().map(String::as_str).chain(others).map(waiting).collect();
    let none = TaskDependents::default();
    let line = queued_cards(&rows, &none, None);
    let numbers = |line: &[crate::gate::QueuedCard]| -> Vec<u128> {
        let number = |id: GateId| (1..100).find(|n| GateId::mint(at(0), *n) == id).unwrap();
        line.iter().map(|card| number(card.gates[0])).collect()
    };
    let all = numbers(&limit_per_asker(line.clone(), None));
    let expected: Vec<_> = (1..=20).chain([30, 31]).chain(21..=25).collect();
    assert_eq!(all, expected);
    // Page after page, each card appears once.
    for (place, number) in all.iter().enumerate() {
        let row = rows.iter().find(|row| row.id == GateId::mint(at(0), *number)).unwrap();
        let behind = limit_per_asker(line.clone(), Some(&card_of_gates(vec![row], &none)));
        assert_eq!(numbers(&behind), all[place + 1..], "behind {number}");
    }
    // A card that has ended: all cards after it are still there.
    let ended = |row: &str| {
        let row = waiting(row);
        numbers(&limit_per_asker(line.clone(), Some(&card_of_gates(vec![&row], &none))))
    };
    assert_eq!(ended("40 @29 _calm")[..2], [30, 31]);
    assert_eq!(ended("40 @5 _many").len(), 27 - 5);
    // Few askers, few cards: the order stays.
    let few = queued_cards(&rows[15..], &none, None);
    assert_eq!(numbers(&limit_per_asker(few.clone(), None)), numbers(&few));
}
