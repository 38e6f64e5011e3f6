//! `sayso answer`: answer whatever is asked.

use super::shared::{self, Which};
use crate::context::Context;
use crate::exit::{Failure, Result};
use sayso_core::{Answer, Code, Content, Exit, Shape};
use serde_json::Value;

/// Answer whatever is asked: a verdict, a text, a choice or a form.
///
/// For a verdict say `yes` or `no` in full; nothing else counts as one.
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
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
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

fn with(content: Content) -> Answer {
    Answer { content, ..Answer::approved() }
}

/// A form as it was typed.
pub(crate) fn form(typed: &str) -> Result<Answer> {
    Ok(with(Content::Form(parse(typed, "form")?)))
}

fn json(context: &Context<'_>, typed: &str, what: &str) -> Result<Value> {
    parse(&context.text(typed)?, what)
}

fn parse(typed: &str, what: &str) -> Result<Value> {
    serde_json::from_str(typed)
        .map_err(|e| Failure::new(Code::InvalidForm, format!("the {what} given is not JSON: {e}")))
}

/// Only these words are a verdict: nothing means yes by accident.
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
