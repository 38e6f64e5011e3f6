//! The courier takes notices out of the outbox and sends them. There may be any number of couriers, on any
//! machine that has the channels; each notice is taken by one at a time.
//!
//! Every channel has places of its own, so one that hangs holds up nothing but itself. What is sent is
//! settled after it was sent: who dies in between repeats it under the same id, and never loses it.

use crate::{Channel, Desk, Dispatch, Result};
use sayso_core::text::{harmless_line, shorten};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many notices are sent on one channel at a time.
const PLACES: usize = 4;

/// How often a courier that stays looks whether it is to stop.
const TICK: Duration = Duration::from_millis(250);

/// How often somebody who only waits for an answer looks for something to send.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long such a one leaves a channel alone that did not work for them. An agent's waiter may have no
/// network where others have: they are to try first.
const REST: Duration = Duration::from_secs(60);

/// How long somebody who has their answer still waits for what they are just sending.
const PARTING: Duration = Duration::from_millis(500);

/// After this long, somebody who came to send what is due takes nothing more.
const SENDING_MAX: Duration = Duration::from_secs(20);

/// How often it is tried to note that a notice was sent: while it is not, it will be sent again.
const SETTLING_MAX: u32 = 5;

/// How much of a stranger's error is told in the log.
const WHY_CHARS_MAX: usize = 200;

/// Somebody who sends notices.
#[derive(Clone)]
pub struct Courier(Arc<Inner>);

struct Inner {
    desk: Desk,
    channels: Vec<Channel>,
    pages: Option<String>,
    /// How many places of each channel are taken.
    taken: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
    is_over: AtomicBool,
    /// Whether sending is not what this process is there for, and since when channels failed it.
    is_guest: AtomicBool,
    failed_at: Mutex<BTreeMap<String, Instant>>,
    sent: AtomicUsize,
    failed: AtomicUsize,
}

/// What a courier has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Notices that were sent.
    pub sent: usize,
    /// Tries that failed. What they were about is tried again.
    pub failed: usize,
}

impl Courier {
    /// A courier for these channels. `pages` is where people reach the pages of the space, if there are any.
    pub fn new(desk: Desk, channels: Vec<Channel>, pages: Option<String>) -> Self {
        Self(Arc::new(Inner {
            desk,
            channels,
            pages,
            taken: Mutex::default(),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
            is_guest: AtomicBool::new(false),
            failed_at: Mutex::default(),
            sent: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
        }))
    }

    /// Sends until told to stop, and lets what is being sent come to its end. A store that cannot be
    /// reached is tried again.
    pub fn run(&self, stop: &AtomicBool) -> Sent {
        while !stop.load(Ordering::SeqCst) {
            if self.follow(stop).is_err() {
                std::thread::sleep(TICK);
            }
        }
        self.0.is_over.store(true, Ordering::SeqCst);
        self.come_to_an_end(Channel::TIMEOUT_MAX);
        self.tally()
    }

    fn follow(&self, stop: &AtomicBool) -> Result<()> {
        let Inner { desk, .. } = &*self.0;
        let mut follower = desk.follow()?;
        while !stop.load(Ordering::SeqCst) {
            desk.fire_due()?;
            self.hand_out()?;
            follower.wait(TICK)?;
        }
        Ok(())
    }

    /// Sends what is due now, and waits until that is done.
    pub fn send_due(&self) -> Result<Sent> {
        let began = Instant::now();
        self.0.desk.fire_due()?;
        // What failed is due again soon; whoever came to send once does not wait for that for ever.
        while began.elapsed() < SENDING_MAX && self.hand_out()? > 0 {
            self.come_to_an_end(Channel::TIMEOUT_MAX * 2);
        }
        Ok(self.tally())
    }

    /// Sends in the background, for somebody who waits for something else: where nobody works, whoever
    /// waits sends. It ends with what is returned.
    pub fn start(self) -> Sending {
        self.0.is_guest.store(true, Ordering::SeqCst);
        let courier = self.clone();
        std::thread::spawn(move || {
            while !courier.is_over() {
                // What does not work now works later, or for somebody else.
                let _ = courier.0.desk.fire_due();
                let _ = courier.hand_out();
                let until = courier.next_look();
                let taken = courier.0.taken();
                let waited = courier.0.changed.wait_timeout(taken, until);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        });
        Sending(self)
    }

    fn next_look(&self) -> Duration {
        let names: Vec<_> = self.0.channels.iter().map(|channel| channel.name.clone()).collect();
        let desk = &self.0.desk;
        let next = desk.next_notice(&names).ok().flatten();
        let due = desk.local().and_then(|desk| desk.next_due().ok()).flatten();
        let left = next.into_iter().chain(due).min().map(|at| {
            let micros = at.as_micros().saturating_sub(desk.now().as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        left.unwrap_or(LOOK_EVERY).clamp(TICK, LOOK_EVERY)
    }

    /// Gives what is due to whoever has a place free, and says how many notices that were.
    fn hand_out(&self) -> Result<usize> {
        let mut handed = 0;
        for (index, channel) in self.0.channels.iter().enumerate() {
            let free = PLACES - self.0.taken().get(&channel.name).copied().unwrap_or(0).min(PLACES);
            if free == 0 || self.is_over() || !self.is_due(&channel.name)? {
                continue;
            }
            for dispatch in self.0.desk.claim_notices(&channel.name, free)? {
                let place = Place::take(&self.0, index);
                handed += 1;
                std::thread::spawn(move || place.carry(dispatch));
            }
        }
        Ok(handed)
    }

    /// Looked at first: to claim takes the lock of the store.
    fn is_due(&self, channel: &str) -> Result<bool> {
        if self.0.rests(channel) {
            return Ok(false);
        }
        let next = self.0.desk.next_notice(&[channel.to_owned()])?;
        Ok(next.is_some_and(|due| due <= self.0.desk.now()))
    }

    fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::SeqCst)
    }

    /// Waits until no place is taken, or until it has taken too long.
    fn come_to_an_end(&self, longest: Duration) {
        let began = Instant::now();
        let mut taken = self.0.taken();
        while !taken.is_empty() && began.elapsed() < longest {
            let left = longest.saturating_sub(began.elapsed());
            let waited = self.0.changed.wait_timeout(taken, left);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tally(&self) -> Sent {
        let Inner { sent, failed, .. } = &*self.0;
        Sent { sent: sent.load(Ordering::SeqCst), failed: failed.load(Ordering::SeqCst) }
    }
}

impl Inner {
    fn rests(&self, channel: &str) -> bool {
        let failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = failed_at.get(channel).is_some_and(|at| at.elapsed() < REST);
        is_recent && self.is_guest.load(Ordering::SeqCst)
    }

    fn note_failure(&self, channel: &str) {
        let mut failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        failed_at.insert(channel.to_owned(), Instant::now());
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        // A panic elsewhere leaves whole numbers behind.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A courier in the background; dropping it ends it.
pub struct Sending(Courier);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.0.is_over.store(true, Ordering::SeqCst);
        self.0.come_to_an_end(PARTING);
    }
}

/// A place of a channel; given back however sending ends.
struct Place {
    inner: Arc<Inner>,
    channel: usize,
}

impl Place {
    fn take(inner: &Arc<Inner>, channel: usize) -> Self {
        let place = Self { inner: inner.clone(), channel };
        if let Some(channel) = place.channel() {
            *inner.taken().entry(channel.name.clone()).or_default() += 1;
        }
        place
    }

    fn channel(&self) -> Option<&Channel> {
        self.inner.channels.get(self.channel)
    }

    /// Sends a notice, and then what else is due on this channel.
    fn carry(self, first: Dispatch) {
        let Some(channel) = self.channel() else { return };
        let mut next = Some(first);
        while let Some(dispatch) = next {
            self.send(channel, &dispatch);
            let courier = Courier(self.inner.clone());
            let may_go_on = !courier.is_over() && courier.is_due(&channel.name).unwrap_or(false);
            let more = may_go_on.then(|| self.inner.desk.claim_notices(&channel.name, 1).ok());
            next = more.flatten().and_then(|mut taken| taken.pop());
        }
    }

    fn send(&self, channel: &Channel, dispatch: &Dispatch) {
        let Inner { desk, pages, sent, failed, .. } = &*self.inner;
        let outcome = channel.send(&dispatch.text, desk.now(), pages.as_deref());
        let count = if outcome.is_ok() { sent } else { failed };
        count.fetch_add(1, Ordering::SeqCst);
        if let Err(why) = &outcome {
            self.inner.note_failure(&channel.name);
            let why = shorten(&harmless_line(why), WHY_CHARS_MAX);
            let (channel, notice) = (&channel.name, &dispatch.key);
            tracing::warn!(
                channel,
                notice,
                attempt = dispatch.attempts,
                why,
                "a notice was not sent"
            );
        }
        for attempt in 1..=SETTLING_MAX {
            let noted = match &outcome {
                Ok(()) => desk.settle_notice(&dispatch.key),
                Err(why) => desk.fail_notice(dispatch, why),
            };
            if noted.is_ok() {
                return;
            }
            std::thread::sleep(TICK * attempt);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let name = self.channel().map(|channel| channel.name.clone());
        let mut taken = self.inner.taken();
        if let Some(name) = name {
            let left = taken.get(&name).copied().unwrap_or(0).saturating_sub(1);
            match left {
                0 => drop(taken.remove(&name)),
                left => drop(taken.insert(name, left)),
            }
        }
        self.inner.changed.notify_all();
    }
}
