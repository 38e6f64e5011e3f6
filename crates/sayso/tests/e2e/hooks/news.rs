//! What an agent hears through its hooks: how to ask and what holds, messages, and answers (D9).

use super::{POLICY, event, hook};
use crate::governed::policy;
use crate::harness::everywhere;
use serde_json::{Value, json};

fn context(text: &str) -> String {
    let said: Value = serde_json::from_str(text).unwrap();
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

everywhere! {
    /// At its start an agent is told how to ask, how much, which rules hold, and not to poll.
    fn an_agent_is_told_how_to_ask(space: &Space) {
        policy(space, "space", POLICY);
        space.ann(&["tell", "coder", "Use the new port."]).ok();
        for client in ["claude-code", "codex"] {
            let said = hook(space, "coder", client, "SessionStart", "{\"source\": \"startup\"}", "0s").exits(0);
            let told = context(&said.stdout);
            for text in ["sayso ask", "ask_human", "sparingly", "pushes (tool): a person is asked. Others see a push.", "do not poll"] {
                assert!(told.contains(text), "{client}: {text}: {told}");
            }
            assert_eq!(told.contains("Use the new port."), client == "claude-code", "heard once: {told}");
        }
        let printed = space.coder(&["agent", "ignition"]).ok();
        assert!(printed.contains("Await a message, do not poll") && printed.contains("never (tool): never."), "{printed}");
        let printed = space.ann(&["agent", "ignition", "coder"]).ok();
        assert!(printed.contains("pushes (tool)"), "{printed}");
    }
}

everywhere! {
    /// Messages and answers come with whatever the client does next, each once; an answer that was told is
    /// still there to be used.
    fn answers_are_carried_in(space: &Space) {
        policy(space, "space", POLICY);
        for client in ["claude-code", "codex"] {
            let call = |name: &str, body: &str| hook(space, "coder", client, name, body, "0s").exits(0).stdout;
            let pushes = event("PreToolUse", "Bash", &json!({"command": format!("git push {client}")}));
            hook(space, "coder", client, "PreToolUse", &pushes, "0s").exits(2);
            let open = space.ann(&["inbox", "--json"]).json();
            let gate = open["items"][0]["handle"].as_str().unwrap().to_owned();
            space.ann(&["approve", &gate]).ok();
            space.ann(&["tell", "coder", "Then rest."]).ok();
            let ran = event("PostToolUse", "Bash", &json!({"command": "git status"}));
            // What a part of the agent did is no place for what the agent is to hear.
            assert_eq!(call("PostToolUse", &ran.replacen('{', "{\"agent_id\": \"a1\", ", 1)), "");
            let told = context(&call("PostToolUse", &ran));
            assert!(told.contains(&format!("Gate {gate}")) && told.contains("approved by ann"), "{told}");
            assert!(told.contains("same call again") && told.contains("Then rest."), "{told}");
            assert_eq!(call("PostToolUse", &ran), "", "once");
            assert_eq!(call("Stop", "{}"), "");
            assert!(call("PreToolUse", &pushes).contains("\"allow\""), "told is not used");
        }
        space.verify();
    }
}

everywhere! {
    /// An agent does not end its turn with an answer it has not heard, and is kept from that once.
    fn nobody_stops_before_the_answer_is_heard(space: &Space) {
        let gate = space.ask("coder", &["Which port?"]);
        space.ann(&["respond", &gate, "8443"]).ok();
        let stop = |body: &str| hook(space, "coder", "claude-code", "Stop", body, "0s").exits(0).stdout;
        let kept: Value = serde_json::from_str(&stop("{\"stop_hook_active\": false}")).unwrap();
        assert_eq!(kept["decision"], "block");
        assert!(kept["reason"].as_str().unwrap().contains("8443"), "{kept}");
        assert_eq!(stop("{\"stop_hook_active\": true}"), "");
        // However much is written to it meanwhile, nobody is kept for ever.
        for n in 0..3 {
            space.ann(&["tell", "coder", &format!("And {n}.")]).ok();
            assert_eq!(stop("{\"stop_hook_active\": true}"), "");
        }
        assert!(stop("{}").contains("And 2."));
        assert_eq!(stop("{}"), "");
    }
}
