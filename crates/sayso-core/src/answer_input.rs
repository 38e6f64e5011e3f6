//! Parses a typed answer. Every prompt uses this parser, so that the same words mean the same in each, and a typing
//! error is reported and never taken for another answer.

use crate::{Answer, AnswerShape, ChoiceOption, Code, Refusal};

/// The command that rejects any question; the reason follows.
pub const REJECT: &str = "/reject";

/// The command for a free text beside the options; the text follows.
pub const OTHER: &str = "/other";

/// Returns the help text for a prompt.
pub fn input_help(shape: &AnswerShape) -> &'static str {
    match shape {
        AnswerShape::Verdict => "approve, or /reject WHY",
        AnswerShape::Text => "Your answer, or /reject WHY",
        AnswerShape::Choice { multi: true, other: false, .. } => {
            "Numbers or names, by commas, or /reject WHY"
        }
        AnswerShape::Choice { multi: true, other: true, .. } => {
            "Numbers or names, by commas, or /other WORDS of your own, or /reject WHY"
        }
        AnswerShape::Choice { other: false, .. } => "A number or a name, or /reject WHY",
        AnswerShape::Choice { other: true, .. } => {
            "A number or a name, or /other WORDS of your own, or /reject WHY"
        }
        AnswerShape::Form { .. } => "The form as JSON, or /reject WHY",
    }
}

/// Parses a typed answer. An approval must be spelt out; a rejection is never taken for one.
pub fn parse_answer(shape: &AnswerShape, typed: &str) -> Result<Answer, Refusal> {
    spelt(shape, typed).map(|answer| answer.with_verdict_for(shape))
}

fn spelt(shape: &AnswerShape, typed: &str) -> Result<Answer, Refusal> {
    let typed = typed.trim();
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
    if word.eq_ignore_ascii_case(REJECT) {
        return Ok(Answer::rejected(reason));
    }
    if is_slip(shape, typed, word) {
        return Err(unknown(shape, word));
    }
    match shape {
        AnswerShape::Verdict => verdict(word, reason),
        AnswerShape::Text => Ok(Answer::text(typed)),
        AnswerShape::Choice { options, multi, other } => {
            match (word.eq_ignore_ascii_case(OTHER), options.is_empty()) {
                (true, _) => own_words(*other, reason),
                // Without options there is nothing to confuse the text with.
                (false, true) => own_words(*other, Some(typed.to_owned())),
                (false, false) => choice(options, *multi, *other, typed),
            }
        }
        AnswerShape::Form { .. } => {
            let form = serde_json::from_str(typed).map_err(|e| {
                Refusal::new(Code::InvalidForm, format!("the form given is not JSON: {e}"))
            })?;
            Ok(Answer::form(form))
        }
    }
}

/// True if a word looks like a mistyped command: a mistyped rejection must not become an answer. A word with another
/// slash, such as a path, is text, and so is an option of that name.
fn is_slip(shape: &AnswerShape, typed: &str, word: &str) -> bool {
    let begins = word.strip_prefix('/').is_some_and(|name| !name.contains('/'));
    let is_known = match shape {
        AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => false,
        AnswerShape::Choice { options, .. } => {
            word.eq_ignore_ascii_case(OTHER) || pick(options, typed).is_some()
        }
    };
    begins && typed != "/" && !is_known
}

fn unknown(shape: &AnswerShape, word: &str) -> Refusal {
    let takes_words = matches!(shape, AnswerShape::Choice { other: true, .. });
    let other =
        if takes_words { format!(", words of your own with {OTHER} WORDS") } else { "".into() };
    Refusal::new(Code::WrongAnswer, format!("{word:?} is nothing that can be typed here"))
        .hint(format!("decline with {REJECT} WHY{other}, or begin the answer with another word"))
}

/// Parses a verdict: only these words, and an approval only alone, because words after it may take it back.
fn verdict(word: &str, words: Option<String>) -> Result<Answer, Refusal> {
    match (word.trim_end_matches([',', ':']), words) {
        ("approve" | "yes", None) => Ok(Answer::approved()),
        ("approve" | "yes", Some(words)) => {
            let message = format!("{:?} is not a plain yes", format!("{word} {words}"));
            Err(Refusal::new(Code::WrongAnswer, message)
                .hint(format!("type approve alone, or {REJECT} and what is to be done first")))
        }
        ("reject" | "no", reason) => Ok(Answer::rejected(reason)),
        (other, _) => {
            Err(Refusal::new(Code::WrongAnswer, format!("{other:?} is neither approve nor reject"))
                .hint("type the whole word, and for a rejection the reason behind it"))
        }
    }
}

fn own_words(are_allowed: bool, words: Option<String>) -> Result<Answer, Refusal> {
    match (are_allowed, words) {
        (true, Some(words)) => Ok(Answer::choice(vec![], Some(words))),
        (true, None) => Err(Refusal::new(Code::EmptyAnswer, format!("{OTHER} needs words"))
            .hint(format!("{OTHER} and what you want to say"))),
        (false, _) => {
            let message = "words of your own are no answer here";
            Err(Refusal::new(Code::WrongAnswer, message).hint("pick one of the options"))
        }
    }
}

fn choice(
    options: &[ChoiceOption],
    multi: bool,
    other: bool,
    typed: &str,
) -> Result<Answer, Refusal> {
    // The name of an option may contain a comma.
    if let Some(option) = pick(options, typed) {
        return Ok(Answer::choice(vec![option.name.clone()], None));
    }
    let words: Vec<&str> = if multi {
        typed.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
    } else {
        vec![typed]
    };
    let found = |word: &str| match pick(options, word) {
        Some(option) => Ok(option.name.clone()),
        None => Err(none_of_them(options, other, word)),
    };
    let picked: Vec<String> = words.into_iter().map(found).collect::<Result<_, _>>()?;
    if picked.is_empty() {
        Err(none_of_them(options, other, typed))
    } else {
        Ok(Answer::choice(picked, None))
    }
}

/// Returns the option that a word means: by name, by number, or by name in another case if only one matches.
pub fn pick<'a>(options: &'a [ChoiceOption], word: &str) -> Option<&'a ChoiceOption> {
    let number = || word.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    let named = options.iter().find(|option| option.name == word);
    named.or_else(number).or_else(|| {
        let lower = word.to_lowercase();
        let mut alike = options.iter().filter(|option| option.name.to_lowercase() == lower);
        alike.next().filter(|_| alike.next().is_none())
    })
}

fn none_of_them(options: &[ChoiceOption], other: bool, word: &str) -> Refusal {
    let message = match word.parse::<usize>() {
        Ok(number) => format!("there is no option {number}: there are {}", options.len()),
        Err(_) => format!("{word:?} is none of the options"),
    };
    let hint = if other {
        format!("type a number or a name; words of your own with: {OTHER} WORDS")
    } else {
        "type a number or a name".into()
    };
    Refusal::new(Code::UnknownOption, message).hint(hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::AnswerContent;

    fn of(names: &[&str], multi: bool, other: bool) -> AnswerShape {
        let option = |name: &&str| ChoiceOption::named(*name);
        AnswerShape::Choice { options: names.iter().map(option).collect(), multi, other }
    }

    fn said(shape: &AnswerShape, typed: &str) -> String {
        match parse_answer(shape, typed) {
            Ok(answer) => match (answer.verdict, &answer.content) {
                (crate::Verdict::Rejected, _) => {
                    format!("no {}", answer.reason.unwrap_or_default()).trim_end().to_owned()
                }
                (_, AnswerContent::Choice { other: Some(words), .. }) => format!("other {words}"),
                _ => answer.as_text(),
            },
            Err(refusal) => format!("refused: {}", refusal.message),
        }
    }

    /// A near miss of an option is that option or refused, and never a free text.
    #[test]
    fn a_slip_is_never_taken_for_words_of_ones_own() {
        let one = of(&["It is good", "Do it again"], false, true);
        let table = [
            ("It is good", "It is good"),
            ("it is good", "It is good"),
            ("2", "Do it again"),
            ("3", "refused: there is no option 3: there are 2"),
            ("0", "refused: there is no option 0: there are 2"),
            ("it is god", "refused: \"it is god\" is none of the options"),
            ("/other it is god", "other it is god"),
            ("/other", "refused: /other needs words"),
            ("/reject too late", "no too late"),
        ];
        for (typed, expected) in table {
            assert_eq!(said(&one, typed), expected, "{typed}");
        }
        let strict = of(&["Red", "red", "Red, dark"], true, false);
        assert_eq!(said(&strict, "Red, dark"), "Red, dark");
        assert_eq!(said(&strict, "1,red"), "Red\nred");
        assert_eq!(said(&strict, "RED"), "refused: \"RED\" is none of the options");
        assert_eq!(said(&strict, "/other green"), "refused: words of your own are no answer here");
        assert_eq!(said(&of(&[], false, true), "7"), "other 7");
    }

    /// One command rejects at every prompt; only whole words are a verdict.
    #[test]
    fn declining_is_the_same_everywhere() {
        let form = AnswerShape::Form { schema: serde_json::json!({}) };
        for shape in [AnswerShape::Verdict, AnswerShape::Text, of(&["a"], false, false), form] {
            assert_eq!(said(&shape, "/reject not now"), "no not now");
            assert!(input_help(&shape).contains(REJECT), "{}", input_help(&shape));
        }
        for (typed, expected) in [
            ("no", "no"),
            ("no, not on a Friday", "no not on a Friday"),
            ("yes but not on a Friday", "refused: \"yes but not on a Friday\" is not a plain yes"),
            ("yes, but later", "refused: \"yes, but later\" is not a plain yes"),
            ("approve it later", "refused: \"approve it later\" is not a plain yes"),
            ("reject it hurts", "no it hurts"),
            ("yes", "approved"),
            ("approve", "approved"),
            ("y", "refused: \"y\" is neither approve nor reject"),
            ("Yes", "refused: \"Yes\" is neither approve nor reject"),
            ("nope", "refused: \"nope\" is neither approve nor reject"),
        ] {
            assert_eq!(said(&AnswerShape::Verdict, typed), expected, "{typed}");
        }
    }

    /// A mistyped command is reported and never an answer.
    #[test]
    fn a_mistyped_no_is_never_an_answer() {
        let form = AnswerShape::Form { schema: serde_json::json!({}) };
        let (picks, own) = (of(&["a", "/api"], false, false), of(&["a"], true, true));
        let mut checked = 0;
        for shape in
            [&AnswerShape::Verdict, &AnswerShape::Text, &picks, &own, &of(&[], false, true), &form]
        {
            for typed in ["/rejct no", "/rejected", "/no", "/r", "/approve", "/ reject", "/help me"]
            {
                let refusal = parse_answer(shape, typed).unwrap_err();
                let is_told = refusal.hint.is_some_and(|hint| hint.contains("/reject WHY"));
                assert!(is_told, "{shape:?} {typed}");
                checked += 1;
            }
            for typed in ["/Reject not now", "/REJECT not now"] {
                assert_eq!(said(shape, typed), "no not now", "{shape:?}");
            }
        }
        assert_eq!(checked, 42);
        for (shape, typed, expected) in [
            (&AnswerShape::Text, "/etc/hosts", "/etc/hosts"),
            (&AnswerShape::Text, "//help", "//help"),
            (&AnswerShape::Text, "/", "/"),
            (&AnswerShape::Text, "see /etc", "see /etc"),
            (
                &AnswerShape::Text,
                "/other x",
                "refused: \"/other\" is nothing that can be typed here",
            ),
            (&picks, "/api", "/api"),
            (&own, "/Other x", "other x"),
        ] {
            assert_eq!(said(shape, typed), expected, "{typed}");
        }
    }
}
