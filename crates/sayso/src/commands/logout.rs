//! `sayso logout`: logs out of a server.

use super::login;
use crate::context::Context;
use crate::exit::Result;
use crate::reach;
use sayso_core::Exit;
use sayso_engine::{RemoteDesk, World};
use sayso_server::client::HttpLine;
use std::sync::Arc;

/// Log out of a server: the login of this machine ends there and is forgotten here.
///
/// A token that was made for a machine is only forgotten; it is revoked with `sayso token revoke`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (server, space, authorities) = login::server(context)?;
    let Some(login) = reach::login(&server, &space)? else {
        context.out.line(&format!("there was no login for space {space} of {server}"));
        return Ok(Exit::Ok);
    };
    let line = Arc::new(HttpLine::to(&server, &space, authorities.as_deref())?);
    let ended =
        RemoteDesk::reach(line, Some(login.secret), World::real()).and_then(|desk| desk.log_out());
    // Deleted in any case: after a logout no credential stays here.
    reach::forget_login(&server, &space)?;
    context.out.line(&format!("logged out of space {space} of {server}"));
    if let Err(error) = ended {
        context.out.remark(&format!(
            "note: the server was not told ({error}); there it ends by itself, or with: sayso token revoke"
        ));
    }
    Ok(Exit::Ok)
}
