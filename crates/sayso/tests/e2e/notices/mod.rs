//! Notices through the real binary: real commands, real sockets on loopback, receivers that misbehave.

mod attacks;
mod commands;
mod couriers;
mod hanging;
mod receiver;
mod told;
mod trust;
mod webhooks;

use crate::harness::{Space, Who};
use receiver::Receiver;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// How long a test waits for what must come. Generous: a busy machine is no bug.
const PATIENCE: Duration = Duration::from_secs(60);

/// The secret of every webhook in these tests, and its bytes.
pub(crate) const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
pub(crate) const KEY: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    26, 27, 28, 29, 30, 31,
];

/// Sets the channels of a space; `channels` are lines of YAML.
pub(crate) fn set_channels(space: &Space, channels: &str) {
    let path = space.path().join(".sayso/config.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let head = text.split("\nnotify:").next().unwrap();
    let lines: String = channels.lines().map(|line| format!("  {}\n", line.trim())).collect();
    std::fs::write(path, format!("{head}\nnotify:\n{lines}")).unwrap();
    space.trust();
    write_secret(space, SECRET, 0o600);
}

/// Writes the secret that channels name as `hook.secret`.
pub(crate) fn write_secret(space: &Space, text: &str, mode: u32) {
    let path = space.path().join(".sayso/hook.secret");
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A line for a webhook to a receiver.
pub(crate) fn hook(name: &str, receiver: &Receiver, rest: &str) -> String {
    let url = receiver.url();
    format!("{name}: {{webhook: \"{url}\", secret: hook.secret, private: allowed{rest}}}\n")
}

/// Sends what is due, as cron would.
pub(crate) fn send(space: &Space) {
    space.run(Who::Script, &["notices", "send"]).ok();
}

/// What `sayso notices` lists.
pub(crate) fn notices(space: &Space, args: &[&str]) -> Vec<Value> {
    let args: Vec<_> = ["notices", "--json"].iter().chain(args).copied().collect();
    space.ann(&args).json()["items"].as_array().unwrap().clone()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets so much time pass for what is under way that it is due: leases run out, pauses end.
pub(crate) fn let_time_pass(space: &Space) {
    let sql = "UPDATE outbox SET due_at = 0 WHERE settled_at IS NULL";
    match &space.store {
        Some(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.batch_execute(&format!("SET search_path TO sayso; {sql}")).unwrap();
        }
        None => {
            let file = rusqlite::Connection::open(space.file()).unwrap();
            file.busy_timeout(PATIENCE).unwrap();
            file.execute_batch(sql).unwrap();
        }
    }
}
