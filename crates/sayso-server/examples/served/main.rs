//! The gate benchmark through the server: drives the real `sayso serve` over HTTP, in the modes the peers'
//! programs have: `b1` round trip and throughput, `b2` kill and recover, `b3` what a waiting gate costs. And
//! three of its own: `crowd`, many clients held at once; `start`, from the start of the process to the first
//! answer; `overload`, a person who answers while agents ask more than the server can do. It prints one line, `@@` and JSON.
//!
//! The calls are those of the public API. The person answers on a connection and thread of their own, and
//! knows the digest of the card from the inbox they looked at, which is not part of the time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod crowd;
mod http;
mod overload;
mod server;
mod trips;

use std::collections::HashMap;
use std::path::PathBuf;

/// What was said on the command line.
pub(crate) struct Options(HashMap<String, String>);

impl Options {
    pub(crate) fn text(&self, name: &str, or: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| or.into())
    }

    pub(crate) fn number(&self, name: &str, or: usize) -> usize {
        self.0.get(name).map_or(or, |v| v.parse().expect(name))
    }

    pub(crate) fn seconds(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |v| v.parse().expect(name))
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.text("backend", "sqlite") == "postgres"
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.text("dir", ".").into()
    }

    pub(crate) fn durability(&self) -> &'static str {
        match self.is_postgres() {
            true => "postgres defaults: fsync=on synchronous_commit=on",
            false => "sqlite WAL synchronous=FULL: fsync per commit",
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let mut options = HashMap::new();
    while let Some(name) = words.next() {
        options.insert(name.trim_start_matches('-').to_owned(), words.next().unwrap_or_default());
    }
    let options = Options(options);
    raise_limit();
    let said = match mode.as_str() {
        "b1" => trips::round_trips(&options),
        "b2" => trips::recovery(&options),
        "b3" => crowd::cost(&options),
        "crowd" => crowd::crowd(&options),
        "start" => trips::start(&options),
        "overload" => overload::overload(&options),
        other => panic!("no mode {other:?}"),
    };
    println!("@@{said}");
}

/// A connection is an open file. The server is started with the usual limit and raises its own.
fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("more open files");
}

/// The number below which a share of them lies.
pub(crate) fn share(numbers: &[f64], share: f64) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().saturating_sub(1);
    numbers.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}
