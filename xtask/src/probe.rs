//! A probe for the tests of detached verbs: prints the environment that a detached process sees.

use std::io::Write;
use std::process;
use std::thread;
use std::time::Duration;

use crate::stop::{VerbError, VerbResult};
use crate::test::{agents, detach};

/// `__probe CODE SECONDS`: prints its process and marker, waits, and exits with the code.
pub(crate) const PROBE: &str = "__probe";

pub(crate) fn run(words: &[String]) -> VerbResult {
    match agents::nearest_marker() {
        None => here(words),
        Some(_) => detach::run(PROBE, words),
    }
}

pub(crate) fn here(words: &[String]) -> VerbResult {
    let [code, seconds] = words else { return Err(VerbError::usage("usage: CODE SECONDS")) };
    let number = |_| VerbError::usage("CODE and SECONDS are numbers");
    let marker = agents::nearest_marker().map_or("none".into(), |marker| marker.to_string());
    println!("process {} marker {marker}", process::id());
    std::io::stdout().flush()?;
    thread::sleep(Duration::from_secs(seconds.parse().map_err(number)?));
    match code.parse().map_err(number)? {
        0 => Ok(()),
        code => Err(VerbError { code, text: "as asked".into() }),
    }
}
