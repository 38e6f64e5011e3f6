//! `sayso flow`: runs and inspects workflows.

mod cancel;
mod graph;
mod list;
mod resume;
mod run;
mod show;

use crate::commands::shared;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::{CliOutput, OutputStyle};
use crate::{time, work};
use clap::Subcommand;
use clap_complete::CompletionCandidate;
use sayso_core::flow::{Flow, FlowEndKind, FlowStatus};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Code, CommandExit, Timestamp};
use sayso_engine::{Desk, FlowFilter, FlowStatusReport};
use sayso_server::wire;
use sayso_workflow::FlowProgress;
use sayso_workflow::file::{LoadError, WorkflowDefinition};
use std::ffi::OsStr;
use std::path::Path;

/// The length of a failure reason in a list.
const WHY_CHARS_MAX: usize = 400;

/// Workflows: durable steps of agents and commands, with people in between.
///
/// A workflow is a YAML file of phases. In each an agent or a command may work, a person may be asked, and
/// what came of both says where it goes on. A flow is one walk through it. What a step gave is kept: a flow
/// that was interrupted goes on where it was, does no finished step again and asks nothing twice. A no ends
/// it unless the file says where a no leads.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow graph release.yaml                   how it looks, and whether it has mistakes
  sayso flow run release.yaml --set topic=cats    begin, and be asked here
  sayso flow list                                 what is under way
  sayso flow show f7k2                            where it stands, and what was said on the way
  sayso flow resume --all                         go on with everything that was answered

A workflow:
  workflow: release
  phases:
    - name: build
      run: make
      ask: {approval: Ship it?}
    - name: ship
      run: make ship")]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    verb: FlowSubcommand,
}

#[derive(Subcommand)]
enum FlowSubcommand {
    /// Begin a flow and go on as far as it goes.
    Run(run::FlowRunArgs),
    /// Flows, newest first.
    List(list::FlowListArgs),
    /// Show where a flow stands, and its timeline.
    Show(show::FlowShowArgs),
    /// Go on with a flow, or with all that can.
    Resume(resume::FlowResumeArgs),
    /// Take a flow back; what it asked is withdrawn.
    Cancel(cancel::FlowCancelArgs),
    /// A picture of a workflow, or of a flow and where it stands.
    Graph(graph::FlowGraphArgs),
}

pub(crate) fn run(args: FlowArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        FlowSubcommand::Run(args) => run::run(args, context),
        FlowSubcommand::List(args) => list::run(&args, context),
        FlowSubcommand::Show(args) => show::run(&args, context),
        FlowSubcommand::Resume(args) => resume::run(&args, context),
        FlowSubcommand::Cancel(args) => cancel::run(&args, context),
        FlowSubcommand::Graph(args) => graph::run(&args, context),
    }
}

/// Loads a workflow; all its mistakes are printed, each with its line and fix.
fn load(context: &CliContext<'_>, path: &Path) -> Result<WorkflowDefinition> {
    match WorkflowDefinition::load(path) {
        Ok(definition) => Ok(definition),
        Err(LoadError::File { file, why }) => {
            Err(Failure::new(Code::NotFound, format!("{file}: {why}")).hint("name a workflow file"))
        }
        Err(LoadError::Mistakes(mistakes)) => {
            let report = super::diagnostics::DiagnosticReport::new(1, mistakes);
            report.show(context, Code::Invalid)?;
            Err(Failure::new(Code::Invalid, "the workflow has mistakes"))
        }
    }
}

/// Prints the progress of a flow, and returns the exit code. `goes_on` is the command to continue with, if that is
/// not about this flow alone.
fn report(
    context: &CliContext<'_>,
    desk: &Desk,
    walked: &FlowProgress,
    handle: &str,
    goes_on: Option<&str>,
) -> Result<CommandExit> {
    let out = context.out;
    let flow = match walked {
        FlowProgress::Ended(flow) | FlowProgress::Waits(flow) => flow.clone(),
        FlowProgress::Elsewhere => desk.flow(desk.find_flow(handle)?)?,
    };
    if out.json {
        out.json(&wire::FlowJson::of(&flow, &desk.flow_status(&flow)?, &time::rfc3339));
    } else {
        show_in_list(context, desk, &flow)?;
    }
    Ok(match (walked, &flow.ending) {
        (FlowProgress::Elsewhere, None) => {
            out.remark("another process goes on with it");
            CommandExit::Conflict
        }
        (_, None) => {
            let own = format!("sayso flow resume {}", flow.started.handle);
            let goes_on = goes_on.unwrap_or(&own);
            let is_waiting = desk.flow_status(&flow)?.is_waiting();
            out.remark(&if is_waiting {
                format!("when that is answered, go on with: {goes_on}")
            } else {
                format!("go on with: {goes_on}")
            });
            match work::ended_by_signal() {
                _ if is_waiting => CommandExit::TimedOut,
                Some(exit) => exit,
                None => CommandExit::Unfinished,
            }
        }
        (_, Some(ending)) => match ending.how {
            FlowEndKind::Done => CommandExit::Ok,
            FlowEndKind::Rejected => CommandExit::Rejected,
            FlowEndKind::Failed => {
                out.remark(
                    "a flow keeps the text it began with; begin another: sayso flow run FILE",
                );
                CommandExit::Error
            }
            FlowEndKind::Cancelled => CommandExit::Unanswered,
        },
    })
}

/// Prints a flow as lists show it: its state, and below that the pending gates, or the reason why it does not
/// continue.
fn show_in_list(context: &CliContext<'_>, desk: &Desk, flow: &Flow) -> Result<()> {
    let out = context.out;
    let FlowStatusReport { standing, waits } = desk.flow_status(flow)?;
    out.line(&row(out, flow, standing, desk.now()));
    for gate in &waits {
        out.line(&crate::card::question_below(out, gate, desk.now()));
    }
    let handle = &flow.started.handle;
    match standing {
        FlowStatus::Answered => {
            out.line(&format!("   it was answered; go on with: sayso flow resume {handle}"));
        }
        FlowStatus::Unanswered => out.line(&format!(
            "   what it asked ended without an answer; go on with: sayso flow resume {handle}"
        )),
        // A program resumes its own flows.
        FlowStatus::Idle if flow.started.definition.is_some() => {
            out.line(&format!("   nobody goes on with it; go on with: sayso flow resume {handle}"));
        }
        FlowStatus::Idle => {
            out.line("   nobody goes on with it; start the program that began it again")
        }
        FlowStatus::Running | FlowStatus::Waiting | FlowStatus::Stuck | FlowStatus::Over(_) => {}
    }
    if let Some(stuck) = &flow.stuck {
        out.line(&format!("   {}", shorten(&sanitize_line(&stuck.why), WHY_CHARS_MAX)));
        out.line(&format!(
            "   try again: sayso flow resume {handle}; or take it back: sayso flow cancel {handle} (it keeps the text \
             it began with)"
        ));
    }
    let note = flow.ending.as_ref().map(|ending| ending.note.as_str()).unwrap_or_default();
    if !note.is_empty() {
        out.line(&format!("   {}", sanitize_line(note)));
    }
    Ok(())
}

/// A flow in a line.
fn row(out: &CliOutput, flow: &Flow, standing: FlowStatus, now: Timestamp) -> String {
    let started = &flow.started;
    let (icon, look) = match standing {
        FlowStatus::Waiting => (out.icon("❓", "[?]"), OutputStyle::Warn),
        FlowStatus::Running | FlowStatus::Answered | FlowStatus::Unanswered | FlowStatus::Idle => {
            (out.icon("◐", "[~]"), OutputStyle::Warn)
        }
        FlowStatus::Over(FlowEndKind::Done) => (out.icon("✓", "[x]"), OutputStyle::Good),
        FlowStatus::Stuck
        | FlowStatus::Over(FlowEndKind::Rejected | FlowEndKind::Failed | FlowEndKind::Cancelled) => {
            (out.icon("✗", "[!]"), OutputStyle::Bad)
        }
    };
    let name = out.paint(OutputStyle::Name, &started.handle);
    let (workflow, phase) = (sanitize_line(&started.workflow), sanitize_line(&flow.phase));
    let title = shorten(&sanitize_line(&started.title), out.width().saturating_sub(50).max(20));
    let standing = out.paint(look, standing.as_str());
    let began = out.paint(OutputStyle::Faint, &time::relative(flow.started_at, now));
    let title = if title.is_empty() { title } else { format!("  {title}") };
    format!("{icon} {name}  {workflow}  {standing} in {phase}{title}  {began}")
}

/// True if graphs are drawn with ASCII.
fn is_plain(out: &CliOutput) -> bool {
    out.icon("", "plain") == "plain"
}

/// Completes the IDs of flows.
fn live_flows(typed: &OsStr) -> Vec<CompletionCandidate> {
    shared::candidates(typed, |desk, _| {
        let page = desk.flows(&FlowFilter { limit: 100, ..FlowFilter::default() })?;
        let about = |flow: &Flow| {
            (
                flow.started.handle.clone(),
                format!("{} {}", flow.started.workflow, flow.started.title),
            )
        };
        Ok(page.items.iter().map(about).collect())
    })
}
