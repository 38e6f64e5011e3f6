//! What the log makes: every row that decisions and lists rest on, made anew from the events and compared.

use super::{Older, tampered};
use crate::ledger::{Minting, PersonLog, body_set, names};
use crate::load::event;
use crate::{Result, Token};
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Gate};
use sayso_core::run::{self, Run};
use sayso_core::task::{self, Task};
use sayso_core::{SpaceId, Timestamp};
use sayso_store::{EventRow, Read, ViewCells, ViewTable};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// How many rows are read at a time.
const ROWS_AT_ONCE: usize = 1_000;

/// More than this of a kind is not in one space.
const ALL_MAX: usize = 1_000_000;

/// A credential as its events make it, and whether it was revoked.
type MintedToken = (Minting, bool);

/// Everything that was compared so far, or is to be compared at the end.
pub(super) struct Made {
    space: SpaceId,
    /// How many rows were compared.
    count: u64,
    rows: BTreeMap<ViewTable, Rows>,
    settings: BTreeMap<String, (Option<String>, Timestamp)>,
    tokens: BTreeMap<String, MintedToken>,
    people: BTreeMap<String, PersonLog>,
    /// What tasks are labelled with and depend on.
    links: HashSet<(String, String)>,
    /// Where endings are on their way: the gate, its asker and the state.
    deliveries: HashSet<(String, String, String)>,
}

/// The rows of a view, read in the order of their ids, which is that of their streams.
#[derive(Default)]
struct Rows {
    read: VecDeque<ViewCells>,
    last: String,
}

impl Rows {
    fn next(
        &mut self,
        read: &mut Read<'_>,
        view: ViewTable,
        space: SpaceId,
    ) -> Result<Option<ViewCells>> {
        if self.read.is_empty() {
            self.read = read.view_rows(view, space, &self.last, ROWS_AT_ONCE)?.into();
        }
        let row = self.read.pop_front();
        if let Some(row) = &row {
            row.id().clone_into(&mut self.last);
        }
        Ok(row)
    }
}

impl Made {
    pub(super) fn of(space: SpaceId) -> Self {
        Self {
            space,
            count: 0,
            rows: BTreeMap::new(),
            settings: BTreeMap::new(),
            tokens: BTreeMap::new(),
            people: BTreeMap::new(),
            links: HashSet::new(),
            deliveries: HashSet::new(),
        }
    }

    /// Takes all events of a stream.
    pub(super) fn take(&mut self, read: &mut Read<'_>, rows: &[EventRow]) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let (kind, id) = first.stream.split_once('/').unwrap_or_default();
        let version = rows.len() as u64;
        match kind {
            "gate" => {
                let Some(gate) = fold::<Gate, _>(rows, gate::apply)? else { return Ok(()) };
                if !gate.is_open() {
                    let (asker, state) = (&gate.opened.lineage.asker, gate.delivery.as_str());
                    self.deliveries.insert((id.to_owned(), asker.clone(), state.to_owned()));
                }
                let expected = ViewCells::of_gate(&gate, version)?;
                self.compare::<Gate>(read, ViewTable::Gates, id, &expected)
            }
            "task" => {
                let Some(task) = fold::<Task, _>(rows, task::apply)? else { return Ok(()) };
                let labels = task.labels.iter().map(ToString::to_string);
                let links = labels.chain(task.blocked_by.iter().map(ToString::to_string));
                self.links.extend(links.map(|to| (id.to_owned(), to)));
                let expected = ViewCells::of_task(&task, version)?;
                self.compare::<Task>(read, ViewTable::Tasks, id, &expected)
            }
            "flow" => {
                let Some(flow) = fold::<Flow, _>(rows, flow::apply)? else { return Ok(()) };
                let expected = ViewCells::of_flow(&flow, version)?;
                self.compare::<Flow>(read, ViewTable::Flows, id, &expected)
            }
            "run" => {
                let Some(run) = fold::<Run, _>(rows, run::apply)? else { return Ok(()) };
                let expected = ViewCells::of_run(&run, version)?;
                self.compare::<Run>(read, ViewTable::Runs, id, &expected)
            }
            "setting" => {
                if let Some(last) = rows.last() {
                    self.settings.insert(first.stream.clone(), (body_set(last)?, last.at));
                }
                Ok(())
            }
            "token" => {
                // A token that an older version made has no first event.
                if first.version == 1 {
                    let made = (event::<Minting>(first)?, rows.len() > 1);
                    self.tokens.insert(id.to_owned(), made);
                }
                Ok(())
            }
            "person" => {
                let name = id.split_once('/').map_or(id, |(_, name)| name);
                self.people.insert(name.to_owned(), PersonLog::of(rows)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Compares a row with what it is to hold. Rows come in the order of their streams, so one that comes before
    /// it has no events.
    fn compare<T: DeserializeOwned + PartialEq>(
        &mut self,
        read: &mut Read<'_>,
        view: ViewTable,
        id: &str,
        expected: &ViewCells,
    ) -> Result<()> {
        let stream = format!("{}/{id}", view.stream());
        let row = self.rows.entry(view).or_default().next(read, view, self.space)?;
        self.count += 1;
        match row {
            Some(row) if row.id() == id && row.is::<T>(view, expected) => Ok(()),
            Some(row) if row.id() < id => Err(without_events(view, row.id())),
            Some(row) if row.id() == id => {
                Err(wrong(&format!("the row of {stream} is not what its events made it")))
            }
            Some(_) | None => Err(wrong(&format!("the row of {stream} is missing"))),
        }
    }

    /// Compares what is left: rows without events, and what is read as a whole. Returns how many rows were
    /// compared.
    pub(super) fn finish(mut self, read: &mut Read<'_>, older: &Older) -> Result<u64> {
        for view in ViewTable::ALL {
            let mut rows = self.rows.remove(&view).unwrap_or_default();
            if let Some(row) = rows.next(read, view, self.space)? {
                return Err(without_events(view, row.id()));
            }
        }
        self.check_settings(read)?;
        self.check_tokens(read, older)?;
        self.check_people(read, older)?;
        self.check_links(read)?;
        if read.delivery_rows(self.space)?.into_iter().collect::<HashSet<_>>() != self.deliveries {
            return Err(wrong("where endings are on their way is not what the log says"));
        }
        Ok(self.count)
    }

    fn check_settings(&mut self, read: &mut Read<'_>) -> Result<()> {
        for setting in read.setting_rows(self.space)?.settings {
            self.count += 1;
            let stream = crate::ledger::setting_stream(self.space, &setting.kind, &setting.name);
            let set = self.settings.remove(&stream);
            if set != Some((setting.body, setting.set_at)) {
                let what = format!("{} {}", setting.kind, setting.name);
                return Err(wrong(&format!("the row of {what} is not what was set")));
            }
        }
        match self.settings.keys().next() {
            Some(stream) => Err(wrong(&format!("the row of {stream} is missing"))),
            None => Ok(()),
        }
    }

    fn check_tokens(&mut self, read: &mut Read<'_>, older: &Older) -> Result<()> {
        for token in read.tokens(self.space, None, ALL_MAX)?.items {
            self.count += 1;
            let is_right = match self.tokens.remove(&token.id.to_string()) {
                Some((made, was_revoked)) => {
                    made.is_of(&token) && was_revoked == token.revoked_at.is_some()
                }
                None => is_older(&token, older),
            };
            if !is_right {
                let what = format!("{} ({} {})", token.handle, token.role.as_str(), token.name);
                return Err(wrong(&format!("token {what} is not what the log says")));
            }
        }
        match self.tokens.keys().next() {
            Some(id) => Err(wrong(&format!("the row of token {id} is missing"))),
            None => Ok(()),
        }
    }

    fn check_people(&mut self, read: &mut Read<'_>, older: &Older) -> Result<()> {
        for known in read.people(self.space, ALL_MAX)? {
            self.count += 1;
            let is_right = match self.people.get(&known.name).map(|log| log.admin) {
                Some(Some(is_admin)) => is_admin == known.is_admin,
                Some(None) | None => older.people.contains(&known.name),
            };
            if !is_right {
                return Err(wrong(&format!("person {} is not what the log says", known.name)));
            }
            if let Some(log) = self.people.get_mut(&known.name) {
                log.admin = None;
            }
        }
        let hashes: BTreeMap<_, _> = read.passphrases(self.space)?.into_iter().collect();
        let names: BTreeSet<_> = hashes.keys().chain(self.people.keys()).collect();
        for name in names {
            let log = self.people.get(name).cloned().unwrap_or_default();
            if log.admin.is_some() {
                return Err(wrong(&format!("the row of person {name} is missing")));
            }
            let is_right = match (hashes.get(name), &log.passphrase) {
                (Some(hash), Some(_)) => log.has_passphrase(hash),
                (Some(_), None) => older.people.contains(name),
                (None, set) => set.is_none(),
            };
            if !is_right {
                return Err(wrong(&format!("the passphrase of {name} is not what was set")));
            }
        }
        Ok(())
    }

    fn check_links(&self, read: &mut Read<'_>) -> Result<()> {
        if read.task_links(self.space)?.into_iter().collect::<HashSet<_>>() != self.links {
            return Err(wrong("labels or dependencies of tasks are not what the log says"));
        }
        match read.miscounted_task(self.space)? {
            Some(id) => Err(wrong(&format!("what task/{id} waits for is miscounted in its row"))),
            None => Ok(()),
        }
    }
}

/// A credential of an older version: its entry says for whom it was made. Logins and agents of runs had none.
fn is_older(token: &Token, older: &Older) -> bool {
    let is_login = token.launcher == token.name && older.people.contains(&token.name);
    match older.minted.get(&token.handle) {
        Some(reason) => names(reason, token),
        None => token.role == sayso_core::Role::Agent || is_login,
    }
}

fn without_events(view: ViewTable, id: &str) -> crate::Error {
    wrong(&format!("the row of {}/{id} has no events", view.stream()))
}

fn wrong(what: &str) -> crate::Error {
    tampered(what).into()
}

fn fold<T, E: serde::de::DeserializeOwned>(
    rows: &[EventRow],
    apply: fn(Option<T>, &E, sayso_core::Timestamp) -> Option<T>,
) -> Result<Option<T>> {
    let mut folded = None;
    for row in rows {
        folded = apply(folded, &event(row)?, row.at);
    }
    Ok(folded)
}
