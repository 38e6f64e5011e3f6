//! Options that mean no, and answers that are no yes: on the command line, in JSON and on the tasks behind.

use crate::harness::{Who, everywhere};

everywhere! {
    fn a_no_among_options_is_a_no(space: &Space) {
        let ask = ["Deploy?", "--option", "yes", "--option", "no"];
        let gate = space.ask("coder", &ask);
        space.ann(&["choose", &gate, "no"]).ok();
        let heard = space.coder(&["wait", &gate]).exits(8);
        assert_eq!(heard.stdout.trim(), "no");
        assert!(heard.stderr.contains("rejected by ann"), "{}", heard.stderr);
        let shown = space.show(&gate);
        assert_eq!((&shown["verdict"], &shown["answer"]["verdict"]), (&"rejected".into(), &"rejected".into()));
        assert_eq!(shown["answer"]["picked"][0], "no");
        assert_eq!(shown["options"][1]["declines"], true);
        assert_eq!(shown["options"][0]["declines"], false);
        // The same answer again is the same answer.
        space.ann(&["choose", &gate, "no"]).ok();
        space.ann(&["choose", &gate, "yes"]).exits(6).refused("SAY004");

        let gate = space.ask("coder", &["Deploy now?", "--option", "yes", "--option", "no"]);
        space.ann(&["choose", &gate, "yes"]).ok();
        let heard = space.coder(&["wait", &gate]).exits(0);
        assert!(heard.stderr.contains("answered by ann"), "{}", heard.stderr);
        space.verify();
    }
}

everywhere! {
    fn the_asker_says_which_option_means_no(space: &Space) {
        let options = ["-o", "staging", "-o", "none=not today", "--declines", "none"];
        let ask = [&["Where?"], &options[..]].concat();
        let gate = space.ask("coder", &ask);
        space.ann(&["show", &gate]).exits(0).says("2. none (rejects)");
        space.ann(&["choose", &gate, "2"]).ok();
        assert_eq!(space.coder(&["wait", &gate]).exits(8).stdout.trim(), "none");
        let gate = space.ask("coder", &[&ask[..], &["--context", "again"]].concat());
        space.ann(&["respond", &gate, "staging"]).ok();
        space.coder(&["wait", &gate]).exits(0);

        let several = ["Which?", "-o", "a", "-o", "b", "-o", "none", "--declines", "none", "--multi"];
        let gate = space.ask("coder", &several);
        space.ann(&["choose", &gate, "a", "none"]).exits(2).refused("SAY006");
        space.ann(&["choose", &gate, "a", "b"]).ok();
        space.coder(&["wait", &gate]).exits(0);
        space.coder(&["ask", "Which?", "-o", "a", "--declines", "c"]).exits(2).refused("SAY008");
        space.coder(&["ask", "Which?", "-o", "no", "--declines", "no"]).exits(2).refused("SAY038");
        // What reads as a no is said to be one, or is worded otherwise.
        for option in ["cancel", "no", "Stop it"] {
            space.coder(&["ask", "Deploy?", "-o", "deploy", "-o", option]).exits(2).refused("SAY038").says("--declines");
        }
        let gate = space.ask("coder", &["Deploy?", "-o", "deploy", "-o", "cancel", "--declines", "cancel"]);
        space.ann(&["choose", &gate, "cancel"]).ok();
        space.coder(&["wait", &gate]).exits(8);
        // Nor does a no in one's own words pass for an answer.
        let gate = space.ask("coder", &["Deploy it?", "-o", "yes", "-o", "no", "--other"]);
        for answer in [&["respond", &gate, "no, not today"][..], &["choose", &gate, "--other", "No"]] {
            space.ann(answer).exits(2).refused("SAY006").says("pick the no");
        }
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["respond", &gate, "tomorrow"]).ok();
        space.coder(&["wait", &gate]).exits(0);
    }
}

everywhere! {
    fn an_answer_is_no_approval(space: &Space) {
        let schema = r#"{"type":"object","properties":{"port":{"type":"integer"}}}"#;
        let cases: [(&[&str], &[&str]); 4] = [
            (&["Which port?"], &["respond", "8081"]),
            (&["Which colour?", "-o", "red", "-o", "blue"], &["choose", "blue"]),
            (&["Which name?", "-o", "red", "--other"], &["choose", "--other", "green"]),
            (&["Which?", "--schema", schema], &["answer", "--form", r#"{"port":1}"#]),
        ];
        for (ask, answer) in cases {
            let gate = space.ask("coder", ask);
            let answer = [&answer[..1], &[gate.as_str()], &answer[1..]].concat();
            space.ann(&answer).exits(0).never_says("approved");
            assert_eq!(space.show(&gate)["verdict"], "answered", "{ask:?}");
            assert_eq!(space.show(&gate)["answer"]["verdict"], "answered", "{ask:?}");
            let heard = space.coder(&["wait", &gate]).exits(0).never_says("approved");
            assert!(heard.stderr.contains("answered by ann"), "{}", heard.stderr);
            space.ann(&["show", &gate]).exits(0).never_says("approved");
        }
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.ann(&["approve", &gate]).ok();
        assert_eq!(space.show(&gate)["verdict"], "approved");
        space.coder(&["wait", &gate]).exits(0).says("approved by ann");
        let metrics = space.ann(&["metrics", "--json"]);
        if metrics.code == 0 {
            let metrics = metrics.json();
            assert_eq!((&metrics["answered"], &metrics["approval_rate"]), (&5.into(), &1.0.into()));
        }
        space.verify();
    }
}

everywhere! {
    fn what_a_picked_no_does_to_a_task(space: &Space) {
        // The agent asked which, and goes on with the answer; its task is not given up.
        let task = space.ann(&["create", "Tidy"]).ok();
        let gate = space.ask("coder", &["The tests, too?", "-o", "yes", "-o", "no", "--task", &task]);
        space.ann(&["choose", &gate, "no"]).ok();
        assert_eq!(space.show(&task)["status"], "open");
        space.coder(&["wait", &gate]).exits(8);
        // A sign-off is a bare yes.
        let sign_off = ["Is it done?", "-o", "ship", "-o", "hold", "--task", &task, "--kind", "approval"];
        let gate = space.ask("coder", &sign_off);
        space.ann(&["choose", &gate, "hold"]).ok();
        assert_eq!(space.show(&task)["status"], "open");
        assert_eq!(space.show(&task)["verdict"], "answered");
        let gate = space.ask("coder", &["Which name?", "-o", "a", "-o", "b", "--task", &task]);
        space.ann(&["reject", &gate, "no more of this"]).ok();
        assert_eq!(space.show(&task)["status"], "closed");
        space.verify();
    }
}

everywhere! {
    fn two_have_to_agree_and_one_no_is_enough(space: &Space) {
        let to = ["--to", "ann", "--to", "bob", "--quorum", "2"];
        let gate = space.ask("coder", &[&["Deploy?", "-o", "yes", "-o", "no"], &to[..]].concat());
        space.ann(&["choose", &gate, "yes"]).ok();
        let votes = space.show(&gate)["votes"].clone();
        assert_eq!(votes[0]["verdict"], "answered");
        space.run(Who::Human("bob"), &["choose", &gate, "no"]).ok();
        assert_eq!(space.show(&gate)["verdict"], "rejected");
        space.coder(&["wait", &gate]).exits(8);
    }
}
