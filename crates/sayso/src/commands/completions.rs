//! `sayso completions`: shell completions with live ids.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use sayso_core::{Code, CommandExit};

/// Shell completions, with live ids.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  source <(sayso completions bash)
  sayso completions zsh > ~/.zfunc/_sayso
  sayso completions fish > ~/.config/fish/completions/sayso.fish")]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell.
    #[arg(value_name = "SHELL")]
    shell: String,
}

pub(crate) fn run(args: CompletionsArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    use clap_complete::env::Shells;
    let shells = Shells::builtins();
    let unknown = || {
        let names: Vec<_> = shells.names().collect();
        Failure::new(Code::BadValue, format!("{:?} is no shell known here", args.shell))
            .hint(format!("take one of {}", names.join(", ")))
    };
    let shell = shells.completer(&args.shell).ok_or_else(unknown)?;
    shell.write_registration("COMPLETE", "sayso", "sayso", "sayso", &mut context.out.stdout())?;
    Ok(CommandExit::Ok)
}
