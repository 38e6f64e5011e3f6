//! `sayso flow run`: begin a flow.

use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::flows::Leader;
use crate::mortal;
use crate::work::task_file::TaskFile;
use sayso_core::{Code, Digest, Exit, FlowId, TaskId, Timestamp};
use sayso_engine::NewTask;
use sayso_engine::worker::FLOW;
use sayso_workflow::file::{Definition, NewFileFlow, Sequence};
use sayso_workflow::{Inbox, block_on};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Begin a flow and go on as far as it goes.
///
/// At a terminal you are asked here, and anybody may answer elsewhere; Ctrl+C leaves the question open.
/// Without one it ends when it waits for a person, and `sayso flow resume` goes on after the answer. Where
/// agents work the flow has a task and a worktree of its own, and what they did comes home when it is done.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso flow run release.yaml --set topic=cats
  sayso flow run release.yaml --key 1.2       the same key again is the same flow
  sayso flow run pipeline.yaml --task fix-login.md
  sayso flow run pipeline.yaml --tasks 'tasks/*.md'   one after the other")]
pub(crate) struct Args {
    /// The workflow.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What it begins with.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// What it is about: the same key again goes on with the same flow.
    #[arg(long, value_name = "KEY", conflicts_with = "tasks")]
    key: Option<String>,
    /// A task file, or a task, that its agents work on.
    #[arg(long, value_name = "TASK", conflicts_with = "tasks")]
    task: Option<String>,
    /// Task files that go through it one after the other: a folder, or a pattern of names in one.
    #[arg(long, value_name = "FILES")]
    tasks: Option<String>,
    /// Wait for the answers of people.
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let definition = super::load(context, &args.file)?;
    let input = input(&definition, &args.set)?;
    let leader = Leader::new(context, definition.has_agents())?;
    let begun = Begun { args: &args, definition: &definition, leader: &leader, input: &input };
    let patterns = args.tasks.as_ref().map_or(definition.sequence.clone(), |one| vec![one.clone()]);
    if !patterns.is_empty() {
        return sequence(context, &begun, &patterns);
    }
    let file = args.task.as_deref().map(Path::new).filter(|path| is_task_file(path));
    let file =
        file.map(|path| Ok::<_, Failure>((path.to_owned(), TaskFile::read(path)?))).transpose()?;
    begun.one(context, args.key.as_deref(), file)
}

fn is_task_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md") || path.is_file()
}

/// What flows of one command share.
struct Begun<'a> {
    args: &'a Args,
    definition: &'a Definition,
    leader: &'a Leader<'a>,
    input: &'a Map<String, Value>,
}

impl Begun<'_> {
    /// Begins one flow, or finds it again, and goes on with it.
    fn one(
        &self,
        context: &Context<'_>,
        key: Option<&str>,
        file: Option<(PathBuf, TaskFile)>,
    ) -> Result<Exit> {
        let Leader { desk, actor, .. } = self.leader;
        let id = match key {
            Some(key) => keyed(desk, &self.definition.name, key),
            None => desk.new_flow_id(),
        };
        let walked = match desk.flow(id) {
            // It is under way, with the text it began with.
            Ok(flow) => self.leader.lead(flow.started.id, self.args.wait)?,
            Err(_) => {
                let title = title(key, file.as_ref(), self.input);
                let task = self.task(id, &title, file.as_ref())?;
                let input = self.input.clone();
                let new = NewFileFlow { id, title, input, task };
                let inbox = Inbox::with_actor(desk.clone(), actor.clone());
                let begin = mortal::walk(inbox.begin_file(self.definition, new));
                let begun = block_on(begin, &|| false)?;
                let Some(flow) = begun.transpose()? else { return Ok(Exit::Error) };
                context.out.remark(&format!("flow {} begins", flow.started.handle));
                self.leader.lead(id, self.args.wait)?
            }
        };
        super::report(context, desk, &walked, &id.to_string())
    }

    /// The task that agents work on: one that is there, or one that is made for the flow.
    fn task(
        &self,
        flow: FlowId,
        title: &str,
        file: Option<&(PathBuf, TaskFile)>,
    ) -> Result<Option<TaskId>> {
        let Leader { desk, actor, .. } = self.leader;
        if !self.definition.has_agents() {
            return Ok(None);
        }
        let mark = format!("{FLOW}{flow}");
        if let (Some(typed), None) = (&self.args.task, file) {
            let id = desk.find_task(typed)?;
            let edit = sayso_core::task::Edit { add_labels: [mark].into(), ..Default::default() };
            desk.edit_task(actor, id, edit)?;
            return Ok(Some(id));
        }
        let id = task_of(flow);
        // Whoever began it before us may have died in between.
        if desk.task(id).is_ok() {
            return Ok(Some(id));
        }
        let (body, labels, requires) = match file {
            Some((_, file)) => (file.body.clone(), file.labels(), file.requires()),
            None => (self.definition.about.clone(), BTreeSet::new(), None),
        };
        let new = NewTask {
            id,
            title: title.to_owned(),
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

/// Task files, one after the other. Each is a flow of its own; one that waits holds up those behind it.
fn sequence(context: &Context<'_>, begun: &Begun<'_>, patterns: &[String]) -> Result<Exit> {
    let wrong = |e: sayso_workflow::file::SequenceError| {
        Failure::new(Code::TaskFile, e.to_string())
            .hint("name a folder of task files, or tasks/*.md")
    };
    let files = Sequence::new(&begun.leader.folder, patterns).map_err(wrong)?;
    let mut done = BTreeSet::new();
    while let Some(next) = files.next(&done).map_err(wrong)? {
        let file = TaskFile::read(&next.path)?;
        let exit = begun.one(context, Some(&next.name), Some((next.path, file)))?;
        if exit != Exit::Ok {
            return Ok(exit);
        }
        done.insert(next.name);
    }
    if done.is_empty() {
        let message = format!("there are no task files in {}", patterns.join(", "));
        return Err(Failure::new(Code::NotFound, message));
    }
    Ok(Exit::Ok)
}

/// The flow a key stands for: always the same in the same space.
fn keyed(desk: &sayso_engine::Desk, workflow: &str, key: &str) -> FlowId {
    let name = format!("file\n{}\n{workflow}\n{key}", desk.space());
    FlowId::mint(Timestamp::from_micros(0), chance(&name))
}

/// The task that is made for a flow: whoever dies between the two makes no second one.
fn task_of(flow: FlowId) -> TaskId {
    TaskId::mint(Timestamp::from_micros(0), chance(&format!("task\n{flow}")))
}

/// What a name comes to where chance is wanted.
fn chance(name: &str) -> u128 {
    let digest = Digest::of_bytes(name.as_bytes());
    u128::from_str_radix(&digest.as_str()[..20], 16).unwrap_or_default()
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
    said.join(", ").chars().take(100).collect()
}

/// What was given with `--set`, and the defaults.
fn input(definition: &Definition, set: &[String]) -> Result<Map<String, Value>> {
    let mut given = BTreeMap::new();
    for typed in set {
        let Some((name, value)) = typed.split_once('=') else {
            let message = format!("{typed:?} is not NAME=VALUE");
            return Err(Failure::new(Code::BadValue, message));
        };
        given.insert(name.trim().to_owned(), value.to_owned());
    }
    definition.input_from(&given).map_err(|wrong| {
        Failure::new(Code::BadValue, wrong.join("; "))
            .hint("see what it takes with: sayso flow graph FILE")
    })
}
