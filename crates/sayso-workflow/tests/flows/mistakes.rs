//! What is wrong with a workflow is found when it is built, all at once.

use sayso_workflow::{FlowState, HumanQuestion, Phase, Workflow, WorkflowDiagnostic};

type Plain = Phase<u32>;

fn asks(name: &str) -> Plain {
    Phase::new(name).human(HumanQuestion::approval("Well?"))
}

fn mistakes(phases: Vec<Plain>) -> Vec<WorkflowDiagnostic> {
    let builder =
        phases.into_iter().fold(Workflow::new("w", 1), |builder, phase| builder.phase(phase));
    builder.build().err().map(|mistakes| mistakes.mistakes).unwrap_or_default()
}

#[test]
fn a_workflow_without_mistakes_is_built() {
    assert!(mistakes(vec![asks("a").next("b"), asks("b").terminal()]).is_empty());
}

#[test]
fn every_mistake_is_named() {
    let unknown =
        |from: &str, to: &str| WorkflowDiagnostic::Unknown { from: from.into(), to: to.into() };
    let choice = |options: &[&str]| {
        Phase::<u32>::new("a")
            .human(HumanQuestion::choice("Which?", options.iter().copied()))
            .terminal()
    };
    for (phases, expected) in [
        (vec![], vec![WorkflowDiagnostic::NoPhases]),
        (vec![asks("a").next("b")], vec![unknown("a", "b")]),
        (
            vec![asks("a").on_reject("x").on_silence("y").terminal()],
            vec![unknown("a", "x"), unknown("a", "y")],
        ),
        (vec![asks("a").next_by(["b"], |_, ()| "b")], vec![unknown("a", "b")]),
        (
            vec![asks("a").terminal(), asks("a").terminal()],
            vec![WorkflowDiagnostic::Twice("a".into())],
        ),
        (vec![Phase::new("a").terminal()], vec![WorkflowDiagnostic::Empty("a".into())]),
        (vec![asks("a")], vec![WorkflowDiagnostic::NoWayOn("a".into())]),
        (
            vec![asks("a").next("b"), asks("b").next("a")],
            vec![WorkflowDiagnostic::NoEnd("a".into()), WorkflowDiagnostic::NoEnd("b".into())],
        ),
        (
            vec![asks("a").terminal(), asks("b").terminal()],
            vec![WorkflowDiagnostic::Unreached("b".into())],
        ),
        (vec![choice(&[])], vec![WorkflowDiagnostic::NoOptions("a".into())]),
        (
            vec![choice(&["x", "x"])],
            vec![WorkflowDiagnostic::SameOption { phase: "a".into(), option: "x".into() }],
        ),
        (vec![asks("a\n").terminal()], vec![WorkflowDiagnostic::BadName("a\n".into())]),
    ] {
        assert_eq!(mistakes(phases), expected);
    }
}

/// Pieces that are not there cannot be asked about, though the types would fit.
#[test]
fn pieces_are_asked_about_where_there_are_pieces() {
    let ask = |_: &FlowState<u32>, text: &String| HumanQuestion::approval(text.as_str());
    let whole = Phase::new("a").agent(|_| async { Ok::<Vec<String>, String>(vec![]) });
    let wrong = Workflow::new("w", 1).phase(whole.human_for_each(ask).terminal()).build();
    let found = wrong.err().map(|mistakes| mistakes.mistakes);
    assert_eq!(found, Some(vec![WorkflowDiagnostic::NoPieces("a".into())]));
    let pieces = Phase::new("a")
        .agent_for_each(|_: &u32| vec![1], |_, _: i32| async { Ok::<_, String>(String::new()) });
    let right = Workflow::new("w", 1).phase(pieces.human_for_each(ask).terminal()).build();
    assert!(right.is_ok());
}

#[test]
fn all_of_them_are_said_at_once() {
    let phases = vec![asks("a").next("nowhere"), Phase::new("b")];
    let found = mistakes(phases);
    assert_eq!(found.len(), 4, "{found:?}");
}
