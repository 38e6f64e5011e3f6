//! Every call of the line.

use super::stage::Stage;
use super::{About, Need, check};
use crate::api::ulid;
use sayso_core::gate::LifecycleAction;
use sayso_core::task::TaskEdit;
use sayso_core::{Answer, GateId, GateKind, Timestamp};
use sayso_engine::{CALLS, GateFilter, InboxFilter, LINE_CALLS, TaskFilter, ToolCall};
use serde_json::{Value, json};

use About::{Gate, Message, Nothing, Task};
use Need::{All, Any, Never, One};

/// A call: its name, who may make it, what it is about, and whether it only looks.
type Row = (&'static str, Need, About, bool);

const LOOKS: bool = true;
const ACTS: bool = false;

const TRACKERS: Need = One("TR");
const ROWS: &[Row] = &[
    ("ask", One("Q"), Nothing, ACTS),
    ("ask_once", One("Q"), Nothing, ACTS),
    ("revise", Never, Gate, ACTS),
    // What is seen is noted of people alone, and only of gates they may know of.
    ("see", Any, Nothing, ACTS),
    ("see_card", Any, Nothing, ACTS),
    ("snooze", One("A"), Gate, ACTS),
    ("claim", One("A"), Gate, ACTS),
    ("release", One("A"), Gate, ACTS),
    ("delegate", One("A"), Gate, ACTS),
    ("go_away", One("A"), Nothing, ACTS),
    ("come_back", One("A"), Nothing, ACTS),
    ("extend", One("A"), Gate, ACTS),
    ("answer", One("A"), Gate, ACTS),
    ("answer_card", One("A"), Gate, ACTS),
    ("answer_many", Any, Nothing, ACTS),
    ("withdraw", One("A"), Gate, ACTS),
    ("clear_awaiting", All("AT"), Task, ACTS),
    ("deliver", One("T"), Gate, ACTS),
    ("acknowledge", One("T"), Gate, ACTS),
    ("fail_delivery", One("O"), Gate, ACTS),
    ("give_up_delivery", One("O"), Gate, ACTS),
    ("gate_for", One("R"), Gate, LOOKS),
    ("gates", Any, Nothing, LOOKS),
    ("inbox", Any, Nothing, LOOKS),
    ("card", One("R"), Gate, LOOKS),
    ("receipt", One("R"), Gate, LOOKS),
    ("alerts", Any, Nothing, LOOKS),
    ("undelivered", Any, Nothing, LOOKS),
    ("rule_on_call", One("Q"), Nothing, ACTS),
    ("rule_on_prompt", One("Q"), Nothing, ACTS),
    ("rule_in_place_of_user", One("Q"), Nothing, ACTS),
    ("call_has_run", Any, Nothing, ACTS),
    ("prompt_is_gone", All("AT"), Gate, ACTS),
    ("session_has_ended", Any, Nothing, ACTS),
    // Nothing is asked with it here, which is told before anything else.
    ("ask_for_call", Any, Nothing, ACTS),
    ("create_task", One("T"), Nothing, ACTS),
    ("edit_task", One("T"), Task, ACTS),
    ("add_dependency", One("T"), Task, ACTS),
    ("remove_dependency", One("T"), Task, ACTS),
    ("start_task", One("T"), Task, ACTS),
    ("claim_task", One("T"), Task, ACTS),
    ("note", One("T"), Task, ACTS),
    ("reopen_task", One("T"), Task, ACTS),
    ("defer_task", All("AT"), Task, ACTS),
    ("fail_task", All("AT"), Task, ACTS),
    ("block_task", All("AT"), Task, ACTS),
    ("hand_over", All("QT"), Task, ACTS),
    ("close_task", All("AT"), Task, ACTS),
    ("delete_task", All("AT"), Task, ACTS),
    ("news", Any, Nothing, LOOKS),
    ("heard", One("T"), Gate, ACTS),
    ("tell", One("T"), Nothing, ACTS),
    ("read_message", One("T"), Message, ACTS),
    ("messages", Any, Nothing, LOOKS),
    ("mint", One("N"), Nothing, ACTS),
    ("check_may_mint", One("N"), Nothing, ACTS),
    ("revoke", One("N"), Nothing, ACTS),
    ("tokens", One("N"), Nothing, LOOKS),
    ("set_passphrase", One("A"), Nothing, ACTS),
    ("invite", Never, Nothing, ACTS),
    ("dismiss_person", One("N"), Nothing, ACTS),
    ("set", One("N"), Nothing, ACTS),
    ("requests", One("R"), Nothing, LOOKS),
    ("remember", One("A"), Gate, ACTS),
    ("forget", One("N"), Nothing, ACTS),
    ("delete_space", Never, Nothing, ACTS),
    ("request_lifecycle", One("T"), Nothing, ACTS),
    ("delete_agent", One("N"), Nothing, ACTS),
    ("note_nudge", One("O"), Nothing, ACTS),
    ("notices", One("R"), Nothing, LOOKS),
    ("told", One("R"), Gate, LOOKS),
    ("audit_entries", One("U"), Nothing, LOOKS),
    ("audit_rows", One("U"), Nothing, LOOKS),
    ("audit_listed", One("U"), Nothing, LOOKS),
    ("accept_older", One("A"), Nothing, ACTS),
    ("audit_head", One("U"), Nothing, LOOKS),
    ("happened", Any, Nothing, LOOKS),
    ("metrics", One("R"), Nothing, LOOKS),
    ("start_flow", One("O"), Nothing, ACTS),
    ("lead_flow", One("O"), Nothing, ACTS),
    ("go_on", One("O"), Nothing, ACTS),
    ("cancel_flow", One("O"), Nothing, ACTS),
    ("start_run", One("O"), Nothing, ACTS),
    ("renew_run", One("O"), Nothing, ACTS),
    ("name_session", One("O"), Nothing, ACTS),
    ("end_run", One("O"), Nothing, ACTS),
    ("settle_run", One("O"), Nothing, ACTS),
    ("lose_run", One("O"), Nothing, ACTS),
    ("rule_on_completion", One("O"), Nothing, ACTS),
    ("find", Any, Gate, LOOKS),
    ("find_task", Any, Task, LOOKS),
    ("find_gate", Any, Gate, LOOKS),
    ("gate", One("R"), Gate, LOOKS),
    ("count_open_gates", Any, Nothing, LOOKS),
    ("tick", One("R"), Gate, LOOKS),
    ("task", TRACKERS, Task, LOOKS),
    ("tasks", TRACKERS, Nothing, LOOKS),
    ("history", TRACKERS, Task, LOOKS),
    ("task_names", Any, Nothing, LOOKS),
    ("flow", One("R"), Nothing, LOOKS),
    ("flow_history", One("R"), Nothing, LOOKS),
    ("flows", One("R"), Nothing, LOOKS),
    ("ready_flows", One("R"), Nothing, LOOKS),
    ("find_flow", One("R"), Nothing, LOOKS),
    ("run", TRACKERS, Nothing, LOOKS),
    ("runs_of", TRACKERS, Nothing, LOOKS),
    ("live_runs", TRACKERS, Nothing, LOOKS),
    ("settings", TRACKERS, Nothing, LOOKS),
    ("check_settings", One("R"), Nothing, LOOKS),
    ("explain", TRACKERS, Nothing, LOOKS),
    ("check_can_be_remembered", One("R"), Nothing, LOOKS),
    ("remembered", One("R"), Nothing, LOOKS),
    ("away", One("R"), Nothing, LOOKS),
    ("people", One("R"), Nothing, LOOKS),
    ("people_by_token", One("R"), Nothing, LOOKS),
    ("is_deleted", Any, Nothing, LOOKS),
    ("spaces", Any, Nothing, LOOKS),
    ("check_file", One("R"), Nothing, LOOKS),
    ("members", TRACKERS, Nothing, LOOKS),
    ("member", TRACKERS, Nothing, LOOKS),
    ("pending", Any, Nothing, LOOKS),
    ("orders", One("O"), Nothing, LOOKS),
    ("stationed", One("O"), Nothing, LOOKS),
    ("take_order", One("O"), Nothing, ACTS),
    ("put_off_order", One("O"), Nothing, ACTS),
    ("admit_agent", One("O"), Nothing, ACTS),
    ("settle_order", One("O"), Nothing, ACTS),
    ("dismiss_agent", One("O"), Nothing, ACTS),
    ("has_nudges", One("O"), Nothing, LOOKS),
    ("claim_nudges", One("O"), Nothing, ACTS),
    ("nudge_held_back", One("O"), Nothing, LOOKS),
    ("end_nudge", One("O"), Nothing, ACTS),
    ("next_notice", One("O"), Nothing, LOOKS),
    ("claim_notices", One("O"), Nothing, ACTS),
    ("settle_notice", One("O"), Nothing, ACTS),
    ("fail_notice", One("O"), Nothing, ACTS),
    ("to_be_landed", One("O"), Nothing, LOOKS),
    ("greet", Any, Nothing, LOOKS),
    ("has_passphrase", Any, Nothing, LOOKS),
    ("unlock", Any, Nothing, ACTS),
    ("lock", Any, Nothing, ACTS),
    ("log_out", Any, Nothing, ACTS),
    ("verify_audit", One("U"), Nothing, LOOKS),
    ("note_refusal", Any, Nothing, ACTS),
    ("wait", One("R"), Gate, LOOKS),
    ("changes", Any, Nothing, LOOKS),
];

/// Those for whoever has no credential yet; they have tests of their own.
const LOGINS: [&str; 2] = ["log_in", "join"];

pub(super) fn check_all(stage: &mut Stage) -> usize {
    let there = CALLS.iter().chain(LINE_CALLS).filter(|call| !LOGINS.contains(call));
    for call in there.clone() {
        let rows = ROWS.iter().filter(|(name, ..)| name == call).count();
        assert_eq!(rows, 1, "{call} has no row in the table of calls");
    }
    assert_eq!(ROWS.len(), there.count());
    let mut cells = 0;
    stage.is_line = true;
    for (call, need, about, is_safe) in ROWS.iter().copied() {
        cells += check(stage, call, (need, about, is_safe), &|stage, holder, name| {
            // Programs bring a token; what comes with a cookie is no program.
            if holder.is_browser() {
                return None;
            }
            let body = json!({"with": with(stage, call, name)});
            let path = format!("/line/{}/{call}", stage.server.space);
            Some(stage.send(holder, "POST", &path, Some(&body)))
        });
    }
    stage.is_line = false;
    cells
}

/// What a call is made with. Where only some may make it, that is judged before this is read.
fn with(stage: &Stage, call: &str, name: &str) -> Value {
    let at = Timestamp::from_micros(stage.open.opened_at.as_micros() + 3_600_000_000);
    let digest = stage.digest(name);
    let id = || name.parse::<GateId>().unwrap_or(stage.open.opened.id);
    // A task's handle is for people; calls of the line take ids.
    let task = if name.len() == 26 { name.to_owned() } else { stage.task.to_string() };
    let tool = ToolCall {
        tool: "Bash".into(),
        arguments: json!({"command": "ls"}),
        command: Some("ls".into()),
        paths: vec![],
        root: None,
    };
    let card = || {
        let shape = sayso_core::AnswerShape::Text;
        sayso_core::gate::Card {
            question: "Mine?".into(),
            narrative: String::new(),
            facts: vec![],
            shape,
        }
    };
    let ask = || {
        let id = GateId::mint(at, u128::from(fresh()));
        sayso_engine::NewGate::new(id, GateKind::Decision, None, card())
    };
    let say = || {
        let (answer, digest) = (Answer::text("yes"), digest.clone());
        sayso_engine::CardAnswer { gate: id(), answer, digest, same: None }
    };
    match call {
        "ask" | "ask_once" => json!([ask()]),
        "revise" => json!([name, card()]),
        "see" => json!([[]]),
        "snooze" | "claim" | "extend" => json!([name, at]),
        "release" | "deliver" | "acknowledge" | "gate_for" | "card" | "receipt" | "told"
        | "gate" | "tick" => json!([name]),
        "pending" => json!([stage.open.opened.id]),
        "delegate" => json!([name, "ann", "busy"]),
        "go_away" => json!([at, null]),
        "answer" => json!([name, Answer::text("yes"), digest]),
        "answer_card" => json!([say()]),
        "answer_many" => json!([[]]),
        "withdraw" | "prompt_is_gone" => json!([name, "no"]),
        "clear_awaiting" | "reopen_task" | "fail_task" | "block_task" => json!([task, "why"]),
        "gates" => json!([GateFilter { limit: 100, ..GateFilter::default() }]),
        "inbox" => json!([InboxFilter { limit: 100, ..InboxFilter::default() }]),
        "alerts" | "undelivered" | "news" | "notices" | "audit_entries" | "count_open_gates" => {
            json!([100])
        }
        "rule_on_call" | "rule_in_place_of_user" | "call_has_run" => json!([tool]),
        "rule_on_prompt" => json!([tool, "s"]),
        "session_has_ended" => json!(["s"]),
        "ask_for_call" => json!([tool, []]),
        "create_task" => {
            json!([{"id": ulid(fresh()), "title": "Another", "body": "", "sort": "task",
            "priority": 2, "size": null, "labels": [], "parent": null, "blocked_by": [], "requires": null,
            "awaiting": null}])
        }
        "edit_task" => json!([task, TaskEdit { priority: Some(3), ..TaskEdit::default() }]),
        "add_dependency" | "remove_dependency" => json!([task, task]),
        "start_task" | "defer_task" => json!([task, null]),
        "claim_task" | "task" | "history" => json!([task]),
        "note" => json!([task, "hm", false]),
        "hand_over" => json!([task, GateKind::Review, null]),
        "close_task" | "delete_task" => json!([task, "done", false]),
        "heard" => json!([{"text": "x", "what": {"Ending": name}}]),
        "tell" => json!([ulid(fresh()), "tester", "psst"]),
        "read_message" => json!([name]),
        "messages" => json!([null, false, null, 100]),
        "set_passphrase" => json!([null, "x"]),
        "requests" => json!([Timestamp::from_micros(0), null, 100]),
        "remember" => json!([name, sayso_engine::ApprovalScope::Space, at]),
        "request_lifecycle" => json!([LifecycleAction::Spawn, "nobody", "why"]),
        "audit_rows" | "audit_listed" | "happened" => json!([0, 100]),
        "accept_older" => json!([0]),
        "metrics" => json!([Timestamp::from_micros(0)]),
        "find" | "find_task" | "find_gate" => json!([name]),
        "tasks" => json!([TaskFilter { limit: 100, ..TaskFilter::default() }]),
        "task_names" => json!([[stage.task]]),
        "settings" => json!([null]),
        "explain" => json!([{"on": "tool", "tool": "Bash", "command": "ls"}]),
        "fail_delivery" | "give_up_delivery" => json!([name, "why"]),
        "mint" => {
            json!([{"role": "agent", "name": "another", "task": null, "run": null, "expires_at": null, "scopes": null}])
        }
        "revoke" | "dismiss_person" | "forget" | "delete_space" => json!(["nothing"]),
        "tokens" => json!([null, 100]),
        "invite" => json!(["another", false]),
        "set" => json!([[]]),
        "delete_agent" => json!(["nothing", "why", false]),
        "wait" => json!([name, {"secs": 0, "nanos": 0}]),
        "changes" => json!([0, {"secs": 0, "nanos": 0}]),
        _ => json!(null),
    }
}

/// A number that was not given before.
fn fresh() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(5_000_000);
    LAST.fetch_add(1, Ordering::Relaxed)
}
