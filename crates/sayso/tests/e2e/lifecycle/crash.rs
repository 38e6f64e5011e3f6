//! Many at the same moment, and the death of whoever was at it: one agent.

use super::{ASKS, Fleet, bob, held, machine, policy, there, until};
use crate::governed::times;
use crate::harness::{Ran, Space, Who, everywhere};
use crate::worker::Project;
use std::time::Duration;

/// Lets bob say yes on a machine that has nothing to do with it, so that the deed is left to others.
fn approve_elsewhere(space: &Space, gate: &str) {
    let elsewhere = machine(space, "elsewhere");
    there(space, &elsewhere, Who::Human("bob"), &["approve", gate])
        .says("by the next sayso on here")
        .ok();
}

/// Names this machine.
fn name_this_machine(space: &Space) {
    let file = space.path().join(".sayso/config.yaml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let others: Vec<_> = settings.lines().filter(|line| !line.starts_with("host:")).collect();
    std::fs::write(&file, format!("{}\nhost: here\n", others.join("\n"))).unwrap();
}

everywhere! {
    /// Eight come at the same moment: one starts it.
    fn eight_carry_out_and_one_agent_starts(space: &Space) {
        policy(space, "space", ASKS);
        name_this_machine(space);
        let fleet = Fleet::new(space, &[("fixer", "host: here"), ("watcher", "host: here, backend: tmux")]);
        for (round, name) in ["fixer", "watcher"].into_iter().enumerate() {
            approve_elsewhere(space, &held(space, "coder", "spawn", name));
            let all: Vec<_> = (0..8).map(|_| space.start(Who::Human("ann"), &["agent", "list"])).collect();
            for child in all {
                Ran::of(&child.wait_with_output().unwrap()).ok();
            }
            assert_eq!(fleet.started(name, 1).len(), 1);
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(fleet.started(name, 1).len(), 1);
            assert_eq!(times(space, "agent.spawned"), round + 1);
            assert_eq!(fleet.state(name), "running");
        }
        space.verify();
    }
}

everywhere! {
    /// Whoever answered is killed at some moment after that: whoever looks next finishes it.
    fn the_approver_dies_and_the_next_one_does_it(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "")]);
        for (round, pause) in [0, 2, 5, 10, 20, 40].into_iter().enumerate() {
            let action = if round == 0 { "spawn" } else { "restart" };
            let gate = held(space, "coder", action, "fixer");
            let before = fleet.alive("fixer");
            let mut approver = space.start(Who::Human("bob"), &["approve", &gate]);
            until("the answer counts", || space.show(&gate)["state"] == "answered");
            std::thread::sleep(Duration::from_millis(pause));
            approver.kill().unwrap();
            approver.wait().unwrap();
            until("it is done", || {
                fleet.row("fixer")["pending"].is_null() && space.show(&gate)["acted"]["done"] == true
            });
            until("the new one runs", || {
                let now = fleet.alive("fixer");
                now.len() == 1 && now != before
            });
            assert_eq!(fleet.state("fixer"), "running");
            assert_eq!(times(space, "agent.spawned") + times(space, "agent.restarted"), round + 1);
        }
        // The one that runs has a credential that counts.
        space.run(Who::Holder(&fleet.secret("fixer")), &["messages"]).ok();
        space.verify();
    }
}

everywhere! {
    /// A worker does it on its way.
    fn a_worker_carries_out(space: &Space) {
        let project = Project::new(space, "turns: []", "");
        policy(space, "space", ASKS);
        name_this_machine(space);
        let fleet = Fleet::new(space, &[("fixer", "host: here")]);
        space.trust();
        approve_elsewhere(space, &held(space, "coder", "spawn", "fixer"));
        // What another agent has in its environment is nothing to start an agent with.
        space.run(Who::Agent("tester"), &["agent", "list"]).says("will be spawned").ok();
        assert_eq!(fleet.starts("fixer"), [0; 0]);
        project.work(&[]).ok();
        assert_eq!(fleet.started("fixer", 1).len(), 1);
        space.verify();
    }
}

everywhere! {
    /// An agent that ends by itself is seen to have ended, and can be started anew.
    fn an_agent_that_died_is_seen(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        space.ann(&["agent", "spawn", "fixer"]).ok();
        let pid = fleet.started("fixer", 1)[0];
        space.ann(&["doctor", "--quick"]).says("spawned: 1 alive");
        assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        until("it is gone", || fleet.state("fixer") == "ended");
        space.ann(&["agent", "list"]).says("and has ended").ok();
        space.ann(&["doctor", "--quick"]).says("not alive any more: fixer").says("sayso agent restart fixer");
        space.ann(&["agent", "spawn", "fixer"]).refused("SAY018").refused("sayso agent restart fixer");
        space.ann(&["agent", "restart", "fixer"]).ok();
        assert_eq!(fleet.started("fixer", 2).len(), 1);
        space.verify();
    }
}

everywhere! {
    /// An agent that has itself restarted cannot be the one who does it: it would end in the middle.
    fn an_agents_own_restart_is_left_to_others(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        space.ann(&["agent", "spawn", "fixer"]).ok();
        let first = fleet.started("fixer", 1)[0];
        let environment = std::fs::read_to_string(format!("/proc/{first}/environ")).unwrap();
        let mark = environment.split('\0').find_map(|pair| pair.strip_prefix("SAYSO_RUN=")).unwrap();
        let mut itself = space.command(Who::Holder(&fleet.secret("fixer")), &["agent", "restart", "fixer"]);
        space.finish(itself.env("SAYSO_RUN", mark)).says("will be restarted by the next sayso").ok();
        assert_eq!(fleet.alive("fixer"), [first]);
        bob(space, &["agent", "list"]).ok();
        assert!(fleet.started("fixer", 2).first().is_some_and(|pid| *pid != first));
        space.verify();
    }
}
