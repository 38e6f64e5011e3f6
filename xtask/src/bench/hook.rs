//! Benchmark of the hook: a whole process for every tool call, beside an empty program and beside hand-written hooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::BuiltPrograms;
use super::spawn::{TimedCommand, empty_program, times_interleaved};
use super::table::{median, ms, spread, table, times};
use crate::shell;
use crate::stop::VerbResult;

/// The number of runs of each command, interleaved with the others.
const ROUNDS: usize = 100;

/// The number of rules of the large policy.
const RULES: usize = 100;

const ALLOWED: &str = r#"{"session_id":"s1","cwd":"/project","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status"},"tool_use_id":"t1"}"#;

/// A minimal hook: it reads the call, looks at its command and lets it run.
const PYTHON: &str = "import json, sys\ncall = json.load(sys.stdin)\ncommand = call['tool_input'].get('command', '')\nif command.startswith('git push'):\n    print('no', file=sys.stderr)\n    sys.exit(2)\n";
const NODE: &str = "const call = JSON.parse(require('fs').readFileSync(0, 'utf8'));\nif ((call.tool_input.command || '').startsWith('git push')) { console.error('no'); process.exit(2); }\n";
const BASH: &str = "command=$(jq -r .tool_input.command)\ncase $command in 'git push'*) echo no >&2; exit 2;; esac\n";

/// Measures the hook beside an empty process, and beside hand-written hooks.
pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let empty = empty_program(built)?;
    let small = space(built, "hook-small", 2)?;
    let large = space(built, "hook-large", RULES)?;
    let denies = space(built, "hook-denies", 2)?;
    let (hooks, absent) = by_hand(&small)?;
    let mut commands = vec![
        TimedCommand::new("an empty Rust program", &empty, &[], &small),
        ours("sayso: allowed, 2 rules", built, &small, ALLOWED),
        ours(&format!("sayso: allowed, {RULES} rules"), built, &large, ALLOWED),
        ours("sayso: denied, on record and in the audit", built, &denies, &denied()),
    ];
    commands.extend(hooks);
    let all = times_interleaved(&commands, ROUNDS)?;
    let medians: Vec<f64> = all.iter().cloned().map(median).collect();
    let rows: Vec<_> = commands
        .iter()
        .zip(&all)
        .zip(&medians)
        .map(|((command, all), median)| {
            let (low, high) = spread(all, 0.1, 0.9);
            vec![
                command.name.clone(),
                ms(*median),
                format!("{} to {}", ms(low), ms(high)),
                times(median / medians[0]),
                times(median / medians[1]),
            ]
        })
        .collect();
    let absent = if absent.is_empty() {
        String::new()
    } else {
        format!("\nNot installed here, so not measured: {}.\n", absent.join(", "))
    };
    Ok(format!(
        "# What a hook costs\n\nWhole processes, {ROUNDS} runs each in turns: median, and between which \
         two times eight of ten lie. SQLite. Those by hand read the call, look whether its command begins \
         with `git push`, and let it run; Python is started without its version manager. \
         `cargo xtask bench hook`\n\n{}{absent}",
        table(&["who", "ms", "spread", "beside the empty program", "beside sayso"], &rows)
    ))
}

fn denied() -> String {
    ALLOWED.replace("git status", "rm -rf build")
}

fn ours(name: &str, built: &BuiltPrograms, dir: &Path, event: &str) -> TimedCommand {
    let mut timed =
        TimedCommand::new(name, &built.sayso, &["hook", "claude-code", "PreToolUse"], dir);
    timed.input = event.into();
    timed.variables = vec![("SAYSO_TOKEN_FILE", dir.join("fixer.token").display().to_string())];
    timed
}

/// Makes a space with an agent and a policy without a rule for the call.
fn space(built: &BuiltPrograms, name: &str, rules: usize) -> VerbResult<PathBuf> {
    let dir = built.dir.join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    fs::write(dir.join("policy.yaml"), policy(rules)).map_err(|e| e.to_string())?;
    for words in [
        "init",
        "token create --role agent --name fixer --out fixer.token",
        "policy set policy.yaml",
    ] {
        // A person does this, at a terminal.
        let line = format!("{} {words}", built.sayso.display());
        let mut command = crate::test::terminals::command(&line)?;
        command.current_dir(&dir);
        shell::run(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    }
    Ok(dir)
}

/// Writes rules of every kind, as people write them.
fn policy(rules: usize) -> String {
    let mut text = String::from(
        "rules:\n  - {name: never, on: tool, match: {command: rm -rf *}, then: deny, reason: Nothing is removed like this.}\n",
    );
    for n in 1..rules {
        text.push_str(&match n % 5 {
            0 => format!("  - {{name: r{n}, on: tool, match: {{command: deploy{n} *}}, then: ask, reason: Others see it.}}\n"),
            1 => format!("  - {{name: r{n}, on: tool, match: {{path: '**/secret{n}/**'}}, then: deny}}\n"),
            2 => format!("  - {{name: r{n}, on: tool, match: {{tool: mcp__server{n}__*}}, then: ask}}\n"),
            3 => format!("  - {{name: r{n}, on: transition, match: {{to: closed, label: area{n}}}, then: ask}}\n"),
            _ => format!("  - {{name: r{n}, on: tool, match: {{tool: Web{n}}}, when: 'tool.args.url.startsWith(\"http:\")', then: ask}}\n"),
        });
    }
    text
}

/// Returns the hand-written hooks for installed interpreters, and the names of missing ones.
fn by_hand(dir: &Path) -> VerbResult<(Vec<TimedCommand>, Vec<&'static str>)> {
    let found = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
    };
    // A version manager in front of Python would take longer than Python.
    let python = found("python3").and_then(|shim| {
        let mut command = Command::new(shim);
        shell::output(command.args(["-c", "import sys; print(sys.executable)"])).ok()
    });
    let python = python.map(|path| PathBuf::from(path.trim()));
    let jq = found("jq").and(found("bash"));
    let (mut hooks, mut absent) = (vec![], vec![]);
    for (name, file, text, program) in [
        ("Python", "hook.py", PYTHON, python),
        ("Node", "hook.js", NODE, found("node")),
        ("bash and one jq", "hook.sh", BASH, jq),
    ] {
        let Some(program) = program else {
            absent.push(name);
            continue;
        };
        fs::write(dir.join(file), text).map_err(|e| format!("{file}: {e}"))?;
        let mut timed = TimedCommand::new(&format!("by hand: {name}"), &program, &[file], dir);
        timed.input = ALLOWED.into();
        hooks.push(timed);
    }
    Ok((hooks, absent))
}
