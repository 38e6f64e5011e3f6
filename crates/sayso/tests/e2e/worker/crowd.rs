//! Many tasks, half of which wait for a person: no worker is ever idle while a task is ready, and
//! several share the load. `SAYSO_CROWD=1000` makes it a bigger crowd.

#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::{COMPLETE, Project};
use crate::harness::{Backend, Space, Who};
use crate::reliability::{ann, desk};
use sayso_core::Timestamp;
use sayso_core::run::{Run, RunState};
use sayso_core::task::TaskStatus;
use sayso_engine::{Desk, GateFilter, NewTask, TaskFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

const JOBS: usize = 4;

/// How much of the time of all jobs may go by between two turns: ending one, and taking the next.
const IDLE_MAX: f64 = 0.5;

/// How long nothing may begin while a job is free and a task is ready. People take longer.
const GAP_MAX: Duration = Duration::from_secs(3);

#[test]
fn nobody_is_idle_while_a_task_is_ready_sqlite() {
    run(&Space::new(Backend::Sqlite), 200);
}

#[test]
fn nobody_is_idle_while_a_task_is_ready_postgres() {
    run(&Space::new(Backend::Postgres), 100);
}

fn run(space: &Space, tasks: usize) {
    let wanted = std::env::var("SAYSO_CROWD").ok().and_then(|text| text.parse().ok());
    let crowd = Crowd::new(space, wanted.unwrap_or(tasks));
    crowd.half_of_them_ask();
    crowd.all_are_answered_and_two_workers_share();
    space.verify();
}

struct Crowd<'a> {
    project: Project<'a>,
    desk: Desk,
    tasks: usize,
}

impl<'a> Crowd<'a> {
    fn new(space: &'a Space, tasks: usize) -> Self {
        let script = format!(
            "scenes:\n  - match: Ask me\n    turns:\n      - - final: '<promise>INPUT_NEEDED: What?</promise>'\n      \
             - - expect: that one\n        - final: {COMPLETE:?}\n  - match: Just do\n    turns:\n      - - write: \
             {{out.txt: done}}\n        - final: {COMPLETE:?}\n"
        );
        let project = Project::new(space, &script, "");
        let desk = desk(space);
        for n in 0..tasks {
            let title = format!("{} {n}", if n % 2 == 0 { "Ask me" } else { "Just do" });
            let new = NewTask {
                id: desk.new_task_id(),
                title,
                body: String::new(),
                sort: "task".into(),
                priority: 2,
                size: None,
                labels: BTreeSet::new(),
                parent: None,
                blocked_by: BTreeSet::new(),
                requires: None,
                awaiting: None,
            };
            desk.create_task(&ann(), new).unwrap();
        }
        Self { project, desk, tasks }
    }

    /// Every task gets its turn, whatever waits for people meanwhile; then the worker ends by itself.
    fn half_of_them_ask(&self) {
        let half = self.tasks / 2;
        let began = Instant::now();
        let tally = self.project.work(&["--jobs", &JOBS.to_string(), "--json"]).json();
        let took = began.elapsed();
        assert_eq!((&tally["completed"], &tally["asked"]), (&half.into(), &half.into()), "{tally}");
        let runs = self.runs();
        assert_eq!(runs.len(), self.tasks, "one turn each");
        let idle = Idle::of(&runs, self.tasks);
        println!(
            "{:?}: {} turns with {JOBS} jobs in {took:?}, {:.1} a second; {idle:?}",
            self.project.space.backend,
            runs.len(),
            per_second(runs.len(), took),
        );
        assert!(idle.share < IDLE_MAX, "{idle:?}");
        assert!(idle.longest_gap < GAP_MAX, "{idle:?}");
        assert!(idle.most_at_once == JOBS, "{idle:?}");
    }

    /// While somebody answers one after the other, two workers do what becomes ready.
    fn all_are_answered_and_two_workers_share(&self) {
        let space = self.project.space;
        let began = Instant::now();
        let mut workers: Vec<_> = (0..2)
            .map(|_| {
                let mut command = space.command(Who::Script, &["work", "--watch", "--jobs", "2"]);
                // Nobody reads what they say.
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let before: BTreeSet<_> = self.runs().iter().map(|run| run.started.id).collect();
        let filter = GateFilter { limit: self.tasks, ..GateFilter::default() };
        let open = self.desk.gates(&ann(), filter).unwrap().items;
        assert_eq!(open.len(), self.tasks / 2);
        for gate in &open {
            space.ann(&["respond", &gate.opened.id.to_string(), "that one"]).ok();
        }
        let answered = began.elapsed();
        let end = Instant::now() + Duration::from_secs(60) + answered * 4;
        while self.open_tasks() > 0 {
            assert!(Instant::now() < end, "{} tasks are still open", self.open_tasks());
            std::thread::sleep(Duration::from_millis(50));
        }
        let took = began.elapsed();
        let process = |pid: u32| rustix::process::Pid::from_raw(pid as i32).unwrap();
        for worker in &mut workers {
            rustix::process::kill_process(process(worker.id()), rustix::process::Signal::TERM)
                .unwrap();
            assert!(worker.wait().unwrap().success());
        }
        let runs = self.runs();
        let news: Vec<_> = runs.iter().filter(|run| !before.contains(&run.started.id)).collect();
        assert_eq!(news.len(), open.len(), "one turn for each answer");
        let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
        for run in &news {
            *shares.entry(&run.started.holder.process).or_default() += 1;
        }
        println!(
            "{:?}: {} answers in {answered:?}, all done after {took:?}, {:.1} a second, by {shares:?}",
            space.backend,
            open.len(),
            per_second(news.len(), took),
        );
        assert_eq!(shares.len(), 2, "both workers got work");
        assert!(shares.values().all(|share| *share * 10 >= news.len()), "{shares:?}");
        self.check_all_is_done();
    }

    fn check_all_is_done(&self) {
        let mut tasks = 0;
        for row in self.all_tasks() {
            assert_eq!(row.status, TaskStatus::Closed, "{row:?}");
            let runs = self.desk.runs_of(row.id, 10).unwrap();
            for pair in runs.windows(2) {
                let [later, earlier] = pair else { unreachable!() };
                assert!(ended(earlier) <= later.started_at, "one at a time: {earlier:?} {later:?}");
            }
            tasks += 1;
        }
        assert_eq!(tasks, self.tasks);
    }

    fn open_tasks(&self) -> usize {
        let filter = TaskFilter { limit: self.tasks, ..TaskFilter::default() };
        self.desk.tasks(&filter).unwrap().items.len()
    }

    fn all_tasks(&self) -> Vec<sayso_core::task::Task> {
        let filter = TaskFilter { all: true, limit: self.tasks, ..TaskFilter::default() };
        self.desk.tasks(&filter).unwrap().items.into_iter().map(|row| row.task).collect()
    }

    fn runs(&self) -> Vec<Run> {
        let of = |task: &sayso_core::task::Task| self.desk.runs_of(task.id, 10).unwrap();
        self.all_tasks().iter().flat_map(of).collect()
    }
}

/// How well the jobs were used while there was something to do.
#[derive(Debug)]
struct Idle {
    /// Of the time jobs could have worked, how much they did not.
    share: f64,
    /// The longest time in which a job was free, a task was ready, and nothing began.
    longest_gap: Duration,
    most_at_once: usize,
}

impl Idle {
    /// Of runs whose tasks were all ready from the beginning.
    fn of(runs: &[Run], tasks: usize) -> Self {
        let mut moments: Vec<(Timestamp, bool)> = vec![];
        for run in runs {
            moments.extend([(run.started_at, true), (ended(run), false)]);
        }
        moments.sort();
        let (mut live, mut begun, mut most) = (0_usize, 0_usize, 0);
        let (mut idle, mut could) = (0.0, 0.0);
        let (mut gap, mut longest) = (0, 0);
        let mut last = moments[0].0;
        for (at, begins) in moments {
            let span = at.as_micros() - last.as_micros();
            let possible = JOBS.min(live + tasks - begun);
            idle += (possible - live) as f64 * span as f64;
            could += possible as f64 * span as f64;
            gap = if possible > live { gap + span } else { 0 };
            longest = longest.max(gap);
            last = at;
            match begins {
                true => (live, begun, gap) = (live + 1, begun + 1, 0),
                false => live -= 1,
            }
            most = most.max(live);
        }
        let longest_gap = Duration::from_micros(longest as u64);
        Self { share: idle / could, longest_gap, most_at_once: most }
    }
}

fn ended(run: &Run) -> Timestamp {
    let RunState::Ended { at, .. } = &run.state else { panic!("{run:?}") };
    *at
}

fn per_second(turns: usize, took: Duration) -> f64 {
    turns as f64 / took.as_secs_f64()
}
