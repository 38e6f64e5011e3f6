//! Who is asked: routing by kind, label and condition, several approvers, vetoes, launchers (B10, D14).

use super::policy;
use crate::harness::{Space, Who, everywhere};
use serde_json::Value;

const ROUTES: &str = "
groups:
  reviewers: [bob, cid]
  owners: [ann]
rules:
  - name: code
    on: ask
    match: {kind: review}
    then: ask
    ask: {of: '@reviewers'}
  - name: releases
    on: ask
    match: {label: release}
    then: ask
    ask: {of: '2 of (ann, bob, cid)', veto: dan, risk: high}
  - name: own-work
    on: ask
    match: {agent: coder, label: sensitive}
    then: ask
    ask: {not_launcher: true}
  - name: chatter
    on: ask
    when: history.hour.asked >= 3
    then: deny
    reason: It asks too much. Work on something else for a while.
";

fn with_people(space: &Space) {
    for name in ["cid", "dan"] {
        space.mint("human", name);
    }
    policy(space, "space", ROUTES);
}

fn as_of(space: &Space, name: &str, args: &[&str]) -> crate::harness::Ran {
    space.run(Who::Human(name), args)
}

everywhere! {
    /// Questions go to whom the policy says, by kind and by label, whoever opens them.
    fn questions_find_their_people(space: &Space) {
        with_people(space);
        let task = space.create(&["Look at it", "--awaiting", "review"]);
        let gate = space.gate(&task);
        assert_eq!(space.show(&gate)["approvers"], "1 of (bob, cid)");
        space.ann(&["approve", &gate]).refused("SAY013");
        as_of(space, "cid", &["approve", &gate]).ok();
        // A sign-off that a task requires is routed, too.
        let task = space.create(&["Sign it", "--requires", "review"]);
        space.coder(&["close", &task]).exits(12);
        assert_eq!(space.show(&space.gate(&task))["approvers"], "1 of (bob, cid)");
        // Nothing is said about decisions: anyone.
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        assert_eq!(space.show(&gate)["approvers"], "anyone");
        space.verify();
    }
}

everywhere! {
    /// k of n, and a no of somebody whose yes does not count.
    fn several_approve_and_one_may_say_no(space: &Space) {
        with_people(space);
        let ask = || {
            let task = space.create(&["Release", "--label", "release"]);
            space.ask("coder", &["Ship it?", "--verdict", "--task", &task])
        };
        let gate = ask();
        assert_eq!(space.show(&gate)["risk"], "high");
        space.ann(&["show", &gate]).says("a no of dan counts").says("high risk").ok();
        space.ann(&["approve", &gate]).says("still needs").ok();
        as_of(space, "dan", &["approve", &gate]).refused("SAY013");
        as_of(space, "cid", &["approve", &gate]).ok();
        assert_eq!(space.show(&gate)["verdict"], "approved");
        let gate = ask();
        space.ann(&["approve", &gate]).ok();
        as_of(space, "dan", &["reject", &gate, "not on a Friday"]).ok();
        assert_eq!(space.show(&gate)["verdict"], "rejected");
        space.coder(&["wait", &gate]).exits(8);
        space.verify();
    }
}

everywhere! {
    /// Whoever launched the agent is left out where the policy says so.
    fn the_launcher_is_left_out(space: &Space) {
        with_people(space);
        let task = space.create(&["Secret", "--label", "sensitive"]);
        let gate = space.ask("coder", &["Ship it?", "--verdict", "--task", &task]);
        let launcher = space.show(&gate)["launched_by"].as_str().unwrap().to_owned();
        // The token was made at a terminal, by whoever is logged in there.
        space.run(Who::Terminal, &["approve", &gate]).refused("SAY013").refused(&launcher);
        space.ann(&["approve", &gate]).ok();
        space.verify();
    }
}

everywhere! {
    /// What an agent asked before counts: the policy sees its history.
    fn an_agent_that_asks_too_much_is_told(space: &Space) {
        with_people(space);
        for n in 0..3 {
            space.ask("coder", &[&format!("Question {n}?")]);
        }
        space.coder(&["ask", "Another?"]).refused("SAY050").refused("It asks too much.").exits(5);
        // Another agent is not meant.
        space.ask("tester", &["May I?"]);
        let explained = space.ann(&["policy", "explain", "--ask", "input", "--agent", "coder", "--json"]).json();
        assert_eq!(explained["effect"], "deny", "{explained}");
        let explained = space.ann(&["policy", "explain", "--ask", "input", "--agent", "tester", "--json"]).json();
        assert_ne!(explained["effect"], "deny", "{explained}");
        space.verify();
    }
}

everywhere! {
    /// What was recorded is what replay reads: the same policy changes nothing, another one what it says.
    fn a_policy_is_replayed_over_what_was_asked(space: &Space) {
        with_people(space);
        let task = space.create(&["One"]);
        space.coder(&["close", &task]).ok();
        space.ask("coder", &["Ship?", "--verdict"]);
        let replay = |text: &str| -> Value {
            std::fs::write(space.path().join("new.yaml"), text).unwrap();
            space.ann(&["policy", "replay", "new.yaml", "--since", "1h", "--json"]).json()
        };
        let same = replay(ROUTES);
        assert_eq!((&same["looked"], &same["changed"]), (&2.into(), &0.into()), "{same}");
        let strict = replay(&format!("{ROUTES}
  - {{name: done, on: transition, match: {{to: closed}}, then: ask}}
"));
        assert_eq!(strict["changed"], 1, "{strict}");
        assert!(strict.to_string().contains("open -> closed"), "{strict}");
    }
}
