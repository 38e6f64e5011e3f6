//! Maps terminal key events to the key names of the shared key list. There is no second list.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use sayso_server::keys::{KEYS, KeyAction, KeyBinding, binding};

/// A key press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPress {
    /// Its name in the key list.
    pub(super) name: String,
    /// The letter it inserts in a field, if it has one.
    pub(super) letter: Option<char>,
}

impl KeyPress {
    /// Reads a terminal event. Key releases and repeats are ignored.
    pub(super) fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind != KeyEventKind::Press {
            return None;
        }
        let is_plain = !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let name = match event.code {
            KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::ALT) => {
                format!("Alt+{letter}")
            }
            KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                format!("Ctrl+{}", letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) => letter.to_string(),
            KeyCode::Down => "ArrowDown".into(),
            KeyCode::Up => "ArrowUp".into(),
            KeyCode::Left => "ArrowLeft".into(),
            KeyCode::Right => "ArrowRight".into(),
            KeyCode::Home => "Home".into(),
            KeyCode::End => "End".into(),
            KeyCode::PageDown => "PageDown".into(),
            KeyCode::PageUp => "PageUp".into(),
            KeyCode::Enter => "Enter".into(),
            KeyCode::Esc => "Escape".into(),
            KeyCode::Tab => "Tab".into(),
            KeyCode::Backspace => "Backspace".into(),
            KeyCode::Delete => "Delete".into(),
            _ => return None,
        };
        let letter = match event.code {
            KeyCode::Char(letter) if is_plain => Some(letter),
            _ => None,
        };
        Some(Self { name, letter })
    }

    /// The binding of this key, if it has one.
    pub(super) fn binding(&self) -> Option<&'static KeyBinding> {
        binding(&self.name)
    }
}

/// The key of an action, as it is displayed.
pub(super) fn shown(action: KeyAction) -> &'static str {
    KEYS.iter().find(|binding| binding.action == action).map_or("", |binding| binding.shown)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// The key of that name, as the terminal sends it.
    pub(in crate::tui) fn press(name: &str) -> KeyPress {
        let (code, modifiers) = match name {
            "ArrowDown" => (KeyCode::Down, KeyModifiers::NONE),
            "ArrowUp" => (KeyCode::Up, KeyModifiers::NONE),
            "ArrowLeft" => (KeyCode::Left, KeyModifiers::NONE),
            "Home" => (KeyCode::Home, KeyModifiers::NONE),
            "End" => (KeyCode::End, KeyModifiers::NONE),
            "PageDown" => (KeyCode::PageDown, KeyModifiers::NONE),
            "PageUp" => (KeyCode::PageUp, KeyModifiers::NONE),
            "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
            "Escape" => (KeyCode::Esc, KeyModifiers::NONE),
            "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
            "Backspace" => (KeyCode::Backspace, KeyModifiers::NONE),
            "Delete" => (KeyCode::Delete, KeyModifiers::NONE),
            other => match other.strip_prefix("Ctrl+") {
                Some(letter) => (letter_code(letter), KeyModifiers::CONTROL),
                None => (letter_code(other), KeyModifiers::NONE),
            },
        };
        KeyPress::of(&KeyEvent::new(code, modifiers)).unwrap()
    }

    fn letter_code(name: &str) -> KeyCode {
        let mut letters = name.chars();
        let letter = letters.next().unwrap();
        assert!(letters.next().is_none(), "{name}");
        KeyCode::Char(letter)
    }

    #[test]
    fn every_key_of_the_list_can_be_pressed_in_a_terminal() {
        let mut count = 0;
        for binding in KEYS {
            for key in binding.keys {
                assert_eq!(press(key).binding().map(|found| found.action), Some(binding.action));
                count += 1;
            }
        }
        assert!(count > 30, "{count}");
    }

    #[test]
    fn what_is_no_key_of_ours_does_nothing() {
        for key in ["Tab", " ", "Backspace", "Ctrl+a", "A", "Ctrl+d", "0"] {
            assert!(press(key).binding().is_none(), "{key}");
        }
        let alt = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::ALT);
        assert!(KeyPress::of(&alt).unwrap().binding().is_none());
        let up =
            KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(KeyPress::of(&up), None);
        let held =
            KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, KeyEventKind::Repeat);
        assert_eq!(KeyPress::of(&held), None);
    }
}
