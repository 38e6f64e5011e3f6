//! `sayso policy test`: runs policy tests.

use super::files::{self, PolicyFileArgs};
use super::wire;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::{CliOutput, OutputStyle};
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use sayso_policy::PolicySet;

/// Run the tests that are written in policies.
///
/// A test names a request, what the file is to say of it, and if you like the rule that is to decide.
/// Each file is tested by itself. The exit code is 1 if a test fails, or if there is none.
///
/// With `--smuggle`, known ways to run a command past a rule are tried instead: for each command that the policy
/// asks about or denies, more than a thousand lines that hide it. What passes is printed, with exit code 1. The
/// guide names what a policy does not see.
#[derive(clap::Args)]
#[command(after_help = "A test, in the policy file:
  tests:
    - name: a push asks
      request: {on: tool, tool: Bash, command: \"git push origin main\"}
      expect: ask
      by: pushes")]
pub(crate) struct PolicyTestArgs {
    #[command(flatten)]
    given: PolicyFileArgs,
    /// Try known ways to run the commands it asks about or denies.
    #[arg(long)]
    smuggle: bool,
}

/// The maximum number of lines that are printed.
const PASSED_MAX: usize = 50;

pub(crate) fn run(args: PolicyTestArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let usual = args.given.usual();
    let policies = files::read_or_in_force(context, &args.given.files, &usual)?;
    if args.smuggle {
        return smuggle(context.out, &policies);
    }
    let tested = wire::PolicyTestReport::of(policies.run_tests());
    if context.out.json {
        context.out.json(&tested)
    } else {
        print(context.out, &tested)
    }
    match (tested.failed, tested.passed) {
        (0, 0) => Err(Failure::new(Code::PolicyTest, "there is no test to run")
            .hint("write some, as in: sayso policy presets balanced")),
        (0, _) => Ok(CommandExit::Ok),
        (1, passed) => Err(failed(format!("1 of {} tests fails", passed + 1))),
        (failed_, passed) => Err(failed(format!("{failed_} of {} tests fail", failed_ + passed))),
    }
}

fn smuggle(out: &CliOutput, policies: &PolicySet) -> Result<CommandExit> {
    let report = wire::SmuggleReport::of(policies.smuggle());
    if report.commands.is_empty() {
        return Err(Failure::new(Code::PolicyTest, "no rule asks about a command or denies one")
            .hint("write one, as in: sayso policy presets balanced"));
    }
    if out.json {
        out.json(&report);
    } else {
        print_smuggled(out, &report);
    }
    match report.passed.len() {
        0 => Ok(CommandExit::Ok),
        passed => {
            let message = format!("{passed} of {} lines pass", report.tried);
            Err(Failure::new(Code::Smuggled, message)
                .hint("see what is made of one with: sayso policy explain --command 'LINE'"))
        }
    }
}

fn print_smuggled(out: &CliOutput, report: &wire::SmuggleReport) {
    for passed in report.passed.iter().take(PASSED_MAX) {
        let mark = out.paint(OutputStyle::Bad, out.icon("✗", "FAIL"));
        let line = sanitize_line(&passed.line.replace('\n', "⏎"));
        out.line(&format!("{mark} {}: {line}", sanitize_line(&passed.command)));
    }
    if report.passed.len() > PASSED_MAX {
        out.line(&format!(
            "  … and {} more; --json has them all",
            report.passed.len() - PASSED_MAX
        ));
    }
    for pattern in &report.left_out {
        out.remark(&format!("not tried, it is no plain command: {}", sanitize_line(pattern)));
    }
    if report.passed.is_empty() {
        let mark = out.paint(OutputStyle::Good, out.icon("✓", "ok"));
        let (tried, commands) = (report.tried, report.commands.len());
        let word = if commands == 1 { "command" } else { "commands" };
        out.line(&format!("{mark} none of {tried} lines runs one of {commands} {word} unasked"));
    }
}

fn failed(what: String) -> Failure {
    Failure::new(Code::PolicyTest, what)
        .hint("see which rule decides and why with: sayso policy explain REQUEST --file FILE")
}

fn print(out: &CliOutput, tested: &wire::PolicyTestReport) {
    for test in tested.tests.iter().filter(|test| !test.passed) {
        let place = sanitize_line(&format!("{}:{}", test.file, test.line));
        let mark = out.paint(OutputStyle::Bad, out.icon("✗", "FAIL"));
        let place = out.paint(OutputStyle::Name, &place);
        out.line(&format!("{mark} {place}: {}", sanitize_line(&test.name)));
        let why = sanitize_line(test.failure.as_deref().unwrap_or_default());
        out.line(&format!("    {why}"));
    }
    if tested.passed > 0 {
        let mark = out.paint(OutputStyle::Good, out.icon("✓", "ok"));
        let word = if tested.passed == 1 { "test passes" } else { "tests pass" };
        out.line(&format!("{mark} {} {word}", tested.passed));
    }
}
