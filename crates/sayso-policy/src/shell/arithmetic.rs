//! Arithmetic expansion `$((…))`, for plain numbers, names and operators. A name stands for the value of its
//! variable, which shells evaluate again, so the caller is told of names.

/// A parsed arithmetic expression.
pub(super) struct ArithmeticExpansion {
    /// The bytes from the first bracket to the last.
    pub(super) length: usize,
    pub(super) has_names: bool,
}

/// Parses `((…))` at the start of these bytes; none if it is not plain.
pub(super) fn read(bytes: &[u8]) -> Option<ArithmeticExpansion> {
    let inside = bytes.strip_prefix(b"((")?;
    let (mut at, mut depth, mut has_names) = (0, 0usize, false);
    let mut follows_operand = false;
    while let Some(byte) = inside.get(at) {
        match byte {
            b')' if depth == 0 => {
                let is_end = inside.get(at + 1) == Some(&b')');
                return is_end.then_some(ArithmeticExpansion { length: at + 4, has_names });
            }
            b')' => {
                depth -= 1;
                follows_operand = true;
            }
            b'(' if follows_operand => return None,
            b'(' => depth += 1,
            b' ' | b'\t' => {}
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'?' | b':' | b',' => {
                follows_operand = false;
            }
            b'$' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                if follows_operand {
                    return None;
                }
                let begins = inside.get(at + usize::from(*byte == b'$'))?;
                has_names |= !begins.is_ascii_digit() || *byte == b'$';
                at += usize::from(*byte == b'$');
                let rest = &inside[at..];
                let length =
                    rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                if length == 0 {
                    return None;
                }
                at += length;
                follows_operand = true;
                continue;
            }
            _ => return None,
        }
        at += 1;
    }
    None
}
