//! Tests of the receipt of a gate and of its alerts.

use super::{Play, opened};
use crate::gate::{
    DeferredAction, FollowUpRun, GateContext, LoggedEvent, Receipt, alerts, follow_up_run,
    may_have_alerts,
};
use crate::run::{LeaseHolder, Run, RunEndKind, RunSpec, RunState, RunUsage};
use crate::task::{Task, TaskSpec, TaskStatus};
use crate::testing::{at, run_id, space, task_id, who};
use crate::{EntryPoint, GateKind, Role, Timestamp};

/// Returns the events of a script, as if the worker had sent them all.
fn happened(play: &Play) -> Vec<LoggedEvent> {
    let (by, door) = (String::from("worker"), EntryPoint::Worker);
    let one = |(event, at): &(super::GateEvent, Timestamp)| LoggedEvent {
        at: *at,
        event: event.clone(),
        by: by.clone(),
        door,
    };
    play.log.iter().map(one).collect()
}

fn way(script: &str) -> String {
    let mut play = Play::with(|rules| (rules.kind, rules.held) = (GateKind::Input, None));
    play.play(script);
    let receipt = Receipt::of(&happened(&play));
    let step = |step: &crate::gate::ReceiptStep| {
        let note = if step.note.is_empty() { String::new() } else { format!(" ({})", step.note) };
        format!("{} {}s {}{note}", step.stage.as_str(), step.at.as_micros() / 1_000_000, step.by)
    };
    receipt.steps.iter().map(step).collect::<Vec<_>>().join(" | ")
}

#[test]
fn each_step_is_read_off_the_log() {
    for (script, expected) in [
        (
            "fixer open | @20 | ann see | @30 | ann yes | @31 | fixer deliver | @40 | fixer acknowledge",
            "asked 10s fixer | seen 20s ann | answered 30s ann (approved) | delivered 31s worker | \
             acted 40s worker (went on)",
        ),
        (
            "fixer open | bob see | ann claim | ann no | opal fail delivery | fixer acknowledge",
            "asked 10s fixer | seen 10s bob | answered 10s ann (rejected) | \
             failed 10s worker (agent did not start) | delivered 10s worker | acted 10s worker (went on)",
        ),
        (
            "fixer open | fixer revise | @100 | relay tick",
            "asked 10s fixer | ended 100s worker (expired)",
        ),
        (
            "fixer open | fixer withdraw",
            "asked 10s fixer | ended 10s fixer (withdrawn: not needed)",
        ),
        // An event that came too late is no step.
        (
            "fixer open | ann yes | bob no | bob see",
            "asked 10s fixer | answered 10s ann (approved)",
        ),
    ] {
        assert_eq!(way(script), expected, "{script}");
    }
}

#[test]
fn what_stands_behind_the_end_in_the_log_is_no_step() {
    let mut play = Play::with(|rules| rules.kind = GateKind::Input);
    play.play("fixer open | ann yes");
    let mut log = happened(&play);
    log.push(LoggedEvent { event: log[1].event.clone(), at: at(99), ..log[1].clone() });
    assert_eq!(Receipt::of(&log).steps.len(), 2);
    assert_eq!(Receipt::of(&log).last(crate::gate::ReceiptStage::Answered).unwrap().at, at(10));
}

fn task() -> Task {
    let created = TaskSpec {
        id: task_id(1),
        space: space(),
        handle: "t0001".into(),
        title: "Build it".into(),
        body: String::new(),
        sort: "task".into(),
        priority: 2,
        size: None,
        labels: Default::default(),
        parent: None,
        blocked_by: Default::default(),
        requires: None,
        created_by: "ann".into(),
    };
    crate::task::apply(None, &crate::task::TaskEvent::Created(Box::new(created)), at(0)).unwrap()
}

fn gate_id(n: u128) -> crate::GateId {
    crate::GateId::mint(at(0), n)
}

fn run(n: u128, fence: u64, started: i64, state: RunState) -> Run {
    let started_by = RunSpec {
        id: run_id(n),
        space: space(),
        task: task_id(1),
        agent: "fixer".into(),
        launcher: "lea".into(),
        fence,
        lease_until: at(started + 60),
        holder: LeaseHolder::default(),
        session: None,
    };
    Run {
        started: started_by,
        started_at: at(started),
        session: None,
        lease_until: at(started + 60),
        state,
    }
}

fn ended(how: RunEndKind, seconds: i64) -> RunState {
    RunState::Ended { how, note: "so it went".into(), spent: RunUsage::default(), at: at(seconds) }
}

#[test]
fn the_turn_that_went_on_is_the_one_that_asked_or_the_next() {
    let mut play = Play::with(|rules| rules.kind = GateKind::Input);
    play.play("fixer open | @50 | ann yes");
    let gate = play.gate.unwrap();
    let parked = run(1, 1, 1, ended(RunEndKind::Asked, 12));
    let next = run(7, 2, 55, RunState::Running);
    let later = run(8, 3, 70, ended(RunEndKind::Completed, 80));
    let number = |runs: &[Run]| follow_up_run(&gate, runs).map(|run| run.started.fence);
    assert_eq!(number(std::slice::from_ref(&parked)), None);
    assert_eq!(number(&[later.clone(), next.clone(), parked]), Some(2));
    // Live: it got the answer in the same turn.
    let live = run(1, 1, 1, ended(RunEndKind::Completed, 90));
    assert_eq!(number(&[later.clone(), next, live.clone()]), Some(1));
    let known = FollowUpRun::of(&live, &[gate]);
    assert_eq!((known.state.as_str(), known.note.as_str()), ("completed", "so it went"));
    assert_eq!((known.ended_at, known.commit), (Some(at(90)), None));
}

/// Returns the alerts after a script at a time in minutes, with these runs.
fn hangs(script: &str, minutes: i64, asked_in: Option<&Run>, last_run: Option<&Run>) -> String {
    hangs_with(script, minutes, GateContext { asked_in, last_run, ..GateContext::default() })
}

fn hangs_with(script: &str, minutes: i64, around: GateContext<'_>) -> String {
    let mut play = Play::with(|rules| {
        (rules.kind, rules.held, rules.deadline) = (GateKind::Input, None, None);
    });
    play.play(script);
    let gate = play.gate.unwrap();
    let found = alerts(&gate, &around, at(minutes * 60));
    assert!(
        found.is_empty() || may_have_alerts(&gate, at(minutes * 60)),
        "it would not be looked at"
    );
    assert!(found.iter().all(|alert| !alert.hint.is_empty() && alert.gate == "g0001"));
    found.iter().map(|alert| alert.trouble.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_step_that_hangs_is_an_alert() {
    let parked = run(1, 1, 1, ended(RunEndKind::Asked, 12));
    let answered = "fixer open | ann see | ann yes";
    for (script, minutes, expected) in [
        // No person looks. A person who has seen it may think for days.
        ("fixer open", 29, ""),
        ("fixer open", 31, "unseen"),
        ("fixer open", 60 * 24 * 30, "unseen"),
        ("fixer open | ann see", 60 * 24 * 30, ""),
        ("fixer open | ann claim", 60, ""),
        ("fixer open | ann snooze", 60, ""),
        // The asker does not pick up the answer.
        (answered, 4, ""),
        (answered, 6, "undelivered"),
        (answered, 60 * 24 * 8, ""),
        // An asker that withdrew its question knows; an asker that is no agent finds the answer in a list.
        ("fixer open | fixer withdraw", 60, ""),
        ("opal open | ann yes", 60, ""),
        // Delivered and not acknowledged.
        ("fixer open | ann yes | fixer deliver", 29, ""),
        ("fixer open | ann yes | fixer deliver", 31, "unacknowledged"),
        ("fixer open | ann yes | fixer deliver | fixer acknowledge", 99, ""),
        // A failed delivery is an alert at once.
        ("fixer open | ann yes | opal fail delivery", 1, "delivery_failed"),
        ("fixer open | ann yes | opal fail delivery | fixer acknowledge", 1, ""),
    ] {
        assert_eq!(hangs(script, minutes, Some(&parked), None), expected, "{script} at {minutes}");
    }
}

#[test]
fn an_agent_that_is_at_work_does_not_hang_and_a_dead_one_does() {
    let open = "fixer open | ann see";
    let answered = "fixer open | ann see | ann yes";
    let alive = Run { lease_until: at(6_000), ..run(1, 1, 1, RunState::Running) };
    let dead = run(1, 1, 1, RunState::Running);
    let lost = run(1, 1, 1, ended(RunEndKind::Lost, 100));
    let next = run(7, 2, 200, ended(RunEndKind::Asked, 300));
    assert_eq!(hangs(open, 10, Some(&alive), None), "");
    assert_eq!(hangs(answered, 10, Some(&alive), None), "");
    assert_eq!(hangs(open, 10, Some(&dead), None), "asker_lost");
    assert_eq!(hangs(answered, 10, Some(&dead), None), "undelivered");
    assert_eq!(hangs(open, 10, Some(&lost), None), "asker_lost");
    // A worker has taken up the task since.
    assert_eq!(hangs(open, 10, Some(&lost), Some(&next)), "");
    assert_eq!(hangs(answered, 10, Some(&lost), Some(&alive)), "");
}

#[test]
fn the_task_may_say_why_nobody_comes() {
    let answered = "fixer open | ann see | ann yes";
    let parked = run(1, 1, 1, ended(RunEndKind::Asked, 12));
    let with = |change: fn(&mut Task)| {
        let mut task = task();
        change(&mut task);
        let around = GateContext {
            asked_in: Some(&parked),
            last_run: Some(&parked),
            task: Some(&task),
            ..GateContext::default()
        };
        hangs_with(answered, 10, around)
    };
    assert_eq!(with(|_| ()), "undelivered", "it is ready, and no worker takes it");
    assert_eq!(with(|t| t.waits_for.extend([(gate_id(9), GateKind::Input)])), "");
    // A task that was taken, deferred or is stuck may not lose an answer.
    for status in [
        TaskStatus::InProgress,
        TaskStatus::Deferred,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Deleted,
    ] {
        let task = Task { status, ..task() };
        let around =
            GateContext { asked_in: Some(&parked), task: Some(&task), ..GateContext::default() };
        assert_eq!(hangs_with(answered, 10, around), "undelivered", "{status}");
    }
    // After a sign-off the branch still has to be merged.
    assert_eq!(with(|t| t.status = TaskStatus::Closed), "undelivered");
}

#[test]
fn what_is_approved_and_not_done_is_an_alert_unless_it_is_a_call() {
    let held = |held: DeferredAction| {
        let mut play = Play::with(|rules| rules.held = Some(held));
        play.play("opal open | ann yes | opal acknowledge");
        let gate = play.gate.unwrap();
        assert_eq!(gate.opened.lineage.role, Role::Operator);
        alerts(&gate, &GateContext::default(), at(600))
    };
    let spawn =
        DeferredAction::Lifecycle { action: crate::LifecycleAction::Spawn, agent: "x".into() };
    assert_eq!(held(spawn)[0].trouble.as_str(), "undone");
    let call = DeferredAction::Call { digest: crate::Digest::of(&1), beside: None };
    assert_eq!(held(call), []);
    assert_eq!(opened(&who("fixer")).held, None);
}
