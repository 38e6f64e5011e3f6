//! Every command line the first two seeds document for `bh` and `tk`, typed under those names.

use crate::harness::{Ran, SAYSO, Space, Who, everywhere};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// The program under another name, in the hands of ann.
struct Alias<'a> {
    space: &'a Space,
    name: &'static str,
}

impl<'a> Alias<'a> {
    fn new(space: &'a Space, name: &'static str) -> Self {
        std::os::unix::fs::symlink(SAYSO, space.path().join(name)).unwrap();
        Self { space, name }
    }

    /// Runs a line as it stands in the seed; `ID` stands for the task. Quotes keep words together.
    #[track_caller]
    fn run(&self, line: &str, id: &str) -> Ran {
        self.run_as(Who::Human("ann"), line, id, &[])
    }

    #[track_caller]
    fn run_as(&self, who: Who<'_>, line: &str, id: &str, variables: &[(&str, &str)]) -> Ran {
        let line = line.replace("ID", id);
        assert!(line.starts_with(self.name), "{line}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("./{line}")]);
        let like = self.space.command(who, &[]);
        command.current_dir(self.space.path()).env_clear();
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.space.finish(command.envs(variables.iter().copied()))
    }

    /// A new task that waits for an answer.
    fn asked(&self) -> String {
        self.asked_about("JWT is better for stateless APIs.")
    }

    fn asked_about(&self, context: &str) -> String {
        let task = self.space.create(&["Implement user authentication", "--size", "medium"]);
        let question = "Should the API use JWT tokens or session cookies?";
        self.space.ask("coder", &[question, "--task", &task, "--context", context]);
        task
    }
}

/// An editor that writes a line below what it finds, and keeps a copy of what that was.
fn editor(space: &Space, text: &str) -> String {
    let path = space.path().join("editor.sh");
    let script = format!("#!/bin/sh\ncp \"$1\" found.md\necho '{text}' >> \"$1\"\n");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn answer(space: &Space, task: &str) -> Value {
    space.show(task)["questions"][0]["answer"].clone()
}

everywhere! {
    /// Seed 000: `bh`.
    fn bh(space: &Space) {
        let bh = Alias::new(space, "bh");
        let task = bh.asked();
        let list = bh.run("bh list --awaiting", "").ok();
        for part in [task.as_str(), "[awaiting_input]", "Implement user authentication", "P2", "medium",
                     "❓", "Should the API use JWT tokens or session cookies?", "Context: JWT is better", "Asked: just now"] {
            assert!(list.contains(part), "no {part:?} in {list}");
        }
        let tree = bh.run("bh tree", "").ok();
        assert!(tree.contains("[awaiting_input]") && tree.contains("└── Question"), "{tree}");
        bh.run("bh show ID", &task).exits(0).says("Should the API use JWT").says("JWT is better for stateless");
        bh.run("bh respond ID \"Use JWT tokens with 24h expiry\"", &task).exits(0).says("returned to 'open'");
        assert_eq!(answer(space, &task)["text"], "Use JWT tokens with 24h expiry");
        bh.run("bh respond ID \"Again\"", &task).exits(6).refused("SAY003");

        // In the editor, with the question above the line; and the editor opens by itself, too.
        let editor = editor(space, "Use JWT tokens.");
        for line in ["bh respond ID --edit", "bh respond ID -e", "bh respond ID"] {
            let task = bh.asked();
            bh.run_as(Who::Human("ann"), line, &task, &[("EDITOR", &editor)]).ok();
            assert_eq!(answer(space, &task)["text"], "Use JWT tokens.", "{line}");
            let found = std::fs::read_to_string(space.path().join("found.md")).unwrap();
            assert!(found.contains("# Should the API use JWT tokens") && found.contains("# JWT is better"), "{found}");
        }
        let task = bh.asked();
        bh.run_as(Who::Human("ann"), "bh respond ID --edit", &task, &[("EDITOR", "true")]).exits(2).refused("SAY007");
        bh.run_as(Who::Human("ann"), "bh respond ID --edit", &task, &[("EDITOR", "false")]).exits(1).refused("SAY036");
        bh.run_as(Who::Human("ann"), "bh respond ID --edit", &task, &[("EDITOR", "/nowhere/vi")]).exits(1).refused("SAY036");
        bh.run("bh respond ID --no-input", &task).exits(2).refused("SAY041");
        bh.run("bh respond ID \"\"", &task).exits(2).refused("SAY007");
        assert_eq!(space.state(&task), "awaiting_input");
    }
}

everywhere! {
    /// Seed 000: all of them, one after the other; an empty line leaves one open.
    fn bh_respond_all(space: &Space) {
        let bh = Alias::new(space, "bh");
        let tasks = ["the web", "the phone", "the desktop"].map(|what| bh.asked_about(what));
        let choice = space.ask("coder", &["Which colour?", "-o", "red", "-o", "blue"]);
        let verdict = space.ask("coder", &["Ship?", "--verdict"]);
        let walked = space.run_with_input(Who::Human("ann"), &["respond", "--all"], "first\n\nthird\nblue\n");
        walked.exits(0).says("left open").says("Which colour?").never_says("Ship?");
        assert_eq!(answer(space, &tasks[0])["text"], "first");
        assert_eq!(space.state(&tasks[1]), "awaiting_input");
        assert_eq!(answer(space, &tasks[2])["text"], "third");
        assert_eq!(space.show(&choice)["answer"]["picked"][0], "blue");
        assert_eq!(space.show(&verdict)["state"], "open");
        // What does not fit leaves the gate open and the walk going; the end of input ends it.
        let choice = space.ask("coder", &["Which colour?", "-o", "red", "-o", "blue"]);
        space.run_with_input(Who::Human("ann"), &["respond", "--all"], "second\ngreen\n").exits(0).says("SAY008");
        assert_eq!(answer(space, &tasks[1])["text"], "second");
        assert_eq!(space.show(&choice)["state"], "open");
        space.run_with_input(Who::Human("ann"), &["respond", "--all"], "").exits(0);
        bh.run("bh respond --all --no-input", "").exits(2).refused("SAY041");
        space.run_with_input(Who::Agent("coder"), &["respond", "--all"], "yes\n").exits(5).refused("SAY010");
    }
}

everywhere! {
    /// Seed 001: `tk`.
    fn tk(space: &Space) {
        let tk = Alias::new(space, "tk");
        let task = tk.run("tk create \"Task title\" --awaiting work", "").ok();
        assert_eq!(space.show(&task)["awaiting"][0], "work");
        let task = space.create(&["Build it"]);
        tk.run("tk update ID --awaiting approval", &task).ok();
        assert_eq!(space.show(&task)["awaiting"][0], "approval");
        tk.run("tk update ID --awaiting=null", &task).ok();
        assert_eq!(space.state(&task), "open");
        for (line, state) in [("tk update ID --verdict approved", "closed"), ("tk update ID --verdict rejected", "open"),
                              ("tk approve ID", "closed"), ("tk reject ID", "open"),
                              ("tk reject ID \"Needs softer error messages\"", "open")] {
            let task = space.create(&["Build it", "--awaiting", "approval"]);
            tk.run(line, &task).ok();
            assert_eq!(space.state(&task), state, "{line}");
            if line.contains("softer") {
                assert_eq!(space.show(&task)["notes"][0]["text"], "Needs softer error messages");
            }
        }
        tk.run("tk update ID --verdict perhaps", &task).exits(2).refused("SAY038");
    }
}

everywhere! {
    /// Seed 001: the lists.
    fn tk_lists(space: &Space) {
        let tk = Alias::new(space, "tk");
        let epic = space.create(&["Epic", "--type", "epic"]);
        let [ready, approval, input, review] = [None, Some("approval"), Some("input"), Some("review")].map(|kind| {
            let mut args = vec!["Part", "--parent", &epic];
            args.extend(kind.map(|kind| ["--awaiting", kind]).into_iter().flatten());
            space.create(&args)
        });
        let list = |line: &str| tk.run(line, "").ok();
        for (line, shown) in [
            ("tk list --awaiting", vec![&approval, &input, &review]),
            ("tk list --awaiting approval", vec![&approval]),
            ("tk list --awaiting input,review", vec![&input, &review]),
            ("tk ready", vec![&ready]),
        ] {
            let text = list(line);
            for task in [&ready, &approval, &input, &review] {
                assert_eq!(text.contains(task.as_str()), shown.contains(&task), "{line}: {text}");
            }
        }
        assert!(tk.run("tk next ID", &epic).ok().contains(&ready));
        assert!(list("tk next").contains(&ready));
        // What a person is to do next: the oldest gate, also of an epic or of a kind.
        let oldest = list("tk next --awaiting");
        assert!(oldest.contains("approval") && oldest.contains("sayso approve"), "{oldest}");
        assert!(list("tk next --awaiting review").contains("(review)"));
        let other = space.create(&["Another epic", "--type", "epic"]);
        tk.run("tk next ID --awaiting", &other).exits(3).refused("SAY001");
        tk.run("tk next ID --awaiting", &epic).ok();
    }
}

everywhere! {
    /// Seed 001: notes by whom, and the answer as a note before the yes.
    fn tk_notes(space: &Space) {
        let tk = Alias::new(space, "tk");
        let task = space.create(&["Take payments"]);
        space.coder(&["update", &task, "--awaiting", "input", "--question", "Stripe or PayPal?"]).ok();
        tk.run_as(Who::Agent("coder"), "tk note ID \"PR ready: github.com/...\"", &task, &[]).ok();
        tk.run_as(Who::Agent("coder"), "tk note ID \"Context info\" --from agent", &task, &[]).ok();
        // Without any word of a person there is no answer yet.
        tk.run("tk approve ID", &task).exits(2).refused("SAY007");
        tk.run("tk note ID \"Use Stripe for payments\" --from human", &task).ok();
        tk.run("tk approve ID", &task).ok();
        assert_eq!(answer(space, &task)["text"], "Use Stripe for payments");
        assert_eq!(space.state(&task), "open");
        let gate = space.show(&task)["questions"][0]["handle"].as_str().unwrap().to_owned();
        assert_eq!(space.coder(&["wait", &gate]).ok(), "Use Stripe for payments");
        let notes = tk.run("tk notes ID", &task).ok();
        for part in ["PR ready: github.com/...", "Context info", "Use Stripe for payments", "coder (agent)", "ann (human)"] {
            assert!(notes.contains(part), "no {part:?} in {notes}");
        }
        tk.run_as(Who::Agent("coder"), "tk note ID \"Use Stripe\" --from human", &task, &[]).exits(5).refused("SAY010");
        // Direction for an escalation comes the same way.
        let task = space.create(&["Rename it", "--awaiting", "escalation"]);
        tk.run("tk note ID \"Go left\" --from human", &task).ok();
        tk.run("tk approve ID", &task).ok();
        assert_eq!(space.state(&task), "open");
    }
}
