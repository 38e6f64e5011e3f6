//! `sayso flow resume`: resumes flows.

use crate::context::Context;
use crate::exit::{self, Failure, Result};
use crate::flows::{Leader, definition_of, ground, place, say_what_runs};
use crate::work;
use clap_complete::ArgValueCompleter;
use sayso_core::flow::{Flow, FlowPlace, How, check_home};
use sayso_core::run::Holder;
use sayso_core::{Actor, Code, Exit, FlowId};
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
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<Exit> {
    if let Some(typed) = &args.flow {
        let (desk, actor) = context.sit_down_to_look()?;
        let flow = desk.flow(desk.find_flow(typed)?)?;
        if let Some(ending) = &flow.ending
            && !is_left_behind(&desk, &actor, &flow)?
        {
            let message = format!("flow {} is {}", flow.started.handle, ending.how.as_str());
            return Err(
                Failure::new(Code::WrongState, message).hint("begin another: sayso flow run FILE")
            );
        }
        let leader = Leader::new(context, definition_of(&flow)?.has_agents())?.adopting(args.adopt);
        let place = place(&leader.folder);
        say_what_runs(context, &flow, &place);
        if !args.adopt {
            check_home(&flow, &leader.actor, Some(&place))?;
        }
        let walked = leader.lead(flow.started.id, None, args.wait)?;
        let exit = super::report(context, &leader.desk, &walked, &flow.started.handle, None)?;
        if exit == Exit::Ok && !definition_of(&flow)?.sequence.is_empty() {
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
fn all(args: &Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_to_look()?;
    let mut wake = desk.follow()?;
    let place = place(&ground(context, &crate::config::locate(&context.globals)?)?);
    let mut round = Round {
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
    let mut left = left_behind(&desk, &actor)?;
    left.retain(|flow| round.is_home(flow));
    let mut worst = Exit::Ok;
    if !args.stuck && say_what_is_left_out(context, &desk)? {
        worst = Exit::Unfinished;
    }
    loop {
        for flow in std::mem::take(&mut left) {
            worst = worst.max(round.go_on_with(&flow));
        }
        worst = worst.max(round.through(false)?);
        if args.stuck {
            worst = worst.max(round.through(true)?);
        }
        round.say_what_is_elsewhere();
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
        worst = worst.max(Exit::Unfinished);
    }
    if round.waits()? {
        worst = worst.max(Exit::TimedOut);
    }
    Ok(worst)
}

/// Prints the flows that are not retried, and the command to retry them. True if there are such flows.
fn say_what_is_left_out(context: &Context<'_>, desk: &Desk) -> Result<bool> {
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
struct Round<'a> {
    context: &'a Context<'a>,
    desk: &'a Desk,
    actor: &'a Actor,
    place: FlowPlace,
    /// The flow runner without agents, and with them.
    leaders: [Option<Leader<'a>>; 2],
    /// The back-off of flows that failed here: its end, and its next length.
    rests: BTreeMap<FlowId, (Instant, Duration)>,
    /// Flows that belong to other places, by their IDs.
    elsewhere: BTreeSet<String>,
    /// The number of those that were reported.
    told: usize,
    /// The number of flows that were resumed.
    count: usize,
}

impl<'a> Round<'a> {
    /// Resumes all flows, page by page: those that cannot continue do not hide the ones behind them.
    fn through(&mut self, stuck: bool) -> Result<Exit> {
        let (ours, mut worst) = (holder(Path::new("")), Exit::Ok);
        let mut filter = ReadyFilter { stuck, limit: READY_AT_A_TIME, ..ReadyFilter::default() };
        loop {
            let page = self.desk.ready_flows(&filter)?;
            for flow in &page.items {
                if self.is_resting(flow.started.id) || !self.is_free(flow, &ours)? {
                    continue;
                }
                worst = worst.max(self.go_on_with(flow));
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
    fn is_free(&mut self, flow: &Flow, ours: &Holder) -> Result<bool> {
        if flow.started.definition.is_none() || is_held(flow, ours, self.desk.now()) {
            return Ok(false);
        }
        let task = flow.started.task.map(|task| self.desk.task(task)).transpose()?;
        if task.is_some_and(|row| row.task.is_waiting()) {
            return Ok(false);
        }
        Ok(self.is_home(flow))
    }

    /// True if it belongs to this place. A flow of another person, or another machine, is adopted by name or not at
    /// all.
    fn is_home(&mut self, flow: &Flow) -> bool {
        let is_home = check_home(flow, self.actor, Some(&self.place)).is_ok();
        if !is_home {
            self.elsewhere.insert(flow.started.handle.clone());
        }
        is_home
    }

    /// Whether a flow of ours waits for a person.
    fn waits(&self) -> Result<bool> {
        let mut filter = FlowFilter { limit: READY_AT_A_TIME, ..FlowFilter::default() };
        loop {
            let page = self.desk.flows(&filter)?;
            for flow in page.items.iter().filter(|flow| flow.started.definition.is_some()) {
                let is_home = check_home(flow, self.actor, Some(&self.place)).is_ok();
                if is_home && self.desk.stands(flow)?.is_waiting() {
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
    fn say_what_is_elsewhere(&mut self) {
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
    fn go_on_with(&mut self, flow: &Flow) -> Exit {
        self.count += 1;
        self.one(flow).unwrap_or_else(|failure| {
            let _ = exit::failure(&failure, self.context.out);
            self.rest(flow.started.id);
            Exit::Error
        })
    }

    fn one(&mut self, flow: &Flow) -> Result<Exit> {
        let context = self.context;
        let needs = usize::from(definition_of(flow)?.has_agents());
        let leader = match &mut self.leaders[needs] {
            Some(leader) => leader,
            none => none.insert(Leader::new(context, needs == 1)?),
        };
        say_what_runs(context, flow, &self.place);
        let walked = leader.lead_on(flow.started.id)?;
        self.rests.remove(&flow.started.id);
        super::report(context, &leader.desk, &walked, &flow.started.handle, None)
    }

    fn is_stopped(&self) -> bool {
        self.leaders.iter().flatten().any(|leader| leader.stop.load(Ordering::SeqCst))
    }

    fn is_resting(&self, flow: FlowId) -> bool {
        self.rests.get(&flow).is_some_and(|(until, _)| Instant::now() < *until)
    }

    /// Backs off after a failed step: each attempt may cost something.
    fn rest(&mut self, flow: FlowId) {
        let rest = self.rests.get(&flow).map_or(REST, |(_, rest)| (*rest * 2).min(REST_MAX));
        self.rests.insert(flow, (Instant::now() + rest, rest));
    }
}

/// Finished flows whose work is not merged: the process that ran them died in between.
fn left_behind(desk: &Desk, actor: &Actor) -> Result<Vec<Flow>> {
    let filter = FlowFilter { over: true, limit: READY_AT_A_TIME, ..FlowFilter::default() };
    let mut left = vec![];
    for flow in desk.flows(&filter)?.items {
        if is_left_behind(desk, actor, &flow)? {
            left.push(flow);
        }
    }
    Ok(left)
}

fn is_left_behind(desk: &Desk, actor: &Actor, flow: &Flow) -> Result<bool> {
    let (Some(ending), Some(task)) = (&flow.ending, flow.started.task) else { return Ok(false) };
    let is_over = ending.how != How::Done || desk.task(task)?.task.status.is_over();
    if is_over {
        return Ok(false);
    }
    // Gates opened since then are about the work, so people decide on it.
    let filter = GateFilter { task: Some(task), limit: READY_AT_A_TIME, ..GateFilter::default() };
    let asked = desk.all_gates(actor, filter)?;
    Ok(asked.iter().all(|gate| gate.opened_at < ending.at))
}
