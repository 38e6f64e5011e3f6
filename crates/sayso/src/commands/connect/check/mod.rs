//! `sayso connect --check`: verifies that a client runs its hooks, by running the client.

mod look;
mod model;
mod play;

pub(super) use look::{holes, scopes};

use super::setup::{self, Places, Scope};
use crate::commands::doctor::{self, Check};
use crate::commands::hook::PROBE_SAYS;
use crate::commands::hook::dialect::Client;
use crate::out::{Look, Out};
use play::Played;
use sayso_core::text::harmless_line;
use sayso_core::{Code, Exit};
use serde::Serialize;

/// The results of checking a client.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Checked {
    /// The name of the client.
    client: String,
    /// The scopes in which it is connected: project, user, or both.
    scopes: Vec<String>,
    /// True if all checks passed.
    healthy: bool,
    /// The checks, in order.
    checks: Vec<Check>,
    /// The gaps of the client that no setup closes.
    holes: Vec<String>,
}

/// A client to check.
pub(super) struct Subject<'a> {
    pub(super) client: Client,
    pub(super) program: Option<String>,
    pub(super) places: &'a Places,
    /// True if there is an MCP server to look for.
    pub(super) has_server: bool,
    /// True if it was named, and so is expected to be connected.
    pub(super) is_meant: bool,
}

impl Subject<'_> {
    /// Runs all checks, with one turn of the client where it is connected.
    pub(super) fn check(&self) -> Checked {
        let scopes = scopes(self.places, self.client);
        let mut checks = self.look(&scopes, true);
        if let (Some(program), false) = (&self.program, scopes.is_empty()) {
            checks.extend(self.play(program));
        }
        Checked {
            client: self.client.name().into(),
            scopes: scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            healthy: checks.iter().all(|check| check.exit().is_none()),
            checks,
            holes: holes(self.client).iter().map(|&hole| hole.to_owned()).collect(),
        }
    }

    /// Runs the static checks; nothing is started unless `asks`.
    pub(super) fn look(&self, scopes: &[Scope], asks: bool) -> Vec<Check> {
        let name = self.client.name();
        let mut checks = vec![];
        match (&self.program, scopes.is_empty()) {
            (None, true) if !self.is_meant => {
                return vec![Check::ok("client", "not installed, and not connected")];
            }
            (None, true) => checks.push(Check::ok("client", "not installed")),
            (None, false) => {
                let hint = format!(
                    "install it, or name its program in agents.{name} of .sayso/config.yaml"
                );
                checks.push(Check::failed("client", "not found", Some(hint), Code::NoAgent));
            }
            (Some(program), _) => checks.push(Check::ok("client", program)),
        }
        if scopes.is_empty() {
            let hint = format!("connect it with: sayso connect {name}");
            let seen = "not connected: it asks nobody but its own user";
            checks.push(match self.is_meant {
                true => Check::failed("settings", seen, Some(hint), Code::Invalid),
                false => Check::warning("settings", seen, &hint),
            });
            return checks;
        }
        if let Some(program) = self.program.as_deref().filter(|_| asks) {
            checks.push(look::version(self.client, program));
        }
        checks.extend(look::settings(self.places, self.client, scopes));
        if let Some(program) =
            self.program.as_deref().filter(|_| asks && self.client == Client::Codex)
        {
            checks.push(look::trust(self.places, program, scopes));
        }
        checks
    }

    fn play(&self, program: &str) -> Vec<Check> {
        // Run without its user, Codex records on its own that they trust the project.
        let path = self.places.trust();
        let before = std::fs::read(&path).ok().filter(|_| self.client == Client::Codex);
        let played = play::play(self.client, program, &self.places.project);
        if let Some(before) =
            before.filter(|before| std::fs::read(&path).ok().as_ref() != Some(before))
        {
            let _ = std::fs::write(&path, before);
        }
        match played {
            Ok(played) => self.judge(&played),
            Err(error) => {
                let seen = format!("{program} cannot be run: {error}");
                vec![Check::failed("turn", &seen, None, Code::NoAgent)]
            }
        }
    }

    fn judge(&self, played: &Played) -> Vec<Check> {
        let failed = |name: &str, seen: &str, hint: &str| {
            Check::failed(name, seen, Some(hint.into()), Code::Failure)
        };
        let mut checks = vec![];
        let anew = format!("connect it again: sayso connect {}", self.client.name());
        let calls = |event: &str| setup::is_call(self.client, event);
        let mut hooks = played.hooks.iter().filter(|(event, _)| calls(event));
        checks.push(match (hooks.next(), played.heard.has_called) {
            (Some((event, None)), _) => Check::ok("hook", &format!("{event} is run before a call")),
            (Some((event, Some(problem))), _) => {
                let seen =
                    format!("{event} is run and blocks everything: {}", harmless_line(problem));
                failed("hook", &seen, &anew)
            }
            (None, true) => failed("hook", "it is not run: calls go past the policy", &anew),
            (None, false) => return vec![no_turn(played)],
        });
        checks.push(match played.has_run {
            false => Check::ok("call", "what was denied did not run"),
            true => failed("call", "the call ran although it was to be denied", &anew),
        });
        checks.push(match played.heard.after.contains(PROBE_SAYS) {
            true => Check::ok("reason", "the model is told why"),
            false => failed("reason", "the model was not told why", &anew),
        });
        if self.has_server {
            checks.push(match played.heard.has_own_tool {
                true => Check::ok("mcp", "the server is started and its tools are on offer"),
                false => failed("mcp", "the model was offered no tool of sayso", &anew),
            });
        }
        checks
    }
}

/// The check that failed because no turn took place.
fn no_turn(played: &Played) -> Check {
    let last = played.ran.said.lines().rev().find(|line| !line.trim().is_empty());
    let last = harmless_line(last.unwrap_or("nothing").trim());
    let last: String = last.chars().take(300).collect();
    let seen = match (played.heard.requests, played.ran.is_in_time) {
        (0, true) => format!("it ended without asking its model; the last it said: {last}"),
        (0, false) => format!("it did not ask its model in time; the last it said: {last}"),
        (_, _) => "it offered its model no shell, so nothing was shown".to_owned(),
    };
    let hint = "run it once by hand in this folder, and look what it says".to_owned();
    Check::failed("turn", &seen, Some(hint), Code::Failure)
}

/// Prints the results, and returns the exit code.
pub(super) fn report(out: &Out, all: &[Checked]) -> Exit {
    let exit = all.iter().flat_map(|checked| &checked.checks).find_map(Check::exit);
    if out.json {
        out.json(&all);
        return exit.unwrap_or(Exit::Ok);
    }
    for checked in all {
        out.line(&out.paint(Look::Strong, &checked.client));
        doctor::print_checks(out, &checked.checks);
        if !checked.scopes.is_empty() {
            for hole in &checked.holes {
                out.line(&out.paint(Look::Faint, &format!("  known: {hole}")));
            }
        }
    }
    exit.unwrap_or(Exit::Ok)
}
