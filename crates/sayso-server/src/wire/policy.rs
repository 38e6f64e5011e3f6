//! Wire types of policies: rulings with their reasons, demands, and the layers in force.

use super::TimeFormatter;
use sayso_engine::{
    ADMIN_POLICY, Desk, EscalationStep, PolicyLayer as CoreLayer, Result, RulingExplanation,
    SPACE_POLICY, SettingKind,
};
use sayso_engine::{
    AskDemands as CoreDemands, CheckedRule as CoreLooked, RulingReason as CoreBecause,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The ruling of policies on a request, and the way to it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Explained")]
pub struct PolicyExplanation {
    /// The request, in a line.
    pub request: String,
    /// allow, ask or deny.
    pub effect: String,
    /// The reason, in words for the actor who is asked or refused.
    pub reason: String,
    /// The rules that decided; none where there is no policy.
    pub because: Vec<RulingReasonJson>,
    /// The demands; there exactly when a person is asked.
    pub demands: Option<DemandsJson>,
    /// The actions that silence would approve. None, in most policies.
    pub alarms: Vec<String>,
    /// The commands that were found in its command line.
    pub commands: Vec<String>,
    /// The reason why it cannot be told what the command line runs.
    pub unclear: Option<String>,
    /// Every rule that was looked at, in order.
    pub looked: Vec<CheckedRuleJson>,
    /// The digest of all the policies.
    pub policy: String,
    /// The person who approved the same before, where that is remembered: then it is allowed.
    pub remembered: Option<String>,
}

/// One reason for a ruling.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Because")]
pub struct RulingReasonJson {
    /// The layer it comes from: `admin`, `space`, `agent NAME`.
    pub layer: String,
    /// The file of the rule.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// The effect it came to: allow, ask or deny.
    pub effect: String,
    /// The rule's own reason.
    pub reason: String,
    /// Further details: a condition that failed, a part that cannot be told.
    pub note: Option<String>,
}

/// The demands of an ask.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Demands")]
pub struct DemandsJson {
    /// All of it, in words.
    pub words: String,
    /// The approvers whose yes is needed, in words.
    pub approvers: String,
    /// The people whose no settles it.
    pub veto: Vec<String>,
    /// True if the launcher of the agent is left out.
    pub not_launcher: bool,
    /// The least proof of the person who answers.
    pub least_proof: String,
    /// low, medium, high or critical.
    pub risk: String,
    /// The time it may take, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The times at which people are reminded, in milliseconds from the moment it is asked.
    pub remind_ms: Vec<u64>,
    /// The escalation: who may decide from when on.
    pub escalate: Vec<EscalationStepJson>,
    /// The timeout action at the deadline: approve, keep, defer, escalate, fail or deny.
    pub at_end: String,
}

/// One step of the escalation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Level")]
pub struct EscalationStepJson {
    /// The time of the step, in milliseconds from the moment it is asked.
    pub after_ms: u64,
    /// The approvers whose yes is needed from then on, in words.
    pub approvers: String,
}

/// A rule that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Looked")]
pub struct CheckedRuleJson {
    /// The layer it comes from.
    pub layer: String,
    /// The file of the rule.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// The effect of the rule: allow, ask or deny.
    pub says: String,
    /// True if it matches the request.
    pub matched: bool,
    /// The reason why it matches, or why not.
    pub why: String,
    /// True if it is one of those that decided.
    pub decided: bool,
}

impl PolicyExplanation {
    /// Converts an explanation to its wire form.
    pub fn of(explanation: RulingExplanation) -> Self {
        let RulingExplanation { request, commands, unclear, looked, ruling, alarms, policy } =
            explanation;
        Self {
            request,
            effect: ruling.effect.to_string(),
            reason: ruling.reason(),
            demands: ruling.demands.as_ref().map(DemandsJson::of),
            because: ruling.because.into_iter().map(RulingReasonJson::of).collect(),
            alarms,
            commands,
            unclear,
            looked: looked.into_iter().map(CheckedRuleJson::of).collect(),
            policy: policy.to_string(),
            remembered: None,
        }
    }
}

impl RulingReasonJson {
    fn of(because: CoreBecause) -> Self {
        let CoreBecause { layer, file, line, rule, effect, reason, note } = because;
        Self { layer, file, line, rule, effect: effect.to_string(), reason, note }
    }
}

impl CheckedRuleJson {
    fn of(looked: CoreLooked) -> Self {
        let CoreLooked { layer, file, line, rule, says, matched, why, decided } = looked;
        Self { layer, file, line, rule, says: says.to_string(), matched, why, decided }
    }
}

impl DemandsJson {
    fn of(demands: &CoreDemands) -> Self {
        let level = |level: &EscalationStep| EscalationStepJson {
            after_ms: level.after_ms,
            approvers: level.approvers.in_words(),
        };
        Self {
            words: demands.in_words(),
            approvers: demands.approvers.in_words(),
            veto: demands.veto.iter().cloned().collect(),
            not_launcher: demands.not_launcher,
            least_proof: demands.proof.as_str().into(),
            risk: demands.risk.as_str().into(),
            deadline_ms: demands.deadline_ms,
            remind_ms: demands.remind_ms.clone(),
            escalate: demands.escalate.iter().map(level).collect(),
            at_end: demands.at_end.as_str().into(),
        }
    }
}

/// The policies in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "InForce")]
pub struct ActivePolicies {
    /// The digest of all of them; gates and audit entries carry it.
    pub digest: String,
    /// The layers, from the outermost inward.
    pub layers: Vec<PolicyLayerJson>,
}

/// The policy of one layer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Layer")]
pub struct PolicyLayerJson {
    /// `space`, or `agent NAME`.
    pub layer: String,
    /// The number of rules it has.
    pub rules: usize,
    /// The number of tests it has.
    pub tests: usize,
    /// The actor who put it in force.
    pub set_by: String,
    /// The time at which they did.
    pub set_at: String,
    /// The file, as it was set.
    pub text: String,
}

impl ActivePolicies {
    /// Returns the policies in force, with the actors who put them there.
    pub fn at(desk: &Desk, time: TimeFormatter<'_>) -> Result<Self> {
        let policies = desk.policies()?;
        let settings = desk.settings(Some(SettingKind::Policy))?;
        let layers = policies.files().filter_map(|policy| {
            let name = match policy.layer() {
                CoreLayer::Space => SPACE_POLICY.to_owned(),
                CoreLayer::Admin => ADMIN_POLICY.to_owned(),
                CoreLayer::Agent(name) => format!("agent/{name}"),
                // These are not set by an actor.
                CoreLayer::Floor | CoreLayer::Task(_) => return None,
            };
            let setting = settings.iter().find(|setting| setting.name == name)?;
            Some(PolicyLayerJson {
                layer: policy.layer().to_string(),
                rules: policy.rules().count(),
                tests: policy.tests().len(),
                set_by: setting.set_by.clone(),
                set_at: time(setting.set_at),
                text: setting.body.clone().unwrap_or_default(),
            })
        });
        Ok(Self { digest: policies.digest().to_string(), layers: layers.collect() })
    }
}
