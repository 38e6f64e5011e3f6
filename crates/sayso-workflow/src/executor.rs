//! The executor of flows: does what a workflow says, step by step, and records each step before the next one that
//! depends on it.
//!
//! A computed transition is not written by itself: it is committed together with the next recorded step. So a
//! question and its answer take one write each.

use crate::event::question_id;
use crate::handler::{HandlerReply, HandlerRequest, HumanInput, QuestionHandler};
use crate::plan::{ExecutionPlan, PhaseTransition, WorkOutcome};
use crate::{Error, HumanQuestion, Inbox, Result};
use sayso_core::flow::{self, Flow, FlowEndKind, FlowLogEvent, LeaseClaim};
use sayso_core::gate::Gate;
use sayso_core::{Answer, Code, FlowId, GateId};
use sayso_engine::{AdvanceRequest, FlowStep, gate_outcome, is_held};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};

/// The interval at which the lease is extended.
const WORD_EVERY: Duration = Duration::from_secs(10);

/// The poll interval if no commit wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The maximum number of phases that a flow enters without a question: a cycle without a person would never end.
const MOVES_MAX: u32 = 1_000;

/// The progress of a flow in one run.
#[derive(Debug)]
pub enum FlowProgress {
    /// The flow has ended.
    Ended(Flow),
    /// The flow waits for people.
    Waits(Flow),
    /// Another process runs the flow.
    Elsewhere,
}

/// Advances a flow as far as possible; `led` is the flow, if we hold its lease already.
pub(crate) async fn advance(
    inbox: &Inbox,
    plan: Arc<dyn ExecutionPlan>,
    id: FlowId,
    input: &HumanInput,
    mut led: Option<Flow>,
) -> Result<FlowProgress> {
    loop {
        let woken = inbox.space_changed().await?;
        let fence = led.as_ref().map(|flow| flow.fence);
        let flow = match led.take() {
            Some(flow) => flow,
            None => inbox.blocking_on_desk(move |desk, _| desk.flow(id)).await?,
        };
        check_version(&*plan, &flow)?;
        let (position, pending) = (flow.position, vec![]);
        let (plan, moves) = (plan.clone(), 0);
        let mut path = FlowExecution { inbox, plan, input, flow, position, pending, fence, moves };
        let walked = match path.advance().await {
            Err(error) if !path.is_overtaken(&error).await => path.give_up(error).await,
            walked => walked,
        };
        match walked {
            Err(error) if is_too_late(&error) => {}
            walked => return walked,
        }
        // Another process runs the flow: it may come to an end, or die.
        if matches!(input, HumanInput::Park) {
            let flow = inbox.blocking_on_desk(move |desk, _| desk.flow(id)).await?;
            return Ok(if flow.is_live() {
                FlowProgress::Elsewhere
            } else {
                FlowProgress::Ended(flow)
            });
        }
        let _ = tokio::time::timeout(LOOK_AGAIN, woken).await;
    }
}

fn check_version(plan: &dyn ExecutionPlan, flow: &Flow) -> Result<()> {
    let is_known =
        flow.started.workflow == plan.name() && plan.is_compatible_with(&flow.started.version);
    if is_known || !flow.is_live() {
        return Ok(());
    }
    Err(Error::OtherVersion {
        flow: flow.started.handle.clone(),
        workflow: flow.started.workflow.clone(),
        begun: flow.started.version.clone(),
        ours: plan.version().to_owned(),
    })
}

/// True if the refusal means that another process was faster.
fn is_too_late(error: &Error) -> bool {
    let Some(sayso_engine::Error::Refused(refusal)) = error.of_desk() else { return false };
    matches!(refusal.code, Code::Fenced | Code::WrongState)
}

/// A flow in execution.
struct FlowExecution<'a> {
    inbox: &'a Inbox,
    plan: Arc<dyn ExecutionPlan>,
    input: &'a HumanInput,
    /// The flow with all its steps, recorded or not.
    flow: Flow,
    /// The recorded position.
    position: u32,
    /// The steps that are not recorded yet.
    pending: Vec<FlowStep>,
    /// The fencing number of our lease, if we hold it.
    fence: Option<u64>,
    /// The number of phases entered since the last question.
    moves: u32,
}

impl FlowExecution<'_> {
    async fn advance(&mut self) -> Result<FlowProgress> {
        loop {
            if !self.flow.is_live() {
                self.write().await?;
                return Ok(FlowProgress::Ended(self.flow.clone()));
            }
            if !self.plan.has(&self.flow.phase) {
                return Err(Error::lost(&self.flow, "the workflow has no such phase"));
            }
            let done = if self.flow.is_waiting() {
                self.hear().await?
            } else if self.is_to_be_done()? {
                self.work().await?
            } else {
                let questions = self.questions()?;
                if questions.is_empty() { self.lead()? } else { self.ask(questions).await? }
            };
            if let Some(walked) = done {
                return Ok(walked);
            }
        }
    }

    /// Returns the questions of this phase that are still to be asked. A question that was answered before a stop is
    /// not asked again, and does not stand for the rest.
    fn questions(&self) -> Result<Vec<(u32, HumanQuestion)>> {
        if self.flow.has_asked() {
            return Ok(vec![]);
        }
        // As it stood before the first answer, so that it is the same list.
        let before = Flow { heard: BTreeMap::new(), ..self.flow.clone() };
        let mut questions = self.plan.questions(&before)?;
        questions.retain(|(item, _)| !self.flow.heard.contains_key(item));
        Ok(questions)
    }

    fn is_to_be_done(&self) -> Result<bool> {
        let pieces = self.plan.item_count(&self.flow)?.unwrap_or(0);
        Ok((self.flow.outputs.len() as u64) < u64::from(pieces))
    }

    /// Runs the work of a phase, item by item. The lease is held meanwhile, so that no other process does the same.
    async fn work(&mut self) -> Result<Option<FlowProgress>> {
        self.ensure_lease().await?;
        let pieces = self.plan.item_count(&self.flow)?.unwrap_or(0);
        let is_done = |item: &u32| !self.flow.outputs.contains_key(item);
        let mut todo: VecDeque<u32> = (0..pieces).filter(is_done).collect();
        let mut tries: BTreeMap<u32, u32> = BTreeMap::new();
        let (at_once, retries) = (self.plan.at_once(&self.flow), self.plan.retries(&self.flow));
        let (mut at_work, mut items) = (JoinSet::new(), HashMap::new());
        let mut failed = None;
        loop {
            while at_work.len() < at_once.max(1)
                && let Some(item) = todo.pop_front()
            {
                let work = self.plan.work(&self.flow, item)?;
                let begun = at_work.spawn(async move { (item, work.await) });
                items.insert(begun.id(), item);
            }
            let Some(joined) = self.with_lease_renewal(at_work.join_next()).await? else {
                return failed.map_or(Ok(None), |why| Err(Error::step(&self.flow, why)));
            };
            let (item, worked) = match joined {
                Ok(done) => done,
                // An item whose future panicked has failed like any other.
                Err(error) => match items.get(&error.id()) {
                    Some(item) => (*item, WorkOutcome::Failed(describe_join_error(error))),
                    None => return Err(Error::step(&self.flow, error.to_string())),
                },
            };
            match worked {
                WorkOutcome::Done(output) => {
                    self.complete(item, output, pieces)?;
                    // A single item is committed with the next step; of several each is recorded at once.
                    if pieces > 1 {
                        self.write().await?;
                    }
                }
                WorkOutcome::Waits => {
                    self.release_lease().await?;
                    return Ok(Some(FlowProgress::Waits(self.flow.clone())));
                }
                WorkOutcome::Rejected(why) => {
                    self.end(FlowEndKind::Rejected, why);
                    return Ok(None);
                }
                WorkOutcome::Stopped => return Err(Error::stopped(&self.flow)),
                WorkOutcome::Failed(why) => {
                    let tried = tries.entry(item).or_default();
                    match *tried >= retries {
                        // The outputs of its siblings are not lost with it: they are finished, and no other begins.
                        true => {
                            failed.get_or_insert(why);
                            todo.clear();
                        }
                        false if failed.is_some() => {}
                        false => {
                            *tried += 1;
                            todo.push_back(item);
                        }
                    }
                }
            }
        }
    }

    fn complete(&mut self, item: u32, output: Value, pieces: u32) -> Result<()> {
        let mut after = self.flow.clone();
        after.outputs.insert(item, output.clone());
        let is_last = after.outputs.len() as u64 == u64::from(pieces);
        let kept = if is_last { self.plan.keep(&after).map(Some) } else { Ok(None) };
        let (state, wrong) = split_uncomputable(kept.map(|state| changed(&self.flow, state)))?;
        let event = FlowLogEvent::Completed { item, output: output.clone(), state: state.clone() };
        self.push(FlowStep::Complete { item, output, state }, &event);
        wrong.map_or(Ok(()), Err)
    }

    /// Asks: at gates, which are opened in the same write, or by the program's own handler.
    async fn ask(&mut self, questions: Vec<(u32, HumanQuestion)>) -> Result<Option<FlowProgress>> {
        let (flow, position) = (self.flow.started.id, self.flow.position);
        self.moves = 0;
        if let HumanInput::By(handler) = self.input {
            return self.ask_by(&**handler, questions).await;
        }
        for (item, human) in questions {
            let gate = question_id(flow, position, item);
            let ask = Box::new(human.ask(gate, self.flow.started.task));
            self.push(FlowStep::Ask { item, ask }, &FlowLogEvent::Asked { item, gate });
        }
        Ok(None)
    }

    async fn ask_by(
        &mut self,
        handler: &dyn QuestionHandler,
        questions: Vec<(u32, HumanQuestion)>,
    ) -> Result<Option<FlowProgress>> {
        self.ensure_lease().await?;
        let by = handler.name().to_owned();
        let last = questions.last().map(|(item, _)| *item);
        for (item, human) in questions {
            let request = HandlerRequest::of(&self.flow, item, &human);
            let told = self.with_lease_renewal(handler.ask(&request)).await?;
            let failed = |why| Error::Handler { by: by.clone(), why };
            let answer = match told.map_err(failed)? {
                HandlerReply::Answer(answer) => answer.with_verdict_for(&request.shape),
                HandlerReply::Later => {
                    self.release_lease().await?;
                    return Ok(Some(FlowProgress::Waits(self.flow.clone())));
                }
            };
            request.check(&answer).map_err(failed)?;
            let more = Some(item) != last;
            self.record_external_answer(request, &by, answer, more)?;
            // No answer is lost while the next question is asked.
            if more {
                self.write().await?;
            }
        }
        Ok(None)
    }

    fn record_external_answer(
        &mut self,
        request: HandlerRequest,
        by: &str,
        answer: Answer,
        more: bool,
    ) -> Result<()> {
        let (item, question, by) = (request.item, request.prompt, by.to_owned());
        let heard = flow::QuestionOutcome {
            gate: None,
            answer: Some(answer.clone()),
            by: by.clone(),
            question: question.clone(),
            ended: "otherwise".to_owned(),
            more,
        };
        let (state, wrong) = split_uncomputable(self.state_after(item, &heard, !more))?;
        let event = FlowLogEvent::Heard { item, heard: Box::new(heard), state: state.clone() };
        self.push(
            FlowStep::RecordExternalAnswer { item, by, question, answer, more, state },
            &event,
        );
        wrong.map_or(Ok(()), Err)
    }

    /// Waits for people and takes up their answers. The lease of a waiting flow is released.
    async fn hear(&mut self) -> Result<Option<FlowProgress>> {
        self.release_lease().await?;
        let waits: Vec<_> = self.flow.waits_for().collect();
        let mut ended = vec![];
        for (item, gate) in &waits {
            let gate = match self.input {
                HumanInput::Wait => Some(self.ended(*gate).await?),
                HumanInput::Park | HumanInput::By(_) => {
                    let gate = *gate;
                    let gate = self.inbox.blocking_on_desk(move |desk, _| desk.gate(gate)).await?;
                    Some(gate).filter(|gate| !gate.is_open())
                }
            };
            ended.extend(gate.map(|gate| (*item, gate)));
        }
        if ended.is_empty() {
            return Ok(Some(FlowProgress::Waits(self.flow.clone())));
        }
        let is_all = ended.len() == waits.len();
        let last = ended.last().map(|(item, _)| *item);
        for (item, gate) in ended {
            let heard = gate_outcome(&gate)?;
            let is_last = is_all && Some(item) == last;
            let (state, wrong) = split_uncomputable(self.state_after(item, &heard, is_last))?;
            let event = FlowLogEvent::Heard { item, heard: Box::new(heard), state: state.clone() };
            self.push(FlowStep::Hear { item, gate: gate.opened.id, state }, &event);
            if let Some(wrong) = wrong {
                return Err(wrong);
            }
        }
        if !is_all {
            // The remaining questions are awaited together, with the answers so far recorded.
            self.release_lease().await?;
            return Ok(Some(FlowProgress::Waits(self.flow.clone())));
        }
        Ok(None)
    }

    fn state_after(
        &self,
        item: u32,
        heard: &flow::QuestionOutcome,
        is_last: bool,
    ) -> Result<Option<Value>> {
        if !is_last {
            return Ok(None);
        }
        let mut after = self.flow.clone();
        after.heard.insert(item, heard.clone());
        Ok(changed(&self.flow, Some(self.plan.hear(&after)?)))
    }

    /// Waits for the end of a gate.
    async fn ended(&self, id: GateId) -> Result<Gate> {
        loop {
            let woken = self.inbox.gate_changed(id).await?;
            let gate = self.inbox.blocking_on_desk(move |desk, _| desk.gate(id)).await?;
            if !gate.is_open() {
                return Ok(gate);
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, woken).await;
        }
    }

    fn lead(&mut self) -> Result<Option<FlowProgress>> {
        self.moves += 1;
        if self.moves > MOVES_MAX {
            return Err(Error::step(
                &self.flow,
                format!(
                    "it went through {MOVES_MAX} phases without asking anybody, and may be in a circle: go on with it if it \
                     is not"
                ),
            ));
        }
        let state = changed(&self.flow, self.plan.leave(&self.flow)?);
        match self.plan.transition(&self.flow)? {
            PhaseTransition::To(to) => {
                let event = FlowLogEvent::Moved { to: to.clone(), state: state.clone() };
                self.push(FlowStep::Move { to, state }, &event);
            }
            PhaseTransition::End(how, note) => self.end_with(how, note, state),
        }
        Ok(None)
    }

    fn end(&mut self, how: FlowEndKind, note: String) {
        self.end_with(how, note, None);
    }

    fn end_with(&mut self, how: FlowEndKind, note: String, state: Option<Value>) {
        let event = FlowLogEvent::Ended { how, note: note.clone(), state: state.clone() };
        self.push(FlowStep::End { how, note, state }, &event);
    }

    /// True if another process was faster. A refusal for another reason is not that.
    async fn is_overtaken(&self, error: &Error) -> bool {
        if !is_too_late(error) {
            return false;
        }
        let id = self.flow.started.id;
        let Ok(now) = self.inbox.blocking_on_desk(move |desk, _| desk.flow(id)).await else {
            return true;
        };
        let is_theirs =
            self.fence.is_none() && is_held(&now, &self.inbox.holder(), self.inbox.now());
        is_theirs || !now.is_live() || now.fence != self.flow.fence || now.position != self.position
    }

    /// Records a failure and releases the lease: finished work is kept, and another process need not wait for us. An
    /// expression that can never be computed ends the flow; after any other failure the flow can be tried again.
    async fn give_up(&mut self, error: Error) -> Result<FlowProgress> {
        if let Error::Uncomputed { why, phase, .. } = &error {
            self.end(FlowEndKind::Failed, format!("in {phase:?}: {why}"));
            self.write().await?;
            return Ok(FlowProgress::Ended(self.flow.clone()));
        }
        if !matches!(error, Error::Stopped { .. }) {
            self.pending.push(FlowStep::Stuck { why: error.why() });
        }
        match self.release_lease().await {
            // The flow was cancelled meanwhile: that is how it ended.
            Err(late) if is_too_late(&late) => Err(late),
            _ => Err(error),
        }
    }

    /// Awaits a slow future and extends the lease meanwhile.
    async fn with_lease_renewal<T>(&mut self, work: impl Future<Output = T>) -> Result<T> {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(WORD_EVERY, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) => {
                    let until = self.inbox.lease();
                    self.pending.push(FlowStep::Keep { until });
                    self.write().await?;
                }
            }
        }
    }

    fn push(&mut self, step: FlowStep, event: &FlowLogEvent) {
        let at = self.inbox.now();
        let before = self.flow.clone();
        self.flow = flow::apply(Some(before.clone()), event, at).unwrap_or(before);
        self.pending.push(step);
    }

    /// Makes sure that we hold the lease.
    async fn ensure_lease(&mut self) -> Result<()> {
        if self.fence.is_some() && self.pending.is_empty() { Ok(()) } else { self.write().await }
    }

    async fn release_lease(&mut self) -> Result<()> {
        if self.fence.is_none() && self.pending.is_empty() {
            return Ok(());
        }
        self.pending.push(FlowStep::Release);
        self.write().await
    }

    /// Commits the pending steps.
    async fn write(&mut self) -> Result<()> {
        let mut steps = std::mem::take(&mut self.pending);
        if steps.is_empty() && !self.flow.is_live() {
            return Ok(());
        }
        let Err(error) = self.go_on(steps.clone()).await else { return Ok(()) };
        let asks = steps.iter().position(|step| matches!(step, FlowStep::Ask { .. }));
        let (first, asking) = match (asks, error) {
            (Some(first), Error::Desk(refused)) => (first, self.asking(refused)),
            (_, error) => return Err(error),
        };
        // A refused question does not undo the steps before it.
        if first > 0 && !self.is_overtaken(&asking).await {
            steps.truncate(first);
            self.go_on(steps).await?;
        }
        Err(asking)
    }

    /// Builds the error for a refused question of this phase.
    fn asking(&self, error: sayso_engine::Error) -> Error {
        let (flow, phase) = (self.flow.started.handle.clone(), self.flow.phase.clone());
        Error::Asking { flow, phase, error: Box::new(error) }
    }

    async fn go_on(&mut self, steps: Vec<FlowStep>) -> Result<()> {
        let (id, position) = (self.flow.started.id, self.position);
        let go_on = AdvanceRequest { claim: self.claim(), position, steps };
        let written = self
            .inbox
            .blocking_on_desk(move |desk, actor| desk.go_on(actor, id, go_on.clone()))
            .await?;
        (self.position, self.fence) =
            (written.position, written.hold.as_ref().map(|_| written.fence));
        self.flow = written;
        Ok(())
    }

    fn claim(&self) -> LeaseClaim {
        if let Some(fence) = self.fence {
            return LeaseClaim::Held(fence);
        }
        self.inbox.claim(Some(&self.flow))
    }
}

/// Describes the panic or cancellation of an item.
fn describe_join_error(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was stopped".into() };
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("it panicked: {}", text.unwrap_or_else(|| "without words".into()))
}

/// Returns the state, if it differs.
fn changed(flow: &Flow, state: Option<Value>) -> Option<Value> {
    state.filter(|state| *state != flow.state)
}

/// Splits off an error that can never be computed. In that case the flow ends, and the steps before it are recorded
/// with its end; any other failure may be fixed, and then it is computed anew.
fn split_uncomputable(state: Result<Option<Value>>) -> Result<(Option<Value>, Option<Error>)> {
    match state {
        Ok(state) => Ok((state, None)),
        Err(wrong @ Error::Uncomputed { .. }) => Ok((None, Some(wrong))),
        Err(error) => Err(error),
    }
}
