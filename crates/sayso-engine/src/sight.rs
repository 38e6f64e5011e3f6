//! What somebody from elsewhere gets to see who may not read what others ask: their own, and what their work
//! takes. Looks of the desk know no actor; this is where one is put before them.

use crate::gates::may_read;
use crate::remote::{answered, asked_for};
use crate::{Changes, GateFilter, LocalDesk, Result, SettingKind, load};
use sayso_core::{Actor, Deed, GateId};
use sayso_policy::Request;
use sayso_store::{Found, Read, Setting};
use std::collections::HashMap;
use std::sync::Arc;

/// What agents work by, of what is set. Templates are answers, and what is remembered was asked by others.
const SETTINGS_OF_ALL: [SettingKind; 4] =
    [SettingKind::Policy, SettingKind::Group, SettingKind::Role, SettingKind::Agent];

/// The answer to a look that is not the same for everybody; none where it is.
pub(crate) fn narrowed(
    desk: &LocalDesk,
    actor: &Actor,
    call: &str,
    arguments: &str,
) -> Option<Result<String>> {
    match call {
        // Whoever may not see every gate sees their own.
        "gate" => Some(gate(desk, actor, arguments)),
        "tick" => Some(tick(desk, actor, arguments)),
        // A credential is for one space, and the others are nobody's business.
        "spaces" => Some(own_space(desk)),
        _ if actor.may(Deed::Read) => None,
        "pending" => Some(pending(desk, actor, arguments)),
        "count_open_gates" => Some(count(desk, actor, arguments)),
        "settings" => Some(settings(desk, arguments)),
        "explain" => Some(explain(desk, actor, arguments)),
        _ => None,
    }
}

fn gate(desk: &LocalDesk, actor: &Actor, arguments: &str) -> Result<String> {
    let (id,): (GateId,) = asked_for(arguments)?;
    answered(&desk.gate_for(actor, id)?)
}

fn tick(desk: &LocalDesk, actor: &Actor, arguments: &str) -> Result<String> {
    let (id,): (GateId,) = asked_for(arguments)?;
    desk.gate_for(actor, id)?;
    answered(&desk.tick(id)?)
}

fn own_space(desk: &LocalDesk) -> Result<String> {
    let all = desk.spaces()?;
    answered(&all.into_iter().filter(|space| space.id == desk.space).collect::<Vec<_>>())
}

fn pending(desk: &LocalDesk, actor: &Actor, arguments: &str) -> Result<String> {
    let (id,): (GateId,) = asked_for(arguments)?;
    // Where no person was asked, the order has no gate, and only whoever made it knows its name.
    match desk.gate(id) {
        Ok(_) => drop(desk.gate_for(actor, id)?),
        Err(error) if error.code() == sayso_core::Code::NotFound => {}
        Err(error) => return Err(error),
    }
    answered(&desk.pending(id)?)
}

fn count(desk: &LocalDesk, actor: &Actor, arguments: &str) -> Result<String> {
    let (limit,): (usize,) = asked_for(arguments)?;
    let own = desk.gates(actor, GateFilter { limit, ..GateFilter::default() })?;
    answered(&own.items.len())
}

fn settings(desk: &LocalDesk, arguments: &str) -> Result<String> {
    let (kind,): (Option<SettingKind>,) = asked_for(arguments)?;
    let is_of_all = |set: &Setting| SETTINGS_OF_ALL.iter().any(|kind| set.kind == kind.as_str());
    answered(&desk.settings(kind)?.into_iter().filter(is_of_all).collect::<Vec<_>>())
}

/// The policy is known to those it is about; what was said to others is not.
fn explain(desk: &LocalDesk, actor: &Actor, arguments: &str) -> Result<String> {
    let (request,): (Request,) = asked_for(arguments)?;
    let (explained, remembered) = desk.explain(request)?;
    answered(&(explained, remembered.filter(|it| it.agent == actor.name)))
}

impl LocalDesk {
    /// The same desk for somebody who looks something up: what is suggested to them is theirs to read.
    #[must_use]
    pub fn seen_by(&self, actor: &Actor) -> Self {
        Self { reader: Some(Arc::new(actor.clone())), ..self.clone() }
    }

    /// Of what was found, whatever may be named to whoever looks.
    pub(crate) fn nameable(
        &self,
        read: &mut Read<'_>,
        found: Vec<(Found, String)>,
    ) -> Result<Vec<(Found, String)>> {
        let Some(actor) = self.reader.as_deref().filter(|actor| !actor.may(Deed::Read)) else {
            return Ok(found);
        };
        let mut named = vec![];
        for (what, handle) in found {
            let is_own = match &what {
                Found::Task(_) => true,
                Found::Gate(id) => is_own(read, actor, *id)?,
            };
            if is_own {
                named.push((what, handle));
            }
        }
        Ok(named)
    }

    /// What happened after an entry of the chain, as far as it is the actor's to know.
    pub fn changes_for(&self, actor: &Actor, seen: Option<u64>) -> Result<Changes> {
        let mut changes = self.changes(seen)?;
        if actor.may(Deed::Read) {
            return Ok(changes);
        }
        let mut known: HashMap<GateId, bool> = HashMap::new();
        let mut own = vec![];
        for id in std::mem::take(&mut changes.gates) {
            let is_own = match known.get(&id) {
                Some(is_own) => *is_own,
                None => self.look(|read| is_own(read, actor, id))?,
            };
            known.insert(id, is_own);
            own.extend(is_own.then_some(id));
        }
        Ok(Changes { gates: own, ..changes })
    }
}

fn is_own(read: &mut Read<'_>, actor: &Actor, id: GateId) -> Result<bool> {
    Ok(load::gate(read, id)?.is_some_and(|(gate, _)| may_read(actor, &gate)))
}
