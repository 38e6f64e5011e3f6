//! The strictest of what is said for the one who asks, for the one it is about, and for the space.

use super::{Fleet, bob, policy};
use crate::harness::on_both;

on_both! {
    fn the_strictest_rule_counts(space: &Space) {
        let _fleet = Fleet::new(space, &[("coder", ""), ("fixer", ""), ("other", "")]);
        let mut checked = 0;
        for (of_space, of_requester, of_target, expected) in [
            ("allow", "ask", "allow", "SAY051"),
            ("allow", "allow", "ask", "SAY051"),
            ("ask", "allow", "allow", "SAY051"),
            ("ask", "deny", "allow", "SAY050"),
            ("ask", "ask", "deny", "SAY050"),
            ("deny", "allow", "allow", "SAY050"),
            ("allow", "allow", "allow", ""),
        ] {
            for (name, effect) in [("space", of_space), ("coder", of_requester), ("fixer", of_target)] {
                let text = "otherwise: {lifecycle: ask}\nrules:\n  - {name: r, on: lifecycle, then: EFFECT}\n";
                policy(space, name, &text.replace("EFFECT", effect));
            }
            let came = space.coder(&["agent", "spawn", "fixer"]);
            checked += 1;
            if expected.is_empty() {
                came.says("fixer was spawned").ok();
                continue;
            }
            came.refused(expected);
            assert_eq!(space.ann(&["agent", "list", "--json"]).json()[1]["state"], "stopped");
            for gate in bob(space, &["inbox", "--json"]).json()["items"].as_array().unwrap() {
                bob(space, &["reject", gate["handle"].as_str().unwrap(), "no"]).ok();
            }
        }
        assert_eq!(checked, 7);
        // Rules are about actions and targets, too.
        policy(space, "space", "rules:\n  - {name: no-stops, on: lifecycle, match: {action: stop, target: fixer}, then: deny, reason: It is needed.}\n");
        space.coder(&["agent", "stop", "fixer"]).refused("SAY050").refused("It is needed.").exits(5);
        space.coder(&["agent", "restart", "fixer"]).ok();
        space.coder(&["agent", "spawn", "other"]).ok();
        space.coder(&["agent", "stop", "other"]).ok();
        space.verify();
    }
}
