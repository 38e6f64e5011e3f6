//! `sayso choose`: answers a choice.

use super::shared::{self, GateArgs};
use crate::context::CliContext;
use crate::exit::Result;
use sayso_core::{Answer, CommandExit};

/// Pick one of the options, or several, by name or by number.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso choose g7k2 yes
  sayso choose g7k2 2
  sayso choose g7k2 red blue            where several may be picked
  sayso choose g7k2 --other \"green\"     where words of your own are an answer")]
pub(crate) struct ChooseArgs {
    #[command(flatten)]
    which: GateArgs,
    /// The options to pick, by name or number.
    #[arg(value_name = "OPTION")]
    options: Vec<String>,
    /// Words of your own.
    #[arg(long, value_name = "TEXT")]
    other: Option<String>,
    /// The comment sent with the answer.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: ChooseArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let ChooseArgs { which, options, other, reason } = args;
    shared::answer(context, &which, |gate| {
        let answer = Answer::choice(shared::picks(gate, &options), other.clone());
        Ok(Answer { reason: reason.clone(), ..answer })
    })
}
