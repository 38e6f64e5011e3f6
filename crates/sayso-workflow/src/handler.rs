//! How people are asked: through the inbox, or by a way of the program's own.
//!
//! Only the inbox is durable, knows who answered and proves it. What a program asks by a way of its own is
//! written down with the name of that way, so that nobody takes it for more than it is.

use crate::Human;
use crate::event::question_id;
use sayso_core::approvers::Approvers;
use sayso_core::flow::Flow;
use sayso_core::text::{harmless, harmless_line};
use sayso_core::{Answer, GateId, Kind, Refusal, Risk, Shape, typed};
use std::future::Future;
use std::io::{BufRead, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

/// A question, for whoever asks it: all that the workflow says of it.
///
/// What the inbox does with [`to`](Request::to), [`risk`](Request::risk) and [`within`](Request::within) nobody does here: who
/// answers, what they prove, whom the policy demands and when it is too late is for the handler to see to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Its name: the same question has the same one, however often it is asked.
    pub id: GateId,
    /// What people call the flow.
    pub flow: String,
    /// The workflow it walks through.
    pub workflow: String,
    /// What the flow is about.
    pub about: String,
    /// The phase it is asked in.
    pub phase: String,
    /// About which piece.
    pub item: u32,
    /// The question.
    pub prompt: String,
    /// What else the person should know.
    pub context: String,
    /// What the program itself has seen, by name.
    pub facts: Vec<(String, String)>,
    /// The form of an answer.
    pub shape: Shape,
    /// Whose answer it takes, where the workflow says so.
    pub to: Option<Approvers>,
    /// How bad it would be to be wrong, where the workflow says so.
    pub risk: Option<Risk>,
    /// How long people have, where the workflow says so.
    pub within: Option<Duration>,
}

impl Request {
    pub(crate) fn of(flow: &Flow, item: u32, human: &Human) -> Self {
        Self {
            id: question_id(flow.started.id, flow.position, item),
            flow: flow.started.handle.clone(),
            workflow: flow.started.workflow.clone(),
            about: flow.started.title.clone(),
            phase: flow.phase.clone(),
            item,
            prompt: human.prompt.clone(),
            context: human.context.clone(),
            facts: human.facts.clone(),
            shape: human.shape.clone(),
            to: human.to.clone(),
            risk: human.risk,
            within: human.within,
        }
    }

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
    /// Nobody answers now: the flow stays where it is, and the question is asked again when it goes on. The run ends
    /// with [`Outcome::Waits`](crate::Outcome::Waits) and no question, for there is none in the inbox.
    Later,
}

/// What asking is under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Told, String>> + Send + 'a>>;

/// A way to ask that is the program's own.
///
/// It does not do what the inbox does: nobody is told, nothing waits when the program ends, no policy is looked at, and sayso
/// knows neither who answered nor whether they were allowed to. What comes of it stands in the log under its name.
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
                    let mut names = options.iter().map(|option| option.name.clone());
                    let first = names.find(|name| !request.shape.declines(name));
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
/// question for later. `/reject` and a reason declines, whatever is asked; `/other` and words is an answer beside the
/// options, where that is allowed.
///
/// Whoever sits there answers: whom a question is for and how long they have is shown, and not enforced.
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
        for (name, value) in &request.facts {
            writeln!(output, "  {}: {}", harmless_line(name), harmless_line(value))?;
        }
        for condition in conditions(request) {
            writeln!(output, "  {condition}")?;
        }
        if let Shape::Choice { options, .. } = &request.shape {
            for (number, option) in options.iter().enumerate() {
                let leads = if option.consequence.is_empty() { "" } else { ": " };
                let (name, to) = (harmless_line(&option.name), harmless_line(&option.consequence));
                let no = if request.shape.declines(&option.name) { " (a no)" } else { "" };
                writeln!(output, "  {} {name}{no}{leads}{to}", number + 1)?;
            }
        }
        loop {
            write!(output, "{}: ", typed::how(&request.shape))?;
            output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(Told::Later);
            }
            if line.trim().is_empty() {
                writeln!(output, "nothing was said")?;
                continue;
            }
            let read = typed::read(&request.shape, &line).map_err(in_words);
            match read.and_then(|answer| request.check(&answer).map(|()| answer)) {
                Ok(answer) => return Ok(Told::Answer(answer)),
                Err(why) => writeln!(output, "{why}")?,
            }
        }
    }
}

/// What the workflow demands, as far as it says something.
fn conditions(request: &Request) -> Vec<String> {
    let to = request.to.as_ref().map(|to| format!("for {}", harmless_line(&to.in_words())));
    let risk = request.risk.map(|risk| format!("{} risk", risk.as_str()));
    let within = request.within.map(|time| format!("within {} seconds", time.as_secs()));
    [to, risk, within].into_iter().flatten().collect()
}

fn in_words(refusal: Refusal) -> String {
    match refusal.hint {
        Some(hint) => format!("{}; {hint}", refusal.message),
        None => refusal.message,
    }
}
