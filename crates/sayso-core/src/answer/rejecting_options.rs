//! Options that count as a rejection: those the asker marked, and those whose first word reads as a no beside one
//! that reads as a yes.

use super::{AnswerShape, ChoiceOption};
use crate::{Code, Refusal};

/// First words of an option that read as a yes.
const YES: [&str; 22] = [
    "yes", "y", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "accept", "accepted",
    "allow", "allowed", "permit", "grant", "confirm", "agree", "proceed", "continue", "go", "do",
    "true",
];

/// First words of an option that read as a no.
const NO: [&str; 29] = [
    "no",
    "n",
    "nope",
    "nah",
    "not",
    "don't",
    "dont",
    "never",
    "reject",
    "rejected",
    "decline",
    "declined",
    "deny",
    "denied",
    "refuse",
    "refused",
    "disallow",
    "forbid",
    "block",
    "disapprove",
    "disagree",
    "cancel",
    "abort",
    "stop",
    "halt",
    "quit",
    "nogo",
    "veto",
    "false",
];

impl AnswerShape {
    /// True if picking this option is a rejection: the asker marked it, or it reads as a no ("no", "cancel", "Deny
    /// it") and another option reads as a yes. A no without a yes beside it is an ordinary option, unless the asker
    /// marked it.
    pub fn declines(&self, name: &str) -> bool {
        let AnswerShape::Choice { options, .. } = self else { return false };
        let reads_as = |words: &[&str], name: &str| words.contains(&first_word(name).as_str());
        let is_said = || options.iter().any(|option| option.name == name && option.declines);
        let reads_as_no =
            || is_no(name) && options.iter().any(|o| reads_as(&YES, &o.name) && !is_no(&o.name));
        options.iter().any(|option| option.name == name) && (is_said() || reads_as_no())
    }

    /// Returns the names of the options that count as a rejection.
    pub fn declining(&self) -> Vec<&str> {
        let AnswerShape::Choice { options, .. } = self else { return vec![] };
        options.iter().map(|o| o.name.as_str()).filter(|name| self.declines(name)).collect()
    }

    /// Refuses an option that reads as a no, where no option declines and none reads as a yes: a caller that checks
    /// only for an answer would take it for a yes.
    pub fn check_reads_clearly(&self) -> Result<(), Refusal> {
        let AnswerShape::Choice { options, .. } = self else { return Ok(()) };
        let unclear = options.iter().find(|option| is_no(&option.name));
        let Some(ChoiceOption { name, .. }) = unclear.filter(|_| self.declining().is_empty())
        else {
            return Ok(());
        };
        let message =
            format!("the option {name:?} reads as a no, and nothing says that it means one");
        Err(Refusal::new(Code::BadValue, message).hint(format!(
            "if it means no: --declines {name:?}; if not, let it begin with another word"
        )))
    }

    /// Refuses free text that reads as a no, where an option means no: that option says it clearly.
    pub(super) fn check_words(&self, words: &str) -> Result<(), Refusal> {
        let Some(no) = self.declining().into_iter().next().filter(|_| is_no(words)) else {
            return Ok(());
        };
        let message =
            "these words read as a no, and as words of one's own they would not count as one";
        Err(Refusal::new(Code::WrongAnswer, message)
            .hint(format!("pick the no: sayso choose ID {no:?}; or begin with another word")))
    }

    /// Checks that at least one option is no rejection; otherwise a rejection would be the only possible answer.
    pub(super) fn check_has_another_way(
        &self,
        options: &[ChoiceOption],
        other: bool,
    ) -> Result<(), Refusal> {
        if other || options.iter().any(|option| !self.declines(&option.name)) {
            return Ok(());
        }
        Err(Refusal::new(Code::BadValue, "every option of the choice means no")
            .hint("give one that does not, or ask for yes or no: sayso ask QUESTION --verdict"))
    }
}

/// True for "no", "No, wait", "don't", "do not", "no-go".
fn is_no(name: &str) -> bool {
    let plain = plain(name);
    let is_do_not =
        plain.strip_prefix("do not").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    is_do_not || NO.contains(&first_word(name).as_str())
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('\u{2019}', "'")
}

/// Returns the first word of an option in lower case, without leading punctuation.
fn first_word(name: &str) -> String {
    let plain = plain(name);
    let begin = plain.trim_start_matches(|c: char| !c.is_alphanumeric());
    begin.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the options that count as a rejection. A leading minus stands for the asker's mark.
    fn declining(options: &[&str]) -> Vec<String> {
        let option = |typed: &&str| ChoiceOption {
            declines: typed.starts_with('-'),
            ..ChoiceOption::named(typed.trim_start_matches('-'))
        };
        let options = options.iter().map(option).collect();
        let shape = AnswerShape::Choice { options, multi: false, other: true };
        shape.declining().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn options_that_mean_no() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str]);
        let table: [Case<'_>; 24] = [
            (&["yes", "no"], &["no"]),
            (&["Yes", "NO"], &["NO"]),
            (&["y", "n"], &["n"]),
            (&["no", "yes"], &["no"]),
            (&["approve", "reject"], &["reject"]),
            (&["ok", "cancel"], &["cancel"]),
            (&["Allow once", "Allow always", "Deny"], &["Deny"]),
            (&["Yes, ship it", "No, wait"], &["No, wait"]),
            (&["✅ Approve", "❌ Reject"], &["❌ Reject"]),
            (&["do it", "don't"], &["don't"]),
            (&["do it", "don’t do it"], &["don’t do it"]),
            (&["Do it", "Do not do it"], &["Do not do it"]),
            (&["go", "no-go"], &["no-go"]),
            (&["continue", "retry", "stop"], &["stop"]),
            (&["yes", "no", "cancel"], &["no", "cancel"]),
            (&["accept", "decline"], &["decline"]),
            // No counterpart: an ordinary option.
            (&["staging", "no"], &[]),
            (&["red", "blue"], &[]),
            (&["stop", "restart"], &[]),
            (&["nothing", "yes"], &[]),
            (&["notify", "yes"], &[]),
            (&["Do nothing", "Document it"], &[]),
            // The asker marked one, and options that read as a no count besides.
            (&["deploy", "-wait"], &["wait"]),
            (&["yes", "no", "-later"], &["no", "later"]),
        ];
        for (options, expected) in table {
            assert_eq!(declining(options), expected, "{options:?}");
        }
    }

    /// An answer that reads as a no counts as a rejection, or is refused.
    #[test]
    fn a_no_is_never_just_an_answer() {
        let shape = |options: &[&str]| {
            let option = |typed: &&str| ChoiceOption {
                declines: typed.starts_with('-'),
                ..ChoiceOption::named(typed.trim_start_matches('-'))
            };
            AnswerShape::Choice {
                options: options.iter().map(option).collect(),
                multi: false,
                other: true,
            }
        };
        for (options, is_clear) in [
            (&["deploy", "cancel"][..], false),
            (&["staging", "no"], false),
            (&["stop", "restart"], false),
            (&["deploy", "-cancel"], true),
            (&["no", "-later"], true),
            (&["yes", "no"], true),
            (&["red", "blue"], true),
            (&["notify", "nothing"], true),
        ] {
            assert_eq!(shape(options).check_reads_clearly().is_ok(), is_clear, "{options:?}");
        }
        for (options, words, is_taken) in [
            (&["yes", "no"][..], "no, not today", false),
            (&["yes", "no"], "No", false),
            (&["deploy", "-wait"], "don't", false),
            (&["yes", "no"], "tomorrow", true),
            (&["yes", "no"], "nothing of this", true),
            (&["red", "blue"], "no colour", true),
        ] {
            let answer = crate::Answer::choice(vec![], Some(words.into()));
            let checked =
                answer.check(crate::GateKind::Decision, &shape(options)).map_err(|no| no.code);
            let expected = if is_taken { Ok(()) } else { Err(Code::WrongAnswer) };
            assert_eq!(checked, expected, "{options:?} {words}");
        }
    }

    #[test]
    fn not_every_option_may_mean_no() {
        let option = |name: &str| ChoiceOption { declines: true, ..ChoiceOption::named(name) };
        let of = |other| AnswerShape::Choice {
            options: vec![option("no"), option("never")],
            multi: false,
            other,
        };
        assert_eq!(of(false).check().unwrap_err().code, Code::BadValue);
        of(true).check().unwrap();
        assert!(!of(true).declines("NO"), "an option is called as it is called");
    }
}
