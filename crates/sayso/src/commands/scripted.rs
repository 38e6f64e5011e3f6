//! `sayso __scripted`: the scripted agent, for tests and demonstrations.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use sayso_core::{Code, CommandExit};
use sayso_engine::agents::scripted::{self, ScriptedStart};
use std::io::{Read, Write};
use std::path::PathBuf;

/// Play a script as an agent; the prompt is read from standard input.
#[derive(clap::Args)]
pub(crate) struct ScriptedArgs {
    /// The path of the script.
    script: PathBuf,
    /// The session to play.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Go on at this turn and step.
    #[arg(long, value_name = "TURN:STEP", value_parser = place, hide = true)]
    at: Option<(usize, usize)>,
}

fn place(typed: &str) -> std::result::Result<(usize, usize), String> {
    let parts = typed
        .split_once(':')
        .and_then(|(turn, step)| Some((turn.parse().ok()?, step.parse().ok()?)));
    parts.ok_or_else(|| "write it as TURN:STEP".to_owned())
}

pub(crate) fn run(args: ScriptedArgs, _: &CliContext<'_>) -> Result<CommandExit> {
    let mut prompt = vec![];
    // A resumed session has read the prompt before.
    if args.at.is_none() {
        std::io::stdin().lock().read_to_end(&mut prompt)?;
    }
    let state = std::env::var_os("SAYSO_SCRIPT_STATE").map(PathBuf::from);
    let task = std::env::var("SAYSO_TASK").ok();
    let program = std::env::current_exe()?;
    let start = ScriptedStart {
        script: &args.script,
        session: args.session.as_deref(),
        at: args.at,
        prompt: &String::from_utf8_lossy(&prompt),
        state: state.as_deref(),
        task: task.as_deref(),
        program: &program,
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let code = scripted::play(&start, &mut out).map_err(|why| Failure::new(Code::BadValue, why))?;
    out.flush()?;
    match code {
        0 => Ok(CommandExit::Ok),
        // The exit codes of a script are its own.
        code => std::process::exit(code.into()),
    }
}
