//! Every operation of the document, at least once, and every response as the document says.

use super::document::Document;
use super::passkeys::Key;
use super::{Reply, Server, text, ulid};
use crate::harness::{Who, on_both};
use crate::lifecycle::Fleet;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A server that is used operation by operation, as its document tells.
struct Story {
    server: Server,
    document: Document,
    used: RefCell<BTreeSet<String>>,
}

impl Story {
    fn of(server: Server) -> Self {
        let document = Document::of(&server);
        Self { server, document, used: RefCell::default() }
    }

    /// Does an operation; `names` fill its path behind the space, the query goes behind it.
    #[track_caller]
    fn call(
        &self,
        who: &str,
        name: &str,
        names: &[&str],
        query: &str,
        body: Option<Value>,
    ) -> Reply {
        let operation = self.document.operation(name);
        let mut path = operation.path.replace("{space}", &self.server.space);
        for name in names {
            let (head, rest) = path.split_once('{').unwrap();
            let (_, tail) = rest.split_once('}').unwrap();
            path = format!("{head}{name}{tail}");
        }
        assert!(!path.contains('{'), "{path}");
        let mark = if query.is_empty() { "" } else { "?" };
        let body = body.map(|body| body.to_string());
        let reply = self.server.raw(&self.server.request(
            &operation.method,
            &format!("{path}{mark}{query}"),
            Some(self.server.secret(who)),
            body.as_deref().map(str::as_bytes),
        ));
        self.document.check(&operation, &reply).unwrap_or_else(|why| panic!("{why}"));
        if reply.status < 300 {
            self.used.borrow_mut().insert(name.into());
        }
        reply
    }

    /// The same, where it has to go well.
    #[track_caller]
    fn done(&self, who: &str, name: &str, names: &[&str], body: Value) -> Value {
        let reply = self.call(who, name, names, "", Some(body));
        assert!(reply.status < 300, "{name}: {reply:?}");
        reply.json()
    }

    #[track_caller]
    fn seen(&self, who: &str, name: &str, names: &[&str], query: &str) -> Value {
        self.call(who, name, names, query, None).is(200)
    }
}

on_both! {
    fn every_operation_is_what_the_document_says(space: &Space) {
        space.mint("admin", "root");
        let fleet = Fleet::new(space, &[("fixer", ""), ("mender", ""), ("welder", "")]);
        for name in ["mender", "welder"] {
            space.run(Who::Terminal, &["agent", "spawn", name, "--wait"]).ok();
            fleet.started(name, 1);
        }
        let story = Story::of(Server::of(space));
        story.seen("ann", "showApi", &[], "");
        tasks(&story);
        gates(&story);
        others(&story);
        away(&story);
        flows(&story, space);
        story.server.passphrase(space, "ann", "correct horse");
        passkeys(&story);
        let told: BTreeSet<_> =
            story.document.operations().into_iter().map(|operation| operation.name).collect();
        assert!(told.len() >= 40, "{told:?}");
        let used = story.used.into_inner();
        assert_eq!(told.difference(&used).collect::<Vec<_>>(), Vec::<&String>::new());
        assert!(story.server.stop());
        space.verify();
    }
}

fn tasks(story: &Story) {
    let id = ulid(1);
    let epic = story.done("ann", "createTask", &[], json!({"title": "Epic", "type": "epic"}));
    let epic = text(&epic["id"]);
    let new = json!({
        "id": id, "title": "Login", "description": "All of it.", "priority": 1, "size": "small",
        "labels": ["web"], "parent": epic, "requires": "approval",
    });
    let task = story.done("ann", "createTask", &[], new.clone());
    assert_eq!((&task["id"], &task["labels"]), (&json!(id), &json!(["web"])));
    // The same again is the same; another task needs an id of its own.
    assert_eq!(story.done("ann", "createTask", &[], new)["handle"], task["handle"]);
    let other = story.call("ann", "createTask", &[], "", Some(json!({"id": id, "title": "Other"})));
    other.refused(409, "SAY030");
    let later = story.done("ann", "createTask", &[], json!({"title": "Later", "awaiting": "work"}));
    assert_eq!(later["awaiting"], json!(["work"]));
    let later = text(&later["id"]);
    story.done("ann", "addDependency", &[later, &id], json!({}));
    let listed = story.seen("coder", "listTasks", &[], "label=web&type=task&priority=1");
    assert_eq!(listed["items"][0]["id"], json!(id));
    assert_eq!(story.seen("ann", "listTasks", &[], "blocked=true")["items"][0]["id"], json!(later));
    story.done("ann", "removeDependency", &[later, &id], json!({}));
    let edited = json!({"title": "Log in", "size": null, "add_labels": ["urgent"], "remove_labels": ["web"]});
    let edited = story.done("ann", "editTask", &[&id], edited);
    assert_eq!((&edited["size"], &edited["labels"]), (&Value::Null, &json!(["urgent"])));
    story.done("coder", "noteTask", &[&id], json!({"text": "half of it is there"}));
    // An agent's "done" is a question where a person's say-so is required.
    let waits = story.done("coder", "closeTask", &[&id], json!({"reason": "done"}));
    assert_eq!(
        (&waits["state"], &waits["awaiting"]),
        (&json!("awaiting_input"), &json!(["approval"]))
    );
    let gate = &waits["gates"][0];
    let answer = json!({"verdict": "approved", "digest": gate["digest"]});
    story.done("ann", "answerGate", &[text(&gate["id"])], answer);
    let detail = story.seen("ann", "showTask", &[&id], "");
    assert_eq!(detail["state"], "closed");
    assert_eq!(detail["notes"][0]["author"], "coder");
    story.done("ann", "reopenTask", &[&id], json!({"reason": "it broke"}));
    let off = story.done("ann", "deferTask", &[&id], json!({"until": "2d"}));
    assert_eq!(off["state"], "deferred");
    let first = story.seen("ann", "taskHistory", &[&id], "limit=2");
    let next = text(&first["next"]).to_owned();
    let rest = story.seen("ann", "taskHistory", &[&id], &format!("after={next}"));
    let all = story.seen("ann", "taskHistory", &[&id], "");
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&first) + count(&rest)), (2, count(&all)));
    assert_eq!(all["items"][0]["what"], "task.created");
    let deleted = story.call("ann", "deleteTask", &[later], "reason=over&force=true", None).is(200);
    assert_eq!(deleted["state"], "deleted");
    paged(story, "listTasks", "all=true", 1);
}

fn gates(story: &Story) {
    let id = ulid(2);
    let new = json!({
        "id": id, "question": "Which?", "context": "Both work.", "facts": [{"name": "cost", "value": 3}],
        "options": [{"name": "red", "consequence": "loud"}, {"name": "blue"}], "other": true,
        "to": ["ann", "bob"], "deadline": "2h", "remind": ["1h"], "at_end": "keep",
    });
    let gate = story.done("coder", "openGate", &[], new.clone());
    assert_eq!((&gate["form"], &gate["facts"][0]["verified"]), (&json!("choice"), &json!(false)));
    // The same again is the same gate, whoever lost the first response.
    assert_eq!(story.done("coder", "openGate", &[], new), gate);
    let other = json!({"id": id, "question": "Which other?"});
    story.call("coder", "openGate", &[], "", Some(other)).refused(409, "SAY030");
    story.done("ann", "claimGate", &[&id], json!({"until": "10m"}));
    assert_eq!(story.done("ann", "releaseGate", &[&id], json!({}))["claimed_by"], Value::Null);
    story.done("ann", "extendGate", &[&id], json!({"until": "3h"}));
    story.done("ann", "snoozeGate", &[&id], json!({"until": "1h"}));
    let listed = |query: &str| story.seen("ann", "listGates", &[], query)["items"].to_string();
    assert!(
        !listed("").contains(&id) && listed("snoozed=true&kind=decision&asker=coder").contains(&id)
    );
    let revised = json!({"question": "Which now?", "options": [{"name": "red"}, {"name": "blue"}]});
    let revised = story.done("coder", "reviseGate", &[&id], revised);
    assert_eq!(revised["revision"], 2);
    // What was shown before is not what is asked now.
    story
        .server
        .answer("ann", &gate, json!({"verdict": "approved", "picked": ["red"]}))
        .refused(409, "SAY005");
    let answered =
        story.server.answer("ann", &revised, json!({"verdict": "approved", "picked": ["red"]}));
    assert_eq!(answered.is(200)["answer"]["door"], "http");
    let shown = story.seen("coder", "showGate", &[&id], "wait=1s");
    assert_eq!(
        (&shown["answer"]["picked"], &shown["answer"]["by"]),
        (&json!(["red"]), &json!("ann"))
    );
    assert_eq!(shown["delivery"]["state"], "pending");
    story.done("coder", "deliverGate", &[&id], json!({}));
    let over = story.done("coder", "acknowledgeGate", &[&id], json!({}));
    assert_eq!(over["delivery"]["state"], "acknowledged");
    let form = json!({"question": "Where?", "form": "form", "schema": {"type": "object", "required": ["port"]}});
    let form = story.done("coder", "openGate", &[], form);
    let verdict = json!({"question": "May I?", "form": "verdict"});
    let verdict = story.done("coder", "openGate", &[], verdict);
    assert_eq!(
        story.seen("ann", "listInbox", &[], "kind=decision")["items"].as_array().unwrap().len(),
        2
    );
    paged(story, "listInbox", "", 1);
    several(story, &form, &verdict);
    same_question(story);
    let mine = story.done("coder", "openGate", &[], json!({"question": "Never mind?"}));
    let gone = story.done(
        "coder",
        "withdrawGate",
        &[text(&mine["handle"])],
        json!({"reason": "found it"}),
    );
    assert_eq!(
        (&gone["state"], &gone["withdrawn_because"]),
        (&json!("withdrawn"), &json!("found it"))
    );
    paged(story, "listGates", "ended=true", 2);
}

/// Two ask the same: one card, and one answer for both, if that is what is said.
fn same_question(story: &Story) {
    let new = json!({"question": "Which branch?", "options": [{"name": "main"}, {"name": "next"}]});
    let (one, two) = (
        story.done("coder", "openGate", &[], new.clone()),
        story.done("tester", "openGate", &[], new),
    );
    let card = story.seen("ann", "showCard", &[text(&one["id"])], "");
    assert_eq!(
        (card["askers"].as_array().unwrap().len(), &card["receipt"][0]["step"]),
        (2, &json!("asked"))
    );
    let answer = json!({"verdict": "approved", "picked": ["next"], "same": card["same"]});
    let answered = story.server.answer("ann", &card, answer).is(200);
    assert_eq!((&answered["id"], &answered["also"][0]["id"]), (&one["id"], &two["id"]));
    story.call("tester", "showCard", &[text(&one["id"])], "", None).refused(404, "SAY001");
}

/// Answers to several gates, of which some cannot be.
fn several(story: &Story, form: &Value, verdict: &Value) {
    let of = |gate: &Value, answer: Value| {
        let mut answer = answer;
        answer["digest"] = gate["digest"].clone();
        json!({"gate": gate["handle"], "answer": answer})
    };
    let answers = json!({"answers": [
        of(form, json!({"verdict": "approved", "form": {}})),
        of(form, json!({"verdict": "approved", "form": {"port": 80}})),
        of(verdict, json!({"verdict": "rejected", "reason": "not today"})),
        of(verdict, json!({"verdict": "approved"})),
        json!({"gate": "gzzzz", "answer": {"verdict": "approved", "digest": "x"}}),
    ]});
    let outcomes = story.done("ann", "answerGates", &[], answers)["items"].clone();
    let said: Vec<_> = outcomes
        .as_array()
        .unwrap()
        .iter()
        .map(|o| {
            let verdict = o["answered"]["verdict"].as_str();
            verdict.or(o["code"].as_str()).unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(said, ["SAY009", "answered", "rejected", "SAY004", "SAY001"]);
    assert!(text(&outcomes[3]["message"]).contains("rejected by ann"));
}

fn others(story: &Story) {
    let (id, other) = (ulid(3), ulid(4));
    let new = json!({"id": id, "to": "coder", "text": "stop at five"});
    let sent = story.done("ann", "sendMessage", &[], new.clone());
    assert_eq!(story.done("ann", "sendMessage", &[], new), sent);
    let clash = json!({"id": id, "to": "coder", "text": "go on"});
    story.call("ann", "sendMessage", &[], "", Some(clash)).refused(409, "SAY030");
    story.done("ann", "sendMessage", &[], json!({"id": other, "to": "tester", "text": "hello"}));
    let own = story.seen("coder", "listMessages", &[], "unread=true&to=tester");
    assert_eq!(own["items"].as_array().unwrap().len(), 1, "an agent sees its own");
    assert_ne!(story.done("coder", "readMessage", &[&id], json!({}))["read_at"], Value::Null);
    paged(story, "listMessages", "", 1);
    assert_eq!(paged(story, "listAgents", "", 1), ["\"fixer\"", "\"mender\"", "\"welder\""]);
    assert_eq!(story.seen("ann", "showAgent", &["fixer"], "")["state"], "stopped");
    story.call("ann", "showAgent", &["nobody"], "", None).refused(404, "SAY001");
    let spawned = story.done("ann", "spawnAgent", &["fixer"], json!({"reason": "work"}));
    assert_eq!((&spawned["done"], &spawned["gate"]), (&json!(false), &Value::Null));
    assert_eq!(story.seen("ann", "showAgent", &["mender"], "")["state"], "elsewhere");
    story.call("ann", "stopAgent", &["fixer"], "", None).refused(409, "SAY018");
    story.done("ann", "restartAgent", &["mender"], json!({}));
    story.done("ann", "stopAgent", &["welder"], json!({}));
    story.seen("ann", "listRuns", &[], "");
    story.seen("ann", "listRuns", &[], &format!("task={}", ulid(1)));
    assert_eq!(story.seen("ann", "showPolicy", &[], "")["layers"], json!([]));
    let explained = json!({"on": "tool", "tool": "Bash", "command": "git push"});
    assert_eq!(story.done("ann", "explainPolicy", &[], explained)["effect"], "allow");
    let metrics = story.seen("ann", "showMetrics", &[], "hours=1");
    assert_eq!((&metrics["asked"], &metrics["open"]), (&json!(8), &json!(0)), "{metrics}");
    assert_eq!((&metrics["answered"], &metrics["approval_rate"]), (&json!(6), &json!(0.5)));
    assert_eq!(metrics["unanswered"], 2);
    let made = story.done(
        "root",
        "createToken",
        &[],
        json!({"role": "agent", "name": "new", "expires": "1d"}),
    );
    assert!(text(&made["secret"]).starts_with("sayso_a_"));
    let listed = paged(story, "listTokens", "", 2);
    assert!(listed.len() >= 6 && !listed.concat().contains("sayso_"), "{listed:?}");
    story.done("root", "revokeToken", &[text(&made["handle"])], json!({}));
    assert_eq!(story.seen("ann", "verifyAudit", &[], "")["holds"], true);
    let oldest = paged(story, "listAudit", "", 16);
    let mut newest = paged(story, "listAudit", "newest=true", 16);
    newest.reverse();
    assert_eq!(oldest, newest);
    assert!(oldest.len() > 40, "{}", oldest.len());
    let operation = story.document.operation("streamEvents");
    story.used.borrow_mut().insert(operation.name);
}

fn flows(story: &Story, space: &crate::harness::Space) {
    let file = "workflow: one\nphases:\n  - name: ask\n    ask: {approval: Ship it?}\n";
    std::fs::write(space.path().join("one.yaml"), file).unwrap();
    for key in ["a", "b"] {
        space.run(Who::Script, &["flow", "run", "one.yaml", "--key", key]).exits(7);
    }
    assert_eq!(paged(story, "listFlows", "workflow=one", 1).len(), 2);
    let listed = story.seen("ann", "listFlows", &[], "");
    let flow = text(&listed["items"][0]["id"]).to_owned();
    let shown = story.seen("ann", "showFlow", &[&flow], "");
    assert_eq!(shown["standing"], "waiting");
    let asked = &shown["events"].as_array().unwrap()[1];
    assert_eq!(
        (&asked["event"], &asked["gate"]),
        (&json!("input:requested"), &shown["waits_for"][0])
    );
    assert_eq!((&asked["id"], &asked["prompt"]), (&asked["gate"], &json!("Ship it?")));
    // A card on a screen is noted.
    let gate = text(&shown["waits_for"][0]);
    let digest = story.seen("ann", "showGate", &[gate], "")["digest"].clone();
    story.done("ann", "seeGate", &[gate], json!({"digest": digest}));
    for (name, body) in [("showFlow", None), ("cancelFlow", Some(json!({})))] {
        story.call("coder", name, &[&flow], "", body).refused(403, "SAY037");
    }
    let cancelled = story.done("ann", "cancelFlow", &[&flow], json!({"reason": "not needed"}));
    assert_eq!(cancelled["standing"], "cancelled");
    // It is over, so its stream ends.
    let told = story.call("ann", "streamFlow", &[&flow], "", None);
    let names: Vec<_> = told.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["flow:started", "input:requested", "flow:ended"]);
    let other = text(&listed["items"][1]["id"]);
    story.done("ann", "cancelFlow", &[other], json!({}));
}

fn away(story: &Story) {
    let gate = story.done("coder", "openGate", &[], json!({"question": "Which one?"}));
    let handed = story.done("ann", "delegateGate", &[text(&gate["id"])], json!({"to": "bob"}));
    assert_eq!(handed["delegations"][0]["to"], "bob");
    let gone = story.done("ann", "goAway", &[], json!({"until": "3d", "to": "bob"}));
    assert_eq!(gone["to"], "bob");
    assert_eq!(story.seen("bob", "listAway", &[], "")["items"][0]["name"], "ann");
    story.call("coder", "listAway", &[], "", None).refused(403, "SAY037");
    assert_eq!(story.done("ann", "comeBack", &[], json!({}))["was_away"], true);
    assert_eq!(story.seen("bob", "listAway", &[], "")["items"], json!([]));
}

fn passkeys(story: &Story) {
    story.server.line("ann", "unlock", json!(["correct horse"])).is(200);
    let mut key = Key::here();
    let begun = story.done("ann", "beginPasskey", &[], json!({"label": "phone"}));
    let added = story.done("ann", "addPasskey", &[], key.register(&begun));
    assert_eq!(story.seen("ann", "listPasskeys", &[], "")["items"], json!([added]));
    let gate = story.done("coder", "openGate", &[], json!({"question": "Go?", "form": "verdict"}));
    let asked = json!({"digest": gate["digest"]});
    let touch = story.done("ann", "askForPresence", &[text(&gate["id"])], asked);
    let yes =
        json!({"verdict": "approved", "digest": gate["digest"], "presence": key.touch(&touch)});
    let answered = story.done("ann", "answerGate", &[text(&gate["id"])], yes);
    assert_eq!(answered["answer"]["proof"], "presence", "{answered}");
    story.done("ann", "removePasskey", &[text(&added["id"])], json!({}));
}

/// Reads a list page by page and as a whole: both are the same. Returns what names the items.
fn paged(story: &Story, name: &str, query: &str, limit: usize) -> Vec<String> {
    let who = if name == "listTokens" { "root" } else { "ann" };
    let names = |page: &Value| -> Vec<String> {
        let name = |item: &Value| {
            ["id", "seq", "handle", "name"]
                .iter()
                .find_map(|key| item.get(key))
                .unwrap()
                .to_string()
        };
        page["items"].as_array().unwrap().iter().map(name).collect()
    };
    let (mut all, mut after, mut pages) = (vec![], String::new(), 0);
    loop {
        let page = story.seen(who, name, &[], &format!("{query}&limit={limit}{after}"));
        let items = names(&page);
        assert!(items.len() <= limit);
        all.extend(items);
        pages += 1;
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert!(pages > 1, "{name} has one page of {limit} only");
    let whole = story.seen(who, name, &[], &format!("{query}&limit=200"));
    if whole["next"].is_null() {
        assert_eq!(all, names(&whole), "{name}");
    }
    all
}
