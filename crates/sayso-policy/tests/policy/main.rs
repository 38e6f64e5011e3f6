//! The language of policies, the rulings they give, and what must hold of all of them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod language;
mod presets;
mod properties;
mod rulings;
mod shells;
mod smuggle;
