//! The hook of a client for the runs of a worker, without any change to the client's own settings.
//!
//! Only the event before a tool call is hooked: the worker itself passes the rest to its agents. A client that
//! its user has connected for all projects has its hook already, and is given no second one.

use super::check::scopes;
use super::codex;
use super::jsonc::{JsoncDocument, JsoncStep};
use super::setup::{ClientPaths, ClientSetup, ConnectScope, NAME, is_ours};
use crate::commands::hook::protocol::HookClient;
use crate::exit::{Failure, Result};
use sayso_core::Code;
use sayso_engine::worker::HookKit;
use serde_json::{Value, json};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// The source name that Codex gives to hooks on its command line.
const SESSION_FLAGS: &str = "/<session-flags>/";

/// The folders in which Gemini CLI keeps conversations; they must be the user's own.
const GEMINI_KEEPS: [&str; 2] = ["tmp", "history"];

/// Builds the hook kit for a client whose program is installed. `folder` is for our files.
pub(crate) fn worker_kit(
    client: HookClient,
    program: &str,
    places: &ClientPaths,
    folder: &Path,
) -> Result<HookKit> {
    if scopes(places, client).contains(&ConnectScope::User) {
        return Ok(HookKit { is_checked: true, ..HookKit::default() });
    }
    let setup = ClientSetup {
        client,
        scope: ConnectScope::Project,
        places,
        program: super::own_program()?,
        // The worker gives each run a token of its own.
        token: String::new(),
        has_server: false,
        asked: None,
    };
    let (args, variables) = match client {
        HookClient::ClaudeCode => (claude_code(&setup, places), vec![]),
        HookClient::Codex => (codex(&setup, program, places)?, vec![]),
        HookClient::Gemini => (vec![], gemini(&setup, places, &private(folder, client)?)?),
        HookClient::Opencode => (vec![], opencode(&setup, &private(folder, client)?)?),
    };
    Ok(HookKit { args, variables, is_checked: true })
}

/// Creates a private folder for one client.
fn private(folder: &Path, client: HookClient) -> Result<PathBuf> {
    let folder = folder.join(client.name());
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Claude Code merges settings from the command line with its others, and runs identical hooks once.
fn claude_code(setup: &ClientSetup<'_>, places: &ClientPaths) -> Vec<String> {
    let event = "PreToolUse";
    let text = std::fs::read_to_string(places.hooks(HookClient::ClaudeCode, ConnectScope::Project));
    let known = JsoncDocument::read(&text.unwrap_or_default())
        .ok()
        .and_then(|json| json.get(&[JsoncStep::Key("hooks"), JsoncStep::Key(event)]));
    let is_known = |group: &&Value| {
        let command = group["hooks"][0]["command"].as_str().unwrap_or_default();
        is_ours(command, HookClient::ClaudeCode)
    };
    let known = known.as_ref().and_then(Value::as_array).and_then(|all| all.iter().find(is_known));
    let entry = known.cloned().unwrap_or_else(|| setup.call_entry(event));
    vec!["--settings".into(), json!({"hooks": {event: [entry]}}).to_string()]
}

/// Codex takes hooks and the trust in them on its command line. It reports the hash of each hook itself.
fn codex(setup: &ClientSetup<'_>, program: &str, places: &ClientPaths) -> Result<Vec<String>> {
    let entry = setup.call_entry("PreToolUse");
    let hook = &entry["hooks"][0];
    let command = toml_edit::Value::from(hook["command"].as_str().unwrap_or_default());
    let seconds = hook["timeout"].as_u64().unwrap_or_default();
    let hooks = format!(
        "[{{matcher=\"*\",hooks=[{{type=\"command\",command={},timeout={seconds}}}]}}]",
        command.to_string().trim()
    );
    let asked = ["-c".to_owned(), format!("hooks.PreToolUse={hooks}")];
    let known = codex::hooks_known(program, None, &places.project, &asked).unwrap_or_default();
    let ours = known.into_iter().find(|hook| hook.key.starts_with(SESSION_FLAGS));
    let ours = ours.ok_or_else(|| {
        Failure::new(Code::NotHeld, "Codex does not say how it recognises its hook")
            .hint("run it once by hand, or connect it: sayso connect codex --scope user")
    })?;
    let [key, hash] = [ours.key, ours.hash].map(|text| toml_edit::Value::from(text).to_string());
    let state = format!("{{{}={{trusted_hash={}}}}}", key.trim(), hash.trim());
    Ok(vec!["-c".into(), format!("hooks={{PreToolUse={hooks},state={state}}}")])
}

/// Gemini CLI takes hooks from settings alone, and system settings only from root. So it is given a home in which
/// every file is the user's own but the settings, which have our hook besides.
fn gemini(
    setup: &ClientSetup<'_>,
    places: &ClientPaths,
    folder: &Path,
) -> Result<Vec<(String, String)>> {
    let own = places.folder(HookClient::Gemini, ConnectScope::User);
    let home = folder.join(".gemini");
    std::fs::create_dir_all(&home)?;
    for kept in GEMINI_KEEPS {
        std::fs::create_dir_all(own.join(kept))?;
    }
    for entry in std::fs::read_dir(&own)?.flatten() {
        let at = home.join(entry.file_name());
        if entry.file_name() != "settings.json" && at.symlink_metadata().is_err() {
            symlink(entry.path(), at)?;
        }
    }
    let text = std::fs::read_to_string(own.join("settings.json")).unwrap_or_default();
    let broken =
        |what: String| Failure::new(Code::NotHeld, format!("settings of Gemini CLI: {what}"));
    let mut json = JsoncDocument::read(&text).map_err(|mistake| broken(mistake.what))?;
    setup.set_call_hook(&mut json, "BeforeTool").map_err(|mistake| broken(mistake.what))?;
    std::fs::write(home.join("settings.json"), json.into_text())?;
    Ok(vec![("GEMINI_CLI_HOME".into(), folder.display().to_string())])
}

/// opencode merges the settings in a variable with its others.
fn opencode(setup: &ClientSetup<'_>, folder: &Path) -> Result<Vec<(String, String)>> {
    const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
    let file = folder.join(format!("{NAME}.js"));
    std::fs::write(&file, super::opencode::plugin(&setup.words("tool.execute.before")))?;
    let given = std::env::var(CONTENT).unwrap_or_default();
    let mut content: Value = serde_json::from_str(&given).unwrap_or_else(|_| json!({}));
    let mut plugins = content["plugin"].as_array().cloned().unwrap_or_default();
    plugins.push(format!("file://{}", file.display()).into());
    content["plugin"] = plugins.into();
    Ok(vec![(CONTENT.into(), content.to_string())])
}
