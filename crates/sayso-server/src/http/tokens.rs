//! HTTP API for tokens: the credentials of a space, which an admin creates and revokes.

use super::gates::bad;
use super::paging::{limit, page};
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use super::words;
use crate::wire;
use sayso_core::Deed;
use sayso_engine::{NewToken, Result, Token};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: Table) -> Table {
    table.add(Verb::Get, "/tokens", LIST, list).add(Verb::Create, "/tokens", CREATE, create).add(
        Verb::Post,
        "/tokens/{token}/revoke",
        REVOKE,
        revoke,
    )
}

type Says = (&'static str, &'static str);
const LIST: Says = ("listTokens", "The credentials there are, newest first, a page at a time.");
const CREATE: Says =
    ("createToken", "Makes a credential. Its secret is in the response and nowhere else.");
const REVOKE: Says =
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

fn list(at: &Visitor, asked: Asked<0, ListTokens, Nothing>) -> Result<wire::Page<wire::Token>> {
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
    role: words::Role,
    /// The name of its holder.
    name: String,
    /// The task an agent's token is bound to.
    task: Option<String>,
    /// The time at which it expires by itself: a moment, or a span from now such as 30d.
    expires: Option<String>,
    /// The scopes it is limited to, of what its role may do: answer, ask, track, read, audit, govern, mint, operate.
    scopes: Option<Vec<String>>,
}

fn scope(typed: &str) -> Result<Deed> {
    let found = Deed::ALL.into_iter().find(|deed| deed.as_str() == typed);
    let names = || format!("scopes are of {}", Deed::ALL.map(Deed::as_str).join(", "));
    Ok(found.ok_or_else(|| bad(names()))?)
}

fn create(at: &Visitor, asked: Asked<0, Nothing, CreateToken>) -> Result<wire::Token> {
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

fn revoke(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<wire::Token> {
    at.check("revoke")?;
    Ok(on_the_wire(&at.desk.revoke(&at.actor, &asked.names[0])?, None))
}

fn on_the_wire(token: &Token, secret: Option<String>) -> wire::Token {
    wire::Token::of(token, secret, &rfc3339)
}
