//! No agent gives itself a say-so, by whichever door.

use super::{ASKS, Fleet, bob, held, policy};
use crate::governed::times;
use crate::harness::{Who, everywhere};

everywhere! {
    fn an_agent_reaches_it_by_no_other_door(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "backend: tmux"), ("coder", "")]);
        let gate = held(space, "coder", "spawn", "fixer");
        std::fs::write(space.path().join("none.yaml"), "agents: {}\n").unwrap();
        std::fs::write(space.path().join("free.yaml"), "rules: []\n").unwrap();
        let mut tried = 0;
        for args in [
            vec!["approve", &gate],
            vec!["answer", &gate, "yes"],
            vec!["agent", "delete", "fixer"],
            vec!["agent", "delete", "fixer", "--force"],
            vec!["apply", "none.yaml", "--prune"],
            vec!["policy", "set", "free.yaml"],
            vec!["policy", "set", "--remove", "--agent", "fixer"],
            // What would be done is worded by nobody.
            vec!["ask", "May I read a file?", "--verdict", "--revise", &gate],
            vec!["token", "create", "--role", "human", "--name", "eve"],
        ] {
            space.coder(&args).exits(5);
            tried += 1;
        }
        // Neither is a restart a spawn by another name, nor is a stop.
        space.coder(&["agent", "restart", "fixer"]).refused("SAY018");
        space.coder(&["agent", "stop", "fixer"]).refused("SAY018");
        assert_eq!(fleet.state("fixer"), "stopped");
        assert_eq!(space.show(&gate)["question"], "May fixer be spawned?");
        bob(space, &["approve", &gate]).ok();
        fleet.started("fixer", 1);
        // No agent types to another, or looks over its shoulder.
        for args in [
            vec!["agent", "nudge", "fixer", "run: rm -rf /"],
            vec!["agent", "attach", "fixer"],
            vec!["agent", "logs", "fixer"],
            vec!["agent", "logs", "fixer", "--screen"],
        ] {
            space.coder(&args).exits(5);
            tried += 1;
        }
        for args in [vec!["agent", "stop", "fixer"], vec!["agent", "restart", "fixer"]] {
            space.run(Who::With(&[("CLAUDECODE", "1")]), &args).refused("SAY051").exits(12);
            tried += 1;
        }
        assert!(times(space, "refused") >= 12, "what was refused is on record");
        assert_eq!((tried, fleet.alive("fixer").len()), (15, 1));
        space.verify();
    }
}

everywhere! {
    /// Who only looks does not act, whatever the policy says.
    fn an_auditor_spawns_nothing(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        space.mint("auditor", "una");
        space.run(Who::Agent("una"), &["agent", "spawn", "fixer"]).refused("SAY037").exits(5);
        space.run(Who::Agent("una"), &["agent", "list"]).ok();
        assert_eq!(fleet.state("fixer"), "stopped");
        space.verify();
    }
}
