//! The desk of a store that is here: the only place that writes. Everything else asks it to.

use crate::batch::{Batch, REASON_CHARS_MAX, Trace};
use crate::deadline::{CallDeadline, settled};
use crate::errand::{Errand, Part};
use crate::pace::Pace;
use crate::settings::Rules;
use crate::shown::{Remembered, Shown};
use crate::sight::Reader;
use crate::{Error, Result, World};
use sayso_core::audit::{Entry, Head, Outcome};
use sayso_core::text::shorten;
use sayso_core::{Actor, Deed, GateId, Level, MessageId, Reach, Refusal, Role, SpaceId, TokenId};
use sayso_store::{Foresight, Place, Read, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the desk looks again after somebody else wrote first.
const ATTEMPTS_MAX: u32 = 5;

/// So much of a name is in the entry of a refusal. Names that are taken are no longer.
const NAME_CHARS_MAX: usize = 200;

/// Hears where a chain ended before a write and where it ends now.
pub type HeadKeeper = Arc<dyn Fn(&LocalDesk, &Head, &Head) + Send + Sync>;

/// For how long it does. A store that takes longer to fail is not asked again while somebody waits.
const ATTEMPTS_FOR: Duration = Duration::from_secs(3);

/// The desk of one space, with its store at hand. Clones share the store.
#[derive(Clone)]
pub struct LocalDesk {
    pub(crate) store: Arc<Store>,
    pub(crate) world: World,
    pub(crate) space: SpaceId,
    pub(crate) space_name: String,
    /// The channels by which people are told, besides those they named themselves.
    pub(crate) channels: Vec<Reach>,
    /// How well this place is guarded.
    pub(crate) level: Level,
    /// What holds in the space, as it was read last.
    pub(crate) rules: Arc<Mutex<Option<Arc<Rules>>>>,
    /// How fast agents may ask here, if that is limited.
    pub(crate) pace: Option<Arc<Pace>>,
    /// How many bytes a page of a list has at most, where many are served at a time.
    pub(crate) page_bytes_max: Option<usize>,
    /// How far the outbox was swept.
    pub(crate) swept: Arc<Mutex<String>>,
    /// The call from elsewhere this desk is for, if it is for one.
    pub(crate) errand: Option<Arc<Errand>>,
    /// How long whoever called from elsewhere waits.
    pub(crate) deadline: Option<CallDeadline>,
    /// Who keeps in mind where the chain ends, outside of the store.
    pub(crate) head_keeper: Option<HeadKeeper>,
    /// Whether a person vouches for the clock.
    pub(crate) accepts_clock: bool,
    /// The actor this desk answers, where that was said.
    pub(crate) reader: Option<Arc<Reader>>,
    /// Credentials that were good when they were looked at last.
    pub(crate) remembered: Arc<Remembered>,
    /// A credential that is checked with everything that is asked of this desk.
    pub(crate) shown: Option<Arc<Shown>>,
}

impl LocalDesk {
    /// The space it writes in.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// What people call the space.
    pub fn space_name(&self) -> &str {
        &self.space_name
    }

    /// Where it is kept.
    pub fn place(&self) -> &Place {
        self.store.place()
    }

    /// The same desk, which says of itself that it is guarded this well.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The same desk; this hears where the chain ends whenever something was written.
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

    /// Where the chain was at an entry; none if it does not reach that far.
    pub fn head_at(&self, seq: u64) -> Result<Option<Head>> {
        let found =
            self.look(|read| Ok(read.audit_after(self.space, seq.saturating_sub(1), 1)?))?;
        let found = found.into_iter().find(|row| row.seq == seq);
        Ok(found.map(|row| Head { seq, hash: row.hash }))
    }

    /// Where the chain ends; none if nothing was written yet.
    pub fn last_head(&self) -> Result<Option<Head>> {
        let last = self.look(|read| Ok(read.audit_last(self.space, 1)?))?.pop();
        Ok(last.map(|row| Head { seq: row.seq, hash: row.hash }))
    }

    /// How well this place is guarded. Whoever reaches the database directly could also write to it
    /// directly, agents of the same user included: that is S0, whichever database it is.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Refuses a store that a later version brought up to date: this one writes nothing into it.
    pub fn check_schema(&self) -> Result<()> {
        Ok(self.store.check_schema()?)
    }

    /// What the database finds wrong with itself.
    pub fn check_file(&self) -> Result<Vec<String>> {
        Ok(self.store.check_file()?)
    }

    /// A new id for a gate.
    pub fn new_gate_id(&self) -> GateId {
        GateId::mint(self.world.now(), self.world.chance())
    }

    /// A new id for a message.
    pub fn new_message_id(&self) -> MessageId {
        MessageId::mint(self.world.now(), self.world.chance())
    }

    pub(crate) fn new_token_id(&self) -> TokenId {
        TokenId::mint(self.world.now(), self.world.chance())
    }

    /// The time, as the desk sees it.
    pub fn now(&self) -> sayso_core::Timestamp {
        self.world.now()
    }

    /// Runs `work` on one moment's view of the space.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Read<'_>) -> Result<T>) -> Result<T> {
        let checked = |read: &mut Read<'_>| or_refused(self.with_credential(read, work));
        self.store.read(checked)?.map_err(Error::Refused)
    }

    /// The same without a transaction, for one statement: see [`Store::look`].
    pub(crate) fn look<T>(&self, work: impl FnOnce(&mut Read<'_>) -> Result<T>) -> Result<T> {
        let checked = |read: &mut Read<'_>| or_refused(self.with_credential(read, work));
        self.store.look(checked)?.map_err(Error::Refused)
    }

    /// Load, decide, apply, append, as one. When somebody else wrote first, look again; when the
    /// store went away at an unknown moment, look first whether it counted.
    pub(crate) fn submit<T, F>(&self, actor: &Actor, work: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut Batch<'_, '_>) -> Result<T> + Clone + Send + 'static,
    {
        self.submit_foreseen(actor, Foresight::default(), work)
    }

    /// The same, by somebody who knows what it is going to look at.
    pub(crate) fn submit_foreseen<T, F>(
        &self,
        actor: &Actor,
        foresight: Foresight,
        work: F,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut Batch<'_, '_>) -> Result<T> + Clone + Send + 'static,
    {
        let (tried, part) = (Tried::default(), self.next_part());
        let is_person = actor.role == Role::Human;
        let foresight = Foresight::of(self.space).and(foresight).ahead(is_person);
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
                        && is_worth_another_look(&error) =>
                {
                    std::thread::sleep(Duration::from_millis(5 << attempt));
                }
                Err(Error::Refused(refusal)) => {
                    self.note_refusal(actor, &refusal);
                    return Err(refusal.into());
                }
                outcome => return settled(outcome, tried.is_open()),
            }
        }
    }

    fn submit_once<T, F>(
        &self,
        actor: &Actor,
        foresight: Foresight,
        work: F,
        tried: Tried<T>,
        part: Option<Part>,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&mut Batch<'_, '_>) -> Result<T> + Send + 'static,
    {
        let (desk, actor, trying) = (self.clone(), actor.clone(), tried.clone());
        let written = self.store.write_foreseen(foresight, move |write| {
            desk.check_is_awaited()?;
            desk.expires().into_iter().for_each(|at| write.expires(at));
            let mut batch = Batch::begin(&desk, &actor, write)?;
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
                // Nothing has been written yet: a batch writes when it is committed.
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

    /// Checks the caller's role before anything is read for them; what is refused is written down.
    pub(crate) fn check(&self, actor: &Actor, deed: Deed, what: &str) -> Result<()> {
        actor.check(deed, what).map_err(|refusal| {
            self.note_refusal(actor, &refusal);
            refusal.into()
        })
    }

    /// Writes down that somebody tried what they may not do. It must not stand in the way of the
    /// refusal itself, which holds even when it cannot be written.
    pub fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        // A credential that has changed says nothing of whoever holds it: they come in anew.
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
            // An agent that is refused all the time has entries enough.
            if !desk.may_note(write, &actor)? {
                return Ok(());
            }
            let mut entry = Entry::new(&actor, space, at, "refused", code);
            entry.outcome = Outcome::Refused;
            entry.reason = reason.clone();
            write.append(entry, &[]).map(drop)
        });
    }
}

/// What the last try would leave behind. The word that it counted may have been lost on its way, and
/// not every command is harmless a second time: a note would be there twice.
struct Tried<T> {
    last: Arc<Mutex<Last<T>>>,
    /// Whether one of the tries so far may have counted.
    is_open: Arc<AtomicBool>,
}

/// What the last try left, if it wrote anything, and what it came to.
type Last<T> = Option<(Option<Trace>, T)>;

impl<T> Tried<T> {
    fn keep(&self, trace: Option<Trace>, value: T) {
        *self.last() = Some((trace, value));
    }

    /// Whether the try before this one counted. The batch has its turn, so that nothing of that try
    /// can still be under way.
    fn has_counted(&self, batch: &mut Batch<'_, '_>) -> sayso_store::Result<bool> {
        let has_counted = match &*self.last() {
            Some((Some(trace), _)) => batch.has_left(trace)?,
            Some((None, _)) | None => false,
        };
        self.is_open.store(false, Ordering::Relaxed);
        Ok(has_counted)
    }

    /// Notes that the last try may have counted.
    fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Where the chain ended before and behind the last try, if that wrote anything.
    fn heads(&self) -> Option<[Head; 2]> {
        self.last().as_ref()?.0.as_ref().map(|trace| trace.heads().clone())
    }

    fn value(&self) -> Result<T> {
        let missing = || sayso_store::Error::Other("a write gave no result".into());
        let (_, value) = self.last().take().ok_or_else(missing)?;
        Ok(value)
    }

    fn last(&self) -> MutexGuard<'_, Last<T>> {
        // It is replaced as a whole or not at all.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Tried<T> {
    fn clone(&self) -> Self {
        Self { last: self.last.clone(), is_open: self.is_open.clone() }
    }
}

impl<T> Default for Tried<T> {
    fn default() -> Self {
        Self { last: Arc::default(), is_open: Arc::default() }
    }
}

/// A lost race, or a connection lost at an unknown moment.
pub(crate) fn is_worth_another_look(error: &sayso_store::Error) -> bool {
    use sayso_store::Error::{Conflict, OutcomeUnknown, Unreachable};
    matches!(error, Conflict | Unreachable(_) | OutcomeUnknown(_))
}

/// To the store a refusal is a result like any other.
fn or_refused<T>(outcome: Result<T>) -> sayso_store::Result<std::result::Result<T, Refusal>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Refused(refusal)) => Ok(Err(refusal)),
        Err(Error::Store(error)) => Err(error),
    }
}
