//! `sayso connect --check`: verifies that a client runs its hooks, by running the client.

mod client_turn;
mod model_server;
mod static_checks;

pub(super) use static_checks::{known_gaps, scopes};

use super::setup::{self, ClientPaths, ConnectScope};
use crate::commands::doctor::{self, DoctorCheck};
use crate::commands::hook::PROBE_SAYS;
use crate::commands::hook::protocol::HookClient;
use crate::output::{CliOutput, OutputStyle};
use client_turn::TurnObservation;
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use serde::Serialize;

/// The results of checking a client.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Checked")]
pub(crate) struct ClientReport {
    /// The name of the client.
    client: String,
    /// The scopes in which it is connected: project, user, or both.
    scopes: Vec<String>,
    /// True if all checks passed.
    healthy: bool,
    /// The checks, in order.
    checks: Vec<DoctorCheck>,
    /// The gaps of the client that no setup closes.
    holes: Vec<String>,
}

/// A client to check.
pub(super) struct CheckedClient<'a> {
    pub(super) client: HookClient,
    pub(super) program: Option<String>,
    pub(super) places: &'a ClientPaths,
    /// True if there is an MCP server to look for.
    pub(super) has_server: bool,
    /// True if it was named, and so is expected to be connected.
    pub(super) is_meant: bool,
}

impl CheckedClient<'_> {
    /// Runs all checks, with one turn of the client where it is connected.
    pub(super) fn check(&self) -> ClientReport {
        let scopes = scopes(self.places, self.client);
        let mut checks = self.look(&scopes, true);
        if let (Some(program), false) = (&self.program, scopes.is_empty()) {
            checks.extend(self.play(program));
        }
        ClientReport {
            client: self.client.name().into(),
            scopes: scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            healthy: checks.iter().all(|check| check.exit().is_none()),
            checks,
            holes: known_gaps(self.client).iter().map(|&hole| hole.to_owned()).collect(),
        }
    }

    /// Runs the static checks; nothing is started unless `asks`.
    pub(super) fn look(&self, scopes: &[ConnectScope], asks: bool) -> Vec<DoctorCheck> {
        let name = self.client.name();
        let mut checks = vec![];
        match (&self.program, scopes.is_empty()) {
            (None, true) if !self.is_meant => {
                return vec![DoctorCheck::ok("client", "not installed, and not connected")];
            }
            (None, true) => checks.push(DoctorCheck::ok("client", "not installed")),
            (None, false) => {
                let hint = format!(
                    "install it, or name its program in agents.{name} of .sayso/config.yaml"
                );
                checks.push(DoctorCheck::failed("client", "not found", Some(hint), Code::NoAgent));
            }
            (Some(program), _) => checks.push(DoctorCheck::ok("client", program)),
        }
        if scopes.is_empty() {
            let hint = format!("connect it with: sayso connect {name}");
            let seen = "not connected: it asks nobody but its own user";
            checks.push(if self.is_meant {
                DoctorCheck::failed("settings", seen, Some(hint), Code::Invalid)
            } else {
                DoctorCheck::warning("settings", seen, &hint)
            });
            return checks;
        }
        if let Some(program) = self.program.as_deref().filter(|_| asks) {
            checks.push(static_checks::version(self.client, program));
        }
        checks.extend(static_checks::settings(self.places, self.client, scopes));
        if let Some(program) =
            self.program.as_deref().filter(|_| asks && self.client == HookClient::Codex)
        {
            checks.push(static_checks::trust(self.places, program, scopes));
        }
        checks
    }

    fn play(&self, program: &str) -> Vec<DoctorCheck> {
        // Run without its user, Codex records on its own that they trust the project.
        let path = self.places.trust();
        let before = std::fs::read(&path).ok().filter(|_| self.client == HookClient::Codex);
        let played = client_turn::play(self.client, program, &self.places.project);
        if let Some(before) =
            before.filter(|before| std::fs::read(&path).ok().as_ref() != Some(before))
        {
            let _ = std::fs::write(&path, before);
        }
        match played {
            Ok(played) => self.judge(&played),
            Err(error) => {
                let seen = format!("{program} cannot be run: {error}");
                vec![DoctorCheck::failed("turn", &seen, None, Code::NoAgent)]
            }
        }
    }

    fn judge(&self, played: &TurnObservation) -> Vec<DoctorCheck> {
        let failed = |name: &str, seen: &str, hint: &str| {
            DoctorCheck::failed(name, seen, Some(hint.into()), Code::Failure)
        };
        let mut checks = vec![];
        let anew = format!("connect it again: sayso connect {}", self.client.name());
        let calls = |event: &str| setup::is_call(self.client, event);
        let mut hooks = played.hooks.iter().filter(|(event, _)| calls(event));
        checks.push(match (hooks.next(), played.heard.has_called) {
            (Some((event, None)), _) => {
                DoctorCheck::ok("hook", &format!("{event} is run before a call"))
            }
            (Some((event, Some(problem))), _) => {
                let seen =
                    format!("{event} is run and blocks everything: {}", sanitize_line(problem));
                failed("hook", &seen, &anew)
            }
            (None, true) => failed("hook", "it is not run: calls go past the policy", &anew),
            (None, false) => return vec![no_turn(played)],
        });
        checks.push(if played.has_run {
            failed("call", "the call ran although it was to be denied", &anew)
        } else {
            DoctorCheck::ok("call", "what was denied did not run")
        });
        checks.push(if played.heard.after.contains(PROBE_SAYS) {
            DoctorCheck::ok("reason", "the model is told why")
        } else {
            failed("reason", "the model was not told why", &anew)
        });
        if self.has_server {
            checks.push(if played.heard.has_own_tool {
                DoctorCheck::ok("mcp", "the server is started and its tools are on offer")
            } else {
                failed("mcp", "the model was offered no tool of sayso", &anew)
            });
        }
        checks
    }
}

/// The check that failed because no turn took place.
fn no_turn(played: &TurnObservation) -> DoctorCheck {
    let last = played.ran.said.lines().rev().find(|line| !line.trim().is_empty());
    let last = sanitize_line(last.unwrap_or("nothing").trim());
    let last: String = last.chars().take(300).collect();
    let seen = match (played.heard.requests, played.ran.is_in_time) {
        (0, true) => format!("it ended without asking its model; the last it said: {last}"),
        (0, false) => format!("it did not ask its model in time; the last it said: {last}"),
        (_, _) => "it offered its model no shell, so nothing was shown".to_owned(),
    };
    let hint = "run it once by hand in this folder, and look what it says".to_owned();
    DoctorCheck::failed("turn", &seen, Some(hint), Code::Failure)
}

/// Prints the results, and returns the exit code.
pub(super) fn report(out: &CliOutput, all: &[ClientReport]) -> CommandExit {
    let exit = all.iter().flat_map(|checked| &checked.checks).find_map(DoctorCheck::exit);
    if out.json {
        out.json(&all);
        return exit.unwrap_or(CommandExit::Ok);
    }
    for checked in all {
        out.line(&out.paint(OutputStyle::Strong, &checked.client));
        doctor::print_checks(out, &checked.checks);
        if !checked.scopes.is_empty() {
            for hole in &checked.holes {
                out.line(&out.paint(OutputStyle::Faint, &format!("  known: {hole}")));
            }
        }
    }
    exit.unwrap_or(CommandExit::Ok)
}
