//! The desk of a local store, and the write path: each write loads, decides and commits in one transaction, and is
//! retried after a conflict.

use crate::credential_cache::{CachedCredential, CredentialCache};
use crate::deadline::{CallDeadline, or_outcome_unknown};
use crate::idempotency::{IdempotencyKey, KeyedWrite};
use crate::rate_limit::AgentRateLimit;
use crate::settings::SpaceSettings;
use crate::visibility::DeskReader;
use crate::write_batch::{CommitMark, REASON_CHARS_MAX, WriteBatch};
use crate::{Error, Result, RuntimeEnv};
use sayso_core::audit::{AuditOutcome, ChainEntry, ChainHead};
use sayso_core::text::shorten;
use sayso_core::{
    Actor, AssuranceLevel, ChannelInfo, GateId, MessageId, Permission, Refusal, Role, SpaceId,
    TokenId,
};
use sayso_store::{PrefetchPlan, ReadTransaction, Store, StoreLocation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of attempts if another writer commits first.
const ATTEMPTS_MAX: u32 = 5;

/// So much of a name is in the entry of a refusal. Names that are taken are no longer.
const NAME_CHARS_MAX: usize = 200;

/// A callback with the heads of the hash chain before and after a write.
pub type HeadKeeper = Arc<dyn Fn(&LocalDesk, &ChainHead, &ChainHead) + Send + Sync>;

/// The time limit of retries on a store with a writer thread, so that a caller does not wait longer for a store that
/// fails.
const ATTEMPTS_FOR: Duration = Duration::from_secs(3);

/// The desk of one space with direct access to its store. Clones share the store.
#[derive(Clone)]
pub struct LocalDesk {
    pub(crate) store: Arc<Store>,
    pub(crate) world: RuntimeEnv,
    pub(crate) space: SpaceId,
    pub(crate) space_name: String,
    /// The notification channels, besides those that people set for themselves.
    pub(crate) channels: Vec<ChannelInfo>,
    /// The assurance level of the deployment.
    pub(crate) level: AssuranceLevel,
    /// The settings of the space, cached since the last read.
    pub(crate) rules: Arc<Mutex<Option<Arc<SpaceSettings>>>>,
    /// The rate limit of agents, if there is one.
    pub(crate) pace: Option<Arc<AgentRateLimit>>,
    /// The maximum size of a page in bytes, for a server that answers many requests at once.
    pub(crate) page_bytes_max: Option<usize>,
    /// The position up to which the outbox was swept.
    pub(crate) swept: Arc<Mutex<String>>,
    /// The idempotency key of the remote call that this desk serves.
    pub(crate) errand: Option<Arc<IdempotencyKey>>,
    /// The deadline of the remote caller.
    pub(crate) deadline: Option<CallDeadline>,
    /// The callback that records the head of the chain outside of the store.
    pub(crate) head_keeper: Option<HeadKeeper>,
    /// True if a person confirmed the clock.
    pub(crate) accepts_clock: bool,
    /// The actor whose visibility applies, if one was set.
    pub(crate) reader: Option<Arc<DeskReader>>,
    /// The cache of credentials that were valid when last read.
    pub(crate) remembered: Arc<CredentialCache>,
    /// The cached credential that is re-validated in every transaction of this desk.
    pub(crate) shown: Option<Arc<CachedCredential>>,
}

impl LocalDesk {
    /// Returns the id of the space.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Returns the name of the space.
    pub fn space_name(&self) -> &str {
        &self.space_name
    }

    /// Returns the location of the store.
    pub fn place(&self) -> &StoreLocation {
        self.store.place()
    }

    /// Sets the assurance level that the desk reports.
    #[must_use]
    pub fn with_level(mut self, level: AssuranceLevel) -> Self {
        self.level = level;
        self
    }

    /// Sets the callback that is called with the head of the chain after each write.
    #[must_use]
    pub fn with_head_keeper(mut self, keeper: HeadKeeper) -> Self {
        self.head_keeper = Some(keeper);
        self
    }

    /// The same desk; nothing hears where the chain ends.
    #[must_use]
    pub fn without_head_keeper(mut self) -> Self {
        self.head_keeper = None;
        self
    }

    /// Returns the head of the chain at an entry; none if the chain is shorter.
    pub fn head_at(&self, seq: u64) -> Result<Option<ChainHead>> {
        let found =
            self.look(|read| Ok(read.audit_after(self.space, seq.saturating_sub(1), 1)?))?;
        let found = found.into_iter().find(|row| row.seq == seq);
        Ok(found.map(|row| ChainHead { seq, hash: row.hash }))
    }

    /// Returns the head of the chain; none if it is empty.
    pub fn last_head(&self) -> Result<Option<ChainHead>> {
        let last = self.look(|read| Ok(read.audit_last(self.space, 1)?))?.pop();
        Ok(last.map(|row| ChainHead { seq: row.seq, hash: row.hash }))
    }

    /// Returns the assurance level of the deployment. A process that reads the database directly could also write to
    /// it directly, agents of the same user included: that is S0 for any database.
    pub fn level(&self) -> AssuranceLevel {
        self.level
    }

    /// Refuses a store whose schema is newer: this version writes nothing into it.
    pub fn check_schema(&self) -> Result<()> {
        Ok(self.store.check_schema()?)
    }

    /// Returns the problems that the database's own integrity check finds.
    pub fn check_file(&self) -> Result<Vec<String>> {
        Ok(self.store.check_file()?)
    }

    /// Returns a new id for a gate.
    pub fn new_gate_id(&self) -> GateId {
        GateId::mint(self.world.now(), self.world.random_u128())
    }

    /// Returns a new id for a message.
    pub fn new_message_id(&self) -> MessageId {
        MessageId::mint(self.world.now(), self.world.random_u128())
    }

    pub(crate) fn new_token_id(&self) -> TokenId {
        TokenId::mint(self.world.now(), self.world.random_u128())
    }

    /// Returns the time of the desk's clock.
    pub fn now(&self) -> sayso_core::Timestamp {
        self.world.now()
    }

    /// Runs `work` on a consistent snapshot of the space.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let checked = |read: &mut ReadTransaction<'_>| or_refused(self.with_credential(read, work));
        self.store.read(checked)?.map_err(Error::Refused)
    }

    /// Runs `work` without a transaction, for one statement: see [`Store::query`].
    pub(crate) fn look<T>(
        &self,
        work: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let checked = |read: &mut ReadTransaction<'_>| or_refused(self.with_credential(read, work));
        self.store.query(checked)?.map_err(Error::Refused)
    }

    /// Runs load, decide, apply and append in one transaction. After a conflict it is retried; after a connection
    /// loss at an unknown moment, the audit is checked first for an earlier commit.
    pub(crate) fn submit<T, F>(&self, actor: &Actor, work: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut WriteBatch<'_, '_>) -> Result<T> + Clone + Send + 'static,
    {
        self.submit_prefetched(actor, PrefetchPlan::default(), work)
    }

    /// Writes like `submit`, with hints for the reads to prefetch.
    pub(crate) fn submit_prefetched<T, F>(
        &self,
        actor: &Actor,
        foresight: PrefetchPlan,
        work: F,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut WriteBatch<'_, '_>) -> Result<T> + Clone + Send + 'static,
    {
        let (tried, part) = (CommitProbe::default(), self.next_keyed_write());
        let is_person = actor.role == Role::Human;
        let foresight = PrefetchPlan::of(self.space).and(foresight).ahead(is_person);
        let foresight = match &part {
            Some(part) => foresight.reply(part.key().clone()),
            None => foresight,
        };
        let foresight = match &self.shown {
            Some(shown) => foresight.and(shown.foresight()),
            None => foresight,
        };
        let (mut attempt, began) = (0, Instant::now());
        loop {
            attempt += 1;
            let (foresight, part) = (foresight.clone(), part.clone());
            match self.submit_once(actor, foresight, work.clone(), tried.clone(), part) {
                Err(Error::Store(error))
                    if attempt < ATTEMPTS_MAX
                        && (!self.store.has_writer() || began.elapsed() < ATTEMPTS_FOR)
                        && is_retryable(&error) =>
                {
                    std::thread::sleep(Duration::from_millis(5 << attempt));
                }
                Err(Error::Refused(refusal)) => {
                    self.note_refusal(actor, &refusal);
                    return Err(refusal.into());
                }
                outcome => return or_outcome_unknown(outcome, tried.is_open()),
            }
        }
    }

    fn submit_once<T, F>(
        &self,
        actor: &Actor,
        foresight: PrefetchPlan,
        work: F,
        tried: CommitProbe<T>,
        part: Option<KeyedWrite>,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut WriteBatch<'_, '_>) -> Result<T> + Send + 'static,
    {
        let (desk, actor, trying) = (self.clone(), actor.clone(), tried.clone());
        let written = self.store.write_prefetched(foresight, move |write| {
            desk.check_is_awaited()?;
            desk.expires().into_iter().for_each(|at| write.expires(at));
            let mut batch = WriteBatch::begin(&desk, &actor, write)?;
            if trying.has_counted(&mut batch)? {
                return Ok(Ok(()));
            }
            if let Some(shown) = &desk.shown
                && let Err(error) = shown.check(batch.write)
            {
                return or_refused(Err(error));
            }
            let before = part.as_ref().map(|part| part.before(desk.space, batch.write));
            if let Some(before) = before.transpose()?.flatten() {
                return Ok(before.map(|value| trying.keep(None, value)));
            }
            if let Err(refusal) = batch.check_write_pace()? {
                return Ok(Err(refusal));
            }
            match work(&mut batch) {
                Ok(value) => {
                    desk.check_is_awaited()?;
                    batch.count_write();
                    let (at, trace) = (batch.at, batch.commit()?);
                    if let Some(part) = &part {
                        part.keep(desk.space, write, &value, at)?;
                    }
                    trying.keep(trace, value);
                    Ok(Ok(()))
                }
                Err(Error::Store(error)) => Err(error),
                // Nothing has been written yet: a batch writes on commit only.
                Err(Error::Refused(refusal)) => {
                    let (request, hold) = (batch.denied.take(), batch.hold.take());
                    request.iter().try_for_each(|row| write.add_request(desk.space, row))?;
                    match hold {
                        Some(hold) => hold.open(&desk, &actor, write),
                        None => Ok(Err(refusal)),
                    }
                }
            }
        });
        if matches!(written, Err(sayso_store::Error::OutcomeUnknown(_))) {
            tried.open();
        }
        written?.map_err(Error::Refused)?;
        if let (Some(keeper), Some([before, now])) = (&self.head_keeper, tried.heads()) {
            keeper(self, &before, &now);
        }
        tried.value()
    }

    /// Checks the caller's permission before anything is read for them. A refusal is audited.
    pub(crate) fn check(&self, actor: &Actor, deed: Permission, what: &str) -> Result<()> {
        actor.check(deed, what).map_err(|refusal| {
            self.note_refusal(actor, &refusal);
            refusal.into()
        })
    }

    /// Audits a refusal for lack of permission. A failure of that write is ignored, since the refusal holds even if
    /// it cannot be recorded.
    pub fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        // A changed credential says nothing about its holder, who has to authenticate again.
        let is_to_come_again = self.shown.as_ref().is_some_and(|shown| shown.has_changed());
        if !refusal.is_about_authority() || is_to_come_again {
            return;
        }
        // Both may be as long as the request they came with.
        let actor = Actor { name: shorten(&actor.name, NAME_CHARS_MAX), ..actor.clone() };
        let (world, space) = (self.world.clone(), self.space);
        let (code, reason) = (refusal.code.as_str(), shorten(&refusal.message, REASON_CHARS_MAX));
        let desk = self.clone();
        let _ = self.store.write(move |write| {
            write.lock(space)?;
            let at = world.now();
            desk.check_clock(write, at)?;
            // The rate limit also bounds the entries of an agent that is refused all the time.
            if !desk.may_note(write, &actor)? {
                return Ok(());
            }
            let mut entry = ChainEntry::new(&actor, space, at, "refused", code);
            entry.outcome = AuditOutcome::Refused;
            entry.reason = reason.clone();
            write.append(entry, &[]).map(drop)
        });
    }
}

/// The record of the last attempt of a write, shared with the closure that may run more than once. If the commit's
/// acknowledgement was lost, the retry finds out here whether the attempt was committed, since not every command may
/// run twice: a note would be there twice.
struct CommitProbe<T> {
    last: Arc<Mutex<LastAttempt<T>>>,
    /// True if one of the attempts so far may have been committed.
    is_open: Arc<AtomicBool>,
}

/// The commit mark of the last attempt, if it wrote anything, and its result.
type LastAttempt<T> = Option<(Option<CommitMark>, T)>;

impl<T> CommitProbe<T> {
    fn keep(&self, trace: Option<CommitMark>, value: T) {
        *self.last() = Some((trace, value));
    }

    /// True if the attempt before this one was committed. The batch holds the lock of the space, so that attempt
    /// cannot still be running.
    fn has_counted(&self, batch: &mut WriteBatch<'_, '_>) -> sayso_store::Result<bool> {
        let has_counted = match &*self.last() {
            Some((Some(trace), _)) => batch.has_committed(trace)?,
            Some((None, _)) | None => false,
        };
        self.is_open.store(false, Ordering::Relaxed);
        Ok(has_counted)
    }

    /// Marks the last attempt as possibly committed.
    fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Returns the heads of the chain before and after the last attempt, if it wrote anything.
    fn heads(&self) -> Option<[ChainHead; 2]> {
        self.last().as_ref()?.0.as_ref().map(|trace| trace.heads().clone())
    }

    fn value(&self) -> Result<T> {
        let missing = || sayso_store::Error::Other("a write gave no result".into());
        let (_, value) = self.last().take().ok_or_else(missing)?;
        Ok(value)
    }

    fn last(&self) -> MutexGuard<'_, LastAttempt<T>> {
        // The value is replaced as a whole, so a poisoned lock is still consistent.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for CommitProbe<T> {
    fn clone(&self) -> Self {
        Self { last: self.last.clone(), is_open: self.is_open.clone() }
    }
}

impl<T> Default for CommitProbe<T> {
    fn default() -> Self {
        Self { last: Arc::default(), is_open: Arc::default() }
    }
}

/// True for errors that may be retried: a lost race, or a connection lost at an unknown moment.
pub(crate) fn is_retryable(error: &sayso_store::Error) -> bool {
    use sayso_store::Error::{Conflict, OutcomeUnknown, Unreachable};
    matches!(error, Conflict | Unreachable(_) | OutcomeUnknown(_))
}

/// Turns a refusal into a successful result of the store, so that it is neither retried nor reported as a failure.
fn or_refused<T>(outcome: Result<T>) -> sayso_store::Result<std::result::Result<T, Refusal>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Refused(refusal)) => Ok(Err(refusal)),
        Err(Error::Store(error)) => Err(error),
    }
}
