//! `sayso trust`: trusts the settings of a project, so that their programs may run.

use crate::config::{self, RunnableSettings};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{identity, trust};
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use serde::Serialize;
use std::path::PathBuf;

/// Trust the settings of this project: what they name may be run.
///
/// `.sayso/config.yaml` can name programs: channels for notices, agents, checks. What came with a clone is not run
/// before you have trusted the file; every change to it has to be trusted anew. Your own settings
/// (~/.config/sayso/config.yaml) need no trust. What such a program then reads or runs in the project is not
/// looked at. A server or database that the file names gets your credentials and says what is allowed, so it needs
/// trust, too, unless you have set or logged in to it. An agent cannot trust anything, and nothing is trusted where
/// agents cannot be seen.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso trust --show     what it would run, and whether it is trusted
  sayso trust            trust it as it is now
  sayso untrust          take it back")]
pub(crate) struct TrustArgs {
    /// Only show what it would run, and whether that is trusted.
    #[arg(long)]
    show: bool,
}

/// Trust the settings of this project no more.
///
/// What they name is not run from then on. What is running already goes on.
#[derive(clap::Args)]
pub(crate) struct UntrustArgs {}

/// The output of `sayso trust --json`.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct TrustReport {
    /// The file with the settings.
    file: String,
    /// True if what is in it may be run.
    trusted: bool,
    /// The settings that run something or choose who is trusted.
    settings: Vec<TrustedSetting>,
}

/// A setting that runs something.
#[derive(Serialize, schemars::JsonSchema)]
struct TrustedSetting {
    /// Its name: `notify.bell`, `work.check`.
    name: String,
    /// The program it runs, or its value.
    runs: String,
}

pub(crate) fn run(args: TrustArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (file, runnable) = settings(context)?;
    if !args.show {
        refuse_agents()?;
        if !runnable.settings.is_empty() {
            trust::trust(&file, &runnable.text)?;
            if let Some((store, space)) = &runnable.store {
                trust::keep_store(store, space)?;
            }
        }
    }
    let is_same = trust::is_trusted(&file, &runnable.text);
    let trusted = runnable
        .settings
        .iter()
        .all(|(name, _)| is_same || name == config::STORE && runnable.is_store_known());
    if context.out.json {
        let setting = |(name, runs): &(String, String)| TrustedSetting {
            name: name.clone(),
            runs: runs.clone(),
        };
        let settings = runnable.settings.iter().map(setting).collect();
        context.out.json(&TrustReport { file: file.display().to_string(), trusted, settings });
        return Ok(CommandExit::Ok);
    }
    for (name, runs) in &runnable.settings {
        let name = context.out.paint(OutputStyle::Name, &sanitize_line(name));
        context.out.line(&format!("{name}  {}", sanitize_line(runs)));
    }
    let file = sanitize_line(&file.display().to_string());
    let said = match (runnable.settings.is_empty(), trusted) {
        (true, _) => format!("{file} runs nothing, and needs no trust"),
        (false, true) => format!("{file} is trusted as it is now"),
        (false, false) => format!("{file} is not trusted; nothing of this is run"),
    };
    context.out.remark(&said);
    Ok(CommandExit::Ok)
}

pub(crate) fn untrust(_: UntrustArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (file, runnable) = settings(context)?;
    refuse_agents()?;
    let was_kept = match &runnable.store {
        Some((store, space)) => trust::forget_store(store, space)?,
        None => false,
    };
    let said = if trust::forget(&file)? || was_kept {
        "is not trusted any more"
    } else {
        "was not trusted"
    };
    context.out.remark(&format!("{} {said}", sanitize_line(&file.display().to_string())));
    Ok(CommandExit::Ok)
}

fn settings(context: &CliContext<'_>) -> Result<(PathBuf, RunnableSettings)> {
    let start = config::start(&context.globals)?;
    let folder = config::folder_above(&start).ok_or_else(|| {
        let message = format!("there is no space in {} or above it", start.display());
        Failure::new(Code::NoSpace, message).hint("go to the project, or name it with -C")
    })?;
    let file = folder.join("config.yaml");
    if !file.exists() {
        return Err(Failure::new(Code::NotFound, format!("there is no {}", file.display()))
            .hint("without settings nothing is run, and nothing needs trust"));
    }
    Ok((file, config::runnable(&folder)?))
}

/// An agent must not have programs that it wrote run for it, outside of its limits.
fn refuse_agents() -> Result<()> {
    let sign = match identity::agent_evidence() {
        Ok(None) => return Ok(()),
        Ok(Some(sign)) => sign,
        Err(doubt) => {
            let message = format!("nothing shows that no agent is at work here: {doubt}");
            return Err(Failure::new(Code::PersonInDoubt, message).hint(
                "trust it where processes can be seen; your own settings, ~/.config/sayso/config.yaml, need no trust",
            ));
        }
    };
    let message = format!(
        "an agent ({}) is at work here, seen by {}: it may not trust",
        sign.agent, sign.seen
    );
    Err(Failure::new(Code::NotHuman, message)
        .hint("a person does it, at a terminal outside of any agent: sayso trust"))
}
