//! A real browser: Chromium without a window, told what to do over its own protocol.

use base64::Engine;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// How long anything may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page open, gone with the test.
pub struct Browser {
    /// None for a further tab.
    child: Option<Child>,
    address: String,
    line: RefCell<WebSocket<MaybeTlsStream<TcpStream>>>,
    page: String,
    count: Cell<u64>,
    /// What the page complained about, and where it asked for anything.
    pub complaints: RefCell<Vec<String>>,
    pub asked: RefCell<Vec<String>>,
    _home: Option<tempfile::TempDir>,
}

impl Browser {
    pub fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = std::env::var("SAYSO_TEST_CHROMIUM").unwrap_or_else(|_| "chromium".into());
        let mut command = Command::new(program);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--remote-debugging-port=0",
        ]);
        command.arg(format!("--user-data-dir={}", home.path().display()));
        command.env("HOME", home.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.expect("chromium runs; cargo xtask test installs it");
        let address = address(home.path());
        Self::at(address, Some(child), Some(home))
    }

    /// Another tab of the same browser.
    pub fn another_tab(&self) -> Self {
        let tab = Self::at(self.address.clone(), None, None);
        tab.look(1280, 800, "light");
        tab
    }

    fn at(address: String, child: Option<Child>, home: Option<tempfile::TempDir>) -> Self {
        let (line, _) = tungstenite::connect(&address).unwrap();
        let mut browser = Self {
            child,
            address,
            line: RefCell::new(line),
            page: String::new(),
            count: Cell::new(0),
            complaints: RefCell::default(),
            asked: RefCell::default(),
            _home: home,
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let made = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", attach);
        self.page = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method of the browser and waits for its answer. What happens meanwhile is written down.
    #[track_caller]
    pub fn call(&self, method: &str, with: Value) -> Value {
        let heard = self.ask(method, with);
        assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
        heard["result"].clone()
    }

    /// The same, with what went wrong: a page that is being left does not answer.
    fn ask(&self, method: &str, with: Value) -> Value {
        let id = self.count.get() + 1;
        self.count.set(id);
        let mut asked = json!({"id": id, "method": method, "params": with});
        if !self.page.is_empty() {
            asked["sessionId"] = json!(self.page);
        }
        self.line.borrow_mut().send(Message::text(asked.to_string())).unwrap();
        loop {
            let heard = self.line.borrow_mut().read().unwrap();
            let Ok(text) = heard.to_text() else { continue };
            let Ok(heard) = serde_json::from_str::<Value>(text) else { continue };
            if heard["id"] == json!(id) {
                return heard;
            }
            self.note(&heard);
        }
    }

    fn note(&self, event: &Value) {
        let with = &event["params"];
        let said = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => with["exceptionDetails"].to_string(),
            "Runtime.consoleAPICalled" if with["type"] == "error" => with["args"].to_string(),
            "Log.entryAdded" if with["entry"]["level"] == "error" => with["entry"].to_string(),
            "Network.requestWillBeSent" => {
                let url = with["request"]["url"].as_str().unwrap_or_default().to_owned();
                self.asked.borrow_mut().push(url);
                return;
            }
            _ => return,
        };
        self.complaints.borrow_mut().push(said);
    }

    /// What an expression comes to in the page; one that promises something is waited for.
    #[track_caller]
    pub fn eval(&self, expression: &str) -> Value {
        let with = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let came = self.call("Runtime.evaluate", with);
        assert!(came["exceptionDetails"].is_null(), "{expression}: {}", came["exceptionDetails"]);
        came["result"]["value"].clone()
    }

    /// Waits until an expression is true. While a page is being left there is nothing to ask.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        let with = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        while Instant::now() < end {
            if self.ask("Runtime.evaluate", with.clone())["result"]["result"]["value"]
                == json!(true)
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(15));
        }
        panic!("it never came to pass: {expression}\n{}", self.text());
    }

    /// Goes to an address and waits until the page there has come to life.
    #[track_caller]
    pub fn go(&self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
        self.until(
            "document.readyState === 'complete' \
             && (!!document.documentElement.dataset.ready || !document.querySelector('script'))",
        );
    }

    /// What there is to read.
    pub fn text(&self) -> String {
        self.eval("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn says(&self, words: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(words)));
    }

    /// Presses a key, as a person does: down and up.
    pub fn press(&self, key: &str) {
        let (key, modifiers) = match key.strip_prefix("Ctrl+") {
            Some(key) => (key, 2),
            None => (key, 0),
        };
        let text = match key {
            _ if modifiers > 0 => "",
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let mut down = json!({"type": "keyDown", "key": key, "code": key, "modifiers": modifiers, "windowsVirtualKeyCode": code(key)});
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "code": key}));
    }

    /// Types a text where the cursor is.
    pub fn write(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Clicks what a selector finds, with the mouse, where it is.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let find = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        );
        let place = self.eval(&find);
        for what in ["mousePressed", "mouseReleased"] {
            let with = json!({"type": what, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", with);
        }
    }

    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.eval(&format!("document.querySelector({}).focus()", json!(selector)));
        self.eval(&format!("document.querySelector({}).value = ''", json!(selector)));
        self.write(text);
    }

    /// How wide the window is, and whether it is dark.
    pub fn look(&self, width: u32, height: u32, scheme: &str) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// A picture of what is seen.
    pub fn picture(&self, to: &Path) {
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::prelude::BASE64_STANDARD.decode(taken["data"].as_str().unwrap());
        std::fs::write(to, bytes.unwrap()).unwrap();
    }

    /// Gives the browser a passkey of its own, which its owner is always there to touch.
    pub fn with_passkeys(&self) {
        self.call("WebAuthn.enable", json!({}));
        let key = json!({"options": {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
            "hasUserVerification": true, "isUserVerified": true,
            "automaticPresenceSimulation": true,
        }});
        self.call("WebAuthn.addVirtualAuthenticator", key);
    }

    /// Nothing went wrong in the page, and it asked nobody but its own server.
    #[track_caller]
    pub fn is_content(&self, origin: &str) {
        // What was said on the way is read with the next answer.
        self.eval("1");
        assert_eq!(*self.complaints.borrow(), Vec::<String>::new());
        let asked = self.asked.borrow();
        let others: Vec<_> = asked.iter().filter(|url| !is_of(url, origin)).collect();
        assert!(others.is_empty() && !asked.is_empty(), "asked elsewhere: {others:?}");
    }
}

fn is_of(url: &str, origin: &str) -> bool {
    url.starts_with(&format!("{origin}/")) || url.starts_with("data:") || url.starts_with("about:")
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the browser listens for us: it writes that down when it does.
fn address(home: &Path) -> String {
    let file = home.join("DevToolsActivePort");
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n').filter(|(_, path)| !path.is_empty()) {
            return format!("ws://127.0.0.1:{port}{}", path.trim());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("chromium does not listen");
}

/// The number a key has for browsers, where they go by it.
fn code(key: &str) -> u32 {
    match key {
        "Enter" => 13,
        "Escape" => 27,
        "ArrowDown" => 40,
        "ArrowUp" => 38,
        "Tab" => 9,
        "Home" => 36,
        "End" => 35,
        " " => 32,
        one => one.to_ascii_uppercase().bytes().next().map_or(0, u32::from),
    }
}
