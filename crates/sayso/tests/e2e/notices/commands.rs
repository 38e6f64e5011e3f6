//! A command: run as it is set, with what it needs and nothing more, and ended when its time is over.

use super::{notices, set_channels, until};
use crate::harness::{SAYSO, Space, Who, on_both};
use std::os::unix::fs::PermissionsExt;

/// Writes a script beside the settings.
fn script(space: &Space, name: &str, text: &str) {
    let path = space.path().join(".sayso").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn read(space: &Space, name: &str) -> String {
    std::fs::read_to_string(space.path().join(".sayso").join(name)).unwrap_or_default()
}

on_both! {
    /// No shell reads the arguments; the notice is on standard input and in variables; no token of ours is
    /// in reach, and nothing the command does is a person's.
    fn it_gets_the_notice_and_no_token(space: &Space) {
        script(space, "bell.sh", &format!(
            "cat > heard.json; env > heard.env; printf '%s\\n' \"$@\" > heard.args\n\
             {SAYSO} respond \"$SAYSO_NOTICE_GATE\" yes > heard.tried 2>&1"));
        set_channels(space, "bell: {command: [./bell.sh, \"$(id)\", \"; rm -rf /\", \"two words\"]}");
        let gate = space.ask("coder", &["Ship\u{1b}[2J it?"]);
        // The courier has a person's token; its command has not.
        space.ann(&["notices", "send"]).ok();
        assert_eq!(notices(space, &[]).len(), 1, "the command failed, since it could not answer");
        let heard: serde_json::Value = serde_json::from_str(&read(space, "heard.json")).unwrap();
        assert_eq!(heard["data"]["handle"], gate.as_str());
        assert_eq!(read(space, "heard.args"), "$(id)\n; rm -rf /\ntwo words\n");
        let env = read(space, "heard.env");
        for line in [
            format!("SAYSO_NOTICE_GATE={gate}"),
            "SAYSO_NOTICE_WHY=asked".into(),
            "SAYSO_NOTICE_TITLE=Ship␛[2J it?".into(),
            format!("SAYSO_NOTICE_LOOK=sayso show {gate}"),
        ] {
            assert!(env.lines().any(|have| have == line), "{line} not in\n{env}");
        }
        assert!(!env.contains("SAYSO_TOKEN") && !env.contains("sayso_"), "{env}");
        assert!(read(space, "heard.tried").contains("SAY010"), "{}", read(space, "heard.tried"));
        assert_eq!(space.show(&gate)["state"], "open");
        space.verify();
    }
}

/// One that does not end is ended, with what it started and whatever hid in a session of its own. What it
/// says is read, bounded, and shown.
#[test]
fn one_that_does_not_end_is_ended() {
    let space = Space::new(crate::harness::Backend::Sqlite);
    script(
        &space,
        "stuck.sh",
        "trap '' TERM INT HUP\necho $$ > pids\n\
        setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' &\n\
        sleep 300 & echo $! >> pids\n\
        head -c 3000000 /dev/zero >&2; echo >&2; echo 'stuck \u{1b}[2J' >&2\n\
        while :; do sleep 1; done",
    );
    set_channels(
        &space,
        "stuck: {command: [./stuck.sh], timeout: 2s}\n\
        fails: {command: [./fails.sh]}\nnone: {command: [./none.sh]}\nfine: {command: ['true']}\n\
        leaves: {command: [./leaves.sh]}",
    );
    script(&space, "fails.sh", "echo first >&2; echo 'no \u{1b}[31mway' >&2; exit 3");
    // What it leaves behind holds its output open, and holds us up no longer than it runs.
    script(&space, "leaves.sh", "sleep 300 & echo $! > left; exit 0");
    let test = |name: &str| space.run(Who::Human("ann"), &["notices", "test", name]);
    test("stuck").exits(1).says("ended after 2 seconds");
    let pids = read(&space, "pids");
    assert_eq!(pids.lines().count(), 3, "{pids}");
    for pid in pids.lines() {
        until(&format!("the end of {pid}"), || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
        });
    }
    test("fails").exits(1).says("it ended with code 3: no ␛[31mway");
    test("none").exits(1).says("cannot be run");
    test("fine").ok();
    test("leaves").ok();
    test("nobody").exits(3).says("there is no channel").says("fine");
    let left = read(&space, "left");
    let _ = std::process::Command::new("kill").arg(left.trim()).status();
}
