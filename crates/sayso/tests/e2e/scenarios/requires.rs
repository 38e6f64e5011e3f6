//! A gate that was declared before the work: it opens when an agent says complete, survives
//! rejections, and is not skipped.

use crate::harness::{Who, everywhere};

everywhere! {
    fn it_survives_three_rejections(space: &Space) {
        let rounds = ["first", "second", "third"];
        for (kind, rounds) in [("approval", &rounds[..]), ("review", &rounds[..1]), ("content", &rounds[..1])] {
            let task = space.create(&["Migrate the data", "--requires", kind]);
            assert_eq!(space.show(&task)["requires"], kind);
            assert_eq!(space.state(&task), "open", "nothing waits before the work is done");
            for round in rounds {
                let ran = space.coder(&["close", &task, "all", "done"]).exits(12);
                assert_eq!(space.state(&task), "awaiting_input");
                let gate = space.show(&task)["gates"][0].clone();
                let told = format!("requires {kind} first: gate {}", gate["handle"].as_str().unwrap());
                assert!(ran.stdout.is_empty() && ran.stderr.contains(&told), "{}", ran.stderr);
                assert_eq!((gate["kind"].as_str(), gate["context"].as_str()), (Some(kind), Some("all done")));
                // Complete again is no way past it for the one who said so, and no attempt on anything.
                let before = space.audit().len();
                for args in [vec!["close", &task], vec!["close", &task, "done,", "really"], vec!["update", &task, "--status", "closed"]] {
                    let again = space.coder(&args).exits(12);
                    assert!(again.stderr.contains(&told), "{}", again.stderr);
                }
                assert_eq!(space.show(&task)["gates"].as_array().unwrap().len(), 1);
                assert_eq!(space.show(&task)["gates"][0]["context"], "all done");
                assert_eq!(space.audit().len(), before, "nothing is written down of it");
                space.run(Who::Agent("tester"), &["close", &task]).exits(5).refused("SAY010");
                space.coder(&["delete", &task]).exits(5).refused("SAY010");
                space.ann(&["reject", &task, round]).ok();
                assert_eq!(space.state(&task), "open");
                assert_eq!(space.show(&task)["requires"], kind);
            }
            let ran = space.coder(&["update", &task, "--status", "closed"]).exits(12);
            assert!(ran.stdout.is_empty() && ran.stderr.contains(&format!("requires {kind} first: gate g")));
            assert_eq!(space.state(&task), "awaiting_input");
            // It is not said to be open either.
            for args in [vec!["reopen", &task], vec!["update", &task, "--status", "open"]] {
                let told = space.ann(&args).ok();
                assert!(told.contains("still waits for a person") && !told.contains('✓'), "{told}");
            }
            space.ann(&["approve", &task]).ok();
            assert_eq!(space.state(&task), "closed");
            let shown = space.show(&task);
            assert_eq!(shown["verdict"], "approved");
            assert_eq!(shown["notes"].as_array().unwrap().len(), rounds.len());
            assert_eq!(shown["questions"].as_array().unwrap().len(), rounds.len() + 1);
            // Closed is closed: saying complete once more asks nobody again.
            space.coder(&["close", &task]).ok();
            assert_eq!(space.state(&task), "closed");
        }
    }
}

everywhere! {
    /// Another question, answered, does not stand for the one that is required.
    fn it_cannot_be_skipped(space: &Space) {
        let task = space.create(&["Migrate the data", "--requires", "approval"]);
        space.coder(&["update", &task, "--awaiting", "review"]).ok();
        space.ann(&["approve", &task]).ok();
        assert_eq!(space.state(&task), "open");
        space.coder(&["update", &task, "--awaiting", "input"]).ok();
        space.ann(&["respond", &task, "blue"]).ok();
        assert_eq!(space.state(&task), "open");
        space.coder(&["update", &task, "--requires", "null"]).exits(5).refused("SAY010");
        space.coder(&["update", &task, "--requires", "content"]).exits(5).refused("SAY010");
        space.coder(&["delete", &task]).exits(5).refused("SAY010");
        space.run(Who::Script, &["close", &task]).exits(12).says("requires approval first");
        space.ann(&["approve", &task]).ok();
        assert_eq!(space.state(&task), "closed");
        // A person's own close is their say-so.
        let task = space.create(&["Another", "--requires", "review"]);
        space.ann(&["close", &task]).ok();
        assert_eq!(space.state(&task), "closed");
        let task = space.create(&["Another", "--requires", "review"]);
        space.ann(&["update", &task, "--requires", "null"]).ok();
        space.coder(&["close", &task]).ok();
        assert_eq!(space.state(&task), "closed");
        for kind in ["work", "input", "escalation", "checkpoint", "nonsense"] {
            space.run(Who::Script, &["create", "x", "--requires", kind]).exits(2).refused("SAY038");
        }
    }
}

everywhere! {
    /// A person is asked to sign off what is whole.
    fn an_epic_with_open_parts_is_not_signed_off(space: &Space) {
        let epic = space.create(&["All of it", "--type", "epic", "--requires", "approval"]);
        let part = space.create(&["A part", "--parent", &epic]);
        space.coder(&["close", &epic]).exits(6).refused("SAY018");
        assert_eq!(space.gates(&epic).len(), 0);
        space.coder(&["close", &part]).ok();
        space.coder(&["close", &epic]).exits(12).says("requires approval first");
    }
}
