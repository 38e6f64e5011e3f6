//! Who asks: how sayso recognises agents. Adapters that start them follow here.

pub mod marks;
