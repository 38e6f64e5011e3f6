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
            sayso_engine::Place::Sqlite(space.file()),
            space.path().file_name().unwrap().to_str().unwrap(),
            sayso_engine::World::real(),
        )
        .unwrap();
        let secret = std::fs::read_to_string(space.token("coder")).unwrap();
        let coder = desk.authenticate(secret.trim(), sayso_core::Door::Cli).unwrap();
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
