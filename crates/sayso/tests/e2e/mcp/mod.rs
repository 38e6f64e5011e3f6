//! MCP: agents ask, wait and work through it, and nothing of it answers a gate (D3, E2, F1, M).

mod asking;
pub mod client;
mod doors;
mod governed;
mod http;
mod revisions;
mod work;

/// Every tool there is. A new one is added here on purpose.
const TOOLS: [&str; 17] = [
    "ask_human",
    "request_gate",
    "check_gate",
    "list_gates",
    "withdraw_gate",
    "check_messages",
    "ack_message",
    "next_task",
    "claim_task",
    "update_task",
    "move_task",
    "note",
    "create_task",
    "spawn_agent",
    "restart_agent",
    "stop_agent",
    "permission_prompt",
];
