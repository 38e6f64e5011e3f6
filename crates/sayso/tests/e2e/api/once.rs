//! What is asked for twice under one name is done once.

use super::{Reply, Server};
use crate::harness::on_both;
use serde_json::{Value, json};

fn keyed(server: &Server, who: &str, key: &str, path: &str, body: &Value) -> Reply {
    let path = format!("/v1/spaces/{}{path}", server.space);
    let body = body.to_string();
    let request = server.request("POST", &path, Some(server.secret(who)), Some(body.as_bytes()));
    let text = String::from_utf8(request).unwrap();
    let (first, rest) = text.split_once("\r\n").unwrap();
    server.raw(format!("{first}\r\nidempotency-key: {key}\r\n{rest}").as_bytes())
}

on_both! {
    /// The same request again is answered like the first; another under its name is refused; names are
    /// everybody's own.
    fn a_request_with_a_name(space: &Space) {
        let server = Server::of(space);
        let task = space.create(&["Count"]);
        let notes = format!("/tasks/{task}/notes");
        let note = json!({"text": "once"});
        let first = keyed(&server, "ann", "n-1", &notes, &note);
        let again = keyed(&server, "ann", "n-1", &notes, &note);
        assert_eq!((first.status, &first.body), (again.status, &again.body));
        assert!(first.status < 300, "{first:?}");
        assert_eq!(keyed(&server, "ann", "n-1", &notes, &json!({"text": "twice"})).is(409)["code"], "SAY030");
        keyed(&server, "bob", "n-1", &notes, &json!({"text": "mine"}));
        keyed(&server, "ann", "n-2", &notes, &note);
        let shown = space.show(&task);
        let texts: Vec<_> = shown["notes"].as_array().unwrap().iter().map(|n| n["text"].clone()).collect();
        assert_eq!(texts, ["once", "mine", "once"]);
        // What was refused may be tried again under its name.
        let close = format!("/tasks/{task}/close");
        let gone = format!("/tasks/{task}/reopen");
        keyed(&server, "ann", "r-1", &gone, &json!({"reason": "too early"}));
        keyed(&server, "ann", "c-1", &close, &json!({"reason": "done"}));
        assert_eq!(space.state(&task), "closed");
        for wrong in ["", &"x".repeat(201)] {
            assert_eq!(keyed(&server, "ann", wrong, &notes, &note).is(400)["code"], "SAY038", "{wrong}");
        }
        space.verify();
    }
}

on_both! {
    /// A secret is in one response and nowhere else: when that was lost, what was made is named.
    fn a_token_whose_secret_was_lost(space: &Space) {
        space.mint("admin", "root");
        let server = Server::of(space);
        let new = json!({"role": "agent", "name": "robin"});
        let made = keyed(&server, "root", "t-1", "/tokens", &new).is(201);
        let again = keyed(&server, "root", "t-1", "/tokens", &new);
        assert_eq!(again.is(409)["code"], "SAY030");
        assert!(again.body.contains(made["handle"].as_str().unwrap()), "{again:?}");
        assert!(!again.body.contains(made["secret"].as_str().unwrap()));
    }
}
