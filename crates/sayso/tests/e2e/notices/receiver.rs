//! A receiver of webhooks on loopback that behaves as it is told, and remembers what it heard.

use super::KEY;
use sayso_core::Digest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a receiver does with a call.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Hears it and says so.
    Good,
    /// Hears it and says something else.
    Says(u16, String),
    /// Hears it and says nothing until it is released.
    Hangs,
    /// Hears it and says so too late.
    Late(Duration),
    /// Hangs up without having heard all of it.
    HangsUp,
    /// Sends the caller elsewhere.
    Redirects(String),
}

/// What was heard.
#[derive(Debug, Clone)]
pub struct Heard {
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// Whether the receiver said that it heard it.
    pub was_acknowledged: bool,
}

impl Heard {
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn data(&self, name: &str) -> Value {
        self.json()["data"][name].clone()
    }
}

pub struct Receiver {
    port: u16,
    state: Arc<State>,
}

struct State {
    heard: Mutex<Vec<Heard>>,
    calls: AtomicUsize,
    is_released: AtomicBool,
    is_over: AtomicBool,
    manner: Box<dyn Fn(usize) -> Manner + Send + Sync>,
}

impl Receiver {
    /// One that behaves like this at its n-th call, counted from 0.
    pub fn new(manner: impl Fn(usize) -> Manner + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            heard: Mutex::default(),
            calls: AtomicUsize::new(0),
            is_released: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            manner: Box::new(manner),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let state = shared.clone();
                std::thread::spawn(move || state.answer(stream));
            }
        });
        Self { port, state }
    }

    pub fn good() -> Self {
        Self::new(|_| Manner::Good)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?room=1", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.state.heard.lock().unwrap().clone()
    }

    /// How often it was called, whatever came of it.
    pub fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }

    /// The ids of what was heard and acknowledged: by them a receiver knows what it had already.
    pub fn ids(&self) -> BTreeSet<String> {
        let heard = self.heard();
        heard.iter().filter(|h| h.was_acknowledged).map(|h| h.id().to_owned()).collect()
    }

    /// Lets go of everybody it keeps hanging.
    pub fn release(&self) {
        self.state.is_released.store(true, Ordering::SeqCst);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.release();
        self.state.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn answer(&self, mut stream: TcpStream) {
        let manner = (self.manner)(self.calls.fetch_add(1, Ordering::SeqCst));
        if matches!(manner, Manner::HangsUp) {
            let _ = stream.read(&mut [0; 20]);
            return;
        }
        let Some((headers, body)) = read(&mut stream) else { return };
        let is_good = matches!(manner, Manner::Good);
        let said = match manner {
            Manner::Good | Manner::HangsUp => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            Manner::Says(status, text) => {
                let length = text.len();
                format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\n{text}")
            }
            Manner::Late(time) => {
                std::thread::sleep(time);
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".into()
            }
            Manner::Hangs => {
                let began = Instant::now();
                while !self.is_released.load(Ordering::SeqCst)
                    && began.elapsed() < Duration::from_secs(120)
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                return;
            }
            Manner::Redirects(to) => {
                format!("HTTP/1.1 307 Elsewhere\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
            }
        };
        self.heard.lock().unwrap().push(Heard { headers, body, was_acknowledged: is_good });
        let _ = stream.write_all(said.as_bytes());
    }
}

fn read(stream: &mut TcpStream) -> Option<(BTreeMap<String, String>, String)> {
    let mut raw = vec![];
    let head = loop {
        let mut some = [0; 4_096];
        let n = stream.read(&mut some).ok().filter(|n| *n > 0)?;
        raw.extend_from_slice(&some[..n]);
        if let Some(at) = raw.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
    };
    let text = String::from_utf8_lossy(&raw[..head]).into_owned();
    let headers: BTreeMap<_, _> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = raw.split_off(head + 4);
    while body.len() < length {
        let mut some = [0; 4_096];
        let n = stream.read(&mut some).ok().filter(|n| *n > 0)?;
        body.extend_from_slice(&some[..n]);
    }
    Some((headers, String::from_utf8(body).ok()?))
}

/// Verifies what was heard as the specification says, with nothing of the program but its SHA-256.
#[track_caller]
pub fn verify(heard: &Heard) {
    let (id, stamp) = (heard.id(), &heard.headers["webhook-timestamp"]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let age = now.abs_diff(stamp.parse().unwrap());
    assert!(age < 300, "the timestamp is {age} seconds off");
    let signed = format!("{id}.{stamp}.{}", heard.body);
    let expected = format!("v1,{}", base64(&hmac(&KEY, signed.as_bytes())));
    assert_eq!(heard.headers["webhook-signature"], expected);
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let pad = |byte: u8| -> Vec<u8> {
        (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ byte).collect()
    };
    let inner = sha256(&[pad(0x36), message.to_vec()].concat());
    sha256(&[pad(0x5c), inner].concat())
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    let digest = Digest::of_bytes(bytes);
    let hex = digest.as_str().rsplit(':').next().unwrap();
    assert_eq!(hex.len(), 64);
    (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let of = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}
