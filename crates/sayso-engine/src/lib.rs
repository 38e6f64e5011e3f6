//! The write service of sayso and its background work. The [`Desk`] is the only type that writes to the store.
//!
//! The CLI, HTTP API, pages, MCP server and hooks all build the same commands and hand them to the [`Desk`];
//! nothing else appends to the log. The desk reads the clock, loads the state that a decision depends on, lets the
//! core decide, and writes events, views, deliveries, notices and the audit entry in one transaction.

mod address;
mod addressees;
mod audit;
mod away;
mod backup;
mod batch;
mod calendar;
mod calls;
mod captured;
mod cards;
mod channels;
mod clock;
mod courier;
mod deadline;
mod desk;
mod errand;
mod error;
mod fatigue;
mod figures;
mod find;
mod fleet;
mod flow_commands;
mod flows;
mod follower;
mod gates;
mod happened;
mod identity;
mod ignition;
mod keeper;
mod ledger;
mod lifecycle;
mod lists;
mod load;
mod local;
mod messages;
mod metrics;
mod notices;
mod nudges;
mod outbound;
mod outbox;
mod pace;
mod paging;
mod people;
mod policy;
mod presence;
mod questions;
mod receipts;
mod remote;
mod runs;
mod settings;
mod shown;
mod sight;
mod spaces;
mod suggestions;
mod tasks;
mod waits;
pub mod worker;
pub mod worktree;
mod world;

pub use address::Reachable;
pub use audit::{ExportError, ListedEntry, Report, verify_export};
pub use away::Away;
pub use backup::BackedUp;
pub use calendar::Calendar;
pub use calls::CallRuling;
pub use captured::captured;
pub use cards::{Asked, Asker, InboxFilter, NamedTask, Say, SayOutcome};
pub use channels::{Channel, Way, check_channel_name};
pub use courier::{Courier, Sending, Sent};
pub use deadline::CallDeadline;
pub use desk::{CALLS, Desk, take_call};
pub use error::{Error, Result};
pub use fatigue::{Crowd, Denied, Thin};
pub use figures::{STEPS_SECS, Tally, Waiting};
pub use fleet::{AgentSpec, Person, Template};
pub use flow_commands::flow_commands;
pub use flows::{FlowHistory, FlowStep, GoOn, NewFlow, Stands, heard_at, is_held, task_of_flow};
pub use follower::Follower;
pub use gates::{Ask, Waited};
pub use happened::Happened;
pub use identity::{Minted, NewToken, is_of_known_token, scopes_in_words};
pub use keeper::{Carried, Keeper, Settled};
pub use lifecycle::{Member, Order, Pending, Requested, Stationed};
pub use load::History;
pub use local::{HeadKeeper, LocalDesk};
pub use messages::News;
pub use metrics::{Metrics, OfRule, Spread, Stretch};
pub use notices::{NoticeState, NoticeText};
pub use nudges::{NudgeEnd, TakenNudge};
pub use outbound::{Outbound, Replied};
pub use outbox::Dispatch;
pub use people::{Dismissed, Invited, LoginFor, bad_code, bad_passkey, bad_passphrase};
pub use policy::{Recorded, Remembered, Scope};
pub use presence::{Passkey, Touch, TouchFor};
pub use questions::{CallQuestion, QuestionsRuling};
pub use remote::{
    Caller, Changes, Greeting, Handed, LINE_CALLS, LINE_VERSION, Line, Permission, RemoteDesk,
    Unanswered, join, log_in,
};
pub use runs::{NewRun, Settlement};
pub use sayso_agents as agents;
pub use sayso_policy::{
    Because, Demands, Escalation, Explanation, Layer, Looked, Request, Suggestion, ToolCall,
};
pub use sayso_store::{
    FlowFilter, Found, GateFilter, Known, Page, Place, ReadyFilter, Setting, Space, TaskFilter,
    TaskRow, Token,
};
pub use settings::{ADMIN_POLICY, Change, SPACE_POLICY, SettingKind};
pub use spaces::{check_space_name, deleted};
pub use tasks::{Completed, NewTask};
pub use waits::{Listening, Waits};
pub use worker::{Shell, StepCheck};
pub use world::World;
