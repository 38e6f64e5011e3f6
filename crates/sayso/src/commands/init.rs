//! `sayso init`: creates a space.

use crate::config;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{identity, open_desk, trust};
use sayso_core::{Actor, AssuranceLevel, Code, CommandExit};
use sayso_engine::{Desk, RuntimeEnv, StoreLocation, check_space_name};
use sayso_server::client::check_address;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Make a space in this folder.
///
/// Writes `.sayso/` with the settings and, unless `--store` names PostgreSQL, the database. Doing it
/// again changes nothing.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The name of the space; the folder's name unless given.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// The space, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Made")]
pub(crate) struct InitReport {
    /// The name of the space.
    space: String,
    /// The location of the store, without any password.
    store: String,
    /// The folder with its settings.
    folder: String,
    /// True if it is new; false when it was there already.
    created: bool,
}

pub(crate) fn run(args: InitArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let start = config::start(&context.globals)?;
    let folder = start.join(config::FOLDER);
    make_folder(&folder)?;
    // Existing settings apply unless an option overrides them: running it again changes nothing.
    let (kept_space, kept_store) = config::settings(&folder)?;
    let given = args.name.or_else(|| context.globals.space.clone());
    let name = given.or_else(|| kept_space.clone());
    let name = name.unwrap_or_else(|| config::space_name(&folder));
    if context.globals.store.is_none() {
        config::check_settings_store(&folder)?;
    }
    let store = context.globals.store.clone().or_else(|| kept_store.clone());
    if let Some(server) = store.as_deref().filter(|store| config::is_server(store)) {
        return at_server(context, &folder, &name, server);
    }
    let place = config::place(store.as_deref(), Some(&folder));
    let (desk, is_new) = Desk::create(place.clone(), &name, &founder(), RuntimeEnv::real())?;
    guard(&desk);
    write_settings(&folder, &name, store.as_deref())?;
    keep_store(context, &name)?;
    tell(context, &folder, &place.to_string(), &name, is_new);
    if let Some(other) = kept_space.filter(|kept| *kept != name) {
        let settings = folder.join("config.yaml");
        context.out.remark(&format!(
            "note: {} still names space {other}; use this one with --space {name}",
            settings.display()
        ));
    }
    Ok(CommandExit::Ok)
}

/// The actor who creates a space: the user, at a terminal or not, or an agent.
fn founder() -> Actor {
    match identity::agent_evidence() {
        Ok(Some(sign)) => identity::agent(AssuranceLevel::S0, &sign),
        // Where processes cannot be seen, the caller counts as a script.
        Ok(None) | Err(_) => identity::local(AssuranceLevel::S0),
    }
}

/// Creates the folder, readable by the user alone: questions and answers are private.
fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_symlink() {
        return Err(Failure::new(
            Code::Symlink,
            format!("{} is a symbolic link", folder.display()),
        ));
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| {
        Failure::new(Code::ReadOnly, format!("{} cannot be made: {e}", folder.display()))
            .hint("check the permissions of the folder above it")
    })
}

fn guard(desk: &Desk) {
    if let Some(StoreLocation::Sqlite(path)) = desk.place() {
        // The folder keeps others out already; this is a second barrier.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
}

/// Writes the settings, if there are none. The folder stays out of version control.
fn write_settings(folder: &Path, name: &str, store: Option<&str>) -> Result<()> {
    let settings = folder.join("config.yaml");
    if !settings.exists() {
        let text =
            config::DEFAULT.replace("{space}", name).replace("{store}", store.unwrap_or("sqlite"));
        std::fs::write(&settings, text)?;
        // It may hold the password of a database.
        std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o600))?;
    }
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(ignore, "*\n")?;
    }
    Ok(())
}

/// A store that was named here may be used from here. An agent that names one only names it.
fn keep_store(context: &CliContext<'_>, name: &str) -> Result<()> {
    let given = context.globals.store.as_deref().filter(|store| config::is_elsewhere(store));
    let Some(store) = given else { return Ok(()) };
    if matches!(identity::agent_evidence(), Ok(None)) {
        return trust::keep_store(store, name);
    }
    context.out.remark("  a person lets it be used, where processes can be seen: sayso trust");
    Ok(())
}

/// Sets the folder to a space of a server. The space itself is created on the machine of the store.
fn at_server(
    context: &CliContext<'_>,
    folder: &Path,
    name: &str,
    server: &str,
) -> Result<CommandExit> {
    let server = server.trim_end_matches('/');
    check_address(server)?;
    check_space_name(name)?;
    let is_known = open_desk::login(server, name)?.is_some();
    if is_known {
        let authorities = config::authorities_for(folder)?;
        open_desk::open_server(server, name, authorities.as_deref())?;
    }
    write_settings(folder, name, Some(server))?;
    keep_store(context, name)?;
    if is_known || context.out.json {
        tell(context, folder, server, name, false);
        return Ok(CommandExit::Ok);
    }
    // A server reveals nothing about its spaces before a login.
    let (out, name) = (context.out, context.out.paint(OutputStyle::Name, name));
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    out.line(&format!("{tick} this folder is set to space {name} of {server}"));
    out.remark("  get in first:   sayso login");
    out.remark("  whether there is such a space shows then");
    Ok(CommandExit::Ok)
}

fn tell(context: &CliContext<'_>, folder: &Path, place: &str, name: &str, is_new: bool) {
    let out = context.out;
    if out.json {
        let folder = folder.display().to_string();
        out.json(&InitReport { space: name.into(), store: place.into(), folder, created: is_new });
        return;
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    let made = if is_new { "made" } else { "is already there:" };
    out.line(&format!("{tick} space {} {made} in {place}", out.paint(OutputStyle::Name, name)));
    out.remark("  ask something:  sayso ask \"Ship today?\" --verdict --wait");
    out.remark("  see what waits: sayso inbox");
}
