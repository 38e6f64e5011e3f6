//! A step of a flow that is a command: run in a folder, with what must hold afterwards, and again as
//! often as the phase says.

use super::shell::{Ended, Printed, Room, Shell, run};
use super::step::{StepCheck, tail};
use super::watch::Watch;
use sayso_agents::process;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How much of what a command printed is told when it fails.
const TOLD_BYTES_MAX: usize = 4 * 1024;

/// How long what an earlier process left of this step gets to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// A step that is a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandStep<'a> {
    /// The command.
    pub command: &'a Shell,
    /// Whether any code it ends with is a result. If not, all but 0 are failures.
    pub any_code: bool,
    /// Where it runs.
    pub folder: &'a Path,
    /// What must hold before it counts.
    pub checks: &'a [StepCheck],
    /// How often it may be run again.
    pub retries: u32,
    /// What it may change, where that is watched; none if it may change anything.
    pub writes: Option<Watch<'a>>,
    /// Everything it starts carries it, and is ended by it. The same for the same step, so that
    /// whoever goes on with it ends what is left of it first.
    pub mark: &'a str,
    /// How long it may take, each time.
    pub time_max: Duration,
    /// Set when it is to stop.
    pub stop: &'a AtomicBool,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandCame {
    /// It ended, and everything holds.
    Completed {
        /// What it printed on its standard output; the end of it, if that is long.
        text: String,
        /// The code it ended with.
        code: i32,
        /// How many bytes were left out at its beginning.
        left_out: u64,
    },
    /// It failed, and may not be run again.
    Failed(String),
    /// It was stopped; nothing of it is left.
    Stopped,
}

impl CommandStep<'_> {
    /// Runs it.
    pub fn run(&self) -> CommandCame {
        process::end_marked(self.mark, GRACE);
        let mut why = String::new();
        for _ in 0..=self.retries {
            match self.watched() {
                Ok(came) => return came,
                Err(failure) => why = failure,
            }
        }
        CommandCame::Failed(why)
    }

    /// Runs it once, and looks at what was changed, however it ended.
    fn watched(&self) -> Result<CommandCame, String> {
        let Some(watch) = self.writes else { return self.once() };
        // What cannot be watched is not let happen.
        watch.begin(self.mark)?;
        let came = self.once();
        let objection = watch.end(self.mark)?;
        match (came, objection) {
            (Ok(CommandCame::Stopped), _) => Ok(CommandCame::Stopped),
            (Ok(_), Some(objection)) => Err(objection),
            (Err(why), Some(objection)) => Err(format!("{why}\nAnd {objection}")),
            (came, None) => came,
        }
    }

    /// Runs it once; an error is a failure that another try may mend.
    fn once(&self) -> Result<CommandCame, String> {
        let Self { folder, mark, time_max, stop, .. } = *self;
        let room = Room { folder, mark, time_max, stop };
        let line = &self.command.in_words();
        let printed = match run(self.command, &room) {
            Ended::Itself(printed) => printed,
            Ended::TooLong(printed) => return Err(told(line, "it took too long", &printed)),
            Ended::NotStarted(why) => return Err(format!("{line}: {why}")),
            Ended::Stopped => return Ok(CommandCame::Stopped),
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
        Ok(CommandCame::Completed { text, code, left_out })
    }
}

/// Ends what is left of a command on this machine: whoever led its flow may be gone.
pub fn end_command(mark: &str) -> usize {
    process::end_marked(mark, GRACE)
}

fn told(line: &str, why: &str, printed: &Printed) -> String {
    format!("{line}: {why}\n{}", tail(&printed.all(), TOLD_BYTES_MAX)).trim().to_owned()
}
