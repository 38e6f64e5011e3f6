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

/// Never connected: the worker brings the hook for its run. What the policy asks about is held, and a no means
/// that it did not run.
pub(super) fn held_at_work(stage: &Stage<'_>) {
    let space = stage.space;
    policy(space, "space", POLICY);
    let touch = |file: &str| json!({"shell": format!("touch {{tree}}/{file}")});
    let steps = json!([touch("free.txt"), touch("asked.txt"), super::turns::completes()]);
    let task = stage.task(&["Touch things"], &json!([{"when": "Touch things", "steps": steps}]));
    let before = user_files(stage);
    let working = stage.start(&["--once"]);
    let gate = until(|| {
        let open = space.ann(&["inbox", "--json"]).json();
        open["items"][0]["handle"].as_str().map(str::to_owned)
    });
    let card = space.show(&gate);
    assert_eq!(card["kind"], "tool", "{card}");
    assert!(card["facts"].to_string().contains("asked.txt"), "{card}");
    let tree = stage.project.tree(&task);
    let is_there = |file: &str| tree.join(file).exists();
    assert!(is_there("free.txt") && !is_there("asked.txt"));
    space.ann(&["reject", &gate, "not that one"]).ok();
    working.ends();
    stage.work().ok();
    assert!(!is_there("asked.txt"));
    let files = stage.project.git(&["ls-tree", "--name-only", &stage.project.branch(&task)]);
    assert!(files.contains("free.txt") && !files.contains("asked.txt"), "{files}");
    let base = stage.project.git(&["ls-tree", "--name-only", "main"]);
    assert!(!base.contains("asked.txt"), "{base}");
    let told = stage.model.request("Touch things", 2);
    assert!(told.holds("result", "not that one"), "the model hears why: {told:#?}");
    assert_eq!(user_files(stage), before, "the user's own settings are as they were");
    stage.ends(&task);
}

/// The settings that a client's user keeps at home.
fn user_files(stage: &Stage<'_>) -> Vec<(&'static str, Option<String>)> {
    let files = [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".codex/config.toml",
        ".gemini/settings.json",
    ];
    let read = |file: &str| {
        let text = std::fs::read_to_string(stage.home().join(file)).ok();
        // Codex notes on its own which projects it has seen.
        text.map(|text| text.split("[projects.").next().unwrap_or_default().trim().to_owned())
    };
    files.map(|file| (file, read(file))).to_vec()
}

/// Hooks are switched off: what the agent did past them is not brought home, and a person is told.
pub(super) fn found_past_its_hook(stage: &Stage<'_>) {
    let space = stage.space;
    policy(space, "space", POLICY);
    let touch = json!({"shell": "touch {tree}/asked.txt"});
    let steps = json!([touch, super::turns::completes()]);
    let task = stage.task(&["Touch things"], &json!([{"when": "Touch things", "steps": steps}]));
    let settings = stage.home().join(".claude/settings.json");
    if stage.client == Client::ClaudeCode {
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(settings, "{}").unwrap();
    }
    let variables = switch_off(stage);
    let mut worker = stage.worker(&["--once"]);
    let ran = space.finish(worker.envs(variables.iter().copied()));
    if stage.client == Client::Codex {
        // It says beforehand that it knows no hooks, and is not started.
        ran.exits(2).refused("SAY064");
        return assert_eq!(space.state(&task), "open");
    }
    ran.says("waits for a person").ok();
    let card = space.show(&space.gate(&task));
    assert!(card["question"].as_str().unwrap().contains("called tools without asking"), "{card}");
    assert_ne!(space.state(&task), "closed");
    let files = stage.project.git(&["log", "--all", "--name-only", "--format="]);
    assert!(!files.contains("asked.txt"), "{files}");
    space.verify();
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
