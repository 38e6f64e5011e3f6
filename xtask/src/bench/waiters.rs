//! Benchmark of many agents that wait at once on one machine: the cost of a waiter, and the delay until it has the
//! answer.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::BuiltPrograms;
use super::table::{median, ms, table};
use crate::shell;
use crate::stop::VerbResult;

/// The number of waiters over HTTP, and of waiters in processes of their own.
const MANY: usize = 1_000;
const PROCESSES: usize = 200;

/// The number of them that are answered, one after the other.
const ANSWERS: usize = 100;

/// The number of a waiter, and the time of its answer.
type AnswerArrival = (usize, Instant);

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let dir = built.dir.join("waiters");
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let space = BenchSpace { sayso: &built.sayso, dir: &dir };
    space.prepare()?;
    let rows = vec![over_http(&space)?, over_pipes(&space)?, at_a_command(&space)?];
    Ok(format!(
        "# Many agents waiting at once\n\nEach has asked and waits for its answer; then {ANSWERS} of them are answered, one \
         after the other, with `sayso respond`, a process of its own each time. Memory is what the waiting takes beyond the \
         server itself (over HTTP), or each process's share (PSS). SQLite. `cargo xtask bench waiters`\n\n{}\n\
         A waiter over HTTP is a connection and a row; there is no thread and no process for it, and a commit wakes those \
         it is about and nobody else. A process of its own costs what a process costs.\n",
        table(
            &[
                "who waits",
                "how many",
                "KB each",
                "threads",
                "`respond` alone, ms",
                "answer begun to heard, ms (median)",
                "(worst)",
            ],
            &rows
        )
    ))
}

struct BenchSpace<'a> {
    sayso: &'a Path,
    dir: &'a Path,
}

impl BenchSpace<'_> {
    fn command(&self, token: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.sayso);
        command.args(words).current_dir(self.dir).env_clear();
        command.env("HOME", self.dir).env("SAYSO_TOKEN_FILE", self.dir.join(token));
        command
    }

    /// Makes a space, a person and an agent. Tokens are made at a terminal, so there is one.
    fn prepare(&self) -> VerbResult {
        let mut init = Command::new(self.sayso);
        shell::run(init.arg("init").current_dir(self.dir).env_clear().env("HOME", self.dir))?;
        for (role, name) in [("human", "ann"), ("agent", "coder")] {
            let sayso = self.sayso.display();
            let line = format!("{sayso} token create --role {role} --name {name} --out {name}");
            let mut terminal = crate::test::terminals::command(&line)?;
            terminal.current_dir(self.dir).env_clear();
            let path = std::env::var_os("PATH").unwrap_or_default();
            shell::output(terminal.env("HOME", self.dir).env("PATH", path))?;
        }
        Ok(())
    }

    /// Waits for this number of open gates and returns them.
    fn gates(&self, many: usize) -> VerbResult<Vec<(String, usize)>> {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let mut found = vec![];
            let mut after: Option<String> = None;
            loop {
                let mut words = vec!["inbox", "--json", "--limit", "500"];
                words.extend(after.as_deref().into_iter().flat_map(|after| ["--after", after]));
                let page: serde_json::Value =
                    serde_json::from_str(&shell::output(&mut self.command("ann", &words))?)
                        .map_err(|e| e.to_string())?;
                for gate in page["items"].as_array().into_iter().flatten() {
                    let text = |key: &str| gate[key].as_str().unwrap_or_default().to_owned();
                    let number = text("question").rsplit(' ').next().and_then(|n| n.parse().ok());
                    found.extend(number.map(|number| (text("handle"), number)));
                }
                after = page["next"].as_str().map(str::to_owned);
                if after.is_none() {
                    break;
                }
            }
            if found.len() >= many {
                return Ok(found);
            }
            if Instant::now() > end {
                return Err(format!("only {} of {many} wait", found.len()).into());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Answers some of the waiters: returns the duration of the command and the delay of the waiter, in milliseconds.
    fn answer(
        &self,
        many: usize,
        heard: &Receiver<AnswerArrival>,
    ) -> VerbResult<(Vec<f64>, Vec<f64>)> {
        let gates = self.gates(many)?;
        let (mut commands, mut waits) = (vec![], vec![]);
        let step = (gates.len() / ANSWERS).max(1);
        for (gate, number) in gates.iter().step_by(step).take(ANSWERS) {
            let began = Instant::now();
            shell::output(&mut self.command("ann", &["respond", gate, "yes"]))?;
            commands.push(began.elapsed().as_secs_f64() * 1e3);
            let (who, at) = heard
                .recv_timeout(Duration::from_secs(30))
                .map_err(|_| format!("nobody heard of gate {gate}"))?;
            if who != *number {
                return Err(format!("{who} heard what was said to {number}").into());
            }
            waits.push(at.duration_since(began).as_secs_f64() * 1e3);
        }
        for (gate, _) in &gates {
            // The remaining waiters are released.
            let _ = self.command("ann", &["respond", gate, "enough"]).output();
        }
        Ok((commands, waits))
    }
}

fn row(
    who: &str,
    many: usize,
    each: f64,
    threads: &str,
    took: (Vec<f64>, Vec<f64>),
) -> Vec<String> {
    let (commands, waits) = took;
    let worst = waits.iter().copied().fold(0.0, f64::max);
    vec![
        who.into(),
        many.to_string(),
        format!("{each:.0}"),
        threads.into(),
        ms(median(commands)),
        ms(median(waits)),
        ms(worst),
    ]
}

fn over_http(space: &BenchSpace<'_>) -> VerbResult<Vec<String>> {
    let mut server = ChildGuard(
        space
            .command("coder", &["mcp", "--http", "127.0.0.1:0", "--hold", "10m"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?,
    );
    let mut url = String::new();
    let stdout = server.0.stdout.take().ok_or("no output")?;
    BufReader::new(stdout).read_line(&mut url).map_err(|e| e.to_string())?;
    let address = url.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let token = fs::read_to_string(space.dir.join("coder")).map_err(|e| e.to_string())?;
    let (sender, heard) = channel();
    ask_over_http(&address, token.trim(), 0, &sender)?;
    space.gates(1)?;
    let before = rss(server.0.id())?;
    for number in 1..MANY {
        ask_over_http(&address, token.trim(), number, &sender)?;
    }
    space.gates(MANY)?;
    let each = (rss(server.0.id())? - before) / (MANY - 1) as f64;
    let threads = status(server.0.id(), "Threads:")?;
    let took = space.answer(MANY, &heard)?;
    Ok(row("`ask_human` over HTTP, one server", MANY, each, &threads.to_string(), took))
}

/// Asks, and waits in a thread of ours.
fn ask_over_http(
    address: &str,
    token: &str,
    number: usize,
    heard: &Sender<AnswerArrival>,
) -> VerbResult {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask_human","arguments":{{"question":"May I {number}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let mut stream = TcpStream::connect(address).map_err(|e| e.to_string())?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: ask_human\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .map_err(|e| e.to_string())?;
    let heard = heard.clone();
    let wait = move || {
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
            if seen.contains("answered_by") {
                let _ = heard.send((number, Instant::now()));
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(128 * 1024);
    thread.spawn(wait).map(drop).map_err(|e| e.to_string().into())
}

fn over_pipes(space: &BenchSpace<'_>) -> VerbResult<Vec<String>> {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;
    each_in_a_process(space, "`sayso mcp`, a process each", |number| {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"ask_human","arguments":{{"question":"Should I {number}"}}}}}}"#
        );
        (vec!["mcp".into(), "--hold".into(), "10m".into()], format!("{hello}{ask}\n"))
    })
}

fn at_a_command(space: &BenchSpace<'_>) -> VerbResult<Vec<String>> {
    each_in_a_process(space, "`sayso ask --wait --json`, a process each", |number| {
        let question = format!("Could I {number}");
        (vec!["ask".into(), question, "--wait".into(), "--json".into()], String::new())
    })
}

fn each_in_a_process(
    space: &BenchSpace<'_>,
    who: &str,
    how: impl Fn(usize) -> (Vec<String>, String),
) -> VerbResult<Vec<String>> {
    let (sender, heard) = channel();
    let mut all = vec![];
    for number in 0..PROCESSES {
        let (words, input) = how(number);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut command = space.command("coder", &words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        if let Some(stdin) = child.stdin.as_mut() {
            stdin.write_all(input.as_bytes()).map_err(|e| e.to_string())?;
        }
        let stdout = BufReader::new(child.stdout.take().ok_or("no output")?);
        let heard = sender.clone();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if line.contains("answered_by") || line.contains("\"state\":\"answered\"") {
                    let _ = heard.send((number, Instant::now()));
                    return;
                }
            }
        });
        all.push(ChildGuard(child));
    }
    space.gates(PROCESSES)?;
    let shares: VerbResult<Vec<f64>> = all.iter().map(|running| pss(running.0.id())).collect();
    let each = median(shares?);
    let threads = status(all[0].0.id(), "Threads:")?;
    let took = space.answer(PROCESSES, &heard)?;
    Ok(row(who, PROCESSES, each, &format!("{threads} each"), took))
}

/// A process that ends with us.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads a number from a file of `/proc`.
fn of(file: &str, key: &str) -> VerbResult<f64> {
    let text = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{file} has no {key}").into())
}

fn status(pid: u32, key: &str) -> VerbResult<f64> {
    of(&format!("/proc/{pid}/status"), key)
}

fn rss(pid: u32) -> VerbResult<f64> {
    status(pid, "VmRSS:")
}

fn pss(pid: u32) -> VerbResult<f64> {
    of(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}
