//! Branching: a person picks a way, and each way is a phase of its own. Words of their own are welcome.
//!
//! `cargo run -p sayso-workflow --example branching`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub how: String,
    pub done: String,
}

fn way(name: &'static str) -> Phase<Job, String> {
    Phase::new(name)
        .agent(move |_| async move { Ok::<_, String>(format!("done {name}")) })
        .keep(|job: &mut Job, done: &String| job.done = done.clone())
        .terminal()
}

pub fn workflow() -> Result<Workflow<Job>, WorkflowDiagnostics> {
    let question = HumanQuestion::choice("How shall it be done?", ["Fast", "Thorough"])
        .consequence("Thorough", "takes a day")
        .or_other();
    Workflow::new("branching", 1)
        .phase(
            Phase::new("choose")
                .human(question)
                .hear(|job: &mut Job, said| job.how = said.value.clone().unwrap_or_default())
                .next_by(["fast", "thorough", "custom"], |state, ()| match state.value() {
                    Some("Fast") => "fast",
                    Some("Thorough") => "thorough",
                    _ => "custom",
                }),
        )
        .phase(way("fast"))
        .phase(way("thorough"))
        .phase(way("custom"))
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("branching")?;
            let flow = inbox.begin(&workflow()?, "one", Job::default()).await?;
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
