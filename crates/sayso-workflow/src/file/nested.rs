//! Scripts within a command line: words that another shell, or another program, reads as a script of its own.
//! A variable that is put in there becomes a part of it.

/// A word of a simple command. Zero bytes stand for values.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Which values of the line are in it.
    pub(super) values: Vec<usize>,
}

impl Word {
    /// A value that stands alone is a script on purpose.
    fn is_value(&self) -> bool {
        self.text == "\0"
    }

    /// The program it names.
    fn program(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }
}

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Programs that take a script behind an option.
const SCRIPTED: &[(&str, &[&str])] = &[
    ("su", &["-c", "--command"]),
    ("runuser", &["-c", "--command"]),
    ("script", &["-c", "--command"]),
    ("flock", &["-c", "--command"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "--eval", "-p"]),
    ("php", &["-r"]),
];

/// Options of `ssh` that a word follows.
const SSH_OPTIONS: &str = "bcDEeFIiJLlmOopQRSWw";

/// Words that stand before a command and change nothing about what it reads.
const BEFORE: &[&str] = &[
    "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "command", "builtin",
    "exec", "env", "sudo", "nohup", "nice",
];

/// The values that stand in a script within these words.
pub(super) fn scripts(words: &[Word]) -> Vec<usize> {
    let is_shell = |word: &&Word| SHELLS.contains(&word.program());
    // Others hand it on: `sudo sh -c`, `xargs sh -c`, `find -exec sh -c`.
    let shells = words.iter().enumerate().filter(|(_, word)| is_shell(word));
    let mut found: Vec<usize> =
        shells.filter_map(|(at, _)| shell_script(&words[at + 1..])).flat_map(values).collect();
    let words = &words[begin(words)..];
    let Some((first, rest)) = words.split_first() else { return found };
    match first.program() {
        "eval" if rest.first().is_some_and(Word::is_value) => {}
        "eval" => found.extend(rest.iter().flat_map(|word| word.values.iter().copied())),
        "ssh" => {
            let remote = &rest[ssh_host(rest)..];
            if !remote.first().is_some_and(Word::is_value) {
                found.extend(remote.iter().flat_map(|word| word.values.iter().copied()));
            }
        }
        program => {
            let options = SCRIPTED.iter().find(|(name, _)| *name == program);
            let options = options.map(|(_, options)| *options).unwrap_or_default();
            let pairs = rest.windows(2);
            let behind = pairs.filter(|pair| options.contains(&pair[0].text.as_str()));
            found.extend(behind.map(|pair| &pair[1]).flat_map(values));
        }
    }
    found
}

/// Whether a command reads its standard input as a script.
pub(super) fn is_script_on_input(words: &[Word]) -> bool {
    let first = words.get(begin(words)).map(Word::program).unwrap_or_default();
    let reads = |word: &Word| SHELLS.contains(&word.program());
    let is_interpreter = SCRIPTED.iter().any(|(name, _)| *name == first && *name != "script");
    first == "ssh" || is_interpreter || words.iter().any(reads)
}

/// The values of a word, unless it is nothing but one.
fn values(word: &Word) -> Vec<usize> {
    if word.is_value() { vec![] } else { word.values.clone() }
}

/// The script among the words behind a shell's name: what follows `-c`. Without that it is a file.
fn shell_script(words: &[Word]) -> Option<&Word> {
    let (mut is_script, mut at) = (false, 0);
    while let Some(word) = words.get(at) {
        let is_option = word.text.len() > 1 && word.text.starts_with(['-', '+']);
        if !is_option {
            return is_script.then_some(word);
        }
        let is_short = !word.text.starts_with("--");
        is_script |= is_short && word.text.contains('c');
        // An option of its own follows these.
        at += if is_short && word.text.ends_with(['o', 'O']) { 2 } else { 1 };
    }
    None
}

/// Where the command begins that `ssh` runs elsewhere: behind the host.
fn ssh_host(words: &[Word]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(option) = word.text.strip_prefix('-') else { return at + 1 };
        let takes_word = option.chars().last().is_some_and(|c| SSH_OPTIONS.contains(c));
        at += if takes_word && option.len() == 1 { 2 } else { 1 };
    }
    words.len()
}

/// Where the command itself begins, behind words and assignments that stand before it.
fn begin(words: &[Word]) -> usize {
    let is_assignment = |word: &Word| {
        let name = word.text.split_once('=').map(|(name, _)| name).unwrap_or_default();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_before = |at: usize, word: &Word| {
        let is_option = at > 0 && word.text.starts_with('-');
        BEFORE.contains(&word.text.as_str()) || is_assignment(word) || is_option
    };
    let before = words.iter().enumerate().take_while(|(at, word)| is_before(*at, word));
    before.count()
}
