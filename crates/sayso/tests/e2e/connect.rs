//! Connecting clients: the change to their files is shown, made, known and taken back; what others wrote
//! in them stays, whatever happens in between (D9).

use crate::governed::policy;
use crate::harness::{Backend, Ran, Space, Who};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const CLIENTS: [&str; 4] = ["claude-code", "codex", "gemini", "opencode"];

/// A home in which clients find what their user wrote.
pub struct Home<'a> {
    space: &'a Space,
    folder: PathBuf,
}

impl<'a> Home<'a> {
    pub fn new(space: &'a Space) -> Self {
        let folder = space.path().join("home");
        fs::create_dir_all(folder.join("bin")).unwrap();
        let home = Self { space, folder };
        // Stands in for Codex, which says what it recognises a hook by.
        home.write("bin/codex", FAKE_CODEX);
        fs::set_permissions(home.folder.join("bin/codex"), fs::Permissions::from_mode(0o755))
            .unwrap();
        home
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap()
    }

    /// Runs `connect` at a terminal, where this is typed.
    fn connect_typing(&self, who: Who<'_>, args: &[&str], typed: &str) -> Ran {
        let args: Vec<_> = ["connect"].iter().chain(args).copied().collect();
        let mut command = self.space.command(who, &args);
        let path =
            format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap());
        command.env("HOME", &self.folder).env("PATH", path);
        command.env("XDG_CONFIG_HOME", self.folder.join(".config"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        Ran::of(&child.wait_with_output().unwrap())
    }

    fn connect(&self, args: &[&str]) -> Ran {
        self.connect_typing(Who::Terminal, args, "")
    }

    /// Every file of the project and the home, but those of the space and of the user's own state.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.space.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match entry.is_dir() {
                    true if entry.ends_with(".sayso") || entry.ends_with("state/sayso") => {}
                    true => folders.push(entry),
                    false => drop(all.insert(entry.clone(), fs::read_to_string(entry).unwrap())),
                }
            }
        }
        all
    }

    fn token(&self, agent: &str) -> PathBuf {
        self.space.path().canonicalize().unwrap().join(format!(".sayso/tokens/{agent}.token"))
    }
}

const FAKE_CODEX: &str = r#"#!/bin/sh
[ "$1" = app-server ] || exit 7
home=${CODEX_HOME:-$HOME/.codex}
read -r line; echo '{"id":1,"result":{}}'; read -r line; read -r line
hook() { printf '{"key":"%s/hooks.json:%s","currentHash":"sha256:%s","enabled":true,"isManaged":false,"trustStatus":"untrusted"}' "$home" "$1" "$2"; }
echo '{"method":"something/else"}'
echo "{\"id\":2,\"result\":{\"data\":[{\"hooks\":[$(hook pre_tool_use:0:0 a0),$(hook pre_tool_use:1:0 a1),$(hook stop:0:0 b0)]}]}}"
read -r line
"#;

/// What users had in their files before; each is laid out in its own way.
const WRITTEN: [(&str, &str); 5] = [
    (
        ".claude/settings.json",
        "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"audit.sh\"}]}]\n\t}\n}\n",
    ),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"o5\" # fast\n\n[mcp_servers.other]\ncommand = \"other\"\n",
    ),
    (
        ".codex/hooks.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"first.sh\"}]}]}}",
    ),
    (".gemini/settings.json", "{\n  // my theme\n  \"ui\": {\"theme\": \"Dracula\"}, // dark\n}\n"),
    (".config/opencode/opencode.jsonc", "{\n  /* mine */\n  \"model\": \"x/y\"\n}"),
];

#[test]
fn what_is_connected_is_disconnected_without_a_trace() {
    for scope in ["user", "project"] {
        for is_new in [true, false] {
            let space = Space::new(Backend::Sqlite);
            let home = Home::new(&space);
            if !is_new {
                WRITTEN.iter().for_each(|(path, text)| home.write(path, text));
            }
            for client in CLIENTS {
                let before = home.files();
                home.connect(&[client, "--scope", scope, "--dry-run"])
                    .says("+++ ")
                    .says("dry run")
                    .ok();
                assert_eq!(home.files(), before, "{client}");
                assert!(!home.token(client).exists());

                home.connect(&[client, "--scope", scope, "--yes"])
                    .says("+++ ")
                    .says("is connected as agent")
                    .ok();
                let connected = home.files();
                assert_ne!(connected, before, "{client}");
                let mode = fs::metadata(home.token(client)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{client}");
                home.connect(&[client, "--scope", scope, "--yes"]).says("already connected").ok();
                assert_eq!(home.files(), connected, "{client}");

                home.connect(&[client, "--scope", scope, "--undo", "--yes"])
                    .says("disconnected")
                    .ok();
                assert_eq!(home.files(), before, "{client} {scope} {is_new}");
                assert!(!home.token(client).exists());
                home.connect(&[client, "--scope", scope, "--undo"]).says("was not connected").ok();
            }
            let tokens = space.ann(&["token", "list"]).exits(0);
            assert_eq!(tokens.stdout.matches("revoked").count(), 4, "{tokens:?}");
            space.verify();
        }
    }
}

/// The command in a client's file, run as the client does it: by a shell, anywhere.
#[test]
fn the_hook_in_the_file_is_ruled_on() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    policy(
        &space,
        "space",
        "rules: [{name: never, on: tool, match: {command: 'rm *'}, then: deny, reason: No.}]",
    );
    home.connect(&["claude-code", "--yes", "--agent", "fixer"]).says("as agent fixer").ok();
    let file = space.path().join(".claude/settings.local.json");
    let settings: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let hook = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(hook["onFailure"], "block");
    assert!(hook["timeout"].as_u64() > Some(570), "above the time a call is held: {hook}");
    let run = |command: &str, variables: &[(&str, &str)]| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", hook["command"].as_str().unwrap()]).current_dir("/").env_clear();
        shell.envs(variables.iter().copied()).stdin(Stdio::piped());
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/"});
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        Ran::of(&child.wait_with_output().unwrap())
    };
    assert_eq!(run("ls", &[]).ok(), "");
    run("rm x", &[]).exits(2).says("\"deny\"");
    // The token of an agent in the environment counts first, that of a person does not count.
    let (ann, coder) = (space.token("ann"), space.token("coder"));
    for token in [&ann, &coder] {
        run("rm x", &[("SAYSO_TOKEN_FILE", token.to_str().unwrap())]).says("\"deny\"").exits(2);
    }
    let actors: Vec<_> = space.audit().iter().map(|e| e["actor"].to_string()).collect();
    assert!(!actors.is_empty());
    fs::remove_file(home.token("fixer")).unwrap();
    run("ls", &[]).says("cannot be read").exits(2);
    // Without its token it is not connected; with a new one it is.
    home.connect(&["claude-code", "--yes", "--agent", "fixer"]).says("+ a token").ok();
    assert_eq!(run("ls", &[]).ok(), "");
}

#[test]
fn what_others_wrote_since_stays() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    for client in CLIENTS {
        home.connect(&[client, "--scope", "user", "--yes"]).ok();
    }
    // Somebody's own hook comes behind ours, and their own settings around it.
    let theirs = json!({"matcher": "Edit", "hooks": [{"type": "command", "command": "format.sh"}]});
    for (path, event) in [
        (".claude/settings.json", "PreToolUse"),
        (".codex/hooks.json", "PreToolUse"),
        (".gemini/settings.json", "BeforeTool"),
    ] {
        let mut all: Value = serde_json::from_str(&home.text(path)).unwrap();
        all["hooks"][event].as_array_mut().unwrap().push(theirs.clone());
        all["theirs"] = true.into();
        home.write(path, &all.to_string());
    }
    let config = home.folder.join(".codex/config.toml");
    let key = |at: usize| {
        format!("{}:pre_tool_use:{at}:0\"]", home.folder.join(".codex/hooks.json").display())
    };
    let text = format!(
        "# theirs\n{}\n[hooks.state.\"{}\ntrusted_hash = \"sha256:ff\"\n",
        home.text(".codex/config.toml"),
        key(1)
    );
    fs::write(&config, text).unwrap();
    for client in CLIENTS {
        home.connect(&[client, "--scope", "user", "--undo", "--yes"]).ok();
    }
    for path in [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"] {
        let text = home.text(path);
        assert!(!text.contains("sayso") && text.contains("format.sh"), "{path}: {text}");
        assert!(text.contains("\"theirs\":true"), "{path}: {text}");
    }
    // Codex trusts a hook at its place: theirs moved up, and so did the trust in it.
    let text = home.text(".codex/config.toml");
    assert!(
        text.starts_with("# theirs") && text.contains(&key(0)) && text.contains("sha256:ff"),
        "{text}"
    );
    assert!(!text.contains(&key(1)) && !text.contains("sha256:a"), "{text}");
    assert!(!home.folder.join(".config/opencode/plugin/sayso.js").exists());
}

#[test]
fn codex_is_told_to_trust_exactly_our_hooks() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    WRITTEN.iter().for_each(|(path, text)| home.write(path, text));
    home.connect(&["codex", "--scope", "user", "--yes"]).says("does not trust").ok();
    let text = home.text(".codex/config.toml");
    let at = |place: &str| {
        format!("[hooks.state.\"{}:{place}\"]", home.folder.join(".codex/hooks.json").display())
    };
    for (place, hash) in [("pre_tool_use:1:0", "sha256:a1"), ("stop:0:0", "sha256:b0")] {
        assert!(text.contains(&format!("{}\ntrusted_hash = \"{hash}\"", at(place))), "{text}");
    }
    assert!(!text.contains("sha256:a0"), "somebody else's hook: {text}");
    assert!(text.starts_with("# mine\nmodel = \"o5\" # fast\n"), "{text}");
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_left_alone() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let refused = |client: &str, path: &str, says: &str| {
        let before = home.files();
        home.connect(&[client, "--scope", "user", "--yes"])
            .says(says)
            .says(path)
            .says("nothing was changed")
            .exits_not(0);
        assert_eq!(home.files(), before, "{client}");
        assert!(!home.token(client).exists(), "{client}");
    };
    home.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n  \"x\": 1\n}");
    refused("claude-code", ".claude/settings.json", "line 3: a comma");
    home.write(".claude/settings.json", "{\"hooks\": 7}");
    refused("claude-code", ".claude/settings.json", "hooks is something else");
    home.write(".gemini/settings.json", "[]");
    refused("gemini", ".gemini/settings.json", "no object");
    home.write(".codex/config.toml", "model = ");
    refused("codex", ".codex/config.toml", "SAY049");
    home.write(".codex/config.toml", "hooks = 7\n");
    refused("codex", ".codex/config.toml", "hooks is something else");
    home.write(".gemini/settings.json", "{}\n");
    let kept = home.folder.join(".gemini/settings.json");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o444)).unwrap();
    let before = home.files();
    home.connect(&["gemini", "--scope", "user", "--yes"])
        .says("is read-only; nothing was changed")
        .refused("SAY025");
    assert_eq!(home.files(), before);
}

/// Who keeps their settings elsewhere and links to them finds them changed there, still linked.
/// A server of somebody else's that is called like ours is not ours to replace, nor to take away.
#[test]
fn another_server_of_that_name_is_left_alone() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let json = "{\"mcpServers\": {\"sayso\": {\"command\": \"old\"}}}\n";
    let toml = "[mcp_servers.sayso]\ncommand = \"old\"\n";
    home.write(".claude.json", json);
    home.write(".codex/config.toml", toml);
    for (client, file, text) in
        [("claude-code", ".claude.json", json), ("codex", ".codex/config.toml", toml)]
    {
        let args = [client, "--scope", "user", "--yes"];
        home.connect(&args).says("another server called sayso").exits_not(0);
        home.connect(&[client, "--scope", "user", "--undo", "--yes"]);
        assert_eq!(home.text(file), text, "{client}");
    }
}

#[test]
fn a_link_stays_a_link() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    home.write("dotfiles/gemini.json", "{\"mine\": 1}\n");
    let (link, target) =
        (home.folder.join(".gemini/settings.json"), home.folder.join("dotfiles/gemini.json"));
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&target, &link).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    home.connect(&["gemini", "--scope", "user", "--yes"]).ok();
    assert!(link.is_symlink() && home.text("dotfiles/gemini.json").contains("BeforeTool"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    home.connect(&["gemini", "--scope", "user", "--undo", "--yes"]).ok();
    assert_eq!(home.text("dotfiles/gemini.json"), "{\"mine\": 1}\n");
    fs::remove_file(&target).unwrap();
    home.connect(&["gemini", "--scope", "user", "--yes"])
        .says("a link to a file that is not there")
        .exits_not(0);
    assert!(!Path::new(&target).exists());
}

#[test]
fn a_person_is_asked_and_nobody_else_may() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let before = home.files();
    let as_who = |who: Who<'_>, typed: &str, args: &[&str]| {
        let args: Vec<_> = ["gemini", "--scope", "user"].iter().chain(args).copied().collect();
        home.connect_typing(who, &args, typed)
    };
    as_who(Who::Agent("coder"), "", &["--yes"]).says("BeforeTool").refused("SAY037");
    as_who(Who::Script, "", &["--yes"]).refused("SAY011");
    as_who(Who::Terminal, "", &["--no-input"]).says("BeforeTool").says("--yes").refused("SAY041");
    as_who(Who::Terminal, "", &["--json"]).refused("SAY041");
    as_who(Who::Terminal, "n\n", &[]).says("BeforeTool").says("[y/N]").refused("SAY041");
    as_who(Who::Terminal, "\n", &[]).refused("SAY041");
    assert_eq!(home.files(), before);
    as_who(Who::Terminal, "y\n", &[]).says("is connected").ok();
    as_who(Who::Human("ann"), "", &["--undo", "--yes"]).refused("SAY012");
    let done = as_who(Who::Terminal, "", &["--undo", "--json", "--yes"]).json();
    assert_eq!((&done["state"], &done["changed"]), (&json!("disconnected"), &json!(true)));
    assert_eq!(done["files"][0]["how"], "removed");
    as_who(Who::Terminal, "y\n", &[]).ok();
    as_who(Who::Agent("coder"), "", &["--undo", "--yes"]).refused("SAY037");
    home.connect(&["gemini", "--agent", "../x", "--yes"]).refused("SAY038");
    space.verify();
}

/// What is new in a repository is named, unless git leaves it out; no folder stays behind.
#[test]
fn a_repository_is_kept_clean() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let init =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(space.path()).status();
    assert!(init.unwrap().success());
    home.connect(&["opencode", "--yes"]).says("git does not ignore .opencode/plugin/sayso.js").ok();
    home.connect(&["opencode", "--undo", "--yes"]).ok();
    assert!(!space.path().join(".opencode").exists());
    fs::write(space.path().join(".gitignore"), ".opencode\n").unwrap();
    home.connect(&["opencode", "--yes"]).never_says("git does not ignore").ok();
}

/// A program that stands in for a client.
fn stand_in(home: &Home<'_>, name: &str, script: &str) {
    home.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    let path = home.folder.join("bin").join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What is wrong with a client that cannot be shown to ask is said, and nothing passes by accident.
#[test]
fn a_check_that_shows_nothing_fails() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let check = |args: &[&str]| {
        let args: Vec<_> = ["--check"].iter().chain(args).copied().collect();
        home.connect_typing(Who::Script, &args, "")
    };
    // Of all of them: what is not there is no failure, what is not connected a warning.
    stand_in(&home, "gemini", "echo 0.61.0");
    check(&[]).says("not connected: it asks nobody").says("sayso connect gemini").ok();
    check(&["gemini"]).says("not connected").exits(2);
    home.connect(&["gemini", "--scope", "user", "--yes"]).ok();
    check(&["gemini"]).says("it ended without asking its model").says("0.61.0").exits(1);
    fs::remove_file(home.folder.join("bin/gemini")).unwrap();
    check(&["gemini"]).says("not found").says("install it").exits(2);
    // Claude Code that goes on when a hook cannot be run, and one whose hooks are switched off.
    home.write(".claude/settings.json", "{\"disableAllHooks\": true}\n");
    stand_in(&home, "claude", "echo '2.1.197 (Claude Code)'");
    home.connect(&["claude-code", "--scope", "user", "--yes"])
        .says("disableAllHooks")
        .says("2.1.197")
        .ok();
    check(&["claude-code"]).says("update it").says("disableAllHooks is set").exits_not(0);
    // A hook that somebody took out again.
    let all: Value = serde_json::from_str(&home.text(".claude/settings.json")).unwrap();
    home.write(
        ".claude/settings.json",
        &json!({"hooks": {"Stop": all["hooks"]["Stop"]}}).to_string(),
    );
    check(&["claude-code"])
        .says("no hook for PreToolUse, PermissionRequest, PostToolUse, UserPromptSubmit, SessionStart, SessionEnd")
        .exits_not(0);
    // A client that calls its tool and asks nobody.
    stand_in(&home, "claude", ASKS_NOBODY);
    home.connect(&["claude-code", "--scope", "user", "--yes"]).ok();
    let ran = check(&["claude-code", "--json"]).exits(1);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    let failed = |name: &str| {
        all[0]["checks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|c| c["name"] == name && c["result"] == "failed")
    };
    assert!(failed("hook") && failed("reason") && all[0]["healthy"] == false, "{all}");
    let left: Vec<_> = fs::read_dir(space.path().join(".sayso"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("check-")), "{left:?}");
}

const ASKS_NOBODY: &str = r#"
[ "$1" = --version ] && { echo 2.1.400; exit; }
exec bash -c '
at=${ANTHROPIC_BASE_URL#http://} body="{\"tools\": [{\"name\": \"Bash\"}]}"
exec 3<>/dev/tcp/${at%:*}/${at#*:}
printf "POST /v1/messages HTTP/1.1\r\nContent-Length: ${#body}\r\n\r\n$body" >&3
cat <&3'
"#;

/// The doctor tells what is connected, and what a client cannot be kept from.
#[test]
fn the_doctor_knows_who_is_connected() {
    let space = Space::new(Backend::Sqlite);
    let home = Home::new(&space);
    let doctor = || {
        let mut command = space.command(Who::Human("ann"), &["doctor", "--quick"]);
        command.env("HOME", &home.folder).env("XDG_CONFIG_HOME", home.folder.join(".config"));
        space.finish(&mut command)
    };
    doctor().never_says("known:").ok();
    for client in CLIENTS {
        home.connect(&[client, "--scope", "user", "--yes"]).ok();
    }
    let said = doctor().exits(0);
    assert_eq!(said.stdout.matches("known: ").count(), 4, "{said:?}");
    said.says("write_stdin");
}
