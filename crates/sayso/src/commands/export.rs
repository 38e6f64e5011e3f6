//! `sayso export`: writes the settings of a space as a fleet file.

use crate::context::CliContext;
use crate::exit::Result;
use crate::fleet;
use sayso_core::CommandExit;
use sayso_server::fleet::FleetFile;

/// Write what is set for the space as a fleet file, for `apply`.
///
/// Applying it again changes nothing. What came of people's answers is not in it: that is in the
/// audit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso export > fleet.yaml
  sayso export --all > fleets.yaml")]
pub(crate) struct ExportArgs {
    /// All spaces of the store, told apart by `---`.
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: ExportArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open()?;
    let mut spaces = vec![desk.space_name().to_owned()];
    if args.all {
        let all = desk.spaces()?.into_iter().filter(|space| space.deleted_at.is_none());
        spaces = all.map(|space| space.name).collect();
    }
    let mut fleets = vec![];
    for space in &spaces {
        let settings = fleet::desk_of(context, Some(space))?.settings(None)?;
        fleets.push(FleetFile::of(space, &settings));
    }
    if context.out.json {
        context.out.json(&fleets)
    } else {
        context.out.line(fleet::write(&fleets)?.trim_end())
    }
    Ok(CommandExit::Ok)
}
