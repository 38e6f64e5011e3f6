//! The desk of a server, reached over a line: what is asked of it goes there as it is, and what comes
//! back is what the desk there said.
//!
//! Who acts is decided there, by the credential. The caller's side may only claim less: a person's script,
//! or an agent that works with a person's credential in reach.

use crate::deadline::{CallDeadline, settled};
use crate::desk::permission_of;
use crate::shown::Shown;
use crate::{Error, LocalDesk, Minted, Result, Waited, World};
use sayso_core::actor::admit;
use sayso_core::text::shorten;
use sayso_core::{
    Actor, Code, Deed, Door, GateId, Level, Refusal, Role, RunId, SpaceId, Timestamp, TokenId,
};
use sayso_store::Read;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What both sides speak. It goes up with every change that an older program would misread.
pub const LINE_VERSION: u32 = 1;

/// How long a call is held there while nothing happens.
const HOLD: Duration = Duration::from_secs(25);

/// How long whoever waits for a person goes on to do so while nobody is there to ask: the question stands,
/// and a server that is being replaced comes back.
const AWAY_MAX: Duration = Duration::from_secs(10 * 60);

/// How long is looked for what came of a call that was cut off.
const CUT_MAX: Duration = Duration::from_secs(10);

/// The first pause before trying again; each is twice as long as the one before, up to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The most of a refusal's text that is written down for somebody from elsewhere.
const REFUSAL_CHARS_MAX: usize = 500;

/// How many entries of the chain are followed at a time.
pub(crate) const CHANGES_MAX: usize = 1_000;

/// The way to a desk elsewhere.
pub trait Line: Send + Sync {
    /// Hands a call over for whoever presents `secret`, and brings back what came of it: JSON both ways.
    /// It may be held there for `patience`, and takes no longer than that and what the way takes.
    fn call(
        &self,
        secret: Option<&str>,
        call: &str,
        handed: &str,
        patience: Duration,
    ) -> std::result::Result<String, Unanswered>;

    /// Where it leads, without any secret.
    fn address(&self) -> String;
}

/// Why a call came to nothing.
#[derive(Debug)]
pub enum Unanswered {
    /// The desk there said no.
    Refused(Refusal),
    /// Nobody is there, and nothing was handed over.
    Away(String),
    /// The server is there and its store is not, so nothing was written.
    Idle(String),
    /// It broke off, and whether it counted is not known.
    Cut(String),
}

impl From<Unanswered> for Error {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused(refusal) => refusal.into(),
            Unanswered::Away(why) | Unanswered::Idle(why) | Unanswered::Cut(why) => {
                sayso_store::Error::Unreachable(why).into()
            }
        }
    }
}

/// Whether a call only looks, so that it can be lost without a trace.
fn only_looks(call: &str) -> bool {
    const LOOKS: [&str; 18] = [
        "gate_for",
        "gates",
        "inbox",
        "card",
        "receipt",
        "alerts",
        "undelivered",
        "news",
        "tokens",
        "check_may_mint",
        "notices",
        "told",
        "audit_entries",
        "audit_rows",
        "audit_listed",
        "audit_head",
        "happened",
        "metrics",
    ];
    LOOKS.contains(&call)
}

/// What goes over the line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handed<A> {
    /// What the caller calls this deed: when it comes again under the same name, it was done already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Who acts, as the caller's side sees it. It counts only as far as it claims less than the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Actor>,
    /// What the call is made with.
    pub with: A,
}

/// What a server says of itself and of whoever comes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Greeting {
    /// What it speaks.
    pub line: u32,
    /// Which sayso it is.
    pub version: String,
    /// The space.
    pub space: SpaceId,
    /// What people call it.
    pub name: String,
    /// Whether it was deleted: then one may only look.
    pub is_deleted: bool,
    /// How well the place is guarded.
    pub level: Level,
    /// Who the credential says it is.
    pub actor: Actor,
}

/// What happened in a space since somebody looked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The last entry of the chain that was looked at.
    pub seen: u64,
    /// The gates it was about.
    pub gates: Vec<GateId>,
}

/// A desk behind a line. Clones share what they know.
#[derive(Clone)]
pub struct RemoteDesk {
    line: Arc<dyn Line>,
    world: World,
    greeting: Arc<Greeting>,
    /// Whether nobody has used the greeting yet.
    is_fresh: Arc<AtomicBool>,
    /// The credential of whoever uses this program.
    own: Option<String>,
    /// How long is tried again while nobody is there.
    patience: Duration,
    /// Credentials that were presented since, with whom each is for.
    presented: Arc<Mutex<Vec<(Actor, String)>>>,
}

impl RemoteDesk {
    /// Reaches a desk. `own` is the credential of whoever uses this program.
    pub fn reach(line: Arc<dyn Line>, own: Option<String>, world: World) -> Result<Self> {
        let greeting = greet(&*line, own.as_deref())?;
        if greeting.line != LINE_VERSION {
            let message = format!(
                "{} is sayso {}, which this program ({}) cannot talk to",
                line.address(),
                greeting.version,
                env!("CARGO_PKG_VERSION")
            );
            return Err(Refusal::new(Code::OtherVersion, message)
                .hint("install the version the server has")
                .into());
        }
        let (greeting, presented) = (Arc::new(greeting), Arc::default());
        let is_fresh = Arc::new(AtomicBool::new(true));
        let patience = Duration::ZERO;
        Ok(Self { line, world, greeting, is_fresh, own, patience, presented })
    }

    /// The same for a program that stays: it goes on trying for this long while nobody is there.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether the space was deleted when this began.
    pub fn was_deleted(&self) -> bool {
        self.greeting.is_deleted
    }

    /// Who the credential of whoever uses this program is for.
    pub fn holder(&self) -> &Actor {
        &self.greeting.actor
    }

    pub(crate) fn space(&self) -> SpaceId {
        self.greeting.space
    }

    pub(crate) fn space_name(&self) -> &str {
        &self.greeting.name
    }

    pub(crate) fn level(&self) -> Level {
        self.greeting.level
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn address(&self) -> String {
        self.line.address()
    }

    /// What the server says now.
    pub(crate) fn greet(&self) -> Result<Greeting> {
        greet(&*self.line, self.own.as_deref())
    }

    /// Who presents this secret. What they do from now on is done with it.
    pub(crate) fn authenticate(&self, secret: &str, door: Door) -> Result<Actor> {
        // Who was just greeted need not be greeted twice; whoever comes again may have been sent away.
        let is_own = self.own.as_deref() == Some(secret.trim());
        let actor = match is_own && self.is_fresh.swap(false, Ordering::Relaxed) {
            true => self.greeting.actor.clone(),
            false => greet(&*self.line, Some(secret.trim()))?.actor,
        };
        let actor = Actor { door, ..actor };
        let mut presented = self.presented.lock().unwrap_or_else(PoisonError::into_inner);
        presented.retain(|(known, _)| !is_same(known, &actor));
        presented.push((actor.clone(), secret.trim().to_owned()));
        Ok(actor)
    }

    /// The credential an actor acts with: their own, or that of whoever uses this program.
    fn secret(&self, actor: Option<&Actor>) -> Option<String> {
        let presented = self.presented.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match actor {
            Some(actor) => presented.iter().rev().find(|(known, _)| is_same(known, actor)),
            None => presented.last(),
        };
        found.map(|(_, secret)| secret.clone()).or_else(|| self.own.clone())
    }

    /// Asks something of the desk there. What somebody does has a name, so that it is done once however
    /// often it has to be asked for; looking twice is harmless.
    pub(crate) fn call<A: Serialize, T: DeserializeOwned>(
        &self,
        call: &str,
        actor: Option<&Actor>,
        with: &A,
    ) -> Result<T> {
        let request = actor.map(|_| format!("{:032x}", self.world.chance()));
        let handed = write(&Handed { request, claim: actor.cloned(), with })?;
        let secret = self.secret(actor);
        let (began, mut pauses, mut patience) = (Instant::now(), Pauses::new(), self.patience);
        let writes = actor.is_some() && !only_looks(call);
        // Whether one of the tries so far may have counted.
        let mut is_open = false;
        loop {
            match self.line.call(secret.as_deref(), call, &handed, Duration::ZERO) {
                Ok(answer) => return read(&answer),
                Err(Unanswered::Refused(refusal)) if is_shed(&refusal, began) => pauses.next(),
                // That it is not there now, or has no time, says nothing of the try before.
                Err(Unanswered::Refused(refusal)) if is_open && is_no_word(&refusal) => {
                    return Err(sayso_store::Error::OutcomeUnknown(refusal.message).into());
                }
                Err(Unanswered::Refused(refusal)) => return Err(refusal.into()),
                Err(error) => {
                    is_open |= writes && matches!(error, Unanswered::Cut(_));
                    let is_first = patience < CUT_MAX && !matches!(error, Unanswered::Away(_));
                    match is_first {
                        true => patience = CUT_MAX,
                        false if began.elapsed() >= patience => {
                            return settled(Err(error.into()), is_open);
                        }
                        false => pauses.next(),
                    }
                }
            }
        }
    }

    /// A look that is held there until there is something to see, or for as long as `hold`.
    fn held<A: Serialize, T: DeserializeOwned>(
        &self,
        call: &str,
        with: &A,
        hold: Duration,
    ) -> Result<T> {
        let handed = write(&Handed { request: None, claim: None, with })?;
        read(&self.line.call(self.secret(None).as_deref(), call, &handed, hold)?)
    }

    /// Ends the login of whoever uses this program.
    pub fn log_out(&self) -> Result<()> {
        self.call("log_out", None, &())
    }

    /// Such a note must not stand in the way of the refusal it is about.
    pub(crate) fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        if refusal.is_about_authority() {
            let _: Result<()> = self.call("note_refusal", Some(actor), &(refusal,));
        }
    }

    pub(crate) fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<Waited> {
        let began = Instant::now();
        let (mut heard, mut pauses) = (began, Pauses::new());
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            let hold = left.map_or(HOLD, |left| left.min(HOLD));
            let asked = Instant::now();
            match self.held("wait", &(id, hold), hold) {
                Ok(Waited::TimedOut(gate)) => {
                    if timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                        return Ok(Waited::TimedOut(gate));
                    }
                    heard = Instant::now();
                }
                Err(error)
                    if (error.is_unreachable() || error.code() == Code::Overloaded)
                        && heard.elapsed() < AWAY_MAX => {}
                outcome => return outcome,
            }
            // A server that ends lets everybody go at once; nobody storms the next one.
            match asked.elapsed() < hold {
                true => pauses.next(),
                false => pauses = Pauses::new(),
            }
        }
    }

    /// What happened since; held there until something has, or until `patience` is over.
    pub(crate) fn changes(&self, seen: Option<u64>, patience: Duration) -> Result<Changes> {
        let hold = patience.min(HOLD);
        self.held("changes", &(seen, hold), hold)
    }
}

/// How long somebody goes on asking a server that sheds load.
const SHED_MAX: Duration = Duration::from_secs(30);

/// Whether a server had too much to do, and may be asked again. It has not begun what it was asked.
fn is_shed(refusal: &Refusal, began: Instant) -> bool {
    refusal.code == Code::Overloaded && began.elapsed() < SHED_MAX
}

/// Whether a refusal says nothing about what was asked for.
fn is_no_word(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::Unreachable | Code::Overloaded)
}

/// The pauses between one try and the next.
struct Pauses(Duration);

impl Pauses {
    fn new() -> Self {
        Self(PAUSES.0)
    }

    fn next(&mut self) {
        std::thread::sleep(self.0);
        self.0 = (self.0 * 2).min(PAUSES.1);
    }
}

/// Logs in over a line, by a passphrase.
pub fn log_in(line: &dyn Line, name: &str, passphrase: &str) -> Result<Minted> {
    let handed = write(&Handed { request: None, claim: None, with: (name, passphrase) })?;
    read(&line.call(None, "log_in", &handed, Duration::ZERO)?)
}

/// The same for the first time, by a code somebody was given.
pub fn join(line: &dyn Line, code: &str, name: &str, passphrase: &str) -> Result<Minted> {
    let handed = write(&Handed { request: None, claim: None, with: (code, name, passphrase) })?;
    read(&line.call(None, "join", &handed, Duration::ZERO)?)
}

fn greet(line: &dyn Line, secret: Option<&str>) -> Result<Greeting> {
    let handed = write(&Handed { request: None, claim: None, with: () })?;
    read(&line.call(secret, "greet", &handed, Duration::ZERO)?)
}

/// Whether a credential is the one an actor acts with.
fn is_same(known: &Actor, actor: &Actor) -> bool {
    let Actor { role, name, run, task, .. } = known;
    (role, name, run, task) == (&actor.role, &actor.name, &actor.run, &actor.task)
}

/// Who may make a call of the line, or open a page, beyond what the desk itself looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Whoever has a credential; the desk knows what each may do.
    Anyone,
    /// Whoever may work on tasks or see what others do: a credential that only asks sees neither.
    Trackers,
    /// Whoever may see what others do.
    Readers,
    /// Those who may read the audit.
    Auditors,
    /// Whoever may run workers.
    Operators,
    /// Whoever looks after the space.
    Admins,
}

/// Somebody who came in over a line, by their credential.
#[derive(Clone)]
pub struct Caller {
    /// Who they are.
    pub actor: Actor,
    /// Their credential.
    pub token: TokenId,
    /// Which sayso answers.
    pub version: String,
    /// Their credential, where it was taken for good and is still to be checked.
    shown: Option<Arc<Shown>>,
    /// How long they wait.
    deadline: Option<CallDeadline>,
}

/// A call as it completes "may not …".
fn in_words(call: &str) -> String {
    let words = match call {
        "mint" | "check_may_mint" => "make tokens",
        "tokens" => "list tokens",
        "revoke" => "revoke tokens",
        "invite" => "invite people",
        "dismiss_person" => "send people away",
        "set" => "set policies, people and agents",
        "forget" => "forget what was remembered",
        "delete_space" => "delete the space",
        "delete_agent" => "delete agents",
        "tasks" | "task" | "history" => "read tasks",
        "run" | "runs_of" | "live_runs" => "read runs",
        "settings" | "explain" | "check_settings" => "read what is set for the space",
        "members" | "member" => "list agents",
        "remembered" | "check_can_be_remembered" => "read what was remembered",
        "away" => "see who is away",
        "people" | "people_by_token" => "see who is here",
        "check_file" => "have the database checked",
        "flow" | "flow_history" | "flows" | "ready_flows" | "find_flow" => "read flows",
        "start_flow" | "lead_flow" | "go_on" | "cancel_flow" => "run flows",
        "start_run" | "renew_run" | "name_session" | "end_run" | "settle_run" | "lose_run"
        | "rule_on_completion" | "to_be_landed" => "run agents",
        "orders" | "stationed" | "take_order" | "put_off_order" | "admit_agent"
        | "settle_order" | "dismiss_agent" | "note_nudge" | "has_nudges" | "claim_nudges"
        | "nudge_held_back" | "end_nudge" => "look after agents",
        "next_notice" | "claim_notices" | "settle_notice" | "fail_notice" | "fail_delivery"
        | "give_up_delivery" => "bring notices and answers",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}

impl Caller {
    /// Who presents this secret, at this door.
    pub fn by(desk: &LocalDesk, secret: &str, door: Door, version: &str) -> Result<Self> {
        let (actor, token) = desk.present_at_its_place(secret, door, PLACE)?;
        Ok(Self { actor, token, version: version.to_owned(), shown: None, deadline: None })
    }

    /// The same, without a look of its own where the credential was good before. Only a desk that is
    /// [checking](Self::checking) may be asked anything for them.
    pub fn again(desk: &LocalDesk, secret: &str, door: Door, version: &str) -> Result<Self> {
        let (actor, token, shown) = desk.present_again(secret, door, PLACE)?;
        Ok(Self { actor, token, version: version.to_owned(), shown, deadline: None })
    }

    /// The desk for what they ask. It checks their credential with it, where that was not done yet.
    pub fn checking(&self, desk: &LocalDesk) -> LocalDesk {
        self.awaited(desk).checking(self.shown.clone())
    }

    /// The same caller, who waits no longer than this.
    #[must_use]
    pub fn within(mut self, deadline: Option<CallDeadline>) -> Self {
        self.deadline = deadline;
        self
    }

    /// The desk for what they ask, which commits nothing for them when they have given up.
    pub(crate) fn awaited(&self, desk: &LocalDesk) -> LocalDesk {
        desk.clone().within(self.deadline.clone())
    }

    /// Whether what was asked for them failed because their credential has changed. Nothing was done then, and they
    /// are to come in anew.
    pub fn has_changed(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.has_changed())
    }

    /// As whom they act. What they claim counts as far as it is less than what they are.
    pub(crate) fn admit(&self, desk: &LocalDesk, claimed: Option<&Actor>) -> Result<Actor> {
        let Some(claimed) = claimed else { return Ok(self.actor.clone()) };
        let run = claimed.run.filter(|run| self.actor.run != Some(*run));
        let launched = run.map(|run| launched(desk, run)).transpose()?;
        admit(&self.actor, claimed, launched.as_ref()).map_err(|refusal| {
            desk.note_refusal(&self.actor, &refusal);
            refusal.into()
        })
    }

    /// Where a passphrase counts that they typed: for this credential, for a while.
    fn place(&self) -> String {
        place(self.token)
    }

    /// Whether they may ask this of the desk from elsewhere, beyond what the desk itself looks at.
    pub fn check_call(&self, desk: &LocalDesk, call: &str) -> Result<()> {
        let permission = permission_of(call).ok_or_else(|| unknown_call(call))?;
        self.check(desk, permission, call)
    }

    pub(crate) fn check(&self, desk: &LocalDesk, permission: Permission, call: &str) -> Result<()> {
        self.check_permission(desk, permission, || in_words(call))
    }

    /// Checks a permission; `what` completes "may not …". What is refused is written down.
    pub fn check_permission(
        &self,
        desk: &LocalDesk,
        permission: Permission,
        what: impl Fn() -> String,
    ) -> Result<()> {
        match permission {
            Permission::Anyone => Ok(()),
            Permission::Trackers if self.actor.may(Deed::Read) => Ok(()),
            Permission::Trackers => desk.check(&self.actor, Deed::Track, &what()),
            Permission::Readers => desk.check(&self.actor, Deed::Read, &what()),
            Permission::Auditors => desk.check(&self.actor, Deed::Audit, &what()),
            Permission::Operators => desk.check(&self.actor, Deed::Operate, &what()),
            Permission::Admins => self.check_is_admin(desk, &what()),
        }
    }

    /// From elsewhere it takes more than being a person: here, whoever sits at the store owns it.
    fn check_is_admin(&self, desk: &LocalDesk, what: &str) -> Result<()> {
        if self.actor.role != Role::Human || desk.is_admin(&self.actor.name)? {
            return Ok(());
        }
        let message =
            format!("{} may not {what}: they do not look after the space", self.actor.name);
        let refusal = Refusal::new(Code::NotAllowed, message)
            .hint("an admin does it, or makes you one: sayso people invite NAME --admin");
        desk.note_refusal(&self.actor, &refusal);
        Err(refusal.into())
    }

    /// The calls that are about the caller, the line or the way it is waited; none for one there is not.
    pub(crate) fn other(
        &self,
        desk: &LocalDesk,
        actor: &Actor,
        call: &str,
        arguments: &str,
    ) -> Option<Result<String>> {
        if !LINE_CALLS.contains(&call) {
            return None;
        }
        Some(match call {
            "greet" => self.greeting(desk),
            "has_passphrase" => desk.has_passphrase(&self.actor.name).and_then(|it| answered(&it)),
            "unlock" => asked_for::<(String,)>(arguments)
                .and_then(|(passphrase,)| desk.unlock(actor, &passphrase, &self.place()))
                .and_then(|until| answered(&until)),
            "log_out" => self.log_out(desk).and_then(|()| answered(&())),
            "lock" => desk.lock(actor, &self.place()).and_then(|()| answered(&())),
            "verify_audit" => desk.verify_audit(actor, |_| {}).and_then(|it| answered(&it)),
            "note_refusal" => asked_for::<(Refusal,)>(arguments).and_then(|(mut refusal,)| {
                refusal.message = shorten(&refusal.message, REFUSAL_CHARS_MAX);
                desk.note_refusal(actor, &refusal);
                answered(&())
            }),
            _ => return None,
        })
    }

    /// Shows the caller's passphrase: for some minutes it counts for what comes with this credential.
    pub fn unlock(&self, desk: &LocalDesk, passphrase: &str) -> Result<Timestamp> {
        desk.unlock(&self.actor, passphrase, &self.place())
    }

    /// Shows it no more.
    pub fn lock(&self, desk: &LocalDesk) -> Result<()> {
        desk.lock(&self.actor, &self.place())
    }

    /// Whether a browser says the word that goes with this credential.
    pub fn knows(&self, desk: &LocalDesk, word: &str) -> Result<bool> {
        desk.knows_word(&self.actor.name, self.token, word)
    }

    /// Ends the caller's own credential, if it is a login.
    pub fn log_out(&self, desk: &LocalDesk) -> Result<()> {
        desk.end_login(&self.actor, self.token)
    }

    fn greeting(&self, desk: &LocalDesk) -> Result<String> {
        answered(&Greeting {
            line: LINE_VERSION,
            version: self.version.clone(),
            space: desk.space,
            name: desk.space_name.clone(),
            level: desk.level(),
            is_deleted: desk.is_deleted()?,
            actor: self.actor.clone(),
        })
    }
}

/// The calls of the line beside those of the desk: about the caller, the line, and waiting.
pub const LINE_CALLS: &[&str] = &[
    "greet",
    "has_passphrase",
    "unlock",
    "lock",
    "log_out",
    "verify_audit",
    "note_refusal",
    "wait",
    "changes",
    "log_in",
    "join",
];

/// How the place of a credential begins, at which a passphrase counts for a while.
const PLACE: &str = "token/";

pub(crate) fn place(token: TokenId) -> String {
    format!("{PLACE}{token}")
}

/// The agent of a run that is under way, and who launched it.
fn launched(desk: &LocalDesk, run: RunId) -> Result<Actor> {
    Ok(crate::runs::agent_of(&desk.run(run)?, desk.level()))
}

/// What somebody who follows a chain needs of an entry.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    events: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    stream: String,
}

impl LocalDesk {
    /// What happened after an entry of the chain. Without one: where the chain ends.
    pub fn changes(&self, seen: Option<u64>) -> Result<Changes> {
        let Some(seen) = seen else {
            let seen = self.read(|read| self.end(read))?;
            return Ok(Changes { seen, gates: vec![] });
        };
        let rows = self.look(|read| Ok(read.audit_after(self.space, seen, CHANGES_MAX)?))?;
        // An entry that cannot be read wakes nobody; whoever waits looks again after a while.
        let entries = rows.iter().filter_map(|row| serde_json::from_str::<About>(&row.body).ok());
        let gate = |stream: &str| stream.strip_prefix("gate/")?.parse().ok();
        let gates = entries
            .flat_map(|entry| entry.events)
            .filter_map(|event| gate(&event.stream))
            .collect();
        let seen = match rows.last() {
            Some(row) => row.seq,
            // Whoever has seen more than there is follows a chain that was put back: they begin at its end.
            None => seen.min(self.read(|read| self.end(read))?),
        };
        Ok(Changes { seen, gates })
    }

    /// Where the chain ends.
    pub(crate) fn end(&self, read: &mut Read<'_>) -> Result<u64> {
        let last = read.audit_last(self.space, 1)?;
        Ok(last.first().map_or(0, |row| row.seq))
    }
}

/// What a call is made with, on both sides: lent by the one, kept by the other.
pub(crate) trait Sent<'a> {
    /// As it is kept.
    type Kept: DeserializeOwned;
    /// As the desk takes it.
    fn lend(kept: &'a Self::Kept) -> Self;
}

impl<'a> Sent<'a> for &'a str {
    type Kept = String;
    fn lend(kept: &'a String) -> Self {
        kept
    }
}

impl<'a, T: DeserializeOwned> Sent<'a> for &'a T {
    type Kept = T;
    fn lend(kept: &'a T) -> Self {
        kept
    }
}

impl<'a, T: DeserializeOwned> Sent<'a> for &'a [T] {
    type Kept = Vec<T>;
    fn lend(kept: &'a Vec<T>) -> Self {
        kept
    }
}

impl<'a> Sent<'a> for Option<&'a str> {
    type Kept = Option<String>;
    fn lend(kept: &'a Option<String>) -> Self {
        kept.as_deref()
    }
}

impl<'a> Sent<'a> for Option<&'a crate::Recorded> {
    type Kept = Option<crate::Recorded>;
    fn lend(kept: &'a Option<crate::Recorded>) -> Self {
        kept.as_ref()
    }
}

macro_rules! sent_as_they_are {
    ($($kind:ty),* $(,)?) => {
        $(impl Sent<'_> for $kind {
            type Kept = $kind;
            fn lend(kept: &$kind) -> Self {
                kept.clone()
            }
        })*
    };
}

sent_as_they_are! {
    bool, usize, u32, u64, Option<u8>, Option<u64>, Option<String>, Timestamp, Option<Timestamp>,
    GateId, sayso_core::TaskId, RunId, Option<RunId>, sayso_core::MessageId, sayso_core::Kind,
    crate::Ask, sayso_core::gate::Card, sayso_core::Answer, crate::GateFilter, crate::ToolCall,
    Vec<crate::CallQuestion>, crate::NewTask, sayso_core::task::Edit, crate::NewToken,
    Vec<crate::Change>, crate::Scope, sayso_core::gate::Action, crate::NewRun,
    sayso_core::run::How, sayso_core::run::Spent, crate::Settlement, Option<crate::SettingKind>,
    sayso_policy::Request, crate::Say, Vec<crate::Say>, sayso_core::FlowId, crate::NewFlow, crate::GoOn,
    sayso_core::flow::Claim,
}

/// Reads what a call is made with.
pub(crate) fn asked_for<T: DeserializeOwned>(arguments: &str) -> Result<T> {
    serde_json::from_str(arguments).map_err(|e| {
        let message = format!("the call cannot be read: {e}");
        Refusal::new(Code::BadValue, message).hint("is the program as old as the server?").into()
    })
}

/// Writes what came of a call.
pub(crate) fn answered<T: Serialize>(value: &T) -> Result<String> {
    write(value)
}

pub(crate) fn unknown_call(call: &str) -> Error {
    let shown = sayso_core::text::shorten(&sayso_core::text::harmless_line(call), 60);
    Refusal::new(Code::NotFound, format!("there is no call {shown:?}"))
        .hint("is the program newer than the server?")
        .into()
}

fn write<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| unreadable(&e))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| unreadable(&e))
}

fn unreadable(error: &serde_json::Error) -> Error {
    let message = format!("what goes over the line cannot be read: {error}");
    Refusal::new(Code::OtherVersion, message).hint("install the version the server has").into()
}
