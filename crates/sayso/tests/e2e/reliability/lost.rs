//! Lost connections: PostgreSQL goes away at any moment, and what was acknowledged is there, once
//! (R19, R20, R21).

use super::{Chance, TOKENS, agent, ann, desk, entries, gate_id, name, question};
use crate::harness::{Backend, Space, Who};
use sayso_core::{Answer, GateId};
use sayso_engine::{Desk, NewTask, RuntimeEnv, StoreLocation};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Ends the one who ends connections, also when a test fails half-way.
pub(super) struct Over<'a>(pub(super) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Ends connections to the space's database at random until it is told to stop; returns how many.
fn terminate(space: &Space, is_over: &AtomicBool, chance: &mut Chance) -> u64 {
    let url = space.store.as_ref().unwrap();
    let mut admin = postgres::Client::connect(&crate::harness::server(), postgres::NoTls).unwrap();
    let database = url.rsplit_once('/').unwrap().1;
    let mut ended = 0;
    while !is_over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(5 + chance.below(40)));
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = $1 AND application_name = 'sayso' ORDER BY random() LIMIT 1";
        ended += admin.query(sql, &[&database]).unwrap().len() as u64;
    }
    ended
}

/// Processes ask and answer while their connections are ended under them. Whoever is told that the
/// store cannot be reached asks again with the same id.
#[test]
fn connections_ended_at_random_lose_and_double_nothing() {
    let space = Space::new(Backend::Postgres);
    let before = entries(&space);
    let (is_over, unreachable) = (AtomicBool::new(false), AtomicU64::default());
    let done = Mutex::new(vec![]);
    let ended = std::thread::scope(|scope| {
        let killer = scope.spawn(|| terminate(&space, &is_over, &mut Chance::new(41)));
        let over = Over(&is_over);
        let writers: Vec<_> = (0..4)
            .map(|salt| {
                let (space, unreachable, done) = (&space, &unreachable, &done);
                scope.spawn(move || {
                    let mut chance = Chance::new(42 + salt);
                    for _ in 0..15 {
                        let id = gate_id(&mut chance).to_string();
                        let ask = ["ask", &id, "--id", &id];
                        insist(space, Who::Agent("coder"), &ask, unreachable);
                        let respond = ["respond", &id, "yes"];
                        insist(space, Who::Human("ann"), &respond, unreachable);
                        done.lock().unwrap().push(id);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        drop(over);
        killer.join().unwrap()
    });
    let done = done.into_inner().unwrap();
    let desk = desk(&space);
    for id in &done {
        let gate = desk.gate(id.parse().unwrap()).unwrap();
        assert_eq!(gate.card.question, *id);
        assert_eq!(gate.answer().unwrap().0.as_text(), "yes");
    }
    let unreachable = unreachable.into_inner();
    println!("{ended} connections ended, {unreachable} commands told so, {} gates", done.len());
    assert!(ended >= 30, "{ended}");
    assert!(unreachable >= 5, "{unreachable}");
    assert_eq!(done.len(), 60);
    assert_eq!(entries(&space), before + 120, "each was asked once and answered once");
    space.verify();
}

/// Runs a command until it goes through; the only other end it may have is "unreachable".
pub(super) fn insist(space: &Space, who: Who<'_>, args: &[&str], unreachable: &AtomicU64) {
    for _ in 0..500 {
        let ran = space.run(who, args);
        if ran.code == 0 {
            return;
        }
        assert!(ran.stdout.is_empty(), "acknowledged and failed: {ran:?}");
        // Unreachable, or broken off at the commit: either way it is asked again.
        let (code, say) = if ran.code == 13 { (13, "SAY071") } else { (9, "SAY023") };
        ran.exits(code).refused(say);
        unreachable.fetch_add(1, Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never went through: {args:?}");
}

/// Whoever waits hears of its answer though the connection it listens on is ended again and again.
#[test]
fn a_waiter_survives_lost_connections() {
    let space = Space::new(Backend::Postgres);
    let desk = Desk::open(super::place(&space), &name(&space), RuntimeEnv::real()).unwrap();
    let is_over = AtomicBool::new(false);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| terminate(&space, &is_over, &mut Chance::new(51)));
        let over = Over(&is_over);
        let waiters: Vec<_> = (0..12)
            .map(|n| {
                let (space, desk) = (&space, desk.clone());
                scope.spawn(move || {
                    // The id is the asker's: whoever was cut off asks the same again, not one more.
                    let id = desk.new_gate_id();
                    let ask = || desk.ask(&agent("coder"), question(id, "Still there?"));
                    patiently(|| ask().map(drop));
                    let respond = id.to_string();
                    let answer = scope.spawn(move || {
                        std::thread::sleep(Duration::from_millis(200 + 40 * n));
                        insist(
                            space,
                            Who::Human("ann"),
                            &["respond", &respond, "yes"],
                            &AtomicU64::default(),
                        );
                    });
                    let limit = Some(Duration::from_secs(60));
                    let waited = patiently(|| desk.wait(id, limit));
                    answer.join().unwrap();
                    matches!(waited, sayso_engine::WaitOutcome::Ended(_))
                })
            })
            .collect();
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()));
        drop(over);
        println!("12 waiters, {} connections ended", killer.join().unwrap());
    });
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(desk.verify_audit(&ann(), |_| {}).unwrap().views, 12 + TOKENS);
}

/// Tries again while the store cannot be reached, as a caller would.
fn patiently<T>(attempt: impl Fn() -> sayso_engine::Result<T>) -> T {
    for _ in 0..200 {
        match attempt() {
            Ok(value) => return value,
            Err(error) => {
                let known = ["SAY023", "SAY071"];
                assert!(known.contains(&error.code().as_str()), "{error}");
            }
        }
    }
    panic!("never went through")
}

/// A way to the server that breaks after a number of bytes.
struct Breaking {
    port: u16,
    /// How many bytes may still pass, in both directions together; negative means any number.
    left: Arc<AtomicI64>,
    /// How many bytes passed.
    passed: Arc<AtomicU64>,
    breaks: Arc<AtomicU64>,
}

impl Breaking {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Self {
            port: listener.local_addr().unwrap().port(),
            left: Arc::new(AtomicI64::new(-1)),
            passed: Arc::default(),
            breaks: Arc::default(),
        };
        let server = crate::harness::server();
        let (_, address) = server.split_once('@').unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        let (left, passed, breaks) = (way.left.clone(), way.passed.clone(), way.breaks.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&address)) else {
                    break;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (left, passed, breaks) = (left.clone(), passed.clone(), breaks.clone());
                    std::thread::spawn(move || carry(from, to, &left, &passed, &breaks));
                }
            }
        });
        way
    }

    /// The URL of the same database, through here.
    fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }
}

/// Passes bytes on, as many as may pass; then the way breaks in both directions, once.
fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    left: &AtomicI64,
    passed: &AtomicU64,
    breaks: &AtomicU64,
) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let before = left.fetch_update(Relaxed, Relaxed, |left| {
            (left >= 0).then(|| (left - len as i64).max(-1))
        });
        let may = before.map_or(len, |left| len.min(left as usize));
        let is_over = before.is_ok_and(|left| left <= len as i64);
        passed.fetch_add(may as u64, Relaxed);
        if to.write_all(&buffer[..may]).is_err() {
            break;
        }
        if is_over {
            breaks.fetch_add(1, Relaxed);
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The connection breaks after each few bytes of a write, the commit and its answer included. The desk
/// looks whether it counted before it tries again, so that every command has one effect, also those
/// without an id of their own, such as a note.
#[test]
fn a_connection_cut_anywhere_in_a_write_has_one_effect() {
    const STRIDE: u64 = 23;
    let space = Space::new(Backend::Postgres);
    let way = Breaking::start();
    let url = way.url(space.store.as_ref().unwrap());
    let desk = Desk::open(StoreLocation::Postgres(url), &name(&space), RuntimeEnv::real()).unwrap();
    let mut expected = entries(&space);
    let (mut tasks, mut broke) = (vec![], [0_u64; 3]);
    for (command, broke) in broke.iter_mut().enumerate() {
        let mut cut = Chance::new(61).below(STRIDE) as i64;
        loop {
            // What comes before also warms the connection up, as in a server that runs for a while.
            let id = desk.new_gate_id();
            desk.ask(&agent("coder"), question(id, "warm?")).unwrap();
            let task = desk.create_task(&ann(), task(&desk)).unwrap().id;
            let (breaks, passed) = (way.breaks.load(Relaxed), way.passed.load(Relaxed));
            way.left.store(cut, Relaxed);
            let asked = desk.new_gate_id();
            match command {
                0 => drop(desk.ask(&agent("coder"), question(asked, "cut?")).unwrap()),
                1 => answer(&desk, id),
                _ => {
                    tasks.push(task);
                    drop(desk.note(&ann(), task, "once", false).unwrap());
                }
            }
            way.left.store(-1, Relaxed);
            expected += 3;
            let is_cut = way.breaks.load(Relaxed) > breaks;
            *broke += u64::from(is_cut);
            if !is_cut {
                println!("a command took {} bytes", way.passed.load(Relaxed) - passed);
                break;
            }
            cut += STRIDE as i64;
        }
        assert_eq!(entries(&space), expected, "one entry for each command");
    }
    println!("cut while asking, answering and noting: {broke:?}");
    assert!(broke.iter().all(|count| *count >= 40), "{broke:?}");
    for task in tasks {
        let noted = desk.history(task).unwrap().into_iter().filter(|(_, event)| {
            matches!(event, sayso_core::task::TaskEvent::Noted(note) if note.text == "once")
        });
        assert_eq!(noted.count(), 1, "a note is there twice, or not at all");
    }
    space.verify();
}

fn answer(desk: &Desk, id: GateId) {
    // The look before the write is a read, and a read that is cut is an error that says so.
    let gate = patiently(|| desk.gate(id));
    let text = Answer::text("yes");
    patiently(|| desk.answer(&ann(), id, text.clone(), gate.digest.as_str()));
}

fn task(desk: &Desk) -> NewTask {
    NewTask {
        id: desk.new_task_id(),
        title: "Survive".into(),
        body: String::new(),
        sort: "task".into(),
        priority: 2,
        size: None,
        labels: BTreeSet::new(),
        parent: None,
        blocked_by: BTreeSet::new(),
        requires: None,
        awaiting: None,
    }
}
