//! Visibility: the gates, tasks, settings and spaces that an actor may know of. A desk for an actor applies it for
//! every interface, and a hidden gate is refused in the same words as one that does not exist.

use crate::gates::may_read;
use crate::write_batch::not_found;
use crate::{LocalDesk, Result, SettingKind, SpaceChanges, load};
use sayso_core::gate::Gate;
use sayso_core::{Actor, Code, GateId, Permission, Refusal, Role, TaskId};
use sayso_store::{NameMatch, ReadTransaction, StoredSetting};
use std::collections::HashMap;
use std::sync::Arc;

/// The settings that every agent may read, since agents work by them. Templates are answers, and a standing approval
/// may have been requested by another agent.
const SETTINGS_OF_ALL: [SettingKind; 4] =
    [SettingKind::Policy, SettingKind::Group, SettingKind::Role, SettingKind::Agent];

/// The actor whose visibility a desk applies.
#[derive(Clone)]
pub(crate) struct DeskReader {
    actor: Actor,
    /// True for the caller of a server. A credential is valid for one space, and must not reveal the names of others.
    is_remote: bool,
}

impl LocalDesk {
    /// Returns the desk for an actor, for whom hidden objects do not exist.
    #[must_use]
    pub fn as_reader(&self, actor: &Actor) -> Self {
        self.read_by(actor, false)
    }

    /// Returns the desk for the caller of a server.
    #[must_use]
    pub fn served_to(&self, actor: &Actor) -> Self {
        self.read_by(actor, true)
    }

    fn read_by(&self, actor: &Actor, is_remote: bool) -> Self {
        let reader = DeskReader { actor: actor.clone(), is_remote };
        Self { reader: Some(Arc::new(reader)), ..self.clone() }
    }

    /// Returns the actor of this desk if that may not see what others ask.
    pub(crate) fn limited_reader(&self) -> Option<&Actor> {
        let actor = &self.reader.as_deref()?.actor;
        (!actor.may(Permission::Read)).then_some(actor)
    }

    /// Refuses a query that requires the permission to read the space.
    pub(crate) fn check_reader(&self, what: &str) -> Result<()> {
        self.limited_reader().map_or(Ok(()), |actor| self.check(actor, Permission::Read, what))
    }

    /// True if other spaces of the store are hidden.
    pub(crate) fn hides_spaces(&self) -> bool {
        let reader = self.reader.as_deref();
        reader.is_some_and(|reader| reader.is_remote || !reader.actor.may(Permission::Read))
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

    /// Returns a gate if the actor may read it, or the refusal.
    pub(crate) fn shown_to(&self, actor: &Actor, gate: Option<Gate>, id: GateId) -> Result<Gate> {
        match gate {
            Some(gate) if may_read(actor, &gate) => Ok(gate),
            Some(gate) if knows(actor, &gate) => {
                self.check(actor, Permission::Read, "read the gates of others")?;
                Ok(gate)
            }
            None if may_know_all(actor) => Err(not_found("gate", &id).into()),
            _ => Err(self.hidden(actor, id).into()),
        }
    }

    /// Returns the refusal for a hidden gate, and for one that does not exist. Both are audited in the same way:
    /// otherwise the log, or the response time, would reveal the difference.
    fn hidden(&self, actor: &Actor, id: GateId) -> Refusal {
        self.note_hidden(actor, &id);
        not_found("gate", &id)
    }

    /// Audits that an actor named a gate that is not its own or does not exist.
    pub(crate) fn note_hidden(&self, actor: &Actor, named: &dyn std::fmt::Display) {
        let (role, name) = (actor.role.as_str(), &actor.name);
        let message =
            format!("{role} {name} may read its own gates only, and {named} is none of them");
        self.note_refusal(actor, &Refusal::new(Code::NotAllowed, message));
    }

    /// Filters settings by the visibility of the reader.
    pub(crate) fn known_settings(&self, found: Vec<StoredSetting>) -> Vec<StoredSetting> {
        let is_of_all =
            |set: &StoredSetting| SETTINGS_OF_ALL.iter().any(|kind| set.kind == kind.as_str());
        match self.limited_reader() {
            Some(_) => found.into_iter().filter(is_of_all).collect(),
            None => found,
        }
    }

    /// Filters tasks and gates that a name resolved to by the visibility of the reader.
    pub(crate) fn visible_names(
        &self,
        read: &mut ReadTransaction<'_>,
        found: Vec<(NameMatch, String)>,
    ) -> Result<Vec<(NameMatch, String)>> {
        let Some(actor) = self.limited_reader() else { return Ok(found) };
        let mut named = vec![];
        for (what, handle) in found {
            let is_known = match &what {
                NameMatch::Task(id) => self.shows_task(*id),
                NameMatch::Gate(id) => self.knows(read, actor, *id)?,
            };
            if is_known {
                named.push((what, handle));
            }
        }
        Ok(named)
    }

    /// True if an actor may know that a gate exists.
    pub(crate) fn knows(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        id: GateId,
    ) -> Result<bool> {
        let gate = load::gate(read, id)?.map(|(gate, _)| gate);
        Ok(gate.is_some_and(|gate| gate.opened.space == self.space && knows(actor, &gate)))
    }

    /// Returns the changes after an audit entry that are visible to the actor.
    pub fn changes_for(&self, actor: &Actor, seen: Option<u64>) -> Result<SpaceChanges> {
        let mut changes = self.changes(seen)?;
        if actor.may(Permission::Read) {
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
        Ok(SpaceChanges { gates: own, ..changes })
    }

    fn is_own(&self, read: &mut ReadTransaction<'_>, actor: &Actor, id: GateId) -> Result<bool> {
        Ok(load::gate(read, id)?.is_some_and(|(gate, _)| may_read(actor, &gate)))
    }
}

/// True if an actor may know every gate of the space: readers, and people who may answer.
fn may_know_all(actor: &Actor) -> bool {
    actor.may(Permission::Read) || actor.may(Permission::Answer)
}

/// True if an actor may know that a gate exists. An agent in a later run on the same task knows the gates of the
/// earlier runs.
fn knows(actor: &Actor, gate: &Gate) -> bool {
    let opened = &gate.opened;
    may_know_all(actor) || may_read(actor, gate) || actor.follows(&opened.lineage, opened.task)
}

/// True if an actor may know of a task: actors who work on tasks know all, others the one that they are bound to.
pub(crate) fn may_know_task(actor: &Actor, id: TaskId) -> bool {
    actor.may(Permission::Track) || actor.may(Permission::Read) || actor.task == Some(id)
}

/// Refuses a hidden task in the same words as one that does not exist.
pub(crate) fn check_knows_task(actor: &Actor, id: TaskId) -> Result<()> {
    if may_know_task(actor, id) { Ok(()) } else { Err(not_found("task", &id).into()) }
}

/// True if messages to this name are the actor's own.
pub(crate) fn is_addressee(actor: &Actor, to: &str) -> bool {
    actor.role == Role::Agent && actor.name == to
}
