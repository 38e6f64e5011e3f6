//! `sayso flow resume`: go on with flows.

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

/// How many flows are looked at at a time.
const READY_AT_A_TIME: usize = 100;

/// How long is waited before it is looked again, if nothing wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long a flow that failed is left alone by whoever stays, at first and at most.
const REST: Duration = Duration::from_secs(5);
const REST_MAX: Duration = Duration::from_secs(600);

/// Go on with a flow, or with all that can.
///
/// A flow goes on with the text of the workflow it began with, whatever became of the file since. One that is done, and
/// whose leader died before the work was brought home, is brought home. With `--all` and `--watch` nobody is asked here; one
/// that cannot go on is reported, and the others do. Flows whose step failed are left out of both: what they run might cost
/// something each time. Name one to try its step again, or try all of them with `--stuck`.
///
/// A flow goes on where it began: on that machine, in that folder, as that user and by the person who began it. What it runs
/// is told first. Elsewhere it is refused; `--adopt` takes it over, by name.
///
/// It ends with 0 when nothing is left to go on with, with 7 when a flow waits for a person, with 14 when one is stuck or
/// left out, and with 128 and the number of the signal when one ended it before.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow resume f7k2            go on with one
  sayso flow resume --all           with everything that was answered meanwhile
  sayso flow resume --all --stuck   and try again what failed
  sayso flow resume --watch         stay for what is answered later
  sayso flow resume f7k2 --adopt    take over what was begun elsewhere")]
pub(crate) struct Args {
    /// The flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    flow: Option<String>,
    /// Everything that was answered, and what nobody goes on with any more.
    #[arg(long, conflicts_with = "flow")]
    all: bool,
    /// The same, and whatever can go on later.
    #[arg(long, conflicts_with = "flow")]
    watch: bool,
    /// Also flows whose step failed when somebody last tried: it is done again.
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

/// Goes on with everything that can, one after the other. Nobody is asked here: one that waits for a person
/// would keep the others from going on.
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
            // Whoever stays is ended by a signal when all is well.
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

/// Whoever picks up answers is told what they do not try again, and how to. Whether there was something.
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

/// What going on with one flow after the other shares.
struct Round<'a> {
    context: &'a Context<'a>,
    desk: &'a Desk,
    actor: &'a Actor,
    place: FlowPlace,
    /// Without agents, and with them.
    leaders: [Option<Leader<'a>>; 2],
    /// Flows that failed here: until when they are left alone, and for how long the next time.
    rests: BTreeMap<FlowId, (Instant, Duration)>,
    /// Flows that go on elsewhere, by their handles.
    elsewhere: BTreeSet<String>,
    /// How many of them were told of.
    told: usize,
    /// How many were gone on with.
    count: usize,
}

impl<'a> Round<'a> {
    /// Goes on with all there are, a page at a time: however many cannot, those behind them get their turn.
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

    /// Whether it is ours to go on with: a program goes on with its own, nobody else is at it, and its agent does
    /// not wait for a person.
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

    /// Whether it goes on here. One that another person, or another machine, began is taken over by name or not at all.
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

    /// Names the flows that are left to others, and how one is taken over; each time there are more.
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

    /// One that does not go on stands in no other's way.
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

    /// A step that failed is not tried again at once: each time may cost something.
    fn rest(&mut self, flow: FlowId) {
        let rest = self.rests.get(&flow).map_or(REST, |(_, rest)| (*rest * 2).min(REST_MAX));
        self.rests.insert(flow, (Instant::now() + rest, rest));
    }
}

/// Flows that are done and whose work is not home: whoever led them died in between.
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
    // Where people were asked about the work since, it is theirs to say what becomes of it.
    let filter = GateFilter { task: Some(task), limit: READY_AT_A_TIME, ..GateFilter::default() };
    let asked = desk.all_gates(actor, filter)?;
    Ok(asked.iter().all(|gate| gate.opened_at < ending.at))
}
