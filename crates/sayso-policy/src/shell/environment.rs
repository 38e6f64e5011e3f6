//! Environment variables that a command line sets, and the programs that read them.

use super::{CommandLine, ShellWord, WordShape, mentions};

/// Variables that make no program run another, with any value.
const HARMLESS: &[&str] = &[
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DATABASE_URL",
    "DEBUG",
    "FORCE_COLOR",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_TERMINAL_PROMPT",
    "HOST",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PORT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RAILS_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// Parts of names that shells and programs read to find programs to run.
const TELLING: &[&str] = &[
    "PATH", "OPT", "FLAG", "PAGER", "EDITOR", "VISUAL", "BROWSER", "SHELL", "COMMAND", "CMD",
    "PROXY", "CONFIG", "WRAPPER", "EXEC", "ASKPASS", "SSH", "INIT", "PRELOAD", "LIBRARY", "PROMPT",
    "STARTUP", "HOOK", "PYTHON", "PERL", "RUBY", "NODE", "NPM", "YARN", "CARGO", "RUSTC",
    "RUSTDOC", "JAVA", "DOCKER", "KUBE", "HELPER", "SUDO", "DRIVER", "INPUTRC", "NULLCMD",
];

/// Prefixes of such names.
const TELLING_STARTS: &[&str] = &[
    "GIT_", "LD_", "DYLD_", "BASH", "PS0", "PS1", "PS2", "PS3", "PS4", "MAKE", "TAR_", "RSYNC_",
    "GREP_", "ZDOT", "FPATH", "VIM", "RPS", "READNULL", "GCONV", "LESS", "MAN", "SAYSO", "XDG_",
];

/// Full names of that kind.
const TELLING_NAMES: &[&str] = &[
    "CC", "CXX", "CPP", "AR", "AS", "LD", "FC", "EXINIT", "FCEDIT", "ENV", "HOME", "IFS", "TERM",
    "DISPLAY", "DEBUGGER",
];

/// Lower-case names that shells read.
const SMALL: &[&str] = &[
    "aliases",
    "argv",
    "cdpath",
    "commands",
    "dirstack",
    "functions",
    "galiases",
    "histchars",
    "nullcmd",
    "options",
    "prompt",
    "psvar",
    "saliases",
    "signals",
    "status",
];

/// Checks `NAME=value`. It is exported if a program will see it.
pub(super) fn look(line: &mut CommandLine, word: &ShellWord, is_exported: bool) {
    let Some((name, value)) = word.text.split_once('=') else {
        return look_at_name(line, &word.text);
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    if !is_plain_name(name) {
        line.is_unclear("it sets a part of a variable, whose place is computed");
        return;
    }
    let is_known = matches!(word.shape, WordShape::Fixed | WordShape::Glob);
    if !is_known || !value.bytes().all(is_plain_byte) {
        line.sets_odd_values = true;
    }
    if HARMLESS.contains(&name) || is_small(name) {
        return;
    }
    let is_telling = tells_programs(name);
    if !is_exported && !is_telling {
        return;
    }
    let is_switch = matches!(value, "" | "true" | "false" | "yes" | "no" | "on" | "off" | "all")
        || value.bytes().all(|b| b.is_ascii_digit());
    let starts_badly = TELLING_STARTS.iter().any(|start| name.starts_with(start));
    if is_known
        && is_switch
        && !starts_badly
        && !name.contains("PATH")
        && !TELLING_NAMES.contains(&name)
    {
        return;
    }
    if is_telling || !is_known || mentions::holds_shell_signs(value) {
        line.is_unclear(format!("programs may look at the variable `{name}`"));
        return;
    }
    // No program is known to read it. One that does may run the program it names.
    let at = line.commands.len();
    line.commands.push(super::SimpleCommand { assigns: true, ..super::SimpleCommand::default() });
    let mut found = vec![];
    mentions::of_text(value, &mut found);
    mentions::add(line, at, found);
}

/// Checks the name of a variable whose value is unknown.
pub(super) fn look_at_name(line: &mut CommandLine, name: &str) {
    line.sets_odd_values = true;
    if !is_plain_name(name) {
        line.is_unclear("it sets a variable whose name is computed");
    } else if !is_small(name) && !HARMLESS.contains(&name) && tells_programs(name) {
        line.is_unclear(format!("programs may look at the variable `{name}`"));
    }
}

pub(super) fn is_plain_name(name: &str) -> bool {
    let starts_well = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts_well && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// True if a variable of this name is only used by the script itself: programs read upper-case names, and zsh some
/// others.
pub(super) fn is_small(name: &str) -> bool {
    let is_small = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let is_told = ["path", "proxy", "config"].iter().any(|part| name.contains(part));
    is_small && !is_told && !SMALL.contains(&name)
}

fn tells_programs(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    TELLING_NAMES.contains(&upper.as_str())
        || TELLING_STARTS.iter().any(|start| upper.starts_with(start))
        || TELLING.iter().any(|part| upper.contains(part))
}

/// True for a byte of a value that no arithmetic evaluates.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./-,:%+@ ".contains(&byte) || byte >= 0x80
}
