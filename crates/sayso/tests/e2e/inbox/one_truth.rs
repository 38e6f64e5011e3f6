//! One truth: what happens anywhere shows here, and nothing moves under anybody's hand.

use super::{GRACE, MOMENT, Terminal, ended, state};
use crate::harness::{Who, everywhere, in_places};
use std::time::Duration;

everywhere! {
    /// Asked elsewhere, it shows; answered elsewhere, the card says by whom and is answered no more.
    fn what_happens_elsewhere_shows(space: &Space) {
        let terminal = Terminal::open(space);
        terminal.shows("Nothing waits for you");
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        terminal.shows("Deploy?");
        // It is not under the cursor before somebody goes there.
        assert_eq!(terminal.here(), None);
        terminal.press(&["j"]);
        terminal.looks_at(&gate);
        let before = terminal.here();
        space.run(Who::Human("bob"), &["reject", &gate, "not on a Friday"]).ok();
        terminal.shows("rejected by bob");
        terminal.until("the row says it, too", |screen| screen.matches("rejected by bob").count() >= 3);
        let (place, _) = terminal.here().unwrap();
        assert_eq!(Some(place), before.map(|(place, _)| place));
        std::thread::sleep(MOMENT);
        terminal.press(&["a", "r"]);
        std::thread::sleep(MOMENT);
        let screen = terminal.screen();
        assert!(!screen.contains("approving") && !screen.contains("why, or what to do"), "{screen}");
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A card that changed is not the card that was shown: what was said to it is not said to this one.
    fn a_changed_card_is_looked_at_again(space: &Space) {
        let gate = space.ask("coder", &["Delete 1 file?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows("approving");
        let desk = sayso_engine::Desk::open(
            sayso_engine::StoreLocation::Sqlite(space.file()),
            space.path().file_name().unwrap().to_str().unwrap(),
            sayso_engine::RuntimeEnv::real(),
        )
        .unwrap();
        let secret = std::fs::read_to_string(space.token("coder")).unwrap();
        let coder = desk.authenticate(secret.trim(), sayso_core::EntryPoint::Cli).unwrap();
        let id = desk.find_gate(&gate).unwrap();
        let mut card = desk.gate(id).unwrap().card;
        card.question = "Delete 4,000 files?".into();
        desk.revise(&coder, id, card).unwrap();
        terminal.shows("Delete 4,000 files?");
        terminal.shows("has changed; look again");
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        terminal.press(&["a"]);
        assert_eq!(ended(space, &gate)["verdict"], "approved");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A no that is being typed when the agent changes its card: the rest of it is no key. It is kept, and
    /// nothing is said.
    fn a_no_that_is_typed_is_never_a_yes(space: &Space) {
        let gate = space.ask("coder", &["Delete 1 file?", "--verdict"]);
        let other = space.ask("coder", &["And this?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        terminal.press(&["r"]);
        terminal.shows("why, or what to do instead");
        terminal.write("not at");
        terminal.shows("not at");
        space.coder(&["ask", "Delete 4,000 files?", "--verdict", "--revise", &gate]).ok();
        terminal.shows("what you had typed is kept");
        for letter in " all, a java jar at last a a".chars() {
            terminal.write(&letter.to_string());
            std::thread::sleep(Duration::from_millis(150));
        }
        terminal.press(&["Enter"]);
        terminal.until("the line is gone", |screen| !screen.contains("what you had typed is kept"));
        std::thread::sleep(GRACE);
        for gate in [&gate, &other] {
            assert_eq!(state(space, gate), "open");
        }
        terminal.looks_at(&gate);
        terminal.press(&["r"]);
        terminal.shows("why, or what to do instead: not at");
        terminal.press(&["Enter"]);
        assert_eq!(ended(space, &gate)["answer"]["reason"], "not at");
        // Somebody else answers while a word is typed: the next card hears nothing of it.
        terminal.press(&["j"]);
        terminal.looks_at(&other);
        terminal.press(&["e"]);
        terminal.write("as ");
        space.run(Who::Human("bob"), &["reject", &other, "no"]).ok();
        terminal.shows("is settled; what you had typed is not sent");
        terminal.write("a jar");
        terminal.press(&["Escape"]);
        terminal.shows("rejected by bob");
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

in_places! {
    [served: Served]
    /// A server that is gone and comes back: the inbox goes on by itself.
    fn an_inbox_outlives_its_server(space: &Space) {
        let terminal = Terminal::open(space);
        terminal.shows("Nothing waits for you");
        space.replace_server(|| std::thread::sleep(Duration::from_secs(1)));
        let gate = space.ask("coder", &["Still there?", "--verdict"]);
        terminal.shows("Still there?");
        terminal.press(&["j"]);
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        assert_eq!(ended(space, &gate)["verdict"], "approved");
    }
}

in_places! {
    [served: Served]
    /// While the server is gone the inbox says so, since when and when it tries again. What is answered meanwhile
    /// is marked as not sent, and is sent once when the server is back; what was taken back is not.
    fn an_answer_waits_for_its_server(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let other = space.ask("coder", &["And this?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        space.replace_server(|| {
            terminal.shows("cannot be reached since");
            terminal.shows("trying again in");
            terminal.shows("waited (no connection)");
            terminal.press(&["a"]);
            terminal.shows(&format!("NOT SENT: approving {gate}"));
            terminal.press(&["j"]);
            terminal.looks_at(&other);
            terminal.press(&["a"]);
            terminal.shows("NOT SENT: 2 answers");
            terminal.press(&["z"]);
            terminal.shows(&format!("NOT SENT: approving {gate}"));
        });
        assert_eq!(ended(space, &gate)["verdict"], "approved");
        terminal.until("connected", |screen| !screen.contains("no connection") && !screen.contains("NOT SENT"));
        terminal.shows("1 waits");
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &other), "open");
        let said = space.audit().iter().filter(|entry| entry["action"] == "gate.answered").count();
        assert_eq!(said, 1);
        // Live again.
        let late = space.ask("coder", &["Later?", "--verdict"]);
        terminal.shows(&late);
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

in_places! {
    [served: Served]
    /// Whoever leaves while an answer is not sent hears that, and the program says it with its code.
    fn leaving_without_a_server_says_what_was_not_sent(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        space.replace_server(|| {
            terminal.shows("cannot be reached since");
            terminal.press(&["a"]);
            terminal.shows("NOT SENT");
            terminal.press(&["q"]);
            terminal.ended(9);
            terminal.shows("may not have been sent");
        });
        assert_eq!(state(space, &gate), "open");
    }
}
