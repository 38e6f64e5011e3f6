//! How people are asked, what is heard of it, and what becomes of a flow in between.

use crate::shared::{Site, ann, block_on, on_both};
use sayso_core::flow::FlowEndKind;
use sayso_core::{Answer, Approvers, Code, Risk};
use sayso_workflow::{
    AutoApprove, FlowOutcome, FlowState, HandlerReply, HumanInput, HumanQuestion, Inbox, Phase,
    TerminalHandler, Workflow, WorkflowEvent, handler_fn,
};
use std::io::Cursor;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn yes_or_no() -> Workflow<u32> {
    Workflow::new("release", 1)
        .phase(
            Phase::new("build")
                .agent(|state: FlowState<u32>| async move { Ok::<_, String>(state.data + 1) })
                .keep(|state, built| *state = *built)
                .human(HumanQuestion::approval("Ship it?"))
                .next("ship"),
        )
        .phase(Phase::new("ship").agent(|_| async { Ok::<_, String>(()) }).terminal())
        .build()
        .unwrap()
}

on_both! {
    /// A parked run is a row: the program ends, and another goes on after the answer.
    fn parked_and_taken_up_elsewhere(site: &Site) {
        let first = site.inbox();
        let waits = block_on(async {
            let flow = first.begin(&yes_or_no(), "1.2", 1).await.unwrap();
            flow.run(HumanInput::Park).await.unwrap()
        });
        let FlowOutcome::Waits(questions) = waits else { panic!("{waits:?}") };
        assert_eq!(questions[0].prompt, "Ship it?");
        drop(first);
        let second = site.inbox();
        let ready = |inbox: Inbox| block_on(async move { inbox.ready(&yes_or_no()).await.unwrap().len() });
        assert_eq!(ready(second.clone()), 0, "nobody has answered");
        site.answer(&site.open()[0], Answer::approved());
        assert_eq!(ready(second.clone()), 1);
        let outcome = block_on(async {
            let flows = second.ready(&yes_or_no()).await.unwrap();
            flows[0].run(HumanInput::Park).await.unwrap()
        });
        assert!(matches!(outcome, FlowOutcome::Done(state) if state.data == 2));
        assert_eq!(ready(second), 0);
    }
}

on_both! {
    /// A no does not go on by itself, nor does silence; each can be led somewhere.
    fn a_no_and_silence_go_nowhere_by_accident(site: &Site) {
        let inbox = site.inbox();
        let end = |key: &'static str, workflow: Workflow<u32>, act: &dyn Fn()| {
            block_on(async {
                let flow = inbox.begin(&workflow, key, 1).await.unwrap();
                flow.run(HumanInput::Park).await.unwrap();
                act();
                flow.run(HumanInput::Park).await.unwrap()
            })
        };
        let no = || site.answer_next("Ship it?", Answer::rejected(Some("not today".into())));
        let gone = || {
            let gate = site.wait_for("Ship it?");
            site.at_desk(|desk| desk.withdraw(&ann(), gate.opened.id, "never mind")).unwrap();
        };
        let outcome = end("no", yes_or_no(), &no);
        assert!(matches!(&outcome, FlowOutcome::Rejected(why) if why.contains("not today")), "{outcome:?}");
        let outcome = end("gone", yes_or_no(), &gone);
        assert!(matches!(&outcome, FlowOutcome::Failed(why) if why.contains("without an answer")), "{outcome:?}");

        let led = || {
            Workflow::new("led", 1)
                .phase(
                    Phase::new("ask")
                        .human(HumanQuestion::approval("Ship it?"))
                        .next("yes")
                        .on_reject("no")
                        .on_silence("silence"),
                )
                .phase(ends("yes", 1))
                .phase(ends("no", 2))
                .phase(ends("silence", 3))
                .build()
                .unwrap()
        };
        let data = |outcome| match outcome {
            FlowOutcome::Done(FlowState { data, .. }) => data,
            other => panic!("{other:?}"),
        };
        assert_eq!(data(end("led no", led(), &no)), 2);
        assert_eq!(data(end("led gone", led(), &gone)), 3);
    }
}

fn ends(name: &str, with: u32) -> Phase<u32, u32> {
    Phase::new(name)
        .agent(move |_| async move { Ok::<_, String>(with) })
        .keep(|state, with| *state = *with)
        .terminal()
}

on_both! {
    /// A program's own ways are written down as such, and no answer is made to fit.
    fn ways_of_the_programs_own(site: &Site) {
        let inbox = site.inbox();
        let choosing = |key: &'static str, input: HumanInput| {
            let workflow = Workflow::new("choosing", 1)
                .phase(Phase::new("choose").human(HumanQuestion::choice("Which?", ["a", "b"])).terminal())
                .build()
                .unwrap();
            block_on(async {
                let flow = inbox.begin(&workflow, key, 0).await.unwrap();
                (flow.run(input).await, site.at_desk(|desk| desk.flow(flow.id())).unwrap())
            })
        };
        let (outcome, flow) = choosing("auto", AutoApprove.into());
        assert!(matches!(outcome, Ok(FlowOutcome::Done(state)) if state.value() == Some("a")));
        let heard = &flow.heard[&0];
        assert_eq!((heard.by.as_str(), heard.gate), ("auto-approve (for tests)", None));
        assert_eq!(heard.question, "Which?");

        let told = handler_fn("pager", |_| async { Ok(HandlerReply::Answer(Answer::choice(vec!["c".into()], None))) });
        let (outcome, flow) = choosing("wrong", told);
        assert!(outcome.unwrap_err().to_string().contains("pager"), "it is no option");
        assert!(flow.is_live() && flow.heard.is_empty(), "it stays where it was");

        let later = handler_fn("pager", |_| async { Ok(HandlerReply::Later) });
        let (outcome, flow) = choosing("wrong", later);
        assert!(matches!(outcome, Ok(FlowOutcome::Waits(_))) && flow.hold.is_none());
        let (outcome, _) = choosing("wrong", handler_fn("pager", |request| async move {
            let last = request.options().last().map(|option| (*option).to_owned());
            Ok(HandlerReply::Answer(Answer::choice(last.into_iter().collect(), None)))
        }));
        assert!(matches!(outcome, Ok(FlowOutcome::Done(state)) if state.value() == Some("b")));
        assert!(site.asked().is_empty(), "no gate was opened for any of it");
    }
}

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// At the terminal, Enter says nothing, and the end of the input leaves the question for later.
#[test]
fn at_the_terminal() {
    let inbox = Inbox::in_memory("bot").unwrap();
    let ask = |key: &'static str, human: HumanQuestion, typed: &'static str| {
        let workflow = Workflow::new("ask", 1)
            .phase(Phase::new("ask").human(human).terminal())
            .build()
            .unwrap();
        let screen = Screen::default();
        let terminal = TerminalHandler::with(Cursor::new(typed), screen.clone());
        let outcome = block_on(async {
            let flow = inbox.begin(&workflow, key, 0_u32).await.unwrap();
            flow.run(terminal).await.unwrap()
        });
        let shown = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        (outcome, shown)
    };
    let (outcome, shown) =
        ask("yes", HumanQuestion::approval("Ship\u{1b}[2J it?"), "\n\nmaybe\nyes\n");
    assert!(matches!(outcome, FlowOutcome::Done(state) if state.approved));
    assert!(!shown.contains('\u{1b}') && shown.matches("nothing was said").count() == 2, "{shown}");
    let (outcome, _) = ask("no", HumanQuestion::approval("Ship it?"), "no, not today\n");
    assert!(matches!(outcome, FlowOutcome::Rejected(why) if why.contains("not today")));
    let options =
        HumanQuestion::choice("Which?", ["red", "blue"]).consequence("blue", "takes a day");
    let (outcome, shown) = ask("pick", options.clone(), "3\nblack\n2\n");
    assert!(matches!(outcome, FlowOutcome::Done(state) if state.value() == Some("blue")));
    assert!(
        shown.contains("2 blue: takes a day")
            && shown.contains("no option 3")
            && shown.contains("\"black\" is none of the options"),
        "{shown}"
    );
    let (outcome, _) = ask("other", options.clone().or_other(), "black\n/other black\n");
    assert!(matches!(outcome, FlowOutcome::Done(state) if state.value() == Some("black")));
    let (outcome, _) = ask("declined", options, "/reject none of them\n");
    assert!(matches!(outcome, FlowOutcome::Rejected(why) if why.contains("none of them")));
    let known = HumanQuestion::approval("Ship it?")
        .fact("tests", "3 fail")
        .risk(Risk::High)
        .to(Approvers::Person("eve".into()))
        .within(Duration::from_secs(90));
    let (_, shown) = ask("known", known, "no\n");
    for said in ["tests: 3 fail", "high risk", "eve", "within 90 seconds"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let (outcome, _) = ask("text", HumanQuestion::text("Why?"), "because\n");
    assert!(matches!(outcome, FlowOutcome::Done(state) if state.value() == Some("because")));
    let (outcome, _) = ask("later", HumanQuestion::approval("Ship it?"), "");
    assert!(matches!(outcome, FlowOutcome::Waits(_)));
}

/// A way of the program's own is told everything the question says.
#[test]
fn a_handler_is_told_what_the_question_says() {
    let inbox = Inbox::in_memory("bot").unwrap();
    let human = HumanQuestion::approval("Ship it?")
        .fact("tests", "3 fail")
        .risk(Risk::High)
        .to(Approvers::Person("eve".into()))
        .within(Duration::from_secs(90));
    let workflow =
        Workflow::new("ask", 1).phase(Phase::new("ask").human(human).terminal()).build().unwrap();
    let told = Arc::new(Mutex::new(None));
    let pager = {
        let told = told.clone();
        handler_fn("pager", move |request| {
            *told.lock().unwrap() = Some(request);
            async { Ok(HandlerReply::Later) }
        })
    };
    let outcome = block_on(async {
        let flow = inbox.begin(&workflow, "1.2", 0_u32).await.unwrap();
        flow.run(pager).await.unwrap()
    });
    assert!(matches!(outcome, FlowOutcome::Waits(questions) if questions.is_empty()));
    let request = told.lock().unwrap().take().unwrap();
    assert_eq!(request.facts, [("tests".to_owned(), "3 fail".to_owned())]);
    assert_eq!((request.risk, request.within), (Some(Risk::High), Some(Duration::from_secs(90))));
    assert_eq!(request.to, Some(Approvers::Person("eve".into())));
    assert_eq!((request.workflow.as_str(), request.about.as_str()), ("ask", "1.2"));
}

on_both! {
    /// A yes of an earlier phase is no yes to a question that nobody was asked.
    fn a_yes_counts_where_it_was_asked_for(site: &Site) {
        let workflow = Workflow::new("stale", 1)
            .phase(Phase::new("plan").human(HumanQuestion::approval("Plan?")).next("pay"))
            .phase(
                Phase::new("pay")
                    .human_if(|_: &FlowState<u32>, _| None::<HumanQuestion>)
                    .next_by(["paid", "left"], |state, _| if state.approved { "paid" } else { "left" }),
            )
            .phase(Phase::new("paid").agent(|_| async { Ok::<_, String>(()) }).terminal())
            .phase(
                Phase::new("left")
                    .agent(|state: FlowState<u32>| async move { Ok::<_, String>(state.approved || state.human.is_some()) })
                    .keep(|state, is_stale: &bool| *state = u32::from(*is_stale))
                    .terminal(),
            )
            .build()
            .unwrap();
        let inbox = site.inbox();
        let outcome = block_on(async {
            let flow = inbox.begin(&workflow, "k", 7).await.unwrap();
            flow.run(HumanInput::Park).await.unwrap();
            site.answer(&site.open()[0], Answer::approved());
            flow.run(HumanInput::Park).await.unwrap()
        });
        let FlowOutcome::Done(state) = outcome else { panic!("{outcome:?}") };
        assert_eq!((state.data, state.approved), (0, false), "nobody said yes to paying");
    }
}

on_both! {
    /// What a piece cannot do does not undo what its siblings are at: they come to their end and are kept.
    fn a_piece_that_fails_drops_no_other(site: &Site) {
        let runs = Arc::new(AtomicU32::new(0));
        let workflow = {
            let runs = runs.clone();
            Workflow::new("pieces", 1)
                .phase(
                    Phase::new("work")
                        .agent_for_each(
                            |_: &u32| vec![0_u64, 1, 2],
                            move |_, piece: u64| {
                                let runs = runs.clone();
                                async move {
                                    if piece == 0 {
                                        return Err("no".to_owned());
                                    }
                                    tokio::time::sleep(Duration::from_millis(100)).await;
                                    runs.fetch_add(1, Ordering::SeqCst);
                                    Ok(piece)
                                }
                            },
                        )
                        .terminal(),
                )
                .build()
                .unwrap()
        };
        let inbox = site.inbox();
        block_on(async {
            let flow = inbox.begin(&workflow, "k", 0).await.unwrap();
            for _ in 0..2 {
                assert!(flow.run(HumanInput::Park).await.is_err());
            }
            assert_eq!(site.at_desk(|desk| desk.flow(flow.id())).unwrap().outputs.len(), 2);
            // What failed is not ready, and not lost.
            assert!(inbox.ready(&workflow).await.unwrap().is_empty());
            assert_eq!(inbox.stuck(&workflow).await.unwrap().len(), 1);
        });
        assert_eq!(runs.load(Ordering::SeqCst), 2, "each once");
    }
}

on_both! {
    /// However many flows of others there are, and however many failed, one that was answered is found.
    fn nobody_is_starved(site: &Site) {
        let inbox = site.inbox();
        let failing = Workflow::new("ask", 1)
            .phase(Phase::new("ask").agent(|_: FlowState<u32>| async { Err::<(), _>("no") }).terminal())
            .build()
            .unwrap();
        let other = Workflow::new("other", 1)
            .phase(Phase::new("ask").human(HumanQuestion::approval("Other?")).terminal())
            .build()
            .unwrap();
        let asking = Workflow::new("ask", 1)
            .phase(Phase::new("ask").human(HumanQuestion::approval("Well?")).terminal())
            .build()
            .unwrap();
        block_on(async {
            for n in 0..110_u32 {
                inbox.begin(&other, &n.to_string(), n).await.unwrap();
                assert!(inbox.run(&failing, &n.to_string(), n, HumanInput::Park).await.is_err());
            }
            let (flow, _) = inbox.run(&asking, "asks", 0, HumanInput::Park).await.unwrap();
            assert!(inbox.ready(&asking).await.unwrap().is_empty(), "it waits");
            site.answer(&site.wait_for("Well?"), Answer::approved());
            let ready = inbox.ready(&asking).await.unwrap();
            assert_eq!(ready.iter().map(|flow| flow.id()).collect::<Vec<_>>(), [flow.id()]);
        });
    }
}

on_both! {
    /// Pieces are worked on together, each is kept at once, and each can be asked about.
    fn piece_by_piece(site: &Site) {
        let (runs, fails) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(1)));
        let workflow = {
            let (runs, fails) = (runs.clone(), fails.clone());
            Workflow::new("chapters", 1)
                .phase(
                    Phase::new("write")
                        .agent_for_each(
                            |state: &Vec<String>| state.clone(),
                            move |_, chapter: String| {
                                let (runs, fails) = (runs.clone(), fails.clone());
                                async move {
                                    runs.fetch_add(1, Ordering::SeqCst);
                                    let is_third = chapter == "three";
                                    if is_third && fails.swap(0, Ordering::SeqCst) == 1 {
                                        tokio::time::sleep(Duration::from_millis(200)).await;
                                        return Err("the pen broke".to_owned());
                                    }
                                    Ok(format!("{chapter}!"))
                                }
                            },
                        )
                        .at_once(3)
                        .keep(|state, written: &Vec<String>| *state = written.clone())
                        .human_for_each(|_, written| HumanQuestion::approval(format!("Good: {written}")))
                        .terminal(),
                )
                .build()
                .unwrap()
        };
        let inbox = site.inbox();
        let chapters: Vec<String> = ["one", "two", "three"].map(Into::into).into();
        block_on(async {
            let flow = inbox.begin(&workflow, "book", chapters).await.unwrap();
            let error = flow.run(HumanInput::Park).await.unwrap_err();
            assert!(error.to_string().contains("the pen broke"), "{error}");
            let outcome = flow.run(HumanInput::Park).await.unwrap();
            let FlowOutcome::Waits(questions) = outcome else { panic!("{outcome:?}") };
            assert_eq!(questions.len(), 3);
        });
        assert_eq!(runs.load(Ordering::SeqCst), 4, "what was done was not done again");
        site.answer_next("Good: one!", Answer::approved());
        block_on(async {
            let flow = inbox.ready(&workflow).await.unwrap().pop().unwrap();
            assert!(matches!(flow.run(HumanInput::Park).await.unwrap(), FlowOutcome::Waits(rest) if rest.len() == 2));
            assert!(inbox.ready(&workflow).await.unwrap().is_empty(), "it waits for the others");
        });
        site.answer_next("Good: two!", Answer::approved());
        site.answer_next("Good: three!", Answer::rejected(None));
        let outcome = block_on(async {
            let flow = inbox.ready(&workflow).await.unwrap().pop().unwrap();
            flow.run(HumanInput::Park).await.unwrap()
        });
        assert!(matches!(outcome, FlowOutcome::Rejected(_)), "one no is a no: {outcome:?}");
    }
}

on_both! {
    /// Whoever listens hears everything in order, with names that fit, however late they come.
    fn events_with_the_names_of_questions(site: &Site) {
        let inbox = site.inbox();
        let names = block_on(async {
            let flow = inbox.begin(&yes_or_no(), "1.2", 1).await.unwrap();
            let mut events = flow.events();
            let run = {
                let (inbox, id) = (inbox.clone(), flow.id());
                tokio::spawn(async move { inbox.flow(&yes_or_no(), id).run(HumanInput::Wait).await })
            };
            let (mut heard, mut asked) = (vec![], String::new());
            while let Some((_, event)) = events.next().await.unwrap() {
                match &event {
                    WorkflowEvent::InputRequested { id, prompt, .. } => {
                        assert_eq!(prompt, "Ship it?");
                        asked = id.clone();
                        let gate = site.open().pop().unwrap();
                        assert_eq!(gate.opened.id.to_string(), asked);
                        site.answer(&gate, Answer::approved());
                    }
                    WorkflowEvent::InputReceived { id, said, .. } => {
                        assert_eq!(id, &asked);
                        assert!(said.approved && said.by == "ann");
                    }
                    _ => {}
                }
                heard.push(event.name());
            }
            assert!(matches!(run.await.unwrap().unwrap(), FlowOutcome::Done(_)));
            heard
        });
        let expected = [
            "flow:started",
            "agent:completed",
            "input:requested",
            "input:received",
            "phase:entered",
            "agent:completed",
            "flow:ended",
        ];
        assert_eq!(names, expected);
    }
}

on_both! {
    /// A flow goes on with the version it began with, or with one that says it can.
    fn versions(site: &Site) {
        let version = |number: u32, from: Option<u32>| {
            let builder = Workflow::<u32>::new("versioned", number);
            let builder = from.into_iter().fold(builder, |builder, from| builder.is_compatible_with(from));
            builder.phase(Phase::new("ask").human(HumanQuestion::approval("Well?")).terminal()).build().unwrap()
        };
        let inbox = site.inbox();
        block_on(async {
            let flow = inbox.begin(&version(1, None), "k", 0).await.unwrap();
            flow.run(HumanInput::Park).await.unwrap();
            let id = flow.id();
            site.answer(&site.open()[0], Answer::approved());
            let refused = inbox.flow(&version(2, None), id).run(HumanInput::Park).await.unwrap_err();
            assert_eq!(refused.code(), Code::OtherVersion);
            assert!(refused.hint().unwrap().contains("goes_on_from(1)"));
            assert!(site.at_desk(|desk| desk.flow(id)).unwrap().is_live());
            // The same key finds it, whatever version it was begun with.
            let again = inbox.begin(&version(2, Some(1)), "k", 0).await.unwrap();
            assert_eq!(again.id(), id);
            assert!(matches!(again.run(HumanInput::Park).await.unwrap(), FlowOutcome::Done(_)));
        });
    }
}

on_both! {
    /// A key means one flow; a flow that is taken back asks nobody any more.
    fn one_key_one_flow_and_taken_back(site: &Site) {
        let inbox = site.inbox();
        block_on(async {
            let flow = inbox.begin(&yes_or_no(), "1.2", 1).await.unwrap();
            flow.run(HumanInput::Park).await.unwrap();
            let other = inbox.begin(&yes_or_no(), "1.2", 7).await;
            assert_eq!(other.err().map(|e| e.code()), Some(Code::Clash));
            flow.cancel("not needed").await.unwrap();
            assert!(site.open().is_empty());
            let outcome = flow.run(HumanInput::Park).await.unwrap();
            assert!(matches!(outcome, FlowOutcome::Cancelled(why) if why.ends_with(": not needed")));
            let ended = site.at_desk(|desk| desk.flow(flow.id())).unwrap();
            assert_eq!(ended.ending.unwrap().how, FlowEndKind::Cancelled);
        });
    }
}

on_both! {
    /// Begun and run at once it is the flow that `begin` would have found, whoever comes first.
    fn begun_and_run_at_once(site: &Site) {
        let (one, two) = (site.inbox(), site.inbox());
        block_on(async {
            let (flow, outcome) = one.run(&yes_or_no(), "1.2", 1, HumanInput::Park).await.unwrap();
            let FlowOutcome::Waits(questions) = outcome else { panic!("it asks: {outcome:?}") };
            // Somebody else finds it, and asks nobody again.
            let (same, outcome) = two.run(&yes_or_no(), "1.2", 1, HumanInput::Park).await.unwrap();
            assert_eq!(same.id(), flow.id());
            assert!(matches!(outcome, FlowOutcome::Waits(again) if again == questions));
            assert_eq!(site.open().len(), 1);
            let other = two.run(&yes_or_no(), "1.2", 7, HumanInput::Park).await;
            assert_eq!(other.err().map(|e| e.code()), Some(Code::Clash));
            site.answer(&site.open()[0], Answer::approved());
            let outcome = flow.run(HumanInput::Park).await.unwrap();
            assert!(matches!(outcome, FlowOutcome::Done(_)), "{outcome:?}");
            let (_, outcome) = one.run(&yes_or_no(), "1.2", 1, HumanInput::Park).await.unwrap();
            assert!(matches!(outcome, FlowOutcome::Done(_)), "{outcome:?}");
        });
        site.verify();
    }
}

on_both! {
    /// Two who go on with one flow do its steps once: the second waits for the first.
    fn two_at_one_flow(site: &Site) {
        let runs = Arc::new(AtomicU32::new(0));
        let workflow = {
            let runs = runs.clone();
            Workflow::new("slow", 1)
                .phase(
                    Phase::new("work")
                        .agent(move |_: FlowState<u32>| {
                            runs.fetch_add(1, Ordering::SeqCst);
                            async {
                                tokio::time::sleep(Duration::from_millis(300)).await;
                                Ok::<_, String>(1)
                            }
                        })
                        .keep(|state, one: &u32| *state += *one)
                        .terminal(),
                )
                .build()
                .unwrap()
        };
        let (one, two) = (site.inbox(), site.inbox());
        let (first, second) = block_on(async {
            let flow = one.begin(&workflow, "k", 0).await.unwrap();
            let other = two.flow(&workflow, flow.id());
            let first = tokio::spawn(async move { flow.run(HumanInput::Wait).await.unwrap() });
            let second = tokio::spawn(async move { other.run(HumanInput::Wait).await.unwrap() });
            (first.await.unwrap(), second.await.unwrap())
        });
        assert!(matches!(first, FlowOutcome::Done(state) if state.data == 1));
        assert!(matches!(second, FlowOutcome::Done(state) if state.data == 1));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
