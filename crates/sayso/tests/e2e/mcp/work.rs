//! Tasks and messages through the door.

use super::client::Client;
use crate::harness::everywhere;
use serde_json::json;

everywhere! {
    /// From making a task to closing it.
    fn a_task_from_end_to_end(space: &Space) {
        let mut client = Client::of(space, "coder", "0s");
        assert_eq!(client.call("next_task", &json!({}))["task"], json!(null));
        let made = client.call("create_task", &json!({
            "title": "Make it", "description": "All of it", "priority": 1, "labels": ["door"]
        }));
        let task = made["task"]["handle"].as_str().unwrap().to_owned();
        let later = client.call("create_task", &json!({"title": "Then that", "blocked_by": [task]}));
        assert_eq!(client.call("next_task", &json!({}))["task"]["handle"], task.as_str());
        assert_eq!(space.state(&task), "open", "looking claims nothing");
        let claimed = client.call("claim_task", &json!({}));
        assert_eq!((&claimed["task"]["handle"], &claimed["task"]["status"]), (&json!(task), &json!("in_progress")));
        assert_eq!(client.refused("claim_task", &json!({})), "SAY001", "the other one is blocked");
        client.call("update_task", &json!({"task": task, "title": "Make it all"}));
        client.call("note", &json!({"task": task, "text": "Half done."}));
        let moved = client.call("move_task", &json!({"task": task, "to": "closed", "reason": "done"}));
        assert_eq!(moved["task"]["status"], "closed");
        let shown = space.show(&task);
        assert_eq!((&shown["title"], &shown["closed_by"]), (&json!("Make it all"), &json!("coder")));
        assert_eq!(client.call("claim_task", &json!({}))["task"]["handle"], later["task"]["handle"]);
        space.verify();
    }
}

everywhere! {
    /// Every agent that asks for work at once gets another task.
    fn nobody_gets_the_same_task(space: &Space) {
        for n in 0..8 {
            space.create(&[&format!("Task {n}")]);
        }
        let claimed: Vec<_> = std::thread::scope(|scope| {
            let agents: Vec<_> = ["coder", "tester"].map(|agent| {
                scope.spawn(move || {
                    let mut client = Client::of(space, agent, "0s");
                    [0; 4].map(|_| client.call("claim_task", &json!({}))["task"]["handle"].to_string())
                })
            }).into();
            agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
        });
        let different: std::collections::BTreeSet<_> = claimed.iter().collect();
        assert_eq!(different.len(), 8, "{claimed:?}");
        // What somebody is at work on is theirs; claiming it again is a success for them alone.
        let mine = space.create(&["One more"]);
        let (mut coder, mut tester) = (Client::of(space, "coder", "0s"), Client::of(space, "tester", "0s"));
        for _ in 0..2 {
            coder.call("claim_task", &json!({"task": mine}));
        }
        assert_eq!(tester.refused("claim_task", &json!({"task": mine})), "SAY018");
        assert_eq!(tester.refused("move_task", &json!({"task": mine, "to": "in_progress"})), "SAY018");
        space.verify();
    }
}

everywhere! {
    /// A message is there until it is acknowledged, for nobody but its agent.
    fn messages_stay_until_acknowledged(space: &Space) {
        space.ann(&["tell", "coder", "Use the new port."]).ok();
        let mut client = Client::of(space, "coder", "0s");
        for _ in 0..2 {
            let told = client.call("check_messages", &json!({}));
            assert_eq!((&told["messages"][0]["text"], &told["messages"][0]["from"]), (&json!("Use the new port."), &json!("ann")));
        }
        let message = client.call("check_messages", &json!({}))["messages"][0]["message"].clone();
        let mut tester = Client::of(space, "tester", "0s");
        assert_eq!(tester.call("check_messages", &json!({}))["messages"], json!([]));
        assert_ne!(tester.refused("ack_message", &json!({"message": message})), "");
        client.call("ack_message", &json!({"message": message}));
        assert_eq!(client.call("check_messages", &json!({}))["messages"], json!([]));
        space.verify();
    }
}
