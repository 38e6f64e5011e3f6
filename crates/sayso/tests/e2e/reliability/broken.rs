//! Damage: a store that was hit is told from a whole one. What is read is right, or is refused with
//! an error that says what to do; never a panic, never a wrong text served as if nothing were (R18).

use super::{Chance, agent, ann, desk, name, question};
use crate::harness::{Backend, Space, Who};
use sayso_core::gate::Gate;
use sayso_core::{Answer, Code, GateId};
use sayso_engine::{Desk, GateFilter, RuntimeEnv, StoreLocation};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A store with gates in every state, all of it in one file, and what is in it.
struct Whole {
    bytes: Vec<u8>,
    space: String,
    gates: BTreeMap<GateId, Gate>,
}

impl Whole {
    fn new() -> Self {
        let space = Space::new(Backend::Sqlite);
        let (bytes, gates) = fill(&space);
        Self { bytes, space: name(&space), gates }
    }

    /// A damaged copy.
    fn copy(&self, damage: impl FnOnce(&mut Vec<u8>)) -> (TempDir, PathBuf) {
        let mut bytes = self.bytes.clone();
        damage(&mut bytes);
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("sayso.db");
        std::fs::write(&file, bytes).unwrap();
        (folder, file)
    }
}

fn fill(space: &Space) -> (Vec<u8>, BTreeMap<GateId, Gate>) {
    let desk = desk(space);
    let mut gates = BTreeMap::new();
    for n in 0..18 {
        let id = desk.new_gate_id();
        let text = format!("Question {n}: may the transfer of {} euro go out?", 1_000 + n);
        desk.ask(&agent("coder"), question(id, &text)).unwrap();
        let gate = desk.gate(id).unwrap();
        match n % 3 {
            0 => drop(
                desk.answer(&ann(), id, Answer::text(format!("Yes {n}")), gate.digest.as_str())
                    .unwrap(),
            ),
            1 => drop(desk.withdraw(&agent("coder"), id, "not needed").unwrap()),
            _ => {}
        }
        gates.insert(id, desk.gate(id).unwrap());
    }
    drop(desk);
    let file = rusqlite::Connection::open(space.file()).unwrap();
    // As little as possible may be left of earlier rows: damage to what nobody reads is none.
    file.execute_batch("VACUUM").unwrap();
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(file);
    (std::fs::read(space.file()).unwrap(), gates)
}

/// What a look at a damaged store came to.
#[derive(Debug, Default)]
struct Seen {
    unopened: u32,
    right: u32,
    refused: u32,
    short_lists: u32,
    found_by_doctor: u32,
}

/// Reads every gate and every list, and lets nothing wrong pass.
fn look(whole: &Whole, file: &Path, seen: &mut Seen, what: &str) {
    let place = StoreLocation::Sqlite(file.to_owned());
    let desk = match Desk::open(place, &whole.space, RuntimeEnv::real()) {
        Ok(desk) => desk,
        Err(error) => {
            seen.unopened += 1;
            return check_says_what_to_do(&error, what);
        }
    };
    for (id, expected) in &whole.gates {
        match desk.gate(*id) {
            Ok(gate) => {
                assert_eq!(gate, *expected, "{what}: a wrong gate was served");
                seen.right += 1;
            }
            Err(error) => {
                seen.refused += 1;
                check_says_what_to_do(&error, what);
            }
        }
    }
    let is_short = is_list_short(whole, &desk, what);
    let is_found = doctor_finds(&desk);
    seen.short_lists += u32::from(is_short);
    seen.found_by_doctor += u32::from(is_found);
    assert!(!is_short || is_found, "{what}: a list is short and the doctor sees nothing");
    write_some(whole, &desk, what);
}

fn check_says_what_to_do(error: &sayso_engine::Error, what: &str) {
    let known =
        [Code::BrokenStore, Code::AuditBroken, Code::NewerSchema, Code::NoSpace, Code::Failure];
    assert!(known.contains(&error.code()), "{what}: {:?} {error}", error.code());
    assert!(error.hint().is_some(), "{what}: {error}");
}

/// Lists hold what the log holds, though an index that was hit may hide some of it.
fn is_list_short(whole: &Whole, desk: &Desk, what: &str) -> bool {
    let mut listed = 0;
    for ended in [false, true] {
        let filter = GateFilter { ended, limit: 1_000, ..GateFilter::default() };
        match desk.gates(&ann(), filter) {
            Ok(page) => {
                for gate in page.items {
                    let expected = &whole.gates[&gate.opened.id];
                    assert_eq!(gate.card, expected.card, "{what}: a wrong card was listed");
                    assert_eq!(gate.ending, expected.ending, "{what}: a wrong ending was listed");
                    listed += 1;
                }
            }
            Err(error) => {
                check_says_what_to_do(&error, what);
                return false;
            }
        }
    }
    listed < whole.gates.len()
}

fn doctor_finds(desk: &Desk) -> bool {
    let file = desk.check_file().map_or(true, |problems| !problems.is_empty());
    file || desk.verify_audit(&ann(), |_| {}).is_err()
}

/// Writing into a damaged store works or is refused; what it acknowledges is there.
fn write_some(whole: &Whole, desk: &Desk, what: &str) {
    let id = desk.new_gate_id();
    match desk.ask(&agent("coder"), question(id, "Still there?")) {
        Ok(_) => match desk.gate(id) {
            Ok(gate) => assert_eq!(gate.card.question, "Still there?", "{what}"),
            Err(error) => check_says_what_to_do(&error, what),
        },
        Err(error) => assert_ne!(error.code(), Code::NotFound, "{what}: {error}"),
    }
    for (id, expected) in whole.gates.iter().filter(|(_, gate)| !gate.is_open()).take(3) {
        let other = Answer::text("something else");
        let again = desk.answer(&ann(), *id, other, expected.digest.as_str());
        assert!(again.is_err(), "{what}: an ended gate was answered again");
    }
}

#[test]
fn a_flipped_bit_is_never_served() {
    let whole = Whole::new();
    let mut chance = Chance::new(71);
    let mut seen = Seen::default();
    const FLIPS: u32 = 500;
    for _ in 0..FLIPS {
        let (at, bit) = (chance.below(whole.bytes.len() as u64) as usize, chance.below(8));
        let what = format!("bit {bit} of byte {at}");
        let (_folder, file) = whole.copy(|bytes| bytes[at] ^= 1 << bit);
        look(&whole, &file, &mut seen, &what);
    }
    println!("{FLIPS} flipped bits in {} bytes: {seen:?}", whole.bytes.len());
    assert!(seen.right > 5_000 && seen.refused > 20, "{seen:?}");
    assert!(seen.found_by_doctor > 50, "{seen:?}");
}

/// Every bit of every text a person would read, one at a time: none goes unnoticed.
#[test]
fn a_flipped_bit_in_what_people_read_is_always_noticed() {
    let whole = Whole::new();
    let (_whole_folder, whole_file) = whole.copy(|_| {});
    let mut flipped = 0;
    for text in ["of 1003 euro", "Yes 3", "not needed", "of 1005 euro"] {
        let places: Vec<_> = (0..whole.bytes.len() - text.len())
            .filter(|at| whole.bytes[*at..].starts_with(text.as_bytes()))
            .collect();
        assert!(places.len() >= 2, "{text:?} is in the log and in a view");
        for (at, bit) in places.iter().take(6).flat_map(|at| (0..7).map(move |bit| (*at, bit))) {
            let (_folder, file) = whole.copy(|bytes| bytes[at + 3] ^= 1 << bit);
            let what = format!("bit {bit} of byte {at} in {text:?}");
            if rows(&file) == rows(&whole_file) {
                continue;
            }
            let mut seen = Seen::default();
            look(&whole, &file, &mut seen, &what);
            let place = StoreLocation::Sqlite(file);
            let is_found = Desk::open(place, &whole.space, RuntimeEnv::real())
                .map_or(true, |desk| doctor_finds(&desk));
            assert!(is_found, "{what} went unnoticed");
            flipped += 1;
        }
    }
    println!("{flipped} flipped bits in texts, all noticed");
    assert!(flipped >= 50, "{flipped}");
}

/// Everything that can be read from a file. What is left over between rows cannot, and a bit more or
/// less there is no damage.
fn rows(file: &Path) -> Option<Vec<String>> {
    let file = rusqlite::Connection::open(file).ok()?;
    let mut all = vec![];
    for table in ["events", "audit", "gates", "deliveries", "spaces"] {
        let mut statement = file.prepare(&format!("SELECT * FROM {table}")).ok()?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            all.push((0..columns).map(|at| format!("{:?} ", row.get_ref(at))).collect());
        }
    }
    Some(all)
}

#[test]
fn lost_sectors_pages_and_ends_are_never_served() {
    let whole = Whole::new();
    let mut chance = Chance::new(72);
    let mut seen = Seen::default();
    for round in 0..150 {
        let (unit, fill) = [(512, 0), (4_096, 0), (4_096, 0xa5)][round % 3];
        let at = chance.below(whole.bytes.len() as u64 / unit) as usize * unit as usize;
        let (_folder, file) = whole.copy(|bytes| {
            let end = (at + unit as usize).min(bytes.len());
            bytes[at..end].fill(fill);
        });
        look(&whole, &file, &mut seen, &format!("{unit} bytes of {fill:#x} at {at}"));
    }
    for _ in 0..60 {
        let len = chance.below(whole.bytes.len() as u64) as usize;
        let (_folder, file) = whole.copy(|bytes| bytes.truncate(len));
        look(&whole, &file, &mut seen, &format!("cut off at {len}"));
    }
    println!("150 lost sectors and pages, 60 cut files: {seen:?}");
    assert!(seen.unopened > 30 && seen.refused > 50 && seen.right > 500, "{seen:?}");
}

/// The log that was not yet copied into the file ends where it is damaged: what remains is one earlier
/// moment, whole and verifiable.
#[test]
fn a_damaged_wal_is_an_earlier_moment() {
    let space = Space::new(Backend::Sqlite);
    let before = super::entries(&space);
    for n in 0..20 {
        space.ask("coder", &[&format!("Question {n}?")]);
    }
    let after = super::entries(&space);
    let (file, wal) = (space.file(), space.path().join(".sayso/sayso.db-wal"));
    let (bytes, log) = (std::fs::read(file).unwrap(), std::fs::read(wal).unwrap());
    let mut chance = Chance::new(73);
    let (mut shorter, mut whole) = (0, 0);
    for _ in 0..100 {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("sayso.db");
        let mut log = log.clone();
        let at = chance.below(log.len() as u64) as usize;
        log[at] ^= 1 << chance.below(8);
        std::fs::write(&file, &bytes).unwrap();
        std::fs::write(folder.path().join("sayso.db-wal"), log).unwrap();
        let opened = Desk::open(StoreLocation::Sqlite(file), &name(&space), RuntimeEnv::real());
        match opened.and_then(|desk| desk.verify_audit(&ann(), |_| {})) {
            Ok(report) if report.entries == after => whole += 1,
            Ok(report) => {
                assert!((0..after).contains(&report.entries), "{} of {after}", report.entries);
                shorter += 1;
            }
            Err(error) => check_says_what_to_do(&error, &format!("byte {at} of the WAL")),
        }
    }
    println!(
        "100 flipped bits in a WAL of {} entries: {shorter} an earlier moment, {whole} whole",
        after - before
    );
    assert!(shorter >= 20, "{shorter}");
}

/// The same through the program: an exit code from the table, a code, a hint, and no panic.
#[test]
fn the_program_says_what_is_wrong_with_a_damaged_file() {
    let space = Space::new(Backend::Sqlite);
    let (bytes, gates) = fill(&space);
    let id = gates.keys().next().unwrap().to_string();
    let mut chance = Chance::new(74);
    let mut failed = 0;
    let damage = |kind: u64, chance: &mut Chance| -> Vec<u8> {
        let mut bytes = bytes.clone();
        let len = bytes.len() as u64;
        match kind {
            0 => bytes = b"this is not a database, whatever its name says".to_vec(),
            1 => bytes = vec![],
            2 => bytes.truncate(chance.below(len) as usize),
            3 => bytes.iter_mut().for_each(|byte| *byte = chance.below(256) as u8),
            _ => {
                for _ in 0..40 {
                    bytes[chance.below(len) as usize] ^= 1 << chance.below(8);
                }
            }
        }
        bytes
    };
    for round in 0..30 {
        for leftover in ["sayso.db-wal", "sayso.db-shm"] {
            let _ = std::fs::remove_file(space.path().join(".sayso").join(leftover));
        }
        std::fs::write(space.file(), damage(round.min(4 + round % 3), &mut chance)).unwrap();
        let tries: [(Who<'_>, &[&str]); 5] = [
            (Who::Human("ann"), &["inbox"]),
            (Who::Human("ann"), &["show", &id]),
            (Who::Human("ann"), &["audit", "verify"]),
            (Who::Human("ann"), &["doctor"]),
            (Who::Agent("coder"), &["ask", "Still there?"]),
        ];
        for (who, args) in tries {
            let ran = space.run(who, args);
            assert!([0, 1, 3, 4, 10].contains(&ran.code), "{args:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{args:?}: {}", ran.stderr);
            if ran.code != 0 && args != ["doctor"] {
                assert!(ran.stderr.contains("error[SAY"), "{args:?}: {}", ran.stderr);
                assert!(ran.stderr.contains("hint:"), "{args:?}: {}", ran.stderr);
                failed += 1;
            }
            if ["SAY021", "SAY029"].iter().any(|code| ran.stderr.contains(code)) {
                assert!(ran.stderr.contains("doctor"), "{args:?}: {}", ran.stderr);
            }
        }
    }
    println!("{failed} commands refused a damaged file");
    assert!(failed >= 40, "{failed}");
}

/// Another program's database is not ours to write to.
#[test]
fn a_foreign_database_is_left_alone() {
    let space = Space::empty();
    std::fs::create_dir(space.path().join(".sayso")).unwrap();
    let file = rusqlite::Connection::open(space.file()).unwrap();
    file.execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')")
        .unwrap();
    drop(file);
    let before = std::fs::read(space.file()).unwrap();
    for args in [vec!["init"], vec!["ask", "Mine?"], vec!["inbox"]] {
        let ran = space.run(Who::Script, &args).exits(1).refused("SAY021");
        assert!(ran.stderr.contains("not one of sayso"), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(space.file()).unwrap(), before, "it was written to");
}
