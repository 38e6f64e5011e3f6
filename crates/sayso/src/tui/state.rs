//! What the terminal inbox knows: the list, the card that is looked at, what is being typed, what is held.
//! There is nothing here that fetches, draws or tells the time.

use super::keys::Pressed;
use super::view::{CardFrame, ShownCard};
use crate::exit::Failure;
use sayso_core::gate::{Gate, Receipt, Whose};
use sayso_core::{Actor, Digest, GateId, Kind, Shape, Timestamp, text};
use sayso_engine::{Asked, Say, SayOutcome};
use sayso_server::keys::DEAD_TIME;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Everything.
pub(crate) struct State {
    /// Who looks.
    pub(super) me: Actor,
    pub(super) space: String,
    /// Columns and rows of the terminal.
    pub(super) size: (u16, u16),
    pub(super) colour: bool,
    /// The wall clock, as it was told last.
    pub(super) now: Timestamp,
    /// How long the program has run.
    pub(super) clock: Duration,
    pub(super) list: List,
    pub(super) pane: Pane,
    /// How many lines of the card are above what is shown of it.
    pub(super) scroll: usize,
    /// The card that is on the screen, and since when.
    pub(super) drawn: Option<Drawn>,
    pub(super) hides_diffs: bool,
    pub(super) mode: Mode,
    pub(super) drafts: BTreeMap<GateId, Draft>,
    /// What was typed or written and is no part of an answer yet. It comes back with the same key.
    pub(super) kept: BTreeMap<(GateId, Sort), String>,
    /// What was written for cards that ended before it was said, with their names.
    pub(super) too_late: Vec<(String, String)>,
    /// When a key was dropped last: whoever types on means something else than this card.
    pub(super) dropped_at: Option<Duration>,
    /// What was marked, as it was when it was marked.
    pub(super) marks: BTreeMap<GateId, Target>,
    /// What is wanted, while it is looked at who wants it.
    pub(super) proving: VecDeque<Wish>,
    /// What was said and is not sent yet, each for its own time; the latest last.
    pub(super) held: Vec<Held>,
    /// What is on its way.
    pub(super) sending: Vec<Spoken>,
    /// What was said and did not get there, or nobody knows whether it did.
    pub(super) unsent: Vec<Spoken>,
    /// When that is tried again.
    pub(super) again_at: Duration,
    pub(super) said: Said,
    /// How many wait for this person's groups, as far as that is known.
    pub(super) in_groups: Option<Count>,
    /// What happened while the list was being looked at again.
    pub(super) changed: Option<BTreeSet<GateId>>,
    pub(super) is_refreshing: bool,
    pub(super) looking: Option<GateId>,
    /// That nothing can be heard from the desk, while that is so.
    pub(super) away: Option<Away>,
    pub(super) is_leaving: bool,
    /// What is to be told once the screen is gone.
    pub(super) farewell: Vec<Farewell>,
}

impl State {
    pub(crate) fn new(me: Actor, space: &str, view: View) -> Self {
        Self {
            me,
            space: text::harmless_line(space),
            size: (80, 24),
            colour: true,
            now: Timestamp::from_micros(0),
            clock: Duration::ZERO,
            list: List::new(view, 0),
            pane: Pane::List,
            scroll: 0,
            drawn: None,
            hides_diffs: false,
            mode: Mode::Look,
            drafts: BTreeMap::new(),
            kept: BTreeMap::new(),
            too_late: vec![],
            dropped_at: None,
            marks: BTreeMap::new(),
            proving: VecDeque::new(),
            held: vec![],
            sending: vec![],
            unsent: vec![],
            again_at: Duration::ZERO,
            said: Said::default(),
            in_groups: None,
            changed: None,
            is_refreshing: false,
            looking: None,
            away: None,
            is_leaving: false,
            farewell: vec![],
        }
    }

    /// The row the cursor stands on, if it is in the list as it is shown.
    pub(super) fn here(&self) -> Option<&Row> {
        self.list.rows.get(self.list.cursor?).filter(|row| self.list.lets_through(row))
    }

    /// What people call a gate.
    pub(super) fn name_of(&self, gate: GateId) -> String {
        let row = self.list.place_of(gate).and_then(|place| self.list.rows.get(place));
        row.map_or_else(|| gate.to_string(), |row| row.gate().handle().to_owned())
    }

    /// Whether a gate is in the list as it is shown.
    pub(super) fn is_in_sight(&self, gate: GateId) -> bool {
        let row = self.list.place_of(gate).and_then(|place| self.list.rows.get(place));
        row.is_some_and(|row| self.list.lets_through(row))
    }

    pub(super) fn draft(&self, gate: &Gate) -> Draft {
        let draft = self.drafts.get(&gate.opened.id).filter(|draft| draft.digest == gate.digest);
        draft.cloned().unwrap_or_else(|| Draft::of(gate))
    }

    pub(super) fn draft_mut(&mut self, gate: &Gate) -> &mut Draft {
        let draft = self.drafts.entry(gate.opened.id).or_insert_with(|| Draft::of(gate));
        if draft.digest != gate.digest {
            *draft = Draft::of(gate);
        }
        draft
    }

    pub(super) fn say(&mut self, words: impl Into<String>) {
        self.said = Said { words: words.into(), since: self.clock, ..Said::default() };
    }

    pub(super) fn complain(&mut self, words: impl Into<String>) {
        let words = words.into();
        self.said = Said { words, is_wrong: true, since: self.clock, is_until_heard: false };
    }

    /// The desk said something again: what it failed with before is over.
    pub(super) fn hear(&mut self) {
        if self.said.is_until_heard {
            self.said = Said::default();
        }
    }

    /// What was said belongs to what was looked at then. What went wrong stays until it could be read.
    pub(super) fn hush(&mut self) {
        if !self.said.is_wrong || self.clock >= self.said.since + READ_TIME {
            self.said = Said::default();
        }
    }

    /// Whether something was said to this gate that is not settled yet.
    pub(super) fn is_going(&self, gate: GateId) -> bool {
        let held = self.held.iter().any(|held| held.spoken.names(gate));
        let proving = self.proving.iter().any(|wish| wish.names(gate));
        let mut on_its_way = self.sending.iter().chain(&self.unsent);
        held || proving || on_its_way.any(|spoken| spoken.names(gate))
    }

    /// Whether something on the screen changes by itself before long.
    pub(super) fn is_counting(&self) -> bool {
        let is_unseen = self.drawn.as_ref().is_some_and(|drawn| drawn.is_open && !drawn.is_seen);
        !self.held.is_empty() || is_unseen || self.away.is_some() || !self.unsent.is_empty()
    }

    /// Whether this person has taken it, and still has it.
    pub(super) fn holds(&self, gate: &Gate) -> bool {
        let claim = gate.claim.as_ref().filter(|claim| claim.until > self.now);
        claim.is_some_and(|claim| claim.by == self.me.name)
    }

    /// Whether it is this person's to answer. The desk has told apart what is in their own lists.
    pub(super) fn is_mine(&self, gate: &Gate) -> bool {
        matches!(self.list.view, View::Yours | View::Groups)
            || gate.whose(&self.me) != Whose::Others
    }
}

/// For so long stays on the screen what went wrong, wherever somebody goes.
const READ_TIME: Duration = Duration::from_secs(3);

/// What is asked for beside the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// Only these kinds; none means all.
    pub(crate) kinds: Vec<Kind>,
    /// Also what was put off.
    pub(crate) all: bool,
}

/// The lists there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Yours,
    Groups,
    All,
    Done,
}

impl View {
    pub(super) const ALL: [View; 4] = [View::Yours, View::Groups, View::All, View::Done];

    pub(super) fn title(self) -> &'static str {
        match self {
            View::Yours => "You",
            View::Groups => "Your groups",
            View::All => "Watching",
            View::Done => "Done",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            View::Yours => View::Groups,
            View::Groups => View::All,
            View::All => View::Done,
            View::Done => View::Yours,
        }
    }

    /// What is said where there is nothing.
    pub(super) fn is_empty(self) -> &'static str {
        match self {
            View::Yours => "Nothing waits for you.",
            View::Groups => "Nothing waits for your groups.",
            View::All => "Nothing waits for anybody.",
            View::Done => "Nothing has been answered yet.",
        }
    }
}

/// The list. A row never moves and never goes as long as the list is not asked for anew.
pub(super) struct List {
    /// Counts the lists: what was fetched for another one is not for this one.
    pub(super) number: u64,
    pub(super) view: View,
    pub(super) rows: Vec<Row>,
    pub(super) cursor: Option<usize>,
    /// The first row on the screen, of those the filter lets through.
    pub(super) top: usize,
    /// Where the next page begins.
    pub(super) next: Option<GateId>,
    pub(super) is_loading: bool,
    pub(super) is_loaded: bool,
    /// Whether its last card is wanted, wherever that is.
    pub(super) is_seeking_end: bool,
    /// Only what has this word in it, in small letters.
    pub(super) filter: String,
    /// Where the cursor was before the filter hid that.
    pub(super) hidden: Option<usize>,
    /// What hangs.
    pub(super) alerts: Vec<String>,
}

impl List {
    pub(super) fn new(view: View, number: u64) -> Self {
        Self {
            number,
            view,
            rows: vec![],
            cursor: None,
            top: 0,
            next: None,
            is_loading: true,
            is_loaded: false,
            is_seeking_end: false,
            filter: String::new(),
            hidden: None,
            alerts: vec![],
        }
    }

    /// The rows that the filter lets through.
    pub(super) fn shown(&self) -> Vec<usize> {
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, row)| self.lets_through(row)).map(|(at, _)| at).collect()
    }

    fn lets_through(&self, row: &Row) -> bool {
        self.filter.is_empty() || row.has(&self.filter)
    }

    pub(super) fn place_of(&self, gate: GateId) -> Option<usize> {
        self.rows.iter().position(|row| row.id() == gate)
    }
}

/// A row: a card, as it was fetched last.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(super) asked: Asked,
    /// What people call the task that waits.
    pub(super) task: Option<String>,
    /// Its way, once it was looked at.
    pub(super) receipt: Option<Receipt>,
    /// Whether it still waits, but not in this list.
    pub(super) is_gone: bool,
}

impl Row {
    pub(super) fn new(asked: Asked, task: Option<String>) -> Self {
        Self { asked, task, receipt: None, is_gone: false }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.asked.gate
    }

    pub(super) fn id(&self) -> GateId {
        self.asked.gate.opened.id
    }

    /// Whether it waits for a time that somebody named.
    pub(super) fn is_put_off(&self, now: Timestamp) -> bool {
        self.gate().snoozed_until.is_some_and(|until| until > now)
    }

    fn has(&self, word: &str) -> bool {
        let gate = self.gate();
        let kind = gate.opened.kind.as_str();
        let places = [&gate.card.question, &gate.opened.handle, &gate.opened.lineage.asker];
        let task = self.task.iter().map(String::as_str);
        let mut all = places.into_iter().map(String::as_str).chain([kind]).chain(task);
        all.any(|place| place.to_lowercase().contains(word))
    }

    /// What an answer to it names.
    pub(super) fn target(&self) -> Target {
        let same = self.asked.same.as_ref().map(ToString::to_string);
        Target { gate: self.id(), digest: self.gate().digest.clone(), same }
    }
}

/// A card as somebody saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) gate: GateId,
    pub(super) digest: Digest,
    pub(super) same: Option<String>,
}

/// Which pane is in front, where there is room for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    List,
    Card,
}

/// A card on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) gate: GateId,
    pub(super) digest: Digest,
    pub(super) is_open: bool,
    /// Since when.
    pub(super) since: Duration,
    /// Whether the desk was told.
    pub(super) is_seen: bool,
    /// The part of it that is on the screen, and since when.
    pub(super) frame: CardFrame,
    pub(super) framed: Duration,
    /// So many lines of what is asked, counted from its end, were not on the screen for a moment yet.
    pub(super) unread: usize,
}

impl Drawn {
    /// Notes what was on the screen for a moment by now. What was passed over was not read.
    pub(super) fn note(&mut self, at: Duration) {
        let CardFrame { first, end, asked } = self.frame;
        if at >= self.framed + DEAD_TIME && first <= self.place() {
            self.unread = self.unread.min(asked.saturating_sub(end));
        }
    }

    /// The first line that was not read.
    pub(super) fn place(&self) -> usize {
        self.frame.asked.saturating_sub(self.unread)
    }
}

/// What keys are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Look,
    Help {
        scroll: usize,
    },
    Palette {
        typed: String,
        at: usize,
    },
    Field(Field),
    /// A line that was cut off, because its card is no longer the one it was begun for. Whoever typed it may
    /// not have looked up yet, so nothing is a key before Enter or Esc.
    Cut(Field),
}

/// A line that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) purpose: Purpose,
    pub(super) title: String,
    pub(super) label: &'static str,
    pub(super) text: String,
    /// Where the next letter goes, counted in letters.
    pub(super) at: usize,
    /// Whether it is finished, and the desk is asked. It stays open until the desk said yes.
    pub(super) is_asked: bool,
}

/// What a line is typed for. What is said to a card names it as it was seen when the line was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    Filter,
    Reject(Vec<Target>),
    Snooze(Target),
    Delegate(Target),
    /// The answer, or direction.
    Text(Target),
    /// Options by number or name, or words of one's own.
    Pick(Target),
    /// Why, or what was done.
    Reason(Target),
}

impl Purpose {
    /// What it is about; nothing, where it looks for cards.
    pub(super) fn targets(&self) -> &[Target] {
        match self {
            Purpose::Filter => &[],
            Purpose::Reject(targets) => targets,
            Purpose::Snooze(target)
            | Purpose::Delegate(target)
            | Purpose::Text(target)
            | Purpose::Pick(target)
            | Purpose::Reason(target) => std::slice::from_ref(target),
        }
    }

    /// Under what an unfinished line is kept.
    pub(super) fn place(&self) -> Option<(GateId, Sort)> {
        let sort = match self {
            Purpose::Filter => return None,
            Purpose::Reject(_) => Sort::Reject,
            Purpose::Snooze(_) => Sort::Snooze,
            Purpose::Delegate(_) => Sort::Delegate,
            Purpose::Text(_) => Sort::Text,
            Purpose::Pick(_) => Sort::Pick,
            Purpose::Reason(_) => Sort::Reason,
        };
        Some((self.targets().first()?.gate, sort))
    }
}

/// What something unfinished was to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    Reject,
    Snooze,
    Delegate,
    Text,
    Pick,
    Reason,
    Form,
    Arguments,
}

/// An answer in the making.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) digest: Digest,
    pub(super) picked: BTreeSet<usize>,
    pub(super) other: String,
    pub(super) text: String,
    pub(super) reason: String,
    pub(super) form: Option<Value>,
    pub(super) arguments: Option<Value>,
    /// Why it was not taken, one mistake after the other.
    pub(super) wrong: Vec<String>,
}

impl Draft {
    pub(super) fn of(gate: &Gate) -> Self {
        Self {
            digest: gate.digest.clone(),
            picked: BTreeSet::new(),
            other: String::new(),
            text: String::new(),
            reason: String::new(),
            form: None,
            arguments: None,
            wrong: vec![],
        }
    }
}

/// What somebody said to one card or to several.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spoken {
    pub(super) says: Vec<Say>,
    /// What is being done: "approving g7k2m".
    pub(super) words: String,
    /// What the answer says, in a few words, where it is more than a verdict.
    pub(super) content: String,
    /// What was marked for it, and is again when it is taken back.
    pub(super) marked: Vec<Target>,
}

impl Spoken {
    pub(super) fn names(&self, gate: GateId) -> bool {
        self.says.iter().any(|say| say.gate == gate)
    }
}

/// The desk cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Away {
    pub(super) why: String,
    /// Since when; what is on the screen is from before.
    pub(super) since: Timestamp,
    /// When it is tried again.
    pub(super) again_at: Duration,
}

/// What is wanted of somebody who has to be known first.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wish {
    Answer(Spoken),
    /// Something else that only a person does.
    Deed(GateId, Effect),
}

impl Wish {
    pub(super) fn names(&self, gate: GateId) -> bool {
        match self {
            Wish::Answer(spoken) => spoken.names(gate),
            Wish::Deed(of, _) => *of == gate,
        }
    }
}

/// The same, until it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    pub(super) spoken: Spoken,
    pub(super) until: Duration,
}

/// What stands in the line above the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) words: String,
    pub(super) is_wrong: bool,
    /// Since when it stands there.
    pub(super) since: Duration,
    /// Whether it is only true until the desk is heard again.
    pub(super) is_until_heard: bool,
}

/// What is told once the screen is gone.
pub(crate) enum Farewell {
    Good(String),
    /// That something was said to a card in vain, which the person could see before.
    Note(GateId, String),
    Bad(Failure),
}

/// What happens to the inbox.
pub(crate) enum Event {
    Key(Pressed),
    Pasted(String),
    Resized(u16, u16),
    Tick(Timestamp),
    /// A frame is on the screen; with which card, as it was.
    Drawn(Option<ShownCard>),
    Page {
        list: u64,
        is_first: bool,
        page: Result<Page, Failure>,
    },
    Refreshed {
        list: u64,
        found: Result<Refreshed, Failure>,
    },
    Looked {
        gate: GateId,
        found: Result<Box<(Asked, Receipt)>, Failure>,
    },
    /// Something happened to these, or to others.
    Changed(Vec<GateId>),
    /// The desk cannot be reached, why, and how long until it is tried again; or it can.
    Reached(Option<(String, Duration)>),
    /// Who says it is known; whether this terminal has to be unlocked first.
    Proved(Result<bool, Failure>),
    /// What became of a text in the editor; none where it was left without saving.
    Written(Written, Result<Option<String>, Failure>),
    Sent(Vec<GateId>, Result<Vec<SayOutcome>, Failure>),
    /// Something else was done, in words.
    Done(GateId, Result<String, Failure>),
    /// The program was stopped for a while, and goes on.
    Resumed,
    /// The program is told to end, from outside.
    Ended,
}

/// A page of a list.
pub(crate) struct Page {
    pub(super) rows: Vec<Row>,
    pub(super) next: Option<GateId>,
    pub(super) alerts: Vec<String>,
    /// How many wait for the person's groups; none where nobody looked.
    pub(super) in_groups: Option<Count>,
}

/// How many there are, as far as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(super) number: usize,
    pub(super) and_more: bool,
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = if self.and_more { "+" } else { "" };
        write!(f, "{}{more}", self.number)
    }
}

/// A list that was looked at again: its first page, and the cards in which something happened.
pub(crate) struct Refreshed {
    pub(super) first: Page,
    pub(super) cards: Vec<Asked>,
}

/// What is to be done about it. The loop does it, or has it done; nothing else happens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Load {
        list: u64,
        view: View,
        after: Option<GateId>,
    },
    Refresh {
        list: u64,
        view: View,
        gates: Vec<GateId>,
    },
    Look(GateId),
    See(Box<Asked>),
    Prove,
    /// Asks for the passphrase, outside of the screen.
    Unlock,
    /// Opens the editor, outside of the screen.
    Write(Written, Writing),
    Send(Vec<Say>),
    /// Puts a command of ours on the clipboard, where the terminal does that.
    Copy(String),
    Snooze(GateId, String),
    Claim(GateId),
    Release(GateId),
    Delegate(GateId, String),
    Suspend,
    Leave,
}

/// What is written in the editor, and for which card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(super) target: Target,
    pub(super) what: What,
    /// Whether what was held was sent when the editor opened.
    pub(super) has_sent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Text,
    Form,
    Arguments,
}

impl What {
    pub(super) fn sort(self) -> Sort {
        match self {
            What::Text => Sort::Text,
            What::Form => Sort::Form,
            What::Arguments => Sort::Arguments,
        }
    }
}

/// What the editor opens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Writing {
    /// The question above a line, to write below it, where something may have been begun.
    Below {
        question: String,
        narrative: String,
        begun: String,
    },
    Json(String),
    /// JSON with comments that say what is asked for.
    Form(String),
}

/// Whether an answer of this shape is a verdict and nothing else.
pub(super) fn is_verdict(gate: &Gate) -> bool {
    gate.card.shape == Shape::Verdict
}
