//! Checks the dependencies between crates: a crate's rule is only as good as its dependency list.

use super::CheckFindings;
use super::tree::SourceTree;

/// The allowed dependencies. A crate that is not listed has none.
const EDGES: &[(&str, &[&str])] = &[
    ("sayso", &["sayso-server", "sayso-workflow", "sayso-engine", "sayso-policy", "sayso-core"]),
    ("sayso-server", &["sayso-workflow", "sayso-engine", "sayso-core"]),
    ("sayso-workflow", &["sayso-engine", "sayso-policy", "sayso-core"]),
    ("sayso-engine", &["sayso-store", "sayso-agents", "sayso-policy", "sayso-core"]),
    ("sayso-store", &["sayso-core"]),
    ("sayso-agents", &["sayso-core"]),
    ("sayso-policy", &["sayso-core"]),
    ("sayso-core", &[]),
    ("xtask", &[]),
];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for package in &tree.packages {
        findings.seen += 1;
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == package.name) else {
            let fix =
                "make it a module, or give it a rule, and its edges in xtask/src/tidy/edges.rs";
            let what = format!("the crate `{}` has no line in the table of edges", package.name);
            findings.problem(&package.manifest, 1, what, fix);
            continue;
        };
        let ours = |name: &String| tree.packages.iter().any(|other| other.name == *name);
        for dependency in package.dependencies.iter().filter(|name| ours(name)) {
            if !allowed.contains(&dependency.as_str()) {
                let line = tree.line_of(&package.manifest, dependency);
                let what = format!("`{}` may not depend on `{dependency}`", package.name);
                let fix = format!("reach it through what is allowed: {}", allowed.join(", "));
                findings.problem(&package.manifest, line, what, fix);
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    fn workspace() -> SourceTree {
        SourceTree::of(&[])
            .with("sayso-core", &["serde"])
            .with("sayso-store", &["sayso-core", "rusqlite"])
            .with("sayso-engine", &["sayso-core", "sayso-store"])
    }

    #[test]
    fn allowed_edges_pass() {
        expect(check, &workspace().with("sayso", &["sayso-engine", "clap"]), &[]);
    }

    #[test]
    fn an_edge_past_the_engine_is_refused() {
        let tree = workspace().with("sayso", &["sayso-engine", "sayso-store"]);
        let problem = "crates/sayso/Cargo.toml:3: `sayso` may not depend on `sayso-store`";
        expect(check, &tree, &[problem]);
    }

    #[test]
    fn a_crate_nobody_thought_about_is_refused() {
        let tree = workspace().with("sayso-misc", &["sayso-core"]);
        let problem = "crates/sayso-misc/Cargo.toml:1: \
                       the crate `sayso-misc` has no line in the table of edges";
        expect(check, &tree, &[problem]);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        // Every edge leads to a crate further down the list.
        for (index, (name, allowed)) in EDGES.iter().enumerate() {
            for target in *allowed {
                let at = EDGES.iter().position(|(other, _)| other == target);
                assert!(at.is_some_and(|at| at > index), "{name} -> {target}");
            }
        }
    }
}
