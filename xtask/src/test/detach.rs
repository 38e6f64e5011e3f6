//! Runs a verb in a process without living ancestors of ours.
//!
//! We start a process that starts another one and ends; the other is then adopted by init, and its ancestors are no
//! longer ours. Between it and us lies one socket pair, on its stdin: it sends its exit code along it, and when we
//! are gone, however we ended, it reads the end and ends as well.

use std::env;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{self, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::agents;
use crate::stop::{VerbError, VerbResult};
use crate::{clients, docs, probe, test};

/// The process in between: starts the other one and ends.
pub(crate) const FORK: &str = "__fork";
/// The process that runs the verb.
pub(crate) const DETACHED: &str = "__detached";

/// The function of a verb.
type VerbFn = fn(&[String]) -> VerbResult;

/// The verbs that simulate people, which sayso must not find below an agent.
const VERBS: &[(&str, VerbFn)] = &[
    (test::TEST, test::here),
    (docs::DOCS, docs::here),
    (clients::CLIENTS, clients::here),
    (probe::PROBE, probe::here),
];

const ADOPTION_MAX: Duration = Duration::from_secs(10);

/// Runs a verb that simulates people: in this process, or detached if an ancestor is an agent.
pub(crate) fn unless_alone(verb: &str, words: &[String]) -> VerbResult {
    let Some(marker) = agents::nearest_marker() else { return here(verb, words) };
    eprintln!("{verb}: an AI agent is at work ({marker}), so people are played detached from it");
    run(verb, words)
}

fn here(verb: &str, words: &[String]) -> VerbResult {
    match VERBS.iter().find(|(name, _)| *name == verb) {
        Some((_, run)) => run(words),
        None => Err(VerbError::usage(format!("`{verb}` does not run detached"))),
    }
}

/// Runs a verb detached, waits for its end and passes its exit code on.
pub(crate) fn run(verb: &str, words: &[String]) -> VerbResult {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut fork = Command::new(env::current_exe()?);
    fork.arg(FORK).arg(verb).args(words).stdin(OwnedFd::from(theirs));
    for marker in agents::own_markers() {
        fork.env_remove(marker);
    }
    if !fork.status()?.success() {
        return Err("the detached process could not be started".into());
    }
    // It holds a copy of their end, and we could never read the end of the stream.
    drop(fork);
    let mut code = String::new();
    ours.read_to_string(&mut code)?;
    match code.trim().parse() {
        Ok(0) => Ok(()),
        // The detached process has printed the reason itself.
        Ok(code) => Err(VerbError { code, text: String::new() }),
        Err(_) => Err("the detached process was ended from outside".into()),
    }
}

/// Starts the detached process in a group of its own and leaves it alone.
pub(crate) fn fork(words: &[String]) -> VerbResult {
    let mut detached = Command::new(env::current_exe()?);
    detached.arg(DETACHED).arg(process::id().to_string()).args(words);
    // Its own group, so that it can end all it started with one signal.
    detached.process_group(0).spawn()?;
    Ok(())
}

/// Runs the verb once the parent is gone, and reports its exit code.
pub(crate) fn detached(words: &[String]) -> VerbResult {
    let [parent, verb, words @ ..] = words else {
        return Err(VerbError::usage("this verb is not for people"));
    };
    let mut lifeline = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    end_with(lifeline.try_clone()?);
    let outcome = await_adoption(parent).and_then(|()| here(verb, words));
    // Printed here: the process that started us does not know the reason.
    let code = outcome.as_ref().err().map_or(0, |stop| stop.code);
    if let Err(stop) = outcome {
        stop.tell();
    }
    writeln!(lifeline, "{code}")?;
    Ok(())
}

fn await_adoption(parent: &str) -> VerbResult {
    let begun = Instant::now();
    while parent_id().to_string() == parent {
        if begun.elapsed() > ADOPTION_MAX {
            return Err("no process has adopted the detached one".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    if let Some(marker) = agents::nearest_marker() {
        eprintln!("xtask: {marker} still stands above us; whoever plays a person will be refused");
    }
    Ok(())
}

/// Ends our whole group as soon as the other end of the lifeline is gone.
fn end_with(mut lifeline: UnixStream) {
    thread::spawn(move || {
        // No data is ever sent to us, so each result of the read is the end.
        let _ = lifeline.read(&mut [0]);
        let kill = format!("kill -TERM -{}", process::id());
        // The shell's own `kill`: the program of that name is missing on small systems.
        let _ = Command::new("sh").arg("-c").arg(kill).stdin(Stdio::null()).status();
    });
}
