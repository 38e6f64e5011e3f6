//! Who answers, and with what proof: as with every command that is a verdict.

use super::{GRACE, Terminal, ended, state};
use crate::harness::{Who, in_places, on_both};
use std::time::Duration;

in_places! {
    [sqlite: Sqlite]
    /// What was typed before there was anything to see is dropped, and so is what comes with the first frame.
    fn what_was_typed_ahead_is_dropped(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let line = "until test -e typed; do sleep 0.1; done; sayso inbox";
        let terminal = Terminal::of(space, Who::Script, (120, 40), line);
        terminal.write("aaaaqraaaa");
        terminal.press(&["a", "Enter", "a"]);
        std::fs::write(space.path().join("typed"), "").unwrap();
        terminal.shows("Your answer");
        std::thread::sleep(GRACE);
        let screen = terminal.screen();
        assert!(!screen.contains("approving") && !screen.contains("Reject"), "{screen}");
        assert_eq!(state(space, &gate), "open");
        // Enter looks.
        terminal.press(&["Enter", "Space", "Tab", "Enter"]);
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

on_both! {
    /// With a passphrase, a locked terminal asks for it first, outside of the screen, and holds nothing before.
    fn a_locked_terminal_asks_for_the_passphrase(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let line = "sayso unlock --set && sayso lock && clear && sayso inbox";
        let terminal = Terminal::of(space, Who::Script, (120, 40), line);
        for prompt in ["The new passphrase:", "Once more:", "Passphrase of"] {
            terminal.shows(prompt);
            std::thread::sleep(Duration::from_millis(500));
            terminal.write("correct horse");
            terminal.press(&["Enter"]);
        }
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows("Passphrase of");
        std::thread::sleep(Duration::from_millis(300));
        terminal.write("wrong");
        terminal.press(&["Enter"]);
        terminal.shows("! ");
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        terminal.press(&["a"]);
        terminal.shows("Passphrase of");
        std::thread::sleep(Duration::from_millis(1_500));
        terminal.write("correct horse");
        terminal.press(&["Enter"]);
        let shown = ended(space, &gate);
        assert_eq!((&shown["answer"]["verdict"], &shown["answer"]["proof"]), (&"approved".into(), &"passphrase".into()));
    }
}

in_places! {
    [sqlite: Sqlite]
    /// An agent gets no screen: by its mark, by its token, it is shown its own and nothing to press.
    fn an_agent_gets_no_screen(space: &Space) {
        let gate = space.ask("tester", &["Deploy?", "--verdict"]);
        let marked = Terminal::of(space, Who::With(&[("CLAUDECODE", "1")]), (120, 40), "sayso inbox");
        marked.shows("nothing that you asked still waits");
        marked.ended(0);
        drop(marked);
        let holder = Terminal::of(space, Who::Agent("coder"), (120, 40), "sayso inbox");
        holder.shows("nothing that you asked still waits");
        holder.ended(0);
        drop(holder);
        // Somebody with a token of their own answers as themselves.
        let bob = Terminal::of(space, Who::Human("bob"), (120, 40), "sayso inbox");
        bob.looks_at(&gate);
        bob.press(&["a"]);
        bob.shows("approved by bob with token");
        assert_eq!(ended(space, &gate)["answer"]["by"], "bob");
    }
}
