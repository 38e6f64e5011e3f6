//! `sayso logout`: forget a server.

use super::login;
use crate::context::Context;
use crate::exit::Result;
use crate::reach;
use sayso_core::Exit;

/// Forget the login for a server. Its token goes on working elsewhere until it is revoked.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (server, space) = login::server(context)?;
    let said = match reach::forget_login(&server, &space)? {
        true => "logged out of",
        false => "there was no login for",
    };
    context.out.line(&format!("{said} space {space} of {server}"));
    Ok(Exit::Ok)
}
