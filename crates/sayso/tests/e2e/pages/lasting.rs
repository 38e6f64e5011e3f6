//! What lasts: sessions that end, servers that come back, the buttons of a browser, two tabs.

use super::{Desk, PASSPHRASE, approval, drawn};
use crate::api::{Server, text};
use crate::harness::in_places;
use serde_json::{Value, json};

/// Ends the session of the browser, from elsewhere.
fn end_session(desk: &Desk) {
    let ended = "(async () => { const word = Object.entries(localStorage).find(([name]) => name.startsWith('word'))[1]; \
        const space = document.documentElement.dataset.space; \
        const answer = await fetch(`/session/${space}`, {method: 'DELETE', headers: {'sayso-word': word}}); \
        return answer.status; })()";
    assert_eq!(desk.browser.eval(ended), 200);
}

/// Logs in at the form that is shown.
fn log_in_again(desk: &Desk) {
    desk.ready_at("login");
    desk.browser.fill("[name=name]", "ann");
    desk.browser.fill("[name=passphrase]", PASSPHRASE);
    desk.browser.click("button[type=submit]");
    desk.ready();
}

fn here(desk: &Desk) -> Value {
    desk.browser.eval("document.querySelector('.row.here')?.dataset.handle ?? ''")
}

in_places! {
    [sqlite: Sqlite]
    /// A session that ends shows the way in and comes back to the card; an answer that was held is not sent with
    /// nobody's name, and that is told.
    fn a_session_that_ends_comes_back_to_the_card(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gates = ["One?", "Two?", "Three?"].map(|question| desk.server.ask("coder", approval(question)));
        desk.look_at(&gates[1]);
        page.press("a");
        page.says("approving");
        end_session(&desk);
        // The next thing that happens is what the page cannot hear any more.
        desk.server.ask("coder", approval("Four?"));
        log_in_again(&desk);
        desk.drawn(text(&gates[1]["handle"]));
        assert_eq!(here(&desk), gates[1]["handle"]);
        page.says("you were logged out before your answer");
        assert_eq!(desk.gate(&gates[1])["state"], "open");
        page.press("a");
        assert_eq!(desk.ended(&gates[1])["verdict"], "approved");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A link to a card, as notices have it: whoever has no session logs in and is there.
    fn a_link_leads_to_its_card(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("From a notice?"));
        desk.log_out();
        page.go(&desk.page(&format!("gates/{}", text(&gate["handle"]))));
        desk.ready_at("login");
        page.fill("[name=name]", "ann");
        page.fill("[name=passphrase]", PASSPHRASE);
        page.click("button[type=submit]");
        desk.drawn(text(&gate["handle"]));
        page.press("a");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        // One that is not there is told in words, and leads on.
        desk.go("gates/gzzzzz");
        page.says("To the inbox");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Back and forward lead to the card that was looked at.
    fn back_and_forward(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gates = ["One?", "Two?"].map(|question| desk.server.ask("coder", approval(question)));
        let second = text(&gates[1]["handle"]);
        desk.look_at(&gates[1]);
        desk.go("tasks");
        page.eval("history.back(), true");
        desk.ready();
        desk.drawn(second);
        assert_eq!(here(&desk), gates[1]["handle"]);
        page.eval("history.forward(), true");
        desk.ready_at("tasks");
        // From the page of a card Escape leads to its place in the list.
        desk.go(&format!("gates/{second}"));
        desk.drawn(second);
        page.press("Escape");
        desk.ready();
        desk.drawn(second);
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// In two tabs there is one truth: what one says the other shows, and logging out ends both.
    fn two_tabs(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        let other = page.another_tab();
        other.go(&desk.page("inbox"));
        other.until("!!document.querySelector('.row')");
        other.click(".row a");
        drawn(&other, text(&gate["handle"]));
        other.press("a");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        for tab in [page, &other] {
            tab.until("document.getElementById('card').dataset.open === 'false'");
            tab.says("approved by ann");
        }
        other.go(&desk.page("you"));
        other.click("#logout");
        other.until("document.documentElement.dataset.ready === 'login'");
        desk.server.ask("coder", approval("Is anybody there?"));
        desk.ready_at("login");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// An answer that meets no server is kept, says so, and is sent once when there is one again.
    fn an_answer_outlives_its_server(space: &Space) {
        let mut desk = Desk::of(space);
        let gate = desk.server.ask("coder", approval("Deploy?"));
        let other = desk.server.ask("coder", approval("And this?"));
        desk.look_at(&gate);
        let address = desk.server.address.clone();
        // Another takes its place for what the test asks itself; the page knows only the first.
        drop(std::mem::replace(&mut desk.server, Server::of(space)));
        desk.browser.says("not connected");
        desk.browser.press("a");
        desk.browser.says("the server does not answer");
        desk.browser.says("It is sent as soon as it does");
        assert_eq!(desk.browser.eval("document.getElementById('card').dataset.open"), "true");
        assert_eq!(desk.browser.eval("document.getElementById('card').dataset.going"), "held");
        assert_eq!(desk.gate(&gate)["state"], "open");
        desk.server = Server::at(space, &address);
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        desk.browser.until("document.getElementById('card').dataset.open === 'false'");
        assert_eq!(desk.gate(&other)["state"], "open");
        let answers = space.audit().iter().filter(|entry| entry["action"] == "gate.answered").count();
        assert_eq!(answers, 1);
        assert_eq!(desk.gate(&gate)["answer"]["by"], json!("ann"));
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A card that could not be shown is shown when the server is back, and until then none is there to be answered.
    fn a_card_comes_back_with_its_server(space: &Space) {
        let mut desk = Desk::of(space);
        let gates = ["One?", "Two?"].map(|question| desk.server.ask("coder", approval(question)));
        desk.look_at(&gates[0]);
        let address = desk.server.address.clone();
        drop(std::mem::replace(&mut desk.server, Server::of(space)));
        desk.browser.says("not connected");
        desk.browser.press("j");
        desk.browser.says("This card is shown as soon as it does");
        assert_eq!(desk.browser.eval("document.querySelectorAll('.card').length"), 0);
        desk.server = Server::at(space, &address);
        desk.drawn(text(&gates[1]["handle"]));
        assert_eq!(here(&desk), gates[1]["handle"]);
        desk.browser.until("!document.body.innerText.includes('does not answer')");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Whoever leaves while nobody listens is warned, and told afterwards that nothing arrived.
    fn an_answer_that_was_lost_on_leaving_is_told(space: &Space) {
        let mut desk = Desk::of(space);
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        let leaves = "dispatchEvent(new Event('beforeunload', {cancelable: true}))";
        desk.browser.press("a");
        desk.browser.says("approving");
        assert_eq!(desk.browser.eval(leaves), true, "it would be sent");
        desk.browser.press("z");
        desk.browser.says("taken back");
        let address = desk.server.address.clone();
        drop(std::mem::replace(&mut desk.server, Server::of(space)));
        desk.browser.says("not connected");
        desk.browser.press("a");
        desk.browser.says("approving");
        assert_eq!(desk.browser.eval(leaves), false);
        desk.browser.eval("dispatchEvent(new Event('pagehide')), true");
        desk.server = Server::at(space, &address);
        desk.browser.says(&format!("your answer to {} did not arrive; answer again", text(&gate["handle"])));
        assert_eq!(desk.gate(&gate)["state"], "open");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A server that is gone says nothing of the audit; one that is back is noticed with the first thing it answers.
    fn a_server_that_is_gone_breaks_no_chain(space: &Space) {
        let mut desk = Desk::of(space);
        desk.go("audit");
        desk.browser.click("#verify");
        desk.browser.until("document.getElementById('verified').classList.contains('yes')");
        let address = desk.server.address.clone();
        drop(std::mem::replace(&mut desk.server, Server::of(space)));
        desk.browser.says("not connected");
        desk.browser.click("#verify");
        desk.browser.says("not verified: the server does not answer");
        assert_eq!(desk.browser.eval("document.getElementById('verified').className"), "badge ask");
        // Long enough for the page to try seldom.
        std::thread::sleep(std::time::Duration::from_secs(8));
        desk.server = Server::at(space, &address);
        desk.browser.click("#verify");
        desk.browser.until("document.getElementById('verified').classList.contains('yes')");
        let at = std::time::Instant::now();
        desk.browser.until("document.getElementById('line').textContent === ''");
        // The next try by itself would come after eight seconds.
        assert!(at.elapsed() < std::time::Duration::from_secs(5), "{:?}", at.elapsed());
    }
}
