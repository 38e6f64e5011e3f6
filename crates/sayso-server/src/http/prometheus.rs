//! `GET /metrics`: the figures of a space and of this process, in the text format of Prometheus. Only for callers who
//! may read the space, on loopback, too: the number of questions and the response times are not for all.

use super::health::blocking;
use super::problem::ErrorResponse;
use super::process_metrics::STEPS_MS;
use super::state::{AppState, RequestCredential, SpaceState};
use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sayso_core::{Actor, Code, GateKind, Refusal};
use sayso_engine::{BacklogCounts, GateCounters, Result, STEPS_SECS, check_space_name};
use serde::Deserialize;
use std::fmt::{Display, Write};
use std::sync::{Arc, PoisonError};

/// The content type of the format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The outcomes of a gate.
const OUTCOMES: [&str; 6] =
    ["approved", "answered", "rejected", "expired", "withdrawn", "superseded"];

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new().route("/metrics", get(scrape))
}

/// The space to read; the one the server was started for, unless given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScrapeQuery {
    space: Option<String>,
}

async fn scrape(
    State(hall): State<Arc<AppState>>,
    uri: Uri,
    headers: HeaderMap,
) -> std::result::Result<Response, ErrorResponse> {
    let Query(ScrapeQuery { space }) = Query::try_from_uri(&uri).map_err(|_| {
        Refusal::new(Code::BadValue, "the query cannot be read").hint("write: /metrics?space=NAME")
    })?;
    let secret = RequestCredential::of_program(&headers);
    let text = blocking(move || {
        let space = space.unwrap_or_else(|| hall.desk().space_name().to_owned());
        check_space_name(&space)?;
        let (room, caller) = hall.authenticate(&space, secret.as_ref())?;
        figures(&hall, &room, &space, &caller.actor)
    });
    Ok(([(CONTENT_TYPE, TEXT)], text.await?).into_response())
}

fn figures(hall: &AppState, room: &SpaceState, space: &str, actor: &Actor) -> Result<String> {
    let waiting = room.desk.count_waiting(actor)?;
    let tally = {
        let mut tally = room.tally.lock().unwrap_or_else(PoisonError::into_inner);
        room.desk.count_ended(actor, &mut tally)?;
        tally.clone()
    };
    let mut page = PrometheusText(String::new());
    page.gates(space, &waiting, room.desk.now().as_micros());
    page.ended(space, &tally);
    page.notices(space, &waiting);
    page.about("sayso_held", "gauge", "Requests of the space held open at this server.");
    page.line("sayso_held", &[("space", space)], room.waits.count());
    page.process(hall);
    Ok(page.0)
}

/// The text of the response, which grows by the line.
struct PrometheusText(String);

impl PrometheusText {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{}}} {value}", labels.join(","))
        };
    }

    /// Writes a histogram. `steps` are the bounds in seconds, and the count in each of them alone.
    fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        steps: impl Iterator<Item = (f64, u64)>,
        (count, sum): (u64, f64),
    ) {
        let mut so_far = 0;
        let bucket = |page: &mut Self, bound: &str, value: u64| {
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
            page.line(&format!("{name}_bucket"), &labels, value);
        };
        for (bound, in_it) in steps {
            so_far += in_it;
            bucket(self, &bound.to_string(), so_far);
        }
        bucket(self, "+Inf", count);
        self.line(&format!("{name}_sum"), labels, sum);
        self.line(&format!("{name}_count"), labels, count);
    }

    fn gates(&mut self, space: &str, waiting: &BacklogCounts, now: i64) {
        let of = |kind: &str| waiting.gates.iter().find(|gates| gates.kind == kind);
        self.about("sayso_gates_open", "gauge", "Questions that wait for a person.");
        for kind in GateKind::ALL.map(GateKind::as_str) {
            let count = of(kind).map_or(0, |gates| gates.count);
            self.line("sayso_gates_open", &[("space", space), ("kind", kind)], count);
        }
        let name = "sayso_gates_oldest_seconds";
        self.about(name, "gauge", "For how long the oldest of them waits.");
        for kind in GateKind::ALL.map(GateKind::as_str) {
            let micros = of(kind).map_or(0, |gates| now.saturating_sub(gates.oldest.as_micros()));
            let age = micros.max(0) as f64 / 1e6;
            self.line(name, &[("space", space), ("kind", kind)], age);
        }
    }

    fn ended(&mut self, space: &str, tally: &GateCounters) {
        let name = "sayso_gates_ended_total";
        self.about(name, "counter", "Questions that ended, ever, and how.");
        for kind in GateKind::ALL.map(GateKind::as_str) {
            for outcome in OUTCOMES {
                let count = tally.ended.get(&(kind, outcome)).copied().unwrap_or(0);
                let labels = [("space", space), ("kind", kind), ("outcome", outcome)];
                self.line(name, &labels, count);
            }
        }
        let name = "sayso_answer_seconds";
        self.about(name, "histogram", "How long people took to answer.");
        let steps = STEPS_SECS.iter().zip(tally.steps).map(|(secs, count)| (*secs as f64, count));
        let sum = tally.took_micros as f64 / 1e6;
        self.histogram(name, &[("space", space)], steps, (tally.answered, sum));
    }

    fn notices(&mut self, space: &str, waiting: &BacklogCounts) {
        self.about("sayso_notices_pending", "gauge", "Notices to people that are not sent yet.");
        for notices in &waiting.notices {
            let labels = [("space", space), ("channel", notices.channel.as_str())];
            self.line("sayso_notices_pending", &labels, notices.pending);
        }
        self.about("sayso_notices_failing", "gauge", "Those of them that were tried in vain.");
        for notices in &waiting.notices {
            let labels = [("space", space), ("channel", notices.channel.as_str())];
            self.line("sayso_notices_failing", &labels, notices.failing);
        }
    }

    fn process(&mut self, hall: &AppState) {
        let help =
            "Held requests of which this process keeps nothing but the socket and their bytes.";
        self.about("sayso_parked", "gauge", help);
        self.line("sayso_parked", &[], hall.meter().parked());
        let routes = hall.meter().read();
        let name = "sayso_http_requests_total";
        self.about(name, "counter", "Requests this process has served.");
        for ((method, route), served) in &routes {
            for (status, count) in &served.by_status {
                let status = status.to_string();
                let labels = [("method", *method), ("route", route), ("status", &status)];
                self.line(name, &labels, count);
            }
        }
        let name = "sayso_http_request_seconds";
        self.about(name, "histogram", "How long they took. Some are held until something happens.");
        for ((method, route), served) in &routes {
            let steps = STEPS_MS.iter().zip(served.steps);
            let steps = steps.map(|(ms, count)| (*ms as f64 / 1e3, count));
            let labels = [("method", *method), ("route", route)];
            self.histogram(name, &labels, steps, (served.count, served.took.as_secs_f64()));
        }
        self.about("process_start_time_seconds", "gauge", "When this process was started.");
        self.line("process_start_time_seconds", &[], hall.meter().started_at());
        self.about("sayso_build_info", "gauge", "Which sayso this is.");
        self.line("sayso_build_info", &[("version", hall.version())], 1);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_and_labels_cannot_break_out() {
        let mut page = PrometheusText(String::new());
        page.histogram("t", &[("a", "x\"\n\\")], [(0.5, 2), (5.0, 1)].into_iter(), (4, 7.5));
        let expected = "t_bucket{a=\"x\\\"\\n\\\\\",le=\"0.5\"} 2\n\
                        t_bucket{a=\"x\\\"\\n\\\\\",le=\"5\"} 3\n\
                        t_bucket{a=\"x\\\"\\n\\\\\",le=\"+Inf\"} 4\n\
                        t_sum{a=\"x\\\"\\n\\\\\"} 7.5\n\
                        t_count{a=\"x\\\"\\n\\\\\"} 4\n";
        assert_eq!(page.0, expected);
    }
}
