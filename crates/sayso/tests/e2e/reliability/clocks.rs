//! A clock that is years ahead on one machine expires nobody's question: the database's clock counts, the file
//! system's, and the newest entry of the audit.

use super::desk;
use crate::harness::{Backend, Space, Who, on_both};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ten years, and a little.
const TEN_YEARS: i64 = 3_653 * 24 * 3_600;

/// A library that lets a program see another time: `SHIFTED_SECS` later than it is.
fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("shift.c"), folder.join("shift.so"));
    let text = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdlib.h>
        #include <time.h>
        int clock_gettime(clockid_t which, struct timespec *now) {
            static int (*real)(clockid_t, struct timespec *);
            if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
            int said = real(which, now);
            const char *shift = getenv("SHIFTED_SECS");
            if (said == 0 && which == CLOCK_REALTIME && shift) now->tv_sec += atoll(shift);
            return said;
        }
    "#;
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    library
}

/// The command, as it runs on a machine whose clock is off.
fn shifted(space: &Space, library: &Path, secs: i64, who: Who<'_>, args: &[&str]) -> Command {
    let mut command = space.command(who, args);
    command.env("LD_PRELOAD", library).env("SHIFTED_SECS", secs.to_string());
    command
}

on_both! {
    fn a_clock_ten_years_ahead_expires_nothing(space: &Space) {
        let library = shim(space.path());
        let gate = space.ask("coder", &["Ship?", "--kind", "approval", "--deadline", "2h"]);
        let run = |secs, who, args: &[&str]| {
            space.finish(&mut shifted(space, &library, secs, who, args))
        };
        // The library works: without it, nothing would be tested here.
        let ahead = run(TEN_YEARS, Who::Human("ann"), &["inbox"]);
        ahead.exits(1).refused("SAY073").says("days ahead of").says("--accept-clock");
        for args in [["ask", "Another?"].as_slice(), &["approve", &gate]] {
            run(TEN_YEARS, Who::Human("ann"), args).exits(1).refused("SAY073");
        }
        run(TEN_YEARS, Who::Agent("coder"), &["wait", &gate, "--timeout", "1s"]).exits_not(0);
        let shown = space.show(&gate);
        assert_eq!(shown["state"], "open", "{shown}");
        let audit = space.audit();
        let is_of_the_future = |entry: &serde_json::Value| {
            entry["at"].as_str().unwrap() > "2030" && entry["action"] != "clock.accepted"
        };
        let now = audit[0]["at"].as_str().unwrap();
        assert!(now < "2030", "the machine of this test is not set right: {now}");
        assert!(!audit.iter().any(is_of_the_future), "{audit:?}");
        // What is a little off is nobody's concern.
        run(20, Who::Human("ann"), &["approve", &gate]).ok();
        space.verify();
    }
}

/// Where nothing happened for long, a person says that the clock is right; an agent cannot.
#[test]
fn a_person_vouches_for_the_clock_of_a_machine_that_slept() {
    let space = Space::new(Backend::Sqlite);
    let library = shim(space.path());
    let accept = ["doctor", "--accept-clock"];
    let late = 91 * 24 * 3_600;
    let run = |who, args: &[&str]| space.finish(&mut shifted(&space, &library, late, who, args));
    run(Who::Agent("coder"), &["ask", "Anybody?"]).exits(1).refused("SAY073");
    run(Who::Agent("coder"), &accept).exits(5);
    run(Who::Agent("coder"), &["ask", "Anybody?"]).exits(1).refused("SAY073");
    run(Who::Human("ann"), &accept).ok();
    run(Who::Agent("coder"), &["ask", "Anybody?"]).ok();
    let accepted = space.audit().iter().filter(|it| it["action"] == "clock.accepted").count();
    assert_eq!(accepted, 1);
    assert!(desk(&space).verify_audit(&super::ann(), |_| {}).is_ok());
}

/// Nobody vouches for a clock that the server of the database contradicts.
#[test]
fn the_clock_of_a_database_server_cannot_be_overruled() {
    let space = Space::new(Backend::Postgres);
    let library = shim(space.path());
    for secs in [TEN_YEARS, -TEN_YEARS] {
        let args = ["doctor", "--accept-clock"];
        let mut command = shifted(&space, &library, secs, Who::Human("ann"), &args);
        space.finish(&mut command).exits(1).refused("SAY073");
    }
    space.verify();
}
