//! seeds
