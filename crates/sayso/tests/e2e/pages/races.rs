//! At the same moment from everywhere: one counts, and the page tells whoever lost (G); what is settled elsewhere is
//! settled here (N).
#![allow(clippy::print_stdout, reason = "what was counted is to be read")]

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Who, in_places, on_both};
use serde_json::json;

on_both! {
    /// The page, a terminal, the API and the clock at once. Whoever wins, the page says who, and never that its own
    /// answer counted when it did not.
    fn one_of_all_doors_wins(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        let (mut lost, mut told) = (0, 0);
        for round in 0..6 {
            let mut body = approval(&format!("Who is first {round}?"));
            body["deadline"] = json!("10s");
            let gate = desk.server.ask("coder", body);
            desk.look_at(&gate);
            // The page holds its answer for five seconds, and others come just before that, just after, or not.
            page.press("a");
            page.says("approving");
            let before = [5_150, 4_600, 4_950, 4_990, 5_050, 10_500][round];
            std::thread::sleep(std::time::Duration::from_millis(before));
            std::thread::scope(|scope| {
                let cli = scope.spawn(|| space.run(Who::Human("bob"), &["reject", text(&gate["handle"]), "no"]));
                let _ = desk.server.answer("bob", &gate, json!({"verdict": "rejected", "reason": "no"}));
                cli.join().unwrap();
            });
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
        assert!(lost >= 2, "the page won {} of 6: that was no race", 6 - lost);
        println!("the page lost {lost} of 6, and was told of {told} after it had spoken");
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
        desk.server.post("coder", &format!("/gates/{}/withdraw", text(&withdrawn["id"])), json!({"reason": "found it"})).is(200);
        is_over(&withdrawn, "withdrawn by coder");
        desk.look_at(&deleted);
        space.ann(&["delete", &task, "--reason", "not wanted"]).ok();
        is_over(&deleted, "withdrawn");
        page.until("document.getElementById('waiting').textContent === ''");
        desk.is_content();
    }
}
