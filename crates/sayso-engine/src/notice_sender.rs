//! Sends notices from the outbox. Any number of senders may run, on any machine that has the channels; each notice
//! is claimed by one at a time.
//!
//! Every channel has its own concurrency limit, so one that hangs delays nothing but itself. A notice is settled
//! after it was sent: if the process dies in between, it is sent again under the same id, and never lost.

use crate::{ClaimedNotice, Desk, NoticeChannel, Result};
use sayso_core::text::{sanitize_line, shorten};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of notices in parallel on one channel.
const PLACES: usize = 4;

/// The interval at which a sender checks its stop flag.
const TICK: Duration = Duration::from_millis(250);

/// The interval at which a process that waits for an answer looks for notices to send.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time for which such a process does not use a channel that failed. An agent's waiting process may have no
/// network where others have: they are to try first.
const REST: Duration = Duration::from_secs(60);

/// The time for which a process that has its answer still waits for notices in flight.
const PARTING: Duration = Duration::from_millis(500);

/// The time after which a one-shot send claims no more notices.
const SENDING_MAX: Duration = Duration::from_secs(20);

/// The number of attempts to settle a sent notice: until it is settled, it will be sent again.
const SETTLING_MAX: u32 = 5;

/// The maximum number of characters of a remote error in the log.
const WHY_CHARS_MAX: usize = 200;

/// A sender of notices.
#[derive(Clone)]
pub struct NoticeSender(Arc<SenderState>);

struct SenderState {
    desk: Desk,
    channels: Vec<NoticeChannel>,
    pages: Option<String>,
    /// The number of notices in flight on each channel.
    taken: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
    is_over: AtomicBool,
    /// True if this process does not mainly send; and the times at which channels failed.
    is_guest: AtomicBool,
    failed_at: Mutex<BTreeMap<String, Instant>>,
    sent: AtomicUsize,
    failed: AtomicUsize,
}

/// The totals of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendTotals {
    /// The number of notices that were sent.
    pub sent: usize,
    /// The number of failed attempts. Their notices are retried.
    pub failed: usize,
}

impl NoticeSender {
    /// Creates a sender for these channels. `pages` is the base URL of the space's pages, if there are any.
    pub fn new(desk: Desk, channels: Vec<NoticeChannel>, pages: Option<String>) -> Self {
        Self(Arc::new(SenderState {
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

    /// Sends until told to stop, and waits for notices in flight. An unreachable store is retried.
    pub fn run(&self, stop: &AtomicBool) -> SendTotals {
        while !stop.load(Ordering::SeqCst) {
            if self.follow(stop).is_err() {
                std::thread::sleep(TICK);
            }
        }
        self.0.is_over.store(true, Ordering::SeqCst);
        self.wait_for_idle(NoticeChannel::TIMEOUT_MAX);
        self.tally()
    }

    fn follow(&self, stop: &AtomicBool) -> Result<()> {
        let SenderState { desk, .. } = &*self.0;
        let mut follower = desk.follow()?;
        while !stop.load(Ordering::SeqCst) {
            desk.fire_due()?;
            self.send_claimed()?;
            follower.wait(TICK)?;
        }
        Ok(())
    }

    /// Sends the due notices and waits until that is done.
    pub fn send_due(&self) -> Result<SendTotals> {
        let began = Instant::now();
        self.0.desk.fire_due()?;
        // Failed notices are due again soon; a one-shot send does not wait for that for ever.
        while began.elapsed() < SENDING_MAX && self.send_claimed()? > 0 {
            self.wait_for_idle(NoticeChannel::TIMEOUT_MAX * 2);
        }
        Ok(self.tally())
    }

    /// Sends in the background of a process that waits for something else: without a running worker, the waiting
    /// process sends. It ends when the returned guard is dropped.
    pub fn start(self) -> SenderGuard {
        self.0.is_guest.store(true, Ordering::SeqCst);
        let courier = self.clone();
        std::thread::spawn(move || {
            while !courier.is_over() {
                // A failure now is retried later, or by another process.
                let _ = courier.0.desk.fire_due();
                let _ = courier.send_claimed();
                let until = courier.next_look();
                let taken = courier.0.taken();
                let waited = courier.0.changed.wait_timeout(taken, until);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        });
        SenderGuard(self)
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

    /// Claims due notices for the free slots and sends them on threads of their own. Returns their number.
    fn send_claimed(&self) -> Result<usize> {
        let mut handed = 0;
        for (index, channel) in self.0.channels.iter().enumerate() {
            let free = PLACES - self.0.taken().get(&channel.name).copied().unwrap_or(0).min(PLACES);
            if free == 0 || self.is_over() || !self.is_due(&channel.name)? {
                continue;
            }
            for dispatch in self.0.desk.claim_notices(&channel.name, free)? {
                let place = ChannelSlot::take(&self.0, index);
                handed += 1;
                std::thread::spawn(move || place.send_all(dispatch));
            }
        }
        Ok(handed)
    }

    /// Checks before claiming, since a claim takes the store's write lock.
    fn is_due(&self, channel: &str) -> Result<bool> {
        if self.0.is_backing_off(channel) {
            return Ok(false);
        }
        let next = self.0.desk.next_notice(&[channel.to_owned()])?;
        Ok(next.is_some_and(|due| due <= self.0.desk.now()))
    }

    fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::SeqCst)
    }

    /// Waits until no notice is in flight, or until the timeout.
    fn wait_for_idle(&self, longest: Duration) {
        let began = Instant::now();
        let mut taken = self.0.taken();
        while !taken.is_empty() && began.elapsed() < longest {
            let left = longest.saturating_sub(began.elapsed());
            let waited = self.0.changed.wait_timeout(taken, left);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tally(&self) -> SendTotals {
        let SenderState { sent, failed, .. } = &*self.0;
        SendTotals { sent: sent.load(Ordering::SeqCst), failed: failed.load(Ordering::SeqCst) }
    }
}

impl SenderState {
    fn is_backing_off(&self, channel: &str) -> bool {
        let failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = failed_at.get(channel).is_some_and(|at| at.elapsed() < REST);
        is_recent && self.is_guest.load(Ordering::SeqCst)
    }

    fn note_failure(&self, channel: &str) {
        let mut failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        failed_at.insert(channel.to_owned(), Instant::now());
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        // A panic on another thread leaves valid counts behind.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sender in the background; dropping it ends it.
pub struct SenderGuard(NoticeSender);

impl Drop for SenderGuard {
    fn drop(&mut self) {
        self.0.0.is_over.store(true, Ordering::SeqCst);
        self.0.wait_for_idle(PARTING);
    }
}

/// A slot of a channel's concurrency limit; released on drop.
struct ChannelSlot {
    inner: Arc<SenderState>,
    channel: usize,
}

impl ChannelSlot {
    fn take(inner: &Arc<SenderState>, channel: usize) -> Self {
        let place = Self { inner: inner.clone(), channel };
        if let Some(channel) = place.channel() {
            *inner.taken().entry(channel.name.clone()).or_default() += 1;
        }
        place
    }

    fn channel(&self) -> Option<&NoticeChannel> {
        self.inner.channels.get(self.channel)
    }

    /// Sends a notice, then further due notices on this channel.
    fn send_all(self, first: ClaimedNotice) {
        let Some(channel) = self.channel() else { return };
        let mut next = Some(first);
        while let Some(dispatch) = next {
            self.send(channel, &dispatch);
            let courier = NoticeSender(self.inner.clone());
            let may_go_on = !courier.is_over() && courier.is_due(&channel.name).unwrap_or(false);
            let more = may_go_on.then(|| self.inner.desk.claim_notices(&channel.name, 1).ok());
            next = more.flatten().and_then(|mut taken| taken.pop());
        }
    }

    fn send(&self, channel: &NoticeChannel, dispatch: &ClaimedNotice) {
        let SenderState { desk, pages, sent, failed, .. } = &*self.inner;
        let outcome = channel.send(&dispatch.text, desk.now(), pages.as_deref());
        let count = if outcome.is_ok() { sent } else { failed };
        count.fetch_add(1, Ordering::SeqCst);
        if let Err(why) = &outcome {
            self.inner.note_failure(&channel.name);
            let why = shorten(&sanitize_line(why), WHY_CHARS_MAX);
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

impl Drop for ChannelSlot {
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
