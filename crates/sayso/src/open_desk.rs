//! Opens the desk: in the store of this machine, or on a server with the login for it.

use crate::config::{self, SpaceHome, SpaceLocation};
use crate::exit::{Failure, Result};
use crate::{audit_heads, failpoint, identity, telemetry};
use sayso_core::{Actor, Code, Digest};
use sayso_engine::{Desk, RemoteDesk, RuntimeEnv};
use sayso_server::client::{HttpTransport, check_address};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The time for which a long-running process retries an unreachable server: long enough to replace the server.
const SHARED_PATIENCE: Duration = Duration::from_secs(60);

/// The default rate limit of questions per agent and minute.
pub(crate) const ASKS_PER_MINUTE: u32 = 120;

/// The default rate limit of writes per agent and minute.
pub(crate) const WRITES_PER_MINUTE: u32 = 600;

/// The purpose for which a desk is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeskPurpose {
    /// A command that runs once and ends.
    Usual,
    /// A long-running process with many threads.
    Shared,
    /// Read only, also in a space that was deleted.
    Kept,
}

/// Opens the desk of the space a command works in.
pub(crate) fn open(location: &SpaceLocation, how: DeskPurpose) -> Result<Desk> {
    open_space(location, &location.space, how)
}

/// Opens the desk of a named space.
pub(crate) fn open_space(location: &SpaceLocation, space: &str, how: DeskPurpose) -> Result<Desk> {
    let place = match &location.home {
        SpaceHome::Store(place) => place.clone(),
        SpaceHome::Server(server) => {
            return open_remote(server, space, location.authorities.as_deref(), how);
        }
    };
    let desk = match how {
        DeskPurpose::Usual => {
            let desk = Desk::open(place, space, failpoint::failpoint_env())?;
            let asks = per_minute("SAYSO_ASKS_PER_MINUTE", ASKS_PER_MINUTE);
            let writes = per_minute("SAYSO_WRITES_PER_MINUTE", WRITES_PER_MINUTE);
            desk.with_pace(asks, writes)
        }
        DeskPurpose::Shared => Desk::open_shared(place, space, failpoint::failpoint_env())?,
        DeskPurpose::Kept => Desk::open_kept(place, space, RuntimeEnv::real())?,
    };
    let desk = desk.with_head_keeper(audit_heads::head_recorder(how == DeskPurpose::Shared));
    Ok(desk.with_channels(location.reaches()))
}

/// A rate limit from the environment; 0 means unlimited. A value that is not a number is ignored.
fn per_minute(variable: &str, otherwise: u32) -> Option<u32> {
    let said = std::env::var(variable).ok().and_then(|text| text.trim().parse().ok());
    Some(said.unwrap_or(otherwise)).filter(|most| *most > 0)
}

/// Creates a space, or opens the existing one. The spaces of a server are created on the machine of its store.
pub(crate) fn create(location: &SpaceLocation, space: &str, actor: &Actor) -> Result<Desk> {
    match &location.home {
        SpaceHome::Store(place) => {
            Ok(Desk::create(place.clone(), space, actor, RuntimeEnv::real())?.0)
        }
        SpaceHome::Server(server) => {
            open_remote(server, space, location.authorities.as_deref(), DeskPurpose::Usual)
        }
    }
}

/// Opens the desk of a writable space on a server.
pub(crate) fn open_server(server: &str, space: &str, authorities: Option<&Path>) -> Result<Desk> {
    open_remote(server, space, authorities, DeskPurpose::Usual)
}

fn open_remote(
    server: &str,
    space: &str,
    authorities: Option<&Path>,
    how: DeskPurpose,
) -> Result<Desk> {
    if sayso_engine::check_space_name(space).is_err() {
        let message = format!("there is no space {space:?} at {server}");
        return Err(Failure::new(Code::NoSpace, message));
    }
    let line = HttpTransport::to(server, space, authorities)?.within(telemetry::parent());
    let own = match identity::token()? {
        Some(token) => Some(token),
        None => login(server, space)?.map(|login| login.secret),
    };
    let desk = RemoteDesk::reach(Arc::new(line), own, RuntimeEnv::real())?;
    if desk.was_deleted() && how != DeskPurpose::Kept {
        return Err(sayso_engine::deleted(space).into());
    }
    Ok(match how {
        DeskPurpose::Shared => desk.with_patience(SHARED_PATIENCE),
        DeskPurpose::Usual | DeskPurpose::Kept => desk,
    }
    .into())
}

/// The credential of this user for one space of a server.
#[derive(Serialize, Deserialize)]
pub(crate) struct ServerLogin {
    pub(crate) server: String,
    pub(crate) space: String,
    /// The person who logged in.
    pub(crate) name: String,
    /// The token that is sent with each request.
    pub(crate) secret: String,
}

/// Returns the stored login for a space of a server.
pub(crate) fn login(server: &str, space: &str) -> Result<Option<ServerLogin>> {
    let path = login_file(server, space)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(&path, &e)),
    };
    serde_json::from_str(&text).map(Some).map_err(|e| unreadable(&path, &e))
}

/// Returns the login of this user, if there is exactly one. An unreadable login counts as none: the result only helps
/// a hint.
pub(crate) fn only_login() -> Option<ServerLogin> {
    let folder = std::fs::read_dir(config::user_folder()?.join("logins")).ok()?;
    let mut files = folder.flatten().map(|entry| entry.path());
    let mut files = files.by_ref().filter(|path| path.extension().is_some_and(|e| e == "json"));
    let (only, None) = (files.next()?, files.next()) else { return None };
    serde_json::from_str(&std::fs::read_to_string(only).ok()?).ok()
}

/// Stores a login so that only its owner can read it.
pub(crate) fn store_login(login: &ServerLogin) -> Result<PathBuf> {
    let path = login_file(&login.server, &login.space)?;
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let text = serde_json::to_string_pretty(login).map_err(|e| unreadable(&path, &e))?;
    let beside = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, &path)?;
    Ok(path)
}

/// Deletes a login. True if there was one.
pub(crate) fn forget_login(server: &str, space: &str) -> Result<bool> {
    match std::fs::remove_file(login_file(server, space)?) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e.into()),
    }
}

fn login_file(server: &str, space: &str) -> Result<PathBuf> {
    let server = server.trim_end_matches('/');
    check_address(server)?;
    let folder = config::user_folder().ok_or_else(|| {
        Failure::new(Code::BadConfig, "there is no folder for the settings of a user")
            .hint("set HOME")
    })?;
    let name = Digest::of_bytes(format!("{server}\n{space}").as_bytes());
    let name: String = name.as_str().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    Ok(folder.join("logins").join(format!("{name}.json")))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::BadToken, format!("the login in {} cannot be used: {error}", path.display()))
        .hint("log in again: sayso login")
}
