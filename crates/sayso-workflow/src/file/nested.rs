//! Finds scripts within a command line: words that another shell, or another program, reads as a script of its own. A
//! variable that is put in there becomes a part of it (injection).

/// A word of a simple command. Zero bytes stand for values.
#[derive(Debug, Default)]
pub(super) struct CommandLineWord {
    pub(super) text: String,
    /// The values of the line that are in it.
    pub(super) values: Vec<usize>,
}

impl CommandLineWord {
    /// A value that stands alone is a script on purpose.
    fn is_value(&self) -> bool {
        self.text == "\0"
    }

    fn is_option(&self) -> bool {
        self.text.starts_with('-')
    }

    /// True if it is this option, alone or as the last of several in one word.
    fn is(&self, option: &str) -> bool {
        let letters = self.text.strip_prefix('-').unwrap_or_default();
        let are_together =
            letters.len() <= TOGETHER_MAX && letters.chars().all(|c| c.is_ascii_alphabetic());
        let is_last = option.len() == 2 && letters.ends_with(&option[1..]);
        self.text == option || (are_together && is_last)
    }

    /// Returns the program it names. One within backticks has them at its edge.
    fn program(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default().trim_matches('`')
    }
}

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "$SHELL", "${SHELL}", "$BASH", "${BASH}"];

/// Programs that take a script after an option, without their version numbers.
const SCRIPTED: &[(&str, &[&str])] = &[
    ("su", &["-c", "--command"]),
    ("runuser", &["-c", "--command"]),
    ("script", &["-c", "--command"]),
    ("flock", &["-c", "--command"]),
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("lua", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print"]),
    ("nodejs", &["-e", "--eval", "-p", "--print"]),
    ("php", &["-r"]),
];

/// Options of `ssh` that take a word.
const SSH_OPTIONS: &str = "bcDEeFIiJLlmOopQRSWw";

/// The maximum number of short options in one word, such as `-lane`.
const TOGETHER_MAX: usize = 4;

/// Returns the values that stand in a script within these words. Other programs pass a script on, with words and
/// options of their own (`sudo -u ann sh -c`, `timeout 5 ssh`, `find -exec python3 -c`), so a program's name counts
/// at each position. That may refuse a word that only has such a name, and runs no value.
pub(super) fn scripts(words: &[CommandLineWord]) -> Vec<usize> {
    let each = words.iter().enumerate();
    each.flat_map(|(at, word)| script_of(word.program(), &words[at + 1..])).collect()
}

/// Returns the values that stand in the script of a program, by the words after its name.
fn script_of(program: &str, rest: &[CommandLineWord]) -> Vec<usize> {
    match program {
        "eval" => joined(rest),
        "ssh" => joined(&rest[ssh_host(rest)..]),
        "trap" => rest.iter().find(|word| !word.is_option()).map(values).unwrap_or_default(),
        shell if SHELLS.contains(&shell) => shell_script(rest).map(values).unwrap_or_default(),
        program => options_of(program).map_or(vec![], |options| behind(options, rest)),
    }
}

/// True if a command reads its standard input as a script.
pub(super) fn is_script_on_input(words: &[CommandLineWord]) -> bool {
    let reads = |word: &CommandLineWord| match word.program() {
        "ssh" => true,
        // It records the input, and runs none of it.
        "script" => false,
        program => SHELLS.contains(&program) || options_of(program).is_some(),
    };
    let is_sourced = words.iter().any(|word| matches!(word.text.as_str(), "." | "source"));
    let is_input =
        |word: &CommandLineWord| ["/dev/", "/proc/"].iter().any(|at| word.text.starts_with(at));
    words.iter().any(reads) || (is_sourced && words.iter().any(is_input))
}

/// Returns the options after which a program takes a script; none if it takes none.
fn options_of(program: &str) -> Option<&'static [&'static str]> {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    SCRIPTED.iter().find(|(name, _)| *name == plain).map(|(_, options)| *options)
}

/// Returns the values after these options, in a word of their own or in the same.
fn behind(options: &[&str], rest: &[CommandLineWord]) -> Vec<usize> {
    let is_one = |word: &CommandLineWord| options.iter().any(|option| word.is(option));
    let apart = rest.windows(2).filter(|pair| is_one(&pair[0])).flat_map(|pair| values(&pair[1]));
    let begins =
        |word: &&CommandLineWord| options.iter().any(|option| word.text.starts_with(option));
    let within = rest.iter().filter(begins).flat_map(|word| word.values.iter().copied());
    apart.chain(within).collect()
}

/// Returns the values of words that are run as one script. A first word that is only a value is a script on purpose;
/// the words after it become a part of it.
fn joined(words: &[CommandLineWord]) -> Vec<usize> {
    let behind =
        if words.first().is_some_and(CommandLineWord::is_value) { &words[1..] } else { words };
    behind.iter().flat_map(|word| word.values.iter().copied()).collect()
}

/// Returns the values of a word, unless it is only a value.
fn values(word: &CommandLineWord) -> Vec<usize> {
    if word.is_value() { vec![] } else { word.values.clone() }
}

/// Returns the script among the words after a shell's name: the word after `-c`. Without that it is a file.
fn shell_script(words: &[CommandLineWord]) -> Option<&CommandLineWord> {
    let (mut is_script, mut at) = (false, 0);
    while let Some(word) = words.get(at) {
        let is_option = word.text.len() > 1 && word.text.starts_with(['-', '+']);
        if !is_option {
            return is_script.then_some(word);
        }
        let is_short = !word.text.starts_with("--");
        is_script |= is_short && word.text.contains('c');
        // A word of its own follows these.
        let takes_file = matches!(word.text.as_str(), "--rcfile" | "--init-file");
        let takes_word = takes_file || (is_short && word.text.ends_with(['o', 'O']));
        at += if takes_word { 2 } else { 1 };
    }
    None
}

/// Returns the start of the remote command of `ssh`: after the host.
fn ssh_host(words: &[CommandLineWord]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(option) = word.text.strip_prefix('-') else { return at + 1 };
        let takes_word = option.chars().last().is_some_and(|c| SSH_OPTIONS.contains(c));
        at += if takes_word && option.len() == 1 { 2 } else { 1 };
    }
    words.len()
}
