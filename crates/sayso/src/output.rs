//! Output: data on stdout, messages on stderr, colour only on a terminal.

use crate::cli::GlobalArgs;
use crate::exit::{Failure, Result};
use anstyle::{AnsiColor, Style};
use sayso_core::Code;
use sayso_core::text::sanitize;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// The output of a command, with its format and capabilities.
pub(crate) struct CliOutput {
    pub(crate) json: bool,
    pub(crate) ascii: bool,
    colour: bool,
    /// The first write error on standard output.
    lost: OnceLock<(ErrorKind, String)>,
}

/// The role of a piece of text, which decides its style.
#[derive(Clone, Copy)]
pub(crate) enum OutputStyle {
    Strong,
    Faint,
    Good,
    Bad,
    Warn,
    Name,
}

impl OutputStyle {
    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(c.into()));
        match self {
            OutputStyle::Strong => Style::new().bold(),
            OutputStyle::Faint => Style::new().dimmed(),
            OutputStyle::Good => colour(AnsiColor::Green),
            OutputStyle::Bad => colour(AnsiColor::Red),
            OutputStyle::Warn => colour(AnsiColor::Yellow),
            OutputStyle::Name => colour(AnsiColor::Cyan),
        }
    }
}

impl CliOutput {
    pub(crate) fn new(globals: &GlobalArgs) -> Self {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        let colour = !globals.plain && choice != anstream::ColorChoice::Never;
        let ascii = globals.plain || !is_utf8();
        Self { json: globals.json, ascii, colour, lost: OnceLock::new() }
    }

    /// Prints a line for people.
    pub(crate) fn line(&self, text: &str) {
        self.print(&self.shown(text));
    }

    /// Prints a requested text as it is: a script gets every byte of it, a terminal no control sequence.
    pub(crate) fn deliver(&self, text: &str) {
        if std::io::stdout().is_terminal() {
            self.line(&sanitize(text).text)
        } else {
            self.print(text)
        }
    }

    fn print(&self, text: &str) {
        let mut stdout = self.stdout();
        // A write error is kept in `lost`, and reported at the end.
        let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    }

    /// Standard output, for callers that write more than lines. A closed pipe (`| head`) is not an error here.
    pub(crate) fn stdout(&self) -> impl Write + '_ {
        RecordingStdout(self)
    }

    /// Fails if printed output has not reached the reader, a closed pipe included: for callers that continue only if
    /// it has.
    pub(crate) fn check_delivered(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |(_, why)| Err(unheard(why)))
    }

    /// Fails if output could not be written. A closed pipe is fine: the reader may stop reading.
    pub(crate) fn check_written(&self) -> Result<()> {
        match self.lost.get() {
            Some((kind, why)) if *kind != ErrorKind::BrokenPipe => Err(unheard(why)),
            _ => Ok(()),
        }
    }

    /// Prints a value as JSON.
    pub(crate) fn json<T: Serialize>(&self, value: &T) {
        let text = if std::io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.print(&text.unwrap_or_default());
    }

    /// True if animated lines are allowed: for people, on terminals that support them, unless an option forbids it.
    pub(crate) fn can_animate(&self) -> bool {
        self.colour && !self.json && !self.ascii
    }

    /// True if colours are on.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// Prints a message for the person, on stderr.
    pub(crate) fn message(&self, text: &str) {
        let shown = self.shown(text);
        // Colours were chosen for stdout; a log file behind stderr gets none.
        let shown = if std::io::stderr().is_terminal() {
            shown
        } else {
            anstream::adapter::strip_str(&shown).to_string().into()
        };
        let _ = writeln!(std::io::stderr().lock(), "{shown}");
    }

    /// Prints a message that no script needs; left out with `--json`.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json {
            self.message(text);
        }
    }

    pub(crate) fn error(&self, code: &str, message: &str, hint: Option<&str>) {
        let message = sanitize(message).text;
        self.message(&format!(
            "{} {message}",
            self.paint(OutputStyle::Bad, &format!("error[{code}]:"))
        ));
        if let Some(hint) = hint {
            let hint = sanitize(hint).text;
            self.message(&format!("{} {hint}", self.paint(OutputStyle::Strong, "hint:")));
        }
    }

    pub(crate) fn paint(&self, look: OutputStyle, text: &str) -> String {
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

    /// Replaces our own symbols where only ASCII can be shown. Other people's words stay as they wrote them.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.ascii || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let spell = |c: char| match c {
            '…' => "...".into(),
            '⏎' => "\\n".into(),
            // The pictures of control characters, written in caret notation.
            '\u{2400}'..='\u{241f}' => {
                let letter = u8::try_from(u32::from(c) - 0x2400 + 0x40).map_or('?', char::from);
                format!("^{letter}")
            }
            '\u{2421}' => "^?".into(),
            other => other.to_string(),
        };
        Cow::Owned(text.chars().map(spell).collect())
    }

    /// The width at which lines are broken so that they stay behind their margin; none if stdout is no terminal,
    /// since only a terminal would break them anywhere.
    pub(crate) fn wrap_width(&self) -> Option<usize> {
        std::io::stdout().is_terminal().then(|| self.width())
    }

    /// The width of the terminal, or a default.
    pub(crate) fn width(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        // Some terminals do not know, and say 0.
        let columns = size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        columns.unwrap_or(100).clamp(40, 200)
    }
}

/// Standard output that records its first error.
struct RecordingStdout<'a>(&'a CliOutput);

impl RecordingStdout<'_> {
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

impl Write for RecordingStdout<'_> {
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

/// True if the locale can show more than ASCII.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}
