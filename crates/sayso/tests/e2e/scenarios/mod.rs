//! The black-box scenarios: what a person, a script or an agent can notice. One theme per file, each
//! through the real program on SQLite and on PostgreSQL.

mod asking;
mod bypass;
mod cards;
mod deleting;
mod doubt;
mod evidence;
mod hostile;
mod json;
mod options;
mod passphrase;
mod races;
mod ready;
mod receipts;
mod refusals;
mod requires;
mod seeds;
mod several;
mod shell;
mod shielded;
mod signoffs;
mod tasks;
mod verdicts;
mod waiting;
