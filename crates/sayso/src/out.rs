//! Output: data on stdout, talk on stderr, colour only where a person looks.

use crate::cli::Globals;
use crate::exit::{Failure, Result};
use anstyle::{AnsiColor, Style};
use sayso_core::Code;
use sayso_core::text::harmless;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// Where and how to print.
pub(crate) struct Out {
    pub(crate) json: bool,
    pub(crate) ascii: bool,
    colour: bool,
    /// Why something that was to be printed was not, the first time.
    lost: OnceLock<(ErrorKind, String)>,
}

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    Strong,
    Faint,
    Good,
    Bad,
    Warn,
    Name,
}

impl Look {
    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(c.into()));
        match self {
            Look::Strong => Style::new().bold(),
            Look::Faint => Style::new().dimmed(),
            Look::Good => colour(AnsiColor::Green),
            Look::Bad => colour(AnsiColor::Red),
            Look::Warn => colour(AnsiColor::Yellow),
            Look::Name => colour(AnsiColor::Cyan),
        }
    }
}

impl Out {
    pub(crate) fn new(globals: &Globals) -> Self {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        let colour = !globals.plain && choice != anstream::ColorChoice::Never;
        let ascii = globals.plain || !is_utf8();
        Self { json: globals.json, ascii, colour, lost: OnceLock::new() }
    }

    /// A line for people.
    pub(crate) fn line(&self, text: &str) {
        self.print(&self.shown(text));
    }

    /// A text that was asked for, as it is: a script gets every byte of it, a terminal none that acts.
    pub(crate) fn deliver(&self, text: &str) {
        match std::io::stdout().is_terminal() {
            true => self.line(&harmless(text).text),
            false => self.print(text),
        }
    }

    fn print(&self, text: &str) {
        let mut stdout = self.stdout();
        // What is lost is kept in mind, and told at the end.
        let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    }

    /// Standard output, for whoever writes more than lines. A reader that went away (`| head`) ends nothing.
    pub(crate) fn stdout(&self) -> impl Write + '_ {
        Stdout(self)
    }

    /// Refuses when something that was to be printed has not reached whoever reads it: for those who
    /// go on only if it has.
    pub(crate) fn check_is_heard(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |(_, why)| Err(unheard(why)))
    }

    /// The same for everybody else: to read no further is the reader's right.
    pub(crate) fn check_is_written(&self) -> Result<()> {
        match self.lost.get() {
            Some((kind, why)) if *kind != ErrorKind::BrokenPipe => Err(unheard(why)),
            _ => Ok(()),
        }
    }

    /// A value as JSON.
    pub(crate) fn json<T: Serialize>(&self, value: &T) {
        let text = if std::io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.print(&text.unwrap_or_default());
    }

    /// Whether lines may move: for people, on terminals that can, unless they said otherwise.
    pub(crate) fn is_lively(&self) -> bool {
        self.colour && !self.json && !self.ascii
    }

    /// Whether there are colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// Something for the person, not for the pipe.
    pub(crate) fn talk(&self, text: &str) {
        let shown = self.shown(text);
        // Colours were chosen for stdout; a log file behind stderr wants none.
        let shown = match std::io::stderr().is_terminal() {
            true => shown,
            false => anstream::adapter::strip_str(&shown).to_string().into(),
        };
        let _ = writeln!(std::io::stderr().lock(), "{shown}");
    }

    /// Something for the person that no script needs; left out with `--json`.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json {
            self.talk(text);
        }
    }

    pub(crate) fn error(&self, code: &str, message: &str, hint: Option<&str>) {
        let message = harmless(message).text;
        self.talk(&format!("{} {message}", self.paint(Look::Bad, &format!("error[{code}]:"))));
        if let Some(hint) = hint {
            let hint = harmless(hint).text;
            self.talk(&format!("{} {hint}", self.paint(Look::Strong, "hint:")));
        }
    }

    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let style = look.style();
        format!("{style}{text}{style:#}")
    }

    /// A symbol, or its stand-in where symbols cannot be shown.
    pub(crate) fn icon(&self, symbol: &'static str, plain: &'static str) -> &'static str {
        if self.ascii { plain } else { symbol }
    }

    /// The symbol of a task's state.
    pub(crate) fn state_icon(&self, state: &str) -> &'static str {
        match state {
            "open" => self.icon("○", "[ ]"),
            "in_progress" => self.icon("◐", "[~]"),
            "closed" => self.icon("✓", "[x]"),
            "deferred" => self.icon("◷", "[z]"),
            "failed" => self.icon("✗", "[!]"),
            "blocked" => self.icon("⊘", "[b]"),
            "awaiting_input" => self.icon("❓", "[?]"),
            _ => self.icon("·", "[-]"),
        }
    }

    /// What can be shown here: without symbols where there are none. Other people's words stay as
    /// they wrote them.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.ascii || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let spell = |c: char| match c {
            '…' => "...".into(),
            '⏎' => "\\n".into(),
            // The pictures of control characters, in the way terminals write them.
            '\u{2400}'..='\u{241f}' => {
                let letter = u8::try_from(u32::from(c) - 0x2400 + 0x40).map_or('?', char::from);
                format!("^{letter}")
            }
            '\u{2421}' => "^?".into(),
            other => other.to_string(),
        };
        Cow::Owned(text.chars().map(spell).collect())
    }

    /// Where lines are broken by us, so that they stay behind their margin: only on a terminal, which
    /// would break them anywhere.
    pub(crate) fn breaks_at(&self) -> Option<usize> {
        std::io::stdout().is_terminal().then(|| self.width())
    }

    /// How wide the terminal is, or a usual width where there is none.
    pub(crate) fn width(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        // Some terminals do not know, and say 0.
        let columns = size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        columns.unwrap_or(100).clamp(40, 200)
    }
}

/// Standard output that keeps in mind what it lost.
struct Stdout<'a>(&'a Out);

impl Stdout<'_> {
    fn kept<T>(&self, outcome: io::Result<T>, instead: T) -> io::Result<T> {
        let Err(error) = outcome else { return outcome };
        if error.kind() == ErrorKind::Interrupted {
            return Err(error);
        }
        let lost = (error.kind(), error.to_string());
        self.0.lost.get_or_init(|| lost);
        match error.kind() {
            ErrorKind::BrokenPipe => Ok(instead),
            _ => Err(error),
        }
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept(io::stdout().write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.kept(io::stdout().flush(), ())
    }
}

fn unheard(why: &str) -> Failure {
    Failure::new(Code::Failure, format!("the output could not be written: {why}"))
        .hint("what was done is done; make room, or send the output elsewhere, and ask again")
}

/// Whether the locale can show more than ASCII.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}
