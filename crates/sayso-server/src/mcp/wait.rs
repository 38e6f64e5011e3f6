//! Waiting for a person without a thread, and showing the question where the client has a screen (elicitation).
//!
//! A text that a client's user types into such a window comes back with the agent's credential, and could as well
//! have been made up by a program. So the window shows the question and where to answer it, and that is all it
//! does: the answer comes through an interface for people.

use super::{McpServer, at_work};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest, InputRequiredResult,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use sayso_core::gate::Gate;
use sayso_core::text::sanitize;
use sayso_core::{Code, Refusal};
use sayso_engine::Result;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The interval of progress messages to a client that waits; some give up after a minute of silence.
const PROGRESS: Duration = Duration::from_secs(10);

impl McpServer {
    /// Waits until a gate has ended, or `most` is over; then it is still open.
    pub(super) async fn wait(
        &self,
        gate: Gate,
        most: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<Gate> {
        let (id, end) = (gate.opened.id, Instant::now() + most);
        let window = self.window(&gate, context);
        let mut progress = WaitProgress::of(context, &gate);
        loop {
            let (wake, woken) = tokio::sync::oneshot::channel();
            let _listening = self.waits.listen(id, move || {
                let _ = wake.send(());
            });
            let desk = self.setup.desk.clone();
            let gate = match at_work(move || desk.gate(id)).await {
                Ok(read) => read?,
                Err(_) => return Err(Refusal::new(Code::Failure, "sayso failed").into()),
            };
            if !gate.is_open() || Instant::now() >= end {
                drop(window);
                return Ok(gate);
            }
            tokio::select! {
                _ = woken => {}
                () = tokio::time::sleep_until(end.min(Instant::now() + PROGRESS)) => progress.tell().await,
                () = context.ct.cancelled() => {
                    return Err(Refusal::new(Code::TimedOut, "the client waits no more").into());
                }
            }
        }
    }

    /// Shows the question in the window of a client that supports elicitation; closed when dropped.
    fn window(
        &self,
        gate: &Gate,
        context: &RequestContext<RoleServer>,
    ) -> Option<ElicitationWindow> {
        let is_shown = gate.is_open() && !is_stateless(context) && takes_windows(context);
        let (peer, params) = (context.peer.clone(), window(gate)?);
        is_shown.then(|| {
            ElicitationWindow(tokio::spawn(async move {
                let _ = peer.create_elicitation(params).await;
            }))
        })
    }
}

struct ElicitationWindow(tokio::task::JoinHandle<()>);

impl Drop for ElicitationWindow {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the question as an input request, for clients of the newest revision: the client shows it and calls again.
pub(super) fn shown_by_client(
    context: &RequestContext<RoleServer>,
    gate: &Gate,
) -> Option<InputRequiredResult> {
    let is_shown = is_stateless(context) && takes_windows(context);
    let request = InputRequest::Elicitation(ElicitRequest::new(window(gate)?));
    let requests = BTreeMap::from([(gate.handle().to_owned(), request)]);
    is_shown.then(|| InputRequiredResult::from_input_requests(requests))
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn takes_windows(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|able| able.elicitation.is_some())
}

/// Builds a window without fields.
fn window(gate: &Gate) -> Option<ElicitRequestParams> {
    let handle = gate.handle();
    let message = format!(
        "The agent asks: {}\n\nAnswer at a terminal of your own: sayso show {handle}\nThis window takes no \
         answer.",
        sanitize(&gate.card.question).text
    );
    let requested_schema = ElicitationSchema::builder().build().ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Sends progress messages to a client that asked for them.
struct WaitProgress<'c> {
    context: &'c RequestContext<RoleServer>,
    message: String,
    began: Instant,
}

impl<'c> WaitProgress<'c> {
    fn of(context: &'c RequestContext<RoleServer>, gate: &Gate) -> Self {
        let message = format!("gate {} waits for a person", gate.handle());
        Self { context, message, began: Instant::now() }
    }

    async fn tell(&mut self) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let seconds = self.began.elapsed().as_secs_f64();
        let told = ProgressNotificationParam::new(token, seconds).with_message(&self.message);
        let _ = self.context.peer.notify_progress(told).await;
    }
}
