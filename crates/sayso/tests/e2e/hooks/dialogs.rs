//! Beside the client's own prompts: the first answer counts, there or here (N, D12), and questions of
//! the client go to the inbox.

use super::{CLIENTS, POLICY, event, hook, understood};
use crate::governed::policy;
use crate::harness::{Ran, Space, Who, everywhere};
use crate::worker::budgets::until;
use serde_json::{Value, json};

const PUSH: &str = "git push origin main";

fn push() -> Value {
    json!({"command": PUSH, "description": "Just a look"})
}

/// What Claude Code makes of an answer beside its prompt.
fn decision(ran: &Ran) -> Value {
    if ran.stdout.trim().is_empty() {
        return Value::Null;
    }
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], "PermissionRequest");
    said["hookSpecificOutput"]["decision"].clone()
}

fn prompt(space: &Space, command: &str, hold: &str) -> Value {
    let body = event("PermissionRequest", "Bash", &json!({"command": command}));
    decision(&hook(space, "coder", "claude-code", "PermissionRequest", &body, hold).exits(0))
}

fn open(space: &Space) -> Vec<Value> {
    space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().clone()
}

fn handle(gate: &Value) -> String {
    gate["handle"].as_str().unwrap().to_owned()
}

everywhere! {
    /// Allowed by a rule: the prompt stands. Denied: it is closed. Asked, or in no rule: it stands, until
    /// somebody has answered, there or here; and the call that another hook holds is the same question.
    fn a_prompt_stands_until_somebody_answers(space: &Space) {
        assert_eq!(prompt(space, "git status", "0s"), Value::Null, "no policy at all is no yes");
        space.ann(&["approve", &handle(&open(space)[0])]).ok();
        assert_eq!(prompt(space, "git status", "0s"), json!({"behavior": "allow"}));
        policy(space, "space", &format!("otherwise: {{tool: ask}}{POLICY}  - {{name: looks, on: tool, match: {{command: git log}}, then: allow}}\n"));
        assert_eq!(prompt(space, "git log", "0s"), Value::Null);
        assert_eq!(open(space).len(), 0, "a rule allows it, and the client asks its user all the same");
        policy(space, "space", POLICY);
        let denied = prompt(space, "rm -rf build", "0s");
        assert_eq!(denied["behavior"], "deny");
        assert!(denied["message"].as_str().unwrap().contains("Nothing is removed like this."));
        assert_eq!(prompt(space, PUSH, "0s"), Value::Null);
        let body = event("PreToolUse", "Bash", &push());
        let (word, reason) = understood("claude-code", &hook(space, "coder", "claude-code", "PreToolUse", &body, "0s"));
        let gates = open(space);
        assert_eq!((word.as_str(), gates.len()), ("deny", 1), "one call, one question");
        assert!(reason.contains(&handle(&gates[0])), "{reason}");
        space.ann(&["answer", &handle(&gates[0]), "--arguments", r#"{"command": "git push --dry-run"}"#]).ok();
        let allowed = prompt(space, PUSH, "0s");
        assert_eq!(allowed, json!({"behavior": "allow", "updatedInput": {"command": "git push --dry-run"}}));
        assert_eq!(prompt(space, PUSH, "0s"), Value::Null, "once");
        space.ann(&["reject", &handle(&open(space)[0]), "not on a Friday", "--interrupt"]).ok();
        let stopped = json!({"behavior": "deny", "message": "ann said no: not on a Friday", "interrupt": true});
        assert_eq!(prompt(space, PUSH, "0s"), stopped);
        space.verify();
    }
}

everywhere! {
    /// An answer from elsewhere closes the prompt that stands.
    fn an_answer_closes_the_prompt(space: &Space) {
        policy(space, "space", POLICY);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| prompt(space, PUSH, "30s"));
            let gate = until(|| open(space).first().map(handle));
            space.ann(&["approve", &gate]).ok();
            assert_eq!(asked.join().unwrap(), json!({"behavior": "allow"}));
            assert_eq!(space.show(&gate)["acted"]["done"], true);
        });
    }
}

everywhere! {
    /// The call has run, so somebody has answered in the client's terminal. That is nobody's yes by name.
    fn what_has_run_is_settled(space: &Space) {
        policy(space, "space", POLICY);
        assert_eq!(prompt(space, PUSH, "0s"), Value::Null);
        let gate = handle(&open(space)[0]);
        let ran = |command: &str| {
            let body = event("PostToolUse", "Bash", &json!({"command": command}));
            assert_eq!(hook(space, "coder", "claude-code", "PostToolUse", &body, "0s").exits(0).stdout, "");
        };
        ran("git push origin other");
        assert_eq!(open(space).len(), 1, "another call settles nothing");
        let body = event("PostToolUse", "Bash", &push());
        hook(space, "tester", "claude-code", "PostToolUse", &body, "0s").exits(0);
        assert_eq!(open(space).len(), 1, "another agent settles nothing");
        ran(PUSH);
        let shown = space.show(&gate);
        assert_eq!((&shown["state"], &shown["answer"]), (&json!("withdrawn"), &Value::Null), "{shown}");
        assert!(shown.to_string().contains("answered in the client's own terminal"), "{shown}");
        space.ann(&["approve", &gate]).refused("SAY003");
        assert_eq!(prompt(space, PUSH, "0s"), Value::Null);
        assert_ne!(handle(&open(space)[0]), gate, "the same call again is a new question");
        space.verify();
    }
}

/// Ends a process as clients do.
fn end(child: &std::process::Child) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
}

fn start(space: &Space, name: &str, body: &str) -> std::process::Child {
    use std::io::Write;
    let args = ["hook", "claude-code", name, "--hold", "60s"];
    let mut child = space.start(Who::Agent("coder"), &args);
    child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    child
}

everywhere! {
    /// The hook that is still beside the prompt when the call has run says nothing, and asks nothing anew.
    fn what_was_answered_in_the_terminal_is_asked_no_more(space: &Space) {
        let prompted = start(space, "PermissionRequest", &event("PermissionRequest", "Bash", &push()));
        until(|| open(space).pop());
        hook(space, "coder", "claude-code", "PostToolUse", &event("PostToolUse", "Bash", &push()), "0s").exits(0);
        let ran = Ran::of(&prompted.wait_with_output().unwrap()).exits(0);
        assert_eq!((ran.stdout.as_str(), open(space).len()), ("", 0));
        space.verify();
    }
}

everywhere! {
    /// A client that ends the hook beside its prompt has its answer. One that ends a hook that holds a call
    /// has none: the question stays, and the same call again gets the answer.
    fn a_hook_that_is_ended(space: &Space) {
        policy(space, "space", POLICY);
        let prompted = start(space, "PermissionRequest", &event("PermissionRequest", "Bash", &push()));
        let gate = until(|| open(space).first().map(handle));
        end(&prompted);
        // It says nothing, whether it sees first that it is ended or that the question is over.
        let ran = Ran::of(&prompted.wait_with_output().unwrap());
        assert_eq!((ran.stdout.as_str(), ran.code == 0 || ran.code == 2), ("", true), "{ran:?}");
        let shown = space.show(&gate);
        assert_eq!(shown["state"], "withdrawn", "{shown}");
        let body = event("PreToolUse", "Bash", &push());
        let held = start(space, "PreToolUse", &body);
        let gate = until(|| open(space).first().map(handle));
        end(&held);
        held.wait_with_output().unwrap();
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["approve", &gate]).ok();
        let again = hook(space, "coder", "claude-code", "PreToolUse", &body, "0s");
        assert_eq!(understood("claude-code", &again).0, "allow");
        space.verify();
    }
}

everywhere! {
    /// With a conversation end its prompts, and nothing that is held for a person alone.
    fn a_conversation_that_ends(space: &Space) {
        policy(space, "space", POLICY);
        prompt(space, PUSH, "0s");
        let other = event("PreToolUse", "Bash", &json!({"command": "git push origin other"}));
        hook(space, "coder", "claude-code", "PreToolUse", &other, "0s").exits(2);
        assert_eq!(open(space).len(), 2);
        let end = |session: &str| {
            let body = json!({"hook_event_name": "SessionEnd", "session_id": session, "reason": "exit"}).to_string();
            hook(space, "coder", "claude-code", "SessionEnd", &body, "0s").exits(0);
        };
        end("s2");
        assert_eq!(open(space).len(), 2, "another conversation");
        end("s1");
        let left = open(space);
        assert_eq!(left.len(), 1);
        assert!(left[0]["facts"].to_string().contains("origin other"));
    }
}

everywhere! {
    /// The client's questions are answered from the inbox, one gate each, and go back in its own words.
    fn questions_go_to_the_inbox(space: &Space) {
        let questions = json!([
            {"question": "Which colour?", "header": "Colour", "multiSelect": false,
             "options": [{"label": "Red", "description": "loud"}, {"label": "Blue", "description": "calm"}]},
            {"question": "Which rooms?", "header": "Rooms", "multiSelect": true,
             "options": [{"label": "Hall", "description": ""}, {"label": "Attic", "description": ""}]},
        ]);
        let body = event("PreToolUse", "AskUserQuestion", &json!({"questions": questions}));
        let call = || hook(space, "coder", "claude-code", "PreToolUse", &body, "0s");
        let (word, reason) = understood("claude-code", &call());
        assert_eq!(word, "deny");
        call();
        let gates = open(space);
        assert_eq!(gates.len(), 2, "asking again asks nothing new");
        assert!(reason.contains(&handle(&gates[0])), "{reason}");
        assert_eq!((&gates[0]["kind"], &gates[0]["question"]), (&json!("decision"), &json!("Which colour?")));
        space.ann(&["choose", &handle(&gates[0]), "--other", "Green"]).ok();
        assert_eq!(understood("claude-code", &call()).0, "deny", "one is not answered");
        space.ann(&["choose", &handle(&gates[1]), "Hall", "Attic"]).ok();
        let said: Value = serde_json::from_str(&call().stdout).unwrap();
        let own = &said["hookSpecificOutput"];
        assert_eq!(own["permissionDecision"], "allow");
        let answers = json!({"Which colour?": "Green", "Which rooms?": "Hall, Attic"});
        assert_eq!(own["updatedInput"], json!({"questions": questions, "answers": answers}));
        assert_eq!(understood("claude-code", &call()).0, "deny", "answers are for one call");
        let gates = open(space);
        space.ann(&["reject", &handle(&gates[0]), "decide yourself"]).ok();
        space.ann(&["choose", &handle(&gates[1]), "Hall"]).ok();
        let (word, reason) = understood("claude-code", &call());
        assert_eq!((word.as_str(), reason.as_str()), ("deny", "ann said no: decide yourself"));
        assert_eq!(open(space).len(), 0);
        space.verify();
    }
}

everywhere! {
    /// A no may stop the agent, in the words of clients that have some for it.
    fn a_no_may_interrupt(space: &Space) {
        policy(space, "space", POLICY);
        for (client, name, shell) in CLIENTS {
            let body = event(name, shell, &json!({"command": format!("git push {client}")}));
            let call = || hook(space, "coder", client, name, &body, "0s");
            call();
            space.ann(&["reject", &handle(&open(space)[0]), "stop it", "--interrupt"]).ok();
            let ran = call();
            assert_eq!(understood(client, &ran).0, "deny", "{client}");
            let said: Value = serde_json::from_str(&ran.stdout).unwrap();
            let stops = matches!(client, "claude-code" | "gemini");
            assert_eq!(said.get("continue"), stops.then_some(&json!(false)), "{client}");
        }
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.ann(&["reject", &gate, "no", "--interrupt"]).refused("SAY006");
    }
}

everywhere! {
    /// `defer` is for the one client that knows it, for its own calls, and where it was asked for.
    fn a_call_is_put_off(space: &Space) {
        policy(space, "space", POLICY);
        let body = event("PreToolUse", "Bash", &push());
        let run = |client: &str, name: &str, body: &str| {
            space.run_with_input(Who::Agent("coder"), &["hook", client, name, "--defer"], body)
        };
        let (word, reason) = understood("claude-code", &run("claude-code", "PreToolUse", &body).exits(0));
        let gate = handle(&open(space)[0]);
        assert_eq!(word, "defer");
        assert!(reason.contains(&gate), "{reason}");
        let sub = body.replacen('{', "{\"agent_id\": \"a1\", ", 1);
        let args = ["hook", "claude-code", "PreToolUse", "--defer", "--hold", "0s"];
        let ran = space.run_with_input(Who::Agent("coder"), &args, &sub);
        assert_eq!(understood("claude-code", &ran).0, "deny", "it would be dropped");
        run("codex", "PreToolUse", &body).exits(2);
        run("claude-code", "PermissionRequest", &body.replace("PreToolUse", "PermissionRequest")).exits(2);
        space.ann(&["approve", &gate]).ok();
        assert_eq!(understood("claude-code", &run("claude-code", "PreToolUse", &body)).0, "allow");
        assert_eq!(understood("claude-code", &run("claude-code", "PreToolUse", &body)).0, "defer", "once");
        space.verify();
    }
}

everywhere! {
    /// A worker's promise to resume is for the conversation it started. Whoever has only the variable is
    /// resumed by nobody, and is held like anybody else.
    fn a_promise_to_resume_is_not_inherited(space: &Space) {
        policy(space, "space", POLICY);
        let args = ["hook", "claude-code", "PreToolUse", "--hold", "0s"];
        let mut command = space.command(Who::Agent("coder"), &args);
        command.env("SAYSO_DEFER", "1").stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let body = event("PreToolUse", "Bash", &push());
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), body.as_bytes()).unwrap();
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!(understood("claude-code", &ran).0, "deny");
    }
}
