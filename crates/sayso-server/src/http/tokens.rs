//! HTTP API for tokens: the credentials of a space, which an admin creates and revokes.

use super::auth::RequestContext;
use super::gates::bad;
use super::paging::{limit, page};
use super::params;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::Permission;
use sayso_engine::{NewToken, Result, TokenRow};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/tokens", LIST, list)
        .add(OperationVerb::Create, "/tokens", CREATE, create)
        .add(OperationVerb::Post, "/tokens/{token}/revoke", REVOKE, revoke)
}

type TokenOperationDoc = (&'static str, &'static str);
const LIST: TokenOperationDoc =
    ("listTokens", "The credentials there are, newest first, a page at a time.");
const CREATE: TokenOperationDoc =
    ("createToken", "Makes a credential. Its secret is in the response and nowhere else.");
const REVOKE: TokenOperationDoc =
    ("revokeToken", "Takes a credential back. It stops working at once, everywhere.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTokens {
    /// Continue after this token, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListTokens, EmptyInput>,
) -> Result<wire::PageJson<wire::TokenJson>> {
    at.check("tokens")?;
    let ListTokens { after, limit: most } = asked.query;
    let found = at.desk.tokens(&at.actor, after.as_deref(), limit(most)?)?;
    Ok(page(&found, |token| on_the_wire(token, None), |token| token.handle.clone()))
}

/// A credential to be created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateToken {
    /// The role of its holder.
    role: params::Role,
    /// The name of its holder.
    name: String,
    /// The task an agent's token is bound to.
    task: Option<String>,
    /// The time at which it expires by itself: a moment, or a span from now such as 30d.
    expires: Option<String>,
    /// The scopes it is limited to, of what its role may do: answer, ask, track, read, audit, govern, mint, operate.
    scopes: Option<Vec<String>>,
}

fn scope(typed: &str) -> Result<Permission> {
    let found = Permission::ALL.into_iter().find(|deed| deed.as_str() == typed);
    let names = || format!("scopes are of {}", Permission::ALL.map(Permission::as_str).join(", "));
    Ok(found.ok_or_else(|| bad(names()))?)
}

fn create(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, CreateToken>,
) -> Result<wire::TokenJson> {
    at.check("mint")?;
    let CreateToken { role, name, task, expires, scopes } = asked.body;
    let scopes = scopes.map(|typed| typed.iter().map(|word| scope(word)).collect::<Result<_>>());
    let new = NewToken {
        role: role.into(),
        name,
        task: task.map(|name| at.task(&name)).transpose()?,
        run: None,
        expires_at: expires.map(|typed| at.moment(&typed)).transpose()?,
        scopes: scopes.transpose()?,
    };
    let minted = at.desk.mint(&at.actor, new)?;
    Ok(on_the_wire(&minted.token, Some(minted.secret)))
}

fn revoke(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::TokenJson> {
    at.check("revoke")?;
    Ok(on_the_wire(&at.desk.revoke(&at.actor, &asked.names[0])?, None))
}

fn on_the_wire(token: &TokenRow, secret: Option<String>) -> wire::TokenJson {
    wire::TokenJson::of(token, secret, &rfc3339)
}
