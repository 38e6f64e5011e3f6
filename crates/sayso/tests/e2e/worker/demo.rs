//! `sayso demo`: the first command of the README.

use crate::harness::{Space, Who};

#[test]
fn the_demo_plays_to_its_end_and_leaves_nothing() {
    let space = Space::empty();
    let temp = tempfile::tempdir().unwrap();
    let mut command = space.command(Who::Script, &["demo", "--auto"]);
    command.env("TMPDIR", temp.path());
    let ran = space.finish(&mut command);
    let said = ran.says("Facts:").says("Options:").says("What shall the release be called?").said();
    assert_eq!(said.matches("[closed]").count(), 3, "{said}");
    assert!(said.contains("entries of the audit verified"), "{said}");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn without_a_terminal_the_person_is_played_and_that_is_said() {
    Space::empty().run(Who::Script, &["demo"]).says("the person is played").exits(0);
}
