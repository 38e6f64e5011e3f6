//! The examples in Rust, each walked with answers that were given beforehand.

use crate::shared::block_on;
use sayso_core::Answer;
use sayso_workflow::{
    FlowOutcome, FlowState, HandlerReply, HumanInput, Inbox, Workflow, handler_fn,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::sync::Mutex;

#[path = "../../examples/branching.rs"]
mod branching;
#[path = "../../examples/conditional.rs"]
mod conditional;
#[path = "../../examples/dynamic.rs"]
mod dynamic;
#[path = "../../examples/planned_checkpoint.rs"]
mod planned_checkpoint;
#[path = "../../examples/refinement.rs"]
mod refinement;
#[path = "../../examples/several_approvals.rs"]
mod several_approvals;

/// Gives these answers, one after the other.
fn answers(answers: Vec<Answer>) -> HumanInput {
    let left = Mutex::new(VecDeque::from(answers));
    handler_fn("given beforehand", move |_| {
        let answer = left.lock().unwrap().pop_front();
        async move { answer.map(HandlerReply::Answer).ok_or_else(|| "there are no more answers".into()) }
    })
}

fn walk<S>(workflow: &Workflow<S>, start: S, given: Vec<Answer>) -> FlowState<S>
where
    S: Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let inbox = Inbox::in_memory("examples").unwrap();
    let outcome = block_on(async {
        let flow = inbox.begin(workflow, "one", start).await.unwrap();
        flow.run(answers(given)).await.unwrap()
    });
    match outcome {
        FlowOutcome::Done(state) => state,
        other => panic!("{other:?}"),
    }
}

fn no(why: &str) -> Answer {
    Answer::rejected(Some(why.into()))
}

fn pick(option: &str) -> Answer {
    Answer::choice(vec![option.into()], None)
}

#[test]
fn each_walks_as_it_says() {
    let work = walk(
        &planned_checkpoint::workflow().unwrap(),
        planned_checkpoint::Work::default(),
        vec![no("the plants"), Answer::approved()],
    );
    assert!(work.done && work.plan.contains("Minding: the plants"), "{work:?}");
    let code =
        walk(&dynamic::workflow().unwrap(), dynamic::Code::default(), vec![pick("Redesign")]);
    assert_eq!(code.rounds, 2);
    let article = walk(
        &several_approvals::workflow().unwrap(),
        several_approvals::Article::default(),
        vec![Answer::approved(), no("longer"), Answer::approved()],
    );
    assert!(article.is_published);
    let picture = |confidence| conditional::Picture { confidence, label: String::new() };
    let sure = walk(&conditional::workflow().unwrap(), picture(0.9), vec![]);
    assert!(sure.human.is_none());
    let unsure = walk(&conditional::workflow().unwrap(), picture(0.5), vec![Answer::approved()]);
    assert!(unsure.approved);
    for (answer, expected) in [
        (pick("Fast"), "done fast"),
        (pick("Thorough"), "done thorough"),
        (Answer::choice(vec![], Some("by hand".into())), "done custom"),
    ] {
        let job = walk(&branching::workflow().unwrap(), branching::Job::default(), vec![answer]);
        assert_eq!(job.done, expected);
    }
    let draft = walk(
        &refinement::workflow().unwrap(),
        refinement::Draft::default(),
        vec![no("shorter"), Answer::approved()],
    );
    assert_eq!((draft.rounds, draft.text.as_str()), (2, "The sea is wide. Now shorter."));
}
