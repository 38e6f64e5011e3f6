//! RPC client and server side of the desk: a [`RemoteDesk`] sends each call over a transport (the [`RpcTransport`]), and the
//! server's desk executes it and returns the response.
//!
//! The server determines the actor from the credential. The client may only claim fewer permissions: for a person's
//! script, or for an agent that has access to a person's credential.

use crate::credential_cache::CachedCredential;
use crate::deadline::{CallDeadline, or_outcome_unknown};
use crate::desk::permission_of;
use crate::{Error, IssuedToken, LocalDesk, Result, RuntimeEnv, WaitOutcome};
use sayso_core::actor::resolve_actor;
use sayso_core::text::shorten;
use sayso_core::{
    Actor, AssuranceLevel, Code, EntryPoint, GateId, Permission, Refusal, Role, RunId, SpaceId,
    Timestamp, TokenId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The protocol version. It is incremented with every change that an older program would misread.
pub const LINE_VERSION: u32 = 1;

/// The time for which the server holds a call while there is nothing to return (long polling).
const HOLD: Duration = Duration::from_secs(25);

/// The time for which a wait for a person continues while the server is unreachable: the gate stays open, and a
/// server that is being replaced returns.
const AWAY_MAX: Duration = Duration::from_secs(10 * 60);

/// The time for which an interrupted call is retried to learn its outcome.
const CUT_MAX: Duration = Duration::from_secs(10);

/// The back-off between retries: the first pause and the maximum. Each pause is twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The maximum length of a refusal that is audited for a remote caller.
const REFUSAL_CHARS_MAX: usize = 500;

/// The transport to a remote desk.
pub trait RpcTransport: Send + Sync {
    /// Sends a call with the credential `secret`, and returns the response; both are JSON. The server may hold it for
    /// `patience`; the call takes no longer than that plus the time of the transport.
    fn call(
        &self,
        secret: Option<&str>,
        call: &str,
        handed: &str,
        patience: Duration,
    ) -> std::result::Result<String, CallError>;

    /// Returns the address of the server, without credentials.
    fn address(&self) -> String;
}

/// The reason why a call returned no result.
#[derive(Debug)]
pub enum CallError {
    /// The server refused it.
    Refused(Refusal),
    /// The server is unreachable, and nothing was sent.
    Unreachable(String),
    /// The server cannot reach its store, so nothing was written.
    StoreUnavailable(String),
    /// The connection was interrupted, and the outcome is unknown.
    Interrupted(String),
}

impl From<CallError> for Error {
    fn from(unanswered: CallError) -> Self {
        match unanswered {
            CallError::Refused(refusal) => refusal.into(),
            CallError::Unreachable(why)
            | CallError::StoreUnavailable(why)
            | CallError::Interrupted(why) => sayso_store::Error::Unreachable(why).into(),
        }
    }
}

/// True if a call with an actor only reads, so that its response can be lost without consequence.
fn is_read_only(call: &str) -> bool {
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

/// The envelope of a call.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallEnvelope<A> {
    /// The idempotency key: a retry with the same key returns the stored response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The actor according to the client. It takes effect only where it claims fewer permissions than the credential
    /// has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Actor>,
    /// The arguments of the call.
    pub with: A,
}

/// The handshake: the server's description of itself and of the caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerHandshake {
    /// The protocol version of the server.
    pub line: u32,
    /// The version of sayso on the server.
    pub version: String,
    pub space: SpaceId,
    /// The name of the space.
    pub name: String,
    /// True if the space was deleted: then it is read-only.
    pub is_deleted: bool,
    /// The assurance level of the deployment.
    pub level: AssuranceLevel,
    /// The actor of the credential.
    pub actor: Actor,
}

/// The changes of a space since an audit entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceChanges {
    /// The sequence number of the last entry that was read.
    pub seen: u64,
    /// The gates that changed.
    pub gates: Vec<GateId>,
}

/// The client of a desk on a server. Clones share its state.
#[derive(Clone)]
pub struct RemoteDesk {
    line: Arc<dyn RpcTransport>,
    world: RuntimeEnv,
    greeting: Arc<ServerHandshake>,
    /// True until the handshake was used to authenticate once.
    is_fresh: Arc<AtomicBool>,
    /// The credential of the user of this program.
    own: Option<String>,
    /// The time for which a call is retried while the server is unreachable.
    patience: Duration,
    /// The credentials that were presented since, each with its actor.
    presented: Arc<Mutex<Vec<(Actor, String)>>>,
}

impl RemoteDesk {
    /// Connects to a desk. `own` is the credential of the user of this program.
    pub fn reach(
        line: Arc<dyn RpcTransport>,
        own: Option<String>,
        world: RuntimeEnv,
    ) -> Result<Self> {
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

    /// Sets the time for which a long-lived program retries while the server is unreachable.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// True if the space was deleted when the client connected.
    pub fn was_deleted(&self) -> bool {
        self.greeting.is_deleted
    }

    /// Returns the actor of the user's own credential.
    pub fn holder(&self) -> &Actor {
        &self.greeting.actor
    }

    pub(crate) fn space(&self) -> SpaceId {
        self.greeting.space
    }

    pub(crate) fn space_name(&self) -> &str {
        &self.greeting.name
    }

    pub(crate) fn level(&self) -> AssuranceLevel {
        self.greeting.level
    }

    pub(crate) fn world(&self) -> &RuntimeEnv {
        &self.world
    }

    pub(crate) fn address(&self) -> String {
        self.line.address()
    }

    /// Performs the handshake again.
    pub(crate) fn greet(&self) -> Result<ServerHandshake> {
        greet(&*self.line, self.own.as_deref())
    }

    /// Authenticates the holder of a secret, which is used for the actor's calls from now on.
    pub(crate) fn authenticate(&self, secret: &str, door: EntryPoint) -> Result<Actor> {
        // The first use of the own credential needs no second handshake. A later one does, since it may have been
        // revoked.
        let is_own = self.own.as_deref() == Some(secret.trim());
        let actor = if is_own && self.is_fresh.swap(false, Ordering::Relaxed) {
            self.greeting.actor.clone()
        } else {
            greet(&*self.line, Some(secret.trim()))?.actor
        };
        let actor = Actor { door, ..actor };
        let mut presented = self.presented.lock().unwrap_or_else(PoisonError::into_inner);
        presented.retain(|(known, _)| !is_same(known, &actor));
        presented.push((actor.clone(), secret.trim().to_owned()));
        Ok(actor)
    }

    /// Returns the credential for an actor: the one that the actor presented, or that of the user of this program.
    fn secret(&self, actor: Option<&Actor>) -> Option<String> {
        let presented = self.presented.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match actor {
            Some(actor) => presented.iter().rev().find(|(known, _)| is_same(known, actor)),
            None => presented.last(),
        };
        found.map(|(_, secret)| secret.clone()).or_else(|| self.own.clone())
    }

    /// Calls the remote desk, and retries while the server is unreachable. A call with an actor has an idempotency
    /// key, so it takes effect once however often it is sent; the others can be repeated.
    pub(crate) fn call<A: Serialize, T: DeserializeOwned>(
        &self,
        call: &str,
        actor: Option<&Actor>,
        with: &A,
    ) -> Result<T> {
        let request = actor.map(|_| format!("{:032x}", self.world.random_u128()));
        let handed = write(&CallEnvelope { request, claim: actor.cloned(), with })?;
        let secret = self.secret(actor);
        let (began, mut pauses, mut patience) =
            (Instant::now(), RetryBackoff::new(), self.patience);
        let writes = actor.is_some() && !is_read_only(call);
        // True if one of the attempts so far may have been committed.
        let mut is_open = false;
        loop {
            match self.line.call(secret.as_deref(), call, &handed, Duration::ZERO) {
                Ok(answer) => return read(&answer),
                Err(CallError::Refused(refusal)) if is_shed(&refusal, began) => pauses.next(),
                // An unreachable or overloaded server says nothing about the earlier attempt.
                Err(CallError::Refused(refusal)) if is_open && is_no_word(&refusal) => {
                    return Err(sayso_store::Error::OutcomeUnknown(refusal.message).into());
                }
                Err(CallError::Refused(refusal)) => return Err(refusal.into()),
                Err(error) => {
                    is_open |= writes && matches!(error, CallError::Interrupted(_));
                    let is_first =
                        patience < CUT_MAX && !matches!(error, CallError::Unreachable(_));
                    match is_first {
                        true => patience = CUT_MAX,
                        false if began.elapsed() >= patience => {
                            return or_outcome_unknown(Err(error.into()), is_open);
                        }
                        false => pauses.next(),
                    }
                }
            }
        }
    }

    /// Sends a query that the server holds until there is a result, or for as long as `hold` (long polling).
    fn held<A: Serialize, T: DeserializeOwned>(
        &self,
        call: &str,
        with: &A,
        hold: Duration,
    ) -> Result<T> {
        let handed = write(&CallEnvelope { request: None, claim: None, with })?;
        read(&self.line.call(self.secret(None).as_deref(), call, &handed, hold)?)
    }

    /// Revokes the login of the user of this program.
    pub fn log_out(&self) -> Result<()> {
        self.call("log_out", None, &())
    }

    /// Audits a refusal on the server. A failure is ignored, since the refusal holds even if it cannot be recorded.
    pub(crate) fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        if refusal.is_about_authority() {
            let _: Result<()> = self.call("note_refusal", Some(actor), &(refusal,));
        }
    }

    pub(crate) fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<WaitOutcome> {
        let began = Instant::now();
        let (mut heard, mut pauses) = (began, RetryBackoff::new());
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            let hold = left.map_or(HOLD, |left| left.min(HOLD));
            let asked = Instant::now();
            match self.held("wait", &(id, hold), hold) {
                Ok(WaitOutcome::TimedOut(gate)) => {
                    if timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                        return Ok(WaitOutcome::TimedOut(gate));
                    }
                    heard = Instant::now();
                }
                Err(error)
                    if (error.is_unreachable() || error.code() == Code::Overloaded)
                        && heard.elapsed() < AWAY_MAX => {}
                outcome => return outcome,
            }
            // A server that shuts down releases all waiting calls at once. The back-off keeps them from overloading
            // the next one.
            if asked.elapsed() < hold { pauses.next() } else { pauses = RetryBackoff::new() }
        }
    }

    /// Returns the changes since an entry; held by the server until there is one, or until `patience` has passed.
    pub(crate) fn changes(&self, seen: Option<u64>, patience: Duration) -> Result<SpaceChanges> {
        let hold = patience.min(HOLD);
        self.held("changes", &(seen, hold), hold)
    }
}

/// The time for which a call to a server that sheds load is retried.
const SHED_MAX: Duration = Duration::from_secs(30);

/// True if the server was overloaded and may be called again. It has not begun to execute the call.
fn is_shed(refusal: &Refusal, began: Instant) -> bool {
    refusal.code == Code::Overloaded && began.elapsed() < SHED_MAX
}

/// True if a refusal says nothing about the outcome of the call.
fn is_no_word(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::Unreachable | Code::Overloaded)
}

/// The back-off between retries.
struct RetryBackoff(Duration);

impl RetryBackoff {
    fn new() -> Self {
        Self(PAUSES.0)
    }

    fn next(&mut self) {
        std::thread::sleep(self.0);
        self.0 = (self.0 * 2).min(PAUSES.1);
    }
}

/// Logs in over a transport, by a passphrase.
pub fn log_in(line: &dyn RpcTransport, name: &str, passphrase: &str) -> Result<IssuedToken> {
    let handed = write(&CallEnvelope { request: None, claim: None, with: (name, passphrase) })?;
    read(&line.call(None, "log_in", &handed, Duration::ZERO)?)
}

/// Joins over a transport, by an invitation code.
pub fn join(
    line: &dyn RpcTransport,
    code: &str,
    name: &str,
    passphrase: &str,
) -> Result<IssuedToken> {
    let handed =
        write(&CallEnvelope { request: None, claim: None, with: (code, name, passphrase) })?;
    read(&line.call(None, "join", &handed, Duration::ZERO)?)
}

fn greet(line: &dyn RpcTransport, secret: Option<&str>) -> Result<ServerHandshake> {
    let handed = write(&CallEnvelope { request: None, claim: None, with: () })?;
    read(&line.call(secret, "greet", &handed, Duration::ZERO)?)
}

/// True if a credential belongs to an actor.
fn is_same(known: &Actor, actor: &Actor) -> bool {
    let Actor { role, name, run, task, .. } = known;
    (role, name, run, task) == (&actor.role, &actor.name, &actor.run, &actor.task)
}

/// The permission for a remote call or a page, in addition to the checks of the desk itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPermission {
    /// Every caller with a credential; the desk checks the rest.
    Anyone,
    /// Callers who may work on tasks or see the actions of others, not credentials that may only ask.
    Trackers,
    /// Callers who may see the actions of others.
    Readers,
    /// Callers who may read the audit.
    Auditors,
    /// Callers who may run workers.
    Operators,
    /// Admins of the space.
    Admins,
}

/// An authenticated remote caller.
#[derive(Clone)]
pub struct RemoteCaller {
    pub actor: Actor,
    /// The id of the credential.
    pub token: TokenId,
    /// The version of sayso on the server.
    pub version: String,
    /// The cached credential that is still to be re-validated.
    shown: Option<Arc<CachedCredential>>,
    /// The time that the caller waits.
    deadline: Option<CallDeadline>,
}

/// Returns the words for a call that complete "may not …".
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

impl RemoteCaller {
    /// Authenticates the holder of a secret at an interface.
    pub fn by(desk: &LocalDesk, secret: &str, door: EntryPoint, version: &str) -> Result<Self> {
        let (actor, token) = desk.present_at_its_place(secret, door, PLACE)?;
        Ok(Self { actor, token, version: version.to_owned(), shown: None, deadline: None })
    }

    /// Authenticates by the cached credential, without a query, if there is one. Calls for this caller must then go
    /// through a [with_credential_check](Self::checking) desk.
    pub fn authenticate_cached(
        desk: &LocalDesk,
        secret: &str,
        door: EntryPoint,
        version: &str,
    ) -> Result<Self> {
        let (actor, token, shown) = desk.authenticate_cached(secret, door, PLACE)?;
        Ok(Self { actor, token, version: version.to_owned(), shown, deadline: None })
    }

    /// Returns the desk for this caller, which re-validates a cached credential.
    pub fn with_credential_check(&self, desk: &LocalDesk) -> LocalDesk {
        self.with_caller_deadline(desk).with_credential_check(self.shown.clone())
    }

    /// Sets the deadline of the caller.
    #[must_use]
    pub fn within(mut self, deadline: Option<CallDeadline>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the desk for this caller, which commits nothing after the deadline.
    pub(crate) fn with_caller_deadline(&self, desk: &LocalDesk) -> LocalDesk {
        desk.clone().within(self.deadline.clone())
    }

    /// True if a call failed because the cached credential has changed. Nothing was executed then, and the caller has
    /// to authenticate again.
    pub fn has_changed(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.has_changed())
    }

    /// Returns the actor of a call. A claim takes effect only where it has fewer permissions than the credential.
    pub(crate) fn admit(&self, desk: &LocalDesk, claimed: Option<&Actor>) -> Result<Actor> {
        let Some(claimed) = claimed else { return Ok(self.actor.clone()) };
        let run = claimed.run.filter(|run| self.actor.run != Some(*run));
        let launched = run.map(|run| launched(desk, run)).transpose()?;
        resolve_actor(&self.actor, claimed, launched.as_ref()).map_err(|refusal| {
            desk.note_refusal(&self.actor, &refusal);
            refusal.into()
        })
    }

    /// Returns the place at which an entered passphrase counts for some minutes: this credential.
    fn place(&self) -> String {
        place(self.token)
    }

    /// Checks that the caller may make this remote call, in addition to the checks of the desk itself.
    pub fn check_call(&self, desk: &LocalDesk, call: &str) -> Result<()> {
        let permission = permission_of(call).ok_or_else(|| unknown_call(call))?;
        self.check(desk, permission, call)
    }

    pub(crate) fn check(
        &self,
        desk: &LocalDesk,
        permission: CallPermission,
        call: &str,
    ) -> Result<()> {
        self.check_permission(desk, permission, || in_words(call))
    }

    /// Checks a permission; `what` completes "may not …". A refusal is audited.
    pub fn check_permission(
        &self,
        desk: &LocalDesk,
        permission: CallPermission,
        what: impl Fn() -> String,
    ) -> Result<()> {
        match permission {
            CallPermission::Anyone => Ok(()),
            CallPermission::Trackers if self.actor.may(Permission::Read) => Ok(()),
            CallPermission::Trackers => desk.check(&self.actor, Permission::Track, &what()),
            CallPermission::Readers => desk.check(&self.actor, Permission::Read, &what()),
            CallPermission::Auditors => desk.check(&self.actor, Permission::Audit, &what()),
            CallPermission::Operators => desk.check(&self.actor, Permission::Operate, &what()),
            CallPermission::Admins => self.check_is_admin(desk, &what()),
        }
    }

    /// Checks that a remote person is an admin. A local person needs no such role, since access to the store makes
    /// them its owner; the desk checks all other actors.
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

    /// Executes the calls about the caller, the connection and waiting; none if `call` is not one of them.
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

    /// Unlocks the caller's credential by a passphrase, whose proof then counts for some minutes.
    pub fn unlock(&self, desk: &LocalDesk, passphrase: &str) -> Result<Timestamp> {
        desk.unlock(&self.actor, passphrase, &self.place())
    }

    /// Locks the caller's credential.
    pub fn lock(&self, desk: &LocalDesk) -> Result<()> {
        desk.lock(&self.actor, &self.place())
    }

    /// True if this is the CSRF token of the caller's browser session.
    pub fn knows(&self, desk: &LocalDesk, word: &str) -> Result<bool> {
        desk.knows_word(&self.actor.name, self.token, word)
    }

    /// Revokes the caller's own credential, if it is a login.
    pub fn log_out(&self, desk: &LocalDesk) -> Result<()> {
        desk.end_login(&self.actor, self.token)
    }

    fn greeting(&self, desk: &LocalDesk) -> Result<String> {
        answered(&ServerHandshake {
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

/// The calls beside those of the desk: about the caller, the connection, and waiting.
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

/// The prefix of the place of a credential, at which a passphrase counts for some minutes.
const PLACE: &str = "token/";

pub(crate) fn place(token: TokenId) -> String {
    format!("{PLACE}{token}")
}

/// Returns the agent of a live run, and the actor who launched it.
fn launched(desk: &LocalDesk, run: RunId) -> Result<Actor> {
    Ok(crate::runs::agent_of(&desk.run(run)?, desk.level()))
}

/// An argument of a remote call: borrowed by the caller, owned after it was parsed by the server.
pub(crate) trait RpcArg<'a> {
    /// The owned form.
    type Kept: DeserializeOwned;
    /// Returns the form that the method of the desk takes.
    fn lend(kept: &'a Self::Kept) -> Self;
}

impl<'a> RpcArg<'a> for &'a str {
    type Kept = String;
    fn lend(kept: &'a String) -> Self {
        kept
    }
}

impl<'a, T: DeserializeOwned> RpcArg<'a> for &'a T {
    type Kept = T;
    fn lend(kept: &'a T) -> Self {
        kept
    }
}

impl<'a, T: DeserializeOwned> RpcArg<'a> for &'a [T] {
    type Kept = Vec<T>;
    fn lend(kept: &'a Vec<T>) -> Self {
        kept
    }
}

impl<'a> RpcArg<'a> for Option<&'a str> {
    type Kept = Option<String>;
    fn lend(kept: &'a Option<String>) -> Self {
        kept.as_deref()
    }
}

impl<'a> RpcArg<'a> for Option<&'a crate::RequestLogEntry> {
    type Kept = Option<crate::RequestLogEntry>;
    fn lend(kept: &'a Option<crate::RequestLogEntry>) -> Self {
        kept.as_ref()
    }
}

macro_rules! sent_as_they_are {
    ($($kind:ty),* $(,)?) => {
        $(impl RpcArg<'_> for $kind {
            type Kept = $kind;
            fn lend(kept: &$kind) -> Self {
                kept.clone()
            }
        })*
    };
}

sent_as_they_are! {
    bool, usize, u32, u64, Option<u8>, Option<u64>, Option<String>, Timestamp, Option<Timestamp>,
    GateId, sayso_core::TaskId, RunId, Option<RunId>, sayso_core::MessageId, sayso_core::GateKind,
    crate::NewGate, sayso_core::gate::Card, sayso_core::Answer, crate::GateFilter, crate::ToolCall,
    Vec<crate::CallQuestion>, crate::NewTask, sayso_core::task::TaskEdit, crate::NewToken,
    Vec<crate::SettingChange>, crate::ApprovalScope, sayso_core::gate::LifecycleAction, crate::NewRun,
    sayso_core::run::RunEndKind, sayso_core::run::RunUsage, crate::RunSettlement, Option<crate::SettingKind>,
    sayso_policy::PolicyRequest, crate::CardAnswer, Vec<crate::CardAnswer>, sayso_core::FlowId, crate::NewFlow, crate::AdvanceRequest,
    sayso_core::flow::LeaseClaim,
}

/// Parses the arguments of a call.
pub(crate) fn asked_for<T: DeserializeOwned>(arguments: &str) -> Result<T> {
    serde_json::from_str(arguments).map_err(|e| {
        let message = format!("the call cannot be read: {e}");
        Refusal::new(Code::BadValue, message).hint("is the program as old as the server?").into()
    })
}

/// Serializes the response of a call.
pub(crate) fn answered<T: Serialize>(value: &T) -> Result<String> {
    write(value)
}

pub(crate) fn unknown_call(call: &str) -> Error {
    let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(call), 60);
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
