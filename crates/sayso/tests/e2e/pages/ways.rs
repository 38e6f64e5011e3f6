//! Finding one's way: what was put off, what is over, addresses that are wrong, and how much waits for whom.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Who, in_places};
use serde_json::json;

/// How many wait, as the head of the page says.
const BADGE: &str = "document.getElementById('waiting').textContent";

in_places! {
    [sqlite: Sqlite]
    /// What was put off is watched all the same, its card says until when, and one key brings it back.
    fn what_was_put_off_is_found_and_brought_back(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        assert_eq!(page.eval(BADGE), "1");
        page.press("h");
        page.until("!!document.querySelector('dialog[open] input')");
        page.press("Enter");
        page.says("is put off");
        desk.go("inbox");
        page.says("Nothing waits for you");
        assert_eq!(page.eval(BADGE), "");
        desk.go("inbox?view=all");
        page.until("document.querySelector('.row.off')?.textContent.includes('put off, back in')");
        desk.look_at(&gate);
        page.until("document.querySelector('.conditions')?.textContent.includes('put off, back in')");
        page.until("document.querySelector('[data-do=snooze]').textContent.startsWith('Bring back')");
        page.press("h");
        page.says("is back");
        page.until("document.querySelector('[data-do=snooze]').textContent.startsWith('Put off')");
        page.until("!document.querySelector('.row.off')");
        assert!(desk.gate(&gate)["snoozed_until"].is_null());
        // The same at a terminal.
        let handle = text(&gate["handle"]);
        space.ann(&["snooze", handle, "2h"]).ok();
        space.ann(&["show", handle]).says("put off, back in").exits(0);
        space.ann(&["snooze", handle, "now"]).says("is back").ok();
        space.ann(&["snooze", handle, "now"]).refused("SAY038").says("is not put off").says("tomorrow");
        assert_eq!(desk.gate(&gate)["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// An address that is wrong is told with the ways on, one with a slash too much leads to the page, and what
    /// others add to an address is nobody's trouble. Programs are told as before.
    fn a_wrong_address_leads_on(space: &Space) {
        let desk = Desk::of(space);
        let (page, name) = (&desk.browser, &desk.server.space);
        let ask = |path: &str, accept: &str| {
            let host = &desk.server.address;
            let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept: {accept}\r\n\r\n");
            desk.server.raw(head.as_bytes())
        };
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        for (path, way) in [("/nope".to_owned(), "href=\"/\"".to_owned()), (format!("/s/{name}/nope"), format!("href=\"/s/{name}/inbox\""))] {
            let reply = ask(&path, browser);
            assert_eq!(reply.status, 404, "{reply:?}");
            assert!(reply.headers["content-type"].starts_with("text/html"), "{reply:?}");
            assert!(reply.body.contains(&way) && reply.body.contains("there is nothing at"), "{reply:?}");
            assert!(reply.body.contains("<h1>nothing is here</h1>") && !reply.body.contains("no such id"), "{reply:?}");
            ask(&path, "*/*").refused(404, "SAY001");
        }
        let reply = ask(&format!("/s/{name}/inbox/?view=all"), browser);
        assert_eq!((reply.status, reply.headers["location"].as_str()), (307, &*format!("/s/{name}/inbox?view=all")));
        // Only within a space: nothing leads to another site.
        assert!(!ask("//elsewhere.example/", browser).headers.contains_key("location"));
        for path in ["inbox/", "inbox?x=1&view=all", "you?utm_source=mail", "tasks?x=", "audit?x=1", "metrics?x=1", "policy?x", "agents?x=1", "live?x=1", "flows?x=1"] {
            desk.go(path);
            page.until("!!document.querySelector('.top nav')");
        }
        desk.server.get("ann", "/inbox?x=1").refused(400, "SAY038");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What ended without a yes or no has neither colour, and says when; the audit is told in words that lead on.
    fn what_is_over_says_how_and_when(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let [yes, no, gone] = ["Yes?", "No?", "Gone?"].map(|words| desk.server.ask("coder", approval(words)));
        desk.server.answer("ann", &yes, json!({"verdict": "approved"})).is(200);
        desk.server.answer("ann", &no, json!({"verdict": "rejected", "reason": "no"})).is(200);
        space.coder(&["withdraw", text(&gone["handle"])]).ok();
        desk.go("inbox?view=done");
        let class = |gate: &serde_json::Value| {
            let row = format!(".row[data-handle={}] .about:last-child", text(&gate["handle"]));
            assert_eq!(page.eval(&format!("!!document.querySelector('{row} time')")), true);
            page.eval(&format!("document.querySelector('{row} span').className"))
        };
        assert_eq!([class(&yes), class(&no), class(&gone)], ["yes", "no", "unsaid"]);
        desk.go("audit");
        page.says("answered");
        assert!(!page.text().contains("gate.answered"), "{}", page.text());
        page.click(&format!(".audit a[href$='/gates/{}']", text(&yes["handle"])));
        page.until("!!document.getElementById('card')");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A list tells of one agent's many only where they are its own, and the head counts what waits for you.
    fn each_list_counts_its_own(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        for number in 0..25 {
            desk.server.ask("coder", approval(&format!("Number {number}?")));
        }
        let ours = space.ask("coder", &["Ours?", "--verdict", "--to", "ann", "--to", "bob", "--quorum", "2"]);
        space.ask("coder", &["Theirs?", "--verdict", "--to", "bob"]);
        desk.go("inbox?view=groups");
        page.until(&format!("document.querySelector('.row')?.dataset.handle === '{ours}'"));
        assert_eq!(page.eval("document.querySelectorAll('.row').length"), json!(1), "{}", page.text());
        assert_eq!(page.eval(BADGE), "26");
        desk.go("inbox");
        page.says("coder asks 5 more");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What the policy would say is said of one call, and gone when another is typed; an agent nobody knows is told.
    fn what_the_policy_says_is_about_one_call(space: &Space) {
        crate::governed::policy(space, "space", "rules:\n  - name: pushes\n    on: tool\n    match: {command: git push *}\n    then: ask\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.go("policy");
        page.fill("#explain [name=command]", "git push --force");
        page.fill("#explain [name=agent]", "codr");
        page.press("Enter");
        page.says("Of Bash git push --force by codr:");
        page.says("no agent called codr is set up here");
        page.fill("#explain [name=command]", "git status");
        page.until("document.getElementById('explained').textContent === ''");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A page with nothing on it says what to type, and the way in says why one is there.
    fn an_empty_page_says_what_to_type(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.go("tasks?view=board");
        page.says("sayso create");
        assert_eq!(page.eval("document.querySelectorAll('.board').length"), json!(0));
        desk.go("agents");
        page.says("sayso apply fleet.yaml");
        // What it says to write can be applied.
        let written = page.eval("document.querySelector('.empty pre').textContent");
        std::fs::write(space.path().join("fleet.yaml"), text(&written)).unwrap();
        space.run(Who::Human("ann"), &["apply", "fleet.yaml"]).ok();
        desk.go("agents");
        page.says("reviewer");
        desk.log_out();
        assert_eq!(page.eval("!!document.getElementById('why')"), false);
        page.go(&desk.page("tasks"));
        page.says("you are where you wanted to go");
    }
}
