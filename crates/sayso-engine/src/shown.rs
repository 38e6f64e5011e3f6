//! A credential that was good a moment ago is taken for good, and checked together with what it is used for: in
//! the transaction that writes, or beside the look that reads. So it costs no way to the database of its own,
//! and one that was revoked meanwhile, by whomever and through whichever server, does nothing and sees nothing.

use crate::identity::{bad_token, check_way, digest_of};
use crate::{LocalDesk, Result, ledger};
use sayso_core::{Actor, Door, Role, TokenId};
use sayso_store::{Credential, Foresight, Read};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many credentials are remembered.
const REMEMBERED_MAX: usize = 1_024;

/// A credential as it was found, with what the log says of it.
type Found = Credential;

/// Credentials that were good when they were looked at last, by the hash of their secret.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<String, Found>>);

impl Remembered {
    fn recall(&self, hash: &str) -> Option<Found> {
        self.all().get(hash).cloned()
    }

    fn keep(&self, hash: String, found: Found) {
        let mut all = self.all();
        if all.len() >= REMEMBERED_MAX {
            all.clear();
        }
        all.insert(hash, found);
    }

    fn forget(&self, hash: &str) {
        self.all().remove(hash);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Found>> {
        // An entry is whole or not there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A credential that was taken for good, and is to be checked.
pub(crate) struct Shown {
    hash: String,
    place: &'static str,
    found: Found,
    remembered: Arc<Remembered>,
    has_changed: AtomicBool,
}

impl Shown {
    /// What is looked at to check it.
    pub(crate) fn foresight(&self) -> Foresight {
        Foresight::default().token(&self.hash, self.place)
    }

    /// The same for a look: it goes along with the first thing that is asked there.
    pub(crate) fn ask_early(&self, read: &mut Read<'_>) -> Result<()> {
        Ok(read.credential_early(&self.hash, self.place)?)
    }

    /// Whether it is what it was. Nothing may be written, or handed out, for one that is not.
    pub(crate) fn check(&self, read: &mut Read<'_>) -> Result<()> {
        if read.credential(&self.hash, self.place)?.as_ref() == Some(&self.found) {
            return Ok(());
        }
        self.remembered.forget(&self.hash);
        self.has_changed.store(true, Ordering::Relaxed);
        Err(bad_token("the token has changed meanwhile").into())
    }

    /// Whether it was found to be another by now. Then nothing was done for it, and its holder is to come in
    /// anew: it may be good all the same.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed)
    }
}

impl LocalDesk {
    /// Who presents this secret, with the proof it has at its place, and a desk for what they ask. Where the
    /// credential was good before, that desk checks it with everything that is asked of it, and nothing is
    /// looked up here.
    pub(crate) fn present_again(
        &self,
        secret: &str,
        door: Door,
        place: &'static str,
    ) -> Result<(Actor, TokenId, Option<Arc<Shown>>)> {
        check_way(secret, door)?;
        let hash = digest_of(secret.trim());
        if let Some(found) = self.remembered.recall(&hash) {
            let admitted = self.admit_at_its_place(Some(found.clone()), &hash, door);
            // What time alone has ended is looked at again, to say so.
            if let Ok((actor, token)) = admitted {
                let (remembered, has_changed) = (self.remembered.clone(), AtomicBool::new(false));
                let shown = Shown { hash, place, found, remembered, has_changed };
                return Ok((actor, token, Some(Arc::new(shown))));
            }
            self.remembered.forget(&hash);
        }
        let found = self.look(|read| ledger::credential(read, &hash, place))?;
        let (actor, token) = self.admit_at_its_place(found.clone(), &hash, door)?;
        if let Some(found) = found {
            self.remembered.keep(hash, found);
        }
        Ok((actor, token, None))
    }

    /// The role of whoever presents this secret, where it was good when it was looked at last. It grants nothing: it
    /// says which of those who wait goes first.
    pub fn recall(&self, secret: &str, door: Door) -> Option<Role> {
        check_way(secret, door).ok()?;
        let hash = digest_of(secret.trim());
        let found = self.remembered.recall(&hash)?;
        self.admit_at_its_place(Some(found), &hash, door).ok().map(|(actor, _)| actor.role)
    }

    /// The same desk, which checks this with everything that is asked of it.
    #[must_use]
    pub(crate) fn checking(mut self, shown: Option<Arc<Shown>>) -> Self {
        self.shown = shown;
        self
    }

    /// Looks, for whoever has shown this desk's credential. What was read is theirs only if it is still good.
    pub(crate) fn with_credential<T>(
        &self,
        read: &mut Read<'_>,
        work: impl FnOnce(&mut Read<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(shown) = &self.shown else { return work(read) };
        shown.ask_early(read)?;
        let outcome = work(read);
        shown.check(read)?;
        outcome
    }
}
