//! `sayso flow resume`: resumes flows.

use crate::context::CliContext;
use crate::exit::{self, Failure, Result};
use crate::flow_runner::{FlowRunner, command_folder, definition_of, place, print_commands};
use crate::work;
use clap_complete::ArgValueCompleter;
use sayso_core::flow::{Flow, FlowEndKind, FlowPlace, check_home};
use sayso_core::run::LeaseHolder;
use sayso_core::{Actor, Code, CommandExit, FlowId};
use sayso_engine::worker::holder;
use sayso_engine::{Desk, FlowFilter, GateFilter, ReadyFilter, is_held};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The page size for flows that can be resumed.
const READY_AT_A_TIME: usize = 100;

/// The polling interval, if no change wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The back-off after a failed flow: initial and maximum.
const REST: Duration = Duration::from_secs(5);
const REST_MAX: Duration = Duration::from_secs(600);

/// Go on with a flow, or with all that can.
///
/// A flow goes on with the text of the workflow it began with, also if the file was changed since. One that is done,
/// and whose leader died before the work was brought home, is brought home. With `--all` and `--watch` no question is
/// asked here; one that cannot go on is reported, and the others do. Flows whose step failed are left out of both:
/// what they run might cost something each time. Name one to try its step again, or try all of them with `--stuck`.
///
/// A flow goes on where it began: on that machine, in that folder, as that user and by the person who began it. What
/// it runs is told first. In any other place it is refused; `--adopt` takes it over, by name.
///
/// It ends with 0 when nothing is left to go on with, with 7 when a flow waits for a person, with 14 when one is
/// stuck or left out, and with 128 and the number of the signal when one ended it before.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow resume f7k2            go on with one
  sayso flow resume --all           with everything that was answered meanwhile
  sayso flow resume --all --stuck   and try again what failed
  sayso flow resume --watch         stay for what is answered later
  sayso flow resume f7k2 --adopt    take over what was begun elsewhere")]
pub(crate) struct FlowResumeArgs {
    /// The ID of the flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    flow: Option<String>,
    /// All flows that were answered, and those whose leader is gone.
    #[arg(long, conflicts_with = "flow")]
    all: bool,
    /// The same, and stay for flows that can go on later.
    #[arg(long, conflicts_with = "flow")]
    watch: bool,
    /// Also flows whose step failed at the last attempt: it is done again.
    #[arg(long, conflicts_with = "flow")]
    stuck: bool,
    /// Take it over from where it went on before: another machine, folder, user or person. What it runs, it runs here
    /// from then on.
    #[arg(long, conflicts_with_all = ["all", "watch"])]
    adopt: bool,
    /// Wait for the answers of people.
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(args: &FlowResumeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    if let Some(typed) = &args.flow {
        let (desk, actor) = context.open_read_only()?;
        let flow = desk.flow(desk.find_flow(typed)?)?;
        if let Some(ending) = &flow.ending
            && !is_unmerged(&desk, &actor, &flow)?
        {
            let message = format!("flow {} is {}", flow.started.handle, ending.how.as_str());
            return Err(
                Failure::new(Code::WrongState, message).hint("begin another: sayso flow run FILE")
            );
        }
        let leader =
            FlowRunner::new(context, definition_of(&flow)?.has_agents())?.adopting(args.adopt);
        let place = place(&leader.folder);
        print_commands(context, &flow, &place);
        if !args.adopt {
            check_home(&flow, &leader.actor, Some(&place))?;
        }
        let walked = leader.run_flow(flow.started.id, None, args.wait)?;
        let exit = super::report(context, &leader.desk, &walked, &flow.started.handle, None)?;
        if exit == CommandExit::Ok && !definition_of(&flow)?.sequence.is_empty() {
            context.out.remark("it is one of a sequence; go on with the next: sayso flow run FILE");
        }
        return Ok(exit);
    }
    if !args.all && !args.watch {
        return Err(Failure::new(Code::BadValue, "it is not said which flow is to go on").hint(
            "name one: sayso flow resume FLOW; or all that were answered: sayso flow resume --all",
        ));
    }
    all(args, context)
}

/// Resumes all flows that can continue, one after the other. No question is asked here: a flow that waits for a
/// person would block the others.
fn all(args: &FlowResumeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let mut wake = desk.follow()?;
    let place = place(&command_folder(context, &crate::config::locate(&context.globals)?)?);
    let mut round = ResumeLoop {
        context,
        desk: &desk,
        actor: &actor,
        place,
        leaders: [None, None],
        rests: BTreeMap::new(),
        elsewhere: BTreeSet::new(),
        told: 0,
        count: 0,
    };
    let mut left = unmerged_flows(&desk, &actor)?;
    left.retain(|flow| round.belongs_here(flow));
    let mut worst = CommandExit::Ok;
    if !args.stuck && print_left_out(context, &desk)? {
        worst = CommandExit::Unfinished;
    }
    loop {
        for flow in std::mem::take(&mut left) {
            worst = worst.max(round.resume_counted(&flow));
        }
        worst = worst.max(round.resume_ready(false)?);
        if args.stuck {
            worst = worst.max(round.resume_ready(true)?);
        }
        round.print_foreign();
        if round.is_stopped() {
            // A watcher is normally ended by a signal.
            let ended = work::ended_by_signal().filter(|_| !args.watch);
            return Ok(ended.map_or(worst, |ended| worst.max(ended)));
        }
        if !args.watch {
            break;
        }
        wake.wait(LOOK_AGAIN)?;
    }
    if round.count == 0 {
        context.out.remark("no flow can go on now; see: sayso flow list");
    }
    if !round.elsewhere.is_empty() {
        worst = worst.max(CommandExit::Unfinished);
    }
    if round.waits()? {
        worst = worst.max(CommandExit::TimedOut);
    }
    Ok(worst)
}

/// Prints the flows that are not retried, and the command to retry them. True if there are such flows.
fn print_left_out(context: &CliContext<'_>, desk: &Desk) -> Result<bool> {
    let filter = ReadyFilter { stuck: true, limit: READY_AT_A_TIME, ..ReadyFilter::default() };
    let stuck = desk.ready_flows(&filter)?;
    let count = stuck.items.iter().filter(|flow| flow.started.definition.is_some()).count();
    let (more, flows) = match (stuck.more, count) {
        (false, 0) => return Ok(false),
        (true, _) => ("more than ", "flows"),
        (false, 1) => ("", "flow"),
        (false, _) => ("", "flows"),
    };
    context.out.remark(&format!(
        "left out: {more}{count} {flows} whose step failed; see sayso flow list, try again with: sayso flow resume --all \
         --stuck"
    ));
    Ok(true)
}

/// The state of a resume loop.
struct ResumeLoop<'a> {
    context: &'a CliContext<'a>,
    desk: &'a Desk,
    actor: &'a Actor,
    place: FlowPlace,
    /// The flow runner without agents, and with them.
    leaders: [Option<FlowRunner<'a>>; 2],
    /// The back-off of flows that failed here: its end, and its next length.
    rests: BTreeMap<FlowId, (Instant, Duration)>,
    /// Flows that belong to other places, by their IDs.
    elsewhere: BTreeSet<String>,
    /// The number of those that were reported.
    told: usize,
    /// The number of flows that were resumed.
    count: usize,
}

impl<'a> ResumeLoop<'a> {
    /// Resumes all flows, page by page: those that cannot continue do not hide the ones behind them.
    fn resume_ready(&mut self, stuck: bool) -> Result<CommandExit> {
        let (ours, mut worst) = (holder(Path::new("")), CommandExit::Ok);
        let mut filter = ReadyFilter { stuck, limit: READY_AT_A_TIME, ..ReadyFilter::default() };
        loop {
            let page = self.desk.ready_flows(&filter)?;
            for flow in &page.items {
                if self.is_backing_off(flow.started.id) || !self.is_resumable(flow, &ours)? {
                    continue;
                }
                worst = worst.max(self.resume_counted(flow));
                if self.is_stopped() {
                    return Ok(worst);
                }
            }
            filter.after = page.items.last().map(|flow| flow.started.id);
            if !page.more || filter.after.is_none() {
                return Ok(worst);
            }
        }
    }

    /// True if we may resume it: it was not started by a program, no process holds its lease, and its agent does not
    /// wait for a person.
    fn is_resumable(&mut self, flow: &Flow, ours: &LeaseHolder) -> Result<bool> {
        if flow.started.definition.is_none() || is_held(flow, ours, self.desk.now()) {
            return Ok(false);
        }
        let task = flow.started.task.map(|task| self.desk.task(task)).transpose()?;
        if task.is_some_and(|row| row.task.is_waiting()) {
            return Ok(false);
        }
        Ok(self.belongs_here(flow))
    }

    /// True if it belongs to this place. A flow of another person, or another machine, is adopted by name or not at
    /// all.
    fn belongs_here(&mut self, flow: &Flow) -> bool {
        let is_home = check_home(flow, self.actor, Some(&self.place)).is_ok();
        if !is_home {
            self.elsewhere.insert(flow.started.handle.clone());
        }
        is_home
    }

    /// True if a flow of this user waits for a person.
    fn waits(&self) -> Result<bool> {
        let mut filter = FlowFilter { limit: READY_AT_A_TIME, ..FlowFilter::default() };
        loop {
            let page = self.desk.flows(&filter)?;
            for flow in page.items.iter().filter(|flow| flow.started.definition.is_some()) {
                let is_home = check_home(flow, self.actor, Some(&self.place)).is_ok();
                if is_home && self.desk.flow_status(flow)?.is_waiting() {
                    return Ok(true);
                }
            }
            filter.after = page.items.last().map(|flow| flow.started.id);
            if !page.more || filter.after.is_none() {
                return Ok(false);
            }
        }
    }

    /// Prints the flows that belong to other places, and how to adopt one; again each time there are more.
    fn print_foreign(&mut self) {
        let count = self.elsewhere.len();
        let Some(first) = self.elsewhere.first().filter(|_| count > self.told) else { return };
        let flows = if count == 1 { "flow goes on" } else { "flows go on" };
        self.context.out.remark(&format!(
            "left out: {count} {flows} elsewhere; see sayso flow show {first}, take it over with: sayso flow resume {first} \
             --adopt"
        ));
        self.told = count;
    }

    /// Resumes a flow. A failure does not stop the others.
    fn resume_counted(&mut self, flow: &Flow) -> CommandExit {
        self.count += 1;
        self.one(flow).unwrap_or_else(|failure| {
            let _ = exit::failure(&failure, self.context.out);
            self.back_off(flow.started.id);
            CommandExit::Error
        })
    }

    fn one(&mut self, flow: &Flow) -> Result<CommandExit> {
        let context = self.context;
        let needs = usize::from(definition_of(flow)?.has_agents());
        let leader = match &mut self.leaders[needs] {
            Some(leader) => leader,
            none => none.insert(FlowRunner::new(context, needs == 1)?),
        };
        print_commands(context, flow, &self.place);
        let walked = leader.run_unattended(flow.started.id)?;
        self.rests.remove(&flow.started.id);
        super::report(context, &leader.desk, &walked, &flow.started.handle, None)
    }

    fn is_stopped(&self) -> bool {
        self.leaders.iter().flatten().any(|leader| leader.stop.load(Ordering::SeqCst))
    }

    fn is_backing_off(&self, flow: FlowId) -> bool {
        self.rests.get(&flow).is_some_and(|(until, _)| Instant::now() < *until)
    }

    /// Backs off after a failed step: each attempt may cost something.
    fn back_off(&mut self, flow: FlowId) {
        let rest = self.rests.get(&flow).map_or(REST, |(_, rest)| (*rest * 2).min(REST_MAX));
        self.rests.insert(flow, (Instant::now() + rest, rest));
    }
}

/// Finished flows whose work is not merged: the process that ran them died in between.
fn unmerged_flows(desk: &Desk, actor: &Actor) -> Result<Vec<Flow>> {
    let filter = FlowFilter { over: true, limit: READY_AT_A_TIME, ..FlowFilter::default() };
    let mut left = vec![];
    for flow in desk.flows(&filter)?.items {
        if is_unmerged(desk, actor, &flow)? {
            left.push(flow);
        }
    }
    Ok(left)
}

fn is_unmerged(desk: &Desk, actor: &Actor, flow: &Flow) -> Result<bool> {
    let (Some(ending), Some(task)) = (&flow.ending, flow.started.task) else { return Ok(false) };
    let is_over = ending.how != FlowEndKind::Done || desk.task(task)?.task.status.is_over();
    if is_over {
        return Ok(false);
    }
    // Gates opened since then are about the work, so people decide on it.
    let filter = GateFilter { task: Some(task), limit: READY_AT_A_TIME, ..GateFilter::default() };
    let asked = desk.all_gates(actor, filter)?;
    Ok(asked.iter().all(|gate| gate.opened_at < ending.at))
}
