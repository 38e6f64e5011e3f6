//! A space of its own for each test, and people, scripts and agents who act in it.
//!
//! Nothing is mocked: every call is a process of the real binary, people sit at a real terminal
//! or hold a token that was made at one, and these terminals, and a real PostgreSQL, are started by
//! `cargo xtask test`. What is served is behind a real `sayso serve` in a process of its own.

use sayso_core::{Actor, AssuranceLevel, EntryPoint, IdentityProof, Role};
use sayso_engine::{IssuedToken, LocalDesk, NewToken, RuntimeEnv, StoreLocation};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The program under test.
pub const SAYSO: &str = env!("CARGO_BIN_EXE_sayso");

/// Where a space is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
    /// On SQLite, behind a server.
    Served,
}

/// Who runs a command.
#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    /// A script: no terminal, no token.
    Script,
    /// A person with a token, such as `ann` or `bob`.
    Human(&'a str),
    /// An agent with a token.
    Agent(&'a str),
    /// The user at a terminal.
    Terminal,
    /// The holder of the token in this file.
    Holder(&'a Path),
    /// A process with these variables and no token.
    With(&'a [(&'a str, &'a str)]),
}

/// What a command left behind.
#[derive(Debug, Clone)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// What an ended process left behind.
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"),
            stderr: String::from_utf8_lossy(&output.stderr).replace("\r\n", "\n"),
        }
    }

    /// Everything that was printed.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Asserts that this was printed, on either stream.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.said().contains(text), "nothing of {text:?} in: {}", self.said());
        self
    }

    /// Asserts that this was not printed, on either stream.
    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(!self.said().contains(text), "{text:?} is in: {}", self.said());
        self
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that the exit code is another one.
    #[track_caller]
    pub fn exits_not(self, code: i32) -> Self {
        assert_ne!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts success and returns what was printed, trimmed.
    #[track_caller]
    pub fn ok(self) -> String {
        self.exits(0).stdout.trim().to_owned()
    }

    /// Asserts success and returns what was printed as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// Asserts that it was refused with this error code.
    #[track_caller]
    pub fn refused(self, say: &str) -> Self {
        assert_ne!(self.code, 0, "it went through: {}", self.stdout);
        let said = format!("{}{}", self.stdout, self.stderr);
        assert!(said.contains(say), "not {say}: {said}");
        self
    }
}

/// A space of its own, gone with the test.
pub struct Space {
    pub dir: TempDir,
    pub backend: Backend,
    pub store: Option<String>,
    database: Option<String>,
    server: Option<Mutex<Server>>,
}

/// A server of a test's own.
pub struct Server {
    child: Child,
    pub url: String,
    /// What it says on the side.
    log: PathBuf,
    _folder: TempDir,
}

impl Server {
    /// Serves what is in a folder.
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        Self::at(folder, "127.0.0.1:0", more)
    }

    /// The same at a given address.
    pub fn at(folder: &Path, listen: &str, more: &[&str]) -> Self {
        let kept = TempDir::new().unwrap();
        let log = kept.path().join("log");
        // Whoever serves a database trusts the settings that name it.
        let _ = Command::new(SAYSO)
            .arg("trust")
            .current_dir(folder)
            .env("XDG_STATE_HOME", kept.path())
            .stdin(Stdio::null())
            .output();
        let mut child = Command::new(SAYSO)
            .args(["serve", "--listen", listen])
            .args(more)
            .current_dir(folder)
            .env_remove("SAYSO_TOKEN")
            .env("XDG_STATE_HOME", kept.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut url).unwrap();
        let is_url = url.starts_with("http://127.0.0.1:") || url.starts_with("https://");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(is_url, "the server said {url:?}: {}", said());
        Self { child, url: url.trim().to_owned(), log, _folder: kept }
    }

    /// Dies where it stands; `meanwhile` happens, and another comes in its place.
    pub fn replace(&mut self, folder: &Path, meanwhile: impl FnOnce()) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        meanwhile();
        let address = self.url.strip_prefix("http://").unwrap().to_owned();
        *self = Self::at(folder, &address, &[]);
    }

    /// Everything it said on the side.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Space {
    /// A new space, with tokens for the people `ann` and `bob` and the agents `coder` and `tester`.
    pub fn new(backend: Backend) -> Self {
        let space = Self::bare(backend);
        let mut all = vec![("agent", "coder"), ("agent", "tester")];
        match backend {
            // Who has let themselves in makes their own credentials.
            Backend::Served => PEOPLE.iter().for_each(|name| space.mint("human", name)),
            Backend::Sqlite | Backend::Postgres => all.extend(PEOPLE.map(|name| ("human", name))),
        }
        let line = |(role, name): (&str, &str)| {
            let file = space.token(name);
            let file = quote(file.to_str().unwrap());
            format!("{} token create --role {role} --name {name} --out {file}", quote(SAYSO))
        };
        let lines: Vec<_> = all.into_iter().map(line).collect();
        // At one terminal, as a person would.
        space.finish(&mut space.line(&lines.join(" && "))).ok();
        space
    }

    /// A folder in which no space was made yet.
    pub fn empty() -> Self {
        let dir = tempfile::Builder::new().prefix("sayso-e2e-").tempdir().unwrap();
        Self { dir, backend: Backend::Sqlite, store: None, database: None, server: None }
    }

    /// A new space without any token.
    pub fn bare(backend: Backend) -> Self {
        let dir = tempfile::Builder::new().prefix("sayso-e2e-").tempdir().unwrap();
        let (store, database) = match backend {
            Backend::Sqlite => (None, None),
            Backend::Served => return Self::served(dir),
            Backend::Postgres => {
                let (url, name) = fresh_database();
                (Some(url), Some(name))
            }
        };
        let space = Self { dir, backend, store, database, server: None };
        let mut args = vec!["init"];
        if let Some(store) = &space.store {
            args.extend(["--store", store]);
        }
        space.run(Who::Script, &args).ok();
        space
    }

    /// A space behind a server, at which the user of this machine has logged in and shown their
    /// passphrase.
    fn served(dir: TempDir) -> Self {
        let store = dir.path().join("server");
        std::fs::create_dir(&store).unwrap();
        let mut space =
            Self { dir, backend: Backend::Served, store: None, database: None, server: None };
        // Called as a space of this folder would be.
        let name = space.path().file_name().unwrap().to_str().unwrap().to_owned();
        let init =
            space.command(Who::Script, &["init", "--name", &name]).current_dir(&store).output();
        Ran::of(&init.unwrap()).ok();
        let login = space.path().join("login.token");
        log_in(&store.join(".sayso/sayso.db"), &name, &login);
        let server = Server::start(&store, &[]);
        let init = ["init", "--name", &name, "--store", &server.url];
        space.run(Who::Script, &init).ok();
        space.server = Some(Mutex::new(server));
        space.run(Who::Script, &["login", "--token-file", login.to_str().unwrap()]).ok();
        space
    }

    /// The server dies where it stands, and after a while another comes in its place.
    pub fn replace_server(&self, meanwhile: impl FnOnce()) {
        let mut server = self.server.as_ref().unwrap().lock().unwrap();
        server.replace(&self.path().join("server"), meanwhile);
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The database file, on SQLite.
    pub fn file(&self) -> PathBuf {
        match self.backend {
            Backend::Served => self.path().join("server/.sayso/sayso.db"),
            Backend::Sqlite | Backend::Postgres => self.path().join(".sayso/sayso.db"),
        }
    }

    /// The file with somebody's token.
    pub fn token(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.token"))
    }

    /// Makes a token at a terminal, as a person would.
    pub fn mint(&self, role: &str, name: &str) {
        let file = self.token(name);
        if self.backend == Backend::Served && PEOPLE.contains(&name) && role == "human" {
            // Who has let themselves in makes their own credentials.
            let space = self.path().file_name().unwrap().to_str().unwrap();
            let desk =
                LocalDesk::open(StoreLocation::Sqlite(self.file()), space, RuntimeEnv::real())
                    .unwrap();
            std::fs::write(&file, own_token(&desk, name).secret).unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
            return;
        }
        let file = file.to_str().unwrap();
        self.run(
            Who::Terminal,
            &["token", "create", "--role", role, "--name", name, "--out", file],
        )
        .ok();
    }

    /// A code for whoever is to look after the space, made at a terminal of the store.
    pub fn first_code(&self, name: &str) -> String {
        let args = ["people", "invite", name, "--admin", "--json"];
        let code = self.run(Who::Terminal, &args).json();
        code["code"].as_str().unwrap().to_owned()
    }

    /// Trusts the settings as they are now, as the user of this machine.
    #[track_caller]
    pub fn trust(&self) {
        self.run(Who::Script, &["trust"]).ok();
    }

    /// Takes back somebody's token.
    pub fn revoke(&self, name: &str) {
        let tokens = self.run(Who::Terminal, &["token", "list", "--json"]).json();
        let mut all = tokens["items"].as_array().unwrap().iter();
        let handle = all.find(|token| token["name"] == name).unwrap()["handle"].clone();
        self.run(Who::Terminal, &["token", "revoke", handle.as_str().unwrap()]).ok();
    }

    /// Runs a command and waits for its end.
    #[track_caller]
    pub fn run(&self, who: Who<'_>, args: &[&str]) -> Ran {
        self.run_with_input(who, args, "")
    }

    /// The same, with something on standard input. At a terminal it is typed.
    #[track_caller]
    pub fn run_with_input(&self, who: Who<'_>, args: &[&str], input: &str) -> Ran {
        let mut child = self.start(who, args);
        // A command that ends without reading closes the pipe; that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::of(&child.wait_with_output().unwrap())
    }

    /// Runs a command that was made ready by [`Space::command`] and changed since.
    #[track_caller]
    pub fn finish(&self, command: &mut Command) -> Ran {
        let output = command.stdin(Stdio::null()).output().unwrap();
        Ran::of(&output)
    }

    /// Starts a command in the background, with all its streams piped.
    pub fn start(&self, who: Who<'_>, args: &[&str]) -> Child {
        self.command(who, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The command, ready to be started, with an environment in which no agent is seen.
    pub fn command(&self, who: Who<'_>, args: &[&str]) -> Command {
        let mut command = match who {
            Who::Terminal => {
                let line = [SAYSO].iter().chain(args).map(|a| quote(a)).collect::<Vec<_>>();
                self.line(&line.join(" "))
            }
            _ => {
                let mut command = Command::new(SAYSO);
                command.args(args);
                self.dress(command)
            }
        };
        match who {
            Who::Human(name) | Who::Agent(name) => {
                command.env("SAYSO_TOKEN_FILE", self.token(name));
            }
            Who::Holder(file) => {
                command.env("SAYSO_TOKEN_FILE", file);
            }
            Who::With(variables) => {
                command.envs(variables.iter().copied());
            }
            Who::Script | Who::Terminal => {}
        }
        command
    }

    /// A line of a shell at a terminal, ready to be started.
    pub fn line(&self, line: &str) -> Command {
        self.dress(at_terminal(line))
    }

    fn dress(&self, mut command: Command) -> Command {
        command.current_dir(self.path()).env_clear();
        for keep in ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(keep) {
                command.env(keep, value);
            }
        }
        // Tests ask more in a minute than any agent; that there is a limit has tests of its own.
        command.env("SAYSO_ASKS_PER_MINUTE", "0").env("SAYSO_WRITES_PER_MINUTE", "0");
        // Nobody's own settings.
        command.env("XDG_CONFIG_HOME", self.path().join("xdg"));
        command.env("XDG_STATE_HOME", self.path().join("xdg/state"));
        command.env("LANG", "C.UTF-8").env("NO_COLOR", "1").env("TERM", "xterm");
        command
    }

    /// Asks something as an agent and returns the gate's handle.
    pub fn ask(&self, agent: &str, args: &[&str]) -> String {
        let args: Vec<_> = ["ask"].iter().chain(args).copied().collect();
        self.run(Who::Agent(agent), &args).ok()
    }

    /// Makes a task as a script and returns its handle.
    pub fn create(&self, args: &[&str]) -> String {
        let args: Vec<_> = ["create"].iter().chain(args).copied().collect();
        self.run(Who::Script, &args).ok()
    }

    /// A gate or a task, as ann sees it.
    pub fn show(&self, id: &str) -> Value {
        self.run(Who::Human("ann"), &["show", id, "--json"]).json()
    }

    /// Runs a command as ann.
    #[track_caller]
    pub fn ann(&self, args: &[&str]) -> Ran {
        self.run(Who::Human("ann"), args)
    }

    /// Runs a command as the agent `coder`.
    #[track_caller]
    pub fn coder(&self, args: &[&str]) -> Ran {
        self.run(Who::Agent("coder"), args)
    }

    /// The handles of the gates a task waits for, oldest first.
    pub fn gates(&self, task: &str) -> Vec<String> {
        let detail = self.show(task);
        let gates = detail["gates"].as_array().unwrap();
        gates.iter().map(|gate| gate["handle"].as_str().unwrap().to_owned()).collect()
    }

    /// The handle of the one gate a task waits for.
    #[track_caller]
    pub fn gate(&self, task: &str) -> String {
        let gates = self.gates(task);
        assert_eq!(gates.len(), 1, "{gates:?}");
        gates[0].clone()
    }

    /// The entries of the audit, newest first.
    pub fn audit(&self) -> Vec<Value> {
        let list = self.ann(&["audit", "list", "--limit", "1000", "--json"]).json();
        list.as_array().unwrap().clone()
    }

    /// The state of a task: `open`, `awaiting_input`, `closed`, …
    pub fn state(&self, task: &str) -> String {
        self.show(task)["state"].as_str().unwrap().to_owned()
    }

    /// Asserts that the audit holds, and returns how many entries it has.
    #[track_caller]
    pub fn verify(&self) -> u64 {
        let report = self.run(Who::Human("ann"), &["audit", "verify", "--json"]).json();
        assert_eq!(report["holds"], true);
        report["entries"].as_u64().unwrap()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Some(name) = &self.database {
            drop_database(name);
        }
    }
}

/// Makes a credential for the user of this machine, with the passphrase shown. They look after the space, and
/// so do those who have tokens: a person with one may do here what they may without a server.
fn log_in(store: &Path, space: &str, to: &Path) {
    let place = StoreLocation::Sqlite(store.to_owned());
    let desk = LocalDesk::open(place, space, RuntimeEnv::real()).unwrap();
    let user =
        Actor::new(Role::Human, &user(), IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli);
    let minted = own_token(&desk, &user.name);
    for name in [user.name.as_str()].into_iter().chain(PEOPLE) {
        let code = desk.invite(&user, name, true).unwrap().code;
        desk.join(&code, name, PASSPHRASE, sayso_engine::LoginClient::Program).unwrap();
    }
    desk.unlock(&user, PASSPHRASE, &format!("token/{}", minted.token.id)).unwrap();
    std::fs::write(to, minted.secret).unwrap();
}

/// The people who are let in where there is a server.
const PEOPLE: [&str; 2] = ["ann", "bob"];

/// A token that a person makes for themselves, as at a terminal of theirs.
fn own_token(desk: &LocalDesk, name: &str) -> IssuedToken {
    let actor =
        Actor::new(Role::Human, name, IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli);
    let (role, name) = (Role::Human, name.to_owned());
    let new = NewToken { role, name, task: None, run: None, expires_at: None, scopes: None };
    desk.mint(&actor, new).unwrap()
}

/// The passphrase of the user of this machine, where there is a server.
pub const PASSPHRASE: &str = "correct horse battery";

/// What the system calls whoever runs the tests.
pub fn user() -> String {
    let name = Command::new("id").arg("-un").output().unwrap().stdout;
    String::from_utf8(name).unwrap().trim().to_owned()
}

/// A line of shell at a person's terminal, one that has been open for a while, in place of the process that
/// runs this. Each has a terminal of its own.
pub fn at_terminal(line: &str) -> Command {
    let folder = std::env::var_os("SAYSO_TEST_TERMINALS")
        .expect("SAYSO_TEST_TERMINALS names no terminals; run the tests with: cargo xtask test");
    let mut command = Command::new(Path::new(&folder).join("xtask"));
    command.arg("__at-terminal").arg(folder).arg(line);
    command
}

/// The server tests may use. There is no silent skip: without it the tests fail and say why.
pub fn server() -> String {
    std::env::var("SAYSO_TEST_PG")
        .expect("SAYSO_TEST_PG names no PostgreSQL server; run the tests with: cargo xtask test")
}

/// A database of its own; returns its URL and its name.
pub fn fresh_database() -> (String, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("sayso_e2e_{}_{count}", std::process::id());
    let server = server();
    let mut client = postgres::Client::connect(&server, postgres::NoTls).unwrap();
    client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    (format!("{base}/{name}"), name)
}

/// Removes it. A test that failed half-way may have left connections behind.
pub fn drop_database(name: &str) {
    let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    if let Ok(mut client) = postgres::Client::connect(&server(), postgres::NoTls) {
        let _ = client.batch_execute(&sql);
    }
}

/// Reads what a command prints until these words are there, and returns it; the rest can be read on.
#[track_caller]
pub fn shows(child: &mut Child, words: &str) -> String {
    let (mut said, out) = (vec![], child.stdout.as_mut().unwrap());
    while !String::from_utf8_lossy(&said).contains(words) {
        let mut some = [0; 1_024];
        let count = out.read(&mut some).unwrap();
        assert!(count > 0, "nothing of {words:?} in: {}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&some[..count]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Makes a test of each place a space can be.
macro_rules! in_places {
    ([$($test:ident: $backend:ident),*] $(#[$doc:meta])* fn $name:ident($space:ident: &Space) $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::harness::{Backend, Space};

            $(#[$doc])*
            fn run($space: &Space) $body

            $(#[test]
            fn $test() {
                run(&Space::new(Backend::$backend));
            })*
        }
    };
}
pub(crate) use in_places;

/// Makes three tests of one: on SQLite, on PostgreSQL, and behind a server.
macro_rules! everywhere {
    ($($test:tt)*) => {
        $crate::harness::in_places! {
            [sqlite: Sqlite, postgres: Postgres, served: Served] $($test)*
        }
    };
}
pub(crate) use everywhere;

/// Makes two tests of one: on SQLite and on PostgreSQL. For what is about the store itself, or about what a
/// terminal without a server is worth.
macro_rules! on_both {
    ($($test:tt)*) => {
        $crate::harness::in_places! { [sqlite: Sqlite, postgres: Postgres] $($test)* }
    };
}
pub(crate) use on_both;
