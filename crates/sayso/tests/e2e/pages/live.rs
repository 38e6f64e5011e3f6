//! What goes on: an agent at work, what it prints while it does, and what it waits for.

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Who, in_places};
use crate::lifecycle::Fleet;
use crate::worker::{COMPLETE, Project, turns};
use std::process::Stdio;

in_places! {
    [sqlite: Sqlite]
    /// What an agent prints shows while it works, with the question it waits for; answered from there, it goes on.
    fn an_agent_at_work(space: &Space) {
        let turn = format!(
            "- say: I look at <b>the code</b> first.\n- sleep: 2\n- say: Now I need to know.\n\
             - ask: [\"Which port shall I take?\", --wait]\n- say: \"I take {{answer}}.\"\n- sleep: 12\n- final: \"{COMPLETE}\""
        );
        let project = Project::new(space, &turns(&[&turn]), "  land: leave");
        let task = project.space.create(&["Pick a port"]);
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.go("live");
        page.says("No agent is at work");
        let mut worker = space.command(Who::Script, &["work", "--once"]);
        let mut worker = worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        page.until("!!document.querySelector('.run')");
        page.says("Pick a port");
        // What it prints is text, whatever it is.
        page.says("I look at <b>the code</b> first.");
        page.until("!!document.querySelector('.run .note a')");
        page.says("Which port shall I take?");
        let end = "(() => { const it = document.querySelector('.output'); return it.scrollHeight - it.scrollTop - it.clientHeight < 4; })()";
        page.until(end);
        page.click(".run .note a");
        page.until("document.documentElement.dataset.page === 'inbox' && !!document.getElementById('card')");
        let handle = page.eval("document.getElementById('card').dataset.handle");
        desk.drawn(handle.as_str().unwrap());
        page.press("e");
        page.write("8080");
        page.press("Escape");
        page.press("a");
        page.says("answered by ann");
        desk.go("live");
        page.says("I take 8080.");
        assert!(worker.wait().unwrap().success());
        page.says("No agent is at work");
        desk.go(&format!("tasks/{task}"));
        page.says("8080");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Every page is live, also with the focus on it, which stays where it is; and each says how many wait.
    fn every_page_is_live_and_keeps_the_focus(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let task = space.create(&["Greet people"]);
        desk.go("tasks");
        let focused = "document.activeElement.getAttribute('href') ?? ''";
        page.eval(&format!("document.querySelector('a[href$=\"{task}\"]').focus()"));
        space.create(&["Tell the world", "--priority", "0"]);
        page.says("Tell the world");
        assert!(text(&page.eval(focused)).ends_with(&task));
        let gates = ["One?", "Two?"].map(|question| desk.server.ask("coder", approval(question)));
        page.until("document.getElementById('waiting').textContent === '2'");
        desk.go("audit");
        desk.server.answer("bob", &gates[0], serde_json::json!({"verdict": "approved"})).is(200);
        page.until("document.getElementById('waiting').textContent === '1'");
        // What is marked for copying stays until it is not marked any more.
        desk.go("live");
        page.eval("getSelection().selectAllChildren(document.querySelector('#part .row'))");
        desk.server.ask("coder", approval("Three?"));
        page.until("document.getElementById('waiting').textContent === '2'");
        assert!(text(&page.eval("getSelection().toString()")).contains("Two?"));
        page.eval("getSelection().removeAllRanges()");
        page.says("Three?");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// An agent that is started shows it, without anything else being done.
    fn an_agent_that_is_started_shows_it(space: &Space) {
        let _fleet = Fleet::new(space, &[("fixer", "")]);
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.go("agents");
        page.click("[data-act=spawn]");
        page.until("!!document.querySelector('dialog[open] input')");
        page.write("it is needed");
        page.press("Enter");
        page.until("document.querySelector('.agent .note')?.textContent.includes('will be spawned')");
        assert_eq!(page.eval("document.activeElement.dataset.act"), "spawn");
        // The next program of the space does it, and the page shows that, too. The button that had the focus is gone.
        space.ann(&["agent", "list"]).ok();
        page.until("!!document.querySelector('[data-act=stop]') && !document.querySelector('[data-act=spawn]')");
        page.until("document.querySelector('.agent .state').textContent === 'running'");
        assert_eq!(page.eval("document.activeElement.localName"), "div");
        desk.is_content();
    }
}
