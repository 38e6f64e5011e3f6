//! The people that a gate can be delegated to: those who joined, and the members of groups. Names are suggestions,
//! and any other one can still be typed: a person may be known by a token alone.

use super::super::auth::RequestContext;
use sayso_core::Permission;
use sayso_engine::{Result, SettingKind};
use std::collections::BTreeSet;

/// The most names that are suggested: a longer list is not read.
const OFFERED_MAX: usize = 200;

/// Returns the names of all other people, for callers who may read them.
pub(super) fn others(at: &RequestContext) -> Result<Vec<String>> {
    if !at.actor.may(Permission::Read) {
        return Ok(vec![]);
    }
    let groups = at.desk.settings(Some(SettingKind::Group))?;
    let members = groups
        .iter()
        .filter_map(|group| serde_json::from_str::<Vec<String>>(group.body.as_deref()?).ok());
    let let_in = at.desk.people()?.into_iter().map(|known| known.name);
    let names: BTreeSet<_> = let_in.chain(members.flatten()).collect();
    Ok(names.into_iter().filter(|name| *name != at.actor.name).take(OFFERED_MAX).collect())
}
