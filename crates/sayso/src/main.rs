//! The command-line program: approvals and questions for AI agents.
//!
//! This is the only crate that prints, exits, or reads the user's environment. Commands hold no
//! rules: they build requests to the desk, and print its responses.

mod audit_heads;
mod card;
mod cli;
mod commands;
mod config;
mod context;
mod editor;
mod exit;
mod failpoint;
mod fleet;
mod flow_runner;
mod generate;
mod identity;
mod log;
mod notice_sending;
mod open_desk;
mod output;
mod telemetry;
mod time;
mod trust;
mod tui;
mod work;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    identity::note_terminal();
    let cli = match hook() {
        Some(cli) => cli,
        None => {
            clap_complete::CompleteEnv::with_factory(cli::Cli::command).complete();
            match cli::Cli::try_parse_from(std::env::args_os()) {
                Ok(cli) => cli,
                Err(error) => return exit::usage(&error, wants_json()),
            }
        }
    };
    let cli = if config::is_for_screen_reader(&cli.globals) {
        cli::Cli { globals: cli::GlobalArgs { plain: true, ..cli.globals }, ..cli }
    } else {
        cli
    };
    let out = output::CliOutput::new(&cli.globals);
    identity::warn_of_open_token(&out);
    let ended = commands::run(cli, &out).and_then(|code| out.check_written().map(|()| code));
    match ended {
        Ok(code) => exit::code(code),
        Err(failure) => exit::failure(&failure, &out),
    }
}

/// Parses the command line if it is a valid `sayso hook`. Every other case goes to the full parser.
fn hook() -> Option<cli::Cli> {
    let is_hook = std::env::args_os().nth(1).is_some_and(|word| word == "hook");
    if !is_hook || std::env::var_os("COMPLETE").is_some() {
        return None;
    }
    cli::HookCli::try_parse_from(std::env::args_os()).ok().map(cli::Cli::from)
}

/// True if JSON is wanted, for a command line that could not be parsed.
fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}
