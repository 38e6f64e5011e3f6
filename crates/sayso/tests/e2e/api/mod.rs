//! The HTTP API: a real server, spoken to over real sockets, on both databases.

mod document;
mod events;
mod figures;
mod fuzz;
mod guide;
mod hostile;
mod logs;
mod once;
mod overload;
mod parking;
mod passkeys;
mod races;
mod refusals;
mod routes;
mod strangers;
mod traces;
mod waiting;

use crate::harness::{Space, Who};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A server, gone with the test.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// The space it is asked for.
    pub space: String,
    tokens: BTreeMap<String, String>,
}

impl Server {
    /// A server of a space; whoever has a token in it can be named by its holder's name.
    pub fn of(space: &Space) -> Self {
        Self::at(space, "127.0.0.1:0")
    }

    /// The same at a given address.
    pub fn at(space: &Space, listen: &str) -> Self {
        let mut command = space.command(Who::Script, &["serve", "--listen", listen]);
        Self::run(space, command.stderr(Stdio::inherit()))
    }

    /// A server that was made ready to be started.
    pub fn run(space: &Space, command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.unwrap().strip_prefix("http://").map(str::to_owned));
        // Whatever else it prints must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let name = space.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut server =
            Self { child, address: url.unwrap(), space: name, tokens: BTreeMap::new() };
        server.learn(space);
        server
    }

    /// Reads the tokens that were made since.
    pub fn learn(&mut self, space: &Space) {
        for entry in std::fs::read_dir(space.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "token") {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let secret = std::fs::read_to_string(&path).unwrap().trim().to_owned();
                self.tokens.insert(name, secret);
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Somebody's secret.
    pub fn secret(&self, who: &str) -> &str {
        &self.tokens[who]
    }

    #[track_caller]
    pub fn get(&self, who: &str, path: &str) -> Reply {
        self.send(who, "GET", path, None)
    }

    #[track_caller]
    pub fn post(&self, who: &str, path: &str, body: Value) -> Reply {
        self.send(who, "POST", path, Some(body))
    }

    /// Sends a request about the space.
    #[track_caller]
    pub fn send(&self, who: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        let body = body.map(|body| body.to_string());
        let path = format!("/v1/spaces/{}{path}", self.space);
        self.raw(&self.request(
            method,
            &path,
            Some(self.secret(who)),
            body.as_deref().map(str::as_bytes),
        ))
    }

    /// A request as it goes over the wire.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        secret: Option<&str>,
        body: Option<&[u8]>,
    ) -> Vec<u8> {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if let Some(secret) = secret {
            head.push_str(&format!("authorization: Bearer {secret}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            ));
        }
        head.push_str("\r\n");
        [head.as_bytes(), body.unwrap_or_default()].concat()
    }

    /// Sends bytes and reads the response to its end.
    #[track_caller]
    pub fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // Whoever is refused early may find the other side closed already; the answer is still there.
        let _ = stream.write_all(bytes);
        let mut all = vec![];
        let read = stream.read_to_end(&mut all);
        assert!(read.is_ok() || !all.is_empty(), "{read:?} to {:?}", shown(bytes));
        Reply::read(&all)
            .unwrap_or_else(|| panic!("no response to {:?}: {:?}", shown(bytes), shown(&all)))
    }

    /// Makes a call of the line, as programs of sayso do.
    pub fn line(&self, who: &str, call: &str, with: Value) -> Reply {
        let body = json!({"with": with}).to_string();
        let path = format!("/line/{}/{call}", self.space);
        self.raw(&self.request("POST", &path, Some(self.secret(who)), Some(body.as_bytes())))
    }

    /// Lets somebody have a passphrase, by a code as they would.
    pub fn passphrase(&self, space: &Space, who: &str, passphrase: &str) {
        let code = space.run(Who::Terminal, &["people", "invite", who, "--json"]).json();
        self.line(who, "join", json!([code["code"], who, passphrase])).is(200);
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A connection from an address of this machine, such as 127.0.0.2.
    pub fn connect_from(&self, from: &str) -> TcpStream {
        let to = self.address.parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let connected = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(format!("{from}:0").parse().unwrap())?;
            socket.connect(to).await
        });
        let stream = connected.and_then(tokio::net::TcpStream::into_std).unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes from an address of this machine and reads the response; none if it was not taken.
    pub fn raw_from(&self, from: &str, bytes: &[u8]) -> Option<Reply> {
        let mut stream = self.connect_from(from);
        let _ = stream.write_all(bytes);
        let mut all = vec![];
        let _ = stream.read_to_end(&mut all);
        Reply::read(&all)
    }

    /// Asks as an agent and returns the gate.
    pub fn ask(&self, agent: &str, body: Value) -> Value {
        self.post(agent, "/gates", body).is(201)
    }

    /// Answers as a person to the card as it is.
    pub fn answer(&self, who: &str, gate: &Value, answer: Value) -> Reply {
        let mut body = answer;
        body["digest"] = gate["digest"].clone();
        self.post(who, &format!("/gates/{}/answer", text(&gate["id"])), body)
    }

    /// Tells it to end, and waits until it has.
    pub fn stop(mut self) -> bool {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let pair = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        };
        let headers = lines.filter_map(pair).collect();
        let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
        Some(Self { status, headers, body })
    }

    /// What was answered, as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Asserts the status and returns what was answered.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// Asserts that it is a problem of this status and code, in the form all problems have.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.is(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(problem["status"], json!(status));
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["type"], format!("/errors/{code}"));
        assert!(!text(&problem["title"]).is_empty() && !text(&problem["detail"]).is_empty());
        problem
    }
}

/// A text in JSON.
#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned()
}

/// A ULID by number.
pub fn ulid(number: u64) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut left = number;
    let mut end = vec![];
    for _ in 0..16 {
        end.push(DIGITS[(left % 32) as usize] as char);
        left /= 32;
    }
    format!("01JZZZZZZZ{}", end.iter().rev().collect::<String>())
}
