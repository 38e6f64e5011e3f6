//! One truth: what happens anywhere shows everywhere, and nothing moves under anybody's hand.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{in_places, on_both};
use serde_json::json;

on_both! {
    /// Asked elsewhere, it shows; answered elsewhere, the card says so and is answered no more.
    fn what_happens_elsewhere_shows(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        page.says("Nothing waits for you");
        let gate = desk.server.ask("coder", approval("Deploy?"));
        page.says("Deploy?");
        page.until("document.getElementById('waiting').textContent === '1'");
        desk.look_at(&gate);
        desk.server.answer("bob", &gate, json!({"verdict": "rejected", "reason": "not on a Friday"})).is(200);
        page.says("rejected by bob");
        page.until("document.getElementById('card').dataset.open === 'false'");
        page.until("!document.getElementById('answer')");
        // Its row stays where it was and says how it went.
        page.until("document.querySelector('.row').classList.contains('over')");
        page.until("document.querySelector('.row').innerText.includes('rejected by bob')");
        page.press("a");
        assert!(!page.text().contains("approving"));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// New cards come below, what is over keeps its place, and the one that is looked at stays.
    fn nothing_slides_under_the_cursor(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gates: Vec<_> = (1..=4).map(|n| desk.server.ask("coder", approval(&format!("Number {n}?")))).collect();
        page.until("document.querySelectorAll('.row').length === 4");
        desk.look_at(&gates[2]);
        let place = "document.querySelector('.row.here').getBoundingClientRect().top";
        let before = page.eval(place);
        // One above is answered, and three ask what unblocks more than anything.
        desk.server.answer("bob", &gates[0], json!({"verdict": "approved"})).is(200);
        for agent in ["coder", "tester"] {
            desk.server.ask(agent, json!({"question": "Which port?", "context": "the same"}));
        }
        page.until("document.querySelectorAll('.row').length === 5 || document.querySelectorAll('.row').length === 6");
        page.until("document.querySelector('.row').classList.contains('over')");
        assert_eq!(page.eval(place), before);
        assert_eq!(page.eval("document.querySelector('.row.here').dataset.handle"), gates[2]["handle"]);
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A card that changed is not the card that was shown: it is drawn anew and heard only after that.
    fn a_changed_card_is_looked_at_again(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Delete 1 file?"));
        desk.look_at(&gate);
        page.press("a");
        page.says("approving");
        let revised = json!({"question": "Delete 4,000 files?"});
        desk.server.post("coder", &format!("/gates/{}/revise", text(&gate["id"])), revised).is(200);
        page.says("Delete 4,000 files?");
        // What was said was said to the other card, and that it was not sent stays told.
        let told = format!("not sent: {} has changed; look again", text(&gate["handle"]));
        page.says(&told);
        std::thread::sleep(std::time::Duration::from_secs(6));
        assert!(page.text().contains(&told), "{}", page.text());
        assert_eq!(desk.gate(&gate)["state"], "open");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A server that is gone and comes back: the page says so, and goes on by itself.
    fn a_page_outlives_its_server(space: &Space) {
        let mut desk = Desk::of(space);
        let address = desk.server.address.clone();
        let old = std::mem::replace(&mut desk.server, crate::api::Server::of(space));
        drop(old);
        desk.browser.says("not connected");
        desk.server = crate::api::Server::at(space, &address);
        let gate = desk.server.ask("coder", approval("Still there?"));
        desk.browser.says("Still there?");
        desk.look_at(&gate);
        desk.browser.press("a");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
    }
}
