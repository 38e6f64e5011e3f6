//! Wrappers: also lists the commands that `sudo`, `env`, `xargs`, `timeout` or `sh -c` would run.

use super::parser::{NOT_READ, PASSED_OVER, ShellParser};
use super::programs::{ProgramClass, class};
use super::{
    COMMANDS_MAX, CommandLine, DEPTH_MAX, ShellWord, SimpleCommand, StandardInput, WordShape,
    base_name, builtins, environment, git, programs,
};

/// The context in which a command runs.
#[derive(Clone)]
pub(super) struct CommandContext {
    pub(super) assigns: bool,
    pub(super) feed: StandardInput,
}

/// A program that runs the command given as its arguments.
struct WrapperSpec {
    names: &'static [&'static str],
    /// Options without a value: short letters, then long names.
    plain: (&'static str, &'static [&'static str]),
    /// Options with a value.
    valued: (&'static str, &'static [&'static str]),
    /// The number of operands between the options and the command.
    operands: usize,
    takes_assignments: bool,
    appends_arguments: bool,
    /// True if it joins its arguments to a line for a shell.
    joins: bool,
    is_transparent: bool,
}

const PLAIN: WrapperSpec = WrapperSpec {
    names: &[],
    plain: ("", &[]),
    valued: ("", &[]),
    operands: 0,
    takes_assignments: false,
    appends_arguments: false,
    joins: false,
    is_transparent: false,
};

const WRAPPERS: &[WrapperSpec] = &[
    WrapperSpec {
        names: &["sudo", "doas"],
        plain: ("AbBEHkKnPS", &["preserve-env", "non-interactive", "set-home", "stdin"]),
        valued: ("CDghpRrtTuU", &["user", "group", "host", "prompt", "chdir", "chroot"]),
        takes_assignments: true,
        ..PLAIN
    },
    WrapperSpec {
        names: &["env"],
        plain: ("0iv", &["ignore-environment", "null", "debug"]),
        valued: ("uC", &["unset", "chdir"]),
        takes_assignments: true,
        ..PLAIN
    },
    WrapperSpec { names: &["nohup"], is_transparent: true, ..PLAIN },
    WrapperSpec {
        names: &["time"],
        plain: ("pvaq", &["portability", "verbose", "append", "quiet"]),
        valued: ("fo", &["format", "output"]),
        is_transparent: true,
        ..PLAIN
    },
    WrapperSpec {
        names: &["timeout", "gtimeout"],
        plain: ("v", &["foreground", "preserve-status", "verbose"]),
        valued: ("ks", &["kill-after", "signal"]),
        operands: 1,
        is_transparent: true,
        ..PLAIN
    },
    WrapperSpec {
        names: &["nice"],
        plain: ("0123456789", &[]),
        valued: ("n", &["adjustment"]),
        is_transparent: true,
        ..PLAIN
    },
    WrapperSpec { names: &["ionice"], plain: ("t", &[]), valued: ("cnpPu", &["class"]), ..PLAIN },
    WrapperSpec {
        names: &["stdbuf"],
        valued: ("ioe", &["input", "output", "error"]),
        is_transparent: true,
        ..PLAIN
    },
    WrapperSpec { names: &["setsid"], plain: ("cfw", &["ctty", "fork", "wait"]), ..PLAIN },
    WrapperSpec {
        names: &["strace", "ltrace"],
        plain: ("cCdfFhiknqrStTvVwxyzZ", &[]),
        valued: ("aAbDeEIloOpPsuUX", &[]),
        ..PLAIN
    },
    WrapperSpec { names: &["chroot", "taskset"], operands: 1, ..PLAIN },
    WrapperSpec {
        names: &["flock"],
        plain: ("enosuxF", &[]),
        valued: ("wE", &[]),
        operands: 1,
        ..PLAIN
    },
    // These have many options: with any of them, the command they run cannot be determined.
    WrapperSpec { names: &["unshare", "nsenter", "systemd-run", "ssh-agent", "unbuffer"], ..PLAIN },
    WrapperSpec {
        names: &["watch"],
        plain: (
            "bcCdefgprtwx",
            &[
                "beep",
                "color",
                "differences",
                "errexit",
                "chgexit",
                "precise",
                "no-title",
                "no-wrap",
                "exec",
            ],
        ),
        valued: ("nqs", &["interval", "equexit"]),
        joins: true,
        ..PLAIN
    },
    WrapperSpec { names: &["exec"], plain: ("cl", &[]), valued: ("a", &[]), ..PLAIN },
    WrapperSpec {
        names: &["command", "builtin", "noglob", "nocorrect"],
        plain: ("p", &[]),
        ..PLAIN
    },
    // From fish.
    WrapperSpec { names: &["and", "or", "not", "begin"], ..PLAIN },
    WrapperSpec { names: &["busybox", "toybox"], ..PLAIN },
    WrapperSpec {
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

/// Shells with the grammar that is parsed here.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"];

/// Shells with another grammar. Their input is parsed all the same, for rules that deny.
const FOREIGN_SHELLS: &[&str] =
    &["csh", "tcsh", "fish", "nu", "elvish", "xonsh", "pwsh", "powershell", "rc", "es"];

/// Programs that run a shell with a given line.
const SHELL_RUNNERS: &[&str] = &["su", "runuser", "script"];

/// Programs whose arguments are files that they write.
const WRITERS: &[&str] = &[
    "cp", "mv", "ln", "tee", "install", "curl", "wget", "dd", "rsync", "scp", "sed", "link",
    "chmod", "touch", "sort", "shuf", "uniq", "xxd", "split", "csplit", "truncate", "sftp",
];

/// Those of them that write what they are given, and nothing else.
const PLAIN_WRITERS: &[&str] = &["cp", "mv", "ln", "tee", "install", "dd", "link"];

/// Programs that write files whose names are in another file.
const UNPACKERS: &[&str] = &["tar", "bsdtar", "unzip", "cpio", "patch", "7z", "unrar"];

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

/// Adds a command and all commands that it runs.
pub(super) fn push(
    line: &mut CommandLine,
    words: Vec<ShellWord>,
    setting: CommandContext,
    depth: usize,
) {
    if line.commands.len() >= COMMANDS_MAX {
        line.is_unclear("it runs more commands than anybody would read");
        return;
    }
    let Some(first) = words.first() else {
        line.commands.push(SimpleCommand { assigns: setting.assigns, ..SimpleCommand::default() });
        return;
    };
    let Some(program) = first.fixed().map(|p| base_name(p).to_ascii_lowercase()) else {
        line.is_unclear("which program it runs is only known when it runs");
        let assigns = setting.assigns;
        line.commands.push(SimpleCommand { words, assigns, ..SimpleCommand::default() });
        return;
    };
    let program = program.as_str();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-./+@~".contains(c);
    if PASSED_OVER.contains(&program) || NOT_READ.contains(&program) {
        line.is_unclear(format!("it has a `{program}`"));
    } else if !matches!(program, "[" | ":")
        && (program.is_empty() || !first.text.chars().all(is_name))
    {
        line.is_unclear("the name of a program holds signs that shells may expand");
    }
    // zsh closes a group without a `;` before the bracket.
    if words.iter().skip(1).any(|word| matches!(word.fixed(), Some("{" | "}"))) {
        line.is_unclear("a bracket stands among the words of a command");
    }
    line.moves |= ["cd", "pushd", "popd", "chdir"].contains(&program);
    let sets_a_variable = ASSIGNING.contains(&program)
        || (program == "printf" && words.get(1).is_some_and(|w| w.text.starts_with("-v")));
    let assigns = setting.assigns || sets_a_variable;
    let index = line.commands.len();
    line.commands.push(SimpleCommand { words: words.clone(), assigns, ..SimpleCommand::default() });
    if depth >= DEPTH_MAX {
        line.is_unclear("it is nested too deeply");
        return;
    }
    // Only the system's own program is known to do nothing else: `./sh -c ls` may do anything.
    let directory = words[0].text.get(..words[0].text.len() - program.len()).unwrap_or_default();
    let is_of_the_system = SYSTEM.contains(&directory);
    let is_known = is_of_the_system && words[0].text.ends_with(program);
    if !is_of_the_system {
        line.run.push(words[0].text.clone());
    }
    notes_writes(line, program, &words[1..]);
    let inner = CommandScanner { setting: CommandContext { assigns, ..setting }, depth: depth + 1 };
    let is_transparent = inner.look(line, index, program, &words, is_of_the_system);
    // A variable set before it is passed on to the inner command, which is marked already.
    let is_there = matches!(directory, "" | "/bin/" | "/usr/bin/");
    line.commands[index].transparent = is_transparent && is_known && is_there && !assigns;
}

/// Notes the files that a program writes by its arguments.
fn notes_writes(line: &mut CommandLine, program: &str, words: &[ShellWord]) {
    let git_writes = || words.iter().any(|word| word.text.starts_with("--output"));
    if UNPACKERS.contains(&program) {
        let lists = words.first().is_some_and(|word| {
            let letters = word.text.trim_start_matches('-');
            program == "tar" && letters.starts_with(['c', 't', 'r', 'u'])
        });
        line.writes_any |= !lists;
    } else if program == "find" {
        line.writes_any |= words
            .iter()
            .any(|word| ["-fprint", "-fls"].iter().any(|option| word.text.starts_with(option)));
    } else if WRITERS.contains(&program) || (program == "git" && git_writes()) {
        if PLAIN_WRITERS.contains(&program) {
            line.writes_any |= words.iter().any(|word| word.fixed().is_none());
        }
        for word in words.iter().filter(|word| !word.text.is_empty()) {
            line.written.push(word.text.clone());
            // `of=file`, `--output=file`, `-ofile`.
            let value = word.text.split_once('=').map(|(_, value)| value);
            let attached = word.text.strip_prefix('-').and_then(|rest| rest.get(1..));
            line.written.extend(value.or(attached).map(str::to_owned));
        }
    }
}

/// The directories of system programs.
const SYSTEM: &[&str] = &[
    "",
    "/bin/",
    "/usr/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/opt/local/bin/",
];

/// True if the words after this one may be a command of their own.
fn runs_commands(word: &ShellWord, has_more: bool) -> bool {
    let name = base_name(&word.text).to_ascii_lowercase();
    let name = name.as_str();
    let is_shell = SHELLS.contains(&name) || FOREIGN_SHELLS.contains(&name);
    let is_wrapper = WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name));
    let is_another = ["git", "find", "ssh", "eval", "source"].contains(&name);
    is_shell || (has_more && (is_wrapper || is_another || SHELL_RUNNERS.contains(&name)))
}

/// The scan of the commands that a command runs.
struct CommandScanner {
    setting: CommandContext,
    depth: usize,
}

impl CommandScanner {
    /// Scans a command by its program. Returns true if it changes nothing about the command it runs.
    fn look(
        &self,
        line: &mut CommandLine,
        index: usize,
        program: &str,
        words: &[ShellWord],
        is_of_the_system: bool,
    ) -> bool {
        if let Some(wrapper) = WRAPPERS.iter().find(|w| w.names.contains(&program)) {
            return self.wrapped(line, wrapper, words);
        }
        if SHELLS.contains(&program) {
            return self.shell(line, words);
        }
        if FOREIGN_SHELLS.contains(&program) {
            line.is_unclear(format!("`{program}` reads lines in its own way"));
            self.parse_c_options(line, words);
            return false;
        }
        if SHELL_RUNNERS.contains(&program) {
            if !self.parse_c_options(line, words) {
                line.is_unclear("a shell reads its commands from elsewhere");
            }
            return false;
        }
        if let Some(subcommand) = program.strip_prefix("git-").filter(|name| !name.is_empty()) {
            let mut whole = vec![ShellWord::of("git"), ShellWord::of(subcommand)];
            whole.extend_from_slice(&words[1..]);
            push(line, whole, self.setting.clone(), self.depth);
            return false;
        }
        match program {
            "git" => {
                line.runs_git = true;
                git::look(line, words);
            }
            "find" | "gfind" | "fd" | "fdfind" => self.found(line, words),
            "ssh" => self.ssh(line, words),
            _ if builtins::look(line, program, words) => {}
            _ => self.others(line, index, program, words, is_of_the_system),
        }
        false
    }

    fn others(
        &self,
        line: &mut CommandLine,
        index: usize,
        program: &str,
        words: &[ShellWord],
        is_of_the_system: bool,
    ) {
        let class = match class(program, is_of_the_system) {
            ProgramClass::Tool if programs::runs_what_follows(program, words) => {
                ProgramClass::Runner
            }
            class => class,
        };
        programs::look(line, index, class, &self.setting.feed);
        let last = words.len() - 1;
        let place = match class {
            ProgramClass::Runner | ProgramClass::Unknown => {
                (1..words.len()).find(|at| runs_commands(&words[*at], *at < last))
            }
            // `cargo xtask sh -c line`; `shellcheck -s sh file` runs nothing.
            ProgramClass::Tool => (1..words.len()).find(|at| {
                let takes_line =
                    |word: &ShellWord| word.text.starts_with('-') && word.text.contains('c');
                runs_a_shell(&words[*at]) && words[at + 1..].iter().any(takes_line)
            }),
            ProgramClass::Plain | ProgramClass::Interpreter => None,
        };
        if let Some(at) = place {
            push(line, words[at..].to_vec(), self.setting.clone(), self.depth);
        }
    }

    /// Scans a wrapper. Returns true if it changes nothing about the command it runs.
    fn wrapped(&self, line: &mut CommandLine, wrapper: &WrapperSpec, words: &[ShellWord]) -> bool {
        let mut at = 1;
        let mut setting = self.setting.clone();
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
                environment::look(line, word, true);
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
            wrapper.look_at_value(line, text, words.get(at + 1));
            match wrapper.option(text) {
                OptionArity::Alone => at += 1,
                OptionArity::WithNext => at += 2,
                OptionArity::NotKnown if text == "-v" || text == "-V" => return false,
                OptionArity::NotKnown => {
                    line.is_unclear(format!("`{text}` is no known option of `{}`", words[0].text));
                    at += 1;
                }
            }
        }
        at += wrapper.operands;
        let mut inner: Vec<ShellWord> = words.get(at..).unwrap_or_default().to_vec();
        // Assignments may follow `--` too.
        while wrapper.takes_assignments && inner.first().is_some_and(|w| is_setting(&w.text)) {
            environment::look(line, &inner[0], true);
            setting.assigns = true;
            inner.remove(0);
        }
        if inner.is_empty() {
            return false;
        }
        if inner[0].text.starts_with('-') {
            line.is_unclear(format!("`{}` has an option where a program must be", words[0].text));
        }
        if wrapper.joins {
            self.joined(line, &words[0].text, &inner);
            return false;
        }
        if wrapper.appends_arguments {
            let holds = |word: &ShellWord| replaced.as_ref().is_some_and(|r| word.text.contains(r));
            let runs_a_shell = inner.iter().any(runs_a_shell);
            if holds(&inner[0]) || runs_a_shell {
                line.is_unclear("which program it runs is only known when it runs");
            }
            for word in inner.iter_mut().skip(1).filter(|word| holds(word)) {
                *word = ShellWord::unknown(WordShape::Many);
            }
            inner.push(ShellWord::unknown(WordShape::Many));
            setting.feed.is_piped = true;
        }
        push(line, inner, setting, self.depth);
        // `time -o file` writes that file.
        let has_option = words[1].text.starts_with('-') && words[1].text != "-p";
        wrapper.is_transparent && !(wrapper.names.contains(&"time") && has_option)
    }

    /// Scans `sh -c 'line'` as that line; a shell that reads its commands from another source is unclear.
    fn shell(&self, line: &mut CommandLine, words: &[ShellWord]) -> bool {
        const ALONE: &[&str] =
            &["--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose"];
        let (mut has_line, mut reads_elsewhere, mut options_end) = (false, false, false);
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(text) = word.fixed() else {
                line.is_unclear("what the shell runs is only known when it runs");
                return false;
            };
            if options_end || !text.starts_with(['-', '+']) || text == "+" {
                break;
            }
            at += 1;
            if text == "--" || text == "-" {
                options_end = true;
                continue;
            }
            if text.starts_with("--") {
                if !ALONE.contains(&text) {
                    line.is_unclear(format!("`{text}` is no known option of a shell"));
                    at += usize::from(!text.contains('='));
                }
                continue;
            }
            for letter in text.chars().skip(1) {
                match letter {
                    'c' if text.starts_with('-') => has_line = true,
                    's' => reads_elsewhere = true,
                    'o' | 'O' => at += 1,
                    _ if "abefhiklmnprtuvxBCEHPT".contains(letter) => {}
                    _ => line.is_unclear(format!("`{text}` is no known option of a shell")),
                }
            }
            let set =
                words.get(at - 1).filter(|_| text.contains(['o', 'O'])).and_then(ShellWord::fixed);
            if set.is_some_and(|name| !SHELL_SETTINGS.contains(&name)) {
                line.is_unclear(format!("`{text}` changes how a shell reads"));
            }
        }
        let Some(word) = words.get(at).filter(|_| has_line || !reads_elsewhere) else {
            line.is_unclear("a shell reads its commands from elsewhere");
            return false;
        };
        if has_line {
            self.line_of_shell(line, word);
            return at == 2 && words[1].text == "-c";
        }
        if ["/dev/", "/proc/"].iter().any(|place| word.text.starts_with(place)) {
            line.is_unclear("a shell reads its commands from elsewhere");
        }
        // A script is a program of its own: a rule that allows `sh script` allows the script.
        line.run.push(word.text.clone());
        let index = line.commands.len();
        push(line, words[at..].to_vec(), self.setting.clone(), self.depth);
        if let Some(script) = line.commands.get_mut(index) {
            script.transparent = true;
        }
        false
    }

    /// Parses a line that is passed to a shell.
    fn line_of_shell(&self, line: &mut CommandLine, word: &ShellWord) {
        let Some(script) = word.fixed() else {
            line.is_unclear("what the shell runs is only known when it runs");
            return;
        };
        let before = line.commands.len();
        ShellParser::new(script.as_bytes(), self.depth, line).read_all();
        for command in &mut line.commands[before..] {
            command.assigns |= self.setting.assigns;
        }
    }

    /// Parses the line after each `-c`, at any position. Returns true if there is one, among known options.
    fn parse_c_options(&self, line: &mut CommandLine, words: &[ShellWord]) -> bool {
        const LONG: &[&str] = &[
            "--quiet",
            "--return",
            "--append",
            "--flush",
            "--force",
            "--login",
            "--preserve-environment",
        ];
        let mut has_line = false;
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            let text = word.text.as_str();
            if word.fixed().is_none() {
                line.is_unclear("what the shell runs is only known when it runs");
            }
            if let Some(long) = text.strip_prefix("--command") {
                let next = match long.strip_prefix('=') {
                    Some(value) => Some(ShellWord::of(value)),
                    None => words.get(at).cloned(),
                };
                has_line |= next.is_some();
                next.iter().for_each(|next| self.line_of_shell(line, next));
            } else if text.starts_with("--") {
                if text != "--" && !LONG.contains(&text) {
                    line.is_unclear(format!("`{text}` is no known option of `{}`", words[0].text));
                }
            } else if let Some(letters) = text.strip_prefix('-') {
                let Some((_, attached)) = letters.split_once('c') else { continue };
                let next = match attached {
                    "" => words.get(at).cloned(),
                    attached => Some(ShellWord::of(attached)),
                };
                has_line |= next.is_some();
                next.iter().for_each(|next| self.line_of_shell(line, next));
            }
        }
        has_line
    }

    /// Scans `find … -exec command ;`.
    fn found(&self, line: &mut CommandLine, words: &[ShellWord]) {
        const RUNS: &[&str] =
            &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let is_fd = base_name(&words[0].text).starts_with("fd");
        if words.iter().any(|word| word.shape == WordShape::Many) {
            line.is_unclear("what it looks for, and runs, is only known when it runs");
        }
        let is_hidden = |text: &str| {
            !RUNS.contains(&text)
                && (text.starts_with("--exec")
                    || (is_fd
                        && !text.starts_with("--")
                        && text.starts_with('-')
                        && text.contains(['x', 'X'])))
        };
        if words.iter().skip(1).any(|word| is_hidden(&word.text)) {
            line.is_unclear("an option of it runs a command");
        }
        let mut rest = words;
        while let Some(at) = rest.iter().position(|w| w.fixed().is_some_and(|t| RUNS.contains(&t)))
        {
            rest = &rest[at + 1..];
            let is_end = |w: &ShellWord| w.fixed().is_some_and(|t| t == ";" || t == "+");
            let length = rest.iter().position(is_end).unwrap_or(rest.len());
            let mut inner = rest[..length].to_vec();
            if !inner.is_empty() {
                if inner[0].text.contains("{}")
                    || (runs_a_shell(&inner[0])
                        && inner[1..].iter().any(|w| w.text.len() > 2 && w.text.contains("{}")))
                {
                    line.is_unclear("which program it runs is only known when it runs");
                }
                inner.push(ShellWord::unknown(WordShape::Many));
                push(line, inner, self.setting.clone(), self.depth);
            }
            rest = &rest[length..];
        }
    }

    /// Scans `ssh [options] host [options] command…`: it accepts options on both sides of the host.
    fn ssh(&self, line: &mut CommandLine, words: &[ShellWord]) {
        const PLAIN: &str = "46AaCfGgKkMNnqsTtVvXxYy";
        const VALUED: &str = "BbcDeEiJLlmOopQRSWw";
        let mut at = 1;
        let mut has_host = false;
        while let Some(word) = words.get(at) {
            let Some(text) = word.fixed() else {
                if !has_host
                    && word.shape == WordShape::One
                    && !word.text.is_empty()
                    && !word.text.starts_with('-')
                {
                    has_host = true;
                    at += 1;
                    continue;
                }
                line.is_unclear("what `ssh` runs is only known when it runs");
                break;
            };
            let Some(letters) = text.strip_prefix('-') else {
                if has_host {
                    break;
                }
                has_host = true;
                at += 1;
                continue;
            };
            at += 1;
            if text == "--" {
                at += usize::from(!has_host);
                break;
            }
            let Some((place, letter)) = letters.char_indices().find(|(_, c)| !PLAIN.contains(*c))
            else {
                continue;
            };
            if !VALUED.contains(letter) {
                line.is_unclear(format!("`{text}` is no known option of `ssh`"));
                continue;
            }
            let attached = &letters[place + 1..];
            let value = match attached {
                "" => {
                    at += 1;
                    words.get(at - 1).map_or("", |word| word.text.as_str())
                }
                attached => attached,
            };
            if letter == 'o' && !programs::is_harmless_for_ssh(value) {
                line.is_unclear(format!("the setting `{value}` of `ssh` may run a command"));
            }
        }
        self.joined(line, "ssh", words.get(at..).unwrap_or_default());
    }

    /// Parses words that are joined to a line for a shell.
    fn joined(&self, line: &mut CommandLine, program: &str, words: &[ShellWord]) {
        if words.is_empty() {
            return;
        }
        let texts: Option<Vec<&str>> = words.iter().map(ShellWord::fixed).collect();
        match texts {
            Some(texts) => {
                ShellParser::new(texts.join(" ").as_bytes(), self.depth, line).read_all();
            }
            None => line.is_unclear(format!("what `{program}` runs is only known when it runs")),
        }
    }
}

/// Settings of shells that do not change which commands run.
const SHELL_SETTINGS: &[&str] = &[
    "errexit",
    "nounset",
    "pipefail",
    "xtrace",
    "verbose",
    "noclobber",
    "noglob",
    "posix",
    "allexport",
    "nullglob",
    "globstar",
    "dotglob",
    "failglob",
    "inherit_errexit",
    "lastpipe",
];

fn runs_a_shell(word: &ShellWord) -> bool {
    is_shell(base_name(&word.text))
}

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || FOREIGN_SHELLS.contains(&name) || SHELL_RUNNERS.contains(&name)
}

/// True for a variable of `env` and `sudo`: any word with a `=` in it.
fn is_setting(text: &str) -> bool {
    text.contains('=') && !text.starts_with('-')
}

/// Returns the placeholder that `xargs` replaces by its input, if this option sets one.
fn replaced_by_xargs(option: &str, next: Option<&ShellWord>) -> Option<String> {
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

enum OptionArity {
    Alone,
    WithNext,
    NotKnown,
}

impl WrapperSpec {
    /// `strace -o '|command'` and `-E NAME=value`, attached or not.
    fn look_at_value(&self, line: &mut CommandLine, option: &str, next: Option<&ShellWord>) {
        let next = next.filter(|_| matches!(self.option(option), OptionArity::WithNext));
        let text = next.map_or(option, |word| &word.text);
        let is_tracer = self.names.contains(&"strace") && !option.starts_with("--");
        if text.starts_with(['|', '!']) || (is_tracer && option.contains(['|', '!'])) {
            line.is_unclear("an option runs a command");
        }
        if !is_tracer || !option.contains('E') {
            return;
        }
        let attached = option.split_once('E').map_or("", |(_, value)| value);
        match next {
            Some(word) => environment::look(line, word, true),
            None if is_setting(attached) => environment::look(line, &ShellWord::of(attached), true),
            None => {}
        }
    }

    fn option(&self, text: &str) -> OptionArity {
        if let Some(long) = text.strip_prefix("--") {
            let (name, has_value) = match long.split_once('=') {
                Some((name, _)) => (name, true),
                None => (long, false),
            };
            return match () {
                () if self.plain.1.contains(&name) => OptionArity::Alone,
                () if self.valued.1.contains(&name) && has_value => OptionArity::Alone,
                () if self.valued.1.contains(&name) => OptionArity::WithNext,
                () => OptionArity::NotKnown,
            };
        }
        let is_optional = self.appends_arguments && text[1..].starts_with(['i', 'e', 'l']);
        if is_optional {
            return OptionArity::Alone;
        }
        let mut letters = text.chars().skip(1).peekable();
        while let Some(letter) = letters.next() {
            if self.valued.0.contains(letter) {
                return if letters.peek().is_some() {
                    OptionArity::Alone
                } else {
                    OptionArity::WithNext
                };
            }
            if !self.plain.0.contains(letter) {
                return OptionArity::NotKnown;
            }
        }
        OptionArity::Alone
    }
}
