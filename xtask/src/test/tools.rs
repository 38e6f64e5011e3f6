//! The programs that the tests need: found, or installed where we may.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::npm;
use crate::shell::{has, output, path_folders, run as sh, works};
use crate::stop::{VerbError, VerbResult};

/// Programs and the Debian packages that contain them.
const PROGRAMS: &[(&str, &str)] = &[
    ("script", "bsdutils"),
    ("tmux", "tmux"),
    ("jq", "jq"),
    ("curl", "curl"),
    ("chromium", "chromium"),
    ("npm", "npm"),
];
/// The version of axe-core, the accessibility checker of pages.
const AXE: &str = "4.14.0";
const POSTGRES_PACKAGE: &str = "postgresql";
/// The folders in which packages install PostgreSQL's server programs outside of `PATH`, one folder per version.
const POSTGRES_HOMES: &[&str] = &["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];

/// Makes sure all programs exist; returns the folder of PostgreSQL's server programs.
pub(crate) fn ensure() -> VerbResult<PathBuf> {
    let missing = missing();
    if !missing.is_empty() {
        install(&missing)?;
    }
    postgres().ok_or_else(|| "PostgreSQL's `initdb` and `pg_ctl` are nowhere to be found".into())
}

/// Returns the script that checks the accessibility of pages.
pub(crate) fn axe() -> VerbResult<PathBuf> {
    let file = "axe-core/axe.min.js";
    let folder = npm::ensure("axe-core", "axe-core", AXE, file)?;
    Ok(folder.join("node_modules").join(file))
}

/// True if we are root, who may install packages but not run PostgreSQL.
pub(crate) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn missing() -> Vec<&'static str> {
    let programs =
        PROGRAMS.iter().filter(|(program, _)| !has(program)).map(|(_, package)| *package);
    programs.chain(postgres().is_none().then_some(POSTGRES_PACKAGE)).collect()
}

fn install(packages: &[&str]) -> VerbResult {
    let names = packages.join(" ");
    if !has("apt-get") {
        return Err(format!("the tests need what Debian packages as: {names}; install it").into());
    }
    if !is_root() {
        let how = format!("sudo apt-get install {names}");
        return Err(format!("the tests need packages that only root can install: {how}").into());
    }
    sh(apt_get().arg("update"))?;
    sh(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    match missing().as_slice() {
        [] => Ok(()),
        left => Err(VerbError::from(format!(
            "still missing after the installation: {}",
            left.join(" ")
        ))),
    }
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Returns the first folder whose `initdb` and `pg_ctl` really run: a wrapper may lead nowhere.
fn postgres() -> Option<PathBuf> {
    let homes = POSTGRES_HOMES.iter().flat_map(|home| versions(Path::new(home)));
    path_folders().into_iter().chain(homes).find(|folder| {
        ["initdb", "pg_ctl"].iter().all(|program| {
            let path = folder.join(program);
            path.is_file() && works(Command::new(path).arg("--version"))
        })
    })
}

/// Returns the `bin` folders of the versions below a home, newest first.
fn versions(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    folders.into_iter().map(|folder| folder.join("bin")).collect()
}

/// Parses the number in `15` or `postgresql@15`, so that 9 does not come after 15.
fn version(folder: &Path) -> u32 {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_not_texts() {
        assert!(version(Path::new("/x/15")) > version(Path::new("/x/9")));
        assert_eq!(version(Path::new("/x/postgresql@17")), 17);
        assert_eq!(version(Path::new("/x/other")), 0);
    }
}
