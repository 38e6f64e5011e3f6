//! `sayso init`: make a space.

use crate::config;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Look;
use crate::who;
use sayso_core::{Actor, Code, Door, Exit, Level, Proof, Role};
use sayso_engine::{Desk, Place, World};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Make a space in this folder.
///
/// Writes `.sayso/` with the settings and, unless `--store` names PostgreSQL, the database. Doing it
/// again changes nothing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name of the space; the folder's name unless given.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let start = config::start(&context.globals)?;
    let folder = start.join(config::FOLDER);
    make_folder(&folder)?;
    let name = args.name.or_else(|| context.globals.space.clone());
    let name = name.unwrap_or_else(|| config::space_name(&folder));
    let place = config::place(context.globals.store.as_deref(), Some(&folder));
    let (desk, is_new) = Desk::create(place.clone(), &name, &founder(), World::real())?;
    guard(&desk);
    write_settings(&folder, &name, context.globals.store.as_deref())?;
    tell(context, &folder, &place, &name, is_new);
    Ok(Exit::Ok)
}

/// Whoever makes a space: the user, at a terminal or not.
fn founder() -> Actor {
    let (role, proof) = match who::has_terminal() {
        true => (Role::Human, Proof::Tty),
        false => (Role::Service, Proof::None),
    };
    Actor {
        role,
        name: who::user(),
        run: None,
        task: None,
        launcher: None,
        proof,
        level: Level::S0,
        door: Door::Cli,
    }
}

/// Only the user may look into it: questions and answers are nobody else's.
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
    if let Place::Sqlite(path) = desk.place() {
        // The folder keeps others out already; this is the second door.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
}

/// Settings that are there are kept. What is in the folder stays out of version control.
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

fn tell(context: &Context<'_>, folder: &Path, place: &Place, name: &str, is_new: bool) {
    let out = context.out;
    if out.json {
        out.json(&serde_json::json!({
            "space": name, "store": place.to_string(), "folder": folder, "created": is_new,
        }));
        return;
    }
    let tick = out.paint(Look::Good, out.icon("✓", "ok:"));
    let made = if is_new { "made" } else { "is already there:" };
    out.line(&format!("{tick} space {} {made} in {place}", out.paint(Look::Name, name)));
    out.remark("  ask something:  sayso ask \"Ship today?\" --option yes --option no");
    out.remark("  see what waits: sayso inbox");
}
