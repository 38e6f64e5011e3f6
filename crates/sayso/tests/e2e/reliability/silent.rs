//! A PostgreSQL that goes silent in the middle of a write: what may have counted is not told as a no, and what
//! its caller gave up is not committed later (R19, R29).

use super::{desk, gate_id};
use crate::api::Server;
use crate::harness::{Backend, Space, Who};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What a proxy does with what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Way {
    /// It passes it on.
    Open,
    /// It keeps it, in order, until the way is open again.
    Held,
    /// It keeps the next commit, and all that comes behind it.
    HeldAtCommit,
    /// It passes the next commit on, and lets nobody hear what came of it.
    DeafAtCommit,
    /// It drops the next commit together with the connection.
    LostAtCommit,
    /// Nobody gets through any more.
    Gone,
}

const WAYS: [Way; 6] =
    [Way::Open, Way::Held, Way::HeldAtCommit, Way::DeafAtCommit, Way::LostAtCommit, Way::Gone];

/// A proxy in front of the tests' PostgreSQL.
struct Proxy {
    port: u16,
    way: Arc<AtomicU8>,
    /// How many commits were held, passed on or lost.
    commits: Arc<AtomicU64>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (way, commits): (Arc<AtomicU8>, Arc<AtomicU64>) = Default::default();
        let server = crate::harness::server();
        let (_, address) = server.split_once('@').unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        let (shared, counted) = (way.clone(), commits.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&address)) else {
                    break;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                for (from, to, is_asked) in [(&client, &server, true), (&server, &client, false)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (way, commits) = (shared.clone(), counted.clone());
                    std::thread::spawn(move || carry(from, to, is_asked, &way, &commits));
                }
            }
        });
        Self { port, way, commits }
    }

    fn set(&self, way: Way) {
        self.way.store(way as u8, SeqCst);
    }

    /// The URL of the same database, through here.
    fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }
}

fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    is_asked: bool,
    way: &AtomicU8,
    commits: &AtomicU64,
) {
    let now = || WAYS[usize::from(way.load(SeqCst))];
    let mut buffer = [0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let some = &buffer[..len];
        let is_commit = is_asked && some.windows(6).any(|word| word == b"COMMIT");
        match now() {
            Way::HeldAtCommit if is_commit => {
                commits.fetch_add(1, SeqCst);
                way.store(Way::Held as u8, SeqCst);
            }
            Way::DeafAtCommit if is_commit => {
                commits.fetch_add(1, SeqCst);
                way.store(Way::Gone as u8, SeqCst);
                let _ = to.write_all(some);
                // Long enough for the server to commit, and to say so to nobody.
                std::thread::sleep(Duration::from_millis(500));
                break;
            }
            Way::LostAtCommit if is_commit => {
                commits.fetch_add(1, SeqCst);
                way.store(Way::Gone as u8, SeqCst);
            }
            _ => {}
        }
        while now() == Way::Held {
            std::thread::sleep(Duration::from_millis(5));
        }
        if now() == Way::Gone || to.write_all(some).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A gate that waits, and a proxy in front of its database.
fn asked() -> (Space, Proxy, String, String) {
    let space = Space::new(Backend::Postgres);
    let id = gate_id(&mut super::Chance::new(91)).to_string();
    space.coder(&["ask", "Ship it?", "--kind", "approval", "--id", &id]).ok();
    let proxy = Proxy::start();
    let url = proxy.url(space.store.as_ref().unwrap());
    (space, proxy, url, id)
}

fn is_open(space: &Space, id: &str) -> bool {
    desk(space).gate(id.parse().unwrap()).unwrap().is_open()
}

/// The commit gets through and its reply does not, or neither does: whoever answers is told that the outcome
/// is unknown, in both cases alike, and where to look.
#[test]
fn a_lost_commit_is_an_unknown_outcome() {
    for (way, is_open_behind) in [(Way::DeafAtCommit, false), (Way::LostAtCommit, true)] {
        let (space, proxy, url, id) = asked();
        proxy.set(way);
        let ran = space.ann(&["approve", &id, "--store", &url]);
        ran.exits(13)
            .refused("SAY071")
            .says("it may have counted or not")
            .says("sayso show g")
            .never_says("nothing was allowed");
        assert_eq!(proxy.commits.load(SeqCst), 1, "{way:?}: no commit was seen");
        assert_eq!(is_open(&space, &id), is_open_behind, "{way:?}");
        // As the hint says: the look tells, and the same again is harmless.
        space.ann(&["approve", &id]).ok();
        assert!(!is_open(&space, &id));
        space.verify();
    }
}

/// Before anything was committed, it is known that nothing was.
#[test]
fn a_server_that_is_gone_from_the_start_allowed_nothing() {
    let (space, proxy, url, id) = asked();
    proxy.set(Way::Gone);
    let ran = space.ann(&["approve", &id, "--store", &url]);
    ran.exits(9).refused("SAY023").says("nothing was allowed");
    assert!(is_open(&space, &id));
}

/// A server of ours in front of such a database.
fn served(space: &Space, url: &str) -> Server {
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", url];
    let mut command: Command = space.command(Who::Script, &args);
    Server::run(space, command.stderr(Stdio::null()))
}

/// Over a server, too: what its own database left open is passed on as that.
#[test]
fn a_server_says_when_it_does_not_know() {
    let (space, proxy, url, id) = asked();
    let server = served(&space, &url);
    proxy.set(Way::DeafAtCommit);
    let address = format!("http://{}", server.address);
    let ran = space.ann(&["approve", &id, "--store", &address]);
    assert_eq!(proxy.commits.load(SeqCst), 1, "no commit was seen: {ran:?}");
    ran.exits(13).refused("SAY071").says("sayso show g").never_says("nothing was allowed");
    assert!(!is_open(&space, &id));
    space.verify();
}

/// What its caller gave up is dropped: by the server where it still can, by the database where the commit was
/// already on its way.
#[test]
fn what_a_caller_gave_up_is_not_committed() {
    for (way, limit) in [(Way::Held, Some(700)), (Way::Held, None), (Way::HeldAtCommit, Some(700))]
    {
        let (space, proxy, url, id) = asked();
        let server = served(&space, &url);
        // Its connections are there, and it knows the credential.
        server.get("ann", &format!("/gates/{id}")).is(200);
        let digest = space.show(&id)["digest"].clone();
        let before = space.verify();
        proxy.set(way);
        let body = serde_json::json!({"verdict": "approved", "digest": digest}).to_string();
        let path = format!("/v1/spaces/{}/gates/{id}/answer", server.space);
        let secret = server.secret("ann").to_owned();
        let request = server.request("POST", &path, Some(&secret), Some(body.as_bytes()));
        let more = limit.map(|ms| format!("sayso-timeout-ms: {ms}\r\nhost: "));
        let request = String::from_utf8(request).unwrap();
        let request = more.map_or(request.clone(), |more| request.replacen("host: ", &more, 1));
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let waiting = limit.map(|_| stream);
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(proxy.commits.load(SeqCst), u64::from(way == Way::HeldAtCommit), "{way:?}");
        proxy.set(Way::Open);
        // The server is at work again when it serves somebody else.
        let began = Instant::now();
        server.get("ann", &format!("/gates/{id}")).is(200);
        std::thread::sleep(Duration::from_millis(1_000));
        assert!(is_open(&space, &id), "{way:?} {limit:?}: it was approved for nobody");
        assert_eq!(space.verify(), before, "{way:?} {limit:?}");
        // Whoever is still there is told that nothing was written.
        if let Some(mut stream) = waiting {
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            assert!(said.starts_with("HTTP/1.1 503") && said.contains("SAY072"), "{way:?}: {said}");
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        // Whoever is there is heard.
        space.ann(&["approve", &id]).ok();
    }
}
