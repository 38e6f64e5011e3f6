//! `sayso policy replay`: replays past requests against a policy.

use super::files::{self, PolicySource};
use super::wire::{PolicyReplayReport, ReplayExampleJson, RulingChangeJson};
use crate::card;
use crate::commands::diagnostics::count;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, CommandExit, GateId, Timestamp};
use sayso_engine::{Desk, RequestLogEntry};
use sayso_policy::PolicyLayer;
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The page size for records.
const PAGE: usize = 500;

/// Show what a policy would have changed, over what was really asked.
///
/// Puts every recorded request before the policy in force and before the one given, and shows which
/// gates would open, which would not, and which would ask otherwise, with examples. Each file takes the
/// place of its layer; the other layers stay as they are. Nothing is changed.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sayso policy replay policy.yaml --since 30d")]
pub(crate) struct PolicyReplayArgs {
    /// Policy files; `-` for standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PolicySource>,
    /// The files are the policy of this agent, not of the space.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Look at requests from this moment on: 30d, 2026-11-01.
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: String,
    /// Show this many examples of each sort of change.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    examples: usize,
}

pub(crate) fn run(args: PolicyReplayArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let usual = args.agent.map_or(PolicyLayer::Space, PolicyLayer::Agent);
    let texts = files::read(context, &args.files, &usual)?;
    let (desk, actor) = context.open_read_only()?;
    let since = time::past(&args.since, desk.now())?;
    let (now, new) = (desk.policies()?, files::as_if_set(&desk, texts)?);
    let records = RecordReader::since(&desk, &actor, since);
    let requests = records.iter().map(|RequestLogEntry { id, request, .. }| {
        sayso_policy::RecordedRequest { name: id, request }
    });
    let replay = new.replay(&now, requests, args.examples);
    records.end()?;
    let mut replayed = PolicyReplayReport::of(time::rfc3339(since), replay);
    let examples = replayed.changes.iter_mut().flat_map(|change| &mut change.examples);
    examples.for_each(|example| name(&desk, example));
    if context.out.json {
        context.out.json(&replayed)
    } else {
        print(context.out, &replayed, since)
    }
    Ok(CommandExit::Ok)
}

/// Replaces the id of a gate by its handle.
fn name(desk: &Desk, example: &mut ReplayExampleJson) {
    let gate = example.name.parse::<GateId>().ok().and_then(|id| desk.gate(id).ok());
    if let Some(gate) = gate {
        example.name = gate.handle().to_owned();
    }
}

fn print(out: &CliOutput, replayed: &PolicyReplayReport, since: Timestamp) {
    let looked = count(usize::try_from(replayed.looked).unwrap_or(usize::MAX), "request");
    let (since, changed) = (time::local(since), replayed.changed);
    out.line(&format!("{looked} since {since}, {changed} would be decided otherwise"));
    for change in replayed.changes.iter().filter(|change| !change.is_none()) {
        out.line("");
        out.line(&head(out, change));
        for ReplayExampleJson { name, request, before, after } in &change.examples {
            let request = shorten(&sanitize_line(request), out.width().saturating_sub(12));
            out.line(&format!("  {}  {request}", out.paint(OutputStyle::Name, &short(name))));
            let rules = |rules: &[String]| {
                if rules.is_empty() {
                    "no policy".to_owned()
                } else {
                    sanitize_line(&rules.join(", "))
                }
            };
            let arrow = out.icon("→", "->");
            let why = format!("{} {arrow} {}", rules(before), rules(after));
            for line in card::indented(out, &why, "    ") {
                out.line(&out.paint(OutputStyle::Faint, &line));
            }
        }
    }
}

/// A short name for a request without a gate: its time, with which its id begins.
fn short(name: &str) -> String {
    match name.split_once('/').and_then(|(at, _)| at.parse().ok()) {
        Some(micros) => time::local(Timestamp::from_micros(micros)),
        None => sanitize_line(name),
    }
}

fn head(out: &CliOutput, change: &RulingChangeJson) -> String {
    let RulingChangeJson { before, after, count, .. } = change;
    let (look, meaning) = match (before.as_str(), after.as_str()) {
        ("ask", "ask") => (OutputStyle::Warn, "would be asked otherwise"),
        (_, "ask") => (OutputStyle::Warn, "gates would open"),
        ("ask", "allow") => (OutputStyle::Good, "gates would not be there"),
        (_, "allow") => (OutputStyle::Good, "would go through"),
        (_, _) => (OutputStyle::Bad, "would be refused"),
    };
    let arrow = out.icon("→", "->");
    format!("{} {count} {meaning}", out.paint(look, &format!("{before} {arrow} {after}:")))
}

/// Recorded requests, read a page at a time, with a progress message in a long read.
pub(super) struct RecordReader<'a> {
    desk: &'a Desk,
    actor: &'a Actor,
    since: Timestamp,
    failure: RefCell<Option<sayso_engine::Error>>,
    began: Instant,
}

impl<'a> RecordReader<'a> {
    pub(super) fn since(desk: &'a Desk, actor: &'a Actor, since: Timestamp) -> Self {
        Self { desk, actor, since, failure: RefCell::new(None), began: Instant::now() }
    }

    /// All of them, oldest first. A failure ends the iterator, and is returned by [`RecordReader::end`].
    pub(super) fn iter(&self) -> impl Iterator<Item = RequestLogEntry> {
        let (mut last, mut is_over, mut seen) = (None, false, 0);
        let pages = std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            match self.desk.requests(self.actor, self.since, last.as_ref(), PAGE) {
                Ok(page) => {
                    is_over = !page.more || page.items.is_empty();
                    last = page.items.last().cloned();
                    seen += page.items.len();
                    self.show(&format!("\rreading… {seen} requests"));
                    Some(page.items)
                }
                Err(error) => {
                    *self.failure.borrow_mut() = Some(error);
                    None
                }
            }
        });
        pages.flatten()
    }

    /// Ends the reading, and returns its failure, if there was one.
    pub(super) fn end(self) -> Result<()> {
        self.show("\r\x1b[K");
        self.failure.into_inner().map_or(Ok(()), |error| Err(error.into()))
    }

    fn show(&self, text: &str) {
        let is_long = self.began.elapsed() > Duration::from_secs(1);
        if is_long && std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "{text}");
        }
    }
}
