//! `sayso token`: creates, lists and revokes tokens.

use super::shared::{self, ROWS};
use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{identity, time};
use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, Code, CommandExit, Permission, Role};
use sayso_engine::{Desk, NewToken, TokenRow, scopes_in_words};
use sayso_server::wire;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Credentials for agents, people and services.
///
/// A token is shown once; only its hash is kept. Hand it over in a file that only its holder can
/// read, named by SAYSO_TOKEN_FILE.
#[derive(clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token. It takes a person at a terminal, or an admin.
    Create {
        /// agent, human, operator, admin, auditor or service.
        #[arg(long, value_name = "ROLE")]
        role: String,
        /// The name of its holder.
        #[arg(long, value_name = "NAME")]
        name: String,
        /// The task an agent's token is bound to.
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
        task: Option<String>,
        /// It ends by itself after this long: 8h, 30d.
        #[arg(long, value_name = "TIME")]
        ttl: Option<String>,
        /// Limit it to this, of what its role may do: answer, ask, track, read, audit, govern, mint or operate;
        /// may be given several times.
        #[arg(long, value_name = "SCOPE", value_parser = scope)]
        scope: Vec<Permission>,
        /// Write it to this file, readable by its owner alone, instead of printing it.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// The tokens there are, newest first.
    List,
    /// Revoke a token; it stops working at once.
    Revoke {
        /// The token, as `list` names it.
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(crate) fn run(args: TokenArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        TokenCommand::Create { role, name, task, ttl, scope, out } => {
            let scopes = (!scope.is_empty()).then(|| scope.into_iter().collect());
            let new = NewToken {
                role: role_of(&role)?,
                name,
                task: None,
                run: None,
                expires_at: None,
                scopes,
            };
            create(context, new, task.as_deref(), ttl.as_deref(), out.as_deref())
        }
        TokenCommand::List => list(context),
        TokenCommand::Revoke { id } => revoke(context, &id),
    }
}

fn role_of(typed: &str) -> Result<Role> {
    Role::ALL.into_iter().find(|role| role.as_str() == typed).ok_or_else(|| {
        Failure::new(Code::BadValue, format!("{typed:?} is no role"))
            .hint("take agent, human, operator, admin, auditor or service")
    })
}

fn scope(typed: &str) -> std::result::Result<Permission, String> {
    let names = || Permission::ALL.map(Permission::as_str).join(", ");
    let found = Permission::ALL.into_iter().find(|deed| deed.as_str() == typed);
    found.ok_or_else(|| format!("take one of {}", names()))
}

fn create(
    context: &CliContext<'_>,
    new: NewToken,
    task: Option<&str>,
    ttl: Option<&str>,
    file: Option<&Path>,
) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = identity::person(context, &desk)?;
    let new = NewToken {
        task: task.map(|typed| desk.find_task(typed)).transpose()?,
        expires_at: ttl.map(|text| time::moment(text, desk.now())).transpose()?,
        ..new
    };
    let (token, shown) = match file {
        Some(path) => (mint_into(&desk, &actor, new, path)?, None),
        None => {
            let minted = desk.mint(&actor, new)?;
            (minted.token, Some(minted.secret))
        }
    };
    let out = context.out;
    if out.json {
        out.json(&wire::TokenJson::of(&token, shown, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    match (shown, file) {
        (Some(secret), _) => out.line(&secret),
        (None, Some(path)) => out.line(&path.display().to_string()),
        (None, None) => {}
    }
    let handle = out.paint(OutputStyle::Name, &token.handle);
    out.remark(&format!(
        "token {handle} for {} {}; it is shown only once",
        token.role.as_str(),
        token.name
    ));
    Ok(CommandExit::Ok)
}

/// Creates a token whose secret is in this file alone.
pub(super) fn mint_into(
    desk: &Desk,
    actor: &Actor,
    new: NewToken,
    path: &Path,
) -> Result<TokenRow> {
    // The file comes first: a token whose secret could not be written would stay valid without a holder.
    let mut kept = new_secret_file(path)?;
    let minted = desk.mint(actor, new).inspect_err(|_| {
        // Best effort: the file is empty, and the refusal is the error to report.
        let _ = std::fs::remove_file(path);
    })?;
    writeln!(kept, "{}", minted.secret).map_err(|e| unwritten(path, &e))?;
    Ok(minted.token)
}

/// Creates a file, readable by its owner alone; an existing one is not overwritten.
fn new_secret_file(path: &Path) -> Result<File> {
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|e| unwritten(path, &e))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the token cannot be written to {}: {error}", path.display());
    Failure::new(Code::Failure, message).hint("name a file that is not there yet")
}

fn list(context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let page = desk.tokens(&actor, None, ROWS)?;
    let out = context.out;
    if out.json {
        let items =
            page.items.iter().map(|t| wire::TokenJson::of(t, None, &time::rfc3339)).collect();
        out.json(&wire::PageJson { items, next: None });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark("there are no tokens");
    }
    for token in &page.items {
        let state = match (token.revoked_at, token.expires_at) {
            (Some(at), _) => format!("revoked {}", time::relative(at, desk.now())),
            (None, Some(at)) => format!("ends {}", time::relative(at, desk.now())),
            (None, None) => "valid".into(),
        };
        let handle = out.paint(OutputStyle::Name, &card::pad(&token.handle, 7));
        let role = card::pad(token.role.as_str(), 9);
        let only = scopes_in_words(token.scopes.as_ref());
        let (name, launcher) = (&token.name, &token.launcher);
        out.line(&format!("{handle} {role} {name}  made by {launcher}, {state}{only}"));
    }
    Ok(CommandExit::Ok)
}

fn revoke(context: &CliContext<'_>, id: &str) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = identity::person(context, &desk)?;
    let token = desk.revoke(&actor, id)?;
    if context.out.json {
        context.out.json(&wire::TokenJson::of(&token, None, &time::rfc3339))
    } else {
        context.out.line(&format!("token {} is revoked", token.handle))
    }
    Ok(CommandExit::Ok)
}
