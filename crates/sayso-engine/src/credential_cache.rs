//! Caches validated credentials. A cached credential is re-validated in the same transaction that uses it, for writes
//! as for reads, so authentication costs no round trip of its own, and a token that was revoked in the meantime, on
//! any server, has no effect.

use crate::credentials::{bad_token, check_way, digest_of};
use crate::{LocalDesk, Result, ledger};
use sayso_core::{Actor, EntryPoint, Role, TokenId};
use sayso_store::{CredentialRecord, PrefetchPlan, ReadTransaction};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of cached credentials.
const REMEMBERED_MAX: usize = 1_024;

/// A cached credential, with its state according to the log.
type ValidatedCredential = CredentialRecord;

/// The cache of credentials that were valid when last read, by the hash of their secret.
#[derive(Default)]
pub(crate) struct CredentialCache(Mutex<HashMap<String, ValidatedCredential>>);

impl CredentialCache {
    fn cached_role(&self, hash: &str) -> Option<ValidatedCredential> {
        self.all().get(hash).cloned()
    }

    fn keep(&self, hash: String, found: ValidatedCredential) {
        let mut all = self.all();
        if all.len() >= REMEMBERED_MAX {
            all.clear();
        }
        all.insert(hash, found);
    }

    fn forget(&self, hash: &str) {
        self.all().remove(hash);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, ValidatedCredential>> {
        // An entry is inserted as a whole, so a poisoned lock is still consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A credential from the cache that is to be re-validated.
pub(crate) struct CachedCredential {
    hash: String,
    place: &'static str,
    found: ValidatedCredential,
    remembered: Arc<CredentialCache>,
    has_changed: AtomicBool,
}

impl CachedCredential {
    /// Returns the reads to prefetch for the validation.
    pub(crate) fn foresight(&self) -> PrefetchPlan {
        PrefetchPlan::default().token(&self.hash, self.place)
    }

    /// Prefetches the validation for a read: it is sent together with the first query.
    pub(crate) fn prefetch(&self, read: &mut ReadTransaction<'_>) -> Result<()> {
        Ok(read.prefetch_credential(&self.hash, self.place)?)
    }

    /// Checks that the credential has not changed. Otherwise nothing may be written or returned for it.
    pub(crate) fn check(&self, read: &mut ReadTransaction<'_>) -> Result<()> {
        if read.credential(&self.hash, self.place)?.as_ref() == Some(&self.found) {
            return Ok(());
        }
        self.remembered.forget(&self.hash);
        self.has_changed.store(true, Ordering::Relaxed);
        Err(bad_token("the token has changed meanwhile").into())
    }

    /// True if the credential was found to have changed. Then nothing was executed, and its holder has to
    /// authenticate again, which may succeed.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed)
    }
}

impl LocalDesk {
    /// Authenticates the holder of a secret, with the proof of its place. A cached credential is returned without a
    /// query, and the desk has to re-validate it in each transaction.
    pub(crate) fn authenticate_cached(
        &self,
        secret: &str,
        door: EntryPoint,
        place: &'static str,
    ) -> Result<(Actor, TokenId, Option<Arc<CachedCredential>>)> {
        check_way(secret, door)?;
        let hash = digest_of(secret.trim());
        if let Some(found) = self.remembered.cached_role(&hash) {
            let admitted = self.admit_at_its_place(Some(found.clone()), &hash, door);
            // A credential that has expired in the cache is read again, for the exact refusal.
            if let Ok((actor, token)) = admitted {
                let (remembered, has_changed) = (self.remembered.clone(), AtomicBool::new(false));
                let shown = CachedCredential { hash, place, found, remembered, has_changed };
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

    /// Returns the role of a cached credential. It grants nothing and is only used to prioritize waiting requests.
    pub fn cached_role(&self, secret: &str, door: EntryPoint) -> Option<Role> {
        check_way(secret, door).ok()?;
        let hash = digest_of(secret.trim());
        let found = self.remembered.cached_role(&hash)?;
        self.admit_at_its_place(Some(found), &hash, door).ok().map(|(actor, _)| actor.role)
    }

    /// Sets the credential that the desk re-validates in each transaction.
    #[must_use]
    pub(crate) fn with_credential_check(mut self, shown: Option<Arc<CachedCredential>>) -> Self {
        self.shown = shown;
        self
    }

    /// Runs a read for the holder of the desk's credential. The result is returned only if the credential is still
    /// valid.
    pub(crate) fn with_credential<T>(
        &self,
        read: &mut ReadTransaction<'_>,
        work: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(shown) = &self.shown else { return work(read) };
        shown.prefetch(read)?;
        let outcome = work(read);
        shown.check(read)?;
        outcome
    }
}
