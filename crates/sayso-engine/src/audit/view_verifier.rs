//! Rebuilds every row that decisions and lists depend on from the events of the log, and compares it with the stored
//! row.

use super::{LegacyEntries, tampered};
use crate::ledger::{MintEvent, PersonLog, body_set, check_invitation_rows, is_for, names};
use crate::load::event;
use crate::{Result, TokenRow};
use sayso_core::audit::ChainEntry;
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Gate};
use sayso_core::message::AgentMessage;
use sayso_core::run::{self, Run};
use sayso_core::task::{self, Task};
use sayso_core::{RunId, SpaceId, Timestamp};
use sayso_store::{EventRow, ReadTransaction, ViewCells, ViewTable};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// The number of rows per read.
const ROWS_AT_ONCE: usize = 1_000;

/// An upper bound on the rows of one kind in a space.
const ALL_MAX: usize = 1_000_000;

/// A credential rebuilt from its events, and true if it was revoked.
type MintState = (MintEvent, bool);

/// The body that an event set, its time, and its audit entry.
type MadeSetting = (Option<String>, Timestamp, u64);

/// The state of the comparison: rows compared so far, and rows to be compared at the end.
pub(super) struct ViewVerifier {
    space: SpaceId,
    /// The number of rows compared.
    count: u64,
    rows: BTreeMap<ViewTable, ViewRowCursor>,
    settings: BTreeMap<String, MadeSetting>,
    messages: BTreeMap<String, AgentMessage>,
    /// The events of invitations, by what their streams are called.
    invitations: BTreeMap<String, Vec<EventRow>>,
    runs: BTreeMap<RunId, Run>,
    tokens: BTreeMap<String, MintState>,
    people: BTreeMap<String, PersonLog>,
    /// The labels and dependencies of tasks.
    links: HashSet<(String, String)>,
    /// The deliveries of endings: the gate, its asker and the state.
    deliveries: HashSet<(String, String, String)>,
}

/// The rows of a view, read in the order of their ids, which is the order of their streams.
#[derive(Default)]
struct ViewRowCursor {
    read: VecDeque<ViewCells>,
    last: String,
}

impl ViewRowCursor {
    fn next(
        &mut self,
        read: &mut ReadTransaction<'_>,
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

impl ViewVerifier {
    pub(super) fn of(space: SpaceId) -> Self {
        Self {
            space,
            count: 0,
            rows: BTreeMap::new(),
            settings: BTreeMap::new(),
            messages: BTreeMap::new(),
            invitations: BTreeMap::new(),
            runs: BTreeMap::new(),
            tokens: BTreeMap::new(),
            people: BTreeMap::new(),
            links: HashSet::new(),
            deliveries: HashSet::new(),
        }
    }

    /// Adds all events of a stream.
    pub(super) fn take(&mut self, read: &mut ReadTransaction<'_>, rows: &[EventRow]) -> Result<()> {
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
                self.compare::<Run>(read, ViewTable::Runs, id, &expected)?;
                self.runs.insert(run.started.id, run);
                Ok(())
            }
            "setting" => {
                if let Some(last) = rows.last() {
                    let set = (body_set(last)?, last.at, last.audit);
                    self.settings.insert(first.stream.clone(), set);
                }
                Ok(())
            }
            "token" => {
                // A token that an older version created has no first event.
                if first.version == 1 {
                    let made = (event::<MintEvent>(first)?, rows.len() > 1);
                    self.tokens.insert(id.to_owned(), made);
                }
                Ok(())
            }
            "person" => {
                let name = id.split_once('/').map_or(id, |(_, name)| name);
                self.people.insert(name.to_owned(), PersonLog::of(rows)?);
                Ok(())
            }
            "message" => {
                let sent: Sent = event(first)?;
                let read_at = rows.get(1).map(|row| row.at);
                self.messages.insert(id.to_owned(), AgentMessage { read_at, ..sent.message });
                Ok(())
            }
            "invitation" => {
                self.invitations.insert(first.stream.clone(), rows.to_vec());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Compares a row with the expected cells. Rows arrive in the order of their streams, so a row that precedes the
    /// expected one has no events.
    fn compare<T: DeserializeOwned + PartialEq>(
        &mut self,
        read: &mut ReadTransaction<'_>,
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

    /// Compares the remaining rows: those without events, and those that are read as a whole. Returns the number of
    /// rows that were compared.
    pub(super) fn finish(
        mut self,
        read: &mut ReadTransaction<'_>,
        older: &LegacyEntries,
    ) -> Result<u64> {
        for view in ViewTable::ALL {
            let mut rows = self.rows.remove(&view).unwrap_or_default();
            if let Some(row) = rows.next(read, view, self.space)? {
                return Err(without_events(view, row.id()));
            }
        }
        self.check_settings(read)?;
        self.check_messages(read)?;
        self.check_invitations(read)?;
        self.check_tokens(read, older)?;
        self.check_people(read, older)?;
        self.check_links(read)?;
        if read.delivery_rows(self.space)?.into_iter().collect::<HashSet<_>>() != self.deliveries {
            return Err(wrong("where endings are on their way is not what the log says"));
        }
        Ok(self.count)
    }

    fn check_settings(&mut self, read: &mut ReadTransaction<'_>) -> Result<()> {
        for setting in read.setting_rows(self.space)?.settings {
            self.count += 1;
            let stream = crate::ledger::setting_stream(self.space, &setting.kind, &setting.name);
            let is_right = match self.settings.remove(&stream) {
                Some((body, at, entry)) => {
                    let is_by = is_in_entry(read, self.space, entry, &setting.set_by, at)?;
                    let is_set = (&body, at) == (&setting.body, setting.set_at);
                    // Several entries of one moment are named by the last of them.
                    let is_there = setting.seq == entry
                        || is_in_entry(read, self.space, setting.seq, &setting.set_by, at)?;
                    is_set && is_by && is_there
                }
                None => false,
            };
            if !is_right {
                let what = format!("{} {}", setting.kind, setting.name);
                return Err(wrong(&format!("the row of {what} is not what was set")));
            }
        }
        match self.settings.keys().next() {
            Some(stream) => Err(wrong(&format!("the row of {stream} is missing"))),
            None => Ok(()),
        }
    }

    fn check_messages(&mut self, read: &mut ReadTransaction<'_>) -> Result<()> {
        for message in read.messages(self.space, None, false, None, ALL_MAX)?.items {
            self.count += 1;
            if self.messages.remove(&message.id.to_string()).as_ref() != Some(&message) {
                let handle = &message.handle;
                return Err(wrong(&format!("message {handle} is not what was sent, or was read")));
            }
        }
        match self.messages.keys().next() {
            Some(id) => Err(wrong(&format!("the row of message/{id} is missing"))),
            None => Ok(()),
        }
    }

    /// Checks the invitations. A deleted code admits no person, and neither does one without events.
    fn check_invitations(&mut self, read: &mut ReadTransaction<'_>) -> Result<()> {
        for invitation in read.invitations(self.space)? {
            let stream = crate::ledger::invitation_stream(&invitation.hash);
            if let Some(rows) = self.invitations.get(&stream) {
                self.count += 1;
                check_invitation_rows(&invitation, rows)?;
            }
        }
        Ok(())
    }

    /// True if a credential without events is one of an older version: its audit entry names its owner, or it belongs
    /// to a run. Logins had no entry.
    fn is_older(&self, token: &TokenRow, older: &LegacyEntries, runs: &BTreeSet<RunId>) -> bool {
        if let Some(reason) = older.minted.get(&token.handle) {
            return names(reason, token);
        }
        let run = token.run.filter(|run| !runs.contains(run)).and_then(|run| self.runs.get(&run));
        let is_of_run = run.is_some_and(|run| {
            is_for(token, run)
                && (run.state == run::RunState::Running || token.revoked_at.is_some())
        });
        is_of_run || token.launcher == token.name && older.people.contains(&token.name)
    }

    fn check_tokens(
        &mut self,
        read: &mut ReadTransaction<'_>,
        older: &LegacyEntries,
    ) -> Result<()> {
        let runs = self.tokens.values().filter_map(|(made, _)| made.run()).collect();
        for token in read.tokens(self.space, None, ALL_MAX)?.items {
            self.count += 1;
            let is_right = match self.tokens.remove(&token.id.to_string()) {
                Some((made, was_revoked)) => {
                    made.is_of(&token) && was_revoked == token.revoked_at.is_some()
                }
                None => self.is_older(&token, older, &runs),
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

    fn check_people(
        &mut self,
        read: &mut ReadTransaction<'_>,
        older: &LegacyEntries,
    ) -> Result<()> {
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

    fn check_links(&self, read: &mut ReadTransaction<'_>) -> Result<()> {
        if read.task_links(self.space)?.into_iter().collect::<HashSet<_>>() != self.links {
            return Err(wrong("labels or dependencies of tasks are not what the log says"));
        }
        match read.miscounted_task(self.space)? {
            Some(id) => Err(wrong(&format!("what task/{id} waits for is miscounted in its row"))),
            None => Ok(()),
        }
    }
}

/// The event with which a message was sent.
#[derive(Deserialize)]
struct Sent {
    message: AgentMessage,
}

/// True if an entry is by this person or program, and of this moment. The chain was verified before.
fn is_in_entry(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    seq: u64,
    by: &str,
    at: Timestamp,
) -> Result<bool> {
    let row = read.audit_after(space, seq.saturating_sub(1), 1)?.pop().filter(|row| row.seq == seq);
    let entry = row.and_then(|row| serde_json::from_str::<ChainEntry>(&row.body).ok());
    Ok(entry.is_some_and(|entry| entry.actor == by && entry.at == at))
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
