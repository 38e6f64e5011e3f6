//! Codex: its settings are in TOML, and it runs only trusted hooks.

use super::setup::{NAME, PlacedHook};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

/// The time limit for Codex to list its hooks.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// The most bytes read of its answer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A hook as Codex knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodexHook {
    /// The file, the event and the place in it.
    pub(super) key: String,
    /// The hash by which Codex recognises it.
    pub(super) hash: String,
    pub(super) is_trusted: bool,
}

/// Adds the MCP server to the settings.
pub(super) fn set_server(
    toml: &mut DocumentMut,
    words: &[String],
    seconds: i64,
) -> Result<(), String> {
    let (program, args) = words.split_first().ok_or("no program is named")?;
    if server(toml).is_some_and(|server| !is_ours(server)) {
        return Err(format!("there is another server called {NAME}: rename it, or take it away"));
    }
    let server = table(toml, &["mcp_servers", NAME])?;
    for (key, wanted) in [
        ("command", value(program)),
        ("args", value(args.iter().collect::<toml_edit::Array>())),
        ("tool_timeout_sec", value(seconds)),
        // Asking a person takes no permission; without a terminal there is no person to give it.
        ("default_tools_approval_mode", value("approve")),
    ] {
        let plain = |item: &Item| item.to_string().trim().to_owned();
        if server.get(key).map(plain) != Some(plain(&wanted)) {
            server.insert(key, wanted);
        }
    }
    Ok(())
}

fn server(toml: &DocumentMut) -> Option<&Item> {
    toml.get("mcp_servers")?.get(NAME)
}

/// True if a server is one that we wrote: no other is started with these words.
fn is_ours(server: &Item) -> bool {
    let words = server.get("args").map(ToString::to_string).unwrap_or_default();
    ["\"mcp\"", "\"--token-file\""].iter().all(|word| words.contains(word))
}

/// Removes the MCP server.
pub(super) fn remove_server(toml: &mut DocumentMut) -> Result<(), String> {
    if server(toml).is_some_and(is_ours) {
        let gone = table(toml, &["mcp_servers"])?.remove(NAME);
        gone.iter().for_each(|gone| keep_comments(toml, gone));
        prune(toml, &["mcp_servers"]);
    }
    Ok(())
}

/// Trusts exactly our hooks in a file. Codex stores trust by the position of a hook in its file: the trust of other
/// hooks is moved along when ours come or go.
pub(super) fn trust(
    toml: &mut DocumentMut,
    file: &Path,
    before: &[PlacedHook],
    after: &[PlacedHook],
    hashes: &[(String, String)],
) -> Result<(), String> {
    let key = |hook: &PlacedHook| format!("{}:{}", file.display(), place(hook));
    let has_state = toml.get("hooks").and_then(|hooks| hooks.get("state")).is_some();
    let wanted: Vec<_> = after
        .iter()
        .filter(|hook| hook.is_ours)
        .filter_map(|hook| hashes.iter().find(|(known, _)| *known == place(hook)))
        .map(|(place, hash)| (format!("{}:{place}", file.display()), hash))
        .collect();
    if !has_state && wanted.is_empty() {
        return Ok(());
    }
    let state = table(toml, &["hooks", "state"])?;
    let theirs = |hooks: &[PlacedHook]| -> Vec<String> {
        hooks.iter().filter(|hook| !hook.is_ours).map(key).collect()
    };
    let moves: Vec<_> =
        theirs(before).into_iter().zip(theirs(after)).filter(|(a, b)| a != b).collect();
    let moved: Vec<_> = moves.iter().map(|(from, to)| (to, state.remove(from))).collect();
    let ours = before.iter().filter(|hook| hook.is_ours).map(key);
    let old = ours.filter(|ours| !wanted.iter().any(|(key, _)| key == ours));
    let gone: Vec<_> = old.map(|key| state.remove(&key)).collect();
    for (key, item) in moved {
        item.and_then(|item| state.insert(key, item));
    }
    gone.into_iter().flatten().for_each(|gone| keep_comments(toml, &gone));
    for (key, hash) in &wanted {
        let hook = table(toml, &["hooks", "state", key])?;
        if hook.get("trusted_hash").and_then(Item::as_str) != Some(hash.as_str()) {
            hook.insert("trusted_hash", value(hash.as_str()));
        }
    }
    prune(toml, &["hooks", "state"]);
    Ok(())
}

/// The position of a hook, in the form Codex uses: `pre_tool_use:0:0`.
fn place(hook: &PlacedHook) -> String {
    let mut event = String::new();
    for c in hook.event.chars() {
        if c.is_uppercase() && !event.is_empty() {
            event.push('_');
        }
        event.extend(c.to_lowercase());
    }
    let (group, number) = hook.at;
    format!("{event}:{group}:{number}")
}

/// Returns the table at the end of a path, and creates missing ones.
fn table<'a>(toml: &'a mut DocumentMut, way: &[&str]) -> Result<&'a mut dyn TableLike, String> {
    let mut here: &mut dyn TableLike = toml.as_table_mut();
    for name in way {
        if here.get(name).is_none() {
            let mut new = Table::new();
            new.set_implicit(true);
            here.insert(name, Item::Table(new));
        }
        let wrong = || format!("{name} is something else than a table");
        here = here.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(wrong)?;
    }
    Ok(here)
}

/// Comments before a removed table belong to the user: they move to the next table.
fn keep_comments(toml: &mut DocumentMut, gone: &Item) {
    let Some(gone) = gone.as_table() else { return };
    let written = gone.decor().prefix().and_then(|text| text.as_str()).unwrap_or_default();
    if written.trim().is_empty() {
        return;
    }
    let place = next_place(toml.as_table(), gone.position());
    match place.and_then(|place| table_at(toml.as_table_mut(), place)) {
        Some(next) => {
            let own = next.decor().prefix().and_then(|text| text.as_str()).unwrap_or_default();
            let all = format!("{written}{own}");
            next.decor_mut().set_prefix(all);
        }
        None => {
            let own = toml.trailing().as_str().unwrap_or_default().to_owned();
            toml.set_trailing(format!("{written}{own}"));
        }
    }
}

/// The position of the first table behind a position.
fn next_place(table: &Table, behind: Option<isize>) -> Option<isize> {
    let inner = table.iter().filter_map(|(_, item)| item.as_table());
    let places = inner.flat_map(|inner| {
        let own = inner.position().filter(|place| Some(*place) > behind && !inner.is_implicit());
        [own, next_place(inner, behind)]
    });
    places.flatten().min()
}

fn table_at(table: &mut Table, place: isize) -> Option<&mut Table> {
    let mut inner = table.iter_mut().filter_map(|(_, item)| item.as_table_mut());
    inner.find_map(|inner| {
        if inner.position() == Some(place) && !inner.is_implicit() {
            Some(inner)
        } else {
            table_at(inner, place)
        }
    })
}

/// Removes the empty tables on this path, from its end.
fn prune(toml: &mut DocumentMut, way: &[&str]) {
    for length in (1..=way.len()).rev() {
        let Ok(above) = table(toml, &way[..length - 1]) else { return };
        let inner = above.get(way[length - 1]).and_then(Item::as_table_like);
        if inner.is_some_and(|inner| inner.is_empty()) {
            above.remove(way[length - 1]);
        }
    }
}

/// The trust hashes Codex would compute for the hooks in a file: the position of each, and its hash. Codex is asked
/// in a temporary home, so that nothing is changed; none if it cannot be asked.
pub(super) fn hashes(program: &str, hooks: &str) -> Vec<(String, String)> {
    let Ok(home) = tempfile::tempdir() else { return vec![] };
    if std::fs::write(home.path().join("hooks.json"), hooks).is_err() {
        return vec![];
    }
    let known = hooks_known(program, Some(home.path()), home.path(), &[]);
    let place = |key: &str| key.rsplit_once("hooks.json:").map(|(_, place)| place.to_owned());
    let known = known.unwrap_or_default();
    known.into_iter().filter_map(|hook| Some((place(&hook.key)?, hook.hash))).collect()
}

/// The hooks that Codex finds in a folder; none if it does not answer in time.
pub(super) fn hooks_known(
    program: &str,
    home: Option<&Path>,
    folder: &Path,
    args: &[String],
) -> Option<Vec<CodexHook>> {
    let mut command = Command::new(program);
    command.arg("app-server").args(args).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(home) = home {
        command.env("CODEX_HOME", home);
    }
    let mut child = command.spawn().ok()?;
    let (input, output) = (child.stdin.take()?, child.stdout.take()?);
    let (sender, receiver) = std::sync::mpsc::channel();
    let cwd = folder.display().to_string();
    std::thread::spawn(move || sender.send(talk(input, output, &cwd)));
    let answer = receiver.recv_timeout(ANSWER_MAX).ok().flatten();
    // Codex would keep waiting for further requests.
    let _ = child.kill();
    let _ = child.wait();
    answer
}

fn talk(mut input: impl Write, output: impl Read, cwd: &str) -> Option<Vec<CodexHook>> {
    let began = Instant::now();
    let mut lines = BufReader::new(output.take(ANSWER_BYTES_MAX)).lines();
    let mut ask = |question: Value| writeln!(input, "{question}").and_then(|()| input.flush()).ok();
    let mut answer = |id: u64| {
        while began.elapsed() < ANSWER_MAX {
            let said: Value = serde_json::from_str(&lines.next()?.ok()?).ok()?;
            if said["id"] == id {
                return said.get("result").cloned();
            }
        }
        None
    };
    let client = json!({"name": NAME, "version": env!("CARGO_PKG_VERSION")});
    let able = json!({"experimentalApi": true});
    ask(
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": client, "capabilities": able}}),
    )?;
    answer(1)?;
    ask(json!({"method": "initialized"}))?;
    ask(json!({"id": 2, "method": "hooks/list", "params": {"cwds": [cwd]}}))?;
    let listed = answer(2)?;
    let hooks = listed["data"].as_array()?.iter().flat_map(|folder| folder["hooks"].as_array());
    let known = hooks.flatten().filter_map(|hook| {
        let is_trusted =
            hook["trustStatus"] == "trusted" || hook["isManaged"].as_bool().unwrap_or(false);
        let is_trusted = is_trusted && hook["enabled"].as_bool().unwrap_or(true);
        let text = |name: &str| hook[name].as_str().map(str::to_owned);
        Some(CodexHook { key: text("key")?, hash: text("currentHash")?, is_trusted })
    });
    Some(known.collect())
}
