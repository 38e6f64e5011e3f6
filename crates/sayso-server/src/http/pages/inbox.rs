//! The inbox page: the cards that wait for people, and beside them the selected card.

use super::super::gates::kinds;
use super::super::route::{EmptyInput, OperationInput};
use super::card::CardRow;
use super::frame::{PageFrame, escaped};
use super::{HtmlPage, PageContext};
use askama::Template;
use sayso_core::gate::{AlertKind, GateAlert, GateAudience};
use sayso_core::text::sanitize_line;
use sayso_engine::{
    CardView as AskedCard, CollapseRule, CollapsedAsker, GateFilter, InboxFilter, ListPage, Result,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The number of cards on a page.
const CARDS: usize = 50;

/// The most cards of one asker that are listed; the rest of theirs is one row.
const EACH_MAX: usize = 20;

/// The most alerts that are shown.
const ALERTS_MAX: usize = 5;

#[derive(Deserialize, JsonSchema)]
pub(super) struct InboxPageQuery {
    #[serde(default)]
    view: InboxView,
    kind: Option<String>,
    /// Only the cards of this asker.
    asker: Option<String>,
    after: Option<String>,
    /// Only the list, for a page that is already loaded.
    #[serde(default)]
    part: Option<String>,
}

/// The lists of the inbox.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum InboxView {
    #[default]
    Yours,
    Groups,
    All,
    Done,
}

pub(super) struct InboxTab {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) is_here: bool,
}

const TABS: [(InboxView, &str, &str); 4] = [
    (InboxView::Yours, "yours", "You"),
    (InboxView::Groups, "groups", "Your groups"),
    (InboxView::All, "all", "Watching"),
    (InboxView::Done, "done", "Done"),
];

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: PageFrame,
    list: InboxPart,
}

#[derive(Template)]
#[template(path = "inbox_list.html")]
struct InboxPart {
    base: String,
    tabs: Vec<InboxTab>,
    view: &'static str,
    rows: Vec<CardRow>,
    many: Vec<CollapsedRow>,
    /// The asker whose cards these are, where it is one asker's only; for people, and for an address.
    asker: Option<String>,
    asker_address: Option<String>,
    more: Option<String>,
    alerts: Vec<AlertView>,
    /// Warnings about agents that exceed the rate limit of questions.
    hurried: Vec<String>,
    is_first_page: bool,
    /// True if the list stands alone: then it has its tabs and the search field.
    has_head: bool,
    /// The number of cards that wait for this person, for the head of the page.
    waiting: String,
}

/// The cards of one asker beyond those that are listed.
struct CollapsedRow {
    asker: String,
    address: String,
    count: usize,
    /// True if there may be more than that.
    more: bool,
}

struct AlertView {
    gate: String,
    what: String,
    hint: String,
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, InboxPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let frame = at.frame("inbox")?;
    let list = list(at, &asked.query, &frame)?;
    match asked.query.part {
        Some(_) => HtmlPage::of(&list),
        None => HtmlPage::of(&InboxPage { frame, list }),
    }
}

fn list(at: &PageContext, query: &InboxPageQuery, frame: &PageFrame) -> Result<InboxPart> {
    let (page, crowds) = cards(at, query)?;
    let last = page.items.last().map(|card| card.gate.opened.id.to_string());
    let is_first_page = query.after.is_none();
    let alerts = if query.view != InboxView::Done && is_first_page {
        at.desk.alerts(&at.actor, ALERTS_MAX)?
    } else {
        vec![]
    };
    let tab = |(view, name, title)| InboxTab { name, title, is_here: view == query.view };
    let here = TABS.iter().find(|(view, ..)| *view == query.view);
    Ok(InboxPart {
        base: frame.base.clone(),
        waiting: frame.waiting.clone(),
        tabs: TABS.map(tab).into(),
        view: here.map_or("yours", |(_, name, _)| name),
        rows: CardRow::all(at, &page.items)?,
        // In the list of all cards, which has no one audience, the count of an asker is not complete: a later page
        // may find more of theirs.
        many: crowds
            .iter()
            .filter(|_| is_first_page || query.view != InboxView::All)
            .map(many)
            .collect(),
        asker: query.asker.as_deref().map(sanitize_line),
        asker_address: query.asker.as_deref().map(escaped),
        more: last.filter(|_| page.more),
        // An unseen card is being looked at now, so its alert is left out.
        alerts: alerts.iter().filter(|a| a.trouble != AlertKind::Unseen).map(alert).collect(),
        hurried: at.local.asked_too_fast().iter().map(hurried).collect(),
        is_first_page,
        has_head: is_first_page || query.part.is_none(),
    })
}

fn many(crowd: &CollapsedAsker) -> CollapsedRow {
    let CollapsedAsker { asker, count, more } = crowd;
    CollapsedRow {
        asker: sanitize_line(asker),
        address: escaped(asker),
        count: *count,
        more: *more,
    }
}

fn hurried((agent, refused): &(String, u64)) -> String {
    let agent = sanitize_line(agent);
    format!(
        "{agent} asks faster than it may: {refused} of its questions were not taken. Is it in a loop?"
    )
}

fn cards(
    at: &PageContext,
    query: &InboxPageQuery,
) -> Result<(ListPage<AskedCard>, Vec<CollapsedAsker>)> {
    let kinds = query.kind.as_deref().map_or(Ok(vec![]), kinds)?;
    let after = query.after.as_deref().map(|name| at.gate(name)).transpose()?;
    let whose = match query.view {
        InboxView::Yours => Some(GateAudience::Yours),
        InboxView::Groups => Some(GateAudience::Groups),
        InboxView::All => None,
        InboxView::Done => return Ok((done(at, kinds, query.asker.clone(), after)?, vec![])),
    };
    // A list for watching has snoozed cards, too; a list of work to do has them when they are back.
    let all = query.view == InboxView::All;
    let filter = InboxFilter { kinds, whose, all, after, limit: CARDS };
    let thin = query.asker.as_deref().map_or(CollapseRule::Each(EACH_MAX), CollapseRule::Asker);
    at.local.thinned_inbox(&at.actor, &filter, thin)
}

/// Returns ended gates, newest first, each by itself.
fn done(
    at: &PageContext,
    kinds: Vec<sayso_core::GateKind>,
    asker: Option<String>,
    after: Option<sayso_core::GateId>,
) -> Result<ListPage<AskedCard>> {
    let filter =
        GateFilter { ended: true, kinds, asker, after, limit: CARDS, ..GateFilter::default() };
    let page = at.desk.gates(&at.actor, filter)?;
    Ok(ListPage { items: page.items.into_iter().map(AskedCard::alone).collect(), more: page.more })
}

fn alert(alert: &GateAlert) -> AlertView {
    AlertView {
        gate: alert.gate.clone(),
        what: sanitize_line(&alert.what),
        hint: sanitize_line(&alert.hint),
    }
}
