//! `sayso away` and `sayso back`: absence and deputies.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use sayso_core::CommandExit;
use sayso_server::wire;

/// Say that you are away, and who answers in your place; or see who is away.
///
/// Until then what waits for you waits for your deputy, who is told of it instead of you. Their answers
/// count as yours would, up to the proof you gave when you said so, and are written down as theirs. A person
/// who stands in for several people is still one person. Without --to, you have no deputy, and you are told
/// of what waits when you are back. You are back by: sayso back
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso away                              who is away
  sayso away --until 2026-12-24 --to bob
  sayso away --until monday               nobody stands in")]
pub(crate) struct AwayArgs {
    /// Until then: 3d, monday, 2026-12-24.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The person who stands in for you.
    #[arg(long, value_name = "NAME", requires = "until")]
    to: Option<String>,
}

pub(crate) fn run(args: AwayArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let Some(until) = &args.until else { return list(context) };
    let (desk, actor) = context.open_as_person()?;
    let until = time::moment(until, desk.now())?;
    let away = desk.go_away(&actor, until, args.to.as_deref())?;
    let out = context.out;
    if out.json {
        out.json(&wire::AbsenceJson::of(&actor.name, &away, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    let who = match &away.to {
        Some(to) => format!("{to} stands in for you"),
        None => "nobody stands in for you".into(),
    };
    out.line(&format!("{tick} you are away until {}; {who}", time::local(until)));
    Ok(CommandExit::Ok)
}

/// Say that you are back.
#[derive(clap::Args)]
pub(crate) struct BackArgs {}

pub(crate) fn back(_: BackArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    let was_away = desk.come_back(&actor)?;
    let out = context.out;
    if was_away {
        let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
        out.line(&format!("{tick} you are back; what waits for you waits for you again"));
    } else {
        out.remark("you were not away")
    }
    Ok(CommandExit::Ok)
}

fn list(context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let away = desk.away()?;
    let shown: Vec<_> =
        away.iter().map(|(name, away)| wire::AbsenceJson::of(name, away, &time::rfc3339)).collect();
    let out = context.out;
    if out.json {
        out.json(&shown);
        return Ok(CommandExit::Ok);
    }
    if away.is_empty() {
        out.remark("nobody is away");
    }
    for (name, away) in &away {
        let name = out.paint(OutputStyle::Name, name);
        let who = away.to.as_ref().map_or_else(String::new, |to| format!("; {to} stands in"));
        out.line(&format!("{name}  until {}{who}", time::local(away.until)));
    }
    Ok(CommandExit::Ok)
}
