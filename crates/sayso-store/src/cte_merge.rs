//! Merges several writing statements into one with common table expressions (CTEs): PostgreSQL needs time to begin
//! and end each statement, and sends a response for each, however little it does.
//!
//! The parts of a merged statement share one snapshot and have no order. So only statements are merged that each
//! write to one table, all of them different, and read none: then their order makes no difference.

use crate::pipeline::OwnedValue;

/// The most statements that are merged. More is not faster, and the server keeps each combination as a prepared
/// statement.
const PARTS_MAX: usize = 8;

/// Statements that wait to be merged with the following ones.
#[derive(Default)]
pub(crate) struct CteMerge {
    parts: Vec<(String, Vec<OwnedValue>)>,
}

impl CteMerge {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if a statement can be merged with those that wait.
    pub(crate) fn takes(&self, sql: &str) -> bool {
        let Some(table) = target(sql) else { return false };
        let is_free = self.parts.iter().all(|(other, _)| target(other) != Some(table));
        is_free && self.parts.len() < PARTS_MAX
    }

    pub(crate) fn push(&mut self, sql: &str, values: Vec<OwnedValue>) {
        self.parts.push((sql.to_owned(), values));
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Takes all statements: a cache key for the combination, the statements, and all their values in order.
    pub(crate) fn take(&mut self) -> (String, Vec<String>, Vec<OwnedValue>) {
        let (sqls, values): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parts).into_iter().unzip();
        (sqls.join(";\n"), sqls, values.into_iter().flatten().collect())
    }
}

/// Returns the table that a statement writes, if it touches no other one.
pub(crate) fn target(sql: &str) -> Option<&str> {
    let behind = ["INSERT INTO ", "UPDATE ", "DELETE FROM "].iter();
    let rest = behind.filter_map(|verb| sql.strip_prefix(verb)).next()?;
    let reads = ["SELECT ", "RETURNING ", " FROM ", " USING "];
    let table = rest.split([' ', '(']).next().filter(|table| !table.is_empty())?;
    (!reads.iter().any(|word| rest.contains(word))).then_some(table)
}

/// True if a statement reads no table: then it may come last, where its result is not lost.
pub(crate) fn reads_no_table(sql: &str) -> bool {
    sql.starts_with("SELECT ") && !sql.contains(" FROM ")
}

/// Builds one statement that runs all of them. The values of each come after those of the one before.
pub(crate) fn merged(sqls: &[String]) -> String {
    let mut offset = 0;
    let mut numbered: Vec<_> = sqls
        .iter()
        .map(|sql| {
            let (text, count) = moved(sql, offset);
            offset += count;
            text
        })
        .collect();
    let Some(last) = numbered.pop() else { return String::new() };
    if numbered.is_empty() {
        return last;
    }
    let parts = numbered.iter().enumerate().map(|(at, sql)| format!("w{at} AS ({sql})"));
    format!("WITH {} {last}", parts.collect::<Vec<_>>().join(", "))
}

/// Renumbers the placeholders of a statement from `?{offset + 1}` on, and counts its values.
fn moved(sql: &str, offset: usize) -> (String, usize) {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().unwrap_or_default();
        count = count.max(number);
        text.push_str(&format!("?{}{rest}", number + offset));
    }
    (text, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqls(all: &[&str]) -> Vec<String> {
        all.iter().map(|sql| (*sql).to_owned()).collect()
    }

    #[test]
    fn only_what_writes_to_one_table_and_reads_none_is_merged() {
        for (sql, table) in [
            ("INSERT INTO gates (id) VALUES (?1)", Some("gates")),
            ("INSERT INTO gates(id) VALUES (?1) ON CONFLICT (id) DO NOTHING", Some("gates")),
            ("UPDATE gates SET state = ?2 WHERE id = ?1", Some("gates")),
            ("DELETE FROM gates WHERE id = ?1", Some("gates")),
            ("SELECT 1 FROM gates", None),
            ("SELECT pg_notify(?1, ?2)", None),
            ("INSERT INTO gates SELECT id FROM tasks", None),
            ("UPDATE gates SET n = (SELECT 1) WHERE id = ?1", None),
            ("UPDATE gates SET n = t.n FROM tasks t", None),
            ("DELETE FROM gates USING tasks", None),
            ("UPDATE gates SET n = 1 RETURNING id", None),
            ("INSERT INTO ", None),
            ("WITH a AS (DELETE FROM gates) INSERT INTO b VALUES (1)", None),
        ] {
            assert_eq!(target(sql), table, "{sql}");
        }
    }

    #[test]
    fn what_reads_no_table_may_stand_last() {
        assert!(reads_no_table("SELECT pg_notify(?1, ?2)"));
        assert!(!reads_no_table("SELECT 1 FROM gates"));
        assert!(!reads_no_table("UPDATE gates SET state = ?1"));
        let all = sqls(&["DELETE FROM a WHERE b = ?1", "SELECT pg_notify(?1, ?2)"]);
        assert_eq!(
            merged(&all),
            "WITH w0 AS (DELETE FROM a WHERE b = ?1) SELECT pg_notify(?2, ?3)"
        );
    }

    #[test]
    fn a_table_is_written_once_in_a_statement() {
        let mut merge = CteMerge::default();
        let insert = "INSERT INTO gates (id) VALUES (?1)";
        assert!(merge.takes(insert));
        merge.push(insert, vec![OwnedValue::Int(1)]);
        assert!(!merge.takes("UPDATE gates SET id = 1"));
        assert!(merge.takes("UPDATE tasks SET id = 1"));
        merge.clear();
        assert!(merge.is_empty() && merge.takes(insert));
    }

    #[test]
    fn values_keep_their_places() {
        let all =
            sqls(&["INSERT INTO a VALUES (?1, ?2)", "UPDATE b SET c = ?2 WHERE d = ?1 AND e = ?1"]);
        assert_eq!(
            merged(&all),
            "WITH w0 AS (INSERT INTO a VALUES (?1, ?2)) UPDATE b SET c = ?4 WHERE d = ?3 AND e = ?3"
        );
        assert_eq!(merged(&all[..1]), "INSERT INTO a VALUES (?1, ?2)");
        let twelve = (1..=12).map(|n| format!("?{n}")).collect::<Vec<_>>().join(", ");
        let many =
            sqls(&[&format!("INSERT INTO a VALUES ({twelve})"), "DELETE FROM b WHERE c = ?1"]);
        assert!(merged(&many).ends_with("c = ?13"));
    }
}
