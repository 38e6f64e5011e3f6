//! How one reaches sayso: the wire types every door speaks. They are a promise to clients; the
//! core's types are ours. HTTP, pages and MCP follow here.

pub mod fleet;
pub mod wire;
