//! What goes on: an agent at work, what it prints while it does, and what it waits for.

use super::Desk;
use crate::harness::{Who, in_places};
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
