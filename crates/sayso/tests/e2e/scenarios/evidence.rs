//! What is written into the database by hand is named, and nobody acts on it.

use crate::harness::{Backend, Space, Who, everywhere, on_both};
use rusqlite::Connection;
use serde_json::Value;

/// Writes to the file as somebody would who wants to get round sayso.
fn forge(space: &Space, sql: &str, params: impl rusqlite::Params) {
    let file = Connection::open(space.file()).unwrap();
    file.execute_batch(
        "DROP TRIGGER events_stay; DROP TRIGGER events_keep; \
         DROP TRIGGER audit_stays; DROP TRIGGER audit_keeps;",
    )
    .unwrap();
    assert_eq!(file.execute(sql, params).unwrap(), 1, "{sql}");
}

#[track_caller]
fn is_named(space: &Space, what: &str) {
    for args in [["audit", "verify"].as_slice(), &["doctor"]] {
        let ran = space.ann(args).exits(10);
        assert!(ran.said().contains(what), "{args:?} does not name {what}: {}", ran.said());
    }
    let report = space.ann(&["doctor", "--json"]).exits(10);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["healthy"], false);
    let checks = report["checks"].as_array().unwrap();
    let audit = checks.iter().find(|check| check["name"] == "audit").unwrap();
    assert_eq!(audit["code"], "SAY029");
}

fn id(space: &Space, gate: &str) -> String {
    space.show(gate)["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_verdict_forged_into_the_view() {
    // Once with the real ending of another gate, once with something that is none.
    let stolen =
        "json((SELECT json_extract(body, '$.ending') FROM gates WHERE state = 'answered'))";
    for (ending, exit, code) in [(stolen, 10, "SAY029"), ("'yes'", 1, "SAY021")] {
        let space = Space::new(Backend::Sqlite);
        let other = space.ask("coder", &["Drop the copy?", "--verdict"]);
        space.ann(&["approve", &other]).ok();
        let gate = space.ask("coder", &["Drop it?", "--verdict"]);
        let id = id(&space, &gate);
        let sql = format!(
            "UPDATE gates SET state = 'answered', ended_at = 1, \
             body = json_set(body, '$.ending', {ending}) WHERE id = ?1"
        );
        forge(&space, &sql, [&id]);
        is_named(&space, &id);
        let refused = space.coder(&["wait", &gate, "--timeout", "0"]).exits(exit).refused(code);
        assert_eq!(refused.stdout, "", "nothing that could be taken for an answer");
        // Others go on.
        assert_eq!(space.coder(&["wait", &other]).ok(), "approved");
    }
}

#[test]
fn a_verdict_forged_into_the_log() {
    let space = Space::new(Backend::Sqlite);
    let real = space.ask("coder", &["Drop the copy?", "--verdict"]);
    space.ann(&["approve", &real]).ok();
    let gate = space.ask("coder", &["Drop it?", "--verdict"]);
    let id = id(&space, &gate);
    // The real answer to another question, written under this one.
    let sql = "INSERT INTO events (stream, version, space, audit, at, body) \
               SELECT ?1, (SELECT max(version) + 1 FROM events WHERE stream = ?1), \
                      space, audit, at, body FROM events \
               WHERE stream LIKE 'gate/%' AND body LIKE '%approved%' LIMIT 1";
    forge(&space, sql, [&format!("gate/{id}")]);
    is_named(&space, &id);
    let refused = space.coder(&["wait", &gate]).exits(10).refused("SAY029");
    assert_eq!(refused.stdout, "", "nothing that could be taken for an answer");
    space.ann(&["show", &gate]).exits(10).refused("SAY029");
    space.ann(&["reject", &gate, "never"]).exits(10).refused("SAY029");
    // Others go on.
    assert_eq!(space.coder(&["wait", &real]).ok(), "approved");
}

#[test]
fn what_was_said_is_changed_or_removed() {
    for (sql, what) in [
        (
            "UPDATE events SET body = replace(body, 'never', 'always') WHERE body LIKE '%never%'",
            "gate/",
        ),
        (
            "UPDATE audit SET body = replace(body, 'never', 'always') WHERE body LIKE '%never%'",
            "entry",
        ),
        ("DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)", "entr"),
        ("DELETE FROM events WHERE body LIKE '%never%'", ""),
    ] {
        let space = Space::new(Backend::Sqlite);
        let gate = space.ask("coder", &["Drop it?", "--verdict"]);
        space.ann(&["reject", &gate, "never"]).ok();
        space.verify();
        let file = Connection::open(space.file()).unwrap();
        assert!(file.execute(sql, []).is_err(), "the triggers let it through: {sql}");
        forge(&space, sql, []);
        is_named(&space, what);
    }
}

everywhere! {
    /// The audit is listed, verified and exported; an export is verified without the database.
    fn the_audit(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.ann(&["reject", &gate, "not on a Friday"]).ok();
        let entries = space.verify();
        let list = space.audit();
        assert_eq!(list.len() as u64, entries);
        assert_eq!(list[0]["action"], "gate.answered");
        assert_eq!(list[0]["object"], gate.as_str());
        assert_eq!(list[0]["reason"], "not on a Friday");
        assert_eq!((list[0]["proof"].as_str(), list[0]["level"].as_str()), (Some("token"), Some("S0")));
        space.ann(&["audit", "list", "--limit", "1"]).exits(0).says("gate.answered").says("human ann");
        space.ann(&["audit", "verify"]).exits(0).says(&format!("{entries} entries hold"));

        let export = space.path().join("audit.jsonl");
        space.ann(&["audit", "export", export.to_str().unwrap()]).ok();
        let elsewhere = Space::empty();
        let verify = |text: &str| {
            let copy = elsewhere.path().join("copy.jsonl");
            std::fs::write(&copy, text).unwrap();
            elsewhere.run(Who::Script, &["audit", "verify", copy.to_str().unwrap()])
        };
        let text = std::fs::read_to_string(&export).unwrap();
        verify(&text).exits(0).says(&format!("{entries} entries hold"));
        let cut: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
        verify(&cut).exits(10).refused("SAY029");
        verify(&text.replace("not on a Friday", "as you like")).exits(10).refused("SAY029");
        let without: String = text.lines().enumerate().filter(|(n, _)| *n != 2).map(|(_, line)| format!("{line}\n")).collect();
        verify(&without).exits(10).refused("SAY029");
        verify("nonsense").exits(10).refused("SAY029");
        elsewhere.run(Who::Script, &["audit", "verify", "/nowhere"]).exits(3).refused("SAY001");
    }
}

on_both! {
    /// `doctor` says honestly how safe it is.
    fn the_level(space: &Space) {
        let report = space.ann(&["doctor", "--json"]).json();
        assert_eq!(report["healthy"], true);
        assert_eq!(report["level"], "S0");
        let here: Vec<_> = report["levels"].as_array().unwrap().iter().filter(|l| l["here"] == true).collect();
        assert_eq!(here.len(), 1);
        let text = space.run(Who::Terminal, &["doctor"]).ok();
        for part in ["Level of assurance: S0", "does not stop", "S1", "S2", "passphrase: none is set", "sayso unlock --set"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        space.run(Who::With(&[("CLAUDECODE", "1")]), &["doctor"]).exits(0).says("refused here").says("CLAUDECODE");
        space.run(Who::Script, &["doctor", "--quick"]).exits(0).says("only a person's token counts");
        // The level is stamped on the verdict.
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        space.run(Who::Terminal, &["approve", &gate]).ok();
        let answer = &space.show(&gate)["answer"];
        assert_eq!((answer["proof"].as_str(), answer["level"].as_str()), (Some("tty"), Some("S0")));
    }
}
