//! `sayso login`: get to know a server.

use crate::config::{self, Home};
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Look;
use crate::reach::{self, Login};
use sayso_core::{Code, Exit};
use sayso_engine::{RemoteDesk, World};
use sayso_server::client::HttpLine;
use std::path::PathBuf;
use std::sync::Arc;

/// Log in to a server, so that commands on this machine work there.
///
/// The credential is kept in the settings of this user, readable by nobody else, for this server and space.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso --store https://sayso.example --space shop login --token-file ann.token
  sayso login --token-file worker.token        in a project whose settings name the server")]
pub(crate) struct Args {
    /// The file with the token you were given.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

/// Who is logged in, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct LoggedIn {
    /// The server.
    server: String,
    /// The space.
    space: String,
    /// Who.
    name: String,
    /// The part they play.
    role: String,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (server, space) = server(context)?;
    let secret = crate::who::secret_in(&args.token_file)?;
    let line = Arc::new(HttpLine::to(&server, &space)?);
    let desk = RemoteDesk::reach(line, Some(secret.clone()), World::real())?;
    let holder = desk.holder();
    let login =
        Login { server: server.clone(), space: space.clone(), name: holder.name.clone(), secret };
    reach::keep_login(&login)?;
    let (name, role) = (holder.name.clone(), holder.role.as_str().to_owned());
    if context.out.json {
        context.out.json(&LoggedIn { server, space, name, role });
        return Ok(Exit::Ok);
    }
    let tick = context.out.paint(Look::Good, context.out.icon("✓", "ok:"));
    context.out.line(&format!("{tick} logged in to space {space} of {server} as {role} {name}"));
    Ok(Exit::Ok)
}

/// The server a command is about, and the space.
pub(super) fn server(context: &Context<'_>) -> Result<(String, String)> {
    let location = config::locate(&context.globals)?;
    match location.home {
        Home::Server(server) => Ok((server.trim_end_matches('/').to_owned(), location.space)),
        Home::Store(_) => Err(Failure::new(Code::BadValue, "this space is not behind a server")
            .hint("name the server: --store https://… --space NAME")),
    }
}
