//! The processes behind `cargo xtask test`: the detached one, and PostgreSQL's keeper.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const WAIT_MAX: Duration = Duration::from_secs(30);

fn xtask(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(words).stdout(Stdio::piped());
    command
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// A process that ended but was not yet collected counts as gone.
fn is_running(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WAIT_MAX, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn below_an_agent_a_verb_runs_where_no_marker_is_seen() {
    let output = xtask(&["__probe", "0", "0"]).env("CLAUDECODE", "1").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.ends_with(" marker none\n"), "{said}");
    assert!(output.status.success());
}

#[test]
fn a_marker_of_an_ancestor_alone_is_enough() {
    // `env -u` takes the marker away from xtask, yet its parent still has it.
    let words = r#"env -u CODEX_SANDBOX "$0" __probe 0 0; true"#;
    let output = Command::new("sh")
        .args(["-c", words, env!("CARGO_BIN_EXE_xtask")])
        .env("CODEX_SANDBOX", "seatbelt")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.ends_with(" marker none\n"), "{said}");
}

#[test]
fn the_exit_code_comes_back_from_the_detached_process() {
    let output =
        xtask(&["__probe", "7", "0"]).env("AI_AGENT", "x").stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "xtask: as asked\n");
}

#[test]
fn the_detached_process_ends_with_the_one_that_waits_for_it() {
    let mut waiting = xtask(&["__probe", "0", "600"]).env("CLAUDECODE", "1").spawn().unwrap();
    let line = first_line(&mut waiting);
    let detached = line.split(' ').nth(1).unwrap();
    assert_ne!(detached, waiting.id().to_string());
    assert!(is_running(detached));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    eventually("the detached process ends", || !is_running(detached));
}

#[test]
fn the_waiting_process_notices_when_the_detached_one_is_killed() {
    let mut command = xtask(&["__probe", "0", "600"]);
    let mut waiting = command.env("CLAUDECODE", "1").stderr(Stdio::null()).spawn().unwrap();
    let line = first_line(&mut waiting);
    let detached = line.split(' ').nth(1).unwrap();
    let kill = format!("kill -KILL {detached}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
}

#[test]
fn postgres_is_stopped_and_removed_when_its_owner_is_gone() {
    let Some(programs) = postgres_programs() else {
        assert!(std::env::var_os("SAYSO_TEST_PG").is_none(), "PostgreSQL runs, but from where?");
        eprintln!("skipped: no PostgreSQL here; `cargo xtask test` brings it");
        return;
    };
    let mut keeper = xtask(&["__keep-postgres", &programs]).stdin(Stdio::piped()).spawn().unwrap();
    let url = first_line(&mut keeper);
    let address = url.strip_prefix("postgres://sayso@").unwrap().strip_suffix("/postgres").unwrap();
    TcpStream::connect(address).unwrap();
    let folder = folder_of(keeper.id());
    assert!(Path::new(&folder).is_dir());

    // What the kernel does to the pipe when its owner is killed.
    drop(keeper.stdin.take());
    assert!(keeper.wait().unwrap().success());
    assert!(TcpStream::connect(address).is_err(), "PostgreSQL still listens");
    assert!(!Path::new(&folder).exists(), "{folder} is left behind");
}

fn postgres_programs() -> Option<String> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut folders = versions.map(|entry| entry.path().join("bin"));
    folders.find(|folder| folder.join("initdb").is_file())?.to_str().map(Into::into)
}

/// The folder the keeper made: named after it, wherever temporary files are.
fn folder_of(keeper: u32) -> String {
    let begins = format!("sayso-{keeper}-");
    let homes = [std::env::temp_dir(), "/tmp".into()];
    let entries = homes.iter().filter_map(|home| fs::read_dir(home).ok()).flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    let found = paths.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&begins));
    found.expect("the keeper has a folder").to_str().unwrap().into()
}
