//! Clocks: they jump, forwards and backwards, and nothing breaks; lateness is judged when it matters
//! (R12).

use crate::bench::{Bench, NOON, SECOND, ann, bob, coder, fails, on_each, question, say};
use sayso_core::gate::GateEnding;
use sayso_core::{Answer, AnswerContent, Code, GateKind};
use sayso_engine::NewGate;

const YEAR: i64 = 365 * 86_400 * SECOND;

on_each! {
    fn a_clock_that_jumps_breaks_nothing(bench: &Bench) {
        let jumps = [YEAR, -YEAR, -YEAR, 100 * YEAR, -100 * YEAR, -1, 0, 3_600 * SECOND];
        let task = bench.task("Ship");
        let mut expected = bench.entries();
        for (n, jump) in jumps.into_iter().cycle().take(40).enumerate() {
            let gate = bench.ask(&format!("Question {n}?")).opened.id;
            bench.clock.jump(jump);
            bench.desk.note(&ann(), task, &format!("Note {n}"), false).unwrap();
            let answered = say(&bench.desk, &ann(), gate, "Yes").unwrap();
            bench.clock.jump(-jump);
            bench.desk.acknowledge(&coder(), gate).unwrap();
            let again = bench.desk.gate(gate).unwrap();
            assert_eq!(again.answer(), answered.answer());
            expected += 4;
            assert_eq!(bench.entries(), expected);
        }
        assert_eq!(bench.desk.history(task).unwrap().len(), 41);
    }
}

on_each! {
    /// The first and the last moments there are: no overflow, no panic.
    fn the_ends_of_time_are_moments_too(bench: &Bench) {
        for micros in [0, -1, -NOON, i64::MIN, i64::MIN + 1, i64::MAX - 1_000, i64::MAX, NOON] {
            bench.clock.set(micros);
            let gate = bench.ask("Now?").opened.id;
            say(&bench.desk, &ann(), gate, "Yes").unwrap();
            bench.desk.claim_notices("mail", 10).unwrap();
            bench.entries();
        }
        bench.clock.set(NOON);
        assert_eq!(bench.entries(), 17);
    }
}

on_each! {
    /// Past its deadline a gate is over, whether or not anybody noted it; until then it is not,
    /// whatever the clock showed in between.
    fn a_deadline_is_judged_when_somebody_answers(bench: &Bench) {
        let desk = &bench.desk;
        let ask = |text| {
            let mut ask = question(desk.new_gate_id(), text);
            ask.demands.deadline_ms = Some(60_000);
            desk.ask(&coder(), ask).unwrap().opened.id
        };
        let (late, in_time, noted) = (ask("Late?"), ask("In time?"), ask("Noted?"));
        let deadline = desk.gate(noted).unwrap().opened.deadline.unwrap();
        assert!(desk.tick(late).unwrap().is_open());
        bench.clock.set(deadline.as_micros());
        fails(say(desk, &ann(), late, "Yes"), Code::NotWaiting);
        assert!(desk.gate(late).unwrap().is_open(), "nobody noted it yet");
        // Somebody sets the clock right: there was time after all.
        bench.clock.set(deadline.as_micros() - 10 * SECOND);
        say(desk, &ann(), in_time, "Yes").unwrap();
        bench.clock.set(deadline.as_micros() + SECOND);
        assert!(desk.tick(in_time).unwrap().answer().is_some());
        desk.tick(noted).unwrap();
        let before = bench.entries();
        desk.tick(noted).unwrap();
        assert_eq!(bench.entries(), before, "once");
        // What has expired stays so, however far the clock is set back.
        bench.clock.set(NOON);
        fails(say(desk, &bob(), noted, "Yes"), Code::NotWaiting);
        assert!(matches!(desk.gate(noted).unwrap().ending, Some(GateEnding::Expired { .. })));
        bench.entries();
    }
}

on_each! {
    /// The same question again is the same gate, and gets its answer, until that was taken. Yesterday's yes
    /// is not today's.
    fn the_same_question_again(bench: &Bench) {
        let (desk, mut now) = (&bench.desk, NOON);
        let mut later = |seconds: i64| {
            now += seconds * SECOND;
            bench.clock.set(now);
        };
        let ask = || desk.ask_once(&coder(), question(desk.new_gate_id(), "Deploy now?")).unwrap().opened.id;
        let first = ask();
        assert_eq!(ask(), first, "it is open");
        say(desk, &ann(), first, "Yes").unwrap();
        later(3_600);
        assert_eq!(ask(), first, "nobody has had the answer yet");
        desk.deliver(&coder(), first).unwrap();
        later(60);
        assert_eq!(ask(), first, "it may have got lost on the way");
        later(300);
        let second = ask();
        assert_ne!(second, first, "who has had it for so long has gone on");
        say(desk, &ann(), second, "Yes").unwrap();
        desk.acknowledge(&coder(), second).unwrap();
        let third = ask();
        assert_ne!(third, second, "that one was taken");
        say(desk, &ann(), third, "Yes").unwrap();
        later(25 * 3_600);
        let fourth = ask();
        assert_ne!(fourth, third, "a day is too long");
        assert!(desk.gate(fourth).unwrap().is_open());
        bench.entries();
    }
}

on_each! {
    /// Notes since the question are the answer to a bare yes. Which are since the question is a matter
    /// of order, not of what the clock showed.
    fn notes_count_by_their_order(bench: &Bench) {
        let desk = &bench.desk;
        let task = bench.task("Log in");
        desk.note(&ann(), task, "An old thought, by a clock that went ahead", false).unwrap();
        bench.clock.jump(-3_600 * SECOND);
        let ask = question(desk.new_gate_id(), "How?");
        let gate = desk.ask(&coder(), NewGate { kind: GateKind::Input, task: Some(task), ..ask }).unwrap();
        bench.clock.jump(-3_600 * SECOND);
        desk.note(&ann(), task, "Use tokens", false).unwrap();
        desk.note(&coder(), task, "An agent's own words", false).unwrap();
        let id = gate.opened.id;
        let answered = desk.answer(&ann(), id, Answer::approved(), gate.digest.as_str()).unwrap();
        let (answer, _) = answered.answer().unwrap();
        assert_eq!(answer.content, AnswerContent::Text("Use tokens".into()));
        // The words of that answer are a note now, and not the answer to the next question.
        let ask = question(desk.new_gate_id(), "And then?");
        let next = desk.ask(&coder(), NewGate { kind: GateKind::Input, task: Some(task), ..ask }).unwrap();
        let bare = desk.answer(&ann(), next.opened.id, Answer::approved(), next.digest.as_str());
        fails(bare, Code::EmptyAnswer);
        bench.entries();
    }
}

/// An answer and the end of the time, at the same moment, from many sides: one of them counts, and
/// everybody is told the same.
#[test]
fn an_answer_and_the_end_race() {
    // With a real clock, and a file that many write to.
    let bench = Bench::sqlite();
    let desk = &bench.shared();
    let ask = |round: u64| {
        let mut ask = question(desk.new_gate_id(), &format!("Question {round}?"));
        ask.demands.deadline_ms = Some(1_000);
        desk.ask(&coder(), ask).unwrap()
    };
    let gates: Vec<_> = (0..40).map(ask).collect();
    std::thread::scope(|scope| {
        for (n, gate) in gates.iter().enumerate() {
            for racer in 0..4 {
                scope.spawn(move || {
                    // Some come well before the end, some well after it, and most at that moment.
                    let left = gate.opened.deadline.unwrap().as_micros() - desk.now().as_micros();
                    let offset = [-700_000, 0, 0, 0, 300_000][n % 5] + racer * 1_000 - 2_000;
                    let pause = u64::try_from(left + offset).unwrap_or(0);
                    std::thread::sleep(std::time::Duration::from_micros(pause));
                    let outcome = match racer % 2 {
                        0 => desk.tick(gate.opened.id).map(drop),
                        _ => say(desk, &ann(), gate.opened.id, "Yes").map(drop),
                    };
                    let told = outcome.as_ref().err().is_none_or(|e| e.code() == Code::NotWaiting);
                    assert!(told, "{outcome:?}");
                });
            }
        }
    });
    let (mut answered, mut expired) = (0, 0);
    for gate in &gates {
        match desk.tick(gate.opened.id).unwrap().ending {
            Some(GateEnding::Answered { .. }) => answered += 1,
            Some(GateEnding::Expired { .. }) => expired += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(answered > 0 && expired > 0, "{answered} answered, {expired} expired: no race");
    bench.entries();
}

on_each! {
    /// However the clock jumps, what is due happens once, in order, and what was done is not undone.
    fn timers_and_jumps_of_the_clock(bench: &Bench) {
        let desk = &bench.desk;
        let mut ask = question(desk.new_gate_id(), "Ship?");
        ask.demands.deadline_ms = Some(100_000);
        ask.demands.remind_ms = vec![10_000, 20_000];
        let gate = desk.ask(&coder(), ask).unwrap().opened.id;
        let begin = bench.clock.at().as_micros();
        let reminders = || desk.gate(gate).unwrap().reminders;
        for (seconds, expected) in [(9, 0), (11, 1), (5, 1), (12, 1), (-100_000, 1), (25, 2), (3, 2), (26, 2)] {
            bench.clock.set(begin + seconds * SECOND);
            desk.fire_due().unwrap();
            assert_eq!(reminders(), expected, "{seconds} s after it was asked");
        }
        bench.clock.set(begin + 101 * SECOND);
        assert_eq!(desk.fire_due().unwrap(), 1);
        bench.clock.set(begin);
        assert_eq!(desk.fire_due().unwrap(), 0);
        assert!(!desk.gate(gate).unwrap().is_open(), "what has ended stays so");
        bench.entries();
    }
}
