//! Runs flows from this process: executes their steps, asks people at this terminal, and merges the result.

use crate::config::SpaceLocation;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::failpoint;
use crate::identity;
use crate::work::gate_prompt::GatePrompter;
use crate::work::{self, ProgressView, WorkOptions};
use sayso_core::flow::{Flow, FlowEndKind, FlowPlace, check_home};
use sayso_core::gate::Gate;
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, FlowId, TaskId};
use sayso_engine::worker::{
    CommandOutcome, CommandStep, PathWatch, StepOutcome, WorkScope, Worker, WorkerConfig,
    WorkerProgress, holder,
};
use sayso_engine::worktree::{GitError, GitRepository, Worktree};
use sayso_engine::{ChangeFeed, Desk, flow_commands};
use sayso_workflow::file::{
    CommandJob, PhaseDefinition, StepExecutor, StepJob, WorkflowDefinition, agent_output,
    command_output,
};
use sayso_workflow::{
    FlowProgress, HumanInput, Inbox, WorkFuture, WorkOutcome, block_on, blocking,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which a waiting task is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The interval at which the watcher checks for a stop request.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// The watcher checks for a cancelled flow once in this many rounds while a step runs.
const TAKEN_BACK_EVERY: u32 = 10;

/// The time that running steps get to end when this process no longer runs their flow.
const END_MAX: Duration = Duration::from_secs(15);

/// The time limit of a command step.
const COMMAND_MAX: Duration = Duration::from_secs(60 * 60);

/// Runs flows from this process.
pub(crate) struct FlowRunner<'a> {
    pub(crate) context: &'a CliContext<'a>,
    pub(crate) desk: Desk,
    pub(crate) actor: Actor,
    /// The worker setup for agent steps; none if no agent is needed.
    pub(crate) setup: Option<WorkerConfig>,
    /// The folder in which commands run that have no worktree.
    pub(crate) folder: PathBuf,
    /// The folder for notes on the state of the tree when a command step began.
    notes: PathBuf,
    /// True if flows are adopted from the place in which they ran before.
    adopts: bool,
    pub(crate) stop: Arc<AtomicBool>,
}

impl<'a> FlowRunner<'a> {
    /// Sets up the runner. Problems with the repository or the agents are reported here.
    pub(crate) fn new(context: &'a CliContext<'a>, needs_agents: bool) -> Result<Self> {
        let (desk, actor, location) = work::open_for_work(context)?;
        let wanted = WorkOptions { jobs: Some(1), ..WorkOptions::default() };
        let setup = if needs_agents {
            Some(work::setup(context, &location, (&desk, &actor), wanted)?)
        } else {
            None
        };
        let (home, folder) = (work::home(context, &location)?, command_folder(context, &location)?);
        let notes = home.join("steps");
        let (adopts, stop) = (false, work::stop_flag()?);
        Ok(Self { context, desk, actor, setup, folder, notes, adopts, stop })
    }

    /// Sets whether flows are adopted from the place in which they ran before.
    pub(crate) fn adopting(self, adopts: bool) -> Self {
        Self { adopts, ..self }
    }

    /// The inbox through which flows are started and resumed from this place.
    pub(crate) fn inbox(&self) -> Inbox {
        let inbox = Inbox::with_actor(self.desk.clone(), self.actor.clone());
        inbox.at_place(place(&self.folder)).adopting(self.adopts)
    }

    /// Checks that the `writes` of a workflow can be watched, before any step runs.
    pub(crate) fn check_watchable(&self, definition: &WorkflowDefinition) -> Result<()> {
        let is_watched = |phase: &PhaseDefinition| phase.writes.is_some();
        if self.setup.is_some() || !definition.phases.iter().any(is_watched) {
            return Ok(());
        }
        let here = GitRepository::open(&self.folder, self.notes.clone(), None);
        here.map(drop).map_err(|e| Failure::new(Code::Git, unwatched(&e)).hint(e.hint()))
    }

    /// Runs a flow as far as it goes, or until it waits for people and there is no person at this terminal. `led` is
    /// the flow if this process holds its lease already, from the start.
    pub(crate) fn run_flow(
        &self,
        id: FlowId,
        led: Option<Flow>,
        waits: bool,
    ) -> Result<FlowProgress> {
        let is_attended =
            identity::has_terminal() && !self.context.globals.no_input && !self.context.out.json;
        let person = match is_attended {
            // A person who may not answer here watches, and answers in another place.
            true => identity::person(self.context, &self.desk).ok(),
            false => None,
        };
        self.run_with(id, led, waits, person.as_ref())
    }

    /// Runs a flow as far as it goes without asking at this terminal: while one waits, others may continue.
    pub(crate) fn run_unattended(&self, id: FlowId) -> Result<FlowProgress> {
        self.run_with(id, None, false, None)
    }

    fn run_with(
        &self,
        id: FlowId,
        led: Option<Flow>,
        waits: bool,
        person: Option<&Actor>,
    ) -> Result<FlowProgress> {
        let view = ProgressView::new(self.context.out);
        let (tell, told) = channel();
        let (is_done, at_work) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
        // Set when the steps of this flow are to end; the next flow has its own flag.
        let halt = Arc::new(AtomicBool::new(false));
        let walked = std::thread::scope(|scope| {
            let crew: Arc<dyn StepExecutor> =
                Arc::new(self.crew(tell, at_work.clone(), halt.clone()));
            let shown = scope.spawn(|| told.into_iter().for_each(|progress| view.show(progress)));
            let (waits, is_done, at_work) = (waits || person.is_some(), &is_done, &*at_work);
            let halt = &*halt;
            let walking = scope.spawn(move || {
                let walked = self.walk(id, led, crew, waits, at_work);
                stop_running_steps(halt, at_work);
                is_done.store(true, Ordering::SeqCst);
                walked
            });
            scope.spawn(move || self.watch(id, halt, at_work, is_done));
            if let Some(person) = person {
                self.attend(id, person, &view, is_done)?;
            }
            let walked = walking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let _ = shown.join();
            walked
        });
        view.close();
        let walked = walked?;
        if let FlowProgress::Ended(flow) = &walked {
            // The notes on its steps are of no use any more.
            let _ = std::fs::remove_file(self.notes.join(format!("{}.watch", flow.started.handle)));
            self.merge_work(flow)?;
        }
        Ok(walked)
    }

    fn attend(
        &self,
        id: FlowId,
        person: &Actor,
        view: &ProgressView<'_>,
        is_done: &AtomicBool,
    ) -> Result<()> {
        let (context, desk, stop) = (self.context, &self.desk, &*self.stop);
        let attendant = GatePrompter { context, desk, person, view, stop, insists: false };
        let is_about_it = |gate: &Gate| {
            let Ok(flow) = desk.flow(id) else { return false };
            let is_of_task = flow.started.task.is_some() && gate.opened.task == flow.started.task;
            is_of_task || flow.asked.values().any(|asked| *asked == gate.opened.id)
        };
        let attended = attendant.attend(&is_about_it, &|| is_done.load(Ordering::SeqCst));
        // The person has left the prompt: running steps end, pending gates stay. A flow that came as far as it goes
        // is no reason to stop: others may be next.
        if !is_done.load(Ordering::SeqCst) {
            stop.store(true, Ordering::SeqCst);
        }
        attended
    }

    /// Halts the running steps when this process is to stop, or when the flow was cancelled.
    fn watch(&self, id: FlowId, halt: &AtomicBool, at_work: &AtomicUsize, is_done: &AtomicBool) {
        let mut looks = 0;
        while !is_done.load(Ordering::SeqCst) {
            looks += 1;
            let is_due = looks % TAKEN_BACK_EVERY == 0 && at_work.load(Ordering::SeqCst) > 0;
            let is_over = || self.desk.flow(id).is_ok_and(|flow| !flow.is_live());
            if self.stop.load(Ordering::SeqCst) || (is_due && is_over()) {
                halt.store(true, Ordering::SeqCst);
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }

    fn walk(
        &self,
        id: FlowId,
        mut led: Option<Flow>,
        crew: Arc<dyn StepExecutor>,
        waits: bool,
        at_work: &AtomicUsize,
    ) -> Result<FlowProgress> {
        let inbox = self.inbox();
        let input = if waits { HumanInput::Wait } else { HumanInput::Park };
        let is_stopped = || self.stop.load(Ordering::SeqCst);
        let leaves = || is_stopped() && at_work.load(Ordering::SeqCst) == 0;
        loop {
            let mut wake = self.desk.follow()?;
            let is_led = led.is_some();
            let flow = led.take().map_or_else(|| self.desk.flow(id), Ok)?;
            let walk =
                failpoint::with_failpoints(inbox.advance_file(&flow, is_led, crew.clone(), &input));
            let Some(walked) = block_on(walk, &leaves)? else {
                return Ok(FlowProgress::Waits(self.desk.flow(id)?));
            };
            let walked = walked?;
            // An agent asked: the flow continues when its task does.
            match &walked {
                FlowProgress::Waits(flow) if waits && !is_stopped() => {
                    self.wait_for_task(flow, &mut wake)?
                }
                FlowProgress::Waits(_) | FlowProgress::Ended(_) | FlowProgress::Elsewhere => {
                    return Ok(walked);
                }
            }
        }
    }

    fn wait_for_task(&self, flow: &Flow, wake: &mut ChangeFeed) -> Result<()> {
        let Some(task) = flow.started.task else { return Ok(()) };
        while self.desk.task(task)?.task.is_waiting() && !self.stop.load(Ordering::SeqCst) {
            wake.wait(LOOK_AGAIN)?;
        }
        Ok(())
    }

    /// Merges the work of a flow that is done; the work of any other flow stays on its branch.
    fn merge_work(&self, flow: &Flow) -> Result<()> {
        let is_done = flow.ending.as_ref().is_some_and(|ending| ending.how == FlowEndKind::Done);
        let (Some(task), Some(setup), true) = (flow.started.task, &self.setup, is_done) else {
            return Ok(());
        };
        let scope = WorkScope { tasks: [task].into(), ..WorkScope::default() };
        let setup = WorkerConfig { scope, ..setup.clone() };
        let stop = AtomicBool::new(false);
        let what = Worker::new(self.desk.clone(), setup, &|_| {}, &stop).finish()?;
        self.context.out.remark(&what);
        Ok(())
    }

    fn crew(
        &self,
        tell: Sender<WorkerProgress>,
        at_work: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
    ) -> LocalExecutor {
        LocalExecutor {
            desk: self.desk.clone(),
            setup: self.setup.clone(),
            folder: self.folder.clone(),
            notes: self.notes.clone(),
            stop,
            tell: Arc::new(Mutex::new(tell)),
            at_work,
        }
    }
}

/// Returns the folder in which commands run that have no worktree.
pub(crate) fn command_folder(
    context: &CliContext<'_>,
    location: &SpaceLocation,
) -> Result<PathBuf> {
    let home = work::home(context, location)?;
    let start = std::path::absolute(crate::config::start(&context.globals)?)?;
    let in_space = location.folder.as_ref().and_then(|_| home.parent());
    Ok(in_space.map_or(start, ToOwned::to_owned))
}

/// The place of this process (host and folder), as it is stored with a flow.
pub(crate) fn place(folder: &Path) -> FlowPlace {
    // The part behind the host name tells the processes of one container from another's, and changes with each start.
    let host = holder(Path::new("")).host;
    let host = host.split(' ').next().unwrap_or_default().to_owned();
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    FlowPlace { host, folder: folder.display().to_string(), user: identity::user() }
}

/// Checks that a flow belongs to this place and that the caller may resume it here.
pub(crate) fn check_belongs_here(context: &CliContext<'_>, desk: &Desk, flow: &Flow) -> Result<()> {
    let location = crate::config::locate(&context.globals)?;
    let here = place(&command_folder(context, &location)?);
    Ok(check_home(flow, &identity::actor(desk)?, Some(&here))?)
}

/// Prints the commands of a flow, and where they would run.
pub(crate) fn print_commands(context: &CliContext<'_>, flow: &Flow, place: &FlowPlace) {
    let Some(lines) = flow_commands(flow) else { return };
    let (handle, place) = (&flow.started.handle, sanitize_line(&place.in_words()));
    context.out.remark(&format!("flow {handle} would run, in {place}:"));
    lines.iter().for_each(|line| context.out.remark(&format!("  {}", sanitize_line(line))));
}

/// Stops the running steps and waits for their end, when this process no longer runs their flow.
fn stop_running_steps(halt: &AtomicBool, at_work: &AtomicUsize) {
    halt.store(true, Ordering::SeqCst);
    let since = Instant::now();
    while at_work.load(Ordering::SeqCst) > 0 && since.elapsed() < END_MAX {
        std::thread::sleep(WATCH_EVERY);
    }
}

/// Returns the definition of a flow that runs from a workflow file; an error if a program started it.
pub(crate) fn definition_of(flow: &Flow) -> Result<WorkflowDefinition> {
    let found = WorkflowDefinition::of(flow)?;
    found.ok_or_else(|| {
        let message = format!("flow {} was begun by a program", flow.started.handle);
        Failure::new(Code::WrongState, message).hint("start that program again: it goes on with it")
    })
}

/// Executes steps on this machine: agents by way of a worker, commands in the worktree of the flow's task, or in the
/// folder of the project.
struct LocalExecutor {
    desk: Desk,
    setup: Option<WorkerConfig>,
    folder: PathBuf,
    notes: PathBuf,
    stop: Arc<AtomicBool>,
    tell: Arc<Mutex<Sender<WorkerProgress>>>,
    at_work: Arc<AtomicUsize>,
}

/// Counts a running step as long as it is held.
struct RunningStep(Arc<AtomicUsize>);

impl Drop for RunningStep {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl StepExecutor for LocalExecutor {
    fn work(&self, flow: &Flow, job: StepJob) -> WorkFuture {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        let at_work = RunningStep(self.at_work.clone());
        let (stop, task) = (self.stop.clone(), flow.started.task);
        let setup = self.setup.clone();
        match (job, setup, task) {
            (StepJob::Agent(step), Some(setup), Some(task)) => {
                let scope = WorkScope { tasks: [task].into(), ..WorkScope::default() };
                let setup = WorkerConfig { scope, step: Some(*step), ..setup };
                let (desk, tell) = (self.desk.clone(), self.tell.clone());
                blocking(move || {
                    let _at_work = at_work;
                    let watch = |progress| {
                        let tell = tell.lock().unwrap_or_else(PoisonError::into_inner);
                        let _ = tell.send(progress);
                    };
                    step_result(Worker::new(desk, setup, &watch, &stop).step())
                })
            }
            (StepJob::Agent(step), _, _) => {
                let why = format!("{}: there is no repository for an agent to work in", step.name);
                blocking(move || WorkOutcome::Failed(why))
            }
            (StepJob::Command(command), setup, task) => {
                let (desk, folder, notes) =
                    (self.desk.clone(), self.folder.clone(), self.notes.clone());
                let flow = flow.started.handle.clone();
                blocking(move || {
                    let _at_work = at_work;
                    let project = ProjectFolder { folder: &folder, notes: &notes, flow: &flow };
                    let ground = match tree_of(&desk, setup.as_ref(), task, &project) {
                        Ok(ground) => ground,
                        Err(why) => return WorkOutcome::Failed(why),
                    };
                    let own = ground.as_ref().ok().filter(|_| task.is_some());
                    let folder = own.map_or(folder.clone(), |ground| ground.tree.folder.clone());
                    run(&command, &folder, &ground, &stop)
                })
            }
        }
    }

    fn group(&self, name: &str) -> Vec<String> {
        // The desk blocks on its database, and the executor must not block.
        let policies = std::thread::scope(|scope| scope.spawn(|| self.desk.policies()).join());
        let people = policies.ok().and_then(std::result::Result::ok);
        people.map(|policies| policies.people_in(name)).unwrap_or_default()
    }
}

/// The folder in which a flow without a task runs its commands.
struct ProjectFolder<'a> {
    folder: &'a Path,
    notes: &'a Path,
    flow: &'a str,
}

/// The working tree of commands, and the file that notes the changes of their attempts.
struct WorkingTree {
    tree: Worktree,
    note: PathBuf,
}

/// Returns the working tree of commands: that of the flow's task, or the project itself if it is a Git checkout.
/// Without Git, only `writes` cannot be watched.
fn tree_of(
    desk: &Desk,
    setup: Option<&WorkerConfig>,
    task: Option<TaskId>,
    project: &ProjectFolder<'_>,
) -> std::result::Result<std::result::Result<WorkingTree, GitError>, String> {
    let (Some(setup), Some(task)) = (setup, task) else {
        let here = GitRepository::open(project.folder, project.notes.to_owned(), None);
        return Ok(here.map(|repository| WorkingTree {
            tree: repository.main_tree(),
            note: repository.watch_note(project.flow),
        }));
    };
    let task = desk.task(task).map_err(|e| e.to_string())?.task;
    let tree = setup.repository.prepare(&task.handle, &task.title);
    let tree = tree.map_err(|e| format!("{e}; {}", e.hint()))?;
    Ok(Ok(WorkingTree { tree, note: setup.repository.watch_note(&task.handle) }))
}

fn run(
    command: &CommandJob,
    folder: &Path,
    ground: &std::result::Result<WorkingTree, GitError>,
    stop: &AtomicBool,
) -> WorkOutcome {
    let CommandJob { id, name, shell, any_code, checks, retries, writes } = command;
    let writes = match (writes, ground) {
        (None, _) => None,
        (Some(writes), Ok(WorkingTree { tree, note })) => Some(PathWatch { writes, tree, note }),
        // A command whose writes cannot be watched is not run.
        (Some(_), Err(error)) => {
            return WorkOutcome::Failed(format!("{name}: {}; {}", unwatched(error), error.hint()));
        }
    };
    let step = CommandStep {
        command: shell,
        any_code: *any_code,
        folder,
        checks,
        retries: *retries,
        writes,
        mark: id,
        time_max: COMMAND_MAX,
        stop,
    };
    match step.run() {
        CommandOutcome::Completed { text, code, left_out } => {
            WorkOutcome::Done(command_output(&text, code, left_out))
        }
        CommandOutcome::Failed(why) => WorkOutcome::Failed(why),
        CommandOutcome::Stopped => WorkOutcome::Stopped,
    }
}

/// The reason why `writes` cannot be enforced.
fn unwatched(error: &GitError) -> String {
    format!("`writes` is watched with git, and {error}")
}

fn step_result(came: sayso_engine::Result<StepOutcome>) -> WorkOutcome {
    match came {
        Ok(StepOutcome::Completed(stepped)) => WorkOutcome::Done(agent_output(&stepped)),
        Ok(StepOutcome::Waits) => WorkOutcome::Waits,
        Ok(StepOutcome::Rejected(why)) => WorkOutcome::Rejected(why),
        Ok(StepOutcome::Failed(why) | StepOutcome::Gone(why)) => WorkOutcome::Failed(why),
        Ok(StepOutcome::Later(until)) => {
            let until = crate::time::local(until);
            WorkOutcome::Failed(format!("the agent may do no more until {until}; go on after that"))
        }
        Ok(StepOutcome::Stopped) => WorkOutcome::Stopped,
        Err(error) => WorkOutcome::Failed(error.to_string()),
    }
}
