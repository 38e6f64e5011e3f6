//! A scripted model server on loopback: it calls the client's shell once and says goodbye. It implements the
//! providers' APIs, so that a client can be run without a network and without an account.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum size of a request.
const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The id of the one tool call, by which its result is recognised.
const CALL: &str = "call_sayso_check";

/// The names that clients give their shell tool.
const SHELLS: [&str; 4] = ["Bash", "exec_command", "run_shell_command", "bash"];

/// The requests to the model.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelRequests {
    /// The number of requests for a turn.
    pub(super) requests: usize,
    /// True if a shell tool was offered and called.
    pub(super) has_called: bool,
    /// All request bodies after the call.
    pub(super) after: String,
    /// True if one of our own tools was offered.
    pub(super) has_own_tool: bool,
}

/// The model server. It answers as long as the process lives.
pub(super) struct ModelServer {
    pub(super) url: String,
    heard: Arc<Mutex<ModelRequests>>,
}

impl ModelServer {
    /// Starts the server. The one tool call runs this command; `own_tool` is looked for among the tools.
    pub(super) fn start(command: String, own_tool: &'static str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let url = format!("http://{}", listener.local_addr()?);
        let heard = Arc::new(Mutex::new(ModelRequests::default()));
        let shared = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, command) = (Arc::clone(&shared), command.clone());
                // A dropped connection of the client is no error here.
                std::thread::spawn(move || serve(&stream, &heard, &command, own_tool));
            }
        });
        Ok(Self { url, heard })
    }

    pub(super) fn heard(&self) -> ModelRequests {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Handles one request.
fn serve(
    stream: &TcpStream,
    heard: &Mutex<ModelRequests>,
    command: &str,
    own_tool: &str,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (method, target, body) = read(&mut reader)?;
    let (status, kind, answer) = match (method.as_str(), target.starts_with('/')) {
        // A proxy request: it is for another host, and nothing leaves this machine.
        ("CONNECT", _) | (_, false) => ("403 Forbidden", JSON, json!({}).to_string()),
        ("POST", true) => {
            let path = target.split('?').next().unwrap_or_default();
            let (kind, text) = answer(path, &body, heard, command, own_tool);
            ("200 OK", kind, text)
        }
        _ => ("200 OK", JSON, json!({"data": [], "models": []}).to_string()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    )?;
    stream.flush()
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Reads the method, the target and the body of a request.
fn read(reader: &mut impl BufRead) -> std::io::Result<(String, String, Vec<u8>)> {
    let first = line(reader)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let header = line(reader)?.to_ascii_lowercase();
        match header.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(_) => {}
        }
    }
    let mut body = vec![];
    if !is_chunked {
        take(reader, length, &mut body)?;
    }
    while is_chunked {
        let size = line(reader)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        take(reader, size, &mut body)?;
        line(reader)?;
        is_chunked = size > 0;
    }
    Ok((method, target, body))
}

fn line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    reader.take(64 * 1024).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn take(reader: &mut impl Read, length: usize, body: &mut Vec<u8>) -> std::io::Result<()> {
    if body.len() + length > REQUEST_BYTES_MAX {
        return Err(std::io::Error::other("the request is too long"));
    }
    reader.take(length as u64).read_to_end(body).map(drop)
}

/// The response to a request, in the format of the provider whose path it is.
fn answer(
    path: &str,
    body: &[u8],
    heard: &Mutex<ModelRequests>,
    command: &str,
    own_tool: &str,
) -> (&'static str, String) {
    let text = String::from_utf8_lossy(body);
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(dialect) = ProviderApi::of(path) else {
        return (JSON, json!({"input_tokens": 10, "totalTokens": 10}).to_string());
    };
    let shell = shell_of(&request);
    let is_after = text.contains(CALL);
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.requests += 1;
    heard.has_own_tool |= text.contains(own_tool);
    if is_after {
        heard.after.push_str(&text);
    }
    let call = shell.filter(|_| !is_after);
    heard.has_called |= call.is_some();
    let arguments = |shell: &str| match shell {
        "exec_command" => json!({"cmd": command}),
        _ => json!({"command": command, "description": "a check"}),
    };
    let call = call.map(|shell| (shell, arguments(shell)));
    dialect.says(&request, call)
}

/// Finds the shell among the tools of a request, in the list of each provider.
fn shell_of(request: &Value) -> Option<&'static str> {
    let tools = request["tools"].as_array()?;
    let offers = |name: &str| {
        tools.iter().any(|tool| {
            let declared = tool["functionDeclarations"].as_array().into_iter().flatten();
            let mut names = declared.chain([tool, &tool["function"]]).map(|t| &t["name"]);
            names.any(|found| found == name)
        })
    };
    SHELLS.into_iter().find(|name| offers(name))
}

/// The API of a provider.
enum ProviderApi {
    Messages,
    Responses,
    Chat,
    GeminiStream,
    Gemini,
}

impl ProviderApi {
    fn of(path: &str) -> Option<Self> {
        [
            ("/messages", ProviderApi::Messages),
            ("/responses", ProviderApi::Responses),
            ("/chat/completions", ProviderApi::Chat),
            (":streamGenerateContent", ProviderApi::GeminiStream),
            (":generateContent", ProviderApi::Gemini),
        ]
        .into_iter()
        .find_map(|(end, dialect)| path.ends_with(end).then_some(dialect))
    }

    fn says(&self, request: &Value, call: Option<(&str, Value)>) -> (&'static str, String) {
        let is_stream = request["stream"].as_bool().unwrap_or(false);
        match (self, is_stream) {
            (ProviderApi::Messages, true) => events(&messages_stream(request, call), true),
            (ProviderApi::Messages, false) => (JSON, message(request, call).to_string()),
            (ProviderApi::Responses, _) => events(&responses(request, call), true),
            (ProviderApi::Chat, true) => {
                let (kind, text) = events(&chat_stream(request, call), false);
                (kind, format!("{text}data: [DONE]\n\n"))
            }
            (ProviderApi::Chat, false) => (JSON, chat(request, call).to_string()),
            (ProviderApi::GeminiStream, _) => events(&[gemini(request, call)], false),
            (ProviderApi::Gemini, _) => (JSON, gemini(request, call).to_string()),
        }
    }
}

fn events(all: &[Value], are_named: bool) -> (&'static str, String) {
    let event = |data: &Value| match data["type"].as_str().filter(|_| are_named) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    (EVENTS, all.iter().map(event).collect())
}

fn message(request: &Value, call: Option<(&str, Value)>) -> Value {
    let (block, stop) = match call {
        Some((tool, input)) => {
            (json!({"type": "tool_use", "id": CALL, "name": tool, "input": input}), "tool_use")
        }
        None => (json!({"type": "text", "text": "Goodbye."}), "end_turn"),
    };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"],
        "content": [block], "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    })
}

fn messages_stream(request: &Value, call: Option<(&str, Value)>) -> Vec<Value> {
    let mut start = message(request, call);
    let mut block = start["content"][0].clone();
    let stop = json!({"stop_reason": start["stop_reason"], "stop_sequence": null});
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let delta = if block["type"] == "tool_use" {
        let given = block["input"].to_string();
        block["input"] = json!({});
        json!({"type": "input_json_delta", "partial_json": given})
    } else {
        json!({"type": "text_delta", "text": block["text"].take()})
    };
    if block["text"].is_null() && block["type"] == "text" {
        block["text"] = "".into();
    }
    vec![
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]
}

fn responses(request: &Value, call: Option<(&str, Value)>) -> Vec<Value> {
    let item = match call {
        Some((tool, input)) => json!({
            "type": "function_call", "id": "fc_1", "call_id": CALL, "name": tool,
            "arguments": input.to_string(),
        }),
        None => {
            let content = json!([{"type": "output_text", "text": "Goodbye.", "annotations": []}]);
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
        }
    };
    let response = |status: &str, output: Value| {
        json!({
            "id": "resp_1", "object": "response", "model": request["model"], "status": status,
            "output": output, "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        })
    };
    vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response("completed", json!([item]))}),
    ]
}

fn chat_message(call: Option<(&str, Value)>) -> (Value, &'static str) {
    match call {
        Some((tool, input)) => {
            let function = json!({"name": tool, "arguments": input.to_string()});
            let call = json!({"index": 0, "id": CALL, "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
        None => (json!({"role": "assistant", "content": "Goodbye."}), "stop"),
    }
}

fn chat(request: &Value, call: Option<(&str, Value)>) -> Value {
    let (message, stop) = chat_message(call);
    json!({
        "id": "chat_1", "created": 1, "model": request["model"], "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

fn chat_stream(request: &Value, call: Option<(&str, Value)>) -> Vec<Value> {
    let (message, stop) = chat_message(call);
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chat_1", "created": 1, "model": request["model"],
            "object": "chat.completion.chunk", "choices": choices, "usage": usage,
        })
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    vec![
        chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": stop}]), Value::Null),
        chunk(json!([]), usage),
    ]
}

fn gemini(request: &Value, call: Option<(&str, Value)>) -> Value {
    let wants_json = request["generationConfig"]["responseMimeType"] == JSON;
    let part = match call {
        Some((tool, input)) => json!({"functionCall": {"id": CALL, "name": tool, "args": input}}),
        // A request to pick the model, or the next speaker.
        None if wants_json => {
            let choice =
                json!({"reasoning": "a check", "model_choice": "flash", "next_speaker": "user"});
            json!({"text": choice.to_string()})
        }
        None => json!({"text": "Goodbye."}),
    };
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn post(model: &ModelServer, path: &str, body: &Value) -> String {
        let address = model.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
        .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn it_calls_the_shell_once_in_every_dialect() {
        for (path, tools) in [
            ("/v1/messages?beta=true", json!([{"name": "Bash"}])),
            ("/v1/responses", json!([{"name": "exec_command"}])),
            ("/v1/chat/completions", json!([{"function": {"name": "bash"}}])),
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                json!([{"functionDeclarations": [{"name": "run_shell_command"}, {"name": "mcp_sayso_x"}]}]),
            ),
        ] {
            let model = ModelServer::start("touch ran".into(), "sayso_x").unwrap();
            for stream in [true, false] {
                let said = post(&model, path, &json!({"stream": stream, "tools": tools}));
                assert!(said.contains(CALL) && said.contains("touch ran"), "{said}");
            }
            let said =
                post(&model, path, &json!({"stream": true, "tools": tools, "said": [CALL, "no"]}));
            assert!(said.contains("Goodbye") && !said.contains("touch"), "{said}");
            let heard = model.heard();
            assert!(heard.has_called && heard.after.contains("no"));
            assert_eq!(heard.has_own_tool, path.contains("v1beta"));
        }
    }

    #[test]
    fn nothing_goes_further() {
        let model = ModelServer::start(String::new(), "x").unwrap();
        let mut stream = TcpStream::connect(model.url.trim_start_matches("http://")).unwrap();
        write!(stream, "CONNECT registry.example:443 HTTP/1.1\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        assert_eq!(model.heard().requests, 0);
    }
}
