//! A yes is for what was on the screen: neither the rest of a card nor an option below its edge is answered unread, and
//! what was read stays read.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::in_places;
use serde_json::{Value, json};

const READ_ON: &str = "was not on the screen yet: read on with J";
const SCROLLED: &str =
    "Math.max(document.getElementById('pane').scrollTop, document.getElementById('all').scrollTop)";

/// A yes to what was not read is none, and brings the rest to the screen.
#[track_caller]
fn is_refused(desk: &Desk, gate: &Value) {
    desk.browser.says(READ_ON);
    desk.browser.until(&format!("{SCROLLED} > 0"));
    is_not_said(desk);
    assert_eq!(desk.gate(gate)["state"], "open");
}

#[track_caller]
fn is_not_said(desk: &Desk) {
    let text = desk.browser.text();
    assert!(!text.contains("approving ") && !text.contains("answering "), "{text}");
}

in_places! {
    [sqlite: Sqlite]
    /// By the key and by the button, in a window of two panes and on a phone; a no needs no reading.
    fn a_long_card_is_read_before_it_is_approved(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let mut body = approval("Drop the table?");
        body["context"] = json!("- one thing to know\n".repeat(150));
        let gate = desk.server.ask("coder", body.clone());
        desk.look_at(&gate);
        page.press("a");
        is_refused(&desk, &gate);
        // Nor is it enough to have seen its beginning and its end.
        page.eval("document.getElementById('pane').scrollTop = 1e6");
        std::thread::sleep(std::time::Duration::from_millis(600));
        page.press("a");
        page.says(READ_ON);
        is_not_said(&desk);
        desk.read();
        // What was read stays read.
        page.press("K");
        page.press("K");
        page.press("a");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");

        body["question"] = json!("Drop the other table?");
        let gate = desk.server.ask("coder", body.clone());
        page.look(390, 800, "light");
        desk.go(&format!("gates/{}", text(&gate["handle"])));
        desk.drawn(text(&gate["handle"]));
        page.eval("document.querySelector('[data-do=approve]').click()");
        is_refused(&desk, &gate);
        desk.read();
        page.click("[data-do=approve]");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");

        body["question"] = json!("Drop all tables?");
        let gate = desk.server.ask("coder", body);
        desk.go(&format!("gates/{}", text(&gate["handle"])));
        desk.drawn(text(&gate["handle"]));
        page.press("r");
        page.until("!!document.querySelector('dialog[open] input')");
        page.press("Enter");
        assert_eq!(desk.ended(&gate)["verdict"], "rejected");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    fn an_option_below_the_edge_is_read_before_one_is_picked(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let options: Vec<_> = (1..=30).map(|n| json!({"name": format!("host {n}"), "consequence": "it takes its time"})).collect();
        let gate = desk.server.ask("coder", json!({"question": "Which host?", "options": options}));
        desk.look_at(&gate);
        page.press("1");
        page.press("a");
        is_refused(&desk, &gate);
        desk.read();
        page.press("a");
        assert_eq!(desk.ended(&gate)["answer"]["picked"], json!(["host 1"]));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A change that is folded away is opened first.
    fn what_is_folded_away_was_not_read(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let lines: String = (1..=100).map(|n| format!("+line {n}\n")).collect();
        let mut body = approval("Merge?");
        body["facts"] = json!([{"name": "diff", "value": format!("--- a/x\n+++ b/x\n@@ -1 +1,101 @@\n-old\n{lines}")}]);
        let gate = desk.server.ask("coder", body);
        desk.look_at(&gate);
        page.press("d");
        page.until("!document.querySelector('details.diff').open");
        page.press("a");
        page.until("document.querySelector('details.diff').open");
        is_refused(&desk, &gate);
        desk.read();
        // What was read may be folded away.
        page.press("d");
        page.press("a");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What people and the clock do around a card does not make it unread.
    fn a_card_with_a_deadline_takes_the_first_yes(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let mut body = approval("Deploy?");
        body["deadline"] = json!("55s");
        let gate = desk.server.ask("coder", body);
        desk.look_at(&gate);
        desk.read();
        let was = page.eval("document.querySelector('.conditions').textContent");
        assert!(text(&was).contains("seconds"), "{was}");
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        desk.server.ask("tester", approval("Something else?"));
        page.until(&format!("document.querySelector('.conditions').textContent !== {was}"));
        page.press("a");
        page.says(&format!("approving {}", text(&gate["handle"])));
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What is wrong with a field is told first, and moves nothing that was read out of what was read.
    fn a_long_form_with_something_wrong(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let mut fields: serde_json::Map<String, Value> = (10..40).map(|n| (format!("f{n}"), json!({"type": "string", "default": "as before"}))).collect();
        fields.insert("count".into(), json!({"type": "integer"}));
        let gate = desk.server.ask("coder", json!({"question": "How?", "form": "form", "schema": {"type": "object", "required": ["count"], "properties": fields}}));
        desk.look_at(&gate);
        page.press("a");
        page.says("count is needed");
        page.fill("[data-field=count]", "3");
        page.press("Escape");
        page.press("a");
        page.says("this part of the card was not on the screen yet");
        assert_eq!(desk.gate(&gate)["state"], "open");
        desk.read();
        page.fill("[data-field=count]", "");
        page.press("Escape");
        page.press("a");
        page.says("count is needed");
        page.fill("[data-field=count]", "4");
        page.press("Escape");
        page.press("a");
        assert_eq!(desk.ended(&gate)["answer"]["form"]["count"], 4);
        desk.is_content();
    }
}
