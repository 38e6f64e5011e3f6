//! The scripted model: a server on loopback that plays scenes and notes what it is told.

use super::until;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The server. Its own words on top of the file say how scenes are written.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/model.py");

/// A running server, ended on drop.
pub(super) struct Model {
    folder: PathBuf,
    child: Child,
    pub(super) url: String,
}

/// One request of a client's, as the server understood it.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The words that chose the scene.
    when: String,
    /// Which step of it was played.
    step: u64,
    /// Everything said so far: who (`user`, `model`, `call` or `result`) and what.
    said: Vec<(String, String)>,
}

impl Model {
    pub(super) fn start(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("python3");
        // It ends with us: our end of its stdin is closed however we end.
        let child = command.arg(PROGRAM).arg(&folder).stdin(Stdio::piped()).spawn().unwrap();
        let port = until(|| std::fs::read_to_string(folder.join("port")).ok());
        Self { folder, child, url: format!("http://127.0.0.1:{port}") }
    }

    /// Changes what it plays.
    pub(super) fn plays(&self, scenes: &str) {
        std::fs::write(self.folder.join("script.json"), format!("{{\"scenes\": {scenes}}}"))
            .unwrap();
    }

    fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.join("log.jsonl")).unwrap_or_default();
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Whether nobody asked it anything.
    pub(super) fn is_unasked(&self) -> bool {
        self.log().iter().all(|entry| entry["outside"].is_string())
    }

    /// How often a step of a scene was asked for, by somebody with tools: the agent itself.
    pub(super) fn requests(&self, when: &str, step: u64) -> Vec<Request> {
        let log = self.log();
        let requests =
            log.iter().filter(|entry| entry["tools"].as_u64() > Some(0)).map(Request::of);
        requests.filter(|request| request.when == when && request.step == step).collect()
    }

    /// The one request for a step of a scene.
    #[track_caller]
    pub(super) fn request(&self, when: &str, step: u64) -> Request {
        let requests = self.requests(when, step);
        let [request] = requests.as_slice() else { panic!("{when} {step}: {:#?}", self.log()) };
        request.clone()
    }

    /// Waits until a step is asked for.
    pub(super) fn await_request(&self, when: &str, step: u64) {
        until(|| self.requests(when, step).pop());
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Request {
    fn of(entry: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let said = entry["conversation"].as_array().unwrap();
        Self {
            when: text(&entry["when"]),
            step: entry["step"].as_u64().unwrap(),
            said: said.iter().map(|event| (text(&event[0]), text(&event[1]))).collect(),
        }
    }

    /// The last thing somebody said.
    #[track_caller]
    pub(super) fn last(&self, who: &str) -> &str {
        let mut said = self.said.iter().rev().filter(|(name, _)| name == who);
        said.next().map_or_else(|| panic!("no {who} in {self:#?}"), |(_, text)| text)
    }

    /// Whether somebody said this, at any time.
    pub(super) fn holds(&self, who: &str, text: &str) -> bool {
        self.said.iter().any(|(name, said)| name == who && said.contains(text))
    }
}
