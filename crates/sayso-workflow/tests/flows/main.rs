//! Workflows in Rust and in YAML: what is read, what is said of mistakes, how it looks; and flows through them,
//! on SQLite and PostgreSQL, with people who answer and processes that die.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod agents;
mod cases;
mod examples;
mod inbox;
mod killed;
mod language;
mod mistakes;
mod picture;
mod piecewise;
mod programs;
mod shared;
mod walk;
mod ways;

use sayso_workflow::file::{FileDiagnostic, WorkflowDefinition};

/// Reads a workflow that names no other files.
pub(crate) fn parse(text: &str) -> Result<WorkflowDefinition, Vec<FileDiagnostic>> {
    WorkflowDefinition::parse("flow.yaml", text, &|_| Err("there are no other files".into()))
}

#[track_caller]
pub(crate) fn read(text: &str) -> WorkflowDefinition {
    parse(text).unwrap_or_else(|mistakes| panic!("{}", lines(&mistakes)))
}

pub(crate) fn lines(mistakes: &[FileDiagnostic]) -> String {
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}
