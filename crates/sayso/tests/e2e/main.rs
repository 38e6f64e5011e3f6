//! The real program, driven as people, scripts and agents drive it, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod access;
mod api;
mod clients;
mod connect;
mod flows;
pub mod governed;
mod harness;
mod hooks;
mod inbox;
mod lifecycle;
mod mcp;
mod notices;
mod pages;
mod policy;
mod reliability;
mod scenarios;
mod smoke;
mod team;
mod worker;
