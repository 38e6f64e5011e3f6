//! The terminal inbox, in a real terminal: tmux draws what the program says, and types what people press.

mod answering;
mod crowd;
mod flood;
mod hostile;
mod lines;
mod measured;
mod one_truth;
mod proof;
mod terminal;

use crate::harness::{SAYSO, Space, Who};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A key counts when the card was on the screen for a moment; this is a little more.
const MOMENT: Duration = Duration::from_millis(700);

/// So long is an answer held, and a little more.
const GRACE: Duration = Duration::from_millis(5_500);

/// How long anything may take to show on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal as young as this is nobody's; see `sayso_core::terminal`.
const YOUNG: Duration = Duration::from_millis(2_200);

/// A terminal with the inbox on it, ended with the test.
struct Terminal<'a> {
    space: &'a Space,
    socket: String,
    /// The person before it: a terminal in which tmux shows this one.
    person: Child,
}

impl<'a> Terminal<'a> {
    /// The user at a terminal, who types `sayso inbox`.
    #[track_caller]
    fn open(space: &'a Space) -> Self {
        Self::of(space, Who::Script, (120, 40), "sayso inbox")
    }

    /// Somebody types a line of shell at a terminal of this size.
    #[track_caller]
    fn of(space: &'a Space, who: Who<'_>, (columns, rows): (u16, u16), line: &str) -> Self {
        let like = space.command(who, &[]);
        // Each has a server of its own: one that was just ended takes no new session.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tmux{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let socket = space.path().join(name).display().to_string();
        let mut tmux = Command::new("tmux");
        tmux.current_dir(space.path()).env_clear();
        tmux.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // What it ended with, and how it left the terminal, is told below.
        let line = line.replace("sayso ", &format!("{SAYSO} "));
        // Nobody types before there is somebody.
        let line = format!(
            "read -r begin; {line}; echo \"ended with $?\"; stty -a | grep -o ' -*icanon'; exec sleep 600"
        );
        tmux.args(["-u", "-f", "/dev/null", "-S", &socket, "new-session", "-d", "-s", "inbox"]);
        tmux.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "sh", "-c", &line]);
        // The person's own terminal has no size.
        tmux.args([";", "set-option", "-g", "window-size", "manual"]);
        tmux.args([";", "set-option", "-g", "status", "off"]);
        let opened = Instant::now();
        assert!(tmux.status().unwrap().success());
        let attach = format!("stty cols {columns} rows {rows}; exec tmux -u -S '{socket}' attach");
        let mut person = space.line(&attach);
        let person = person.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let terminal = Self { space, socket, person };
        terminal.await_person();
        std::thread::sleep(YOUNG.saturating_sub(opened.elapsed()));
        terminal.tmux(&["send-keys", "-t", "inbox", "-R", "Enter"]);
        terminal.tmux(&["clear-history", "-t", "inbox"]);
        terminal
    }

    fn await_person(&self) {
        let end = Instant::now() + PATIENCE;
        while self.tmux(&["list-clients"]).is_empty() {
            assert!(Instant::now() < end, "nobody came");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-S", &self.socket]).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the screen.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "inbox"])
    }

    /// Presses keys, by tmux's names for them.
    fn press(&self, keys: &[&str]) {
        let words: Vec<_> = ["send-keys", "-t", "inbox"].iter().chain(keys).copied().collect();
        self.tmux(&words);
    }

    /// Types letters.
    fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "inbox", "-l", text]);
    }

    /// Waits until the screen has something on it.
    #[track_caller]
    fn shows(&self, wanted: &str) {
        self.until(wanted, |screen| screen.contains(wanted));
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(&self.screen()) {
            assert!(Instant::now() < end, "not {what:?} on:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the card of a gate is on the screen, and long enough to be spoken to.
    #[track_caller]
    fn looks_at(&self, gate: &str) {
        let is_card = |line: &str| {
            line.split('│').next_back().is_some_and(|card| card.trim_start().starts_with(gate))
        };
        self.until(&format!("the card of {gate}"), |screen| screen.lines().any(is_card));
        std::thread::sleep(MOMENT);
    }

    /// The line of the screen on which the cursor of the list stands.
    fn here(&self) -> Option<(usize, String)> {
        let screen = self.screen();
        let mut lines = screen.lines().enumerate();
        lines.find(|(_, line)| line.starts_with('▌')).map(|(at, line)| {
            let handle = line.trim_start_matches(['▌', '●', '»', 'x', ' ']);
            (at, handle.chars().take_while(|c| c.is_alphanumeric()).collect())
        })
    }

    /// The terminal is as it was before, and the program ended with this code.
    #[track_caller]
    fn ended(&self, code: i32) {
        self.shows(&format!("ended with {code}"));
        self.shows(" icanon");
        assert_eq!(
            self.tmux(&["display-message", "-p", "-t", "inbox", "#{alternate_on}"]).trim(),
            "0"
        );
        let _ = self.space;
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.args(["-S", &self.socket, "kill-server"]).status();
        let _ = self.person.kill();
        let _ = self.person.wait();
    }
}

/// The state of a gate, as ann sees it.
fn state(space: &Space, gate: &str) -> String {
    space.show(gate)["state"].as_str().unwrap().to_owned()
}

/// Waits until a gate has ended.
#[track_caller]
fn ended(space: &Space, gate: &str) -> serde_json::Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let shown = space.show(gate);
        if shown["state"] != "open" {
            return shown;
        }
        assert!(Instant::now() < end, "{gate} is still open");
        std::thread::sleep(Duration::from_millis(100));
    }
}
