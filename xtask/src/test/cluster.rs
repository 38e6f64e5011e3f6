//! A PostgreSQL server for the tests alone: private, on a free port, and removed with them.
//!
//! A keeper process starts it, and stops it when its stdin ends. That happens when the guard is dropped, but also
//! when we are killed, which no guard survives.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::tools::is_root;
use crate::scratch::ScratchFolder;
use crate::shell::output;
use crate::stop::{VerbError, VerbResult};

/// The verb of the keeper.
pub(crate) const KEEP: &str = "__keep-postgres";

/// PostgreSQL refuses to run as root; its packages create this user.
const SERVANT: &str = "postgres";
/// Between choosing a free port and binding it, another process may have taken it.
const STARTS_MAX: usize = 5;

/// A running cluster, stopped and removed on drop.
pub(crate) struct PostgresCluster {
    url: String,
    keeper: Child,
}

impl PostgresCluster {
    /// Starts a cluster with the programs of a folder; `xtask` is our own executable.
    pub(crate) fn start(xtask: &Path, programs: &Path) -> VerbResult<PostgresCluster> {
        let mut command = Command::new(xtask);
        command.arg(KEEP).arg(programs).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Its own group: a Ctrl+C ends us, and the keeper then has its work to do.
        let mut keeper = command.process_group(0).spawn()?;
        let mut url = String::new();
        if let Some(stdout) = keeper.stdout.take() {
            BufReader::new(stdout).read_line(&mut url)?;
        }
        let cluster = PostgresCluster { url: url.trim().into(), keeper };
        if cluster.url.is_empty() {
            return Err("PostgreSQL for the tests did not start".into());
        }
        eprintln!("test: PostgreSQL at {}", cluster.url);
        Ok(cluster)
    }

    /// Returns its connection URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        // The end of its stdin is the keeper's signal to stop.
        drop(self.keeper.stdin.take());
        if !self.keeper.wait().is_ok_and(|status| status.success()) {
            eprintln!("test: PostgreSQL at {} may not have been stopped", self.url);
        }
    }
}

/// The keeper: starts the cluster, prints its URL, and stops it when its stdin ends.
pub(crate) fn keep(words: &[String]) -> VerbResult {
    let [programs] = words else { return Err(VerbError::usage("this verb is not for people")) };
    let server = PostgresServer::start(Path::new(programs))?;
    // If our parent has ended, the stdin has ended too, so this error may be ignored.
    let _ = writeln!(std::io::stdout(), "postgres://sayso@127.0.0.1:{}/postgres", server.port);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop()
}

/// The server itself. Its folder is removed on drop, after the server is stopped.
struct PostgresServer {
    programs: PathBuf,
    servant: Option<(u32, u32)>,
    port: u16,
    running: bool,
    folder: ScratchFolder,
}

impl PostgresServer {
    fn start(programs: &Path) -> VerbResult<PostgresServer> {
        let servant = if is_root() { Some(servant()?) } else { None };
        // The servant must be able to get there, and a root's own TMPDIR may be closed to others.
        let parent = if servant.is_some() { PathBuf::from("/tmp") } else { env::temp_dir() };
        let folder = ScratchFolder::below(&parent)?;
        if let Some((user, group)) = servant {
            chown(folder.path(), Some(user), Some(group))?;
        }
        let programs = programs.to_path_buf();
        let mut server = PostgresServer { programs, servant, port: 0, running: false, folder };
        // Without sync only while it is being made; the server itself runs with fsync.
        let form =
            ["--auth=trust", "--username=sayso", "--encoding=UTF8", "--locale=C", "--no-sync"];
        output(server.program("initdb").args(form))?;
        server.launch()?;
        Ok(server)
    }

    fn launch(&mut self) -> VerbResult {
        let mut last = VerbError::from("PostgreSQL was not started");
        for _ in 0..STARTS_MAX {
            self.port = free_port()?;
            self.configure()?;
            // Its children keep the streams they inherit, so none of ours may be among them.
            let log = self.folder.path().join("log");
            let mut start = self.program("pg_ctl");
            start.args(["start", "--wait", "--timeout=60", "--silent", "--log"]).arg(&log);
            match start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()? {
                status if status.success() => {
                    self.running = true;
                    return Ok(());
                }
                status => {
                    let said = fs::read_to_string(&log).unwrap_or_default();
                    last = format!("PostgreSQL did not start: {status}\n{said}").into();
                }
            }
        }
        Err(last)
    }

    /// Adds our settings; of two lines for one setting the later counts.
    fn configure(&self) -> VerbResult {
        let file = self.folder.path().join("data/postgresql.conf");
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\n\
             max_connections = 300\nfsync = on\n",
            self.port,
            self.folder.path().display()
        );
        let mut file = OpenOptions::new().append(true).open(file)?;
        Ok(file.write_all(settings.as_bytes())?)
    }

    /// Stops it immediately: this cluster will not be read again.
    fn stop(mut self) -> VerbResult {
        self.running = false;
        self.halt()
    }

    fn halt(&self) -> VerbResult {
        output(self.program("pg_ctl").args(["stop", "--wait", "--mode=immediate"])).map(drop)
    }

    /// Returns a command of the server's, for our folder and as the user it may run as.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.arg("--pgdata").arg(self.folder.path().join("data"));
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.servant {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if self.running {
            let _ = self.halt();
        }
    }
}

fn servant() -> VerbResult<(u32, u32)> {
    let id = |flag: &str| -> VerbResult<u32> {
        let text = output(Command::new("id").args([flag, SERVANT]))?;
        text.trim().parse().map_err(|_| format!("`id {flag} {SERVANT}` said {text}").into())
    };
    Ok((id("-u")?, id("-g")?))
}

fn free_port() -> VerbResult<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
