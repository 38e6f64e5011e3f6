//! Tests of tasks as scripts of people and agents: `fixer start | fixer ask input 1 | ann no 1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod props;

use super::*;
use crate::testing::{
    ONE_OF_EACH_ROLE, Row, at, cell, page, run_id, space, task_id, through_json, who,
};
use crate::{Actor, Code, Refusal, Role};

fn created() -> TaskSpec {
    TaskSpec {
        id: task_id(1),
        space: space(),
        handle: "t0001".into(),
        title: "Fix the login page".into(),
        body: "It is slow.".into(),
        sort: "bug".into(),
        priority: 2,
        size: Some("small".into()),
        labels: BTreeSet::from(["web".into()]),
        parent: Some(task_id(8)),
        blocked_by: BTreeSet::from([task_id(7)]),
        requires: None,
        created_by: "ann".into(),
    }
}

fn gate_id(n: &str) -> GateId {
    GateId::mint(at(0), n.parse().unwrap())
}

/// A task that a script drives, with its log.
struct Play {
    rules: TaskSpec,
    task: Option<Task>,
    now: i64,
    log: Vec<(TaskEvent, Timestamp)>,
}

impl Play {
    fn with(requires: Option<GateKind>) -> Self {
        Self { rules: TaskSpec { requires, ..created() }, task: None, now: 10, log: vec![] }
    }

    /// Creates a task and runs the script.
    fn of(requires: Option<GateKind>, script: &str) -> Self {
        let mut play = Self::with(requires);
        play.play("ann create");
        play.play(script);
        play
    }

    /// Runs `ann close`, or several commands separated by `|`; returns the outcome of each.
    fn play(&mut self, script: &str) -> Vec<String> {
        let steps = script.split('|').map(str::trim).filter(|step| !step.is_empty());
        steps.map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &str) -> String {
        let outcome = self.decide(step);
        for event in outcome.iter().flatten() {
            self.apply(event);
        }
        cell(&outcome, TaskEvent::name)
    }

    fn apply(&mut self, event: &TaskEvent) {
        self.task = apply(self.task.take(), event, at(self.now));
        self.log.push((event.clone(), at(self.now)));
    }

    fn decide(&self, step: &str) -> Result<Vec<TaskEvent>, Refusal> {
        let (name, what) = step.split_once(' ').unwrap();
        let actor = who(name);
        decide(self.task.as_ref(), &self.command(what, &actor), &actor, at(self.now))
    }

    fn command(&self, what: &str, actor: &Actor) -> TaskCommand {
        let reason = String::from("because");
        let edit = |edit: TaskEdit| TaskCommand::Edit(Box::new(edit));
        let words: Vec<&str> = what.split(' ').collect();
        match words[..] {
            ["create"] => TaskCommand::Create(Box::new(self.rules.clone())),
            ["create", "other"] => TaskCommand::Create(Box::new(TaskSpec {
                title: "Other".into(),
                ..self.rules.clone()
            })),
            ["retitle"] => edit(TaskEdit { title: Some("Mend it".into()), ..TaskEdit::default() }),
            ["require", "nothing"] => {
                edit(TaskEdit { requires: Some(None), ..TaskEdit::default() })
            }
            ["require", kind] => edit(TaskEdit {
                requires: Some(Some(kind.parse().unwrap())),
                ..TaskEdit::default()
            }),
            ["depend"] => TaskCommand::AddDependency { on: task_id(9) },
            ["depend", "itself"] => TaskCommand::AddDependency { on: task_id(1) },
            ["undepend"] => TaskCommand::RemoveDependency { on: task_id(7) },
            ["start"] => TaskCommand::Start { run: actor.run },
            ["note"] => TaskCommand::Note { text: "hm".into(), as_agent: false },
            ["ask", kind, n] => {
                let handle = format!("g{n}");
                TaskCommand::Ask { gate: gate_id(n), handle, kind: kind.parse().unwrap() }
            }
            ["yes", n] => self.settle(n, "answered", Some(Verdict::Approved)),
            ["no", n] => self.settle(n, "answered", Some(Verdict::Rejected)),
            ["end", n] => self.settle(n, "withdrawn", None),
            ["close"] => TaskCommand::Close { reason, open_children: 0 },
            ["close", "parent"] => TaskCommand::Close { reason, open_children: 2 },
            ["reopen"] => TaskCommand::Reopen { reason },
            ["defer"] => TaskCommand::Defer { until: Some(at(500)) },
            ["defer", "past"] => TaskCommand::Defer { until: Some(at(0)) },
            ["fail"] => TaskCommand::Fail { reason },
            ["block"] => TaskCommand::Block { reason },
            ["delete"] => TaskCommand::Delete { reason, open_children: 0 },
            ["delete", "parent"] => TaskCommand::Delete { reason, open_children: 2 },
            _ => panic!("{what:?} says nothing"),
        }
    }

    fn settle(&self, n: &str, ending: &'static str, verdict: Option<Verdict>) -> TaskCommand {
        let gate = gate_id(n);
        let kind = self.task.as_ref().and_then(|t| t.waits_for.get(&gate)).copied();
        let kind = kind.unwrap_or(GateKind::Approval);
        TaskCommand::Settle { gate, handle: format!("g{n}"), kind, ending, verdict }
    }

    fn task(&self) -> &Task {
        self.task.as_ref().unwrap()
    }
}

/// Returns a task as one line.
fn in_words(task: Option<&Task>) -> String {
    let Some(task) = task else { return "absent".into() };
    let mut words = vec![task.status.to_string()];
    words.extend(task.run.map(|_| "in a run".into()));
    words.extend(task.waits_for.values().map(|kind| format!("waits for {kind}")));
    words.extend(task.leaning.map(|outcome| format!("leans {outcome:?}").to_lowercase()));
    words.extend(task.verdict.map(|verdict| verdict.to_string()));
    words.extend(task.requires.map(|kind| format!("requires {kind}")));
    words.join(", ")
}

#[test]
fn the_task_on_a_page() {
    let actors = ["fixer", "rival", "ann", "opal", "adam", "relay", "aude"];
    let states = [
        ("absent", None, ""),
        ("open", None, "ann create"),
        ("in progress", None, "ann create | fixer start"),
        ("waits for one", None, "ann create | fixer start | fixer ask input 1"),
        (
            "waits for two",
            None,
            "ann create | fixer start | fixer ask approval 1 | fixer ask checkpoint 2",
        ),
        (
            "waits for the second, the first was a no",
            None,
            "ann create | fixer ask input 2 | fixer ask approval 1 | ann no 2",
        ),
        ("a live agent waits", None, "ann create | fixer start | fixer ask tool 1"),
        ("requires approval", Some(GateKind::Approval), "ann create | fixer start"),
        ("closed by the agent", None, "ann create | fixer close"),
        (
            "closed by a yes",
            Some(GateKind::Approval),
            "ann create | fixer ask approval 1 | ann yes 1",
        ),
        ("closed by a no", None, "ann create | fixer ask input 1 | ann no 1"),
        ("deferred", None, "ann create | ann defer"),
        ("failed", None, "ann create | fixer fail"),
        ("blocked", None, "ann create | fixer block"),
        ("deleted", None, "ann create | ann delete"),
        ("deleted with a gate", None, "ann create | fixer ask input 1 | ann delete"),
    ];
    let verbs = "create, create other, retitle, require review, require nothing, require input, depend, \
                 depend itself, undepend, start, note, ask input 3, ask approval 1, yes 1, no 1, end 1, yes 9, \
                 close, close parent, delete, delete parent, fail, block, defer, defer past, reopen";
    let section = |(state, requires, script): (&str, Option<GateKind>, &str)| {
        let play = || {
            let mut play = Play::with(requires);
            play.play(script);
            play
        };
        let rows = verbs.split(", ").map(|verb| {
            let mut row = Row { command: verb.into(), cells: vec![], becomes: vec![] };
            for actor in actors {
                let mut play = play();
                let cell = play.step(&format!("{actor} {verb}"));
                let changed = cell != "=" && !cell.starts_with("SAY");
                row.becomes.extend(changed.then(|| in_words(play.task.as_ref())));
                row.cells.push(cell);
            }
            row
        });
        (format!("{state}: {}", in_words(play().task.as_ref())), rows.collect())
    };
    insta::assert_snapshot!("task", page(&actors, states.into_iter().map(section).collect()));
}

/// Any command that moves a task past an open gate amounts to a verdict.
#[test]
fn only_a_person_moves_a_task_past_a_person() {
    let waiting = (None, "fixer ask input 1");
    let requiring = (Some(GateKind::Approval), "");
    let rejected = (None, "fixer ask escalation 1 | ann no 1");
    for ((requires, script), verbs) in [
        (waiting, &["yes 1", "no 1", "close", "delete", "fail", "block", "defer"][..]),
        (requiring, &["close", "delete", "require nothing", "require review"][..]),
        (rejected, &["reopen"][..]),
    ] {
        for verb in verbs {
            for name in ONE_OF_EACH_ROLE {
                let play = Play::of(requires, script);
                let code = play.decide(&format!("{name} {verb}")).err().map(|r| r.code);
                let expected = match who(name).role {
                    Role::Human => None,
                    Role::Auditor => Some(Code::NotAllowed),
                    Role::Agent | Role::Operator | Role::Admin | Role::Service => {
                        Some(Code::NotHuman)
                    }
                };
                assert_eq!(code, expected, "{name} {verb} after {script:?}");
            }
        }
    }
}

#[test]
fn an_agent_changes_its_own_task_and_may_tighten_it() {
    let mut play = Play::of(None, "");
    let cells = play.play("rival retitle | rival close | rival note | fixer require approval");
    assert_eq!(cells, ["SAY037", "SAY037", "SAY037", "edited"]);
    assert_eq!(play.play("fixer require nothing | fixer close"), ["SAY010", "SAY010"]);
}

#[test]
fn a_note_is_its_authors() {
    let note = |name: &str, as_agent| {
        let command = TaskCommand::Note { text: "fine by me".into(), as_agent };
        let events =
            decide(Play::of(None, "").task.as_ref(), &command, &who(name), at(10)).unwrap();
        let [TaskEvent::Noted(TaskNote { author, role, .. })] = &events[..] else {
            panic!("{events:?}")
        };
        (author.clone(), *role)
    };
    assert_eq!(note("ann", false), ("ann".into(), Role::Human));
    assert_eq!(note("ann", true), ("ann".into(), Role::Agent));
    assert_eq!(note("fixer", false), ("fixer".into(), Role::Agent));
    assert_eq!(note("relay", false), ("relay".into(), Role::Service));
}

#[test]
fn seven_kinds_and_two_verdicts() {
    let after = |kind: GateKind, verdict: &str| {
        let script = format!("fixer start | fixer ask {kind} 1 | ann {verdict} 1");
        let play = Play::of(None, &script);
        let reason = play.task().closure.as_ref().map_or("", |c| c.reason.as_str());
        format!("{} {reason}", play.task().status).trim_end().to_owned()
    };
    let line = |k| format!("{k:<12}yes: {:<26}no: {}\n", after(k, "yes"), after(k, "no"));
    insta::assert_snapshot!(GateKind::AWAITING.map(line).concat(), @r"
    work        yes: closed work approved      no: open
    approval    yes: closed approval approved  no: open
    input       yes: open                      no: closed input rejected
    review      yes: closed review approved    no: open
    content     yes: closed content approved   no: open
    escalation  yes: open                      no: closed escalation rejected
    checkpoint  yes: open                      no: open
    ");
}

/// The rule in other words: a rejection of the question itself closes the task, other answers for the agent hand it
/// back, and only unanimous acceptance is done.
fn expected_status(answers: &[(GateKind, bool)]) -> TaskStatus {
    let ends_it = |(kind, yes): &(GateKind, bool)| {
        !yes && matches!(kind, GateKind::Input | GateKind::Escalation)
    };
    let accepts = |(kind, yes): &(GateKind, bool)| {
        *yes && matches!(
            kind,
            GateKind::Work | GateKind::Approval | GateKind::Review | GateKind::Content
        )
    };
    match answers {
        _ if answers.iter().any(ends_it) => TaskStatus::Closed,
        _ if answers.iter().all(accepts) => TaskStatus::Closed,
        _ => TaskStatus::Open,
    }
}

#[test]
fn the_last_of_several_answers_releases_the_task() {
    let one: Vec<(GateKind, bool)> =
        GateKind::AWAITING.into_iter().flat_map(|k| [(k, true), (k, false)]).collect();
    let mut combinations: Vec<Vec<(GateKind, bool)>> = vec![];
    for first in &one {
        for second in &one {
            combinations.push(vec![*first, *second]);
            combinations.extend(one.iter().map(|third| vec![*first, *second, *third]));
        }
    }
    assert_eq!(combinations.len(), 14 * 14 * 15);
    for answers in combinations {
        let mut play = Play::of(None, "fixer start");
        for (n, (kind, _)) in answers.iter().enumerate() {
            assert_eq!(play.play(&format!("fixer ask {kind} {n}")), ["asked"]);
        }
        for (n, (_, yes)) in answers.iter().enumerate() {
            assert!(play.task().is_waiting(), "{answers:?} before answer {n}");
            let cell = play.step(&format!("ann {} {n}", if *yes { "yes" } else { "no" }));
            let is_last = n + 1 == answers.len();
            assert_eq!(cell, if is_last { "settled+released" } else { "settled" }, "{answers:?}");
        }
        assert_eq!(play.task().status, expected_status(&answers), "{answers:?}");
        assert_eq!((play.task().leaning, play.task().is_waiting()), (None, false));
    }
}

#[test]
fn what_a_task_requires_survives_rejections_and_cannot_be_skipped() {
    for kind in [GateKind::Approval, GateKind::Review, GateKind::Content] {
        let mut play = Play::of(Some(kind), "");
        for n in 1..=3 {
            play.play("fixer start");
            assert_eq!(completion(play.task(), &who("fixer")), CompletionEffect::Opens(kind));
            assert_eq!(
                play.play("fixer close | fixer delete | fixer require nothing"),
                ["SAY010"; 3]
            );
            let ask = format!("fixer ask {kind} {n} | fixer close | ann no {n}");
            assert_eq!(play.play(&ask), ["asked", "SAY010", "settled+released"]);
            assert_eq!(in_words(play.task.as_ref()), format!("open, rejected, requires {kind}"));
        }
        play.play(&format!("fixer start | fixer ask {kind} 4 | ann yes 4"));
        assert_eq!(play.task().status, TaskStatus::Closed);
    }
    // Another kind of sign-off, to a question of the agent's choice, does not count.
    for (script, expected) in [
        ("fixer ask content 1 | ann yes 1", "open, approved, requires review"),
        (
            "fixer ask content 1 | fixer ask review 2 | ann yes 2 | ann yes 1",
            "closed, approved, requires review",
        ),
        (
            "fixer ask content 1 | fixer ask review 2 | ann yes 2 | ann no 1",
            "open, rejected, requires review",
        ),
        ("ann ask work 1 | ann yes 1", "closed, approved, requires review"),
    ] {
        assert_eq!(
            in_words(Play::of(Some(GateKind::Review), script).task.as_ref()),
            expected,
            "{script}"
        );
    }
    let play = Play::of(Some(GateKind::Approval), "");
    assert_eq!(completion(play.task(), &who("ann")), CompletionEffect::Closes);
    assert_eq!(completion(Play::of(None, "").task(), &who("fixer")), CompletionEffect::Closes);
}

#[test]
fn where_a_task_stands_after_its_gates() {
    for (script, expected) in [
        // Parked: the worker may take the next task; this one is workable after the answer.
        ("fixer start | fixer ask input 1", "open, waits for input"),
        ("fixer start | fixer ask input 1 | ann end 1", "open"),
        // Live: the agent keeps the task before and after.
        ("fixer start | fixer ask tool 1", "in_progress, in a run, waits for tool"),
        ("fixer start | fixer ask tool 1 | ann no 1", "in_progress, in a run, rejected"),
        ("ann start | ann ask decision 1 | ann yes 1", "in_progress, approved"),
        // A person deferred or gave up the task while it waited: withdrawing the question does not change that.
        ("fixer ask input 1 | ann defer | ann yes 1", "deferred, approved"),
        ("fixer ask input 1 | ann fail | ann end 1", "failed"),
        ("fixer ask input 1 | ann block | ann end 1", "blocked"),
        ("fixer ask input 1 | ann close | ann end 1", "closed"),
        // Direction for a failed or blocked task reopens it.
        ("fixer fail | opal ask escalation 1 | ann yes 1", "open, approved"),
        ("fixer block | opal ask input 1 | ann yes 1", "open, approved"),
        ("fixer fail | opal ask escalation 1 | ann no 1", "closed, rejected"),
        // A rejection from before the task was closed does not count after it is reopened.
        (
            "fixer ask input 1 | fixer ask input 2 | ann no 1 | ann close | ann end 2 | ann reopen \
             | fixer ask input 3 | ann yes 3",
            "open, approved",
        ),
        // A deleted task does not prevent its gates from ending.
        ("fixer ask input 1 | ann delete | ann no 1", "deleted, rejected"),
        ("fixer ask input 1 | ann delete | fixer end 1", "deleted"),
    ] {
        assert_eq!(in_words(Play::of(None, script).task.as_ref()), expected, "{script}");
    }
}

#[test]
fn a_task_is_in_one_pair_of_hands() {
    let mut play = Play::of(None, "fixer start");
    assert_eq!(play.play("fixer start | opal start | relay start"), ["=", "SAY018", "SAY018"]);
    assert_eq!(play.play("opal reopen | opal start"), ["reopened", "started"]);
    assert_eq!(play.play("fixer start | ann start"), ["SAY018", "="]);
    let mut play = Play::of(None, "fixer start");
    assert_eq!(play.play("ann start"), ["started"]);
    assert_eq!(play.task().fence, 2, "the run before is fenced off");
}

#[test]
fn when_a_task_is_workable_and_what_people_see() {
    for (script, workable, shown) in [
        ("", true, "blocked"),
        ("fixer start", false, "in_progress"),
        ("fixer ask input 1", false, "awaiting_input"),
        ("ann defer", true, "deferred"),
        ("fixer fail", false, "failed"),
        ("fixer ask input 1 | ann fail", false, "awaiting_input"),
        ("fixer close", false, "closed"),
        ("ann delete", false, "deleted"),
    ] {
        let play = Play::of(None, script);
        assert_eq!(play.task().workable_from().is_some(), workable, "{script}");
        assert_eq!(play.task().shown_state(true), shown, "{script}");
    }
}

#[test]
fn a_closed_task_says_which_answer_closed_it() {
    for (script, verdict, reason) in [
        ("fixer ask approval 1 | ann yes 1", Verdict::Approved, "approval approved"),
        (
            "fixer ask approval 1 | fixer ask input 2 | ann yes 1 | fixer end 2",
            Verdict::Approved,
            "approved before",
        ),
        (
            "fixer ask approval 1 | fixer ask input 2 | ann yes 1 | ann no 2",
            Verdict::Rejected,
            "input rejected",
        ),
        (
            "fixer ask approval 1 | fixer ask input 2 | ann no 2 | ann yes 1",
            Verdict::Rejected,
            "rejected before",
        ),
    ] {
        let play = Play::of(None, script);
        let closure = play.task().closure.as_ref().unwrap();
        assert_eq!(
            (play.task().verdict, closure.reason.as_str()),
            (Some(verdict), reason),
            "{script}"
        );
        let reopening = if verdict == Verdict::Rejected { "SAY010" } else { "reopened" };
        assert_eq!(Play::of(None, script).play("fixer reopen"), [reopening], "{script}");
    }
}

/// The kind of a settled gate is taken from the task, not from the caller.
#[test]
fn the_kind_of_a_settled_gate_is_the_tasks_own() {
    let play = Play::of(None, "fixer ask checkpoint 1");
    let command = TaskCommand::Settle {
        gate: gate_id("1"),
        handle: "g1".into(),
        kind: GateKind::Approval,
        ending: "answered",
        verdict: Some(Verdict::Approved),
    };
    let events = decide(play.task.as_ref(), &command, &who("ann"), at(10)).unwrap();
    let released =
        |e: &&TaskEvent| matches!(e, TaskEvent::Released { outcome: TaskOutcome::Back, .. });
    assert_eq!(events.iter().filter(released).count(), 1, "{events:?}");
}

#[test]
fn saying_it_again_changes_nothing() {
    for (script, verb) in [
        ("", "ann create"),
        ("", "ann retitle"),
        ("", "fixer require approval"),
        ("", "ann depend"),
        ("", "ann undepend"),
        ("", "fixer start"),
        ("", "fixer ask input 1"),
        ("fixer ask input 1", "ann yes 1"),
        ("", "fixer close"),
        ("fixer close", "ann reopen"),
        ("", "ann defer"),
        ("", "fixer fail"),
        ("", "fixer block"),
        ("", "ann delete"),
        // Closed by a person's approval; the agent does not know that yet and says it is complete.
        ("fixer require approval | fixer ask approval 1 | ann yes 1", "fixer close"),
    ] {
        let mut play = Play::of(None, script);
        play.play(verb);
        assert_eq!(play.play(verb), ["="], "{verb}");
    }
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let made = |change: fn(&mut TaskSpec)| {
        let mut created = created();
        change(&mut created);
        decide(None, &TaskCommand::Create(Box::new(created)), &who("ann"), at(10))
            .err()
            .map(|r| r.code)
    };
    assert_eq!(made(|_| {}), None);
    assert_eq!(made(|c| c.title = " ".into()), Some(Code::BadValue));
    assert_eq!(made(|c| c.title = "x".repeat(TITLE_BYTES_MAX + 1)), Some(Code::TooLarge));
    assert_eq!(made(|c| c.body = "x".repeat(TEXT_BYTES_MAX + 1)), Some(Code::TooLarge));
    let word = || "x".repeat(WORD_BYTES_MAX + 1);
    assert_eq!(made(|c| c.sort = "x".repeat(WORD_BYTES_MAX + 1)), Some(Code::TooLarge));
    assert_eq!(made(|c| c.size = Some("x".repeat(WORD_BYTES_MAX + 1))), Some(Code::TooLarge));
    let many = |c: &mut TaskSpec| c.labels = (0..=LABELS_MAX).map(|n| n.to_string()).collect();
    assert_eq!(made(many), Some(Code::TooLarge));
    assert_eq!(made(|c| c.priority = 5), Some(Code::BadValue));
    assert_eq!(made(|c| c.requires = Some(GateKind::Input)), Some(Code::BadValue));

    let play = Play::of(None, "");
    let long = || "x".repeat(TEXT_BYTES_MAX + 1);
    let edit = |edit| TaskCommand::Edit(Box::new(edit));
    for (command, expected) in [
        (TaskCommand::Note { text: "\n".into(), as_agent: false }, Code::BadValue),
        (TaskCommand::Note { text: long(), as_agent: false }, Code::TooLarge),
        (TaskCommand::Close { reason: long(), open_children: 0 }, Code::TooLarge),
        (TaskCommand::Fail { reason: long() }, Code::TooLarge),
        (edit(TaskEdit { title: Some(String::new()), ..TaskEdit::default() }), Code::BadValue),
        (edit(TaskEdit { priority: Some(9), ..TaskEdit::default() }), Code::BadValue),
        (edit(TaskEdit { add_labels: [word()].into(), ..TaskEdit::default() }), Code::TooLarge),
        (edit(TaskEdit { size: Some(Some(word())), ..TaskEdit::default() }), Code::TooLarge),
        (edit(TaskEdit { parent: Some(Some(task_id(1))), ..TaskEdit::default() }), Code::Cycle),
    ] {
        let outcome = decide(play.task.as_ref(), &command, &who("ann"), at(10));
        assert_eq!(outcome.err().map(|r| r.code), Some(expected), "{command:.80?}");
    }
}

/// Returns one event of each kind.
fn every_event() -> Vec<TaskEvent> {
    let script = "ann retitle | ann depend | ann undepend | fixer start | fixer note | ann defer \
                  | fixer ask input 1 | ann yes 1 | fixer close | ann reopen | fixer fail \
                  | fixer block | ann delete";
    let mut events: Vec<TaskEvent> = vec![];
    for (event, _) in
        Play::of(Some(GateKind::Review), "").log.into_iter().chain(Play::of(None, script).log)
    {
        if events.iter().all(|e| e.name() != event.name()) {
            events.push(event);
        }
    }
    assert_eq!(events.len(), 15, "an event is missing here");
    events
}

#[test]
fn every_event_survives_its_json() {
    let set_to_nothing = TaskEdit {
        size: Some(None),
        parent: Some(None),
        requires: Some(None),
        add_labels: BTreeSet::from(["a".into()]),
        remove_labels: BTreeSet::from(["web".into()]),
        ..TaskEdit::default()
    };
    let set = TaskEdit {
        size: Some(Some("big".into())),
        requires: Some(Some(GateKind::Review)),
        ..TaskEdit::default()
    };
    let edits = [set_to_nothing, set].map(|edit| TaskEvent::Edited(Box::new(edit)));
    let in_a_run = TaskEvent::Started { by: "fixer".into(), run: Some(run_id(1)), fence: u64::MAX };
    for event in every_event().into_iter().chain(edits).chain([in_a_run]) {
        assert_eq!(through_json(&event), event);
    }
}

#[test]
fn an_event_of_a_later_version_changes_nothing() {
    let event: TaskEvent =
        serde_json::from_str(r#"{"event": "estimated", "hours": [1, 2]}"#).unwrap();
    assert_eq!(event, TaskEvent::Unknown);
    let play = Play::of(None, "fixer ask input 1");
    assert_eq!(apply(play.task.clone(), &event, at(50)), play.task);
    assert_eq!(apply(None, &event, at(50)), None);
}

#[test]
fn a_gate_that_is_settled_twice_in_the_log_counts_once() {
    let mut play = Play::of(None, "fixer ask input 1 | fixer ask input 2 | ann yes 1");
    let (settled, at) = play.log.last().unwrap().clone();
    let again: TaskEvent = match settled {
        TaskEvent::Settled { gate, handle, kind, ending, by, .. } => {
            TaskEvent::Settled { gate, handle, kind, ending, by, verdict: Some(Verdict::Rejected) }
        }
        other => panic!("{other:?}"),
    };
    let before = play.task.clone();
    assert_eq!(apply(play.task.take(), &again, at), before);
}
