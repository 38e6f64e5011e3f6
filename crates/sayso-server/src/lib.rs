//! Server and client of sayso: the HTTP API, the pages, MCP, remote calls, and the wire types they share. Wire types
//! are a promise to clients; the core's types are ours.

mod cards;
pub mod client;
pub mod fleet;
pub mod http;
pub mod keys;
pub mod mcp;
pub mod notices;
pub mod text;
pub mod wire;
