//! MCP resources that an agent can read: how to work with people here, the policy, its task.

use super::ToolContext;
use super::gates::json_of;
use crate::wire;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use sayso_core::{Permission, TaskId};
use sayso_engine::{ADMIN_POLICY, GateFilter, Result, SPACE_POLICY, SettingKind};

/// Instructions for working with people, in short. Told to every model that connects.
pub(super) const INSTRUCTIONS: &str = "\
People decide here; you do the work. When only a person can answer (a choice that is theirs, something \
that cannot be undone, a fact you cannot find out), ask with ask_human, or with request_gate if you can go \
on meanwhile. Ask once, with all they need: they cannot see your screen. Nobody's silence is a yes. A call \
or a move that is held has not happened. Do not poll: answers come as messages; check_messages shows them, \
ack_message takes them off. You cannot answer a gate yourself. More in sayso://protocol and sayso://policy.";

const PROTOCOL: &str = "sayso://protocol";
const POLICY: &str = "sayso://policy";
const TASK: &str = "sayso://task";

/// The most gates and runs of a task that are shown.
const GATES_MAX: usize = 100;
const RUNS_MAX: usize = 20;

pub(super) fn all() -> Vec<Resource> {
    let resource = |uri, name, about: &str, mime| {
        Resource::new(uri, name).with_description(about).with_mime_type(mime)
    };
    vec![
        resource(PROTOCOL, "protocol", "How to ask, wait and go on", "text/markdown"),
        resource(
            POLICY,
            "policy",
            "The rules in force: what is allowed, asked and denied",
            "text/yaml",
        ),
        resource(
            TASK,
            "task",
            "The task you work on, with its questions and notes",
            "application/json",
        ),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("sayso://task/{id}", "task by id");
    vec![template.with_description("Any task of the space").with_mime_type("application/json")]
}

/// Returns the resource at a URI, if there is one.
pub(super) fn read(at: &ToolContext, uri: &str) -> Result<Option<ReadResourceResult>> {
    let (text, mime) = match uri {
        PROTOCOL => (protocol(at), "text/markdown"),
        POLICY => (policy(at)?, "text/yaml"),
        TASK => match at.actor.task {
            Some(id) => (task(at, id)?, "application/json"),
            None => return Ok(None),
        },
        _ => match uri.strip_prefix("sayso://task/") {
            Some(name) => (task(at, at.setup.desk.find_task(name)?)?, "application/json"),
            None => return Ok(None),
        },
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime);
    Ok(Some(ReadResourceResult::new(vec![contents]).with_ttl_ms(0)))
}

fn protocol(at: &ToolContext) -> String {
    let (desk, name) = (&at.setup.desk, &at.actor.name);
    let (space, ignition) = (desk.space_name(), desk.startup_instructions(&at.actor));
    format!(
        "# Working with people\n\nYou are {name}, in the space {space}.\n\n{INSTRUCTIONS}\n\n{ignition}"
    )
}

/// Returns the policies in force for this agent.
fn policy(at: &ToolContext) -> Result<String> {
    at.check(Permission::Track, "read what is set for the space")?;
    let own = format!("agent/{}", at.actor.name);
    let policies = at.setup.desk.settings(Some(SettingKind::Policy))?;
    let texts: Vec<_> = policies
        .iter()
        .filter(|policy| [SPACE_POLICY, ADMIN_POLICY, &own].contains(&policy.name.as_str()))
        .filter_map(|policy| Some(format!("# {}\n{}", policy.name, policy.body.as_ref()?)))
        .collect();
    if texts.is_empty() {
        Ok("# No policy is set: nothing is held back here.\n".into())
    } else {
        Ok(texts.join("\n"))
    }
}

fn task(at: &ToolContext, id: TaskId) -> Result<String> {
    at.check_may_track()?;
    let (desk, actor) = (&at.setup.desk, &at.actor);
    let filter = GateFilter { task: Some(id), limit: GATES_MAX, ..GateFilter::default() };
    let gates = desk.gates(actor, filter)?.items;
    let (row, history) = (desk.task(id)?, desk.history(id)?);
    let runs = desk.runs_of(id, RUNS_MAX)?;
    let detail = wire::TaskDetail::of(&row, &gates, &history, &runs, &at.setup.time);
    Ok(format!("{:#}", json_of(&detail)))
}
