//! Runs the real client once, with its user's own settings and a scripted model.

use super::model_server::{ModelRequests, ModelServer};
use crate::commands::hook::PROBE;
use crate::commands::hook::protocol::HookClient;
use crate::config::FOLDER;
use rustix::process::{Pid, Signal, kill_process_group};
use sayso_engine::agents::agent_detection::MARKERS;
use serde_json::{Value, json};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit of one turn. opencode may look for its plugins' helpers first.
const TURN_MAX: Duration = Duration::from_secs(150);

const LOOK_EVERY: Duration = Duration::from_millis(30);

/// The most bytes kept of a client's output.
const SAID_BYTES_MAX: u64 = 1024 * 1024;

/// The prompt of the client; the model does not read it.
const PROMPT: &str = "Check that sayso is asked before a tool is run.";

/// The tool of our own that the model looks for.
const OWN_TOOL: &str = "ask_human";

/// The observations from a turn.
pub(super) struct TurnObservation {
    pub(super) heard: ModelRequests,
    /// Each hook that was run: its event, and the reason if it could not have ruled.
    pub(super) hooks: Vec<(String, Option<String>)>,
    /// True if the tool call ran.
    pub(super) has_run: bool,
    /// The exit of the client.
    pub(super) ran: ProgramOutput,
}

/// The output of a program.
pub(super) struct ProgramOutput {
    pub(super) is_in_time: bool,
    pub(super) said: String,
}

/// Lets the client take one turn in a folder.
pub(super) fn play(
    client: HookClient,
    program: &str,
    folder: &Path,
) -> std::io::Result<TurnObservation> {
    // In the project, where clients allow writing without asking.
    let scratch = tempfile::Builder::new().prefix("check-").tempdir_in(folder.join(FOLDER))?;
    let (ran, notes) = (scratch.path().join("ran"), scratch.path().join("notes"));
    let model = ModelServer::start(format!("touch {}", ran.display()), OWN_TOOL)?;
    let mut command = Command::new(program);
    command.current_dir(folder).env(PROBE, &notes);
    // Our own markers would be reported as those of the agent that runs this.
    for (marker, _) in MARKERS {
        command.env_remove(marker);
    }
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(proxy, &model.url).env(proxy.to_lowercase(), &model.url);
    }
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    match client {
        HookClient::ClaudeCode => claude_code(&mut command, &model.url),
        HookClient::Codex => codex(&mut command, &model.url),
        HookClient::Gemini => gemini(&mut command, &model.url, scratch.path())?,
        HookClient::Opencode => opencode(&mut command, &model.url, scratch.path()),
    }
    let ended = run(&mut command, TURN_MAX)?;
    let noted = std::fs::read_to_string(notes).unwrap_or_default();
    let hooks =
        noted.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|note: Value| {
            let text = |key: &str| note[key].as_str().map(str::to_owned);
            (text("event").unwrap_or_default(), text("problem"))
        });
    let (heard, hooks) = (model.heard(), hooks.collect());
    Ok(TurnObservation { heard, hooks, has_run: ran.exists(), ran: ended })
}

fn claude_code(command: &mut Command, url: &str) {
    let variables = json!({
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_AUTH_TOKEN": "",
        "CLAUDE_CODE_USE_BEDROCK": "", "CLAUDE_CODE_USE_VERTEX": "", "CLAUDE_CODE_USE_FOUNDRY": "",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
    });
    for (name, value) in variables.as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    command.args(["-p", PROMPT, "--output-format", "stream-json", "--verbose"]);
    // Without a hook the call must run: a block by the client itself would look the same.
    command.args(["--no-session-persistence", "--allowedTools", "Bash(touch:*)"]);
    // Variables in the user's settings would override our environment.
    command.args(["--settings", &json!({"env": variables}).to_string()]);
}

fn codex(command: &mut Command, url: &str) {
    command.args(["exec", "--json", "--ephemeral", "--skip-git-repo-check"]);
    command.args(["--sandbox", "workspace-write"]);
    for (key, value) in [
        ("model", json!("scripted")),
        ("model_provider", json!("sayso_check")),
        ("model_providers.sayso_check.name", json!("sayso_check")),
        ("model_providers.sayso_check.base_url", json!(format!("{url}/v1"))),
        ("model_providers.sayso_check.wire_api", json!("responses")),
        ("model_providers.sayso_check.env_key", json!("SAYSO_CHECK_KEY")),
        ("model_providers.sayso_check.request_max_retries", json!(0)),
        ("model_providers.sayso_check.stream_max_retries", json!(0)),
        ("model_providers.sayso_check.supports_websockets", json!(false)),
        ("check_for_update_on_startup", json!(false)),
        ("analytics.enabled", json!(false)),
    ] {
        command.args(["-c", &format!("{key}={value}")]);
    }
    command.arg(PROMPT).env("SAYSO_CHECK_KEY", "none");
}

fn gemini(command: &mut Command, url: &str, scratch: &Path) -> std::io::Result<()> {
    const PLACE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
    let given = std::env::var_os(PLACE).filter(|path| !path.is_empty());
    let system = given.unwrap_or_else(|| "/etc/gemini-cli/settings.json".into());
    // System settings override the user's: those name a login, and there is none here.
    let text = std::fs::read_to_string(system).unwrap_or_default();
    let mut settings: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
    settings["security"]["auth"]["selectedType"] = "gemini-api-key".into();
    let file = scratch.join("system.json");
    std::fs::write(&file, settings.to_string())?;
    command.env(PLACE, file).env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", url);
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.args(["-p", PROMPT, "-m", "gemini-2.5-flash", "--output-format", "stream-json"]);
    command.args(["--skip-trust", "--approval-mode", "auto_edit"]);
    command.arg("--allowed-tools=run_shell_command");
    Ok(())
}

fn opencode(command: &mut Command, url: &str, scratch: &Path) {
    let limit = json!({"context": 1_000_000, "output": 8_000});
    let settings = json!({
        "autoupdate": false, "share": "disabled",
        "model": "sayso-check/model", "small_model": "sayso-check/model",
        "provider": {"sayso-check": {
            "npm": "@ai-sdk/openai-compatible", "name": "sayso-check",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
            "models": {"model": {"name": "model", "tool_call": true, "limit": limit}},
        }},
    });
    command.env("OPENCODE_CONFIG_CONTENT", settings.to_string());
    for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    // Conversations are kept in a database; this one is temporary.
    command.env("OPENCODE_DB", scratch.join("opencode.db"));
    command.args(["run", "--format", "json", "--model", "sayso-check/model", PROMPT]);
}

/// Runs a program for a limited time and ends it with all its child processes.
pub(super) fn run(command: &mut Command, limit: Duration) -> std::io::Result<ProgramOutput> {
    let mut said = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?);
    let mut child = command.process_group(0).spawn()?;
    let began = Instant::now();
    let mut is_in_time = false;
    while began.elapsed() < limit && !is_in_time {
        is_in_time = child.try_wait()?.is_some();
        if !is_in_time {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()?;
    let mut bytes = vec![];
    said.rewind()?;
    said.take(SAID_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(ProgramOutput { is_in_time, said: String::from_utf8_lossy(&bytes).into_owned() })
}
