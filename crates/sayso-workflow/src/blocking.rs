//! Bridges between blocking and asynchronous code: for programs and steps that are not asynchronous.

use crate::plan::{WorkFuture, WorkOutcome};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// The interval at which `leaves` is polled.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs a future to its end, or until `leaves` is true: then the result is none.
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
    // Blocking jobs that are still running are not awaited.
    runtime.shutdown_background();
    Ok(done)
}

/// Runs a blocking step of a [`StepExecutor`](crate::file::StepExecutor) on a thread of its own, off the threads of
/// the runtime. The closure of a [`Phase::agent`](crate::Phase::agent) gives a result of its own instead: there
/// `tokio::task::spawn_blocking` does the same.
pub fn blocking(step: impl FnOnce() -> WorkOutcome + Send + 'static) -> WorkFuture {
    Box::pin(async move {
        match tokio::task::spawn_blocking(step).await {
            Ok(worked) => worked,
            Err(error) => WorkOutcome::Failed(error.to_string()),
        }
    })
}
