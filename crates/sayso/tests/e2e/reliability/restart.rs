//! A PostgreSQL of the test's own, stopped and started under load (R20).

use super::lost::{Over, insist};
use super::{Chance, desk, entries, gate_id};
use crate::harness::{Backend, Space, Who};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const RESTARTS: u32 = 5;

/// Every other stop is a crash: the server ends at once and recovers from its log when it starts.
#[test]
fn a_server_restarted_under_load_loses_and_doubles_nothing() {
    let server = Server::start();
    let mut space = Space::empty();
    let url = format!("postgres://sayso@127.0.0.1:{}/postgres", server.port);
    space.run(Who::Script, &["init", "--store", &url]).ok();
    (space.backend, space.store) = (Backend::Postgres, Some(url));
    space.mint("human", "ann");
    space.mint("agent", "coder");
    let before = entries(&space);
    let (is_over, unreachable) = (AtomicBool::new(false), AtomicU64::default());
    let done = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for salt in 0..3 {
            let (space, is_over, unreachable, done) = (&space, &is_over, &unreachable, &done);
            scope.spawn(move || {
                let mut chance = Chance::new(90 + salt);
                while !is_over.load(Relaxed) {
                    let id = gate_id(&mut chance).to_string();
                    insist(space, Who::Agent("coder"), &["ask", &id, "--id", &id], unreachable);
                    insist(space, Who::Human("ann"), &["respond", &id, "yes"], unreachable);
                    done.lock().unwrap().push(id);
                }
            });
        }
        let over = Over(&is_over);
        let mut chance = Chance::new(95);
        for restart in 0..RESTARTS {
            await_more(&done);
            std::thread::sleep(Duration::from_millis(chance.below(300)));
            server.stop(if restart % 2 == 0 { "immediate" } else { "fast" });
            std::thread::sleep(Duration::from_millis(chance.below(300)));
            server.launch();
        }
        await_more(&done);
        drop(over);
    });
    let (done, unreachable) = (done.into_inner().unwrap(), unreachable.into_inner());
    println!("{RESTARTS} restarts, {unreachable} commands told so, {} gates answered", done.len());
    let desk = desk(&space);
    for id in &done {
        let gate = desk.gate(id.parse().unwrap()).unwrap();
        assert_eq!(gate.card.question, *id);
        assert_eq!(gate.answer().unwrap().0.as_text(), "yes");
    }
    assert!(done.len() >= 30 && unreachable >= 5, "{} {unreachable}", done.len());
    assert_eq!(entries(&space), before + done.len() as u64 * 2, "each once");
    space.verify();
}

/// Waits until some more gates were asked and answered: a restart of an idle server shows nothing.
fn await_more(done: &Mutex<Vec<String>>) {
    let count = || done.lock().unwrap().len();
    let (before, began) = (count(), Instant::now());
    while count() < before + 5 {
        assert!(began.elapsed() < Duration::from_secs(120), "nothing goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A private cluster, stopped and removed on drop.
struct Server {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    /// PostgreSQL refuses to run as root; its packages bring this user.
    servant: Option<(u32, u32)>,
}

impl Server {
    fn start() -> Self {
        // The servant must be able to get there, and a root's own TMPDIR may be closed to others.
        let folder = tempfile::Builder::new().prefix("sayso-pg-").tempdir_in("/tmp").unwrap();
        let id = |args: &[&str]| -> u32 {
            let output = Command::new("id").args(args).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
        };
        let servant =
            (id(&["-u"]) == 0).then(|| (id(&["-u", "postgres"]), id(&["-g", "postgres"])));
        if let Some((user, group)) = servant {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { programs: programs(), folder, port, servant };
        server.run("initdb", &["--auth=trust", "--username=sayso", "--no-sync"]);
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\n",
            server.folder.path().display()
        );
        let file = server.folder.path().join("data/postgresql.conf");
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        file.write_all(settings.as_bytes()).unwrap();
        server.launch();
        server
    }

    fn launch(&self) {
        let log = self.folder.path().join("log");
        self.run("pg_ctl", &["start", "--wait", "--silent", "--log", log.to_str().unwrap()]);
    }

    fn stop(&self, mode: &str) {
        self.run("pg_ctl", &["stop", "--wait", "--silent", "--mode", mode]);
    }

    fn run(&self, program: &str, args: &[&str]) {
        assert!(self.command(program, args).status().unwrap().success(), "{program} {args:?}");
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(args).arg("--pgdata").arg(self.folder.path().join("data"));
        // Its children keep what they inherit, so nothing of ours may be among it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.servant {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.command("pg_ctl", &["stop", "--wait", "--mode", "immediate"]).status();
    }
}

/// Where the programs of the server are: Debian keeps them beside its library, by version.
pub(super) fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_all = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "pg_dump", "psql"].iter().all(|p| folder.join(p).exists())
    };
    let found = debian.chain(std::env::split_paths(&path)).find(has_all);
    found.unwrap_or_else(|| Path::new("/usr/bin").to_owned())
}
