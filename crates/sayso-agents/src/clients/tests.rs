//! Tests of the parsers with lines captured from the client versions named in each file.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::events::AgentEvent;
use crate::format_log_line;
use serde_json::json;

/// Parses all lines; returns the events in short form, and the parser.
fn hears(adapter: AgentAdapter, lines: &[Value]) -> (Vec<String>, OutputParser) {
    let mut ear = OutputParser::new(adapter, TokenUsage::default());
    let mut heard = vec![];
    for line in lines {
        heard.extend(ear.line(&line.to_string()));
    }
    heard.extend(ear.end(true));
    (heard.iter().map(short).collect(), ear)
}

fn short(heard: &AgentEvent) -> String {
    match heard {
        AgentEvent::Began => "began".into(),
        AgentEvent::Session(id) => format!("session {id}"),
        AgentEvent::Says(text) => format!("says {text}"),
        AgentEvent::Does(text) => format!("does {text}"),
        AgentEvent::Spent(s) => {
            format!("spent {} {} {}", s.input_tokens, s.output_tokens, s.cost_micros)
        }
        AgentEvent::Limited(limit) => {
            format!("limited {}", limit.until.map_or(0, |at| at.as_micros()))
        }
    }
}

fn agent(adapter: AgentAdapter, args: &[&str]) -> AgentConfig {
    AgentConfig {
        name: "x".into(),
        adapter,
        program: adapter.program().into(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        resume_args: vec![],
        model: Some("m".into()),
    }
}

fn check_arguments(adapter: AgentAdapter, args: &[&str], session: Option<&str>, expected: &str) {
    assert_eq!(arguments(&agent(adapter, args), session, &[Path::new("/s")]).join(" "), expected);
}

#[test]
fn each_client_is_started_its_own_way() {
    check_arguments(
        AgentAdapter::ClaudeCode,
        &["--add-dir", "x"],
        None,
        "-p --output-format stream-json --verbose --permission-mode acceptEdits \
         --allowedTools=Bash --model m --add-dir x",
    );
    check_arguments(
        AgentAdapter::ClaudeCode,
        &["--permission-mode=plan"],
        Some("id"),
        "-p --output-format stream-json --verbose --model m --resume id --permission-mode=plan",
    );
    check_arguments(
        AgentAdapter::Codex,
        &["-c", "a=b"],
        Some("id"),
        "exec --json --skip-git-repo-check -c allow_login_shell=false --sandbox workspace-write \
         --add-dir /s --model m -c a=b resume id -",
    );
    check_arguments(
        AgentAdapter::Codex,
        &["-s", "read-only"],
        None,
        "exec --json --skip-git-repo-check -c allow_login_shell=false --model m -s read-only -",
    );
    check_arguments(
        AgentAdapter::Gemini,
        &[],
        Some("id"),
        "--output-format stream-json --skip-trust --approval-mode auto_edit \
         --allowed-tools=run_shell_command --model m --resume id",
    );
    check_arguments(
        AgentAdapter::Gemini,
        &["-y"],
        None,
        "--output-format stream-json --skip-trust --model m -y",
    );
    check_arguments(
        AgentAdapter::Opencode,
        &["--auto"],
        Some("id"),
        "run --format json --model m --session id --auto",
    );
    let mut own = agent(AgentAdapter::Command, &["work"]);
    own.resume_args = vec!["--session".into(), "{session}".into()];
    assert_eq!(arguments(&own, Some("id"), &[]).join(" "), "work --session id");
    assert_eq!(arguments(&own, None, &[]).join(" "), "work");
}

fn claude_result(more: Value) -> Value {
    let mut result = json!({"type": "result", "subtype": "success", "is_error": false,
        "session_id": "s", "total_cost_usd": 0.00042, "num_turns": 2,
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "model_usage_since_last_result": {"opus": {"inputTokens": 20, "outputTokens": 10,
            "cacheReadInputTokens": 4, "cacheCreationInputTokens": 3, "costUSD": 0.00014000000000000001}}});
    for (name, value) in more.as_object().unwrap() {
        result[name] = value.clone();
    }
    result
}

fn claude_says(id: &str, block: Value) -> Value {
    json!({"type": "assistant", "parent_tool_use_id": null, "session_id": "s",
        "message": {"id": id, "model": "opus", "content": [block],
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 5}}})
}

#[test]
fn claude_code_is_understood() {
    let bash = json!({"type": "tool_use", "name": "Bash", "input": {"command": "cargo test", "description": "d"}});
    let mut below = claude_says("m9", json!({"type": "text", "text": "a subagent"}));
    below["parent_tool_use_id"] = json!("toolu_1");
    let (heard, ear) = hears(
        AgentAdapter::ClaudeCode,
        &[
            json!({"type": "system", "subtype": "init", "session_id": "s", "model": "opus"}),
            json!({"type": "system", "subtype": "api_retry", "error_status": 429, "session_id": "s"}),
            claude_says("m1", json!({"type": "text", "text": "I will run it."})),
            claude_says("m1", bash),
            below,
            json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}),
            claude_says("m2", json!({"type": "text", "text": "Finished."})),
            claude_result(json!({"result": "Finished."})),
        ],
    );
    assert_eq!(
        heard,
        [
            "session s",
            "began",
            "spent 12 5 0",
            "says I will run it.",
            "does Bash: cargo test",
            "spent 12 5 0",
            "spent 12 5 0",
            "says Finished.",
            "spent 0 0 140",
        ]
    );
    assert_eq!(ear.message.as_deref(), Some("Finished."));
    assert_eq!((ear.problem, ear.limited), (None, None));
}

#[test]
fn claude_code_without_counts_per_turn_is_counted_too() {
    let mut result = claude_result(json!({"result": "x"}));
    result.as_object_mut().unwrap().remove("model_usage_since_last_result");
    let (heard, _) = hears(AgentAdapter::ClaudeCode, &[result]);
    assert_eq!(heard, ["spent 10 5 420", "began"]);
}

#[test]
fn limits_of_claude_code_are_recognised() {
    let said = "You've hit your session limit · resets 3pm (Europe/Berlin)";
    let synthetic = json!({"type": "assistant", "session_id": "s", "error": "rate_limit",
        "is_api_error_message": true, "api_error_status": 429,
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": said}]}});
    let (heard, ear) = hears(
        AgentAdapter::ClaudeCode,
        &[
            json!({"type": "rate_limit_event",
                "rate_limit_info": {"status": "rejected", "resetsAt": 1_791_475_200, "rateLimitType": "five_hour"}}),
            synthetic,
            claude_result(json!({"is_error": true, "api_error_status": 429, "result": said,
                "model_usage_since_last_result": {}})),
        ],
    );
    assert_eq!(heard.last().unwrap(), "limited 1791475200000000");
    assert!(!heard.contains(&"began".to_owned()), "{heard:?}");
    assert_eq!(ear.message, None);
    assert_eq!(ear.problem.as_deref(), Some(said));

    let rejected = claude_result(json!({"is_error": true, "api_error_status": 429,
        "result": "API Error: Request rejected (429) · mock error"}));
    let (_, ear) = hears(AgentAdapter::ClaudeCode, &[rejected]);
    assert_eq!(ear.limited.unwrap().until, None);

    let denied = claude_result(json!({"is_error": true, "api_error_status": 401,
        "result": "Failed to authenticate. API Error: 401"}));
    let (_, ear) = hears(AgentAdapter::ClaudeCode, &[denied]);
    assert_eq!(ear.limited, None);
    assert_eq!(ear.problem.as_deref(), Some("Failed to authenticate. API Error: 401"));
}

fn codex_item(event: &str, item: Value) -> Value {
    json!({"type": event, "item": item})
}

#[test]
fn codex_is_understood() {
    let command = json!({"id": "item_2", "type": "command_execution",
        "command": "/bin/bash -lc 'cargo test'", "status": "in_progress"});
    let (heard, ear) = hears(
        AgentAdapter::Codex,
        &[
            json!({"type": "thread.started", "thread_id": "t"}),
            codex_item(
                "item.completed",
                json!({"type": "error", "message": "Model metadata not found."}),
            ),
            json!({"type": "turn.started"}),
            codex_item(
                "item.completed",
                json!({"type": "agent_message", "text": "I will run it."}),
            ),
            codex_item("item.started", command.clone()),
            codex_item("item.completed", command),
            codex_item(
                "item.completed",
                json!({"type": "file_change", "changes": [{"path": "a.rs", "kind": "add"}]}),
            ),
            json!({"type": "error", "message": "Reconnecting... 1/5 (rate limit)"}),
            codex_item("item.completed", json!({"type": "agent_message", "text": "Finished."})),
            json!({"type": "turn.completed", "usage": {"input_tokens": 20, "cached_input_tokens": 8, "output_tokens": 10}}),
        ],
    );
    assert_eq!(
        heard,
        [
            "session t",
            "began",
            "says I will run it.",
            "does /bin/bash -lc 'cargo test'",
            "does edit a.rs",
            "says Finished.",
            "spent 20 10 0",
        ]
    );
    assert_eq!(ear.message.as_deref(), Some("Finished."));
    assert_eq!((ear.problem, ear.limited), (None, None));
}

#[test]
fn what_was_said_before_the_last_deed_is_not_the_final_message() {
    let (_, ear) = hears(
        AgentAdapter::Codex,
        &[
            codex_item(
                "item.completed",
                json!({"type": "agent_message", "text": "<promise>COMPLETE</promise>"}),
            ),
            codex_item("item.started", json!({"type": "command_execution", "command": "x"})),
            json!({"type": "turn.completed", "usage": {}}),
        ],
    );
    assert_eq!(ear.message, None);
}

#[test]
fn limits_of_codex_are_recognised() {
    let failed = |message: &str| json!({"type": "turn.failed", "error": {"message": message}});
    let limit = "You've hit your usage limit. Upgrade to Pro or try again in 1 hour.";
    let (heard, ear) = hears(AgentAdapter::Codex, &[failed(limit)]);
    assert_eq!(heard.len(), 1);
    assert!(ear.limited.unwrap().until.is_some());
    let (_, ear) = hears(
        AgentAdapter::Codex,
        &[failed("exceeded retry limit, last status: 429 Too Many Requests")],
    );
    assert_eq!(ear.limited.unwrap().until, None);
    let (_, ear) =
        hears(AgentAdapter::Codex, &[failed("unexpected status 401 Unauthorized: mock error")]);
    assert_eq!(ear.limited, None);
}

#[test]
fn codex_counts_from_the_start_of_the_thread() {
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join("sessions/2026/11/16");
    std::fs::create_dir_all(&day).unwrap();
    let count = |input: u64| {
        json!({"type": "event_msg", "payload": {"type": "token_count",
            "info": {"total_token_usage": {"input_tokens": input, "output_tokens": 45}}}})
    };
    let text = format!("{}\n{}\n{{\"other\":1}}\n", count(80), count(90));
    std::fs::write(day.join("rollout-2026-11-16T02-21-12-t1.jsonl"), text).unwrap();
    let variables = [("CODEX_HOME".to_owned(), home.path().display().to_string())];
    let before = codex::spent_before(&variables, "t1");
    assert_eq!((before.input_tokens, before.output_tokens), (90, 45));
    assert_eq!(codex::spent_before(&variables, "t2"), TokenUsage::default());

    let mut ear = OutputParser::new(AgentAdapter::Codex, before);
    let line =
        json!({"type": "turn.completed", "usage": {"input_tokens": 110, "output_tokens": 50}});
    ear.line(&line.to_string());
    assert_eq!((ear.spent.input_tokens, ear.spent.output_tokens), (20, 5));
}

#[test]
fn gemini_is_understood() {
    let says = |text: &str| json!({"type": "message", "role": "assistant", "content": text, "delta": true});
    let (heard, ear) = hears(
        AgentAdapter::Gemini,
        &[
            json!({"type": "init", "session_id": "g", "model": "m"}),
            json!({"type": "message", "role": "user", "content": "the prompt"}),
            says("I will "),
            says("run it."),
            json!({"type": "tool_use", "tool_name": "run_shell_command", "parameters": {"command": "cargo  test", "description": "d"}}),
            json!({"type": "tool_result", "status": "success", "output": "hi"}),
            says("Finis"),
            says("hed."),
            json!({"type": "result", "status": "success", "stats": {"input_tokens": 20, "output_tokens": 10, "cached": 5}}),
        ],
    );
    assert_eq!(
        heard,
        [
            "session g",
            "began",
            "says I will run it.",
            "does run_shell_command: cargo test",
            "says Finished.",
            "spent 20 10 0",
        ]
    );
    assert_eq!(ear.message.as_deref(), Some("Finished."));
}

#[test]
fn limits_of_gemini_are_recognised() {
    let failed = json!({"type": "result", "status": "error", "error": {"type": "unknown", "message":
        "[API Error: overloaded]\nPlease wait and try again later. To increase your limits, request a quota increase"}});
    let (heard, ear) =
        hears(AgentAdapter::Gemini, &[json!({"type": "init", "session_id": "g"}), failed]);
    assert_eq!(heard, ["session g", "limited 0"]);
    assert!(ear.problem.is_some());
}

#[test]
fn opencode_is_understood() {
    let event = |kind: &str, part: Value| json!({"type": kind, "sessionID": "ses_1", "part": part});
    let tokens = json!({"tokens": {"total": 22, "input": 10, "output": 5, "reasoning": 1, "cache": {"write": 2, "read": 4}}, "cost": 0.5});
    let (heard, ear) = hears(
        AgentAdapter::Opencode,
        &[
            event("step_start", json!({"type": "step-start"})),
            event("text", json!({"text": "I will run it."})),
            event(
                "tool_use",
                json!({"tool": "bash", "state": {"status": "completed", "input": {"command": "ls"}}}),
            ),
            event("step_finish", tokens.clone()),
            event("text", json!({"text": "One."})),
            event("text", json!({"text": "Two."})),
            event("step_finish", tokens),
        ],
    );
    assert_eq!(
        heard,
        [
            "session ses_1",
            "began",
            "says I will run it.",
            "does bash: ls",
            "spent 16 6 500000",
            "says One.",
            "says Two.",
            "spent 16 6 500000",
        ]
    );
    assert_eq!(ear.message.as_deref(), Some("One.\nTwo."));
}

#[test]
fn limits_of_opencode_are_recognised() {
    let failed = |status: u16, headers: Value| {
        json!({"type": "error", "sessionID": "ses_1", "error": {"name": "APIError",
            "data": {"message": "mock error", "statusCode": status, "responseHeaders": headers}}})
    };
    let (heard, ear) = hears(AgentAdapter::Opencode, &[failed(429, json!({"retry-after": "60"}))]);
    assert!(heard.iter().all(|heard| heard != "began"));
    assert!(ear.limited.unwrap().until.is_some());
    let (_, ear) = hears(AgentAdapter::Opencode, &[failed(401, json!({}))]);
    assert_eq!((ear.limited, ear.problem.as_deref()), (None, Some("APIError: mock error")));
}

fn hears_text(lines: &[&str], is_clean: bool) -> (Vec<String>, OutputParser) {
    let mut ear = OutputParser::new(AgentAdapter::Command, TokenUsage::default());
    let mut heard: Vec<_> = lines.iter().flat_map(|line| ear.line(line)).collect();
    heard.extend(ear.end(is_clean));
    (heard.iter().map(short).collect(), ear)
}

#[test]
fn any_program_is_understood() {
    let (heard, ear) = hears_text(&["one", "", "{\"a\":1}", "<promise>COMPLETE</promise>"], true);
    assert_eq!(heard, ["began", "says one", "says {\"a\":1}", "says <promise>COMPLETE</promise>"]);
    assert_eq!(ear.message.as_deref(), Some("one\n\n{\"a\":1}\n<promise>COMPLETE</promise>"));

    let (heard, ear) = hears_text(&[], true);
    assert_eq!((heard, ear.message), (vec!["began".to_owned()], None));
    assert_eq!(hears_text(&[], false).0, Vec::<String>::new());
}

#[test]
fn the_protocol_is_understood() {
    let (heard, ear) = hears_text(
        &[
            r#"{"sayso":"session","id":"s-1"}"#,
            r#"{"sayso":"says","text":"hello"}"#,
            r#"{"sayso":"does","text":"a  thing"}"#,
            r#"{"sayso":"spent","input_tokens":3,"output_tokens":4,"cost_usd":0.000005}"#,
            "chatter",
            r#"{"sayso":"final","text":"the end"}"#,
            r#"{"sayso":"unheard of"}"#,
        ],
        true,
    );
    assert_eq!(
        heard,
        [
            "session s-1",
            "began",
            "says hello",
            "does a thing",
            "spent 3 4 5",
            "says chatter",
            "says the end",
            "says {\"sayso\":\"unheard of\"}",
        ]
    );
    assert_eq!(ear.message.as_deref(), Some("the end"));

    let limited = r#"{"sayso":"limited","until":"2026-10-08T16:00:00Z","text":"later"}"#;
    let (heard, ear) = hears_text(&[limited], true);
    assert_eq!(heard, ["limited 1791475200000000"]);
    assert_eq!(ear.limited.unwrap().text, "later");

    let gone = [r#"{"sayso":"session","id":"s"}"#, r#"{"sayso":"session_gone"}"#];
    let (heard, ear) = hears_text(&gone, true);
    assert_eq!(heard, ["session s"]);
    assert!(ear.session_gone);
}

#[test]
fn a_session_that_could_be_an_option_is_none() {
    for id in ["-p", "--yolo", "", "a b", "a\nb", "é"] {
        let (heard, _) = hears_text(&[&json!({"sayso": "session", "id": id}).to_string()], false);
        assert_eq!(heard, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn a_question_lost_in_too_much_text_is_no_yes() {
    let spam = "x".repeat(100_000);
    let mut lines = vec![spam.as_str(); 40];
    lines.push("<promise>COMPLETE</promise>");
    let (_, ear) = hears_text(&lines, true);
    let said = crate::final_message::read(&ear.message.unwrap());
    assert!(matches!(said, crate::TurnResult::Completed { .. }));

    lines.insert(12, "<promise>INPUT_NEEDED: a?</promise>");
    let (_, ear) = hears_text(&lines, true);
    let message = ear.message.unwrap();
    assert!(message.len() < 2_000_000, "{}", message.len());
    assert!(matches!(crate::final_message::read(&message), crate::TurnResult::Unclear { .. }));
}

#[test]
fn lines_of_a_log_are_made_readable() {
    for (adapter, line, expected) in [
        (
            AgentAdapter::ClaudeCode,
            claude_says("m", json!({"type": "text", "text": "Hi."})).to_string(),
            Some("Hi."),
        ),
        (
            AgentAdapter::ClaudeCode,
            r#"{"type":"system","subtype":"init","session_id":"s"}"#.into(),
            None,
        ),
        (AgentAdapter::ClaudeCode, "not JSON".into(), None),
        (
            AgentAdapter::Codex,
            r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#.into(),
            Some("* ls"),
        ),
        (
            AgentAdapter::Codex,
            r#"{"type":"turn.failed","error":{"message":"broken"}}"#.into(),
            Some("! broken"),
        ),
        (
            AgentAdapter::Gemini,
            r#"{"type":"message","role":"assistant","content":"Hi."}"#.into(),
            Some("Hi."),
        ),
        (AgentAdapter::Command, "any text".into(), Some("any text")),
        (AgentAdapter::Command, r#"{"sayso":"does","text":"ls"}"#.into(), Some("* ls")),
        (AgentAdapter::Codex, "stderr: oh".into(), Some("! oh")),
        (AgentAdapter::Codex, "[sayso] 5 bytes left out".into(), Some("[sayso] 5 bytes left out")),
    ] {
        assert_eq!(format_log_line(adapter, &line).as_deref(), expected, "{line}");
    }
}

#[test]
fn a_session_that_is_gone_is_recognised_by_the_client_s_words() {
    for (adapter, text) in [
        (AgentAdapter::ClaudeCode, "No conversation found with session ID: 1"),
        (
            AgentAdapter::Codex,
            "Error: thread/resume: thread/resume failed: no rollout found for thread id 1 (code -32600)",
        ),
        (AgentAdapter::Gemini, "Error resuming session: Invalid session identifier \"1\"."),
        (AgentAdapter::Opencode, "\u{1b}[91mError: \u{1b}[0mSession not found"),
    ] {
        assert!(means_session_gone(adapter, text), "{text}");
        assert!(!means_session_gone(adapter, "401 Unauthorized"), "{adapter}");
    }
}
