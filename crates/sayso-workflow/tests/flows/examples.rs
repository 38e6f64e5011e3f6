//! The shipped workflows: read clean, and do what they say as far as commands go.

use sayso_core::Answer;
use sayso_engine::worker::{CommandOutcome, CommandStep};
use sayso_workflow::file::{
    AnswerState, ExpressionScope, HumanAnswer, LoadError, PhaseExit, SetTiming, TaskSequence,
    WorkflowDefinition, command_output,
};
use sayso_workflow::graph::{GraphProgress, WorkflowGraph};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows")
}

pub(crate) fn load(name: &str) -> WorkflowDefinition {
    match WorkflowDefinition::load(&folder().join(name)) {
        Ok(flow) => flow,
        Err(LoadError::Mistakes(found)) => panic!("{}", crate::lines(&found)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn all_examples_are_without_mistakes_and_called_like_their_file() {
    let mut names = vec![];
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let flow = load(&name);
        assert_eq!(format!("{}.yaml", flow.name), name);
        assert!(!flow.about.is_empty(), "{name}");
        let text = WorkflowGraph::from(&flow).text(&GraphProgress::default(), true);
        assert!(flow.phases.iter().all(|phase| text.contains(&phase.name)), "{text}");
        names.push(name);
    }
    names.sort();
    assert_eq!(
        names,
        [
            "branching.yaml",
            "careful.yaml",
            "conditional.yaml",
            "dynamic.yaml",
            "pipeline.yaml",
            "planned-checkpoint.yaml",
            "refinement.yaml",
            "several-approvals.yaml",
        ]
    );
}

#[test]
fn the_careful_one_goes_through_its_task_files() {
    let flow = load("careful.yaml");
    let files = TaskSequence::new(&folder(), &flow.sequence).unwrap().files().unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["tasks/1-rename.md", "tasks/2-docs.md"]);
}

/// Walks through a workflow of commands with answers at hand, in a folder of its own, and says where it
/// has been and how it ended. What a phase asks must be answered, and every answer must be asked for.
fn walk(name: &str, set: &[(&str, &str)], answers: Vec<AnswerState>) -> (String, TempDir) {
    let flow = load(name);
    let folder = tempfile::tempdir().unwrap();
    let given = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut scope = ExpressionScope::begin(flow.input_from(&given).unwrap());
    let (mut phase, mut been, mut answers) = (flow.first(), vec![], answers.into_iter());
    let stop = AtomicBool::new(false);
    let ended = loop {
        been.push(phase.name.clone());
        assert!(been.len() < 20, "{been:?}");
        (scope.output, scope.heard) = (None, AnswerState::NotAsked);
        if let Some(command) = phase.command(&scope).unwrap() {
            let checks = phase.step_checks(&scope).unwrap();
            let step = CommandStep {
                command: &command,
                any_code: false,
                folder: folder.path(),
                checks: &checks,
                retries: phase.retries,
                writes: None,
                mark: &format!("test-example-{name}-{}", been.len()),
                time_max: Duration::from_secs(30),
                stop: &stop,
            };
            match step.run() {
                CommandOutcome::Completed { text, code, left_out } => {
                    scope.output = Some(command_output(&text, code, left_out));
                }
                other => panic!("{name} {}: {other:?}", phase.name),
            }
        }
        scope.state = phase.apply_set(&scope, SetTiming::Done).unwrap();
        if phase.is_asked(&scope).unwrap() {
            let question = phase.question(&scope).unwrap().unwrap();
            let heard = answers.next().unwrap_or_else(|| panic!("{name} asks: {}", question.text));
            scope.heard = heard;
            scope.state = phase.apply_set(&scope, SetTiming::Heard).unwrap();
        }
        match phase.next(&scope).unwrap() {
            PhaseExit::Phase(next) => phase = flow.phase(&next).unwrap(),
            end => break format!("{end:?}").to_lowercase(),
        }
    };
    assert_eq!(answers.count(), 0, "{name}: not all was asked");
    (format!("{} {ended}", been.join(" ")), folder)
}

fn yes() -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::approved(), "ann"))
}

fn no() -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::rejected(Some("too long".into())), "ann"))
}

fn pick(name: &str) -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::choice(vec![name.into()], None), "ann"))
}

fn other(words: &str) -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::choice(vec![], Some(words.into())), "ann"))
}

fn text(words: &str) -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::text(words), "ann"))
}

/// The six ways to bring a person in, with the real shell.
#[test]
fn the_examples_go_where_they_say() {
    let read =
        |folder: &TempDir, file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let (way, folder) =
        walk("planned-checkpoint.yaml", &[("goal", "it's $HOME")], vec![no(), yes()]);
    assert_eq!(way, "plan plan execute end");
    let plan = read(&folder, "plan.txt");
    assert!(plan.contains("it's $HOME") && plan.contains("Minding: too long"), "{plan}");
    let way = |name: &str, set: &[(&str, &str)], answers| walk(name, set, answers).0;
    assert_eq!(way("dynamic.yaml", &[("lines", "10")], vec![]), "code review done end");
    assert_eq!(way("dynamic.yaml", &[], vec![pick("Split it")]), "code review split done end");
    assert_eq!(
        way("dynamic.yaml", &[], vec![pick("Redesign"), pick("Go on")]),
        "code review code review done end"
    );
    assert_eq!(way("dynamic.yaml", &[], vec![no()]), "code review rejected");
    let several = "several-approvals.yaml";
    let (way_there, folder) = walk(several, &[], vec![no(), yes(), yes()]);
    assert_eq!(way_there, "research research write publish end");
    assert!(read(&folder, "published.md").starts_with("# lighthouses\n"));
    assert_eq!(way(several, &[], vec![yes(), AnswerState::Silence]), "research write shelve end");
    let conditional = "conditional.yaml";
    assert_eq!(way(conditional, &[], vec![]), "classify file end");
    assert_eq!(way(conditional, &[("text", "cat and dog")], vec![yes()]), "classify file end");
    assert_eq!(way(conditional, &[("text", "cat and dog")], vec![no()]), "classify set-aside end");
    let branching = "branching.yaml";
    assert_eq!(way(branching, &[], vec![pick("Fast")]), "choose fast end");
    assert_eq!(way(branching, &[], vec![pick("Thorough")]), "choose thorough end");
    assert_eq!(
        way(branching, &[], vec![pick("Custom"), text("slowly")]),
        "choose custom as-told end"
    );
    assert_eq!(way(branching, &[], vec![no()]), "choose end");
    let (way_there, folder) =
        walk("refinement.yaml", &[], vec![other("more waves"), pick("It is good")]);
    assert_eq!(way_there, "draft draft end");
    assert_eq!(read(&folder, "draft.txt"), "Draft 2 about the sea.\nIt minds: more waves\n");
    let many = (0..5).map(|_| other("again")).collect();
    assert_eq!(way("refinement.yaml", &[], many), "draft draft draft draft draft give-up end");
}
