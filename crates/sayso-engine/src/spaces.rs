//! Spaces: opening, creating and deleting them.

use crate::{LocalDesk, Result, RuntimeEnv, gates, lifecycle};
use sayso_core::{Actor, AssuranceLevel, Code, Permission, Refusal, SpaceId};
use sayso_store::{GateFilter, SpaceRow, Store, StoreLocation};
use std::sync::Arc;

/// The number of gates per read when a space is deleted.
const WITHDRAWN_AT_ONCE: usize = 500;

impl LocalDesk {
    /// Opens an existing space.
    pub fn open(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        Self::of(Store::open(place)?, name, world)
    }

    /// Opens a space for a long-lived process with many threads, with group commit.
    pub fn open_shared(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        Self::of(Store::open(place)?.with_group_commit()?, name, world)
    }

    /// Opens a space that may have been deleted: it can be read, and the endings of its gates are still delivered to
    /// their askers.
    pub fn open_kept(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        let store = Store::open(place)?;
        let space = store.read(|read| read.space(name))?.ok_or_else(|| no_space(name))?;
        Ok(Self::with(store, &space, world))
    }

    /// Sets the maximum size of a page in bytes.
    #[must_use]
    pub fn with_page_bytes(mut self, bytes_max: usize) -> Self {
        self.page_bytes_max = Some(bytes_max);
        self
    }

    /// Checks that the store accepts a write at this moment.
    pub fn probe(&self) -> Result<()> {
        Ok(self.store.probe()?)
    }

    /// Returns the desk of another space of the same store, which may have been deleted.
    pub fn beside(&self, name: &str) -> Result<Self> {
        let space = self.read(|read| Ok(read.space(name)?))?.ok_or_else(|| no_space(name))?;
        Ok(Self { space: space.id, space_name: space.name, rules: Arc::default(), ..self.clone() })
    }

    fn of(store: Store, name: &str, world: RuntimeEnv) -> Result<Self> {
        let space = store.read(|read| read.space(name))?.ok_or_else(|| no_space(name))?;
        match space.deleted_at {
            Some(_) => Err(deleted(name).into()),
            None => Ok(Self::with(store, &space, world)),
        }
    }

    fn with(store: Store, space: &SpaceRow, world: RuntimeEnv) -> Self {
        Self {
            store: Arc::new(store),
            world,
            space: space.id,
            space_name: space.name.clone(),
            channels: vec![],
            level: AssuranceLevel::S0,
            rules: Arc::default(),
            pace: None,
            page_bytes_max: None,
            swept: Arc::default(),
            errand: None,
            deadline: None,
            head_keeper: None,
            accepts_clock: false,
            reader: None,
            remembered: Arc::default(),
            shown: None,
        }
    }

    /// Creates a space, and the store if it does not exist. An existing space of this name is opened; the flag is
    /// true for a new one.
    pub fn create(
        place: StoreLocation,
        name: &str,
        actor: &Actor,
        world: RuntimeEnv,
    ) -> Result<(Self, bool)> {
        check_space_name(name)?;
        let store = Store::create(place)?;
        if let Some(space) = store.read(|read| read.space(name))? {
            return match space.deleted_at {
                Some(_) => Err(deleted(name).into()),
                None => Ok((Self::with(store, &space, world), false)),
            };
        }
        let id = SpaceId::mint(world.now(), world.random_u128());
        let (new_name, at, actor) = (name.to_owned(), world.now(), actor.clone());
        let made = store.write(move |write| {
            let space = write.add_space(id, &new_name, at)?;
            let entry =
                sayso_core::audit::ChainEntry::new(&actor, id, at, "space.created", &new_name);
            write.append(entry, &[])?;
            Ok(space)
        });
        match made {
            Ok(space) => Ok((Self::with(store, &space, world), true)),
            // Another process created it in the meantime.
            Err(sayso_store::Error::Conflict) => Ok((Self::of(store, name, world)?, false)),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the space was deleted.
    pub fn is_deleted(&self) -> Result<bool> {
        let space = self.read(|read| Ok(read.space(&self.space_name)?))?;
        Ok(space.is_none_or(|space| space.deleted_at.is_some()))
    }

    /// Returns all spaces in this store that are visible to the reader.
    pub fn spaces(&self) -> Result<Vec<SpaceRow>> {
        let mut all = self.read(|read| Ok(read.spaces()?))?;
        if self.hides_spaces() {
            all.retain(|space| space.id == self.space);
        }
        Ok(all)
    }

    /// Deletes the space and returns the number of open gates, which are withdrawn with their askers told. The
    /// records stay.
    pub fn delete_space(&self, actor: &Actor, reason: &str) -> Result<usize> {
        let (id, name) = (self.space, self.space_name.clone());
        let why = match reason {
            "" => format!("space {name} was deleted"),
            _ => format!("space {name} was deleted: {reason}"),
        };
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Answer, "delete a space")?;
            lifecycle::check_none_runs(batch)?;
            batch.set_audit_subject("space.deleted", &name, None, &why);
            let mut withdrawn = 0;
            let mut filter = GateFilter { limit: WITHDRAWN_AT_ONCE, ..GateFilter::default() };
            loop {
                let page = batch.write.gates(id, &filter)?;
                for gate in &page.items {
                    gates::withdraw(batch, gate.opened.id, &why)?;
                    withdrawn += 1;
                }
                filter.after = page.items.last().map(|gate| gate.opened.id);
                if !page.more {
                    break;
                }
            }
            lifecycle::cancel(batch, &why, |_| true)?;
            batch.write.delete_space(id, batch.at)?;
            Ok(withdrawn)
        })
    }
}

/// Checks that a space may have this name.
pub fn check_space_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 100 && name.chars().all(plain) {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("{name:?} cannot be the name of a space"))
        .hint("take letters, digits, dashes, dots and underscores")
        .into())
}

/// Returns the refusal for any action in a deleted space.
pub fn deleted(name: &str) -> Refusal {
    Refusal::new(Code::NoSpace, format!("space {name:?} was deleted")).hint(
        "what happened in it is kept: sayso audit list, sayso show ID; \
         for a new one take another name: sayso init --name NAME",
    )
}

fn no_space(name: &str) -> Refusal {
    Refusal::new(Code::NoSpace, format!("there is no space {name:?} in this store"))
        .hint("make it with: sayso init")
}
