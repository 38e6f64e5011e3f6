//! What the policy says of what comes through the door: moves, agents, and calls a client asks about.

use super::client::Client;
use crate::governed::policy;
use crate::harness::everywhere;
use crate::lifecycle::Fleet;
use serde_json::{Value, json};

const POLICY: &str = "
otherwise: {tool: ask}
rules:
  - {name: done, on: transition, match: {to: closed}, then: ask, reason: Somebody looks first.}
  - {name: lives, on: lifecycle, then: ask, reason: Agents cost money.}
  - {name: looks, on: tool, match: {command: git status}, then: allow}
  - {name: never, on: tool, match: {command: rm -rf *}, then: deny, reason: Nothing is removed like this.}
";

everywhere! {
    /// A move that is held has not happened; with the yes it has, by itself, and the agent is told.
    fn moves_and_agents_are_held(space: &Space) {
        policy(space, "space", POLICY);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let task = space.create(&["Make it"]);
        let mut client = Client::of(space, "coder", "0s");
        client.call("claim_task", &json!({"task": task}));
        let code = client.refused("move_task", &json!({"task": task, "to": "closed", "reason": "done"}));
        assert_eq!(code, "SAY051", "held");
        assert_eq!(space.state(&task), "awaiting_input");
        space.ann(&["approve", &space.gate(&task)]).ok();
        assert_eq!(space.state(&task), "closed");
        let told = client.call("check_messages", &json!({}));
        assert!(told["messages"].to_string().contains("moved from in_progress to closed"), "{told}");
        let held = client.call("spawn_agent", &json!({"agent": "fixer", "reason": "to mend it"}));
        assert_eq!((&held["state"], fleet.alive("fixer").len()), (&json!("open"), 0));
        space.ann(&["approve", held["gate"].as_str().unwrap()]).ok();
        assert_eq!(fleet.started("fixer", 1).len(), 1);
        space.verify();
    }
}

fn prompt(client: &mut Client, command: &str) -> Value {
    client.call("permission_prompt", &json!({
        "tool_name": "Bash", "input": {"command": command, "description": "Just a look"}, "tool_use_id": "toolu_1"
    }))
}

everywhere! {
    /// A client asks in place of its user: what a rule allows runs, what one denies does not, and all else
    /// is a person's to say. A yes is for one call.
    fn a_client_asks_in_place_of_its_user(space: &Space) {
        let mut client = Client::of(space, "coder", "0s");
        assert_eq!(prompt(&mut client, "git status")["behavior"], "deny", "no policy at all is no yes");
        let first = space.ann(&["inbox", "--json"]).json()["items"][0]["handle"].as_str().unwrap().to_owned();
        space.ann(&["reject", &first, "not yet"]).ok();
        policy(space, "space", POLICY);
        assert_eq!(prompt(&mut client, "git status")["behavior"], "allow");
        let denied = prompt(&mut client, "cd x && rm -rf build");
        assert_eq!(denied["behavior"], "deny");
        assert!(denied["message"].as_str().unwrap().contains("Nothing is removed like this."), "{denied}");
        let held = prompt(&mut client, "make deploy");
        assert_eq!(held["behavior"], "deny", "no rule speaks of it: that is no yes");
        let open = space.ann(&["inbox", "--json"]).json();
        let gate = open["items"][0]["handle"].as_str().unwrap().to_owned();
        assert!(held["message"].as_str().unwrap().contains(&gate));
        assert!(open["items"][0]["facts"].to_string().contains("make deploy"));
        assert!(!open["items"][0]["facts"].to_string().contains("Just a look"), "never the model's own words");
        prompt(&mut client, "make deploy");
        assert_eq!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().len(), 1);
        space.ann(&["approve", &gate]).ok();
        let granted = prompt(&mut client, "make deploy");
        assert_eq!((&granted["behavior"], &granted["updatedInput"]["command"]), (&json!("allow"), &json!("make deploy")));
        assert_eq!(prompt(&mut client, "make deploy")["behavior"], "deny", "once");
        space.verify();
    }
}
