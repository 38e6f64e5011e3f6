//! `sayso connect`: adds hooks to the settings of a coding agent's client.

mod check;
mod codex;
mod credential;
mod files;
mod jsonc;
mod opencode;
mod setup;
mod worker_hook;

use super::doctor::DoctorCheck;
use super::hook::protocol::HookClient;
use crate::config;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::identity;
use crate::output::{CliOutput, OutputStyle};
use check::CheckedClient;
pub(crate) use check::ClientReport;
use credential::AgentTokenFile;
use files::ClientFileChange;
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, CommandExit};
use sayso_engine::Desk;
use sayso_engine::worker::HookKit;
use serde::Serialize;
use setup::{ClientPaths, ClientSetup, ConnectScope};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Let a coding agent's client ask sayso before every tool call.
///
/// Shows the exact change to the client's own settings, asks, and makes it. Everything else in those
/// files stays as it is, comments included. The agent gets a token of its own, in `.sayso/tokens`.
/// `--undo` takes away what was added and leaves what others wrote since. It takes a person at a
/// terminal, as making tokens does.
///
/// `--check` shows that the client really asks: it is run once with its own settings and a scripted
/// model in place of its provider, which calls its shell; the hook notes that it was run, and denies.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso connect claude-code --dry-run       only show what would change
  sayso connect claude-code
  sayso connect codex --scope user          for every project, not only this one
  sayso connect claude-code --undo
  sayso connect --check                     run each connected client once, and see")]
pub(crate) struct ConnectArgs {
    /// The client: claude-code, codex, gemini or opencode. With --check all of them, unless one is given.
    #[arg(value_name = "CLIENT", required_unless_present = "check")]
    client: Option<HookClient>,
    /// The name of its agent; that of the client unless given.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The files to change: those of this project, or yours for every project.
    #[arg(long, value_name = "SCOPE", default_value = "project")]
    scope: ConnectScope,
    /// Take away what was added.
    #[arg(long)]
    undo: bool,
    /// Run the client once, without network and account, and see whether it asks before a call.
    #[arg(long, conflicts_with_all = ["undo", "dry_run", "yes", "agent", "scope"])]
    check: bool,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before the files are changed.
    #[arg(long)]
    yes: bool,
}

/// The outcome of `connect`, for `--json`.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Connected")]
pub(crate) struct ConnectReport {
    /// The name of the client.
    client: String,
    /// The name of its agent.
    agent: String,
    /// project or user.
    scope: String,
    /// connected or disconnected.
    state: String,
    /// True if a file was changed, or would be.
    changed: bool,
    /// True if nothing was written: a dry run.
    dry_run: bool,
    /// The file with the agent's token.
    token_file: String,
    /// The files that change.
    files: Vec<ConnectedFile>,
    /// Notes for a person: things to know or still to do.
    notes: Vec<String>,
}

/// A file that changes.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Changed")]
struct ConnectedFile {
    /// The path of the file.
    path: String,
    /// added, changed or removed.
    how: String,
    /// The change, as `diff -u` shows it.
    diff: String,
}

/// The planned changes.
struct ConnectPlan<'a> {
    args: &'a ConnectArgs,
    client: HookClient,
    agent: String,
    places: &'a ClientPaths,
    credential: AgentTokenFile,
    /// The client's own program, if it is known.
    program: Option<String>,
    changes: Vec<ClientFileChange>,
    needs_token: bool,
}

/// The supported clients.
const CLIENTS: [HookClient; 4] =
    [HookClient::ClaudeCode, HookClient::Codex, HookClient::Gemini, HookClient::Opencode];

pub(crate) fn run(args: ConnectArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let location = config::locate(&context.globals)?;
    let folder = space_folder(&location)?;
    let places = places(&folder)?;
    let Some(client) = args.client.filter(|_| !args.check) else {
        return check(context, &location, &places, args.client);
    };
    let desk = context.desk()?;
    let agent = args.agent.clone().unwrap_or_else(|| client.name().into());
    let credential = AgentTokenFile::of(&folder, &agent)?;
    let program = client_program(&location, client)?;
    let setup = ClientSetup {
        client,
        scope: args.scope,
        places: &places,
        program: own_program()?,
        token: shown(&credential.file)?,
        has_server: has_server(),
        asked: program.clone(),
    };
    let changes = setup.changes(args.undo)?;
    let needs_token = !args.undo && !credential.is_good(&desk);
    let (args, places) = (&args, &places);
    let plan =
        ConnectPlan { args, client, agent, places, credential, program, changes, needs_token };
    plan.show(context.out);
    if !plan.is_any() || args.dry_run {
        plan.report(context.out);
        return Ok(CommandExit::Ok);
    }
    let actor = identity::person(context, &desk)?;
    // Connecting decides which agents the policy holds: no agent may do it.
    desk.check_may_mint(&actor)?;
    confirm(context, args.yes)?;
    plan.carry_out(&desk, &actor)?;
    plan.report(context.out);
    Ok(CommandExit::Ok)
}

impl ConnectPlan<'_> {
    fn is_any(&self) -> bool {
        self.needs_token || !self.changes.is_empty()
    }

    fn show(&self, out: &CliOutput) {
        if out.json {
            return;
        }
        for change in &self.changes {
            for line in change.diff().lines() {
                let look = match line.as_bytes().first() {
                    Some(b'+') => OutputStyle::Good,
                    Some(b'-') => OutputStyle::Bad,
                    Some(b'@') => OutputStyle::Name,
                    _ => OutputStyle::Faint,
                };
                out.line(&out.paint(look, &as_it_is(line)));
            }
        }
        if self.needs_token {
            let line = format!("+ a token for agent {} in {}", self.agent, self.token_file());
            out.line(&out.paint(OutputStyle::Good, &line));
        }
    }

    fn token_file(&self) -> String {
        self.credential.file.display().to_string()
    }

    fn carry_out(&self, desk: &Desk, actor: &Actor) -> Result<()> {
        // The token comes first: a hook without its token blocks every call.
        if self.needs_token {
            self.credential.make(desk, actor)?;
        }
        files::write_all(&self.changes)?;
        if self.args.undo && !self.is_token_used() {
            self.credential.forget(desk, actor)?;
        }
        Ok(())
    }

    /// True if a client still refers to the agent's token.
    fn is_token_used(&self) -> bool {
        let named = self.token_file();
        let files = CLIENTS.into_iter().flat_map(|client| {
            ConnectScope::ALL.into_iter().flat_map(move |scope| self.places.all(client, scope))
        });
        files.into_iter().any(|path| {
            // An unreadable file might name it.
            ClientFileChange::of(path)
                .map_or(true, |file| file.before.is_some_and(|t| t.contains(&named)))
        })
    }

    /// Notes for a person: things to know or still to do.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![];
        let client = self.client;
        if self.args.undo || self.args.dry_run {
            return notes;
        }
        if self.is_any() {
            notes.push(format!("{} reads this when it starts: start it anew", client.name()));
        }
        notes.extend(self.changes.iter().filter_map(|change| self.not_ignored(change)));
        let (places, has_server) = (self.places, has_server());
        let subject = CheckedClient {
            client,
            program: self.program.clone(),
            places,
            has_server,
            is_meant: true,
        };
        for found in subject.look(&[self.args.scope], true).iter().filter(|c| c.exit().is_some()) {
            let hint = found.hint.as_deref().unwrap_or_default();
            notes.push(format!("{}: {hint}", found.seen));
        }
        notes
    }

    /// A warning about a new file in the project that the next commit would include.
    fn not_ignored(&self, change: &ClientFileChange) -> Option<String> {
        let path = change.path.strip_prefix(&self.places.project).ok()?;
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.places.project).args(["check-ignore", "--quiet", "--"]).arg(path);
        let ended = git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        // Exit code 1 means "not ignored"; outside of a repository it is another one.
        let is_taken = change.before.is_none() && ended.ok()?.code() == Some(1);
        let shown = path.display();
        is_taken.then(|| {
            format!("git does not ignore {shown}, which is for this machine alone: add it to .git/info/exclude")
        })
    }

    fn report(&self, out: &CliOutput) {
        let (args, notes) = (self.args, self.notes());
        let state = if args.undo { "disconnected" } else { "connected" };
        if out.json {
            out.json(&ConnectReport {
                client: self.client.name().into(),
                agent: self.agent.clone(),
                scope: args.scope.name().into(),
                state: state.into(),
                changed: self.is_any(),
                dry_run: args.dry_run,
                token_file: self.token_file(),
                files: self.changes.iter().map(ConnectedFile::of).collect(),
                notes,
            });
            return;
        }
        let client = out.paint(OutputStyle::Name, self.client.name());
        let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
        match (self.is_any(), args.dry_run, args.undo) {
            (true, true, _) => out.remark("nothing was changed: this was a dry run"),
            (true, false, false) => {
                out.line(&format!("{tick} {client} is connected as agent {}", self.agent));
            }
            (true, false, true) => out.line(&format!("{tick} {client} is disconnected")),
            (false, _, false) => out.line(&format!("{client} is already connected")),
            (false, _, true) => out.line(&format!("{client} was not connected")),
        }
        for note in notes {
            out.remark(&format!("  {note}"));
        }
    }
}

impl ConnectedFile {
    fn of(change: &ClientFileChange) -> Self {
        let path = change.path.display().to_string();
        Self { path, how: change.how().into(), diff: change.diff() }
    }
}

fn confirm(context: &CliContext<'_>, is_said: bool) -> Result<()> {
    if is_said {
        return Ok(());
    }
    if context.globals.no_input || context.out.json || !identity::has_terminal() {
        let message = "nothing was changed: nobody can be asked here whether this is right";
        return Err(Failure::new(Code::NoInput, message).hint("if it is, add: --yes"));
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "Change this? [y/N] ").and_then(|()| stderr.flush())?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Code::NoInput, "nothing was changed: nobody said yes")),
    }
}

/// A line of a file as it is, with no control characters.
fn as_it_is(line: &str) -> String {
    let rest = line.trim_start();
    format!("{}{}", &line[..line.len() - rest.len()], sanitize_line(rest))
}

fn check(
    context: &CliContext<'_>,
    location: &config::SpaceLocation,
    places: &ClientPaths,
    only: Option<HookClient>,
) -> Result<CommandExit> {
    let (has_server, is_meant) = (has_server(), only.is_some());
    let mut all = vec![];
    for client in CLIENTS.into_iter().filter(|client| only.is_none_or(|only| only == *client)) {
        let program = client_program(location, client)?;
        all.push(CheckedClient { client, program, places, has_server, is_meant }.check());
    }
    Ok(check::report(context.out, &all))
}

/// The doctor's checks of connected clients, and their gaps. With `is_quick` nothing is started.
pub(crate) fn examine(context: &CliContext<'_>, is_quick: bool) -> Result<Vec<DoctorCheck>> {
    let location = config::locate(&context.globals)?;
    let Ok(places) = space_folder(&location).and_then(|folder| places(&folder)) else {
        return Ok(vec![]);
    };
    let mut checks = vec![];
    for client in CLIENTS {
        let scopes = check::scopes(&places, client);
        if scopes.is_empty() {
            continue;
        }
        let program = client_program(&location, client)?;
        let subject = CheckedClient {
            client,
            program,
            places: &places,
            has_server: has_server(),
            is_meant: true,
        };
        let wrong = subject.look(&scopes, !is_quick).into_iter().find(|c| c.exit().is_some());
        let name = client.name();
        let known = check::known_gaps(client).join("; ");
        checks.push(match wrong {
            Some(wrong) => {
                let hint = wrong.hint.unwrap_or_else(|| format!("sayso connect --check {name}"));
                DoctorCheck::warning(name, &format!("{}; known: {known}", wrong.seen), &hint)
            }
            None => {
                let scopes: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
                let seen = format!("connected ({}); known: {known}", scopes.join(", "));
                DoctorCheck::ok(name, &seen)
            }
        });
    }
    Ok(checks)
}

/// The folder of the space, which keeps the tokens. A store alone has none.
fn space_folder(location: &config::SpaceLocation) -> Result<PathBuf> {
    let folder = location.folder.as_deref().ok_or_else(|| {
        Failure::new(Code::NoSpace, "the space has no folder here, and its hooks need one")
            .hint("make one for it: sayso init --store STORE --name SPACE")
    })?;
    Ok(folder.canonicalize()?)
}

fn places(folder: &Path) -> Result<ClientPaths> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = given("HOME").filter(|home| home.is_absolute()).ok_or_else(|| {
        Failure::new(
            Code::Failure,
            "HOME is not set: it is not known where clients keep their settings",
        )
    })?;
    let project = folder.parent().unwrap_or(folder).to_path_buf();
    shown(&project)?;
    Ok(ClientPaths { project, home, given })
}

/// A path as text, for settings files.
fn shown(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message =
            format!("{} is not UTF-8, and no client's settings can hold it", path.display());
        Failure::new(Code::InvalidText, message)
    })
}

/// Builds the hook kit with which a worker starts a client, so that it asks before each call.
pub(crate) fn kit(
    client: HookClient,
    program: &str,
    space: Option<&Path>,
    folder: &Path,
) -> Result<HookKit> {
    let at = match space {
        Some(folder) => folder.canonicalize()?,
        None => folder.to_path_buf(),
    };
    worker_hook::worker_kit(client, program, &places(&at)?, folder)
}

/// The path of this program for clients: its name on the PATH if that leads here, since that one stays when a new
/// version is installed.
fn own_program() -> Result<String> {
    let here = std::env::current_exe()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).map(|folder| folder.join(setup::NAME));
    let mut same =
        named.filter(|file| file.is_absolute() && file.canonicalize().is_ok_and(|f| f == here));
    shown(&same.next().unwrap_or(here))
}

/// The client's own program, if it is installed.
fn client_program(location: &config::SpaceLocation, client: HookClient) -> Result<Option<String>> {
    let mut agents = config::agents(&location.agents)?;
    let program = agents.remove(client.name()).map(|agent| agent.program);
    Ok(program.filter(|program| crate::work::is_program(program)))
}

/// True if this program has an MCP server.
fn has_server() -> bool {
    <crate::cli::Cli as clap::CommandFactory>::command().find_subcommand("mcp").is_some()
}
