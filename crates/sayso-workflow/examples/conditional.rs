//! Conditional: a person is asked only where the agent is not sure.
//!
//! `cargo run -p sayso-workflow --example conditional`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{
    FlowState, HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub confidence: f64,
    pub label: String,
}

pub fn workflow() -> Result<Workflow<Picture>, WorkflowDiagnostics> {
    Workflow::new("conditional", 1)
        .phase(
            Phase::new("classify")
                .agent(|_: FlowState<Picture>| async { Ok::<_, String>("cat".to_owned()) })
                .keep(|picture: &mut Picture, label: &String| picture.label = label.clone())
                .human_if(|picture, label| {
                    (picture.confidence < 0.8)
                        .then(|| HumanQuestion::approval(format!("Is it a {label}?")))
                })
                .terminal(),
        )
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("conditional")?;
            let flow = inbox
                .begin(&workflow()?, "one", Picture { confidence: 0.6, label: String::new() })
                .await?;
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
