//! `sayso policy explain`: explains the decision about a request.

use super::files::{self, PolicySource};
use super::request;
use super::wire::{place, short};
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use sayso_core::CommandExit;
use sayso_core::text::{sanitize_line, shorten};
use sayso_policy::PolicyLayer;
use sayso_server::wire::{CheckedRuleJson, DemandsJson, PolicyExplanation, RulingReasonJson};

/// Say what policies make of a request, by which rule, and why.
///
/// Shows the ruling, the rules that decided with file and line, what is demanded of whom, every rule
/// that was looked at and why it does or does not speak of the request, and, in red, what silence would
/// approve.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso policy explain --command 'git push origin main' --agent rex
  sayso policy explain --from in_progress --to closed --label release
  sayso policy explain --result completed --confidence 40 --file policy.yaml
  sayso policy explain --spawn rex --agent max --file policy.yaml --file agent:rex=rex.yaml
  sayso policy explain '{\"on\": \"ask\", \"kind\": \"input\"}'")]
pub(crate) struct PolicyExplainArgs {
    #[command(flatten)]
    request: request::RequestArgs,

    /// The policy, in place of what is in force: of the space, unless written admin=FILE or
    /// agent:NAME=FILE. Can be repeated.
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PolicySource>,
}

pub(crate) fn run(args: PolicyExplainArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let mut request = args.request.read(context)?;
    let explained = if args.files.is_empty() {
        let (explained, remembered) = context.desk_read_only()?.explain(request)?;
        PolicyExplanation {
            remembered: remembered.map(|r| r.by),
            ..PolicyExplanation::of(explained)
        }
    } else {
        request.time.get_or_insert_with(request::now);
        let policies = files::read_or_in_force(context, &args.files, &PolicyLayer::Space)?;
        PolicyExplanation::of(policies.explain(&request))
    };
    if context.out.json {
        context.out.json(&explained)
    } else {
        print(context.out, &explained)
    }
    Ok(CommandExit::Ok)
}

fn print(out: &CliOutput, explained: &PolicyExplanation) {
    let (icon, look) = effect(out, &explained.effect);
    let word = out.paint(look, &explained.effect);
    out.line(&format!("{icon} {word}  {}", sanitize_line(&explained.request)));
    if let Some(unclear) = &explained.unclear {
        let text = format!("it cannot be told what it runs: {unclear}");
        wrapped(out, OutputStyle::Warn, &text, "  ");
    }
    if let Some(by) = &explained.remembered {
        let text = format!("it is allowed: {by} approved the same before, and that is remembered");
        wrapped(out, OutputStyle::Good, &text, "  ");
    }
    commands(out, &explained.commands);
    because(out, &explained.because);
    if let Some(demands) = &explained.demands {
        demanded(out, demands);
    }
    for alarm in &explained.alarms {
        out.line("");
        wrapped(out, OutputStyle::Bad, &format!("{} {alarm}", out.icon("⚠", "!!")), "  ");
    }
    looked(out, &explained.looked);
    out.line("");
    out.line(&out.paint(OutputStyle::Faint, &format!("policy {}", short(&explained.policy))));
}

/// The symbol and the colour of a ruling.
fn effect(out: &CliOutput, effect: &str) -> (String, OutputStyle) {
    let (icon, look) = match effect {
        "allow" => (out.icon("✓", "[x]"), OutputStyle::Good),
        "ask" => (out.icon("❓", "[?]"), OutputStyle::Warn),
        _ => (out.icon("✗", "[!]"), OutputStyle::Bad),
    };
    (out.paint(look, icon), look)
}

fn title(out: &CliOutput, text: &str) {
    out.line("");
    out.line(&out.paint(OutputStyle::Strong, text));
}

fn wrapped(out: &CliOutput, look: OutputStyle, text: &str, margin: &str) {
    card::indented(out, text, margin).iter().for_each(|line| out.line(&out.paint(look, line)));
}

/// Prints the commands of a compound command line.
fn commands(out: &CliOutput, commands: &[String]) {
    if commands.len() < 2 {
        return;
    }
    title(out, "It would run:");
    for command in commands {
        card::indented(out, command, "  ").iter().for_each(|line| out.line(line));
    }
}

fn because(out: &CliOutput, because: &[RulingReasonJson]) {
    title(out, "Because:");
    if because.is_empty() {
        out.line("  there is no policy that says otherwise");
    }
    for RulingReasonJson { layer, file, line, rule, reason, note, .. } in because {
        let rule = rule.as_deref().unwrap_or("otherwise: no rule decides");
        let place = out.paint(
            OutputStyle::Faint,
            &format!("{}, {}", place(file, *line), sanitize_line(layer)),
        );
        out.line(&format!("  {}  {place}", out.paint(OutputStyle::Name, &sanitize_line(rule))));
        card::indented(out, reason, "    ").iter().for_each(|line| out.line(line));
        if let Some(note) = note {
            wrapped(out, OutputStyle::Warn, note, "    ");
        }
    }
}

fn demanded(out: &CliOutput, demands: &DemandsJson) {
    title(out, "Demands:");
    for part in demands.words.split("; ") {
        card::indented(out, part, "  ").iter().for_each(|line| out.line(line));
    }
    for ms in &demands.remind_ms {
        out.line(&format!("  a reminder after {}", crate::work::seconds(*ms)));
    }
}

/// Prints every rule that was examined; those that did not decide are faint.
fn looked(out: &CliOutput, looked: &[CheckedRuleJson]) {
    if looked.is_empty() {
        return;
    }
    title(out, "Looked at:");
    let name = |entry: &CheckedRuleJson| {
        let rule = entry.rule.as_deref().unwrap_or("otherwise");
        (shorten(&sanitize_line(rule), 30), place(&entry.file, entry.line))
    };
    let width = |pick: fn(&(String, String)) -> &String| {
        looked.iter().map(|entry| pick(&name(entry)).chars().count()).max().unwrap_or(0)
    };
    let (rules, places) = (width(|(rule, _)| rule), width(|(_, place)| place));
    for entry in looked {
        let (rule, place) = name(entry);
        let mark = match (entry.decided, entry.matched) {
            (true, _) => out.icon("▸", ">"),
            (false, true) => out.icon("·", "+"),
            (false, false) => " ",
        };
        let says = card::pad(&entry.says, 5);
        let says = if entry.matched { out.paint(effect(out, &entry.says).1, &says) } else { says };
        let rule = card::pad(&rule, rules);
        let room = out.width().saturating_sub(rules + places + 11).max(20);
        let (place, why) = (card::pad(&place, places), shorten(&sanitize_line(&entry.why), room));
        let row = format!("{rule}  {place}  {why}");
        let row = if entry.decided { row } else { out.paint(OutputStyle::Faint, &row) };
        out.line(&format!("{mark} {says}  {row}"));
    }
}
