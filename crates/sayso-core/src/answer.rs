//! Answers and answer forms (verdict, text, choice, JSON Schema form), and the validation of one against the other.

mod rejecting_options;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use crate::text::{sanitize_line, shorten};
use crate::{Code, FieldError, GateKind, Refusal, Verdict};
use jsonschema::error::ValidationErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum size of an answer, content and reason together.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// The maximum number of options of a question.
pub const OPTIONS_MAX: usize = 50;

/// The maximum number of nodes of a form's schema, with its references expanded.
pub const FORM_NODES_MAX: usize = 2_000;

/// The maximum depth of a form's schema, with its references expanded.
const FORM_DEPTH_MAX: usize = 100;

/// The maximum number of invalid fields reported at once, each with its path.
const MISFITS_MAX: usize = 50;

/// The number of invalid fields spelt out in the message; the others are counted.
const MISFITS_IN_WORDS: usize = 5;

/// The length to which an invalid value is cut in a message.
const MISFIT_CHARS_MAX: usize = 80;

/// The maximum memory of one compiled regular expression of a form.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum AnswerShape {
    /// Approval or rejection, with a reason.
    Verdict,
    /// A text of any content.
    Text,
    /// One of the options, several, or a free text.
    Choice {
        /// The options to pick from.
        options: Vec<ChoiceOption>,
        /// True if more than one option may be picked.
        #[serde(default)]
        multi: bool,
        /// True if a free text is accepted as well.
        #[serde(default)]
        other: bool,
    },
    /// A form, described by a JSON Schema.
    Form {
        /// The JSON Schema of the form.
        schema: Value,
    },
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceOption {
    /// The text that is shown and picked.
    pub name: String,
    /// The consequence of picking it, as the asker describes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub consequence: String,
    /// True if the asker marked this option as a rejection. Options that read as a no count as well:
    /// [`AnswerShape::declines`] covers both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declines: bool,
}

impl ChoiceOption {
    /// Returns an option that has only a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), consequence: String::new(), declines: false }
    }
}

/// A person's answer to a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredAnswer")]
pub struct Answer {
    /// Approved is a bare approval, or one with changed arguments. A text, a choice or a form is answered. A
    /// rejection, in words or by an option that counts as one, is rejected.
    pub verdict: Verdict,
    /// The content beside the verdict.
    #[serde(default, skip_serializing_if = "AnswerContent::is_empty")]
    pub content: AnswerContent,
    /// The reason that the person gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the agent is to stop at once and not to try another way. Only with a rejection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupts: bool,
}

/// An answer as stored in the log. Before texts, choices and forms had a verdict of their own, they were stored as
/// approved.
#[derive(Deserialize)]
struct StoredAnswer {
    verdict: Verdict,
    #[serde(default)]
    content: AnswerContent,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    interrupts: bool,
}

impl From<StoredAnswer> for Answer {
    fn from(stored: StoredAnswer) -> Self {
        let StoredAnswer { verdict, content, reason, interrupts } = stored;
        let verdict = match content {
            AnswerContent::Text(_) | AnswerContent::Choice { .. } | AnswerContent::Form(_) => {
                verdict.of_content()
            }
            AnswerContent::None | AnswerContent::Arguments(_) => verdict,
        };
        Self { verdict, content, reason, interrupts }
    }
}

/// The content of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerContent {
    /// Nothing beside the verdict.
    #[default]
    None,
    /// A text in answer to the question.
    Text(String),
    /// The names of the picked options, and a free text.
    Choice {
        /// The names, in the order of the options.
        picked: Vec<String>,
        /// A free text beside the options.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
    },
    /// The values of a form.
    Form(Value),
    /// The arguments a tool call shall run with instead of its own.
    Arguments(Value),
}

impl AnswerContent {
    /// True if there is nothing beside the verdict.
    pub fn is_empty(&self) -> bool {
        matches!(self, AnswerContent::None)
    }
}

impl Answer {
    /// Returns a bare approval.
    pub fn approved() -> Self {
        Self {
            verdict: Verdict::Approved,
            content: AnswerContent::None,
            reason: None,
            interrupts: false,
        }
    }

    /// Returns a rejection with an optional reason.
    pub fn rejected(reason: Option<String>) -> Self {
        Self { verdict: Verdict::Rejected, reason, ..Self::approved() }
    }

    /// Returns an answer that is a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(AnswerContent::Text(text.into()))
    }

    /// Returns an answer that picks options.
    pub fn choice(picked: Vec<String>, other: Option<String>) -> Self {
        Self::of(AnswerContent::Choice { picked, other })
    }

    /// Returns an answer that fills in a form.
    pub fn form(form: Value) -> Self {
        Self::of(AnswerContent::Form(form))
    }

    fn of(content: AnswerContent) -> Self {
        Self { verdict: Verdict::Answered, content, ..Self::approved() }
    }

    /// Returns the same answer with the verdict that follows from the question: an option that counts as a rejection
    /// makes it rejected, and any other content makes it answered, not approved.
    #[must_use]
    pub fn with_verdict_for(self, shape: &AnswerShape) -> Self {
        let verdict = match &self.content {
            AnswerContent::Choice { picked, .. }
                if picked.iter().any(|name| shape.declines(name)) =>
            {
                Verdict::Rejected
            }
            AnswerContent::Text(_) | AnswerContent::Choice { .. } | AnswerContent::Form(_) => {
                self.verdict.of_content()
            }
            AnswerContent::None | AnswerContent::Arguments(_) => self.verdict,
        };
        Self { verdict, ..self }
    }

    /// Returns the text delivered to the asker: the text, one pick per line, the form as JSON, or for a bare verdict
    /// the reason or the verdict itself.
    pub fn as_text(&self) -> String {
        match &self.content {
            AnswerContent::None => self.reason.clone().unwrap_or_else(|| self.verdict.to_string()),
            AnswerContent::Text(text) => text.clone(),
            AnswerContent::Choice { picked, other } => {
                picked.iter().chain(other).cloned().collect::<Vec<_>>().join("\n")
            }
            AnswerContent::Form(value) | AnswerContent::Arguments(value) => value.to_string(),
        }
    }

    /// Checks that the answer fits the kind and the form of the question.
    pub fn check(&self, kind: GateKind, shape: &AnswerShape) -> Result<(), Refusal> {
        self.check_size()?;
        if self.interrupts && (self.verdict, kind) != (Verdict::Rejected, GateKind::Tool) {
            let message = "only a no to a tool call can interrupt its agent";
            return Err(Refusal::new(Code::WrongAnswer, message));
        }
        match self.verdict {
            Verdict::Rejected => self.check_rejection(kind, shape),
            Verdict::Answered if self.content.is_empty() => Err(empty(shape)),
            Verdict::Approved | Verdict::Answered => self.check_content(kind, shape),
        }
    }

    fn check_size(&self) -> Result<(), Refusal> {
        let content = if self.content.is_empty() { 0 } else { self.as_text().len() };
        let bytes = content + self.reason.as_ref().map_or(0, String::len);
        if bytes <= ANSWER_BYTES_MAX {
            return Ok(());
        }
        Err(Refusal::new(
            Code::TooLarge,
            format!("the answer has {bytes} bytes; at most {ANSWER_BYTES_MAX} are taken"),
        )
        .hint("put the long part in a file of the project and name it in the answer"))
    }

    fn check_rejection(&self, kind: GateKind, shape: &AnswerShape) -> Result<(), Refusal> {
        let unsaid = self.reason.as_deref().is_none_or(|r| r.trim().is_empty());
        if kind.rejection_needs_reason() && unsaid {
            return Err(Refusal::new(
                Code::ReasonMissing,
                format!("handing {kind} back to the agent needs a reason"),
            )
            .hint("say what is in the way: sayso reject ID \"reason\""));
        }
        match &self.content {
            AnswerContent::None | AnswerContent::Text(_) => Ok(()),
            AnswerContent::Choice { picked, other: words }
                if picked.iter().any(|name| shape.declines(name)) =>
            {
                if let Some(yes) = picked.iter().find(|name| !shape.declines(name)) {
                    let message =
                        format!("{yes:?} is picked together with an option that means no");
                    return Err(Refusal::new(Code::WrongAnswer, message)
                        .hint("pick the no alone, or leave it out"));
                }
                check_choice(shape, picked, words.as_deref())
            }
            content @ (AnswerContent::Choice { .. }
            | AnswerContent::Form(_)
            | AnswerContent::Arguments(_)) => Err(Refusal::new(
                Code::WrongAnswer,
                format!("a no takes a reason, not {}", content.in_words()),
            )
            .hint("sayso reject ID \"reason\"")),
        }
    }

    fn check_content(&self, kind: GateKind, shape: &AnswerShape) -> Result<(), Refusal> {
        match (shape, &self.content) {
            (AnswerShape::Verdict, AnswerContent::None) => Ok(()),
            (AnswerShape::Verdict, AnswerContent::Arguments(given)) if kind == GateKind::Tool => {
                match given {
                    Value::Object(_) => Ok(()),
                    // The call could not run with anything else, and an approval would turn into a rejection.
                    _ => Err(Refusal::new(
                        Code::WrongAnswer,
                        "the arguments of a tool call are a JSON object",
                    )
                    .hint("sayso answer ID --arguments '{\"command\": \"ls\"}'")),
                }
            }
            (AnswerShape::Text, AnswerContent::Text(text)) => not_empty(text),
            // Here a text is a direction, or reports what was done. With any other kind "not yet" would count as an
            // approval.
            (AnswerShape::Verdict, AnswerContent::Text(text))
                if kind.accepts_text_as_approval() =>
            {
                not_empty(text)
            }
            (AnswerShape::Choice { .. }, AnswerContent::Choice { picked, other: words }) => {
                words.iter().try_for_each(|words| shape.check_words(words))?;
                check_choice(shape, picked, words.as_deref())
            }
            (AnswerShape::Form { schema }, AnswerContent::Form(value)) => check_form(schema, value),
            (_, AnswerContent::None) => Err(empty(shape)),
            (_, content) => Err(Refusal::new(
                Code::WrongAnswer,
                format!("this gate takes {}, not {}", shape.in_words(), content.in_words()),
            )
            .hint(shape.how_to_answer())),
        }
    }
}

impl AnswerContent {
    fn in_words(&self) -> &'static str {
        match self {
            AnswerContent::None => "a bare verdict",
            AnswerContent::Text(_) => "a text",
            AnswerContent::Choice { .. } => "a choice",
            AnswerContent::Form(_) => "a form",
            AnswerContent::Arguments(_) => "edited arguments",
        }
    }
}

impl AnswerShape {
    fn in_words(&self) -> &'static str {
        match self {
            AnswerShape::Verdict => "a verdict",
            AnswerShape::Text => "a text",
            AnswerShape::Choice { multi: false, .. } => "one of its options",
            AnswerShape::Choice { multi: true, .. } => "one or more of its options",
            AnswerShape::Form { .. } => "a filled form",
        }
    }

    /// Returns the command that answers a question of this form.
    pub fn how_to_answer(&self) -> String {
        match self {
            AnswerShape::Verdict => "sayso approve ID, or sayso reject ID \"reason\"".into(),
            AnswerShape::Text => "sayso respond ID \"your answer\"".into(),
            AnswerShape::Choice { options, .. } => {
                let names: Vec<_> = options.iter().map(|o| format!("{:?}", o.name)).collect();
                format!("sayso choose ID OPTION, with one of {}", names.join(", "))
            }
            AnswerShape::Form { .. } => "sayso answer ID --form '{…}'".into(),
        }
    }

    /// Checks that a question of this form can be answered at all.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            AnswerShape::Verdict | AnswerShape::Text => Ok(()),
            AnswerShape::Choice { options, other, .. } => {
                check_options(options, *other)?;
                self.check_has_another_way(options, *other)
            }
            AnswerShape::Form { schema } => validator(schema).map(drop),
        }
    }
}

fn empty(shape: &AnswerShape) -> Refusal {
    Refusal::new(Code::EmptyAnswer, format!("this gate takes {}", shape.in_words()))
        .hint(shape.how_to_answer())
}

fn not_empty(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(empty(&AnswerShape::Text)) } else { Ok(()) }
}

fn check_options(options: &[ChoiceOption], other: bool) -> Result<(), Refusal> {
    if options.is_empty() && !other {
        return Err(Refusal::new(Code::BadValue, "a choice needs options")
            .hint("give at least two: --option A --option B"));
    }
    if options.len() > OPTIONS_MAX {
        let count = options.len();
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{count} options; at most {OPTIONS_MAX} are taken"),
        )
        .hint("ask in two steps, or ask for a text"));
    }
    for (at, option) in options.iter().enumerate() {
        if option.name.trim().is_empty() {
            return Err(Refusal::new(Code::BadValue, format!("option {} is empty", at + 1)));
        }
        if options[..at].iter().any(|o| looks_like(&o.name, &option.name)) {
            let name = &option.name;
            return Err(Refusal::new(Code::BadValue, format!("option {name:?} is there twice")));
        }
    }
    Ok(())
}

fn check_choice(
    shape: &AnswerShape,
    picked: &[String],
    words: Option<&str>,
) -> Result<(), Refusal> {
    match shape {
        AnswerShape::Choice { options, multi, other } => {
            check_picks(options, *multi, *other, picked, words)
        }
        AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => Err(empty(shape)),
    }
}

/// True if two options differ only in white space, so that people cannot tell them apart.
fn looks_like(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

fn check_picks(
    options: &[ChoiceOption],
    multi: bool,
    other: bool,
    picked: &[String],
    words: Option<&str>,
) -> Result<(), Refusal> {
    let names = || options.iter().map(|o| format!("{:?}", o.name)).collect::<Vec<_>>().join(", ");
    if let Some(stranger) = picked.iter().find(|p| options.iter().all(|o| o.name != **p)) {
        return Err(Refusal::new(
            Code::UnknownOption,
            format!("{stranger:?} is not one of the options"),
        )
        .hint(format!("the options are {}", names())));
    }
    if words.is_some() && !other {
        return Err(Refusal::new(Code::UnknownOption, "words of one's own are not asked for here")
            .hint(format!("the options are {}", names())));
    }
    words.map_or(Ok(()), not_empty)?;
    let twice = picked.iter().enumerate().any(|(at, p)| picked[..at].contains(p));
    match picked.len() + usize::from(words.is_some()) {
        0 => Err(empty(&AnswerShape::Choice { options: options.to_vec(), multi, other })),
        _ if twice => Err(Refusal::new(Code::WrongAnswer, "an option is picked twice")),
        1 => Ok(()),
        _ if multi => Ok(()),
        count => Err(Refusal::new(
            Code::WrongAnswer,
            format!("{count} options are picked; this gate takes one"),
        )
        .hint(format!("the options are {}", names()))),
    }
}

fn check_form(schema: &Value, value: &Value) -> Result<(), Refusal> {
    let misfits: Box<[_]> = validator(schema)?
        .iter_errors(value)
        .take(MISFITS_MAX)
        .map(|error| FieldError { at: place(&error), words: in_words(&error) })
        .collect();
    if misfits.is_empty() {
        return Ok(());
    }
    let problem = |FieldError { at, words }: &FieldError| match at.as_str() {
        "" => format!("the form: {words}"),
        at => format!("{at}: {words}"),
    };
    let mut problems: Vec<_> = misfits.iter().take(MISFITS_IN_WORDS).map(problem).collect();
    if misfits.len() > MISFITS_IN_WORDS {
        problems.push(format!("and {} more", misfits.len() - MISFITS_IN_WORDS));
    }
    let message = format!("the form does not fit: {}", problems.join("; "));
    let refusal = Refusal::new(Code::InvalidForm, message);
    Err(Refusal { misfits, ..refusal.hint("see the fields with: sayso show ID") })
}

/// Returns the JSON pointer of an invalid value. A missing property is reported at the path where it belongs.
fn place(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::Required { property: Value::String(name) } => {
            format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
        }
        _ => at,
    }
}

/// Returns the message for an invalid value. Names of formats are for programs; people are told the expected value.
fn in_words(error: &jsonschema::ValidationError<'_>) -> String {
    let ValidationErrorKind::Format { format } = error.kind() else { return error.to_string() };
    let expected = match format.as_str() {
        "date" => "a day of the calendar, such as 2026-11-18",
        "date-time" => "a day and a time with its zone, such as 2026-11-18T09:30:00Z",
        "time" => "a time of day with its zone, such as 09:30:00Z",
        "duration" => "a length of time, such as P3D or PT2H",
        "email" | "idn-email" => "an e-mail address",
        "uri" | "iri" | "url" => "an address, such as https://example.com",
        "hostname" | "idn-hostname" => "the name of a host",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "uuid" => "a UUID",
        other => return format!("{} is not of the format {other:?}", shown(error.instance())),
    };
    format!("{} is not {expected}", shown(error.instance()))
}

fn shown(value: &Value) -> String {
    shorten(&sanitize_line(&value.to_string()), MISFIT_CHARS_MAX)
}

/// Adds formats that browsers check and the library does not, or only with large Unicode tables.
fn with_formats(options: jsonschema::ValidationOptions<'_>) -> jsonschema::ValidationOptions<'_> {
    let is_whole = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let is_address = move |text: &str| {
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && is_whole(rest))
    };
    let is_mail = move |text: &str| {
        text.rsplit_once('@').is_some_and(|(who, place)| is_whole(who) && is_whole(place))
    };
    options
        .should_validate_formats(true)
        .with_format("url", is_address)
        .with_format("idn-email", is_mail)
}

/// Returns a validator that fetches nothing and does bounded work, because the schema comes from an agent.
fn validator(schema: &Value) -> Result<jsonschema::Validator, Refusal> {
    let mut left = FORM_NODES_MAX;
    if !unfolds(schema, schema, 0, &mut left) {
        return Err(Refusal::new(
            Code::InvalidForm,
            format!("the form's schema does not unfold to at most {FORM_NODES_MAX} parts"),
        )
        .hint("let references begin with #/ and lead to no circle; ask for less at once"));
    }
    let patterns = jsonschema::PatternOptions::regex().size_limit(PATTERN_BYTES_MAX);
    let options = with_formats(jsonschema::options().with_pattern_options(patterns));
    options.build(schema).map_err(|e| {
        Refusal::new(Code::InvalidForm, format!("the form's schema is not valid: {e}"))
            .hint("give a JSON Schema whose references all stay inside of it")
    })
}

/// True if a schema with every reference expanded has at most `left` nodes. A few references to references could
/// require exponential work.
fn unfolds(root: &Value, part: &Value, depth: usize, left: &mut usize) -> bool {
    if *left == 0 || depth > FORM_DEPTH_MAX {
        return false;
    }
    *left -= 1;
    let mut goes_on = |part| unfolds(root, part, depth + 1, left);
    match part {
        Value::Object(map) => map.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(to)) => {
                to.strip_prefix('#').and_then(|to| root.pointer(to)).is_some_and(&mut goes_on)
            }
            // These change the meaning of references in ways that this look-up does not follow.
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            ("$id" | "id", Value::String(_)) if !std::ptr::eq(part, root) => false,
            _ => goes_on(value),
        }),
        Value::Array(items) => items.iter().all(goes_on),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
