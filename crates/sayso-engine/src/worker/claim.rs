//! Claims tasks for a worker: recovers the runs of dead workers, lands work that was signed off, then claims the
//! first ready task.

use super::holder::is_gone;
use super::turn::COMMIT;
use super::{FLOW, TurnOutcome, Worker, WorkerConfig, WorkerProgress};
use crate::worktree::{MergeOutcome, Worktree};
use crate::{Error, NewRun, Result};
use sayso_agents::{AgentConfig, process_tree};
use sayso_core::gate::{DeliveryState, Gate};
use sayso_core::run::{Run, RunUsage};
use sayso_core::task::{Task, TaskStatus};
use sayso_core::text::sanitize_line;
use sayso_core::{AskThreshold, Code, TaskId, Timestamp, Verdict};
use sayso_store::{GateFilter, TaskFilter, TaskRow};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The interval at which a worker looks for abandoned runs.
const RECOVER_EVERY: Duration = Duration::from_secs(2);

/// The interval at which a worker looks for work that was signed off.
const LAND_EVERY: Duration = Duration::from_millis(500);

/// The grace period for the remaining processes of a lost run.
const GRACE: Duration = Duration::from_secs(2);

/// The page size for reading ready tasks.
const READY_AT_A_TIME: usize = 50;

/// The maximum number of a task's runs and gates that are read.
pub(super) const LOOK_BACK: usize = 500;

/// A claimed task with its run.
pub(super) struct ClaimedTask<'a> {
    pub(super) task: Task,
    pub(super) run: Run,
    pub(super) secret: String,
    pub(super) agent: AgentConfig,
    /// The earlier runs of the task, newest first.
    pub(super) before: Vec<Run>,
    _busy: BusyGuard<'a>,
}

/// The outcome of landing work: merging it or otherwise handing it over.
pub(super) enum LandingOutcome {
    /// The work has landed.
    Merged(String),
    /// A merge conflict: both sides changed the same places.
    Conflict(String),
    /// An obstacle that is not the agent's, such as a failed command.
    InTheWay(String),
}

/// Increments a counter for as long as it is held.
struct BusyGuard<'a>(&'a AtomicUsize);

impl<'a> BusyGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Worker<'_> {
    /// Gives up abandoned runs. The remaining processes of their agents on this machine are ended first: two runs of
    /// one task must never be alive together.
    pub(super) fn recover(&self) -> Result<()> {
        {
            let mut shared = self.shared();
            if shared.recovered.is_some_and(|last| last.elapsed() < RECOVER_EVERY) {
                return Ok(());
            }
            shared.recovered = Some(Instant::now());
        }
        for run in self.desk.live_runs()? {
            let is_dead = is_gone(&run.started.holder, &self.setup.holder);
            if !is_dead && self.desk.now() < run.lease_until {
                continue;
            }
            // A run whose processes cannot be ended is kept: we look again later.
            let Some(processes) = self.end_what_is_left_of(&run) else { continue };
            if self.desk.lose_run(&self.setup.actor, run.started.id, is_dead)?.is_some() {
                let task = self.desk.task(run.started.task)?.task.handle;
                self.tell(WorkerProgress::Recovered { task, processes });
            }
        }
        Ok(())
    }

    /// Ends the remaining processes of a run on this machine and returns their number; none if some would not end.
    fn end_what_is_left_of(&self, run: &Run) -> Option<usize> {
        if run.started.holder.host != self.setup.holder.host {
            return Some(0);
        }
        let mark = run.started.id.to_string();
        let ended = process_tree::end_marked(&mark, GRACE);
        process_tree::marked(&mark).is_empty().then_some(ended)
    }

    /// Claims the first ready task that this worker may take.
    pub(super) fn claim(&self) -> Result<Option<ClaimedTask<'_>>> {
        let now = self.desk.now();
        {
            let mut shared = self.shared();
            shared.resting.retain(|_, until| *until > now);
            shared.later.retain(|_, until| *until > now);
        }
        if !self.setup.scope.tasks.is_empty() {
            for id in &self.setup.scope.tasks {
                let row = self.desk.task(*id)?;
                if is_ready(&row, now)
                    && let Some(taken) = self.try_claim(row.task)?
                {
                    return Ok(Some(taken));
                }
            }
            return Ok(None);
        }
        let mut filter = TaskFilter {
            ready_at: Some(now),
            under: self.setup.scope.epic,
            limit: READY_AT_A_TIME,
            ..TaskFilter::default()
        };
        loop {
            let page = self.desk.tasks(&filter)?;
            filter.after = page.items.last().map(|row| row.task.id);
            for row in page.items {
                if let Some(taken) = self.try_claim(row.task)? {
                    return Ok(Some(taken));
                }
                if self.is_over() {
                    return Ok(None);
                }
            }
            if !page.more {
                return Ok(None);
            }
        }
    }

    /// True if all the given tasks are closed, or stuck until a person acts.
    pub(super) fn is_finished(&self) -> Result<bool> {
        for id in &self.setup.scope.tasks {
            let task = self.desk.task(*id)?.task;
            let is_stuck = matches!(task.status, TaskStatus::Failed | TaskStatus::Blocked);
            let is_done = task.status.is_over() || (is_stuck && !task.is_waiting());
            if !is_done {
                return Ok(false);
            }
        }
        Ok(!self.setup.scope.tasks.is_empty())
    }

    /// Claims a task unless another worker holds it.
    fn try_claim(&self, task: Task) -> Result<Option<ClaimedTask<'_>>> {
        // A task of a flow continues with the flow's next step and not by itself.
        if self.setup.step.is_none() && label(&task, FLOW).is_some() {
            return Ok(None);
        }
        let agent = match self.agent_for(&task) {
            Ok(agent) => self.with_model(agent),
            Err(why) => {
                let why = format!("{why}; then: sayso reopen {}", task.handle);
                let task = Box::new(self.desk.block_task(&self.setup.actor, task.id, &why)?);
                self.shared().tally.failed += 1;
                let (what, spent) = (TurnOutcome::Blocked, RunUsage::default());
                self.tell(WorkerProgress::Ended { task, what, note: why, spent });
                return Ok(None);
            }
        };
        let before = self.desk.runs_of(task.id, LOOK_BACK)?;
        let is_resting = self.shared().resting.contains_key(&agent.name);
        // Work that was begun in a worktree on another machine continues there, unless the user gave that up with
        // `adopt`.
        let is_elsewhere = before
            .first()
            .is_some_and(|run| !run.started.holder.is_at_the_place_of(&self.setup.holder));
        if is_elsewhere && !self.setup.scope.adopt {
            self.shared().elsewhere.insert(task.id);
            return Ok(None);
        }
        if is_resting || !self.begin_turn() {
            return Ok(None);
        }
        let busy = BusyGuard::new(&self.busy);
        let last = before.first().filter(|run| run.started.agent == agent.name);
        let session = last.and_then(|run| run.session.clone());
        let secret = self.desk.new_agent_secret();
        let new = NewRun {
            id: self.desk.new_run_id(),
            task: task.id,
            agent: agent.name.clone(),
            lease_until: self.lease_from_now(),
            holder: self.setup.holder.clone(),
            session: session.filter(|_| agent.can_resume() && !is_elsewhere),
            secret: secret.clone(),
        };
        match self.desk.start_run(&self.setup.actor, new) {
            Ok(run) => Ok(Some(ClaimedTask { task, run, secret, agent, before, _busy: busy })),
            Err(Error::Refused(refusal)) if refusal.code == Code::WrongState => {
                self.uncount_turn();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn lease_from_now(&self) -> Timestamp {
        let micros = i64::try_from(self.setup.lease.as_micros()).unwrap_or(i64::MAX / 2);
        self.desk.now().plus_micros(micros)
    }

    /// Returns the agent that a task asks for with a label, or the default one. An agent that is asked for and not
    /// configured is not replaced by another.
    fn agent_for(&self, task: &Task) -> std::result::Result<&AgentConfig, String> {
        let WorkerConfig { agents, roles, .. } = &self.setup;
        if let Some(role) = self.role_for(task).filter(|role| !roles.contains_key(*role)) {
            return Err(format!("there is no role {role:?}: write .sayso/roles/{role}.md"));
        }
        if let Some(Err(error)) = label(task, "threshold:").map(str::parse::<AskThreshold>) {
            return Err(error.to_string());
        }
        let of_step = self.setup.step.as_ref().and_then(|step| step.agent.as_deref());
        let name = of_step.or(label(task, "agent:")).unwrap_or(&self.setup.agent);
        let known = || agents.keys().cloned().collect::<Vec<_>>().join(", ");
        agents.get(name).ok_or_else(|| format!("there is no agent {name:?}: there are {}", known()))
    }

    /// Returns the role that the step or a label of the task asks for.
    pub(super) fn role_for<'t>(&'t self, task: &'t Task) -> Option<&'t str> {
        let of_step = self.setup.step.as_ref().and_then(|step| step.role.as_deref());
        of_step.or(label(task, "role:"))
    }

    fn with_model(&self, agent: &AgentConfig) -> AgentConfig {
        let model = self.setup.step.as_ref().and_then(|step| step.model.clone());
        AgentConfig { model: model.or_else(|| agent.model.clone()), ..agent.clone() }
    }

    /// Lands the work that people signed off. Their answer is acknowledged when that is done, so if a worker dies in
    /// between, the next one does it again.
    pub(super) fn land_what_was_approved(&self, at_once: bool) -> Result<()> {
        {
            let mut shared = self.shared();
            if !at_once && shared.landed.is_some_and(|last| last.elapsed() < LAND_EVERY) {
                return Ok(());
            }
            shared.landed = Some(Instant::now());
        }
        // One process at a time: otherwise one would remove the worktree that the other is landing.
        let Ok(Some(_alone)) = self.setup.repository.try_lock("landing.lock") else {
            return Ok(());
        };
        for name in self.setup.agents.keys() {
            for (id, task) in self.desk.to_be_landed(name, &self.setup.holder)? {
                // An agent that is being stopped at this moment still writes.
                if !self.is_still_worked_on(task.id)? {
                    self.land_after_answer(&self.desk.gate(id)?, &task)?;
                }
            }
        }
        Ok(())
    }

    fn land_after_answer(&self, gate: &Gate, task: &Task) -> Result<()> {
        let is_yes = gate.verdict() == Some(Verdict::Approved);
        let is_wanted = is_yes && task.verdict == Some(Verdict::Approved);
        // The approval is for the commit that was shown, not for the present state of the tree.
        let shown = gate.card.facts.iter().find(|f| f.verified && f.name == COMMIT);
        let shown = shown.and_then(|fact| fact.value.as_str()).filter(|_| is_wanted);
        let tree = self.setup.repository.existing(&task.handle);
        let what = match tree {
            Ok(Some(tree)) => Some(self.land_and_remove(task, &tree, shown)?),
            Ok(None) => None,
            Err(error) => Some(format!("its worktree cannot be read: {error}")),
        };
        match (is_wanted, &gate.delivery) {
            // The agent was not started again, so the answer never reached it.
            (false, DeliveryState::Pending { .. } | DeliveryState::Failed { .. }) => {
                let why = task.end_in_words();
                self.desk.give_up_delivery(&self.setup.actor, gate.opened.id, &why)?
            }
            _ => self.desk.acknowledge(&self.setup.actor, gate.opened.id)?,
        };
        if let Some(what) = what {
            self.tell(WorkerProgress::Landed { task: task.handle.clone(), what });
        }
        Ok(())
    }

    /// Commits the worktree to its branch, lands the approved commit, and removes the worktree.
    fn land_and_remove(
        &self,
        task: &Task,
        tree: &Worktree,
        approved: Option<&str>,
    ) -> Result<String> {
        let head = match tree.commit(&super::turn::commit_message(task), &self.setup.agent) {
            Ok(head) => head,
            Err(error) => {
                return Ok(format!("its work stays in {}: {error}", tree.folder.display()));
            }
        };
        let Some(commit) = approved else {
            let what = format!("its work is on {}", tree.branch);
            return Ok(self.remove_worktree(task.id, tree, what));
        };
        match self.land(task, tree, commit) {
            LandingOutcome::Merged(what) if head == commit => {
                Ok(self.remove_worktree(task.id, tree, what))
            }
            LandingOutcome::Merged(what) => {
                let what = format!("{what}; what came after it stays on {}", tree.branch);
                Ok(self.remove_worktree(task.id, tree, what))
            }
            LandingOutcome::InTheWay(why) => {
                let ask = self.manual_landing_ask(task, tree, commit, &why, None);
                let gate = self.desk.ask(&self.setup.actor, ask)?;
                let what = format!("its work stays on {}: see gate {}", tree.branch, gate.handle());
                Ok(self.remove_worktree(task.id, tree, what))
            }
            LandingOutcome::Conflict(files) => {
                let why = format!("{} cannot be merged: it conflicts in {files}", tree.branch);
                self.desk.reopen_task(&self.setup.actor, task.id, &why)?;
                self.desk.note(&self.setup.actor, task.id, &why, false)?;
                Ok(why)
            }
        }
    }

    /// Removes a worktree whose work is safe; `what` says where. This process may have slept since it held the run,
    /// and another worker may use the worktree.
    pub(super) fn remove_worktree(&self, task: TaskId, tree: &Worktree, what: String) -> String {
        let is_needed = || self.is_still_worked_on(task).unwrap_or(true);
        match self.setup.repository.remove(tree, is_needed) {
            Ok(()) => what,
            Err(error) => format!("{what}; {error}"),
        }
    }

    fn is_still_worked_on(&self, task: TaskId) -> Result<bool> {
        let is_over = self.desk.task(task)?.task.status.is_over();
        let live = self.desk.live_runs()?;
        Ok(!is_over || live.iter().any(|run| run.started.task == task))
    }

    /// Lands a commit as the settings say.
    pub(super) fn land(&self, task: &Task, tree: &Worktree, commit: &str) -> LandingOutcome {
        let repository = &self.setup.repository;
        let branch = &tree.branch;
        match &self.setup.land {
            super::LandingPolicy::Leave => {
                LandingOutcome::Merged(format!("its work is on {branch}"))
            }
            super::LandingPolicy::Merge => {
                let message = format!("Merge {branch}: {}", sanitize_line(&task.title));
                match repository.merge(commit, &message) {
                    Ok(MergeOutcome::Merged) => {
                        LandingOutcome::Merged(format!("merged into {}", repository.base()))
                    }
                    Ok(MergeOutcome::Nothing) => {
                        LandingOutcome::Merged("nothing was changed".into())
                    }
                    Ok(MergeOutcome::Conflict(files)) => LandingOutcome::Conflict(files),
                    Ok(MergeOutcome::InTheWay(why)) => LandingOutcome::InTheWay(why),
                    Err(error) => LandingOutcome::InTheWay(error.to_string()),
                }
            }
            super::LandingPolicy::Command(command) => {
                self.land_by_command(task, tree, commit, command)
            }
        }
    }

    fn land_by_command(
        &self,
        task: &Task,
        tree: &Worktree,
        commit: &str,
        command: &str,
    ) -> LandingOutcome {
        let mut shell = std::process::Command::new("sh");
        // A line that fails ends it: what stands below must not make up for it.
        shell.args(["-e", "-c"]).arg(command).current_dir(&tree.folder);
        shell.stdin(std::process::Stdio::null());
        shell.env("SAYSO_BRANCH", &tree.branch).env("SAYSO_BASE", self.setup.repository.base());
        shell.env("SAYSO_TASK", &task.handle).env("SAYSO_TITLE", &task.title);
        match shell.env("SAYSO_COMMIT", commit).output() {
            Ok(output) if output.status.success() => {
                LandingOutcome::Merged(format!("handed over by: {command}"))
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                LandingOutcome::InTheWay(format!("{command}: {}: {said}", output.status))
            }
            Err(error) => LandingOutcome::InTheWay(format!("{command}: {error}")),
        }
    }

    /// Returns the ended gates of a task whose answers the agent has not acknowledged, oldest first.
    pub(super) fn unacknowledged(&self, gates: &[Gate]) -> Vec<Gate> {
        let is_news = |gate: &&Gate| {
            !gate.is_open() && !matches!(gate.delivery, DeliveryState::Acknowledged { .. })
        };
        gates.iter().filter(is_news).cloned().collect()
    }

    /// Returns all gates of a task, oldest first.
    pub(super) fn gates_of(&self, task: TaskId) -> Result<Vec<Gate>> {
        let filter = GateFilter { task: Some(task), limit: LOOK_BACK, ..GateFilter::default() };
        let listed = self.desk.all_gates(&self.setup.actor, filter)?;
        // A gate that goes into a prompt as a person's word is checked against the audit.
        listed.iter().map(|gate| self.desk.gate(gate.opened.id)).collect()
    }
}

/// Returns the value of a task's label such as `role:test`.
pub(super) fn label<'t>(task: &'t Task, prefix: &str) -> Option<&'t str> {
    task.labels.iter().find_map(|label| label.strip_prefix(prefix))
}

fn is_ready(row: &TaskRow, now: Timestamp) -> bool {
    let is_workable = row.task.workable_from().is_some_and(|from| from <= now);
    is_workable && row.blockers == 0 && row.open_children == 0
}
