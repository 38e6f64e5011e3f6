//! Agents that cannot be started: tried again, then given up, for all to see.

use super::{ASKS, Fleet, bob, held, policy, until};
use crate::governed::times;
use crate::harness::{Who, everywhere};

everywhere! {
    fn a_program_that_does_not_exist(space: &Space) {
        policy(space, "space", ASKS);
        let fleet = Fleet::new(space, &[("ghost", "program: no-such-program"), ("lost", "folder: nowhere")]);
        let gate = held(space, "coder", "spawn", "ghost");
        bob(space, &["approve", &gate]).says("is tried again").says("no-such-program is not installed").ok();
        let row = fleet.row("ghost");
        assert_eq!((&row["pending"]["action"], &row["state"]), (&"spawn".into(), &"stopped".into()), "{row}");
        // While it is tried, nothing else is done to it.
        space.coder(&["agent", "spawn", "ghost"]).refused("SAY018").refused("about to be spawned");
        until("it is given up", || fleet.row("ghost")["pending"].is_null());
        let acted = space.show(&gate)["acted"].clone();
        assert_eq!(acted["done"], false);
        space.ann(&["show", &gate]).says("ghost was not spawned, tried 3 times: no-such-program").ok();
        space.coder(&["messages"]).says("ghost was not spawned, tried 3 times").ok();
        assert_eq!((times(space, "agent.failed"), times(space, "agent.spawned")), (1, 0));
        // Its credential ended with it.
        let tokens = space.ann(&["token", "list", "--json"]).json();
        let of_ghost = tokens["items"].as_array().unwrap().iter().filter(|t| t["name"] == "ghost");
        let revoked: Vec<_> = of_ghost.map(|token| !token["revoked_at"].is_null()).collect();
        assert_eq!(revoked, [true]);
        assert_ne!(held(space, "coder", "spawn", "ghost"), gate, "asked again it is a new gate");
        space.ann(&["agent", "spawn", "lost"]).refused("SAY045").refused("nowhere").exits(2);
        space.verify();
    }
}

everywhere! {
    /// One that cannot be started anew was stopped all the same, and what is put right works.
    fn a_restart_that_comes_half_way(space: &Space) {
        let fleet = Fleet::new(space, &[("fixer", "")]);
        space.ann(&["agent", "spawn", "fixer"]).ok();
        let secret = fleet.secret("fixer");
        fleet.started("fixer", 1);
        fleet.set(&[("fixer", "program: no-such-program")]).ok();
        let restart = space.ann(&["agent", "restart", "fixer", "--wait"]);
        restart.refused("SAY045").refused("was stopped, but not started, tried 3 times").exits(2);
        assert_eq!(fleet.alive("fixer"), [0; 0]);
        assert_eq!(fleet.state("fixer"), "stopped");
        space.run(Who::Holder(&secret), &["messages"]).refused("SAY028");
        fleet.set(&[("fixer", "")]).ok();
        space.ann(&["agent", "spawn", "fixer"]).ok();
        assert_eq!(fleet.started("fixer", 2).len(), 1);
        space.verify();
    }
}
