//! Deadlines, reminders, levels, and what silence means (I, J, K). The times are short, the clock real.

use super::{actions, policy, times};
use crate::harness::{Space, Who, everywhere};
use std::time::{Duration, Instant};

/// Looks as ann would, until the gate is in this state.
fn until_state(space: &Space, gate: &str, state: &str) -> Duration {
    let began = Instant::now();
    loop {
        if space.show(gate)["state"] == state {
            return began.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "gate {gate} is not {state}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

everywhere! {
    /// A question whose time is over is a no, whoever looks next; the asker hears it with its own code.
    fn a_deadline_ends_it(space: &Space) {
        let began = Instant::now();
        let waits = space.coder(&["ask", "Ship?", "--verdict", "--deadline", "1s", "--wait"]);
        waits.says("expired without an answer, which is a no").exits(11);
        assert!(began.elapsed() >= Duration::from_secs(1), "too early");
        assert_eq!(times(space, "gate.expired"), 1);
        let gate = space.ask("coder", &["Ship?", "--verdict", "--deadline", "1s"]);
        std::thread::sleep(Duration::from_millis(1_100));
        // Nobody has noted it yet; it is too late all the same.
        space.ann(&["approve", &gate]).refused("SAY003").refused("expired");
        let card = space.show(&gate);
        assert_eq!((&card["state"], &card["verdict"]), (&"expired".into(), &"rejected".into()));
        assert_eq!(times(space, "gate.expired"), 2);
        space.verify();
    }
}

everywhere! {
    /// Scenario J: reminded, one level up, then the end: in order, each once, however many look.
    fn levels_come_in_order_and_once(space: &Space) {
        policy(space, "space", "
rules:
  - name: asks
    on: ask
    then: ask
    ask: {of: ann, remind: [1s], escalate: [{after: 4s, of: bob}], deadline: 8s, at_end: escalate}
");
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.run(Who::Human("bob"), &["approve", &gate]).refused("SAY013");
        std::thread::sleep(Duration::from_millis(4_100));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| space.ann(&["inbox"]).ok());
            }
        });
        assert_eq!(space.show(&gate)["level"], 1);
        until_state(space, &gate, "expired");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| space.ann(&["inbox"]).ok());
            }
        });
        let time: Vec<_> = actions(space)
            .into_iter()
            .filter(|a| ["gate.reminded", "gate.escalated", "gate.expired"].contains(&a.as_str()))
            .collect();
        // What is due together is noted together, under the first of it.
        assert!(time.starts_with(&["gate.reminded".into()]) && time.ends_with(&["gate.expired".into()]), "{time:?}");
        space.run(Who::Human("bob"), &["approve", &gate]).refused("SAY003");
        space.verify();
    }
}

everywhere! {
    /// Those of the next level may answer from then on, and those who were asked first still may.
    fn a_level_up_may_answer(space: &Space) {
        policy(space, "space", "
rules:
  - name: asks
    on: ask
    then: ask
    ask: {of: ann, escalate: [{after: 1s, of: bob}], deadline: 1h, at_end: escalate}
");
        let gates = ["Ship?", "Publish?"].map(|question| space.ask("coder", &[question, "--verdict"]));
        std::thread::sleep(Duration::from_millis(1_100));
        space.run(Who::Human("bob"), &["approve", &gates[0]]).ok();
        space.ann(&["approve", &gates[1]]).ok();
        assert_eq!(times(space, "gate.escalated"), 2);
    }
}

everywhere! {
    /// Scenario K: what is held is done or not done, once, by what the end of the time means.
    fn the_end_performs_or_cancels_what_is_held_once(space: &Space) {
        for (at_end, risk, state, acted) in [
            ("deny", "low", "open", None),
            ("fail", "low", "failed", None),
            ("approve", "low", "closed", Some(true)),
        ] {
            // Only the admin's policy may let silence approve.
            policy(space, "admin", &format!("
rules:
  - name: done
    on: transition
    match: {{to: closed}}
    then: ask
    ask: {{risk: {risk}, deadline: 1s, at_end: {at_end}}}
"));
            let task = space.create(&["Ship it"]);
            space.coder(&["close", &task]).refused("SAY051");
            let gate = space.gate(&task);
            until_state(space, &gate, "expired");
            assert_eq!(space.state(&task), state, "{at_end}");
            assert_eq!(space.show(&gate)["acted"]["done"].as_bool(), acted, "{at_end}");
            assert_eq!(space.show(&gate)["answer"], serde_json::Value::Null, "nobody answered");
        }
        assert_eq!(times(space, "gate.expired"), 3);
        space.verify();
    }
}

everywhere! {
    /// What is kept waits on, is shown as due, and can be answered.
    fn what_is_kept_waits_on(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict", "--deadline", "1s", "--at-end", "keep"]);
        std::thread::sleep(Duration::from_millis(1_100));
        space.ann(&["show", &gate]).says("it was due").ok();
        assert_eq!(times(space, "gate.overdue"), 1);
        space.ann(&["approve", &gate]).ok();
        let again = space.ask("coder", &["Ship?", "--verdict", "--deadline", "1s", "--at-end", "defer"]);
        std::thread::sleep(Duration::from_millis(1_100));
        assert_eq!(space.show(&again)["state"], "open");
        assert_eq!(times(space, "gate.deferred"), 1);
        space.ann(&["approve", &again]).ok();
        space.coder(&["ask", "Ship?", "--deadline", "1s", "--at-end", "approve"]).refused("SAY038");
        space.verify();
    }
}

everywhere! {
    /// Those who are asked can put it off, claim it and give it more time; the asker cannot.
    fn people_handle_their_time(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict", "--deadline", "5s"]);
        space.coder(&["extend", &gate, "2h"]).exits(5);
        space.coder(&["snooze", &gate, "2h"]).exits(5);
        space.ann(&["extend", &gate, "2h"]).says("has time until").ok();
        std::thread::sleep(Duration::from_millis(5_100));
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["extend", &gate, "1h"]).refused("more time than that already");
        space.ann(&["claim", &gate]).says("is yours until").ok();
        space.run(Who::Human("bob"), &["claim", &gate]).refused("SAY018").refused("claimed by ann");
        space.ann(&["claim", &gate, "--release"]).ok();
        space.run(Who::Human("bob"), &["claim", &gate]).ok();
        space.run(Who::Human("bob"), &["show", &gate]).says("bob is on it").ok();
        space.ann(&["snooze", &gate, "4s"]).says("comes back").ok();
        space.ann(&["inbox"]).says("nothing waits for you").ok();
        std::thread::sleep(Duration::from_millis(4_100));
        space.ann(&["inbox"]).says(&gate).ok();
        assert_eq!(times(space, "gate.woken"), 1);
        space.ann(&["snooze", &gate, "yesterday"]).refused("SAY038");
        space.ann(&["approve", &gate]).ok();
        space.verify();
    }
}

everywhere! {
    /// A time of next to nothing cannot keep a process, or the audit, busy.
    fn a_time_of_next_to_nothing_is_none(space: &Space) {
        for time in ["0s", "1ms", "999ms"] {
            let ask = ["ask", "Ship?", "--verdict", "--deadline", time, "--at-end", "defer", "--timeout", "2s"];
            space.coder(&ask).refused("SAY038").exits(2);
        }
        let began = Instant::now();
        space.coder(&["ask", "Ship?", "--deadline", "1s", "--at-end", "defer", "--timeout", "3s"]).exits(7);
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_eq!(times(space, "gate.deferred"), 1, "asked again, but not at once");
    }
}
