//! `sayso policy suggest`: suggests rules from past answers.

use super::replay::RecordReader;
use super::wire::SuggestionJson;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use sayso_core::text::sanitize_line;
use sayso_core::{CommandExit, GateId, Verdict};
use sayso_engine::{Desk, RequestLogEntry};
use sayso_policy::DecidedRequest;

/// Suggest rules from your own answers: what was always approved need not be asked.
///
/// A suggestion names exactly what was approved, or a subcommand where many of its forms were; one
/// denial is enough to say nothing. It is YAML to be read and put into your policy; nothing is changed.
#[derive(clap::Args)]
pub(crate) struct PolicySuggestArgs {
    /// Look at requests from this moment on: 30d, 2026-11-01.
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: String,
    /// Suggest what was approved at least so often.
    #[arg(long, value_name = "N", default_value_t = 5)]
    least: usize,
}

pub(crate) fn run(args: PolicySuggestArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let since = time::past(&args.since, desk.now())?;
    let records = RecordReader::since(&desk, &actor, since);
    let history = records.iter().filter_map(|record| decided(&desk, record));
    let suggestions = sayso_policy::suggest(history, args.least);
    records.end()?;
    let suggestions: Vec<_> = suggestions.into_iter().map(SuggestionJson::of).collect();
    if context.out.json {
        context.out.json(&suggestions)
    } else {
        print(context.out, &suggestions)
    }
    Ok(CommandExit::Ok)
}

/// The record of a request that a person approved or rejected. The name of that person is taken from its gate.
fn decided(desk: &Desk, record: RequestLogEntry) -> Option<DecidedRequest> {
    let gate = desk.gate(record.id.parse::<GateId>().ok()?).ok()?;
    let (answer, by) = gate.answer()?;
    let approved = match answer.verdict {
        Verdict::Approved => true,
        Verdict::Rejected => false,
        Verdict::Answered => return None,
    };
    Some(DecidedRequest {
        request: record.request,
        approved,
        by: by.name.clone(),
        asked_by: record.rules.into_iter().next(),
    })
}

fn print(out: &CliOutput, suggestions: &[SuggestionJson]) {
    if suggestions.is_empty() {
        out.remark("nothing was approved often enough, without a denial, to suggest a rule");
    }
    for SuggestionJson { rule, exception_of, approved, people, examples } in suggestions {
        let people = sanitize_line(&people.join(", "));
        let place = match exception_of {
            Some(rule) => format!("for the rule {}", sanitize_line(rule)),
            None => "a rule of its own".into(),
        };
        let head = format!("# {place}: approved {approved} times by {people}, never denied");
        out.line(&out.paint(OutputStyle::Good, &head));
        for example in examples {
            out.line(&out.paint(OutputStyle::Faint, &format!("#   {}", sanitize_line(example))));
        }
        card::indented(out, rule, "").iter().for_each(|line| out.line(line));
        out.line("");
    }
}
