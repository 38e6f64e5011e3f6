//! Checks across phases: duplicate names, unknown targets, unreachable phases and phases from which no end can be
//! reached.

use super::answers::AnswerCase;
use super::definition::{AnswerForm, BranchTarget, PhaseAsk, PhaseBranch, PhaseDefinition};
use sayso_policy::diagnostic::{FileDiagnostics, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// Collects the mistakes. Reachability is only checked if all phases could be read.
pub(super) fn check(phases: &[PhaseDefinition], is_whole: bool, mistakes: &mut FileDiagnostics) {
    check_names(phases, mistakes);
    for phase in phases {
        check_approved(phase, mistakes);
        check_no(phase, mistakes);
        check_branches(phase, mistakes);
    }
    let are_known = check_targets(phases, is_whole, mistakes);
    if is_whole && are_known && !phases.is_empty() {
        check_ways(phases, mistakes);
    }
}

fn check_names(phases: &[PhaseDefinition], mistakes: &mut FileDiagnostics) {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    for phase in phases {
        let line = *first.entry(&phase.name).or_insert(phase.line);
        if line != phase.line {
            let what = format!("the name `{}` is taken by the phase on line {line}", phase.name);
            mistakes.add(phase.line, what, "give each phase a name of its own");
        }
    }
}

/// Checks that `approved` is used only where the question takes yes or no: on other forms such a branch is never
/// taken.
fn check_approved(phase: &PhaseDefinition, mistakes: &mut FileDiagnostics) {
    let takes_verdict = |ask: &PhaseAsk| matches!(ask.form, AnswerForm::Approval);
    if phase.ask.as_ref().is_none_or(takes_verdict) {
        return;
    }
    for branch in &phase.next {
        if branch.when.as_ref().is_some_and(|when| when.names("approved")) {
            let what = "a choice, a text or a form is answered, and never `approved`";
            let fix = "look at `human.value`, at `human.verdict == 'rejected'` for a no, or ask with `approval:`";
            mistakes.add(branch.line, what, fix);
        }
    }
}

/// Checks that a rule for a no is used, and that no branch takes a no by accident.
fn check_no(phase: &PhaseDefinition, mistakes: &mut FileDiagnostics) {
    if phase.on_reject.is_some() && phase.handles_rejection() {
        let what = "`on_reject` is never used: `next` looks at the answer by itself";
        mistakes.add(phase.line, what, "drop one of them");
    }
    let last = phase.next.last().filter(|last| last.when.is_none());
    let (Some(last), None, false) = (last, &phase.on_reject, phase.handles_rejection()) else {
        return;
    };
    if phase.ask.is_some() && phase.checks_rejection() {
        let what =
            "`next` looks at the answer, and both a yes and a no can come to its last branch";
        let fix = "give that `if: approved`, or say where a no leads with `on_reject: PHASE`";
        mistakes.add(last.line, what, fix);
    }
}

/// Checks that one of the branches always holds, and that none looks at an answer where possibly no question was
/// asked.
fn check_branches(phase: &PhaseDefinition, mistakes: &mut FileDiagnostics) {
    let holds = |said: AnswerCase| phase.next.iter().any(|branch| branch.surely_holds(said));
    if !phase.next.is_empty() && !phase.possible_answers().all(holds) {
        let what = "`next` has conditions only, and it may be that none of them holds";
        mistakes.add(phase.next_line, what, "let the last branch stand without `if`");
    }
    if phase.possible_answers().all(|said| said != AnswerCase::Nothing) || phase.ask.is_none() {
        return;
    }
    let is_open = |branch: &&PhaseBranch| !branch.surely_holds(AnswerCase::Nothing);
    for branch in phase.next.iter().take_while(is_open) {
        let Some(when) = &branch.when else { continue };
        let is_blind = !when.names("asked") && branch.tried(AnswerCase::Nothing).is_err();
        if when.names("human") && is_blind {
            let what = format!(
                "`if`: `{}`: nobody may have been asked, and then there is no `human`",
                when.text()
            );
            let fix =
                "begin it with `asked && `, or put a branch `{if: \"!asked\", to: …}` before it";
            mistakes.add(branch.line, what, fix);
        }
    }
}

/// Returns true if all targets exist.
fn check_targets(
    phases: &[PhaseDefinition],
    is_whole: bool,
    mistakes: &mut FileDiagnostics,
) -> bool {
    let names = || phases.iter().map(|phase| phase.name.as_str()).chain(["end"]);
    let mut are_known = true;
    for phase in phases {
        let next = phase.next.iter().map(|branch| (branch.line, "next", &branch.to));
        let no = phase.on_reject.iter().map(|to| (phase.reject_line, "on_reject", to));
        let silence = phase.on_silence.iter().map(|to| (phase.silence_line, "on_silence", to));
        for (line, key, to) in next.chain(no).chain(silence) {
            let BranchTarget::Phase(name) = to else { continue };
            if names().any(|known| known == name) {
                continue;
            }
            are_known = false;
            // A phase that could not be read may be the one that is meant.
            if is_whole {
                let fix = match nearest(name, names()) {
                    Some(meant) => format!("write `{meant}`"),
                    None => format!("there are {}", once(names()).join(", ")),
                };
                mistakes.add(line, format!("`{key}`: there is no phase `{name}`"), fix);
            }
        }
    }
    are_known
}

/// Returns each name once, in order.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

fn check_ways(phases: &[PhaseDefinition], mistakes: &mut FileDiagnostics) {
    let leads = |phase: &PhaseDefinition, to: &str| {
        phase.targets().any(|target| matches!(target, BranchTarget::Phase(name) if name == to))
    };
    let mut reached = BTreeSet::from([phases[0].name.as_str()]);
    spread(&mut reached, phases, |phase, reached| {
        phases.iter().any(|from| reached.contains(from.name.as_str()) && leads(from, &phase.name))
    });
    let ends =
        |phase: &&PhaseDefinition| phase.targets().any(|target| *target == BranchTarget::End);
    let mut ending: BTreeSet<&str> =
        phases.iter().filter(ends).map(|phase| phase.name.as_str()).collect();
    spread(&mut ending, phases, |phase, ending| ending.iter().any(|to| leads(phase, to)));
    for phase in phases {
        let name = &phase.name;
        if !reached.contains(name.as_str()) {
            let fix = "lead to it with `next`, or drop it";
            mistakes.add(phase.line, format!("no way leads to the phase `{name}`"), fix);
        } else if !ending.contains(name.as_str()) {
            let what = format!("from the phase `{name}` no way leads to an end");
            mistakes.add(phase.line, what, "add `end: true`, or a branch `to: end`");
        }
    }
}

/// Adds phases to a set until no more belong to it (fixed point).
fn spread<'a>(
    found: &mut BTreeSet<&'a str>,
    phases: &'a [PhaseDefinition],
    belongs: impl Fn(&PhaseDefinition, &BTreeSet<&'a str>) -> bool,
) {
    loop {
        let more = phases.iter().find(|p| !found.contains(p.name.as_str()) && belongs(p, found));
        match more {
            Some(phase) => drop(found.insert(phase.name.as_str())),
            None => return,
        }
    }
}
