//! What policies say, and why.

use super::Clock;
use sayso_engine::{
    ADMIN_POLICY, Desk, Escalation, Explanation, Layer as CoreLayer, Result, SPACE_POLICY,
    SettingKind,
};
use sayso_engine::{Because as CoreBecause, Demands as CoreDemands, Looked as CoreLooked};
use schemars::JsonSchema;
use serde::Serialize;

/// What policies make of a request, and the way to it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Explained {
    /// The request, in a line.
    pub request: String,
    /// allow, ask or deny.
    pub effect: String,
    /// Why, in words for whoever is asked or refused.
    pub reason: String,
    /// The rules that decided; none where there is no policy.
    pub because: Vec<Because>,
    /// What is demanded; there exactly when a person is asked.
    pub demands: Option<Demands>,
    /// What silence would approve. Nothing, in most policies.
    pub alarms: Vec<String>,
    /// The commands that were found in its command line.
    pub commands: Vec<String>,
    /// Why it cannot be told what the command line runs.
    pub unclear: Option<String>,
    /// Every rule that was looked at, in order.
    pub looked: Vec<Looked>,
    /// The digest of all the policies.
    pub policy: String,
    /// Who approved the same before, where that is remembered: then it is allowed.
    pub remembered: Option<String>,
}

/// One reason for a ruling.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Because {
    /// The layer it comes from: `admin`, `space`, `agent NAME`.
    pub layer: String,
    /// The file.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// What it came to: allow, ask or deny.
    pub effect: String,
    /// The rule's own reason.
    pub reason: String,
    /// What else is to be known: a condition that failed, a part that cannot be told.
    pub note: Option<String>,
}

/// What an ask demands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Demands {
    /// All of it, in words.
    pub words: String,
    /// Whose yes is needed, in words.
    pub approvers: String,
    /// Whose no settles it.
    pub veto: Vec<String>,
    /// Whether whoever launched the agent is left out.
    pub not_launcher: bool,
    /// The least proof of the person who answers.
    pub least_proof: String,
    /// low, medium, high or critical.
    pub risk: String,
    /// How long it may take, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// When people are reminded, in milliseconds from the moment it is asked.
    pub remind_ms: Vec<u64>,
    /// Who may decide from when on.
    pub escalate: Vec<Level>,
    /// What happens at the deadline: approve, keep, defer, escalate, fail or deny.
    pub at_end: String,
}

/// One level up.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Level {
    /// When, in milliseconds from the moment it is asked.
    pub after_ms: u64,
    /// Whose yes is needed from then on, in words.
    pub approvers: String,
}

/// A rule that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Looked {
    /// The layer it comes from.
    pub layer: String,
    /// The file.
    pub file: String,
    /// The line of the rule.
    pub line: Option<u64>,
    /// The rule; none for what the file says otherwise.
    pub rule: Option<String>,
    /// What it says: allow, ask or deny.
    pub says: String,
    /// Whether it speaks of the request.
    pub matched: bool,
    /// Why, or why not.
    pub why: String,
    /// Whether it is one of those that decided.
    pub decided: bool,
}

impl Explained {
    /// An explanation for the wire.
    pub fn of(explanation: Explanation) -> Self {
        let Explanation { request, commands, unclear, looked, ruling, alarms, policy } =
            explanation;
        Self {
            request,
            effect: ruling.effect.to_string(),
            reason: ruling.reason(),
            demands: ruling.demands.as_ref().map(Demands::of),
            because: ruling.because.into_iter().map(Because::of).collect(),
            alarms,
            commands,
            unclear,
            looked: looked.into_iter().map(Looked::of).collect(),
            policy: policy.to_string(),
            remembered: None,
        }
    }
}

impl Because {
    fn of(because: CoreBecause) -> Self {
        let CoreBecause { layer, file, line, rule, effect, reason, note } = because;
        Self { layer, file, line, rule, effect: effect.to_string(), reason, note }
    }
}

impl Looked {
    fn of(looked: CoreLooked) -> Self {
        let CoreLooked { layer, file, line, rule, says, matched, why, decided } = looked;
        Self { layer, file, line, rule, says: says.to_string(), matched, why, decided }
    }
}

impl Demands {
    fn of(demands: &CoreDemands) -> Self {
        let level = |level: &Escalation| Level {
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
pub struct InForce {
    /// The digest of all of them; gates and audit entries carry it.
    pub digest: String,
    /// From the outermost inward.
    pub layers: Vec<Layer>,
}

/// The policy of one layer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Layer {
    /// `space`, or `agent NAME`.
    pub layer: String,
    /// How many rules it has.
    pub rules: usize,
    /// How many tests.
    pub tests: usize,
    /// Who put it in force.
    pub set_by: String,
    /// When.
    pub set_at: String,
    /// The file, as it was set.
    pub text: String,
}

impl InForce {
    /// What is in force, with who put it there.
    pub fn at(desk: &Desk, time: Clock<'_>) -> Result<Self> {
        let policies = desk.policies()?;
        let settings = desk.settings(Some(SettingKind::Policy))?;
        let layers = policies.files().filter_map(|policy| {
            let name = match policy.layer() {
                CoreLayer::Space => SPACE_POLICY.to_owned(),
                CoreLayer::Admin => ADMIN_POLICY.to_owned(),
                CoreLayer::Agent(name) => format!("agent/{name}"),
                // Nobody sets these.
                CoreLayer::Floor | CoreLayer::Task(_) => return None,
            };
            let setting = settings.iter().find(|setting| setting.name == name)?;
            Some(Layer {
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
