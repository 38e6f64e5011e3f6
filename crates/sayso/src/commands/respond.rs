//! `sayso respond`: answers a question with a text.

use super::answer;
use super::shared::{self, GateArgs};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{card, editor};
use clap_complete::ArgValueCompleter;
use sayso_core::gate::{self, Gate};
use sayso_core::text::sanitize;
use sayso_core::{Answer, AnswerShape, Code, CommandExit, GateKind, answer_input};
use sayso_engine::{CardAnswer, InboxFilter};
use std::ffi::OsStr;
use std::io::{BufRead, Write};

/// Answer a question with a text.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso respond t7k2 \"Use JWT tokens with 24h expiry\"
  sayso respond t7k2 --edit          write it in your editor, with the question above
  sayso respond --all                go through everything that waits
  git diff | sayso respond g7k2 -    take the text from standard input")]
pub(crate) struct RespondArgs {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", required_unless_present = "all", add = ArgValueCompleter::new(ids))]
    id: Option<String>,
    /// The answer; a dash reads it from standard input.
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Write it in $EDITOR.
    #[arg(short, long)]
    edit: bool,
    /// Take this ready answer; `show` names those that fit.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["text", "edit", "all"])]
    template: Option<String>,
    /// Go through everything that waits, one after the other.
    #[arg(long, conflicts_with_all = ["id", "edit"])]
    all: bool,
    /// The digest of the card you saw; refused when the card has changed since.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Answer this gate alone, and no other with the same question.
    #[arg(long)]
    only: bool,
}

fn ids(typed: &OsStr) -> Vec<clap_complete::CompletionCandidate> {
    shared::live_ids(typed)
}

pub(crate) fn run(args: RespondArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let Some(id) = args.id else { return walk(context) };
    let which = GateArgs { id, digest: args.digest, only: args.only };
    if let Some(name) = &args.template {
        // A caller who may not answer is told that, and does not see the ready answers.
        context.open_to_answer()?;
        let text = template(context, name)?;
        return shared::answer(context, &which, |gate| as_answer(gate, &text));
    }
    if args.edit || args.text.is_empty() {
        return edit_and_answer(context, &which);
    }
    let typed = context.words(&args.text)?;
    shared::answer(context, &which, |gate| as_answer(gate, &typed))
}

fn template(context: &CliContext<'_>, name: &str) -> Result<String> {
    let all = context.desk()?.templates()?;
    let known: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    let hint = if known.is_empty() {
        "there are none; they are set in a fleet file: sayso apply --help".into()
    } else {
        format!("there are {}", known.join(", "))
    };
    let found = all.iter().find(|(known, _)| known == name);
    let missing = || Failure::new(Code::NotFound, format!("there is no template {name}"));
    Ok(found.ok_or_else(|| missing().hint(hint))?.1.answer.clone())
}

/// Answers with the editor. The card is shown there, so the person has seen that version. If the answer cannot be
/// recorded, the text is kept.
fn edit_and_answer(context: &CliContext<'_>, which: &GateArgs) -> Result<CommandExit> {
    let (desk, actor) = context.open_to_answer()?;
    let gate = desk.gate(desk.find_gate(&which.id)?)?;
    if matches!(gate.card.shape, AnswerShape::Form { .. }) {
        return answer::fill_in(context, &desk, &actor, &gate, which, None);
    }
    check_takes_words(&gate)?;
    gate::check_is_open(&gate)?;
    let text = edit(context, &gate)?;
    let answered = as_answer(&gate, &text).and_then(|answer| {
        let named = which.digest.clone().unwrap_or_else(|| gate.digest.to_string());
        let say = CardAnswer { digest: named, ..shared::card_answer(&gate, &actor, which, answer) };
        shared::answer_card(context, &desk, &actor, &gate, say)
    });
    if answered.is_err() && !text.is_empty() {
        context.out.message(&format!("What you wrote was not recorded:\n{}", sanitize(&text).text));
    }
    answered
}

fn edit(context: &CliContext<'_>, gate: &Gate) -> Result<String> {
    if context.globals.no_input {
        return Err(Failure::new(Code::NoInput, "there is no text, and no editor may be opened")
            .hint("give the text: sayso respond ID \"your answer\""));
    }
    let written = editor::write_below(&gate.card.question, &gate.card.narrative, "")?;
    Ok(written.unwrap_or_default())
}

/// Checks that the gate takes a text. On a gate that takes a verdict a text is refused, except as direction: "not
/// yet" must not approve anything.
fn check_takes_words(gate: &Gate) -> Result<()> {
    let is_verdict = matches!(gate.card.shape, AnswerShape::Verdict);
    if !is_verdict || gate.opened.kind == GateKind::Escalation {
        return Ok(());
    }
    let message = format!("gate {} takes a verdict, not a text", gate.handle());
    let how = card::how_to_answer(gate).join(", or ");
    Err(Failure::new(Code::WrongAnswer, message).hint(how))
}

/// Turns a text into an answer: the name of an option picks it; other words are a custom answer, if that is allowed.
fn as_answer(gate: &Gate, text: &str) -> Result<Answer> {
    check_takes_words(gate)?;
    Ok(match &gate.card.shape {
        AnswerShape::Choice { .. } => {
            let (picked, other) = shared::picks_or_words(gate, text)?;
            Answer::choice(picked, other)
        }
        AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => Answer::text(text),
    })
}

/// Prompts for every gate that takes a text; an empty line leaves a gate open.
fn walk(context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    if context.globals.no_input || out.json {
        return Err(Failure::new(Code::NoInput, "going through everything needs a person to type")
            .hint("answer one by one: sayso respond ID \"your answer\""));
    }
    let (desk, actor) = context.open_to_answer()?;
    let filter = InboxFilter { limit: 1_000, ..InboxFilter::default() };
    let cards = desk.inbox(&actor, &filter)?.items;
    let asked: Vec<_> = cards
        .into_iter()
        .filter(|card| {
            matches!(card.gate.card.shape, AnswerShape::Text | AnswerShape::Choice { .. })
        })
        .collect();
    if asked.is_empty() {
        out.remark("no question waits for an answer");
    }
    let mut lines = std::io::stdin().lock().lines();
    for card in asked {
        let gate = &card.gate;
        out.message(&card::asked_card(out, &card, desk.now()));
        desk.see_card(&actor, &card)?;
        let how = answer_input::input_help(&gate.card.shape);
        let _ = write!(std::io::stderr(), "\n{how} (empty to skip): ");
        let Some(line) = lines.next() else { break };
        let line = line?;
        if line.trim().is_empty() {
            out.message("left open");
            continue;
        }
        let same = card.same.as_ref().map(ToString::to_string);
        let (id, digest) = (gate.opened.id, gate.digest.to_string());
        let said = answer_input::parse_answer(&gate.card.shape, &line).map_err(Failure::from);
        let said = said.map(|answer| CardAnswer { gate: id, answer, digest, same });
        // A mistyped answer leaves its gate open; a gate that another person answered meanwhile does not end the
        // loop.
        let answered = said.and_then(|say| shared::answer_card(context, &desk, &actor, gate, say));
        if let Err(failure) = answered {
            out.error(failure.code.as_str(), &failure.message, failure.hint.as_deref());
        }
    }
    Ok(CommandExit::Ok)
}
