//! An answer that its asker has not heard keeps its task where it is, whatever agents want.

use crate::harness::{Who, everywhere};

everywhere! {
    fn no_agent_moves_a_task_away_under_an_answer(space: &Space) {
        let task = space.create(&["Paint the door"]);
        let gate = space.ask("coder", &["Which colour?", "--task", &task]);
        space.ann(&["respond", &gate, "blue"]).ok();
        let moves = |task: &str| -> Vec<Vec<String>> {
            [
                &["close", task, "done"][..],
                &["delete", task],
                &["update", task, "--status", "failed", "--reason", "no"],
                &["update", task, "--status", "blocked", "--reason", "no"],
                &["update", task, "--status", "deferred"],
            ]
            .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
            .to_vec()
        };
        let mut checked = 0;
        for words in moves(&task) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            for agent in ["tester", "coder"] {
                let ran = space.run(Who::Agent(agent), &words).exits(6).refused("SAY061");
                let hears = ran.said().contains(&format!("sayso wait {gate}"));
                assert_eq!(hears, agent == "coder", "{}", ran.said());
                checked += 1;
            }
        }
        assert_eq!((checked, space.state(&task).as_str()), (10, "open"));
        // Who has heard it may go on.
        assert_eq!(space.coder(&["wait", &gate]).ok(), "blue");
        space.run(Who::Agent("tester"), &["close", &task, "it is blue"]).ok();

        // A person may do it all the same.
        let task = space.create(&["Paint the wall"]);
        let gate = space.ask("coder", &["Which colour for it?", "--task", &task]);
        space.ann(&["respond", &gate, "red"]).ok();
        space.ann(&["close", &task, "no wall"]).ok();
        // Who asked without a worker hears it whenever it asks again, so nothing is given up.
        assert_eq!(space.show(&gate)["delivery"]["state"], "pending");
        assert_eq!(space.coder(&["wait", &gate]).ok(), "red");
        space.verify();
    }
}
