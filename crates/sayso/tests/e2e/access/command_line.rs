//! The command line: another's gate is the same to an agent as none.

use crate::harness::{Ran, Who, everywhere};

everywhere! {
    /// By its id, its handle and the beginning of that; open and ended.
    fn anothers_gate_is_as_none(space: &Space) {
        let gates = ["Which way?", "How far?"].map(|words| space.ask("coder", &[words]));
        space.ann(&["respond", &gates[1], "far enough"]).ok();
        let verbs: &[&[&str]] = &[
            &["show", "ID"],
            &["wait", "ID", "--timeout", "0"],
            &["withdraw", "ID", "no"],
            &["ask", "--revise", "ID", "Mine?"],
            &["notices", "--gate", "ID"],
        ];
        let mut looked_at = 0;
        for verb in verbs {
            let try_on = |name: &str| -> Ran {
                let args: Vec<_> = verb.iter().map(|word| word.replace("ID", name)).collect();
                let args: Vec<_> = args.iter().map(String::as_str).collect();
                let ran = space.run(Who::Agent("tester"), &args);
                let plain = |text: &str| without_name(text, name);
                Ran { stdout: plain(&ran.stdout), stderr: plain(&ran.stderr), ..ran }
            };
            let is_same = |one: &Ran, other: &Ran| {
                (one.code, &one.stdout, &one.stderr) == (other.code, &other.stdout, &other.stderr)
            };
            let missing = ["01JZZZZZZZ0000000000000000", "gzzzz", "gz"].map(try_on);
            for gate in &gates {
                let id = space.show(gate)["id"].as_str().unwrap().to_owned();
                for (name, none) in [id.as_str(), gate, &gate[..2]].into_iter().zip(&missing) {
                    let ran = try_on(name);
                    assert!(is_same(&ran, none), "{verb:?} on {name}: {ran:?}, and on none: {none:?}");
                    ran.refused("SAY001").exits(3);
                    looked_at += 1;
                }
            }
        }
        assert_eq!(looked_at, verbs.len() * 6);
        assert_eq!(space.show(&gates[0])["state"], "open");
        // What was tried is written down, whether there was such a gate or none.
        let audit = space.audit();
        let tried = audit.iter().filter(|it| it["outcome"] == "refused" && it["actor"] == "tester");
        assert!(tried.count() >= looked_at, "{audit:?}");
    }
}

/// The name as a word of its own, replaced: a handle may begin as a word of the message does (`ga`, `gate`).
fn without_name(text: &str, name: &str) -> String {
    let is_inside = |at: Option<char>| at.is_some_and(|it| it.is_ascii_alphanumeric());
    let mut plain = String::new();
    let mut rest = 0;
    for (at, _) in text.match_indices(name) {
        let (before, behind) =
            (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        if !is_inside(before) && !is_inside(behind) {
            plain.push_str(&text[rest..at]);
            plain.push_str("NAME");
            rest = at + name.len();
        }
    }
    plain + &text[rest..]
}

#[test]
fn a_handle_that_begins_as_a_word_does_is_still_a_word() {
    assert_eq!(without_name("no gate ga: is ga one?", "ga"), "no gate NAME: is NAME one?");
}
