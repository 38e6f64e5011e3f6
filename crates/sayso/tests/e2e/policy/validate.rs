//! `validate`: settings, task files, roles, policies and workflows, every mistake at once.

use super::{data, fits, write};
use crate::harness::{Backend, Ran, Space, Who};

fn validate(space: &Space, args: &[&str]) -> Ran {
    space.run(Who::Script, &[&["validate"], args].concat())
}

#[test]
fn a_new_space_has_no_mistakes() {
    let space = Space::bare(Backend::Sqlite);
    validate(&space, &[]).says("1 file, no mistakes").ok();
    let report = validate(&space, &["--json"]).json();
    fits("mistakes", &report);
    assert_eq!(report["fine"], true);
}

#[test]
fn every_mistake_has_file_line_and_fix() {
    let space = Space::bare(Backend::Sqlite);
    let settings = "space: x\nstoer: y\nwork:\n  jobs: many\n  threshold: 7\n  turn: soon\n  \
                    land: command\n  agent: nobody\n";
    write(&space, ".sayso/config.yaml", settings);
    write(&space, ".sayso/roles/mine.md", " \n");
    write(
        &space,
        "tasks/a.md",
        "---\nthreshold: 7\npriority: 9\ntitel: x\nrequires: luck\nrole: wizard\nagent: nobody\n---\n",
    );
    write(&space, "tasks/b.md", "---\nrole: mine\n---\n# Fine\n");
    write(&space, "tasks/c.md", "---\nrole: mine\n");
    write(
        &space,
        "policy.yaml",
        "rules:\n  - {name: a, on: tool, match: {role: wizard}, then: ask}\n",
    );
    let ran = validate(&space, &[]).exits(2).refused("SAY049");
    let expected = [
        ".sayso/config.yaml:2: unknown field `stoer`\n    write one of space",
        ".sayso/config.yaml:4: this is no number",
        ".sayso/config.yaml:5: 7 is no threshold\n    take 0 (never)",
        ".sayso/config.yaml:6: work.turn: \"soon\" is no duration\n    write 30s",
        ".sayso/config.yaml:7: land is command, but land_command is empty",
        ".sayso/config.yaml:8: there is no agent \"nobody\"",
        ".sayso/roles/mine.md: nothing is in it",
        "policy.yaml:2: there is no role `wizard`",
        "tasks/a.md: it has no title",
        "tasks/a.md:2: 7 is no threshold",
        "tasks/a.md:3: priority: 9 is not one of 0 to 4",
        "tasks/a.md:4: unknown field `titel`",
        "tasks/a.md:5: requires: \"luck\" is no kind of gate\n    the kinds are",
        "tasks/a.md:6: there is no role \"wizard\"",
        "tasks/c.md: its settings are not closed with a line ---\n    add the line ---",
    ];
    for says in expected {
        assert!(ran.stdout.contains(says), "{says}:\n{}", ran.stdout);
    }
    assert!(ran.stderr.contains("15 mistakes in 6 files"), "{}", ran.stderr);
    let report = data(&validate(&space, &["--json"]));
    fits("mistakes", &report);
    assert_eq!(report["mistakes"].as_array().unwrap().len(), expected.len());
}

#[test]
fn given_files_are_told_apart_by_their_names() {
    let space = Space::empty();
    validate(&space, &[]).exits(3).refused("SAY001");
    write(&space, "a.md", "# Do it\n");
    write(&space, "p.yaml", "rules: 5\n");
    write(&space, ".sayso/config.yaml", "space: x\nstore: [postgres://ann:secret@db/x\n");
    validate(&space, &["a.md"]).says("1 file, no mistakes").ok();
    validate(&space, &["a.md", "p.yaml"]).exits(2).says("p.yaml:1: `rules` is a number");
    validate(&space, &[".sayso/config.yaml"]).exits(2).never_says("secret");
    validate(&space, &["nothing.md"]).exits(2).says("there is no file");
    validate(&space, &["a.txt"]).exits(2).refused("SAY038");
}

/// A workflow is known by what is in it, wherever it is and whatever it is called.
#[test]
fn workflows_are_looked_at_too() {
    let space = Space::bare(Backend::Sqlite);
    let phases = "phases:\n  - name: a\n    run: 'true'\n";
    write(&space, "release.yaml", &format!("workflow: release\n{phases}"));
    write(&space, "notes.yaml", "just: notes\n");
    write(
        &space,
        "flows/fleet.yml",
        &format!("about: x\n'workflow': y\n{phases}    nxt: b\n    next: b\n"),
    );
    write(
        &space,
        "workflows/policy.yaml",
        "workflow: z\nphases:\n  - name: a\n    prompt_file: gone.md\n  - name: b\n    \
         prompt: Do it.\n    role: wizard\n",
    );
    write(
        &space,
        "flows/roles.yaml",
        "workflow: r\nphases:\n  - {name: a, prompt: Do it., role: wizard}\n",
    );
    write(&space, "elsewhere/broken.yaml", "workflow: [\n");
    let ran = validate(&space, &[]).exits(2).refused("SAY049");
    let expected = [
        "flows/fleet.yml:6: a phase has no key `nxt`\n    write `next`",
        "flows/fleet.yml:7: `next`: there is no phase `b`",
        "flows/roles.yaml:3: there is no role \"wizard\"\n    take one of ",
        "workflows/policy.yaml:4: `gone.md` cannot be read",
    ];
    for says in expected {
        assert!(ran.stdout.contains(says), "{says}:\n{}", ran.stdout);
    }
    assert!(
        !ran.stdout.contains("notes.yaml") && !ran.stdout.contains("release.yaml"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("4 mistakes in 5 files"), "{}", ran.stderr);
    fits("mistakes", &data(&validate(&space, &["--json"])));
    validate(&space, &["release.yaml"]).says("1 file, no mistakes").ok();
    validate(&space, &["elsewhere/broken.yaml"]).exits(2).says("elsewhere/broken.yaml:");
    validate(&space, &["notes.yaml"]).exits(2).says("notes.yaml:1: ");
}

/// What is shipped to begin with is fine.
#[test]
fn the_examples_have_no_mistakes() {
    let space = Space::bare(Backend::Sqlite);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    assert!(files.len() >= 8, "{files:?}");
    let names: Vec<_> = files.iter().map(|path| path.to_str().unwrap()).collect();
    validate(&space, &names).says(&format!("{} files, no mistakes", names.len())).ok();
}
