//! `sayso doctor`: checks the setup and its assurance level.

use crate::card;
use crate::config;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::{CliOutput, OutputStyle};
use crate::{audit_heads, identity};
use sayso_core::terminal::PresenceDoubt;
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, AssuranceLevel, Code, CommandExit, Permission};
use sayso_engine::{Desk, ManagedAgent, StoreLocation};
use serde::Serialize;
use std::os::unix::fs::PermissionsExt;

/// The maximum number of alerts fetched.
const ALERTS_MAX: usize = 100;

/// Check that everything is in order, and say honestly how safe it is.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Leave out the checks that read everything.
    #[arg(long)]
    quick: bool,
    /// Say that the clock of this machine is right, though nothing happened here for long. A person does this.
    #[arg(long)]
    accept_clock: bool,
}

/// The maximum number of notices fetched.
const NOTICES_MAX: usize = 1_000;

/// A due notice this old has no process that sends it.
const LATE_MICROS: i64 = 60_000_000;

/// The findings of the doctor.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Report")]
pub(crate) struct DoctorReport {
    /// True if all checks passed.
    healthy: bool,
    /// The checks, in order.
    checks: Vec<DoctorCheck>,
    /// The assurance level of verdicts here: S0 to S4.
    level: String,
    /// The levels, with the attacks that each stops and does not stop.
    levels: Vec<LevelDescription>,
}

/// A check and its result.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Check")]
pub(crate) struct DoctorCheck {
    /// The name of the check.
    name: String,
    /// ok, warning or failed.
    result: String,
    /// The finding, in words.
    pub(crate) seen: String,
    /// The next step, if there is one.
    pub(crate) hint: Option<String>,
    /// The code of the failure.
    code: Option<String>,
}

/// A level of assurance.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "LevelInWords")]
struct LevelDescription {
    /// The level: S0 to S4.
    level: String,
    /// The basis of the level.
    means: String,
    /// The attacks it does not stop.
    does_not_stop: String,
    /// True if it is the level at which verdicts are given now.
    here: bool,
}

pub(crate) fn run(args: DoctorArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    if args.accept_clock {
        return accept_clock(context);
    }
    let mut checks = vec![];
    let mut exit = CommandExit::Ok;
    let mut level = AssuranceLevel::S0;
    match context.desk_read_only() {
        Err(failure) => {
            exit = failure.code.exit();
            checks.push(DoctorCheck::failed("store", &failure.message, failure.hint, failure.code));
        }
        Ok(desk) => {
            level = desk.level();
            store_checks(context, &desk, &args, &mut checks)?;
            exit = worst(&checks).unwrap_or(exit);
        }
    }
    checks.push(person_check());
    let healthy = exit == CommandExit::Ok;
    let report =
        DoctorReport { healthy, checks, level: format!("{level:?}"), levels: levels(level) };
    print(context, &report);
    Ok(exit)
}

/// The exit code: a broken audit log takes precedence over every other failure.
fn worst(checks: &[DoctorCheck]) -> Option<CommandExit> {
    let all = || checks.iter().filter_map(DoctorCheck::exit);
    all().find(|exit| *exit == CommandExit::AuditBroken).or_else(|| all().next())
}

/// A person confirms the clock; from now on the newest entry of the audit log has the present time.
fn accept_clock(context: &CliContext<'_>) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = identity::person(context, &desk)?;
    let Some(local) = desk.local() else {
        let message = "the clock of a server is vouched for on its own machine";
        return Err(Failure::new(Code::BadValue, message)
            .hint("run it there, in the folder of the space: sayso doctor --accept-clock"));
    };
    local.accept_clock(&actor)?;
    context.out.remark("the clock of this machine counts from now on");
    Ok(CommandExit::Ok)
}

fn store_checks(
    context: &CliContext<'_>,
    desk: &Desk,
    args: &DoctorArgs,
    checks: &mut Vec<DoctorCheck>,
) -> Result<()> {
    checks.push(DoctorCheck::ok(
        "store",
        &format!("{} (space {})", desk.address(), desk.space_name()),
    ));
    if desk.is_deleted()? {
        let hint = "make a new one with another name: sayso init --name NAME";
        checks.push(DoctorCheck::warning(
            "space",
            "it was deleted; what happened in it is kept",
            hint,
        ));
    }
    checks.push(permissions(context, desk)?);
    let actor = identity::actor(desk)?;
    let role = actor.role.as_str();
    checks.push(DoctorCheck::ok(
        "you",
        &format!("{role} {}, proof: {}", actor.name, actor.proof.as_str()),
    ));
    if actor.role == sayso_core::Role::Human && !desk.has_passphrase(&actor.name)? {
        checks.push(DoctorCheck::warning(
            "passphrase",
            "none is set: anything at a terminal of yours can answer",
            "set one with: sayso unlock --set",
        ));
    }
    checks.push(agents(context)?);
    checks.extend(unheld(context, desk)?);
    checks.extend(super::connect::examine(context, args.quick)?);
    // A check that fails to run is one finding of several, and does not stop the others.
    let found = |name: &str, check: Result<Option<DoctorCheck>>| match check {
        Ok(check) => check,
        Err(Failure { code, message, hint }) => {
            Some(DoctorCheck::failed(name, &message, hint, code))
        }
    };
    checks.extend(found("runs", runs(desk).map(Some)));
    checks.extend(found("receipts", receipts(desk, &actor).map(Some)));
    checks.extend(found("spawned", spawned(context, desk)));
    checks.extend(found("notices", notices(context, desk, &actor)));
    checks.extend(trusted(context)?);
    if args.quick {
        return Ok(());
    }
    checks.push(file(desk));
    checks.push(audit(desk, &actor));
    Ok(())
}

/// Warns if the settings of the project name programs that are not run, since the file is not trusted.
fn trusted(context: &CliContext<'_>) -> Result<Option<DoctorCheck>> {
    let location = config::locate(&context.globals)?;
    let check = |untrusted: crate::trust::UntrustedSettings| {
        DoctorCheck::warning("trust", &sanitize_line(&untrusted.in_words()), crate::trust::HINT)
    };
    Ok(location.untrusted.map(check))
}

/// Checks which agents are installed, and that the default one is among them.
fn agents(context: &CliContext<'_>) -> Result<DoctorCheck> {
    let location = config::locate(&context.globals)?;
    let known = config::agents(&location.agents)?;
    let there = known.values().filter(|agent| crate::work::is_program(&agent.program));
    let there: Vec<_> = there.map(|agent| agent.name.as_str()).collect();
    let usual = location.work.agent.as_str();
    Ok(match (there.contains(&usual), there.is_empty()) {
        (true, _) => DoctorCheck::ok("agents", &format!("{}; {usual} works", there.join(", "))),
        (false, true) => {
            let all: Vec<_> = known.keys().map(String::as_str).collect();
            let seen = format!("none of {} is installed", all.join(", "));
            DoctorCheck::warning("agents", &seen, "install one to let it work with: sayso work")
        }
        (false, false) => {
            let seen = format!("{}, but not {usual}, which is to work", there.join(", "));
            DoctorCheck::warning("agents", &seen, "set work.agent in .sayso/config.yaml")
        }
    })
}

/// Reports the default agent if the policy's rules for tool calls cannot be enforced on it.
fn unheld(context: &CliContext<'_>, desk: &Desk) -> Result<Option<DoctorCheck>> {
    let location = config::locate(&context.globals)?;
    let own = config::own_hooks(&location.agents);
    let agents = config::agents(&location.agents)?;
    let Some(agent) = agents.get(&location.work.agent) else { return Ok(None) };
    let problem = crate::work::hooks::problem(desk, agent, &own)?;
    Ok(problem.map(|problem| {
        DoctorCheck::warning("tool rules", &problem.message, &problem.hint.unwrap_or_default())
    }))
}

/// Warns about runs whose lease has expired: their worker is gone.
fn runs(desk: &Desk) -> Result<DoctorCheck> {
    let (now, live) = (desk.now(), desk.live_runs()?);
    let left = live.iter().filter(|run| now >= run.lease_until).count();
    Ok(match (left, live.len()) {
        (0, 0) => DoctorCheck::ok("runs", "no agent is at work"),
        (0, n) => DoctorCheck::ok("runs", &format!("{n} at work")),
        (left, n) => {
            let seen = format!("{left} of {n} are not looked after: their worker is gone");
            DoctorCheck::warning("runs", &seen, "take them up again with: sayso work")
        }
    })
}

/// Warns about stalled questions and answers.
fn receipts(desk: &Desk, actor: &Actor) -> Result<DoctorCheck> {
    let alerts = desk.alerts(actor, ALERTS_MAX)?;
    Ok(match alerts.as_slice() {
        [] => DoctorCheck::ok("receipts", "no question and no answer hangs"),
        [one] => {
            DoctorCheck::warning("receipts", &sanitize_line(&one.what), &sanitize_line(&one.hint))
        }
        [first, ..] => {
            let many = if alerts.len() == ALERTS_MAX { "or more " } else { "" };
            let first = sanitize_line(&first.what);
            let seen = format!("{} {many}hang, the oldest: {first}", alerts.len());
            DoctorCheck::warning("receipts", &seen, "see all of them with: sayso inbox")
        }
    })
}

/// Checks that the agents spawned on this machine are alive.
fn spawned(context: &CliContext<'_>, desk: &Desk) -> Result<Option<DoctorCheck>> {
    let location = config::locate(&context.globals)?;
    let Ok(keeper) = crate::work::supervisor(context, &location) else { return Ok(None) };
    let members = desk.members()?;
    let alive = |member: &&ManagedAgent| keeper.is_alive(member.stationed.as_ref()?);
    let here: Vec<_> = members.iter().filter(|member| alive(member).is_some()).collect();
    let dead = here.iter().filter(|member| alive(member) == Some(false));
    let dead: Vec<_> = dead.map(|member| sanitize_line(&member.name)).collect();
    if here.is_empty() {
        return Ok(None);
    }
    Ok(Some(match dead.as_slice() {
        [] => DoctorCheck::ok("spawned", &format!("{} alive", here.len())),
        [first, ..] => {
            let seen = format!("not alive any more: {}", dead.join(", "));
            let hint = format!("start it anew with: sayso agent restart {first}");
            DoctorCheck::warning("spawned", &seen, &hint)
        }
    }))
}

/// Checks the channels of this machine, and the delivery of notices.
fn notices(context: &CliContext<'_>, desk: &Desk, actor: &Actor) -> Result<Option<DoctorCheck>> {
    let location = config::locate(&context.globals)?;
    if let Err(failure) = crate::notice_sending::channels(&location) {
        let hint = failure.hint.unwrap_or_default();
        return Ok(Some(DoctorCheck::warning("notices", &failure.message, &hint)));
    }
    if !actor.may(Permission::Read) {
        return Ok(None);
    }
    let under_way = desk.notices(actor, NOTICES_MAX)?;
    let failing = under_way.iter().filter(|notice| notice.error.is_some()).count();
    let now = desk.now();
    let is_late = |at: sayso_core::Timestamp| now > at.plus_micros(LATE_MICROS);
    let late = under_way.iter().filter(|notice| notice.due_at.is_some_and(is_late)).count();
    let names: Vec<_> = location.channels.iter().map(|settings| settings.name.as_str()).collect();
    Ok(match (failing, late, names.as_slice()) {
        (0, 0, []) => None,
        (0, 0, names) => Some(DoctorCheck::ok("notices", &format!("sent by {}", names.join(", ")))),
        (0, late, _) => {
            let seen = format!("{late} wait for somebody to send them");
            let hint =
                "run `sayso work`, or `sayso notices send --watch`, where the channels are set";
            Some(DoctorCheck::warning("notices", &seen, hint))
        }
        (failing, ..) => {
            let seen = format!("{failing} could not be sent and will be tried again");
            Some(DoctorCheck::warning("notices", &seen, "see which, and why: sayso notices"))
        }
    })
}

/// Warns if other users of the machine can read the questions and answers.
fn permissions(context: &CliContext<'_>, desk: &Desk) -> Result<DoctorCheck> {
    let path = match desk.place() {
        Some(StoreLocation::Sqlite(path)) => path,
        Some(_) => return Ok(DoctorCheck::ok("permissions", "the database server keeps them")),
        None => return Ok(DoctorCheck::ok("permissions", "the server keeps them")),
    };
    let folder = config::locate(&context.globals)?.folder;
    for path in folder.iter().chain([path]) {
        let mode = std::fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 && path.is_file() && folder.is_none()
            || mode & 0o077 != 0 && path.is_dir()
        {
            let seen = format!("{} is open to others ({:o})", path.display(), mode & 0o777);
            let hint = format!("chmod go-rwx {}", path.display());
            return Ok(DoctorCheck::warning("permissions", &seen, &hint));
        }
    }
    Ok(DoctorCheck::ok("permissions", "only you can read it"))
}

fn file(desk: &Desk) -> DoctorCheck {
    match desk.check_file() {
        Ok(problems) if problems.is_empty() => DoctorCheck::ok("database", "in order"),
        Ok(problems) => {
            let hint = "leave the file as it is and restore a backup beside it".to_owned();
            DoctorCheck::failed("database", &problems.join("; "), Some(hint), Code::BrokenStore)
        }
        Err(error) => {
            let hint = error.hint().map(Into::into);
            DoctorCheck::failed("database", &error.to_string(), hint, error.code())
        }
    }
}

fn audit(desk: &Desk, actor: &Actor) -> DoctorCheck {
    if !actor.may_verify() {
        return DoctorCheck::warning(
            "audit",
            "not checked: your role may not read it",
            "run it as a person",
        );
    }
    match desk.verify_audit(actor, |_| {}) {
        Ok(report) => match audit_heads::check(desk, actor) {
            Ok(()) => DoctorCheck::ok("audit", &format!("{} entries hold", report.entries)),
            Err(failure) => {
                DoctorCheck::failed("audit", &failure.message, failure.hint, failure.code)
            }
        },
        Err(error) => {
            let hint = error.hint().map(Into::into);
            DoctorCheck::failed("audit", &error.to_string(), hint, error.code())
        }
    }
}

/// Checks that a verdict could be given from here.
fn person_check() -> DoctorCheck {
    if let Ok(Some(sign)) = identity::agent_evidence() {
        return DoctorCheck::warning(
            "verdicts",
            &format!("refused here: an agent ({}) is at work, seen by {}", sign.agent, sign.seen),
            "answer at a terminal of your own",
        );
    }
    match (identity::has_terminal(), identity::person_doubt()) {
        (_, Some(doubt @ PresenceDoubt::Blind(_))) => DoctorCheck::warning(
            "verdicts",
            &format!("agents cannot be seen here, so a passphrase or a passkey is needed: {doubt}"),
            "answer where processes can be seen, or set a passphrase there: sayso unlock --set",
        ),
        (false, _) => DoctorCheck::warning(
            "verdicts",
            "there is no terminal here: only a person's token counts",
            "answer at a terminal",
        ),
        (true, Some(doubt)) => DoctorCheck::warning(
            "verdicts",
            &format!("a passphrase or a passkey is needed here: {doubt}"),
            "answer in a terminal emulator, over SSH or at a console, or set a passphrase there: sayso unlock --set",
        ),
        (true, None) => DoctorCheck::ok("verdicts", "no agent is seen at this terminal"),
    }
}

fn levels(here: AssuranceLevel) -> Vec<LevelDescription> {
    let rows = [
        (
            AssuranceLevel::S0,
            "agents and people share one user of this machine, or the secret of the database",
            "an agent that hides its marks, types into your terminal or writes to the database; it is seen afterwards in the audit, unless it rewrites that too",
        ),
        (
            AssuranceLevel::S1,
            "as S0, and a presence key has to be touched for a verdict (not available yet)",
            "an agent that writes to the database past sayso",
        ),
        (
            AssuranceLevel::S2,
            "the store is under another user or host, and agents hold only their own tokens",
            "somebody who takes over that host, or a person's unlocked terminal",
        ),
        (
            AssuranceLevel::S3,
            "verdicts are signed on another device (not available yet)",
            "a person who signs without reading",
        ),
        (
            AssuranceLevel::S4,
            "two people have to agree, and others witness the log (not available yet)",
            "two people who agree to do wrong",
        ),
    ];
    let row = |(level, means, does_not_stop): (AssuranceLevel, &str, &str)| LevelDescription {
        level: format!("{level:?}"),
        means: means.into(),
        does_not_stop: does_not_stop.into(),
        here: level == here,
    };
    rows.into_iter().map(row).collect()
}

fn print(context: &CliContext<'_>, report: &DoctorReport) {
    let out = context.out;
    if out.json {
        out.json(report);
        return;
    }
    print_checks(out, &report.checks);
    out.line("");
    out.line(&format!(
        "{} {}",
        out.paint(OutputStyle::Strong, "Level of assurance:"),
        report.level
    ));
    for level in report.levels.iter().take(3) {
        let arrow = if level.here { out.icon("▸", ">") } else { " " };
        let means = format!("{}: {}", level.level, level.means);
        for (at, line) in card::indented(out, &means, "      ").iter().enumerate() {
            let line = line.trim_start();
            out.line(&if at == 0 { format!("  {arrow} {line}") } else { format!("      {line}") });
        }
        let rest = format!("does not stop {}", level.does_not_stop);
        for line in card::indented(out, &rest, "      ") {
            out.line(&out.paint(OutputStyle::Faint, &line));
        }
    }
}

/// Prints the checks, each with a mark and a hint.
pub(crate) fn print_checks(out: &CliOutput, checks: &[DoctorCheck]) {
    for check in checks {
        let mark = match check.result.as_str() {
            "ok" => out.paint(OutputStyle::Good, out.icon("✓", "ok  ")),
            "warning" => out.paint(OutputStyle::Warn, out.icon("!", "warn")),
            _ => out.paint(OutputStyle::Bad, out.icon("✗", "FAIL")),
        };
        out.line(&format!("{mark} {}: {}", check.name, check.seen));
        if let Some(hint) = &check.hint {
            out.line(&out.paint(OutputStyle::Faint, &format!("    {hint}")));
        }
    }
}

impl DoctorCheck {
    pub(crate) fn ok(name: &str, seen: &str) -> Self {
        Self::new(name, "ok", seen, None, None)
    }

    pub(crate) fn warning(name: &str, seen: &str, hint: &str) -> Self {
        Self::new(name, "warning", seen, Some(hint.into()), None)
    }

    pub(crate) fn failed(name: &str, seen: &str, hint: Option<String>, code: Code) -> Self {
        Self::new(name, "failed", seen, hint, Some(code.as_str().into()))
    }

    fn new(
        name: &str,
        result: &str,
        seen: &str,
        hint: Option<String>,
        code: Option<String>,
    ) -> Self {
        Self { name: name.into(), result: result.into(), seen: seen.into(), hint, code }
    }

    pub(crate) fn exit(&self) -> Option<CommandExit> {
        let code = self.code.as_deref()?;
        Code::ALL.iter().find(|c| c.as_str() == code).map(|c| c.exit())
    }
}
