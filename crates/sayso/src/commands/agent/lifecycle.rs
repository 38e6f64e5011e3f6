//! `sayso agent spawn`, `restart` and `stop`: the lifecycle actions, in one implementation.

use super::super::{ask, shared};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{identity, notice_sending, time};
use clap_complete::ArgValueCompleter;
use sayso_core::gate::{ActionOutcome, LifecycleAction};
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, CommandExit, GateId, Verdict};
use sayso_engine::{Desk, LifecycleRequestOutcome, OrderOutcome, WaitOutcome};
use sayso_server::wire;
use std::time::Duration;

pub(super) const SPAWN: &str = "Examples:
  sayso agent spawn fixer
  sayso agent spawn fixer --reason 'three tests fail' --wait";
pub(super) const RESTART: &str = "Examples:
  sayso agent restart fixer --reason 'it hangs'";
pub(super) const STOP: &str = "Examples:
  sayso agent stop fixer";

#[derive(clap::Args)]
pub(crate) struct AgentLifecycleArgs {
    /// The name of the agent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: String,
    /// The reason, shown to the person who is asked.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Wait until it is done; for the answer, too, if a person is asked first.
    #[arg(long)]
    wait: bool,
    /// Wait at most this long: 30s, 10m, 2h.
    #[arg(long, value_name = "TIME", requires = "wait", value_parser = time::duration)]
    timeout: Option<Duration>,
}

pub(crate) fn run(
    args: AgentLifecycleArgs,
    action: LifecycleAction,
    context: &CliContext<'_>,
) -> Result<CommandExit> {
    let (desk, actor, keeper) = super::open_with_supervisor(context)?;
    // A person's request bypasses the policy, so the caller must be proved a person.
    let actor = identity::person_if(true, context, &desk, &actor)?;
    let requested = desk.request_lifecycle(&actor, action, &args.name, &args.reason)?;
    let id = match requested {
        LifecycleRequestOutcome::Held(gate) if args.wait => {
            context.out.remark(&format!("gate {} waits for a person", gate.handle()));
            let sending = notice_sending::send_in_background(context, &desk);
            let waited = desk.wait(gate.opened.id, args.timeout)?;
            drop(sending);
            match waited {
                WaitOutcome::TimedOut(gate) => return Err(ask::unanswered(gate.handle())),
                WaitOutcome::Ended(gate) if gate.verdict() == Some(Verdict::Approved) => {
                    gate.opened.id
                }
                WaitOutcome::Ended(gate) => {
                    return shared::hand_over(context, &desk, &actor, &gate);
                }
            }
        }
        requested => requested.ordered()?,
    };
    let timeout = if args.wait { args.timeout } else { Some(Duration::ZERO) };
    let carried = desk.wait_for_order(&keeper, id, timeout)?;
    let came = match desk.pending(id)? {
        Some(pending) if pending.error.is_none() && !args.wait => {
            OrderOutcome { id, done: false, what: super::pending_action_text(&pending) }
        }
        Some(pending) => return Err(failed(action, super::pending_action_text(&pending))),
        None => came(&desk, id, action, &args.name, carried)?,
    };
    report(context, action, &args.name, &came);
    acknowledge(&desk, &actor, id)?;
    Ok(CommandExit::Ok)
}

/// The outcome of an action that was carried out, here or by another process.
fn came(
    desk: &Desk,
    id: GateId,
    action: LifecycleAction,
    name: &str,
    carried: Option<OrderOutcome>,
) -> Result<OrderOutcome> {
    let acted = desk.gate(id).ok().and_then(|gate| gate.acted);
    let acted = acted.map(|ActionOutcome { done, what, .. }| OrderOutcome { id, done, what });
    let came = match acted.or(carried) {
        Some(came) => came,
        None => seen(desk, id, action, name)?,
    };
    if came.done { Ok(came) } else { Err(failed(action, came.what)) }
}

/// The outcome of an action that another process carried out, from the state of the agent.
fn seen(desk: &Desk, id: GateId, action: LifecycleAction, name: &str) -> Result<OrderOutcome> {
    let stationed = desk.member(name)?.stationed;
    let done = match action {
        LifecycleAction::Spawn | LifecycleAction::Restart => {
            stationed.is_some_and(|agent| agent.mark == id)
        }
        LifecycleAction::Stop => stationed.is_none(),
    };
    let what = format!("{action} of {name} was {}carried out", if done { "" } else { "not " });
    Ok(OrderOutcome { id, done, what })
}

fn failed(action: LifecycleAction, what: String) -> Failure {
    let code = match action {
        LifecycleAction::Spawn | LifecycleAction::Restart => Code::NoAgent,
        LifecycleAction::Stop => Code::Failure,
    };
    Failure::new(code, what).hint("see how it stands with: sayso agent list")
}

fn report(context: &CliContext<'_>, action: LifecycleAction, name: &str, came: &OrderOutcome) {
    let OrderOutcome { done, what, .. } = came;
    let out = context.out;
    if out.json {
        let (agent, action) = (name.to_owned(), action.to_string());
        out.json(&wire::AgentOutcome {
            agent,
            action,
            done: *done,
            what: what.clone(),
            gate: None,
        });
        return;
    }
    let mark = if *done {
        out.paint(OutputStyle::Good, out.icon("✓", "ok:"))
    } else {
        out.paint(OutputStyle::Warn, out.icon("…", "..."))
    };
    out.line(&format!("{mark} {}", sanitize_line(what)));
}

/// Acknowledges the answer: its asker has seen the outcome here.
fn acknowledge(desk: &Desk, actor: &Actor, id: GateId) -> Result<()> {
    match desk.gate(id) {
        Ok(gate) if actor.is_asker(&gate.opened.lineage) => {
            desk.acknowledge(actor, id)?;
            Ok(())
        }
        _ => Ok(()),
    }
}
