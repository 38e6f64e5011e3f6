//! Agents that are installed here, in phases of a workflow in Rust.

use crate::shared::{Site, block_on, on_both};
use sayso_core::Answer;
use sayso_workflow::{
    FlowOutcome, FlowState, HumanInput, HumanQuestion, InstalledAgent, Phase, TurnReport, Workflow,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// A program that notes that it was called, and answers what it is told by `says`.
fn agent(folder: &Path, says: &str) -> InstalledAgent {
    let script = format!("cat >> told.txt; echo >> told.txt; {says}");
    InstalledAgent::command("sh").variables(std::env::vars()).args(["-c", &script]).folder(folder)
}

fn told(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("told.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

on_both! {
    /// What it asks at the end of its turn is asked, and its next turn is told what was said. Each turn is taken
    /// once, whoever goes on with the flow.
    fn an_agent_asks_and_is_told(site: &Site) {
        let folder = tempfile::tempdir().unwrap();
        let asks = agent(folder.path(), "echo '<promise>INPUT_NEEDED: Which port?</promise>'");
        let does = agent(folder.path(), "echo 'Port taken.'; echo '<promise>COMPLETE</promise>'");
        let workflow = || {
            let (asks, does) = (asks.clone(), does.clone());
            Workflow::new("port", 1)
                .phase(
                    Phase::new("find")
                        .agent(move |state: FlowState<String>| asks.turn(format!("find {}", state.data)))
                        .human_if(|_, turned: &TurnReport| turned.questions.first().map(HumanQuestion::text))
                        .hear(|state, said| *state = said.value.clone().unwrap_or_default())
                        .next("take"),
                )
                .phase(
                    Phase::new("take")
                        .agent(move |state: FlowState<String>| does.turn(format!("take {}", state.data)))
                        .keep(|state, turned: &TurnReport| *state = format!("{}, {}", state, turned.completed))
                        .terminal(),
                )
                .build()
                .unwrap()
        };
        let inbox = site.inbox();
        let run = || block_on(async {
            let flow = inbox.begin(&workflow(), "one", "a port".into()).await.unwrap();
            flow.run(HumanInput::Park).await.unwrap()
        });
        assert!(matches!(run(), FlowOutcome::Waits(questions) if questions[0].prompt == "Which port?"));
        assert!(matches!(run(), FlowOutcome::Waits(_)));
        site.answer(&site.open()[0], Answer::text("8081"));
        let done = run();
        assert!(matches!(&done, FlowOutcome::Done(state) if state.data == "8081, true"), "{done:?}");
        assert_eq!(told(folder.path()), ["find a port", "take 8081"]);
    }
}

/// What does not end well has not ended well, whatever it printed.
#[test]
fn what_is_not_plainly_done_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let turn = |agent: &InstalledAgent| block_on(agent.turn("go"));
    let fails = |says: &str, why: &str| {
        let error = turn(&agent(folder.path(), says)).unwrap_err();
        assert!(error.contains(why), "{says}: {error}");
    };
    fails("echo '<promise>COMPLETE</promise>'; echo oops >&2; exit 3", "code 3: oops");
    fails("true", "said nothing");
    fails(r#"printf '```json\n{"status": "failed", "summary": "no way"}\n```\n'"#, "gave up");
    // A question that is not understood is not passed over.
    fails("echo '<promise>INPUT_NEDED: Which port?</promise>'", "not understood");
    fails("echo '<promise>INPUT_NEEDED: Which port?'", "not understood");
    let missing = InstalledAgent::command("no-such-program-here")
        .variables(std::env::vars())
        .folder(folder.path());
    assert!(turn(&missing).unwrap_err().contains("no-such-program-here"));
    let plain = turn(&agent(folder.path(), "echo It is done, I think.")).unwrap();
    assert!(!plain.completed && plain.questions.is_empty() && plain.text.contains("I think"));
}

/// A turn that takes too long is ended with everything it started, and so is one that nobody wants any more.
#[test]
fn what_is_not_wanted_any_more_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let sleeps = agent(folder.path(), "sh -c 'sleep 60; touch late' & sleep 60");
    let began = Instant::now();
    let slow = sleeps.clone().at_most(Duration::from_secs(1));
    assert!(block_on(slow.turn("go")).unwrap_err().contains("took too long"));
    block_on(async {
        let _ = tokio::time::timeout(Duration::from_secs(1), sleeps.turn("go")).await;
    });
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert!(!folder.path().join("late").exists());
}
