//! Decisions that are remembered: for the same again, for a while, until they are revoked.

use super::policy;
use crate::harness::{Who, everywhere};

const ASKS: &str =
    "rules:\n  - {name: put-off, on: transition, match: {to: [deferred, closed]}, then: ask}\n";

everywhere! {
    fn a_yes_is_remembered_for_the_same_again(space: &Space) {
        policy(space, "space", ASKS);
        let [one, other] = [space.create(&["One"]), space.create(&["Other"])];
        space.coder(&["defer", &one, "--until", "2h"]).refused("SAY051");
        let gate = space.gate(&one);
        space.ann(&["approve", &gate, "--remember", "1h"]).says("remembered").ok();
        space.ann(&["reopen", &one]).ok();
        // The same move of the same task by the same agent, and nothing else.
        space.coder(&["defer", &one, "--until", "3h"]).ok();
        space.coder(&["defer", &other, "--until", "2h"]).refused("SAY051");
        space.ann(&["reopen", &one]).ok();
        space.coder(&["close", &one]).refused("SAY051");
        space.ann(&["reject", &space.gate(&one), "no"]).ok();
        space.run(Who::Agent("tester"), &["defer", &one, "--until", "2h"]).refused("SAY051");
        space.ann(&["reject", &space.gate(&one), "no"]).ok();
        let listed = space.ann(&["policy", "remembered"]);
        listed.says(&gate).says("open -> deferred").says("by ann").ok();
        space.coder(&["policy", "forget", &gate]).refused("SAY010");
        space.ann(&["policy", "forget", &gate]).ok();
        space.ann(&["policy", "forget", &gate]).refused("SAY001");
        space.coder(&["defer", &one, "--until", "2h"]).refused("SAY051");
        // By the name of its task, too; and what cannot be is said before anything is approved.
        let task = space.create(&["Third"]);
        space.coder(&["defer", &task, "--until", "2h"]).refused("SAY051");
        space.ann(&["approve", &task, "--remember", "0s"]).refused("SAY038");
        assert_eq!(space.state(&task), "awaiting_input");
        space.ann(&["approve", &task, "--remember", "1h", "--for", "space"]).says("remembered").ok();
        space.verify();
    }
}

everywhere! {
    /// What is risky is asked each time, and a question is no decision to be remembered.
    fn what_must_not_be_remembered_is_not(space: &Space) {
        let risky = ASKS.replace("then: ask", "then: ask, ask: {risk: high}");
        policy(space, "space", &risky);
        let task = space.create(&["One"]);
        space.coder(&["close", &task]).refused("SAY051");
        space.ann(&["approve", &space.gate(&task), "--remember", "1h"]).refused("SAY038");
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.ann(&["approve", &gate, "--remember", "1h"]).refused("SAY038");
        space.verify();
    }
}
