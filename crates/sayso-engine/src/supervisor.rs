//! Supervises managed agents on a machine: carries out the queued orders to start, restart and stop them.
//!
//! An order is claimed under a lease, executed under its mark, and settled together with its outcome. If the process
//! dies in between, another one claims the order again, and the mark prevents a second start.

use crate::lifecycle::{
    self, LifecycleOrder, PendingOrder, RunningAgent, notice_id, past_participle,
};
use crate::{AgentSpec, Desk, Error, LocalDesk, RemoteDesk, Result, credentials};
use sayso_agents::process_tree::MARK;
use sayso_agents::{AgentAdapter, AgentSessions, SessionError, SessionSpec, allowed};
use sayso_core::gate::LifecycleAction;
use sayso_core::{
    Actor, Code, EntryPoint, GateId, IdentityProof, Permission, Refusal, Role, TokenId,
};
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The lease of a claimed order. Exceeding it does no harm: two starts under one mark on one machine lead to one
/// agent.
const LEASE_MICROS: i64 = 10_000_000;

/// The maximum number of attempts at an order.
const TRIES_MAX: u32 = 3;

/// The grace period of an agent that is being stopped.
const GRACE: Duration = Duration::from_secs(5);

/// The poll interval for an order that another process carries out.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The environment in which a process supervises managed agents on its machine.
#[derive(Debug, Clone)]
pub struct AgentSupervisor {
    pub host: String,
    /// The folder for the data by which agents are found again.
    pub home: PathBuf,
    /// The folder of the space: the working folder of agents, and the base of their relative folders.
    pub folder: PathBuf,
    /// The folder for the agents' output.
    pub logs: PathBuf,
    /// The environment of the process, of which agents get the variables they may have.
    pub environment: Vec<(String, String)>,
    /// Patterns of additional variable names that agents may have.
    pub allowed_variables: Vec<String>,
    /// Variables that all agents get.
    pub variables: Vec<(String, String)>,
    /// The agent that this process belongs to, if it does: it carries out that agent's orders and no others, since
    /// its environment must not pass to other agents.
    pub asker: Option<String>,
}

/// The outcome of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderOutcome {
    pub id: GateId,
    /// True if the order was carried out. One that was not may be retried.
    pub done: bool,
    /// The result or the reason for the failure, in words.
    pub what: String,
}

/// The reason for which an order was not carried out.
enum OrderError {
    /// The order has become impossible.
    Never(String),
    /// A failure that a retry may solve.
    Now(String),
    /// The previous agent was stopped, but the new one failed to start; a retry may solve it.
    Halfway(String),
}

impl Desk {
    /// Carries out the orders for this machine that no other process holds.
    pub fn carry_out(&self, keeper: &AgentSupervisor) -> Result<Vec<OrderOutcome>> {
        // With a remote desk, only a process that may run workers supervises agents.
        let is_ours =
            |desk: &RemoteDesk| keeper.asker.is_none() && desk.holder().may(Permission::Operate);
        if !self.remote().is_none_or(is_ours) {
            return Ok(vec![]);
        }
        self.carry_nudges(keeper)?;
        let mut carried = vec![];
        for pending in self.orders()? {
            if self.is_for(keeper, &pending)? && self.take_order(&keeper.host, pending.order.id)? {
                carried.extend(self.carry_out_one(keeper, &pending)?);
            }
        }
        Ok(carried)
    }

    /// Returns the log of an agent's last run on this machine.
    pub fn log_of(&self, actor: &Actor, keeper: &AgentSupervisor, name: &str) -> Result<PathBuf> {
        self.check(actor, Permission::Read, "read what other agents wrote")?;
        let log = match self.member(name)?.stationed {
            Some(at) => Some(keeper.here(name, at)?.log),
            None => keeper.last_log(name),
        };
        let none = || format!("{name} has not run on {} yet", keeper.host);
        Ok(log.ok_or_else(|| Refusal::new(Code::NotFound, none()))?)
    }

    /// Returns the content of an agent's terminal. Untrusted text: it must be sanitized before it is shown.
    pub fn screen(&self, actor: &Actor, keeper: &AgentSupervisor, name: &str) -> Result<String> {
        self.check(actor, Permission::Read, "look at other agents")?;
        let at = keeper.here(name, self.running(name)?)?;
        Ok(keeper.stations().capture(&at.place).map_err(|error| out_of_reach(name, &error))?)
    }

    /// Returns the command by which a person attaches to an agent's terminal; empty for an agent without one.
    pub fn attach(
        &self,
        actor: &Actor,
        keeper: &AgentSupervisor,
        name: &str,
    ) -> Result<Vec<String>> {
        self.check(actor, Permission::Answer, "type to other agents")?;
        let at = keeper.here(name, self.running(name)?)?;
        Ok(at.place.attach().unwrap_or_default())
    }

    /// Returns an agent that runs on this machine, with its specification.
    pub(crate) fn local_agent(
        &self,
        keeper: &AgentSupervisor,
        name: &str,
    ) -> Result<(RunningAgent, AgentSpec)> {
        let at = keeper.here(name, self.running(name)?)?;
        Ok((at, self.member(name)?.spec))
    }

    fn running(&self, name: &str) -> Result<RunningAgent> {
        let none = || Refusal::new(Code::WrongState, format!("{name} does not run"));
        Ok(self.member(name)?.stationed.ok_or_else(none)?)
    }

    /// Waits until an order is carried out, by this process or another, and returns the outcome if this process did.
    pub fn wait_for_order(
        &self,
        keeper: &AgentSupervisor,
        id: GateId,
        timeout: Option<Duration>,
    ) -> Result<Option<OrderOutcome>> {
        let began = Instant::now();
        let mut last = None;
        // Subscribe first, look second: a commit in between wakes us.
        let mut follower = self.follow()?;
        loop {
            last = self.carry_out(keeper)?.into_iter().find(|carried| carried.id == id).or(last);
            if self.pending(id)?.is_none() {
                return Ok(last);
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(last);
            }
            follower.wait(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)))?;
        }
    }

    /// True if this process may carry out the order now.
    fn is_for(&self, keeper: &AgentSupervisor, pending: &PendingOrder) -> Result<bool> {
        let LifecycleOrder { host, asker, .. } = &pending.order;
        let is_here = host.as_ref().is_none_or(|host| *host == keeper.host);
        let is_ours = keeper.asker.is_none() || keeper.asker == *asker;
        if !is_here || !is_ours || pending.due_at > self.now() {
            return Ok(false);
        }
        // A process that would end together with the agent cannot restart it.
        let agent = self.stationed(&pending.order.agent)?;
        Ok(agent.is_none_or(|agent| !keeper.is_part_of(agent.mark)))
    }

    fn carry_out_one(
        &self,
        keeper: &AgentSupervisor,
        pending: &PendingOrder,
    ) -> Result<Option<OrderOutcome>> {
        let order = &pending.order;
        let before = self.stationed(&order.agent)?;
        // The order was carried out already: the process that held it before was only slow.
        if before.as_ref().is_some_and(|agent| agent.mark == order.id) {
            return Ok(None);
        }
        let outcome = self.act(keeper, order, before.as_ref())?;
        let attempts = pending.attempts + 1;
        if let Err(OrderError::Now(why) | OrderError::Halfway(why)) = &outcome
            && attempts < TRIES_MAX
        {
            self.put_off_order(order.id, attempts, why)?;
            let what =
                format!("{} could not be {}: {why}", order.agent, past_participle(order.action));
            return Ok(Some(OrderOutcome { id: order.id, done: false, what }));
        }
        self.settle(keeper, order, before, outcome)
    }

    fn act(
        &self,
        keeper: &AgentSupervisor,
        order: &LifecycleOrder,
        before: Option<&RunningAgent>,
    ) -> Result<std::result::Result<Option<RunningAgent>, OrderError>> {
        if let Err(Error::Refused(refusal)) =
            lifecycle::check_is_possible(order.action, &order.agent, before)
        {
            return Ok(Err(OrderError::Never(refusal.message)));
        }
        if let Some(before) = before
            && let Err(why) = keeper.stop(before.mark)
        {
            return Ok(Err(why));
        }
        match order.action {
            LifecycleAction::Stop => Ok(Ok(None)),
            LifecycleAction::Spawn => Ok(self.start(keeper, order)?.map(Some)),
            LifecycleAction::Restart => {
                Ok(self.start(keeper, order)?.map(Some).map_err(OrderError::halfway))
            }
        }
    }

    /// Starts the agent, or finds the one that this order started.
    fn start(
        &self,
        keeper: &AgentSupervisor,
        order: &LifecycleOrder,
    ) -> Result<std::result::Result<RunningAgent, OrderError>> {
        let secret = match keeper.secret(order.id, &self.new_agent_secret()) {
            Ok(secret) => secret,
            Err(error) => return Ok(Err(OrderError::Now(error.to_string()))),
        };
        let token = match self.admit_agent(order, &secret) {
            Ok(token) => token,
            Err(Error::Refused(refusal)) => return Ok(Err(OrderError::Never(refusal.message))),
            Err(error) => return Err(error),
        };
        let log = keeper.log(&order.agent, order.id);
        let place = keeper.spawn(order, &secret, &log);
        Ok(place.map_err(unable).map(|place| RunningAgent {
            mark: order.id,
            host: keeper.host.clone(),
            place,
            log,
            token,
            since: self.now(),
        }))
    }

    /// Records the outcome of an order, once.
    fn settle(
        &self,
        keeper: &AgentSupervisor,
        order: &LifecycleOrder,
        before: Option<RunningAgent>,
        outcome: std::result::Result<Option<RunningAgent>, OrderError>,
    ) -> Result<Option<OrderOutcome>> {
        let carried = in_words(keeper, order, &outcome);
        let secret = std::fs::read_to_string(keeper.secret_file(order.id)).ok();
        let settled = SettledOrder {
            order: order.clone(),
            done: carried.done,
            what: carried.what.clone(),
            is_changed: carried.done || matches!(outcome, Err(OrderError::Halfway(_))),
            before,
            after: outcome.unwrap_or_default(),
            secret: secret.clone().filter(|_| !carried.done),
        };
        let is_noted = self.settle_order(&settled)?;
        match (is_noted, carried.done) {
            (true, true) => {}
            // An agent of a failed order must not run.
            (true, false) => drop(keeper.stop(order.id)),
            (false, _) => self.undo(keeper, order, secret.as_deref())?,
        }
        keeper.forget_secret(order.id);
        Ok(is_noted.then_some(carried))
    }

    /// Another process settled the order: keeps the agent if that recorded the same, stops it if not.
    fn undo(
        &self,
        keeper: &AgentSupervisor,
        order: &LifecycleOrder,
        secret: Option<&str>,
    ) -> Result<()> {
        let is_noted = |agent: RunningAgent| agent.mark == order.id;
        if self.stationed(&order.agent)?.is_some_and(is_noted) {
            return Ok(());
        }
        let _ = keeper.stop(order.id);
        secret.map_or(Ok(()), |secret| self.dismiss_agent(secret))
    }
}

/// The outcome of an order, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledOrder {
    pub order: LifecycleOrder,
    /// True if the order was carried out.
    pub done: bool,
    /// The result or the reason for the failure, in words.
    pub what: String,
    /// True if another agent than before runs now, or none.
    pub is_changed: bool,
    /// The agent that ran before.
    pub before: Option<RunningAgent>,
    /// The agent that runs afterwards.
    pub after: Option<RunningAgent>,
    /// The credential of an agent that was not started.
    pub secret: Option<String>,
}

impl LocalDesk {
    /// Claims an order for a machine under a lease, if no other process holds it.
    pub fn take_order(&self, host: &str, id: GateId) -> Result<bool> {
        let (id, channel) = (notice_id(id), lifecycle::channel(Some(host)));
        let now = self.now();
        let until = now.plus_micros(LEASE_MICROS);
        Ok(self.store.write(move |write| write.claim_notice(&id, &channel, now, until))?)
    }

    /// Records a failed attempt at an order; it is retried after a back-off.
    pub fn put_off_order(&self, id: GateId, attempts: u32, why: &str) -> Result<()> {
        self.put_off_notice(&notice_id(id), attempts, why)
    }

    /// Issues a credential to an agent that is about to start, or finds the one that was issued before.
    pub fn admit_agent(&self, order: &LifecycleOrder, secret: &str) -> Result<TokenId> {
        let (id, order, secret) = (self.new_token_id(), order.clone(), secret.to_owned());
        self.submit(&self.keeper(), move |batch| {
            // The approved order counts, not the copy that the caller passed.
            let Some(order) = lifecycle::order(batch.write, order.id)? else {
                let message = format!("order {} is not to be carried out any more", order.id);
                return Err(Refusal::new(Code::WrongState, message).into());
            };
            credentials::add_agent_token(batch, id, &order.agent, &order.launcher, &secret)
        })
    }

    /// Records the outcome of an order. Returns false if it was recorded before.
    pub fn settle_order(&self, settled: &SettledOrder) -> Result<bool> {
        let settled = settled.clone();
        self.submit(&self.keeper(), move |batch| {
            let SettledOrder { done, what, before, after, is_changed, .. } = &settled;
            let Some(order) = lifecycle::order(batch.write, settled.order.id)? else {
                return Ok(false);
            };
            let LifecycleOrder { id, action, agent, asker, .. } = &order;
            let event = if *done { past_participle(*action) } else { "failed" };
            batch.set_audit_subject(&format!("agent.{event}"), agent, None, what);
            if *is_changed {
                batch.set(&[lifecycle::station(agent, after.as_ref())])?;
            }
            let ended = before.as_ref().filter(|_| *is_changed).map(|before| before.token);
            let failed = match &settled.secret {
                Some(secret) => credentials::token_by_secret(batch.write, secret)?.map(|t| t.id),
                None => None,
            };
            lifecycle::note(batch, *id, asker.as_deref(), *done, what)?;
            for token in ended.into_iter().chain(failed) {
                batch.revoke_token_of(token)?;
            }
            batch.write.settle_notice(&notice_id(*id), batch.at)?;
            Ok(true)
        })
    }

    /// Revokes the credential of an agent that was not started.
    pub fn dismiss_agent(&self, secret: &str) -> Result<()> {
        let secret = secret.to_owned();
        self.submit(&self.keeper(), move |batch| {
            match credentials::token_by_secret(batch.write, &secret)? {
                Some(token) => batch.revoke_token(&token),
                None => Ok(()),
            }
        })
    }

    /// Returns the machine and session in which an agent runs.
    pub fn stationed(&self, agent: &str) -> Result<Option<RunningAgent>> {
        self.read(|read| lifecycle::stationed(read, self.space, agent))
    }

    /// Records that a line was typed to an agent.
    pub fn note_nudge(&self, actor: &Actor, name: &str, text: &str) -> Result<()> {
        let (name, text) = (name.to_owned(), text.to_owned());
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Track, "type to agents")?;
            batch.set_audit_subject("agent.nudged", &name, None, &text);
            Ok(())
        })
    }

    /// Returns the actor that carries out orders in the audit log.
    pub(crate) fn keeper(&self) -> Actor {
        Actor::new(Role::Service, "keeper", IdentityProof::None, self.level(), EntryPoint::Worker)
    }
}

impl AgentSupervisor {
    /// Returns the host name of this machine.
    pub fn machine() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// Returns the agent sessions of this machine.
    pub fn stations(&self) -> AgentSessions {
        AgentSessions::new(&self.home, self.variable("PATH").unwrap_or_default())
    }

    fn log(&self, agent: &str, id: GateId) -> PathBuf {
        self.logs.join(format!("{}{id}.log", log_start(agent)))
    }

    /// Returns the newest log of an agent: ids are in order of time.
    fn last_log(&self, agent: &str) -> Option<PathBuf> {
        let start = log_start(agent);
        let names = std::fs::read_dir(&self.logs).ok()?.flatten().map(|entry| entry.file_name());
        let is_its = |name: &String| {
            let id = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".log"));
            id.is_some_and(|id| id.parse::<GateId>().is_ok())
        };
        let last = names.filter_map(|name| name.into_string().ok()).filter(is_its).max()?;
        Some(self.logs.join(last))
    }

    /// Returns the running agent if it is on this machine, or refuses.
    fn here(&self, agent: &str, at: RunningAgent) -> Result<RunningAgent> {
        if at.host == self.host {
            return Ok(at);
        }
        let message = format!("{agent} runs on {}, and this is {}", at.host, self.host);
        Err(Refusal::new(Code::WrongState, message).hint("look at it there").into())
    }

    /// True if the agent runs; none if it is on another machine.
    pub fn is_alive(&self, agent: &RunningAgent) -> Option<bool> {
        (agent.host == self.host).then(|| self.stations().is_alive(&agent.place).unwrap_or(false))
    }

    fn spawn(
        &self,
        order: &LifecycleOrder,
        secret: &str,
        log: &Path,
    ) -> std::result::Result<sayso_agents::SessionLocation, SessionError> {
        let spec = &order.spec;
        let folder = self.folder.join(spec.folder.as_deref().unwrap_or_default());
        let station = SessionSpec {
            name: &order.agent,
            program: &spec.program,
            args: &spec.args,
            folder: &folder,
            variables: &self.variables_of(&spec.program, secret),
            mark: &order.id.to_string(),
            log,
        };
        self.stations().spawn(spec.backend, &station)
    }

    fn stop(&self, mark: GateId) -> std::result::Result<(), OrderError> {
        self.stations().stop(&mark.to_string(), GRACE).map_err(unable)
    }

    /// Returns the environment of an agent: the variables of ours that it may have, and its own credential.
    fn variables_of(&self, program: &str, secret: &str) -> Vec<(String, String)> {
        let name = Path::new(program).file_name().unwrap_or_default();
        let known = AgentAdapter::ALL.into_iter().find(|adapter| name == adapter.program());
        let adapter = known.unwrap_or(AgentAdapter::Command);
        let may = |name: &str| allowed(name, adapter, &self.allowed_variables);
        let ours = self.environment.iter().filter(|(name, _)| may(name)).cloned();
        let own = [("SAYSO_TOKEN".to_owned(), secret.to_owned())];
        ours.chain(self.variables.iter().cloned()).chain(own).collect()
    }

    /// Returns the secret of the agent of an order. It is kept until the agent is known to run: a process that
    /// resumes the order after a crash must not issue another one.
    fn secret(&self, id: GateId, new: &str) -> io::Result<String> {
        for folder in [&self.home, &self.logs] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = self.secret_file(id);
        let made = self.home.join(format!("{id}.{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut draft = options.write(true).create(true).truncate(true).mode(0o600).open(&made)?;
        draft.write_all(new.as_bytes())?;
        // Created atomically, and the first one stays.
        let linked = std::fs::hard_link(&made, &file);
        std::fs::remove_file(&made)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => std::fs::read_to_string(&file),
        }
    }

    fn secret_file(&self, id: GateId) -> PathBuf {
        self.home.join(format!("{id}.token"))
    }

    fn forget_secret(&self, id: GateId) {
        // There may be no file.
        let _ = std::fs::remove_file(self.secret_file(id));
    }

    /// True if this process belongs to the agent of this mark.
    fn is_part_of(&self, mark: GateId) -> bool {
        self.variable(MARK) == Some(&mark.to_string())
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl OrderError {
    fn halfway(self) -> Self {
        match self {
            OrderError::Now(why) => OrderError::Halfway(why),
            other => other,
        }
    }
}

fn in_words(
    keeper: &AgentSupervisor,
    order: &LifecycleOrder,
    outcome: &std::result::Result<Option<RunningAgent>, OrderError>,
) -> OrderOutcome {
    let LifecycleOrder { id, action, agent, .. } = order;
    let (done, what) = match outcome {
        Ok(_) => (true, format!("{agent} was {} on {}", past_participle(*action), keeper.host)),
        Err(OrderError::Never(why)) => {
            (false, format!("{agent} was not {}: {why}", past_participle(*action)))
        }
        Err(OrderError::Now(why)) => (
            false,
            format!("{agent} was not {}, tried {TRIES_MAX} times: {why}", past_participle(*action)),
        ),
        Err(OrderError::Halfway(why)) => {
            (false, format!("{agent} was stopped, but not started, tried {TRIES_MAX} times: {why}"))
        }
    };
    OrderOutcome { id: *id, done, what }
}

fn log_start(agent: &str) -> String {
    format!("{}-", agent.replace('/', "-"))
}

pub(crate) fn out_of_reach(name: &str, error: &SessionError) -> Refusal {
    Refusal::new(Code::WrongState, format!("{name} cannot be reached: {error}"))
}

fn unable(error: SessionError) -> OrderError {
    OrderError::Now(error.to_string())
}
