//! Calls that come in over a line: what each credential is shown, whatever it asks for.

use crate::bench::{Bench, ann, bob, coder, new_task, question, say};
use sayso_core::gate::{Gate, LifecycleAction};
use sayso_core::task::TaskEdit;
use sayso_core::{
    Actor, Answer, Code, EntryPoint, GateId, GateKind, MessageId, Permission, Role, RunId, TaskId,
    Timestamp,
};
use sayso_engine::{
    ApprovalScope, CALLS, CardAnswer, Desk, Error, GateFilter, InboxFilter, LocalDesk, NewToken,
    RemoteCaller, Result, TaskFilter, ToolCall, take_call,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What stands in every gate of others, and nowhere else.
const MARKER: &str = "zebra-crossing";

/// Somebody's gates, and somebody else with a credential.
struct Stage {
    bench: Bench,
    open: Gate,
    ended: Gate,
    task: TaskId,
}

impl Stage {
    fn new() -> Self {
        let bench = Bench::memory();
        let desk = &bench.desk;
        let mut ask = question(desk.new_gate_id(), &format!("May I pass the {MARKER}?"));
        ask.card.narrative = format!("At the {MARKER}.");
        let open = desk.ask(&coder(), ask).unwrap();
        let ended = bench.ask(&format!("Which {MARKER}?"));
        let ended =
            say(desk, &ann(), ended.opened.id, &format!("the {MARKER} on the left")).unwrap();
        let task = bench.task("A task everybody sees");
        let hand = format!("Is the {MARKER} wide enough?");
        desk.hand_over(&coder(), task, GateKind::Input, Some(hand)).unwrap();
        Self { bench, open, ended, task }
    }

    fn desk(&self) -> &Desk {
        &self.bench.desk
    }

    fn local(&self) -> &LocalDesk {
        self.bench.desk.local().unwrap()
    }

    fn caller(&self, role: Role, name: &str, scopes: Option<BTreeSet<Permission>>) -> RemoteCaller {
        let new =
            NewToken { role, name: name.into(), task: None, run: None, expires_at: None, scopes };
        let minted = self.desk().mint(&ann(), new).unwrap();
        RemoteCaller::by(self.local(), &minted.secret, EntryPoint::Http, "0").unwrap()
    }

    fn call(&self, caller: &RemoteCaller, call: &str, with: &Value) -> Result<String> {
        take_call(self.local(), caller, None, None, call, &with.to_string())
    }

    /// What a call is made with, so that it is about what is another's. Those that only operators, admins or
    /// readers make need nothing: nobody looks at it.
    fn with(&self, call: &str) -> Value {
        let desk = self.desk();
        let (gate, task, at) =
            (self.open.opened.id, self.task, desk.now().plus_micros(3_600_000_000));
        let digest = self.open.digest.as_str();
        let tool = ToolCall {
            tool: "Bash".into(),
            arguments: json!({"command": "ls"}),
            command: Some("ls".into()),
            paths: vec![],
            root: None,
        };
        let said = || CardAnswer {
            gate,
            answer: Answer::text("yes"),
            digest: digest.to_owned(),
            same: None,
        };
        match call {
            "ask" | "ask_once" => json!([question(gate, "Mine?")]),
            "revise" => json!([gate, question(gate, "Mine?").card]),
            "see" => json!([[]]),
            "see_card" => json!([desk.card(&ann(), gate).unwrap()]),
            "snooze" | "claim" | "extend" => json!([gate, at]),
            "release" | "deliver" | "acknowledge" | "gate_for" | "card" | "receipt" | "told"
            | "gate" | "tick" | "pending" => json!([gate]),
            "delegate" => json!([gate, "bob", "busy"]),
            "go_away" => json!([at, null]),
            "answer" => json!([gate, Answer::text("yes"), digest]),
            "answer_card" => json!([said()]),
            "answer_many" => json!([[said()]]),
            "withdraw" | "prompt_is_gone" => json!([gate, "no"]),
            "clear_awaiting" | "reopen_task" | "fail_task" | "block_task" => json!([task, "why"]),
            "gates" => json!([GateFilter { limit: 100, ..GateFilter::default() }]),
            "inbox" => json!([InboxFilter { limit: 100, ..InboxFilter::default() }]),
            "alerts" | "undelivered" | "news" | "notices" | "audit_entries"
            | "count_open_gates" => json!([100]),
            "rule_on_call" | "rule_in_place_of_user" | "call_has_run" => json!([tool]),
            "rule_on_prompt" => json!([tool, "s"]),
            "session_has_ended" => json!(["s"]),
            "ask_for_call" => json!([tool, []]),
            "create_task" => json!([new_task(desk.new_task_id(), "Another")]),
            "edit_task" => {
                json!([task, TaskEdit { title: Some("x".into()), ..TaskEdit::default() }])
            }
            "add_dependency" | "remove_dependency" => json!([task, task]),
            "start_task" | "defer_task" => json!([task, null]),
            "claim_task" | "task" | "history" => json!([task]),
            "note" => json!([task, "hm", false]),
            "hand_over" => json!([task, GateKind::Input, null]),
            "close_task" | "delete_task" => json!([task, "done", false]),
            "heard" => json!([desk.news(&coder(), 1).unwrap().pop().unwrap()]),
            "tell" => json!([MessageId::mint(desk.now(), 7), "coder", "psst"]),
            "read_message" => json!(["m0"]),
            "messages" => json!([null, false, null, 100]),
            "set_passphrase" => json!([null, "correct horse battery"]),
            "requests" => json!([Timestamp::from_micros(0), null, 100]),
            "remember" => json!([gate, ApprovalScope::Space, at]),
            "request_lifecycle" => json!([LifecycleAction::Spawn, "coder", "why"]),
            "audit_rows" | "audit_listed" => json!([0, 100]),
            "accept_older" => json!([0]),
            "happened" => json!([0, 100]),
            "metrics" => json!([Timestamp::from_micros(0)]),
            // One letter fits several of them.
            "find" | "find_task" | "find_gate" => json!([&self.open.handle()[..1]]),
            "tasks" => json!([TaskFilter { limit: 100, ..TaskFilter::default() }]),
            "task_names" => json!([[task]]),
            "run" => json!([RunId::mint(desk.now(), 7)]),
            "runs_of" => json!([task, 100]),
            "settings" => json!([null]),
            "explain" => json!([{"on": "tool", "tool": "Bash", "command": "ls"}]),
            "member" => json!(["coder"]),
            // Nothing goes along with it.
            _ => json!(null),
        }
    }
}

/// What is said, whether it is a yes or a no.
fn said(outcome: &Result<String>) -> String {
    match outcome {
        Ok(answer) => answer.clone(),
        Err(error) => format!("{error} {}", error.hint().unwrap_or_default()),
    }
}

/// Every call there is, with an agent's credential: nothing of another's gate comes back, not even its name.
#[test]
fn an_agent_sees_nothing_of_what_others_ask() {
    let (mut answered, mut refused, mut unread) = (0, 0, vec![]);
    for call in CALLS {
        let stage = Stage::new();
        let eve = stage.caller(Role::Agent, "eve", None);
        let with = stage.with(call);
        let outcome = stage.call(&eve, call, &with);
        let said = said(&outcome);
        if said.contains("cannot be read") {
            unread.push(*call);
            continue;
        }
        assert!(!said.contains(MARKER), "{call}: {said}");
        let handle = stage.open.handle();
        // A refusal names what the caller named; of several answers each has its own.
        let is_refused = outcome.is_err() || *call == "answer_many";
        assert!(is_refused || !said.contains(handle), "{call}: {said}");
        match outcome {
            Ok(_) => answered += 1,
            Err(_) => refused += 1,
        }
        let is_open = stage.desk().gate(stage.open.opened.id).unwrap().is_open();
        assert!(is_open, "{call} ended another's gate");
    }
    assert_eq!(answered + refused + unread.len(), CALLS.len());
    assert!(answered >= 20 && refused >= 60, "{answered} {refused}");
    // Deeds of those who look after a space; agents are refused them where those are tested.
    let of_admins = [
        "mint",
        "revoke",
        "tokens",
        "invite",
        "dismiss_person",
        "set",
        "forget",
        "delete_space",
        "delete_agent",
    ];
    assert_eq!(unread, of_admins, "what goes along with these is not known here");
}

/// The same calls by a person: what the test above looks for is really there to be seen.
#[test]
fn a_person_sees_it() {
    for call in ["tick", "gate", "gate_for", "card", "receipt", "inbox", "gates", "undelivered"] {
        let stage = Stage::new();
        let bob = stage.caller(Role::Human, "bob", None);
        let said = said(&stage.call(&bob, call, &stage.with(call)));
        let own = ["receipt", "undelivered"].contains(&call);
        assert!(said.contains(MARKER) || own, "{call}: {said}");
    }
}

/// Whoever types too little is shown what is theirs to read, and is taken to mean it where it is one thing.
#[test]
fn what_is_suggested_is_ones_own() {
    let stage = Stage::new();
    let desk = stage.desk();
    let eve = stage.caller(Role::Agent, "eve", None);
    let nothing = stage.call(&eve, "find_gate", &json!(["g"])).unwrap_err();
    let none = stage.call(&eve, "find_gate", &json!(["gzzzz"])).unwrap_err();
    assert_eq!((nothing.code(), nothing.hint()), (Code::NotFound, none.hint()));
    let eves = Actor { name: "eve".into(), ..coder() };
    let own = desk.ask(&eves, question(desk.new_gate_id(), "Mine?")).unwrap();
    let found = stage.call(&eve, "find_gate", &json!(["g"])).unwrap();
    assert_eq!(found, json!(own.opened.id).to_string());
    let bob = stage.caller(Role::Human, "bob", None);
    let all = stage.call(&bob, "find_gate", &json!(["g"])).unwrap_err();
    assert!(all.hint().unwrap().contains(stage.open.handle()), "{all:?}");
}

/// Whoever follows the chain hears of their own gates; and who has seen more than there is begins at its end.
#[test]
fn changes_are_ones_own() {
    let stage = Stage::new();
    let eve = stage.caller(Role::Agent, "eve", None).actor;
    let desk = stage.local();
    let end = desk.changes(None).unwrap().seen;
    let heard = desk.changes_for(&eve, Some(0)).unwrap();
    assert_eq!((heard.seen, heard.gates), (end, vec![]));
    let all: BTreeSet<GateId> =
        desk.changes_for(&bob(), Some(0)).unwrap().gates.into_iter().collect();
    assert!(all.contains(&stage.open.opened.id) && all.contains(&stage.ended.opened.id));
    let own = desk.changes_for(&coder(), Some(0)).unwrap().gates;
    assert!(own.contains(&stage.open.opened.id), "{own:?}");
    assert_eq!(desk.changes(Some(end + 1_000)).unwrap().seen, end);
    let happened = stage.desk().happened(&ann(), Some(end + 1_000), 10).unwrap();
    assert_eq!((happened.seen, happened.entries.len()), (end, 0));
}

/// A credential that only asks sees no tasks, runs, agents or policies; it asks, and hears the answer.
#[test]
fn a_credential_that_only_asks_reads_nothing_else() {
    let stage = Stage::new();
    for role in [Role::Agent, Role::Service] {
        let only = stage.caller(role, "job", Some(BTreeSet::from([Permission::Ask])));
        for call in
            ["task", "tasks", "history", "runs_of", "live_runs", "settings", "explain", "members"]
        {
            let refused = stage.call(&only, call, &stage.with(call));
            assert!(
                matches!(&refused, Err(Error::Refused(no)) if no.code == Code::NotAllowed),
                "{call}: {refused:?}"
            );
        }
        let id = stage.desk().new_gate_id();
        stage.call(&only, "ask", &json!([question(id, "Mine?")])).unwrap();
        stage.call(&only, "gate", &json!([id])).unwrap();
    }
}

/// Figures are for a credential that is for nothing else.
#[test]
fn a_credential_for_figures_sees_no_gate() {
    let stage = Stage::new();
    let meter =
        stage.caller(Role::Auditor, "prometheus", Some(BTreeSet::from([Permission::Measure])));
    stage.local().count_waiting(&meter.actor).unwrap();
    for call in ["gate", "inbox", "gates", "tasks", "audit_entries"] {
        let said = said(&stage.call(&meter, call, &stage.with(call)));
        assert!(!said.contains(MARKER), "{call}: {said}");
    }
    let eve = stage.caller(Role::Agent, "eve", None);
    assert_eq!(stage.local().count_waiting(&eve.actor).unwrap_err().code(), Code::NotAllowed);
}

/// What a person is being asked about stays as they see it: whatever the question is.
#[test]
fn an_agent_does_not_change_what_a_person_is_asked_about() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    let edits = [
        TaskEdit { title: Some("Delete it".into()), ..TaskEdit::default() },
        TaskEdit { body: Some("All of it.".into()), ..TaskEdit::default() },
        TaskEdit { add_labels: BTreeSet::from(["safe".to_owned()]), ..TaskEdit::default() },
    ];
    let mut tried = 0;
    for kind in [GateKind::Approval, GateKind::Review, GateKind::Content, GateKind::Input] {
        let task = bench.task("Tidy up");
        let gate = desk.hand_over(&coder(), task, kind, None).unwrap();
        for edit in &edits {
            let refused = desk.edit_task(&coder(), task, edit.clone()).unwrap_err();
            assert_eq!(refused.code(), Code::WrongState, "{kind} {edit:?}");
            assert!(refused.hint().unwrap().contains("withdraw"), "{refused:?}");
            tried += 1;
        }
        desk.note(&coder(), task, "one more thing", false).unwrap();
        desk.edit_task(&bob(), task, edits[1].clone()).unwrap();
        desk.withdraw(&coder(), gate.opened.id, "another way").unwrap();
        desk.edit_task(&coder(), task, edits[0].clone()).unwrap();
    }
    assert_eq!(tried, 12);
}
