//! What must hold whatever crashes, races or runs full.
