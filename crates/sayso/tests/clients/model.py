"""A scripted model for real coding agents: the APIs of their providers, on loopback, offline.

    Anthropic Messages       POST /v1/messages                               Claude Code
    OpenAI Responses         POST /v1/responses                              Codex
    OpenAI Chat Completions  POST /v1/chat/completions                       opencode
    Gemini                   POST /v1beta/models/X:streamGenerateContent     Gemini CLI

    model.py FOLDER    reads FOLDER/script.json, writes FOLDER/port and FOLDER/log.jsonl

The script is {"scenes": [{"when": "WORDS", "steps": [STEP, ...]}, ...]}. The scene is the last one whose
words are in the latest user text that has any scene's words; the step is the number of turns the model
has taken since. So an answer depends on the script and the conversation alone, and no retry, resumed
session, restart or side request (for a title, say) gets a script out of step.

A step is {"text": ...}, {"shell": COMMAND}, {"write": [PATH, CONTENT]} or {"tool": [NAME, INPUT]}: the
last three use whichever tool the client offers, {"tool"} one of a server, whatever the client puts before its
name. {"delay": SECONDS} waits first; {"status": N, "headers": {}, "body": {}} fails.
Each answer counts as 10 tokens in and 5 out.

It is also the proxy of clients that want to get elsewhere: they are refused, and the log says where
"outside" they wanted to go.
"""

import gzip
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELLS = ["Bash", "exec_command", "run_shell_command", "bash"]
WRITERS = ["Write", "write_file", "write"]


def flat(value):
    """The text in a piece of content, however it is wrapped."""
    if isinstance(value, list):
        return "\n".join(flat(part) for part in value)
    if isinstance(value, dict):
        inner = next((value[key] for key in ("text", "content", "output") if key in value), None)
        return json.dumps(value) if inner is None else flat(inner)
    return "" if value is None else str(value)


# Requests. Each dialect becomes {tool: schema} and a list of events: (who, text, step), where `who` is
# user, model, call or result, and `step` is the step a call was made in.


def step_of(call):
    """The step that made a call: our ids carry it, as in call_s2_0."""
    marks = [part[1:] for part in str(call or "").split("_") if part[:1] == "s"]
    return next((int(mark) for mark in marks if mark.isdigit()), None)


def read_messages(body):
    tools = {tool.get("name"): tool.get("input_schema") for tool in body.get("tools") or []}
    events = []
    for message in body.get("messages") or []:
        who = "model" if message.get("role") == "assistant" else "user"
        content = message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
            if block.get("type") == "tool_use":
                events.append(("call", json.dumps(block.get("input")), step_of(block.get("id"))))
            elif block.get("type") == "tool_result":
                events.append(("result", flat(block.get("content")), None))
            elif block.get("type") == "text":
                events.append((who, block.get("text", ""), None))
    return tools, events


def read_responses(body):
    tools = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            tools.update({(tool["name"], inner.get("name")): inner.get("parameters") for inner in tool["tools"]})
        else:
            tools[tool.get("name")] = tool.get("parameters")
    events = []
    for item in body.get("input") or []:
        kind = item.get("type", "message")
        if kind == "function_call":
            events.append(("call", item.get("arguments", ""), step_of(item.get("call_id"))))
        elif kind == "function_call_output":
            events.append(("result", flat(item.get("output")), None))
        elif kind == "message":
            who = "model" if item.get("role") == "assistant" else "user"
            events.append((who, flat(item.get("content")), None))
    return tools, events


def read_chat(body):
    functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    events = []
    for message in body.get("messages") or []:
        text = flat(message.get("content"))
        if message.get("role") == "assistant":
            events.extend([("model", text, None)] if text else [])
            for call in message.get("tool_calls") or []:
                events.append(("call", call["function"]["arguments"], step_of(call.get("id"))))
        elif message.get("role") == "tool":
            events.append(("result", text, None))
        elif message.get("role") == "user":
            events.append(("user", text, None))
    return {function["name"]: function.get("parameters") for function in functions}, events


def read_gemini(body):
    functions = [f for tool in body.get("tools") or [] for f in tool.get("functionDeclarations") or []]
    tools = {f["name"]: f.get("parametersJsonSchema") or f.get("parameters") for f in functions}
    events = []
    for message in body.get("contents") or []:
        who = "model" if message.get("role") == "model" else "user"
        for part in message.get("parts") or []:
            if "functionCall" in part:
                call = part["functionCall"]
                events.append(("call", json.dumps(call.get("args")), step_of(call.get("id"))))
            elif "functionResponse" in part:
                events.append(("result", json.dumps(part["functionResponse"].get("response")), None))
            elif "text" in part and not part.get("thought"):
                events.append((who, part["text"], None))
    return tools, events


def choose(script, events):
    """The scene, the number of the step and the step itself."""
    scene, start = None, 0
    for index, (who, text, _) in enumerate(events):
        for candidate in script["scenes"] if who == "user" else []:
            if candidate["when"] in text:
                scene, start = candidate, index
    if scene is None:
        return None, 0, {"text": "This is not in the script."}
    number, before = 0, None
    for who, _, step in events[start + 1 :]:
        if who == "model" and before != "model":
            number += 1
        elif who == "call" and step is not None:
            number = max(number, step + 1)
        elif who == "call" and before not in ("call", "model"):
            number += 1
        before = who
    steps = scene["steps"]
    over = {"text": "The script of %r is over." % scene["when"]}
    return scene["when"], number, steps[number] if number < len(steps) else over


def call_of(step, tools):
    """The tool and its input; a client without a tool for writing has a shell."""
    if "tool" in step:
        wanted, given = step["tool"]
        names = ((name, name[1] if isinstance(name, tuple) else str(name)) for name in tools)
        found = next((name for name, plain in names if plain.endswith(wanted)), None)
        return (found, given) if found else None
    writer = next((name for name in WRITERS if name in tools), None)
    if "write" in step and writer:
        path, content = step["write"]
        known = (tools[writer] or {}).get("properties") or {}
        key = next((key for key in ("file_path", "filePath") if key in known), "path")
        return writer, {key: path, "content": content}
    shell = next((name for name in SHELLS if name in tools), None)
    if shell is None:
        return None
    command = step.get("shell") or "printf %%s '%s' > '%s'" % (step["write"][1], step["write"][0])
    known = (tools[shell] or {}).get("properties") or {}
    given = {"cmd" if "cmd" in known else "command": command}
    return shell, dict(given, description="as the script says") if "description" in known else given


# Answers.


def events_of(pairs):
    lines = []
    for name, data in pairs:
        lines.extend(["event: %s\n" % name] if name else [])
        lines.append("data: %s\n\n" % (data if isinstance(data, str) else json.dumps(data)))
    return "text/event-stream", "".join(lines).encode()


def plain(data):
    return "application/json", json.dumps(data).encode()


def tag():
    return "%x" % (time.time_ns() & 0xFFFFFFFFFF)


def call_id(number):
    return "call_s%d_%s" % (number, tag())


def write_messages(body, number, text, call):
    blocks = [{"type": "text", "text": text}] if text else []
    if call:
        blocks.append({"type": "tool_use", "id": "toolu_" + call_id(number), "name": call[0], "input": call[1]})
    stop = "tool_use" if call else "end_turn"
    message = {
        "id": "msg_" + tag(), "type": "message", "role": "assistant", "model": body.get("model"),
        "content": blocks, "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    if not body.get("stream"):
        return plain(message)
    start = dict(message, content=[], stop_reason=None)
    pairs = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = dict(block, text=""), {"type": "text_delta", "text": text}
        else:
            given = json.dumps(block["input"])
            empty, delta = dict(block, input={}), {"type": "input_json_delta", "partial_json": given}
        pairs.append({"type": "content_block_start", "index": index, "content_block": empty})
        pairs.append({"type": "content_block_delta", "index": index, "delta": delta})
        pairs.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    pairs.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    pairs.append({"type": "message_stop"})
    return events_of((data["type"], data) for data in pairs)


def write_responses(body, number, text, call):
    items = []
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "id": "msg_" + tag(), "role": "assistant", "content": content})
    if call:
        place = dict(zip(("namespace", "name"), call[0])) if isinstance(call[0], tuple) else {"name": call[0]}
        items.append(dict(place, **{
            "type": "function_call", "id": "fc_" + tag(), "call_id": call_id(number),
            "arguments": json.dumps(call[1]),
        }))
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": "resp_" + tag(), "object": "response", "model": body.get("model"), "status": "completed"}
    pairs = [{"type": "response.created", "response": dict(response, status="in_progress", output=[])}]
    for index, item in enumerate(items):
        pairs.append({"type": "response.output_item.added", "output_index": index, "item": item})
        pairs.append({"type": "response.output_item.done", "output_index": index, "item": item})
    pairs.append({"type": "response.completed", "response": dict(response, output=items, usage=usage)})
    return events_of((data["type"], data) for data in pairs)


def write_chat(body, number, text, call):
    message = {"role": "assistant", "content": text or None}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        calls = [{"index": 0, "id": call_id(number), "type": "function", "function": function}]
        message["tool_calls"] = calls
    stop = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    base = {"id": "chat_" + tag(), "created": int(time.time()), "model": body.get("model")}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": stop}
        return plain(dict(base, object="chat.completion", choices=[choice], usage=usage))
    base["object"] = "chat.completion.chunk"
    said = {"index": 0, "delta": message, "finish_reason": None}
    done = {"index": 0, "delta": {}, "finish_reason": stop}
    chunks = [dict(base, choices=[said]), dict(base, choices=[done]), dict(base, choices=[], usage=usage)]
    return events_of((None, chunk) for chunk in chunks + ["[DONE]"])


def write_gemini(body, number, text, call):
    parts = [{"text": text}] if text else []
    if call:
        parts.append({"functionCall": {"id": call_id(number), "name": call[0], "args": call[1]}})
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }


def write_gemini_stream(body, number, text, call):
    return events_of([(None, write_gemini(body, number, text, call))])


def write_gemini_plain(body, number, text, call):
    return plain(write_gemini(body, number, text, call))


DIALECTS = [
    ("/messages", read_messages, write_messages),
    ("/responses", read_responses, write_responses),
    ("/chat/completions", read_chat, write_chat),
    (":streamGenerateContent", read_gemini, write_gemini_stream),
    (":generateContent", read_gemini, write_gemini_plain),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, kind, data, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def is_outside(self):
        """Whether the request is for somebody else: then it is refused."""
        if self.command != "CONNECT" and self.path.startswith("/"):
            return False
        self.server.note({"outside": self.path})
        self.close_connection = True
        self.answer(403, *plain({"error": "nothing but loopback"}))
        return True

    def do_CONNECT(self):
        self.is_outside()

    def do_HEAD(self):
        if not self.is_outside():
            self.answer(200, *plain({}))

    def do_GET(self):
        if not self.is_outside():
            self.answer(200, *plain({"data": [], "models": []}))

    def body(self):
        raw = b""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            size = 1
            while size:
                size = int(self.rfile.readline().split(b";")[0], 16)
                raw += self.rfile.read(size)
                self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        raw = gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw
        return json.loads(raw or b"{}")

    def do_POST(self):
        if self.is_outside():
            return
        path = self.path.split("?")[0]
        body = self.body()
        dialect = next((d for d in DIALECTS if path.endswith(d[0])), None)
        if dialect is None:
            self.answer(200, *plain({"input_tokens": 10, "totalTokens": 10}))
            return
        _, read, write = dialect
        tools, events = read(body)
        when, number, step = choose(self.server.script(), events)
        call = call_of(step, tools) if {"shell", "write", "tool"} & set(step) else None
        form = (body.get("generationConfig") or {}).get("responseMimeType")
        text = step.get("text", "" if call else "ok")
        if form == "application/json":
            # Gemini CLI asks which model to take.
            text, call = json.dumps({"reasoning": "none", "model_choice": "flash"}), None
        conversation = [[who, text] for who, text, _ in events]
        status = step.get("status", 200)
        note = {"when": when, "step": number, "status": status, "tools": len(tools)}
        self.server.note(dict(note, conversation=conversation))
        time.sleep(step.get("delay", 0))
        try:
            if status == 200:
                self.answer(200, *write(body, number, text, call))
            else:
                self.answer(status, *plain(step.get("body", {})), step.get("headers"))
        except OSError:
            # Whoever asked was killed.
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.lock = folder, threading.Lock()

    def script(self):
        """Read anew for each request: a test may change it."""
        with open(os.path.join(self.folder, "script.json")) as file:
            return json.load(file)

    def note(self, entry):
        with self.lock, open(os.path.join(self.folder, "log.jsonl"), "a") as log:
            log.write(json.dumps(entry) + "\n")


def main():
    folder = sys.argv[1]
    server = Server(folder)
    port = os.path.join(folder, "port")
    with open(port + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(port + ".new", port)
    # Whoever started us holds our stdin; without them nobody needs us.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
