//! Enforcement of the policy's tool rules on agents: a client is started with the hook that asks before each call,
//! and work of a turn in which the hook was not asked is not merged.

use super::Worker;
use super::claim::ClaimedTask;
use super::turn::facts;
use crate::worktree::Worktree;
use crate::{NewGate, Result, RunSettlement};
use sayso_agents::AgentConfig;
use sayso_core::gate::Card;
use sayso_core::run::RunUsage;
use sayso_core::{AnswerShape, GateKind, RunId};
use sayso_policy::RuleSubject;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The variable that names the file in which a hook notes that it was asked about a call.
pub const HOOK_NOTES: &str = "SAYSO_HOOK_NOTES";

/// The arguments and variables that give a client its hook for a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookKit {
    /// Additional arguments for the client.
    pub args: Vec<String>,
    /// Additional environment variables for the client.
    pub variables: Vec<(String, String)>,
    /// True if the hook is one of ours, so that it notes each call it is asked about.
    pub is_checked: bool,
}

/// Makes a kit for an agent, or returns the reason for which its client cannot be given a hook.
type HookKitFactory = dyn Fn(&AgentConfig) -> std::result::Result<HookKit, String> + Send + Sync;

/// The source of hook kits.
#[derive(Clone)]
pub struct HookSource(pub Arc<HookKitFactory>);

impl fmt::Debug for HookSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookSource")
    }
}

impl Worker<'_> {
    /// Returns the kit for an agent if the policy has tool rules, an empty one if not.
    pub(super) fn hook_kit(
        &self,
        agent: &AgentConfig,
    ) -> Result<std::result::Result<HookKit, String>> {
        let Some(HookSource(make)) = &self.setup.hooks else { return Ok(Ok(HookKit::default())) };
        if self.desk.policies()?.governs(RuleSubject::Tool) {
            Ok(make(agent))
        } else {
            Ok(Ok(HookKit::default()))
        }
    }

    /// The file in which the hook of a run notes the calls of a turn.
    pub(super) fn hook_notes(&self, run: RunId) -> PathBuf {
        self.setup.logs.join(format!("{run}.hooks"))
    }

    /// Ends a turn whose agent called tools past its hook, and asks a person to look at the work.
    pub(super) fn settle_bypassed_hook(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        spent: RunUsage,
    ) -> Result<()> {
        let (title, agent) = (&taken.task.title, &taken.agent.name);
        let card = Card {
            question: format!(
                "{title}: {agent} called tools without asking, although the policy has rules for them. \
                 Nothing was brought home. May it go on?"
            ),
            narrative: format!(
                "The hook of {agent} was not run in this turn: its client ignores it, or hooks are switched \
                 off in its settings. What it did is on the branch. sayso connect --check shows whether hooks are run."
            ),
            facts: facts(tree, true, None),
            shape: AnswerShape::Verdict,
        };
        let ask =
            NewGate::new(self.desk.new_gate_id(), GateKind::Escalation, Some(taken.task.id), card);
        self.settle(taken, spent, RunSettlement::Asked(vec![ask]))
    }
}
