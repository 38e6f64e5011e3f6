//! Nudges: types a line into the terminal of a managed agent that has unread messages or answers. The line is always
//! the same; text of people stays in the store until the agent reads it.
//!
//! A nudge is a notice in the outbox, written with the message or answer, under a key that stays the same. The
//! keyboard is the last way: an agent that hears by a hook, by MCP or by `sayso messages` needs no nudge, and one
//! with an open gate about a call gets none, since Enter at its client's menu would approve the call. A nudge that
//! may not be typed now is held, and tried again by the next sayso process that runs on the agent's machine. Typed
//! and withheld nudges are in the audit log.

use crate::write_batch::WriteBatch;
use crate::{
    AgentSupervisor, Desk, Error, LocalDesk, Result, RunningAgent, SettingKind, lifecycle,
};
use sayso_agents::{NudgeOutcome, SessionLocation};
use sayso_core::gate::{DeferredAction, DeliveryState, Gate};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, Code, GateId, GateKind, Permission, Refusal, Role, Timestamp};
use sayso_store::{GateFilter, OutboxNotice, ReadTransaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outbox channel of nudges; its suffix is the host.
const CHANNEL: &str = "nudge@";

/// The line that is typed.
const LINE: &str =
    "sayso has news for you: read it with `sayso messages`, and gates you asked with `sayso show`.";

/// The lease of a claimed nudge.
const LEASE_MICROS: i64 = 10_000_000;

/// The number of attempts when tmux itself fails. The message or answer is not lost with the nudge.
const TRIES_MAX: u32 = 3;

/// The maximum back-off before a held nudge is tried again.
const PAUSE_MICROS_MAX: i64 = 10_000_000;

/// The maximum number of an agent's open gates that are read. Nothing is typed to an agent with more.
const GATES_MAX: usize = 200;

/// The maximum number of characters of an error or reason.
const WHY_CHARS_MAX: usize = 300;

/// The maximum number of nudges claimed at once.
const AT_ONCE: usize = 100;

/// The recipient of a nudge: this agent, as long as it is the one that was started then.
#[derive(Serialize, Deserialize)]
struct NudgeTarget {
    agent: String,
    mark: GateId,
}

/// Queues a nudge for an agent, if it runs in a terminal. `set_audit_subject` names the message or gate.
pub(crate) fn nudge(batch: &mut WriteBatch<'_, '_>, agent: &str, about: &str) -> Result<()> {
    let Some(at) = stationed(batch, agent)? else { return Ok(()) };
    if !matches!(at.place, SessionLocation::Tmux { .. }) {
        return Ok(());
    }
    let nudge = NudgeTarget { agent: agent.to_owned(), mark: at.mark };
    let body = serde_json::to_string(&nudge)
        .map_err(|e| sayso_store::Error::Other(format!("a nudge cannot be written: {e}")))?;
    let (id, channel) = (format!("nudge/{about}"), format!("{CHANNEL}{}", at.host));
    batch.notices.push(OutboxNotice { id, space: batch.space, channel, body, attempts: 0 });
    Ok(())
}

/// Returns the session of an agent, from the cached settings. Unreadable rules must not keep an agent from its
/// messages.
fn stationed(batch: &mut WriteBatch<'_, '_>, agent: &str) -> Result<Option<RunningAgent>> {
    match batch.desk.rules(batch.write) {
        Ok(rules) => lifecycle::stationed_at(agent, rules.one(SettingKind::Station, agent)),
        Err(Error::Refused(_)) => lifecycle::stationed(batch.write, batch.space, agent),
        Err(error) => Err(error),
    }
}

/// Queues a nudge for the asker of a gate that another actor ended.
pub(crate) fn nudge_asker(batch: &mut WriteBatch<'_, '_>, gate: &Gate) -> Result<()> {
    let lineage = &gate.opened.lineage;
    if lineage.role == Role::Agent && !batch.actor.is_asker(lineage) {
        nudge(batch, &lineage.asker.clone(), &format!("gate/{}", gate.opened.id))
    } else {
        Ok(())
    }
}

/// A claimed nudge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedNudge {
    id: String,
    attempts: u32,
    agent: String,
    mark: GateId,
}

/// The outcome of one attempt at a nudge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NudgeEnd {
    /// The line was typed and entered.
    Typed,
    /// It may not be typed now. It is tried again.
    Held(String),
    /// It could not be typed. It is retried a few times.
    Failed(String),
    /// It will not be typed.
    Withheld(String),
}

impl Desk {
    /// Nudges the agents of this machine that have unread messages or answers, each once.
    pub fn carry_nudges(&self, keeper: &AgentSupervisor) -> Result<usize> {
        let mut agents: BTreeMap<(String, GateId), Vec<ClaimedNudge>> = BTreeMap::new();
        for nudge in self.claim_nudges(&keeper.host)? {
            agents.entry((nudge.agent.clone(), nudge.mark)).or_default().push(nudge);
        }
        let mut nudged = 0;
        for ((agent, mark), nudges) in agents {
            let end = self.type_to(keeper, &agent, mark)?;
            nudged += usize::from(end == NudgeEnd::Typed);
            for nudge in &nudges {
                self.end_nudge(nudge, &end)?;
            }
        }
        Ok(nudged)
    }

    /// Types the line to an agent, if it is still the one that was meant, and at its prompt.
    fn type_to(&self, keeper: &AgentSupervisor, agent: &str, mark: GateId) -> Result<NudgeEnd> {
        let at = self.stationed(agent)?.filter(|at| at.mark == mark && at.host == keeper.host);
        let Some(at) = at else {
            return Ok(NudgeEnd::Withheld("the agent it was for does not run any more".into()));
        };
        let kind = match self.member(agent) {
            Ok(member) => member.spec.prompt_kind(),
            Err(Error::Refused(refusal)) => return Ok(NudgeEnd::Withheld(refusal.message)),
            Err(error) => return Err(error),
        };
        let mut holds_back = || self.why_held_back(agent);
        let outcome = keeper.stations().nudge(&at.place, &kind, LINE, &mut holds_back);
        Ok(match outcome {
            Ok(NudgeOutcome::Entered) => NudgeEnd::Typed,
            // The content of the agent's screen must not reach the readers of the outbox.
            Ok(NudgeOutcome::NotNow { why, .. }) => NudgeEnd::Held(why),
            Ok(NudgeOutcome::Never { why }) => NudgeEnd::Withheld(why),
            Err(error) => NudgeEnd::Failed(error.to_string()),
        })
    }

    /// Types a person's line to an agent, under the same rules. Agents may not type to other agents: the typist may
    /// say anything.
    pub fn nudge(
        &self,
        actor: &Actor,
        keeper: &AgentSupervisor,
        name: &str,
        text: &str,
    ) -> Result<()> {
        self.check(actor, Permission::Read, "type to other agents")?;
        self.check(actor, Permission::Track, "type to agents")?;
        let (at, spec) = self.local_agent(keeper, name)?;
        let mut holds_back = || self.why_held_back(name);
        let outcome =
            keeper.stations().nudge(&at.place, &spec.prompt_kind(), text, &mut holds_back);
        match outcome.map_err(|error| crate::supervisor::out_of_reach(name, &error))? {
            NudgeOutcome::Entered => self.note_nudge(actor, name, text),
            NudgeOutcome::NotNow { why, screen } => {
                let shows = if screen.is_empty() { "nothing".to_owned() } else { screen };
                Err(not_at_prompt(name, &format!("{why}. The end of its screen: {shows}")).into())
            }
            NudgeOutcome::Never { why } => Err(not_at_prompt(name, &why).into()),
        }
    }

    /// Returns the reason for which nothing may be typed to an agent now. Fails closed: an error is a reason.
    fn why_held_back(&self, agent: &str) -> Option<String> {
        self.nudge_held_back(agent)
            .unwrap_or_else(|error| Some(format!("its open gates cannot be read: {error}")))
    }
}

fn not_at_prompt(name: &str, why: &str) -> Refusal {
    Refusal::new(Code::NotAtPrompt, format!("nothing was entered at {name}: {why}")).hint(format!(
        "type there yourself with: sayso agent attach {name}; or leave it a message that is kept: \
         sayso tell {name} TEXT"
    ))
}

impl LocalDesk {
    /// True if a nudge is queued, for any machine.
    pub fn has_nudges(&self) -> Result<bool> {
        self.read(|read| Ok(!read.notices_under_way(self.space, CHANNEL, 1)?.is_empty()))
    }

    /// Claims the nudges for agents of a machine. In the same transaction, nudges whose message was read meanwhile
    /// are dropped, and those for an agent with an open gate about a call are held.
    pub fn claim_nudges(&self, host: &str) -> Result<Vec<ClaimedNudge>> {
        let channel = format!("{CHANNEL}{host}");
        let waits = self.read(|read| Ok(read.notices_under_way(self.space, &channel, 1)?))?;
        if waits.iter().all(|nudge| nudge.due_at > self.now()) {
            return Ok(vec![]);
        }
        self.submit(&self.keeper(), move |batch| {
            let (space, now) = (batch.space, batch.at);
            let until = now.plus_micros(LEASE_MICROS);
            let claimed =
                batch.write.claim_notices(space, &[channel.as_str()], now, until, AT_ONCE)?;
            let mut taken = vec![];
            for notice in claimed {
                taken.extend(prepare_claimed(batch, notice)?);
            }
            Ok(taken)
        })
    }

    /// Returns the reason for which nothing may be typed to an agent now, or none.
    pub fn nudge_held_back(&self, agent: &str) -> Result<Option<String>> {
        self.read(|read| held_back(read, self.space, agent))
    }

    /// Records the outcome of an attempt.
    pub fn end_nudge(&self, nudge: &ClaimedNudge, end: &NudgeEnd) -> Result<()> {
        let (nudge, end) = (nudge.clone(), end.clone());
        self.submit(&self.keeper(), move |batch| {
            let ClaimedNudge { id, attempts, agent, .. } = &nudge;
            match &end {
                NudgeEnd::Typed => {
                    let about = about_in_words(batch, id)?;
                    batch.set_audit_subject(
                        "agent.nudged",
                        agent,
                        None,
                        &format!("typed: news of {about}"),
                    );
                    Ok(batch.write.settle_notice(id, batch.at)?)
                }
                NudgeEnd::Failed(why) if *attempts >= TRIES_MAX => withhold(batch, id, agent, why),
                NudgeEnd::Withheld(why) => withhold(batch, id, agent, why),
                NudgeEnd::Held(why) | NudgeEnd::Failed(why) => hold(batch, id, *attempts, why),
            }
        })
    }
}

/// Returns a claimed nudge if it is to be tried now; otherwise drops, withholds or holds it.
fn prepare_claimed(
    batch: &mut WriteBatch<'_, '_>,
    notice: OutboxNotice,
) -> Result<Option<ClaimedNudge>> {
    let OutboxNotice { id, attempts, body, .. } = notice;
    let Ok(NudgeTarget { agent, mark }) = serde_json::from_str(&body) else {
        withhold(batch, &id, "", "the nudge cannot be read")?;
        return Ok(None);
    };
    if is_heard(batch, &id)? {
        batch.write.drop_notice(&id, "it was heard another way", batch.at)?;
        return Ok(None);
    }
    if let Some(why) = held_back(batch.write, batch.space, &agent)? {
        hold(batch, &id, attempts, &why)?;
        return Ok(None);
    }
    Ok(Some(ClaimedNudge { id, attempts, agent, mark }))
}

/// True if the agent has already received the message or answer that the nudge is about.
fn is_heard(batch: &mut WriteBatch<'_, '_>, id: &str) -> Result<bool> {
    let Some((what, about)) = id.strip_prefix("nudge/").and_then(|id| id.split_once('/')) else {
        return Ok(false);
    };
    Ok(match what {
        "message" => {
            let message = batch.write.message(batch.space, about)?;
            message.is_some_and(|message| message.read_at.is_some())
        }
        "gate" => match about.parse() {
            Ok(gate) => batch.gate(gate)?.is_some_and(|gate| match gate.delivery {
                DeliveryState::Delivered { .. } | DeliveryState::Acknowledged { .. } => true,
                DeliveryState::None
                | DeliveryState::Pending { .. }
                | DeliveryState::Failed { .. }
                | DeliveryState::Never { .. } => false,
            }),
            Err(_) => false,
        },
        _ => false,
    })
}

/// Returns a reason to type nothing to an agent: a gate about a call of its own is open, so its client may show a
/// menu that the line would answer.
fn held_back(
    read: &mut ReadTransaction<'_>,
    space: sayso_core::SpaceId,
    agent: &str,
) -> Result<Option<String>> {
    let filter = GateFilter {
        asker: Some(agent.to_owned()),
        kinds: vec![GateKind::Tool, GateKind::Decision],
        limit: GATES_MAX,
        ..GateFilter::default()
    };
    let open = read.gates(space, &filter)?;
    let is_about_call = |gate: &&Gate| match &gate.opened.held {
        Some(DeferredAction::Call { .. }) => true,
        Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }) | None => {
            gate.opened.kind == GateKind::Tool
        }
    };
    Ok(match open.items.iter().find(is_about_call) {
        Some(gate) => Some(format!("gate {} about a call of its own is open", gate.handle())),
        None => open.more.then(|| format!("it has more than {GATES_MAX} open gates")),
    })
}

fn hold(batch: &mut WriteBatch<'_, '_>, id: &str, attempts: u32, why: &str) -> Result<()> {
    let retry = held_until(batch.at, attempts);
    Ok(batch.write.fail_notice(id, &shorten(&sanitize_line(why), WHY_CHARS_MAX), retry)?)
}

fn held_until(now: Timestamp, attempts: u32) -> Timestamp {
    let pause = 1_000_000_i64.saturating_mul(1 << attempts.min(20));
    now.plus_micros(pause.min(PAUSE_MICROS_MAX))
}

fn withhold(batch: &mut WriteBatch<'_, '_>, id: &str, agent: &str, why: &str) -> Result<()> {
    let why = shorten(&sanitize_line(why), WHY_CHARS_MAX);
    let about = about_in_words(batch, id)?;
    // Each nudge of a batch has an audit entry of its own.
    batch.start_audit_entry();
    batch.set_audit_subject(
        "agent.nudge_withheld",
        agent,
        None,
        &format!("news of {about}: {why}"),
    );
    Ok(batch.write.drop_notice(id, &why, batch.at)?)
}

/// Returns the handle of the message or gate that a nudge is about.
fn about_in_words(batch: &mut WriteBatch<'_, '_>, id: &str) -> Result<String> {
    let about = id.strip_prefix("nudge/").unwrap_or(id).to_owned();
    let Some((what, id)) = about.split_once('/') else { return Ok(about) };
    let handle = match (what, id.parse::<GateId>()) {
        ("gate", Ok(gate)) => batch.gate(gate)?.map(|gate| gate.handle().to_owned()),
        _ => batch.write.message(batch.space, id)?.map(|message| message.handle),
    };
    Ok(handle.map_or_else(|| about.clone(), |handle| format!("{what} {handle}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_looked_at_again_before_long() {
        let at = Timestamp::from_micros(0);
        let pauses: Vec<_> =
            [1, 2, 4, 5, 60].map(|tries| held_until(at, tries).as_micros() / 1_000_000).into();
        assert_eq!(pauses, [2, 4, 10, 10, 10]);
    }
}
