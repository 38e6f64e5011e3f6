//! More open gates than are read at once: none of them vanishes from a list, and the many of one agent stand behind
//! the few of others.

use super::Terminal;
use crate::api::{Server, text};
use crate::harness::{Backend, Space, Who};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};

/// One more than are read at once, and some.
const MANY: usize = 10_050;

/// How many connections ask.
const CONNECTIONS: usize = 8;

/// Asks many questions as one agent.
fn flood(server: &Server, agent: &str) {
    let path = format!("/v1/spaces/{}/gates", server.space);
    let asked: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..CONNECTIONS)
            .map(|part| {
                let path = &path;
                scope.spawn(move || {
                    let mut stream = server.connect();
                    let numbers = (part..MANY).step_by(CONNECTIONS);
                    let ask = |number| {
                        let body = json!({"question": format!("Number {number}?")}).to_string();
                        let secret = Some(server.secret(agent));
                        let request = server.request("POST", path, secret, Some(body.as_bytes()));
                        let request = String::from_utf8(request).unwrap();
                        stream
                            .write_all(request.replace("connection: close\r\n", "").as_bytes())
                            .unwrap();
                        assert!(response(&mut stream).starts_with("HTTP/1.1 201"));
                    };
                    numbers.map(ask).count()
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(asked, MANY);
}

/// Reads one response of a connection that stays.
fn response(stream: &mut std::net::TcpStream) -> String {
    let (mut seen, mut buffer) = (String::new(), [0; 8_192]);
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = seen.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_some_and(|length| body.len() >= length.trim().parse().unwrap()) {
            return seen;
        }
    }
}

/// The handles of a list, page after page.
fn all_pages(first: &str, page: impl Fn(&str) -> Value) -> Vec<String> {
    let (mut all, mut after) = (vec![], first.to_owned());
    loop {
        let page = page(&after);
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty(), "an empty page behind {} others", all.len());
        all.extend(items.iter().map(|item| text(&item["handle"]).to_owned()));
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return all,
        }
    }
}

#[test]
fn above_ten_thousand_open_gates_none_vanishes() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::of(&space);
    flood(&server, "coder");
    let calm = server.ask("tester", json!({"question": "Is anybody there?"}));
    let calm = text(&calm["handle"]).to_owned();

    // The newest of all is on the first page of every list.
    let first = server.get("ann", "/inbox").is(200);
    let handles: Vec<_> =
        first["items"].as_array().unwrap().iter().map(|it| text(&it["handle"])).collect();
    assert_eq!(
        handles.iter().position(|handle| *handle == calm),
        Some(20),
        "behind the first of the other"
    );
    space.ann(&["inbox", "--plain"]).says("Is anybody there?").says("there are more").ok();
    let terminal = Terminal::open(&space);
    terminal.looks_at(handles[0]);
    terminal.press(&["j"; 20]);
    terminal.shows("Is anybody there?");
    drop(terminal);
    let page = format!("/s/{}/inbox?view=all", server.space);
    let page = server.raw(&server.request("GET", &page, Some(server.secret("ann")), None));
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Is anybody there?"), "{}", page.body);
    assert!(page.body.contains(&format!("{} more", MANY - 20)), "it says how many are left out");

    // Page after page there is all of it, each once.
    let over_http = |after: &str| {
        let after = if after.is_empty() { String::new() } else { format!("&after={after}") };
        server.get("ann", &format!("/inbox?limit=200{after}")).is(200)
    };
    let all = all_pages("", over_http);
    assert_eq!(all.len(), MANY + 1);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), MANY + 1);
    // On the command line, behind one of the last of the first block.
    let plain =
        |after: &str| space.ann(&["inbox", "--json", "--limit", "150", "--after", after]).json();
    let rest = all_pages(&all[9_900], plain);
    assert_eq!(rest, all[9_901..]);
    // The agent itself sees all of its own.
    let own = |after: &str| {
        let after = if after.is_empty() { String::new() } else { format!("&after={after}") };
        server.get("coder", &format!("/gates?limit=200{after}")).is(200)
    };
    assert_eq!(all_pages("", own).len(), MANY);
    space.run(Who::Agent("tester"), &["inbox", "--plain"]).says("Is anybody there?").ok();
}
