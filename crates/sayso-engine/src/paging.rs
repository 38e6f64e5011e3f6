//! Pages with a limit in bytes. A server answers many requests at once, so each page must fit beside the others; the
//! client continues after the last item.

use crate::Result;
use sayso_store::ListPage;
use serde::Serialize;

/// The number of rows in the first read, which shows how long rows are.
const FIRST: usize = 16;

/// Reads a page in chunks, until it has `limit` items or `bytes_max` bytes of text. Without a byte limit it is read
/// at once. `read` continues after an item.
pub(crate) fn bounded<T: Serialize>(
    bytes_max: Option<usize>,
    limit: usize,
    mut read: impl FnMut(Option<&T>, usize) -> Result<ListPage<T>>,
) -> Result<ListPage<T>> {
    let Some(bytes_max) = bytes_max else { return read(None, limit) };
    let (mut items, mut bytes) = (Vec::new(), 0);
    loop {
        let next = rows_next(items.len(), bytes, bytes_max).min(limit - items.len().min(limit));
        let page = read(items.last(), next.max(1))?;
        bytes += page.items.iter().map(text_bytes).sum::<usize>();
        let is_last = !page.more || page.items.is_empty();
        items.extend(page.items);
        if is_last || items.len() >= limit || bytes >= bytes_max {
            return Ok(ListPage { items, more: page.more });
        }
    }
}

/// Estimates the number of rows that fit.
fn rows_next(seen: usize, bytes: usize, bytes_max: usize) -> usize {
    match seen {
        0 => FIRST,
        _ => bytes_max.saturating_sub(bytes) / (bytes / seen).max(1) + 1,
    }
}

/// Returns the length of an item as JSON.
fn text_bytes<T: Serialize>(item: &T) -> usize {
    let mut count = ByteCounter(0);
    match serde_json::to_writer(&mut count, item) {
        Ok(()) => count.0,
        // An item that cannot be serialized is not sent either.
        Err(_) => 0,
    }
}

struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Reads a page of texts of these lengths. Returns the number of items on it, true if there are more, and the
    /// number of reads.
    fn check(lens: &[usize], bytes_max: Option<usize>, limit: usize) -> (usize, bool, usize) {
        let all: Vec<(usize, String)> =
            lens.iter().enumerate().map(|(number, len)| (number, "x".repeat(*len))).collect();
        let mut reads = 0;
        let page = bounded(bytes_max, limit, |after: Option<&(usize, String)>, rows| {
            reads += 1;
            let begin = after.map_or(0, |(number, _)| number + 1);
            let items: Vec<_> = all[begin..].iter().take(rows).cloned().collect();
            Ok(ListPage { more: begin + items.len() < all.len(), items })
        });
        let page = page.unwrap();
        assert!(page.items.iter().enumerate().all(|(at, (number, _))| at == *number), "in order");
        (page.items.len(), page.more, reads)
    }

    #[test]
    fn short_rows_are_read_in_two_parts_and_long_ones_end_the_page() {
        assert_eq!(check(&[100; 300], Some(1_000_000), 200), (200, true, 2));
        assert_eq!(check(&[100; 20], Some(1_000_000), 200), (20, false, 2));
        assert_eq!(check(&[], Some(1_000), 200), (0, false, 1));
        assert_eq!(check(&[100_000; 300], Some(1_000_000), 200), (16, true, 1));
        assert_eq!(check(&[100_000; 300], None, 200), (200, true, 1));
        assert_eq!(check(&[5; 3], Some(1), 2), (2, true, 1));
    }

    #[test]
    fn the_page_grows_up_to_its_bound() {
        let (count, more, _) = check(&[10_000; 300], Some(1_000_000), 200);
        assert!((99..=101).contains(&count) && more, "{count}");
    }
}
