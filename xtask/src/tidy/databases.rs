//! Checks that only the store depends on a database driver.

use super::CheckFindings;
use super::tree::SourceTree;

const STORE: &str = "sayso-store";
const DRIVERS: &[&str] = &["rusqlite", "libsqlite3-sys", "postgres", "tokio-postgres"];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for package in tree.packages.iter().filter(|package| package.name != STORE) {
        findings.seen += 1;
        for driver in package.dependencies.iter().filter(|name| DRIVERS.contains(&name.as_str())) {
            let line = tree.line_of(&package.manifest, driver);
            let what = format!("`{}` depends on the database driver `{driver}`", package.name);
            let fix = format!("move what needs it to {STORE}, behind `Store`");
            findings.problem(&package.manifest, line, what, fix);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn a_driver_outside_the_store_is_found() {
        let tree = SourceTree::of(&[])
            .with("sayso-store", &["rusqlite", "postgres"])
            .with("sayso-engine", &["serde", "postgres"])
            .with("sayso", &["clap"]);
        let problem = "crates/sayso-engine/Cargo.toml:3: \
                       `sayso-engine` depends on the database driver `postgres`";
        expect(check, &tree, &[problem]);
    }
}
