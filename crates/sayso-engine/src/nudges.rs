//! Nudges: an agent that lives in a terminal is told that there is something to hear. What is typed is
//! always the same line; what people wrote stays where it is until the agent reads it.
//!
//! A nudge is a notice in the outbox, written with what there is to hear, under a key that stays the
//! same. Whichever sayso runs next on the agent's machine types it.

use crate::batch::Batch;
use crate::{Desk, Error, Keeper, LocalDesk, Result, SettingKind, Stationed, lifecycle};
use sayso_agents::Where;
use sayso_core::gate::Gate;
use sayso_core::{GateId, Role};
use sayso_store::Notice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The channel of nudges; behind it stands the machine.
const CHANNEL: &str = "nudge@";

/// What is typed.
const LINE: &str =
    "sayso has news for you: read it with `sayso messages`, and gates you asked with `sayso show`.";

/// How long whoever took a nudge is left alone with it.
const LEASE_MICROS: i64 = 10_000_000;

/// How often a nudge is tried. What it is about is not lost with it.
const TRIES_MAX: u32 = 3;

/// How many are looked at together.
const AT_ONCE: usize = 100;

/// Who is to be nudged: this agent, as long as it is the one that was started then.
#[derive(Serialize, Deserialize)]
struct Nudge {
    agent: String,
    mark: GateId,
}

/// Notes that an agent is to be nudged, if it lives in a terminal. `about` names what there is to hear.
pub(crate) fn nudge(batch: &mut Batch<'_, '_>, agent: &str, about: &str) -> Result<()> {
    let Some(at) = stationed(batch, agent)? else { return Ok(()) };
    if !matches!(at.place, Where::Tmux { .. }) {
        return Ok(());
    }
    let nudge = Nudge { agent: agent.to_owned(), mark: at.mark };
    let body = serde_json::to_string(&nudge)
        .map_err(|e| sayso_store::Error::Other(format!("a nudge cannot be written: {e}")))?;
    let (id, channel) = (format!("nudge/{about}"), format!("{CHANNEL}{}", at.host));
    batch.notices.push(Notice { id, space: batch.space, channel, body, attempts: 0 });
    Ok(())
}

/// Where an agent runs, from what is kept of the settings. Rules that cannot be read keep nobody from hearing
/// what there is to hear.
fn stationed(batch: &mut Batch<'_, '_>, agent: &str) -> Result<Option<Stationed>> {
    match batch.desk.rules(batch.write) {
        Ok(rules) => lifecycle::stationed_at(agent, rules.one(SettingKind::Station, agent)),
        Err(Error::Refused(_)) => lifecycle::stationed(batch.write, batch.space, agent),
        Err(error) => Err(error),
    }
}

/// The same for whoever asked, when its gate has ended by somebody else.
pub(crate) fn nudge_asker(batch: &mut Batch<'_, '_>, gate: &Gate) -> Result<()> {
    let lineage = &gate.opened.lineage;
    match lineage.role == Role::Agent && !batch.actor.is_asker(lineage) {
        true => nudge(batch, &lineage.asker.clone(), &format!("gate/{}", gate.opened.id)),
        false => Ok(()),
    }
}

/// A nudge that was taken, to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenNudge {
    id: String,
    attempts: u32,
    agent: String,
    mark: Option<GateId>,
}

impl Desk {
    /// Nudges the agents of this machine that there is something to hear for, each once.
    pub fn carry_nudges(&self, keeper: &Keeper) -> Result<usize> {
        let mut agents: BTreeMap<String, Vec<TakenNudge>> = BTreeMap::new();
        for nudge in self.take_nudges(&keeper.host)? {
            agents.entry(nudge.agent.clone()).or_default().push(nudge);
        }
        let mut nudged = 0;
        for (agent, nudges) in agents {
            let mark = nudges.iter().rev().find_map(|nudge| nudge.mark);
            let failed = self.type_to(keeper, &agent, mark)?;
            nudged += usize::from(failed.is_none());
            for nudge in &nudges {
                self.settle_nudge(nudge, failed.as_deref())?;
            }
        }
        Ok(nudged)
    }

    /// Types the line to an agent, if it is still the one that was meant. Why it did not work, if so.
    fn type_to(
        &self,
        keeper: &Keeper,
        agent: &str,
        mark: Option<GateId>,
    ) -> Result<Option<String>> {
        let at = self.stationed(agent)?;
        let Some(at) = at.filter(|at| Some(at.mark) == mark && at.host == keeper.host) else {
            return Ok(None);
        };
        let typed = keeper.stations().nudge(&at.place, LINE);
        Ok(typed.err().map(|error| error.to_string()))
    }
}

impl LocalDesk {
    /// Whether an agent is to be nudged, here or elsewhere.
    pub fn has_nudges(&self) -> Result<bool> {
        self.read(|read| Ok(!read.notices_under_way(self.space, CHANNEL, 1)?.is_empty()))
    }

    /// Takes what agents of a machine are to be nudged for.
    pub fn take_nudges(&self, host: &str) -> Result<Vec<TakenNudge>> {
        let channel = format!("{CHANNEL}{host}");
        let waits = self.read(|read| Ok(read.notices_under_way(self.space, &channel, 1)?))?;
        if waits.iter().all(|nudge| nudge.due_at > self.now()) {
            return Ok(vec![]);
        }
        let (space, now) = (self.space, self.now());
        let until = now.plus_micros(LEASE_MICROS);
        let taken = self.store.write(move |write| {
            write.claim_notices(space, &[channel.as_str()], now, until, AT_ONCE)
        })?;
        let nudge = |notice: Notice| {
            let nudge = serde_json::from_str::<Nudge>(&notice.body).ok();
            TakenNudge {
                id: notice.id,
                attempts: notice.attempts,
                agent: nudge.as_ref().map(|nudge| nudge.agent.clone()).unwrap_or_default(),
                mark: nudge.map(|nudge| nudge.mark),
            }
        };
        Ok(taken.into_iter().map(nudge).collect())
    }

    /// A nudge was carried out, or `failed`: then it is tried again, a few times.
    pub fn settle_nudge(&self, nudge: &TakenNudge, failed: Option<&str>) -> Result<()> {
        match failed {
            Some(why) if nudge.attempts < TRIES_MAX => {
                self.put_off_notice(&nudge.id, nudge.attempts, why)
            }
            Some(_) | None => self.settle_notice(&nudge.id),
        }
    }
}
