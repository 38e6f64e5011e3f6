//! The desk: one facade over a local store and a remote server. Every interface works with this type and cannot tell
//! which it is.
//!
//! The list of calls below is the RPC interface. Each line is a method of [`Desk`] and at the same time a call that the
//! server dispatches (see [`crate::remote`]), with the permission that a remote caller needs: so every call works
//! locally and remotely.

use crate::remote::{
    CallPermission, RemoteCaller, RemoteDesk, RpcArg, answered, asked_for, unknown_call,
};
use crate::{
    Absence, ActivityPage, AdvanceRequest, AnswerOutcome, ApprovalScope, AuditReport, CallQuestion,
    CallRuling, CardAnswer, CardView, ClaimedNotice, ClaimedNudge, CompletionOutcome,
    DismissalReport, FlowFilter, FlowHistory, GateFilter, InboxFilter, InviteCode, IssuedToken,
    LifecycleOrder, LifecycleRequestOutcome, ListPage, ListedEntry, LocalDesk, ManagedAgent,
    NameMatch, NewFlow, NewGate, NewRun, NewTask, NewToken, NoticeState, NudgeEnd, PendingOrder,
    QuestionsRuling, ReadyFilter, RequestLogEntry, Result, RunSettlement, RunningAgent, RuntimeEnv,
    SettingChange, SettingKind, SettledOrder, SpaceMember, SpaceMetrics, SpaceRow,
    StandingApproval, StoreLocation, StoredSetting, TaskFilter, TaskRow, TaskTimeline, TokenRow,
    ToolCall, UnreadItem, WaitOutcome, settings,
};
use sayso_core::audit::{ChainHead, SealedEntry};
use sayso_core::flow::{Flow, LeaseClaim};
use sayso_core::gate::{Card, Gate, GateAlert, LifecycleAction, Receipt};
use sayso_core::message::AgentMessage;
use sayso_core::run::{LeaseHolder, Run, RunEndKind, RunUsage};
use sayso_core::task::{Task, TaskEdit, TaskStatus};
use sayso_core::{
    Actor, Answer, AskThreshold, AssuranceLevel, ChannelInfo, EntryPoint, FlowId, GateId, GateKind,
    IdentityProof, MessageId, Permission, Refusal, Role, RunId, SpaceId, TaskId, Timestamp,
    TokenId,
};
use sayso_policy::{PolicyRequest, PolicySet, Ruling, RulingExplanation};
use std::sync::Arc;
use std::time::Duration;

/// The desk of one space. Clones share its state.
#[derive(Clone)]
pub struct Desk {
    side: DeskBackend,
    /// The threshold that agents are told for asking.
    threshold: AskThreshold,
}

#[derive(Clone)]
enum DeskBackend {
    Local(LocalDesk),
    Remote(RemoteDesk),
}

impl From<LocalDesk> for Desk {
    fn from(desk: LocalDesk) -> Self {
        Self { side: DeskBackend::Local(desk), threshold: AskThreshold::USUAL }
    }
}

impl From<RemoteDesk> for Desk {
    fn from(desk: RemoteDesk) -> Self {
        Self { side: DeskBackend::Remote(desk), threshold: AskThreshold::USUAL }
    }
}

macro_rules! desk {
    (
        deeds { $($(#[$deed_doc:meta])* fn $deed:ident($($with:ident: $with_type:ty),*)
            -> $deed_out:ty, $deed_may:ident;)* }
        looks { $($(#[$look_doc:meta])* fn $look:ident($($at:ident: $at_type:ty),*)
            -> $look_out:ty, $look_may:ident;)* }
    ) => {
        /// Calls on behalf of an actor. A remote one has an idempotency key.
        impl Desk {
            $($(#[$deed_doc])*
            pub fn $deed(&self, actor: &Actor, $($with: $with_type),*) -> Result<$deed_out> {
                match &self.side {
                    DeskBackend::Local(desk) => desk.$deed(actor, $($with),*),
                    DeskBackend::Remote(desk) => desk.call(stringify!($deed), Some(actor), &($($with,)*)),
                }
            })*
        }

        /// Calls without an actor.
        impl Desk {
            $($(#[$look_doc])*
            pub fn $look(&self, $($at: $at_type),*) -> Result<$look_out> {
                match &self.side {
                    DeskBackend::Local(desk) => desk.$look($($at),*),
                    DeskBackend::Remote(desk) => desk.call(stringify!($look), None, &($($at,)*)),
                }
            })*
        }

        /// The names of all calls in the list.
        pub const CALLS: &[&str] = &[$(stringify!($deed),)* $(stringify!($look),)*];

        /// Returns the permission that a remote caller needs; none for an unknown call.
        pub(crate) fn permission_of(call: &str) -> Option<CallPermission> {
            match call {
                $(stringify!($deed) => Some(CallPermission::$deed_may),)*
                $(stringify!($look) => Some(CallPermission::$look_may),)*
                _ => None,
            }
        }

        /// Dispatches a remote call to the desk, with the actor that the credential and the claim permit.
        pub fn take_call(
            desk: &LocalDesk,
            caller: &RemoteCaller,
            claim: Option<&Actor>,
            request: Option<&str>,
            call: &str,
            arguments: &str,
        ) -> Result<String> {
            let actor = &caller.admit(desk, claim)?;
            let desk = &caller.with_caller_deadline(desk);
            let desk = &match request {
                Some(request) => desk.with_idempotency_key(caller.token, request, &[call, arguments])?,
                None => desk.clone(),
            };
            match call {
                $(stringify!($deed) => {
                    caller.check(desk, CallPermission::$deed_may, call)?;
                    let ($($with,)*): ($(<$with_type as RpcArg<'_>>::Kept,)*) = asked_for(arguments)?;
                    answered(&desk.$deed(actor, $(<$with_type as RpcArg<'_>>::lend(&$with)),*)?)
                })*
                $(stringify!($look) => {
                    caller.check(desk, CallPermission::$look_may, call)?;
                    let desk = &desk.served_to(actor);
                    let ($($at,)*): ($(<$at_type as RpcArg<'_>>::Kept,)*) = asked_for(arguments)?;
                    answered(&desk.$look($(<$at_type as RpcArg<'_>>::lend(&$at)),*)?)
                })*
                _ => caller.other(desk, actor, call, arguments)
                    .unwrap_or_else(|| Err(unknown_call(call))),
            }
        }
    };
}

desk! {
    deeds {
        /// Opens a gate. It is stored durably when this returns.
        fn ask(ask: NewGate) -> Gate, Anyone;
        /// Opens a gate, unless the same asker has an unacknowledged gate with the same question: then that one is
        /// returned. So an asker that lost its connection while waiting repeats the question and gets the answer.
        fn ask_once(ask: NewGate) -> Gate, Anyone;
        /// Revises the card of an open gate.
        fn revise(id: GateId, card: Card) -> Gate, Anyone;
        /// Records that the actor was shown these cards. Only people are recorded, and each version of a card once,
        /// so a repeated read writes nothing.
        fn see(shown: &[Gate]) -> (), Anyone;
        /// Records that the actor was shown a card, with all its gates.
        fn see_card(card: &CardView) -> (), Anyone;
        /// Snoozes a gate, and all others on its card.
        fn snooze(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Claims a card for the actor until a time.
        fn claim(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Releases the claim on a card.
        fn release(id: GateId) -> Gate, Anyone;
        /// Delegates a gate, and the gates on the same card, to a person who answers in the actor's place.
        fn delegate(id: GateId, to: &str, reason: &str) -> Gate, Anyone;
        /// Sets the absence of the actor; `to` is the deputy.
        fn go_away(until: Timestamp, to: Option<&str>) -> Absence, Anyone;
        /// Ends the absence of the actor. True if the actor was away.
        fn come_back() -> bool, Anyone;
        /// Moves the deadline of a gate.
        fn extend(id: GateId, until: Timestamp) -> Gate, Anyone;
        /// Answers one gate. The first answer wins; later callers learn who gave it.
        fn answer(id: GateId, answer: Answer, digest: &str) -> Gate, Anyone;
        /// Answers a card: the named gate and, if `same` has the dedup key, every other open gate with the same
        /// question that this person may answer. All answers are committed together, or none.
        fn answer_card(say: CardAnswer) -> Vec<Gate>, Anyone;
        /// Answers several cards, each in its own transaction: one refusal does not affect the others.
        fn answer_many(says: Vec<CardAnswer>) -> Vec<AnswerOutcome>, Anyone;
        /// Withdraws a gate; its task and delivery are settled with it.
        fn withdraw(id: GateId, reason: &str) -> Gate, Anyone;
        /// Withdraws every gate that a task waits for. That requires the permission to answer, no matter who asked.
        fn clear_awaiting(task: TaskId, reason: &str) -> usize, Anyone;
        /// Records that the ending was delivered to the asker.
        fn deliver(id: GateId) -> Gate, Anyone;
        /// Records that the asker continued with the ending.
        fn acknowledge(id: GateId) -> Gate, Anyone;
        /// Records that the delivery failed.
        fn fail_delivery(id: GateId, why: &str) -> Gate, Operators;
        /// Records that the asker's task ended before the ending was delivered.
        fn give_up_delivery(id: GateId, why: &str) -> Gate, Operators;
        /// Returns a gate that is visible to the actor. For an agent, the gates of others do not exist.
        fn gate_for(id: GateId) -> Gate, Anyone;
        /// Returns gates, a page at a time. An agent sees its own.
        fn gates(filter: GateFilter) -> ListPage<Gate>, Anyone;
        /// Returns the open cards, a page at a time. An agent sees only its own gates, one card each.
        fn inbox(filter: &InboxFilter) -> ListPage<CardView>, Anyone;
        /// Returns the card that a gate belongs to, with that gate first.
        fn card(id: GateId) -> CardView, Anyone;
        /// Returns the receipt of a gate: its timeline with actor and interface, what followed from the answer, and
        /// its alerts.
        fn receipt(id: GateId) -> Receipt, Anyone;
        /// Returns the alerts of the whole space, or of an agent's own gates; at most `limit`, the oldest first.
        fn alerts(limit: usize) -> Vec<GateAlert>, Anyone;
        /// Returns the endings that this asker has not acknowledged, oldest first.
        fn undelivered(limit: usize) -> Vec<Gate>, Anyone;

        /// Rules on a call that an agent is about to make. A person's approval of it is used up by this.
        fn rule_on_call(call: ToolCall) -> CallRuling, Anyone;
        /// Rules on a call for which the client prompts its own user as well; `session` names the conversation.
        fn rule_on_prompt(call: ToolCall, session: &str) -> CallRuling, Anyone;
        /// Rules on a call for which people are asked in place of the client's user, who is not present.
        fn rule_in_place_of_user(call: ToolCall) -> CallRuling, Anyone;
        /// Records that a call has run, and withdraws its open gate: it was allowed in the client's own terminal.
        fn call_has_run(call: &ToolCall) -> Option<Gate>, Anyone;
        /// Withdraws a gate that was opened beside a client's own prompt, once that prompt is closed.
        fn prompt_is_gone(gate: GateId, why: &str) -> Gate, Anyone;
        /// Withdraws all gates that were opened beside the prompts of a conversation that has ended.
        fn session_has_ended(session: &str) -> usize, Anyone;
        /// Opens a gate for each question of a call. The same call again finds the same gates; once all are answered,
        /// the answers are returned once.
        fn ask_for_call(call: ToolCall, questions: Vec<CallQuestion>) -> QuestionsRuling, Anyone;

        fn create_task(new: NewTask) -> Task, Anyone;
        fn edit_task(id: TaskId, edit: TaskEdit) -> Task, Anyone;
        /// Makes a task depend on another.
        fn add_dependency(id: TaskId, on: TaskId) -> Task, Anyone;
        fn remove_dependency(id: TaskId, on: TaskId) -> Task, Anyone;
        fn start_task(id: TaskId, run: Option<RunId>) -> Task, Anyone;
        /// Claims a task. The first caller wins.
        fn claim_task(id: TaskId) -> Task, Anyone;
        /// Adds a note. The author comes from the credential.
        fn note(id: TaskId, text: &str, as_agent: bool) -> Task, Anyone;
        fn reopen_task(id: TaskId, reason: &str) -> Task, Anyone;
        fn defer_task(id: TaskId, until: Option<Timestamp>) -> Task, Anyone;
        /// Marks a task as failed.
        fn fail_task(id: TaskId, reason: &str) -> Task, Anyone;
        /// Marks a task as blocked.
        fn block_task(id: TaskId, reason: &str) -> Task, Anyone;
        /// Opens a gate for a task, with a question or with the default one of the kind.
        fn hand_over(id: TaskId, kind: GateKind, question: Option<String>) -> Gate, Anyone;
        /// Closes a task. Its required gate is opened first unless a person closes it; its open gates are withdrawn.
        /// With `force` its children are closed, too.
        fn close_task(id: TaskId, reason: &str, force: bool) -> CompletionOutcome, Anyone;
        /// Deletes a task. Its open gates are withdrawn with their askers told; the records stay.
        fn delete_task(id: TaskId, reason: &str, force: bool) -> Task, Anyone;

        /// Returns the unread items of an agent: answers first, then messages, each oldest first.
        fn news(limit: usize) -> Vec<UnreadItem>, Anyone;
        /// Records that an agent has received an item.
        fn heard(news: &UnreadItem) -> (), Anyone;
        /// Sends a message to an agent. Idempotent: the same id again is the same message.
        fn tell(id: MessageId, to: &str, text: &str) -> AgentMessage, Anyone;
        /// Records that the agent read a message.
        fn read_message(name: &str) -> AgentMessage, Anyone;
        /// Returns messages after a given one, oldest first. An agent sees its own.
        fn messages(to: Option<&str>, unread: bool, after: Option<&str>, limit: usize)
            -> ListPage<AgentMessage>, Anyone;

        /// Creates a credential. An agent can create none, and no token creates another: an admin can, or a person at
        /// a terminal.
        fn mint(new: NewToken) -> IssuedToken, Admins;
        /// Checks that the actor may create and revoke tokens, for actions that depend on it.
        fn check_may_mint() -> (), Admins;
        /// Revokes a credential. It is invalid at once, on every server.
        fn revoke(handle: &str) -> TokenRow, Admins;
        /// Returns the credentials of the space, newest first, after a given one.
        fn tokens(after: Option<&str>, limit: usize) -> ListPage<TokenRow>, Admins;
        /// Sets a person's passphrase; a change requires the old one.
        fn set_passphrase(old: Option<&str>, new: &str) -> (), Anyone;

        /// Invites a person by a one-time code.
        fn invite(name: &str, is_admin: bool) -> InviteCode, Admins;
        /// Removes a person: their credentials are revoked at once, and so are those that they created. Their records
        /// stay.
        fn dismiss_person(name: &str) -> DismissalReport, Admins;

        /// Applies changes of settings in one transaction. Only people may do this, so that an agent cannot change
        /// the rules that govern it.
        fn set(changes: Vec<SettingChange>) -> usize, Admins;
        /// Returns the request log since a moment, oldest first, a page at a time.
        fn requests(since: Timestamp, after: Option<&RequestLogEntry>, limit: usize)
            -> ListPage<RequestLogEntry>, Anyone;
        /// Creates a standing approval from an approved gate: for exactly the request that was shown, until a time,
        /// and not for a high risk.
        fn remember(gate: GateId, scope: ApprovalScope, until: Timestamp) -> StandingApproval, Anyone;
        /// Revokes the standing approval of a gate.
        fn forget(name: &str) -> (), Admins;
        /// Deletes the space: its open gates are withdrawn with their askers told; the records stay.
        fn delete_space(reason: &str) -> usize, Admins;

        /// Requests that an agent is spawned, restarted or stopped. A request by a person at their own terminal is
        /// permitted; for all other actors the policy decides.
        fn request_lifecycle(action: LifecycleAction, agent: &str, reason: &str) -> LifecycleRequestOutcome, Anyone;
        /// Deletes a managed agent: its open gates and those about it are withdrawn, its credentials are revoked, and
        /// the records stay. A running agent has to be stopped first; `force` gives it up.
        fn delete_agent(name: &str, reason: &str, force: bool) -> (), Admins;
        /// Records that a line was typed to an agent.
        fn note_nudge(name: &str, text: &str) -> (), Operators;

        /// Returns the unsettled notices, ordered by due time.
        fn notices(limit: usize) -> Vec<NoticeState>, Anyone;
        /// Returns all notices of one gate, sent or not. An agent sees those of its own gates.
        fn told(gate: GateId) -> Vec<NoticeState>, Anyone;

        /// Returns the last audit entries, newest first.
        fn audit_entries(limit: usize) -> Vec<ListedEntry>, Anyone;
        /// Returns stored audit entries after a sequence number.
        fn audit_rows(after: u64, limit: usize) -> Vec<SealedEntry>, Anyone;
        /// Writes down that a person took the chain for the right one, though it went on to this entry when it was seen
        /// before.
        fn accept_older(seen: u64) -> (), Anyone;
        /// Entries after this one with what the log says of each, by their numbers; none for one that cannot be read.
        fn audit_listed(after: u64, limit: usize) -> Vec<(u64, Option<ListedEntry>)>, Anyone;
        /// Returns the head of the audit chain.
        fn audit_head() -> ChainHead, Anyone;
        /// Returns the activity after an entry that is visible to the actor; without `after`, only the present end.
        /// An agent sees entries about its own gates and messages.
        fn happened(after: Option<u64>, limit: usize) -> ActivityPage, Anyone;
        /// Returns the statistics since a moment.
        fn metrics(since: Timestamp) -> SpaceMetrics, Anyone;

        /// Starts a flow. It is stored when this returns.
        fn start_flow(new: NewFlow) -> Flow, Operators;
        /// Starts a flow and holds its lease from the beginning, for a caller that executes it at once. The flag is
        /// false if the flow already existed: then it is only found.
        fn lead_flow(new: NewFlow, claim: LeaseClaim) -> (Flow, bool), Operators;
        /// Advances a flow in one transaction: records outputs, opens gates, takes up answers and moves on.
        fn go_on(id: FlowId, go_on: AdvanceRequest) -> Flow, Operators;
        /// Cancels a flow and withdraws its gates.
        fn cancel_flow(id: FlowId, reason: &str) -> Flow, Operators;

        /// Starts a run in one transaction: the task is claimed, the run gets the next fencing number and its agent a
        /// credential. A task has one live run.
        fn start_run(new: NewRun) -> Run, Operators;
        /// Renews the lease of a run.
        fn renew_run(id: RunId, fence: u64, until: Timestamp) -> Run, Operators;
        /// Records the agent's session id for its conversation.
        fn name_session(id: RunId, session: &str) -> Run, Operators;
        /// Ends a run and revokes its credential.
        fn end_run(id: RunId, fence: u64, how: RunEndKind, note: &str) -> Run, Operators;
        /// Settles a run and moves its task accordingly, in one transaction. Refused if the run is no longer live:
        /// then another worker has the task, and nothing is changed.
        fn settle_run(run: &Run, spent: RunUsage, settlement: RunSettlement) -> Task, Operators;
        /// Gives up an abandoned run, so that its task can be claimed again.
        fn lose_run(id: RunId, is_dead: bool) -> Option<Run>, Operators;
        /// Rules on work that an agent reports as complete: on the result, and on closing its task. The stricter
        /// effect applies, with the demands of both.
        fn rule_on_completion(run: &Run, confidence: Option<u8>) -> Ruling, Operators;
    }
    looks {
        /// Resolves an id, a handle or the prefix of one.
        fn find(name: &str) -> NameMatch, Anyone;
        /// Resolves a name to a task; a gate resolves to the task that waits for it.
        fn find_task(name: &str) -> TaskId, Anyone;
        /// Resolves a name to a gate; a task resolves to the one gate that it waits for.
        fn find_gate(name: &str) -> GateId, Anyone;
        /// Returns a gate, folded from the log and checked against the audit. Visibility is checked only on the desk
        /// of a limited reader; see `gate_for`.
        fn gate(id: GateId) -> Gate, Anyone;
        /// Counts the open gates, up to `most`.
        fn count_open_gates(most: usize) -> usize, Anyone;
        /// Fires the timers of a gate that are due.
        fn tick(id: GateId) -> Gate, Anyone;
        /// Returns a task with the number of its blockers and open children, and its flow.
        fn task(id: TaskId) -> TaskRow, Trackers;
        /// Returns tasks, a page at a time.
        fn tasks(filter: &TaskFilter) -> ListPage<TaskRow>, Trackers;
        /// Returns the events of a task, in order.
        fn history(id: TaskId) -> TaskTimeline, Trackers;
        /// Returns the handles and statuses of tasks that are visible to the reader.
        fn task_names(ids: &[TaskId]) -> Vec<(TaskId, String, TaskStatus)>, Anyone;
        /// Returns a flow, folded from the log.
        fn flow(id: FlowId) -> Flow, Readers;
        /// Returns the events of a flow, in order.
        fn flow_history(id: FlowId) -> FlowHistory, Readers;
        /// Returns flows, newest first, a page at a time.
        fn flows(filter: &FlowFilter) -> ListPage<Flow>, Readers;
        /// Returns flows that wait for no person, oldest first, a page at a time. Another executor may hold one at
        /// this moment.
        fn ready_flows(filter: &ReadyFilter) -> ListPage<Flow>, Readers;
        /// Resolves an id, a handle or the prefix of one to a flow.
        fn find_flow(typed: &str) -> FlowId, Readers;
        fn run(id: RunId) -> Run, Trackers;
        /// Returns the last runs of a task, newest first.
        fn runs_of(task: TaskId, limit: usize) -> Vec<Run>, Trackers;
        fn live_runs() -> Vec<Run>, Trackers;
        /// Returns all settings, by kind and name.
        fn settings(kind: Option<SettingKind>) -> Vec<StoredSetting>, Trackers;
        /// Validates changes of settings without applying them.
        fn check_settings(changes: &[SettingChange]) -> (), Readers;
        /// Explains the ruling on a request, with the standing approval that would apply.
        fn explain(request: PolicyRequest) -> (RulingExplanation, Option<StandingApproval>), Trackers;
        /// Checks that a gate can lead to a standing approval.
        fn check_can_be_remembered(gate: GateId) -> (), Readers;
        /// Returns the standing approvals that have not expired, by gate.
        fn remembered() -> Vec<(String, StandingApproval)>, Readers;
        /// Returns the people who are away now, by name.
        fn away() -> Vec<(String, Absence)>, Readers;
        /// Returns the people who were admitted, by name.
        fn people() -> Vec<SpaceMember>, Readers;
        /// Returns the people who only have a token, by name.
        fn people_by_token() -> Vec<SpaceMember>, Readers;
        /// True if the space was deleted.
        fn is_deleted() -> bool, Anyone;
        /// Returns all spaces in this store that are visible to the reader.
        fn spaces() -> Vec<SpaceRow>, Anyone;
        /// Returns the problems that the database's own integrity check finds.
        fn check_file() -> Vec<String>, Readers;
        /// Returns the configured managed agents by name.
        fn members() -> Vec<ManagedAgent>, Trackers;
        fn member(name: &str) -> ManagedAgent, Trackers;
        /// Returns an order that was not carried out yet.
        fn pending(id: GateId) -> Option<PendingOrder>, Anyone;
        /// Returns all queued orders.
        fn orders() -> Vec<PendingOrder>, Operators;
        /// Returns the machine and session in which an agent runs.
        fn stationed(agent: &str) -> Option<RunningAgent>, Operators;
        /// Claims an order for a machine under a lease, if no other process holds it.
        fn take_order(host: &str, id: GateId) -> bool, Operators;
        /// Records a failed attempt at an order; it is retried after a back-off.
        fn put_off_order(id: GateId, attempts: u32, why: &str) -> (), Operators;
        /// Issues a credential to an agent that is about to start, or finds the one that was issued before.
        fn admit_agent(order: &LifecycleOrder, secret: &str) -> TokenId, Operators;
        /// Records the outcome of an order. Returns false if it was recorded before.
        fn settle_order(settled: &SettledOrder) -> bool, Operators;
        /// Revokes the credential of an agent that was not started.
        fn dismiss_agent(secret: &str) -> (), Operators;
        /// True if a nudge is queued, for any machine.
        fn has_nudges() -> bool, Operators;
        /// Claims the nudges for agents of a machine that may be nudged now.
        fn claim_nudges(host: &str) -> Vec<ClaimedNudge>, Operators;
        /// Returns the reason for which nothing may be typed to an agent now, or none.
        fn nudge_held_back(agent: &str) -> Option<String>, Operators;
        /// Records the outcome of an attempt to nudge an agent.
        fn end_nudge(nudge: &ClaimedNudge, end: &NudgeEnd) -> (), Operators;
        /// Returns the time at which the first notice on one of these channels is due.
        fn next_notice(channels: &[String]) -> Option<Timestamp>, Operators;
        /// Claims notices that are due on a channel. Notices that are not needed any more are dropped.
        fn claim_notices(channel: &str, limit: usize) -> Vec<ClaimedNotice>, Operators;
        /// Settles a notice that was sent.
        fn settle_notice(key: &str) -> (), Operators;
        /// Records a failed attempt at a notice; the back-off doubles each time.
        fn fail_notice(dispatch: &ClaimedNotice, error: &str) -> (), Operators;
        /// Returns answers that ended a task, if a run of this place asked and its work has not been landed yet.
        fn to_be_landed(asker: &str, place: &LeaseHolder) -> Vec<(GateId, Task)>, Operators;
    }
}

/// Calls that are the same for both sides, or are executed by the client.
impl Desk {
    /// Opens an existing space.
    pub fn open(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        LocalDesk::open(place, name, world).map(Self::from)
    }

    /// Opens a space for a long-lived process with many threads, with group commit.
    pub fn open_shared(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        LocalDesk::open_shared(place, name, world).map(Self::from)
    }

    /// Opens a space that may have been deleted: it can be read, and the endings of its gates are still delivered to
    /// their askers.
    pub fn open_kept(place: StoreLocation, name: &str, world: RuntimeEnv) -> Result<Self> {
        LocalDesk::open_kept(place, name, world).map(Self::from)
    }

    /// Creates a space, and the store if it does not exist. An existing space of this name is opened; the flag is
    /// true for a new one.
    pub fn create(
        place: StoreLocation,
        name: &str,
        actor: &Actor,
        world: RuntimeEnv,
    ) -> Result<(Self, bool)> {
        let (desk, is_new) = LocalDesk::create(place, name, actor, world)?;
        Ok((desk.into(), is_new))
    }

    /// Sets the threshold that agents are told for asking.
    #[must_use]
    pub fn with_threshold(mut self, threshold: AskThreshold) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets the callback that is called with the head of the chain after each write. A remote desk ignores it.
    #[must_use]
    pub fn with_head_keeper(self, keeper: crate::HeadKeeper) -> Self {
        let side = match self.side {
            DeskBackend::Local(desk) => DeskBackend::Local(desk.with_head_keeper(keeper)),
            side @ DeskBackend::Remote(_) => side,
        };
        Self { side, ..self }
    }

    /// Sets the rate limits of an agent's questions and writes per minute. A remote desk ignores them, since its
    /// server has its own.
    #[must_use]
    pub fn with_pace(mut self, asks: Option<u32>, writes: Option<u32>) -> Self {
        if let DeskBackend::Local(desk) = self.side {
            self.side = DeskBackend::Local(desk.with_pace(asks, writes));
        }
        self
    }

    /// Sets the notification channels. A remote desk ignores them, since its server sends the notices.
    #[must_use]
    pub fn with_channels(mut self, channels: Vec<ChannelInfo>) -> Self {
        if let DeskBackend::Local(desk) = &mut self.side {
            desk.channels = channels;
        }
        self
    }

    /// Returns the desk for an actor, for whom hidden objects do not exist. A remote desk stays as it is, since its
    /// server knows the actor.
    #[must_use]
    pub fn as_reader(&self, actor: &Actor) -> Self {
        let side = match &self.side {
            DeskBackend::Local(desk) => DeskBackend::Local(desk.as_reader(actor)),
            DeskBackend::Remote(desk) => DeskBackend::Remote(desk.clone()),
        };
        Self { side, ..self.clone() }
    }

    /// Returns the local desk, if it is one.
    pub fn local(&self) -> Option<&LocalDesk> {
        match &self.side {
            DeskBackend::Local(desk) => Some(desk),
            DeskBackend::Remote(_) => None,
        }
    }

    /// Returns the client of a remote desk, if it is one.
    pub fn remote(&self) -> Option<&RemoteDesk> {
        match &self.side {
            DeskBackend::Local(_) => None,
            DeskBackend::Remote(desk) => Some(desk),
        }
    }

    /// True if the desk is on a server.
    pub fn is_remote(&self) -> bool {
        self.remote().is_some()
    }

    /// Returns the id of the space.
    pub fn space(&self) -> SpaceId {
        match &self.side {
            DeskBackend::Local(desk) => desk.space,
            DeskBackend::Remote(desk) => desk.space(),
        }
    }

    /// Returns the name of the space.
    pub fn space_name(&self) -> &str {
        match &self.side {
            DeskBackend::Local(desk) => &desk.space_name,
            DeskBackend::Remote(desk) => desk.space_name(),
        }
    }

    /// Returns the location of a local store.
    pub fn place(&self) -> Option<&StoreLocation> {
        self.local().map(LocalDesk::place)
    }

    /// Returns the location of the store or server as text, without a password.
    pub fn address(&self) -> String {
        match &self.side {
            DeskBackend::Local(desk) => desk.place().to_string(),
            DeskBackend::Remote(desk) => desk.address(),
        }
    }

    /// Returns the assurance level of the deployment.
    pub fn level(&self) -> AssuranceLevel {
        match &self.side {
            DeskBackend::Local(desk) => desk.level(),
            DeskBackend::Remote(desk) => desk.level(),
        }
    }

    fn world(&self) -> &RuntimeEnv {
        match &self.side {
            DeskBackend::Local(desk) => &desk.world,
            DeskBackend::Remote(desk) => desk.world(),
        }
    }

    /// Returns the threshold that agents are told for asking.
    pub(crate) fn threshold(&self) -> AskThreshold {
        self.threshold
    }

    pub fn now(&self) -> Timestamp {
        self.world().now()
    }

    /// Returns 128 random bits.
    pub(crate) fn random_u128(&self) -> u128 {
        self.world().random_u128()
    }

    /// Returns a new id for a gate.
    pub fn new_gate_id(&self) -> GateId {
        GateId::mint(self.now(), self.random_u128())
    }

    /// Returns a new id for a task.
    pub fn new_task_id(&self) -> TaskId {
        TaskId::mint(self.now(), self.random_u128())
    }

    /// Returns a new id for a run.
    pub fn new_run_id(&self) -> RunId {
        RunId::mint(self.now(), self.random_u128())
    }

    /// Returns a new id for a flow.
    pub fn new_flow_id(&self) -> FlowId {
        FlowId::mint(self.now(), self.random_u128())
    }

    /// Returns a new id for a message.
    pub fn new_message_id(&self) -> MessageId {
        MessageId::mint(self.now(), self.random_u128())
    }

    /// Returns a secret for the agent of a run that is about to start.
    pub fn new_agent_secret(&self) -> String {
        crate::credentials::new_secret(self.world(), Role::Agent)
    }

    /// Returns the actor of a run's agent, in whose name a worker records the agent's output.
    pub fn agent_of(&self, run: &Run) -> Actor {
        crate::runs::agent_of(run, self.level())
    }

    /// Checks the caller's permission. A refusal is audited.
    pub(crate) fn check(&self, actor: &Actor, deed: Permission, what: &str) -> Result<()> {
        actor.check(deed, what).map_err(|refusal| {
            self.note_refusal(actor, &refusal);
            refusal.into()
        })
    }

    /// Audits a refusal for lack of permission. A failure of that write is ignored, since the refusal holds even if
    /// it cannot be recorded.
    pub fn note_refusal(&self, actor: &Actor, refusal: &Refusal) {
        match &self.side {
            DeskBackend::Local(desk) => desk.note_refusal(actor, refusal),
            DeskBackend::Remote(desk) => desk.note_refusal(actor, refusal),
        }
    }

    /// Returns all gates that match a filter, read in pages of its limit, or shorter ones where a server bounds them
    /// in bytes.
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

    /// Authenticates the holder of a secret at an interface.
    pub fn authenticate(&self, secret: &str, door: EntryPoint) -> Result<Actor> {
        match &self.side {
            DeskBackend::Local(desk) => desk.authenticate(secret, door),
            DeskBackend::Remote(desk) => desk.authenticate(secret, door),
        }
    }

    /// Counts something that an agent does and that writes nothing as a write. A server counts for itself.
    pub fn count_call(&self, actor: &Actor) -> Result<()> {
        match &self.side {
            DeskBackend::Local(desk) => desk.count_call(actor),
            DeskBackend::Remote(_) => Ok(()),
        }
    }

    /// True if this person has set a passphrase.
    pub fn has_passphrase(&self, name: &str) -> Result<bool> {
        match &self.side {
            DeskBackend::Local(desk) => desk.has_passphrase(name),
            DeskBackend::Remote(desk) => desk.call("has_passphrase", None, &(name,)),
        }
    }

    /// True if the space has no gates, tasks and credentials yet. Always false for a remote desk.
    pub fn is_untouched(&self, actor: &Actor) -> Result<bool> {
        match &self.side {
            DeskBackend::Local(desk) => desk.is_untouched(actor),
            DeskBackend::Remote(_) => Ok(false),
        }
    }

    /// True if this person has unlocked this terminal.
    pub fn is_unlocked(&self, name: &str, terminal: &str) -> Result<bool> {
        match &self.side {
            DeskBackend::Local(desk) => desk.is_unlocked(name, terminal),
            // The server returns the unlocked proof with the credential's actor.
            DeskBackend::Remote(desk) => Ok(desk.greet()?.actor.proof >= IdentityProof::Passphrase),
        }
    }

    /// Unlocks a terminal for some minutes, like sudo. `terminal` names it and its session.
    pub fn unlock(&self, actor: &Actor, passphrase: &str, terminal: &str) -> Result<Timestamp> {
        match &self.side {
            DeskBackend::Local(desk) => desk.unlock(actor, passphrase, terminal),
            DeskBackend::Remote(desk) => desk.call("unlock", Some(actor), &(passphrase,)),
        }
    }

    pub fn lock(&self, actor: &Actor, terminal: &str) -> Result<()> {
        match &self.side {
            DeskBackend::Local(desk) => desk.lock(actor, terminal),
            DeskBackend::Remote(desk) => desk.call("lock", Some(actor), &()),
        }
    }

    /// Fires all timers that are due. A server does that by itself.
    pub fn fire_due(&self) -> Result<usize> {
        self.local().map_or(Ok(0), LocalDesk::fire_due)
    }

    /// Returns the policies in force.
    pub fn policies(&self) -> Result<Arc<PolicySet>> {
        match &self.side {
            DeskBackend::Local(desk) => desk.policies(),
            DeskBackend::Remote(_) => {
                Ok(Arc::new(settings::policies_in_force(&self.settings(None)?)?))
            }
        }
    }

    /// Returns the ready answers of people, by name.
    pub fn templates(&self) -> Result<Vec<(String, crate::AnswerTemplate)>> {
        let set = self.settings(Some(SettingKind::Template))?;
        let read = |set: StoredSetting| Some((set.name, serde_json::from_str(&set.body?).ok()?));
        Ok(set.into_iter().filter_map(read).collect())
    }

    /// Waits until the gate has ended, or until `timeout` has passed. The gate is stored, so a waiting process may
    /// die and wait again.
    pub fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<WaitOutcome> {
        match &self.side {
            DeskBackend::Local(desk) => desk.wait(id, timeout),
            DeskBackend::Remote(desk) => desk.wait(id, timeout),
        }
    }

    /// Checks the hash chain, that it covers every event, and that every gate and task equals the result of its
    /// events. `progress` is called with the number of rows that are done.
    pub fn verify_audit(&self, actor: &Actor, progress: impl Fn(u64)) -> Result<AuditReport> {
        match &self.side {
            DeskBackend::Local(desk) => desk.verify_audit(actor, progress),
            DeskBackend::Remote(desk) => desk.call("verify_audit", Some(actor), &()),
        }
    }
}
