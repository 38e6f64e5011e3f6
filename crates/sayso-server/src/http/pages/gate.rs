//! The page of a gate, its card alone for the inbox, and the dry run of an answer.

use super::super::gates::AnswerGate;
use super::super::problem::Problem;
use super::super::route::{Asked, Nothing};
use super::card::Card;
use super::frame::{self, Frame};
use super::{Html, Onlooker};
use askama::Template;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Query {
    /// Only the card, for a page that is already loaded.
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

/// Renders a gate. Reading marks nothing as seen; the page does that once it was drawn.
pub(super) fn page(at: &Onlooker, asked: Asked<1, Query, Nothing>) -> Result<Html> {
    let id = at.gate(&asked.names[0])?;
    let (card, receipt) = (at.desk.card(&at.actor, id)?, at.desk.receipt(&at.actor, id)?);
    let card = CardPart { base: frame::base(at), card: Card::of(at, &card, &receipt)? };
    match asked.query.part {
        Some(_) => Html::of(&card),
        None => Html::of(&GatePage { frame: at.frame("inbox")?, card }),
    }
}

/// Validates an answer while the page still holds it back, so that a person does not learn of a refusal after they
/// went on. It has no effect: an answer that would be accepted is not given by this.
pub(super) fn attempt(at: &Onlooker, asked: Asked<1, Nothing, AnswerGate>) -> Result<Value> {
    let say = asked.body.say(at.gate(&asked.names[0])?)?;
    // A refusal is the result of this request, and no failure of it.
    let refused = at.local.would_take(&at.actor, &say).err().map(|error| Problem::of(&error));
    Ok(json!({"refused": refused}))
}
