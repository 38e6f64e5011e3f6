//! The revisions of the protocol, and windows that show a question without taking an answer.

use super::client::{Client, NEWEST, said};
use crate::harness::{Backend, Space, Who, everywhere};
use serde_json::{Value, json};

/// A client that can show a window.
fn windows() -> Value {
    json!({"elicitation": {"form": {}}})
}

#[test]
fn every_revision_that_clients_speak() {
    let space = Space::new(Backend::Sqlite);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(&space, Who::Agent("coder"), &["--hold", "0s"]);
        let hands = client.shakes_hands(version, &json!({}));
        assert_eq!(hands["result"]["protocolVersion"], version);
        let about = hands["result"]["instructions"].as_str().unwrap();
        assert!(about.contains("You cannot answer a gate yourself"), "{about}");
        assert_eq!(client.call("list_gates", &json!({}))["gates"], json!([]));
        assert_eq!(client.hangs_up(), 0);
    }
    let mut client = Client::start(&space, Who::Agent("coder"), &["--hold", "0s"]);
    client.speaks_newest(&json!({}));
    let found = client.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEWEST)), "{found}");
    assert_eq!(client.call("list_gates", &json!({}))["gates"], json!([]));
    assert_eq!(client.request("ping", json!({}))["error"]["code"], -32601);
}

/// A client that says nothing wanted nothing.
#[test]
fn hung_up_before_the_first_word() {
    let space = Space::new(Backend::Sqlite);
    assert_eq!(Client::start(&space, Who::Agent("coder"), &[]).hangs_up(), 0);
}

everywhere! {
    /// What is typed into the client's own window comes with the agent's credential: it answers nothing.
    fn a_window_shows_and_takes_no_answer(space: &Space) {
        let mut client = Client::able(space, "coder", "30s", &windows());
        let call = client.begin_call("ask_human", &json!({"question": "Ship it?", "verdict": true}));
        let window = client.hears();
        assert_eq!(window["method"], "elicitation/create");
        let message = window["params"]["message"].as_str().unwrap();
        let open = space.ann(&["inbox", "--json"]).json();
        let gate = open["items"][0]["handle"].as_str().unwrap().to_owned();
        assert!(message.contains("Ship it?") && message.contains(&gate), "{message}");
        assert_eq!(window["params"]["requestedSchema"]["properties"], json!({}));
        let result = json!({"action": "accept", "content": {"answer": "yes", "verdict": "approved"}});
        client.send(&json!({"jsonrpc": "2.0", "id": window["id"], "result": result}));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(space.show(&gate)["state"], "open");
        space.ann(&["reject", &gate, "not today"]).ok();
        let answer = said(&client.reply(call));
        assert_eq!((&answer["verdict"], &answer["reason"]), (&json!("rejected"), &json!("not today")));
        space.verify();
    }
}

everywhere! {
    /// The newest revision has no requests from a server: the question comes back as something to show,
    /// and the client calls again, whatever its user did with the window.
    fn the_newest_revision_shows_and_calls_again(space: &Space) {
        let mut client = Client::start(space, Who::Agent("coder"), &["--hold", "30s"]);
        client.speaks_newest(&windows());
        let params = json!({"name": "ask_human", "arguments": {"question": "Which port?"}});
        let shown = client.request("tools/call", params.clone());
        assert_eq!(shown["result"]["resultType"], "input_required", "{shown}");
        let requests = shown["result"]["inputRequests"].as_object().unwrap();
        let (gate, window) = requests.iter().next().unwrap();
        assert_eq!(window["method"], "elicitation/create");
        let mut again = params;
        again["inputResponses"] = json!({gate.as_str(): {"action": "accept", "content": {"answer": "22"}}});
        let call = client.begin("tools/call", again);
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(space.show(gate)["state"], "open", "the window answered nothing");
        space.ann(&["respond", gate, "8080"]).ok();
        assert_eq!(said(&client.reply(call))["answer"], "8080");
        assert_eq!(space.ann(&["inbox", "--json"]).json()["items"], json!([]));
        space.verify();
    }
}
