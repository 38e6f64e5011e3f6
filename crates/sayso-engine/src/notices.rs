//! Notices (notifications to people): they go into the outbox in the transaction of the event they are about, once
//! per person, channel and occasion; the answer removes those that are not needed any more.

use crate::settings::SpaceSettings;
use crate::{Absence, LocalDesk, Person, Result, SettingKind};
use sayso_core::gate::{Gate, GateEffect};
use sayso_core::notice::notice_targets;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Actor, Approvers, Digest, GateId, NoticePreference, NoticeReason, Permission, Risk, SpaceId,
    TimeoutAction, Timestamp,
};
use sayso_store::{NoticeRecord, OutboxNotice, PendingNotice, WriteTransaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of notices of one gate that are read.
pub(crate) const OF_ONE_GATE_MAX: usize = 1_000;

/// The maximum number of characters of a question in a notice: enough to know it, too little to hold a document.
const TITLE_CHARS_MAX: usize = 120;

/// The maximum number of characters of a name in a notice.
const NAME_CHARS_MAX: usize = 80;

/// The content of a notice: the request that waits, and nothing that decides. It is built when it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeText {
    /// The id; the same at each retry, so that the receiver can deduplicate.
    pub id: String,
    /// The reason; none for a test.
    pub occasion: Option<NoticeReason>,
    /// The recipient; none if the channel has no named recipient.
    pub to: Option<String>,
    pub space: String,
    pub gate: Option<GateId>,
    /// The handle of the gate.
    pub handle: String,
    /// The kind of the gate.
    pub kind: String,
    pub risk: Risk,
    pub level: u32,
    /// The number of the reminder on that level.
    pub reminder: u32,
    /// The question, sanitized and cut to one line.
    pub title: String,
    pub asked_by: String,
    pub asked_at: Timestamp,
    pub deadline: Option<Timestamp>,
    /// The timeout action at the deadline.
    pub at_end: TimeoutAction,
}

impl NoticeText {
    /// Builds a test notice.
    pub fn test(space: &str, by: &str, id: &str, at: Timestamp) -> Self {
        Self {
            id: short_id(id),
            occasion: None,
            to: None,
            space: space.into(),
            gate: None,
            handle: String::new(),
            kind: "test".into(),
            risk: Risk::Low,
            level: 0,
            reminder: 0,
            title: "This is a test: nothing waits for you.".into(),
            asked_by: shorten(&sanitize_line(by), NAME_CHARS_MAX),
            asked_at: at,
            deadline: None,
            at_end: TimeoutAction::Keep,
        }
    }

    pub(crate) fn of(gate: &Gate, space: &str, key: &str, about: &NoticeSubject) -> Self {
        let name = |raw: &str| shorten(&sanitize_line(raw), NAME_CHARS_MAX);
        Self {
            id: short_id(key),
            occasion: Some(about.occasion),
            to: about.person.as_deref().map(name),
            space: space.into(),
            gate: Some(gate.opened.id),
            handle: gate.handle().into(),
            kind: gate.opened.kind.to_string(),
            risk: gate.opened.risk,
            level: about.level,
            reminder: about.reminder,
            title: shorten(&sanitize_line(&gate.card.question), TITLE_CHARS_MAX),
            asked_by: name(&gate.opened.lineage.asker),
            asked_at: gate.opened_at,
            deadline: gate.deadline(),
            at_end: gate.at_end(),
        }
    }
}

/// Hashes a key to letters and digits, for a header: names may hold any character.
fn short_id(key: &str) -> String {
    let hex = Digest::of_bytes(key.as_bytes());
    let hex: String = hex.as_str().chars().filter(char::is_ascii_hexdigit).collect();
    format!("ntc_{}", hex.get(hex.len().saturating_sub(32)..).unwrap_or(&hex))
}

/// The part of a notice that the outbox stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeSubject {
    pub(crate) gate: GateId,
    pub(crate) person: Option<String>,
    pub(crate) occasion: NoticeReason,
    pub(crate) level: u32,
    pub(crate) reminder: u32,
}

impl NoticeSubject {
    pub(crate) fn read(notice: &OutboxNotice) -> Option<Self> {
        serde_json::from_str(&notice.body).ok()
    }

    fn notice(&self, space: SpaceId, channel: &str, what: &str) -> Option<OutboxNotice> {
        let body = serde_json::to_string(self).ok()?;
        let person = self.person.as_deref().unwrap_or_default();
        // Channels have plain names, so the parts can be told apart for every name of a person.
        let id = format!("{}/{what}/{channel}/{person}", self.gate);
        Some(OutboxNotice { id, space, channel: channel.into(), body, attempts: 0 })
    }
}

/// Writes the notices that follow from a decision's effects.
pub(crate) fn write_notices<'g>(
    write: &mut WriteTransaction<'_>,
    desk: &LocalDesk,
    at: Timestamp,
    effects: &[(GateId, u32, GateEffect)],
    gate: impl Fn(GateId) -> Option<&'g Gate>,
) -> sayso_store::Result<()> {
    for (id, revision, effect) in effects {
        let Some(gate) = gate(*id) else { continue };
        match effect {
            GateEffect::Notify { level, reminder, occasion } if gate.is_open() => {
                let (level, reminder, occasion) = (*level, *reminder, *occasion);
                let about = NoticeSubject { gate: *id, person: None, occasion, level, reminder };
                // A new revision of the card is a new notice.
                let what = format!("notify/{revision}/{level}/{reminder}");
                tell(write, desk, at, gate, &about, &what)?;
            }
            // A gate that ended in the same transaction needs no notice; and the asker is not a person to notify: it
            // has its delivery.
            GateEffect::Notify { .. } | GateEffect::Deliver => {}
            GateEffect::Retract => settle_notices(write, desk, at, *id)?,
        }
    }
    Ok(())
}

fn tell(
    write: &mut WriteTransaction<'_>,
    desk: &LocalDesk,
    at: Timestamp,
    gate: &Gate,
    about: &NoticeSubject,
    what: &str,
) -> sayso_store::Result<()> {
    let Some(rules) = rules(write, desk)? else { return Ok(()) };
    let is_told = |person: &str| rules.is_told(person, gate, about, at);
    for (channel, person) in notice_targets(is_told, &rules.wishes(), &desk.channels) {
        let due = rules.out_of_quiet(person.as_deref(), at);
        let about = NoticeSubject { person, ..about.clone() };
        let Some(notice) = about.notice(gate.opened.space, &channel, what) else { continue };
        drop_deferred(write, &notice, &about, at)?;
        write.add_notice(&notice, due)?;
    }
    Ok(())
}

/// Returns the rules of the space; none if they cannot be read, since unreadable rules must not block a decision.
fn rules(
    write: &mut WriteTransaction<'_>,
    desk: &LocalDesk,
) -> sayso_store::Result<Option<Arc<SpaceSettings>>> {
    match desk.rules(write) {
        Ok(rules) => Ok(Some(rules)),
        Err(crate::Error::Store(error)) => Err(error),
        Err(crate::Error::Refused(_)) => Ok(None),
    }
}

/// Drops earlier deferred notices: a person with quiet hours is notified once in the morning, not once for each
/// reminder.
fn drop_deferred(
    write: &mut WriteTransaction<'_>,
    notice: &OutboxNotice,
    about: &NoticeSubject,
    at: Timestamp,
) -> sayso_store::Result<()> {
    if about.occasion == NoticeReason::Asked {
        return Ok(());
    }
    for NoticeRecord { under_way, settled_at } in of_gate(write, about.gate)? {
        let PendingNotice { notice: earlier, due_at, .. } = under_way;
        let is_same = earlier.channel == notice.channel
            && NoticeSubject::read(&earlier).is_some_and(|a| a.person == about.person);
        let is_put_off = settled_at.is_none() && earlier.attempts == 0 && due_at > at;
        if is_same && is_put_off && earlier.id != notice.id {
            write.drop_notice(&earlier.id, "overtaken by a newer notice", at)?;
        }
    }
    Ok(())
}

/// Drops the notices of a settled gate that were not sent, and notifies the earlier recipients that it is settled, if
/// their channel is configured for that.
fn settle_notices(
    write: &mut WriteTransaction<'_>,
    desk: &LocalDesk,
    at: Timestamp,
    gate: GateId,
) -> sayso_store::Result<()> {
    let mut told = BTreeSet::new();
    for NoticeRecord { under_way, settled_at } in of_gate(write, gate)? {
        let PendingNotice { notice, error, .. } = under_way;
        if settled_at.is_none() {
            write.drop_notice(&notice.id, "settled before it was sent", at)?;
        }
        // A notice that is being sent at this moment may have been delivered.
        let may_be_heard = match settled_at {
            Some(_) => error.is_none(),
            None => notice.attempts > 0,
        };
        let is_wanted = desk.channels.iter().any(|r| r.settled && r.channel == notice.channel);
        if may_be_heard && is_wanted {
            told.extend(NoticeSubject::read(&notice).map(|about| (notice.channel, about.person)));
        }
    }
    for (channel, person) in told {
        let (occasion, level, reminder) = (NoticeReason::Settled, 0, 0);
        let about = NoticeSubject { gate, person, occasion, level, reminder };
        if let Some(notice) = about.notice(desk.space, &channel, "settled") {
            write.add_notice(&notice, at)?;
        }
    }
    Ok(())
}

fn of_gate(
    write: &mut WriteTransaction<'_>,
    gate: GateId,
) -> sayso_store::Result<Vec<NoticeRecord>> {
    write.notices_under(&gate.to_string(), OF_ONE_GATE_MAX)
}

impl SpaceSettings {
    fn wishes(&self) -> Vec<NoticePreference> {
        let people = self.of::<Person>(SettingKind::Person).into_iter();
        people
            .map(|(name, person)| NoticePreference {
                person: name.to_owned(),
                channels: person.notify,
            })
            .collect()
    }

    /// True if a person is notified of a gate: they or a person whose deputy they are is asked, and they have no
    /// deputy themselves.
    fn is_told(&self, person: &str, gate: &Gate, about: &NoticeSubject, at: Timestamp) -> bool {
        if self.one(SettingKind::Dismissed, person).is_some() {
            return false;
        }
        let handed_on = gate.delegations.iter().any(|d| d.from == person);
        let is_left = |(name, away): &(String, Absence)| name == person && away.to.is_some();
        if gate.excludes(person) || handed_on || self.away(at).iter().any(is_left) {
            return false;
        }
        if about.occasion == NoticeReason::Delegated {
            return gate.delegations.last().is_some_and(|last| last.to == person);
        }
        let (asked, stands_for) =
            (gate.approvers_at_level(about.level), self.stands_for(person, at));
        gate.represented(person, &stands_for).iter().any(|voice| asked.admits(voice))
    }

    /// Returns the first time from `at` on at which the recipient is outside quiet hours and not absent.
    fn out_of_quiet(&self, person: Option<&str>, at: Timestamp) -> Timestamp {
        match person {
            Some(name) => {
                let back = self.away(at).into_iter().find(|(away, _)| away == name);
                let at = back.map_or(at, |(_, away)| away.until.max(at));
                self.calendar_for(&Approvers::Person(name.into())).out_of_quiet(at)
            }
            None => self.calendar().out_of_quiet(at),
        }
    }
}

/// A notice with its delivery state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeState {
    /// The id that receivers see.
    pub id: String,
    pub gate: GateId,
    /// The handle of the gate.
    pub handle: String,
    /// The recipient; none if the channel has no named recipient.
    pub person: Option<String>,
    pub channel: String,
    pub occasion: NoticeReason,
    pub level: u32,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The error of the last attempt, or the reason for which it will never be sent.
    pub error: Option<String>,
    /// The time of the next attempt, while it is not settled.
    pub due_at: Option<Timestamp>,
    pub sent_at: Option<Timestamp>,
}

impl LocalDesk {
    /// Returns the unsettled notices, ordered by due time.
    pub fn notices(&self, actor: &Actor, limit: usize) -> Result<Vec<NoticeState>> {
        self.check(actor, Permission::Read, "see who is told of what")?;
        let rows = self.read(|read| Ok(read.notices_to_people(self.space, limit)?))?;
        let mut states = vec![];
        for under_way in rows {
            let Some(about) = NoticeSubject::read(&under_way.notice) else { continue };
            let handle = self.gate(about.gate)?.handle().to_owned();
            states.push(state(NoticeRecord { under_way, settled_at: None }, about, &handle));
        }
        Ok(states)
    }

    /// Returns all notices of one gate, sent or not.
    pub fn told(&self, actor: &Actor, gate: GateId) -> Result<Vec<NoticeState>> {
        let gate = self.gate_for(actor, gate)?;
        let id = gate.opened.id.to_string();
        let rows = self.read(|read| Ok(read.notices_under(&id, OF_ONE_GATE_MAX)?))?;
        let known = rows.into_iter().filter_map(|told| {
            let about = NoticeSubject::read(&told.under_way.notice)?;
            Some(state(told, about, gate.handle()))
        });
        Ok(known.collect())
    }

    /// Builds the present content of a notice. None if it is not needed any more.
    pub(crate) fn notice_text(&self, notice: &OutboxNotice) -> Result<Option<NoticeText>> {
        let Some(about) = NoticeSubject::read(notice) else { return Ok(None) };
        let gate = self.gate(about.gate)?;
        let is_needed = gate.is_open() == (about.occasion != NoticeReason::Settled);
        Ok(is_needed.then(|| NoticeText::of(&gate, &self.space_name, &notice.id, &about)))
    }
}

fn state(told: NoticeRecord, about: NoticeSubject, handle: &str) -> NoticeState {
    let NoticeRecord { under_way: PendingNotice { notice, due_at, error }, settled_at } = told;
    NoticeState {
        id: short_id(&notice.id),
        gate: about.gate,
        handle: handle.into(),
        person: about.person,
        channel: notice.channel,
        occasion: about.occasion,
        level: about.level,
        attempts: notice.attempts,
        sent_at: settled_at.filter(|_| error.is_none()),
        due_at: Some(due_at).filter(|_| settled_at.is_none()),
        error,
    }
}
