//! Checks that the map in ARCHITECTURE.md names the existing modules, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::CheckFindings;
use super::tree::{SourceTree, crate_of_source};

const MAP: &str = "ARCHITECTURE.md";
const MAPPED: &[&str] = &["crates/", "xtask/", "docs/"];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let named = named_paths(&tree.text(MAP).unwrap_or_default());
    let wanted = places(tree);
    let mut findings = CheckFindings { seen: wanted.len(), ..CheckFindings::default() };
    for place in &wanted {
        // A module may be named by its file or by its folder; either leads there.
        let file = format!("{place}.rs");
        if !named.contains_key(place) && !named.contains_key(&file) {
            let path = if tree.holds(&file) { file } else { place.clone() };
            let fix = format!("add a line with `{path}` and what it is");
            findings.problem(MAP, 1, format!("the map does not name `{path}`"), fix);
        }
    }
    for (path, line) in named.iter().filter(|(path, _)| !tree.holds(path)) {
        let fix = "name the place it moved to, or drop it";
        findings.problem(MAP, *line, format!("the map names `{path}`, which is not there"), fix);
    }
    findings
}

/// Returns crate folders, and the modules at the top of each crate's `src`, without `.rs`.
fn places(tree: &SourceTree) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for (path, _) in tree.rust(|path| crate_of_source(path).is_some()) {
        let mut parts = path.splitn(4, '/').skip(1);
        let (Some(name), Some(_src), Some(inside)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        places.insert(format!("crates/{name}"));
        let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
        if !["lib", "main", "mod"].contains(&module) {
            places.insert(format!("crates/{name}/src/{module}"));
        }
    }
    places
}

/// Returns the paths of ours in backticks, with the line each is first named on.
fn named_paths(text: &str) -> BTreeMap<String, usize> {
    let mut named = BTreeMap::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Between the first and second backtick, the third and fourth, and so on.
        for quoted in line.split('`').skip(1).step_by(2) {
            let path = quoted.split([' ', '#']).next().unwrap_or_default();
            if MAPPED.iter().any(|start| path.starts_with(start)) {
                for path in unfolded(path) {
                    named.entry(path.trim_end_matches('/').to_owned()).or_insert(index + 1);
                }
            }
        }
    }
    named
}

/// Expands `src/{a,b}.rs` to `src/a.rs` and `src/b.rs`.
fn unfolded(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match parts {
        None => vec![path.to_owned()],
        Some((head, (names, tail))) => {
            names.split(',').map(|name| format!("{head}{name}{tail}")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    fn tree(map: &str) -> SourceTree {
        SourceTree::of(&[
            (MAP, map),
            ("crates/sayso-core/src/lib.rs", ""),
            ("crates/sayso-core/src/gate.rs", ""),
            ("crates/sayso-core/src/task.rs", ""),
            ("crates/sayso-core/src/policy/layers.rs", ""),
            ("docs/errors/SAY001.md", ""),
        ])
    }

    #[test]
    fn a_full_map_passes() {
        let map = "`crates/sayso-core/`: `crates/sayso-core/src/{gate,task}.rs`,\n\
                   `crates/sayso-core/src/policy/` and `docs/errors/`, `other/place`";
        expect(check, &tree(map), &[]);
    }

    #[test]
    fn crates_files_and_folders_must_be_named() {
        let problems = [
            "ARCHITECTURE.md:1: the map does not name `crates/sayso-core`",
            "ARCHITECTURE.md:1: the map does not name `crates/sayso-core/src/gate.rs`",
            "ARCHITECTURE.md:1: the map does not name `crates/sayso-core/src/policy`",
        ];
        expect(check, &tree("see `crates/sayso-core/src/task.rs`"), &problems);
    }

    #[test]
    fn what_is_named_must_be_there() {
        let map = "`crates/sayso-core` `crates/sayso-core/src/{gate,task}.rs`\n\
                   `crates/sayso-core/src/policy`\n`docs/guide/` and `xtask/src/dance.rs`";
        let problems = [
            "ARCHITECTURE.md:3: the map names `docs/guide`, which is not there",
            "ARCHITECTURE.md:3: the map names `xtask/src/dance.rs`, which is not there",
        ];
        expect(check, &tree(map), &problems);
    }

    #[test]
    fn a_drawing_in_a_fence_names_nothing() {
        assert!(named_paths("```\n`crates/sayso-core`\n```").is_empty());
    }
}
