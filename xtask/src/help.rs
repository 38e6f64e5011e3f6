//! `cargo xtask help`: the verbs, one line each.

use crate::VERBS;
use crate::stop::VerbResult;

pub(crate) fn run(_: &[String]) -> VerbResult {
    println!("{}", text());
    Ok(())
}

/// Returns the list that `help` prints, also shown when a verb is unknown.
pub(crate) fn text() -> String {
    let lines = VERBS.iter().map(|verb| format!("  {:<9} {}", verb.name, verb.line));
    ["usage: cargo xtask VERB".to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_line() {
        let text = text();
        for verb in VERBS {
            assert!(!verb.line.is_empty(), "{} says nothing", verb.name);
            assert!(text.contains(&format!("  {:<9} {}", verb.name, verb.line)));
        }
    }

    #[test]
    fn an_unknown_verb_is_a_usage_error_that_shows_the_list() {
        let stop = crate::dispatch("dance", &[]).unwrap_err();
        assert_eq!(stop.code, 2);
        assert!(stop.text.contains("no verb `dance`") && stop.text.contains("lint"));
    }
}
