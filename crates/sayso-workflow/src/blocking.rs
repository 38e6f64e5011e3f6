//! For programs that are not asynchronous themselves.

use crate::plan::{Work, Worked};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// How often it is asked whether to leave.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs something to its end, or until `leaves` says to leave it: then there is nothing.
pub fn block_on<T>(
    work: impl Future<Output = T>,
    leaves: &dyn Fn() -> bool,
) -> std::io::Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(LOOK_EVERY, &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if leaves() => return None,
                Err(_) => {}
            }
        }
    });
    // What still waits for the disk is not waited for.
    runtime.shutdown_background();
    Ok(done)
}

/// A step of a [`Crew`](crate::file::Crew) that takes its time without being asynchronous, off the threads that
/// everything else runs on. The closure of a [`Phase::agent`](crate::Phase::agent) gives a result of its own instead: there
/// `tokio::task::spawn_blocking` does the same.
pub fn blocking(step: impl FnOnce() -> Worked + Send + 'static) -> Work {
    Box::pin(async move {
        match tokio::task::spawn_blocking(step).await {
            Ok(worked) => worked,
            Err(error) => Worked::Failed(error.to_string()),
        }
    })
}
