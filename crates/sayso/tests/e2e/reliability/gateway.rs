//! A gateway before a server, which loses an answer and says so: whether it counted is not known then.

use super::gate_id;
use crate::api::Server;
use crate::harness::{Backend, Space};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Hands requests on. What comes of an answer it keeps for itself.
struct Gateway {
    url: String,
    lost: Arc<AtomicUsize>,
}

impl Gateway {
    fn before(server: &Server, says: &'static str) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let (to, lost) = (server.address.clone(), Arc::new(AtomicUsize::new(0)));
        let count = lost.clone();
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let Ok(stream) = stream else { continue };
                let (to, count) = (to.clone(), count.clone());
                std::thread::spawn(move || hand_on(stream, &to, says, &count));
            }
        });
        Self { url, lost }
    }
}

/// One request; the connection ends behind it.
fn hand_on(mut stream: TcpStream, to: &str, says: &str, lost: &AtomicUsize) -> Option<()> {
    let mut all = vec![];
    let end = loop {
        let mut some = [0; 4096];
        let read = stream.read(&mut some).ok().filter(|read| *read > 0)?;
        all.extend_from_slice(&some[..read]);
        if let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let length: usize = value("content-length:").and_then(|text| text.parse().ok()).unwrap_or(0);
    while all.len() < end + length {
        let mut some = [0; 4096];
        let read = stream.read(&mut some).ok().filter(|read| *read > 0)?;
        all.extend_from_slice(&some[..read]);
    }
    let host = value("host:")?;
    let head = head.replacen(host, to, 1).replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let mut server = TcpStream::connect(to).ok()?;
    // The path keeps its letters.
    let line = String::from_utf8_lossy(&all[..end]).lines().next()?.to_owned();
    let head = head.replacen(&line.to_lowercase(), &line, 1);
    let secret = String::from_utf8_lossy(&all[..end]).lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then(|| value.trim().to_owned())
    });
    let head = match secret {
        Some(secret) => head.replacen(&secret.to_lowercase(), &secret, 1),
        None => head,
    };
    server.write_all(&[head.as_bytes(), &all[end..]].concat()).ok()?;
    let mut answer = vec![];
    server.read_to_end(&mut answer).ok()?;
    if line.contains("/answer") {
        lost.fetch_add(1, SeqCst);
        answer =
            format!("HTTP/1.1 {says}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into();
    }
    stream.write_all(&answer).ok()
}

#[test]
fn an_answer_that_a_gateway_lost_is_an_unknown_outcome() {
    for says in ["502 Bad Gateway", "504 Gateway Timeout"] {
        let space = Space::new(Backend::Sqlite);
        let id = gate_id(&mut super::Chance::new(93)).to_string();
        space.coder(&["ask", "Ship it?", "--kind", "approval", "--id", &id]).ok();
        let server = Server::of(&space);
        let gateway = Gateway::before(&server, says);
        let ran = space.ann(&["approve", &id, "--store", &gateway.url]);
        ran.exits(13).refused("SAY071").says("sayso show g").never_says("nothing was allowed");
        assert!(gateway.lost.load(SeqCst) >= 1, "{says}: no answer came through");
        assert_ne!(space.show(&id)["state"], "open", "{says}: it counted");
        space.verify();
    }
}
