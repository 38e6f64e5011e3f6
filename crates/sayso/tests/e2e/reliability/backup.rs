//! Backups: made while everybody writes, each is one moment, whole; what is put back goes on from there (R26).

use super::{ann, desk, name};
use crate::harness::{Backend, Space, Who, fresh_database};
use sayso_core::Verdict;
use sayso_core::gate::Gate;
use sayso_engine::{Desk, GateFilter, RuntimeEnv, StoreLocation};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How many ask and answer at the same time, and how many backups are made meanwhile.
const WRITERS: usize = 4;
const BACKUPS: usize = 5;

/// What was acknowledged by a moment: gates by their question, and whether they were answered.
type Known = BTreeMap<String, bool>;

/// Asks and answers until it is over.
fn write(space: &Space, writer: usize, known: &Mutex<Known>, is_over: &AtomicBool) {
    for round in 0.. {
        let question = format!("Question {round} of {writer}?");
        let gate = space.ask("coder", &[&question, "--option", "yes"]);
        known.lock().unwrap().insert(question.clone(), false);
        space.run(Who::Human("ann"), &["choose", &gate, "yes"]).ok();
        known.lock().unwrap().insert(question, true);
        if is_over.load(Relaxed) {
            return;
        }
    }
}

/// Makes backups while others write, and gives each with what had been acknowledged before it was begun.
fn under_load<T>(space: &Space, back_up: impl Fn(usize) -> T) -> Vec<(T, Known)> {
    let (known, is_over) = (Mutex::new(Known::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Also when something fails: nobody would end the others.
        let _end = Ending(&is_over);
        for writer in 0..WRITERS {
            let (known, is_over) = (&known, &is_over);
            scope.spawn(move || write(space, writer, known, is_over));
        }
        let made = (0..BACKUPS).map(|n| {
            while known.lock().unwrap().values().filter(|answered| **answered).count() < n * 4 {
                std::thread::sleep(Duration::from_millis(5));
            }
            let before = known.lock().unwrap().clone();
            (back_up(n), before)
        });
        made.collect()
    })
}

/// Says that it is over, however it ends.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// All of them, those that wait and those that ended.
fn gates(desk: &Desk) -> Vec<Gate> {
    let page = |ended| {
        let filter = GateFilter { ended, limit: 100_000, ..GateFilter::default() };
        desk.gates(&ann(), filter).unwrap().items
    };
    [page(false), page(true)].concat()
}

/// The copy verifies, and has everything that was acknowledged before it was made.
fn holds(copy: &Desk, known: &Known) -> usize {
    copy.verify_audit(&ann(), |_| {}).unwrap();
    let gates = gates(copy);
    for (question, answered) in known {
        let gate = gates.iter().find(|gate| gate.card.question == *question);
        let gate = gate.unwrap_or_else(|| panic!("{question} is not in the copy"));
        assert!(!answered || gate.verdict() == Some(Verdict::Answered), "{question}");
    }
    gates.len()
}

#[test]
fn copies_made_while_others_write_are_whole_sqlite() {
    let space = Space::new(Backend::Sqlite);
    let folder = tempfile::tempdir().unwrap();
    let file = |n: usize| folder.path().join(format!("{n}.db"));
    let made = under_load(&space, |n| {
        let copied = space.run(Who::Script, &["backup", file(n).to_str().unwrap(), "--json"]);
        copied.json()["entries"].as_u64().unwrap()
    });
    let mut counts = vec![];
    for (n, (entries, known)) in made.iter().enumerate() {
        let place = StoreLocation::Sqlite(file(n));
        let copy = Desk::open(place, &name(&space), RuntimeEnv::real()).unwrap();
        assert_eq!(copy.verify_audit(&ann(), |_| {}).unwrap().entries, *entries);
        let mode = std::fs::metadata(file(n)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        counts.push(holds(&copy, known));
    }
    println!("{BACKUPS} copies with {counts:?} gates, each whole");
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]) && counts[BACKUPS - 1] >= 16);
    put_back(&space, &file(0), counts[0]);
}

/// Goes back to the first copy: what it has goes on, what came later is unknown, and nobody can go on with it.
fn put_back(space: &Space, copy: &Path, count: usize) {
    let open = space.ask("coder", &["After the copy?"]);
    space.mint("agent", "late");
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", space.file().display()));
    }
    std::fs::copy(copy, space.file()).unwrap();
    // That it is older is said, until somebody says that it is meant.
    space.ann(&["audit", "verify"]).exits(10).refused("SAY029").says("--accept-older");
    space.ann(&["audit", "verify", "--accept-older"]).ok();
    space.verify();
    assert_eq!(gates(&desk(space)).len(), count);
    space.run(Who::Agent("coder"), &["wait", &open, "--timeout", "1s"]).exits(3);
    space.run(Who::Agent("late"), &["ask", "Am I there?"]).exits(4).says("SAY028");
    let again = space.ask("coder", &["Going on?", "--option", "yes"]);
    space.run(Who::Human("ann"), &["choose", &again, "yes"]).ok();
    assert_eq!(space.run(Who::Agent("coder"), &["wait", &again]).ok(), "yes");
    space.verify();
}

#[test]
fn a_backup_is_refused_where_it_cannot_be_made() {
    let space = Space::new(Backend::Sqlite);
    let taken = space.path().join("taken.db");
    std::fs::write(&taken, "mine").unwrap();
    let path = taken.to_str().unwrap();
    space.run(Who::Script, &["backup", path]).exits(2).says("is there already");
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    space.run(Who::Script, &["backup", "no/such/folder/x.db"]).exits(1).says("no/such/folder/x.db");
    // A copy has everything; an agent sees its own.
    space.run(Who::Agent("coder"), &["backup", "agents.db"]).exits(5);
    assert!(!space.path().join("agents.db").exists());
    let left = std::fs::read_dir(space.path()).unwrap().flatten();
    assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().contains(".new")));
    let postgres = Space::new(Backend::Postgres);
    postgres.run(Who::Script, &["backup", "x.db"]).exits(2).says("pg_dump --schema sayso");
    let served = Space::new(Backend::Served);
    served.run(Who::Script, &["backup", "x.db"]).exits(2).says("behind a server");
}

#[test]
fn dumps_made_while_others_write_are_whole_postgres() {
    let space = Space::new(Backend::Postgres);
    let url = space.store.clone().unwrap();
    let programs = super::restart::programs();
    let made = under_load(&space, |_| {
        let dump =
            Command::new(programs.join("pg_dump")).args(["--schema", "sayso", &url]).output();
        let dump = dump.unwrap();
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        dump.stdout
    });
    let mut counts = vec![];
    for (dump, known) in &made {
        let (url, database) = fresh_database();
        let mut psql = Command::new(programs.join("psql"));
        psql.args(["--quiet", "--set", "ON_ERROR_STOP=1", &url]).stdin(Stdio::piped());
        let mut psql = psql.stdout(Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut psql.stdin.take().unwrap(), dump).unwrap();
        assert!(psql.wait().unwrap().success());
        let copy =
            Desk::open(StoreLocation::Postgres(url), &name(&space), RuntimeEnv::real()).unwrap();
        counts.push(holds(&copy, known));
        drop(copy);
        crate::harness::drop_database(&database);
    }
    println!("{BACKUPS} dumps with {counts:?} gates, each whole");
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]) && counts[BACKUPS - 1] >= 16);
}
