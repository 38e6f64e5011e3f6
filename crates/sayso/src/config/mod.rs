//! Configuration: `.sayso/config.yaml` of the project. The default file is the reference.

pub(crate) mod check;
mod notify;
mod work;

pub(crate) use notify::{ChannelConfig, ChannelSettings};
pub(crate) use work::{AgentSettings, WorkSettings, agents, own_hooks};

use crate::cli::GlobalArgs;
use crate::exit::{Failure, Result};
use crate::open_desk;
use crate::trust::{self, UntrustedSettings};
use sayso_core::Code;
use sayso_engine::{AgentSupervisor, StoreLocation};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The folder of a space.
pub(crate) const FOLDER: &str = ".sayso";

/// The most bytes read from a settings file.
pub(crate) const CONFIG_BYTES_MAX: u64 = 64 * 1024;

/// The settings file that `sayso init` writes; every setting is in it.
pub(crate) const DEFAULT: &str = include_str!("default.yaml");

/// The settings of a space.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    space: Option<String>,
    store: Option<String>,
    host: String,
    work: WorkSettings,
    agents: BTreeMap<String, AgentSettings>,
    notify: BTreeMap<String, ChannelConfig>,
    pages: String,
    ca: String,
    screen_reader: bool,
}

/// The kind of place that holds the space: a local store or a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SpaceHome {
    /// In a store that this program opens itself.
    Store(StoreLocation),
    /// Behind a server.
    Server(String),
}

/// The space a command works in, with its settings.
pub(crate) struct SpaceLocation {
    pub(crate) home: SpaceHome,
    pub(crate) space: String,
    /// The name of this machine.
    pub(crate) host: String,
    /// The `.sayso` folder, when there is one.
    pub(crate) folder: Option<PathBuf>,
    /// The settings of the worker.
    pub(crate) work: WorkSettings,
    /// The agents the settings name.
    pub(crate) agents: BTreeMap<String, AgentSettings>,
    /// The channels of this machine: those of the space, and the user's own.
    pub(crate) channels: Vec<ChannelSettings>,
    /// The address at which people reach the pages of the space.
    pub(crate) pages: Option<String>,
    /// Settings of the project that were left out, since the file is not trusted.
    pub(crate) untrusted: Option<UntrustedSettings>,
    /// The certificate authorities accepted for a server, beside the public ones.
    pub(crate) authorities: Option<PathBuf>,
}

impl SpaceLocation {
    /// The channels, as the desk needs to know them.
    pub(crate) fn reaches(&self) -> Vec<sayso_core::ChannelInfo> {
        self.channels.iter().map(ChannelSettings::reach).collect()
    }
}

/// The folder a command was started in.
pub(crate) fn start(globals: &GlobalArgs) -> Result<PathBuf> {
    match &globals.dir {
        Some(dir) => Ok(dir.clone()),
        None => Ok(std::env::current_dir()?),
    }
}

/// Finds the space: in this folder or the nearest one above it, else the one in the user's own settings. A store from
/// the command line takes precedence.
pub(crate) fn locate(globals: &GlobalArgs) -> Result<SpaceLocation> {
    let start = start(globals)?;
    let found = folder_above(&start);
    let mut own = user_folder().as_deref().map(read).transpose()?.unwrap_or_default();
    let own_notify = std::mem::take(&mut own.notify);
    let own_ca = own.ca.clone();
    let (mut file, untrusted) = match found.as_deref() {
        Some(folder) => read_trusted(folder)?,
        None => (own, None),
    };
    let channels = channels(
        [(std::mem::take(&mut file.notify), found.clone()), (own_notify, user_folder())],
        &start,
    )?;
    let authorities =
        authorities([(&file.ca, found.as_deref()), (&own_ca, user_folder().as_deref())]);
    if let (None, Some(folder)) = (&globals.store, found.as_deref()) {
        check_store(folder, &file, globals.space.as_deref())?;
    }
    let given = globals.store.clone().or(file.store);
    let space = globals.space.clone().or(file.space).or_else(|| found.as_deref().map(space_name));
    let (Some(space), true) = (space, found.is_some() || given.is_some()) else {
        return Err(no_space(&start, given.is_some()));
    };
    let home = match given {
        Some(url) if is_server(&url) => SpaceHome::Server(url),
        given => SpaceHome::Store(place(given.as_deref(), found.as_deref())),
    };
    let ConfigFile { host, work, agents, pages, .. } = file;
    let pages = Some(pages).filter(|pages| !pages.is_empty());
    let host = if host.is_empty() { AgentSupervisor::machine() } else { host };
    let folder = found;
    let place = SpaceLocation {
        home,
        space,
        host,
        folder,
        work,
        agents,
        channels,
        pages,
        untrusted,
        authorities,
    };
    Ok(place)
}

/// All channels, each with the folder of the file that names it. The user's own channels come last and override those
/// that came with a project.
fn channels(
    files: [(BTreeMap<String, ChannelConfig>, Option<PathBuf>); 2],
    start: &Path,
) -> Result<Vec<ChannelSettings>> {
    let mut all = BTreeMap::new();
    for (notify, folder) in files {
        let folder = std::path::absolute(folder.as_deref().unwrap_or(start))?;
        for (name, file) in notify {
            let folder = folder.clone();
            all.insert(name.clone(), ChannelSettings { name, file, folder });
        }
    }
    Ok(all.into_values().collect())
}

/// The file with additional certificate authorities: from the environment, else the first setting. A path is relative
/// to the folder of the file that names it.
fn authorities(set: [(&String, Option<&Path>); 2]) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("SAYSO_CA_FILE").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let (path, folder) = set.into_iter().find(|(path, _)| !path.is_empty())?;
    Some(folder.map_or_else(|| path.into(), |folder| folder.join(path)))
}

/// The file with certificate authorities for a space whose settings are in this folder, or are not written yet.
pub(crate) fn authorities_for(folder: &Path) -> Result<Option<PathBuf>> {
    let own = user_folder().as_deref().map(read).transpose()?.unwrap_or_default();
    let file = read(folder)?;
    Ok(authorities([(&file.ca, Some(folder)), (&own.ca, user_folder().as_deref())]))
}

/// True if a screen reader reads the output: then there are only lines, no symbols, and nothing is redrawn. The
/// variable overrides the settings.
pub(crate) fn is_for_screen_reader(globals: &GlobalArgs) -> bool {
    match std::env::var("SAYSO_SCREEN_READER").as_deref() {
        Ok("0" | "false" | "no") => return false,
        Ok("") | Err(_) => {}
        Ok(_) => return true,
    }
    // A pipe is not read aloud, and its program is spared the lookup.
    if !std::io::stdout().is_terminal() {
        return false;
    }
    let found = start(globals).ok().and_then(|start| folder_above(&start));
    let files = [found, user_folder()].into_iter().flatten();
    // Unreadable settings are reported by the commands that need them.
    files.filter_map(|folder| read(&folder).ok()).any(|file| file.screen_reader)
}

/// The folder of the space in this folder or the nearest one above it.
pub(crate) fn folder_above(start: &Path) -> Option<PathBuf> {
    start.ancestors().map(|dir| dir.join(FOLDER)).find(|dir| dir.is_dir())
}

/// True if a given store is a server.
pub(crate) fn is_server(given: &str) -> bool {
    given.starts_with("https://") || given.starts_with("http://")
}

/// Parses the location of a store: `postgres://…` names a database, everything else a file.
pub(crate) fn place(given: Option<&str>, folder: Option<&Path>) -> StoreLocation {
    let folder = folder.map_or_else(|| PathBuf::from(FOLDER), Path::to_path_buf);
    match given {
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            StoreLocation::Postgres(url.into())
        }
        Some("sqlite") | None => StoreLocation::Sqlite(folder.join("sayso.db")),
        Some(path) => StoreLocation::Sqlite(PathBuf::from(path)),
    }
}

/// The default name of a space: that of its folder.
pub(crate) fn space_name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let name = whole.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().take(60).map(plain).collect();
    if name.is_empty() { "space".into() } else { name }
}

/// The folder of the user's own settings, for those who keep one inbox for all their projects.
pub(crate) fn user_folder() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let config =
        given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|home| home.join(".config")));
    config.map(|folder| folder.join("sayso"))
}

/// The folder for files of the user that are neither settings nor data.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = given("XDG_STATE_HOME").or_else(|| given("HOME").map(|h| h.join(".local/state")));
    state.map(|folder| folder.join("sayso"))
}

/// The space and the store that the settings in a folder name.
pub(crate) fn settings(folder: &Path) -> Result<(Option<String>, Option<String>)> {
    let file = read(folder)?;
    Ok((file.space, file.store))
}

/// The agents defined by the settings in a folder, with the built-in ones.
pub(crate) fn agents_of(
    folder: &Path,
) -> Result<BTreeMap<String, sayso_engine::agents::AgentConfig>> {
    agents(&read(folder)?.agents)
}

fn read(folder: &Path) -> Result<ConfigFile> {
    let path = folder.join("config.yaml");
    match read_file(&path) {
        Ok(text) => parse(&text, &path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(ConfigFile::default()),
        Err(e) => Err(Failure::new(Code::BadConfig, format!("{}: {e}", path.display()))),
    }
}

/// The settings of a folder that may run programs.
pub(crate) struct RunnableSettings {
    /// The text of the file.
    pub(crate) text: String,
    /// The settings that run something or choose who is trusted, with their values.
    pub(crate) settings: Vec<(String, String)>,
    /// The server or database that is named, and the space of it.
    pub(crate) store: Option<(String, String)>,
}

impl RunnableSettings {
    /// True if a person has set or logged in to the store.
    pub(crate) fn is_store_known(&self) -> bool {
        self.store.as_ref().is_none_or(|(store, space)| is_store_known(store, space))
    }
}

/// The setting that names the store.
pub(crate) const STORE: &str = "store";

/// Checks the store that a project's file names: it gets the user's credentials and makes the policy decisions. A
/// store on another machine is used only if a person has set it, logged in to it or trusted it.
pub(crate) fn check_settings_store(folder: &Path) -> Result<()> {
    check_store(folder, &read(folder)?, None)
}

fn check_store(folder: &Path, file: &ConfigFile, space: Option<&str>) -> Result<()> {
    let Some((store, own)) = file.elsewhere(folder) else { return Ok(()) };
    let is_known =
        is_store_known(&store, &own) || space.is_some_and(|space| is_store_known(&store, space));
    let (settings, file) = (vec![STORE.to_owned()], folder.join("config.yaml"));
    if is_known || read_file(&file).is_ok_and(|text| trust::is_trusted(&file, &text)) {
        return Ok(());
    }
    Err(UntrustedSettings { file, settings }.refused())
}

fn is_store_known(store: &str, space: &str) -> bool {
    let has_login =
        || is_server(store) && open_desk::login(store, space).is_ok_and(|login| login.is_some());
    trust::is_store_kept(store, space) || has_login()
}

/// True if a store is on another machine: a server, or a database behind an address.
pub(crate) fn is_elsewhere(store: &str) -> bool {
    is_server(store) || matches!(place(Some(store), None), StoreLocation::Postgres(_))
}

/// Returns the settings in a folder that may run programs.
pub(crate) fn runnable(folder: &Path) -> Result<RunnableSettings> {
    let path = folder.join("config.yaml");
    let text = read_file(&path)
        .map_err(|e| Failure::new(Code::BadConfig, format!("{}: {e}", path.display())))?;
    let file = parse(&text, &path)?;
    let store = file.elsewhere(folder);
    let mut settings = file.runnable();
    settings.extend(store.as_ref().map(|(store, _)| (STORE.to_owned(), without_password(store))));
    Ok(RunnableSettings { text, settings, store })
}

/// Reads the settings of a project, without those that run programs if the file is not trusted.
fn read_trusted(folder: &Path) -> Result<(ConfigFile, Option<UntrustedSettings>)> {
    let path = folder.join("config.yaml");
    let text = match read_file(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok((ConfigFile::default(), None));
        }
        Err(e) => return Err(Failure::new(Code::BadConfig, format!("{}: {e}", path.display()))),
    };
    let mut file = parse(&text, &path)?;
    let settings: Vec<String> = file.runnable().into_iter().map(|(name, _)| name).collect();
    if settings.is_empty() || trust::is_trusted(&path, &text) {
        return Ok((file, None));
    }
    file.notify.clear();
    file.agents.retain(|_, agent| !agent.is_runnable());
    file.work.clear_runnable();
    file.ca.clear();
    Ok((file, Some(UntrustedSettings { file: path, settings })))
}

/// The address of a store as it is shown.
fn without_password(store: &str) -> String {
    if is_server(store) { store.to_owned() } else { place(Some(store), None).to_string() }
}

impl ConfigFile {
    /// Returns the store on another machine, and its space.
    fn elsewhere(&self, folder: &Path) -> Option<(String, String)> {
        let store = self.store.clone().filter(|store| is_elsewhere(store))?;
        Some((store, self.space.clone().unwrap_or_else(|| space_name(folder))))
    }

    /// The settings that run something or choose who is trusted.
    fn runnable(&self) -> Vec<(String, String)> {
        let channels = self.notify.iter();
        let channels = channels.map(|(name, file)| (format!("notify.{name}"), file.in_words()));
        let agents = self.agents.iter().filter(|(_, agent)| agent.is_runnable());
        let agents = agents.map(|(name, agent)| (format!("agents.{name}"), agent.in_words()));
        let ca = (!self.ca.is_empty()).then(|| ("ca".to_owned(), self.ca.clone()));
        channels.chain(agents).chain(self.work.runnable()).chain(ca).collect()
    }
}

fn parse(text: &str, path: &Path) -> Result<ConfigFile> {
    serde_saphyr::from_str(text).map_err(|e: serde_saphyr::Error| {
        // Without the source lines: the address of a database may hold a password.
        let mut why = e.without_snippet().to_string();
        if why.contains("://") {
            why = "this is not a list of settings".into();
        }
        Failure::new(Code::BadConfig, format!("{}: {why}", path.display()))
            .hint(settings_in_words())
    })
}

const fn settings_in_words() -> &'static str {
    "the settings there are: space, store, host, work, agents, notify, pages, ca, screen_reader; docs/reference/configuration.md has them all"
}

fn read_file(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(std::io::Error::other(format!("more than {CONFIG_BYTES_MAX} bytes")));
    }
    Ok(text)
}

fn no_space(start: &Path, has_store: bool) -> Failure {
    if has_store {
        return Failure::new(Code::NoSpace, "the store is known, but not which space of it")
            .hint("add: --space NAME");
    }
    if !start.is_dir() {
        let message = format!("there is no folder {}", start.display());
        return Failure::new(Code::NoSpace, message).hint("check what is named behind -C");
    }
    let hint = match open_desk::only_login() {
        Some(login) => format!(
            "for the space you are logged in to: sayso init --store {} --name {}",
            login.server, login.space
        ),
        None => "make one with: sayso init".into(),
    };
    Failure::new(Code::NoSpace, format!("there is no space in {} or above it", start.display()))
        .hint(hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_is_valid_and_names_every_setting() {
        let path = Path::new("config.yaml");
        let file = parse(&DEFAULT.replace("{space}", "x").replace("{store}", "sqlite"), path);
        // The values in the default file are the defaults.
        let (space, store) = (Some("x".into()), Some("sqlite".into()));
        assert_eq!(file.unwrap(), ConfigFile { space, store, ..ConfigFile::default() });
        assert!(
            ["notify", "pages", "ca", "screen_reader"]
                .iter()
                .all(|name| DEFAULT.contains(&format!("\n{name}:")))
        );
        for name in ["agent", "jobs", "threshold", "check", "check_retries", "land", "land_command"]
        {
            assert!(DEFAULT.contains(&format!("\n  {name}:")), "{name}");
        }
    }

    #[test]
    fn unknown_settings_are_errors() {
        let wrong = parse("space: x\nstoer: y\n", Path::new("config.yaml")).unwrap_err();
        assert_eq!(wrong.code, Code::BadConfig);
        assert!(wrong.message.contains("stoer"), "{}", wrong.message);
    }
}
