//! The token of a connected agent: a file of the space's own folder, for its owner alone.

use crate::commands::token;
use crate::exit::{Failure, Result};
use sayso_core::{Actor, Code, Door, Role};
use sayso_engine::{Desk, NewToken};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder of tokens in that of the space, which git does not look into.
const FOLDER: &str = "tokens";

/// Where the token of an agent is.
pub(super) struct Credential {
    pub(super) file: PathBuf,
    agent: String,
}

impl Credential {
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

    /// Whether it is there and counts.
    pub(super) fn is_good(&self, desk: &Desk) -> bool {
        let secret = std::fs::read_to_string(&self.file).unwrap_or_default();
        let known = desk.authenticate(&secret, Door::Cli);
        known.is_ok_and(|actor| actor.role == Role::Agent && actor.name == self.agent)
    }

    /// Makes it anew; what was in the file does not count any more.
    pub(super) fn make(&self, desk: &Desk, actor: &Actor) -> Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        self.forget(desk, actor)?;
        let (role, name) = (Role::Agent, self.agent.clone());
        let new = NewToken { role, name, task: None, run: None, expires_at: None, scopes: None };
        let token = token::mint_into(desk, actor, new, &self.file)?;
        Ok(std::fs::write(self.note(), token.handle)?)
    }

    /// Revokes it and takes its file away.
    pub(super) fn forget(&self, desk: &Desk, actor: &Actor) -> Result<()> {
        if let Ok(handle) = std::fs::read_to_string(self.note()) {
            match desk.revoke(actor, handle.trim()) {
                // A store that was made anew knows nothing of it.
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

    /// The file that says which token it is, since nobody can tell from the secret.
    fn note(&self) -> PathBuf {
        self.file.with_extension("id")
    }
}
