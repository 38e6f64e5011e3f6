//! `sayso hook`: rules on tool calls; a coding agent's client runs it before every call.
//!
//! A client treats everything as a permission except its own denial format and exit code 2: a crash, a
//! timeout, another client's format. So this command fails closed: every error ends in one of those two.

mod client_event;
pub(crate) mod protocol;

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::{identity, notice_sending};
use client_event::{ClientAction, IncomingEvent, QuestionCall};
use protocol::{HookClient, HookResponse, held_message};
use sayso_core::gate::Gate;
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, CommandExit, EntryPoint, GateId, Role};
use sayso_engine::worker::{DEFER, HOOK_NOTES};
use sayso_engine::{CallRuling, Desk, QuestionsRuling, ToolCall, UnreadItem, WaitOutcome};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The maximum size of an event.
const EVENT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The maximum number of messages and answers delivered at a time.
const NEWS_MAX: usize = 20;

/// The interval at which a hook beside a prompt checks if its client has ended it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The reason for withdrawing a question whose hook was ended. A client ends it when its own prompt was answered, and
/// when it exits itself.
const PROMPT_IS_GONE: &str = "answered in the client's own terminal, or the client was ended";

/// The time limit of everything except waiting for a person.
const GRACE: Duration = Duration::from_secs(30);

/// The variable with which `connect --check` names a file: the hook records there that it was run, and denies. It can
/// never permit a call.
pub(crate) const PROBE: &str = "SAYSO_PROBE";

/// The text for the model in that case.
pub(crate) const PROBE_SAYS: &str =
    "sayso holds this call: it was only to check that the hook is run.";

/// The time a worker may take to record the conversation of its agent.
const NAMED_WITHIN: Duration = Duration::from_secs(5);

/// The exit code that every client takes for a denial.
const BLOCK: i32 = 2;

/// The exit code whose message a client shows to its user before it continues. On an event at which nothing runs, a
/// block would keep the agent from ending its turn, or its user from typing.
const COMPLAIN: i32 = 1;

/// The exit code on an error: a block, until it is known that nothing runs.
static CODE: AtomicI32 = AtomicI32::new(BLOCK);

/// Rule on what an agent is about to do. Coding agents' clients call this; people do not.
///
/// The event comes as JSON on standard input. Where the policy allows, nothing is said, and the client
/// goes on as it would. Where it denies, the model is told why. Where it asks, the call is held until a
/// person has answered, for as long as `--hold` says; then it is blocked, the question stays open, and
/// the same call again is the same question. Every error blocks.
///
/// Beside a client's own prompt (PermissionRequest) the first answer counts, there or here; what was
/// answered there is taken back here. Questions of Claude Code's AskUserQuestion go to the inbox.
/// Messages and answers the agent has not heard are carried in with its next event.
#[derive(clap::Args)]
#[command(after_help = "Examples (in the client's configuration):
  sayso hook claude-code PreToolUse
  sayso hook claude-code PermissionRequest
  sayso hook codex PreToolUse
  sayso hook gemini BeforeTool
  sayso hook opencode tool.execute.before

The client must wait longer than --hold: set the timeout of its hook a minute above it.")]
pub(crate) struct HookArgs {
    /// The client: claude-code, codex, gemini or opencode.
    #[arg(value_name = "CLIENT")]
    client: HookClient,
    /// The event, by the client's own name.
    #[arg(value_name = "EVENT")]
    event: String,
    /// The time for which a call is held for a person.
    #[arg(long, value_name = "TIME", default_value = "9m", value_parser = crate::time::duration)]
    hold: Duration,
    /// End the client at a call that needs a person, to be resumed at that call after the answer. Only for `claude
    /// -p`, if it is resumed later; a worker sets SAYSO_DEFER=1 for it.
    #[arg(long)]
    defer: bool,
    /// The file with the agent's token, for when the environment has none of an agent's.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(args: HookArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let blocks = blocks_when_ended()?;
    // A client whose own timeout expires lets the call run.
    let patience = args.hold + GRACE;
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        end("sayso did not come to an answer in time, so nothing is allowed");
    });
    // A panic would end with an exit code that lets the call run.
    std::panic::set_hook(Box::new(|panic| end(&format!("sayso failed: {panic}"))));
    let outcome =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answer(&args, context, &blocks)));
    match outcome {
        Ok(Ok(said)) => {
            if !said.text.is_empty() && writeln!(std::io::stdout(), "{}", said.text).is_err() {
                end("sayso could not answer");
            }
            said.mark_delivered();
            match &said.complaint {
                Some(why) => deny(why),
                None => Ok(CommandExit::Ok),
            }
        }
        Ok(Err(failure)) => {
            let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            end(&format!("sayso blocked this: {}{hint}", sanitize_line(&failure.message)))
        }
        Err(_) => end("sayso failed, so nothing is allowed"),
    }
}

/// True if a worker will resume this very conversation. One that its agent began on its own, with the same variables,
/// is never resumed; and with a person before it the client ignores the response.
fn is_resumed(desk: &Desk, actor: &Actor, session: &str) -> Result<bool> {
    let is_promised = std::env::var_os(DEFER).is_some_and(|value| value == "1");
    let Some(run) = actor.run.filter(|_| is_promised) else { return Ok(false) };
    let end = Instant::now() + NAMED_WITHIN;
    loop {
        match desk.run(run)?.session {
            Some(named) => return Ok(named == session),
            // The worker learns the name while the client already works.
            None if Instant::now() < end => std::thread::sleep(LOOK_EVERY),
            None => return Ok(false),
        }
    }
}

/// A hook that is ended by a signal blocks: most clients take the exit code of a signal for a permission. Active
/// while the returned flag is true.
fn blocks_when_ended() -> Result<Arc<AtomicBool>> {
    let blocks = Arc::new(AtomicBool::new(true));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, BLOCK, Arc::clone(&blocks))?;
    }
    Ok(blocks)
}

/// Exits without a response, and prints the reason.
fn end(why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{why}");
    std::process::exit(CODE.load(Ordering::Relaxed))
}

/// Exits with the denial that every client understands, after its own format.
fn deny(why: &str) -> ! {
    let _ = std::io::stdout().flush();
    let _ = writeln!(std::io::stderr(), "{why}");
    std::process::exit(BLOCK)
}

/// The response to the client; an empty one lets it continue as usual.
#[derive(Default)]
struct HookOutcome {
    text: String,
    /// The reason of a denial.
    complaint: Option<String>,
    /// The news in it, and the desk that records their delivery.
    news: Option<(Desk, Actor, Vec<UnreadItem>)>,
}

impl HookOutcome {
    fn only(HookResponse { text, complaint }: HookResponse) -> Self {
        Self { text, complaint, news: None }
    }

    /// Marks the news as delivered after they were printed. A process that dies in between delivers them again.
    fn mark_delivered(&self) {
        let Some((desk, actor, news)) = &self.news else { return };
        for news in news {
            let _ = desk.heard(actor, news);
        }
    }
}

/// The context of a hook call.
struct HookCall<'a> {
    args: &'a HookArgs,
    context: &'a CliContext<'a>,
    desk: Desk,
    actor: Actor,
    /// True if the client is to end at a call that waits.
    defers: bool,
    /// True if a signal blocks the call at once.
    blocks: &'a AtomicBool,
}

fn answer(args: &HookArgs, context: &CliContext<'_>, blocks: &AtomicBool) -> Result<HookOutcome> {
    let incoming = read_event(args)?;
    if !incoming.verb.may_run() {
        CODE.store(COMPLAIN, Ordering::Relaxed);
    }
    if let Some(file) = std::env::var_os(PROBE).filter(|file| !file.is_empty()) {
        return Ok(record_probe(args, context, &incoming, Path::new(&file)));
    }
    let IncomingEvent { verb, is_sub, session } = incoming;
    if args.defer && !args.client.defers(&args.event) {
        let message = format!("{} cannot be resumed at a {}", args.client.name(), args.event);
        return Err(Failure::new(Code::BadValue, message).hint("leave out --defer"));
    }
    let (desk, actor) = open_as_agent(args, context)?;
    // The deferred call of a subagent would be dropped silently.
    let may_defer = !is_sub && args.client.defers(&args.event);
    let defers = may_defer && (args.defer || is_resumed(&desk, &actor, &session)?);
    let hook = HookCall { args, context, desk, actor, defers, blocks };
    note_call(&verb)?;
    match verb {
        ClientAction::Call(call) => hook.call(&call),
        ClientAction::Dialog(call, session) => hook.dialog(&call, &session),
        ClientAction::Questions(questions) => hook.questions(&questions),
        ClientAction::Ran(call) => {
            call.map(|call| hook.desk.call_has_run(&hook.actor, &call)).transpose()?;
            if is_sub { Ok(HookOutcome::default()) } else { hook.add_news(String::new()) }
        }
        ClientAction::Start => {
            let ignition = hook.desk.startup_instructions(&hook.actor);
            hook.add_news(ignition)
        }
        ClientAction::Prompt => hook.add_news(String::new()),
        ClientAction::Stop { again: false } => hook.block_stop_with_news(),
        ClientAction::End(session) => {
            hook.desk.session_has_ended(&hook.actor, &session)?;
            Ok(HookOutcome::default())
        }
        ClientAction::Stop { again: true } | ClientAction::Other => Ok(HookOutcome::default()),
    }
}

/// Tells the worker that the hook is called: the work of an agent whose hook is not called is not merged.
fn note_call(verb: &ClientAction) -> Result<()> {
    let file = std::env::var_os(HOOK_NOTES).filter(|file| !file.is_empty() && verb.may_run());
    if let Some(file) = file {
        writeln!(std::fs::File::options().append(true).create(true).open(file)?, "asked")?;
    }
    Ok(())
}

/// Reads and parses the event of the client.
fn read_event(args: &HookArgs) -> Result<IncomingEvent> {
    let mut bytes = vec![];
    std::io::stdin().lock().take(EVENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > EVENT_BYTES_MAX {
        let message = format!("the event has more than {EVENT_BYTES_MAX} bytes");
        return Err(Failure::new(Code::TooLarge, message));
    }
    IncomingEvent::read(args.client, &args.event, &bytes)
}

/// Records that the hook was run and if it could have ruled. Every call is denied.
fn record_probe(
    args: &HookArgs,
    context: &CliContext<'_>,
    incoming: &IncomingEvent,
    file: &Path,
) -> HookOutcome {
    let problem = open_as_agent(args, context).err().map(|failure| failure.message);
    let note = json!({"event": args.event, "problem": problem});
    let file = std::fs::File::options().append(true).create(true).open(file);
    // Without a record the check reports that no hook was run.
    let _ = file.and_then(|mut file| writeln!(file, "{note}"));
    if incoming.verb.may_run() {
        HookOutcome::only(args.client.denial(&args.event, PROBE_SAYS, false))
    } else {
        HookOutcome::default()
    }
}

/// Opens the desk and identifies the agent of this hook. A worker gives its agents their own token, which takes
/// precedence over the one that the client's settings name for all of them; that of a person is ignored.
fn open_as_agent(args: &HookArgs, context: &CliContext<'_>) -> Result<(Desk, Actor)> {
    let desk = context.desk()?;
    let actor = agent(args, &desk)?;
    Ok((desk, actor))
}

fn agent(args: &HookArgs, desk: &Desk) -> Result<Actor> {
    let actor = match identity::connected_agent(desk, args.token_file.as_deref(), EntryPoint::Hook)?
    {
        Some(actor) if actor.role == Role::Agent => actor,
        _ => identity::actor(desk)?,
    };
    check_is_agent(&actor)?;
    Ok(actor)
}

fn check_is_agent(actor: &Actor) -> Result<()> {
    if actor.role == Role::Agent {
        return Ok(());
    }
    let message = "a hook needs the token of its agent, so that the agent's own policy holds";
    let hint = "name it in SAYSO_TOKEN_FILE, in the environment of the client";
    Err(Failure::new(Code::BadToken, message).hint(hint))
}

impl HookCall<'_> {
    /// Rules on a call; if a person is asked, waits for their answer.
    fn call(&self, call: &ToolCall) -> Result<HookOutcome> {
        let began = Instant::now();
        let HookArgs { client, event, .. } = self.args;
        loop {
            let ruling = self.desk.rule_on_call(&self.actor, call.clone())?;
            match &ruling {
                CallRuling::Held(gate) if self.defers => return Ok(later(event, gate)),
                CallRuling::Held(gate) if self.waits(gate.opened.id, began)? => {}
                _ => return Ok(HookOutcome::only(client.call_response(event, &ruling))),
            }
        }
    }

    /// Rules on a call beside the client's own prompt. The first answer counts.
    fn dialog(&self, call: &ToolCall, session: &str) -> Result<HookOutcome> {
        let began = Instant::now();
        let HookArgs { client, event, .. } = self.args;
        let mut is_watched = false;
        loop {
            let ruling = self.desk.rule_on_prompt(&self.actor, call.clone(), session)?;
            let CallRuling::Held(gate) = &ruling else {
                return Ok(HookOutcome::only(client.call_response(event, &ruling)));
            };
            if !is_watched {
                self.withdraw_when_ended(gate.opened.id)?;
                is_watched = true;
            }
            if !self.waits(gate.opened.id, began)? {
                return Ok(HookOutcome::only(client.call_response(event, &ruling)));
            }
            // Answered in the client's own terminal: asking again would open another question.
            if self.desk.gate(gate.opened.id)?.verdict().is_none() {
                return Ok(HookOutcome::default());
            }
        }
    }

    /// Returns people's answers to questions, if they come in time.
    fn questions(&self, questions: &QuestionCall) -> Result<HookOutcome> {
        let began = Instant::now();
        let HookArgs { client, event, .. } = self.args;
        let QuestionCall { call, asked } = questions;
        loop {
            let answer = match self.desk.ask_for_call(&self.actor, call.clone(), asked.clone())? {
                QuestionsRuling::Answered(answers) => {
                    let arguments = questions.answered(&answers);
                    HookResponse::said(client.allows(
                        event,
                        "answered by a person",
                        Some(&arguments),
                    ))
                }
                QuestionsRuling::Denied(ruling) => client.call_response(event, &ruling),
                QuestionsRuling::Held(gate) if self.defers => return Ok(later(event, &gate)),
                QuestionsRuling::Held(gate) => {
                    if self.waits(gate.opened.id, began)? {
                        continue;
                    } else {
                        client.call_response(event, &CallRuling::Held(gate))
                    }
                }
            };
            return Ok(HookOutcome::only(answer));
        }
    }

    /// True if a gate has ended within the time that is left.
    fn waits(&self, gate: GateId, began: Instant) -> Result<bool> {
        let left = self.args.hold.saturating_sub(began.elapsed());
        let sending = notice_sending::send_in_background(self.context, &self.desk);
        let waited = self.desk.wait(gate, Some(left))?;
        drop(sending);
        match waited {
            WaitOutcome::Ended(_) => {
                // The token may have been revoked in the meantime: then the answer is not delivered.
                agent(self.args, &self.desk)?;
                Ok(true)
            }
            WaitOutcome::TimedOut(_) => Ok(false),
        }
    }

    /// Withdraws the question when the client ends the hook, since its own prompt was answered.
    fn withdraw_when_ended(&self, gate: GateId) -> Result<()> {
        self.blocks.store(false, Ordering::SeqCst);
        let is_ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&is_ended))?;
        }
        let (desk, actor) = (self.desk.clone(), self.actor.clone());
        std::thread::spawn(move || {
            while !is_ended.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK_EVERY);
            }
            let _ = desk.prompt_is_gone(&actor, gate, PROMPT_IS_GONE);
            end("the client ended this");
        });
        Ok(())
    }

    /// Delivers the agent's unread news, behind another text.
    fn add_news(self, first: String) -> Result<HookOutcome> {
        let HookArgs { client, event, .. } = self.args;
        self.respond_with_news(first, |text| client.context_response(event, text))
    }

    /// Delivers them, and keeps the agent from ending its turn before that.
    fn block_stop_with_news(self) -> Result<HookOutcome> {
        let client = self.args.client;
        self.respond_with_news(String::new(), |text| client.stop_response(text))
    }

    fn respond_with_news(
        self,
        first: String,
        in_words: impl Fn(&str) -> String,
    ) -> Result<HookOutcome> {
        let news = self.desk.news(&self.actor, NEWS_MAX)?;
        let told = Some(first).filter(|first| !first.is_empty());
        let lines: Vec<_> = told.into_iter().chain(news.iter().map(|n| n.text.clone())).collect();
        let text = in_words(&lines.join("\n"));
        // A client that takes no context has received none.
        let news = (!text.is_empty()).then_some((self.desk, self.actor, news));
        Ok(HookOutcome { text, complaint: None, news })
    }
}

fn later(event: &str, gate: &Gate) -> HookOutcome {
    HookOutcome::only(HookResponse::said(HookClient::defer_response(
        event,
        &held_message(gate.handle()),
    )))
}
