//! Answering from the page, in every form an answer has.

use super::{Desk, PASSPHRASE, approval};
use crate::api::text;
use crate::governed::policy;
use crate::harness::{Who, in_places, on_both};
use crate::hooks::{event, hook};
use serde_json::json;

on_both! {
    /// Somebody waits in a terminal; the answer comes from the page.
    fn the_page_answers_who_waits_in_a_terminal(space: &Space) {
        let desk = Desk::of(space);
        let asking = space.start(Who::Agent("coder"), &["ask", "Which port?", "--wait"]);
        desk.browser.says("Which port?");
        desk.browser.click(".row a");
        let handle = desk.browser.eval("document.querySelector('.row').dataset.handle");
        desk.drawn(text(&handle));
        desk.browser.press("e");
        desk.browser.write("8080");
        desk.browser.press("Escape");
        desk.browser.press("a");
        let output = asking.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "8080");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Yes; no with a reason; a choice; several and one's own words; a form.
    fn every_form_of_answer(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let ask = |body: serde_json::Value| desk.server.ask("coder", body);

        let yes = ask(approval("Deploy?"));
        desk.look_at(&yes);
        page.click("[data-do=approve]");
        assert_eq!(desk.ended(&yes)["verdict"], "approved");

        let no = ask(approval("Drop the table?"));
        desk.look_at(&no);
        page.press("r");
        page.until("!!document.querySelector('dialog[open] input')");
        page.write("Take a backup first");
        page.press("Enter");
        let ended = desk.ended(&no);
        assert_eq!((&ended["verdict"], &ended["answer"]["reason"]), (&json!("rejected"), &json!("Take a backup first")));

        let one = ask(json!({"question": "Where to?", "options": [{"name": "Postgres", "consequence": "one more table"}, {"name": "Redis"}]}));
        desk.look_at(&one);
        page.says("one more table");
        page.press("2");
        assert_eq!(desk.gate(&one)["state"], "open", "picking says nothing yet");
        page.press("a");
        assert_eq!(desk.ended(&one)["answer"]["picked"], json!(["Redis"]));

        let many = ask(json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "multi": true, "other": true}));
        desk.look_at(&many);
        page.press("1");
        page.press("3");
        page.fill("[name=other]", "and d");
        page.press("Escape");
        page.press("a");
        let ended = desk.ended(&many);
        assert_eq!((&ended["answer"]["picked"], &ended["answer"]["other"]), (&json!(["a", "c"]), &json!("and d")));

        let form = ask(json!({"question": "Where and how many?", "form": "form", "schema": {
            "type": "object", "required": ["zone", "count"],
            "properties": {"zone": {"type": "string", "enum": ["eu", "us"]}, "count": {"type": "integer"}, "fast": {"type": "boolean"}}
        }}));
        desk.look_at(&form);
        page.eval("document.querySelector('[data-field=zone]').value = 'eu'");
        page.eval("document.querySelector('[data-field=fast]').value = 'true'");
        page.press("a");
        page.says("count is needed");
        page.fill("[data-field=count]", "3");
        page.press("Escape");
        page.press("a");
        assert_eq!(desk.ended(&form)["answer"]["form"], json!({"zone": "eu", "count": 3, "fast": true}));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A call is let run with other arguments; what is no JSON is not sent.
    fn a_call_runs_with_other_arguments(space: &Space) {
        policy(space, "space", "rules:\n  - name: pushes\n    on: tool\n    match: {command: git push *}\n    then: ask\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        let body = event("PreToolUse", "Bash", &json!({"command": "git push --force"}));
        let call = || hook(space, "coder", "claude-code", "PreToolUse", &body, "0s");
        call().exits(2);
        page.until("!!document.querySelector('.row')");
        let handle = page.eval("document.querySelector('.row').dataset.handle");
        page.click(".row a");
        desk.drawn(text(&handle));
        // What was captured is a fact, and stands apart from what the agent says.
        page.says("sayso saw this itself");
        page.press("e");
        page.until("document.activeElement?.name === 'arguments'");
        page.fill("[name=arguments]", "{");
        page.press("Escape");
        page.press("a");
        page.says("the arguments are not JSON");
        page.press("Escape");
        page.press("y");
        page.says(&format!("sayso show {}", text(&handle)));
        page.fill("[name=arguments]", r#"{"command": "git push --dry-run"}"#);
        page.press("Escape");
        // The command says what the card would say, and not what it said before.
        page.press("y");
        page.says(&format!(r#"sayso answer {} yes --arguments '{{"command": "git push --dry-run"}}'"#, text(&handle)));
        page.press("a");
        page.until("document.querySelector('.row').classList.contains('over')");
        // What became of it is told, with what was changed.
        page.says("approved with changed arguments by ann");
        page.until("document.querySelector('[aria-label=\"What the answer changed\"] .added')?.textContent.includes('--dry-run')");
        let said: serde_json::Value = serde_json::from_str(&call().exits(0).stdout).unwrap();
        assert_eq!(said["hookSpecificOutput"]["updatedInput"], json!({"command": "git push --dry-run"}));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What several must agree to: the first yes is one of them, and the card says what is still needed.
    fn several_people_agree(space: &Space) {
        policy(space, "space", "rules:\n  - name: payments\n    on: ask\n    match: {kind: approval}\n    then: ask\n    ask: {of: ann and bob}\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Pay 4,000?"));
        desk.go("inbox?view=groups");
        desk.look_at(&gate);
        page.says("it takes the say of");
        page.press("a");
        page.says("voted by ann");
        assert_eq!(desk.gate(&gate)["state"], "open");
        desk.server.answer("bob", &gate, json!({"verdict": "approved"})).is(200);
        page.until("document.getElementById('card').dataset.open === 'false'");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// An answer can be taken back before it is sent, and is not shown as done before it is.
    fn an_answer_can_be_taken_back(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        page.press("a");
        page.says("approving");
        assert_eq!(page.eval("document.getElementById('card').dataset.open"), "true");
        page.press("z");
        page.says("taken back");
        // Longer than it would have been held.
        std::thread::sleep(std::time::Duration::from_secs(6));
        assert_eq!(desk.gate(&gate)["state"], "open");
        // Whoever leaves meant what they said.
        page.press("a");
        page.says("approving");
        desk.go("tasks");
        assert_eq!(desk.ended(&gate)["verdict"], "approved");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Taking a card, giving it back, putting it off and handing it on.
    fn what_else_can_be_done_with_a_card(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", approval("Deploy?"));
        desk.look_at(&gate);
        page.press("c");
        page.says("ann is on it");
        assert_eq!(desk.gate(&gate)["claimed_by"], "ann");
        page.until("document.getElementById('card').dataset.claimed === 'true'");
        page.press("c");
        page.says("given back");
        assert!(desk.gate(&gate)["claimed_by"].is_null());
        page.press("@");
        page.until("!!document.querySelector('dialog[open] input')");
        page.write("bob");
        page.press("Enter");
        page.says("handed to bob");
        assert_eq!(desk.gate(&gate)["delegations"][0]["to"], "bob");
        page.until("!document.querySelector('dialog')");
        page.press("h");
        page.until("!!document.querySelector('dialog[open] input')");
        // What is no time is told there, and what was typed can be mended.
        page.write("soon");
        page.press("Enter");
        page.until("!!document.querySelector('dialog[open] .problem')?.textContent");
        assert_eq!(page.eval("document.querySelector('dialog input').value"), "soon");
        page.write("2h");
        page.press("Enter");
        page.says("is put off");
        page.until("document.querySelector('.row.off.over') && !getComputedStyle(document.querySelector('.row.off .question')).textDecorationLine.includes('through')");
        assert!(desk.gate(&gate)["snoozed_until"].is_string());
        let of_times = |said: &String| said.contains("status of 400") && said.contains("snooze");
        page.complaints.borrow_mut().retain(|said| !of_times(said));
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What needs the passphrase asks for it, once, and then goes on.
    fn a_passphrase_is_asked_for_when_it_is_needed(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let mut body = approval("Deploy?");
        body["least_proof"] = json!("passphrase");
        let gate = desk.server.ask("coder", body);
        // The login itself showed it; that is over now.
        desk.go("you");
        page.click("#lock");
        page.until("!document.getElementById('lock')");
        desk.go("inbox");
        desk.look_at(&gate);
        page.press("a");
        page.until("!!document.querySelector('dialog[open] input[type=password]')");
        assert!(!page.text().contains("approving"), "it is asked for before anything is held");
        assert_eq!(desk.gate(&gate)["state"], "open");
        page.write("something else");
        page.press("Enter");
        page.says("the passphrase is wrong");
        page.press("Escape");
        page.says("nothing was sent; it needs your passphrase");
        page.press("a");
        page.until("!!document.querySelector('dialog[open] input[type=password]')");
        page.write(PASSPHRASE);
        page.press("Enter");
        assert_eq!(desk.ended(&gate)["answer"]["proof"], "passphrase");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Each answer is held for its own time, and the latest is taken back first.
    fn going_on_sends_nothing(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gates = ["One?", "Two?", "Three?"].map(|question| desk.server.ask("coder", approval(question)));
        for gate in &gates {
            desk.look_at(gate);
            page.press("a");
            page.says(&format!("approving {}", text(&gate["handle"])));
        }
        page.press("z");
        page.says(&format!("taken back: approving {}", text(&gates[2]["handle"])));
        page.press("z");
        page.says(&format!("taken back: approving {}", text(&gates[1]["handle"])));
        assert_eq!(desk.ended(&gates[0])["verdict"], "approved");
        std::thread::sleep(std::time::Duration::from_secs(6));
        assert_eq!(desk.gate(&gates[1])["state"], "open");
        assert_eq!(desk.gate(&gates[2])["state"], "open");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// One yes of two is told to be counted, and whose is missing.
    fn one_yes_of_two(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let gate = desk.server.ask("coder", json!({"question": "Publish?", "kind": "approval", "form": "verdict", "to": ["ann", "bob"], "quorum": 2}));
        desk.go("inbox?view=all");
        desk.look_at(&gate);
        page.press("a");
        page.says("your say is recorded; it still needs bob");
        page.says("ann said yes; it still needs bob");
        assert_eq!(desk.gate(&gate)["needs"], "bob");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A task says what it waits for, what waits for it and what it is made of; the board agrees with `ready`.
    fn tasks_tell_what_holds_them(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let epic = space.create(&["Checkout", "--type", "epic"]);
        let part = space.create(&["Greet people", "--parent", &epic]);
        let later = space.create(&["Tell the world"]);
        space.ann(&["dep", "add", &later, &part]).ok();
        desk.server.ask("coder", json!({"question": "In which words?", "task": part}));
        desk.go(&format!("tasks/{epic}"));
        page.says("Greet people");
        desk.go(&format!("tasks/{later}"));
        page.says("It waits for");
        page.says("Greet people");
        desk.go(&format!("tasks/{part}"));
        page.says("Tell the world");
        desk.go("tasks");
        page.says("In which words?");
        desk.go("tasks?view=board");
        assert_eq!(page.eval("document.querySelectorAll('[aria-label=Ready] .task').length"), 0);
        desk.is_content();
    }
}
