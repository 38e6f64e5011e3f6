//! `sayso answer`: answers a gate of any shape.

use super::shared::{self, GateArgs};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{card, editor};
use sayso_core::gate::{self, Gate};
use sayso_core::{Actor, Answer, AnswerContent, AnswerShape, Code, CommandExit};
use sayso_engine::{CardAnswer, Desk};
use sayso_server::text;
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
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    which: GateArgs,
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

pub(crate) fn run(args: AnswerArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let says_nothing = args.answer.is_empty() && args.form.is_none() && args.arguments.is_none();
    if says_nothing && args.other.is_none() && !args.which.id.contains(',') {
        let (desk, actor) = context.open_to_answer()?;
        let gate = desk.gate(desk.find_gate(&args.which.id)?)?;
        if matches!(gate.card.shape, AnswerShape::Form { .. }) {
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
            (_, Some(form), _) => with(AnswerContent::Form(form.clone())),
            (_, None, Some(arguments)) => with(AnswerContent::Arguments(arguments.clone())),
            (AnswerShape::Verdict, None, None) => verdict(&typed)?,
            (AnswerShape::Choice { .. }, None, None) => {
                Answer::choice(shared::picks(gate, &typed), other.clone())
            }
            (AnswerShape::Text | AnswerShape::Form { .. }, None, None) => {
                Answer::text(typed.join(" "))
            }
        };
        Ok(Answer { reason: reason.clone().or(answer.reason.clone()), ..answer })
    })
}

/// Fills a form in with the editor. The card is shown there, so the person has seen that version. If the answer
/// cannot be recorded, the text is kept.
pub(super) fn fill_in(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
    which: &GateArgs,
    reason: Option<String>,
) -> Result<CommandExit> {
    gate::check_is_open(gate)?;
    let AnswerShape::Form { schema } = &gate.card.shape else {
        return Err(Failure::new(Code::WrongAnswer, "this gate takes no form"));
    };
    if context.globals.no_input {
        let message = "the form is not filled in, and no editor may be opened";
        let how = card::how_to_answer(gate).join(", or ");
        return Err(Failure::new(Code::NoInput, message).hint(how));
    }
    let fields = text::fields(schema);
    let empty = text::to_fill_in(&gate.card.question, &fields, None);
    let Some(written) = editor::change(&empty, FORM_ENDING)? else {
        return Err(Failure::new(Code::EmptyAnswer, "nothing was filled in"));
    };
    let no_json = |e| Failure::new(Code::InvalidForm, format!("what was written is no JSON: {e}"));
    let answered = text::filled_in(&fields, &written).map_err(no_json).and_then(|form| {
        let answer = Answer { reason, ..with(AnswerContent::Form(form)) };
        let named = which.digest.clone().unwrap_or_else(|| gate.digest.to_string());
        let say = CardAnswer { digest: named, ..shared::card_answer(gate, actor, which, answer) };
        shared::answer_card(context, desk, actor, gate, say)
    });
    if answered.is_err() {
        let kept = editor::keep_unused(&written, FORM_ENDING)?;
        context
            .out
            .message(&format!("What you wrote was not recorded; it is in {}", kept.display()));
    }
    answered
}

fn with(content: AnswerContent) -> Answer {
    Answer { content, ..Answer::approved() }
}

fn json(context: &CliContext<'_>, typed: &str, what: &str) -> Result<Value> {
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
