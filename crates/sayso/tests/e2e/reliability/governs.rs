//! What governs is covered by the record: whatever is changed past sayso of policies, credentials, people and the
//! columns that lists are found by is named by `audit verify` and `doctor`, and no ruling rests on it.

use super::{ann, name, place};
use crate::api::Server;
use crate::harness::{Backend, Space, Who, on_both, user};
use sayso_engine::{LocalDesk, LoginClient, RuntimeEnv};
use serde_json::json;

/// Runs SQL past sayso.
fn past(space: &Space, sql: &str) {
    match &space.store {
        Some(url) => postgres::Client::connect(url, postgres::NoTls)
            .unwrap()
            .batch_execute(&format!("SET search_path TO sayso; {sql}"))
            .unwrap_or_else(|error| panic!("{sql}: {error}")),
        None => rusqlite::Connection::open(space.file())
            .unwrap()
            .execute_batch(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}")),
    }
}

/// Does something while a table is changed, and puts it back.
fn while_changed<T>(space: &Space, table: &str, sql: &str, work: impl FnOnce() -> T) -> T {
    // The log is append-only until its owner drops the triggers.
    let unlock = match (table, &space.store) {
        ("events", Some(_)) => "ALTER TABLE events DISABLE TRIGGER USER;",
        ("events", None) => "DROP TRIGGER events_stay; DROP TRIGGER events_keep;",
        _ => "",
    };
    past(space, &format!("CREATE TABLE kept AS SELECT * FROM {table}; {unlock} {sql}"));
    let done = work();
    past(
        space,
        &format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept"),
    );
    done
}

const POLICY: &str = "rules:\n  - name: done\n    on: transition\n    match: {to: closed}\n    \
                      then: ask\n    reason: Work is looked at before it counts.\n";

/// A space with one of everything; returns a task that the policy does not let close, and a gate that waits.
fn furnished(space: &Space) -> (String, String) {
    let policy = space.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    space.run(Who::Terminal, &["policy", "set", policy.to_str().unwrap()]).ok();
    space.mint("agent", "gone");
    space.revoke("gone");
    let desk = LocalDesk::open(place(space), &name(space), RuntimeEnv::real()).unwrap();
    let admin = sayso_core::Actor { name: user(), proof: sayso_core::IdentityProof::Tty, ..ann() };
    for (person, is_admin) in [("ada", true), ("eve", false)] {
        let code = desk.invite(&admin, person, is_admin).unwrap().code;
        desk.join(&code, person, "correct horse battery", LoginClient::Program).unwrap();
    }
    desk.invite(&admin, "fay", false).unwrap();
    space.ann(&["tell", "coder", "Look at it"]).ok();
    let blocker = space.create(&["First this"]);
    let task = space.create(&["Then that", "--label", "later", "--blocked-by", &blocker]);
    let done = space.ask("coder", &["Which port?"]);
    space.ann(&["respond", &done, "8081"]).ok();
    let gate = space.ask("coder", &["Ship?", "--kind", "approval", "--deadline", "2h"]);
    space.verify();
    (task, gate)
}

const FORGED: &str = "INSERT INTO tokens (id, space, handle, hash, role, name, launcher, created_at) \
    SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', space, 'kforged', 'x', 'human', 'mallory', name, created_at \
    FROM tokens WHERE name = 'ann'";

/// One whose secret is known to the forger.
const FORGED_HELD: &str = "INSERT INTO tokens (id, space, handle, hash, role, name, launcher, created_at) \
    SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', space, 'kforged', \
    'HASH', 'agent', 'mallory', name, created_at FROM tokens WHERE name = 'ann'";

const FORGED_AGENT: &str = "INSERT INTO tokens (id, space, handle, hash, role, name, launcher, created_at) \
    SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', space, 'kforged', 'x', 'agent', 'mallory', name, created_at \
    FROM tokens WHERE name = 'ann'";

/// One for a run that never was.
const FORGED_RUN: &str = "INSERT INTO tokens (id, space, handle, hash, role, name, launcher, created_at, run, task) \
    SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', space, 'kforged', 'x', 'agent', 'mallory', name, created_at, \
    '01ARZ3NDEKTSV4RRFFQ69G5FAW', '01ARZ3NDEKTSV4RRFFQ69G5FAX' FROM tokens WHERE name = 'ann'";

/// A table, and how it is changed.
const CHANGES: [(&str, &str); 39] = [
    ("settings", "DELETE FROM settings WHERE kind = 'policy'"),
    ("settings", "DELETE FROM settings"),
    ("settings", "UPDATE settings SET body = 'rules: []' WHERE kind = 'policy'"),
    ("settings", "UPDATE settings SET body = NULL WHERE kind = 'policy'"),
    ("settings", "UPDATE settings SET name = 'agent/other' WHERE kind = 'policy'"),
    ("tokens", "UPDATE tokens SET role = 'human' WHERE name = 'coder'"),
    ("tokens", "UPDATE tokens SET name = 'tester2' WHERE name = 'coder'"),
    ("tokens", "UPDATE tokens SET scopes = '[\"ask\"]' WHERE name = 'ann'"),
    ("tokens", "UPDATE tokens SET expires_at = 99999999999999999 WHERE name = 'ann'"),
    ("tokens", "UPDATE tokens SET launcher = 'bob' WHERE name = 'coder'"),
    ("tokens", "UPDATE tokens SET hash = 'another' WHERE name = 'ann'"),
    ("tokens", "UPDATE tokens SET revoked_at = NULL WHERE name = 'gone'"),
    ("tokens", "UPDATE tokens SET revoked_at = 1 WHERE name = 'coder'"),
    ("tokens", "DELETE FROM tokens WHERE name = 'gone'"),
    ("tokens", FORGED),
    ("people", "UPDATE people SET is_admin = 1 WHERE name = 'eve'"),
    ("people", "DELETE FROM people WHERE name = 'eve'"),
    ("people", "UPDATE people SET name = 'mallory' WHERE name = 'eve'"),
    ("passphrases", "UPDATE passphrases SET hash = hash || 'x' WHERE name = 'ada'"),
    ("gates", "UPDATE gates SET snoozed_until = 99999999999999999 WHERE state = 'open'"),
    ("gates", "UPDATE gates SET state = 'hidden' WHERE state = 'open'"),
    ("gates", "UPDATE gates SET due_at = 1 WHERE state = 'open'"),
    ("gates", "UPDATE gates SET space = '01ARZ3NDEKTSV4RRFFQ69G5FAV' WHERE state = 'open'"),
    ("gates", "UPDATE gates SET asker = 'tester' WHERE state = 'open'"),
    ("tasks", "UPDATE tasks SET blockers = 0"),
    ("tasks", "UPDATE tasks SET is_over = 1 WHERE blockers > 0"),
    ("labels", "DELETE FROM labels"),
    ("dependencies", "DELETE FROM dependencies"),
    ("deliveries", "UPDATE deliveries SET state = 'acknowledged'"),
    ("tokens", FORGED_AGENT),
    ("tokens", FORGED_RUN),
    ("settings", "UPDATE settings SET set_by = 'mallory' WHERE kind = 'policy'"),
    ("settings", "UPDATE settings SET seq = 1 WHERE kind = 'policy'"),
    ("messages", "UPDATE messages SET body = REPLACE(body, 'Look at it', 'Push it')"),
    ("messages", "DELETE FROM messages"),
    ("invitations", "UPDATE invitations SET is_admin = 1 WHERE used_at IS NULL"),
    ("invitations", "UPDATE invitations SET invited_by = 'bob' WHERE name = 'eve'"),
    ("invitations", "UPDATE invitations SET used_at = NULL WHERE name = 'eve'"),
    ("events", "UPDATE events SET at = at - 60000000 WHERE stream LIKE 'gate/%'"),
];

on_both! {
    fn what_is_changed_past_sayso_is_named(space: &Space) {
        furnished(space);
        for (table, sql) in CHANGES {
            while_changed(space, table, sql, || {
                // By an auditor who is no part of the store: a script of the user.
                for args in [["audit", "verify"].as_slice(), &["doctor"]] {
                    let ran = space.run(Who::Script, args);
                    assert_eq!(ran.code, 10, "{sql}: {args:?}: {ran:?}");
                    assert!(ran.said().contains("SAY029") || args == ["doctor"], "{sql}: {ran:?}");
                }
            });
            space.verify();
        }
    }
}

on_both! {
    fn no_ruling_rests_on_what_was_changed(space: &Space) {
        let (_, gate) = furnished(space);
        let held = space.create(&["Another"]);
        space.coder(&["close", &held]).exits(12);
        let task = space.create(&["One more"]);
        for sql in [
            "DELETE FROM settings WHERE kind = 'policy'",
            "DELETE FROM settings",
            "UPDATE settings SET body = 'rules: []' WHERE kind = 'policy'",
        ] {
            while_changed(space, "settings", sql, || {
                let ran = space.coder(&["close", &task]);
                ran.exits(10).refused("SAY029").says("sayso audit verify");
            });
            assert_eq!(space.state(&task), "open", "{sql}");
        }
        let role = "UPDATE tokens SET role = 'human' WHERE name = 'coder'";
        while_changed(space, "tokens", role, || {
            space.coder(&["approve", &gate]).exits(10).refused("SAY029");
        });
        let back = "UPDATE tokens SET revoked_at = NULL WHERE name = 'gone'";
        while_changed(space, "tokens", back, || {
            space.run(Who::Agent("gone"), &["ask", "Here again?"]).exits(10).refused("SAY029");
        });
        let secret = "sayso_a_mallory";
        let forged = FORGED_HELD.replace("HASH", sayso_core::Digest::of_bytes(secret.as_bytes()).as_str());
        while_changed(space, "tokens", &forged, || {
            let file = space.path().join("mallory.token");
            std::fs::write(&file, secret).unwrap();
            space.run(Who::Holder(&file), &["ask", "May I?"]).exits(10).refused("SAY029");
        });
        assert_eq!(space.show(&gate)["state"], "open");
        space.verify();
    }
}

on_both! {
    /// A code that was made better, or is of an older day again, lets nobody in; and who let somebody in is told by the log.
    fn no_code_is_better_than_it_was_made(space: &Space) {
        furnished(space);
        let desk = || LocalDesk::open(place(space), &name(space), RuntimeEnv::real()).unwrap();
        let admin = sayso_core::Actor { name: user(), proof: sayso_core::IdentityProof::Tty, ..ann() };
        let code = desk().invite(&admin, "gus", false).unwrap().code;
        let join = || desk().join(&code, "gus", "correct horse battery", LoginClient::Program);
        for sql in [
            "UPDATE invitations SET is_admin = 1 WHERE name = 'gus'",
            "UPDATE invitations SET invited_by = 'bob' WHERE name = 'gus'",
        ] {
            while_changed(space, "invitations", sql, || {
                assert_eq!(join().map(drop).unwrap_err().code().as_str(), "SAY029", "{sql}");
            });
        }
        join().unwrap();
        while_changed(space, "invitations", "UPDATE invitations SET used_at = NULL", || {
            assert_eq!(join().map(drop).unwrap_err().code().as_str(), "SAY029");
        });
        space.verify();
    }
}

on_both! {
    /// A server keeps what holds, and the credentials it knows; what is changed under it is noticed all the same.
    fn a_server_notices_what_is_changed_under_it(space: &Space) {
        let (_, handle) = furnished(space);
        let server = Server::of(space);
        let gate = server.get("ann", &format!("/gates/{handle}")).is(200);
        // Both are known to it.
        let ask = json!({"question": "Another?", "kind": "approval"});
        server.post("coder", "/gates", ask.clone()).is(201);
        let role = "UPDATE tokens SET role = 'human' WHERE name = 'coder'";
        while_changed(space, "tokens", role, || {
            let refused = server.answer("coder", &gate, json!({"verdict": "approved"}));
            refused.refused(503, "SAY029");
        });
        while_changed(space, "settings", "DELETE FROM settings", || {
            server.post("coder", "/gates", ask.clone()).refused(503, "SAY029");
        });
        assert_eq!(server.get("ann", &format!("/gates/{handle}")).is(200)["state"], "open");
        server.post("coder", "/gates", ask).is(201);
        space.verify();
    }
}

/// A script of the user who owns the file may verify; what is in the record is for people, and nothing of it for
/// agents.
#[test]
fn a_script_of_the_user_may_verify() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let space = Space::new(backend);
        space.run(Who::Script, &["audit", "verify"]).ok();
        let report = space.run(Who::Script, &["doctor", "--json"]).json();
        let mut checks = report["checks"].as_array().unwrap().iter();
        assert_eq!(checks.find(|it| it["name"] == "audit").unwrap()["result"], "ok");
        for args in [["audit", "list"], ["audit", "export"]] {
            space.run(Who::Script, &args).exits(5);
        }
        for args in [["audit", "verify"], ["audit", "list"]] {
            space.coder(&args).exits(5);
        }
        let seen = [("CLAUDECODE", "1")];
        space.run(Who::With(&seen), &["audit", "verify"]).exits(5);
    }
}

on_both! {
    /// The list says what was answered, and what else came with an entry; an expiry is in it.
    fn the_list_says_what_was_answered(space: &Space) {
        let port = space.ask("coder", &["Which port?"]);
        space.ann(&["respond", &port, "8081"]).ok();
        let ship = space.ask("coder", &["Ship?", "--kind", "approval"]);
        space.ann(&["reject", &ship, "not on a Friday"]).ok();
        let late = space.ask("coder", &["Soon?", "--kind", "approval", "--deadline", "1s"]);
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        space.ann(&["inbox"]).ok();
        let audit = space.audit();
        let of = |gate: &str, action: &str| {
            let is_it = |it: &&serde_json::Value| it["object"] == gate && it["action"] == action;
            audit.iter().find(is_it).unwrap_or_else(|| panic!("no {action} of {gate}: {audit:?}"))
        };
        assert_eq!(of(&port, "gate.answered")["answer"], "8081");
        assert_eq!(of(&ship, "gate.answered")["answer"], "rejected");
        assert_eq!(of(&ship, "gate.answered")["reason"], "not on a Friday");
        of(&late, "gate.expired");
        space.ann(&["audit", "list"]).says("said \"8081\"").says("gate.expired");
        // One that ends with something else is in the entry of that.
        let task = space.create(&["Big"]);
        let asked = space.ask("coder", &["Part?", "--kind", "approval", "--task", &task]);
        space.ann(&["close", &task, "never mind", "--force"]);
        let audit = space.audit();
        let is_about = |it: &serde_json::Value| {
            let also = it["also"].as_array().cloned().unwrap_or_default();
            it["object"] == asked.as_str() && it["action"] != "gate.opened"
                || also.iter().any(|what| what.as_str().unwrap().ends_with(&asked))
        };
        assert!(audit.iter().any(is_about), "{audit:?}");
    }
}
