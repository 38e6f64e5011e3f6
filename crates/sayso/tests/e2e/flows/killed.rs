//! Scenario L for workflows: killed while it waits, while a step runs, and between steps.

use super::{begin, count, flow, gate, resume, write};
use crate::harness::{Who, everywhere};
use crate::worker::budgets::until;

const SLOW: &str = "workflow: slow\nphases:\n  - name: first\n    run: echo first >> log.txt\n    \
                    ask: {approval: Go on?}\n  - name: second\n    run: echo begun >> log.txt; sleep ${NAP:-0}; \
                    echo second >> log.txt\n  - name: third\n    run: echo third >> log.txt\n    \
                    ask: {choice: Which?, options: [a, b]}\n    set: {picked: human.value}\n";

everywhere! {
    /// Whatever is killed: the question is there once, finished steps are not done again, the answer goes on.
    fn killed_and_gone_on_with(space: &Space) {
        write(space, "slow.yaml", SLOW);
        let mut waiting = space.start(Who::Script, &["flow", "run", "slow.yaml", "--key", "k", "--wait"]);
        let first = until(|| {
            let inbox = space.ann(&["inbox", "--json"]).json();
            inbox["items"][0]["handle"].as_str().map(str::to_owned)
        });
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        begin(space, &["slow.yaml", "--key", "k"]).exits(7);
        assert_eq!(gate(space), first, "the same question, once");
        space.ann(&["approve", &first]).ok();

        // Killed in the middle of a step: that step begins anew, and no other.
        let mut command = space.command(Who::Script, &["flow", "resume", "--all"]);
        let mut at_work = command.env("NAP", "60").spawn().unwrap();
        let log = || std::fs::read_to_string(space.path().join("log.txt")).unwrap_or_default();
        until(|| log().contains("begun").then_some(()));
        at_work.kill().unwrap();
        at_work.wait().unwrap();
        resume(space).says("Which?").exits(7);
        assert_eq!(log().matches("first").count(), 1, "{}", log());
        assert_eq!(log().matches("second").count(), 1, "{}", log());
        space.ann(&["choose", &gate(space), "b"]).ok();
        resume(space).exits(0);
        let flow = flow(space);
        assert_eq!(flow["state"]["state"]["picked"], "b");
        assert_eq!(count(&flow, "agent:completed"), 3);
        assert_eq!(count(&flow, "input:requested"), 2);
        space.verify();
    }
}
