//! The command line (clap): global options and the list of commands.

use crate::commands as c;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Human-in-the-loop for AI agents: what matters waits, durably, for your say-so.
///
/// Agents ask; people answer; nothing is lost in between. Everything lives in `.sayso/` of your
/// project (SQLite, no daemon, no account) or in PostgreSQL for a team.
///
/// Without a command, sayso says what waits for you and what to do about it.
#[derive(Parser)]
#[command(name = "sayso", version, propagate_version = true, infer_subcommands = false)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The command line for `sayso hook` alone. A client starts a process for every tool call, and building the parser
/// for all commands costs more than the ruling.
#[derive(Parser)]
#[command(name = "sayso", version, disable_help_subcommand = true)]
pub(crate) struct HookCli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Subcommand)]
enum HookCommand {
    Hook(c::hook::Args),
}

impl From<HookCli> for Cli {
    fn from(HookCli { globals, command: HookCommand::Hook(args) }: HookCli) -> Self {
        Self { globals, command: Some(Command::Hook(args)) }
    }
}

const EXAMPLES: &str = "Examples:
  sayso init                                    make a space in this folder
  sayso ask \"Ship 1.2 today?\" --verdict --wait && ./ship.sh
  sayso inbox                                   what waits for you
  sayso choose g7k2 yes                         answer it
  sayso create \"Fix the login page\" --requires approval

Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 login, 5 not allowed, 6 conflict,
7 timed out, 8 rejected, 9 unreachable, 10 audit broken, 11 ended without an answer,
12 held for a person.";

/// Options that every command takes.
#[derive(Args, Clone)]
pub(crate) struct Globals {
    /// Run as if started in this folder; paths are meant from there.
    #[arg(
        short = 'C',
        long = "dir",
        global = true,
        value_name = "DIR",
        help_heading = "Everywhere"
    )]
    pub(crate) dir: Option<PathBuf>,

    /// Use this store instead of the configured one: a file, postgres://…, or a server: https://…
    #[arg(
        long,
        global = true,
        env = "SAYSO_STORE",
        hide_env_values = true,
        value_name = "STORE",
        help_heading = "Everywhere"
    )]
    pub(crate) store: Option<String>,

    /// Use this space of the store.
    #[arg(
        long,
        global = true,
        env = "SAYSO_SPACE",
        value_name = "NAME",
        help_heading = "Everywhere"
    )]
    pub(crate) space: Option<String>,

    /// Print JSON; the schemas are in docs/reference/json.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,

    /// Lines only: no colours, no symbols beyond ASCII, no full screen.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) plain: bool,

    /// Never ask at the terminal; fail instead.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_input: bool,
}

/// The commands of the program.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a space in this folder.
    Init(c::init::Args),

    /// List the requests that wait for you; full screen at a terminal.
    Inbox(c::inbox::Args),
    /// Show a gate or a task with its whole history.
    Show(c::show::Args),
    /// Approve a request.
    Approve(c::approve::Args),
    /// Reject a request.
    Reject(c::reject::Args),
    /// Answer a question with a text.
    Respond(c::respond::Args),
    /// Pick one of the options, or several.
    Choose(c::choose::Args),
    /// Answer any request: a verdict, a text, a choice or a form.
    Answer(c::answer::Args),
    /// Say that work by hand is done.
    Done(c::done::Args),
    /// Say that you are on it.
    Claim(c::claim::Args),
    /// Put a gate off.
    Snooze(c::snooze::Args),
    /// Give a gate more time.
    Extend(c::extend::Args),
    /// Let another person answer a gate.
    Delegate(c::delegate::Args),
    /// Say that you are away, and who stands in for you.
    Away(c::away::Args),
    /// Say that you are back.
    Back(c::away::BackArgs),

    /// Ask a person.
    Ask(c::ask::Args),
    /// Wait for the answer to a gate.
    Wait(c::wait::Args),
    /// Take a question back.
    Withdraw(c::withdraw::Args),
    /// Send a text to an agent; it is kept until the agent has read it.
    Tell(c::tell::Args),
    /// List messages to agents.
    Messages(c::messages::Args),
    /// List the notices sent to people, and whether they arrive.
    Notices(c::notices::Args),

    /// Create a task.
    Create(c::create::Args),
    /// Tasks, by priority and age.
    List(c::list::Args),
    /// Tasks as a tree of epics and their parts.
    Tree(c::tree::Args),
    /// Tasks that can be worked on now.
    Ready(c::ready::Args),
    /// The task to work on next, or the gate to answer next.
    Next(c::next::Args),
    /// Change a task.
    Update(c::update::Args),
    /// Write a note on a task.
    Note(c::note::Args),
    /// The notes of a task.
    Notes(c::notes::Args),
    /// Close a task.
    Close(c::close::Args),
    /// Open a closed, failed, blocked or deferred task again.
    Reopen(c::reopen::Args),
    /// Let a task wait for another.
    Dep(c::dep::Args),
    /// Put a task off.
    Defer(c::defer::Args),
    /// Delete a task, or the space; the evidence stays.
    Delete(c::delete::Args),

    /// Let agents work on the tasks that are ready.
    Work(c::work::Args),
    /// Let an agent work on one task or task file, and be asked here.
    Run(c::run::Args),
    /// Workflows: durable steps of agents and commands, with people in between.
    Flow(c::flow::Args),
    /// The turns agents took.
    Runs(c::runs::Args),
    /// Show the output of an agent.
    Logs(c::logs::Args),
    /// See it all in a minute, in a space that is thrown away.
    Demo(c::demo::Args),

    /// Agents that live long: spawn, restart, stop, look at them.
    Agent(c::agent::Args),
    /// Let a coding agent's client ask sayso: show, make and undo the change to its settings.
    Connect(c::connect::Args),
    /// Rule on what an agent is about to do, for its client.
    Hook(c::hook::Args),
    Mcp(c::mcp::Args),
    /// Set up a space from a fleet file.
    Apply(c::apply::Args),
    /// Write what is set as a fleet file.
    Export(c::export::Args),
    /// Policies: what agents may do, what a person is asked, what never happens.
    Policy(c::policy::Args),
    /// Check settings, task files, roles and policies, and name every mistake.
    Validate(c::validate::Args),
    /// Trust the settings of this project: what they name may be run.
    Trust(c::trust::Args),
    /// Trust the settings of this project no more.
    Untrust(c::trust::UntrustArgs),
    /// Serve this store to other machines.
    Serve(c::serve::Args),
    /// Log in to a server.
    Login(c::login::Args),
    /// Forget the login for a server.
    Logout(c::logout::Args),
    /// Manage the people who belong to a space.
    People(c::people::Args),
    /// Credentials for agents, people and services.
    Token(c::token::Args),
    /// Unlock this terminal with your passphrase.
    Unlock(c::unlock::Args),
    /// Lock this terminal again.
    Lock(c::lock::Args),
    /// The audit: list, verify, export.
    Audit(c::audit::Args),
    /// Copy the store into a file, and check the copy.
    Backup(c::backup::Args),
    /// Check that everything is in order, and say how safe it is.
    Doctor(c::doctor::Args),
    /// Shell completions, with live ids.
    Completions(c::completions::Args),
    /// Print the manual pages.
    Man(c::man::Args),

    /// Write the reference pages.
    #[command(name = "__generate", hide = true)]
    Generate(crate::generate::Args),
    /// Play a script as an agent.
    #[command(name = "__scripted", hide = true)]
    Scripted(c::scripted::Args),
}
