//! Traces: a real collector's end of the line, played by the test.

use super::{Server, text};
use crate::harness::{Backend, Space, Who};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// Takes what is posted, and says where it listens.
fn collector() -> (String, Receiver<(String, Value)>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
            }
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            let mut body = vec![0; length.unwrap()];
            reader.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            if sender.send((head, serde_json::from_slice(&body).unwrap())).is_err() {
                return;
            }
        }
    });
    (address, posted)
}

fn spans(body: &Value) -> Vec<Value> {
    let scopes = body["resourceSpans"][0]["scopeSpans"].as_array().unwrap();
    scopes.iter().flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
}

#[test]
fn a_request_is_a_span_of_its_callers_trace() {
    let (collector, posted) = collector();
    let space = Space::new(Backend::Sqlite);
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"));
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=collector-key").stderr(Stdio::inherit());
    let server = Server::run(&space, &mut command);
    let body = json!({"question": "Ship it, secret-question?", "form": "verdict"}).to_string();
    let path = format!("/v1/spaces/{}/gates", server.space);
    let request =
        server.request("POST", &path, Some(server.secret("coder")), Some(body.as_bytes()));
    let with = |flags: &str| {
        let parent = format!("\r\ntraceparent: 00-{TRACE}-{SPAN}-{flags}\r\n");
        String::from_utf8(request.clone()).unwrap().replacen("\r\n", &parent, 1).into_bytes()
    };
    let reply = server.raw(&with("01"));
    let gate = reply.is(201);
    // Whoever began this one does not keep it.
    server.raw(&with("00"));
    server.get("ann", "/gates").is(200);

    // A command hands on the trace it was started in.
    let store = format!("http://{}", server.address);
    let mut command = space.command(Who::Human("ann"), &["--store", &store, "inbox"]);
    let parent = format!("00-{}-{SPAN}-01", "7".repeat(32));
    command.env("TRACEPARENT", parent).env("SAYSO_SPACE", &server.space);
    space.finish(&mut command).ok();

    let (mut all, mut heads) = (vec![], vec![]);
    let is_inbox = |span: &Value| span["name"] == "POST /line/{space}/inbox";
    while !all.iter().any(is_inbox) {
        let (head, body) = posted.recv_timeout(Duration::from_secs(20)).unwrap();
        let service = &body["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(service["value"]["stringValue"], "sayso");
        all.extend(spans(&body));
        heads.push(head);
    }
    assert!(heads[0].starts_with("POST /v1/traces HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].to_lowercase().contains("x-key: collector-key"), "{}", heads[0]);
    let of = |trace: &str| all.iter().filter(|span| span["traceId"] == trace).collect::<Vec<_>>();
    let ours = of(TRACE);
    assert_eq!(ours.len(), 1, "{all:?}");
    assert_eq!(ours[0]["parentSpanId"], SPAN);
    assert_eq!(ours[0]["name"], "POST /v1/spaces/{space}/gates");
    assert_eq!(ours[0]["spanId"].as_str().unwrap(), reply.headers["x-request-id"]);
    assert_eq!(attribute(ours[0], "sayso.gate")["stringValue"], text(&gate["id"]));
    assert_eq!(attribute(ours[0], "sayso.actor")["stringValue"], "agent coder");
    assert_eq!(attribute(ours[0], "http.response.status_code")["intValue"], "201");
    let command = of(&"7".repeat(32));
    assert!(command.iter().any(|span| is_inbox(span) && span["parentSpanId"] == SPAN), "{all:?}");
    let own = all.iter().find(|span| span["parentSpanId"] == "").unwrap();
    assert_eq!(
        (&own["name"], text(&own["traceId"]).len()),
        (&json!("GET /v1/spaces/{space}/gates"), 32)
    );
    let said = Value::from(all).to_string();
    for secret in ["secret-question", server.secret("coder"), server.secret("ann"), &server.space] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

/// A collector that is not there holds up nothing, and is told once.
#[test]
fn a_collector_that_is_gone_is_told_and_no_more() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let space = Space::new(Backend::Sqlite);
    let log = space.path().join("log");
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{gone}"));
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::run(&space, &mut command);
    for _ in 0..3 {
        server.get("ann", "/gates").is(200);
        std::thread::sleep(Duration::from_millis(1_300));
    }
    assert!(server.stop());
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said.matches("did not take spans").count(), 1, "{said}");
    let wrong = [("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")];
    space.run(Who::With(&wrong), &["serve"]).refused("SAY032").says("4318").exits(2);
}
