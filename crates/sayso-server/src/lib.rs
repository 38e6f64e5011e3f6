//! How one reaches sayso: the wire types every door speaks. They are a promise to clients; the
//! core's types are ours. HTTP and pages follow here.

pub mod fleet;
pub mod mcp;
pub mod notices;
pub mod wire;
