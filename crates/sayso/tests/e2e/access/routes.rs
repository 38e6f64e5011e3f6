//! Every operation of the API, the event streams among them, and every other route.

use super::stage::{Holder, Stage};
use super::{About, Need, Said, check};
use crate::api::{text, ulid};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use About::{Gate, Message, Nothing, Task};
use Need::{All, Any, Never, One};

/// An operation: its name, who may do it, and what it is about.
type Row = (&'static str, Need, About);

const TRACKERS: Need = One("TR");
const ROWS: &[Row] = &[
    ("listAgents", TRACKERS, Nothing),
    ("showAgent", TRACKERS, Nothing),
    ("spawnAgent", One("T"), Nothing),
    ("restartAgent", One("T"), Nothing),
    ("stopAgent", One("T"), Nothing),
    ("listAudit", One("U"), Nothing),
    ("verifyAudit", One("U"), Nothing),
    ("delegateGate", One("A"), Gate),
    ("listAway", One("R"), Nothing),
    ("goAway", One("A"), Nothing),
    ("comeBack", One("A"), Nothing),
    ("listFlows", One("R"), Nothing),
    ("showFlow", One("R"), Nothing),
    ("cancelFlow", One("O"), Nothing),
    ("streamFlow", One("R"), Nothing),
    ("listInbox", Any, Nothing),
    ("showCard", One("R"), Gate),
    ("seeGate", One("R"), Gate),
    ("listGates", Any, Nothing),
    ("openGate", One("Q"), Nothing),
    ("showGate", One("R"), Gate),
    ("answerGate", One("A"), Gate),
    ("answerGates", Any, Nothing),
    ("reviseGate", Never, Gate),
    ("withdrawGate", One("A"), Gate),
    ("claimGate", One("A"), Gate),
    ("releaseGate", One("A"), Gate),
    ("snoozeGate", One("A"), Gate),
    ("extendGate", One("A"), Gate),
    ("deliverGate", One("T"), Gate),
    ("acknowledgeGate", One("T"), Gate),
    ("listMessages", Any, Nothing),
    ("sendMessage", One("T"), Nothing),
    ("readMessage", One("T"), Message),
    ("listPasskeys", One("A"), Nothing),
    ("beginPasskey", One("A"), Nothing),
    // What goes along with it is made by a browser, and nothing else can be read.
    ("addPasskey", Any, Nothing),
    ("removePasskey", One("A"), Nothing),
    ("askForPresence", One("A"), Gate),
    ("showPolicy", TRACKERS, Nothing),
    ("explainPolicy", TRACKERS, Nothing),
    ("listRuns", TRACKERS, Nothing),
    ("listTasks", TRACKERS, Nothing),
    ("createTask", One("T"), Nothing),
    ("showTask", TRACKERS, Task),
    ("editTask", One("T"), Task),
    ("deleteTask", All("AT"), Task),
    ("taskHistory", TRACKERS, Task),
    ("noteTask", One("T"), Task),
    ("closeTask", All("AT"), Task),
    ("reopenTask", One("T"), Task),
    ("deferTask", All("AT"), Task),
    ("addDependency", One("T"), Task),
    ("removeDependency", One("T"), Task),
    ("streamEvents", Any, Nothing),
    ("showMetrics", One("R"), Nothing),
    ("listTokens", One("N"), Nothing),
    ("createToken", One("N"), Nothing),
    ("revokeToken", One("N"), Nothing),
];

/// The document, for which nobody needs a credential.
const PUBLIC: &str = "showApi";

/// Routes beside those of the API and the pages, and where each of them is tested.
const OTHERS: &[&str] = &[
    "/",
    "/login",
    "/s/{space}",
    "/assets/{version}/{file}",
    "/manifest.webmanifest",
    "/errors/{code}",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/line/{space}/{call}",
    "/mcp/{space}",
    "/session/{space}",
    "/session/{space}/join",
    "/session/{space}/code",
    "/session/{space}/touch/begin",
    "/session/{space}/touch",
    "/session/{space}/unlock",
];

pub(super) fn check_all(stage: &mut Stage) -> usize {
    let document =
        stage.server.raw(&stage.server.request("GET", "/v1/openapi.json", None, None)).is(200);
    let mut operations = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = text(&operation["operationId"]).to_owned();
            operations.push((name, method.to_uppercase(), path.clone()));
        }
    }
    let mut cells = 0;
    for (name, method, path) in operations.iter().filter(|(name, ..)| name != PUBLIC) {
        let row = ROWS.iter().find(|(row, ..)| row == name);
        let (_, need, about) =
            *row.unwrap_or_else(|| panic!("{name} has no row in the table of routes"));
        let is_safe = method == "GET";
        cells += check(stage, name, (need, about, is_safe), &|stage, holder, object| {
            operate(stage, holder, (name, method, path), object)
        });
    }
    assert_eq!(ROWS.len(), operations.len() - 1);
    check_others();
    cells + figures(stage)
}

fn operate(
    stage: &Stage,
    holder: &Holder,
    (name, method, path): (&str, &str, &str),
    object: &str,
) -> Option<Said> {
    // Its body cannot be read here, and that is told before the word is asked for.
    if name == "addPasskey" && holder.lacks_word {
        return None;
    }
    let object = if object.is_empty() { "nothing" } else { object };
    let mut path = path.replace("{space}", &stage.server.space);
    if name.ends_with("Dependency") {
        // A task cannot wait for itself; which of them is refused is the same to those who see none.
        path = path.replace("{on}", object);
    }
    while let Some((head, rest)) = path.split_once('{') {
        path = format!("{head}{object}{}", rest.split_once('}').unwrap().1);
    }
    if name == "streamEvents" {
        path += "?after=0&heartbeat=1s";
    }
    let body = (method != "GET").then(|| body(stage, name, object));
    Some(stage.send(holder, method, &path, body.as_ref()))
}

fn body(stage: &Stage, name: &str, object: &str) -> Value {
    let digest = stage.digest(object);
    match name {
        "openGate" => json!({"question": "Mine?"}),
        "answerGate" => json!({"verdict": "approved", "text": "yes", "digest": digest}),
        "answerGates" => {
            json!({"answers": [{"gate": ulid(1), "answer": {"verdict": "approved", "digest": "x"}}]})
        }
        "seeGate" => json!({"digest": digest}),
        "askForPresence" => json!({"digest": digest}),
        "reviseGate" => json!({"question": "Mine?"}),
        "claimGate" | "snoozeGate" | "extendGate" | "goAway" => json!({"until": "1h"}),
        "delegateGate" => json!({"to": "ann"}),
        "sendMessage" => json!({"to": "tester", "text": "psst"}),
        "createTask" => json!({"title": "Another"}),
        "editTask" => json!({"priority": 3}),
        "noteTask" => json!({"text": "hm"}),
        "explainPolicy" => json!({"on": "tool", "tool": "Bash", "command": "ls"}),
        "createToken" => json!({"role": "agent", "name": "another"}),
        "beginPasskey" => json!({"label": "x"}),
        _ => json!({}),
    }
}

/// Every route of the source is in one of the tables.
fn check_others() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sayso-server/src");
    let mut found = BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for rest in source.split(".route(").skip(1) {
                let first = rest.trim_start();
                // What is no text comes from a table that is looked at elsewhere.
                found.extend(
                    first.strip_prefix('"').map(|path| path.split('"').next().unwrap().to_owned()),
                );
            }
        }
    }
    let known: BTreeSet<_> = OTHERS.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(found, known, "a route without a row");
}

/// The figures for Prometheus, which are for those who may measure.
fn figures(stage: &mut Stage) -> usize {
    check(stage, "/metrics", (One("MR"), Nothing, true), &|stage, holder, _| {
        // One of a browser names no space here.
        (!holder.is_browser()).then(|| stage.send(holder, "GET", "/metrics", None))
    })
}
