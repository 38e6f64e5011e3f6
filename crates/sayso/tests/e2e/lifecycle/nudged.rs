//! Nudges: at an empty prompt and nowhere else. Enter is the key that says yes at a client's menu, so
//! nothing that comes by itself ever presses it there.

use super::{Fleet, until};
use crate::governed::{actions, policy, times};
use crate::harness::{Space, Who, everywhere};
use crate::hooks::{event, hook};
use serde_json::json;
use std::process::Command;
use std::time::Duration;

/// Stands at a menu whose answer is Enter, until the file `on` is there; then it reads lines.
const MENU: &str = r#"[-c, "echo $$ > coder.starts; printf 'May I run rm?\\n> 1. Yes\\n  2. No\\n'; while [ ! -e on ]; do if read -r -t 1 key; then echo ran >> ran; fi; done; while :; do printf '> '; read -r line || exit; echo $line >> heard; done"]"#;

/// Reads lines at a prompt.
const READER: &str = r#"[-c, "echo $$ > coder.starts; while :; do printf '> '; read -r line || exit; echo $line >> heard; done"]"#;

/// What is typed by itself begins with this.
const NEWS: &str = "sayso has news";

const PUSHES: &str = "
rules:
  - {name: pushes, on: tool, match: {command: git push *}, then: ask, reason: Others see a push.}
";

/// An agent of this script in tmux, under the name of an agent that has a token, too.
fn spawned<'a>(space: &'a Space, script: &str, settings: &str) -> Fleet<'a> {
    let agent = format!("program: bash, args: {script}, backend: tmux{settings}");
    let fleet = Fleet::new(space, &[("coder", &agent)]);
    space.ann(&["agent", "spawn", "coder"]).ok();
    fleet.started("coder", 1);
    fleet
}

const PROMPT: &str = ", nudge: {prompt: '> '}";

fn screen(space: &Space) -> String {
    space.ann(&["agent", "logs", "coder", "--screen"]).stdout
}

/// What was entered at the agent.
fn heard(space: &Space) -> Vec<String> {
    let text = std::fs::read_to_string(space.path().join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Presses keys at the agent's terminal, as a person who is attached would.
fn press(space: &Space, keys: &[&str]) {
    let socket = sockets(space).pop().unwrap();
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(socket).args(["send-keys", "-t", "%0"]).args(keys);
    assert!(tmux.status().unwrap().success());
}

fn sockets(space: &Space) -> Vec<std::path::PathBuf> {
    let folder = space.path().join(".sayso/agents");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "tmux")).collect()
}

/// Lets time pass in which a nudge that is held may be looked at again.
fn look_again(space: &Space) {
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1_500));
        space.ann(&["agent", "list"]).ok();
    }
}

/// Waits until so many nudges are on record as typed, and nothing but the one line was entered for them.
fn all_are_typed(space: &Space, nudges: usize) {
    until("what was held is typed", || {
        space.ann(&["agent", "list"]).ok();
        times(space, "agent.nudged") >= nudges
    });
    assert_eq!(times(space, "agent.nudged"), nudges);
    until("it has heard it", || !heard(space).is_empty());
    let lines = heard(space);
    assert!(lines.len() <= nudges && lines.iter().all(|line| line.starts_with(NEWS)), "{lines:?}");
}

/// Everything that leads to a nudge: messages, a no to another question, an expiry, a mere look.
fn nudge_in_every_way(space: &Space) {
    space.ann(&["tell", "coder", "Use the new port."]).ok();
    space.run(Who::Agent("tester"), &["tell", "coder", "Are you done?"]).ok();
    let gate = space.coder(&["ask", "Which port?"]).ok();
    space.ann(&["reject", &gate, "none of them"]).ok();
    space.coder(&["ask", "Which host?", "--deadline", "1s"]).ok();
    look_again(space);
    assert!(actions(space).contains(&"gate.expired".to_owned()));
}

everywhere! {
    /// The menu of a client stands; nothing of ours is its answer, and the record says that nothing was typed.
    fn nothing_is_entered_at_a_menu(space: &Space) {
        let _fleet = spawned(space, MENU, PROMPT);
        until("the menu stands", || screen(space).contains("2. No"));
        let before = screen(space);
        nudge_in_every_way(space);
        space.ann(&["agent", "nudge", "coder", "hello"]).refused("SAY059").refused("1. Yes").exits(6);
        space.ann(&["agent", "nudge", "coder", &"x".repeat(200)]).refused("140").exits(6);
        assert_eq!(screen(space), before, "nothing was typed");
        assert!(!space.path().join("ran").exists(), "a nudge approved a call");
        assert_eq!(times(space, "agent.nudged"), 0);
        // The prompt is back, and what was held is typed, each once.
        std::fs::write(space.path().join("on"), "").unwrap();
        all_are_typed(space, 4);
        assert!(!space.path().join("ran").exists());
        space.ann(&["agent", "nudge", "coder", "hello"]).ok();
        until("it has heard it", || heard(space).iter().any(|line| line == "hello"));
        space.verify();
    }
}

everywhere! {
    /// An agent with an open gate about a call of its own is not typed to, whatever its screen shows.
    fn an_open_gate_about_a_call_holds_every_nudge(space: &Space) {
        policy(space, "space", PUSHES);
        let _fleet = spawned(space, READER, PROMPT);
        until("it is at its prompt", || screen(space).contains('>'));
        let call = event("PreToolUse", "Bash", &json!({"command": "git push"}));
        hook(space, "coder", "claude-code", "PreToolUse", &call, "0s").exits(2);
        let gate = space.ann(&["inbox", "--json"]).json()["items"][0]["handle"].as_str().unwrap().to_owned();
        nudge_in_every_way(space);
        let refused = space.ann(&["agent", "nudge", "coder", "hello"]).refused("SAY059").exits(6);
        assert!(refused.stderr.contains(&gate), "{}", refused.stderr);
        assert_eq!((heard(space), times(space, "agent.nudged")), (vec![], 0));
        space.ann(&["approve", &gate]).ok();
        // The answer to that gate is news, too.
        all_are_typed(space, 5);
        space.verify();
    }
}

everywhere! {
    /// Half a line that a person has typed stays half a line.
    fn what_a_person_has_typed_is_not_sent_off(space: &Space) {
        let _fleet = spawned(space, READER, PROMPT);
        until("it is at its prompt", || screen(space).contains('>'));
        press(space, &["-l", "half a li"]);
        until("it is there", || screen(space).contains("half a li"));
        space.ann(&["tell", "coder", "Use the new port."]).ok();
        space.run(Who::Agent("tester"), &["tell", "coder", "Are you done?"]).ok();
        look_again(space);
        space.ann(&["agent", "nudge", "coder", "hello"]).refused("SAY059").refused("half a li").exits(6);
        assert_eq!((heard(space), times(space, "agent.nudged")), (vec![], 0));
        // What the agent hears another way meanwhile needs no nudge any more.
        let unread = space.coder(&["messages", "--json"]).json()["items"].clone();
        let unread: Vec<_> = unread.as_array().unwrap().iter().map(|m| m["handle"].as_str().unwrap()).collect();
        assert_eq!(unread.len(), 2);
        space.coder(&["messages", "--ack", unread[0], "--ack", unread[1]]).ok();
        press(space, &["-l", "ne"]);
        press(space, &["Enter"]);
        until("it has heard it", || heard(space) == ["half a line"]);
        look_again(space);
        assert_eq!((heard(space), times(space, "agent.nudged")), (vec!["half a line".to_owned()], 0));
        space.verify();
    }
}

everywhere! {
    /// A program whose prompt nobody named is never typed to, and the record says so for each nudge.
    fn an_unknown_program_is_never_typed_to(space: &Space) {
        for settings in ["", ", nudge: never"] {
            let fleet = spawned(space, READER, settings);
            let before = times(space, "agent.nudge_withheld");
            space.ann(&["tell", "coder", "Use the new port."]).ok();
            space.run(Who::Agent("tester"), &["tell", "coder", "Are you done?"]).ok();
            until("the record says so", || {
                space.ann(&["agent", "list"]).ok();
                times(space, "agent.nudge_withheld") == before + 2
            });
            space.ann(&["agent", "nudge", "coder", "hello"]).refused("SAY059").refused("nudge").exits(6);
            assert_eq!((heard(space), times(space, "agent.nudged")), (vec![], 0));
            let unread = space.coder(&["messages", "--json"]).json()["items"].as_array().unwrap().len();
            assert!(unread >= 2, "what was written is kept");
            space.ann(&["agent", "stop", "coder"]).ok();
            drop(fleet);
            let _ = std::fs::remove_file(space.path().join("coder.starts"));
        }
        space.verify();
    }
}
