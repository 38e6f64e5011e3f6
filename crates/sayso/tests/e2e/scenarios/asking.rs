//! Asking, answering and telling: the forms a question can have, and messages to agents.

use crate::harness::{Who, everywhere};

/// Two ids of one's own.
const ULIDS: [&str; 2] = ["01J9ZZZZZZZZZZZZZZZZZZZZZ1", "01J9ZZZZZZZZZZZZZZZZZZZZZ2"];

everywhere! {
    fn options(space: &Space) {
        let gate = space.ask("coder", &["Which colour?", "-o", "red=loud", "-o", "blue", "--other"]);
        let text = space.ann(&["show", &gate]).ok();
        for part in ["1. red", "loud", "2. blue", "words of your own", "sayso choose"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        space.ann(&["choose", &gate, "--other", "dark green", "--reason", "my taste"]).ok();
        let shown = space.show(&gate);
        assert_eq!(shown["answer"]["other"], "dark green");
        assert_eq!(shown["answer"]["reason"], "my taste");
        assert_eq!(space.coder(&["wait", &gate]).ok(), "dark green");

        let gate = space.ask("coder", &["Which?", "-o", "a", "-o", "b", "-o", "c", "--multi"]);
        space.ann(&["choose", &gate, "c", "1"]).ok();
        assert_eq!(space.show(&gate)["answer"]["picked"].as_array().unwrap().len(), 2);
        let picked = space.coder(&["wait", &gate]).ok();
        assert_eq!(picked.lines().count(), 2, "{picked}");
        let gate = space.ask("coder", &["Which?", "-o", "a", "-o", "b", "--multi"]);
        space.ann(&["choose", &gate, "a", "a"]).exits(2).refused("SAY006");
        space.ann(&["answer", &gate, "a", "b"]).ok();
        let gate = space.ask("coder", &["Which?", "-o", "a", "-o", "b"]);
        space.ann(&["respond", &gate, "b"]).ok();
        assert_eq!(space.show(&gate)["answer"]["picked"][0], "b");
    }
}

everywhere! {
    fn questions_that_cannot_be_asked(space: &Space) {
        for (args, code) in [
            (vec!["ask", ""], "SAY038"),
            (vec!["ask", "Which?", "-o", "a", "-o", "a"], "SAY038"),
            (vec!["ask", "Which?", "-o", " "], "SAY038"),
            (vec!["ask", "Which?", "--schema", "{"], "SAY009"),
            (vec!["ask", "Which?", "--schema", r#"{"type":"nonsense"}"#], "SAY009"),
            (vec!["ask", "Which?", "--kind", "nonsense"], "SAY038"),
            (vec!["ask", "Which?", "--proof", "blood"], "SAY038"),
            (vec!["ask", "Which?", "--verdict", "--option", "a"], "cannot be used with"),
            (vec!["ask", "Which?", "--wait", "--async"], "cannot be used with"),
            (vec!["ask", "Which?", "--id", "nonsense"], "invalid value"),
        ] {
            space.coder(&args).exits(2).refused(code);
        }
        let inbox = space.ann(&["inbox", "--json"]).json();
        assert_eq!(inbox["items"].as_array().unwrap().len(), 0);
    }
}

everywhere! {
    fn a_form(space: &Space) {
        let schema = r#"{"type":"object","required":["port"],"properties":{"port":{"type":"integer","minimum":1024}}}"#;
        let gate = space.ask("coder", &["Which port?", "--schema", schema]);
        space.ann(&["show", &gate]).exits(0).says("port, needed: whole number, at least 1024").says("--form");
        for wrong in [r#"{"port": 80}"#, r#"{"port": "8080"}"#, "{}", "[]"] {
            space.ann(&["answer", &gate, "--form", wrong]).exits(2).refused("SAY009");
        }
        space.ann(&["respond", &gate, "8080"]).exits(2).refused("SAY006");
        let typed = space.run_with_input(
            Who::Human("ann"),
            &["answer", &gate, "--form", "-"],
            r#"{"port": 8080}"#,
        );
        typed.ok();
        assert_eq!(space.coder(&["wait", &gate]).ok(), r#"{"port":8080}"#);
        // A schema may come from a file.
        std::fs::write(space.path().join("form.json"), schema).unwrap();
        let gate = space.ask("coder", &["Which port?", "--schema", "@form.json"]);
        space.ann(&["answer", &gate, "--form", r#"{"port": 9000}"#]).ok();
    }
}

everywhere! {
    /// Formats hold at the terminal as they do on a page, all that does not fit is told at once, and the fields
    /// stand as the asker wrote them.
    fn a_form_with_formats(space: &Space) {
        let schema = r#"{"type":"object","required":["mail"],"properties":{"until":{"type":"string","format":"date"},"site":{"type":"string","format":"uri"},"mail":{"type":"string","format":"email"},"at":{"type":"string","format":"time"}}}"#;
        let gate = space.ask("coder", &["Whom shall I tell?", "--schema", schema]);
        let shown = space.ann(&["show", &gate]).ok();
        let places: Vec<_> = ["until: ", "site: ", "mail, needed: ", "at: "].map(|name| shown.find(name)).into();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{shown}");
        let wrong = r#"{"until":"2026-02-31","mail":"nobody","site":"http://x y","at":"25:00"}"#;
        space
            .ann(&["answer", &gate, "--form", wrong])
            .exits(2)
            .says("/until: \"2026-02-31\" is not a day of the calendar")
            .says("/mail: \"nobody\" is not an e-mail address")
            .says("/site: \"http://x y\" is not an address")
            .says("/at: \"25:00\" is not a time of day")
            .refused("SAY009");
        let right = r#"{"until":"2026-02-28","mail":"ann@example.com","site":"https://example.com","at":"23:00:00Z"}"#;
        space.ann(&["answer", &gate, "--form", right]).ok();
        assert_eq!(space.coder(&["wait", &gate]).ok(), right);
        space.verify();
    }
}

everywhere! {
    /// The same id is the same question, however often it is asked.
    fn asking_again(space: &Space) {
        let ask = ["ask", "Which port?", "--context", "the old one is taken", "--id", ULIDS[0]];
        let gate = space.coder(&ask).ok();
        assert_eq!(space.coder(&ask).ok(), gate);
        assert_eq!(space.show(ULIDS[0])["handle"], gate.as_str());
        space.coder(&["ask", "Another?", "--id", ULIDS[0]]).exits(6).refused("SAY030");
        space.run(Who::Agent("tester"), &ask).exits(6).refused("SAY030");
        space.ann(&["respond", &gate, "8080"]).ok();
        assert_eq!(space.coder(&ask).ok(), gate, "also when it was answered");
        let waited = [ask.as_slice(), &["--wait"]].concat();
        assert_eq!(space.coder(&waited).ok(), "8080");
        let asynchronous = space.coder(&["ask", "Later?", "--async"]).ok();
        assert_eq!(space.show(&asynchronous)["state"], "open");
        // The same for tasks and messages.
        let create = ["create", "Build it", "--id", ULIDS[1]];
        let task = space.coder(&create).ok();
        assert_eq!(space.coder(&create).ok(), task);
        space.coder(&["create", "Another", "--id", ULIDS[1]]).exits(6).refused("SAY030");
        let tell = ["tell", "coder", "stop", "--id", ULIDS[1]];
        assert_eq!(space.ann(&tell).ok(), space.ann(&tell).ok());
        space.ann(&["tell", "coder", "go", "--id", ULIDS[1]]).exits(6).refused("SAY030");
        assert_eq!(space.coder(&["messages", "--json"]).json()["items"].as_array().unwrap().len(), 1);
    }
}

everywhere! {
    /// Facts and what the asker says are kept apart, and who asked is told.
    fn the_card(space: &Space) {
        let asked = ["Drop it?", "--verdict", "--fact", "table=users", "--context", "It is empty."];
        let gate = space.ask("coder", &asked);
        let text = space.ann(&["show", &gate]).ok();
        let facts = text.find("Facts:").unwrap();
        let says = text.find("The agent says:").unwrap();
        assert!(facts < says, "facts come first: {text}");
        assert!(text.contains("unverified"), "{text}");
        assert!(text.contains("asked by agent coder, launched by"), "{text}");
        let shown = space.show(&gate);
        assert_eq!(shown["facts"][0]["verified"], false);
        assert_eq!(shown["context"], "It is empty.");
        assert_eq!(shown["seen"][0]["by"], "ann");
        // A long question comes from standard input.
        let gate = space.run_with_input(Who::Agent("coder"), &["ask", "-"], "Which\nport?\n").ok();
        assert_eq!(space.show(&gate)["question"], "Which\nport?");
        // An agent whose credential is bound to a task asks for that task.
        let task = space.create(&["Build it"]);
        let file = space.token("bound");
        let mint = ["token", "create", "--role", "agent", "--name", "bound", "--task", &task, "--out"];
        space.run(Who::Terminal, &[&mint[..], &[file.to_str().unwrap()]].concat()).ok();
        let gate = space.run(Who::Holder(&file), &["ask", "Which port?"]).ok();
        assert_eq!(space.gate(&task), gate);
    }
}

everywhere! {
    fn messages(space: &Space) {
        space.ann(&["tell", "coder", "stop", "the", "migration"]).exits(0).says("waits for coder");
        space.ann(&["tell", "tester", "carry on"]).ok();
        space.ann(&["tell", "coder", " "]).exits(2).refused("SAY038");
        let page = space.coder(&["messages", "--json"]).json();
        assert_eq!(page["items"].as_array().unwrap().len(), 1, "an agent sees its own: {page}");
        let message = &page["items"][0];
        assert_eq!(message["text"], "stop the migration");
        assert_eq!((message["from"].as_str(), message["from_role"].as_str()), (Some("ann"), Some("human")));
        let handle = message["handle"].as_str().unwrap();
        space.coder(&["messages"]).exits(0).says("ann to coder").says("stop the migration");
        space.coder(&["messages", "--agent", "tester"]).exits(0).never_says("carry on");
        space.run(Who::Agent("tester"), &["messages", "--ack", handle]).exits(3).refused("SAY001");
        space.coder(&["messages", "--ack", handle]).ok();
        space.coder(&["messages", "--ack", handle]).ok();
        space.coder(&["messages"]).exits(0).says("no messages");
        let all = space.coder(&["messages", "--all", "--json"]).json();
        assert!(all["items"][0]["read_at"].is_string(), "{all}");
        // A person sees all of them; what an agent sends is an agent's.
        assert_eq!(space.ann(&["messages", "--all", "--json"]).json()["items"].as_array().unwrap().len(), 2);
        space.coder(&["tell", "tester", "ann says yes"]).ok();
        let page = space.run(Who::Agent("tester"), &["messages", "--json"]).json();
        assert_eq!(page["items"][1]["from_role"], "agent");
    }
}
