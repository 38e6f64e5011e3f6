//! The shield of an answer that is on its way.

use crate::bench::{Bench, ann, coder, fails, question, say};
use sayso_core::{Actor, Code, TaskId};
use sayso_engine::NewGate;

fn ask_on(bench: &Bench, task: TaskId, text: &str) -> sayso_core::GateId {
    let desk = &bench.desk;
    let ask = NewGate { task: Some(task), ..question(desk.new_gate_id(), text) };
    desk.ask(&coder(), ask).unwrap().opened.id
}

/// Newer questions of the same task do not push it aside.
#[test]
fn many_newer_gates_do_not_push_it_aside() {
    let bench = Bench::memory();
    let (desk, task) = (&bench.desk, bench.task("Paint the door"));
    let gate = ask_on(&bench, task, "Which colour?");
    say(desk, &ann(), gate, "blue").unwrap();
    for number in 0..201 {
        let other = ask_on(&bench, task, &format!("Question {number}?"));
        desk.withdraw(&coder(), other, "never mind").unwrap();
    }
    let tester = Actor { name: "tester".into(), ..coder() };
    for agent in [&tester, &coder()] {
        fails(desk.close_task(agent, task, "done", false), Code::Unheard);
        fails(desk.start_task(agent, task, None), Code::Unheard);
        let other = bench.task("Another");
        fails(desk.add_dependency(agent, task, other), Code::Unheard);
    }
    desk.acknowledge(&coder(), gate).unwrap();
    desk.start_task(&tester, task, None).unwrap();
    bench.entries();
}
