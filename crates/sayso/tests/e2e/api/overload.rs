//! A server that is abused and flooded: half requests, idle connections, answers that are not read, more than it can do.
//! People go on answering meanwhile.

use super::{Reply, Server, text};
use crate::harness::{Backend, Space, Who};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a connection may wait for the rest of a request, with some room for a busy machine.
const CLOSED_WITHIN: Duration = Duration::from_secs(40);

/// The longest a person may wait while others do their worst.
const PERSON_MAX: Duration = Duration::from_secs(3);

/// A server whose log is in a file.
fn logged(space: &Space, more: &[&str]) -> (Server, PathBuf) {
    let log = space.path().join("serve.log");
    let args = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
    let mut command = space.command(Who::Script, &args);
    let server = Server::run(space, command.stderr(std::fs::File::create(&log).unwrap()));
    (server, log)
}

#[track_caller]
fn says(log: &Path, words: &str) {
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains(words), "no {words:?} in: {said}");
}

/// The head of a request with a body, which is not sent.
fn half_body(server: &Server, secret: Option<&str>) -> Vec<u8> {
    let path = format!("/v1/spaces/{}/gates", server.space);
    let whole = server.request("POST", &path, secret, Some(br#"{"question": "Half?"}"#));
    whole[..whole.len() - 8].to_vec()
}

/// Asks what a person asks all the time, and says how long it took.
#[track_caller]
fn person_looks(server: &Server) -> Duration {
    let began = Instant::now();
    server.get("ann", "/gates?limit=5").is(200);
    began.elapsed()
}

/// Reads until the server hangs up. How long that took, and what it said.
fn until_closed(mut stream: TcpStream, began: Instant) -> (Duration, String) {
    let mut said = vec![];
    let _ = stream.read_to_end(&mut said);
    (began.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_request_that_stops_half_way_is_given_up() {
    let space = Space::new(Backend::Sqlite);
    let (server, log) = logged(&space, &[]);
    let agent = server.secret("coder").to_owned();
    let known = half_body(&server, Some(&agent));
    let login = format!(
        "POST /session/{}/ HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{{",
        server.space, server.address
    )
    .replace("/ HTTP", " HTTP");
    let known_agent = server.request("GET", "/health/live", Some(&agent), None);
    let kept = String::from_utf8(known_agent).unwrap().replace("connection: close\r\n", "");
    let halves: [(&str, Vec<u8>, &str); 5] = [
        ("nothing behind a whole request", kept.into_bytes(), "200 OK"),
        ("nothing", vec![], ""),
        ("half a head", b"GET /v1/spaces/x/gates HTTP/1.1\r\nhost: 127.0.0.1\r\n".to_vec(), ""),
        ("half a body", known, "SAY076"),
        ("half a login", login.into_bytes(), "SAY076"),
    ];
    let began = Instant::now();
    let count = std::thread::scope(|scope| {
        let all: Vec<_> = halves
            .iter()
            .map(|(what, bytes, answer)| {
                let mut stream = server.connect();
                stream.write_all(bytes).unwrap();
                scope.spawn(move || {
                    let (took, said) = until_closed(stream, began);
                    assert!(took >= Duration::from_secs(5), "{what}: after {took:?}");
                    assert!(took < CLOSED_WITHIN, "{what}: after {took:?}");
                    assert_eq!(said.is_empty(), answer.is_empty(), "{what}: {said}");
                    assert!(said.contains(answer), "{what}: {said}");
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).count()
    });
    assert_eq!(count, 5);
    says(&log, "no whole request in time");
    assert!(person_looks(&server) < PERSON_MAX);
}

#[test]
fn a_wrong_credential_is_refused_before_its_body_is_read() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    for secret in [None, Some("sayso_a_0000000000000000000000000000000000000000000")] {
        let began = Instant::now();
        let mut stream = server.connect();
        stream.write_all(&half_body(&server, secret)).unwrap();
        let (took, said) = until_closed(stream, began);
        assert!(said.starts_with("HTTP/1.1 401"), "{said}");
        assert!(said.contains("SAY028") && said.contains("connection: close"), "{said}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    // One that announces more than is taken is refused before it sends it.
    let path = format!("/v1/spaces/{}/gates", server.space);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 3000000\r\n\r\n",
        server.address,
        server.secret("coder")
    );
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let (_, said) = until_closed(stream, Instant::now());
    assert!(said.starts_with("HTTP/1.1 413") && said.contains("SAY015"), "{said}");
}

#[test]
fn half_requests_keep_no_person_out() {
    let space = Space::new(Backend::Sqlite);
    let (server, log) = logged(&space, &[]);
    let agent = server.secret("coder").to_owned();
    let halves = [half_body(&server, Some(&agent)), b"GET / HTTP/1.1\r\n".to_vec(), vec![]];
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (count, slowest) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            // As many as may be held here; the oldest are let go.
            let (mut held, mut count) = (std::collections::VecDeque::new(), 0);
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let mut stream = TcpStream::connect(&server.address).unwrap();
                let _ = stream.write_all(&halves[count % halves.len()]);
                held.push_back(stream);
                count += 1;
                if held.len() > 700 {
                    held.pop_front();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            count
        });
        std::thread::sleep(Duration::from_secs(2));
        let mut slowest = Duration::ZERO;
        for _ in 0..30 {
            slowest = slowest.max(person_looks(&server));
            std::thread::sleep(Duration::from_millis(50));
        }
        let gate = server.ask("coder", json!({"question": "Ship?", "form": "verdict"}));
        server.answer("ann", &gate, json!({"verdict": "approved"})).is(200);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        (attacker.join().unwrap(), slowest)
    });
    assert!(count > 700, "{count} half requests came");
    assert!(slowest < PERSON_MAX, "{slowest:?} with {count} half requests");
    says(&log, "no whole request when many others came");
}

#[test]
fn without_a_free_file_handle_it_says_so_and_serves() {
    let space = Space::new(Backend::Sqlite);
    let log = space.path().join("serve.log");
    let plain = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 120; exec \"$@\"", "sh"]).arg(plain.get_program());
    command.args(plain.get_args()).current_dir(space.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = Server::run(&space, command.stderr(std::fs::File::create(&log).unwrap()));
    let held: Vec<_> = (0..300).map(|_| TcpStream::connect(&server.address)).collect();
    assert!(held.iter().all(Result::is_ok), "the system takes them in");
    for _ in 0..5 {
        assert!(person_looks(&server) < PERSON_MAX);
    }
    says(&log, "connections closed: no whole request when many others came");
    drop(held);
    // Those who have shown who they are take all there is, and stay: one more is refused, and the log says so.
    let gate = server.ask("coder", json!({"question": "Ship?"}));
    let path = format!("/v1/spaces/{}/gates/{}?wait=60s", server.space, text(&gate["id"]));
    let wait = server.request("GET", &path, Some(server.secret("coder")), None);
    let waiting: Vec<_> = (0..80)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let _ = stream.write_all(&wait);
            std::thread::sleep(Duration::from_millis(5));
            stream
        })
        .collect();
    assert!(person_looks(&server) < PERSON_MAX, "a quarter is kept for people");
    says(&log, "connections refused");
    drop(waiting);
    assert!(server.stop());
}

/// The resident memory of a process, in MB.
fn memory_mb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn long_texts_are_left_out_of_lists_and_unread_answers_are_given_up() {
    let space = Space::new(Backend::Sqlite);
    let (server, log) = logged(&space, &[]);
    let long = "x".repeat(100_000);
    let mut last = json!(null);
    for number in 0..200 {
        let body = json!({"title": format!("Task {number}"), "description": long});
        last = server.post("coder", "/tasks", body).is(201);
    }
    let page = server.get("ann", "/tasks?limit=200");
    assert!(page.body.len() < 1_100_000, "{} bytes", page.body.len());
    let (mut seen, mut after) = (0, String::new());
    loop {
        let page = server.get("ann", &format!("/tasks?limit=200{after}")).is(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|task| text(&task["description"]).len() < 1_100));
        assert!(items.iter().all(|task| task["shortened"] == json!(["description"])));
        seen += items.len();
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, 200, "page after page, all of them");
    let whole = server.get("ann", &format!("/tasks/{}", text(&last["id"]))).is(200);
    assert_eq!(text(&whole["description"]).len(), long.len());
    assert!(whole.get("shortened").is_none(), "{}", whole["shortened"]);

    // 64 connections ask again and again, and read nothing.
    let path = format!("/v1/spaces/{}/tasks?limit=200", server.space);
    let request = server.request("GET", &path, Some(server.secret("ann")), None);
    let request = String::from_utf8(request).unwrap().replace("connection: close\r\n", "");
    let asks = request.repeat(2_000);
    let mut unread: Vec<_> = (0..64)
        .map(|_| {
            let mut stream = server.connect();
            stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
            let _ = stream.write_all(asks.as_bytes());
            stream
        })
        .collect();
    let began = Instant::now();
    let mut most = 0;
    while began.elapsed() < Duration::from_secs(5) {
        most = most.max(memory_mb(&server));
        assert!(person_looks(&server) < PERSON_MAX);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(most < 500, "{most} MB");
    while !std::fs::read_to_string(&log).unwrap().contains("the answer was not taken in time") {
        assert!(began.elapsed() < CLOSED_WITHIN, "nothing was given up");
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut rest = vec![];
    let _ = unread.pop().unwrap().read_to_end(&mut rest);
}

#[test]
fn asks_are_shed_where_they_pile_up_and_people_are_served() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    let gate = server.ask("tester", json!({"question": "Ship?", "form": "verdict"}));
    assert!(person_looks(&server) < PERSON_MAX);
    let path = format!("/v1/spaces/{}/gates", server.space);
    let request = server.request(
        "POST",
        &path,
        Some(server.secret("coder")),
        Some(br#"{"question": "More?"}"#),
    );
    // Nothing can be written while another process holds the file: what is asked piles up.
    let mut holder = rusqlite::Connection::open(space.file()).unwrap();
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let asks: Vec<_> = (0..500)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(&request).unwrap();
            stream
        })
        .collect();
    for _ in 0..10 {
        assert!(person_looks(&server) < PERSON_MAX);
    }
    let answers = std::thread::scope(|scope| {
        let answer =
            scope.spawn(|| server.answer("ann", &gate, json!({"verdict": "approved"})).is(200));
        std::thread::sleep(Duration::from_secs(1));
        drop(held);
        let began = Instant::now();
        let answered = answer.join().unwrap();
        assert!(began.elapsed() < PERSON_MAX, "the answer goes ahead of what piled up");
        assert_eq!(answered["verdict"], "approved");
        let read = |mut stream: TcpStream| {
            let mut all = vec![];
            stream.read_to_end(&mut all).unwrap();
            Reply::read(&all).unwrap()
        };
        asks.into_iter().map(read).collect::<Vec<_>>()
    });
    let shed: Vec<_> = answers.iter().filter(|reply| reply.status == 503).collect();
    for reply in &shed {
        reply.refused(503, "SAY074");
        assert_eq!(reply.headers["retry-after"], "1");
    }
    let taken = answers.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(taken + shed.len(), 500, "nothing else came of any");
    assert!(taken >= 200 && shed.len() >= 100, "{taken} taken, {} shed", shed.len());
    space.verify();
}

#[test]
fn an_agent_writes_at_a_pace_and_people_at_their_own() {
    let space = Space::new(Backend::Sqlite);
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("SAYSO_WRITES_PER_MINUTE", "30").stderr(Stdio::inherit());
    let server = Server::run(&space, &mut command);
    let task = server.post("ann", "/tasks", json!({"title": "Write"})).is(201);
    let note = format!("/tasks/{}/notes", text(&task["id"]));
    let writes = |who: &str, words: &str, count: usize| -> Vec<Reply> {
        (0..count).map(|_| server.post(who, &note, json!({"text": words}))).collect()
    };
    let replies = writes("coder", "short", 40);
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!((5..=12).contains(&refused.len()), "{} of 40 refused", refused.len());
    for reply in &refused {
        let problem = reply.refused(429, "SAY075");
        assert!(text(&problem["detail"]).contains("agent coder writes more than 30"), "{problem}");
        assert!(reply.headers["retry-after"].parse::<u32>().unwrap() >= 1);
    }
    // A long text counts as several, for each agent by itself.
    let long = "x".repeat(100_000);
    let replies = writes("tester", &long, 10);
    let taken = replies.iter().filter(|reply| reply.status == 200).count();
    assert!((2..=5).contains(&taken), "{taken} long ones taken");
    assert!(writes("ann", "a person", 60).iter().all(|reply| reply.status == 200));
    // What is refused does not fill the log either.
    let before = space.audit().len();
    let answer = json!({"verdict": "approved", "digest": "x"});
    let gate = server.ask("ann", json!({"question": "May I?"}));
    let path = format!("/gates/{}/answer", text(&gate["id"]));
    for _ in 0..60 {
        let reply = server.post("coder", &path, answer.clone());
        assert!([404, 429].contains(&reply.status), "{reply:?}");
    }
    assert!(space.audit().len() < before + 20, "{} entries more", space.audit().len() - before);
    space.verify();
}

#[test]
fn an_agent_does_not_make_one_task_too_long_to_be_looked_at() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    let task = server.post("coder", "/tasks", json!({"title": "Write"})).is(201);
    let note = format!("/tasks/{}/notes", text(&task["id"]));
    let long = "x".repeat(250_000);
    let replies: Vec<_> =
        (0..20).map(|_| server.post("coder", &note, json!({"text": long}))).collect();
    let taken = replies.iter().take_while(|reply| reply.status == 200).count();
    assert_eq!(taken, 16, "four mebibytes of it");
    for reply in &replies[taken..] {
        reply.refused(413, "SAY015");
    }
    // A person still writes there, and the agent says in short what it has done.
    server.post("ann", &note, json!({"text": long})).is(200);
    server.post("coder", &note, json!({"text": "see notes.md"})).is(200);
    // The same holds for the cards of a question.
    let gate = server.ask("coder", json!({"question": "Ship?"}));
    let path = format!("/gates/{}/revise", text(&gate["id"]));
    let revise = |number: usize| {
        let body = json!({"question": format!("Ship {number}?"), "context": long});
        server.post("coder", &path, body).status
    };
    let statuses: Vec<_> = (0..20).map(revise).collect();
    assert!(statuses.contains(&200) && statuses.ends_with(&[413, 413]), "{statuses:?}");
    space.verify();
}

/// A request of the protocol of agents in an older revision, which has conversations.
fn in_conversation(server: &Server, agent: &str, session: Option<&str>) -> Reply {
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let body = match session {
        None => json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        Some(_) => json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    };
    let path = format!("/mcp/{}", server.space);
    let body = body.to_string();
    let whole = server.request("POST", &path, Some(server.secret(agent)), Some(body.as_bytes()));
    let whole = String::from_utf8(whole).unwrap();
    let mut more = "accept: application/json, text/event-stream\r\n".to_owned();
    if let Some(session) = session {
        more.push_str(&format!("mcp-session-id: {session}\r\n"));
    }
    server.raw(whole.replacen("host:", &format!("{more}host:"), 1).as_bytes())
}

#[test]
fn one_agent_does_not_fill_a_server_with_conversations() {
    let space = Space::new(Backend::Sqlite);
    let (server, _) = logged(&space, &["--writes-per-minute", "100000"]);
    let id = |reply: &Reply| reply.headers["mcp-session-id"].clone();
    let testers = id(&in_conversation(&server, "tester", None));
    let first = id(&in_conversation(&server, "coder", None));
    assert_eq!(in_conversation(&server, "coder", Some(&first)).status, 202);
    let before = memory_mb(&server);
    let mut last = String::new();
    for _ in 0..2_000 {
        let reply = in_conversation(&server, "coder", None);
        assert_eq!(reply.status, 200, "{reply:?}");
        last = id(&reply);
    }
    let after = memory_mb(&server);
    assert!(after < before + 50, "{before} MB, and then {after} MB");
    assert_eq!(in_conversation(&server, "coder", Some(&first)).status, 404);
    assert_eq!(in_conversation(&server, "coder", Some(&last)).status, 202);
    assert_eq!(in_conversation(&server, "tester", Some(&testers)).status, 202);
    assert!(person_looks(&server) < PERSON_MAX);
}

#[test]
fn a_conversation_counts_as_a_write() {
    let space = Space::new(Backend::Sqlite);
    let (server, _) = logged(&space, &["--writes-per-minute", "30"]);
    let replies: Vec<_> = (0..60).map(|_| in_conversation(&server, "coder", None)).collect();
    let taken = replies.iter().filter(|reply| reply.status == 200).count();
    assert!((30..45).contains(&taken), "{taken}");
    replies.last().unwrap().refused(429, "SAY075");
    assert_eq!(in_conversation(&server, "tester", None).status, 200);
}

/// Without a server, too: each command is a process, and the log is what they share.
#[test]
fn embedded_an_agent_asks_at_a_pace() {
    let space = Space::new(Backend::Sqlite);
    let run = |who: Who<'_>, args: &[&str]| {
        let mut command = space.command(who, args);
        command.env_remove("SAYSO_ASKS_PER_MINUTE").env_remove("SAYSO_WRITES_PER_MINUTE");
        space.finish(&mut command)
    };
    let began = Instant::now();
    let mut taken = 0;
    let refused = loop {
        let ran = run(Who::Agent("coder"), &["ask", &format!("Question {taken}?")]);
        if ran.code != 0 {
            break ran;
        }
        taken += 1;
        assert!(taken <= 400, "an agent may ask as fast as it likes");
        if began.elapsed() > Duration::from_secs(55) {
            // Too slow a machine for more than there may be in a minute.
            return assert!(taken < 125, "{taken}");
        }
    };
    refused.exits(5).refused("SAY057").says("more than 120 questions a minute");
    assert_eq!(taken, 120);
    run(Who::Agent("tester"), &["ask", "Another agent?"]).ok();
    run(Who::Human("ann"), &["ask", "A person?"]).ok();
    space.verify();
}
