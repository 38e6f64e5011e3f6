//! Questions about several pieces, asked by a way of the program's own: what was not asked was not answered, and
//! what was answered is kept.

use crate::shared::{Site, block_on, on_both};
use sayso_core::Answer;
use sayso_workflow::{Human, HumanInput, Outcome, Phase, Request, State, Told, Workflow, by};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn chapters() -> Workflow<Vec<String>> {
    Workflow::new("book", 1)
        .phase(
            Phase::new("write")
                .agent_for_each(
                    |state: &Vec<String>| state.clone(),
                    |_: State<Vec<String>>, chapter: String| async move { Ok::<_, String>(chapter) },
                )
                .human_for_each(|_, written: &String| Human::approval(format!("Good: {written}")))
                .next("print"),
        )
        .phase(Phase::new("print").agent(|_| async { Ok::<_, String>(()) }).terminal())
        .build()
        .unwrap()
}

/// Whoever is asked: what they say to each piece, and after how long. Every question is noted.
fn asked_by(
    log: &Arc<Mutex<Vec<u32>>>,
    say: impl Fn(u32) -> (Duration, Result<Told, String>) + Send + Sync + 'static,
) -> HumanInput {
    let log = log.clone();
    by("a test", move |request: Request| {
        log.lock().unwrap().push(request.item);
        let (after, said) = say(request.item);
        async move {
            tokio::time::sleep(after).await;
            said
        }
    })
}

fn yes() -> Result<Told, String> {
    Ok(Told::Answer(Answer::approved()))
}

fn no() -> Result<Told, String> {
    Ok(Told::Answer(Answer::rejected(None)))
}

fn begun(site: &Site, input: HumanInput) -> sayso_workflow::Result<Outcome<Vec<String>>> {
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
        assert!(matches!(outcome, Outcome::Rejected(_)), "{outcome:?}");
        assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
    }
}

on_both! {
    /// Whoever stops in between, by saying so or by failing, is asked the rest later, and only the rest.
    fn what_was_not_asked_was_not_answered(site: &Site) {
        let log = Arc::default();
        let later = asked_by(&log, |item| match item {
            0 => (Duration::ZERO, yes()),
            _ => (Duration::ZERO, Ok(Told::Later)),
        });
        let outcome = begun(site, later).unwrap();
        assert!(matches!(outcome, Outcome::Waits(_)), "{outcome:?}");
        let fails = asked_by(&log, |item| match item {
            1 => (Duration::ZERO, yes()),
            _ => (Duration::ZERO, Err("the line is dead".into())),
        });
        let error = begun(site, fails).unwrap_err();
        assert!(error.to_string().contains("the line is dead"), "{error}");
        let outcome = begun(site, asked_by(&log, |_| (Duration::ZERO, no()))).unwrap();
        assert!(matches!(outcome, Outcome::Rejected(_)), "{outcome:?}");
        assert_eq!(*log.lock().unwrap(), [0, 1, 1, 2, 2]);
    }
}

on_both! {
    /// The rest may be asked at the inbox, and what was said before counts there, too.
    fn the_rest_is_asked_at_the_inbox(site: &Site) {
        let log = Arc::default();
        let later = asked_by(&log, |item| match item {
            0 => (Duration::ZERO, no()),
            _ => (Duration::ZERO, Ok(Told::Later)),
        });
        begun(site, later).unwrap();
        let outcome = begun(site, HumanInput::Park).unwrap();
        assert!(matches!(&outcome, Outcome::Waits(rest) if rest.len() == 2), "{outcome:?}");
        site.answer_next("Good: two", Answer::approved());
        site.answer_next("Good: three", Answer::approved());
        let outcome = begun(site, HumanInput::Park).unwrap();
        assert!(matches!(outcome, Outcome::Rejected(_)), "{outcome:?}");
    }
}
