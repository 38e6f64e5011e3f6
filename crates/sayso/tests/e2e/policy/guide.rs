//! The policies of the guide: without mistakes, with tests that pass, and as the page shows them.

use super::{folder, policy};
use std::path::PathBuf;

fn guide() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide")
}

/// Each with its layer, which the guide's files have in their names.
fn files() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(guide().join("policy")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let source = |path: &PathBuf| {
        let shown = path.to_str().unwrap();
        match path.file_stem().unwrap().to_str().unwrap() {
            "admin" => format!("admin={shown}"),
            "rex" => format!("agent:rex={shown}"),
            _ => shown.to_owned(),
        }
    };
    paths.iter().map(|path| (source(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_policy_of_the_guide_is_right_and_tested() {
    let (space, files) = (folder(&[]), files());
    for (file, _) in &files {
        policy(&space, &["check", file]).says("1 file, no mistakes").ok();
        let tested = policy(&space, &["test", file, "--json"]).json();
        assert!(tested["passed"].as_u64().unwrap() >= 2, "{file}: {tested}");
        assert_eq!(tested["failed"], 0, "{file}");
    }
    assert!(files.len() >= 7, "{}", files.len());
}

#[test]
fn the_page_shows_what_the_files_say() {
    let page = std::fs::read_to_string(guide().join("policy.md")).unwrap();
    let files = files();
    let blocks: Vec<_> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for block in &blocks {
        let is_there = files.iter().any(|(_, text)| text.contains(block.trim_end()));
        assert!(is_there, "in no file of docs/guide/policy:\n{block}");
    }
    assert!(blocks.len() >= 5, "{}", blocks.len());
}
