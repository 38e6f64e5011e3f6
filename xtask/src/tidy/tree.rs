//! The repository as the checks see it: its files, and the dependencies of its crates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::shell::{cargo, output};
use crate::stop::{VerbError, VerbResult};

/// Files by path from the root, the packages of the workspace, and the recent history.
#[derive(Debug, Default)]
pub(super) struct SourceTree {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) packages: Vec<CratePackage>,
    /// The subjects of the latest commits, without merges.
    pub(super) subjects: Vec<String>,
}

/// One crate of the workspace.
#[derive(Debug)]
pub(super) struct CratePackage {
    pub(super) name: String,
    /// The path of its `Cargo.toml` from the root.
    pub(super) manifest: String,
    /// Its dependencies, except those of its tests, which may use any crate.
    pub(super) dependencies: Vec<String>,
}

impl SourceTree {
    pub(super) fn read() -> VerbResult<SourceTree> {
        Ok(SourceTree { files: files()?, packages: packages()?, subjects: subjects()? })
    }

    /// Returns a file's text, if it exists.
    pub(super) fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.files.get(path).map(|bytes| String::from_utf8_lossy(bytes))
    }

    /// Returns every Rust file whose path fits, with its text.
    pub(super) fn rust(
        &self,
        fits: fn(&str) -> bool,
    ) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let chosen = self.files.iter().filter(move |(path, _)| path.ends_with(".rs") && fits(path));
        chosen.map(|(path, bytes)| (path.as_str(), String::from_utf8_lossy(bytes)))
    }

    /// True if a file or folder of this path exists.
    pub(super) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// True if a module at the top of a crate is for its tests alone, by the attribute in its parent.
    pub(super) fn is_for_tests(&self, path: &str) -> bool {
        let Some((folder, file)) = path.rsplit_once('/') else { return false };
        let Some(name) = file.strip_suffix(".rs") else { return false };
        let parent = self.text(&format!("{folder}/lib.rs")).unwrap_or_default();
        let lines: Vec<&str> = parent.lines().collect();
        lines.windows(2).any(|two| two[0] == "#[cfg(test)]" && two[1] == format!("mod {name};"))
    }

    /// Returns the line of a crate's manifest that names a dependency.
    pub(super) fn line_of(&self, manifest: &str, dependency: &str) -> usize {
        let text = self.text(manifest).unwrap_or_default();
        let names = |line: &str| {
            line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        text.lines().position(names).map_or(1, |index| index + 1)
    }
}

/// Returns the name of the crate folder a source file is in, when it is below its `src`.
pub(super) fn crate_of_source(path: &str) -> Option<&str> {
    let (name, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    inside.starts_with("src/").then_some(name)
}

/// Reads tracked files and those about to be: the possible content of the next commit.
fn files() -> VerbResult<BTreeMap<String, Vec<u8>>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = output(Command::new("git").args(list))?;
    let mut files = BTreeMap::new();
    for name in names.split_terminator('\0').filter(|name| is_plain_file(name)) {
        let bytes = fs::read(name).map_err(|e| VerbError::from(format!("{name}: {e}")))?;
        files.insert(name.to_owned(), bytes);
    }
    Ok(files)
}

/// A file deleted but not yet committed is still listed; a link has no content of its own.
fn is_plain_file(name: &str) -> bool {
    Path::new(name).symlink_metadata().is_ok_and(|meta| meta.is_file())
}

/// The number of commits that are looked at. Older ones were written before they had a scope.
const SUBJECTS_MAX: &str = "-40";

fn subjects() -> VerbResult<Vec<String>> {
    let mut log = Command::new("git");
    let log = output(log.args(["log", "--no-merges", SUBJECTS_MAX, "--format=%s"]))?;
    Ok(log.lines().map(Into::into).collect())
}

fn packages() -> VerbResult<Vec<CratePackage>> {
    let metadata =
        output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"]))?;
    let metadata = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    parse(&metadata).ok_or_else(|| "cargo metadata has an unknown form".into())
}

fn parse(metadata: &Value) -> Option<Vec<CratePackage>> {
    let root = metadata["workspace_root"].as_str()?;
    metadata["packages"].as_array()?.iter().map(|package| parse_package(root, package)).collect()
}

fn parse_package(root: &str, package: &Value) -> Option<CratePackage> {
    let manifest = Path::new(package["manifest_path"].as_str()?).strip_prefix(root).ok()?;
    let dependencies = package["dependencies"].as_array()?.iter().filter(|d| d["kind"] != "dev");
    Some(CratePackage {
        name: package["name"].as_str()?.into(),
        manifest: manifest.to_str()?.into(),
        dependencies: dependencies
            .map(|d| Some(d["name"].as_str()?.into()))
            .collect::<Option<_>>()?,
    })
}

#[cfg(test)]
impl SourceTree {
    /// Makes a tree of `(path, text)`.
    pub(super) fn of(files: &[(&str, &str)]) -> SourceTree {
        let files = files.iter().map(|(path, text)| ((*path).into(), text.as_bytes().to_vec()));
        SourceTree { files: files.collect(), ..SourceTree::default() }
    }

    /// Adds one more crate, and a manifest that names its dependencies.
    pub(super) fn with(mut self, name: &str, dependencies: &[&str]) -> SourceTree {
        let manifest = format!("crates/{name}/Cargo.toml");
        let lines: String =
            dependencies.iter().map(|d| format!("{d}.workspace = true\n")).collect();
        self.files.insert(manifest.clone(), format!("[dependencies]\n{lines}").into_bytes());
        let dependencies = dependencies.iter().map(|d| (*d).into()).collect();
        self.packages.push(CratePackage { name: name.into(), manifest, dependencies });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_without_dev_dependencies() {
        let metadata = serde_json::json!({
            "workspace_root": "/here",
            "packages": [{
                "name": "sayso-store",
                "manifest_path": "/here/crates/sayso-store/Cargo.toml",
                "dependencies": [
                    {"name": "sayso-core", "kind": null},
                    {"name": "cc", "kind": "build"},
                    {"name": "tempfile", "kind": "dev"},
                ],
            }],
        });
        let packages = parse(&metadata).unwrap();
        assert_eq!(packages.len(), 1);
        assert_eq!(packages[0].manifest, "crates/sayso-store/Cargo.toml");
        assert_eq!(packages[0].dependencies, ["sayso-core", "cc"]);
    }

    #[test]
    fn metadata_of_an_unknown_form_is_not_an_empty_workspace() {
        assert!(parse(&serde_json::json!({"workspace_root": "/here"})).is_none());
    }

    #[test]
    fn a_module_is_for_tests_when_its_parent_says_so() {
        let lib = "mod gate;\n#[cfg(test)]\nmod testing;\n";
        let tree = SourceTree::of(&[("crates/a/src/lib.rs", lib)]);
        assert!(tree.is_for_tests("crates/a/src/testing.rs"));
        assert!(!tree.is_for_tests("crates/a/src/gate.rs"));
        assert!(!tree.is_for_tests("crates/b/src/testing.rs"));
    }

    #[test]
    fn folders_and_files_are_held_but_not_prefixes_of_names() {
        let tree = SourceTree::of(&[("docs/errors/SAY001.md", "")]);
        assert!(tree.holds("docs/errors") && tree.holds("docs/errors/SAY001.md"));
        assert!(!tree.holds("docs/err"));
    }
}
