//! Parses a workflow from YAML. Continues after a mistake, so that a person sees all of them.

use super::check::check;
use super::definition::{
    BranchTarget, PhaseBranch, PhaseCheck, PhaseDefinition, PhaseWork, StateSetting,
    WorkflowDefinition, WorkflowInput,
};
use super::shell::{QuoteStyle, fix};
use super::template::{RawPart, TemplatePart, TextTemplate, quotes, split};
use super::yaml_errors::explain_yaml_error;
use super::{FILE_BYTES_MAX, PARTS_MAX, PHASES_MAX, RETRIES_MAX};
use sayso_policy::diagnostic::FileDiagnostics;
use sayso_policy::yaml::{self, YamlFields, YamlNode, YamlValue};
use sayso_policy::{CelFormula, FileDiagnostic, FormulaDiagnostic, FormulaVariable, PathPatterns};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The maximum length of a name.
pub(super) const NAME_BYTES_MAX: usize = 64;

const PHASE_KEYS: &[&str] = &[
    "name",
    "prompt",
    "prompt_file",
    "run",
    "agent",
    "role",
    "model",
    "check",
    "retries",
    "writes",
    "each",
    "set",
    "ask",
    "next",
    "on_reject",
    "on_silence",
    "end",
];

/// Loads the prompts that stand in files of their own.
type PromptLoader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

impl WorkflowDefinition {
    /// Reads a workflow, with all its mistakes at once. `file` is its name in messages, `prompts` loads the text of a
    /// prompt that stands in a file of its own.
    pub fn parse(
        file: &str,
        text: &str,
        prompts: &PromptLoader<'_>,
    ) -> Result<Self, Vec<FileDiagnostic>> {
        let mut mistakes = FileDiagnostics::of(file);
        if text.len() > FILE_BYTES_MAX {
            let what = format!("the file has {} bytes, {FILE_BYTES_MAX} are allowed", text.len());
            mistakes.add(0, what, "put long prompts in files of their own, with `prompt_file`");
            return Err(mistakes.into_sorted());
        }
        let node = match yaml::read(text) {
            Ok(node) => node,
            Err((line, message)) => {
                let (what, fix) = explain_yaml_error(text, line, &message);
                mistakes.add(line, what, fix);
                return Err(mistakes.into_sorted());
            }
        };
        let mut reader = DefinitionParser {
            mistakes,
            prompts,
            kept: BTreeMap::new(),
            state: vec![],
            input: vec![],
        };
        let definition = reader.definition(&node, text);
        match definition {
            Some(definition) if reader.mistakes.is_empty() => {
                Ok(Self { prompts: reader.kept, ..definition })
            }
            _ => Err(reader.mistakes.into_sorted()),
        }
    }
}

pub(super) struct DefinitionParser<'a> {
    pub(super) mistakes: FileDiagnostics,
    prompts: &'a PromptLoader<'a>,
    kept: BTreeMap<String, String>,
    /// The known fields of `state` and `input`.
    state: Vec<String>,
    input: Vec<String>,
}

/// The parts that a phase has, which determine the variables of its expressions.
#[derive(Clone, Copy)]
pub(super) struct PhaseParts {
    work: bool,
    /// True if the work is a command.
    run: bool,
    each: bool,
    ask: bool,
}

/// The position of an expression in a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionPosition {
    /// Before the work.
    Before,
    /// In the work itself.
    Work,
    After,
    Answer,
}

/// The defaults of the workflow for its phases.
#[derive(Default)]
struct PhaseDefaults {
    agent: Option<String>,
    role: Option<String>,
    model: Option<String>,
}

impl DefinitionParser<'_> {
    fn definition(&mut self, node: &YamlNode, text: &str) -> Option<WorkflowDefinition> {
        const KEYS: &[&str] =
            &["workflow", "about", "input", "sequence", "agent", "role", "model", "phases"];
        let fields = node.fields("a workflow", KEYS, &mut self.mistakes);
        let name = match fields.get("workflow") {
            Some(node) => self.word(node, "`workflow`"),
            None => {
                let fix = "begin the file with `workflow: NAME`";
                self.mistakes.add(fields.line, "a workflow needs a name", fix);
                None
            }
        };
        let about = self.plain(&fields, "about").unwrap_or_default();
        let input = fields.get("input").map(|n| self.inputs(n)).unwrap_or_default();
        let sequence = fields.get("sequence").map(|n| self.sequence(n)).unwrap_or_default();
        let usual = PhaseDefaults {
            agent: self.plain(&fields, "agent"),
            role: self.plain(&fields, "role"),
            model: self.plain(&fields, "model"),
        };
        let nodes = fields.get("phases").map(|n| n.items("`phases`", &mut self.mistakes));
        let nodes = nodes.unwrap_or_default();
        if nodes.is_empty() {
            let fix = "add `phases:` with at least one `- name: …`";
            self.mistakes.add(fields.line, "a workflow needs phases", fix);
        }
        if nodes.len() > PHASES_MAX {
            let what = format!("there are {} phases, {PHASES_MAX} are allowed", nodes.len());
            self.mistakes.add(nodes[PHASES_MAX].line, what, "make two workflows of it");
        }
        let nodes = &nodes[..nodes.len().min(PHASES_MAX)];
        self.input = input.iter().map(|input| input.name.clone()).collect();
        self.state = self.input.clone();
        self.state.extend(nodes.iter().flat_map(set_names));
        let phases: Vec<Option<PhaseDefinition>> =
            nodes.iter().map(|n| self.phase(n, &usual)).collect();
        let is_whole = phases.iter().all(Option::is_some);
        let mut phases: Vec<PhaseDefinition> = phases.into_iter().flatten().collect();
        fill_in_branches(&mut phases);
        check(&phases, is_whole, &mut self.mistakes);
        let (text, prompts) = (text.to_owned(), BTreeMap::new());
        let definition =
            WorkflowDefinition { name: name?, about, input, sequence, phases, text, prompts };
        Some(definition).filter(|definition| !definition.phases.is_empty())
    }

    fn inputs(&mut self, node: &YamlNode) -> Vec<WorkflowInput> {
        let entries = node.entries("`input`", &mut self.mistakes);
        self.at_most(entries.len(), node.line, "inputs");
        let mut inputs = vec![];
        for entry in entries.iter().take(PARTS_MAX) {
            self.identifier(&entry.key, entry.line, "an input");
            let what = format!("the input `{}`", entry.key);
            let fields = entry.value.fields(&what, &["about", "default"], &mut self.mistakes);
            let about = self.plain(&fields, "about").unwrap_or_default();
            let default = fields.get("default").map(YamlNode::json);
            inputs.push(WorkflowInput { name: entry.key.clone(), about, default });
        }
        inputs
    }

    fn sequence(&mut self, node: &YamlNode) -> Vec<String> {
        let texts = node.texts("`sequence`", &mut self.mistakes);
        self.at_most(texts.len(), node.line, "patterns");
        for (line, text) in &texts {
            if let Err(why) = super::sequence::check_pattern(text) {
                let fix = "write it like `tasks/*.md`, inside the folder";
                self.mistakes.add(*line, format!("`{text}` is no sequence: {why}"), fix);
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    fn phase(&mut self, node: &YamlNode, usual: &PhaseDefaults) -> Option<PhaseDefinition> {
        let fields = node.fields("a phase", PHASE_KEYS, &mut self.mistakes);
        let line = node.line;
        let name = match fields.get("name") {
            Some(node) => self.word(node, "the name of a phase"),
            None => {
                self.mistakes.add(line, "a phase needs a name", "add `name:`");
                None
            }
        };
        if name.as_deref() == Some("end") {
            let what = "no phase can be called `end`: that is where a flow is complete";
            self.mistakes.add(line, what, "give it another name");
        }
        let is_there = |key: &str| fields.get(key).is_some();
        let has = PhaseParts {
            work: ["prompt", "prompt_file", "run"].iter().any(|key| is_there(key)),
            run: is_there("run"),
            each: is_there("each"),
            ask: is_there("ask"),
        };
        let prompt = self.prompt(&fields, has);
        let command = fields.get("run").and_then(|n| self.command(n, "run", has));
        self.check_key_combinations(&fields, has);
        let each = fields
            .get("each")
            .and_then(|n| self.formula(n, "each", ExpressionPosition::Before, has));
        let ask = fields.get("ask").and_then(|n| self.ask(n, has));
        let set = fields.get("set").map(|n| self.set(n, has)).unwrap_or_default();
        let next = self.next(&fields, has);
        // Only a condition on the code takes a failure for a result: a `set` that merely keeps it decides nothing.
        let when = ask.as_ref().and_then(|ask| ask.when.as_ref());
        let whens = next.iter().filter_map(|branch| branch.when.as_ref()).chain(when);
        let any_code = whens.into_iter().any(|when| when.names_field("output", "code"));
        let work = match (prompt, command) {
            (Some(prompt), _) => PhaseWork::Agent { prompt },
            (None, Some(command)) => PhaseWork::Run { command, any_code },
            (None, None) => PhaseWork::Nothing,
        };
        let of_agent = |own: Option<String>, usual: &Option<String>| {
            own.or_else(|| usual.clone()).filter(|_| matches!(work, PhaseWork::Agent { .. }))
        };
        let line_of = |key| fields.get(key).map_or(line, |node: &YamlNode| node.line);
        let usual_retries = u32::from(matches!(work, PhaseWork::Agent { .. }));
        Some(PhaseDefinition {
            line,
            each_line: line_of("each"),
            next_line: line_of("next"),
            reject_line: line_of("on_reject"),
            silence_line: line_of("on_silence"),
            agent: of_agent(self.plain(&fields, "agent"), &usual.agent),
            role: of_agent(self.plain(&fields, "role"), &usual.role),
            model: of_agent(self.plain(&fields, "model"), &usual.model),
            checks: fields.get("check").map(|n| self.checks(n, has)).unwrap_or_default(),
            retries: fields.get("retries").and_then(|n| self.retries(n)).unwrap_or(usual_retries),
            writes: fields.get("writes").map(|n| self.writes(n)),
            on_reject: fields.get("on_reject").and_then(|n| self.target(n, "`on_reject`")),
            on_silence: fields.get("on_silence").and_then(|n| self.target(n, "`on_silence`")),
            work,
            each,
            set,
            ask,
            next,
            name: name?,
        })
    }

    /// Checks for keys that do not go together in a phase.
    fn check_key_combinations(&mut self, fields: &YamlFields<'_>, has: PhaseParts) {
        let there = |keys: &[&'static str]| -> Vec<&'static str> {
            keys.iter().copied().filter(|key| fields.get(key).is_some()).collect()
        };
        let works = there(&["prompt", "prompt_file", "run"]);
        if works.len() > 1 {
            let what = format!("a phase has one step, not `{}`", works.join("` and `"));
            self.mistakes.add(fields.line, what, "make a phase of each");
        }
        if !has.work && !has.ask {
            let fix = "add `prompt`, `run` or `ask`, or drop it";
            self.mistakes.add(fields.line, "the phase does nothing", fix);
        }
        for key in there(&["check", "retries", "writes", "each"]) {
            if !has.work {
                let what = format!("`{key}` is about a step, and the phase has none");
                self.mistakes.add(fields.line, what, "add `prompt` or `run`, or drop it");
            }
        }
        for key in there(&["agent", "role", "model"]) {
            if !works.iter().any(|work| work.starts_with("prompt")) {
                let what = format!("`{key}` is about an agent, and none works in the phase");
                self.mistakes.add(fields.line, what, "add `prompt`, or drop it");
            }
        }
        for key in there(&["on_reject", "on_silence"]) {
            if !has.ask {
                let what = format!("`{key}` is about a question, and the phase asks nothing");
                self.mistakes.add(fields.line, what, "add `ask`, or drop it");
            }
        }
        if fields.get("end").is_some() && fields.get("next").is_some() {
            let what = "a phase goes on or it ends, not both";
            self.mistakes.add(fields.line, what, "drop `next` or `end`");
        }
    }

    fn prompt(&mut self, fields: &YamlFields<'_>, has: PhaseParts) -> Option<TextTemplate> {
        if let Some(node) = fields.get("prompt") {
            let text = node.text("`prompt`", &mut self.mistakes)?;
            return self.template(node.line, "prompt", text, ExpressionPosition::Work, has);
        }
        let node = fields.get("prompt_file")?;
        let name = node.text("`prompt_file`", &mut self.mistakes)?;
        match (self.prompts)(name) {
            Ok(text) => {
                self.kept.insert(name.to_owned(), text.clone());
                self.template(node.line, "prompt_file", &text, ExpressionPosition::Work, has)
            }
            Err(why) => {
                let fix = "name a file inside the folder of the workflow";
                self.mistakes.add(node.line, format!("`{name}` cannot be read: {why}"), fix);
                None
            }
        }
    }

    /// Parses a text with expressions in it.
    pub(super) fn template(
        &mut self,
        line: u64,
        key: &'static str,
        text: &str,
        place: ExpressionPosition,
        has: PhaseParts,
    ) -> Option<TextTemplate> {
        let source = SourceText { line, key, text };
        let raw = self.raw(&source)?;
        let places = vec![Ok(QuoteStyle::Bare); raw.len()];
        Some(self.parts(&source, &raw, places, (place, has)))
    }

    /// Parses a command with expressions in it.
    fn command(
        &mut self,
        node: &YamlNode,
        key: &'static str,
        has: PhaseParts,
    ) -> Option<TextTemplate> {
        let text = node.text(&format!("`{key}`"), &mut self.mistakes)?;
        if text.trim().is_empty() {
            self.mistakes.add(node.line, format!("`{key}` is empty"), "write a command");
        }
        let source = SourceText { line: node.line, key, text };
        let raw = self.raw(&source)?;
        let places = quotes(&raw);
        Some(self.parts(&source, &raw, places, (ExpressionPosition::Work, has)))
    }

    fn raw<'t>(&mut self, source: &SourceText<'t>) -> Option<Vec<RawPart<'t>>> {
        match split(source.text) {
            Ok(raw) => Some(raw),
            Err(open) => {
                let fix = "close it with `}}`; for the signs themselves write `{{ \"{{\" }}`";
                let what = format!("`{}` has `{{{{` without an end", source.key);
                self.mistakes.add(source.line_of(open), what, fix);
                None
            }
        }
    }

    fn parts(
        &mut self,
        source: &SourceText<'_>,
        raw: &[RawPart<'_>],
        places: Vec<Result<QuoteStyle, &'static str>>,
        (place, has): (ExpressionPosition, PhaseParts),
    ) -> TextTemplate {
        let mut places = places.into_iter();
        let mut parts = vec![];
        for part in raw {
            let (expression, at) = match part {
                RawPart::Text(text) => {
                    parts.push(TemplatePart::Text((*text).to_owned()));
                    continue;
                }
                RawPart::Expression { text, at } => (*text, *at),
            };
            let line = source.line_of(at);
            let quotes = match places.next() {
                Some(Ok(quotes)) => quotes,
                Some(Err(why)) => {
                    let what = format!("`{{{{ {expression} }}}}` {why}");
                    self.mistakes.add(line, what, fix(why));
                    QuoteStyle::Bare
                }
                None => QuoteStyle::Bare,
            };
            if let Some(formula) = self.expression(line, source.key, expression, place, has) {
                parts.push(TemplatePart::Value { formula, line, quotes });
            }
        }
        TextTemplate { parts, key: source.key, line: source.line }
    }

    pub(super) fn formula(
        &mut self,
        node: &YamlNode,
        key: &str,
        place: ExpressionPosition,
        has: PhaseParts,
    ) -> Option<CelFormula> {
        let text = match &node.tree {
            // A number or a boolean of YAML is an expression all the same.
            YamlValue::Bool(value) => value.to_string(),
            YamlValue::Number(number) => number.to_string(),
            _ => node.text(&format!("`{key}`"), &mut self.mistakes)?.to_owned(),
        };
        self.expression(node.line, key, &text, place, has)
    }

    fn expression(
        &mut self,
        line: u64,
        key: &str,
        text: &str,
        place: ExpressionPosition,
        has: PhaseParts,
    ) -> Option<CelFormula> {
        let formula = match CelFormula::read(text) {
            Ok(formula) => formula,
            Err(flaw) => {
                self.flaw(line, key, text, flaw);
                return None;
            }
        };
        for flaw in formula.flaws(&self.variables(place, has)) {
            let flaw = FormulaDiagnostic { fix: fix_of(&flaw, place, has), ..flaw };
            self.flaw(line, key, text, flaw);
        }
        Some(formula)
    }

    fn flaw(&mut self, line: u64, key: &str, text: &str, flaw: FormulaDiagnostic) {
        let column = flaw.column.map(|at| format!(", column {at}")).unwrap_or_default();
        self.mistakes.add(line, format!("`{key}`: `{text}`{column}: {}", flaw.what), flaw.fix);
    }

    /// Returns the variables that expressions see at this position.
    fn variables(&self, place: ExpressionPosition, has: PhaseParts) -> Vec<FormulaVariable> {
        let known =
            |name, fields: &[String]| FormulaVariable { name, fields: Some(fields.to_vec()) };
        let mut found = vec![known("state", &self.state), known("input", &self.input)];
        let any = |name| FormulaVariable { name, fields: None };
        if place == ExpressionPosition::Work && has.each {
            found.push(any("item"));
        }
        if matches!(place, ExpressionPosition::After | ExpressionPosition::Answer) && has.work {
            let fields: &[&str] = match (has.each, has.run) {
                (true, _) => &["text", "cut", "items"],
                (false, true) => &["text", "cut", "code", "json"],
                (false, false) => &["text", "cut", "summary", "confidence", "json"],
            };
            let fields: Vec<_> = fields.iter().map(|field| (*field).to_owned()).collect();
            found.push(known("output", &fields));
        }
        if place == ExpressionPosition::Answer && has.ask {
            const HUMAN: [&str; 7] = ["verdict", "value", "values", "text", "form", "reason", "by"];
            found.push(known("human", &HUMAN.map(str::to_owned)));
            found.extend([any("approved"), any("asked")]);
        }
        found
    }

    fn checks(&mut self, node: &YamlNode, has: PhaseParts) -> Vec<PhaseCheck> {
        let nodes = node.items("`check`", &mut self.mistakes);
        self.at_most(nodes.len(), node.line, "checks");
        let mut checks = vec![];
        for item in nodes.iter().take(PARTS_MAX) {
            let fields = item.fields("a check", &["file", "passes", "fails"], &mut self.mistakes);
            let there: Vec<_> = ["file", "passes", "fails"]
                .into_iter()
                .filter_map(|key| Some((key, fields.get(key)?)))
                .collect();
            let [(key, node)] = there[..] else {
                let fix = "write `- file: PATH`, `- passes: COMMAND` or `- fails: COMMAND`";
                self.mistakes.add(item.line, "a check is one of file, passes and fails", fix);
                continue;
            };
            checks.extend(match key {
                "file" => self.path(node, has).map(PhaseCheck::File),
                "passes" => self.command(node, "passes", has).map(PhaseCheck::Passes),
                _ => self.command(node, "fails", has).map(PhaseCheck::Fails),
            });
        }
        checks
    }

    fn path(&mut self, node: &YamlNode, has: PhaseParts) -> Option<TextTemplate> {
        let text = node.text("`file`", &mut self.mistakes)?;
        let is_inside =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_named = Path::new(text).components().any(|part| part != Component::CurDir);
        if !Path::new(text).components().all(is_inside) {
            let fix = "name a path inside it, without `..`";
            self.mistakes.add(node.line, format!("`{text}` is not in the folder of the task"), fix);
        } else if !is_named || text.ends_with('/') {
            self.mistakes.add(node.line, format!("`{text}` names no file"), "name a file");
        }
        self.template(node.line, "file", text, ExpressionPosition::Work, has)
    }

    fn retries(&mut self, node: &YamlNode) -> Option<u32> {
        if let YamlValue::Number(number) = &node.tree
            && let Some(retries) = number.as_u64().and_then(|n| u32::try_from(n).ok())
            && retries <= RETRIES_MAX
        {
            return Some(retries);
        }
        let fix = format!("write a number from 0 to {RETRIES_MAX}");
        self.mistakes.add(node.line, "`retries` cannot be that", fix);
        None
    }

    fn writes(&mut self, node: &YamlNode) -> Vec<String> {
        if matches!(&node.tree, YamlValue::List(items) if items.is_empty()) {
            // Nothing may be changed: that can be meant.
            return vec![];
        }
        let texts = node.texts("`writes`", &mut self.mistakes);
        self.at_most(texts.len(), node.line, "patterns");
        for (line, text) in &texts {
            let is_outside = text.starts_with('/') || text.split('/').any(|part| part == "..");
            if is_outside || text.is_empty() {
                let what = format!("`{text}` is not in the folder of the task");
                self.mistakes.add(*line, what, "name paths inside it, such as `docs/**`");
            } else if let Err(why) = PathPatterns::new(&[text]) {
                let fix = "put characters that are meant as such in `[]`, as in `[*]`";
                self.mistakes.add(*line, format!("this is no pattern: {why}"), fix);
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    fn set(&mut self, node: &YamlNode, has: PhaseParts) -> Vec<StateSetting> {
        let entries = node.entries("`set`", &mut self.mistakes);
        self.at_most(entries.len(), node.line, "values to set");
        let mut set = vec![];
        for entry in entries.iter().take(PARTS_MAX) {
            self.identifier(&entry.key, entry.line, "what is set");
            let formula = self.formula(&entry.value, "set", ExpressionPosition::Answer, has);
            let (name, line) = (entry.key.clone(), entry.line);
            set.extend(formula.map(|formula| StateSetting { name, formula, line }));
        }
        set
    }

    pub(super) fn truth(&mut self, fields: &YamlFields<'_>, key: &str) -> bool {
        match fields.get(key) {
            None => false,
            Some(YamlNode { tree: YamlValue::Bool(value), .. }) => *value,
            Some(node) => {
                let what = format!("`{key}` is {}", node.sort());
                self.mistakes.add(node.line, what, "write `true` or `false`");
                false
            }
        }
    }

    /// Parses the branches of a phase; empty where it has none, and the next phase in the file follows.
    fn next(&mut self, fields: &YamlFields<'_>, has: PhaseParts) -> Vec<PhaseBranch> {
        if fields.get("end").is_some() && self.truth(fields, "end") {
            return vec![PhaseBranch { when: None, to: BranchTarget::End, line: fields.line }];
        }
        let Some(node) = fields.get("next") else { return vec![] };
        if let YamlValue::Text(_) = &node.tree {
            let to = self.target(node, "`next`");
            return to
                .map(|to| PhaseBranch { when: None, to, line: node.line })
                .into_iter()
                .collect();
        }
        let nodes = node.items("`next`", &mut self.mistakes);
        self.at_most(nodes.len(), node.line, "branches");
        let mut branches = vec![];
        for (at, item) in nodes.iter().take(PARTS_MAX).enumerate() {
            let fields = item.fields("a branch", &["if", "to"], &mut self.mistakes);
            let line = fields.get("if").map_or(item.line, |n| n.line);
            let when =
                fields.get("if").map(|n| self.formula(n, "if", ExpressionPosition::Answer, has));
            if when.is_none() && at + 1 < nodes.len() {
                let what =
                    "only the last branch can stand without `if`: those below are never reached";
                self.mistakes.add(item.line, what, "give it an `if`, or move it to the end");
            }
            let Some(to) = fields.get("to") else {
                let fix = "add `to:` with the name of a phase, or `end`";
                self.mistakes.add(item.line, "a branch leads somewhere", fix);
                continue;
            };
            let to = self.target(to, "`to`");
            // A condition that cannot be read must not become none.
            if let (Some(to), false) = (to, matches!(when, Some(None))) {
                branches.push(PhaseBranch { when: when.flatten(), to, line });
            }
        }
        branches
    }

    fn target(&mut self, node: &YamlNode, what: &str) -> Option<BranchTarget> {
        let text = node.text(what, &mut self.mistakes)?;
        Some(match text {
            "end" => BranchTarget::End,
            name => BranchTarget::Phase(name.to_owned()),
        })
    }

    fn plain(&mut self, fields: &YamlFields<'_>, key: &str) -> Option<String> {
        let node = fields.get(key)?;
        let text = node.text(&format!("`{key}`"), &mut self.mistakes)?;
        if text.trim().is_empty() {
            self.mistakes.add(
                node.line,
                format!("`{key}` is empty"),
                "write something, or drop it",
            );
        }
        Some(text.trim().to_owned())
    }

    fn word(&mut self, node: &YamlNode, what: &str) -> Option<String> {
        let text = node.text(what, &mut self.mistakes)?;
        let is_word = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            && text.len() <= NAME_BYTES_MAX;
        if !is_word {
            let fix = format!("write a word of letters, digits, - and _, up to {NAME_BYTES_MAX}");
            self.mistakes.add(node.line, format!("{what} cannot be `{text}`"), fix);
        }
        Some(text.to_owned())
    }

    /// Checks that expressions can use the name.
    fn identifier(&mut self, text: &str, line: u64, what: &str) {
        let is_one = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && text.len() <= NAME_BYTES_MAX;
        if !is_one {
            let fix = "write a word of letters, digits and _ that begins with a letter";
            self.mistakes.add(line, format!("{what} cannot be called `{text}`"), fix);
        }
    }

    pub(super) fn at_most(&mut self, count: usize, line: u64, what: &str) {
        if count > PARTS_MAX {
            let what = format!("there are {count} {what}, {PARTS_MAX} are allowed");
            self.mistakes.add(line, what, "keep those that are needed");
        }
    }
}

/// Returns the names that a phase sets, read before the expressions that could use them.
fn set_names(phase: &YamlNode) -> Vec<String> {
    let YamlValue::Map(entries) = &phase.tree else { return vec![] };
    let set = entries.iter().find(|entry| entry.key == "set").map(|entry| &entry.value.tree);
    let Some(YamlValue::Map(entries)) = set else { return vec![] };
    entries.iter().map(|entry| entry.key.clone()).collect()
}

/// Fills in missing branches: the next phase in the file follows; the last one ends.
fn fill_in_branches(phases: &mut [PhaseDefinition]) {
    let below: Vec<BranchTarget> = phases
        .iter()
        .skip(1)
        .map(|phase| BranchTarget::Phase(phase.name.clone()))
        .chain([BranchTarget::End])
        .collect();
    for (phase, to) in phases.iter_mut().zip(below) {
        if phase.next.is_empty() {
            phase.next = vec![PhaseBranch { when: None, to, line: phase.line }];
        }
    }
}

/// A text with its line and key in the file.
struct SourceText<'t> {
    line: u64,
    key: &'static str,
    text: &'t str,
}

impl SourceText<'_> {
    /// Returns the line of a position in the text. A prompt in a file of its own has lines of its own.
    fn line_of(&self, at: usize) -> u64 {
        let below = self.text[..at].matches('\n').count() as u64;
        if self.key == "prompt_file" { self.line } else { self.line + below }
    }
}

/// Returns the advice for a name that exists, but not at this position.
fn fix_of(flaw: &FormulaDiagnostic, place: ExpressionPosition, has: PhaseParts) -> String {
    let names = |name: &str| flaw.what.starts_with(&format!("`{name}` "));
    let is_of_answer = ["human", "approved", "asked"].iter().any(|name| names(name));
    if is_of_answer && !has.ask {
        return "the phase asks nobody: add `ask`, or keep the answer with `set` where it is given"
            .into();
    }
    if is_of_answer {
        return "nobody has answered yet here: keep it with `set`, and name it as `state.…`".into();
    }
    if names("output") && !has.work {
        return "the phase has no step: keep the output with `set` where it is made".into();
    }
    if names("output") {
        return "there is no output yet here: keep it with `set`, and name it as `state.…`".into();
    }
    if names("item") && place == ExpressionPosition::Work {
        return "add `each:` with the list it is one of".into();
    }
    if names("item") {
        return "only what is done for each sees it: look at `output.items`".into();
    }
    flaw.fix.clone()
}
