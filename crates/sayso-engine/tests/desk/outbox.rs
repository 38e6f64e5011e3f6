//! The outbox: each thing is told once per channel, at least once, and is not forgotten.

use crate::bench::{Bench, SECOND, ann, coder, on_each, question, say};
use sayso_core::gate::Card;
use std::collections::BTreeSet;

on_each! {
    fn without_channels_nothing_is_to_be_told(bench: &Bench) {
        let gate = bench.ask("Ship?").opened.id;
        say(&bench.desk, &ann(), gate, "Yes").unwrap();
        assert!(bench.desk.local().unwrap().claim_notices(10).unwrap().is_empty());
    }
}

on_each! {
    /// Asking, changing the question and answering are three things to tell; each is told once on
    /// each channel, however often the command is repeated.
    fn each_event_is_told_once_per_channel(bench: &Bench) {
        let channels = vec!["mail".to_owned(), "chat".to_owned()];
        let desk = bench.desk.clone().with_channels(channels);
        let id = desk.new_gate_id();
        let mut told = BTreeSet::new();
        let ask = question(id, "Ship?");
        let card = Card { question: "Ship all of it?".into(), ..ask.card.clone() };
        for step in 0..3 {
            for _ in 0..3 {
                match step {
                    0 => drop(desk.ask(&coder(), ask.clone()).unwrap()),
                    1 => drop(desk.revise(&coder(), id, card.clone()).unwrap()),
                    _ => drop(say(&desk, &ann(), id, "Yes").unwrap()),
                }
            }
            let notices = desk.local().unwrap().claim_notices(10).unwrap();
            assert_eq!(notices.len(), 2, "step {step}: {notices:?}");
            let ways: BTreeSet<_> = notices.iter().map(|n| n.channel.clone()).collect();
            assert_eq!(ways, BTreeSet::from(["mail".into(), "chat".into()]));
            for notice in notices {
                assert!(notice.body.contains(&id.to_string()), "{}", notice.body);
                assert!(told.insert(notice.id.clone()), "{} is told twice", notice.id);
                desk.local().unwrap().settle_notice(&notice.id).unwrap();
            }
        }
        assert_eq!(told.len(), 6);
        bench.clock.jump(86_400 * SECOND);
        assert!(desk.local().unwrap().claim_notices(10).unwrap().is_empty(), "what is settled stays settled");
        bench.entries();
    }
}

on_each! {
    /// Who claims and dies tells nothing; the notice comes back. Who fails tries again, later and later.
    fn a_notice_is_not_forgotten(bench: &Bench) {
        let desk = bench.desk.clone().with_channels(vec!["mail".into()]);
        desk.ask(&coder(), question(desk.new_gate_id(), "Ship?")).unwrap();
        let claim = || desk.local().unwrap().claim_notices(10).unwrap();
        assert_eq!(claim().len(), 1);
        assert!(claim().is_empty(), "somebody has it");
        bench.clock.jump(61 * SECOND);
        let again = claim();
        assert_eq!(again.len(), 1, "whoever had it is gone");
        assert_eq!(again[0].attempts, 2);
        let mut pause = 2 * SECOND;
        for _ in 0..3 {
            let claimed = again.first().unwrap();
            desk.local().unwrap().fail_notice(claimed, "no route to host").unwrap();
            bench.clock.jump(SECOND);
            assert!(claim().is_empty(), "not yet");
            pause *= 2;
            bench.clock.jump(pause + 61 * SECOND);
            assert_eq!(claim().len(), 1);
        }
        desk.local().unwrap().settle_notice(&again[0].id).unwrap();
        bench.clock.jump(86_400 * SECOND);
        assert!(claim().is_empty());
    }
}
