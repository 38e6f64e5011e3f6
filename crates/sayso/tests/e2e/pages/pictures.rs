//! Pictures of every page, as the guide shows them. With `SAYSO_PICTURES` set they are put there; with `SAYSO_LOOK`
//! naming a folder, every page is pictured there in four widths, in light and in dark, for whoever changed something.

use super::Desk;
use crate::governed::policy;
use crate::harness::{Space, in_places};
use crate::hooks::{event, hook};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The pages that are pictured by their own name.
const PAGES: [(&str, &str); 9] = [
    ("tasks", "tasks"),
    ("board", "tasks?view=board"),
    ("flows", "flows"),
    ("live", "live"),
    ("agents", "agents"),
    ("policy", "policy"),
    ("audit", "audit"),
    ("metrics", "metrics"),
    ("you", "you"),
];

in_places! {
    [sqlite: Sqlite]
    /// A page that cannot be pictured fails this, wherever it is run.
    fn of_every_page(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let shown = fill(space, &desk);
        let guide = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/pictures");
        let to = match std::env::var_os("SAYSO_PICTURES") {
            Some(_) => guide,
            None => space.path().join("pictures"),
        };
        std::fs::create_dir_all(&to).unwrap();
        let take = |name: &str| take(&desk, &to.join(format!("{name}.png")));
        for (name, path) in PAGES {
            desk.go(path);
            take(name);
        }
        desk.go(&format!("tasks/{}", shown.task));
        take("task");
        desk.go(&format!("flows/{}", shown.flow));
        take("flow");
        desk.go(&format!("gates/{}", shown.gate));
        desk.drawn(&shown.gate);
        take("gate");
        page.look(1280, 800, "dark");
        desk.go(&format!("inbox#{}", shown.gate));
        desk.drawn(&shown.gate);
        take("inbox-dark");
        page.look(1280, 800, "light");
        desk.go("tasks");
        desk.go(&format!("inbox#{}", shown.choice));
        desk.drawn(&shown.choice);
        take("inbox");
        page.look(390, 760, "light");
        desk.go(&format!("gates/{}", shown.gate));
        desk.drawn(&shown.gate);
        take("phone");
        if let Some(folder) = std::env::var_os("SAYSO_LOOK") {
            look(&desk, &shown, Path::new(&folder));
        }
        desk.is_content();
    }
}

fn take(desk: &Desk, file: &Path) {
    let page = &desk.browser;
    // The folder of a test has no name to show.
    page.eval("document.querySelector('.brand .space')?.replaceChildren('shop')");
    page.picture(file);
    // A page that shows nothing makes a small picture.
    assert!(std::fs::metadata(file).unwrap().len() > 8_000, "{}", file.display());
}

/// Every page, in four widths, in light and in dark.
fn look(desk: &Desk, shown: &Shown, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let gates = [&shown.gate, &shown.choice, &shown.form, &shown.call, &shown.done];
    let gates = gates.map(|gate| (format!("gate-{gate}"), format!("gates/{gate}")));
    let plain = PAGES.map(|(name, path)| (name.to_owned(), path.to_owned()));
    let more = [
        ("inbox".to_owned(), format!("inbox#{}", shown.call)),
        ("inbox-done".to_owned(), "inbox?view=done".to_owned()),
        ("inbox-groups".to_owned(), "inbox?view=groups".to_owned()),
        ("task".to_owned(), format!("tasks/{}", shown.task)),
        ("flow".to_owned(), format!("flows/{}", shown.flow)),
    ];
    for (name, path) in plain.into_iter().chain(more).chain(gates) {
        for (width, height) in [(320, 640), (768, 1024), (1280, 800), (1920, 1080)] {
            for scheme in ["light", "dark"] {
                desk.browser.look(width, height, scheme);
                desk.go(&path);
                std::thread::sleep(std::time::Duration::from_millis(300));
                take(desk, &folder.join(format!("{name}-{width}-{scheme}.png")));
            }
        }
    }
    // The bar that says what is marked.
    for (width, height) in [(768, 1024), (1280, 800)] {
        desk.browser.look(width, height, "light");
        desk.go("inbox#");
        desk.browser.press("j");
        std::thread::sleep(std::time::Duration::from_secs(1));
        for key in ["x", "j", "x", "j", "x"] {
            desk.browser.press(key);
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
        take(desk, &folder.join(format!("marked-{width}-light.png")));
    }
}

/// What there is to look at.
struct Shown {
    flow: String,
    task: String,
    gate: String,
    choice: String,
    form: String,
    call: String,
    done: String,
}

/// A space in which something goes on.
fn fill(space: &Space, desk: &Desk) -> Shown {
    policy(
        space,
        "space",
        "rules:\n  - name: pushes\n    on: tool\n    match: {command: git push *}\n    then: ask\n    ask: {of: ann and bob, risk: high, proof: presence}\n",
    );
    let epic = space.create(&["Checkout 2.4", "--type", "epic"]);
    let task =
        space.create(&["Greet people by their name", "--parent", &epic, "--label", "frontend"]);
    space.create(&["Keep sessions over a restart", "--parent", &epic, "--label", "backend"]);
    space.create(&["Name the release"]);
    let handle = |gate: &Value| gate["handle"].as_str().unwrap().to_owned();
    let diff = "diff --git a/greet.sh b/greet.sh\n--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1,3 @@\n-echo \"hello\"\n+name=${1:?whom to greet}\n+echo \"hello, $name\"\n+exit 0\n";
    let gate = desk.server.ask("coder", json!({
        "question": "Sign off: greet people by their name", "kind": "approval", "task": task,
        "context": "The greeting takes a **name** now, and says so when there is none.\n\n- `greet.sh Ann` prints `hello, Ann`\n- all 12 tests pass\n",
        "facts": [{"name": "branch", "value": "sayso/greet-people"}, {"name": "diff", "value": diff}],
        "deadline": "4h",
    }));
    let choice = desk.server.ask(
        "tester",
        json!({"question": "Where shall sessions be kept?", "options": [
        {"name": "PostgreSQL", "consequence": "one more table, survives restarts"},
        {"name": "Redis", "consequence": "quick, but one more service to run"},
    ], "other": true}),
    );
    desk.server.ask("tester", json!({"question": "What shall the release be called?", "context": "It goes out on Friday."}));
    let form = desk.server.ask("coder", super::forms::every_field());
    let call = event(
        "PreToolUse",
        "Bash",
        &json!({"command": "git push --force origin main", "description": "Push the fix"}),
    );
    hook(space, "coder", "claude-code", "PreToolUse", &call, "0s").exits(2);
    let waiting = space.ann(&["inbox", "--json"]).json();
    let is_call = |card: &&Value| card["kind"] == "tool";
    let call = handle(waiting["items"].as_array().unwrap().iter().find(is_call).unwrap());
    let flow = flows(space);
    let mut done = String::new();
    for (question, verdict) in [
        ("Merge the fix?", "approved"),
        ("Delete old branches?", "approved"),
        ("Push to main?", "rejected"),
    ] {
        let gate = desk.server.ask("coder", super::approval(question));
        let said = json!({"verdict": verdict, "reason": "as we said"});
        desk.server.answer("bob", &gate, said).is(200);
        done = handle(&gate);
    }
    let (gate, choice, form) = (handle(&gate), handle(&choice), handle(&form));
    Shown { flow, task, gate, choice, form, call, done }
}

/// A flow that is done, one that was taken back, and one at its second question, which is named.
fn flows(space: &Space) -> String {
    let answer = |flow: &str, verb: &[&str]| {
        let shown = space.ann(&["flow", "show", flow, "--json"]).json();
        let gate = shown["waits_for"][0].as_str().unwrap();
        space.ann(&[&[verb[0], gate], &verb[1..]].concat()).ok();
        space.run(crate::harness::Who::Script, &["flow", "resume", flow]).exits_not(1);
    };
    let done = super::flows::begin(space, "2.3.9");
    answer(&done, &["approve"]);
    answer(&done, &["choose", "eu"]);
    let taken_back = super::flows::begin(space, "2.4.0");
    space.ann(&["flow", "cancel", &taken_back, "superseded by 2.4.1"]).ok();
    let flow = super::flows::begin(space, "2.4.1");
    answer(&flow, &["reject", "the notes are missing"]);
    answer(&flow, &["approve"]);
    flow
}
