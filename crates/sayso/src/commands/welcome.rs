//! Bare `sayso`: shows open requests, and the commands to answer them.

use super::shared;
use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::when;
use sayso_core::gate::Whose;
use sayso_core::{Actor, Code, Deed, Exit};
use sayso_engine::{Asked, Desk, InboxFilter, Page};
use sayso_server::wire;

/// The number of gates shown; more are in `inbox`.
const SHOWN: usize = 5;

/// The maximum number of alerts fetched.
const ALERTS_MAX: usize = 20;

/// The maximum number of cards counted.
const COUNTED_MAX: usize = 200;

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
    if out.json {
        let filter = InboxFilter { limit: SHOWN, ..InboxFilter::default() };
        let page = desk.inbox(&actor, &filter)?;
        let items = page.items.iter().map(|card| wire::Card::of(card, &when::rfc3339)).collect();
        let next = page.items.last().filter(|_| page.more).map(|c| c.gate.handle().to_owned());
        let alerts = desk.alerts(&actor, ALERTS_MAX)?;
        let alerts = alerts.iter().map(|alert| wire::Alert::of(alert, &when::rfc3339)).collect();
        out.json(&wire::Inbox { items, next, alerts });
        return Ok(Exit::Ok);
    }
    match actor.may(Deed::Answer) {
        true => to_person(context, &desk, &actor)?,
        false => to_others(context, &desk, &actor)?,
    }
    Ok(Exit::Ok)
}

/// Prints the gates this person may answer, the commands for that, and the number of gates of others.
fn to_person(context: &Context<'_>, desk: &Desk, actor: &Actor) -> Result<()> {
    let out = context.out;
    let mut yours = cards(desk, actor, Some(Whose::Yours))?;
    let groups = cards(desk, actor, Some(Whose::Groups))?;
    let others = cards(desk, actor, Some(Whose::Others))?;
    yours.more |= groups.more;
    yours.items.extend(groups.items);
    let space = out.paint(Look::Name, desk.space_name());
    match (yours.items.len(), yours.more) {
        (0, _) => out.line(&format!("Nothing waits for you in {space}.")),
        (1, false) => out.line(&format!("One thing waits for you in {space}:")),
        (many, false) => out.line(&format!("{many} things wait for you in {space}:")),
        (many, true) => out.line(&format!("{many} things or more wait for you in {space}:")),
    }
    print(context, desk, &yours)?;
    let plus = if others.more { " or more" } else { "" };
    match others.items.len() {
        0 => {}
        1 => out.line("One more waits for others: sayso inbox --plain --whose others"),
        many => {
            out.line(&format!("{many}{plus} wait for others: sayso inbox --plain --whose others"))
        }
    }
    out.line("");
    match yours.items.first() {
        Some(Asked { gate, .. }) => {
            out.line(&format!("  sayso show {}    look at it first", gate.handle()));
            card::how_to_answer(gate).iter().for_each(|how| out.line(&format!("  {how}")));
        }
        None => what_else(out),
    }
    Ok(())
}

/// Prints the open gates for a caller who may not answer, without commands that would be refused. An agent is shown
/// its own.
fn to_others(context: &Context<'_>, desk: &Desk, actor: &Actor) -> Result<()> {
    let out = context.out;
    let all = cards(desk, actor, None)?;
    let space = out.paint(Look::Name, desk.space_name());
    match (all.items.len(), all.more) {
        (0, _) => out.line(&format!("Nothing waits for a person in {space}.")),
        (1, false) => out.line(&format!("One thing waits for a person in {space}:")),
        (many, false) => out.line(&format!("{many} things wait for a person in {space}:")),
        (many, true) => out.line(&format!("{many} things or more wait for a person in {space}:")),
    }
    print(context, desk, &all)?;
    out.line("");
    what_else(out);
    Ok(())
}

fn cards(desk: &Desk, actor: &Actor, whose: Option<Whose>) -> Result<Page<Asked>> {
    let filter = InboxFilter { whose, limit: COUNTED_MAX, ..InboxFilter::default() };
    Ok(desk.inbox(actor, &filter)?)
}

fn print(context: &Context<'_>, desk: &Desk, page: &Page<Asked>) -> Result<()> {
    let shown = page.items.get(..SHOWN).unwrap_or(&page.items);
    if shown.is_empty() {
        return Ok(());
    }
    context.out.line("");
    shared::print_cards(context, desk, shown)?;
    if page.items.len() > shown.len() {
        context.out.line(&context.out.paint(Look::Faint, "   … and more: sayso inbox"));
    }
    Ok(())
}

fn what_else(out: &Out) {
    out.line("  sayso ask \"…\"   ask something");
    out.line("  sayso ready     what can be worked on");
    out.line("  sayso --help    everything else");
}
