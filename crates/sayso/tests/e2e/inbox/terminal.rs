//! The terminal is always given back, and whatever its size is made use of.

use super::{GRACE, MOMENT, Terminal, state};
use crate::harness::in_places;
use std::process::Command;

/// The process of the inbox in this terminal.
fn process(terminal: &Terminal<'_>) -> String {
    let shell = terminal.tmux(&["display-message", "-p", "-t", "inbox", "#{pane_pid}"]);
    let path = format!("/proc/{0}/task/{0}/children", shell.trim());
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

fn send(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

in_places! {
    [sqlite: Sqlite]
    /// Told to end while an answer is held: the terminal is as it was, and nothing was said.
    fn a_signal_ends_it_and_says_nothing(space: &Space) {
        for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
            let gate = space.ask("coder", &[&format!("Deploy {signal}?"), "--verdict"]);
            let terminal = Terminal::open(space);
            terminal.shows(&gate);
            while terminal.here().is_none_or(|(_, here)| here != gate) {
                terminal.press(&["j"]);
                std::thread::sleep(MOMENT);
            }
            terminal.looks_at(&gate);
            terminal.press(&["a"]);
            terminal.shows("approving");
            send(signal, &process(&terminal));
            terminal.ended(code);
            terminal.shows("nothing was sent");
            std::thread::sleep(GRACE);
            assert_eq!(state(space, &gate), "open");
        }
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Stopped and continued, it is drawn again, and keys typed meanwhile are dropped.
    fn stopped_and_continued(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        let process = process(&terminal);
        send("-TSTP", &process);
        terminal.until("the screen is gone", |screen| !screen.contains("Your answer"));
        terminal.write("aaa");
        send("-CONT", &process);
        terminal.looks_at(&gate);
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// From two panes to one to none and back: nothing is answered that is not on the screen.
    fn any_size(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        let size = |columns: &str, rows: &str| {
            terminal.tmux(&["resize-window", "-t", "inbox", "-x", columns, "-y", rows]);
        };
        size("60", "15");
        terminal.until("one pane", |screen| screen.contains("Enter look") && !screen.contains("Your answer"));
        terminal.press(&["a"]);
        size("40", "10");
        terminal.shows("sayso needs 60x15");
        std::thread::sleep(MOMENT);
        terminal.press(&["a"]);
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        size("200", "50");
        terminal.looks_at(&gate);
        terminal.press(&["?"]);
        terminal.shows("Answering");
        terminal.press(&["Escape"]);
        terminal.looks_at(&gate);
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}
