//! The account page: passkeys, absence, logout.

use super::super::route::{EmptyInput, OperationInput};
use super::super::time::rfc3339;
use super::frame::PageFrame;
use super::people;
use super::{HtmlPage, IgnoredQuery, PageContext};
use askama::Template;
use sayso_core::IdentityProof;
use sayso_core::text::sanitize_line;
use sayso_engine::Result;

#[derive(Template)]
#[template(path = "you.html")]
struct AccountPage {
    frame: PageFrame,
    passkeys: Vec<PasskeyView>,
    is_unlocked: bool,
    away: Option<AwayView>,
    /// The people who could be the deputy.
    people: Vec<String>,
}

struct PasskeyView {
    id: String,
    label: String,
    added: String,
    used: Option<String>,
}

struct AwayView {
    until: String,
    to: Option<String>,
}

pub(super) fn page(
    at: &PageContext,
    _: OperationInput<0, IgnoredQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let passkeys = at.local.passkeys(&at.actor)?.into_iter().map(|it| PasskeyView {
        id: it.id,
        label: sanitize_line(&it.label),
        added: rfc3339(it.added_at),
        used: it.used_at.map(rfc3339),
    });
    let away = at.desk.away()?.into_iter().find(|(name, _)| *name == at.actor.name);
    HtmlPage::of(&AccountPage {
        passkeys: passkeys.collect(),
        is_unlocked: at.actor.proof >= IdentityProof::Passphrase,
        away: away.map(|(_, it)| AwayView { until: rfc3339(it.until), to: it.to }),
        people: people::others(at)?,
        frame: at.frame("you")?,
    })
}
