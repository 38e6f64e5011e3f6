//! The parser from YAML to a policy. It continues after a mistake, so that a person sees them all.

use crate::approvers::{ApproverExpression, parse_groups, parse_who};
use crate::command::CommandPattern;
use crate::demands::{DeadlineHours, PolicyEffect};
use crate::diagnostic::{FileDiagnostic, FileDiagnostics, nearest};
use crate::expression::{self, CelCondition};
use crate::glob::{DualPattern, PatternPurpose};
use crate::matching::{PathPattern, RuleMatch};
use crate::policy::{
    AskTerms, DefaultEffects, FILE_BYTES_MAX, Policy, PolicyLayer, PolicyRule, PolicyTest,
    RULES_MAX, TESTS_MAX,
};
use crate::request::{PolicyRequest, RuleSubject};
use crate::tools;
use crate::yaml::{self, YamlFields, YamlNode, YamlValue};
use sayso_core::{GateKind, IdentityProof, LifecycleAction, Risk, TimeoutAction};
use std::collections::BTreeMap;

/// The longest deadline: a year.
const DEADLINE_MS_MAX: u64 = 366 * 24 * 3600 * 1000;

pub(crate) fn policy(
    layer: PolicyLayer,
    file: &str,
    text: &str,
    checks_all: bool,
) -> Result<Policy, Vec<FileDiagnostic>> {
    match as_far_as_possible(layer, file, text, checks_all) {
        (Some(policy), mistakes) if mistakes.is_empty() => Ok(policy),
        (_, mistakes) => Err(mistakes),
    }
}

/// Parses a policy as far as possible, if it is YAML, and returns all mistakes. A policy with mistakes is only good
/// for finding more of them.
pub(crate) fn as_far_as_possible(
    layer: PolicyLayer,
    file: &str,
    text: &str,
    checks_all: bool,
) -> (Option<Policy>, Vec<FileDiagnostic>) {
    let mut mistakes = FileDiagnostics::of(file);
    if text.len() > FILE_BYTES_MAX {
        let what = format!("the file has {} bytes, {FILE_BYTES_MAX} are allowed", text.len());
        mistakes.add(0, what, "split it, or drop rules that nothing needs");
        return (None, mistakes.into_sorted());
    }
    let node = match yaml::read(text) {
        Ok(node) => node,
        Err((line, message)) => {
            mistakes.add(line, format!("this is no YAML that can be used: {message}"), "mend it");
            return (None, mistakes.into_sorted());
        }
    };
    let mut reader = PolicyParser { layer, checks_all, mistakes };
    let policy = reader.policy(file, &node);
    (Some(policy), reader.mistakes.into_sorted())
}

struct PolicyParser {
    layer: PolicyLayer,
    checks_all: bool,
    mistakes: FileDiagnostics,
}

impl PolicyParser {
    fn policy(&mut self, file: &str, node: &YamlNode) -> Policy {
        const KEYS: &[&str] = &["groups", "otherwise", "ask", "rules", "tests"];
        let fields = node.fields("a policy", KEYS, &mut self.mistakes);
        let groups =
            fields.get("groups").map(|n| parse_groups(n, &mut self.mistakes)).unwrap_or_default();
        let otherwise = fields.get("otherwise").map(|n| self.otherwise(n)).unwrap_or_default();
        let terms = fields.get("ask").map(|n| self.terms(n)).unwrap_or_default();
        self.check_terms(&terms);
        let nodes = fields.get("rules").map(|n| n.items("`rules`", &mut self.mistakes));
        let nodes = nodes.unwrap_or_default();
        if nodes.len() > RULES_MAX {
            let what = format!("the file has {} rules, {RULES_MAX} are allowed", nodes.len());
            self.mistakes.add(nodes[RULES_MAX].line, what, "join rules by listing their patterns");
        }
        let rules: Vec<PolicyRule> =
            nodes.iter().take(RULES_MAX).filter_map(|n| self.rule(n, &terms)).collect();
        self.check_names(&rules);
        if self.checks_all {
            self.check_reach(&rules, &otherwise);
        }
        let nodes = fields.get("tests").map(|n| n.items("`tests`", &mut self.mistakes));
        let nodes = nodes.unwrap_or_default();
        if nodes.len() > TESTS_MAX {
            let what = format!("the file has {} tests, {TESTS_MAX} are allowed", nodes.len());
            self.mistakes.add(nodes[TESTS_MAX].line, what, "keep those that show most");
        }
        let tests = nodes.iter().take(TESTS_MAX).filter_map(|n| self.test(n, &rules)).collect();
        let mut content = node.json();
        if let Some(map) = content.as_object_mut() {
            map.remove("tests");
        }
        let (layer, file) = (self.layer.clone(), file.to_owned());
        Policy { layer, file, groups, otherwise, terms, rules, tests, content }
    }

    fn otherwise(&mut self, node: &YamlNode) -> DefaultEffects {
        let names = RuleSubject::ALL.map(RuleSubject::as_str);
        let fields = node.fields("`otherwise`", &names, &mut self.mistakes);
        let mut otherwise = DefaultEffects::default();
        for on in RuleSubject::ALL {
            let Some(node) = fields.get(on.as_str()) else { continue };
            let what = format!("`otherwise` on {on}");
            let Some(effect) = self.one_of(node, &what, PolicyEffect::ALL, PolicyEffect::as_str)
            else {
                continue;
            };
            if on == RuleSubject::Ask && effect == PolicyEffect::Allow {
                self.question_cannot_be_allowed(node.line);
            }
            otherwise.set(on, effect);
        }
        otherwise
    }

    fn question_cannot_be_allowed(&mut self, line: u64) {
        let what = "a question cannot be allowed: a person answers it, or it is denied";
        self.mistakes.add(line, what, "write `ask` or `deny`");
    }

    fn rule(&mut self, node: &YamlNode, file: &AskTerms) -> Option<PolicyRule> {
        const KEYS: &[&str] = &["name", "on", "match", "unless", "when", "then", "reason", "ask"];
        let line = node.line;
        let fields = node.fields("a rule", KEYS, &mut self.mistakes);
        let name = self.needed(&fields, "name", "a rule").map(str::to_owned);
        if name.as_deref() == Some("otherwise") || name.as_deref() == Some("") {
            let what = "a rule cannot be called so";
            self.mistakes.add(line, what, "give it a name that says what it is for");
        }
        let on = match fields.get("on") {
            Some(node) => self.one_of(node, "`on`", RuleSubject::ALL, RuleSubject::as_str),
            None => {
                self.mistakes.add(line, "a rule needs `on`", "say what it is about: `on: tool`");
                None
            }
        };
        let then = match fields.get("then") {
            Some(node) => self.one_of(node, "`then`", PolicyEffect::ALL, PolicyEffect::as_str),
            None => {
                let fix = "say what follows: `then: ask`, `deny` or `allow`";
                self.mistakes.add(line, "a rule needs `then`", fix);
                None
            }
        };
        let matches = fields.get("match").map(|n| self.matches(n, "`match`", on));
        let unless = fields.get("unless").map(|n| self.matches(n, "`unless`", on));
        let when = fields.get("when").and_then(|n| self.condition(n));
        let reason = fields
            .get("reason")
            .and_then(|n| n.text("`reason`", &mut self.mistakes))
            .unwrap_or_default()
            .to_owned();
        let terms = fields.get("ask").map(|n| self.terms(n));
        if let (Some(terms), Some(PolicyEffect::Allow | PolicyEffect::Deny)) = (&terms, then) {
            let fix = "write `then: ask`, or drop `ask`";
            self.mistakes.add(terms.line, "only a rule that asks can say how it is asked", fix);
        }
        let terms = terms.unwrap_or_default().or(file);
        if then == Some(PolicyEffect::Ask) {
            self.check_terms(&terms);
        }
        if on == Some(RuleSubject::Ask)
            && then == Some(PolicyEffect::Ask)
            && terms.at_end == Some(TimeoutAction::Approve)
        {
            let what = "no question is answered by silence";
            self.mistakes.add(terms.line, what, "write another `at_end`, such as `deny`");
        }
        if (on, then) == (Some(RuleSubject::Ask), Some(PolicyEffect::Allow)) {
            self.question_cannot_be_allowed(line);
        }
        let (name, on, then) = (name?, on?, then?);
        let matches = matches.unwrap_or_default();
        Some(PolicyRule { name, line, on, matches, unless, when, then, reason, terms })
    }

    fn needed<'a>(&mut self, fields: &YamlFields<'a>, key: &str, what: &str) -> Option<&'a str> {
        match fields.get(key) {
            Some(node) => node.text(&format!("`{key}`"), &mut self.mistakes),
            None => {
                let fix = format!("add `{key}:`");
                self.mistakes.add(fields.line, format!("{what} needs `{key}`"), fix);
                None
            }
        }
    }

    /// Parses one word out of a closed set.
    fn one_of<T: Copy, const N: usize>(
        &mut self,
        node: &YamlNode,
        what: &str,
        all: [T; N],
        name: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let text = node.text(what, &mut self.mistakes)?;
        let found = all.into_iter().find(|one| name(*one) == text);
        if found.is_none() {
            let names = all.map(&name);
            let fix = match nearest(text, names) {
                Some(name) => format!("write `{name}`"),
                None => format!("write one of {}", names.join(", ")),
            };
            self.mistakes.add(node.line, format!("{what} cannot be `{text}`"), fix);
        }
        found
    }

    fn condition(&mut self, node: &YamlNode) -> Option<CelCondition> {
        let text = node.text("`when`", &mut self.mistakes)?;
        if text.len() > expression::BYTES_MAX {
            let what = format!("the condition is longer than {} bytes", expression::BYTES_MAX);
            self.mistakes.add(node.line, what, "shorten it, or make two rules of it");
            return None;
        }
        let expression = CelCondition::new(text);
        if self.checks_all {
            for (what, fix) in expression.check() {
                self.mistakes.add(node.line, what, fix);
            }
        }
        Some(expression)
    }

    fn matches(&mut self, node: &YamlNode, what: &str, on: Option<RuleSubject>) -> RuleMatch {
        const COMMON: &[&str] = &["agent", "role", "label", "type"];
        let own = |on: RuleSubject| -> &'static [&'static str] {
            match on {
                RuleSubject::Tool => &["tool", "command", "path"],
                RuleSubject::Transition => &["from", "to"],
                RuleSubject::Lifecycle => &["action", "target"],
                RuleSubject::Result => &["outcome"],
                RuleSubject::Ask => &["kind"],
            }
        };
        let known: Vec<&'static str> = match on {
            Some(on) => own(on).iter().chain(COMMON).copied().collect(),
            None => {
                RuleSubject::ALL.iter().flat_map(|on| own(*on)).chain(COMMON).copied().collect()
            }
        };
        let what = match on {
            Some(on) => format!("{what} on {on}"),
            None => what.to_owned(),
        };
        let fields = node.fields(&what, &known, &mut self.mistakes);
        RuleMatch {
            tool: self.patterns(&fields, "tool"),
            command: self.list(&fields, "command", CommandPattern::new),
            path: self.list(&fields, "path", |text| {
                PathPattern::new(text).map_err(|e| no_pattern(text, &e))
            }),
            from: self.patterns(&fields, "from"),
            to: self.patterns(&fields, "to"),
            action: self.list(&fields, "action", |text| {
                closed(text, "action", LifecycleAction::ALL, LifecycleAction::as_str)
            }),
            target: self.patterns(&fields, "target"),
            outcome: self.patterns(&fields, "outcome"),
            kind: self.list(&fields, "kind", |text| {
                closed(text, "kind of gate", GateKind::ALL, GateKind::as_str)
            }),
            agent: self.patterns(&fields, "agent"),
            role: self.patterns(&fields, "role"),
            label: self.patterns(&fields, "label"),
            sort: self.patterns(&fields, "type"),
        }
    }

    fn patterns(&mut self, fields: &YamlFields<'_>, key: &str) -> Option<Vec<DualPattern>> {
        self.list(fields, key, |text| {
            DualPattern::new(text, PatternPurpose::Names).map_err(|error| no_pattern(text, &error))
        })
    }

    fn list<T>(
        &mut self,
        fields: &YamlFields<'_>,
        key: &str,
        read: impl Fn(&str) -> Result<T, (String, String)>,
    ) -> Option<Vec<T>> {
        let node = fields.get(key)?;
        let texts = node.texts(&format!("`{key}`"), &mut self.mistakes);
        let mut list = vec![];
        for (line, text) in texts {
            match read(&text) {
                Ok(one) => list.push(one),
                Err((what, fix)) => self.mistakes.add(line, what, fix),
            }
        }
        Some(list)
    }

    fn terms(&mut self, node: &YamlNode) -> AskTerms {
        const KEYS: &[&str] = &[
            "of",
            "veto",
            "not_launcher",
            "proof",
            "risk",
            "deadline",
            "remind",
            "escalate",
            "at_end",
            "hours",
        ];
        const PROOFS: [IdentityProof; 5] = [
            IdentityProof::Token,
            IdentityProof::Tty,
            IdentityProof::Passphrase,
            IdentityProof::Presence,
            IdentityProof::TwoPeople,
        ];
        let fields = node.fields("`ask`", KEYS, &mut self.mistakes);
        let veto = fields.get("veto").map(|node| {
            let texts = node.texts("`veto`", &mut self.mistakes);
            texts.iter().flat_map(|(line, text)| self.veto(*line, text)).collect()
        });
        let remind = fields.get("remind").map(|node| {
            let texts = node.texts("`remind`", &mut self.mistakes);
            let mut all: Vec<u64> =
                texts.iter().filter_map(|(line, text)| self.duration(*line, text)).collect();
            all.sort_unstable();
            all
        });
        AskTerms {
            of: fields.get("of").and_then(|n| self.who(n)),
            veto,
            not_launcher: fields.get("not_launcher").and_then(|n| self.yes_or_no(n)),
            proof: fields
                .get("proof")
                .and_then(|n| self.one_of(n, "`proof`", PROOFS, IdentityProof::as_str)),
            risk: fields
                .get("risk")
                .and_then(|n| self.one_of(n, "`risk`", Risk::ALL, Risk::as_str)),
            deadline_ms: fields.get("deadline").and_then(|n| self.duration_of(n, "`deadline`")),
            remind_ms: remind,
            escalate: fields.get("escalate").map(|n| self.levels(n)),
            at_end: fields.get("at_end").and_then(|n| {
                self.one_of(n, "`at_end`", TimeoutAction::ALL, TimeoutAction::as_str)
            }),
            hours: fields
                .get("hours")
                .and_then(|n| self.one_of(n, "`hours`", DeadlineHours::ALL, DeadlineHours::as_str)),
            line: node.line,
        }
    }

    fn who(&mut self, node: &YamlNode) -> Option<ApproverExpression> {
        let text = node.text("`of`", &mut self.mistakes)?;
        match parse_who(text) {
            Ok(who) => Some(who),
            Err((what, fix)) => {
                self.mistakes.add(node.line, what, fix);
                None
            }
        }
    }

    /// Parses the people with a veto: names and groups, joined in any way.
    fn veto(&mut self, line: u64, text: &str) -> Vec<ApproverExpression> {
        let names = text.split([',', ' ']).filter(|name| !["", "and", "or"].contains(name));
        let mut found = vec![];
        for name in names {
            match parse_who(name) {
                Ok(who @ (ApproverExpression::Person(_) | ApproverExpression::Group(_))) => {
                    found.push(who)
                }
                Ok(
                    ApproverExpression::Anyone
                    | ApproverExpression::All(_)
                    | ApproverExpression::AtLeast(..),
                )
                | Err(_) => {
                    let fix = "name people and groups: `veto: \"@owners, ann\"`";
                    self.mistakes.add(line, format!("`{name}` cannot have a veto"), fix);
                }
            }
        }
        found
    }

    fn yes_or_no(&mut self, node: &YamlNode) -> Option<bool> {
        if let YamlValue::Bool(value) = node.tree {
            return Some(value);
        }
        let what = format!("`not_launcher` is {}", node.sort());
        self.mistakes.add(node.line, what, "write `true` or `false`");
        None
    }

    fn levels(&mut self, node: &YamlNode) -> Vec<(u64, ApproverExpression)> {
        let mut levels = vec![];
        for item in node.items("`escalate`", &mut self.mistakes) {
            let fields = item.fields("a level", &["after", "of"], &mut self.mistakes);
            for key in ["after", "of"] {
                if fields.get(key).is_none() {
                    let what = format!("a level needs `{key}`");
                    self.mistakes.add(item.line, what, "write `{after: 2h, of: \"@owners\"}`");
                }
            }
            let after = fields.get("after").and_then(|n| self.duration_of(n, "`after`"));
            let of = fields.get("of").and_then(|n| self.who(n));
            if let (Some(after), Some(of)) = (after, of) {
                levels.push((after, of));
            }
        }
        levels
    }

    fn duration_of(&mut self, node: &YamlNode, what: &str) -> Option<u64> {
        let text = node.text(what, &mut self.mistakes)?;
        self.duration(node.line, text)
    }

    fn duration(&mut self, line: u64, text: &str) -> Option<u64> {
        let ms = milliseconds(text);
        if ms.is_none() {
            let fix = "write it like `90s`, `30m`, `1h30m` or `2d`, up to a year";
            self.mistakes.add(line, format!("`{text}` is no length of time"), fix);
        }
        ms
    }

    /// Checks the fields of an ask against each other.
    fn check_terms(&mut self, terms: &AskTerms) {
        let line = terms.line;
        let levels = terms.escalate.iter().flatten().map(|(after_ms, _)| *after_ms);
        match terms.deadline_ms {
            None if terms.at_end.is_some() => {
                self.mistakes.add(line, "`at_end` has no end to wait for", "add a `deadline`");
            }
            None => {}
            Some(deadline_ms) => {
                if terms.remind_ms.iter().flatten().any(|ms| *ms >= deadline_ms) {
                    let fix = "remind before the deadline, or move it";
                    self.mistakes.add(line, "a reminder comes after the deadline", fix);
                }
                if levels.clone().any(|ms| ms >= deadline_ms) {
                    let fix = "escalate before the deadline, or move it";
                    self.mistakes.add(line, "a level comes after the deadline", fix);
                }
            }
        }
        if terms.at_end == Some(TimeoutAction::Escalate) && levels.count() == 0 {
            let fix = "add `escalate: [{after: 2h, of: \"@owners\"}]`";
            self.mistakes.add(line, "`at_end: escalate` has no level to go to", fix);
        }
        if terms.at_end == Some(TimeoutAction::Approve) {
            if self.layer != PolicyLayer::Admin {
                let what = "only an admin's policy may let silence approve";
                self.mistakes.add(line, what, "write `at_end: deny`, or move it to that file");
            }
            if terms.risk != Some(Risk::Low) {
                let what = "silence may approve low risk only";
                self.mistakes.add(line, what, "write `at_end: deny`, or `risk: low` if it is");
            }
        }
    }

    fn check_names(&mut self, rules: &[PolicyRule]) {
        let mut first: BTreeMap<&str, u64> = BTreeMap::new();
        for rule in rules {
            if let Some(line) = first.insert(&rule.name, rule.line) {
                let what = format!("the name `{}` is taken by the rule on line {line}", rule.name);
                self.mistakes.add(rule.line, what, "give each rule a name of its own");
                first.insert(&rule.name, line);
            }
        }
    }

    /// Reports rules that can never decide, which are not what their author meant.
    fn check_reach(&mut self, rules: &[PolicyRule], otherwise: &DefaultEffects) {
        let objects = rules
            .iter()
            .any(|rule| rule.on == RuleSubject::Tool && rule.then != PolicyEffect::Allow);
        for rule in rules {
            // If other rules ask about tools, an allow rule may vouch for an unknown tool or for a program.
            let names_others = |patterns: &Vec<DualPattern>| {
                patterns.iter().any(|p| p.exact.plain().is_none_or(|tool| !tools::is_known(tool)))
            };
            let names_some = rule.matches.tool.as_ref().is_some_and(names_others)
                || rule.matches.command.is_some();
            let settles = rule.on == RuleSubject::Tool && objects && names_some;
            let is_idle = rule.then == PolicyEffect::Allow
                && otherwise.of(rule.on) == PolicyEffect::Allow
                && !settles;
            if is_idle {
                let what =
                    format!("`{}` allows what is allowed anyway, so it never counts", rule.name);
                let fix = format!(
                    "add `otherwise: {{{}: ask}}`; for an exception from a rule that asks or \
                     denies, give that rule an `unless`",
                    rule.on
                );
                self.mistakes.add(rule.line, what, fix);
            }
        }
        // Only stricter rules without conditions can shadow; there are few of them among many.
        let shadows: Vec<&PolicyRule> =
            rules.iter().filter(|r| r.then > PolicyEffect::Allow && r.unless.is_none()).collect();
        for rule in rules.iter().filter(|rule| rule.then < PolicyEffect::Deny) {
            let shadow = shadows.iter().find(|other| {
                let is_same_condition = match (&other.when, &rule.when) {
                    (None, _) => true,
                    (Some(theirs), Some(mine)) => theirs.text == mine.text,
                    (Some(_), None) => false,
                };
                other.on == rule.on
                    && other.then > rule.then
                    && is_same_condition
                    && other.matches.is_wider_than(&rule.matches)
            });
            if let Some(other) = shadow {
                let what = format!(
                    "`{}` is never reached: `{}` on line {} says {} to all of it",
                    rule.name, other.name, other.line, other.then
                );
                let fix = format!("drop it, or give `{}` an `unless`", other.name);
                self.mistakes.add(rule.line, what, fix);
            }
        }
    }

    fn test(&mut self, node: &YamlNode, rules: &[PolicyRule]) -> Option<PolicyTest> {
        const KEYS: &[&str] = &["name", "request", "expect", "by"];
        let fields = node.fields("a test", KEYS, &mut self.mistakes);
        let name = self.needed(&fields, "name", "a test").map(str::to_owned);
        let expect = match fields.get("expect") {
            Some(node) => self.one_of(node, "`expect`", PolicyEffect::ALL, PolicyEffect::as_str),
            None => {
                let fix = "say what the policy is to answer: `expect: ask`";
                self.mistakes.add(node.line, "a test needs `expect`", fix);
                None
            }
        };
        let request = match fields.get("request") {
            Some(node) => match serde_json::from_value::<PolicyRequest>(node.json()) {
                Ok(request) => Some(request),
                Err(error) => {
                    let fix = "write it like `{on: tool, tool: Bash, command: \"git push\"}`";
                    self.mistakes.add(node.line, format!("this is no request: {error}"), fix);
                    None
                }
            },
            None => {
                let fix = "say what is asked: `request: {on: tool, tool: Bash}`";
                self.mistakes.add(node.line, "a test needs `request`", fix);
                None
            }
        };
        let by = fields.get("by").and_then(|node| {
            let by = node.text("`by`", &mut self.mistakes)?;
            if by != "otherwise" && !rules.iter().any(|rule| rule.name == by) {
                let names = rules.iter().map(|rule| rule.name.as_str());
                let fix = match nearest(by, names) {
                    Some(name) => format!("write `{name}`"),
                    None => "name a rule of this file, or `otherwise`".into(),
                };
                self.mistakes.add(node.line, format!("no rule is called `{by}`"), fix);
            }
            Some(by.to_owned())
        });
        Some(PolicyTest { name: name?, line: node.line, request: request?, expect: expect?, by })
    }
}

fn no_pattern(text: &str, error: &str) -> (String, String) {
    let fix = "put characters that are meant as such in `[]`, as in `[*]`";
    (format!("`{text}` is no pattern: {error}"), fix.into())
}

fn closed<T: Copy, const N: usize>(
    text: &str,
    what: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> Result<T, (String, String)> {
    let names = all.map(&name);
    all.into_iter().find(|one| name(*one) == text).ok_or_else(|| {
        let fix = match nearest(text, names) {
            Some(name) => format!("write `{name}`"),
            None => format!("write one of {}", names.join(", ")),
        };
        (format!("`{text}` is no {what}"), fix)
    })
}

/// Parses a duration such as `1h30m` to milliseconds, up to a year. Days have 24 hours here: a deadline is a
/// duration, not a date.
pub fn milliseconds(text: &str) -> Option<u64> {
    let span: jiff::Span = text.parse().ok()?;
    let duration = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
    let ms = u64::try_from(duration.as_millis()).ok()?;
    (1..=DEADLINE_MS_MAX).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, expected) in [
            ("4h", Some(14_400_000)),
            ("1h30m", Some(5_400_000)),
            ("90s", Some(90_000)),
            ("2d", Some(172_800_000)),
            ("1w", Some(604_800_000)),
            ("0s", None),
            ("-1h", None),
            ("2 years", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
