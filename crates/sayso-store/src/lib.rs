//! The store of sayso: event log, views, outbox and audit chain, on SQLite and PostgreSQL.
//!
//! This is the only crate that names a database. SQL is written once, over a small transaction trait with two
//! column types, and runs on both databases. A *write* runs a closure in one transaction, so that events, views,
//! deliveries, outbox and audit entry are committed together or not at all; a *watch* only shortens the wait for a
//! change that is a row anyway.

mod atomic_create;
mod breaker;
mod cte_merge;
mod dependents;
mod error;
mod explain;
mod flows;
mod group_commit;
mod idempotency;
mod inbox;
mod location;
mod outbox;
mod page;
mod passkeys;
mod people;
mod pipeline;
mod postgres;
mod prefetch;
mod probe;
mod query;
mod read;
mod read_tasks;
mod rows;
mod schema;
mod settings;
mod sqlite;
mod stats;
mod store;
mod tls;
mod tx;
mod watch;
mod write;

pub use error::{Error, Result};
pub use idempotency::{ResponseKey, StoredResponse};
pub use location::StoreLocation;
pub use outbox::{NoticeRecord, OutboxNotice, PendingNotice};
pub use page::{FlowFilter, GateFilter, ListPage, ReadyFilter, TaskFilter, TaskRow};
pub use passkeys::{ChallengeRow, PasskeyRow};
pub use people::{FailedLogins, InvitationRow, SpaceMember};
pub use prefetch::PrefetchPlan;
pub use read::{
    AuditRow, CredentialRecord, EventRow, GateRows, NameMatch, ReadTransaction, SpaceRow, TokenRow,
    ViewRow,
};
pub use rows::{ViewCells, ViewTable};
pub use schema::{CHECKSUMMED, VERSION};
pub use settings::{RequestCounts, RequestRow, SettingRows, StoredSetting};
pub use stats::{WaitingGates, WaitingNotices};
pub use store::Store;
pub use watch::{CommitWatch, WatchTopic};
pub use write::{DeliveryRow, HandleTable, WriteTransaction};
