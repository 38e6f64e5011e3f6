//! Detects if a person sits at a terminal, for proof of identity without a passphrase.
//!
//! Every program can create a terminal, so a terminal alone is no sign of a person. The program at its other end must
//! be one that people sit at: a terminal emulator, a login, or a multiplexer that is shown in such a terminal; and
//! the terminal must be older than the command. Everything else is a doubt, and a person in doubt shows a passphrase
//! or a passkey.

use std::fmt;
use std::time::Duration;

/// The minimum age of a session: a younger one was opened for the command, not by a person who then typed it.
pub const MOMENT: Duration = Duration::from_secs(2);

/// The length to which the kernel cuts the name of a program.
const NAME_BYTES_MAX: usize = 15;

/// A terminal, as seen from a process in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalInfo {
    /// The other end of it.
    pub end: TerminalEnd,
    /// The age of the session in it.
    pub age: Duration,
}

/// The other end of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEnd {
    /// A device: a virtual console or a serial line.
    Device,
    /// A program that created it.
    Program {
        /// The name of the process.
        name: String,
        /// The command line of the process.
        command: String,
        /// The terminals in which it is displayed: its own, or those of its attached clients.
        shown_in: Vec<TerminalInfo>,
    },
    /// The other end cannot be determined.
    Unseen,
}

/// The kind of program that creates terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalProgram {
    /// People sit at it: a terminal emulator, or a remote login.
    Seat,
    /// It displays its terminals in the terminals of its clients.
    Multiplexer,
    /// It displays its terminal in its own terminal, as another user.
    Privilege,
    /// Any other kind of program.
    Other,
}

/// The reason for doubt that a person sits at a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresenceDoubt {
    /// Processes cannot be inspected, so that an agent would go unnoticed.
    Blind(String),
    /// The process belongs to no terminal, or to another one.
    NotOwn,
    /// The terminal was opened a moment ago.
    Young,
    /// The other end of the terminal cannot be determined.
    Unseen,
    /// The other end is a program at which people do not usually sit.
    Program(String),
    /// The multiplexer has no client at a person's terminal, or does not tell.
    Detached(String),
    /// Another program reads what is typed at the terminal.
    Taken,
}

impl fmt::Display for PresenceDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresenceDoubt::Blind(why) => write!(f, "processes cannot be seen ({why})"),
            PresenceDoubt::NotOwn => {
                f.write_str("this process belongs to another terminal, or to none")
            }
            PresenceDoubt::Young => f.write_str("this terminal was opened a moment ago"),
            PresenceDoubt::Unseen => f.write_str("the other end of this terminal cannot be seen"),
            PresenceDoubt::Program(name) => {
                write!(f, "this terminal was made by {name}, not by a terminal emulator or a login")
            }
            PresenceDoubt::Detached(name) => {
                write!(f, "no person's terminal is known to be attached to this {name}")
            }
            PresenceDoubt::Taken => {
                f.write_str("another program reads what is typed at this terminal")
            }
        }
    }
}

/// Terminal emulators and logins by name, and words of their command line where the name alone is
/// that of many programs. Editors and terminals whose own agents type into the same terminals are left out.
const SEATS: &[(&str, &str)] = &[
    ("Eterm", ""),
    ("alacritty", ""),
    ("blackbox", ""),
    ("code", ""),
    ("code-insiders", ""),
    ("code-oss", ""),
    ("codium", ""),
    ("contour", ""),
    ("cool-retro-term", ""),
    ("deepin-terminal", ""),
    ("dolphin", ""),
    ("dropbear", ""),
    ("foot", ""),
    ("footclient", ""),
    ("ghostty", ""),
    ("gnome-console", ""),
    ("gnome-terminal-server", ""),
    ("guake", ""),
    ("hyper", ""),
    ("kate", ""),
    ("kgx", ""),
    ("kitty", ""),
    ("konsole", ""),
    ("login", ""),
    ("lxterminal", ""),
    ("mate-terminal", ""),
    ("mlterm", ""),
    ("mosh-server", ""),
    ("pantheon-terminal", ""),
    ("ptyxis-agent", ""),
    ("qterminal", ""),
    ("rio", ""),
    ("roxterm", ""),
    ("rxvt", ""),
    ("sakura", ""),
    ("sshd", ""),
    ("sshd-session", ""),
    ("st", ""),
    ("tabby", ""),
    ("terminator", ""),
    ("terminology", ""),
    ("termite", ""),
    ("tilda", ""),
    ("tilix", ""),
    ("urxvt", ""),
    ("urxvtd", ""),
    ("wezterm-gui", ""),
    ("xfce4-terminal", ""),
    ("xterm", ""),
    ("yakuake", ""),
    // VS Code on another machine. Other editors have the same host, and agents that type into it.
    ("node", "code-server --type=ptyHost"),
    ("MainThread", "code-server --type=ptyHost"),
    // IDEs of JetBrains.
    ("clion", ""),
    ("datagrip", ""),
    ("goland", ""),
    ("idea", ""),
    ("phpstorm", ""),
    ("pycharm", ""),
    ("rider", ""),
    ("rubymine", ""),
    ("rustrover", ""),
    ("studio", ""),
    ("webstorm", ""),
    ("java", "-Didea."),
];

const MULTIPLEXERS: &[&str] = &["tmux: server", "screen", "zellij", "wezterm-mux-server"];

const PRIVILEGES: &[&str] = &["sudo", "su", "doas"];

impl TerminalProgram {
    /// Returns the kind of a program, by its process name and command line.
    pub fn of(name: &str, command: &str) -> Self {
        let is_name = |known: &str| name == cut(known);
        let is_seat = |(known, word): &(&str, &str)| {
            is_name(known) && word.split(' ').all(|word| command.contains(word))
        };
        if SEATS.iter().any(is_seat) {
            return TerminalProgram::Seat;
        }
        if MULTIPLEXERS.iter().any(|known| is_name(known)) {
            return TerminalProgram::Multiplexer;
        }
        if PRIVILEGES.contains(&name) { TerminalProgram::Privilege } else { TerminalProgram::Other }
    }
}

/// Returns a name as the kernel cuts it.
fn cut(name: &str) -> &str {
    name.get(..NAME_BYTES_MAX).unwrap_or(name)
}

impl TerminalInfo {
    /// Checks that a person sits at it; the error is the reason for doubt.
    pub fn judge(&self) -> Result<(), PresenceDoubt> {
        let TerminalEnd::Program { name, command, shown_in } = &self.end else {
            return match self.end {
                TerminalEnd::Unseen => Err(PresenceDoubt::Unseen),
                TerminalEnd::Device | TerminalEnd::Program { .. } => self.judge_age(),
            };
        };
        match TerminalProgram::of(name, command) {
            TerminalProgram::Seat => self.judge_age(),
            TerminalProgram::Multiplexer | TerminalProgram::Privilege => {
                let is_shown = shown_in.iter().any(|terminal| terminal.judge().is_ok());
                if is_shown {
                    self.judge_age()
                } else {
                    Err(PresenceDoubt::Detached(plain(name).into()))
                }
            }
            TerminalProgram::Other => Err(PresenceDoubt::Program(name.clone())),
        }
    }

    fn judge_age(&self) -> Result<(), PresenceDoubt> {
        if self.age < MOMENT { Err(PresenceDoubt::Young) } else { Ok(()) }
    }
}

/// Returns the name of a program without the suffix for its role (`tmux: server`).
fn plain(name: &str) -> &str {
    name.split_once(':').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Duration = Duration::from_secs(60);

    fn made_by(name: &str, command: &str, shown_in: &[TerminalInfo]) -> TerminalInfo {
        let (name, command) = (name.to_owned(), command.to_owned());
        let end = TerminalEnd::Program { name, command, shown_in: shown_in.to_vec() };
        TerminalInfo { end, age: OLD }
    }

    fn of(name: &str) -> TerminalInfo {
        made_by(name, name, &[])
    }

    #[test]
    fn people_sit_at_the_terminals_they_use() {
        let (ssh, kitty) = (of("sshd-session"), of("kitty"));
        for terminal in [
            TerminalInfo { end: TerminalEnd::Device, age: OLD },
            of("sshd"),
            of("login"),
            // The name of GNOME Terminal is longer than the kernel's limit.
            of("gnome-terminal-"),
            of("konsole"),
            of("alacritty"),
            of("code"),
            of("rustrover"),
            made_by("java", "/opt/idea/jbr/bin/java -Didea.vendor.name=JetBrains", &[]),
            made_by("node", "/home/ann/.vscode-server/node bootstrap-fork --type=ptyHost", &[]),
            made_by("MainThread", "/usr/lib/code-server/lib/node --type=ptyHost", &[]),
            made_by("tmux: server", "tmux", &[of("script"), ssh.clone()]),
            made_by("screen", "SCREEN", std::slice::from_ref(&kitty)),
            made_by("sudo", "sudo -i", std::slice::from_ref(&kitty)),
            made_by("sudo", "sudo -i", &[made_by("tmux: server", "tmux", &[ssh])]),
            kitty,
        ] {
            assert_eq!(terminal.judge(), Ok(()), "{terminal:?}");
        }
    }

    #[test]
    fn a_terminal_alone_is_no_person() {
        let made = |name: &str| Err(PresenceDoubt::Program(name.into()));
        let detached = |name: &str| Err(PresenceDoubt::Detached(name.into()));
        let young = Duration::from_millis(1_999);
        for (terminal, expected) in [
            (of("script"), made("script")),
            (of("expect"), made("expect")),
            (of("python3"), made("python3")),
            // An agent that creates terminals itself, and the parent of its terminal after it has ended.
            (of("node"), made("node")),
            (made_by("node", "node copilot", &[of("kitty")]), made("node")),
            (made_by("java", "java -jar agent.jar", &[]), made("java")),
            (of("systemd"), made("systemd")),
            // Programs whose own agents type into the terminals they make.
            (of("warp"), made("warp")),
            (of("warp-terminal"), made("warp-terminal")),
            (
                made_by(
                    "node",
                    "/home/ann/.cursor-server/bin/x/node bootstrap-fork --type=ptyHost",
                    &[],
                ),
                made("node"),
            ),
            (
                made_by("MainThread", "/home/ann/.windsurf-server/node --type=ptyHost", &[]),
                made("MainThread"),
            ),
            (of("tmux: server"), detached("tmux")),
            (made_by("tmux: server", "tmux", &[of("script")]), detached("tmux")),
            (made_by("sudo", "sudo -n sh", &[]), detached("sudo")),
            (made_by("sudo", "sudo -n sh", &[of("node")]), detached("sudo")),
            (TerminalInfo { end: TerminalEnd::Unseen, age: OLD }, Err(PresenceDoubt::Unseen)),
            (TerminalInfo { age: young, ..of("kitty") }, Err(PresenceDoubt::Young)),
            (TerminalInfo { end: TerminalEnd::Device, age: young }, Err(PresenceDoubt::Young)),
            (
                made_by("tmux: server", "tmux", &[TerminalInfo { age: young, ..of("sshd") }]),
                detached("tmux"),
            ),
        ] {
            assert_eq!(terminal.judge(), expected, "{terminal:?}");
        }
    }
}
