//! What a person may answer, and whether an answer fits what was asked.

use crate::text::{harmless_line, shorten};
use crate::{Code, Kind, Misfit, Refusal, Verdict};
use jsonschema::error::ValidationErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest text a person may answer with.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// The most options a question may have.
pub const OPTIONS_MAX: usize = 50;

/// The most parts of a form's schema, with its references unfolded.
pub const FORM_NODES_MAX: usize = 2_000;

/// How deep a form's schema may go, with its references unfolded.
const FORM_DEPTH_MAX: usize = 100;

/// So many places that do not fit are told at once, each where it stands.
const MISFITS_MAX: usize = 50;

/// So many of them are told in the sentence that says so; the others are counted.
const MISFITS_IN_WORDS: usize = 5;

/// So much of a value that does not fit is told.
const MISFIT_CHARS_MAX: usize = 80;

/// The most memory one pattern of a form may take.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// The form an answer has to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum Shape {
    /// Yes or no, with a reason.
    Verdict,
    /// A text.
    Text,
    /// One of the options, or several, or words of one's own.
    Choice {
        /// What can be picked.
        options: Vec<Choice>,
        /// Whether more than one may be picked.
        #[serde(default)]
        multi: bool,
        /// Whether a text of one's own is an answer too.
        #[serde(default)]
        other: bool,
    },
    /// A form, described by a JSON Schema.
    Form {
        /// The schema.
        schema: Value,
    },
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is picked.
    pub name: String,
    /// What picking it leads to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub consequence: String,
}

/// What a person gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Yes or no. A text, a choice or a form is a yes with content; declining is a no.
    pub verdict: Verdict,
    /// What was said beside the verdict.
    #[serde(default, skip_serializing_if = "Content::is_empty")]
    pub content: Content,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether whoever asked is to stop here and now, and not to look for another way. Only with a no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupts: bool,
}

/// The content of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Nothing beside the verdict.
    #[default]
    None,
    /// A text.
    Text(String),
    /// The names of the options picked, and words of one's own.
    Choice {
        /// The names, in the order of the options.
        picked: Vec<String>,
        /// Words of one's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
    },
    /// A filled form.
    Form(Value),
    /// The arguments a tool call shall run with instead.
    Arguments(Value),
}

impl Content {
    /// Whether nothing was said beside the verdict.
    pub fn is_empty(&self) -> bool {
        matches!(self, Content::None)
    }
}

impl Answer {
    /// A yes.
    pub fn approved() -> Self {
        Self { verdict: Verdict::Approved, content: Content::None, reason: None, interrupts: false }
    }

    /// A no.
    pub fn rejected(reason: Option<String>) -> Self {
        Self { verdict: Verdict::Rejected, reason, ..Self::approved() }
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), ..Self::approved() }
    }

    /// A choice.
    pub fn choice(picked: Vec<String>, other: Option<String>) -> Self {
        Self { content: Content::Choice { picked, other }, ..Self::approved() }
    }

    /// What the asker gets to read: the text, the picks a line each, the form as JSON; for a bare
    /// verdict the verdict itself.
    pub fn as_text(&self) -> String {
        match &self.content {
            Content::None => self.reason.clone().unwrap_or_else(|| self.verdict.to_string()),
            Content::Text(text) => text.clone(),
            Content::Choice { picked, other } => {
                picked.iter().chain(other).cloned().collect::<Vec<_>>().join("\n")
            }
            Content::Form(value) | Content::Arguments(value) => value.to_string(),
        }
    }

    /// Whether it fits what was asked.
    pub fn check(&self, kind: Kind, shape: &Shape) -> Result<(), Refusal> {
        self.check_size()?;
        if self.interrupts && (self.verdict, kind) != (Verdict::Rejected, Kind::Tool) {
            let message = "only a no to a tool call can interrupt its agent";
            return Err(Refusal::new(Code::WrongAnswer, message));
        }
        match self.verdict {
            Verdict::Rejected => self.check_rejection(kind),
            Verdict::Approved => self.check_content(kind, shape),
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

    fn check_rejection(&self, kind: Kind) -> Result<(), Refusal> {
        let unsaid = self.reason.as_deref().is_none_or(|r| r.trim().is_empty());
        if kind.rejection_needs_reason() && unsaid {
            return Err(Refusal::new(
                Code::ReasonMissing,
                format!("handing {kind} back to the agent needs a reason"),
            )
            .hint("say what is in the way: sayso reject ID \"reason\""));
        }
        match &self.content {
            Content::None | Content::Text(_) => Ok(()),
            content @ (Content::Choice { .. } | Content::Form(_) | Content::Arguments(_)) => {
                Err(Refusal::new(
                    Code::WrongAnswer,
                    format!("a no takes a reason, not {}", content.in_words()),
                )
                .hint("sayso reject ID \"reason\""))
            }
        }
    }

    fn check_content(&self, kind: Kind, shape: &Shape) -> Result<(), Refusal> {
        match (shape, &self.content) {
            (Shape::Verdict, Content::None) => Ok(()),
            (Shape::Verdict, Content::Arguments(given)) if kind == Kind::Tool => match given {
                Value::Object(_) => Ok(()),
                // The call could not run with anything else, and a yes would turn into a no.
                _ => Err(Refusal::new(
                    Code::WrongAnswer,
                    "the arguments of a tool call are a JSON object",
                )
                .hint("sayso answer ID --arguments '{\"command\": \"ls\"}'")),
            },
            (Shape::Text, Content::Text(text)) => not_empty(text),
            // Words are direction, or say what was done. Anywhere else "not yet" would be a yes.
            (Shape::Verdict, Content::Text(text)) if kind.takes_words_with_a_yes() => {
                not_empty(text)
            }
            (Shape::Choice { options, multi, other }, Content::Choice { picked, other: words }) => {
                check_picks(options, *multi, *other, picked, words.as_deref())
            }
            (Shape::Form { schema }, Content::Form(value)) => check_form(schema, value),
            (_, Content::None) => Err(empty(shape)),
            (_, content) => Err(Refusal::new(
                Code::WrongAnswer,
                format!("this gate takes {}, not {}", shape.in_words(), content.in_words()),
            )
            .hint(shape.how_to_answer())),
        }
    }
}

impl Content {
    fn in_words(&self) -> &'static str {
        match self {
            Content::None => "a bare verdict",
            Content::Text(_) => "a text",
            Content::Choice { .. } => "a choice",
            Content::Form(_) => "a form",
            Content::Arguments(_) => "edited arguments",
        }
    }
}

impl Shape {
    fn in_words(&self) -> &'static str {
        match self {
            Shape::Verdict => "a verdict",
            Shape::Text => "a text",
            Shape::Choice { multi: false, .. } => "one of its options",
            Shape::Choice { multi: true, .. } => "one or more of its options",
            Shape::Form { .. } => "a filled form",
        }
    }

    /// The command that answers it.
    pub fn how_to_answer(&self) -> String {
        match self {
            Shape::Verdict => "sayso approve ID, or sayso reject ID \"reason\"".into(),
            Shape::Text => "sayso respond ID \"your answer\"".into(),
            Shape::Choice { options, .. } => {
                let names: Vec<_> = options.iter().map(|o| format!("{:?}", o.name)).collect();
                format!("sayso choose ID OPTION, with one of {}", names.join(", "))
            }
            Shape::Form { .. } => "sayso answer ID --form '{…}'".into(),
        }
    }

    /// Whether this can be asked at all.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Shape::Verdict | Shape::Text => Ok(()),
            Shape::Choice { options, other, .. } => check_options(options, *other),
            Shape::Form { schema } => validator(schema).map(drop),
        }
    }
}

fn empty(shape: &Shape) -> Refusal {
    Refusal::new(Code::EmptyAnswer, format!("this gate takes {}", shape.in_words()))
        .hint(shape.how_to_answer())
}

fn not_empty(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(empty(&Shape::Text)) } else { Ok(()) }
}

fn check_options(options: &[Choice], other: bool) -> Result<(), Refusal> {
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

/// Two options that differ in blanks only are one to the eye.
fn looks_like(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

fn check_picks(
    options: &[Choice],
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
        0 => Err(empty(&Shape::Choice { options: options.to_vec(), multi, other })),
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
        .map(|error| Misfit { at: place(&error), words: in_words(&error) })
        .collect();
    if misfits.is_empty() {
        return Ok(());
    }
    let problem = |Misfit { at, words }: &Misfit| match at.as_str() {
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

/// Where something does not fit. What is missing is told where it would stand.
fn place(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::Required { property: Value::String(name) } => {
            format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
        }
        _ => at,
    }
}

/// What is wrong. Formats have names for programs; people are told what was expected.
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
    shorten(&harmless_line(&value.to_string()), MISFIT_CHARS_MAX)
}

/// Formats that pages know and the library does not, or not without tables of all the world's letters.
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

/// A validator that fetches nothing and whose work is bounded: the schema is an agent's.
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

/// Whether a schema, with every reference put in its place, has no more than `left` parts. A few
/// references to references can otherwise ask for more work than there is time.
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
            // These give references another meaning than the one looked up here.
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            ("$id" | "id", Value::String(_)) if !std::ptr::eq(part, root) => false,
            _ => goes_on(value),
        }),
        Value::Array(items) => items.iter().all(goes_on),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choice(multi: bool, other: bool) -> Shape {
        let option = |name: &str| Choice { name: name.into(), consequence: String::new() };
        Shape::Choice { options: vec![option("red"), option("blue")], multi, other }
    }

    fn picks(names: &[&str], other: Option<&str>) -> Answer {
        Answer::choice(names.iter().map(|n| n.to_string()).collect(), other.map(Into::into))
    }

    #[test]
    fn what_fits_what() {
        let form = Shape::Form {
            schema: json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
        };
        let table: Vec<(Kind, Shape, Answer, Option<Code>)> = vec![
            (Kind::Approval, Shape::Verdict, Answer::approved(), None),
            (Kind::Approval, Shape::Verdict, Answer::rejected(None), None),
            (Kind::Escalation, Shape::Verdict, Answer::text("go left"), None),
            (Kind::Work, Shape::Verdict, Answer::text("it is done"), None),
            (Kind::Approval, Shape::Verdict, Answer::text("not yet"), Some(Code::WrongAnswer)),
            (Kind::Checkpoint, Shape::Verdict, Answer::text("no"), Some(Code::WrongAnswer)),
            (Kind::Approval, Shape::Verdict, picks(&["red"], None), Some(Code::WrongAnswer)),
            (Kind::Work, Shape::Verdict, Answer::rejected(None), Some(Code::ReasonMissing)),
            (
                Kind::Work,
                Shape::Verdict,
                Answer::rejected(Some(" ".into())),
                Some(Code::ReasonMissing),
            ),
            (Kind::Work, Shape::Verdict, Answer::rejected(Some("no access".into())), None),
            (Kind::Input, Shape::Text, Answer::text("JWT"), None),
            (Kind::Input, Shape::Text, Answer::text("  \n"), Some(Code::EmptyAnswer)),
            (Kind::Input, Shape::Text, Answer::approved(), Some(Code::EmptyAnswer)),
            (Kind::Input, Shape::Text, Answer::rejected(None), None),
            (Kind::Input, Shape::Text, picks(&["red"], None), Some(Code::WrongAnswer)),
            (Kind::Decision, choice(false, false), picks(&["red"], None), None),
            (
                Kind::Decision,
                choice(false, false),
                picks(&["Red"], None),
                Some(Code::UnknownOption),
            ),
            (
                Kind::Decision,
                choice(false, false),
                picks(&["red", "blue"], None),
                Some(Code::WrongAnswer),
            ),
            (Kind::Decision, choice(true, false), picks(&["red", "blue"], None), None),
            (
                Kind::Decision,
                choice(true, false),
                picks(&["red", "red"], None),
                Some(Code::WrongAnswer),
            ),
            (Kind::Decision, choice(true, false), picks(&[], None), Some(Code::EmptyAnswer)),
            (
                Kind::Decision,
                choice(false, false),
                picks(&[], Some("green")),
                Some(Code::UnknownOption),
            ),
            (Kind::Decision, choice(false, true), picks(&[], Some("green")), None),
            (Kind::Decision, choice(false, true), picks(&[], Some(" ")), Some(Code::EmptyAnswer)),
            (
                Kind::Decision,
                choice(false, true),
                picks(&["red"], Some("green")),
                Some(Code::WrongAnswer),
            ),
            (Kind::Decision, choice(false, false), Answer::text("red"), Some(Code::WrongAnswer)),
            (
                Kind::Tool,
                Shape::Verdict,
                Answer { content: Content::Arguments(json!({})), ..Answer::approved() },
                None,
            ),
            (
                Kind::Tool,
                Shape::Verdict,
                Answer { content: Content::Arguments(json!(["ls"])), ..Answer::approved() },
                Some(Code::WrongAnswer),
            ),
            (
                Kind::Review,
                Shape::Verdict,
                Answer { content: Content::Arguments(json!({})), ..Answer::approved() },
                Some(Code::WrongAnswer),
            ),
            (
                Kind::Input,
                form.clone(),
                Answer { content: Content::Form(json!({"n": 1})), ..Answer::approved() },
                None,
            ),
            (
                Kind::Input,
                form,
                Answer { content: Content::Form(json!({"n": "1"})), ..Answer::approved() },
                Some(Code::InvalidForm),
            ),
            (
                Kind::Decision,
                choice(false, false),
                Answer { verdict: Verdict::Rejected, ..picks(&["red"], None) },
                Some(Code::WrongAnswer),
            ),
            (
                Kind::Approval,
                Shape::Verdict,
                Answer::rejected(Some("x".repeat(ANSWER_BYTES_MAX))),
                None,
            ),
            (
                Kind::Approval,
                Shape::Verdict,
                Answer::rejected(Some("x".repeat(ANSWER_BYTES_MAX + 1))),
                Some(Code::TooLarge),
            ),
            (
                Kind::Input,
                Shape::Text,
                Answer::text("x".repeat(ANSWER_BYTES_MAX + 1)),
                Some(Code::TooLarge),
            ),
        ];
        for (kind, shape, answer, expected) in table {
            let got = answer.check(kind, &shape).err().map(|r| r.code);
            assert_eq!(got, expected, "{kind} {shape:?} {:.80?}", answer);
        }
    }

    #[test]
    fn what_cannot_be_asked() {
        let option = |name: &str| Choice { name: name.into(), consequence: String::new() };
        let of = |options| Shape::Choice { options, multi: false, other: false };
        let code = |shape: Shape| shape.check().err().map(|r| r.code);
        assert_eq!(code(of(vec![])), Some(Code::BadValue));
        assert_eq!(code(of(vec![option("a"), option("a")])), Some(Code::BadValue));
        assert_eq!(code(of(vec![option("ship"), option("ship ")])), Some(Code::BadValue));
        assert_eq!(code(of(vec![option(" ")])), Some(Code::BadValue));
        let many = (0..=OPTIONS_MAX).map(|n| option(&n.to_string())).collect();
        assert_eq!(code(of(many)), Some(Code::TooLarge));
        assert_eq!(
            code(Shape::Form { schema: json!({"type": "nonsense"}) }),
            Some(Code::InvalidForm)
        );
        let remote = json!({"$ref": "http://127.0.0.1:1/schema.json"});
        assert_eq!(code(Shape::Form { schema: remote }), Some(Code::InvalidForm));
    }

    #[test]
    fn what_does_not_fit_is_told_where_it_stands() {
        let schema = json!({"type": "object", "required": ["a/b"], "properties": {
            "port": {"type": "integer"},
            "proxy": {"type": "object", "required": ["host"]},
            "tags": {"type": "array", "items": {"type": "string"}}}});
        let form = json!({"port": "x", "proxy": {}, "tags": ["a", 1]});
        let answer = Answer { content: Content::Form(form), ..Answer::approved() };
        let refused = answer.check(Kind::Input, &Shape::Form { schema }).err();
        let misfits = refused.map_or_else(Box::default, |refusal| refusal.misfits);
        // In which order they are found is the library's own.
        let mut places: Vec<_> = misfits.iter().map(|it| it.at.as_str()).collect();
        places.sort_unstable();
        assert_eq!(places, ["/a~1b", "/port", "/proxy/host", "/tags/1"]);
    }

    /// What is said about a value of this format; nothing where it fits.
    fn misfit(format: &str, value: &str) -> Option<String> {
        let schema = json!({"properties": {"x": {"type": "string", "format": format}}});
        let form = Content::Form(json!({"x": value}));
        let answer = Answer { content: form, ..Answer::approved() };
        let refusal = answer.check(Kind::Input, &Shape::Form { schema }).err()?;
        assert_eq!(refusal.code, Code::InvalidForm);
        assert_eq!(refusal.misfits[0].at, "/x");
        Some(refusal.misfits[0].words.clone())
    }

    #[test]
    fn a_format_holds_wherever_the_form_is_filled_in() {
        let mail = " is not an e-mail address";
        let address = " is not an address, such as https://example.com";
        let moment = " is not a day and a time with its zone, such as 2026-11-18T09:30:00Z";
        for (format, fits, does_not, words) in [
            (
                "date",
                "2028-02-29",
                "2026-02-31",
                " is not a day of the calendar, such as 2026-11-18",
            ),
            ("date-time", "2026-11-18T09:30:00+01:00", "2026-11-18 at nine", moment),
            (
                "time",
                "09:30:00Z",
                "25:00",
                " is not a time of day with its zone, such as 09:30:00Z",
            ),
            ("email", "ann@example.com", "nobody", mail),
            ("idn-email", "änn@exämple.com", "änn@ex ämple.com", mail),
            ("uri", "https://example.com/a?b=c", "http://x y", address),
            ("url", "mailto:ann", "example.com", address),
            ("iri", "https://exämple.com/ä", "//x", address),
            ("ipv4", "127.0.0.1", "127.0.0.256", " is not an IPv4 address"),
            ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8", "67e5", " is not a UUID"),
            ("json-pointer", "/a", "a", " is not of the format \"json-pointer\""),
        ] {
            assert_eq!(misfit(format, fits), None, "{format}");
            assert_eq!(misfit(format, does_not), Some(format!("{does_not:?}{words}")), "{format}");
        }
        assert_eq!(misfit("of-our-own", "anything"), None, "a format nobody knows says nothing");
        let long = misfit("email", &"x".repeat(1_000)).unwrap_or_default();
        assert!(long.chars().count() < 200, "{long}");
    }

    #[test]
    fn all_that_does_not_fit_is_told_at_once() {
        let names: Vec<_> = (0..60).map(|n| format!("f{n}")).collect();
        let told = |count: usize| {
            let schema = json!({"type": "object", "required": names[..count]});
            let answer = Answer { content: Content::Form(json!({})), ..Answer::approved() };
            let refusal = answer.check(Kind::Input, &Shape::Form { schema }).err();
            refusal.map_or(0, |refusal| refusal.misfits.len())
        };
        assert_eq!((told(1), told(12), told(60)), (1, 12, MISFITS_MAX));
    }

    #[test]
    fn everything_that_does_not_fit_is_told_and_a_few_in_words() {
        let properties: serde_json::Map<_, _> =
            (0..12).map(|at| (format!("f{at}"), json!({"type": "integer"}))).collect();
        let form: serde_json::Map<_, _> =
            (0..12).map(|at| (format!("f{at}"), json!("x"))).collect();
        let schema = json!({"type": "object", "properties": properties});
        let answer = Answer { content: Content::Form(form.into()), ..Answer::approved() };
        let refused = answer.check(Kind::Input, &Shape::Form { schema }).err();
        let told = refused.map(|it| (it.misfits.len(), it.message.ends_with("; and 7 more")));
        assert_eq!(told, Some((12, true)));
    }

    /// Sixty references to references: 2^60 parts, a few kilobytes of text.
    fn bomb() -> Value {
        let both = |n: u32| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{n}")}); 2]});
        let mut defs: serde_json::Map<_, _> =
            (0..60).map(|n| (n.to_string(), both(n + 1))).collect();
        defs.insert("60".into(), json!({"type": "integer"}));
        json!({"$defs": defs, "$ref": "#/$defs/0"})
    }

    #[test]
    fn a_form_is_bounded_before_anybody_fills_it() {
        let text = json!({"type": "string"});
        for (name, schema, takes) in [
            (
                "local reference",
                json!({"$id": "urn:x", "$defs": {"t": text}, "properties": {"id": {"$ref": "#/$defs/t"}}}),
                true,
            ),
            ("list of countries", json!({"enum": vec!["Utopia"; 250]}), true),
            ("bomb", bomb(), false),
            ("circle", json!({"properties": {"again": {"$ref": "#"}}}), false),
            ("dangling reference", json!({"$ref": "#/$defs/none"}), false),
            ("moved base", json!({"$defs": {"t": {"$id": "urn:x", "$ref": "#"}}}), false),
            ("dynamic reference", json!({"$dynamicRef": "#x"}), false),
            ("too much", json!({"enum": vec!["x"; FORM_NODES_MAX]}), false),
            ("huge pattern", json!({"pattern": "((a{50}){50}){50}"}), false),
        ] {
            let code = Shape::Form { schema }.check().err().map(|r| r.code);
            assert_eq!(code, (!takes).then_some(Code::InvalidForm), "{name}");
        }
    }

    #[test]
    fn a_hostile_pattern_is_answered_in_linear_time() {
        let schema = json!({"type": "string", "pattern": "^(a+)+$"});
        let shape = Shape::Form { schema };
        let form = Content::Form(json!(format!("{}!", "a".repeat(50_000))));
        let answer = Answer { content: form, ..Answer::approved() };
        assert_eq!(
            answer.check(Kind::Input, &shape).err().map(|r| r.code),
            Some(Code::InvalidForm)
        );
    }
}
