//! A webhook: signed, thin, tried again while it fails, and dropped when nobody needs it any more.

use super::receiver::{Manner, Receiver, verify};
use super::{hook, let_time_pass, notices, send, set_channels};
use crate::harness::on_both;

on_both! {
    /// What a receiver gets can be verified, says what to look at, and holds nothing that decides.
    fn it_is_signed_and_thin(space: &Space) {
        let receiver = Receiver::good();
        set_channels(space, &hook("room", &receiver, ""));
        let question = "Ship it?\r\nX-Evil: 1\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}";
        let gate = space.ask("coder", &[question, "--verdict", "--deadline", "2h",
            "--context", "the password is hunter2"]);
        send(space);
        send(space);
        let heard = receiver.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        let heard = &heard[0];
        verify(heard);
        let said = heard.json();
        assert_eq!(said["type"], "gate.asked");
        assert_eq!(heard.data("handle"), gate.as_str());
        assert_eq!(heard.data("look"), format!("sayso show {gate}"));
        assert_eq!(heard.data("asked_by"), "coder");
        assert_eq!(heard.data("kind"), "decision");
        assert_eq!(heard.data("risk"), "medium");
        assert_eq!(heard.data("at_end"), "deny");
        assert_eq!(heard.data("notice"), heard.id());
        let title = heard.data("title").as_str().unwrap().to_owned();
        assert!(title.starts_with("Ship it? ⏎ X-Evil: 1␛]52"), "{title}");
        for hostile in ["\u{1b}", "\u{7}", "\u{202e}", "\r", "\n", "hunter2", "sayso_"] {
            assert!(!title.contains(hostile), "{hostile:?} in {title:?}");
            assert!(!heard.body.contains(hostile), "{hostile:?} in {}", heard.body);
        }
        assert!(!heard.headers.contains_key("x-evil"));
        assert!(heard.body.len() < 2_000, "{}", heard.body.len());
        space.ann(&["show", &gate]).says("told by room");
        space.verify();
    }
}

on_both! {
    /// Whatever a receiver does short of hearing it, the notice stays, is shown with its reason and comes
    /// again, under the id it always had.
    fn what_fails_is_shown_and_comes_again(space: &Space) {
        let receiver = Receiver::new(|call| match call {
            0 => Manner::Says(500, "no\u{1b}[2Jroom".into()),
            1 => Manner::HangsUp,
            2 => Manner::Hangs,
            3 => Manner::Says(404, "x".repeat(100_000)),
            4 => Manner::Redirects("http://127.0.0.1:1/".into()),
            _ => Manner::Good,
        });
        set_channels(space, &hook("room", &receiver, ", timeout: 2s"));
        let gate = space.ask("coder", &["Ship?"]);
        for expected in ["it answered 500: no␛[2Jroom", "", "no answer in time", "it answered 404", "redirect"] {
            space.run(crate::harness::Who::Script, &["notices", "send"]).says("failed");
            let list = notices(space, &[]);
            assert_eq!(list.len(), 1, "{list:?}");
            let error = list[0]["error"].as_str().unwrap();
            assert!(error.contains(expected) && !error.is_empty(), "{expected}: {error}");
            assert!(error.chars().count() <= 300, "{error}");
            assert_eq!(list[0]["state"], "failing");
            assert_eq!((&list[0]["gate"], &list[0]["channel"]), (&gate.as_str().into(), &"room".into()));
            space.ann(&["notices"]).says("tried");
            space.ann(&["show", &gate]).says("not told yet: by room");
            space.ann(&["doctor", "--quick"]).says("could not be sent");
            let_time_pass(space);
        }
        send(space);
        assert_eq!(notices(space, &[]).len(), 0);
        assert_eq!(receiver.calls(), 6);
        let ids: std::collections::BTreeSet<_> =
            receiver.heard().iter().map(|heard| heard.id().to_owned()).collect();
        assert_eq!((ids.len(), receiver.ids().len()), (1, 1), "one notice has one id");
        receiver.heard().iter().for_each(verify);
        let all = notices(space, &["--gate", &gate]);
        assert_eq!((&all[0]["state"], &all[0]["attempts"]), (&"sent".into(), &6.into()));
        space.ann(&["doctor", "--quick"]).never_says("could not be sent");
    }
}

on_both! {
    /// Of what is settled nobody hears; who heard of it hears that, if the channel is to.
    fn after_the_answer_nothing_is_sent(space: &Space) {
        let (quiet, wants) = (Receiver::good(), Receiver::good());
        set_channels(space, &(hook("quiet", &quiet, "") + &hook("wants", &wants, ", settled: true")));
        let unsent = space.ask("coder", &["Ship?"]);
        space.ann(&["respond", &unsent, "Yes."]).ok();
        send(space);
        assert_eq!((quiet.calls(), wants.calls()), (0, 0));
        let dropped = notices(space, &["--gate", &unsent]);
        assert_eq!(dropped.len(), 2);
        assert!(dropped.iter().all(|notice| notice["state"] == "dropped"), "{dropped:?}");
        let sent = space.ask("coder", &["Ship it?"]);
        send(space);
        space.ann(&["respond", &sent, "Yes."]).ok();
        send(space);
        assert_eq!((quiet.calls(), wants.calls()), (1, 2));
        let last = wants.heard().pop().unwrap();
        verify(&last);
        assert_eq!((last.json()["type"].clone(), last.data("handle")), ("gate.settled".into(), sent.into()));
        assert!(!last.body.contains("Yes"), "that it is settled, not how: {}", last.body);
        space.verify();
    }
}
