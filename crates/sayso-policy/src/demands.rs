//! The demands of an ask: approvers, proof, risk, deadline, escalation and timeout action. Several demands on one
//! request are merged to the strictest.

use sayso_core::{Approvers, IdentityProof, Risk, TimeoutAction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The decision of a policy on a request, in order of strictness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PolicyEffect {
    /// The request may proceed.
    Allow,
    /// A person is asked.
    Ask,
    /// The request is refused.
    Deny,
}

impl PolicyEffect {
    pub const ALL: [PolicyEffect; 3] = [PolicyEffect::Allow, PolicyEffect::Ask, PolicyEffect::Deny];

    /// Returns its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            PolicyEffect::Allow => "allow",
            PolicyEffect::Ask => "ask",
            PolicyEffect::Deny => "deny",
        }
    }
}

impl std::fmt::Display for PolicyEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The hours that count towards deadlines, reminders and levels, in order of strictness.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineHours {
    /// The working hours in the calendar of the approver, or of the space.
    Working,
    #[default]
    All,
}

impl DeadlineHours {
    pub const ALL: [DeadlineHours; 2] = [DeadlineHours::Working, DeadlineHours::All];

    /// Returns its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            DeadlineHours::Working => "working",
            DeadlineHours::All => "all",
        }
    }
}

/// The demands of an ask, with groups resolved to people.
///
/// If enough people are left without the launcher is for the caller that opens the gate to check:
/// [`Approvers::can_be_satisfied`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskDemands {
    /// The people whose approval is needed.
    pub approvers: Approvers,
    /// The people whose rejection decides, even if all others approve.
    pub veto: BTreeSet<String>,
    /// True if the person who launched the agent may not approve.
    pub not_launcher: bool,
    /// The least proof of the person who answers.
    pub proof: IdentityProof,
    /// The damage of a wrong decision.
    pub risk: Risk,
    /// The deadline, counted from the opening of the gate.
    pub deadline_ms: Option<u64>,
    /// The times of reminders, counted from the opening of the gate.
    pub remind_ms: Vec<u64>,
    /// The escalation levels; each holds all approvers of its time.
    pub escalate: Vec<EscalationStep>,
    pub at_end: TimeoutAction,
    /// The hours that count.
    #[serde(default)]
    pub hours: DeadlineHours,
}

impl Default for AskDemands {
    /// Any approver, without proof and deadline.
    fn default() -> Self {
        Self {
            approvers: Approvers::Anyone,
            veto: BTreeSet::new(),
            not_launcher: false,
            proof: IdentityProof::None,
            risk: Risk::default(),
            deadline_ms: None,
            remind_ms: vec![],
            escalate: vec![],
            at_end: TimeoutAction::default(),
            hours: DeadlineHours::default(),
        }
    }
}

/// One escalation level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationStep {
    /// The start of the level, counted from the opening of the gate.
    pub after_ms: u64,
    /// The people whose approval is needed from then on.
    pub approvers: Approvers,
}

impl AskDemands {
    /// True if the timeout would approve.
    pub fn may_approve_by_silence(&self) -> bool {
        self.deadline_ms.is_some() && self.at_end == TimeoutAction::Approve
    }

    /// Returns the approvers that are needed this long after the opening.
    pub fn approvers_after(&self, ms: u64) -> &Approvers {
        let level = self.escalate.iter().rev().find(|level| level.after_ms <= ms);
        level.map_or(&self.approvers, |level| &level.approvers)
    }

    /// Merges both: all approvers of either side, the higher proof and risk, the earlier deadline.
    pub fn merge(&self, other: &AskDemands) -> AskDemands {
        let moments: BTreeSet<u64> =
            self.escalate.iter().chain(&other.escalate).map(|level| level.after_ms).collect();
        let escalate = moments
            .into_iter()
            .map(|ms| EscalationStep {
                after_ms: ms,
                approvers: both(self.approvers_after(ms), other.approvers_after(ms)),
            })
            .collect();
        let remind: BTreeSet<u64> =
            self.remind_ms.iter().chain(&other.remind_ms).copied().collect();
        let deadline_ms = match (self.deadline_ms, other.deadline_ms) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        AskDemands {
            approvers: both(&self.approvers, &other.approvers),
            veto: self.veto.union(&other.veto).cloned().collect(),
            not_launcher: self.not_launcher || other.not_launcher,
            proof: self.proof.max(other.proof),
            risk: self.risk.max(other.risk),
            deadline_ms,
            remind_ms: remind.into_iter().collect(),
            escalate,
            hours: match (self.has_times(), other.has_times()) {
                (true, false) => self.hours,
                (false, true) => other.hours,
                (true, true) | (false, false) => self.hours.max(other.hours),
            },
            // An ask without a deadline has no timeout of its own, but it never agreed to an approval by timeout.
            at_end: self.at_end.max(other.at_end),
        }
    }

    fn has_times(&self) -> bool {
        self.deadline_ms.is_some() || !self.remind_ms.is_empty() || !self.escalate.is_empty()
    }

    /// Describes the demands, for cards and explanations.
    pub fn in_words(&self) -> String {
        let mut parts = vec![format!("asks {}", self.approvers.in_words())];
        if !self.veto.is_empty() {
            let names: Vec<_> = self.veto.iter().map(String::as_str).collect();
            parts.push(format!("veto by {}", names.join(", ")));
        }
        if self.not_launcher {
            parts.push("not whoever launched the agent".into());
        }
        if self.proof > IdentityProof::None {
            parts.push(format!("at least {}", self.proof.as_str()));
        }
        parts.push(format!("{} risk", self.risk.as_str()));
        for level in &self.escalate {
            let time = in_words(level.after_ms);
            parts.push(format!("after {time} {}", level.approvers.in_words()));
        }
        if let Some(ms) = self.deadline_ms {
            parts.push(format!("after {} {}", in_words(ms), self.at_end.as_str()));
        }
        if self.hours == DeadlineHours::Working && self.has_times() {
            parts.push("in working hours".into());
        }
        parts.join("; ")
    }
}

/// Formats a duration for people.
pub(crate) fn in_words(ms: u64) -> String {
    let (seconds, rest) = (ms / 1000, ms % 1000);
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (rest, "ms"),
    ];
    let said: String =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if said.is_empty() { "0s".into() } else { said }
}

/// Combines two demands for approvers; both must be met. "Anyone" is met by any approver.
fn both(a: &Approvers, b: &Approvers) -> Approvers {
    if a == b || *b == Approvers::Anyone {
        return a.clone();
    }
    if *a == Approvers::Anyone {
        return b.clone();
    }
    let mut parts = vec![];
    for side in [a, b] {
        let inner = match side {
            Approvers::All(inner) if !inner.is_empty() => inner.clone(),
            Approvers::All(_)
            | Approvers::Anyone
            | Approvers::Person(_)
            | Approvers::Some { .. } => vec![side.clone()],
        };
        parts.extend(inner.into_iter().filter(|part| *part != Approvers::Anyone));
    }
    let mut kept: Vec<Approvers> = vec![];
    for part in parts {
        if !kept.contains(&part) {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => Approvers::Anyone,
        1 => kept.swap_remove(0),
        _ => Approvers::All(kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str) -> Approvers {
        Approvers::Person(name.into())
    }

    #[test]
    fn demands_merge_to_the_strictest() {
        let one = AskDemands {
            approvers: person("ann"),
            risk: Risk::Low,
            deadline_ms: Some(4_000),
            at_end: TimeoutAction::Approve,
            remind_ms: vec![1_000],
            ..AskDemands::default()
        };
        let two = AskDemands {
            approvers: person("bob"),
            veto: BTreeSet::from(["cid".into()]),
            not_launcher: true,
            proof: IdentityProof::Passphrase,
            escalate: vec![EscalationStep { after_ms: 2_000, approvers: person("dan") }],
            ..AskDemands::default()
        };
        let merged = one.merge(&two);
        assert_eq!(merged, two.merge(&one).merge(&one).with_order_of(&merged));
        assert_eq!(
            merged.in_words(),
            "asks all of (ann, bob); veto by cid; not whoever launched the agent; \
             at least passphrase; medium risk; after 2s all of (ann, dan); after 4s deny"
        );
        assert!(one.may_approve_by_silence() && !merged.may_approve_by_silence());
    }

    impl AskDemands {
        /// "All of" has no order; the test uses that of the other side.
        fn with_order_of(mut self, other: &AskDemands) -> Self {
            let sorted = |a: &Approvers| match a {
                Approvers::All(parts) => {
                    let mut words: Vec<_> = parts.iter().map(Approvers::in_words).collect();
                    words.sort();
                    words
                }
                _ => vec![a.in_words()],
            };
            assert_eq!(sorted(&self.approvers), sorted(&other.approvers));
            self.approvers = other.approvers.clone();
            for (mine, theirs) in self.escalate.iter_mut().zip(&other.escalate) {
                assert_eq!(sorted(&mine.approvers), sorted(&theirs.approvers));
                mine.approvers = theirs.approvers.clone();
            }
            self
        }
    }

    #[test]
    fn lengths_of_time_in_words() {
        for (ms, words) in
            [(0, "0s"), (5_400_000, "1h30m"), (172_800_000, "2d"), (1_500, "1s500ms")]
        {
            assert_eq!(in_words(ms), words);
        }
    }
}
