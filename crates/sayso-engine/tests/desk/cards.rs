//! Cards at the desk: one answer for everybody who asks the same, and alerts when something hangs.

use crate::bench::{
    Bench, SECOND, ann, bob, coder, fails, new_run, on_each, question, say, worker,
};
use sayso_core::gate::{Gate, GateAudience, ReceiptStage};
use sayso_core::{Actor, Answer, AnswerShape, Approvers, Code, GateKind, Role};
use sayso_engine::{AnswerOutcome, CardAnswer, CollapseRule, InboxFilter, NewGate};

const MINUTE: i64 = 60 * SECOND;

fn agent(name: &str) -> Actor {
    Actor { name: name.into(), ..coder() }
}

fn ask(bench: &Bench, name: &str, change: impl FnOnce(&mut NewGate)) -> Gate {
    let mut ask = question(bench.desk.new_gate_id(), "Which port?");
    change(&mut ask);
    bench.desk.ask(&agent(name), ask).unwrap()
}

fn inbox(bench: &Bench, who: &Actor) -> Vec<(Vec<String>, usize)> {
    let filter = InboxFilter { limit: 50, ..InboxFilter::default() };
    let page = bench.desk.inbox(who, &filter).unwrap();
    let names =
        |card: &sayso_engine::CardView| card.askers.iter().map(|a| a.name.clone()).collect();
    page.items.iter().map(|card| (names(card), card.others)).collect()
}

fn card(gate: &Gate, text: &str) -> CardAnswer {
    CardAnswer {
        gate: gate.opened.id,
        answer: Answer::text(text),
        digest: gate.digest.to_string(),
        same: gate.dedup_key().map(|same| same.to_string()),
    }
}

on_each! {
    /// One card, one answer; each gate has its own ending, its own entry in the audit and its own
    /// delivery. All of it is one transaction.
    fn one_answer_for_all_who_ask_the_same(bench: &Bench) {
        let desk = &bench.desk;
        let gates = ["a", "b", "c"].map(|name| ask(bench, name, |_| ()));
        let other = ask(bench, "d", |ask| ask.card.narrative = "for the proxy".into());
        assert_eq!(inbox(bench, &ann()), [
            (vec!["a".to_owned(), "b".into(), "c".into()], 0),
            (vec!["d".to_owned()], 0),
        ]);
        let before = bench.entries();
        // Any of them stands for the card.
        let answered = desk.answer_card(&ann(), card(&gates[1], "8080")).unwrap();
        assert_eq!(answered.len(), 3);
        assert_eq!(answered[0].opened.id, gates[1].opened.id);
        assert_eq!(bench.entries(), before + 3);
        let entries = desk.audit_entries(&ann(), 3).unwrap();
        for gate in &gates {
            let own: Vec<_> = entries.iter().filter(|e| e.object == gate.handle()).collect();
            assert_eq!(own.len(), 1);
            assert_eq!((own[0].action.as_str(), own[0].actor.as_str()), ("gate.answered", "ann"));
            assert_eq!(own[0].digest.as_ref(), Some(&gate.digest), "what was shown of this one");
            assert_eq!(own[0].at, entries[0].at, "at one moment");
            let asker = agent(&gate.opened.lineage.asker);
            assert_eq!(desk.undelivered(&asker, 9).unwrap().len(), 1);
            desk.acknowledge(&asker, gate.opened.id).unwrap();
            assert_eq!(desk.undelivered(&asker, 9).unwrap().len(), 0);
        }
        assert!(desk.gate(other.opened.id).unwrap().is_open());
        // The same again changes nothing, and does not reach those who ask it later.
        let late = ask(bench, "e", |_| ());
        let before = bench.entries();
        assert_eq!(desk.answer_card(&ann(), card(&gates[1], "8080")).unwrap().len(), 1);
        fails(desk.answer_card(&bob(), card(&gates[1], "80")), Code::AlreadyAnswered);
        assert_eq!(bench.entries(), before);
        assert!(desk.gate(late.opened.id).unwrap().is_open());
    }
}

on_each! {
    /// Without the name of what is asked, one gate is answered; with the name of something else, none.
    fn what_is_answered_is_named(bench: &Bench) {
        let desk = &bench.desk;
        let [a, b, c] = ["a", "b", "c"].map(|name| ask(bench, name, |_| ()));
        let wrong = CardAnswer { same: Some("0".repeat(64)), ..card(&a, "80") };
        fails(desk.answer_card(&ann(), wrong), Code::Stale);
        assert!(desk.gate(a.opened.id).unwrap().is_open());
        let only = CardAnswer { same: None, ..card(&a, "80") };
        assert_eq!(desk.answer_card(&ann(), only).unwrap().len(), 1);
        // One that is worded anew is no longer in the card.
        let reworded = sayso_core::gate::Card { narrative: "quick".into(), ..b.card.clone() };
        desk.revise(&agent("b"), b.opened.id, reworded).unwrap();
        fails(desk.answer_card(&ann(), card(&b, "80")), Code::Stale);
        assert_eq!(desk.answer_card(&ann(), card(&c, "80")).unwrap().len(), 1);
        assert!(desk.gate(b.opened.id).unwrap().is_open());
        bench.entries();
    }
}

on_each! {
    /// Where several have to agree, a yes counts for each gate, and each is over when it has enough.
    fn several_yeses_count_for_each(bench: &Bench) {
        let desk = &bench.desk;
        let both = |ask: &mut NewGate| {
            let of = ["ann", "bob"].map(|name| Approvers::Person(name.into())).into();
            ask.demands.approvers = Approvers::Some { least: 2, of };
        };
        let first = ask(bench, "a", both);
        desk.answer_card(&ann(), card(&first, "80")).unwrap();
        let second = ask(bench, "b", both);
        // Bob's is the second yes for the one and the first for the other.
        let said = desk.answer_card(&bob(), card(&first, "80")).unwrap();
        assert_eq!(said.iter().map(Gate::is_open).collect::<Vec<_>>(), [false, true]);
        let said = desk.answer_card(&ann(), card(&second, "80")).unwrap();
        assert!(!said[0].is_open());
        bench.entries();
    }
}

on_each! {
    /// A gate this person may not answer is not in their card, and not answered with it.
    fn what_is_not_theirs_is_not_in_their_card(bench: &Bench) {
        let desk = &bench.desk;
        let from = |name: &str, launcher: &str| {
            let actor = Actor { launcher: Some(launcher.into()), ..agent(name) };
            let mut ask = question(desk.new_gate_id(), "Which port?");
            ask.demands.not_launcher = true;
            desk.ask(&actor, ask).unwrap()
        };
        let (a, b, c) = (from("a", "ann"), from("b", "bob"), from("c", "bob"));
        assert_eq!(inbox(bench, &ann()), [(vec!["b".to_owned(), "c".into()], 1)]);
        assert_eq!(inbox(bench, &bob()), [(vec!["a".to_owned()], 2)]);
        assert_eq!(inbox(bench, &worker()), [(vec!["a".to_owned(), "b".into(), "c".into()], 0)]);
        fails(desk.answer_card(&ann(), card(&a, "80")), Code::NotAnApprover);
        let answered = desk.answer_card(&ann(), card(&c, "80")).unwrap();
        assert_eq!(answered.len(), 2);
        assert!(!desk.gate(b.opened.id).unwrap().is_open());
        assert!(desk.gate(a.opened.id).unwrap().is_open());
        assert_eq!(inbox(bench, &ann()), [(vec!["a".to_owned()], 0)], "seen, not to be answered");
        bench.entries();
    }
}

on_each! {
    /// An agent sees its own questions, each by itself, and nobody else's.
    fn an_agent_sees_its_own(bench: &Bench) {
        ask(bench, "a", |_| ());
        ask(bench, "a", |_| ());
        ask(bench, "b", |_| ());
        assert_eq!(inbox(bench, &agent("a")), [(vec!["a".to_owned()], 0), (vec!["a".to_owned()], 0)]);
        assert_eq!(inbox(bench, &ann())[0].0.len(), 3);
    }
}

on_each! {
    /// A yes is leave for whoever asked, so the same yes or no of two agents is two cards. The same agent asking
    /// again is one.
    fn a_yes_without_a_task_is_for_one_asker(bench: &Bench) {
        let desk = &bench.desk;
        let may_i = |name: &str| ask(bench, name, |ask| {
            ask.card.question = "May I wipe my sandbox?".into();
            ask.card.shape = AnswerShape::Verdict;
        });
        let [a, b, again] = ["a", "b", "a"].map(may_i);
        assert_eq!(inbox(bench, &ann()), [
            (vec!["a".to_owned(), "a".into()], 0),
            (vec!["b".to_owned()], 0),
        ]);
        let yes = CardAnswer { answer: Answer::approved(), ..card(&a, "") };
        let answered = desk.answer_card(&ann(), yes).unwrap();
        assert_eq!(answered.len(), 2);
        assert!(desk.gate(b.opened.id).unwrap().is_open());
        assert!(!desk.gate(again.opened.id).unwrap().is_open());
    }
}

on_each! {
    /// What waits for others counts for nobody else: not for their lists, nor for what one agent has too much of.
    fn what_is_counted_is_what_waits_for_one(bench: &Bench) {
        let desk = bench.desk.local().unwrap();
        for number in 0..30 {
            ask(bench, "a", |ask| ask.card.narrative = number.to_string());
        }
        let both = Approvers::All(vec![Approvers::Person("ann".into()), Approvers::Person("bob".into())]);
        ask(bench, "a", |ask| ask.demands.approvers = both.clone());
        ask(bench, "b", |ask| ask.demands.approvers = Approvers::Person("bob".into()));
        let list = |who: &Actor, whose, after| {
            let filter = InboxFilter { whose: Some(whose), limit: 15, after, ..InboxFilter::default() };
            let (page, crowds) = desk.thinned_inbox(who, &filter, CollapseRule::Each(20)).unwrap();
            let last = page.items.last().map(|card| card.gate.opened.id);
            let crowds = crowds.into_iter().map(|crowd| (crowd.asker, crowd.count, crowd.more));
            (page.items.len(), page.more, crowds.collect::<Vec<_>>(), last)
        };
        let ten_more = vec![("a".to_owned(), 10, false)];
        let (count, more, crowds, last) = list(&ann(), GateAudience::Yours, None);
        assert_eq!((count, more, &crowds), (15, true, &ten_more));
        // The next page goes on where the first ended, and lists no more of one asker than both may.
        let (count, more, crowds, _) = list(&ann(), GateAudience::Yours, last);
        assert_eq!((count, more, &crowds), (5, false, &ten_more));
        assert_eq!(list(&ann(), GateAudience::Groups, None).0, 1);
        assert_eq!(list(&ann(), GateAudience::Groups, None).2, []);
        assert_eq!(list(&ann(), GateAudience::Others, None).0, 1);
        assert_eq!(desk.count_waiting_for(&ann(), 99).unwrap(), (31, false));
        assert_eq!(desk.count_waiting_for(&bob(), 99).unwrap(), (32, false));
        assert_eq!(desk.count_waiting_for(&ann(), 10).unwrap(), (10, true));
        // What is put off waits for nobody.
        let until = desk.now().plus_micros(60 * MINUTE);
        let first = last.unwrap();
        desk.snooze(&ann(), first, until).unwrap();
        assert_eq!(desk.count_waiting_for(&ann(), 99).unwrap(), (30, false));
        desk.snooze(&ann(), first, desk.now()).unwrap();
        assert_eq!(desk.count_waiting_for(&ann(), 99).unwrap(), (31, false));
    }
}

on_each! {
    /// Claims and snoozes are for the card; somebody who asks anew brings it back.
    fn claims_and_snoozes_are_for_the_card(bench: &Bench) {
        let desk = &bench.desk;
        let [a, b] = ["a", "b"].map(|name| ask(bench, name, |_| ()));
        let until = desk.now().plus_micros(60 * MINUTE);
        desk.claim(&ann(), a.opened.id, until).unwrap();
        let claimed = |gate: &Gate| desk.gate(gate.opened.id).unwrap().claim.is_some();
        assert!(claimed(&a) && claimed(&b));
        desk.release(&ann(), b.opened.id).unwrap();
        assert!(!claimed(&a) && !claimed(&b));
        desk.snooze(&ann(), a.opened.id, until).unwrap();
        assert_eq!(inbox(bench, &ann()), []);
        ask(bench, "c", |_| ());
        assert_eq!(inbox(bench, &ann())[0].0, ["a", "b", "c"]);
        bench.entries();
    }
}

on_each! {
    /// Each of several answers has its own outcome.
    fn one_that_is_refused_hides_no_other(bench: &Bench) {
        let desk = &bench.desk;
        let open = ask(bench, "a", |_| ());
        let taken = ask(bench, "b", |ask| ask.card.narrative = "x".into());
        say(desk, &bob(), taken.opened.id, "no idea").unwrap();
        let last = ask(bench, "c", |ask| ask.card.narrative = "y".into());
        let says = [&open, &taken, &last].map(|gate| card(gate, "80")).to_vec();
        let outcomes = desk.answer_many(&ann(), says).unwrap();
        assert!(matches!(&outcomes[0], AnswerOutcome::Answered(gates) if gates.len() == 1));
        assert!(matches!(&outcomes[1], AnswerOutcome::Refused { code, message, .. }
            if code == "SAY004" && message.contains("bob")), "{:?}", outcomes[1]);
        assert!(matches!(&outcomes[2], AnswerOutcome::Answered(gates) if gates.len() == 1));
        let text = serde_json::to_string(&outcomes).unwrap();
        assert_eq!(serde_json::from_str::<Vec<AnswerOutcome>>(&text).unwrap(), outcomes);
        bench.entries();
    }
}

on_each! {
    /// What unblocks most comes first, a page at a time, without gaps or doubles.
    fn the_inbox_is_read_in_pages(bench: &Bench) {
        let desk = &bench.desk;
        let old = ask(bench, "z", |ask| ask.card.narrative = "old".into());
        for name in ["a", "b", "c"] {
            ask(bench, name, |_| ());
        }
        for name in ["d", "e"] {
            ask(bench, name, |ask| ask.card.narrative = "two".into());
        }
        let mut filter = InboxFilter { limit: 1, ..InboxFilter::default() };
        let mut read = vec![];
        for _ in 0..9 {
            let page = desk.inbox(&ann(), &filter).unwrap();
            filter.after = page.items.last().map(|card| card.gate.opened.id);
            read.extend(page.items.iter().map(|card| card.askers.len()));
            if !page.more {
                break;
            }
        }
        assert_eq!(read, [3, 2, 1]);
        // The last card of the page before is gone: what was behind it is still there.
        filter.after = Some(old.opened.id);
        say(desk, &ann(), old.opened.id, "done").unwrap();
        ask(bench, "y", |ask| ask.card.narrative = "new".into());
        assert_eq!(desk.inbox(&ann(), &filter).unwrap().items[0].askers[0].name, "y");
    }
}

on_each! {
    /// What is for one alone, for one of several, and for others, each as the one who looks sees it.
    fn everybody_sees_whom_a_card_waits_for(bench: &Bench) {
        use sayso_core::gate::GateAudience;
        let desk = &bench.desk;
        let person = |name: &str| Approvers::Person(name.into());
        let one_of = Approvers::Some { least: 1, of: vec![person("ann"), person("bob")] };
        for (asker, approvers) in
            [("a", Approvers::Anyone), ("b", person("ann")), ("c", one_of), ("d", person("bob"))]
        {
            ask(bench, asker, |ask| {
                ask.card.narrative = asker.into();
                ask.demands.approvers = approvers.clone();
            });
        }
        let of = |whose: Option<GateAudience>| {
            let filter = InboxFilter { limit: 9, whose, ..InboxFilter::default() };
            let cards = desk.inbox(&ann(), &filter).unwrap().items;
            cards.iter().map(|card| card.askers[0].name.clone()).collect::<String>()
        };
        assert_eq!(of(Some(GateAudience::Yours)), "ab");
        assert_eq!(of(Some(GateAudience::Groups)), "c");
        assert_eq!(of(Some(GateAudience::Others)), "d");
        assert_eq!(of(None), "abcd");
        let one = InboxFilter { limit: 1, whose: Some(GateAudience::Others), ..InboxFilter::default() };
        assert!(!desk.inbox(&ann(), &one).unwrap().more, "nothing of these is left");
    }
}

#[test]
fn a_row_changed_by_hand_brings_nothing_into_a_card() {
    let bench = Bench::sqlite();
    let shown = ask(&bench, "a", |_| ());
    let hidden = ask(&bench, "b", |ask| ask.card.narrative = "and drop the tables".into());
    let sql = format!(
        "UPDATE gates SET same = '{}' WHERE id = '{}'",
        shown.dedup_key().unwrap(),
        hidden.opened.id
    );
    bench.past_the_desk(&sql);
    let filter = InboxFilter { limit: 9, ..InboxFilter::default() };
    fails(bench.desk.inbox(&ann(), &filter), Code::AuditBroken);
    assert_eq!(bench.desk.answer_card(&ann(), card(&shown, "80")).unwrap().len(), 1);
    assert!(bench.desk.gate(hidden.opened.id).unwrap().is_open());
}

#[test]
fn a_gate_from_before_is_a_card_of_its_own() {
    let bench = Bench::sqlite();
    let old = ask(&bench, "a", |_| ());
    bench.past_the_desk(&format!("UPDATE gates SET same = NULL WHERE id = '{}'", old.opened.id));
    ask(&bench, "b", |_| ());
    let alone = |name: &str| (vec![name.to_owned()], 0);
    assert_eq!(inbox(&bench, &ann()), [alone("a"), alone("b")]);
    assert_eq!(
        bench.desk.answer_card(&ann(), card(&old, "80")).unwrap().len(),
        2,
        "it asks the same"
    );
    bench.entries();
}

on_each! {
    /// The receipt has every step, with who and through which door; what hangs is said with what to do.
    fn a_receipt_tells_the_whole_way(bench: &Bench) {
        let (desk, clock) = (&bench.desk, &bench.clock);
        let gate = ask(bench, "a", |_| ());
        let id = gate.opened.id;
        clock.jump(31 * MINUTE);
        let hangs = |who: &Actor| -> Vec<_> {
            let found = desk.alerts(who, 9).unwrap();
            found.iter().map(|alert| alert.trouble.as_str()).collect()
        };
        assert_eq!(hangs(&ann()), ["unseen"]);
        assert_eq!(hangs(&agent("b")), Vec::<&str>::new(), "an agent hears of its own");
        desk.see(&ann(), &[desk.gate(id).unwrap()]).unwrap();
        assert_eq!(hangs(&ann()), Vec::<&str>::new(), "a person may think");
        say(desk, &ann(), id, "80").unwrap();
        clock.jump(6 * MINUTE);
        assert_eq!(hangs(&ann()), ["undelivered"]);
        assert_eq!(desk.receipt(&ann(), id).unwrap().alerts.len(), 1);
        desk.deliver(&agent("a"), id).unwrap();
        assert_eq!(hangs(&ann()), Vec::<&str>::new());
        clock.jump(31 * MINUTE);
        assert_eq!(hangs(&ann()), ["unacknowledged"]);
        desk.acknowledge(&agent("a"), id).unwrap();
        assert_eq!(hangs(&ann()), Vec::<&str>::new());
        let receipt = desk.receipt(&ann(), id).unwrap();
        let steps: Vec<_> = receipt.steps.iter().map(|s| (s.stage, s.by.as_str())).collect();
        assert_eq!(steps, [
            (ReceiptStage::Asked, "a"),
            (ReceiptStage::Seen, "ann"),
            (ReceiptStage::Answered, "ann"),
            (ReceiptStage::Delivered, "a"),
            (ReceiptStage::Acted, "a"),
        ]);
        assert!(receipt.steps.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(desk.receipt(&agent("a"), id).is_ok());
        fails(desk.receipt(&agent("b"), id), Code::NotFound);
        bench.entries();
    }
}

on_each! {
    /// The run that asked is dead; its successor went on with the answer.
    fn a_dead_run_is_an_alert_and_its_successor_goes_on(bench: &Bench) {
        let (desk, clock) = (&bench.desk, &bench.clock);
        let task = bench.task("Build it");
        let run = desk.new_run_id();
        let run = desk.start_run(&worker(), new_run(desk, run, task)).unwrap();
        let mut ask = question(desk.new_gate_id(), "Which port?");
        (ask.kind, ask.task) = (GateKind::Input, Some(task));
        let gate = desk.ask(&desk.agent_of(&run), ask).unwrap();
        let id = gate.opened.id;
        desk.see(&ann(), &[gate]).unwrap();
        let hangs = || desk.receipt(&ann(), id).unwrap().alerts;
        assert_eq!(hangs(), []);
        clock.jump(2 * MINUTE);
        assert_eq!(hangs()[0].trouble.as_str(), "asker_lost");
        desk.lose_run(&worker(), run.started.id, false).unwrap().unwrap();
        assert_eq!(hangs()[0].trouble.as_str(), "asker_lost");
        say(desk, &ann(), id, "80").unwrap();
        clock.jump(6 * MINUTE);
        assert_eq!(hangs()[0].trouble.as_str(), "undelivered");
        let next = desk.new_run_id();
        let next = desk.start_run(&worker(), new_run(desk, next, task)).unwrap();
        assert_eq!(hangs(), [], "somebody is at work");
        desk.acknowledge(&Actor { role: Role::Operator, ..worker() }, id).unwrap();
        let onward = desk.receipt(&ann(), id).unwrap().onward.unwrap();
        assert_eq!((onward.run, onward.state.as_str()), (next.started.id, "running"));
        bench.entries();
    }
}
