//! Durable questions to people, for programs written in Rust.
