//! Planned: a plan is always looked at before it is carried out, and a no sends it back with the reason.
//!
//! `cargo run -p sayso-workflow --example planned_checkpoint`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{
    FlowState, HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub plan: String,
    pub done: bool,
}

/// Stands in for a model.
async fn plan(minding: Option<String>) -> Result<String, String> {
    Ok(match minding {
        Some(wish) => format!("Look, then change it. Minding: {wish}."),
        None => "Look, then change it.".into(),
    })
}

pub fn workflow() -> Result<Workflow<Work>, WorkflowDiagnostics> {
    Workflow::new("planned-checkpoint", 1)
        .phase(
            Phase::new("plan")
                .agent(|state: FlowState<Work>| plan(state.reason()))
                .keep(|work: &mut Work, plan: &String| work.plan = plan.clone())
                .human_if(|work, _| {
                    HumanQuestion::approval("Shall it be carried out?").context(&work.plan)
                })
                .on_reject("plan")
                .next("execute"),
        )
        .phase(
            Phase::new("execute")
                .agent(|_| async { Ok::<_, String>(true) })
                .keep(|work: &mut Work, done: &bool| work.done = *done)
                .terminal(),
        )
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("planned_checkpoint")?;
            let flow = inbox.begin(&workflow()?, "one", Work::default()).await?;
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
