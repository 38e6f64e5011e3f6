//! Hooks: the client itself asks before a call runs. What is denied does not run and the model hears
//! why; what is asked about runs when a person has said yes (scenario R).

use super::client::Client;
use super::{Stage, until};
use crate::governed::policy;
use crate::harness::{Ran, Who};
use serde_json::{Value, json};

const POLICY: &str = "
rules:
  - {name: never, on: tool, match: {command: 'touch *denied.txt'}, then: deny, reason: That file is not yours.}
  - {name: first, on: tool, match: {command: 'touch *asked.txt'}, then: ask, reason: Somebody looks first.}
";

const REASON: &str = "That file is not yours.";

/// Lets the client ask sayso before every call, as its user would.
pub(super) fn connect(stage: &Stage<'_>, scope: &str) {
    let args = ["connect", stage.client.name(), "--scope", scope, "--yes"];
    let mut command = stage.at_home(stage.space.command(Who::Terminal, &args));
    let said = stage.space.finish(&mut command).says("is connected").never_says("does not trust");
    said.ok();
}

pub(super) fn ruled_on(stage: &Stage<'_>) {
    let space = stage.space;
    policy(space, "space", POLICY);
    connect(stage, "user");
    let touch = |file: &str| json!({"shell": format!("touch {{tree}}/{file}")});
    let steps = json!([
        touch("free.txt"),
        touch("denied.txt"),
        touch("asked.txt"),
        super::turns::completes()
    ]);
    let task = stage.task(&["Touch things"], &json!([{"when": "Touch things", "steps": steps}]));
    let working = stage.start(&["--once"]);
    let gate = until(|| {
        let open = space.ann(&["inbox", "--json"]).json();
        open["items"][0]["handle"].as_str().map(str::to_owned)
    });
    let card = space.show(&gate);
    assert_eq!(card["kind"], "tool");
    assert!(card["facts"].to_string().contains("asked.txt"), "{card}");
    let tree = stage.project.tree(&task);
    let is_there = |file: &str| tree.join(file).exists();
    assert!(is_there("free.txt") && !is_there("denied.txt") && !is_there("asked.txt"));
    space.ann(&["approve", &gate]).ok();
    working.ends();
    // One that ended at its call goes on with it now.
    stage.work().ok();
    assert_eq!(space.show(&gate)["acted"]["done"], true, "the grant is used up");
    stage.committed(&task, "asked.txt");
    let files = stage.project.git(&["ls-tree", "--name-only", &stage.project.branch(&task)]);
    assert!(!files.contains("denied.txt"), "{files}");
    let told = stage.model.request("Touch things", 2);
    assert!(told.holds("result", REASON), "the model hears why: {told:#?}");
    stage.ends(&task);
}

/// Runs `connect --check`, with these variables besides.
fn check(stage: &Stage<'_>, variables: &[(&str, &str)]) -> Ran {
    let args = ["connect", "--check", stage.client.name(), "--json"];
    let mut command = stage.at_home(stage.space.command(Who::Script, &args));
    stage.space.finish(command.envs(variables.iter().copied()))
}

/// What became of the checks, by name.
#[track_caller]
fn results(ran: &Ran) -> Vec<(String, String, String)> {
    let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = all[0]["checks"].as_array().unwrap().iter();
    checks.map(|c| (text(c, "name"), text(c, "result"), text(c, "seen"))).collect()
}

#[track_caller]
fn expect(ran: &Ran, name: &str, result: &str, seen: &str) {
    let all = results(ran);
    let fits = |c: &&(String, String, String)| c.0 == name && c.1 == result && c.2.contains(seen);
    assert!(all.iter().any(|check| fits(&check)), "no {name} {result} {seen:?} in {all:#?}");
}

/// Keeps the client from running its hooks, in its own way.
fn switch_off(stage: &Stage<'_>) -> &'static [(&'static str, &'static str)] {
    let edit = |path: &str, change: &dyn Fn(&mut Value)| {
        let path = stage.home().join(path);
        let mut all: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut all);
        std::fs::write(path, all.to_string()).unwrap();
    };
    match stage.client {
        Client::ClaudeCode => {
            edit(".claude/settings.json", &|all| all["disableAllHooks"] = true.into())
        }
        Client::Gemini => {
            edit(".gemini/settings.json", &|all| all["hooksConfig"]["enabled"] = false.into())
        }
        Client::Codex => {
            let path = stage.home().join(".codex/config.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, text.replace("[features]\n", "[features]\nhooks = false\n"))
                .unwrap();
        }
        Client::Opencode => return &[("OPENCODE_PURE", "1")],
    }
    &[]
}

/// The check runs the real client: it tells what is in order from what only looks like it, and asks
/// nobody but its own model.
pub(super) fn checked(stage: &Stage<'_>) {
    stage.model.plays("[]");
    let ran = check(stage, &[]).exits(2);
    expect(&ran, "settings", "failed", "not connected");
    connect(stage, "user");
    let ran = check(stage, &[]).exits(0);
    for (name, seen) in [
        ("version", "."),
        ("hook", "is run before a call"),
        ("call", "did not run"),
        ("reason", "is told why"),
    ] {
        expect(&ran, name, "ok", seen);
    }
    // A hook that is run and cannot rule blocks everything, and the check says so.
    let token = stage.space.path().join(format!(".sayso/tokens/{}.token", stage.client.name()));
    let kept = std::fs::read(&token).unwrap();
    std::fs::write(&token, "sayso_a_nonsense").unwrap();
    let ran = check(stage, &[]).exits(1);
    expect(&ran, "hook", "failed", "blocks everything");
    expect(&ran, "call", "ok", "did not run");
    std::fs::write(&token, kept).unwrap();
    let variables = switch_off(stage);
    let ran = check(stage, variables).exits_not(0);
    expect(&ran, "hook", "failed", "it is not run");
    if stage.client != Client::Opencode {
        expect(&ran, "switches", "failed", "");
    }
    // Codex may have no sandbox to run it in here.
    if stage.client != Client::Codex {
        expect(&ran, "call", "failed", "the call ran");
    }
    assert!(stage.model.is_unasked(), "the provider that is set up was asked");
}

/// Codex skips hooks it does not trust without a word: the check says so.
pub(super) fn untrusted(stage: &Stage<'_>) {
    stage.model.plays("[]");
    connect(stage, "user");
    let path = stage.home().join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("sha256:", "sha256:0")).unwrap();
    let ran = check(stage, &[]).exits_not(0);
    expect(&ran, "trust", "failed", "skips it without a word");
    expect(&ran, "hook", "failed", "it is not run");
    let mut doctor = stage.at_home(stage.space.command(Who::Script, &["doctor"]));
    stage.space.finish(&mut doctor).says("does not trust").says("write_stdin").ok();
    connect(stage, "user");
    check(stage, &[]).exits(0);
}

/// Connected for one project, in files of that project alone.
pub(super) fn checked_in_a_project(stage: &Stage<'_>) {
    stage.model.plays("[]");
    let project = stage.space.path().canonicalize().unwrap().display().to_string();
    // As after saying to the client that one trusts the project.
    match stage.client {
        Client::Codex => {
            let path = stage.home().join(".codex/config.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            let trust = format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n");
            std::fs::write(path, format!("{text}{trust}")).unwrap();
        }
        Client::Gemini => {
            let path = stage.home().join(".gemini/trustedFolders.json");
            std::fs::write(path, json!({project: "TRUST_FOLDER"}).to_string()).unwrap();
        }
        Client::ClaudeCode | Client::Opencode => {}
    }
    connect(stage, "project");
    let ran = check(stage, &[]).exits(0);
    expect(&ran, "hook", "ok", "is run before a call");
    expect(&ran, "call", "ok", "did not run");
    assert!(stage.model.is_unasked(), "the provider that is set up was asked");
}
