//! Real clients in tmux, standing at their permission menus while nudges of every kind come: nothing runs.
//! When the menu is gone and the prompt is empty, what was held is typed, and the model hears it.

use super::client::Client;
use super::hooked::connect;
use super::{Stage, until};
use crate::governed::{actions, times};
use crate::harness::Who;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What is typed by itself begins with this.
const NEWS: &str = "sayso has news";

/// What a person has begun to type.
const HALF: &str = "half a line";

/// A client as a long-lived agent in tmux, ended with the test.
struct Resident<'a, 'b> {
    stage: &'a Stage<'b>,
    name: &'static str,
}

impl<'a, 'b> Resident<'a, 'b> {
    /// Spawns the client with a prompt whose call its user is asked about.
    fn spawn(stage: &'a Stage<'b>) -> Self {
        let resident = Self { stage, name: stage.client.name() };
        let file = resident.file();
        let call = match stage.client {
            // Its menu comes up for what is to run outside of the sandbox.
            Client::Codex => json!({"tool": ["exec_command", {
                "cmd": format!("touch {}", file.display()),
                "sandbox_permissions": "require_escalated",
                "justification": "it needs to",
            }]}),
            Client::ClaudeCode | Client::Gemini | Client::Opencode => {
                json!({"shell": format!("touch {}", file.display())})
            }
        };
        let scenes = json!([
            {"when": "Make the file", "steps": [call, {"text": "It is made."}]},
            {"when": NEWS, "steps": [{"text": "I have heard it."}]},
            {"when": HALF, "steps": [{"text": "That was half a line."}]},
        ]);
        stage.model.plays(&scenes.to_string());
        resident.settle();
        let fleet = stage.space.path().join("fleet.yaml");
        let agent = json!({
            "program": stage.client.program(),
            "args": resident.args(),
            "backend": "tmux",
        });
        std::fs::write(&fleet, json!({"agents": {resident.name: agent}}).to_string()).unwrap();
        resident.ann(&["apply", "fleet.yaml"]);
        resident.ann(&["agent", "spawn", resident.name]);
        resident
    }

    /// What the client is to find before it starts, so that it asks nothing but about its call.
    fn settle(&self) {
        let (stage, home) = (self.stage, self.stage.home());
        let folder = stage.space.path().canonicalize().unwrap();
        let folder = folder.to_str().unwrap();
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        match stage.client {
            Client::ClaudeCode => {
                let known = json!({folder: {"hasTrustDialogAccepted": true}});
                let seen =
                    json!({"hasCompletedOnboarding": true, "theme": "dark", "projects": known});
                write(home.join(".claude.json"), &seen.to_string());
            }
            Client::Codex => {
                let path = home.join(".codex/config.toml");
                let text = std::fs::read_to_string(&path).unwrap();
                let head = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n";
                let trust = format!("[projects.\"{folder}\"]\ntrust_level = \"trusted\"\n");
                write(path, &format!("{head}{text}{trust}"));
            }
            Client::Gemini => {
                let trusted = json!({folder: "TRUST_FOLDER"}).to_string();
                write(home.join(".gemini/trustedFolders.json"), &trusted);
            }
            Client::Opencode => {
                let asks = json!({"permission": {"bash": "ask"}}).to_string();
                write(stage.space.path().join("opencode.json"), &asks);
            }
        }
    }

    fn args(&self) -> Vec<&'static str> {
        match self.stage.client {
            Client::ClaudeCode => vec!["--permission-mode", "default", "Make the file"],
            Client::Codex => vec!["Make the file"],
            Client::Gemini => vec!["-m", "gemini-2.5-flash", "-i", "Make the file"],
            Client::Opencode => vec!["--prompt", "Make the file"],
        }
    }

    /// What the call would leave behind.
    fn file(&self) -> PathBuf {
        self.stage.space.path().join("made.txt")
    }

    /// A person's command, at home where the client is.
    #[track_caller]
    fn ann(&self, args: &[&str]) -> String {
        let mut command = self.stage.at_home(self.stage.space.command(Who::Human("ann"), args));
        self.stage.space.finish(&mut command).ok()
    }

    fn screen(&self) -> String {
        self.ann(&["agent", "logs", self.name, "--screen"])
    }

    /// Waits until the screen has something on it.
    #[track_caller]
    fn shows(&self, wanted: &str) {
        let end = std::time::Instant::now() + Duration::from_secs(120);
        while !self.screen().contains(wanted) {
            assert!(std::time::Instant::now() < end, "no {wanted:?} on:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// The words of its menu.
    fn menu(&self) -> &'static str {
        match self.stage.client {
            Client::ClaudeCode => "Do you want to proceed?",
            Client::Codex => "Would you like to run the following command?",
            Client::Gemini => "Allow execution of",
            Client::Opencode => "Permission required",
        }
    }

    /// Presses keys as a person who is attached would.
    fn press(&self, keys: &[&str]) {
        let folder = self.stage.space.path().join(".sayso/agents");
        let mut files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let socket = files.find(|file| file.extension().is_some_and(|end| end == "tmux"));
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(socket.unwrap()).args(["send-keys", "-t", "%0"]).args(keys);
        assert!(tmux.status().unwrap().success());
    }

    /// Messages of a person and of another agent, a no to another question, an expiry and a mere look,
    /// again and again while the menu stands.
    fn nudge_in_every_way(&self) {
        let space = self.stage.space;
        self.ann(&["tell", self.name, "Use the new port."]);
        space.run(Who::Agent("tester"), &["tell", self.name, "Are you done?"]).ok();
        let gate = space.run(Who::Agent(self.name), &["ask", "Which port?"]).ok();
        self.ann(&["reject", &gate, "none of them"]);
        space.run(Who::Agent(self.name), &["ask", "Which host?", "--deadline", "1s"]).ok();
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(1_500));
            self.ann(&["agent", "list"]);
        }
        assert!(actions(space).contains(&"gate.expired".to_owned()));
        let nudge = ["agent", "nudge", self.name, "hello"];
        let mut command = self.stage.at_home(space.command(Who::Human("ann"), &nudge));
        space.finish(&mut command).refused("SAY059").exits(6);
    }

    /// That nothing was typed or run, and the menu stands as it stood.
    #[track_caller]
    fn stands_untouched(&self) {
        let screen = self.screen();
        assert!(screen.contains(self.menu()), "the menu is gone:\n{screen}");
        assert!(!screen.contains(NEWS), "something was typed:\n{screen}");
        assert!(!self.file().exists(), "the call ran:\n{screen}");
        assert_eq!(times(self.stage.space, "agent.nudged"), 0);
    }

    /// Waits until what was held is typed at the empty prompt, and the model has heard it.
    #[track_caller]
    fn hears_of_it(&self) {
        let end = std::time::Instant::now() + Duration::from_secs(120);
        while times(self.stage.space, "agent.nudged") == 0 {
            assert!(std::time::Instant::now() < end, "it was not nudged:\n{}", self.screen());
            self.ann(&["agent", "list"]);
            std::thread::sleep(Duration::from_millis(500));
        }
        self.stage.model.await_request(NEWS, 0);
    }
}

impl Drop for Resident<'_, '_> {
    fn drop(&mut self) {
        let stop = ["agent", "stop", self.name];
        let mut command = self.stage.at_home(self.stage.space.command(Who::Human("ann"), &stop));
        let _ = self.stage.space.finish(&mut command);
    }
}

/// The client asks its own user; its screen alone tells that.
pub(super) fn at_its_menu(stage: &Stage<'_>) {
    stage.space.mint("agent", stage.client.name());
    let resident = Resident::spawn(stage);
    resident.shows(resident.menu());
    resident.nudge_in_every_way();
    resident.stands_untouched();
    // A person says no in the terminal.
    resident.press(&["Escape"]);
    resident.hears_of_it();
    assert!(!resident.file().exists(), "the call ran");
    // What a person has begun to type is not sent off, and goes on being theirs.
    resident.shows("I have heard it.");
    resident.press(&["-l", HALF]);
    resident.shows(HALF);
    let typed = times(stage.space, "agent.nudged");
    stage.space.run(Who::Agent("tester"), &["tell", resident.name, "And another."]).ok();
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(1_500));
        resident.ann(&["agent", "list"]);
    }
    assert_eq!(times(stage.space, "agent.nudged"), typed, "{}", resident.screen());
    assert!(resident.screen().contains(HALF), "{}", resident.screen());
    assert!(stage.model.requests(HALF, 0).is_empty());
    // Entered by that person, it is what they typed and nothing more.
    resident.press(&["Enter"]);
    stage.model.await_request(HALF, 0);
    let told = stage.model.request(HALF, 0);
    assert_eq!(told.last("user").trim(), HALF, "{told:#?}");
    stage.space.verify();
}

/// The same with a question in the inbox beside the client's own.
pub(super) fn with_an_open_gate(stage: &Stage<'_>) {
    stage.space.mint("agent", stage.client.name());
    let folder = stage.home();
    std::fs::create_dir_all(&folder).unwrap();
    connect(stage, "user");
    let resident = Resident::spawn(stage);
    resident.shows(resident.menu());
    let asked = |space: &crate::harness::Space| -> Vec<Value> {
        let open = space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().clone();
        open.into_iter().filter(|gate| gate["kind"] == "tool").collect()
    };
    let gate = until(|| asked(stage.space).pop());
    let gate = gate["handle"].as_str().unwrap();
    resident.nudge_in_every_way();
    resident.stands_untouched();
    // The other question was answered; this one is as it was, and nobody's yes is on record.
    assert_eq!(stage.space.show(gate)["state"], "open");
    resident.ann(&["reject", gate, "not now"]);
    until(|| (!resident.screen().contains(resident.menu())).then_some(()));
    // Its hooks may bring the news before the keyboard does: then nothing is typed at all.
    std::thread::sleep(Duration::from_secs(3));
    resident.ann(&["agent", "list"]);
    assert!(!resident.file().exists(), "the call ran");
    stage.space.verify();
}
