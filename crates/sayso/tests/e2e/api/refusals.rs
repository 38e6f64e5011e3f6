//! What is refused, and that it is told and written down (F, M).

use super::{Server, text};
use crate::harness::{Backend, Space, Who, drop_database, on_both};
use serde_json::{Value, json};

on_both! {
    /// Not waiting, empty, an unknown option, answered twice, another card, unknown, of another space (F).
    fn answers_that_do_not_count(space: &Space) {
        let server = Server::of(space);
        let yes = json!({"verdict": "approved"});
        let task = server.post("ann", "/tasks", json!({"title": "Nobody is asked"})).is(201);
        let path = format!("/gates/{}/answer", text(&task["handle"]));
        server.post("ann", &path, json!({"verdict": "approved", "digest": "x"})).refused(409, "SAY003");
        let asked = server.ask("coder", json!({"question": "Why?"}));
        server.answer("ann", &asked, json!({"verdict": "approved", "text": " "})).refused(400, "SAY007");
        server.answer("ann", &asked, yes.clone()).refused(400, "SAY007");
        let choice = json!({"question": "Which?", "options": [{"name": "a"}, {"name": "b"}]});
        let choice = server.ask("coder", choice);
        let stranger = json!({"verdict": "approved", "picked": ["c"]});
        let told = server.answer("ann", &choice, stranger).refused(400, "SAY008");
        assert!(text(&told["hint"]).contains("\"a\", \"b\""), "{told}");
        // The page it names is there, for everybody.
        let page = server.raw(&server.request("GET", text(&told["type"]), None, None));
        assert!(page.status == 200 && page.body.starts_with("# SAY008"), "{page:?}");
        assert_eq!(server.raw(&server.request("GET", "/errors/SAY999", None, None)).status, 404);
        let both = json!({"verdict": "approved", "picked": ["a"], "text": "a"});
        server.answer("ann", &choice, both).refused(400, "SAY038");
        let other = json!({"verdict": "approved", "text": "Because.", "digest": choice["digest"]});
        let path = format!("/gates/{}/answer", text(&asked["id"]));
        server.post("ann", &path, other).refused(409, "SAY005");
        // Nothing that is missing means yes.
        server.post("ann", &path, json!({"digest": asked["digest"], "text": "x"})).refused(400, "SAY038");
        server.post("ann", &path, json!({"verdict": "approved", "text": "x"})).refused(400, "SAY038");
        let because = json!({"verdict": "approved", "text": "Because."});
        let first = server.answer("ann", &asked, because.clone()).is(200);
        // The same again is a success without effect; another names the winner.
        assert_eq!(server.answer("ann", &asked, because.clone()).is(200), first);
        let late = server.answer("bob", &asked, json!({"verdict": "approved", "text": "No."}));
        assert!(text(&late.refused(409, "SAY004")["detail"]).contains("answered by ann"));
        let unknown = json!({"verdict": "approved", "digest": "x"});
        server.post("ann", "/gates/g0000/answer", unknown.clone()).refused(404, "SAY001");
        server.post("ann", "/gates/01JZZZZZZZ0000000000000000/answer", unknown).refused(404, "SAY001");
        another_space(space, &server, &choice);
        let entries = space.audit();
        let answers = entries.iter().filter(|entry| entry["action"] == "gate.answered").count();
        assert_eq!(answers, 1);
        space.verify();
    }
}

on_both! {
    /// An agent learns nothing of what others ask, by whichever way it looks: not whose it is, nor whether it ended.
    fn of_others_nothing_is_learnt(space: &Space) {
        let server = Server::of(space);
        let asked = server.ask("coder", json!({"question": "Why?"}));
        let path = format!("/gates/{}", text(&asked["id"]));
        let looks = || {
            let tries = ["delivered", "acknowledged"].map(|deed| {
                let said = server.post("tester", &format!("{path}/{deed}"), json!({})).refused(404, "SAY001");
                text(&said["detail"]).to_owned()
            });
            server.get("tester", &path).refused(404, "SAY001");
            assert!(tries.iter().all(|said| !said.contains("coder")), "{tries:?}");
            tries
        };
        let before = looks();
        server.answer("ann", &asked, json!({"verdict": "approved", "text": "So."})).is(200);
        assert_eq!(looks(), before);
        let listed = |who: &str, asker: &str| {
            let page = server.get(who, &format!("/gates?ended=true&asker={asker}")).is(200);
            page["items"].as_array().unwrap().len()
        };
        assert_eq!([listed("coder", "coder"), listed("tester", "tester")], [1, 0]);
        assert_eq!([listed("tester", "coder"), listed("coder", "tester")], [0, 0]);
    }
}

/// Whoever has shown nothing of themselves learns that the store does not answer, and not where it is.
#[test]
fn why_it_is_not_ready_is_for_the_log() {
    let space = Space::bare(Backend::Postgres);
    let mut command = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    let log = space.path().join("log");
    let server = Server::run(&space, command.stderr(std::fs::File::create(&log).unwrap()));
    let ready = || server.raw(&server.request("GET", "/health/ready", None, None));
    assert_eq!(ready().status, 200);
    let name = space.store.as_ref().unwrap().rsplit('/').next().unwrap();
    drop_database(name);
    let told = ready();
    assert_eq!(told.status, 503, "{told:?}");
    assert!(told.body.contains("the store takes no write"), "{told:?}");
    assert!(!told.body.contains(name) && !told.body.contains("postgres"), "{told:?}");
    let logged = std::fs::read_to_string(log).unwrap();
    assert!(logged.contains("not ready") && logged.contains(name), "{logged}");
}

on_both! {
    /// Not even whoever looks after the space says in another's name who stands in for them, or what they
    /// would have said yes to.
    fn what_people_say_is_not_set(space: &Space) {
        space.mint("admin", "root");
        let server = Server::of(space);
        let away = json!({"until": 4_000_000_000_000_000_i64, "to": "bob", "proof": "two_people"});
        for kind in ["Away", "Remembered"] {
            let change = json!({"kind": kind, "name": "ann", "body": away.to_string()});
            server.line("root", "set", json!([[change]])).refused(403, "SAY037");
        }
        assert_eq!(server.get("ann", "/away").is(200)["items"], json!([]));
        space.verify();
    }
}

/// A credential opens the space it is for, and tells nothing of any other.
fn another_space(space: &Space, server: &Server, gate: &Value) {
    space.run(crate::harness::Who::Script, &["--space", "other", "init"]).ok();
    let secret = server.secret("ann");
    for (name, secret) in [("other", Some(secret)), ("nowhere", Some(secret)), ("other", None)] {
        let path = format!("/v1/spaces/{name}/gates/{}", text(&gate["id"]));
        let reply = server.raw(&server.request("GET", &path, secret, None));
        reply.refused(401, "SAY028");
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
    }
}

on_both! {
    /// An agent's credential gives no verdict, whichever way it tries (M).
    fn no_agent_answers(space: &Space) {
        let server = Server::of(space);
        let own = server.ask("coder", json!({"question": "May I?", "form": "verdict"}));
        let others = server.ask("tester", json!({"question": "May I, too?", "form": "verdict"}));
        let epic = server.post("ann", "/tasks", json!({"title": "Epic", "type": "epic"})).is(201);
        let new = json!({"title": "Part", "parent": epic["id"], "requires": "review", "awaiting": "work"});
        let task = server.post("ann", "/tasks", new).is(201);
        let before = space.audit().len();
        let (own, others) = (path("/gates", &own), path("/gates", &others));
        let (epic, task) = (path("/tasks", &epic), path("/tasks", &task));
        let digest = |gate: &str| server.get("ann", gate).is(200)["digest"].clone();
        let yes = |gate: &str| json!({"verdict": "approved", "digest": digest(gate)});
        let until = json!({"until": "1h"});
        let tries = [
            ("POST", format!("{own}/answer"), yes(&own)),
            ("POST", format!("{others}/answer"), yes(&others)),
            ("POST", format!("{others}/withdraw"), json!({})),
            ("POST", format!("{own}/claim"), until.clone()),
            ("POST", format!("{own}/release"), json!({})),
            ("POST", format!("{own}/snooze"), until.clone()),
            ("POST", format!("{own}/extend"), until),
            ("POST", format!("{others}/revise"), json!({"question": "x"})),
            ("POST", format!("{task}/close"), json!({"reason": "done"})),
            ("POST", format!("{task}/defer"), json!({})),
            ("POST", format!("{epic}/close"), json!({"force": true})),
            ("DELETE", format!("{task}?force=true"), json!({})),
            ("PATCH", task.clone(), json!({"requires": null})),
            ("POST", "/tokens".into(), json!({"role": "human", "name": "me"})),
            ("GET", others.clone(), json!({})),
            ("GET", "/tokens".into(), json!({})),
            ("GET", "/audit".into(), json!({})),
            ("GET", "/audit/verify".into(), json!({})),
            ("GET", "/metrics".into(), json!({})),
        ];
        for (method, path, body) in &tries {
            let body = (*method != "GET").then(|| body.clone());
            let reply = server.send("coder", method, path, body);
            // Another's gate does not exist for it.
            let is_hidden = path.starts_with(&others);
            assert_eq!(reply.status, if is_hidden { 404 } else { 403 }, "{method} {path}: {reply:?}");
            let problem = reply.json();
            let codes: &[&str] = if is_hidden { &["SAY001"] } else { &["SAY010", "SAY037"] };
            assert!(codes.contains(&text(&problem["code"])), "{path} {problem}");
        }
        let batch = json!({"answers": [{"gate": own.trim_start_matches("/gates/"), "answer": yes(&own)}]});
        let batch = server.post("coder", "/gates/answers", batch).is(200);
        assert_eq!(batch["items"][0]["code"], "SAY010");
        let noted = server.post("coder", &format!("{task}/notes"), json!({"text": "ann says yes"})).is(200);
        assert_eq!(noted["awaiting"], json!(["work"]));
        // Each try is written down, with who, by which way and why.
        let all = space.audit();
        let refused: Vec<_> = all[..all.len() - before]
            .iter()
            .filter(|entry| entry["outcome"] == "refused")
            .inspect(|entry| {
                assert_eq!((&entry["actor"], &entry["door"]), (&json!("coder"), &json!("http")));
            })
            .collect();
        assert_eq!(refused.len(), tries.len() + 1);
        for gate in [&own, &others] {
            assert_eq!(server.get("ann", gate).is(200)["state"], "open");
        }
        // Nor does it take what is on its way to another.
        server.post("ann", &format!("{others}/answer"), yes(&others)).is(200);
        for way in ["delivered", "acknowledged"] {
            server.post("coder", &format!("{others}/{way}"), json!({})).refused(404, "SAY001");
        }
        let shown = server.get("ann", &task).is(200);
        assert_eq!((&shown["requires"], &shown["notes"][0]["role"]), (&json!("review"), &json!("agent")));
        space.verify();
    }
}

fn path(resource: &str, item: &Value) -> String {
    format!("{resource}/{}", text(&item["id"]))
}

on_both! {
    /// Whoever lost their credential is out at once, and a person's token makes no other.
    fn credentials_that_do_not_count(space: &Space) {
        let server = Server::of(space);
        server.get("bob", "/gates").is(200);
        server.post("bob", "/tokens", json!({"role": "human", "name": "me"})).refused(403, "SAY037");
        server.get("bob", "/tokens").refused(403, "SAY037");
        space.revoke("bob");
        server.get("bob", "/gates").refused(401, "SAY028");
        for header in ["Bearer", "Bearer x", "Basic eDp5", "Bearer sayso_h_0000", "bearer  "] {
            let request = format!(
                "GET /v1/spaces/{}/gates HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: {header}\r\n\r\n",
                server.space, server.address
            );
            server.raw(request.as_bytes()).refused(401, "SAY028");
        }
        space.verify();
    }
}

on_both! {
    /// A credential that was good a moment ago is good for nothing once it is revoked, on whichever way it is used most.
    fn credentials_that_were_good_before(space: &Space) {
        let server = Server::of(space);
        let asks = |words: &str| server.post("coder", "/gates", json!({"question": words}));
        let says = |asked: &Value| server.answer("bob", asked, json!({"verdict": "approved", "text": "Because."}));
        let asked: Vec<_> = ["Why?", "How?", "When?"].iter().map(|words| asks(words).is(201)).collect();
        says(&asked[0]).is(200);
        says(&asked[1]).is(200);
        let way = path("/gates", &asked[0]);
        server.get("coder", &way).is(200);
        server.post("coder", &format!("{way}/delivered"), json!({})).is(200);
        for name in ["coder", "bob"] {
            space.revoke(name);
        }
        let before = space.audit().len();
        asks("Where?").refused(401, "SAY028");
        says(&asked[2]).refused(401, "SAY028");
        server.get("coder", &way).refused(401, "SAY028");
        server.post("coder", &format!("{way}/acknowledged"), json!({})).refused(401, "SAY028");
        assert_eq!(space.audit().len(), before, "nothing came of it");
        assert_eq!(server.get("ann", &path("/gates", &asked[2])).is(200)["state"], "open");
        space.verify();
    }
}
