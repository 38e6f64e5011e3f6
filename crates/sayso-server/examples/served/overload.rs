//! Overload: agents ask on many connections, or at a rate that nobody asks for, and a person answers meanwhile. What the
//! person waits for, what becomes of the asks, and the memory of the server.

use crate::http::{request, whole};
use crate::server::{Asked, QUESTION, SPACE, Server, answer, ask};
use crate::{Options, share};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long somebody who was shed waits, as `Retry-After` says.
const AGAIN: Duration = Duration::from_secs(1);

/// How long the load is on before the person begins.
const BEFORE: Duration = Duration::from_secs(2);

/// The pause between two answers of the person.
const PACE: Duration = Duration::from_millis(15);

/// What became of what was asked.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    shed: AtomicUsize,
    failed: AtomicUsize,
    /// Where asks come at a rate: those for which no connection was free.
    late: AtomicUsize,
    taken_ms: Mutex<Vec<f64>>,
}

impl Load {
    fn note(&self, status: u16, took: Duration) {
        match status {
            201 => self.taken_ms.lock().unwrap().push(took.as_secs_f64() * 1e3),
            503 => drop(self.shed.fetch_add(1, Ordering::Relaxed)),
            _ => drop(self.failed.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Asks once on a connection, and gives the status of the answer.
async fn ask_once(stream: &mut TcpStream, request: &[u8], seen: &mut Vec<u8>) -> Option<u16> {
    stream.write_all(request).await.ok()?;
    seen.clear();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        seen.extend_from_slice(&buffer[..read]);
        if let Some((status, _)) = whole(seen) {
            return Some(status);
        }
    }
}

/// One who asks again as soon as there is an answer, on one connection.
async fn closed(address: Arc<str>, request: Arc<[u8]>, load: Arc<Load>) {
    let mut seen = vec![];
    while !load.is_over.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(&*address).await else {
            load.failed.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        while !load.is_over.load(Ordering::Relaxed) {
            let began = Instant::now();
            let Some(status) = ask_once(&mut stream, &request, &mut seen).await else { break };
            load.note(status, began.elapsed());
            if status == 503 {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// One connection of those that share what comes at a rate; it takes no notice of `Retry-After`.
async fn open(
    address: Arc<str>,
    request: Arc<[u8]>,
    load: Arc<Load>,
    due: Arc<tokio::sync::Mutex<tokio::sync::mpsc::Receiver<Instant>>>,
) {
    let (mut seen, mut stream) = (vec![], None);
    loop {
        let Some(came) = due.lock().await.recv().await else { return };
        if stream.is_none() {
            stream = TcpStream::connect(&*address).await.ok();
        }
        let status = match &mut stream {
            Some(stream) => ask_once(stream, &request, &mut seen).await,
            None => None,
        };
        // Behind a request that was shed the server closes the connection.
        if status.is_none_or(|status| status == 503) {
            stream = None;
        }
        // From when it was due, so that waiting for a connection counts.
        load.note(status.unwrap_or(0), came.elapsed());
    }
}

/// Hands out asks at a rate until it is over. What does not fit into the queue is late for good.
async fn at_rate(rate: usize, due: tokio::sync::mpsc::Sender<Instant>, load: Arc<Load>) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    let (began, mut sent) = (Instant::now(), 0);
    while !load.is_over.load(Ordering::Relaxed) {
        tick.tick().await;
        let wanted = (began.elapsed().as_secs_f64() * rate as f64) as usize;
        for _ in sent..wanted {
            if due.try_send(Instant::now()).is_err() {
                load.late.fetch_add(1, Ordering::Relaxed);
            }
        }
        sent = wanted;
    }
}

/// The milliseconds of each answer of a person, one after the other.
fn answers(server: &Server, gates: &[Asked]) -> Vec<f64> {
    let mut person = server.person();
    gates
        .iter()
        .map(|gate| {
            std::thread::sleep(PACE);
            let began = Instant::now();
            answer(&mut person, gate);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect()
}

pub(crate) fn overload(options: &Options) -> Value {
    let (connections, rate) = (options.number("connections", 0), options.number("rate", 0));
    let count = options.number("answers", 300);
    let server = Server::start(options);
    let gates: Vec<_> = {
        let mut agent = server.agent();
        (0..count + 20).map(|_| ask(&mut agent)).collect()
    };
    // Whatever is opened on demand is open before it is measured.
    drop(answers(&server, &gates[count..]));
    let load = Arc::new(Load::default());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let body = json!({"question": QUESTION}).to_string();
    let request: Arc<[u8]> =
        request("POST", &format!("{SPACE}/gates"), &server.agent, &body).into_bytes().into();
    let address: Arc<str> = server.address.as_str().into();
    let (sender, due) = tokio::sync::mpsc::channel(4_096);
    let due = Arc::new(tokio::sync::Mutex::new(due));
    for _ in 0..connections {
        let (address, request, load) = (address.clone(), request.clone(), load.clone());
        match rate {
            0 => drop(runtime.spawn(closed(address, request, load))),
            _ => drop(runtime.spawn(open(address, request, load, due.clone()))),
        }
    }
    if rate > 0 {
        runtime.spawn(at_rate(rate, sender, load.clone()));
    }
    if connections > 0 {
        std::thread::sleep(BEFORE);
    }
    let (began, cpu) = (Instant::now(), server.cpu());
    let taken_before = load.taken_ms.lock().unwrap().len();
    let answered = answers(&server, &gates[..count]);
    let seconds = began.elapsed().as_secs_f64();
    let taken: Vec<f64> =
        load.taken_ms.lock().unwrap().iter().skip(taken_before).copied().collect();
    let cpu = (server.cpu() - cpu) / seconds;
    load.is_over.store(true, Ordering::Relaxed);
    runtime.shutdown_timeout(Duration::from_secs(3));
    let now = |of: &AtomicUsize| of.load(Ordering::Relaxed);
    json!({"connections": connections, "rate": rate, "answers": answered.len(),
           "answer_ms": share(&answered, 0.5), "answer_ms_p99": share(&answered, 0.99),
           "taken": taken.len(), "taken_per_s": taken.len() as f64 / seconds,
           "ask_ms": share(&taken, 0.5), "ask_ms_p99": share(&taken, 0.99),
           "shed": now(&load.shed), "failed": now(&load.failed), "late": now(&load.late),
           "peak_mb": server.status("VmHWM:") as f64 / 1024.0, "cores": cpu,
           "durability": options.durability()})
}
