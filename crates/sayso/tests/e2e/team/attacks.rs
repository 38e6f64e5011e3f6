//! What strangers try at a server.

use super::{Team, for_teams};
use crate::harness::{Backend, SAYSO, Who};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

/// A request as it is, and everything that comes back.
fn raw(team: &Team, request: &str) -> String {
    let address = team.server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.replace("ADDRESS", address).as_bytes()).unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}

for_teams! {
    /// A page of another site gets nothing done, by whatever name it reaches us.
    fn pages_of_others(team: &Team) {
        let ann = team.first("ann");
        let gate = ann.run(Who::Script, &["ask", "Ship it?", "--verdict"]).ok();
        let post = |headers: &str| {
            let line = format!("POST /line/{}/answer HTTP/1.1\r\n{headers}", team.name);
            raw(team, &format!("{line}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"))
        };
        let json = "Content-Type: application/json\r\n";
        for (headers, status) in [
            (format!("Host: evil.example\r\n{json}"), "403"),
            (format!("Host: ADDRESS\r\nOrigin: http://evil.example\r\n{json}"), "403"),
            (format!("Host: ADDRESS\r\nSec-Fetch-Site: cross-site\r\n{json}"), "403"),
            ("Host: ADDRESS\r\nContent-Type: text/plain\r\n".to_owned(), "415"),
            ("Host: ADDRESS\r\nContent-Type: application/x-www-form-urlencoded\r\n".to_owned(), "415"),
            // Nothing wrong with it, but nobody.
            (format!("Host: ADDRESS\r\n{json}"), "401"),
        ] {
            let said = post(&headers);
            assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {said}");
            assert!(said.contains("application/problem+json") && said.contains("SAY0"), "{said}");
            assert!(said.contains("\"hint\""), "{said}");
            assert!(said.to_lowercase().contains("x-frame-options: deny"), "{said}");
            assert!(!said.to_lowercase().contains("access-control-allow"), "{said}");
        }
        assert_eq!(ann.run(Who::Script, &["show", &gate, "--json"]).json()["state"], "open");
    }
}

for_teams! {
    /// The credential of an agent does what an agent may, whatever it claims to be.
    fn claims(team: &Team) {
        let ann = team.first("ann");
        let file = ann.path().join("coder.token");
        let make = ["token", "create", "--role", "agent", "--name", "coder", "--out", file.to_str().unwrap()];
        ann.run(Who::Terminal, &make).ok();
        let secret = std::fs::read_to_string(&file).unwrap();
        let gate = ann.run(Who::Holder(&file), &["ask", "May I?", "--verdict", "--json"]).json();
        let (id, digest) = (gate["id"].as_str().unwrap(), gate["digest"].as_str().unwrap());
        let call = |claim: &str, call: &str, with: &str| {
            let body = format!(r#"{{"claim":{claim},"with":{with}}}"#);
            raw(team, &format!(
                "POST /line/{}/{call} HTTP/1.1\r\nHost: ADDRESS\r\nContent-Type: application/json\r\n\
                 Authorization: Bearer {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                team.name, secret.trim(), body.len()
            ))
        };
        let who = |role: &str, name: &str| {
            format!(r#"{{"role":"{role}","name":"{name}","proof":"presence","level":"S4","door":"cli"}}"#)
        };
        let yes = format!(r#"["{id}",{{"verdict":"approved","content":"none"}},"{digest}"]"#);
        for (claim, deed, with, says) in [
            ("null".to_owned(), "answer", yes.as_str(), "SAY010"),
            (who("agent", "coder"), "answer", yes.as_str(), "SAY010"),
            (who("human", "ann"), "answer", yes.as_str(), "SAY037"),
            (who("human", "coder"), "answer", yes.as_str(), "SAY037"),
            (who("service", "coder"), "ask", "[]", "SAY037"),
            (who("agent", "tester"), "undelivered", "[9]", "SAY037"),
            ("null".to_owned(), "mint", r#"[{"role":"human","name":"x"}]"#, "SAY037"),
            ("null".to_owned(), "set", "[[]]", "SAY010"),
            ("null".to_owned(), "settle_run", "[]", "SAY037"),
            ("null".to_owned(), "take_order", r#"["here","01ARZ3NDEKTSV4RRFFQ69G5FAV"]"#, "SAY037"),
            ("null".to_owned(), "drop_tables", "[]", "SAY001"),
            ("null".to_owned(), "gate", r#"["../../etc"]"#, "SAY038"),
            ("null".to_owned(), "gate", "{", "SAY038"),
        ] {
            let said = call(&claim, deed, with);
            assert!(said.contains(says), "{deed} as {claim}: {said}");
        }
        let shown = ann.run(Who::Script, &["show", id, "--json"]).json();
        assert_eq!(shown["state"], "open");
        // What was tried is in the audit, as the agent's.
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json();
        let refused = audit.as_array().unwrap().iter().filter(|e| e["outcome"] == "refused");
        assert!(refused.filter(|entry| entry["actor"] == "coder").count() >= 8, "{audit}");
        ann.run(Who::Terminal, &["audit", "verify"]).ok();
    }
}

for_teams! {
    /// A server that is gone, hangs up, or is none allows nothing.
    fn no_server(team: &Team) {
        let ann = team.first("ann");
        let refused = |ran: crate::harness::Ran| ran.refused("SAY023").exits(9);
        let ask = |store: &str| ann.run(Who::Script, &["--store", store, "ask", "May I?", "--wait"]);
        // Nobody listens there.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let gone = format!("http://{free}");
        copy_login(&ann, team, &gone);
        refused(ask(&gone));
        // Somebody does, and is not us.
        for said in [
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\n<html",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue",
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "nonsense\r\n\r\n",
            "",
        ] {
            let liar = liar(said);
            copy_login(&ann, team, &liar);
            refused(ask(&liar));
        }
        // A hook that cannot ask denies.
        let call = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s"}"#;
        let hook = ["--store", &gone, "hook", "claude-code", "PreToolUse", "--hold", "0s"];
        let ran = ann.run_with_input(Who::Script, &hook, call).exits(2);
        assert!(ran.stderr.contains("sayso blocked this") && ran.stdout.is_empty(), "{ran:?}");
    }
}

/// Whoever has a login has one for another address, too.
fn copy_login(ann: &crate::harness::Space, team: &Team, server: &str) {
    let file = ann.path().join("copied");
    let login = std::fs::read_dir(ann.path().join("xdg/sayso/logins")).unwrap().next().unwrap();
    let kept = std::fs::read_to_string(login.unwrap().path()).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    std::fs::write(&file, kept["secret"].as_str().unwrap()).unwrap();
    let mut named = kept;
    named["server"] = server.into();
    // Under the name the program looks for: that of the server and the space.
    let name = sayso_core::Digest::of_bytes(format!("{server}\n{}", team.name).as_bytes());
    let name: String = name.as_str().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    std::fs::write(ann.path().join(format!("xdg/sayso/logins/{name}.json")), named.to_string())
        .unwrap();
}

/// Says the same to everybody who comes, until the test is over.
fn liar(said: &'static str) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in socket.incoming().take(20) {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(200)));
            let _ = stream.read(&mut [0; 65536]);
            let _ = stream.write_all(said.as_bytes());
        }
    });
    format!("http://{address}")
}

for_teams! {
    /// An agent that starts a server has no code from it and does not say how well it is guarded: it would be the
    /// first to look after the space, and answer its own questions.
    fn an_agent_starts_it(team: &Team) {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let marked = Who::With(&[("CLAUDECODE", "1")]);
        // By its environment; and where that is clean, by what is above it, with a terminal or without.
        let line = format!("env -u CLAUDECODE '{SAYSO}' serve --listen 127.0.0.1:0");
        let mut below = team.home.command(marked, &[]);
        let mut plain = Command::new("sh");
        plain.args(["-c", &format!("{line}; true")]);
        let mut fake = Command::new("script");
        fake.args(["-qec", &line, "/dev/null"]);
        for command in [&mut plain, &mut fake] {
            command.current_dir(team.home.path()).env_clear();
            command.envs(below.get_envs().filter_map(|(name, value)| Some((name, value?))));
        }
        below.args(serve);
        let mut looked_at = 0;
        for command in [&mut below, &mut plain, &mut fake] {
            let said = said_at_start(command);
            assert!(said.contains("an agent (claude-code) is at work here"), "{said}");
            assert!(said.contains("nobody looks after") && !said.contains("code="), "{said}");
            assert!(!said.contains("--code"), "{said}");
            looked_at += 1;
        }
        assert_eq!(looked_at, 3);
        team.home.run(marked, &["serve", "--listen", "127.0.0.1:0", "--level", "S2"])
            .refused("SAY010").exits(5).says("how well a store is guarded");
        team.home.run(marked, &["people", "invite", "eve", "--admin"]).refused("SAY010");
        team.home.run(marked, &["token", "create", "--role", "human", "--name", "eve"]).refused("SAY010");
        // Each attempt is in the audit as the agent's, and no code is.
        let audit = team.home.run(Who::Terminal, &["audit", "list", "--json"]).json();
        let entries = audit.as_array().unwrap();
        let of_agent = |e: &&serde_json::Value| e["actor"] == "claude-code" && e["outcome"] == "refused";
        assert_eq!(entries.iter().filter(of_agent).count(), 6, "{audit}");
        assert!(entries.iter().all(|entry| entry["action"] != "person.invited"), "{audit}");
    }
}

/// What a server says until it listens; then it is ended, with what is around it.
fn said_at_start(command: &mut Command) -> String {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.process_group(0).spawn().unwrap();
    // Nobody else holds the other end, so that the reading ends with the server.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut said, mut some) = (String::new(), [0; 1_024]);
    while !said.lines().any(|line| line.starts_with("http://127.0.0.1:")) {
        let count = reader.read(&mut some).unwrap();
        assert!(count > 0, "it ended: {said}");
        said += &String::from_utf8_lossy(&some[..count]);
    }
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.wait();
    said
}

/// A server that others could reach in the clear does not start.
#[test]
fn beyond_this_machine() {
    let team = Team::new(Backend::Sqlite);
    let serve = |args: &[&str]| {
        let all: Vec<_> = ["serve"].iter().chain(args).copied().collect();
        team.home.run(Who::Script, &all)
    };
    serve(&["--listen", "0.0.0.0:0"]).refused("SAY038").says("TLS").exits(2);
    serve(&["--listen", "[::]:0"]).refused("SAY038");
    // Where another listens it says so.
    let taken = team.server.url.strip_prefix("http://").unwrap();
    serve(&["--listen", taken]).exits(1).says(taken).says("something listens there already");
    // Nor does a program send a credential there.
    let machine = team.machine();
    for store in ["http://sayso.example", "http://10.0.0.1:7411", "http://127.0.0.1@evil.example"] {
        machine.run(Who::Script, &["--store", store, "list"]).refused("SAY038").exits(2);
    }
}

/// No credential is in what a process shows of itself.
#[test]
fn nothing_in_arguments_or_logs() {
    let team = Team::new(Backend::Sqlite);
    let ann = team.first("ann");
    ann.run(Who::Script, &["list"]).ok();
    raw(&team, "GET /?token=sayso_h_0123 HTTP/1.1\r\nHost: ADDRESS\r\nConnection: close\r\n\r\n");
    let said = team.server.said();
    assert!(!said.contains("sayso_h_") && !said.contains("correct horse"), "{said}");
    let listed = Command::new("ps").args(["axww", "-o", "args"]).output().unwrap().stdout;
    let listed = String::from_utf8_lossy(&listed);
    assert!(!listed.contains("sayso_h_") || !listed.contains(SAYSO), "{listed}");
}

for_teams! {
    /// An admin is one person: no credential of theirs is another's, so that two who must agree are two.
    fn one_admin_is_one_person(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        let out = ann.path().join("bob.token");
        let mint = ["token", "create", "--role", "human", "--name", "bob", "--out", out.to_str().unwrap()];
        ann.run(Who::Terminal, &mint).exits(5).refused("SAY062");
        assert!(!out.exists());
        // Each makes their own, and names that nobody has can be given.
        let own = bob.path().join("own.token");
        let mint = ["token", "create", "--role", "human", "--name", "bob", "--out", own.to_str().unwrap()];
        let made = bob.run(Who::Terminal, &mint);
        made.never_says("SAY062");
        team.token(&ann, "human", "cid");
        // Whom somebody else has brought in is not theirs.
        let cid = ann.token("cid");
        assert!(cid.exists());
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json().to_string();
        assert!(audit.contains("refused"), "{audit}");
    }
}

for_teams! {
    /// Whoever lets somebody in could speak as them: for what was asked before, the two are one person.
    fn who_is_let_in_again_adds_no_voice(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        let cid = team.invited(&ann, "cid");
        let to = ["--to", "ann", "--to", "bob", "--to", "cid", "--quorum", "2"];
        let ask = |what: &str| ann.run(Who::Script, &[&["ask", what, "--verdict"], &to[..]].concat()).ok();
        let (gate, other) = (ask("Ship it?"), ask("Delete it?"));
        ann.run(Who::Terminal, &["approve", &gate]).ok();
        // Ann lets bob in anew, and sits there herself.
        let as_bob = team.invited(&ann, "bob");
        as_bob.run(Who::Terminal, &["approve", &gate])
            .exits(5).refused("SAY013").says("bob and ann count as one person").says("asked");
        // The other way round it is the same.
        as_bob.run(Who::Terminal, &["approve", &other]).ok();
        ann.run(Who::Terminal, &["approve", &other]).refused("SAY013").says("count as one person");
        for open in [&gate, &other] {
            let shown = cid.run(Who::Terminal, &["show", open, "--json"]).json();
            assert_eq!((&shown["state"], shown["votes"].as_array().unwrap().len()), (&"open".into(), 1), "{shown}");
            cid.run(Who::Terminal, &["approve", open]).ok();
            let shown = cid.run(Who::Terminal, &["show", open, "--json"]).json();
            assert_eq!(shown["verdict"], "approved", "{shown}");
        }
        // What is asked from now on knows who is here, and a no was never a matter of numbers.
        let gate = ask("Tag it?");
        ann.run(Who::Terminal, &["approve", &gate]).ok();
        as_bob.run(Who::Terminal, &["approve", &gate]).ok();
        let shown = cid.run(Who::Terminal, &["show", &gate, "--json"]).json();
        assert_eq!(shown["verdict"], "approved", "{shown}");
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json().to_string();
        assert!(audit.contains("SAY013"), "{audit}");
        ann.run(Who::Terminal, &["audit", "verify"]).ok();
        drop(bob);
    }
}

for_teams! {
    /// It is the same where the voice is handed on to a third, or left while its person is away.
    fn a_voice_that_was_handed_on_adds_none_either(team: &Team) {
        let root = team.first("root");
        let gus = team.invited(&root, "gus");
        let cid = team.invited(&root, "cid");
        let to = ["--to", "root", "--to", "gus", "--quorum", "2"];
        let ask = |what: &str| root.run(Who::Script, &[&["ask", what, "--verdict"], &to[..]].concat()).ok();
        let (handed, left, own) = (ask("Ship it?"), ask("Delete it?"), ask("Move it?"));
        let as_gus = team.invited(&root, "gus");
        let is_one = |ran: crate::harness::Ran| {
            ran.exits(5).refused("SAY013").says("count as one person");
        };
        // Gus, who may be root by now, hands on: the third speaks for root, whoever speaks first.
        as_gus.run(Who::Terminal, &["delegate", &handed, "--to", "cid"]).ok();
        root.run(Who::Terminal, &["approve", &handed]).ok();
        is_one(cid.run(Who::Terminal, &["approve", &handed]));
        // Root hands on and speaks as gus.
        root.run(Who::Terminal, &["delegate", &own, "--to", "cid"]).ok();
        as_gus.run(Who::Terminal, &["approve", &own]).ok();
        is_one(cid.run(Who::Terminal, &["approve", &own]));
        let votes = cid.run(Who::Terminal, &["show", &own, "--json"]).json()["votes"].clone();
        assert_eq!(votes[0]["let_in_by"], serde_json::json!(["root"]), "{votes}");
        cid.run(Who::Terminal, &["show", &own]).says("gus (let in since by root)");
        // Away is a way of handing on.
        as_gus.run(Who::Terminal, &["away", "--until", "2h", "--to", "cid"]).ok();
        root.run(Who::Terminal, &["approve", &left]).ok();
        is_one(cid.run(Who::Terminal, &["approve", &left]));
        for open in [&handed, &left, &own] {
            let shown = root.run(Who::Terminal, &["show", open, "--json"]).json();
            assert_eq!(shown["state"], "open", "{shown}");
        }
        root.run(Who::Terminal, &["audit", "verify"]).ok();
        drop(gus);
    }
}

for_teams! {
    /// Who was sent away has no voice any more, also where they had raised it before.
    fn a_vote_goes_with_its_person(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        let cid = team.invited(&ann, "cid");
        let to = ["--to", "ann", "--to", "bob", "--to", "cid", "--quorum", "2"];
        let ask = [&["ask", "Ship it?", "--verdict"], &to[..]].concat();
        let gate = ann.run(Who::Script, &ask).ok();
        bob.run(Who::Terminal, &["approve", &gate]).ok();
        ann.run(Who::Terminal, &["people", "dismiss", "bob"]).ok();
        ann.run(Who::Terminal, &["approve", &gate]).ok();
        let shown = ann.run(Who::Terminal, &["show", &gate, "--json"]).json();
        assert_eq!(shown["state"], "open", "{shown}");
        assert_eq!(shown["votes"].as_array().unwrap().len(), 1, "{shown}");
        cid.run(Who::Terminal, &["approve", &gate]).ok();
        let shown = ann.run(Who::Terminal, &["show", &gate, "--json"]).json();
        assert_eq!(shown["verdict"], "approved", "{shown}");
        ann.run(Who::Terminal, &["audit", "verify"]).ok();
    }
}

for_teams! {
    /// Nor does a voice stay with the one to whom it was handed.
    fn a_voice_that_was_handed_on_goes_with_its_person(team: &Team) {
        let ann = team.first("ann");
        let fay = team.invited(&ann, "fay");
        let eve = team.invited(&ann, "eve");
        let to = ["--to", "ann", "--to", "fay", "--quorum", "2"];
        let gate = ann.run(Who::Script, &[&["ask", "Ship it?", "--verdict"], &to[..]].concat()).ok();
        fay.run(Who::Terminal, &["delegate", &gate, "--to", "eve"]).ok();
        ann.run(Who::Terminal, &["people", "dismiss", "fay"]).ok();
        eve.run(Who::Terminal, &["approve", &gate]).exits(5).refused("SAY013");
        ann.run(Who::Terminal, &["approve", &gate]).ok();
        let shown = ann.run(Who::Terminal, &["show", &gate, "--json"]).json();
        assert_eq!((&shown["state"], shown["votes"].as_array().unwrap().len()), (&"open".into(), 1), "{shown}");
        ann.run(Who::Terminal, &["audit", "verify"]).ok();
    }
}
