//! `sayso policy check`: finds mistakes in policies.

use super::files::{self, PolicyFileArgs};
use crate::commands::diagnostics::DiagnosticReport;
use crate::context::CliContext;
use crate::exit::Result;
use sayso_core::{Code, CommandExit};
use sayso_policy::KnownNames;

/// Find every mistake in policies, with line and fix.
///
/// Besides what cannot be read, it finds statuses and groups that are not there, rules that are never
/// reached, groups without people, and more people asked for than there are. Files that are checked
/// together may name each other's groups: those of admin and space everywhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso policy check policy.yaml
  sayso policy check policy.yaml agent:rex=rex.yaml")]
pub(crate) struct PolicyCheckArgs {
    #[command(flatten)]
    given: PolicyFileArgs,
}

pub(crate) fn run(args: PolicyCheckArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    if args.given.files.is_empty() {
        let policies = files::in_force(context)?;
        let report = DiagnosticReport::new(
            policies.files().count(),
            policies.check(&KnownNames::of_every_space()),
        );
        return report.show(context, Code::BadPolicy);
    }
    let usual = args.given.usual();
    let texts = files::read(context, &args.given.files, &usual)?;
    let all = texts.iter().map(|t| (t.layer.clone(), t.file.as_str(), t.text.as_str()));
    let found = sayso_policy::mistakes(all, &files::known(context));
    DiagnosticReport::new(texts.len(), found).show(context, Code::BadPolicy)
}
