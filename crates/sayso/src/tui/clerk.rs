//! The desk thread: runs the inbox's requests against the desk and returns the results as events, so that the screen
//! never waits for the desk.

use super::state::{Count, Effect, Event, Page, Refreshed, Row, Scope, View};
use crate::cli::Globals;
use crate::commands::{give, give_several};
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::Out;
use crate::{when, who};
use sayso_core::gate::{Trouble, Whose};
use sayso_core::text::harmless_line;
use sayso_core::{Actor, Code, Door, GateId, TaskId};
use sayso_engine::{Asked, Desk, GateFilter, InboxFilter, Say, SayOutcome};
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
pub(super) struct Clerk {
    pub(super) desk: Desk,
    /// The person at this terminal.
    pub(super) me: Actor,
    pub(super) scope: Scope,
    pub(super) globals: Globals,
}

impl Clerk {
    /// Runs an effect and returns the resulting event; none if the effect has no reply.
    pub(super) fn run(&self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Load { list, view, after } => {
                let page = self.page(view, after);
                Some(Event::Page { list, is_first: after.is_none(), page })
            }
            Effect::Refresh { list, view, gates } => {
                let found = self.refresh(view, &gates);
                Some(Event::Refreshed { list, found })
            }
            Effect::Look(gate) => Some(Event::Looked { gate, found: self.look(gate) }),
            Effect::See(asked) => {
                // A read-only store cannot record it, and may still be read.
                let _ = self.desk.see_card(&self.me, &asked);
                None
            }
            Effect::Prove => Some(Event::Proved(self.prove())),
            Effect::Send(says) => {
                let gates = says.iter().map(|say| say.gate).collect();
                Some(Event::Sent(gates, self.send(says)))
            }
            Effect::Snooze(gate, typed) => Some(Event::Done(gate, self.snooze(gate, &typed))),
            Effect::Claim(gate) => Some(Event::Done(gate, self.claim(gate))),
            Effect::Release(gate) => Some(Event::Done(gate, self.release(gate))),
            Effect::Delegate(gate, to) => Some(Event::Done(gate, self.delegate(gate, &to))),
            // The main loop handles these, since it owns the terminal.
            Effect::Unlock
            | Effect::Write(..)
            | Effect::Copy(_)
            | Effect::Suspend
            | Effect::Leave => None,
        }
    }

    fn page(&self, view: View, after: Option<GateId>) -> Result<Page> {
        let kinds = self.scope.kinds.clone();
        let whose = match view {
            View::Yours => Some(Whose::Yours),
            View::Groups => Some(Whose::Groups),
            View::All => None,
            View::Done => return self.done(after),
        };
        // The view of all gates includes snoozed ones; a personal list shows them when they are back.
        let all = self.scope.all || view == View::All;
        let filter = InboxFilter { kinds, whose, all, after, limit: CARDS };
        let page = self.desk.inbox(&self.me, &filter)?;
        let alerts = match after {
            None => self.desk.alerts(&self.me, ALERTS_MAX)?,
            Some(_) => vec![],
        };
        // An alert about an unseen card is left out: this person is seeing it now.
        let alerts = alerts.iter().filter(|alert| alert.trouble != Trouble::Unseen);
        let alerts = alerts.map(|alert| harmless_line(&format!("{}: {}", alert.gate, alert.what)));
        let next = page.items.last().filter(|_| page.more).map(|card| card.gate.opened.id);
        let count = Count { number: page.items.len(), and_more: page.more };
        let in_groups = match (view, after) {
            (View::Yours, None) => Some(self.count_in_groups()?),
            (View::Groups, None) => Some(count),
            _ => None,
        };
        Ok(Page { rows: self.rows(page.items)?, next, alerts: alerts.collect(), in_groups })
    }

    /// The number of cards in the person's groups, shown beside their own list.
    fn count_in_groups(&self) -> Result<Count> {
        let (kinds, all) = (self.scope.kinds.clone(), self.scope.all);
        let whose = Some(Whose::Groups);
        let filter = InboxFilter { kinds, whose, all, after: None, limit: CARDS };
        let page = self.desk.inbox(&self.me, &filter)?;
        Ok(Count { number: page.items.len(), and_more: page.more })
    }

    /// A page of ended gates, newest first, not collapsed.
    fn done(&self, after: Option<GateId>) -> Result<Page> {
        let kinds = self.scope.kinds.clone();
        let filter =
            GateFilter { ended: true, kinds, after, limit: CARDS, ..GateFilter::default() };
        let page = self.desk.gates(&self.me, filter)?;
        let next = page.items.last().filter(|_| page.more).map(|gate| gate.opened.id);
        let rows = self.rows(page.items.into_iter().map(Asked::alone).collect())?;
        Ok(Page { rows, next, alerts: vec![], in_groups: None })
    }

    fn rows(&self, cards: Vec<Asked>) -> Result<Vec<Row>> {
        let tasks: BTreeSet<TaskId> =
            cards.iter().filter_map(|card| card.gate.opened.task).collect();
        let names = match tasks.is_empty() {
            true => vec![],
            false => self.desk.task_names(&tasks.into_iter().collect::<Vec<_>>())?,
        };
        let names: BTreeMap<_, _> = names.into_iter().map(|(id, handle, _)| (id, handle)).collect();
        let row = |card: Asked| {
            let task = card.gate.opened.task.and_then(|task| names.get(&task)).cloned();
            Row::new(card, task)
        };
        Ok(cards.into_iter().map(row).collect())
    }

    fn refresh(&self, view: View, gates: &[GateId]) -> Result<Refreshed> {
        let cards = gates.iter().map(|gate| self.desk.card(&self.me, *gate));
        let cards = cards.collect::<sayso_engine::Result<_>>()?;
        Ok(Refreshed { first: self.page(view, None)?, cards })
    }

    fn look(&self, gate: GateId) -> Result<Box<(Asked, sayso_core::gate::Receipt)>> {
        let asked = self.desk.card(&self.me, gate)?;
        Ok(Box::new((asked, self.desk.receipt(&self.me, gate)?)))
    }

    /// Verifies the person; true if this terminal must be unlocked first.
    fn prove(&self) -> Result<bool> {
        let (actor, is_locked) = who::person_at_hand(&self.desk)?;
        who::check_may_answer(&self.desk, &actor, "answer")?;
        Ok(is_locked)
    }

    /// Runs a call as the person, as every command that amounts to a verdict does. Nothing is prompted for here:
    /// there is no line to prompt on.
    fn as_person<T>(&self, deed: impl FnOnce(&Context<'_>, &Actor) -> Result<T>) -> Result<T> {
        let globals = Globals { no_input: true, json: true, ..self.globals.clone() };
        let out = Out::new(&globals);
        let context = Context { globals, out: &out };
        let actor = who::person(&context, &self.desk)?;
        deed(&context, &Actor { door: Door::Tui, ..actor })
    }

    fn send(&self, mut says: Vec<Say>) -> Result<Vec<SayOutcome>> {
        self.as_person(|context, actor| {
            who::check_may_answer(&self.desk, actor, "answer")?;
            if says.len() != 1 {
                return give_several(context, &self.desk, actor, says);
            }
            let gate = self.desk.gate(says[0].gate)?;
            let answered = give(context, &self.desk, actor, &gate, says.remove(0))?;
            Ok(vec![SayOutcome::Answered(answered)])
        })
    }

    fn snooze(&self, gate: GateId, typed: &str) -> Result<String> {
        let until = when::moment(typed, self.desk.now())?;
        self.as_person(|_, actor| {
            let gate = self.desk.snooze(actor, gate, until)?;
            Ok(match gate.snoozed_until {
                Some(until) => format!("{} comes back {}", gate.handle(), when::local(until)),
                None => format!("{} is back", gate.handle()),
            })
        })
    }

    fn claim(&self, gate: GateId) -> Result<String> {
        let until = when::moment(CLAIM, self.desk.now())?;
        self.as_person(|_, actor| {
            let gate = self.desk.claim(actor, gate, until)?;
            Ok(format!("{} is yours for half an hour", gate.handle()))
        })
    }

    fn release(&self, gate: GateId) -> Result<String> {
        self.as_person(|_, actor| {
            let gate = self.desk.release(actor, gate)?;
            Ok(format!("{} is nobody's any more", gate.handle()))
        })
    }

    fn delegate(&self, gate: GateId, to: &str) -> Result<String> {
        self.as_person(|_, actor| {
            let gate = self.desk.delegate(actor, gate, to, "")?;
            Ok(format!("{} waits for {} in your place", gate.handle(), harmless_line(to)))
        })
    }

    /// Follows the change feed, and fires due timers: there may be no other process that does. Ends when the receiver
    /// of the events is gone.
    pub(super) fn listen(desk: &Desk, tell: impl Fn(Event) -> bool) {
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
            if !tell(Event::Reached(Some((harmless_line(&failure.message), pause)))) {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn follow(desk: &Desk, tell: &impl Fn(Event) -> bool, is_away: &mut bool) -> Result<()> {
        let mut follower = desk.follow()?;
        // Changes from before the subscription are loaded, too.
        if !*is_away && !tell(Event::Changed(vec![])) {
            return Ok(());
        }
        loop {
            match desk.fire_due() {
                Err(error) if error.code() != Code::ReadOnly => return Err(Failure::from(error)),
                _ => {}
            }
            // Only an answered call proves that the desk is back.
            if std::mem::take(is_away) && !tell(Event::Reached(None)) {
                return Ok(());
            }
            if let Some(changes) = follower.hear(LISTEN)?
                && !tell(Event::Changed(changes.gates))
            {
                return Ok(());
            }
        }
    }
}
