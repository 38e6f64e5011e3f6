//! Real processes: nothing they do blocks us, costs us without bounds, or outlives its turn.

use sayso_agents::{
    AgentAdapter, AgentConfig, AgentEvent, AgentProcess, FinishedTurn, StartError, TurnInput,
    process_tree,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One turn of a shell script.
struct Stage {
    folder: tempfile::TempDir,
    mark: String,
}

impl Stage {
    fn new(name: &str) -> Self {
        let mark = format!("test-{name}-{}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), mark }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, script: &str, prompt: &str) -> AgentProcess {
        self.try_start(&shell(script), prompt, None).unwrap()
    }

    fn try_start(
        &self,
        agent: &AgentConfig,
        prompt: &str,
        session: Option<&str>,
    ) -> Result<AgentProcess, StartError> {
        let variables = [("PATH".to_owned(), std::env::var("PATH").unwrap())];
        agent.start(&TurnInput {
            folder: self.folder.path(),
            writable: &[],
            prompt,
            session,
            variables: &variables,
            log: &self.path("logs/run.log"),
            mark: &self.mark,
        })
    }

    fn run(&self, script: &str, prompt: &str) -> FinishedTurn {
        self.start(script, prompt).finish()
    }

    /// Waits until the script has made this file.
    fn wait_for(&self, name: &str) {
        until(&format!("{name} is there"), || self.path(name).exists());
    }

    fn check_gone(&self, pids: &[u32]) {
        assert_eq!(process_tree::marked(&self.mark), Vec::<u32>::new());
        for pid in pids {
            assert!(!is_alive(*pid), "process {pid} is still there");
        }
    }

    fn pid_in(&self, name: &str) -> u32 {
        self.wait_for(name);
        let path = self.path(name);
        let read = || std::fs::read_to_string(&path).unwrap();
        until("a number is in it", || read().ends_with('\n'));
        read().trim().parse().unwrap()
    }
}

fn shell(script: &str) -> AgentConfig {
    AgentConfig {
        name: "shell".into(),
        adapter: AgentAdapter::Command,
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        resume_args: vec![],
        model: None,
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

fn log_of(stage: &Stage) -> String {
    std::fs::read_to_string(stage.path("logs/run.log")).unwrap()
}

#[test]
fn a_turn_is_heard_and_finished() {
    let stage = Stage::new("turn");
    let mut live = stage.start("cat; echo; echo oops >&2; pwd; env; exit 3", "the prompt");
    assert!(live.pid() > 0);
    let mut heard = vec![];
    while !live.is_over() {
        heard.extend(live.next(Duration::from_secs(5)));
    }
    assert_eq!(heard.first(), Some(&AgentEvent::Began));
    assert!(heard.contains(&AgentEvent::Says("the prompt".into())), "{heard:?}");
    let finished = live.finish();
    assert_eq!((finished.code, finished.signal), (Some(3), None));
    assert_eq!(finished.problem.as_deref(), Some("oops"));
    let message = finished.message.unwrap();
    let folder = stage.folder.path().canonicalize().unwrap();
    assert!(message.contains(&folder.display().to_string()), "{message}");
    assert!(message.contains(&format!("SAYSO_RUN={}", stage.mark)), "{message}");
    assert!(!message.contains("CARGO_"), "our environment was passed on: {message}");
    assert!(log_of(&stage).contains("the prompt\n"));
    assert!(log_of(&stage).contains("stderr: oops\n"));
}

#[test]
fn the_whole_tree_is_gone_after_a_stop() {
    let stage = Stage::new("tree");
    let script = "
        sleep 300 &
        echo $! >plain
        setsid sh -c 'echo $$ >session; exec sleep 300' &
        (setsid sh -c 'echo $$ >orphan; exec sleep 300' </dev/null >/dev/null 2>&1 &)
        sh -c 'trap \"\" TERM; echo $$ >stubborn; while :; do sleep 1; done' &
        env -i PATH=$PATH setsid sh -c 'echo $$ >unmarked; exec sleep 300' &
        trap '' TERM
        echo $$ >leader
        while :; do sleep 1; done";
    let mut live = stage.start(script, "");
    let names = ["plain", "session", "orphan", "stubborn", "unmarked", "leader"];
    let pids = names.map(|name| stage.pid_in(name));
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    assert!(process_tree::marked(&stage.mark).len() >= 5);
    let started = Instant::now();
    live.stop(Duration::from_millis(300));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    stage.check_gone(&pids);
    live.stop(Duration::from_secs(5));
    let finished = live.finish();
    assert_eq!((finished.code, finished.signal), (None, Some(9)));
}

#[test]
fn a_stop_is_polite_first() {
    let stage = Stage::new("polite");
    let script = "trap 'echo bye; exit 7' TERM; touch ready; while :; do sleep 0.05; done";
    let mut live = stage.start(script, "");
    stage.wait_for("ready");
    live.stop(Duration::from_secs(10));
    let finished = live.finish();
    assert_eq!((finished.code, finished.message.as_deref()), (Some(7), Some("bye")));
}

#[test]
fn one_that_was_suspended_can_be_stopped() {
    let stage = Stage::new("suspended");
    let mut live = stage.start("touch ready; kill -STOP $$; sleep 300", "");
    stage.wait_for("ready");
    let pid = live.pid();
    live.stop(Duration::from_millis(200));
    stage.check_gone(&[pid]);
}

#[test]
fn what_is_left_running_ends_with_the_turn() {
    let stage = Stage::new("left");
    let script = "
        sleep 300 & echo $! >server
        (setsid sh -c 'echo $$ >daemon; exec sleep 300' &)
        while [ ! -s daemon ]; do sleep 0.01; done
        echo done";
    let started = Instant::now();
    let finished = stage.run(script, "");
    assert_eq!((finished.code, finished.message.as_deref()), (Some(0), Some("done")));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    stage.check_gone(&[stage.pid_in("server"), stage.pid_in("daemon")]);
}

#[test]
fn dropping_ends_the_tree() {
    let stage = Stage::new("drop");
    let script = "trap '' TERM; sleep 300 & echo $! >child; setsid sleep 300 & echo $! >apart; wait; sleep 300";
    let live = stage.start(script, "");
    let pids = [live.pid(), stage.pid_in("child"), stage.pid_in("apart")];
    drop(live);
    stage.check_gone(&pids);
}

#[test]
fn a_tree_without_a_worker_is_found_by_its_mark() {
    let stage = Stage::new("mark");
    // As after a crash: nobody holds the process, only its mark is known.
    let mut lost = std::process::Command::new("setsid")
        .args(["sh", "-c", "trap '' TERM; echo $$ >lost; while :; do sleep 1; done"])
        .env("SAYSO_RUN", &stage.mark)
        .current_dir(stage.folder.path())
        .spawn()
        .unwrap();
    let pid = stage.pid_in("lost");
    assert!(process_tree::marked(&stage.mark).contains(&pid));
    assert_eq!(process_tree::marked(&format!("{}-other", stage.mark)), Vec::<u32>::new());
    assert!(process_tree::end_marked(&stage.mark, Duration::from_millis(200)) >= 1);
    lost.wait().unwrap();
    stage.check_gone(&[pid]);
    assert_eq!(process_tree::end_marked(&stage.mark, Duration::from_secs(5)), 0);
}

#[test]
fn a_long_prompt_arrives_and_an_unread_one_blocks_nobody() {
    let stage = Stage::new("prompt");
    let prompt = "x".repeat(3_000_000);
    assert_eq!(stage.run("wc -c", &prompt).message.as_deref(), Some("3000000"));

    let started = Instant::now();
    let finished = stage.run("echo done", &prompt);
    assert_eq!((finished.code, finished.message.as_deref()), (Some(0), Some("done")));
    let mut live = stage.start("sleep 300", &prompt);
    live.stop(Duration::ZERO);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// The most memory this process ever had, in KiB.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_gigabyte_costs_little() {
    for (name, spam) in [
        (
            "lines",
            "yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c 1000000000",
        ),
        ("line", "head -c 1000000000 /dev/zero"),
        ("stderr", "head -c 300000000 /dev/zero >&2"),
    ] {
        let stage = Stage::new(name);
        let last = "{\"sayso\":\"final\",\"text\":\"the end\"}";
        let before = memory_peak();
        let finished = stage.run(&format!("{spam}; echo; echo '{last}'"), "");
        let grown = memory_peak() - before;
        assert_eq!(
            (finished.code, finished.message.as_deref()),
            (Some(0), Some("the end")),
            "{name}"
        );
        assert!(grown < 100 * 1024, "{name} took {grown} KiB");
        let log = stage.path("logs/run.log");
        let size = std::fs::metadata(&log).unwrap().len();
        assert!(size < 18 * 1024 * 1024, "{name}: the log has {size} bytes");
        if name == "lines" {
            assert!(finished.capped);
            assert!(log_of(&stage).ends_with(&format!("{last}\n")));
        }
    }
}

#[test]
fn nobody_has_to_listen() {
    let stage = Stage::new("deaf");
    let spent = "{\"sayso\":\"spent\",\"input_tokens\":1,\"output_tokens\":0}";
    let script = format!("for i in $(seq 5000); do echo $i; done; echo '{spent}'");
    let mut live = stage.start(&script, "");
    until("it has ended", || !is_alive(live.pid()));
    std::thread::sleep(Duration::from_millis(200));
    let mut heard = vec![];
    while !live.is_over() {
        heard.extend(live.next(Duration::from_secs(5)));
    }
    assert!(heard.len() < 2_000, "{}", heard.len());
    assert_eq!(heard.first(), Some(&AgentEvent::Began));
    assert!(matches!(heard.last(), Some(AgentEvent::Spent(_))), "{:?}", heard.last());
    assert!(live.finish().message.unwrap().contains("\n5000"));
}

#[test]
fn nonsense_is_taken_as_it_comes() {
    let stage = Stage::new("nonsense");
    let finished = stage.run("printf 'a\\377b\\n{\\n{\"sayso\":\\0'", "");
    assert_eq!(finished.code, Some(0));
    assert!(finished.message.unwrap().starts_with("a\u{fffd}b\n{\n"));
}

#[test]
fn a_crash_is_told() {
    let stage = Stage::new("crash");
    let finished = stage.run("echo half; kill -9 $$", "");
    assert_eq!((finished.code, finished.signal), (None, Some(9)));
    assert_eq!(finished.message.as_deref(), Some("half"));
}

#[test]
fn a_limit_on_stderr_is_recognised_when_it_ended_the_turn() {
    let stage = Stage::new("limit");
    let finished = stage.run("echo 'rate limit reached, try again in 5m' >&2; exit 1", "");
    assert!(finished.limited.unwrap().until.is_some());
    let finished = stage.run("echo 'rate limit reached, try again in 5m' >&2; echo fine", "");
    assert_eq!(finished.limited, None);
}

#[test]
fn what_cannot_be_started_says_why() {
    let stage = Stage::new("missing");
    let missing = AgentConfig { program: "no-such-agent".into(), ..shell("") };
    let error = stage.try_start(&missing, "", None).unwrap_err();
    assert!(matches!(&error, StartError::NotInstalled { program } if program == "no-such-agent"));
    assert!(error.to_string().contains("install it"), "{error}");

    let error = stage.try_start(&shell(""), "", Some("s")).unwrap_err();
    assert!(matches!(error, StartError::CannotResume { .. }), "{error}");

    let text = stage.path("text");
    std::fs::write(&text, "no program").unwrap();
    let program = text.display().to_string();
    let error = stage.try_start(&AgentConfig { program, ..shell("") }, "", None).unwrap_err();
    assert!(matches!(error, StartError::Refused { .. }), "{error}");

    let turn = TurnInput {
        folder: Path::new("/no/such/folder"),
        writable: &[],
        prompt: "",
        session: None,
        variables: &[],
        log: &stage.path("log"),
        mark: "none",
    };
    assert!(matches!(shell("").start(&turn), Err(StartError::NoFolder { .. })));
    let turn = TurnInput { folder: stage.folder.path(), log: Path::new("/proc/log"), ..turn };
    assert!(matches!(shell("").start(&turn), Err(StartError::Log { .. })));
}
