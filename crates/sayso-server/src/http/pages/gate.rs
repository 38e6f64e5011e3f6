//! The page of a gate, its card alone for the inbox, and the dry run of an answer.

use super::super::gates::AnswerGate;
use super::super::problem::ProblemDetails;
use super::super::route::{EmptyInput, OperationInput};
use super::card::FullCardView;
use super::frame::{self, PageFrame};
use super::{HtmlPage, PageContext};
use askama::Template;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
pub(super) struct GatePageQuery {
    /// Only the card, for a page that is already loaded.
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "gate.html")]
struct GatePage {
    frame: PageFrame,
    card: CardPart,
}

#[derive(Template)]
#[template(path = "card.html")]
struct CardPart {
    base: String,
    card: FullCardView,
}

/// Renders a gate. Reading marks nothing as seen; the page does that once it was drawn.
pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<1, GatePageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let id = at.gate(&asked.names[0])?;
    let (card, receipt) = (at.desk.card(&at.actor, id)?, at.desk.receipt(&at.actor, id)?);
    let card = CardPart { base: frame::base(at), card: FullCardView::of(at, &card, &receipt)? };
    match asked.query.part {
        Some(_) => HtmlPage::of(&card),
        None => HtmlPage::of(&GatePage { frame: at.frame("inbox")?, card }),
    }
}

/// Validates an answer while the page still holds it back, so that a person does not learn of a refusal after they
/// went on. It has no effect: an answer that would be accepted is not given by this.
pub(super) fn check_answer(
    at: &PageContext,
    asked: OperationInput<1, EmptyInput, AnswerGate>,
) -> Result<Value> {
    let say = asked.body.say(at.gate(&asked.names[0])?)?;
    // A refusal is the result of this request, and no failure of it.
    let refused =
        at.local.would_take(&at.actor, &say).err().map(|error| ProblemDetails::of(&error));
    Ok(json!({"refused": refused}))
}
