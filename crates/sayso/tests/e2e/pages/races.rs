//! At the same moment from everywhere: one counts, and the page tells whoever lost (G); what is settled elsewhere is
//! settled here (N).
#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Who, in_places, on_both};
use sayso_server::keys::GRACE;
use serde_json::json;
use std::time::{Duration, Instant};

/// When others come, after somebody spoke at the page, which holds it for five seconds: long before it is sent, just
/// before, just after; none is the clock alone.
const OTHERS: [Option<Duration>; 6] = [
    Some(Duration::from_millis(5_150)),
    Some(Duration::from_millis(2_500)),
    Some(Duration::from_millis(4_600)),
    Some(Duration::from_millis(4_950)),
    Some(Duration::from_millis(5_050)),
    None,
];

/// Long enough to look at a card and to speak, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(25);

on_both! {
    /// The page, a terminal, the API and the clock at once. Whoever wins, the page says who, and never that its own
    /// answer counted when it did not.
    fn one_of_all_doors_wins(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let (mut lost, mut told) = (0, 0);
        for (round, after) in OTHERS.iter().enumerate() {
            let mut body = approval(&format!("Who is first {round}?"));
            body["deadline"] = json!(format!("{}s", DEADLINE.as_secs()));
            let asked = Instant::now();
            let gate = desk.server.ask("coder", body);
            desk.look_at(&gate);
            if after.is_none() {
                // What is held is sent when the time is up.
                std::thread::sleep((DEADLINE - GRACE).saturating_sub(asked.elapsed()));
            }
            let spoke = Instant::now();
            page.press("a");
            page.says("approving");
            if let Some(after) = after {
                std::thread::sleep(after.saturating_sub(spoke.elapsed()));
                std::thread::scope(|scope| {
                    let cli = scope.spawn(|| space.run(Who::Human("bob"), &["reject", text(&gate["handle"]), "no"]));
                    let _ = desk.server.answer("bob", &gate, json!({"verdict": "rejected", "reason": "no"}));
                    cli.join().unwrap();
                });
            }
            let ended = desk.ended(&gate);
            page.until("document.getElementById('card').dataset.open === 'false'");
            let by_page = ended["answer"]["door"] == "web";
            let by = ended["answer"]["by"].as_str().map_or("expired".to_owned(), |by| format!("by {by}"));
            page.until(&format!("document.getElementById('ending').textContent.includes({})", json!(by)));
            page.until(&format!("document.querySelector('.row[data-handle={}]').classList.contains('over')", text(&gate["handle"])));
            if !by_page {
                lost += 1;
                // It was told, or had not been sent yet when the card closed.
                page.until("!document.body.innerText.includes('approving')");
                told += usize::from(page.text().contains("does not count"));
                assert!(!page.text().contains("answered, approved"), "{}", page.text());
            }
        }
        let all = OTHERS.len();
        assert!(lost >= 2, "the page won {} of {all}: that was no race", all - lost);
        println!("the page lost {lost} of {all}, and was told of {told} after it had spoken");
        desk.is_content_but_for_conflicts();
        space.verify();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Settled elsewhere: answered in a terminal, withdrawn by its asker, its task deleted. Each shows at once.
    fn what_is_settled_elsewhere_is_settled_here(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let task = space.create(&["Going away"]);
        let answered = desk.server.ask("coder", approval("In a terminal?"));
        let withdrawn = desk.server.ask("coder", approval("Taken back?"));
        let deleted = desk.server.ask("coder", json!({"question": "For a task?", "task": task}));
        let is_over = |gate: &serde_json::Value, words: &str| {
            page.until("document.getElementById('card').dataset.open === 'false'");
            page.says(words);
            let row = format!("document.querySelector('.row[data-handle={}]')", text(&gate["handle"]));
            page.until(&format!("{row}.classList.contains('over')"));
            assert_eq!(page.eval("document.getElementById('answer')"), json!(null));
        };
        desk.look_at(&answered);
        space.run(Who::Human("bob"), &["approve", text(&answered["handle"])]).ok();
        is_over(&answered, "approved by bob");
        desk.look_at(&withdrawn);
        page.fill("[name=reason]", "only after a backup");
        desk.server.post("coder", &format!("/gates/{}/withdraw", text(&withdrawn["id"])), json!({"reason": "found it"})).is(200);
        is_over(&withdrawn, "withdrawn by coder");
        // What was written is not lost with the card.
        page.until("document.querySelector('.written pre')?.textContent === 'only after a backup'");
        page.click(".written button");
        page.says("only after a backup");
        page.press("Escape");
        desk.look_at(&deleted);
        space.ann(&["delete", &task, "--reason", "not wanted"]).ok();
        is_over(&deleted, "withdrawn");
        page.until("document.getElementById('waiting').textContent === ''");
        desk.is_content();
    }
}
