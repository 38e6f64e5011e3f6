//! A pool of terminals for tests that simulate people.
//!
//! sayso accepts no person at a terminal that an arbitrary program made, or that was made for the command it is to
//! run. People sit before terminal emulators, in terminals that have been open for a while. So do our tests:
//! `script`, under the name of a terminal emulator, keeps terminals in stock, and each is used once. The simulation
//! is open, on the tests' own machine; the program under test has no special case for it.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::scratch::ScratchFolder;
use crate::stop::{VerbError, VerbResult};

/// The verb that runs a line at a terminal of the stock, as `script -qec LINE /dev/null` runs it.
pub(crate) const AT_TERMINAL: &str = "__at-terminal";
/// The verb of the first process in a terminal: it waits for its line.
pub(crate) const IN_TERMINAL: &str = "__in-terminal";

/// The variable that tells tests the folder of the stock.
pub(crate) const FOLDER: &str = "SAYSO_TEST_TERMINALS";

/// The number of terminals in stock.
const STOCK: usize = 48;
/// The minimum age of a terminal before it is used; a little more than sayso requires.
const AGE_MIN: Duration = Duration::from_millis(2_300);
/// The name of the emulator.
const EMULATOR: &str = "xterm";
/// The length that marks the end of the stream.
const END: u32 = u32::MAX;

static STARTED: OnceLock<TerminalPool> = OnceLock::new();

/// The stock, removed with this process.
#[derive(Debug)]
pub(crate) struct TerminalPool {
    folder: PathBuf,
}

/// A terminal in stock: its first process waits.
struct PooledTerminal {
    emulator: Child,
    keys: UnixStream,
    screen: UnixStream,
    waiting: UnixStream,
    opened: Instant,
}

#[derive(Default)]
struct TerminalStock {
    ready: Mutex<VecDeque<PooledTerminal>>,
    changed: Condvar,
}

/// Returns the folder of the stock, which is set up at the first call.
pub(crate) fn ensure() -> VerbResult<&'static Path> {
    if STARTED.get().is_none() {
        let terminals = TerminalPool::start()?;
        let _ = STARTED.set(terminals);
    }
    STARTED.get().map(|started| started.folder.as_path()).ok_or_else(|| "no terminals".into())
}

/// Removes the folder, if there is one. The terminals end with this process.
pub(crate) fn forget() {
    if let Some(started) = STARTED.get() {
        let _ = fs::remove_dir_all(&started.folder);
    }
}

/// Returns the command for a line of shell at a terminal of the stock.
pub(crate) fn command(line: &str) -> VerbResult<Command> {
    let folder = ensure()?;
    let mut command = Command::new(folder.join("xtask"));
    command.arg(AT_TERMINAL).arg(folder).arg(line);
    Ok(command)
}

impl TerminalPool {
    fn start() -> VerbResult<TerminalPool> {
        let script = crate::shell::path_folders().into_iter().map(|f| f.join("script"));
        let script = script.into_iter().find(|path| path.is_file());
        let script =
            script.ok_or("people need `script` to sit at a terminal; Debian has it in bsdutils")?;
        let scratch = ScratchFolder::below(&env::temp_dir())?;
        let folder = scratch.path().to_path_buf();
        fs::copy(script, folder.join(EMULATOR))?;
        // A build may replace the file we were started from.
        fs::copy(env::current_exe()?, folder.join("xtask"))?;
        let waiting = UnixListener::bind(folder.join("waiting"))?;
        let leases = UnixListener::bind(folder.join("leases"))?;
        let stock = Arc::new(TerminalStock::default());
        {
            let stock = Arc::clone(&stock);
            // It owns the folder, and ends when that was removed.
            thread::spawn(move || stock.fill(scratch.path(), &waiting));
        }
        thread::spawn(move || {
            for client in leases.incoming().flatten() {
                let stock = Arc::clone(&stock);
                thread::spawn(move || stock.serve(client));
            }
        });
        Ok(TerminalPool { folder })
    }
}

impl TerminalStock {
    fn ready(&self) -> MutexGuard<'_, VecDeque<PooledTerminal>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, folder: &Path, waiting: &UnixListener) {
        while folder.is_dir() {
            let mut ready = self.ready();
            while ready.len() >= STOCK {
                ready = self.changed.wait(ready).unwrap_or_else(PoisonError::into_inner);
            }
            drop(ready);
            match open(folder, waiting) {
                Ok(terminal) => {
                    self.ready().push_back(terminal);
                    self.changed.notify_all();
                }
                Err(error) => {
                    eprintln!("xtask: no terminal could be opened: {}", error.text);
                    thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }

    fn take(&self) -> PooledTerminal {
        let mut ready = self.ready();
        let terminal = loop {
            match ready.pop_front() {
                Some(terminal) => break terminal,
                None => ready = self.changed.wait(ready).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(ready);
        self.changed.notify_all();
        thread::sleep(AGE_MIN.saturating_sub(terminal.opened.elapsed()));
        terminal
    }

    fn serve(&self, mut client: UnixStream) {
        let Ok(Some(line)) = receive(&mut client) else { return };
        let mut terminal = self.take();
        if send(&mut terminal.waiting, &line).is_err() {
            return;
        }
        let Ok(typed) = client.try_clone() else { return };
        let emulator = Arc::new(Mutex::new(terminal.emulator));
        let keyboard = {
            let (emulator, keys) = (Arc::clone(&emulator), terminal.keys);
            thread::spawn(move || type_in(typed, keys, &emulator))
        };
        show(&mut terminal.screen, &mut client);
        let code = wait(&emulator);
        let _ = client.write_all(&END.to_be_bytes());
        let _ = client.write_all(&code.to_be_bytes());
        let _ = client.shutdown(Shutdown::Both);
        let _ = keyboard.join();
    }
}

fn open(folder: &Path, waiting: &UnixListener) -> VerbResult<PooledTerminal> {
    let (keys, stdin) = UnixStream::pair()?;
    let (screen, stdout) = UnixStream::pair()?;
    let (xtask, socket) = (folder.join("xtask"), folder.join("waiting"));
    let line = format!("exec '{}' {IN_TERMINAL} '{}'", xtask.display(), socket.display());
    let mut emulator = Command::new(folder.join(EMULATOR));
    emulator.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh");
    emulator.stdin(OwnedFd::from(stdin)).stdout(OwnedFd::from(stdout)).stderr(Stdio::null());
    let emulator = emulator.spawn()?;
    // One at a time, so that this is the one just opened.
    let (waiting, _) = waiting.accept()?;
    Ok(PooledTerminal { emulator, keys, screen, waiting, opened: Instant::now() })
}

/// Passes the client's input on. When the client is gone without an end of input, the terminal is closed.
fn type_in(mut client: UnixStream, mut keys: UnixStream, emulator: &Mutex<Child>) {
    loop {
        match receive(&mut client) {
            Ok(Some(typed)) => {
                if keys.write_all(&typed).is_err() {
                    break;
                }
            }
            Ok(None) => {
                let _ = keys.shutdown(Shutdown::Write);
            }
            Err(_) => break,
        }
    }
    let _ = keys.shutdown(Shutdown::Both);
    // If it has ended, there is nothing to kill.
    let _ = lock(emulator).kill();
}

fn show(screen: &mut UnixStream, client: &mut UnixStream) {
    let mut some = [0; 16 * 1024];
    loop {
        match screen.read(&mut some) {
            Ok(0) => return,
            Ok(count) => {
                if send(client, &some[..count]).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn lock(emulator: &Mutex<Child>) -> MutexGuard<'_, Child> {
    emulator.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(emulator: &Mutex<Child>) -> i32 {
    loop {
        match lock(emulator).try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                return status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            }
            Err(_) => return 1,
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends some bytes; an empty message is the end of the input.
fn send(to: &mut UnixStream, bytes: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(bytes.len()).unwrap_or(0);
    to.write_all(&[&length.to_be_bytes(), bytes].concat())
}

/// Receives the next bytes, or none at the end of the input.
fn receive(from: &mut UnixStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length == END {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}

/// Runs a line at a terminal of the stock, in this folder, with these variables. Returns its exit code.
pub(crate) fn at_terminal(words: &[String]) -> VerbResult<i32> {
    let [folder, line] = words else { return Err(VerbError::usage("this verb is not for people")) };
    let mut host = UnixStream::connect(Path::new(folder).join("leases"))?;
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    let variables: BTreeMap<_, _> = env::vars_os().map(|(n, v)| (text(n), text(v))).collect();
    let request = serde_json::json!({
        "line": line, "folder": env::current_dir()?, "variables": variables,
    });
    send(&mut host, request.to_string().as_bytes())?;
    let mut typed = host.try_clone()?;
    thread::spawn(move || {
        let (mut stdin, mut some) = (std::io::stdin(), [0; 4096]);
        while let Ok(count) = stdin.read(&mut some) {
            if send(&mut typed, &some[..count]).is_err() || count == 0 {
                return;
            }
        }
    });
    let mut stdout = std::io::stdout();
    while let Ok(Some(shown)) = receive(&mut host) {
        // A reader that has left misses the rest, and the line still runs to its end.
        let _ = stdout.write_all(&shown).and_then(|()| stdout.flush());
    }
    let mut code = [0; 4];
    host.read_exact(&mut code)?;
    Ok(i32::from_be_bytes(code))
}

/// Waits in a terminal for its line, and becomes it.
pub(crate) fn in_terminal(words: &[String]) -> VerbResult {
    let [socket] = words else { return Err(VerbError::usage("this verb is not for people")) };
    let mut host = UnixStream::connect(socket)?;
    let Ok(Some(request)) = receive(&mut host) else { return Ok(()) };
    let request: serde_json::Value =
        serde_json::from_slice(&request).map_err(|e| VerbError::from(e.to_string()))?;
    let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text("line")).current_dir(text("folder")).env_clear();
    for (name, value) in request["variables"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    Err(format!("the line could not be run: {}", command.exec()).into())
}
