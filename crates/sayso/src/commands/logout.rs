//! `sayso logout`: logs out of a server.

use super::login;
use crate::context::CliContext;
use crate::exit::Result;
use crate::open_desk;
use sayso_core::CommandExit;
use sayso_engine::{RemoteDesk, RuntimeEnv};
use sayso_server::client::HttpTransport;
use std::sync::Arc;

/// Log out of a server: the login of this machine ends there and is forgotten here.
///
/// A token that was made for a machine is only forgotten; it is revoked with `sayso token revoke`.
#[derive(clap::Args)]
pub(crate) struct LogoutArgs {}

pub(crate) fn run(_: LogoutArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (server, space, authorities) = login::server(context)?;
    let Some(login) = open_desk::login(&server, &space)? else {
        context.out.line(&format!("there was no login for space {space} of {server}"));
        return Ok(CommandExit::Ok);
    };
    let line = Arc::new(HttpTransport::to(&server, &space, authorities.as_deref())?);
    let ended = RemoteDesk::reach(line, Some(login.secret), RuntimeEnv::real())
        .and_then(|desk| desk.log_out());
    // Deleted in any case: after a logout no credential stays here.
    open_desk::forget_login(&server, &space)?;
    context.out.line(&format!("logged out of space {space} of {server}"));
    if let Err(error) = ended {
        context.out.remark(&format!(
            "note: the server was not told ({error}); there it ends by itself, or with: sayso token revoke"
        ));
    }
    Ok(CommandExit::Ok)
}
