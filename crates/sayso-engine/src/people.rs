//! Remote people: invited with a one-time code, logged in by a passphrase or passkey, and throttled (login back-off)
//! when they guess.

use crate::credentials::{
    check_is_a_persons, check_token_name, digest_of, lost_secret, new_browser_secret, new_secret,
    passphrase_hash, secret_beginning, unhashed,
};
use crate::login_throttle::{PassphraseUse, too_many};
use crate::write_batch::{WriteBatch, not_found};
use crate::{
    GateFilter, IssuedToken, LocalDesk, Result, RunningAgent, SettingChange, SettingKind, TokenRow,
    ledger,
};
use argon2::Argon2;
use argon2::password_hash::{PasswordVerifier, phc::PasswordHash};
use sayso_core::gate::{GateCommand, can_be_answered_by};
use sayso_core::login_backoff::{
    forgotten_before, guess_address, guess_name, is_forgotten, pause_micros,
};
use sayso_core::run::RunState;
use sayso_core::{
    Actor, Code, EntryPoint, IdentityProof, Permission, Refusal, Role, Timestamp, TokenId,
};
use sayso_store::{
    ChallengeRow, FailedLogins, HandleTable, InvitationRow, PasskeyRow, ReadTransaction,
    SpaceMember,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The lifetime of an invitation code.
const CODE_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The lifetime of a code that logs in a browser of the same person.
const ENTRY_MICROS: i64 = 10 * 60 * 1_000_000;

/// The purpose under which such a code is stored.
const ENTRY: &str = "entry";

/// The lifetime of a login.
const LOGIN_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

/// The number of names in a refusal.
const NAMES_SHOWN_MAX: usize = 10;

/// The number of open gates per read.
const GATES_MAX: usize = 1_000;

/// More people than this are in no list: names are asked for one by one where something rests on them.
const PEOPLE_MAX: usize = 1_000_000;

/// A hash that matches no passphrase: it is verified for an unknown name, so that the response takes as long as for a
/// known one.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2F5c28gaGFzIG5vIG9uZQ$\
                      Y3OBZ6sRzS2Vd9sV4bYkXv3LQK0sWb1tP0b0l8ZcQxE";

/// A code that was just created. It is returned once and stored only as a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteCode {
    /// The code that the person enters.
    pub code: String,
    /// The expiry of the code.
    pub expires_at: Timestamp,
}

/// The names in use: people and agents.
pub(crate) struct NameDirectory {
    /// People who were admitted.
    pub(crate) people: BTreeSet<String>,
    /// People who have a token or a setting.
    others: BTreeSet<String>,
    agents: BTreeSet<String>,
}

impl NameDirectory {
    pub(crate) fn is_person(&self, name: &str) -> bool {
        self.people.contains(name) || self.others.contains(name)
    }

    pub(crate) fn is_agent(&self, name: &str) -> bool {
        self.agents.contains(name) && !self.is_person(name)
    }

    /// Returns all people, in a space where people are known by name because at least one was admitted. On a
    /// single-user machine there are none.
    pub(crate) fn all(&self) -> Option<BTreeSet<String>> {
        let all = || self.people.union(&self.others).cloned().collect();
        (!self.people.is_empty()).then(all)
    }

    /// Checks that this is a person who can answer: never an agent, and in a space with admitted people one of them.
    /// A gate for an unknown name would never be answered.
    pub(crate) fn check_can_answer(&self, name: &str) -> std::result::Result<(), Refusal> {
        if self.is_agent(name) {
            let message = format!("{name} is an agent, and no agent answers for a person");
            return Err(Refusal::new(Code::BadValue, message).hint("name a person"));
        }
        if self.people.is_empty() || self.is_person(name) {
            return Ok(());
        }
        let here = || self.people.iter().map(String::as_str);
        let hint = match sayso_policy::nearest(name, here()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => {
                let shown: Vec<_> = here().take(NAMES_SHOWN_MAX).collect();
                format!("there are: {}; see sayso people list", shown.join(", "))
            }
        };
        Err(Refusal::new(Code::BadValue, format!("nobody here is called {name:?}")).hint(hint))
    }
}

/// The result of removing a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissalReport {
    /// The tokens that the person had created for others, which were revoked as well: handle, role and name.
    pub ended: Vec<String>,
    /// Those that stay valid, since an agent is running with one.
    pub kept: Vec<String>,
    /// The groups and policies that still name the person.
    pub named_in: Vec<String>,
    /// The open gates that no remaining person may answer.
    pub gates: Vec<String>,
}

impl LocalDesk {
    /// Invites a person. An admin may do so, or the owner at the store's own terminal.
    pub fn invite(&self, actor: &Actor, name: &str, is_admin: bool) -> Result<InviteCode> {
        self.check(actor, Permission::Govern, "invite people")?;
        check_is_a_persons(actor, "let people in")
            .inspect_err(|no| self.note_refusal(actor, no))?;
        self.read(|read| self.check_person_name(read, name))?;
        self.make_invitation(actor, Some(name), is_admin)
    }

    /// Returns a code for the first admin of a space, for the person who starts its server. None if there is an
    /// admin. All codes that were issued are valid until one of them is used.
    pub fn first_code(&self, actor: &Actor) -> Result<Option<InviteCode>> {
        if self.has_admin()? {
            return Ok(None);
        }
        self.check(actor, Permission::Govern, "have the code of the first admin")?;
        self.make_invitation(actor, None, true).map(Some)
    }

    fn make_invitation(
        &self,
        actor: &Actor,
        name: Option<&str>,
        is_admin: bool,
    ) -> Result<InviteCode> {
        let code = new_code(self.world.random_u128());
        let (hash, name) = (digest_of(&normal(&code)), name.map(str::to_owned));
        let made = hash.clone();
        let (kept, expires_at) = self.submit(actor, move |batch| {
            batch.check_space_is_there()?;
            let invitation = InvitationRow {
                hash: hash.clone(),
                space: batch.space,
                name: name.clone(),
                is_admin,
                invited_by: batch.actor.name.clone(),
                expires_at: batch.at.plus_micros(CODE_MICROS),
                used_at: None,
            };
            let whom = name.as_deref().unwrap_or("the first admin");
            batch.set_audit_subject(
                "person.invited",
                whom,
                None,
                if is_admin { "admin" } else { "" },
            );
            batch.add_invitation(&invitation)?;
            if let Some(name) = &name {
                batch.welcome(name)?;
            }
            Ok((invitation.hash, invitation.expires_at))
        })?;
        if kept != made {
            return Err(lost_secret("the code").hint("invite them again").into());
        }
        Ok(InviteCode { code, expires_at })
    }

    /// Checks that a person can have this name. If a person and an agent had one name, the audit could not tell them
    /// apart.
    fn check_person_name(&self, read: &mut ReadTransaction<'_>, name: &str) -> Result<()> {
        check_token_name(name)?;
        if name.contains('/') || !name.starts_with(char::is_alphanumeric) {
            return Err(Refusal::new(
                Code::BadValue,
                format!("{name:?} cannot be a person's name"),
            )
            .hint("take letters, digits, dashes, dots and underscores, and begin with a letter")
            .into());
        }
        if self.names(read)?.is_agent(name) {
            Err(Refusal::new(Code::BadValue, format!("an agent is called {name}"))
                .hint("take another name for the person")
                .into())
        } else {
            Ok(())
        }
    }

    /// Returns the names of people and agents in this space.
    pub(crate) fn names(&self, read: &mut ReadTransaction<'_>) -> Result<NameDirectory> {
        let people = read.people(self.space, PEOPLE_MAX)?;
        let people = people.into_iter().map(|known| known.name).collect();
        let mut others = self.names_set(read, SettingKind::Person)?;
        for gone in self.names_set(read, SettingKind::Dismissed)? {
            others.remove(&gone);
        }
        let mut agents = self.names_set(read, SettingKind::Agent)?;
        let good = read.tokens_good(self.space, Role::Human, self.now())?;
        others.extend(good.into_iter().map(|token| token.name));
        agents.extend(read.token_names(self.space, Role::Agent)?);
        Ok(NameDirectory { people, others, agents })
    }

    /// Admits a person by an invitation code: sets the passphrase and logs them in. The code is used up.
    pub fn join(
        &self,
        code: &str,
        name: &str,
        passphrase: &str,
        way: LoginClient,
    ) -> Result<IssuedToken> {
        let (code, name) = (digest_of(&normal(code)), name.to_owned());
        // Codes are too long to be guessed. A wrong one costs no hash, and leaves nothing behind.
        self.read(|read| self.check_code(read, &code, &name))?;
        let hash = passphrase_hash(passphrase)?;
        let actor = self.person(&name, IdentityProof::Passphrase);
        let login = self.new_login(&name, way);
        self.submit(&actor, move |batch| {
            let invitation = batch.desk.check_code(batch.write, &code, &name)?;
            if !batch.use_invitation(&code)? {
                return Err(bad_code().into());
            }
            batch.set_audit_subject(
                "person.joined",
                &name,
                None,
                &format!("by {}", invitation.invited_by),
            );
            let (is_admin, joined_at) = (invitation.is_admin, batch.at);
            let known = SpaceMember { name: name.clone(), is_admin, joined_at };
            batch.put_person(&known, &invitation.invited_by)?;
            batch.put_passphrase(&name, &hash)?;
            login.write(batch)
        })
    }

    /// Returns the invitation with this code, if it admits a person under this name now.
    fn check_code(
        &self,
        read: &mut ReadTransaction<'_>,
        code: &str,
        name: &str,
    ) -> Result<InvitationRow> {
        let is_settled = !read.admins(self.space)?.is_empty();
        let bad_code = || if is_settled { bad_code() } else { bad_first_code() };
        let now = self.now();
        let is_good = |i: &InvitationRow| {
            let is_meant = i.name.as_deref().is_none_or(|meant| meant == name);
            i.space == self.space && i.used_at.is_none() && now < i.expires_at && is_meant
        };
        let invitation = read.invitation(code)?.filter(is_good).ok_or_else(bad_code)?;
        if !ledger::check_invitation(read, self.space, &invitation)? {
            return Err(bad_code().into());
        }
        self.check_person_name(read, name)?;
        // A code without a name takes over no existing name, and admits no second first admin.
        let is_known = read.passphrase(self.space, name)?.is_some();
        if (is_known || is_settled) && invitation.name.is_none() {
            return Err(bad_code().into());
        }
        Ok(invitation)
    }

    /// Logs a person in by their passphrase. `from` names their origin, such as an address, for the throttle.
    pub fn log_in(
        &self,
        name: &str,
        passphrase: &str,
        from: &str,
        way: LoginClient,
    ) -> Result<IssuedToken> {
        // A name that no person can have is not counted, and not written anywhere.
        check_token_name(name).map_err(|_| bad_passphrase())?;
        let actor = self.person(name, IdentityProof::Passphrase);
        self.guess(&actor, passphrase, PassphraseUse::LogIn { from }).map_err(|refused| {
            match refused.code() {
                // The refusal does not reveal whether the name is known.
                Code::Passphrase => bad_passphrase().into(),
                _ => refused,
            }
        })?;
        let login = self.new_login(name, way);
        self.submit(&actor, move |batch| {
            batch.set_audit_subject("person.logged_in", &batch.actor.name.clone(), None, "");
            login.write(batch)
        })
    }

    /// Logs in a person who signed with one of their passkeys.
    pub fn log_in_by_touch(&self, passkey: &PasskeyRow) -> Result<IssuedToken> {
        let actor = self.person(&passkey.name, IdentityProof::Presence);
        let (login, id) = (self.new_login(&passkey.name, LoginClient::Browser), passkey.id.clone());
        self.submit(&actor, move |batch| {
            // The passkey may have been removed while the person signed.
            batch.write.passkey(batch.space, &id)?.ok_or_else(bad_passkey)?;
            batch.set_audit_subject(
                "person.logged_in",
                &batch.actor.name.clone(),
                None,
                "by passkey",
            );
            login.write(batch)
        })
    }

    /// Issues a code to a person at their own terminal that logs in a browser of theirs, once, within minutes.
    pub fn give_entry(&self, actor: &Actor) -> Result<InviteCode> {
        self.check(actor, Permission::Answer, "let a browser in")?;
        let code = new_code(self.world.random_u128());
        let (id, name) = (digest_of(&normal(&code)), actor.name.clone());
        let expires_at = self.submit(actor, move |batch| {
            let expires_at = batch.at.plus_micros(ENTRY_MICROS);
            batch.set_audit_subject("person.entry_given", &name, None, "");
            let (id, name) = (id.clone(), name.clone());
            let (about, state) = (ENTRY.to_owned(), String::new());
            let ceremony = ChallengeRow { id, name, about, state, expires_at };
            batch.write.begin_ceremony(batch.space, &ceremony, batch.at)?;
            Ok(expires_at)
        })?;
        Ok(InviteCode { code, expires_at })
    }

    /// Logs in a browser by such a code. Its proof is a token only, since no passphrase was entered.
    pub fn log_in_by_entry(&self, code: &str) -> Result<IssuedToken> {
        let (space, id) = (self.space, digest_of(&normal(code)));
        let found = self.store.write(move |write| write.take_ceremony(space, &id))?;
        let is_good = |it: &ChallengeRow| it.about == ENTRY && self.now() < it.expires_at;
        let name = found.filter(is_good).ok_or_else(bad_code)?.name;
        let actor = self.person(&name, IdentityProof::Token);
        let login = self.new_login(&name, LoginClient::Browser);
        self.submit(&actor, move |batch| {
            batch.set_audit_subject(
                "person.logged_in",
                &batch.actor.name.clone(),
                None,
                "by a code",
            );
            login.write_locked(batch)
        })
    }

    /// Revokes a person's own login. A token that another person created for them stays valid.
    pub fn end_login(&self, actor: &Actor, id: TokenId) -> Result<()> {
        self.submit(actor, move |batch| {
            let found = batch.write.token_by_id(batch.space, id)?;
            let own = found.filter(|token| token.launcher == token.name);
            let Some(token) = own else { return Ok(()) };
            batch.set_audit_subject("person.logged_out", &token.name, None, "");
            batch.revoke_token(&token)
        })
    }

    /// Checks a passphrase, with a backoff for the place at which it is guessed: a guess counts as wrong until it was
    /// right, so that many at once are no way around that.
    pub(crate) fn guess(&self, actor: &Actor, given: &str, guess: PassphraseUse<'_>) -> Result<()> {
        let (space, name) = (self.space, actor.name.clone());
        let (key, name_key) = guess.keys(&name);
        let (address_key, is_strangers) = (guess.address_key(), guess.address_key().is_some());
        let (world, place_key) = (self.world.clone(), key.clone());
        let stored = self.store.write(move |write| {
            let now = world.now();
            // Before anything is kept for a name that a stranger may have made up.
            if let Some(key) = &address_key {
                match guess_address(write.guesses(space, key)?.until, now) {
                    Ok(until) => {
                        write.put_guesses(space, key, FailedLogins { failures: 0, until })?
                    }
                    Err(free_at) => return Ok(Err(too_many(now, free_at))),
                }
            }
            let before = |guesses: FailedLogins| {
                if is_forgotten(guesses.until, now) { FailedLogins::NONE } else { guesses }
            };
            let guesses = before(write.guesses(space, &place_key)?);
            if now < guesses.until {
                return Ok(Err(too_many(now, guesses.until)));
            }
            if let Some(key) = &name_key {
                match guess_name(write.guesses(space, key)?.until, now) {
                    Ok(until) => {
                        write.put_guesses(space, key, FailedLogins { failures: 0, until })?
                    }
                    Err(free_at) => return Ok(Err(too_many(now, free_at))),
                }
            }
            write.forget_guesses(space, forgotten_before(now))?;
            let failures = guesses.failures.saturating_add(1);
            let until = now.plus_micros(pause_micros(failures));
            write.put_guesses(space, &place_key, FailedLogins { failures, until })?;
            Ok(Ok(write.passphrase(space, &name)?))
        })?;
        let stored = stored.inspect_err(|refusal| self.note_refusal(actor, refusal))?;
        if let Some(hash) = &stored {
            let (space, name) = (self.space, &actor.name);
            self.read(|read| ledger::check_person(read, space, name, false, Some(hash)))?;
        }
        let hash = stored.as_deref().unwrap_or(NOBODY);
        let hash = PasswordHash::new(hash).map_err(|e| unhashed(&e))?;
        let is_right = Argon2::default().verify_password(given.as_bytes(), &hash).is_ok();
        if is_right && stored.is_some() {
            self.store.write(move |write| write.put_guesses(space, &key, FailedLogins::NONE))?;
            return Ok(());
        }
        let refusal = match stored {
            Some(_) => Refusal::new(Code::Passphrase, "the passphrase is wrong"),
            None => Refusal::new(Code::Passphrase, format!("{} has set no passphrase", actor.name))
                .hint("set one with: sayso unlock --set"),
        };
        // Names that strangers make up do not belong in the audit log of this space.
        if stored.is_some() || !is_strangers {
            self.note_refusal(actor, &refusal);
        } else {
            // It takes as long as if it were written down, so that the time does not tell who is here.
            self.store.write(move |write| write.lock(space).map(drop))?;
            self.store
                .write(move |write| write.forget_guesses(space, Timestamp::from_micros(0)))?;
        }
        Err(refusal.into())
    }

    /// Returns the people who were admitted, by name.
    pub fn people(&self) -> Result<Vec<SpaceMember>> {
        self.read(|read| Ok(read.people(self.space, PEOPLE_MAX)?))
    }

    /// True if this person is an admin of the space.
    pub fn is_admin(&self, name: &str) -> Result<bool> {
        self.read(|read| {
            let is_admin = read.person(self.space, name)?.is_some_and(|known| known.is_admin);
            ledger::check_person(read, self.space, name, is_admin, None)?;
            Ok(is_admin)
        })
    }

    /// Returns the people who only have a token, by name, with the time of their first one.
    pub fn people_by_token(&self) -> Result<Vec<SpaceMember>> {
        let now = self.now();
        self.read(|read| {
            let known = read.people(self.space, PEOPLE_MAX)?;
            let mut found: BTreeMap<String, Timestamp> = BTreeMap::new();
            for token in read.tokens_good(self.space, Role::Human, now)? {
                let is_known = known.iter().any(|known| known.name == token.name);
                if !is_known {
                    let since = found.entry(token.name).or_insert(token.created_at);
                    *since = token.created_at.min(*since);
                }
            }
            let known = |(name, joined_at)| SpaceMember { name, is_admin: false, joined_at };
            Ok(found.into_iter().map(known).collect())
        })
    }

    /// Removes a person: their credentials are revoked at once, and so are those that they created for others, except
    /// those of running agents. Their records stay.
    pub fn dismiss_person(&self, actor: &Actor, name: &str) -> Result<DismissalReport> {
        let name = name.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Govern, "send people away")?;
            if batch.write.admins(batch.space)? == [name.as_str()] {
                let message = format!("{name} is the only one who looks after the space");
                return Err(Refusal::new(Code::WrongState, message)
                    .hint("let somebody else do it first: sayso people invite NAME --admin")
                    .into());
            }
            if !batch.desk.names(batch.write)?.is_person(&name) {
                return Err(not_found("person", &name).into());
            }
            batch.set_audit_subject("person.dismissed", &name, None, "");
            batch.end_absence(&name)?;
            let mut came =
                DismissalReport { named_in: batch.naming(&name)?, ..DismissalReport::default() };
            batch.drop_person(&name)?;
            batch.end_tokens_made_by(&name, &mut came)?;
            let (kind, body) = (SettingKind::Dismissed, Some("{}".to_owned()));
            batch.set(&[SettingChange { kind, name: name.clone(), body }])?;
            batch.drop_votes_of(&name)?;
            came.gates = batch.left_alone_by(&name)?;
            Ok(came)
        })
    }

    /// True if the space has an admin.
    pub fn has_admin(&self) -> Result<bool> {
        Ok(self.people()?.iter().any(|known| known.is_admin))
    }

    fn person(&self, name: &str, proof: IdentityProof) -> Actor {
        Actor::new(Role::Human, name, proof, self.level(), EntryPoint::Http)
    }

    fn new_login(&self, name: &str, way: LoginClient) -> NewLogin {
        let (secret, word) = match way {
            LoginClient::Program => (new_secret(&self.world, Role::Human), None),
            LoginClient::Browser => {
                let word = secret_beginning(&self.world, "");
                (new_browser_secret(&self.world), Some(word))
            }
        };
        NewLogin { id: self.new_token_id(), name: name.to_owned(), secret, word }
    }

    /// True if this is the CSRF token of a browser session.
    pub(crate) fn knows_word(&self, name: &str, token: TokenId, word: &str) -> Result<bool> {
        self.is_unlocked(name, &word_place(token, word))
    }
}

impl WriteBatch<'_, '_> {
    /// Allows a removed person to return.
    fn welcome(&mut self, name: &str) -> Result<()> {
        let kind = SettingKind::Dismissed;
        if ledger::setting(self.write, self.space, kind, name)?.is_some() {
            self.set(&[SettingChange { kind, name: name.to_owned(), body: None }])?;
        }
        Ok(())
    }

    /// Revokes the tokens that a person created for others, and those that were created with them in turn.
    fn end_tokens_made_by(&mut self, name: &str, came: &mut DismissalReport) -> Result<()> {
        let rules = self.desk.rules(self.write)?;
        let stationed = rules.of::<RunningAgent>(SettingKind::Station);
        let mut makers = vec![name.to_owned()];
        while let Some(maker) = makers.pop() {
            let (made, now) = (self.write.tokens_made_by(self.space, &maker)?, self.at);
            for token in made.into_iter().filter(|token| is_good(token, now)) {
                let words = format!("{} ({} {})", token.handle, token.role.as_str(), token.name);
                let is_stationed = stationed.iter().any(|(_, at)| at.token == token.id);
                if is_stationed || self.is_at_work(&token)? {
                    came.kept.push(words);
                    continue;
                }
                self.set_audit_subject(
                    "token.revoked",
                    &token.handle,
                    None,
                    &format!("{name} was sent away"),
                );
                self.revoke_token(&token)?;
                came.ended.push(words);
                if token.role == Role::Admin && !self.has_admin_token(&token.name)? {
                    makers.push(token.name);
                }
            }
        }
        Ok(())
    }

    fn has_admin_token(&mut self, name: &str) -> Result<bool> {
        let all = self.write.tokens_of(self.space, name)?;
        Ok(all.iter().any(|token| token.role == Role::Admin && is_good(token, self.at)))
    }

    fn is_at_work(&mut self, token: &TokenRow) -> Result<bool> {
        let Some(run) = token.run else { return Ok(false) };
        Ok(self.write.run(run)?.is_some_and(|(run, _)| run.state == RunState::Running))
    }

    /// Returns the groups and policies that contain a name.
    fn naming(&mut self, name: &str) -> Result<Vec<String>> {
        let is_it = |word: &str| word == name;
        let is_of_name = |c: char| !(c.is_alphanumeric() || "._-@+".contains(c));
        let found = ledger::settings(self.write, self.space)?.into_iter().filter(|set| {
            let is_list = ["group", "policy"].contains(&set.kind.as_str());
            is_list && set.body.as_deref().unwrap_or_default().split(is_of_name).any(is_it)
        });
        Ok(found.map(|set| format!("{} {}", set.kind, set.name)).collect())
    }

    /// Drops the votes of a person at open gates, and the voice that they delegated there.
    fn drop_votes_of(&mut self, name: &str) -> Result<()> {
        let mut filter = GateFilter { limit: GATES_MAX, ..GateFilter::default() };
        loop {
            let page = self.write.gates(self.space, &filter)?;
            for gate in page.items.iter().filter(|gate| gate.holds_voice_of(name)) {
                self.on_gate(gate.opened.id, &GateCommand::DropVotes { of: name.to_owned() })?;
            }
            filter.after = page.items.last().map(|gate| gate.opened.id);
            if !page.more || filter.after.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the open gates that no other person may answer.
    fn left_alone_by(&mut self, name: &str) -> Result<Vec<String>> {
        let Some(mut people) = self.desk.names(self.write)?.all() else { return Ok(vec![]) };
        people.remove(name);
        let filter = GateFilter { limit: GATES_MAX, ..GateFilter::default() };
        let open = self.write.gates(self.space, &filter)?.items;
        let alone = open.iter().filter(|gate| !can_be_answered_by(gate, &people));
        Ok(alone.map(|gate| gate.handle().to_owned()).collect())
    }
}

/// True if a credential is valid now.
pub(crate) fn is_good(token: &TokenRow, now: Timestamp) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
}

/// Returns the place under which the hash of a session's CSRF token is stored.
fn word_place(token: TokenId, word: &str) -> String {
    format!("word/{token}/{}", digest_of(word))
}

/// The kind of client that logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginClient {
    /// A program of the person.
    Program,
    /// A browser: its credential is in a cookie, and needs a CSRF token for writes.
    Browser,
}

/// The credential of an authenticated person, to be stored.
#[derive(Clone)]
struct NewLogin {
    id: TokenId,
    name: String,
    secret: String,
    word: Option<String>,
}

impl NewLogin {
    /// Stores the login and unlocks it: the proof that was just given counts for some minutes.
    fn write(&self, batch: &mut WriteBatch<'_, '_>) -> Result<IssuedToken> {
        let written = self.write_locked(batch)?;
        let (place, until) =
            (crate::remote::place(self.id), crate::credentials::unlocked(batch.at));
        batch.write.put_unlock(batch.space, &self.name, &place, until)?;
        Ok(written)
    }

    fn write_locked(&self, batch: &mut WriteBatch<'_, '_>) -> Result<IssuedToken> {
        let token = TokenRow {
            id: self.id,
            space: batch.space,
            handle: batch.free_handle(HandleTable::Tokens, |len| self.id.handle(len))?,
            hash: digest_of(&self.secret),
            role: Role::Human,
            name: self.name.clone(),
            task: None,
            run: None,
            launcher: self.name.clone(),
            created_at: batch.at,
            expires_at: Some(batch.at.plus_micros(LOGIN_MICROS)),
            revoked_at: None,
            scopes: None,
        };
        batch.add_token(&token)?;
        if let (Some(word), Some(until)) = (&self.word, token.expires_at) {
            let place = word_place(self.id, word);
            batch.write.put_unlock(batch.space, &self.name, &place, until)?;
        }
        Ok(IssuedToken { token, secret: self.secret.clone(), word: self.word.clone() })
    }
}

/// Returns a code of eighty bits, in groups that can be read aloud.
fn new_code(chance: u128) -> String {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let letter = |at: u32| char::from(LETTERS[(chance >> (5 * at)) as usize % 32]);
    let letters: Vec<_> = (0..16).map(letter).collect();
    let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

/// Normalizes an entered code: any case, with or without dashes, or with look-alikes.
fn normal(code: &str) -> String {
    let plain = code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase());
    plain
        .map(|c| match c {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}

/// Returns the one refusal for every invalid code.
pub fn bad_code() -> Refusal {
    Refusal::new(
        Code::BadCode,
        "the code is not known here, was used, is too old, or is for another name",
    )
    .hint("ask for a new one: sayso people invite NAME")
}

/// Returns the refusal of a code in a space without an admin who could issue another.
fn bad_first_code() -> Refusal {
    bad_code().hint(
        "nobody looks after this space yet; a person gets a code at a terminal of the server's machine: \
         sayso people invite NAME --admin",
    )
}

/// Returns the one refusal for every invalid passkey.
pub fn bad_passkey() -> Refusal {
    Refusal::new(Code::NoTouch, "the passkey is not known here")
        .hint("log in with your passphrase, and add the passkey then")
}

/// Returns the one refusal for an unknown name and a wrong passphrase.
pub fn bad_passphrase() -> Refusal {
    Refusal::new(Code::Passphrase, "the name or the passphrase is wrong")
        .hint("whoever looks after the space can invite you anew: sayso people invite NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_kindly() {
        let code = new_code(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(code.len(), 19);
        assert_eq!(normal(&code), normal(&code.to_lowercase().replace('-', " ")));
        assert_eq!(normal("oil1-0000"), "01110000");
        assert_ne!(new_code(1), new_code(2));
    }
}
