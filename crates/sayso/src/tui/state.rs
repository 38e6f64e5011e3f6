//! The state of the terminal inbox: the list, the open card, the input line, held answers. Nothing here fetches,
//! draws or reads the clock.

use super::keys::KeyPress;
use super::view::{CardFrame, ShownCard};
use crate::exit::Failure;
use sayso_core::gate::{Gate, GateAudience, Receipt};
use sayso_core::{Actor, AnswerShape, Digest, GateId, GateKind, Timestamp, text};
use sayso_engine::{AnswerOutcome, CardAnswer, CardView};
use sayso_server::keys::DEAD_TIME;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The whole state of the inbox.
pub(crate) struct InboxState {
    /// The person at this terminal.
    pub(super) me: Actor,
    pub(super) space: String,
    /// Columns and rows of the terminal.
    pub(super) size: (u16, u16),
    pub(super) colour: bool,
    /// The wall clock at the last tick.
    pub(super) now: Timestamp,
    /// The time the program has run.
    pub(super) clock: Duration,
    pub(super) list: InboxList,
    pub(super) pane: InboxPane,
    /// The number of card lines that are scrolled away above.
    pub(super) scroll: usize,
    /// The card on the screen, and the time since which it is there.
    pub(super) drawn: Option<DrawnCard>,
    pub(super) hides_diffs: bool,
    pub(super) mode: InputMode,
    pub(super) drafts: BTreeMap<GateId, AnswerDraft>,
    /// Unfinished texts that are not part of an answer yet. The same key reopens them.
    pub(super) kept: BTreeMap<(GateId, DraftKind), String>,
    /// Drafts for cards that ended before they were sent, with the names of the cards.
    pub(super) too_late: Vec<(String, String)>,
    /// The time of the last dropped key: further typing is not meant for this card either.
    pub(super) dropped_at: Option<Duration>,
    /// The marked cards, as they were when they were marked.
    pub(super) marks: BTreeMap<GateId, AnswerTarget>,
    /// Requests that wait for the identity check.
    pub(super) proving: VecDeque<ProofRequest>,
    /// Answers that are not sent yet, each with its own undo window; the latest last.
    pub(super) held: Vec<HeldAnswer>,
    /// Answers that are being sent.
    pub(super) sending: Vec<OutgoingAnswer>,
    /// Answers that did not arrive, or whose outcome is unknown.
    pub(super) unsent: Vec<OutgoingAnswer>,
    /// The time of the next retry.
    pub(super) again_at: Duration,
    pub(super) said: StatusMessage,
    /// The number of cards that wait for this person's groups, as far as it is known.
    pub(super) in_groups: Option<CardCount>,
    /// Changes that arrived during a refresh.
    pub(super) changed: Option<BTreeSet<GateId>>,
    pub(super) is_refreshing: bool,
    pub(super) looking: Option<GateId>,
    /// The connection loss, while the desk is unreachable.
    pub(super) away: Option<ConnectionLoss>,
    pub(super) is_leaving: bool,
    /// Messages to print once the screen is gone.
    pub(super) farewell: Vec<ExitMessage>,
}

impl InboxState {
    pub(crate) fn new(me: Actor, space: &str, view: InboxListKind) -> Self {
        Self {
            me,
            space: text::sanitize_line(space),
            size: (80, 24),
            colour: true,
            now: Timestamp::from_micros(0),
            clock: Duration::ZERO,
            list: InboxList::new(view, 0),
            pane: InboxPane::List,
            scroll: 0,
            drawn: None,
            hides_diffs: false,
            mode: InputMode::Look,
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
            said: StatusMessage::default(),
            in_groups: None,
            changed: None,
            is_refreshing: false,
            looking: None,
            away: None,
            is_leaving: false,
            farewell: vec![],
        }
    }

    /// The row under the cursor, if the filter shows it.
    pub(super) fn here(&self) -> Option<&InboxRow> {
        self.list.rows.get(self.list.cursor?).filter(|row| self.list.lets_through(row))
    }

    /// The displayed ID of a gate.
    pub(super) fn name_of(&self, gate: GateId) -> String {
        let row = self.list.place_of(gate).and_then(|place| self.list.rows.get(place));
        row.map_or_else(|| gate.to_string(), |row| row.gate().handle().to_owned())
    }

    /// True if a gate is in the list as it is shown.
    pub(super) fn is_in_sight(&self, gate: GateId) -> bool {
        let row = self.list.place_of(gate).and_then(|place| self.list.rows.get(place));
        row.is_some_and(|row| self.list.lets_through(row))
    }

    pub(super) fn draft(&self, gate: &Gate) -> AnswerDraft {
        let draft = self.drafts.get(&gate.opened.id).filter(|draft| draft.digest == gate.digest);
        draft.cloned().unwrap_or_else(|| AnswerDraft::of(gate))
    }

    pub(super) fn draft_mut(&mut self, gate: &Gate) -> &mut AnswerDraft {
        let draft = self.drafts.entry(gate.opened.id).or_insert_with(|| AnswerDraft::of(gate));
        if draft.digest != gate.digest {
            *draft = AnswerDraft::of(gate);
        }
        draft
    }

    pub(super) fn set_message(&mut self, words: impl Into<String>) {
        self.said =
            StatusMessage { words: words.into(), since: self.clock, ..StatusMessage::default() };
    }

    pub(super) fn set_error(&mut self, words: impl Into<String>) {
        let words = words.into();
        self.said =
            StatusMessage { words, is_wrong: true, since: self.clock, is_until_heard: false };
    }

    /// The desk has replied: a message about its failure is cleared.
    pub(super) fn clear_failure(&mut self) {
        if self.said.is_until_heard {
            self.said = StatusMessage::default();
        }
    }

    /// Clears the message, since it belonged to the previous card. An error stays until there was time to read it.
    pub(super) fn clear_message(&mut self) {
        if !self.said.is_wrong || self.clock >= self.said.since + READ_TIME {
            self.said = StatusMessage::default();
        }
    }

    /// True if an answer to this gate is not settled yet.
    pub(super) fn is_pending(&self, gate: GateId) -> bool {
        let held = self.held.iter().any(|held| held.spoken.names(gate));
        let proving = self.proving.iter().any(|wish| wish.names(gate));
        let mut on_its_way = self.sending.iter().chain(&self.unsent);
        held || proving || on_its_way.any(|spoken| spoken.names(gate))
    }

    /// True if the screen has a countdown.
    pub(super) fn is_counting(&self) -> bool {
        let is_unseen = self.drawn.as_ref().is_some_and(|drawn| drawn.is_open && !drawn.is_seen);
        !self.held.is_empty() || is_unseen || self.away.is_some() || !self.unsent.is_empty()
    }

    /// True if this person's claim on the gate is still valid.
    pub(super) fn holds(&self, gate: &Gate) -> bool {
        let claim = gate.claim.as_ref().filter(|claim| claim.until > self.now);
        claim.is_some_and(|claim| claim.by == self.me.name)
    }

    /// True if this person may answer it. The desk has already filtered their own lists.
    pub(super) fn is_mine(&self, gate: &Gate) -> bool {
        matches!(self.list.view, InboxListKind::Yours | InboxListKind::Groups)
            || gate.audience_for(&self.me) != GateAudience::Others
    }
}

/// The time for which an error stays on the screen, also when the cursor moves.
const READ_TIME: Duration = Duration::from_secs(3);

/// The filters of the list from the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboxScope {
    /// Only these kinds; empty means all.
    pub(crate) kinds: Vec<GateKind>,
    /// Includes snoozed cards.
    pub(crate) all: bool,
}

/// The lists of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InboxListKind {
    Yours,
    Groups,
    All,
    Done,
}

impl InboxListKind {
    pub(super) const ALL: [InboxListKind; 4] =
        [InboxListKind::Yours, InboxListKind::Groups, InboxListKind::All, InboxListKind::Done];

    pub(super) fn title(self) -> &'static str {
        match self {
            InboxListKind::Yours => "You",
            InboxListKind::Groups => "Your groups",
            InboxListKind::All => "Watching",
            InboxListKind::Done => "Done",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            InboxListKind::Yours => InboxListKind::Groups,
            InboxListKind::Groups => InboxListKind::All,
            InboxListKind::All => InboxListKind::Done,
            InboxListKind::Done => InboxListKind::Yours,
        }
    }

    /// The message of an empty list.
    pub(super) fn empty_message(self) -> &'static str {
        match self {
            InboxListKind::Yours => "Nothing waits for you.",
            InboxListKind::Groups => "Nothing waits for your groups.",
            InboxListKind::All => "Nothing waits for anybody.",
            InboxListKind::Done => "Nothing has been answered yet.",
        }
    }
}

/// The list. A row never moves and never disappears until the list is loaded anew.
pub(super) struct InboxList {
    /// The number of this list: a page that was fetched for an earlier list is dropped.
    pub(super) number: u64,
    pub(super) view: InboxListKind,
    pub(super) rows: Vec<InboxRow>,
    pub(super) cursor: Option<usize>,
    /// The first row on the screen, among those the filter lets through.
    pub(super) top: usize,
    /// The cursor of the next page.
    pub(super) next: Option<GateId>,
    pub(super) is_loading: bool,
    pub(super) is_loaded: bool,
    /// True while pages are loaded up to the last card.
    pub(super) is_seeking_end: bool,
    /// The filter text, in lower case.
    pub(super) filter: String,
    /// The position of the cursor before the filter hid its row.
    pub(super) hidden: Option<usize>,
    /// Alerts about stalled requests.
    pub(super) alerts: Vec<String>,
}

impl InboxList {
    pub(super) fn new(view: InboxListKind, number: u64) -> Self {
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

    fn lets_through(&self, row: &InboxRow) -> bool {
        self.filter.is_empty() || row.has(&self.filter)
    }

    pub(super) fn place_of(&self, gate: GateId) -> Option<usize> {
        self.rows.iter().position(|row| row.id() == gate)
    }
}

/// A row: a card, as it was last fetched.
#[derive(Debug, Clone)]
pub(crate) struct InboxRow {
    pub(super) asked: CardView,
    /// The displayed ID of the waiting task.
    pub(super) task: Option<String>,
    /// Its timeline, once it was loaded.
    pub(super) receipt: Option<Receipt>,
    /// True if it still waits, but not in this list.
    pub(super) is_gone: bool,
}

impl InboxRow {
    pub(super) fn new(asked: CardView, task: Option<String>) -> Self {
        Self { asked, task, receipt: None, is_gone: false }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.asked.gate
    }

    pub(super) fn id(&self) -> GateId {
        self.asked.gate.opened.id
    }

    /// True if it is snoozed.
    pub(super) fn is_snoozed(&self, now: Timestamp) -> bool {
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

    /// The gate and digest that an answer names.
    pub(super) fn target(&self) -> AnswerTarget {
        let same = self.asked.same.as_ref().map(ToString::to_string);
        AnswerTarget { gate: self.id(), digest: self.gate().digest.clone(), same }
    }
}

/// A card in the version that the person saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerTarget {
    pub(super) gate: GateId,
    pub(super) digest: Digest,
    pub(super) same: Option<String>,
}

/// The pane in front, on a screen with room for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InboxPane {
    List,
    Card,
}

/// A card on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DrawnCard {
    pub(super) gate: GateId,
    pub(super) digest: Digest,
    pub(super) is_open: bool,
    pub(super) since: Duration,
    /// True if the desk has recorded that it was seen.
    pub(super) is_seen: bool,
    /// The part of it that is on the screen, and since when.
    pub(super) frame: CardFrame,
    pub(super) framed: Duration,
    /// So many lines of what is asked, counted from its end, were not on the screen for a moment yet.
    pub(super) unread: usize,
}

impl DrawnCard {
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

/// The input mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputMode {
    Look,
    Help {
        scroll: usize,
    },
    Palette {
        typed: String,
        at: usize,
    },
    Field(InputLine),
    /// A line that was cut off, because its card has changed. The person who typed it may not have looked up yet, so
    /// no key counts before Enter or Esc.
    Cut(InputLine),
}

/// An input line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputLine {
    pub(super) purpose: LinePurpose,
    pub(super) title: String,
    pub(super) label: &'static str,
    pub(super) text: String,
    /// The cursor position, counted in characters.
    pub(super) at: usize,
    /// True if it was submitted to the desk. It stays open until the desk has accepted it.
    pub(super) is_asked: bool,
}

/// The purpose of an input line. A line about a card names the card in the version seen when the line was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinePurpose {
    Filter,
    Reject(Vec<AnswerTarget>),
    Snooze(AnswerTarget),
    Delegate(AnswerTarget),
    /// The answer, or direction.
    Text(AnswerTarget),
    /// Options by number or name, or a custom answer.
    Pick(AnswerTarget),
    /// The reason, or a note on the work done.
    Reason(AnswerTarget),
}

impl LinePurpose {
    /// The cards it is about; none for the filter.
    pub(super) fn targets(&self) -> &[AnswerTarget] {
        match self {
            LinePurpose::Filter => &[],
            LinePurpose::Reject(targets) => targets,
            LinePurpose::Snooze(target)
            | LinePurpose::Delegate(target)
            | LinePurpose::Text(target)
            | LinePurpose::Pick(target)
            | LinePurpose::Reason(target) => std::slice::from_ref(target),
        }
    }

    /// The key under which an unfinished line is kept.
    pub(super) fn place(&self) -> Option<(GateId, DraftKind)> {
        let sort = match self {
            LinePurpose::Filter => return None,
            LinePurpose::Reject(_) => DraftKind::Reject,
            LinePurpose::Snooze(_) => DraftKind::Snooze,
            LinePurpose::Delegate(_) => DraftKind::Delegate,
            LinePurpose::Text(_) => DraftKind::Text,
            LinePurpose::Pick(_) => DraftKind::Pick,
            LinePurpose::Reason(_) => DraftKind::Reason,
        };
        Some((self.targets().first()?.gate, sort))
    }
}

/// The kind of an unfinished text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DraftKind {
    Reject,
    Snooze,
    Delegate,
    Text,
    Pick,
    Reason,
    Form,
    Arguments,
}

/// An answer draft.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerDraft {
    pub(super) digest: Digest,
    pub(super) picked: BTreeSet<usize>,
    pub(super) other: String,
    pub(super) text: String,
    pub(super) reason: String,
    pub(super) form: Option<Value>,
    pub(super) arguments: Option<Value>,
    /// The reasons for the refusal, one mistake after the other.
    pub(super) wrong: Vec<String>,
}

impl AnswerDraft {
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

/// An answer of this person to one card or several.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutgoingAnswer {
    pub(super) says: Vec<CardAnswer>,
    /// The action in progress: "approving g7k2m".
    pub(super) words: String,
    /// The content of the answer in a few words, where it is more than a verdict.
    pub(super) content: String,
    /// The marks that were removed for it; an undo restores them.
    pub(super) marked: Vec<AnswerTarget>,
}

impl OutgoingAnswer {
    pub(super) fn names(&self, gate: GateId) -> bool {
        self.says.iter().any(|say| say.gate == gate)
    }
}

/// A connection loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionLoss {
    pub(super) why: String,
    /// The time of the loss; the list on the screen is from before.
    pub(super) since: Timestamp,
    /// The time of the next attempt.
    pub(super) again_at: Duration,
}

/// A request that waits for the identity check.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProofRequest {
    Answer(OutgoingAnswer),
    /// Another action that only a person may do.
    Deed(GateId, InboxEffect),
}

impl ProofRequest {
    pub(super) fn names(&self, gate: GateId) -> bool {
        match self {
            ProofRequest::Answer(spoken) => spoken.names(gate),
            ProofRequest::Deed(of, _) => *of == gate,
        }
    }
}

/// An answer in its undo window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeldAnswer {
    pub(super) spoken: OutgoingAnswer,
    pub(super) until: Duration,
}

/// The message in the status line above the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StatusMessage {
    pub(super) words: String,
    pub(super) is_wrong: bool,
    /// The time since which it is shown.
    pub(super) since: Duration,
    /// True if it holds only until the desk replies again.
    pub(super) is_until_heard: bool,
}

/// A message that is printed once the screen is gone.
pub(crate) enum ExitMessage {
    Good(String),
    /// An answer came too late for its card, which the screen had shown already.
    Note(GateId, String),
    Bad(Failure),
}

/// An event of the inbox.
pub(crate) enum InboxEvent {
    Key(KeyPress),
    Pasted(String),
    Resized(u16, u16),
    Tick(Timestamp),
    /// A frame was drawn, with this card in this version.
    Drawn(Option<ShownCard>),
    Page {
        list: u64,
        is_first: bool,
        page: Result<LoadedPage, Failure>,
    },
    Refreshed {
        list: u64,
        found: Result<RefreshedList, Failure>,
    },
    Looked {
        gate: GateId,
        found: Result<Box<(CardView, Receipt)>, Failure>,
    },
    /// These gates have changed, or others have.
    Changed(Vec<GateId>),
    /// The desk is unreachable: the reason, and the time to the next attempt; or none if it is reachable again.
    Reached(Option<(String, Duration)>),
    /// The result of the identity check: true if this terminal must be unlocked first.
    Proved(Result<bool, Failure>),
    /// The text from the editor; none if it was left without saving.
    Written(EditorSession, Result<Option<String>, Failure>),
    Sent(Vec<GateId>, Result<Vec<AnswerOutcome>, Failure>),
    /// Another action was done; its message.
    Done(GateId, Result<String, Failure>),
    /// The program continues after it was suspended.
    Resumed,
    /// A signal asks the program to end.
    Ended,
}

/// A page of a list.
pub(crate) struct LoadedPage {
    pub(super) rows: Vec<InboxRow>,
    pub(super) next: Option<GateId>,
    pub(super) alerts: Vec<String>,
    /// The number of cards that wait for the person's groups; none if it was not counted.
    pub(super) in_groups: Option<CardCount>,
}

/// A count, with a mark if there are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CardCount {
    pub(super) number: usize,
    pub(super) and_more: bool,
}

impl std::fmt::Display for CardCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = if self.and_more { "+" } else { "" };
        write!(f, "{}{more}", self.number)
    }
}

/// A refreshed list: its first page, and the changed cards.
pub(crate) struct RefreshedList {
    pub(super) first: LoadedPage,
    pub(super) cards: Vec<CardView>,
}

/// An effect that `update` asks for. The loop runs it, or passes it to the desk thread; nothing else has side
/// effects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InboxEffect {
    Load {
        list: u64,
        view: InboxListKind,
        after: Option<GateId>,
    },
    Refresh {
        list: u64,
        view: InboxListKind,
        gates: Vec<GateId>,
    },
    Look(GateId),
    See(Box<CardView>),
    Prove,
    /// Asks for the passphrase, outside of the screen.
    Unlock,
    /// Opens the editor, outside of the screen.
    Write(EditorSession, EditorContent),
    Send(Vec<CardAnswer>),
    /// Puts one of our commands on the clipboard, if the terminal supports it.
    Copy(String),
    Snooze(GateId, String),
    Claim(GateId),
    Release(GateId),
    Delegate(GateId, String),
    Suspend,
    Leave,
}

/// An editor session: the card and the kind of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditorSession {
    pub(super) target: AnswerTarget,
    pub(super) what: EditedText,
    /// True if held answers were sent when the editor opened.
    pub(super) has_sent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditedText {
    Text,
    Form,
    Arguments,
}

impl EditedText {
    pub(super) fn sort(self) -> DraftKind {
        match self {
            EditedText::Text => DraftKind::Text,
            EditedText::Form => DraftKind::Form,
            EditedText::Arguments => DraftKind::Arguments,
        }
    }
}

/// The initial content of the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditorContent {
    /// A question above a line, and the draft below it.
    Below {
        question: String,
        narrative: String,
        begun: String,
    },
    Json(String),
    /// JSON with comments that describe the fields.
    Form(String),
}

/// True if the answer is a verdict and nothing else.
pub(super) fn is_verdict(gate: &Gate) -> bool {
    gate.card.shape == AnswerShape::Verdict
}
