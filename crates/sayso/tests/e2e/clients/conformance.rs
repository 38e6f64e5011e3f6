//! The official conformance suite for servers, against ours over HTTP. What does not apply to it is named
//! with its reason in `tests/clients/conformance.yaml`.

use crate::harness::{Backend, Ran, Space};
use crate::mcp::client::Server;
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

#[test]
#[ignore = "needs the suite: cargo xtask clients conformance"]
fn the_official_suite() {
    let space = Space::new(Backend::Sqlite);
    let server = Server::start(&space, "127.0.0.1:0", "0s");
    let program = std::env::var("SAYSO_TEST_CONFORMANCE").unwrap();
    let mut suite = Command::new(program);
    suite.args(["server", "--suite", "all", "--timeout", "10000"]);
    suite.args(["--url", &format!("http://{}/mcp", server.address)]);
    suite.args(["--expected-failures", &format!("{FOLDER}/conformance.yaml")]);
    suite.env("PATH", super::client::path()).current_dir(space.path());
    suite.env("NODE_OPTIONS", format!("--require {FOLDER}/conformance.cjs"));
    let token = std::fs::read_to_string(space.token("coder")).unwrap();
    suite.env("SAYSO_CONFORMANCE_TOKEN", token.trim());
    let ran = Ran::of(&suite.output().unwrap());
    let at = ran.stdout.find("=== SUMMARY").unwrap_or(0);
    assert_eq!(ran.code, 0, "{}\n{}", &ran.stdout[at..], ran.stderr);
    let passed = ran.stdout[at..].lines().filter(|line| line.starts_with('✓')).count();
    assert!(passed >= 12, "{passed} scenarios passed: {}", &ran.stdout[at..]);
}
