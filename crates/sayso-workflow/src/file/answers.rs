//! What the branches of a phase make of a yes, of a no, and of nobody having been asked: known before anybody
//! answers, as far as that can be told, and the same when somebody has.

use super::definition::{AnswerForm, Branch, Phase};
use serde_json::{Value, json};

/// How a question can be over when branches are looked at. Silence has a way of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Yes,
    /// Something was picked, written or filled in that is no no.
    Content,
    No,
    /// Nobody was asked.
    Nothing,
}

impl Branch {
    /// Whether its condition holds whatever else is the case. Nothing but what was said is known here, and what
    /// looks at more cannot be computed with that.
    pub(super) fn surely_holds(&self, said: Said) -> bool {
        self.when.is_none() || self.tried(said) == Ok(true)
    }

    /// What its condition comes to with nothing but what was said.
    pub(super) fn tried(&self, said: Said) -> Result<bool, String> {
        let Some(when) = &self.when else { return Ok(true) };
        let (human, approved, asked) = match said {
            Said::Yes => (json!({"verdict": "approved"}), true, true),
            Said::Content => (json!({"verdict": "answered"}), false, true),
            Said::No => (json!({"verdict": "rejected"}), false, true),
            Said::Nothing => (Value::Null, false, false),
        };
        let (approved, asked) = (Value::Bool(approved), Value::Bool(asked));
        when.holds(&[("human", &human), ("approved", &approved), ("asked", &asked)].into())
    }
}

impl Phase {
    /// An answer to the question of this phase that is no no: only one that takes yes or no can be approved.
    fn said_at_best(&self) -> Said {
        match self.ask.as_ref().map(|ask| &ask.form) {
            None | Some(AnswerForm::Approval) => Said::Yes,
            Some(AnswerForm::Choice { .. } | AnswerForm::Text | AnswerForm::Form { .. }) => {
                Said::Content
            }
        }
    }

    /// The branches that a no may take: those that look at it, and those that no yes comes to, since one above
    /// takes every yes. What was not written for a no does not get one.
    pub(super) fn branches_for_a_no(&self) -> impl Iterator<Item = &Branch> {
        let mut is_every_yes_taken = false;
        self.next.iter().filter(move |branch| {
            let is_for_a_no = is_every_yes_taken || branch.looks_at_a_no();
            is_every_yes_taken |= branch.surely_holds(self.said_at_best());
            is_for_a_no
        })
    }

    /// Whether `next` surely leads a no somewhere.
    pub(super) fn leads_a_no(&self) -> bool {
        self.ask.is_some() && self.branches_for_a_no().any(|branch| branch.surely_holds(Said::No))
    }

    /// How a question of this phase can be over, apart from a no: that ends the flow where no branch is for it.
    pub(super) fn can_be_said(&self) -> impl Iterator<Item = Said> {
        let may_be_unasked = self.ask.as_ref().is_none_or(|ask| ask.when.is_some());
        let yes = self.ask.is_some().then(|| self.said_at_best());
        yes.into_iter().chain(may_be_unasked.then_some(Said::Nothing))
    }
}
