//! An agent of a machine is started and stopped there, whoever says so from wherever.

use super::{ASKS, Fleet, held, is_alive, machine, policy, row, there, until};
use crate::harness::{Who, everywhere};

everywhere! {
    fn an_agent_runs_on_its_machine(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("fixer", "host: far")]);
        let far = machine(space, "far");
        let (ann, bob) = (Who::Human("ann"), Who::Human("bob"));
        let starts = || std::fs::read_to_string(far.join("fixer.starts")).unwrap_or_default();
        let gate = held(space, "coder", "spawn", "fixer");
        space.run(bob, &["approve", &gate]).says("will be spawned by the next sayso on far").ok();
        let waiting = fleet.row("fixer");
        assert_eq!((&waiting["state"], &waiting["pending"]["host"]), (&"stopped".into(), &"far".into()));
        space.ann(&["agent", "list"]).says("will be spawned by the next sayso on far").ok();
        assert_eq!(starts(), "");
        assert!(space.show(&gate)["acted"].is_null());
        // Somebody comes by on that machine.
        let seen = row(&there(space, &far, ann, &["agent", "list", "--json"]).json(), "fixer");
        assert_eq!((&seen["state"], &seen["running"]["host"]), (&"running".into(), &"far".into()));
        assert_eq!(space.show(&gate)["acted"]["done"], true);
        until("it has begun", || starts().lines().count() == 1);
        let pid: u32 = starts().trim().parse().unwrap();
        // From here it can be seen that it is there, not whether it lives.
        assert_eq!(fleet.state("fixer"), "elsewhere");
        assert!(fleet.row("fixer")["running"]["alive"].is_null());
        space.ann(&["agent", "logs", "fixer"]).refused("SAY018").refused("runs on far");
        // A stop goes to where it runs, also when the agent is to run elsewhere from now on.
        fleet.set(&[("fixer", "host: farther")]).ok();
        space.ann(&["agent", "restart", "fixer"]).refused("SAY018").refused("on another machine now");
        space.ann(&["agent", "stop", "fixer"]).says("will be stopped by the next sayso on far").ok();
        assert!(is_alive(pid));
        there(space, &far, ann, &["agent", "list"]).says("does not run").ok();
        assert!(!is_alive(pid));
        assert_eq!(fleet.state("fixer"), "stopped");
        space.verify();
    }
}

everywhere! {
    /// Without a machine of its own it runs where somebody comes first, and stays there.
    fn an_agent_of_any_machine_stays_where_it_was_started(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        let far = machine(space, "far");
        let ann = Who::Human("ann");
        there(space, &far, ann, &["agent", "spawn", "fixer"]).says("fixer was spawned on far").ok();
        assert_eq!(fleet.state("fixer"), "elsewhere");
        space.ann(&["agent", "restart", "fixer"]).says("by the next sayso on far").ok();
        there(space, &far, ann, &["agent", "list"]).says("runs since").ok();
        assert_eq!(fleet.row("fixer")["running"]["host"], "far");
        let waiting = space.start(ann, &["agent", "stop", "fixer", "--wait"]);
        until("the order is there", || !fleet.row("fixer")["pending"].is_null());
        there(space, &far, ann, &["agent", "list"]).ok();
        let waited = crate::harness::Ran::of(&waiting.wait_with_output().unwrap());
        waited.says("stop of fixer was carried out").ok();
        space.verify();
    }
}
