//! The desk, tested through its own door, on a store in memory and on a file.
//!
//! Time and chance are handed in: a test sets the clock, and the same test does the same each time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(missing_docs, unreachable_pub)]

mod bench;
mod cards;
mod clock;
mod crash;
mod gates;
mod line;
mod outbox;
mod people;
mod runs;
mod shared;
mod shielded;
mod shown;
mod step;
mod worktree;
