//! A program that is killed, at every point where it waits for anything, and started again.

use crate::shared::{Site, block_on};
use sayso_core::flow::FlowLogEvent;
use sayso_core::{Answer, FlowId};
use sayso_engine::StoreLocation;
use sayso_workflow::{FlowOutcome, FlowState, HumanInput, HumanQuestion, Inbox, Phase, Workflow};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll};
use std::time::Duration;

const PLACE: &str = "SAYSO_KILLED_PLACE";
const SPACE: &str = "SAYSO_KILLED_SPACE";
const AT: &str = "SAYSO_KILLED_AT";
const AT_ONCE: &str = "SAYSO_KILLED_AT_ONCE";

/// Kills the process when it is looked at for the n-th time: each time it waited for something.
struct DieAt<F> {
    work: Pin<Box<F>>,
    looks_left: u64,
}

impl<F: Future> Future for DieAt<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.looks_left == 0 {
            std::process::abort();
        }
        self.looks_left -= 1;
        self.work.as_mut().poll(context)
    }
}

/// Five phases, two of which ask.
fn five_phases() -> Workflow<Vec<String>> {
    let step = |name: &'static str| {
        Phase::new(name)
            .agent(move |_: FlowState<Vec<String>>| async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok::<_, String>(name.to_owned())
            })
            .keep(|state: &mut Vec<String>, name: &String| state.push(name.clone()))
    };
    Workflow::new("five", 1)
        .phase(step("plan").human(HumanQuestion::approval("Plan?")).next("fetch"))
        .phase(step("fetch").next("write"))
        .phase(
            step("write")
                .human(HumanQuestion::choice("Which?", ["red", "blue"]))
                .hear(|state, said| state.push(said.value.clone().unwrap_or_default()))
                .next("check"),
        )
        .phase(step("check").next("end"))
        .phase(step("end").terminal())
        .build()
        .unwrap()
}

/// How the program begins its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    BeginAndRun,
    AtOnce,
}

fn place_of(site: &Site) -> String {
    match &site.place {
        StoreLocation::Sqlite(path) => path.display().to_string(),
        StoreLocation::Postgres(url) => url.clone(),
        StoreLocation::Memory => panic!("nobody else gets there"),
    }
}

/// What the killed process does. Run by itself, it has nothing to do.
#[test]
fn the_program() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let place = match place.starts_with("postgres") {
        true => StoreLocation::Postgres(place),
        false => StoreLocation::Sqlite(place.into()),
    };
    let inbox = Inbox::at(place, &std::env::var(SPACE).unwrap(), "bot").unwrap();
    let looks_left = std::env::var(AT).unwrap().parse().unwrap();
    let work = Box::pin(async move {
        if std::env::var(AT_ONCE).is_ok() {
            return inbox.run(&five_phases(), "k", vec![], HumanInput::Park).await.unwrap().1;
        }
        let flow = inbox.begin(&five_phases(), "k", vec![]).await.unwrap();
        flow.run(HumanInput::Park).await.unwrap()
    });
    let outcome = block_on(DieAt { work, looks_left });
    assert!(matches!(outcome, FlowOutcome::Done(_) | FlowOutcome::Waits(_)), "{outcome:?}");
}

/// Starts the program. Whether it came through.
fn start(site: &Site, way: Way, at: u64) -> bool {
    let mut program = Command::new(std::env::current_exe().unwrap());
    if way == Way::AtOnce {
        program.env(AT_ONCE, "1");
    }
    program.args(["--exact", "killed::the_program", "--nocapture"]);
    program.env(PLACE, place_of(site)).env(SPACE, &site.space).env(AT, at.to_string());
    let output = program.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!printed.contains("panicked"), "at {at}: {printed}");
    output.status.success()
}

/// Answers what waits; whether anything did.
fn people(site: &Site) -> usize {
    let open = site.open();
    for gate in &open {
        match gate.card.question.as_str() {
            "Plan?" => site.answer(gate, Answer::approved()),
            _ => site.answer(gate, Answer::choice(vec!["blue".into()], None)),
        }
    }
    open.len()
}

/// Kills the program at its n-th look, in the first, second or third part of its way; then lets it come to
/// its end. Whether it was killed at all.
fn killed_at(site: &Site, way: Way, part: usize, at: u64) -> bool {
    let mut was_killed = false;
    for now in 0..10 {
        let at = if now == part { at } else { u64::MAX };
        let came_through = start(site, way, at);
        was_killed |= !came_through;
        if !came_through {
            assert!(start(site, way, u64::MAX), "it goes on after it was killed at {at}");
        }
        if people(site) == 0 {
            break;
        }
    }
    was_killed
}

fn check(site: &Site, what: &str) {
    let id: FlowId = site.inbox().flow_id("five", "k");
    let flow = site.desk.flow(id).unwrap();
    assert_eq!(flow.basic_status(), "done", "{what}");
    let expected = serde_json::json!(["plan", "fetch", "write", "blue", "check", "end"]);
    assert_eq!(flow.state["state"], expected, "{what}");
    let mut done: BTreeMap<String, u32> = BTreeMap::new();
    let mut phase = String::new();
    for (_, event) in site.desk.flow_history(id).unwrap() {
        match event {
            FlowLogEvent::Started(started) => phase = started.phase,
            FlowLogEvent::Moved { to, .. } => phase = to,
            FlowLogEvent::Completed { .. } => *done.entry(phase.clone()).or_default() += 1,
            _ => {}
        }
    }
    assert_eq!(done.len(), 5, "{what}: {done:?}");
    assert!(
        done.values().all(|times| *times == 1),
        "{what}: each step is written down once: {done:?}"
    );
    let asked = site.asked();
    assert_eq!(asked.len(), 2, "{what}: each question is asked once");
    assert!(asked.iter().all(|gate| gate.delivery.as_str() == "acknowledged"), "{what}");
    site.verify();
}

/// Kills at every look of each part, until a part comes through without being killed.
fn everywhere(make: fn() -> Site, way: Way) -> u64 {
    let mut kills = 0;
    for part in 0..3 {
        let mut at = 0;
        loop {
            let site = make();
            let was_killed = killed_at(&site, way, part, at);
            check(&site, &format!("part {part}, look {at}"));
            if !was_killed {
                break;
            }
            kills += 1;
            at += 1;
        }
    }
    kills
}

#[test]
fn at_every_point_on_sqlite() {
    let kills = everywhere(Site::sqlite, Way::BeginAndRun);
    assert!(kills >= 15, "only {kills} kills");
}

#[test]
fn at_every_point_on_postgres() {
    let kills = everywhere(Site::postgres, Way::BeginAndRun);
    assert!(kills >= 15, "only {kills} kills");
}

#[test]
fn at_every_point_begun_and_run_at_once_on_sqlite() {
    let kills = everywhere(Site::sqlite, Way::AtOnce);
    assert!(kills >= 12, "only {kills} kills");
}

#[test]
fn at_every_point_begun_and_run_at_once_on_postgres() {
    let kills = everywhere(Site::postgres, Way::AtOnce);
    assert!(kills >= 12, "only {kills} kills");
}
