//! What the guide shows is what works: its lines are run as they stand there.

use super::Server;
use crate::harness::on_both;
use std::process::Command;

/// The lines of the page that a shell runs, but for the one that starts the server.
fn script() -> String {
    let page = include_str!("../../../../../docs/guide/http.md");
    let (mut script, mut is_inside) = (String::new(), false);
    for line in page.lines() {
        match line {
            _ if line.starts_with("```") => is_inside = !is_inside && line == "```sh",
            _ if is_inside && !line.starts_with("sayso serve") => {
                script.push_str(line);
                script.push_str("; echo\n");
            }
            _ => {}
        }
    }
    script
}

on_both! {
    fn every_line_of_the_guide_works(space: &Space) {
        let server = Server::of(space);
        std::fs::copy(space.token("coder"), space.path().join("agent.token")).unwrap();
        let here = format!("{}/v1/spaces/{}", server.address, server.space);
        let script = script().replace("127.0.0.1:7411/v1/spaces/shop", &here);
        assert!(script.matches("$API").count() >= 10, "{script}");
        let ran = Command::new("sh").args(["-euc", &script]).current_dir(space.path()).output().unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{said}\n{wrong}");
        for expected in ["\"state\":\"open\"", "\"verdict\":\"approved\"", "\"acknowledged\"", "id: 1\n", "approval_rate"] {
            assert!(said.contains(expected), "{expected} is not in {said}");
        }
    }
}
