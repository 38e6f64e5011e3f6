//! No agent says yes: not by the front door, not by any side door, not with a person's token in
//! reach. Each attempt is refused, leaves everything as it was, and is written down.

use crate::harness::{SAYSO, Space, Who, everywhere};
use std::process::Command;

/// A gated task under an epic, one that requires approval, and one that was rejected.
struct Scene {
    epic: String,
    task: String,
    gate: String,
    lonely: String,
    requires: String,
    rejected: String,
}

impl Scene {
    fn new(space: &Space) -> Self {
        let epic = space.create(&["All of it", "--type", "epic"]);
        let task = space.create(&["A part", "--parent", &epic]);
        let gate = space
            .run(Who::Script, &["ask", "Is it good?", "--task", &task, "--kind", "approval"])
            .ok();
        let lonely = space.run(Who::Script, &["ask", "Ship?", "-o", "yes", "-o", "no"]).ok();
        let requires = space.create(&["Another part", "--requires", "approval"]);
        let rejected = space.create(&["Not this", "--awaiting", "input"]);
        space.ann(&["reject", &rejected, "never"]).ok();
        Self { epic, task, gate, lonely, requires, rejected }
    }

    /// Every way to say yes, or to get round one who would have to.
    fn doors<'a>(&'a self, name: &'a str) -> Vec<Vec<&'a str>> {
        let Scene { epic, task, gate, lonely, requires, rejected } = self;
        vec![
            vec!["approve", gate],
            vec!["approve", task],
            vec!["reject", gate, "no"],
            vec!["respond", gate, "yes"],
            vec!["respond", lonely, "yes"],
            vec!["answer", gate, "yes"],
            vec!["answer", lonely, "yes"],
            vec!["choose", lonely, "yes"],
            vec!["done", gate],
            vec!["update", task, "--verdict", "approved"],
            vec!["update", task, "--verdict", "rejected"],
            vec!["update", task, "--awaiting=null"],
            vec!["update", task, "--status", "closed"],
            vec!["update", task, "--status", "deferred"],
            vec!["update", task, "--status", "failed"],
            vec!["update", task, "--status", "blocked"],
            vec!["update", requires, "--requires", "null"],
            vec!["update", requires, "--requires", "review"],
            vec!["close", task],
            vec!["close", task, "--force"],
            vec!["close", epic, "--force"],
            vec!["defer", task],
            vec!["delete", task],
            vec!["delete", epic, "--force"],
            vec!["delete", requires],
            vec!["delete", "--whole-space", name],
            vec!["reopen", rejected],
            vec!["update", rejected, "--status", "open"],
            vec!["note", task, "ann: approved", "--from", "human"],
            vec!["withdraw", gate],
            vec!["withdraw", lonely],
            vec!["token", "create", "--role", "human", "--name", "ann"],
            vec!["token", "revoke", "k0000"],
            vec!["unlock"],
            vec!["unlock", "--set"],
        ]
    }

    /// Everything a verdict could have changed.
    fn state(&self, space: &Space) -> Vec<String> {
        let ids =
            [&self.epic, &self.task, &self.gate, &self.lonely, &self.requires, &self.rejected];
        // As a script, which leaves no trace of having seen them.
        let shown = |id: &&String| space.run(Who::Script, &["show", id, "--json"]).ok();
        ids.iter().map(shown).collect()
    }
}

fn name_of(space: &Space) -> String {
    space.path().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Another's gate does not exist for an agent that would take it back; anything else is a person's say-so.
#[track_caller]
fn refused_as_an_agent(ran: crate::harness::Ran, args: &[&str]) {
    if args[0] == "withdraw" {
        ran.exits(3).refused("SAY001");
        return;
    }
    let ran = ran.exits(5);
    assert!(
        ran.stderr.contains("SAY010") || ran.stderr.contains("SAY037"),
        "{args:?}: {}",
        ran.stderr
    );
}

fn refusals(space: &Space) -> usize {
    space.audit().iter().filter(|entry| entry["outcome"] == "refused").count()
}

everywhere! {
    fn an_agents_credential(space: &Space) {
        let (scene, name) = (Scene::new(space), name_of(space));
        let (before, doors) = (scene.state(space), scene.doors(&name));
        let count = refusals(space);
        for args in &doors {
            refused_as_an_agent(space.coder(args), args);
        }
        assert_eq!(scene.state(space), before);
        assert_eq!(refusals(space), count + doors.len(), "each one is written down");
        let entry = &space.audit()[0];
        assert_eq!((entry["actor"].as_str(), entry["role"].as_str()), (Some("coder"), Some("agent")));
        space.ann(&["audit", "list"]).exits(0).says("refused").says("agent coder");
        space.verify();
    }
}

everywhere! {
    /// Neither does a script without a person: the exit code is the same, the hint is for people.
    fn no_terminal_and_no_token(space: &Space) {
        let (scene, name) = (Scene::new(space), name_of(space));
        let (before, doors) = (scene.state(space), scene.doors(&name));
        for args in &doors {
            // What the script's own user asked, it may take back.
            if args[0] == "withdraw" {
                continue;
            }
            space.run(Who::Script, args).exits(5);
        }
        let refused = space.run(Who::Script, &["approve", &scene.gate]).exits(5).refused("SAY011");
        assert!(refused.stderr.contains("SAYSO_TOKEN_FILE"), "{}", refused.stderr);
        assert_eq!(scene.state(space), before);
        assert!(space.audit().iter().any(|e| e["outcome"] == "refused" && e["object"] == "SAY011"));
    }
}

/// The marks of the agents people use, each alone.
const MARKS: [(&str, &str); 14] = [
    ("COPILOT_CLI", "1"),
    ("COPILOT_AGENT_SESSION_ID", "5aacf7d0"),
    ("QWEN_CODE", "1"),
    ("GOOSE_TERMINAL", "1"),
    ("CLINE_ACTIVE", "true"),
    ("CLAUDECODE", "1"),
    ("CLAUDE_CODE_ENTRYPOINT", "cli"),
    ("GEMINI_CLI", "1"),
    ("OPENCODE", "1"),
    ("CURSOR_AGENT", "1"),
    ("AI_AGENT", "1"),
    ("CODEX_SANDBOX", "seatbelt"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "1"),
    ("CODEX_THREAD_ID", "t1"),
];

everywhere! {
    /// An agent's mark in the environment outweighs a person's token in reach.
    fn a_mark_beside_a_persons_token(space: &Space) {
        let (scene, name) = (Scene::new(space), name_of(space));
        let before = scene.state(space);
        for (variable, value) in MARKS {
            let mut command = space.command(Who::Human("ann"), &["approve", &scene.gate]);
            let ran = space.finish(command.env(variable, value)).exits(5).refused("SAY010");
            assert!(ran.stderr.contains(variable), "{}", ran.stderr);
        }
        for args in scene.doors(&name) {
            let mut command = space.command(Who::Human("ann"), &args);
            refused_as_an_agent(space.finish(command.env("CLAUDECODE", "1")), &args);
        }
        // An agent's token beside it counts as a mark, too.
        let secret = std::fs::read_to_string(space.token("coder")).unwrap();
        let mut command = space.command(Who::Human("ann"), &["approve", &scene.gate]);
        space.finish(command.env("SAYSO_TOKEN", secret.trim())).exits(5).refused("SAY010");
        assert_eq!(scene.state(space), before);
        // What it may do it does under its own name.
        let mut command = space.command(Who::Human("ann"), &["note", &scene.task, "done", "--from", "agent"]);
        space.finish(command.env("CLAUDECODE", "1")).ok();
        let mut command = space.command(Who::Human("ann"), &["tell", "tester", "ann says yes"]);
        space.finish(command.env("CLAUDECODE", "1")).ok();
        assert_eq!(space.show(&scene.task)["notes"][0]["author"], "claude-code");
        let message = space.run(Who::Agent("tester"), &["messages", "--json"]).json();
        assert_eq!(message["items"][0]["from"], "claude-code");
        assert_eq!(message["items"][0]["from_role"], "agent");
        // And it reads its own gates only.
        let mut command = space.command(Who::Human("ann"), &["inbox", "--json"]);
        let inbox = space.finish(command.env("CLAUDECODE", "1")).json();
        assert_eq!(inbox["items"].as_array().unwrap().len(), 0);
    }
}

/// Runs a shell line below a process that carries an agent's marks.
fn below_an_agent(space: &Space, marks: &[(&str, &str)], line: &str) -> crate::harness::Ran {
    let mut command = Command::new("sh");
    // The second command keeps the shell from stepping out of the way of the first.
    command.args(["-c", &format!("{line}; exit $?"), SAYSO]);
    let like = space.command(Who::Script, &[]);
    command.current_dir(space.path()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    space.finish(command.envs(marks.iter().copied()))
}

everywhere! {
    /// The marks are taken off, a terminal is faked: an ancestor still has them.
    fn ancestors_give_an_agent_away(space: &Space) {
        let scene = Scene::new(space);
        let before = scene.state(space);
        let human = space.token("ann");
        let agent = space.token("coder");
        let (human, agent) = (human.to_str().unwrap(), agent.to_str().unwrap());
        let gate = &scene.gate;
        let marked: &[(&str, &str)] = &[("CLAUDECODE", "1")];
        let token: &[(&str, &str)] = &[("SAYSO_TOKEN_FILE", agent)];
        for (marks, line) in [
            (marked, format!("env -u CLAUDECODE SAYSO_TOKEN_FILE={human} \"$0\" approve {gate}")),
            (marked, format!("env -u CLAUDECODE script -qec \"$0 approve {gate}\" /dev/null")),
            // It is told where this machine keeps what it trusts; without that the store is refused before.
            (marked, format!("env -i XDG_STATE_HOME=\"$XDG_STATE_HOME\" SAYSO_TOKEN_FILE={human} \"$0\" approve {gate}")),
            (marked, format!("script -qec \"$0 approve {gate}\" /dev/null")),
            (token, format!("env -u SAYSO_TOKEN_FILE script -qec \"$0 approve {gate}\" /dev/null")),
            (token, format!("SAYSO_TOKEN_FILE={human} \"$0\" approve {gate}")),
            // The side doors look as closely.
            (marked, format!("env -u CLAUDECODE SAYSO_TOKEN_FILE={human} \"$0\" update {} --requires null", scene.requires)),
            (marked, format!("env -u CLAUDECODE script -qec \"$0 update {} --requires null\" /dev/null", scene.requires)),
            (marked, format!("env -u CLAUDECODE script -qec \"$0 reopen {}\" /dev/null", scene.rejected)),
            (marked, format!("env -u CLAUDECODE script -qec \"$0 defer {}\" /dev/null", scene.task)),
            (marked, "env -u CLAUDECODE script -qec \"$0 token create --role human --name eve\" /dev/null".into()),
        ] {
            below_an_agent(space, marks, &line).exits(5).refused("SAY010");
        }
        assert_eq!(scene.state(space), before);
        let refused = space.audit();
        assert!(refused[0]["outcome"] == "refused" && refused[0]["role"] == "agent", "{}", refused[0]);
        // Without an agent above it, it takes more than a terminal; see `doubt.rs`.
        below_an_agent(space, &[], &format!("script -qec \"$0 approve {gate} --no-input\" /dev/null")).exits(5);
        space.run(Who::Terminal, &["approve", gate]).ok();
    }
}

everywhere! {
    /// An agent reads its own gates, and one bound to a task changes no other.
    fn an_agent_keeps_to_its_own(space: &Space) {
        let own = space.ask("coder", &["Mine?"]);
        let other = space.ask("tester", &["Theirs?"]);
        let inbox = space.coder(&["inbox", "--json"]).json();
        assert_eq!(inbox["items"].as_array().unwrap().len(), 1);
        assert_eq!(inbox["items"][0]["handle"], own.as_str());
        space.coder(&["show", &other]).exits(3).refused("SAY001");
        space.coder(&["wait", &other, "--timeout", "0"]).exits(3).refused("SAY001");
        space.coder(&["withdraw", &other]).exits(3).refused("SAY001");
        space.coder(&[]).exits(0).says("Mine?").never_says("Theirs?");
        for args in [vec!["audit", "list"], vec!["audit", "verify"], vec!["audit", "export"], vec!["token", "list"]] {
            space.coder(&args).exits(5).refused("SAY037");
        }
        space.coder(&["withdraw", &own]).ok();

        let task = space.create(&["Its task"]);
        let elsewhere = space.create(&["Another"]);
        let file = space.token("bound");
        let mint = ["token", "create", "--role", "agent", "--name", "bound", "--task", &task, "--out"];
        space.run(Who::Terminal, &[&mint[..], &[file.to_str().unwrap()]].concat()).ok();
        let bound = Who::Holder(&file);
        for args in [
            vec!["update", &elsewhere, "--title", "x"],
            vec!["update", &elsewhere, "--awaiting", "approval"],
            vec!["close", &elsewhere],
            vec!["delete", &elsewhere],
            vec!["defer", &elsewhere],
            vec!["dep", "add", &elsewhere, &task],
            vec!["ask", "Well?", "--task", &elsewhere],
        ] {
            space.run(bound, &args).exits(5).refused("SAY037");
        }
        space.run(bound, &["update", &task, "--status", "in_progress"]).ok();
        space.run(bound, &["close", &task, "all done"]).ok();
        assert_eq!(space.state(&elsewhere), "open");
    }
}

everywhere! {
    fn tokens_that_count_no_more(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        let list = space.run(Who::Terminal, &["token", "list", "--json"]).json();
        let token = list["items"].as_array().unwrap().iter().find(|t| t["name"] == "bob").unwrap();
        let handle = token["handle"].as_str().unwrap();
        assert_eq!(token["secret"], serde_json::Value::Null);
        // A token makes and revokes no tokens, not even a person's.
        space.ann(&["token", "revoke", handle]).exits(5).refused("SAY012");
        space.ann(&["token", "create", "--role", "human", "--name", "eve"]).exits(5).refused("SAY012");
        space.run(Who::Terminal, &["token", "revoke", handle]).ok();
        for args in [vec!["approve", gate.as_str()], vec!["inbox"], vec!["create", "x"]] {
            space.run(Who::Human("bob"), &args).exits(4).refused("SAY028").says("revoked");
        }
        let file = space.token("brief");
        let mint = ["token", "create", "--role", "human", "--name", "brief", "--ttl", "1s", "--out"];
        space.run(Who::Terminal, &[&mint[..], &[file.to_str().unwrap()]].concat()).ok();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        space.run(Who::Holder(&file), &["approve", &gate]).exits(4).refused("SAY028").says("expired");
        for wrong in ["", "nonsense", "sayso_h_0000"] {
            std::fs::write(&file, wrong).unwrap();
            space.run(Who::Holder(&file), &["approve", &gate]).exits(4).refused("SAY028");
        }
        let nowhere = space.path().join("nowhere");
        space.run(Who::Holder(&nowhere), &["approve", &gate]).exits(4).refused("SAY028");
        assert_eq!(space.show(&gate)["state"], "open");
        // A file that is there is not overwritten, and no token is made for nothing.
        let count = |space: &Space| space.run(Who::Terminal, &["token", "list", "--json"]).json()["items"].as_array().unwrap().len();
        let before = count(space);
        space.run(Who::Terminal, &[&mint[..], &[file.to_str().unwrap()]].concat()).exits(1);
        assert_eq!(count(space), before);
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(space.token("ann")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

everywhere! {
    /// Roles that look after things say yes to nothing.
    fn other_roles_do_not_answer(space: &Space) {
        let gate = space.ask("coder", &["Ship?", "--verdict"]);
        for role in ["operator", "admin", "auditor", "service"] {
            space.mint(role, role);
            let file = space.token(role);
            space.run(Who::Holder(&file), &["approve", &gate]).exits(5).refused("SAY010");
            let audit = space.run(Who::Holder(&file), &["audit", "verify"]);
            assert_eq!(audit.code, if ["admin", "auditor"].contains(&role) { 0 } else { 5 }, "{role}");
            let mint = |of: &str| space.run(Who::Holder(&file), &["token", "create", "--role", of, "--name", "x"]);
            let program = mint("agent");
            assert_eq!(program.code, if role == "admin" { 0 } else { 5 }, "{role}: {}", program.stderr);
            // Whoever makes people makes their answers.
            mint("human").exits(5);
            mint("admin").exits(5);
            let create = space.run(Who::Holder(&file), &["create", "x"]);
            assert_eq!(create.code, if role == "auditor" { 5 } else { 0 }, "{role}");
        }
        assert_eq!(space.show(&gate)["state"], "open");
    }
}
