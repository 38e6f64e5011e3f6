//! Fleet files: reading them, comparing them with the current settings, and applying the difference.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::open_desk::{self, DeskPurpose};
use crate::{config, identity};
use sayso_core::Code;
use sayso_engine::{Desk, SettingChange, SettingKind};
use sayso_policy::FileDiagnostic;
use sayso_server::fleet::{FleetFile, is_declared};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The maximum size of a fleet file.
pub(crate) const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The keys that a fleet file may have.
const KEYS: &str = "a fleet file has space, calendar, people, groups, agents, roles, templates, policy, \
                    admin_policy and agent_policies; see docs/guide/fleet.md";

/// The changes that a file would make to one space.
pub(crate) struct FleetPlan {
    pub(crate) space: String,
    pub(crate) is_new: bool,
    pub(crate) prunes: bool,
    pub(crate) differences: Vec<SettingDifference>,
    changes: Vec<SettingChange>,
}

/// A setting whose current value differs from the file's.
pub(crate) struct SettingDifference {
    pub(crate) kind: SettingKind,
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl SettingDifference {
    /// The change in one word; a setting that is missing in the file is removed only with pruning.
    pub(crate) fn how(&self, prunes: bool) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) if prunes => "removed",
            (Some(_), None) => "kept",
        }
    }
}

impl FleetPlan {
    fn of(
        space: &str,
        is_new: bool,
        prunes: bool,
        set: &SettingMap,
        wanted: Vec<SettingChange>,
    ) -> Self {
        let mut left = set.clone();
        let mut differences = vec![];
        let mut changes = vec![];
        for change in wanted {
            let before = left.remove(&(change.kind.as_str().to_owned(), change.name.clone()));
            if before != change.body {
                let (kind, name, after) = (change.kind, change.name.clone(), change.body.clone());
                differences.push(SettingDifference { kind, name, before, after });
                changes.push(change);
            }
        }
        for ((kind, name), before) in left {
            let Some(kind) = SettingKind::ALL.into_iter().find(|k| k.as_str() == kind) else {
                continue;
            };
            if prunes {
                changes.push(SettingChange { kind, name: name.clone(), body: None });
            }
            differences.push(SettingDifference { kind, name, before: Some(before), after: None });
        }
        differences.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Self { space: space.into(), is_new, prunes, differences, changes }
    }

    /// Applies the plan, as a whole or not at all.
    pub(crate) fn carry_out(&self, context: &CliContext<'_>) -> Result<()> {
        let desk = if self.is_new {
            let location = config::locate(&context.globals)?;
            let here = context.desk()?;
            let actor = identity::person(context, &here)?;
            open_desk::create(&location, &self.space, &actor)?
        } else {
            desk_of(context, Some(&self.space))?
        };
        let actor = identity::person(context, &desk)?;
        desk.set(&actor, self.changes.clone())?;
        Ok(())
    }
}

type SettingMap = BTreeMap<(String, String), String>;

/// Computes the changes that a file would make, space by space.
pub(crate) fn plans(context: &CliContext<'_>, file: &Path, prunes: bool) -> Result<Vec<FleetPlan>> {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut plans = vec![];
    for fleet in read(context, file)? {
        let wanted = fleet.settings(|name| read_beside(&folder, name))?;
        let here = context.desk()?;
        let space = fleet.space.clone().unwrap_or_else(|| here.space_name().to_owned());
        let spaces = here.spaces()?;
        let is_new = spaces.iter().all(|known| known.name != space);
        let plan = if is_new {
            sayso_engine::check_space_name(&space)?;
            check(&wanted)?;
            FleetPlan::of(&space, is_new, prunes, &SettingMap::new(), wanted)
        } else {
            let desk = desk_of(context, Some(&space))?;
            let plan = FleetPlan::of(&space, is_new, prunes, &set_in(&desk)?, wanted);
            desk.check_settings(&plan.changes)?;
            plan
        };
        plans.push(plan);
    }
    Ok(plans)
}

fn set_in(desk: &Desk) -> Result<SettingMap> {
    let settings = desk.settings(None)?.into_iter().filter(|s| is_declared(&s.kind));
    Ok(settings.filter_map(|s| Some(((s.kind, s.name), s.body?))).collect())
}

/// Opens the desk of a space of this store.
pub(crate) fn desk_of(context: &CliContext<'_>, space: Option<&str>) -> Result<Desk> {
    let location = config::locate(&context.globals)?;
    let space = space.unwrap_or(&location.space);
    open_desk::open_space(&location, space, DeskPurpose::Usual)
}

fn read(context: &CliContext<'_>, file: &Path) -> Result<Vec<FleetFile>> {
    let text = match file.to_str() {
        Some("-") => context.text("-")?,
        _ => read_text(file)?,
    };
    serde_saphyr::from_multiple(&text).map_err(|error| {
        let why = error.without_snippet().to_string();
        let why = why.lines().next().unwrap_or_default().to_owned();
        Failure::new(Code::Invalid, format!("{}: {why}", file.display())).hint(KEYS)
    })
}

/// Finds the mistakes in a fleet file, in each of its spaces.
pub(crate) fn mistakes(path: &Path, file: &str, text: &str) -> Vec<FileDiagnostic> {
    let fleets = match serde_saphyr::from_multiple::<FleetFile>(text) {
        Ok(fleets) => fleets,
        Err(error) => {
            let line = error.location().map(|at| at.line()).filter(|line| *line > 0);
            let (what, fix) = config::check::in_words(&error, KEYS);
            return vec![FileDiagnostic { file: file.into(), line, what, fix }];
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found = vec![];
    for fleet in fleets {
        match fleet.settings(|name| read_beside(folder, name)) {
            Ok(changes) => found.extend(SettingChange::mistakes(&changes)),
            Err(Failure { message, .. }) => found.push(FileDiagnostic {
                file: file.into(),
                line: None,
                what: message,
                fix: "see that it is there and can be read".into(),
            }),
        }
    }
    // A position within a text in the fleet file is counted from where that text begins.
    for mistake in &mut found {
        if mistake.file != file {
            mistake.file = format!("{file}, {}", mistake.file);
        }
    }
    found
}

/// Checks the settings of a new space before anything is created.
fn check(changes: &[SettingChange]) -> Result<()> {
    let mistakes = SettingChange::mistakes(changes);
    if mistakes.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    Err(Failure::new(Code::BadPolicy, all.join("\n"))
        .hint("nothing was changed; mend it and apply again"))
}

/// Reads a file that a fleet file names. It must be beside it or below, so that no other file of the machine gets
/// into a space.
fn read_beside(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    let wrong = |why: String| Failure::new(Code::Invalid, format!("{}: {why}", path.display()));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let inside = here.canonicalize().and_then(|here| Ok(path.canonicalize()?.starts_with(here)));
    match inside {
        Ok(true) => read_text(&path),
        Ok(false) => Err(wrong("it is not in the folder of the fleet file".into())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn read_text(path: &Path) -> Result<String> {
    let wrong = |why: String| Failure::new(Code::Invalid, format!("{}: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| wrong(e.to_string()))?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(wrong("it is no file".into()));
    }
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    if read.map_err(|e| wrong(e.to_string()))? as u64 > FILE_BYTES_MAX {
        Err(wrong(format!("more than {FILE_BYTES_MAX} bytes are not taken")))
    } else {
        Ok(text)
    }
}

/// Writes fleets as a YAML file.
pub(crate) fn write(fleets: &[FleetFile]) -> Result<String> {
    let texts: std::result::Result<Vec<_>, _> =
        fleets.iter().map(serde_saphyr::to_string).collect();
    let texts = texts.map_err(|e| Failure::new(Code::Failure, e.to_string()))?;
    Ok(texts.join("---\n"))
}

/// Formats a setting for people: texts as they are, the rest as YAML.
pub(crate) fn readable(body: Option<&str>) -> String {
    let Some(body) = body else { return String::new() };
    let value = serde_json::from_str::<serde_json::Value>(body).ok();
    let text = value.and_then(|value| serde_saphyr::to_string(&value).ok());
    text.unwrap_or_else(|| body.to_owned())
}
