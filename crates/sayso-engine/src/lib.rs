//! The write service of sayso and its background work. The [`Desk`] is the only type that writes to the store.
//!
//! The CLI, HTTP API, pages, MCP server and hooks all build the same commands and hand them to the [`Desk`];
//! nothing else appends to the log. The desk reads the clock, loads the state that a decision depends on, lets the
//! core decide, and writes events, views, deliveries, notices and the audit entry in one transaction.

mod absence;
mod activity;
mod approval_fatigue;
mod audit;
mod backup;
mod calendar;
mod cards;
mod change_feed;
mod channels;
mod counters;
mod credential_cache;
mod credentials;
mod deadline;
mod desk;
mod env;
mod error;
mod fleet;
mod flow_commands;
mod flows;
mod gates;
mod http_client;
mod idempotency;
mod inbox_pages;
mod ledger;
mod lifecycle;
mod load;
mod local;
mod login_throttle;
mod lookup;
mod messages;
mod metrics;
mod notice_sender;
mod notices;
mod nudges;
mod outbox;
mod paging;
mod passkeys;
mod people;
mod policy;
mod rate_limit;
mod receipts;
mod recipients;
mod remote;
mod runs;
mod settings;
mod spaces;
mod ssrf;
mod startup_instructions;
mod suggestions;
mod supervisor;
mod tasks;
mod timers;
mod tool_call_capture;
mod tool_calls;
mod tool_questions;
mod visibility;
mod waiters;
pub mod worker;
pub mod worktree;
mod write_batch;

pub use absence::Absence;
pub use activity::ActivityPage;
pub use approval_fatigue::{CollapseRule, CollapsedAsker, EarlierRejections};
pub use audit::{AuditReport, ExportError, ListedEntry, verify_export};
pub use backup::BackupReport;
pub use calendar::Calendar;
pub use cards::{AnswerOutcome, CardAnswer, CardAsker, CardView, InboxFilter, NamedTask};
pub use change_feed::ChangeFeed;
pub use channels::{ChannelKind, NoticeChannel, check_channel_name};
pub use counters::{BacklogCounts, GateCounters, STEPS_SECS};
pub use credentials::{IssuedToken, NewToken, is_of_known_token, scopes_in_words};
pub use deadline::CallDeadline;
pub use desk::{CALLS, Desk, take_call};
pub use env::RuntimeEnv;
pub use error::{Error, Result};
pub use fleet::{AgentSpec, AnswerTemplate, Person};
pub use flow_commands::flow_commands;
pub use flows::{
    AdvanceRequest, FlowHistory, FlowStatusReport, FlowStep, NewFlow, gate_outcome, is_held,
    task_of_flow,
};
pub use gates::{NewGate, WaitOutcome};
pub use http_client::{HttpClient, HttpReply};
pub use lifecycle::{
    LifecycleOrder, LifecycleRequestOutcome, ManagedAgent, PendingOrder, RunningAgent,
};
pub use load::TaskTimeline;
pub use local::{HeadKeeper, LocalDesk};
pub use messages::UnreadItem;
pub use metrics::{DurationStats, MetricsInterval, RuleStats, SpaceMetrics};
pub use notice_sender::{NoticeSender, SendTotals, SenderGuard};
pub use notices::{NoticeState, NoticeText};
pub use nudges::{ClaimedNudge, NudgeEnd};
pub use outbox::ClaimedNotice;
pub use passkeys::{ChallengePurpose, PasskeyChallenge, PasskeyRow};
pub use people::{DismissalReport, InviteCode, LoginClient, bad_code, bad_passkey, bad_passphrase};
pub use policy::{ApprovalScope, RequestLogEntry, StandingApproval};
pub use remote::{
    CallEnvelope, CallError, CallPermission, LINE_CALLS, LINE_VERSION, RemoteCaller, RemoteDesk,
    RpcTransport, ServerHandshake, SpaceChanges, join, log_in,
};
pub use runs::{NewRun, RunSettlement};
pub use sayso_agents as agents;
pub use sayso_policy::{
    AskDemands, CheckedRule, EscalationStep, PolicyLayer, PolicyRequest, RuleSuggestion,
    RulingExplanation, RulingReason, ToolCall,
};
pub use sayso_store::{
    FlowFilter, GateFilter, ListPage, NameMatch, ReadyFilter, SpaceMember, SpaceRow, StoreLocation,
    StoredSetting, TaskFilter, TaskRow, TokenRow,
};
pub use settings::{ADMIN_POLICY, SPACE_POLICY, SettingChange, SettingKind};
pub use spaces::{check_space_name, deleted};
pub use ssrf::NetworkScope;
pub use supervisor::{AgentSupervisor, OrderOutcome, SettledOrder};
pub use tasks::{CompletionOutcome, NewTask};
pub use tool_call_capture::capture_tool_call;
pub use tool_calls::CallRuling;
pub use tool_questions::{CallQuestion, QuestionsRuling};
pub use waiters::{GateWaiters, WaitSubscription};
pub use worker::{ShellCommand, StepCheck};
