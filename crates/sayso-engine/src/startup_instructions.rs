//! Startup instructions ("ignition"): the text that tells a new agent how to ask, which rules hold, and how to wait.

use crate::{Desk, Result};
use sayso_core::{Actor, AskThreshold};
use std::fmt::Write;

/// The maximum number of rules in the text. The policy enforces all of them, listed or not.
const RULES_MAX: usize = 40;

impl Desk {
    /// Returns the startup instructions of an agent. It never fails: if the rules cannot be read, the text says so,
    /// since they hold all the same.
    pub fn startup_instructions(&self, actor: &Actor) -> String {
        let threshold = self.threshold_of(actor).unwrap_or(self.threshold());
        let mut text = format!(
            "You work under sayso: what matters waits, durably, for a person's say-so.\n\
             - To ask a person: `sayso ask \"QUESTION\" --option A --option B --wait`, or the tool \
             ask_human where you have it. A question that need not hold you up is asked without --wait.\n\
             - How much to ask: {}. {}\n\
             - A call that needs a yes is held or refused with the name of a gate. Nothing else is a yes: \
             do not try another way to the same end. Go on with other work, or end your turn.\n\
             - Await a message, do not poll: answers and messages reach you by themselves; \
             `sayso messages` shows what you have not read.\n",
            threshold.name(),
            threshold.meaning(),
        );
        match self.rules_in_words(actor) {
            Ok(rules) if rules.is_empty() => {}
            Ok(rules) => {
                text.push_str("Rules in force:\n");
                rules.iter().take(RULES_MAX).for_each(|rule| {
                    let _ = writeln!(text, "- {rule}");
                });
                if rules.len() > RULES_MAX {
                    let _ = writeln!(text, "- and {} more.", rules.len() - RULES_MAX);
                }
            }
            Err(_) => {
                text.push_str("The rules in force cannot be read now; they hold all the same.\n")
            }
        }
        text
    }

    /// Returns the threshold that the actor's task asks for, if it raises the default.
    fn threshold_of(&self, actor: &Actor) -> Option<AskThreshold> {
        let task = self.task(actor.task?).ok()?.task;
        let asked = task.labels.iter().find_map(|label| label.strip_prefix("threshold:"));
        Some(self.threshold().raised_by(asked.and_then(|level| level.parse().ok())))
    }

    fn rules_in_words(&self, actor: &Actor) -> Result<Vec<String>> {
        let policies = self.policies()?;
        Ok(policies.files().flat_map(|policy| policy.in_words(&actor.name)).collect())
    }
}
