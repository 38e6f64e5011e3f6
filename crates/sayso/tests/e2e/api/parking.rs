//! Parking: a request that is held keeps little more than its socket, and nobody outside can tell.

use super::{PATIENCE, Reply, Server, text};
use crate::harness::on_both;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How many wait together.
const WAITERS: usize = 200;

/// A figure of the server: the value of the one line that begins so.
#[track_caller]
fn figure(server: &Server, beginning: &str) -> f64 {
    let page = server.raw(&server.request("GET", "/metrics", Some(server.secret("ann")), None));
    let found: Vec<_> = page.body.lines().filter(|line| line.starts_with(beginning)).collect();
    assert_eq!(found.len(), 1, "{beginning}: {found:?}\n{}", page.body);
    found[0].rsplit(' ').next().unwrap().parse().unwrap()
}

/// Waits until so many requests are parked.
#[track_caller]
fn until_parked(server: &Server, count: usize) {
    let began = Instant::now();
    while figure(server, "sayso_parked ") != count as f64 {
        assert!(began.elapsed() < PATIENCE, "{} are parked", figure(server, "sayso_parked "));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A request that waits for a gate, on a connection that is kept.
fn waiting(server: &Server, gate: &str, wait: &str, more: &str) -> Vec<u8> {
    let path = format!("/v1/spaces/{}/gates/{gate}?wait={wait}", server.space);
    kept(&server.request("GET", &path, Some(server.secret("coder")), None), more)
}

/// A request for a connection that is kept, with more headers.
fn kept(request: &[u8], more: &str) -> Vec<u8> {
    String::from_utf8_lossy(request).replace("connection: close\r\n", more).into_bytes()
}

fn sent(server: &Server, request: &[u8]) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(request).unwrap();
    stream
}

/// The next response of a connection that is kept.
#[track_caller]
fn next(stream: &mut TcpStream) -> Reply {
    let (mut seen, mut byte) = (vec![], [0]);
    while !seen.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    let head = Reply::read(&seen).unwrap();
    let mut body = vec![0; head.headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    Reply { body: String::from_utf8(body).unwrap(), ..head }
}

fn question(server: &Server) -> Value {
    server.ask("coder", json!({"question": "Ship?", "form": "verdict"}))
}

fn approve(server: &Server, gate: &Value) {
    server.answer("ann", gate, json!({"verdict": "approved"})).is(200);
}

on_both! {
    /// It hears, is counted once with all of its time, and its connection is as good as before.
    fn parked_and_answered(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let request = waiting(&server, text(&gate["id"]), "60s", "");
        let mut waiter = sent(&server, &request);
        until_parked(&server, 1);
        std::thread::sleep(Duration::from_secs(1));
        approve(&server, &gate);
        assert_eq!(next(&mut waiter).is(200)["verdict"], "approved");
        until_parked(&server, 0);
        let route = "{method=\"GET\",route=\"/v1/spaces/{space}/gates/{gate}\"";
        let total = format!("sayso_http_requests_total{route},status=\"200\"");
        assert_eq!(figure(&server, &total), 1.0);
        let took = figure(&server, &format!("sayso_http_request_seconds_sum{route}"));
        assert!((1.0..60.0).contains(&took), "{took}");
        // The same connection, again and again: asked, parked, answered.
        for round in 2..4 {
            let gate = question(&server);
            waiter.write_all(&waiting(&server, text(&gate["id"]), "60s", "")).unwrap();
            until_parked(&server, 1);
            approve(&server, &gate);
            assert_eq!(next(&mut waiter).is(200)["id"], gate["id"]);
            assert_eq!(figure(&server, &total), f64::from(round));
        }
        space.verify();
    }
}

on_both! {
    /// Somebody who is woken in vain waits on, and not for longer than they said.
    fn parked_until_time_is_over(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let began = Instant::now();
        let mut waiter = sent(&server, &waiting(&server, text(&gate["id"]), "4s", ""));
        until_parked(&server, 1);
        std::thread::sleep(Duration::from_millis(1_500));
        let claim = format!("/gates/{}/claim", text(&gate["id"]));
        server.post("ann", &claim, json!({"until": "1h"})).is(200);
        until_parked(&server, 1);
        assert_eq!(next(&mut waiter).is(200)["state"], "open");
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(4) && took < Duration::from_millis(5_400), "{took:?}");
        until_parked(&server, 0);
    }
}

on_both! {
    /// Whoever hangs up is let go, with everything that was kept for them.
    fn clients_that_hang_up(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
        let request = waiting(&server, text(&gate["id"]), "60s", "");
        let waiters: Vec<_> = (0..WAITERS).map(|_| sent(&server, &request)).collect();
        until_parked(&server, WAITERS);
        let held = format!("sayso_held{{space=\"{}\"}}", server.space);
        assert_eq!(figure(&server, &held), WAITERS as f64);
        let before = files();
        drop(waiters);
        until_parked(&server, 0);
        // Whoever was parked is let go of right behind it.
        let began = Instant::now();
        while figure(&server, &held) > 0.0 {
            assert!(began.elapsed() < PATIENCE, "{} are held", figure(&server, &held));
            std::thread::sleep(Duration::from_millis(20));
        }
        // A few of its own come and go: those of whoever looks at the figures, those of the store.
        assert!(files() < before - WAITERS + 20, "{} of {before} files are open", files());
    }
}

on_both! {
    /// More than are served at one time.
    fn many_parked_all_hear(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let request = waiting(&server, text(&gate["id"]), "60s", "");
        let mut waiters: Vec<_> = (0..WAITERS).map(|_| sent(&server, &request)).collect();
        until_parked(&server, WAITERS);
        approve(&server, &gate);
        for waiter in &mut waiters {
            assert_eq!(next(waiter).is(200)["verdict"], "approved");
        }
        until_parked(&server, 0);
    }
}

on_both! {
    /// Each of them hears that it is still open, and their connections end.
    fn a_server_that_ends_with_many_parked(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let request = waiting(&server, text(&gate["id"]), "60s", "");
        let waiters: Vec<_> = (0..WAITERS).map(|_| sent(&server, &request)).collect();
        until_parked(&server, WAITERS);
        let began = Instant::now();
        assert!(server.stop());
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        for mut waiter in waiters {
            let mut reply = String::new();
            waiter.read_to_string(&mut reply).unwrap();
            assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"open\""), "{reply}");
        }
    }
}

on_both! {
    /// Nothing of who somebody was is kept: who lost their credential while they were parked hears nothing.
    fn a_credential_revoked_meanwhile(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let mut waiter = sent(&server, &waiting(&server, text(&gate["id"]), "60s", ""));
        until_parked(&server, 1);
        space.revoke("coder");
        approve(&server, &gate);
        let reply = next(&mut waiter);
        assert!(reply.status == 401 && !reply.body.contains("approved"), "{reply:?}");
    }
}

on_both! {
    /// What is sent behind a request that waits is served behind it, whenever it came.
    fn bytes_behind_it(space: &Space) {
        let server = Server::of(space);
        let live = kept(&server.request("GET", "/health/live", None, None), "");
        for comes_later in [false, true] {
            let gate = question(&server);
            let request = waiting(&server, text(&gate["id"]), "60s", "");
            let mut waiter = match comes_later {
                true => sent(&server, &request),
                false => sent(&server, &[&request[..], &live].concat()),
            };
            if comes_later {
                until_parked(&server, 1);
                waiter.write_all(&live).unwrap();
            }
            std::thread::sleep(Duration::from_millis(500));
            until_parked(&server, 0);
            approve(&server, &gate);
            assert_eq!(next(&mut waiter).is(200)["verdict"], "approved");
            assert_eq!(next(&mut waiter).body, "ok\n");
            // And it can be parked again.
            let gate = question(&server);
            waiter.write_all(&waiting(&server, text(&gate["id"]), "60s", "")).unwrap();
            until_parked(&server, 1);
            approve(&server, &gate);
            assert_eq!(next(&mut waiter).is(200)["id"], gate["id"]);
        }
    }
}

on_both! {
    /// The name of a task means the gate it waits for, and after the answer it waits for none.
    fn a_name_that_means_something_else_by_then(space: &Space) {
        let server = Server::of(space);
        let task = server.post("ann", "/tasks", json!({"title": "Ship it"})).is(201);
        let asked = json!({"question": "Which port?", "task": task["id"]});
        let gate = server.ask("coder", asked);
        let mut waiter = sent(&server, &waiting(&server, text(&task["id"]), "60s", ""));
        until_parked(&server, 1);
        server.answer("ann", &gate, json!({"verdict": "approved", "text": "8080"})).is(200);
        let heard = next(&mut waiter).is(200);
        assert_eq!((&heard["id"], &heard["answer"]["text"]), (&gate["id"], &json!("8080")));
    }
}

on_both! {
    /// A long request is not kept, and a call of the line is, with its body; both hear.
    fn other_requests_that_wait(space: &Space) {
        let server = Server::of(space);
        let gate = question(&server);
        let long = format!("x-long: {}\r\n", "x".repeat(5_000));
        let mut unparked = sent(&server, &waiting(&server, text(&gate["id"]), "60s", &long));
        let body = json!({"with": [gate["id"], {"secs": 60, "nanos": 0}]}).to_string();
        let path = format!("/line/{}/wait", server.space);
        let secret = Some(server.secret("coder"));
        let call = server.request("POST", &path, secret, Some(body.as_bytes()));
        let mut line = sent(&server, &kept(&call, ""));
        until_parked(&server, 1);
        std::thread::sleep(Duration::from_millis(300));
        until_parked(&server, 1);
        approve(&server, &gate);
        assert_eq!(next(&mut unparked).is(200)["verdict"], "approved");
        let said = next(&mut line);
        assert!(said.status == 200 && said.body.contains("Ended"), "{said:?}");
    }
}
