//! A desk that many threads share, as a server's do: exact counts, one winner each.

use crate::bench::{Bench, ann, coder, on_each, question, say};
use sayso_core::{Actor, Code};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const THREADS: u64 = 64;
const EACH: u64 = 15;
const CONTESTED: usize = 20;

on_each! {
    fn sixty_four_threads_ask_and_answer(bench: &Bench) {
        let desk = bench.shared();
        let contested: Vec<_> = (0..CONTESTED)
            .map(|n| {
                let id = desk.new_gate_id();
                desk.ask(&coder(), question(id, &format!("Contested {n}?"))).unwrap();
                id
            })
            .collect();
        let (handles, won, lost) = (Mutex::new(BTreeSet::new()), AtomicU64::default(), AtomicU64::default());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (desk, contested) = (desk.clone(), &contested);
                let (handles, won, lost) = (&handles, &won, &lost);
                scope.spawn(move || {
                    let person = Actor { name: format!("person-{thread}"), ..ann() };
                    for n in 0..EACH {
                        let id = desk.new_gate_id();
                        let text = format!("Question {n} of {thread}?");
                        let gate = desk.ask(&coder(), question(id, &text)).unwrap();
                        assert!(handles.lock().unwrap().insert(gate.handle().to_owned()));
                        let answered = say(&desk, &person, id, &text).unwrap();
                        assert_eq!(answered.answer().unwrap().0.as_text(), text);
                    }
                    for id in contested {
                        match say(&desk, &person, *id, &format!("from {thread}")) {
                            Ok(gate) => {
                                assert_eq!(gate.answer().unwrap().1.name, person.name);
                                won.fetch_add(1, Relaxed);
                            }
                            Err(error) => {
                                assert_eq!(error.code(), Code::AlreadyAnswered);
                                assert!(error.to_string().contains("by person-"), "{error}");
                                lost.fetch_add(1, Relaxed);
                            }
                        }
                    }
                });
            }
        });
        let (won, lost) = (won.into_inner(), lost.into_inner());
        assert_eq!(won, CONTESTED as u64, "one winner each");
        assert_eq!(lost, CONTESTED as u64 * (THREADS - 1));
        assert_eq!(handles.into_inner().unwrap().len() as u64, THREADS * EACH);
        let gates = THREADS * EACH + CONTESTED as u64;
        let report = bench.desk.verify_audit(&ann(), |_| {}).unwrap();
        assert_eq!((report.views, report.events), (gates, gates * 2));
        assert_eq!(report.entries, gates * 2 + 1, "one entry for each, and one for the space");
        assert_eq!(bench.desk.count_open_gates(10).unwrap(), 0);
    }
}
