//! Agents as real processes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod clients;
mod process;
mod station;
