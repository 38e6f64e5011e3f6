//! Statistics of measurements, and rows of a Markdown table.

/// Returns the median of some numbers.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

/// Returns two quantiles of the numbers, such as 0.1 and 0.9.
pub(super) fn spread(numbers: &[f64], from: f64, to: f64) -> (f64, f64) {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = numbers.len().saturating_sub(1);
        numbers.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    };
    (at(from), at(to))
}

/// Formats a table in Markdown.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{rule}{body}", line(&head))
}

/// Formats a time in milliseconds.
pub(super) fn ms(value: f64) -> String {
    format!("{value:.2}")
}

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
    fn a_spread_leaves_out_the_ends() {
        let numbers: Vec<_> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(spread(&numbers, 0.1, 0.9), (1.0, 9.0));
    }

    #[test]
    fn a_table_is_markdown() {
        let rows = vec![vec!["a".to_owned(), ms(1.234)]];
        assert_eq!(table(&["who", "ms"], &rows), "| who | ms |\n|---|---|\n| a | 1.23 |\n");
    }
}
