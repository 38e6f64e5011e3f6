//! What those who have shown nothing do to those who log in.

use super::{Reply, Server};
use crate::harness::{Backend, Space};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PASSPHRASE: &str = "correct horse battery";

/// The longest a right login may take meanwhile.
const LOGIN_MAX: Duration = Duration::from_secs(3);

/// A request to log in, by its end of the path and its body.
fn login(server: &Server, end: &str, body: &Value) -> Vec<u8> {
    let path = format!("/session/{}{end}", server.space);
    server.request("POST", &path, None, Some(body.to_string().as_bytes()))
}

fn right_login(server: &Server) -> (Duration, Reply) {
    let began = Instant::now();
    let body = json!({"name": "ann", "passphrase": PASSPHRASE});
    let reply = server.raw(&login(server, "", &body));
    (began.elapsed(), reply)
}

#[test]
fn strangers_keep_nobody_from_logging_in_and_fill_no_audit() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    server.passphrase(&space, "ann", PASSPHRASE);
    let before = space.audit().len();
    let (is_over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for stranger in 0..12 {
            let (server, is_over, sent) = (&server, &is_over, &sent);
            scope.spawn(move || {
                while !is_over.load(Relaxed) {
                    let number = sent.fetch_add(1, Relaxed);
                    let name = format!("stranger-{number}");
                    let (end, body) = match stranger % 3 {
                        0 => ("/join", json!({"code": "AAAA-BBBB-CCCC-DDDD", "name": name, "passphrase": PASSPHRASE})),
                        1 => ("", json!({"name": name, "passphrase": PASSPHRASE})),
                        _ => ("", json!({"name": "ann", "passphrase": "a wrong guess"})),
                    };
                    let reply = server.raw_from("127.0.0.2", &login(server, end, &body));
                    assert!(reply.is_none_or(|reply| reply.status >= 400));
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        let logins: Vec<_> = (0..4)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(700));
                right_login(&server)
            })
            .collect();
        is_over.store(true, Relaxed);
        for (took, reply) in logins {
            assert_eq!(reply.status, 200, "{reply:?}");
            assert!(took < LOGIN_MAX, "{took:?}");
        }
    });
    assert!(sent.load(Relaxed) > 50, "{sent:?}");
    let more = space.audit().len() - before;
    assert!(more < 20, "{more} entries after {sent:?} requests");
    space.verify();
}

#[test]
fn a_name_as_long_as_a_book_is_refused_and_written_nowhere() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    let before = space.audit().len();
    let name = "x".repeat(60_000);
    let code = "AAAA-BBBB-CCCC-DDDD";
    for (end, body, status) in [
        ("", json!({"name": name, "passphrase": PASSPHRASE}), 401),
        ("/join", json!({"code": code, "name": name, "passphrase": PASSPHRASE}), 401),
    ] {
        let reply = server.raw(&login(&server, end, &body));
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.body.len() < 1_000, "{reply:?}");
    }
    assert_eq!(space.audit().len(), before);
    space.verify();
}

#[test]
fn unanswered_touches_keep_nobody_from_coming_in_by_passkey() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    let begin = login(&server, "/touch/begin", &json!({}));
    let mut taken = 0;
    for _ in 0..1_100 {
        taken +=
            usize::from(server.raw_from("127.0.0.2", &begin).is_some_and(|it| it.status == 200));
    }
    assert!(taken > 500, "{taken}");
    server.raw(&begin).is(200);
    // There, too, as soon as it comes more slowly.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.raw_from("127.0.0.2", &begin).unwrap().status, 200);
}
