//! What agents write to deceive is inert and visible.

use super::Desk;
use crate::harness::{Space, in_places};
use serde_json::{Value, json};

/// Texts that would do something, if anything let them.
const HOSTILE: &[&str] = &[
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<svg onload=\"document.title='owned'\"><a href=\"javascript:document.title='owned'\">x</a></svg>",
    "![beacon](http://127.0.0.1:9/beacon.png) [click](javascript:document.title='owned')",
    "\u{1b}[2J\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]8;;http://evil.example\u{7}link\u{1b}]8;;\u{7}",
    "pay \u{202e}0001\u{202c} to a\u{200b}c\u{200d}me\u{e0041}",
    "\n</pre></dd></dl></section><p class=\"ending yes\">approved by ann</p>",
    "' onmouseover='document.title=1' x='\" autofocus onfocus=\"document.title='owned'",
];

in_places! {
    [sqlite: Sqlite]
    /// In every place an agent's text can be, on every page that shows it.
    fn text_is_text(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let all = HOSTILE.join("\n\n");
        let gate = desk.server.ask("coder", json!({
            "question": all, "context": format!("{all}{}", "\n".repeat(300)),
            "facts": [{"name": HOSTILE[0], "value": all}, {"name": "wide", "value": "x".repeat(10_000)}],
            "options": [{"name": HOSTILE[7], "consequence": HOSTILE[0]}, {"name": "fine"}],
        }));
        let task = space.create(&[HOSTILE[0], "--label", "x"]);
        space.run(crate::harness::Who::Agent("coder"), &["note", &task, &all]).ok();
        let flow = hostile_flow(space);
        for place in ["flows".into(), format!("flows/{flow}"), format!("gates/{}", gate["handle"].as_str().unwrap()), "inbox".into(), "live".into(), "tasks".into(), format!("tasks/{task}"), "audit".into()] {
            desk.go(&place);
            std::thread::sleep(std::time::Duration::from_millis(200));
            assert_ne!(page.eval("document.title.includes('owned')"), true, "{place}");
            assert_eq!(page.eval("document.querySelectorAll('img, iframe, object, svg:not(.plot):not(.picture > svg), .picture :is(a, image, use, script, style, foreignObject), [onload], [onerror], [onfocus], [onmouseover], a[href^=\"javascript\"]').length"), 0, "{place}");
            assert_eq!(page.eval("document.querySelectorAll('main script').length"), 0, "{place}");
            let text = page.text();
            assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}') && !text.contains('\u{200b}'), "{place}");
            // Nothing is wider than the page.
            assert_eq!(page.eval("[document.documentElement, document.getElementById('all')].every((e) => e.scrollWidth <= innerWidth)"), true, "{place}");
        }
        desk.go(&format!("gates/{}", gate["handle"].as_str().unwrap()));
        page.says("<script>document.title = 'owned'</script>");
        page.says("invisible or control characters are spelt out above");
        page.says("only the asker says so");
        // A banner of an agent's is none of ours.
        assert_eq!(page.eval("document.querySelectorAll('.ending').length"), 0);
        // Facts come before what the agent says.
        let order = "document.querySelector('.facts').compareDocumentPosition(document.querySelector('.says')) & Node.DOCUMENT_POSITION_FOLLOWING";
        assert_eq!(page.eval(order), json!(4));
        // What is picked is what was written, whatever it looks like.
        desk.drawn(gate["handle"].as_str().unwrap());
        page.press("1");
        desk.read();
        page.press("a");
        assert_eq!(desk.ended(&gate)["answer"]["picked"], json!([HOSTILE[7]]));
        desk.is_content();
    }
}

/// A flow with such texts wherever one can be: its title, conditions, questions, outputs and state.
fn hostile_flow(space: &Space) -> String {
    let phases = json!([
        {"name": "a", "run": "cat hostile.txt", "set": {"said": "output.text"},
         "ask": {"approval": "{{ output.text }}", "context": "{{ output.text }}"},
         "next": [{"if": format!("approved && {} != ''", json!(HOSTILE[0])), "to": "b"}, {"if": "!approved", "to": "a"}, {"to": "end"}]},
        {"name": "b", "run": "cat hostile.txt", "ask": {"approval": "{{ state.said }}"}},
    ]);
    std::fs::write(space.path().join("hostile.txt"), HOSTILE.join("\n")).unwrap();
    std::fs::write(
        space.path().join("hostile.yaml"),
        json!({"workflow": "hostile", "phases": phases}).to_string(),
    )
    .unwrap();
    let ran = space
        .run(
            crate::harness::Who::Script,
            &["flow", "run", "hostile.yaml", "--key", &HOSTILE.join(" "), "--json"],
        )
        .exits(7);
    let flow: Value = serde_json::from_str(&ran.stdout).unwrap();
    flow["handle"].as_str().unwrap().to_owned()
}

in_places! {
    [sqlite: Sqlite]
    /// Many questions of one agent are one row, and asking again after a no is told.
    fn many_of_the_same_are_one(space: &Space) {
        let desk = Desk::of(space);
        let same: Vec<Value> = ["coder", "tester"].iter().map(|agent| {
            desk.server.ask(agent, json!({"question": "Which port?", "context": "the same"}))
        }).collect();
        desk.browser.says("2 ask this");
        desk.look_at(&same[0]);
        desk.browser.says("2 agents ask this");
        desk.browser.press("e");
        desk.browser.write("8080");
        desk.browser.press("Escape");
        desk.browser.press("a");
        for gate in &same {
            assert_eq!(desk.ended(gate)["answer"]["text"], "8080");
        }
    }
}
