//! Connection limit of the server, and the choice of the connection that is evicted when one more comes. A connection
//! without a whole request and a good credential so far is a newcomer. Newcomers are few, and the oldest is evicted
//! first, so that half-sent requests (slowloris) keep no client out.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// The most newcomers there may be. An honest client has sent a whole request long before so many others came.
const NEWCOMERS_MAX: usize = 512;

/// The interval at which the log reports connections that were lost for the same reason.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// The pause before the next accept after the system could not provide a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The open connections of a server.
pub(super) struct ConnectionLimiter {
    most: usize,
    open: AtomicUsize,
    newcomers: Mutex<NewcomerQueue>,
    losses: LossCounters,
}

#[derive(Default)]
struct NewcomerQueue {
    next: u64,
    /// The newcomers, by the order in which they came.
    seats: BTreeMap<u64, Arc<Notify>>,
}

/// The slot of one connection, held for as long as it is open.
pub(super) struct ConnectionPermit {
    connections: Arc<ConnectionLimiter>,
    id: Mutex<Option<u64>>,
    evicted: Arc<Notify>,
}

/// The reason why a connection was closed, or an incoming one was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LossReason {
    /// It did not send a whole request in time.
    Slow,
    /// It had sent no whole request when many others came.
    Evicted,
    /// It did not read its response in time.
    Unread,
    /// The limit of connections was reached.
    Full,
    /// The system had no file handle for it.
    NoHandle,
}

impl LossReason {
    fn says(self) -> &'static str {
        match self {
            LossReason::Slow => "connections closed: no whole request in time",
            LossReason::Evicted => "connections closed: no whole request when many others came",
            LossReason::Unread => "connections closed: the answer was not taken in time",
            LossReason::Full => "connections refused: there are as many as there may be",
            LossReason::NoHandle => "connections not accepted: the system has no file handle left",
        }
    }
}

/// The number of lost connections by reason, and the time of the last report in the log.
#[derive(Default)]
pub(super) struct LossCounters(Mutex<BTreeMap<LossReason, (u64, Option<Instant>)>>);

impl LossCounters {
    /// Counts a loss; if a report in the log is due, returns the number of losses since the last one.
    fn note(&self, loss: LossReason, now: Instant) -> Option<u64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, said) = all.entry(loss).or_default();
        *count += 1;
        if said.is_some_and(|said| now.duration_since(said) < SAID_EVERY) {
            return None;
        }
        *said = Some(now);
        Some(std::mem::take(count))
    }
}

impl ConnectionLimiter {
    /// Allows at most so many connections, with room for newcomers among them.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let (open, newcomers, losses) = Default::default();
        Arc::new(Self { most: most.max(2), open, newcomers, losses })
    }

    /// Takes a connection in. Returns None if there is no slot for it and no newcomer to evict.
    pub(super) fn take(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let has_room = self.open.load(Ordering::Relaxed) < self.most;
        if !has_room && !self.evict_beyond(0) {
            self.note(LossReason::Full);
            return None;
        }
        self.evict_beyond(NEWCOMERS_MAX.min(self.most / 2) - 1);
        self.open.fetch_add(1, Ordering::Relaxed);
        let (connections, id, evicted) = (self.clone(), Mutex::new(None), Arc::default());
        let seat = ConnectionPermit { connections, id, evicted };
        seat.come();
        Some(seat)
    }

    /// Evicts the oldest newcomer, if there are more than so many.
    fn evict_beyond(&self, most: usize) -> bool {
        let mut newcomers = self.newcomers();
        if newcomers.seats.len() <= most {
            return false;
        }
        let Some((_, oldest)) = newcomers.seats.pop_first() else { return false };
        drop(newcomers);
        oldest.notify_one();
        self.note(LossReason::Evicted);
        true
    }

    /// True if so many connections are open that the rest is kept for people.
    pub(super) fn is_crowded(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.most / 4 * 3
    }

    pub(super) fn note(&self, loss: LossReason) {
        if let Some(count) = self.losses.note(loss, Instant::now()) {
            let open = self.open.load(Ordering::Relaxed);
            tracing::warn!(count, open, "{}", loss.says());
        }
    }

    fn newcomers(&self) -> MutexGuard<'_, NewcomerQueue> {
        self.newcomers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Registers the connection as a newcomer.
    fn come(&self) {
        let mut id = self.id();
        let mut newcomers = self.connections.newcomers();
        newcomers.next += 1;
        let next = newcomers.next;
        newcomers.seats.insert(next, self.evicted.clone());
        *id = Some(next);
    }

    /// Ends its state as a newcomer: it has sent a whole request with a good credential.
    pub(super) fn settle(&self) {
        if let Some(id) = self.id().take() {
            self.connections.newcomers().seats.remove(&id);
        }
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    pub(super) fn connections(&self) -> &ConnectionLimiter {
        &self.connections
    }

    fn id(&self) -> MutexGuard<'_, Option<u64>> {
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.settle();
        self.connections.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts the next connection. When the system has no file handle left, newcomers are evicted, the log says so, and
/// it is tried again after a pause.
pub(super) async fn accept(
    socket: &TcpListener,
    connections: &ConnectionLimiter,
) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok(accepted) => return accepted,
            // The client was gone before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted
                        | ErrorKind::ConnectionRefused
                        | ErrorKind::ConnectionReset
                        | ErrorKind::Interrupted
                ) => {}
            Err(error) => {
                tracing::debug!(%error, "accept");
                connections.note(LossReason::NoHandle);
                connections.evict_beyond(0);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn is_evicted(seat: &ConnectionPermit) -> bool {
        tokio::time::timeout(Duration::ZERO, seat.evicted()).await.is_ok()
    }

    #[tokio::test]
    async fn the_oldest_newcomer_goes_when_many_come() {
        let connections = ConnectionLimiter::new(10_000);
        let settled = connections.take().unwrap();
        settled.settle();
        let seats: Vec<_> = (0..NEWCOMERS_MAX).map(|_| connections.take().unwrap()).collect();
        assert!(!is_evicted(&seats[0]).await);
        let one_more = connections.take().unwrap();
        assert!(is_evicted(&seats[0]).await && !is_evicted(&seats[1]).await);
        assert!(!is_evicted(&settled).await, "it was settled before");
        drop(one_more);
        let _another = connections.take().unwrap();
        assert!(!is_evicted(&seats[1]).await, "who has gone is counted no more");
    }

    #[tokio::test]
    async fn where_all_seats_are_taken_only_a_newcomer_makes_room() {
        let connections = ConnectionLimiter::new(4);
        let seats: Vec<_> = (0..4).map(|_| connections.take().unwrap()).collect();
        seats.iter().for_each(ConnectionPermit::settle);
        assert!(connections.take().is_none() && connections.is_crowded());
        seats[3].come();
        let fifth = connections.take();
        assert!(fifth.is_some() && is_evicted(&seats[3]).await);
        drop((seats, fifth));
        assert!(!connections.is_crowded() && connections.take().is_some());
    }

    #[test]
    fn the_log_says_a_thing_once_in_a_while_and_how_often_it_was() {
        let (losses, now) = (LossCounters::default(), Instant::now());
        assert_eq!(losses.note(LossReason::Slow, now), Some(1));
        assert_eq!(losses.note(LossReason::Full, now), Some(1));
        let more: Vec<_> = (0..5).map(|_| losses.note(LossReason::Slow, now)).collect();
        assert_eq!(more, [None; 5]);
        assert_eq!(losses.note(LossReason::Slow, now + SAID_EVERY), Some(6));
    }
}
