//! The inbox: a space, and the name under which a program asks there.
//!
//! A program asks under a *key* of its own (an idempotency key). The key names the question, or the flow: when the
//! program is killed and started again, the same key finds the same one.

use crate::executor::{FlowProgress, advance};
use crate::handler::HumanInput;
use crate::plan::ExecutionPlan;
use crate::{Error, FlowState, Result, Workflow, WorkflowEventStream};
use sayso_core::flow::{self, FlowEndKind, FlowPlace, LeaseClaim};
use sayso_core::gate::{Card, Gate};
use sayso_core::run::LeaseHolder;
use sayso_core::{
    Actor, Answer, AnswerShape, ChoiceOption, Digest, EntryPoint, FlowId, GateId, GateKind,
    IdentityProof, Role, TaskId, Timestamp, Verdict,
};
use sayso_engine::{
    Desk, GateWaiters, NewFlow, NewGate, ReadyFilter, RuntimeEnv, StoreLocation, WaitOutcome,
    WaitSubscription, is_held, worker,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The lease of a flow.
const LEASE: Duration = Duration::from_secs(30);

/// The page size for reading ready flows.
const READY_AT_A_TIME: usize = 100;

/// A space, and the name under which this program asks. Clones share it.
#[derive(Clone)]
pub struct Inbox {
    desk: Desk,
    asker: Actor,
    holder: LeaseHolder,
    /// The place at which the commands of flows run, and the permission to take flows over from another place.
    place: Option<FlowPlace>,
    adopts: bool,
    waits: Arc<Mutex<Option<GateWaiters>>>,
}

impl Inbox {
    /// Opens a space in a SQLite file, as `sayso init` makes it.
    pub fn open(file: impl AsRef<Path>, space: &str, program: &str) -> Result<Self> {
        Self::at(StoreLocation::Sqlite(file.as_ref().to_owned()), space, program)
    }

    /// Opens a space in a PostgreSQL database.
    pub fn open_postgres(url: &str, space: &str, program: &str) -> Result<Self> {
        Self::at(StoreLocation::Postgres(url.into()), space, program)
    }

    /// Creates a space of its own in memory that ends with the program, for tests.
    pub fn in_memory(program: &str) -> Result<Self> {
        let maker = Actor::new(
            Role::Service,
            program,
            IdentityProof::None,
            sayso_core::AssuranceLevel::S0,
            EntryPoint::Workflow,
        );
        let (desk, _) = Desk::create(StoreLocation::Memory, "memory", &maker, RuntimeEnv::real())?;
        Ok(Self::with(desk, program))
    }

    /// Opens a space at any store location.
    pub fn at(place: StoreLocation, space: &str, program: &str) -> Result<Self> {
        Ok(Self::with(Desk::open_shared(place, space, RuntimeEnv::real())?, program))
    }

    /// Asks through a desk that is open already, local or on a server.
    pub fn with(desk: Desk, program: &str) -> Self {
        let asker = Actor::new(
            Role::Service,
            program,
            IdentityProof::None,
            desk.level(),
            EntryPoint::Workflow,
        );
        Self::with_actor(desk, asker)
    }

    /// Asks through a desk as an actor whose credential was checked.
    pub fn with_actor(desk: Desk, asker: Actor) -> Self {
        let holder = worker::holder(Path::new(""));
        Self { desk, asker, holder, place: None, adopts: false, waits: Arc::default() }
    }

    /// Sets the place at which flows through workflow files run their commands.
    #[must_use]
    pub fn at_place(self, place: FlowPlace) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Allows to take flows over from the place at which they ran before.
    #[must_use]
    pub fn adopting(self, adopts: bool) -> Self {
        Self { adopts, ..self }
    }

    /// Returns the place at which the commands of flows run.
    pub(crate) fn place(&self) -> Option<FlowPlace> {
        self.place.clone()
    }

    /// Starts a flow, or finds the one that was started under this key. The same key with another state is refused: a
    /// key means one flow of a workflow. In another workflow the same key is another flow.
    pub async fn begin<S>(
        &self,
        workflow: &Workflow<S>,
        key: &str,
        state: S,
    ) -> Result<FlowHandle<S>>
    where
        S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let new = self.new_flow(workflow, key, state)?;
        let id = new.id;
        let begun = self.blocking_on_desk(move |desk, asker| {
            or_existing_version(desk, &new, desk.start_flow(asker, new.clone()))
        });
        let handle = begun.await?.started.handle;
        Ok(FlowHandle { inbox: self.clone(), workflow: workflow.clone(), id, handle })
    }

    /// Starts a flow and runs it as far as possible: [`Inbox::begin`] and [`FlowHandle::run`], with one write less. No
    /// other process can take it in between.
    pub async fn run<S>(
        &self,
        workflow: &Workflow<S>,
        key: &str,
        state: S,
        input: impl Into<HumanInput>,
    ) -> Result<(FlowHandle<S>, FlowOutcome<S>)>
    where
        S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let new = self.new_flow(workflow, key, state)?;
        let (id, claim) = (new.id, self.claim(None));
        let led = self.blocking_on_desk(move |desk, asker| {
            let led = desk.lead_flow(asker, new.clone(), claim);
            let is_new = led.as_ref().is_ok_and(|(_, is_new)| *is_new);
            let found = or_existing_version(desk, &new, led.map(|(flow, _)| flow))?;
            Ok((found, is_new))
        });
        let (found, is_new) = led.await?;
        let handle = found.started.handle.clone();
        let flow = FlowHandle { inbox: self.clone(), workflow: workflow.clone(), id, handle };
        let outcome = flow.walk(&input.into(), is_new.then_some(found)).await?;
        Ok((flow, outcome))
    }

    fn new_flow<S>(&self, workflow: &Workflow<S>, key: &str, state: S) -> Result<NewFlow>
    where
        S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let state = serde_json::to_value(FlowState::begin(state))
            .map_err(|e| Error::Unwritten { what: "the state".into(), why: e.to_string() })?;
        Ok(NewFlow {
            id: self.flow_id(workflow.name(), key),
            workflow: workflow.name().to_owned(),
            version: workflow.inner.version().to_owned(),
            definition: None,
            title: key.to_owned(),
            task: None,
            phase: workflow.first().to_owned(),
            state,
            place: None,
        })
    }

    /// Returns the claim on a flow that is not held, or whose holder is dead.
    pub(crate) fn claim(&self, before: Option<&flow::Flow>) -> LeaseClaim {
        let holder = self.holder();
        let is_gone = |flow: &&flow::Flow| {
            flow.hold.as_ref().is_some_and(|hold| worker::is_gone(&hold.holder, &holder))
        };
        let dead = before.filter(is_gone).map(|flow| flow.fence);
        LeaseClaim::Take {
            holder,
            until: self.lease(),
            dead,
            place: self.place(),
            adopts: self.adopts,
        }
    }

    /// Returns the end of a lease that begins now.
    pub(crate) fn lease(&self) -> Timestamp {
        let micros = i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX);
        self.now().plus_micros(micros)
    }

    /// Returns a flow that was started earlier.
    pub fn flow<S>(&self, workflow: &Workflow<S>, id: FlowId) -> FlowHandle<S> {
        let handle = id.to_string();
        FlowHandle { inbox: self.clone(), workflow: workflow.clone(), id, handle }
    }

    /// Returns flows of a workflow that can continue, oldest first: their questions were answered, or their holder's
    /// lease ran out. A flow whose step failed is not among them, so that a program that polls these does not repeat
    /// it again and again: see [`Inbox::stuck`].
    pub async fn ready<S>(&self, workflow: &Workflow<S>) -> Result<Vec<FlowHandle<S>>> {
        self.free(workflow, false).await
    }

    /// Returns flows of a workflow that could not continue at the last attempt, oldest first. Running one tries its
    /// step again.
    pub async fn stuck<S>(&self, workflow: &Workflow<S>) -> Result<Vec<FlowHandle<S>>> {
        self.free(workflow, true).await
    }

    /// Returns a page of flows that are not held; held ones are skipped and do not count.
    async fn free<S>(&self, workflow: &Workflow<S>, stuck: bool) -> Result<Vec<FlowHandle<S>>> {
        let (name, mut after, mut free) = (workflow.name().to_owned(), None, vec![]);
        loop {
            let workflow = Some(name.clone());
            let filter = ReadyFilter { workflow, stuck, after, limit: READY_AT_A_TIME };
            let page = self.blocking_on_desk(move |desk, _| desk.ready_flows(&filter)).await?;
            let (now, more) = (self.now(), page.more);
            after = page.items.last().map(|flow| flow.started.id);
            free.extend(page.items.into_iter().filter(|flow| !is_held(flow, &self.holder, now)));
            if !more || after.is_none() || free.len() >= READY_AT_A_TIME {
                break;
            }
        }
        let flow = |flow: flow::Flow| FlowHandle {
            inbox: self.clone(),
            workflow: workflow.clone(),
            id: flow.started.id,
            handle: flow.started.handle,
        };
        Ok(free.into_iter().map(flow).collect())
    }

    /// Returns the events of a flow, from its beginning.
    pub fn events(&self, flow: FlowId) -> WorkflowEventStream {
        WorkflowEventStream::new(self.clone(), flow)
    }

    /// Returns the flow id of a key: always the same for the same workflow and space.
    pub fn flow_id(&self, workflow: &str, key: &str) -> FlowId {
        let name = format!("flow\n{}\n{workflow}\n{key}", self.desk.space());
        FlowId::mint(Timestamp::from_micros(0), chance(&name))
    }

    /// Runs a blocking call of the desk on a thread of its own, off the threads of the runtime.
    pub(crate) async fn blocking_on_desk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Desk, &Actor) -> sayso_engine::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (desk, asker) = (self.desk.clone(), self.asker.clone());
        let done = tokio::task::spawn_blocking(move || work(&desk, &asker)).await;
        match done {
            Ok(outcome) => Ok(outcome?),
            Err(error) => Err(Error::Handler { by: "the desk".into(), why: error.to_string() }),
        }
    }

    /// Returns a future that ends when a gate changes. Subscribe first, look second.
    pub(crate) async fn gate_changed(&self, gate: GateId) -> Result<WakeFuture> {
        let (wake, woken) = oneshot::channel();
        let ring = move || wake.send(()).unwrap_or_default();
        let listening = self.waits().await?.listen(gate, ring);
        Ok(WakeFuture { woken, _listening: listening })
    }

    /// Returns a future that ends at the next change in the space.
    pub(crate) async fn space_changed(&self) -> Result<WakeFuture> {
        let (wake, woken) = oneshot::channel();
        let ring = move || wake.send(()).unwrap_or_default();
        let listening = self.waits().await?.listen_to_all(ring);
        Ok(WakeFuture { woken, _listening: listening })
    }

    async fn waits(&self) -> Result<GateWaiters> {
        let before = self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waits) = before {
            return Ok(waits);
        }
        let waits = self.blocking_on_desk(|desk, _| GateWaiters::start(desk.clone())).await?;
        let mut shared = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(shared.get_or_insert(waits).clone())
    }

    pub(crate) fn holder(&self) -> LeaseHolder {
        self.holder.clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.desk.now()
    }

    /// Asks, or finds the question that was asked under this key before. The same key with another question is
    /// refused: a key means one question.
    pub fn ask(&self, key: &str, question: InboxQuestion) -> Result<PendingQuestion<'_>> {
        let card = Card {
            question: question.text,
            narrative: question.context,
            facts: vec![],
            shape: question.shape,
        };
        let ask = NewGate::new(self.id_of(key), question.kind, question.task, card);
        let gate = self.desk.ask(&self.asker, ask)?;
        Ok(PendingQuestion { inbox: self, gate })
    }

    /// Returns the gate id of a key: always the same for the same program and space.
    fn id_of(&self, key: &str) -> GateId {
        derived(&format!("{}\n{}\n{key}", self.desk.space(), self.asker.name))
    }
}

/// Returns the flow that was just started or, where one with another version of the workflow exists under its id,
/// that one: the version check follows when it is run.
fn or_existing_version(
    desk: &Desk,
    new: &NewFlow,
    begun: sayso_engine::Result<flow::Flow>,
) -> sayso_engine::Result<flow::Flow> {
    begun.or_else(|error| match desk.flow(new.id) {
        Ok(flow) if flow.started.version != new.version => Ok(flow),
        _ => Err(error),
    })
}

/// Derives an id from a name, always the same. Its time only orders ids; a derived id belongs to no moment.
pub(crate) fn derived(name: &str) -> GateId {
    GateId::mint(Timestamp::from_micros(0), chance(name))
}

fn chance(name: &str) -> u128 {
    let digest = Digest::of_bytes(name.as_bytes());
    u128::from_str_radix(&digest.as_str()[..20], 16).unwrap_or_default()
}

/// A future that ends at the next wake-up.
pub(crate) struct WakeFuture {
    woken: oneshot::Receiver<()>,
    _listening: WaitSubscription,
}

impl Future for WakeFuture {
    type Output = ();
    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        std::pin::Pin::new(&mut self.woken).poll(cx).map(drop)
    }
}

/// One durable execution of a workflow.
pub struct FlowHandle<S> {
    inbox: Inbox,
    workflow: Workflow<S>,
    id: FlowId,
    handle: String,
}

/// The state in which a run of a flow ended.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "it is looked at once, by whoever ran the flow")]
#[non_exhaustive]
pub enum FlowOutcome<S> {
    /// The flow is complete.
    Done(FlowState<S>),
    /// A person said no, and the workflow has no branch for that.
    Rejected(String),
    /// A failure that the workflow has no branch for.
    Failed(String),
    /// The flow was cancelled.
    Cancelled(String),
    /// It waits for people: the questions in the inbox. The program may end. The list is empty where the program asks
    /// by a handler of its own and that returned [`HandlerReply::Later`](crate::HandlerReply::Later): running the flow asks again.
    Waits(Vec<OpenQuestion>),
    /// Another process runs the flow.
    Elsewhere,
}

/// A question that a flow waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The id of the gate.
    pub gate: GateId,
    /// The handle of the gate.
    pub handle: String,
    /// The text of the question.
    pub prompt: String,
}

impl<S> FlowHandle<S>
where
    S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    /// Returns the id of the flow.
    pub fn id(&self) -> FlowId {
        self.id
    }

    /// Returns the handle of the flow.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// Runs the flow as far as possible. After a crash, run it again.
    pub async fn run(&self, input: impl Into<HumanInput>) -> Result<FlowOutcome<S>> {
        self.walk(&input.into(), None).await
    }

    async fn walk(&self, input: &HumanInput, led: Option<flow::Flow>) -> Result<FlowOutcome<S>> {
        let plan: Arc<dyn ExecutionPlan> = self.workflow.inner.clone();
        match advance(&self.inbox, plan, self.id, input, led).await? {
            FlowProgress::Elsewhere => Ok(FlowOutcome::Elsewhere),
            FlowProgress::Waits(flow) => Ok(FlowOutcome::Waits(self.waiting(&flow).await?)),
            FlowProgress::Ended(flow) => {
                let note = flow.ending.as_ref().map(|e| e.note.clone()).unwrap_or_default();
                match flow.ending.as_ref().map_or(FlowEndKind::Failed, |ending| ending.how) {
                    FlowEndKind::Done => {
                        let state = flow.state.clone();
                        Ok(FlowOutcome::Done(crate::phase::read(&flow, "its state", state)?))
                    }
                    FlowEndKind::Rejected => Ok(FlowOutcome::Rejected(note)),
                    FlowEndKind::Failed => Ok(FlowOutcome::Failed(note)),
                    FlowEndKind::Cancelled => Ok(FlowOutcome::Cancelled(note)),
                }
            }
        }
    }

    /// Cancels the flow; its open gates are withdrawn.
    pub async fn cancel(&self, reason: &str) -> Result<()> {
        let (id, reason) = (self.id, reason.to_owned());
        self.inbox
            .blocking_on_desk(move |desk, asker| desk.cancel_flow(asker, id, &reason))
            .await?;
        Ok(())
    }

    /// Returns its events, from its beginning.
    pub fn events(&self) -> WorkflowEventStream {
        self.inbox.events(self.id)
    }

    async fn waiting(&self, flow: &flow::Flow) -> Result<Vec<OpenQuestion>> {
        let gates: Vec<_> = flow.waits_for().map(|(_, gate)| gate).collect();
        self.inbox
            .blocking_on_desk(move |desk, _| {
                let waiting = |id: GateId| {
                    let gate = desk.gate(id)?;
                    let (handle, prompt) = (gate.handle().to_owned(), gate.card.question);
                    Ok(OpenQuestion { gate: id, handle, prompt })
                };
                gates.into_iter().map(waiting).collect()
            })
            .await
    }
}

/// A question that is asked outside of a flow.
#[derive(Debug, Clone)]
pub struct InboxQuestion {
    kind: GateKind,
    text: String,
    context: String,
    shape: AnswerShape,
    task: Option<TaskId>,
}

impl InboxQuestion {
    fn new(kind: GateKind, text: impl Into<String>, shape: AnswerShape) -> Self {
        Self { kind, text: text.into(), context: String::new(), shape, task: None }
    }

    /// Asks for yes or no.
    pub fn approval(text: impl Into<String>) -> Self {
        Self::new(GateKind::Approval, text, AnswerShape::Verdict)
    }

    /// Asks for a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(GateKind::Decision, text, AnswerShape::Text)
    }

    /// Asks to pick one of the options.
    pub fn choice<S: Into<String>>(
        text: impl Into<String>,
        options: impl IntoIterator<Item = S>,
    ) -> Self {
        let options = options.into_iter().map(ChoiceOption::named).collect();
        Self::new(
            GateKind::Decision,
            text,
            AnswerShape::Choice { options, multi: false, other: false },
        )
    }

    /// Sets further context for the person.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// Sets the task that waits for the answer.
    #[must_use]
    pub fn on_task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }
}

/// A question that was asked.
pub struct PendingQuestion<'a> {
    inbox: &'a Inbox,
    gate: Gate,
}

/// The reply to a question. A missing answer is never an empty answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionReply {
    /// A person approved, with this text.
    Approved(String),
    /// A person picked, wrote or filled in this.
    Answered(String),
    /// A person rejected, with this reason.
    Rejected(String),
    /// The question was withdrawn, expired or replaced.
    Unanswered(String),
    /// There is no answer yet; the question stays open.
    Pending,
}

impl PendingQuestion<'_> {
    /// Returns the handle of the gate.
    pub fn handle(&self) -> &str {
        self.gate.handle()
    }

    /// Waits for the answer, at most for `timeout`. The process may die meanwhile: asking again under the same key
    /// continues from here.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<QuestionReply> {
        let Inbox { desk, asker, .. } = self.inbox;
        match desk.wait(self.gate.opened.id, timeout)? {
            WaitOutcome::TimedOut(_) => Ok(QuestionReply::Pending),
            WaitOutcome::Ended(gate) => {
                desk.acknowledge(asker, gate.opened.id)?;
                Ok(reply(&gate))
            }
        }
    }
}

fn reply(gate: &Gate) -> QuestionReply {
    match gate.answer() {
        Some((answer, _)) => match answer.verdict {
            Verdict::Approved => QuestionReply::Approved(answer.as_text()),
            Verdict::Answered => QuestionReply::Answered(answer.as_text()),
            Verdict::Rejected => QuestionReply::Rejected(why(answer)),
        },
        None => QuestionReply::Unanswered(gate.state().to_owned()),
    }
}

/// Returns the reason of a no, or else the option that was picked.
fn why(answer: &Answer) -> String {
    match (&answer.reason, answer.content.is_empty()) {
        (Some(reason), _) => reason.clone(),
        (None, false) => answer.as_text(),
        (None, true) => String::new(),
    }
}
