//! The real program, driven as people, scripts and agents drive it, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod clients;
mod harness;
mod reliability;
mod scenarios;
mod smoke;
mod worker;
