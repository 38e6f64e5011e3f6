//! What is in force: set by people, shown, explained, replayed, and rules suggested from answers.

use super::{fits, write};
use crate::harness::{Who, everywhere};

const ASKS: &str = "rules:
  - {name: closing, on: transition, match: {to: closed}, then: ask, reason: Look first.}
tests:
  - {name: closing asks, request: {on: transition, from: open, to: closed}, expect: ask, by: closing}
";

everywhere! {
    fn people_put_policies_in_force_and_agents_do_not(space: &Space) {
        write(space, "p.yaml", ASKS);
        write(space, "bad.yaml", "rules: 5\n");
        write(space, "rex.yaml", "rules:\n  - {name: none, on: lifecycle, then: deny}\n");
        space.ann(&["policy", "show"]).says("no policy is in force").ok();
        space.ann(&["policy", "check"]).says("0 files, no mistakes").ok();
        space.coder(&["policy", "set", "p.yaml"]).exits(5).refused("SAY010");
        space.run(Who::Script, &["policy", "set", "p.yaml"]).exits(5).refused("SAY011");
        space.ann(&["policy", "set", "bad.yaml"]).exits(2).refused("SAY047");
        space.ann(&["policy", "show"]).says("no policy is in force").ok();

        space.ann(&["policy", "set", "p.yaml", "agent:rex=rex.yaml"]).says("by ann").ok();
        let shown = space.coder(&["policy", "show", "--json"]).json();
        fits("policy", &shown);
        assert_eq!(shown["layers"][0]["layer"], "space");
        assert_eq!(shown["layers"][1]["layer"], "agent rex");
        assert_eq!(shown["layers"][0]["text"], ASKS);
        assert_eq!(space.coder(&["policy", "show", "--text"]).ok(), ASKS.trim_end());
        space.ann(&["policy", "show", "--agent", "max"]).exits(3).refused("SAY001");
        space.ann(&["policy", "check"]).says("2 files, no mistakes").ok();
        space.ann(&["policy", "test"]).says("1 test passes").ok();
        let found = space.coder(&["policy", "explain", "--spawn", "rex", "--json"]).json();
        assert_eq!((&found["effect"], &found["because"][0]["rule"]), (&"deny".into(), &"none".into()));
        assert_eq!(found["policy"], shown["digest"]);

        space.ann(&["policy", "set", "p.yaml"]).says("nothing changed").ok();
        space.ann(&["policy", "set", "--remove", "--agent", "rex"]).never_says("rex").ok();
        space.ann(&["policy", "set", "admin=p.yaml"]).refused("SAY037").exits(5);
        space.mint("admin", "root");
        let root = space.token("root");
        space.run(Who::Holder(&root), &["policy", "set", "admin=p.yaml"]).says("admin").ok();
        space.run(Who::Holder(&root), &["policy", "set", "--remove", "--admin"]).never_says("admin").ok();
        let actions: Vec<_> = space.audit().iter().map(|e| e["action"].to_string()).collect();
        assert!(actions.iter().any(|action| action.contains("policy.")), "{actions:?}");
        space.verify();
    }
}

everywhere! {
    fn files_may_name_the_groups_of_the_space(space: &Space) {
        let text = "rules:\n  - {name: r, on: tool, match: {tool: X}, then: ask, ask: {of: '@crew'}}\n";
        write(space, "policy.yaml", text);
        space.ann(&["policy", "check", "policy.yaml"]).exits(2).says("there is no group `@crew`");
        space.ann(&["validate", "policy.yaml"]).exits(2).says("there is no group `@crew`");
        write(space, "fleet.yaml", "groups:\n  crew: [ann]\n");
        space.ann(&["apply", "fleet.yaml"]).ok();
        space.ann(&["policy", "check", "policy.yaml"]).ok();
        space.ann(&["validate", "policy.yaml"]).ok();
        space.ann(&["policy", "set", "policy.yaml"]).ok();
        for file in [vec![], vec!["--file", "policy.yaml"]] {
            let args = [&["policy", "explain", "--tool", "X", "--json"], file.as_slice()].concat();
            let found = space.ann(&args).json();
            assert!(found["demands"]["approvers"].as_str().unwrap().contains("ann"), "{found}");
        }
    }
}

everywhere! {
    fn replay_and_suggest_look_at_what_was_really_asked(space: &Space) {
        write(space, "p.yaml", ASKS);
        write(space, "none.yaml", "rules: []\n");
        write(space, "strict.yaml", "rules:\n  - {name: never, on: transition, match: {to: closed}, then: deny}\n");
        space.ann(&["policy", "set", "p.yaml"]).ok();
        for n in 0..3 {
            let task = space.create(&[&format!("Task {n}")]);
            space.coder(&["close", &task]).exits(12).refused("SAY051");
            let gate = space.gate(&task);
            space.ann(&["approve", &gate]).ok();
        }
        let replay = |file: &str| {
            let replayed = space.ann(&["policy", "replay", file, "--since", "1d", "--json"]).json();
            fits("policy-replayed", &replayed);
            replayed
        };
        let same = replay("p.yaml");
        assert!(same["looked"].as_u64().unwrap() >= 3, "{same}");
        assert_eq!(same["changed"], 0);
        let open = replay("none.yaml");
        assert_eq!(open["changed"], 3, "{open}");
        space.ann(&["policy", "replay", "none.yaml"]).says("ask → allow: 3 gates would not be there").says("closing").ok();
        space.ann(&["policy", "replay", "strict.yaml"]).says("ask → deny: 3 would be refused").ok();
        space.ann(&["policy", "replay", "p.yaml", "--since", "soon"]).exits(2).refused("SAY038");
        space.coder(&["policy", "replay", "none.yaml"]).exits(5);
        let found = space.ann(&["policy", "suggest", "--least", "3", "--json"]).json();
        fits("policy-suggestions", &found);
        assert_eq!((&found[0]["approved"], &found[0]["exception_of"]), (&3.into(), &"closing".into()), "{found}");
        assert_eq!(found[0]["people"][0], "ann");
        space.ann(&["policy", "suggest", "--least", "3"]).says("for the rule closing: approved 3 times by ann").says("unless:").ok();
        space.ann(&["policy", "suggest", "--least", "4"]).says("nothing was approved often enough").ok();
    }
}
