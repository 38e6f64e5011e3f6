//! One turn of an agent: prepares the worktree and the prompt, runs the agent, and settles the run by its final
//! message.

use super::execute::{Executed, Stopped};
use super::shell::AGENT;
use super::step::tail;
use super::take::{Landing, Taken, label};
use super::{Brief, Came, Progress, StepBrief, Worker, prompt};
use crate::policy::because;
use crate::runs::is_put_off;
use crate::worktree::{GitError, Worktree};
use crate::{Ask, Error, Result, Settlement};
use sayso_agents::process::MARK;
use sayso_agents::{Request, Said, StartError, signal};
use sayso_core::gate::{Card, Fact, Gate};
use sayso_core::run::{How, Run, Spent, State};
use sayso_core::task::{Event, Note, Task};
use sayso_core::text::harmless_line;
use sayso_core::{Choice, Kind, Shape, TaskId, Threshold, Timestamp};
use sayso_policy::{Effect, Ruling};
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
pub(super) struct Done {
    pub(super) summary: String,
    /// The agent's confidence in percent.
    pub(super) confidence: Option<u8>,
    /// The whole final message.
    pub(super) text: String,
}

impl Worker<'_> {
    /// Runs one turn on a claimed task. In each case the run is settled or left to be recovered, and no work is
    /// thrown away.
    pub(super) fn turn(&self, taken: Taken<'_>) -> Result<()> {
        let repository = self.setup.repository.for_run(taken.run.started.id);
        let prepare = || repository.prepare(&taken.task.handle, &taken.task.title);
        let tree = match self.keeping_the_lease(&taken, prepare)? {
            Some(Ok(tree)) => tree,
            Some(Err(error)) => {
                let why = format!("{error}; {}", error.hint());
                return self.settle(&taken, Spent::default(), Settlement::Blocked { why });
            }
            None => return self.gone(&taken, Spent::default(), NOT_OURS),
        };
        if let Err(why) = self.begin_step(&taken, &tree) {
            return self.settle(&taken, Spent::default(), Settlement::Blocked { why });
        }
        let gates = self.gates_of(taken.task.id)?;
        let news = self.unheard(&gates);
        let mut session = taken.run.started.session.clone();
        let resumed = session.is_some();
        let (task, agent) = (Box::new(taken.task.clone()), taken.agent.name.clone());
        self.tell(Progress::Started { task, agent, resumed });
        let is_put_off = resumed && taken.before.first().is_some_and(is_put_off);
        let mut text = match is_put_off {
            // The agent continues its call, and its hook tells it the answer.
            true => String::new(),
            false => self.prompt(&taken, &gates, resumed)?,
        };
        let mut executed = self.execute(&taken, &tree, session.as_deref(), &text, &news)?;
        if is_put_off && executed.as_ref().is_ok_and(Executed::is_nothing) {
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

    fn prompt(&self, taken: &Taken<'_>, gates: &[Gate], is_resumed: bool) -> Result<String> {
        let task = &taken.task;
        let history = self.desk.history(task.id)?;
        let notes: Vec<Note> = history
            .into_iter()
            .filter_map(|(_, event)| match event {
                Event::Noted(note) => Some(note),
                _ => None,
            })
            .collect();
        let epic = task.parent.map(|id| self.desk.task(id)).transpose()?;
        let role = self.role_for(task).unwrap_or(USUAL_ROLE);
        let usual = format!("You work in the role: {role}.");
        let last = taken.before.first().and_then(|run| match &run.state {
            State::Ended { how, note, .. } => Some((*how, note.as_str())),
            State::Running => None,
        });
        Ok(prompt(&Brief {
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
            asks_how_sure: self.setup.sure_min > 0,
            code: &self.code(),
            is_resumed,
        }))
    }

    /// Returns a code that could not be known before this prompt.
    pub(super) fn code(&self) -> String {
        format!("{:08x}", self.desk.chance() as u32)
    }

    fn threshold_for(&self, task: &Task) -> Threshold {
        let asked = label(task, "threshold:").and_then(|level| level.parse().ok());
        self.setup.threshold.raised_by(asked)
    }

    /// Settles a turn by the way it ended.
    fn conclude(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        executed: Executed,
        news: &[Gate],
    ) -> Result<()> {
        if executed.is_unheld && executed.stopped != Some(Stopped::Fenced) {
            return self.not_held(taken, tree, executed.spent);
        }
        let Executed { finished, stopped, began, spent, .. } = executed;
        let again = |how: How, why: &str| Settlement::Again { how, why: why.to_owned() };
        if let Some(limit) = &finished.limited {
            return self.rest(taken, spent, limit.until, &limit.text);
        }
        match stopped {
            Some(Stopped::Fenced) => return self.gone(taken, spent, NOT_OURS),
            Some(Stopped::Unwanted) => {
                return self.settle(taken, spent, again(How::Stopped, "the task was taken back"));
            }
            Some(Stopped::Interrupted) => {
                self.shared().tally.interrupted += 1;
                return self.settle(taken, spent, again(How::Stopped, "the worker was stopped"));
            }
            Some(Stopped::TooLong) => {
                let minutes = self.setup.turn_max.as_secs_f64() / 60.0;
                let why = format!("the turn took longer than {minutes:.1} minutes.");
                return self.fruitless(taken, tree, spent, &why);
            }
            None => {}
        }
        if finished.deferred {
            return self.settle(taken, spent, Settlement::PutOff);
        }
        let said = finished.message.as_deref().map(signal::read);
        let failure = (finished.code != Some(0)).then(|| how_it_ended(&finished));
        match (said, failure) {
            // A question counts, with each exit code of the process.
            (Some(Said::Asks(requests)), _) => self.asks(taken, tree, spent, &requests),
            (Some(Said::Failed { reason }), None) => self.fails(taken, tree, spent, &reason),
            (Some(Said::Completed { summary, confidence }), None) => {
                let text = finished.message.unwrap_or_default();
                let done = Done { summary, confidence, text };
                self.completes(taken, tree, spent, finished.session.as_deref(), done)
            }
            (_, Some(failure)) if !began => self.not_begun(taken, spent, &failure, news),
            (_, Some(failure)) => self.fruitless(taken, tree, spent, &failure),
            (Some(Said::Unclear { why }), None) => self.fruitless(taken, tree, spent, &why),
            (None, None) => self.fruitless(taken, tree, spent, "there was no final message."),
        }
    }

    /// Checks the work, keeps it on its branch, lands it, and only then completes the task.
    fn completes(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        mut spent: Spent,
        session: Option<&str>,
        mut done: Done,
    ) -> Result<()> {
        let retries = match (&self.setup.step, &self.setup.check) {
            (Some(step), _) => step.retries,
            (None, Some(check)) => check.retries,
            (None, None) => 1,
        };
        for attempt in 0..=retries {
            let objection = match self.keeping_the_lease(taken, || self.objection(taken, tree))? {
                Some(Some(objection)) => objection,
                Some(None) => return self.complete(taken, tree, spent, done),
                None => return self.gone(taken, spent, NOT_OURS),
            };
            let is_last = match &self.setup.step {
                Some(_) => self.attempts() >= retries,
                None => attempt == retries,
            };
            if is_last || session.is_none() || !taken.agent.can_resume() {
                return self.fruitless(taken, tree, spent, &objection);
            }
            self.count_attempt();
            let executed = match self.execute(taken, tree, session, &objection, &[])? {
                Ok(executed) => executed,
                Err(error) => return self.fruitless(taken, tree, spent, &error.to_string()),
            };
            spent = spent.plus(executed.spent);
            let said = executed.finished.message.as_deref().map(signal::read);
            match said {
                Some(Said::Completed { summary, confidence })
                    if executed.stopped.is_none()
                        && executed.finished.code == Some(0)
                        && !executed.is_unheld =>
                {
                    let text = executed.finished.message.unwrap_or_default();
                    done = Done { summary, confidence, text };
                }
                _ => return self.conclude(taken, tree, Executed { spent, ..executed }, &[]),
            }
        }
        Ok(())
    }

    /// Returns the objection to completing, as a message for the agent: the failed check, or the objection of the
    /// step.
    fn objection(&self, taken: &Taken<'_>, tree: &Worktree) -> Option<String> {
        if let Some(step) = &self.setup.step {
            return self.step_objection(taken, tree, step);
        }
        let check = self.setup.check.as_ref()?;
        let command = check.command.clone();
        self.tell(Progress::Checking { task: taken.task.id, command: command.clone() });
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

    fn complete(&self, taken: &Taken<'_>, tree: &Worktree, spent: Spent, done: Done) -> Result<()> {
        let task = &taken.task;
        let message = match &self.setup.step {
            None => commit_message(task),
            Some(step) => format!("{}: {}", step.name, commit_message(task)),
        };
        let commit = match self.commit(taken, tree, &message)? {
            Some(Ok(commit)) => commit,
            Some(Err(error)) => {
                let why = format!("the work cannot be committed: {error}");
                return self.settle(taken, spent, Settlement::Blocked { why });
            }
            None => return self.gone(taken, spent, NOT_OURS),
        };
        if let Some(step) = &self.setup.step {
            return self.complete_step(taken, tree, spent, step, (&commit, done));
        }
        let Done { summary, confidence, .. } = done;
        let ruling = self.desk.rule_on_completion(
            &self.desk.agent_of(&taken.run),
            &taken.run,
            confidence,
        )?;
        match ruling.effect {
            Effect::Allow => {}
            Effect::Deny => {
                let why = format!("the policy does not accept it: {}", ruling.reason());
                return self.fruitless(taken, tree, spent, &why);
            }
            Effect::Ask => {
                let ask = self.ask_as_ruled(taken, tree, &commit, &summary, &ruling);
                let ask = Box::new(ask);
                return self.settle(taken, spent, Settlement::Ruled { ask, confidence });
            }
        }
        let facts = facts(tree, task.requires.is_some(), Some(&commit));
        if task.requires.is_some() {
            return self.settle(taken, spent, Settlement::Completed { summary, facts });
        }
        // The agent asked during the turn and did not wait for the answer: nothing is landed before the answer.
        if self.desk.task(task.id)?.task.is_waiting() {
            let summary = "it said COMPLETE, but a question of its own is open".into();
            return self.settle(taken, spent, Settlement::Completed { summary, facts });
        }
        if confidence.unwrap_or(0) < self.setup.sure_min {
            let facts = self::facts(tree, true, Some(&commit));
            return self.is_unsure(taken, facts, spent, &summary, confidence);
        }
        match self.keeping_the_lease(taken, || self.land(task, tree, &commit))? {
            None => self.gone(taken, spent, NOT_OURS),
            Some(Landing::InTheWay(why)) => {
                let ask = self.by_hand(task, tree, &commit, &why, Some(task.id));
                self.settle(taken, spent, Settlement::Asked(vec![ask]))
            }
            Some(Landing::Home(what)) => {
                let summary = if summary.is_empty() { what.clone() } else { summary };
                self.settle(taken, spent, Settlement::Completed { summary, facts })?;
                let what = self.and_remove(task.id, tree, what);
                self.tell(Progress::Landed { task: task.handle.clone(), what });
                Ok(())
            }
            Some(Landing::Conflict(files)) => {
                let base = self.setup.repository.base();
                let why = format!(
                    "the branch conflicts with {base} in {files}. Run `git merge {base}` in this folder, \
                     resolve the conflicts, and say COMPLETE again."
                );
                self.fruitless(taken, tree, spent, &why)
            }
        }
    }

    /// Commits the worktree if the lease still holds.
    fn commit(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        message: &str,
    ) -> Result<Option<std::result::Result<String, GitError>>> {
        if !self.is_ours(taken)? {
            return Ok(None);
        }
        let commit = || tree.commit(message, &taken.agent.name);
        self.keeping_the_lease(taken, commit)
    }

    /// Builds the gate for completed work that must be approved because of the policy.
    pub(super) fn ask_as_ruled(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        commit: &str,
        summary: &str,
        ruling: &Ruling,
    ) -> Ask {
        let kind = self.sign_off(taken.task.requires.unwrap_or(Kind::Approval));
        let mut facts = facts(tree, true, Some(commit));
        facts.extend(because(ruling));
        let card = Card {
            question: format!("{}: {}", taken.task.title, kind.default_question()),
            narrative: summary.into(),
            facts,
            shape: Shape::Verdict,
        };
        Ask::ruled(self.desk.new_gate_id(), kind, Some(taken.task.id), card, ruling)
    }

    /// Asks a person about completed work because the agent's confidence is too low.
    pub(super) fn is_unsure(
        &self,
        taken: &Taken<'_>,
        facts: Vec<Fact>,
        spent: Spent,
        summary: &str,
        confidence: Option<u8>,
    ) -> Result<()> {
        let sure = match confidence {
            Some(percent) => format!("is {percent} % sure"),
            None => "does not say how sure it is".into(),
        };
        let (title, least) = (&taken.task.title, self.setup.sure_min);
        let card = Card {
            question: format!(
                "{title}: the agent {sure}; {least} % are asked for. Do you approve it?"
            ),
            narrative: summary.into(),
            facts,
            shape: Shape::Verdict,
        };
        let id = self.desk.new_gate_id();
        let kind = self.sign_off(Kind::Approval);
        let ask = Ask::new(id, kind, Some(taken.task.id), card);
        self.settle(taken, spent, Settlement::Asked(vec![ask]))
    }

    fn asks(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        spent: Spent,
        requests: &[Request],
    ) -> Result<()> {
        // An approval is for exactly the commit that is to be signed off, and for nothing that comes after it.
        let is_sign_off =
            |r: &Request| matches!(r.kind, Kind::Approval | Kind::Review | Kind::Content);
        let commit = match requests.iter().any(is_sign_off) {
            false => None,
            true => match self.commit(taken, tree, &commit_message(&taken.task))? {
                Some(commit) => commit.ok(),
                None => return self.gone(taken, spent, NOT_OURS),
            },
        };
        let ask = |request: &Request| {
            let commit = commit.as_deref().filter(|_| is_sign_off(request));
            self.ask(taken, tree, request, commit)
        };
        let asks = requests.iter().map(ask).collect();
        self.settle(taken, spent, Settlement::Asked(asks))
    }

    /// Builds a manual task for a person: completed work that could not be landed.
    pub(super) fn by_hand(
        &self,
        task: &Task,
        tree: &Worktree,
        commit: &str,
        why: &str,
        waits: Option<TaskId>,
    ) -> Ask {
        let (handle, branch, base) = (&task.handle, &tree.branch, self.setup.repository.base());
        let card = Card {
            question: format!(
                "The work on {handle} is done but could not be brought home. Please make way, or merge {branch} into {base}."
            ),
            narrative: why.into(),
            facts: facts(tree, false, Some(commit)),
            shape: Shape::Verdict,
        };
        Ask::new(self.desk.new_gate_id(), Kind::Work, waits, card)
    }

    fn ask(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        request: &Request,
        commit: Option<&str>,
    ) -> Ask {
        let options: Vec<_> = request.options.iter().map(Choice::named).collect();
        let shape = match (request.kind, options.is_empty()) {
            (Kind::Input, false) => Shape::Choice { options, multi: false, other: true },
            (Kind::Input, true) => Shape::Text,
            _ => Shape::Verdict,
        };
        let shows_work = matches!(
            request.kind,
            Kind::Approval | Kind::Review | Kind::Content | Kind::Checkpoint
        );
        let card = Card {
            question: request.question.clone(),
            narrative: request.context.clone(),
            facts: facts(tree, shows_work, commit),
            shape,
        };
        let kind = self.sign_off(request.kind);
        Ask::new(self.desk.new_gate_id(), kind, Some(taken.task.id), card)
    }

    /// Settles a failed turn; the failed work stays on its branch.
    fn fails(&self, taken: &Taken<'_>, tree: &Worktree, spent: Spent, reason: &str) -> Result<()> {
        let message = format!("Work that failed: {}", taken.task.title);
        let kept = match self.commit(taken, tree, &message)? {
            Some(Ok(_)) => format!("its work is on {}", tree.branch),
            Some(Err(error)) => format!("its work is in {}: {error}", tree.folder.display()),
            None => return self.gone(taken, spent, NOT_OURS),
        };
        let reason = format!("{reason} ({kept})");
        self.settle(taken, spent, Settlement::Failed { reason })
    }

    /// Settles a turn without progress. After several of those in a row a person is asked; turns whose result people
    /// rejected do not count, since their answer resets the count.
    pub(super) fn fruitless(
        &self,
        taken: &Taken<'_>,
        tree: &Worktree,
        spent: Spent,
        why: &str,
    ) -> Result<()> {
        let gates = self.gates_of(taken.task.id)?;
        let since = gates.iter().filter(|g| g.answer().is_some()).filter_map(Gate::ended_at).max();
        // Turns of earlier steps do not count for this step.
        let is_earlier = |run: &Run| self.setup.step.is_some() && is_completed(run);
        let is_recent = |run: &&Run| is_after(run, since) && !is_earlier(run);
        let recent: Vec<_> = taken.before.iter().take_while(is_recent).collect();
        let fruitless = recent.iter().take_while(|run| is_fruitless(run)).count() + 1;
        let turns = recent.len() + 1;
        // The workflow decides how often a step is retried, and the flow then reports the failure.
        let is_step = self.setup.step.is_some();
        if is_step {
            self.count_attempt();
        }
        let is_stuck = !is_step && fruitless >= self.setup.fruitless_max.max(1) as usize;
        let is_long = turns >= self.setup.turns_max.max(1) as usize;
        if !is_stuck && !is_long {
            return self.settle(
                taken,
                spent,
                Settlement::Again { how: How::Unclear, why: why.into() },
            );
        }
        let many = |n: usize| format!("{n} turn{}", if n == 1 { "" } else { "s" });
        let how = match is_stuck {
            true => format!("took {} without a result", many(fruitless)),
            false => format!("took {} and is not done", many(turns)),
        };
        let question = format!("The agent {how}. How shall it go on?");
        let card = Card {
            question,
            narrative: format!("How the last turn ended: {why}"),
            facts: facts(tree, true, None),
            shape: Shape::Verdict,
        };
        let id = self.desk.new_gate_id();
        let ask = Ask::new(id, Kind::Escalation, Some(taken.task.id), card);
        self.settle(taken, spent, Settlement::Asked(vec![ask]))
    }

    fn not_started(&self, taken: &Taken<'_>, error: &StartError, news: &[Gate]) -> Result<()> {
        self.not_begun(taken, Spent::default(), &error.to_string(), news)
    }

    /// Settles a turn in which the agent did not begin. Undelivered answers are kept, and the task is retried with an
    /// increasing back-off; after several attempts it is blocked for a person to look at.
    fn not_begun(&self, taken: &Taken<'_>, spent: Spent, why: &str, news: &[Gate]) -> Result<()> {
        for gate in news {
            self.desk.fail_delivery(&self.setup.actor, gate.opened.id, why)?;
        }
        let is_failed = |run: &&Run| matches!(&run.state, State::Ended { how: How::Failed, .. });
        let failed = taken.before.iter().take_while(is_failed).count() as u32 + 1;
        if failed.is_multiple_of(self.setup.fruitless_max.max(1)) {
            let handle = &taken.task.handle;
            let name = &taken.agent.name;
            let why = format!(
                "{name} could not begin, {failed} times: {why} (when that is mended: sayso reopen {handle})"
            );
            return self.settle(taken, spent, Settlement::Blocked { why });
        }
        let wait = self.setup.retry * 2_u32.saturating_pow(failed - 1).min(64);
        let until = self.in_a_while(wait);
        let why = why.to_owned();
        self.settle(taken, spent, Settlement::Later { how: How::Failed, why, until })
    }

    fn rest(
        &self,
        taken: &Taken<'_>,
        spent: Spent,
        until: Option<Timestamp>,
        why: &str,
    ) -> Result<()> {
        let soonest = self.in_a_while(Duration::from_secs(1));
        let until = until.unwrap_or_else(|| self.in_a_while(REST)).max(soonest);
        let agent = taken.agent.name.clone();
        self.shared().resting.insert(agent.clone(), until);
        self.tell(Progress::Resting { agent, until });
        let why = why.to_owned();
        self.settle(taken, spent, Settlement::Later { how: How::Limited, why, until })
    }

    fn in_a_while(&self, wait: Duration) -> Timestamp {
        self.desk.now().plus_micros(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX / 4))
    }

    /// Settles the run with its outcome. If the lease was lost, nothing is changed.
    pub(super) fn settle(
        &self,
        taken: &Taken<'_>,
        spent: Spent,
        settlement: Settlement,
    ) -> Result<()> {
        let agent = self.desk.agent_of(&taken.run);
        let (mut came, note) = came(&settlement);
        let task = match self.desk.settle_run(&agent, &taken.run, spent, settlement.clone()) {
            Ok(task) => task,
            Err(Error::Refused(refusal)) => {
                return self.refused(taken, spent, &settlement, &refusal.message);
            }
            Err(error) => return Err(error),
        };
        if task.status.is_over() && came != Came::Completed {
            came = Came::Gone;
        } else if task.is_waiting() {
            came = Came::Waits;
        }
        if let (Came::Later, Some(until)) = (came, task.deferred_until) {
            self.shared().later.insert(task.id, until);
        }
        self.ended(task, came, note, spent);
        Ok(())
    }

    /// Counts and reports the outcome of a turn.
    fn ended(&self, task: Task, what: Came, note: String, spent: Spent) {
        self.count(what, spent);
        self.shared().last = Some((what, note.clone()));
        self.tell(Progress::Ended { task: Box::new(task), what, note, spent });
    }

    /// Handles a refusal by the desk: the run has ended, or the agent's statement is not possible.
    fn refused(
        &self,
        taken: &Taken<'_>,
        spent: Spent,
        settlement: &Settlement,
        why: &str,
    ) -> Result<()> {
        let run = self.desk.run(taken.run.started.id)?;
        if run.state != State::Running || matches!(settlement, Settlement::Again { .. }) {
            return self.gone(taken, spent, why);
        }
        if self.setup.step.is_some() {
            self.count_attempt();
        }
        let again = Settlement::Again { how: How::Unclear, why: format!("{why}.") };
        self.settle(taken, spent, again)
    }

    fn gone(&self, taken: &Taken<'_>, spent: Spent, why: &str) -> Result<()> {
        let task = self.desk.task(taken.task.id)?.task;
        self.ended(task, Came::Gone, why.into(), spent);
        Ok(())
    }

    fn count(&self, came: Came, spent: Spent) {
        let mut shared = self.shared();
        let tally = &mut shared.tally;
        tally.turns += 1;
        tally.spent = tally.spent.plus(spent);
        match came {
            Came::Completed | Came::Stepped => tally.completed += 1,
            Came::Waits => tally.asked += 1,
            Came::Failed | Came::Blocked => tally.failed += 1,
            Came::Again | Came::Later | Came::Gone => {}
        }
    }
}

fn came(settlement: &Settlement) -> (Came, String) {
    match settlement {
        Settlement::Completed { summary, .. } => (Came::Completed, summary.clone()),
        Settlement::Stepped { summary } => (Came::Stepped, summary.clone()),
        Settlement::PutOff => (Came::Waits, "one of its calls waits for a person".into()),
        Settlement::Asked(asks) => {
            let first = asks.first().map(|ask| ask.card.question.clone());
            (Came::Waits, first.unwrap_or_default())
        }
        Settlement::Ruled { ask, .. } => (Came::Waits, ask.card.question.clone()),
        Settlement::Failed { reason } => (Came::Failed, reason.clone()),
        Settlement::Again { why, .. } => (Came::Again, why.clone()),
        Settlement::Later { why, .. } => (Came::Later, why.clone()),
        Settlement::Blocked { why } => (Came::Blocked, why.clone()),
    }
}

/// Returns the verified facts about the work: branch, commit and diff. The commit is the one that an approval lands.
pub(super) fn facts(tree: &Worktree, with_diff: bool, commit: Option<&str>) -> Vec<Fact> {
    let fact =
        |name: &str, value: String| Fact { name: name.into(), value: value.into(), verified: true };
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
    format!("{}\n\nTask: {}", harmless_line(&task.title), task.handle)
}

fn is_after(run: &Run, since: Option<Timestamp>) -> bool {
    since.is_none_or(|since| run.started_at > since)
}

fn is_completed(run: &Run) -> bool {
    matches!(&run.state, State::Ended { how: How::Completed, .. })
}

fn is_fruitless(run: &Run) -> bool {
    matches!(&run.state, State::Ended { how: How::Unclear | How::Failed, .. })
}

fn how_it_ended(finished: &sayso_agents::Finished) -> String {
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
