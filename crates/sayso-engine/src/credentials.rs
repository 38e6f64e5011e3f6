//! Authentication: tokens, passphrases, unlocked terminals.

use crate::ledger;
use crate::login_throttle::PassphraseUse;
use crate::people::is_good;
use crate::write_batch::WriteBatch;
use crate::{Error, ListPage, LocalDesk, NewRun, Result, RuntimeEnv, TokenRow};
use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use sayso_core::{
    Actor, Code, Digest, EntryPoint, IdentityProof, Permission, Refusal, Role, RunId, TaskId,
    Timestamp, TokenId,
};
use sayso_store::{CredentialRecord, GateFilter, HandleTable, ReadTransaction, TaskFilter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use subtle::ConstantTimeEq;

/// The time for which a terminal stays unlocked.
const UNLOCK_MICROS: i64 = 15 * 60 * 1_000_000;

/// The minimum length of a passphrase.
const PASSPHRASE_CHARS_MIN: usize = 8;

/// The arguments for creating a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// The role of its holder.
    pub role: Role,
    /// The name of its holder.
    pub name: String,
    /// The task that an agent's token is bound to.
    pub task: Option<TaskId>,
    /// The run that an agent's token is bound to.
    pub run: Option<RunId>,
    /// The expiry, if there is one.
    pub expires_at: Option<Timestamp>,
    /// The scopes that limit it to a part of what its role may do.
    #[serde(default)]
    pub scopes: Option<BTreeSet<Permission>>,
}

/// A credential that was just created. The secret is returned once and not stored.
#[derive(Serialize, Deserialize)]
pub struct IssuedToken {
    pub token: TokenRow,
    /// The secret that its holder presents.
    pub secret: String,
    /// The CSRF token of a browser session, which every write has to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

impl LocalDesk {
    /// Creates a credential. An agent can create none, and no token creates another: an admin can, or a person at a
    /// terminal.
    pub fn mint(&self, actor: &Actor, new: NewToken) -> Result<IssuedToken> {
        let id = self.new_token_id();
        let secret = new_secret(&self.world, new.role);
        let hash = digest_of(&secret);
        let token = self.submit(actor, move |batch| {
            check_may_mint(batch.actor)?;
            check_token_name(&new.name)?;
            if matches!(new.role, Role::Human | Role::Admin) {
                check_is_a_persons(batch.actor, "make a person's or an admin's token")?;
            }
            if new.role == Role::Human {
                check_is_own_or_new(batch, &new.name)?;
            }
            check_was_not_sent_away(batch, &new.name)?;
            if new.role == Role::Agent {
                check_is_no_persons_name(batch, &new.name)?;
            }
            let token = TokenRow {
                id,
                space: batch.space,
                handle: batch.free_handle(HandleTable::Tokens, |len| id.handle(len))?,
                hash: hash.clone(),
                role: new.role,
                name: new.name.clone(),
                task: new.task,
                run: new.run,
                launcher: batch.actor.name.clone(),
                created_at: batch.at,
                expires_at: new.expires_at,
                revoked_at: None,
                scopes: new.scopes.clone(),
            };
            let only = scopes_in_words(token.scopes.as_ref());
            let what = format!("{} for {}{only}", token.role.as_str(), token.name);
            batch.set_audit_subject("token.minted", &token.handle, None, &what);
            batch.add_token(&token)?;
            Ok(token)
        })?;
        // The token was created by an earlier call whose response, and with it the secret, was lost.
        if token.id != id {
            return Err(lost_secret(&format!("token {}", token.handle))
                .hint(format!("sayso token revoke {}, and make another", token.handle))
                .into());
        }
        Ok(IssuedToken { token, secret, word: None })
    }

    /// Checks that the actor may create and revoke tokens, for actions that depend on it. A refusal is audited.
    pub fn check_may_mint(&self, actor: &Actor) -> Result<()> {
        let check = check_may_mint(actor);
        if let Err(Error::Refused(refusal)) = &check {
            self.note_refusal(actor, refusal);
        }
        check
    }

    /// Revokes a credential. It is invalid at once, on every server.
    pub fn revoke(&self, actor: &Actor, handle: &str) -> Result<TokenRow> {
        let handle = handle.to_owned();
        self.submit(actor, move |batch| {
            check_may_mint(batch.actor)?;
            let mut token = token_in(batch, &handle)?;
            if token.revoked_at.is_none() {
                batch.set_audit_subject("token.revoked", &token.handle, None, "");
                batch.revoke_token(&token)?;
                token.revoked_at = Some(batch.at);
            }
            Ok(token)
        })
    }

    /// Returns the credentials of the space, newest first, after a given one.
    pub fn tokens(
        &self,
        actor: &Actor,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<TokenRow>> {
        self.check(actor, Permission::Mint, "list tokens")?;
        self.read(|read| {
            let after = match after {
                Some(handle) => Some(token_named(read.token(self.space, handle)?, handle)?.id),
                None => None,
            };
            Ok(read.tokens(self.space, after, limit)?)
        })
    }

    /// Authenticates the holder of a secret at an interface.
    pub fn authenticate(&self, secret: &str, door: EntryPoint) -> Result<Actor> {
        self.authenticate_with_id(secret, door).map(|(actor, _)| actor)
    }

    /// Authenticates the holder of a secret, and returns the id of the credential.
    pub fn authenticate_with_id(&self, secret: &str, door: EntryPoint) -> Result<(Actor, TokenId)> {
        check_way(secret, door)?;
        let given = digest_of(secret.trim());
        let found = self.look(|read| ledger::credential(read, &given, ""))?;
        self.admit(found.map(|found| found.token), &given, door)
    }

    /// Authenticates the holder of a secret with the proof that was unlocked at the credential's place, where a
    /// passphrase counts for some minutes. The name of such a place begins with `place`.
    pub(crate) fn present_at_its_place(
        &self,
        secret: &str,
        door: EntryPoint,
        place: &str,
    ) -> Result<(Actor, TokenId)> {
        check_way(secret, door)?;
        let given = digest_of(secret.trim());
        let found = self.look(|read| ledger::credential(read, &given, place))?;
        self.admit_at_its_place(found, &given, door)
    }

    /// Returns the actor of a credential, with the proof of its place if that is unlocked.
    pub(crate) fn admit_at_its_place(
        &self,
        found: Option<CredentialRecord>,
        given: &str,
        door: EntryPoint,
    ) -> Result<(Actor, TokenId)> {
        let (token, until) = found.map(|found| (found.token, found.unlocked_until)).unzip();
        let (mut actor, id) = self.admit(token, given, door)?;
        let until = until.flatten().filter(|_| actor.role == Role::Human);
        if until.is_some_and(|until| self.now() < until) {
            actor.proof = actor.proof.max(IdentityProof::Passphrase);
        }
        Ok((actor, id))
    }

    /// Returns the actor of a credential that was found by the hash of a secret. Refuses an unknown, foreign, revoked
    /// or expired one.
    fn admit(
        &self,
        found: Option<TokenRow>,
        given: &str,
        door: EntryPoint,
    ) -> Result<(Actor, TokenId)> {
        let token = found.ok_or_else(|| bad_token("the token is not known here"))?;
        if !bool::from(token.hash.as_bytes().ct_eq(given.as_bytes())) {
            return Err(bad_token("the token is not known here").into());
        }
        if token.space != self.space {
            return Err(bad_token("the token is for another space").into());
        }
        if token.revoked_at.is_some() {
            return Err(bad_token(REVOKED).into());
        }
        if token.expires_at.is_some_and(|end| self.now() >= end) {
            return Err(bad_token(EXPIRED).into());
        }
        let launcher = (token.role == Role::Agent).then(|| token.launcher.clone());
        let id = token.id;
        let actor = Actor {
            role: token.role,
            name: token.name,
            run: token.run,
            task: token.task,
            launcher,
            proof: IdentityProof::Token,
            level: self.level(),
            door,
            stands_for: vec![],
            introductions: vec![],
            scopes: token.scopes,
        };
        Ok((actor, id))
    }

    /// True if this person has set a passphrase.
    pub fn has_passphrase(&self, name: &str) -> Result<bool> {
        self.read(|read| Ok(read.passphrase(self.space, name)?.is_some()))
    }

    /// True if the space has no gates, tasks and credentials yet.
    pub fn is_untouched(&self, actor: &Actor) -> Result<bool> {
        let gates = |ended| self.gates(actor, GateFilter { ended, limit: 1, ..Default::default() });
        Ok(gates(false)?.items.is_empty()
            && gates(true)?.items.is_empty()
            && self
                .tasks(&TaskFilter { all: true, limit: 1, ..Default::default() })?
                .items
                .is_empty()
            && self.tokens(actor, None, 1)?.items.is_empty())
    }

    /// Sets a person's passphrase; a change requires the old one.
    pub fn set_passphrase(&self, actor: &Actor, old: Option<&str>, new: &str) -> Result<()> {
        self.check(actor, Permission::Answer, "set a passphrase")?;
        let hash = passphrase_hash(new)?;
        match self.has_passphrase(&actor.name)? {
            true => self.guess(actor, old.unwrap_or_default(), PassphraseUse::Change)?,
            false if actor.proof < IdentityProof::Tty => {
                let message = "the first passphrase is set at a terminal";
                return Err(Refusal::new(Code::NoPerson, message).into());
            }
            false => {}
        }
        self.submit(actor, move |batch| {
            batch.set_audit_subject("passphrase.set", &batch.actor.name.clone(), None, "");
            let name = batch.actor.name.clone();
            batch.put_passphrase(&name, &hash)
        })
    }

    /// Unlocks a terminal for some minutes, like sudo. `terminal` names it and its session.
    pub fn unlock(&self, actor: &Actor, passphrase: &str, terminal: &str) -> Result<Timestamp> {
        self.check(actor, Permission::Answer, "unlock a terminal")?;
        self.guess(actor, passphrase, PassphraseUse::Unlock { place: terminal })?;
        self.put_unlock(actor, terminal, "terminal.unlocked", unlocked(self.now()))
    }

    pub fn lock(&self, actor: &Actor, terminal: &str) -> Result<()> {
        self.put_unlock(actor, terminal, "terminal.locked", self.now()).map(drop)
    }

    fn put_unlock(
        &self,
        actor: &Actor,
        terminal: &str,
        action: &'static str,
        until: Timestamp,
    ) -> Result<Timestamp> {
        let terminal = terminal.to_owned();
        self.submit(actor, move |batch| {
            batch.set_audit_subject(action, &batch.actor.name.clone(), None, "");
            batch.write.put_unlock(batch.space, &batch.actor.name, &terminal, until)?;
            Ok(until)
        })
    }

    /// True if this person has unlocked this terminal.
    pub fn is_unlocked(&self, name: &str, terminal: &str) -> Result<bool> {
        let until = self.read(|read| Ok(read.unlocked_until(self.space, name, terminal)?))?;
        Ok(until.is_some_and(|until| self.now() < until))
    }
}

/// Stores the credential of a run's agent. An actor who may start a run may name its agent: the credential has the
/// fewest permissions, and is revoked with the run.
pub(crate) fn add_run_token(
    batch: &mut WriteBatch<'_, '_>,
    id: TokenId,
    run: &NewRun,
) -> Result<()> {
    check_token_name(&run.agent)?;
    let token = TokenRow {
        id,
        space: batch.space,
        handle: batch.free_handle(HandleTable::Tokens, |len| id.handle(len))?,
        hash: digest_of(&run.secret),
        role: Role::Agent,
        name: run.agent.clone(),
        task: Some(run.task),
        run: Some(run.id),
        launcher: batch.actor.name.clone(),
        created_at: batch.at,
        expires_at: None,
        revoked_at: None,
        scopes: None,
    };
    batch.add_token(&token)
}

/// Stores the credential of a managed agent: it has the fewest permissions and is revoked with the agent. The same
/// secret again returns the same credential.
pub(crate) fn add_agent_token(
    batch: &mut WriteBatch<'_, '_>,
    id: TokenId,
    agent: &str,
    launcher: &str,
    secret: &str,
) -> Result<TokenId> {
    check_token_name(agent)?;
    if let Some(token) = token_by_secret(batch.write, secret)? {
        return Ok(token.id);
    }
    let token = TokenRow {
        id,
        space: batch.space,
        handle: batch.free_handle(HandleTable::Tokens, |len| id.handle(len))?,
        hash: digest_of(secret),
        role: Role::Agent,
        name: agent.to_owned(),
        task: None,
        run: None,
        launcher: launcher.to_owned(),
        created_at: batch.at,
        expires_at: None,
        revoked_at: None,
        scopes: None,
    };
    batch.set_audit_subject("token.minted", &token.handle, None, &format!("agent for {agent}"));
    batch.add_token(&token)?;
    Ok(id)
}

pub(crate) fn token_by_secret(
    read: &mut ReadTransaction<'_>,
    secret: &str,
) -> Result<Option<TokenRow>> {
    Ok(read.token_by_hash(&digest_of(secret))?)
}

fn check_may_mint(actor: &Actor) -> Result<()> {
    actor.check(Permission::Mint, "make or revoke tokens")?;
    if actor.role == Role::Human && actor.proof < IdentityProof::Tty {
        return Err(Refusal::new(Code::ProofTooLow, "a token cannot make or revoke tokens")
            .hint("do it at a terminal, outside of any agent")
            .into());
    }
    Ok(())
}

/// Checks that the actor is a person. An actor who admits people decides whose answers count; a program with an
/// admin's token may do the other tasks of an admin, but would otherwise be one call away from any verdict.
pub(crate) fn check_is_a_persons(actor: &Actor, what: &str) -> std::result::Result<(), Refusal> {
    if actor.role == Role::Human {
        return Ok(());
    }
    let (role, name) = (actor.role.as_str(), &actor.name);
    let message = format!("{role} {name} may not {what}: that is a person's say-so");
    Err(Refusal::new(Code::NotHuman, message)
        .hint("a person who looks after the space does it, at a terminal outside of any agent"))
}

/// Refuses a credential for a person who was removed, so that a token is no way around the removal.
fn check_was_not_sent_away(batch: &mut WriteBatch<'_, '_>, name: &str) -> Result<()> {
    let kind = crate::SettingKind::Dismissed;
    let mark = ledger::setting(batch.write, batch.space, kind, name)?;
    if mark.is_none_or(|mark| mark.body.is_none()) {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("{name} was sent away"))
        .hint(format!("invite them again first: sayso people invite {name}"))
        .into())
}

/// Refuses a credential for another person who was admitted, or who has one from another creator: with it the actor
/// could act as two people and fill a quorum of two alone. A person who only has tokens from the actor is no second
/// person.
fn check_is_own_or_new(batch: &mut WriteBatch<'_, '_>, name: &str) -> Result<()> {
    let actor = batch.actor;
    if actor.name == name {
        return Ok(());
    }
    let is_let_in = batch.write.person(batch.space, name)?.is_some();
    let tokens = batch.write.tokens_of(batch.space, name)?;
    let is_anothers = |token: &TokenRow| {
        token.role == Role::Human && token.launcher != actor.name && is_good(token, batch.at)
    };
    if !is_let_in && !tokens.iter().any(is_anothers) {
        return Ok(());
    }
    let message = format!("{name} is here already, and only {name} makes credentials for {name}");
    Err(Refusal::new(Code::OthersCredential, message)
        .hint(format!(
            "{name} makes it: sayso token create; who has forgotten their passphrase is invited anew: sayso people \
             invite {name}"
        ))
        .into())
}

/// Refuses an agent with the name of a person: lists show askers by name, and the agent would be mistaken for the
/// person.
fn check_is_no_persons_name(batch: &mut WriteBatch<'_, '_>, name: &str) -> Result<()> {
    if batch.write.person(batch.space, name)?.is_none() {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("{name} is a person here, and no name for an agent"))
        .hint("give the agent a name of its own")
        .into())
}

/// Returns the limits of a credential as text, to be appended to its role and name.
pub fn scopes_in_words(scopes: Option<&BTreeSet<Permission>>) -> String {
    let names =
        |scopes: &BTreeSet<Permission>| scopes.iter().map(|deed| deed.as_str()).collect::<Vec<_>>();
    scopes.map_or_else(String::new, |scopes| format!(", only to {}", names(scopes).join(", ")))
}

pub(crate) fn check_token_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '/');
    if !name.is_empty() && name.len() <= 100 && name.chars().all(plain) {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("{name:?} cannot be the name of a token's holder"))
        .hint("take letters, digits, dashes, dots and underscores")
        .into())
}

fn token_in(batch: &mut WriteBatch<'_, '_>, handle: &str) -> Result<TokenRow> {
    token_named(batch.write.token(batch.space, handle)?, handle)
}

fn token_named(found: Option<TokenRow>, handle: &str) -> Result<TokenRow> {
    let missing = || Refusal::new(Code::NotFound, format!("there is no token {handle:?}"));
    Ok(found.ok_or_else(missing)?)
}

/// Returns a secret of 256 random bits with the prefix of a role.
pub(crate) fn new_secret(world: &RuntimeEnv, role: Role) -> String {
    secret_beginning(world, role.token_prefix())
}

/// The prefix of a browser session's secret.
const BROWSER_PREFIX: &str = "sayso_b_";

/// Returns the secret of a browser session.
pub(crate) fn new_browser_secret(world: &RuntimeEnv) -> String {
    secret_beginning(world, BROWSER_PREFIX)
}

/// Returns 256 random bits with a prefix.
pub(crate) fn secret_beginning(world: &RuntimeEnv, prefix: &str) -> String {
    let (high, low) = (world.random_u128(), world.random_u128());
    format!("{prefix}{high:032x}{low:032x}")
}

/// Checks that a browser session's secret comes from a browser, and any other secret does not. Cookies are not scoped
/// to a port, so any service on the host receives them: the secret of a cookie is valid in a browser only, beside the
/// CSRF token.
pub(crate) fn check_way(secret: &str, door: EntryPoint) -> Result<()> {
    let is_of_browser = secret.trim().starts_with(BROWSER_PREFIX);
    if is_of_browser == (door == EntryPoint::Web) {
        Ok(())
    } else {
        Err(bad_token("the token is not known here").into())
    }
}

/// Returns the time until which a passphrase counts that was entered now.
pub(crate) fn unlocked(now: Timestamp) -> Timestamp {
    now.plus_micros(UNLOCK_MICROS)
}

/// Returns the hash of a new passphrase.
pub(crate) fn passphrase_hash(new: &str) -> Result<String> {
    if new.chars().count() < PASSPHRASE_CHARS_MIN {
        let message = format!("the passphrase has fewer than {PASSPHRASE_CHARS_MIN} characters");
        return Err(Refusal::new(Code::BadValue, message).into());
    }
    let hash = Argon2::default().hash_password(new.as_bytes()).map_err(|e| unhashed(&e))?;
    Ok(hash.to_string())
}

pub(crate) fn digest_of(secret: &str) -> String {
    Digest::of_bytes(secret.as_bytes()).as_str().to_owned()
}

/// Returns the refusal for a secret that was created but whose response was lost.
pub(crate) fn lost_secret(what: &str) -> Refusal {
    let message =
        format!("{what} was made, but its secret was lost on the way and is kept nowhere");
    Refusal::new(Code::Clash, message)
}

/// The refusals of a token that was valid once.
const REVOKED: &str = "the token was revoked";
const EXPIRED: &str = "the token has expired";

/// True if the token is known but revoked or expired; the login throttle does not count it as a guess.
pub fn is_of_known_token(error: &Error) -> bool {
    let is_known = |no: &Refusal| [REVOKED, EXPIRED].contains(&no.message.as_str());
    matches!(error, Error::Refused(no) if no.code == Code::BadToken && is_known(no))
}

pub(crate) fn bad_token(why: &str) -> Refusal {
    Refusal::new(Code::BadToken, why).hint("ask for a new one: sayso token create")
}

pub(crate) fn unhashed(error: &dyn std::fmt::Display) -> Error {
    sayso_store::Error::Other(format!("the passphrase cannot be hashed: {error}")).into()
}
