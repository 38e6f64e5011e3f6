//! Whatever is wrong around a hook, the call does not run and the text says why.

use super::{POLICY, event, hook, understood};
use crate::governed::policy;
use crate::harness::{Backend, Space, Who, everywhere};
use crate::worker::budgets::until;
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

fn status() -> String {
    event("PreToolUse", "Bash", &json!({"command": "git status"}))
}

everywhere! {
    /// A token that was revoked, and one whose run is over, are nobody's.
    fn a_token_that_has_ended(space: &Space) {
        policy(space, "space", POLICY);
        assert_eq!(hook(space, "coder", "codex", "PreToolUse", &status(), "0s").exits(0).stdout, "");
        space.revoke("coder");
        let ran = hook(space, "coder", "codex", "PreToolUse", &status(), "0s").exits(2);
        assert!(ran.stderr.contains("revoked") && ran.stdout.is_empty(), "{ran:?}");
    }
}

/// A store that is gone, and servers that are not there or do not speak: each blocks, in good time.
#[test]
fn a_store_that_cannot_be_reached() {
    let space = Space::new(Backend::Sqlite);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let missing = space.path().join("missing.db").display().to_string();
    let stores = [
        missing,
        "postgres://sayso@127.0.0.1:1/sayso".to_owned(),
        format!("postgres://sayso@127.0.0.1:{port}/sayso"),
    ];
    for store in stores {
        let args = [
            "hook",
            "claude-code",
            "PreToolUse",
            "--hold",
            "0s",
            "--store",
            &store,
            "--space",
            "x",
        ];
        let ran = space.run_with_input(Who::Agent("coder"), &args, &status()).exits(2);
        assert!(ran.stderr.contains("sayso blocked this") && ran.stdout.is_empty(), "{ran:?}");
    }
}

/// Another process has the whole file to itself.
#[test]
fn a_database_that_is_locked() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let file = rusqlite::Connection::open(space.file()).unwrap();
    file.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let ran = hook(&space, "coder", "claude-code", "PreToolUse", &status(), "0s").exits(2);
    assert!(ran.stderr.contains("holds the database") && ran.stdout.is_empty(), "{ran:?}");
}

/// What is large is ruled on as long as it can be read; what cannot be shown to a person is not asked.
#[test]
fn large_calls() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let run = |tool: &str, field: &str, text: String| {
        let input = json!({"file_path": "/project/a.txt", field: text});
        hook(&space, "coder", "claude-code", "PreToolUse", &event("PreToolUse", tool, &input), "0s")
    };
    let below = (16 << 20) - 1_000;
    let ran = run("Write", "content", "x".repeat(below)).exits(0);
    assert_eq!(ran.stdout, "", "just below what is read it is ruled on like any other");
    for (text, says) in [
        (format!("rm -rf {}", "x".repeat(below)), "at most"),
        (format!("git push {}", "x".repeat(1 << 20)), "at most"),
        (format!("git status {}", "x".repeat(16 << 20)), "more than"),
    ] {
        let ran = run("Bash", "command", text).exits(2);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{says}: {ran:?}");
    }
}

everywhere! {
    /// Of two answers at once one counts, and of two equal calls that wait one runs.
    fn two_answers_and_two_calls_at_once(space: &Space) {
        policy(space, "space", POLICY);
        let body = event("PreToolUse", "Bash", &json!({"command": "git push"}));
        std::thread::scope(|scope| {
            let call = || hook(space, "coder", "claude-code", "PreToolUse", &body, "20s");
            let calls = [scope.spawn(call), scope.spawn(call)];
            let gate = until(|| {
                let open = space.ann(&["inbox", "--json"]).json();
                open["items"][0]["handle"].as_str().map(str::to_owned)
            });
            let answers = ["ann", "bob"].map(|name| {
                let gate = gate.clone();
                scope.spawn(move || space.run(Who::Human(name), &["approve", &gate]))
            });
            let won = answers.map(|answer| answer.join().unwrap().code == 0);
            assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
            // The other one is a question of its own again; a no ends it.
            let again = until(|| {
                let open = space.ann(&["inbox", "--json"]).json();
                open["items"][0]["handle"].as_str().map(str::to_owned)
            });
            space.ann(&["reject", &again, "once is enough"]).ok();
            let mut words = calls.map(|call| understood("claude-code", &call.join().unwrap()).0);
            words.sort();
            assert_eq!(words, ["allow", "deny"]);
        });
        space.verify();
    }
}

/// A client that is gone reads no answer: a hook that cannot say it blocks, and the question stays.
#[test]
fn a_client_that_is_gone() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let body = event("PreToolUse", "Bash", &json!({"command": "rm -rf build"}));
    let args = ["hook", "claude-code", "PreToolUse", "--hold", "0s"];
    let mut command = space.command(Who::Agent("coder"), &args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    // Its standard input ends in the middle of an event.
    let ran = hook(&space, "coder", "claude-code", "PreToolUse", &body[..40], "0s").exits(2);
    assert!(ran.stderr.contains("no PreToolUse event"), "{ran:?}");
}

/// Where nothing runs, what goes wrong is told and keeps nobody: an agent that cannot end its turn because the
/// store is gone would go on for ever.
#[test]
fn what_goes_wrong_does_not_keep_a_turn_from_ending() {
    let space = Space::new(Backend::Sqlite);
    std::fs::remove_dir_all(space.path().join(".sayso")).unwrap();
    for (client, event) in [
        ("claude-code", "Stop"),
        ("claude-code", "UserPromptSubmit"),
        ("claude-code", "PostToolUse"),
        ("codex", "Stop"),
        ("gemini", "AfterAgent"),
    ] {
        let body = format!("{{\"hook_event_name\": \"{event}\", \"session_id\": \"s\"}}");
        hook(&space, "coder", client, event, &body, "0s").exits(1);
    }
    hook(&space, "coder", "claude-code", "Unheard", "{}", "0s").exits(2);
}

/// The token of an agent, taken back while its call is held: the yes that comes then lets nothing run.
#[test]
fn sent_away_while_it_waits() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let body = event("PreToolUse", "Bash", &json!({"command": "git push"}));
    let mut held =
        space.start(Who::Agent("coder"), &["hook", "claude-code", "PreToolUse", "--hold", "30s"]);
    held.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let gate = until(|| {
        let open = space.ann(&["inbox", "--json"]).json();
        open["items"][0]["handle"].as_str().map(str::to_owned)
    });
    space.revoke("coder");
    space.ann(&["approve", &gate]).ok();
    let ran = crate::harness::Ran::of(&held.wait_with_output().unwrap()).exits(2);
    assert_eq!(ran.stdout, "");
    assert_eq!(space.show(&gate)["acted"], json!(null), "the yes is not used");
}

/// Ended from outside while it holds a call: to most clients any code but 2 would be a yes.
#[test]
fn ended_while_it_holds_a_call() {
    let space = Space::new(Backend::Sqlite);
    policy(&space, "space", POLICY);
    let body = event("BeforeTool", "run_shell_command", &json!({"command": "git push"}));
    for signal in ["TERM", "INT", "HUP"] {
        let args = ["hook", "gemini", "BeforeTool", "--hold", "30s"];
        let mut held = space.start(Who::Agent("coder"), &args);
        held.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
        until(|| space.ann(&["inbox", "--json"]).json()["items"][0]["handle"].as_str().map(drop));
        let pid = held.id().to_string();
        std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        crate::harness::Ran::of(&held.wait_with_output().unwrap()).exits(2);
    }
    assert_eq!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().len(), 1);
}
