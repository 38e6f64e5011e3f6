//! Texts about gates: conditions of an answer, deadlines, endings, and steps.

use super::relative;
use sayso_core::gate::{AnswerSignature, Card, CardFact, Gate, GateEnding, Receipt, ReceiptStep};
use sayso_core::text::{sanitize, sanitize_line, shorten};
use sayso_core::{
    AnswerContent, AnswerShape, Approvers, GateKind, IdentityProof, Risk, Role, TaskOutcome,
    TimeoutAction, Timestamp, Verdict,
};
use sayso_engine::CardView;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Returns the notes on an open gate for a list: its claim, its snooze, and its timeout.
pub fn list_notes(gate: &Gate, now: Timestamp) -> Vec<String> {
    let claim = gate.claim.as_ref().filter(|claim| claim.until > now);
    let claim = claim.map(|claim| format!("{} is on it", sanitize_line(&claim.by)));
    [claim, snooze_text(gate, now), timeout_text(gate, now)].into_iter().flatten().collect()
}

/// Returns the text about a snooze, where it has not ended.
pub fn snooze_text(gate: &Gate, now: Timestamp) -> Option<String> {
    let until = gate.snoozed_until.filter(|until| gate.is_open() && *until > now)?;
    Some(format!("put off, back {}", relative(until, now)))
}

/// Returns what an answer takes beyond a person's word: certain people, more proof, haste.
pub fn conditions(gate: &Gate, now: Timestamp) -> Vec<String> {
    if !gate.is_open() {
        return vec![];
    }
    let opened = &gate.opened;
    let who: Vec<_> = gate.approvers().map(Approvers::in_words).collect();
    let people = (opened.approvers != Approvers::Anyone)
        .then(|| format!("it takes the say of {}", sanitize_line(&who.join(", or "))));
    let votes = votes(gate);
    let handed = gate.delegations.iter().map(|d| format!("{} for {}", d.to, d.from));
    let handed: Vec<_> = handed.map(|one| sanitize_line(&one)).collect();
    let handed = (!handed.is_empty()).then(|| format!("handed to {}", handed.join(", ")));
    let veto: Vec<_> = opened.veto.iter().map(String::as_str).collect();
    let veto = (!veto.is_empty()).then(|| format!("a no of {} counts", veto.join(", ")));
    let launcher = opened.lineage.launcher.as_ref().filter(|_| opened.launcher_excluded);
    let others = launcher.map(|name| format!("not {name}, who launched the agent"));
    let claim = gate.claim.as_ref().filter(|claim| claim.until > now);
    let claim = claim.map(|claim| format!("{} is on it", claim.by));
    let proof = (opened.least_proof > IdentityProof::Token)
        .then(|| format!("it takes {} as proof", opened.least_proof.as_str()));
    let risk = (opened.risk > Risk::Medium).then(|| format!("{} risk", opened.risk.as_str()));
    let all = [
        consequences(gate),
        visibility_text(gate),
        people,
        votes,
        handed,
        veto,
        others,
        proof,
        risk,
        level(gate, now),
        timeout_text(gate, now),
        claim,
        snooze_text(gate, now),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the effect of an answer on the task that was handed over with it: of a no as well as of a yes.
fn consequences(gate: &Gate) -> Option<String> {
    let opened = &gate.opened;
    if opened.task.is_none() || !opened.kind.parks_the_task() {
        return None;
    }
    let leads = |verdict| match (opened.kind, opened.kind.outcome(verdict), verdict) {
        (_, TaskOutcome::Done, _) => "closes the task",
        (_, TaskOutcome::Abandoned, _) => "closes the task as not done",
        (GateKind::Checkpoint, TaskOutcome::Back, Verdict::Approved | Verdict::Answered) => {
            "lets the agent go on"
        }
        (GateKind::Checkpoint, TaskOutcome::Back, Verdict::Rejected) => "has the agent do it again",
        (_, TaskOutcome::Back, _) => "gives the task back to the agent",
    };
    let yes = match gate.card.shape {
        AnswerShape::Verdict => "a yes",
        AnswerShape::Text | AnswerShape::Choice { .. } | AnswerShape::Form { .. } => "an answer",
    };
    let said = match gate.card.shape {
        AnswerShape::Verdict => Verdict::Approved,
        AnswerShape::Text | AnswerShape::Choice { .. } | AnswerShape::Form { .. } => {
            Verdict::Answered
        }
    };
    // An option that means no is an answer, too.
    let no = if gate.card.shape.declining().is_empty() { "a no" } else { "declining to answer" };
    Some(format!("{yes} {}, {no} {}", leads(said), leads(Verdict::Rejected)))
}

/// Returns the visibility of a written answer: an answer on a task is a part of the task.
fn visibility_text(gate: &Gate) -> Option<String> {
    let is_written = match gate.card.shape {
        AnswerShape::Text | AnswerShape::Form { .. } => true,
        AnswerShape::Verdict | AnswerShape::Choice { .. } => false,
    };
    (gate.opened.task.is_some() && is_written).then(|| {
        "what you write becomes a note of the task, which every agent here may read".into()
    })
}

/// Returns the votes so far, and the people whose yes is still missing (quorum).
fn votes(gate: &Gate) -> Option<String> {
    let names: Vec<_> = gate.votes.iter().map(|vote| sanitize_line(&vote.by.name)).collect();
    let missing =
        || format!("{} said yes; it still needs {}", names.join(", "), still_needed(gate));
    (!names.is_empty()).then(missing)
}

/// Returns the people whose yes is still missing. Only yeses with the same content count together.
pub fn still_needed(gate: &Gate) -> String {
    let content = gate.votes.last().map(|vote| &vote.answer.content);
    let agreed = gate.votes.iter().filter(|vote| Some(&vote.answer.content) == content);
    // An approver speaks for themselves first, then for those in whose place they answer.
    let voices = |by: &AnswerSignature| -> Vec<_> {
        [&by.name].into_iter().chain(&by.stands_for).cloned().collect()
    };
    let agreed: Vec<_> = agreed.map(|vote| voices(&vote.by)).collect();
    let missing = |approvers: &Approvers| {
        let heard =
            agreed.iter().filter_map(|voices| voices.iter().find(|it| approvers.admits(it)));
        let heard = heard.map(String::as_str).collect();
        // A vote may count for one of two people; then all of them are named.
        approvers.missing_after(&heard).unwrap_or_else(|| approvers.clone()).in_words()
    };
    let all: Vec<_> = gate.approvers().map(missing).collect();
    sanitize_line(&all.join(", or "))
}

/// Returns the next step of the escalation, and its time.
fn level(gate: &Gate, now: Timestamp) -> Option<String> {
    let level = gate.opened.schedule.levels.get(gate.escalation as usize)?;
    let who = sanitize_line(&level.approvers.in_words());
    Some(format!("{} it goes up to {who}", relative(level.at?, now)))
}

/// Returns the timeout action, and its time.
pub fn timeout_text(gate: &Gate, now: Timestamp) -> Option<String> {
    let deadline = gate.deadline()?;
    let when = relative(deadline, now);
    Some(match gate.at_end() {
        TimeoutAction::Deny => format!("without an answer it is a no {when}"),
        TimeoutAction::Fail if gate.opened.task.is_none() => {
            format!("without an answer it is a no {when}")
        }
        TimeoutAction::Fail => format!("without an answer the task fails {when}"),
        TimeoutAction::Approve => format!("without an answer it is a YES {when}"),
        TimeoutAction::Escalate => format!("without an answer it goes one level up {when}"),
        TimeoutAction::Defer => format!("without an answer it is asked again {when}"),
        TimeoutAction::Keep if gate.is_overdue => format!("it was due {when}"),
        TimeoutAction::Keep => format!("it is due {when}"),
    })
}

/// Returns the timeout action in a few letters, for a narrow row.
pub fn timeout_text_short(gate: &Gate, now: Timestamp) -> Option<String> {
    let when = in_short(gate.deadline()?, now);
    Some(match gate.at_end() {
        TimeoutAction::Fail if gate.opened.task.is_some() => format!("fails {when}"),
        TimeoutAction::Deny | TimeoutAction::Fail => format!("no {when}"),
        TimeoutAction::Approve => format!("YES {when}"),
        TimeoutAction::Escalate => format!("goes up {when}"),
        TimeoutAction::Defer => format!("asked again {when}"),
        TimeoutAction::Keep if gate.is_overdue => "overdue".into(),
        TimeoutAction::Keep => format!("due {when}"),
    })
}

/// Returns the distance of a moment that is to come, rounded down.
fn in_short(at: Timestamp, now: Timestamp) -> String {
    let seconds = (at.as_micros() - now.as_micros()) / 1_000_000;
    match seconds {
        ..=0 => "now".into(),
        1..120 => format!("in {seconds} s"),
        120..7_200 => format!("in {} min", seconds / 60),
        7_200..172_800 => format!("in {} h", seconds / 3_600),
        _ => format!("in {} d", seconds / 86_400),
    }
}

/// Returns the commands that answer a gate, ready to be typed.
pub fn how_to_answer(gate: &Gate) -> Vec<String> {
    let id = gate.handle();
    let reject = format!("sayso reject {id} \"reason\"");
    match (&gate.card.shape, gate.opened.kind) {
        (AnswerShape::Verdict, GateKind::Work) => {
            vec![format!("sayso done {id} \"what was done\""), reject]
        }
        (AnswerShape::Verdict, GateKind::Escalation) => {
            vec![format!("sayso respond {id} \"direction\""), format!("sayso approve {id}"), reject]
        }
        (AnswerShape::Verdict, _) => vec![format!("sayso approve {id}"), reject],
        (AnswerShape::Text, _) => vec![format!("sayso respond {id} \"your answer\""), reject],
        (AnswerShape::Choice { multi, other, .. }, _) => {
            let several = if *multi { " 2" } else { "" };
            let own = other.then(|| format!("sayso choose {id} --other \"your words\""));
            let pick = format!("sayso choose {id} 1{several}");
            [Some(pick), own, Some(reject)].into_iter().flatten().collect()
        }
        (AnswerShape::Form { .. }, _) => {
            vec![format!("sayso answer {id} --form '{{\"field\": \"value\"}}'"), reject]
        }
    }
}

/// Returns the outcome of an answer, as far as it is known.
pub fn follow_up_lines(receipt: &Receipt) -> Vec<String> {
    let Some(onward) = &receipt.onward else { return vec![] };
    let note = if onward.note.is_empty() {
        String::new()
    } else {
        format!(": {}", shorten(&sanitize_line(&onward.note), 80))
    };
    let mut lines = vec![format!("turn {} went on with it, {}{note}", onward.number, onward.state)];
    lines.extend(onward.commit.iter().map(|commit| format!("  commit {}", sanitize_line(commit))));
    let files = onward.files.iter().flat_map(|files| files.lines());
    lines.extend(files.map(|line| format!("  {}", sanitize_line(line))));
    lines
}

/// Returns the ending of a gate, in words.
pub fn ending_in_words(gate: &Gate) -> String {
    match &gate.ending {
        None => "open".into(),
        Some(GateEnding::Answered { answer, by }) => {
            let said = match (answer.verdict, &answer.content) {
                (Verdict::Approved | Verdict::Answered, AnswerContent::None) => {
                    "approved".to_owned()
                }
                (Verdict::Approved | Verdict::Answered, AnswerContent::Arguments(_)) => {
                    "approved with changed arguments".to_owned()
                }
                (
                    Verdict::Approved | Verdict::Answered,
                    AnswerContent::Text(_) | AnswerContent::Choice { .. } | AnswerContent::Form(_),
                ) => {
                    format!("answered {:?}", shorten(&sanitize_line(&answer.as_text()), 60))
                }
                (Verdict::Rejected, AnswerContent::Choice { .. }) => {
                    format!("rejected with {:?}", shorten(&sanitize_line(&answer.as_text()), 60))
                }
                (Verdict::Rejected, _) => "rejected".to_owned(),
            };
            let why = answer.reason.as_deref().map(|r| format!(" ({})", sanitize_line(r)));
            format!(
                "{said} by {} with {}{}",
                signed(by),
                by.proof.as_str(),
                why.unwrap_or_default()
            )
        }
        Some(GateEnding::Expired { at_end: TimeoutAction::Approve, .. }) => {
            "expired without an answer, which the policy takes for a yes".into()
        }
        Some(GateEnding::Expired { at_end: TimeoutAction::Fail, .. }) => {
            "expired without an answer, so the task failed".into()
        }
        Some(GateEnding::Expired { .. }) => "expired without an answer, which is a no".into(),
        Some(GateEnding::Withdrawn { by, reason, .. }) => {
            format!("withdrawn by {} ({})", sanitize_line(by), sanitize_line(reason))
        }
        Some(GateEnding::Superseded { by, .. }) => format!("replaced by gate {by}"),
    }
}

/// Names the person who answered, the people they stood in for, and those they count as one with.
pub fn signed(by: &AnswerSignature) -> String {
    let listed = |what: &str, names: &[String]| {
        let names = (!names.is_empty()).then(|| sanitize_line(&names.join(", ")));
        names.map_or(String::new(), |names| format!(" ({what} {names})"))
    };
    let place = listed("in the place of", &by.stands_for);
    format!("{}{place}{}", sanitize_line(&by.name), listed("let in since by", &by.let_in_by))
}

/// Returns the heading of the asker's text beside a question.
pub fn who_says(gate: &Gate) -> &'static str {
    match gate.opened.lineage.role {
        Role::Agent => "The agent says",
        Role::Human | Role::Operator | Role::Admin | Role::Auditor | Role::Service => "Context",
    }
}

/// Returns the arguments of a tool call, for editing. Where a command is all there is, it stands for them.
pub fn arguments(gate: &Gate) -> Option<String> {
    Some(super::json_to_edit(&captured_arguments(gate)?))
}

/// Counts the characters in texts of others on a card that are spelt out: they are invisible, or would do something.
pub fn spelt_out(card: &Card) -> usize {
    let count = |text: &str| sanitize(text).spelt_out;
    let facts = card.facts.iter().map(|fact| count(&fact.name) + spelt_out_of(&fact.value));
    let shape = match &card.shape {
        AnswerShape::Verdict | AnswerShape::Text => 0,
        AnswerShape::Choice { options, .. } => {
            options.iter().map(|option| count(&option.name) + count(&option.consequence)).sum()
        }
        AnswerShape::Form { schema } => spelt_out_of(schema),
    };
    count(&card.question) + count(&card.narrative) + facts.sum::<usize>() + shape
}

fn spelt_out_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => sanitize(text).spelt_out,
        Value::Array(all) => all.iter().map(spelt_out_of).sum(),
        Value::Object(all) => {
            all.iter().map(|(name, value)| sanitize(name).spelt_out + spelt_out_of(value)).sum()
        }
    }
}

/// Returns the tool of a call and its arguments, as they were captured.
pub(super) fn captured_call(gate: &Gate) -> Option<(&str, Value)> {
    Some((captured(gate, "tool")?.value.as_str()?, captured_arguments(gate)?))
}

/// Returns a fact that sayso itself captured of a call. A claim of its asker is none.
fn captured<'a>(gate: &'a Gate, name: &str) -> Option<&'a CardFact> {
    let is_call = gate.opened.kind == GateKind::Tool;
    gate.card.facts.iter().find(|it| is_call && it.verified && it.name == name)
}

pub(super) fn captured_arguments(gate: &Gate) -> Option<Value> {
    match (captured(gate, "arguments"), captured(gate, "command")) {
        // A value that was shown as text is JSON inside of it.
        (Some(CardFact { value: Value::String(text), .. }), _) => serde_json::from_str(text).ok(),
        (Some(arguments), _) => Some(arguments.value.clone()),
        (None, Some(command)) => {
            let tool = captured(gate, "tool").and_then(|tool| tool.value.as_str());
            let key = if tool == Some(CALLS_IT_CMD) { "cmd" } else { "command" };
            Some(json!({ key: command.value }))
        }
        (None, None) => None,
    }
}

/// The one shell among those of clients whose command has another name.
const CALLS_IT_CMD: &str = "exec_command";

/// Returns the text of a timeline step: what, by whom, and its note.
pub fn step(step: &ReceiptStep) -> String {
    let by = sanitize_line(&step.by);
    let note = shorten(&sanitize_line(&step.note), 200);
    match (by.is_empty(), note.is_empty()) {
        (true, true) => step.stage.as_str().to_owned(),
        (false, true) => format!("{} by {by}", step.stage.as_str()),
        (true, false) => format!("{}: {note}", step.stage.as_str()),
        (false, false) => format!("{} by {by}: {note}", step.stage.as_str()),
    }
}

/// Returns a warning that the same was asked before and people said no, if they did.
pub fn rejections_warning(asked: &CardView) -> Option<String> {
    let denied = asked.denied.as_ref()?;
    let times = match denied.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let why =
        denied.reason.as_deref().map(|why| format!(": {}", shorten(&sanitize_line(why), 120)));
    Some(format!(
        "asked again: {times} it was rejected, last at {} by {}{}",
        denied.gate,
        sanitize_line(&denied.by),
        why.unwrap_or_default()
    ))
}

/// Returns a warning that a yes came sooner than the card can be read, if it did.
pub fn hasty_warning(gate: &Gate) -> Option<String> {
    let ms = gate.hasty_ms()?;
    let name = gate.answer().map(|(_, by)| sanitize_line(&by.name))?;
    Some(format!(
        "{name} had it on the screen for {}.{} s, too short to read it",
        ms / 1_000,
        ms % 1_000 / 100
    ))
}

/// Returns the other askers of the same question, if there are any: all of them get the answer.
pub fn askers(asked: &CardView) -> Vec<String> {
    let names: BTreeSet<_> = asked.askers.iter().map(|asker| asker.name.as_str()).collect();
    let each: Vec<_> = asked
        .askers
        .iter()
        .map(|asker| format!("{} ({})", sanitize_line(&asker.name), asker.handle))
        .collect();
    let mut lines = vec![];
    match (names.len(), each.len()) {
        (_, 0 | 1) => {}
        (1, many) => lines.push(format!("asked {many} times: {}", each.join(", "))),
        (many, _) => lines.push(format!("{many} agents ask this: {}", each.join(", "))),
    }
    match asked.others {
        0 => {}
        1 => lines.push("one more asks it who is not yours to answer".into()),
        many => lines.push(format!("{many} more ask it who are not yours to answer")),
    }
    lines
}
