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
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// The command line for `sayso hook` alone. A client starts a process for every tool call, and building the parser
/// for all commands costs more than the ruling.
#[derive(Parser)]
#[command(name = "sayso", version, disable_help_subcommand = true)]
pub(crate) struct HookCli {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Subcommand)]
enum HookCommand {
    Hook(c::hook::HookArgs),
}

impl From<HookCli> for Cli {
    fn from(HookCli { globals, command: HookCommand::Hook(args) }: HookCli) -> Self {
        Self { globals, command: Some(CliCommand::Hook(args)) }
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
pub(crate) struct GlobalArgs {
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
pub(crate) enum CliCommand {
    /// Make a space in this folder.
    Init(c::init::InitArgs),

    /// List the requests that wait for you; full screen at a terminal.
    Inbox(c::inbox::InboxArgs),
    /// Show a gate or a task with its whole history.
    Show(c::show::ShowArgs),
    /// Approve a request.
    Approve(c::approve::ApproveArgs),
    /// Reject a request.
    Reject(c::reject::RejectArgs),
    /// Answer a question with a text.
    Respond(c::respond::RespondArgs),
    /// Pick one of the options, or several.
    Choose(c::choose::ChooseArgs),
    /// Answer any request: a verdict, a text, a choice or a form.
    Answer(c::answer::AnswerArgs),
    /// Say that work by hand is done.
    Done(c::done::DoneArgs),
    /// Say that you are on it.
    Claim(c::claim::ClaimArgs),
    /// Put a gate off.
    Snooze(c::snooze::SnoozeArgs),
    /// Give a gate more time.
    Extend(c::extend::ExtendArgs),
    /// Let another person answer a gate.
    Delegate(c::delegate::DelegateArgs),
    /// Say that you are away, and who stands in for you.
    Away(c::away::AwayArgs),
    /// Say that you are back.
    Back(c::away::BackArgs),

    /// Ask a person.
    Ask(c::ask::AskArgs),
    /// Wait for the answer to a gate.
    Wait(c::wait::WaitArgs),
    /// Take a question back.
    Withdraw(c::withdraw::WithdrawArgs),
    /// Send a text to an agent; it is kept until the agent has read it.
    Tell(c::tell::TellArgs),
    /// List messages to agents.
    Messages(c::messages::MessagesArgs),
    /// List the notices sent to people, and whether they arrive.
    Notices(c::notices::NoticesArgs),

    /// Create a task.
    Create(c::create::CreateArgs),
    /// Tasks, by priority and age.
    List(c::list::ListArgs),
    /// Tasks as a tree of epics and their parts.
    Tree(c::tree::TreeArgs),
    /// Tasks that can be worked on now.
    Ready(c::ready::ReadyArgs),
    /// The task to work on next, or the gate to answer next.
    Next(c::next::NextArgs),
    /// Change a task.
    Update(c::update::UpdateArgs),
    /// Write a note on a task.
    Note(c::note::NoteArgs),
    /// The notes of a task.
    Notes(c::notes::NotesArgs),
    /// Close a task.
    Close(c::close::CloseArgs),
    /// Open a closed, failed, blocked or deferred task again.
    Reopen(c::reopen::ReopenArgs),
    /// Let a task wait for another.
    Dep(c::dep::DepArgs),
    /// Put a task off.
    Defer(c::defer::DeferArgs),
    /// Delete a task, or the space; the evidence stays.
    Delete(c::delete::DeleteArgs),

    /// Let agents work on the tasks that are ready.
    Work(c::work::WorkArgs),
    /// Let an agent work on one task or task file, and be asked here.
    Run(c::run::RunArgs),
    /// Workflows: durable steps of agents and commands, with people in between.
    Flow(c::flow::FlowArgs),
    /// The turns agents took.
    Runs(c::runs::RunsArgs),
    /// Show the output of an agent.
    Logs(c::logs::LogsArgs),
    /// See it all in a minute, in a space that is thrown away.
    Demo(c::demo::DemoArgs),

    /// Agents that live long: spawn, restart, stop, look at them.
    Agent(c::agent::AgentCommandArgs),
    /// Let a coding agent's client ask sayso: show, make and undo the change to its settings.
    Connect(c::connect::ConnectArgs),
    /// Rule on what an agent is about to do, for its client.
    Hook(c::hook::HookArgs),
    Mcp(c::mcp::McpArgs),
    /// Set up a space from a fleet file.
    Apply(c::apply::ApplyArgs),
    /// Write what is set as a fleet file.
    Export(c::export::ExportArgs),
    /// Policies: what agents may do, what a person is asked, what never happens.
    Policy(c::policy::PolicyArgs),
    /// Check settings, task files, roles and policies, and name every mistake.
    Validate(c::validate::ValidateArgs),
    /// Trust the settings of this project: what they name may be run.
    Trust(c::trust::TrustArgs),
    /// Trust the settings of this project no more.
    Untrust(c::trust::UntrustArgs),
    /// Serve this store to other machines.
    Serve(c::serve::ServeArgs),
    /// Log in to a server.
    Login(c::login::LoginArgs),
    /// Forget the login for a server.
    Logout(c::logout::LogoutArgs),
    /// Manage the people who belong to a space.
    People(c::people::PeopleArgs),
    /// Credentials for agents, people and services.
    Token(c::token::TokenArgs),
    /// Unlock this terminal with your passphrase.
    Unlock(c::unlock::UnlockArgs),
    /// Lock this terminal again.
    Lock(c::lock::LockArgs),
    /// The audit: list, verify, export.
    Audit(c::audit::AuditArgs),
    /// Copy the store into a file, and check the copy.
    Backup(c::backup::BackupArgs),
    /// Check that everything is in order, and say how safe it is.
    Doctor(c::doctor::DoctorArgs),
    /// Shell completions, with live ids.
    Completions(c::completions::CompletionsArgs),
    /// Print the manual pages.
    Man(c::man::ManArgs),

    /// Write the reference pages.
    #[command(name = "__generate", hide = true)]
    Generate(crate::generate::GenerateArgs),
    /// Play a script as an agent.
    #[command(name = "__scripted", hide = true)]
    Scripted(c::scripted::ScriptedArgs),
}
