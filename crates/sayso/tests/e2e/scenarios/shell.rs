//! How it feels in a shell: help, colours, symbols, completion, manual pages, first steps.

use crate::harness::{Backend, SAYSO, Space, Who, everywhere};
use std::process::Command;

/// Every command there is, as `--help` names them.
fn commands(space: &Space) -> Vec<String> {
    let help = space.run(Who::Script, &["--help"]).ok();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    list.lines()
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned))
        .collect()
}

#[test]
fn every_command_explains_itself() {
    let space = Space::empty();
    let commands = commands(&space);
    for expected in [
        "init",
        "create",
        "list",
        "show",
        "tree",
        "ready",
        "next",
        "update",
        "note",
        "notes",
        "close",
        "reopen",
        "dep",
        "defer",
        "inbox",
        "ask",
        "answer",
        "respond",
        "choose",
        "approve",
        "reject",
        "done",
        "withdraw",
        "wait",
        "tell",
        "messages",
        "token",
        "audit",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(commands.iter().any(|c| c == expected), "{expected} is missing: {commands:?}");
    }
    for command in commands.iter().filter(|c| *c != "help") {
        for flag in ["--help", "-h"] {
            let help = space.run(Who::Script, &[command, flag]).ok();
            assert!(help.contains("Usage: sayso"), "{command}: {help}");
        }
    }
    for nested in [
        ["token", "create"],
        ["token", "list"],
        ["token", "revoke"],
        ["audit", "list"],
        ["audit", "verify"],
        ["audit", "export"],
        ["dep", "add"],
        ["dep", "remove"],
    ] {
        space.run(Who::Script, &[nested[0], nested[1], "--help"]).ok();
    }
    space.run(Who::Script, &["--version"]).exits(0).says("sayso 0.");
    // There is no flag that says yes for everybody.
    for verb in ["approve", "answer", "close", "delete"] {
        space.run(Who::Script, &[verb, "--help"]).exits(0).never_says("--yes");
    }
}

#[test]
fn typing_errors_are_met_with_suggestions() {
    let space = Space::bare(Backend::Sqlite);
    space.run(Who::Script, &["aprove", "g1"]).exits(2).says("approve");
    space.run(Who::Script, &["list", "--awating"]).exits(2).says("--awaiting");
    space.run(Who::Script, &["create"]).exits(2).says("<TITLE>");
    space
        .run(Who::Script, &["create", "x", "--awaiting", "aproval"])
        .exits(2)
        .refused("SAY038")
        .says("approval");
    space.run(Who::Script, &["update", "t1", "--status", "done"]).exits(3);
    use std::os::unix::ffi::OsStrExt;
    let broken = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let mut command = space.command(Who::Script, &["ask"]);
    space.finish(command.arg(broken)).exits(2).refused("SAY016").says("UTF-8");
}

#[test]
fn the_first_steps_are_shown() {
    let space = Space::empty();
    space.run(Who::Script, &[]).exits(0).says("There is no space here yet").says("sayso init");
    space.run(Who::Script, &["list"]).exits(3).refused("SAY020").says("sayso init");
    space.run(Who::Script, &["init"]).exits(0).says("sayso ask").says("sayso inbox");
    space.run(Who::Script, &["init"]).exits(0).says("already there");
    space.run(Who::Script, &[]).exits(0).says("Nothing waits for a person");
    space.run(Who::Terminal, &[]).exits(0).says("Nothing waits for you");
    let gate = space.run(Who::Script, &["ask", "Ship?", "--verdict"]).ok();
    space
        .run(Who::Terminal, &[])
        .exits(0)
        .says("One thing waits for you")
        .says(&format!("sayso approve {gate}"));
    for n in 0..6 {
        space.run(Who::Script, &["ask", &format!("Question {n}?")]).ok();
    }
    space.run(Who::Terminal, &[]).exits(0).says("7 things wait for you").says("sayso inbox");
    // Below the folder, and from elsewhere by its name.
    std::fs::create_dir_all(space.path().join("deep/down")).unwrap();
    let mut below = space.command(Who::Script, &["inbox"]);
    space.finish(below.current_dir(space.path().join("deep/down"))).exits(0).says("Ship?");
    let mut elsewhere =
        space.command(Who::Script, &["-C", space.path().to_str().unwrap(), "inbox"]);
    space.finish(elsewhere.current_dir("/")).exits(0).says("Ship?");
}

#[test]
fn a_space_that_is_there_keeps_its_store() {
    let space = Space::bare(Backend::Postgres);
    let again = space.run(Who::Script, &["init", "--json"]).json();
    assert_eq!(again["created"], false);
    assert!(again["store"].as_str().unwrap().starts_with("postgres"), "{again}");
    assert!(!space.file().exists(), "no second database beside it");
}

everywhere! {
    /// Colours only where a person looks, and nowhere when they are not wanted.
    fn colours_and_symbols(space: &Space) {
        let task = space.create(&["Build it", "--awaiting", "input"]);
        let gate = space.ask("coder", &["Which colour?", "-o", "red=loud", "-o", "blue", "--other", "--context", "a\nb"]);
        let text = space.ask("coder", &["Which\nway?\tWhere to?"]);
        space.ann(&["respond", &text, "left"]).ok();
        space.ann(&["tell", "coder", "text"]).ok();
        let shows = [vec![], vec!["inbox", "-n", "20"], vec!["inbox", "--done"], vec!["show", &gate], vec!["show", &task], vec!["list"],
                     vec!["list", "--awaiting"], vec!["tree"], vec!["ready"], vec!["messages"], vec!["audit", "list"],
                     vec!["audit", "verify"], vec!["doctor"], vec!["show", "g0000"], vec!["approve", &gate]];
        for args in &shows {
            let mut coloured = space.command(Who::Terminal, args);
            let ran = space.finish(coloured.env_remove("NO_COLOR").env("COLORTERM", "truecolor"));
            let is_coloured = ran.said().contains('\u{1b}');
            let is_never = matches!(args.as_slice(), ["messages"] | ["ready"]);
            assert!(is_coloured || is_never, "{args:?}: {}", ran.said());
            for args in [args.clone(), [args.as_slice(), &["--plain"]].concat()] {
                let ran = space.run(Who::Terminal, &args);
                assert!(!ran.said().contains('\u{1b}'), "{args:?}: {}", ran.said());
                let is_ascii = !args.contains(&"--plain") || ran.said().is_ascii();
                assert!(is_ascii, "{args:?}: {}", ran.said());
            }
            // A pipe gets no colours either.
            let mut piped = space.command(Who::Human("ann"), args);
            let ran = space.finish(piped.env_remove("NO_COLOR"));
            assert!(!ran.said().contains('\u{1b}'), "{args:?}: {}", ran.said());
        }
        // Neither has a locale that cannot show them.
        let mut narrow = space.command(Who::Human("ann"), &["tree"]);
        let ran = space.finish(narrow.env("LANG", "C"));
        assert!(ran.said().is_ascii(), "{}", ran.said());
    }
}

#[test]
fn completion_scripts_and_live_ids() {
    let space = Space::new(Backend::Sqlite);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = space.run(Who::Script, &["completions", shell]).ok();
        assert!(script.contains("COMPLETE") && script.contains("sayso"), "{shell}: {script}");
    }
    space.run(Who::Script, &["completions", "cmd"]).exits(2).refused("SAY038").says("bash");
    let syntax = Command::new("bash")
        .args(["-n", "-c", &space.run(Who::Script, &["completions", "bash"]).ok()])
        .status();
    assert!(syntax.unwrap().success());
    let gate = space.ask("coder", &["Ship\u{1b}[31m?", "--verdict"]);
    let task = space.create(&["Build it"]);
    // What a shell does when somebody presses tab behind the last word.
    let complete = |words: &[&str]| {
        let mut command = space.command(Who::Human("ann"), &[]);
        command
            .env("COMPLETE", "bash")
            .env("_CLAP_IFS", "\n")
            .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
        space.finish(command.arg("--").args(words)).ok()
    };
    assert!(complete(&["sayso", "appr"]).contains("approve"));
    let found = complete(&["sayso", "approve", ""]);
    assert!(found.contains(&gate) && !found.contains(&task), "{found}");
    assert!(!found.contains('\u{1b}'), "{found:?}");
    assert!(complete(&["sayso", "close", "t"]).contains(&task));
    let both = complete(&["sayso", "show", ""]);
    assert!(both.contains(&task) && both.contains(&gate), "{both}");
    assert!(complete(&["sayso", "list", "--aw"]).contains("--awaiting"));
    // Outside of any space there is nothing to complete, and no error either.
    let nowhere = Space::empty();
    let mut command = nowhere.command(Who::Script, &[]);
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", "2");
    nowhere.finish(command.args(["--", "sayso", "approve", ""])).exits(0);
}

#[test]
fn manual_pages_render() {
    let space = Space::empty();
    let pages = space.path().join("man");
    space.run(Who::Script, &["man", "--dir", pages.to_str().unwrap()]).ok();
    let written = std::fs::read_dir(&pages).unwrap().count();
    assert!(written > 30, "{written} pages");
    let mut texts =
        vec![space.run(Who::Script, &["man"]).ok(), space.run(Who::Script, &["man", "ask"]).ok()];
    texts.push(std::fs::read_to_string(pages.join("sayso-approve.1")).unwrap());
    for text in texts {
        assert!(text.contains(".TH") && text.contains(".SH"), "{text}");
    }
    // Where groff is installed it has nothing to complain about.
    if let Ok(output) = Command::new("groff")
        .args(["-K", "utf8", "-man", "-Tutf8", "-ww", "-z"])
        .arg(pages.join("sayso-ask.1"))
        .output()
    {
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    space.run(Who::Script, &["man", "nonsense"]).exits(3).refused("SAY001");
}

everywhere! {
    /// Nothing is asked at the terminal when that is not wanted.
    fn no_input(space: &Space) {
        let gate = space.ask("coder", &["Which way?"]);
        space.ann(&["respond", &gate, "--no-input"]).exits(2).refused("SAY041");
        space.ann(&["respond", "--all", "--no-input"]).exits(2).refused("SAY041");
        space.run(Who::Terminal, &["unlock", "--no-input"]).exits(2).refused("SAY041");
        // What needs no input is not touched by it.
        space.ann(&["respond", &gate, "left", "--no-input"]).ok();
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let space = Space::bare(Backend::Sqlite);
    for n in 0..30 {
        space.run(Who::Script, &["create", &format!("Task {n}")]).ok();
    }
    let line = format!("{SAYSO} list | head -1; exit ${{PIPESTATUS[0]}}");
    let like = space.command(Who::Script, &[]);
    let mut command = Command::new("bash");
    command.args(["-c", &line]).current_dir(space.path()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = space.finish(&mut command).exits(0);
    assert_eq!(ran.stderr, "");
}
