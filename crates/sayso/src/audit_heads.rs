//! Remembers the last known head of each audit chain in the user's state folder, outside of every store. This detects
//! a rollback: an older copy of the store is intact in itself, and only the remembered head shows that it is older.

use crate::config::state_folder;
use crate::exit::{Failure, Result};
use sayso_core::audit::ChainHead;
use sayso_core::{Actor, Code, SpaceId};
use sayso_engine::{Desk, HeadKeeper, LocalDesk};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The shortest interval at which a long-running process writes the head.
const PAUSE: Duration = Duration::from_secs(1);

/// The head of a chain, as it was last seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownHead {
    space: SpaceId,
    head: ChainHead,
}

fn file_of(space: SpaceId) -> Option<PathBuf> {
    Some(state_folder()?.join("heads").join(format!("{space}.json")))
}

/// Returns the last known head of a space's chain; none if it cannot be read.
pub(crate) fn last_known(space: SpaceId) -> Option<ChainHead> {
    let text = std::fs::read_to_string(file_of(space)?).ok()?;
    let seen: KnownHead = serde_json::from_str(&text).ok()?;
    (seen.space == space).then_some(seen.head)
}

/// Stores the head of a chain. A failure is ignored on purpose: if it cannot be written, less is detected.
pub(crate) fn store_head(space: SpaceId, head: &ChainHead) {
    let Some(path) = file_of(space) else { return };
    let Some(folder) = path.parent() else { return };
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let Ok(text) = serde_json::to_string(&KnownHead { space, head: head.clone() }) else { return };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let mut private = std::fs::OpenOptions::new();
    let private = private.write(true).create(true).truncate(true).mode(0o600);
    let written = made.and_then(|()| private.open(&draft)).and_then(|mut file| {
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        std::fs::rename(&draft, &path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
}

/// Keeps the end of a chain after each write. A process that stays writes it down when the pause is over, and when it
/// ends.
pub(crate) fn head_recorder(stays: bool) -> HeadKeeper {
    let ends = Arc::new(ChainEnds::default());
    Arc::new(move |desk: &LocalDesk, before: &ChainHead, now: &ChainHead| {
        if !stays {
            return keep_if_it_leads_on(desk, Some(before), now);
        }
        let mut state = ends.state();
        if state.last.is_none_or(|at| at.elapsed() >= PAUSE) {
            state.last = Some(Instant::now());
            state.later = None;
            return keep_if_it_leads_on(desk, Some(before), now);
        }
        let is_first = state.later.is_none();
        // Without its keeper, which would keep itself alive.
        state.later = Some((desk.clone().without_head_keeper(), now.clone()));
        if is_first {
            let ends = Arc::downgrade(&ends);
            std::thread::spawn(move || write_later(&ends));
        }
    })
}

/// The chain ends that a long-lived process has still to write down.
#[derive(Default)]
struct ChainEnds {
    state: Mutex<EndState>,
}

#[derive(Default)]
struct EndState {
    last: Option<Instant>,
    later: Option<(LocalDesk, ChainHead)>,
}

impl ChainEnds {
    fn state(&self) -> MutexGuard<'_, EndState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) {
        let mut state = self.state();
        if let Some((desk, head)) = state.later.take() {
            state.last = Some(Instant::now());
            keep_if_it_leads_on(&desk, None, &head);
        }
    }
}

impl Drop for ChainEnds {
    fn drop(&mut self) {
        self.write();
    }
}

fn write_later(ends: &Weak<ChainEnds>) {
    std::thread::sleep(PAUSE);
    if let Some(ends) = ends.upgrade() {
        ends.write();
    }
}

/// Keeps where a chain ends. A chain that does not lead on from what was seen is another one: what was seen stays, for
/// those who verify.
fn keep_if_it_leads_on(desk: &LocalDesk, before: Option<&ChainHead>, now: &ChainHead) {
    let space = desk.space();
    let leads_on = match last_known(space) {
        None => true,
        Some(head) if head.seq > now.seq => false,
        Some(head) if Some(&head) == before => true,
        Some(head) => desk.head_at(head.seq).is_ok_and(|there| there == Some(head)),
    };
    if leads_on {
        store_head(space, now);
    }
}

/// Checks that a chain still contains the last known head, and stores the current one.
pub(crate) fn check(desk: &Desk, actor: &Actor) -> Result<()> {
    let now = head_of(desk, actor, None)?;
    let Some(head) = last_known(desk.space()) else {
        now.inspect(|now| store_head(desk.space(), now));
        return Ok(());
    };
    if head_of(desk, actor, Some(head.seq))?.as_ref() == Some(&head) {
        now.inspect(|now| store_head(desk.space(), now));
        return Ok(());
    }
    let seq = now.map_or(0, |now| now.seq);
    let message = format!(
        "this is not the audit that was seen here before: entry {} is missing or another one, and it ends at \
         entry {seq}; an older copy may have been put back",
        head.seq
    );
    Err(Failure::new(Code::AuditBroken, message).hint(
        "compare with an export kept elsewhere; if you put back a backup: sayso audit verify --accept-older",
    ))
}

/// Takes a chain for the right one as it is now. A person does that, and the audit says so.
pub(crate) fn accept(desk: &Desk, actor: &Actor) -> Result<()> {
    desk.accept_older(actor, last_known(desk.space()).map_or(0, |head| head.seq))?;
    head_of(desk, actor, None)?.inspect(|now| store_head(desk.space(), now));
    Ok(())
}

/// The head of a chain at an entry, or its current head.
fn head_of(desk: &Desk, actor: &Actor, seq: Option<u64>) -> Result<Option<ChainHead>> {
    if let Some(local) = desk.local() {
        return Ok(match seq {
            Some(0) => None,
            Some(seq) => local.head_at(seq)?,
            None => local.last_head()?,
        });
    }
    let Some(seq) = seq else { return Ok(Some(desk.audit_head(actor)?)) };
    let row = desk.audit_rows(actor, seq.saturating_sub(1), 1)?.pop();
    Ok(row.filter(|row| row.seq == seq).map(|row| ChainHead { seq, hash: row.hash }))
}
