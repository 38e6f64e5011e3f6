//! The page of a gate, and its card alone for the inbox.

use super::super::route::{Asked, Nothing};
use super::card::Card;
use super::frame::{self, Frame};
use super::{Html, Onlooker};
use askama::Template;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;

/// Which part.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Only the card, for a page that is there already.
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "gate.html")]
struct GatePage {
    frame: Frame,
    card: CardPart,
}

#[derive(Template)]
#[template(path = "card.html")]
struct CardPart {
    base: String,
    card: Card,
}

/// Looking changes nothing; a page that was drawn says so.
pub(super) fn page(at: &Onlooker, asked: Asked<1, Query, Nothing>) -> Result<Html> {
    let id = at.gate(&asked.names[0])?;
    let (card, receipt) = (at.desk.card(&at.actor, id)?, at.desk.receipt(&at.actor, id)?);
    let card = CardPart { base: frame::base(at), card: Card::of(at, &card, &receipt)? };
    match asked.query.part {
        Some(_) => Html::of(&card),
        None => Html::of(&GatePage { frame: at.frame("inbox")?, card }),
    }
}
