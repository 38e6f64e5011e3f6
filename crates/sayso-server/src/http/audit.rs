//! HTTP API for the audit log: its entries, and the verification of its hash chain.

use super::auth::RequestContext;
use super::gates::bad;
use super::paging::{limit, try_page};
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::{Code, Refusal};
use sayso_engine::{ListPage, ListedEntry, Result};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table.add(OperationVerb::Get, "/audit", LIST, list).add(
        OperationVerb::Get,
        "/audit/verify",
        VERIFY,
        verify,
    )
}

type AuditOperationDoc = (&'static str, &'static str);
const LIST: AuditOperationDoc =
    ("listAudit", "Entries of the audit, a page at a time. Oldest first, unless newest.");
const VERIFY: AuditOperationDoc = (
    "verifyAudit",
    "Checks the chain, that it covers every event, and every view. What does not hold is a problem that names the first bad entry.",
);

/// The largest number of an entry.
pub(super) const SEQ_MAX: u64 = 1 << 53;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAudit {
    /// List the newest entries first.
    #[serde(default)]
    newest: bool,
    /// Continue after the entry of this number, as `next` of the last page said.
    #[schemars(range(max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListAudit, EmptyInput>,
) -> Result<wire::PageJson<wire::AuditEntry>> {
    let ListAudit { newest, after, limit: most } = asked.query;
    let most = limit(most)? as u64;
    if after.is_some_and(|after| after > SEQ_MAX) {
        return Err(bad(format!("an entry's number is at most {SEQ_MAX}")).into());
    }
    let head = at.desk.audit_head(&at.actor)?.seq;
    // Entries are numbered without a gap, from 1.
    let (behind, until) = match (newest, after) {
        (false, after) => (after.unwrap_or(0), after.unwrap_or(0).saturating_add(most).min(head)),
        (true, after) => {
            let until = after.map_or(head, |after| after.saturating_sub(1).min(head));
            (until.saturating_sub(most), until)
        }
    };
    let count = until.saturating_sub(behind);
    let mut items = match count {
        0 => vec![],
        count => at.desk.audit_listed(&at.actor, behind, count as usize)?,
    };
    let more = if newest { behind > 0 } else { until < head };
    if newest {
        items.reverse();
    }
    try_page(&ListPage { items, more }, entry, |(seq, _)| seq.to_string())
}

fn entry((seq, listed): &(u64, Option<ListedEntry>)) -> Result<wire::AuditEntry> {
    let unread = || {
        let message = format!("entry {seq} of the audit cannot be read");
        Refusal::new(Code::AuditBroken, message).hint("look at it with: sayso audit verify")
    };
    Ok(wire::AuditEntry::listed(listed.as_ref().ok_or_else(unread)?, &rfc3339))
}

fn verify(
    at: &RequestContext,
    _: OperationInput<0, EmptyInput, EmptyInput>,
) -> Result<wire::AuditVerification> {
    let report = at.desk.verify_audit(&at.actor, |_| {})?;
    let (events, views) = (Some(report.events), Some(report.views));
    Ok(wire::AuditVerification { holds: true, entries: report.entries, events, views })
}
