//! Where long-lived agents run: started once, found again, ended with all they started.
//!
//! Unlike a turn, a station outlives whoever started it: it has a session of its own, and what it
//! writes goes to a log that stays bounded. It is known by its mark. Whoever starts a mark twice,
//! at the same time or after a crash, has one agent and not two.

mod detached;
mod hold;
mod keeper;
mod leader;
mod prompt;
mod tmux;
mod typing;

pub use keeper::tail;
pub use leader::Leader;
pub use prompt::PromptKind;
pub use typing::{LINE_CHARS_MAX, NudgeOutcome};

use crate::log::Log;
use crate::process::{self, Tree};
use hold::Hold;
use sayso_core::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};
use tmux::Tmux;

/// How long what an agent left running gets to end by itself.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// How often we look whether an agent has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How the file ends that whoever starts, stops or types holds.
const START: &str = "start";

/// Where programs are looked for when nobody says.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What an agent can run in.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// A process without a terminal.
    #[default]
    Process,
    /// A tmux session, which people can look at and type into.
    Tmux,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Backend; 2] = [Backend::Process, Backend::Tmux];

    /// Its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Backend::Process => "process",
            Backend::Tmux => "tmux",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no such backend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend {0:?}: use process or tmux")]
pub struct UnknownBackend(pub String);

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|backend| backend.as_str() == text);
        known.ok_or_else(|| UnknownBackend(text.to_owned()))
    }
}

/// A long-lived agent to be started.
#[derive(Debug, Clone, Copy)]
pub struct Station<'a> {
    /// What people call it.
    pub name: &'a str,
    /// The program, by name or path.
    pub program: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Where it works.
    pub folder: &'a Path,
    /// The whole environment of the process; nothing of ours is passed on. Which of our variables
    /// may be among them, [`allowed`](crate::allowed) says.
    pub variables: &'a [(String, String)],
    /// Put in its environment as `SAYSO_RUN`. It stands for this start of this agent: whoever starts
    /// the agent anew gives it another.
    pub mark: &'a str,
    /// Where what it writes is kept, see [`tail`].
    pub log: &'a Path,
}

/// Where an agent runs, to be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "backend", rename_all = "kebab-case")]
pub enum Where {
    /// In a process.
    Process(Leader),
    /// In a tmux session.
    Tmux {
        /// The session's name.
        session: String,
        /// The socket of its server. Each agent has a server of its own, so that each has an
        /// environment of its own, and no credential is ever an argument somebody could see.
        socket: PathBuf,
    },
}

impl Where {
    /// What a person types to look at it; a process has nothing to look at but its log.
    pub fn attach(&self) -> Option<Vec<String>> {
        match self {
            Where::Process(_) => None,
            Where::Tmux { socket, .. } => {
                let socket = socket.display().to_string();
                Some(["tmux", "-S", &socket, "attach"].map(Into::into).into())
            }
        }
    }
}

/// The agents of one folder of sayso's own, where it keeps what it needs to find them again.
#[derive(Debug, Clone)]
pub struct Stations {
    home: PathBuf,
    /// Where our own helpers are looked for: the shell and tmux.
    path: String,
}

impl Stations {
    /// Those of the folder `home`, which is made when it is needed. `path` is the user's `PATH`.
    pub fn new(home: &Path, path: &str) -> Self {
        Self { home: absolute(home), path: path.to_owned() }
    }

    /// Starts an agent, or finds the one that was started under this mark.
    pub fn spawn(&self, backend: Backend, station: &Station<'_>) -> Result<Where, StationError> {
        let station = &Station { folder: &absolute(station.folder), ..*station };
        let station = &Station { log: &absolute(station.log), ..*station };
        if !station.folder.is_dir() {
            return Err(StationError::NoFolder { folder: shown(station.folder) });
        }
        let program = program_of(station)?;
        // It makes the file, readable by this user only.
        Log::open(station.log)
            .map_err(|source| StationError::Log { path: shown(station.log), source })?;
        let hold = self.hold(station.mark)?;
        let session = tmux::session_name(station.name);
        if let Some(place) = self.running(station.mark, &session, &hold)? {
            return Ok(place);
        }
        // What a former one left running would pass for this one.
        process::end_marked(station.mark, LEFTOVER_GRACE);
        match backend {
            Backend::Process => {
                detached::start(station, &program, &self.path, hold).map(Where::Process)
            }
            Backend::Tmux => {
                let tmux = self.tmux(self.socket(station.mark))?;
                // A server about to end would take the new agent for one more of its own.
                tmux.end()?;
                tmux.start(&session, station, &program, &hold)?;
                Ok(Where::Tmux { session, socket: tmux.socket })
            }
        }
    }

    fn running(
        &self,
        mark: &str,
        session: &str,
        hold: &Hold,
    ) -> Result<Option<Where>, StationError> {
        if let Some(leader) = hold.leader().filter(Leader::is_alive) {
            return Ok(Some(Where::Process(leader)));
        }
        let socket = self.socket(mark);
        let is_there = socket.exists() && self.tmux(socket.clone())?.is_there()?;
        Ok(is_there.then(|| Where::Tmux { session: session.to_owned(), socket }))
    }

    /// Whether the agent itself runs; what it left running does not count.
    pub fn is_alive(&self, place: &Where) -> Result<bool, StationError> {
        match place {
            Where::Process(leader) => Ok(leader.is_alive()),
            Where::Tmux { socket, .. } => self.tmux(socket.clone())?.is_there(),
        }
    }

    /// Ends the agent of a mark: politely, and after `grace` for good, with everything it started.
    /// It also tidies up after one that ended by itself, and is no error where there is none.
    pub fn stop(&self, mark: &str, grace: Duration) -> Result<(), StationError> {
        let hold = self.hold(mark)?;
        let socket = self.socket(mark);
        let tmux = if socket.exists() { Some(self.tmux(socket)?) } else { None };
        // A tmux that does not answer ends with the mark all the same.
        let leader = tmux.as_ref().and_then(|tmux| tmux.leader().unwrap_or_default());
        if let Some(leader) = leader.or_else(|| hold.leader()) {
            end(&leader, mark, grace);
        }
        process::end_marked(mark, LEFTOVER_GRACE);
        if let Some(tmux) = tmux {
            tmux.end()?;
        }
        let left = process::marked(mark);
        if !left.is_empty() {
            return Err(StationError::StillThere { processes: left });
        }
        hold.forget().map_err(|source| self.home_error(source))
    }

    /// Types one line into the session of an agent and enters it, if its screen shows an empty prompt of
    /// this kind, nothing is going on, and no person is at the keyboard. `holds_back` is asked before the
    /// line is typed and again before it is entered, and says why it may not be. It is for a nudge in our
    /// own words, as "there is an answer"; what a person answered never takes this way.
    pub fn nudge(
        &self,
        place: &Where,
        kind: &PromptKind,
        text: &str,
        holds_back: &mut dyn FnMut() -> Option<String>,
    ) -> Result<NudgeOutcome, StationError> {
        let tmux = self.screen(place)?;
        // One at a time, and not while it is being stopped: two who find the line there would press Enter
        // twice.
        let turn = Hold::take(&tmux.socket.with_extension(START));
        let _turn = turn.map_err(|source| self.home_error(source))?;
        typing::nudge(&tmux, kind, text, holds_back)
    }

    /// What is on the screen of an agent. Hostile: to be made harmless before it is shown.
    pub fn capture(&self, place: &Where) -> Result<String, StationError> {
        self.screen(place)?.capture()
    }

    fn screen(&self, place: &Where) -> Result<Tmux, StationError> {
        match place {
            Where::Process(_) => Err(StationError::NoScreen),
            Where::Tmux { socket, .. } => self.tmux(socket.clone()),
        }
    }

    fn hold(&self, mark: &str) -> Result<Hold, StationError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.home)
            .and_then(|()| Hold::take(&self.home.join(key(mark)).with_extension(START)))
            .map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock => StationError::Busy { mark: mark.to_owned() },
                _ => self.home_error(source),
            })
    }

    fn home_error(&self, source: io::Error) -> StationError {
        StationError::Home { path: shown(&self.home), source }
    }

    fn socket(&self, mark: &str) -> PathBuf {
        self.home.join(key(mark) + ".tmux")
    }

    fn tmux(&self, socket: PathBuf) -> Result<Tmux, StationError> {
        Tmux::new(&self.path, socket)
    }
}

/// What a mark is called in file names. Short, because the path of a socket has to be.
fn key(mark: &str) -> String {
    Digest::of_bytes(mark.as_bytes()).short().to_owned()
}

/// Ends a process and its group; and what is below it, if it has to be killed.
fn end(leader: &Leader, mark: &str, grace: Duration) {
    let tree = Tree { leader: leader.pid, mark: mark.to_owned() };
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

/// The program as a file that can be run, found as the agent itself would find it.
fn program_of(station: &Station<'_>) -> Result<PathBuf, StationError> {
    let path = station.variables.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(PATH, |(_, path)| path.as_str());
    let found = find(station.program, path, station.folder);
    let program =
        found.ok_or_else(|| StationError::NotInstalled { program: station.program.to_owned() })?;
    match can_run(&program) {
        true => Ok(program),
        false => Err(StationError::NotExecutable { program: shown(&program) }),
    }
}

/// The first file of this name that can be run, or else the first there is.
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

/// Helpers work in other folders than we do.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Why a long-lived agent could not be started, reached or stopped.
#[derive(Debug, thiserror::Error)]
pub enum StationError {
    /// The program is not there.
    #[error(
        "{program} is not installed or not on the PATH: install it, or name it in the settings of this agent"
    )]
    NotInstalled {
        /// The program as it was looked for.
        program: String,
    },
    /// The program is a file that cannot be run.
    #[error("{program} cannot be run: make it executable with chmod +x {program}")]
    NotExecutable {
        /// The file.
        program: String,
    },
    /// The folder to work in is not there.
    #[error("the folder {folder} is not there: the agent has nowhere to work")]
    NoFolder {
        /// The folder.
        folder: String,
    },
    /// There is no tmux.
    #[error(
        "tmux is not installed: install it with apt-get install tmux, dnf install tmux or brew install tmux, or use the backend process"
    )]
    NoTmux,
    /// The path of a socket is longer than the system allows.
    #[error(
        "the path of the socket {path} is too long for the system: keep sayso's files in a folder with a shorter path, or use the backend process"
    )]
    LongSocket {
        /// The path.
        path: String,
    },
    /// The log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// The log's path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Our own folder cannot be used.
    #[error("cannot keep agents in {path}: {source}")]
    Home {
        /// The folder.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else is at it.
    #[error("the agent of {mark} is being started or stopped by another process: try again")]
    Busy {
        /// The mark.
        mark: String,
    },
    /// The system refused to start something.
    #[error("cannot start {program}: {source}")]
    Refused {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// tmux refused.
    #[error("tmux failed: {said}")]
    Tmux {
        /// What it said.
        said: String,
    },
    /// A line that is too long to be typed.
    #[error("a line of {chars} characters is not typed: the most is {LINE_CHARS_MAX}")]
    LongLine {
        /// Its length.
        chars: usize,
    },
    /// A plain process cannot be looked at or typed into.
    #[error("this agent runs without a screen: read its log, or run it in tmux")]
    NoScreen,
    /// Processes that the system did not end.
    #[error("processes {processes:?} do not end: try again, or look what they wait for")]
    StillThere {
        /// Their numbers.
        processes: Vec<u32>,
    },
}
