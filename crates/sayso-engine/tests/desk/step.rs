//! Steps of flows with a real agent process and the real git: what counts, what does not, and what is
//! left when something goes wrong.

use crate::bench::{ann, new_task, worker};

use sayso_core::gate::Gate;
use sayso_core::run::{RunEndKind, RunState};
use sayso_core::task::TaskStatus;
use sayso_core::{Answer, AskThreshold, GateKind, TaskId};
use sayso_engine::agents::{self, AgentAdapter, AgentConfig};
use sayso_engine::worker::{
    AgentStep, CommandOutcome, CommandStep, CompletedStep, LandingPolicy, PathWatch, ShellCommand,
    StepCheck, StepOutcome, WorkBudget, WorkScope, Worker, WorkerConfig, holder,
};
use sayso_engine::worktree::{GitRepository, Worktree};
use sayso_engine::{
    Desk, GateFilter, NewTask, RuntimeEnv, SettingChange, SettingKind, StoreLocation,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A project with a desk, a task of a flow, and an agent that plays shell scripts, one for each time it
/// is told something.
struct Stage {
    folder: TempDir,
    desk: Desk,
    task: TaskId,
    stop: AtomicBool,
}

impl Stage {
    fn new(turns: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let place = StoreLocation::Sqlite(folder.path().join("sayso.db"));
        let (desk, _) = Desk::create(place, "test", &ann(), RuntimeEnv::real()).unwrap();
        let labels = BTreeSet::from(["flow:f1".to_owned()]);
        let new = NewTask { labels, ..new_task(desk.new_task_id(), "Ship it") };
        let task = desk.create_task(&ann(), new).unwrap().id;
        let stage = Self { folder, desk, task, stop: AtomicBool::new(false) };
        for part in ["project", "heard", "turns", "logs"] {
            std::fs::create_dir(stage.path(part)).unwrap();
        }
        for (at, turn) in turns.iter().enumerate() {
            std::fs::write(stage.path("turns").join(at.to_string()), turn).unwrap();
        }
        let (heard, turns) = (stage.path("heard"), stage.path("turns"));
        let script = format!(
            "n=$(ls {heard} | wc -l)\ncat > {heard}/$n.prompt\n\
             echo '{{\"sayso\":\"session\",\"id\":\"one\"}}'\n. {turns}/$n\n",
            heard = heard.display(),
            turns = turns.display(),
        );
        std::fs::write(stage.path("agent.sh"), script).unwrap();
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        stage.git(&["config", "user.name", "ann"]);
        stage.git(&["config", "user.email", "ann@localhost"]);
        for (path, text) in [("a.txt", "one\n"), ("tests.txt", "strict\n")] {
            std::fs::write(stage.path("project").join(path), text).unwrap();
        }
        stage.git(&["add", "--all"]);
        stage.git(&["commit", "--quiet", "-m", "begin"]);
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        let project = self.path("project");
        let output = Command::new("git").arg("-C").arg(project).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn repository(&self) -> GitRepository {
        GitRepository::open(&self.path("project"), self.path("trees"), None).unwrap()
    }

    fn setup(&self, step: Option<AgentStep>) -> WorkerConfig {
        let agent = AgentConfig {
            name: "coder".into(),
            adapter: AgentAdapter::Command,
            program: "sh".into(),
            args: vec![self.path("agent.sh").display().to_string()],
            resume_args: vec!["{session}".into()],
            model: None,
        };
        let scope = WorkScope { tasks: BTreeSet::from([self.task]), ..WorkScope::default() };
        let repository = self.repository();
        WorkerConfig {
            actor: worker(),
            holder: holder(repository.root()),
            agents: BTreeMap::from([(agent.name.clone(), agent)]),
            agent: "coder".into(),
            environment: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
            allowed_variables: vec![],
            variables: vec![],
            roles: BTreeMap::from([("test".to_owned(), "You test.".to_owned())]),
            preamble: String::new(),
            threshold: AskThreshold::USUAL,
            check: None,
            confidence_min: 0,
            land: LandingPolicy::Merge,
            logs: self.path("logs"),
            lease: Duration::from_secs(60),
            turn_max: Duration::from_secs(60),
            no_progress_max: 2,
            turns_max: 20,
            retry: Duration::from_millis(10),
            jobs: 1,
            budget: WorkBudget::default(),
            scope,
            supervisor: None,
            hooks: None,
            step,
            repository,
        }
    }

    fn go(&self, step: &AgentStep) -> StepOutcome {
        self.go_with(self.setup(Some(step.clone())))
    }

    fn go_with(&self, setup: WorkerConfig) -> StepOutcome {
        Worker::new(self.desk.clone(), setup, &|_| {}, &self.stop).step().unwrap()
    }

    #[track_caller]
    fn completes(&self, step: &AgentStep) -> CompletedStep {
        match self.go(step) {
            StepOutcome::Completed(stepped) => stepped,
            other => panic!("{other:?}"),
        }
    }

    /// What the agent was told, each time.
    fn heard(&self) -> Vec<String> {
        let read =
            |n: usize| std::fs::read_to_string(self.path("heard").join(format!("{n}.prompt")));
        (0..).map_while(|n| read(n).ok()).collect()
    }

    fn open_gate(&self) -> Gate {
        let filter = GateFilter { task: Some(self.task), limit: 10, ..GateFilter::default() };
        let gates = self.desk.gates(&ann(), filter).unwrap().items;
        gates.into_iter().find(Gate::is_open).expect("an open gate")
    }

    fn answer(&self, answer: Answer) {
        let gate = self.open_gate();
        self.desk.answer(&ann(), gate.opened.id, answer, gate.digest.as_str()).unwrap();
    }

    fn status(&self) -> TaskStatus {
        self.desk.task(self.task).unwrap().task.status
    }

    fn tree(&self) -> Worktree {
        let handle = self.desk.task(self.task).unwrap().task.handle;
        self.repository().existing(&handle).unwrap().expect("the task has a tree")
    }

    /// A file as the branch of the task has it.
    fn on_branch(&self, path: &str) -> Option<String> {
        let place = format!("{}:{path}", self.tree().branch);
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path("project"))
            .args(["show", &place])
            .output()
            .unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }
}

fn step(id: &str) -> AgentStep {
    AgentStep {
        id: id.into(),
        name: "plan".into(),
        instructions: "Write PLAN.md.".into(),
        agent: None,
        role: None,
        model: None,
        checks: vec![],
        retries: 1,
        writes: None,
    }
}

const COMPLETE: &str = "echo '<promise>COMPLETE</promise>'";

#[test]
fn a_step_is_kept_on_the_branch_and_the_task_stays_open() {
    let turn = "echo plan > PLAN.md\ncat <<'E'\nHere is what I did.\n```json\n\
                {\"status\": \"completed\", \"summary\": \"a plan\", \"confidence\": 0.9}\n```\nE\n";
    let stage = Stage::new(&[turn]);
    let step = AgentStep { role: Some("test".into()), ..step("1") };
    let stepped = stage.completes(&step);
    assert_eq!((stepped.summary.as_str(), stepped.confidence), ("a plan", Some(90)));
    assert!(stepped.text.starts_with("Here is what I did."), "{}", stepped.text);
    assert_eq!(stage.on_branch("PLAN.md").as_deref(), Some("plan\n"));
    assert_eq!(stage.tree().head().unwrap(), stepped.commit);
    assert!(!stage.path("project/PLAN.md").exists(), "nothing was brought home");
    assert_eq!(stage.status(), TaskStatus::Open);
    let run = &stage.desk.runs_of(stage.task, 10).unwrap()[0];
    let RunState::Ended { how: RunEndKind::Completed, note, .. } = &run.state else {
        panic!("{run:?}")
    };
    // By the mark whoever goes on with the flow knows that the step is done.
    assert!(note.starts_with("a plan [step ") && note.ends_with(']'), "{note}");
    assert_eq!(
        stage.go(&step),
        StepOutcome::Completed(CompletedStep {
            text: "a plan".into(),
            summary: "a plan".into(),
            ..CompletedStep::default()
        })
    );
    assert_eq!(stage.desk.runs_of(stage.task, 10).unwrap().len(), 1, "it is not done again");
    let told = &stage.heard()[0];
    for part in ["You test.", "this one is yours: plan", "Write PLAN.md.", "when your step is done"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Whatever an agent does to hide it, what it may not change does not count.
#[test]
fn changes_outside_of_what_may_be_changed_never_count() {
    let hidden = "echo plan > PLAN.md\necho lax > tests.txt\ngit add -A\ngit commit -qm mine\n\
                  echo strict > tests.txt\ngit update-index --assume-unchanged tests.txt\n";
    for (what, first) in [
        ("plainly", "echo plan > PLAN.md\necho lax > tests.txt\n"),
        (
            "in a commit",
            "echo plan > PLAN.md\necho lax > tests.txt\ngit add -A\ngit commit -qm mine\n",
        ),
        (
            "overlooked",
            "echo plan > PLAN.md\necho lax > tests.txt\ngit update-index --assume-unchanged tests.txt\n",
        ),
        ("in a commit and put back in the folder", hidden),
        ("in a new file", "echo plan > PLAN.md\nmkdir -p x\necho more > 'x/ PLAN.md'\n"),
        ("by taking one away", "echo plan > PLAN.md\nrm tests.txt\n"),
        ("by a link", "echo plan > PLAN.md\nrm a.txt\nln -s tests.txt a.txt\n"),
    ] {
        let first = format!("{first}{COMPLETE}\n");
        let mend = format!(
            "git update-index --no-assume-unchanged tests.txt 2>/dev/null\nrm -rf x a.txt\n\
             echo strict > tests.txt\necho one > a.txt\n{COMPLETE}\n"
        );
        let stage = Stage::new(&[&first, &mend]);
        let step = AgentStep { writes: Some(vec!["PLAN.md".into()]), ..step("1") };
        stage.completes(&step);
        let heard = stage.heard();
        assert_eq!(heard.len(), 2, "{what}");
        assert!(heard[1].contains("only PLAN.md may be changed"), "{what}: {}", heard[1]);
        assert!(!heard[1].contains("\nPLAN.md\n"), "{what}: {}", heard[1]);
        assert_eq!(stage.on_branch("tests.txt").as_deref(), Some("strict\n"), "{what}");
        assert_eq!(stage.on_branch("a.txt").as_deref(), Some("one\n"), "{what}");
        assert_eq!(stage.on_branch("PLAN.md").as_deref(), Some("plan\n"), "{what}");
    }
}

#[test]
fn what_must_hold_is_checked_and_the_agent_is_told_what_failed() {
    let turns = [
        format!("{COMPLETE}\n"),
        format!("echo TODO > PLAN.md\n{COMPLETE}\n"),
        format!("echo plan > PLAN.md\n{COMPLETE}\n"),
    ];
    let stage = Stage::new(&turns.each_ref().map(String::as_str));
    let value = ("SAYSO_VALUE_1".to_owned(), "plan".to_owned());
    let passes = ShellCommand {
        line: "grep -q \"${SAYSO_VALUE_1}\" PLAN.md".into(),
        variables: vec![value],
    };
    let checks = vec![
        StepCheck::File("PLAN.md".into()),
        StepCheck::Fails(ShellCommand::new("echo looking; grep TODO PLAN.md")),
        StepCheck::Passes(passes),
    ];
    let step = AgentStep { checks, retries: 2, ..step("1") };
    stage.completes(&step);
    let heard = stage.heard();
    assert_eq!(heard.len(), 3);
    assert!(heard[0].contains("- the file PLAN.md is there"), "{}", heard[0]);
    assert!(heard[1].contains("PLAN.md is not there"), "{}", heard[1]);
    assert!(heard[2].contains("is to fail") && heard[2].contains("looking\nTODO"), "{}", heard[2]);
}

/// A check that cannot be run, or a file outside, is no yes.
#[test]
fn what_cannot_be_checked_does_not_hold() {
    for check in [
        StepCheck::Passes(ShellCommand::new("kill -9 $$")),
        StepCheck::Fails(ShellCommand::new("kill -9 $$")),
        StepCheck::Fails(ShellCommand::new("no-such-program-here")),
        // What the shell ran was ended by a signal, and not the shell itself.
        StepCheck::Fails(ShellCommand::new("sh -c 'kill -9 $$'; exit")),
        // Only its last line would be what is meant.
        StepCheck::Passes(ShellCommand::new("false\ntrue")),
        StepCheck::File(String::new()),
        StepCheck::File(".".into()),
        StepCheck::File("./".into()),
        StepCheck::File("out/".into()),
        StepCheck::File("../a.txt".into()),
        StepCheck::File("/etc/hostname".into()),
        StepCheck::File("out".into()),
    ] {
        let turn = format!("ln -sfn /etc out\n{COMPLETE}\n");
        let stage = Stage::new(&[&turn, &turn, &turn, &turn]);
        let step = AgentStep { checks: vec![check.clone()], retries: 1, ..step("1") };
        // It may try once more, whatever is usual elsewhere; then the step has failed, and can be tried again.
        let StepOutcome::Failed(why) = stage.go(&step) else { panic!("{check:?}") };
        assert!(why.contains("2 attempts came to nothing"), "{check:?}: {why}");
        assert_eq!((stage.heard().len(), stage.status()), (2, TaskStatus::Open), "{check:?}");
        let told = &stage.heard()[1];
        assert!(told.contains("a check did not pass"), "{told}");
    }
}

/// A question in the middle: what was changed before it counts from where the step began.
#[test]
fn a_step_goes_on_after_an_answer() {
    let asks = "echo lax > tests.txt\ngit add -A\ngit commit -qm mine\n\
                echo '<promise>INPUT_NEEDED: Which colour?</promise>'\n";
    let first = format!("echo blue > PLAN.md\n{COMPLETE}\n");
    let mend = format!("echo strict > tests.txt\n{COMPLETE}\n");
    let stage = Stage::new(&[asks, &first, &mend]);
    let step = AgentStep { writes: Some(vec!["PLAN.md".into()]), ..step("1") };
    assert_eq!(stage.go(&step), StepOutcome::Waits);
    assert_eq!(stage.go(&step), StepOutcome::Waits, "nobody has answered yet");
    assert_eq!(stage.heard().len(), 1);
    stage.answer(Answer::text("blue"));
    stage.completes(&step);
    let heard = stage.heard();
    assert!(heard[1].contains("Which colour?") && heard[1].contains("blue"), "{}", heard[1]);
    assert!(heard[1].contains("Write PLAN.md."), "it is told its step again: {}", heard[1]);
    assert!(heard[2].contains("tests.txt"), "{}", heard[2]);
    assert_eq!(stage.on_branch("tests.txt").as_deref(), Some("strict\n"));
}

/// A yes to a part of a flow does not end its task, whatever the agent calls it.
#[test]
fn a_sign_off_in_a_step_ends_no_task() {
    for signal in ["APPROVAL_NEEDED: look", "REVIEW_REQUESTED: look", "EJECT: do it by hand"] {
        let asks = format!("echo x > PLAN.md\necho '<promise>{signal}</promise>'\n");
        let done = format!("{COMPLETE}\n");
        let stage = Stage::new(&[&asks, &done]);
        assert_eq!(stage.go(&step("1")), StepOutcome::Waits, "{signal}");
        assert_eq!(stage.open_gate().opened.kind, GateKind::Checkpoint, "{signal}");
        stage.answer(Answer::approved());
        assert_eq!(stage.status(), TaskStatus::Open, "{signal}");
        stage.completes(&step("1"));
    }
}

#[test]
fn the_next_step_goes_on_in_the_same_tree_and_answers_for_itself() {
    let first = format!("echo plan > PLAN.md\n{COMPLETE}\n");
    let second = format!("test -f PLAN.md && echo code > code.txt\n{COMPLETE}\n");
    let stage = Stage::new(&[&first, &second, &second]);
    let plan = AgentStep { writes: Some(vec!["PLAN.md".into()]), ..step("1") };
    stage.completes(&plan);
    // What somebody left in the tree is not the next step's doing, and not lost.
    std::fs::write(stage.tree().folder.join("left.txt"), "left").unwrap();
    let code = AgentStep {
        name: "code".into(),
        instructions: "Write code.txt.".into(),
        writes: Some(vec!["code.txt".into()]),
        ..step("2")
    };
    stage.completes(&code);
    assert_eq!(stage.heard().len(), 2, "no objection");
    assert_eq!(stage.on_branch("code.txt").as_deref(), Some("code\n"));
    assert_eq!(stage.on_branch("left.txt").as_deref(), Some("left"));
    let told = &stage.heard()[1];
    assert!(told.contains("The steps before yours are done"), "{told}");
    let runs = stage.desk.runs_of(stage.task, 10).unwrap();
    assert_eq!(runs[0].started.session.as_deref(), Some("one"), "the same conversation");
    // The same phase once more is another step.
    let again = AgentStep { id: "3".into(), ..code };
    stage.completes(&again);
}

/// Work that is not sure enough waits for a yes to exactly that work.
#[test]
fn an_unsure_step_counts_after_a_yes() {
    let unsure = "echo x > PLAN.md\necho '{\"status\": \"completed\", \"summary\": \"x\", \"confidence\": 0.5}'\n";
    let unsure = unsure.replace("echo '{", "printf '```json\\n{").replace("}'\n", "}\\n```\\n'\n");
    let stage = Stage::new(&[&unsure, &unsure]);
    let setup = || WorkerConfig { confidence_min: 80, ..stage.setup(Some(step("1"))) };
    assert_eq!(stage.go_with(setup()), StepOutcome::Waits);
    assert_eq!(stage.open_gate().opened.kind, GateKind::Checkpoint);
    stage.answer(Answer::approved());
    assert_eq!(stage.status(), TaskStatus::Open);
    assert!(matches!(stage.go_with(setup()), StepOutcome::Completed(_)));
}

/// A policy on results has its say on each step; the yes it asks for ends no task.
#[test]
fn the_policy_rules_on_steps() {
    let policy = "rules:\n  - {name: looked at, on: result, then: ask, reason: Always.}\n";
    let turn = format!("echo plan > PLAN.md\n{COMPLETE}\n");
    let governed = |turns: &[&str]| {
        let (stage, body) = (Stage::new(turns), Some(policy.to_owned()));
        let change = SettingChange { kind: SettingKind::Policy, name: "space".into(), body };
        stage.desk.set(&ann(), vec![change]).unwrap();
        stage
    };
    let stage = governed(&[&turn, &turn]);
    assert_eq!(stage.go(&step("1")), StepOutcome::Waits);
    assert_eq!(stage.open_gate().opened.kind, GateKind::Checkpoint);
    assert!(stage.open_gate().card.facts.iter().any(|fact| fact.name == "diff"));
    stage.answer(Answer::approved());
    assert_eq!(stage.status(), TaskStatus::Open);
    stage.completes(&step("1"));
    // A yes that somebody gave to the agent's own question is not the one the policy asks for.
    let asks = "echo plan > PLAN.md\necho '<promise>APPROVAL_NEEDED: look</promise>'\n";
    let stage = governed(&[asks, &turn]);
    assert_eq!(stage.go(&step("1")), StepOutcome::Waits);
    stage.answer(Answer::approved());
    assert_eq!(stage.go(&step("1")), StepOutcome::Waits);
    assert!(stage.open_gate().card.facts.iter().any(|fact| fact.name == "policy"));
    // A no is none, and the same work again is not accepted behind it.
    let stage = governed(&[&turn, &turn]);
    assert_eq!(stage.go(&step("1")), StepOutcome::Waits);
    stage.answer(Answer::rejected(Some("thinner".into())));
    assert_eq!(stage.go(&step("1")), StepOutcome::Waits, "it is asked again");
    assert!(stage.heard()[1].contains("thinner"), "{}", stage.heard()[1]);
}

#[test]
fn a_step_that_fails_or_cannot_begin_says_why() {
    let gives_up = "echo '```json'\necho '{\"status\": \"failed\", \"reason\": \"no compiler\"}'\necho '```'\n";
    let stage = Stage::new(&[gives_up]);
    let StepOutcome::Failed(why) = stage.go(&step("1")) else { panic!() };
    assert!(why.contains("no compiler"), "{why}");
    assert!(matches!(stage.go(&step("1")), StepOutcome::Failed(_)), "until somebody reopens it");
    let stage = Stage::new(&[]);
    let nobody = AgentStep { agent: Some("nobody".into()), ..step("1") };
    let StepOutcome::Failed(why) = stage.go(&nobody) else { panic!() };
    assert!(why.contains("blocked"), "{why}");
    let stage = Stage::new(&[]);
    stage.desk.close_task(&ann(), stage.task, "not wanted", false).unwrap();
    assert!(matches!(stage.go(&step("1")), StepOutcome::Gone(_)));
}

#[test]
fn a_worker_that_is_told_to_stop_leaves_the_step_to_the_next() {
    let stage = Stage::new(&["echo half > PLAN.md\nsleep 60\n", COMPLETE]);
    std::thread::scope(|scope| {
        let went = scope.spawn(|| stage.go(&step("1")));
        let began = Instant::now();
        while stage.heard().is_empty() && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stage.stop.store(true, Ordering::SeqCst);
        assert_eq!(went.join().unwrap(), StepOutcome::Stopped);
    });
    stage.stop.store(false, Ordering::SeqCst);
    stage.completes(&step("1"));
    assert_eq!(stage.on_branch("PLAN.md").as_deref(), Some("half\n"), "nothing was lost");
}

#[test]
fn workers_leave_tasks_of_flows_alone() {
    let stage = Stage::new(&[COMPLETE]);
    for scope in
        [WorkScope::default(), WorkScope { tasks: [stage.task].into(), ..WorkScope::default() }]
    {
        let setup = WorkerConfig { scope, ..stage.setup(None) };
        let worker = Worker::new(stage.desk.clone(), setup, &|_| {}, &stage.stop);
        assert_eq!(worker.work().unwrap().turns, 0);
    }
    assert_eq!((stage.heard().len(), stage.status()), (0, TaskStatus::Open));
}

fn command<'a>(shell: &'a ShellCommand, folder: &'a Path, stop: &'a AtomicBool) -> CommandStep<'a> {
    CommandStep {
        command: shell,
        any_code: false,
        folder,
        checks: &[],
        retries: 0,
        writes: None,
        mark: "test-step-command",
        time_max: Duration::from_secs(30),
        stop,
    }
}

#[test]
fn a_command_gives_what_it_printed() {
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    let variables = vec![("SAYSO_VALUE_1".to_owned(), "it's".to_owned())];
    let line =
        "echo \"${SAYSO_VALUE_1}\"; echo noise >&2; touch here.txt; exit ${CODE:-0}".to_owned();
    let shell = ShellCommand { line, variables };
    let base = CommandStep { mark: "test-step-plain", ..command(&shell, folder.path(), &stop) };
    let checks = [
        StepCheck::File("here.txt".into()),
        StepCheck::Passes(ShellCommand::new("test -f here.txt")),
    ];
    let came = CommandStep { checks: &checks, ..base }.run();
    assert_eq!(came, CommandOutcome::Completed { text: "it's".into(), code: 0, left_out: 0 });
    let missing = [StepCheck::File("there.txt".into())];
    let CommandOutcome::Failed(why) = (CommandStep { checks: &missing, ..base }).run() else {
        panic!()
    };
    assert!(why.contains("there.txt is not there"), "{why}");
    let fails = ShellCommand::new("echo no >&2; exit 3");
    let three = CommandStep { command: &fails, ..base };
    let CommandOutcome::Failed(why) = three.run() else { panic!() };
    assert!(why.contains("ended with 3") && why.contains("no"), "{why}");
    let line = "test -e \"${SAYSO_VALUE_1}\" # \"about ${SAYSO_VALUE_1}\"".to_owned();
    let named =
        ShellCommand { line, variables: vec![("SAYSO_VALUE_1".to_owned(), "it's".to_owned())] };
    let CommandOutcome::Failed(why) = (CommandStep { command: &named, ..base }).run() else {
        panic!()
    };
    assert!(why.starts_with("test -e 'it'\\''s' # \"about it's\": it ended with 1"), "{why}");
    let came = CommandStep { any_code: true, ..three }.run();
    assert_eq!(came, CommandOutcome::Completed { text: String::new(), code: 3, left_out: 0 });
}

/// A line that fails ends a command of several: the last one does not speak for the others.
#[test]
fn a_line_that_fails_ends_a_command() {
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    let came = |line: &str, any_code: bool| {
        let shell = ShellCommand::new(line);
        let base = command(&shell, folder.path(), &stop);
        CommandStep { any_code, mark: "test-step-lines", ..base }.run()
    };
    let CommandOutcome::Failed(why) = came("echo begun\nfalse\ntouch shipped.txt", false) else {
        panic!()
    };
    assert!(why.contains("it ended with 1") && why.contains("begun"), "{why}");
    let code = |came| match came {
        CommandOutcome::Completed { code, .. } => Some(code),
        CommandOutcome::Failed(_) | CommandOutcome::Stopped => None,
    };
    assert_eq!(code(came("(exit 3)\ntouch shipped.txt", true)), Some(3));
    assert!(!folder.path().join("shipped.txt").exists());
    // What is looked at may fail.
    assert_eq!(code(came("if false; then exit 9; fi\nfalse || true\necho end", false)), Some(0));
}

/// What a step or a check runs may be an agent's own text: it is marked as no person's.
#[test]
fn no_command_of_a_flow_passes_for_a_person() {
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    let shell = ShellCommand::new("printf '%s %s' \"$AI_AGENT\" \"$SAYSO_RUN\"");
    let checks = [StepCheck::Passes(ShellCommand::new("test -n \"$AI_AGENT\""))];
    let base = CommandStep { mark: "test-step-marked", ..command(&shell, folder.path(), &stop) };
    let came = CommandStep { checks: &checks, ..base }.run();
    let text = "sayso-step test-step-marked".into();
    assert_eq!(came, CommandOutcome::Completed { text, code: 0, left_out: 0 });
}

#[test]
fn a_command_is_run_again_as_often_as_it_may() {
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    let shell = ShellCommand::new("echo x >> count; test $(wc -l < count) -ge 3");
    let base = CommandStep { mark: "test-step-again", ..command(&shell, folder.path(), &stop) };
    assert!(matches!(CommandStep { retries: 1, ..base }.run(), CommandOutcome::Failed(_)));
    assert!(matches!(base.run(), CommandOutcome::Completed { .. }), "the third time");
}

/// Nothing a command started is left, however it ends, and no output is too much.
#[test]
fn a_command_ends_with_everything_it_started() {
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    let alive = |mark: &str| agents::process_tree::marked(mark).len();
    let leaves = ShellCommand::new("setsid sleep 300 & echo started");
    let base = command(&leaves, folder.path(), &stop);
    let mark = "test-step-leaves";
    let began = Instant::now();
    assert!(matches!(CommandStep { mark, ..base }.run(), CommandOutcome::Completed { .. }));
    assert_eq!(alive(mark), 0);
    let hangs = ShellCommand::new("trap '' TERM; setsid sleep 300 & sleep 300");
    let mark = "test-step-hangs";
    let hang = CommandStep { command: &hangs, mark, ..base };
    let late = CommandStep { time_max: Duration::from_millis(200), ..hang }.run();
    assert!(matches!(&late, CommandOutcome::Failed(why) if why.contains("too long")), "{late:?}");
    assert_eq!(alive(mark), 0);
    std::thread::scope(|scope| {
        let went = scope.spawn(|| hang.run());
        while alive(mark) == 0 && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::SeqCst);
        assert_eq!(went.join().unwrap(), CommandOutcome::Stopped);
    });
    assert_eq!(alive(mark), 0);
    stop.store(false, Ordering::SeqCst);
    let chatty = ShellCommand::new("yes | head -c 5000000; echo end");
    let came = CommandStep { command: &chatty, mark: "test-step-chatty", ..base }.run();
    let CommandOutcome::Completed { text, left_out, .. } = came else { panic!("{came:?}") };
    assert!(text.len() <= 256 * 1024 && text.ends_with("end"), "{}", text.len());
    assert_eq!(left_out, 5_000_004 - 256 * 1024);
}

#[test]
fn a_command_changes_only_what_it_may() {
    let stage = Stage::new(&[]);
    let tree = stage.repository().prepare("t1", "Work").unwrap();
    // What was changed before is not its doing.
    std::fs::write(tree.folder.join("before.txt"), "x").unwrap();
    let writes = ["docs/**".to_owned()];
    let run = |line: &str| {
        let shell = ShellCommand::new(line);
        let base = command(&shell, &tree.folder, &stage.stop);
        let note = stage.repository().watch_note("t1");
        let writes = Some(PathWatch { writes: &writes, tree: &tree, note: &note });
        CommandStep { writes, mark: "test-step-writes", ..base }.run()
    };
    assert!(matches!(run("mkdir -p docs && echo x > docs/a.md"), CommandOutcome::Completed { .. }));
    let hidden = "echo y > a.txt; git add -A; git commit -qm hidden";
    for line in ["echo y > a.txt", hidden, "echo z >> before.txt"] {
        let CommandOutcome::Failed(why) = run(line) else { panic!("{line}") };
        assert!(why.contains("only docs/** may be changed"), "{why}");
        stage.git(&["-C", tree.folder.to_str().unwrap(), "checkout", "main", "--", "a.txt"]);
    }
}

/// What a person mends between two attempts is theirs. What the step did stays until it is taken back: no other
/// attempt, no commit of its own makes it good.
#[test]
fn what_a_command_did_stays_until_it_is_taken_back() {
    let stage = Stage::new(&[]);
    let tree = stage.repository().prepare("t1", "Work").unwrap();
    let (writes, note) = (["ok.txt".to_owned()], stage.repository().watch_note("t1"));
    let run = |line: &str, retries: u32| {
        let shell = ShellCommand::new(line);
        let base = command(&shell, &tree.folder, &stage.stop);
        let watch = PathWatch { writes: &writes, tree: &tree, note: &note };
        CommandStep { writes: Some(watch), retries, mark: "test-step-mended", ..base }.run()
    };
    let why = |came: CommandOutcome| match came {
        CommandOutcome::Failed(why) => why,
        other => panic!("{other:?}"),
    };
    let first = why(run("test -e bad.txt || { echo x > bad.txt; exit 1; }", 0));
    assert!(first.contains("ended with 1") && first.contains("it changed bad.txt;"), "{first}");
    std::fs::write(tree.folder.join("mended.txt"), "by a person").unwrap();
    for (line, retries) in [("true", 0), ("true", 2), ("git add -A; git commit -qm hidden", 0)] {
        let still = why(run(line, retries));
        assert!(still.contains("it changed bad.txt;") && !still.contains("mended"), "{still}");
    }
    assert!(why(run("echo y > bad.txt", 0)).contains("it changed bad.txt;"));
    std::fs::remove_file(tree.folder.join("bad.txt")).unwrap();
    assert!(matches!(run("echo ok > ok.txt", 0), CommandOutcome::Completed { .. }));
}
