//! Identifies the caller: a token's holder, an agent, a person at a terminal, or a script.
//!
//! Agents are detected by evidence: a token, a variable an agent sets, an ancestor process
//! that is one, a terminal that no person sits at. Where evidence is unavailable, or speaks against a
//! person, only a passphrase proves one. That stops accidents and makes intent visible; it cannot stop a
//! program of the same user that hides. `doctor` says so.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::CliOutput;
use rustix::fs::{fstat, major, minor};
use rustix::process::getuid;
use rustix::termios::LocalModes;
use sayso_core::terminal::PresenceDoubt;
use sayso_core::{
    Actor, AssuranceLevel, Code, EntryPoint, IdentityProof, Permission, Refusal, Role,
};
use sayso_engine::Desk;
use sayso_engine::agents::agent_detection::{self, AgentEvidence};
use sayso_engine::agents::{process_context, process_info};
use sayso_server::mcp;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Another program read what is typed when this one began.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// True if a passphrase was entered in this very process.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Returns the actor for commands that are not verdicts. If an agent runs here it is the agent, even with a person's
/// token within reach: so a command that amounts to a verdict cannot be missed.
pub(crate) fn actor(desk: &Desk) -> Result<Actor> {
    let actor = holder(desk)?;
    let sign = match (actor.role, actor.proof) {
        (Role::Human | Role::Admin, _) => agent_evidence(),
        // A script of an agent counts as the agent, too; its ancestors are checked when it matters.
        (Role::Service, IdentityProof::None) => Ok(evidence_in_environment()),
        _ => Ok(None),
    };
    Ok(match sign {
        Ok(None) => actor,
        Ok(Some(sign)) => agent(desk.level(), &sign),
        // Where agents cannot be seen, a person's token shows no person; only the passphrase they type unlocks it.
        Err(_) if actor.role == Role::Human && !is_unlocked_here(desk, &actor)? => Actor::new(
            Role::Service,
            &actor.name,
            IdentityProof::None,
            actor.level,
            EntryPoint::Cli,
        ),
        Err(_) => actor,
    })
}

/// The holder of the token within reach, else the user at the keyboard.
fn holder(desk: &Desk) -> Result<Actor> {
    match token()? {
        Some(secret) => {
            let known = desk.authenticate(&secret, EntryPoint::Cli);
            if let Err(sayso_engine::Error::Refused(refusal)) = &known {
                desk.note_refusal(&at_keyboard(desk), refusal);
            }
            Ok(known?)
        }
        None => Ok(at_keyboard(desk)),
    }
}

/// The agent that a connected client works for. A worker gives its agents tokens of their own, which take precedence
/// over the one that the client's settings name for all of them; another token in the environment does not.
pub(crate) fn connected_agent(
    desk: &Desk,
    named: Option<&Path>,
    door: EntryPoint,
) -> Result<Option<Actor>> {
    let own = token()?.map(|secret| desk.authenticate(&secret, door)).transpose()?;
    match (own, named) {
        (Some(own), None) => Ok(Some(own)),
        (Some(own), Some(_)) if own.role == Role::Agent => Ok(Some(own)),
        (_, Some(file)) => Ok(Some(desk.authenticate(&secret_in(file)?, door)?)),
        (None, None) => Ok(None),
    }
}

/// The caller at a door that is for agents alone: identified by a token, or else an agent without a name. A person's
/// token is refused there: a program must not do what only a person may.
pub(crate) fn calling_agent(desk: &Desk, named: Option<&Path>, door: EntryPoint) -> Result<Actor> {
    let Some(actor) = connected_agent(desk, named, door)? else {
        // Nothing depends on it but a name.
        let sign = agent_evidence().ok().flatten();
        let name = sign.map_or_else(|| "agent".into(), |sign| sign.agent);
        let actor = Actor::new(Role::Agent, &name, IdentityProof::None, desk.level(), door);
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

/// The person who gives a verdict. All evidence against a person at this terminal is a refusal, and is written to the
/// audit log.
pub(crate) fn person(context: &CliContext<'_>, desk: &Desk) -> Result<Actor> {
    let (actor, is_locked) = person_at_hand(desk)?;
    if is_locked { with_passphrase(context, desk, actor) } else { Ok(actor) }
}

/// The person who would give a verdict, and true if they must unlock this terminal first. A person who has set a
/// passphrase enters it once per terminal and quarter of an hour.
pub(crate) fn person_at_hand(desk: &Desk) -> Result<(Actor, bool)> {
    let (actor, doubt) = user_at_terminal(desk)?;
    let is_asked = match (actor.role, actor.proof) {
        (Role::Human, IdentityProof::Tty) => true,
        // With a login, the passphrase stands for the proof that a terminal gives with a local store.
        (Role::Human, IdentityProof::Token) => desk.is_remote() && token()?.is_none(),
        // Every other role is judged by the desk, which knows its permissions.
        _ => false,
    };
    if let Some(doubt) = doubt {
        return require_passphrase(desk, actor, &doubt);
    }
    if !is_asked || !desk.has_passphrase(&actor.name)? {
        return Ok((actor, false));
    }
    Ok(if desk.is_unlocked(&actor.name, &terminal_id())? {
        (Actor { proof: IdentityProof::Passphrase, ..actor }, false)
    } else {
        (actor, true)
    })
}

/// Handles a caller whom only their passphrase can prove to be a person.
fn require_passphrase(desk: &Desk, actor: Actor, doubt: &PresenceDoubt) -> Result<(Actor, bool)> {
    if !has_terminal() || !desk.has_passphrase(&actor.name)? {
        return Err(refuse_in_doubt(desk, &actor, doubt));
    }
    Ok(if is_unlocked_here(desk, &actor)? {
        (Actor { proof: IdentityProof::Passphrase, ..actor }, false)
    } else {
        (actor, true)
    })
}

/// A server unlocks a credential, which agents can reach, too; only a passphrase entered in this process was entered
/// at this terminal.
fn is_unlocked_here(desk: &Desk, actor: &Actor) -> Result<bool> {
    if desk.is_remote() {
        Ok(IS_SHOWN.load(Ordering::SeqCst))
    } else {
        Ok(desk.is_unlocked(&actor.name, &terminal_id())?)
    }
}

fn refuse_in_doubt(desk: &Desk, actor: &Actor, doubt: &PresenceDoubt) -> Failure {
    let hint = match doubt {
        PresenceDoubt::Young => "if you are a person, the same again in a moment will do",
        PresenceDoubt::Program(_)
        | PresenceDoubt::Detached(_)
        | PresenceDoubt::NotOwn
        | PresenceDoubt::Taken => {
            "answer in the window of a terminal emulator, over SSH, in an attached tmux or at a console; \
             or set a passphrase there, which counts here, too: sayso unlock --set"
        }
        PresenceDoubt::Unseen | PresenceDoubt::Blind(_) => {
            "answer where processes can be seen, outside of containers, or with a passkey on the pages; or \
             set a passphrase there, which counts here, too: sayso unlock --set"
        }
    };
    let message = format!("nothing shows that a person is here: {doubt}");
    let refusal = Refusal::new(Code::PersonInDoubt, message).hint(hint);
    let actor = Actor { role: Role::Service, proof: IdentityProof::None, ..actor.clone() };
    desk.note_refusal(&actor, &refusal);
    refusal.into()
}

/// The user who types here, before any passphrase, and the reason to doubt that it is a person.
pub(crate) fn user_at_terminal(desk: &Desk) -> Result<(Actor, Option<PresenceDoubt>)> {
    let actor = match token()? {
        Some(_) => holder(desk)?,
        None => typed_by(desk, has_terminal()),
    };
    if actor.role == Role::Agent {
        return Ok((actor, None));
    }
    let looked = agent_evidence();
    if let Ok(Some(sign)) = &looked {
        return Err(refuse_agent(desk, sign, ""));
    }
    if (actor.role, actor.proof) == (Role::Service, IdentityProof::None) {
        let refusal = Refusal::new(Code::NoPerson, "there is no terminal with a person at it")
            .hint("answer at a terminal, or with a person's own token in SAYSO_TOKEN_FILE");
        desk.note_refusal(&actor, &refusal);
        return Err(refusal.into());
    }
    let is_person = matches!(actor.role, Role::Human | Role::Admin);
    let seen = looked.and_then(|_| match token() {
        Ok(None) => judge_terminal(),
        _ => Ok(()),
    });
    Ok((actor, seen.err().filter(|_| is_person)))
}

/// Returns the person at the terminal if there is no doubt about them, without asking for a passphrase.
pub(crate) fn undoubted_person(desk: &Desk) -> Result<Actor> {
    match user_at_terminal(desk)? {
        (actor, None) => Ok(actor),
        (actor, Some(doubt)) => Err(refuse_in_doubt(desk, &actor, &doubt)),
    }
}

/// The reason to doubt that a person types here, if there is one.
pub(crate) fn person_doubt() -> Option<PresenceDoubt> {
    process_context::detect_in_ancestors().and_then(|_| judge_terminal()).err()
}

/// Checks if a person sits at the terminal of this process.
fn judge_terminal() -> std::result::Result<(), PresenceDoubt> {
    check_is_not_taken()?;
    let pane = std::env::var("TMUX").ok().zip(std::env::var("TMUX_PANE").ok());
    let pane = pane.as_ref().map(|(server, pane)| (server.as_str(), pane.as_str()));
    process_context::judge_terminal(device(), pane)
}

/// Notes the state of the terminal when this program began, before it changed anything itself. A program that reads
/// each key is not a shell that waits for a command: that program started the commands that run meanwhile.
pub(crate) fn note_terminal() {
    IS_TAKEN.store(is_read_by_key(), Ordering::SeqCst);
}

fn check_is_not_taken() -> std::result::Result<(), PresenceDoubt> {
    if IS_TAKEN.load(Ordering::SeqCst) {
        return Err(PresenceDoubt::Taken);
    }
    if is_reached_by_name_alone() { Err(PresenceDoubt::NotOwn) } else { Ok(()) }
}

fn is_read_by_key() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetattr(&terminal)
        .is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO))
}

/// The terminal was opened by the name under which every process finds its own, and none of the streams that were
/// handed down leads to it: that is how a tool between pipes gets at the terminal of its agent.
fn is_reached_by_name_alone() -> bool {
    let by_name = |file: std::os::fd::BorrowedFd<'_>| {
        fstat(file).is_ok_and(|stat| (major(stat.st_rdev), minor(stat.st_rdev)) == (5, 0))
    };
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let is_handed_down = |file: std::os::fd::BorrowedFd<'_>| file.is_terminal() && !by_name(file);
    let all = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    all.into_iter().any(|file| file.is_terminal()) && !all.into_iter().any(is_handed_down)
}

/// Unlocks this terminal with a passphrase.
pub(crate) fn unlock(desk: &Desk, actor: &Actor, typed: &str) -> Result<sayso_core::Timestamp> {
    let until = desk.unlock(actor, typed, &terminal_id())?;
    IS_SHOWN.store(true, Ordering::SeqCst);
    Ok(until)
}

/// Checks that no agent runs here, for callers without a credential of their own; `what` completes "it may not …".
pub(crate) fn check_no_agent(desk: &Desk, what: &str) -> Result<()> {
    match agent_evidence() {
        Ok(Some(sign)) => Err(refuse_agent(desk, &sign, &format!(": it may not {what}"))),
        Ok(None) => Ok(()),
        Err(doubt) => Err(refuse_in_doubt(desk, &at_keyboard(desk), &doubt)),
    }
}

/// A refusal for the agent that runs here. It is written to the audit log as the agent's.
fn refuse_agent(desk: &Desk, sign: &AgentEvidence, what: &str) -> Failure {
    let message = format!("an agent ({}) is at work here, seen by {}{what}", sign.agent, sign.seen);
    let refusal = Refusal::new(Code::NotHuman, message)
        .hint("a person does it at a terminal of their own, outside of any agent");
    desk.note_refusal(&agent(desk.level(), sign), &refusal);
    refusal.into()
}

/// Checks that the actor may answer at all, before any other check; `what` completes "may not …". A refusal is
/// written to the audit log.
pub(crate) fn check_may_answer(desk: &Desk, actor: &Actor, what: &str) -> Result<()> {
    let check = actor.check(Permission::Answer, what);
    if let Err(refusal) = &check {
        desk.note_refusal(actor, refusal);
    }
    Ok(check?)
}

/// Requires a person if the command amounts to a verdict; any actor will do if not. The desk judges an actor who is
/// no person.
pub(crate) fn person_if(
    needed: bool,
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
) -> Result<Actor> {
    if needed && actor.may(Permission::Answer) { person(context, desk) } else { Ok(actor.clone()) }
}

/// Unlocks this terminal with the passphrase that is typed at it.
fn with_passphrase(context: &CliContext<'_>, desk: &Desk, actor: Actor) -> Result<Actor> {
    if context.globals.no_input || context.out.json {
        let refusal = Refusal::new(Code::ProofTooLow, "this terminal is locked")
            .hint("unlock it with: sayso unlock");
        desk.note_refusal(&actor, &refusal);
        return Err(refusal.into());
    }
    let typed = rpassword::prompt_password(format!("Passphrase of {}: ", actor.name))?;
    unlock(desk, &actor, &typed)?;
    Ok(Actor { proof: IdentityProof::Passphrase, ..actor })
}

/// The token within reach, if any: from a file, or the environment.
pub(crate) fn token() -> Result<Option<String>> {
    if let Some(path) = std::env::var_os("SAYSO_TOKEN_FILE").filter(|p| !p.is_empty()) {
        return secret_in(Path::new(&path)).map(Some);
    }
    Ok(std::env::var("SAYSO_TOKEN").ok().filter(|t| !t.is_empty()))
}

/// Warns if every user of this machine can read the token within reach.
pub(crate) fn warn_of_open_token(out: &CliOutput) {
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

/// A sign of an agent here, or in a process that led here. A look that fails has not found that there is none.
pub(crate) fn agent_evidence() -> std::result::Result<Option<AgentEvidence>, PresenceDoubt> {
    evidence_in_environment()
        .map_or_else(process_context::detect_in_ancestors, |sign| Ok(Some(sign)))
}

fn evidence_in_environment() -> Option<AgentEvidence> {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    agent_detection::detect_in_variables(variables.iter().map(|(n, v)| (n.as_str(), v.as_str())))
}

/// An agent without a token of its own: its request is still an agent's request.
pub(crate) fn agent(level: AssuranceLevel, sign: &AgentEvidence) -> Actor {
    let actor = Actor::new(Role::Agent, &sign.agent, IdentityProof::None, level, EntryPoint::Cli);
    Actor { launcher: Some(user()), ..actor }
}

/// The user of this machine: from the system's own list, or with a remote desk from their login. In doubt it is a
/// script of theirs.
fn at_keyboard(desk: &Desk) -> Actor {
    let is_person = has_terminal() && person_doubt().is_none();
    let typist = typed_by(desk, has_terminal());
    if is_person || is_unlocked_here(desk, &typist).unwrap_or(false) {
        typist
    } else {
        typed_by(desk, false)
    }
}

fn typed_by(desk: &Desk, is_person: bool) -> Actor {
    let Some(remote) = desk.remote() else { return user_of_machine(desk.level(), is_person) };
    let holder = Actor { door: EntryPoint::Cli, ..remote.holder().clone() };
    if holder.role != Role::Human || is_person {
        return holder;
    }
    // A script of a person does not count as the person.
    Actor::new(Role::Service, &holder.name, IdentityProof::None, holder.level, EntryPoint::Cli)
}

/// A person at a terminal, or a script of theirs.
pub(crate) fn local(level: AssuranceLevel) -> Actor {
    user_of_machine(level, has_terminal() && person_doubt().is_none())
}

fn user_of_machine(level: AssuranceLevel, is_person: bool) -> Actor {
    let (role, proof) = if is_person {
        (Role::Human, IdentityProof::Tty)
    } else {
        (Role::Service, IdentityProof::None)
    };
    Actor::new(role, &user(), proof, level, EntryPoint::Cli)
}

/// The device number of the terminal on standard input, else on standard error.
fn device() -> Option<(u32, u32)> {
    let (stdin, stderr) = (std::io::stdin(), std::io::stderr());
    let number = |file: std::os::fd::BorrowedFd<'_>| {
        fstat(file).ok().map(|stat| (major(stat.st_rdev), minor(stat.st_rdev)))
    };
    match stdin.is_terminal() {
        true => number(stdin.as_fd()),
        false if stderr.is_terminal() => number(stderr.as_fd()),
        false => None,
    }
}

/// True if a person can type here. Input may come from a pipe as long as the terminal is there.
pub(crate) fn has_terminal() -> bool {
    let controls = || std::fs::File::open("/dev/tty").is_ok();
    std::io::stdin().is_terminal() || (std::io::stderr().is_terminal() && controls())
}

/// The name of the user who runs this, from the system's own list. An environment variable could be set by an agent
/// as easily as a flag.
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

/// Identifies this terminal and its session, so that an unlock is valid here and in no other place.
pub(crate) fn terminal_id() -> String {
    let own = process_info::check_view().and_then(|()| process_info::of(std::process::id()));
    let leader = own.and_then(|own| Ok((own.terminal, process_info::of(own.session)?)));
    match leader {
        Ok((Some(number), leader)) => format!("{number}:{}:{}", leader.pid, leader.started),
        _ => format!("?:{}", device_id()),
    }
}

/// Identifies a terminal where processes cannot be seen: by its device and creation time.
fn device_id() -> String {
    let stat = fstat(std::io::stdin()).or_else(|_| fstat(std::io::stderr()));
    stat.map_or_else(|_| "?".into(), |stat| format!("{}.{}", stat.st_rdev, stat.st_ctime))
}
