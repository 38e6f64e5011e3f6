//! Scenario Y: an agent goes away, or the space it is in. Askers are told, evidence stays.

use super::{ASKS, Fleet, bob, held, machine, policy, there};
use crate::governed::times;
use crate::harness::{Ran, Who, everywhere};
use std::time::Duration;

const ANYONE: &str = "rules:\n  - {name: lives, on: lifecycle, then: ask}\n";

everywhere! {
    fn an_agent_with_open_gates(space: &Space) {
        policy(space, "space", ANYONE);
        let fleet = Fleet::new(space, &[("fixer", ""), ("other", "")]);
        policy(space, "fixer", "rules:\n  - {name: never, on: transition, match: {to: deleted}, then: deny}\n");
        space.ann(&["agent", "spawn", "fixer"]).ok();
        fleet.started("fixer", 1);
        let secret = fleet.secret("fixer");
        let task = space.create(&["Build it"]);
        let asked = space.run(Who::Holder(&secret), &["ask", "Which way?", "--task", &task]).ok();
        let about = held(space, "coder", "restart", "fixer");
        let others = held(space, "coder", "spawn", "other");
        let waiter = space.start(Who::Agent("coder"), &["wait", &about]);
        std::thread::sleep(Duration::from_millis(200));
        // One that runs is stopped first, on every way.
        space.ann(&["agent", "delete", "fixer"]).refused("SAY018").refused("sayso agent stop fixer").exits(6);
        fleet.set(&[("other", "")]).refused("SAY018").refused("fixer runs on");
        assert_eq!(space.show(&asked)["state"], "open");
        assert_eq!(fleet.state("fixer"), "running");
        space.ann(&["agent", "stop", "fixer"]).ok();
        space.ann(&["agent", "delete", "fixer", "--reason", "out of money"]).says("its history stays").ok();
        let told = Ran::of(&waiter.wait_with_output().unwrap()).exits(11);
        assert!(told.stderr.contains("agent fixer was deleted: out of money"), "{}", told.stderr);
        for gate in [&asked, &about] {
            let card = space.show(gate);
            assert_eq!((&card["state"], &card["withdrawn_by"]), (&"withdrawn".into(), &"ann".into()));
        }
        assert_eq!(space.state(&task), "open");
        assert_eq!(space.show(&others)["state"], "open");
        space.ann(&["agent", "list", "--json"]).never_says("fixer").ok();
        space.ann(&["agent", "spawn", "fixer"]).refused("SAY001").refused("there are other");
        space.ann(&["export"]).says("other").never_says("fixer").ok();
        assert_eq!(times(space, "agent.deleted"), 1);
        space.verify();
    }
}

everywhere! {
    /// A fleet file that does not name an agent takes it away just so, tokens included.
    fn an_agent_that_is_pruned(space: &Space) {
        policy(space, "space", ANYONE);
        let fleet = Fleet::new(space, &[("coder", ""), ("fixer", "")]);
        let asked = space.ask("coder", &["Which way?"]);
        let about = held(space, "tester", "spawn", "coder");
        fleet.set(&[("fixer", "")]).ok();
        space.coder(&["messages"]).refused("SAY028").exits(4);
        for gate in [&asked, &about] {
            assert_eq!(space.show(gate)["withdrawn_because"], "agent coder was deleted");
        }
        space.run(Who::Agent("tester"), &["wait", &about]).exits(11).says("agent coder was deleted");
        space.verify();
    }
}

everywhere! {
    /// What was approved and not done yet is not done any more, and whoever asked is told.
    fn what_was_ordered_is_taken_back(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "host: far"), ("other", "host: far")]);
        let far = machine(space, "far");
        let gates = ["fixer", "other"].map(|name| held(space, "coder", "spawn", name));
        for gate in &gates {
            bob(space, &["approve", gate]).ok();
        }
        space.ann(&["agent", "delete", "fixer"]).ok();
        assert_eq!(space.show(&gates[0])["acted"]["what"], "fixer was not spawned: agent fixer was deleted");
        space.coder(&["messages"]).says("fixer was not spawned").ok();
        let name = space.path().file_name().unwrap().to_str().unwrap();
        bob(space, &["delete", "--whole-space", name, "--reason", "over"]).ok();
        assert_eq!(space.show(&gates[1])["acted"]["done"], false);
        there(space, &far, Who::Human("ann"), &["agent", "list"]).refused("SAY020");
        assert!(!far.join("fixer.starts").exists() && !far.join("other.starts").exists());
        drop(fleet);
        space.verify();
    }
}

everywhere! {
    /// A space whose agents run is not deleted: nobody could stop them. A machine that is gone is no trap.
    fn a_space_with_running_agents(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let far = machine(space, "far");
        there(space, &far, Who::Human("ann"), &["agent", "spawn", "fixer"]).ok();
        let name = space.path().file_name().unwrap().to_str().unwrap();
        space.ann(&["delete", "--whole-space", name]).refused("SAY018").refused("fixer").exits(6);
        space.ann(&["agent", "delete", "fixer"]).refused("SAY018").refused("runs on far");
        space.coder(&["agent", "delete", "fixer", "--force"]).refused("SAY010");
        space.ann(&["agent", "delete", "fixer", "--force"]).ok();
        space.run(Who::Holder(&far.join("fixer.secret")), &["messages"]).refused("SAY028");
        space.ann(&["delete", "--whole-space", name]).ok();
        let pid = std::fs::read_to_string(far.join("fixer.starts")).unwrap();
        assert!(std::process::Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
        drop(fleet);
        space.verify();
    }
}
