//! Runs an installed agent for one turn of a phase: Claude Code, Codex, Gemini CLI, opencode, or any program that
//! reads a prompt.

use sayso_engine::agents::{
    self, AgentAdapter, AgentProcess, FinishedTurn, TurnResult, allowed, final_message,
};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The default time limit of a turn.
const TURN_MAX: Duration = Duration::from_secs(60 * 60);

/// The interval at which the turn is checked for its time limit and for cancellation.
const LISTEN: Duration = Duration::from_millis(200);

/// The grace period of an agent that is being stopped.
const GRACE: Duration = Duration::from_secs(5);

/// The future of a running agent turn. Dropping it ends the agent with everything it started.
pub type TurnFuture = Pin<Box<dyn Future<Output = std::result::Result<TurnReport, String>> + Send>>;

/// An agent that is installed on this machine.
///
/// ```no_run
/// # use sayso_workflow::{InstalledAgent, HumanQuestion, Phase, FlowState, TurnReport};
/// # #[derive(Clone)] struct Ticket { text: String, session: Option<String> }
/// let coder = InstalledAgent::claude_code().variables(std::env::vars()).folder("/srv/shop");
/// let fix = Phase::new("fix")
///     .agent(move |state: FlowState<Ticket>| match (&state.session, state.value()) {
///         // Its question was answered: its conversation continues with the answer.
///         (Some(session), Some(answer)) => coder.resume(session, answer),
///         _ => coder.turn(format!("Mend this: {}", state.text)),
///     })
///     .keep(|ticket: &mut Ticket, turned: &TurnReport| ticket.session = turned.session.clone())
///     // Its question goes to a person; without one no person is asked.
///     .human_if(|_, turned| turned.questions.first().map(HumanQuestion::text))
///     .next_by(["fix", "check"], |_, turned| {
///         if turned.questions.is_empty() { "check" } else { "fix" }
///     });
/// ```
///
/// Of the variables that it is handed it gets those that its client needs, and no credential of sayso. A question for
/// people is at the end of its turn, by signal or in JSON, and is found in [`TurnReport::questions`]. For agents with a
/// task, a worktree and a conversation that is resumed, use a worker (`sayso work`), or write the workflow in YAML.
#[derive(Debug, Clone)]
pub struct InstalledAgent {
    agent: agents::AgentConfig,
    variables: Vec<(String, String)>,
    folder: PathBuf,
    logs: Option<PathBuf>,
    turn_max: Duration,
}

/// The result of an agent's turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnReport {
    /// The agent's own final message.
    pub text: String,
    /// True if the agent reported that its work is done. The absence of a report is not completion.
    pub completed: bool,
    /// The agent's confidence in percent, if it stated it.
    pub confidence: Option<u8>,
    /// The questions that the agent has for people, in its words.
    pub questions: Vec<String>,
    /// The session id by which its conversation can be resumed.
    pub session: Option<String>,
}

impl InstalledAgent {
    /// Claude Code, started as `claude`.
    pub fn claude_code() -> Self {
        Self::of(AgentAdapter::ClaudeCode)
    }

    /// Codex, started as `codex`.
    pub fn codex() -> Self {
        Self::of(AgentAdapter::Codex)
    }

    /// Gemini CLI, started as `gemini`.
    pub fn gemini() -> Self {
        Self::of(AgentAdapter::Gemini)
    }

    /// opencode, started as `opencode`.
    pub fn opencode() -> Self {
        Self::of(AgentAdapter::Opencode)
    }

    /// Any program that reads its prompt on its standard input and writes text.
    pub fn command(program: impl Into<String>) -> Self {
        Self::of(AgentAdapter::Command).program(program)
    }

    fn of(adapter: AgentAdapter) -> Self {
        let agent = agents::AgentConfig {
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

    /// Sets the program, where it has another name or is not on the PATH.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.agent.program = program.into();
        self
    }

    /// Adds arguments, put where the client takes them.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agent.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets, for [`Agent::command`], the arguments that resume a conversation; `{session}` stands for its id.
    #[must_use]
    pub fn resume_args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agent.resume_args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the model, where the client takes one.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.agent.model = Some(model.into());
        self
    }

    /// Sets the environment to choose from, such as `std::env::vars()`; empty by default. The agent gets what its
    /// client needs of it, such as the PATH it is found on. Marks of an outer agent and variables of sayso never
    /// pass.
    #[must_use]
    pub fn variables(mut self, all: impl IntoIterator<Item = (String, String)>) -> Self {
        let adapter = self.agent.adapter;
        self.variables = all.into_iter().filter(|(name, _)| allowed(name, adapter, &[])).collect();
        self
    }

    /// Sets the working folder; by default that of the program.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Keeps the agent's output in this folder, one file for each turn.
    #[must_use]
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }

    /// Sets the time limit of a turn: an hour by default.
    #[must_use]
    pub fn at_most(mut self, time: Duration) -> Self {
        self.turn_max = time;
        self
    }

    /// Runs a turn in a new conversation until the agent has ended it.
    pub fn turn(&self, prompt: impl Into<String>) -> TurnFuture {
        self.start_turn(prompt.into(), None)
    }

    /// Runs a turn in an earlier conversation: [`TurnReport::session`].
    pub fn resume(&self, session: impl Into<String>, prompt: impl Into<String>) -> TurnFuture {
        self.start_turn(prompt.into(), Some(session.into()))
    }

    fn start_turn(&self, prompt: String, session: Option<String>) -> TurnFuture {
        let (own, unwanted) = (self.clone(), CancelOnDrop::default());
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
    ) -> std::result::Result<TurnReport, String> {
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
    ) -> std::result::Result<TurnReport, String> {
        let turn = agents::TurnInput {
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
        read_report(&self.agent.name, finished)
    }

    /// Waits until the turn ends, is cancelled or exceeds its time limit.
    fn listen(
        &self,
        mut live: AgentProcess,
        unwanted: &AtomicBool,
    ) -> std::result::Result<FinishedTurn, String> {
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

/// Sets the cancellation flag when the future of a turn is dropped.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reads the result of an agent that has ended. Each end other than a clearly successful turn is a failure.
fn read_report(name: &str, finished: FinishedTurn) -> std::result::Result<TurnReport, String> {
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
    let mut turned = TurnReport { session, ..TurnReport::default() };
    match final_message::read(&text) {
        TurnResult::Failed { reason } => return Err(format!("{name} gave up: {reason}")),
        TurnResult::Completed { confidence, .. } => {
            (turned.completed, turned.confidence) = (true, confidence)
        }
        TurnResult::Asks(requests) => {
            turned.questions = requests.into_iter().map(|r| r.question).collect()
        }
        // An agent that uses signals and is not understood may have asked: that must not be ignored.
        TurnResult::Unclear { why }
            if ["<promise", "\"status\""].iter().any(|mark| text.contains(mark)) =>
        {
            return Err(format!("{name} is not understood: {why}"));
        }
        // An agent that was not told to use signals has a plain message.
        TurnResult::Unclear { .. } => {}
    }
    Ok(TurnReport { text, ..turned })
}
