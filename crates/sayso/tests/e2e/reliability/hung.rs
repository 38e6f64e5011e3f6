//! A PostgreSQL that goes silent: connections stay, and nothing comes back on them. A server says so within seconds, to
//! whoever comes meanwhile at once, and goes on by itself when the database does.

use super::ready;
use crate::api::{Server, text};
use crate::harness::{Backend, Space, Who};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The longest the first may wait who meets the silence. An exchange may take six seconds.
const FIRST_MAX: Duration = Duration::from_secs(15);

/// The longest those may wait who come when it is known.
const NEXT_MAX: Duration = Duration::from_secs(3);

/// A way to the database that carries nothing while it is silent, and loses nothing.
struct Silent {
    port: u16,
    is_silent: Arc<AtomicBool>,
}

impl Silent {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_silent = Arc::new(AtomicBool::new(false));
        let server = crate::harness::server();
        let (_, address) = server.split_once('@').unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        let silence = is_silent.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&address)) else {
                    break;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let silence = silence.clone();
                    std::thread::spawn(move || carry(from, to, &silence));
                }
            }
        });
        Self { port, is_silent }
    }

    fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }

    fn silence(&self, is_so: bool) {
        self.is_silent.store(is_so, Relaxed);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, silence: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        while silence.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}

#[test]
fn a_silent_database_is_told_within_seconds() {
    let space = Space::new(Backend::Postgres);
    let way = Silent::start();
    let folder = space.path().join("served");
    std::fs::create_dir(&folder).unwrap();
    let store = way.url(space.store.as_ref().unwrap());
    let name = super::name(&space);
    let init = ["-C", folder.to_str().unwrap(), "init", "--name", &name, "--store", &store];
    space.run(Who::Script, &init).ok();
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::run(&space, command.current_dir(&folder));
    let gate = server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
    ready::until(&server, Ok(()));

    way.silence(true);
    let timed = |what: &str, most: Duration, ask: &(dyn Fn() -> u16 + Sync)| {
        let began = Instant::now();
        let status = ask();
        assert_eq!(status, 503, "{what}");
        assert!(began.elapsed() < most, "{what}: {:?}", began.elapsed());
    };
    let answer = || server.answer("ann", &gate, json!({"verdict": "approved"})).status;
    let look = || server.get("ann", "/gates").status;
    let ask = || server.post("coder", "/gates", json!({"question": "More?"})).status;
    std::thread::scope(|scope| {
        let all: Vec<_> =
            [("answer", &answer as &(dyn Fn() -> u16 + Sync)), ("look", &look), ("ask", &ask)]
                .into_iter()
                .map(|(what, call)| scope.spawn(move || timed(what, FIRST_MAX, call)))
                .collect();
        assert_eq!(all.into_iter().map(|one| one.join().unwrap()).count(), 3);
    });
    // Now it is known. Now and then one of them tries, and waits for its connection; the others are told at once.
    let mut at_once = 0;
    for _ in 0..12 {
        let began = Instant::now();
        assert_eq!(look(), 503);
        at_once += usize::from(began.elapsed() < NEXT_MAX);
        assert!(began.elapsed() < FIRST_MAX, "{:?}", began.elapsed());
    }
    assert!(at_once >= 8, "{at_once} of 12 were told at once");
    ready::until(&server, Err("SAY023"));
    assert_eq!(server.raw(&server.request("GET", "/health/live", None, None)).status, 200);

    way.silence(false);
    ready::until(&server, Ok(()));
    let began = Instant::now();
    while server.get("ann", "/gates").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not go on by itself");
        std::thread::sleep(Duration::from_millis(100));
    }
    // What was said in the silence counted once or not at all; saying it again is no other answer.
    server.answer("ann", &gate, json!({"verdict": "approved"})).is(200);
    let shown = server.get("ann", &format!("/gates/{}", text(&gate["id"]))).is(200);
    assert_eq!(shown["verdict"], "approved");
    space.verify();
}
