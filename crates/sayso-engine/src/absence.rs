//! Absence: people who are away, and the deputy who answers for them meanwhile.

use crate::settings::SpaceSettings;
use crate::write_batch::WriteBatch;
use crate::{LocalDesk, Result, SettingChange, SettingKind};
use sayso_core::gate::{Absentee, Gate, GateCommand, Introduction, check_deputy};
use sayso_core::{Actor, Code, GateId, IdentityProof, Permission, Refusal, Role, Timestamp};
use sayso_store::ReadTransaction;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The maximum length of one absence. A longer one has to be renewed.
const AWAY_MICROS_MAX: i64 = 366 * 24 * 60 * 60 * 1_000_000;

/// The absence of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// The time at which the absence ends.
    pub until: Timestamp,
    /// The deputy, if there is one. Without a deputy, the person is notified of open gates after the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The proof with which the absence was set: the deputy may not answer gates that require a stronger one.
    pub proof: IdentityProof,
}

impl LocalDesk {
    /// Delegates a gate, and the gates on the same card, to a person who answers in the actor's place.
    pub fn delegate(&self, actor: &Actor, id: GateId, to: &str, reason: &str) -> Result<Gate> {
        // A caller who may not delegate is refused for that, and does not learn which people exist.
        if actor.may(Permission::Answer) {
            self.read(|read| self.check_stand_in(read, to))?;
        }
        let (to, reason) = (to.to_owned(), reason.to_owned());
        self.on_card(actor, id, GateCommand::Delegate { to, reason })
    }

    /// Sets the absence of the actor; `to` is the deputy.
    pub fn go_away(&self, actor: &Actor, until: Timestamp, to: Option<&str>) -> Result<Absence> {
        let to = to.map(str::to_owned);
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Answer, "be away")?;
            let away = Absence { until, to: to.clone(), proof: batch.actor.proof };
            check(&batch.actor.name, &away, batch.at)?;
            if let Some(to) = &to {
                batch.desk.check_stand_in(batch.write, to)?;
            }
            let body = serde_json::to_string(&away)
                .map_err(|e| sayso_store::Error::Other(e.to_string()))?;
            let name = batch.actor.name.clone();
            batch.set(&[SettingChange { kind: SettingKind::Away, name, body: Some(body) }])?;
            Ok(away)
        })
    }

    /// Ends the absence of the actor. True if the actor was away.
    pub fn come_back(&self, actor: &Actor) -> Result<bool> {
        self.submit(actor, |batch| {
            batch.actor.check(Permission::Answer, "be back")?;
            let name = batch.actor.name.clone();
            batch.end_absence(&name)
        })
    }

    /// Returns the people who are away now, by name.
    pub fn away(&self) -> Result<Vec<(String, Absence)>> {
        let rules = self.read(|read| self.rules(read))?;
        Ok(rules.away(self.now()))
    }

    /// Checks that this is a person who can answer for another: never an agent, and in a space with known people one
    /// of them. A gate that was delegated to an unknown name would never be answered.
    fn check_stand_in(&self, read: &mut ReadTransaction<'_>, name: &str) -> Result<()> {
        if name.starts_with('@') {
            let message = format!("{name} is a group, and one person stands in for another");
            return Err(Refusal::new(Code::BadValue, message).hint("name a person").into());
        }
        Ok(self.names(read)?.check_can_answer(name)?)
    }

    /// Returns the actor together with the people for whom the actor is deputy.
    pub(crate) fn speaking(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        at: Timestamp,
    ) -> Result<Actor> {
        if actor.role != Role::Human {
            return Ok(actor.clone());
        }
        let stands_for = self.rules(read)?.stands_for(&actor.name, at);
        Ok(Actor { stands_for, ..actor.clone() })
    }
}

impl WriteBatch<'_, '_> {
    /// Returns the actor of the batch together with the people for whom the actor is deputy.
    pub(crate) fn speaking(&mut self) -> Result<Actor> {
        self.desk.speaking(self.write, self.actor, self.at)
    }

    /// Returns the introductions of these people, and of those who introduced them, to the first.
    pub(crate) fn introductions(&mut self, people: BTreeSet<String>) -> Result<Vec<Introduction>> {
        let mut all = vec![];
        let mut names: Vec<_> = people.iter().cloned().collect();
        let mut known = people;
        while let Some(name) = names.pop() {
            for (by, at) in crate::ledger::introductions(self.write, self.space, &name)? {
                if known.insert(by.clone()) {
                    names.push(by.clone());
                }
                all.push(Introduction { name: name.clone(), by, at });
            }
        }
        Ok(all)
    }

    /// Ends the absence of a person. True if an absence was set, even one that had expired.
    pub(crate) fn end_absence(&mut self, name: &str) -> Result<bool> {
        let kind = SettingKind::Away;
        match crate::ledger::setting(self.write, self.space, kind, name)? {
            Some(_) => {
                Ok(self.set(&[SettingChange { kind, name: name.to_owned(), body: None }])? > 0)
            }
            None => Ok(false),
        }
    }
}

impl SpaceSettings {
    /// Returns the people who are away at a moment.
    pub(crate) fn away(&self, at: Timestamp) -> Vec<(String, Absence)> {
        let all = self.of::<Absence>(SettingKind::Away).into_iter();
        all.filter(|(_, away)| at < away.until)
            .map(|(name, away)| (name.to_owned(), away))
            .collect()
    }

    /// Returns the people who named this deputy. A deputy does not pass on absences, so delegation is not transitive.
    pub(crate) fn stands_for(&self, deputy: &str, at: Timestamp) -> Vec<Absentee> {
        let left = self.away(at).into_iter().filter(|(_, away)| away.to.as_deref() == Some(deputy));
        left.map(|(name, Absence { proof, .. })| Absentee { name, proof }).collect()
    }
}

/// Checks the end and the deputy of an absence.
fn check(name: &str, away: &Absence, at: Timestamp) -> std::result::Result<(), Refusal> {
    if away.until <= at || away.until > at.plus_micros(AWAY_MICROS_MAX) {
        return Err(Refusal::new(
            Code::BadValue,
            "one is away until a time to come, within a year",
        ));
    }
    away.to.iter().try_for_each(|to| check_deputy(name, to))
}
