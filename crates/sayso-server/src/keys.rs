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
pub enum KeyAction {
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
pub struct KeyBinding {
    pub action: KeyAction,
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

const fn navigation_key(
    action: KeyAction,
    name: &'static str,
    keys: &'static [&'static str],
    shown: &'static str,
    says: &'static str,
) -> KeyBinding {
    KeyBinding { action, name, keys, shown, says, speaks: false }
}

const fn answer_key(
    action: KeyAction,
    name: &'static str,
    keys: &'static [&'static str],
    shown: &'static str,
    says: &'static str,
) -> KeyBinding {
    KeyBinding { action, name, keys, shown, says, speaks: true }
}

/// Every key. Enter opens a card, and never answers it.
pub const KEYS: &[KeyBinding] = &[
    navigation_key(KeyAction::Down, "down", &["j", "ArrowDown"], "j", "the card below"),
    navigation_key(KeyAction::Up, "up", &["k", "ArrowUp"], "k", "the card above"),
    navigation_key(KeyAction::First, "first", &["g", "Home"], "g", "the first card"),
    navigation_key(KeyAction::Last, "last", &["G", "End"], "G", "the last card"),
    navigation_key(KeyAction::Open, "open", &["Enter", "o"], "Enter", "look at the card"),
    navigation_key(KeyAction::Back, "back", &["Escape"], "Esc", "back"),
    navigation_key(
        KeyAction::ReadOn,
        "scroll-down",
        &["J", "PageDown"],
        "J",
        "read on in a long card",
    ),
    navigation_key(KeyAction::ReadBack, "scroll-up", &["K", "PageUp"], "K", "read back in it"),
    navigation_key(
        KeyAction::NextView,
        "view",
        &["v"],
        "v",
        "the next list: yours, your groups', all, done",
    ),
    answer_key(KeyAction::Approve, "approve", &["a"], "a", "approve"),
    answer_key(KeyAction::Reject, "reject", &["r"], "r", "reject, with a reason"),
    answer_key(
        KeyAction::Choose,
        "choose",
        &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        "1-9",
        "pick an option",
    ),
    answer_key(KeyAction::Edit, "edit", &["e"], "e", "write an answer, or change the arguments"),
    answer_key(KeyAction::Snooze, "snooze", &["h"], "h", "put off"),
    answer_key(KeyAction::Claim, "claim", &["c"], "c", "take it, or give it back"),
    answer_key(KeyAction::Delegate, "delegate", &["@"], "@", "hand it to somebody else"),
    navigation_key(KeyAction::Mark, "mark", &["x"], "x", "mark, to answer several at once"),
    navigation_key(
        KeyAction::Undo,
        "undo",
        &["z"],
        "z",
        "take the answer back while there is time",
    ),
    navigation_key(KeyAction::Diff, "diff", &["d"], "d", "show or hide the diff"),
    navigation_key(KeyAction::Copy, "copy", &["y"], "y", "copy the command that does the same"),
    navigation_key(KeyAction::Filter, "filter", &["/"], "/", "find cards with a word"),
    navigation_key(
        KeyAction::Palette,
        "palette",
        &[":", "Ctrl+k"],
        ":",
        "everything there is to do",
    ),
    navigation_key(KeyAction::Help, "help", &["?"], "?", "these keys"),
    navigation_key(KeyAction::Quit, "quit", &["q", "Ctrl+c"], "q", "end (in a terminal)"),
];

/// Returns the binding of a key, by the name browsers have for it.
pub fn binding(key: &str) -> Option<&'static KeyBinding> {
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
