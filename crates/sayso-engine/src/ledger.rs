//! Event log of credentials, people and settings: each change writes an event, and each row is compared with its
//! events before a decision relies on it.

use crate::load::{check_covers, check_is_covered, event, tampered};
use crate::write_batch::WriteBatch;
use crate::{Result, SettingKind, TokenRow};
use sayso_core::audit::{AuditOutcome, ChainVerifier};
use sayso_core::run::{self, Run, RunState};
use sayso_core::{Digest, Role, RunId, SpaceId, Timestamp, TokenId};
use sayso_store::{
    CredentialRecord, EventRow, InvitationRow, ReadTransaction, SettingRows, SpaceMember,
    StoredSetting,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The event that created a credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MintEvent {
    event: String,
    token: TokenRow,
    /// The digest of the stored hash of the secret.
    secret: Digest,
}

impl MintEvent {
    fn of(token: &TokenRow) -> Self {
        let token = TokenRow { hash: String::new(), revoked_at: None, ..token.clone() };
        Self { event: "minted".into(), token, secret: Digest::of_bytes(b"") }
    }

    fn with_secret(token: &TokenRow) -> Self {
        Self { secret: Digest::of_bytes(token.hash.as_bytes()), ..Self::of(token) }
    }

    /// The run whose agent it is for.
    pub(crate) fn run(&self) -> Option<RunId> {
        self.token.run
    }

    /// True if a row equals the credential that was created, apart from its revocation.
    pub(crate) fn is_of(&self, token: &TokenRow) -> bool {
        *self == Self::with_secret(token)
    }
}

/// The state of a person according to the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PersonLog {
    /// Set if the person is admitted; true for an admin.
    pub(crate) admin: Option<bool>,
    /// The digest of the stored passphrase hash.
    pub(crate) passphrase: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum PersonEvent {
    Joined {
        is_admin: bool,
        /// The person who admitted them. Older versions kept that with the invitation alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A credential was made for them by another.
    Introduced {
        by: String,
    },
    PassphraseSet {
        hash: Digest,
    },
    Dismissed,
}

impl PersonLog {
    /// Folds the events of a person's stream.
    pub(crate) fn of(rows: &[EventRow]) -> Result<Self> {
        let mut log = Self::default();
        for row in rows {
            match event::<PersonEvent>(row)? {
                PersonEvent::Joined { is_admin, .. } => {
                    log.admin = Some(is_admin || log.admin.unwrap_or_default());
                }
                PersonEvent::Introduced { .. } => {}
                PersonEvent::PassphraseSet { hash } => log.passphrase = Some(hash),
                PersonEvent::Dismissed => log = Self::default(),
            }
        }
        Ok(log)
    }

    /// True if this is the stored passphrase hash.
    pub(crate) fn has_passphrase(&self, hash: &str) -> bool {
        self.passphrase.as_ref() == Some(&Digest::of_bytes(hash.as_bytes()))
    }
}

pub(crate) fn token_stream(id: TokenId) -> String {
    format!("token/{id}")
}

fn person_stream(space: SpaceId, name: &str) -> String {
    format!("person/{space}/{name}")
}

impl WriteBatch<'_, '_> {
    /// Stores a credential, and the event that created it.
    pub(crate) fn add_token(&mut self, token: &TokenRow) -> Result<()> {
        self.record(&token_stream(token.id), 1, &MintEvent::with_secret(token))?;
        if token.role == Role::Human && token.launcher != token.name {
            let introduced = PersonEvent::Introduced { by: token.launcher.clone() };
            self.record_next(&person_stream(self.space, &token.name), &introduced)?;
        }
        Ok(self.write.add_token(token)?)
    }

    /// Revokes a credential and records the event.
    pub(crate) fn revoke_token(&mut self, token: &TokenRow) -> Result<()> {
        self.note_revocation(token)?;
        Ok(self.write.revoke_token(token.id, self.at)?)
    }

    /// Revokes the credential with this id.
    pub(crate) fn revoke_token_of(&mut self, id: TokenId) -> Result<()> {
        match self.write.token_by_id(self.space, id)? {
            Some(token) => self.revoke_token(&token),
            None => Ok(()),
        }
    }

    /// Revokes the credentials of a run.
    pub(crate) fn revoke_tokens_of_run(&mut self, run: RunId) -> Result<()> {
        for token in self.write.tokens_of_run(run)? {
            self.note_revocation(&token)?;
        }
        Ok(self.write.revoke_tokens_of(run, self.at)?)
    }

    /// Revokes every credential of an agent.
    pub(crate) fn revoke_tokens_of_agent(&mut self, agent: &str) -> Result<()> {
        let all = self.write.tokens_of(self.space, agent)?;
        for token in all.iter().filter(|token| token.role == Role::Agent) {
            self.note_revocation(token)?;
        }
        Ok(self.write.revoke_tokens_for(self.space, agent, self.at)?)
    }

    fn note_revocation(&mut self, token: &TokenRow) -> Result<()> {
        if token.revoked_at.is_some() {
            return Ok(());
        }
        // Only the first subject of an entry takes effect: this one is for revocations without another.
        self.set_audit_subject("token.revoked", &token.handle, None, "");
        self.record_next(&token_stream(token.id), &json!({"event": "revoked"}))
    }

    /// Keeps an invitation, and the event that says which it is.
    pub(crate) fn add_invitation(&mut self, invitation: &InvitationRow) -> Result<()> {
        let stream = invitation_stream(&invitation.hash);
        self.record(&stream, 1, &InvitationEvent::of(invitation))?;
        Ok(self.write.add_invitation(invitation)?)
    }

    /// Uses an invitation up. Whether it was there to be used.
    pub(crate) fn use_invitation(&mut self, hash: &str) -> Result<bool> {
        self.record_next(&invitation_stream(hash), &InvitationEvent::Used)?;
        Ok(self.write.use_invitation(hash, self.at)?)
    }

    /// Admits a person and records the event.
    pub(crate) fn put_person(&mut self, known: &SpaceMember, by: &str) -> Result<()> {
        let joined = PersonEvent::Joined { is_admin: known.is_admin, by: Some(by.to_owned()) };
        self.record_next(&person_stream(self.space, &known.name), &joined)?;
        Ok(self.write.put_person(self.space, known)?)
    }

    /// Stores the hash of a person's passphrase.
    pub(crate) fn put_passphrase(&mut self, name: &str, hash: &str) -> Result<()> {
        let set = PersonEvent::PassphraseSet { hash: Digest::of_bytes(hash.as_bytes()) };
        self.record_next(&person_stream(self.space, name), &set)?;
        Ok(self.write.put_passphrase(self.space, name, hash)?)
    }

    /// Removes a person and revokes their credentials.
    pub(crate) fn drop_person(&mut self, name: &str) -> Result<bool> {
        self.record_next(&person_stream(self.space, name), &PersonEvent::Dismissed)?;
        let all = self.write.tokens_of(self.space, name)?;
        for token in all.iter().filter(|token| token.role != Role::Agent) {
            self.note_revocation(token)?;
        }
        Ok(self.write.drop_person(self.space, name, self.at)?)
    }
}

/// Returns the people who introduced a person, with the times, from the log and from the rows of older versions: a
/// changed row hides nothing.
pub(crate) fn introductions(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    name: &str,
) -> Result<BTreeSet<(String, Timestamp)>> {
    let mut all: BTreeSet<_> = read.introductions(space, name)?.into_iter().collect();
    for row in read.events(&person_stream(space, name))? {
        check_is_covered(read, space, &row)?;
        let by = match event::<PersonEvent>(&row)? {
            PersonEvent::Joined { by, .. } => by,
            PersonEvent::Introduced { by } => Some(by).filter(|by| by != name),
            PersonEvent::PassphraseSet { .. } | PersonEvent::Dismissed => None,
        };
        all.extend(by.map(|by| (by, row.at)));
    }
    Ok(all)
}

/// An event of an invitation.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum InvitationEvent {
    Invited { name: Option<String>, is_admin: bool, by: String, expires_at: Timestamp },
    Used,
}

impl InvitationEvent {
    fn of(invitation: &InvitationRow) -> Self {
        let InvitationRow { name, is_admin, invited_by, expires_at, .. } = invitation.clone();
        Self::Invited { name, is_admin, by: invited_by, expires_at }
    }
}

pub(crate) fn invitation_stream(hash: &str) -> String {
    format!("invitation/{}", Digest::of_bytes(hash.as_bytes()))
}

/// Checks an invitation against its events. An invitation without events admits no person.
pub(crate) fn check_invitation(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    invitation: &InvitationRow,
) -> Result<bool> {
    let stream = invitation_stream(&invitation.hash);
    let rows = read.events(&stream)?;
    for row in &rows {
        check_is_covered(read, space, row)?;
    }
    match rows.as_slice() {
        [] => Ok(false),
        rows => check_invitation_rows(invitation, rows).map(|()| true),
    }
}

/// The same with events that are covered.
pub(crate) fn check_invitation_rows(invitation: &InvitationRow, rows: &[EventRow]) -> Result<()> {
    let made = rows.first().map(event::<InvitationEvent>).transpose()?;
    let was_used = rows.len() > 1;
    if made == Some(InvitationEvent::of(invitation)) && was_used == invitation.used_at.is_some() {
        Ok(())
    } else {
        Err(tampered(&invitation_stream(&invitation.hash), "its row is not what was made"))
    }
}

/// Returns a credential if its row agrees with the log. One of an older version is checked against its audit entry.
pub(crate) fn credential(
    read: &mut ReadTransaction<'_>,
    hash: &str,
    place: &str,
) -> Result<Option<CredentialRecord>> {
    let Some(found) = read.credential(hash, place)? else { return Ok(None) };
    let CredentialRecord { token, minted, entry, is_revoked, .. } = &found;
    let stream = token_stream(token.id);
    match minted {
        Some(row) => {
            check_covers(token.space, entry.as_ref(), row)?;
            if !event::<MintEvent>(row)?.is_of(token) {
                return Err(tampered(&stream, "its row is not the credential that was made"));
            }
            if *is_revoked && token.revoked_at.is_none() {
                return Err(tampered(&stream, "its row says that it was not revoked"));
            }
        }
        None => check_older(read, token)?,
    }
    Ok(Some(found))
}

/// A credential without an event is one of an older version: its entry says for whom it was made. That of an agent in a
/// run had none of its own: it counts with the run.
fn check_older(read: &mut ReadTransaction<'_>, token: &TokenRow) -> Result<()> {
    let stream = token_stream(token.id);
    let mut is_made = is_of_older_run(read, token)?;
    for sealed in read.entries_of_token(token)? {
        let Ok(entry) = ChainVerifier::behind(token.space, &sealed).next(&sealed) else { continue };
        if entry.events.iter().any(|mark| mark.stream == stream) {
            return Err(tampered(&stream, "its events are missing from the log"));
        }
        let is_about = entry.action == "token.minted" && entry.object == token.handle;
        is_made |= is_about && entry.outcome == AuditOutcome::Done && names(&entry.reason, token);
    }
    if is_made {
        Ok(())
    } else {
        Err(tampered(&stream, "the audit does not know that it was made"))
    }
}

/// True if a credential without an event belongs to the agent of a live run of an older version. A run of this
/// version has one with an event.
fn is_of_older_run(read: &mut ReadTransaction<'_>, token: &TokenRow) -> Result<bool> {
    let Some(id) = token.run else { return Ok(false) };
    let mut run: Option<Run> = None;
    for row in read.events(&format!("run/{id}"))? {
        check_is_covered(read, token.space, &row)?;
        run = run::apply(run, &event(&row)?, row.at);
    }
    if !run.is_some_and(|run| run.state == RunState::Running && is_for(token, &run)) {
        return Ok(false);
    }
    for other in read.tokens_of_run(id)? {
        if !read.events(&token_stream(other.id))?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a credential is the one that a run gives its agent.
pub(crate) fn is_for(token: &TokenRow, run: &Run) -> bool {
    let started = &run.started;
    let is_run = token.run == Some(started.id) && token.task == Some(started.task);
    let is_agent = token.role == Role::Agent && token.name == started.agent;
    is_run && is_agent && token.launcher == started.launcher && token.scopes.is_none()
}

/// True if the reason of an entry names this role and holder.
pub(crate) fn names(reason: &str, token: &TokenRow) -> bool {
    let words = format!("{} for {}", token.role.as_str(), token.name);
    reason.strip_prefix(&words).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
}

/// Returns the state of a person according to the log, with each event verified; none if an older version admitted
/// them.
pub(crate) fn person(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    name: &str,
) -> Result<Option<PersonLog>> {
    let rows = read.events(&person_stream(space, name))?;
    for row in &rows {
        check_is_covered(read, space, row)?;
    }
    // A credential that another made for them says nothing of how they were let in.
    let mut is_told = false;
    for row in &rows {
        is_told |= !matches!(event::<PersonEvent>(row)?, PersonEvent::Introduced { .. });
    }
    is_told.then(|| PersonLog::of(&rows)).transpose()
}

/// Checks that a person's row and passphrase agree with the log.
pub(crate) fn check_person(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    name: &str,
    is_admin: bool,
    passphrase: Option<&str>,
) -> Result<()> {
    let Some(log) = person(read, space, name)? else { return Ok(()) };
    let wrong = |why: &str| Err(tampered(&person_stream(space, name), why));
    if is_admin && log.admin != Some(true) {
        return wrong("the log does not say that they look after the space");
    }
    if passphrase.is_some_and(|hash| !log.has_passphrase(hash)) {
        return wrong("the log does not know their passphrase");
    }
    Ok(())
}

/// Returns all settings, and checks against the log that none is missing, added or changed.
pub(crate) fn settings(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
) -> Result<Vec<StoredSetting>> {
    let SettingRows { settings, events, entries } = read.setting_rows(space)?;
    let mut last: BTreeMap<&str, &EventRow> = BTreeMap::new();
    for row in &events {
        let known = last.entry(&row.stream).or_insert(row);
        *known = if row.version > known.version { row } else { *known };
    }
    for row in last.values() {
        check_covers(space, entries.iter().find(|entry| entry.seq == row.audit), row)?;
    }
    for setting in &settings {
        let stream = setting_stream(space, &setting.kind, &setting.name);
        let Some(row) = last.remove(stream.as_str()) else {
            return Err(tampered(&stream, "the log does not know it"));
        };
        check_setting(&stream, setting, row)?;
    }
    if let Some(stream) = last.keys().next() {
        return Err(tampered(stream, "its row is missing"));
    }
    Ok(settings.into_iter().filter(|setting| setting.body.is_some()).collect())
}

/// Returns one setting, also a removed one, if it agrees with the log.
pub(crate) fn setting(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    kind: SettingKind,
    name: &str,
) -> Result<Option<StoredSetting>> {
    let stream = setting_stream(space, kind.as_str(), name);
    let found = read.setting(space, kind.as_str(), name)?;
    let events = read.events(&stream)?;
    match (&found, events.last()) {
        (Some(setting), Some(row)) => {
            check_is_covered(read, space, row)?;
            check_setting(&stream, setting, row)?;
        }
        (Some(_), None) => return Err(tampered(&stream, "the log does not know it")),
        (None, Some(_)) => return Err(tampered(&stream, "its row is missing")),
        (None, None) => {}
    }
    Ok(found)
}

pub(crate) fn setting_stream(space: SpaceId, kind: &str, name: &str) -> String {
    format!("setting/{space}/{kind}/{name}")
}

/// Checks that a row equals the result of its last event.
pub(crate) fn check_setting(stream: &str, setting: &StoredSetting, row: &EventRow) -> Result<()> {
    if body_set(row)? == setting.body && setting.set_at == row.at {
        Ok(())
    } else {
        Err(tampered(stream, "its row is not what was set"))
    }
}

/// Returns the body that an event set, or none if it removed the setting.
pub(crate) fn body_set(row: &EventRow) -> Result<Option<String>> {
    let event: Value = event(row)?;
    Ok(event.get("body").and_then(Value::as_str).map(str::to_owned))
}
