//! Workers and agents that are killed, stopped and ended at any moment: nothing is asked twice, no
//! answer is lost, no work is lost, and no two runs of one task are ever alive together (R7, R8, R30).
//!
//! The agent is a shell script around the scripted one. It holds a lock for as long as anything it
//! started is alive, hidden processes included, so the next run of a task sees for itself whether
//! something of an earlier one is left. `SAYSO_CYCLES` makes it longer, `SAYSO_SEED` different.

#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::Project;
use super::budgets::until;
use crate::harness::{Backend, SAYSO, Space, Who};
use crate::reliability::{Chance, ann, desk};
use rustix::process::{Pid, Signal, kill_process};
use sayso_core::gate::{DeliveryState, Gate};
use sayso_core::run::{Run, RunEndKind, RunState};
use sayso_core::task::{Task, TaskStatus};
use sayso_core::{GateKind, Verdict};
use sayso_engine::{Desk, GateFilter, TaskFilter};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LEASE: Duration = Duration::from_secs(3);

/// Two workers are always there.
const WORKERS: u64 = 2;

/// So many tasks are under way for as long as there is chaos.
const UNDER_WAY: usize = 7;

/// How long everything may take to come to rest when the chaos is over.
const REST_MAX: Duration = Duration::from_secs(120);

#[test]
fn nothing_is_lost_or_doubled_sqlite() {
    run(&Space::new(Backend::Sqlite), 40);
}

#[test]
fn nothing_is_lost_or_doubled_postgres() {
    run(&Space::new(Backend::Postgres), 20);
}

/// A sort of task: what its agent does at each stage. A stage is how many answers it has had.
struct Sort {
    name: &'static str,
    stages: &'static [&'static str],
    is_signed_off: bool,
}

const SORTS: [Sort; 6] = [
    Sort {
        name: "kind-asks",
        stages: &[
            "- say: I work.\n- sleep: 0.2\n- final: '<promise>INPUT_NEEDED: Question 1?</promise>'",
            "- sleep: 0.2\n- final: '<promise>INPUT_NEEDED: Question 2?</promise>'",
            "- sleep: 0.1\n- final: '<promise>COMPLETE</promise>'",
        ],
        is_signed_off: false,
    },
    Sort {
        name: "kind-live",
        stages: &[
            "- ask: ['Question 1?', --wait]\n- run: \"echo '{answer}' | grep -q 'answer 1 '\"\n- sleep: 0.3\n\
             - final: '<promise>COMPLETE</promise>'",
            "- sleep: 0.2\n- final: '<promise>COMPLETE</promise>'",
        ],
        is_signed_off: false,
    },
    Sort {
        name: "kind-both",
        stages: &[
            "- ask: ['Question 1?', --wait]\n- run: \"echo '{answer}' | grep -q 'answer 1 '\"\n\
             - final: '<promise>INPUT_NEEDED: Question 2?</promise>'",
            "- say: I work.\n- sleep: 0.3\n- final: '<promise>INPUT_NEEDED: Question 2?</promise>'",
            "- final: '<promise>COMPLETE</promise>'",
        ],
        is_signed_off: false,
    },
    Sort {
        name: "kind-hides",
        stages: &[
            "- does: hide\n- fork: {seconds: 900}\n- sleep: 0.3\n- final: '<promise>INPUT_NEEDED: Question 1?</promise>'",
            "- fork: {seconds: 900}\n- sleep: 0.3\n- final: '<promise>COMPLETE</promise>'",
        ],
        is_signed_off: false,
    },
    Sort {
        name: "kind-deaf",
        stages: &[
            "- ignore_term: true\n- sleep: 0.5\n- final: '<promise>INPUT_NEEDED: Question 1?</promise>'",
            "- ignore_term: true\n- fork: {seconds: 900}\n- sleep: 0.5\n- final: '<promise>COMPLETE</promise>'",
        ],
        is_signed_off: false,
    },
    Sort {
        name: "kind-signed",
        stages: &["- sleep: 0.3\n- final: '<promise>COMPLETE</promise>'"],
        is_signed_off: true,
    },
];

/// The agent. What it is told makes it begin; from then on nothing of an earlier run may be left.
const AGENT: &str = r#"#!/bin/sh
prompt="STATE/$SAYSO_TASK.$$.prompt"
cat > "$prompt"
[ -s "$prompt" ] || exit 1
exec 9>> "STATE/$SAYSO_TASK.lock"
flock -n 9 || {
  echo "$SAYSO_TASK, run $SAYSO_RUN, process $$, and with it:"
  for fd in $(ls -l /proc/[0-9]*/fd/9 2> /dev/null | grep "$SAYSO_TASK.lock" | grep -o '/proc/[0-9]*'); do
    [ "$fd" = "/proc/$$" ] || echo "$fd $(tr '\0' ' ' < "$fd/cmdline") $(tr '\0' '\n' < "$fd/environ" | grep SAYSO_RUN)"
  done
} >> STATE/overlaps
for part in $(cat "STATE/$SAYSO_TASK.parts" 2> /dev/null); do
  [ -e "$part" ] || echo "$SAYSO_TASK $part" >> STATE/lost
done
part="part-$SAYSO_RUN"
echo "$SAYSO_RUN" > "$part"
echo "$part" >> "STATE/$SAYSO_TASK.parts"
sort=$(grep -o 'kind-[a-z]*' "$prompt" | head -n 1)
stage=0
while grep -q "answer $((stage + 1)) for $SAYSO_TASK" "$prompt"; do stage=$((stage + 1)); done
exec SAYSO __scripted "STATE/$sort-$stage.yaml" "$@" < "$prompt"
"#;

const SETTINGS: &str =
    "  jobs: 2\n  lease: 3s\n  retry: 1s\n  fruitless: 1000000\n  turns: 1000000\n  land: merge";

fn run(space: &Space, cycles: u64) {
    let wanted = std::env::var("SAYSO_CYCLES").ok().and_then(|text| text.parse().ok());
    let chaos = Chaos::new(space, wanted.unwrap_or(cycles));
    std::thread::scope(|scope| {
        for slot in 0..WORKERS {
            let chaos = &chaos;
            scope.spawn(move || chaos.torment(slot));
        }
        chaos.attend();
    });
    chaos.check();
}

#[derive(Debug, Default)]
struct Counts {
    cycles: AtomicU64,
    workers_killed: AtomicU64,
    /// … while they had runs.
    workers_killed_at_work: AtomicU64,
    agents_killed: AtomicU64,
    both_killed: AtomicU64,
    stopped_past_the_lease: AtomicU64,
    ended_politely: AtomicU64,
    answers: AtomicU64,
    begun_with_an_old_id: AtomicU64,
    ended_before_they_listened: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Counts when it goes, also if that is because something failed.
struct CountedAtEnd<'a>(&'a AtomicU64);

impl Drop for CountedAtEnd<'_> {
    fn drop(&mut self) {
        count(self.0);
    }
}

/// What can happen to a worker and its agents.
#[derive(Clone, Copy)]
enum Blow {
    KillWorker,
    KillAgent,
    KillBoth,
    Stop,
    Terminate,
}

/// Each sort of blow as often as it is due, in any order.
fn shuffled(chance: &mut Chance) -> Vec<Blow> {
    let due = [
        (Blow::KillWorker, 3),
        (Blow::KillAgent, 3),
        (Blow::KillBoth, 2),
        (Blow::Stop, 2),
        (Blow::Terminate, 1),
    ];
    let mut deck: Vec<_> = due.iter().flat_map(|(blow, n)| vec![*blow; *n]).collect();
    for end in (1..deck.len()).rev() {
        deck.swap(end, chance.below(end as u64 + 1) as usize);
    }
    deck
}

/// A worker; a test that fails leaves none behind.
pub struct Worker(pub Child);

impl Worker {
    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Chaos<'a> {
    project: Project<'a>,
    desk: Desk,
    state: PathBuf,
    cycles: u64,
    counts: Counts,
    /// How many slots are done with their chaos; their workers go on.
    calm: AtomicU64,
    workers: Mutex<Vec<Worker>>,
    began: Instant,
}

impl<'a> Chaos<'a> {
    fn new(space: &'a Space, cycles: u64) -> Self {
        println!("SAYSO_SEED={} SAYSO_CYCLES={cycles}", Chance::seed());
        let project = Project::new(space, "scenes: [{turns: [[]]}]", SETTINGS);
        let state = space.path().join(".sayso/state");
        std::fs::create_dir(&state).unwrap();
        for sort in &SORTS {
            for (stage, steps) in sort.stages.iter().enumerate() {
                let script = super::turns(&[steps]);
                std::fs::write(state.join(format!("{}-{stage}.yaml", sort.name)), script).unwrap();
            }
        }
        let agent = state.join("agent.sh");
        let text = AGENT.replace("STATE", state.to_str().unwrap());
        std::fs::write(&agent, text.replace("exec SAYSO ", &format!("exec {SAYSO} "))).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let settings = project.read(".sayso/config.yaml").unwrap();
        let scripted = format!("program: {SAYSO}\n    args: [__scripted, ");
        assert!(settings.contains(&scripted));
        let from = settings.find("    args: [").unwrap();
        let to = from + settings[from..].find('\n').unwrap() + 1;
        let mut settings = settings.clone();
        settings.replace_range(from..to, "");
        project.write(
            ".sayso/config.yaml",
            &settings
                .replace(&format!("program: {SAYSO}"), &format!("program: {}", agent.display())),
        );
        space.trust();
        Self {
            project,
            desk: desk(space),
            state,
            cycles,
            counts: Counts::default(),
            calm: AtomicU64::default(),
            workers: Mutex::default(),
            began: Instant::now(),
        }
    }

    fn space(&self) -> &Space {
        self.project.space
    }

    /// Starts a worker; what it says goes to a file.
    fn start(&self) -> Worker {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("worker-{}.err", COUNT.fetch_add(1, Relaxed));
        let said = File::create(self.state.join(name)).unwrap();
        let mut command = self.space().command(Who::Script, &["work", "--watch"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        Worker(command.spawn().unwrap())
    }

    /// Does one terrible thing after the other to one worker and its agents.
    fn torment(&self, slot: u64) {
        let mut chance = Chance::new(1_000 + slot);
        let _calm = CountedAtEnd(&self.calm);
        let mut worker = self.start();
        let (mut leaving, mut deck) = (vec![], vec![]);
        while self.counts.cycles.fetch_add(1, Relaxed) < self.cycles {
            std::thread::sleep(Duration::from_millis(150 + chance.below(1_300)));
            self.check_is_well(&mut worker);
            if deck.is_empty() {
                deck = shuffled(&mut chance);
            }
            match deck.pop().unwrap() {
                Blow::KillWorker => {
                    self.kill(&mut worker);
                    count(&self.counts.workers_killed);
                    worker = self.start();
                }
                Blow::KillAgent => {
                    let agents = self.agents_of(&worker);
                    let agent = agents.get(chance.below(agents.len() as u64) as usize);
                    let hit = agent.map_or(0, |pid| signal(*pid, Signal::KILL));
                    self.counts.agents_killed.fetch_add(hit, Relaxed);
                }
                Blow::KillBoth => {
                    let agents = self.agents_of(&worker);
                    self.kill(&mut worker);
                    let hit: u64 = agents.iter().map(|pid| signal(*pid, Signal::KILL)).sum();
                    self.counts.both_killed.fetch_add(hit.min(1), Relaxed);
                    worker = self.start();
                }
                Blow::Stop => self.stop_past_the_lease(&worker, &mut chance),
                Blow::Terminate => {
                    signal(worker.id(), Signal::TERM);
                    count(&self.counts.ended_politely);
                    leaving.push(std::mem::replace(&mut worker, self.start()));
                }
            }
        }
        self.workers.lock().unwrap().push(worker);
        for mut worker in leaving {
            self.end(&mut worker);
        }
    }

    /// A worker that nobody killed goes on for ever.
    fn check_is_well(&self, worker: &mut Worker) {
        if let Some(status) = worker.0.try_wait().unwrap() {
            panic!("a worker ended by itself, {status}: {}", self.said());
        }
    }

    /// The agents of a worker, when it has some; it gets a moment to start one.
    fn agents_of(&self, worker: &Worker) -> Vec<u32> {
        let end = Instant::now() + Duration::from_secs(2);
        loop {
            let agents = agents_of(worker.id());
            if !agents.is_empty() || Instant::now() > end {
                return agents;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn kill(&self, worker: &mut Worker) {
        let had_runs = !self.runs_held_by(worker.id()).is_empty();
        worker.0.kill().unwrap();
        assert_eq!(worker.0.wait().unwrap().signal(), Some(9), "{}", self.said());
        self.counts.workers_killed_at_work.fetch_add(u64::from(had_runs), Relaxed);
    }

    fn stop_past_the_lease(&self, worker: &Worker, chance: &mut Chance) {
        signal(worker.id(), Signal::STOP);
        let had_runs = !self.runs_held_by(worker.id()).is_empty();
        std::thread::sleep(LEASE + Duration::from_millis(200 + chance.below(1_500)));
        signal(worker.id(), Signal::CONT);
        self.counts.stopped_past_the_lease.fetch_add(u64::from(had_runs), Relaxed);
    }

    fn runs_held_by(&self, worker: u32) -> Vec<Run> {
        let prefix = format!("{worker}:");
        let mut runs = self.desk.live_runs().unwrap();
        runs.retain(|run| run.started.holder.process.starts_with(&prefix));
        runs
    }

    /// Is the person who answers everything, and makes new tasks for as long as there is chaos.
    fn attend(&self) {
        let mut made = 0;
        let mut calm_since = None;
        loop {
            let left = self.desk.tasks(&TaskFilter { limit: 1_000, ..TaskFilter::default() });
            let left = left.unwrap().items.len();
            let is_calm = self.calm.load(Relaxed) == WORKERS;
            for _ in left..(if is_calm { 0 } else { UNDER_WAY }) {
                let sort = &SORTS[made % SORTS.len()];
                let title = format!("{} {made}", sort.name);
                let signed_off: &[&str] =
                    if sort.is_signed_off { &["--requires", "approval"] } else { &[] };
                self.space().create(&[&[title.as_str()], signed_off].concat());
                made += 1;
            }
            self.answer_everything();
            if is_calm {
                let since = *calm_since.get_or_insert_with(Instant::now);
                if left == 0 && self.undelivered().is_empty() {
                    println!("at rest {:?} after the chaos", since.elapsed());
                    return;
                }
                assert!(since.elapsed() < REST_MAX, "no rest: {}", self.where_it_stands());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn answer_everything(&self) {
        let filter = GateFilter { limit: 1_000, ..GateFilter::default() };
        for gate in self.desk.gates(&ann(), filter).unwrap().items {
            let handle = gate.opened.id.to_string();
            let task = self.desk.task(gate.opened.task.unwrap()).unwrap().task.handle;
            let number = gate
                .card
                .question
                .strip_prefix("Question ")
                .and_then(|rest| rest.strip_suffix('?'));
            let ran = match (gate.opened.kind, number) {
                (GateKind::Approval, _) => self.space().ann(&["approve", &handle]),
                // Each task has its own answer to what all of them ask.
                (_, Some(number)) => {
                    let answer = format!("answer {number} for {task}");
                    self.space().ann(&["respond", &handle, &answer, "--only"])
                }
                (kind, None) => {
                    panic!("nobody wrote this question ({kind}): {}", gate.card.question)
                }
            };
            ran.ok();
            count(&self.counts.answers);
        }
    }

    fn undelivered(&self) -> Vec<Gate> {
        let is_delivered =
            |gate: &Gate| matches!(gate.delivery, DeliveryState::Acknowledged { .. });
        self.gates().into_iter().filter(|gate| !is_delivered(gate)).collect()
    }

    fn gates(&self) -> Vec<Gate> {
        let mut gates = vec![];
        for task in self.tasks() {
            let filter = GateFilter { task: Some(task.id), limit: 100, ..GateFilter::default() };
            gates.extend(self.desk.gates(&ann(), filter).unwrap().items);
        }
        gates
    }

    fn tasks(&self) -> Vec<Task> {
        let mut filter = TaskFilter { all: true, limit: 1_000, ..TaskFilter::default() };
        let mut tasks = vec![];
        loop {
            let page = self.desk.tasks(&filter).unwrap();
            tasks.extend(page.items.into_iter().map(|row| row.task));
            filter.after = tasks.last().map(|task| task.id);
            if !page.more {
                return tasks;
            }
        }
    }

    /// Everything that must hold when all is at rest.
    fn check(self) {
        for mut worker in self.workers.lock().unwrap().drain(..) {
            signal(worker.id(), Signal::TERM);
            self.end(&mut worker);
        }
        let tasks = self.tasks();
        let mut runs = vec![];
        let (mut questions, mut parts) = (0, 0);
        for task in &tasks {
            assert_eq!(task.status, TaskStatus::Closed, "{task:?}");
            let of_task = self.desk.runs_of(task.id, 1_000).unwrap();
            self.check_runs_follow_each_other(task, &of_task);
            questions += self.check_asked_once(task);
            parts += self.check_work_is_there(task);
            runs.extend(of_task);
        }
        assert_eq!(
            read(&self.state.join("overlaps")),
            "",
            "two runs of a task were alive together"
        );
        assert_eq!(read(&self.state.join("lost")), "", "work was lost");
        assert_eq!(left_behind(self.space().path(), &runs), Vec::<String>::new());
        assert_eq!(self.project.git(&["status", "--porcelain"]), "");
        self.space().verify();
        self.report(&tasks, &runs, questions, parts);
    }

    fn check_runs_follow_each_other(&self, task: &Task, runs: &[Run]) {
        for pair in runs.windows(2) {
            let [later, earlier] = pair else { unreachable!() };
            let RunState::Ended { at, .. } = &earlier.state else {
                panic!("run {} of {} is not over", earlier.started.id, task.handle)
            };
            assert!(earlier.started.fence < later.started.fence, "{earlier:#?} {later:#?}");
            assert!(*at <= later.started_at, "{earlier:#?} {later:#?}");
            // A worker that slept between making the id and starting the run.
            if earlier.started.id > later.started.id {
                count(&self.counts.begun_with_an_old_id);
            }
        }
    }

    /// Each scripted question was asked once, answered, and the answer reached the agent.
    fn check_asked_once(&self, task: &Task) -> usize {
        let sort = SORTS.iter().find(|sort| task.title.starts_with(sort.name)).unwrap();
        let filter = GateFilter { task: Some(task.id), limit: 100, ..GateFilter::default() };
        let gates = self.desk.gates(&ann(), filter).unwrap().items;
        let asked: Vec<_> = gates.iter().map(|gate| gate.card.question.as_str()).collect();
        let expected: Vec<_> = (1..sort.stages.len()).map(|n| format!("Question {n}?")).collect();
        match sort.is_signed_off {
            true => assert_eq!(gates.len(), 1, "{}: {asked:?}", task.title),
            false => assert_eq!(asked, expected, "{}", task.title),
        }
        let verdict = if sort.is_signed_off { Verdict::Approved } else { Verdict::Answered };
        for gate in &gates {
            let (answer, _) = gate.answer().unwrap();
            assert_eq!(answer.verdict, verdict);
            assert!(matches!(gate.delivery, DeliveryState::Acknowledged { .. }), "{gate:?}");
        }
        gates.len()
    }

    /// Whatever any turn wrote, killed or not, is in what came home.
    fn check_work_is_there(&self, task: &Task) -> usize {
        let branch = self.project.branch(&task.handle);
        let files = self.project.git(&["ls-tree", "--name-only", &branch]);
        let home = self.project.git(&["ls-tree", "--name-only", "main"]);
        let written = read(&self.state.join(format!("{}.parts", task.handle)));
        for part in written.lines() {
            assert!(files.lines().any(|file| file == part), "{part} is not on {branch}: {files}");
            assert!(home.lines().any(|file| file == part), "{part} did not come home: {home}");
        }
        assert!(
            files.lines().any(|file| file == "README.md"),
            "{branch} lost what was there before"
        );
        assert!(!written.is_empty());
        written.lines().count()
    }

    fn report(&self, tasks: &[Task], runs: &[Run], questions: usize, parts: usize) {
        let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
        for run in runs {
            let RunState::Ended { how, .. } = &run.state else { unreachable!() };
            *endings.entry(how.as_str()).or_default() += 1;
        }
        let lost = endings.get(RunEndKind::Lost.as_str()).copied().unwrap_or(0) as u64;
        println!(
            "{:?}: {} tasks, {} runs {endings:?}, {questions} questions and deliveries, {parts} pieces of work, \
             in {:?}: {:?}",
            self.space().backend,
            tasks.len(),
            runs.len(),
            self.began.elapsed(),
            self.counts,
        );
        // At least a fraction of what was tried hit something, or this was for nothing.
        let counts = &self.counts;
        for (what, seen, per_cycles) in [
            ("workers killed at work", &counts.workers_killed_at_work, 8),
            ("agents killed", &counts.agents_killed, 10),
            ("workers and agents killed", &counts.both_killed, 14),
            ("stops past the lease", &counts.stopped_past_the_lease, 14),
            ("polite ends", &counts.ended_politely, 20),
            ("recoveries", &AtomicU64::new(lost), 4),
            ("answers", &counts.answers, 3),
        ] {
            let (seen, least) = (seen.load(Relaxed), self.cycles / per_cycles);
            assert!(seen >= least, "only {seen} {what}, not {least}");
        }
    }

    fn where_it_stands(&self) -> String {
        let left: Vec<_> = self.tasks().into_iter().filter(|task| !task.status.is_over()).collect();
        let runs: Vec<_> = left.iter().map(|task| self.desk.runs_of(task.id, 5)).collect();
        format!("{left:#?}\n{runs:#?}\n{:#?}\n{}", self.undelivered(), self.said())
    }

    /// A worker that was asked to end ends well, and soon. One that was asked before it listened just
    /// ends; then it must not have begun anything.
    fn end(&self, worker: &mut Worker) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = worker.0.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(40), "a worker does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        if status.signal() == Some(Signal::TERM.as_raw()) {
            let prefix = format!("{}:", worker.id());
            let is_its = |run: &Run| run.started.holder.process.starts_with(&prefix);
            let of = |task: &Task| self.desk.runs_of(task.id, 1_000).unwrap();
            let begun = self.tasks().iter().flat_map(of).filter(is_its).count();
            assert_eq!(begun, 0, "{status}, and it had begun: {}", self.said());
            count(&self.counts.ended_before_they_listened);
            return;
        }
        // With 143 it was ended while an agent was at work.
        let code = status.code();
        assert!([Some(0), Some(143)].contains(&code), "{status}: {}", self.said());
    }

    /// What the last workers said.
    fn said(&self) -> String {
        let files = std::fs::read_dir(&self.state).unwrap().flatten().map(|file| file.path());
        let mut said: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|e| e == "err")).collect();
        said.sort_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
        let last = said.iter().rev().take(4);
        last.map(|path| format!("{}:\n{}\n", path.display(), read(path))).collect()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether there was somebody to hear it.
fn signal(process: u32, signal: Signal) -> u64 {
    let pid = Pid::from_raw(process as i32).unwrap();
    u64::from(kill_process(pid, signal).is_ok())
}

/// The agents a worker has started and not waited for; they lead a group of their own.
fn agents_of(worker: u32) -> Vec<u32> {
    let is_agent = |(pid, environment): &(u32, Vec<u8>)| {
        stat(*pid) == Some((worker, *pid)) && mark_in(environment).is_some()
    };
    processes().into_iter().filter(is_agent).map(|(pid, _)| pid).collect()
}

/// The processes there are, with their environments.
fn processes() -> Vec<(u32, Vec<u8>)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .map(|pid| (pid, std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()))
        .collect()
}

fn mark_in(environment: &[u8]) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let mark = variables.find_map(|variable| variable.strip_prefix(b"SAYSO_RUN="))?;
    Some(String::from_utf8_lossy(mark).into_owned())
}

/// The parent and the group of a process, if it is alive.
fn stat(pid: u32) -> Option<(u32, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_alive = !matches!(fields.next()?, "Z" | "X");
    let mut number = || fields.next()?.parse().ok();
    Some((number()?, number()?)).filter(|_| is_alive)
}

/// Processes that carry the mark of a run, or work in the space's folders.
fn left_behind(folder: &Path, runs: &[Run]) -> Vec<String> {
    let marks: Vec<_> = runs.iter().map(|run| run.started.id.to_string()).collect();
    let is_left = |(pid, environment): &(u32, Vec<u8>)| {
        let is_marked = mark_in(environment).is_some_and(|mark| marks.contains(&mark));
        let is_here =
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        (is_marked || is_here) && stat(*pid).is_some()
    };
    let name = |pid: u32| read(Path::new(&format!("/proc/{pid}/cmdline"))).replace('\0', " ");
    processes().into_iter().filter(is_left).map(|(pid, _)| format!("{pid} {}", name(pid))).collect()
}

/// A worker that slept past its lease while it checked the work: the next one ends the check and goes
/// on; the first one wakes up, sees that the run is not its own any more, and touches nothing.
#[test]
fn a_check_that_was_slept_through_is_ended_and_counts_for_nothing() {
    let space = Space::new(Backend::Sqlite);
    let (slow, seen) = (space.path().join("slow"), space.path().join("seen"));
    let check =
        format!("test ! -e {} || {{ touch {}; sleep 300; }}", slow.display(), seen.display());
    let script = super::turns(&[&super::writes("work.txt", "done", super::COMPLETE)]);
    let settings = format!("  land: merge\n  lease: 1s\n  check: '{check}'");
    let project = Project::new(&space, &script, &settings);
    project.write(".gitignore", "*.token\nxdg/\n.sayso/\nslow\nseen\n");
    project.git(&["commit", "--quiet", "-am", "ignore"]);
    let task = space.create(&["Check me"]);
    std::fs::write(&slow, "").unwrap();
    let sleeper = space.start(Who::Script, &["work"]);
    until(|| seen.exists().then_some(()));
    signal(sleeper.id(), Signal::STOP);
    std::fs::remove_file(&slow).unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    project.work(&[]).says("its worker is gone").says("merged into main").ok();
    signal(sleeper.id(), Signal::CONT);
    let slept = crate::harness::Ran::of(&sleeper.wait_with_output().unwrap());
    slept.says("no longer ours").says("0 completed").never_says("merged").ok();
    assert_eq!(project.endings(&task), ["lost", "completed"]);
    assert_eq!(project.read("work.txt").as_deref(), Some("done"));
    let runs = desk(&space).runs_of(desk(&space).find_task(&task).unwrap(), 10).unwrap();
    assert_eq!(left_behind(space.path(), &runs), Vec::<String>::new());
    space.verify();
}

/// A worker that slept past its lease before its agent began does not let it begin.
#[test]
fn an_agent_whose_worker_slept_too_long_does_not_begin() {
    let space = Space::new(Backend::Sqlite);
    let agent = format!("- sleep: 2\n{}", super::says(super::COMPLETE));
    let project = Project::new(&space, &super::turns(&[&agent]), "  lease: 1s");
    let task = space.create(&["Sleep first"]);
    let seen = space.path().join("xdg/seen");
    let mut command =
        with_another_git(&space, &slow_tree(&format!("touch {}; sleep 3", seen.display()), ""));
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let sleeper = piped.spawn().unwrap();
    until(|| seen.exists().then_some(()));
    signal(sleeper.id(), Signal::STOP);
    std::thread::sleep(Duration::from_millis(1_500));
    let next = space.start(Who::Script, &["work"]);
    until(|| (project.endings(&task)[0] == "lost").then_some(()));
    signal(sleeper.id(), Signal::CONT);
    let [slept, _] = [sleeper, next].map(|worker| {
        let ran = crate::harness::Ran::of(&worker.wait_with_output().unwrap());
        ran.clone().ok();
        ran
    });
    slept.says("no longer ours");
    let live = read(&space.path().join(format!(".sayso/.scripted/{task}.live")));
    assert_eq!(live.lines().filter(|line| line.starts_with("begin")).count(), 1, "{live}");
    assert_eq!(project.endings(&task), ["lost", "completed"]);
    space.verify();
}

/// A worker dies while git makes a tree, and git, which nobody finds, goes on: the next worker waits
/// until the tree is made instead of taking it apart in its hands.
#[test]
fn a_tree_that_is_still_being_made_is_waited_for() {
    let space = Space::new(Backend::Sqlite);
    let (seen, made) = (space.path().join("xdg/seen"), space.path().join("xdg/made"));
    let agent = format!("- run: test -e {}\n{}", made.display(), super::says(super::COMPLETE));
    let project = Project::new(&space, &super::turns(&[&agent]), "");
    let task = space.create(&["Take your time"]);
    let (before, after) =
        (format!("touch {}; sleep 2", seen.display()), format!("; touch {}", made.display()));
    let mut command = with_another_git(&space, &slow_tree(&before, &after));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut worker = Worker(command.spawn().unwrap());
    until(|| seen.exists().then_some(()));
    worker.0.kill().unwrap();
    // It is gone when it has been waited for, and not before.
    worker.0.wait().unwrap();
    project.work(&[]).says("its worker is gone").says("completed").ok();
    assert_eq!(project.endings(&task), ["lost", "completed"]);
    space.verify();
}

/// Git takes its time to make a tree. Without its mark it is like one that was started just after
/// somebody looked for marks.
fn slow_tree(before: &str, after: &str) -> String {
    format!(
        "*'worktree add'*) exec env -u SAYSO_RUN PATH=\"$real\" sh -c '{before}; git \"$@\"{after}' sh \"$@\";;"
    )
}

/// A worker for which some calls of git, as a case of the shell, are different.
fn with_another_git(space: &Space, case: &str) -> std::process::Command {
    let folder = space.path().join("xdg/bin");
    std::fs::create_dir_all(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let text = format!(
        "#!/bin/sh\nreal='{path}'\ncase \"$*\" in {case} esac\nPATH=\"$real\" exec git \"$@\"\n"
    );
    let git = folder.join("git");
    std::fs::write(&git, text).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = space.command(Who::Script, &["work"]);
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}
