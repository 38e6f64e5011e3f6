//! `sayso policy show`: shows the active policy.

use super::wire::short;
use crate::card;
use crate::commands::diagnostics::count;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::time;
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use sayso_engine::Desk;
use sayso_server::wire::ActivePolicies;

/// Show what is in force, layer by layer, with its digest.
///
/// With `--text` or `--agent` the policy itself is printed, as it was set.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sayso policy show --text > policy.yaml      to change it, then: sayso policy set policy.yaml")]
pub(crate) struct PolicyShowArgs {
    /// Print the policy of the space, as it was set.
    #[arg(long)]
    text: bool,
    /// Print the policy of this agent, as it was set.
    #[arg(long, value_name = "NAME", conflicts_with = "text")]
    agent: Option<String>,
}

pub(crate) fn run(args: PolicyShowArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let desk = context.desk_read_only()?;
    let wanted = match (args.agent, args.text) {
        (Some(name), _) => Some(sayso_policy::PolicyLayer::Agent(name)),
        (None, true) => Some(sayso_policy::PolicyLayer::Space),
        (None, false) => None,
    };
    let mut policy = in_force(&desk)?;
    if let Some(layer) = wanted {
        let layer = layer.to_string();
        policy.layers.retain(|found| found.layer == layer);
        let Some(found) = policy.layers.first() else {
            return Err(Failure::new(
                Code::NotFound,
                format!("no policy of the {layer} is in force"),
            )
            .hint("see what is with: sayso policy show"));
        };
        if !context.out.json {
            context.out.deliver(found.text.trim_end());
            return Ok(CommandExit::Ok);
        }
    }
    print(context, &desk, &policy);
    Ok(CommandExit::Ok)
}

/// The active policy, with the person who set each layer.
pub(super) fn in_force(desk: &Desk) -> Result<ActivePolicies> {
    Ok(ActivePolicies::at(desk, &time::rfc3339)?)
}

pub(super) fn print(context: &CliContext<'_>, desk: &Desk, policy: &ActivePolicies) {
    let out = context.out;
    if out.json {
        return out.json(policy);
    }
    if policy.layers.is_empty() {
        out.line("no policy is in force: nothing is asked that nobody asked for");
        out.remark("start with: sayso policy presets balanced > policy.yaml");
        return;
    }
    let width = policy.layers.iter().map(|layer| layer.layer.chars().count()).max().unwrap_or(0);
    for layer in &policy.layers {
        let name = out.paint(OutputStyle::Name, &card::pad(&sanitize_line(&layer.layer), width));
        let (rules, tests) = (count(layer.rules, "rule"), count(layer.tests, "test"));
        let at = layer.set_at.parse::<jiff::Timestamp>().map(|at| at.as_microsecond());
        let at = at.map(sayso_core::Timestamp::from_micros).unwrap_or_else(|_| desk.now());
        let set =
            format!("set {} by {}", time::relative(at, desk.now()), sanitize_line(&layer.set_by));
        out.line(&format!("{name}  {rules}, {tests}  {}", out.paint(OutputStyle::Faint, &set)));
    }
    out.line(&out.paint(OutputStyle::Faint, &format!("policy {}", short(&policy.digest))));
}
