//! `sayso policy presets`: prints starter policies.

use super::wire;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sayso_core::CommandExit;
use sayso_policy::PolicyPreset;

/// List the policies to start from, or print one.
///
/// A preset is a file with a comment on every rule and its own tests. Copy it, then change what does
/// not fit you.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sayso policy presets balanced > policy.yaml")]
pub(crate) struct PolicyPresetsArgs {
    /// Print the preset of this name.
    #[arg(value_name = "NAME", value_parser = by_name())]
    name: Option<PolicyPreset>,
}

fn by_name() -> impl TypedValueParser<Value = PolicyPreset> {
    PossibleValuesParser::new(PolicyPreset::ALL.map(PolicyPreset::as_str)).map(|name| {
        let found = PolicyPreset::ALL.into_iter().find(|preset| preset.as_str() == name);
        // The parser accepts only names of presets.
        found.unwrap_or(PolicyPreset::Cautious)
    })
}

pub(crate) fn run(args: PolicyPresetsArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    match (args.name, out.json) {
        (Some(preset), false) => out.deliver(preset.text().trim_end()),
        (Some(preset), true) => out.json(&wire::PresetJson::of(preset)),
        (None, true) => out.json(&PolicyPreset::ALL.map(wire::PresetJson::of)),
        (None, false) => {
            for preset in PolicyPreset::ALL.map(wire::PresetJson::of) {
                let name = out.paint(OutputStyle::Name, &card::pad(&preset.name, 9));
                out.line(&format!("{name} {}", preset.says));
            }
            out.remark("");
            out.remark("start from one with: sayso policy presets balanced > policy.yaml");
        }
    }
    Ok(CommandExit::Ok)
}
