//! A passphrase at a real terminal: once set, verdicts need it, and it counts for one terminal.

use crate::harness::{Backend, Ran, SAYSO, Space, Who, on_both};
use std::io::{Read, Write};
use std::process::{Output, Stdio};
use std::time::Duration;

const PHRASE: &str = "correct horse";

/// A terminal of its own in which a line of shell is run. What is asked for is typed once it is.
fn at_a_terminal(space: &Space, line: &str, typed: &[&str]) -> Ran {
    let like = space.command(Who::Terminal, &[]);
    let mut command = crate::harness::at_terminal(&line.replace("sayso", SAYSO));
    command.current_dir(space.path()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keyboard, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = vec![];
    for line in typed {
        // A terminal drops what was typed before the prompt.
        while !shown.ends_with(b": ") {
            let mut byte = [0];
            assert_eq!(screen.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
            shown.push(byte[0]);
        }
        std::thread::sleep(Duration::from_millis(50));
        writeln!(keyboard, "{line}").unwrap();
        shown.push(b'\n');
    }
    screen.read_to_end(&mut shown).unwrap();
    let status = child.wait().unwrap();
    Ran::of(&Output { status, stdout: shown, stderr: vec![] })
}

on_both! {
    fn a_verdict_needs_the_passphrase_of_this_terminal(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let other = space.ask("coder", &["Ship it there?", "--verdict"]);
        // Set and unlocked here, and a verdict in the same terminal goes through.
        let ran = at_a_terminal(
            space,
            &format!("sayso unlock --set && sayso approve {gate} --no-input && sayso lock && sayso approve {other} --no-input"),
            &[PHRASE, PHRASE, PHRASE],
        );
        let ran = ran.exits(5).refused("SAY012").says("unlocked until").says("locked");
        assert!(!ran.stdout.contains(PHRASE), "it is not echoed: {}", ran.stdout);
        let answer = &space.show(&gate)["answer"];
        assert_eq!((answer["verdict"].as_str(), answer["proof"].as_str()), (Some("approved"), Some("passphrase")));
        // Another terminal is locked, for verdicts and for what amounts to one.
        let task = space.create(&["Build it", "--requires", "approval"]);
        for args in [
            vec!["approve", other.as_str(), "--no-input"],
            vec!["reject", &other, "no", "--json"],
            vec!["update", &task, "--requires", "null", "--no-input"],
            vec!["close", &task, "--no-input"],
            vec!["token", "create", "--role", "human", "--name", "eve", "--no-input"],
        ] {
            space.run(Who::Terminal, &args).exits(5).refused("SAY012");
        }
        assert_eq!(space.show(&other)["state"], "open");
        // A wrong one is refused and written down.
        at_a_terminal(space, &format!("sayso approve {other}"), &["wrong horse"]).exits(4).refused("SAY039");
        assert!(space.audit().iter().any(|e| e["outcome"] == "refused" && e["object"] == "SAY039"));
        at_a_terminal(space, &format!("sayso approve {other}"), &[PHRASE]).exits(0);
        assert_eq!(space.show(&other)["answer"]["proof"], "passphrase");
        space.verify();
    }
}

on_both! {
    /// Wrong passphrases are slowed down at the terminal at which they are typed, and keep the right one out of no other.
    fn wrong_ones_lock_their_own_terminal_alone(space: &Space) {
        at_a_terminal(space, "sayso unlock --set", &[PHRASE, PHRASE, PHRASE]).exits(0);
        let line = "for n in 1 2 3 4 5 6; do sayso unlock; done; sayso unlock";
        let wrong = [&["wrong horse"; 6][..], &[PHRASE]].concat();
        let ran = at_a_terminal(space, line, &wrong).exits(4).refused("SAY054");
        assert_eq!(ran.stdout.matches("SAY039").count(), 5, "{}", ran.stdout);
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        at_a_terminal(space, &format!("sayso unlock && sayso approve {gate} --no-input"), &[PHRASE]).exits(0);
        assert_eq!(space.show(&gate)["answer"]["proof"], "passphrase");
        // Nor is the passphrase kept from being changed.
        let line = "for n in 1 2 3 4 5 6; do sayso unlock --set; done";
        let wrong: Vec<_> = std::iter::repeat_n(["wrong horse", "a new horse", "a new horse"], 6).flatten().collect();
        at_a_terminal(space, line, &wrong).exits(4).refused("SAY054");
        let all = [PHRASE, "a new horse", "a new horse", "a new horse"];
        at_a_terminal(space, "sayso unlock --set", &all).exits(0);
        space.verify();
    }
}

on_both! {
    /// A gate may ask for more proof than a token or a terminal gives.
    fn a_gate_that_needs_more_proof(space: &Space) {
        let gate = space.ask("coder", &["Drop it?", "--verdict", "--proof", "passphrase"]);
        space.ann(&["show", &gate]).exits(0).says("it takes passphrase as proof");
        space.ann(&["approve", &gate]).exits(5).refused("SAY012").says("sayso unlock");
        space.run(Who::Terminal, &["approve", &gate]).exits(5).refused("SAY012");
        let tty = space.ask("coder", &["Drop it?", "--verdict", "--proof", "tty"]);
        space.ann(&["approve", &tty]).exits(5).refused("SAY012");
        space.ann(&["withdraw", &tty]).exits(5).refused("SAY012");
        space.run(Who::Terminal, &["approve", &tty]).ok();
        assert_eq!(space.show(&tty)["answer"]["proof"], "tty");
        assert_eq!(space.show(&gate)["state"], "open");
    }
}

#[test]
fn a_passphrase_is_chosen_with_care() {
    let space = Space::bare(Backend::Sqlite);
    // Nobody is asked for what there is not.
    at_a_terminal(&space, "sayso unlock", &[]).exits(4).refused("SAY039").says("--set");
    at_a_terminal(&space, "sayso unlock --set", &["short", "short"]).exits(2).refused("SAY038");
    at_a_terminal(&space, "sayso unlock --set", &[PHRASE, "another horse"])
        .exits(4)
        .refused("SAY039");
    space.run(Who::Terminal, &["unlock", "--no-input"]).exits(2).refused("SAY041");
    at_a_terminal(&space, "sayso unlock --set", &[PHRASE, PHRASE, PHRASE]).exits(0);
    // Changing it takes the one before.
    at_a_terminal(&space, "sayso unlock --set", &["wrong horse", "new horse 2", "new horse 2"])
        .exits(4)
        .refused("SAY039");
}
