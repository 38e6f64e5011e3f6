//! Gates at the desk: who asked, who was refused, and where an answer is on its way.

use crate::bench::{Bench, ann, bob, coder, fails, on_each, question, say, worker};
use sayso_core::audit::AuditOutcome;
use sayso_core::{Actor, Code, EntryPoint, Role};
use sayso_engine::{GateFilter, WaitOutcome};
use std::time::{Duration, Instant};

on_each! {
    /// An agent that tries to answer is refused, and the audit says who, what and why.
    fn a_refusal_of_authority_is_written_down(bench: &Bench) {
        let gate = bench.ask("Ship?").opened.id;
        let before = bench.entries();
        fails(say(&bench.desk, &coder(), gate, "Yes"), Code::NotHuman);
        fails(bench.desk.clear_awaiting(&coder(), bench.task("A task"), ""), Code::NotHuman);
        fails(bench.desk.audit_entries(&coder(), 1), Code::NotAllowed);
        assert_eq!(bench.entries(), before + 4, "three refusals and a task");
        let entries = bench.desk.audit_entries(&ann(), 4).unwrap();
        let refused: Vec<_> = entries.iter().filter(|e| e.outcome == AuditOutcome::Refused).collect();
        assert_eq!(refused.len(), 3);
        for entry in refused {
            assert_eq!((entry.action.as_str(), entry.actor.as_str()), ("refused", "coder"));
            assert!(entry.reason.contains("coder"), "{}", entry.reason);
            assert!(entry.events.is_empty());
        }
        assert!(bench.desk.gate(gate).unwrap().is_open());
    }
}

on_each! {
    /// Other refusals are answers to the caller and leave no trace.
    fn other_refusals_leave_nothing(bench: &Bench) {
        let gate = bench.ask("Ship?");
        let id = gate.opened.id;
        say(&bench.desk, &ann(), id, "Yes").unwrap();
        let before = bench.entries();
        fails(say(&bench.desk, &bob(), id, "No"), Code::AlreadyAnswered);
        fails(say(&bench.desk, &ann(), id, "No"), Code::AlreadyAnswered);
        fails(bench.desk.withdraw(&coder(), id, "never mind"), Code::AlreadyAnswered);
        fails(bench.desk.ask(&coder(), question(id, "Something else?")), Code::Clash);
        fails(bench.desk.gate(bench.desk.new_gate_id()), Code::NotFound);
        assert_eq!(bench.entries(), before);
        say(&bench.desk, &ann(), id, "Yes").unwrap();
        assert_eq!(bench.entries(), before, "the same answer again has no effect");
    }
}

on_each! {
    /// Pending, failed and shown, delivered, acknowledged; and only the asker can make it so.
    fn an_answer_is_on_its_way_until_it_is_acknowledged(bench: &Bench) {
        let desk = &bench.desk;
        let ids: Vec<_> = (0..3).map(|n| bench.ask(&format!("Question {n}?")).opened.id).collect();
        let [first, second, third] = ids[..] else { panic!() };
        fails(desk.deliver(&coder(), first), Code::WrongState);
        assert!(desk.undelivered(&coder(), 10).unwrap().is_empty());
        say(desk, &ann(), first, "Yes").unwrap();
        say(desk, &ann(), second, "Yes").unwrap();
        desk.withdraw(&ann(), third, "not needed").unwrap();
        let waiting = || -> Vec<_> {
            let gates = desk.undelivered(&coder(), 10).unwrap();
            gates.iter().map(|gate| (gate.opened.id, gate.delivery.as_str())).collect()
        };
        let pending = "pending";
        assert_eq!(waiting(), [(first, pending), (second, pending), (third, pending)]);
        assert_eq!(desk.deliver(&coder(), first).unwrap().delivery.as_str(), "delivered");
        for attempt in 1..=3 {
            let failed = desk.fail_delivery(&worker(), second, "it would not start").unwrap();
            assert_eq!((failed.delivery.as_str(), failed.attempts), ("failed", attempt));
        }
        assert_eq!(waiting().len(), 3, "a failed one is not forgotten");
        desk.deliver(&coder(), second).unwrap();
        let other = Actor { name: "other".into(), ..coder() };
        fails(desk.acknowledge(&other, first), Code::NotFound);
        for id in [first, second, third] {
            desk.acknowledge(&coder(), id).unwrap();
            let before = bench.entries();
            let again = desk.acknowledge(&coder(), id).unwrap();
            assert_eq!(again.delivery.as_str(), "acknowledged");
            assert_eq!(bench.entries(), before, "once");
        }
        assert!(waiting().is_empty());
        assert_eq!(desk.gate(second).unwrap().answer().unwrap().0.as_text(), "Yes");
    }
}

on_each! {
    /// Who asked, who launched them and through which door comes from the credential.
    fn a_gate_knows_where_it_comes_from(bench: &Bench) {
        let run = bench.desk.new_run_id();
        let actor = Actor { run: Some(run), door: EntryPoint::Mcp, ..coder() };
        let id = bench.desk.new_gate_id();
        bench.desk.ask(&actor, question(id, "Ship?")).unwrap();
        let lineage = bench.desk.gate(id).unwrap().opened.lineage;
        assert_eq!((lineage.asker.as_str(), lineage.role), ("coder", Role::Agent));
        assert_eq!((lineage.run, lineage.launcher.as_deref()), (Some(run), Some("ann")));
        assert_eq!(lineage.door, EntryPoint::Mcp);
        // Another run of the same agent is another asker.
        let other = Actor { run: Some(bench.desk.new_run_id()), ..actor.clone() };
        fails(bench.desk.withdraw(&other, id, "not mine"), Code::NotFound);
        fails(bench.desk.withdraw(&coder(), id, "not mine"), Code::NotFound);
        bench.desk.withdraw(&actor, id, "mine").unwrap();
        bench.entries();
    }
}

on_each! {
    /// Whoever waits is woken by the answer; whoever waits too long is told that it is still open.
    fn a_waiter_is_woken(bench: &Bench) {
        let gate = bench.ask("Ship?").opened.id;
        let timed_out = bench.desk.wait(gate, Some(Duration::from_millis(30))).unwrap();
        assert!(matches!(timed_out, WaitOutcome::TimedOut(gate) if gate.is_open()));
        let mut late = Duration::ZERO;
        for n in 0..20 {
            let gate = bench.ask(&format!("Question {n}?")).opened.id;
            let desk = bench.desk.clone();
            let waiting = std::thread::spawn(move || {
                let waited = desk.wait(gate, Some(Duration::from_secs(30))).unwrap();
                (waited, Instant::now())
            });
            std::thread::sleep(Duration::from_millis(20));
            say(&bench.desk, &ann(), gate, "Yes").unwrap();
            let answered = Instant::now();
            let (waited, woken) = waiting.join().unwrap();
            assert!(matches!(waited, WaitOutcome::Ended(gate) if gate.answer().is_some()));
            late += woken.saturating_duration_since(answered);
        }
        assert!(late < Duration::from_secs(20) / 3, "{late:?} for 20 answers");
    }
}

on_each! {
    /// A server's pages are bounded in bytes: whoever needs all gates of a task gets them page after page, and the
    /// newest are not cut off.
    fn all_gates_of_a_task_are_found_whatever_a_page_holds(bench: &Bench) {
        let task = bench.task("A task");
        for number in 0..40 {
            let mut ask = question(bench.desk.new_gate_id(), &format!("Number {number}?"));
            (ask.task, ask.card.narrative) = (Some(task), "x".repeat(2_000));
            bench.desk.ask(&coder(), ask).unwrap();
        }
        let served = bench.desk.local().unwrap().clone().with_page_bytes(10_000);
        let served = sayso_engine::Desk::from(served);
        for limit in [500, 7] {
            let filter = GateFilter { task: Some(task), limit, ..GateFilter::default() };
            let page = served.gates(&ann(), filter.clone()).unwrap();
            assert!(page.items.len() < 20 && page.more, "{} on a page", page.items.len());
            let all = served.all_gates(&ann(), filter).unwrap();
            let questions = all.iter().map(|gate| gate.card.question.clone());
            let expected = (0..40).map(|number| format!("Number {number}?"));
            assert_eq!(questions.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
