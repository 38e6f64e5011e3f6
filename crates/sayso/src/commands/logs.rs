//! `sayso logs`: shows the output of a run.

use super::shared;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{config, work};
use clap_complete::ArgValueCompleter;
use sayso_core::run::{Run, RunState};
use sayso_core::text::sanitize;
use sayso_core::{Code, CommandExit, RunId};
use sayso_engine::Desk;
use sayso_engine::agents::{AgentAdapter, format_log_line};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// The interval at which a followed log is polled.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// Show the output of an agent in its last turn on a task.
///
/// Shown is what it says and does; `--raw` has every line as the agent wrote it.
#[derive(clap::Args)]
pub(crate) struct LogsArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    task: String,
    /// Go on until the turn is over.
    #[arg(short, long)]
    follow: bool,
    /// Every line as it was written.
    #[arg(long)]
    raw: bool,
    /// The turn before the last one, and so on.
    #[arg(long, value_name = "N", default_value_t = 0)]
    back: usize,
}

pub(crate) fn run(args: LogsArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let location = config::locate(&context.globals)?;
    let task = desk.find_task(&args.task)?;
    let runs = desk.runs_of(task, args.back + 1)?;
    let Some(run) = runs.get(args.back) else {
        let task = &args.task;
        return Err(if runs.is_empty() {
            Failure::new(Code::NotFound, format!("no agent has worked on {task} yet"))
                .hint(format!("let one work with: sayso work {task}"))
        } else {
            Failure::new(Code::NotFound, format!("{task} has {} turns", runs.len()))
                .hint(format!("see them with: sayso runs {task}"))
        });
    };
    let id = run.started.id;
    let path = work::home(context, &location)?.join("logs").join(format!("{id}.log"));
    let adapter = adapter(&location, run);
    let show = |line: &str| {
        let shown = if args.raw { Some(line.to_owned()) } else { format_log_line(adapter, line) };
        if let Some(shown) = shown {
            context.out.line(&sanitize(&shown).text);
        }
    };
    follow(&desk, id, &path, args.follow, &show)
        .map_err(|error| missing(&path, run, &error))
        .map(|()| CommandExit::Ok)
}

fn adapter(location: &config::SpaceLocation, run: &Run) -> AgentAdapter {
    let agents = config::agents(&location.agents).unwrap_or_default();
    agents.get(&run.started.agent).map_or(AgentAdapter::Command, |agent| agent.adapter)
}

/// The size of a log's end that is read, and the number of its lines that are shown.
const TAIL_BYTES: u64 = 32 * 1024;
const TAIL_LINES: usize = 30;

/// The last lines an agent printed in a run, if its log is on this machine.
pub(super) fn tail(location: &config::SpaceLocation, folder: &Path, run: &Run) -> Vec<String> {
    end_of_log(folder, run, adapter(location, run))
}

/// The last lines of a log, parsed by this adapter.
pub(super) fn end_of_log(folder: &Path, run: &Run, adapter: AgentAdapter) -> Vec<String> {
    let path = folder.join(format!("{}.log", run.started.id));
    let Ok(text) = end_of(&path) else { return vec![] };
    let readable = text.lines().filter_map(|line| format_log_line(adapter, line));
    let lines: Vec<_> = readable.map(|line| sanitize(&line).text).collect();
    let lines = lines.iter().flat_map(|text| text.lines().map(str::to_owned));
    let lines: Vec<_> = lines.collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
}

/// The end of a file, from the beginning of a line on.
fn end_of(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = vec![];
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_whole = size <= TAIL_BYTES;
    Ok(match text.split_once('\n') {
        Some((_, rest)) if !is_whole => rest.to_owned(),
        _ => text,
    })
}

/// Prints the lines of a file, and new ones while the run is under way.
fn follow(
    desk: &Desk,
    run: RunId,
    path: &Path,
    follow: bool,
    show: &dyn Fn(&str),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(std::fs::File::open(path)?);
    let mut line = vec![];
    loop {
        // Read before the lines are, so that a line from before the end is still printed.
        let may_grow = follow && desk.run(run).is_ok_and(|run| run.state == RunState::Running);
        while reader.by_ref().read_until(b'\n', &mut line)? > 0 {
            if line.last() != Some(&b'\n') && may_grow {
                break;
            }
            show(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            line.clear();
        }
        if !may_grow {
            return Ok(());
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
}

fn missing(path: &Path, run: &Run, error: &std::io::Error) -> Failure {
    let message = format!("the log {} cannot be read: {error}", path.display());
    let host = run.started.holder.host.split(' ').next().unwrap_or_default();
    Failure::new(Code::NotFound, message)
        .hint(format!("that turn was taken on {host}, in {}", run.started.holder.repository))
}
