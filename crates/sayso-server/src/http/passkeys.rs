//! HTTP API for passkeys (WebAuthn): a person adds one, and uses it to prove their presence for an answer.
//!
//! A challenge is issued first: its purpose is kept with the challenge, out of the caller's reach. So the signature
//! that comes back is good for this card of this gate, and for nothing else.

use super::gates::bad;
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use crate::wire;
use sayso_core::{Actor, Code, Digest, GateId, Proof, Refusal};
use sayso_engine::{LocalDesk, Minted, Passkey as Kept, Result, Touch, TouchFor, bad_passkey};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey, PasskeyAuthentication, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential, Url, Uuid, Webauthn, WebauthnBuilder,
    WebauthnError,
};

pub(super) fn operations(table: Table) -> Table {
    table
        .add(Verb::Get, "/passkeys", LIST, list)
        .add(Verb::Post, "/passkeys/begin", BEGIN, begin)
        .add(Verb::Create, "/passkeys", ADD, add)
        .add(Verb::Delete, "/passkeys/{passkey}", REMOVE, remove)
        .add(Verb::Post, "/gates/{gate}/presence", PRESENCE, presence)
}

type Says = (&'static str, &'static str);
const LIST: Says = ("listPasskeys", "The caller's passkeys, oldest first.");
const BEGIN: Says = (
    "beginPasskey",
    "Asks for a touch to add a passkey. It takes the caller's passphrase, shown lately.",
);
const ADD: Says = ("addPasskey", "Adds the passkey that was touched.");
const REMOVE: Says = ("removePasskey", "Takes one of the caller's passkeys away.");
const PRESENCE: Says = (
    "askForPresence",
    "Asks for a touch of a passkey to answer this gate, as it was shown. The touch goes along with the answer, and counts for this card only, once, within minutes.",
);

/// Returns the WebAuthn relying party of this server. Without an address that people reach it at, passkeys are for
/// browsers on this machine alone.
pub(super) fn relying_party(pages: Option<&str>) -> Result<Webauthn> {
    let wrong = |why: String| {
        Refusal::new(Code::BadConfig, format!("passkeys need a good address in `pages`: {why}"))
            .hint("write it as https://sayso.example; an address of digits cannot have passkeys")
    };
    let address =
        Url::parse(pages.unwrap_or("http://localhost")).map_err(|e| wrong(e.to_string()))?;
    let host = address.domain().unwrap_or("localhost").to_owned();
    // An IP address is no name: then only browsers on this machine have passkeys here.
    let origin = match address.domain() {
        Some(_) => address,
        None => Url::parse("http://localhost").map_err(|e| wrong(e.to_string()))?,
    };
    let builder = WebauthnBuilder::new(&host, &origin).map_err(|e| wrong(e.to_string()))?;
    let builder = builder.rp_name("sayso").allow_any_port(host == "localhost");
    Ok(builder.build().map_err(|e| wrong(e.to_string()))?)
}

/// The passkeys of the caller.
#[derive(Serialize, JsonSchema)]
struct Passkeys {
    /// The passkeys, oldest first.
    items: Vec<wire::Passkey>,
}

fn list(at: &Visitor, _: Asked<0, Nothing, Nothing>) -> Result<Passkeys> {
    let kept = at.local.passkeys(&at.actor)?;
    Ok(Passkeys { items: kept.iter().map(|one| wire::Passkey::of(one, &rfc3339)).collect() })
}

/// A challenge for a passkey.
#[derive(Serialize, JsonSchema)]
pub(super) struct AskedTouch {
    /// The id of the challenge, to be sent back together with the browser's response.
    touch: String,
    /// The options for the browser's `navigator.credentials`.
    options: Value,
    /// The time at which the challenge expires.
    expires_at: String,
}

impl AskedTouch {
    fn of(touch: Touch, options: Value) -> Self {
        Self { touch: touch.id, options, expires_at: rfc3339(touch.expires_at) }
    }
}

/// A passkey that is to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BeginPasskey {
    /// The label of the passkey, such as "phone".
    label: String,
}

fn begin(at: &Visitor, asked: Asked<0, Nothing, BeginPasskey>) -> Result<AskedTouch> {
    let desk = &at.local;
    desk.check_may_add_passkey(&at.actor)?;
    let known = read_all(&desk.passkeys(&at.actor)?)?;
    let known = known.iter().map(|passkey| passkey.cred_id().clone()).collect();
    let name = &at.actor.name;
    let started = at.relying().start_passkey_registration(person(at), name, name, Some(known));
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let about = TouchFor::Adding { label: asked.body.label };
    let touch = desk.ask_for_touch(&at.actor, &about, write(&state)?)?;
    let mut options = value(&options)?;
    // A discoverable key logs its owner in without their name; another one does the rest.
    options["publicKey"]["authenticatorSelection"]["residentKey"] = "preferred".into();
    Ok(AskedTouch::of(touch, options))
}

/// The response of a browser to a challenge.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Touched {
    /// The id of the challenge.
    touch: String,
    /// The credential from the browser, as JSON.
    credential: Value,
}

fn add(at: &Visitor, asked: Asked<0, Nothing, Touched>) -> Result<wire::Passkey> {
    let Touched { touch, credential } = asked.body;
    let credential: RegisterPublicKeyCredential = read(credential)?;
    let desk = &at.local;
    let (TouchFor::Adding { label }, state) = desk.take_touch(&at.actor, &touch)? else {
        return Err(for_another_thing(at).into());
    };
    let state: PasskeyRegistration = kept(&state)?;
    let finished = at.relying().finish_passkey_registration(&credential, &state);
    let passkey = finished.map_err(|e| refused(at, &e))?;
    // The id that the caller names is not looked at; the one that was signed is.
    let id = Digest::of_bytes(passkey.cred_id());
    let added = desk.add_passkey(&at.actor, id.as_str(), &label, &write(&passkey)?)?;
    Ok(wire::Passkey::of(&added, &rfc3339))
}

/// Issues a challenge for a login.
pub(super) fn begin_entry(desk: &LocalDesk, relying: &Webauthn, from: &str) -> Result<AskedTouch> {
    let started = relying.start_discoverable_authentication();
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let touch = desk.ask_for_entry(from, write(&state)?)?;
    let mut options = value(&options)?;
    // The login is started by a button, and not offered while a person types.
    if let Some(options) = options.as_object_mut() {
        options.remove("mediation");
    }
    Ok(AskedTouch::of(touch, options))
}

/// Logs in the owner of a passkey that is known here.
pub(super) fn enter(desk: &LocalDesk, relying: &Webauthn, touched: Touched) -> Result<Minted> {
    let Touched { touch, credential } = touched;
    let credential: PublicKeyCredential = read(credential)?;
    let state: DiscoverableAuthentication = kept(&desk.take_entry(&touch)?)?;
    let id = Digest::of_bytes(credential.get_credential_id());
    let known = desk.passkey(id.as_str())?.ok_or_else(bad_passkey)?;
    let mut passkey: Passkey = kept(&known.body)?;
    let used = relying.finish_discoverable_authentication_v2(&credential, state, &passkey);
    let used = used.map_err(|e| not_right(&e))?;
    if passkey.update_credential(&used).is_some() {
        desk.use_passkey(&known.id, &write(&passkey)?)?;
    }
    desk.log_in_by_touch(&known)
}

/// The passkey that was removed.
#[derive(Serialize, JsonSchema)]
struct Removed {
    /// The id of the passkey.
    id: String,
}

fn remove(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<Removed> {
    let [id] = asked.names;
    at.local.remove_passkey(&at.actor, &id)?;
    Ok(Removed { id })
}

/// The card that is to be answered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskForPresence {
    /// The digest of the card that was shown.
    digest: String,
}

fn presence(at: &Visitor, asked: Asked<1, Nothing, AskForPresence>) -> Result<AskedTouch> {
    let desk = &at.local;
    let gate = at.gate(&asked.names[0])?;
    let digest = desk.digest_to_answer(&at.actor, gate, &asked.body.digest)?;
    let passkeys = read_all(&desk.passkeys(&at.actor)?)?;
    if passkeys.is_empty() {
        let message = format!("{} has no passkey here", at.actor.name);
        return Err(Refusal::new(Code::ProofTooLow, message).hint("add one first").into());
    }
    let started = at.relying().start_passkey_authentication(&passkeys);
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let about = TouchFor::Answering { gate, digest };
    let touch = desk.ask_for_touch(&at.actor, &about, write(&state)?)?;
    Ok(AskedTouch::of(touch, value(&options)?))
}

/// Verifies the response to a challenge. Returns the actor with the proof of presence, and the digest that was signed
/// for.
pub(super) fn present(at: &Visitor, gate: GateId, touched: Touched) -> Result<(Actor, String)> {
    let Touched { touch, credential } = touched;
    let credential: PublicKeyCredential = read(credential)?;
    let desk = &at.local;
    let (about, state) = desk.take_touch(&at.actor, &touch)?;
    let digest = match about {
        TouchFor::Answering { gate: touched_for, digest } if touched_for == gate => digest,
        TouchFor::Answering { .. } | TouchFor::Adding { .. } | TouchFor::Entering => {
            return Err(for_another_thing(at).into());
        }
    };
    let state: PasskeyAuthentication = kept(&state)?;
    let finished = at.relying().finish_passkey_authentication(&credential, &state);
    let used = finished.map_err(|e| refused(at, &e))?;
    for one in desk.passkeys(&at.actor)? {
        let mut passkey: Passkey = kept(&one.body)?;
        if passkey.update_credential(&used).is_some() {
            desk.use_passkey(&one.id, &write(&passkey)?)?;
            return Ok((Actor { proof: Proof::Presence, ..at.actor.clone() }, digest));
        }
    }
    // It was removed while it was used.
    Err(refused(at, &WebauthnError::CredentialNotFound).into())
}

/// Returns the WebAuthn user id: the same for one person of one space, always, and it reveals nothing.
fn person(at: &Visitor) -> Uuid {
    let text = format!("{}/{}", at.local.space(), at.actor.name);
    let digest = Digest::of_bytes(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.as_str().bytes()).for_each(|(to, from)| *to = from);
    Uuid::from_bytes(bytes)
}

fn read_all(kept_ones: &[Kept]) -> Result<Vec<Passkey>> {
    kept_ones.iter().map(|one| kept(&one.body)).collect()
}

/// Parses the credential from a browser.
fn read<T: DeserializeOwned>(said: Value) -> Result<T> {
    serde_json::from_value(said)
        .map_err(|e| bad(format!("the credential cannot be read: {e}")).into())
}

/// Parses a state that this server stored itself.
fn kept<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| {
        let message = format!("what was kept of a passkey cannot be read: {e}");
        Refusal::new(Code::OtherVersion, message)
            .hint("take the passkey away and add it again")
            .into()
    })
}

fn write<T: Serialize>(what: &T) -> Result<String> {
    Ok(value(what)?.to_string())
}

fn value<T: Serialize>(what: &T) -> Result<Value> {
    serde_json::to_value(what)
        .map_err(|e| Refusal::new(Code::Failure, format!("it cannot be written: {e}")).into())
}

fn for_another_thing(at: &Visitor) -> Refusal {
    let refusal = Refusal::new(Code::NoTouch, "the key was touched for another thing than this")
        .hint("ask for a touch for this very gate");
    at.local.note_refusal(&at.actor, &refusal);
    refusal
}

fn refused(at: &Visitor, error: &WebauthnError) -> Refusal {
    let refusal = not_right(error);
    at.local.note_refusal(&at.actor, &refusal);
    refusal
}

fn not_right(error: &WebauthnError) -> Refusal {
    Refusal::new(Code::NoTouch, format!("the passkey says nothing that counts: {error}"))
        .hint("ask for a touch again, at the address people reach the server at")
}
