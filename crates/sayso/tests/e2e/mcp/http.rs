//! Over HTTP: whose token it is counts, and a killed server loses nothing (L, R29).

use super::asking::waiting_for;
use super::client::{Server, call_at, said};
use crate::harness::{Space, on_both};
use serde_json::json;

fn token(space: &Space, name: &str) -> String {
    std::fs::read_to_string(space.token(name)).unwrap().trim().to_owned()
}

on_both! {
    /// Nobody without an agent's token gets in, and no page of another host's.
    fn only_agents_with_a_token(space: &Space) {
        only_agents(space, Server::start(space, "127.0.0.1:0", "0s"));
    }
}

on_both! {
    /// The same at a server of everything, where nobody learns either which spaces there are.
    fn only_agents_with_a_token_at_a_server(space: &Space) {
        let server = Server::serve(space);
        let other = format!("{}/mcp/another", server.address);
        let coder = token(space, "coder");
        for name in [None, Some(coder.as_str())] {
            assert_eq!(call_at(&other, name, "list_gates", &json!({})).0, 401);
        }
        only_agents(space, server);
    }
}

fn only_agents(space: &Space, server: Server) {
    let list = |token: Option<&str>| server.call(token, "list_gates", &json!({})).0;
    let coder = token(space, "coder");
    assert_eq!(list(Some(&coder)), 200);
    assert_eq!(list(None), 401);
    assert_eq!(list(Some("sayso_a_0000")), 401);
    assert_eq!(list(Some(&token(space, "ann"))), 403, "a person's token is not for programs");
    let body = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}";
    assert_eq!(server.post(Some(&coder), "evil.example", "", body).0, 403);
    assert!((400..500).contains(&server.post(Some(&coder), &server.address, "", "{").0));
    space.revoke("coder");
    assert_eq!(list(Some(&coder)), 401, "revoked at once");
    assert_eq!(server.ends(), 0);
}

on_both! {
    /// Two agents wait at one server; each gets its own answer.
    fn each_gets_its_own_answer(space: &Space) {
        each_its_own(space, &Server::start(space, "127.0.0.1:0", "30s"), "here");
        each_its_own(space, &Server::serve(space), "there");
    }
}

fn each_its_own(space: &Space, server: &Server, place: &str) {
    let (server, ask) = (server, |name: &str| json!({"question": format!("{name} {place}?")}));
    std::thread::scope(|scope| {
        let calls: Vec<_> = ["coder", "tester"]
            .map(|name| {
                let (token, question) = (token(space, name), ask(name));
                (name, scope.spawn(move || server.call(Some(&token), "ask_human", &question)))
            })
            .into();
        for gate in waiting_for(space, 2) {
            let (handle, by) =
                (gate["handle"].as_str().unwrap(), gate["asked_by"].as_str().unwrap());
            assert_eq!(gate["question"], format!("{by} {place}?"));
            space.ann(&["respond", handle, &format!("for {by}")]).ok();
        }
        for (name, call) in calls {
            let (status, reply) = call.join().unwrap();
            assert_eq!((status, &said(&reply)["answer"]), (200, &json!(format!("for {name}"))));
        }
    });
    space.verify();
}

on_both! {
    /// Killed while agents wait, and started again at another port: the same question, the same answer.
    fn a_killed_server_loses_nothing(space: &Space) {
        let token = token(space, "coder");
        let server = Server::start(space, "127.0.0.1:0", "30s");
        let place = server.place();
        let question = json!({"question": "Which port?"});
        let asking = std::thread::spawn({
            let (token, question) = (token.clone(), question.clone());
            move || call_at(&place, Some(&token), "ask_human", &question)
        });
        let gate = waiting_for(space, 1)[0]["handle"].as_str().unwrap().to_owned();
        server.kill();
        asking.join().unwrap();
        let server = Server::start(space, "127.0.0.1:0", "30s");
        space.ann(&["respond", &gate, "8080"]).ok();
        let answer = said(&server.call(Some(&token), "ask_human", &question).1);
        assert_eq!((&answer["gate"], &answer["answer"]), (&json!(gate), &json!("8080")));
        server.call(Some(&token), "create_task", &json!({"title": "Go on"}));
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        assert_eq!(server.ends(), 0);
        space.verify();
    }
}

on_both! {
    /// A conversation of an older revision is its agent's: another's token does not get into it, whoever
    /// told them its id.
    fn a_conversation_is_its_agents(space: &Space) {
        for server in [Server::start(space, "127.0.0.1:0", "0s"), Server::serve(space)] {
        let (coder, tester) = (token(space, "coder"), token(space, "tester"));
        let session = server.begins(&coder);
        assert!(server.in_session(&coder, &session, "POST") < 300);
        for method in ["GET", "POST", "DELETE"] {
            assert_eq!(server.in_session(&tester, &session, method), 404, "{method}");
        }
        assert!(server.in_session(&coder, &session, "POST") < 300, "it goes on");
        }
    }
}
