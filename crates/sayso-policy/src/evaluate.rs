//! The decision of one policy file on a request. The strictest rule that matches decides; without one, the
//! `otherwise` of the file.

use crate::approvers::GroupScopes;
use crate::command::MatchCertainty;
use crate::demands::{AskDemands, PolicyEffect};
use crate::matching::{FieldMismatch, PartSet, RuleCoverage};
use crate::policy::{Policy, PolicyRule};
use crate::request::{RequestedAction, RuleSubject};
use crate::ruling::{CheckedRule, RulingReason};
use crate::shell::CommandLine;
use crate::view::RequestView;

/// A policy's demands with groups resolved to people, and its rules by subject.
#[derive(Debug)]
pub(crate) struct ResolvedPolicy {
    pub(crate) rules: Vec<AskDemands>,
    pub(crate) default: AskDemands,
    by_subject: [Vec<usize>; 5],
    judges_commands: bool,
    /// True if a rule asks about tools or denies some.
    objects_to_tools: bool,
}

impl ResolvedPolicy {
    pub(crate) fn of(policy: &Policy, groups: &GroupScopes<'_>) -> Self {
        let mut by_subject: [Vec<usize>; 5] = Default::default();
        for (at, rule) in policy.rules.iter().enumerate() {
            by_subject[rule.on as usize].push(at);
        }
        Self {
            rules: policy.rules.iter().map(|rule| rule.terms.resolve(groups)).collect(),
            default: policy.terms.resolve(groups),
            by_subject,
            judges_commands: policy.rules.iter().any(PolicyRule::speaks_of_commands),
            objects_to_tools: policy
                .rules
                .iter()
                .any(|rule| rule.on == RuleSubject::Tool && rule.then != PolicyEffect::Allow),
        }
    }
}

/// The decision of one file.
#[derive(Debug)]
pub(crate) struct FileDecision {
    pub(crate) effect: PolicyEffect,
    /// The demands of an ask; unused for other effects.
    pub(crate) demands: AskDemands,
    pub(crate) because: Vec<RulingReason>,
}

/// The trace of checked rules, if the caller wants an explanation.
pub(crate) enum RuleTrace<'a> {
    Off,
    On(&'a mut Vec<CheckedRule>),
}

impl RuleTrace<'_> {
    fn note(
        &mut self,
        policy: &Policy,
        rule: &PolicyRule,
        matched: bool,
        why: impl FnOnce() -> String,
    ) {
        if let RuleTrace::On(looked) = self {
            looked.push(CheckedRule {
                layer: policy.layer.to_string(),
                file: policy.file.clone(),
                line: Some(rule.line),
                rule: Some(rule.name.clone()),
                says: rule.then,
                matched,
                why: why(),
                decided: false,
            });
        }
    }
}

/// The evaluation of one file's rules.
struct RuleEvaluation<'b, 'a> {
    policy: &'b Policy,
    opened: &'b ResolvedPolicy,
    view: &'b RequestView<'a>,
    fired: Vec<(RulingReason, AskDemands)>,
    /// The commands that rules which fired match.
    spoken: Vec<PartSet>,
    /// The commands whose program a rule allows by name.
    vouched: Vec<usize>,
    covers: Vec<(RulingReason, RuleCoverage)>,
}

pub(crate) fn judge(
    policy: &Policy,
    opened: &ResolvedPolicy,
    view: &RequestView<'_>,
    trace: &mut RuleTrace<'_>,
) -> FileDecision {
    let (fired, spoken, covers) = (vec![], vec![], vec![]);
    let vouched = vouched(policy, opened, view);
    let mut bench = RuleEvaluation { policy, opened, view, fired, spoken, vouched, covers };
    for at in &opened.by_subject[view.request.on() as usize] {
        let rule = &policy.rules[*at];
        match rule.then {
            PolicyEffect::Deny | PolicyEffect::Ask => {
                bench.apply_restriction(rule, &opened.rules[*at], trace)
            }
            PolicyEffect::Allow => bench.apply_allowance(rule, trace),
        }
    }
    let judged = bench.conclude();
    if let RuleTrace::On(looked) = trace
        && judged.because.iter().any(|because| because.rule.is_none())
    {
        looked.push(CheckedRule {
            layer: policy.layer.to_string(),
            file: policy.file.clone(),
            line: None,
            rule: None,
            says: judged.effect,
            matched: true,
            why: "no rule decides".into(),
            decided: false,
        });
    }
    judged
}

/// Returns the commands whose program is allowed by name, without further conditions. Then a doubt about the
/// arguments of such a program no longer counts; all other doubts do.
fn vouched(policy: &Policy, opened: &ResolvedPolicy, view: &RequestView<'_>) -> Vec<usize> {
    if !view.line.as_ref().is_some_and(CommandLine::has_doubt) {
        return vec![];
    }
    let rules = opened.by_subject[view.request.on() as usize].iter().map(|at| &policy.rules[*at]);
    let plain = rules.filter(|rule| {
        rule.then == PolicyEffect::Allow && rule.when.is_none() && rule.unless.is_none()
    });
    plain.flat_map(|rule| rule.matches.vouches_for(view)).collect()
}

impl RuleEvaluation<'_, '_> {
    /// Evaluates a rule that asks or denies.
    fn apply_restriction(
        &mut self,
        rule: &PolicyRule,
        demands: &AskDemands,
        trace: &mut RuleTrace<'_>,
    ) {
        let (fit, part) = match rule.matches.may_be(rule.unless.as_ref(), self.view, &self.vouched)
        {
            Ok(found) => found,
            Err(miss) => {
                return trace.note(self.policy, rule, false, || why_not(miss, self.view));
            }
        };
        let held = rule.when.as_ref().map_or(Ok(true), |condition| condition.holds(self.view));
        let (effect, note) = match (held, fit) {
            (Ok(false), _) => {
                return trace.note(self.policy, rule, false, || "its condition is not true".into());
            }
            (Err(error), _) => (PolicyEffect::Ask, Some(failed(&error))),
            (Ok(true), MatchCertainty::Yes) => (rule.then, None),
            (Ok(true), MatchCertainty::Maybe | MatchCertainty::No) => {
                let why = self.view.unclear().unwrap_or("a part is only known when it runs");
                (PolicyEffect::Ask, Some(format!("it may be what this rule is about: {why}")))
            }
        };
        let why = note.clone();
        trace.note(self.policy, rule, true, || why.unwrap_or_else(|| "it fits".into()));
        // If a denial becomes a question, the file's defaults decide how it is asked.
        let demands = if rule.then == PolicyEffect::Ask { demands } else { &self.opened.default };
        self.fired.push((self.because(rule, effect, note), demands.clone()));
        self.spoken.push(part);
    }

    /// Evaluates a rule that allows.
    fn apply_allowance(&mut self, rule: &PolicyRule, trace: &mut RuleTrace<'_>) {
        let cover = match rule.matches.cover(self.view) {
            Ok(cover) => cover,
            Err(miss) => {
                return trace.note(self.policy, rule, false, || why_not(miss, self.view));
            }
        };
        if rule
            .unless
            .as_ref()
            .is_some_and(|unless| unless.may_be(None, self.view, &self.vouched).is_ok())
        {
            return trace.note(self.policy, rule, false, || "its `unless` may fit".into());
        }
        match rule.when.as_ref().map_or(Ok(true), |condition| condition.holds(self.view)) {
            Ok(true) => {}
            Ok(false) => {
                return trace.note(self.policy, rule, false, || "its condition is not true".into());
            }
            Err(error) => {
                trace.note(self.policy, rule, true, || failed(&error));
                let because = self.because(rule, PolicyEffect::Ask, Some(failed(&error)));
                self.fired.push((because, self.opened.default.clone()));
                self.spoken.push(PartSet::All);
                return;
            }
        }
        if let Some(why) = self.unclear() {
            return trace.note(self.policy, rule, false, || format!("the line is unclear: {why}"));
        }
        trace.note(self.policy, rule, true, || self.covered_in_words(&cover));
        self.covers.push((self.because(rule, PolicyEffect::Allow, None), cover));
    }

    fn covered_in_words(&self, cover: &RuleCoverage) -> String {
        match (&cover.commands, &self.view.line) {
            (PartSet::These(these), Some(line)) if these.len() < line.commands.len() => {
                format!("it covers {} of {} commands", these.len(), line.commands.len())
            }
            (PartSet::These(_) | PartSet::All, _) => "it fits".into(),
        }
    }

    /// Returns the reason why the command line cannot be allowed, if this file looks at commands at all.
    fn unclear(&self) -> Option<&str> {
        let line = self.view.line.as_ref().filter(|_| self.opened.judges_commands)?;
        line.unclear_but_for(&self.vouched)
    }

    /// Returns a tool that is unknown and that no rule names, if rules ask about or deny tools.
    fn unknown_tool(&self) -> Option<&str> {
        let tool = self.view.unknown_tool().filter(|_| self.opened.objects_to_tools)?;
        let rules = self.policy.rules.iter().filter(|rule| rule.on == RuleSubject::Tool);
        let mut named = rules.flat_map(|rule| rule.matches.tool.iter().flatten());
        let is_named = named.any(|pattern| !pattern.exact.is_any() && pattern.fits(tool, false));
        (!is_named).then_some(tool)
    }

    fn because(
        &self,
        rule: &PolicyRule,
        effect: PolicyEffect,
        note: Option<String>,
    ) -> RulingReason {
        RulingReason {
            layer: self.policy.layer.to_string(),
            file: self.policy.file.clone(),
            line: Some(rule.line),
            rule: Some(rule.name.clone()),
            effect,
            reason: rule.reason.clone(),
            note,
        }
    }

    fn otherwise(&self, effect: PolicyEffect, note: Option<String>) -> RulingReason {
        RulingReason {
            layer: self.policy.layer.to_string(),
            file: self.policy.file.clone(),
            line: None,
            rule: None,
            effect,
            reason: String::new(),
            note,
        }
    }

    fn conclude(self) -> FileDecision {
        let on = self.view.request.on();
        let otherwise = self.policy.otherwise.of(on);
        let default = || self.opened.default.clone();
        let Some(effect) = self.fired.iter().map(|(because, _)| because.effect).max() else {
            if let Some(why) = self.unclear() {
                let note = Some(format!("what it runs cannot be told: {why}"));
                let effect = otherwise.max(PolicyEffect::Ask);
                let because = vec![self.otherwise(effect, note)];
                return FileDecision { effect, demands: default(), because };
            }
            if self.is_covered() {
                let because = self.covers.into_iter().map(|(because, _)| because).collect();
                return FileDecision {
                    effect: PolicyEffect::Allow,
                    demands: AskDemands::default(),
                    because,
                };
            }
            if let (PolicyEffect::Allow, Some(tool)) = (otherwise, self.unknown_tool()) {
                let note = Some(format!("it is not known what the tool {tool} does"));
                let because = vec![self.otherwise(PolicyEffect::Ask, note)];
                return FileDecision { effect: PolicyEffect::Ask, demands: default(), because };
            }
            let because = vec![self.otherwise(otherwise, None)];
            return FileDecision { effect: otherwise, demands: default(), because };
        };
        // A line of several commands is as strict as the strictest of them: commands that no rule matches fall under
        // `otherwise`.
        if otherwise > effect && !self.speaks_of_all() {
            let note = Some("it also runs what no rule speaks of".into());
            let because = vec![self.otherwise(otherwise, note)];
            return FileDecision { effect: otherwise, demands: default(), because };
        }
        let mut because = vec![];
        let mut demands: Option<AskDemands> = None;
        for (one, asked) in self.fired.into_iter().filter(|(one, _)| one.effect == effect) {
            because.push(one);
            demands = Some(demands.map_or_else(|| asked.clone(), |merged| merged.merge(&asked)));
        }
        FileDecision { effect, demands: demands.unwrap_or_default(), because }
    }

    /// True if the allow rules cover all of the request.
    fn is_covered(&self) -> bool {
        if self.covers.is_empty() {
            return false;
        }
        let Some(line) = &self.view.line else { return true };
        let files = self.covers.iter().map(|(_, cover)| &cover.files);
        let commands = self.covers.iter().map(|(_, cover)| &cover.commands);
        let has_command = commands.clone().any(|part| *part == PartSet::All)
            || line.commands.iter().any(|command| !command.words.is_empty());
        has_command && is_whole(commands, line, true) && is_whole(files, line, false)
    }

    fn speaks_of_all(&self) -> bool {
        let covered = self.covers.iter().map(|(_, cover)| &cover.commands);
        let parts = self.spoken.iter().chain(covered);
        self.view.line.as_ref().is_none_or(|line| is_whole(parts, line, true))
    }
}

/// True if the parts together cover all commands that count, or all redirections.
fn is_whole<'a>(
    parts: impl Iterator<Item = &'a PartSet>,
    line: &CommandLine,
    commands: bool,
) -> bool {
    let mut left = if commands {
        line.commands.iter().map(|command| !command.transparent).collect()
    } else {
        vec![true; line.files.len()]
    };
    for part in parts {
        match part {
            PartSet::All => return true,
            PartSet::These(these) => these.iter().for_each(|at| left[*at] = false),
        }
    }
    !left.contains(&true)
}

fn failed(error: &str) -> String {
    format!("its condition could not be judged, so a person is asked: {error}")
}

/// Returns the reason why a rule does not match a request, for people.
fn why_not(miss: FieldMismatch, view: &RequestView<'_>) -> String {
    let request = view.request;
    let value = match (miss.0, &request.subject) {
        ("tool", RequestedAction::Tool(call)) => Some(call.tool.clone()),
        ("command", RequestedAction::Tool(call)) => Some(match &call.command {
            Some(command) => command.chars().take(80).collect(),
            None => return "there is no command".into(),
        }),
        ("path", RequestedAction::Tool(_)) => {
            let paths: Vec<_> = view.paths().iter().take(5).map(|p| p.text.as_str()).collect();
            if paths.is_empty() { return "there is no path".into() } else { Some(paths.join(", ")) }
        }
        ("unless", _) => return "its `unless` fits".into(),
        ("from", RequestedAction::Transition(t)) => Some(t.from.clone()),
        ("to", RequestedAction::Transition(t)) => Some(t.to.clone()),
        ("action", RequestedAction::Lifecycle(l)) => Some(l.action.to_string()),
        ("target", RequestedAction::Lifecycle(l)) => Some(l.target.clone()),
        ("outcome", RequestedAction::Result(r)) => Some(r.outcome.clone()),
        ("kind", RequestedAction::Ask(a)) => Some(a.kind.to_string()),
        ("agent", _) => Some(request.agent.name.clone()),
        ("role", _) => Some(request.agent.role.clone()),
        ("label", _) => request.task.as_ref().map(|task| task.labels.join(", ")),
        ("type", _) => request.task.as_ref().map(|task| task.sort.clone()),
        _ => None,
    };
    match value {
        Some(value) => format!("`{}` does not fit: {value}", miss.0),
        None => format!("`{}` does not fit: there is none", miss.0),
    }
}

/// Returns the decision without any policy.
pub(crate) fn base(on: RuleSubject) -> FileDecision {
    let effect = crate::policy::DefaultEffects::default().of(on);
    FileDecision { effect, demands: AskDemands::default(), because: vec![] }
}
