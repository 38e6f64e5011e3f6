//! Texts about the work that an answer unblocks.

use super::count;
use sayso_core::gate::UnblockedWork;
use sayso_core::text::{sanitize_line, shorten};
use sayso_engine::{CardView, NamedTask};

/// Returns the text for a row: `unblocks 3 tasks`. None where an answer is for the askers alone: they are named
/// beside it already.
pub fn unblocks(asked: &CardView) -> Option<String> {
    let UnblockedWork { tasks, flows, .. } = &asked.unblocks;
    let is_more = asked.gate.is_open() && asked.unblocks.count() > 1 && tasks + flows > 0;
    is_more.then(|| format!("unblocks {}", how_much(&asked.unblocks)))
}

/// Returns the text for a card: the same, with the first tasks by name.
pub fn unblocked(asked: &CardView) -> Option<String> {
    let words = format!("an answer {}", unblocks(asked)?);
    if asked.first.is_empty() {
        return Some(words);
    }
    let name =
        |task: &NamedTask| format!("{} {}", task.handle, shorten(&sanitize_line(&task.title), 60));
    let names: Vec<_> = asked.first.iter().map(name).collect();
    let UnblockedWork { tasks, more, .. } = asked.unblocks;
    let rest = match (tasks.saturating_sub(names.len()), more) {
        (0, _) => String::new(),
        (rest, false) => format!(" and {rest} more"),
        (_, true) => " and many more".into(),
    };
    Some(format!("{words}: {}{rest}", names.join(", ")))
}

fn how_much(unblocks: &UnblockedWork) -> String {
    let UnblockedWork { tasks, more, flows, askers, .. } = unblocks;
    let each = [(*tasks, "task"), (*flows, "flow"), (*askers, "asker")];
    let words = |(number, unit): (usize, &str)| {
        if *more && unit == "task" {
            format!("{number}+ tasks")
        } else {
            count(number as u64, unit)
        }
    };
    let mut each: Vec<_> = each.into_iter().filter(|(n, _)| *n > 0).map(words).collect();
    let last = each.pop().unwrap_or_default();
    if each.is_empty() { last } else { format!("{} and {last}", each.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_is_said_in_words() {
        for (tasks, more, flows, askers, words) in [
            (3, false, 0, 0, "3 tasks"),
            (1, false, 0, 1, "1 task and 1 asker"),
            (0, false, 2, 0, "2 flows"),
            (2, false, 1, 4, "2 tasks, 1 flow and 4 askers"),
            (99, true, 0, 2, "99+ tasks and 2 askers"),
        ] {
            let unblocks = UnblockedWork { tasks, more, flows, askers, first: vec![] };
            assert_eq!(how_much(&unblocks), words);
        }
    }
}
