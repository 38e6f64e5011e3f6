//! Tasks in every state, as list, show, tree and JSON tell them.

use crate::harness::{Space, Who, everywhere};

/// One task in each state, as `(state, handle)`.
fn zoo(space: &Space) -> Vec<(&'static str, String)> {
    let task = |title: &str| space.create(&[title]);
    let open = task("An open one");
    let taken = task("A taken one");
    space.coder(&["update", &taken, "--status", "in_progress"]).ok();
    let closed = task("A closed one");
    space.coder(&["close", &closed, "it", "works"]).ok();
    let deferred = task("A deferred one");
    space.ann(&["defer", &deferred]).ok();
    let failed = task("A failed one");
    space.coder(&["update", &failed, "--status", "failed", "--reason", "no luck"]).ok();
    let stuck = task("A stuck one");
    space.coder(&["update", &stuck, "--status", "blocked", "--reason", "the network is down"]).ok();
    let waiting = task("A waiting one");
    space.ask("coder", &["Which way?", "--task", &waiting, "--context", "Both are short."]);
    vec![
        ("open", open),
        ("in_progress", taken),
        ("closed", closed),
        ("deferred", deferred),
        ("failed", failed),
        ("blocked", stuck),
        ("awaiting_input", waiting),
    ]
}

everywhere! {
    fn each_state_is_told_apart(space: &Space) {
        let zoo = zoo(space);
        let icons = ["○", "◐", "✓", "◷", "✗", "⊘", "❓"];
        let ascii = ["[ ]", "[~]", "[x]", "[z]", "[!]", "[b]", "[?]"];
        let list = space.ann(&["list", "--all"]).ok();
        let plain = space.ann(&["list", "--all", "--plain"]).ok();
        let tree = space.ann(&["tree", "--all"]).ok();
        for ((state, handle), (icon, plain_icon)) in zoo.iter().zip(icons.iter().zip(ascii)) {
            assert_eq!(space.state(handle), *state);
            let row = |text: &str| text.lines().find(|l| l.contains(handle.as_str())).unwrap().to_owned();
            for text in [row(&list), row(&tree), row(&space.ann(&["show", handle]).ok())] {
                assert!(text.contains(&format!("[{state}]")) && text.starts_with(icon), "{text}");
            }
            assert!(row(&plain).starts_with(plain_icon), "{plain}");
        }
        let page = space.ann(&["list", "--all", "--json"]).json();
        let states: Vec<_> = page["items"].as_array().unwrap().iter().map(|t| t["state"].clone()).collect();
        assert_eq!(states, zoo.iter().map(|(state, _)| *state).collect::<Vec<_>>());
        // Closed ones are left out unless asked for.
        assert_eq!(space.ann(&["list", "--json"]).json()["items"].as_array().unwrap().len(), 6);
        for (state, handle) in &zoo[..6] {
            let page = space.ann(&["list", "--status", state, "--json"]).json();
            let found = page["items"].as_array().unwrap().iter().any(|t| t["handle"] == handle.as_str());
            assert!(found, "{state}: {page}");
        }
        space.ann(&["list", "--status", "nonsense"]).exits(2).refused("SAY038");
        space.ann(&["show", &zoo[4].1]).exits(0).says("no luck").says("by coder");
    }
}

everywhere! {
    /// What waits shows the question, the context and since when.
    fn a_waiting_task_shows_its_question(space: &Space) {
        let epic = space.create(&["Epic", "--type", "epic"]);
        let task = space.create(&["Pick one", "--parent", &epic, "--size", "medium"]);
        let gate = space.ask("coder", &["Which way?", "--task", &task, "--context", "Both are short."]);
        let list = space.ann(&["list", "--awaiting"]).ok();
        for part in [task.as_str(), "P2", "medium", "[awaiting_input]", &gate, "Which way?", "Context: Both are short.", "Asked: just now"] {
            assert!(list.contains(part), "no {part:?} in {list}");
        }
        let tree = space.ann(&["tree"]).ok();
        assert!(tree.contains(&format!("└── ❓ {task}")), "{tree}");
        assert!(tree.contains(&format!("    └── Question {gate}: Which way?")), "{tree}");
        assert!(space.ann(&["tree", "--plain"]).ok().contains("`-- [?]"));
        let show = space.ann(&["show", &task]).ok();
        for part in ["Which way?", "Both are short.", "The agent says:", "just now", "part of", "sayso respond"] {
            assert!(show.contains(part), "no {part:?} in {show}");
        }
        let inbox = space.ann(&["inbox"]).ok();
        assert!(inbox.contains(&format!("for task {task}")) && inbox.contains("asked just now by coder"), "{inbox}");
        let json = space.ann(&["list", "--awaiting", "--json"]).json();
        assert_eq!(json["items"][0]["gates"][0]["question"], "Which way?");
        assert_eq!(json["items"][0]["awaiting"][0], "input");
        let tree = space.ann(&["tree", &epic, "--json"]).json();
        assert_eq!(tree[0]["children"][0]["gates"][0]["handle"], gate.as_str());
        // Question, answer and its time stay with the task.
        space.ann(&["respond", &task, "left"]).ok();
        let shown = space.show(&task);
        let question = &shown["questions"][0];
        assert_eq!((question["question"].as_str(), question["context"].as_str()), (Some("Which way?"), Some("Both are short.")));
        assert_eq!(question["answer"]["text"], "left");
        assert!(question["answer"]["at"].is_string() && question["asked_at"].is_string());
        space.ann(&["list", "--awaiting"]).exits(0).says("no task waits for a person");
    }
}

everywhere! {
    fn lists_are_filtered(space: &Space) {
        let web = space.create(&["Fix the page", "--label", "web", "--label", "ui", "--type", "bug", "-p", "1"]);
        let api = space.create(&["Fix the call", "--label", "api", "--awaiting", "review"]);
        let found = |args: &[&str]| {
            let page = space.ann(&[&["list", "--json"], args].concat()).json();
            page["items"].as_array().unwrap().iter().map(|t| t["handle"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(&["--label", "web"]), [web.as_str()]);
        assert_eq!(found(&["--label", "nothing"]), [""; 0]);
        assert_eq!(found(&["--type", "bug"]), [web.as_str()]);
        assert_eq!(found(&["--priority", "P2"]), [api.as_str()]);
        assert_eq!(found(&["--awaiting"]), [api.as_str()]);
        assert_eq!(found(&["--awaiting", "review"]), [api.as_str()]);
        assert_eq!(found(&["--awaiting", "input,review"]), [api.as_str()]);
        assert_eq!(found(&["--awaiting=input,approval"]), [""; 0]);
        space.ann(&["list", "--awaiting", "nonsense"]).exits(2).refused("SAY038");
        space.ann(&["update", &web, "--add-label", "urgent", "--remove-label", "ui"]).ok();
        assert_eq!(space.show(&web)["labels"], serde_json::json!(["urgent", "web"]));
        space.ann(&["list"]).exits(0).says("#urgent #web");
        let edited = space.ann(&["update", &web, "--title", "Mend it", "--type", "chore", "--size", "small", "--description", "-", "--json"]);
        assert_eq!(edited.json()["title"], "Mend it");
        space.ann(&["update", &web, "--size", "null"]).ok();
        let shown = space.show(&web);
        assert_eq!((shown["size"].as_str(), shown["type"].as_str()), (None, Some("chore")));
        space.ann(&["create", ""]).exits(2).refused("SAY038");
        space.ann(&["create", &"x".repeat(1001)]).exits(2).refused("SAY015");
    }
}

everywhere! {
    /// Notes say who wrote them; nobody writes as a person who is none.
    fn notes(space: &Space) {
        let task = space.create(&["Build it"]);
        space.coder(&["note", &task, "PR", "ready"]).ok();
        space.ann(&["note", &task, "Use Stripe", "--from", "human"]).ok();
        space.ann(&["note", &task, "the agent told me so", "--from", "agent"]).ok();
        space.run_with_input(Who::Human("ann"), &["note", &task, "-"], "two\nlines\n").ok();
        space.coder(&["note", &task, "approved!", "--from", "human"]).exits(5).refused("SAY010");
        space.run(Who::Script, &["note", &task, "approved!", "--from", "human"]).exits(5).refused("SAY011");
        space.ann(&["note", &task, " "]).exits(2).refused("SAY038");
        let notes = space.ann(&["notes", &task, "--json"]).json();
        let written: Vec<_> = notes.as_array().unwrap().iter()
            .map(|n| format!("{} {} {}", n["author"].as_str().unwrap(), n["role"].as_str().unwrap(), n["text"].as_str().unwrap()))
            .collect();
        assert_eq!(written, ["coder agent PR ready", "ann human Use Stripe", "ann agent the agent told me so", "ann human two\nlines"]);
        let text = space.ann(&["notes", &task]).ok();
        assert!(text.contains("coder (agent), just now") && text.contains("    Use Stripe"), "{text}");
        space.ann(&["show", &task]).exits(0).says("Notes:").says("PR ready");
    }
}

everywhere! {
    /// The old name still works, and says what to use.
    fn manual(space: &Space) {
        let ran = space.run(Who::Script, &["create", "Order the keys", "--manual"]).exits(0).says("--awaiting work");
        let task = ran.stdout.trim().to_owned();
        assert_eq!(space.show(&task)["awaiting"][0], "work");
        let task = space.create(&["Build it"]);
        space.coder(&["update", &task, "--manual"]).exits(0).says("--awaiting work");
        assert_eq!(space.show(&task)["awaiting"][0], "work");
        space.coder(&["ready"]).exits(0).never_says(&task);
        space.run(Who::Script, &["create", "x", "--manual", "--awaiting", "input"]).exits(2);
    }
}

everywhere! {
    fn closing_and_reopening(space: &Space) {
        let task = space.create(&["Build it"]);
        space.coder(&["close", &task, "it", "works"]).exits(0).says("closed");
        space.coder(&["close", &task]).ok();
        let shown = space.show(&task);
        assert_eq!((shown["closed_by"].as_str(), shown["closed_because"].as_str()), (Some("coder"), Some("it works")));
        space.coder(&["ask", "Well?", "--task", &task]).exits(6).refused("SAY018").says("sayso reopen");
        space.coder(&["defer", &task]).exits(6).refused("SAY018");
        space.coder(&["reopen", &task, "not quite"]).ok();
        assert_eq!(space.state(&task), "open");
        assert_eq!(space.show(&task)["closed_by"], serde_json::Value::Null);
        // What a person said no to is taken up again by a person.
        space.coder(&["update", &task, "--awaiting", "escalation"]).ok();
        space.ann(&["reject", &task, "never"]).ok();
        space.coder(&["reopen", &task]).exits(5).refused("SAY010");
        space.ann(&["reopen", &task, "after all"]).ok();
        space.ann(&["show", &task]).exits(0).says("History:").says("rejected by ann").says("reopened by ann");
        // The agent that asked hears the no before it takes the task again.
        let early = space.coder(&["update", &task, "--status", "in_progress"]).exits(6).refused("SAY061");
        let gate = early.stderr.rsplit("sayso wait ").next().unwrap().trim().to_owned();
        space.coder(&["wait", &gate]).exits(8);
        space.coder(&["update", &task, "--status", "in_progress"]).ok();
        assert_eq!(space.state(&task), "in_progress");
    }
}
