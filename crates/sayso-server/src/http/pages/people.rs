//! The people one can hand something to: those who were let in, and those who are in a group. Names are offered, and
//! whoever is meant can still be typed: a person may be known by a token alone.

use super::super::visitor::Visitor;
use sayso_core::Deed;
use sayso_engine::{Result, SettingKind};
use std::collections::BTreeSet;

/// More than these are not offered: nobody reads them.
const OFFERED_MAX: usize = 200;

/// Everybody else, by name, for those who may look.
pub(super) fn others(at: &Visitor) -> Result<Vec<String>> {
    if !at.actor.may(Deed::Read) {
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
