//! Executes a flow step that is a shell command: runs it in a folder, verifies its checks, and retries it as often as
//! the phase allows.

use super::shell::{CommandEnd, CommandOutput, ShellCommand, ShellRunContext, run};
use super::step::{StepCheck, tail};
use super::watch::PathWatch;
use sayso_agents::process_tree;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The maximum number of bytes of a failed command's output that go into its error message.
const TOLD_BYTES_MAX: usize = 4 * 1024;

/// The grace period for processes that an earlier attempt left behind.
const GRACE: Duration = Duration::from_secs(2);

/// A flow step that is a shell command.
#[derive(Debug, Clone, Copy)]
pub struct CommandStep<'a> {
    pub command: &'a ShellCommand,
    /// True if each exit code is a result. If not, all but 0 are failures.
    pub any_code: bool,
    pub folder: &'a Path,
    /// The checks that must hold before the step counts.
    pub checks: &'a [StepCheck],
    /// The number of retries after the first attempt.
    pub retries: u32,
    /// The paths that it may change and how they are watched. None if it may change anything.
    pub writes: Option<PathWatch<'a>>,
    /// The mark of all processes that it starts; they are found and ended by it. It is the same for the same step, so
    /// that a worker that resumes the step ends the remains of an earlier attempt first.
    pub mark: &'a str,
    /// The timeout of one attempt.
    pub time_max: Duration,
    /// The stop flag: set when the command has to stop.
    pub stop: &'a AtomicBool,
}

/// The outcome of a command step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// The command ended, and all checks hold.
    Completed {
        /// Its standard output; only the end of it if it is long.
        text: String,
        /// Its exit code.
        code: i32,
        /// The number of bytes that were cut at the beginning of `text`.
        left_out: u64,
    },
    /// The command failed, and no retry is left.
    Failed(String),
    /// The command was stopped; none of its processes is left.
    Stopped,
}

impl CommandStep<'_> {
    /// Runs the command, with its retries.
    pub fn run(&self) -> CommandOutcome {
        process_tree::end_marked(self.mark, GRACE);
        let mut why = String::new();
        for _ in 0..=self.retries {
            match self.watched() {
                Ok(came) => return came,
                Err(failure) => why = failure,
            }
        }
        CommandOutcome::Failed(why)
    }

    /// Runs the command once and compares the changed paths afterwards, however it ended.
    fn watched(&self) -> Result<CommandOutcome, String> {
        let Some(watch) = self.writes else { return self.once() };
        // If the changes cannot be watched, the command does not run.
        watch.begin(self.mark)?;
        let came = self.once();
        let objection = watch.end(self.mark)?;
        match (came, objection) {
            (Ok(CommandOutcome::Stopped), _) => Ok(CommandOutcome::Stopped),
            (Ok(_), Some(objection)) => Err(objection),
            (Err(why), Some(objection)) => Err(format!("{why}\nAnd {objection}")),
            (came, None) => came,
        }
    }

    /// Runs the command once; an error is a failure that a retry may fix.
    fn once(&self) -> Result<CommandOutcome, String> {
        let Self { folder, mark, time_max, stop, .. } = *self;
        let room = ShellRunContext { folder, mark, time_max, stop };
        let line = &self.command.in_words();
        let printed = match run(self.command, &room) {
            CommandEnd::Itself(printed) => printed,
            CommandEnd::TooLong(printed) => return Err(told(line, "it took too long", &printed)),
            CommandEnd::NotStarted(why) => return Err(format!("{line}: {why}")),
            CommandEnd::Stopped => return Ok(CommandOutcome::Stopped),
        };
        let Some(code) = printed.code else {
            return Err(told(line, "a signal ended it", &printed));
        };
        if !printed.is_success() && !self.any_code {
            return Err(told(line, &format!("it ended with {code}"), &printed));
        }
        for check in self.checks {
            if let Some((why, output)) = check.objection(&room) {
                return Err(format!("{why}\n{}", tail(&output, TOLD_BYTES_MAX)).trim().to_owned());
            }
        }
        let (text, left_out) = (printed.out.trim_end().to_owned(), printed.left_out);
        Ok(CommandOutcome::Completed { text, code, left_out })
    }
}

/// Ends the processes of a command on this machine: the process that ran its flow may be gone.
pub fn end_command(mark: &str) -> usize {
    process_tree::end_marked(mark, GRACE)
}

fn told(line: &str, why: &str, printed: &CommandOutput) -> String {
    format!("{line}: {why}\n{}", tail(&printed.all(), TOLD_BYTES_MAX)).trim().to_owned()
}
