//! Explains YAML syntax errors to the author of a workflow, in place of the parser's own words.

/// Returns the error on a line and the advice, from the message of the parser.
pub(super) fn explain_yaml_error(text: &str, line: u64, said: &str) -> (String, String) {
    let at = usize::try_from(line).unwrap_or_default();
    let here = text.lines().nth(at.wrapping_sub(1)).unwrap_or_default();
    let lower = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&["duplicate"]) {
        return (format!("`{}` is there twice", key_of(here)), "keep one of them".into());
    }
    if is_bare_expression(here) {
        let what = "a value that begins with `{{` is a mapping for YAML";
        return (what.into(), format!("put it in quotes: {}", in_quotes(here)));
    }
    if has_two_colons(here) {
        let what = "`: ` in a value begins a mapping for YAML";
        return (what.into(), format!("put the value in quotes: {}", in_quotes(here)));
    }
    let (what, fix) = if says(&["merge"]) {
        ("`<<` does not put one mapping into another here", "write its keys out")
    } else if says(&["documents"]) {
        let what = "there is a second document, and a file is one workflow";
        (what, "drop the line `---`, or make two files of it")
    } else if says(&["budget", "alias", "limit", "replay"]) {
        let what = "the file unfolds to more than is read, or is nested too deeply";
        (what, "write it out, with fewer `&` and `*`")
    } else if says(&["found a tab", "tabs"]) || indent(here).contains('\t') {
        let what = "there is a tab, here or at the beginning of the next line";
        (what, "indent with blanks")
    } else {
        let fix = "mend it; a value with signs of YAML in it stands in quotes";
        return (format!("this is no YAML that can be used: {said}"), fix.into());
    };
    (what.into(), fix.into())
}

fn key_of(line: &str) -> &str {
    line.trim_start_matches([' ', '-', '{']).split(':').next().unwrap_or_default().trim()
}

fn value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    Some((key.trim_start_matches([' ', '-']), value.trim()))
}

fn is_bare_expression(line: &str) -> bool {
    value(line).is_some_and(|(_, value)| value.starts_with("{{"))
}

fn has_two_colons(line: &str) -> bool {
    let is_plain = |value: &str| !value.starts_with(['"', '\'', '{', '[', '|', '>']);
    value(line).is_some_and(|(_, value)| is_plain(value) && value.contains(": "))
}

fn in_quotes(line: &str) -> String {
    let (key, value) = value(line).unwrap_or(("key", line.trim()));
    if value.contains('\'') {
        format!("`{key}: \"{}\"`", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("`{key}: '{value}'`")
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
