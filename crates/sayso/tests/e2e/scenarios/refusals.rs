//! Answers that are not taken, each with its own code, its cause and what to do about it.

use crate::harness::{Backend, SAYSO, Space, Who, everywhere};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

everywhere! {
    fn nothing_waits_here(space: &Space) {
        let task = space.create(&["Build it"]);
        for args in [
            vec!["approve", &task],
            vec!["reject", &task, "no"],
            vec!["respond", &task, "blue"],
            vec!["choose", &task, "blue"],
            vec!["answer", &task, "yes"],
            vec!["done", &task],
            vec!["update", &task, "--verdict", "approved"],
            vec!["update", &task, "--awaiting=null"],
        ] {
            space.ann(&args).exits(6).refused("SAY003").says("hint:");
        }
        assert_eq!(space.state(&task), "open");
        // Whoever comes too late by the task is told who was first.
        space.ann(&["update", &task, "--awaiting", "approval"]).ok();
        space.run(Who::Human("bob"), &["approve", &task]).ok();
        space.ann(&["reject", &task, "no"]).exits(6).refused("SAY003").says("approved by bob");
    }
}

everywhere! {
    fn an_empty_answer_is_no_answer(space: &Space) {
        let text = space.ask("coder", &["Which port?"]);
        let choice = space.ask("coder", &["Which colour?", "-o", "red", "-o", "blue", "--other"]);
        let verdict = space.ask("coder", &["May I?", "--verdict"]);
        let form = space.ask("coder", &["Which?", "--schema", r#"{"type":"object"}"#]);
        for args in [
            vec!["respond", &text, ""],
            vec!["respond", &text, " \n\t "],
            vec!["approve", &text],
            vec!["answer", &text],
            vec!["choose", &choice],
            vec!["choose", &choice, "--other", " "],
            vec!["approve", &choice],
            vec!["answer", &verdict],
            vec!["approve", &form],
        ] {
            space.ann(&args).exits(2).refused("SAY007").says("hint:");
        }
        for gate in [&text, &choice, &verdict, &form] {
            assert_eq!(space.show(gate)["state"], "open");
        }
    }
}

everywhere! {
    fn only_what_was_offered_can_be_picked(space: &Space) {
        let gate = space.ask("coder", &["Which colour?", "-o", "red", "-o", "blue"]);
        space.ann(&["choose", &gate, "reddish"]).exits(2).refused("SAY008").says("\"red\", \"blue\"");
        space.ann(&["choose", &gate, "3"]).exits(2).refused("SAY008");
        space.ann(&["choose", &gate, "0"]).exits(2).refused("SAY008");
        space.ann(&["choose", &gate, "--other", "green"]).exits(2).refused("SAY008");
        space.ann(&["respond", &gate, "green"]).exits(2).refused("SAY008");
        space.ann(&["choose", &gate, "red", "blue"]).exits(2).refused("SAY006");
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["choose", &gate, "2"]).ok();
        assert_eq!(space.show(&gate)["answer"]["picked"][0], "blue");
        // Another case of letters is the same name, as at a prompt, unless it would be two of them.
        let gate = space.ask("coder", &["Which colour?", "-o", "red", "-o", "Blue", "-o", "blue"]);
        space.ann(&["choose", &gate, "BLUE"]).exits(2).refused("SAY008");
        space.ann(&["choose", &gate, "Red"]).ok();
        assert_eq!(space.show(&gate)["answer"]["picked"][0], "red");
    }
}

everywhere! {
    fn the_wrong_kind_of_answer(space: &Space) {
        let text = space.ask("coder", &["Which port?"]);
        let choice = space.ask("coder", &["Which colour?", "-o", "red", "-o", "blue"]);
        let verdict = space.ask("coder", &["May I?", "--verdict"]);
        for (args, hint) in [
            (vec!["choose", &text, "red"], "sayso respond"),
            (vec!["done", &text], "sayso respond"),
            (vec!["answer", &text, "--form", "{}"], "sayso respond"),
            (vec!["answer", &choice, "--form", "{}"], "sayso choose"),
            (vec!["respond", &verdict, "well"], "sayso approve"),
            (vec!["choose", &verdict, "red"], "sayso approve"),
            (vec!["answer", &verdict, "sure"], "yes or no"),
            (vec!["answer", &verdict, "Yes"], "yes or no"),
            (vec!["answer", &verdict, "--arguments", "{}"], "sayso approve"),
            (vec!["done", &verdict], "sayso approve"),
        ] {
            space.ann(&args).exits(2).refused("SAY006").says(hint);
        }
        space.ann(&["answer", &choice, "--form", "{no json"]).exits(2).refused("SAY009");
        for gate in [&text, &choice, &verdict] {
            assert_eq!(space.show(gate)["state"], "open");
        }
        space.ann(&["answer", &verdict, "no", "--reason", "not on a Friday"]).ok();
        assert_eq!(space.show(&verdict)["answer"]["reason"], "not on a Friday");
    }
}

everywhere! {
    /// The first answer wins; the same again is a success without effect; another is told who won.
    fn answered_twice(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "-o", "yes", "-o", "no"]);
        space.ann(&["choose", &gate, "yes"]).ok();
        let entries = space.verify();
        space.ann(&["choose", &gate, "yes"]).ok();
        assert_eq!(space.verify(), entries, "the same answer again leaves no trace");
        let late = space.run(Who::Human("bob"), &["choose", &gate, "yes"]);
        late.exits(6).refused("SAY004").says("by ann");
        space.ann(&["choose", &gate, "no"]).exits(6).refused("SAY004").says("by ann");
        space.ann(&["reject", &gate, "no"]).exits(6).refused("SAY004");
        space.ann(&["withdraw", &gate]).exits(6).refused("SAY004");
        let failed = space.run(Who::Human("bob"), &["choose", &gate, "no", "--json"]);
        let error: Value = serde_json::from_str(failed.stderr.trim()).unwrap();
        assert_eq!(error["error"]["code"], "SAY004");
        assert_eq!(error["error"]["exit"], 6);
        assert!(error["error"]["message"].as_str().unwrap().contains("by ann"));
        assert_eq!(space.show(&gate)["answer"]["picked"][0], "yes");
    }
}

everywhere! {
    /// A verdict binds to the card that was shown.
    fn a_card_that_changed_is_stale(space: &Space) {
        let gate = space.ask("coder", &["May I drop the table users_old?", "--verdict"]);
        space.ann(&["approve", &gate, "--digest", "0123456789ab"]).exits(6).refused("SAY005");
        let seen = space.show(&gate);
        let old = seen["digest"].as_str().unwrap().to_owned();
        let revise = ["ask", "May I drop the table users?", "--verdict", "--revise", &gate];
        space.run(Who::Agent("tester"), &revise).exits(3).refused("SAY001");
        space.coder(&revise).ok();
        // ann saw the old card; bob, who saw none, is shown the new one by nothing but the command.
        space.ann(&["approve", &gate]).exits(6).refused("SAY005").says(&format!("sayso show {gate}"));
        space.run(Who::Human("bob"), &["approve", &gate, "--digest", &old]).exits(6).refused("SAY005");
        let shown = space.show(&gate);
        assert_eq!(shown["revision"], 2);
        assert_ne!(shown["digest"], old.as_str());
        space.ann(&["approve", &gate, "--digest", &shown["digest"].as_str().unwrap()[..12]]).ok();
        assert_eq!(space.show(&gate)["answer"]["by"], "ann");
        space.coder(&revise).exits(6).refused("SAY004");
    }
}

everywhere! {
    /// The card in the editor is the card that was seen; and what somebody took the time to write
    /// is given back when it comes too late.
    fn what_was_written_in_the_editor(space: &Space) {
        let editor = |script: &str| {
            let path = space.path().join("editor.sh");
            let text = format!("#!/bin/sh\n{script}\necho 'in my own words' >> \"$1\"\n");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let gate = space.ask("coder", &["Which table?"]);
        space.show(&gate);
        space.coder(&["ask", "Which table of the two?", "--revise", &gate]).ok();
        let mut command = space.command(Who::Human("ann"), &["respond", &gate, "--edit"]);
        space.finish(command.env("EDITOR", editor("cp \"$1\" found.md"))).ok();
        let found = std::fs::read_to_string(space.path().join("found.md")).unwrap();
        assert!(found.contains("# Which table of the two?"), "{found}");

        let gate = space.ask("coder", &["Which table?"]);
        let bob = space.token("bob");
        let overtake = format!("SAYSO_TOKEN_FILE={} {SAYSO} respond {gate} first >&2", bob.display());
        let mut command = space.command(Who::Human("ann"), &["respond", &gate, "--edit"]);
        let late = space.finish(command.env("EDITOR", editor(&overtake)));
        let late = late.exits(6).refused("SAY004").says("by bob");
        late.says("What you wrote was not recorded").says("in my own words");
        assert_eq!(space.show(&gate)["answer"]["text"], "first");
    }
}

everywhere! {
    fn ids_that_lead_nowhere(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        for unknown in ["g0000", "zzz", "../x", "g'--", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "\u{1b}[31m"] {
            for verb in ["show", "approve", "wait"] {
                space.ann(&[verb, unknown]).exits(3).refused("SAY001").never_says("\u{1b}");
            }
        }
        space.ann(&["messages", "--ack", "m0000"]).exits(3).refused("SAY001");
        space.run(Who::Terminal, &["token", "revoke", "k0000"]).exits(3).refused("SAY001");
        // Read kindly: in capitals, with a dash, in full, as a beginning.
        let id = space.show(&gate)["id"].as_str().unwrap().to_owned();
        let dashed = format!("{}-{}", &gate[..1], &gate[1..]).to_uppercase();
        for typed in [dashed.as_str(), &id, &gate[..4]] {
            assert_eq!(space.show(typed)["handle"], gate.as_str(), "{typed}");
        }
    }
}

everywhere! {
    fn a_beginning_that_fits_several(space: &Space) {
        let gates = [space.ask("coder", &["One?"]), space.ask("coder", &["Two?"])];
        let refused = space.ann(&["respond", "g", "blue"]).exits(2).refused("SAY002");
        for gate in &gates {
            assert!(refused.stderr.contains(gate.as_str()), "{}", refused.stderr);
        }
    }
}

everywhere! {
    fn several_gates_on_one_task(space: &Space) {
        let task = space.create(&["Build it"]);
        let one = space.ask("coder", &["Which way?", "--task", &task]);
        let two = space.ask("coder", &["Which colour?", "--task", &task]);
        for args in [
            vec!["respond", &task, "left"],
            vec!["approve", &task],
            vec!["wait", &task],
            vec!["update", &task, "--verdict", "rejected"],
        ] {
            let refused = space.ann(&args).exits(2).refused("SAY033");
            assert!(refused.stderr.contains(&one) && refused.stderr.contains(&two));
        }
        assert_eq!(space.gates(&task), [one, two]);
    }
}

/// Two spaces in one store: what belongs to the other is named, not acted on.
fn two_spaces(first: &Space, store: &str) {
    let other = ["--store", store, "--space", "other"];
    let with = |args: &[&'static str]| [args, &other].concat();
    first
        .run(Who::Script, &["init", "--name", "other", "--store", store])
        .exits(0)
        .says("--space other");
    let gate = first.run(Who::Script, &with(&["ask", "Ship?", "--verdict"])).ok();
    let here = first.run(Who::Terminal, &["approve", &gate]);
    here.exits(3).refused("SAY034").says("--space other");
    first.run(Who::Terminal, &["show", &gate]).exits(3).refused("SAY034");
    let inbox = first.run(Who::Terminal, &["inbox", "--json"]).json();
    assert_eq!(inbox["items"].as_array().unwrap().len(), 0);
    // A token counts in its own space only.
    first.mint("human", "ann");
    let elsewhere = [&["approve", gate.as_str()], other.as_slice()].concat();
    first.run(Who::Human("ann"), &elsewhere).exits(4).refused("SAY028").says("another space");
    first.run(Who::Terminal, &elsewhere).ok();
}

#[test]
fn another_space_sqlite() {
    let space = Space::bare(Backend::Sqlite);
    let store = space.file();
    two_spaces(&space, store.to_str().unwrap());
}

#[test]
fn another_space_postgres() {
    let space = Space::bare(Backend::Postgres);
    two_spaces(&space, space.store.as_deref().unwrap());
}

everywhere! {
    /// A question for certain people, and one that takes two of them.
    fn questions_for_certain_people(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict", "--to", "bob"]);
        let refused = space.ann(&["approve", &gate]).exits(5).refused("SAY013");
        assert!(refused.stderr.contains("for bob"), "{}", refused.stderr);
        space.ann(&["show", &gate]).exits(0).says("takes the say of bob");
        space.run(Who::Human("bob"), &["approve", &gate]).ok();

        let two = ["Ship?", "--verdict", "--to", "ann", "--to", "bob", "--quorum", "2"];
        let gate = space.ask("coder", &two);
        space.ann(&["approve", &gate]).exits(0).says("still needs bob");
        space.coder(&["wait", &gate, "--timeout", "0"]).exits(7);
        space.run(Who::Human("bob"), &["approve", &gate]).ok();
        assert_eq!(space.coder(&["wait", &gate]).ok(), "approved");
        // One no is enough.
        let gate = space.ask("coder", &two);
        space.ann(&["approve", &gate]).ok();
        space.run(Who::Human("bob"), &["reject", &gate, "not on a Friday"]).ok();
        space.coder(&["wait", &gate]).exits(8);
    }
}

/// A form is filled in with the editor; what was written is kept where it cannot be recorded, and no editor is
/// opened for what has ended.
#[test]
fn a_form_is_filled_in_with_the_editor() {
    let space = Space::new(Backend::Sqlite);
    let schema = r#"{"type": "object", "properties": {"port": {"type": "integer", "minimum": 1}}, "required": ["port"]}"#;
    let gate = space.ask("coder", &["Which port?", "--schema", schema]);
    let script = space.path().join("editor.sh");
    let fill = |verb: &str, deed: &str| {
        std::fs::write(&script, format!("#!/bin/sh\n{deed}\n")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, mode).unwrap();
        space.finish(space.command(Who::Human("ann"), &[verb, &gate]).env("EDITOR", &script))
    };
    fill("answer", "true").exits(2).refused("SAY007");
    let wrong = fill("respond", "sed -i 's/null/0/' \"$1\"").exits(2).refused("SAY009");
    let kept = wrong.stderr.split("it is in ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert!(std::fs::read_to_string(&kept).unwrap().contains("\"port\": 0"));
    std::fs::remove_file(kept).unwrap();
    space.ann(&["--no-input", "answer", &gate]).refused("SAY041");
    fill("answer", "sed -i 's/null/8080/' \"$1\"").ok();
    assert_eq!(space.coder(&["wait", &gate, "--json"]).json()["answer"]["form"]["port"], 8080);
    fill("respond", "touch opened").exits(6).refused("SAY004");
    assert!(!space.path().join("opened").exists(), "the editor was opened");
}

/// What would mean nothing is no value.
#[test]
fn nothing_is_no_value() {
    let space = Space::new(Backend::Sqlite);
    let task = space.create(&["Tidy up"]);
    for args in [
        &["inbox", "-n", "0"][..],
        &["list", "-n", "0"],
        &["update", &task],
        &["ask", "Which port?", "--fact", "branch"],
    ] {
        space.ann(args).exits(2);
    }
}
