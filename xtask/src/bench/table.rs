//! Numbers in order, and rows of a page.

/// The middle of some numbers.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

/// A table in Markdown.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{rule}{body}", line(&head))
}

/// A time in milliseconds.
pub(super) fn ms(value: f64) -> String {
    format!("{value:.2}")
}

/// A ratio.
pub(super) fn times(value: f64) -> String {
    format!("{value:.1}x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn a_table_is_markdown() {
        let rows = vec![vec!["a".to_owned(), ms(1.234)]];
        assert_eq!(table(&["who", "ms"], &rows), "| who | ms |\n|---|---|\n| a | 1.23 |\n");
    }
}
