//! Shell builtins: those that evaluate nothing, with their harmless options.

use super::{CommandLine, ShellWord, WordShape, environment};

/// Builtins that run and evaluate nothing, with any arguments.
const PLAIN: &[&str] = &[
    ":", "bg", "break", "cd", "chdir", "continue", "dirs", "disown", "exit", "fg", "help",
    "logout", "popd", "pushd", "return", "shift", "suspend", "times", "type", "ulimit", "umask",
    "print",
];

/// Builtins that change the meaning of later words, and those that evaluate their arguments.
const UNCLEAR: &[&str] = &[
    "eval",
    "source",
    ".",
    "alias",
    "unalias",
    "trap",
    "enable",
    "hash",
    "bind",
    "parallel",
    "fc",
    "let",
    "compgen",
    "complete",
    "compopt",
    "history",
    "caller",
    "getopts",
    "autoload",
    "zmodload",
    "zle",
    "bindkey",
    "vared",
    "sched",
    "emulate",
    "functions",
    "compctl",
    "compdef",
    "zcompile",
    "zstyle",
    "zformat",
    "zparseopts",
    "zregexparse",
    "rehash",
    "unhash",
    "unfunction",
    "float",
    "integer",
    "nameref",
    "repeat",
    "foreach",
    "setopt",
    "unsetopt",
    "set-env",
];

const DECLARES: &[&str] = &["export", "declare", "typeset", "readonly", "local", "unset"];

/// Returns true if this is a builtin, and records its doubts.
pub(super) fn look(line: &mut CommandLine, program: &str, words: &[ShellWord]) -> bool {
    let arguments = &words[1..];
    match program {
        _ if PLAIN.contains(&program) => {
            if ["break", "continue", "exit", "logout", "return", "shift"].contains(&program) {
                computes(line, program, arguments);
            }
            // With an option zsh evaluates the words, or puts them on its own command line.
            if program == "print" && arguments.iter().any(|word| word.text.starts_with('-')) {
                line.is_unclear("it has a `print` with options");
            }
        }
        _ if UNCLEAR.contains(&program) => line.is_unclear(format!("it has a `{program}`")),
        _ if DECLARES.contains(&program) => declares(line, program, arguments),
        "read" => names(line, "read", "rse", "adinNptu", arguments),
        "mapfile" | "readarray" => names(line, program, "t", "dnOsu", arguments),
        "jobs" => only_options(line, "jobs", "lnprs", arguments),
        "wait" => only_options(line, "wait", "fn", arguments),
        "set" => set(line, arguments),
        "shopt" => shopt(line, arguments),
        "printf" => {
            if let Some(word) = arguments.first().filter(|word| word.text.starts_with("-v")) {
                let attached = word.text.strip_prefix("-v").unwrap_or_default();
                let name = match attached {
                    "" => arguments.get(1).and_then(ShellWord::fixed).unwrap_or_default(),
                    attached => attached,
                };
                environment::look_at_name(line, name);
            }
            prints(line, arguments);
            return false;
        }
        "test" | "[" => {
            test(line, arguments);
            return false;
        }
        _ => return false,
    }
    true
}

/// Checks `export NAME=value`: plain names, options that change no meaning.
fn declares(line: &mut CommandLine, program: &str, arguments: &[ShellWord]) {
    for word in arguments {
        let text = word.text.as_str();
        if let Some(options) = text.strip_prefix(['-', '+']) {
            let letters = if program == "unset" { "v" } else { "gprxlu" };
            if word.fixed().is_none() || !options.chars().all(|c| letters.contains(c)) {
                line.is_unclear(format!("`{text}` changes what `{program}` evaluates"));
            }
        } else if text.contains('=') {
            environment::look(line, word, true);
        } else if word.fixed().is_none() || !environment::is_plain_name(text) {
            line.is_unclear(format!("`{program}` sets a variable whose name is computed"));
        } else if program != "readonly" {
            environment::look_at_name(line, text);
        }
    }
}

/// Checks names of variables after options, as for `read`.
fn names(
    line: &mut CommandLine,
    program: &str,
    plain: &str,
    valued: &str,
    arguments: &[ShellWord],
) {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.fixed() else {
            line.is_unclear(format!("`{program}` sets a variable whose name is computed"));
            return;
        };
        at += 1;
        let Some(options) = text.strip_prefix('-').filter(|options| !options.is_empty()) else {
            environment::look_at_name(line, text);
            continue;
        };
        let taken = options.find(|c| !plain.contains(c));
        match taken.and_then(|place| options.get(place..)) {
            None => {}
            Some(rest) if rest.starts_with(|c| valued.contains(c)) => {
                // The name of an array is checked like any other.
                let is_array = rest.starts_with('a');
                let attached = (rest.len() > 1).then(|| ShellWord::of(&rest[1..]));
                let value = attached.or_else(|| arguments.get(at).cloned());
                if rest.starts_with(['t', 'n', 'N', 'u']) {
                    computes(line, program, value.as_slice());
                }
                at += usize::from(rest.len() == 1 && !is_array);
                if is_array && rest.len() > 1 {
                    environment::look_at_name(line, &rest[1..]);
                }
            }
            Some(_) => line.is_unclear(format!("`{text}` is no known option of `{program}`")),
        }
    }
    line.sets_odd_values = true;
    line.values.push(ShellWord::unknown(WordShape::Many));
}

/// zsh computes these: a name stands for what its variable holds, and that is evaluated.
fn computes(line: &mut CommandLine, program: &str, words: &[ShellWord]) {
    for word in words {
        if word.text.contains(['[', '$', '`']) {
            line.is_unclear(format!("`{program}` computes what it is given"));
        }
        line.computes_with_names |= !word.is_number && !word.text.bytes().all(is_plain_digit);
        line.computes_with_names |= word.fixed().is_none() && !word.is_number;
    }
}

fn is_plain_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'-' || byte == b'.'
}

/// `printf` computes what it prints as a number.
fn prints(line: &mut CommandLine, arguments: &[ShellWord]) {
    let mut words = arguments;
    if words.first().is_some_and(|word| word.text.starts_with("-v")) {
        words = words.get(if words[0].text == "-v" { 2 } else { 1 }..).unwrap_or_default();
    }
    if words.first().is_some_and(|word| word.text == "--") {
        words = &words[1..];
    }
    let Some((format, values)) = words.split_first() else { return };
    let is_text = |format: &str| {
        let behind = format.replace("%%", "");
        behind.split('%').skip(1).all(|part| {
            let part =
                part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #0.".contains(c));
            part.starts_with(['s', 'b', 'q'])
        })
    };
    if !format.fixed().is_some_and(is_text) {
        computes(line, "printf", values);
    }
}

fn only_options(line: &mut CommandLine, program: &str, letters: &str, arguments: &[ShellWord]) {
    let is_known = |word: &ShellWord| {
        word.fixed().is_some_and(|text| match text.strip_prefix('-') {
            Some(options) => options.chars().all(|c| letters.contains(c)),
            None => true,
        })
    };
    if !arguments.iter().all(is_known) {
        line.is_unclear(format!("an option of `{program}` may run a command"));
    }
}

fn set(line: &mut CommandLine, arguments: &[ShellWord]) {
    const NAMES: &[&str] =
        &["errexit", "nounset", "pipefail", "noclobber", "noglob", "xtrace", "verbose"];
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.fixed() else {
            line.is_unclear("what `set` changes is only known when it runs");
            return;
        };
        at += 1;
        if text == "--" {
            return;
        }
        let Some(options) = text.strip_prefix(['-', '+']) else { return };
        if !options.chars().all(|c| "euxvfCo".contains(c)) {
            line.is_unclear(format!("`set {text}` changes how the rest is read"));
        }
        if options.contains('o') {
            let name = arguments.get(at).and_then(ShellWord::fixed).unwrap_or_default();
            if !name.is_empty() && !NAMES.contains(&name) {
                line.is_unclear(format!("`set {text} {name}` changes how the rest is read"));
            }
            at += 1;
        }
    }
}

fn shopt(line: &mut CommandLine, arguments: &[ShellWord]) {
    const KNOWN: &[&str] = &[
        "-s",
        "-u",
        "-q",
        "-p",
        "-sq",
        "-uq",
        "nullglob",
        "failglob",
        "globstar",
        "dotglob",
        "nocaseglob",
        "inherit_errexit",
        "lastpipe",
        "checkwinsize",
    ];
    if !arguments.iter().all(|word| word.fixed().is_some_and(|text| KNOWN.contains(&text))) {
        line.is_unclear("`shopt` changes how the rest is read");
    }
}

/// Checks `test`, which evaluates arithmetic when it compares numbers or queries a variable.
fn test(line: &mut CommandLine, arguments: &[ShellWord]) {
    const NUMBERS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "-t"];
    let is =
        |word: &ShellWord, list: &[&str]| word.fixed().is_some_and(|text| list.contains(&text));
    if !arguments.iter().any(|word| is(word, NUMBERS)) {
        return;
    }
    line.computes_with_names = true;
    let known = arguments.iter().filter_map(ShellWord::fixed);
    let holds = |text: &str| text != "[" && text != "]" && text.contains(['[', '(', '`']);
    if arguments.iter().any(|word| is(word, &["-v", "-R"])) || known.into_iter().any(holds) {
        line.is_unclear("`test` computes what it is given");
    }
}
