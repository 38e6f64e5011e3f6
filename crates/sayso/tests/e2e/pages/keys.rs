//! The keys: every one of them, and the ones that must not do anything.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::in_places;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

in_places! {
    [sqlite: Sqlite]
    /// Looking around by keys alone.
    fn looking_around(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        for number in 1..=3 {
            desk.server.ask("coder", approval(&format!("Number {number}?")));
        }
        page.until("document.querySelectorAll('.row').length === 3");
        let here = |number: usize| {
            page.until(&format!("document.querySelectorAll('.row')[{number}].classList.contains('here')"));
        };
        for (key, place) in [("j", 0), ("j", 1), ("ArrowDown", 2), ("j", 2), ("k", 1), ("ArrowUp", 0), ("G", 2), ("g", 0), ("End", 2), ("Home", 0)] {
            page.press(key);
            here(place);
        }
        page.press("?");
        page.says("pick an option");
        // What opened the help closes it.
        page.press("?");
        page.until("!document.querySelector('dialog') && !!document.getElementById('card')");
        page.press(":");
        page.until("!!document.querySelector('dialog[open] input')");
        page.says("more; type a part of the name");
        // What can be done with the card comes first, and it is told what Enter does.
        page.says("Enter leads to: approve");
        page.write("audit");
        page.until("document.querySelectorAll('.palette li').length === 1");
        page.fill("dialog input", "zebra");
        page.says("nothing here is called that");
        // The words of the command line find it, too, and the arrows lead there.
        page.fill("dialog input", "snooze");
        page.until("document.querySelector('.palette li')?.textContent.startsWith('put off')");
        page.press("ArrowDown");
        page.until("document.activeElement.textContent.startsWith('put off')");
        page.press("ArrowUp");
        page.until("document.activeElement.localName === 'input'");
        page.press("Escape");
        page.until("!document.querySelector('dialog')");
        page.press("/");
        page.write("number 2");
        page.until("document.querySelectorAll('.row:not([hidden])').length === 1");
        // Enter keeps what was found and leaves the field; Esc shows all, there and in the field.
        page.press("Enter");
        page.until("document.activeElement.id !== 'filter' && document.querySelectorAll('.row:not([hidden])').length === 1");
        page.press("Escape");
        page.until("document.querySelectorAll('.row:not([hidden])').length === 3");
        page.press("/");
        page.write("number 2");
        page.press("Escape");
        page.until("document.activeElement.id !== 'filter' && document.querySelectorAll('.row:not([hidden])').length === 3");
        page.press("v");
        page.until("document.querySelector('.rows')?.dataset.view === 'groups'");
        // Enter goes there at once.
        desk.ready();
        page.press(":");
        page.until("!!document.querySelector('dialog[open] input')");
        page.write("audit");
        page.press("Enter");
        desk.ready_at("audit");
        // Only keys that do something there are told.
        page.press("?");
        page.says("these keys");
        assert!(!page.text().contains("pick an option"), "{}", page.text());
        desk.is_content();
    }
}

/// Every key of the list, with something in the page that only it brings about. What is not in here fails the test.
const EVERY_KEY: &[(&str, &str)] = &[
    ("j", "AT === 0"),
    ("ArrowDown", "AT === 1"),
    ("k", "AT === 0"),
    ("G", "AT === 2"),
    ("ArrowUp", "AT === 1"),
    ("g", "AT === 0"),
    ("End", "AT === 2"),
    ("Home", "AT === 0"),
    ("Enter", "document.getElementById('pane').contains(document.activeElement)"),
    ("Escape", "document.activeElement.closest('.row') !== null"),
    ("o", "document.getElementById('pane').contains(document.activeElement)"),
    ("J", "SCROLLED > 0"),
    ("K", "SCROLLED === 0"),
    ("PageDown", "SCROLLED > 0"),
    ("PageUp", "SCROLLED === 0"),
    ("d", "document.querySelector('details.diff').open === false"),
    ("y", "TEXT.includes('sayso show')"),
    ("1", "document.querySelector('[data-number=\"1\"]').checked"),
    ("2", "document.querySelector('[data-number=\"2\"]').checked"),
    ("3", "document.querySelector('[data-number=\"3\"]').checked"),
    ("4", "document.querySelector('[data-number=\"4\"]').checked"),
    ("5", "document.querySelector('[data-number=\"5\"]').checked"),
    ("6", "document.querySelector('[data-number=\"6\"]').checked"),
    ("7", "document.querySelector('[data-number=\"7\"]').checked"),
    ("8", "document.querySelector('[data-number=\"8\"]').checked"),
    ("9", "document.querySelector('[data-number=\"9\"]').checked"),
    ("e", "document.activeElement.name === 'other'"),
    ("x", "TEXT.includes('wants an answer of its own')"),
    ("c", "document.getElementById('card').dataset.claimed === 'true'"),
    ("@", "DIALOG.includes('Hand ')"),
    ("h", "DIALOG.includes('Put ')"),
    ("r", "DIALOG.includes('Reject ')"),
    (":", "DIALOG.includes('What to do')"),
    ("Ctrl+k", "DIALOG.includes('What to do')"),
    ("?", "DIALOG.includes('Keys')"),
    ("a", "TEXT.includes('answering')"),
    ("z", "TEXT.includes('taken back')"),
    ("/", "document.activeElement.id === 'filter'"),
    ("v", "document.querySelector('.rows')?.dataset.view === 'groups'"),
];

in_places! {
    [sqlite: Sqlite]
    /// Each does what the list says, and none is left out.
    fn every_key_of_the_list(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let names: Vec<_> = (1..=9).map(|n| json!({"name": format!("Option {n}"), "consequence": "it takes its time"})).collect();
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
        let first = desk.server.ask("coder", json!({"question": "Which?", "context": "- one thing to know\n".repeat(60), "options": names, "other": true, "facts": [{"name": "diff", "value": diff}]}));
        desk.server.ask("coder", approval("Number 2?"));
        desk.server.ask("coder", approval("Number 3?"));
        page.until("document.querySelectorAll('.row').length === 3");
        let known = page.eval("import(document.querySelector('script').src.replace('app.js', 'keys.js')).then((it) => it.KEYS.flatMap((one) => one.keys))");
        let known: BTreeSet<_> = known.as_array().unwrap().iter().map(|key| text(key).to_owned()).collect();
        let pressed: BTreeSet<_> = EVERY_KEY.iter().map(|(key, _)| (*key).to_owned()).collect();
        assert_eq!(known, pressed, "keys that no test presses, or that are none");
        for (key, expected) in EVERY_KEY {
            let is_said = ["Enter", "1", "e", "c", "@", "h", "r", "a"].contains(key);
            if is_said {
                desk.drawn(text(&first["handle"]));
            }
            if *key == "a" {
                desk.read();
            }
            page.press(key);
            let expected = expected
                .replace("AT", "[...document.querySelectorAll('.row')].findIndex((row) => row.classList.contains('here'))")
                .replace("SCROLLED", "((pane) => (pane.scrollHeight > pane.clientHeight ? pane : document.getElementById('all')).scrollTop)(document.getElementById('pane'))")
                .replace("TEXT", "document.body.innerText")
                .replace("DIALOG", "(document.querySelector('dialog[open]')?.innerText ?? '')");
            page.until(&expected);
            // Out of what it opened, or out of where one can type.
            if page.eval("!!document.querySelector('dialog[open]') || !!document.activeElement.closest('input:not([type=radio]), textarea')") == true {
                page.press("Escape");
                page.until("!document.querySelector('dialog[open]')");
            }
        }
        assert_eq!(desk.gate(&first)["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// In the palette Enter leads to what there is to do, and never says yes.
    fn the_palette_approves_nothing_by_enter(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        page.press(":");
        page.until("!!document.querySelector('dialog[open] input')");
        page.write("approve");
        for _ in 0..4 {
            page.press("Enter");
        }
        page.says("Enter says nothing to a card");
        assert_eq!(page.eval("!!document.querySelector('dialog[open]')"), true);
        page.press(" ");
        page.says("approving");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Enter, the space bar and Tab say nothing, wherever they are pressed on the way to an answer.
    fn enter_never_approves(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        let choice = desk.server.ask("coder", json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}]}));
        for gate in [&gate, &choice] {
            desk.look_at(gate);
            for key in ["Enter", " ", "Tab", "Enter"] {
                page.press(key);
            }
            page.fill("[name=reason]", "so");
            page.press("Enter");
            page.press("Escape");
        }
        std::thread::sleep(Duration::from_secs(6));
        assert_eq!(desk.gate(&gate)["state"], "open");
        assert_eq!(desk.gate(&choice)["state"], "open");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What was pressed before a card was there, or right when it came, is not said to it.
    fn keys_for_something_else_are_dropped(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        let handle = text(&gate["handle"]);
        page.until(&format!("!!document.querySelector('.row[data-handle={handle}]')"));
        // All of it in the page itself, quicker than any hand: in one breath, the moment the card is there, and in the
        // frame that shows it.
        page.eval(
            "new Promise((done) => { \
                const press = (key) => dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); \
                new MutationObserver((_, it) => { \
                    if (!document.getElementById('card')) return; \
                    it.disconnect(); \
                    press('a'); \
                    requestAnimationFrame(() => requestAnimationFrame(() => { press('a'); done(true); })); \
                }).observe(document.getElementById('pane'), {childList: true, subtree: true}); \
                ['j', 'a', 'a', 'r', '1'].forEach(press); \
            })",
        );
        assert!(!page.text().contains("approving"));
        assert_eq!(page.eval("!!document.querySelector('dialog')"), false);
        // One that is held down is one key, and was pressed before.
        desk.drawn(handle);
        page.eval("dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true}))");
        assert!(!page.text().contains("approving"));
        // In a field it is a letter.
        page.eval("document.querySelector('[name=reason]').focus()");
        page.press("a");
        assert_eq!(page.eval("document.querySelector('[name=reason]').value"), "a");
        assert!(!page.text().contains("approving"));
        page.press("Escape");
        page.press("a");
        page.says("approving");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What is pressed right after a question was closed counts, although the focus is still in that question.
    fn no_key_is_lost_behind_a_question(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        page.eval("document.activeElement.blur()");
        // All of it before the browser draws: a field of the palette, then a button of the help, then the list.
        let seen = page.eval(
            "(() => { \
                const seen = []; \
                const press = (key) => { \
                    const at = document.activeElement; \
                    seen.push(at.closest('dialog') ? at.localName : 'page'); \
                    at.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})); \
                }; \
                const shut = () => document.querySelector('dialog[open]').close(); \
                press(':'); shut(); press('?'); shut(); press('Enter'); \
                seen.push(document.getElementById('pane').contains(document.activeElement)); \
                return seen; \
            })()",
        );
        assert_eq!(seen, json!(["page", "input", "button", true]));
        page.until("!document.querySelector('dialog')");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Looking at a card focuses no field, so the next key is a key. What is copied is what is picked, and no answer
    /// where nothing is.
    fn looking_types_nothing_and_copies_what_is_picked(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let choice = desk.server.ask("coder", json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}], "other": true}));
        let handle = text(&choice["handle"]);
        desk.look_at(&choice);
        page.press("Enter");
        assert_eq!(page.eval("document.activeElement.id"), "question");
        let copies = |expected: &str| {
            page.press("y");
            page.says(expected);
            assert_eq!(page.eval("document.querySelector('.command').textContent"), expected);
        };
        copies(&format!("sayso show {handle}"));
        page.press("2");
        copies(&format!("sayso choose {handle} 2"));
        page.fill("[name=other]", "it's c");
        page.press("Escape");
        // One is wanted: words of one's own take the place of what was picked, and the other way round.
        copies(&format!("sayso choose {handle} --other 'it'\\''s c'"));
        page.press("1");
        page.fill("[name=reason]", "it is quicker");
        page.press("Escape");
        copies(&format!("sayso choose {handle} 1 --reason 'it is quicker'"));
        assert_eq!(page.eval("document.querySelector('[name=other]').value"), "");
        let verdict = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&verdict);
        page.press("Enter");
        copies(&format!("sayso approve {}", text(&verdict["handle"])));
        page.fill("[name=reason]", "-- but carefully");
        page.press("Escape");
        copies(&format!("sayso approve {} -- '-- but carefully'", text(&verdict["handle"])));
        page.press("a");
        page.says("approving");
        assert_eq!(desk.ended(&verdict)["verdict"], "approved");
        desk.is_content();
    }
}
