//! Scenario P: spawn, restart and stop wait for a person, and are then done exactly once.

use super::{ASKS, Fleet, bob, held, is_alive, policy, until};
use crate::governed::times;
use crate::harness::{Ran, Who, everywhere, on_both};

everywhere! {
    fn spawn_restart_and_stop_are_held_and_done_once(space: &Space) {
        policy(space, "space", ASKS);
        for (round, backend) in ["process", "tmux"].into_iter().enumerate() {
            let name = format!("fixer{round}");
            let agents: Vec<_> = (0..=round).map(|n| (format!("fixer{n}"), format!("backend: {}", ["process", "tmux"][n]))).collect();
            let agents: Vec<_> = agents.iter().map(|(n, b)| (n.as_str(), b.as_str())).collect();
            let fleet = Fleet::new(space, &agents);
            let mut last = None;
            for (action, done, alive) in [("spawn", "spawned", 1), ("restart", "restarted", 1), ("stop", "stopped", 0)] {
                let gate = held(space, "coder", action, &name);
                let card = space.show(&gate);
                assert_eq!(card["kind"], "lifecycle");
                let facts = card["facts"].to_string();
                for shown in [&name, action, "exec sleep 600", backend, "lives (policy space:3)"] {
                    assert!(facts.contains(shown), "{shown}: {facts}");
                }
                // Asked again it is the same question, and nobody else's yes counts.
                assert_eq!(held(space, "coder", action, &name), gate);
                space.ann(&["approve", &gate]).refused("SAY013");
                space.coder(&["approve", &gate]).refused("SAY010");
                assert_eq!(fleet.alive(&name).len(), usize::from(action != "spawn"));
                bob(space, &["approve", &gate]).says(&format!("{name} was {done} on")).ok();
                // The same yes again is a success without effect.
                bob(space, &["approve", &gate]).ok();
                let starts = if action == "spawn" { 1 } else { 2 };
                assert_eq!(fleet.started(&name, starts).len(), alive, "{action}");
                assert_ne!(last, fleet.alive(&name).first().copied(), "another one");
                last = fleet.alive(&name).first().copied();
                assert_eq!(space.show(&gate)["acted"]["done"], true);
                space.coder(&["messages"]).says(&format!("Gate {gate}: {name} was {done} on")).ok();
                assert_eq!(times(space, &format!("agent.{done}")), round + 1);
                assert_eq!(fleet.state(&name), if alive == 1 { "running" } else { "stopped" });
            }
        }
        assert_eq!(times(space, "gate.opened"), 6);
        space.verify();
    }
}

everywhere! {
    /// A no does nothing; asked again, it is a new gate.
    fn denied_and_asked_again_is_a_new_gate(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let first = held(space, "coder", "spawn", "fixer");
        bob(space, &["reject", &first, "too many already"]).ok();
        assert_eq!(fleet.state("fixer"), "stopped");
        let second = held(space, "coder", "spawn", "fixer");
        assert_ne!(first, second);
        bob(space, &["approve", &second]).says("fixer was spawned").ok();
        assert_eq!(fleet.started("fixer", 1).len(), 1);
        space.ann(&["agent", "stop", "fixer"]).ok();
        space.verify();
    }
}

everywhere! {
    /// The asker may wait: for the answer, and for the deed.
    fn a_waiting_asker_hears_what_came_of_it(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        for (answer, code, says) in [("reject", 8, "no money"), ("approve", 0, "fixer was spawned on")] {
            let waiter = space.start(Who::Agent("coder"), &["agent", "spawn", "fixer", "--wait", "--reason", "tests fail"]);
            let mut gate = String::new();
            until("the question is there", || {
                let inbox = bob(space, &["inbox", "--json"]).json();
                gate = inbox["items"][0]["handle"].as_str().unwrap_or_default().to_owned();
                !gate.is_empty()
            });
            assert_eq!(space.show(&gate)["context"], "tests fail");
            bob(space, &[answer, &gate, "no money"]).ok();
            Ran::of(&waiter.wait_with_output().unwrap()).says(says).exits(code);
            assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        }
        assert_eq!(fleet.started("fixer", 1).len(), 1);
        space.coder(&["agent", "stop", "fixer", "--wait", "--timeout", "1s"]).refused("SAY014").exits(7);
        space.verify();
    }
}

on_both! {
    /// People at their own keyboard are their own say-so; without a policy nothing is held.
    fn people_and_spaces_without_rules_are_not_held(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        space.coder(&["agent", "spawn", "fixer"]).says("fixer was spawned").ok();
        let first = fleet.started("fixer", 1)[0];
        policy(space, "space", ASKS);
        space.run(Who::Script, &["agent", "stop", "fixer"]).refused("SAY051").exits(12);
        let came = space.ann(&["agent", "restart", "fixer", "--json"]).json();
        assert_eq!((&came["done"], &came["action"]), (&true.into(), &"restart".into()));
        assert!(!is_alive(first) && fleet.started("fixer", 2).len() == 1);
        space.run(Who::Terminal, &["agent", "stop", "fixer"]).says("fixer was stopped").ok();
        assert_eq!(fleet.alive("fixer"), [0; 0]);
        space.ann(&["agent", "stop", "fixer"]).refused("SAY018").refused("does not run").exits(6);
        space.ann(&["agent", "restart", "fixer"]).refused("SAY018");
        space.ann(&["agent", "spawn", "nobody"]).refused("SAY001").refused("there are fixer").exits(3);
        space.verify();
    }
}

everywhere! {
    /// What a person said yes to is what is started, or nothing is.
    fn what_changed_since_it_was_asked_is_left_alone(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let gate = held(space, "coder", "spawn", "fixer");
        fleet.set(&[("fixer", "program: sleep, args: ['600']")]).ok();
        bob(space, &["approve", &gate]).says("set up otherwise").exits(0);
        assert_eq!(space.show(&gate)["acted"]["done"], false);
        space.coder(&["messages"]).says("fixer was not spawned").ok();
        assert_eq!(fleet.state("fixer"), "stopped");
        // Two ask for the same; the second yes comes to something that is there already.
        fleet.set(&[("fixer", "")]).ok();
        let gates = ["coder", "tester"].map(|asker| held(space, asker, "spawn", "fixer"));
        assert_ne!(gates[0], gates[1]);
        bob(space, &["approve", &gates[0]]).says("fixer was spawned").ok();
        bob(space, &["approve", &gates[1]]).says("fixer was spawned before").exits(0);
        assert_eq!(fleet.started("fixer", 1).len(), 1);
        space.verify();
    }
}

everywhere! {
    /// A spawned agent is known by a credential of its own, which ends with it.
    fn a_credential_lives_as_long_as_its_agent(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        bob(space, &["approve", &held(space, "coder", "spawn", "fixer")]).ok();
        fleet.started("fixer", 1);
        let secret = fleet.secret("fixer");
        let first = space.path().join("first.secret");
        std::fs::copy(&secret, &first).unwrap();
        let asked = space.run(Who::Holder(&first), &["ask", "Which way?"]).ok();
        let card = space.show(&asked);
        assert_eq!((&card["asked_by"], &card["asked_by_role"]), (&"fixer".into(), &"agent".into()));
        space.run(Who::Holder(&first), &["approve", &asked]).refused("SAY010");
        bob(space, &["approve", &held(space, "coder", "restart", "fixer")]).ok();
        fleet.started("fixer", 2);
        space.run(Who::Holder(&first), &["messages"]).refused("SAY028").exits(4);
        // The one that was started anew is still the one who asked.
        space.ann(&["respond", &asked, "left"]).ok();
        assert_eq!(space.run(Who::Holder(&secret), &["wait", &asked]).ok(), "left");
        bob(space, &["approve", &held(space, "coder", "stop", "fixer")]).ok();
        space.run(Who::Holder(&secret), &["messages"]).refused("SAY028");
        assert!(std::fs::read_dir(space.path().join(".sayso/agents")).unwrap().next().is_none(), "nothing is left");
        space.verify();
    }
}

everywhere! {
    /// What was asked under one policy is not done under one that forbids it.
    fn a_new_no_outweighs_an_old_question(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let gate = held(space, "coder", "spawn", "fixer");
        policy(space, "space", "rules:\n  - {name: none, on: lifecycle, then: deny, reason: No more.}\n");
        bob(space, &["approve", &gate]).says("does not allow it any more").ok();
        assert_eq!(space.show(&gate)["acted"]["done"], false);
        assert_eq!(fleet.state("fixer"), "stopped");
        assert!(fleet.alive("fixer").is_empty());
        space.coder(&["messages"]).says("fixer was not spawned").ok();
        space.verify();
    }
}
