//! `sayso approve`: approves a gate.

use super::shared::{self, GateArgs};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::time;
use sayso_core::text::sanitize_line;
use sayso_core::{Answer, Code, CommandExit, Timestamp};
use sayso_engine::{ApprovalScope, RuntimeEnv};

/// Say yes to a gate, or to the task that waits for one.
///
/// What it leads to depends on the kind: approved work closes its task, an approved checkpoint sends
/// the agent to the next phase. A question needs an answer: use `respond` or `choose`.
#[derive(clap::Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    which: GateArgs,
    /// Something to say with it.
    #[arg(value_name = "NOTE")]
    note: Vec<String>,
    /// Let the same again by the same agent happen without asking, for so long: 8h, 2d. Not for what is
    /// risky; `sayso policy remembered` lists it, `sayso policy forget` ends it.
    #[arg(long, value_name = "TIME")]
    remember: Option<String>,
    /// For whom it is remembered: task (the agent on this task), agent, or space (every agent).
    #[arg(long = "for", value_name = "SCOPE", default_value = "agent", requires = "remember")]
    scope: String,
}

pub(crate) fn run(args: ApproveArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let note = context.words(&args.note)?;
    let reason = Some(note).filter(|note| !note.trim().is_empty());
    let remember =
        args.remember.map(|time| RememberRequest::parse(&time, &args.scope)).transpose()?;
    let mut which = args.which;
    if let Some(remember) = &remember {
        // Resolved now: after the approval the task waits for no gate, and its ID would find none.
        which.id = remember.check(context, &which)?;
    }
    let answer = Answer { reason, ..Answer::approved() };
    let exit = shared::answer(context, &which, |_| Ok(answer.clone()))?;
    match remember {
        Some(remember) => remember.carry_out(context, &which),
        None => Ok(exit),
    }
}

/// The standing approval that an answer leaves.
struct RememberRequest {
    until: Timestamp,
    scope: ApprovalScope,
}

impl RememberRequest {
    fn parse(time: &str, scope: &str) -> Result<Self> {
        let until = time::moment(time, RuntimeEnv::real().now())?;
        let scope = match scope {
            "task" => ApprovalScope::Task,
            "agent" => ApprovalScope::Agent,
            "space" => ApprovalScope::Space,
            other => {
                let message = format!("{other:?} is not for whom a decision can be remembered");
                return Err(Failure::new(Code::BadValue, message).hint("take task, agent or space"));
            }
        };
        Ok(Self { until, scope })
    }

    /// Checks that a standing approval is possible, before anything is approved.
    fn check(&self, context: &CliContext<'_>, which: &GateArgs) -> Result<String> {
        let desk = context.desk()?;
        if self.until <= desk.now() {
            let message = "a decision is remembered until a time to come";
            return Err(Failure::new(Code::BadValue, message));
        }
        let gate = desk.find_gate(&which.id)?;
        desk.check_can_be_remembered(gate)?;
        Ok(gate.to_string())
    }

    fn carry_out(&self, context: &CliContext<'_>, which: &GateArgs) -> Result<CommandExit> {
        let (desk, actor) = context.open_as_person()?;
        let gate = desk.find_gate(&which.id)?;
        let remembered = desk.remember(&actor, gate, self.scope, self.until)?;
        let until = time::local(self.until);
        let request = sanitize_line(&remembered.request);
        context.out.remark(&format!("remembered until {until}: {request}"));
        Ok(CommandExit::Ok)
    }
}
