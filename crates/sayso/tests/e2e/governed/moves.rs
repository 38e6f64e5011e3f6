//! Tasks that agents may move only when a person has said so (O, Q).

use super::{policy, times};
use crate::harness::{Who, everywhere};

const ASKS: &str = "
rules:
  - name: done
    on: transition
    match: {to: closed}
    then: ask
    ask: {of: bob}
    reason: Work is looked at before it counts.
";

everywhere! {
    /// The agent is told that a person is asked, once; the approval moves the task, once.
    fn a_move_is_held_and_then_made(space: &Space) {
        policy(space, "space", ASKS);
        let task = space.create(&["Ship it"]);
        let held = space.coder(&["close", &task, "all green"]).refused("SAY051").exits(12);
        assert!(held.stderr.contains("when bob has approved gate"), "{}", held.stderr);
        assert_eq!(space.state(&task), "awaiting_input");
        let gate = space.gate(&task);
        let card = space.show(&gate);
        assert_eq!(card["kind"], "transition");
        assert_eq!(card["context"], "all green");
        let facts = card["facts"].to_string();
        assert!(facts.contains("open -> closed") && facts.contains("done (policy space:3)"), "{facts}");
        // Asked again it is the same question.
        space.coder(&["close", &task, "all green"]).refused("SAY051").refused(&gate);
        assert_eq!(space.gates(&task), std::slice::from_ref(&gate));
        assert_eq!(times(space, "refused"), 0, "to ask again is no attempt on anything");
        space.ann(&["approve", &gate]).refused("SAY013");
        space.coder(&["approve", &gate]).refused("SAY010");
        space.run(Who::Human("bob"), &["approve", &gate]).says("moved from open to closed").ok();
        assert_eq!(space.state(&task), "closed");
        assert_eq!(space.show(&gate)["acted"]["done"], true);
        space.coder(&["messages"]).says("moved from open to closed, approved by bob").ok();
        assert_eq!(times(space, "gate.opened"), 1);
        space.verify();
    }
}

everywhere! {
    /// A no moves nothing; asked again, it is a new gate.
    fn a_move_that_was_denied_is_asked_anew(space: &Space) {
        policy(space, "space", ASKS);
        let task = space.create(&["Ship it"]);
        space.coder(&["close", &task]).refused("SAY051");
        let first = space.gate(&task);
        space.run(Who::Human("bob"), &["reject", &first, "not yet"]).ok();
        assert_eq!(space.state(&task), "open");
        space.coder(&["close", &task]).refused("SAY051");
        let second = space.gate(&task);
        assert_ne!(first, second);
        space.run(Who::Human("bob"), &["approve", &second]).ok();
        assert_eq!(space.state(&task), "closed");
        space.verify();
    }
}

everywhere! {
    /// Scenario Q: the task moved meanwhile. The approval says so and changes nothing.
    fn a_task_that_moved_meanwhile_is_left_alone(space: &Space) {
        policy(space, "space", ASKS);
        let task = space.create(&["Ship it"]);
        space.coder(&["close", &task]).refused("SAY051");
        let gate = space.gate(&task);
        space.ann(&["update", &task, "--status", "blocked"]).ok();
        let said = space.run(Who::Human("bob"), &["approve", &gate]);
        said.says("is blocked by now, not open: nothing was moved").exits(0);
        assert_eq!(space.state(&task), "blocked");
        assert_eq!(space.show(&gate)["acted"]["done"], false);
        space.coder(&["messages"]).says("nothing was moved").ok();
        space.verify();
    }
}

everywhere! {
    /// Scenario O: an agent's policy tightens the space's, and cannot loosen it; without one, nothing
    /// is held.
    fn layers_only_tighten(space: &Space) {
        let task = space.create(&["One"]);
        space.coder(&["close", &task]).ok();
        policy(space, "tester", "rules:\n  - {name: never, on: transition, then: deny, reason: Testers test.}\n");
        policy(space, "coder", "otherwise: {transition: deny}\nrules:\n  - {name: free, on: transition, match: {to: closed}, then: allow}\n");
        let task = space.create(&["Two"]);
        space.run(Who::Agent("tester"), &["close", &task]).refused("SAY050").refused("Testers test.").exits(5);
        space.coder(&["close", &task]).ok();
        policy(space, "space", ASKS);
        let task = space.create(&["Three"]);
        space.run(Who::Agent("tester"), &["close", &task]).refused("SAY050");
        space.coder(&["close", &task]).refused("SAY051");
        // What waits for bob is closed by bob; what a person moves by themselves is their say-so.
        space.ann(&["close", &task]).refused("SAY013");
        space.run(Who::Human("bob"), &["close", &task]).ok();
        space.ann(&["close", &space.create(&["Mine"])]).ok();
        space.ann(&["policy", "set", "--remove"]).ok();
        let task = space.create(&["Four"]);
        space.coder(&["close", &task]).ok();
        assert_eq!(times(space, "refused"), 3, "what was refused is on record");
        space.verify();
    }
}

everywhere! {
    /// Who governs is a person: no agent, no script, no operator changes the policy.
    fn only_people_change_the_policy(space: &Space) {
        policy(space, "space", ASKS);
        std::fs::write(space.path().join("free.yaml"), "rules: []\n").unwrap();
        space.coder(&["policy", "set", "free.yaml"]).refused("SAY010").exits(5);
        space.coder(&["policy", "set", "--remove"]).refused("SAY010");
        space.coder(&["apply", "free.yaml"]).exits(2);
        std::fs::write(space.path().join("fleet.yaml"), "policy: |\n  rules: []\n").unwrap();
        space.coder(&["apply", "fleet.yaml"]).refused("SAY010");
        space.run(Who::Script, &["apply", "fleet.yaml"]).exits(5);
        let task = space.create(&["Ship it"]);
        space.coder(&["close", &task]).refused("SAY051");
        space.verify();
    }
}

everywhere! {
    /// Every door that moves a task comes to the same desk.
    fn every_way_to_move_is_ruled_on(space: &Space) {
        let rule = "rules:\n  - {name: stay, on: transition, then: deny, reason: Nothing moves.}\n";
        policy(space, "space", rule);
        let task = space.create(&["Stay"]);
        for args in [
            vec!["close", &task],
            vec!["close", &task, "--force"],
            vec!["defer", &task, "--until", "2h"],
            vec!["update", &task, "--status", "in_progress"],
            vec!["update", &task, "--status", "closed"],
            vec!["update", &task, "--status", "blocked"],
            vec!["delete", &task],
        ] {
            space.coder(&args).refused("SAY050");
            assert_eq!(space.state(&task), "open", "{args:?}");
        }
    }
}

everywhere! {
    /// A question of its own does not get an agent past the policy: a yes that closes the task takes what
    /// closing it takes.
    fn a_question_of_its_own_is_no_way_round(space: &Space) {
        policy(space, "space", ASKS);
        let task = space.create(&["Ship it"]);
        space.coder(&["ask", "Is blue nice?", "--kind", "approval", "--verdict", "--task", &task]).ok();
        let gate = space.gate(&task);
        assert_eq!(space.show(&gate)["approvers"], "bob");
        space.ann(&["show", &gate]).says("a yes closes the task").ok();
        space.ann(&["approve", &task]).refused("SAY013");
        let awaited = space.coder(&["create", "Sly", "--awaiting", "approval"]).ok();
        assert_eq!(space.show(&space.gate(&awaited))["approvers"], "bob");
        // A question that closes nothing is anybody's.
        let task = space.create(&["Ask"]);
        space.coder(&["ask", "Which?", "--task", &task]).ok();
        assert_eq!(space.show(&space.gate(&task))["approvers"], "anyone");
        let never = ASKS.replace("then: ask", "then: deny").replace("    ask: {of: bob}\n", "");
        policy(space, "space", &never);
        let task = space.create(&["Never"]);
        space.coder(&["ask", "Done?", "--kind", "review", "--verdict", "--task", &task]).refused("SAY050");
        space.verify();
    }
}

everywhere! {
    /// What the policy looks at is not for an agent to change, and what a person is asked about stays as
    /// they see it.
    fn an_agent_does_not_change_what_it_is_judged_by(space: &Space) {
        policy(space, "space", &ASKS.replace("{to: closed}", "{to: closed, label: prod}"));
        let task = space.create(&["Ship it", "--label", "prod"]);
        for args in [
            ["--remove-label", "prod"],
            ["--add-label", "other"],
            ["--priority", "4"],
            ["--type", "chore"],
        ] {
            space.coder(&["update", &task, args[0], args[1]]).refused("SAY050");
        }
        space.coder(&["update", &task, "--remove-label", "prod", "--status", "closed"]).refused("SAY050");
        space.coder(&["update", &task, "--title", "Ship it now"]).ok();
        space.coder(&["close", &task]).refused("SAY051");
        space.coder(&["update", &task, "--title", "Harmless"]).refused("SAY018");
        space.ann(&["update", &task, "--remove-label", "prod"]).ok();
        space.verify();
    }
}

everywhere! {
    /// What was asked under one policy is not done under one that forbids it.
    fn a_new_no_outweighs_an_old_question(space: &Space) {
        policy(space, "space", ASKS);
        let task = space.create(&["Ship it"]);
        space.coder(&["close", &task]).refused("SAY051");
        let gate = space.gate(&task);
        let never = ASKS.replace("then: ask", "then: deny").replace("    ask: {of: bob}\n", "");
        policy(space, "space", &never);
        space.run(Who::Human("bob"), &["approve", &gate]).says("does not allow it any more").ok();
        assert_eq!(space.state(&task), "open");
        assert_eq!(space.show(&gate)["acted"]["done"], false);
        space.verify();
    }
}

everywhere! {
    /// Every role but a person's is ruled on.
    fn operators_and_admins_are_programs(space: &Space) {
        let rule = "rules:\n  - {name: stay, on: transition, then: deny, reason: Nothing moves.}\n";
        policy(space, "space", rule);
        for role in ["operator", "admin", "service"] {
            space.mint(role, role);
            let task = space.create(&["Stay"]);
            space.run(Who::Holder(&space.token(role)), &["close", &task]).refused("SAY050");
        }
    }
}
