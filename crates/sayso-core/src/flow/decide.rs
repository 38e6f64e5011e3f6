//! Decides the commands of a flow: returns the events to append, or a refusal.

use super::{
    DEFINITION_BYTES_MAX, Flow, FlowAdvance, FlowCommand, FlowEndKind, FlowHome, FlowLogEvent,
    FlowSpec, ITEMS_MAX, LeaseClaim, NAME_BYTES_MAX, POSITIONS_MAX, STATE_BYTES_MAX, StepRecord,
    WHY_CHARS_MAX, apply, check_home,
};
use crate::{Actor, Code, Permission, Refusal, Timestamp};
use serde_json::Value;

/// Decides a command. A repeated command returns no events and no refusal (idempotent).
pub fn decide(
    flow: Option<&Flow>,
    command: &FlowCommand,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<FlowLogEvent>, Refusal> {
    // An agent that works in a flow does not lead it: it could skip the people in it.
    actor.check(Permission::Operate, "lead a flow")?;
    let Some(flow) = flow else {
        return match command {
            FlowCommand::Start(started) => start(started),
            FlowCommand::Advance(_) | FlowCommand::Cancel { .. } => {
                Err(Refusal::new(Code::NotFound, "there is no such flow"))
            }
        };
    };
    match command {
        FlowCommand::Start(started) if is_same(&flow.started, started) => Ok(vec![]),
        FlowCommand::Start(started) => {
            let message =
                format!("id {} is flow {}, which began otherwise", started.id, name(flow));
            Err(Refusal::new(Code::Clash, message).hint("start it under another key"))
        }
        FlowCommand::Advance(advance) => self::advance(flow, advance, actor, at),
        FlowCommand::Cancel { reason } => cancel(flow, reason, actor),
    }
}

/// True if both start the same flow. The desk assigns a new handle to each request, and a repeated start may come
/// from another actor.
fn is_same(before: &FlowSpec, now: &FlowSpec) -> bool {
    let FlowSpec { handle, launcher, launcher_role, place, .. } = before.clone();
    FlowSpec { handle, launcher, launcher_role, place, ..now.clone() } == *before
}

fn start(started: &FlowSpec) -> Result<Vec<FlowLogEvent>, Refusal> {
    check_name("workflow", &started.workflow)?;
    check_name("phase", &started.phase)?;
    check_state(&started.state)?;
    let definition = started.definition.as_deref().unwrap_or_default();
    if definition.len() > DEFINITION_BYTES_MAX {
        let message = format!("a workflow of {} bytes is too large", definition.len());
        let hint = format!("at most {DEFINITION_BYTES_MAX} bytes; put long prompts into files");
        return Err(Refusal::new(Code::TooLarge, message).hint(hint));
    }
    Ok(vec![FlowLogEvent::Started(Box::new(started.clone()))])
}

fn advance(
    flow: &Flow,
    advance: &FlowAdvance,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<FlowLogEvent>, Refusal> {
    check_is_live(flow)?;
    let mut events = claim(flow, &advance.claim, actor, at)?;
    if advance.position != flow.position {
        let message = format!(
            "flow {} stands in {:?}, its phase number {}, not in number {}",
            name(flow),
            flow.phase,
            flow.position,
            advance.position
        );
        return Err(Refusal::new(Code::Fenced, message).hint("somebody else went on with it"));
    }
    let mut now = events.iter().fold(flow.clone(), |flow, event| fold(flow, event, at));
    for step in &advance.steps {
        check_is_live(&now)?;
        if let Some(event) = self::step(&now, step)? {
            now = fold(now, &event, at);
            events.push(event);
        }
    }
    Ok(events)
}

fn fold(flow: Flow, event: &FlowLogEvent, at: Timestamp) -> Flow {
    let before = flow.clone();
    apply(Some(flow), event, at).unwrap_or(before)
}

/// Grants or checks the lease: with two runners each step would be done twice.
fn claim(
    flow: &Flow,
    claim: &LeaseClaim,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<FlowLogEvent>, Refusal> {
    match claim {
        // An expired lease still counts until another runner takes the flow: the fencing number tells who was last.
        LeaseClaim::Held(fence) if flow.hold.is_some() && *fence == flow.fence => Ok(vec![]),
        LeaseClaim::Held(fence) => {
            let message = format!("flow {} is no longer held under number {fence}", name(flow));
            Err(Refusal::new(Code::Fenced, message).hint("somebody else went on with it"))
        }
        LeaseClaim::Take { holder, until, dead, place, adopts } => {
            let home = match check_home(flow, actor, place.as_ref()) {
                Ok(()) => None,
                Err(refusal) if !adopts || place.is_none() => return Err(refusal),
                Err(_) => place.as_ref().map(|place| FlowHome::of(actor, place)),
            };
            let is_taken = flow.hold.as_ref().is_some_and(|hold| {
                let is_dead = *dead == Some(flow.fence) && hold.holder.host == holder.host;
                at < hold.until && !is_dead
            });
            if is_taken {
                let message = format!("somebody else goes on with flow {} just now", name(flow));
                return Err(Refusal::new(Code::WrongState, message)
                    .hint("it can be taken when they end, or are not heard of for a while"));
            }
            let fence = flow.fence.saturating_add(1);
            let adopted = home.map(|home| FlowLogEvent::Adopted { home });
            let taken = FlowLogEvent::Taken { fence, holder: holder.clone(), until: *until };
            Ok(adopted.into_iter().chain([taken]).collect())
        }
    }
}

fn step(flow: &Flow, step: &StepRecord) -> Result<Option<FlowLogEvent>, Refusal> {
    match step {
        StepRecord::Complete { item, output, state } => {
            check_item(*item)?;
            check_states(&[Some(output), state.as_ref()])?;
            match flow.outputs.get(item) {
                Some(before) if before == output => Ok(None),
                Some(_) => Err(twice(flow, "it has been done, and gave something else")),
                None => {
                    let (output, state) = (output.clone(), state.clone());
                    Ok(Some(FlowLogEvent::Completed { item: *item, output, state }))
                }
            }
        }
        StepRecord::Ask { item, gate } => {
            check_item(*item)?;
            match flow.asked.get(item) {
                Some(before) if before == gate => Ok(None),
                Some(_) => Err(twice(flow, "something else was asked there")),
                None => Ok(Some(FlowLogEvent::Asked { item: *item, gate: *gate })),
            }
        }
        StepRecord::Hear { item, heard, state } => {
            check_states(&[state.as_ref()])?;
            if flow.asked.get(item) != heard.gate.as_ref() {
                let message = format!("flow {} did not ask that in {:?}", name(flow), flow.phase);
                return Err(Refusal::new(Code::Clash, message)
                    .hint("an answer counts for the question it was given to"));
            }
            match flow.heard.get(item) {
                Some(before) if before == heard => Ok(None),
                Some(_) => Err(twice(flow, "it has heard something else there")),
                None => {
                    let (heard, state) = (Box::new(heard.clone()), state.clone());
                    Ok(Some(FlowLogEvent::Heard { item: *item, heard, state }))
                }
            }
        }
        StepRecord::Move { to, state } => {
            check_name("phase", to)?;
            check_states(&[state.as_ref()])?;
            check_has_heard(flow)?;
            if flow.position >= POSITIONS_MAX {
                let message = format!(
                    "flow {} has entered {POSITIONS_MAX} phases and is not at its end",
                    name(flow)
                );
                return Err(Refusal::new(Code::TooLarge, message)
                    .hint("it walks in circles: let a phase end the loop"));
            }
            Ok(Some(FlowLogEvent::Moved { to: to.clone(), state: state.clone() }))
        }
        StepRecord::Keep { until } => {
            // A renewal that arrives late does not shorten the lease.
            let is_later = flow.hold.as_ref().is_some_and(|hold| *until > hold.until);
            Ok(is_later.then_some(FlowLogEvent::Kept { until: *until }))
        }
        StepRecord::Stuck { why } => {
            let why = why.chars().take(WHY_CHARS_MAX).collect();
            Ok(Some(FlowLogEvent::Stuck { why }))
        }
        StepRecord::Release => Ok(flow.hold.is_some().then_some(FlowLogEvent::Released)),
        StepRecord::End { how, note, state } => {
            check_states(&[state.as_ref()])?;
            check_has_heard(flow)?;
            Ok(Some(FlowLogEvent::Ended { how: *how, note: note.clone(), state: state.clone() }))
        }
    }
}

fn cancel(flow: &Flow, reason: &str, actor: &Actor) -> Result<Vec<FlowLogEvent>, Refusal> {
    match &flow.ending {
        None => {
            let by = &actor.name;
            let note =
                if reason.is_empty() { format!("by {by}") } else { format!("by {by}: {reason}") };
            let how = FlowEndKind::Cancelled;
            Ok(vec![FlowLogEvent::Ended { how, note, state: None }])
        }
        Some(ending) if ending.how == FlowEndKind::Cancelled => Ok(vec![]),
        Some(_) => Err(over(flow)),
    }
}

/// Checks that no question of the phase is still open: a flow cannot skip one.
fn check_has_heard(flow: &Flow) -> Result<(), Refusal> {
    if !flow.is_waiting() {
        return Ok(());
    }
    let message = format!("flow {} still waits for people in {:?}", name(flow), flow.phase);
    Err(Refusal::new(Code::WrongState, message))
}

fn check_is_live(flow: &Flow) -> Result<(), Refusal> {
    if flow.is_live() { Ok(()) } else { Err(over(flow)) }
}

fn over(flow: &Flow) -> Refusal {
    Refusal::new(Code::WrongState, format!("flow {} is {}", name(flow), flow.basic_status()))
}

fn twice(flow: &Flow, what: &str) -> Refusal {
    Refusal::new(Code::Clash, format!("flow {}, phase {:?}: {what}", name(flow), flow.phase))
}

fn name(flow: &Flow) -> &str {
    &flow.started.handle
}

fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    let is_readable = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if is_readable && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let message = format!("{name:?} is no name of a {what}");
    Err(Refusal::new(Code::BadValue, message).hint("a few words, without line breaks"))
}

fn check_item(item: u32) -> Result<(), Refusal> {
    if item < ITEMS_MAX {
        return Ok(());
    }
    let message = format!("a phase is done in at most {ITEMS_MAX} pieces");
    Err(Refusal::new(Code::TooLarge, message).hint("walk through them in several rounds"))
}

fn check_states(states: &[Option<&Value>]) -> Result<(), Refusal> {
    states.iter().flatten().try_for_each(|state| check_state(state))
}

fn check_state(state: &Value) -> Result<(), Refusal> {
    let bytes = serde_json::to_string(state).map_or(usize::MAX, |text| text.len());
    if bytes <= STATE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("{bytes} bytes are too much for a flow to carry along");
    let hint = format!(
        "at most {STATE_BYTES_MAX} bytes; keep large things in files and carry their names"
    );
    Err(Refusal::new(Code::TooLarge, message).hint(hint))
}
