//! The adapter for Codex, as `codex exec`.
//!
//! Sandbox `workspace-write`: it writes in its folder, the temporary ones and those of the turn, without network;
//! `exec` never asks. Only folders can be opened to it, not files. A user who needs more gives `-c` settings, such
//! as `-c sandbox_workspace_write.network_access=true`; one who gives `--sandbox` decides all of it. Our options
//! come before `resume`, which does not accept `--sandbox` itself; without them a resumed session would be
//! read-only. A login shell would lose the variables we set, such as the path to this program, where a profile sets
//! them anew.
//!
//! Measured with 0.166.0: `turn.completed` counts tokens from the start of the thread, so the earlier usage is read
//! from the rollout file. Costs are not reported.

use super::{count, option, text, unless};
use crate::agent::AgentConfig;
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use serde_json::Value;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most bytes at the end of a rollout that are searched for its last token count.
const ROLLOUT_READ_MAX: u64 = 4 * 1024 * 1024;

/// The most files that are visited to find the rollout of a session.
const FILES_MAX: usize = 50_000;

pub(super) fn arguments(
    agent: &AgentConfig,
    session: Option<&str>,
    writable: &[&Path],
) -> Vec<String> {
    const RIGHTS: &[&str] = &[
        "--sandbox",
        "-s",
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
        "--approve-for-me",
    ];
    let fixed = ["exec", "--json", "--skip-git-repo-check"].map(str::to_owned);
    let mut arguments = fixed.to_vec();
    arguments.extend(["-c", "allow_login_shell=false"].map(str::to_owned));
    let ours = unless(agent, RIGHTS, &["--sandbox", "workspace-write"]);
    let folders = writable.iter().filter(|_| !ours.is_empty());
    arguments.extend(ours.iter().cloned());
    arguments.extend(folders.flat_map(|path| option("--add-dir", path.to_str())));
    arguments.extend(option("--model", agent.model.as_deref()));
    arguments.extend(agent.args.iter().cloned());
    arguments.extend(option("resume", session));
    arguments.push("-".to_owned());
    arguments
}

pub(super) fn parse_line(event: &Value, ear: &mut OutputParser) {
    match text(event, "/type") {
        Some("thread.started") => {
            ear.has_session(text(event, "/thread_id").unwrap_or_default());
        }
        Some("turn.started") => ear.begins(),
        Some("item.started") => started(event, ear),
        Some("item.completed") => completed(event, ear),
        Some("turn.completed") => {
            ear.has_spent(usage(event, "/usage") - ear.spent_before);
            ear.ends_well();
        }
        Some("turn.failed") => {
            ear.fails(text(event, "/error/message").unwrap_or("the turn failed"));
        }
        // Also sent when a connection is retried.
        Some("error") => ear.has_problem(text(event, "/message").unwrap_or("an error")),
        _ => {}
    }
}

fn started(event: &Value, ear: &mut OutputParser) {
    let item = event.get("item").unwrap_or(&Value::Null);
    match text(item, "/type") {
        Some("command_execution") => ear.does(text(item, "/command").unwrap_or("a command")),
        Some("mcp_tool_call") => ear.does(&format!(
            "{} {}",
            text(item, "/server").unwrap_or("mcp"),
            text(item, "/tool").unwrap_or("a tool")
        )),
        _ => {}
    }
}

/// Handles a completed item. Items of type `error` are only notices, such as an unknown model.
fn completed(event: &Value, ear: &mut OutputParser) {
    let item = event.get("item").unwrap_or(&Value::Null);
    match text(item, "/type") {
        Some("agent_message") => ear.says(text(item, "/text").unwrap_or_default()),
        Some("file_change") => {
            let changes = item.get("changes").and_then(Value::as_array);
            let paths = changes.into_iter().flatten().filter_map(|change| text(change, "/path"));
            ear.does(&format!("edit {}", paths.collect::<Vec<_>>().join(" ")));
        }
        Some("web_search") => {
            ear.does(&format!("search {}", text(item, "/query").unwrap_or_default()));
        }
        _ => {}
    }
}

/// Reads token counts. Cached tokens are included in the input tokens here.
fn usage(event: &Value, path: &str) -> TokenUsage {
    let Some(usage) = event.pointer(path) else { return TokenUsage::default() };
    TokenUsage {
        input_tokens: count(usage, "/input_tokens"),
        output_tokens: count(usage, "/output_tokens"),
        cost_micros: 0,
    }
}

/// Returns the usage of earlier turns of a session. A missing rollout counts as zero: rather too much is counted than
/// too little.
pub(super) fn spent_before(variables: &[(String, String)], session: &str) -> TokenUsage {
    let variable = |name| variables.iter().find(|(n, _)| n == name).map(|(_, v)| Path::new(v));
    let home = variable("CODEX_HOME").map(Path::to_owned);
    let Some(home) = home.or_else(|| Some(variable("HOME")?.join(".codex"))) else {
        return TokenUsage::default();
    };
    let rollout = rollout(home.join("sessions"), session);
    rollout.and_then(|path| last_count(&path).ok().flatten()).unwrap_or_default()
}

/// Finds `sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`, newest first.
fn rollout(sessions: PathBuf, session: &str) -> Option<PathBuf> {
    let end = format!("-{session}.jsonl");
    let mut folders = vec![sessions];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut below = vec![];
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > FILES_MAX {
                return None;
            }
            if entry.file_name().to_string_lossy().ends_with(&end) {
                return Some(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
            }
        }
        below.sort();
        folders.extend(below);
    }
    None
}

fn last_count(path: &Path) -> std::io::Result<Option<TokenUsage>> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(ROLLOUT_READ_MAX)))?;
    let mut raw = vec![];
    file.take(ROLLOUT_READ_MAX).read_to_end(&mut raw)?;
    let text = String::from_utf8_lossy(&raw);
    let mut counts = text.lines().rev().filter(|line| line.contains("\"token_count\""));
    Ok(counts.find_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        event.pointer("/payload/info/total_token_usage")?;
        Some(usage(&event, "/payload/info/total_token_usage"))
    }))
}
