//! Endpoints that hang hold up nothing but what is sent to them (R23).

use super::receiver::{Manner, Receiver};
use super::{hook, set_channels, until};
use crate::api::{Server, text};
use crate::harness::on_both;
use serde_json::json;
use std::time::{Duration, Instant};

/// So many hang, for so long each; so many questions are asked and answered meanwhile.
const ENDPOINTS: usize = 48;
const HANG: Duration = Duration::from_secs(30);
const ROUNDS: usize = 10;

on_both! {
    /// All of them hang, and everybody is asked, answers, and is heard.
    fn answers_do_not_wait_for_them(space: &Space) {
        let hanging: Vec<_> = (0..ENDPOINTS).map(|_| Receiver::new(|_| Manner::Hangs)).collect();
        let lines = hanging.iter().enumerate();
        let lines: String = lines.map(|(n, at)| hook(&format!("h{n}"), at, ", timeout: 30s")).collect();
        set_channels(space, &lines);
        let server = Server::of(space);
        let began = Instant::now();
        server.ask("coder", json!({"question": "Is anybody there?"}));
        let calling = || hanging.iter().filter(|at| at.calls() > 0).count();
        until("all of them are being called", || calling() == ENDPOINTS);
        for round in 0..ROUNDS {
            let gate = server.ask("coder", json!({"question": format!("Number {round}?")}));
            server.answer("bob", &gate, json!({"verdict": "approved", "text": "yes"})).is(200);
            let heard = server.get("coder", &format!("/gates/{}?wait=30s", text(&gate["id"]))).is(200);
            assert_eq!(heard["answer"]["text"], "yes");
        }
        assert!(began.elapsed() < HANG, "some may have been given up: nothing was shown");
        drop(server);
        space.verify();
    }
}
