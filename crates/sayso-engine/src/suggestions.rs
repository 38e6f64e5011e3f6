//! Suggests policy rules from the answers of people: requests that were always approved need no approval.

use crate::{LocalDesk, RequestLogEntry, Result};
use sayso_core::{Actor, GateId, Timestamp, Verdict};
use sayso_policy::{DecidedRequest, RuleSuggestion};

/// The number of records per read, and in total, counted from the given moment.
const PAGE: usize = 500;
const RECORDS_MAX: usize = 5_000;

impl LocalDesk {
    /// Returns the rules that answers since a moment suggest, each with at least `least` approvals and no rejection.
    pub fn suggestions(
        &self,
        actor: &Actor,
        since: Timestamp,
        least: usize,
    ) -> Result<Vec<RuleSuggestion>> {
        let mut decided = vec![];
        let (mut last, mut looked_at) = (None::<RequestLogEntry>, 0);
        while looked_at < RECORDS_MAX {
            let page = self.requests(actor, since, last.as_ref(), PAGE)?;
            looked_at += page.items.len();
            decided.extend(page.items.iter().filter_map(|record| self.decided(record)));
            last = page.items.into_iter().next_back();
            if !page.more || last.is_none() {
                break;
            }
        }
        Ok(sayso_policy::suggest(decided, least))
    }

    /// Returns a record with the verdict of a person, who is named at the gate.
    fn decided(&self, record: &RequestLogEntry) -> Option<DecidedRequest> {
        record.verdict.as_ref()?;
        let gate = self.gate(record.id.parse::<GateId>().ok()?).ok()?;
        let (answer, by) = gate.answer()?;
        let approved = match answer.verdict {
            Verdict::Approved => true,
            Verdict::Rejected => false,
            Verdict::Answered => return None,
        };
        Some(DecidedRequest {
            request: record.request.clone(),
            approved,
            by: by.name.clone(),
            asked_by: record.rules.first().cloned(),
        })
    }
}
