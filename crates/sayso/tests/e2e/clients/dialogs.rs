//! Claude Code with a person before it, in a real terminal: its own prompt and the inbox ask the same, and
//! whichever is answered first counts (scenario N).

use super::hooked::connect;
use super::{Stage, until};
use serde_json::{Value, json};
use std::process::Command;

/// A terminal with the client in it, ended with the test.
struct Terminal<'a> {
    stage: &'a Stage<'a>,
    socket: String,
}

impl<'a> Terminal<'a> {
    /// Starts the client as a person would, past what it asks only once.
    fn start(stage: &'a Stage<'a>, prompt: &str) -> Self {
        let folder = stage.space.path().canonicalize().unwrap();
        let known = json!({folder.to_str().unwrap(): {"hasTrustDialogAccepted": true}});
        let seen = json!({"hasCompletedOnboarding": true, "theme": "dark", "projects": known});
        std::fs::create_dir_all(stage.home()).unwrap();
        std::fs::write(stage.home().join(".claude.json"), seen.to_string()).unwrap();
        connect(stage, "user");
        let socket = stage.home().join("tmux").display().to_string();
        let terminal = Self { stage, socket };
        let words = ["new-session", "-d", "-x", "120", "-y", "50", "-s", "claude"];
        let client = [&stage.client.program(), "--permission-mode", "default", prompt];
        assert!(terminal.tmux(&words).args(client).status().unwrap().success());
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = self.stage.at_home(Command::new("tmux"));
        command.args(["-S", &self.socket]).args(words).current_dir(self.stage.space.path());
        command
    }

    fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-t", "claude"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn types(&self, keys: &[&str]) {
        let words: Vec<_> = ["send-keys", "-t", "claude"].iter().chain(keys).copied().collect();
        assert!(self.tmux(&words).status().unwrap().success());
    }

    /// Waits until the screen has something on it.
    fn shows(&self, wanted: &str) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !self.screen().contains(wanted) {
            assert!(std::time::Instant::now() < end, "no {wanted:?} on:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).status();
    }
}

fn open(stage: &Stage<'_>) -> Vec<Value> {
    stage.space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().clone()
}

pub(super) fn the_first_answer_counts(stage: &Stage<'_>) {
    let space = stage.space;
    let file = |name: &str| space.path().join(name);
    let touch = |name: &str| json!({"shell": format!("touch {}", file(name).display())});
    let scene = |when: &str, name: &str, end: &str| json!({"when": when, "steps": [touch(name), {"text": end}]});
    let scenes = json!([
        scene("Make the first", "first.txt", "The first is made."),
        scene("Make the second", "second.txt", "The second is made."),
    ]);
    stage.model.plays(&scenes.to_string());
    let terminal = Terminal::start(stage, "Make the first");
    // Answered from the inbox: the prompt is closed, and the call runs.
    let gate = until(|| open(stage).pop());
    terminal.shows("Do you want to proceed?");
    assert!(gate["facts"].to_string().contains("first.txt"), "{gate}");
    assert!(!file("first.txt").exists());
    space.ann(&["approve", gate["handle"].as_str().unwrap()]).ok();
    terminal.shows("The first is made.");
    assert!(file("first.txt").exists());
    assert!(!terminal.screen().contains("Do you want to proceed?"), "{}", terminal.screen());
    // Answered in the terminal: the question in the inbox is over, and nobody said yes by name.
    terminal.types(&["Make the second", "Enter"]);
    let gate = until(|| open(stage).pop());
    terminal.shows("Do you want to proceed?");
    // What is typed before a person can have read the prompt is dropped.
    until(|| {
        terminal.types(&["Enter"]);
        std::thread::sleep(std::time::Duration::from_secs(1));
        (!terminal.screen().contains("Do you want to proceed?")).then_some(())
    });
    terminal.shows("The second is made.");
    assert!(file("second.txt").exists());
    let shown = until(|| {
        let shown = space.show(gate["handle"].as_str().unwrap());
        (shown["state"] != "open").then_some(shown)
    });
    assert_eq!((&shown["state"], &shown["answer"]), (&json!("withdrawn"), &Value::Null), "{shown}");
    assert_eq!(open(stage).len(), 0);
    space.verify();
}
