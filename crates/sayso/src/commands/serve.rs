//! `sayso serve`: starts a server for a team.

use super::logs;
use crate::config::{self, Home, Location};
use crate::context::Context;
use crate::courier;
use crate::exit::{Failure, Result};
use crate::log::{self, Form};
use crate::reach::{self, How};
use crate::telemetry;
use crate::{who, work};
use sayso_core::{Code, Exit, Level};
use sayso_engine::{Desk, Invited, LocalDesk};
use sayso_server::http::{self, Machine, Setup, Telling, TlsFiles};
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
pub(crate) struct Args {
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// A name it may be called by, beside localhost; may be given several times.
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// The assurance level of the store: S2 says that it is under an account no agent can use. Every verdict is
    /// stamped with it.
    #[arg(long, value_name = "LEVEL", default_value = "S0", value_parser = level)]
    level: Level,
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
    #[arg(long, value_name = "N", env = "SAYSO_ASKS_PER_MINUTE", default_value_t = reach::ASKS_PER_MINUTE)]
    asks_per_minute: u32,
    /// The number of writes, of any kind, one agent may make in a minute; 0 sets no limit. A text counts as one write
    /// more for each 8 KiB. People are never refused for that.
    #[arg(long, value_name = "N", env = "SAYSO_WRITES_PER_MINUTE", default_value_t = reach::WRITES_PER_MINUTE)]
    writes_per_minute: u32,
    /// Write a log to standard error, one line for each request; without it only what goes wrong.
    #[arg(long, value_name = "FORM", value_enum)]
    log: Option<Form>,
    /// The detail of the log: off, error, warn, info or debug.
    #[arg(long, value_name = "LEVEL", env = "SAYSO_LOG")]
    log_level: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let location = config::locate(&context.globals)?;
    if matches!(location.home, Home::Server(_)) {
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
    let desk = reach::open(&location, How::Shared)?;
    let limit = |per_minute| Some(per_minute).filter(|most| *most > 0);
    let (asks, writes) = (limit(args.asks_per_minute), limit(args.writes_per_minute));
    let desk = desk.local().cloned().ok_or_else(no_store)?;
    if args.level > Level::S0 {
        // It is stamped on every verdict, so only a person may set it.
        who::check_no_agent(&Desk::from(desk.clone()), "say how well a store is guarded")?;
    }
    let desk = desk.with_level(args.level).with_pace(asks, writes);
    let version = env!("CARGO_PKG_VERSION");
    courier::remark_untrusted(context, &location);
    let telling =
        Telling { channels: courier::channels(&location)?, pages: location.pages.clone() };
    let (first, space) = (first(&desk)?, location.space.clone());
    let machine = machine(context, location);
    let hosts = args.host;
    let entry = entry(&desk, args.listen);
    let setup = Setup {
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
    if let Some(Invited { code, .. }) = entry {
        // Passkeys need a host name, and this is the one of loopback.
        let url = url.replace("//127.0.0.1:", "//localhost:");
        context.out.remark(&format!(
            "open this in your browser within ten minutes; it lets you in, once:\n  \
             {url}/login#space={space}&code={code}"
        ));
    }
    context.out.line(&url);
    listening.serve()?;
    Ok(Exit::Ok)
}

/// The way in which the space gets its first admin.
enum First {
    /// There is an admin already.
    Settled,
    /// By the invitation code that is shown to the person who starts the server.
    Code(Invited),
    /// By a code that a person creates at a terminal, since there is none here, or an agent was detected.
    Elsewhere(Option<Failure>),
}

/// Creates the invitation code of the first admin, for a person at a terminal alone: it gives its reader the right to
/// answer. Output without a terminal ends in logs that others read.
fn first(desk: &LocalDesk) -> Result<First> {
    if desk.has_admin()? {
        return Ok(First::Settled);
    }
    let at = Desk::from(desk.clone());
    if let Err(agent) = who::check_no_agent(&at, "have the code of the first admin") {
        return Ok(First::Elsewhere(Some(agent)));
    }
    if !who::has_terminal() || !std::io::stderr().is_terminal() {
        return Ok(First::Elsewhere(None));
    }
    let (person, is_locked) = who::person_at_hand(&at)?;
    let code = if is_locked { None } else { desk.first_code(&person)? };
    Ok(code.map_or(First::Elsewhere(None), First::Code))
}

impl First {
    /// The message for the person who starts the server.
    fn said(self, space: &str, url: &str) -> Option<String> {
        let nobody = format!("nobody looks after space {space} yet.");
        let how = "A person gets a code at a terminal of their own here, with the same --store if you \
                   gave one:\n  sayso people invite YOU --admin";
        match self {
            First::Settled => None,
            First::Code(Invited { code, .. }) => Some(format!(
                "{nobody} Whoever does types, within a day:\n  \
                 sayso --store {url} --space {space} login --name YOU --code {code}"
            )),
            First::Elsewhere(None) => Some(format!("{nobody} {how}")),
            First::Elsewhere(Some(agent)) => Some(format!("{}; {nobody} {how}", agent.message)),
        }
    }
}

/// Creates a browser login code for a person who starts the server on loopback at their terminal. Like the first
/// admin's code it is shown only at a terminal: output to a file is read by others.
fn entry(desk: &LocalDesk, address: SocketAddr) -> Option<Invited> {
    let is_shown = who::has_terminal() && std::io::stderr().is_terminal();
    let is_person = is_shown && matches!(who::sign_here(), Ok(None)) && address.ip().is_loopback();
    let person = is_person.then(|| who::seen_person(&Desk::from(desk.clone())).ok())??;
    desk.give_entry(&person).ok()
}

/// The view of the agents on this machine. Without a folder of logs there is no output to show.
fn machine(context: &Context<'_>, location: Location) -> Machine {
    let keeper = work::keeper(context, &location).ok();
    let folder = work::home(context, &location).ok().map(|home| home.join("logs"));
    Machine {
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
fn level(typed: &str) -> std::result::Result<Level, String> {
    match typed {
        "S0" => Ok(Level::S0),
        "S2" => Ok(Level::S2),
        _ => Err("take S0 or S2; docs/guide/team.md says when".into()),
    }
}
