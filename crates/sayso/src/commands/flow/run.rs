//! `sayso flow run`: starts a flow.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::failpoint;
use crate::flow_runner::FlowRunner;
use crate::work::task_file::TaskFile;
use sayso_core::flow::Flow;
use sayso_core::text::shorten;
use sayso_core::{Code, CommandExit, Digest, FlowId, TaskId, Timestamp};
use sayso_engine::worker::FLOW;
use sayso_engine::{NewTask, task_of_flow};
use sayso_workflow::block_on;
use sayso_workflow::file::{NewFileFlow, TaskSequence, WorkflowDefinition, begin};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The length of a derived task title.
const TITLE_CHARS_MAX: usize = 100;

/// The maximum number of task files named in a suggested command.
const NAMED_MAX: usize = 20;

/// The maximum length of a key.
const KEY_CHARS_MAX: usize = 1_000;

/// Begin a flow and go on as far as it goes.
///
/// At a terminal you are asked here, and others may answer in any other place; Ctrl+C leaves the question open.
/// Without one it ends when it waits for a person, and `sayso flow resume` goes on after the answer. Where
/// agents work the flow has a task and a worktree of its own, and what they did comes home when it is done.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow run release.yaml --set topic=cats
  sayso flow run release.yaml --key 1.2       the same key again is the same flow
  sayso flow run pipeline.yaml --task fix-login.md
  sayso flow run pipeline.yaml --tasks 'tasks/*.md'   one after the other")]
pub(crate) struct FlowRunArgs {
    /// The workflow file to run.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An input of the flow, as NAME=VALUE.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The subject of the flow: the same key again goes on with the same flow.
    #[arg(long, value_name = "KEY", conflicts_with = "tasks")]
    key: Option<String>,
    /// A task file, or a task, that its agents work on.
    #[arg(long, value_name = "TASK", conflicts_with = "tasks")]
    task: Option<String>,
    /// Task files that go through it one after the other: a folder, or a pattern of names in one. It may be given
    /// more than once.
    #[arg(long, value_name = "FILES")]
    tasks: Vec<String>,
    /// Wait for the answers of people.
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(args: FlowRunArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    args.key.as_deref().map_or(Ok(()), check_key)?;
    let definition = super::load(context, &args.file)?;
    if args.task.is_some() && !definition.has_agents() {
        let message = "`--task` is what agents work on, and none works in this workflow";
        let hint = "give it what it needs with --set, or add a phase with `prompt`";
        return Err(Failure::new(Code::BadValue, message).hint(hint));
    }
    let is_sequence = !definition.sequence.is_empty() && args.task.is_none();
    if is_sequence && args.key.is_some() {
        let message =
            "`--key` names one flow, and this workflow has a `sequence`: a flow for each task file";
        let hint = "leave out --key; or name one of the files with --task";
        return Err(Failure::new(Code::BadValue, message).hint(hint));
    }
    let input = input(&definition, &args.set)?;
    let leader = FlowRunner::new(context, definition.has_agents())?;
    leader.check_watchable(&definition)?;
    let begun =
        FlowLauncher { args: &args, definition: &definition, leader: &leader, input: &input };
    if !args.tasks.is_empty() {
        // A path on the command line is relative to the folder in which it is typed.
        let here = std::path::absolute(crate::config::start(&context.globals)?)?;
        return sequence(context, &begun, &here, &args.tasks);
    }
    if is_sequence {
        let file = std::path::absolute(&args.file)?;
        let beside = file.parent().unwrap_or(Path::new("."));
        return sequence(context, &begun, beside, &definition.sequence);
    }
    let file = args.task.as_deref().map(Path::new).filter(|path| is_task_file(path));
    let file =
        file.map(|path| Ok::<_, Failure>((path.to_owned(), TaskFile::read(path)?))).transpose()?;
    begun.one(context, args.key.as_deref(), file, None).map(|(exit, _)| exit)
}

/// Checks a key. It is shown to people as the name of the flow, too.
fn check_key(key: &str) -> Result<()> {
    if !key.trim().is_empty() && key.chars().count() <= KEY_CHARS_MAX {
        return Ok(());
    }
    let message = if key.trim().is_empty() {
        "an empty key names no flow".to_owned()
    } else {
        format!("a key has at most {KEY_CHARS_MAX} letters")
    };
    Err(Failure::new(Code::BadValue, message)
        .hint("write --key 1.2, or leave it out for a new flow"))
}

fn is_task_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md") || path.is_file()
}

/// The context shared by the flows of one command.
struct FlowLauncher<'a> {
    args: &'a FlowRunArgs,
    definition: &'a WorkflowDefinition,
    leader: &'a FlowRunner<'a>,
    input: &'a Map<String, Value>,
}

impl FlowLauncher<'_> {
    /// Starts one flow, or finds it again, and runs it. `after` is the branch its work starts from, if it follows
    /// another flow in a sequence.
    fn one(
        &self,
        context: &CliContext<'_>,
        key: Option<&str>,
        file: Option<(PathBuf, TaskFile)>,
        after: Option<&FlowPredecessor>,
    ) -> Result<(CommandExit, FlowId)> {
        let FlowRunner { desk, .. } = self.leader;
        let id = match key {
            Some(key) => keyed(desk, &self.definition.name, key),
            None => desk.new_flow_id(),
        };
        let walked = match desk.flow(id) {
            // It exists, and keeps the text it began with.
            Ok(flow) => {
                self.warn_of_differences(context, &flow);
                self.leader.run_flow(flow.started.id, None, self.args.wait)?
            }
            Err(_) => {
                let title = title(key, file.as_ref(), self.input);
                let task = self.task(id, &title, file.as_ref())?;
                if let (Some(task), Some(FlowPredecessor { branch: Some(branch), .. })) =
                    (task, after)
                {
                    self.start_from(task, branch)?;
                }
                let input = self.input.clone();
                let new = NewFileFlow { id, title, input, task };
                let inbox = self.leader.inbox();
                let lead = failpoint::with_failpoints(inbox.start_file_held(self.definition, new));
                let led = block_on(lead, &|| false)?;
                let Some((flow, is_led)) = led.transpose()? else {
                    return Ok((CommandExit::Error, id));
                };
                context.out.remark(&format!("flow {} begins", flow.started.handle));
                self.leader.run_flow(id, is_led.then_some(flow), self.args.wait)?
            }
        };
        let goes_on = after.map(|after| after.goes_on.as_str());
        let exit = super::report(context, desk, &walked, &id.to_string(), goes_on)?;
        Ok((exit, id))
    }

    /// Warns that a changed file or other inputs have no effect on this flow.
    fn warn_of_differences(&self, context: &CliContext<'_>, flow: &Flow) {
        let is_other_text = flow.started.version != self.definition.version();
        let is_other_input = flow.started.state != begin(self.input.clone());
        let what = match (is_other_text, is_other_input) {
            (false, false) => return,
            (true, false) => "the workflow was changed",
            (false, true) => "other inputs were given",
            (true, true) => "the workflow was changed and other inputs were given",
        };
        let handle = &flow.started.handle;
        context.out.remark(&format!(
            "{what} since flow {handle} began: it keeps what it began with; for a new one take another key"
        ));
    }

    /// Creates the worktree of a task from another branch than the base. It is created before the flow, so that every
    /// process that resumes the flow finds it.
    fn start_from(&self, task: TaskId, branch: &str) -> Result<()> {
        let Some(setup) = &self.leader.setup else { return Ok(()) };
        let task = self.leader.desk.task(task)?.task;
        let made = setup.repository.prepare_from(&task.handle, &task.title, branch);
        made.map(drop).map_err(|e| Failure::new(Code::Git, e.to_string()).hint(e.hint()))
    }

    /// The branch that holds the work of a flow, if it was not merged.
    fn unmerged_branch(&self, flow: FlowId) -> Result<Option<String>> {
        let FlowRunner { desk, setup, .. } = self.leader;
        let (Some(setup), Some(task)) = (setup, desk.flow(flow)?.started.task) else {
            return Ok(None);
        };
        let task = desk.task(task)?.task;
        Ok(setup.repository.unmerged_branch(&task.handle, &task.title))
    }

    /// The task that agents work on: an existing one, or one created for the flow.
    fn task(
        &self,
        flow: FlowId,
        title: &str,
        file: Option<&(PathBuf, TaskFile)>,
    ) -> Result<Option<TaskId>> {
        let FlowRunner { desk, actor, .. } = self.leader;
        if !self.definition.has_agents() {
            return Ok(None);
        }
        let mark = format!("{FLOW}{flow}");
        if let (Some(typed), None) = (&self.args.task, file) {
            let id = desk.find_task(typed)?;
            let edit =
                sayso_core::task::TaskEdit { add_labels: [mark].into(), ..Default::default() };
            desk.edit_task(actor, id, edit)?;
            return Ok(Some(id));
        }
        let id = task_of_flow(flow);
        // An earlier process may have died right after creating it.
        if desk.task(id).is_ok() {
            return Ok(Some(id));
        }
        let (body, labels, requires) = match file {
            Some((_, file)) => (file.body.clone(), file.labels(), file.requires()),
            None => (self.definition.about.clone(), BTreeSet::new(), None),
        };
        let new = NewTask {
            id,
            title: or_about(title, self.definition),
            body,
            sort: "task".into(),
            priority: 2,
            size: None,
            labels: labels.into_iter().chain([mark]).collect(),
            parent: None,
            blocked_by: BTreeSet::new(),
            requires,
            awaiting: None,
        };
        Ok(Some(desk.create_task(actor, new)?.id))
    }
}

/// The predecessor of a flow in a sequence.
struct FlowPredecessor {
    /// The branch of the predecessor, if its work was not merged.
    branch: Option<String>,
    /// The command that continues the sequence.
    goes_on: String,
}

/// Runs task files one after the other. Each is a flow of its own, based on the work of its predecessor; one that
/// waits blocks those behind it.
fn sequence(
    context: &CliContext<'_>,
    begun: &FlowLauncher<'_>,
    root: &Path,
    patterns: &[String],
) -> Result<CommandExit> {
    let wrong = |e: sayso_workflow::file::SequenceError| {
        Failure::new(Code::TaskFile, e.to_string())
            .hint("name a folder of task files, or tasks/*.md")
    };
    let files = TaskSequence::new(root, patterns).map_err(wrong)?;
    // An unreadable file is reported before any work is done.
    for file in files.files().map_err(wrong)? {
        TaskFile::read(&file.path)?;
    }
    let mut done = BTreeSet::new();
    let mut after = FlowPredecessor { branch: None, goes_on: begun.args.command_line() };
    while let Some(next) = files.next(&done).map_err(wrong)? {
        let file = TaskFile::read(&next.path)?;
        let (exit, flow) =
            begun.one(context, Some(&next.name), Some((next.path, file)), Some(&after))?;
        if exit != CommandExit::Ok {
            print_skip_command(context, begun, root, (&next.name, flow), &files)?;
            return Ok(exit);
        }
        if let Some(branch) = begun.unmerged_branch(flow)? {
            after.branch = Some(branch);
        }
        done.insert(next.name);
    }
    if done.is_empty() {
        let (patterns, root) = (patterns.join(", "), root.display());
        let message = format!("there are no task files {patterns} in {root}");
        return Err(Failure::new(Code::NotFound, message)
            .hint("`sequence` is looked for beside the workflow, `--tasks` where you are"));
    }
    Ok(CommandExit::Ok)
}

/// A flow of a sequence that ended without being done blocks those behind it for good. Prints the command that
/// continues without it.
fn print_skip_command(
    context: &CliContext<'_>,
    begun: &FlowLauncher<'_>,
    root: &Path,
    (name, flow): (&str, FlowId),
    files: &TaskSequence,
) -> Result<()> {
    let all = files.files().map_err(|e| Failure::new(Code::TaskFile, e.to_string()))?;
    let is_last = all.last().is_none_or(|last| last.name == name);
    if begun.leader.desk.flow(flow)?.is_live() || is_last {
        return Ok(());
    }
    let rest: Vec<_> = all.into_iter().map(|file| file.name).filter(|of| of != name).collect();
    context.out.remark(&if rest.len() > NAMED_MAX {
        format!("{name} holds up those behind it; go on without it: name the others with --tasks")
    } else {
        let command = begun.args.with_tasks(context, root, &rest)?;
        format!("{name} holds up those behind it; go on without it: {command}")
    });
    Ok(())
}

impl FlowRunArgs {
    /// The command line, to type again.
    fn command_line(&self) -> String {
        self.typed(&[], &self.file, &self.tasks)
    }

    /// The same command line with these files only. Their names are relative to the root of the sequence: finished
    /// files are recognised by these names.
    fn with_tasks(
        &self,
        context: &CliContext<'_>,
        root: &Path,
        tasks: &[String],
    ) -> Result<String> {
        let here = std::path::absolute(crate::config::start(&context.globals)?)?;
        if here == root && context.globals.dir.is_none() {
            return Ok(self.typed(&[], &self.file, tasks));
        }
        let file = std::path::absolute(&self.file)?;
        let from = ["-C".to_owned(), root.display().to_string()];
        Ok(self.typed(&from, file.strip_prefix(root).unwrap_or(&file), tasks))
    }

    fn typed(&self, from: &[String], file: &Path, tasks: &[String]) -> String {
        let tasks = tasks.iter().flat_map(|tasks| ["--tasks".to_owned(), tasks.clone()]);
        let set = self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
        let words = ["sayso".to_owned()].into_iter().chain(from.iter().cloned());
        let words = words.chain(["flow", "run"].map(str::to_owned));
        let words = words.chain([file.display().to_string()]).chain(tasks).chain(set);
        words.map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// A word, quoted for a shell.
fn quoted(word: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The flow of a key: always the same in the same space.
fn keyed(desk: &sayso_engine::Desk, workflow: &str, key: &str) -> FlowId {
    let name = format!("file\n{}\n{workflow}\n{key}", desk.space());
    FlowId::mint(Timestamp::from_micros(0), chance(&name))
}

/// The random part of an ID, derived from a name.
fn chance(name: &str) -> u128 {
    let digest = Digest::of_bytes(name.as_bytes());
    u128::from_str_radix(&digest.as_str()[..20], 16).unwrap_or_default()
}

/// The title of a task whose flow has none of its own.
fn or_about(title: &str, definition: &WorkflowDefinition) -> String {
    let about = definition.about.lines().map(str::trim).find(|line| !line.is_empty());
    let title = Some(title).filter(|title| !title.trim().is_empty()).or(about);
    shorten(title.unwrap_or(&definition.name), TITLE_CHARS_MAX)
}

fn title(
    key: Option<&str>,
    file: Option<&(PathBuf, TaskFile)>,
    input: &Map<String, Value>,
) -> String {
    if let Some((_, file)) = file {
        return file.title.clone();
    }
    if let Some(key) = key {
        return key.to_owned();
    }
    let said = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    let said: Vec<_> = input.iter().map(said).collect();
    // The cut must be visible to readers.
    shorten(&said.join(", "), TITLE_CHARS_MAX)
}

/// The inputs from `--set`, with the defaults.
fn input(definition: &WorkflowDefinition, set: &[String]) -> Result<Map<String, Value>> {
    let mut given = BTreeMap::new();
    for typed in set {
        let Some((name, value)) = typed.split_once('=') else {
            let message = format!("{typed:?} is not NAME=VALUE");
            return Err(Failure::new(Code::BadValue, message));
        };
        if given.insert(name.trim().to_owned(), value.to_owned()).is_some() {
            let message = format!("`{}` is given twice", name.trim());
            return Err(Failure::new(Code::BadValue, message).hint("give each input once"));
        }
    }
    definition.input_from(&given).map_err(|wrong| {
        Failure::new(Code::BadValue, wrong.join("; "))
            .hint("see what it takes with: sayso flow graph FILE")
    })
}
