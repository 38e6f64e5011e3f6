//! An agent that is installed here, let work for one turn in a phase: Claude Code, Codex, Gemini CLI, opencode, or
//! any program that reads a prompt.

use sayso_engine::agents::{self, Adapter, Finished, Live, Said, allowed, signal};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a turn may take, unless somebody says otherwise.
const TURN_MAX: Duration = Duration::from_secs(60 * 60);

/// How often it is looked whether the turn is still wanted.
const LISTEN: Duration = Duration::from_millis(200);

/// How long an agent that is not wanted any more gets to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// A turn of an agent that is under way. Dropping it ends the agent with everything it started.
pub type Turning = Pin<Box<dyn Future<Output = std::result::Result<Turned, String>> + Send>>;

/// An agent that is installed on this machine.
///
/// ```no_run
/// # use sayso_workflow::{Agent, Human, Phase, State, Turned};
/// # #[derive(Clone)] struct Ticket { text: String, session: Option<String> }
/// let coder = Agent::claude_code().variables(std::env::vars()).folder("/srv/shop");
/// let fix = Phase::new("fix")
///     .agent(move |state: State<Ticket>| match (&state.session, state.value()) {
///         // What it asked was answered: its conversation goes on with that.
///         (Some(session), Some(answer)) => coder.resume(session, answer),
///         _ => coder.turn(format!("Mend this: {}", state.text)),
///     })
///     .keep(|ticket: &mut Ticket, turned: &Turned| ticket.session = turned.session.clone())
///     // What it wants to know is asked; otherwise nobody is.
///     .human_if(|_, turned| turned.questions.first().map(Human::text))
///     .next_by(["fix", "check"], |_, turned| {
///         if turned.questions.is_empty() { "check" } else { "fix" }
///     });
/// ```
///
/// Of the variables it is handed it gets those that its client needs, and no credential of sayso: what it needs a
/// person for it says at the end of its turn, by signal or in JSON, and it is found in [`Turned::questions`]. For
/// agents with a task, a worktree and a conversation that is resumed, let a worker do the work (`sayso work`), or
/// write the workflow in YAML.
#[derive(Debug, Clone)]
pub struct Agent {
    agent: agents::Agent,
    variables: Vec<(String, String)>,
    folder: PathBuf,
    logs: Option<PathBuf>,
    turn_max: Duration,
}

/// What a turn gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turned {
    /// The agent's own final message.
    pub text: String,
    /// Whether it said by itself that its work is done. Nothing it leaves unsaid does.
    pub completed: bool,
    /// How sure it is, in percent, if it said.
    pub confidence: Option<u8>,
    /// What it needs people for, in its words.
    pub questions: Vec<String>,
    /// By what its conversation can be resumed.
    pub session: Option<String>,
}

impl Agent {
    /// Claude Code, as `claude`.
    pub fn claude_code() -> Self {
        Self::of(Adapter::ClaudeCode)
    }

    /// Codex, as `codex`.
    pub fn codex() -> Self {
        Self::of(Adapter::Codex)
    }

    /// Gemini CLI, as `gemini`.
    pub fn gemini() -> Self {
        Self::of(Adapter::Gemini)
    }

    /// opencode, as `opencode`.
    pub fn opencode() -> Self {
        Self::of(Adapter::Opencode)
    }

    /// Any program that reads what it is told on its standard input and writes text.
    pub fn command(program: impl Into<String>) -> Self {
        Self::of(Adapter::Command).program(program)
    }

    fn of(adapter: Adapter) -> Self {
        let agent = agents::Agent {
            name: adapter.as_str().into(),
            adapter,
            program: adapter.program().into(),
            args: vec![],
            resume_args: vec![],
            model: None,
        };
        let folder = ".".into();
        Self { agent, variables: vec![], folder, logs: None, turn_max: TURN_MAX }
    }

    /// The program, where it has another name or is not on the PATH.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.agent.program = program.into();
        self
    }

    /// More arguments, put where the client takes them.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agent.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// For [`Agent::command`]: the arguments that resume a conversation, `{session}` standing for it.
    #[must_use]
    pub fn resume_args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agent.resume_args = args.into_iter().map(Into::into).collect();
        self
    }

    /// The model, where the client takes one.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.agent.model = Some(model.into());
        self
    }

    /// The environment to choose from, such as `std::env::vars()`; none unless given. It gets what its client needs
    /// of it, such as the PATH it is found on. Marks of an outer agent and whatever is sayso's own never pass.
    #[must_use]
    pub fn variables(mut self, all: impl IntoIterator<Item = (String, String)>) -> Self {
        let adapter = self.agent.adapter;
        self.variables = all.into_iter().filter(|(name, _)| allowed(name, adapter, &[])).collect();
        self
    }

    /// Where it works; where the program runs unless given.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Keeps all that it writes in a file for each turn in this folder.
    #[must_use]
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }

    /// How long a turn may take: an hour unless given.
    #[must_use]
    pub fn at_most(mut self, time: Duration) -> Self {
        self.turn_max = time;
        self
    }

    /// Lets it work in a new conversation until it has ended its turn.
    pub fn turn(&self, prompt: impl Into<String>) -> Turning {
        self.turning(prompt.into(), None)
    }

    /// The same in a conversation of before: [`Turned::session`].
    pub fn resume(&self, session: impl Into<String>, prompt: impl Into<String>) -> Turning {
        self.turning(prompt.into(), Some(session.into()))
    }

    fn turning(&self, prompt: String, session: Option<String>) -> Turning {
        let (own, unwanted) = (self.clone(), Unwanted::default());
        Box::pin(async move {
            let flag = unwanted.0.clone();
            let work = move || own.work(&prompt, session.as_deref(), &flag);
            let turned = tokio::task::spawn_blocking(work).await.map_err(|e| e.to_string())?;
            drop(unwanted);
            turned
        })
    }

    fn work(
        &self,
        prompt: &str,
        session: Option<&str>,
        unwanted: &AtomicBool,
    ) -> std::result::Result<Turned, String> {
        let mark = format!("flow-{:016x}", RandomState::new().build_hasher().finish());
        let kept = self.logs.clone().unwrap_or_else(std::env::temp_dir);
        let log = kept.join(format!("sayso-{mark}.log"));
        let turned = self.work_with(prompt, session, &mark, &log, unwanted);
        if self.logs.is_none() {
            let _ = std::fs::remove_file(log);
        }
        turned
    }

    fn work_with(
        &self,
        prompt: &str,
        session: Option<&str>,
        mark: &str,
        log: &Path,
        unwanted: &AtomicBool,
    ) -> std::result::Result<Turned, String> {
        let turn = agents::Turn {
            folder: &self.folder,
            writable: &[],
            prompt,
            session,
            variables: &self.variables,
            log,
            mark,
        };
        let live = self.agent.start(&turn).map_err(|error| error.to_string())?;
        let finished = self.listen(live, unwanted)?;
        turned(&self.agent.name, finished)
    }

    /// Waits until it has ended, or is not wanted any more.
    fn listen(
        &self,
        mut live: Live,
        unwanted: &AtomicBool,
    ) -> std::result::Result<Finished, String> {
        let began = Instant::now();
        while !live.is_over() {
            live.next(LISTEN);
            let took_too_long = began.elapsed() > self.turn_max;
            if took_too_long || unwanted.load(Ordering::SeqCst) {
                live.stop(GRACE);
                let why = if took_too_long { "took too long" } else { "was stopped" };
                return Err(format!("{} {why}", self.agent.name));
            }
        }
        Ok(live.finish())
    }
}

/// Says when nobody wants a turn any more.
#[derive(Default)]
struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What an agent that has ended gave. Whatever is not plainly a turn that ended well is a failure.
fn turned(name: &str, finished: Finished) -> std::result::Result<Turned, String> {
    if let Some(limit) = finished.limited {
        return Err(format!("{name} may do no more for now: {}", limit.text.trim()));
    }
    let problem = finished.problem.unwrap_or_default();
    if finished.code != Some(0) {
        let code = finished.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
        return Err(format!("{name} ended with {code}: {}", problem.trim()));
    }
    let text = finished.message.unwrap_or_default();
    if text.trim().is_empty() {
        return Err(format!("{name} said nothing. {}", problem.trim()));
    }
    let session = finished.session;
    let mut turned = Turned { session, ..Turned::default() };
    match signal::read(&text) {
        Said::Failed { reason } => return Err(format!("{name} gave up: {reason}")),
        Said::Completed { confidence, .. } => {
            (turned.completed, turned.confidence) = (true, confidence)
        }
        Said::Asks(requests) => {
            turned.questions = requests.into_iter().map(|r| r.question).collect()
        }
        // Whoever speaks by signals and is not understood may have asked: that is not passed over.
        Said::Unclear { why }
            if ["<promise", "\"status\""].iter().any(|mark| text.contains(mark)) =>
        {
            return Err(format!("{name} is not understood: {why}"));
        }
        // Whoever was not told to speak by signals says what they have to say.
        Said::Unclear { .. } => {}
    }
    Ok(Turned { text, ..turned })
}
