//! What `--json` prints fits the schemas that `sayso` documents for it.

use crate::harness::{SAYSO, Space, Who, everywhere};
use serde_json::Value;
use std::path::Path;

/// The documented schemas, written by the program itself.
struct Schemas(tempfile::TempDir);

impl Schemas {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let status = std::process::Command::new(SAYSO).arg("__generate").arg(dir.path()).status();
        assert!(status.unwrap().success());
        Self(dir)
    }

    #[track_caller]
    fn check(&self, name: &str, value: &Value) {
        let schema = read(&self.0.path().join(format!("json/{name}.json")));
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<_> =
            validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{name}: {problems:?}\n{value}");
        // A schema that knows no field fits everything; ours names each of them.
        let known = properties(&schema);
        if let (Value::Object(fields), false) = (value, known.is_empty()) {
            let unknown: Vec<_> = fields.keys().filter(|key| !known.contains(key)).collect();
            assert!(unknown.is_empty(), "{name} does not document {unknown:?}");
        }
    }
}

fn properties(schema: &Value) -> Vec<String> {
    let of = |part: &Value| {
        part["properties"].as_object().map(|map| map.keys().cloned().collect::<Vec<_>>())
    };
    of(schema).unwrap_or_default()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Something of everything: gates of every form and ending, tasks in every state, notes, messages.
fn furnish(space: &Space) -> (String, String) {
    let epic = space.create(&["Epic", "--type", "epic", "--label", "web"]);
    let task =
        space.create(&["Part", "--parent", &epic, "--size", "small", "--requires", "approval"]);
    let blocked = space.create(&["Later", "--blocked-by", &task]);
    space.ann(&["defer", &blocked, "--until", "3d"]).ok();
    let text =
        space.ask("coder", &["Which way?", "--task", &task, "--context", "Both.", "--fact", "a=b"]);
    space.ann(&["respond", &text, "left"]).ok();
    space.coder(&["wait", &text]).ok();
    let form = space.ask("coder", &["Which?", "--schema", r#"{"type":"object"}"#]);
    space.ann(&["answer", &form, "--form", r#"{"a":1}"#]).ok();
    let choice = space.ask(
        "coder",
        &[
            "Which?", "-o", "a=b", "-o", "c", "--multi", "--other", "--to", "ann", "--to", "bob",
            "--quorum", "2",
        ],
    );
    space.ann(&["choose", &choice, "a", "--other", "more"]).ok();
    let withdrawn = space.ask("coder", &["Never mind?"]);
    space.coder(&["withdraw", &withdrawn]).ok();
    space.coder(&["close", &task, "done"]).exits(12);
    space.coder(&["note", &task, "a note"]).ok();
    space.ann(&["tell", "coder", "a message"]).ok();
    space.coder(&["approve", &task]).exits(5);
    (task, choice)
}

everywhere! {
    fn every_read_fits_its_schema(space: &Space) {
        let schemas = Schemas::new();
        let (task, gate) = furnish(space);
        for (args, schema) in [
            (vec![], "card-page"),
            (vec!["inbox"], "card-page"),
            (vec!["inbox", "--done"], "gate-page"),
            (vec!["show", &gate], "gate-detail"),
            (vec!["show", &task], "task-detail"),
            (vec!["next", "--awaiting"], "card"),
            (vec!["list", "--all"], "task-page"),
            (vec!["list", "--awaiting"], "task-page"),
            (vec!["ready"], "task-page"),
            (vec!["tree", "--all"], "tree"),
            (vec!["notes", &task], "notes"),
            (vec!["messages", "--all"], "message-page"),
            (vec!["audit", "list"], "audit"),
            (vec!["audit", "verify"], "audit-verified"),
            (vec!["doctor"], "doctor"),
        ] {
            let value = space.ann(&[args.as_slice(), &["--json"]].concat()).json();
            schemas.check(schema, &value);
            let is_page = value.get("items").is_some();
            for item in value.get("items").and_then(Value::as_array).into_iter().flatten() {
                schemas.check(schema.trim_end_matches("-page"), item);
            }
            assert_eq!(is_page, schema.ends_with("-page"), "{args:?}");
        }
        let tokens = space.run(Who::Terminal, &["token", "list", "--json"]).json();
        schemas.check("token-page", &tokens);
    }
}

everywhere! {
    /// Commands that change something print what came of it.
    fn every_write_fits_its_schema(space: &Space) {
        let schemas = Schemas::new();
        let json = |who: Who<'_>, args: &[&str]| space.run(who, &[args, &["--json"]].concat()).json();
        let (ann, coder) = (Who::Human("ann"), Who::Agent("coder"));
        let task = json(coder, &["create", "Build it", "--awaiting", "approval"]);
        schemas.check("task", &task);
        assert_eq!(task["gates"][0]["kind"], "approval");
        let task = task["handle"].as_str().unwrap().to_owned();
        schemas.check("answered", &json(ann, &["reject", &task, "no"]));
        for args in [
            vec!["update", &task, "--awaiting", "input"],
            vec!["update", &task, "--awaiting=null"],
            vec!["note", &task, "text"],
            vec!["defer", &task],
            vec!["reopen", &task],
            vec!["dep", "add", &task, &space.create(&["Base"])],
            vec!["close", &task],
            vec!["delete", &task],
        ] {
            schemas.check("task", &json(ann, &args));
        }
        let requires = space.create(&["Build it", "--requires", "review"]);
        let waits = space.run(coder, &["close", &requires, "--json"]).exits(12).stdout;
        let waits: Value = serde_json::from_str(&waits).unwrap();
        schemas.check("task", &waits);
        assert_eq!(waits["gates"][0]["kind"], "review");
        schemas.check("task", &json(coder, &["next"]));
        let gate = json(coder, &["ask", "Which?", "-o", "a", "-o", "b"]);
        schemas.check("gate", &gate);
        let gate = gate["handle"].as_str().unwrap().to_owned();
        schemas.check("answered", &json(ann, &["choose", &gate, "a"]));
        let several = format!("{},{}", space.ask("coder", &["One?"]), space.ask("coder", &["Two?"]));
        schemas.check("answers", &json(ann, &["respond", &several, "yes"]));
        schemas.check("gate", &json(coder, &["wait", &gate]));
        let message = json(ann, &["tell", "coder", "text"]);
        schemas.check("message", &message);
        schemas.check("message-page", &json(coder, &["messages", "--ack", message["handle"].as_str().unwrap()]));
        let token = json(Who::Terminal, &["token", "create", "--role", "agent", "--name", "x"]);
        schemas.check("token", &token);
        assert!(token["secret"].as_str().unwrap().starts_with("sayso_a_"));
        schemas.check("token", &json(Who::Terminal, &["token", "revoke", token["handle"].as_str().unwrap()]));
        schemas.check("init", &json(Who::Script, &["init"]));
        let name = space.path().file_name().unwrap().to_str().unwrap();
        schemas.check("space-deleted", &json(ann, &["delete", "--whole-space", name]));
    }
}

everywhere! {
    /// What fails is JSON on stderr, and nothing is on stdout.
    fn errors_are_json_on_stderr(space: &Space) {
        let schemas = Schemas::new();
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        for (args, exit, code) in [
            (vec!["show", "g0000"], 3, "SAY001"),
            (vec!["approve", &gate, "--digest", "0123456789ab"], 6, "SAY005"),
            (vec!["respond", &gate, "well"], 2, "SAY006"),
            (vec!["wait", &gate, "--timeout", "0"], 7, "SAY014"),
            (vec!["list", "--awaiting", "nonsense"], 2, "SAY038"),
            (vec!["list", "--nonsense"], 2, "SAY038"),
            (vec!["nonsense"], 2, "SAY038"),
            (vec!["create"], 2, "SAY038"),
        ] {
            let ran = space.ann(&[args.as_slice(), &["--json"]].concat()).exits(exit);
            assert_eq!(ran.stdout, "", "{args:?}");
            let error: Value = serde_json::from_str(ran.stderr.trim()).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr));
            schemas.check("error", &error);
            assert_eq!((error["error"]["code"].as_str(), error["error"]["exit"].as_i64()), (Some(code), Some(i64::from(exit))), "{args:?}");
        }
    }
}
