//! The log of a server, on standard error: one line for each request, and errors. Only sayso's own messages: other
//! libraries may quote data that was sent to them.

use sayso_core::Code;
use std::io::stderr;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::exit::{Failure, Result};

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people to read.
    Plain,
    /// One JSON object for each line.
    Json,
}

/// Starts the log. Without a chosen format, warnings and errors are printed.
pub(crate) fn start(form: Option<LogFormat>, level: Option<&str>) -> Result<()> {
    let level = match (level.filter(|level| !level.is_empty()), form) {
        (Some(typed), _) => level_of(typed)?,
        (None, Some(_)) => LevelFilter::INFO,
        (None, None) => LevelFilter::WARN,
    };
    let ours = Targets::new().with_target("sayso", level);
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
    let layer = layer.with_target(false);
    let started = match form.unwrap_or(LogFormat::Plain) {
        LogFormat::Plain => tracing_subscriber::registry().with(layer.with_filter(ours)).try_init(),
        LogFormat::Json => {
            let layer = layer.json().flatten_event(true).with_current_span(false);
            let layer = layer.with_span_list(false).with_filter(ours);
            tracing_subscriber::registry().with(layer).try_init()
        }
    };
    started.map_err(|e| Failure::new(Code::Failure, format!("the log cannot be written: {e}")))
}

fn level_of(typed: &str) -> Result<LevelFilter> {
    match typed {
        "off" => Ok(LevelFilter::OFF),
        "error" => Ok(LevelFilter::ERROR),
        "warn" => Ok(LevelFilter::WARN),
        "info" => Ok(LevelFilter::INFO),
        "debug" => Ok(LevelFilter::DEBUG),
        _ => Err(Failure::new(Code::BadValue, format!("there is no level of the log {typed:?}"))
            .hint("SAYSO_LOG is off, error, warn, info or debug")),
    }
}
