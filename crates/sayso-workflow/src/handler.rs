//! Asks people: through the inbox, or by a handler of the program's own.
//!
//! Only the inbox is durable, knows who answered and proves it. A question that a program asks by a handler of its
//! own is recorded with the name of that handler, so that it is not mistaken for more than it is.

use crate::HumanQuestion;
use crate::event::question_id;
use sayso_core::approvers::Approvers;
use sayso_core::flow::Flow;
use sayso_core::text::{sanitize, sanitize_line};
use sayso_core::{Answer, AnswerShape, GateId, GateKind, Refusal, Risk, answer_input};
use std::future::Future;
use std::io::{BufRead, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The way in which people are asked.
#[derive(Clone)]
pub enum HumanInput {
    /// Asks through the inbox. The run ends, and a later run after the answer continues the flow.
    Park,
    /// Asks through the inbox. The run continues as soon as there is an answer.
    Wait,
    /// Asks by a handler of the program's own.
    By(Arc<dyn QuestionHandler>),
}

impl<H: QuestionHandler + 'static> From<H> for HumanInput {
    fn from(handler: H) -> Self {
        Self::By(Arc::new(handler))
    }
}

/// A question for a handler: all that the workflow says of it.
///
/// The inbox enforces [`to`](Request::to), [`risk`](Request::risk) and [`within`](Request::within); here nothing
/// does: who answers, what they prove, which approvers the policy demands and when it is too late is the
/// responsibility of the handler.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HandlerRequest {
    /// Its id: the same question has the same one, each time it is asked.
    pub id: GateId,
    /// The handle of the flow.
    pub flow: String,
    /// The name of its workflow.
    pub workflow: String,
    /// The subject of the flow.
    pub about: String,
    /// The phase that asks.
    pub phase: String,
    /// The index of the item it is about.
    pub item: u32,
    /// The text of the question.
    pub prompt: String,
    /// Further context for the person.
    pub context: String,
    /// Facts that the program itself has seen, by name.
    pub facts: Vec<(String, String)>,
    /// The form of the answer.
    pub shape: AnswerShape,
    /// The required approvers, where the workflow names them.
    pub to: Option<Approvers>,
    /// The risk of a wrong answer, where the workflow states it.
    pub risk: Option<Risk>,
    /// The time until the deadline, where the workflow sets one.
    pub within: Option<Duration>,
}

impl HandlerRequest {
    pub(crate) fn of(flow: &Flow, item: u32, human: &HumanQuestion) -> Self {
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

    /// Returns the names of the options.
    pub fn options(&self) -> Vec<&str> {
        match &self.shape {
            AnswerShape::Choice { options, .. } => {
                options.iter().map(|o| o.name.as_str()).collect()
            }
            AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => vec![],
        }
    }

    /// Checks that an answer fits the form. One that does not is never adapted.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        answer.check(GateKind::Decision, &self.shape).map_err(|refusal| refusal.message)
    }
}

/// The result of asking.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerReply {
    /// The person's answer.
    Answer(Answer),
    /// There is no answer now: the flow stays where it is, and the question is asked again when it continues. The run
    /// ends with [`FlowOutcome::Waits`](crate::FlowOutcome::Waits) and no question, since there is none in the inbox.
    Later,
}

/// The future of a question.
pub type AskFuture<'a> = Pin<Box<dyn Future<Output = Result<HandlerReply, String>> + Send + 'a>>;

/// A way to ask that is the program's own.
///
/// It lacks what the inbox has: no person is notified, nothing waits when the program ends, no policy is applied,
/// and sayso knows neither who answered nor if they were allowed to. Its result is recorded under its name.
pub trait QuestionHandler: Send + Sync {
    /// Returns its name in the log.
    fn name(&self) -> &str;
    /// Asks a person and returns the future of the answer.
    fn ask<'a>(&'a self, request: &'a HandlerRequest) -> AskFuture<'a>;
}

/// Makes a handler from a closure.
pub fn handler_fn<F, Fut>(name: impl Into<String>, ask: F) -> HumanInput
where
    F: Fn(HandlerRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<HandlerReply, String>> + Send + 'static,
{
    HumanInput::By(Arc::new(ClosureHandler { name: name.into(), ask }))
}

struct ClosureHandler<F> {
    name: String,
    ask: F,
}

impl<F, Fut> QuestionHandler for ClosureHandler<F>
where
    F: Fn(HandlerRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<HandlerReply, String>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, request: &'a HandlerRequest) -> AskFuture<'a> {
        Box::pin((self.ask)(request.clone()))
    }
}

/// Approves everything and picks the first option: for tests, and marked as such in the log. It makes up no text and
/// no form.
#[derive(Debug, Clone, Copy, Default)]
pub struct AutoApprove;

impl QuestionHandler for AutoApprove {
    fn name(&self) -> &str {
        "auto-approve (for tests)"
    }

    fn ask<'a>(&'a self, request: &'a HandlerRequest) -> AskFuture<'a> {
        Box::pin(async move {
            match &request.shape {
                AnswerShape::Verdict => Ok(HandlerReply::Answer(Answer::approved())),
                AnswerShape::Choice { options, .. } => {
                    let mut names = options.iter().map(|option| option.name.clone());
                    let first = names.find(|name| !request.shape.declines(name));
                    Ok(HandlerReply::Answer(Answer::choice(first.into_iter().collect(), None)))
                }
                AnswerShape::Text | AnswerShape::Form { .. } => {
                    Err(format!("it has nothing to write for {:?}", request.prompt))
                }
            }
        })
    }
}

/// Asks at the terminal in which the program runs. Enter alone is no answer; the end of the input leaves the
/// question for later. `/reject` and a reason declines each form; `/other` and words is an answer beside the
/// options, where that is allowed.
///
/// The person at the terminal answers: recipients and deadline are shown, and not enforced.
#[derive(Clone)]
pub struct TerminalHandler {
    ends: Arc<Mutex<TerminalStreams>>,
}

struct TerminalStreams {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
}

impl Default for TerminalHandler {
    fn default() -> Self {
        Self::new()
    }
}

impl TerminalHandler {
    /// Uses standard input, and standard error for the questions.
    pub fn new() -> Self {
        Self::with(std::io::BufReader::new(std::io::stdin()), std::io::stderr())
    }

    /// Uses another input and output.
    pub fn with(input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let ends = TerminalStreams { input: Box::new(input), output: Box::new(output) };
        Self { ends: Arc::new(Mutex::new(ends)) }
    }
}

impl QuestionHandler for TerminalHandler {
    fn name(&self) -> &str {
        "terminal"
    }

    fn ask<'a>(&'a self, request: &'a HandlerRequest) -> AskFuture<'a> {
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

impl TerminalStreams {
    fn ask(&mut self, request: &HandlerRequest) -> std::io::Result<HandlerReply> {
        let Self { input, output } = self;
        writeln!(output, "\n{}", sanitize(&request.prompt).text)?;
        if !request.context.is_empty() {
            for line in sanitize(&request.context).text.lines() {
                writeln!(output, "  │ {line}")?;
            }
        }
        for (name, value) in &request.facts {
            writeln!(output, "  {}: {}", sanitize_line(name), sanitize_line(value))?;
        }
        for condition in conditions(request) {
            writeln!(output, "  {condition}")?;
        }
        if let AnswerShape::Choice { options, .. } = &request.shape {
            for (number, option) in options.iter().enumerate() {
                let leads = if option.consequence.is_empty() { "" } else { ": " };
                let (name, to) = (sanitize_line(&option.name), sanitize_line(&option.consequence));
                let no = if request.shape.declines(&option.name) { " (a no)" } else { "" };
                writeln!(output, "  {} {name}{no}{leads}{to}", number + 1)?;
            }
        }
        loop {
            write!(output, "{}: ", answer_input::input_help(&request.shape))?;
            output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(HandlerReply::Later);
            }
            if line.trim().is_empty() {
                writeln!(output, "nothing was said")?;
                continue;
            }
            let read = answer_input::parse_answer(&request.shape, &line).map_err(in_words);
            match read.and_then(|answer| request.check(&answer).map(|()| answer)) {
                Ok(answer) => return Ok(HandlerReply::Answer(answer)),
                Err(why) => writeln!(output, "{why}")?,
            }
        }
    }
}

/// Describes the recipients, risk and deadline that the workflow demands.
fn conditions(request: &HandlerRequest) -> Vec<String> {
    let to = request.to.as_ref().map(|to| format!("for {}", sanitize_line(&to.in_words())));
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
