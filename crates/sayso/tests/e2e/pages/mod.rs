//! The pages, in a real browser, at a real server.

mod answering;
mod batch;
mod browser;
mod demo;
mod entry;
mod fatigue;
mod flows;
mod forms;
mod hostile;
mod installed;
mod keys;
mod lasting;
mod lists;
mod live;
mod looks;
mod measured;
mod one_truth;
mod pictures;
mod races;
mod reading;
mod typing;
mod ways;

use crate::api::{Server, text};
use crate::harness::Space;
use browser::Browser;
use sayso_server::keys::DEAD_TIME;
use serde_json::{Value, json};
use std::time::Duration;

/// What everybody's passphrase is here.
const PASSPHRASE: &str = "correct horse battery";

/// A server, and a browser in which ann is logged in.
pub struct Desk {
    pub server: Server,
    pub browser: Browser,
    origin: String,
}

impl Desk {
    pub fn of(space: &Space) -> Self {
        Self::at(space, Server::of(space))
    }

    /// The same with a server that was started already.
    fn at(space: &Space, server: Server) -> Self {
        server.passphrase(space, "ann", PASSPHRASE);
        let browser = Browser::start();
        browser.look(1280, 800, "light");
        let port = server.address.rsplit(':').next().unwrap();
        // Passkeys are for names; this is the one that loopback has.
        let desk = Self { origin: format!("http://localhost:{port}"), server, browser };
        desk.log_in();
        desk
    }

    fn page(&self, path: &str) -> String {
        format!("{}/s/{}/{path}", self.origin, self.server.space)
    }

    /// Logs ann in, as she would.
    #[track_caller]
    fn log_in(&self) {
        self.browser.go(&self.page("inbox"));
        self.ready_at("login");
        self.browser.fill("[name=name]", "ann");
        self.browser.fill("[name=passphrase]", PASSPHRASE);
        self.browser.click("button[type=submit]");
        self.ready();
    }

    #[track_caller]
    fn ready(&self) {
        self.ready_at("inbox");
    }

    /// Waits until a page has come to life.
    #[track_caller]
    fn ready_at(&self, page: &str) {
        self.browser.until(&format!("document.documentElement.dataset.ready === '{page}'"));
    }

    /// Adds a passkey of the browser's.
    #[track_caller]
    fn add_passkey(&self) {
        self.browser.with_passkeys();
        self.go("you");
        self.browser.click("#add-passkey button");
        self.browser.until("document.querySelectorAll('#passkeys li').length === 1");
        self.ready_at("you");
    }

    #[track_caller]
    fn log_out(&self) {
        self.go("you");
        self.browser.click("#logout");
        self.ready_at("login");
    }

    /// Goes to a page and waits until it follows what happens.
    #[track_caller]
    fn go(&self, path: &str) {
        self.browser.go(&self.page(path));
    }

    /// Looks at the first card until it may be answered.
    #[track_caller]
    pub fn look_at(&self, gate: &Value) {
        let handle = text(&gate["handle"]);
        self.browser.until(&format!("!!document.querySelector('.row[data-handle={handle}]')"));
        self.browser.click(&format!(".row[data-handle={handle}] a"));
        self.drawn(handle);
    }

    /// Waits until a card is there and hears what is said.
    #[track_caller]
    fn drawn(&self, handle: &str) {
        drawn(&self.browser, handle);
    }

    /// Reads the card on the screen to its end.
    #[track_caller]
    fn read(&self) {
        read(&self.browser);
    }

    fn gate(&self, gate: &Value) -> Value {
        self.server.get("ann", &format!("/gates/{}", text(&gate["id"]))).is(200)
    }

    /// Waits until a gate has ended, and says how.
    #[track_caller]
    fn ended(&self, gate: &Value) -> Value {
        let path = format!("/gates/{}?wait=60s", text(&gate["id"]));
        let ended = self.server.get("ann", &path).is(200);
        assert_ne!(ended["state"], "open", "{ended}\n{}", self.browser.text());
        ended
    }

    #[track_caller]
    pub fn is_content(&self) {
        self.browser.is_content(&self.origin);
    }

    /// The same, where somebody else was first: a browser writes down that the server said so.
    #[track_caller]
    fn is_content_but_for_conflicts(&self) {
        self.browser.eval("1");
        self.browser.complaints.borrow_mut().retain(|said| !said.contains("status of 409"));
        self.is_content();
    }
}

/// Waits until a card is on the screen and hears what is said.
#[track_caller]
fn drawn(page: &Browser, handle: &str) {
    page.until(&format!("document.getElementById('card')?.dataset.handle === '{handle}'"));
    page.until(
        "import(document.querySelector('script').src.replace('app.js', 'card.js'))\
         .then((card) => card.mayHear())",
    );
}

/// Reads the card on the screen from its beginning to its end, as a person does who is in a hurry.
#[track_caller]
fn read(page: &Browser) {
    page.eval("['pane', 'all'].forEach((place) => (document.getElementById(place).scrollTop = 0))");
    let is_read = "import(document.querySelector('script').src.replace('app.js', 'card.js'))\
                   .then((card) => card.isRead())";
    for _ in 0..100 {
        std::thread::sleep(DEAD_TIME + Duration::from_millis(100));
        if page.eval(is_read) == json!(true) {
            return;
        }
        page.press("J");
    }
    panic!("there is no end to it\n{}", page.text());
}

/// A yes or no that an agent wants.
fn approval(question: &str) -> Value {
    json!({"question": question, "kind": "approval", "form": "verdict"})
}
