//! A phase of a workflow in Rust: an agent may work, a person may be asked, and it leads to the next phase or ends.

use crate::{AnswerRecord, Error, FlowState, HumanQuestion, Result, WorkflowDiagnostic};
use sayso_core::flow::Flow;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

type StringResult<T> = std::result::Result<T, String>;
type AgentFn<S> = Arc<
    dyn Fn(FlowState<S>, u32) -> Pin<Box<dyn Future<Output = StringResult<Value>> + Send>>
        + Send
        + Sync,
>;
type ItemCountFn<S> = Arc<dyn Fn(&S) -> usize + Send + Sync>;
type KeepFn<S> = Arc<dyn Fn(&mut S, &PhaseOutputs) -> Result<()> + Send + Sync>;
type AskFn<S> =
    Arc<dyn Fn(&FlowState<S>, &PhaseOutputs) -> Result<Vec<(u32, HumanQuestion)>> + Send + Sync>;
type HearFn<S> = Arc<dyn Fn(&mut S, &AnswerRecord) + Send + Sync>;
type RouteFn<S> = Arc<dyn Fn(&FlowState<S>, &PhaseOutputs) -> Result<String> + Send + Sync>;

/// One phase of a workflow over a state `S`, whose agent returns an `O`.
///
/// `O` is `()` where no agent works, and a `Vec` where it works item by item.
pub struct Phase<S, O = ()> {
    pub(crate) body: PhaseBody<S>,
    output: PhantomData<fn() -> O>,
}

/// A phase without the type of its agent's output.
pub(crate) struct PhaseBody<S> {
    pub(crate) name: String,
    pub(crate) agent: Option<AgentFn<S>>,
    /// The number of items; none where the step is done once.
    pub(crate) items: Option<ItemCountFn<S>>,
    pub(crate) at_once: usize,
    pub(crate) retries: u32,
    pub(crate) keep: Option<KeepFn<S>>,
    pub(crate) ask: Option<AskFn<S>>,
    /// True if each item has a question of its own.
    pub(crate) asks_each: bool,
    /// The question, where it is always the same.
    pub(crate) fixed: Option<HumanQuestion>,
    pub(crate) hear: Option<HearFn<S>>,
    pub(crate) next: PhaseNext<S>,
    pub(crate) on_reject: Option<String>,
    pub(crate) on_silence: Option<String>,
}

/// The targets of a phase.
pub(crate) enum PhaseNext<S> {
    Unsaid,
    /// It ends the flow.
    End,
    /// Always to this phase.
    To(String),
    /// To one of these phases.
    By(Vec<String>, RouteFn<S>),
}

impl<S> PhaseBody<S> {
    /// Returns all phases that it may lead to.
    pub(crate) fn targets(&self) -> Vec<&str> {
        let next: Vec<&str> = match &self.next {
            PhaseNext::Unsaid | PhaseNext::End => vec![],
            PhaseNext::To(name) => vec![name],
            PhaseNext::By(names, _) => names.iter().map(String::as_str).collect(),
        };
        let others = [&self.on_reject, &self.on_silence].into_iter().flatten();
        next.into_iter().chain(others.map(String::as_str)).collect()
    }

    pub(crate) fn mistakes(&self) -> Vec<WorkflowDiagnostic> {
        let mut mistakes = vec![];
        let name = self.name.clone();
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            mistakes.push(WorkflowDiagnostic::BadName(name.clone()));
        }
        if self.agent.is_none() && self.ask.is_none() {
            mistakes.push(WorkflowDiagnostic::Empty(name.clone()));
        }
        if self.asks_each && self.items.is_none() {
            mistakes.push(WorkflowDiagnostic::NoPieces(name.clone()));
        }
        if matches!(self.next, PhaseNext::Unsaid) {
            mistakes.push(WorkflowDiagnostic::NoWayOn(name));
        }
        mistakes.extend(self.fixed.as_ref().and_then(|human| human.mistake(&self.name)));
        mistakes
    }
}

/// The outputs of the agent's work in a phase, by item.
pub(crate) struct PhaseOutputs<'a> {
    flow: &'a Flow,
    is_many: bool,
}

impl<'a> PhaseOutputs<'a> {
    pub(crate) fn of(flow: &'a Flow, is_many: bool) -> Self {
        Self { flow, is_many }
    }

    /// Reads all outputs as the type that the phase declares.
    fn read<O: DeserializeOwned>(&self) -> Result<O> {
        let outputs = &self.flow.outputs;
        let value = if self.is_many {
            Value::Array(outputs.values().cloned().collect())
        } else {
            outputs.get(&0).cloned().unwrap_or_default()
        };
        read(self.flow, "what its agent gave", value)
    }

    fn one<O: DeserializeOwned>(&self, item: u32) -> Result<O> {
        let value = self.flow.outputs.get(&item).cloned().unwrap_or_default();
        read(self.flow, "what its agent gave", value)
    }
}

/// Deserializes a stored value. A value of another form belongs to another version.
pub(crate) fn read<T: DeserializeOwned>(flow: &Flow, what: &str, value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|e| {
        Error::lost(flow, format!("{what} has another form than this version reads: {e}"))
    })
}

impl<S> Phase<S, ()>
where
    S: Clone + Send + Sync + 'static,
{
    /// Creates a phase of this name, in which nothing happens yet.
    pub fn new(name: impl Into<String>) -> Self {
        let body = PhaseBody {
            name: name.into(),
            agent: None,
            items: None,
            at_once: 1,
            retries: 0,
            keep: None,
            ask: None,
            asks_each: false,
            fixed: None,
            hear: None,
            next: PhaseNext::Unsaid,
            on_reject: None,
            on_silence: None,
        };
        Self { body, output: PhantomData }
    }

    /// Sets the agent: any async closure. Its output is recorded, and it is not run again. If the program dies while
    /// it works, it begins anew.
    pub fn agent<O, E, Fut>(
        self,
        agent: impl Fn(FlowState<S>) -> Fut + Send + Sync + 'static,
    ) -> Phase<S, O>
    where
        O: Serialize,
        E: Display,
        Fut: Future<Output = std::result::Result<O, E>> + Send + 'static,
    {
        let agent: AgentFn<S> = Arc::new(move |state, _| {
            let work = agent(state);
            Box::pin(async move { written(work.await) })
        });
        Phase { body: PhaseBody { agent: Some(agent), ..self.body }, output: PhantomData }
    }

    /// Sets an agent that works item by item, on several items in parallel. Each output is recorded at once. The
    /// items come from the state, and must be the same when they are asked for again.
    pub fn agent_for_each<I, O, E, Fut>(
        self,
        items: impl Fn(&S) -> Vec<I> + Send + Sync + 'static,
        agent: impl Fn(FlowState<S>, I) -> Fut + Send + Sync + 'static,
    ) -> Phase<S, Vec<O>>
    where
        I: Send + 'static,
        O: Serialize,
        E: Display,
        Fut: Future<Output = std::result::Result<O, E>> + Send + 'static,
    {
        let items = Arc::new(items);
        let count: ItemCountFn<S> = {
            let items = items.clone();
            Arc::new(move |state| items(state).len())
        };
        let agent: AgentFn<S> = Arc::new(move |state, item| {
            let picked = items(&state.data).into_iter().nth(item as usize);
            let work = picked.map(|picked| agent(state, picked));
            Box::pin(async move {
                match work {
                    Some(work) => written(work.await),
                    None => Err("there are fewer pieces than there were".into()),
                }
            })
        });
        let body =
            PhaseBody { agent: Some(agent), items: Some(count), at_once: AT_ONCE, ..self.body };
        Phase { body, output: PhantomData }
    }
}

/// The default number of items in parallel.
const AT_ONCE: usize = 8;

fn written<O: Serialize, E: Display>(done: std::result::Result<O, E>) -> StringResult<Value> {
    let output = done.map_err(|e| e.to_string())?;
    serde_json::to_value(output).map_err(|e| format!("what the agent gave cannot be written: {e}"))
}

impl<S, O> Phase<S, Vec<O>> {
    /// Sets the number of items in parallel.
    #[must_use]
    pub fn at_once(mut self, pieces: usize) -> Self {
        self.body.at_once = pieces.max(1);
        self
    }

    /// Asks about each item separately, all at one time, unless the closure returns none. The flow continues when all
    /// were answered; `state.humans` has the result of each.
    #[must_use]
    pub fn human_for_each<H: Into<Option<HumanQuestion>>>(
        mut self,
        ask: impl Fn(&FlowState<S>, &O) -> H + Send + Sync + 'static,
    ) -> Self
    where
        O: DeserializeOwned,
    {
        self.body.asks_each = true;
        self.body.ask = Some(Arc::new(move |state, outputs| {
            let mut asks = vec![];
            for item in outputs.flow.outputs.keys() {
                let human: Option<HumanQuestion> = ask(state, &outputs.one(*item)?).into();
                asks.extend(human.map(|human| (*item, human)));
            }
            Ok(asks)
        }));
        self
    }
}

impl<S, O> Phase<S, O>
where
    O: DeserializeOwned,
{
    /// Sets the number of retries of a failed agent. After that the flow stays where it is, and running it again
    /// tries again; [`Inbox::ready`](crate::Inbox::ready) leaves it out. Where the agent works item by item, the
    /// items in progress are finished first, and their outputs are kept.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.body.retries = times;
        self
    }

    /// Sets the closure that puts the agent's output into the state.
    #[must_use]
    pub fn keep(mut self, keep: impl Fn(&mut S, &O) + Send + Sync + 'static) -> Self {
        self.body.keep = Some(Arc::new(move |state, outputs| {
            keep(state, &outputs.read()?);
            Ok(())
        }));
        self
    }

    /// Asks a person, always.
    #[must_use]
    pub fn human(mut self, human: HumanQuestion) -> Self {
        self.body.fixed = Some(human.clone());
        self.body.asks_each = false;
        self.body.ask = Some(Arc::new(move |_, _| Ok(vec![(0, human.clone())])));
        self
    }

    /// Asks a person the question that the closure returns, unless it returns none.
    #[must_use]
    pub fn human_if<H: Into<Option<HumanQuestion>>>(
        mut self,
        ask: impl Fn(&FlowState<S>, &O) -> H + Send + Sync + 'static,
    ) -> Self {
        self.body.asks_each = false;
        self.body.ask = Some(Arc::new(move |state, outputs| {
            let human: Option<HumanQuestion> = ask(state, &outputs.read()?).into();
            Ok(human.into_iter().map(|human| (0, human)).collect())
        }));
        self
    }

    /// Sets the closure that puts a person's answer into the state. `state.human` and `state.approved` have it
    /// anyway, until the next phase that asks. If that one asks no question after all, there is no answer and no
    /// approval there.
    #[must_use]
    pub fn hear(mut self, hear: impl Fn(&mut S, &AnswerRecord) + Send + Sync + 'static) -> Self {
        self.body.hear = Some(Arc::new(hear));
        self
    }

    /// Leads there, always. A no does not: it ends the flow, or leads to [`Phase::on_reject`].
    #[must_use]
    pub fn next(mut self, phase: impl Into<String>) -> Self {
        self.body.next = PhaseNext::To(phase.into());
        self
    }

    /// Leads to the one of these phases that the closure names. It sees the person's answer, a no included.
    #[must_use]
    pub fn next_by<N: Into<String>>(
        mut self,
        phases: impl IntoIterator<Item = impl Into<String>>,
        route: impl Fn(&FlowState<S>, &O) -> N + Send + Sync + 'static,
    ) -> Self {
        let route: RouteFn<S> =
            Arc::new(move |state, outputs| Ok(route(state, &outputs.read()?).into()));
        self.body.next = PhaseNext::By(phases.into_iter().map(Into::into).collect(), route);
        self
    }

    /// Sets the phase that a no leads to.
    #[must_use]
    pub fn on_reject(mut self, phase: impl Into<String>) -> Self {
        self.body.on_reject = Some(phase.into());
        self
    }

    /// Sets the phase that a question without an answer leads to.
    #[must_use]
    pub fn on_silence(mut self, phase: impl Into<String>) -> Self {
        self.body.on_silence = Some(phase.into());
        self
    }

    /// Ends the flow, after its agent has worked and its question was answered.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.body.next = PhaseNext::End;
        self
    }
}
