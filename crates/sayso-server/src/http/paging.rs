//! Pages: every list has a limit, and goes on where the last page ended.

use super::gates::bad;
use crate::wire;
use sayso_engine::{Page, Result};

/// How many are listed unless the request says otherwise, and at most.
const LIMIT: u16 = 50;
pub(super) const LIMIT_MAX: u16 = 200;

/// How many to list.
pub(super) fn limit(asked: Option<u16>) -> Result<usize> {
    match asked.unwrap_or(LIMIT) {
        limit @ 1..=LIMIT_MAX => Ok(limit.into()),
        _ => Err(bad(format!("limit is from 1 to {LIMIT_MAX}")).into()),
    }
}

/// A page on the wire; `name` is what the next one goes on behind.
pub(super) fn page<T, W>(
    found: &Page<T>,
    on_the_wire: impl Fn(&T) -> W,
    name: impl Fn(&T) -> String,
) -> wire::Page<W> {
    let next = found.items.last().filter(|_| found.more).map(name);
    wire::Page { items: found.items.iter().map(on_the_wire).collect(), next }
}

/// A page of a list that is short enough to be read as a whole.
pub(super) fn part<T>(
    all: Vec<T>,
    after: Option<&str>,
    limit: usize,
    name: impl Fn(&T) -> String,
) -> Result<Page<T>> {
    let begin = match after {
        None => 0,
        Some(after) => match all.iter().position(|item| name(item) == after) {
            Some(at) => at + 1,
            None => return Err(bad("there is nothing of that name to go on behind".into()).into()),
        },
    };
    let more = all.len().saturating_sub(begin) > limit;
    Ok(Page { items: all.into_iter().skip(begin).take(limit).collect(), more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_gaps() {
        let all = || (1..=5).collect::<Vec<u32>>();
        let name = |n: &u32| n.to_string();
        let first = part(all(), None, 2, name).unwrap_or_else(|_| unreachable!());
        assert_eq!((first.items, first.more), (vec![1, 2], true));
        let last = part(all(), Some("3"), 2, name).unwrap_or_else(|_| unreachable!());
        assert_eq!((last.items, last.more), (vec![4, 5], false));
        assert!(part(all(), Some("9"), 2, name).is_err());
    }

    #[test]
    fn limits_are_bounded() {
        assert!(limit(None).is_ok_and(|n| n == 50));
        assert!(limit(Some(200)).is_ok_and(|n| n == 200));
        assert!(limit(Some(0)).is_err() && limit(Some(201)).is_err());
    }
}
