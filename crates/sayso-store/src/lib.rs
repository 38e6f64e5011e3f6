//! The store of sayso: event log, views, outbox and audit chain, on SQLite and PostgreSQL.
//!
//! This is the only crate that names a database. SQL is written once, over a small transaction trait with two
//! column types, and runs on both databases. A *write* runs a closure in one transaction, so that events, views,
//! deliveries, outbox and audit entry are committed together or not at all; a *watch* only shortens the wait for a
//! change that is a row anyway.

mod behind;
mod breaker;
mod draft;
mod error;
mod explain;
mod figures;
mod flows;
mod foresight;
mod inbox;
mod merge;
mod outbox;
mod page;
mod passkeys;
mod people;
mod pipe;
mod place;
mod postgres;
mod probe;
mod query;
mod read;
mod read_tasks;
mod replies;
mod rows;
mod schema;
mod settings;
mod sqlite;
mod store;
mod tls;
mod tx;
mod watch;
mod write;
mod writer;

pub use error::{Error, Result};
pub use figures::{WaitingGates, WaitingNotices};
pub use foresight::Foresight;
pub use outbox::{Notice, Told, UnderWay};
pub use page::{FlowFilter, GateFilter, Page, ReadyFilter, TaskFilter, TaskRow};
pub use passkeys::{Ceremony, Passkey};
pub use people::{Guesses, Invitation, Known};
pub use place::Place;
pub use read::{AuditRow, Credential, EventRow, Found, GateRows, Read, Space, Token, ViewRow};
pub use replies::{Reply, ReplyKey};
pub use rows::{ViewCells, ViewTable};
pub use schema::{CHECKSUMMED, VERSION};
pub use settings::{RequestRow, Setting, SettingRows, Tally};
pub use store::Store;
pub use watch::{Topic, Watch};
pub use write::{Delivery, Handles, Write};
