//! `sayso policy set`: activates or removes a policy.

use super::files::{self, PolicySource, name_of};
use super::show;
use crate::context::CliContext;
use crate::exit::Result;
use sayso_core::CommandExit;
use sayso_engine::{SettingChange, SettingKind};
use sayso_policy::PolicyLayer;

/// Put a policy in force, or take it away.
///
/// It holds from now on for all in the space; the files themselves are not looked at again. A
/// policy with mistakes is refused as a whole. Only people do this, and each change has its entry in
/// the audit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso policy set policy.yaml
  sayso policy set agent:rex=rex.yaml
  sayso policy set --remove --agent rex")]
pub(crate) struct PolicySetArgs {
    /// Policy files; `-` for standard input. Each takes the place of its layer.
    #[arg(value_name = "FILE", required_unless_present = "remove")]
    files: Vec<PolicySource>,
    /// The policy of this agent, not of the space.
    #[arg(long, value_name = "NAME", conflicts_with = "admin")]
    agent: Option<String>,
    /// The policy of the admin of the installation.
    #[arg(long)]
    admin: bool,
    /// Take the policy away instead.
    #[arg(long, conflicts_with = "files")]
    remove: bool,
}

pub(crate) fn run(args: PolicySetArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let layer = match (args.agent, args.admin) {
        (Some(name), _) => PolicyLayer::Agent(name),
        (None, true) => PolicyLayer::Admin,
        (None, false) => PolicyLayer::Space,
    };
    let change = |layer: &PolicyLayer, body: Option<String>| -> Result<SettingChange> {
        Ok(SettingChange { kind: SettingKind::Policy, name: name_of(layer)?, body })
    };
    let changes = if args.remove {
        vec![change(&layer, None)?]
    } else {
        let texts = files::read(context, &args.files, &layer)?;
        let all = texts.into_iter().map(|text| change(&text.layer, Some(text.text)));
        all.collect::<Result<_>>()?
    };
    let (desk, actor) = context.open_as_person()?;
    if desk.set(&actor, changes)? == 0 {
        context.out.remark("nothing changed: it is so already");
    }
    show::print(context, &desk, &show::in_force(&desk)?);
    Ok(CommandExit::Ok)
}
