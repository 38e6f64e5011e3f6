//! The account page: passkeys, absence, logout.

use super::super::route::{Asked, Nothing};
use super::super::when::rfc3339;
use super::frame::Frame;
use super::people;
use super::{Anything, Html, Onlooker};
use askama::Template;
use sayso_core::Proof;
use sayso_core::text::harmless_line;
use sayso_engine::Result;

#[derive(Template)]
#[template(path = "you.html")]
struct YouPage {
    frame: Frame,
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

pub(super) fn page(at: &Onlooker, _: Asked<0, Anything, Nothing>) -> Result<Html> {
    let passkeys = at.local.passkeys(&at.actor)?.into_iter().map(|it| PasskeyView {
        id: it.id,
        label: harmless_line(&it.label),
        added: rfc3339(it.added_at),
        used: it.used_at.map(rfc3339),
    });
    let away = at.desk.away()?.into_iter().find(|(name, _)| *name == at.actor.name);
    Html::of(&YouPage {
        passkeys: passkeys.collect(),
        is_unlocked: at.actor.proof >= Proof::Passphrase,
        away: away.map(|(_, it)| AwayView { until: rfc3339(it.until), to: it.to }),
        people: people::others(at)?,
        frame: at.frame("you")?,
    })
}
