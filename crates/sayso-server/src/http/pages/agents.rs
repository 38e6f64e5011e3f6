//! The page of managed agents: the state of each, and the actions on it.

use super::super::route::{EmptyInput, OperationInput};
use super::super::time::rfc3339;
use super::frame::PageFrame;
use super::{HtmlPage, PageContext};
use crate::wire::{self, pending_action_text};
use askama::Template;
use sayso_core::text::sanitize_line;
use sayso_engine::{ManagedAgent, Result};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(super) struct AgentsPageQuery {
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "agents.html")]
struct AgentsPage {
    frame: PageFrame,
    body: AgentsPart,
}

#[derive(Template)]
#[template(path = "agents_body.html")]
struct AgentsPart {
    agents: Vec<AgentView>,
}

struct AgentView {
    name: String,
    command: String,
    backend: String,
    state: String,
    /// Its state, as the page shows it.
    shown: String,
    host: String,
    since: String,
    pending: Option<String>,
    is_running: bool,
}

/// The state of an agent that was started on another machine.
const ELSEWHERE: &str = "elsewhere";

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, AgentsPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let agents = at.desk.members()?.iter().map(|member| view(at, member)).collect();
    let body = AgentsPart { agents };
    match asked.query.part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&AgentsPage { frame: at.frame("agents")?, body }),
    }
}

fn view(at: &PageContext, member: &ManagedAgent) -> AgentView {
    let agent = wire::AgentJson::of(member, |agent| at.is_alive(agent), &rfc3339);
    let words: Vec<_> = std::iter::once(&agent.program).chain(&agent.args).collect();
    let words: Vec<_> = words.iter().map(|word| sanitize_line(word)).collect();
    let running = agent.running.as_ref();
    AgentView {
        name: sanitize_line(&agent.name),
        command: words.join(" "),
        backend: agent.backend,
        // A start on another machine says nothing about the state there.
        shown: if agent.state == ELSEWHERE { "started".into() } else { agent.state.clone() },
        state: agent.state,
        host: running.map(|it| sanitize_line(&it.host)).or(agent.host).unwrap_or_default(),
        since: running.map(|it| it.since.clone()).unwrap_or_default(),
        pending: member.pending.as_ref().map(pending_action_text),
        is_running: member.stationed.is_some(),
    }
}
