//! `sayso serve`: the server of a team.

use crate::config::{self, Home};
use crate::context::Context;
use crate::courier;
use crate::exit::{Failure, Result};
use crate::reach::{self, How};
use sayso_core::{Code, Exit, Level};
use sayso_server::http::{self, Setup, Telling};
use std::net::SocketAddr;

/// Serve this store to other machines.
///
/// People, workers and agents anywhere reach it with `--store https://…` and a credential of their own; none
/// of them needs the database. Any number of servers may share one PostgreSQL database. It ends cleanly on
/// SIGTERM; whoever waits then asks the next one.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso serve
  sayso serve --listen 127.0.0.1:7411 --host sayso.example
  sayso --store postgres://… --space shop serve

Beyond this machine it is reached through something that speaks TLS: see docs/guide/team.md.")]
pub(crate) struct Args {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// A name it may be called by, beside localhost; may be given several times.
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// How well the store is guarded: S2 says that it is under an account no agent can use. Every verdict
    /// is stamped with it.
    #[arg(long, value_name = "LEVEL", default_value = "S0", value_parser = level)]
    level: Level,
    /// Listen beyond this machine without TLS: something in front of it must do that.
    #[arg(long)]
    behind_proxy: bool,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let location = config::locate(&context.globals)?;
    if matches!(location.home, Home::Server(_)) {
        return Err(no_store());
    }
    if !args.listen.ip().is_loopback() && !args.behind_proxy {
        let message = format!("{} is reached by other machines, without TLS", args.listen);
        return Err(Failure::new(Code::BadValue, message).hint(
            "listen on 127.0.0.1 and put something with TLS in front; or say --behind-proxy if it is there",
        ));
    }
    allow_many_connections();
    let desk = reach::open(&location, How::Shared)?;
    let desk = desk.local().cloned().ok_or_else(no_store)?.with_level(args.level);
    let version = env!("CARGO_PKG_VERSION");
    let telling = Telling { channels: courier::channels(&location)?, pages: location.pages };
    let (first, space) = (desk.first_code()?, location.space);
    let setup = Setup { desk, address: args.listen, hosts: args.host, version, telling };
    let listening = http::listen(setup)?;
    let url = listening.url();
    if let Some(first) = first {
        context.out.remark(&format!(
            "nobody looks after space {space} yet. Whoever does types, within a day:\n  \
             sayso --store {url} --space {space} login --name YOU --code {}",
            first.code
        ));
    }
    context.out.line(&url);
    listening.serve()?;
    Ok(Exit::Ok)
}

/// Whoever waits is a connection, which is an open file; as many as the system lets us have are fine. What it
/// gives a process that does not ask is often a thousand.
fn allow_many_connections() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer it serves fewer.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn no_store() -> Failure {
    Failure::new(Code::BadConfig, "a server serves a store, not another server")
        .hint("name the store with --store, such as postgres://…")
}

/// The levels a server can claim: what a presence key or other devices add is not the server's to say.
fn level(typed: &str) -> std::result::Result<Level, String> {
    match typed {
        "S0" => Ok(Level::S0),
        "S2" => Ok(Level::S2),
        _ => Err("take S0 or S2; docs/guide/team.md says when".into()),
    }
}
