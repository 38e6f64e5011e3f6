//! Sign-offs that were demanded, and what waits for a task that a person gave up.

use crate::harness::{Who, everywhere};

everywhere! {
    fn a_sign_off_that_is_taken_back_is_demanded_still(space: &Space) {
        let task = space.create(&["Tidy up"]);
        space.coder(&["update", &task, "--awaiting", "approval"]).ok();
        let gate = space.gate(&task);
        space.coder(&["close", &task, "done"]).exits_not(0);
        space.coder(&["withdraw", &gate, "never mind"]).ok();
        assert_eq!(space.show(&task)["requires"], "approval");
        space.coder(&["close", &task, "done"]).exits(12);
        assert_eq!(space.state(&task), "awaiting_input");
        space.coder(&["update", &task, "--requires", "null"]).exits_not(0);
        space.coder(&["withdraw", &space.gate(&task), "never mind"]).ok();
        space.coder(&["delete", &task]).exits_not(0);
        space.coder(&["close", &task, "done"]).exits(12);
        space.ann(&["approve", &task]).ok();
        assert_eq!(space.state(&task), "closed");
        // One that runs out is no sign-off, either.
        let task = space.create(&["Tidy up again"]);
        let ask = ["Is it done?", "--kind", "review", "--task", &task, "--deadline", "1s"];
        let gate = space.ask("coder", &ask);
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        space.coder(&["wait", &gate]).exits(11);
        space.coder(&["close", &task, "done"]).exits(12);
        // What a person takes back is their say.
        let task = space.create(&["Tidy up a third time"]);
        space.coder(&["update", &task, "--awaiting", "approval"]).ok();
        space.ann(&["withdraw", &space.gate(&task), "no need"]).ok();
        space.coder(&["close", &task, "done"]).ok();
        space.verify();
    }
}

everywhere! {
    fn what_waits_for_a_task_that_was_given_up_is_stuck(space: &Space) {
        let first = space.create(&["Choose a database"]);
        let next = space.create(&["Move the data", "--blocked-by", &first]);
        let last = space.create(&["Tell everybody", "--blocked-by", &next]);
        let gate = space.ask("coder", &["Which one?", "--task", &first]);
        space.ann(&["reject", &gate, "none of them"]).ok();
        assert_eq!(space.state(&first), "closed");
        assert_eq!(space.show(&next)["status"], "blocked");
        let why = space.show(&next)["closed_because"].to_string();
        assert!(why.contains(&first) && why.contains("given up"), "{why}");
        let ready = space.run(Who::Human("ann"), &["ready", "--json"]).json();
        assert_eq!(ready["items"].as_array().unwrap().len(), 0, "{ready}");
        // A person says how it goes on.
        space.ann(&["reopen", &next]).ok();
        assert_eq!(space.state(&next), "open");
        assert_eq!(space.state(&last), "blocked");
        // What is signed off frees what waits for it.
        let first = space.create(&["Choose a name"]);
        let next = space.create(&["Print it", "--blocked-by", &first]);
        space.coder(&["update", &first, "--awaiting", "approval"]).ok();
        space.ann(&["approve", &first]).ok();
        assert_eq!(space.state(&next), "open");
        space.verify();
    }
}
