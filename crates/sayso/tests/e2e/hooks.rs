//! Hooks: each client gets exactly its own words, and everything that goes wrong blocks (D3, R, R29).

mod bad;
mod dialogs;
mod news;
mod tools;

use crate::governed::policy;
use crate::harness::{Backend, Ran, Space, Who, everywhere};
use serde_json::{Value, json};

const POLICY: &str = "
rules:
  - {name: pushes, on: tool, match: {command: git push *}, then: ask, reason: Others see a push.}
  - {name: never, on: tool, match: {command: rm -rf *}, then: deny, reason: Nothing is removed like this.}
  - {name: secrets, on: tool, match: {path: '**/.env'}, then: deny}
";

/// The clients, what they call a tool call, and what they call a shell.
const CLIENTS: [(&str, &str, &str); 4] = [
    ("claude-code", "PreToolUse", "Bash"),
    ("codex", "PreToolUse", "Bash"),
    ("gemini", "BeforeTool", "run_shell_command"),
    ("opencode", "tool.execute.before", "bash"),
];

pub(crate) fn event(event: &str, tool: &str, input: &Value) -> String {
    json!({"hook_event_name": event, "cwd": "/project", "session_id": "s1", "tool_name": tool, "tool_input": input})
        .to_string()
}

pub(crate) fn hook(
    space: &Space,
    agent: &str,
    client: &str,
    name: &str,
    body: &str,
    hold: &str,
) -> Ran {
    space.run_with_input(Who::Agent(agent), &["hook", client, name, "--hold", hold], body)
}

/// What the client understood: the decision in its own place, and the reason. A no is one that every client
/// understands, besides.
#[track_caller]
fn understood(client: &str, ran: &Ran) -> (String, String) {
    let (decision, reason) = in_own_words(client, ran);
    match decision.as_str() {
        "deny" => assert_eq!((ran.code, ran.stderr.trim()), (2, reason.as_str()), "{client}"),
        _ => assert_eq!(ran.code, 0, "{client}: {ran:?}"),
    }
    (decision, reason)
}

fn in_own_words(client: &str, ran: &Ran) -> (String, String) {
    if ran.stdout.trim().is_empty() {
        return (String::new(), String::new());
    }
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match client {
        "claude-code" | "codex" => {
            let own = &said["hookSpecificOutput"];
            assert_eq!(own["hookEventName"], "PreToolUse");
            (text(&own["permissionDecision"]), text(&own["permissionDecisionReason"]))
        }
        _ => (text(&said["decision"]), text(&said["reason"])),
    }
}

everywhere! {
    /// Allowed: nothing is said, so that the client still asks its user what it would ask. Denied: its own
    /// word, with the reason for the model.
    fn each_client_hears_its_own_words(space: &Space) {
        policy(space, "space", POLICY);
        for (client, name, shell) in CLIENTS {
            let run = |command: &str| {
                let body = event(name, shell, &json!({"command": command, "description": "Just a look"}));
                hook(space, "coder", client, name, &body, "0s")
            };
            assert_eq!(run("git status").exits(0).stdout, "", "{client}");
            let (decision, reason) = understood(client, &run("cd x; rm -rf build"));
            assert_eq!(decision, "deny", "{client}");
            assert!(reason.contains("Nothing is removed like this."), "{client}: {reason}");
            let body = event(name, "Write", &json!({"file_path": "/project/.env", "content": "x"}));
            let written = hook(space, "coder", client, name, &body, "0s");
            assert_eq!(understood(client, &written).0, "deny", "{client}");
        }
        space.verify();
    }
}

/// What other clients say before a call: Goose, Copilot CLI and Crush; and one with no name at all.
const STRANGERS: [&str; 4] = [
    r#"{"event":"PreToolUse","session_id":"s","tool_call_id":"c","tool_name":"shell","tool_input":{"command":"ls"},"working_dir":"/"}"#,
    r#"{"sessionId":"s","timestamp":1,"cwd":"/","toolName":"bash","toolArgs":{"command":"ls"}}"#,
    r#"{"event":"PreToolUse","session_id":"s","cwd":"/","tool_name":"bash","tool_input":{"command":"ls"}}"#,
    r#"{"session_id":"s","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
];

everywhere! {
    /// A client that is not the one the hook was written for might take its no for a yes: it is refused in
    /// words that every client understands, also what the policy allows.
    fn a_stranger_is_blocked(space: &Space) {
        let mut looked_at = 0;
        for (client, name, _) in CLIENTS {
            for body in STRANGERS {
                let ran = hook(space, "coder", client, name, body, "0s").exits(2);
                assert!(ran.stderr.contains(&format!("no {name} event of {client}")), "{}", ran.stderr);
                assert_eq!(ran.stdout, "");
                looked_at += 1;
            }
        }
        assert_eq!(looked_at, 16);
    }
}

everywhere! {
    /// Held: the card has the call as it is; a yes lets one call run, and that one only.
    fn a_held_call_is_granted_once(space: &Space) {
        policy(space, "space", POLICY);
        for (client, name, shell) in CLIENTS {
            let call = |command: &str, hold: &str| {
                let body = event(name, shell, &json!({"command": command, "description": command.len()}));
                hook(space, "coder", client, name, &body, hold)
            };
            let command = format!("git push origin {client}");
            let (decision, reason) = understood(client, &call(&command, "0s"));
            assert_eq!(decision, "deny", "{client}");
            let gate = space.run(Who::Agent("coder"), &["inbox", "--json"]).json()["items"][0].clone();
            let handle = gate["handle"].as_str().unwrap();
            assert!(reason.contains(handle), "{client}: {reason}");
            assert_eq!(gate["kind"], "tool");
            let facts = gate["facts"].to_string();
            assert!(facts.contains(&command) && facts.contains("pushes (policy space:3)"), "{facts}");
            assert!(!facts.contains("description"), "the model's own word is no fact: {facts}");
            // The same call again is the same question, another call another.
            call(&command, "0s");
            call(&format!("{command} --force"), "0s");
            let open = space.run(Who::Agent("coder"), &["inbox", "--json"]).json();
            assert_eq!(open["items"].as_array().map(Vec::len), Some(2), "{client}");
            space.coder(&["approve", handle]).refused("SAY010");
            space.ann(&["approve", handle]).ok();
            assert_eq!(understood(client, &call(&command, "0s")).0, "allow", "{client}");
            assert_eq!(space.show(handle)["acted"]["done"], true);
            assert_eq!(understood(client, &call(&command, "0s")).0, "deny", "{client}: a grant is for one call");
            for gate in space.run(Who::Agent("coder"), &["inbox", "--json"]).json()["items"].as_array().unwrap() {
                space.ann(&["reject", gate["handle"].as_str().unwrap(), "not on a Friday"]).ok();
            }
            let (decision, reason) = understood(client, &call(&command, "0s"));
            assert_eq!((decision.as_str(), reason.as_str()), ("deny", "ann said no: not on a Friday"));
        }
        space.verify();
    }
}

everywhere! {
    /// The answer of a person goes to the call that waits for it, from another process.
    fn an_answer_reaches_the_call_that_is_held(space: &Space) {
        policy(space, "space", POLICY);
        let body = event("PreToolUse", "Bash", &json!({"command": "git push"}));
        for (verb, decision) in [("approve", "allow"), ("reject", "deny")] {
            std::thread::scope(|scope| {
                let held = scope.spawn(|| hook(space, "coder", "claude-code", "PreToolUse", &body, "30s"));
                let gate = crate::worker::budgets::until(|| {
                    let open = space.ann(&["inbox", "--json"]).json();
                    open["items"][0]["handle"].as_str().map(str::to_owned)
                });
                space.ann(&[verb, &gate, "as you say"]).ok();
                let ran = held.join().unwrap();
                assert_eq!(understood("claude-code", &ran).0, decision);
            });
        }
        // Another agent's grant is its own.
        assert_eq!(understood("codex", &hook(space, "tester", "codex", "PreToolUse", &body, "0s")).0, "deny");
        space.verify();
    }
}

everywhere! {
    /// A person may let it run with other arguments; what they are changed to goes through the policy.
    fn a_yes_may_change_the_call(space: &Space) {
        policy(space, "space", POLICY);
        let body = event("PreToolUse", "Bash", &json!({"command": "git push --force"}));
        let call = || hook(space, "coder", "claude-code", "PreToolUse", &body, "0s");
        let answer = |arguments: &str| {
            call();
            let open = space.ann(&["inbox", "--json"]).json();
            let gate = open["items"][0]["handle"].as_str().unwrap().to_owned();
            space.ann(&["answer", &gate, "--arguments", arguments])
        };
        answer(r#"{"command": "git push"}"#).ok();
        let said: Value = serde_json::from_str(&call().stdout).unwrap();
        assert_eq!(said["hookSpecificOutput"]["updatedInput"], json!({"command": "git push"}));
        assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "allow");
        answer(r#"{"command": "rm -rf x && git push"}"#).ok();
        let (decision, reason) = understood("claude-code", &call());
        assert_eq!(decision, "deny");
        assert!(reason.contains("what it was changed to"), "{reason}");
        answer("{").refused("SAY009");
        space.ann(&["answer", &space.ask("coder", &["Ship?", "--verdict"]), "--arguments", "{}"]).refused("SAY006");
        space.verify();
    }
}

everywhere! {
    /// What was changed is judged as what it is now: by the name the client has for its command, and by its paths.
    fn a_changed_call_is_judged_as_it_is_now(space: &Space) {
        let forbids = "rules:\n  - {name: pushes, on: tool, match: {command: git push *}, then: ask}\n  \
                       - {name: edits, on: tool, match: {tool: Edit}, then: ask}\n  \
                       - {name: removals, on: tool, match: {command: rm *}, then: deny}\n  \
                       - {name: secrets, on: tool, match: {path: \"**/.env\"}, then: deny}\n";
        policy(space, "space", forbids);
        let mut changed = 0;
        for (client, tool, asked, fine, wrong) in [
            ("codex", "exec_command", json!({"cmd": "git push --force"}), json!({"cmd": "git push origin"}), json!({"cmd": "rm -rf x"})),
            ("claude-code", "Edit", json!({"file_path": "/p/a.txt"}), json!({"file_path": "/p/b.txt"}), json!({"file_path": "/p/.env"})),
            ("codex", "exec_command", json!({"cmd": "git push"}), json!({"cmd": "git push -n"}), json!({"cmd": "git push", "command": "rm -rf x"})),
            ("codex", "exec_command", json!({"cmd": "git push -q"}), json!({"cmd": "git push -v"}), json!({"workdir": "/"})),
        ] {
            let body = event("PreToolUse", tool, &asked);
            let call = || hook(space, "coder", client, "PreToolUse", &body, "0s");
            let answer = |arguments: &Value| {
                call();
                let open = space.ann(&["inbox", "--json"]).json();
                let gate = open["items"][0]["handle"].as_str().unwrap().to_owned();
                space.ann(&["answer", &gate, "--arguments", &arguments.to_string()]).ok();
            };
            answer(&fine);
            let said = call().said();
            assert!(!said.contains("it was changed to"), "{tool} {fine}: {said}");
            answer(&wrong);
            let (decision, reason) = understood(client, &call());
            assert_eq!(decision, "deny", "{tool} {wrong}");
            assert!(reason.contains("it was changed to"), "{tool} {wrong}: {reason}");
            changed += 1;
        }
        assert_eq!(changed, 4);
        space.verify();
    }
}

/// Whatever is wrong, the call does not run, and the text says why.
#[test]
fn everything_that_goes_wrong_blocks() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let good = event("PreToolUse", "Bash", &json!({"command": "git status"}));
    let huge = event("PreToolUse", "Bash", &json!({"command": "x".repeat(17 << 20)}));
    for (name, body, says) in [
        ("PreToolUse", "", "no PreToolUse event"),
        ("PreToolUse", "{", "no PreToolUse event"),
        ("PreToolUse", "[]", "hook_event_name"),
        (
            "PreToolUse",
            "{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\"}",
            "no input",
        ),
        (
            "PreToolUse",
            "{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": 7}",
            "no object",
        ),
        (
            "PreToolUse",
            "{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": {}}",
            "does not say which",
        ),
        ("PostToolUse", good.as_str(), "it says that it is PreToolUse"),
        ("PreToolUze", good.as_str(), "PreToolUze"),
        ("PreToolUse", huge.as_str(), "more than"),
    ] {
        let ran = hook(&space, "coder", "claude-code", name, body, "0s").exits(2);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{says}: {ran:?}");
    }
    // A client nobody knows, and an option nobody has.
    space.run_with_input(Who::Agent("coder"), &["hook", "cursor", "PreToolUse"], &good).exits(2);
    space
        .run_with_input(Who::Agent("coder"), &["hook", "codex", "PreToolUse", "--yes"], &good)
        .exits(2);
    // A token that is none, a space that is none, a policy that was changed in the store.
    std::fs::write(space.path().join("bad.token"), "sayso_a_nonsense").unwrap();
    let bad = space.path().join("bad.token");
    space.run_with_input(Who::Holder(&bad), &["hook", "codex", "PreToolUse"], &good).exits(2);
    let ran = space.run_with_input(Who::Script, &["hook", "codex", "PreToolUse"], &good).exits(2);
    assert!(ran.stderr.contains("needs the token of its agent"), "{ran:?}");
    let nowhere = Space::empty();
    nowhere.run_with_input(Who::Script, &["hook", "codex", "PreToolUse"], &good).exits(2);
    let file = rusqlite::Connection::open(space.file()).unwrap();
    file.execute_batch(
        "UPDATE settings SET body = 'rules: [', seq = seq + 1 WHERE kind = 'policy'",
    )
    .unwrap();
    let ran = hook(&space, "coder", "claude-code", "PreToolUse", &good, "0s").exits(2);
    assert!(ran.stderr.contains("was changed outside of sayso"), "{ran:?}");
}

everywhere! {
    /// What people wrote is carried in with the next event, and keeps the agent from ending its turn.
    fn messages_are_carried_in(space: &Space) {
        let call = |client: &str, name: &str, body: &str| hook(space, "coder", client, name, body, "0s").exits(0).stdout;
        for client in ["claude-code", "codex"] {
            assert_eq!(call(client, "Stop", "{}"), "", "nothing to say");
            space.ann(&["tell", "coder", "Use the new port."]).ok();
            let said: Value = serde_json::from_str(&call(client, "UserPromptSubmit", "{}")).unwrap();
            let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
            assert!(context.contains("Message from ann (human): Use the new port."), "{context}");
            assert_eq!(call(client, "UserPromptSubmit", "{}"), "", "once");
            space.ann(&["tell", "coder", "One thing more."]).ok();
            // One that was kept from ending already may end.
            assert_eq!(call(client, "Stop", "{\"stop_hook_active\": true}"), "");
            let said: Value = serde_json::from_str(&call(client, "Stop", "{}")).unwrap();
            assert_eq!(said["decision"], "block");
            assert!(said["reason"].as_str().unwrap().contains("One thing more."));
            assert_eq!(call(client, "Stop", "{}"), "");
        }
    }
}

/// A client that never says what it wants, and a store that somebody holds: blocked before any client
/// gets tired of waiting.
#[test]
fn what_takes_too_long_blocks() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let body = event("PreToolUse", "Bash", &json!({"command": "git status"}));
    let file = rusqlite::Connection::open(space.file()).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let args = ["hook", "claude-code", "PreToolUse", "--hold", "0s"];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ran = space.run_with_input(Who::Agent("coder"), &args, &body).exits(2);
            assert!(ran.stderr.contains("holds the database"), "{ran:?}");
        });
        let mut silent = space.start(Who::Agent("coder"), &args);
        // Standard input stays open, and nothing comes.
        let _open = silent.stdin.take();
        let ran = Ran::of(&silent.wait_with_output().unwrap()).exits(2);
        assert!(ran.stderr.contains("nothing is allowed"), "{ran:?}");
    });
}
