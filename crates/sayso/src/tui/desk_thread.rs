//! The desk thread: runs the inbox's requests against the desk and returns the results as events, so that the screen
//! never waits for the desk.

use super::state::{
    CardCount, InboxEffect, InboxEvent, InboxListKind, InboxRow, InboxScope, LoadedPage,
    RefreshedList,
};
use crate::cli::GlobalArgs;
use crate::commands::{send_answer, send_answers};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::CliOutput;
use crate::{identity, time};
use sayso_core::gate::{AlertKind, GateAudience};
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, EntryPoint, GateId, TaskId};
use sayso_engine::{AnswerOutcome, CardAnswer, CardView, Desk, GateFilter, InboxFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The page size of the list.
const CARDS: usize = 50;

/// The maximum number of alerts shown.
const ALERTS_MAX: usize = 5;

/// The duration of a claim.
const CLAIM: &str = "30m";

/// The time for which changes are awaited before due timers are fired again.
const LISTEN: Duration = Duration::from_secs(5);

/// The initial back-off after a failure of the desk.
const PAUSE: Duration = Duration::from_secs(1);

/// The maximum back-off: it doubles each time.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Calls the desk for the inbox.
pub(super) struct DeskThread {
    pub(super) desk: Desk,
    /// The person at this terminal.
    pub(super) me: Actor,
    pub(super) scope: InboxScope,
    pub(super) globals: GlobalArgs,
}

impl DeskThread {
    /// Runs an effect and returns the resulting event; none if the effect has no reply.
    pub(super) fn run(&self, effect: InboxEffect) -> Option<InboxEvent> {
        match effect {
            InboxEffect::Load { list, view, after } => {
                let page = self.page(view, after);
                Some(InboxEvent::Page { list, is_first: after.is_none(), page })
            }
            InboxEffect::Refresh { list, view, gates } => {
                let found = self.refresh(view, &gates);
                Some(InboxEvent::Refreshed { list, found })
            }
            InboxEffect::Look(gate) => Some(InboxEvent::Looked { gate, found: self.look(gate) }),
            InboxEffect::See(asked) => {
                // A read-only store cannot record it, and may still be read.
                let _ = self.desk.see_card(&self.me, &asked);
                None
            }
            InboxEffect::Prove => Some(InboxEvent::Proved(self.verify_person())),
            InboxEffect::Send(says) => {
                let gates = says.iter().map(|say| say.gate).collect();
                Some(InboxEvent::Sent(gates, self.send(says)))
            }
            InboxEffect::Snooze(gate, typed) => {
                Some(InboxEvent::Done(gate, self.snooze(gate, &typed)))
            }
            InboxEffect::Claim(gate) => Some(InboxEvent::Done(gate, self.claim(gate))),
            InboxEffect::Release(gate) => Some(InboxEvent::Done(gate, self.release(gate))),
            InboxEffect::Delegate(gate, to) => {
                Some(InboxEvent::Done(gate, self.delegate(gate, &to)))
            }
            // The main loop handles these, since it owns the terminal.
            InboxEffect::Unlock
            | InboxEffect::Write(..)
            | InboxEffect::Copy(_)
            | InboxEffect::Suspend
            | InboxEffect::Leave => None,
        }
    }

    fn page(&self, view: InboxListKind, after: Option<GateId>) -> Result<LoadedPage> {
        let kinds = self.scope.kinds.clone();
        let whose = match view {
            InboxListKind::Yours => Some(GateAudience::Yours),
            InboxListKind::Groups => Some(GateAudience::Groups),
            InboxListKind::All => None,
            InboxListKind::Done => return self.done(after),
        };
        // The view of all gates includes snoozed ones; a personal list shows them when they are back.
        let all = self.scope.all || view == InboxListKind::All;
        let filter = InboxFilter { kinds, whose, all, after, limit: CARDS };
        let page = self.desk.inbox(&self.me, &filter)?;
        let alerts = match after {
            None => self.desk.alerts(&self.me, ALERTS_MAX)?,
            Some(_) => vec![],
        };
        // An alert about an unseen card is left out: this person is seeing it now.
        let alerts = alerts.iter().filter(|alert| alert.trouble != AlertKind::Unseen);
        let alerts = alerts.map(|alert| sanitize_line(&format!("{}: {}", alert.gate, alert.what)));
        let next = page.items.last().filter(|_| page.more).map(|card| card.gate.opened.id);
        let count = CardCount { number: page.items.len(), and_more: page.more };
        let in_groups = match (view, after) {
            (InboxListKind::Yours, None) => Some(self.count_in_groups()?),
            (InboxListKind::Groups, None) => Some(count),
            _ => None,
        };
        Ok(LoadedPage { rows: self.rows(page.items)?, next, alerts: alerts.collect(), in_groups })
    }

    /// The number of cards in the person's groups, shown beside their own list.
    fn count_in_groups(&self) -> Result<CardCount> {
        let (kinds, all) = (self.scope.kinds.clone(), self.scope.all);
        let whose = Some(GateAudience::Groups);
        let filter = InboxFilter { kinds, whose, all, after: None, limit: CARDS };
        let page = self.desk.inbox(&self.me, &filter)?;
        Ok(CardCount { number: page.items.len(), and_more: page.more })
    }

    /// A page of ended gates, newest first, not collapsed.
    fn done(&self, after: Option<GateId>) -> Result<LoadedPage> {
        let kinds = self.scope.kinds.clone();
        let filter =
            GateFilter { ended: true, kinds, after, limit: CARDS, ..GateFilter::default() };
        let page = self.desk.gates(&self.me, filter)?;
        let next = page.items.last().filter(|_| page.more).map(|gate| gate.opened.id);
        let rows = self.rows(page.items.into_iter().map(CardView::alone).collect())?;
        Ok(LoadedPage { rows, next, alerts: vec![], in_groups: None })
    }

    fn rows(&self, cards: Vec<CardView>) -> Result<Vec<InboxRow>> {
        let tasks: BTreeSet<TaskId> =
            cards.iter().filter_map(|card| card.gate.opened.task).collect();
        let names = if tasks.is_empty() {
            vec![]
        } else {
            self.desk.task_names(&tasks.into_iter().collect::<Vec<_>>())?
        };
        let names: BTreeMap<_, _> = names.into_iter().map(|(id, handle, _)| (id, handle)).collect();
        let row = |card: CardView| {
            let task = card.gate.opened.task.and_then(|task| names.get(&task)).cloned();
            InboxRow::new(card, task)
        };
        Ok(cards.into_iter().map(row).collect())
    }

    fn refresh(&self, view: InboxListKind, gates: &[GateId]) -> Result<RefreshedList> {
        let cards = gates.iter().map(|gate| self.desk.card(&self.me, *gate));
        let cards = cards.collect::<sayso_engine::Result<_>>()?;
        Ok(RefreshedList { first: self.page(view, None)?, cards })
    }

    fn look(&self, gate: GateId) -> Result<Box<(CardView, sayso_core::gate::Receipt)>> {
        let asked = self.desk.card(&self.me, gate)?;
        Ok(Box::new((asked, self.desk.receipt(&self.me, gate)?)))
    }

    /// Verifies the person; true if this terminal must be unlocked first.
    fn verify_person(&self) -> Result<bool> {
        let (actor, is_locked) = identity::person_at_hand(&self.desk)?;
        identity::check_may_answer(&self.desk, &actor, "answer")?;
        Ok(is_locked)
    }

    /// Runs a call as the person, as every command that amounts to a verdict does. Nothing is prompted for here:
    /// there is no line to prompt on.
    fn with_person<T>(&self, deed: impl FnOnce(&CliContext<'_>, &Actor) -> Result<T>) -> Result<T> {
        let globals = GlobalArgs { no_input: true, json: true, ..self.globals.clone() };
        let out = CliOutput::new(&globals);
        let context = CliContext { globals, out: &out };
        let actor = identity::person(&context, &self.desk)?;
        deed(&context, &Actor { door: EntryPoint::Tui, ..actor })
    }

    fn send(&self, mut says: Vec<CardAnswer>) -> Result<Vec<AnswerOutcome>> {
        self.with_person(|context, actor| {
            identity::check_may_answer(&self.desk, actor, "answer")?;
            if says.len() != 1 {
                return send_answers(context, &self.desk, actor, says);
            }
            let gate = self.desk.gate(says[0].gate)?;
            let answered = send_answer(context, &self.desk, actor, &gate, says.remove(0))?;
            Ok(vec![AnswerOutcome::Answered(answered)])
        })
    }

    fn snooze(&self, gate: GateId, typed: &str) -> Result<String> {
        let until = time::moment(typed, self.desk.now())?;
        self.with_person(|_, actor| {
            let gate = self.desk.snooze(actor, gate, until)?;
            Ok(match gate.snoozed_until {
                Some(until) => format!("{} comes back {}", gate.handle(), time::local(until)),
                None => format!("{} is back", gate.handle()),
            })
        })
    }

    fn claim(&self, gate: GateId) -> Result<String> {
        let until = time::moment(CLAIM, self.desk.now())?;
        self.with_person(|_, actor| {
            let gate = self.desk.claim(actor, gate, until)?;
            Ok(format!("{} is yours for half an hour", gate.handle()))
        })
    }

    fn release(&self, gate: GateId) -> Result<String> {
        self.with_person(|_, actor| {
            let gate = self.desk.release(actor, gate)?;
            Ok(format!("{} is nobody's any more", gate.handle()))
        })
    }

    fn delegate(&self, gate: GateId, to: &str) -> Result<String> {
        self.with_person(|_, actor| {
            let gate = self.desk.delegate(actor, gate, to, "")?;
            Ok(format!("{} waits for {} in your place", gate.handle(), sanitize_line(to)))
        })
    }

    /// Follows the change feed, and fires due timers: there may be no other process that does. Ends when the receiver
    /// of the events is gone.
    pub(super) fn listen(desk: &Desk, tell: impl Fn(InboxEvent) -> bool) {
        let (mut is_away, mut pause) = (false, PAUSE);
        loop {
            let failure = match Self::follow(desk, &tell, &mut is_away) {
                Ok(()) => return,
                Err(failure) => failure,
            };
            // It was reachable in between.
            if !is_away {
                pause = PAUSE;
            }
            is_away = true;
            if !tell(InboxEvent::Reached(Some((sanitize_line(&failure.message), pause)))) {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn follow(desk: &Desk, tell: &impl Fn(InboxEvent) -> bool, is_away: &mut bool) -> Result<()> {
        let mut follower = desk.follow()?;
        // Changes from before the subscription are loaded, too.
        if !*is_away && !tell(InboxEvent::Changed(vec![])) {
            return Ok(());
        }
        loop {
            match desk.fire_due() {
                Err(error) if error.code() != Code::ReadOnly => return Err(Failure::from(error)),
                _ => {}
            }
            // Only an answered call proves that the desk is back.
            if std::mem::take(is_away) && !tell(InboxEvent::Reached(None)) {
                return Ok(());
            }
            if let Some(changes) = follower.poll(LISTEN)?
                && !tell(InboxEvent::Changed(changes.gates))
            {
                return Ok(());
            }
        }
    }
}
