//! How people are asked: through the inbox, or by a way of the program's own.
//!
//! Only the inbox is durable, knows who answered and proves it. What a program asks by a way of its own is
//! written down with the name of that way, so that nobody takes it for more than it is.

use sayso_core::text::{harmless, harmless_line};
use sayso_core::{Answer, GateId, Kind, Shape};
use std::future::Future;
use std::io::{BufRead, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// How people are asked.
#[derive(Clone)]
pub enum HumanInput {
    /// Through the inbox. The run ends, and whoever goes on with the flow after the answer takes it up.
    Park,
    /// Through the inbox. The run goes on as soon as there is an answer.
    Wait,
    /// By a way of the program's own.
    By(Arc<dyn Handler>),
}

impl<H: Handler + 'static> From<H> for HumanInput {
    fn from(handler: H) -> Self {
        Self::By(Arc::new(handler))
    }
}

/// A question, for whoever asks it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its name: the same question has the same one, however often it is asked.
    pub id: GateId,
    /// What people call the flow.
    pub flow: String,
    /// The phase it is asked in.
    pub phase: String,
    /// About which piece.
    pub item: u32,
    /// The question.
    pub prompt: String,
    /// What else the person should know.
    pub context: String,
    /// The form of an answer.
    pub shape: Shape,
}

impl Request {
    /// The names of the options.
    pub fn options(&self) -> Vec<&str> {
        match &self.shape {
            Shape::Choice { options, .. } => options.iter().map(|o| o.name.as_str()).collect(),
            Shape::Verdict | Shape::Text | Shape::Form { .. } => vec![],
        }
    }

    /// Whether an answer fits. One that does not is never made to.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        answer.check(Kind::Decision, &self.shape).map_err(|refusal| refusal.message)
    }
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// An answer.
    Answer(Answer),
    /// Nobody answers now: the flow stays where it is, and the question is asked again when it goes on.
    Later,
}

/// What asking is under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Told, String>> + Send + 'a>>;

/// A way to ask that is the program's own.
pub trait Handler: Send + Sync {
    /// What it is called in the log.
    fn name(&self) -> &str;
    /// Asks.
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;
}

/// A way to ask, from a closure.
pub fn by<F, Fut>(name: impl Into<String>, ask: F) -> HumanInput
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Told, String>> + Send + 'static,
{
    HumanInput::By(Arc::new(Custom { name: name.into(), ask }))
}

struct Custom<F> {
    name: String,
    ask: F,
}

impl<F, Fut> Handler for Custom<F>
where
    F: Fn(Request) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Told, String>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin((self.ask)(request.clone()))
    }
}

/// Says yes to everything and picks the first option: for tests, and marked as such in the log. A text or a
/// form it does not make up.
#[derive(Debug, Clone, Copy, Default)]
pub struct AutoApprove;

impl Handler for AutoApprove {
    fn name(&self) -> &str {
        "auto-approve (for tests)"
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            match &request.shape {
                Shape::Verdict => Ok(Told::Answer(Answer::approved())),
                Shape::Choice { options, .. } => {
                    let first = options.first().map(|option| option.name.clone());
                    Ok(Told::Answer(Answer::choice(first.into_iter().collect(), None)))
                }
                Shape::Text | Shape::Form { .. } => {
                    Err(format!("it has nothing to write for {:?}", request.prompt))
                }
            }
        })
    }
}

/// Asks at the terminal the program runs in. Enter alone says nothing; the end of the input leaves the
/// question for later.
#[derive(Clone)]
pub struct Terminal {
    ends: Arc<Mutex<Ends>>,
}

struct Ends {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl Terminal {
    /// Standard input, and standard error for the questions.
    pub fn new() -> Self {
        Self::with(std::io::BufReader::new(std::io::stdin()), std::io::stderr())
    }

    /// Other ends.
    pub fn with(input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let ends = Ends { input: Box::new(input), output: Box::new(output) };
        Self { ends: Arc::new(Mutex::new(ends)) }
    }
}

impl Handler for Terminal {
    fn name(&self) -> &str {
        "terminal"
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let (ends, request) = (self.ends.clone(), request.clone());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
                ends.ask(&request).map_err(|e| e.to_string())
            });
            asked.await.map_err(|e| e.to_string())?
        })
    }
}

impl Ends {
    fn ask(&mut self, request: &Request) -> std::io::Result<Told> {
        let Self { input, output } = self;
        writeln!(output, "\n{}", harmless(&request.prompt).text)?;
        if !request.context.is_empty() {
            for line in harmless(&request.context).text.lines() {
                writeln!(output, "  │ {line}")?;
            }
        }
        if let Shape::Choice { options, .. } = &request.shape {
            for (number, option) in options.iter().enumerate() {
                let leads = if option.consequence.is_empty() { "" } else { ": " };
                let (name, to) = (harmless_line(&option.name), harmless_line(&option.consequence));
                writeln!(output, "  {} {name}{leads}{to}", number + 1)?;
            }
        }
        loop {
            write!(output, "{} ", prompt_for(&request.shape))?;
            output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(Told::Later);
            }
            let read = understand(line.trim(), &request.shape)
                .and_then(|answer| request.check(&answer).map(|()| answer));
            match read {
                Ok(answer) => return Ok(Told::Answer(answer)),
                Err(why) => writeln!(output, "{why}")?,
            }
        }
    }
}

fn prompt_for(shape: &Shape) -> &'static str {
    match shape {
        Shape::Verdict => "yes, or no and why:",
        Shape::Text => "your answer:",
        Shape::Choice { multi: true, .. } => "numbers or names, with commas:",
        Shape::Choice { other: true, .. } => "number, name, or your own words:",
        Shape::Choice { .. } => "number or name:",
        Shape::Form { .. } => "the form, as JSON:",
    }
}

/// What somebody typed, as an answer.
fn understand(line: &str, shape: &Shape) -> Result<Answer, String> {
    if line.is_empty() {
        return Err("nothing was said".into());
    }
    match shape {
        Shape::Verdict => match line.split_once([' ', ',', ':']).unwrap_or((line, "")) {
            ("yes", rest) => {
                let reason = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
                Ok(Answer { reason, ..Answer::approved() })
            }
            ("no", rest) => {
                let reason = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
                Ok(Answer::rejected(reason))
            }
            _ => Err("write yes, or no".into()),
        },
        Shape::Text => Ok(Answer::text(line)),
        Shape::Choice { options, multi, other } => {
            let typed: Vec<&str> = match multi {
                true => line.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
                false => vec![line],
            };
            let find = |word: &str| {
                let by_number =
                    word.parse::<usize>().ok().and_then(|n| options.get(n.wrapping_sub(1)));
                let by_name = options.iter().find(|o| o.name.eq_ignore_ascii_case(word));
                by_name.or(by_number).map(|option| option.name.clone())
            };
            let picked: Option<Vec<String>> = typed.into_iter().map(find).collect();
            match (picked, other) {
                (Some(picked), _) => Ok(Answer::choice(picked, None)),
                (None, true) => Ok(Answer::choice(vec![], Some(line.to_owned()))),
                (None, false) => Err("that is none of the options".into()),
            }
        }
        Shape::Form { .. } => {
            let form = serde_json::from_str(line).map_err(|e| format!("that is not JSON: {e}"))?;
            Ok(Answer { content: sayso_core::Content::Form(form), ..Answer::approved() })
        }
    }
}
