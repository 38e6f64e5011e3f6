//! `sayso flow graph`: draws a workflow, or a flow.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::flow_runner::definition_of;
use sayso_core::{Code, CommandExit};
use sayso_workflow::file::{WorkflowDefinition, flow_graph};
use sayso_workflow::graph::{GraphProgress, WorkflowGraph};
use std::path::Path;

/// A picture of a workflow, or of a flow and where it stands.
///
/// A file is checked first: all its mistakes are printed, each with its line and fix. As text, what it takes
/// with `--set` is listed below.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow graph release.yaml
  sayso flow graph f7k2 --format svg > flow.svg
  sayso flow graph release.yaml --format mermaid")]
pub(crate) struct FlowGraphArgs {
    /// A workflow file, or a flow.
    #[arg(value_name = "FILE|FLOW")]
    what: String,
    /// As text for the terminal, as Mermaid, or as SVG.
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    format: GraphFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum GraphFormat {
    Text,
    Mermaid,
    Svg,
}

pub(crate) fn run(args: &FlowGraphArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    if context.out.json {
        return Err(Failure::new(Code::BadValue, "a picture is not JSON")
            .hint("where a flow stands, as JSON: sayso flow show FLOW --json"));
    }
    let path = Path::new(&args.what);
    let is_file = path.extension().is_some_and(|e| e == "yaml" || e == "yml") || path.is_file();
    let mut inputs = String::new();
    let (graph, standing) = if is_file {
        let definition = super::load(context, path)?;
        inputs = inputs_of(&definition);
        (WorkflowGraph::from(&definition), GraphProgress::default())
    } else {
        let (desk, _) = context.open_read_only()?;
        let id = desk.find_flow(&args.what)?;
        let flow = desk.flow(id)?;
        let (graph, drawn) = flow_graph(&definition_of(&flow)?, &flow, &desk.flow_history(id)?);
        (graph, GraphProgress { waits: desk.flow_status(&flow)?.is_waiting(), ..drawn })
    };
    let out = context.out;
    out.deliver(&match args.format {
        GraphFormat::Text => format!("{}{inputs}", graph.text(&standing, super::is_plain(out))),
        GraphFormat::Mermaid => graph.mermaid(&standing),
        GraphFormat::Svg => graph.svg(&standing),
    });
    Ok(CommandExit::Ok)
}

/// The inputs of a workflow, as text.
fn inputs_of(definition: &WorkflowDefinition) -> String {
    let line = |input: &sayso_workflow::file::WorkflowInput| {
        let given = match &input.default {
            Some(default) => format!("{default} unless given"),
            None => "must be given".to_owned(),
        };
        let about =
            if input.about.is_empty() { String::new() } else { format!("  {}", input.about) };
        format!("  --set {}=VALUE  {given}{about}\n", input.name)
    };
    let lines: String = definition.input.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\nInputs:\n{lines}") }
}
