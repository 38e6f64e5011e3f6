//! Determines the branches that a phase takes for a yes, for a no, and for an unasked question: known before the
//! answer, as far as that can be computed, and the same afterwards.

use super::definition::{AnswerForm, PhaseBranch, PhaseDefinition};
use serde_json::{Value, json};

/// The ends of a question that branches distinguish. A question without an answer leads to `on_silence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerCase {
    Yes,
    /// An answer with content that is not a no.
    Content,
    No,
    Nothing,
}

impl PhaseBranch {
    /// True if the condition holds in each case. Only the answer is known here, and a condition that looks at more
    /// cannot be computed with that.
    pub(super) fn surely_holds(&self, said: AnswerCase) -> bool {
        self.when.is_none() || self.tried(said) == Ok(true)
    }

    /// Evaluates the condition with only the answer known.
    pub(super) fn tried(&self, said: AnswerCase) -> Result<bool, String> {
        let Some(when) = &self.when else { return Ok(true) };
        let (human, approved, asked) = match said {
            AnswerCase::Yes => (json!({"verdict": "approved"}), true, true),
            AnswerCase::Content => (json!({"verdict": "answered"}), false, true),
            AnswerCase::No => (json!({"verdict": "rejected"}), false, true),
            AnswerCase::Nothing => (Value::Null, false, false),
        };
        let (approved, asked) = (Value::Bool(approved), Value::Bool(asked));
        when.holds(&[("human", &human), ("approved", &approved), ("asked", &asked)].into())
    }
}

impl PhaseDefinition {
    /// Returns the best answer to the question of this phase: only a question that takes yes or no can be approved.
    fn best_answer(&self) -> AnswerCase {
        match self.ask.as_ref().map(|ask| &ask.form) {
            None | Some(AnswerForm::Approval) => AnswerCase::Yes,
            Some(AnswerForm::Choice { .. } | AnswerForm::Text | AnswerForm::Form { .. }) => {
                AnswerCase::Content
            }
        }
    }

    /// Returns the branches that a no may take: those that look at it, and those below a branch that takes every yes.
    /// A branch that was not written for a no does not get one.
    pub(super) fn rejection_branches(&self) -> impl Iterator<Item = &PhaseBranch> {
        let mut is_every_yes_taken = false;
        self.next.iter().filter(move |branch| {
            let is_for_a_no = is_every_yes_taken || branch.checks_rejection();
            is_every_yes_taken |= branch.surely_holds(self.best_answer());
            is_for_a_no
        })
    }

    /// True if `next` has a branch for every no.
    pub(super) fn handles_rejection(&self) -> bool {
        self.ask.is_some()
            && self.rejection_branches().any(|branch| branch.surely_holds(AnswerCase::No))
    }

    /// Returns the possible ends of a question of this phase, except a no: that ends the flow where no branch is for
    /// it.
    pub(super) fn possible_answers(&self) -> impl Iterator<Item = AnswerCase> {
        let may_be_unasked = self.ask.as_ref().is_none_or(|ask| ask.when.is_some());
        let yes = self.ask.is_some().then(|| self.best_answer());
        yes.into_iter().chain(may_be_unasked.then_some(AnswerCase::Nothing))
    }
}
