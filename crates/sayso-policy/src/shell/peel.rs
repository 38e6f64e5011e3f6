//! Commands that run commands: what `sudo`, `env`, `xargs`, `timeout` or `sh -c` would run is listed too.

use super::read::{NOT_READ, PASSED_OVER, Reader};
use super::{COMMANDS_MAX, DEPTH_MAX, Line, Shape, Simple, Word, base_name};

/// How a command is run.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) assigns: bool,
    pub(super) is_fed: bool,
}

/// A program that runs the command given as its arguments.
struct Wrapper {
    names: &'static [&'static str],
    /// Options without a value: short letters, then long names.
    plain: (&'static str, &'static [&'static str]),
    /// Options with a value.
    valued: (&'static str, &'static [&'static str]),
    /// What stands between the options and the command.
    operands: usize,
    takes_assignments: bool,
    appends_arguments: bool,
    is_transparent: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    plain: ("", &[]),
    valued: ("", &[]),
    operands: 0,
    takes_assignments: false,
    appends_arguments: false,
    is_transparent: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "doas"],
        plain: ("AbBEHkKnPS", &["preserve-env", "non-interactive", "set-home", "stdin"]),
        valued: ("CDghpRrtTuU", &["user", "group", "host", "prompt", "chdir", "chroot"]),
        takes_assignments: true,
        ..PLAIN
    },
    Wrapper {
        names: &["env"],
        plain: ("0iv", &["ignore-environment", "null", "debug"]),
        valued: ("uC", &["unset", "chdir"]),
        takes_assignments: true,
        ..PLAIN
    },
    Wrapper { names: &["nohup"], is_transparent: true, ..PLAIN },
    Wrapper {
        names: &["time"],
        plain: ("pvaq", &["portability", "verbose", "append", "quiet"]),
        valued: ("fo", &["format", "output"]),
        is_transparent: true,
        ..PLAIN
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        plain: ("v", &["foreground", "preserve-status", "verbose"]),
        valued: ("ks", &["kill-after", "signal"]),
        operands: 1,
        is_transparent: true,
        ..PLAIN
    },
    Wrapper {
        names: &["nice"],
        plain: ("0123456789", &[]),
        valued: ("n", &["adjustment"]),
        is_transparent: true,
        ..PLAIN
    },
    Wrapper { names: &["ionice"], plain: ("t", &[]), valued: ("cnpPu", &["class"]), ..PLAIN },
    Wrapper {
        names: &["stdbuf"],
        valued: ("ioe", &["input", "output", "error"]),
        is_transparent: true,
        ..PLAIN
    },
    Wrapper { names: &["setsid"], plain: ("cfw", &["ctty", "fork", "wait"]), ..PLAIN },
    Wrapper {
        names: &["strace", "ltrace"],
        plain: ("cCdfFhiknqrStTvVwxyzZ", &[]),
        valued: ("aAbDeEIloOpPsuUX", &[]),
        ..PLAIN
    },
    Wrapper { names: &["chroot", "taskset"], operands: 1, ..PLAIN },
    Wrapper {
        names: &["flock"],
        plain: ("enosuxF", &[]),
        valued: ("wE", &[]),
        operands: 1,
        ..PLAIN
    },
    // Options of these are many: with any, it cannot be told what they run.
    Wrapper { names: &["unshare", "nsenter", "systemd-run", "ssh-agent", "unbuffer"], ..PLAIN },
    Wrapper { names: &["exec"], plain: ("cl", &[]), valued: ("a", &[]), ..PLAIN },
    Wrapper { names: &["command", "builtin", "noglob", "nocorrect"], plain: ("p", &[]), ..PLAIN },
    // Of fish.
    Wrapper { names: &["and", "or", "not", "begin"], ..PLAIN },
    Wrapper { names: &["busybox", "toybox"], ..PLAIN },
    Wrapper {
        names: &["xargs", "gxargs"],
        plain: ("0oprtx", &["null", "no-run-if-empty", "verbose", "exit", "interactive"]),
        valued: (
            "adEILnPsJR",
            &[
                "arg-file",
                "delimiter",
                "replace",
                "max-lines",
                "max-args",
                "max-procs",
                "max-chars",
            ],
        ),
        appends_arguments: true,
        ..PLAIN
    },
];

/// Programs that run a line given with `-c`, or else what they read.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "su", "runuser", "script",
];

/// What makes git run another program: subcommands and options, then settings given with `-c`.
const GIT_RUNS: &[&str] =
    &["foreach", "bisect", "--exec", "-x", "filter-branch", "difftool", "mergetool"];
const GIT_SETTINGS: &[&str] = &[
    "alias.",
    "sshcommand",
    "pager",
    "editor",
    "fsmonitor",
    "hookspath",
    "external",
    "helper",
    "textconv",
    "proxy",
    ".cmd",
    ".path",
    "gpg.program",
    "askpass",
];

/// Builtins after which the same words may mean another command.
const UNCLEAR: &[&str] =
    &["eval", "source", ".", "alias", "trap", "enable", "hash", "bind", "parallel", "fc"];

/// Builtins that set variables.
const ASSIGNING: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "unset",
    "let",
];

/// Lists a command and whatever it runs.
pub(super) fn push(line: &mut Line, words: Vec<Word>, setting: Setting, depth: usize) {
    if line.commands.len() >= COMMANDS_MAX {
        line.is_unclear("it runs more commands than anybody would read");
        return;
    }
    let Some(first) = words.first() else {
        line.commands.push(Simple { assigns: setting.assigns, ..Simple::default() });
        return;
    };
    let Some(program) = first.fixed().map(|p| base_name(p).to_ascii_lowercase()) else {
        line.is_unclear("which program it runs is only known when it runs");
        line.commands.push(Simple { words, transparent: false, assigns: setting.assigns });
        return;
    };
    let program = program.as_str();
    if UNCLEAR.contains(&program) || PASSED_OVER.contains(&program) || NOT_READ.contains(&program) {
        line.is_unclear(format!("it has a `{program}`"));
    }
    line.moves |= ["cd", "pushd", "popd", "chdir"].contains(&program);
    let sets_a_variable = ASSIGNING.contains(&program)
        || (program == "printf" && words.get(1).is_some_and(|w| w.text.starts_with("-v")));
    let assigns = setting.assigns || sets_a_variable;
    let index = line.commands.len();
    line.commands.push(Simple { words: words.clone(), transparent: false, assigns });
    if depth >= DEPTH_MAX {
        line.is_unclear("it is nested too deeply");
        return;
    }
    let inner = Inner { setting: Setting { assigns, ..setting }, depth: depth + 1 };
    let is_transparent = if let Some(wrapper) = WRAPPERS.iter().find(|w| w.names.contains(&program))
    {
        inner.wrapped(line, wrapper, &words)
    } else if SHELLS.contains(&program) {
        // That one writes a file as well.
        inner.shell(line, &words) && program != "script"
    } else {
        inner.others(line, program, &words);
        false
    };
    // Only the system's own is known to do nothing else: `./sh -c ls` may be anything. A variable
    // set before it reaches what it runs, which carries the mark already.
    let directory = words[0].text.strip_suffix(program);
    let is_known = matches!(directory, Some("" | "/bin/" | "/usr/bin/"));
    line.commands[index].transparent = is_transparent && is_known && !assigns;
}

/// Whether a word makes git run a program that is not named as a command. Only where settings are given
/// does their name matter: a branch may be called anything.
fn may_run_another(word: &Word) -> bool {
    let text = word.text.to_ascii_lowercase();
    let names_one = |setting: &&str| text.contains('=') && text.contains(*setting);
    GIT_RUNS.contains(&text.as_str())
        || text.starts_with("--exec=")
        || text.starts_with("--upload-pack=")
        || text.starts_with("--receive-pack=")
        || text.starts_with("alias.")
        || GIT_SETTINGS.iter().any(names_one)
}

/// Lists what a command runs.
struct Inner {
    setting: Setting,
    depth: usize,
}

impl Inner {
    /// Whether the wrapper changes nothing about what it runs.
    fn wrapped(&self, line: &mut Line, wrapper: &Wrapper, words: &[Word]) -> bool {
        let mut at = 1;
        let mut setting = self.setting;
        let mut replaced: Option<String> = None;
        while let Some(word) = words.get(at) {
            let Some(text) = word.fixed() else {
                line.is_unclear("which program it runs is only known when it runs");
                return false;
            };
            if text == "--" {
                at += 1;
                break;
            }
            if wrapper.takes_assignments && is_setting(text) {
                setting.assigns = true;
                at += 1;
                continue;
            }
            if text == "-" {
                line.is_unclear(format!("`-` is no known option of `{}`", words[0].text));
            } else if !text.starts_with('-') {
                break;
            }
            if wrapper.appends_arguments {
                replaced = replaced.or(replaced_by_xargs(text, words.get(at + 1)));
            }
            match wrapper.option(text) {
                Taken::Alone => at += 1,
                Taken::WithNext => at += 2,
                Taken::NotKnown if text == "-v" || text == "-V" => return false,
                Taken::NotKnown => {
                    line.is_unclear(format!("`{text}` is no known option of `{}`", words[0].text));
                    at += 1;
                }
            }
        }
        at += wrapper.operands;
        let mut inner: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
        // Assignments may follow `--` too.
        while wrapper.takes_assignments && inner.first().is_some_and(|w| is_setting(&w.text)) {
            setting.assigns = true;
            inner.remove(0);
        }
        if inner.is_empty() {
            return false;
        }
        if inner[0].text.starts_with('-') {
            line.is_unclear(format!("`{}` has an option where a program must be", words[0].text));
        }
        if wrapper.appends_arguments {
            let holds = |word: &Word| replaced.as_ref().is_some_and(|r| word.text.contains(r));
            let runs_a_shell = inner.iter().any(|w| SHELLS.contains(&base_name(&w.text)));
            if holds(&inner[0]) || runs_a_shell {
                line.is_unclear("which program it runs is only known when it runs");
            }
            for word in inner.iter_mut().skip(1).filter(|word| holds(word)) {
                *word = Word::unknown(Shape::Many);
            }
            inner.push(Word::unknown(Shape::Many));
            setting.is_fed = true;
        }
        push(line, inner, setting, self.depth);
        // `time -o file` writes that file.
        let has_option = words[1].text.starts_with('-') && words[1].text != "-p";
        wrapper.is_transparent && !(wrapper.names.contains(&"time") && has_option)
    }

    /// `sh -c 'line'` is that line; a shell that reads its commands elsewhere is unclear.
    fn shell(&self, line: &mut Line, words: &[Word]) -> bool {
        let is_su = ["su", "runuser"].contains(&base_name(&words[0].text));
        for (at, word) in words.iter().enumerate().skip(1) {
            let Some(text) = word.fixed() else {
                line.is_unclear("what the shell runs is only known when it runs");
                return false;
            };
            let is_script = text == "--command"
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('c'));
            if is_script {
                let Some(script) = words.get(at + 1).and_then(Word::fixed) else {
                    line.is_unclear("what the shell runs is only known when it runs");
                    return false;
                };
                let before = line.commands.len();
                Reader::new(script.as_bytes(), self.depth, line).read_all();
                for command in &mut line.commands[before..] {
                    command.assigns |= self.setting.assigns;
                }
                return text == "-c" && at == 1 && !is_su;
            }
            let reads_elsewhere = text == "-s" || text == "-";
            if reads_elsewhere {
                break;
            }
            if !text.starts_with(['-', '+']) {
                // The user to become, or a script, which is a program of its own. Whoever allows
                // `sh script` has allowed the script.
                if is_su {
                    continue;
                }
                let index = line.commands.len();
                push(line, words[at..].to_vec(), self.setting, self.depth);
                if let Some(script) = line.commands.get_mut(index) {
                    script.transparent = true;
                }
                return false;
            }
        }
        line.is_unclear("a shell reads its commands from elsewhere");
        false
    }

    fn others(&self, line: &mut Line, program: &str, words: &[Word]) {
        match program {
            "find" | "gfind" | "fd" => self.found(line, words),
            "ssh" | "watch" => self.joined(line, program, words),
            "git" if words.iter().skip(1).any(may_run_another) => {
                line.is_unclear("it lets `git` run another program");
            }
            _ => {}
        }
    }

    /// `find … -exec command ;`
    fn found(&self, line: &mut Line, words: &[Word]) {
        const RUNS: &[&str] =
            &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let mut rest = words;
        while let Some(at) = rest.iter().position(|w| w.fixed().is_some_and(|t| RUNS.contains(&t)))
        {
            rest = &rest[at + 1..];
            let is_end = |w: &Word| w.fixed().is_some_and(|t| t == ";" || t == "+");
            let length = rest.iter().position(is_end).unwrap_or(rest.len());
            let mut inner = rest[..length].to_vec();
            if !inner.is_empty() {
                let is_shell = SHELLS.contains(&base_name(&inner[0].text));
                if inner[0].text.contains("{}")
                    || (is_shell
                        && inner[1..].iter().any(|w| w.text.len() > 2 && w.text.contains("{}")))
                {
                    line.is_unclear("which program it runs is only known when it runs");
                }
                inner.push(Word::unknown(Shape::Many));
                push(line, inner, self.setting, self.depth);
            }
            rest = &rest[length..];
        }
    }

    /// Programs that join their arguments to a line for a shell.
    fn joined(&self, line: &mut Line, program: &str, words: &[Word]) {
        let is_ssh = program == "ssh";
        let valued = if is_ssh { "bcDeEFIiJlLmoOpQRSWw" } else { "nqs" };
        let mut at = 1;
        while let Some(text) = words.get(at).map(|w| w.text.as_str()) {
            if !text.starts_with('-') {
                break;
            }
            let takes_next = text.len() == 2 && text[1..].chars().all(|c| valued.contains(c));
            at += if takes_next { 2 } else { 1 };
        }
        at += usize::from(is_ssh);
        let rest = words.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let texts: Option<Vec<&str>> = rest.iter().map(Word::fixed).collect();
        match texts {
            Some(texts) => {
                Reader::new(texts.join(" ").as_bytes(), self.depth, line).read_all();
            }
            None => line.is_unclear(format!("what `{program}` runs is only known when it runs")),
        }
    }
}

/// `env` and `sudo` take anything with a `=` in it for a variable.
fn is_setting(text: &str) -> bool {
    text.contains('=') && !text.starts_with('-')
}

/// What `xargs` puts its input in the place of, if this option says so.
fn replaced_by_xargs(option: &str, next: Option<&Word>) -> Option<String> {
    if let Some(value) = option.strip_prefix("--replace") {
        return Some(value.strip_prefix('=').unwrap_or("{}").to_owned());
    }
    if let Some(value) = option.strip_prefix("-i") {
        return Some(if value.is_empty() { "{}" } else { value }.to_owned());
    }
    match option.strip_prefix("-I").or(option.strip_prefix("-J"))? {
        "" => next.map(|word| word.text.clone()),
        value => Some(value.to_owned()),
    }
}

enum Taken {
    Alone,
    WithNext,
    NotKnown,
}

impl Wrapper {
    fn option(&self, text: &str) -> Taken {
        if let Some(long) = text.strip_prefix("--") {
            let (name, has_value) = match long.split_once('=') {
                Some((name, _)) => (name, true),
                None => (long, false),
            };
            return match () {
                () if self.plain.1.contains(&name) => Taken::Alone,
                () if self.valued.1.contains(&name) && has_value => Taken::Alone,
                () if self.valued.1.contains(&name) => Taken::WithNext,
                () => Taken::NotKnown,
            };
        }
        let is_optional = self.appends_arguments && text[1..].starts_with(['i', 'e', 'l']);
        if is_optional {
            return Taken::Alone;
        }
        let mut letters = text.chars().skip(1).peekable();
        while let Some(letter) = letters.next() {
            if self.valued.0.contains(letter) {
                return if letters.peek().is_some() { Taken::Alone } else { Taken::WithNext };
            }
            if !self.plain.0.contains(letter) {
                return Taken::NotKnown;
            }
        }
        Taken::Alone
    }
}
