//! The contents of the lists, and movement in them.

use super::*;
use crate::exit::Failure;
use crate::tui::drafts::unsent_drafts;
use crate::tui::state::InputMode;
use sayso_core::Code;
use sayso_core::gate::GateClaim;

/// Fifty cards of which the list has more.
fn long_list(stage: &mut Stage) {
    let gates: Vec<_> = (0..50).map(|number| verdict(number, "Go?")).collect();
    let next = gates[49].opened.id;
    stage.load(gates, Some(next));
    stage.settle();
}

fn next_page(stage: &mut Stage, gates: Vec<Gate>, next: Option<GateId>) {
    let rows = gates.into_iter().map(row).collect();
    let page = Ok(LoadedPage { rows, next, alerts: vec![], in_groups: None });
    let list = stage.state.list.number;
    stage.happen(InboxEvent::Page { list, is_first: false, page });
}

fn here(stage: &Stage) -> String {
    stage.state.here().map(|row| row.gate().handle().to_owned()).unwrap_or_default()
}

fn pages(stage: &Stage) -> usize {
    let is_page =
        |effect: &&InboxEffect| matches!(effect, InboxEffect::Load { after: Some(_), .. });
    stage.done.iter().filter(is_page).count()
}

/// The last card is the last of all pages; a key pressed in the meantime cancels the jump.
#[test]
fn the_end_is_the_end_of_the_list() {
    for goes_elsewhere in [false, true] {
        let mut stage = Stage::opened((120, 40));
        long_list(&mut stage);
        stage.keys(&["G"]);
        assert!(stage.draw().contains("looking for the end of the list …"));
        assert_eq!((pages(&stage), here(&stage).as_str()), (1, "g0k2m"));
        if goes_elsewhere {
            stage.keys(&["j"]);
        }
        let second = (50..100).map(|number| verdict(number, "Go?")).collect();
        next_page(&mut stage, second, Some(GateId::mint(noon(), 99)));
        if goes_elsewhere {
            assert_eq!((pages(&stage), here(&stage).as_str()), (1, "g1k2m"));
            continue;
        }
        assert_eq!(pages(&stage), 2);
        next_page(&mut stage, vec![verdict(100, "Last?")], None);
        assert_eq!(here(&stage), "g100k2m");
        assert!(!stage.draw().contains("looking for the end"));
    }
}

/// The filter finds cards on every page.
#[test]
fn finding_looks_through_the_whole_list() {
    let mut stage = Stage::opened((120, 40));
    long_list(&mut stage);
    stage.keys(&["/"]);
    stage.write("zebra");
    assert_eq!(pages(&stage), 1);
    assert!(stage.draw().contains("Looking further …"));
    stage.keys(&["Enter"]);
    assert!(stage.draw().contains("nothing found yet, looking further …"));
    let second = (50..100).map(|number| verdict(number, "Go?")).collect();
    next_page(&mut stage, second, Some(GateId::mint(noon(), 99)));
    assert_eq!(pages(&stage), 2);
    next_page(&mut stage, vec![verdict(100, "A zebra?")], None);
    assert_eq!(here(&stage), "g100k2m");
    assert!(!stage.draw().contains("ooking further"));
    stage.keys(&["Enter"]);
    assert_eq!(stage.state.mode, InputMode::Look);
}

/// The filter is displayed for as long as it hides cards, also beside other messages.
#[test]
fn what_is_looked_for_stays_in_sight() {
    for size in [(60, 15), (80, 24), (120, 40)] {
        let mut stage = Stage::opened(size);
        stage.load((0..40).map(|number| verdict(number, "Go?")).collect(), None);
        stage.state.list.alerts = vec!["g1k2m: nobody has looked".into()];
        stage.keys(&["/"]);
        stage.write("go");
        stage.keys(&["Enter"]);
        stage.settle();
        assert!(stage.draw().contains("with \"go\" in it"), "{size:?}");
        stage.keys(&["Enter"]);
        assert!(stage.draw().contains("with \"go\" in it"), "{size:?}");
    }
}

/// An empty personal list shows the count of the groups' list.
#[test]
fn an_empty_list_points_to_the_groups() {
    for (number, is_told) in [(0, false), (2, true)] {
        let mut stage = Stage::opened((60, 15));
        let in_groups = Some(CardCount { number, and_more: false });
        let page = Ok(LoadedPage { rows: vec![], next: None, alerts: vec![], in_groups });
        stage.happen(InboxEvent::Page { list: 0, is_first: true, page });
        let screen = stage.draw();
        assert!(screen.contains("Nothing waits for you."), "{screen}");
        assert_eq!(screen.contains("2 in your groups (v)"), is_told, "{screen}");
        assert_eq!(screen.contains(" Your groups 2 "), is_told, "{screen}");
    }
}

/// The deadline stands in a card's row at every width, in full or in short.
#[test]
fn rows_say_when_their_time_is_over() {
    let mut asked = opened(1, GateKind::Approval, AnswerShape::Verdict, "Deploy?");
    asked.deadline = Some(noon().plus_micros(120 * MINUTE));
    for columns in [60, 80, 100, 120, 200] {
        let mut stage = Stage::with((columns, 24), vec![waits(asked.clone(), 12)]);
        let screen = stage.draw();
        let rows: Vec<_> = screen.lines().filter_map(|line| line.split('│').next()).collect();
        let rows = rows.join("\n");
        let is_short = rows.contains("no in 2 h: Deploy?");
        let is_whole = rows.contains("without an answer it is a no in 2 hours");
        assert!(is_short != is_whole, "{screen}");
    }
}

/// A snoozed card shows its time and is not counted, and its key offers to bring it back.
#[test]
fn what_was_put_off_comes_back_with_its_key() {
    let mut stage = Stage::with((120, 40), vec![verdict(1, "Deploy?"), verdict(2, "Tag?")]);
    stage.state.list.rows[0].asked.gate.snoozed_until = Some(noon().plus_micros(60 * MINUTE));
    let screen = stage.draw();
    assert!(screen.contains("back in 1 hour") && screen.contains("1 waits"), "{screen}");
    stage.keys(&["h", "Enter"]);
    stage.prove();
    let id = verdict(1, "Deploy?").opened.id;
    assert!(stage.done.contains(&InboxEffect::Snooze(id, "now".into())));
}

/// An answer is held no longer than its card waits; a card that is only due by then does not shorten that.
#[test]
fn nothing_is_held_beyond_the_deadline() {
    for (seconds, held_for) in [(60, Some(5_000)), (5, Some(3_000)), (1, None)] {
        let mut asked = opened(1, GateKind::Approval, AnswerShape::Verdict, "Deploy?");
        asked.deadline = Some(noon().plus_micros(seconds * 1_000_000));
        let mut stage = Stage::with((120, 40), vec![waits(asked, 3)]);
        stage.keys(&["a"]);
        stage.prove();
        let Some(held_for) = held_for else {
            assert_eq!(stage.sent(), 1);
            continue;
        };
        stage.pass(held_for - 100);
        assert_eq!(stage.sent(), 0, "{seconds}");
        stage.pass(100);
        assert_eq!(stage.sent(), 1, "{seconds}");
    }
}

/// A message longer than the line at the foot continues above it, and nothing of it is lost.
#[test]
fn a_long_message_can_be_read() {
    for columns in [60, 80, 120] {
        let mut stage = Stage::with((columns, 24), vec![verdict(1, "Deploy?")]);
        let before = stage.draw();
        let words = "nobody here is called \"nobody-here\"; there are: ann, bob, cid and dan; see sayso people list";
        stage.state.set_error(words);
        let screen = stage.draw();
        let foot: Vec<_> = screen.lines().rev().skip(1).take(3).map(str::trim).collect();
        let foot = foot.into_iter().rev().collect::<Vec<_>>().join(" ");
        assert!(foot.ends_with(words), "{columns}: {screen}");
        // Nothing above it has moved.
        let head = |screen: &str| screen.lines().take(20).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(&before), head(&screen));
    }
}

/// The label of a key names its present effect.
#[test]
fn what_one_has_is_given_back() {
    let mut stage = Stage::with((120, 40), vec![verdict(1, "Deploy?")]);
    assert!(stage.draw().contains("c take"));
    let claim = GateClaim { by: "ann".into(), until: noon().plus_micros(MINUTE) };
    stage.state.list.rows[0].asked.gate.claim = Some(claim);
    assert!(stage.draw().contains("c give back"));
}

#[test]
fn the_way_of_a_card_says_that_it_changed() {
    let gate = revised(&verdict(1, "Deploy?"), "Deploy twice?");
    let mut stage = Stage::with((120, 40), vec![gate.clone()]);
    let found = Ok(Box::new((asked(gate.clone()), way(&gate))));
    stage.happen(InboxEvent::Looked { gate: gate.opened.id, found });
    assert!(stage.draw().contains("changed by its asker; this is card 2 of it"));
}

/// A draft for a card that another person settled is printed on exit; one's own answer is not.
#[test]
fn what_came_too_late_is_told() {
    for (by, count) in [("bob", 2), ("ann", 0)] {
        let gate = verdict(1, "Deploy?");
        let mut stage = Stage::with((120, 40), vec![gate.clone()]);
        stage.keys(&["e"]);
        stage.write("with care");
        stage.keys(&["Enter", "r"]);
        stage.keys(&["Ctrl+u"]);
        stage.write("not on a Friday");
        stage.refresh(vec![], vec![answered(gate, by, Answer::approved())]);
        let told = unsent_drafts(&stage.state);
        assert_eq!(told.len(), count, "{told:?}");
        assert!(told.iter().all(|words| words.contains("g1k2m, and it was not sent")), "{told:?}");
    }
}

/// The message about a failed desk is shown until the desk replies again.
#[test]
fn a_failure_ends_with_its_cause() {
    let mut stage = Stage::with((120, 40), vec![verdict(1, "Deploy?")]);
    let failure = Failure::new(Code::Failure, "the disk is full");
    let list = stage.state.list.number;
    stage.happen(InboxEvent::Refreshed { list, found: Err(failure) });
    assert!(stage.draw().contains("the disk is full"));
    stage.refresh(vec![verdict(1, "Deploy?")], vec![]);
    assert!(!stage.draw().contains("the disk is full"));
}
