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

use crate::context::CliContext;
use crate::exit::Result;
use clap::Subcommand;
use sayso_core::CommandExit;

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
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    verb: PolicyCommand,
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Find every mistake in policies, with line and fix.
    Check(check::PolicyCheckArgs),
    /// Say what policies make of a request, by which rule, and why.
    Explain(Box<explain::PolicyExplainArgs>),
    /// Run the tests that are written in policies.
    Test(test::PolicyTestArgs),
    /// Policies to start from.
    Presets(presets::PolicyPresetsArgs),
    /// Show the policy in force.
    Show(show::PolicyShowArgs),
    /// Put a policy in force, or take it away.
    Set(set::PolicySetArgs),
    /// Change the policy in force in your editor.
    Edit(edit::PolicyEditArgs),
    /// Show what a policy would have changed, over what was really asked.
    Replay(replay::PolicyReplayArgs),
    /// Rules that your own answers suggest.
    Suggest(suggest::PolicySuggestArgs),
    /// Decisions that hold for the same again.
    Remembered(remembered::PolicyRememberedArgs),
    /// Let a decision be forgotten.
    Forget(remembered::PolicyForgetArgs),
}

pub(crate) fn run(args: PolicyArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        PolicyCommand::Check(args) => check::run(args, context),
        PolicyCommand::Explain(args) => explain::run(*args, context),
        PolicyCommand::Test(args) => test::run(args, context),
        PolicyCommand::Presets(args) => presets::run(args, context),
        PolicyCommand::Show(args) => show::run(args, context),
        PolicyCommand::Set(args) => set::run(args, context),
        PolicyCommand::Edit(args) => edit::run(args, context),
        PolicyCommand::Remembered(args) => remembered::run(args, context),
        PolicyCommand::Forget(args) => remembered::forget(args, context),
        PolicyCommand::Replay(args) => replay::run(args, context),
        PolicyCommand::Suggest(args) => suggest::run(args, context),
    }
}
