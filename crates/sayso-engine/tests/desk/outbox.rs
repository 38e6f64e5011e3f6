//! The outbox: each thing is told once per channel, at least once, and is not forgotten.

use crate::bench::{Bench, SECOND, ann, coder, on_each, question, say};
use sayso_core::gate::Card;
use sayso_core::{Approvers, ChannelInfo, NoticeReason};
use sayso_engine::{ClaimedNotice, SettingChange, SettingKind};
use std::collections::BTreeSet;

on_each! {
    fn without_channels_nothing_is_to_be_told(bench: &Bench) {
        let gate = bench.ask("Ship?").opened.id;
        say(&bench.desk, &ann(), gate, "Yes").unwrap();
        assert!(bench.desk.claim_notices("mail", 10).unwrap().is_empty());
    }
}

on_each! {
    /// Asking and changing the question are two things to tell; each is told once on each channel, however
    /// often the command is repeated. That it was answered is told where it is wanted and was heard.
    fn each_event_is_told_once_per_channel(bench: &Bench) {
        let chat = ChannelInfo { settled: true, ..ChannelInfo::from("chat") };
        let desk = bench.desk.clone().with_channels(vec!["mail".into(), chat]);
        let id = desk.new_gate_id();
        let mut told = BTreeSet::new();
        let ask = question(id, "Ship?");
        let card = Card { question: "Ship\nall of it?\u{1b}[2J".into(), ..ask.card.clone() };
        for (step, why, ways) in [
            (0, NoticeReason::Asked, &["mail", "chat"][..]),
            (1, NoticeReason::Changed, &["mail", "chat"]),
            (2, NoticeReason::Settled, &["chat"]),
        ] {
            for _ in 0..3 {
                match step {
                    0 => drop(desk.ask(&coder(), ask.clone()).unwrap()),
                    1 => drop(desk.revise(&coder(), id, card.clone()).unwrap()),
                    _ => drop(say(&desk, &ann(), id, "Yes").unwrap()),
                }
            }
            for channel in ["mail", "chat"] {
                let notices = desk.claim_notices(channel, 10).unwrap();
                let expected = usize::from(ways.contains(&channel));
                assert_eq!(notices.len(), expected, "step {step}: {notices:?}");
                for ClaimedNotice { key, text, .. } in notices {
                    assert_eq!((text.gate, text.occasion), (Some(id), Some(why)));
                    let title = if step == 0 { "Ship?" } else { "Ship ⏎ all of it?␛[2J" };
                    assert_eq!(text.title, title);
                    assert!(told.insert(text.id.clone()), "{} is told twice", text.id);
                    desk.settle_notice(&key).unwrap();
                }
            }
        }
        assert_eq!(told.len(), 5);
        bench.clock.jump(86_400 * SECOND);
        for channel in ["mail", "chat"] {
            assert!(desk.claim_notices(channel, 10).unwrap().is_empty(), "settled stays settled");
        }
        let all = desk.told(&ann(), id).unwrap();
        assert_eq!(all.iter().filter(|notice| notice.sent_at.is_some()).count(), 5, "{all:?}");
        bench.entries();
    }
}

on_each! {
    /// Nobody is told of what is settled: neither what nobody had taken yet, nor what comes back.
    fn what_is_answered_is_told_no_more(bench: &Bench) {
        let desk = bench.desk.clone().with_channels(vec!["mail".into()]);
        let ask = || {
            let id = desk.new_gate_id();
            desk.ask(&coder(), question(id, "Ship?")).unwrap();
            id
        };
        let untaken = ask();
        say(&desk, &ann(), untaken, "Yes").unwrap();
        assert!(desk.claim_notices("mail", 10).unwrap().is_empty());
        let taken = ask();
        assert_eq!(desk.claim_notices("mail", 10).unwrap().len(), 1);
        say(&desk, &ann(), taken, "Yes").unwrap();
        bench.clock.jump(61 * SECOND);
        assert!(desk.claim_notices("mail", 10).unwrap().is_empty());
        for gate in [untaken, taken] {
            let told = desk.told(&ann(), gate).unwrap();
            assert_eq!(told.len(), 1);
            assert_eq!((told[0].sent_at, told[0].due_at), (None, None), "{told:?}");
            assert!(told[0].error.as_deref().unwrap().contains("settled before"), "{told:?}");
        }
        assert!(desk.notices(&ann(), 10).unwrap().is_empty());
    }
}

on_each! {
    /// People are told by the channels they want, when they may be disturbed, and once for what came in
    /// the night. Those whose answer does not count are left alone.
    fn people_are_told_as_they_wish(bench: &Bench) {
        let person = |name: &str, body: &str| SettingChange {
            kind: SettingKind::Person,
            name: name.into(),
            body: Some(body.into()),
        };
        let (now, day) = (bench.desk.now(), 86_400 * SECOND);
        let clock = |seconds: i64| {
            let second = (now.as_micros().rem_euclid(day) / SECOND + seconds).rem_euclid(86_400);
            format!("{:02}:{:02}", second / 3_600, second % 3_600 / 60)
        };
        let quiet = format!("{}-{}", clock(-3_600), clock(7_200));
        let asleep = format!(r#"{{"notify":["phone"],"calendar":{{"zone":"UTC","quiet":"{quiet}"}}}}"#);
        let people = vec![
            person("ann", &asleep),
            person("bob", r#"{"notify":["phone","mail"]}"#),
            person("eve", r#"{"notify":["phone"]}"#),
        ];
        let desk = bench.desk.clone().with_channels(vec!["room".into()]);
        desk.set(&ann(), people).unwrap();
        let bad = person("eve", r#"{"notify":["nudge@here"]}"#);
        assert!(desk.set(&ann(), vec![bad]).unwrap_err().to_string().contains("no name of a channel"));
        let id = desk.new_gate_id();
        let mut ask = question(id, "Ship?");
        let those = ["ann", "bob"].map(|name| Approvers::Person(name.into()));
        ask.demands.approvers = Approvers::Some { least: 1, of: those.into() };
        ask.demands.remind_ms = vec![1_000];
        desk.ask(&coder(), ask).unwrap();
        let claim = |channel: &str| {
            let taken = desk.claim_notices(channel, 10).unwrap().into_iter();
            let mut who: Vec<_> = taken
                .map(|d| {
                    desk.settle_notice(&d.key).unwrap();
                    (d.text.to.unwrap_or_default(), d.text.occasion.unwrap())
                })
                .collect();
            who.sort();
            who
        };
        let bob = |why| vec![("bob".to_owned(), why)];
        assert_eq!(claim("phone"), bob(NoticeReason::Asked));
        assert_eq!(claim("mail"), bob(NoticeReason::Asked));
        assert_eq!(claim("room"), [(String::new(), NoticeReason::Asked)]);
        bench.clock.jump(2 * SECOND);
        desk.fire_due().unwrap();
        assert_eq!(claim("phone"), bob(NoticeReason::Reminded));
        bench.clock.jump(3 * 3_600 * SECOND);
        assert_eq!(claim("phone"), [("ann".to_owned(), NoticeReason::Reminded)]);
    }
}

on_each! {
    /// Who claims and dies tells nothing; the notice comes back. Who fails tries again, later and later.
    fn a_notice_is_not_forgotten(bench: &Bench) {
        let desk = bench.desk.clone().with_channels(vec!["mail".into()]);
        desk.ask(&coder(), question(desk.new_gate_id(), "Ship?")).unwrap();
        let claim = || desk.claim_notices("mail", 10).unwrap();
        assert_eq!(claim().len(), 1);
        assert!(claim().is_empty(), "somebody has it");
        bench.clock.jump(61 * SECOND);
        let again = claim();
        assert_eq!(again.len(), 1, "whoever had it is gone");
        assert_eq!(again[0].attempts, 2);
        let mut pause = 2 * SECOND;
        for _ in 0..3 {
            let claimed = again.first().unwrap();
            desk.fail_notice(claimed, "no route to host").unwrap();
            let shown = desk.notices(&ann(), 10).unwrap();
            assert_eq!(shown[0].error.as_deref(), Some("no route to host"));
            bench.clock.jump(SECOND);
            assert!(claim().is_empty(), "not yet");
            pause *= 2;
            bench.clock.jump(pause + 61 * SECOND);
            assert_eq!(claim().len(), 1);
        }
        desk.settle_notice(&again[0].key).unwrap();
        bench.clock.jump(86_400 * SECOND);
        assert!(claim().is_empty());
    }
}
