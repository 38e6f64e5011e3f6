//! Scenario Z: each question notifies each channel exactly once per level; a failing channel is retried and
//! shown, and delays nothing.
#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::receiver::{Manner, Receiver, verify};
use super::{hook, let_time_pass, notices, set_channels, until};
use crate::harness::{Space, Who, on_both};
use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::Duration;

/// How many questions are asked, and how many notices each of them is on a channel: asked, and reminded.
const GATES: usize = 12;
const LEVELS: usize = 2;

fn courier(space: &Space) -> Child {
    let mut command = space.command(Who::Script, &["notices", "send", "--watch"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn end(mut courier: Child) {
    let _ = std::process::Command::new("kill").arg(courier.id().to_string()).status();
    courier.wait().unwrap();
}

on_both! {
    /// Three couriers race, one is killed in the middle of it, one receiver does everything wrong there is:
    /// at the end each notice was heard, each under its one id.
    fn each_is_told_once_per_level_and_channel(space: &Space) {
        let good = Receiver::good();
        let bad = Receiver::new(|call| match call % 7 {
            0 => Manner::Says(503, "busy".into()),
            1 => Manner::HangsUp,
            2 => Manner::Late(Duration::from_secs(3)),
            3 => Manner::Redirects("http://127.0.0.1:1/".into()),
            4 if call < 10 => Manner::Hangs,
            _ => Manner::Good,
        });
        let file = space.path().join(".sayso/heard.txt");
        set_channels(space, &(hook("good", &good, "") + &hook("bad", &bad, ", timeout: 1s")
            + "script: {command: [sh, -c, 'echo $SAYSO_NOTICE_ID >> heard.txt']}\n"));
        let mut couriers: Vec<_> = (0..3).map(|_| courier(space)).collect();
        let gates: BTreeSet<_> = (0..GATES)
            .map(|n| space.ask("coder", &[&format!("Question {n}?"), "--remind", "1s"]))
            .collect();
        until("the first notices", || bad.calls() >= 3);
        let mut killed = couriers.remove(0);
        killed.kill().unwrap();
        killed.wait().unwrap();
        couriers.push(courier(space));
        let scripted = || -> Vec<String> {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        let expected = GATES * LEVELS;
        until("every notice on every channel", || {
            // What the killed one had taken comes back after a minute; that minute passes here.
            let_time_pass(space);
            std::thread::sleep(Duration::from_millis(500));
            let distinct: BTreeSet<_> = scripted().into_iter().collect();
            good.ids().len() >= expected && bad.ids().len() >= expected && distinct.len() >= expected
        });
        until("all settled", || {
            let_time_pass(space);
            std::thread::sleep(Duration::from_millis(500));
            notices(space, &[]).is_empty()
        });
        couriers.into_iter().for_each(end);
        for receiver in [&good, &bad] {
            let heard = receiver.heard();
            heard.iter().for_each(verify);
            assert_eq!(receiver.ids().len(), expected, "missing 0, and none that nobody wrote");
            let about: BTreeSet<_> = heard.iter().map(|h| {
                let (handle, kind) = (h.data("handle"), h.json()["type"].clone());
                (handle.as_str().unwrap().to_owned(), kind.as_str().unwrap().to_owned())
            }).collect();
            assert_eq!(about.len(), expected);
            assert_eq!(about.iter().map(|(gate, _)| gate.clone()).collect::<BTreeSet<_>>(), gates);
        }
        let scripted = scripted();
        let distinct: BTreeSet<_> = scripted.iter().collect();
        assert_eq!(distinct.len(), expected);
        println!("{:?}: {expected} notices on each of 3 channels; heard good {}, bad {} of {} calls, script {}",
            space.backend, good.heard().len(), bad.heard().len(), bad.calls(), scripted.len());
        assert!(bad.calls() > expected, "nothing went wrong, so nothing was shown");
        space.verify();
    }
}

on_both! {
    /// Where nothing goes wrong, couriers that race send each notice once and no more.
    fn where_nothing_fails_each_is_sent_once(space: &Space) {
        let good = Receiver::good();
        set_channels(space, &hook("good", &good, ""));
        let couriers: Vec<_> = (0..3).map(|_| courier(space)).collect();
        for n in 0..GATES {
            space.ask("coder", &[&format!("Question {n}?")]);
        }
        until("every notice", || good.ids().len() == GATES && notices(space, &[]).is_empty());
        couriers.into_iter().for_each(end);
        assert_eq!((good.calls(), good.heard().len()), (GATES, GATES));
    }
}

on_both! {
    /// A receiver that never answers holds up neither another channel, nor another courier's, nor an answer.
    fn one_that_hangs_delays_nothing(space: &Space) {
        let (hangs, good) = (Receiver::new(|_| Manner::Hangs), Receiver::good());
        set_channels(space, &(hook("hangs", &hangs, ", timeout: 30s") + &hook("room", &good, "")));
        let courier = courier(space);
        let first: Vec<_> = (0..6).map(|n| space.ask("coder", &[&format!("First {n}?")])).collect();
        until("calls that hang", || hangs.calls() >= 4);
        until("the other channel", || good.ids().len() == first.len());
        for gate in &first {
            space.ann(&["respond", gate, "Yes."]).ok();
        }
        let later = space.ask("coder", &["Later?"]);
        until("the other channel, later", || good.ids().len() == first.len() + 1);
        assert_eq!(good.heard().pop().unwrap().data("handle"), later.as_str());
        assert_eq!(hangs.heard().len(), 0, "they hang all the while");
        hangs.release();
        end(courier);
        space.verify();
    }
}
