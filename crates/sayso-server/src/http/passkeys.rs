//! HTTP API for passkeys (WebAuthn): a person adds one, and uses it to prove their presence for an answer.
//!
//! A challenge is issued first: its purpose is kept with the challenge, out of the caller's reach. So the signature
//! that comes back is good for this card of this gate, and for nothing else.

use super::auth::RequestContext;
use super::gates::bad;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::{Actor, Code, Digest, GateId, IdentityProof, Refusal};
use sayso_engine::{
    ChallengePurpose, IssuedToken, LocalDesk, PasskeyChallenge, PasskeyRow as Kept, Result,
    bad_passkey,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey, PasskeyAuthentication, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential, Url, Uuid, Webauthn, WebauthnBuilder,
    WebauthnError,
};

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/passkeys", LIST, list)
        .add(OperationVerb::Post, "/passkeys/begin", BEGIN, begin)
        .add(OperationVerb::Create, "/passkeys", ADD, add)
        .add(OperationVerb::Delete, "/passkeys/{passkey}", REMOVE, remove)
        .add(OperationVerb::Post, "/gates/{gate}/presence", PRESENCE, presence)
}

type PasskeyOperationDoc = (&'static str, &'static str);
const LIST: PasskeyOperationDoc = ("listPasskeys", "The caller's passkeys, oldest first.");
const BEGIN: PasskeyOperationDoc = (
    "beginPasskey",
    "Asks for a touch to add a passkey. It takes the caller's passphrase, shown lately.",
);
const ADD: PasskeyOperationDoc = ("addPasskey", "Adds the passkey that was touched.");
const REMOVE: PasskeyOperationDoc = ("removePasskey", "Takes one of the caller's passkeys away.");
const PRESENCE: PasskeyOperationDoc = (
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
#[schemars(rename = "Passkeys")]
struct PasskeyList {
    /// The passkeys, oldest first.
    items: Vec<wire::PasskeyJson>,
}

fn list(at: &RequestContext, _: OperationInput<0, EmptyInput, EmptyInput>) -> Result<PasskeyList> {
    let kept = at.local.passkeys(&at.actor)?;
    Ok(PasskeyList { items: kept.iter().map(|one| wire::PasskeyJson::of(one, &rfc3339)).collect() })
}

/// A challenge for a passkey.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AskedTouch")]
pub(super) struct IssuedChallenge {
    /// The id of the challenge, to be sent back together with the browser's response.
    touch: String,
    /// The options for the browser's `navigator.credentials`.
    options: Value,
    /// The time at which the challenge expires.
    expires_at: String,
}

impl IssuedChallenge {
    fn of(touch: PasskeyChallenge, options: Value) -> Self {
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

fn begin(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, BeginPasskey>,
) -> Result<IssuedChallenge> {
    let desk = &at.local;
    desk.check_may_add_passkey(&at.actor)?;
    let known = read_all(&desk.passkeys(&at.actor)?)?;
    let known = known.iter().map(|passkey| passkey.cred_id().clone()).collect();
    let name = &at.actor.name;
    let started = at.webauthn().start_passkey_registration(person(at), name, name, Some(known));
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let about = ChallengePurpose::Adding { label: asked.body.label };
    let touch = desk.issue_challenge(&at.actor, &about, write(&state)?)?;
    let mut options = value(&options)?;
    // A discoverable key logs its owner in without their name; another one does the rest.
    options["publicKey"]["authenticatorSelection"]["residentKey"] = "preferred".into();
    Ok(IssuedChallenge::of(touch, options))
}

/// The response of a browser to a challenge.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Touched")]
pub(super) struct SignedChallenge {
    /// The id of the challenge.
    touch: String,
    /// The credential from the browser, as JSON.
    credential: Value,
}

fn add(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, SignedChallenge>,
) -> Result<wire::PasskeyJson> {
    let SignedChallenge { touch, credential } = asked.body;
    let credential: RegisterPublicKeyCredential = read(credential)?;
    let desk = &at.local;
    let (ChallengePurpose::Adding { label }, state) = desk.redeem_challenge(&at.actor, &touch)?
    else {
        return Err(for_another_thing(at).into());
    };
    let state: PasskeyRegistration = kept(&state)?;
    let finished = at.webauthn().finish_passkey_registration(&credential, &state);
    let passkey = finished.map_err(|e| refused(at, &e))?;
    // The id that the caller names is not looked at; the one that was signed is.
    let id = Digest::of_bytes(passkey.cred_id());
    let added = desk.add_passkey(&at.actor, id.as_str(), &label, &write(&passkey)?)?;
    Ok(wire::PasskeyJson::of(&added, &rfc3339))
}

/// Issues a challenge for a login.
pub(super) fn begin_login(
    desk: &LocalDesk,
    relying: &Webauthn,
    from: &str,
) -> Result<IssuedChallenge> {
    let started = relying.start_discoverable_authentication();
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let touch = desk.issue_login_challenge(from, write(&state)?)?;
    let mut options = value(&options)?;
    // The login is started by a button, and not offered while a person types.
    if let Some(options) = options.as_object_mut() {
        options.remove("mediation");
    }
    Ok(IssuedChallenge::of(touch, options))
}

/// Logs in the owner of a passkey that is known here.
pub(super) fn finish_login(
    desk: &LocalDesk,
    relying: &Webauthn,
    touched: SignedChallenge,
) -> Result<IssuedToken> {
    let SignedChallenge { touch, credential } = touched;
    let credential: PublicKeyCredential = read(credential)?;
    let state: DiscoverableAuthentication = kept(&desk.redeem_login_challenge(&touch)?)?;
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
#[schemars(rename = "Removed")]
struct RemovedPasskey {
    /// The id of the passkey.
    id: String,
}

fn remove(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<RemovedPasskey> {
    let [id] = asked.names;
    at.local.remove_passkey(&at.actor, &id)?;
    Ok(RemovedPasskey { id })
}

/// The card that is to be answered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskForPresence {
    /// The digest of the card that was shown.
    digest: String,
}

fn presence(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, AskForPresence>,
) -> Result<IssuedChallenge> {
    let desk = &at.local;
    let gate = at.gate(&asked.names[0])?;
    let digest = desk.digest_to_answer(&at.actor, gate, &asked.body.digest)?;
    let passkeys = read_all(&desk.passkeys(&at.actor)?)?;
    if passkeys.is_empty() {
        let message = format!("{} has no passkey here", at.actor.name);
        return Err(Refusal::new(Code::ProofTooLow, message).hint("add one first").into());
    }
    let started = at.webauthn().start_passkey_authentication(&passkeys);
    let (options, state) = started.map_err(|e| not_right(&e))?;
    let about = ChallengePurpose::Answering { gate, digest };
    let touch = desk.issue_challenge(&at.actor, &about, write(&state)?)?;
    Ok(IssuedChallenge::of(touch, value(&options)?))
}

/// Verifies the response to a challenge. Returns the actor with the proof of presence, and the digest that was signed
/// for.
pub(super) fn verify_presence(
    at: &RequestContext,
    gate: GateId,
    touched: SignedChallenge,
) -> Result<(Actor, String)> {
    let SignedChallenge { touch, credential } = touched;
    let credential: PublicKeyCredential = read(credential)?;
    let desk = &at.local;
    let (about, state) = desk.redeem_challenge(&at.actor, &touch)?;
    let digest = match about {
        ChallengePurpose::Answering { gate: touched_for, digest } if touched_for == gate => digest,
        ChallengePurpose::Answering { .. }
        | ChallengePurpose::Adding { .. }
        | ChallengePurpose::Entering => {
            return Err(for_another_thing(at).into());
        }
    };
    let state: PasskeyAuthentication = kept(&state)?;
    let finished = at.webauthn().finish_passkey_authentication(&credential, &state);
    let used = finished.map_err(|e| refused(at, &e))?;
    for one in desk.passkeys(&at.actor)? {
        let mut passkey: Passkey = kept(&one.body)?;
        if passkey.update_credential(&used).is_some() {
            desk.use_passkey(&one.id, &write(&passkey)?)?;
            return Ok((Actor { proof: IdentityProof::Presence, ..at.actor.clone() }, digest));
        }
    }
    // It was removed while it was used.
    Err(refused(at, &WebauthnError::CredentialNotFound).into())
}

/// Returns the WebAuthn user id: the same for one person of one space, always, and it reveals nothing.
fn person(at: &RequestContext) -> Uuid {
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

fn for_another_thing(at: &RequestContext) -> Refusal {
    let refusal = Refusal::new(Code::NoTouch, "the key was touched for another thing than this")
        .hint("ask for a touch for this very gate");
    at.local.note_refusal(&at.actor, &refusal);
    refusal
}

fn refused(at: &RequestContext, error: &WebauthnError) -> Refusal {
    let refusal = not_right(error);
    at.local.note_refusal(&at.actor, &refusal);
    refusal
}

fn not_right(error: &WebauthnError) -> Refusal {
    Refusal::new(Code::NoTouch, format!("the passkey says nothing that counts: {error}"))
        .hint("ask for a touch again, at the address people reach the server at")
}
