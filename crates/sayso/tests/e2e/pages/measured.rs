//! How quick the inbox is with 10,000 open gates. Nothing is asserted here: figures are for people, beside
//! the goal. `cargo xtask test -p sayso --run-ignored only --no-capture pages::measured`
#![allow(clippy::print_stdout, reason = "figures are what it is for")]

use super::{Desk, approval};
use crate::api::text;
use crate::harness::{Backend, Space};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So many gates are open, asked by so many at a time.
const GATES: usize = 10_000;
const ASKERS: usize = 16;

/// So often each thing is measured.
const ROUNDS: usize = 30;

/// So many new questions are watched for: more than twenty of one agent are one row.
const NEW: usize = 15;

#[test]
#[ignore = "figures, not a test"]
fn sqlite() {
    measure(&Space::new(Backend::Sqlite), "SQLite");
}

#[test]
#[ignore = "figures, not a test"]
fn postgres() {
    measure(&Space::new(Backend::Postgres), "PostgreSQL");
}

fn measure(space: &Space, store: &str) {
    let desk = Desk::of(space);
    // First, where the list is short: among so many, what is new is on a page that nobody looks at.
    println!("{store}, ms (half, nine of ten):");
    println!("  asked elsewhere to shown here: {}", told(shown(&desk)));
    std::thread::scope(|scope| {
        for asker in 0..ASKERS {
            let server = &desk.server;
            scope.spawn(move || {
                for number in (asker..GATES).step_by(ASKERS) {
                    server.ask("coder", approval(&format!("Deploy number {number}?")));
                }
            });
        }
    });
    println!("  with {GATES} open gates:");
    println!("  first page from the server: {}", told(first_page(&desk)));
    // Those of one agent are one row there, and a list of their own here.
    desk.go("inbox?asker=coder");
    let (row, card) = keys(&desk);
    println!("  key to the next row: {}", told(row));
    println!("  key to the next card: {}", told(card));
}

/// Until the whole page is here.
fn first_page(desk: &Desk) -> Vec<Duration> {
    let cookies = desk.browser.call("Network.getCookies", serde_json::json!({}));
    let cookie = &cookies["cookies"][0];
    let request = format!(
        "GET /s/{}/inbox HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {}={}\r\n\r\n",
        desk.server.space,
        desk.server.address,
        text(&cookie["name"]),
        text(&cookie["value"])
    );
    let once = |_| {
        let begun = Instant::now();
        assert_eq!(desk.server.raw(request.as_bytes()).status, 200);
        begun.elapsed()
    };
    (0..ROUNDS).map(once).collect()
}

/// From the key until a frame with what it leads to was made.
fn keys(desk: &Desk) -> (Vec<Duration>, Vec<Duration>) {
    let page = &desk.browser;
    page.eval(
        "window.tookRow = []; window.tookCard = []; addEventListener('keydown', (event) => { \
           const begun = event.timeStamp; \
           const before = document.querySelector('.row.here')?.dataset.id; \
           const look = () => { \
             const here = document.querySelector('.row.here')?.dataset.id; \
             if (here === before) return requestAnimationFrame(look); \
             tookRow.push(performance.now() - begun); \
             const card = () => document.getElementById('card')?.dataset.id === here \
               ? tookCard.push(performance.now() - begun) : requestAnimationFrame(card); \
             requestAnimationFrame(card); \
           }; \
           requestAnimationFrame(look); }, true)",
    );
    for number in 1..=ROUNDS {
        page.press("j");
        page.until(&format!("tookCard.length >= {number}"));
    }
    let ms = |value: &serde_json::Value| Duration::from_secs_f64(value.as_f64().unwrap() / 1e3);
    let all = |list: &str| page.eval(list).as_array().unwrap().iter().map(ms).collect();
    (all("tookRow"), all("tookCard"))
}

/// From when an agent's question was taken until it stands in the list.
fn shown(desk: &Desk) -> Vec<Duration> {
    let page = &desk.browser;
    let once = |number| {
        let question = format!("New number {number}?");
        page.eval(&format!(
            "window.seenAt = new Promise((done) => new MutationObserver((_, it) => {{ \
               if (document.body.innerText.includes('{question}')) {{ it.disconnect(); done(Date.now()); }} \
             }}).observe(document.getElementById('list'), {{childList: true, subtree: true}})), true"
        ));
        desk.server.ask("tester", approval(&question));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as f64;
        let seen = page.eval("window.seenAt").as_f64().unwrap();
        Duration::from_secs_f64((seen - now).max(0.0) / 1e3)
    };
    (0..NEW).map(once).collect()
}

fn told(mut all: Vec<Duration>) -> String {
    all.sort_unstable();
    let ms = |share: usize| all[(all.len() * share / 100).min(all.len() - 1)].as_secs_f64() * 1e3;
    format!("{:.0}, {:.0}", ms(50), ms(90))
}
