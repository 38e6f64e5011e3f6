//! Matches rules against requests: first the plain fields, which are cheap.
//!
//! Every pattern is matched in two ways. Strictly, for rules that allow: all of the request must be what the rule
//! names. Loosely, for rules that ask or deny: any part of it that may be meant is enough.

use crate::command::{CommandPattern, MatchCertainty};
use crate::glob::{DualPattern, GlobPattern, PatternPurpose};
use crate::request::RequestedAction;
use crate::view::{PathSource, RequestPath, RequestView};
use sayso_core::{GateKind, LifecycleAction};

/// The plain conditions of a rule. An absent field matches any value.
#[derive(Debug, Default)]
pub(crate) struct RuleMatch {
    pub(crate) tool: Option<Vec<DualPattern>>,
    pub(crate) command: Option<Vec<CommandPattern>>,
    pub(crate) path: Option<Vec<PathPattern>>,
    pub(crate) from: Option<Vec<DualPattern>>,
    pub(crate) to: Option<Vec<DualPattern>>,
    pub(crate) action: Option<Vec<LifecycleAction>>,
    pub(crate) target: Option<Vec<DualPattern>>,
    pub(crate) outcome: Option<Vec<DualPattern>>,
    pub(crate) kind: Option<Vec<GateKind>>,
    pub(crate) agent: Option<Vec<DualPattern>>,
    pub(crate) role: Option<Vec<DualPattern>>,
    pub(crate) label: Option<Vec<DualPattern>>,
    pub(crate) sort: Option<Vec<DualPattern>>,
}

/// A pattern for files.
#[derive(Debug)]
pub(crate) struct PathPattern {
    pub(crate) pattern: DualPattern,
    /// Without a slash it is a file name, in any directory.
    is_name: bool,
}

impl PathPattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let trimmed = if text.len() > 1 { text.trim_end_matches('/') } else { text };
        let pattern = DualPattern::new(trimmed, PatternPurpose::Paths)?;
        Ok(Self { pattern, is_name: !trimmed.contains('/') })
    }

    /// True if it is certainly this path.
    fn covers(&self, path: &RequestPath) -> bool {
        path.is_certain && !path.text.starts_with("..") && self.pattern.fits(&path.text, true)
    }

    /// True if a glob of file names may stand for one of these. A glob without a literal part stands for visible
    /// files, which excludes hidden ones.
    fn may_be_among(&self, path: &RequestPath) -> bool {
        let text = path.text.as_str();
        let example = self.pattern.text.replace(['*', '?'], "x");
        let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
        let name = last(text);
        if !name.contains(|c: char| !"*?[]{},!^".contains(c)) {
            // A variable in a folder that the pattern speaks of: `/dev/$disk`.
            let is_folder = path.is_open && !self.is_name && !text.starts_with('*');
            return is_folder
                && GlobPattern::new(text, PatternPurpose::Paths, false)
                    .is_ok_and(|glob| glob.fits(&example));
        }
        // In the folder where the line runs there are no disks.
        let is_elsewhere = self.pattern.text.starts_with(['/', '~']);
        if path.is_open && !text.contains('/') && is_elsewhere {
            return false;
        }
        let (name, example) = if self.is_name || !text.contains('/') {
            (name, last(&example))
        } else {
            (text.to_owned(), example)
        };
        GlobPattern::new(&name, PatternPurpose::Paths, false).is_ok_and(|glob| glob.fits(&example))
    }

    /// Matches this path, one below it, or a file of this name.
    fn may_be(&self, path: &RequestPath) -> MatchCertainty {
        let text = path.text.as_str();
        let above = text.match_indices('/').map(|(at, _)| &text[..at]);
        let fits = self.pattern.fits(text, false)
            || above.clone().any(|above| !above.is_empty() && self.pattern.fits(above, false))
            || (self.is_name && text.split('/').any(|part| self.pattern.fits(part, false)));
        if !fits && path.is_pattern && self.may_be_among(path) {
            return MatchCertainty::Maybe;
        }
        match (fits, path.is_certain, path.source) {
            (true, true, _) => MatchCertainty::Yes,
            (true, false, _) => MatchCertainty::Maybe,
            // The file that it writes is only known at run time.
            (false, false, PathSource::Redirection(_)) => MatchCertainty::Maybe,
            (false, _, _) => MatchCertainty::No,
        }
    }
}

/// The field because of which a rule does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldMismatch(pub(crate) &'static str);

/// The part of a request that an allow rule covers.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RuleCoverage {
    /// The indexes of the commands; all of them, if the rule does not look at commands.
    pub(crate) commands: PartSet,
    pub(crate) files: PartSet,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum PartSet {
    #[default]
    All,
    These(Vec<usize>),
}

impl RuleMatch {
    /// Matches the fields other than commands and paths.
    fn names_fit(&self, view: &RequestView<'_>, strictly: bool) -> Result<(), FieldMismatch> {
        let request = view.request;
        let one = |field: &'static str,
                   patterns: &Option<Vec<DualPattern>>,
                   value: Option<&str>| {
            let fits = match (patterns, value) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(patterns), Some(value)) => patterns.iter().any(|p| p.fits(value, strictly)),
            };
            if fits { Ok(()) } else { Err(FieldMismatch(field)) }
        };
        one("tool", &self.tool, view.tool().map(|call| call.tool.as_str()))?;
        let (mut from, mut to, mut action, mut target, mut outcome, mut kind) =
            (None, None, None, None, None, None);
        match &request.subject {
            RequestedAction::Tool(_) => {}
            RequestedAction::Transition(transition) => {
                (from, to) = (Some(transition.from.as_str()), Some(transition.to.as_str()));
            }
            RequestedAction::Lifecycle(lifecycle) => {
                (action, target) = (Some(lifecycle.action), Some(lifecycle.target.as_str()));
            }
            RequestedAction::Result(report) => outcome = Some(report.outcome.as_str()),
            RequestedAction::Ask(ask) => kind = Some(ask.kind),
        }
        one("from", &self.from, from)?;
        one("to", &self.to, to)?;
        one("target", &self.target, target)?;
        one("outcome", &self.outcome, outcome)?;
        if self.action.as_ref().is_some_and(|all| !action.is_some_and(|a| all.contains(&a))) {
            return Err(FieldMismatch("action"));
        }
        if self.kind.as_ref().is_some_and(|all| !kind.is_some_and(|k| all.contains(&k))) {
            return Err(FieldMismatch("kind"));
        }
        one("agent", &self.agent, Some(&request.agent.name))?;
        one("role", &self.role, Some(&request.agent.role))?;
        let task = request.task.as_ref();
        one("type", &self.sort, task.map(|task| task.sort.as_str()))?;
        if let Some(patterns) = &self.label {
            let labels = task.map(|task| task.labels.as_slice()).unwrap_or_default();
            if !labels.iter().any(|label| patterns.iter().any(|p| p.fits(label, strictly))) {
                return Err(FieldMismatch("label"));
            }
        }
        Ok(())
    }

    /// Matches strictly, for rules that allow: returns the part of the request that this names exactly.
    pub(crate) fn cover(&self, view: &RequestView<'_>) -> Result<RuleCoverage, FieldMismatch> {
        self.names_fit(view, true)?;
        let Some(line) = &view.line else {
            if self.command.is_some() {
                return Err(FieldMismatch("command"));
            }
            let Some(patterns) = &self.path else { return Ok(RuleCoverage::default()) };
            let paths = view.paths();
            let all = paths.iter().all(|path| patterns.iter().any(|p| p.covers(path)));
            return if all && !paths.is_empty() {
                Ok(RuleCoverage::default())
            } else {
                Err(FieldMismatch("path"))
            };
        };
        let files = match &self.path {
            // A rule that names neither matches the call as a whole.
            None if self.command.is_none() => PartSet::All,
            None => PartSet::These(vec![]),
            Some(patterns) => PartSet::These(
                view.paths()
                    .iter()
                    .filter(|path| patterns.iter().any(|p| p.covers(path)))
                    .filter_map(|path| match path.source {
                        PathSource::Redirection(at) => Some(at),
                        PathSource::Given | PathSource::Argument => None,
                    })
                    .collect(),
            ),
        };
        let commands = match &self.command {
            // A command can change files without a redirection, so a path alone does not allow it.
            None if self.path.is_some() => PartSet::These(vec![]),
            None => PartSet::All,
            Some(patterns) => PartSet::These(
                line.commands
                    .iter()
                    .enumerate()
                    .filter(|(_, command)| {
                        command.transparent || patterns.iter().any(|p| p.covers(command))
                    })
                    .map(|(at, _)| at)
                    .collect(),
            ),
        };
        let is_nothing = |part: &PartSet| matches!(part, PartSet::These(these) if these.is_empty());
        if is_nothing(&commands) && is_nothing(&files) {
            Err(FieldMismatch(if self.command.is_some() { "command" } else { "path" }))
        } else {
            Ok(RuleCoverage { commands, files })
        }
    }

    /// Matches loosely, for rules that ask or deny: returns if any part of the request may be what this names,
    /// exceptions apart, and the commands that are.
    pub(crate) fn may_be(
        &self,
        unless: Option<&RuleMatch>,
        view: &RequestView<'_>,
        vouched: &[usize],
    ) -> Result<(MatchCertainty, PartSet), FieldMismatch> {
        self.names_fit(view, false)?;
        let exception = unless.filter(|unless| unless.names_fit(view, true).is_ok());
        let paths_fit = self.path.as_ref().map(|patterns| {
            let hits = view.paths().iter().map(|path| {
                let fit =
                    patterns.iter().map(|p| p.may_be(path)).max().unwrap_or(MatchCertainty::No);
                match exception.is_some_and(|e| e.excuses_path(view, path)) {
                    true if self.command.is_none() => MatchCertainty::No,
                    _ => fit,
                }
            });
            hits.max().unwrap_or(MatchCertainty::No)
        });
        if paths_fit == Some(MatchCertainty::No) {
            return Err(FieldMismatch("path"));
        }
        let Some(patterns) = &self.command else {
            let is_excused = self.path.is_none() && exception.is_some_and(|e| e.excuses_all(view));
            return if is_excused {
                Err(FieldMismatch("unless"))
            } else {
                Ok((paths_fit.unwrap_or(MatchCertainty::Yes), PartSet::All))
            };
        };
        let Some(line) = &view.line else { return Err(FieldMismatch("command")) };
        let mut best = MatchCertainty::No;
        let (mut is_excused, mut hits) = (false, vec![]);
        for (at, command) in line.commands.iter().enumerate() {
            let fit =
                patterns.iter().map(|p| p.may_be(command)).max().unwrap_or(MatchCertainty::No);
            if fit == MatchCertainty::No {
                continue;
            }
            if exception.is_some_and(|e| e.excuses_command(view, at)) {
                is_excused = true
            } else {
                best = best.max(fit);
                hits.push(at);
            }
        }
        // An unreadable part may be any command.
        if best == MatchCertainty::No && line.unclear_but_for(vouched).is_some() {
            best = MatchCertainty::Maybe;
        }
        match best {
            MatchCertainty::No => Err(FieldMismatch(if is_excused { "unless" } else { "command" })),
            MatchCertainty::Maybe | MatchCertainty::Yes => {
                Ok((best.min(paths_fit.unwrap_or(MatchCertainty::Yes)), PartSet::These(hits)))
            }
        }
    }

    /// Returns the commands whose exact program this names, so that it vouches for their arguments.
    pub(crate) fn vouches_for(&self, view: &RequestView<'_>) -> Vec<usize> {
        let (Some(line), Some(patterns)) = (&view.line, &self.command) else { return vec![] };
        if self.names_fit(view, true).is_err() {
            return vec![];
        }
        let commands = line.commands.iter().enumerate();
        let named = |command| patterns.iter().any(|p| p.names_program() && p.covers(command));
        commands.filter(|(_, command)| named(command)).map(|(at, _)| at).collect()
    }

    fn excuses_command(&self, view: &RequestView<'_>, at: usize) -> bool {
        let Some(command) = view.line.as_ref().and_then(|line| line.commands.get(at)) else {
            return false;
        };
        let command_fits = match &self.command {
            None => true,
            Some(patterns) => patterns.iter().any(|p| p.covers(command)),
        };
        command_fits && view.unclear().is_none() && self.covers_paths(view)
    }

    fn excuses_path(&self, view: &RequestView<'_>, path: &RequestPath) -> bool {
        // A word that may be a path is excused by its command, not by its look.
        let path_fits = match &self.path {
            None => true,
            Some(patterns) => patterns.iter().any(|p| {
                let as_certain = RequestPath { is_certain: true, ..path.clone() };
                p.covers(if path.source == PathSource::Argument { &as_certain } else { path })
            }),
        };
        path_fits && (self.command.is_none() || self.covers_commands(view))
    }

    fn excuses_all(&self, view: &RequestView<'_>) -> bool {
        (self.command.is_none() || self.covers_commands(view)) && self.covers_paths(view)
    }

    fn covers_commands(&self, view: &RequestView<'_>) -> bool {
        let (Some(patterns), Some(line)) = (&self.command, &view.line) else { return false };
        let covered = |command| patterns.iter().any(|p| p.covers(command));
        line.unclear().is_none()
            && !line.commands.is_empty()
            && line.commands.iter().all(|command| command.transparent || covered(command))
    }

    fn covers_paths(&self, view: &RequestView<'_>) -> bool {
        let Some(patterns) = &self.path else { return true };
        let mut paths = view.paths().iter().filter(|p| p.source != PathSource::Argument).peekable();
        paths.peek().is_some() && paths.all(|path| patterns.iter().any(|p| p.covers(path)))
    }

    /// True if this matches everything that `other` matches. Only obvious cases are detected.
    pub(crate) fn is_wider_than(&self, other: &RuleMatch) -> bool {
        fn all_in<T>(
            mine: &Option<Vec<T>>,
            theirs: &Option<Vec<T>>,
            is_wider: impl Fn(&T, &T) -> bool,
        ) -> bool {
            match (mine, theirs) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(mine), Some(theirs)) => {
                    theirs.iter().all(|narrow| mine.iter().any(|wide| is_wider(wide, narrow)))
                }
            }
        }
        let name = |wide: &DualPattern, narrow: &DualPattern| {
            wide.exact.is_any()
                || wide.text == narrow.text
                || narrow.exact.plain().is_some_and(|text| wide.exact.fits(text))
        };
        all_in(&self.tool, &other.tool, name)
            && all_in(&self.command, &other.command, CommandPattern::is_wider_than)
            && all_in(&self.path, &other.path, |w, n| name(&w.pattern, &n.pattern))
            && all_in(&self.from, &other.from, name)
            && all_in(&self.to, &other.to, name)
            && all_in(&self.action, &other.action, |a, b| a == b)
            && all_in(&self.target, &other.target, name)
            && all_in(&self.outcome, &other.outcome, name)
            && all_in(&self.kind, &other.kind, |a, b| a == b)
            && all_in(&self.agent, &other.agent, name)
            && all_in(&self.role, &other.role, name)
            && all_in(&self.label, &other.label, name)
            && all_in(&self.sort, &other.sort, name)
    }
}
