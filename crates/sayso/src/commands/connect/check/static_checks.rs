//! Static checks of a connected client, which need no turn of its agent.

use super::client_turn;
use crate::commands::connect::codex;
use crate::commands::connect::files::ClientFileChange;
use crate::commands::connect::jsonc::{JsoncDocument, JsoncStep};
use crate::commands::connect::setup::{ClientPaths, ConnectScope, missing_events, placed};
use crate::commands::doctor::DoctorCheck;
use crate::commands::hook::protocol::HookClient;
use sayso_core::Code;
use sayso_core::text::sanitize_line;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The time limit for `--version` of a client.
const VERSION_MAX: Duration = Duration::from_secs(30);

/// The first version of Claude Code that blocks when a hook cannot be run.
const CLAUDE_MIN: [u64; 3] = [2, 1, 295];

/// The scopes in which a client has hooks of ours.
pub(in crate::commands::connect) fn scopes(
    places: &ClientPaths,
    client: HookClient,
) -> Vec<ConnectScope> {
    let is_connected = |scope: &ConnectScope| {
        let text = text(&places.hooks(client, *scope));
        match client {
            HookClient::Opencode => {
                text.contains(" hook opencode ") || text.contains("\"hook\",\"opencode\"")
            }
            HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini => {
                placed(&text, client).iter().any(|hook| hook.is_ours)
            }
        }
    };
    ConnectScope::ALL.into_iter().filter(is_connected).collect()
}

/// The gaps of a client that no setup closes.
pub(in crate::commands::connect) const fn known_gaps(
    client: HookClient,
) -> &'static [&'static str] {
    match client {
        HookClient::ClaudeCode => &["started with --bare or --safe-mode it runs no hooks"],
        HookClient::Codex => &[
            "what it types into a shell that was allowed to stay open (write_stdin) is seen by no hook",
        ],
        HookClient::Gemini => &[
            "run with -p it offers tools that change things only with --approval-mode auto_edit or yolo",
        ],
        HookClient::Opencode => {
            &["started with --pure it loads no plugin, and goes on without one it cannot load"]
        }
    }
}

/// Checks the settings files.
pub(super) fn settings(
    places: &ClientPaths,
    client: HookClient,
    scopes: &[ConnectScope],
) -> Vec<DoctorCheck> {
    let mut checks = vec![];
    for scope in scopes {
        let path = places.hooks(client, *scope);
        let missing = match client {
            HookClient::Opencode => vec![],
            HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini => {
                missing_events(&text(&path), client)
            }
        };
        checks.push(if missing.is_empty() {
            DoctorCheck::ok("settings", &format!("{} ({})", path.display(), scope.name()))
        } else {
            let seen = format!("{}: no hook for {}", path.display(), missing.join(", "));
            DoctorCheck::failed("settings", &seen, Some(again(client, *scope)), Code::Invalid)
        });
    }
    if client == HookClient::Gemini && scopes == [ConnectScope::Project] {
        checks.push(trust_of_gemini(places));
    }
    if let Some((path, what)) = switched_off(places, client) {
        let seen = format!("{what} in {}", path.display());
        let hint = "take it out: with it no hook is run".to_owned();
        checks.push(DoctorCheck::failed("switches", &seen, Some(hint), Code::Invalid));
    }
    checks
}

fn again(client: HookClient, scope: ConnectScope) -> String {
    format!("connect it again: sayso connect {} --scope {}", client.name(), scope.name())
}

/// Checks that the program's version is new enough.
pub(super) fn version(client: HookClient, program: &str) -> DoctorCheck {
    let mut command = Command::new(program);
    command.arg("--version");
    let said = client_turn::run(&mut command, VERSION_MAX).map(|ran| ran.said).unwrap_or_default();
    let Some((shown, version)) = said.split_whitespace().find_map(numbers) else {
        let seen = format!("{program} does not say its version");
        return DoctorCheck::failed("version", &seen, None, Code::NoAgent);
    };
    if client == HookClient::ClaudeCode && version < CLAUDE_MIN {
        let seen = format!("{shown}: a call runs when the hook cannot be started");
        let hint = "update it: from 2.1.295 on it blocks then".to_owned();
        return DoctorCheck::failed("version", &seen, Some(hint), Code::NoAgent);
    }
    DoctorCheck::ok("version", shown)
}

fn numbers(word: &str) -> Option<(&str, [u64; 3])> {
    let mut parts = word.trim_start_matches('v').splitn(3, '.').map(|part| {
        let digits = part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().ok()
    });
    Some((word, [parts.next()??, parts.next()??, parts.next()??]))
}

/// Checks that Codex trusts our hooks; it does not report those it skips.
pub(super) fn trust(places: &ClientPaths, program: &str, scopes: &[ConnectScope]) -> DoctorCheck {
    let Some(known) = codex::hooks_known(program, None, &places.project, &[]) else {
        let hint = "look at /hooks in Codex".to_owned();
        return DoctorCheck::failed(
            "trust",
            "Codex does not say what it trusts",
            Some(hint),
            Code::NoAgent,
        );
    };
    for scope in scopes {
        let path = places.hooks(HookClient::Codex, *scope);
        let path = path.canonicalize().unwrap_or(path).display().to_string();
        let mut ours = known.iter().filter(|hook| hook.key.starts_with(&path)).peekable();
        let hint = Some(again(HookClient::Codex, *scope));
        if ours.peek().is_none() {
            let seen = format!("Codex does not read {path}: it does not trust this project");
            let hint = "start codex here once and say that you trust it".to_owned();
            return DoctorCheck::failed("trust", &seen, Some(hint), Code::Invalid);
        }
        if !ours.all(|hook| hook.is_trusted) {
            let seen =
                format!("Codex does not trust what is in {path}, and skips it without a word");
            return DoctorCheck::failed("trust", &seen, hint, Code::Invalid);
        }
    }
    DoctorCheck::ok("trust", "Codex trusts the hooks")
}

/// Checks that Gemini CLI reads the settings of this project; it does not report those it leaves out.
fn trust_of_gemini(places: &ClientPaths) -> DoctorCheck {
    let home = places.folder(HookClient::Gemini, ConnectScope::User);
    let read = |path: &Path| JsoncDocument::read(&text(path)).ok().and_then(|json| json.get(&[]));
    let settings = read(&home.join("settings.json")).unwrap_or_default();
    let given = (places.given)("GEMINI_CLI_TRUSTED_FOLDERS_PATH");
    let rules =
        read(&given.unwrap_or_else(|| home.join("trustedFolders.json"))).unwrap_or_default();
    let is_asked = settings["security"]["folderTrust"]["enabled"] != false;
    if !is_asked || is_trusted_by_gemini(&rules, &places.project) {
        return DoctorCheck::ok("trust", "Gemini CLI trusts this folder");
    }
    let seen = "Gemini CLI does not trust this folder, and leaves out its settings without a word";
    let hint = "start gemini here once and say that you trust it, or connect it with: --scope user";
    DoctorCheck::failed("trust", seen, Some(hint.into()), Code::Invalid)
}

/// The rule of the folder nearest to the project applies.
fn is_trusted_by_gemini(rules: &Value, project: &Path) -> bool {
    let rules = rules.as_object().into_iter().flatten().filter_map(|(path, level)| {
        let path = Path::new(path);
        let folder = match level.as_str()? {
            "TRUST_PARENT" => path.parent()?,
            _ => path,
        };
        project.starts_with(folder).then_some((folder.components().count(), level))
    });
    let nearest = rules.max_by_key(|(length, _)| *length);
    nearest.is_some_and(|(_, level)| level == "TRUST_FOLDER" || level == "TRUST_PARENT")
}

/// Finds a setting that disables hooks, and its file.
fn switched_off(places: &ClientPaths, client: HookClient) -> Option<(PathBuf, String)> {
    let folders = ConnectScope::ALL.map(|scope| places.folder(client, scope));
    let json = |path: &Path| {
        JsoncDocument::read(&text(path)).ok().and_then(|json| json.get(&[] as &[JsoncStep<'_>]))
    };
    let files: Vec<_> = match client {
        HookClient::ClaudeCode => {
            let names = ["settings.json", "settings.local.json"];
            let own = folders.iter().flat_map(|folder| names.map(|name| folder.join(name)));
            own.chain([PathBuf::from("/etc/claude-code/managed-settings.json")]).collect()
        }
        HookClient::Gemini => folders.iter().map(|folder| folder.join("settings.json")).collect(),
        HookClient::Codex => folders.iter().map(|folder| folder.join("config.toml")).collect(),
        HookClient::Opencode => vec![],
    };
    files.into_iter().find_map(|path| {
        let what = match client {
            HookClient::Codex => switch_of_codex(&text(&path)),
            HookClient::ClaudeCode => switch_of_claude(&json(&path)?),
            HookClient::Gemini => switch_of_gemini(&json(&path)?),
            HookClient::Opencode => None,
        };
        what.map(|what| (path, what))
    })
}

fn switch_of_claude(settings: &Value) -> Option<String> {
    let names = ["disableAllHooks", "allowManagedHooksOnly"];
    names.iter().find(|name| settings[**name] == true).map(|name| format!("{name} is set"))
}

fn switch_of_gemini(settings: &Value) -> Option<String> {
    let hooks = &settings["hooksConfig"];
    let disabled = hooks["disabled"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let ours = disabled.into_iter().find(|name| name.contains("sayso"));
    match (hooks["enabled"] == false, ours) {
        (true, _) => Some("hooksConfig.enabled is false".into()),
        (false, Some(name)) => Some(format!("hooksConfig.disabled names {}", sanitize_line(name))),
        (false, None) => None,
    }
}

fn switch_of_codex(settings: &str) -> Option<String> {
    let settings: toml_edit::DocumentMut = settings.parse().ok()?;
    let features = settings.get("features")?;
    let is_off =
        |name: &&&str| features.get(**name).and_then(toml_edit::Item::as_bool) == Some(false);
    let name = ["hooks", "codex_hooks"].iter().find(is_off)?;
    Some(format!("features.{name} is false"))
}

fn text(path: &Path) -> String {
    ClientFileChange::of(path.to_path_buf()).ok().and_then(|file| file.before).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(numbers("2.1.325"), Some(("2.1.325", [2, 1, 325])));
        assert_eq!(numbers("v0.61.0-nightly.2"), Some(("v0.61.0-nightly.2", [0, 61, 0])));
        assert_eq!(numbers("codex-cli"), None);
        assert!([2, 1, 1000] > CLAUDE_MIN && [2, 1, 294] < CLAUDE_MIN);
    }

    #[test]
    fn the_nearest_folder_says_whether_gemini_trusts_it() {
        let trusts = |rules: Value| is_trusted_by_gemini(&rules, Path::new("/a/b/c"));
        assert!(trusts(json!({"/a": "TRUST_FOLDER"})));
        assert!(trusts(json!({"/a/b/other": "TRUST_PARENT"})));
        assert!(!trusts(json!({"/a": "TRUST_FOLDER", "/a/b": "DO_NOT_TRUST"})));
        assert!(
            !trusts(json!({"/x": "TRUST_FOLDER"})) && !trusts(json!({})) && !trusts(Value::Null)
        );
    }

    #[test]
    fn switches_are_seen() {
        assert!(switch_of_claude(&json!({"disableAllHooks": true})).is_some());
        assert_eq!(switch_of_claude(&json!({"disableAllHooks": false})), None);
        assert!(switch_of_gemini(&json!({"hooksConfig": {"enabled": false}})).is_some());
        assert!(switch_of_gemini(&json!({"hooksConfig": {"disabled": ["sayso"]}})).is_some());
        assert_eq!(switch_of_gemini(&json!({"hooksConfig": {"disabled": ["other"]}})), None);
        assert!(switch_of_codex("[features]\nhooks = false\n").is_some());
        assert_eq!(switch_of_codex("[features]\nhooks = true\n"), None);
    }
}
