//! `sayso ask`: asks a person.

use super::{agent, shared};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{notice_sending, time};
use clap::ArgGroup;
use clap_complete::ArgValueCompleter;
use sayso_core::gate::{Card, CardFact, Gate};
use sayso_core::{
    Actor, AnswerShape, Approvers, ChoiceOption, Code, CommandExit, GateId, GateKind,
    IdentityProof, TaskId, TimeoutAction,
};
use sayso_engine::{AskDemands, Desk, NewGate, WaitOutcome};
use sayso_server::wire;
use std::time::Duration;

/// Ask a person.
///
/// The question is kept until a person answers, also when this process ends. Without `--wait`
/// the id is printed and `sayso wait ID` gets the answer later; with it, only the answer is printed.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("form").args(["option", "schema", "verdict"]))]
#[command(after_help = "Examples:
  sayso ask \"Ship 1.2 today?\" --verdict --wait && ./ship.sh
  sayso ask \"Which colour?\" --option \"red=loud\" --option blue --other
  sayso ask \"Deploy where?\" --option staging --option \"none=not today\" --declines none --wait
  sayso ask \"May I drop the table?\" --verdict --task t7k2 --context \"It is empty since May.\"
  sayso ask \"Which port?\" --wait --timeout 10m || echo \"no answer yet\"
  sayso ask \"May I restart the database?\" --verdict --deadline 2h --remind 1h --wait

A wait that times out (exit code 7) leaves the question open. A rejection has exit code 8, and so has an option that
means no; any other option, a text and a form end with 0: they are answers, and approve nothing.")]
pub(crate) struct AskArgs {
    /// The question; a dash reads it from standard input.
    #[arg(value_name = "QUESTION")]
    question: String,
    /// Background that the person should know. They cannot see your log.
    #[arg(short, long, value_name = "TEXT")]
    context: Option<String>,
    /// An option, as NAME or NAME=CONSEQUENCE; may be given several times.
    #[arg(short, long, value_name = "OPTION")]
    option: Vec<String>,
    /// An option that means no: picking it ends with exit code 8, as a rejection does. Options that read as yes and
    /// no (yes/no, approve/reject, ok/cancel) are understood without it. May be given several times.
    #[arg(long, value_name = "OPTION", requires = "option")]
    declines: Vec<String>,
    /// Several options may be picked.
    #[arg(long, requires = "option")]
    multi: bool,
    /// Words of one's own are an answer, too.
    #[arg(long, requires = "option")]
    other: bool,
    /// Ask for yes or no.
    #[arg(long)]
    verdict: bool,
    /// Ask for a form: a JSON Schema, or a file with one behind an @.
    #[arg(long, value_name = "SCHEMA")]
    schema: Option<String>,
    /// The kind of gate.
    #[arg(short, long, value_name = "KIND")]
    kind: Option<String>,
    /// The task that waits for the answer.
    #[arg(short, long, value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    task: Option<String>,
    /// Something to show beside the question, as NAME=VALUE; marked as the asker's word.
    #[arg(long, value_name = "NAME=VALUE")]
    fact: Vec<String>,
    /// The person who may answer, or a group as @NAME; given several times, any of them.
    #[arg(long = "to", value_name = "PERSON")]
    to: Vec<String>,
    /// The number of them who have to agree.
    #[arg(long, value_name = "N", requires = "to", default_value_t = 1)]
    quorum: usize,
    /// The least proof an answer needs: token, tty, passphrase, or presence (a passkey, on the pages of a server).
    #[arg(long, value_name = "PROOF", default_value = "token")]
    proof: String,
    /// The time that people have: 30m, 2h, 1d. What happens then is said with --at-end.
    #[arg(long, value_name = "TIME", value_parser = time::duration)]
    deadline: Option<Duration>,
    /// The timeout action: deny, fail (the task, too), defer (ask again) or keep (wait on).
    #[arg(long, value_name = "END", default_value = "deny", requires = "deadline")]
    at_end: String,
    /// Remind people after this long; may be given several times.
    #[arg(long, value_name = "TIME", value_parser = time::duration)]
    remind: Vec<Duration>,
    /// Wait for the answer and print only that.
    #[arg(short, long, conflicts_with = "async_")]
    wait: bool,
    /// Do not wait; that is the default.
    #[arg(long = "async")]
    async_: bool,
    /// Wait at most this long: 30s, 10m, 2h. Implies --wait.
    #[arg(long, value_name = "TIME", value_parser = time::duration, conflicts_with = "async_")]
    timeout: Option<Duration>,
    /// A ULID of your own: asking again with it is the same question.
    #[arg(long, value_name = "ULID")]
    id: Option<GateId>,
    /// Change the question of a gate that is still open; those who saw the old one must look again.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    revise: Option<String>,
}

pub(crate) fn run(args: AskArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let gate = match &args.revise {
        Some(id) => {
            let id = desk.find_gate(id)?;
            desk.revise(&actor, id, card(&args, context, desk.gate(id)?.opened.kind)?)?
        }
        None => open(&args, context, &desk, &actor)?,
    };
    if args.wait || args.timeout.is_some() {
        return wait(context, &desk, &actor, &gate, args.timeout);
    }
    let out = context.out;
    if out.json {
        out.json(&wire::GateJson::of(&gate, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    out.line(gate.handle());
    let handle = out.paint(OutputStyle::Name, gate.handle());
    out.remark(&format!(
        "gate {handle} waits for a person; get the answer with: sayso wait {}",
        gate.handle()
    ));
    Ok(CommandExit::Ok)
}

fn open(args: &AskArgs, context: &CliContext<'_>, desk: &Desk, actor: &Actor) -> Result<Gate> {
    let task = match &args.task {
        Some(typed) => Some(desk.find_task(typed)?),
        // An agent whose credential is bound to a task asks for that task.
        None => actor.task,
    };
    let kind = kind(args, task)?;
    let id = args.id.unwrap_or_else(|| desk.new_gate_id());
    let ask = NewGate {
        demands: demands(args)?,
        ..NewGate::new(id, kind, task, card(args, context, kind)?)
    };
    Ok(desk.ask(actor, ask)?)
}

/// A question on a task is input the task waits for; one without is a decision of its own.
fn kind(args: &AskArgs, task: Option<TaskId>) -> Result<GateKind> {
    match &args.kind {
        Some(typed) => shared::kind(typed),
        None if task.is_some() => Ok(GateKind::Input),
        None => Ok(GateKind::Decision),
    }
}

fn card(args: &AskArgs, context: &CliContext<'_>, kind: GateKind) -> Result<Card> {
    let facts: Result<_> = args.fact.iter().map(|typed| fact(typed)).collect();
    Ok(Card {
        question: context.text(&args.question)?,
        narrative: args.context.clone().unwrap_or_default(),
        facts: facts?,
        shape: shape(args, kind)?,
    })
}

fn fact(typed: &str) -> Result<CardFact> {
    let (name, value) = typed.split_once('=').ok_or_else(|| {
        Failure::new(Code::BadValue, format!("the fact {typed:?} has no value"))
            .hint("write NAME=VALUE, as in: --fact branch=main")
    })?;
    Ok(CardFact { name: name.into(), value: value.into(), verified: false })
}

fn shape(args: &AskArgs, kind: GateKind) -> Result<AnswerShape> {
    if !args.option.is_empty() {
        let (multi, other) = (args.multi, args.other);
        let shape = AnswerShape::Choice { options: options(args)?, multi, other };
        shape.check()?;
        // Scripts go on by the exit code of the answer.
        shape.check_reads_clearly()?;
        return Ok(shape);
    }
    if let Some(schema) = &args.schema {
        return Ok(AnswerShape::Form { schema: read_schema(schema)? });
    }
    let asks_for_words = matches!(kind, GateKind::Input | GateKind::Decision);
    Ok(if asks_for_words && !args.verdict { AnswerShape::Text } else { AnswerShape::Verdict })
}

fn options(args: &AskArgs) -> Result<Vec<ChoiceOption>> {
    let option = |typed: &String| {
        let (name, consequence) = typed.split_once('=').unwrap_or((typed, ""));
        let name = name.trim().to_owned();
        let declines = args.declines.iter().any(|no| no.trim() == name);
        ChoiceOption { name, consequence: consequence.trim().into(), declines }
    };
    let options: Vec<_> = args.option.iter().map(option).collect();
    let is_option = |no: &&String| options.iter().any(|option| option.name == no.trim());
    if let Some(stranger) = args.declines.iter().find(|no| !is_option(no)) {
        let names: Vec<_> = options.iter().map(|option| format!("{:?}", option.name)).collect();
        let message = format!("no option is called {stranger:?}");
        return Err(Failure::new(Code::UnknownOption, message)
            .hint(format!("--declines names one of {}", names.join(", "))));
    }
    Ok(options)
}

fn read_schema(typed: &str) -> Result<serde_json::Value> {
    let text = match typed.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| Failure::new(Code::BadValue, format!("the schema {path}: {e}")))?,
        None => typed.to_owned(),
    };
    serde_json::from_str(&text)
        .map_err(|e| Failure::new(Code::InvalidForm, format!("the schema is not JSON: {e}")))
}

fn approvers(args: &AskArgs) -> Approvers {
    let mut people: Vec<_> = args.to.iter().cloned().map(Approvers::Person).collect();
    match people.len() {
        0 => Approvers::Anyone,
        1 if args.quorum <= 1 => people.remove(0),
        _ => Approvers::Some { least: args.quorum.max(1), of: people },
    }
}

fn demands(args: &AskArgs) -> Result<AskDemands> {
    let ms = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(AskDemands {
        approvers: approvers(args),
        proof: proof(&args.proof)?,
        deadline_ms: args.deadline.as_ref().map(ms),
        remind_ms: args.remind.iter().map(ms).collect(),
        at_end: at_end(&args.at_end)?,
        ..AskDemands::default()
    })
}

/// Parses a timeout action. The asker may choose any but approval.
fn at_end(typed: &str) -> Result<TimeoutAction> {
    let known =
        [TimeoutAction::Deny, TimeoutAction::Fail, TimeoutAction::Defer, TimeoutAction::Keep];
    known.into_iter().find(|end| end.as_str() == typed).ok_or_else(|| {
        Failure::new(Code::BadValue, format!("{typed:?} is nothing that silence can mean"))
            .hint("take deny, fail, defer or keep; only a policy may do more")
    })
}

fn proof(typed: &str) -> Result<IdentityProof> {
    let known = [
        IdentityProof::Token,
        IdentityProof::Tty,
        IdentityProof::Passphrase,
        IdentityProof::Presence,
    ];
    known.into_iter().find(|p| p.as_str() == typed).ok_or_else(|| {
        Failure::new(Code::BadValue, format!("{typed:?} is no proof that can be asked for"))
            .hint("take token, tty, passphrase or presence")
    })
}

/// Waits for the answer and prints it; a timeout leaves the question open.
pub(super) fn wait(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
    timeout: Option<Duration>,
) -> Result<CommandExit> {
    if gate.is_open() {
        context.out.remark(&format!("gate {} waits for a person", gate.handle()));
    }
    let sending = gate.is_open().then(|| notice_sending::send_in_background(context, desk));
    let waited = desk.wait(gate.opened.id, timeout)?;
    drop(sending);
    match waited {
        WaitOutcome::Ended(gate) => {
            let gate = agent::carry_out(context, desk, actor, *gate)?;
            shared::hand_over(context, desk, actor, &gate)
        }
        WaitOutcome::TimedOut(gate) => Err(unanswered(gate.handle())),
    }
}

pub(super) fn unanswered(handle: &str) -> Failure {
    Failure::new(Code::TimedOut, format!("nobody has answered gate {handle} yet"))
        .hint(format!("it stays open; wait on with: sayso wait {handle}"))
}
