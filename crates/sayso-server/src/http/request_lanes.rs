//! Lanes (bulkheads) and load shedding: requests of people have threads and memory of their own, which agents cannot
//! fill. The credential selects the lane. A lane whose queue is too long sheds the next request before it costs
//! anything.

use super::problem::ErrorResponse;
use sayso_core::{Code, Refusal, Role};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The longest time a request waits for a permit.
const ROOM_MAX: Duration = Duration::from_secs(10);

/// The number of queued requests of a lane at which another write is shed. They take a fraction of a second.
const DEPTH_MAX: usize = 256;

/// The seconds after which a request that was shed may be sent again.
const AGAIN_SECS: u32 = 1;

/// Texts shorter than this are not counted.
const COUNTED_BYTES_MIN: usize = 16 * 1024;

/// The lane of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestLane {
    /// People, with the admins and auditors of the space.
    People,
    /// Agents: their questions and reads.
    Agents,
    /// Workers and other programs that people run.
    Programs,
    /// Clients that have shown no credential that is known. Only the check of one is done for them.
    Strangers,
    /// Logging in, which takes a passphrase and much work.
    Logins,
    /// Event streams, for all clients that follow them.
    Streams,
}

/// The capacity of a lane.
struct LaneCapacity {
    /// The permits for requests that run at the same time.
    room: Semaphore,
    waiting: AtomicUsize,
    /// The memory for long texts on their way in or out, in KiB.
    memory: Semaphore,
}

impl LaneCapacity {
    const fn new(room: usize, memory_mib: usize) -> Self {
        let (room, memory) = (Semaphore::const_new(room), Semaphore::const_new(memory_mib * 1024));
        Self { room, waiting: AtomicUsize::new(0), memory }
    }
}

static PEOPLE: LaneCapacity = LaneCapacity::new(32, 64);
static AGENTS: LaneCapacity = LaneCapacity::new(24, 64);
static PROGRAMS: LaneCapacity = LaneCapacity::new(24, 64);
static STRANGERS: LaneCapacity = LaneCapacity::new(8, 16);
static LOGINS: LaneCapacity = LaneCapacity::new(2, 4);
static STREAMS: LaneCapacity = LaneCapacity::new(8, 16);

/// The number of threads of all lanes together, and some for work outside of them.
pub(super) const THREADS: usize = 32 + 24 + 24 + 8 + 2 + 8 + 30;

tokio::task_local! {
    static LANE: RequestLane;
}

/// A permit to run, in a lane.
pub(super) struct LanePermit {
    _permit: SemaphorePermit<'static>,
}

/// Memory reserved for a long text.
pub(super) struct MemoryPermit {
    _permit: SemaphorePermit<'static>,
}

impl RequestLane {
    pub(super) fn of(role: Role) -> Self {
        match role {
            Role::Human | Role::Admin | Role::Auditor => RequestLane::People,
            Role::Agent => RequestLane::Agents,
            Role::Operator | Role::Service => RequestLane::Programs,
        }
    }

    /// True if the lane is for clients with a known credential.
    pub(super) fn is_known(self) -> bool {
        match self {
            RequestLane::People
            | RequestLane::Agents
            | RequestLane::Programs
            | RequestLane::Streams => true,
            RequestLane::Strangers | RequestLane::Logins => false,
        }
    }

    fn width(self) -> &'static LaneCapacity {
        match self {
            RequestLane::People => &PEOPLE,
            RequestLane::Agents => &AGENTS,
            RequestLane::Programs => &PROGRAMS,
            RequestLane::Strangers => &STRANGERS,
            RequestLane::Logins => &LOGINS,
            RequestLane::Streams => &STREAMS,
        }
    }

    /// Runs work in this lane.
    pub(super) async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        LANE.scope(self, work).await
    }

    /// Returns the lane of the caller. Work that outlives a request, such as a stream, has a lane of its own.
    fn current() -> Self {
        LANE.try_with(|lane| *lane).unwrap_or(RequestLane::Streams)
    }

    /// Refuses a request that would queue behind too many others. People are never shed here.
    pub(super) fn check_depth(self) -> Result<(), Refusal> {
        let is_shed = match self {
            RequestLane::People | RequestLane::Streams => false,
            RequestLane::Agents
            | RequestLane::Programs
            | RequestLane::Strangers
            | RequestLane::Logins => self.width().waiting.load(Ordering::Relaxed) >= DEPTH_MAX,
        };
        if is_shed { Err(overloaded()) } else { Ok(()) }
    }

    /// Reserves memory for a text of this length. A short one needs none.
    pub(super) fn memory(self, bytes: usize) -> Result<Option<MemoryPermit>, Refusal> {
        if bytes < COUNTED_BYTES_MIN {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        match self.width().memory.try_acquire_many(kib) {
            Ok(_permit) => Ok(Some(MemoryPermit { _permit })),
            Err(_) => Err(overloaded()),
        }
    }

    async fn acquire_permit(self) -> Result<LanePermit, Refusal> {
        let LaneCapacity { room, waiting, .. } = self.width();
        if let Ok(_permit) = room.try_acquire() {
            return Ok(LanePermit { _permit });
        }
        waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = QueuedCount(waiting);
        match tokio::time::timeout(ROOM_MAX, room.acquire()).await {
            Ok(Ok(_permit)) => Ok(LanePermit { _permit }),
            Ok(Err(_)) | Err(_) => Err(overloaded()),
        }
    }
}

/// A request in the queue, counted until it runs or gives up.
struct QueuedCount(&'static AtomicUsize);

impl Drop for QueuedCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for a permit in the lane of the caller. It is kept until the work is done, even if the client hangs up
/// meanwhile.
pub(super) async fn acquire_permit() -> Result<LanePermit, ErrorResponse> {
    Ok(RequestLane::current().acquire_permit().await?)
}

/// Returns the refusal of a request that is shed: it was not begun, and may be sent again.
pub(super) fn overloaded() -> Refusal {
    let message = format!(
        "the server has more to do than it can; nothing was done, and the same may be sent again in {AGAIN_SECS} s"
    );
    Refusal::new(Code::Overloaded, message)
        .wait(AGAIN_SECS)
        .hint("wait and send it again; programs of sayso do that by themselves for a while")
}

/// Returns the refusal for a response that finds no memory, since too many others were not read yet.
pub(super) fn unkept() -> Refusal {
    let message =
        "the server has no memory left for this answer: others of the same sort were not read yet";
    Refusal::new(Code::Overloaded, message)
        .wait(AGAIN_SECS)
        .hint("read the answers that are on their way, and ask for shorter pages with `limit`")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn agents_fill_their_own_lane_and_no_other() {
        let mut rooms = vec![];
        for _ in 0..24 {
            rooms.push(RequestLane::Agents.acquire_permit().await.unwrap());
        }
        let waiting: Vec<_> =
            (0..DEPTH_MAX).map(|_| tokio::spawn(RequestLane::Agents.acquire_permit())).collect();
        while AGENTS.waiting.load(Ordering::Relaxed) < DEPTH_MAX {
            tokio::task::yield_now().await;
        }
        let shed = RequestLane::Agents.check_depth().unwrap_err();
        assert_eq!((shed.code, shed.wait_secs), (Code::Overloaded, Some(AGAIN_SECS)));
        assert!(
            RequestLane::People.check_depth().is_ok()
                && RequestLane::Programs.check_depth().is_ok()
        );
        assert!(RequestLane::People.acquire_permit().await.is_ok());
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for waiter in waiting {
            assert!(waiter.await.is_err());
        }
        assert_eq!(AGENTS.waiting.load(Ordering::Relaxed), 0);
        assert!(RequestLane::Agents.check_depth().is_ok());
    }

    #[test]
    fn long_texts_have_a_budget_in_each_lane() {
        assert!(RequestLane::Logins.memory(COUNTED_BYTES_MIN - 1).unwrap().is_none());
        let most: Vec<_> =
            (0..4).map(|_| RequestLane::Logins.memory(1024 * 1024).unwrap()).collect();
        assert!(RequestLane::Logins.memory(1024 * 1024).is_err());
        assert!(RequestLane::Streams.memory(1024 * 1024).is_ok());
        drop(most);
        assert!(RequestLane::Logins.memory(1024 * 1024).is_ok());
    }
}
