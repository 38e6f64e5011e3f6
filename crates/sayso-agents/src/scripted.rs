//! The scripted agent, a fake for tests and demonstrations: plays a small YAML file instead of calling a
//! model. It is a real process that speaks the protocol of the `command` adapter.
//!
//! ```yaml
//! state: .scripted           # the folder of sessions; default: beside the script
//! scenes:
//!   - match: login page      # for first prompts that contain this; without it, for all others
//!     turns:                 # one list of steps per turn of the session; the last repeats
//!       - - say: I shall look at it.
//!         - write: {login.html: "<form>"}
//!         - final: "<promise>INPUT_NEEDED: Which colour?</promise>"
//!       - - expect: blue
//!         - run: git add -A && git commit -qm "Login page"
//!         - final: "<promise>COMPLETE</promise>"
//! ```
//!
//! | step | effect |
//! |---|---|
//! | `say: text`, `does: text` | reports a text or an action |
//! | `write: {path: text}`, `append: {path: text}` | changes files in its working directory |
//! | `run: command` | runs a shell command and reports its output; a failure ends the turn with 1; `$SAYSO_PROMPT` names a file with the prompt |
//! | `ask: [argument, …]` | runs `sayso ask`, waits, and reports its output |
//! | `expect: text` | ends the turn with 3 unless the prompt contains it |
//! | `sleep: seconds` | waits |
//! | `spend: {input: 1, output: 2, cost: 0.01}` | reports usage in tokens and dollars |
//! | `limit: {seconds: 60, text: …}`, `limit: {until: 2026-10-09T15:00:00Z}` | reports a limit |
//! | `print: {bytes: 1000000}` | prints meaningless lines |
//! | `final: text` | reports its final message |
//! | `exit: code` | ends at once |
//! | `crash: true` | kills itself |
//! | `hang: true` | does nothing until it is killed |
//! | `ignore_term: true` | ignores SIGTERM from here on |
//! | `fork: {seconds: 300}` | leaves a process behind in a session of its own |
//! | `session_gone: true` | reports that it does not know the session |
//!
//! In texts `{answer}` stands for the output of the last `ask`.
//!
//! A session is a folder of the state: `0.prompt`, `1.prompt`, … are the exact prompts of its turns,
//! `0.began` and `0.ended` hold the process ID and the time, `scene` the number of the scene. `<task>.live`
//! has a line `begin <pid> <nanoseconds>` and one `end …` for each turn of a task, so that a test can
//! check that no two overlapped.

use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The input of one start of the scripted agent.
#[derive(Debug, Clone)]
pub struct ScriptedStart<'a> {
    pub script: &'a Path,
    /// The session to play; none starts a new one.
    pub session: Option<&'a str>,
    /// The turn and step at which to continue, for a process that was restarted within its turn.
    pub at: Option<(usize, usize)>,
    pub prompt: &'a str,
    /// The folder of sessions, if the script names none.
    pub state: Option<&'a Path>,
    /// The task it works on, if there is one.
    pub task: Option<&'a str>,
    /// The program whose `ask` is run, and that restarts the scripted agent.
    pub program: &'a Path,
}

/// Plays one turn, and returns the exit code of the process.
pub fn play(start: &ScriptedStart<'_>, out: &mut dyn Write) -> Result<u8, String> {
    let script = AgentScript::load(start.script)?;
    let session = start.session.map_or_else(new_session, str::to_owned);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !session.chars().all(is_plain) || session.starts_with('.') || session.is_empty() {
        return Err(format!("{session:?} is no name of a session"));
    }
    let state = state_folder(&script, start);
    let folder = state.join(&session);
    std::fs::create_dir_all(&folder)
        .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let turn = match start.at {
        Some((turn, _)) => turn,
        None => take_turn(&folder, start.prompt)?,
    };
    let prompt = read(&folder.join(format!("{turn}.prompt")))?;
    let scene = script.scene(&folder)?;
    let live = state.join(format!("{}.live", start.task.unwrap_or(&session)));
    let mut player =
        ScriptPlayer { start, out, session, turn, prompt, folder, live, answer: String::new() };
    player.play(scene.steps(turn), start.at.map_or(0, |(_, step)| step))
}

fn new_session() -> String {
    format!("s-{}-{}", std::process::id(), nanos())
}

fn nanos() -> u128 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos())
}

fn state_folder(script: &AgentScript, start: &ScriptedStart<'_>) -> PathBuf {
    let beside = start.script.parent().unwrap_or(Path::new("."));
    match (&script.state, start.state) {
        (Some(state), _) => beside.join(state),
        (None, Some(state)) => state.to_owned(),
        (None, None) => beside.join(".scripted"),
    }
}

/// Takes the first number without a prompt for this turn; of two concurrent starts each gets its own.
fn take_turn(folder: &Path, prompt: &str) -> Result<usize, String> {
    let wrong = |e: std::io::Error| format!("cannot keep the prompt in {}: {e}", folder.display());
    let mut turn = 0;
    loop {
        match File::create_new(folder.join(format!("{turn}.prompt"))) {
            Ok(mut file) => return file.write_all(prompt.as_bytes()).map(|()| turn).map_err(wrong),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => turn += 1,
            Err(error) => return Err(wrong(error)),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentScript {
    state: Option<PathBuf>,
    scenes: Vec<ScriptScene>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptScene {
    r#match: Option<String>,
    turns: Vec<Vec<ScriptStep>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptStep {
    Say(String),
    Does(String),
    Write(BTreeMap<String, String>),
    Append(BTreeMap<String, String>),
    Run(String),
    Ask(Vec<String>),
    Expect(String),
    Sleep(f64),
    Spend(SpendStep),
    Limit(LimitStep),
    Print(PrintStep),
    Final(String),
    Exit(u8),
    Crash(bool),
    Hang(bool),
    IgnoreTerm(bool),
    Fork(ForkStep),
    SessionGone(bool),
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct SpendStep {
    input: u64,
    output: u64,
    cost: f64,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LimitStep {
    seconds: Option<f64>,
    until: Option<String>,
    text: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintStep {
    bytes: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkStep {
    seconds: u64,
}

impl AgentScript {
    fn load(path: &Path) -> Result<Self, String> {
        let script: AgentScript = serde_saphyr::from_str(&read(path)?)
            .map_err(|e| format!("the script {} cannot be read: {e}", path.display()))?;
        let for_all = script.scenes.iter().filter(|scene| scene.r#match.is_none()).count();
        let is_empty = |scene: &ScriptScene| scene.turns.is_empty();
        match () {
            () if script.scenes.is_empty() => Err("the script has no scenes".into()),
            () if for_all > 1 => Err("only one scene may be without a match".into()),
            () if script.scenes.iter().any(is_empty) => Err("a scene has no turns".into()),
            () => Ok(script),
        }
    }

    /// Returns the scene of a session, chosen by its first prompt and kept, even if the script changes.
    fn scene(&self, folder: &Path) -> Result<&ScriptScene, String> {
        let kept = folder.join("scene");
        let number = match std::fs::read_to_string(&kept) {
            // A process that was killed while writing it has left it empty.
            Ok(number) if !number.is_empty() => {
                number.trim().parse().map_err(|e| format!("{}: {e}", kept.display()))?
            }
            _ => self.choose(&read(&folder.join("0.prompt"))?)?,
        };
        std::fs::write(&kept, number.to_string()).map_err(|e| e.to_string())?;
        self.scenes.get(number).ok_or_else(|| format!("the script has no scene {number} any more"))
    }

    fn choose(&self, prompt: &str) -> Result<usize, String> {
        let fits =
            |scene: &ScriptScene| scene.r#match.as_ref().is_some_and(|text| prompt.contains(text));
        let found = self.scenes.iter().position(fits);
        let found = found.or_else(|| self.scenes.iter().position(|scene| scene.r#match.is_none()));
        found.ok_or_else(|| "no scene matches the prompt".to_owned())
    }
}

impl ScriptScene {
    fn steps(&self, turn: usize) -> &[ScriptStep] {
        self.turns.get(turn).or(self.turns.last()).map_or(&[], Vec::as_slice)
    }
}

struct ScriptPlayer<'a> {
    start: &'a ScriptedStart<'a>,
    out: &'a mut dyn Write,
    session: String,
    turn: usize,
    prompt: String,
    folder: PathBuf,
    live: PathBuf,
    answer: String,
}

/// The reason why a turn ends before its last step.
enum EarlyExit {
    Exit(u8),
    Wrong(String),
}

impl From<std::io::Error> for EarlyExit {
    fn from(error: std::io::Error) -> Self {
        EarlyExit::Wrong(error.to_string())
    }
}

impl ScriptPlayer<'_> {
    fn play(&mut self, steps: &[ScriptStep], from: usize) -> Result<u8, String> {
        if self.start.at.is_none() {
            self.note("began", "begin")?;
        }
        let ended = self.steps(steps, from);
        self.note("ended", "end")?;
        match ended {
            Ok(()) => Ok(0),
            Err(EarlyExit::Exit(code)) => Ok(code),
            Err(EarlyExit::Wrong(why)) => Err(why),
        }
    }

    fn steps(&mut self, steps: &[ScriptStep], from: usize) -> Result<(), EarlyExit> {
        if self.start.at.is_none() {
            self.tell(&json!({"sayso": "session", "id": self.session.clone()}))?;
        }
        for (number, step) in steps.iter().enumerate().skip(from) {
            self.step(step, number)?;
        }
        Ok(())
    }

    /// Records the time at which this process began or ended its turn.
    fn note(&self, file: &str, word: &str) -> Result<(), String> {
        let (pid, nanos) = (std::process::id(), nanos());
        let path = self.folder.join(format!("{}.{file}", self.turn));
        let noted = std::fs::write(path, format!("{pid} {nanos}\n"));
        let live = OpenOptions::new().append(true).create(true).open(&self.live);
        let line = format!("{word} {pid} {nanos}\n");
        let noted = noted.and(live).and_then(|mut file| file.write_all(line.as_bytes()));
        noted.map_err(|e| format!("cannot write into {}: {e}", self.folder.display()))
    }

    fn step(&mut self, step: &ScriptStep, number: usize) -> Result<(), EarlyExit> {
        match step {
            ScriptStep::Say(text) => self.say(&self.filled(text)),
            ScriptStep::Does(text) => self.tell(&json!({"sayso": "does", "text": text})),
            ScriptStep::Write(files) => {
                self.change(files, OpenOptions::new().write(true).truncate(true))
            }
            ScriptStep::Append(files) => self.change(files, OpenOptions::new().append(true)),
            ScriptStep::Run(command) => self.run(&self.filled(command)),
            ScriptStep::Ask(args) => self.ask(args),
            ScriptStep::Expect(text) => self.expect(text),
            ScriptStep::Sleep(seconds) => sleep(*seconds),
            ScriptStep::Spend(SpendStep { input, output, cost }) => self
                .tell(&json!({"sayso": "spent",
                "input_tokens": input, "output_tokens": output, "cost_usd": cost})),
            ScriptStep::Limit(limit) => self.limit(limit),
            ScriptStep::Print(PrintStep { bytes }) => self.print(*bytes),
            ScriptStep::Final(text) => self.end_with(&self.filled(text)),
            ScriptStep::Exit(code) => Err(EarlyExit::Exit(*code)),
            ScriptStep::Fork(ForkStep { seconds }) => fork(*seconds),
            ScriptStep::SessionGone(true) => self.tell(&json!({"sayso": "session_gone"})),
            ScriptStep::Crash(true) => crash(),
            ScriptStep::Hang(true) => loop {
                std::thread::sleep(Duration::from_secs(3_600));
            },
            ScriptStep::IgnoreTerm(true) => Err(self.start_anew_deaf(number + 1)),
            ScriptStep::SessionGone(false)
            | ScriptStep::Crash(false)
            | ScriptStep::Hang(false)
            | ScriptStep::IgnoreTerm(false) => Ok(()),
        }
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{answer}", &self.answer)
    }

    fn tell(&mut self, line: &serde_json::Value) -> Result<(), EarlyExit> {
        writeln!(self.out, "{line}")?;
        Ok(self.out.flush()?)
    }

    fn say(&mut self, text: &str) -> Result<(), EarlyExit> {
        self.tell(&json!({"sayso": "says", "text": text}))
    }

    fn end_with(&mut self, text: &str) -> Result<(), EarlyExit> {
        self.tell(&json!({"sayso": "final", "text": text}))
    }

    fn change(
        &mut self,
        files: &BTreeMap<String, String>,
        how: &mut OpenOptions,
    ) -> Result<(), EarlyExit> {
        for (path, text) in files {
            if let Some(folder) = Path::new(path).parent() {
                std::fs::create_dir_all(folder)?;
            }
            how.create(true).open(path)?.write_all(self.filled(text).as_bytes())?;
            self.tell(&json!({"sayso": "does", "text": format!("write {path}")}))?;
        }
        Ok(())
    }

    fn run(&mut self, command: &str) -> Result<(), EarlyExit> {
        self.tell(&json!({"sayso": "does", "text": command}))?;
        let prompt = self.folder.join(format!("{}.prompt", self.turn));
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::null()).env("SAYSO_PROMPT", prompt);
        let ran = shell.output()?;
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        if !said.trim().is_empty() {
            self.say(said.trim_end())?;
        }
        if !ran.status.success() {
            self.end_with(&format!("{command} failed: {}", ran.status))?;
            return Err(EarlyExit::Exit(1));
        }
        Ok(())
    }

    fn ask(&mut self, args: &[String]) -> Result<(), EarlyExit> {
        self.tell(&json!({"sayso": "does", "text": format!("ask {}", args.join(" "))}))?;
        let mut command = Command::new(self.start.program);
        let asked = command.arg("ask").args(args).stdin(Stdio::null()).output()?;
        self.answer = String::from_utf8_lossy(&asked.stdout).trim_end().to_owned();
        self.say(&self.answer.clone())?;
        if !asked.status.success() {
            let complaint = String::from_utf8_lossy(&asked.stderr);
            self.say(&format!("ask ended with {}: {}", asked.status, complaint.trim_end()))?;
        }
        Ok(())
    }

    fn expect(&mut self, text: &str) -> Result<(), EarlyExit> {
        if self.prompt.contains(text) {
            return Ok(());
        }
        self.end_with(&format!("the prompt of turn {} does not contain {text:?}", self.turn))?;
        Err(EarlyExit::Exit(3))
    }

    fn limit(&mut self, limit: &LimitStep) -> Result<(), EarlyExit> {
        let after = |seconds: f64| {
            let span = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
            Some(jiff::Timestamp::now().checked_add(span).ok()?.to_string())
        };
        let until = limit.until.clone().or_else(|| limit.seconds.and_then(after));
        let text = limit.text.as_deref().unwrap_or("usage limit reached");
        self.tell(&json!({"sayso": "limited", "until": until, "text": text}))
    }

    fn print(&mut self, bytes: usize) -> Result<(), EarlyExit> {
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..bytes / line.len() {
            self.out.write_all(line.as_bytes())?;
        }
        Ok(self.out.flush()?)
    }

    /// Restarts through a shell that ignores SIGTERM. An ignored signal stays ignored after `exec`, so the turn
    /// continues in the same process, which no longer receives it.
    fn start_anew_deaf(&self, step: usize) -> EarlyExit {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; exec \"$@\"", "sh"]).arg(self.start.program);
        command.arg("__scripted").arg(self.start.script);
        command.args(["--session", &self.session, "--at", &format!("{}:{step}", self.turn)]);
        EarlyExit::Wrong(format!("cannot start anew: {}", command.exec()))
    }
}

fn sleep(seconds: f64) -> Result<(), EarlyExit> {
    let span = Duration::try_from_secs_f64(seconds).map_err(|e| EarlyExit::Wrong(e.to_string()))?;
    std::thread::sleep(span);
    Ok(())
}

/// Leaves a process behind that has left our process group and session, and soon its parent.
fn fork(seconds: u64) -> Result<(), EarlyExit> {
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", &format!("sleep {seconds}")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

fn crash() -> Result<(), EarlyExit> {
    let killed =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    Err(EarlyExit::Wrong(format!("cannot kill itself: {killed:?}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    struct Theatre {
        folder: tempfile::TempDir,
    }

    impl Theatre {
        fn with(script: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("script.yaml"), script).unwrap();
            Self { folder }
        }

        /// Returns the exit code and the output, or the error.
        fn play(&self, session: &str, prompt: &str) -> Result<(u8, String), String> {
            let script = self.folder.path().join("script.yaml");
            let start = ScriptedStart {
                script: &script,
                session: Some(session),
                at: None,
                prompt,
                state: None,
                task: Some("t1"),
                program: Path::new("echo"),
            };
            let mut out = vec![];
            let code = play(&start, &mut out)?;
            Ok((code, String::from_utf8(out).unwrap()))
        }

        fn kept(&self, path: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(".scripted").join(path)).unwrap()
        }
    }

    #[test]
    fn a_session_plays_its_turns_and_repeats_the_last() {
        let theatre = Theatre::with(
            "scenes:
  - match: other
    turns: [[{say: wrong}]]
  - match: login
    turns:
      - - say: first
        - final: '<promise>INPUT_NEEDED: Which?</promise>'
      - - expect: blue
        - final: '<promise>COMPLETE</promise>'
",
        );
        let (code, said) = theatre.play("s1", "the login page").unwrap();
        assert_eq!(code, 0);
        assert_eq!(
            said,
            "{\"sayso\":\"session\",\"id\":\"s1\"}\n{\"sayso\":\"says\",\"text\":\"first\"}\n\
             {\"sayso\":\"final\",\"text\":\"<promise>INPUT_NEEDED: Which?</promise>\"}\n"
        );
        // The scene stays, even if later prompts match another.
        let (code, said) = theatre.play("s1", "other: blue").unwrap();
        assert_eq!(code, 0);
        assert!(said.contains("COMPLETE"), "{said}");
        let (code, said) = theatre.play("s1", "red").unwrap();
        assert_eq!(code, 3);
        assert!(said.contains("does not contain \\\"blue\\\""), "{said}");
        assert_eq!(theatre.kept("s1/0.prompt"), "the login page");
        assert_eq!(theatre.kept("s1/2.prompt"), "red");
        assert_eq!(theatre.kept("s1/scene"), "1");
        let live = theatre.kept("t1.live");
        let words: Vec<_> = live.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(words, ["begin", "end", "begin", "end", "begin", "end"]);
    }

    #[test]
    fn every_step_that_ends_is_played() {
        let theatre = Theatre::with("scenes: []");
        let file = theatre.folder.path().join("sub/file");
        let file = file.display();
        let script = format!(
            "scenes:
  - turns:
      - - does: a thing
        - write: {{{file}: one}}
        - append: {{{file}: ' two'}}
        - run: cat {file}
        - ask: [Which, --wait]
        - say: 'so: {{answer}}'
        - sleep: 0.01
        - spend: {{input: 1, output: 2, cost: 0.5}}
        - limit: {{until: '2026-10-09T15:00:00Z'}}
        - limit: {{seconds: 60, text: later}}
        - print: {{bytes: 250}}
        - session_gone: true
        - hang: false
        - exit: 4
        - say: never
"
        );
        std::fs::write(theatre.folder.path().join("script.yaml"), script).unwrap();
        let (code, said) = theatre.play("s", "").unwrap();
        assert_eq!(code, 4);
        for expected in [
            "\"a thing\"",
            "\"one two\"",
            "\"so: ask Which --wait\"",
            "\"input_tokens\":1",
            "\"cost_usd\":0.5",
            "2026-10-09T15:00:00Z",
            "\"later\"",
            "xxx\n",
            "session_gone",
        ] {
            assert!(said.contains(expected), "{expected} is not in {said}");
        }
        assert!(!said.contains("never"));
    }

    #[test]
    fn a_failing_command_ends_the_turn() {
        let theatre = Theatre::with("scenes: [{turns: [[{run: 'echo no; false'}, {say: never}]]}]");
        let (code, said) = theatre.play("s", "").unwrap();
        assert_eq!(code, 1);
        assert!(said.contains("failed"), "{said}");
    }

    #[test]
    fn a_script_that_is_wrong_says_where() {
        for (script, expected) in [
            ("scenes: []", "no scenes"),
            ("scenes: [{turns: []}]", "no turns"),
            ("scenes: [{turns: [[]]}, {turns: [[]]}]", "only one scene"),
            ("scenes: [{match: x, turns: [[]]}]", "no scene matches"),
            ("scenes: [{turns: [[{dance: true}]]}]", "dance"),
            ("scenes: [{turn: [[]]}]", "turn"),
            ("scenes: [{turns: [[{print: {byte: 1}}]]}]", "byte"),
        ] {
            let wrong = Theatre::with(script).play("s", "prompt").unwrap_err();
            assert!(wrong.contains(expected), "{script}: {wrong}");
        }
        let theatre = Theatre::with("scenes: [{turns: [[]]}]");
        assert!(theatre.play("../x", "").unwrap_err().contains("no name"));
    }
}
