//! Runs: one at a time per task, held by a lease and a number, with a credential that dies with it.

use crate::bench::{
    Bench, SECOND, SECRET, ann, coder, fails, new_run, on_each, question, say, worker,
};
use sayso_core::run::{RunEndKind, RunState, RunUsage};
use sayso_core::task::TaskStatus;
use sayso_core::{Actor, Code, EntryPoint, Role, RunId, TaskId};
use sayso_engine::{NewGate, NewRun, NewToken, RunSettlement};

fn start(bench: &Bench, task: TaskId, id: RunId) -> sayso_engine::Result<sayso_core::run::Run> {
    bench.desk.start_run(&worker(), new_run(&bench.desk, id, task))
}

on_each! {
    fn a_task_has_one_run_at_a_time(bench: &Bench) {
        let (task, desk) = (bench.task("Ship"), &bench.desk);
        let first = desk.new_run_id();
        let run = start(bench, task, first).unwrap();
        assert_eq!((run.started.fence, &run.state), (1, &RunState::Running));
        assert_eq!(run.started.launcher, "worker");
        assert_eq!(desk.task(task).unwrap().task.status, TaskStatus::InProgress);
        fails(start(bench, task, desk.new_run_id()), Code::WrongState);
        let again = NewRun { lease_until: run.lease_until, ..new_run(desk, first, task) };
        let before = bench.entries();
        assert_eq!(desk.start_run(&worker(), again).unwrap(), run, "the same start again");
        assert_eq!(bench.entries(), before);
        desk.end_run(&worker(), first, 1, RunEndKind::Failed, "out of tokens").unwrap();
        desk.reopen_task(&ann(), task, "try again").unwrap();
        let second = desk.new_run_id();
        assert_eq!(start(bench, task, second).unwrap().started.fence, 2);
        // The number of the first run is worth nothing any more.
        let until = bench.clock.at().plus_micros(60 * SECOND);
        fails(desk.renew_run(&worker(), second, 1, until), Code::Fenced);
        fails(desk.end_run(&worker(), second, 1, RunEndKind::Completed, ""), Code::Fenced);
        desk.renew_run(&worker(), second, 2, until).unwrap();
        bench.entries();
    }
}

on_each! {
    /// A worker that was asleep past its lease cannot pretend that nothing happened.
    fn a_lease_that_ran_out_is_not_renewed(bench: &Bench) {
        let (task, id) = (bench.task("Ship"), bench.desk.new_run_id());
        start(bench, task, id).unwrap();
        let later = |seconds: i64| bench.clock.at().plus_micros(seconds * SECOND);
        bench.clock.jump(30 * SECOND);
        let renewed = bench.desk.renew_run(&worker(), id, 1, later(60)).unwrap();
        // One that was overtaken on its way does not shorten the lease.
        let overtaken = bench.desk.renew_run(&worker(), id, 1, later(10)).unwrap();
        assert_eq!(overtaken.lease_until, renewed.lease_until);
        bench.clock.jump(61 * SECOND);
        fails(bench.desk.renew_run(&worker(), id, 1, later(60)), Code::Fenced);
        bench.entries();
    }
}

on_each! {
    /// The credential of a run works while the run does, for that run and its task alone.
    fn a_credential_dies_with_its_run(bench: &Bench) {
        let (task, desk) = (bench.task("Ship"), &bench.desk);
        let id = desk.new_run_id();
        start(bench, task, id).unwrap();
        let other = NewToken {
            role: Role::Agent,
            name: "other".into(),
            task: Some(task),
            run: None,
            expires_at: None, scopes: None
        };
        let other = desk.mint(&ann(), other).unwrap().secret;
        let secret = &format!("{SECRET}{id}");
        let actor = desk.authenticate(secret, EntryPoint::Mcp).unwrap();
        assert_eq!((actor.run, actor.task), (Some(id), Some(task)));
        assert_eq!(actor.launcher.as_deref(), Some("worker"));
        let ask = NewGate { task: Some(task), ..question(desk.new_gate_id(), "Ship?") };
        desk.ask(&actor, ask).unwrap();
        let elsewhere = Actor { run: Some(desk.new_run_id()), ..coder() };
        fails(desk.end_run(&elsewhere, id, 1, RunEndKind::Stopped, ""), Code::NotAllowed);
        desk.end_run(&worker(), id, 1, RunEndKind::Completed, "done").unwrap();
        fails(desk.authenticate(secret, EntryPoint::Mcp), Code::BadToken);
        desk.authenticate(&other, EntryPoint::Mcp).unwrap();
        let before = bench.entries();
        desk.end_run(&worker(), id, 1, RunEndKind::Completed, "done").unwrap();
        assert_eq!(bench.entries(), before, "ended once");
        fails(desk.end_run(&worker(), id, 1, RunEndKind::Failed, ""), Code::WrongState);
    }
}

on_each! {
    /// Whatever comes of a run, the run and its task say so together, and a run that is over says nothing
    /// more.
    fn a_run_is_settled_once_with_its_task(bench: &Bench) {
        let desk = &bench.desk;
        let later = bench.clock.at().plus_micros(60 * SECOND);
        let ask = |task| NewGate { task: Some(task), ..question(desk.new_gate_id(), "Which colour?") };
        let again = RunSettlement::Again { how: RunEndKind::Unclear, why: "nothing was said".into() };
        let cases = [
            (RunSettlement::Completed { summary: "did it".into(), facts: vec![] }, "closed", RunEndKind::Completed),
            (RunSettlement::Failed { reason: "no compiler".into() }, "failed", RunEndKind::Failed),
            (RunSettlement::Blocked { why: "no disk".into() }, "blocked", RunEndKind::Failed),
            (again.clone(), "open", RunEndKind::Unclear),
            (RunSettlement::Later { how: RunEndKind::Limited, why: "limit".into(), until: later }, "deferred", RunEndKind::Limited),
            (RunSettlement::Asked(vec![]), "awaiting_input", RunEndKind::Asked),
        ];
        for (settlement, state, how) in cases {
            let (task, id) = (bench.task("Ship"), desk.new_run_id());
            let run = start(bench, task, id).unwrap();
            let settlement = match settlement {
                RunSettlement::Asked(_) => RunSettlement::Asked(vec![ask(task)]),
                other => other,
            };
            let spent = RunUsage { cost_micros: 5, ..RunUsage::default() };
            desk.settle_run(&desk.agent_of(&run), &run, spent, settlement).unwrap();
            let row = desk.task(task).unwrap();
            assert_eq!((row.task.shown_state(false), row.task.run), (state, None));
            let ended = desk.run(id).unwrap();
            assert!(matches!(&ended.state, RunState::Ended { how: h, spent: s, .. } if *h == how && *s == spent));
            let late = RunSettlement::Again { how: RunEndKind::Stopped, why: "late".into() };
            fails(desk.settle_run(&desk.agent_of(&run), &run, spent, late), Code::WrongState);
            assert_eq!(desk.task(task).unwrap().task, row.task, "what came late changed nothing");
            bench.entries();
        }
    }
}

on_each! {
    /// A worker that died is found by the next one; its task is free again, once.
    fn a_lost_run_frees_its_task(bench: &Bench) {
        let desk = &bench.desk;
        let (task, id) = (bench.task("Ship"), desk.new_run_id());
        let run = start(bench, task, id).unwrap();
        assert_eq!(desk.lose_run(&worker(), id, false).unwrap(), None, "it is alive");
        let lost = desk.lose_run(&worker(), id, true).unwrap().unwrap();
        assert!(matches!(&lost.state, RunState::Ended { how: RunEndKind::Lost, .. }));
        assert_eq!(desk.task(task).unwrap().task.status, TaskStatus::Open);
        assert_eq!(desk.lose_run(&worker(), id, true).unwrap(), None, "it is over");
        let late = RunSettlement::Completed { summary: "I was only asleep".into(), facts: vec![] };
        fails(desk.settle_run(&desk.agent_of(&run), &run, RunUsage::default(), late), Code::WrongState);
        assert_eq!(desk.task(task).unwrap().task.status, TaskStatus::Open);
        let second = start(bench, task, desk.new_run_id()).unwrap();
        assert_eq!(second.started.fence, 2);
        bench.clock.jump(61 * SECOND);
        let lost = desk.lose_run(&worker(), second.started.id, false).unwrap();
        assert!(lost.is_some(), "its lease ran out");
        assert_eq!(desk.task(task).unwrap().task.status, TaskStatus::Open);
        bench.entries();
    }
}

on_each! {
    /// A worker that slept between making an id and starting the run has an old id and the newest run.
    fn the_newest_run_is_the_one_with_the_highest_number(bench: &Bench) {
        let desk = &bench.desk;
        let task = bench.task("Ship");
        let old = desk.new_run_id();
        bench.clock.jump(SECOND);
        let young = desk.new_run_id();
        assert!(old < young);
        start(bench, task, young).unwrap();
        assert!(desk.lose_run(&worker(), young, true).unwrap().is_some());
        start(bench, task, old).unwrap();
        // The task looks free now, and is not: its agent is alive.
        desk.reopen_task(&ann(), task, "try again").unwrap();
        fails(start(bench, task, desk.new_run_id()), Code::WrongState);
        let numbers = |limit| {
            let runs = desk.runs_of(task, limit).unwrap();
            runs.iter().map(|run| run.started.fence).collect::<Vec<_>>()
        };
        assert_eq!((numbers(10), numbers(1)), (vec![2, 1], vec![2]));
        bench.entries();
    }
}

on_each! {
    /// A live agent that asks keeps its run: nobody else gets the task while a person thinks or after.
    fn a_task_whose_agent_waits_is_not_taken_by_another(bench: &Bench) {
        let desk = &bench.desk;
        let (task, id) = (bench.task("Ship"), desk.new_run_id());
        let run = start(bench, task, id).unwrap();
        let agent = desk.agent_of(&run);
        let gate = desk.ask(&agent, NewGate { task: Some(task), ..question(desk.new_gate_id(), "Now?") }).unwrap();
        fails(start(bench, task, desk.new_run_id()), Code::WrongState);
        say(desk, &ann(), gate.opened.id, "Yes").unwrap();
        fails(start(bench, task, desk.new_run_id()), Code::WrongState);
        // Saying complete with a question open does not outrank the question.
        let open = desk.ask(&agent, NewGate { task: Some(task), ..question(desk.new_gate_id(), "And now?") }).unwrap();
        let done = RunSettlement::Completed { summary: String::new(), facts: vec![] };
        let now = desk.settle_run(&agent, &run, RunUsage::default(), done).unwrap();
        assert!(now.waits_for.contains_key(&open.opened.id));
        assert!(matches!(desk.run(id).unwrap().state, RunState::Ended { how: RunEndKind::Asked, .. }));
        bench.entries();
    }
}
