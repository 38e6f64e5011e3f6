//! Bare `sayso`: shows open requests, and the commands to answer them.

use super::shared;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use sayso_core::gate::GateAudience;
use sayso_core::{Actor, Code, CommandExit, Permission};
use sayso_engine::{CardView, Desk, InboxFilter, ListPage};
use sayso_server::wire;

/// The number of gates shown; more are in `inbox`.
const SHOWN: usize = 5;

/// The maximum number of alerts fetched.
const ALERTS_MAX: usize = 20;

/// The maximum number of cards counted.
const COUNTED_MAX: usize = 200;

pub(super) fn run(context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    let (desk, actor) = match context.open() {
        Err(failure) if failure.code == Code::NoSpace && !out.json => {
            out.line("There is no space here yet.");
            out.line("");
            out.line("  sayso init      make one in this folder");
            out.line("  sayso --help    everything else");
            return Ok(CommandExit::Ok);
        }
        outcome => outcome?,
    };
    if out.json {
        let filter = InboxFilter { limit: SHOWN, ..InboxFilter::default() };
        let page = desk.inbox(&actor, &filter)?;
        let items =
            page.items.iter().map(|card| wire::CardJson::of(card, &time::rfc3339)).collect();
        let next = page.items.last().filter(|_| page.more).map(|c| c.gate.handle().to_owned());
        let alerts = desk.alerts(&actor, ALERTS_MAX)?;
        let alerts =
            alerts.iter().map(|alert| wire::AlertJson::of(alert, &time::rfc3339)).collect();
        out.json(&wire::InboxJson { items, next, alerts });
        return Ok(CommandExit::Ok);
    }
    if actor.may(Permission::Answer) {
        to_person(context, &desk, &actor)?
    } else {
        to_others(context, &desk, &actor)?
    }
    Ok(CommandExit::Ok)
}

/// Prints the gates this person may answer, the commands for that, and the number of gates of others.
fn to_person(context: &CliContext<'_>, desk: &Desk, actor: &Actor) -> Result<()> {
    let out = context.out;
    let mut yours = cards(desk, actor, Some(GateAudience::Yours))?;
    let groups = cards(desk, actor, Some(GateAudience::Groups))?;
    let others = cards(desk, actor, Some(GateAudience::Others))?;
    yours.more |= groups.more;
    yours.items.extend(groups.items);
    let space = out.paint(OutputStyle::Name, desk.space_name());
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
        Some(CardView { gate, .. }) => {
            out.line(&format!("  sayso show {}    look at it first", gate.handle()));
            card::how_to_answer(gate).iter().for_each(|how| out.line(&format!("  {how}")));
        }
        None => what_else(out),
    }
    Ok(())
}

/// Prints the open gates for a caller who may not answer, without commands that would be refused. An agent is shown
/// its own.
fn to_others(context: &CliContext<'_>, desk: &Desk, actor: &Actor) -> Result<()> {
    let out = context.out;
    let all = cards(desk, actor, None)?;
    let space = out.paint(OutputStyle::Name, desk.space_name());
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

fn cards(desk: &Desk, actor: &Actor, whose: Option<GateAudience>) -> Result<ListPage<CardView>> {
    let filter = InboxFilter { whose, limit: COUNTED_MAX, ..InboxFilter::default() };
    Ok(desk.inbox(actor, &filter)?)
}

fn print(context: &CliContext<'_>, desk: &Desk, page: &ListPage<CardView>) -> Result<()> {
    let shown = page.items.get(..SHOWN).unwrap_or(&page.items);
    if shown.is_empty() {
        return Ok(());
    }
    context.out.line("");
    shared::print_cards(context, desk, shown)?;
    if page.items.len() > shown.len() {
        context.out.line(&context.out.paint(OutputStyle::Faint, "   … and more: sayso inbox"));
    }
    Ok(())
}

fn what_else(out: &CliOutput) {
    out.line("  sayso ask \"…\"   ask something");
    out.line("  sayso ready     what can be worked on");
    out.line("  sayso --help    everything else");
}
