//! Several people answer at the same moment: one wins, one note is left, the others are told.

use crate::harness::{Ran, Who, everywhere};

/// How many answer at once.
const PEOPLE: usize = 6;

everywhere! {
    fn one_winner_and_one_note(space: &Space) {
        let names: Vec<_> = (0..PEOPLE).map(|n| format!("person{n}")).collect();
        names.iter().for_each(|name| space.mint("human", name));
        let task = space.create(&["Pick a colour"]);
        let gate = space.ask("coder", &["Which colour?", "--task", &task]);
        let answers: Vec<_> = names.iter().map(|name| format!("{name} says so")).collect();
        let started: Vec<_> = names
            .iter()
            .zip(&answers)
            .map(|(name, answer)| space.start(Who::Human(name), &["respond", &gate, answer]))
            .collect();
        let ended: Vec<_> =
            started.into_iter().map(|child| Ran::of(&child.wait_with_output().unwrap())).collect();
        let shown = space.show(&gate);
        let winner = shown["answer"]["by"].as_str().unwrap();
        for (name, ran) in names.iter().zip(ended) {
            if name == winner {
                ran.ok();
            } else {
                ran.exits(6).refused("SAY004").says(&format!("by {winner}"));
            }
        }
        let notes = space.show(&task)["notes"].clone();
        assert_eq!(notes.as_array().unwrap().len(), 1);
        assert_eq!(notes[0]["text"], format!("{winner} says so"));
        assert_eq!(space.coder(&["wait", &gate]).ok(), format!("{winner} says so"));
        space.verify();
    }
}

everywhere! {
    /// A yes, a no, a withdrawal and a closed task at once: one of them counts, and all agree on it.
    fn different_ways_to_end_it(space: &Space) {
        let task = space.create(&["Ship it"]);
        let gate = space.ask("coder", &["Ship?", "--task", &task, "--kind", "approval"]);
        let ways: [(Who<'_>, Vec<&str>); 4] = [
            (Who::Human("ann"), vec!["approve", &gate]),
            (Who::Human("bob"), vec!["reject", &gate, "not yet"]),
            (Who::Agent("coder"), vec!["withdraw", &gate]),
            (Who::Human("bob"), vec!["close", &task]),
        ];
        let started: Vec<_> = ways.iter().map(|(who, args)| space.start(*who, args)).collect();
        let codes: Vec<_> = started
            .into_iter()
            .map(|child| Ran::of(&child.wait_with_output().unwrap()).code)
            .collect();
        // Closing a closed task again is a success, whoever closed it.
        assert!(codes[..3].iter().filter(|code| **code == 0).count() <= 1, "{codes:?}");
        let shown = space.show(&gate);
        let expected = match (shown["state"].as_str(), shown["answer"]["verdict"].as_str()) {
            (Some("answered"), Some("approved")) => 0,
            (Some("answered"), _) => 8,
            _ => 11,
        };
        space.coder(&["wait", &gate]).exits(expected);
        let settled = space.show(&task)["history"].clone();
        let settled = settled.as_array().unwrap().iter().filter(|h| h["what"] == "task.settled");
        assert_eq!(settled.count(), 1);
        space.verify();
    }
}
