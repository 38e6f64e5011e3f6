//! Inputs nobody meant: each is a clear error with a code and a hint, and nothing is written.

use super::{Chance, entries, gate_id};
use crate::harness::{Who, everywhere};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

/// One line: who types what, how it ends.
struct Line<'a>(Who<'a>, Vec<&'a str>, i32, &'a str);

everywhere! {
    fn wrong_values_are_refused_and_leave_nothing(space: &Space) {
        let task = space.create(&["A task"]);
        let gate = space.ask("coder", &["Which?", "--option", "a", "--option", "b"]);
        let text = space.ask("coder", &["What?"]);
        let yes = space.ask("coder", &["Go?", "--verdict"]);
        let long_id = "g".repeat(10_000);
        let long_title = "t".repeat(5_000);
        let long_name = "n".repeat(5_000);
        let huge = "99999999999999999999999999";
        let options: Vec<_> = (0..60).map(|n| format!("option {n}")).collect();
        let mut many = vec!["ask", "Which?"];
        options.iter().for_each(|option| many.extend(["--option", option]));
        let before = entries(space);
        let (coder, ann, script) = (Who::Agent("coder"), Who::Human("ann"), Who::Script);
        let lines = [
            Line(ann, vec!["show", "../../etc/passwd"], 3, "SAY001"),
            Line(ann, vec!["show", "g'; DROP TABLE gates; --"], 3, "SAY001"),
            Line(ann, vec!["show", "%"], 3, "SAY001"),
            Line(ann, vec!["show", ""], 3, "SAY001"),
            Line(ann, vec!["show", &long_id], 3, "SAY001"),
            Line(ann, vec!["show", "\u{1b}[31mred"], 3, "SAY001"),
            Line(coder, vec!["wait", "gzzzz"], 3, "SAY001"),
            Line(ann, vec!["respond", "../x", "y"], 3, "SAY001"),
            Line(coder, vec!["ask", "Go?", "--id", "../../x"], 2, "--id"),
            Line(coder, vec!["ask", "Go?", "--id", &long_id], 2, "--id"),
            Line(coder, vec!["ask", ""], 2, "SAY038"),
            Line(coder, vec!["ask", "  \n "], 2, "SAY038"),
            Line(coder, vec!["ask", "Go?", "--kind", "nonsense"], 2, "SAY038"),
            Line(coder, vec!["ask", "Go?", "--proof", "blood"], 2, "SAY038"),
            Line(coder, vec!["ask", "Go?", "--task", "tzzzz"], 3, "SAY001"),
            Line(coder, vec!["ask", "Go?", "--quorum", "-1", "--to", "ann"], 2, "-1"),
            Line(coder, vec!["ask", "Go?", "--quorum", huge, "--to", "ann"], 2, "--quorum"),
            Line(coder, vec!["ask", "Go?", "--quorum", "3", "--to", "ann"], 2, "SAY038"),
            Line(coder, vec!["ask", "Go?", "--timeout", "-5s"], 2, "-5"),
            Line(coder, vec!["ask", "Go?", "--timeout", "soon"], 2, "--timeout"),
            Line(coder, vec!["ask", "Go?", "--schema", "{not json"], 2, "SAY009"),
            Line(coder, vec!["ask", "Go?", "--schema", "@/no/such/file"], 2, "SAY038"),
            Line(coder, vec!["ask", "Which?", "--option", "a", "--option", "a"], 2, "SAY"),
            Line(coder, vec!["ask", "Which?", "--option", ""], 2, "SAY"),
            Line(coder, many.clone(), 2, "SAY015"),
            Line(script, vec!["create", ""], 2, "SAY038"),
            Line(script, vec!["create", "   "], 2, "SAY038"),
            Line(script, vec!["create", &long_title], 2, "SAY015"),
            Line(script, vec!["create", "x", "-p", "9"], 2, "priority"),
            Line(script, vec!["create", "x", "-p", "-1"], 2, "-1"),
            Line(script, vec!["create", "x", "-p", huge], 2, "priority"),
            Line(script, vec!["create", "x", "--awaiting", "coffee"], 2, "SAY038"),
            Line(script, vec!["create", "x", "--requires", "coffee"], 2, "SAY038"),
            Line(script, vec!["create", "x", "--parent", "tzzzz"], 3, "SAY001"),
            Line(script, vec!["create", "x", "--blocked-by", "tzzzz"], 3, "SAY001"),
            Line(script, vec!["update", &task, "--priority", "9"], 2, "priority"),
            Line(script, vec!["dep", "add", &task, &task], 6, "SAY017"),
            Line(script, vec!["defer", &task, "--until", "whenever"], 2, "SAY038"),
            Line(ann, vec!["list", "-n", "-5"], 2, "-5"),
            Line(ann, vec!["list", "-n", huge], 2, "--limit"),
            Line(ann, vec!["list", "--after", "zzzz"], 3, "SAY001"),
            Line(ann, vec!["inbox", "--limit", "many"], 2, "--limit"),
            Line(ann, vec!["audit", "list", "-n", "-1"], 2, "-1"),
            Line(ann, vec!["choose", &gate, "c"], 2, "SAY008"),
            Line(ann, vec!["choose", &gate, "99"], 2, "SAY008"),
            Line(ann, vec!["choose", &gate, "a", "b"], 2, "SAY"),
            Line(ann, vec!["answer", &yes, "perhaps"], 2, "SAY006"),
            Line(ann, vec!["answer", &yes, ""], 2, "SAY"),
            Line(ann, vec!["respond", &text, " "], 2, "SAY007"),
            Line(ann, vec!["respond", &text, "x", "--digest", "0000"], 6, "SAY005"),
            Line(ann, vec!["respond", &text, "x", "--digest", ""], 6, "SAY005"),
            Line(ann, vec!["approve", &task], 6, "SAY003"),
            Line(ann, vec!["tell", "coder", " "], 2, "SAY038"),
            Line(ann, vec!["tell", "", "text"], 2, "SAY038"),
            Line(script, vec!["note", &task, " "], 2, "SAY"),
            Line(ann, vec!["--space", "../x", "inbox"], 3, "SAY020"),
            Line(ann, vec!["--space", &long_name, "inbox"], 3, "SAY020"),
            Line(script, vec!["init", "--name", "a b/../c"], 2, "SAY038"),
            Line(script, vec!["init", "--name", &long_name], 2, "SAY038"),
            Line(ann, vec!["frobnicate"], 2, "frobnicate"),
            Line(ann, vec!["show"], 2, "ID"),
            Line(ann, vec!["show", &task, "--no-such-flag"], 2, "--no-such-flag"),
        ];
        for Line(who, args, exit, says) in &lines {
            let ran = space.run(*who, args);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            let shown: String = format!("{args:?}").chars().take(120).collect();
            let shown = format!("{shown}: {told:.600}");
            assert_eq!(ran.code, *exit, "{shown}");
            assert!(told.contains(says), "no {says:?} in {shown}");
            assert!(!told.contains("panicked"), "{shown}");
            assert!(ran.stdout.is_empty(), "{shown}");
            assert!(told.len() < 25_000, "{} bytes for {shown}", told.len());
            assert!(!told.contains('\u{1b}'), "an escape came through: {shown}");
            let has_help = told.contains("hint:") || told.contains("--help");
            assert!(has_help || says.starts_with("SAY"), "no help in {shown}");
        }
        assert!(lines.len() >= 60);
        // That an agent tried a gate that is none is noted, as it is with a gate of somebody else.
        assert_eq!(entries(space), before + 1, "a refused command wrote something");
        space.verify();
    }
}

everywhere! {
    /// Past the limits by a little and by a lot, in arguments and on standard input.
    fn too_much_text_is_refused_whole(space: &Space) {
        let task = space.create(&["A task"]);
        let gate = space.ask("coder", &["What?"]);
        let before = entries(space);
        let mib = "x".repeat(1024 * 1024);
        let ways: [(Who<'_>, Vec<&str>, i32); 6] = [
            (Who::Agent("coder"), vec!["ask", "-"], 2),
            (Who::Human("ann"), vec!["respond", &gate, "-"], 2),
            (Who::Human("ann"), vec!["answer", &gate, "-"], 2),
            (Who::Human("ann"), vec!["tell", "coder", "-"], 2),
            (Who::Script, vec!["note", &task, "-"], 2),
            (Who::Script, vec!["create", "x", "--description", "-"], 2),
        ];
        for (who, args, exit) in &ways {
            for text in [&mib, &mib.repeat(3), &mib.repeat(40), &mib[..256 * 1024 + 1]] {
                let ran = space.run_with_input(*who, args, text);
                let shown = format!("{args:?} with {} bytes: {:.300}", text.len(), ran.stderr);
                assert_eq!(ran.code, *exit, "{shown}");
                assert!(ran.stderr.contains("SAY015"), "{shown}");
                assert!(ran.stderr.len() < 2_000, "{} bytes", ran.stderr.len());
                assert!(ran.stdout.is_empty(), "{shown}");
            }
        }
        // One argument holds 128 KiB; several together hold more than a card may.
        let part = &mib[..120_000];
        let context = ["ask", "Go?", "--context", part, "--fact", &format!("a={part}"), "--fact", &format!("b={part}")];
        space.run(Who::Agent("coder"), &context).exits(2).refused("SAY015");
        assert_eq!(entries(space), before);
        // Just inside the limit it goes through whole.
        let most = "y".repeat(200 * 1024);
        let id = gate_id(&mut Chance::new(81)).to_string();
        let ask = ["ask", "-", "--id", &id];
        space.run_with_input(Who::Agent("coder"), &ask, &most).ok();
        assert_eq!(space.show(&id)["question"], most.as_str());
        space.verify();
    }
}

everywhere! {
    /// Bytes that are no text, as arguments and on standard input.
    fn what_is_no_text_is_refused(space: &Space) {
        let gate = space.ask("coder", &["What?"]);
        let task = space.create(&["A task"]);
        let before = entries(space);
        let bad = || OsString::from_vec(vec![b'a', 0xff, 0xfe, 0xc3, 0x28]);
        let arguments: [(Who<'_>, &[&str], &[&str]); 7] = [
            (Who::Agent("coder"), &["ask"], &[]),
            (Who::Agent("coder"), &["ask", "Go?", "--context"], &[]),
            (Who::Human("ann"), &["respond", &gate], &[]),
            (Who::Human("ann"), &["show"], &[]),
            (Who::Script, &["create"], &[]),
            (Who::Script, &["note", &task], &[]),
            (Who::Human("ann"), &["tell", "coder"], &[]),
        ];
        for (who, front, back) in arguments {
            let mut command = space.command(who, front);
            command.arg(bad()).args(back).stdin(Stdio::null());
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{front:?}: {said}");
            assert!(said.contains("SAY016") || said.contains("UTF-8"), "{front:?}: {said}");
            assert!(output.stdout.is_empty());
        }
        let inputs: [(Who<'_>, Vec<&str>); 4] = [
            (Who::Agent("coder"), vec!["ask", "-"]),
            (Who::Human("ann"), vec!["respond", &gate, "-"]),
            (Who::Script, vec!["note", &task, "-"]),
            (Who::Human("ann"), vec!["tell", "coder", "-"]),
        ];
        for (who, args) in &inputs {
            let mut child = space.start(*who, args);
            child.stdin.take().unwrap().write_all(&[b'a', 0xff, b'b']).unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
            assert!(said.contains("SAY016") && said.contains("hint:"), "{args:?}: {said}");
        }
        assert_eq!(entries(space), before, "a refused command wrote something");
        space.verify();
    }
}

everywhere! {
    /// A NUL is a character like others: kept as it came, and shown as something harmless.
    fn a_nul_is_kept_and_shown(space: &Space) {
        let id = gate_id(&mut Chance::new(82)).to_string();
        let ask = ["ask", "-", "--id", &id];
        space.run_with_input(Who::Agent("coder"), &ask, "before\0after").ok();
        assert_eq!(space.show(&id)["question"], "before\0after");
        for args in [vec!["show", &id], vec!["inbox"]] {
            let shown = space.run(Who::Human("ann"), &args).ok();
            assert!(shown.contains("before") && shown.contains("after"), "{shown:?}");
            assert!(!shown.contains('\0'), "{shown:?}");
        }
        space.verify();
    }
}

everywhere! {
    /// What an agent may not do is refused and written down, once for each try; nothing else changes.
    fn refusals_of_authority_are_audited(space: &Space) {
        let task = space.create(&["A task", "--requires", "approval"]);
        let gate = space.ask("coder", &["Go?", "--verdict", "--task", &task]);
        let text = space.ask("coder", &["What?"]);
        let before = entries(space);
        let tries: [&[&str]; 8] = [
            &["approve", &gate],
            &["reject", &gate, "no"],
            &["respond", &text, "yes"],
            &["answer", &gate, "yes"],
            &["update", &task, "--awaiting=null"],
            &["close", &task, "--force"],
            &["delete", &task],
            &["token", "create", "--role", "human", "--name", "me"],
        ];
        for args in tries {
            let ran = space.run(Who::Agent("coder"), args);
            assert_eq!(ran.code, 5, "{args:?}: {}", ran.stderr);
        }
        let after = entries(space);
        assert_eq!(after, before + tries.len() as u64, "each refusal has its entry");
        let shown = space.show(&gate);
        assert_eq!(shown["state"], "open");
        space.verify();
    }
}
