//! `sayso flow`: runs and inspects workflows.

mod cancel;
mod graph;
mod list;
mod resume;
mod run;
mod show;

use crate::commands::shared;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::{Look, Out};
use crate::{when, work};
use clap::Subcommand;
use clap_complete::CompletionCandidate;
use sayso_core::flow::{Flow, How, Standing};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Code, Exit, Timestamp};
use sayso_engine::{Desk, FlowFilter, Stands};
use sayso_server::wire;
use sayso_workflow::Walked;
use sayso_workflow::file::{Definition, Unread};
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
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Begin a flow and go on as far as it goes.
    Run(run::Args),
    /// Flows, newest first.
    List(list::Args),
    /// Show where a flow stands, and its timeline.
    Show(show::Args),
    /// Go on with a flow, or with all that can.
    Resume(resume::Args),
    /// Take a flow back; what it asked is withdrawn.
    Cancel(cancel::Args),
    /// A picture of a workflow, or of a flow and where it stands.
    Graph(graph::Args),
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.verb {
        Verb::Run(args) => run::run(args, context),
        Verb::List(args) => list::run(&args, context),
        Verb::Show(args) => show::run(&args, context),
        Verb::Resume(args) => resume::run(&args, context),
        Verb::Cancel(args) => cancel::run(&args, context),
        Verb::Graph(args) => graph::run(&args, context),
    }
}

/// Loads a workflow; all its mistakes are printed, each with its line and fix.
fn load(context: &Context<'_>, path: &Path) -> Result<Definition> {
    match Definition::load(path) {
        Ok(definition) => Ok(definition),
        Err(Unread::File { file, why }) => {
            Err(Failure::new(Code::NotFound, format!("{file}: {why}")).hint("name a workflow file"))
        }
        Err(Unread::Mistakes(mistakes)) => {
            let report = super::mistakes::Report::new(1, mistakes);
            report.show(context, Code::Invalid)?;
            Err(Failure::new(Code::Invalid, "the workflow has mistakes"))
        }
    }
}

/// Prints the progress of a flow, and returns the exit code. `goes_on` is the command to continue with, if that is
/// not about this flow alone.
fn report(
    context: &Context<'_>,
    desk: &Desk,
    walked: &Walked,
    handle: &str,
    goes_on: Option<&str>,
) -> Result<Exit> {
    let out = context.out;
    let flow = match walked {
        Walked::Ended(flow) | Walked::Waits(flow) => flow.clone(),
        Walked::Elsewhere => desk.flow(desk.find_flow(handle)?)?,
    };
    if out.json {
        out.json(&wire::Flow::of(&flow, &desk.stands(&flow)?, &when::rfc3339));
    } else {
        show_in_list(context, desk, &flow)?;
    }
    Ok(match (walked, &flow.ending) {
        (Walked::Elsewhere, None) => {
            out.remark("another process goes on with it");
            Exit::Conflict
        }
        (_, None) => {
            let own = format!("sayso flow resume {}", flow.started.handle);
            let goes_on = goes_on.unwrap_or(&own);
            let is_waiting = desk.stands(&flow)?.is_waiting();
            out.remark(&match is_waiting {
                true => format!("when that is answered, go on with: {goes_on}"),
                false => format!("go on with: {goes_on}"),
            });
            match work::ended_by_signal() {
                _ if is_waiting => Exit::TimedOut,
                Some(exit) => exit,
                None => Exit::Unfinished,
            }
        }
        (_, Some(ending)) => match ending.how {
            How::Done => Exit::Ok,
            How::Rejected => Exit::Rejected,
            How::Failed => {
                out.remark(
                    "a flow keeps the text it began with; begin another: sayso flow run FILE",
                );
                Exit::Error
            }
            How::Cancelled => Exit::Unanswered,
        },
    })
}

/// Prints a flow as lists show it: its state, and below that the pending gates, or the reason why it does not
/// continue.
fn show_in_list(context: &Context<'_>, desk: &Desk, flow: &Flow) -> Result<()> {
    let out = context.out;
    let Stands { standing, waits } = desk.stands(flow)?;
    out.line(&row(out, flow, standing, desk.now()));
    for gate in &waits {
        out.line(&crate::card::question_below(out, gate, desk.now()));
    }
    let handle = &flow.started.handle;
    match standing {
        Standing::Answered => {
            out.line(&format!("   it was answered; go on with: sayso flow resume {handle}"));
        }
        Standing::Unanswered => out.line(&format!(
            "   what it asked ended without an answer; go on with: sayso flow resume {handle}"
        )),
        // A program resumes its own flows.
        Standing::Idle if flow.started.definition.is_some() => {
            out.line(&format!("   nobody goes on with it; go on with: sayso flow resume {handle}"));
        }
        Standing::Idle => {
            out.line("   nobody goes on with it; start the program that began it again")
        }
        Standing::Running | Standing::Waiting | Standing::Stuck | Standing::Over(_) => {}
    }
    if let Some(stuck) = &flow.stuck {
        out.line(&format!("   {}", shorten(&harmless_line(&stuck.why), WHY_CHARS_MAX)));
        out.line(&format!(
            "   try again: sayso flow resume {handle}; or take it back: sayso flow cancel {handle} (it keeps the text \
             it began with)"
        ));
    }
    let note = flow.ending.as_ref().map(|ending| ending.note.as_str()).unwrap_or_default();
    if !note.is_empty() {
        out.line(&format!("   {}", harmless_line(note)));
    }
    Ok(())
}

/// A flow in a line.
fn row(out: &Out, flow: &Flow, standing: Standing, now: Timestamp) -> String {
    let started = &flow.started;
    let (icon, look) = match standing {
        Standing::Waiting => (out.icon("❓", "[?]"), Look::Warn),
        Standing::Running | Standing::Answered | Standing::Unanswered | Standing::Idle => {
            (out.icon("◐", "[~]"), Look::Warn)
        }
        Standing::Over(How::Done) => (out.icon("✓", "[x]"), Look::Good),
        Standing::Stuck | Standing::Over(How::Rejected | How::Failed | How::Cancelled) => {
            (out.icon("✗", "[!]"), Look::Bad)
        }
    };
    let name = out.paint(Look::Name, &started.handle);
    let (workflow, phase) = (harmless_line(&started.workflow), harmless_line(&flow.phase));
    let title = shorten(&harmless_line(&started.title), out.width().saturating_sub(50).max(20));
    let standing = out.paint(look, standing.as_str());
    let began = out.paint(Look::Faint, &when::relative(flow.started_at, now));
    let title = if title.is_empty() { title } else { format!("  {title}") };
    format!("{icon} {name}  {workflow}  {standing} in {phase}{title}  {began}")
}

/// True if graphs are drawn with ASCII.
fn is_plain(out: &Out) -> bool {
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
