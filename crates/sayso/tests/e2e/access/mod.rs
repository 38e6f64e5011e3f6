//! Who may see and do what: every page, route, call, tool, resource and stream, with every sort of credential, on gates of
//! others that are open and that have ended. Entries come from the program's own tables, so a new one without a row here
//! fails.

mod calls;
mod command_line;
mod pages;
mod routes;
mod stage;
mod tools;

use stage::{Holder, Stage};

/// The least number of cells that are checked on one database. It goes up when entries are added.
const CELLS_MIN: usize = 5_000;

/// Which deeds a credential may do, one letter each: `A`nswer, as`Q`, `T`rack, `R`ead, a`U`dit, `G`overn, `O`perate,
/// `M`easure; `N` is for those who look after the space, `E` for agents.
type May = &'static str;

/// The permission a row asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Any credential.
    Any,
    /// One of these letters.
    One(May),
    /// All of these letters.
    All(May),
    /// Nobody from elsewhere, whatever the credential.
    Never,
}

impl Need {
    fn is_met(self, may: May) -> bool {
        match self {
            Need::Any => true,
            Need::One(letters) => letters.chars().any(|letter| may.contains(letter)),
            Need::All(letters) => letters.chars().all(|letter| may.contains(letter)),
            Need::Never => false,
        }
    }
}

/// The object a row is about, which is another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    Gate,
    Task,
    Message,
}

impl About {
    /// Whether a credential may know that there is such a thing.
    fn is_known(self, may: May) -> bool {
        match self {
            About::Nothing => true,
            About::Gate => may.contains('R') || may.contains('A'),
            About::Task => may.contains('R') || may.contains('T'),
            About::Message => may.contains('R'),
        }
    }
}

/// The expected result of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Nobody knows this credential.
    Unknown,
    /// The word of our own pages is missing.
    Foreign,
    /// The same as for a thing that does not exist.
    Hidden,
    /// Refused for want of a permission.
    Refused,
    /// Let through; what comes of it depends on more than on who asks.
    Passes,
}

fn expected(holder: &Holder, need: Need, about: About, is_safe: bool) -> Expected {
    match holder {
        Holder { is_known: false, .. } => Expected::Unknown,
        Holder { lacks_word: true, .. } if !is_safe => Expected::Foreign,
        Holder { may, .. } if !about.is_known(may) => Expected::Hidden,
        Holder { may, .. } if need.is_met(may) => Expected::Passes,
        _ => Expected::Refused,
    }
}

/// What was answered, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    status: u16,
    body: String,
}

impl Said {
    fn code(&self) -> String {
        let at = self.body.find("SAY0").unwrap_or(self.body.len());
        self.body[at..].chars().take(6).collect()
    }

    /// The same with the name of the object taken out.
    fn without(&self, names: &[String]) -> Self {
        let mut body = self.body.clone();
        for name in names {
            body = body.replace(name, "NAME");
        }
        Self { status: self.status, body }
    }
}

/// Checks the cells of one entry: every holder, on an open, an ended and a missing object. Returns how many. What does not
/// hold is gathered, so that one run tells all of it.
fn check(
    stage: &mut Stage,
    entry: &str,
    (need, about, is_safe): (Need, About, bool),
    ask: &dyn Fn(&Stage, &Holder, &str) -> Option<Said>,
) -> usize {
    let mut cells = 0;
    for holder in &stage.holders() {
        let wanted = expected(holder, need, about, is_safe);
        let mut none = None;
        if wanted == Expected::Hidden {
            let missing = stage.missing(about);
            let Some(said) = ask(stage, holder, &missing) else { continue };
            none = Some(said.without(&[missing]));
        }
        for state in ["open", "ended"] {
            let name = stage.named(about, state);
            let Some(said) = ask(stage, holder, &name) else { continue };
            let wrong = match wanted {
                Expected::Hidden
                    if Some(&said.without(std::slice::from_ref(&name))) != none.as_ref() =>
                {
                    Some("it is told from a missing one".to_owned())
                }
                Expected::Hidden => not_hidden(&said, need.is_met(holder.may)),
                _ => not_as_wanted(wanted, &said),
            };
            let wrong = wrong.or_else(|| stage.gives_away(holder, &said, &name));
            if let Some(wrong) = wrong {
                let of_none = none.as_ref().map(|none| format!("\n  of none: {none:?}"));
                stage.wrong.push(format!(
                    "{entry} by {} on {state}, expected {wanted:?}: {wrong}: {said:.600?}{}",
                    holder.name,
                    of_none.unwrap_or_default()
                ));
            }
            cells += 1;
            if wanted == Expected::Passes && !is_safe {
                stage.renew();
            }
            if about == About::Nothing {
                break;
            }
        }
    }
    cells
}

fn not_hidden(said: &Said, is_met: bool) -> Option<String> {
    let is_hidden = said.status == 404 || (said.status == 403 && !is_met);
    (!is_hidden).then(|| "it is not hidden".to_owned())
}

fn not_as_wanted(wanted: Expected, said: &Said) -> Option<String> {
    let code = said.code();
    let is_so = match wanted {
        Expected::Unknown => said.status == 401 || (said.status == 303 && said.body.is_empty()),
        Expected::Foreign => (said.status, code.as_str()) == (403, "SAY058"),
        Expected::Refused => said.status == 403 && ["SAY010", "SAY037"].contains(&code.as_str()),
        // More proof may still be wanted of the right person.
        Expected::Passes => {
            let is_refused =
                said.status == 403 && ["SAY010", "SAY037", "SAY058"].contains(&code.as_str());
            said.status < 500 && said.status != 401 && !is_refused
        }
        Expected::Hidden => false,
    };
    (!is_so).then(|| "it is another".to_owned())
}

#[allow(clippy::print_stdout)]
fn run(backend: crate::harness::Backend) {
    let mut stage = Stage::new(backend);
    let counts = [
        ("calls", calls::check_all(&mut stage)),
        ("routes", routes::check_all(&mut stage)),
        ("pages", pages::check_all(&mut stage)),
        ("tools", tools::check_all(&mut stage)),
    ];
    let cells: usize = counts.iter().map(|(_, count)| count).sum();
    println!("{cells} cells: {counts:?}");
    assert!(cells >= CELLS_MIN, "{cells} cells: {counts:?}");
    assert!(
        stage.wrong.is_empty(),
        "{} of {cells} cells:\n{}",
        stage.wrong.len(),
        stage.wrong.join("\n")
    );
    stage.space.verify();
}

#[test]
fn sqlite() {
    run(crate::harness::Backend::Sqlite);
}

#[test]
fn postgres() {
    run(crate::harness::Backend::Postgres);
}
