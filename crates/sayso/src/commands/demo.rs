//! `sayso demo`: three scripted agents in a temporary space.

use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::identity;
use crate::output::OutputStyle;
use crate::work::gate_prompt::GatePrompter;
use crate::work::{self, ProgressView};
use sayso_core::gate::Gate;
use sayso_core::{
    Actor, Answer, AnswerShape, AskThreshold, AssuranceLevel, Code, CommandExit, EntryPoint,
    GateKind, IdentityProof, Role,
};
use sayso_engine::agents::{AgentAdapter, AgentConfig};
use sayso_engine::worker::{LandingPolicy, WorkBudget, WorkScope, WorkerConfig, holder};
use sayso_engine::worktree::GitRepository;
use sayso_engine::{Desk, GateFilter, LocalDesk, NewTask, RuntimeEnv, StoreLocation, TaskFilter};
use sayso_server::http;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The script of the agents.
const SCRIPT: &str = include_str!("demo/script.yaml");

/// The space, and where it is kept below the project.
const SPACE: &str = "demo";
const DATABASE: &str = ".sayso/sayso.db";

/// The tasks: title, and the sign-off they require.
const TASKS: [(&str, Option<GateKind>); 3] = [
    ("Greet people by their name", Some(GateKind::Approval)),
    ("Keep sessions over a restart", None),
    ("Name the release", None),
];

/// See it all in a minute, in a space that is thrown away.
///
/// Three scripted agents work in a temporary repository. One asks for a sign-off and shows its diff,
/// one lets you choose, one has a question. You answer here or in your browser; each goes on with what you
/// said. No account, nothing from the network, and nothing is left behind.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Play the person, too; that is the default without a terminal.
    #[arg(long)]
    auto: bool,
    /// Keep the temporary folder, and say where it is.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: DemoArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    let args = DemoArgs { auto: args.auto || is_played(context), ..args };
    let folder = tempfile::Builder::new().prefix("sayso-demo-").tempdir()?;
    let project = folder.path().join("project");
    prepare(&project)?;
    let place = StoreLocation::Sqlite(project.join(DATABASE));
    let founder = identity::local(AssuranceLevel::S0);
    let (desk, _) = Desk::create(place, SPACE, &founder, RuntimeEnv::real())?;
    for (title, requires) in TASKS {
        desk.create_task(&founder, task(&desk, title, requires))?;
    }
    out.line("Three agents work in a temporary repository. What matters waits for you.\n");
    let person = person(&args, &desk)?;
    if !args.auto {
        let page = pages(&project, &person)?;
        out.line(&format!(
            "Answer here, or in your browser; whichever is first counts:\n  {page}\n"
        ));
    }
    play(&args, context, &desk, &person, &project)?;
    tell(context, &desk, &person, &project)?;
    if args.keep {
        out.line(&format!("\nit is all in {}", folder.keep().display()));
    }
    Ok(CommandExit::Ok)
}

/// Serves the pages beside the terminal for as long as the demo runs. The address contains an invitation code that is
/// valid once.
fn pages(project: &Path, person: &Actor) -> Result<String> {
    let place = StoreLocation::Sqlite(project.join(DATABASE));
    let desk = LocalDesk::open_shared(place, SPACE, RuntimeEnv::real())?;
    let entry = desk.give_entry(person)?;
    let logs = project.join(".sayso/logs");
    let setup = http::ServerSetup {
        desk,
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        hosts: vec![],
        tls: None,
        version: env!("CARGO_PKG_VERSION"),
        telling: http::NotificationSetup::default(),
        traces: None,
        machine: http::AgentInspector {
            output: Arc::new(move |run| super::logs::end_of_log(&logs, run, AgentAdapter::Command)),
            // A demo has no long-running agents.
            is_alive: Arc::new(|_| None),
        },
        // One browser, and those to whom it is shown.
        connections_max: 256,
    };
    let listening = http::listen(setup)?;
    let address = listening.url().replace("127.0.0.1", "localhost");
    // It ends with the process; every change is in the store by then.
    std::thread::spawn(move || listening.serve());
    Ok(format!("{address}/login#space={SPACE}&code={}", entry.code))
}

/// True if the person is played by the demo, since no person can type here. Prints the reason.
fn is_played(context: &CliContext<'_>) -> bool {
    let why = match identity::agent_evidence() {
        Ok(Some(sign)) => format!("an agent ({}) is at work here", sign.agent),
        _ if context.globals.no_input => "nothing may be asked".into(),
        _ if !identity::has_terminal() => "there is no terminal here".into(),
        // Answers played there are no person's.
        Ok(None) | Err(_) => return false,
    };
    context.out.remark(&format!("{why}, so the person is played, too (--auto)"));
    true
}

fn play(
    args: &DemoArgs,
    context: &CliContext<'_>,
    desk: &Desk,
    person: &Actor,
    project: &Path,
) -> Result<()> {
    let stop = work::stop_flag()?;
    let view = ProgressView::new(context.out);
    let tasks = desk.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() })?.items;
    let tasks = tasks.iter().map(|row| row.task.id).collect();
    let setup = setup(desk, project, WorkScope { tasks, watch: true, ..WorkScope::default() })?;
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let worked = work::work(desk, setup, &view, &stop).map(drop);
            is_done.store(true, Ordering::SeqCst);
            worked
        });
        let done = || is_done.load(Ordering::SeqCst);
        let attended = if args.auto {
            answer_all(context, desk, person, &view, &done)
        } else {
            let (view, stop) = (&view, &*stop);
            let insists = true;
            GatePrompter { context, desk, person, view, stop, insists }.attend(&|_| true, &done)
        };
        stop.store(true, Ordering::SeqCst);
        let worked = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        worked.and(attended)
    })
}

/// The person who answers: the user, or a played one. It is a person of this space alone.
fn person(args: &DemoArgs, desk: &Desk) -> Result<Actor> {
    if !args.auto {
        return Ok(identity::user_at_terminal(desk)?.0);
    }
    // The space is temporary, and so are the answers in it.
    let (proof, level) = (IdentityProof::Token, desk.level());
    Ok(Actor::new(Role::Human, "demo-person", proof, level, EntryPoint::Cli))
}

/// Answers every gate in place of the person.
fn answer_all(
    context: &CliContext<'_>,
    desk: &Desk,
    person: &Actor,
    view: &ProgressView<'_>,
    is_done: &dyn Fn() -> bool,
) -> Result<()> {
    let out = context.out;
    let mut rejected = false;
    while !is_done() {
        let filter = GateFilter { limit: 10, ..GateFilter::default() };
        let waiting = desk.gates(person, filter)?.items.into_iter().next();
        let Some(gate) = waiting else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        view.hold(true);
        out.line(&format!("\n{}\n", card::gate_question(out, &gate, desk.now())));
        let answer = played(&gate, &mut rejected);
        let answered = desk.answer(person, gate.opened.id, answer, gate.digest.as_str());
        if let Ok(gate) = &answered {
            out.line(&format!(
                "{} gate {} {}\n",
                out.icon("✓", "ok:"),
                gate.handle(),
                card::ending_in_words(gate)
            ));
        }
        view.hold(false);
        answered?;
    }
    Ok(())
}

/// The answer of the played person: one rejection with a reason first, then approvals.
fn played(gate: &Gate, rejected: &mut bool) -> Answer {
    match &gate.card.shape {
        AnswerShape::Verdict if !*rejected => {
            *rejected = true;
            Answer::rejected(Some("Say hello politely, too.".into()))
        }
        AnswerShape::Verdict => Answer::approved(),
        AnswerShape::Choice { options, .. } => {
            Answer::choice(options.iter().take(1).map(|option| option.name.clone()).collect(), None)
        }
        AnswerShape::Text | AnswerShape::Form { .. } => Answer::text("Aurora"),
    }
}

fn task(desk: &Desk, title: &str, requires: Option<GateKind>) -> NewTask {
    NewTask {
        id: desk.new_task_id(),
        title: title.into(),
        body: String::new(),
        sort: "task".into(),
        priority: 2,
        size: None,
        labels: [].into(),
        parent: None,
        blocked_by: [].into(),
        requires,
        awaiting: None,
    }
}

/// A small project under version control.
fn prepare(project: &Path) -> Result<()> {
    std::fs::create_dir_all(project.join(".sayso"))?;
    std::fs::write(project.join(".gitignore"), ".sayso/\n")?;
    std::fs::write(project.join("greet.sh"), "echo \"hello\"\n")?;
    std::fs::write(project.join("sessions.txt"), "store: memory\n")?;
    std::fs::write(project.join(".sayso/script.yaml"), SCRIPT)?;
    let git = |args: &[&str]| {
        let named = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"];
        let ran = Command::new("git").arg("-C").arg(project).args(named).args(args).output();
        let is_fine = ran.is_ok_and(|output| output.status.success());
        let failed =
            || Failure::new(Code::Git, format!("git {} failed", args[0])).hint("install git");
        is_fine.then_some(()).ok_or_else(failed)
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--no-gpg-sign", "-m", "A small project"])
}

fn setup(desk: &Desk, project: &Path, scope: WorkScope) -> Result<WorkerConfig> {
    let home = project.join(".sayso");
    let failed = |e: sayso_engine::worktree::GitError| Failure::new(Code::Git, e.to_string());
    let repository = GitRepository::open(project, home.join("worktrees"), None).map_err(failed)?;
    let exe = std::env::current_exe()?.display().to_string();
    let script = home.join("script.yaml").display().to_string();
    let agent = AgentConfig {
        name: "scripted".into(),
        adapter: AgentAdapter::Command,
        program: exe,
        args: vec!["__scripted".into(), script],
        resume_args: vec!["--session".into(), "{session}".into()],
        model: None,
    };
    std::fs::create_dir_all(home.join("logs"))?;
    Ok(WorkerConfig {
        // An approver must not be the launcher: here both are made up.
        actor: Actor::new(
            Role::Operator,
            "demo-worker",
            IdentityProof::None,
            desk.level(),
            EntryPoint::Worker,
        ),
        holder: holder(repository.root()),
        agents: BTreeMap::from([(agent.name.clone(), agent)]),
        agent: "scripted".into(),
        environment: std::env::vars().collect(),
        allowed_variables: vec![],
        variables: vec![],
        roles: BTreeMap::new(),
        preamble: String::new(),
        threshold: AskThreshold::USUAL,
        check: None,
        confidence_min: 0,
        land: LandingPolicy::Merge,
        logs: home.join("logs"),
        lease: Duration::from_secs(60),
        turn_max: Duration::from_secs(60),
        no_progress_max: 3,
        turns_max: 20,
        retry: Duration::from_secs(1),
        jobs: 3,
        budget: WorkBudget::default(),
        scope,
        supervisor: None,
        hooks: None,
        step: None,
        repository,
    })
}

/// Prints the results, and verifies the audit log.
fn tell(context: &CliContext<'_>, desk: &Desk, person: &Actor, project: &Path) -> Result<()> {
    let out = context.out;
    let rows = desk.tasks(&TaskFilter { all: true, limit: 10, ..TaskFilter::default() })?.items;
    out.line(&format!("\n{}", out.paint(OutputStyle::Strong, "What became of it:")));
    for row in &rows {
        out.line(&card::task_row(out, row));
    }
    let log = Command::new("git")
        .arg("-C")
        .arg(project)
        .args(["log", "--oneline", "--first-parent"])
        .output();
    let log =
        log.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    out.line(&format!("\n{}", out.paint(OutputStyle::Strong, "The repository:")));
    for line in log.lines() {
        out.line(&format!("  {line}"));
    }
    let report = desk.verify_audit(person, |_| {})?;
    out.line(&format!(
        "\n{} {} entries of the audit verified: who asked, who said what, when",
        out.paint(OutputStyle::Good, out.icon("✓", "ok:")),
        report.entries,
    ));
    let all_closed = rows.iter().all(|row| row.task.status.is_over());
    if !all_closed {
        out.line("What was left open is gone with the demo; in a space of yours it would wait.");
    }
    out.line("\nNow for your own project: sayso init, sayso create \"…\", sayso work");
    Ok(())
}
