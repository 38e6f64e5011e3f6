//! Tools and interpreters that evaluate what they are given: whether all of it is in sight.

use super::{CommandLine, ShellWord, WordShape, scripts};

/// The effect that a program of this kind has with its arguments.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The reason why its commands cannot be determined, if so.
    pub(super) doubt: Option<&'static str>,
    /// True if it may read its code from standard input.
    pub(super) may_read_code: bool,
}

const LATER: &str = "what it is to do is only known when it runs";

/// Options that name a command to run, by the tool. Those that begin with `--` may be cut short.
const COMMAND_OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "-I",
            "-F",
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("go", &["-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("cargo", &["--config"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-D", "-F"]),
    ("sftp", &["-S", "-D", "-F", "-b"]),
    ("helm", &["--post-renderer"]),
    ("wget", &["--use-askpass", "--compression"]),
];

/// Tools whose options may run a command, so that a word which is not known may be one.
const OPTION_TAKERS: &[&str] = &["tar", "scp", "sftp", "rsync", "sed", "gsed", "zip"];

const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk"];

/// Looks at the arguments of a tool.
pub(super) fn look_at_tool(
    line: &mut CommandLine,
    name: &str,
    words: &[ShellWord],
) -> Option<&'static str> {
    let script = match name {
        "sed" | "gsed" => look_at_sed(line, words),
        _ if AWKS.contains(&name) => look_at_awk(line, words),
        _ => None,
    };
    let option = || command_option(name, words);
    let unknown =
        OPTION_TAKERS.contains(&name).then(|| unknown_option(line, name, words)).flatten();
    script.or_else(option).or(unknown)
}

/// Notes a file that has what a program is to do. Why it is not in sight, if so.
fn script_file(line: &mut CommandLine, word: Option<&ShellWord>) -> Option<&'static str> {
    let Some(path) = word.and_then(ShellWord::fixed) else { return Some(LATER) };
    if is_standard_input(path) {
        // It is seen where it is a here-document; the caller looks at that.
        return None;
    }
    line.run.push(path.to_owned());
    None
}

/// `-`, or a file that stands for what is open already.
pub(super) fn is_standard_input(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let is_open = matches!(parts.as_slice(), ["dev", "stdin" | "fd", ..] | ["proc", ..]);
    matches!(text, "-" | "-f-") || text.ends_with("=-") || (text.starts_with('/') && is_open)
}

/// Returns the reason why a tool may run the command of an option, if its words are unclear.
fn command_option(name: &str, words: &[ShellWord]) -> Option<&'static str> {
    let (_, options) = COMMAND_OPTIONS.iter().find(|(tool, _)| *tool == name)?;
    let is_it = |text: &str, option: &str| {
        if option.starts_with("--") {
            let given = text.split('=').next().unwrap_or(text);
            return given.len() > 2 && given.starts_with("--") && option.starts_with(given);
        }
        text == option
            || text.split_once('=').is_some_and(|(given, _)| given == option)
            || (option.len() == 2
                && text.starts_with('-')
                && !text.starts_with("--")
                && text.contains(&option[1..]))
    };
    let is_odd =
        |word: &ShellWord| word.fixed().is_none() || super::mentions::holds_signs(&word.text);
    let mut at = words.iter().enumerate();
    let found = at.any(|(at, word)| {
        let named = options.iter().any(|option| is_it(&word.text, option));
        named && (is_odd(word) || words.get(at + 1).is_some_and(is_odd))
    });
    if found {
        return Some("an option of it takes a command that is not plain");
    }
    let settings = matches!(name, "scp" | "sftp").then(|| ssh_settings(words)).flatten();
    settings.or_else(|| {
        // `tar cIf 'command' …`, without a dash.
        let is_bundle = name == "tar" && words.first().is_some_and(|w| w.text.contains(['I', 'F']));
        (is_bundle && words.iter().any(is_odd)).then_some("an option of it takes a command")
    })
}

/// `-o Setting=value`, of `scp` and `sftp`.
fn ssh_settings(words: &[ShellWord]) -> Option<&'static str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.text.strip_prefix('-').filter(|l| !l.starts_with('-')) else {
            continue;
        };
        let Some((_, attached)) = letters.split_once('o') else { continue };
        let value = match attached {
            "" => words.next().map_or("", |next| next.text.as_str()),
            attached => attached,
        };
        if !super::programs::is_harmless_for_ssh(value) {
            return Some("a setting of it may run a command");
        }
    }
    None
}

/// Returns the reason why an unknown word may be an option.
fn unknown_option(line: &mut CommandLine, name: &str, words: &[ShellWord]) -> Option<&'static str> {
    if name == "tar" {
        // A list of files may have options in it.
        let is_list = |word: &ShellWord| {
            let long = word.text.split('=').next().unwrap_or_default();
            let is_long = long.len() > 3 && "--files-from".starts_with(long);
            is_long
                || (word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.contains('T'))
        };
        for at in (0..words.len()).filter(|at| is_list(&words[*at])) {
            let attached = words[at].text.split_once(['=', 'T']).map_or("", |(_, value)| value);
            let attached = (!attached.is_empty()).then(|| ShellWord::of(attached));
            let value = attached.or_else(|| words.get(at + 1).cloned());
            if value.as_ref().and_then(ShellWord::fixed).is_some_and(is_standard_input) {
                return Some("a list of files may have options in it");
            }
            if let Some(doubt) = script_file(line, value.as_ref()) {
                return Some(doubt);
            }
        }
    }
    let is_end = |word: &&ShellWord| word.text != "--" || word.fixed().is_none();
    for (at, word) in words.iter().take_while(is_end).enumerate() {
        if word.fixed().is_some() || word.shape == WordShape::Glob {
            continue;
        }
        if word.text.starts_with('-') || (word.text.is_empty() && word.is_substituted) {
            return Some("an option is only known when it runs");
        }
        // `tar xf "$file"`: the value of an option.
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let is_value = name == "tar"
            && word.shape == WordShape::One
            && before.is_some_and(|b| {
                let is_cluster = at == 1 || (b.text.starts_with('-') && !b.text.starts_with("--"));
                (is_cluster && b.text.ends_with(['f', 'C'])) || b.text == "--file"
            });
        line.takes_options |= word.text.is_empty() && !is_value;
    }
    None
}

/// The scripts of `sed`.
fn look_at_sed(line: &mut CommandLine, words: &[ShellWord]) -> Option<&'static str> {
    let (mut scripts, mut has_script, mut at) = (vec![], false, 0);
    let mut operands = vec![];
    let mut options_end = false;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.text.as_str();
        if options_end || !text.starts_with('-') || text == "-" {
            operands.push(word.clone());
            continue;
        }
        let Some(text) = word.fixed() else { return Some(LATER) };
        let (letter, attached) = match text.strip_prefix("--") {
            Some("") => {
                options_end = true;
                continue;
            }
            Some(long) => {
                let (name, value) = long.split_once('=').map_or((long, ""), |(n, v)| (n, v));
                let is = |option: &str| !name.is_empty() && option.starts_with(name);
                match () {
                    () if is("expression") => ('e', value),
                    () if is("file") => ('f', value),
                    () => continue,
                }
            }
            None => {
                let letters = &text[1..];
                let Some(place) = letters.find(['e', 'f', 'i', 'l']) else { continue };
                (letters[place..].chars().next().unwrap_or('i'), &letters[place + 1..])
            }
        };
        let value = match attached {
            "" if letter != 'i' => {
                at += 1;
                words.get(at - 1).cloned()
            }
            attached => Some(ShellWord::of(attached)),
        };
        match letter {
            'e' => {
                has_script = true;
                scripts.extend(value);
            }
            'f' => {
                has_script = true;
                if let Some(doubt) = script_file(line, value.as_ref()) {
                    return Some(doubt);
                }
            }
            _ => {}
        }
    }
    if !has_script {
        scripts.extend(operands.first().cloned());
    }
    for script in &scripts {
        let Some(text) = script.fixed() else { return Some(LATER) };
        let deeds = scripts::of_sed(text);
        line.writes_any |= deeds.writes;
        if deeds.runs {
            return Some("its script runs commands");
        }
    }
    None
}

/// The program of `awk`. Options come before it.
fn look_at_awk(line: &mut CommandLine, words: &[ShellWord]) -> Option<&'static str> {
    let mut at = 0;
    let mut has_file = false;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        let long = text
            .strip_prefix("--")
            .map(|l| l.split_once('=').map_or((l, None), |(n, v)| (n, Some(v))));
        let (is_file, value) = match long {
            Some((name, value)) => {
                let is = |option: &str| !name.is_empty() && option.starts_with(name);
                let takes_file =
                    ["file", "exec", "include", "load", "source"].iter().any(|o| is(o));
                if !takes_file && !["assign", "field-separator"].iter().any(|o| is(o)) {
                    continue;
                }
                (takes_file, value.map(ShellWord::of))
            }
            None => {
                let Some(letter) = text.chars().nth(1) else { continue };
                if !"vFfEielW".contains(letter) {
                    continue;
                }
                let attached =
                    (text.len() > 2).then(|| ShellWord { text: text[2..].into(), ..word.clone() });
                ("fEielW".contains(letter), attached)
            }
        };
        let value = value.or_else(|| {
            at += 1;
            words.get(at - 1).cloned()
        });
        if is_file {
            has_file = true;
            // `-e program`, `-i file`, and others that few use.
            if !text.starts_with("-f") && !text.starts_with("--f") {
                return Some("an option of it takes a program");
            }
            if let Some(doubt) = script_file(line, value.as_ref()) {
                return Some(doubt);
            }
        }
    }
    if has_file {
        return None;
    }
    let word = words.get(at)?;
    let Some(text) = word.fixed() else { return Some(LATER) };
    let deeds = scripts::of_awk(text);
    line.writes_any |= deeds.writes;
    deeds.runs.then_some("its program runs commands")
}

/// Options of interpreters, by the beginning of a name: letters alone, letters with a value, letters with code,
/// long names with a value.
struct Options {
    names: &'static [&'static str],
    alone: &'static str,
    valued: &'static str,
    code: &'static str,
    long_alone: &'static [&'static str],
}

const OPTIONS: &[Options] = &[
    Options {
        names: &["python", "pypy"],
        alone: "bBdEiIOPqRsSuvx",
        valued: "WX",
        code: "cm",
        long_alone: &[],
    },
    Options {
        names: &["perl"],
        alone: "aclnpsStTuUvwWX0",
        valued: "I",
        code: "eE",
        long_alone: &[],
    },
    Options {
        names: &["ruby", "jruby"],
        alone: "aclnpsSUvwWy",
        valued: "IrCE",
        code: "e",
        long_alone: &["--disable-gems", "--verbose", "--yjit"],
    },
    Options {
        names: &["node", "nodejs", "tsx", "ts-node"],
        alone: "",
        valued: "rC",
        code: "ep",
        long_alone: &[
            "--no-warnings",
            "--trace-warnings",
            "--enable-source-maps",
            "--test",
            "--watch",
            "--esm",
            "--transpile-only",
        ],
    },
    Options { names: &["php"], alone: "anqsw", valued: "cdzt", code: "rRBEF", long_alone: &[] },
];

/// Looks at the arguments of an interpreter: whether a script or code is in sight.
pub(super) fn look_at_interpreter(
    line: &mut CommandLine,
    name: &str,
    words: &[ShellWord],
) -> Found {
    let known = OPTIONS.iter().find(|o| o.names.iter().any(|n| name.starts_with(n)));
    let mut found = Found { doubt: None, may_read_code: true };
    let mut at = 0;
    // True if the word before may take this one as its value.
    let mut may_be_value = false;
    while let Some(word) = words.get(at) {
        at += 1;
        let Some(text) = word.fixed().or((word.shape == WordShape::Glob).then_some(&word.text))
        else {
            found.doubt = Some(LATER);
            return found;
        };
        if is_standard_input(text) {
            return found;
        }
        if !text.starts_with('-') {
            line.run.push(text.to_owned());
            if may_be_value {
                may_be_value = false;
                continue;
            }
            found.may_read_code = false;
            return found;
        }
        may_be_value = false;
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            if ["eval", "print", "command", "version", "help"].contains(&name) {
                found.may_read_code = false;
                let is_later =
                    !long.contains('=') && words.get(at).is_some_and(|w| w.fixed().is_none());
                found.doubt = is_later.then_some(LATER);
                return found;
            }
            let is_alone = known.is_some_and(|o| o.long_alone.contains(&text));
            may_be_value = !long.is_empty() && !long.contains('=') && !is_alone;
            continue;
        }
        let Some(known) = known else {
            let has_code = text.contains(['e', 'c', 'E', 'p']);
            if has_code {
                found.may_read_code = text.len() > 2;
                found.doubt = words.get(at).filter(|w| w.fixed().is_none()).map(|_| LATER);
                return found;
            }
            may_be_value = true;
            continue;
        };
        let letters = &text[1..];
        let Some((place, letter)) = letters.char_indices().find(|(_, c)| !known.alone.contains(*c))
        else {
            continue;
        };
        let is_attached = letters.len() > place + letter.len_utf8();
        if known.code.contains(letter) {
            found.may_read_code = false;
            let is_later = !is_attached && words.get(at).is_some_and(|w| w.fixed().is_none());
            found.doubt = is_later.then_some(LATER);
            if letter == 'm' {
                let module = words.get(at).filter(|_| !is_attached).and_then(ShellWord::fixed);
                line.run.extend(module.map(|module| format!("{}.py", module.replace('.', "/"))));
            }
            return found;
        }
        if known.valued.contains(letter) && !is_attached {
            line.run.extend(words.get(at).and_then(ShellWord::fixed).map(str::to_owned));
            if words.get(at).is_some_and(|word| word.fixed().is_none()) {
                found.doubt = Some(LATER);
                return found;
            }
            at += 1;
        }
    }
    found
}
