//! The connection of a client: the files it reads, and our entries in them.

use super::codex;
use super::files::ClientFileChange;
use super::jsonc::{JsoncDocument, JsoncError, JsoncStep};
use crate::commands::hook::protocol::HookClient;
use crate::exit::{Failure, Result};
use sayso_core::Code;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The name of our entries in files of other programs.
pub(super) const NAME: &str = "sayso";

/// The time a client waits for a hook that may wait for a person: longer than `hook --hold`.
const HOLD_SECONDS: u64 = 600;

/// The time a client waits for a hook that never waits for a person.
const BRIEF_SECONDS: u64 = 60;

/// The time a client waits for a tool of the MCP server, where its default is shorter and can be set.
const TOOL_SECONDS: i64 = 3600;

/// The time the MCP server waits for a person: shorter than the client.
const TOOL_HOLD: &str = "50m";

/// Appended to a hook before a call: if it cannot be started, clients take the shell's own exit code for a
/// permission.
const OR_BLOCK: &str = " || exit 2";

/// The owner of the changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ConnectScope {
    /// Those of this project, for you alone.
    Project,
    /// Yours, for every project.
    User,
}

impl ConnectScope {
    pub(super) const ALL: [ConnectScope; 2] = [ConnectScope::Project, ConnectScope::User];

    pub(super) const fn name(self) -> &'static str {
        match self {
            ConnectScope::Project => "project",
            ConnectScope::User => "user",
        }
    }
}

/// An event that a client runs a hook for.
struct HookEvent {
    name: &'static str,
    sort: HookEventKind,
}

/// The kind of an event.
#[derive(PartialEq, Eq)]
enum HookEventKind {
    /// A call that is about to run: hooked for all tools, it may wait for a person, and without our answer nothing
    /// runs.
    Call,
    /// The client prompts its own user about a call, while we ask a person: without us, its user answers.
    Dialog,
    /// A call that has run, of any tool.
    Ran,
    Other,
}

const fn event(name: &'static str, sort: HookEventKind) -> HookEvent {
    HookEvent { name, sort }
}

/// The connected events. `sayso hook` must know every one of them.
const fn events(client: HookClient) -> &'static [HookEvent] {
    const CLAUDE: &[HookEvent] = &[
        event("PreToolUse", HookEventKind::Call),
        event("PermissionRequest", HookEventKind::Dialog),
        event("PostToolUse", HookEventKind::Ran),
        event("UserPromptSubmit", HookEventKind::Other),
        event("Stop", HookEventKind::Other),
        event("SessionStart", HookEventKind::Other),
        event("SessionEnd", HookEventKind::Other),
    ];
    const GEMINI: &[HookEvent] = &[
        event("BeforeTool", HookEventKind::Call),
        event("AfterTool", HookEventKind::Ran),
        event("BeforeAgent", HookEventKind::Other),
        event("AfterAgent", HookEventKind::Other),
        event("SessionStart", HookEventKind::Other),
    ];
    const OPENCODE: &[HookEvent] = &[event("tool.execute.before", HookEventKind::Call)];
    match client {
        HookClient::ClaudeCode | HookClient::Codex => CLAUDE,
        HookClient::Gemini => GEMINI,
        HookClient::Opencode => OPENCODE,
    }
}

/// True if an event is about a call.
pub(super) fn is_call(client: HookClient, event: &str) -> bool {
    events(client).iter().any(|known| known.name == event && known.sort == HookEventKind::Call)
}

/// The events that have no hook of ours in a file.
pub(super) fn missing_events(text: &str, client: HookClient) -> Vec<&'static str> {
    let hooks = placed(text, client);
    let has = |name: &str| hooks.iter().any(|hook| hook.is_ours && hook.event == name);
    events(client).iter().map(|event| event.name).filter(|name| !has(name)).collect()
}

/// The locations of the clients' settings.
pub(super) struct ClientPaths {
    /// The folder that contains the space.
    pub(super) project: PathBuf,
    pub(super) home: PathBuf,
    /// Looks up a variable that overrides a folder.
    pub(super) given: fn(&str) -> Option<PathBuf>,
}

impl ClientPaths {
    /// The folder of a client's own files.
    pub(super) fn folder(&self, client: HookClient, scope: ConnectScope) -> PathBuf {
        let own = |name: &str, usual: &str| match scope {
            ConnectScope::Project => self.project.join(usual),
            ConnectScope::User => (self.given)(name).unwrap_or_else(|| self.home.join(usual)),
        };
        match (client, scope) {
            (HookClient::ClaudeCode, _) => own("CLAUDE_CONFIG_DIR", ".claude"),
            (HookClient::Codex, _) => own("CODEX_HOME", ".codex"),
            (HookClient::Gemini, ConnectScope::User) => {
                let home = (self.given)("GEMINI_CLI_HOME").unwrap_or_else(|| self.home.clone());
                home.join(".gemini")
            }
            (HookClient::Gemini, ConnectScope::Project) => self.project.join(".gemini"),
            (HookClient::Opencode, ConnectScope::Project) => self.project.join(".opencode"),
            (HookClient::Opencode, ConnectScope::User) => {
                let config = (self.given)("XDG_CONFIG_HOME");
                config.unwrap_or_else(|| self.home.join(".config")).join("opencode")
            }
        }
    }

    /// The file with a client's hooks.
    pub(super) fn hooks(&self, client: HookClient, scope: ConnectScope) -> PathBuf {
        let name = match (client, scope) {
            // The shared settings of a project are for all its users; the paths of one machine are not.
            (HookClient::ClaudeCode, ConnectScope::Project) => "settings.local.json",
            (HookClient::ClaudeCode, ConnectScope::User) | (HookClient::Gemini, _) => {
                "settings.json"
            }
            (HookClient::Codex, _) => "hooks.json",
            (HookClient::Opencode, _) => "plugin/sayso.js",
        };
        self.folder(client, scope).join(name)
    }

    /// The file in which a client finds MCP servers.
    fn servers(&self, client: HookClient, scope: ConnectScope) -> PathBuf {
        let folder = self.folder(client, scope);
        match (client, scope) {
            (HookClient::ClaudeCode, ConnectScope::Project) => self.project.join(".mcp.json"),
            (HookClient::ClaudeCode, ConnectScope::User) => match (self.given)("CLAUDE_CONFIG_DIR")
            {
                Some(given) => given.join(".claude.json"),
                None => self.home.join(".claude.json"),
            },
            (HookClient::Gemini, _) => folder.join("settings.json"),
            (HookClient::Codex, _) => folder.join("config.toml"),
            (HookClient::Opencode, _) => {
                let with_comments = folder.join("opencode.jsonc");
                if with_comments.exists() { with_comments } else { folder.join("opencode.json") }
            }
        }
    }

    /// Every file that connecting may change.
    pub(super) fn all(&self, client: HookClient, scope: ConnectScope) -> Vec<PathBuf> {
        let mut all = vec![self.hooks(client, scope), self.servers(client, scope)];
        if client == HookClient::Codex {
            all.push(self.trust());
        }
        all.dedup();
        all
    }

    /// The file in which Codex stores its trusted hooks, for both scopes.
    pub(super) fn trust(&self) -> PathBuf {
        self.folder(HookClient::Codex, ConnectScope::User).join("config.toml")
    }
}

/// The connection of a client to a space.
pub(super) struct ClientSetup<'a> {
    pub(super) client: HookClient,
    pub(super) scope: ConnectScope,
    pub(super) places: &'a ClientPaths,
    /// The path of this program for clients.
    pub(super) program: String,
    /// The path of the agent's token file.
    pub(super) token: String,
    /// True if there is an MCP server to connect.
    pub(super) has_server: bool,
    /// The client's own program, if it can be queried.
    pub(super) asked: Option<String>,
}

impl ClientSetup<'_> {
    /// The file changes that connect the client, or with `undo` remove all our entries.
    pub(super) fn changes(&self, undo: bool) -> Result<Vec<ClientFileChange>> {
        let mut files = FileChanges::default();
        match self.client {
            HookClient::ClaudeCode => self.claude_code(&mut files, undo)?,
            HookClient::Gemini => {
                files.json(&self.places.hooks(self.client, self.scope), |json| {
                    self.hooks(json, undo)?;
                    self.server(json, "mcpServers", undo)
                })?;
            }
            HookClient::Codex => self.codex(&mut files, undo)?,
            HookClient::Opencode => {
                let plugin = super::opencode::plugin(&self.words("tool.execute.before"));
                let change = files.take(&self.places.hooks(self.client, self.scope))?;
                change.after = (!undo).then_some(plugin);
                files.json(&self.places.servers(self.client, self.scope), |json| {
                    self.server(json, "mcp", undo)
                })?;
            }
        }
        Ok(files.0.into_iter().filter(ClientFileChange::is_any).collect())
    }

    fn claude_code(&self, files: &mut FileChanges, undo: bool) -> Result<()> {
        let has_server = self.has_server && !undo;
        files.json(&self.places.hooks(self.client, self.scope), |json| {
            self.hooks(json, undo)?;
            // Asking a person takes no permission, and the server of a project must be enabled by name.
            listed(json, &["permissions", "allow"], "mcp__sayso", has_server)?;
            let is_named = has_server && self.scope == ConnectScope::Project;
            listed(json, &["enabledMcpjsonServers"], NAME, is_named)
        })?;
        files.json(&self.places.servers(self.client, self.scope), |json| {
            self.server(json, "mcpServers", undo)
        })
    }

    fn codex(&self, files: &mut FileChanges, undo: bool) -> Result<()> {
        let path = self.places.hooks(self.client, self.scope);
        files.json(&path, |json| self.hooks(json, undo))?;
        let hooks = files.take(&path)?;
        let old = hooks.before.clone().unwrap_or_default();
        let text = hooks.after.clone().unwrap_or_default();
        let [before, after] = [&old, &text].map(|text| placed(text, self.client));
        let servers = self.places.servers(self.client, self.scope);
        files.toml(&servers, |toml| {
            if self.has_server && !undo {
                codex::set_server(toml, &self.server_words(), TOOL_SECONDS)
            } else {
                codex::remove_server(toml)
            }
        })?;
        let trusted = match (undo, &self.asked) {
            (true, _) => vec![],
            (false, Some(program)) => codex::hashes(program, &text),
            (false, None) => vec![],
        };
        // If Codex does not answer, an unchanged file is left alone.
        if !undo && trusted.is_empty() && before == after {
            return Ok(());
        }
        files
            .toml(&self.places.trust(), |toml| codex::trust(toml, &path, &before, &after, &trusted))
    }

    /// The command line of a hook.
    pub(super) fn words(&self, event: &str) -> Vec<String> {
        let project = self.places.project.display().to_string();
        let words = [&self.program, "-C", &project, "hook", self.client.name(), event];
        let token = ["--token-file", &self.token].into_iter().filter(|_| !self.token.is_empty());
        words.into_iter().chain(token).map(str::to_owned).collect()
    }

    /// The hook before a call, in the form of a client's file.
    pub(super) fn call_entry(&self, name: &'static str) -> Value {
        self.entry(&event(name, HookEventKind::Call))
    }

    /// Puts our hook before calls into a JSON text.
    pub(super) fn set_call_hook(
        &self,
        json: &mut JsoncDocument,
        name: &'static str,
    ) -> std::result::Result<(), JsoncError> {
        self.hooks_of(json, name, Some(&self.call_entry(name)))
    }

    /// The command line of the MCP server.
    fn server_words(&self) -> Vec<String> {
        let project = self.places.project.display().to_string();
        let words = [&self.program, "-C", &project, "mcp", "--hold", TOOL_HOLD];
        words.into_iter().chain(["--token-file", &self.token]).map(str::to_owned).collect()
    }

    /// A hook, in the form of a client's file.
    fn entry(&self, event: &HookEvent) -> Value {
        let seconds = match event.sort {
            HookEventKind::Call | HookEventKind::Dialog => HOLD_SECONDS,
            HookEventKind::Ran | HookEventKind::Other => BRIEF_SECONDS,
        };
        let words: Vec<_> = self.words(event.name).iter().map(|word| quoted(word)).collect();
        let mut command = words.join(" ");
        if event.sort == HookEventKind::Call {
            command.push_str(OR_BLOCK);
        }
        let mut hook = json!({"type": "command", "command": command, "timeout": seconds});
        match self.client {
            // By default it continues when the hook cannot be run at all.
            HookClient::ClaudeCode if event.sort == HookEventKind::Call => {
                hook["onFailure"] = "block".into()
            }
            HookClient::Gemini => {
                hook["timeout"] = (seconds * 1000).into();
                hook["name"] = NAME.into();
            }
            HookClient::ClaudeCode | HookClient::Codex | HookClient::Opencode => {}
        }
        let mut group = Map::new();
        if event.sort != HookEventKind::Other {
            group.insert("matcher".into(), "*".into());
        }
        group.insert("hooks".into(), json!([hook]));
        Value::Object(group)
    }

    /// Replaces our hooks in a file, one for each event; with `undo` by none.
    fn hooks(&self, json: &mut JsoncDocument, undo: bool) -> std::result::Result<(), JsoncError> {
        let wanted = if undo { &[] } else { events(self.client) };
        let known = json.get(&[JsoncStep::Key("hooks")]).unwrap_or_default();
        let names = known.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        let mut names: Vec<_> = names.collect();
        names.extend(wanted.iter().map(|event| event.name).filter(|n| known.get(n).is_none()));
        for name in names {
            let entry = wanted.iter().find(|event| event.name == name).map(|e| self.entry(e));
            self.hooks_of(json, name, entry.as_ref())?;
        }
        Ok(())
    }

    fn hooks_of(
        &self,
        json: &mut JsoncDocument,
        event: &str,
        entry: Option<&Value>,
    ) -> std::result::Result<(), JsoncError> {
        let groups =
            json.get(&[JsoncStep::Key("hooks"), JsoncStep::Key(event)]).unwrap_or_default();
        let groups = groups.as_array().cloned().unwrap_or_default();
        let ours = positions(&groups, |command| is_ours(command, self.client));
        let is_right = |(group, _): &(usize, usize)| Some(&groups[*group]) == entry;
        if matches!(ours.as_slice(), [only] if is_right(only)) {
            return Ok(());
        }
        for (group, hook) in ours.iter().rev() {
            let way = [JsoncStep::Key("hooks"), JsoncStep::Key(event), JsoncStep::At(*group)];
            let is_whole = groups[*group]["hooks"].as_array().map(Vec::len) == Some(1);
            if is_whole {
                json.remove(&way)?
            } else {
                json.remove(&[&way[..], &[JsoncStep::Key("hooks"), JsoncStep::At(*hook)]].concat())?
            }
        }
        match entry {
            Some(entry) => json.push(&["hooks", event], entry),
            None if ours.is_empty() => Ok(()),
            None => json.prune(&["hooks", event]),
        }
    }

    /// Sets or removes the MCP server in a JSON file.
    fn server(
        &self,
        json: &mut JsoncDocument,
        key: &str,
        undo: bool,
    ) -> std::result::Result<(), JsoncError> {
        let way = [JsoncStep::Key(key), JsoncStep::Key(NAME)];
        let known = json.get(&way);
        let is_ours = known.as_ref().is_some_and(is_our_server);
        if undo || !self.has_server {
            return if is_ours {
                json.remove(&way).and_then(|()| json.prune(&[key]))
            } else {
                Ok(())
            };
        }
        if known.is_some() && !is_ours {
            let what = format!("there is another server called {NAME}: rename it, or take it away");
            return Err(JsoncError { line: 1, what });
        }
        let mut words = self.server_words();
        let milliseconds = TOOL_SECONDS * 1000;
        let wanted = match self.client {
            HookClient::Opencode => json!({
                "type": "local", "command": words,
                "enabled": true, "timeout": milliseconds,
            }),
            HookClient::Gemini | HookClient::ClaudeCode | HookClient::Codex => {
                let args = words.split_off(1);
                let mut server = json!({"command": words[0], "args": args});
                if self.client == HookClient::Gemini {
                    server["timeout"] = milliseconds.into();
                    // Asking a person takes no permission.
                    server["trust"] = true.into();
                }
                server
            }
        };
        match known {
            Some(known) if known == wanted => Ok(()),
            _ => json.set(&[key, NAME], &wanted),
        }
    }
}

/// True if a server is one that we wrote: no other is started with these words.
fn is_our_server(server: &Value) -> bool {
    let words = [&server["command"], &server["args"]].map(Value::to_string).concat();
    ["\"-C\"", "\"mcp\"", "\"--token-file\""].iter().all(|word| words.contains(word))
}

/// Adds a word to a list, or removes it.
fn listed(
    json: &mut JsoncDocument,
    keys: &[&str],
    word: &str,
    wanted: bool,
) -> std::result::Result<(), JsoncError> {
    let way: Vec<_> = keys.iter().map(|key| JsoncStep::Key(key)).collect();
    let list = json.get(&way).unwrap_or_default();
    let at = list.as_array().and_then(|list| list.iter().position(|item| item == word));
    match (at, wanted) {
        (Some(_), true) | (None, false) => Ok(()),
        (None, true) => json.push(keys, &word.into()),
        (Some(at), false) => {
            json.remove(&[&way[..], &[JsoncStep::At(at)]].concat())?;
            json.prune(keys)
        }
    }
}

/// True if a hook is ours, made by `connect` or by hand.
pub(super) fn is_ours(command: &str, client: HookClient) -> bool {
    command.contains(NAME) && command.contains(&format!(" hook {} ", client.name()))
}

/// The positions of hooks with matching commands in the groups of an event.
fn positions(groups: &[Value], is_wanted: impl Fn(&str) -> bool) -> Vec<(usize, usize)> {
    let mut found = vec![];
    for (group, value) in groups.iter().enumerate() {
        for (hook, value) in value["hooks"].as_array().into_iter().flatten().enumerate() {
            if is_wanted(value["command"].as_str().unwrap_or_default()) {
                found.push((group, hook));
            }
        }
    }
    found
}

/// A hook in a file: the event, its position, and if it is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedHook {
    pub(super) event: String,
    pub(super) at: (usize, usize),
    pub(super) is_ours: bool,
}

/// All hooks in a file; none if it cannot be parsed.
pub(super) fn placed(text: &str, client: HookClient) -> Vec<PlacedHook> {
    let read = JsoncDocument::read(text).ok().and_then(|json| json.get(&[JsoncStep::Key("hooks")]));
    let mut all = vec![];
    for (event, groups) in read.iter().filter_map(Value::as_object).flatten() {
        let groups = groups.as_array().cloned().unwrap_or_default();
        let ours = positions(&groups, |command| is_ours(command, client));
        for at in positions(&groups, |_| true) {
            all.push(PlacedHook { event: event.clone(), at, is_ours: ours.contains(&at) });
        }
    }
    all
}

/// A word, quoted for every shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The files of a client, each with its planned change.
#[derive(Default)]
struct FileChanges(Vec<ClientFileChange>);

impl FileChanges {
    fn take(&mut self, path: &Path) -> Result<&mut ClientFileChange> {
        let at = match self.0.iter().position(|change| change.path == path) {
            Some(at) => at,
            None => {
                self.0.push(ClientFileChange::of(path.to_path_buf())?);
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[at])
    }

    /// Changes a JSON file. An empty one is deleted.
    fn json(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&mut JsoncDocument) -> std::result::Result<(), JsoncError>,
    ) -> Result<()> {
        let change = self.take(path)?;
        let text = change.after.clone().unwrap_or_default();
        let broken =
            |mistake: JsoncError| broken(path, &format!("line {}: {}", mistake.line, mistake.what));
        let mut json = JsoncDocument::read(&text).map_err(broken)?;
        edit(&mut json).map_err(broken)?;
        let is_left = !json.is_empty();
        let new = json.into_text();
        if new != text && (is_left || change.after.is_some()) {
            change.after = is_left.then_some(new);
        }
        Ok(())
    }

    fn toml(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&mut toml_edit::DocumentMut) -> std::result::Result<(), String>,
    ) -> Result<()> {
        let change = self.take(path)?;
        let text = change.after.clone().unwrap_or_default();
        let mut toml: toml_edit::DocumentMut =
            text.parse().map_err(|e: toml_edit::TomlError| broken(path, e.to_string().trim()))?;
        edit(&mut toml).map_err(|why| broken(path, &why))?;
        let new = toml.to_string();
        if new != text {
            change.after = (!new.trim().is_empty()).then_some(new);
        }
        Ok(())
    }
}

fn broken(path: &Path, why: &str) -> Failure {
    let shown = path.display();
    Failure::new(Code::Invalid, format!("{shown} cannot be read: {why}; nothing was changed"))
        .hint("put the file right first; its client cannot read it either")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Connects with the MCP server, passes the changes to a check, and disconnects.
    fn check(client: HookClient, scope: ConnectScope, look: impl Fn(&str)) {
        let folder = tempfile::tempdir().unwrap();
        let [project, home] = ["it's a project", "home"].map(|name| folder.path().join(name));
        let places = ClientPaths { project, home, given: |_| None };
        let setup = ClientSetup {
            client,
            scope,
            places: &places,
            program: "/opt/sayso".into(),
            token: "/x/.sayso/tokens/fixer.token".into(),
            has_server: true,
            asked: None,
        };
        let changes = setup.changes(false).unwrap();
        look(&changes.iter().map(ClientFileChange::diff).collect::<String>());
        crate::commands::connect::files::write_all(&changes).unwrap();
        assert!(setup.changes(false).unwrap().is_empty(), "{client:?}: again is the same");
        let back = setup.changes(true).unwrap();
        crate::commands::connect::files::write_all(&back).unwrap();
        assert!(changes.iter().all(|change| !change.path.exists()), "{client:?}");
        assert!(setup.changes(true).unwrap().is_empty());
    }

    #[test]
    fn the_server_comes_and_goes_with_the_hooks() {
        for (client, project, words) in [
            (
                HookClient::ClaudeCode,
                ".mcp.json",
                ["\"mcpServers\"", "\"mcp__sayso\"", "--token-file"],
            ),
            (
                HookClient::Codex,
                ".codex/config.toml",
                [
                    "[mcp_servers.sayso]",
                    "tool_timeout_sec = 3600",
                    "default_tools_approval_mode = \"approve\"",
                ],
            ),
            (
                HookClient::Gemini,
                ".gemini/settings.json",
                ["\"mcpServers\"", "3600000", "\"trust\": true"],
            ),
            (HookClient::Opencode, ".opencode/opencode.json", ["\"mcp\"", "\"local\"", "3600000"]),
        ] {
            for scope in ConnectScope::ALL {
                check(client, scope, |diff| {
                    for word in words {
                        assert!(diff.contains(word), "{word} is not in {diff}");
                    }
                    let is_there = diff.contains(&format!("it's a project/{project}"));
                    assert_eq!(is_there, scope == ConnectScope::Project, "{diff}");
                });
            }
        }
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        for (word, expected) in [
            ("/a/b.c-d_e", "/a/b.c-d_e"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_hook_made_by_hand_is_known_as_ours() {
        assert!(is_ours("sayso hook codex PreToolUse", HookClient::Codex));
        assert!(!is_ours("sayso hook codex PreToolUse", HookClient::ClaudeCode));
        assert!(!is_ours("my-hook codex", HookClient::Codex));
        assert!(is_ours("/opt/sayso -C / hook codex PreToolUse || exit 2", HookClient::Codex));
    }
}
