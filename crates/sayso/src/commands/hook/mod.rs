//! `sayso hook`: what a coding agent's client runs before every tool call.
//!
//! The client takes everything but its own word for "no" and exit code 2 for a yes: a crash, a timeout,
//! another client's dialect. So nothing but those two leaves this command when something is wrong.

pub(crate) mod dialect;

use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::who;
use dialect::{Client, Incoming, Verb};
use sayso_core::text::harmless_line;
use sayso_core::{Actor, Code, Door, Exit, MessageId, Proof, Role};
use sayso_engine::{CallRuling, Desk, Waited};
use serde_json::json;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest event that is read.
const EVENT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many messages are carried at a time.
const MESSAGES_MAX: usize = 20;

/// How long everything but a person may take.
const GRACE: Duration = Duration::from_secs(30);

/// The variable with which `connect --check` names a file: the hook is to note there that it was run, and
/// to deny. It cannot let anything happen.
pub(crate) const PROBE: &str = "SAYSO_PROBE";

/// What the model hears then.
pub(crate) const PROBE_SAYS: &str =
    "sayso holds this call: it was only to check that the hook is run.";

/// What a client takes for a no, whatever else it makes of it.
const BLOCK: i32 = 2;

/// Rule on what an agent is about to do. Coding agents' clients call this; people do not.
///
/// The event comes as JSON on standard input. Where the policy allows, nothing is said, and the client
/// goes on as it would. Where it denies, the model is told why. Where it asks, the call is held until a
/// person has answered, for as long as `--hold` says; then it is blocked, the question stays open, and
/// the same call again is the same question. Every error blocks.
#[derive(clap::Args)]
#[command(after_help = "Examples (in the client's configuration):
  sayso hook claude-code PreToolUse
  sayso hook codex PreToolUse
  sayso hook gemini BeforeTool
  sayso hook opencode tool.execute.before

The client must wait longer than --hold: set the timeout of its hook a minute above it.")]
pub(crate) struct Args {
    /// The client: claude-code, codex, gemini or opencode.
    #[arg(value_name = "CLIENT")]
    client: Client,
    /// What happens, in the client's own word.
    #[arg(value_name = "EVENT")]
    event: String,
    /// How long a call is held for a person.
    #[arg(long, value_name = "TIME", default_value = "9m", value_parser = crate::when::duration)]
    hold: Duration,
    /// The file with the agent's token, for when the environment has none of an agent's.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    // A client that gets tired of waiting lets the call run.
    let patience = args.hold + GRACE;
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        block("sayso did not come to an answer in time, so nothing is allowed");
    });
    // A panic would end with a code that lets the call run.
    std::panic::set_hook(Box::new(|panic| block(&format!("sayso failed: {panic}"))));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answer(&args, context)));
    match outcome {
        Ok(Ok(said)) => {
            if !said.text.is_empty() && writeln!(std::io::stdout(), "{}", said.text).is_err() {
                block("sayso could not answer");
            }
            said.is_heard();
            Ok(Exit::Ok)
        }
        Ok(Err(failure)) => {
            let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            block(&format!("sayso blocked this: {}{hint}", harmless_line(&failure.message)))
        }
        Err(_) => block("sayso failed, so nothing is allowed"),
    }
}

/// Says no in the one way every client understands.
fn block(why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{why}");
    std::process::exit(BLOCK)
}

/// What the client is told; nothing lets it go on as it would.
#[derive(Default)]
struct Said {
    text: String,
    /// The messages in it, and where they are noted as read.
    messages: Option<(Desk, Actor, Vec<MessageId>)>,
}

impl Said {
    /// Messages count as read when they were said. Who dies in between says them again.
    fn is_heard(&self) {
        let Some((desk, actor, messages)) = &self.messages else { return };
        for message in messages {
            let _ = desk.read_message(actor, &message.to_string());
        }
    }
}

fn answer(args: &Args, context: &Context<'_>) -> Result<Said> {
    let incoming = hear(args)?;
    if let Some(file) = std::env::var_os(PROBE).filter(|file| !file.is_empty()) {
        return Ok(probed(args, context, &incoming, Path::new(&file)));
    }
    let (desk, actor) = sit_down(args, context)?;
    match incoming.verb {
        Verb::Call(call) => {
            let ruling = rule(&desk, &actor, &call, args.hold)?;
            Ok(Said { text: args.client.says(&args.event, &ruling), messages: None })
        }
        Verb::Prompt => carry(desk, actor, |text| args.client.adds(&args.event, text)),
        Verb::Stop { again: false } => carry(desk, actor, |text| args.client.goes_on(text)),
        Verb::Stop { again: true } | Verb::Other => Ok(Said::default()),
    }
}

/// What the client says, and nothing else.
fn hear(args: &Args) -> Result<Incoming> {
    let mut bytes = vec![];
    std::io::stdin().lock().take(EVENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > EVENT_BYTES_MAX {
        let message = format!("the event has more than {EVENT_BYTES_MAX} bytes");
        return Err(Failure::new(Code::TooLarge, message));
    }
    Incoming::read(args.client, &args.event, &bytes)
}

/// Notes that the hook was run and whether it could have ruled. A call is denied, whatever it is.
fn probed(args: &Args, context: &Context<'_>, incoming: &Incoming, file: &Path) -> Said {
    let problem = sit_down(args, context).err().map(|failure| failure.message);
    let note = json!({"event": args.event, "problem": problem});
    let file = std::fs::File::options().append(true).create(true).open(file);
    // Without a note the check says that no hook was run.
    let _ = file.and_then(|mut file| writeln!(file, "{note}"));
    let text = match &incoming.verb {
        Verb::Call(_) => {
            let denied = CallRuling::Denied { reason: PROBE_SAYS.into() };
            args.client.says(&args.event, &denied)
        }
        Verb::Prompt | Verb::Stop { .. } | Verb::Other => String::new(),
    };
    Said { text, messages: None }
}

/// The desk, and the agent whose hook this is. A worker gives its agents their own token, which counts
/// before the one that the client's settings name for all of them; that of a person does not count.
fn sit_down(args: &Args, context: &Context<'_>) -> Result<(Desk, Actor)> {
    let desk = context.desk()?;
    // Whose token is at hand is quicker to tell than who is at the keyboard.
    let own = if who::has_token() { Some(who::actor(&desk)?) } else { None };
    let is_agent = |actor: &Actor| (actor.role, actor.proof) == (Role::Agent, Proof::Token);
    let is_known = own.as_ref().is_some_and(is_agent);
    let actor = match (args.token_file.as_deref().filter(|_| !is_known), own) {
        (Some(file), _) => desk.authenticate(&secret(file)?, Door::Cli)?,
        (None, Some(own)) => own,
        (None, None) => who::actor(&desk)?,
    };
    check_is_agent(&actor)?;
    Ok((desk, actor))
}

fn secret(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| {
        let message = format!("the token file {} cannot be read: {e}", file.display());
        Failure::new(Code::BadToken, message).hint("make it anew with: sayso connect")
    })
}

fn check_is_agent(actor: &Actor) -> Result<()> {
    if actor.role == Role::Agent {
        return Ok(());
    }
    let message = "a hook needs the token of its agent, so that the agent's own policy holds";
    let hint = "name it in SAYSO_TOKEN_FILE, in the environment of the client";
    Err(Failure::new(Code::BadToken, message).hint(hint))
}

/// The ruling on a call; where a person is asked, their answer, if it comes in time.
fn rule(
    desk: &Desk,
    actor: &Actor,
    call: &sayso_engine::ToolCall,
    hold: Duration,
) -> Result<CallRuling> {
    let began = Instant::now();
    loop {
        let ruling = desk.rule_on_call(actor, call.clone())?;
        let CallRuling::Held(gate) = &ruling else { return Ok(ruling) };
        let left = hold.saturating_sub(began.elapsed());
        match desk.wait(gate.opened.id, Some(left))? {
            Waited::Ended(_) => {}
            Waited::TimedOut(_) => return Ok(ruling),
        }
    }
}

/// Carries in what people and the system wrote to this agent and it has not read, in the client's words.
fn carry(desk: Desk, actor: Actor, in_words: impl Fn(&str) -> String) -> Result<Said> {
    let messages = desk.messages(&actor, Some(&actor.name), true, MESSAGES_MAX)?.items;
    let (mut lines, mut ids) = (vec![], vec![]);
    for message in messages {
        ids.push(message.id);
        let from = harmless_line(&message.from);
        lines.push(format!(
            "Message from {from} ({}): {}",
            message.from_role.as_str(),
            message.text
        ));
    }
    let text = in_words(&lines.join("\n"));
    // A client that takes no words has heard none.
    let messages = (!text.is_empty()).then_some((desk, actor, ids));
    Ok(Said { text, messages })
}
