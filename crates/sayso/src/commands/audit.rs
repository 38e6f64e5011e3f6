//! `sayso audit`: lists, verifies and exports the audit log.

use super::shared::{ROWS, rows};
use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{audit_heads, identity, time};
use clap::Subcommand;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Code, CommandExit, audit};
use sayso_engine::{ExportError, verify_export};
use sayso_server::wire;
use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The length of an answer shown in a line.
const ANSWER_CHARS_MAX: usize = 60;

/// The audit: every change has one entry, and each entry holds the hash of the one before.
#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    verb: AuditCommand,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// The last entries, newest first.
    List {
        /// Show at most this many.
        #[arg(short = 'n', long, default_value_t = ROWS, value_name = "N", value_parser = rows)]
        limit: usize,
    },
    /// Check the chain, the log behind it and every view; names the first bad entry.
    Verify {
        /// Check an export instead, without any database.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Take the store as it is for the right one, though more was seen of it here: a backup was put back.
        #[arg(long, conflicts_with = "file")]
        accept_older: bool,
    },
    /// Write the chain as lines of JSON that can be verified anywhere.
    Export {
        /// The file to write; standard output unless given.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

pub(crate) fn run(args: AuditArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        AuditCommand::List { limit } => list(context, limit),
        AuditCommand::Verify { file: Some(path), .. } => verify_file(context, &path),
        AuditCommand::Verify { file: None, accept_older } => verify(context, accept_older),
        AuditCommand::Export { file } => export(context, file.as_deref()),
    }
}

fn list(context: &CliContext<'_>, limit: usize) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let entries = desk.audit_entries(&actor, limit)?;
    let out = context.out;
    if out.json {
        let entries: Vec<_> =
            entries.iter().map(|e| wire::AuditEntry::listed(e, &time::rfc3339)).collect();
        out.json(&entries);
        return Ok(CommandExit::Ok);
    }
    for entry in &entries {
        let refused = entry.outcome == audit::AuditOutcome::Refused;
        let action = card::pad(&entry.action, 20);
        let action = if refused { out.paint(OutputStyle::Bad, &action) } else { action };
        let who = format!("{} {}", entry.role.as_str(), sanitize_line(&entry.actor));
        let why = match entry.reason.as_str() {
            "" => String::new(),
            reason => format!("  {}", sanitize_line(reason)),
        };
        let answer =
            entry.answer.as_deref().map(|text| shorten(&sanitize_line(text), ANSWER_CHARS_MAX));
        let answer = answer.map_or_else(String::new, |text| format!("  said {text:?}"));
        let at = out.paint(OutputStyle::Faint, &time::local(entry.at));
        let object = out.paint(OutputStyle::Name, &card::pad(&sanitize_line(&entry.object), 8));
        out.line(&format!("{:>6}  {at}  {action} {object} {who}{answer}{why}", entry.seq));
        if !entry.also.is_empty() {
            let also = sanitize_line(&entry.also.join(", "));
            out.line(&out.paint(OutputStyle::Faint, &format!("        with it: {also}")));
        }
    }
    Ok(CommandExit::Ok)
}

fn verify(context: &CliContext<'_>, accepts_older: bool) -> Result<CommandExit> {
    // Opened for reading, so no timers fire: a wrong clock is no reason not to verify.
    let desk = context.desk_read_only()?;
    let actor = identity::actor(&desk)?;
    let progress = CheckProgress::new();
    let report = desk.verify_audit(&actor, |rows| progress.show(rows))?;
    progress.end();
    if accepts_older {
        audit_heads::accept(&desk, &actor)?
    } else {
        audit_heads::check(&desk, &actor)?
    }
    let out = context.out;
    if out.json {
        let (events, views) = (Some(report.events), Some(report.views));
        out.json(&wire::AuditVerification { holds: true, entries: report.entries, events, views });
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    let (entries, events, views) = (report.entries, report.events, report.views);
    out.line(&format!("{tick} {entries} entries hold, {events} events are covered, {views} rows are what their events made them"));
    Ok(CommandExit::Ok)
}

fn verify_file(context: &CliContext<'_>, path: &Path) -> Result<CommandExit> {
    let file = File::open(path)
        .map_err(|e| Failure::new(Code::NotFound, format!("{}: {e}", path.display())))?;
    let entries = verify_export(BufReader::new(file)).map_err(|error| {
        let code = match &error {
            ExportError::Read(_) => Code::Failure,
            ExportError::Line { .. } | ExportError::Broken(_) => Code::AuditBroken,
        };
        Failure::new(code, format!("{}: {error}", path.display()))
    })?;
    if context.out.json {
        context.out.json(&wire::AuditVerification {
            holds: true,
            entries,
            events: None,
            views: None,
        });
    } else {
        context.out.line(&format!("{entries} entries hold"))
    }
    Ok(CommandExit::Ok)
}

fn export(context: &CliContext<'_>, path: Option<&Path>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    match path {
        None => drop(desk.export_audit(&actor, context.out.stdout())?),
        Some(path) => {
            let file = File::create_new(path)
                .map_err(|e| Failure::new(Code::Failure, format!("{}: {e}", path.display())))?;
            let entries = desk.export_audit(&actor, BufWriter::new(file))?;
            context.out.remark(&format!("{entries} entries are in {}", path.display()));
        }
    }
    Ok(CommandExit::Ok)
}

/// Shows the progress of a long check to a waiting person.
pub(super) struct CheckProgress {
    began: Instant,
    shown: bool,
}

impl CheckProgress {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn show(&self, rows: u64) {
        if self.shown && self.began.elapsed() > Duration::from_secs(1) {
            use std::io::Write;
            let _ = write!(std::io::stderr(), "\rchecking… {rows} rows");
        }
    }

    pub(super) fn end(&self) {
        if self.shown && self.began.elapsed() > Duration::from_secs(1) {
            use std::io::Write;
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
