//! `sayso serve`: starts a server for a team.

use super::logs;
use crate::config::{self, SpaceHome, SpaceLocation};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::log::{self, LogFormat};
use crate::notice_sending;
use crate::open_desk::{self, DeskPurpose};
use crate::telemetry;
use crate::{identity, work};
use sayso_core::{AssuranceLevel, Code, CommandExit};
use sayso_engine::{Desk, InviteCode, LocalDesk};
use sayso_server::http::{self, AgentInspector, NotificationSetup, ServerSetup, TlsFiles};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Serve this store to other machines.
///
/// People, workers and agents anywhere reach it with `--store https://…` and a credential of their own; none
/// of them needs the database. Any number of servers may share one PostgreSQL database. It ends cleanly on
/// SIGTERM; waiting clients then ask the next one.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso serve
  sayso serve --listen 127.0.0.1:7411 --host sayso.example
  sayso serve --listen 0.0.0.0:443 --host sayso.example --tls-cert cert.pem --tls-key key.pem
  sayso --store postgres://… --space shop serve

Beyond this machine it is reached with TLS, its own or that of something in front: see docs/guide/team.md.")]
pub(crate) struct ServeArgs {
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// A name it may be called by, beside localhost; may be given several times.
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// The assurance level of the store: S2 says that it is under an account no agent can use. Every verdict is
    /// stamped with it.
    #[arg(long, value_name = "LEVEL", default_value = "S0", value_parser = level)]
    level: AssuranceLevel,
    /// Speak TLS: the certificate it shows with those above it, in PEM. One that was renewed counts within a
    /// minute.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM, which only its owner may read.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen beyond this machine without TLS: something in front of it must do that.
    #[arg(long)]
    behind_proxy: bool,
    /// The number of questions one agent may ask in a minute; 0 sets no limit. An agent that asks faster is refused,
    /// and the inbox says so. Answers are never refused for that.
    #[arg(long, value_name = "N", env = "SAYSO_ASKS_PER_MINUTE", default_value_t = open_desk::ASKS_PER_MINUTE)]
    asks_per_minute: u32,
    /// The number of writes, of any kind, one agent may make in a minute; 0 sets no limit. A text counts as one write
    /// more for each 8 KiB. People are never refused for that.
    #[arg(long, value_name = "N", env = "SAYSO_WRITES_PER_MINUTE", default_value_t = open_desk::WRITES_PER_MINUTE)]
    writes_per_minute: u32,
    /// Write a log to standard error, one line for each request; without it only what goes wrong.
    #[arg(long, value_name = "FORM", value_enum)]
    log: Option<LogFormat>,
    /// The detail of the log: off, error, warn, info or debug.
    #[arg(long, value_name = "LEVEL", env = "SAYSO_LOG")]
    log_level: Option<String>,
}

pub(crate) fn run(args: ServeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let location = config::locate(&context.globals)?;
    if matches!(location.home, SpaceHome::Server(_)) {
        return Err(no_store());
    }
    let tls = args.tls_cert.zip(args.tls_key);
    let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key });
    if !args.listen.ip().is_loopback() && !args.behind_proxy && tls.is_none() {
        let message = format!("{} is reached by other machines, without TLS", args.listen);
        return Err(Failure::new(Code::BadValue, message).hint(
            "give it a certificate: --tls-cert and --tls-key; or listen on 127.0.0.1 and put something with TLS in front",
        ));
    }
    log::start(args.log, args.log_level.as_deref())?;
    let traces = telemetry::traces()?;
    let connections_max = allow_many_connections();
    let desk = open_desk::open(&location, DeskPurpose::Shared)?;
    let limit = |per_minute| Some(per_minute).filter(|most| *most > 0);
    let (asks, writes) = (limit(args.asks_per_minute), limit(args.writes_per_minute));
    let desk = desk.local().cloned().ok_or_else(no_store)?;
    if args.level > AssuranceLevel::S0 {
        // It is stamped on every verdict, so only a person may set it.
        identity::check_no_agent(&Desk::from(desk.clone()), "say how well a store is guarded")?;
    }
    let desk = desk.with_level(args.level).with_pace(asks, writes);
    let version = env!("CARGO_PKG_VERSION");
    notice_sending::remark_untrusted(context, &location);
    let telling = NotificationSetup {
        channels: notice_sending::channels(&location)?,
        pages: location.pages.clone(),
    };
    let (first, space) = (first(&desk)?, location.space.clone());
    let machine = machine(context, location);
    let hosts = args.host;
    let entry = entry(&desk, args.listen);
    let setup = ServerSetup {
        desk,
        address: args.listen,
        hosts,
        tls,
        version,
        telling,
        traces,
        machine,
        connections_max,
    };
    let listening = http::listen(setup)?;
    let url = listening.url();
    if let Some(said) = first.said(&space, &url) {
        context.out.remark(&said);
    }
    if let Some(InviteCode { code, .. }) = entry {
        // Passkeys need a host name, and this is the one of loopback.
        let url = url.replace("//127.0.0.1:", "//localhost:");
        context.out.remark(&format!(
            "open this in your browser within ten minutes; it lets you in, once:\n  \
             {url}/login#space={space}&code={code}"
        ));
    }
    context.out.line(&url);
    listening.serve()?;
    Ok(CommandExit::Ok)
}

/// The way in which the space gets its first admin.
enum FirstAdmin {
    /// There is an admin already.
    Settled,
    /// By the invitation code that is shown to the person who starts the server.
    Code(InviteCode),
    /// By a code that a person creates at a terminal, since there is none here, or an agent was detected.
    Elsewhere(Option<Failure>),
}

/// Creates the invitation code of the first admin, for a person at a terminal alone: it gives its reader the right to
/// answer. Output without a terminal ends in logs that others read.
fn first(desk: &LocalDesk) -> Result<FirstAdmin> {
    if desk.has_admin()? {
        return Ok(FirstAdmin::Settled);
    }
    let at = Desk::from(desk.clone());
    if let Err(agent) = identity::check_no_agent(&at, "have the code of the first admin") {
        return Ok(FirstAdmin::Elsewhere(Some(agent)));
    }
    if !identity::has_terminal() || !std::io::stderr().is_terminal() {
        return Ok(FirstAdmin::Elsewhere(None));
    }
    let (person, is_locked) = identity::person_at_hand(&at)?;
    let code = if is_locked { None } else { desk.first_code(&person)? };
    Ok(code.map_or(FirstAdmin::Elsewhere(None), FirstAdmin::Code))
}

impl FirstAdmin {
    /// The message for the person who starts the server.
    fn said(self, space: &str, url: &str) -> Option<String> {
        let nobody = format!("nobody looks after space {space} yet.");
        let how = "A person gets a code at a terminal of their own here, with the same --store if you \
                   gave one:\n  sayso people invite YOU --admin";
        match self {
            FirstAdmin::Settled => None,
            FirstAdmin::Code(InviteCode { code, .. }) => Some(format!(
                "{nobody} Whoever does types, within a day:\n  \
                 sayso --store {url} --space {space} login --name YOU --code {code}"
            )),
            FirstAdmin::Elsewhere(None) => Some(format!("{nobody} {how}")),
            FirstAdmin::Elsewhere(Some(agent)) => {
                Some(format!("{}; {nobody} {how}", agent.message))
            }
        }
    }
}

/// Creates a browser login code for a person who starts the server on loopback at their terminal. Like the first
/// admin's code it is shown only at a terminal: output to a file is read by others.
fn entry(desk: &LocalDesk, address: SocketAddr) -> Option<InviteCode> {
    let is_shown = identity::has_terminal() && std::io::stderr().is_terminal();
    let is_person =
        is_shown && matches!(identity::agent_evidence(), Ok(None)) && address.ip().is_loopback();
    let person =
        is_person.then(|| identity::undoubted_person(&Desk::from(desk.clone())).ok())??;
    desk.give_entry(&person).ok()
}

/// The view of the agents on this machine. Without a folder of logs there is no output to show.
fn machine(context: &CliContext<'_>, location: SpaceLocation) -> AgentInspector {
    let keeper = work::supervisor(context, &location).ok();
    let folder = work::home(context, &location).ok().map(|home| home.join("logs"));
    AgentInspector {
        output: Arc::new(move |run| match &folder {
            Some(folder) => logs::tail(&location, folder, run),
            None => vec![],
        }),
        is_alive: Arc::new(move |agent| keeper.as_ref()?.is_alive(agent)),
    }
}

/// The number of files the store may have open: its connections, those that listen, and files being read.
const STORE_FILES: usize = 128;

/// Raises the limit of open files to the maximum: each waiting client is a connection, and each connection is an open
/// file. The default of a process is often a thousand. Returns the number of connections that leaves; the store and
/// its files need some, too.
fn allow_many_connections() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // On a failure it serves fewer.
    let _ = setrlimit(Resource::Nofile, limit);
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files - STORE_FILES.min(files / 2)
}

fn no_store() -> Failure {
    Failure::new(Code::BadConfig, "a server serves a store, not another server")
        .hint("name the store with --store, such as postgres://…")
}

/// The levels a server can claim: S3 and S4 depend on presence keys and other devices, for which it cannot vouch.
fn level(typed: &str) -> std::result::Result<AssuranceLevel, String> {
    match typed {
        "S0" => Ok(AssuranceLevel::S0),
        "S2" => Ok(AssuranceLevel::S2),
        _ => Err("take S0 or S2; docs/guide/team.md says when".into()),
    }
}
