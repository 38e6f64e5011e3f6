//! Runs: one at a time per task, held by a lease and a number, with a credential that dies with it.

use crate::bench::{Bench, SECOND, ann, coder, fails, on_each, question, worker};
use sayso_core::run::{How, State};
use sayso_core::task::Status;
use sayso_core::{Actor, Code, Door, Role, RunId, TaskId};
use sayso_engine::{Ask, NewRun, NewToken};

fn start(bench: &Bench, task: TaskId, id: RunId) -> sayso_engine::Result<sayso_core::run::Run> {
    let lease_until = bench.clock.at().plus_micros(60 * SECOND);
    bench.desk.start_run(&worker(), NewRun { id, task, agent: "coder".into(), lease_until })
}

on_each! {
    fn a_task_has_one_run_at_a_time(bench: &Bench) {
        let (task, desk) = (bench.task("Ship"), &bench.desk);
        let first = desk.new_run_id();
        let run = start(bench, task, first).unwrap();
        assert_eq!((run.started.fence, &run.state), (1, &State::Running));
        assert_eq!(run.started.launcher, "worker");
        assert_eq!(desk.task(task).unwrap().task.status, Status::InProgress);
        fails(start(bench, task, desk.new_run_id()), Code::WrongState);
        let lease_until = run.lease_until;
        let again = NewRun { id: first, task, agent: "coder".into(), lease_until };
        let before = bench.entries();
        assert_eq!(desk.start_run(&worker(), again).unwrap(), run, "the same start again");
        assert_eq!(bench.entries(), before);
        desk.end_run(&worker(), first, 1, How::Failed, "out of tokens").unwrap();
        desk.reopen_task(&ann(), task, "try again").unwrap();
        let second = desk.new_run_id();
        assert_eq!(start(bench, task, second).unwrap().started.fence, 2);
        // The number of the first run is worth nothing any more.
        let until = bench.clock.at().plus_micros(60 * SECOND);
        fails(desk.renew_run(&worker(), second, 1, until), Code::Fenced);
        fails(desk.end_run(&worker(), second, 1, How::Completed, ""), Code::Fenced);
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
        let bound = NewToken {
            role: Role::Agent,
            name: "coder".into(),
            task: Some(task),
            run: Some(id),
            expires_at: None,
        };
        let other = NewToken { run: None, name: "other".into(), ..bound.clone() };
        let secret = desk.mint(&ann(), bound).unwrap().secret;
        let other = desk.mint(&ann(), other).unwrap().secret;
        let actor = desk.authenticate(&secret, Door::Mcp).unwrap();
        assert_eq!((actor.run, actor.task), (Some(id), Some(task)));
        assert_eq!(actor.launcher.as_deref(), Some("ann"));
        let ask = Ask { task: Some(task), ..question(desk.new_gate_id(), "Ship?") };
        desk.ask(&actor, ask).unwrap();
        let elsewhere = Actor { run: Some(desk.new_run_id()), ..coder() };
        fails(desk.end_run(&elsewhere, id, 1, How::Stopped, ""), Code::NotAllowed);
        desk.end_run(&worker(), id, 1, How::Completed, "done").unwrap();
        fails(desk.authenticate(&secret, Door::Mcp), Code::BadToken);
        desk.authenticate(&other, Door::Mcp).unwrap();
        let before = bench.entries();
        desk.end_run(&worker(), id, 1, How::Completed, "done").unwrap();
        assert_eq!(bench.entries(), before, "ended once");
        fails(desk.end_run(&worker(), id, 1, How::Failed, ""), Code::WrongState);
    }
}
