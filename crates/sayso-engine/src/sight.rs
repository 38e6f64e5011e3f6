//! Visibility: which gates, tasks, settings and spaces an actor may know of. A desk that was handed to an actor answers for
//! that actor, at every door alike, and a gate that is hidden is refused in the words for one that does not exist.

use crate::batch::not_found;
use crate::gates::may_read;
use crate::{Changes, LocalDesk, Result, SettingKind, load};
use sayso_core::gate::Gate;
use sayso_core::{Actor, Code, Deed, GateId, Refusal, Role, TaskId};
use sayso_store::{Found, Read, Setting};
use std::collections::HashMap;
use std::sync::Arc;

/// Settings that agents work by. Templates are answers, and a standing approval was asked for by another agent.
const SETTINGS_OF_ALL: [SettingKind; 4] =
    [SettingKind::Policy, SettingKind::Group, SettingKind::Role, SettingKind::Agent];

/// The actor that a desk answers, and the side it comes from.
#[derive(Clone)]
pub(crate) struct Reader {
    actor: Actor,
    /// True if the actor came to a server. A credential is for one space, and the names of the others are not for it.
    is_remote: bool,
}

impl LocalDesk {
    /// The same desk for an actor: what is hidden from the actor does not exist there.
    #[must_use]
    pub fn seen_by(&self, actor: &Actor) -> Self {
        self.read_by(actor, false)
    }

    /// The same for an actor who came to a server.
    #[must_use]
    pub fn served_to(&self, actor: &Actor) -> Self {
        self.read_by(actor, true)
    }

    fn read_by(&self, actor: &Actor, is_remote: bool) -> Self {
        let reader = Reader { actor: actor.clone(), is_remote };
        Self { reader: Some(Arc::new(reader)), ..self.clone() }
    }

    /// The actor this desk answers, where that is one who may not see what others ask.
    pub(crate) fn limited_reader(&self) -> Option<&Actor> {
        let actor = &self.reader.as_deref()?.actor;
        (!actor.may(Deed::Read)).then_some(actor)
    }

    /// Refuses what is for those who may see what others do.
    pub(crate) fn check_reader(&self, what: &str) -> Result<()> {
        self.limited_reader().map_or(Ok(()), |actor| self.check(actor, Deed::Read, what))
    }

    /// True if the spaces beside this one are hidden.
    pub(crate) fn hides_spaces(&self) -> bool {
        let reader = self.reader.as_deref();
        reader.is_some_and(|reader| reader.is_remote || !reader.actor.may(Deed::Read))
    }

    /// True if the reader may know of a task.
    pub(crate) fn shows_task(&self, id: TaskId) -> bool {
        self.limited_reader().is_none_or(|actor| may_know_task(actor, id))
    }

    /// Refuses a gate that is hidden from the actor.
    pub(crate) fn check_sees(&self, actor: &Actor, id: GateId) -> Result<()> {
        if may_know_all(actor) {
            return Ok(());
        }
        match self.stored_gate(id)? {
            Some(gate) if knows(actor, &gate) => Ok(()),
            _ => Err(self.hidden(actor, id).into()),
        }
    }

    /// A gate that was read for an actor, or the refusal it is hidden by.
    pub(crate) fn shown_to(&self, actor: &Actor, gate: Option<Gate>, id: GateId) -> Result<Gate> {
        match gate {
            Some(gate) if may_read(actor, &gate) => Ok(gate),
            Some(gate) if knows(actor, &gate) => {
                self.check(actor, Deed::Read, "read the gates of others")?;
                Ok(gate)
            }
            None if may_know_all(actor) => Err(not_found("gate", &id).into()),
            _ => Err(self.hidden(actor, id).into()),
        }
    }

    /// The refusal of a gate that is hidden, and of one that does not exist. Both are written down alike: else the log,
    /// or the time it takes, would tell one from the other.
    fn hidden(&self, actor: &Actor, id: GateId) -> Refusal {
        self.note_hidden(actor, &id);
        not_found("gate", &id)
    }

    /// Writes down that an actor named a gate that is none of its own, or does not exist.
    pub(crate) fn note_hidden(&self, actor: &Actor, named: &dyn std::fmt::Display) {
        let (role, name) = (actor.role.as_str(), &actor.name);
        let message =
            format!("{role} {name} may read its own gates only, and {named} is none of them");
        self.note_refusal(actor, &Refusal::new(Code::NotAllowed, message));
    }

    /// Of the settings that were found, those the reader may know.
    pub(crate) fn known_settings(&self, found: Vec<Setting>) -> Vec<Setting> {
        let is_of_all =
            |set: &Setting| SETTINGS_OF_ALL.iter().any(|kind| set.kind == kind.as_str());
        match self.limited_reader() {
            Some(_) => found.into_iter().filter(is_of_all).collect(),
            None => found,
        }
    }

    /// Of the tasks and gates that were found under a name, those the reader may know of.
    pub(crate) fn nameable(
        &self,
        read: &mut Read<'_>,
        found: Vec<(Found, String)>,
    ) -> Result<Vec<(Found, String)>> {
        let Some(actor) = self.limited_reader() else { return Ok(found) };
        let mut named = vec![];
        for (what, handle) in found {
            let is_known = match &what {
                Found::Task(id) => self.shows_task(*id),
                Found::Gate(id) => self.knows(read, actor, *id)?,
            };
            if is_known {
                named.push((what, handle));
            }
        }
        Ok(named)
    }

    /// True if an actor may know that a gate exists.
    pub(crate) fn knows(&self, read: &mut Read<'_>, actor: &Actor, id: GateId) -> Result<bool> {
        let gate = load::gate(read, id)?.map(|(gate, _)| gate);
        Ok(gate.is_some_and(|gate| gate.opened.space == self.space && knows(actor, &gate)))
    }

    /// The changes after an entry of the chain, as far as it is the actor's to know.
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
                None => self.look(|read| self.is_own(read, actor, id))?,
            };
            known.insert(id, is_own);
            own.extend(is_own.then_some(id));
        }
        Ok(Changes { gates: own, ..changes })
    }

    fn is_own(&self, read: &mut Read<'_>, actor: &Actor, id: GateId) -> Result<bool> {
        Ok(load::gate(read, id)?.is_some_and(|(gate, _)| may_read(actor, &gate)))
    }
}

/// True if every gate of the space is known to an actor: those who may read them, and people who may answer.
fn may_know_all(actor: &Actor) -> bool {
    actor.may(Deed::Read) || actor.may(Deed::Answer)
}

/// True if an actor may know that a gate exists. An agent in a later run on the same task knows what it asked before.
fn knows(actor: &Actor, gate: &Gate) -> bool {
    let opened = &gate.opened;
    may_know_all(actor) || may_read(actor, gate) || actor.follows(&opened.lineage, opened.task)
}

/// True if an actor may know of a task: those who work on tasks know all, and others the one they are bound to.
pub(crate) fn may_know_task(actor: &Actor, id: TaskId) -> bool {
    actor.may(Deed::Track) || actor.may(Deed::Read) || actor.task == Some(id)
}

/// Refuses a task that is hidden from an actor, in the words for one that does not exist.
pub(crate) fn check_knows_task(actor: &Actor, id: TaskId) -> Result<()> {
    match may_know_task(actor, id) {
        true => Ok(()),
        false => Err(not_found("task", &id).into()),
    }
}

/// True if messages to this name are the actor's own.
pub(crate) fn is_addressee(actor: &Actor, to: &str) -> bool {
    actor.role == Role::Agent && actor.name == to
}
