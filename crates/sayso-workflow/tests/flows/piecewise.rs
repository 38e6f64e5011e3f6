//! Questions about several pieces, asked by a way of the program's own: what was not asked was not answered, and
//! what was answered is kept.

use crate::shared::{Site, block_on, on_both};
use sayso_core::Answer;
use sayso_workflow::{
    FlowOutcome, FlowState, HandlerReply, HandlerRequest, HumanInput, HumanQuestion, Phase,
    Workflow, handler_fn,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn chapters() -> Workflow<Vec<String>> {
    Workflow::new("book", 1)
        .phase(
            Phase::new("write")
                .agent_for_each(
                    |state: &Vec<String>| state.clone(),
                    |_: FlowState<Vec<String>>, chapter: String| async move { Ok::<_, String>(chapter) },
                )
                .human_for_each(|_, written: &String| HumanQuestion::approval(format!("Good: {written}")))
                .next("print"),
        )
        .phase(Phase::new("print").agent(|_| async { Ok::<_, String>(()) }).terminal())
        .build()
        .unwrap()
}

/// Whoever is asked: what they say to each piece, and after how long. Every question is noted.
fn asked_by(
    log: &Arc<Mutex<Vec<u32>>>,
    say: impl Fn(u32) -> (Duration, Result<HandlerReply, String>) + Send + Sync + 'static,
) -> HumanInput {
    let log = log.clone();
    handler_fn("a test", move |request: HandlerRequest| {
        log.lock().unwrap().push(request.item);
        let (after, said) = say(request.item);
        async move {
            tokio::time::sleep(after).await;
            said
        }
    })
}

fn yes() -> Result<HandlerReply, String> {
    Ok(HandlerReply::Answer(Answer::approved()))
}

fn no() -> Result<HandlerReply, String> {
    Ok(HandlerReply::Answer(Answer::rejected(None)))
}

fn begun(site: &Site, input: HumanInput) -> sayso_workflow::Result<FlowOutcome<Vec<String>>> {
    let inbox = site.inbox();
    block_on(async {
        let pieces = ["one", "two", "three"].map(Into::into).into();
        let flow = inbox.begin(&chapters(), "book", pieces).await.unwrap();
        flow.run(input).await
    })
}

on_both! {
    /// A no, then somebody who takes longer than it takes to give a word, and says yes: it stays a no.
    fn a_no_is_not_forgotten_while_the_next_is_asked(site: &Site) {
        let log = Arc::default();
        let input = asked_by(&log, |item| match item {
            0 => (Duration::ZERO, no()),
            1 => (Duration::from_secs(11), yes()),
            _ => (Duration::ZERO, yes()),
        });
        let outcome = begun(site, input).unwrap();
        assert!(matches!(outcome, FlowOutcome::Rejected(_)), "{outcome:?}");
        assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
    }
}

on_both! {
    /// Whoever stops in between, by saying so or by failing, is asked the rest later, and only the rest.
    fn what_was_not_asked_was_not_answered(site: &Site) {
        let log = Arc::default();
        let later = asked_by(&log, |item| match item {
            0 => (Duration::ZERO, yes()),
            _ => (Duration::ZERO, Ok(HandlerReply::Later)),
        });
        let outcome = begun(site, later).unwrap();
        assert!(matches!(outcome, FlowOutcome::Waits(_)), "{outcome:?}");
        let fails = asked_by(&log, |item| match item {
            1 => (Duration::ZERO, yes()),
            _ => (Duration::ZERO, Err("the line is dead".into())),
        });
        let error = begun(site, fails).unwrap_err();
        assert!(error.to_string().contains("the line is dead"), "{error}");
        let outcome = begun(site, asked_by(&log, |_| (Duration::ZERO, no()))).unwrap();
        assert!(matches!(outcome, FlowOutcome::Rejected(_)), "{outcome:?}");
        assert_eq!(*log.lock().unwrap(), [0, 1, 1, 2, 2]);
    }
}

on_both! {
    /// The rest may be asked at the inbox, and what was said before counts there, too.
    fn the_rest_is_asked_at_the_inbox(site: &Site) {
        let log = Arc::default();
        let later = asked_by(&log, |item| match item {
            0 => (Duration::ZERO, no()),
            _ => (Duration::ZERO, Ok(HandlerReply::Later)),
        });
        begun(site, later).unwrap();
        let outcome = begun(site, HumanInput::Park).unwrap();
        assert!(matches!(&outcome, FlowOutcome::Waits(rest) if rest.len() == 2), "{outcome:?}");
        site.answer_next("Good: two", Answer::approved());
        site.answer_next("Good: three", Answer::approved());
        let outcome = begun(site, HumanInput::Park).unwrap();
        assert!(matches!(outcome, FlowOutcome::Rejected(_)), "{outcome:?}");
    }
}

/// What came of each is there for one piece, too, with the piece it is about: all of none is no yes.
#[test]
fn what_came_of_one_is_told_like_that_of_several() {
    for (pieces, refused) in [(vec!["one"], 0), (vec!["one", "two", "three"], 1)] {
        let workflow = Workflow::new("book", 1)
            .phase(
                Phase::new("write")
                    .agent_for_each(
                        |state: &Vec<String>| state.clone(),
                        |_: FlowState<Vec<String>>, chapter: String| async move {
                            Ok::<_, String>(chapter)
                        },
                    )
                    .human_for_each(|_, written: &String| {
                        HumanQuestion::approval(format!("Good: {written}"))
                    })
                    .next_by(["print", "left"], |state, _| {
                        match state.humans.iter().all(|said| said.approved) {
                            true => "print",
                            false => "left",
                        }
                    }),
            )
            .phase(Phase::new("print").agent(|_| async { Ok::<_, String>(()) }).terminal())
            .phase(
                Phase::new("left")
                    .agent(|_| async { Ok::<_, String>("left".to_owned()) })
                    .keep(|state: &mut Vec<String>, left: &String| state.push(left.clone()))
                    .terminal(),
            )
            .build()
            .unwrap();
        let log = Arc::default();
        let input = asked_by(&log, move |item| {
            (Duration::ZERO, if item == refused { no() } else { yes() })
        });
        let outcome = block_on(async {
            let inbox = sayso_workflow::Inbox::in_memory("bot").unwrap();
            let data: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
            let flow = inbox.begin(&workflow, "book", data).await.unwrap();
            flow.run(input).await.unwrap()
        });
        let FlowOutcome::Done(state) = outcome else { panic!("{outcome:?}") };
        assert_eq!(state.last().map(String::as_str), Some("left"));
        let said: Vec<_> = state.humans.iter().map(|said| (said.item, said.approved)).collect();
        let expected: Vec<_> =
            (0..pieces.len() as u32).map(|item| (item, item != refused)).collect();
        assert_eq!(said, expected);
    }
}

/// A piece that falls over is tried again like any that fails, and its siblings are kept.
#[test]
fn a_piece_that_falls_over_takes_no_other_with_it() {
    let tried: Arc<Mutex<Vec<String>>> = Arc::default();
    let falls = |retries: u32, at_most: usize| {
        let log = tried.clone();
        Workflow::new("book", 1)
            .phase(
                Phase::new("write")
                    .agent_for_each(
                        |state: &Vec<String>| state.clone(),
                        move |_: FlowState<Vec<String>>, chapter: String| {
                            let log = log.clone();
                            async move {
                                log.lock().unwrap().push(chapter.clone());
                                let count =
                                    log.lock().unwrap().iter().filter(|c| **c == chapter).count();
                                if chapter == "two" && count <= at_most {
                                    panic!("no ink");
                                }
                                Ok::<_, String>(chapter)
                            }
                        },
                    )
                    .at_once(3)
                    .retries(retries)
                    .terminal(),
            )
            .build()
            .unwrap()
    };
    let run = |workflow: Workflow<Vec<String>>, inbox: sayso_workflow::Inbox| {
        block_on(async move {
            let pieces = ["one", "two", "three"].map(Into::into).into();
            inbox.begin(&workflow, "book", pieces).await.unwrap().run(HumanInput::Park).await
        })
    };
    let count = |piece: &str| tried.lock().unwrap().iter().filter(|c| *c == piece).count();
    let inbox = sayso_workflow::Inbox::in_memory("bot").unwrap();
    let outcome = run(falls(1, 1), inbox).unwrap();
    assert!(matches!(outcome, FlowOutcome::Done(_)), "{outcome:?}");
    assert_eq!(["one", "two", "three"].map(count), [1, 2, 1]);
    tried.lock().unwrap().clear();
    let inbox = sayso_workflow::Inbox::in_memory("bot").unwrap();
    let error = run(falls(0, 1), inbox.clone()).unwrap_err();
    assert!(error.to_string().contains("it panicked: no ink"), "{error}");
    // Whoever goes on does again what fell over, and nothing else.
    let outcome = run(falls(0, 1), inbox).unwrap();
    assert!(matches!(outcome, FlowOutcome::Done(_)), "{outcome:?}");
    assert_eq!(["one", "two", "three"].map(count), [1, 2, 1]);
}

/// A circle that nobody is in ends, with words, and can be gone on with.
#[test]
fn a_circle_without_people_has_an_end() {
    let rounds: Arc<Mutex<u32>> = Arc::default();
    let counted = rounds.clone();
    let workflow = Workflow::new("circle", 1)
        .phase(
            Phase::new("look")
                .agent(move |_: FlowState<u32>| {
                    let counted = counted.clone();
                    async move {
                        *counted.lock().unwrap() += 1;
                        Ok::<_, String>(())
                    }
                })
                .next_by(["look", "end"], |_, ()| "look"),
        )
        .phase(Phase::new("end").agent(|_| async { Ok::<_, String>(()) }).terminal())
        .build()
        .unwrap();
    let inbox = sayso_workflow::Inbox::in_memory("bot").unwrap();
    for times in 1..=2 {
        let error = block_on(async {
            inbox.begin(&workflow, "x", 0).await.unwrap().run(HumanInput::Park).await.unwrap_err()
        });
        assert!(error.to_string().contains("1000 phases without asking anybody"), "{error}");
        let done = *rounds.lock().unwrap();
        assert!((times * 1_000..=times * 1_000 + 2).contains(&done), "{done}");
    }
}
