//! Flows on the pages: listed, pictured, answered from there, followed as they go on, and taken back.

use super::Desk;
use crate::harness::{Space, Who, in_places};
use serde_json::Value;

/// A workflow with two questions, for pages to show.
pub(super) const RELEASE: &str = "workflow: release
about: A release that a person approves.
input:
  version: {about: Which version.}
phases:
  - name: build
    run: echo built {{ input.version }}
    ask: {approval: 'Ship {{ input.version }}?', context: '{{ output.text }}'}
    on_reject: rework
  - name: where
    run: echo eu us
    ask: {choice: Where shall it go first?, options: [eu, us]}
    set: {zone: human.value}
  - name: ship
    run: echo shipped
    end: true
  - name: rework
    run: echo mended
    next: build
";

/// Begins a flow as a script does, and says what people call it.
pub(super) fn begin(space: &Space, version: &str) -> String {
    std::fs::write(space.path().join("release.yaml"), RELEASE).unwrap();
    let set = format!("version={version}");
    let args = ["flow", "run", "release.yaml", "--set", &set, "--json"];
    let ran = space.run(Who::Script, &args).exits(7);
    let flow: Value = serde_json::from_str(&ran.stdout).unwrap();
    flow["handle"].as_str().unwrap().to_owned()
}

fn resume(space: &Space) {
    space.run(Who::Script, &["flow", "resume", "--all"]).exits_not(1);
}

in_places! {
    [sqlite: Sqlite]
    /// From an empty page to the end of a flow, without loading a page again: what happens shows as it happens.
    fn a_flow_from_its_beginning_to_its_end(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.go("flows");
        page.says("No flow was begun yet");
        page.says("sayso flow run release.yaml");
        let flow = begin(space, "2.4.1");
        page.says("version: 2.4.1");
        page.says("Ship 2.4.1?");
        assert_eq!(page.eval("document.querySelector('.flow .state').textContent"), "waiting");
        // The way there is in the navigation, and in what there is to do.
        desk.go("tasks");
        page.press(":");
        page.until("!!document.querySelector('dialog[open]')");
        page.write("go to flows");
        page.until("document.querySelectorAll('.palette li').length === 1");
        page.press("Enter");
        page.press("Enter");
        desk.ready_at("flows");
        page.click(".flow > a");
        page.until(&format!("location.pathname.endsWith('/flows/{flow}')"));
        desk.ready_at("flows");
        page.says("begun by");
        assert_eq!(page.eval("document.querySelectorAll('.picture svg').length"), 1);
        assert_eq!(page.eval("document.querySelector('.picture .waits title').textContent"), "build");
        // Its question is answered at its card.
        page.click(".note a");
        page.until("location.pathname.includes('/gates/')");
        let gate = page.eval("document.getElementById('card')?.dataset.handle ?? location.pathname.split('/').pop()");
        let gate = gate.as_str().unwrap().to_owned();
        desk.drawn(&gate);
        page.press("a");
        page.says("approved by ann");
        desk.go(&format!("flows/{flow}"));
        page.says("Nobody goes on with it just now");
        page.says(&format!("sayso flow resume {flow}"));
        resume(space);
        page.says("Where shall it go first?");
        page.until("document.querySelector('.picture .waits title')?.textContent === 'where'");
        page.says("ann said approved");
        assert_eq!(page.eval("document.querySelectorAll('h1').length"), 1, "looked at again, it has one heading");
        let second = space.ann(&["inbox", "--json"]).json()["items"][0]["handle"].as_str().unwrap().to_owned();
        space.ann(&["choose", &second, "us"]).ok();
        resume(space);
        page.until("document.querySelector('.about .state')?.textContent === 'done'");
        page.says("\"zone\": \"us\"");
        assert_eq!(page.eval("document.querySelectorAll('.picture .waits, .picture .here').length"), 0);
        assert_eq!(page.eval("document.querySelectorAll('.picture .done').length"), 3);
        assert_eq!(page.eval("document.querySelectorAll('[data-act]').length"), 0, "nothing is left to cancel");
        desk.go("flows");
        page.says("No flow is under way");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A flow is taken back by whoever means to: by keyboard alone, and never by Enter.
    fn a_flow_is_cancelled_on_purpose(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let flow = begin(space, "2.5");
        desk.go(&format!("flows/{flow}"));
        let is_at = |what: &str| format!("document.activeElement?.matches('{what}')");
        let tab_to = |what: &str| {
            for _ in 0..40 {
                page.press("Tab");
                if page.eval(&is_at(what)) == true {
                    return;
                }
            }
            panic!("{what} cannot be reached");
        };
        let standing = || desk.server.get("ann", &format!("/flows/{flow}")).is(200)["standing"].clone();
        tab_to("[data-act=cancel]");
        page.press("Enter");
        page.until("!!document.querySelector('dialog[open]')");
        page.write("not this week");
        page.press("Enter");
        page.says("Enter says nothing here");
        tab_to("dialog .main");
        page.press("Enter");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(standing(), "waiting");
        page.press("Escape");
        page.until("!document.querySelector('dialog')");
        assert_eq!(standing(), "waiting", "closing a question is no answer");
        page.click("[data-act=cancel]");
        page.until("!!document.querySelector('dialog[open]')");
        page.write("not this week");
        tab_to("dialog .main");
        page.press(" ");
        page.says(&format!("flow {flow} is cancelled"));
        assert_eq!(standing(), "cancelled");
        page.until("document.querySelector('.about .state')?.textContent === 'cancelled'");
        page.says("not this week");
        assert_eq!(page.eval("document.querySelectorAll('[data-act]').length"), 0);
        assert!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().is_empty());
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Whoever may only look sees no button, and the server refuses them; an agent sees no flow at all.
    fn only_those_who_may_cancel(space: &Space) {
        let file = space.token("eve");
        let file = file.to_str().unwrap();
        space.run(Who::Terminal, &["token", "create", "--role", "human", "--name", "eve", "--scope", "read", "--out", file]).ok();
        let desk = Desk::of(space);
        let flow = begin(space, "2.6");
        let show = |who: &str| {
            let path = format!("/s/{}/flows/{flow}", desk.server.space);
            desk.server.raw(&desk.server.request("GET", &path, Some(desk.server.secret(who)), None))
        };
        assert!(show("ann").body.contains("Cancel the flow"), "{}", show("ann").body);
        let seen = show("eve").body;
        assert!(seen.contains("Ship 2.6?") && !seen.contains("Cancel the flow"), "{seen}");
        desk.server.post("eve", &format!("/flows/{flow}/cancel"), serde_json::json!({"reason": "x"})).refused(403, "SAY037");
        assert!(!show("coder").body.contains("Ship 2.6?"));
        desk.is_content();
    }
}
