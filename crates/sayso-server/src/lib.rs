//! How one reaches sayso: the wire types every door speaks. They are a promise to clients; the
//! core's types are ours. HTTP and pages follow here.

mod cards;
pub mod fleet;
pub mod mcp;
pub mod wire;
