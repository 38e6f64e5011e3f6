//! Rules that people's own answers suggest: what was always approved need not be asked.

use crate::{LocalDesk, Recorded, Result};
use sayso_core::{Actor, GateId, Timestamp, Verdict};
use sayso_policy::{Decided, Suggestion};

/// So many records are read at a time, and so many at all: the first since the moment that is asked for.
const PAGE: usize = 500;
const RECORDS_MAX: usize = 5_000;

impl LocalDesk {
    /// Rules that answers since a moment suggest, each with at least so many yeses and no no.
    pub fn suggestions(
        &self,
        actor: &Actor,
        since: Timestamp,
        least: usize,
    ) -> Result<Vec<Suggestion>> {
        let mut decided = vec![];
        let (mut last, mut looked_at) = (None::<Recorded>, 0);
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

    /// A record that a person said yes or no to. Who did is written at its gate.
    fn decided(&self, record: &Recorded) -> Option<Decided> {
        record.verdict.as_ref()?;
        let gate = self.gate(record.id.parse::<GateId>().ok()?).ok()?;
        let (answer, by) = gate.answer()?;
        let approved = match answer.verdict {
            Verdict::Approved => true,
            Verdict::Rejected => false,
            Verdict::Answered => return None,
        };
        Some(Decided {
            request: record.request.clone(),
            approved,
            by: by.name.clone(),
            asked_by: record.rules.first().cloned(),
        })
    }
}
