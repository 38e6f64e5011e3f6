//! A full disk: nothing is acknowledged that was not kept, nothing is left half done, and all goes
//! on by itself once there is room (R16).

use super::disk::Disk;
use super::{Chance, TOKENS, agent, ann, desk, entries, furnish, gate_id, name, place, question};
use crate::harness::{Backend, Ran, SAYSO, Space, Who};
use sayso_core::{Code, GateId};
use sayso_engine::{Desk, RuntimeEnv};
use std::fs::File;
use std::process::{Command, Stdio};

/// How big the small disk is, and how much of it is filled to begin with.
const DISK_KIB: u64 = 4_096;
const BALLAST_KIB: u64 = 2_048;

#[test]
fn a_full_disk_acknowledges_nothing_and_heals() {
    let space = Space::empty();
    let Some(_disk) = Disk::mount(&space.path().join(".sayso"), DISK_KIB) else { return };
    furnish(&space);
    let ballast = space.path().join(".sayso/ballast");
    std::fs::write(&ballast, vec![0; (BALLAST_KIB * 1024) as usize]).unwrap();
    let mut chance = Chance::new(31);
    let context = "x".repeat(12_000);
    let (mut kept, mut refused) = (vec![], vec![]);
    while refused.len() < 12 {
        assert!(kept.len() < 2_000, "the disk does not run full");
        let id = gate_id(&mut chance).to_string();
        // Late in the day also small ones, which may still fit.
        let long = kept.len() % 2 == 0 || refused.is_empty();
        let args = ["ask", &id, "--id", &id, "--context", if long { &context } else { "short" }];
        let ran = space.run(Who::Agent("coder"), &args);
        match ran.code {
            0 => kept.push(id),
            _ => {
                check_is_full(ran);
                refused.push((id, long));
            }
        }
    }
    let answered = answer_while_full(&space, &kept);
    check_kept(&space, &kept, &answered);
    std::fs::remove_file(ballast).unwrap();
    for (id, long) in &refused {
        assert!(desk(&space).gate(id.parse().unwrap()).is_err(), "refused, and yet there");
        let args = ["ask", id, "--id", id, "--context", if *long { &context } else { "short" }];
        space.run(Who::Agent("coder"), &args).ok();
    }
    let asked = kept.len() + refused.len();
    kept.extend(refused.into_iter().map(|(id, _)| id));
    check_kept(&space, &kept, &answered);
    let report = desk(&space).verify_audit(&ann(), |_| {}).unwrap();
    assert_eq!(report.views, asked as u64 + TOKENS, "each gate once");
    println!("{} kept before the disk was full, 12 refused and kept later", asked - 12);
    assert!(asked > 20, "{asked}");
}

fn check_is_full(ran: Ran) {
    let ran = ran.exits(1).refused("SAY024");
    assert!(ran.stdout.is_empty(), "acknowledged: {}", ran.stdout);
    assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
}

/// Some answers may still fit. Those that do are there for good.
fn answer_while_full(space: &Space, gates: &[String]) -> Vec<String> {
    let mut answered = vec![];
    let mut refused = 0;
    for id in gates.iter().take(20) {
        let text = format!("answer to {id} {}", "y".repeat(3_000));
        let ran = space.run(Who::Human("ann"), &["respond", id, &text]);
        match ran.code {
            0 => answered.push(id.clone()),
            _ => {
                check_is_full(ran);
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "every answer found room on a full disk");
    answered
}

fn check_kept(space: &Space, gates: &[String], answered: &[String]) {
    let desk = desk(space);
    desk.verify_audit(&ann(), |_| {}).unwrap();
    for id in gates {
        let gate = desk.gate(id.parse().unwrap()).unwrap();
        assert_eq!(gate.card.question, *id);
        assert_eq!(gate.answer().is_some(), answered.contains(id));
    }
    space.verify();
}

/// A long-lived process with many threads: what it refused while the disk was full goes through
/// afterwards, without anybody restarting it.
#[test]
fn a_server_on_a_full_disk_heals_alone() {
    let space = Space::empty();
    let Some(_disk) = Disk::mount(&space.path().join(".sayso"), DISK_KIB) else { return };
    furnish(&space);
    let ballast = space.path().join(".sayso/ballast");
    std::fs::write(&ballast, vec![0; (BALLAST_KIB * 1024) as usize]).unwrap();
    let server = Desk::open_shared(place(&space), &name(&space), RuntimeEnv::real()).unwrap();
    let filler = "x".repeat(20_000);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut outcomes: Vec<(GateId, Option<Code>)> = vec![];
                    while outcomes.iter().filter(|(_, code)| code.is_some()).count() < 3 {
                        assert!(outcomes.len() < 200, "the disk does not run full");
                        let id = server.new_gate_id();
                        let asked = server.ask(&agent("coder"), question(id, &filler));
                        outcomes.push((id, asked.err().map(|error| error.code())));
                    }
                    outcomes
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let (kept, refused): (Vec<_>, Vec<_>) = outcomes.iter().partition(|(_, code)| code.is_none());
    assert!(refused.iter().all(|(_, code)| *code == Some(Code::DiskFull)), "{refused:?}");
    assert!(kept.len() >= 10 && refused.len() >= 24, "{} kept", kept.len());
    std::fs::remove_file(ballast).unwrap();
    for (id, _) in refused.iter().take(10) {
        server.ask(&agent("coder"), question(*id, &filler)).unwrap();
    }
    for (id, _) in kept.iter().chain(refused.iter().take(10)) {
        desk(&space).gate(*id).unwrap();
    }
    let report = desk(&space).verify_audit(&ann(), |_| {}).unwrap();
    assert_eq!(report.views, kept.len() as u64 + 10 + TOKENS);
    println!("{} kept, {} refused while full, 10 of them kept later", kept.len(), refused.len());
}

/// The same for everybody: a limit on the size of files ends the write at each kilobyte in turn,
/// with an error or with a signal that ends the process.
#[test]
fn a_write_that_is_cut_short_leaves_nothing() {
    let space = Space::new(Backend::Sqlite);
    space.ask("coder", &["The first?"]);
    let log = space.path().join(".sayso/sayso.db-wal");
    let (mut failed, mut signalled, mut kept) = (0, 0, 0);
    for cut_kib in 0..80 {
        let begins_at = File::open(&log).map_or(0, |file| file.metadata().unwrap().len());
        // In units of 512 bytes, as every shell counts them.
        let limit = begins_at / 512 + cut_kib * 2;
        let before = entries(&space);
        let trap = if cut_kib % 2 == 0 { "trap '' XFSZ; " } else { "" };
        let script = format!("{trap}ulimit -f {limit}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", SAYSO, "ask", "Cut short?", "--context"]);
        let output = command
            .arg("z".repeat(9_000))
            .current_dir(space.path())
            .stdin(Stdio::null())
            .env_clear()
            .env("SAYSO_TOKEN_FILE", space.token("coder"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let after = entries(&space);
        match output.status.code() {
            Some(0) => {
                assert_eq!(after, before + 1, "acknowledged and not there");
                kept += 1;
            }
            Some(1) => {
                assert_eq!(after, before, "refused and yet there");
                assert!(output.stdout.is_empty());
                assert!(said.contains("error[SAY"), "{said}");
                assert!(said.contains("hint:"), "{said}");
                failed += 1;
            }
            Some(code) => panic!("exit code {code}: {said}"),
            None => {
                assert!(output.stdout.is_empty());
                assert!(after <= before + 1, "a signal ended it: it counted once or not at all");
                signalled += 1;
            }
        }
    }
    println!("{failed} cut short with an error, {signalled} by a signal, {kept} kept");
    assert!(failed >= 8 && signalled >= 8 && kept >= 8, "{failed} {signalled} {kept}");
    space.ask("coder", &["And now?"]);
    space.verify();
}
