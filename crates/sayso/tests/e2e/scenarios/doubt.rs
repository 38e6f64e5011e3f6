//! A terminal alone is no person: agents make terminals, too, and some are on no list. Nor is anybody a
//! person where agents could not be seen. A passphrase speaks for a person there.

use crate::harness::{Backend, Ran, SAYSO, Space, Who, at_terminal, everywhere, on_both};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PHRASE: &str = "correct horse";

/// A shell without a terminal and without any mark, as a headless agent runs it. `$0` is sayso.
fn headless(space: &Space, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{line}; exit $?"), SAYSO]);
    dressed(space, command)
}

fn dressed(space: &Space, mut command: Command) -> Command {
    let like = space.command(Who::Script, &[]);
    command.current_dir(space.path()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// `script` under another name, in the space's folder.
fn emulator(space: &Space, name: &str) -> String {
    let at = Command::new("sh").args(["-c", "command -v script"]).output().unwrap().stdout;
    let (from, to) = (String::from_utf8(at).unwrap(), space.path().join(name));
    std::fs::copy(from.trim(), &to).unwrap();
    to.display().to_string()
}

/// Types lines when they are asked for.
fn typing(mut command: Command, typed: &[&str]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keyboard, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = vec![];
    for line in typed {
        while !shown.ends_with(b": ") {
            let mut byte = [0];
            assert_eq!(screen.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
            shown.push(byte[0]);
        }
        std::thread::sleep(Duration::from_millis(100));
        writeln!(keyboard, "{line}").unwrap();
        shown.push(b'\n');
    }
    screen.read_to_end(&mut shown).unwrap();
    let status = child.wait().unwrap();
    Ran::of(&Output { status, stdout: shown, stderr: vec![] })
}

#[track_caller]
fn is_refused(space: &Space, gate: &str, ran: Ran, why: &str) {
    // Behind a server the user has a passphrase, and where they can type it they are asked for it.
    let is_asked = space.backend == Backend::Served && !ran.said().contains("SAY063");
    let code = if is_asked { "SAY012" } else { "SAY063" };
    let ran = ran.exits(5).refused(code);
    if !is_asked {
        ran.says(why);
    }
    assert_eq!(space.show(gate)["state"], "open");
    let refused =
        |entry: &serde_json::Value| entry["outcome"] == "refused" && entry["object"] == code;
    assert!(space.audit().iter().any(refused), "it is written down");
}

everywhere! {
    /// Made by a program, a moment ago, or that of others: whoever made it, and on whatever list they are.
    fn a_terminal_alone_is_no_person(space: &Space) {
        let gate = &space.ask("coder", &["Ship?", "--verdict"]);
        let run = |line: &str| space.finish(&mut headless(space, line));
        let ran = run(&format!("script -qec \"$0 approve {gate} --no-input\" /dev/null"));
        is_refused(space, gate, ran, "made by script");
        // The agent's own terminal may be a person's; that of its tool is not.
        let line = format!("script -qec '{SAYSO} approve {gate} --no-input' /dev/null");
        is_refused(space, gate, space.finish(&mut space.line(&line)), "made by script");
        let xterm = emulator(space, "xterm");
        let ran = run(&format!("'{xterm}' -qec \"$0 approve {gate} --no-input\" /dev/null"));
        is_refused(space, gate, ran, "a moment ago");
        let line = format!("on=$(tty); setsid --wait sh -c \"'{SAYSO}' approve {gate} --no-input <$on 2>&1\"");
        is_refused(space, gate, space.finish(&mut space.line(&line)), "another terminal, or to none");
        // Every side door is the same door.
        let task = space.create(&["Build it", "--requires", "approval"]);
        for line in [
            format!("update {task} --requires null --no-input"),
            format!("close {task} --no-input"),
            "token create --role human --name eve --no-input".into(),
            "people invite eve --admin --no-input".into(),
        ] {
            run(&format!("script -qec \"$0 {line}\" /dev/null")).exits_not(0);
        }
        assert_ne!(space.state(&task), "closed");
        space.run(Who::Terminal, &["approve", gate]).ok();
        space.verify();
    }
}

everywhere! {
    /// Agents whose commands carry no mark are known by their programs.
    fn agents_are_known_by_their_programs(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let sh = std::fs::canonicalize("/bin/sh").unwrap();
        let mut looked_at = 0;
        for name in ["copilot", "kimi-code", "qwen", "goose", "cursor-agent", "amp", "droid", "crush", "cline"] {
            let agent = space.path().join(name);
            std::fs::copy(&sh, &agent).unwrap();
            let line = format!("'{}' -c \"script -qec '$0 approve {gate}' /dev/null; exit \\$?\"", agent.display());
            space.finish(&mut headless(space, &line)).exits(5).refused("SAY010").says(name);
            looked_at += 1;
        }
        assert_eq!(looked_at, 9);
        assert_eq!(space.show(&gate)["state"], "open");
    }
}

everywhere! {
    /// A program that reads each key at its terminal, and lets a tool reach for it, has not become a person by that.
    fn a_terminal_that_another_program_reads_is_no_person(space: &Space) {
        let gate = &space.ask("coder", &["Ship?", "--verdict"]);
        let approve = format!("'{SAYSO}' approve {gate} --no-input");
        let raw = |line: &str| format!("stty raw -echo; {line}; code=$?; stty sane; exit $code");
        let by_name = format!("{approve} </dev/tty >said.txt 2>&1; code=$?; cat said.txt; exit $code");
        for (line, why) in [
            (raw(&approve), "another program reads what is typed"),
            (raw(&format!("sh -c \"{approve} </dev/tty\"")), "another program reads what is typed"),
            (format!("sh -c \"{}\"", by_name.replace('$', "\\$")), "another terminal, or to none"),
        ] {
            is_refused(space, gate, space.finish(&mut space.line(&line)), why);
        }
        // A shell waits for whole lines, whatever is piped into its commands or read by them.
        space.finish(&mut space.line(&format!("echo x | '{SAYSO}' approve {gate} </dev/tty"))).exits(0);
    }
}

on_both! {
    /// A tmux that nobody looks at is nobody's; one that a person is attached to is theirs.
    fn tmux_is_a_person_when_one_is_attached(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let (socket, said) = (space.path().join("tmux"), space.path().join("said"));
        let (socket, said) = (socket.to_str().unwrap(), said.to_str().unwrap());
        let mut tmux = dressed(space, Command::new("tmux"));
        let line = format!("read -r x; sleep 2.2; {SAYSO} approve {gate} >{said} 2>&1; echo $? >>{said}; read -r x; {SAYSO} approve {gate} >{said}2 2>&1; echo $? >>{said}2; read -r x");
        tmux.args(["-f", "/dev/null", "-S", socket, "new-session", "-d", "-s", "it", "sh", "-c", &line]);
        assert!(tmux.status().unwrap().success());
        let enter = || Command::new("tmux").args(["-S", socket, "send-keys", "-t", "it", "Enter"]).status().unwrap();
        enter();
        let text = until(|| std::fs::read_to_string(said).ok().filter(|text| text.ends_with("5\n")));
        assert!(text.contains("SAY063") && text.contains("attached to this tmux"), "{text}");
        let mut person = at_terminal(&format!("stty cols 80 rows 24; exec tmux -S '{socket}' attach"));
        person.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut person = person.spawn().unwrap();
        until(|| {
            let clients = Command::new("tmux").args(["-S", socket, "list-clients"]).output().unwrap();
            (!clients.stdout.is_empty()).then_some(())
        });
        enter();
        let text = until(|| std::fs::read_to_string(format!("{said}2")).ok().filter(|text| text.ends_with('\n') && text.lines().count() > 1));
        assert!(text.ends_with("\n0\n"), "{text}");
        // A session of the same server that nobody looks at is not theirs, whatever pane it says it is.
        let other = space.ask("coder", &["Delete?", "--verdict"]);
        let line = format!("sleep 2.2; TMUX_PANE=%0 {SAYSO} approve {other} >{said}3 2>&1; echo $? >>{said}3; read -r x");
        let mut tmux = dressed(space, Command::new("tmux"));
        tmux.args(["-S", socket, "new-session", "-d", "-s", "agent", "sh", "-c", &line]);
        assert!(tmux.status().unwrap().success());
        let text = until(|| std::fs::read_to_string(format!("{said}3")).ok().filter(|text| text.ends_with('\n') && text.lines().count() > 1));
        assert!(text.ends_with("\n5\n") && text.contains("attached to this tmux"), "{text}");
        assert_eq!(space.show(&other)["state"], "open");
        let _ = Command::new("tmux").args(["-S", socket, "kill-server"]).status();
        person.kill().unwrap();
        person.wait().unwrap();
    }
}

/// Waits until there is something.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ways to keep processes from being seen; each runs the rest of its line.
const BLIND: [&str; 3] = [
    "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /proc; \"$@\"' sh",
    "unshare --user --map-root-user --pid --fork --mount-proc",
    "unshare --user --map-root-user --pid --fork",
];

everywhere! {
    /// Where agents cannot be seen, neither a terminal nor a person's token is a person.
    fn nobody_is_a_person_where_agents_cannot_be_seen(space: &Space) {
        let gate = &space.ask("coder", &["Ship?", "--verdict"]);
        let ann = space.token("ann").display().to_string();
        let mut looked_at = 0;
        for blind in BLIND {
            let marked = format!("AI_AGENT=x sh -c \"exec env -u AI_AGENT {} '{SAYSO}' approve {gate} --no-input\"", blind.replace('"', "\\\"").replace('$', "\\$"));
            let ran = space.finish(&mut space.line(&marked));
            is_refused(space, gate, ran, "processes cannot be seen");
            let line = format!("SAYSO_TOKEN_FILE='{ann}' {blind} '{SAYSO}' approve {gate} --no-input");
            is_refused(space, gate, space.finish(&mut headless(space, &line)), "processes cannot be seen");
            // Whoever cannot be told from an agent lets nothing run, either.
            for verb in ["trust", "untrust"] {
                let line = format!("{blind} '{SAYSO}' {verb}");
                space.finish(&mut headless(space, &line)).exits(5).refused("SAY063").says("processes cannot be seen");
            }
            let line = format!("SAYSO_TOKEN_FILE='{ann}' {blind} '{SAYSO}' create 'By a script' --json");
            let made = space.finish(&mut headless(space, &line));
            made.exits(0);
            let line = format!("{blind} '{SAYSO}' doctor --quick");
            let said = space.finish(&mut space.line(&line));
            said.says("agents cannot be seen here").never_says("no agent is seen");
            looked_at += 1;
        }
        assert_eq!(looked_at, BLIND.len());
    }
}

on_both! {
    /// A passphrase that was set where a person was seen counts where nothing shows one.
    fn a_passphrase_speaks_for_a_person(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let script = |line: &str, typed: &[&str]| {
            let line = format!("script -qec \"{line}\" /dev/null");
            typing(headless(space, &line), typed)
        };
        // Not here, where anybody could set it.
        script("$0 unlock --set", &[]).exits(5).refused("SAY063");
        typing(at_terminal_of(space, &format!("'{SAYSO}' unlock --set")), &[PHRASE; 3]).exits(0);
        script(&format!("$0 approve {gate} --no-input"), &[]).exits(5).refused("SAY012");
        script(&format!("$0 approve {gate}"), &["wrong horse"]).exits(4).refused("SAY039");
        assert_eq!(space.show(&gate)["state"], "open");
        script(&format!("$0 unlock && $0 approve {gate} --no-input"), &[PHRASE]).exits(0);
        assert_eq!(space.show(&gate)["answer"]["proof"], "passphrase");
    }
}

fn at_terminal_of(space: &Space, line: &str) -> Command {
    space.line(line)
}

/// In a space in which nothing has happened yet the first passphrase is set anywhere: in a container there
/// is no other place.
#[test]
fn the_first_passphrase_of_a_new_space_is_set_anywhere() {
    let space = Space::bare(Backend::Sqlite);
    let set = "script -qec \"$0 unlock --set\" /dev/null";
    typing(headless(&space, set), &[PHRASE; 3]).exits(0);
    let gate = space.run(Who::Script, &["ask", "Ship?", "--verdict"]).ok();
    let approve = format!("script -qec \"$0 approve {gate}\" /dev/null");
    typing(headless(&space, &approve), &[PHRASE]).exits(0);
    let other = Space::bare(Backend::Sqlite);
    other.run(Who::Script, &["ask", "Ship?", "--verdict"]).ok();
    typing(headless(&other, set), &[]).exits(5).refused("SAY063");
}
