//! Several: research, a yes, writing, a yes, publishing. The question stands with the phase it is about.
//!
//! `cargo run -p sayso-workflow --example several_approvals`
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

use sayso_workflow::{
    FlowState, HumanQuestion, Inbox, Phase, TerminalHandler, Workflow, WorkflowDiagnostics,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Article {
    pub notes: String,
    pub text: String,
    pub is_published: bool,
}

pub fn workflow() -> Result<Workflow<Article>, WorkflowDiagnostics> {
    Workflow::new("several-approvals", 1)
        .phase(
            Phase::new("research")
                .agent(|_: FlowState<Article>| async {
                    Ok::<_, String>("Three things.".to_owned())
                })
                .keep(|article: &mut Article, notes: &String| article.notes = notes.clone())
                .human(HumanQuestion::approval("Is this enough to write?"))
                .on_reject("research")
                .next("write"),
        )
        .phase(
            Phase::new("write")
                .agent(|state: FlowState<Article>| async move {
                    Ok::<_, String>(format!("# {}", state.notes))
                })
                .keep(|article: &mut Article, text: &String| article.text = text.clone())
                .human_if(|article, _| {
                    HumanQuestion::approval("Shall it be published?").context(&article.text)
                })
                .on_reject("write")
                .next("publish"),
        )
        .phase(
            Phase::new("publish")
                .agent(|_| async { Ok::<_, String>(true) })
                .keep(|article: &mut Article, is: &bool| article.is_published = *is)
                .terminal(),
        )
        .build()
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outcome = sayso_workflow::block_on(
        async {
            let inbox = Inbox::in_memory("several_approvals")?;
            let flow = inbox.begin(&workflow()?, "one", Article::default()).await?;
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
