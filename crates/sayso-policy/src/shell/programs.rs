//! The classes of programs, by what they do with their arguments. A program without a class is treated as one that
//! may run its arguments.

use super::{
    Awaited, CommandLine, ShellWord, SimpleCommand, WordShape, base_name, evaluating, mentions,
};

/// The class of a program, by its treatment of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramClass {
    /// It runs none of them and evaluates none of them.
    Plain,
    /// It may run a program that an argument names, in words that can be searched.
    Tool,
    /// It runs what its arguments say: a container, a package runner, a builder.
    Runner,
    /// It evaluates code in a language of its own.
    Interpreter,
    Unknown,
}

const PLAIN: &[&str] = &[
    "[",
    "arch",
    "base32",
    "base64",
    "basename",
    "b2sum",
    "cal",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cp",
    "curl",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "dig",
    "dir",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "gunzip",
    "gzip",
    "hd",
    "head",
    "hexdump",
    "host",
    "hostname",
    "id",
    "join",
    "jq",
    "kill",
    "killall",
    "link",
    "ln",
    "locale",
    "locate",
    "ls",
    "lsb_release",
    "lscpu",
    "lsof",
    "md5",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "netstat",
    "nl",
    "nproc",
    "nslookup",
    "numfmt",
    "od",
    "paste",
    "pathchk",
    "pbcopy",
    "pbpaste",
    "pgrep",
    "ping",
    "pkill",
    "pr",
    "printenv",
    "printf",
    "ps",
    "ptx",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shred",
    "shuf",
    "sleep",
    "sort",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "truncate",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "unxz",
    "unzip",
    "uptime",
    "users",
    "vdir",
    "vmstat",
    "wc",
    "whereis",
    "which",
    "who",
    "whoami",
    "xxd",
    "xz",
    "yes",
    "zcat",
    "zstd",
];

/// Options of plain programs that name a program to run.
const RUNNING_OPTIONS: &[(&str, &[&str])] =
    &[("sort", &["--compress-program"]), ("rg", &["--pre", "--hostname-bin"])];

const TOOLS: &[&str] = &[
    "ar",
    "awk",
    "nawk",
    "gsed",
    "bc",
    "biome",
    "black",
    "brew",
    "bzip2",
    "cargo",
    "cc",
    "clang",
    "clang-format",
    "clang-tidy",
    "clippy-driver",
    "cloc",
    "code",
    "composer",
    "convert",
    "cypress",
    "dart",
    "dot",
    "dotnet",
    "eslint",
    "ffmpeg",
    "flake8",
    "flutter",
    "g++",
    "gawk",
    "gcc",
    "gem",
    "gh",
    "glab",
    "go",
    "gofmt",
    "gradle",
    "hadolint",
    "helm",
    "hugo",
    "install",
    "isort",
    "jest",
    "jupyter",
    "javac",
    "ld",
    "magick",
    "markdownlint",
    "mawk",
    "mocha",
    "mvn",
    "mypy",
    "next",
    "nm",
    "nvcc",
    "objdump",
    "openssl",
    "patch",
    "pip",
    "pip3",
    "playwright",
    "poetry",
    "prettier",
    "protoc",
    "pylint",
    "pyright",
    "pytest",
    "rsync",
    "rubocop",
    "ruff",
    "rustc",
    "rustfmt",
    "rustup",
    "sayso",
    "scp",
    "sed",
    "shellcheck",
    "shfmt",
    "sops",
    "sqlfluff",
    "sftp",
    "stylelint",
    "swift",
    "tar",
    "terraform",
    "tofu",
    "tsc",
    "vite",
    "vitest",
    "webpack",
    "wget",
    "wc",
    "xcodebuild",
    "yamllint",
    "yq",
    "zig",
    "zip",
];

const RUNNERS: &[&str] = &[
    "ansible",
    "ansible-playbook",
    "bazel",
    "buck2",
    "bun",
    "bundle",
    "bunx",
    "cmake",
    "corepack",
    "ctest",
    "direnv",
    "docker",
    "docker-compose",
    "fly",
    "gmake",
    "just",
    "kubectl",
    "lerna",
    "make",
    "meson",
    "mise",
    "ninja",
    "nix",
    "nox",
    "npm",
    "npx",
    "nx",
    "pipenv",
    "pipx",
    "pnpm",
    "podman",
    "pre-commit",
    "rake",
    "rye",
    "task",
    "tox",
    "turbo",
    "uv",
    "uvx",
    "yarn",
];

const INTERPRETERS: &[&str] = &[
    "deno",
    "elixir",
    "erl",
    "ghc",
    "groovy",
    "guile",
    "java",
    "jruby",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "ocaml",
    "osascript",
    "perl",
    "php",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "r",
    "raku",
    "rscript",
    "ruby",
    "runghc",
    "scala",
    "tclsh",
    "ts-node",
    "tsx",
];

/// Tools that run what files of the project say.
const BUILDERS: &[&str] = &[
    "cargo",
    "dotnet",
    "go",
    "gradle",
    "mvn",
    "composer",
    "poetry",
    "pip",
    "pip3",
    "pytest",
    "jest",
    "vite",
    "vitest",
    "webpack",
    "cypress",
    "playwright",
    "mocha",
    "next",
    "flutter",
    "swift",
    "zig",
    "xcodebuild",
];

/// Files of projects that builders and runners take their commands from, in small letters.
const PROJECT_FILES: &[&str] = &[
    "makefile",
    "gnumakefile",
    "package.json",
    "justfile",
    ".justfile",
    "rakefile",
    "gemfile",
    "tox.ini",
    "noxfile.py",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "conftest.py",
    "build.rs",
    "cargo.toml",
    "config.toml",
    "cmakelists.txt",
    "build.ninja",
    "meson.build",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "build",
    "workspace",
    "build.bazel",
    ".bazelrc",
    ".pre-commit-config.yaml",
    "taskfile.yml",
    "taskfile.yaml",
    "turbo.json",
    "nx.json",
    "mise.toml",
    ".mise.toml",
    ".envrc",
    ".npmrc",
    "composer.json",
    "dockerfile",
    "flake.nix",
    "shell.nix",
    "procfile",
    "build.zig",
    ".env",
];

/// True if builders and runners may do what a file of this name says.
pub(super) fn is_of_projects(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_config = name.contains(".config.") || name.contains("compose.y");
    PROJECT_FILES.contains(&name.as_str()) || is_config || name.ends_with(".mk")
}

/// Settings of `ssh` that run nothing, in small letters.
const SSH_SETTINGS: &[&str] = &[
    "addressfamily",
    "batchmode",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "forwardagent",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityfile",
    "loglevel",
    "numberofpasswordprompts",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "requesttty",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "user",
    "userknownhostsfile",
];

/// True if `Setting=value` of `ssh`, `scp` and `sftp` runs no command.
pub(super) fn is_harmless_for_ssh(setting: &str) -> bool {
    let key = setting.split(['=', ' ', '\t', '"']).next().unwrap_or_default();
    SSH_SETTINGS.contains(&key.to_ascii_lowercase().as_str())
}

/// Words behind which a tool runs what follows.
const RUN_WORDS: &[(&str, &[&str])] = &[
    ("poetry", &["run"]),
    ("rustup", &["run"]),
    ("gh", &["alias"]),
    ("composer", &["exec", "run", "run-script"]),
    ("brew", &["sh"]),
];

/// True if this tool, given these words, runs a command of them.
pub(super) fn runs_what_follows(program: &str, words: &[ShellWord]) -> bool {
    let Some((_, behind)) = RUN_WORDS.iter().find(|(name, _)| *name == program) else {
        return false;
    };
    words.iter().skip(1).any(|word| match word.fixed() {
        Some(text) => behind.contains(&text),
        None => word.text.is_empty() && program != "gh",
    })
}

/// The words before a shell or an interpreter, whose own words are looked at as such.
fn before_a_language(words: &[ShellWord]) -> impl Iterator<Item = &ShellWord> {
    words.iter().take_while(|word| {
        let name = base_name(&word.text).to_ascii_lowercase();
        !super::wrappers::is_shell(&name) && class(&name, true) != ProgramClass::Interpreter
    })
}

/// Returns the class of a program, by its lower-case name and its directory.
pub(super) fn class(program: &str, is_of_the_system: bool) -> ProgramClass {
    let is_in = |list: &[&str]| list.contains(&program);
    if is_in(PLAIN) {
        return if is_of_the_system { ProgramClass::Plain } else { ProgramClass::Unknown };
    }
    if is_in(TOOLS) {
        return ProgramClass::Tool;
    }
    if is_in(RUNNERS) {
        return ProgramClass::Runner;
    }
    // `python3.12` is python.
    let name = program.split('.').next().unwrap_or(program);
    let is_version = program[name.len()..].bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if INTERPRETERS.contains(&name) && is_version {
        return ProgramClass::Interpreter;
    }
    ProgramClass::Unknown
}

/// Checks the arguments of a program that is no shell, wrapper or builtin: the commands it may run are recorded with
/// the command at this index.
pub(super) fn look(
    line: &mut CommandLine,
    at: usize,
    class: ProgramClass,
    feed: &super::StandardInput,
) {
    let words = line.commands[at].words.clone();
    let program = words[0].text.clone();
    let name = base_name(&program).to_ascii_lowercase();
    let arguments = &words[1..];
    if class == ProgramClass::Plain {
        let mut options = RUNNING_OPTIONS.iter().filter(|(p, _)| *p == name).flat_map(|(_, o)| *o);
        if options.any(|option| arguments.iter().any(|word| may_be_option(word, option))) {
            line.commands[at].doubt(format!("an option of `{program}` names a program to run"));
        }
        return;
    }
    let unknown =
        arguments.iter().find(|word| word.fixed().is_none() && word.shape != WordShape::Glob);
    let elsewhere = Some("it reads from elsewhere what it is to do");
    let mut doubt = None;
    match class {
        ProgramClass::Plain => {}
        ProgramClass::Tool => {
            let may_be_option =
                |word: &&ShellWord| word.fixed().is_none() && word.text.starts_with('-');
            if arguments.iter().any(|word| may_be_option(&word)) {
                doubt = Some("an option is only known when it runs");
            }
            if reads_standard_input(arguments) && !feed.is_visible() {
                doubt = elsewhere;
            }
            line.runs_project |= BUILDERS.contains(&name.as_str());
            doubt = doubt.or(evaluating::look_at_tool(line, &name, arguments));
        }
        ProgramClass::Runner => {
            line.runs_project = true;
            if unknown.is_some() {
                doubt = Some("what it runs is only known when it runs");
            } else if (feed.is_piped || reads_standard_input(arguments)) && !feed.is_visible() {
                doubt = elsewhere;
            } else if before_a_language(arguments).any(|w| mentions::holds_signs(&w.text)) {
                doubt = Some("it may give a shell what stands in its words");
            }
        }
        ProgramClass::Interpreter => {
            let found = evaluating::look_at_interpreter(line, &name, arguments);
            let is_visible = feed.is_visible();
            let has_code = arguments.iter().any(|word| !is_lone_option(&word.text));
            let reads = !has_code
                || reads_standard_input(arguments)
                || (feed.is_piped && found.may_read_code);
            doubt = found.doubt.or(elsewhere.filter(|_| reads && !is_visible));
            line.has_unknown_program |= found.may_read_code && !is_visible;
        }
        ProgramClass::Unknown => {
            if unknown.is_some() {
                doubt =
                    Some("it is a program nothing is known of, with an argument that is not known");
            } else if arguments.iter().any(|word| mentions::holds_shell_signs(&word.text)) {
                doubt = Some("it is a program nothing is known of, with what a shell would read");
            } else if feed.is_piped && !feed.is_visible() {
                doubt = Some("it is a program nothing is known of, and reads from elsewhere");
            }
            line.has_unknown_program = true;
        }
    }
    if let Some(why) = doubt {
        line.commands[at].doubt(format!("`{program}`: {why}"));
    }
    let mut found = vec![];
    for word in arguments {
        mentions::of_word(word, &mut found);
    }
    for text in &feed.texts {
        mentions::of_text(text, &mut found);
        if class == ProgramClass::Unknown && mentions::holds_shell_signs(text) {
            line.commands[at].doubt(format!("`{program}`: it is given what a shell would read"));
        }
    }
    mentions::add(line, at, found);
    // Their bodies come later.
    line.awaited.extend(feed.heredocs.iter().map(|number| Awaited {
        number: *number,
        command: at,
        class,
    }));
}

/// True if this option, abbreviated to any length, may be given.
fn may_be_option(word: &ShellWord, option: &str) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    let is_it = name.len() > 2 && name.starts_with("--") && option.starts_with(name);
    is_it || (word.fixed().is_none() && word.text.starts_with('-'))
}

fn reads_standard_input(words: &[ShellWord]) -> bool {
    words.iter().any(|word| evaluating::is_standard_input(&word.text))
}

/// True for an option that gives an interpreter no code, such as `-u`.
fn is_lone_option(text: &str) -> bool {
    text.starts_with('-')
        && text != "--version"
        && text != "-V"
        && text != "-v"
        && text != "--help"
        && text != "-h"
        && !text.contains('=')
        && text.len() <= 2
        && text != "-e"
}

impl SimpleCommand {
    /// Records a doubt. The first reason is kept.
    pub(super) fn doubt(&mut self, why: impl Into<String>) {
        self.doubt.get_or_insert_with(|| why.into());
    }
}
