//! What came with a clone is not run before somebody has trusted it.

use super::set_channels;
use crate::harness::{Backend, Ran, Space, Who};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A project whose settings run something, as it is after `git clone`.
fn cloned() -> Space {
    let space = Space::new(Backend::Sqlite);
    set_channels(&space, "bell: {command: [sh, -c, \"echo rang >> rang.txt\"]}");
    space.run(Who::Script, &["untrust"]).says("is not trusted any more").ok();
    space
}

fn rang(space: &Space) -> usize {
    let text = std::fs::read_to_string(space.path().join(".sayso/rang.txt")).unwrap_or_default();
    text.lines().count()
}

fn change(space: &Space, from: &str, to: &str) {
    let path = space.path().join(".sayso/config.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn a_channel_of_a_clone_is_not_run() {
    let space = cloned();
    let asks = |space: &Space| -> Ran {
        space.run(Who::Agent("coder"), &["ask", "Ship?", "--wait", "--timeout", "1s"]).exits_not(0)
    };
    asks(&space);
    space.run(Who::Script, &["notices", "send"]).refused("SAY068").says("sayso trust").exits(5);
    space.ann(&["notices", "test", "bell"]).refused("SAY068").says("notify.bell of /");
    space.ann(&["doctor"]).says("notify.bell of /").says("is not trusted");
    assert_eq!(rang(&space), 0);

    let shown = space.run(Who::Script, &["trust", "--show", "--json"]).json();
    assert_eq!(
        (&shown["trusted"], &shown["settings"][0]["name"]),
        (&false.into(), &"notify.bell".into())
    );
    // An agent cannot have it run.
    let marked = [("CLAUDECODE", "1")];
    space.run(Who::With(&marked), &["trust"]).refused("SAY010").says("may not trust");
    assert_eq!(space.run(Who::Script, &["trust", "--show", "--json"]).json()["trusted"], false);

    space
        .run(Who::Script, &["trust"])
        .says("notify.bell  sh -c")
        .says("is trusted as it is now")
        .ok();
    space.ann(&["notices", "test", "bell"]).ok();
    assert_eq!(rang(&space), 1);
    space.ann(&["doctor"]).never_says("not trusted");

    // A change is another file.
    change(&space, "echo rang", "echo louder");
    space.ann(&["notices", "test", "bell"]).refused("SAY068");
    change(&space, "echo louder", "echo rang");
    space.ann(&["notices", "test", "bell"]).ok();
    space.run(Who::Script, &["untrust"]).ok();
    space.ann(&["notices", "test", "bell"]).refused("SAY068");
}

#[test]
fn agents_and_checks_of_a_clone_are_not_run() {
    for (from, to, name) in [
        ("agents: {}", "agents: {mine: {adapter: command, program: ./evil.sh}}", "agents.mine"),
        ("check: \"\"", "check: ./evil.sh", "work.check"),
        ("land_command: \"\"", "land_command: ./evil.sh", "work.land_command"),
        ("environment: []", "environment: [SECRET]", "work.environment"),
    ] {
        let space = Space::new(Backend::Sqlite);
        space.ann(&["trust"]).says("runs nothing, and needs no trust").ok();
        change(&space, from, to);
        space.run(Who::Script, &["work"]).refused("SAY068").says(name).exits(5);
        // Everything else goes on.
        space.ann(&["create", "Paint the door"]).ok();
        space.run(Who::Script, &["trust"]).says(name).ok();
        space.run(Who::Script, &["work"]).never_says("not trusted");
    }
}

/// A server or database that a clone names gets no credential, and says nothing about what is allowed.
#[test]
fn the_store_of_a_clone_gets_no_credential() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    std::thread::spawn(move || {
        listener.incoming().for_each(|_| {
            CALLS.fetch_add(1, Ordering::SeqCst);
        })
    });
    let calls = || CALLS.swap(0, Ordering::SeqCst);
    let space = Space::new(Backend::Sqlite);
    let token = space.token("coder");
    let clone = tempfile::tempdir().unwrap();
    std::fs::create_dir(clone.path().join(".sayso")).unwrap();
    let hook = "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}";
    let there = |args: &[&str]| -> Ran {
        let args = [&["-C", clone.path().to_str().unwrap()], args].concat();
        space.run_with_input(Who::Holder(&token), &args, hook)
    };
    for store in [format!("http://{address}"), format!("postgres://ann:secret@{address}/x")] {
        let settings = format!("space: shop\nstore: {store}\n");
        std::fs::write(clone.path().join(".sayso/config.yaml"), settings).unwrap();
        there(&["list"]).exits(5).refused("SAY068").says("store of /").says("sayso trust");
        there(&["init"]).exits(5).refused("SAY068");
        let mut hooked = space.command(Who::Holder(&token), &["hook", "claude-code"]);
        let hooked = hooked
            .current_dir(clone.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut hooked = hooked.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let _ = std::io::Write::write_all(&mut hooked.stdin.take().unwrap(), hook.as_bytes());
        let hooked = Ran::of(&hooked.wait_with_output().unwrap());
        assert!(!hooked.said().contains("\"allow\""), "{}", hooked.said());
        assert_eq!(calls(), 0, "{store} was called");
        // What it would use is shown, without the password.
        let shown = there(&["trust", "--show", "--json"]).json();
        assert_eq!(
            (&shown["trusted"], &shown["settings"][0]["name"]),
            (&false.into(), &"store".into())
        );
        assert!(!shown.to_string().contains("secret"), "{shown}");
        // One that is named by hand is meant; one that is trusted is used, and other settings may change then.
        there(&["--store", &store, "list"]).exits_not(0).never_says("SAY068");
        assert!(calls() > 0, "{store}");
        let trust = ["-C", clone.path().to_str().unwrap(), "trust"];
        space.run(Who::Script, &trust).says("store").ok();
        std::fs::write(
            clone.path().join(".sayso/config.yaml"),
            format!("space: shop\nstore: {store}\nhost: here\n"),
        )
        .unwrap();
        there(&["list"]).exits_not(0).never_says("SAY068");
        assert!(calls() > 0, "{store}");
        space.run(Who::Script, &["-C", clone.path().to_str().unwrap(), "untrust"]).ok();
        there(&["list"]).refused("SAY068");
    }
}

/// Where a model is chosen, nothing is run; one's own settings are one's own.
#[test]
fn what_runs_nothing_needs_no_trust() {
    let space = Space::new(Backend::Sqlite);
    change(&space, "agents: {}", "agents: {codex: {model: gpt-5}}");
    space.ann(&["doctor"]).never_says("not trusted");
    let own = space.path().join("xdg/sayso");
    std::fs::create_dir_all(&own).unwrap();
    let bell = "notify:\n  bell: {command: [sh, -c, \"echo rang >> rang.txt\"]}\n";
    std::fs::write(own.join("config.yaml"), bell).unwrap();
    space.ann(&["notices", "test", "bell"]).ok();
    assert_eq!(std::fs::read_to_string(own.join("rang.txt")).unwrap(), "rang\n");
}
