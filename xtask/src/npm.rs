//! Installs packages of npm's registry in a fixed version, in a folder of the user's cache.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::ScratchFolder;
use crate::shell::output;
use crate::stop::VerbResult;

/// Returns the folder of a package, installed unless `file` exists below its `node_modules`.
pub(crate) fn ensure(name: &str, package: &str, version: &str, file: &str) -> VerbResult<PathBuf> {
    let folder = cache()?.join(format!("{name}-{version}"));
    if !folder.join("node_modules").join(file).is_file() {
        install(&folder, &format!("{package}@{version}"))?;
    }
    Ok(folder)
}

/// Installs it in a scratch folder first: a package in the cache is always complete.
fn install(folder: &Path, what: &str) -> VerbResult {
    let cache = cache()?;
    fs::create_dir_all(&cache)?;
    let scratch = ScratchFolder::below(&cache)?;
    let new = scratch.path().join("new");
    fs::create_dir(&new)?;
    fs::write(new.join("package.json"), "{\"private\": true}\n")?;
    eprintln!("npm: installs {what} in {}", folder.display());
    let mut npm = Command::new("npm");
    // Their scripts would run with the rights of the user; none of them is needed.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", what]);
    output(npm.current_dir(&new))?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::rename(new, folder)?)
}

/// Returns the cache folder for packages.
fn cache() -> VerbResult<PathBuf> {
    let given = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || given("HOME").map(|home| home.join(".cache"));
    let cache = given("XDG_CACHE_HOME").or_else(home);
    cache.map(|cache| cache.join("sayso-clients")).ok_or_else(|| "HOME is not set".into())
}
