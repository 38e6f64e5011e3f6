//! `sayso flow graph`: a picture of a workflow, or of a flow.

use crate::context::Context;
use crate::exit::Result;
use crate::flows::definition_of;
use sayso_core::Exit;
use sayso_workflow::file::picture;
use sayso_workflow::graph::{Graph, Standing};
use std::path::Path;

/// A picture of a workflow, or of a flow and where it stands.
///
/// A file is checked first: all its mistakes are printed, each with its line and fix.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow graph release.yaml
  sayso flow graph f7k2 --format svg > flow.svg
  sayso flow graph release.yaml --format mermaid")]
pub(crate) struct Args {
    /// A workflow file, or a flow.
    #[arg(value_name = "FILE|FLOW")]
    what: String,
    /// As text for the terminal, as Mermaid, or as SVG.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Mermaid,
    Svg,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<Exit> {
    let path = Path::new(&args.what);
    let is_file = path.extension().is_some_and(|e| e == "yaml" || e == "yml") || path.is_file();
    let (graph, standing) = match is_file {
        true => (Graph::from(&super::load(context, path)?), Standing::default()),
        false => {
            let (desk, _) = context.sit_down_to_look()?;
            let id = desk.find_flow(&args.what)?;
            let flow = desk.flow(id)?;
            picture(&definition_of(&flow)?, &flow, &desk.flow_history(id)?)
        }
    };
    let out = context.out;
    out.deliver(&match args.format {
        Format::Text => graph.text(&standing, super::is_plain(out)),
        Format::Mermaid => graph.mermaid(&standing),
        Format::Svg => graph.svg(&standing),
    });
    Ok(Exit::Ok)
}
