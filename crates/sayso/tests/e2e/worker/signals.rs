//! What agents say, and what is made of it: scenario V, and turns from which nothing came.

use super::{COMPLETE, Project, says, turns};
use crate::harness::{Backend, Space, everywhere};

/// The state of a task after its agent's final message was this, in one turn.
fn after(message: &str) -> (String, Vec<String>) {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(message)]), "");
    let task = space.create(&["Do it"]);
    let ran = project.work(&["--once"]);
    let expected = if space.state(&task) == "failed" { 14 } else { 0 };
    ran.exits(expected);
    let kinds = space.show(&task)["awaiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|k| k.as_str().unwrap().to_owned())
        .collect();
    (space.state(&task), kinds)
}

#[test]
fn each_signal_leads_where_it_should() {
    let asked = |kind: &str| ("awaiting_input".to_owned(), vec![kind.to_owned()]);
    for (signal, kind) in [
        ("EJECT", "work"),
        ("BLOCKED", "input"),
        ("APPROVAL_NEEDED", "approval"),
        ("INPUT_NEEDED", "input"),
        ("REVIEW_REQUESTED", "review"),
        ("CONTENT_REVIEW", "content"),
        ("ESCALATE", "escalation"),
        ("CHECKPOINT", "checkpoint"),
    ] {
        assert_eq!(
            after(&format!("Look.\n<promise>{signal}: see\nbelow ☃</promise>")),
            asked(kind),
            "{signal}"
        );
    }
    assert_eq!(after(COMPLETE), ("closed".to_owned(), vec![]));
}

#[test]
fn what_only_looks_like_complete_is_not() {
    for message in [
        "all done, complete",
        "<promise>complete</promise>",
        "<promise>COMPLETE",
        "```\n<promise>COMPLETE</promise>\n```",
        "The README says `<promise>COMPLETE</promise>` there.",
        "> <promise>COMPLETE</promise>",
        "<promise>DONE</promise>",
        "{\"status\": \"completed\"",
        " ",
    ] {
        assert_eq!(after(message).0, "open", "{message:?}");
    }
}

#[test]
fn a_result_is_read_in_a_block() {
    let needs = "Here:\n```json\n{\"status\": \"needs_input\", \"question\": \"Which?\", \"questionContext\": \"There are two.\"}\n```\nThanks.";
    assert_eq!(after(needs), ("awaiting_input".into(), vec!["input".into()]));
    let failed = "```json\n{\"status\": \"failed\", \"summary\": \"no compiler\"}\n```";
    assert_eq!(after(failed).0, "failed");
    let done = "```json\n{\"status\": \"completed\", \"summary\": \"it works\"}\n```";
    assert_eq!(after(done).0, "closed");
}

everywhere! {
    /// After some turns without a result a person is asked, and their word starts the count anew.
    fn an_agent_that_is_stuck_is_shown_to_a_person(space: &Space) {
        let project = Project::new(space, &turns(&[&says("Hm.")]), "  fruitless: 3");
        let task = space.create(&["Do it"]);
        project.work(&[]).ok();
        assert_eq!(project.endings(&task), ["unclear", "unclear", "asked"]);
        let gate = space.show(&space.gate(&task));
        assert_eq!(gate["kind"], "escalation");
        assert!(gate["question"].as_str().unwrap().contains("3 turns without a result"), "{gate}");
        space.ann(&["respond", &task, "just say that you are done"]).ok();
        project.script(&turns(&[&says("Hm."), &says("Hm."), &says("Hm."), &says("Hm."), &says(COMPLETE)]));
        project.work(&[]).ok();
        assert_eq!(space.state(&task), "closed");
        let told = &project.prompts(&task)[1];
        assert!(told.contains("without a result that counts"), "{told}");
    }
}

#[test]
fn a_megabyte_of_words_is_read() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&["- print: {bytes: 1000000}\n- final: <promise>COMPLETE</promise>"]);
    let project = Project::new(&space, &script, "");
    let task = space.create(&["Do it"]);
    project.work(&[]).ok();
    assert_eq!(space.state(&task), "closed");
}
