//! `sayso login`: logs in to a server.

use crate::config::{self, SpaceHome};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::identity;
use crate::open_desk::{self, ServerLogin};
use crate::output::OutputStyle;
use sayso_core::{Code, CommandExit};
use sayso_engine::{RemoteDesk, RuntimeEnv, join, log_in};
use sayso_server::client::HttpTransport;
use std::path::PathBuf;
use std::sync::Arc;

/// Log in to a server, so that commands on this machine work there.
///
/// A person shows their passphrase, or sets it with the code they were given; a machine has a token. What
/// they are known by from then on is kept in the settings of this user, readable by this user alone, for this
/// server and space.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso --store https://sayso.example --space shop login --name ann
  sayso --store https://sayso.example --space shop login --name ann --code 7K2M-…
  sayso login --token-file worker.token        in a project whose settings name the server")]
pub(crate) struct LoginArgs {
    /// Your name there; your name on this machine unless given.
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    name: Option<String>,
    /// The code you were given: you set your passphrase with it.
    #[arg(long, value_name = "CODE", conflicts_with = "token_file")]
    code: Option<String>,
    /// A file with a token, for machines and programs.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// The login, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "LoggedIn")]
pub(crate) struct LoginReport {
    /// The address of the server.
    server: String,
    /// The name of the space.
    space: String,
    /// The name of the holder.
    name: String,
    /// The part they play.
    role: String,
}

pub(crate) fn run(args: LoginArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (server, space, authorities) = server(context)?;
    let line = Arc::new(HttpTransport::to(&server, &space, authorities.as_deref())?);
    let secret = match &args.token_file {
        Some(file) => identity::secret_in(file)?,
        None => {
            as_person(&args, context, &line).map_err(|failure| tried(failure, &server, &space))?
        }
    };
    let desk = RemoteDesk::reach(line, Some(secret.clone()), RuntimeEnv::real())?;
    let (name, role) = (desk.holder().name.clone(), desk.holder().role.as_str().to_owned());
    open_desk::store_login(&ServerLogin {
        server: server.clone(),
        space: space.clone(),
        name: name.clone(),
        secret,
    })?;
    if context.out.json {
        context.out.json(&LoginReport { server, space, name, role });
        return Ok(CommandExit::Ok);
    }
    let tick = context.out.paint(OutputStyle::Good, context.out.icon("✓", "ok:"));
    context.out.line(&format!("{tick} logged in to space {space} of {server} as {role} {name}"));
    Ok(CommandExit::Ok)
}

/// A server does not reveal a space to a caller who is not logged in, so the error names the space that was tried.
fn tried(failure: Failure, server: &str, space: &str) -> Failure {
    let is_about_them = matches!(failure.code, Code::Passphrase | Code::BadCode);
    if is_about_them {
        Failure {
            message: format!("{} (at space {space} of {server})", failure.message),
            ..failure
        }
    } else {
        failure
    }
}

/// Asks for the passphrase of a person. An agent may not do that for them.
fn as_person(args: &LoginArgs, context: &CliContext<'_>, line: &HttpTransport) -> Result<String> {
    let sign = identity::agent_evidence();
    if let Ok(Some(sign)) = &sign {
        let message = format!("an agent ({}) is at work here, seen by {}", sign.agent, sign.seen);
        return Err(Failure::new(Code::NotHuman, message)
            .hint("a person logs in at a terminal of their own, outside of any agent"));
    }
    if !identity::has_terminal() || context.globals.no_input {
        return Err(Failure::new(Code::NoInput, "a passphrase is typed by a person at a terminal")
            .hint("a machine logs in with a token: --token-file FILE"));
    }
    let name = args.name.clone().unwrap_or_else(identity::user);
    let Some(code) = &args.code else {
        let typed = rpassword::prompt_password(format!("Passphrase of {name}: "))?;
        return Ok(log_in(line, &name, &typed)?.secret);
    };
    // A passphrase that is known speaks for its person everywhere; a new one is set where one is seen.
    if let Err(doubt) = sign {
        let message = format!("nothing shows that a person is here: {doubt}");
        return Err(Failure::new(Code::PersonInDoubt, message).hint(
            "use the code where processes can be seen, or on the server's pages; with the passphrase you can log in here",
        ));
    }
    let new = rpassword::prompt_password(format!("A passphrase for {name}: "))?;
    if rpassword::prompt_password("Once more: ")? != new {
        return Err(Failure::new(Code::Passphrase, "the two are not the same; nothing was set"));
    }
    Ok(join(line, code, &name, &new)?.secret)
}

/// The server of a command, the space, and the accepted certificate authorities.
pub(super) fn server(context: &CliContext<'_>) -> Result<(String, String, Option<PathBuf>)> {
    let location = config::locate(&context.globals)?;
    match location.home {
        SpaceHome::Server(server) => {
            let server = server.trim_end_matches('/').to_owned();
            Ok((server, location.space, location.authorities))
        }
        SpaceHome::Store(_) => {
            Err(Failure::new(Code::BadValue, "this space is not behind a server")
                .hint("name the server: --store https://… --space NAME"))
        }
    }
}
