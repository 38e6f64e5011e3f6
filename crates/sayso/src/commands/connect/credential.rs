//! The token file of a connected agent: in the space's own folder, readable by its owner alone.

use crate::commands::token;
use crate::exit::{Failure, Result};
use sayso_core::{Actor, Code, EntryPoint, Role};
use sayso_engine::{Desk, NewToken};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder of tokens in that of the space, which Git ignores.
const FOLDER: &str = "tokens";

/// The token file of an agent.
pub(super) struct AgentTokenFile {
    pub(super) file: PathBuf,
    agent: String,
}

impl AgentTokenFile {
    pub(super) fn of(space: &Path, agent: &str) -> Result<Self> {
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        if agent.is_empty() || agent.starts_with('.') || !agent.chars().all(is_plain) {
            let message = format!("{agent:?} cannot name an agent and its file");
            return Err(Failure::new(Code::BadValue, message)
                .hint("take letters, digits, dashes, underscores and dots"));
        }
        let file = space.join(FOLDER).join(format!("{agent}.token"));
        Ok(Self { file, agent: agent.into() })
    }

    /// True if the token exists and is valid.
    pub(super) fn is_good(&self, desk: &Desk) -> bool {
        let secret = std::fs::read_to_string(&self.file).unwrap_or_default();
        let known = desk.authenticate(&secret, EntryPoint::Cli);
        known.is_ok_and(|actor| actor.role == Role::Agent && actor.name == self.agent)
    }

    /// Creates a new token; the old one in the file is revoked.
    pub(super) fn make(&self, desk: &Desk, actor: &Actor) -> Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        self.forget(desk, actor)?;
        let (role, name) = (Role::Agent, self.agent.clone());
        let new = NewToken { role, name, task: None, run: None, expires_at: None, scopes: None };
        let token = token::mint_into(desk, actor, new, &self.file)?;
        Ok(std::fs::write(self.note(), token.handle)?)
    }

    /// Revokes the token and deletes its file.
    pub(super) fn forget(&self, desk: &Desk, actor: &Actor) -> Result<()> {
        if let Ok(handle) = std::fs::read_to_string(self.note()) {
            match desk.revoke(actor, handle.trim()) {
                // A recreated store does not know the token.
                Err(error) if error.code() != Code::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        for file in [&self.note(), &self.file] {
            match std::fs::remove_file(file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The file with the ID of the token, since the secret does not show it.
    fn note(&self) -> PathBuf {
        self.file.with_extension("id")
    }
}
