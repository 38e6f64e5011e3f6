//! `sayso policy presets`: prints starter policies.

use super::wire;
use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sayso_core::Exit;
use sayso_policy::Preset;

/// List the policies to start from, or print one.
///
/// A preset is a file with a comment on every rule and its own tests. Copy it, then change what does
/// not fit you.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sayso policy presets balanced > policy.yaml")]
pub(crate) struct Args {
    /// Print the preset of this name.
    #[arg(value_name = "NAME", value_parser = by_name())]
    name: Option<Preset>,
}

fn by_name() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::as_str)).map(|name| {
        let found = Preset::ALL.into_iter().find(|preset| preset.as_str() == name);
        // The parser accepts only names of presets.
        found.unwrap_or(Preset::Cautious)
    })
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let out = context.out;
    match (args.name, out.json) {
        (Some(preset), false) => out.deliver(preset.text().trim_end()),
        (Some(preset), true) => out.json(&wire::Preset::of(preset)),
        (None, true) => out.json(&Preset::ALL.map(wire::Preset::of)),
        (None, false) => {
            for preset in Preset::ALL.map(wire::Preset::of) {
                let name = out.paint(Look::Name, &card::pad(&preset.name, 9));
                out.line(&format!("{name} {}", preset.says));
            }
            out.remark("");
            out.remark("start from one with: sayso policy presets balanced > policy.yaml");
        }
    }
    Ok(Exit::Ok)
}
