//! `sayso policy test`: the tests that are written in policies.

use super::files::{self, Given};
use super::wire;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::{Look, Out};
use sayso_core::text::harmless_line;
use sayso_core::{Code, Exit};

/// Run the tests that are written in policies.
///
/// A test names a request, what the file is to say of it, and if you like the rule that is to decide.
/// Each file is tested by itself. The exit code is 1 if a test fails, or if there is none.
#[derive(clap::Args)]
#[command(after_help = "A test, in the policy file:
  tests:
    - name: a push asks
      request: {on: tool, tool: Bash, command: \"git push origin main\"}
      expect: ask
      by: pushes")]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let usual = args.given.usual();
    let policies = files::read_or_in_force(context, &args.given.files, &usual)?;
    let tested = wire::Tested::of(policies.run_tests());
    match context.out.json {
        true => context.out.json(&tested),
        false => print(context.out, &tested),
    }
    match (tested.failed, tested.passed) {
        (0, 0) => Err(Failure::new(Code::PolicyTest, "there is no test to run")
            .hint("write some, as in: sayso policy presets balanced")),
        (0, _) => Ok(Exit::Ok),
        (1, passed) => Err(failed(format!("1 of {} tests fails", passed + 1))),
        (failed_, passed) => Err(failed(format!("{failed_} of {} tests fail", failed_ + passed))),
    }
}

fn failed(what: String) -> Failure {
    Failure::new(Code::PolicyTest, what)
        .hint("see which rule decides and why with: sayso policy explain REQUEST --file FILE")
}

fn print(out: &Out, tested: &wire::Tested) {
    for test in tested.tests.iter().filter(|test| !test.passed) {
        let place = harmless_line(&format!("{}:{}", test.file, test.line));
        let mark = out.paint(Look::Bad, out.icon("✗", "FAIL"));
        let place = out.paint(Look::Name, &place);
        out.line(&format!("{mark} {place}: {}", harmless_line(&test.name)));
        let why = harmless_line(test.failure.as_deref().unwrap_or_default());
        out.line(&format!("    {why}"));
    }
    if tested.passed > 0 {
        let mark = out.paint(Look::Good, out.icon("✓", "ok"));
        let word = if tested.passed == 1 { "test passes" } else { "tests pass" };
        out.line(&format!("{mark} {} {word}", tested.passed));
    }
}
