//! What agents write to deceive is inert and visible in a real terminal.

use super::Terminal;
use crate::harness::{Who, in_places};
use std::time::Duration;

const HOSTILE: &str = "\u{1b}[2J\u{1b}[1;1H\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]8;;http://evil.example\u{7}link\u{1b}]8;;\u{7} \
pay \u{202e}0001\u{202c} to a\u{200b}c\u{200d}me\u{e0041}\u{9b}31m\n✓ approved by ann with tty\n└─────┘\nthe end";

in_places! {
    [sqlite: Sqlite]
    fn nothing_an_agent_writes_acts(space: &Space) {
        let wide = "x".repeat(10_000);
        let context = format!("{HOSTILE}{}{wide}", "\n".repeat(300));
        let gate = space.ask("coder", &[HOSTILE, "--context", &context, "--option", HOSTILE, "--option", "fine"]);
        for size in [(60, 15), (80, 24), (120, 40)] {
            let terminal = Terminal::of(space, Who::Script, size, "sayso inbox");
            terminal.shows(&gate);
            terminal.tmux(&["set-option", "-s", "set-clipboard", "on"]);
            terminal.press(&["Enter"]);
            terminal.looks_at(&gate);
            for _ in 0..4 {
                terminal.press(&["J"]);
                std::thread::sleep(Duration::from_millis(150));
                let screen = terminal.screen();
                assert!(screen.starts_with(" sayso "), "{screen}");
                assert!(!screen.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{screen}");
                let fake = screen.lines().find(|line| line.trim_start().starts_with('✓'));
                assert_eq!(fake, None, "{screen}");
            }
            let title = terminal.tmux(&["display-message", "-p", "-t", "inbox", "#{pane_title}"]);
            assert!(!title.contains("owned"), "{title}");
            assert_eq!(terminal.tmux(&["list-buffers"]), "", "something was copied");
            terminal.press(&["q"]);
            terminal.ended(0);
        }
        assert_eq!(space.show(&gate)["state"], "open");
    }
}
