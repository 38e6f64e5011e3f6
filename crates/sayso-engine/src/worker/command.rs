//! A step of a flow that is a command: run in a folder, with what must hold afterwards, and again as
//! often as the phase says.

use super::shell::{Ended, Printed, Room, Shell, run};
use super::step::{StepCheck, tail};
use crate::worktree::Worktree;
use sayso_agents::process;
use sayso_policy::Paths;
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
    /// Patterns of the only paths it may change, and the tree to look at; none if it may change any.
    pub writes: Option<(&'a [String], &'a Worktree)>,
    /// What was there when it first began, as a tree of git's own; none if it begins now. What it changed is
    /// counted from there: what an earlier try did is its doing, too.
    pub since: Option<&'a str>,
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
        /// Whether the beginning of the text was left out.
        is_cut: bool,
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
        let since = match (self.since, self.writes) {
            (Some(since), _) => Ok(since.to_owned()),
            (None, Some((_, tree))) => tree.snapshot(),
            (None, None) => Ok(String::new()),
        };
        let since = match since {
            Ok(since) => since,
            // What cannot be watched is not let happen.
            Err(error) => return CommandCame::Failed(error.to_string()),
        };
        let mut why = String::new();
        for _ in 0..=self.retries {
            match self.once(&since) {
                Ok(came) => return came,
                Err(failure) => why = failure,
            }
        }
        CommandCame::Failed(why)
    }

    /// Runs it once; an error is a failure that another try may mend.
    fn once(&self, since: &str) -> Result<CommandCame, String> {
        let Self { folder, mark, time_max, stop, .. } = *self;
        let room = Room { folder, mark, time_max, stop };
        let line = &self.command.line;
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
        if let Some((writes, tree)) = self.writes {
            check_writes(writes, tree, since)?;
        }
        let (text, is_cut) = (printed.out.trim_end().to_owned(), printed.is_cut);
        Ok(CommandCame::Completed { text, code, is_cut })
    }
}

/// Ends what is left of a command on this machine: whoever led its flow may be gone.
pub fn end_command(mark: &str) -> usize {
    process::end_marked(mark, GRACE)
}

fn check_writes(writes: &[String], tree: &Worktree, before: &str) -> Result<(), String> {
    let paths = Paths::new(writes)?;
    let after = tree.snapshot().map_err(|error| error.to_string())?;
    let changed = tree.changed_since(before, Some(&after)).map_err(|error| error.to_string())?;
    let outside: Vec<String> = changed.into_iter().filter(|path| !paths.fit(path)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "it changed {}; only {} may be changed, counted from where the step began. Take that back, then \
             try again",
            outside.join(", "),
            if writes.is_empty() { "nothing".to_owned() } else { writes.join(", ") }
        )),
    }
}

fn told(line: &str, why: &str, printed: &Printed) -> String {
    format!("{line}: {why}\n{}", tail(&printed.all(), TOLD_BYTES_MAX)).trim().to_owned()
}
