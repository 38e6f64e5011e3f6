//! Worker setup shared by `work`, `run` and `demo`: settings, progress output, prompts and signals.

pub(crate) mod gate_prompt;
pub(crate) mod hooks;
mod progress;
pub(crate) mod task_file;

pub(crate) use progress::{ProgressView, in_words, seconds, sum};

use crate::config::{self, SpaceLocation};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::open_desk::{self, DeskPurpose};
use crate::{identity, notice_sending};
use sayso_core::{Actor, AskThreshold, Code, CommandExit, Digest, EntryPoint, Role};
use sayso_engine::agents::AgentConfig;
use sayso_engine::worker::{WorkBudget, WorkScope, WorkTotals, Worker, WorkerConfig, holder};
use sayso_engine::worktree::{GitError, GitRepository};
use sayso_engine::{AgentSupervisor, Desk, SettingKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The built-in roles.
const ROLES: [(&str, &str); 5] = [
    ("code", include_str!("roles/code.md")),
    ("test", include_str!("roles/test.md")),
    ("docs", include_str!("roles/docs.md")),
    ("design", include_str!("roles/design.md")),
    ("review", include_str!("roles/review.md")),
];

/// The most bytes read from a role or a preamble.
pub(crate) const ROLE_BYTES_MAX: u64 = 256 * 1024;

/// The worker options of the command line; everything else is in the settings.
#[derive(Default)]
pub(crate) struct WorkOptions {
    pub(crate) agent: Option<String>,
    pub(crate) jobs: Option<usize>,
    pub(crate) threshold: Option<AskThreshold>,
    pub(crate) budget: WorkBudget,
    pub(crate) scope: WorkScope,
}

/// Opens a desk for a long-running process, and returns the caller and location.
pub(crate) fn open_for_work(context: &CliContext<'_>) -> Result<(Desk, Actor, SpaceLocation)> {
    let location = config::locate(&context.globals)?;
    let desk = open_desk::open(&location, DeskPurpose::Shared)?;
    let actor = identity::actor(&desk)?;
    if actor.role == Role::Agent {
        return Err(Failure::new(Code::NotAllowed, "an agent does not start other agents")
            .hint("a person or a service runs the worker, outside of any agent"));
    }
    Ok((desk, actor, location))
}

/// Sets a worker up. Mistakes in the repository, the settings or the agents are reported here, before a task is
/// claimed.
pub(crate) fn setup(
    context: &CliContext<'_>,
    location: &SpaceLocation,
    (desk, actor): (&Desk, &Actor),
    wanted: WorkOptions,
) -> Result<WorkerConfig> {
    if let Some(untrusted) = location.untrusted.as_ref().filter(|u| u.concerns_work()) {
        return Err(untrusted.refused());
    }
    let work = &location.work;
    let start = config::start(&context.globals)?;
    let project = location.folder.as_deref().and_then(Path::parent).unwrap_or(&start);
    let agents = with_absolute_programs(config::agents(&location.agents)?, project)?;
    let agent = wanted.agent.unwrap_or_else(|| work.agent.clone());
    check_agent(&agents, &agent)?;
    let folder = home(context, location)?;
    let source = hooks::source(location, &folder, config::own_hooks(&location.agents));
    if let Some(agent) = agents.get(&agent) {
        hooks::check(desk, agent, &source)?;
    }
    let base = Some(work.base.as_str()).filter(|base| !base.is_empty());
    let repository = GitRepository::open(&start, folder.join("worktrees"), base).map_err(no_git)?;
    Ok(WorkerConfig {
        // The worker's own changes come through the worker door.
        actor: Actor { door: EntryPoint::Worker, ..actor.clone() },
        holder: holder(repository.root()),
        agents,
        agent,
        environment: environment(),
        allowed_variables: work.environment.clone(),
        variables: variables(context, location),
        roles: with_set_roles(desk, roles(&folder)?)?,
        preamble: read(&folder.join("preamble.md"))?.unwrap_or_default(),
        threshold: wanted.threshold.map_or(work.threshold, |wanted| wanted.max(work.threshold)),
        check: work.check(),
        confidence_min: work.sure.0,
        land: work.land()?,
        logs: logs(&folder)?,
        lease: work.lease()?,
        turn_max: work.turn()?,
        no_progress_max: work.fruitless,
        turns_max: work.turns,
        retry: work.retry()?,
        jobs: wanted.jobs.unwrap_or(work.jobs),
        budget: wanted.budget,
        scope: wanted.scope,
        supervisor: Some(supervisor(context, location)?),
        hooks: Some(source),
        step: None,
        repository,
    })
}

/// Builds the supervisor of long-running agents on this machine.
pub(crate) fn supervisor(
    context: &CliContext<'_>,
    location: &SpaceLocation,
) -> Result<AgentSupervisor> {
    let home = home(context, location)?;
    let start = std::path::absolute(config::start(&context.globals)?)?;
    let folder = location.folder.as_ref().and_then(|_| home.parent()).unwrap_or(&start);
    Ok(AgentSupervisor {
        host: location.host.clone(),
        home: home.join("agents"),
        folder: folder.to_owned(),
        logs: home.join("logs"),
        environment: environment(),
        allowed_variables: location.work.environment.clone(),
        variables: variables(context, location),
        asker: None,
    })
}

/// Runs a worker, with its progress shown.
pub(crate) fn work(
    desk: &Desk,
    setup: WorkerConfig,
    view: &ProgressView<'_>,
    stop: &AtomicBool,
) -> Result<WorkTotals> {
    let watch = |progress| view.show(progress);
    let tally = Worker::new(desk.clone(), setup, &watch, stop).work();
    view.close();
    Ok(tally?)
}

/// Runs a worker while notices are sent, also about the last questions: the worker may be the only process that sends
/// them.
pub(crate) fn work_and_notify(
    context: &CliContext<'_>,
    desk: &Desk,
    setup: WorkerConfig,
    view: &ProgressView<'_>,
    stop: &AtomicBool,
) -> Result<WorkTotals> {
    let Some(courier) = notice_sending::notice_sender(context, desk)? else {
        return work(desk, setup, view, stop);
    };
    let is_over = AtomicBool::new(false);
    let worked = std::thread::scope(|scope| {
        let sending = scope.spawn(|| courier.run(&is_over));
        let worked = work(desk, setup, view, stop);
        is_over.store(true, Ordering::SeqCst);
        let _ = sending.join();
        worked
    });
    if let (Some(courier), false) =
        (notice_sending::notice_sender(context, desk)?, stop.load(Ordering::SeqCst))
    {
        courier.send_due()?;
    }
    worked
}

/// The signal that asked this process to stop; 0 before one did.
static SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Signals that stop a command, and its exit code if it was not finished by then.
const ENDS: [(i32, CommandExit); 3] = [
    (SIGINT, CommandExit::Interrupted),
    (SIGTERM, CommandExit::Terminated),
    (SIGHUP, CommandExit::HungUp),
];

/// A flag that is set when the user presses Ctrl+C, the terminal is closed or the system ends the process; the second
/// signal ends the process at once.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let signals = SIGNAL.get_or_init(Arc::default);
    for (signal, exit) in ENDS {
        signal_hook::flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&stop))?;
        let number = usize::try_from(signal).unwrap_or_default();
        signal_hook::flag::register_usize(signal, Arc::clone(signals), number)?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The exit code of a command that a signal stopped before it was finished; none without a signal.
pub(crate) fn ended_by_signal() -> Option<CommandExit> {
    let signal = SIGNAL.get()?.load(Ordering::SeqCst);
    let ends = ENDS.iter().find(|(number, _)| usize::try_from(*number) == Ok(signal));
    ends.map(|(_, exit)| *exit)
}

/// The folder of worktrees, logs and roles: that of the space, or one of the user's own.
pub(crate) fn home(context: &CliContext<'_>, location: &SpaceLocation) -> Result<PathBuf> {
    match &location.folder {
        Some(folder) => Ok(std::path::absolute(folder)?),
        None => {
            let project = std::path::absolute(config::start(&context.globals)?)?;
            let name = Digest::of_bytes(project.as_os_str().as_encoded_bytes());
            let name: String = name.as_str().chars().rev().take(16).collect();
            let state = config::state_folder().ok_or_else(|| {
                Failure::new(Code::BadConfig, "there is no folder to keep worktrees and logs in")
                    .hint("make a space here with: sayso init, or set HOME")
            })?;
            Ok(state.join(name))
        }
    }
}

/// A program path is relative to the project, not to an agent's worktree.
fn with_absolute_programs(
    mut agents: BTreeMap<String, AgentConfig>,
    project: &Path,
) -> Result<BTreeMap<String, AgentConfig>> {
    for agent in agents.values_mut().filter(|agent| agent.program.contains('/')) {
        agent.program = std::path::absolute(project.join(&agent.program))?.display().to_string();
    }
    Ok(agents)
}

fn check_agent(agents: &BTreeMap<String, AgentConfig>, name: &str) -> Result<()> {
    let Some(agent) = agents.get(name) else {
        let known: Vec<_> = agents.keys().map(String::as_str).collect();
        return Err(Failure::new(Code::BadConfig, format!("there is no agent {name:?}"))
            .hint(format!("take one of {}, or name it in .sayso/config.yaml", known.join(", "))));
    };
    if is_program(&agent.program) {
        Ok(())
    } else {
        Err(Failure::new(
            Code::NoAgent,
            format!("agent {name} is not installed: there is no program {:?}", agent.program),
        )
        .hint(format!("install it, or name its program in .sayso/config.yaml: agents: {{{name}: {{program: …}}}}")))
    }
}

/// True if a program exists: by its path, or on the PATH.
pub(crate) fn is_program(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn no_git(error: GitError) -> Failure {
    let hint = error.hint();
    Failure::new(Code::Git, error.to_string()).hint(hint)
}

pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The environment with which agents reach this space: its location, and this very program on their PATH.
fn variables(context: &CliContext<'_>, location: &SpaceLocation) -> Vec<(String, String)> {
    let mut variables = vec![("SAYSO_SPACE".to_owned(), location.space.clone())];
    // Values from the settings need not be passed: agents read the same settings.
    if let Some(store) = &context.globals.store {
        let is_url = store.contains("://");
        let store = if is_url { store.clone() } else { absolute(store) };
        variables.push(("SAYSO_STORE".into(), store));
    }
    if let Some(path) = &location.authorities {
        variables.push(("SAYSO_CA_FILE".into(), absolute(&path.display().to_string())));
    }
    let exe = std::env::current_exe().ok();
    if let Some(folder) = exe.as_deref().and_then(Path::parent) {
        let path = std::env::var("PATH").unwrap_or_default();
        variables.push(("PATH".into(), format!("{path}:{}", folder.display())));
    }
    variables
}

fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.into(), |path| path.display().to_string())
}

/// Roles set in the space override those in files, which agents could edit.
fn with_set_roles(
    desk: &Desk,
    mut roles: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let set = desk.settings(Some(SettingKind::Role))?;
    roles.extend(set.into_iter().filter_map(|role| Some((role.name, role.body?))));
    Ok(roles)
}

/// The roles: the built-in ones, overridden by files of the space.
pub(crate) fn roles(folder: &Path) -> Result<BTreeMap<String, String>> {
    let ours = ROLES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let mut roles: BTreeMap<_, _> = ours.collect();
    let Ok(files) = std::fs::read_dir(folder.join("roles")) else { return Ok(roles) };
    for file in files {
        let path = file?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let is_role = path.extension().is_some_and(|extension| extension == "md");
        if let (Some(name), true, Some(text)) = (name, is_role, read(&path)?) {
            roles.insert(name, text);
        }
    }
    Ok(roles)
}

fn read(path: &Path) -> Result<Option<String>> {
    use std::io::Read;
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::new(Code::BadConfig, format!("{}: {error}", path.display())));
        }
    };
    let mut text = String::new();
    file.take(ROLE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(Code::InvalidText, format!("{}: {error}", path.display())))?;
    Ok(Some(text))
}

/// Creates the folder of logs, readable by its owner alone.
fn logs(folder: &Path) -> Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let logs = folder.join("logs");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&logs).map_err(|error| {
        Failure::new(Code::ReadOnly, format!("{} cannot be made: {error}", logs.display()))
    })?;
    Ok(logs)
}
