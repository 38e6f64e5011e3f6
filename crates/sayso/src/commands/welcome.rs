//! Bare `sayso`: what waits, and what to do.

use super::shared;
use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::when;
use sayso_core::{Code, Deed, Exit};
use sayso_engine::{Asked, InboxFilter};
use sayso_server::wire;

/// How many gates are shown before `inbox` is pointed to.
const SHOWN: usize = 5;

/// How many alerts are told.
const ALERTS_MAX: usize = 20;

/// How far gates are counted.
const COUNTED_MAX: usize = 1_000;

pub(super) fn run(context: &Context<'_>) -> Result<Exit> {
    let out = context.out;
    let (desk, actor) = match context.sit_down() {
        Err(failure) if failure.code == Code::NoSpace && !out.json => {
            out.line("There is no space here yet.");
            out.line("");
            out.line("  sayso init      make one in this folder");
            out.line("  sayso --help    everything else");
            return Ok(Exit::Ok);
        }
        outcome => outcome?,
    };
    let filter = InboxFilter { limit: SHOWN, ..InboxFilter::default() };
    let page = desk.inbox(&actor, &filter)?;
    if out.json {
        let items = page.items.iter().map(|card| wire::Card::of(card, &when::rfc3339)).collect();
        let next = page.items.last().filter(|_| page.more).map(|c| c.gate.handle().to_owned());
        let alerts = desk.alerts(&actor, ALERTS_MAX)?;
        let alerts = alerts.iter().map(|alert| wire::Alert::of(alert, &when::rfc3339)).collect();
        out.json(&wire::Inbox { items, next, alerts });
        return Ok(Exit::Ok);
    }
    // An agent is shown its own; how many others there are is not for it.
    let count = match actor.may(Deed::Read) && page.more {
        true => desk.count_open_gates(COUNTED_MAX)?,
        false => page.items.len(),
    };
    let space = out.paint(Look::Name, desk.space_name());
    match count {
        0 => out.line(&format!("Nothing waits for you in {space}.")),
        1 => out.line(&format!("One thing waits for you in {space}:")),
        COUNTED_MAX => out.line(&format!("{COUNTED_MAX} things or more wait for you in {space}:")),
        many => out.line(&format!("{many} things wait for you in {space}:")),
    }
    if count > 0 {
        out.line("");
    }
    shared::print_cards(context, &desk, &page.items)?;
    if count > page.items.len() {
        out.line(&out.paint(Look::Faint, "   … and more: sayso inbox"));
    }
    out.line("");
    match page.items.first() {
        Some(Asked { gate, .. }) => {
            out.line(&format!("  sayso show {}    look at it first", gate.handle()));
            card::how_to_answer(gate).iter().for_each(|how| out.line(&format!("  {how}")));
        }
        None => {
            out.line("  sayso ask \"…\"   ask something");
            out.line("  sayso ready     what can be worked on");
            out.line("  sayso --help    everything else");
        }
    }
    Ok(Exit::Ok)
}
