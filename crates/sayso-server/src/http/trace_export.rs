//! Trace exporter: one span for each request, sent to a collector as OTLP over HTTP, in its JSON form.
//!
//! No request waits for the sending, and no failure of it matters: spans that a collector does not accept are
//! dropped, and the log says so once in a while; spans that are not sent when the process ends are lost. Written by
//! hand because it is one message; the libraries for it weigh more than the server.

use axum::http::HeaderMap;
use sayso_engine::RuntimeEnv;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most spans in the queue; more are dropped.
const QUEUE_MAX: usize = 2_048;

/// The most spans that are sent at once.
const BATCH_MAX: usize = 256;

/// The time for which the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);

/// The time limit for a request to the collector.
const SEND: Duration = Duration::from_secs(5);

/// The least time between two log lines about lost spans.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// The collector that spans are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCollector {
    /// The whole address, such as `http://127.0.0.1:4318/v1/traces`.
    pub url: String,
    /// Further headers for the collector, such as a key.
    pub headers: Vec<(String, String)>,
    /// The name of this service there.
    pub service: String,
}

/// The parent of a request's span, from the `traceparent` of W3C Trace Context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceParent {
    /// The trace id: 32 hexadecimal digits.
    pub(super) trace: String,
    span: String,
    is_sampled: bool,
}

impl TraceParent {
    /// Reads the parent from the headers. An unreadable one is as good as none: then the trace begins here.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::read(headers.get("traceparent")?.to_str().ok()?)
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, digits: usize| {
            let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            part.len() == digits && part.bytes().all(is_lower)
        };
        let is_whole = is_hex(version, 2)
            && is_hex(trace, 32)
            && is_hex(span, 16)
            && is_hex(flags, 2)
            && version != "ff"
            // Later versions may have more parts; this one has none.
            && (version != "00" || parts.next().is_none());
        let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
        if !is_whole || is_zero(trace) || is_zero(span) {
            return None;
        }
        let is_sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(Self { trace: trace.into(), span: span.into(), is_sampled })
    }
}

/// One request, as it is exported.
pub(super) struct RequestSpan {
    pub(super) id: u64,
    pub(super) parent: Option<TraceParent>,
    pub(super) method: &'static str,
    pub(super) route: String,
    pub(super) status: u16,
    pub(super) actor: String,
    pub(super) gate: Option<String>,
    pub(super) began_at: SystemTime,
    pub(super) took: Duration,
}

/// The exporter: queues spans, and sends them in the background.
pub(super) struct TraceExporter {
    queue: SyncSender<RequestSpan>,
}

impl TraceExporter {
    pub(super) fn start(to: TraceCollector, version: &'static str) -> Self {
        let (queue, spans) = sync_channel(QUEUE_MAX);
        std::thread::spawn(move || SpanSender::new(to, version).run(&spans));
        Self { queue }
    }

    /// Queues a span. The caller who began the trace decides whether it is sampled.
    pub(super) fn send(&self, span: RequestSpan) {
        if span.parent.as_ref().is_none_or(|parent| parent.is_sampled) {
            let _ = self.queue.try_send(span);
        }
    }
}

struct SpanSender {
    agent: ureq::Agent,
    to: TraceCollector,
    version: &'static str,
    said_at: Option<Instant>,
}

impl SpanSender {
    fn new(to: TraceCollector, version: &'static str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(SEND))
            .build();
        Self { agent: config.new_agent(), to, version, said_at: None }
    }

    fn run(mut self, spans: &Receiver<RequestSpan>) {
        while let Ok(first) = spans.recv() {
            let mut batch = vec![told(&first)];
            let until = Instant::now() + GATHER;
            while batch.len() < BATCH_MAX {
                match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(span) => batch.push(told(&span)),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            self.post(&batch);
        }
    }

    fn post(&mut self, batch: &[Value]) {
        let service = attribute("service.name", &self.to.service);
        let version = attribute("service.version", self.version);
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [service, version]},
            "scopeSpans": [{"scope": {"name": "sayso", "version": self.version}, "spans": batch}],
        }]});
        let mut request = self.agent.post(&self.to.url).content_type("application/json");
        for (name, value) in &self.to.headers {
            request = request.header(name, value);
        }
        let why = match request.send(body.to_string()) {
            Ok(answer) if answer.status().is_success() => return,
            Ok(answer) => format!("it answered {}", answer.status().as_u16()),
            // Not the library's words: the address may hold a key.
            Err(ureq::Error::Timeout(_)) => "no answer in time".into(),
            Err(_) => "no connection".into(),
        };
        if self.said_at.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            self.said_at = Some(Instant::now());
            tracing::warn!(why, spans = batch.len(), "the collector of traces did not take spans");
        }
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Converts a span, in the names of the semantic conventions for HTTP.
fn told(span: &RequestSpan) -> Value {
    let RequestSpan { id, parent, method, route, status, actor, gate, began_at, took } = span;
    let since = began_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let trace = match parent {
        Some(parent) => parent.trace.clone(),
        None => format!("{:032x}", RuntimeEnv::real().random_u128().max(1)),
    };
    let mut attributes = vec![
        attribute("http.request.method", method),
        attribute("http.route", route),
        json!({"key": "http.response.status_code", "value": {"intValue": status.to_string()}}),
        attribute("sayso.actor", actor),
    ];
    attributes.extend(gate.as_deref().map(|gate| attribute("sayso.gate", gate)));
    json!({
        "traceId": trace,
        "spanId": format!("{id:016x}"),
        "parentSpanId": parent.as_ref().map_or("", |parent| parent.span.as_str()),
        "name": format!("{method} {route}"),
        // The kind of a server's span.
        "kind": 2,
        "startTimeUnixNano": since.as_nanos().to_string(),
        "endTimeUnixNano": (since + *took).as_nanos().to_string(),
        "attributes": attributes,
        // An error is the server's own; a mistake of the caller is none.
        "status": {"code": if *status >= 500 { 2 } else { 0 }},
    })
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn which_parents_count() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let read =
            |text: String| TraceParent::read(&text).map(|parent| (parent.trace, parent.is_sampled));
        let known = |is_sampled| Some((trace.to_owned(), is_sampled));
        let zeros = |count: usize| "0".repeat(count);
        for (text, expected) in [
            (format!("00-{trace}-{span}-01"), known(true)),
            (format!("00-{trace}-{span}-00"), known(false)),
            (format!("cc-{trace}-{span}-01-more"), known(true)),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", zeros(32)), None),
            (format!("00-{trace}-{}-01", zeros(16)), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{trace}-{span}"), None),
            (format!("00-{trace}x-{span}-01"), None),
            (String::new(), None),
        ] {
            assert_eq!(read(text.clone()), expected, "{text}");
        }
    }
}
