//! git: the subcommands, options and settings with which it runs no other program.

use super::{CommandLine, ShellWord, WordShape};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Subcommands that run only git and programs named in the repository's own settings.
const SUBCOMMANDS: &[&str] = &[
    "add",
    "am",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "init",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "merge-tree",
    "mv",
    "name-rev",
    "notes",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "verify-commit",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Options before the subcommand: without a value, then with one.
const ALONE: &[&str] = &[
    "--no-pager",
    "-P",
    "-p",
    "--paginate",
    "--bare",
    "--no-replace-objects",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-optional-locks",
    "--no-lazy-fetch",
    "--no-advice",
    "--version",
    "-v",
    "--help",
    "-h",
    "--exec-path",
    "--html-path",
    "--man-path",
    "--info-path",
];
const VALUED: &[&str] = &["-C", "--git-dir", "--work-tree", "--namespace"];

/// Settings that name no program, in lower case.
const SETTINGS: &[&str] = &[
    "user.name",
    "user.email",
    "core.quotepath",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.symlinks",
    "core.abbrev",
    "core.whitespace",
    "core.bare",
    "init.defaultbranch",
    "commit.gpgsign",
    "tag.gpgsign",
    "push.gpgsign",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "merge.ff",
    "merge.conflictstyle",
    "rebase.autostash",
    "rebase.autosquash",
    "fetch.prune",
    "diff.renames",
    "diff.algorithm",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "log.date",
    "log.decorate",
    "log.showsignature",
    "log.follow",
    "status.short",
    "status.branch",
    "gc.auto",
    "maintenance.auto",
    "http.postbuffer",
    "http.lowspeedlimit",
    "http.lowspeedtime",
    "http.version",
    "advice.detachedhead",
    "safe.directory",
    "protocol.version",
    "grep.linenumber",
    "blame.date",
    "column.ui",
    "rerere.enabled",
    "submodule.recurse",
    "apply.whitespace",
    "feature.manyfiles",
];

/// Subcommands that contact other repositories, whose addresses may name a program.
const TRANSPORTS: &[&str] =
    &["archive", "clone", "fetch", "ls-remote", "pull", "push", "remote", "submodule", "bundle"];

/// Subcommands with options that run a program, so that an unknown word may be one.
const RUNNING: &[&str] = &[
    "archive",
    "bisect",
    "clone",
    "fetch",
    "grep",
    "ls-remote",
    "merge",
    "pull",
    "rebase",
    "submodule",
    "config",
    "init",
];

/// Short options that run a program or choose one, by subcommand.
const SHORT: &[(&str, &str)] = &[
    ("clone", "uc"),
    ("rebase", "xs"),
    ("merge", "s"),
    ("pull", "s"),
    ("grep", "O"),
    ("fetch", ""),
    ("bisect", ""),
    ("config", "e"),
];

/// Arguments of subcommands that run a program.
const WORDS: &[(&str, &[&str])] =
    &[("bisect", &["run", "visualize", "view"]), ("submodule", &["foreach"]), ("stash", &[])];

static OPTIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("../../tables/git-options.txt").lines().filter(|l| !l.starts_with('#')).collect()
});

/// Records a doubt if git may run another program with these words.
pub(super) fn look(line: &mut CommandLine, words: &[ShellWord]) {
    if let Some(why) = why_unclear(&words[1..]) {
        line.is_unclear(format!("it may let `git` run another program: {why}"));
    }
}

fn why_unclear(words: &[ShellWord]) -> Option<String> {
    let not_known = || Some("a word is only known when it runs".to_owned());
    let mut at = 0;
    let subcommand = loop {
        let word = words.get(at)?;
        let Some(text) = word.fixed() else { return not_known() };
        at += 1;
        let name = text.split('=').next().unwrap_or(text);
        match () {
            () if text == "-c" => {
                let Some(setting) = words.get(at) else { return not_known() };
                if let Some(why) = setting_unclear(setting) {
                    return Some(why);
                }
                at += 1;
            }
            () if VALUED.contains(&text) => at += 1,
            () if ALONE.contains(&text) || (text.contains('=') && VALUED.contains(&name)) => {}
            () if text.starts_with('-') => {
                return Some(format!("`{text}` is no known option of it"));
            }
            () => break text,
        }
    };
    if !SUBCOMMANDS.contains(&subcommand) {
        return Some(format!("`{subcommand}` is no subcommand that is known"));
    }
    let rest = &words[at..];
    if let Some(why) = arguments_unclear(subcommand, rest) {
        return Some(why);
    }
    (subcommand == "config").then(|| config_unclear(rest)).flatten()
}

fn setting_unclear(setting: &ShellWord) -> Option<String> {
    let key = setting.text.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_whole = setting.fixed().is_some() || setting.text.contains('=');
    let is_known =
        SETTINGS.contains(&key.as_str()) || key.starts_with("color.") || key.starts_with("advice.");
    let is_known = is_known && is_whole;
    (!is_known).then(|| format!("the setting `{key}` may name one"))
}

fn arguments_unclear(subcommand: &str, words: &[ShellWord]) -> Option<String> {
    let of = |table: &[(&str, &'static str)]| {
        table.iter().find(|(name, _)| *name == subcommand).map_or("", |(_, letters)| *letters)
    };
    let letters = of(SHORT);
    let runs =
        WORDS.iter().find(|(name, _)| *name == subcommand).map_or(&[][..], |(_, words)| *words);
    let reaches_out = TRANSPORTS.contains(&subcommand);
    let may_run = RUNNING.contains(&subcommand);
    let mut is_path = false;
    for word in words {
        let text = word.text.as_str();
        let is_known = matches!(word.shape, WordShape::Fixed | WordShape::Glob);
        if reaches_out && text.contains("::") {
            return Some(format!("`{text}` is an address that names a program"));
        }
        if !is_known && !is_path && (may_run || text.starts_with('-')) {
            return Some("a word that may be an option is only known when it runs".into());
        }
        if text == "--" {
            is_path = true;
        }
        if is_path {
            continue;
        }
        if let Some(option) = text.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or(option);
            let plain = name.strip_prefix("no-").unwrap_or(name);
            let is_fine = OPTIONS.contains(name) || OPTIONS.contains(plain);
            if !name.is_empty() && !is_fine {
                return Some(format!("`--{name}` is no option that is known"));
            }
        } else if let Some(cluster) = text.strip_prefix('-') {
            if let Some(letter) = cluster.chars().find(|c| letters.contains(*c)) {
                return Some(format!("`-{letter}` of `git {subcommand}` names one"));
            }
        } else if runs.contains(&text) {
            return Some(format!("`git {subcommand} {text}` runs one"));
        }
    }
    None
}

/// `git config` shows, or sets what git will do later. Its options come before the first word that is none.
fn config_unclear(words: &[ShellWord]) -> Option<String> {
    const SHOWS: &[&str] = &[
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "-l",
        "--list",
        "--unset",
        "--unset-all",
        "--get-color",
        "--get-colorbool",
        "--remove-section",
    ];
    const PLAIN: &[&str] = &[
        "--global",
        "--system",
        "--local",
        "--worktree",
        "--show-origin",
        "--show-scope",
        "--null",
        "-z",
        "--name-only",
        "--includes",
        "--no-includes",
        "--bool",
        "--int",
        "--bool-or-int",
        "--path",
        "--expiry-date",
        "--no-type",
        "--fixed-value",
        "--add",
        "--replace-all",
        "--all",
        "--append",
    ];
    const VALUED: &[&str] =
        &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];
    let first = words.first()?.text.as_str();
    let (at, mut shows) = match first {
        "list" | "get" | "unset" | "remove-section" => return None,
        "edit" | "rename-section" => {
            return Some(format!("`git config {first}` changes any setting"));
        }
        "set" => (1, false),
        _ => (0, false),
    };
    let mut at = at;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1;
        let text = word.text.as_str();
        let name = text.split('=').next().unwrap_or(text);
        match () {
            () if text == "--" => break,
            () if SHOWS.contains(&text) => shows = true,
            () if PLAIN.contains(&text) || (text.contains('=') && VALUED.contains(&name)) => {}
            () if VALUED.contains(&text) => at += 1,
            () => return Some(format!("`{text}` is no option of `git config` that is known")),
        }
    }
    let key = words.get(at)?;
    if shows || (first != "set" && words.len() == at + 1) {
        return None;
    }
    setting_unclear(key)
}
