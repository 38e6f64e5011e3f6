//! Actors: roles, permissions (scopes), proof of identity, and the rule for acting under another name.

use crate::gate::{Absentee, Introduction};
use crate::{Code, Refusal, RunId, TaskId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The role of a caller. One credential has one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A program that works on its own; it may ask and may never answer.
    Agent,
    /// A person, who may answer.
    Human,
    /// Runs workers and agents.
    Operator,
    /// Manages people, policies and tokens.
    Admin,
    /// Reads and verifies the audit log.
    Auditor,
    /// A program that relays or scripts, such as a cron job.
    Service,
}

impl Role {
    /// All roles, in the order of declaration.
    pub const ALL: [Role; 6] =
        [Role::Agent, Role::Human, Role::Operator, Role::Admin, Role::Auditor, Role::Service];

    /// Returns the name used in the CLI, the API and policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Human => "human",
            Role::Operator => "operator",
            Role::Admin => "admin",
            Role::Auditor => "auditor",
            Role::Service => "service",
        }
    }

    /// Returns the prefix of every token of this role, so that a leaked one can be recognised.
    pub const fn token_prefix(self) -> &'static str {
        match self {
            Role::Agent => "sayso_a_",
            Role::Human => "sayso_h_",
            Role::Operator => "sayso_o_",
            Role::Admin => "sayso_m_",
            Role::Auditor => "sayso_u_",
            Role::Service => "sayso_s_",
        }
    }

    /// True if this role has a permission. A credential's scopes can only narrow it.
    pub const fn may(self, deed: Permission) -> bool {
        match deed {
            Permission::Answer => matches!(self, Role::Human),
            Permission::Ask => !matches!(self, Role::Auditor),
            Permission::Track => !matches!(self, Role::Auditor),
            Permission::Read => !matches!(self, Role::Agent),
            Permission::Mint => matches!(self, Role::Admin | Role::Human),
            Permission::Audit => matches!(self, Role::Human | Role::Admin | Role::Auditor),
            Permission::Govern => matches!(self, Role::Human | Role::Admin),
            Permission::Operate => matches!(self, Role::Human | Role::Operator),
            Permission::Measure => !matches!(self, Role::Agent),
        }
    }
}

/// A permission: a role has a fixed set of them, and the scopes of a credential are a subset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Give a verdict, or do anything that amounts to one.
    Answer,
    /// Open a gate with a question.
    Ask,
    /// Create, change and close tasks, and write notes.
    Track,
    /// See gates that other callers opened.
    Read,
    /// Create and revoke tokens.
    Mint,
    /// Read the audit log.
    Audit,
    /// Set policies, agents, people and groups.
    Govern,
    /// Run workers, and start what workers need.
    Operate,
    /// See counts of open gates and response times, but no single gate.
    #[serde(rename = "metrics")]
    Measure,
}

impl Permission {
    /// All permissions, in the order of declaration.
    pub const ALL: [Permission; 9] = [
        Permission::Answer,
        Permission::Ask,
        Permission::Track,
        Permission::Read,
        Permission::Mint,
        Permission::Audit,
        Permission::Govern,
        Permission::Operate,
        Permission::Measure,
    ];

    /// Returns the name used in the CLI, the API and policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Permission::Answer => "answer",
            Permission::Ask => "ask",
            Permission::Track => "track",
            Permission::Read => "read",
            Permission::Mint => "mint",
            Permission::Audit => "audit",
            Permission::Govern => "govern",
            Permission::Operate => "operate",
            Permission::Measure => "metrics",
        }
    }
}

/// The proof of identity a caller gave, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityProof {
    /// No proof was given.
    None,
    /// The caller holds a token.
    Token,
    /// The caller sits at a terminal that no agent appears to control.
    Tty,
    /// The caller typed the passphrase at this terminal recently.
    Passphrase,
    /// The caller touched a passkey.
    Presence,
    /// Two people proved their presence.
    TwoPeople,
}

impl IdentityProof {
    /// Returns the name used in the CLI, the API and policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            IdentityProof::None => "none",
            IdentityProof::Token => "token",
            IdentityProof::Tty => "tty",
            IdentityProof::Passphrase => "passphrase",
            IdentityProof::Presence => "presence",
            IdentityProof::TwoPeople => "two_people",
        }
    }
}

/// The assurance level: the protection of the place where the verdict was given. `doctor` explains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AssuranceLevel {
    /// Agents and people share one operating-system user: accidents are stopped, intent is not.
    S0,
    /// A presence key (passkey) is required.
    S1,
    /// The store belongs to another user or is on another host.
    S2,
    /// Verdicts are signed on another device.
    S3,
    /// Two people, and a log with external witnesses.
    S4,
}

/// The interface through which a command came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryPoint {
    /// The command line program.
    Cli,
    /// The inbox in the terminal.
    Tui,
    /// The server's web pages.
    Web,
    /// The server's HTTP API.
    Http,
    /// The Model Context Protocol.
    Mcp,
    /// The hook of an agent's client.
    Hook,
    /// The worker, on a signal in an agent's output.
    Worker,
    /// The library `sayso-workflow`.
    Workflow,
    /// A reply that came in through a notification channel.
    Channel,
}

/// The actor of a command. It comes from the credential, never from an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The role of the credential.
    pub role: Role,
    /// The name of the person, the agent or the service.
    pub name: String,
    /// The run this agent is, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The task an agent's credential is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The person who launched this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// The proof of identity given.
    pub proof: IdentityProof,
    /// The assurance level of the place.
    pub level: AssuranceLevel,
    /// The interface that was used.
    pub door: EntryPoint,
    /// The scopes: permissions to which the credential is limited, within those of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<BTreeSet<Permission>>,
    /// The absent people whose deputy this actor is. The desk fills it in; a caller cannot claim it.
    #[serde(skip)]
    pub stands_for: Vec<Absentee>,
    /// The introductions of this person, and those of the people who introduced them. The desk fills them in.
    #[serde(skip)]
    pub introductions: Vec<Introduction>,
}

impl Actor {
    /// Returns an actor without a run, a task and a launcher.
    pub fn new(
        role: Role,
        name: &str,
        proof: IdentityProof,
        level: AssuranceLevel,
        door: EntryPoint,
    ) -> Self {
        let (name, stands_for, introductions) = (name.into(), vec![], vec![]);
        let (run, task, launcher, scopes) = (None, None, None, None);
        Self {
            role,
            name,
            run,
            task,
            launcher,
            proof,
            level,
            door,
            scopes,
            stands_for,
            introductions,
        }
    }

    /// True if the role has the permission and the credential's scopes do not exclude it. Scripts of the local user
    /// may run workers, too; a service's credential is for relaying and asking only.
    pub fn may(&self, deed: Permission) -> bool {
        let runs_workers = deed == Permission::Operate && self.is_own_script();
        let is_in_scope = self.scopes.as_ref().is_none_or(|scopes| scopes.contains(&deed));
        (self.role.may(deed) || runs_workers) && is_in_scope
    }

    /// True if this is a script of the local user, which showed no credential and needs none on this machine.
    pub fn is_own_script(&self) -> bool {
        (self.role, self.proof) == (Role::Service, IdentityProof::None)
    }

    /// True if the actor may verify the audit chain: those who may read it, and a script of the local user. That the
    /// chain is intact discloses nothing of its entries.
    pub fn may_verify(&self) -> bool {
        self.may(Permission::Audit) || self.is_own_script()
    }

    /// Checks that the role and the credential grant a permission; `what` completes "may not …".
    pub fn check(&self, deed: Permission, what: &str) -> Result<(), Refusal> {
        if self.may(deed) {
            return Ok(());
        }
        let Actor { name, role, .. } = self;
        if role.may(deed) {
            let message = format!("the credential of {name} is not for this: it may not {what}");
            return Err(Refusal::new(Code::NotAllowed, message)
                .hint(format!("it takes one with the scope {:?}", deed.as_str())));
        }
        let role = role.as_str();
        Err(match deed {
            Permission::Answer | Permission::Govern => Refusal::new(
                Code::NotHuman,
                format!("{role} {name} may not {what}: that is a person's say-so"),
            )
            .hint("a person does it at their own terminal, outside of any agent"),
            Permission::Ask
            | Permission::Track
            | Permission::Read
            | Permission::Mint
            | Permission::Audit
            | Permission::Operate
            | Permission::Measure => {
                Refusal::new(Code::NotAllowed, format!("{role} {name} may not {what}"))
                    .hint("use a credential of another role; see `sayso token --help`")
            }
        })
    }

    /// True if this actor opened the gate. A run counts as one asker; without runs the name decides, and an agent is
    /// not taken for a person or a person's script of the same name.
    pub fn is_asker(&self, lineage: &Lineage) -> bool {
        match (self.run, lineage.run) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => {
                let both_agents_or_none =
                    (self.role == Role::Agent) == (lineage.role == Role::Agent);
                both_agents_or_none && self.name == lineage.asker
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// True if this is the same agent on the same task in a later run: the gates of the previous run are its own to
    /// read and to use.
    pub fn follows(&self, lineage: &Lineage, task: Option<TaskId>) -> bool {
        let are_agents = self.role == Role::Agent && lineage.role == Role::Agent;
        let are_runs = self.run.is_some() && lineage.run.is_some();
        are_agents
            && are_runs
            && self.name == lineage.asker
            && self.task.is_some()
            && self.task == task
    }

    /// Returns the origin of a gate that this actor opens.
    pub fn lineage(&self) -> Lineage {
        Lineage {
            asker: self.name.clone(),
            role: self.role,
            run: self.run,
            launcher: self.launcher.clone(),
            door: self.door,
        }
    }
}

/// The origin of a gate: the asker, the person who launched it, and the interface used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The name of the asker.
    pub asker: String,
    /// The role of the asker.
    pub role: Role,
    /// The run of the asker, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The person who launched that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// The interface through which the question came in.
    pub door: EntryPoint,
}

/// Returns the actor for a caller whose credential is `credential` and who claims to be `claimed`. A claim is
/// accepted only if it has fewer privileges: a person's script, an agent that works with a person's credential, or
/// the agent of a run that this caller launched (`launched`). Proof and level never come from the claim.
pub fn resolve_actor(
    credential: &Actor,
    claimed: &Actor,
    launched: Option<&Actor>,
) -> Result<Actor, Refusal> {
    let Actor { role, name, level, proof, .. } = credential;
    let itself = (claimed.role, &claimed.name) == (*role, name) && claimed.run == credential.run;
    let door = claimed.door;
    if itself {
        return Ok(Actor { door, ..credential.clone() });
    }
    let scopes = credential.scopes.clone();
    let less = |role, name: &str| Actor {
        scopes: scopes.clone(),
        ..Actor::new(role, name, IdentityProof::None, *level, door)
    };
    match (role, claimed.role, launched) {
        // A worker records the words of its agent under the agent's name.
        (Role::Human | Role::Operator | Role::Service, Role::Agent, Some(agent))
            if agent.launcher.as_ref() == Some(name) && agent.run == claimed.run =>
        {
            let proof = *proof.min(&IdentityProof::Token);
            Ok(Actor { door, proof, scopes: scopes.clone(), ..agent.clone() })
        }
        (Role::Human, Role::Agent, None) => {
            Ok(Actor { launcher: Some(name.clone()), ..less(Role::Agent, &claimed.name) })
        }
        (Role::Human, Role::Service, None) if claimed.name == *name => {
            Ok(less(Role::Service, name))
        }
        _ => Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "{} {name} may not act as {} {}",
                role.as_str(),
                claimed.role.as_str(),
                claimed.name
            ),
        )
        .hint("use the credential of whoever acts")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_each_role_may_do() {
        let page: String = Role::ALL
            .into_iter()
            .map(|role| {
                let may: Vec<_> =
                    Permission::ALL.iter().filter(|d| role.may(**d)).map(|d| d.as_str()).collect();
                format!("{:<9} {}\n", role.as_str(), may.join(" "))
            })
            .collect();
        insta::assert_snapshot!(page, @r"
        agent     ask track
        human     answer ask track read mint audit govern operate metrics
        operator  ask track read operate metrics
        admin     ask track read mint audit govern metrics
        auditor   read audit metrics
        service   ask track read metrics
        ");
    }

    /// A script of the local user runs workers; the credential of a service does not.
    #[test]
    fn only_an_own_script_runs_workers_as_a_service() {
        for (role, proof, may) in [
            (Role::Service, IdentityProof::None, true),
            (Role::Service, IdentityProof::Token, false),
            (Role::Operator, IdentityProof::Token, true),
            (Role::Agent, IdentityProof::None, false),
        ] {
            let actor = Actor::new(role, "job", proof, AssuranceLevel::S0, EntryPoint::Cli);
            assert_eq!(
                actor.check(Permission::Operate, "run agents").is_ok(),
                may,
                "{role:?} {proof:?}"
            );
        }
    }

    #[test]
    fn a_scope_only_limits() {
        let mut ann = Actor::new(
            Role::Human,
            "ann",
            IdentityProof::Token,
            AssuranceLevel::S0,
            EntryPoint::Http,
        );
        ann.scopes = Some(BTreeSet::from([Permission::Read, Permission::Operate]));
        let may: Vec<_> = Permission::ALL.into_iter().filter(|deed| ann.may(*deed)).collect();
        assert_eq!(may, [Permission::Read, Permission::Operate]);
        assert_eq!(ann.check(Permission::Answer, "answer").unwrap_err().code, Code::NotAllowed);
        // A scope never grants a permission that the role does not have.
        let mut fixer = Actor::new(
            Role::Agent,
            "fixer",
            IdentityProof::Token,
            AssuranceLevel::S0,
            EntryPoint::Http,
        );
        fixer.scopes = Some(BTreeSet::from(Permission::ALL));
        assert!(!fixer.may(Permission::Answer) && fixer.may(Permission::Ask));
    }

    /// Every role claims to be every other, by the same name and by another.
    #[test]
    fn what_a_caller_may_claim_to_be() {
        let actor = |role, name: &str| {
            Actor::new(role, name, IdentityProof::Passphrase, AssuranceLevel::S2, EntryPoint::Http)
        };
        let mut page = String::new();
        for of in Role::ALL {
            let mut may = vec![];
            for claimed in Role::ALL {
                for name in ["ann", "eve"] {
                    let strong = IdentityProof::TwoPeople;
                    let claim =
                        Actor { proof: strong, level: AssuranceLevel::S4, ..actor(claimed, name) };
                    if let Ok(admitted) = resolve_actor(&actor(of, "ann"), &claim, None) {
                        assert!(
                            admitted.proof <= IdentityProof::Passphrase
                                && admitted.level == AssuranceLevel::S2
                        );
                        let (role, proof) = (claimed.as_str(), admitted.proof.as_str());
                        may.push(format!("{role} {name} by {proof}"));
                    }
                }
            }
            page += &format!("{:<9} {}\n", of.as_str(), may.join(", "));
        }
        insta::assert_snapshot!(page, @r"
        agent     agent ann by passphrase
        human     agent ann by none, agent eve by none, human ann by passphrase, service ann by none
        operator  operator ann by passphrase
        admin     admin ann by passphrase
        auditor   auditor ann by passphrase
        service   service ann by passphrase
        ");
    }

    /// The claim to be the agent of a run is accepted only from the launcher of that run.
    #[test]
    fn the_agent_of_a_run() {
        let run = Some(crate::testing::run_id(1));
        let of_run = |launcher: &str| Actor {
            run,
            launcher: Some(launcher.into()),
            ..Actor::new(
                Role::Agent,
                "fixer",
                IdentityProof::Token,
                AssuranceLevel::S2,
                EntryPoint::Worker,
            )
        };
        let worker = Actor::new(
            Role::Operator,
            "builder",
            IdentityProof::Token,
            AssuranceLevel::S2,
            EntryPoint::Http,
        );
        let claim = of_run("whoever");
        let admitted = resolve_actor(&worker, &claim, Some(&of_run("builder"))).unwrap();
        assert_eq!((admitted.role, admitted.launcher.as_deref()), (Role::Agent, Some("builder")));
        for (credential, launched) in [
            (worker.clone(), Some(of_run("another"))),
            (worker.clone(), None),
            (Actor { role: Role::Agent, ..worker.clone() }, Some(of_run("builder"))),
            (Actor { role: Role::Auditor, ..worker.clone() }, Some(of_run("builder"))),
        ] {
            assert!(
                resolve_actor(&credential, &claim, launched.as_ref()).is_err(),
                "{credential:?}"
            );
        }
    }
}
