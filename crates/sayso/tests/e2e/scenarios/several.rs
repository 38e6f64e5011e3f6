//! Several questions on one task: the last answer releases it, and the others stay answerable.

use crate::harness::everywhere;

everywhere! {
    fn the_last_answer_releases_the_task(space: &Space) {
        let task = space.create(&["Build it"]);
        let gates: Vec<_> = ["Which way?", "Which colour?", "Which size?"]
            .iter()
            .map(|question| space.ask("coder", &[question, "--task", &task]))
            .collect();
        assert_eq!(space.gates(&task), gates);
        // Out of order: each one stays answerable by itself.
        space.ann(&["respond", &gates[1], "blue"]).exits(0).says("waits for 2 more");
        assert_eq!(space.state(&task), "awaiting_input");
        space.ann(&["respond", &gates[2], "large"]).exits(0).says("waits for 1 more");
        assert_eq!(space.state(&task), "awaiting_input");
        assert_eq!(space.coder(&["wait", &gates[1]]).ok(), "blue");
        space.ann(&["respond", &task, "left"]).exits(0).says("returned to 'open'");
        assert_eq!(space.state(&task), "open");
        assert_eq!(space.coder(&["wait", &gates[0]]).ok(), "left");
        assert_eq!(space.coder(&["wait", &gates[2]]).ok(), "large");
        // All questions with their answers are kept, not just the last.
        let shown = space.show(&task);
        let answers: Vec<_> = (0..3).map(|n| &shown["questions"][n]["answer"]["text"]).collect();
        assert_eq!(answers, ["left", "blue", "large"]);
        let text = space.ann(&["show", &task]).ok();
        for word in ["Which way?", "Which colour?", "Which size?", "left", "blue", "large"] {
            assert!(text.contains(word), "no {word} in {text}");
        }
    }
}

everywhere! {
    /// Of several answers "won't do" outweighs "go on", and "go on" outweighs "done".
    fn precedence(space: &Space) {
        for (answers, state) in [
            (["approve approval", "respond input", "approve review"], "open"),
            (["approve approval", "approve review", "approve content"], "closed"),
            (["approve approval", "reject review", "approve content"], "open"),
            (["reject input", "approve approval", "approve checkpoint"], "closed"),
            (["reject escalation", "respond input", "reject approval"], "closed"),
        ] {
            let task = space.create(&["Build it"]);
            let gates: Vec<_> = answers
                .iter()
                .map(|answer| {
                    let (_, kind) = answer.split_once(' ').unwrap();
                    space.ask("coder", &["Well?", "--task", &task, "--kind", kind])
                })
                .collect();
            for (answer, gate) in answers.iter().zip(&gates) {
                let (verb, _) = answer.split_once(' ').unwrap();
                assert_eq!(space.state(&task), "awaiting_input", "{answers:?}");
                space.ann(&[verb, gate, "so it is"]).ok();
            }
            assert_eq!(space.state(&task), state, "{answers:?}");
        }
    }
}

everywhere! {
    /// A question that is taken back stands no more in the way, and decides nothing.
    fn a_withdrawn_question_leaves_the_others(space: &Space) {
        let task = space.create(&["Build it"]);
        let one = space.ask("coder", &["Which way?", "--task", &task]);
        let two = space.ask("coder", &["Which colour?", "--task", &task]);
        space.coder(&["withdraw", &one, "found it"]).ok();
        assert_eq!(space.state(&task), "awaiting_input");
        assert_eq!(space.gate(&task), two);
        space.coder(&["withdraw", &two]).ok();
        assert_eq!(space.state(&task), "open");
        assert_eq!(space.show(&task)["verdict"], serde_json::Value::Null);
    }
}
