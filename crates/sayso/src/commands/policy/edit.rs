//! `sayso policy edit`: changes the active policy in an editor.

use super::files::name_of;
use super::show;
use crate::context::CliContext;
use crate::editor;
use crate::exit::{Failure, Result};
use sayso_core::{Code, CommandExit, Permission};
use sayso_engine::{SettingChange, SettingKind};
use sayso_policy::PolicyLayer;

/// Change the policy in force in your editor. What has mistakes is not set.
#[derive(clap::Args)]
pub(crate) struct PolicyEditArgs {
    /// The policy of this agent, not of the space.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

const EMPTY: &str = "# What agents may do by themselves, what a person is asked, what never happens.\n\
                     # For something to start from: sayso policy presets\nrules: []\n";

pub(crate) fn run(args: PolicyEditArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    // Checked first, so that a person does not write a policy they may not set.
    if let Err(refusal) = actor.check(Permission::Govern, "change the policy") {
        desk.note_refusal(&actor, &refusal);
        return Err(refusal.into());
    }
    if context.globals.no_input {
        return Err(Failure::new(Code::NoInput, "no editor may be opened")
            .hint("put a file in force with: sayso policy set FILE"));
    }
    let layer = args.agent.map_or(PolicyLayer::Space, PolicyLayer::Agent);
    let name = name_of(&layer)?;
    let set = desk.settings(Some(SettingKind::Policy))?.into_iter().find(|s| s.name == name);
    let before = set.and_then(|setting| setting.body).unwrap_or_else(|| EMPTY.to_owned());
    let after = editor::change(&before, ".yaml")?.unwrap_or_else(|| before.clone());
    if after == before {
        context.out.remark("nothing changed");
        return Ok(CommandExit::Ok);
    }
    let change = SettingChange { kind: SettingKind::Policy, name, body: Some(after.clone()) };
    if let Err(error) = desk.set(&actor, vec![change]) {
        // The edited text is kept.
        let kept = editor::keep_unused(&after, ".yaml")?;
        let failure = Failure::from(error);
        let hint = format!(
            "what you wrote is in {0}; mend it, then: sayso policy set {0}",
            kept.display()
        );
        return Err(failure.hint(hint));
    }
    show::print(context, &desk, &show::in_force(&desk)?);
    Ok(CommandExit::Ok)
}
