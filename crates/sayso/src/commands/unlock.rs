//! `sayso unlock`: unlocks this terminal with a passphrase.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{identity, time};
use sayso_core::{Actor, Code, CommandExit, IdentityProof};
use sayso_engine::Desk;

/// Unlock this terminal with your passphrase, for a quarter of an hour.
///
/// Once you have set a passphrase, verdicts at a terminal need it. It counts for this terminal and
/// this session only.
#[derive(clap::Args)]
pub(crate) struct UnlockArgs {
    /// Set or change the passphrase.
    #[arg(long)]
    set: bool,
}

pub(crate) fn run(args: UnlockArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = sit(context, &desk)?;
    if args.set {
        set(&desk, &actor)?;
        context.out.remark("the passphrase is set");
    } else if !desk.has_passphrase(&actor.name)? {
        let message = format!("{} has set no passphrase", actor.name);
        return Err(Failure::new(Code::Passphrase, message).hint("set one: sayso unlock --set"));
    }
    let typed = rpassword::prompt_password(format!("Passphrase of {}: ", actor.name))?;
    let until = identity::unlock(&desk, &actor, &typed)?;
    context.out.line(&format!("unlocked until {}", time::local(until)));
    Ok(CommandExit::Ok)
}

/// The user at the terminal, before their passphrase is asked for. Requires no doubt that it is a person, except for
/// the first passphrase of an untouched space, which could not be set otherwise.
fn sit(context: &CliContext<'_>, desk: &Desk) -> Result<Actor> {
    let (actor, doubt) = identity::user_at_terminal(desk)?;
    identity::check_may_answer(desk, &actor, "unlock a terminal")?;
    let is_seen =
        actor.proof >= IdentityProof::Tty || (desk.is_remote() && identity::has_terminal());
    if !is_seen || context.globals.no_input {
        return Err(Failure::new(Code::NoInput, "a passphrase is typed by a person at a terminal"));
    }
    let is_first = !desk.has_passphrase(&actor.name)?;
    match doubt {
        Some(_) if is_first && !desk.is_untouched(&actor)? => identity::undoubted_person(desk),
        _ => Ok(actor),
    }
}

fn set(desk: &Desk, actor: &Actor) -> Result<()> {
    let old = if desk.has_passphrase(&actor.name)? {
        Some(rpassword::prompt_password("The passphrase so far: ")?)
    } else {
        None
    };
    let new = rpassword::prompt_password("The new passphrase: ")?;
    if rpassword::prompt_password("Once more: ")? != new {
        return Err(Failure::new(Code::Passphrase, "the two are not the same; nothing was set"));
    }
    if let Some(old) = &old {
        // A wrong passphrase counts against this terminal alone, so people can still change theirs on another one.
        desk.unlock(actor, old, &identity::terminal_id())?;
    }
    Ok(desk.set_passphrase(actor, old.as_deref(), &new)?)
}
