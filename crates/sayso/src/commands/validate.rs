//! `sayso validate`: checks settings, task files, roles, policies and workflows.

use super::diagnostics::DiagnosticReport;
use super::policy::files::{self, read_text};
use crate::config::{self, check};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::fleet;
use crate::work::{ROLE_BYTES_MAX, roles, task_file};
use sayso_core::{Code, CommandExit};
use sayso_policy::{FILE_BYTES_MAX, FileDiagnostic, KnownNames, PolicyLayer, PolicySet};
use sayso_workflow::file::{
    self as workflow, LoadError, PhaseDefinition, QuestionRecipient, WorkflowDefinition,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum size of a file; each kind has its own limit below it.
const READ_BYTES_MAX: usize = 1024 * 1024;
/// The maximum number of files that are found without being named.
const FILES_MAX: usize = 10_000;
/// The folders of a project that are searched for workflows.
const WORKFLOW_PLACES: [&str; 3] = ["", "flows", "workflows"];

/// Check settings, task files, roles, policies and workflows, and name file, line and fix of every mistake.
///
/// Without FILE it looks at what it finds in the project: `.sayso/config.yaml`, `.sayso/roles/*.md`, `policy.yaml`
/// beside `.sayso` or in it, `fleet.yaml`, `tasks/*.md`, and the workflows beside `.sayso`, in `flows` and in
/// `workflows`. A `.yaml` that says `workflow:` at its left edge is a workflow under any name. Given files are
/// otherwise told apart by their names: `config.yaml` in `.sayso` is settings, `.md` in a folder `roles` is a role,
/// any other `.md` a task, `fleet*.yaml` a fleet, any other `.yaml` a policy of the space. Nothing is changed. What
/// is in force is checked by `policy check`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso validate
  sayso validate tasks/*.md policy.yaml
  sayso validate release.yaml")]
pub(crate) struct ValidateArgs {
    /// The files to look at.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Settings,
    Role,
    Task,
    Policy,
    Fleet,
    Workflow,
}

pub(crate) fn run(args: ValidateArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let start = config::start(&context.globals)?;
    let folder = config::folder_above(&start);
    let files = if args.files.is_empty() {
        found(folder.as_deref(), &start)?
    } else {
        args.files.into_iter().map(sorted).collect::<Result<Vec<_>>>()?
    };
    if files.is_empty() {
        return Err(Failure::new(Code::NotFound, "there is nothing here to look at")
            .hint("name files, as in: sayso validate tasks/*.md, or make a space: sayso init"));
    }
    let world = ValidationNames::of(context, folder.as_deref());
    let mut mistakes = vec![];
    for (sort, path) in &files {
        mistakes.extend(world.mistakes(*sort, path, &shown(path, &start)));
    }
    DiagnosticReport::new(files.len(), mistakes).show(context, Code::Invalid)
}

/// A path relative to the start folder, if it is below it.
fn shown(path: &Path, start: &Path) -> String {
    path.strip_prefix(start).unwrap_or(path).display().to_string()
}

/// The kind of a given file: by its name, and of a workflow by its content.
fn sorted(path: PathBuf) -> Result<(FileKind, PathBuf)> {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let sort = match (folder, name.rsplit_once('.').map(|(_, ending)| ending)) {
        (Some(config::FOLDER), _) if name == "config.yaml" => FileKind::Settings,
        (Some("roles"), Some("md")) => FileKind::Role,
        (_, Some("md")) => FileKind::Task,
        (_, Some("yaml" | "yml")) if is_workflow(&path) => FileKind::Workflow,
        (_, Some("yaml" | "yml")) if name.starts_with("fleet") => FileKind::Fleet,
        (_, Some("yaml" | "yml")) => FileKind::Policy,
        _ => {
            let what = format!("it cannot be told what {} is", path.display());
            return Err(Failure::new(Code::BadValue, what)
                .hint("name tasks and roles .md, policies, fleets, workflows and settings .yaml"));
        }
    };
    Ok((sort, path))
}

/// The files found in the project.
fn found(folder: Option<&Path>, start: &Path) -> Result<Vec<(FileKind, PathBuf)>> {
    let project = folder.and_then(Path::parent).unwrap_or(start);
    let mut files = vec![];
    let mut add = |sort: FileKind, path: PathBuf| {
        if path.is_file() {
            files.push((sort, path));
        }
    };
    if let Some(folder) = folder {
        add(FileKind::Settings, folder.join("config.yaml"));
        add(FileKind::Policy, folder.join("policy.yaml"));
        texts_in(&folder.join("roles"))?.into_iter().for_each(|path| add(FileKind::Role, path));
    }
    for (sort, name) in [(FileKind::Policy, "policy.yaml"), (FileKind::Fleet, "fleet.yaml")] {
        let path = project.join(name);
        // A workflow is found by its own search below.
        if !is_workflow(&path) {
            add(sort, path);
        }
    }
    texts_in(&project.join("tasks"))?.into_iter().for_each(|path| add(FileKind::Task, path));
    for place in WORKFLOW_PLACES {
        let found = files_in(&project.join(place), &["yaml", "yml"])?;
        found
            .into_iter()
            .filter(|path| is_workflow(path))
            .for_each(|path| add(FileKind::Workflow, path));
    }
    Ok(files)
}

/// True if a file declares itself a workflow. Its other lines need not be valid.
fn is_workflow(path: &Path) -> bool {
    let Ok(text) = read_text(path, READ_BYTES_MAX) else { return false };
    text.lines().any(|line| {
        let keys = ["workflow", "\"workflow\"", "'workflow'"];
        let rest =
            keys.iter().find_map(|key| line.trim_start_matches('\u{feff}').strip_prefix(key));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

/// The `.md` files of a folder, by name.
fn texts_in(folder: &Path) -> Result<Vec<PathBuf>> {
    files_in(folder, &["md"])
}

/// The files of a folder with one of these endings, by name.
fn files_in(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(vec![]) };
    let mut paths = vec![];
    for entry in entries.take(FILES_MAX) {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if endings.contains(&ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The names that files may use, as far as they are known here.
struct ValidationNames {
    roles: Option<BTreeSet<String>>,
    agents: Option<BTreeSet<String>>,
    /// The names that policies may use.
    known: KnownNames,
    /// The active policies of the space, and with them its groups.
    policies: Option<Arc<PolicySet>>,
}

impl ValidationNames {
    fn of(context: &CliContext<'_>, folder: Option<&Path>) -> Self {
        let roles = folder.and_then(|folder| roles(folder).ok());
        let agents = folder.and_then(|folder| config::agents_of(folder).ok());
        let roles: Option<BTreeSet<_>> = roles.map(|roles| roles.into_keys().collect());
        let known = KnownNames { roles: roles.clone(), ..files::known(context) };
        let agents = agents.map(|agents| agents.into_keys().collect());
        let policies = context.desk_read_only().ok().and_then(|desk| desk.policies().ok());
        Self { roles, agents, known, policies }
    }

    fn mistakes(&self, sort: FileKind, path: &Path, file: &str) -> Vec<FileDiagnostic> {
        let text = match read_text(path, READ_BYTES_MAX) {
            Ok(text) => text,
            Err(Failure { message, hint, .. }) => {
                let fix = hint.unwrap_or_else(|| "see that it is there and can be read".into());
                return vec![mistake(file, message, fix)];
            }
        };
        let bytes_max = match sort {
            FileKind::Settings => config::CONFIG_BYTES_MAX,
            FileKind::Role => ROLE_BYTES_MAX,
            FileKind::Task => task_file::FILE_BYTES_MAX,
            FileKind::Fleet => fleet::FILE_BYTES_MAX,
            FileKind::Workflow => workflow::FILE_BYTES_MAX as u64,
            // The policy check reports its own limit.
            FileKind::Policy => FILE_BYTES_MAX as u64 + text.len() as u64,
        };
        if text.len() as u64 > bytes_max {
            let what = format!("it is longer than the {bytes_max} bytes that are read");
            return vec![mistake(file, what, "shorten it".into())];
        }
        match sort {
            FileKind::Settings => check::mistakes(file, &text),
            FileKind::Role if text.trim().is_empty() => {
                let fix = "write what an agent in this role is to do, or drop the file";
                vec![mistake(file, "nothing is in it".into(), fix.into())]
            }
            FileKind::Role => vec![],
            FileKind::Task => {
                task_file::mistakes(file, &text, self.roles.as_ref(), self.agents.as_ref())
            }
            FileKind::Fleet => fleet::mistakes(path, file, &text),
            FileKind::Workflow => self.in_workflow(path, file),
            FileKind::Policy => {
                sayso_policy::mistakes([(PolicyLayer::Space, file, text.as_str())], &self.known)
            }
        }
    }
}

impl ValidationNames {
    /// Finds the mistakes in a workflow: as it is loaded for a flow, and in its names of roles and agents.
    fn in_workflow(&self, path: &Path, file: &str) -> Vec<FileDiagnostic> {
        let definition = match WorkflowDefinition::load(path) {
            Ok(definition) => definition,
            Err(LoadError::File { why, .. }) => {
                return vec![mistake(file, why, "see that it is there and can be read".into())];
            }
            Err(LoadError::Mistakes(mistakes)) => {
                return mistakes
                    .into_iter()
                    .map(|one| FileDiagnostic { file: file.into(), ..one })
                    .collect();
            }
        };
        let mut mistakes = vec![];
        for phase in &definition.phases {
            let named = [("role", &phase.role, &self.roles), ("agent", &phase.agent, &self.agents)];
            for (sort, name, known) in named {
                let (Some(name), Some(known)) = (name, known) else { continue };
                if known.contains(name) {
                    continue;
                }
                let all: Vec<_> = known.iter().map(String::as_str).collect();
                let (what, fix) = (
                    format!("there is no {sort} {name:?}"),
                    format!("take one of {}", all.join(", ")),
                );
                let line = Some(phase.line);
                mistakes.push(FileDiagnostic { file: file.into(), line, what, fix });
            }
            mistakes.extend(self.empty_groups(phase, file));
        }
        mistakes
    }

    /// Finds groups without people that a phase asks.
    fn empty_groups(&self, phase: &PhaseDefinition, file: &str) -> Vec<FileDiagnostic> {
        let (Some(policies), Some(ask)) = (&self.policies, &phase.ask) else { return vec![] };
        let is_empty = |to: &&QuestionRecipient| matches!(to, QuestionRecipient::Group(name) if policies.people_in(name).is_empty());
        let mistake = |to: &QuestionRecipient| {
            let name = to.name();
            FileDiagnostic {
                file: file.into(),
                line: Some(ask.line),
                what: format!("nobody is in the group {name:?} that is asked"),
                fix: format!(
                    "name its people, in a policy (`groups: {{{name}: [ann]}}`, then: sayso policy set FILE) or in a \
                     fleet file"
                ),
            }
        };
        ask.to.iter().filter(is_empty).map(mistake).collect()
    }
}

fn mistake(file: &str, what: String, fix: String) -> FileDiagnostic {
    FileDiagnostic { file: file.into(), line: None, what, fix }
}
