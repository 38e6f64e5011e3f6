//! The frame of every page: the space, the person, the navigation.

use super::super::auth::RequestContext;
use super::super::route::{EmptyInput, OperationInput};
use super::{HtmlPage, IgnoredQuery, PageContext, assets};
use askama::Template;
use sayso_core::Permission;
use sayso_engine::Result;

/// The most cards that are counted.
const COUNTED_MAX: usize = 100;

/// The frame around a page.
pub(super) struct PageFrame {
    pub(super) space: String,
    /// The path of the space's pages.
    pub(super) base: String,
    pub(super) person: String,
    pub(super) page: &'static str,
    pub(super) version: &'static str,
    /// The number of cards that wait for this person.
    pub(super) waiting: String,
    pub(super) places: Vec<NavEntry>,
}

/// An entry of the navigation.
pub(super) struct NavEntry {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) is_here: bool,
}

const PLACES: [(&str, &str); 8] = [
    ("inbox", "Inbox"),
    ("tasks", "Tasks"),
    ("flows", "Flows"),
    ("live", "Live"),
    ("agents", "Agents"),
    ("policy", "Policy"),
    ("audit", "Audit"),
    ("metrics", "Metrics"),
];

impl PageFrame {
    pub(super) fn of(at: &RequestContext, page: &'static str) -> Result<Self> {
        let places = PLACES.map(|(name, title)| NavEntry { name, title, is_here: name == page });
        Ok(Self {
            base: base(at),
            space: at.desk.space_name().to_owned(),
            person: at.actor.name.clone(),
            page,
            version: assets::VERSION.as_str(),
            waiting: waiting(at)?,
            places: places.into(),
        })
    }
}

/// Returns the number of cards that wait for a person, in words.
fn waiting(at: &RequestContext) -> Result<String> {
    let (count, more) = if at.actor.may(Permission::Read) {
        at.local.count_waiting_for(&at.actor, COUNTED_MAX)?
    } else {
        (0, false)
    };
    Ok(match (count, more) {
        (0, _) => String::new(),
        (some, true) => format!("{some}+"),
        (some, false) => some.to_string(),
    })
}

#[derive(Template)]
#[template(path = "waiting.html")]
struct WaitingPart {
    waiting: String,
}

/// Renders the number alone, for a page that is already loaded.
pub(super) fn count(
    at: &PageContext,
    _: OperationInput<0, IgnoredQuery, EmptyInput>,
) -> Result<HtmlPage> {
    HtmlPage::of(&WaitingPart { waiting: waiting(at)? })
}

/// Returns the path of a space's pages.
pub(super) fn base(at: &RequestContext) -> String {
    format!("/s/{}", escaped(at.desk.space_name()))
}

/// Escapes a name for an address.
pub(super) fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let part = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    name.bytes().map(part).collect()
}
