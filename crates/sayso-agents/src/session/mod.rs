//! Sessions of long-running agents: start, lookup, nudge and stop, with all their descendants.
//!
//! Unlike a turn, such an agent outlives the process that started it: it has a session of its own, and its output
//! goes to a log of bounded size. It is identified by its mark. Starting a mark twice, at the same time or after a
//! crash, leads to one agent and not two.

mod detached;
mod lock;
mod log_writer;
mod nudge;
mod process_identity;
mod prompt;
mod tmux;

pub use log_writer::tail;
pub use nudge::{LINE_CHARS_MAX, NudgeOutcome};
pub use process_identity::ProcessIdentity;
pub use prompt::PromptKind;

use crate::log::TurnLog;
use crate::process_tree::{self, ProcessTree};
use lock::SessionLock;
use sayso_core::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};
use tmux::TmuxServer;

/// The grace period of processes that an agent left running.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// The polling interval for an agent to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The extension of the lock file for starting, stopping and typing.
const START: &str = "start";

/// The search path for programs when none is given.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The backend that an agent runs in.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SessionBackend {
    /// A process without a terminal.
    #[default]
    Process,
    /// A tmux session, which people can look at and type into.
    Tmux,
}

impl SessionBackend {
    pub const ALL: [SessionBackend; 2] = [SessionBackend::Process, SessionBackend::Tmux];

    /// Returns its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            SessionBackend::Process => "process",
            SessionBackend::Tmux => "tmux",
        }
    }
}

impl fmt::Display for SessionBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for an unknown backend name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend {0:?}: use process or tmux")]
pub struct UnknownBackend(pub String);

impl FromStr for SessionBackend {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|backend| backend.as_str() == text);
        known.ok_or_else(|| UnknownBackend(text.to_owned()))
    }
}

/// A long-running agent to be started.
#[derive(Debug, Clone, Copy)]
pub struct SessionSpec<'a> {
    pub name: &'a str,
    /// The program, by name or path.
    pub program: &'a str,
    pub args: &'a [String],
    /// The working directory.
    pub folder: &'a Path,
    /// The whole environment of the process; no variable of ours is inherited. [`allowed`](crate::allowed) decides
    /// which of our variables may be among them.
    pub variables: &'a [(String, String)],
    /// The value of `SAYSO_RUN` in its environment. It identifies this start of this agent: a restart gets another
    /// one.
    pub mark: &'a str,
    /// The file of its log, see [`tail`].
    pub log: &'a Path,
}

/// The location of a running agent, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "backend", rename_all = "kebab-case")]
pub enum SessionLocation {
    Process(ProcessIdentity),
    /// A tmux session.
    Tmux {
        /// The name of the session.
        session: String,
        /// The socket of its server. Each agent has a server of its own, so that each has an environment of its own,
        /// and no credential is an argument that other users could see.
        socket: PathBuf,
    },
}

impl SessionLocation {
    /// Returns the command that attaches a person's terminal; a process has only its log.
    pub fn attach(&self) -> Option<Vec<String>> {
        match self {
            SessionLocation::Process(_) => None,
            SessionLocation::Tmux { socket, .. } => {
                let socket = socket.display().to_string();
                Some(["tmux", "-S", &socket, "attach"].map(Into::into).into())
            }
        }
    }
}

/// The long-running agents of one folder, in which sayso keeps the records to find them again.
#[derive(Debug, Clone)]
pub struct AgentSessions {
    home: PathBuf,
    /// The search path for our own helpers: the shell and tmux.
    path: String,
}

impl AgentSessions {
    /// Manages the agents of the folder `home`, which is created when needed. `path` is the user's `PATH`.
    pub fn new(home: &Path, path: &str) -> Self {
        Self { home: absolute(home), path: path.to_owned() }
    }

    /// Starts an agent, or returns the one that was started with this mark.
    pub fn spawn(
        &self,
        backend: SessionBackend,
        station: &SessionSpec<'_>,
    ) -> Result<SessionLocation, SessionError> {
        let station = &SessionSpec { folder: &absolute(station.folder), ..*station };
        let station = &SessionSpec { log: &absolute(station.log), ..*station };
        if !station.folder.is_dir() {
            return Err(SessionError::NoFolder { folder: shown(station.folder) });
        }
        let program = program_of(station)?;
        // This creates the file, readable by this user only.
        TurnLog::open(station.log)
            .map_err(|source| SessionError::Log { path: shown(station.log), source })?;
        let hold = self.hold(station.mark)?;
        let session = tmux::session_name(station.name);
        if let Some(place) = self.running(station.mark, &session, &hold)? {
            return Ok(place);
        }
        // Leftovers of an earlier agent would be taken for this one.
        process_tree::end_marked(station.mark, LEFTOVER_GRACE);
        match backend {
            SessionBackend::Process => {
                detached::start(station, &program, &self.path, hold).map(SessionLocation::Process)
            }
            SessionBackend::Tmux => {
                let tmux = self.tmux(self.socket(station.mark))?;
                // A server that is about to end would take the new agent as one more session.
                tmux.end()?;
                tmux.start(&session, station, &program, &hold)?;
                Ok(SessionLocation::Tmux { session, socket: tmux.socket })
            }
        }
    }

    fn running(
        &self,
        mark: &str,
        session: &str,
        hold: &SessionLock,
    ) -> Result<Option<SessionLocation>, SessionError> {
        if let Some(leader) = hold.leader().filter(ProcessIdentity::is_alive) {
            return Ok(Some(SessionLocation::Process(leader)));
        }
        let socket = self.socket(mark);
        let is_there = socket.exists() && self.tmux(socket.clone())?.is_there()?;
        Ok(is_there.then(|| SessionLocation::Tmux { session: session.to_owned(), socket }))
    }

    /// True if the agent itself runs; processes that it left running do not count.
    pub fn is_alive(&self, place: &SessionLocation) -> Result<bool, SessionError> {
        match place {
            SessionLocation::Process(leader) => Ok(leader.is_alive()),
            SessionLocation::Tmux { socket, .. } => self.tmux(socket.clone())?.is_there(),
        }
    }

    /// Stops the agent of a mark with everything it started: with SIGTERM, and after `grace` with SIGKILL. It also
    /// cleans up after an agent that ended by itself, and is no error if there is none.
    pub fn stop(&self, mark: &str, grace: Duration) -> Result<(), SessionError> {
        let hold = self.hold(mark)?;
        let socket = self.socket(mark);
        let tmux = if socket.exists() { Some(self.tmux(socket)?) } else { None };
        // If tmux does not respond, the agent is still found by its mark.
        let leader = tmux.as_ref().and_then(|tmux| tmux.leader().unwrap_or_default());
        if let Some(leader) = leader.or_else(|| hold.leader()) {
            end(&leader, mark, grace);
        }
        process_tree::end_marked(mark, LEFTOVER_GRACE);
        if let Some(tmux) = tmux {
            tmux.end()?;
        }
        let left = process_tree::marked(mark);
        if !left.is_empty() {
            return Err(SessionError::StillThere { processes: left });
        }
        hold.forget().map_err(|source| self.home_error(source))
    }

    /// Types one line into the session of an agent and presses Enter, if its screen shows an empty prompt of this
    /// kind, no turn runs, and no person is at the keyboard. `holds_back` is called before the line is typed and
    /// again before Enter, and returns a reason not to. It is for a nudge in our own words, such as "there is an
    /// answer"; the answer of a person is never typed.
    pub fn nudge(
        &self,
        place: &SessionLocation,
        kind: &PromptKind,
        text: &str,
        holds_back: &mut dyn FnMut() -> Option<String>,
    ) -> Result<NudgeOutcome, SessionError> {
        let tmux = self.screen(place)?;
        // The lock serialises typing and stopping: two processes that find the line there would press Enter twice.
        let turn = SessionLock::take(&tmux.socket.with_extension(START));
        let _turn = turn.map_err(|source| self.home_error(source))?;
        nudge::nudge(&tmux, kind, text, holds_back)
    }

    /// Returns the screen of an agent. Untrusted text: sanitise it before it is shown.
    pub fn capture(&self, place: &SessionLocation) -> Result<String, SessionError> {
        self.screen(place)?.capture()
    }

    fn screen(&self, place: &SessionLocation) -> Result<TmuxServer, SessionError> {
        match place {
            SessionLocation::Process(_) => Err(SessionError::NoScreen),
            SessionLocation::Tmux { socket, .. } => self.tmux(socket.clone()),
        }
    }

    fn hold(&self, mark: &str) -> Result<SessionLock, SessionError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.home)
            .and_then(|()| SessionLock::take(&self.home.join(key(mark)).with_extension(START)))
            .map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock => SessionError::Busy { mark: mark.to_owned() },
                _ => self.home_error(source),
            })
    }

    fn home_error(&self, source: io::Error) -> SessionError {
        SessionError::Home { path: shown(&self.home), source }
    }

    fn socket(&self, mark: &str) -> PathBuf {
        self.home.join(key(mark) + ".tmux")
    }

    fn tmux(&self, socket: PathBuf) -> Result<TmuxServer, SessionError> {
        TmuxServer::new(&self.path, socket)
    }
}

/// Returns the file name of a mark. It is short because the path of a socket has to be.
fn key(mark: &str) -> String {
    Digest::of_bytes(mark.as_bytes()).short().to_owned()
}

/// Stops a process and its group; and its descendants, if it has to be killed.
fn end(leader: &ProcessIdentity, mark: &str, grace: Duration) {
    let tree = ProcessTree { leader: leader.pid, mark: mark.to_owned() };
    if leader.is_alive() {
        tree.ask_to_end();
    }
    let asked = Instant::now();
    while leader.is_alive() && asked.elapsed() < grace {
        std::thread::sleep(LOOK_EVERY);
    }
    if leader.is_alive() {
        tree.end(Duration::ZERO);
    }
}

/// Returns the path of the program, looked up as the agent itself would.
fn program_of(station: &SessionSpec<'_>) -> Result<PathBuf, SessionError> {
    let path = station.variables.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(PATH, |(_, path)| path.as_str());
    let found = find(station.program, path, station.folder);
    let program =
        found.ok_or_else(|| SessionError::NotInstalled { program: station.program.to_owned() })?;
    if can_run(&program) {
        Ok(program)
    } else {
        Err(SessionError::NotExecutable { program: shown(&program) })
    }
}

/// Returns the first executable file of this name, or else the first file.
fn find(program: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program)).filter(|file| file.is_file());
    }
    let files = std::env::split_paths(path).map(|entry| folder.join(entry).join(program));
    let files: Vec<PathBuf> = files.filter(|file| !program.is_empty() && file.is_file()).collect();
    files.iter().find(|file| can_run(file)).or(files.first()).cloned()
}

fn can_run(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Returns an absolute path, because helpers run in other working directories.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// An error of starting, reaching or stopping a long-running agent.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The program was not found.
    #[error(
        "{program} is not installed or not on the PATH: install it, or name it in the settings of this agent"
    )]
    NotInstalled {
        /// The program as it was looked up.
        program: String,
    },
    /// The program is a file that is not executable.
    #[error("{program} cannot be run: make it executable with chmod +x {program}")]
    NotExecutable { program: String },
    /// The working directory does not exist.
    #[error("the folder {folder} is not there: the agent has nowhere to work")]
    NoFolder { folder: String },
    /// tmux is not installed.
    #[error(
        "tmux is not installed: install it with apt-get install tmux, dnf install tmux or brew install tmux, or use the backend process"
    )]
    NoTmux,
    /// The path of a socket is longer than the system allows.
    #[error(
        "the path of the socket {path} is too long for the system: keep sayso's files in a folder with a shorter path, or use the backend process"
    )]
    LongSocket { path: String },
    /// The log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log { path: String, source: io::Error },
    /// The folder for the records cannot be used.
    #[error("cannot keep agents in {path}: {source}")]
    Home { path: String, source: io::Error },
    /// Another process holds the lock.
    #[error("the agent of {mark} is being started or stopped by another process: try again")]
    Busy { mark: String },
    /// The system refused to start a program.
    #[error("cannot start {program}: {source}")]
    Refused { program: String, source: io::Error },
    /// A tmux command failed.
    #[error("tmux failed: {said}")]
    Tmux { said: String },
    /// The line is too long to be typed.
    #[error("a line of {chars} characters is not typed: the most is {LINE_CHARS_MAX}")]
    LongLine { chars: usize },
    /// A plain process has no screen and no keyboard.
    #[error("this agent runs without a screen: read its log, or run it in tmux")]
    NoScreen,
    /// Some processes did not end after SIGKILL.
    #[error("processes {processes:?} do not end: try again, or look what they wait for")]
    StillThere { processes: Vec<u32> },
}
