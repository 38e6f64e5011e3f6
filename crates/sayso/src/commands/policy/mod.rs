//! `sayso policy`: manages, checks and tests policies.

mod check;
mod edit;
mod explain;
pub(crate) mod files;
mod presets;
pub(crate) mod remembered;
mod replay;
mod request;
mod set;
mod show;
mod suggest;
mod test;
pub(crate) mod wire;

use crate::context::Context;
use crate::exit::Result;
use clap::Subcommand;
use sayso_core::Exit;

/// Policies: what agents may do by themselves, what a person is asked, what never happens.
///
/// A policy is a YAML file of rules. Each is about tool calls, moves of tasks, the life of agents,
/// results, or questions, and says allow, ask or deny. Deny outweighs ask, ask outweighs allow; an
/// agent's policy can only tighten that of the space. Without a policy a person is asked only what agents
/// ask themselves.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso policy presets balanced > policy.yaml     a policy to start from
  sayso policy check policy.yaml                  all mistakes, with line and fix
  sayso policy test policy.yaml                   the tests written in it
  sayso policy explain --command 'git push' --file policy.yaml
  sayso policy replay policy.yaml --since 30d     what it would have changed
  sayso policy set policy.yaml                    put it in force

A policy file is of the space, unless it is written as admin=FILE or agent:NAME=FILE.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Find every mistake in policies, with line and fix.
    Check(check::Args),
    /// Say what policies make of a request, by which rule, and why.
    Explain(Box<explain::Args>),
    /// Run the tests that are written in policies.
    Test(test::Args),
    /// Policies to start from.
    Presets(presets::Args),
    /// Show the policy in force.
    Show(show::Args),
    /// Put a policy in force, or take it away.
    Set(set::Args),
    /// Change the policy in force in your editor.
    Edit(edit::Args),
    /// Show what a policy would have changed, over what was really asked.
    Replay(replay::Args),
    /// Rules that your own answers suggest.
    Suggest(suggest::Args),
    /// Decisions that hold for the same again.
    Remembered(remembered::Args),
    /// Let a decision be forgotten.
    Forget(remembered::ForgetArgs),
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.verb {
        Verb::Check(args) => check::run(args, context),
        Verb::Explain(args) => explain::run(*args, context),
        Verb::Test(args) => test::run(args, context),
        Verb::Presets(args) => presets::run(args, context),
        Verb::Show(args) => show::run(args, context),
        Verb::Set(args) => set::run(args, context),
        Verb::Edit(args) => edit::run(args, context),
        Verb::Remembered(args) => remembered::run(args, context),
        Verb::Forget(args) => remembered::forget(args, context),
        Verb::Replay(args) => replay::run(args, context),
        Verb::Suggest(args) => suggest::run(args, context),
    }
}
