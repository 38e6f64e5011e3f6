//! `sayso export`: writes the settings of a space as a fleet file.

use crate::context::Context;
use crate::exit::Result;
use crate::fleet;
use sayso_core::Exit;
use sayso_server::fleet::Fleet;

/// Write what is set for the space as a fleet file, for `apply`.
///
/// Applying it again changes nothing. What came of people's answers is not in it: that is in the
/// audit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso export > fleet.yaml
  sayso export --all > fleets.yaml")]
pub(crate) struct Args {
    /// All spaces of the store, told apart by `---`.
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down()?;
    let mut spaces = vec![desk.space_name().to_owned()];
    if args.all {
        let all = desk.spaces()?.into_iter().filter(|space| space.deleted_at.is_none());
        spaces = all.map(|space| space.name).collect();
    }
    let mut fleets = vec![];
    for space in &spaces {
        let settings = fleet::desk_of(context, Some(space))?.settings(None)?;
        fleets.push(Fleet::of(space, &settings));
    }
    match context.out.json {
        true => context.out.json(&fleets),
        false => context.out.line(fleet::write(&fleets)?.trim_end()),
    }
    Ok(Exit::Ok)
}
