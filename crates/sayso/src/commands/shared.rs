//! Helpers shared by commands: ID lookup and completion, paging, answering gates, and printing outcomes.

use super::agent;
use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::time;
use clap::Args;
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use sayso_core::flow::Flow;
use sayso_core::gate::{DeliveryState, Gate, GateAlert};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Actor, Answer, Code, CommandExit, GateId, GateKind, TaskId, Timestamp, answer_input,
};
use sayso_engine::{
    AnswerOutcome, CardAnswer, CardView, Desk, FlowFilter, GateFilter, TaskFilter, TaskRow,
};
use sayso_server::text::still_needed;
use sayso_server::wire;
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// The number of newest flows searched for the one that asked.
const FLOWS_MAX: usize = 100;

/// The default number of rows of a list.
pub(super) const ROWS: usize = 50;

/// Parses a row limit. Zero is refused: an empty list would look as if there were no rows.
pub(super) fn rows(typed: &str) -> std::result::Result<usize, String> {
    match typed.parse() {
        Ok(0) | Err(_) => Err("take a whole number from 1 on".into()),
        Ok(rows) => Ok(rows),
    }
}

/// The paging options of a list.
#[derive(Args)]
pub(crate) struct PagingArgs {
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = ROWS, value_name = "N", value_parser = rows)]
    pub(super) limit: usize,
    /// Go on behind this one, as the last page said.
    #[arg(long, value_name = "ID")]
    pub(super) after: Option<String>,
}

/// The gate to answer, and the version of its card that was seen.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// The gate, or the task that waits for it; several with commas between them.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(open_gates))]
    pub(super) id: String,
    /// The digest of the card you saw; refused when the card has changed since.
    #[arg(long, value_name = "DIGEST")]
    pub(super) digest: Option<String>,
    /// Answer this gate alone, and no other with the same question.
    #[arg(long)]
    pub(super) only: bool,
}

/// A gate, and a time for it.
#[derive(Args)]
pub(crate) struct GateUntilArgs {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(open_gates))]
    id: String,
    /// Until then: 2h, 3d, tomorrow, 2026-12-24 or 2026-12-24T18:00.
    #[arg(value_name = "TIME")]
    until: String,
}

impl GateUntilArgs {
    pub(super) fn find(&self, desk: &Desk) -> Result<(GateId, Timestamp)> {
        Ok((desk.find_gate(&self.id)?, time::moment(&self.until, desk.now())?))
    }
}

/// Answers a gate, with all gates that ask the same, and prints the outcome.
pub(super) fn answer(
    context: &CliContext<'_>,
    which: &GateArgs,
    make: impl Fn(&Gate) -> Result<Answer>,
) -> Result<CommandExit> {
    if which.id.contains(',') {
        return answer_several(context, which, make);
    }
    let (desk, actor) = context.open_to_answer()?;
    let gate = desk.gate(desk.find_gate(&which.id)?)?;
    let say = card_answer(&gate, &actor, which, make(&gate)?);
    answer_card(context, &desk, &actor, &gate, say)
}

/// Answers a card and prints the outcome.
pub(super) fn answer_card(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
    say: CardAnswer,
) -> Result<CommandExit> {
    let answered = send_answer(context, desk, actor, gate, say)?;
    if context.out.json {
        context.out.json(&wire::AnsweredGates::of(&answered, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    report_all(context, desk, &answered)
}

/// Sends an answer to the desk, and carries out an approved order on this machine.
pub(crate) fn send_answer(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
    say: CardAnswer,
) -> Result<Vec<Gate>> {
    let mut answered =
        desk.answer_card(actor, say).map_err(|error| with_command_hint(gate, error))?;
    agent::nudge(context, desk, actor);
    if !answered.is_empty() {
        let first = answered.remove(0);
        answered.insert(0, agent::carry_out(context, desk, actor, first)?);
    }
    Ok(answered)
}

/// Sends several answers, each independent of the others.
pub(crate) fn send_answers(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    says: Vec<CardAnswer>,
) -> Result<Vec<AnswerOutcome>> {
    let mut outcomes = desk.answer_many(actor, says)?;
    agent::nudge(context, desk, actor);
    for outcome in &mut outcomes {
        if let AnswerOutcome::Answered(gates) = outcome {
            let carried = gates.drain(..).map(|gate| agent::carry_out(context, desk, actor, gate));
            *gates = carried.collect::<Result<_>>()?;
        }
    }
    Ok(outcomes)
}

/// Builds the answer to a card: with the version the person saw, for all who ask the same.
pub(super) fn card_answer(
    gate: &Gate,
    actor: &Actor,
    which: &GateArgs,
    answer: Answer,
) -> CardAnswer {
    let digest = shown_digest(gate, actor, which.digest.as_deref());
    let same = gate.dedup_key().filter(|_| !which.only).map(|same| same.to_string());
    CardAnswer { gate: gate.opened.id, answer, digest, same }
}

/// Answers several gates, each independent of the others: a refusal does not stop the next one.
fn answer_several(
    context: &CliContext<'_>,
    which: &GateArgs,
    make: impl Fn(&Gate) -> Result<Answer>,
) -> Result<CommandExit> {
    if which.digest.is_some() {
        return Err(Failure::new(Code::BadValue, "a digest names one card, and these are several")
            .hint("answer them one by one"));
    }
    let (desk, actor) = context.open_to_answer()?;
    let ids: Vec<_> = which.id.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
    let prepare = |id: &&str| {
        let gate = desk.gate(desk.find_gate(id)?)?;
        Ok(card_answer(&gate, &actor, which, make(&gate)?))
    };
    // Each is looked up before the first is answered, since an answer may settle other gates, too.
    let prepared: Vec<Result<CardAnswer>> = ids.iter().map(prepare).collect();
    let says = prepared.iter().filter_map(|say| say.as_ref().ok().cloned()).collect();
    let mut answered = desk.answer_many(&actor, says)?.into_iter();
    let outcome = |say: Result<CardAnswer>| match say {
        Ok(_) => answered.next(),
        Err(failure) => Some(refused(&failure)),
    };
    let outcomes: Vec<_> = prepared.into_iter().filter_map(outcome).collect();
    agent::nudge(context, &desk, &actor);
    report_several(context, &desk, &actor, &ids, &outcomes)
}

fn refused(failure: &Failure) -> AnswerOutcome {
    let Failure { code, message, hint } = failure.clone();
    AnswerOutcome::Refused { code: code.as_str().into(), message, hint }
}

/// Prints the outcomes. The exit code is that of the first refusal.
fn report_several(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    ids: &[&str],
    outcomes: &[AnswerOutcome],
) -> Result<CommandExit> {
    let out = context.out;
    let mut exit = CommandExit::Ok;
    let mut items = vec![];
    for (id, outcome) in ids.iter().zip(outcomes) {
        items.push(wire::AnswerResult::of(id, outcome, &time::rfc3339));
        match outcome {
            AnswerOutcome::Answered(gates) => {
                let carried = gates.iter().cloned();
                let carried = carried.map(|gate| agent::carry_out(context, desk, actor, gate));
                let carried = carried.collect::<Result<Vec<_>>>()?;
                if !out.json {
                    report_all(context, desk, &carried)?;
                }
            }
            AnswerOutcome::Refused { code, message, hint } => {
                let known = Code::ALL.iter().find(|known| known.as_str() == code);
                let refused = known.map_or(CommandExit::Error, |code| code.exit());
                exit = if exit == CommandExit::Ok { refused } else { exit };
                if !out.json {
                    out.error(code, &format!("{id}: {message}"), hint.as_deref());
                }
            }
        }
    }
    if out.json {
        out.json(&wire::AnswerResults { items });
    }
    Ok(exit)
}

/// Prints the outcome of the named gate, and the other gates that got the same answer.
fn report_all(context: &CliContext<'_>, desk: &Desk, gates: &[Gate]) -> Result<CommandExit> {
    let Some((first, also)) = gates.split_first() else { return Ok(CommandExit::Ok) };
    report(context, desk, first)?;
    let out = context.out;
    for gate in also {
        let (name, asker) = (gate.handle(), sanitize_line(&gate.opened.lineage.asker));
        let how = if gate.is_open() { "counted for" } else { "answered" };
        out.line(&format!("  also {how} gate {} of {asker}", out.paint(OutputStyle::Name, name)));
    }
    Ok(CommandExit::Ok)
}

/// Turns a refusal into a failure whose hint is a complete command.
pub(super) fn with_command_hint(gate: &Gate, error: sayso_engine::Error) -> Failure {
    let mut failure = Failure::from(error);
    let shape = gate.card.shape.how_to_answer();
    failure.hint = failure.hint.map(|hint| {
        if hint == shape {
            card::how_to_answer(gate).join(", or ")
        } else {
            hint.replacen(" ID ", &format!(" {} ", gate.handle()), 1)
        }
    });
    failure
}

/// The version of the card that the person saw: the one they name, else the one they were shown last, else the one
/// this command loaded for them.
pub(super) fn shown_digest(gate: &Gate, actor: &Actor, named: Option<&str>) -> String {
    let seen = || gate.seen_by(&actor.name).map(|seen| seen.digest.to_string());
    named.map(Into::into).or_else(seen).unwrap_or_else(|| gate.digest.to_string())
}

/// Prints the outcome of a gate, and of its task.
pub(super) fn report(context: &CliContext<'_>, desk: &Desk, gate: &Gate) -> Result<CommandExit> {
    let out = context.out;
    if out.json {
        out.json(&wire::GateJson::of(gate, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    let handle = out.paint(OutputStyle::Name, gate.handle());
    if gate.is_open() {
        let who = still_needed(gate);
        out.line(&format!("your say is recorded; gate {handle} still needs {who}"));
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    out.line(&format!("{tick} gate {handle} {}", card::ending_in_words(gate)));
    if let Some(acted) = &gate.acted {
        let look = if acted.done { OutputStyle::Good } else { OutputStyle::Warn };
        let mark = out.paint(look, if acted.done { out.icon("✓", "ok:") } else { "!" });
        out.line(&format!("  {mark} {}", sanitize_line(&acted.what)));
        return Ok(CommandExit::Ok);
    }
    // The answer is recorded and printed. A lookup that fails now must not fail the command.
    let pending = || desk.pending(gate.opened.id).ok().flatten();
    if let Some(pending) = gate.is_to_be_done().then(pending).flatten() {
        out.line(&format!("  {}", agent::pending_action_text(&pending)));
        return Ok(CommandExit::Ok);
    }
    if let Some(task) = gate.opened.task {
        if let Ok(row) = desk.task(task) {
            out.line(&format!("  {}", task_went(&row)));
        }
    } else if let Some(flow) = flow_that_asked(desk, gate) {
        let handle = &flow.started.handle;
        // Resuming runs its commands as the user who resumes, so the command is only suggested in the flow's own
        // place.
        let home = flow.home.as_ref().map(|home| sanitize_line(&home.in_words()));
        out.line(&match (crate::flow_runner::check_belongs_here(context, desk, &flow).is_ok(), home) {
            (true, _) => {
                format!(
                    "  flow {handle} asked it; if nobody waits for that: sayso flow resume {handle}"
                )
            }
            (false, Some(home)) => format!("  flow {handle} asked it, and goes on in {home}"),
            (false, None) => format!("  flow {handle} asked it; see: sayso flow show {handle}"),
        });
    } else if gate.answer().is_some() && matches!(gate.delivery, DeliveryState::Pending { .. }) {
        out.line(&format!(
            "  {} gets it as soon as it asks",
            sanitize_line(&gate.opened.lineage.asker)
        ));
    }
    Ok(CommandExit::Ok)
}

/// The flow that waits for a gate and that no process is running, among the newest.
fn flow_that_asked(desk: &Desk, gate: &Gate) -> Option<Flow> {
    let newest = FlowFilter { limit: FLOWS_MAX, ..FlowFilter::default() };
    let flows = desk.flows(&newest).ok()?.items;
    let waits = |flow: &&Flow| {
        let asked = flow.waits_for().any(|(_, asked)| asked == gate.opened.id);
        asked && flow.hold.is_none() && flow.started.definition.is_some()
    };
    flows.into_iter().find(|flow| waits(&flow))
}

/// Prints the state of an open gate.
pub(super) fn report_waiting(
    context: &CliContext<'_>,
    gate: &Gate,
    how: &str,
) -> Result<CommandExit> {
    let out = context.out;
    if out.json {
        out.json(&wire::GateJson::of(gate, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    out.line(&format!("{tick} gate {} {how}", out.paint(OutputStyle::Name, gate.handle())));
    Ok(CommandExit::Ok)
}

fn task_went(row: &TaskRow) -> String {
    let task = &row.task;
    let handle = &task.handle;
    match (task.shown_state(row.blockers > 0), &row.flow) {
        ("awaiting_input", _) => format!("task {handle} waits for {} more", task.waits_for.len()),
        ("closed", _) => format!("task {handle} is closed"),
        ("open", Some(flow)) => format!(
            "task {handle} returned to 'open': flow {flow} leads it; go on with: sayso flow resume {flow}"
        ),
        ("open", None) => {
            format!("task {handle} returned to 'open' and will be picked up by a worker")
        }
        (state, _) => format!("task {handle} is {state}"),
    }
}

/// Parses a choice as prompts do: names of options, or their numbers.
pub(crate) fn picks(gate: &Gate, typed: &[String]) -> Vec<String> {
    let sayso_core::AnswerShape::Choice { options, .. } = &gate.card.shape else {
        return typed.to_vec();
    };
    let named = |word: &String| {
        answer_input::pick(options, word).map_or_else(|| word.clone(), |option| option.name.clone())
    };
    typed.iter().map(named).collect()
}

/// Parses the answer to a choice: options by name or number, several where several may be picked, or a custom answer.
/// A number that no option has is a mistake, not a custom answer.
pub(crate) fn picks_or_words(gate: &Gate, typed: &str) -> Result<(Vec<String>, Option<String>)> {
    let sayso_core::AnswerShape::Choice { options, multi, other } = &gate.card.shape else {
        return Ok((vec![], Some(typed.to_owned())));
    };
    let is_option = |name: &String| options.iter().any(|option| option.name == *name);
    // A name may contain spaces and commas, so the whole text is tried first, then the parts between commas.
    let whole = vec![typed.trim().to_owned()];
    let ways = [whole, words_of(typed, &[',']), words_of(typed, &[',', ' '])];
    let several = if *multi { &ways[..] } else { &ways[..1] };
    let named = |word: &String| match answer_input::pick(options, word) {
        Some(option) => option.name.clone(),
        None => word.clone(),
    };
    let mut found = several.iter().map(|words| words.iter().map(named).collect::<Vec<_>>());
    let are_options = |picked: &Vec<String>| !picked.is_empty() && picked.iter().all(is_option);
    if let Some(mut picked) = found.find(are_options) {
        let mut seen = std::collections::BTreeSet::new();
        picked.retain(|name| seen.insert(name.clone()));
        return Ok((picked, None));
    }
    let number = |word: &String| word.parse::<usize>().is_ok();
    let are_names_numbers = options.iter().any(|option| number(&option.name));
    let all = words_of(typed, &[',', ' ']);
    let is_strange = |word: &&String| answer_input::pick(options, word).is_none();
    let are_numbers = all.iter().all(number) && !are_names_numbers;
    let stranger = all.iter().find(is_strange).filter(|_| are_numbers).cloned();
    if stranger.is_none() && *other {
        return Ok((vec![], Some(typed.trim().to_owned())));
    }
    let names: Vec<_> = options.iter().map(|option| format!("{:?}", option.name)).collect();
    let stranger = stranger.unwrap_or_else(|| typed.trim().to_owned());
    let message = format!("{stranger:?} is not one of the options");
    Err(Failure::new(Code::UnknownOption, message)
        .hint(format!("the options are {}", names.join(", "))))
}

fn words_of(typed: &str, between: &[char]) -> Vec<String> {
    let words = typed.split(between).map(str::trim).filter(|word| !word.is_empty());
    words.map(Into::into).collect()
}

/// The gate of an ID, for commands that only read.
pub(super) fn find_gate(desk: &Desk, typed: &str) -> Result<GateId> {
    Ok(desk.find_gate(typed)?)
}

/// Parses kinds: one or several, separated by commas.
pub(super) fn kinds(typed: &str) -> Result<Vec<GateKind>> {
    if typed.is_empty() || typed == "all" {
        return Ok(vec![]);
    }
    typed.split(',').map(|word| kind(word.trim())).collect()
}

/// Parses one kind.
pub(super) fn kind(typed: &str) -> Result<GateKind> {
    typed
        .parse()
        .map_err(|e: sayso_core::kind::UnknownGateKind| Failure::new(Code::BadValue, e.to_string()))
}

/// Parses a priority: `1` or `P1`.
pub(super) fn priority(typed: &str) -> std::result::Result<u8, String> {
    let digits = typed.strip_prefix(['p', 'P']).unwrap_or(typed);
    let wrong = || format!("{typed:?} is no priority; take 0 to 4, or P0 to P4");
    digits.parse().ok().filter(|p| *p <= 4).ok_or_else(wrong)
}

/// Parses several IDs, given one by one or separated by commas.
pub(super) fn tasks(desk: &Desk, typed: &[String]) -> Result<Vec<TaskId>> {
    let words = typed.iter().flat_map(|t| t.split(',')).map(str::trim).filter(|w| !w.is_empty());
    words.map(|word| Ok(desk.find_task(word)?)).collect()
}

/// The gates of a task, oldest first.
pub(super) fn gates_of(desk: &Desk, actor: &Actor, task: TaskId) -> Result<Vec<Gate>> {
    let filter = GateFilter { task: Some(task), limit: 500, ..GateFilter::default() };
    Ok(desk.all_gates(actor, filter)?)
}

/// Prints gates as rows, each with its waiting task.
pub(super) fn print_gates(context: &CliContext<'_>, desk: &Desk, gates: &[Gate]) -> Result<()> {
    let ids: BTreeSet<_> = gates.iter().filter_map(|gate| gate.opened.task).collect();
    let names = desk.task_names(&ids.into_iter().collect::<Vec<_>>())?;
    for gate in gates {
        let task = names.iter().find(|(id, ..)| Some(*id) == gate.opened.task);
        let task = task.map(|(_, handle, _)| handle.as_str());
        context.out.line(&card::gate_row(context.out, gate, task, desk.now()));
    }
    Ok(())
}

/// Prints cards as rows, each with its waiting task and all who ask it.
pub(super) fn print_cards(context: &CliContext<'_>, desk: &Desk, cards: &[CardView]) -> Result<()> {
    let ids: BTreeSet<_> = cards.iter().filter_map(|card| card.gate.opened.task).collect();
    let names = desk.task_names(&ids.into_iter().collect::<Vec<_>>())?;
    for asked in cards {
        let gate = &asked.gate;
        let task = names.iter().find(|(id, ..)| Some(*id) == gate.opened.task);
        let task = task.map(|(_, handle, _)| handle.as_str());
        context.out.line(&card::asked_row(context.out, asked, task, desk.now()));
        card::askers(context.out, asked, "   ").iter().for_each(|line| context.out.line(line));
    }
    Ok(())
}

/// Prints alerts, each with its hint.
pub(super) fn print_alerts(context: &CliContext<'_>, alerts: &[GateAlert], now: Timestamp) {
    let out = context.out;
    for alert in alerts {
        let since = time::relative(alert.since, now);
        let what = format!("! {} ({since})", sanitize_line(&alert.what));
        out.line(&out.paint(OutputStyle::Warn, &what));
        out.line(&out.paint(OutputStyle::Faint, &format!("    {}", sanitize_line(&alert.hint))));
    }
}

/// Prints a page of tasks; waiting ones with the question they wait for.
pub(super) fn print_tasks(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    filter: &TaskFilter,
    with_questions: bool,
    empty: &str,
) -> Result<CommandExit> {
    let out = context.out;
    let page = desk.tasks(filter)?;
    let last = page.items.last().map(|row| row.task.handle.clone());
    let next = last.filter(|_| page.more);
    if out.json {
        let mut items = vec![];
        for row in &page.items {
            let gates = open_gates_of(desk, actor, row)?;
            items.push(wire::TaskJson::of(row, &gates, &time::rfc3339));
        }
        out.json(&wire::PageJson { items, next });
        return Ok(CommandExit::Ok);
    }
    if page.items.is_empty() {
        out.remark(empty);
    }
    for row in &page.items {
        out.line(&card::task_row(out, row));
        if with_questions {
            for gate in open_gates_of(desk, actor, row)? {
                out.line(&card::question_below(out, &gate, desk.now()));
            }
        }
    }
    if let Some(next) = next {
        out.remark(
            &out.paint(OutputStyle::Faint, &format!("there are more; go on with --after {next}")),
        );
    }
    Ok(CommandExit::Ok)
}

pub(super) fn open_gates_of(desk: &Desk, actor: &Actor, row: &TaskRow) -> Result<Vec<Gate>> {
    if !row.task.is_waiting() {
        return Ok(vec![]);
    }
    let gates = gates_of(desk, actor, row.task.id)?;
    Ok(gates.into_iter().filter(Gate::is_open).collect())
}

/// Prints the outcome of a command on a task.
pub(super) fn report_task(
    context: &CliContext<'_>,
    desk: &Desk,
    id: TaskId,
    what: &str,
) -> Result<CommandExit> {
    let out = context.out;
    let row = desk.task(id)?;
    if out.json {
        // A caller who may change a task may see the gates it waits for; an agent its own questions only.
        let gates = open_gates_of(desk, &crate::identity::actor(desk)?, &row)?;
        out.json(&wire::TaskJson::of(&row, &gates, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    let handle = out.paint(OutputStyle::Name, &row.task.handle);
    let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
    out.line(&format!("{tick} {handle} {what}"));
    Ok(CommandExit::Ok)
}

/// Prints an ending for the asker: the answer alone on stdout, the rest on stderr.
pub(super) fn hand_over(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: &Gate,
) -> Result<CommandExit> {
    let out = context.out;
    let id = gate.opened.id;
    let is_ours = actor.is_asker(&gate.opened.lineage);
    if is_ours {
        desk.deliver(actor, id)?;
    }
    let exit = match gate.answer() {
        Some((answer, by)) => {
            if out.json {
                out.json(&wire::GateJson::of(gate, &time::rfc3339))
            } else {
                out.deliver(&answer.as_text())
            }
            out.remark(&format!("{} by {}", answer.verdict, by.name));
            if answer.verdict.is_no() { CommandExit::Rejected } else { CommandExit::Ok }
        }
        None => {
            if out.json {
                out.json(&wire::GateJson::of(gate, &time::rfc3339));
            }
            out.remark(&format!("gate {} {}", gate.handle(), card::ending_in_words(gate)));
            CommandExit::Unanswered
        }
    };
    // Printed before it is acknowledged: a process that dies in between, or fails to print, gets it again.
    if is_ours {
        out.check_delivered()?;
        desk.acknowledge(actor, id)?;
    }
    Ok(exit)
}

/// Completes the IDs of open gates.
pub(super) fn open_gates(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, |desk, actor| {
        let filter = GateFilter { limit: 100, ..GateFilter::default() };
        let page = desk.gates(actor, filter).map_err(Failure::from)?;
        Ok(page
            .items
            .iter()
            .map(|gate| (gate.handle().to_owned(), gate.card.question.clone()))
            .collect())
    })
}

/// Completes the IDs of unfinished tasks.
pub(super) fn live_tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, |desk, _| {
        let page = desk.tasks(&TaskFilter { limit: 100, ..TaskFilter::default() })?;
        Ok(page.items.iter().map(|row| (row.task.handle.clone(), row.task.title.clone())).collect())
    })
}

/// Completes the IDs of gates and tasks.
pub(super) fn live_ids(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut both = open_gates(typed);
    both.extend(live_tasks(typed));
    both
}

pub(super) fn candidates(
    typed: &OsStr,
    list: impl FnOnce(&Desk, &Actor) -> Result<Vec<(String, String)>>,
) -> Vec<CompletionCandidate> {
    use clap::Parser;
    let typed = typed.to_string_lossy();
    let globals = crate::cli::Cli::try_parse_from(["sayso"]).ok().map(|cli| cli.globals);
    let Some(globals) = globals else { return vec![] };
    let out = crate::output::CliOutput::new(&globals);
    let context = CliContext { globals, out: &out };
    // An error means no completions; a shell has no place for a message here.
    let Ok((desk, actor)) = context.open() else { return vec![] };
    let found = list(&desk, &actor).unwrap_or_default();
    found
        .into_iter()
        .filter(|(handle, _)| handle.starts_with(&*typed))
        .map(|(handle, about)| {
            CompletionCandidate::new(handle).help(Some(shorten(&sanitize_line(&about), 60).into()))
        })
        .collect()
}
