//! `sayso flow resume`: go on with flows.

use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::flows::{Leader, definition_of};
use clap_complete::ArgValueCompleter;
use sayso_core::flow::{Flow, How};
use sayso_core::{Actor, Code, Exit, FlowId};
use sayso_engine::worker::holder;
use sayso_engine::{Desk, FlowFilter, GateFilter, is_held};
use std::collections::BTreeMap;
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
/// that cannot go on is reported, and the others do.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow resume f7k2            go on with one
  sayso flow resume --all           with everything that was answered meanwhile
  sayso flow resume --watch         and stay for what is answered later")]
pub(crate) struct Args {
    /// The flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    #[arg(required_unless_present_any = ["all", "watch"])]
    flow: Option<String>,
    /// Everything that can go on.
    #[arg(long, conflicts_with = "flow")]
    all: bool,
    /// The same, and whatever can go on later.
    #[arg(long, conflicts_with = "flow")]
    watch: bool,
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
        let leader = Leader::new(context, definition_of(&flow)?.has_agents())?;
        let walked = leader.lead(flow.started.id, args.wait)?;
        let exit = super::report(context, &leader.desk, &walked, &flow.started.handle, None)?;
        if exit == Exit::Ok && !definition_of(&flow)?.sequence.is_empty() {
            context.out.remark("it is one of a sequence; go on with the next: sayso flow run FILE");
        }
        return Ok(exit);
    }
    all(args, context)
}

/// Goes on with everything that can, one after the other. Nobody is asked here: one that waits for a person
/// would keep the others from going on.
fn all(args: &Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_to_look()?;
    let mut wake = desk.follow()?;
    let mut left = left_behind(&desk, &actor)?;
    let mut round = Round { context, leaders: [None, None], rests: BTreeMap::new() };
    let (mut count, mut worst) = (0, Exit::Ok);
    loop {
        let mut ready = ready(&desk)?;
        ready.append(&mut left);
        ready.retain(|flow| !round.is_resting(flow.started.id));
        for flow in &ready {
            // One that is stuck stands in no other's way.
            let exit = match round.one(flow) {
                Ok(exit) => exit,
                Err(failure) => {
                    let hint = failure.hint.as_deref();
                    context.out.error(failure.code.as_str(), &failure.message, hint);
                    round.rest(flow.started.id);
                    Exit::Error
                }
            };
            (worst, count) = (worst.max(exit), count + 1);
            if round.is_stopped() {
                return Ok(worst);
            }
        }
        if !args.watch || round.is_stopped() {
            break;
        }
        wake.wait(LOOK_AGAIN)?;
    }
    if count == 0 {
        context.out.remark("no flow can go on now; see: sayso flow list");
    }
    Ok(worst)
}

/// What going on with one flow after the other shares.
struct Round<'a> {
    context: &'a Context<'a>,
    /// Without agents, and with them.
    leaders: [Option<Leader<'a>>; 2],
    /// Flows that failed here: until when they are left alone, and for how long the next time.
    rests: BTreeMap<FlowId, (Instant, Duration)>,
}

impl<'a> Round<'a> {
    fn one(&mut self, flow: &Flow) -> Result<Exit> {
        // A program goes on with its own.
        if flow.started.definition.is_none() {
            return Ok(Exit::Ok);
        }
        let context = self.context;
        let needs = usize::from(definition_of(flow)?.has_agents());
        let leader = match &mut self.leaders[needs] {
            Some(leader) => leader,
            none => none.insert(Leader::new(context, needs == 1)?),
        };
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

/// Those that can go on and that nobody goes on with, without those whose agent still waits for a person.
fn ready(desk: &Desk) -> Result<Vec<Flow>> {
    let (mut ready, ours, now) = (vec![], holder(Path::new("")), desk.now());
    for flow in desk.ready_flows(READY_AT_A_TIME)? {
        let waits = match flow.started.task {
            Some(task) => desk.task(task)?.task.is_waiting(),
            None => false,
        };
        if !waits && !is_held(&flow, &ours, now) {
            ready.push(flow);
        }
    }
    Ok(ready)
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
    let asked = desk.gates(actor, filter)?.items;
    Ok(asked.iter().all(|gate| gate.opened_at < ending.at))
}
