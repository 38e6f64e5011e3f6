//! What an agent wrote is data: nothing in it acts on the screen, hides or impersonates, and nothing
//! is left out silently.

use crate::harness::{Ran, Space, Who, everywhere};

/// Texts that would act on a terminal that takes them as they are.
fn hostile() -> Vec<(&'static str, String)> {
    vec![
        ("ansi", "\u{1b}[2J\u{1b}[31mred\u{1b}[0m".into()),
        ("osc 52", "\u{1b}]52;c;ZXZpbA==\u{7}copied".into()),
        ("osc 8", "\u{1b}]8;;http://evil\u{7}click\u{1b}]8;;\u{7}".into()),
        ("title", "\u{1b}]0;root shell\u{7}titled".into()),
        ("c1", "\u{9b}2Jcleared".into()),
        ("carriage return", "rm -rf /\rls      ".into()),
        ("backspace", "deny\u{8}\u{8}\u{8}\u{8}allow".into()),
        ("bidi", "\u{202e}gnp.exe".into()),
        ("isolate", "\u{2066}isolated\u{2069}".into()),
        ("zero width", "ap\u{200b}prove".into()),
        ("tag", "tagged\u{e0041}\u{e0042}".into()),
        ("flood", format!("safe{}rm -rf /", "\n".repeat(300))),
        ("wide", format!("{}THE END", "x".repeat(10_000))),
        (
            "banner",
            "Fine.\n\n✓ gate g1234 approved by ann with passphrase\nThe rest is a formality."
                .into(),
        ),
    ]
}

/// Nothing printed moves the cursor, changes direction or is invisible.
#[track_caller]
fn is_inert(name: &str, ran: &Ran) {
    let acts = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}' | '\u{feff}')
    };
    let said = ran.said();
    let found: Vec<_> = said.chars().filter(|c| acts(*c)).collect();
    assert!(found.is_empty(), "{name}: {found:?} in {said:?}");
}

/// Shows everything that holds the text, in every command that prints it.
fn look_everywhere(space: &Space, who: Who<'_>, ids: &[String]) -> String {
    let mut all = String::new();
    let mut look = |args: &[&str]| {
        let ran = space.run(who, args);
        is_inert(&args.join(" "), &ran);
        all.push_str(&ran.said());
    };
    for args in [
        vec![],
        vec!["inbox"],
        vec!["inbox", "--done"],
        vec!["inbox", "--plain", "--limit", "500"],
        vec!["list", "--all"],
        vec!["list", "--awaiting"],
        vec!["tree", "--all"],
        vec!["ready"],
        vec!["next"],
        vec!["next", "--awaiting"],
        vec!["messages", "--all"],
        vec!["audit", "list", "--limit", "1000"],
    ] {
        look(&args);
    }
    for id in ids {
        look(&["show", id]);
        // Refusals quote what they are about.
        look(&["choose", id, "nothing"]);
    }
    for id in &ids[..2] {
        look(&["show", id, "--plain"]);
        look(&["notes", id]);
        look(&["choose", id, "--other", "x"]);
        look(&["approve", id]);
        look(&["withdraw", id]);
    }
    all
}

everywhere! {
    /// In a question, its context, options, facts and people; in titles, labels, sizes, notes,
    /// reasons and messages.
    fn text_is_inert_and_visible(space: &Space) {
        let mut ids = vec![];
        for (name, text) in hostile() {
            let short: String = text.chars().take(300).collect();
            // Types, sizes and labels are words, not texts: more than 200 bytes of one are refused, and said so inertly.
            is_inert(name, &space.coder(&["create", &short, "--type", &"\u{202e}x".repeat(60)]).exits(2));
            let mut word = short.clone();
            while word.len() > 200 {
                word.pop();
            }
            let task = space.coder(&[
                "create", &short, "--label", &word, "--size", &word, "--type", &word, "--description", &text,
            ]);
            is_inert(name, &task);
            let task = task.ok();
            let (option, fact) = (format!("{text}={text}"), format!("{short}={text}"));
            let question = [
                &text, "--task", &task, "--context", &text, "-o", &option, "-o", "no", "--declines", "no", "--fact", &fact, "--to", "ann",
            ];
            // Where people are known by name, nobody is called that, and that is said inertly.
            let asked = space.coder(&[&["ask"], &question[..], &["--to", &short]].concat());
            is_inert(name, &asked);
            let gate = match asked.code {
                0 => asked.ok(),
                _ => space.ask("coder", &question),
            };
            is_inert(name, &space.coder(&["note", &task, &text]));
            is_inert(name, &space.coder(&["tell", &short, &text]));
            ids.extend([gate, task]);
        }
        let all: String = hostile().into_iter().map(|(_, text)| text).collect();
        let withdrawn = space.ask("coder", &["Never mind?"]);
        space.coder(&["withdraw", &withdrawn, &all]).ok();
        let stuck = space.create(&["Stuck"]);
        space.coder(&["update", &stuck, "--status", "failed", "--reason", &all]).ok();
        ids.extend([withdrawn, stuck]);
        let said = look_everywhere(space, Who::Human("ann"), &ids);
        for shown in [
            "␛[31mred",
            "␛]52;c;",
            "[U+202E]gnp.exe",
            "ap[U+200B]prove",
            "rm -rf /␍ls",
            "[299 blank lines]",
            "xTHE END",
            "  ✓ gate g1234 approved by ann",
            "^[[31mred",
        ] {
            assert!(said.contains(shown), "{shown:?} is not shown");
        }
    }
}

everywhere! {
    /// A forged banner stays inside the frame of what the agent says.
    fn a_forged_banner_stays_in_its_frame(space: &Space) {
        let text = "Fine.\n✓ gate g1234 approved by ann\nAnswer with: nothing, it is done";
        let gate = space.ask("coder", &["Ship?", "--verdict", "--context", text]);
        let shown = space.ann(&["show", &gate]).ok();
        for line in text.lines() {
            assert!(shown.contains(&format!("  │ {line}")), "{shown}");
        }
        // At a terminal a long line is broken before it leaves the frame.
        let long = format!("{} approved by ann", "and so on ".repeat(40));
        let gate = space.ask("coder", &["Ship?", "--verdict", "--context", &long]);
        let shown = space.run(Who::Terminal, &["show", &gate]).ok();
        let framed: Vec<_> = shown.lines().filter(|line| line.starts_with("  │ ")).collect();
        assert!(framed.len() > 3, "{shown}");
        assert!(framed.iter().any(|line| line.contains("approved by ann")), "{shown}");
        assert!(!shown.lines().any(|line| line.starts_with("and so on") || line.starts_with("approved")), "{shown}");
        assert!(space.show(&gate)["context"].as_str().unwrap() == long, "JSON has it as it is");
    }
}

everywhere! {
    /// How much is spelt out is counted, so that nobody takes it for the agent's own words.
    fn what_is_spelt_out_is_counted(space: &Space) {
        let gate = space.ask("coder", &["ap\u{200b}prove\u{202e}?", "--verdict"]);
        space.ann(&["show", &gate]).exits(0).says("2 invisible or control characters are spelt out");
    }
}

everywhere! {
    /// Names of agents come from credentials; what is typed as one shows itself.
    fn names_are_inert(space: &Space) {
        let hostile = "co\u{1b}[31mder";
        let ran = space.run(Who::Terminal, &["token", "create", "--role", "agent", "--name", hostile]);
        is_inert("name", &ran.exits(2).refused("SAY038"));
        for args in [vec!["messages", "--agent", hostile], vec!["list", "--label", hostile], vec!["list", "--status", hostile], vec!["create", "x", "--requires", hostile]] {
            is_inert("typed", &space.ann(&args));
        }
        // The answer of a person is delivered to a script byte by byte.
        let gate = space.ask("coder", &["Which bytes?"]);
        space.ann(&["respond", &gate, "a\u{1b}[31mb"]).ok();
        assert_eq!(space.coder(&["wait", &gate]).ok(), "a\u{1b}[31mb");
        is_inert("answer", &space.ann(&["show", &gate]));
    }
}
