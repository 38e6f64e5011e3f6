//! Waking: whoever waits gets the answer through the wake-up, not through the slow poll behind it.

use super::{Chance, gate_id};
use crate::harness::{Who, everywhere};
use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

const TRIPS: u32 = 30;

/// How long a waiter sleeps when nothing wakes it.
const POLL: Duration = Duration::from_secs(1);

everywhere! {
    /// A waiter that is only ever woken by its poll gets the answer half a second late on average.
    /// All trips together have a third of what the poll alone could need, which is room enough for a
    /// busy machine.
    fn a_waiter_is_woken_by_the_answer(space: &Space) {
        let mut chance = Chance::new(3);
        let mut late = Duration::ZERO;
        for _ in 0..TRIPS {
            let id = gate_id(&mut chance).to_string();
            let ask = ["ask", "Which port?", "--id", &id, "--timeout", "60s"];
            let mut waiter = space.start(Who::Agent("coder"), &ask);
            let mut talk = BufReader::new(waiter.stderr.take().unwrap());
            let mut line = String::new();
            talk.read_line(&mut line).unwrap();
            assert!(line.contains("waits for a person"), "{line}");
            // It says so right before it begins to watch; a moment later it sleeps.
            std::thread::sleep(Duration::from_millis(40));
            space.run(Who::Human("ann"), &["respond", &id, "8080"]).ok();
            let answered = Instant::now();
            let mut got = String::new();
            waiter.stdout.take().unwrap().read_to_string(&mut got).unwrap();
            late += answered.elapsed();
            assert_eq!(got, "8080\n");
            assert!(waiter.wait().unwrap().success());
        }
        println!("{:?}: {TRIPS} answers, {:?} late on average", space.backend, late / TRIPS);
        assert!(late < POLL * TRIPS / 3, "{late:?} for {TRIPS} answers");
        space.verify();
    }
}

everywhere! {
    /// A crowd of waiters: one answer each, and each gets its own.
    fn forty_waiters_each_get_their_own_answer(space: &Space) {
        let mut chance = Chance::new(4);
        let ids: Vec<_> = (0..40).map(|_| gate_id(&mut chance).to_string()).collect();
        let waiters: Vec<_> = ids
            .iter()
            .map(|id| {
                let question = format!("Question {id}?");
                let args = ["ask", &question, "--id", id, "--timeout", "120s"];
                space.start(Who::Agent("coder"), &args)
            })
            .collect();
        for id in &ids {
            let is_there = || space.run(Who::Human("ann"), &["show", id]).code == 0;
            let began = Instant::now();
            while !is_there() {
                assert!(began.elapsed() < Duration::from_secs(60), "gate {id} did not open");
            }
            space.run(Who::Human("ann"), &["respond", id, &format!("answer to {id}")]).ok();
        }
        for (id, waiter) in ids.iter().zip(waiters) {
            let output = waiter.wait_with_output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("answer to {id}\n"));
        }
        space.verify();
    }
}
