//! Who is at the keyboard: a token's holder, an agent, a person at a terminal, or a script.
//!
//! Agents are told from people by what can be seen: a token, a variable an agent sets, an ancestor
//! that is one. That stops accidents and makes intent visible; it cannot stop a program of the same
//! user that hides. `doctor` says so.

use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Out;
use rustix::process::{getsid, getuid};
use sayso_core::{Actor, Code, Deed, Door, Level, Proof, Refusal, Role};
use sayso_engine::Desk;
use sayso_engine::agents::marks::{self, Sign};
use sayso_server::mcp;
use std::io::IsTerminal;
use std::path::Path;

/// Who hands in commands that are no verdicts. Where an agent is at work it is the agent, whatever
/// token of a person is in reach: so no command can be forgotten that amounts to a verdict.
pub(crate) fn actor(desk: &Desk) -> Result<Actor> {
    let actor = holder(desk)?;
    let sign = match (actor.role, actor.proof) {
        (Role::Human | Role::Admin, _) => sign_here(),
        // A script of an agent's is an agent's, too; its ancestors are asked when it matters.
        (Role::Service, Proof::None) => sign_in_environment(),
        _ => None,
    };
    Ok(sign.map_or(actor, |sign| agent(desk.level(), &sign)))
}

/// The holder of the token in reach, else whoever is at the keyboard.
fn holder(desk: &Desk) -> Result<Actor> {
    match token()? {
        Some(secret) => {
            let known = desk.authenticate(&secret, Door::Cli);
            if let Err(sayso_engine::Error::Refused(refusal)) = &known {
                desk.note_refusal(&at_keyboard(desk), refusal);
            }
            Ok(known?)
        }
        None => Ok(at_keyboard(desk)),
    }
}

/// The agent a connected client works for. A worker gives its agents tokens of their own, which count
/// before the one that the client's settings name for all of them; whatever else the environment holds
/// does not.
pub(crate) fn connected(desk: &Desk, named: Option<&Path>, door: Door) -> Result<Option<Actor>> {
    let own = token()?.map(|secret| desk.authenticate(&secret, door)).transpose()?;
    match (own, named) {
        (Some(own), None) => Ok(Some(own)),
        (Some(own), Some(_)) if own.role == Role::Agent => Ok(Some(own)),
        (_, Some(file)) => Ok(Some(desk.authenticate(&secret_in(file)?, door)?)),
        (None, None) => Ok(None),
    }
}

/// Who calls at a door that is for agents alone: by their token, or else an agent without a name. A
/// person's token is refused there: a program must not do what only a person may.
pub(crate) fn calling_agent(desk: &Desk, named: Option<&Path>, door: Door) -> Result<Actor> {
    let Some(actor) = connected(desk, named, door)? else {
        let sign = sign_here();
        let name = sign.map_or_else(|| "agent".into(), |sign| sign.agent);
        let actor = Actor::new(Role::Agent, &name, Proof::None, desk.level(), door);
        return Ok(Actor { launcher: Some(user()), ..actor });
    };
    if let Err(error) = mcp::check_is_agent(&actor) {
        if let sayso_engine::Error::Refused(refusal) = &error {
            desk.note_refusal(&actor, refusal);
        }
        return Err(error.into());
    }
    Ok(actor)
}

/// Who gives a verdict. Whatever speaks against a person being here is a refusal, and is written to
/// the audit.
pub(crate) fn person(context: &Context<'_>, desk: &Desk) -> Result<Actor> {
    let (actor, is_locked) = person_at_hand(desk)?;
    match is_locked {
        true => with_passphrase(context, desk, actor),
        false => Ok(actor),
    }
}

/// Who would give a verdict, and whether they have to unlock this terminal first. A person who has set a
/// passphrase shows it once per terminal and quarter of an hour.
pub(crate) fn person_at_hand(desk: &Desk) -> Result<(Actor, bool)> {
    let actor = seen_person(desk)?;
    let is_asked = match (actor.role, actor.proof) {
        (Role::Human, Proof::Tty) => true,
        // With a login, the passphrase is what a terminal is worth elsewhere.
        (Role::Human, Proof::Token) => desk.is_remote() && token()?.is_none(),
        // Every other role is judged by the desk, which knows what it may do.
        _ => false,
    };
    if !is_asked || !desk.has_passphrase(&actor.name)? {
        return Ok((actor, false));
    }
    Ok(match desk.is_unlocked(&actor.name, &terminal())? {
        true => (Actor { proof: Proof::Passphrase, ..actor }, false),
        false => (actor, true),
    })
}

/// The same, before any passphrase.
pub(crate) fn seen_person(desk: &Desk) -> Result<Actor> {
    let actor = holder(desk)?;
    if let Some(sign) = sign_here().filter(|_| actor.role != Role::Agent) {
        return Err(refuse_agent(desk, &sign, ""));
    }
    if (actor.role, actor.proof) == (Role::Service, Proof::None) {
        let refusal = Refusal::new(Code::NoPerson, "there is no terminal with a person at it")
            .hint("answer at a terminal, or with a person's own token in SAYSO_TOKEN_FILE");
        desk.note_refusal(&actor, &refusal);
        return Err(refusal.into());
    }
    Ok(actor)
}

/// Whether no agent is at work here, where somebody without a name of their own has something done; `what`
/// completes "it may not …".
pub(crate) fn check_no_agent(desk: &Desk, what: &str) -> Result<()> {
    match sign_here() {
        Some(sign) => Err(refuse_agent(desk, &sign, &format!(": it may not {what}"))),
        None => Ok(()),
    }
}

/// A refusal to the agent that is at work here. It is written down as the agent's.
fn refuse_agent(desk: &Desk, sign: &Sign, what: &str) -> Failure {
    let message = format!("an agent ({}) is at work here, seen by {}{what}", sign.agent, sign.seen);
    let refusal = Refusal::new(Code::NotHuman, message)
        .hint("a person does it at a terminal of their own, outside of any agent");
    desk.note_refusal(&agent(desk.level(), sign), &refusal);
    refusal.into()
}

/// Whether this is one who may say yes, before anything else is looked at; `what` completes "may
/// not …". A refusal is written down.
pub(crate) fn check_may_answer(desk: &Desk, actor: &Actor, what: &str) -> Result<()> {
    let check = actor.check(Deed::Answer, what);
    if let Err(refusal) = &check {
        desk.note_refusal(actor, refusal);
    }
    Ok(check?)
}

/// A person where what is asked for amounts to a verdict; anybody where it does not. Who is no person
/// is judged by the desk.
pub(crate) fn person_if(
    needed: bool,
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
) -> Result<Actor> {
    match needed && actor.may(Deed::Answer) {
        true => person(context, desk),
        false => Ok(actor.clone()),
    }
}

/// Unlocks this terminal with the passphrase that is typed at it.
fn with_passphrase(context: &Context<'_>, desk: &Desk, actor: Actor) -> Result<Actor> {
    if context.globals.no_input || context.out.json {
        let refusal = Refusal::new(Code::ProofTooLow, "this terminal is locked")
            .hint("unlock it with: sayso unlock");
        desk.note_refusal(&actor, &refusal);
        return Err(refusal.into());
    }
    let typed = rpassword::prompt_password(format!("Passphrase of {}: ", actor.name))?;
    desk.unlock(&actor, &typed, &terminal())?;
    Ok(Actor { proof: Proof::Passphrase, ..actor })
}

/// The token in reach, if any: by file, or in the environment.
pub(crate) fn token() -> Result<Option<String>> {
    if let Some(path) = std::env::var_os("SAYSO_TOKEN_FILE").filter(|p| !p.is_empty()) {
        return secret_in(Path::new(&path)).map(Some);
    }
    Ok(std::env::var("SAYSO_TOKEN").ok().filter(|t| !t.is_empty()))
}

/// Says so if everybody on this machine can read the token in reach.
pub(crate) fn warn_of_open_token(out: &Out) {
    use std::os::unix::fs::MetadataExt;
    let Some(path) = std::env::var_os("SAYSO_TOKEN_FILE").filter(|p| !p.is_empty()) else { return };
    let Ok(found) = std::fs::metadata(&path) else { return };
    if found.is_file() && found.mode() & 0o004 != 0 {
        let shown = Path::new(&path).display();
        out.remark(&format!("note: every user can read the token in {shown}; chmod 600 {shown}"));
    }
}

pub(crate) fn secret_in(file: &Path) -> Result<String> {
    let read = std::fs::read_to_string(file).map_err(|e| {
        let message = format!("the token file {} cannot be read: {e}", file.display());
        Refusal::new(Code::BadToken, message)
            .hint("make one with: sayso token create, or for a client with: sayso connect")
    })?;
    Ok(read.trim().to_owned())
}

/// A sign of an agent here, or in a process that led here.
pub(crate) fn sign_here() -> Option<Sign> {
    sign_in_environment().or_else(|| marks::in_ancestors(std::process::id()))
}

fn sign_in_environment() -> Option<Sign> {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    marks::in_variables(variables.iter().map(|(n, v)| (n.as_str(), v.as_str())))
}

/// An agent that has no token of its own: what it asks is still an agent's question.
pub(crate) fn agent(level: Level, sign: &Sign) -> Actor {
    let actor = Actor::new(Role::Agent, &sign.agent, Proof::None, level, Door::Cli);
    Actor { launcher: Some(user()), ..actor }
}

/// Whoever uses this machine: by its own list of users, or where the desk is elsewhere by their login.
fn at_keyboard(desk: &Desk) -> Actor {
    let Some(remote) = desk.remote() else { return local(desk.level()) };
    let holder = Actor { door: Door::Cli, ..remote.holder().clone() };
    match holder.role == Role::Human && !has_terminal() {
        // A script of theirs is not them.
        true => Actor::new(Role::Service, &holder.name, Proof::None, holder.level, Door::Cli),
        false => holder,
    }
}

/// A person at a terminal, or a script of theirs.
pub(crate) fn local(level: Level) -> Actor {
    let (role, proof) = match has_terminal() {
        true => (Role::Human, Proof::Tty),
        false => (Role::Service, Proof::None),
    };
    Actor::new(role, &user(), proof, level, Door::Cli)
}

/// Whether a person can type here. Input may come from a pipe as long as the terminal is there.
pub(crate) fn has_terminal() -> bool {
    let controls = || std::fs::File::open("/dev/tty").is_ok();
    std::io::stdin().is_terminal() || (std::io::stderr().is_terminal() && controls())
}

/// The name of the user who runs this, by the system's own list. An environment variable would be a
/// flag in disguise.
pub(crate) fn user() -> String {
    let uid = getuid().as_raw().to_string();
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id == uid).then(|| name.to_owned())
    });
    known.unwrap_or_else(|| format!("uid{uid}"))
}

/// Names this terminal and the session on it, so that an unlock counts here and nowhere else.
pub(crate) fn terminal() -> String {
    let field = |pid: &str, number: usize| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        rest.split_whitespace().nth(number).unwrap_or("?").to_owned()
    };
    let session = getsid(None).map_or_else(|_| "?".into(), |pid| pid.as_raw_nonzero().to_string());
    // Behind the name stand state, parent, group, session, terminal; the 20th is the start time.
    format!("{}:{session}:{}", field("self", 4), field(&session, 19))
}
