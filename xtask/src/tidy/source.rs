//! Rust source as the checks read it: without comments, and name by name.

/// Returns the lines of a file with their numbers, comments cut off.
pub(super) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, without_comment(line)))
}

/// Returns the same without the file's test module, which rustfmt leaves at the left margin.
pub(super) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut marked = false;
    let mut inside = false;
    code_lines(text).filter(move |(_, line)| {
        if inside {
            inside = *line != "}";
            return false;
        }
        inside = marked && line.starts_with("mod ") && line.ends_with('{');
        marked = *line == "#[cfg(test)]";
        !inside
    })
}

/// True if a line contains a name as a whole word: `rand` is not in `operand`.
pub(super) fn names(line: &str, what: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(what).any(|(start, _)| {
        let before = line[..start].chars().next_back().filter(|_| what.starts_with(is_word));
        let after = line[start + what.len()..].chars().next().filter(|_| what.ends_with(is_word));
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Returns the names that `use std::{…}` groups take from std, as `(line, "std::name")`.
pub(super) fn grouped_std_names(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut at_name = false;
    for (number, mut line) in code_lines(text) {
        if depth == 0 {
            let Some((_, group)) = line.split_once("std::{") else { continue };
            (depth, at_name, line) = (1, true, group);
        }
        for piece in line.split_inclusive(['{', '}', ',']) {
            let name = piece.trim().split([':', '{', '}', ',', ' ']).next().unwrap_or_default();
            if depth == 1 && at_name && !name.is_empty() {
                found.push((number, format!("std::{name}")));
                at_name = false;
            }
            match piece.chars().next_back() {
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                Some(',') if depth == 1 => at_name = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

fn without_comment(line: &str) -> &str {
    // A `//` after a colon is an address in a string, not a comment.
    let start = line.match_indices("//").map(|(at, _)| at).find(|at| !line[..*at].ends_with(':'));
    start.map_or(line, |at| line[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_not_code_but_addresses_are() {
        let text = "a(); // println!\n/// println!\nlet u = \"http://x\";";
        let lines: Vec<_> = code_lines(text).collect();
        assert_eq!(lines, [(1, "a();"), (2, ""), (3, "let u = \"http://x\";")]);
    }

    #[test]
    fn a_test_module_is_not_shipped_but_what_surrounds_it_is() {
        let text = "a();\n#[cfg(test)]\nmod tests {\n    b();\n}\nc();";
        let lines: Vec<_> = shipped_lines(text).map(|(_, line)| line).collect();
        assert_eq!(lines, ["a();", "#[cfg(test)]", "c();"]);
    }

    #[test]
    fn an_attribute_alone_hides_nothing() {
        let text = "#[cfg(test)]\nuse x;\nmod real {\n    println!();\n}";
        assert!(shipped_lines(text).any(|(_, line)| names(line, "println!")));
    }

    #[test]
    fn names_are_whole_words() {
        assert!(names("rand::rng()", "rand") && names("(rand)", "rand"));
        assert!(!names("operand", "rand") && !names("random", "rand") && !names("rand_x", "rand"));
        assert!(names("println!(1)", "println!") && !names("eprintln!(1)", "println!"));
    }

    #[test]
    fn groups_of_std_are_taken_apart() {
        let text = "use std::{fmt, fs::{self, File},\n    thread};\nuse std::{net};";
        let found = grouped_std_names(text);
        let expected = [(1, "std::fmt"), (1, "std::fs"), (2, "std::thread"), (3, "std::net")];
        assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
    }
}
