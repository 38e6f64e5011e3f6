//! `sayso run` at a terminal: the question is asked there, and anybody may be quicker.

use super::budgets::until;
use super::{COMPLETE, Project, says, turns, writes};
use crate::harness::{Backend, Ran, Space, Who, everywhere, shows};
use std::io::Write;

/// The prompt, which comes when the question is there: what was typed before it is dropped.
const PROMPT: &str = "Your answer, or /reject WHY (empty leaves it open):";

const ASKS: &str = "<promise>INPUT_NEEDED: Which colour?</promise>";

everywhere! {
    /// Scenario E3: answered at the terminal.
    fn a_question_is_asked_and_answered_at_the_terminal(space: &Space) {
        let project = Project::new(space, &turns(&[&says(ASKS), &writes("c.txt", "x", COMPLETE)]), "");
        project.write("door.md", "---\nthreshold: 4\n---\n# Paint the door\n\nThe green one.\n");
        let mut child = space.start(Who::Terminal, &["run", "door.md"]);
        assert!(shows(&mut child, PROMPT).contains("Which colour?"));
        let task = until(|| task(space));
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(b"a calm blue\n").unwrap();
        let ran = Ran::of(&child.wait_with_output().unwrap()).says("closed").exits(0);
        assert!(ran.said().contains("a calm blue"));
        let prompts = project.prompts(&task);
        assert!(prompts[0].contains("The green one.") && prompts[0].contains("4 (often)"), "{}", prompts[0]);
        assert!(prompts[1].contains("a calm blue"));
        space.verify();
    }
}

everywhere! {
    /// Somebody else answers first: the terminal says so, and the agent goes on.
    fn somebody_else_may_be_quicker(space: &Space) {
        let project = Project::new(space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
        project.write("door.md", "# Paint the door\n");
        let mut child = space.start(Who::Terminal, &["run", "door.md"]);
        let _keys = child.stdin.take();
        let task = until(|| task(space));
        let gate = until(|| space.gates(&task).pop());
        // It is on the screen when it has been seen.
        until(|| space.show(&gate)["seen"].as_array().filter(|seen| !seen.is_empty()).cloned());
        space.ann(&["respond", &gate, "red"]).ok();
        let ran = Ran::of(&child.wait_with_output().unwrap());
        ran.says("by ann").says("meanwhile").exits(0);
        assert_eq!(space.state(&task), "closed");
    }
}

/// Scenario E4: Ctrl+C leaves the question open, and running again asks the same one.
#[test]
fn interrupted_and_run_again_it_is_the_same_question() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
    project.write("door.md", "# Paint the door\n");
    let mut child = space.start(Who::Terminal, &["run", "door.md"]);
    shows(&mut child, PROMPT);
    let task = until(|| task(&space));
    let gate = until(|| space.gates(&task).pop());
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    // The shell that `script` runs it in ends with a code of its own when it is interrupted, too.
    ran.says("stays open").says("[awaiting_input]");
    assert_eq!(space.gates(&task), std::slice::from_ref(&gate));
    let mut child = space.start(Who::Terminal, &["run", "door.md"]);
    assert!(shows(&mut child, PROMPT).contains("Which colour?"));
    child.stdin.as_mut().unwrap().write_all(b"green\n").unwrap();
    Ran::of(&child.wait_with_output().unwrap()).exits(0);
    assert_eq!(space.state(&task), "closed");
    assert_eq!(project.endings(&task), ["asked", "completed"]);
    let all = space.show(&task)["questions"].as_array().unwrap().len();
    assert_eq!(all, 1, "asked once");
}

/// Without a terminal it ends when the task waits, and says so with its exit code.
#[test]
fn unattended_it_ends_when_it_waits() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
    project.write("door.md", "# Paint the door\n");
    space.run(Who::Script, &["run", "door.md"]).says("Which colour?").exits(7);
    space.run(Who::Script, &["run", "door.md"]).says("Which colour?").exits(7);
    let task = task(&space).unwrap();
    space.ann(&["respond", &task, "red"]).ok();
    space.run(Who::Script, &["run", &task]).says("closed").exits(0);
    space.run(Who::Script, &["run", &task]).refused("SAY018");
}

fn task(space: &Space) -> Option<String> {
    let list = space.ann(&["list", "--json"]).json();
    list["items"][0]["handle"].as_str().map(str::to_owned)
}

/// A sign-off that a task file asks for later on counts from then on.
#[test]
fn a_file_may_ask_for_a_sign_off_later() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
    project.write("door.md", "# Paint the door\n");
    space.run(Who::Script, &["run", "door.md"]).exits(7);
    project.write("door.md", "---\r\nrequires: approval\r\n---\r\n# Paint the door\r\n");
    let task = task(&space).unwrap();
    space.ann(&["respond", &task, "red"]).ok();
    space.run(Who::Script, &["run", "door.md"]).says("Do you approve it?").exits(7);
}
