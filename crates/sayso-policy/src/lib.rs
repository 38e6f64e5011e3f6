//! What policy says.
mod command;
mod glob;
mod mistake;
mod request;
mod shell;
mod yaml;
pub use mistake::Mistake;
pub use request::*;
