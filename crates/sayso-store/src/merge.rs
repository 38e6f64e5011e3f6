//! Statements that write, merged into one: PostgreSQL takes its time to begin and end each, and sends an answer
//! for each, however little it does.
//!
//! What is merged runs as of one moment, in no order. So only statements are merged that each write to one
//! table, all of them different, and read none: then no order could be told from another.

use crate::pipe::Value;

/// The most that is merged. More is not quicker, and every mix is a statement that the server keeps.
const PARTS_MAX: usize = 8;

/// Statements that wait to be merged with what comes.
#[derive(Default)]
pub(crate) struct Merge {
    parts: Vec<(String, Vec<Value>)>,
}

impl Merge {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a statement can be merged with those that wait.
    pub(crate) fn takes(&self, sql: &str) -> bool {
        let Some(table) = target(sql) else { return false };
        let is_free = self.parts.iter().all(|(other, _)| target(other) != Some(table));
        is_free && self.parts.len() < PARTS_MAX
    }

    /// Puts a statement behind those that wait, which it is to be merged with.
    pub(crate) fn push(&mut self, sql: &str, values: Vec<Value>) {
        self.parts.push((sql.to_owned(), values));
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    /// All of it: a name for the mix, the statements, and their values in a row.
    pub(crate) fn take(&mut self) -> (String, Vec<String>, Vec<Value>) {
        let (sqls, values): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parts).into_iter().unzip();
        (sqls.join(";\n"), sqls, values.into_iter().flatten().collect())
    }
}

/// The one table a statement is about, if it only writes there.
pub(crate) fn target(sql: &str) -> Option<&str> {
    let behind = ["INSERT INTO ", "UPDATE ", "DELETE FROM "].iter();
    let rest = behind.filter_map(|verb| sql.strip_prefix(verb)).next()?;
    let reads = ["SELECT ", "RETURNING ", " FROM ", " USING "];
    let table = rest.split([' ', '(']).next().filter(|table| !table.is_empty())?;
    (!reads.iter().any(|word| rest.contains(word))).then_some(table)
}

/// Whether a statement reads no table at all: then it may stand last, where what it says is not lost.
pub(crate) fn reads_none(sql: &str) -> bool {
    sql.starts_with("SELECT ") && !sql.contains(" FROM ")
}

/// One statement that does them all. Each has its values behind those of the one before it.
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

/// A statement whose first value is `?{offset + 1}`, and how many values it has.
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
        assert!(reads_none("SELECT pg_notify(?1, ?2)"));
        assert!(!reads_none("SELECT 1 FROM gates"));
        assert!(!reads_none("UPDATE gates SET state = ?1"));
        let all = sqls(&["DELETE FROM a WHERE b = ?1", "SELECT pg_notify(?1, ?2)"]);
        assert_eq!(
            merged(&all),
            "WITH w0 AS (DELETE FROM a WHERE b = ?1) SELECT pg_notify(?2, ?3)"
        );
    }

    #[test]
    fn a_table_is_written_once_in_a_statement() {
        let mut merge = Merge::default();
        let insert = "INSERT INTO gates (id) VALUES (?1)";
        assert!(merge.takes(insert));
        merge.push(insert, vec![Value::Int(1)]);
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
