//! `sayso policy suggest`: suggests rules from past answers.

use super::replay::Records;
use super::wire::Suggestion;
use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::when;
use sayso_core::text::harmless_line;
use sayso_core::{Exit, GateId, Verdict};
use sayso_engine::{Desk, Recorded};
use sayso_policy::Decided;

/// Suggest rules from your own answers: what was always approved need not be asked.
///
/// A suggestion names exactly what was approved, or a subcommand where many of its forms were; one
/// denial is enough to say nothing. It is YAML to be read and put into your policy; nothing is changed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Look at requests from this moment on: 30d, 2026-11-01.
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: String,
    /// Suggest what was approved at least so often.
    #[arg(long, value_name = "N", default_value_t = 5)]
    least: usize,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_to_look()?;
    let since = when::past(&args.since, desk.now())?;
    let records = Records::since(&desk, &actor, since);
    let history = records.iter().filter_map(|record| decided(&desk, record));
    let suggestions = sayso_policy::suggest(history, args.least);
    records.end()?;
    let suggestions: Vec<_> = suggestions.into_iter().map(Suggestion::of).collect();
    match context.out.json {
        true => context.out.json(&suggestions),
        false => print(context.out, &suggestions),
    }
    Ok(Exit::Ok)
}

/// The record of a request that a person approved or rejected. The name of that person is taken from its gate.
fn decided(desk: &Desk, record: Recorded) -> Option<Decided> {
    let gate = desk.gate(record.id.parse::<GateId>().ok()?).ok()?;
    let (answer, by) = gate.answer()?;
    let approved = match answer.verdict {
        Verdict::Approved => true,
        Verdict::Rejected => false,
        Verdict::Answered => return None,
    };
    Some(Decided {
        request: record.request,
        approved,
        by: by.name.clone(),
        asked_by: record.rules.into_iter().next(),
    })
}

fn print(out: &Out, suggestions: &[Suggestion]) {
    if suggestions.is_empty() {
        out.remark("nothing was approved often enough, without a denial, to suggest a rule");
    }
    for Suggestion { rule, exception_of, approved, people, examples } in suggestions {
        let people = harmless_line(&people.join(", "));
        let place = match exception_of {
            Some(rule) => format!("for the rule {}", harmless_line(rule)),
            None => "a rule of its own".into(),
        };
        let head = format!("# {place}: approved {approved} times by {people}, never denied");
        out.line(&out.paint(Look::Good, &head));
        for example in examples {
            out.line(&out.paint(Look::Faint, &format!("#   {}", harmless_line(example))));
        }
        card::indented(out, rule, "").iter().for_each(|line| out.line(line));
        out.line("");
    }
}
