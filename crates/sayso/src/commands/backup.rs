//! `sayso backup`: copies the store into a file, and verifies the copy.

use super::audit::CheckProgress;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use sayso_core::{Code, CommandExit};
use sayso_engine::{BackupReport, Desk, LocalDesk, StoreLocation};
use serde::Serialize;
use std::path::PathBuf;

/// Write everything that is in the store into a new file, while others go on, and check the copy.
///
/// For SQLite. The copy is the store at one moment, with every space in it; the audit of each is verified in the
/// copy. To go back to it, end what works with the store, put the file where the store was, remove the files with
/// `-wal` and `-shm` behind that name, and run `sayso audit verify`. What was begun after the copy is unknown then,
/// and its tokens count no more.
///
/// PostgreSQL has its own: pg_dump --schema sayso.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso backup /backups/shop-monday.db
  sayso --store /backups/shop-monday.db --space shop inbox    look at a copy")]
pub(crate) struct BackupArgs {
    /// The file to write; it must not exist yet.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// A verified copy of the store.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Copied")]
pub(crate) struct BackupCopy {
    /// The path of the copy.
    file: String,
    /// The size of the copy in bytes.
    bytes: u64,
    /// The number of spaces in it.
    spaces: usize,
    /// The number of audit entries that were verified in it.
    entries: u64,
}

pub(crate) fn run(args: BackupArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let local = here(&desk)?;
    let file = context.globals.dir.as_deref().map_or(args.file.clone(), |dir| dir.join(&args.file));
    if file.exists() {
        let why = format!("{} is there already", file.display());
        return Err(Failure::new(Code::BadValue, why).hint("name a file that is not there yet"));
    }
    let progress = CheckProgress::new();
    let BackupReport { spaces, entries } =
        local.back_up(&actor, &file, |rows| progress.show(rows))?;
    progress.end();
    let bytes = std::fs::metadata(&file)?.len();
    let copied = BackupCopy { file: file.display().to_string(), bytes, spaces, entries };
    let out = context.out;
    if out.json {
        out.json(&copied);
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    let BackupCopy { file, bytes, spaces, entries } = copied;
    let spaces = if spaces == 1 { "1 space".to_owned() } else { format!("{spaces} spaces") };
    let size = bytes.div_ceil(1024);
    out.line(&format!("{tick} {file}: {spaces}, {size} KB, {entries} entries of the audit hold"));
    Ok(CommandExit::Ok)
}

/// Returns the desk if its store is a local file.
fn here(desk: &Desk) -> Result<&LocalDesk> {
    let no = |why: &str, hint: &str| Err(Failure::new(Code::BadValue, why).hint(hint));
    match (desk.local(), desk.place()) {
        (Some(local), Some(StoreLocation::Sqlite(_))) => Ok(local),
        (Some(_), _) => no(
            "PostgreSQL makes its backups itself",
            "everything is in one schema: pg_dump --schema sayso; after a restore run: sayso audit verify",
        ),
        (None, _) => no(
            "a backup is made where the store is, and that is behind a server",
            "run it on the server's machine, in the folder of the space",
        ),
    }
}
