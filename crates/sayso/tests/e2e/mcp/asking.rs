//! Asking: once, answered once, whatever is killed in between (A, F1, I, L).

use super::client::{Client, said};
use crate::harness::{Space, Who, everywhere};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn colour() -> Value {
    json!({"question": "Which colour?", "context": "For the door.", "options": [
        "red", {"name": "blue", "consequence": "matches the sky"}
    ]})
}

/// The gates that wait, once there are so many.
#[track_caller]
pub fn waiting_for(space: &Space, many: usize) -> Vec<Value> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let open = space.ann(&["inbox", "--json"]).json();
        let items = open["items"].as_array().unwrap();
        assert!(items.len() <= many, "asked twice: {open}");
        if items.len() == many {
            return items.clone();
        }
        assert!(Instant::now() < end, "nobody asked");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The one gate that waits.
#[track_caller]
fn waiting(space: &Space) -> String {
    waiting_for(space, 1)[0]["handle"].as_str().unwrap().to_owned()
}

everywhere! {
    /// The call is held, a person answers, and the call has the answer. That the agent comes again
    /// shows that it got it.
    fn a_held_question_is_answered(space: &Space) {
        let mut client = Client::of(space, "coder", "30s");
        let call = client.begin_call("ask_human", &colour());
        let gate = waiting(space);
        let card = space.show(&gate);
        assert_eq!((&card["asked_by"], &card["asked_by_role"]), (&json!("coder"), &json!("agent")));
        assert_eq!(card["options"][1]["consequence"], "matches the sky");
        assert_eq!(card["context"], "For the door.");
        space.ann(&["choose", &gate, "blue"]).ok();
        let answer = said(&client.reply(call));
        assert_eq!((&answer["state"], &answer["answer"]), (&json!("answered"), &json!("blue")));
        assert_eq!(answer["answered_by"], "ann");
        assert_eq!(space.show(&gate)["delivery"]["state"], "delivered");
        client.call("check_messages", &json!({}));
        assert_eq!(space.show(&gate)["delivery"]["state"], "delivered", "whoever looks may look for it");
        client.call("create_task", &json!({"title": "Paint the door blue"}));
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        assert_eq!(client.hangs_up(), 0);
        space.verify();
    }
}

everywhere! {
    /// Nobody answers in time: the call comes back without an answer, and says that this is no yes. The
    /// same question later is the same gate, and gets the answer that came meanwhile.
    fn a_late_answer_is_not_lost(space: &Space) {
        let mut client = Client::of(space, "coder", "1s");
        let first = client.call("ask_human", &colour());
        assert_eq!(first["state"], "open");
        assert!(first["next"].as_str().unwrap().contains("not a yes"), "{first}");
        assert!(first["poll_interval_sec"].as_u64() > Some(0));
        let gate = waiting(space);
        assert_eq!(first["gate"], gate.as_str());
        assert_eq!(client.call("ask_human", &colour())["gate"], gate.as_str(), "the same question");
        space.ann(&["choose", &gate, "red"]).ok();
        let answer = client.call("ask_human", &colour());
        assert_eq!((&answer["gate"], &answer["answer"]), (&json!(gate), &json!("red")));
        let told = client.call("check_messages", &json!({}));
        assert_eq!(told["answers"][0]["answer"], "red", "{told}");
        // It had the answer: now the same words are a new question.
        let again = client.call("ask_human", &json!({"question": "Which colour?", "context": "For the door.",
            "options": ["red", {"name": "blue", "consequence": "matches the sky"}], "wait_sec": 0}));
        assert_ne!(again["gate"], gate.as_str());
        assert_eq!(again["state"], "open");
        space.verify();
    }
}

everywhere! {
    /// The server is killed while it waits; the next one finds the same question, once.
    fn killed_while_it_waits_nothing_is_lost(space: &Space) {
        for answered_before in [true, false] {
            let mut first = Client::of(space, "coder", "30s");
            first.begin_call("ask_human", &colour());
            let gate = waiting(space);
            first.kill();
            if answered_before {
                space.ann(&["choose", &gate, "blue"]).ok();
            }
            let mut second = Client::of(space, "coder", "30s");
            let call = second.begin_call("ask_human", &colour());
            if !answered_before {
                std::thread::sleep(Duration::from_millis(300));
                assert_eq!(waiting(space), gate);
                space.ann(&["choose", &gate, "blue"]).ok();
            }
            let answer = said(&second.reply(call));
            assert_eq!((&answer["gate"], &answer["answer"]), (&json!(gate), &json!("blue")));
            second.call("create_task", &json!({"title": "Paint it"}));
            assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        }
        space.verify();
    }
}

everywhere! {
    /// A client that gives up leaves the question where it is.
    fn given_up_the_question_stays(space: &Space) {
        let mut client = Client::of(space, "coder", "30s");
        let call = client.begin_call("ask_human", &json!({"question": "Which port?"}));
        let gate = waiting(space);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
        client.call("list_gates", &json!({}));
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["respond", &gate, "8080"]).ok();
        assert_eq!(client.call("check_gate", &json!({"gate": gate}))["answer"], "8080");
        space.verify();
    }
}

everywhere! {
    /// A gate without waiting: its id at once, then how it stands, lists, taking it back.
    fn gates_without_waiting(space: &Space) {
        let mut client = Client::of(space, "coder", "30s");
        let began = Instant::now();
        let asked = client.call("request_gate", &json!({
            "question": "May I drop the table?", "verdict": true, "deadline_sec": 7200, "at_end": "deny"
        }));
        assert!(began.elapsed() < Duration::from_secs(10));
        let gate = asked["gate"].as_str().unwrap();
        assert_eq!(asked["state"], "open");
        assert!(asked["deadline"].is_string() && asked["waits_for"].is_string(), "{asked}");
        assert!(asked["next"].as_str().unwrap().contains("it is a no"), "{asked}");
        let list = client.call("list_gates", &json!({}));
        assert_eq!(list["gates"][0]["gate"], gate);
        space.ann(&["reject", gate, "It is in use."]).ok();
        let said = client.call("check_gate", &json!({"gate": gate}));
        assert_eq!((&said["verdict"], &said["reason"]), (&json!("rejected"), &json!("It is in use.")));
        let other = client.call("request_gate", &json!({"question": "Which port?"}));
        let taken = client.call("withdraw_gate", &json!({"gate": other["gate"], "reason": "found it"}));
        assert_eq!(taken["state"], "withdrawn");
        assert_eq!(client.call("list_gates", &json!({"ended": true}))["gates"].as_array().unwrap().len(), 2);
        // The same id is the same gate, and another content under it is refused.
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let mine = json!({"question": "One?", "id": id});
        let one = client.call("request_gate", &mine);
        assert_eq!(client.call("request_gate", &mine)["gate"], one["gate"]);
        assert_eq!(client.refused("request_gate", &json!({"question": "Two?", "id": id})), "SAY030");
        space.verify();
    }
}

everywhere! {
    /// Two agents do not see each other's gates, and neither says who it is by an argument.
    fn each_agent_has_its_own(space: &Space) {
        let mut coder = Client::of(space, "coder", "0s");
        let mut tester = Client::of(space, "tester", "0s");
        let gate = coder.call("request_gate", &json!({"question": "Mine?"}))["gate"].clone();
        assert_ne!(tester.refused("check_gate", &json!({"gate": gate})), "");
        assert_ne!(tester.refused("withdraw_gate", &json!({"gate": gate, "reason": "x"})), "");
        assert_eq!(tester.call("list_gates", &json!({}))["gates"], json!([]));
        assert_eq!(tester.refused("request_gate", &json!({"question": "x", "agent": "coder"})), "SAY038");
        space.verify();
    }
}

everywhere! {
    /// Two answers got lost on the way, without a word from the client: they are there to be looked at until
    /// the agent goes on.
    fn lost_answers_are_there_to_be_looked_at(space: &Space) {
        let mut client = Client::of(space, "coder", "30s");
        let ask = |n: usize| json!({"question": format!("Number {n}?")});
        let calls = [1, 2].map(|n| client.begin_call("ask_human", &ask(n)));
        let gates = waiting_for(space, 2);
        for gate in &gates {
            let number = gate["question"].as_str().unwrap();
            space.ann(&["respond", gate["handle"].as_str().unwrap(), &format!("answer to {number}")]).ok();
        }
        for call in calls {
            client.reply(call);
        }
        assert_eq!(client.call("check_messages", &json!({}))["answers"].as_array().unwrap().len(), 2);
        let told = client.call("check_messages", &json!({}))["answers"].to_string();
        assert!(told.contains("answer to Number 1?") && told.contains("answer to Number 2?"), "{told}");
        client.call("create_task", &json!({"title": "Go on"}));
        assert_eq!(client.call("check_messages", &json!({}))["answers"], json!([]));
        space.verify();
    }
}

everywhere! {
    /// A yes that was heard is not heard again, however it was heard and whatever the agent did with it
    /// elsewhere: in this conversation, or in the next one after a clean end.
    fn a_yes_is_not_repeated(space: &Space) {
        let ask = json!({"question": "May I push?", "verdict": true, "wait_sec": 0});
        let mut client = Client::of(space, "coder", "30s");
        let mut last = String::new();
        for way in ["ask_human", "check_messages", "check_gate", "hook", "hang up"] {
            let first = client.call("ask_human", &ask);
            assert_eq!(first["state"], "open", "{way}");
            let gate = first["gate"].as_str().unwrap().to_owned();
            assert_ne!(gate, last, "{way}");
            space.ann(&["approve", &gate]).ok();
            match way {
                "check_messages" => drop(client.call(way, &json!({}))),
                "check_gate" => drop(client.call(way, &json!({"gate": gate}))),
                "hook" => {
                    let body = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s"}).to_string();
                    let args = ["hook", "claude-code", "UserPromptSubmit"];
                    space.run_with_input(Who::Agent("coder"), &args, &body).says("approved").ok();
                }
                _ => assert_eq!(client.call("ask_human", &ask)["verdict"], "approved", "{way}"),
            }
            if way == "hang up" {
                client.hangs_up();
                client = Client::of(space, "coder", "30s");
            }
            last = gate;
        }
        assert_eq!(client.call("ask_human", &ask)["state"], "open", "asked anew");
        // Nor by the tool that does not wait.
        let ask = json!({"question": "May I pull?", "verdict": true});
        let gate = client.call("request_gate", &ask)["gate"].as_str().unwrap().to_owned();
        space.ann(&["approve", &gate]).ok();
        assert_eq!(client.call("check_gate", &json!({"gate": gate}))["verdict"], "approved");
        assert_eq!(client.call("request_gate", &ask)["state"], "open");
        space.verify();
    }
}

everywhere! {
    /// A token that is taken back counts no more, also where its agent was let in before; and whoever is
    /// sent away while it waits does not hear the answer.
    fn sent_away_it_gets_nothing(space: &Space) {
        let mut client = Client::of(space, "coder", "30s");
        let call = client.begin_call("ask_human", &json!({"question": "Which password?"}));
        let gate = waiting(space);
        space.revoke("coder");
        space.ann(&["respond", &gate, "a secret"]).ok();
        let reply = client.reply(call);
        assert!(!reply.to_string().contains("a secret"), "{reply}");
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        let id = client.begin_call("create_task", &json!({"title": "One more"}));
        assert!(client.reply(id)["error"]["message"].as_str().unwrap().contains("SAY028"));
        assert_eq!(space.show(&gate)["delivery"]["state"], "pending");
        space.verify();
    }
}

/// A person's token opens this door to nobody, nor does none of ours.
#[test]
fn only_agents_come_in() {
    let space = Space::new(crate::harness::Backend::Sqlite);
    space.run_with_input(Who::Human("ann"), &["mcp"], "").refused("SAY037");
    std::fs::write(space.token("nobody"), "sayso_a_0000").unwrap();
    let holder = space.token("nobody");
    space.run_with_input(Who::Holder(&holder), &["mcp"], "").refused("SAY028");
}
