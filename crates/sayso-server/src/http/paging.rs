//! Pagination: every list has a limit, in items and in bytes, and continues where the last page ended.

use super::gates::bad;
use crate::wire;
use sayso_engine::{ListPage, Result};
use serde::Serialize;
use std::convert::Infallible;

/// The number of items on a page, unless the request says otherwise, and the most.
const LIMIT: u16 = 50;
pub(super) const LIMIT_MAX: u16 = 200;

/// The most bytes of JSON on a page, unless one item alone has more.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// Checks the requested limit; returns the number of items to list.
pub(super) fn limit(asked: Option<u16>) -> Result<usize> {
    match asked.unwrap_or(LIMIT) {
        limit @ 1..=LIMIT_MAX => Ok(limit.into()),
        _ => Err(bad(format!("limit is from 1 to {LIMIT_MAX}")).into()),
    }
}

/// Builds a page in its wire form; `name` is the cursor after which the next one continues.
pub(super) fn page<T, W: Serialize>(
    found: &ListPage<T>,
    on_the_wire: impl Fn(&T) -> W,
    name: impl Fn(&T) -> String,
) -> wire::PageJson<W> {
    match try_page(found, |item| Ok::<_, Infallible>(on_the_wire(item)), name) {
        Ok(page) => page,
        Err(never) => match never {},
    }
}

/// Builds a page of items whose conversion may fail.
pub(super) fn try_page<T, W: Serialize, E>(
    found: &ListPage<T>,
    on_the_wire: impl Fn(&T) -> std::result::Result<W, E>,
    name: impl Fn(&T) -> String,
) -> std::result::Result<wire::PageJson<W>, E> {
    let (mut items, mut bytes, mut last) = (vec![], CountingWriter(0), None);
    for (at, item) in found.items.iter().enumerate() {
        let made = on_the_wire(item)?;
        // An item that cannot be serialized fails where it is written.
        let _ = serde_json::to_writer(&mut bytes, &made);
        if bytes.0 > PAGE_BYTES_MAX && at > 0 {
            return Ok(wire::PageJson { items, next: last.map(name) });
        }
        items.push(made);
        last = Some(item);
    }
    Ok(wire::PageJson { items, next: last.filter(|_| found.more).map(name) })
}

/// A writer that counts bytes, and keeps none.
struct CountingWriter(usize);

impl std::io::Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns a page of a list that is short enough to be read as a whole.
pub(super) fn part<T>(
    all: Vec<T>,
    after: Option<&str>,
    limit: usize,
    name: impl Fn(&T) -> String,
) -> Result<ListPage<T>> {
    let begin = match after {
        None => 0,
        Some(after) => match all.iter().position(|item| name(item) == after) {
            Some(at) => at + 1,
            None => return Err(bad("there is nothing of that name to go on behind".into()).into()),
        },
    };
    let more = all.len().saturating_sub(begin) > limit;
    Ok(ListPage { items: all.into_iter().skip(begin).take(limit).collect(), more })
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
    fn a_page_is_bounded_in_bytes_and_goes_on_behind_its_last_item() {
        let of = |lens: &[usize], more| {
            let items = lens.iter().map(|len| "x".repeat(*len)).collect();
            let made = page(&ListPage { items, more }, Clone::clone, |item| item.len().to_string());
            (made.items.len(), made.next)
        };
        assert_eq!(of(&[10, 20], false), (2, None));
        assert_eq!(of(&[10, 20], true), (2, Some("20".into())));
        assert_eq!(of(&[400_000, 400_001, 400_002], false), (2, Some("400001".into())));
        assert_eq!(of(&[2_000_000, 1], false), (1, Some("2000000".into())), "one at least");
        assert_eq!(of(&[], false), (0, None));
    }

    #[test]
    fn limits_are_bounded() {
        assert!(limit(None).is_ok_and(|n| n == 50));
        assert!(limit(Some(200)).is_ok_and(|n| n == 200));
        assert!(limit(Some(0)).is_err() && limit(Some(201)).is_err());
    }
}
