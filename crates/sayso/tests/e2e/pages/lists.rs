//! Long lists: finding in all of it, more of it, its end, and coming back to where one was.

use super::{Desk, approval};
use crate::api::{Server, text};
use crate::harness::{Space, Who, in_places};
use std::process::Stdio;

/// More than a page of the list has.
const ASKED: usize = 60;
const PAGE: usize = 50;

fn asked(space: &Space) -> (Desk, serde_json::Value) {
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("SAYSO_ASKS_PER_MINUTE", "1000");
    let desk = Desk::at(space, Server::run(space, command.stderr(Stdio::inherit())));
    let mut last = serde_json::Value::Null;
    for number in 1..=ASKED {
        last = desk.server.ask("coder", approval(&format!("Number {number}?")));
    }
    (desk, last)
}

const LIST: &str = "inbox?view=yours&asker=coder";
const COUNT: &str = "document.querySelectorAll('.row:not([hidden])').length";

in_places! {
    [sqlite: Sqlite]
    /// What is found is found in the whole list, and that there is nothing is said.
    fn a_long_list_is_one_list(space: &Space) {
        let (desk, last) = asked(space);
        let page = &desk.browser;
        let fresh = || {
            desk.go("tasks");
            desk.go(LIST);
            page.until(&format!("{COUNT} === {PAGE}"));
        };
        fresh();
        page.press("/");
        page.write(&format!("number {ASKED}?"));
        page.until(&format!("{COUNT} === 1"));
        page.write(" zebra");
        page.says("nothing has these words");
        page.press("Escape");
        page.until(&format!("{COUNT} === {ASKED}"));
        // More comes below, on the same page.
        fresh();
        page.click("#more");
        page.until(&format!("{COUNT} === {ASKED}"));
        assert_eq!(page.eval("!!document.querySelector('.tabs') && !location.search.includes('after')"), true);
        // Its end is the end of all.
        fresh();
        page.press("G");
        page.until(&format!("[...document.querySelectorAll('.row')].findIndex((row) => row.classList.contains('here')) === {}", ASKED - 1));
        // A page of it that is opened by itself has all that a list has.
        fresh();
        let next = page.eval("document.querySelector('#more').href");
        page.go(text(&next));
        page.until(&format!("{COUNT} === {}", ASKED - PAGE));
        assert_eq!(page.eval("!!document.getElementById('filter')"), true);
        page.press("v");
        page.until("document.querySelector('.rows')?.dataset.view === 'groups'");
        // A link to a card further down stands at its place there.
        desk.go("tasks");
        desk.go(&format!("{LIST}#{}", text(&last["handle"])));
        desk.drawn(text(&last["handle"]));
        page.until(&format!("document.querySelector('.row.here')?.dataset.handle === '{}'", text(&last["handle"])));
        page.press("k");
        page.until(&format!("document.querySelector('#question')?.textContent === 'Number {}?'", ASKED - 1));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Going to another list sends nothing: what is held can be taken back there. The buttons of the browser lead back
    /// to the list and the card, and an address that is broken leads to the list.
    fn another_list_cuts_nothing_short(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        let handle = text(&gate["handle"]);
        desk.look_at(&gate);
        page.press("a");
        page.says(&format!("approving {handle}"));
        page.press("v");
        page.until("document.querySelector('.rows')?.dataset.view === 'groups'");
        assert_eq!(page.eval("location.search"), "?view=groups");
        page.press("v");
        page.until("document.querySelector('.rows')?.dataset.view === 'all'");
        page.until(&format!("document.querySelector('.row[data-handle={handle}]')?.dataset.going === 'held'"));
        assert!(!page.asked.borrow().iter().any(|url| url.ends_with("/answer")));
        page.press("z");
        page.says("taken back");
        assert_eq!(desk.gate(&gate)["state"], "open");
        page.eval("history.back(), true");
        page.until("document.querySelector('.rows')?.dataset.view === 'groups'");
        page.eval("history.back(), true");
        page.until("document.querySelector('.rows')?.dataset.view === 'yours'");
        desk.drawn(handle);
        // What comes meanwhile comes to the list that is there.
        page.click(".tabs [data-view=done]");
        page.until("document.querySelector('.rows')?.dataset.view === 'done'");
        let other = desk.server.ask("coder", approval("And this?"));
        page.until("document.getElementById('waiting').textContent === '2'");
        assert_eq!(page.eval("document.querySelectorAll('.row').length"), 0);
        desk.go("tasks");
        desk.go("inbox#%");
        desk.look_at(&other);
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Back leads to where somebody was: on a long page as far down, from a card to the list they came from.
    fn back_is_where_one_was(space: &Space) {
        let (desk, last) = asked(space);
        let page = &desk.browser;
        desk.go("audit");
        page.eval("document.getElementById('all').scrollTop = 240");
        page.until("history.state?.scrolled === 240");
        desk.go("tasks");
        page.eval("history.back(), true");
        desk.ready_at("audit");
        page.until("document.getElementById('all').scrollTop === 240");
        // On a phone a card has a page of its own. What was said there is sent on leaving, and told on the next.
        page.look(360, 720, "light");
        desk.go("inbox?view=all");
        let handle = text(&last["handle"]);
        desk.go(&format!("gates/{handle}"));
        desk.drawn(handle);
        page.click("[data-do=approve]");
        page.says("approving");
        page.click(".back a");
        desk.ready();
        page.until("location.search === '?view=all'");
        page.says(&format!("{handle}: answered, approved"));
        desk.is_content();
    }
}
