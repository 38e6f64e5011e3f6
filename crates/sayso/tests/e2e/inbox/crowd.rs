//! Many who ask: the cursor stands still, and a key is for what is under it.

use super::{Terminal, ended};
use crate::harness::{Who, in_places};
use std::time::Duration;

/// So many ask while somebody looks.
const CROWD: usize = 60;

in_places! {
    [sqlite: Sqlite, served: Served]
    fn many_ask_and_nothing_slides(space: &Space) {
        let gates: Vec<_> = (1..=3).map(|n| space.ask("coder", &[&format!("Number {n}?"), "--verdict"])).collect();
        let terminal = Terminal::open(space);
        terminal.looks_at(&gates[0]);
        terminal.press(&["j"]);
        terminal.looks_at(&gates[1]);
        let before = terminal.here();
        // One above goes, and a crowd asks, some of it what unblocks more than anything.
        std::thread::scope(|scope| {
            scope.spawn(|| space.run(Who::Human("bob"), &["approve", &gates[0]]).ok());
            for part in 0..3 {
                scope.spawn(move || {
                    for number in (part..CROWD).step_by(3) {
                        let agent = if number % 2 == 0 { "coder" } else { "tester" };
                        let question = if number % 5 == 0 { "Which port?".into() } else { format!("Crowd {number}?") };
                        space.ask(agent, &[&question]);
                    }
                });
            }
            for _ in 0..20 {
                assert_eq!(terminal.here(), before);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        terminal.shows("approved by bob");
        terminal.shows("more below");
        assert_eq!(terminal.here(), before);
        terminal.press(&["a"]);
        assert_eq!(ended(space, &gates[1])["verdict"], "approved");
        let open = space.ann(&["inbox", "--json", "--limit", "500"]).json();
        let ids: Vec<_> = open["items"].as_array().unwrap().iter().map(|card| card["handle"].clone()).collect();
        assert!(ids.contains(&gates[2].as_str().into()), "{ids:?}");
        assert!(ids.len() > CROWD * 2 / 3, "{}", ids.len());
    }
}
