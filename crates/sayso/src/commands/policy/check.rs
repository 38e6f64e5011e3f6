//! `sayso policy check`: every mistake in policies.

use super::files::{self, Source};
use crate::commands::mistakes::Report;
use crate::context::Context;
use crate::exit::Result;
use sayso_core::{Code, Exit};
use sayso_policy::{Known, Layer};

/// Find every mistake in policies, with line and fix.
///
/// Besides what cannot be read, it finds statuses and groups that are not there, rules that are never
/// reached, groups that nobody is in, and more people asked for than there are. Files that are checked
/// together may name each other's groups: those of admin and space everywhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso policy check policy.yaml
  sayso policy check policy.yaml agent:rex=rex.yaml")]
pub(crate) struct Args {
    /// Policy files, `-` for standard input; what is in force, unless given.
    #[arg(value_name = "FILE")]
    files: Vec<Source>,
    /// The files are the policy of this agent, not of the space.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    if args.files.is_empty() {
        let policies = files::in_force(context)?;
        let report =
            Report::new(policies.files().count(), policies.check(&Known::of_every_space()));
        return report.show(context, Code::BadPolicy);
    }
    let usual = args.agent.map_or(Layer::Space, Layer::Agent);
    let texts = files::read(context, &args.files, &usual)?;
    let all = texts.iter().map(|t| (t.layer.clone(), t.file.as_str(), t.text.as_str()));
    let found = sayso_policy::mistakes(all, &files::known(context));
    Report::new(texts.len(), found).show(context, Code::BadPolicy)
}
