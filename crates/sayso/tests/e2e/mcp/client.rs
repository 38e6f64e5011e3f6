//! Clients of the Model Context Protocol, as small as can be: one over pipes, one over HTTP.

use crate::harness::{Space, Who};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The newest revision, without a handshake.
pub const NEWEST: &str = "2026-07-28";

/// A client over pipes, and the server it started.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
    /// What the server sent by itself.
    pub heard: Vec<Value>,
    /// What every request carries, for the newest revision.
    meta: Value,
}

impl Client {
    /// Starts a server, without a word.
    pub fn start(space: &Space, who: Who<'_>, args: &[&str]) -> Self {
        let args: Vec<_> = ["mcp"].iter().chain(args).copied().collect();
        let mut command = space.command(who, &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else { panic!("no JSON: {line}") };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, next: 0, heard: vec![], meta: Value::Null }
    }

    /// Starts a server for an agent and shakes hands, as most clients do.
    pub fn of(space: &Space, agent: &str, hold: &str) -> Self {
        Self::able(space, agent, hold, &json!({}))
    }

    /// The same, with abilities.
    pub fn able(space: &Space, agent: &str, hold: &str, abilities: &Value) -> Self {
        let mut client = Self::start(space, Who::Agent(agent), &["--hold", hold]);
        client.shakes_hands("2025-06-18", abilities);
        client
    }

    pub fn shakes_hands(&mut self, version: &str, abilities: &Value) -> Value {
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": version, "capabilities": abilities, "clientInfo": info});
        let hands = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        hands
    }

    /// Speaks the newest revision from now on.
    pub fn speaks_newest(&mut self, abilities: &Value) {
        self.meta = newest(abilities);
    }

    pub fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request and does not wait; its number.
    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.meta.is_object() {
            params["_meta"] = self.meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The reply to a request; what else comes is kept.
    #[track_caller]
    pub fn reply(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.heard.iter().position(is_it) {
            return self.heard.remove(at);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if is_it(&message) => return message,
                Ok(message) => self.heard.push(message),
                Err(RecvTimeoutError::Timeout) => panic!("no reply to {id}: {:?}", self.heard),
                Err(RecvTimeoutError::Disconnected) => panic!("the server hung up"),
            }
        }
    }

    /// The next thing the server sends by itself.
    #[track_caller]
    pub fn hears(&mut self) -> Value {
        match self.heard.pop() {
            Some(message) => message,
            None => self.lines.recv_timeout(PATIENCE).unwrap(),
        }
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.reply(id)
    }

    pub fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// What a tool said, which must not be a no.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call(tool, arguments);
        said(&self.reply(id))
    }

    /// The code a tool was refused with.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let id = self.begin_call(tool, arguments);
        let reply = self.reply(id);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        reply["result"]["structuredContent"]["error"]["code"].as_str().unwrap().to_owned()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Hangs up, and waits until the server has seen it.
    pub fn hangs_up(mut self) -> i32 {
        drop(self.stdin.take());
        ends(&mut self.child)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a server has ended by itself.
#[track_caller]
fn ends(child: &mut Child) -> i32 {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the server stays");
}

/// What a request of the newest revision says of its client.
pub fn newest(abilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": abilities,
    })
}

/// What a tool said.
#[track_caller]
pub fn said(reply: &Value) -> Value {
    let result = &reply["result"];
    assert_ne!(result["isError"], true, "{reply}");
    match &result["structuredContent"] {
        Value::Null => {
            let text = result["content"][0]["text"].as_str();
            serde_json::from_str(text.unwrap_or_else(|| panic!("{reply}"))).unwrap()
        }
        value => value.clone(),
    }
}

/// A server over HTTP.
pub struct Server {
    child: Child,
    pub address: String,
    /// Where agents are served there.
    path: String,
}

impl Server {
    /// A server of MCP alone.
    pub fn start(space: &Space, address: &str, hold: &str) -> Self {
        Self::run(space, &["mcp", "--http", address, "--hold", hold], "/mcp")
    }

    /// A server of everything.
    pub fn serve(space: &Space) -> Self {
        let name = space.path().file_name().unwrap().to_str().unwrap();
        Self::run(space, &["serve", "--listen", "127.0.0.1:0"], &format!("/mcp/{name}"))
    }

    fn run(space: &Space, args: &[&str], path: &str) -> Self {
        let mut command = space.command(Who::Script, args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line:?}"));
        let address = rest.strip_suffix("/mcp").unwrap_or(rest).to_owned();
        Self { child, address, path: path.to_owned() }
    }

    /// Where agents are served.
    pub fn place(&self) -> String {
        format!("{}{}", self.address, self.path)
    }

    /// A call of a tool in the newest revision; the status, and the reply.
    pub fn call(&self, token: Option<&str>, tool: &str, arguments: &Value) -> (u16, Value) {
        call_at(&self.place(), token, tool, arguments)
    }

    /// The same with any body, and any name for the server.
    pub fn post(&self, token: Option<&str>, host: &str, tool: &str, body: &str) -> (u16, Value) {
        post_at(&self.place(), token, host, tool, body)
    }

    /// Begins a conversation of an older revision; its id.
    pub fn begins(&self, token: &str) -> String {
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let text = self.sends("POST", token, "", &body.to_string());
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        let id = lines.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        id.unwrap_or_else(|| panic!("{text}")).1.to_owned()
    }

    /// The status of a request in a conversation.
    pub fn in_session(&self, token: &str, session: &str, method: &str) -> u16 {
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let session = format!("Mcp-Session-Id: {session}\r\n");
        let text = self.sends(method, token, &session, &body.to_string());
        text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    fn sends(&self, method: &str, token: &str, more: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        write!(
            stream,
            "{method} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{more}\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            body.len()
        )
        .unwrap();
        let mut bytes = vec![];
        // A stream may stay open; what came first is enough.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits for that.
    pub fn ends(mut self) -> i32 {
        let pid = self.child.id().to_string();
        std::process::Command::new("kill").arg(pid).status().unwrap();
        ends(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A call of a tool at a place: a server's address and a path.
pub fn call_at(place: &str, token: Option<&str>, tool: &str, arguments: &Value) -> (u16, Value) {
    let params = json!({"name": tool, "arguments": arguments, "_meta": newest(&json!({}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (address, _) = place.split_once('/').unwrap();
    post_at(place, token, address, tool, &body.to_string())
}

fn post_at(place: &str, token: Option<&str>, host: &str, tool: &str, body: &str) -> (u16, Value) {
    let (address, path) = place.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let token = token.map(|t| format!("Authorization: Bearer {t}\r\n")).unwrap_or_default();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\n{token}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {NEWEST}\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let status = text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, reply_in(&text))
}

/// The reply in a response: as it is, or as an event.
fn reply_in(response: &str) -> Value {
    let lines = response.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    let mut replies = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    replies.rfind(|reply| reply.get("id").is_some()).unwrap_or(Value::Null)
}
