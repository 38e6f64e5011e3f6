//! Wearing people out: asking a thousand things, asking again after a no, saying yes without reading.

use super::{Desk, approval};
use crate::api::{Server, text};
use crate::governed::policy;
use crate::harness::{Space, Who, in_places, on_both};
use serde_json::json;
use std::process::Stdio;

/// So many questions an agent may ask in a minute in these tests, and so many of one agent are listed.
const PER_MINUTE: usize = 60;
const LISTED: usize = 20;

/// A desk whose server takes so many questions of an agent in a minute.
fn limited(space: &Space) -> Desk {
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("SAYSO_ASKS_PER_MINUTE", PER_MINUTE.to_string());
    Desk::at(space, Server::run(space, command.stderr(Stdio::inherit())))
}

on_both! {
    /// A thousand asks a minute: most are refused, what was taken is one row, and others are still seen.
    fn a_thousand_asks_are_one_row(space: &Space) {
        let desk = limited(space);
        let page = &desk.browser;
        let ask = |number: usize| desk.server.post("coder", "/gates", approval(&format!("Number {number}?")));
        let replies: Vec<_> = (0..300).map(ask).collect();
        let taken = replies.iter().filter(|reply| reply.status == 201).count();
        let refused: Vec<_> = replies.into_iter().filter(|reply| reply.status != 201).collect();
        assert!(taken >= PER_MINUTE, "{taken}");
        // On a slow machine some come back meanwhile.
        assert!(refused.len() > 100, "{}", refused.len());
        for reply in refused {
            reply.refused(429, "SAY057");
        }
        // The agent that behaves is heard, and stands among the first.
        desk.server.ask("tester", approval("May I?"));
        desk.go("inbox");
        page.says("May I?");
        page.says("coder asks faster than it may");
        assert_eq!(page.eval("document.querySelectorAll('.row[data-id]').length"), json!(LISTED + 1));
        page.says(&format!("coder asks {} more", taken - LISTED));
        // All of them are there for whoever wants to see them.
        page.click(".row.many a");
        page.until("location.search.includes('asker=coder') && document.documentElement.dataset.ready === 'inbox'");
        page.until("document.querySelectorAll('.row[data-id]').length >= 50");
        assert!(!page.text().contains("May I?"));
        // Answering was never refused.
        page.press("j");
        let handle = page.eval("document.querySelector('.row.here').dataset.handle");
        desk.drawn(text(&handle));
        page.press("a");
        page.until("document.querySelector('.row').classList.contains('over')");
        desk.is_content();
    }
}

on_both! {
    /// A no that is asked again is counted, with who said it and why, however the agent dresses it up.
    fn a_no_that_is_asked_again_is_counted(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let ask = |why: &str| desk.server.ask("coder", json!({
            "question": "Drop the table?", "kind": "approval", "form": "verdict", "context": why,
        }));
        for (why, reason) in [("It is empty.", "take a backup"), ("Trust me.", "no means no")] {
            let gate = ask(why);
            desk.server.answer("bob", &gate, json!({"verdict": "rejected", "reason": reason})).is(200);
        }
        // Another agent's question is another's.
        let other = desk.server.ask("tester", approval("Drop the table?"));
        desk.look_at(&other);
        assert!(!page.text().contains("asked again"));
        let again = ask("This time it is fine, really.");
        desk.look_at(&again);
        page.says("asked again: 2 times it was rejected");
        page.says("by bob: no means no");
        let shown = space.run(Who::Human("ann"), &["show", text(&again["handle"])]).ok();
        assert!(shown.contains("asked again: 2 times it was rejected"), "{shown}");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A yes sooner than anybody reads is shown: on the card, and in the figures.
    fn a_yes_too_fast_to_be_read_is_shown(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let long = "A long story about why this is fine. ".repeat(400);
        let unread = desk.server.ask("coder", json!({
            "question": "Deploy?", "kind": "approval", "form": "verdict", "context": long,
        }));
        let read = desk.server.ask("coder", approval("Ok?"));
        desk.look_at(&unread);
        desk.read();
        page.press("a");
        desk.ended(&unread);
        page.says("too short to read it");
        desk.look_at(&read);
        page.press("a");
        desk.ended(&read);
        assert!(!page.text().contains("too short to read it"));
        desk.go("metrics");
        page.says("too fast to be read");
        let figures = desk.server.get("ann", "/metrics").is(200);
        assert_eq!((&figures["hasty"], &figures["answered"]), (&json!(1), &json!(2)), "{figures}");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What is always approved is offered as a rule, word for word, and nothing is changed by looking.
    fn what_is_always_approved_is_offered_as_a_rule(space: &Space) {
        policy(space, "space", "rules:\n  - name: closing\n    on: transition\n    match: {to: closed}\n    then: ask\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        for number in 0..10 {
            let task = space.create(&[&format!("Task {number}")]);
            space.coder(&["close", &task]).exits(12);
            space.ann(&["approve", &space.gate(&task)]).ok();
        }
        desk.go("metrics");
        page.says("always a yes");
        desk.go("policy");
        page.click("#suggest");
        page.says("for the rule closing: approved 10 times by ann, never denied");
        page.says("unless:");
        desk.is_content();
    }
}
