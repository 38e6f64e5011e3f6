//! The commands, one file each: the arguments, and the call to the desk.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod apply;
pub(crate) mod approve;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod away;
pub(crate) mod backup;
pub(crate) mod choose;
pub(crate) mod claim;
pub(crate) mod close;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod defer;
pub(crate) mod delegate;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod dep;
pub(crate) mod diagnostics;
pub(crate) mod doctor;
pub(crate) mod done;
pub(crate) mod export;
pub(crate) mod extend;
pub(crate) mod flow;
pub(crate) mod hook;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod messages;
pub(crate) mod next;
pub(crate) mod note;
pub(crate) mod notes;
pub(crate) mod notices;
pub(crate) mod people;
pub(crate) mod policy;
pub(crate) mod ready;
pub(crate) mod reject;
pub(crate) mod reopen;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scripted;
pub(crate) mod serve;
mod shared;
pub(crate) mod show;
pub(crate) mod snooze;
pub(crate) mod tell;
pub(crate) mod token;
pub(crate) mod tree;
pub(crate) mod trust;
pub(crate) mod unlock;
pub(crate) mod update;
pub(crate) mod validate;
pub(crate) mod wait;
mod welcome;
pub(crate) mod withdraw;
pub(crate) mod work;

pub(crate) use shared::{picks_or_words, send_answer, send_answers};

use crate::cli::{Cli, CliCommand};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::CliOutput;
use sayso_core::{Code, CommandExit};

/// Runs a command.
pub(crate) fn run(cli: Cli, out: &CliOutput) -> Result<CommandExit> {
    let cli = enter(cli)?;
    let context = CliContext { globals: cli.globals, out };
    let Some(command) = cli.command else { return welcome::run(&context) };
    match command {
        CliCommand::Init(args) => init::run(args, &context),
        CliCommand::Inbox(args) => inbox::run(args, &context),
        CliCommand::Show(args) => show::run(args, &context),
        CliCommand::Approve(args) => approve::run(args, &context),
        CliCommand::Reject(args) => reject::run(args, &context),
        CliCommand::Respond(args) => respond::run(args, &context),
        CliCommand::Choose(args) => choose::run(args, &context),
        CliCommand::Answer(args) => answer::run(args, &context),
        CliCommand::Done(args) => done::run(args, &context),
        CliCommand::Claim(args) => claim::run(args, &context),
        CliCommand::Snooze(args) => snooze::run(args, &context),
        CliCommand::Extend(args) => extend::run(args, &context),
        CliCommand::Delegate(args) => delegate::run(args, &context),
        CliCommand::Away(args) => away::run(args, &context),
        CliCommand::Back(args) => away::back(args, &context),
        CliCommand::Ask(args) => ask::run(args, &context),
        CliCommand::Wait(args) => wait::run(args, &context),
        CliCommand::Withdraw(args) => withdraw::run(args, &context),
        CliCommand::Tell(args) => tell::run(args, &context),
        CliCommand::Messages(args) => messages::run(args, &context),
        CliCommand::Notices(args) => notices::run(args, &context),
        CliCommand::Create(args) => create::run(args, &context),
        CliCommand::List(args) => list::run(args, &context),
        CliCommand::Tree(args) => tree::run(args, &context),
        CliCommand::Ready(args) => ready::run(args, &context),
        CliCommand::Next(args) => next::run(args, &context),
        CliCommand::Update(args) => update::run(args, &context),
        CliCommand::Note(args) => note::run(args, &context),
        CliCommand::Notes(args) => notes::run(args, &context),
        CliCommand::Close(args) => close::run(args, &context),
        CliCommand::Reopen(args) => reopen::run(args, &context),
        CliCommand::Dep(args) => dep::run(args, &context),
        CliCommand::Defer(args) => defer::run(args, &context),
        CliCommand::Delete(args) => delete::run(args, &context),
        CliCommand::Work(args) => work::run(args, &context),
        CliCommand::Run(args) => run::run(args, &context),
        CliCommand::Flow(args) => flow::run(args, &context),
        CliCommand::Runs(args) => runs::run(args, &context),
        CliCommand::Logs(args) => logs::run(args, &context),
        CliCommand::Demo(args) => demo::run(args, &context),
        CliCommand::Agent(args) => agent::run(args, &context),
        CliCommand::Apply(args) => apply::run(args, &context),
        CliCommand::Export(args) => export::run(args, &context),
        CliCommand::Connect(args) => connect::run(args, &context),
        CliCommand::Hook(args) => hook::run(args, &context),
        CliCommand::Mcp(args) => mcp::run(args, &context),
        CliCommand::Serve(args) => serve::run(args, &context),
        CliCommand::Login(args) => login::run(args, &context),
        CliCommand::People(args) => people::run(args, &context),
        CliCommand::Logout(args) => logout::run(args, &context),
        CliCommand::Policy(args) => policy::run(args, &context),
        CliCommand::Validate(args) => validate::run(args, &context),
        CliCommand::Trust(args) => trust::run(args, &context),
        CliCommand::Untrust(args) => trust::untrust(args, &context),
        CliCommand::Token(args) => token::run(args, &context),
        CliCommand::Unlock(args) => unlock::run(args, &context),
        CliCommand::Lock(args) => lock::run(args, &context),
        CliCommand::Audit(args) => audit::run(args, &context),
        CliCommand::Backup(args) => backup::run(args, &context),
        CliCommand::Doctor(args) => doctor::run(args, &context),
        CliCommand::Completions(args) => completions::run(args, &context),
        CliCommand::Man(args) => man::run(args, &context),
        CliCommand::Generate(args) => crate::generate::run(args, &context),
        CliCommand::Scripted(args) => scripted::run(args, &context),
    }
}

/// Changes to the folder of `-C`: every path on the command line is relative to it.
fn enter(mut cli: Cli) -> Result<Cli> {
    // The `--dir` of `man` is the folder for its pages.
    let is_man = matches!(cli.command, Some(CliCommand::Man(_)));
    let Some(dir) = cli.globals.dir.take().filter(|_| !is_man) else { return Ok(cli) };
    cli.globals.dir = Some(std::path::absolute(&dir)?);
    match (std::env::set_current_dir(&dir), &cli.command) {
        (Ok(()), _) => Ok(cli),
        // `init` creates the folder, and `hook` answers in its own format if there is none.
        (Err(_), Some(CliCommand::Init(_) | CliCommand::Hook(_))) => Ok(cli),
        (Err(error), _) => {
            let message = format!("{}: {error}", dir.display());
            Err(Failure::new(Code::NotFound, message)
                .hint("name a folder that is there, behind -C"))
        }
    }
}
