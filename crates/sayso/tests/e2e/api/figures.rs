//! What Prometheus reads: figures of the store and of the process, for those who may read the space.

use super::{PATIENCE, Reply, Server, text};
use crate::harness::{Who, on_both};
use serde_json::json;
use std::time::{Duration, Instant};

fn scrape(server: &Server, query: &str, who: Option<&str>) -> Reply {
    let secret = who.map(|who| server.secret(who));
    server.raw(&server.request("GET", &format!("/metrics{query}"), secret, None))
}

/// The value of the line that begins so and has all of these labels.
#[track_caller]
fn value(page: &str, name: &str, labels: &[&str]) -> f64 {
    let is_it = |line: &&str| {
        line.split(['{', ' ']).next() == Some(name)
            && labels.iter().all(|label| line.contains(label))
    };
    let found: Vec<_> = page.lines().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}\n{page}");
    found[0].rsplit(' ').next().unwrap().parse().unwrap()
}

/// Waits until the server says that it holds so many requests, and no more than that.
#[track_caller]
pub fn held(server: &Server, count: usize) {
    let began = Instant::now();
    loop {
        let now = value(&scrape(server, "", Some("ann")).body, "sayso_held", &[]);
        if now == count as f64 {
            return;
        }
        assert!(now < count as f64 && began.elapsed() < PATIENCE, "{now} instead of {count}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

on_both! {
    fn what_is_told(space: &Space) {
        space.mint("auditor", "watcher");
        let mut server = Server::of(space);
        server.learn(space);
        let labels = format!("space=\"{}\"", server.space);
        let first = server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        let second = server.ask("coder", json!({"question": "And that?", "form": "verdict"}));
        server.ask("coder", json!({"question": "Which?"}));
        let short = server.ask("coder", json!({"question": "Now?", "deadline": "2s"}));
        server.answer("ann", &first, json!({"verdict": "approved"})).is(200);
        let no = json!({"verdict": "rejected", "reason": "no"});
        server.answer("ann", &second, no).is(200);
        let over = server.get("coder", &format!("/gates/{}?wait=60s", text(&short["id"]))).is(200);
        assert_eq!(over["state"], "expired");
        server.get("ann", "/gates/nothing").refused(404, "SAY001");

        let reply = scrape(&server, "", Some("watcher"));
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.headers["content-type"].starts_with("text/plain; version=0.0.4"));
        let page = &reply.body;
        let of = |outcome: &str| format!("outcome=\"{outcome}\"");
        let ended = |page: &str, outcome: &str| {
            value(page, "sayso_gates_ended_total", &[&labels, "kind=\"decision\"", &of(outcome)])
        };
        assert_eq!(value(page, "sayso_gates_open", &[&labels, "kind=\"decision\""]), 1.0);
        assert_eq!(value(page, "sayso_gates_open", &[&labels, "kind=\"tool\""]), 0.0);
        let oldest = value(page, "sayso_gates_oldest_seconds", &[&labels, "kind=\"decision\""]);
        assert!((2.0..300.0).contains(&oldest), "{oldest}");
        for (outcome, count) in [("approved", 1.0), ("rejected", 1.0), ("expired", 1.0)] {
            assert_eq!(ended(page, outcome), count, "{outcome}");
        }
        assert_eq!(value(page, "sayso_answer_seconds_count", &[&labels]), 2.0);
        assert_eq!(value(page, "sayso_answer_seconds_bucket", &[&labels, "le=\"+Inf\""]), 2.0);
        assert_eq!(value(page, "sayso_held", &[&labels]), 0.0);
        let asked = ["method=\"POST\"", "route=\"/v1/spaces/{space}/gates\"", "status=\"201\""];
        assert_eq!(value(page, "sayso_http_requests_total", &asked), 4.0);
        let missed = ["route=\"/v1/spaces/{space}/gates/{gate}\"", "status=\"404\""];
        assert_eq!(value(page, "sayso_http_requests_total", &missed), 1.0);
        let took = ["method=\"POST\"", "route=\"/v1/spaces/{space}/gates\""];
        assert_eq!(value(page, "sayso_http_request_seconds_count", &took), 4.0);
        assert!(value(page, "process_start_time_seconds", &[]) > 1.7e9);
        let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
        assert_eq!(value(page, "sayso_build_info", &[&version]), 1.0);

        // Another server of the same store tells the same of it, and of itself its own.
        let other = Server::of(space);
        let elsewhere = scrape(&other, &format!("?space={}", other.space), Some("ann")).body;
        assert_eq!(ended(&elsewhere, "approved"), 1.0);
        assert_eq!(value(&elsewhere, "sayso_answer_seconds_count", &[&labels]), 2.0);
        assert!(!elsewhere.contains("status=\"201\""), "{elsewhere}");
        // What ends meanwhile is added, at both.
        let third = other.ask("coder", json!({"question": "Third?", "form": "verdict"}));
        space.run(Who::Human("ann"), &["approve", text(&third["handle"])]).ok();
        for one in [&server, &other] {
            assert_eq!(ended(&scrape(one, "", Some("ann")).body, "approved"), 2.0);
        }
    }
}

on_both! {
    fn whoever_waits_is_counted(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Which port?"}));
        let path = format!("/gates/{}?wait=30s", text(&gate["id"]));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| server.get("coder", &path).is(200));
            held(&server, 1);
            space.run(Who::Human("ann"), &["respond", text(&gate["handle"]), "80"]).ok();
            waiter.join().unwrap();
        });
    }
}

on_both! {
    /// Nothing is open by accident, on loopback either.
    fn who_may_read_it(space: &Space) {
        let server = Server::of(space);
        scrape(&server, "", None).refused(401, "SAY028");
        let unknown = server.request("GET", "/metrics", Some("sayso_h_unknown"), None);
        server.raw(&unknown).refused(401, "SAY028");
        scrape(&server, "", Some("coder")).refused(403, "SAY037");
        scrape(&server, "?space=nobodys", Some("ann")).refused(401, "SAY028");
        scrape(&server, "?space=..%2f", Some("ann")).refused(400, "SAY038");
        scrape(&server, "?sapce=x", Some("ann")).refused(400, "SAY038");
        let file = space.token("screen");
        let make = ["token", "create", "--role", "human", "--name", "screen", "--scope", "read", "--out"];
        let make: Vec<_> = make.into_iter().chain([file.to_str().unwrap()]).collect();
        space.run(Who::Terminal, &make).ok();
        let mut server = server;
        server.learn(space);
        assert_eq!(scrape(&server, "", Some("screen")).status, 200);
    }
}

on_both! {
    /// What people are to be told and are not.
    fn what_could_not_be_sent(space: &Space) {
        let settings = space.path().join(".sayso/config.yaml");
        let text = std::fs::read_to_string(&settings).unwrap();
        assert!(text.contains("\nnotify: {}\n"));
        let bell = "\nnotify:\n  bell: {command: [\"false\"]}\n";
        std::fs::write(&settings, text.replace("\nnotify: {}\n", bell)).unwrap();
        space.trust();
        let server = Server::of(space);
        let bell = ["channel=\"bell\""];
        assert!(!scrape(&server, "", Some("ann")).body.contains("channel=\"bell\""));
        server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        let began = Instant::now();
        loop {
            let page = scrape(&server, "", Some("ann")).body;
            if page.contains("sayso_notices_failing{") && value(&page, "sayso_notices_failing", &bell) > 0.0 {
                assert_eq!(value(&page, "sayso_notices_pending", &bell), 1.0);
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{page}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
