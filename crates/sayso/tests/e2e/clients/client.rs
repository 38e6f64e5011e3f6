//! The clients: where they are, and what makes each of them talk to the scripted model alone.

use serde_json::json;
use std::path::Path;

/// A client that is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
}

impl Client {
    /// Its name in the settings.
    pub(super) fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    /// Its program, which only `cargo xtask clients` knows.
    pub(super) fn program(self) -> String {
        given(&format!("SAYSO_TEST_{}", self.name().to_uppercase().replace('-', "_")))
    }

    /// The model it is told to use, where it would otherwise ask a model which one to take.
    pub(super) fn model(self) -> Option<&'static str> {
        (self == Client::Gemini).then_some("gemini-2.5-flash")
    }

    /// Writes what it wants to find at home.
    pub(super) fn settle_in(self, home: &Path, model: &str) {
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("none", "");
        match self {
            Client::ClaudeCode | Client::Opencode => {}
            Client::Codex => write(".codex/config.toml", &codex(model)),
            Client::Gemini => write(".gemini/settings.json", &gemini()),
        }
    }

    /// The variables it gets.
    pub(super) fn variables(self, home: &Path, model: &str) -> Vec<(&'static str, String)> {
        let on = || "1".to_owned();
        match self {
            Client::ClaudeCode => vec![
                ("ANTHROPIC_BASE_URL", model.to_owned()),
                // A subscription's, since those have limits that say when they end.
                ("CLAUDE_CODE_OAUTH_TOKEN", on()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
                ("DISABLE_TELEMETRY", on()),
                ("DISABLE_ERROR_REPORTING", on()),
                ("DISABLE_AUTOUPDATER", on()),
                ("CLAUDE_CODE_MAX_RETRIES", on()),
            ],
            Client::Codex => vec![
                ("CODEX_HOME", home.join(".codex").display().to_string()),
                ("OPENAI_API_KEY", on()),
            ],
            Client::Gemini => {
                vec![("GEMINI_API_KEY", on()), ("GOOGLE_GEMINI_BASE_URL", model.to_owned())]
            }
            Client::Opencode => vec![
                ("OPENCODE_CONFIG_CONTENT", opencode(model)),
                ("OPENCODE_DISABLE_AUTOUPDATE", on()),
                ("OPENCODE_DISABLE_MODELS_FETCH", on()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", on()),
            ],
        }
    }
}

/// What `cargo xtask clients` tells in a variable.
fn given(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run these tests with: cargo xtask clients"))
}

/// The PATH, with the node that the clients need before any other.
pub(super) fn path() -> String {
    format!("{}:{}", given("SAYSO_TEST_NODE"), std::env::var("PATH").unwrap())
}

/// The temporary folders are closed to it: a test's space is in one, and a user's is not.
fn codex(model: &str) -> String {
    format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{model}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 0\n\
         stream_max_retries = 0\nsupports_websockets = false\n\
         [sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n\
         [analytics]\nenabled = false\n[features]\ndaemon_auto_start = false\napps = false\nplugins = false\n"
    )
}

fn gemini() -> String {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    settings.to_string()
}

fn opencode(model: &str) -> String {
    let limit = json!({"context": 1_000_000, "output": 8_000});
    let settings = json!({
        "autoupdate": false, "share": "disabled", "enabled_providers": ["scripted"],
        "model": "scripted/model", "small_model": "scripted/model",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": format!("{model}/v1"), "apiKey": "none"},
            "models": {"model": {"name": "model", "tool_call": true, "limit": limit}},
        }},
    });
    settings.to_string()
}
