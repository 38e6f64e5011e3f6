//! Every form of answer, by keys.

use super::{GRACE, MOMENT, Terminal, ended, state};
use crate::harness::{Ran, Who, everywhere, in_places};
use serde_json::json;
use std::time::Duration;

everywhere! {
    /// An agent waits; a person approves; the agent goes on. Held first, and not done before the desk said so.
    fn an_agent_that_waits_gets_its_answer(space: &Space) {
        let waits = space.start(Who::Agent("coder"), &["ask", "Deploy?", "--verdict", "--wait"]);
        let terminal = Terminal::open(space);
        terminal.shows("Deploy?");
        let (_, gate) = terminal.here().unwrap();
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows(&format!("approving {gate} in "));
        terminal.shows("z takes it back");
        assert_eq!(state(space, &gate), "open");
        terminal.shows("approved by");
        assert_eq!(Ran::of(&waits.wait_with_output().unwrap()).ok(), "approved");
        let shown = ended(space, &gate);
        let steps = shown["receipt"].as_array().unwrap();
        let step = steps.iter().find(|step| step["step"] == "answered").unwrap();
        assert_eq!(step["door"], "tui", "{shown}");
        assert!(steps.iter().any(|step| step["step"] == "seen" && step["door"] == "tui"), "{shown}");
        terminal.press(&["q"]);
        terminal.ended(0);
        space.verify();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A text, a choice, a no with a reason, a form and a long text from an editor.
    fn each_form(space: &Space) {
        let text = space.ask("coder", &["Which port?"]);
        let choice = space.ask("coder", &["Which browsers?", "--option", "Firefox", "--option", "Chrome=needs a driver", "--option", "Safari", "--multi"]);
        let no = space.ask("coder", &["Delete it?", "--verdict"]);
        let schema = r#"{"type":"object","required":["port"],"properties":{"port":{"type":"integer"}}}"#;
        let form = space.ask("coder", &["Where does it listen?", "--schema", schema]);
        let long = space.ask("coder", &["What is the plan?"]);
        let editor = space.path().join("editor");
        std::fs::write(&editor, "#!/bin/sh\ncase $1 in *.jsonc) echo '{\"port\": 8080}' > \"$1\";; *) printf 'first\\nthen\\n' >> \"$1\";; esac\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&editor, mode).unwrap();
        let line = format!("SAYSO_EDITOR={} sayso inbox", editor.display());
        let terminal = Terminal::of(space, Who::Script, (120, 40), &line);
        terminal.looks_at(&text);
        terminal.press(&["a"]);
        terminal.shows("write an answer first");
        terminal.press(&["e"]);
        terminal.write("8080");
        terminal.press(&["Enter"]);
        terminal.shows("kept; a answers with it");
        assert_eq!(state(space, &text), "open");
        terminal.press(&["a"]);
        terminal.shows("answering");
        terminal.press(&["j"]);
        terminal.looks_at(&choice);
        terminal.press(&["1", "3", "a"]);
        terminal.shows(&format!("answering {choice}"));
        terminal.press(&["j"]);
        terminal.looks_at(&no);
        terminal.press(&["r"]);
        terminal.write("not on a Friday");
        terminal.press(&["Enter"]);
        terminal.shows(&format!("rejecting {no}"));
        terminal.press(&["j"]);
        terminal.looks_at(&form);
        terminal.press(&["e"]);
        terminal.shows("\"port\": 8080");
        std::thread::sleep(MOMENT);
        terminal.press(&["a"]);
        terminal.shows(&format!("answering {form}"));
        terminal.press(&["j"]);
        terminal.looks_at(&long);
        terminal.press(&["e", "Tab"]);
        terminal.shows("then");
        std::thread::sleep(MOMENT);
        terminal.press(&["a"]);
        terminal.shows(&format!("answering {long}"));
        terminal.press(&["q"]);
        terminal.ended(0);
        assert_eq!(ended(space, &text)["answer"]["text"], "8080");
        assert_eq!(ended(space, &choice)["answer"]["picked"], json!(["Firefox", "Safari"]));
        assert_eq!(ended(space, &no)["answer"]["reason"], "not on a Friday");
        assert_eq!(ended(space, &form)["answer"]["form"], json!({"port": 8080}));
        assert_eq!(ended(space, &long)["answer"]["text"], "first\nthen");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Taken back, nothing was said. Leaving sends what is held, and says so.
    fn taken_back_and_left(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows("leaving sends it");
        terminal.press(&["z"]);
        terminal.shows("; nothing was sent");
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        terminal.press(&["a"]);
        terminal.shows("approving");
        terminal.press(&["q"]);
        terminal.ended(0);
        terminal.shows("approved by");
        assert_eq!(ended(space, &gate)["verdict"], "approved");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Ctrl+C takes back what is held, ends, and says so. What was written and not sent is printed.
    fn ended_by_a_key(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        let text = space.ask("coder", &["Which port?"]);
        let terminal = Terminal::open(space);
        terminal.looks_at(&gate);
        terminal.press(&["j"]);
        terminal.looks_at(&text);
        terminal.press(&["e"]);
        terminal.write("8080, behind the proxy");
        terminal.press(&["Enter"]);
        terminal.shows("kept; a answers with it");
        terminal.press(&["k"]);
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows("approving");
        terminal.press(&["C-c"]);
        terminal.ended(1);
        terminal.shows(&format!("taken back: approving {gate}; nothing was sent"));
        terminal.shows("8080, behind the proxy");
        std::thread::sleep(GRACE);
        assert_eq!(state(space, &gate), "open");
        assert_eq!(state(space, &text), "open");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A number that no option has is a mistake and no words of one's own.
    fn a_number_out_of_range_is_no_answer(space: &Space) {
        let gate = space.ask("coder", &["Which?", "--option", "New York", "--option", "Rome", "--other"]);
        space.ann(&["respond", &gate, "9"]).exits(2).refused("SAY008").says("\"Rome\"");
        assert_eq!(state(space, &gate), "open");
        space.ann(&["respond", &gate, "neither"]).ok();
        assert_eq!(ended(space, &gate)["answer"]["other"], "neither");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Put off, taken, handed on, several at once.
    fn what_else_is_done_by_keys(space: &Space) {
        let gates: Vec<_> = (1..=4).map(|n| space.ask("coder", &[&format!("Number {n}?"), "--verdict"])).collect();
        let terminal = Terminal::open(space);
        terminal.looks_at(&gates[0]);
        terminal.press(&["c"]);
        terminal.shows("is yours for half an hour");
        terminal.press(&["h"]);
        terminal.shows("until when: 1h");
        // What is refused leaves the line open, so no letter of the next try is a key.
        terminal.press(&["C-u"]);
        terminal.write("noonish");
        terminal.press(&["Enter"]);
        terminal.shows("is no time");
        terminal.press(&["C-u"]);
        terminal.write("1h");
        terminal.press(&["Enter"]);
        terminal.shows("comes back");
        terminal.press(&["j"]);
        terminal.looks_at(&gates[1]);
        terminal.press(&["@"]);
        terminal.write("bob");
        terminal.press(&["Enter"]);
        terminal.shows("waits for bob in your place");
        for gate in &gates[2..] {
            terminal.press(&["j"]);
            terminal.looks_at(gate);
            terminal.press(&["x"]);
        }
        terminal.shows("2 marked");
        terminal.press(&["a"]);
        terminal.shows("approving 2 cards");
        terminal.shows("2 answered");
        for gate in &gates[2..] {
            assert_eq!(ended(space, gate)["verdict"], "approved");
        }
        let first = space.show(&gates[0]);
        assert_eq!(first["claimed_by"], crate::harness::user().as_str(), "{first}");
        assert!(first["snoozed_until"].is_string(), "{first}");
        assert_eq!(space.show(&gates[1])["delegations"][0]["to"], "bob");
        // Who watches sees what was put off, and brings it back.
        terminal.press(&["v", "v", "/"]);
        terminal.shows("[Watching]");
        terminal.write(&gates[0]);
        terminal.press(&["Enter"]);
        terminal.looks_at(&gates[0]);
        terminal.shows("back in 1 hour");
        terminal.press(&["h", "Enter"]);
        terminal.shows("is back");
        assert!(space.show(&gates[0])["snoozed_until"].is_null());
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A yes is for what was on the screen for a moment: neither what is below, nor what flew by under a held key.
    fn a_long_card_is_read_before_it_is_approved(space: &Space) {
        let context: String = (1..=30).map(|n| format!("Line {n}.\n\n")).collect();
        let gate = space.ask("coder", &["Drop the table?", "--verdict", "--context", &context]);
        let terminal = Terminal::of(space, Who::Script, (80, 24), "sayso inbox");
        terminal.looks_at(&gate);
        terminal.press(&["a"]);
        terminal.shows("below: J reads on, and then you can answer");
        for _ in 0..10 {
            terminal.press(&["J"]);
            std::thread::sleep(Duration::from_millis(30));
        }
        std::thread::sleep(MOMENT);
        terminal.press(&["a"]);
        terminal.shows("passed over: J reads on");
        assert_eq!(state(space, &gate), "open");
        for _ in 0..10 {
            std::thread::sleep(MOMENT);
            terminal.press(&["J"]);
        }
        std::thread::sleep(MOMENT);
        terminal.press(&["a"]);
        terminal.shows(&format!("approving {gate}"));
        assert_eq!(ended(space, &gate)["verdict"], "approved");
        terminal.press(&["q"]);
        terminal.ended(0);
    }
}
