//! Every tool and every resource of MCP.

use super::stage::{Holder, Stage};
use super::{About, Need, Said, check};
use crate::api::text;
use crate::mcp::client::newest;
use serde_json::{Value, json};

use About::{Gate, Message, Nothing, Task};
use Need::{Any, One};

/// A tool: its name, what an agent needs for it, and what it is about.
const TOOLS: &[(&str, Need, About)] = &[
    ("ask_human", One("Q"), Nothing),
    ("request_gate", One("Q"), Nothing),
    ("check_gate", Any, Gate),
    ("list_gates", Any, Nothing),
    ("withdraw_gate", Any, Gate),
    ("check_messages", Any, Nothing),
    ("ack_message", Any, Message),
    ("next_task", One("T"), Nothing),
    ("claim_task", One("T"), Task),
    ("update_task", One("T"), Task),
    ("move_task", One("T"), Task),
    ("note", One("T"), Task),
    ("create_task", One("T"), Nothing),
    ("spawn_agent", One("T"), Nothing),
    ("restart_agent", One("T"), Nothing),
    ("stop_agent", One("T"), Nothing),
    ("permission_prompt", One("Q"), Nothing),
];

/// A resource, in the same way.
const RESOURCES: &[(&str, Need, About)] = &[
    ("sayso://protocol", Any, Nothing),
    ("sayso://policy", One("T"), Nothing),
    ("sayso://task", Any, Nothing),
    ("sayso://task/{id}", One("T"), Task),
];

pub(super) fn check_all(stage: &mut Stage) -> usize {
    let agent = stage.holders().into_iter().find(|holder| holder.may.contains('E')).unwrap();
    let listed = |method: &str, field: &str, key: &str| -> Vec<String> {
        let said = post(stage, &agent, method, "", json!({}));
        let all = reply(&said.body)["result"][field].as_array().unwrap().clone();
        all.iter().map(|one| text(&one[key]).to_owned()).collect()
    };
    let tools = listed("tools/list", "tools", "name");
    let mut resources = listed("resources/list", "resources", "uri");
    resources.extend(listed("resources/templates/list", "resourceTemplates", "uriTemplate"));
    let mut cells = 0;
    for tool in &tools {
        let row = TOOLS.iter().find(|(row, ..)| row == tool);
        let (_, need, about) =
            *row.unwrap_or_else(|| panic!("{tool} has no row in the table of tools"));
        cells += check(stage, tool, (need, about, false), &|stage, holder, object| {
            let params = json!({"name": tool, "arguments": arguments(tool, object)});
            agents_only(stage, holder, "tools/call", tool, params)
        });
    }
    for uri in &resources {
        let row = RESOURCES.iter().find(|(row, ..)| row == uri);
        let (_, need, about) =
            *row.unwrap_or_else(|| panic!("{uri} has no row in the table of resources"));
        cells += check(stage, uri, (need, about, true), &|stage, holder, object| {
            let uri = uri.replace("{id}", object);
            agents_only(stage, holder, "resources/read", &uri, json!({"uri": uri}))
        });
    }
    assert_eq!((TOOLS.len(), RESOURCES.len()), (tools.len(), resources.len()));
    cells
}

fn arguments(tool: &str, object: &str) -> Value {
    match tool {
        "ask_human" => json!({"question": "Mine?", "wait_sec": 0}),
        "request_gate" => json!({"question": "Mine, too?"}),
        "check_gate" => json!({"gate": object}),
        "withdraw_gate" => json!({"gate": object, "reason": "no"}),
        "ack_message" => json!({"message": object}),
        "claim_task" => json!({"task": object}),
        "update_task" => json!({"task": object, "priority": 3}),
        "move_task" => json!({"task": object, "to": "open"}),
        "note" => json!({"task": object, "text": "hm"}),
        "create_task" => json!({"title": "Another"}),
        "spawn_agent" | "restart_agent" | "stop_agent" => json!({"agent": "nobody"}),
        "permission_prompt" => {
            json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "x"})
        }
        _ => json!({}),
    }
}

/// Only agents come in here; whoever else has a credential is refused at the door.
fn agents_only(
    stage: &Stage,
    holder: &Holder,
    method: &str,
    name: &str,
    params: Value,
) -> Option<Said> {
    if holder.is_browser() {
        return None;
    }
    let said = post(stage, holder, method, name, params);
    if holder.is_known && !holder.may.contains('E') {
        assert_eq!((said.status, said.code().as_str()), (403, "SAY037"), "{said:?}");
        return None;
    }
    Some(as_http(said))
}

/// A refusal comes as a result that is an error; here it gets the status it has elsewhere.
fn as_http(said: Said) -> Said {
    let result = reply(&said.body);
    let is_error = result["result"]["isError"] == true || result.get("error").is_some();
    let status = match said.code().as_str() {
        _ if said.status != 200 || !is_error => said.status,
        "SAY010" | "SAY037" => 403,
        "SAY001" => 404,
        _ => 409,
    };
    Said { status, ..said }
}

fn post(stage: &Stage, holder: &Holder, method: &str, name: &str, mut params: Value) -> Said {
    params["_meta"] = newest(&json!({}));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
    let more = format!(
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"
    );
    stage.send_with(holder, "POST", &format!("/mcp/{}", stage.server.space), Some(&body), &more)
}

fn reply(body: &str) -> Value {
    let lines = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    lines
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .next_back()
        .unwrap_or(Value::Null)
}
