//! Key bindings of the inbox: one list for the terminal and for the pages, for the keys themselves and for the help
//! about them.

use std::time::Duration;

/// The time a card must have been on the screen before a key can act on it. A key that was typed for something else
/// is not taken for an answer.
pub const DEAD_TIME: Duration = Duration::from_millis(400);

/// The time for which an answer can be undone before it is sent.
pub const GRACE: Duration = Duration::from_secs(5);

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// To the card below.
    Down,
    /// To the card above.
    Up,
    /// To the first card.
    First,
    /// To the last card.
    Last,
    Open,
    /// Back to the list, or out of what was begun.
    Back,
    /// Reads on in a card that is longer than the screen.
    ReadOn,
    /// Reads back in it.
    ReadBack,
    /// To the next list: yours, your groups', watched, done.
    NextView,
    Approve,
    /// Says no, with a reason.
    Reject,
    /// Picks the option of that number.
    Choose,
    /// Writes an answer, fills in a form, or changes the arguments of a call.
    Edit,
    /// Hides the card until later.
    Snooze,
    /// Claims the card for a while, or releases it.
    Claim,
    /// Delegates the card to another person.
    Delegate,
    /// Marks the card, to answer several at once.
    Mark,
    /// Undoes the last answer, while there is time.
    Undo,
    /// Shows or hides the diff.
    Diff,
    /// Copies the command that does the same.
    Copy,
    /// Looks for cards with a word.
    Filter,
    /// Lists everything there is to do.
    Palette,
    Help,
    /// Ends; only in a terminal.
    Quit,
}

/// An entry of the list of keys.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    pub action: Action,
    /// Its name, for programs.
    pub name: &'static str,
    /// The keys, each of which does it, as browsers call them.
    pub keys: &'static [&'static str],
    /// The keys, as people read them.
    pub shown: &'static str,
    /// The action in words.
    pub says: &'static str,
    /// True if it acts on the card: then it has no effect on a card that was not seen yet.
    pub speaks: bool,
}

/// The heading above the keys that move, in every help.
pub const MOVING: &str = "Looking";

/// The heading above the keys that act on a card.
pub const SPEAKING: &str = "Answering";

const fn looks(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    shown: &'static str,
    says: &'static str,
) -> Binding {
    Binding { action, name, keys, shown, says, speaks: false }
}

const fn speaks(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    shown: &'static str,
    says: &'static str,
) -> Binding {
    Binding { action, name, keys, shown, says, speaks: true }
}

/// Every key. Enter opens a card, and never answers it.
pub const KEYS: &[Binding] = &[
    looks(Action::Down, "down", &["j", "ArrowDown"], "j", "the card below"),
    looks(Action::Up, "up", &["k", "ArrowUp"], "k", "the card above"),
    looks(Action::First, "first", &["g", "Home"], "g", "the first card"),
    looks(Action::Last, "last", &["G", "End"], "G", "the last card"),
    looks(Action::Open, "open", &["Enter", "o"], "Enter", "look at the card"),
    looks(Action::Back, "back", &["Escape"], "Esc", "back"),
    looks(Action::ReadOn, "scroll-down", &["J", "PageDown"], "J", "read on in a long card"),
    looks(Action::ReadBack, "scroll-up", &["K", "PageUp"], "K", "read back in it"),
    looks(Action::NextView, "view", &["v"], "v", "the next list: yours, your groups', all, done"),
    speaks(Action::Approve, "approve", &["a"], "a", "approve"),
    speaks(Action::Reject, "reject", &["r"], "r", "reject, with a reason"),
    speaks(
        Action::Choose,
        "choose",
        &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        "1-9",
        "pick an option",
    ),
    speaks(Action::Edit, "edit", &["e"], "e", "write an answer, or change the arguments"),
    speaks(Action::Snooze, "snooze", &["h"], "h", "put off"),
    speaks(Action::Claim, "claim", &["c"], "c", "take it, or give it back"),
    speaks(Action::Delegate, "delegate", &["@"], "@", "hand it to somebody else"),
    looks(Action::Mark, "mark", &["x"], "x", "mark, to answer several at once"),
    looks(Action::Undo, "undo", &["z"], "z", "take the answer back while there is time"),
    looks(Action::Diff, "diff", &["d"], "d", "show or hide the diff"),
    looks(Action::Copy, "copy", &["y"], "y", "copy the command that does the same"),
    looks(Action::Filter, "filter", &["/"], "/", "find cards with a word"),
    looks(Action::Palette, "palette", &[":", "Ctrl+k"], ":", "everything there is to do"),
    looks(Action::Help, "help", &["?"], "?", "these keys"),
    looks(Action::Quit, "quit", &["q", "Ctrl+c"], "q", "end (in a terminal)"),
];

/// Returns the binding of a key, by the name browsers have for it.
pub fn binding(key: &str) -> Option<&'static Binding> {
    KEYS.iter().find(|binding| binding.keys.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_does_one_thing() {
        let all: Vec<_> = KEYS.iter().flat_map(|binding| binding.keys).collect();
        let each: BTreeSet<_> = all.iter().collect();
        assert_eq!(all.len(), each.len());
        let names: BTreeSet<_> = KEYS.iter().map(|binding| binding.name).collect();
        assert_eq!(names.len(), KEYS.len());
    }

    #[test]
    fn enter_and_the_space_bar_say_nothing() {
        assert!(binding("Enter").is_some_and(|binding| !binding.speaks));
        assert!(binding(" ").is_none());
        assert!(binding("Tab").is_none());
    }
}
