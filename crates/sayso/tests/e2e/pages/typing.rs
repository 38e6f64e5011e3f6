//! What somebody types is for what they type it into, and for nothing that comes in its place; and it is kept.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Who, in_places};
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than an answer is held.
const HELD: Duration = Duration::from_secs(6);

/// Types as a hand does, key by key.
fn types(desk: &Desk, words: &str) {
    for key in words.chars() {
        desk.browser.press(&key.to_string());
        std::thread::sleep(Duration::from_millis(60));
    }
}

fn written(desk: &Desk) -> Value {
    desk.browser.eval("document.querySelector('[name=reason]')?.value ?? null")
}

in_places! {
    [sqlite: Sqlite]
    /// A card that is revised under somebody's hands is not approved by the letters of their reason: they write on, in
    /// the same field, and are told.
    fn a_reason_goes_on_when_the_card_changes(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Clean up?"));
        desk.look_at(&gate);
        page.click("[name=reason]");
        types(&desk, "not a bad");
        desk.server.post("coder", &format!("/gates/{}/revise", text(&gate["id"])), json!({"question": "Clean up, then drop the database too?"})).is(200);
        types(&desk, " plan as I do approve");
        page.until("document.querySelector('#question').textContent.includes('drop the database')");
        types(&desk, " a");
        page.says("the card changed while you wrote");
        assert_eq!(written(&desk), "not a bad plan as I do approve a");
        assert_eq!(page.eval("document.activeElement.name"), "reason");
        std::thread::sleep(HELD);
        assert_eq!(desk.gate(&gate)["state"], "open");
        // Whoever has read it answers it as it stands.
        page.press("Escape");
        page.press("a");
        page.says("approving");
        let ended = desk.ended(&gate);
        assert_eq!((&ended["verdict"], &ended["answer"]["reason"]), (&json!("approved"), &json!("not a bad plan as I do approve a")));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Where the field is gone, letters go nowhere: no card is moved to, picked from or answered, until there is a
    /// pause, Esc or a click.
    fn letters_for_a_field_that_is_gone_are_dropped(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        let choice = desk.server.ask("coder", json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}]}));
        desk.look_at(&gate);
        page.click("[name=reason]");
        types(&desk, "no, ");
        space.run(Who::Human("bob"), &["approve", text(&gate["handle"])]).ok();
        // Without a pause, until the field is gone and on from there.
        while page.eval("!!document.getElementById('answer')") == true {
            types(&desk, "t");
        }
        types(&desk, "just a major change j a 1 a a");
        assert_eq!(page.eval("document.querySelector('.row.here').dataset.handle"), gate["handle"]);
        assert_eq!(page.eval("!!document.querySelector('dialog')"), false);
        // With a pause they are keys again. What is missing focuses nothing that the next key would press.
        std::thread::sleep(Duration::from_secs(2));
        page.press("j");
        desk.drawn(text(&choice["handle"]));
        page.press("a");
        page.says("pick an option first");
        for key in [" ", "a"] {
            page.press(key);
        }
        assert_eq!(page.eval("document.querySelectorAll('[name=picked]:checked').length"), 0);
        std::thread::sleep(HELD);
        assert_eq!(desk.gate(&choice)["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What was begun is there again after looking elsewhere, after a reload and after it was taken back, and gone
    /// when it was said.
    fn what_was_begun_is_kept(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let port = desk.server.ask("coder", json!({"question": "Which port?"}));
        let form = desk.server.ask("coder", json!({"question": "Where?", "form": "form", "schema": {"type": "object", "properties": {
            "zone": {"enum": ["eu", "us"]}, "count": {"type": "integer", "default": 3}, "tags": {"type": "array", "items": {"type": "string"}, "default": ["v0"]}}}}));
        desk.look_at(&port);
        page.fill("[name=text]", "8080, I thi");
        page.press("Escape");
        desk.look_at(&form);
        page.fill("[data-field=tags]", "v1");
        page.press("Enter");
        page.write("v2");
        page.press("Escape");
        desk.look_at(&port);
        assert_eq!(page.eval("document.querySelector('[name=text]').value"), "8080, I thi");
        page.press("a");
        page.says("answering");
        desk.look_at(&form);
        page.press("z");
        page.says("taken back");
        desk.go("tasks");
        desk.go("inbox");
        desk.look_at(&port);
        assert_eq!(page.eval("document.querySelector('[name=text]').value"), "8080, I thi");
        desk.look_at(&form);
        assert_eq!(page.eval("[...document.querySelectorAll('[data-field=tags]')].map((one) => one.value)"), json!(["v1", "v2"]));
        page.press("a");
        assert_eq!(desk.ended(&form)["answer"]["form"], json!({"count": 3, "tags": ["v1", "v2"]}));
        page.until("JSON.parse(sessionStorage.getItem('drafts')).length === 1");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A yes that is held is not sent while its author writes a no, nor after somebody else decided.
    fn a_yes_waits_for_no_second_thought(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let [thought, decided] = ["Thought over?", "Decided elsewhere?"].map(|question| desk.server.ask("coder", approval(question)));
        desk.look_at(&thought);
        page.press("a");
        page.says("approving");
        page.press("r");
        page.until("!!document.querySelector('dialog[open] input')");
        types(&desk, "wait");
        std::thread::sleep(HELD);
        assert_eq!(desk.gate(&thought)["state"], "open");
        // The card changes behind the question: the no was for what stood there before, and its words are kept.
        desk.server.post("coder", &format!("/gates/{}/revise", text(&thought["id"])), json!({"question": "Thought over again?"})).is(200);
        page.until("document.querySelector('#question').textContent.includes('again')");
        page.press("Enter");
        page.says("nothing was sent, look again");
        assert_eq!(written(&desk), "wait");
        assert_eq!(desk.gate(&thought)["state"], "open");

        desk.look_at(&decided);
        page.press("a");
        page.says("approving");
        space.run(Who::Human("bob"), &["reject", text(&decided["handle"]), "no"]).ok();
        page.says("your answer was not sent");
        std::thread::sleep(HELD);
        assert_eq!(desk.ended(&decided)["answer"]["by"], "bob");
        assert!(!page.text().contains("does not count"), "{}", page.text());
        desk.is_content();
    }
}
