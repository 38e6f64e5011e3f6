//! Forms on the page: each field by its own control, suggestions that nobody has said yet, and what is wrong where it
//! is wrong.

use super::{Desk, PASSPHRASE, approval};
use crate::api::text;
use crate::governed::policy;
use crate::harness::in_places;
use crate::hooks::{event, hook};
use serde_json::{Value, json};

/// A form with every sort of field there is.
pub(super) fn every_field() -> Value {
    json!({"question": "How shall it be released?", "form": "form", "schema": {
    "type": "object", "required": ["sure", "targets"], "properties": {
        "sure": {"type": "boolean", "title": "Is it tested?"},
        "spare": {"type": "boolean", "title": "With a spare one"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "title": "How many", "description": "Each costs a little."},
        "targets": {"type": "array", "title": "Where to", "minItems": 1, "items": {"enum": ["eu", "us", "asia"]}, "default": ["eu"]},
        "tags": {"type": "array", "title": "Tags", "items": {"type": "string", "pattern": "^v"}},
        "day": {"type": "string", "format": "date", "title": "On which day"},
        "moment": {"type": "string", "format": "date-time", "title": "When exactly", "default": "2026-11-18T09:30:00+01:00"},
        "mail": {"type": "string", "format": "email", "title": "Who is told"},
        "size": {"oneOf": [{"const": 1, "title": "small"}, {"const": 2, "title": "large"}], "title": "Size"},
        "proxy": {"type": "object", "title": "Proxy", "required": ["host"], "properties": {
            "host": {"type": "string", "maxLength": 60}, "port": {"type": "integer", "default": 8080}}},
        "extra": {"title": "Anything else"},
    }}})
}

const PROBLEMS: &str = "[...document.querySelectorAll('.field > .problem')].map((one) => one.textContent).filter(Boolean).join('; ')";

in_places! {
    [sqlite: Sqlite]
    /// What is left alone is not sent, what is suggested is marked, and yes or no is never taken for granted.
    fn a_form_with_every_sort_of_field(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", every_field());
        desk.look_at(&gate);
        page.says("suggested by the asker: 3");
        page.press("a");
        page.says("Is it tested? is needed");
        assert_eq!(page.eval("document.activeElement.dataset.field"), "sure");
        assert_eq!(page.eval("document.activeElement.getAttribute('aria-invalid')"), "true");
        page.eval("document.activeElement.value = 'false'");
        page.fill("[data-field=count]", "12");
        page.fill("[data-field=mail]", "nobody");
        page.fill("[data-field=extra]", "{");
        page.press("Escape");
        page.press("a");
        page.says("at most 9");
        let wrong = page.eval(PROBLEMS);
        assert!(text(&wrong).contains("that is not JSON") && text(&wrong).contains("nobody"), "{wrong}");
        page.fill("[data-field=count]", "2");
        page.fill("[data-field=mail]", "ann@example.com");
        page.fill("[data-field=extra]", r#"{"a": [1]}"#);
        page.eval("document.querySelector('[data-field=day]').value = '2026-12-01'");
        page.eval("document.querySelector('[data-field=size]').value = '2'");
        page.click("[data-field=targets][data-json='\"asia\"']");
        // Entries of a list come with Enter and go with their button, by keyboard alone.
        page.fill("[data-field=tags]", "v1");
        page.press("Enter");
        page.write("wrong");
        page.press("Enter");
        page.write("v3");
        assert_eq!(page.eval("document.activeElement.getAttribute('aria-label')"), "Tags, entry 3");
        assert_eq!(desk.gate(&gate)["state"], "open", "Enter says nothing");
        // A group that may be left out is filled in by whoever wants it.
        page.click("[data-name=proxy] [data-use]");
        page.press("a");
        page.says("host is needed");
        page.fill("[data-name=host] [data-field]", "proxy.example");
        page.press("Escape");
        desk.read();
        page.press("a");
        // What only the server knows is told where it belongs, too.
        page.until(&format!("{PROBLEMS}.includes('wrong: ')"));
        // At once: nothing had to be sent to learn it.
        assert!(!page.asked.borrow().iter().any(|url| url.ends_with("/answer")));
        page.says(&format!("your answer to {} does not count", text(&gate["handle"])));
        assert_eq!(page.eval("document.activeElement.value"), "wrong");
        page.press("Tab");
        assert_eq!(page.eval("document.activeElement.getAttribute('aria-label')"), "Remove entry 2");
        page.press(" ");
        page.press("Escape");
        desk.drawn(text(&gate["handle"]));
        page.press("a");
        let form = desk.ended(&gate)["answer"]["form"].clone();
        assert_eq!(form, json!({
            "sure": false, "count": 2, "targets": ["eu", "asia"], "tags": ["v1", "v3"], "day": "2026-12-01",
            "moment": "2026-11-18T09:30:00+01:00", "mail": "ann@example.com", "size": 2, "extra": {"a": [1]},
            "proxy": {"host": "proxy.example", "port": 8080},
        }));
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A year nobody can write is told at its field, and so is whatever else cannot be read: no key ends in silence.
    fn what_cannot_be_read_is_told_at_its_field(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", json!({"question": "When?", "form": "form", "schema": {"type": "object", "properties": {
            "moment": {"type": "string", "format": "date-time"}, "size": {"enum": ["s", "l"]}}}}));
        desk.look_at(&gate);
        page.eval("document.querySelector('[data-field=moment]').value = '202611-12-01T09:30'");
        page.press("a");
        page.until(&format!("{PROBLEMS}.includes('write the year with four digits')"));
        assert_eq!(page.eval("document.activeElement.dataset.field"), "moment");
        page.eval("document.querySelector('[data-field=moment]').value = '2026-12-01T09:30'");
        page.eval("(() => { const size = document.querySelector('[data-field=size]'); size.value = 's'; size.selectedOptions[0].dataset.json = '{'; })()");
        page.press("Escape");
        page.press("a");
        page.until(&format!("{PROBLEMS}.includes('this cannot be read')"));
        page.eval("document.querySelector('[data-field=size]').selectedOptions[0].dataset.json = '\"s\"'");
        page.press("Escape");
        page.press("a");
        assert_eq!(desk.ended(&gate)["answer"]["form"]["size"], "s");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A form of one value is answered with that value.
    fn a_form_that_is_one_value(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", json!({"question": "Which?", "form": "form", "schema": {"type": "array", "items": {"type": "integer"}, "minItems": 2}}));
        desk.look_at(&gate);
        page.fill(".entries input", "7");
        page.press("Escape");
        page.press("a");
        page.says("at least 2 needed");
        page.press("Enter");
        page.write("8");
        page.press("Escape");
        page.press("a");
        assert_eq!(desk.ended(&gate)["answer"]["form"], json!([7, 8]));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A call that changes a file is shown as the change, with what was given one click away; what is approved are
    /// the arguments.
    fn an_edit_is_shown_as_a_diff(space: &Space) {
        policy(space, "space", "rules:\n  - name: files\n    on: tool\n    match: {tool: [Edit, Write]}\n    then: ask\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        let edit = json!({"file_path": "src/main.rs", "old_string": "let port = 80;\nrun(port);", "new_string": "let port = 8080;\nrun(port);", "replace_all": true});
        let body = event("PreToolUse", "Edit", &edit);
        hook(space, "coder", "claude-code", "PreToolUse", &body, "0s").exits(2);
        page.until("!!document.querySelector('.row')");
        let handle = page.eval("document.querySelector('.row').dataset.handle");
        page.click(".row a");
        desk.drawn(text(&handle));
        let lines = |class: &str| page.eval(&format!("[...document.querySelectorAll('.diff .{class}')].map((one) => one.textContent.trim()).join('|')"));
        assert_eq!(lines("removed"), "-let port = 80;");
        assert_eq!(lines("added"), "+let port = 8080;");
        assert_eq!(lines("same"), "run(port);");
        page.says("wherever the old text stands in the file");
        assert_eq!(page.eval("document.querySelector('.raw').open"), false);
        page.click(".raw summary");
        page.says("\"old_string\": \"let port = 80;");
        let shown = space.ann(&["show", text(&handle)]).ok();
        assert!(shown.contains("change: +1 -1") && shown.contains("    -let port = 80;\n    +let port = 8080;"), "{shown}");
        // Changed arguments go with the yes, as with every call.
        let other = json!({"file_path": "src/main.rs", "old_string": "80", "new_string": "81"});
        page.press("e");
        page.fill("[name=arguments]", &other.to_string());
        page.press("Escape");
        desk.read();
        page.press("a");
        page.until("document.querySelector('.row').classList.contains('over')");
        let again = hook(space, "coder", "claude-code", "PreToolUse", &body, "0s").exits(0);
        let said: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!(said["hookSpecificOutput"]["updatedInput"], other);
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Who is known is offered where somebody is asked for.
    fn people_are_offered_by_name(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.server.passphrase(space, "bob", PASSPHRASE);
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        page.press("@");
        page.until("!!document.querySelector('dialog[open] input')");
        let offered = "[...document.querySelector('dialog input').list.options].map((one) => one.value).join()";
        assert_eq!(page.eval(offered), "bob");
        page.press("Escape");
        desk.go("you");
        assert_eq!(page.eval("[...document.querySelector('[name=to]').list.options].map((one) => one.value).join()"), "bob");
        desk.is_content();
    }
}
