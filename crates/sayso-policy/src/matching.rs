//! Matches rules against requests: first the plain fields, which are cheap.
//!
//! Every pattern is matched in two ways. Strictly, for rules that allow: all of the request must be what the rule
//! names. Loosely, for rules that ask or deny: any part of it that may be meant is enough.

use crate::command::{CommandPattern, Fit};
use crate::glob::{For, Glob, Pattern};
use crate::request::Subject;
use crate::view::{PathSeen, PathSource, View};
use sayso_core::{Action, Kind};

/// The plain conditions of a rule. An absent field matches any value.
#[derive(Debug, Default)]
pub(crate) struct Match {
    pub(crate) tool: Option<Vec<Pattern>>,
    pub(crate) command: Option<Vec<CommandPattern>>,
    pub(crate) path: Option<Vec<PathPattern>>,
    pub(crate) from: Option<Vec<Pattern>>,
    pub(crate) to: Option<Vec<Pattern>>,
    pub(crate) action: Option<Vec<Action>>,
    pub(crate) target: Option<Vec<Pattern>>,
    pub(crate) outcome: Option<Vec<Pattern>>,
    pub(crate) kind: Option<Vec<Kind>>,
    pub(crate) agent: Option<Vec<Pattern>>,
    pub(crate) role: Option<Vec<Pattern>>,
    pub(crate) label: Option<Vec<Pattern>>,
    pub(crate) sort: Option<Vec<Pattern>>,
}

/// A pattern for files.
#[derive(Debug)]
pub(crate) struct PathPattern {
    pub(crate) pattern: Pattern,
    /// Without a slash it is a file name, in any directory.
    is_name: bool,
}

impl PathPattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let trimmed = if text.len() > 1 { text.trim_end_matches('/') } else { text };
        let pattern = Pattern::new(trimmed, For::Paths)?;
        Ok(Self { pattern, is_name: !trimmed.contains('/') })
    }

    /// True if it is certainly this path.
    fn covers(&self, path: &PathSeen) -> bool {
        path.is_certain && !path.text.starts_with("..") && self.pattern.fits(&path.text, true)
    }

    /// True if a glob of file names may stand for one of these. A glob without a literal part stands for visible
    /// files, which excludes hidden ones.
    fn may_be_among(&self, path: &PathSeen) -> bool {
        let text = path.text.as_str();
        let example = self.pattern.text.replace(['*', '?'], "x");
        let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
        let name = last(text);
        if !name.contains(|c: char| !"*?[]{},!^".contains(c)) {
            // A variable in a folder that the pattern speaks of: `/dev/$disk`.
            let is_folder = path.is_open && !self.is_name && !text.starts_with('*');
            return is_folder
                && Glob::new(text, For::Paths, false).is_ok_and(|glob| glob.fits(&example));
        }
        // In the folder where the line runs there are no disks.
        let is_elsewhere = self.pattern.text.starts_with(['/', '~']);
        if path.is_open && !text.contains('/') && is_elsewhere {
            return false;
        }
        let (name, example) = match self.is_name || !text.contains('/') {
            true => (name, last(&example)),
            false => (text.to_owned(), example),
        };
        Glob::new(&name, For::Paths, false).is_ok_and(|glob| glob.fits(&example))
    }

    /// Matches this path, one below it, or a file of this name.
    fn may_be(&self, path: &PathSeen) -> Fit {
        let text = path.text.as_str();
        let above = text.match_indices('/').map(|(at, _)| &text[..at]);
        let fits = self.pattern.fits(text, false)
            || above.clone().any(|above| !above.is_empty() && self.pattern.fits(above, false))
            || (self.is_name && text.split('/').any(|part| self.pattern.fits(part, false)));
        if !fits && path.is_pattern && self.may_be_among(path) {
            return Fit::Maybe;
        }
        match (fits, path.is_certain, path.source) {
            (true, true, _) => Fit::Yes,
            (true, false, _) => Fit::Maybe,
            // The file that it writes is only known at run time.
            (false, false, PathSource::Redirection(_)) => Fit::Maybe,
            (false, _, _) => Fit::No,
        }
    }
}

/// The field because of which a rule does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Miss(pub(crate) &'static str);

/// The part of a request that an allow rule covers.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Cover {
    /// The indexes of the commands; all of them, if the rule does not look at commands.
    pub(crate) commands: Part,
    pub(crate) files: Part,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    #[default]
    All,
    These(Vec<usize>),
}

impl Match {
    /// Matches the fields other than commands and paths.
    fn names_fit(&self, view: &View<'_>, strictly: bool) -> Result<(), Miss> {
        let request = view.request;
        let one = |field: &'static str, patterns: &Option<Vec<Pattern>>, value: Option<&str>| {
            let fits = match (patterns, value) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(patterns), Some(value)) => patterns.iter().any(|p| p.fits(value, strictly)),
            };
            if fits { Ok(()) } else { Err(Miss(field)) }
        };
        one("tool", &self.tool, view.tool().map(|call| call.tool.as_str()))?;
        let (mut from, mut to, mut action, mut target, mut outcome, mut kind) =
            (None, None, None, None, None, None);
        match &request.subject {
            Subject::Tool(_) => {}
            Subject::Transition(transition) => {
                (from, to) = (Some(transition.from.as_str()), Some(transition.to.as_str()));
            }
            Subject::Lifecycle(lifecycle) => {
                (action, target) = (Some(lifecycle.action), Some(lifecycle.target.as_str()));
            }
            Subject::Result(report) => outcome = Some(report.outcome.as_str()),
            Subject::Ask(ask) => kind = Some(ask.kind),
        }
        one("from", &self.from, from)?;
        one("to", &self.to, to)?;
        one("target", &self.target, target)?;
        one("outcome", &self.outcome, outcome)?;
        if self.action.as_ref().is_some_and(|all| !action.is_some_and(|a| all.contains(&a))) {
            return Err(Miss("action"));
        }
        if self.kind.as_ref().is_some_and(|all| !kind.is_some_and(|k| all.contains(&k))) {
            return Err(Miss("kind"));
        }
        one("agent", &self.agent, Some(&request.agent.name))?;
        one("role", &self.role, Some(&request.agent.role))?;
        let task = request.task.as_ref();
        one("type", &self.sort, task.map(|task| task.sort.as_str()))?;
        if let Some(patterns) = &self.label {
            let labels = task.map(|task| task.labels.as_slice()).unwrap_or_default();
            if !labels.iter().any(|label| patterns.iter().any(|p| p.fits(label, strictly))) {
                return Err(Miss("label"));
            }
        }
        Ok(())
    }

    /// Matches strictly, for rules that allow: returns the part of the request that this names exactly.
    pub(crate) fn cover(&self, view: &View<'_>) -> Result<Cover, Miss> {
        self.names_fit(view, true)?;
        let Some(line) = &view.line else {
            if self.command.is_some() {
                return Err(Miss("command"));
            }
            let Some(patterns) = &self.path else { return Ok(Cover::default()) };
            let paths = view.paths();
            let all = paths.iter().all(|path| patterns.iter().any(|p| p.covers(path)));
            return if all && !paths.is_empty() { Ok(Cover::default()) } else { Err(Miss("path")) };
        };
        let files = match &self.path {
            // A rule that names neither matches the call as a whole.
            None if self.command.is_none() => Part::All,
            None => Part::These(vec![]),
            Some(patterns) => Part::These(
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
            None if self.path.is_some() => Part::These(vec![]),
            None => Part::All,
            Some(patterns) => Part::These(
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
        let is_nothing = |part: &Part| matches!(part, Part::These(these) if these.is_empty());
        match is_nothing(&commands) && is_nothing(&files) {
            true => Err(Miss(if self.command.is_some() { "command" } else { "path" })),
            false => Ok(Cover { commands, files }),
        }
    }

    /// Matches loosely, for rules that ask or deny: returns if any part of the request may be what this names,
    /// exceptions apart, and the commands that are.
    pub(crate) fn may_be(
        &self,
        unless: Option<&Match>,
        view: &View<'_>,
        vouched: &[usize],
    ) -> Result<(Fit, Part), Miss> {
        self.names_fit(view, false)?;
        let exception = unless.filter(|unless| unless.names_fit(view, true).is_ok());
        let paths_fit = self.path.as_ref().map(|patterns| {
            let hits = view.paths().iter().map(|path| {
                let fit = patterns.iter().map(|p| p.may_be(path)).max().unwrap_or(Fit::No);
                match exception.is_some_and(|e| e.excuses_path(view, path)) {
                    true if self.command.is_none() => Fit::No,
                    _ => fit,
                }
            });
            hits.max().unwrap_or(Fit::No)
        });
        if paths_fit == Some(Fit::No) {
            return Err(Miss("path"));
        }
        let Some(patterns) = &self.command else {
            let is_excused = self.path.is_none() && exception.is_some_and(|e| e.excuses_all(view));
            return if is_excused {
                Err(Miss("unless"))
            } else {
                Ok((paths_fit.unwrap_or(Fit::Yes), Part::All))
            };
        };
        let Some(line) = &view.line else { return Err(Miss("command")) };
        let mut best = Fit::No;
        let (mut is_excused, mut hits) = (false, vec![]);
        for (at, command) in line.commands.iter().enumerate() {
            let fit = patterns.iter().map(|p| p.may_be(command)).max().unwrap_or(Fit::No);
            if fit == Fit::No {
                continue;
            }
            match exception.is_some_and(|e| e.excuses_command(view, at)) {
                true => is_excused = true,
                false => {
                    best = best.max(fit);
                    hits.push(at);
                }
            }
        }
        // An unreadable part may be any command.
        if best == Fit::No && line.unclear_but_for(vouched).is_some() {
            best = Fit::Maybe;
        }
        match best {
            Fit::No => Err(Miss(if is_excused { "unless" } else { "command" })),
            Fit::Maybe | Fit::Yes => {
                Ok((best.min(paths_fit.unwrap_or(Fit::Yes)), Part::These(hits)))
            }
        }
    }

    /// Returns the commands whose exact program this names, so that it vouches for their arguments.
    pub(crate) fn vouches_for(&self, view: &View<'_>) -> Vec<usize> {
        let (Some(line), Some(patterns)) = (&view.line, &self.command) else { return vec![] };
        if self.names_fit(view, true).is_err() {
            return vec![];
        }
        let commands = line.commands.iter().enumerate();
        let named = |command| patterns.iter().any(|p| p.names_program() && p.covers(command));
        commands.filter(|(_, command)| named(command)).map(|(at, _)| at).collect()
    }

    fn excuses_command(&self, view: &View<'_>, at: usize) -> bool {
        let Some(command) = view.line.as_ref().and_then(|line| line.commands.get(at)) else {
            return false;
        };
        let command_fits = match &self.command {
            None => true,
            Some(patterns) => patterns.iter().any(|p| p.covers(command)),
        };
        command_fits && view.unclear().is_none() && self.covers_paths(view)
    }

    fn excuses_path(&self, view: &View<'_>, path: &PathSeen) -> bool {
        // A word that may be a path is excused by its command, not by its look.
        let path_fits = match &self.path {
            None => true,
            Some(patterns) => patterns.iter().any(|p| {
                let as_certain = PathSeen { is_certain: true, ..path.clone() };
                p.covers(if path.source == PathSource::Argument { &as_certain } else { path })
            }),
        };
        path_fits && (self.command.is_none() || self.covers_commands(view))
    }

    fn excuses_all(&self, view: &View<'_>) -> bool {
        (self.command.is_none() || self.covers_commands(view)) && self.covers_paths(view)
    }

    fn covers_commands(&self, view: &View<'_>) -> bool {
        let (Some(patterns), Some(line)) = (&self.command, &view.line) else { return false };
        let covered = |command| patterns.iter().any(|p| p.covers(command));
        line.unclear().is_none()
            && !line.commands.is_empty()
            && line.commands.iter().all(|command| command.transparent || covered(command))
    }

    fn covers_paths(&self, view: &View<'_>) -> bool {
        let Some(patterns) = &self.path else { return true };
        let mut paths = view.paths().iter().filter(|p| p.source != PathSource::Argument).peekable();
        paths.peek().is_some() && paths.all(|path| patterns.iter().any(|p| p.covers(path)))
    }

    /// True if this matches everything that `other` matches. Only obvious cases are detected.
    pub(crate) fn is_wider_than(&self, other: &Match) -> bool {
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
        let name = |wide: &Pattern, narrow: &Pattern| {
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
