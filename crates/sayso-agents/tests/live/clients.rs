//! The real clients, against a scripted model. Ignored unless asked for: they have to be installed.
//!
//! `CLAUDE_BIN`, `CODEX_BIN`, `GEMINI_BIN` and `OC_BIN` name the programs and `MOCK_URL` a server that
//! speaks the APIs of all providers. It answers a prompt with `T-TEXT` by `Hello from the mock.`, one
//! with `T-SHELL` by running a command that makes `made.txt` and then `Finished.`, one with `T-SLOW` by
//! running `sleep 300`, one with `T-429` by that status; each answer counts as 10 tokens in, 5 out.

use sayso_agents::{
    AgentAdapter, AgentConfig, AgentEvent, AgentProcess, FinishedTurn, TurnInput, process_tree,
};
use std::time::{Duration, Instant};

struct Client {
    agent: AgentConfig,
    variables: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

impl Client {
    fn new(adapter: AgentAdapter) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(folder.path().join("work")).unwrap();
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        let url = variable("MOCK_URL");
        let (program, model, more) = match adapter {
            AgentAdapter::ClaudeCode => ("CLAUDE_BIN", None, claude(&url)),
            AgentAdapter::Codex => {
                std::fs::write(home.join("config.toml"), codex_config(&url)).unwrap();
                let home = home.display().to_string();
                ("CODEX_BIN", None, vec![("CODEX_HOME", home), ("MOCK_KEY", "x".into())])
            }
            AgentAdapter::Gemini => {
                let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": false}}"#;
                std::fs::write(home.join(".gemini/settings.json"), settings).unwrap();
                let key = ("GEMINI_API_KEY", "x".to_owned());
                let more = vec![key, ("GOOGLE_GEMINI_BASE_URL", url)];
                ("GEMINI_BIN", Some("gemini-2.5-flash"), more)
            }
            AgentAdapter::Opencode => ("OC_BIN", None, opencode(&url)),
            AgentAdapter::Command => unreachable!("no client"),
        };
        let common = [
            ("PATH", variable("PATH")),
            ("TERM", "dumb".into()),
            ("HOME", home.display().to_string()),
        ];
        let all = common.into_iter().chain(more);
        Self {
            agent: AgentConfig {
                name: adapter.to_string(),
                adapter,
                program: variable(program),
                args: vec![],
                resume_args: vec![],
                model: model.map(Into::into),
            },
            variables: all.map(|(name, value)| (name.to_owned(), value)).collect(),
            folder,
        }
    }

    fn mark(&self) -> String {
        format!("client-{}-{}", self.agent.name, std::process::id())
    }

    fn start(&self, prompt: &str, session: Option<&str>) -> AgentProcess {
        let turn = TurnInput {
            folder: &self.folder.path().join("work"),
            writable: &[],
            prompt,
            session,
            variables: &self.variables,
            log: &self.folder.path().join("log"),
            mark: &self.mark(),
        };
        self.agent.start(&turn).unwrap()
    }

    fn run(&self, prompt: &str, session: Option<&str>) -> (Vec<AgentEvent>, FinishedTurn) {
        let mut live = self.start(prompt, session);
        let mut heard = vec![];
        while !live.is_over() {
            heard.extend(live.next(Duration::from_secs(1)));
        }
        (heard, live.finish())
    }

    fn check(&self) {
        let name = &self.agent.name;
        let long = "a long prompt ".repeat(20_000);
        let (heard, first) = self.run(&format!("{long}\nT-SHELL"), None);
        println!("{name}: {heard:?}\n{first:?}");
        assert_eq!((first.code, first.message.as_deref()), (Some(0), Some("Finished.")), "{name}");
        assert!(self.folder.path().join("work/made.txt").exists(), "{name} could not work");
        assert_eq!((first.spent.input_tokens, first.spent.output_tokens), (20, 10), "{name}");
        assert_eq!(heard.iter().filter(|heard| **heard == AgentEvent::Began).count(), 1, "{name}");
        assert!(heard.iter().any(|heard| matches!(heard, AgentEvent::Does(_))), "{name}");
        let session = first.session.unwrap();
        assert!(heard.contains(&AgentEvent::Session(session.clone())), "{name}");

        let (heard, second) = self.run("T-TEXT", Some(&session));
        println!("{name}: {heard:?}\n{second:?}");
        assert_eq!(second.message.as_deref(), Some("Hello from the mock."), "{name}");
        assert_eq!(second.session.as_deref(), Some(session.as_str()), "{name}");
        assert_eq!((second.spent.input_tokens, second.spent.output_tokens), (10, 5), "{name}");
        assert!(!second.session_gone);

        // As the resumed session: the rights must be the same.
        std::fs::remove_file(self.folder.path().join("work/made.txt")).unwrap();
        let (_, third) = self.run("T-SHELL", Some(&session));
        assert_eq!(third.message.as_deref(), Some("Finished."), "{name}");
        assert!(self.folder.path().join("work/made.txt").exists(), "{name} resumed without rights");
    }

    fn check_gone(&self, session: &str) {
        let (heard, gone) = self.run("T-TEXT", Some(session));
        println!("{}: {heard:?}\n{gone:?}", self.agent.name);
        assert!(gone.session_gone && gone.session.is_none(), "{gone:?}");
        assert!(!heard.contains(&AgentEvent::Began));
        assert!(gone.problem.is_some() && gone.code != Some(0));
    }

    fn check_limited(&self) {
        let (heard, limited) = self.run("T-429", None);
        println!("{}: {heard:?}\n{limited:?}", self.agent.name);
        assert!(limited.limited.is_some() && limited.message.is_none(), "{limited:?}");
        assert!(heard.iter().any(|heard| matches!(heard, AgentEvent::Limited(_))));
    }

    fn check_stopped(&self) {
        let mut live = self.start("T-SLOW", None);
        let started = Instant::now();
        let sleeps = |live: &AgentProcess| {
            process_tree::marked(&self.mark()).iter().any(|pid| {
                *pid != live.pid()
                    && std::fs::read_to_string(format!("/proc/{pid}/comm"))
                        .is_ok_and(|c| c.trim() == "sleep")
            })
        };
        while !sleeps(&live) {
            assert!(started.elapsed() < Duration::from_secs(60), "{} never slept", self.agent.name);
            live.next(Duration::from_millis(50));
        }
        let asked = Instant::now();
        live.stop(Duration::from_secs(5));
        let took = asked.elapsed();
        let finished = live.finish();
        println!("{} stopped within {took:?}: {finished:?}", self.agent.name);
        assert_eq!(process_tree::marked(&self.mark()), Vec::<u32>::new());
        assert!(finished.session.is_some());
    }
}

fn claude(url: &str) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", "x".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("CLAUDE_CODE_MAX_RETRIES", on()),
    ]
}

fn codex_config(url: &str) -> String {
    format!(
        "model = \"mock-model\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\n\
         base_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\n\
         request_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n\
         [analytics]\nenabled = false\n[features]\ndaemon_auto_start = false\napps = false\n"
    )
}

fn opencode(url: &str) -> Vec<(&'static str, String)> {
    let config = serde_json::json!({"autoupdate": false, "share": "disabled", "model": "mock/mock-model",
        "small_model": "mock/mock-model", "enabled_providers": ["mock"],
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "x"},
            "models": {"mock-model": {"name": "mock", "tool_call": true,
                "limit": {"context": 1_000_000, "output": 8_000}}}}}});
    let on = || "1".to_owned();
    vec![
        ("OPENCODE_CONFIG_CONTENT", config.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE", on()),
        ("OPENCODE_DISABLE_MODELS_FETCH", on()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", on()),
    ]
}

const NOBODY: &str = "11111111-2222-3333-4444-555555555555";

#[test]
#[ignore = "needs Claude Code and a scripted model"]
fn claude_code_works() {
    let client = Client::new(AgentAdapter::ClaudeCode);
    client.check();
    client.check_gone(NOBODY);
    client.check_limited();
    client.check_stopped();
}

#[test]
#[ignore = "needs Codex and a scripted model"]
fn codex_works() {
    let client = Client::new(AgentAdapter::Codex);
    client.check();
    client.check_gone(NOBODY);
    client.check_limited();
    client.check_stopped();
}

/// Without a limit: it retries for minutes before it says so.
#[test]
#[ignore = "needs Gemini CLI and a scripted model"]
fn gemini_works() {
    let client = Client::new(AgentAdapter::Gemini);
    client.check();
    client.check_gone(NOBODY);
    client.check_stopped();
}

/// Without a limit: it retries for more than a minute before it says so.
#[test]
#[ignore = "needs opencode and a scripted model"]
fn opencode_works() {
    let client = Client::new(AgentAdapter::Opencode);
    client.check();
    client.check_gone("ses_0000000000000000000000000");
    client.check_stopped();
}
