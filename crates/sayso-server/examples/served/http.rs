//! As little of HTTP as the measuring needs, so that the client costs little beside the server.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The longest anything is waited for. A held request is let go after a minute.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection that is kept, with the credential of whoever uses it.
pub(crate) struct Http {
    stream: TcpStream,
    token: String,
    seen: Vec<u8>,
}

impl Http {
    pub(crate) fn connect(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_nodelay(true).expect("nodelay");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        Self { stream, token: token.to_owned(), seen: vec![] }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) {
        let request = request(method, path, &self.token, body);
        self.stream.write_all(request.as_bytes()).expect("send");
    }

    /// The body of the next answer, which must be a good one.
    pub(crate) fn receive(&mut self) -> Value {
        self.seen.clear();
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = self.stream.read(&mut buffer).expect("an answer");
            assert!(read > 0, "the server closed the connection");
            self.seen.extend_from_slice(&buffer[..read]);
            if let Some((status, body)) = whole(&self.seen) {
                let text = String::from_utf8_lossy(body);
                assert!(status < 300, "{status} {text}");
                return serde_json::from_slice(body).unwrap_or(Value::Null);
            }
        }
    }

    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> Value {
        self.send(method, path, body);
        self.receive()
    }
}

pub(crate) fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The status and the body of an answer, once all of it is there.
pub(crate) fn whole(seen: &[u8]) -> Option<(u16, &[u8])> {
    let head_len = seen.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&seen[..head_len]).expect("a head");
    let status = head.get(9..12)?.parse().expect("a status");
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(0, |(_, length)| length.parse().expect("a length"));
    let body = seen.get(head_len + 4..head_len + 4 + length)?;
    Some((status, body))
}
