//! `sayso answer`: answers a gate of any shape.

use super::shared::{self, Which};
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::{card, editor};
use sayso_core::gate::{self, Gate};
use sayso_core::{Actor, Answer, Code, Content, Exit, Shape};
use sayso_engine::{Desk, Say};
use sayso_server::prose;
use serde_json::Value;

/// Tells editors that the JSON has comments.
const FORM_ENDING: &str = ".jsonc";

/// Answer any request: a verdict, a text, a choice or a form.
///
/// For a verdict say `yes` or `no` in full; nothing else counts as one. A form without `--form` is filled in with
/// your editor.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso answer g7k2 yes
  sayso answer g7k2 no --reason \"not on a Friday\"
  sayso answer g7k2 \"Use JWT\"
  sayso answer g7k2 --form '{\"port\": 8080}'
  sayso answer g7k2 --arguments '{\"command\": \"ls\"}'   approve a tool call, edited")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// yes or no, a text, or options.
    #[arg(value_name = "ANSWER")]
    answer: Vec<String>,
    /// A filled form, as JSON; a dash reads it from standard input.
    #[arg(long, value_name = "JSON", conflicts_with = "answer")]
    form: Option<String>,
    /// Approve a tool call with these arguments instead, as JSON.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["answer", "form"])]
    arguments: Option<String>,
    /// Words of your own, where they are an answer to a choice.
    #[arg(long, value_name = "TEXT")]
    other: Option<String>,
    /// The comment sent with the answer.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let says_nothing = args.answer.is_empty() && args.form.is_none() && args.arguments.is_none();
    if says_nothing && args.other.is_none() && !args.which.id.contains(',') {
        let (desk, actor) = context.sit_down_to_answer()?;
        let gate = desk.gate(desk.find_gate(&args.which.id)?)?;
        if matches!(gate.card.shape, Shape::Form { .. }) {
            return fill_in(context, &desk, &actor, &gate, &args.which, args.reason);
        }
    }
    let form = args.form.map(|text| json(context, &text, "form")).transpose()?;
    let arguments = args.arguments.map(|text| json(context, &text, "arguments")).transpose()?;
    let typed = match args.answer.as_slice() {
        [only] => vec![context.text(only)?],
        many => many.to_vec(),
    };
    let (other, reason) = (args.other, args.reason);
    shared::answer(context, &args.which, |gate| {
        let answer = match (&gate.card.shape, &form, &arguments) {
            (_, Some(form), _) => with(Content::Form(form.clone())),
            (_, None, Some(arguments)) => with(Content::Arguments(arguments.clone())),
            (Shape::Verdict, None, None) => verdict(&typed)?,
            (Shape::Choice { .. }, None, None) => {
                Answer::choice(shared::picks(gate, &typed), other.clone())
            }
            (Shape::Text | Shape::Form { .. }, None, None) => Answer::text(typed.join(" ")),
        };
        Ok(Answer { reason: reason.clone().or(answer.reason.clone()), ..answer })
    })
}

/// Fills a form in with the editor. The card is shown there, so the person has seen that version. If the answer
/// cannot be recorded, the text is kept.
pub(super) fn fill_in(
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
    which: &Which,
    reason: Option<String>,
) -> Result<Exit> {
    gate::check_is_open(gate)?;
    let Shape::Form { schema } = &gate.card.shape else {
        return Err(Failure::new(Code::WrongAnswer, "this gate takes no form"));
    };
    if context.globals.no_input {
        let message = "the form is not filled in, and no editor may be opened";
        let how = card::how_to_answer(gate).join(", or ");
        return Err(Failure::new(Code::NoInput, message).hint(how));
    }
    let fields = prose::fields(schema);
    let empty = prose::to_fill_in(&gate.card.question, &fields, None);
    let Some(written) = editor::change(&empty, FORM_ENDING)? else {
        return Err(Failure::new(Code::EmptyAnswer, "nothing was filled in"));
    };
    let no_json = |e| Failure::new(Code::InvalidForm, format!("what was written is no JSON: {e}"));
    let answered = prose::filled_in(&fields, &written).map_err(no_json).and_then(|form| {
        let answer = Answer { reason, ..with(Content::Form(form)) };
        let named = which.digest.clone().unwrap_or_else(|| gate.digest.to_string());
        let say = Say { digest: named, ..shared::say(gate, actor, which, answer) };
        shared::answer_card(context, desk, actor, gate, say)
    });
    if answered.is_err() {
        let kept = editor::keep(&written, FORM_ENDING)?;
        context.out.talk(&format!("What you wrote was not recorded; it is in {}", kept.display()));
    }
    answered
}

fn with(content: Content) -> Answer {
    Answer { content, ..Answer::approved() }
}

fn json(context: &Context<'_>, typed: &str, what: &str) -> Result<Value> {
    parse(&context.text(typed)?, what)
}

fn parse(typed: &str, what: &str) -> Result<Value> {
    serde_json::from_str(typed).map_err(|e| {
        Failure::new(Code::InvalidForm, format!("what is given as {what} is no JSON: {e}"))
    })
}

/// Only these words are a verdict: no other text approves by accident.
fn verdict(typed: &[String]) -> Result<Answer> {
    match typed {
        [] => Err(Failure::new(Code::EmptyAnswer, "say yes or no")
            .hint("sayso answer ID yes, or: sayso answer ID no --reason \"…\"")),
        [word] if matches!(word.as_str(), "yes" | "approve" | "approved") => Ok(Answer::approved()),
        [word] if matches!(word.as_str(), "no" | "reject" | "rejected") => {
            Ok(Answer::rejected(None))
        }
        words => Err(Failure::new(
            Code::WrongAnswer,
            format!("{:?} is neither yes nor no", words.join(" ")),
        )
        .hint("this gate takes a verdict: yes or no; add --reason for more words")),
    }
}
