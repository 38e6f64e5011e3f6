//! Passkeys (WebAuthn): challenges, and the keys of a person.
//!
//! The purpose of a challenge is stored when it is issued and cannot be changed afterwards: an approval of one card is
//! never an approval of another. The web server verifies the signature.

use crate::credentials::digest_of;
use crate::{LocalDesk, Result};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, Code, GateId, IdentityProof, Permission, Refusal, Timestamp};
use sayso_store::ChallengeRow;
use serde::{Deserialize, Serialize};

pub use sayso_store::PasskeyRow;

/// The lifetime of a challenge.
const TOUCH_MICROS: i64 = 3 * 60 * 1_000_000;

/// The maximum number of passkeys of a person.
const PASSKEYS_MAX: usize = 20;

/// The maximum length of a passkey's label.
const LABEL_CHARS_MAX: usize = 80;

/// So many people come in by a touch from one address at one time.
const ENTRIES_MAX: usize = 1_000;

/// The purpose of a challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum ChallengePurpose {
    /// Add a passkey.
    Adding {
        /// The label of the new passkey.
        label: String,
    },
    /// Answer one gate, as it was shown.
    Answering {
        gate: GateId,
        /// The digest of the card that was shown.
        digest: String,
    },
    /// Log in. The passkey that signs tells the person.
    Entering,
}

/// An issued passkey challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyChallenge {
    /// The random id by which it is redeemed.
    pub id: String,
    /// The expiry of the challenge.
    pub expires_at: Timestamp,
}

impl LocalDesk {
    /// Returns the passkeys of a person, oldest first.
    pub fn passkeys(&self, actor: &Actor) -> Result<Vec<PasskeyRow>> {
        self.check(actor, Permission::Answer, "have passkeys")?;
        self.read(|read| Ok(read.passkeys(self.space, &actor.name, PASSKEYS_MAX)?))
    }

    /// Checks that the actor may add a passkey: a passphrase must have been entered within the last minutes.
    pub fn check_may_add_passkey(&self, actor: &Actor) -> Result<()> {
        self.check(actor, Permission::Answer, "add a passkey")?;
        if actor.proof < IdentityProof::Passphrase {
            let message = "a passkey is added by whoever has just shown their passphrase";
            let refusal = Refusal::new(Code::ProofTooLow, message).hint("sayso unlock");
            self.note_refusal(actor, &refusal);
            return Err(refusal.into());
        }
        if self.passkeys(actor)?.len() >= PASSKEYS_MAX {
            let message = format!("nobody has more than {PASSKEYS_MAX} passkeys");
            return Err(Refusal::new(Code::TooLarge, message).hint("take one away first").into());
        }
        Ok(())
    }

    /// Returns the full digest of a gate that the actor is about to answer, if it matches the one that was shown.
    pub fn digest_to_answer(&self, actor: &Actor, id: GateId, shown: &str) -> Result<String> {
        self.check(actor, Permission::Answer, "answer a gate")?;
        let gate = self.gate(id)?;
        if gate.digest.is_named_by(shown) {
            Ok(gate.digest.to_string())
        } else {
            let message = format!("gate {} changed since it was shown", gate.handle());
            Err(Refusal::new(Code::Stale, message).hint("look again").into())
        }
    }

    /// Issues a challenge; `state` is needed to verify the response.
    pub fn issue_challenge(
        &self,
        actor: &Actor,
        about: &ChallengePurpose,
        state: String,
    ) -> Result<PasskeyChallenge> {
        self.ask_for(&actor.name, about, state, None)
    }

    /// Issues a challenge for a login by passkey. The client is not authenticated, so where too many challenges are
    /// open, the oldest of its address makes room.
    pub fn issue_login_challenge(&self, from: &str, state: String) -> Result<PasskeyChallenge> {
        // No person has a name with a blank in it.
        self.ask_for(&format!("from {from}"), &ChallengePurpose::Entering, state, Some(ENTRIES_MAX))
    }

    fn ask_for(
        &self,
        name: &str,
        about: &ChallengePurpose,
        state: String,
        most: Option<usize>,
    ) -> Result<PasskeyChallenge> {
        let about =
            serde_json::to_string(about).map_err(|e| sayso_store::Error::Other(e.to_string()))?;
        let (world, space, name) = (self.world.clone(), self.space, name.to_owned());
        let id = digest_of(&format!("{:032x}{:032x}", world.random_u128(), world.random_u128()));
        Ok(self.store.write(move |write| {
            let now = world.now();
            let expires_at = now.plus_micros(TOUCH_MICROS);
            let (id, name) = (id.clone(), name.clone());
            let (about, state) = (about.clone(), state.clone());
            let ceremony = ChallengeRow { id: id.clone(), name, about, state, expires_at };
            write.begin_ceremony(space, &ceremony, now)?;
            if let Some(most) = most {
                write.drop_older_ceremonies(space, &ceremony.name, most)?;
            }
            Ok(PasskeyChallenge { id, expires_at })
        })?)
    }

    /// Takes up the touch of one who comes in, wherever it was asked for.
    pub fn redeem_login_challenge(&self, id: &str) -> Result<String> {
        match self.take_touch_of(None, id)? {
            (ChallengePurpose::Entering, state) => Ok(state),
            (ChallengePurpose::Adding { .. } | ChallengePurpose::Answering { .. }, _) => {
                Err(no_touch().into())
            }
        }
    }

    /// Returns a passkey of any person.
    pub fn passkey(&self, id: &str) -> Result<Option<PasskeyRow>> {
        self.read(|read| Ok(read.passkey(self.space, id)?))
    }

    /// Redeems a challenge: returns its purpose, and the state to verify the response with. It is used up even if the
    /// verification fails.
    pub fn redeem_challenge(&self, actor: &Actor, id: &str) -> Result<(ChallengePurpose, String)> {
        self.take_touch_of(Some(&actor.name), id)
    }

    fn take_touch_of(&self, name: Option<&str>, id: &str) -> Result<(ChallengePurpose, String)> {
        let (space, wanted) = (self.space, id.to_owned());
        let found = self.store.write(move |write| write.take_ceremony(space, &wanted))?;
        let is_good = |it: &ChallengeRow| {
            name.is_none_or(|name| it.name == name) && self.now() < it.expires_at
        };
        let ceremony = found.filter(is_good).ok_or_else(no_touch)?;
        let about = serde_json::from_str(&ceremony.about).map_err(|_| no_touch())?;
        Ok((about, ceremony.state))
    }

    /// Adds a passkey of the actor.
    pub fn add_passkey(
        &self,
        actor: &Actor,
        id: &str,
        label: &str,
        body: &str,
    ) -> Result<PasskeyRow> {
        self.check_may_add_passkey(actor)?;
        let label = shorten(&sanitize_line(label.trim()), LABEL_CHARS_MAX);
        let label = if label.is_empty() { "passkey".to_owned() } else { label };
        let (id, body) = (id.to_owned(), body.to_owned());
        self.submit(actor, move |batch| {
            let passkey = PasskeyRow {
                id: id.clone(),
                name: batch.actor.name.clone(),
                label: label.clone(),
                body: body.clone(),
                added_at: batch.at,
                used_at: None,
            };
            batch.set_audit_subject("passkey.added", &passkey.name, None, &passkey.label);
            batch.write.add_passkey(batch.space, &passkey)?;
            Ok(passkey)
        })
    }

    /// Records the use of a passkey, and its state after it.
    pub fn use_passkey(&self, id: &str, body: &str) -> Result<()> {
        let (space, world) = (self.space, self.world.clone());
        let (id, body) = (id.to_owned(), body.to_owned());
        Ok(self.store.write(move |write| write.use_passkey(space, &id, &body, world.now()))?)
    }

    /// Removes a passkey of the actor.
    pub fn remove_passkey(&self, actor: &Actor, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Answer, "have passkeys")?;
            let name = batch.actor.name.clone();
            if !batch.write.drop_passkey(batch.space, &name, &id)? {
                return Err(crate::write_batch::not_found("passkey", &id).into());
            }
            batch.set_audit_subject("passkey.removed", &name, None, "");
            Ok(())
        })
    }
}

fn no_touch() -> Refusal {
    Refusal::new(
        Code::NoTouch,
        "this touch of a passkey was not asked for, was used, or is too late",
    )
    .hint("ask for another, and touch the key then")
}
