//! The way in: passphrase, passkey, code, and everything that is no way in.

use super::{Browser, Desk, approval, drawn};
use crate::api::{Server, text};
use crate::governed::policy;
use crate::harness::{Who, in_places, on_both};
use serde_json::json;
use std::io::{BufRead, BufReader};

on_both! {
    /// A person logs in with their passphrase, adds a passkey, and comes in with a touch next time.
    fn a_passkey_lets_its_owner_in(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.add_passkey();
        desk.log_out();
        page.fill("[name=space]", &desk.server.space);
        page.click("#passkey");
        desk.ready();
        page.says("ann");
        let audit = space.audit();
        let by_key = |entry: &&serde_json::Value| {
            entry["action"] == "person.logged_in" && entry["reason"] == "by passkey"
        };
        assert_eq!(audit.iter().filter(by_key).count(), 1);
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// What needs a touch gets one, for that card, and shows it.
    fn a_risky_card_takes_a_touch(space: &Space) {
        policy(space, "space", "rules:\n  - name: payments\n    on: ask\n    match: {kind: approval}\n    then: ask\n    ask: {proof: presence, risk: high}\n");
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.add_passkey();
        let gate = desk.server.ask("coder", approval("Pay 4,000 to ACME?"));
        desk.go("inbox");
        desk.look_at(&gate);
        page.says("high risk");
        page.press("a");
        let ended = desk.ended(&gate);
        assert_eq!(ended["answer"]["proof"], "presence");
        assert_eq!(ended["answer"]["door"], "web");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A passkey is removed by whoever is sure of it, and not by Enter.
    fn removing_a_passkey_is_asked_first(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.add_passkey();
        let open = "!!document.querySelector('dialog[open]')";
        page.click("[data-remove]");
        page.until(open);
        page.says("Remove the passkey passkey?");
        // The way out has the focus.
        page.press("Enter");
        page.until("!document.querySelector('dialog')");
        page.click("[data-remove]");
        page.until(open);
        page.eval("document.querySelector('dialog .main').focus()");
        page.press("Enter");
        page.says("Enter says nothing here");
        assert_eq!(page.eval("document.querySelectorAll('#passkeys li').length"), 1);
        page.press(" ");
        page.until("document.querySelectorAll('#passkeys li').length === 0");
        desk.is_content();
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A cookie alone does nothing, and no other site can use it.
    fn a_cookie_alone_does_nothing(space: &Space) {
        let desk = Desk::of(space);
        let gate = desk.server.ask("coder", approval("Ship it?"));
        let cookies = desk.browser.call("Network.getCookies", json!({}));
        let cookie = &cookies["cookies"][0];
        assert_eq!(cookie["httpOnly"], true);
        assert_eq!(cookie["sameSite"], "Strict");
        assert_eq!(desk.browser.eval("document.cookie"), "");
        let cookie = format!("{}={}", text(&cookie["name"]), text(&cookie["value"]));
        let send = |more: &str| {
            let body = json!({"verdict": "approved", "digest": gate["digest"]}).to_string();
            let path = format!("/v1/spaces/{}/gates/{}/answer", desk.server.space, text(&gate["id"]));
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {cookie}\r\n{more}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                desk.server.address, body.len()
            );
            desk.server.raw(head.as_bytes())
        };
        send("").refused(403, "SAY058");
        send("sayso-word: wrong\r\n").refused(403, "SAY058");
        let word = desk.browser.eval("Object.entries(localStorage).find(([name]) => name.startsWith('word'))[1]");
        // What is in a page is not enough either, and what is in a cookie is nobody's token.
        assert_eq!(desk.browser.eval(&format!("document.documentElement.outerHTML.includes({word})")), false);
        let secret = cookie.split_once('=').unwrap().1;
        let path = format!("/v1/spaces/{}/inbox", desk.server.space);
        desk.server.raw(&desk.server.request("GET", &path, Some(secret), None)).refused(401, "SAY028");
        let word = format!("sayso-word: {}\r\n", text(&word));
        send(&format!("{word}origin: http://evil.example\r\n")).refused(403, "SAY058");
        send(&format!("{word}sec-fetch-site: cross-site\r\n")).refused(403, "SAY058");
        assert_eq!(desk.gate(&gate)["state"], "open");
        send(&word).is(200);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Logging out ends the session everywhere, at once; so does revoking it.
    fn a_session_ends(space: &Space) {
        let desk = Desk::of(space);
        let cookies = desk.browser.call("Network.getCookies", json!({}));
        let cookie = &cookies["cookies"][0];
        let cookie = format!("{}={}", text(&cookie["name"]), text(&cookie["value"]));
        let look = || {
            let head = format!(
                "GET /v1/spaces/{}/inbox HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {cookie}\r\n\r\n",
                desk.server.space, desk.server.address
            );
            desk.server.raw(head.as_bytes()).status
        };
        assert_eq!(look(), 200);
        desk.log_out();
        assert_eq!(look(), 401);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// A page says no in words, wrong guesses are slowed down, and nobody learns who or what there is.
    fn who_has_no_way_in_learns_nothing(space: &Space) {
        let desk = Desk::of(space);
        let page = &desk.browser;
        desk.log_out();
        for (at, name) in [(desk.server.space.as_str(), "ann"), (desk.server.space.as_str(), "nobody"), ("nowhere", "ann")] {
            page.fill("[name=space]", at);
            page.fill("[name=name]", name);
            page.fill("[name=passphrase]", "wrong");
            page.click("button[type=submit]");
            page.says("the name or the passphrase is wrong");
            page.eval("document.getElementById('problem').textContent = ''");
        }
        for _ in 0..8 {
            let body = json!({"name": "ann", "passphrase": "wrong"}).to_string();
            let path = format!("/session/{}", desk.server.space);
            let reply = desk.server.raw(&desk.server.request("POST", &path, None, Some(body.as_bytes())));
            if reply.status == 429 {
                return;
            }
        }
        panic!("nobody was slowed down");
    }
}

in_places! {
    [sqlite: Sqlite]
    /// The pages are framed by nobody and ask nobody else for anything.
    fn every_page_says_what_it_may(space: &Space) {
        let server = Server::of(space);
        for path in ["/login", "/s/x/inbox", "/assets/x/style.css"] {
            let reply = server.raw(&server.request("GET", path, None, None));
            assert_eq!(reply.headers["x-frame-options"], "DENY", "{path}");
            assert!(reply.headers["content-security-policy"].contains("default-src 'none'"));
            assert!(reply.headers["content-security-policy"].contains("frame-ancestors 'none'"));
            assert!(!reply.headers["content-security-policy"].contains("unsafe"));
        }
        // Whoever asks to be sent elsewhere is not.
        let reply = server.raw(&server.request("GET", "/login?to=//evil.example/", None, None));
        assert!(!reply.body.contains("evil.example"));
        assert_eq!(server.raw(&server.request("GET", "/s/x/inbox", None, None)).status, 303);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Whoever serves at their own terminal is let in by the link it prints, once.
    fn a_link_from_the_terminal_lets_a_browser_in(space: &Space) {
        let mut server = space.start(Who::Terminal, &["serve", "--listen", "127.0.0.1:0"]);
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let link = lines.find(|line| line.contains("/login#")).unwrap().trim().to_owned();
        let browser = Browser::start();
        // Where the form is shown already, too.
        browser.go(link.split('#').next().unwrap());
        browser.until("document.documentElement.dataset.ready === 'login'");
        browser.go(&link);
        browser.until("document.documentElement.dataset.ready === 'inbox'");
        // Whoever has set no passphrase is told that, and how to, and not that it is wrong.
        let gate = space.ask("coder", &["Deploy?", "--verdict", "--proof", "passphrase"]);
        browser.until("!!document.querySelector('.row')");
        browser.click(".row a");
        drawn(&browser, &gate);
        browser.press("a");
        browser.until("!!document.querySelector('dialog[open] input[type=password]')");
        browser.write("whatever");
        browser.press("Enter");
        browser.says("has set no passphrase. set one with: sayso unlock --set");
        browser.press("Escape");
        browser.says("nothing was sent; it needs your passphrase");
        let other = Browser::start();
        other.go(&link);
        other.says("the code is not known here");
        let _ = server.kill();
        let _ = server.wait();
    }
}
