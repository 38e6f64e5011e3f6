//! Several at once: only what the bar names, only what was shown, and never instead of the card somebody looks at.

use super::{Desk, PASSPHRASE, approval};
use crate::api::text;
use crate::governed::policy;
use crate::harness::in_places;
use serde_json::{Value, json};

/// What the bar says; nothing where there is none.
const BAR: &str = "(document.querySelector('#marked span')?.textContent ?? '')";

/// Marks cards, one after the other, and waits until the bar was seen.
#[track_caller]
fn mark(desk: &Desk, gates: &[&Value]) {
    for gate in gates {
        desk.look_at(gate);
        desk.browser.press("x");
        desk.browser.until(&format!("{BAR}.includes('{}')", text(&gate["handle"])));
    }
    heard(desk);
}

/// Waits until the keys count for what the bar says.
#[track_caller]
fn heard(desk: &Desk) {
    desk.browser.until(
        "import(document.querySelector('script').src.replace('app.js', 'marks.js'))\
         .then((marks) => marks.mayHear())",
    );
}

/// Three that may be answered together.
fn three(desk: &Desk) -> [Value; 3] {
    ["One?", "Two?", "Three?"].map(|question| desk.server.ask("coder", approval(question)))
}

in_places! {
    [sqlite: Sqlite]
    /// A button on a card is for that card, whatever is marked; the keys are for what the bar names, and it stays
    /// until it is cleared.
    fn a_button_on_a_card_is_for_that_card(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let [one, two, three] = three(&desk);
        mark(&desk, &[&one, &two]);
        desk.look_at(&three);
        page.click("[data-do=approve]");
        page.says(&format!("approving {}", text(&three["handle"])));
        assert_eq!(desk.ended(&three)["verdict"], "approved");
        for gate in [&one, &two] {
            assert_eq!(desk.gate(gate)["state"], "open");
        }
        // Whatever else is said, the bar says what a key will do.
        page.press("y");
        let bar = page.eval(BAR);
        let both = format!("2 marked: {}, {}. a approves them, r rejects them", text(&one["handle"]), text(&two["handle"]));
        assert_eq!(bar, json!(both));
        page.click("#marked button");
        page.until(&format!("{BAR} === ''"));
        assert_eq!(page.eval("document.querySelectorAll('.row.marked').length"), 0);
        desk.look_at(&one);
        page.press("a");
        page.says(&format!("approving {}", text(&one["handle"])));
        assert_eq!(desk.ended(&one)["verdict"], "approved");
        assert_eq!(desk.gate(&two)["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What is hidden by what somebody looks for is left out, and what has a draft is not answered without it.
    fn what_is_hidden_or_begun_is_left_out(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let [one, two, three] = three(&desk);
        let [first, second, third] = [&one, &two, &three].map(|gate| text(&gate["handle"]));
        mark(&desk, &[&one, &two, &three]);
        desk.look_at(&three);
        page.fill("[name=reason]", "but carefully");
        page.press("Escape");
        page.press("/");
        page.write("two");
        page.press("Enter");
        page.until(&format!("{BAR}.includes('1 marked: {second}. a approves it')"));
        page.until(&format!("{BAR}.includes('{first} is hidden by what you look for')"));
        heard(&desk);
        page.press("a");
        page.says(&format!("approving {second}"));
        assert_eq!(desk.ended(&two)["verdict"], "approved");
        page.press("Escape");
        page.until(&format!("{BAR}.includes('1 marked: {first}.') && {BAR}.includes('{third} has what you began to write on it')"));
        heard(&desk);
        page.press("a");
        page.says(&format!("approving {first}"));
        assert_eq!(desk.ended(&one)["verdict"], "approved");
        page.until(&format!("{BAR}.includes('none of the marked can be answered together')"));
        heard(&desk);
        page.press("a");
        page.says("nothing was answered");
        assert_eq!(desk.gate(&three)["state"], "open");
        // By itself it is answered with its words.
        desk.look_at(&three);
        page.click("[data-do=approve]");
        assert_eq!(desk.ended(&three)["answer"]["reason"], "but carefully");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Only yes or no of no high risk is marked, and only what was shown; a key that comes too soon says nothing.
    fn what_cannot_be_marked(space: &Space) {
        policy(space, "space", "rules:\n  - name: money\n    on: ask\n    match: {kind: review}\n    then: ask\n    ask: {risk: high}\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        let plain = desk.server.ask("coder", approval("Plain?"));
        let refused = [
            (json!({"question": "Pay?", "kind": "review", "form": "verdict"}), "has high risk"),
            (json!({"question": "Which port?"}), "wants an answer of its own"),
            (json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}]}), "wants an answer of its own"),
        ];
        mark(&desk, &[&plain]);
        for (body, why) in refused {
            let gate = desk.server.ask("tester", body);
            desk.look_at(&gate);
            page.press("x");
            page.says(&format!("{} {why}; answer it by itself", text(&gate["handle"])));
        }
        assert_eq!(page.eval("document.querySelectorAll('.row.marked').length"), 1);
        // All of it in one breath: the mark is taken away and set, and the bar was not seen yet.
        desk.look_at(&plain);
        page.eval("(() => { const press = (key) => dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); press('x'); press('x'); })()");
        let late = desk.server.ask("coder", approval("Late?"));
        desk.look_at(&late);
        page.eval("(() => { const press = (key) => dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); press('x'); press('a'); })()");
        page.until(&format!("{BAR}.includes('2 marked')"));
        assert!(!page.text().contains("approving"), "{}", page.text());
        // What changes after it was marked is marked no more.
        desk.server.post("coder", &format!("/gates/{}/revise", text(&plain["id"])), json!({"question": "Plain, and all its data?"})).is(200);
        page.says("is marked no more");
        page.until(&format!("{BAR}.includes('1 marked: {}')", text(&late["handle"])));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Of a batch that is refused in part it is told which and why; the passphrase is given there, for those. Taken
    /// back, it is marked as it was.
    fn a_batch_that_is_refused_in_part(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let plain = ["One?", "Two?"].map(|question| desk.server.ask("coder", approval(question)));
        let mut body = approval("Three?");
        body["least_proof"] = json!("passphrase");
        let locked = desk.server.ask("coder", body);
        desk.go("you");
        page.click("#lock");
        page.until("!document.getElementById('lock')");
        desk.go("inbox");
        mark(&desk, &[&plain[0], &plain[1], &locked]);
        page.press("a");
        page.says("approving 3 cards");
        page.press("z");
        page.says("taken back: approving 3 cards");
        page.until(&format!("{BAR}.includes('3 marked')"));
        heard(&desk);
        page.press("a");
        let handle = text(&locked["handle"]);
        page.says(&format!("2 approved, 1 not: {handle} needs your passphrase"));
        assert_eq!(desk.gate(&locked)["state"], "open");
        for gate in &plain {
            assert_eq!(desk.ended(gate)["verdict"], "approved");
        }
        page.click("#said button");
        page.until("!!document.querySelector('dialog[open] input[type=password]')");
        page.write(PASSPHRASE);
        page.press("Enter");
        assert_eq!(desk.ended(&locked)["answer"]["proof"], "passphrase");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// One of a batch that changes while it is held is left out, and told; the others are sent.
    fn one_of_a_batch_that_changes_is_left_out(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let [one, two, three] = three(&desk);
        mark(&desk, &[&one, &two, &three]);
        page.press("a");
        page.says("approving 3 cards");
        desk.server.post("coder", &format!("/gates/{}/revise", text(&two["id"])), json!({"question": "Two, and more?"})).is(200);
        page.says(&format!("not sent: {} has changed; look again", text(&two["handle"])));
        page.says("approving 2 cards");
        for gate in [&one, &three] {
            assert_eq!(desk.ended(gate)["verdict"], "approved");
        }
        page.says("2 approved");
        assert_eq!(desk.gate(&two)["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A row has only the question: what a card says beyond it is read before it is marked.
    fn what_a_row_leaves_out_is_read_before_it_is_marked(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let long = "- one thing to know\n".repeat(60);
        let context = json!({"question": "Deploy?", "kind": "approval", "form": "verdict", "context": long});
        let facts = json!({"question": "Merge?", "kind": "approval", "form": "verdict", "facts": [{"name": "log", "value": long}]});
        for body in [context, facts] {
            let gate = desk.server.ask("coder", body);
            desk.look_at(&gate);
            page.press("x");
            page.says(&format!("look at {} first", text(&gate["handle"])));
            assert_eq!(page.eval(BAR), json!(""));
            desk.read();
            page.press("x");
            page.until(&format!("{BAR}.includes('1 marked: {}')", text(&gate["handle"])));
            page.press("x");
            page.until(&format!("{BAR} === ''"));
        }
        desk.is_content();
    }
}
