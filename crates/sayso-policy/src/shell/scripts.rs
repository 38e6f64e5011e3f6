//! Scripts of `sed` and `awk`, as far as it matters whether they run or write something.

/// The effects of a script beyond its text output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Deeds {
    /// It runs commands, or has a part that is not understood.
    pub(super) runs: bool,
    /// It writes files.
    pub(super) writes: bool,
}

impl Deeds {
    const NOT_KNOWN: Self = Self { runs: true, writes: true };
}

/// Returns the effects of a `sed` script.
pub(super) fn of_sed(script: &str) -> Deeds {
    let mut sed = Sed { rest: script, deeds: Deeds::default() };
    match sed.read() {
        Some(()) => sed.deeds,
        None => Deeds::NOT_KNOWN,
    }
}

struct Sed<'a> {
    rest: &'a str,
    deeds: Deeds,
}

impl Sed<'_> {
    fn next(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }

    fn skip(&mut self, is_passed: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is_passed);
    }

    /// Up to a delimiter, which is taken too.
    fn up_to(&mut self, delimiter: char, is_expression: bool) -> Option<()> {
        let mut in_list = false;
        loop {
            match self.next()? {
                '\\' => drop(self.next()?),
                // In a list of letters a delimiter may mean itself, or not: that differs.
                '[' if is_expression => in_list = true,
                ']' => in_list = false,
                letter if letter == delimiter && in_list => return None,
                letter if letter == delimiter => return Some(()),
                _ => {}
            }
        }
    }

    fn address(&mut self) -> Option<()> {
        loop {
            self.skip(|c| c.is_whitespace() || c.is_ascii_digit() || "$,~+!".contains(c));
            let delimiter = match self.rest.chars().next() {
                Some('/') => self.next()?,
                Some('\\') => {
                    self.next()?;
                    self.next()?
                }
                _ => return Some(()),
            };
            self.up_to(delimiter, true)?;
            self.skip(|c| c == 'I' || c == 'M');
        }
    }

    fn line(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '\n' => return,
                '\\' => drop(self.next()),
                _ => {}
            }
        }
    }

    fn read(&mut self) -> Option<()> {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.is_empty() {
                return Some(());
            }
            self.address()?;
            match self.next()? {
                '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P'
                | 'x' | 'z' | 'F' => {}
                'q' | 'Q' | 'l' | 'L' => self.skip(|c| c.is_ascii_digit() || c == ' '),
                '#' | 'a' | 'i' | 'c' | 'r' | 'R' => self.line(),
                'w' | 'W' => {
                    self.deeds.writes = true;
                    self.line();
                }
                ':' | 'b' | 't' | 'T' => self.skip(|c| c != '\n' && c != ';' && c != '}'),
                's' => {
                    let delimiter = self.next()?;
                    self.up_to(delimiter, true)?;
                    self.up_to(delimiter, false)?;
                    self.flags();
                }
                'y' => {
                    let delimiter = self.next()?;
                    self.up_to(delimiter, false)?;
                    self.up_to(delimiter, false)?;
                }
                _ => return None,
            }
        }
    }

    fn flags(&mut self) {
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => drop(self.next()),
                'e' => {
                    self.deeds.runs = true;
                    self.next();
                }
                'w' => {
                    self.deeds.writes = true;
                    self.line();
                }
                _ => return,
            }
        }
    }
}

/// Returns the effects of an `awk` program: without texts and patterns, a `|` of its own, `system` and calls by name
/// run commands.
pub(super) fn of_awk(program: &str) -> Deeds {
    let mut deeds = Deeds::default();
    let mut letters = program.chars().peekable();
    let mut word = String::new();
    // True if a `/` begins a pattern rather than divides.
    let mut is_operand_next = true;
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            deeds.runs |= word == "system" || word == "getline";
            is_operand_next = ["print", "printf", "return", "in"].contains(&word.as_str());
            continue;
        }
        word.clear();
        match letter {
            '"' => {
                if !skips(&mut letters, '"') {
                    return Deeds::NOT_KNOWN;
                }
                is_operand_next = false;
            }
            '/' if is_operand_next => {
                if !skips(&mut letters, '/') {
                    return Deeds::NOT_KNOWN;
                }
                is_operand_next = false;
            }
            '#' => while letters.next().is_some_and(|c| c != '\n') {},
            '|' => {
                if letters.next_if_eq(&'|').is_none() {
                    deeds.runs = true;
                }
                is_operand_next = true;
            }
            '@' => deeds.runs = true,
            '>' => {
                deeds.writes = true;
                is_operand_next = true;
            }
            ')' | ']' | '$' => is_operand_next = false,
            ' ' | '\t' => {}
            _ => is_operand_next = true,
        }
    }
    deeds
}

/// Goes behind the closing sign. In a list of letters of a pattern it may mean itself, or not.
fn skips(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, end: char) -> bool {
    let mut in_list = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '\n' => return false,
            '[' if end == '/' => in_list = true,
            ']' => in_list = false,
            _ if letter == end && in_list => return false,
            _ if letter == end => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_of_sed_do() {
        for (script, runs, writes) in [
            ("1,80p", false, false),
            ("s/foo/bar/g", false, false),
            ("s#a/b#c#g;s/x/y/2p", false, false),
            (r"s/\(a\)/\1/", false, false),
            ("/^a/,/b$/d", false, false),
            ("/x/{s/a/b/;p}", false, false),
            ("$!N;P;D", false, false),
            ("a more e text", false, false),
            (r"s/[a-z]\+/e/", false, false),
            (":a;N;$!ba;s/\\n/ /g", false, false),
            ("y/abc/def/", false, false),
            ("2q", false, false),
            ("e", true, false),
            ("1e git push", true, false),
            ("1!e x", true, false),
            ("s/a/b/e", true, false),
            ("s|x|y|ge", true, false),
            ("/x/{e\n}", true, false),
            ("p;e", true, false),
            ("w x", false, true),
            ("s/a/b/w x", false, true),
            ("s/a/b", true, true),
            ("s/[/]/x/;e", true, true),
            (r"\,x,e", true, false),
        ] {
            let deeds = of_sed(script);
            assert_eq!(deeds.runs || deeds == Deeds::NOT_KNOWN, runs, "{script}");
            assert_eq!(deeds.writes, writes || deeds == Deeds::NOT_KNOWN, "{script}");
        }
    }

    #[test]
    fn what_programs_of_awk_do() {
        for (program, runs, writes) in [
            ("{print $1}", false, false),
            ("NR>1 {s+=$2} END {print s}", false, true),
            ("/a|b/ {print \"x|y\"}", false, false),
            ("$1 ~ /a|b/ || $2 / 2 == 1", false, false),
            ("{print a/b/c}", false, false),
            ("BEGIN{system(\"git push\")}", true, false),
            ("BEGIN{\"git push\"|getline}", true, false),
            ("{print | \"sh\"}", true, false),
            ("{print |& x}", true, false),
            ("BEGIN{f=\"system\"; @f(\"x\")}", true, false),
            ("{print > \"x.sh\"}", false, true),
            ("{print a / b | \"sh\" / c}", true, false),
        ] {
            assert_eq!(of_awk(program), Deeds { runs, writes }, "{program}");
        }
    }
}
