//! The log: a line for each request, and in no form a secret, a path somebody typed, or a character that moves a
//! terminal.

use super::{Server, text};
use crate::harness::{Backend, Space, Who};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What nobody may find in a log.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]52;c;eA==\u{7}\r\nFAKE approved by ann \u{202e}\u{9b}31m";

/// Everything a server wrote on the side while it was driven with this.
fn driven(form: &str) -> (String, Vec<String>) {
    let space = Space::new(Backend::Sqlite);
    let log = space.path().join("log");
    let hook = space.path().join(".sayso/config.yaml");
    let settings = std::fs::read_to_string(&hook).unwrap();
    let bell = "notify:\n  bell: {command: [sh, -c, \"printf 'no \\\\033[2J bell'; exit 3\"]}\n";
    assert!(settings.contains("notify: {}\n"));
    std::fs::write(&hook, settings.replace("notify: {}\n", bell)).unwrap();
    space.trust();
    let mut command =
        space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0", "--log", form]);
    command.env("SAYSO_LOG", "debug").stderr(std::fs::File::create(&log).unwrap());
    let server = Server::run(&space, &mut command);

    let gate = server.ask("coder", json!({"question": HOSTILE, "form": "verdict"}));
    // The channel fails, and that is told, too. Once it is answered, nobody needs to hear of it.
    let began = Instant::now();
    while !std::fs::read_to_string(&log).unwrap().contains("a notice was not sent") {
        assert!(began.elapsed() < Duration::from_secs(20), "the courier said nothing");
        std::thread::sleep(Duration::from_millis(100));
    }
    server.answer("ann", &gate, json!({"verdict": "approved", "reason": HOSTILE})).is(200);
    server.get("coder", "/gates/secret-in-the-path?limit=secret-in-the-query").is(400);
    let raw = |head: &str| {
        let head = format!("{head}\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
        server.raw(head.as_bytes())
    };
    raw("GET /nothing/secret-in-the-path%1b%5b2J?token=secret-in-the-query HTTP/1.1");
    raw("BREW /v1/openapi.json HTTP/1.1");
    raw(
        "GET /health/ready HTTP/1.1\r\ntraceparent: 00-secret-in-a-header-01\r\nuser-agent: secret-agent",
    );
    let wrong = "sayso_h_wrong-secret-of-somebody";
    server.raw(&server.request("GET", "/metrics", Some(wrong), None)).refused(401, "SAY028");
    let people = json!({"with": ["nobody", "secret-passphrase"]}).to_string();
    let path = format!("/line/{}/log_in", server.space);
    server.raw(&server.request("POST", &path, None, Some(people.as_bytes())));
    let code = json!({"with": ["SECR-ETCO-DEXX-0000", "eve", "secret-passphrase"]}).to_string();
    let path = format!("/line/{}/join", server.space);
    server.raw(&server.request("POST", &path, None, Some(code.as_bytes())));

    let secrets = ["ann", "coder"].map(|name| server.secret(name).to_owned());
    let first = server.space.clone();
    assert!(server.stop());
    let mut never: Vec<String> = secrets.into();
    never.extend(
        ["secret-in", "secret-agent", "wrong-secret", "secret-passphrase", "SECR-ETCO"]
            .map(Into::into),
    );
    never.extend(["FAKE".to_owned(), format!("/line/{first}"), format!("/v1/spaces/{first}")]);
    (std::fs::read_to_string(&log).unwrap(), never)
}

fn check_is_harmless(log: &str, never: &[String]) {
    for secret in never {
        assert!(!log.contains(secret.as_str()), "{secret} is in the log:\n{log}");
    }
    let moves = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!log.contains(moves), "{log:?}");
}

#[test]
fn plain() {
    let (log, never) = driven("plain");
    check_is_harmless(&log, &never);
    let asked = log.lines().find(|line| line.contains("/v1/spaces/{space}/gates\"")).unwrap();
    for part in ["INFO", "request", "POST", "status=201", "ms=", "agent coder", "request=\""] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    for part in ["serving", "told to end", "ended", "a notice was not sent", "status=401", "nobody"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn json() {
    let (log, never) = driven("json");
    check_is_harmless(&log, &never);
    let begin = log.find('{').unwrap();
    let lines: Vec<Value> =
        log[begin..].lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<_> = lines.iter().filter(|line| line["message"] == "request").collect();
    assert!(requests.len() >= 8, "{log}");
    for line in &requests {
        assert!(line["ms"].is_u64() && line["status"].is_u64(), "{line}");
        assert_eq!(text(&line["request"]).len(), 16, "{line}");
        assert!(["GET", "POST", "OTHER"].contains(&text(&line["method"])), "{line}");
    }
    let by = |route: &str| requests.iter().find(|line| line["route"] == route).unwrap();
    assert_eq!(by("/v1/spaces/{space}/gates")["actor"], "agent coder");
    assert_eq!(by("/v1/spaces/{space}/gates/{gate}/answer")["actor"], "human ann");
    assert_eq!(by("/line/{space}/{call}")["actor"], "nobody");
    assert_eq!(by("none")["status"], 404);
}

/// Without a form it says what goes wrong, and nothing of what goes well.
#[test]
fn quiet() {
    let space = Space::new(Backend::Sqlite);
    let log = space.path().join("log");
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::run(&space, &mut command);
    let reply = server.get("ann", "/gates");
    assert_eq!(reply.headers["x-request-id"].len(), 16);
    assert!(server.stop());
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains("request") && !said.contains("INFO"), "{said}");
    let loud = space.run(Who::With(&[("SAYSO_LOG", "loud")]), &["serve"]);
    loud.refused("SAY038").says("off, error, warn, info or debug").exits(2);
}
