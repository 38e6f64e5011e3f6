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
pub(crate) mod mistakes;
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

pub(crate) use shared::{give, give_several, picks_or_words};

use crate::cli::{Cli, Command};
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Out;
use sayso_core::{Code, Exit};

/// Runs a command.
pub(crate) fn run(cli: Cli, out: &Out) -> Result<Exit> {
    let cli = enter(cli)?;
    let context = Context { globals: cli.globals, out };
    let Some(command) = cli.command else { return welcome::run(&context) };
    match command {
        Command::Init(args) => init::run(args, &context),
        Command::Inbox(args) => inbox::run(args, &context),
        Command::Show(args) => show::run(args, &context),
        Command::Approve(args) => approve::run(args, &context),
        Command::Reject(args) => reject::run(args, &context),
        Command::Respond(args) => respond::run(args, &context),
        Command::Choose(args) => choose::run(args, &context),
        Command::Answer(args) => answer::run(args, &context),
        Command::Done(args) => done::run(args, &context),
        Command::Claim(args) => claim::run(args, &context),
        Command::Snooze(args) => snooze::run(args, &context),
        Command::Extend(args) => extend::run(args, &context),
        Command::Delegate(args) => delegate::run(args, &context),
        Command::Away(args) => away::run(args, &context),
        Command::Back(args) => away::back(args, &context),
        Command::Ask(args) => ask::run(args, &context),
        Command::Wait(args) => wait::run(args, &context),
        Command::Withdraw(args) => withdraw::run(args, &context),
        Command::Tell(args) => tell::run(args, &context),
        Command::Messages(args) => messages::run(args, &context),
        Command::Notices(args) => notices::run(args, &context),
        Command::Create(args) => create::run(args, &context),
        Command::List(args) => list::run(args, &context),
        Command::Tree(args) => tree::run(args, &context),
        Command::Ready(args) => ready::run(args, &context),
        Command::Next(args) => next::run(args, &context),
        Command::Update(args) => update::run(args, &context),
        Command::Note(args) => note::run(args, &context),
        Command::Notes(args) => notes::run(args, &context),
        Command::Close(args) => close::run(args, &context),
        Command::Reopen(args) => reopen::run(args, &context),
        Command::Dep(args) => dep::run(args, &context),
        Command::Defer(args) => defer::run(args, &context),
        Command::Delete(args) => delete::run(args, &context),
        Command::Work(args) => work::run(args, &context),
        Command::Run(args) => run::run(args, &context),
        Command::Flow(args) => flow::run(args, &context),
        Command::Runs(args) => runs::run(args, &context),
        Command::Logs(args) => logs::run(args, &context),
        Command::Demo(args) => demo::run(args, &context),
        Command::Agent(args) => agent::run(args, &context),
        Command::Apply(args) => apply::run(args, &context),
        Command::Export(args) => export::run(args, &context),
        Command::Connect(args) => connect::run(args, &context),
        Command::Hook(args) => hook::run(args, &context),
        Command::Mcp(args) => mcp::run(args, &context),
        Command::Serve(args) => serve::run(args, &context),
        Command::Login(args) => login::run(args, &context),
        Command::People(args) => people::run(args, &context),
        Command::Logout(args) => logout::run(args, &context),
        Command::Policy(args) => policy::run(args, &context),
        Command::Validate(args) => validate::run(args, &context),
        Command::Trust(args) => trust::run(args, &context),
        Command::Untrust(args) => trust::untrust(args, &context),
        Command::Token(args) => token::run(args, &context),
        Command::Unlock(args) => unlock::run(args, &context),
        Command::Lock(args) => lock::run(args, &context),
        Command::Audit(args) => audit::run(args, &context),
        Command::Backup(args) => backup::run(args, &context),
        Command::Doctor(args) => doctor::run(args, &context),
        Command::Completions(args) => completions::run(args, &context),
        Command::Man(args) => man::run(args, &context),
        Command::Generate(args) => crate::generate::run(args, &context),
        Command::Scripted(args) => scripted::run(args, &context),
    }
}

/// Changes to the folder of `-C`: every path on the command line is relative to it.
fn enter(mut cli: Cli) -> Result<Cli> {
    // The `--dir` of `man` is the folder for its pages.
    let is_man = matches!(cli.command, Some(Command::Man(_)));
    let Some(dir) = cli.globals.dir.take().filter(|_| !is_man) else { return Ok(cli) };
    cli.globals.dir = Some(std::path::absolute(&dir)?);
    match (std::env::set_current_dir(&dir), &cli.command) {
        (Ok(()), _) => Ok(cli),
        // `init` creates the folder, and `hook` answers in its own format if there is none.
        (Err(_), Some(Command::Init(_) | Command::Hook(_))) => Ok(cli),
        (Err(error), _) => {
            let message = format!("{}: {error}", dir.display());
            Err(Failure::new(Code::NotFound, message)
                .hint("name a folder that is there, behind -C"))
        }
    }
}
