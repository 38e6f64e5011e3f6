//! A flow goes on where it began, and for whoever began it; elsewhere it is taken over by name.

use super::{flow, gate, write};
use crate::harness::{Who, everywhere, in_places};

const TIDY: &str = "workflow: tidy\nphases:\n  - name: look\n    ask: {approval: Shall I tidy the docs?}\n  \
                    - name: tidy\n    run: echo \"token=[$SAYSO_TOKEN$SAYSO_TOKEN_FILE]\" > tidied.txt\n    \
                    check: [{passes: test -f tidied.txt}]\n";

/// The facts on a card, by name.
fn fact(card: &serde_json::Value, name: &str) -> String {
    let facts = card["facts"].as_array().unwrap();
    let found = facts.iter().find(|fact| fact["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {card}"));
    assert_eq!(found["verified"], true, "{found}");
    found["value"].as_str().unwrap().to_owned()
}

everywhere! {
    /// A program with a token of its own begins it. Whoever says yes to its question does not run its commands by that, nor by
    /// resuming everything.
    fn a_yes_lends_nobody_ones_login(space: &Space) {
        space.mint("operator", "ops");
        write(space, "tidy.yaml", TIDY);
        let ops = space.token("ops");
        space.run(Who::Holder(&ops), &["flow", "run", "tidy.yaml"]).exits(7);
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        // The card says what a yes lets run, where and for whom.
        let asked = gate(space);
        let card = space.show(&asked);
        let runs = fact(&card, "runs");
        assert!(runs.contains("tidy runs: echo") && runs.contains("tidy checks: test -f tidied.txt"), "{runs}");
        let home = fact(&card, "in");
        let folder = std::fs::canonicalize(space.path()).unwrap();
        assert!(home.contains(folder.to_str().unwrap()) && home.contains("by operator ops"), "{home}");
        assert!(!fact(&card, "version").is_empty());
        space.ann(&["approve", &asked]).ok();
        let tidied = || std::fs::read_to_string(space.path().join("tidied.txt")).ok();
        space.run(Who::Script, &["flow", "resume", "--all"]).says("left out: 1 flow goes on elsewhere").exits(14);
        space.run(Who::Script, &["flow", "resume", &handle])
            .refused("SAY066").exits(6).says("tidy runs: echo").says("--adopt").says("by operator ops");
        space.ann(&["flow", "resume", &handle]).refused("SAY066");
        space.run(Who::Script, &["flow", "show", &handle]).says("tidy runs: echo").says("by operator ops").exits(0);
        assert_eq!(tidied(), None);
        assert_eq!(flow(space)["standing"], "answered");
        // Nothing is taken over by the dozen.
        space.run(Who::Script, &["flow", "resume", "--all", "--adopt"]).exits(2);
        // Who takes it over by name has seen it; and what runs then has no token by its environment.
        space.ann(&["flow", "resume", &handle, "--adopt"]).says("tidy runs: echo").exits(0);
        assert_eq!(tidied().as_deref(), Some("token=[]\n"));
        space.run(Who::Script, &["flow", "show", &handle]).says("taken over by ann").exits(0);
        space.verify();
    }
}

everywhere! {
    /// What a flow was begun with, the end of a long script, and agents whose prompt is in a file: all of it stands on the card,
    /// and before it is resumed.
    fn the_card_shows_all_that_runs(space: &Space) {
        let ask = "  - name: look\n    ask: {approval: Shall I tidy the docs?}\n";
        let comments = "      # a line of words that nobody reads to its end, however often it is shown\n".repeat(8);
        let given = format!(
            "workflow: given\ninput: {{tool: {{}}, target: {{}}}}\nphases:\n{ask}  - name: go\n    \
             run: \"{{{{ input.tool }}}} -c {{{{ input.target }}}}\"\n"
        );
        let long = format!(
            "workflow: long\nphases:\n{ask}  - name: go\n    run: |\n{comments}      echo hidden > hidden.txt\n"
        );
        let agent = format!("workflow: agent\nphases:\n{ask}  - name: go\n    prompt_file: go.md\n");
        crate::worker::Project::new(space, &crate::worker::turns(&[]), "");
        write(space, "go.md", "Tidy the docs.");
        let sets = ["--set", "tool=sh", "--set", "target=echo pwned > pwned.txt"];
        let table: [(&str, &str, &[&str], &[&str]); 3] = [
            ("given", &given, &sets, &["input tool = sh", "input target = echo pwned > pwned.txt"]),
            ("long", &long, &[], &["echo hidden > hidden.txt"]),
            ("agent", &agent, &[], &["go lets an agent work: the usual one"]),
        ];
        for (name, text, more, expected) in table {
            let file = format!("{name}.yaml");
            write(space, &file, text);
            space.run(Who::Script, &[&["flow", "run", &file], more].concat()).exits(7);
            let asked = gate(space);
            let runs = fact(&space.show(&asked), "runs");
            let on_card = space.ann(&["show", &asked]).ok();
            let handle = crate::flows::flows(space)[0]["handle"].as_str().unwrap().to_owned();
            let shown = space.ann(&["flow", "show", &handle]).ok();
            for words in expected {
                assert!([&runs, &on_card, &shown].iter().all(|text| text.contains(words)), "{name}: {runs}\n{on_card}\n{shown}");
            }
            space.ann(&["reject", &asked]).ok();
            space.run(Who::Script, &["flow", "resume", "--all"]);
        }
        // What no card can hold is not asked.
        write(space, "given.yaml", &given);
        let large = format!("target=echo {}", "x".repeat(120_000));
        let args = ["flow", "run", "given.yaml", "--set", &large, "--set", &format!("tool={}", "y".repeat(20_000))];
        space.run(Who::Script, &args).refused("SAY015").says("a card shows");
        assert!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().is_empty());
        space.verify();
    }
}

in_places! {
    // A file is in one folder.
    [postgres: Postgres, served: Served]
    /// Its own beginner goes on with it there, and in another clone it is refused until it is taken over.
    fn another_clone_is_elsewhere(space: &Space) {
        write(space, "tidy.yaml", TIDY);
        space.run(Who::Script, &["flow", "run", "tidy.yaml", "--key", "k"]).exits(7);
        // It waits for a person: that is not done.
        space.run(Who::Script, &["flow", "resume", "--all"]).exits(7);
        space.ann(&["approve", &gate(space)]).ok();
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        // A clone of the project, with the same space.
        let clone = tempfile::tempdir().unwrap();
        std::fs::create_dir(clone.path().join(".sayso")).unwrap();
        let config = std::fs::read_to_string(space.path().join(".sayso/config.yaml")).unwrap();
        std::fs::write(clone.path().join(".sayso/config.yaml"), config).unwrap();
        write(space, "copy.yaml", TIDY);
        std::fs::copy(space.path().join("copy.yaml"), clone.path().join("tidy.yaml")).unwrap();
        let there = |args: &[&str]| {
            let mut command = space.command(Who::Script, args);
            space.finish(command.current_dir(clone.path()))
        };
        there(&["flow", "list"]).says(&handle).exits(0);
        there(&["flow", "resume", "--all"]).says("left out: 1 flow").exits(14);
        there(&["flow", "resume", &handle]).refused("SAY066");
        there(&["flow", "run", "tidy.yaml", "--key", "k"]).refused("SAY066");
        let is_there = |folder: &std::path::Path| folder.join("tidied.txt").exists();
        assert!(!is_there(clone.path()) && !is_there(space.path()));
        there(&["flow", "resume", &handle, "--adopt"]).exits(0);
        assert!(is_there(clone.path()) && !is_there(space.path()));
    }
}
