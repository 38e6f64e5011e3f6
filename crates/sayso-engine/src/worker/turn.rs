//! One turn of an agent: prepares the worktree and the prompt, runs the agent, and settles the run by its final
//! message.

use super::claim::{ClaimedTask, LandingOutcome, label};
use super::execute::{StopReason, TurnExecution};
use super::shell::AGENT;
use super::step::tail;
use super::{PromptBrief, StepBrief, TurnOutcome, Worker, WorkerProgress, prompt};
use crate::policy::reason_fact;
use crate::runs::ended_at_call;
use crate::worktree::{GitError, Worktree};
use crate::{Error, NewGate, Result, RunSettlement};
use sayso_agents::process_tree::MARK;
use sayso_agents::{AgentQuestion, StartError, TurnResult, final_message};
use sayso_core::gate::{Card, CardFact, Gate};
use sayso_core::run::{Run, RunEndKind, RunState, RunUsage};
use sayso_core::task::{Task, TaskEvent, TaskNote};
use sayso_core::text::sanitize_line;
use sayso_core::{AnswerShape, AskThreshold, ChoiceOption, GateKind, TaskId, Timestamp};
use sayso_policy::{PolicyEffect, Ruling};
use std::time::Duration;

/// The maximum number of bytes of a diff on a card.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// The maximum number of bytes of a failed check's output that the agent is shown.
const CHECK_BYTES_MAX: usize = 16 * 1024;

/// The back-off after a rate limit that does not say for how long it holds.
const REST: Duration = Duration::from_secs(15 * 60);

/// The reason when the lease was lost during a turn.
const NOT_OURS: &str = "the run is no longer ours";

/// The fact that names the commit which an approval lands.
pub(super) const COMMIT: &str = "commit";

/// The role of an agent whose task names none.
const USUAL_ROLE: &str = "code";

/// The agent's report on completed work.
pub(super) struct WorkReport {
    pub(super) summary: String,
    /// The agent's confidence in percent.
    pub(super) confidence: Option<u8>,
    /// The whole final message.
    pub(super) text: String,
}

impl Worker<'_> {
    /// Runs one turn on a claimed task. In each case the run is settled or left to be recovered, and no work is
    /// thrown away.
    pub(super) fn turn(&self, taken: ClaimedTask<'_>) -> Result<()> {
        let repository = self.setup.repository.for_run(taken.run.started.id);
        let prepare = || repository.prepare(&taken.task.handle, &taken.task.title);
        let tree = match self.with_lease_renewal(&taken, prepare)? {
            Some(Ok(tree)) => tree,
            Some(Err(error)) => {
                let why = format!("{error}; {}", error.hint());
                return self.settle(&taken, RunUsage::default(), RunSettlement::Blocked { why });
            }
            None => return self.lost_lease(&taken, RunUsage::default(), NOT_OURS),
        };
        if let Err(why) = self.begin_step(&taken, &tree) {
            return self.settle(&taken, RunUsage::default(), RunSettlement::Blocked { why });
        }
        let gates = self.gates_of(taken.task.id)?;
        let news = self.unacknowledged(&gates);
        let mut session = taken.run.started.session.clone();
        let resumed = session.is_some();
        let (task, agent) = (Box::new(taken.task.clone()), taken.agent.name.clone());
        self.tell(WorkerProgress::Started { task, agent, resumed });
        let is_put_off = resumed && taken.before.first().is_some_and(ended_at_call);
        // An agent whose call is held continues that call, and its hook tells it the answer.
        let mut text =
            if is_put_off { String::new() } else { self.prompt(&taken, &gates, resumed)? };
        let mut executed = self.execute(&taken, &tree, session.as_deref(), &text, &news)?;
        if is_put_off && executed.as_ref().is_ok_and(TurnExecution::failed_to_begin) {
            // The call does not exist any more: the agent gets a full prompt.
            text = self.prompt(&taken, &gates, resumed)?;
            executed = self.execute(&taken, &tree, session.as_deref(), &text, &news)?;
        }
        if session.is_some() && executed.as_ref().is_ok_and(|e| e.finished.session_gone) {
            // The client forgot the conversation: a new one begins with the full prompt.
            session = None;
            text = self.prompt(&taken, &gates, false)?;
            executed = self.execute(&taken, &tree, session.as_deref(), &text, &news)?;
        }
        match executed {
            Ok(executed) => self.conclude(&taken, &tree, executed, &news),
            Err(error) => self.not_started(&taken, &error, &news),
        }
    }

    fn prompt(&self, taken: &ClaimedTask<'_>, gates: &[Gate], is_resumed: bool) -> Result<String> {
        let task = &taken.task;
        let history = self.desk.history(task.id)?;
        let notes: Vec<TaskNote> = history
            .into_iter()
            .filter_map(|(_, event)| match event {
                TaskEvent::Noted(note) => Some(note),
                _ => None,
            })
            .collect();
        let epic = task.parent.map(|id| self.desk.task(id)).transpose()?;
        let role = self.role_for(task).unwrap_or(USUAL_ROLE);
        let usual = format!("You work in the role: {role}.");
        let last = taken.before.first().and_then(|run| match &run.state {
            RunState::Ended { how, note, .. } => Some((*how, note.as_str())),
            RunState::Running => None,
        });
        Ok(prompt(&PromptBrief {
            task,
            epic: epic.as_ref().map(|row| row.task.title.as_str()),
            role: self.setup.roles.get(role).unwrap_or(&usual),
            preamble: &self.setup.preamble,
            threshold: self.threshold_for(task),
            notes: &notes,
            gates,
            last,
            check: self.setup.check.as_ref().map(|check| check.command.as_str()),
            step: self.setup.step.as_ref().map(StepBrief::of),
            asks_how_sure: self.setup.confidence_min > 0,
            code: &self.code(),
            is_resumed,
        }))
    }

    /// Returns a code that could not be known before this prompt.
    pub(super) fn code(&self) -> String {
        format!("{:08x}", self.desk.random_u128() as u32)
    }

    fn threshold_for(&self, task: &Task) -> AskThreshold {
        let asked = label(task, "threshold:").and_then(|level| level.parse().ok());
        self.setup.threshold.raised_by(asked)
    }

    /// Settles a turn by the way it ended.
    fn conclude(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        executed: TurnExecution,
        news: &[Gate],
    ) -> Result<()> {
        if executed.bypassed_hook && executed.stopped != Some(StopReason::Fenced) {
            return self.settle_bypassed_hook(taken, tree, executed.spent);
        }
        let TurnExecution { finished, stopped, began, spent, .. } = executed;
        let again = |how: RunEndKind, why: &str| RunSettlement::Again { how, why: why.to_owned() };
        if let Some(limit) = &finished.limited {
            return self.back_off(taken, spent, limit.until, &limit.text);
        }
        match stopped {
            Some(StopReason::Fenced) => return self.lost_lease(taken, spent, NOT_OURS),
            Some(StopReason::Unwanted) => {
                return self.settle(
                    taken,
                    spent,
                    again(RunEndKind::Stopped, "the task was taken back"),
                );
            }
            Some(StopReason::Interrupted) => {
                self.shared().tally.interrupted += 1;
                return self.settle(
                    taken,
                    spent,
                    again(RunEndKind::Stopped, "the worker was stopped"),
                );
            }
            Some(StopReason::TooLong) => {
                let minutes = self.setup.turn_max.as_secs_f64() / 60.0;
                let why = format!("the turn took longer than {minutes:.1} minutes.");
                return self.no_progress(taken, tree, spent, &why);
            }
            None => {}
        }
        if finished.deferred {
            return self.settle(taken, spent, RunSettlement::PutOff);
        }
        let said = finished.message.as_deref().map(final_message::read);
        let failure = (finished.code != Some(0)).then(|| how_it_ended(&finished));
        match (said, failure) {
            // A question counts, with each exit code of the process.
            (Some(TurnResult::Asks(requests)), _) => {
                self.settle_questions(taken, tree, spent, &requests)
            }
            (Some(TurnResult::Failed { reason }), None) => self.fails(taken, tree, spent, &reason),
            (Some(TurnResult::Completed { summary, confidence }), None) => {
                let text = finished.message.unwrap_or_default();
                let done = WorkReport { summary, confidence, text };
                self.try_complete(taken, tree, spent, finished.session.as_deref(), done)
            }
            (_, Some(failure)) if !began => self.not_begun(taken, spent, &failure, news),
            (_, Some(failure)) => self.no_progress(taken, tree, spent, &failure),
            (Some(TurnResult::Unclear { why }), None) => self.no_progress(taken, tree, spent, &why),
            (None, None) => self.no_progress(taken, tree, spent, "there was no final message."),
        }
    }

    /// Checks the work, keeps it on its branch, lands it, and only then completes the task.
    fn try_complete(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        mut spent: RunUsage,
        session: Option<&str>,
        mut done: WorkReport,
    ) -> Result<()> {
        let retries = match (&self.setup.step, &self.setup.check) {
            (Some(step), _) => step.retries,
            (None, Some(check)) => check.retries,
            (None, None) => 1,
        };
        for attempt in 0..=retries {
            let objection = match self.with_lease_renewal(taken, || self.objection(taken, tree))? {
                Some(Some(objection)) => objection,
                Some(None) => return self.finish_work(taken, tree, spent, done),
                None => return self.lost_lease(taken, spent, NOT_OURS),
            };
            let is_last = match &self.setup.step {
                Some(_) => self.attempts() >= retries,
                None => attempt == retries,
            };
            if is_last || session.is_none() || !taken.agent.can_resume() {
                return self.no_progress(taken, tree, spent, &objection);
            }
            self.count_attempt();
            let executed = match self.execute(taken, tree, session, &objection, &[])? {
                Ok(executed) => executed,
                Err(error) => return self.no_progress(taken, tree, spent, &error.to_string()),
            };
            spent = spent.plus(executed.spent);
            let said = executed.finished.message.as_deref().map(final_message::read);
            match said {
                Some(TurnResult::Completed { summary, confidence })
                    if executed.stopped.is_none()
                        && executed.finished.code == Some(0)
                        && !executed.bypassed_hook =>
                {
                    let text = executed.finished.message.unwrap_or_default();
                    done = WorkReport { summary, confidence, text };
                }
                _ => return self.conclude(taken, tree, TurnExecution { spent, ..executed }, &[]),
            }
        }
        Ok(())
    }

    /// Returns the objection to completing, as a message for the agent: the failed check, or the objection of the
    /// step.
    fn objection(&self, taken: &ClaimedTask<'_>, tree: &Worktree) -> Option<String> {
        if let Some(step) = &self.setup.step {
            return self.step_objection(taken, tree, step);
        }
        let check = self.setup.check.as_ref()?;
        let command = check.command.clone();
        self.tell(WorkerProgress::Checking { task: taken.task.id, command: command.clone() });
        let mut shell = std::process::Command::new("sh");
        // A line that fails ends it: what stands below must not make up for it.
        shell.args(["-e", "-c"]).arg(format!("{{ {command}\n}} 2>&1")).current_dir(&tree.folder);
        // Marked like the agent: a worker that takes over the run ends it.
        shell.stdin(std::process::Stdio::null()).env(MARK, taken.run.started.id.to_string());
        // The check runs code that the agent wrote, and that must not pass for a person.
        shell.env(AGENT, "sayso-check");
        match shell.output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let printed = String::from_utf8_lossy(&output.stdout);
                let tail = tail(&printed, CHECK_BYTES_MAX);
                Some(super::prompt::check_failed(&command, tail, &self.code()))
            }
            Err(error) => {
                Some(super::prompt::check_failed(&command, &error.to_string(), &self.code()))
            }
        }
    }

    fn finish_work(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
        done: WorkReport,
    ) -> Result<()> {
        let task = &taken.task;
        let message = match &self.setup.step {
            None => commit_message(task),
            Some(step) => format!("{}: {}", step.name, commit_message(task)),
        };
        let commit = match self.commit(taken, tree, &message)? {
            Some(Ok(commit)) => commit,
            Some(Err(error)) => {
                let why = format!("the work cannot be committed: {error}");
                return self.settle(taken, spent, RunSettlement::Blocked { why });
            }
            None => return self.lost_lease(taken, spent, NOT_OURS),
        };
        if let Some(step) = &self.setup.step {
            return self.complete_step(taken, tree, spent, step, (&commit, done));
        }
        let WorkReport { summary, confidence, .. } = done;
        let ruling = self.desk.rule_on_completion(
            &self.desk.agent_of(&taken.run),
            &taken.run,
            confidence,
        )?;
        match ruling.effect {
            PolicyEffect::Allow => {}
            PolicyEffect::Deny => {
                let why = format!("the policy does not accept it: {}", ruling.reason());
                return self.no_progress(taken, tree, spent, &why);
            }
            PolicyEffect::Ask => {
                let ask = self.ask_as_ruled(taken, tree, &commit, &summary, &ruling);
                let ask = Box::new(ask);
                return self.settle(taken, spent, RunSettlement::Ruled { ask, confidence });
            }
        }
        let facts = facts(tree, task.requires.is_some(), Some(&commit));
        if task.requires.is_some() {
            return self.settle(taken, spent, RunSettlement::Completed { summary, facts });
        }
        // The agent asked during the turn and did not wait for the answer: nothing is landed before the answer.
        if self.desk.task(task.id)?.task.is_waiting() {
            let summary = "it said COMPLETE, but a question of its own is open".into();
            return self.settle(taken, spent, RunSettlement::Completed { summary, facts });
        }
        if confidence.unwrap_or(0) < self.setup.confidence_min {
            let facts = self::facts(tree, true, Some(&commit));
            return self.ask_low_confidence(taken, facts, spent, &summary, confidence);
        }
        match self.with_lease_renewal(taken, || self.land(task, tree, &commit))? {
            None => self.lost_lease(taken, spent, NOT_OURS),
            Some(LandingOutcome::InTheWay(why)) => {
                let ask = self.manual_landing_ask(task, tree, &commit, &why, Some(task.id));
                self.settle(taken, spent, RunSettlement::Asked(vec![ask]))
            }
            Some(LandingOutcome::Merged(what)) => {
                let summary = if summary.is_empty() { what.clone() } else { summary };
                self.settle(taken, spent, RunSettlement::Completed { summary, facts })?;
                let what = self.remove_worktree(task.id, tree, what);
                self.tell(WorkerProgress::Landed { task: task.handle.clone(), what });
                Ok(())
            }
            Some(LandingOutcome::Conflict(files)) => {
                let base = self.setup.repository.base();
                let why = format!(
                    "the branch conflicts with {base} in {files}. Run `git merge {base}` in this folder, \
                     resolve the conflicts, and say COMPLETE again."
                );
                self.no_progress(taken, tree, spent, &why)
            }
        }
    }

    /// Commits the worktree if the lease still holds.
    fn commit(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        message: &str,
    ) -> Result<Option<std::result::Result<String, GitError>>> {
        if !self.renew_lease(taken)? {
            return Ok(None);
        }
        let commit = || tree.commit(message, &taken.agent.name);
        self.with_lease_renewal(taken, commit)
    }

    /// Builds the gate for completed work that must be approved because of the policy.
    pub(super) fn ask_as_ruled(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        commit: &str,
        summary: &str,
        ruling: &Ruling,
    ) -> NewGate {
        let kind = self.sign_off(taken.task.requires.unwrap_or(GateKind::Approval));
        let mut facts = facts(tree, true, Some(commit));
        facts.extend(reason_fact(ruling));
        let card = Card {
            question: format!("{}: {}", taken.task.title, kind.default_question()),
            narrative: summary.into(),
            facts,
            shape: AnswerShape::Verdict,
        };
        NewGate::ruled(self.desk.new_gate_id(), kind, Some(taken.task.id), card, ruling)
    }

    /// Asks a person about completed work because the agent's confidence is too low.
    pub(super) fn ask_low_confidence(
        &self,
        taken: &ClaimedTask<'_>,
        facts: Vec<CardFact>,
        spent: RunUsage,
        summary: &str,
        confidence: Option<u8>,
    ) -> Result<()> {
        let sure = match confidence {
            Some(percent) => format!("is {percent} % sure"),
            None => "does not say how sure it is".into(),
        };
        let (title, least) = (&taken.task.title, self.setup.confidence_min);
        let card = Card {
            question: format!(
                "{title}: the agent {sure}; {least} % are asked for. Do you approve it?"
            ),
            narrative: summary.into(),
            facts,
            shape: AnswerShape::Verdict,
        };
        let id = self.desk.new_gate_id();
        let kind = self.sign_off(GateKind::Approval);
        let ask = NewGate::new(id, kind, Some(taken.task.id), card);
        self.settle(taken, spent, RunSettlement::Asked(vec![ask]))
    }

    fn settle_questions(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
        requests: &[AgentQuestion],
    ) -> Result<()> {
        // An approval is for exactly the commit that is to be signed off, and for nothing that comes after it.
        let is_sign_off = |r: &AgentQuestion| {
            matches!(r.kind, GateKind::Approval | GateKind::Review | GateKind::Content)
        };
        let commit = if requests.iter().any(is_sign_off) {
            match self.commit(taken, tree, &commit_message(&taken.task))? {
                Some(commit) => commit.ok(),
                None => return self.lost_lease(taken, spent, NOT_OURS),
            }
        } else {
            None
        };
        let ask = |request: &AgentQuestion| {
            let commit = commit.as_deref().filter(|_| is_sign_off(request));
            self.ask(taken, tree, request, commit)
        };
        let asks = requests.iter().map(ask).collect();
        self.settle(taken, spent, RunSettlement::Asked(asks))
    }

    /// Builds a manual task for a person: completed work that could not be landed.
    pub(super) fn manual_landing_ask(
        &self,
        task: &Task,
        tree: &Worktree,
        commit: &str,
        why: &str,
        waits: Option<TaskId>,
    ) -> NewGate {
        let (handle, branch, base) = (&task.handle, &tree.branch, self.setup.repository.base());
        let card = Card {
            question: format!(
                "The work on {handle} is done but could not be brought home. Please make way, or merge {branch} into {base}."
            ),
            narrative: why.into(),
            facts: facts(tree, false, Some(commit)),
            shape: AnswerShape::Verdict,
        };
        NewGate::new(self.desk.new_gate_id(), GateKind::Work, waits, card)
    }

    fn ask(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        request: &AgentQuestion,
        commit: Option<&str>,
    ) -> NewGate {
        let options: Vec<_> = request.options.iter().map(ChoiceOption::named).collect();
        let shape = match (request.kind, options.is_empty()) {
            (GateKind::Input, false) => AnswerShape::Choice { options, multi: false, other: true },
            (GateKind::Input, true) => AnswerShape::Text,
            _ => AnswerShape::Verdict,
        };
        let shows_work = matches!(
            request.kind,
            GateKind::Approval | GateKind::Review | GateKind::Content | GateKind::Checkpoint
        );
        let card = Card {
            question: request.question.clone(),
            narrative: request.context.clone(),
            facts: facts(tree, shows_work, commit),
            shape,
        };
        let kind = self.sign_off(request.kind);
        NewGate::new(self.desk.new_gate_id(), kind, Some(taken.task.id), card)
    }

    /// Settles a failed turn; the failed work stays on its branch.
    fn fails(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
        reason: &str,
    ) -> Result<()> {
        let message = format!("Work that failed: {}", taken.task.title);
        let kept = match self.commit(taken, tree, &message)? {
            Some(Ok(_)) => format!("its work is on {}", tree.branch),
            Some(Err(error)) => format!("its work is in {}: {error}", tree.folder.display()),
            None => return self.lost_lease(taken, spent, NOT_OURS),
        };
        let reason = format!("{reason} ({kept})");
        self.settle(taken, spent, RunSettlement::Failed { reason })
    }

    /// Settles a turn without progress. After several of those in a row a person is asked; turns whose result people
    /// rejected do not count, since their answer resets the count.
    pub(super) fn no_progress(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
        why: &str,
    ) -> Result<()> {
        let gates = self.gates_of(taken.task.id)?;
        let since = gates.iter().filter(|g| g.answer().is_some()).filter_map(Gate::ended_at).max();
        // Turns of earlier steps do not count for this step.
        let is_earlier = |run: &Run| self.setup.step.is_some() && is_completed(run);
        let is_recent = |run: &&Run| is_after(run, since) && !is_earlier(run);
        let recent: Vec<_> = taken.before.iter().take_while(is_recent).collect();
        let fruitless = recent.iter().take_while(|run| is_without_progress(run)).count() + 1;
        let turns = recent.len() + 1;
        // The workflow decides how often a step is retried, and the flow then reports the failure.
        let is_step = self.setup.step.is_some();
        if is_step {
            self.count_attempt();
        }
        let is_stuck = !is_step && fruitless >= self.setup.no_progress_max.max(1) as usize;
        let is_long = turns >= self.setup.turns_max.max(1) as usize;
        if !is_stuck && !is_long {
            return self.settle(
                taken,
                spent,
                RunSettlement::Again { how: RunEndKind::Unclear, why: why.into() },
            );
        }
        let many = |n: usize| format!("{n} turn{}", if n == 1 { "" } else { "s" });
        let how = if is_stuck {
            format!("took {} without a result", many(fruitless))
        } else {
            format!("took {} and is not done", many(turns))
        };
        let question = format!("The agent {how}. How shall it go on?");
        let card = Card {
            question,
            narrative: format!("How the last turn ended: {why}"),
            facts: facts(tree, true, None),
            shape: AnswerShape::Verdict,
        };
        let id = self.desk.new_gate_id();
        let ask = NewGate::new(id, GateKind::Escalation, Some(taken.task.id), card);
        self.settle(taken, spent, RunSettlement::Asked(vec![ask]))
    }

    fn not_started(
        &self,
        taken: &ClaimedTask<'_>,
        error: &StartError,
        news: &[Gate],
    ) -> Result<()> {
        self.not_begun(taken, RunUsage::default(), &error.to_string(), news)
    }

    /// Settles a turn in which the agent did not begin. Undelivered answers are kept, and the task is retried with an
    /// increasing back-off; after several attempts it is blocked for a person to look at.
    fn not_begun(
        &self,
        taken: &ClaimedTask<'_>,
        spent: RunUsage,
        why: &str,
        news: &[Gate],
    ) -> Result<()> {
        for gate in news {
            self.desk.fail_delivery(&self.setup.actor, gate.opened.id, why)?;
        }
        let is_failed =
            |run: &&Run| matches!(&run.state, RunState::Ended { how: RunEndKind::Failed, .. });
        let failed = taken.before.iter().take_while(is_failed).count() as u32 + 1;
        if failed.is_multiple_of(self.setup.no_progress_max.max(1)) {
            let handle = &taken.task.handle;
            let name = &taken.agent.name;
            let why = format!(
                "{name} could not begin, {failed} times: {why} (when that is mended: sayso reopen {handle})"
            );
            return self.settle(taken, spent, RunSettlement::Blocked { why });
        }
        let wait = self.setup.retry * 2_u32.saturating_pow(failed - 1).min(64);
        let until = self.in_a_while(wait);
        let why = why.to_owned();
        self.settle(taken, spent, RunSettlement::Later { how: RunEndKind::Failed, why, until })
    }

    fn back_off(
        &self,
        taken: &ClaimedTask<'_>,
        spent: RunUsage,
        until: Option<Timestamp>,
        why: &str,
    ) -> Result<()> {
        let soonest = self.in_a_while(Duration::from_secs(1));
        let until = until.unwrap_or_else(|| self.in_a_while(REST)).max(soonest);
        let agent = taken.agent.name.clone();
        self.shared().resting.insert(agent.clone(), until);
        self.tell(WorkerProgress::Resting { agent, until });
        let why = why.to_owned();
        self.settle(taken, spent, RunSettlement::Later { how: RunEndKind::Limited, why, until })
    }

    fn in_a_while(&self, wait: Duration) -> Timestamp {
        self.desk.now().plus_micros(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX / 4))
    }

    /// Settles the run with its outcome. If the lease was lost, nothing is changed.
    pub(super) fn settle(
        &self,
        taken: &ClaimedTask<'_>,
        spent: RunUsage,
        settlement: RunSettlement,
    ) -> Result<()> {
        let agent = self.desk.agent_of(&taken.run);
        let (mut came, note) = outcome_of(&settlement);
        let task = match self.desk.settle_run(&agent, &taken.run, spent, settlement.clone()) {
            Ok(task) => task,
            Err(Error::Refused(refusal)) => {
                return self.refused(taken, spent, &settlement, &refusal.message);
            }
            Err(error) => return Err(error),
        };
        if task.status.is_over() && came != TurnOutcome::Completed {
            came = TurnOutcome::LostLease;
        } else if task.is_waiting() {
            came = TurnOutcome::Waits;
        }
        if let (TurnOutcome::Deferred, Some(until)) = (came, task.deferred_until) {
            self.shared().later.insert(task.id, until);
        }
        self.ended(task, came, note, spent);
        Ok(())
    }

    /// Counts and reports the outcome of a turn.
    fn ended(&self, task: Task, what: TurnOutcome, note: String, spent: RunUsage) {
        self.count(what, spent);
        self.shared().last = Some((what, note.clone()));
        self.tell(WorkerProgress::Ended { task: Box::new(task), what, note, spent });
    }

    /// Handles a refusal by the desk: the run has ended, or the agent's statement is not possible.
    fn refused(
        &self,
        taken: &ClaimedTask<'_>,
        spent: RunUsage,
        settlement: &RunSettlement,
        why: &str,
    ) -> Result<()> {
        let run = self.desk.run(taken.run.started.id)?;
        if run.state != RunState::Running || matches!(settlement, RunSettlement::Again { .. }) {
            return self.lost_lease(taken, spent, why);
        }
        if self.setup.step.is_some() {
            self.count_attempt();
        }
        let again = RunSettlement::Again { how: RunEndKind::Unclear, why: format!("{why}.") };
        self.settle(taken, spent, again)
    }

    fn lost_lease(&self, taken: &ClaimedTask<'_>, spent: RunUsage, why: &str) -> Result<()> {
        let task = self.desk.task(taken.task.id)?.task;
        self.ended(task, TurnOutcome::LostLease, why.into(), spent);
        Ok(())
    }

    fn count(&self, came: TurnOutcome, spent: RunUsage) {
        let mut shared = self.shared();
        let tally = &mut shared.tally;
        tally.turns += 1;
        tally.spent = tally.spent.plus(spent);
        match came {
            TurnOutcome::Completed | TurnOutcome::StepDone => tally.completed += 1,
            TurnOutcome::Waits => tally.asked += 1,
            TurnOutcome::Failed | TurnOutcome::Blocked => tally.failed += 1,
            TurnOutcome::Retry | TurnOutcome::Deferred | TurnOutcome::LostLease => {}
        }
    }
}

fn outcome_of(settlement: &RunSettlement) -> (TurnOutcome, String) {
    match settlement {
        RunSettlement::Completed { summary, .. } => (TurnOutcome::Completed, summary.clone()),
        RunSettlement::Stepped { summary } => (TurnOutcome::StepDone, summary.clone()),
        RunSettlement::PutOff => (TurnOutcome::Waits, "one of its calls waits for a person".into()),
        RunSettlement::Asked(asks) => {
            let first = asks.first().map(|ask| ask.card.question.clone());
            (TurnOutcome::Waits, first.unwrap_or_default())
        }
        RunSettlement::Ruled { ask, .. } => (TurnOutcome::Waits, ask.card.question.clone()),
        RunSettlement::Failed { reason } => (TurnOutcome::Failed, reason.clone()),
        RunSettlement::Again { why, .. } => (TurnOutcome::Retry, why.clone()),
        RunSettlement::Later { why, .. } => (TurnOutcome::Deferred, why.clone()),
        RunSettlement::Blocked { why } => (TurnOutcome::Blocked, why.clone()),
    }
}

/// Returns the verified facts about the work: branch, commit and diff. The commit is the one that an approval lands.
pub(super) fn facts(tree: &Worktree, with_diff: bool, commit: Option<&str>) -> Vec<CardFact> {
    let fact = |name: &str, value: String| CardFact {
        name: name.into(),
        value: value.into(),
        verified: true,
    };
    let mut facts = vec![fact("branch", tree.branch.clone())];
    facts.extend(commit.map(|commit| fact(COMMIT, commit.to_owned())));
    if !with_diff {
        return facts;
    }
    match tree.diff(DIFF_BYTES_MAX) {
        Ok(diff) if diff.text.is_empty() => facts.push(fact("diff", "nothing was changed".into())),
        Ok(diff) => {
            facts.push(fact("files", diff.summary));
            let cut = if diff.is_cut { "\n… cut here; the rest is on the branch" } else { "" };
            facts.push(fact("diff", format!("{}{cut}", diff.text)));
        }
        Err(error) => facts.push(fact("diff", format!("cannot be shown: {error}"))),
    }
    facts
}

pub(super) fn commit_message(task: &Task) -> String {
    format!("{}\n\nTask: {}", sanitize_line(&task.title), task.handle)
}

fn is_after(run: &Run, since: Option<Timestamp>) -> bool {
    since.is_none_or(|since| run.started_at > since)
}

fn is_completed(run: &Run) -> bool {
    matches!(&run.state, RunState::Ended { how: RunEndKind::Completed, .. })
}

fn is_without_progress(run: &Run) -> bool {
    matches!(&run.state, RunState::Ended { how: RunEndKind::Unclear | RunEndKind::Failed, .. })
}

fn how_it_ended(finished: &sayso_agents::FinishedTurn) -> String {
    let ended = match (finished.code, finished.signal) {
        (Some(code), _) => format!("it exited with code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".into(),
    };
    match &finished.problem {
        Some(problem) => format!("{ended}: {}", problem.trim()),
        None => format!("{ended}."),
    }
}
