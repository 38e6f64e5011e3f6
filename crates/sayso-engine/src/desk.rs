//! The desk, wherever it is: here, writing to a store of its own, or elsewhere, behind a server. Every
//! door works with this type and cannot tell which it is.
//!
//! The lists below are all that can be asked of a desk. Each line is a method of [`Desk`], and at the
//! same time a call that comes in over a line (see [`crate::remote`]): so nothing works in one place and
//! not in the other.

use crate::remote::{Caller, Permission, RemoteDesk, Sent, answered, asked_for, unknown_call};
use crate::{
    Ask, Asked, Away, CallQuestion, CallRuling, Change, Completed, Dismissed, Dispatch, FlowFilter,
    FlowHistory, Found, GateFilter, GoOn, Happened, History, InboxFilter, Invited, Known,
    ListedEntry, LocalDesk, Member, Metrics, Minted, NewFlow, NewRun, NewTask, NewToken, News,
    NoticeState, NudgeEnd, Order, Page, Pending, Place, QuestionsRuling, ReadyFilter, Recorded,
    Remembered, Report, Requested, Result, Say, SayOutcome, Scope, Setting, SettingKind, Settled,
    Settlement, Space, Stationed, TakenNudge, TaskFilter, TaskRow, Token, ToolCall, Waited, World,
    settings,
};
use sayso_core::audit::{Head, Sealed};
use sayso_core::flow::{Claim, Flow};
use sayso_core::gate::{Action, Alert, Card, Gate, Receipt};
use sayso_core::message::Message;
use sayso_core::run::{Holder, How, Run, Spent};
use sayso_core::task::{Edit, Status, Task};
use sayso_core::{
    Actor, Answer, Deed, Door, FlowId, GateId, Kind, Level, MessageId, Proof, Reach, Refusal, Role,
    RunId, SpaceId, TaskId, Threshold, Timestamp, TokenId,
};
use sayso_policy::{Explanation, Policies, Request, Ruling};
use std::sync::Arc;
use std::time::Duration;

/// The desk of one space. Clones share what is behind it.
#[derive(Clone)]
pub struct Desk {
    side: Side,
    /// How much agents are to ask.
    threshold: Threshold,
}

#[derive(Clone)]
enum Side {
    Local(LocalDesk),
    Remote(RemoteDesk),
}

impl From<LocalDesk> for Desk {
    fn from(desk: LocalDesk) -> Self {
        Self { side: Side::Local(desk), threshold: Threshold::USUAL }
    }
}

impl From<RemoteDesk> for Desk {
    fn from(desk: RemoteDesk) -> Self {
        Self { side: Side::Remote(desk), threshold: Threshold::USUAL }
    }
}

macro_rules! desk {
    (
        deeds { $($(#[$deed_doc:meta])* fn $deed:ident($($with:ident: $with_type:ty),*)
            -> $deed_out:ty, $deed_may:ident;)* }
        looks { $($(#[$look_doc:meta])* fn $look:ident($($at:ident: $at_type:ty),*)
            -> $look_out:ty, $look_may:ident;)* }
    ) => {
        /// What somebody does.
        impl Desk {
            $($(#[$deed_doc])*
            pub fn $deed(&self, actor: &Actor, $($with: $with_type),*) -> Result<$deed_out> {
                match &self.side {
                    Side::Local(desk) => desk.$deed(actor, $($with),*),
                    Side::Remote(desk) => desk.call(stringify!($deed), Some(actor), &($($with,)*)),
                }
            })*
        }

        /// What there is to know.
        impl Desk {
            $($(#[$look_doc])*
            pub fn $look(&self, $($at: $at_type),*) -> Result<$look_out> {
                match &self.side {
                    Side::Local(desk) => desk.$look($($at),*),
                    Side::Remote(desk) => desk.call(stringify!($look), None, &($($at,)*)),
                }
            })*
        }

        /// Every call of the lists, by name.
        pub const CALLS: &[&str] = &[$(stringify!($deed),)* $(stringify!($look),)*];

        /// Who may make a call from elsewhere; none for one there is not.
        pub(crate) fn permission_of(call: &str) -> Option<Permission> {
            match call {
                $(stringify!($deed) => Some(Permission::$deed_may),)*
                $(stringify!($look) => Some(Permission::$look_may),)*
                _ => None,
            }
        }

        /// Carries out a call that came in over a line, for whom the credential says it is.
        pub fn take_call(
            desk: &LocalDesk,
            caller: &Caller,
            claim: Option<&Actor>,
            request: Option<&str>,
            call: &str,
            arguments: &str,
        ) -> Result<String> {
            let actor = &caller.admit(desk, claim)?;
            let desk = &caller.awaited(desk);
            let desk = &match request {
                Some(request) => desk.on_errand(caller.token, request, &[call, arguments])?,
                None => desk.clone(),
            };
            match call {
                $(stringify!($deed) => {
                    caller.check(desk, Permission::$deed_may, call)?;
                    let ($($with,)*): ($(<$with_type as Sent<'_>>::Kept,)*) = asked_for(arguments)?;
                    answered(&desk.$deed(actor, $(<$with_type as Sent<'_>>::lend(&$with)),*)?)
                })*
                $(stringify!($look) => {
                    caller.check(desk, Permission::$look_may, call)?;
                    let desk = &desk.served_to(actor);
                    let ($($at,)*): ($(<$at_type as Sent<'_>>::Kept,)*) = asked_for(arguments)?;
                    answered(&desk.$look($(<$at_type as Sent<'_>>::lend(&$at)),*)?)
                })*
                _ => caller.other(desk, actor, call, arguments)
                    .unwrap_or_else(|| Err(unknown_call(call))),
            }
        }
    };
}

desk! {
    deeds {
        /// Asks. The gate is there when this returns, whatever happens next.
        fn ask(ask: Ask) -> Gate, Anyone;
        /// Asks, unless the same asker has asked just that and has not gone on with the answer yet: then
        /// it is that gate. So whoever was cut off while they waited asks again and gets the answer.
        fn ask_once(ask: Ask) -> Gate, Anyone;
        /// Changes the card of a gate that is still open.
        fn revise(id: GateId, card: Card) -> Gate, Anyone;
        /// Notes that the actor was shown these gates as they are here. Only people are noted, and each
        /// card once, so looking again writes nothing.
        fn see(shown: &[Gate]) -> (), Anyone;
        /// Notes that the actor was shown a card: every gate of it.
        fn see_card(card: &Asked) -> (), Anyone;
        /// Puts a gate off, and with it those that ask the same.
        fn snooze(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Says "mine" for a while, of the whole card.
        fn claim(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Says "not mine any more".
        fn release(id: GateId) -> Gate, Anyone;
        /// Hands a gate, and those that ask the same, to somebody who answers it in the actor's place.
        fn delegate(id: GateId, to: &str, reason: &str) -> Gate, Anyone;
        /// Says that the actor is away; `to` stands in for them.
        fn go_away(until: Timestamp, to: Option<&str>) -> Away, Anyone;
        /// Says that the actor is back. Whether they were away.
        fn come_back() -> bool, Anyone;
        /// Gives a gate more time.
        fn extend(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Answers a gate, and no other. The first answer wins; every other caller is told who was first.
        fn answer(id: GateId, answer: Answer, digest: &str) -> Gate, Anyone;
        /// Answers a card: the gate that is named and, where `same` says so, every other open gate that
        /// asks just that and that this person may answer. All of it counts together, or nothing does.
        fn answer_card(say: Say) -> Vec<Gate>, Anyone;
        /// Answers several cards, each by itself: one that is refused stands in no other's way.
        fn answer_many(says: Vec<Say>) -> Vec<SayOutcome>, Anyone;
        /// Takes a gate back.
        fn withdraw(id: GateId, reason: &str) -> Gate, Anyone;
        /// Takes back every gate a task waits for. Clearing them is a verdict, whoever asked.
        fn clear_awaiting(task: TaskId, reason: &str) -> usize, Anyone;
        /// Notes that the asker was handed the ending.
        fn deliver(id: GateId) -> Gate, Anyone;
        /// Notes that the asker went on with it.
        fn acknowledge(id: GateId) -> Gate, Anyone;
        /// Notes that it could not be handed over.
        fn fail_delivery(id: GateId, why: &str) -> Gate, Operators;
        /// Notes that the task of an asker ended before it was handed the ending.
        fn give_up_delivery(id: GateId, why: &str) -> Gate, Operators;
        /// A gate, for somebody who wants to read it. An agent reads its own.
        fn gate_for(id: GateId) -> Gate, Anyone;
        /// Gates, a page at a time. An agent sees its own.
        fn gates(filter: GateFilter) -> Page<Gate>, Anyone;
        /// What waits, as cards, a page at a time. An agent sees its own, each by itself.
        fn inbox(filter: &InboxFilter) -> Page<Asked>, Anyone;
        /// The card a gate is part of, with that gate in front.
        fn card(id: GateId) -> Asked, Anyone;
        /// The way of a gate so far: when, by whom and through which door; what came of it; what hangs.
        fn receipt(id: GateId) -> Receipt, Anyone;
        /// What hangs in the whole space, or of an agent's own; at most `limit`, the oldest first.
        fn alerts(limit: usize) -> Vec<Alert>, Anyone;
        /// Endings this asker has not acknowledged yet, oldest first.
        fn undelivered(limit: usize) -> Vec<Gate>, Anyone;

        /// What the policy says of a tool call. A yes of a person is used up by it.
        fn rule_on_call(call: ToolCall) -> CallRuling, Anyone;
        /// The same for a call that the client would ask its user about; `session` names the conversation.
        fn rule_on_prompt(call: ToolCall, session: &str) -> CallRuling, Anyone;
        /// The same where nobody sits at the client: people are asked in place of its user.
        fn rule_in_place_of_user(call: ToolCall) -> CallRuling, Anyone;
        /// A call has run: whoever asked about it in the client's own terminal has had an answer.
        fn call_has_run(call: &ToolCall) -> Option<Gate>, Anyone;
        /// Takes back what was asked beside a client's own prompt, since nobody waits for it any more.
        fn prompt_is_gone(gate: GateId, why: &str) -> Gate, Anyone;
        /// The same for everything that was asked beside the prompts of a conversation that has ended.
        fn session_has_ended(session: &str) -> usize, Anyone;
        /// Puts the questions of a call to people. The same call again is the same questions; once all are
        /// answered it is the answers, once.
        fn ask_for_call(call: ToolCall, questions: Vec<CallQuestion>) -> QuestionsRuling, Anyone;

        /// Makes a task.
        fn create_task(new: NewTask) -> Task, Anyone;
        /// Changes a task.
        fn edit_task(id: TaskId, edit: Edit) -> Task, Anyone;
        /// Lets a task wait for another.
        fn add_dependency(id: TaskId, on: TaskId) -> Task, Anyone;
        /// Lets it wait no more.
        fn remove_dependency(id: TaskId, on: TaskId) -> Task, Anyone;
        /// Starts a task.
        fn start_task(id: TaskId, run: Option<RunId>) -> Task, Anyone;
        /// Takes a task, for whoever is first.
        fn claim_task(id: TaskId) -> Task, Anyone;
        /// Writes a note. The author comes from the credential.
        fn note(id: TaskId, text: &str, as_agent: bool) -> Task, Anyone;
        /// Opens a task again.
        fn reopen_task(id: TaskId, reason: &str) -> Task, Anyone;
        /// Puts a task off.
        fn defer_task(id: TaskId, until: Option<Timestamp>) -> Task, Anyone;
        /// Says that a task failed.
        fn fail_task(id: TaskId, reason: &str) -> Task, Anyone;
        /// Says that a task is stuck.
        fn block_task(id: TaskId, reason: &str) -> Task, Anyone;
        /// Hands a task to a person, with a question or with the usual one for the kind.
        fn hand_over(id: TaskId, kind: Kind, question: Option<String>) -> Gate, Anyone;
        /// Closes a task. What it requires comes first unless a person closes it; what waits on it is
        /// withdrawn. With `force` its children are closed, too.
        fn close_task(id: TaskId, reason: &str, force: bool) -> Completed, Anyone;
        /// Takes a task away. What waits on it is withdrawn and its askers are told; evidence stays.
        fn delete_task(id: TaskId, reason: &str, force: bool) -> Task, Anyone;

        /// What an agent has not heard yet: answers first, then messages, each oldest first.
        fn news(limit: usize) -> Vec<News>, Anyone;
        /// Notes that an agent has heard something.
        fn heard(news: &News) -> (), Anyone;
        /// Sends a message to an agent. The same id again is the same message.
        fn tell(id: MessageId, to: &str, text: &str) -> Message, Anyone;
        /// Notes that the agent read a message.
        fn read_message(name: &str) -> Message, Anyone;
        /// Messages, oldest first, behind a given one. An agent sees its own.
        fn messages(to: Option<&str>, unread: bool, after: Option<&str>, limit: usize)
            -> Page<Message>, Anyone;

        /// Makes a credential. An agent can make none, and no token makes another: it takes an admin, or a
        /// person at their terminal.
        fn mint(new: NewToken) -> Minted, Admins;
        /// Whether this is one who may make and revoke tokens, for what goes along with it.
        fn check_may_mint() -> (), Admins;
        /// Revokes a credential. It stops working at once, everywhere.
        fn revoke(handle: &str) -> Token, Admins;
        /// All credentials of the space, newest first, behind a given one.
        fn tokens(after: Option<&str>, limit: usize) -> Page<Token>, Admins;
        /// Sets a person's passphrase; changing it takes the one before.
        fn set_passphrase(old: Option<&str>, new: &str) -> (), Anyone;

        /// Invites a person with a code that counts once.
        fn invite(name: &str, is_admin: bool) -> Invited, Admins;
        /// Lets somebody in no more: their credentials end at once, and those they made. What they did stays.
        fn dismiss_person(name: &str) -> Dismissed, Admins;

        /// Sets and takes away, all of it or nothing. Only people do this: whoever is governed does not
        /// govern.
        fn set(changes: Vec<Change>) -> usize, Admins;
        /// What was put before the policy since a moment, oldest first, a page at a time.
        fn requests(since: Timestamp, after: Option<&Recorded>, limit: usize)
            -> Page<Recorded>, Anyone;
        /// Remembers the yes to a gate for the same request again: as exact as it was shown, for a while,
        /// and not where being wrong is bad.
        fn remember(gate: GateId, scope: Scope, until: Timestamp) -> Remembered, Anyone;
        /// Forgets what was remembered at a gate.
        fn forget(name: &str) -> (), Admins;
        /// Deletes the space: its open gates are withdrawn and their askers told; evidence stays.
        fn delete_space(reason: &str) -> usize, Admins;

        /// Asks for an agent to be spawned, restarted or stopped. What a person wants at their own
        /// terminal is their say-so; of everybody else the policy has its say.
        fn request_lifecycle(action: Action, agent: &str, reason: &str) -> Requested, Anyone;
        /// Takes an agent away: what it asked and what was asked about it is withdrawn, its credentials
        /// end, evidence stays. One that runs has to be stopped first; `force` gives it up.
        fn delete_agent(name: &str, reason: &str, force: bool) -> (), Admins;
        /// Notes that a line was typed to an agent.
        fn note_nudge(name: &str, text: &str) -> (), Operators;

        /// Notices that are under way, those that are due first before the others.
        fn notices(limit: usize) -> Vec<NoticeState>, Anyone;
        /// Everything people were or are to be told of one gate. An agent sees that of its own.
        fn told(gate: GateId) -> Vec<NoticeState>, Anyone;

        /// The last entries of the audit, newest first.
        fn audit_entries(limit: usize) -> Vec<ListedEntry>, Anyone;
        /// Entries of the audit as they were written, after this one.
        fn audit_rows(after: u64, limit: usize) -> Vec<Sealed>, Anyone;
        /// Writes down that a person took the chain for the right one, though it went on to this entry when it was seen
        /// before.
        fn accept_older(seen: u64) -> (), Anyone;
        /// Entries after this one with what the log says of each, by their numbers; none for one that cannot be read.
        fn audit_listed(after: u64, limit: usize) -> Vec<(u64, Option<ListedEntry>)>, Anyone;
        /// Where the audit ends.
        fn audit_head() -> Head, Anyone;
        /// What happened after an entry, as far as the actor may know; without one, where it ends. An
        /// agent hears of its own gates and messages.
        fn happened(after: Option<u64>, limit: usize) -> Happened, Anyone;
        /// How asking and answering went since a moment.
        fn metrics(since: Timestamp) -> Metrics, Anyone;

        /// Starts a flow. It is there when this returns, whatever happens next.
        fn start_flow(new: NewFlow) -> Flow, Operators;
        /// Starts a flow and holds it from its first moment on, for whoever goes on with it at once. Whether it
        /// does: a flow that was there already is only found.
        fn lead_flow(new: NewFlow, claim: Claim) -> (Flow, bool), Operators;
        /// Goes on with a flow: what its steps gave, whom they ask, what was heard, where it leads. All of it
        /// counts, or nothing does.
        fn go_on(id: FlowId, go_on: GoOn) -> Flow, Operators;
        /// Takes a flow back; what it asked is withdrawn with it.
        fn cancel_flow(id: FlowId, reason: &str) -> Flow, Operators;

        /// Starts a run: the task is taken, the run gets the next number and its agent a credential, in
        /// one breath. A task has one live run.
        fn start_run(new: NewRun) -> Run, Operators;
        /// Keeps a run's lease.
        fn renew_run(id: RunId, fence: u64, until: Timestamp) -> Run, Operators;
        /// Notes which conversation a run is.
        fn name_session(id: RunId, session: &str) -> Run, Operators;
        /// Ends a run; its credential stops working with it.
        fn end_run(id: RunId, fence: u64, how: How, note: &str) -> Run, Operators;
        /// Ends a run and lets its task go on accordingly, in one breath. Refused when the run is no
        /// longer the worker's: then somebody else has the task, and nothing is changed.
        fn settle_run(run: &Run, spent: Spent, settlement: Settlement) -> Task, Operators;
        /// Gives up a run nobody looks after any more, so that its task can be taken again.
        fn lose_run(id: RunId, is_dead: bool) -> Option<Run>, Operators;
        /// What the policy says of work that an agent calls complete: of the result, and of closing its
        /// task. The stricter of the two counts, and the demands of both.
        fn rule_on_completion(run: &Run, confidence: Option<u8>) -> Ruling, Operators;
    }
    looks {
        /// What an id, a handle or the beginning of one means.
        fn find(name: &str) -> Found, Anyone;
        /// The task this means; a gate stands for the task that waits for it.
        fn find_task(name: &str) -> TaskId, Anyone;
        /// The gate this means; a task stands for the one gate it waits for.
        fn find_gate(name: &str) -> GateId, Anyone;
        /// A gate, folded from the log and checked against the audit.
        fn gate(id: GateId) -> Gate, Anyone;
        /// How many gates wait, counted up to `most`.
        fn count_open_gates(most: usize) -> usize, Anyone;
        /// Lets happen to a gate what is due.
        fn tick(id: GateId) -> Gate, Anyone;
        /// A task with what its place among others says about it.
        fn task(id: TaskId) -> TaskRow, Trackers;
        /// Tasks, a page at a time.
        fn tasks(filter: &TaskFilter) -> Page<TaskRow>, Trackers;
        /// What happened to a task, in order.
        fn history(id: TaskId) -> History, Trackers;
        /// The handles and states of some tasks.
        fn task_names(ids: &[TaskId]) -> Vec<(TaskId, String, Status)>, Anyone;
        /// A flow, folded from the log.
        fn flow(id: FlowId) -> Flow, Readers;
        /// What happened to a flow, in order.
        fn flow_history(id: FlowId) -> FlowHistory, Readers;
        /// Flows, newest first, a page at a time.
        fn flows(filter: &FlowFilter) -> Page<Flow>, Readers;
        /// Flows that wait for nobody, oldest first, a page at a time; somebody may hold one just now.
        fn ready_flows(filter: &ReadyFilter) -> Page<Flow>, Readers;
        /// The flow that an id, a handle or the beginning of one means.
        fn find_flow(typed: &str) -> FlowId, Readers;
        /// A run.
        fn run(id: RunId) -> Run, Trackers;
        /// The last runs of a task, newest first.
        fn runs_of(task: TaskId, limit: usize) -> Vec<Run>, Trackers;
        /// The runs that are not over.
        fn live_runs() -> Vec<Run>, Trackers;
        /// Everything that is set, by kind and name.
        fn settings(kind: Option<SettingKind>) -> Vec<Setting>, Trackers;
        /// Whether these changes could be set, without setting them.
        fn check_settings(changes: &[Change]) -> (), Readers;
        /// What the policies in force say of a request, and the remembered yes that would answer it.
        fn explain(request: Request) -> (Explanation, Option<Remembered>), Trackers;
        /// Whether the yes to a gate could be remembered.
        fn check_can_be_remembered(gate: GateId) -> (), Readers;
        /// What is remembered and still holds, by the gate it was said at.
        fn remembered() -> Vec<(String, Remembered)>, Readers;
        /// Who is away now, by name.
        fn away() -> Vec<(String, Away)>, Readers;
        /// The people who were let in, by name.
        fn people() -> Vec<Known>, Readers;
        /// People who are here by a token alone, by name.
        fn people_by_token() -> Vec<Known>, Readers;
        /// Whether the space was deleted.
        fn is_deleted() -> bool, Anyone;
        /// All spaces in this store.
        fn spaces() -> Vec<Space>, Anyone;
        /// What the database finds wrong with itself.
        fn check_file() -> Vec<String>, Readers;
        /// The agents that can be spawned, by name.
        fn members() -> Vec<Member>, Trackers;
        /// One of them.
        fn member(name: &str) -> Member, Trackers;
        /// An order that was not carried out yet.
        fn pending(id: GateId) -> Option<Pending>, Anyone;
        /// Everything that is to be done to agents.
        fn orders() -> Vec<Pending>, Operators;
        /// Where an agent runs.
        fn stationed(agent: &str) -> Option<Stationed>, Operators;
        /// Takes an order for a machine, if nobody is at it.
        fn take_order(host: &str, id: GateId) -> bool, Operators;
        /// An order did not work; it is tried again later.
        fn put_off_order(id: GateId, attempts: u32, why: &str) -> (), Operators;
        /// Gives an agent that is about to start a credential of its own; the one it has, if it has one.
        fn admit_agent(order: &Order, secret: &str) -> TokenId, Operators;
        /// Writes down what came of an order. Whether this was the first to say so.
        fn settle_order(settled: &Settled) -> bool, Operators;
        /// Ends the credential of an agent that did not come to be.
        fn dismiss_agent(secret: &str) -> (), Operators;
        /// Whether an agent is to be nudged, here or elsewhere.
        fn has_nudges() -> bool, Operators;
        /// Takes what agents of a machine are to be nudged for, and may be nudged for now.
        fn claim_nudges(host: &str) -> Vec<TakenNudge>, Operators;
        /// Why nothing may be typed to an agent now, if so.
        fn nudge_held_back(agent: &str) -> Option<String>, Operators;
        /// Writes down the end of a try to nudge an agent.
        fn end_nudge(nudge: &TakenNudge, end: &NudgeEnd) -> (), Operators;
        /// When the first notice on one of these channels is due.
        fn next_notice(channels: &[String]) -> Option<Timestamp>, Operators;
        /// Takes notices that are due on a channel. What nobody needs to hear any more is left out.
        fn claim_notices(channel: &str, limit: usize) -> Vec<Dispatch>, Operators;
        /// A notice was sent.
        fn settle_notice(key: &str) -> (), Operators;
        /// A notice could not be sent; the pause before the next try doubles each time.
        fn fail_notice(dispatch: &Dispatch, error: &str) -> (), Operators;
        /// Answers that ended a task, if a run of this place asked and nobody has taken care of it yet.
        fn to_be_landed(asker: &str, place: &Holder) -> Vec<(GateId, Task)>, Operators;
    }
}

/// What is the same wherever the desk is, or is done on this side.
impl Desk {
    /// Opens a space that is there.
    pub fn open(place: Place, name: &str, world: World) -> Result<Self> {
        LocalDesk::open(place, name, world).map(Self::from)
    }

    /// Opens a space for a long-lived process with many threads.
    pub fn open_shared(place: Place, name: &str, world: World) -> Result<Self> {
        LocalDesk::open_shared(place, name, world).map(Self::from)
    }

    /// Opens a space that may have been deleted: what happened in it can be read, and how its gates
    /// ended still reaches their askers.
    pub fn open_kept(place: Place, name: &str, world: World) -> Result<Self> {
        LocalDesk::open_kept(place, name, world).map(Self::from)
    }

    /// Makes a space, and the store around it if there is none. A space of this name that is there
    /// already is opened.
    pub fn create(place: Place, name: &str, actor: &Actor, world: World) -> Result<(Self, bool)> {
        let (desk, is_new) = LocalDesk::create(place, name, actor, world)?;
        Ok((desk.into(), is_new))
    }

    /// The same desk, where agents are told to ask this much.
    #[must_use]
    pub fn with_threshold(mut self, threshold: Threshold) -> Self {
        self.threshold = threshold;
        self
    }

    /// The same desk; where its store is at hand, this hears where the chain ends whenever something was written.
    #[must_use]
    pub fn with_head_keeper(self, keeper: crate::HeadKeeper) -> Self {
        let side = match self.side {
            Side::Local(desk) => Side::Local(desk.with_head_keeper(keeper)),
            side @ Side::Remote(_) => side,
        };
        Self { side, ..self }
    }

    /// The same desk, at which an agent asks at most so many questions a minute, and writes at most so much. Where it is
    /// elsewhere the pace is kept there.
    #[must_use]
    pub fn with_pace(mut self, asks: Option<u32>, writes: Option<u32>) -> Self {
        if let Side::Local(desk) = self.side {
            self.side = Side::Local(desk.with_pace(asks, writes));
        }
        self
    }

    /// The same desk, telling people through these channels. Where it is elsewhere they are told there.
    #[must_use]
    pub fn with_channels(mut self, channels: Vec<Reach>) -> Self {
        if let Side::Local(desk) = &mut self.side {
            desk.channels = channels;
        }
        self
    }

    /// The same desk for an actor: what is hidden from the actor does not exist there. A desk behind a server knows who
    /// comes.
    #[must_use]
    pub fn seen_by(&self, actor: &Actor) -> Self {
        let side = match &self.side {
            Side::Local(desk) => Side::Local(desk.seen_by(actor)),
            Side::Remote(desk) => Side::Remote(desk.clone()),
        };
        Self { side, ..self.clone() }
    }

    /// The desk itself, where it is here.
    pub fn local(&self) -> Option<&LocalDesk> {
        match &self.side {
            Side::Local(desk) => Some(desk),
            Side::Remote(_) => None,
        }
    }

    /// The desk elsewhere, where it is.
    pub fn remote(&self) -> Option<&RemoteDesk> {
        match &self.side {
            Side::Local(_) => None,
            Side::Remote(desk) => Some(desk),
        }
    }

    /// Whether it is elsewhere, behind a server.
    pub fn is_remote(&self) -> bool {
        self.remote().is_some()
    }

    /// The space it writes in.
    pub fn space(&self) -> SpaceId {
        match &self.side {
            Side::Local(desk) => desk.space,
            Side::Remote(desk) => desk.space(),
        }
    }

    /// What people call the space.
    pub fn space_name(&self) -> &str {
        match &self.side {
            Side::Local(desk) => &desk.space_name,
            Side::Remote(desk) => desk.space_name(),
        }
    }

    /// The store it writes to, where it is here.
    pub fn place(&self) -> Option<&Place> {
        self.local().map(LocalDesk::place)
    }

    /// Where it is, in words and without any password.
    pub fn address(&self) -> String {
        match &self.side {
            Side::Local(desk) => desk.place().to_string(),
            Side::Remote(desk) => desk.address(),
        }
    }

    /// How well this place is guarded.
    pub fn level(&self) -> Level {
        match &self.side {
            Side::Local(desk) => desk.level(),
            Side::Remote(desk) => desk.level(),
        }
    }

    fn world(&self) -> &World {
        match &self.side {
            Side::Local(desk) => &desk.world,
            Side::Remote(desk) => desk.world(),
        }
    }

    /// How much agents are to ask.
    pub(crate) fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.world().now()
    }

    /// 128 bits of chance.
    pub(crate) fn chance(&self) -> u128 {
        self.world().chance()
    }

    /// A new id for a gate.
    pub fn new_gate_id(&self) -> GateId {
        GateId::mint(self.now(), self.chance())
    }

    /// A new id for a task.
    pub fn new_task_id(&self) -> TaskId {
        TaskId::mint(self.now(), self.chance())
    }

    /// A new id for a run.
    pub fn new_run_id(&self) -> RunId {
        RunId::mint(self.now(), self.chance())
    }

    /// A new id for a flow.
    pub fn new_flow_id(&self) -> FlowId {
        FlowId::mint(self.now(), self.chance())
    }

    /// A new id for a message.
    pub fn new_message_id(&self) -> MessageId {
        MessageId::mint(self.now(), self.chance())
    }

    /// A secret for the agent of a run that is about to start.
    pub fn new_agent_secret(&self) -> String {
        crate::identity::new_secret(self.world(), Role::Agent)
    }

    /// The agent of a run, as whom a worker writes down what it said.
    pub fn agent_of(&self, run: &Run) -> Actor {
        crate::runs::agent_of(run, self.level())
    }

    /// Checks the caller's role; what is refused is written down.
    pub(crate) fn check(&self, actor: &Actor, deed: Deed, what: &str) -> Result<()> {
        actor.check(deed, what).map_err(|refusal| {
            self.note_refusal(actor, &refusal);
            refusal.into()
        })
    }

    /// Writes down that somebody tried what they may not do. It must not stand in the way of the
    /// refusal itself, which holds even when it cannot be written.
    pub fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        match &self.side {
            Side::Local(desk) => desk.note_refusal(actor, refusal),
            Side::Remote(desk) => desk.note_refusal(actor, refusal),
        }
    }

    /// All gates that a filter finds. It is read in pages of its limit, or shorter ones where a server bounds them in bytes.
    pub fn all_gates(&self, actor: &Actor, mut filter: GateFilter) -> Result<Vec<Gate>> {
        let mut all = vec![];
        loop {
            let page = self.gates(actor, filter.clone())?;
            filter.after = page.items.last().map(|gate| gate.opened.id);
            all.extend(page.items);
            if !page.more || filter.after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Who presents this secret, at this door.
    pub fn authenticate(&self, secret: &str, door: Door) -> Result<Actor> {
        match &self.side {
            Side::Local(desk) => desk.authenticate(secret, door),
            Side::Remote(desk) => desk.authenticate(secret, door),
        }
    }

    /// Counts something that an agent does and that writes nothing as a write. A server counts for itself.
    pub fn count_call(&self, actor: &Actor) -> Result<()> {
        match &self.side {
            Side::Local(desk) => desk.count_call(actor),
            Side::Remote(_) => Ok(()),
        }
    }

    /// Whether this person has set a passphrase.
    pub fn has_passphrase(&self, name: &str) -> Result<bool> {
        match &self.side {
            Side::Local(desk) => desk.has_passphrase(name),
            Side::Remote(desk) => desk.call("has_passphrase", None, &(name,)),
        }
    }

    /// That nothing has happened in this space yet: no question, no task, no credential. Never said of a
    /// space behind a server.
    pub fn is_untouched(&self, actor: &Actor) -> Result<bool> {
        match &self.side {
            Side::Local(desk) => desk.is_untouched(actor),
            Side::Remote(_) => Ok(false),
        }
    }

    /// Whether this person has unlocked this terminal.
    pub fn is_unlocked(&self, name: &str, terminal: &str) -> Result<bool> {
        match &self.side {
            Side::Local(desk) => desk.is_unlocked(name, terminal),
            // The server knows, and says so with the credential.
            Side::Remote(desk) => Ok(desk.greet()?.actor.proof >= Proof::Passphrase),
        }
    }

    /// Unlocks a terminal for some minutes, as sudo does. `terminal` names it and its session.
    pub fn unlock(&self, actor: &Actor, passphrase: &str, terminal: &str) -> Result<Timestamp> {
        match &self.side {
            Side::Local(desk) => desk.unlock(actor, passphrase, terminal),
            Side::Remote(desk) => desk.call("unlock", Some(actor), &(passphrase,)),
        }
    }

    /// Locks a terminal.
    pub fn lock(&self, actor: &Actor, terminal: &str) -> Result<()> {
        match &self.side {
            Side::Local(desk) => desk.lock(actor, terminal),
            Side::Remote(desk) => desk.call("lock", Some(actor), &()),
        }
    }

    /// Lets happen everything that is due. A server does that by itself.
    pub fn fire_due(&self) -> Result<usize> {
        self.local().map_or(Ok(0), LocalDesk::fire_due)
    }

    /// The policies in force.
    pub fn policies(&self) -> Result<Arc<Policies>> {
        match &self.side {
            Side::Local(desk) => desk.policies(),
            Side::Remote(_) => Ok(Arc::new(settings::policies_in_force(&self.settings(None)?)?)),
        }
    }

    /// The answers people have ready, by name.
    pub fn templates(&self) -> Result<Vec<(String, crate::Template)>> {
        let set = self.settings(Some(SettingKind::Template))?;
        let read = |set: Setting| Some((set.name, serde_json::from_str(&set.body?).ok()?));
        Ok(set.into_iter().filter_map(read).collect())
    }

    /// Waits until the gate has ended, or until `timeout` is over. Waiting is a row: whoever waits may die
    /// and wait again.
    pub fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<Waited> {
        match &self.side {
            Side::Local(desk) => desk.wait(id, timeout),
            Side::Remote(desk) => desk.wait(id, timeout),
        }
    }

    /// Checks the chain, that it covers every event, and that every gate and task is what its events made
    /// it. `progress` hears how many rows are done.
    pub fn verify_audit(&self, actor: &Actor, progress: impl Fn(u64)) -> Result<Report> {
        match &self.side {
            Side::Local(desk) => desk.verify_audit(actor, progress),
            Side::Remote(desk) => desk.call("verify_audit", Some(actor), &()),
        }
    }
}
