//! Dynamic: the reviewer finds out on its way that it needs a person, and says what to ask.
//!
//! `cargo run -p sayso-workflow --example dynamic`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{
    FlowState, HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Code {
    pub rounds: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Review {
    pub needs_human: bool,
    pub question: String,
    pub options: Vec<String>,
}

/// Stands in for a model that is not sure of the first try.
async fn review(rounds: u32) -> Result<Review, String> {
    Ok(Review {
        needs_human: rounds < 2,
        question: "The cache is never emptied. What now?".into(),
        options: vec!["Redesign".into(), "Ship it".into()],
    })
}

pub fn workflow() -> Result<Workflow<Code>, WorkflowDiagnostics> {
    Workflow::new("dynamic", 1)
        .phase(
            Phase::new("code")
                .agent(|state: FlowState<Code>| async move { Ok::<_, String>(state.rounds + 1) })
                .keep(|code: &mut Code, rounds: &u32| code.rounds = *rounds)
                .next("review"),
        )
        .phase(
            Phase::new("review")
                .agent(|state: FlowState<Code>| review(state.rounds))
                .human_if(|_, review: &Review| {
                    review
                        .needs_human
                        .then(|| HumanQuestion::choice(&review.question, &review.options))
                })
                .next_by(["code", "done"], |state, review| {
                    let is_asked_for = review.needs_human && state.value() == Some("Redesign");
                    if is_asked_for { "code" } else { "done" }
                })
                .on_reject("done"),
        )
        .phase(Phase::new("done").agent(|_| async { Ok::<_, String>(()) }).terminal())
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("dynamic")?;
            let flow = inbox.begin(&workflow()?, "one", Code::default()).await?;
            // Asked here. `Inbox::open` and `HumanInput::Park` in its place ask through the inbox of a project.
            Ok::<_, Box<dyn std::error::Error>>(flow.run(TerminalHandler::new()).await?)
        },
        &|| false,
    )?;
    if let Some(outcome) = outcome {
        println!("{outcome:?}");
    }
    Ok(())
}
