//! Parses `ask`, the question of a phase, from YAML.

use super::PARTS_MAX;
use super::definition::{AnswerForm, ChoiceOptions, PhaseAsk, QuestionRecipient, WrittenOption};
use super::read::{DefinitionParser, ExpressionPosition, NAME_BYTES_MAX, PhaseParts};
use super::template::TextTemplate;
use sayso_core::{AnswerShape, ChoiceOption, Risk};
use sayso_policy::diagnostic::nearest;
use sayso_policy::milliseconds;
use sayso_policy::yaml::{YamlFields, YamlNode, YamlValue};

impl DefinitionParser<'_> {
    pub(super) fn ask(&mut self, node: &YamlNode, has: PhaseParts) -> Option<PhaseAsk> {
        const FORMS: [&str; 4] = ["approval", "choice", "text", "form"];
        const KEYS: &[&str] = &[
            "if", "approval", "choice", "text", "form", "schema", "context", "options", "other",
            "multi", "to", "risk", "deadline",
        ];
        let fields = node.fields("`ask`", KEYS, &mut self.mistakes);
        let there: Vec<_> = FORMS.into_iter().filter(|key| fields.get(key).is_some()).collect();
        let [form] = there[..] else {
            let fix = "write one of `approval:`, `choice:`, `text:` and `form:` with the question";
            self.mistakes.add(node.line, "a question has one form", fix);
            return None;
        };
        let of = fields.get(form)?;
        let text = of.text(&format!("`{form}`"), &mut self.mistakes);
        if text.is_some_and(|text| text.trim().is_empty()) {
            self.mistakes.add(of.line, "the question is empty", "write what is asked");
        }
        let question = text
            .and_then(|text| self.template(of.line, form, text, ExpressionPosition::After, has));
        let context = fields.get("context").and_then(|node| {
            let text = node.text("`context`", &mut self.mistakes)?;
            self.template(node.line, "context", text, ExpressionPosition::After, has)
        });
        let when =
            fields.get("if").and_then(|n| self.formula(n, "if", ExpressionPosition::After, has));
        let answer = self.form(&fields, form, has);
        self.check_form_keys(&fields, form);
        let to = fields.get("to").map(|n| self.to(n)).unwrap_or_default();
        let risk = fields.get("risk").and_then(|n| self.risk(n));
        let deadline_ms = fields.get("deadline").and_then(|n| self.length(n));
        let line_of = |key| fields.get(key).map_or(node.line, |node: &YamlNode| node.line);
        Some(PhaseAsk {
            line: of.line,
            when,
            when_line: line_of("if"),
            options_line: line_of("options"),
            question: question?,
            context,
            form: answer?,
            to,
            risk,
            deadline_ms,
        })
    }

    fn form(&mut self, fields: &YamlFields<'_>, form: &str, has: PhaseParts) -> Option<AnswerForm> {
        match form {
            "approval" => Some(AnswerForm::Approval),
            "text" => Some(AnswerForm::Text),
            "choice" => {
                let Some(node) = fields.get("options") else {
                    let fix = "add `options: [One, Another]`";
                    self.mistakes.add(fields.line, "a choice needs options", fix);
                    return None;
                };
                let multi = self.truth(fields, "multi");
                let other = self.truth(fields, "other");
                Some(AnswerForm::Choice { options: self.options(node, has)?, multi, other })
            }
            _ => {
                let Some(node) = fields.get("schema") else {
                    let fix = "add `schema:` with a JSON Schema";
                    self.mistakes.add(fields.line, "a form needs its schema", fix);
                    return None;
                };
                let schema = node.json();
                self.check_shape(node.line, &AnswerShape::Form { schema: schema.clone() });
                Some(AnswerForm::Form { schema })
            }
        }
    }

    fn check_form_keys(&mut self, fields: &YamlFields<'_>, form: &str) {
        let of =
            [("options", "choice"), ("other", "choice"), ("multi", "choice"), ("schema", "form")];
        for (key, needs) in of {
            if let Some(node) = fields.get(key).filter(|_| form != needs) {
                let what = format!("`{key}` is about a {needs}, and this is: {form}");
                self.mistakes.add(node.line, what, format!("write `{needs}:`, or drop it"));
            }
        }
    }

    fn check_shape(&mut self, line: u64, shape: &AnswerShape) {
        if let Err(refusal) = shape.check() {
            let fix = refusal.hint.unwrap_or_else(|| {
                "name each option once, with a short text; a schema is JSON Schema".into()
            });
            self.mistakes.add(line, refusal.message, fix);
        }
    }

    fn options(&mut self, node: &YamlNode, has: PhaseParts) -> Option<ChoiceOptions> {
        if matches!(node.tree, YamlValue::Text(_)) {
            return self
                .formula(node, "options", ExpressionPosition::After, has)
                .map(ChoiceOptions::Computed);
        }
        let nodes = node.items("`options`", &mut self.mistakes);
        self.at_most(nodes.len(), node.line, "options");
        if nodes.is_empty() {
            self.mistakes.add(node.line, "a choice needs options", "add `options: [One, Another]`");
        }
        let mut options = vec![];
        for item in nodes.iter().take(PARTS_MAX) {
            let (name, consequence, declines) = match &item.tree {
                YamlValue::Map(_) => {
                    let known = ["name", "consequence", "declines"];
                    let fields = item.fields("an option", &known, &mut self.mistakes);
                    if fields.get("name").is_none() {
                        self.mistakes.add(item.line, "an option needs a name", "add `name:`");
                    }
                    let declines = self.truth(&fields, "declines");
                    (fields.get("name"), fields.get("consequence"), declines)
                }
                _ => (Some(item), None, false),
            };
            let mut text = |node: Option<&YamlNode>| match node {
                None => Some(TextTemplate { parts: vec![], key: "options", line: item.line }),
                Some(node) => {
                    let text = node.text("an option", &mut self.mistakes)?.to_owned();
                    self.template(node.line, "options", &text, ExpressionPosition::After, has)
                }
            };
            if let (Some(name), Some(consequence)) = (text(name), text(consequence)) {
                options.push(WrittenOption { name, consequence, declines });
            }
        }
        let plain: Option<Vec<ChoiceOption>> = options
            .iter()
            .map(|option| {
                let declines = option.declines;
                Some(ChoiceOption { declines, ..ChoiceOption::named(option.name.plain()?) })
            })
            .collect();
        if let Some(options) = plain.filter(|plain| !plain.is_empty()) {
            let shape = AnswerShape::Choice { options, multi: false, other: false };
            self.check_shape(node.line, &shape);
        }
        Some(ChoiceOptions::Written(options))
    }

    fn to(&mut self, node: &YamlNode) -> Vec<QuestionRecipient> {
        let mut found = vec![];
        for (line, text) in node.texts("`to`", &mut self.mistakes) {
            let group = text.strip_prefix("group:").or_else(|| text.strip_prefix('@'));
            let name = group.unwrap_or(&text);
            let is_name = !name.is_empty()
                && name.len() <= NAME_BYTES_MAX * 2
                && name.chars().all(|c| c.is_alphanumeric() || "._-@+".contains(c));
            if !is_name {
                let fix = "names are letters, digits, `.`, `_`, `-`; groups are `group:NAME`";
                self.mistakes.add(line, format!("`{text}` is no person and no group"), fix);
                continue;
            }
            found.push(match group {
                Some(group) => QuestionRecipient::Group(group.to_owned()),
                None => QuestionRecipient::Person(text.clone()),
            });
        }
        found
    }

    fn risk(&mut self, node: &YamlNode) -> Option<Risk> {
        let text = node.text("`risk`", &mut self.mistakes)?;
        let found = Risk::ALL.into_iter().find(|risk| risk.as_str() == text);
        if found.is_none() {
            let names = Risk::ALL.map(Risk::as_str);
            let fix = match nearest(text, names) {
                Some(name) => format!("write `{name}`"),
                None => format!("write one of {}", names.join(", ")),
            };
            self.mistakes.add(node.line, format!("`risk` cannot be `{text}`"), fix);
        }
        found
    }

    fn length(&mut self, node: &YamlNode) -> Option<u64> {
        let text = node.text("`deadline`", &mut self.mistakes)?;
        let found = milliseconds(text);
        if found.is_none() {
            let fix = "write it like `90s`, `30m`, `1h30m` or `2d`, up to a year";
            self.mistakes.add(node.line, format!("`{text}` is no length of time"), fix);
        }
        found
    }
}
