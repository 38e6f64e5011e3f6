//! `sayso man`: prints manual pages.

use crate::cli::Cli;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use clap::CommandFactory;
use sayso_core::{Code, CommandExit};
use std::path::PathBuf;

/// Manual pages, made from the same words as `--help`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso man | man -l -
  sayso man ask | man -l -
  sayso man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The page of this command; the main page unless given.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write all pages into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: ManArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let mut whole = Cli::command();
    whole.build();
    if let Some(dir) = args.dir {
        std::fs::create_dir_all(&dir)?;
        clap_mangen::generate_to(whole, &dir)?;
        context.out.remark(&format!("the pages are in {}", dir.display()));
        return Ok(CommandExit::Ok);
    }
    let page = match &args.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::new(Code::NotFound, format!("there is no command {name:?}"))
                .hint("see: sayso --help")
        })?,
    };
    clap_mangen::Man::new(page).render(&mut context.out.stdout())?;
    Ok(CommandExit::Ok)
}
