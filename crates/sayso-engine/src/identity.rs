//! Who is who: tokens, passphrases, unlocked terminals.

use crate::batch::Batch;
use crate::ledger;
use crate::people::{Guess, is_good};
use crate::{Error, LocalDesk, NewRun, Page, Result, Token, World};
use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use sayso_core::{
    Actor, Code, Deed, Digest, Door, Proof, Refusal, Role, RunId, TaskId, Timestamp, TokenId,
};
use sayso_store::{Credential, GateFilter, Handles, Read, TaskFilter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use subtle::ConstantTimeEq;

/// How long a terminal stays unlocked.
const UNLOCK_MICROS: i64 = 15 * 60 * 1_000_000;

/// The shortest passphrase taken.
const PASSPHRASE_CHARS_MIN: usize = 8;

/// A credential to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// The part its holder plays.
    pub role: Role,
    /// Who holds it.
    pub name: String,
    /// The task an agent's token is bound to.
    pub task: Option<TaskId>,
    /// The run an agent's token is bound to.
    pub run: Option<RunId>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// What it is limited to, of what its role may do.
    #[serde(default)]
    pub scopes: Option<BTreeSet<Deed>>,
}

/// A credential that was just made. The secret is shown once and kept nowhere.
#[derive(Serialize, Deserialize)]
pub struct Minted {
    /// The credential.
    pub token: Token,
    /// What its holder presents.
    pub secret: String,
    /// What a browser keeps beside it, and says when it wants something done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

impl LocalDesk {
    /// Makes a credential. An agent can make none, and no token makes another: it takes an admin,
    /// or a person at their terminal.
    pub fn mint(&self, actor: &Actor, new: NewToken) -> Result<Minted> {
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
            let token = Token {
                id,
                space: batch.space,
                handle: batch.free_handle(Handles::Tokens, |len| id.handle(len))?,
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
            batch.about("token.minted", &token.handle, None, &what);
            batch.add_token(&token)?;
            Ok(token)
        })?;
        // It was made by a call whose reply was lost, and the secret with it.
        if token.id != id {
            return Err(lost_secret(&format!("token {}", token.handle))
                .hint(format!("sayso token revoke {}, and make another", token.handle))
                .into());
        }
        Ok(Minted { token, secret, word: None })
    }

    /// Whether this is one who may make and revoke tokens, for what goes along with it. A refusal is
    /// written down.
    pub fn check_may_mint(&self, actor: &Actor) -> Result<()> {
        let check = check_may_mint(actor);
        if let Err(Error::Refused(refusal)) = &check {
            self.note_refusal(actor, refusal);
        }
        check
    }

    /// Revokes a credential. It stops working at once, everywhere.
    pub fn revoke(&self, actor: &Actor, handle: &str) -> Result<Token> {
        let handle = handle.to_owned();
        self.submit(actor, move |batch| {
            check_may_mint(batch.actor)?;
            let mut token = token_in(batch, &handle)?;
            if token.revoked_at.is_none() {
                batch.about("token.revoked", &token.handle, None, "");
                batch.revoke_token(&token)?;
                token.revoked_at = Some(batch.at);
            }
            Ok(token)
        })
    }

    /// All credentials of the space, newest first, behind a given one.
    pub fn tokens(&self, actor: &Actor, after: Option<&str>, limit: usize) -> Result<Page<Token>> {
        self.check(actor, Deed::Mint, "list tokens")?;
        self.read(|read| {
            let after = match after {
                Some(handle) => Some(token_named(read.token(self.space, handle)?, handle)?.id),
                None => None,
            };
            Ok(read.tokens(self.space, after, limit)?)
        })
    }

    /// Who presents this secret, at this door.
    pub fn authenticate(&self, secret: &str, door: Door) -> Result<Actor> {
        self.present(secret, door).map(|(actor, _)| actor)
    }

    /// The same, and by which credential.
    pub fn present(&self, secret: &str, door: Door) -> Result<(Actor, TokenId)> {
        check_way(secret, door)?;
        let given = digest_of(secret.trim());
        let found = self.look(|read| ledger::credential(read, &given, ""))?;
        self.admit(found.map(|found| found.token), &given, door)
    }

    /// The same, with the proof it has at the place of its credential, where a passphrase counts for a while.
    /// What a place is called begins with `place`.
    pub(crate) fn present_at_its_place(
        &self,
        secret: &str,
        door: Door,
        place: &str,
    ) -> Result<(Actor, TokenId)> {
        check_way(secret, door)?;
        let given = digest_of(secret.trim());
        let found = self.look(|read| ledger::credential(read, &given, place))?;
        self.admit_at_its_place(found, &given, door)
    }

    /// Who a credential makes them, with the moment until which its place is unlocked.
    pub(crate) fn admit_at_its_place(
        &self,
        found: Option<Credential>,
        given: &str,
        door: Door,
    ) -> Result<(Actor, TokenId)> {
        let (token, until) = found.map(|found| (found.token, found.unlocked_until)).unzip();
        let (mut actor, id) = self.admit(token, given, door)?;
        let until = until.flatten().filter(|_| actor.role == Role::Human);
        if until.is_some_and(|until| self.now() < until) {
            actor.proof = actor.proof.max(Proof::Passphrase);
        }
        Ok((actor, id))
    }

    /// Who a credential makes them that was found for what they gave.
    fn admit(&self, found: Option<Token>, given: &str, door: Door) -> Result<(Actor, TokenId)> {
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
            proof: Proof::Token,
            level: self.level(),
            door,
            stands_for: vec![],
            introductions: vec![],
            scopes: token.scopes,
        };
        Ok((actor, id))
    }

    /// Whether this person has set a passphrase.
    pub fn has_passphrase(&self, name: &str) -> Result<bool> {
        self.read(|read| Ok(read.passphrase(self.space, name)?.is_some()))
    }

    /// That nothing has happened in this space yet: no question, no task, no credential.
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

    /// Sets a person's passphrase; changing it takes the one before.
    pub fn set_passphrase(&self, actor: &Actor, old: Option<&str>, new: &str) -> Result<()> {
        self.check(actor, Deed::Answer, "set a passphrase")?;
        let hash = passphrase_hash(new)?;
        match self.has_passphrase(&actor.name)? {
            true => self.guess(actor, old.unwrap_or_default(), Guess::Change)?,
            false if actor.proof < Proof::Tty => {
                let message = "the first passphrase is set at a terminal";
                return Err(Refusal::new(Code::NoPerson, message).into());
            }
            false => {}
        }
        self.submit(actor, move |batch| {
            batch.about("passphrase.set", &batch.actor.name.clone(), None, "");
            let name = batch.actor.name.clone();
            batch.put_passphrase(&name, &hash)
        })
    }

    /// Unlocks a terminal for some minutes, as sudo does. `terminal` names it and its session.
    pub fn unlock(&self, actor: &Actor, passphrase: &str, terminal: &str) -> Result<Timestamp> {
        self.check(actor, Deed::Answer, "unlock a terminal")?;
        self.guess(actor, passphrase, Guess::Unlock { place: terminal })?;
        self.put_unlock(actor, terminal, "terminal.unlocked", unlocked(self.now()))
    }

    /// Locks a terminal.
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
            batch.about(action, &batch.actor.name.clone(), None, "");
            batch.write.put_unlock(batch.space, &batch.actor.name, &terminal, until)?;
            Ok(until)
        })
    }

    /// Whether this person has unlocked this terminal.
    pub fn is_unlocked(&self, name: &str, terminal: &str) -> Result<bool> {
        let until = self.read(|read| Ok(read.unlocked_until(self.space, name, terminal)?))?;
        Ok(until.is_some_and(|until| self.now() < until))
    }
}

/// Writes the credential of a run's agent. Whoever may start a run may give its agent a name: it is
/// the weakest credential there is, and dies with the run.
pub(crate) fn add_run_token(batch: &mut Batch<'_, '_>, id: TokenId, run: &NewRun) -> Result<()> {
    check_token_name(&run.agent)?;
    let token = Token {
        id,
        space: batch.space,
        handle: batch.free_handle(Handles::Tokens, |len| id.handle(len))?,
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

/// Writes the credential of an agent that was spawned: the weakest there is, it dies with the agent.
/// The same secret again is the same credential.
pub(crate) fn add_agent_token(
    batch: &mut Batch<'_, '_>,
    id: TokenId,
    agent: &str,
    launcher: &str,
    secret: &str,
) -> Result<TokenId> {
    check_token_name(agent)?;
    if let Some(token) = token_by_secret(batch.write, secret)? {
        return Ok(token.id);
    }
    let token = Token {
        id,
        space: batch.space,
        handle: batch.free_handle(Handles::Tokens, |len| id.handle(len))?,
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
    batch.about("token.minted", &token.handle, None, &format!("agent for {agent}"));
    batch.add_token(&token)?;
    Ok(id)
}

pub(crate) fn token_by_secret(read: &mut Read<'_>, secret: &str) -> Result<Option<Token>> {
    Ok(read.token_by_hash(&digest_of(secret))?)
}

fn check_may_mint(actor: &Actor) -> Result<()> {
    actor.check(Deed::Mint, "make or revoke tokens")?;
    if actor.role == Role::Human && actor.proof < Proof::Tty {
        return Err(Refusal::new(Code::ProofTooLow, "a token cannot make or revoke tokens")
            .hint("do it at a terminal, outside of any agent")
            .into());
    }
    Ok(())
}

/// Whoever lets people in decides whose answers count. A program with an admin's token looks after the rest: else
/// it would be one call away from any verdict.
pub(crate) fn check_is_a_persons(actor: &Actor, what: &str) -> std::result::Result<(), Refusal> {
    if actor.role == Role::Human {
        return Ok(());
    }
    let (role, name) = (actor.role.as_str(), &actor.name);
    let message = format!("{role} {name} may not {what}: that is a person's say-so");
    Err(Refusal::new(Code::NotHuman, message)
        .hint("a person who looks after the space does it, at a terminal outside of any agent"))
}

/// Who was sent away gets no credential by another way.
fn check_was_not_sent_away(batch: &mut Batch<'_, '_>, name: &str) -> Result<()> {
    let kind = crate::SettingKind::Dismissed;
    let mark = ledger::setting(batch.write, batch.space, kind, name)?;
    if mark.is_none_or(|mark| mark.body.is_none()) {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("{name} was sent away"))
        .hint(format!("invite them again first: sayso people invite {name}"))
        .into())
}

/// Nobody makes a credential for a person who is here already by their own doing: with it they would be two people,
/// and fill a quorum of two alone. Whom one has brought in oneself, by a token and nothing else, one had before.
fn check_is_own_or_new(batch: &mut Batch<'_, '_>, name: &str) -> Result<()> {
    let actor = batch.actor;
    if actor.name == name {
        return Ok(());
    }
    let is_let_in = batch.write.person(batch.space, name)?.is_some();
    let tokens = batch.write.tokens_of(batch.space, name)?;
    let is_anothers = |token: &Token| {
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

/// Lists show who asks by name: an agent of a person's name would be taken for them.
fn check_is_no_persons_name(batch: &mut Batch<'_, '_>, name: &str) -> Result<()> {
    if batch.write.person(batch.space, name)?.is_none() {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("{name} is a person here, and no name for an agent"))
        .hint("give the agent a name of its own")
        .into())
}

/// What a credential is limited to, behind what it is.
pub fn scopes_in_words(scopes: Option<&BTreeSet<Deed>>) -> String {
    let names =
        |scopes: &BTreeSet<Deed>| scopes.iter().map(|deed| deed.as_str()).collect::<Vec<_>>();
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

fn token_in(batch: &mut Batch<'_, '_>, handle: &str) -> Result<Token> {
    token_named(batch.write.token(batch.space, handle)?, handle)
}

fn token_named(found: Option<Token>, handle: &str) -> Result<Token> {
    let missing = || Refusal::new(Code::NotFound, format!("there is no token {handle:?}"));
    Ok(found.ok_or_else(missing)?)
}

/// 256 bits behind the role's prefix.
pub(crate) fn new_secret(world: &World, role: Role) -> String {
    secret_beginning(world, role.token_prefix())
}

/// How the secret of a browser's session begins.
const BROWSER_PREFIX: &str = "sayso_b_";

/// The secret of a browser's session.
pub(crate) fn new_browser_secret(world: &World) -> String {
    secret_beginning(world, BROWSER_PREFIX)
}

/// 256 bits of chance behind what they are for.
pub(crate) fn secret_beginning(world: &World, prefix: &str) -> String {
    let (high, low) = (world.chance(), world.chance());
    format!("{prefix}{high:032x}{low:032x}")
}

/// A browser sends its cookie to whatever answers at any port of a host. So what is in it counts in a browser,
/// beside the word that only our own pages have, and nowhere else.
pub(crate) fn check_way(secret: &str, door: Door) -> Result<()> {
    let is_of_browser = secret.trim().starts_with(BROWSER_PREFIX);
    match is_of_browser == (door == Door::Web) {
        true => Ok(()),
        false => Err(bad_token("the token is not known here").into()),
    }
}

/// Until when a passphrase counts that was typed now.
pub(crate) fn unlocked(now: Timestamp) -> Timestamp {
    now.plus_micros(UNLOCK_MICROS)
}

/// The hash of a passphrase somebody wants to have.
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

/// What is shown once was shown to nobody.
pub(crate) fn lost_secret(what: &str) -> Refusal {
    let message =
        format!("{what} was made, but its secret was lost on the way and is kept nowhere");
    Refusal::new(Code::Clash, message)
}

/// Why a token counts no more that once did.
const REVOKED: &str = "the token was revoked";
const EXPIRED: &str = "the token has expired";

/// Whether this is a no to a credential that was good once: whoever brings it guesses nothing.
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
