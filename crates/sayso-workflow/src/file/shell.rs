//! How a place in a command line is quoted, so that a value can be put there whole.
//!
//! A value is put in as a variable, which no shell reads again as a part of the line. So a place that
//! is judged wrongly may be split into words, and can never run something.

/// How a place is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Not at all: the value brings its own.
    Bare,
    /// In double quotes.
    Double,
}

/// What a place is within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Line,
    Double,
    /// A command in the place of a text: `$(…)`.
    Command,
    /// A group in brackets.
    Group,
    /// A sum: `$((…))`, where a shell may read a value as more than a number.
    Sum,
}

const SINGLE: &str = "stands in single quotes, where the shell puts nothing in";
const COMMENT: &str = "stands in a comment";
const SUM: &str = "stands in `$((…))`, where a shell may run what is in a value";

/// What to do about a place where no value can stand.
pub(super) fn fix(why: &str) -> &'static str {
    match why {
        SUM => "compute it in the expression",
        COMMENT => "drop it",
        _ => "put it in double quotes, or in none",
    }
}

/// How each zero byte of a line stands in it, or why a value cannot stand there.
pub(super) fn places(line: &str) -> Vec<Result<Quotes, &'static str>> {
    let mut found = vec![];
    let mut within = vec![Within::Line];
    let mut chars = line.chars().peekable();
    let mut before = '\n';
    while let Some(c) = chars.next() {
        let is_double = within.last() == Some(&Within::Double);
        match c {
            '\0' if within.contains(&Within::Sum) => found.push(Err(SUM)),
            '\0' if is_double => found.push(Ok(Quotes::Double)),
            '\0' => found.push(Ok(Quotes::Bare)),
            '\\' if chars.peek() != Some(&'\0') => drop(chars.next()),
            '\'' if !is_double => skip(&mut chars, '\'', SINGLE, &mut found),
            '#' if !is_double && " \t\n;&|(".contains(before) => {
                skip(&mut chars, '\n', COMMENT, &mut found);
            }
            '"' if is_double => drop(within.pop()),
            '"' => within.push(Within::Double),
            '$' if chars.peek() == Some(&'(') => {
                chars.next();
                let is_sum = chars.peek() == Some(&'(');
                within.push(if is_sum { Within::Sum } else { Within::Command });
            }
            '(' if !is_double => within.push(Within::Group),
            ')' if !is_double && within.len() > 1 => drop(within.pop()),
            _ => {}
        }
        before = c;
    }
    found
}

/// What stands up to the end of a quote or comment; no value can stand in it.
fn skip(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    until: char,
    why: &'static str,
    found: &mut Vec<Result<Quotes, &'static str>>,
) {
    for c in chars.by_ref() {
        match c {
            c if c == until => return,
            '\0' => found.push(Err(why)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quotes::{Bare, Double};

    #[test]
    fn places_are_judged_as_a_shell_would() {
        for (line, expected) in [
            ("echo \0", vec![Ok(Bare)]),
            ("echo \"a \0 b\" \0", vec![Ok(Double), Ok(Bare)]),
            ("echo \"$(cat \0)\" \0", vec![Ok(Bare), Ok(Bare)]),
            ("echo \"a $(x \"\0\" ) \0\"", vec![Ok(Double), Ok(Double)]),
            ("echo 'a \0' \0", vec![Err(SINGLE), Ok(Bare)]),
            ("echo \"it's \0\"", vec![Ok(Double)]),
            ("echo a # it's \0\necho \0", vec![Err(COMMENT), Ok(Bare)]),
            ("echo a#b \0", vec![Ok(Bare)]),
            ("echo $((1 + \0)) \0", vec![Err(SUM), Ok(Bare)]),
            ("echo \\\"\0", vec![Ok(Bare)]),
            ("(cd \0 && ls)", vec![Ok(Bare)]),
        ] {
            assert_eq!(places(line), expected, "{line:?}");
        }
    }
}
