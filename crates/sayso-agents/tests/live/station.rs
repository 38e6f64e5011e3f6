//! Long-lived agents as real processes and in a real tmux: started once, whatever happens to who
//! starts them, and ended with everything they started.

use sayso_agents::{
    AgentSessions, NudgeOutcome, PromptKind, SessionBackend, SessionError, SessionLocation,
    SessionSpec, process_tree, session,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How the process that plays a starter is told what to start.
const STARTER: &str = "station::plays_a_starter";
const PLACE: &str = "SAYSO_TEST_STATION";

/// A folder with agents under one mark. They are ended with it.
struct Stage {
    folder: tempfile::TempDir,
    mark: String,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.stations().stop(&self.mark, Duration::ZERO);
    }
}

impl Stage {
    fn new(name: &str) -> Self {
        let mark = format!("station-{name}-{}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), mark }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn stations(&self) -> AgentSessions {
        stations_in(self.folder.path())
    }

    fn spawn(&self, backend: SessionBackend, script: &str) -> SessionLocation {
        spawn(self.folder.path(), backend, &self.mark, script).unwrap()
    }

    fn is_alive(&self, place: &SessionLocation) -> bool {
        self.stations().is_alive(place).unwrap()
    }

    fn stop(&self, grace: Duration) {
        self.stations().stop(&self.mark, grace).unwrap();
        assert_eq!(process_tree::marked(&self.mark), Vec::<u32>::new());
    }

    /// What an agent has written into a file of its folder, as soon as it ends with a line.
    fn text(&self, name: &str) -> String {
        let read = || std::fs::read_to_string(self.path(name)).unwrap_or_default();
        until(&format!("{name} has a line"), || read().ends_with('\n'));
        read()
    }

    fn pid(&self, name: &str) -> u32 {
        self.text(name).trim().parse().unwrap()
    }

    fn log(&self) -> String {
        session::tail(&self.path("agent.log"), 1_000_000).unwrap()
    }

    fn wait_for_log(&self, what: &str) {
        until(&format!("{what:?} is in the log"), || self.log().contains(what));
    }
}

fn stations_in(folder: &Path) -> AgentSessions {
    AgentSessions::new(&folder.join("stations"), &std::env::var("PATH").unwrap())
}

fn spawn(
    folder: &Path,
    backend: SessionBackend,
    mark: &str,
    script: &str,
) -> Result<SessionLocation, SessionError> {
    let (args, variables) = (["-c".to_owned(), script.to_owned()], variables());
    stations_in(folder).spawn(
        backend,
        &SessionSpec {
            name: "painter",
            program: "sh",
            args: &args,
            folder,
            variables: &variables,
            mark,
            log: &folder.join("agent.log"),
        },
    )
}

fn variables() -> [(String, String); 2] {
    let own = ("SECRET", "hush".to_owned());
    [("PATH", std::env::var("PATH").unwrap()), own].map(|(name, value)| (name.to_owned(), value))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

/// Counts its starts, and stays.
const STAYS: &str = "echo $$ >>starts; while :; do sleep 0.1; done";

#[test]
fn an_agent_runs_until_it_is_stopped() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("life");
        let place = stage.spawn(backend, "env; pwd; echo oops >&2; echo $$ >pid; exec sleep 300");
        let pid = stage.pid("pid");
        assert!(stage.is_alive(&place) && is_alive(pid), "{backend}");
        assert_eq!(process_tree::marked(&stage.mark), [pid], "{backend}");
        stage.wait_for_log("oops");
        let log = stage.log();
        assert!(log.contains(&format!("SAYSO_RUN={}", stage.mark)), "{backend}: {log}");
        assert!(log.contains("SECRET=hush"), "{backend}: {log}");
        assert!(!log.contains("CARGO_"), "{backend}: our environment was passed on: {log}");
        let folder = stage.folder.path().canonicalize().unwrap();
        assert!(log.contains(&folder.display().to_string()), "{backend}: {log}");

        let remembered = serde_json::to_string(&place).unwrap();
        assert_eq!(serde_json::from_str::<SessionLocation>(&remembered).unwrap(), place);
        assert!(remembered.contains(&format!("\"backend\":\"{backend}\"")), "{remembered}");

        stage.stop(Duration::from_secs(5));
        assert!(!stage.is_alive(&place) && !is_alive(pid), "{backend}");
        let left = std::fs::read_dir(stage.path("stations")).unwrap().count();
        assert_eq!(left, 0, "{backend}: files are left");
        stage.stop(Duration::ZERO);
    }
}

#[test]
fn a_mark_has_one_agent_however_often_it_is_started() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("twice");
        let first = stage.spawn(backend, STAYS);
        stage.text("starts");
        for again in SessionBackend::ALL {
            assert_eq!(stage.spawn(again, STAYS), first, "{backend}, then {again}");
        }
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(stage.text("starts").lines().count(), 1, "{backend}");

        // One that has ended can be started again, and what it left running does not stand for it.
        stage.stop(Duration::ZERO);
        let left = stage.spawn(backend, "setsid sh -c 'echo $$ >left; exec sleep 300' & sleep 0.3");
        let orphan = stage.pid("left");
        until("it has ended", || !stage.is_alive(&left));
        assert!(is_alive(orphan));
        let second = stage.spawn(backend, STAYS);
        assert!(stage.is_alive(&second), "{backend}");
        assert!(!is_alive(orphan), "{backend}");
    }
}

#[test]
fn twenty_at_once_start_one() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("crowd");
        let places: Vec<SessionLocation> = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..20).map(|_| scope.spawn(|| stage.spawn(backend, STAYS))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        stage.text("starts");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(stage.text("starts").lines().count(), 1, "{backend}");
    }
}

/// Starts an agent in another process, which then stays.
fn starter(stage: &Stage, backend: SessionBackend) -> Child {
    let place = format!("{backend}\n{}\n{}", stage.mark, stage.folder.path().display());
    Command::new(std::env::current_exe().unwrap())
        .args([STARTER, "--exact", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "other tests run it in a process of its own"]
fn plays_a_starter() {
    let place = std::env::var(PLACE).unwrap();
    let [backend, mark, folder] = place.split('\n').collect::<Vec<_>>()[..] else {
        panic!("{place}")
    };
    spawn(Path::new(folder), backend.parse().unwrap(), mark, STAYS).unwrap();
    std::fs::write(Path::new(folder).join("started"), "yes\n").unwrap();
    std::thread::sleep(Duration::from_secs(300));
}

#[test]
fn an_agent_outlives_who_started_it() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("orphan");
        let mut child = starter(&stage, backend);
        stage.text("started");
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = stage.pid("starts");
        std::thread::sleep(Duration::from_millis(300));
        assert!(is_alive(pid), "{backend}");
        // Nobody remembered it: it is found by its mark.
        let place = stage.spawn(backend, STAYS);
        assert!(stage.is_alive(&place));
        assert_eq!(stage.text("starts").lines().count(), 1, "{backend}");
        stage.stop(Duration::from_secs(5));
        assert!(!is_alive(pid), "{backend}");
    }
}

#[test]
fn a_starter_killed_at_any_moment_leaves_one_agent() {
    let mut in_the_middle = 0;
    for round in 0..24u64 {
        let backend = SessionBackend::ALL[usize::from(round % 2 == 1)];
        let stage = Stage::new(&format!("killed-{round}"));
        let mut child = starter(&stage, backend);
        until("it begins", || stage.path("stations").exists());
        // From the first thing it does to after it is done.
        std::thread::sleep(Duration::from_millis(round * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        in_the_middle += usize::from(!stage.path("started").exists());
        let place = stage.spawn(backend, STAYS);
        stage.text("starts");
        std::thread::sleep(Duration::from_millis(200));
        let starts = stage.text("starts");
        assert!(stage.is_alive(&place), "round {round}, {backend}");
        let alive = starts.lines().filter(|pid| is_alive(pid.parse().unwrap())).count();
        assert_eq!((alive, starts.lines().count()), (1, 1), "round {round}, {backend}: {starts}");
    }
    assert!(in_the_middle > 0, "no starter was killed in the middle");
}

#[test]
fn a_stop_ends_the_whole_tree() {
    let script = "
        sleep 300 & echo $! >plain
        setsid sh -c 'echo $$ >session; exec sleep 300' &
        (setsid sh -c 'echo $$ >orphan; exec sleep 300' </dev/null >/dev/null 2>&1 &)
        sh -c 'trap \"\" TERM HUP; echo $$ >stubborn; while :; do sleep 0.1; done' &
        env -i PATH=$PATH setsid sh -c 'echo $$ >unmarked; exec sleep 300' &
        trap '' TERM HUP
        echo $$ >leader
        while :; do sleep 0.1; done";
    for backend in SessionBackend::ALL {
        let stage = Stage::new("tree");
        stage.spawn(backend, script);
        let names = ["plain", "session", "orphan", "stubborn", "unmarked", "leader"];
        let pids = names.map(|name| stage.pid(name));
        assert!(pids.iter().all(|pid| is_alive(*pid)));
        let started = Instant::now();
        stage.stop(Duration::from_millis(300));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        for (name, pid) in names.iter().zip(pids) {
            assert!(!is_alive(pid), "{backend}: {name} is still there");
        }
    }
}

#[test]
fn a_stop_is_polite_first() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("polite");
        let script = "trap 'echo TERM >>heard; sleep 0.3; echo bye >>heard; exit' TERM
            echo >ready; while :; do sleep 0.05; done";
        stage.spawn(backend, script);
        stage.text("ready");
        stage.stop(Duration::from_secs(20));
        assert_eq!(stage.text("heard"), "TERM\nbye\n", "{backend}");
    }
}

#[test]
fn a_log_stays_bounded_and_ends_with_the_end() {
    for backend in SessionBackend::ALL {
        let stage = Stage::new("spam");
        let place = stage.spawn(
            backend,
            "echo begun; yes 0123456789012345678901234567890123456789 | head -c 40000000; echo; echo the end; sleep 300",
        );
        stage.wait_for_log("the end");
        let log = stage.path("agent.log");
        let old = stage.path("agent.log.1");
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&old) >= 8 << 20, "{backend}");
        assert!(size(&log) + size(&old) < 24 << 20, "{backend}");
        assert!(stage.is_alive(&place), "{backend}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&log.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{backend}");
        assert_eq!(session::tail(&log, 20).unwrap().trim_end(), "the end", "{backend}");
    }
}

#[test]
fn a_log_that_is_taken_away_stops_nobody() {
    let stage = Stage::new("log-gone");
    let folder = stage.path("logs");
    let variables = variables();
    let script = "while :; do echo tick; sleep 0.01; [ -e gone ] && echo more >more; done";
    let args = ["-c".to_owned(), script.to_owned()];
    let place = stage
        .stations()
        .spawn(
            SessionBackend::Process,
            &SessionSpec {
                name: "ticker",
                program: "sh",
                args: &args,
                folder: stage.folder.path(),
                variables: &variables,
                mark: &stage.mark,
                log: &folder.join("a.log"),
            },
        )
        .unwrap();
    until("it writes", || session::tail(&folder.join("a.log"), 100).unwrap().contains("tick"));
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(stage.path("gone"), "").unwrap();
    stage.text("more");
    std::thread::sleep(Duration::from_millis(200));
    assert!(stage.is_alive(&place));
}

/// Reads lines at a prompt and writes them down.
const READS: &str =
    "while :; do printf '> '; read -r line || exit; printf '%s\\n' \"$line\" >>heard; done";

/// Nudges an agent whose prompt is `> `, with nothing that holds it back.
fn nudge(stage: &Stage, place: &SessionLocation, text: &str) -> NudgeOutcome {
    stage.stations().nudge(place, &PromptKind::Prompt("> ".into()), text, &mut || None).unwrap()
}

/// Asserts that a nudge was not entered, and why.
#[track_caller]
fn held(outcome: &NudgeOutcome, reason: &str) {
    let NudgeOutcome::NotNow { why, .. } = outcome else { panic!("{outcome:?}") };
    assert!(why.contains(reason), "{why}");
}

/// Presses keys at the terminal of an agent.
fn press(place: &SessionLocation, keys: &[&str]) {
    let SessionLocation::Tmux { socket, .. } = place else { panic!("{place:?}") };
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(socket).args(["send-keys", "-t", "%0"]).args(keys);
    assert!(tmux.status().unwrap().success());
}

impl Stage {
    fn shows(&self, place: &SessionLocation, what: &str) {
        let screen = || self.stations().capture(place).unwrap();
        until(&format!("{what:?} is on the screen"), || screen().contains(what));
    }

    fn heard(&self) -> String {
        std::fs::read_to_string(self.path("heard")).unwrap_or_default()
    }
}

#[test]
fn a_nudge_reaches_the_program_as_it_was_written() {
    let stage = Stage::new("nudge");
    let place = stage.spawn(SessionBackend::Tmux, READS);
    stage.shows(&place, ">");
    for (text, heard) in [
        ("There is an answer to g7k2.", "There is an answer to g7k2."),
        ("-l Enter C-c", "-l Enter C-c"),
        ("#{pane_id} $(touch x) `touch x` %H;", "#{pane_id} $(touch x) `touch x` %H;"),
        ("grüße", "grüße"),
        ("one\ntwo", "one ⏎ two"),
        ("stop\u{3}\u{4}now", "stop"),
    ] {
        std::fs::write(stage.path("heard"), "").unwrap();
        assert_eq!(nudge(&stage, &place, text), NudgeOutcome::Entered, "{text:?}");
        let line = stage.text("heard");
        assert_eq!(line.lines().count(), 1, "{text:?}: {line:?}");
        assert!(line.starts_with(heard), "{text:?}: {line:?}");
        assert!(!line.trim_end().chars().any(char::is_control), "{text:?}: {line:?}");
    }
    assert!(matches!(nudge(&stage, &place, " \n "), NudgeOutcome::Never { .. }));
    let long = "x".repeat(141);
    let prompt = PromptKind::Prompt("> ".into());
    let refused = stage.stations().nudge(&place, &prompt, &long, &mut || None).unwrap_err();
    assert!(
        refused.to_string().contains("141") && refused.to_string().contains("140"),
        "{refused}"
    );
    assert!(stage.is_alive(&place) && !stage.path("x").exists());

    let plain = Stage::new("no-screen");
    let place = plain.spawn(SessionBackend::Process, STAYS);
    assert_eq!(place.attach(), None);
    for error in [
        plain.stations().nudge(&place, &prompt, "hello", &mut || None).unwrap_err(),
        plain.stations().capture(&place).unwrap_err(),
    ] {
        assert!(matches!(error, SessionError::NoScreen), "{error}");
    }
}

#[test]
fn a_line_is_entered_at_an_empty_prompt_alone() {
    let menu =
        "printf 'May it run?\\n> 1. Yes\\n  2. No\\n'; read -r key; echo ran >>heard; sleep 300";
    let works = "while :; do printf 'at work %s\\n> ' $((i=i+1)); sleep 0.1; done";
    let whole = "printf '\\033[?1049h\\033[H> '; read -r key; echo ran >>heard; sleep 300";
    let hidden = "printf '\\033[?25l> '; read -r key; echo ran >>heard; sleep 300";
    for (script, shows, reason) in [
        (menu, "2. No", "does not show an empty prompt"),
        (works, "at work", ""),
        (whole, ">", "does not show an empty prompt"),
        (hidden, ">", "does not show an empty prompt"),
    ] {
        let stage = Stage::new("menu");
        let place = stage.spawn(SessionBackend::Tmux, script);
        stage.shows(&place, shows);
        for _ in 0..3 {
            held(&nudge(&stage, &place, "hello"), reason);
        }
        assert_eq!(stage.heard(), "", "{script}");
        let screen = stage.stations().capture(&place).unwrap();
        assert!(!screen.contains("hello"), "nothing was typed: {screen}");
        // Without a prompt that is known nothing is ever typed.
        for kind in [PromptKind::Never, PromptKind::of_program("sh")] {
            let never = stage.stations().nudge(&place, &kind, "hello", &mut || None).unwrap();
            assert!(matches!(never, NudgeOutcome::Never { .. }), "{never:?}");
        }
    }
}

#[test]
fn what_a_person_does_at_the_terminal_is_left_alone() {
    let stage = Stage::new("person");
    let place = stage.spawn(SessionBackend::Tmux, READS);
    stage.shows(&place, ">");
    press(&place, &["-l", "half a li"]);
    stage.shows(&place, "half a li");
    held(&nudge(&stage, &place, "hello"), "holds a text");
    press(&place, &["-l", "ne"]);
    press(&place, &["Enter"]);
    until("it has heard it", || stage.heard() == "half a line\n");
    // A person who scrolls has the keys.
    let SessionLocation::Tmux { socket, .. } = &place else { panic!() };
    let copy = |words: &[&str]| {
        assert!(Command::new("tmux").arg("-S").arg(socket).args(words).status().unwrap().success());
    };
    copy(&["copy-mode", "-t", "%0"]);
    held(&nudge(&stage, &place, "hello"), "scrolls");
    copy(&["send-keys", "-t", "%0", "-X", "cancel"]);
    // A person who is attached and presses keys is about to press another.
    let words = format!("stty cols 200 rows 50; {}", place.attach().unwrap().join(" "));
    let mut person = Command::new("script")
        .args(["-qec", &words, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let clients = || {
        let output = Command::new("tmux").arg("-S").arg(socket).arg("list-clients").output();
        !output.unwrap().stdout.is_empty()
    };
    until("they are attached", clients);
    held(&nudge(&stage, &place, "hello"), "a person is at its terminal");
    person.kill().unwrap();
    person.wait().unwrap();
    until("they are gone", || !clients());
    assert_eq!(stage.heard(), "half a line\n");
    until("it is entered", || nudge(&stage, &place, "hello") == NudgeOutcome::Entered);
    until("it has heard it", || stage.heard() == "half a line\nhello\n");
}

/// A menu that comes up after the first look: what was pasted may land there, Enter never does.
#[test]
fn a_menu_that_comes_in_between_is_not_entered() {
    let script = "stty -icanon; printf '> '; head -c 1 >/dev/null; stty icanon
        printf '\\033[2J\\033[HMay it run?\\n> 1. Yes\\n  2. No\\n'
        read -r key; echo ran >>heard; sleep 300";
    let stage = Stage::new("between");
    let place = stage.spawn(SessionBackend::Tmux, script);
    stage.shows(&place, ">");
    held(&nudge(&stage, &place, "hello"), "does not hold it alone");
    stage.shows(&place, "1. Yes");
    for _ in 0..3 {
        held(&nudge(&stage, &place, "hello"), "does not show an empty prompt");
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(stage.heard(), "");
}

/// Whatever the caller knows of the agent is asked before the line is typed, and again before Enter.
#[test]
fn a_line_that_may_not_be_entered_waits_at_the_prompt() {
    let stage = Stage::new("gate");
    let place = stage.spawn(SessionBackend::Tmux, READS);
    stage.shows(&place, ">");
    let (stations, prompt) = (stage.stations(), PromptKind::Prompt("> ".into()));
    let mut gate = || Some("a gate is open".to_owned());
    held(&stations.nudge(&place, &prompt, "hello", &mut gate).unwrap(), "a gate is open");
    assert!(!stations.capture(&place).unwrap().contains("hello"), "nothing was typed");
    let mut asked = 0;
    let mut later = || {
        asked += 1;
        (asked > 1).then(|| "a gate is open".to_owned())
    };
    held(&stations.nudge(&place, &prompt, "hello", &mut later).unwrap(), "not entered: a gate");
    assert_eq!(asked, 2);
    assert_eq!(stage.heard(), "");
    // The next try finds it there and types it no second time.
    assert_eq!(nudge(&stage, &place, "hello"), NudgeOutcome::Entered);
    until("it has heard it", || stage.heard() == "hello\n");
}

#[test]
fn people_can_attach() {
    let stage = Stage::new("attach");
    let place = stage.spawn(SessionBackend::Tmux, "echo look at me; exec sleep 300");
    stage.wait_for_log("look at me");
    let words = place.attach().unwrap();
    assert_eq!(words.first().map(String::as_str), Some("tmux"));
    // At a terminal that `script` makes; sh and not the words alone, as a person types them.
    let mut person = Command::new("script")
        .args(["-qec", &format!("stty cols 80 rows 24; {}", words.join(" ")), "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("TMUX")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let SessionLocation::Tmux { socket, session } = &place else { panic!("{place:?}") };
    assert_eq!(session, "painter");
    let clients = || {
        let list = Command::new("tmux").arg("-S").arg(socket).arg("list-clients").output().unwrap();
        list.stdout.len()
    };
    until("somebody is attached", || clients() > 0);
    person.kill().unwrap();
    person.wait().unwrap();
    until("nobody is attached", || clients() == 0);
    assert!(stage.is_alive(&place));
}

#[test]
fn odd_names_are_taken_as_they_are() {
    let odd = "o'd d;#(touch hit)%H$x\"\\ #{pane_id} ü;";
    let args: Vec<String> = [
        "-c",
        "printf '<%s>\\n' \"$@\" >args; pwd >where; sleep 300",
        odd,
        "a;",
        ";",
        "\\;",
        "",
        odd,
    ]
    .map(Into::into)
    .into();
    let variables = variables();
    for backend in SessionBackend::ALL {
        let stage = Stage::new(&format!("odd {odd}"));
        let folder = stage.path(odd);
        std::fs::create_dir(&folder).unwrap();
        let log = folder.join(format!("{odd}.log"));
        let station = SessionSpec {
            name: odd,
            program: "sh",
            args: &args,
            folder: &folder,
            variables: &variables,
            mark: &stage.mark,
            log: &log,
        };
        let place = stage.stations().spawn(backend, &station).unwrap();
        let written = stage.text(&format!("{odd}/where"));
        assert_eq!(Path::new(written.trim_end()), folder.canonicalize().unwrap(), "{backend}");
        let expected = format!("<a;>\n<;>\n<\\;>\n<>\n<{odd}>\n");
        assert_eq!(stage.text(&format!("{odd}/args")), expected, "{backend}");
        assert!(!process_tree::marked(&stage.mark).is_empty(), "{backend}");
        assert_eq!(stage.stations().spawn(backend, &station).unwrap(), place);
        assert!(log.exists(), "{backend}");
        let names: HashSet<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let expected = ["args".to_owned(), "where".to_owned(), format!("{odd}.log")];
        assert_eq!(names, HashSet::from(expected), "{backend}");
        stage.stop(Duration::ZERO);
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    let stage = Stage::new("errors");
    let (args, variables) = ([], variables());
    let log = stage.path("agent.log");
    let text = stage.path("text");
    std::fs::write(&text, "no program").unwrap();
    let text = text.display().to_string();
    let station = SessionSpec {
        name: "nobody",
        program: "sleep",
        args: &args,
        folder: stage.folder.path(),
        variables: &variables,
        mark: &stage.mark,
        log: &log,
    };
    let nowhere = Path::new("/no/such/folder");
    let deep = stage.path(&"deep/".repeat(30));
    let home = stage.path("stations");
    let path = std::env::var("PATH").unwrap();
    for (home, path, backend, station, expected) in [
        (
            &home,
            &*path,
            SessionBackend::Process,
            SessionSpec { program: "no-such", ..station },
            "no-such is not installed",
        ),
        (
            &home,
            &path,
            SessionBackend::Tmux,
            SessionSpec { program: "./no-such", ..station },
            "is not installed",
        ),
        (
            &home,
            &path,
            SessionBackend::Tmux,
            SessionSpec { program: "", ..station },
            "is not installed",
        ),
        (
            &home,
            &path,
            SessionBackend::Process,
            SessionSpec { program: &text, ..station },
            "chmod +x",
        ),
        (
            &home,
            &path,
            SessionBackend::Process,
            SessionSpec { folder: nowhere, ..station },
            "/no/such/folder is not there",
        ),
        (
            &home,
            &path,
            SessionBackend::Process,
            SessionSpec { log: Path::new("/proc/log"), ..station },
            "cannot write the log /proc/log",
        ),
        (&home, "/no/such", SessionBackend::Tmux, station, "apt-get install tmux"),
        (&deep, &path, SessionBackend::Tmux, station, "too long"),
        (
            &PathBuf::from("/proc/stations"),
            &path,
            SessionBackend::Process,
            station,
            "cannot keep agents in /proc/stations",
        ),
    ] {
        let error =
            AgentSessions::new(home, path).spawn(backend, &station).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(process_tree::marked(&stage.mark), Vec::<u32>::new());
    let error = "screen".parse::<SessionBackend>().unwrap_err().to_string();
    assert!(error.contains("use process or tmux"), "{error}");
}
