//! One step of a flow: runs turns on the flow's own task, in its own worktree and conversation, until the step is
//! complete, waits for a person, or cannot continue. Completed work is kept on the branch and not merged; the task
//! stays open for the next step.

use super::claim::{ClaimedTask, LOOK_BACK, LandingOutcome};
use super::shell::{CommandEnd, CommandOutput, ShellCommand, ShellRunContext, run};
use super::turn::{COMMIT, WorkReport};
use super::{TurnOutcome, Worker, WorkerProgress, prompt};
use crate::policy::{fact, reason_fact};
use crate::worktree::{GitError, Worktree};
use crate::{Result, RunSettlement};
use sayso_core::gate::{CardFact, Gate};
use sayso_core::run::{RunEndKind, RunState, RunUsage};
use sayso_core::task::{Task, TaskStatus};
use sayso_core::{Code, GateKind, Refusal, TaskId, Timestamp, Verdict};
use sayso_policy::{PathPatterns, PolicyEffect};
use std::path::{Component, Path};

/// The label of a task that belongs to a flow. Workers that claim ready tasks leave it alone.
pub const FLOW: &str = "flow:";

/// The fact that names the step an approval is for.
const STEP: &str = "step";

/// The maximum number of paths named in an objection.
const PATHS_MAX: usize = 20;

/// The maximum number of bytes of a failed check's output that the agent is shown.
const CHECK_BYTES_MAX: usize = 16 * 1024;

/// One step of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStep {
    /// The identity of this execution of the step: it stays the same while the execution lasts, and is another when
    /// the flow reaches the phase again. Changes are counted from its beginning.
    pub id: String,
    pub name: String,
    pub instructions: String,
    /// The agent that does it; none means the task's or the default one.
    pub agent: Option<String>,
    /// The role of the agent; none means the task's or the default one.
    pub role: Option<String>,
    /// The model to use; none means the agent's own.
    pub model: Option<String>,
    /// The checks that must hold before the step counts.
    pub checks: Vec<StepCheck>,
    /// The number of retries, in the same turn or in another.
    pub retries: u32,
    /// Patterns of the only paths that may be changed; none if any may.
    pub writes: Option<Vec<String>>,
}

/// A condition that must hold before a step counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepCheck {
    /// A file exists, inside the folder.
    File(String),
    /// A command exits with 0.
    Passes(ShellCommand),
    /// A command exits with another code.
    Fails(ShellCommand),
}

impl StepCheck {
    /// Returns the condition in one line.
    pub fn in_words(&self) -> String {
        match self {
            StepCheck::File(path) => format!("the file {path} is there"),
            StepCheck::Passes(shell) => format!("this passes: {}", shell.in_words()),
            StepCheck::Fails(shell) => format!("this fails: {}", shell.in_words()),
        }
    }

    /// Returns the objection if the check does not hold: the message and the printed output.
    pub(super) fn objection(&self, room: &ShellRunContext<'_>) -> Option<(String, String)> {
        let (shell, is_to_pass) = match self {
            StepCheck::File(path) => {
                return file_objection(room.folder, path).map(|why| (why, String::new()));
            }
            StepCheck::Passes(shell) => (shell, true),
            StepCheck::Fails(shell) => (shell, false),
        };
        let line = &shell.in_words();
        let failed = |why: &str, printed: &CommandOutput| {
            Some((format!("{line}: {why}"), tail(&printed.all(), CHECK_BYTES_MAX).to_owned()))
        };
        match run(shell, room) {
            // A command that was ended by a signal has neither passed nor failed.
            CommandEnd::Itself(printed) => match (printed.code, is_to_pass) {
                (Some(0), true) => None,
                (Some(0), false) => failed("it passes, and is to fail", &printed),
                (Some(126 | 127), false) => failed("it could not be run", &printed),
                // The codes by which the shell reports that a signal ended the command it ran.
                (Some(129..=192), false) => failed("a signal ended it", &printed),
                (Some(_), false) => None,
                (Some(code), true) => failed(&format!("it ended with {code}"), &printed),
                (None, _) => failed("a signal ended it", &printed),
            },
            CommandEnd::TooLong(printed) => failed("it took too long", &printed),
            CommandEnd::Stopped => Some((format!("{line}: it was stopped"), String::new())),
            CommandEnd::NotStarted(why) => Some((format!("{line}: {why}"), String::new())),
        }
    }
}

/// Returns the reason for which a path is not an existing file inside the folder, or none.
fn file_objection(folder: &Path, path: &str) -> Option<String> {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(path).components().all(is_inside) {
        return Some(format!("{path} is not inside this folder"));
    }
    // The remains of a path in which a value was empty.
    if path.trim().is_empty() || path.ends_with('/') {
        return Some(format!("{path:?} names no file"));
    }
    let (home, there) = (folder.canonicalize(), folder.join(path).canonicalize());
    match (home, there) {
        (Ok(home), Ok(there)) if there == home => {
            Some(format!("{path} names no file, but this folder itself"))
        }
        (Ok(home), Ok(there)) if there.starts_with(&home) => None,
        (Ok(_), Ok(_)) => Some(format!("{path} leads out of this folder")),
        _ => Some(format!("{path} is not there")),
    }
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    /// The step is done, and its work is on the branch.
    Completed(CompletedStep),
    /// The step waits for a person.
    Waits,
    /// A person rejected a request of its agent, and the task is closed with that.
    Rejected(String),
    Failed(String),
    /// The step can continue, but not before this time.
    Later(Timestamp),
    /// The task is closed, or held by another worker.
    Gone(String),
    /// The worker was told to stop, or its budget is used up.
    Stopped,
}

/// The result of a completed step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletedStep {
    /// The summary in the agent's words.
    pub summary: String,
    /// The agent's confidence in percent, where it stated it.
    pub confidence: Option<u8>,
    /// The agent's whole final message.
    pub text: String,
    /// The commit with which the step ended.
    pub commit: String,
}

impl Worker<'_> {
    /// Works on the step of the setup, on the one task of its scope, until the step is complete, waits for a person,
    /// or cannot continue.
    pub fn step(&self) -> Result<StepOutcome> {
        let scope = &self.setup.scope.tasks;
        let (Some(id), Some(step)) = (scope.first().filter(|_| scope.len() == 1), &self.setup.step)
        else {
            let message = "a step is done on one task";
            return Err(Refusal::new(Code::BadValue, message).into());
        };
        if let Some(done) = self.earlier_completion(*id)? {
            return Ok(StepOutcome::Completed(done));
        }
        loop {
            if self.is_over() {
                return Ok(StepOutcome::Stopped);
            }
            self.desk.fire_due()?;
            self.recover()?;
            let task = self.desk.task(*id)?.task;
            if let Some(came) = self.halted_outcome(&task)? {
                return Ok(came);
            }
            self.shared().last = None;
            let Some(taken) = self.claim()? else {
                return self.unclaimed_outcome(&task);
            };
            self.turn(taken)?;
            let last = self.shared().last.take();
            let (came, note) = last.unwrap_or((TurnOutcome::LostLease, String::new()));
            match came {
                TurnOutcome::Retry if self.attempts() <= step.retries => {}
                TurnOutcome::Retry => return Ok(StepOutcome::Failed(self.out_of_attempts(&note))),
                TurnOutcome::StepDone => {
                    let done = self.shared().stepped.take().unwrap_or_default();
                    return Ok(StepOutcome::Completed(done));
                }
                TurnOutcome::Waits => return Ok(StepOutcome::Waits),
                TurnOutcome::Failed | TurnOutcome::Blocked => return Ok(StepOutcome::Failed(note)),
                TurnOutcome::Deferred => return Ok(self.later(&self.desk.task(*id)?.task)),
                TurnOutcome::Completed | TurnOutcome::LostLease => {
                    let task = self.desk.task(*id)?.task;
                    return Ok(self.halted_outcome(&task)?.unwrap_or(StepOutcome::Gone(note)));
                }
            }
        }
    }

    /// Returns the number of failed attempts at the step in this worker's session.
    pub(super) fn attempts(&self) -> u32 {
        self.shared().attempts
    }

    /// Counts a failed attempt at the step.
    pub(super) fn count_attempt(&self) {
        self.shared().attempts += 1;
    }

    fn out_of_attempts(&self, note: &str) -> String {
        match self.attempts() {
            1 => format!("its one attempt came to nothing: {note}"),
            attempts => format!("{attempts} attempts came to nothing; the last: {note}"),
        }
    }

    /// Returns the outcome of a step whose task cannot be worked on, or none if it can.
    fn halted_outcome(&self, task: &Task) -> Result<Option<StepOutcome>> {
        let handle = &task.handle;
        Ok(match task.status {
            _ if task.is_waiting() => Some(StepOutcome::Waits),
            status if status.is_over() && task.verdict == Some(Verdict::Rejected) => {
                Some(StepOutcome::Rejected(self.describe_rejection(task)?))
            }
            status if status.is_over() => Some(StepOutcome::Gone(format!(
                "task {handle}, which its agents work on, is {status}; to go on: sayso reopen {handle}"
            ))),
            status @ (TaskStatus::Failed | TaskStatus::Blocked) => Some(StepOutcome::Failed(
                format!("the task is {status}; then: sayso reopen {handle}"),
            )),
            TaskStatus::Open | TaskStatus::InProgress | TaskStatus::Deferred => None,
            TaskStatus::Closed | TaskStatus::Deleted => None,
        })
    }

    /// Describes the rejection on a task: the person and the comment.
    fn describe_rejection(&self, task: &Task) -> Result<String> {
        let gates = self.gates_of(task.id)?;
        let no = gates.iter().rev().filter(|gate| gate.verdict() == Some(Verdict::Rejected));
        let no = no.filter_map(|gate| gate.answer().map(|(answer, by)| (gate, answer, by))).next();
        Ok(match no {
            Some((gate, answer, by)) => {
                let why = answer.reason.as_deref().map(|why| format!(": {why}"));
                let (by, question) = (&by.name, &gate.card.question);
                format!("{by} said no to {question:?}{}", why.unwrap_or_default())
            }
            None => format!("somebody said no on task {}", task.handle),
        })
    }

    /// Returns the step if it was already done: the process that ran the flow may have died before it recorded that.
    fn earlier_completion(&self, task: TaskId) -> Result<Option<CompletedStep>> {
        let Some(step) = &self.setup.step else { return Ok(None) };
        let mark = run_note_suffix(step);
        let found =
            self.desk.runs_of(task, LOOK_BACK)?.into_iter().find_map(|run| match run.state {
                RunState::Ended { how: RunEndKind::Completed, note, .. } => {
                    note.strip_suffix(&mark).map(str::to_owned)
                }
                _ => None,
            });
        Ok(found.map(|summary| CompletedStep {
            text: summary.clone(),
            summary,
            ..CompletedStep::default()
        }))
    }

    /// Lands the work that the steps of a flow left on the branch of its task, closes the task, and describes the
    /// result.
    pub fn finish(&self) -> Result<String> {
        let Some(id) = self.setup.scope.tasks.first().copied() else {
            return Ok("there was no task".into());
        };
        let task = self.desk.task(id)?.task;
        if task.status.is_over() {
            return Ok(format!("task {} is {}", task.handle, task.status));
        }
        let actor = &self.setup.actor;
        let failed = |error: GitError| {
            let refusal = Refusal::new(Code::Git, error.to_string()).hint(error.hint());
            crate::Error::from(refusal)
        };
        let tree = self.setup.repository.existing(&task.handle).map_err(failed)?;
        let Some(tree) = tree else {
            self.desk.close_task(actor, id, "its flow is done", false)?;
            return Ok(format!("task {} is closed", task.handle));
        };
        let commit = tree.commit(&super::turn::commit_message(&task), "sayso").map_err(failed)?;
        if task.requires.is_some() {
            self.desk.close_task(actor, id, "its flow is done", false)?;
            return Ok(format!("its work is on {}, to be signed off", tree.branch));
        }
        match self.land(&task, &tree, &commit) {
            LandingOutcome::Merged(what) => {
                self.desk.close_task(actor, id, &format!("its flow is done: {what}"), false)?;
                Ok(self.remove_worktree(id, &tree, what))
            }
            LandingOutcome::Conflict(why) | LandingOutcome::InTheWay(why) => {
                let ask = self.manual_landing_ask(&task, &tree, &commit, &why, Some(id));
                let gate = self.desk.ask(actor, ask)?;
                Ok(format!("its work stays on {}: see gate {}", tree.branch, gate.handle()))
            }
        }
    }

    /// Returns the outcome of a step whose task could not be claimed.
    fn unclaimed_outcome(&self, before: &Task) -> Result<StepOutcome> {
        if self.is_over() {
            return Ok(StepOutcome::Stopped);
        }
        let task = self.desk.task(before.id)?.task;
        if let Some(came) = self.halted_outcome(&task)? {
            return Ok(came);
        }
        let now = self.desk.now();
        if task.deferred_until.is_some_and(|until| until > now) {
            return Ok(self.later(&task));
        }
        let resting = self.shared().resting.values().copied().max();
        if let Some(until) = resting {
            return Ok(StepOutcome::Later(until));
        }
        let is_elsewhere = self.shared().elsewhere.contains(&task.id);
        let why = if is_elsewhere {
            "its work is on another machine"
        } else {
            "it is in somebody else's hands"
        };
        Ok(StepOutcome::Gone(why.into()))
    }

    fn later(&self, task: &Task) -> StepOutcome {
        StepOutcome::Later(task.deferred_until.unwrap_or_else(|| self.desk.now()))
    }

    /// Records the branch's commit when a step begins; a later turn of the same step finds it again.
    pub(super) fn begin_step(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
    ) -> std::result::Result<(), String> {
        let Some(step) = &self.setup.step else { return Ok(()) };
        if let Some(writes) = &step.writes {
            PathPatterns::new(writes)?;
        }
        let begun = self.setup.repository.step_began(&taken.task.handle, &step.id, || {
            // Changes that an earlier step left are not this step's doing, and must not be lost either.
            let message =
                format!("Left before the step {}\n\nTask: {}", step.name, taken.task.handle);
            tree.commit(&message, &taken.agent.name)
        });
        begun.map(drop).map_err(|error| format!("{error}; {}", error.hint()))
    }

    /// Returns the objection to completing a step, as a message for the agent: first forbidden changes, then the
    /// checks.
    pub(super) fn step_objection(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        step: &AgentStep,
    ) -> Option<String> {
        if let Some(why) = self.forbidden_changes(taken, tree, step, None) {
            return Some(why);
        }
        let mark = taken.run.started.id.to_string();
        let room = ShellRunContext {
            folder: &tree.folder,
            mark: &mark,
            time_max: self.setup.turn_max,
            stop: self.stop,
        };
        for check in &step.checks {
            let command = check.in_words();
            self.tell(WorkerProgress::Checking { task: taken.task.id, command });
            if let Some((why, printed)) = check.objection(&room) {
                return Some(prompt::step_check_failed(&why, &printed, &self.code()));
            }
        }
        // A check can change files, too.
        if step.checks.is_empty() { None } else { self.forbidden_changes(taken, tree, step, None) }
    }

    /// Returns an objection if forbidden paths were changed since the step began: in the folder, or in a commit.
    fn forbidden_changes(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        step: &AgentStep,
        commit: Option<&str>,
    ) -> Option<String> {
        let writes = step.writes.as_ref()?;
        let find = || {
            let paths = PathPatterns::new(writes)?;
            let since = self.setup.repository.step_since(&taken.task.handle, &step.id);
            let since = since.map_err(|error| error.to_string())?;
            let changed = tree.changed_since(&since, commit).map_err(|error| error.to_string())?;
            Ok::<_, String>(changed.into_iter().filter(|path| !paths.fit(path)).collect())
        };
        match find() {
            Ok(paths) if Vec::<String>::is_empty(&paths) => None,
            Ok(paths) => Some(prompt::changed_outside(&paths, PATHS_MAX, writes, &self.code())),
            // If the changes cannot be determined, the step does not count.
            Err(why) => Some(format!("It cannot be told what you changed: {why}")),
        }
    }

    /// Asks the policy, and people if it says so, if a checked and committed step counts.
    pub(super) fn complete_step(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
        step: &AgentStep,
        (commit, done): (&str, WorkReport),
    ) -> Result<()> {
        // The committed changes count, however they came there.
        if let Some(why) = self.forbidden_changes(taken, tree, step, Some(commit)) {
            return self.no_progress(taken, tree, spent, &why);
        }
        let WorkReport { summary, confidence, text } = done;
        let agent = self.desk.agent_of(&taken.run);
        let ruling = self.desk.rule_on_completion(&agent, &taken.run, confidence)?;
        // The facts that identify the approval: agents cannot put verified facts on their own questions.
        let mut shown =
            vec![fact(COMMIT, commit), fact(STEP, &format!("{} {}", step.name, step.id))];
        match ruling.effect {
            PolicyEffect::Allow => {}
            PolicyEffect::Deny => {
                let why = format!("the policy does not accept it: {}", ruling.reason());
                return self.no_progress(taken, tree, spent, &why);
            }
            PolicyEffect::Ask => {
                shown.extend(reason_fact(&ruling));
                if !self.is_approved_before(taken, &shown)? {
                    let mut ask = self.ask_as_ruled(taken, tree, commit, &summary, &ruling);
                    ask.card.facts.push(shown[1].clone());
                    let ask = Box::new(ask);
                    return self.settle(taken, spent, RunSettlement::Ruled { ask, confidence });
                }
            }
        }
        let is_unsure = confidence.unwrap_or(0) < self.setup.confidence_min;
        if is_unsure && !self.is_approved_before(taken, &shown)? {
            let mut facts = super::turn::facts(tree, true, Some(commit));
            facts.push(shown[1].clone());
            return self.ask_low_confidence(taken, facts, spent, &summary, confidence);
        }
        let commit = commit.to_owned();
        let marked = format!("{summary}{}", run_note_suffix(step));
        self.shared().stepped = Some(CompletedStep { summary, confidence, text, commit });
        self.settle(taken, spent, RunSettlement::Stepped { summary: marked })
    }

    /// True if a person has approved exactly this: the commit, the step, and the rules that ask.
    fn is_approved_before(&self, taken: &ClaimedTask<'_>, shown: &[CardFact]) -> Result<bool> {
        let is_yes =
            |gate: &Gate| gate.verdict() == Some(Verdict::Approved) && gate.answer().is_some();
        let shows = |gate: &Gate| shown.iter().all(|fact| gate.card.facts.contains(fact));
        let gates = self.gates_of(taken.task.id)?;
        let last = gates.iter().rev().find(|gate| shows(gate));
        Ok(last.is_some_and(is_yes))
    }

    /// Returns the kind of gate for a sign-off. Approval of a part of a flow does not end its task.
    pub(super) fn sign_off(&self, kind: GateKind) -> GateKind {
        match kind {
            GateKind::Approval | GateKind::Review | GateKind::Content | GateKind::Work
                if self.setup.step.is_some() =>
            {
                GateKind::Checkpoint
            }
            other => other,
        }
    }
}

/// Returns the suffix of a run's note by which the run of a step is found again.
fn run_note_suffix(step: &AgentStep) -> String {
    format!(" [step {}]", step.id)
}

/// Returns the end of a text, where a failing check says what failed.
pub(super) fn tail(text: &str, bytes_max: usize) -> &str {
    let from = text.len().saturating_sub(bytes_max);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}
