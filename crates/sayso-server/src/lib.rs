//! How one reaches sayso: the wire types every door speaks. They are a promise to clients; the
//! core's types are ours. Pages follow here.

mod cards;
pub mod client;
pub mod fleet;
pub mod http;
pub mod keys;
pub mod mcp;
pub mod notices;
pub mod prose;
pub mod wire;
