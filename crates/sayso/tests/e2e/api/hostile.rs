//! Requests that nobody sends by accident: each is a problem that says what is wrong, and changes nothing.

use super::{Server, text};
use crate::harness::on_both;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

on_both! {
    /// Wrong tokens are answered later each time; a right one from the same address never is.
    fn wrong_tokens_are_slowed_down(space: &Space) {
        let server = Server::of(space);
        let path = format!("/v1/spaces/{}/gates", server.space);
        let guess = || {
            let began = Instant::now();
            let wrong = server.request("GET", &path, Some("sayso_h_wrong"), None);
            server.raw(&wrong).refused(401, "SAY028");
            began.elapsed()
        };
        for _ in 0..4 {
            guess();
        }
        for seconds in [1, 2, 4] {
            let took = guess();
            assert!(took >= Duration::from_secs(seconds), "{took:?} instead of {seconds} s");
        }
        std::thread::scope(|scope| {
            // This one is kept for eight seconds.
            let held = scope.spawn(guess);
            std::thread::sleep(Duration::from_millis(200));
            server.get("ann", "/gates").is(200);
            assert!(!held.is_finished(), "nobody was slowed down meanwhile");
        });
        // Whoever has none is told at once, as ever.
        let began = Instant::now();
        server.raw(&server.request("GET", &path, None, None)).refused(401, "SAY028");
        assert!(began.elapsed() < Duration::from_secs(8));
    }
}

on_both! {
    fn whatever_is_wrong_is_a_problem(space: &Space) {
        let server = Server::of(space);
        let gate = server.ask("coder", json!({"question": "Ship?"}));
        let id = text(&gate["id"]);
        let root = format!("/v1/spaces/{}", server.space);
        let before = space.audit().len();
        let json = "content-type: application/json\r\n";
        let huge = "x".repeat(2 * 1024 * 1024);
        let long = format!("{{\"question\": \"{}\"}}", "x".repeat(300 * 1024));
        let options = Value::from((0..51).map(|n| json!({"name": format!("{n}")})).collect::<Vec<_>>());
        let options = json!({"question": "Which?", "options": options}).to_string();
        let deep = format!("{{\"question\": {}1{}}}", "[".repeat(500), "]".repeat(500));
        let tries: &[(&str, String, &str, &str, u16, &str)] = &[
            // Ids that are paths, or no text at all.
            ("GET", format!("{root}/gates/..%2f..%2fetc%2fpasswd"), "", "", 404, "SAY001"),
            ("GET", format!("{root}/gates/../../../health/live"), "", "", 404, "SAY001"),
            ("GET", format!("{root}/gates/{id}%00"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates/%ff%fe"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates/{}", "g".repeat(300)), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates/'%20OR%201=1--"), "", "", 404, "SAY001"),
            ("GET", format!("{root}/agents/%00"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?asker=%00"), "", "", 400, "SAY016"),
            ("GET", "/v1/spaces/%00/gates".into(), "", "", 400, "SAY038"),
            ("GET", "/v1/spaces/..%2f/gates".into(), "", "", 400, "SAY038"),
            ("GET", format!("{root}/nothing"), "", "", 404, "SAY001"),
            // Queries.
            ("GET", format!("{root}/gates?limit=0"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?limit=201"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?limit=-1"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?limit=1&limit=2"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?more=1"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/gates?after=g0000"), "", "", 404, "SAY001"),
            ("GET", format!("{root}/gates?kind=coffee"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/audit?after=18446744073709551615"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/events?after=x"), "", "", 400, "SAY038"),
            ("GET", format!("{root}/events"), "last-event-id: x\r\n", "", 400, "SAY038"),
            // Methods.
            ("PUT", format!("{root}/gates"), json, "{}", 405, "SAY038"),
            ("DELETE", format!("{root}/gates/{id}"), "", "", 405, "SAY038"),
            ("GET", format!("{root}/gates/{id}/answer"), "", "", 405, "SAY038"),
            // Bodies.
            ("POST", format!("{root}/gates"), json, "", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "[]", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "[\"Ship?\"]", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": ", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": 1}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"x\", \"more\": 1}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"x\", \"question\": \"y\"}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"\\u0000\"}", 400, "SAY016"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"\\ud800\"}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"x\", \"id\": \"../x\"}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"x\", \"kind\": \"tool\"}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, "{\"question\": \"x\", \"at_end\": \"approve\"}", 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, &deep, 400, "SAY038"),
            ("POST", format!("{root}/gates"), json, &long, 413, "SAY015"),
            ("POST", format!("{root}/gates"), json, &options, 413, "SAY015"),
            ("POST", format!("{root}/gates"), json, &huge, 413, "SAY015"),
            ("POST", format!("{root}/gates"), "content-type: text/plain\r\n", "{}", 415, "SAY053"),
            ("POST", format!("{root}/gates"), "", "{}", 415, "SAY053"),
            ("POST", format!("{root}/gates"), "content-type: application/x-www-form-urlencoded\r\n", "question=x", 415, "SAY053"),
            // Pages of other sites.
            ("POST", format!("{root}/gates"), "content-type: application/json\r\norigin: https://evil.example\r\n", "{}", 403, "SAY058"),
            ("POST", format!("{root}/gates"), "content-type: application/json\r\nsec-fetch-site: cross-site\r\n", "{}", 403, "SAY058"),
        ];
        for (method, path, headers, body, status, code) in tries {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {}\r\n{headers}content-length: {}\r\n\r\n{body}",
                server.address, server.secret("ann"), body.len()
            );
            let reply = server.raw(request.as_bytes());
            assert_eq!(reply.status, *status, "{method} {path:.120} {body:.80}: {reply:?}");
            reply.refused(*status, code);
            assert_eq!(reply.headers["x-content-type-options"], "nosniff");
            assert_eq!(reply.headers.contains_key("allow"), *status == 405, "{reply:?}");
        }
        let wrong_host = format!(
            "GET {root}/gates HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
            server.secret("ann")
        );
        server.raw(wrong_host.as_bytes()).refused(403, "SAY058");
        // Nothing of this left a trace but what it is: nobody's try to be somebody else.
        assert_eq!(space.audit().len(), before);
        let waits = server.get("ann", "/gates").is(200);
        assert_eq!(waits["items"].as_array().unwrap().len(), 1);
        // A secret in the address is no credential.
        let path = format!("{root}/gates?token={}", server.secret("ann"));
        server.raw(&server.request("GET", &path, None, None)).refused(400, "SAY038");
        let path = format!("{root}/gates");
        server.raw(&server.request("GET", &path, None, None)).refused(401, "SAY028");
        space.verify();
    }
}
