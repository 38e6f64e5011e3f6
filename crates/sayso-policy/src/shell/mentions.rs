//! Words of arguments that may name a program. If a program evaluates its arguments in ways that are not parsed,
//! their words are kept, and a rule that names one of them may be meant.

use super::{CommandLine, ShellWord, WordShape};

/// The most words that are kept of one command.
const MENTIONS_MAX: usize = 4_096;

/// The characters between an option and its value, and between values.
const JOINTS: [char; 4] = ['=', ':', ',', '%'];

/// The most nested options that are searched (`--checkpoint-action=exec=command`).
const NESTED_MAX: usize = 8;

/// True if a text has characters that a shell would expand or unquote, so that its words are not what they seem.
pub(super) fn holds_shell_signs(text: &str) -> bool {
    text.contains(['\'', '"', '\\', '$', '`', '*', '?', '[', '{'])
}

/// True if a shell that is given this text would run other words than those in it. A single quote is one of a
/// sentence.
pub(super) fn holds_signs(text: &str) -> bool {
    text.contains(['\\', '$', '`']) || text.matches(['\'', '"']).count() > 1
}

/// Collects the words of an argument. An unknown one stands for any words.
pub(super) fn of_word(word: &ShellWord, found: &mut Vec<ShellWord>) {
    of_text(&word.text, found);
    if matches!(word.shape, WordShape::One | WordShape::Many) {
        found.push(ShellWord::unknown(WordShape::Many));
    }
}

/// Collects the words of a text: names, options and paths, with any separators. Slashes may be separators, too
/// (`s/x/command/e`).
pub(super) fn of_text(text: &str, found: &mut Vec<ShellWord>) {
    let is_part = |c: char| c.is_alphanumeric() || "_-./+~@".contains(c);
    // First as a shell splits words (`of=/dev/sda`), then split at the joints (`--run=command`).
    if text.contains(JOINTS) {
        of_values(text, |c| is_part(c) || JOINTS.contains(&c), found);
    }
    of_parts(text, is_part, found);
    if text.contains('/') {
        of_parts(text, |c| is_part(c) && c != '/', found);
    }
}

/// Collects the words of a text as a shell splits them, and those of option values: a command in a value has values
/// of its own (`--run=dd of=/dev/sda`).
fn of_values(text: &str, is_part: impl Fn(char) -> bool, found: &mut Vec<ShellWord>) {
    of_parts(text, &is_part, found);
    let mut rest = text;
    for _ in 0..NESTED_MAX {
        let Some((option, value)) = rest.split_once(JOINTS) else { return };
        if option.contains(char::is_whitespace) {
            return;
        }
        of_parts(value, &is_part, found);
        rest = value;
    }
}

fn of_parts(text: &str, is_part: impl Fn(char) -> bool, found: &mut Vec<ShellWord>) {
    let parts = text.split(|c: char| !is_part(c));
    for part in parts.filter(|part| !part.is_empty() && *part != "--") {
        if found.len() > MENTIONS_MAX {
            return;
        }
        found.push(ShellWord::of(part));
        // `-xgit` may be `-x git`.
        let behind = part.strip_prefix('-').and_then(|rest| rest.get(1..)).unwrap_or_default();
        if behind.len() > 1 && !part.starts_with("--") {
            found.push(ShellWord::of(behind));
        }
        // `@command` in a recipe of make.
        let bare = part.trim_start_matches(['@', '+', '-']);
        if bare.len() < part.len() && !bare.is_empty() && !part.starts_with("--") {
            found.push(ShellWord::of(bare));
        }
        // The full stop of a sentence.
        let trimmed = part.trim_end_matches('.');
        if trimmed.len() < part.len() && !trimmed.is_empty() {
            found.push(ShellWord::of(trimmed));
        }
    }
}

/// Adds the words to a command.
pub(super) fn add(line: &mut CommandLine, at: usize, found: Vec<ShellWord>) {
    let Some(command) = line.commands.get_mut(at) else { return };
    if command.mentions.len() + found.len() > MENTIONS_MAX {
        command.doubt("it is given more words than are read");
        return;
    }
    command.mentions.extend(found);
}
