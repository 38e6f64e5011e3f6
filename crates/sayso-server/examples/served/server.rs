//! The real program under test: `sayso serve`, started, looked at from outside, and killed.

use crate::Options;
use crate::http::Http;
use sayso_core::{Actor, AssuranceLevel, EntryPoint, IdentityProof, Role};
use sayso_engine::{LocalDesk, RuntimeEnv, StoreLocation};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const QUESTION: &str =
    "Should the API use JWT tokens or session cookies for authentication?";
pub(crate) const ANSWER: &str = "Use JWT tokens with 24h expiry";

/// Where everything of the space is.
pub(crate) const SPACE: &str = "/v1/spaces/bench";

/// A server that runs, and credentials for an agent and a person.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) agent: String,
    pub(crate) person: String,
    /// From the start of the process until it said where it listens.
    pub(crate) listened: Duration,
    pub(crate) began: Instant,
}

impl Server {
    /// Starts the server of a folder; the first start makes the space and the credentials.
    pub(crate) fn start(options: &Options) -> Self {
        let dir = options.dir();
        std::fs::create_dir_all(&dir).expect("a folder");
        if !dir.join("tokens.json").exists() {
            init(options, &dir);
        }
        let began = Instant::now();
        let log = dir.join("serve.log");
        let mut child = sayso(&dir)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).expect("a log"))
            .spawn()
            .expect("sayso serve");
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut url).expect("its address");
        let address = url.trim().trim_start_matches("http://").to_owned();
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(!address.is_empty(), "the server did not start: {}", said());
        let listened = began.elapsed();
        let (agent, person) = tokens(options, &dir, &address);
        Self { child, address, agent, person, listened, began }
    }

    pub(crate) fn agent(&self) -> Http {
        Http::connect(&self.address, &self.agent)
    }

    pub(crate) fn person(&self) -> Http {
        Http::connect(&self.address, &self.person)
    }

    /// A number the system has of the process, such as its memory in KB.
    pub(crate) fn status(&self, key: &str) -> u64 {
        let file = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(file).expect("the process");
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect(key);
        line.split_whitespace().next().and_then(|n| n.parse().ok()).expect(key)
    }

    pub(crate) fn memory_kb(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Seconds of processor time it has used.
    pub(crate) fn cpu(&self) -> f64 {
        let file = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(file).expect("the process");
        let fields = text.rsplit_once(')').expect("a name").1.split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        ticks as f64 / 100.0
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("its end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program beside this one, or the one that was named.
fn sayso(dir: &Path) -> Command {
    let named = std::env::var_os("SAYSO_SERVED").map(PathBuf::from);
    let beside = || {
        let own = std::env::current_exe().expect("this program");
        own.parent().and_then(Path::parent).expect("its folder").join("sayso")
    };
    let mut command = Command::new(named.unwrap_or_else(beside));
    command.current_dir(dir).env_remove("SAYSO_TOKEN").env("HOME", dir);
    // It asks and writes more in a minute than any agent.
    command.env("SAYSO_ASKS_PER_MINUTE", "0").env("SAYSO_WRITES_PER_MINUTE", "0");
    command
}

fn init(options: &Options, dir: &Path) {
    let mut command = sayso(dir);
    command.args(["init", "--name", "bench"]);
    if options.is_postgres() {
        command.args(["--store", &options.text("pg", "")]);
    }
    let ran = command.output().expect("sayso init");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// The credentials of the space: whoever comes first looks after it and makes one for an agent.
fn tokens(options: &Options, dir: &Path, address: &str) -> (String, String) {
    let file = dir.join("tokens.json");
    if let Ok(text) = std::fs::read_to_string(&file) {
        return serde_json::from_str(&text).expect("tokens");
    }
    let code = first_code(options, dir);
    let join = json!({"with": [code, "ann", "correct horse"]}).to_string();
    let joined = Http::connect(address, "").call("POST", "/line/bench/join", &join);
    let person = text(&joined, "secret");
    let new = json!({"role": "agent", "name": "coder"}).to_string();
    let made = Http::connect(address, &person).call("POST", &format!("{SPACE}/tokens"), &new);
    let both = (text(&made, "secret"), person);
    std::fs::write(file, json!(both).to_string()).expect("tokens");
    both
}

/// A server shows its first code at a terminal only, so it is made at the store.
fn first_code(options: &Options, dir: &Path) -> String {
    let place = match options.is_postgres() {
        true => StoreLocation::Postgres(options.text("pg", "")),
        false => StoreLocation::Sqlite(dir.join(".sayso/sayso.db")),
    };
    let desk = LocalDesk::open(place, "bench", RuntimeEnv::real()).expect("the store");
    let person =
        Actor::new(Role::Human, "bench", IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli);
    desk.first_code(&person).expect("a code").expect("nobody looks after it").code
}

pub(crate) fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_else(|| panic!("no {key} in {of}")).to_owned()
}

/// A gate that was asked: its id and the digest an answer names.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) digest: String,
}

impl Asked {
    pub(crate) fn of(gate: &Value) -> Self {
        Self { id: text(gate, "id"), digest: text(gate, "digest") }
    }

    pub(crate) fn wait_path(&self) -> String {
        format!("{SPACE}/gates/{}?wait=60s", self.id)
    }
}

pub(crate) fn ask(http: &mut Http) -> Asked {
    let body = json!({"question": QUESTION}).to_string();
    Asked::of(&http.call("POST", &format!("{SPACE}/gates"), &body))
}

pub(crate) fn answer(http: &mut Http, asked: &Asked) {
    let body = json!({"verdict": "approved", "text": ANSWER, "digest": asked.digest}).to_string();
    http.call("POST", &format!("{SPACE}/gates/{}/answer", asked.id), &body);
}
