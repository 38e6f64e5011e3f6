//! A task or a space with open gates goes away: askers are told, evidence stays.

use crate::harness::{Ran, Who, everywhere};
use std::time::Duration;

everywhere! {
    fn a_task_with_an_open_gate(space: &Space) {
        let task = space.create(&["Build it"]);
        let gate = space.ask("coder", &["Which way?", "--task", &task]);
        let waiter = space.start(Who::Agent("coder"), &["wait", &gate]);
        std::thread::sleep(Duration::from_millis(200));
        space.coder(&["delete", &task]).exits(5).refused("SAY010");
        space.ann(&["delete", &task, "--reason", "out of scope"]).exits(0).says("history stays");
        let told = Ran::of(&waiter.wait_with_output().unwrap()).exits(11);
        assert_eq!(told.stdout, "");
        assert!(told.stderr.contains("out of scope"), "{}", told.stderr);
        space.coder(&["wait", &gate]).exits(11).says("out of scope");
        // It is gone from every list, and everything about it can still be looked at.
        for args in [vec!["list", "--all", "--json"], vec!["ready", "--json"], vec!["inbox", "--json"]] {
            assert_eq!(space.ann(&args).json()["items"].as_array().unwrap().len(), 0, "{args:?}");
        }
        let shown = space.show(&task);
        assert_eq!(shown["state"], "deleted");
        assert_eq!(shown["closed_because"], "out of scope");
        assert_eq!(shown["questions"][0]["withdrawn_by"], "ann");
        space.ann(&["note", &task, "more"]).exits(3).refused("SAY001");
        space.ann(&["respond", &gate, "left"]).exits(6).refused("SAY003").says("out of scope");
        let actions: Vec<_> = space.audit().iter().map(|e| e["action"].clone()).collect();
        assert!(actions.iter().any(|a| a == "gate.withdrawn" || a == "task.deleted"), "{actions:?}");
        space.verify();
    }
}

everywhere! {
    /// With its epic, every question under it is withdrawn.
    fn an_epic_with_open_gates(space: &Space) {
        let epic = space.create(&["All of it", "--type", "epic"]);
        let part = space.create(&["A part", "--parent", &epic]);
        let gate = space.ask("coder", &["Which way?", "--task", &part]);
        space.ann(&["delete", &epic]).exits(6).refused("SAY018").says("--force");
        assert_eq!(space.state(&part), "awaiting_input");
        space.ann(&["delete", &epic, "--force", "--reason", "too much"]).ok();
        assert_eq!(space.state(&part), "deleted");
        space.coder(&["wait", &gate]).exits(11).says("too much");
        space.verify();
    }
}

everywhere! {
    fn a_space_with_open_gates(space: &Space) {
        let name = space.path().file_name().unwrap().to_str().unwrap().to_owned();
        let task = space.create(&["Build it"]);
        let gates = [
            space.ask("coder", &["Which way?", "--task", &task]),
            space.ask("tester", &["Ship?", "--verdict"]),
        ];
        let waiter = space.start(Who::Agent("coder"), &["wait", &gates[0]]);
        std::thread::sleep(Duration::from_millis(200));
        space.coder(&["delete", "--whole-space", &name]).exits(5).refused("SAY010");
        space.ann(&["delete", "--whole-space", "another"]).exits(2).refused("SAY038");
        let deleted = space.ann(&["delete", "--whole-space", &name, "--reason", "project ended"]);
        deleted.exits(0).says("2 open gates were withdrawn");
        // Who waits and who comes later are told, with the reason.
        let told = Ran::of(&waiter.wait_with_output().unwrap()).exits(11);
        assert!(told.stderr.contains("project ended"), "{}", told.stderr);
        space.run(Who::Agent("tester"), &["wait", &gates[1]]).exits(11).says("project ended");
        // Nothing new begins in it.
        for args in [vec!["ask", "More?"], vec!["create", "More"], vec!["list"], vec!["tell", "coder", "x"]] {
            space.ann(&args).exits(3).refused("SAY020").says("was deleted");
        }
        space.run(Who::Script, &["init"]).exits(3).refused("SAY020").says("--name");
        // The evidence can be read, verified and exported.
        assert_eq!(space.show(&gates[1])["withdrawn_because"].as_str().unwrap(), format!("space {name} was deleted: project ended"));
        space.ann(&["show", &task]).exits(0).says("Which way?");
        space.verify();
        assert!(space.audit().iter().any(|entry| entry["action"] == "space.deleted"));
        space.ann(&["doctor"]).exits(0).says("it was deleted");
        let export = space.path().join("kept.jsonl");
        space.ann(&["audit", "export", export.to_str().unwrap()]).ok();
        space.run(Who::Script, &["audit", "verify", export.to_str().unwrap()]).exits(0).says("entries hold");
    }
}
