//! Round trips, one and many at a time; what is there after a kill; how long a start takes.

use crate::http::Http;
use crate::server::{ANSWER, Asked, SPACE, Server, answer, ask};
use crate::{Options, share};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// How many connections fill a space.
const FILLERS: usize = 64;

/// The most that is listed in one page.
const PAGE: usize = 200;

/// Milliseconds of a round trip, and of its opening alone.
type Trip = (f64, f64);

/// Each agent opens a gate and waits for it on one connection; its person answers on another.
pub(crate) fn round_trips(options: &Options) -> Value {
    let (count, warmup) = (options.number("n", 60), options.number("warmup", 10));
    let (inflight, think) = (options.number("inflight", 1), options.seconds("think"));
    let server = Server::start(options);
    open_many(&server, options.number("prefill", 0));
    let (next, began) = (AtomicUsize::new(0), Mutex::new(None));
    let cpu = server.cpu();
    let trips: Vec<Trip> = std::thread::scope(|scope| {
        let (server, next, began) = (&server, &next, &began);
        let work = move || {
            let mut agent = server.agent();
            let (to_person, for_person) = mpsc::channel::<Asked>();
            scope.spawn(move || {
                let mut person = server.person();
                for asked in for_person {
                    answer(&mut person, &asked);
                }
            });
            let mut trips = vec![];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count + warmup {
                    return trips;
                }
                if number == warmup {
                    *began.lock().unwrap() = Some(Instant::now());
                }
                let trip = round_trip(&mut agent, &to_person, think);
                if number >= warmup {
                    trips.push(trip);
                }
            }
        };
        let agents: Vec<_> = (0..inflight).map(|_| scope.spawn(work)).collect();
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    let wall = began.lock().unwrap().expect("a beginning").elapsed().as_secs_f64();
    let all = |of: fn(&Trip) -> f64| trips.iter().map(of).collect::<Vec<_>>();
    json!({"rtt_ms": all(|t| t.0), "open_ms": all(|t| t.1), "deliver_ms": all(|t| t.0 - t.1),
           "wall_s": wall, "per_s": trips.len() as f64 / wall, "server_cpu_s": server.cpu() - cpu,
           "durability": options.durability()})
}

fn round_trip(agent: &mut Http, to_person: &mpsc::Sender<Asked>, think: f64) -> Trip {
    let start = Instant::now();
    let asked = ask(agent);
    let opened = start.elapsed();
    agent.send("GET", &asked.wait_path(), "");
    if think > 0.0 {
        std::thread::sleep(Duration::from_secs_f64(think * 1.5));
    }
    let start = Instant::now();
    to_person.send(asked).unwrap();
    let gate = agent.receive();
    let delivered = start.elapsed();
    assert!(gate.to_string().contains(ANSWER), "{gate}");
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    (ms(opened + delivered), ms(opened))
}

/// Opens gates and leaves them open.
pub(crate) fn open_many(server: &Server, count: usize) {
    let left = AtomicUsize::new(count);
    each_at_once(&left, || server.agent(), |agent| drop(ask(agent)));
}

/// What was asked and answered before.
fn answer_many(server: &Server, count: usize) {
    let left = AtomicUsize::new(count);
    each_at_once(
        &left,
        || (server.agent(), server.person()),
        |(agent, person)| {
            let asked = ask(agent);
            answer(person, &asked);
        },
    );
}

fn each_at_once<C>(
    left: &AtomicUsize,
    connect: impl Fn() -> C + Sync,
    work: impl Fn(&mut C) + Sync,
) {
    let take = |n: usize| n.checked_sub(1);
    if left.load(Ordering::Relaxed) == 0 {
        return;
    }
    std::thread::scope(|scope| {
        for _ in 0..FILLERS {
            scope.spawn(|| {
                let mut connection = connect();
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    work(&mut connection);
                }
            });
        }
    });
}

/// Killed with gates open, started again: the first answer, all of them listed, all or some answered.
pub(crate) fn recovery(options: &Options) -> Value {
    let count = options.number("n", 1_000);
    let server = Server::start(options);
    answer_many(&server, options.number("history", 0));
    let began = Instant::now();
    open_many(&server, count);
    let fill = began.elapsed().as_secs_f64();
    server.kill();
    let server = Server::start(options);
    let since = || server.began.elapsed().as_secs_f64();
    let mut person = server.person();
    let first = page(&mut person, None, 1);
    answer(&mut person, &first[0]);
    let first_answer = since();
    let mut open: Vec<Asked> = vec![];
    loop {
        let more = page(&mut person, open.last(), PAGE);
        if more.is_empty() {
            break;
        }
        open.extend(more);
    }
    let all_listed = since();
    let (listed, sample) = (open.len(), options.number("sample", 500).min(open.len()));
    open.truncate(sample);
    let open = Mutex::new(open);
    let began = Instant::now();
    each_at_once(
        &AtomicUsize::new(sample),
        || server.person(),
        |person| {
            let asked = open.lock().unwrap().pop().expect("a gate");
            answer(person, &asked);
        },
    );
    json!({"n": count, "fill_s": fill, "listens_s": server.listened.as_secs_f64(),
           "first_answer_s": first_answer, "all_listed_s": all_listed, "answered": sample + 1,
           "answered_of": sample + 1, "answer_sample_s": began.elapsed().as_secs_f64(),
           "lost": count as i64 - 1 - listed as i64, "memory_kb": server.memory_kb(),
           "durability": options.durability()})
}

fn page(person: &mut Http, after: Option<&Asked>, limit: usize) -> Vec<Asked> {
    let after = after.map_or_else(String::new, |asked| format!("&after={}", asked.id));
    let path = format!("{SPACE}/gates?limit={limit}{after}");
    let listed = person.call("GET", &path, "");
    listed["items"].as_array().into_iter().flatten().map(Asked::of).collect()
}

/// Starts of the process: until a request with a credential is answered, and what it then takes.
pub(crate) fn start(options: &Options) -> Value {
    let server = Server::start(options);
    open_many(&server, options.number("prefill", 0));
    server.kill();
    let (mut listens, mut answers, mut memory) = (vec![], vec![], vec![]);
    for _ in 0..options.number("n", 10) {
        let server = Server::start(options);
        let listed = page(&mut server.person(), None, 1);
        answers.push(server.began.elapsed().as_secs_f64() * 1e3);
        listens.push(server.listened.as_secs_f64() * 1e3);
        assert!(listed.len() <= 1);
        std::thread::sleep(Duration::from_millis(500));
        memory.push(server.memory_kb() as f64);
    }
    json!({"listens_ms": share(&listens, 0.5), "first_answer_ms": share(&answers, 0.5),
           "first_answer_ms_p90": share(&answers, 0.9), "idle_kb": share(&memory, 0.5)})
}
