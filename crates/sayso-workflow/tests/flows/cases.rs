//! The six ways people use human steps, and what must never happen in them.

use crate::shared::{Site, block_on, on_both, picked};
use sayso_core::Answer;
use sayso_workflow::{FlowOutcome, FlowState, HumanInput, HumanQuestion, Phase, Workflow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Work {
    plan: Vec<String>,
    draft: String,
    way: String,
    confidence: f64,
    rounds: u32,
}

type Counted = Arc<AtomicU32>;

/// An agent that counts how often it is run.
fn counting(count: &Counted) -> impl Fn() -> u32 + Clone + Send + Sync + 'static {
    let count = count.clone();
    move || count.fetch_add(1, Ordering::SeqCst) + 1
}

fn done(outcome: FlowOutcome<Work>) -> FlowState<Work> {
    match outcome {
        FlowOutcome::Done(state) => state,
        other => panic!("it is not done: {other:?}"),
    }
}

/// Runs a flow to its end while somebody answers.
fn run(
    site: &Site,
    workflow: &Workflow<Work>,
    start: Work,
    people: impl FnOnce() + Send,
) -> FlowOutcome<Work> {
    let inbox = site.inbox();
    std::thread::scope(|scope| {
        scope.spawn(people);
        block_on(async {
            let flow = inbox.begin(workflow, "one", start).await.unwrap();
            flow.run(HumanInput::Wait).await.unwrap()
        })
    })
}

on_both! {
    /// Planned: the plan is always looked at; a no sends it back, with the reason at hand.
    fn a_planned_checkpoint(site: &Site) {
        let planned = Counted::default();
        let count = counting(&planned);
        let workflow = Workflow::new("planned", 1)
            .phase(
                Phase::new("plan")
                    .agent(move |state: FlowState<Work>| {
                        let (round, wish) = (count(), state.reason().unwrap_or_default());
                        async move { Ok::<_, String>(vec![format!("step {round} {wish}")]) }
                    })
                    .keep(|state: &mut Work, plan: &Vec<String>| state.plan = plan.clone())
                    .human_if(|state, _| HumanQuestion::approval(format!("Approve?\n{}", state.plan.join("\n"))))
                    .next_by(["execute", "plan"], |state, _| if state.approved { "execute" } else { "plan" }),
            )
            .phase(
                Phase::new("execute")
                    .agent(|_| async { Ok::<_, String>("executed".to_owned()) })
                    .keep(|state: &mut Work, said: &String| state.draft = said.clone())
                    .terminal(),
            )
            .build()
            .unwrap();
        let outcome = run(site, &workflow, Work::default(), || {
            site.answer_next("step 1", Answer::rejected(Some("smaller".into())));
            site.answer_next("step 2 smaller", Answer::approved());
        });
        let state = done(outcome);
        assert_eq!((state.plan[0].as_str(), state.draft.as_str()), ("step 2 smaller", "executed"));
        assert_eq!(planned.load(Ordering::SeqCst), 2);
        assert_eq!(site.asked().len(), 2);
        assert!(site.asked().iter().all(|gate| gate.delivery.as_str() == "acknowledged"));
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Review {
    needs_human: bool,
    question: String,
    options: Vec<String>,
}

on_both! {
    /// Dynamic: the reviewer finds out that it needs a person, and says what to ask.
    fn a_reviewer_that_needs_help(site: &Site) {
        let workflow = Workflow::new("dynamic", 1)
            .phase(
                Phase::new("code")
                    .agent(|state: FlowState<Work>| async move { Ok::<_, String>(state.rounds + 1) })
                    .keep(|state: &mut Work, round: &u32| state.rounds = *round)
                    .next("review"),
            )
            .phase(
                Phase::new("review")
                    .agent(|state: FlowState<Work>| async move {
                        let options = vec!["Redesign".to_owned(), "Ship".to_owned()];
                        let question = format!("Round {}: what now?", state.rounds);
                        Ok::<_, String>(Review { needs_human: state.rounds > 0, question, options })
                    })
                    .human_if(|_, review: &Review| {
                        review.needs_human.then(|| HumanQuestion::choice(&review.question, &review.options))
                    })
                    .next_by(["code", "done"], |state, _| match state.value() {
                        Some("Redesign") => "code",
                        _ => "done",
                    }),
            )
            .phase(Phase::new("done").agent(|_| async { Ok::<_, String>(()) }).terminal())
            .build()
            .unwrap();
        let outcome = run(site, &workflow, Work::default(), || {
            site.answer_next("Round 1", picked("Redesign"));
            site.answer_next("Round 2", picked("Ship"));
        });
        assert_eq!(done(outcome).rounds, 2);
    }
}

on_both! {
    /// Several: research, a yes, writing, a yes, publishing. The last phase asks, too.
    fn several_approvals(site: &Site) {
        let step = |name: &'static str, question: &'static str| {
            Phase::new(name)
                .agent(move |_| async move { Ok::<_, String>(name.to_owned()) })
                .keep(|state: &mut Work, said: &String| state.plan.push(said.clone()))
                .human(HumanQuestion::approval(question))
        };
        let workflow = Workflow::new("several", 1)
            .phase(step("research", "Is the research sound?").next("write"))
            .phase(step("write", "Is the text good?").next("publish"))
            .phase(step("publish", "Is it really out?").terminal())
            .build()
            .unwrap();
        let outcome = run(site, &workflow, Work::default(), || {
            for question in ["sound", "good", "really out"] {
                site.answer_next(question, Answer::approved());
            }
        });
        assert_eq!(done(outcome).plan, ["research", "write", "publish"]);
    }
}

fn classifier() -> Workflow<Work> {
    Workflow::new("conditional", 1)
        .phase(
            Phase::new("classify")
                .agent(|state: FlowState<Work>| async move { Ok::<_, String>(state.confidence) })
                .human_if(|_, confidence: &f64| {
                    (*confidence < 0.8).then(|| HumanQuestion::approval("Is it a cat?"))
                })
                .terminal(),
        )
        .build()
        .unwrap()
}

on_both! {
    /// Conditional: a person is asked only where the agent is unsure.
    fn asked_only_when_unsure(site: &Site) {
        let sure = Work { confidence: 0.9, ..Work::default() };
        let state = done(run(site, &classifier(), sure, || {}));
        assert!(state.human.is_none() && !state.approved, "nobody was asked, so nobody said yes");
        assert!(site.asked().is_empty());

        let unsure = Work { confidence: 0.5, ..Work::default() };
        let inbox = site.inbox();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| site.answer_next("cat", Answer::approved()));
            block_on(async {
                let flow = inbox.begin(&classifier(), "two", unsure).await.unwrap();
                flow.run(HumanInput::Wait).await.unwrap()
            })
        });
        assert!(done(outcome).approved);
        assert_eq!(site.asked().len(), 1);
    }
}

on_both! {
    /// Branching: each option leads elsewhere; words of one's own are welcome; what is no option is refused.
    fn branching_on_a_choice(site: &Site) {
        let way = |name: &'static str| {
            Phase::new(name)
                .agent(move |_| async move { Ok::<_, String>(name.to_owned()) })
                .keep(|state: &mut Work, way: &String| state.way = way.clone())
                .terminal()
        };
        let workflow = Workflow::new("branching", 1)
            .phase(
                Phase::new("choose")
                    .human(HumanQuestion::choice("Which way?", ["Fast", "Thorough"]).or_other())
                    .hear(|state: &mut Work, said| state.draft = said.value.clone().unwrap_or_default())
                    .next_by(["fast", "thorough", "custom"], |state, ()| match state.value() {
                        Some("Fast") => "fast",
                        Some("Thorough") => "thorough",
                        _ => "custom",
                    }),
            )
            .phase(way("fast"))
            .phase(way("thorough"))
            .phase(way("custom"))
            .build()
            .unwrap();
        let inbox = site.inbox();
        for (answer, expected) in [
            (picked("Fast"), "fast"),
            (picked("Thorough"), "thorough"),
            (Answer::choice(vec![], Some("by hand".into())), "custom"),
        ] {
            let outcome = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let gate = site.wait_for("Which way?");
                    let digest = gate.digest.as_str();
                    let wrong = site.desk.answer(&crate::shared::ann(), gate.opened.id, picked("Slow"), digest);
                    assert_eq!(wrong.unwrap_err().code(), sayso_core::Code::UnknownOption);
                    site.answer(&gate, answer);
                });
                block_on(async {
                    let flow = inbox.begin(&workflow, expected, Work::default()).await.unwrap();
                    flow.run(HumanInput::Wait).await.unwrap()
                })
            });
            assert_eq!(done(outcome).way, expected);
        }
    }
}

on_both! {
    /// Refinement: the agent works, hears what is wrong, and works again until it is approved.
    fn refined_until_approved(site: &Site) {
        let workflow = Workflow::new("refinement", 1)
            .phase(
                Phase::new("write")
                    .agent(|state: FlowState<Work>| async move {
                        Ok::<_, String>(format!("{} {}", state.draft, state.reason().unwrap_or("first".into())))
                    })
                    .keep(|state: &mut Work, draft: &String| {
                        state.draft = draft.trim().to_owned();
                        state.rounds += 1;
                    })
                    .human_if(|state, _| HumanQuestion::approval(format!("Good? {}", state.draft)))
                    .on_reject("write")
                    .next("publish"),
            )
            .phase(Phase::new("publish").agent(|_| async { Ok::<_, String>(()) }).terminal())
            .build()
            .unwrap();
        let outcome = run(site, &workflow, Work::default(), || {
            site.answer_next("Good? first", Answer::rejected(Some("shorter".into())));
            site.answer_next("first shorter", Answer::rejected(Some("warmer".into())));
            site.answer_next("first shorter warmer", Answer::approved());
        });
        let state = done(outcome);
        assert_eq!((state.draft.as_str(), state.rounds), ("first shorter warmer", 3));
    }
}
