//! The hooks that a worker gives its agents while the policy has rules for tool calls.

use crate::commands::connect;
use crate::commands::hook::protocol::HookClient;
use crate::config::SpaceLocation;
use crate::exit::{Failure, Result};
use sayso_core::Code;
use sayso_engine::Desk;
use sayso_engine::agents::{AgentAdapter, AgentConfig};
use sayso_engine::worker::{HookKit, HookSource};
use sayso_policy::RuleSubject;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of hook files for clients, below that of the space.
const FOLDER: &str = "hooks";

/// Returns a source of hook kits, which makes each kit once for the life of the worker.
pub(crate) fn source(location: &SpaceLocation, home: &Path, own: Vec<String>) -> HookSource {
    let (space, folder) = (location.folder.clone(), home.join(FOLDER));
    let made: Mutex<BTreeMap<String, HookKit>> = Mutex::default();
    HookSource(Arc::new(move |agent| {
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kit) = made.get(&agent.name) {
            return Ok(kit.clone());
        }
        let kit = kit(agent, space.as_deref(), &folder, &own).map_err(|failure| failure.message)?;
        made.insert(agent.name.clone(), kit.clone());
        Ok(kit)
    }))
}

fn kit(
    agent: &AgentConfig,
    space: Option<&Path>,
    folder: &Path,
    own: &[String],
) -> Result<HookKit> {
    if own.contains(&agent.name) {
        return Ok(HookKit::default());
    }
    match client(agent) {
        Some(client) => connect::kit(client, &agent.program, space, folder),
        None => Err(cannot(agent)),
    }
}

const fn client(agent: &AgentConfig) -> Option<HookClient> {
    match agent.adapter {
        AgentAdapter::ClaudeCode => Some(HookClient::ClaudeCode),
        AgentAdapter::Codex => Some(HookClient::Codex),
        AgentAdapter::Gemini => Some(HookClient::Gemini),
        AgentAdapter::Opencode => Some(HookClient::Opencode),
        AgentAdapter::Command => None,
    }
}

fn cannot(agent: &AgentConfig) -> Failure {
    let name = &agent.name;
    let message = format!(
        "agent {name} cannot be held to the rules for tool calls: its program has no hook of ours"
    );
    Failure::new(Code::NotHeld, message).hint(format!(
        "if it asks `sayso hook` or `sayso mcp` itself before each call, say so in .sayso/config.yaml: \
         agents: {{{name}: {{own_hook: true}}}}; or take the rules `on: tool` out of the policy"
    ))
}

/// Checks that the policy's rules for tool calls can be enforced on the worker's agent, if there are such rules.
pub(crate) fn check(desk: &Desk, agent: &AgentConfig, source: &HookSource) -> Result<()> {
    if !desk.policies()?.governs(RuleSubject::Tool) {
        return Ok(());
    }
    match (client(agent), (source.0)(agent)) {
        (_, Ok(_)) => Ok(()),
        (None, Err(_)) => Err(cannot(agent)),
        (Some(client), Err(why)) => {
            let name = client.name();
            Err(Failure::new(Code::NotHeld, format!("agent {} cannot be held: {why}", agent.name))
                .hint(format!("connect it for all projects: sayso connect {name} --scope user")))
        }
    }
}

/// The failure that the doctor reports for an agent that would be refused; nothing is started for it.
pub(crate) fn problem(desk: &Desk, agent: &AgentConfig, own: &[String]) -> Result<Option<Failure>> {
    let is_held = own.contains(&agent.name) || client(agent).is_some();
    Ok((!is_held && desk.policies()?.governs(RuleSubject::Tool)).then(|| cannot(agent)))
}
