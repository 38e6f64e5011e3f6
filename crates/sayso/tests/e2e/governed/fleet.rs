//! Fleet files: what is added, changed and removed, in both directions, and back again.

use super::times;
use crate::harness::{Space, Who, everywhere, on_both};
use crate::worker::{COMPLETE, Project, says, turns};

const FLEET: &str = r#"calendar:
  zone: Europe/Berlin
  hours: {mon-fri: 09:00-17:00}
people:
  ann:
  bob: {calendar: {zone: Asia/Kolkata, quiet: 22:00-07:00}}
groups:
  reviewers: [ann, bob]
agents:
  fixer: {program: claude, args: [--model, opus], backend: tmux}
roles:
  code: |
    You write code.
      Indented.
templates:
  port: {question: "Which port*", answer: "8080"}
policy: |
  # What waits for a person.
  rules:
    - name: done
      on: transition
      match: {to: closed}
      then: ask
      ask: {of: "@reviewers"}
agent_policies:
  fixer: |
    rules:
      - {name: never, on: transition, match: {to: deleted}, then: deny}
"#;

fn write(space: &Space, text: &str) {
    std::fs::write(space.path().join("fleet.yaml"), text).unwrap();
}

fn apply(space: &Space, args: &[&str]) -> serde_json::Value {
    let args: Vec<_> = ["apply", "fleet.yaml", "--json"].iter().chain(args).copied().collect();
    space.ann(&args).json()[0].clone()
}

fn how(applied: &serde_json::Value) -> Vec<String> {
    let changes = applied["changes"].as_array().unwrap().iter();
    changes.map(|c| format!("{} {} {}", c["how"], c["kind"], c["name"]).replace('"', "")).collect()
}

everywhere! {
    fn a_fleet_is_set_up_changed_and_pruned(space: &Space) {
        write(space, FLEET);
        let dry = apply(space, &["--dry-run"]);
        assert_eq!(how(&dry), [
            "added policy agent/fixer", "added policy space", "added agent fixer", "added role code", "added person ann",
            "added person bob", "added group reviewers", "added calendar space", "added template port",
        ]);
        assert_eq!(space.ann(&["export"]).ok(), format!("space: {}", space_name(space)));
        assert_eq!(how(&apply(space, &[])), how(&dry));
        assert_eq!(how(&apply(space, &[])), Vec::<String>::new(), "again changes nothing");
        // Out and in again is the same.
        let exported = space.ann(&["export"]).ok();
        assert!(exported.contains("# What waits for a person."), "{exported}");
        write(space, &exported);
        assert_eq!(how(&apply(space, &["--prune"])), Vec::<String>::new(), "{exported}");
        // A policy that is changed, and one that is gone.
        let changed = FLEET.replace("{to: closed}", "{to: [closed, deleted]}");
        let changed = changed.split("agent_policies:").next().unwrap().to_owned();
        write(space, &changed);
        let both = ["changed policy space".to_owned()];
        let shown = space.ann(&["apply", "fleet.yaml", "--dry-run", "--prune"]);
        let shown = shown.says("- policy agent/fixer").says("~ policy space");
        shown.says("-     match: {to: closed}").says("+     match: {to: [closed, deleted]}").ok();
        assert_eq!(how(&apply(space, &[])), ["kept policy agent/fixer".to_owned(), both[0].clone()]);
        assert_eq!(how(&apply(space, &["--prune"])), ["removed policy agent/fixer"]);
        write(space, "people: {ann: , bob: }\n");
        let gone = how(&apply(space, &["--prune"]));
        assert!(gone.contains(&"removed policy space".to_owned()) && gone.len() == 7, "{gone:?}");
        assert_eq!((times(space, "fleet.applied"), times(space, "policy.set")), (2, 1), "one entry each");
        space.verify();
    }
}

fn space_name(space: &Space) -> String {
    let listed = space.ann(&["export", "--json"]).json();
    listed[0]["space"].as_str().unwrap().to_owned()
}

everywhere! {
    /// Nothing of a file with a mistake is set, and the old policy stays.
    fn a_mistake_sets_nothing(space: &Space) {
        write(space, FLEET);
        apply(space, &[]);
        let before = space.ann(&["export"]).ok();
        for (from, to, says) in [
            ("then: ask", "then: axe", "axe"),
            ("{to: closed}", "{to: done}", "done"),
            ("@reviewers", "@reviewer", "reviewer"),
            ("Europe/Berlin", "Europe/Berln", "Europe/Berlin"),
            ("groups:", "grupps:", "grupps"),
            ("backend: tmux", "backend: screen", "screen"),
            ("- name: done", "- name: [", "policy space:5"),
            ("      ask: {of: \"@reviewers\"}\n", "      ask: {of: \"@reviewe", ""),
        ] {
            assert!(FLEET.contains(from), "{from}");
            write(space, &FLEET.replacen(from, to, 1));
            let ran = space.ann(&["apply", "fleet.yaml"]);
            ran.refused(says).exits(2);
            space.ann(&["apply", "fleet.yaml", "--dry-run"]).exits(2);
            assert_eq!(space.ann(&["export"]).ok(), before, "{to}");
        }
        space.ann(&["apply", "nowhere.yaml"]).refused("SAY049");
        for (text, says) in [
            ("groups: {a: ['@b'], b: ['@a']}", "is no person"),
            ("groups: {a: []}", "nobody is in it"),
            ("policy: {file: /etc/hostname}", "not in the folder"),
            ("roles: {code: {file: /dev/zero}}", "not in the folder"),
            ("roles: {code: {file: ..}}", "not in the folder"),
            ("space: '../x'", "cannot be the name of a space"),
            ("space: new\npolicy: |\n  rules: [", "policy space"),
        ] {
            write(space, text);
            space.ann(&["apply", "fleet.yaml"]).refused(says).exits(2);
            space.ann(&["apply", "fleet.yaml", "--dry-run"]).refused(says);
        }
        // One space with a mistake keeps the others from being set.
        write(space, "people: {cid: }\n---\nspace: new\npolicy: |\n  rules: [\n");
        space.run(Who::Terminal, &["apply", "fleet.yaml"]).refused("SAY047");
        assert_eq!(space.ann(&["export", "--all"]).ok(), before);
    }
}

on_both! {
    /// One file may hold several spaces; one that is not there is made.
    fn several_spaces_in_one_file(space: &Space) {
        let here = space_name(space);
        write(space, &format!("space: {here}\npeople: {{ann: }}\n---\nspace: other\npeople: {{bob: }}\n"));
        // A token is for one space; whoever owns the store sits at a terminal.
        let both = space.run(Who::Terminal, &["apply", "fleet.yaml", "--json"]).json();
        assert_eq!((&both[0]["new_space"], &both[1]["new_space"]), (&false.into(), &true.into()));
        let all = space.ann(&["export", "--all"]).ok();
        assert!(all.contains("space: other") && all.contains("---"), "{all}");
        write(space, &all);
        let again = space.run(Who::Terminal, &["apply", "fleet.yaml", "--json", "--prune"]).json();
        assert_eq!(again[1]["changes"].as_array().map(Vec::len), Some(0));
    }
}

everywhere! {
    /// A person picks a ready answer; the agent gets its words.
    fn templates_are_offered_and_picked(space: &Space) {
        write(space, FLEET);
        apply(space, &[]);
        let gate = space.ask("coder", &["Which port shall it listen on?"]);
        space.ann(&["show", &gate]).says("respond").says("--template port").ok();
        space.coder(&["respond", &gate, "--template", "port"]).refused("SAY010");
        space.ann(&["respond", &gate, "--template", "prt"]).refused("port").exits(3);
        space.ann(&["respond", &gate, "--template", "port"]).ok();
        assert_eq!(space.run(Who::Agent("coder"), &["wait", &gate]).ok(), "8080");
    }
}

everywhere! {
    /// A role that is set for the space is what its agents are told, whatever a file says.
    fn a_role_of_the_fleet_is_what_agents_are_told(space: &Space) {
        let project = Project::new(space, &turns(&[&says(COMPLETE)]), "");
        std::fs::create_dir(space.path().join(".sayso/roles")).unwrap();
        project.write(".sayso/roles/scout.md", "From a file.\n");
        write(space, "roles:\n  scout: |\n    You scout ahead, quietly.\n");
        apply(space, &[]);
        let task = space.create(&["Look", "--label", "role:scout"]);
        project.work(&[]).ok();
        let prompt = &project.prompts(&task)[0];
        assert!(prompt.contains("You scout ahead, quietly.") && !prompt.contains("From a file."), "{prompt}");
    }
}
