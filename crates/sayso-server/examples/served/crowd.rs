//! Many clients held at once by one server: what they cost it, and how soon one of them hears.

use crate::http::{Http, request, whole};
use crate::server::{Asked, Server, answer, ask};
use crate::{Options, share};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How many ask at a time, until all wait.
const ASKERS: usize = 32;

/// The longest one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who has heard, and when.
type Heard = (usize, Instant);

/// The waiting clients: one connection each, all in one thread of ours.
struct Crowd {
    gates: Vec<Asked>,
    heard: UnboundedReceiver<Heard>,
    runtime: tokio::runtime::Runtime,
}

impl Crowd {
    /// Asks as often as that, and lets a client of its own wait for each.
    fn gather(server: &Server, count: usize) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let (sender, heard) = unbounded_channel();
        let gates = ask_all(server, count);
        let address: Arc<str> = server.address.as_str().into();
        for (number, asked) in gates.iter().enumerate() {
            let request = request("GET", &asked.wait_path(), &server.agent, "");
            runtime.spawn(wait(address.clone(), request, number, sender.clone()));
        }
        Self { gates, heard, runtime }
    }

    /// Answers one after the other: what the call takes, and until the client has it, in milliseconds.
    fn answer(&mut self, person: &mut Http, some: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let (mut calls, mut waits) = (vec![], vec![]);
        for number in some {
            let began = Instant::now();
            answer(person, &self.gates[*number]);
            calls.push(began.elapsed().as_secs_f64() * 1e3);
            let heard = async { tokio::time::timeout(PATIENCE, self.heard.recv()).await };
            let heard = self.runtime.block_on(heard);
            let (who, at) = heard.expect("somebody hears in time").expect("a client");
            assert_eq!(who, *number, "somebody else heard");
            waits.push(at.duration_since(began).as_secs_f64() * 1e3);
        }
        (calls, waits)
    }
}

fn ask_all(server: &Server, count: usize) -> Vec<Asked> {
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..ASKERS)
            .map(|asker| {
                scope.spawn(move || {
                    let mut agent = server.agent();
                    (asker..count).step_by(ASKERS).map(|_| ask(&mut agent)).collect::<Vec<_>>()
                })
            })
            .collect();
        askers.into_iter().flat_map(|asker| asker.join().unwrap()).collect()
    })
}

/// Waits for one gate, again whenever the server lets go, until it has ended.
async fn wait(address: Arc<str>, request: String, number: usize, heard: UnboundedSender<Heard>) {
    let mut stream = TcpStream::connect(&*address).await.expect("connect");
    stream.set_nodelay(true).expect("nodelay");
    let mut buffer = vec![0; 2048];
    loop {
        stream.write_all(request.as_bytes()).await.expect("send");
        let mut seen = vec![];
        let body: Value = loop {
            let Ok(read @ 1..) = stream.read(&mut buffer).await else { return };
            seen.extend_from_slice(&buffer[..read]);
            if let Some((status, body)) = whole(&seen) {
                let text = String::from_utf8_lossy(body);
                assert!(status < 300, "{status} {text}");
                break serde_json::from_slice(body).expect("JSON");
            }
        };
        if body["state"] != "open" {
            let _ = heard.send((number, Instant::now()));
            return;
        }
    }
}

/// Waits until the server has taken in everybody: its memory and its processor come to rest.
fn settle(server: &Server) {
    let end = Instant::now() + Duration::from_secs(60);
    let mut before = -1.0;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        let cpu = server.cpu();
        if cpu - before < 0.03 {
            return;
        }
        before = cpu;
    }
}

/// What many waiting clients cost a server, and how soon those who are answered hear.
pub(crate) fn crowd(options: &Options) -> Value {
    let (count, answers) = (options.number("n", 10_000), options.number("answers", 300));
    let server = Server::start(options);
    // Whatever is opened on demand is open before it is measured.
    drop(ask_all(&server, 500));
    settle(&server);
    let (before, threads_before) = (server.memory_kb(), server.status("Threads:"));
    let began = Instant::now();
    let mut crowd = Crowd::gather(&server, count);
    settle(&server);
    let gathered = began.elapsed().as_secs_f64();
    let (after, threads) = (server.memory_kb(), server.status("Threads:"));
    let cpu = server.cpu();
    std::thread::sleep(Duration::from_secs(5));
    let idle_cpu = (server.cpu() - cpu) / 5.0;
    let step = (count / answers.max(1)).max(1);
    let some: Vec<_> = (0..count).step_by(step).take(answers).collect();
    let (calls, waits) = crowd.answer(&mut server.person(), &some);
    json!({"n": count, "memory_kb_before": before, "memory_kb": after, "peak_kb": server.status("VmHWM:"),
           "kb_each": (after as f64 - before as f64) / count as f64,
           "threads_before": threads_before, "threads": threads, "gathered_s": gathered,
           "idle_cpu": idle_cpu, "answers": waits.len(),
           "call_ms": share(&calls, 0.5), "call_ms_p99": share(&calls, 0.99),
           "heard_ms": share(&waits, 0.5), "heard_ms_p99": share(&waits, 0.99),
           "durability": options.durability()})
}

/// The same, as the peers' programs say it.
pub(crate) fn cost(options: &Options) -> Value {
    let said = crowd(options);
    let each = said["kb_each"].as_f64().unwrap_or_default() * 1024.0;
    json!({"n": said["n"], "bytes_per_gate": each, "threads": said["threads"],
           "note": "each gate has a client that is held by the server over HTTP"})
}
