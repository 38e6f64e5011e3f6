//! `sayso apply`: applies a fleet file.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::fleet::{self, FleetPlan, SettingDifference};
use crate::identity;
use crate::output::{CliOutput, OutputStyle};
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::path::PathBuf;

/// Set up a space from a file: people, groups, agents, roles, calendar, templates, policy.
///
/// The whole file is checked first, and set as a whole or not at all. What the file does not name
/// stays, unless `--prune` takes it away. `export` writes such a file.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso apply fleet.yaml --dry-run    what would be added, changed and removed
  sayso apply fleet.yaml
  sayso apply fleet.yaml --prune      also take away what the file does not name")]
pub(crate) struct ApplyArgs {
    /// The file; several spaces are told apart by `---`. A dash reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Take away what the file does not name.
    #[arg(long)]
    prune: bool,
}

/// The changes in one space.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Applied")]
pub(crate) struct AppliedChanges {
    /// The name of the space.
    space: String,
    /// True if the space itself is new.
    new_space: bool,
    /// True if nothing was changed: a dry run.
    dry_run: bool,
    /// The list of changes.
    changes: Vec<ChangedSetting>,
}

/// A setting that changes.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Changed")]
struct ChangedSetting {
    /// policy, agent, role, person, group, calendar or template.
    kind: String,
    /// The name of the setting.
    name: String,
    /// added, changed, removed or kept; what is kept is not in the file.
    how: &'static str,
    /// The value before the change.
    before: Option<String>,
    /// The value after the change.
    after: Option<String>,
}

pub(crate) fn run(args: ApplyArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let plans = fleet::plans(context, &args.file, args.prune);
    if plans.as_ref().is_err_and(|failure| failure.code == Code::NotAllowed) && !args.dry_run {
        // A caller who may not even read may not apply: that is the clearer refusal, and it is written to the audit
        // log.
        let desk = context.desk()?;
        identity::check_may_answer(&desk, &identity::person(context, &desk)?, "set up a space")?;
    }
    let plans = plans?;
    let mut applied = vec![];
    for plan in plans {
        if !args.dry_run {
            plan.carry_out(context)?;
        }
        applied.push(AppliedChanges::of(&plan, args.dry_run));
        if !context.out.json {
            print(context.out, &plan, args.dry_run, args.prune);
        }
    }
    if context.out.json {
        context.out.json(&applied);
    }
    if applied.is_empty() {
        let message = format!("{} is empty", args.file.display());
        return Err(Failure::new(Code::BadValue, message));
    }
    Ok(CommandExit::Ok)
}

impl AppliedChanges {
    fn of(plan: &FleetPlan, dry_run: bool) -> Self {
        let changes = plan.differences.iter().map(|difference| ChangedSetting {
            kind: difference.kind.as_str().into(),
            name: difference.name.clone(),
            how: difference.how(plan.prunes),
            before: difference.before.clone(),
            after: difference.after.clone(),
        });
        let (space, new_space) = (plan.space.clone(), plan.is_new);
        Self { space, new_space, dry_run, changes: changes.collect() }
    }
}

fn print(out: &CliOutput, plan: &FleetPlan, dry_run: bool, prunes: bool) {
    let space = out.paint(OutputStyle::Strong, &sanitize_line(&plan.space));
    let is_new = if plan.is_new { " (new)" } else { "" };
    out.line(&format!("space {space}{is_new}"));
    for difference in &plan.differences {
        print_one(out, difference, prunes);
    }
    let count = |how: &str| plan.differences.iter().filter(|d| d.how(prunes) == how).count();
    let [added, changed, removed, kept] = ["added", "changed", "removed", "kept"].map(count);
    let would = if dry_run { "would be " } else { "" };
    match added + changed + removed {
        0 => out.line("  nothing changes"),
        _ => out.line(&format!("  {would}added {added}, changed {changed}, removed {removed}")),
    }
    if kept > 0 {
        out.remark(&format!("{kept} that the file does not name stay; --prune takes them away"));
    }
    if dry_run {
        out.remark("nothing was changed: this was a dry run");
    }
}

fn print_one(out: &CliOutput, difference: &SettingDifference, prunes: bool) {
    let (mark, look) = match difference.how(prunes) {
        "added" => ("+", OutputStyle::Good),
        "removed" => ("-", OutputStyle::Bad),
        "kept" => ("=", OutputStyle::Faint),
        _ => ("~", OutputStyle::Warn),
    };
    let what = format!("{mark} {} {}", difference.kind.as_str(), sanitize_line(&difference.name));
    out.line(&format!("  {}", out.paint(look, &what)));
    if mark == "=" {
        return;
    }
    let texts =
        [&difference.before, &difference.after].map(|text| fleet::readable(text.as_deref()));
    let [before, after] = texts;
    for change in TextDiff::from_lines(&before, &after).iter_all_changes() {
        let (sign, look) = match change.tag() {
            ChangeTag::Insert => ("+", OutputStyle::Good),
            ChangeTag::Delete => ("-", OutputStyle::Bad),
            ChangeTag::Equal => (" ", OutputStyle::Faint),
        };
        let text = change.value().trim_end();
        let indent = &text[..text.len() - text.trim_start().len()];
        let line = format!("{sign} {indent}{}", sanitize_line(text));
        out.line(&format!("      {}", out.paint(look, &line)));
    }
}
