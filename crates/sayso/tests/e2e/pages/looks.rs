//! How pages look to everybody: in light and dark, narrow and wide, to the eye and to a screen reader.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Space, in_places};
use serde_json::{Value, json};

/// So that the page of the policy has something on it, too.
const POLICY: &str =
    "rules:\n  - name: pushes\n    on: tool\n    match: {command: git push *}\n    then: ask\n";

/// Every page there is, with something on it.
fn pages(space: &Space, desk: &Desk) -> Vec<String> {
    let epic = space.create(&["Checkout", "--type", "epic"]);
    let task =
        space.create(&["Greet people by their name", "--parent", &epic, "--label", "frontend"]);
    let diff = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1,2 @@\n-echo hello\n+name=$1\n+echo \"hello $name\"\n";
    let gate = desk.server.ask("coder", json!({
        "question": "Deploy checkout 2.4.1 to production?", "kind": "approval", "task": task,
        "context": "All **412 tests** pass.\n\n- error rate 0.02 %\n- see [the board](http://grafana.example)\n",
        "facts": [{"name": "diff", "value": diff}, {"name": "command", "value": "./deploy --prod"}],
        "deadline": "2h",
    }));
    let choice = desk.server.ask("coder", json!({"question": "Which database?", "options": [{"name": "PostgreSQL", "consequence": "one more table"}, {"name": "Redis"}], "other": true}));
    let form = desk.server.ask("tester", json!({"question": "Where, and how many?", "form": "form", "schema": {"type": "object", "required": ["zone"], "properties": {"zone": {"type": "string", "enum": ["eu", "us"]}, "count": {"type": "integer"}}}}));
    let done = desk.server.ask("tester", approval("Merge it?"));
    desk.server.answer("bob", &done, json!({"verdict": "approved"})).is(200);
    let whole = desk.server.ask("tester", super::forms::every_field());
    let gates = [&gate, &choice, &form, &whole, &done]
        .map(|gate| format!("gates/{}", text(&gate["handle"])));
    let done = super::flows::begin(space, "2.4.0");
    desk.server
        .post("ann", &format!("/flows/{done}/cancel"), json!({"reason": "too early"}))
        .is(200);
    let flow = super::flows::begin(space, "2.4.1");
    crate::governed::policy(space, "space", POLICY);
    let plain = [
        "inbox",
        "inbox?view=done",
        "inbox?view=groups",
        "tasks",
        "tasks?view=board",
        "flows",
        "live",
        "agents",
        "policy",
        "audit",
        "metrics",
        "you",
    ];
    plain
        .map(Into::into)
        .into_iter()
        .chain(gates)
        .chain([format!("tasks/{task}"), format!("flows/{flow}"), format!("flows/{done}")])
        .collect()
}

in_places! {
    [sqlite: Sqlite]
    /// axe finds nothing serious on any page, in light and in dark.
    fn axe_finds_nothing_serious(space: &Space) {
        let desk = Desk::of(space);
        let file = std::env::var("SAYSO_TEST_AXE").expect("cargo xtask test names axe");
        let axe = std::fs::read_to_string(file).unwrap();
        let mut found = vec![];
        let mut look = |path: &str, scheme: &str| {
            desk.browser.call("Runtime.evaluate", json!({"expression": axe}));
            let result = desk.browser.eval("axe.run().then((r) => { if (r.passes.length < 5) throw new Error('axe looked at nothing'); return r; }).then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')))");
            found.extend(result.as_array().unwrap().iter().map(|one| format!("{path} {scheme}: {one}")));
        };
        let all = pages(space, &desk).into_iter().chain(["gates/gzzzzz".to_owned()]);
        let all: Vec<_> = all.collect();
        for scheme in ["light", "dark"] {
            desk.browser.look(1280, 800, scheme);
            for path in &all {
                desk.go(path);
                if path == "inbox" {
                    desk.browser.press("j");
                    desk.browser.until("!!document.getElementById('card')");
                    // What is asked in between is looked at as well.
                    for key in ["?", ":"] {
                        desk.browser.press(key);
                        desk.browser.until("!!document.querySelector('dialog[open]')");
                        look(&format!("{path} and {key}"), scheme);
                        desk.browser.press("Escape");
                        desk.browser.until("!document.querySelector('dialog')");
                    }
                }
                look(path, scheme);
            }
        }
        desk.log_out();
        for scheme in ["light", "dark"] {
            desk.browser.look(1280, 800, scheme);
            desk.browser.go(&format!("{}/login", desk.origin));
            look("login", scheme);
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

in_places! {
    [sqlite: Sqlite]
    /// On the narrowest of phones nothing has to be pushed sideways, and all of it can be used.
    fn a_phone_is_wide_enough(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let all = pages(space, &desk);
        page.look(320, 640, "dark");
        for path in &all {
            desk.go(path);
            let fits = page.eval("[document.documentElement, document.getElementById('all')].every((e) => e.scrollWidth <= e.clientWidth)");
            assert_eq!(fits, true, "{path}: {}", page.eval("[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 321 && !e.closest('.scroll, pre')).map((e) => e.outerHTML.slice(0, 90)).slice(0, 5).join('\\n')"));
        }
        // A card opens on a page of its own there, and is answered there.
        let gate: Value = desk.server.ask("coder", approval("On the phone?"));
        desk.go("inbox");
        page.click(&format!(".row[data-handle={}] a", text(&gate["handle"])));
        page.until("location.pathname.includes('/gates/')");
        desk.drawn(text(&gate["handle"]));
        page.click("[data-do=approve]");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Words without an end break nothing, on a phone and on a desk; a task has its whole title on its own page.
    fn long_words_break_no_page(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let long = "a".repeat(240);
        let title = format!("Begin{long}End");
        let task = space.create(&[&title, "--label", &"b".repeat(60)]);
        let options = json!([{"name": long, "consequence": long}, {"name": "b"}]);
        let gates = [
            json!({"question": long, "options": options, "other": true, "task": task, "facts": [{"name": "n".repeat(50), "value": long}]}),
            json!({"question": "Which?", "form": "form", "schema": {"type": "object", "properties": {"pick": {"type": "array", "title": long, "items": {"enum": [long, "b"]}}}}}),
        ]
        .map(|body| desk.server.ask("coder", body));
        let mut all: Vec<_> = gates.iter().map(|gate| format!("gates/{}", text(&gate["handle"]))).collect();
        all.extend(["inbox", "tasks", "tasks?view=board", "live", "audit"].map(Into::into));
        all.push(format!("tasks/{task}"));
        for width in [320, 768, 1280] {
            page.look(width, 700, "light");
            for path in &all {
                desk.go(path);
                let wide = page.eval(&format!("[...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() && !e.closest('.scroll, pre, .unseen, svg') && e.getBoundingClientRect().right > {width} + 1).map((e) => e.outerHTML.slice(0, 90)).slice(0, 5)"));
                assert_eq!(wide, json!([]), "{path} at {width}");
            }
        }
        page.says(&title);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// All of it by keyboard alone: what can be pressed can be reached, and is seen to be.
    fn a_keyboard_is_enough(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("By keyboard?"));
        desk.go(&format!("gates/{}", text(&gate["handle"])));
        desk.drawn(text(&gate["handle"]));
        let is_there = "document.activeElement?.dataset?.do === 'approve'";
        for _ in 0..40 {
            page.press("Tab");
            if page.eval(is_there) == true {
                break;
            }
        }
        assert_eq!(page.eval(is_there), true);
        assert_ne!(page.eval("getComputedStyle(document.activeElement).outlineStyle"), "none");
        page.press("Enter");
        page.says("Enter says nothing here");
        page.press(" ");
        page.says("approving");
    }
}

/// Says something at the foot of the page, at length, while an answer is held.
const SAY: &str = "(async () => { const ask = await import(document.querySelector('script[src$=\"app.js\"]').src.replace('app.js', 'ask.js')); \
    ask.say('your answer does not count: gate g7k2m was answered by bob in the meantime. See what became of it', {wrong: true}); \
    ask.hold('approving g9x1z in 5 s', () => {}); return true; })()";

/// How many controls can be seen, and which of them lie under what is said.
const UNDER: &str = "(() => { const said = document.getElementById('said').getBoundingClientRect(); \
    const cut = (a, b) => ({ left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom) }); \
    const is = (r) => r.right - r.left > 0.5 && r.bottom - r.top > 0.5; \
    const seen = (e) => { let r = cut(e.getBoundingClientRect(), { left: 0, top: 0, right: innerWidth, bottom: innerHeight }); \
      for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowY !== 'visible') r = cut(r, p.getBoundingClientRect()); \
      return r; }; \
    const controls = [...document.querySelectorAll('a, button, input, textarea, select, summary')] \
      .filter((e) => !e.closest('#said') && e.checkVisibility() && is(seen(e))); \
    const under = controls.filter((e) => is(cut(seen(e), said))).map((e) => e.outerHTML.slice(0, 80)); \
    return { said: is(said), bottom: said.bottom <= innerHeight + 1, count: controls.length, under }; })()";

in_places! {
    [sqlite: Sqlite]
    /// What is said lies over no button, link or field, however wide the page is and wherever it is scrolled to.
    /// It can be put away by the keyboard, and what is held cannot.
    fn what_is_said_lies_over_nothing(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let task = space.create(&["Greet people by their name"]);
        let gate = desk.server.ask("coder", json!({"question": "Deploy?", "kind": "approval", "task": task, "context": "so\n\n".repeat(40)}));
        for n in 0..25 {
            desk.server.ask("tester", approval(&format!("Number {n}?")));
        }
        let handle = text(&gate["handle"]);
        let mut seen = 0;
        for width in [320, 768, 1440] {
            page.look(width, 640, "light");
            for path in ["inbox".to_owned(), format!("gates/{handle}"), format!("tasks/{task}")] {
                desk.go(&path);
                page.until("!!document.documentElement.dataset.ready");
                assert_eq!(page.eval(SAY), true);
                for part in ["0", "0.5", "1"] {
                    page.eval(&format!("[...document.querySelectorAll('.all, .list, .pane')].forEach((e) => (e.scrollTop = {part} * e.scrollHeight)), true"));
                    let found = page.eval(UNDER);
                    let at = format!("{path} at {width}, {part} down: {found}");
                    assert_eq!((&found["said"], &found["bottom"]), (&json!(true), &json!(true)), "{at}");
                    assert_eq!(found["under"], json!([]), "{at}");
                    seen += found["count"].as_u64().unwrap();
                }
                page.eval("document.querySelector('#said [aria-label^=Put]').focus(), true");
                page.press("Enter");
                page.until("document.querySelectorAll('#said p').length === 1");
                assert!(page.eval("document.getElementById('said').textContent").as_str().unwrap().contains("g9x1z"));
            }
        }
        assert!(seen > 100, "only {seen} controls were looked at");
        // The row that is looked at stays in sight when something is said.
        page.look(1280, 640, "light");
        desk.go("inbox");
        page.press("G");
        let is_seen = "(() => { const row = document.querySelector('.row.here').getBoundingClientRect(); return row.bottom <= document.querySelector('.list').getBoundingClientRect().bottom + 1; })()";
        page.until(is_seen);
        assert_eq!(page.eval(SAY), true);
        page.until("!!document.getElementById('said').textContent");
        page.until(is_seen);
        assert_eq!(page.eval("document.getElementById('said').getAttribute('aria-live')"), "polite");
    }
}
