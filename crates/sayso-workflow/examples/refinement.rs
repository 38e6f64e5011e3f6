//! Refinement: the agent works, hears what is to be better, and works again until it is approved.
//!
//! `cargo run -p sayso-workflow --example refinement`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{
    FlowState, HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub text: String,
    pub rounds: u32,
}

/// Stands in for a model that minds what it is told.
async fn write(before: String, wish: Option<String>) -> Result<String, String> {
    Ok(match wish {
        Some(wish) => format!("{before} Now {wish}."),
        None => "The sea is wide.".into(),
    })
}

pub fn workflow() -> Result<Workflow<Draft>, WorkflowDiagnostics> {
    Workflow::new("refinement", 1)
        .phase(
            Phase::new("write")
                .agent(|state: FlowState<Draft>| write(state.text.clone(), state.reason()))
                .keep(|draft: &mut Draft, text: &String| {
                    draft.text = text.clone();
                    draft.rounds += 1;
                })
                .human_if(|draft, _| HumanQuestion::approval("Is it good?").context(&draft.text))
                .on_reject("write")
                .terminal(),
        )
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("refinement")?;
            let flow = inbox.begin(&workflow()?, "one", Draft::default()).await?;
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
