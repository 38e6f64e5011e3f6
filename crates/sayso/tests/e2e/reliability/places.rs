//! Places where a store cannot be used: each is a clear error with its own code, and nothing is lost.

use super::disk::Disk;
use super::{desk, entries, furnish};
use crate::harness::{Backend, Ran, Space, Who};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Asserts that it failed with this code, told what to do, and acknowledged nothing.
#[track_caller]
fn fails(ran: Ran, exit: i32, say: &str) -> Ran {
    let ran = ran.exits(exit).refused(say);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    assert!(ran.stderr.contains("hint:"), "no hint: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

#[test]
fn a_read_only_disk_is_read_and_not_written() {
    let space = Space::empty();
    let Some(disk) = Disk::mount(&space.path().join(".sayso"), 16_384) else { return };
    furnish(&space);
    let gate = space.ask("coder", &["Ship?"]);
    let before = entries(&space);
    disk.read_only(true);
    let writes: [(Who<'_>, Vec<&str>); 5] = [
        (Who::Agent("coder"), vec!["ask", "Another?"]),
        (Who::Human("ann"), vec!["respond", &gate, "yes"]),
        (Who::Script, vec!["create", "A task"]),
        (Who::Human("ann"), vec!["tell", "coder", "stop"]),
        (Who::Agent("coder"), vec!["withdraw", &gate]),
    ];
    for (who, args) in &writes {
        fails(space.run(*who, args), 1, "SAY025");
    }
    let shown = space.run(Who::Human("ann"), &["show", &gate, "--json"]).json();
    assert_eq!(shown["question"], "Ship?");
    space.verify();
    let doctor = space.run(Who::Human("ann"), &["doctor"]);
    assert!([0, 1].contains(&doctor.code), "{doctor:?}");
    disk.read_only(false);
    assert_eq!(entries(&space), before, "nothing was written");
    space.run(Who::Human("ann"), &["respond", &gate, "yes"]).ok();
    space.verify();
}

/// Another user of the machine: the folder is not theirs to read, and that is what they are told.
#[test]
fn a_folder_of_somebody_else_is_refused() {
    let space = Space::new(Backend::Sqlite);
    let before = entries(&space);
    for (folder, file) in [(0o755, 0o444), (0o755, 0o600), (0o700, 0o600)] {
        set_mode(space.path(), 0o755);
        set_mode(&space.path().join(".sayso"), folder);
        set_mode(&space.file(), file);
        let Some(ran) = as_nobody(&space, &["ask", "Mine?"]) else { return };
        assert!([1, 2, 3].contains(&ran.code), "{ran:?}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains("error[SAY"), "{ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
    set_mode(&space.path().join(".sayso"), 0o700);
    set_mode(&space.file(), 0o600);
    assert_eq!(entries(&space), before);
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the program as a user without rights. Only root can; and the program must be within reach.
fn as_nobody(space: &Space, args: &[&str]) -> Option<Ran> {
    let copy = space.path().join("sayso");
    if !copy.exists() {
        std::fs::copy(crate::harness::SAYSO, &copy).unwrap();
        set_mode(&copy, 0o755);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&copy).args(args);
    command.current_dir(space.path()).env_clear().env("PATH", "/usr/bin:/bin");
    let output = command.stdin(Stdio::null()).output().ok()?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.contains("setpriv") {
        eprintln!("not tested as another user: {stderr}");
        return None;
    }
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Ran { code: output.status.code().unwrap_or(-1), stdout, stderr })
}

#[test]
fn a_linked_database_or_folder_is_refused() {
    let space = Space::new(Backend::Sqlite);
    let (file, kept) = (space.file(), space.path().join("kept.db"));
    std::fs::rename(&file, &kept).unwrap();
    symlink(&kept, &file).unwrap();
    fails(space.run(Who::Agent("coder"), &["ask", "Through a link?"]), 1, "SAY031");
    fails(space.run(Who::Script, &["init"]), 1, "SAY031");
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&kept, &file).unwrap();
    let (folder, moved) = (space.path().join(".sayso"), space.path().join("moved"));
    std::fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    fails(space.run(Who::Agent("coder"), &["ask", "Through a link?"]), 1, "SAY031");
    space.run(Who::Script, &["init"]).exits(1).refused("SAY031");
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&moved, &folder).unwrap();
    space.verify();
}

#[test]
fn a_newer_schema_is_left_alone() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let space = Space::new(backend);
        let gate = space.ask("coder", &["Ship?"]);
        let set = |version: i64| match &space.store {
            Some(url) => postgres::Client::connect(url, postgres::NoTls)
                .unwrap()
                .batch_execute(&format!("UPDATE sayso.schema SET version = {version}"))
                .unwrap(),
            None => rusqlite::Connection::open(space.file())
                .unwrap()
                .execute_batch(&format!("PRAGMA user_version = {version}"))
                .unwrap(),
        };
        let version = sayso_version(&space);
        set(999);
        for args in [vec!["ask", "Another?"], vec!["inbox"], vec!["show", &gate], vec!["init"]] {
            let ran = fails(space.run(Who::Script, &args), 1, "SAY022");
            assert!(ran.stderr.contains("999"), "{}", ran.stderr);
        }
        let doctor = space.run(Who::Script, &["doctor"]).exits(1);
        assert!(doctor.stdout.contains("schema 999"), "{}", doctor.stdout);
        set(version);
        assert_eq!(space.show(&gate)["question"], "Ship?");
        space.verify();
    }
}

/// A server that runs while another process brings the store up to date writes nothing more into it, and says
/// that it is not ready; what it has served goes on to be read.
#[test]
fn a_running_server_writes_nothing_into_a_newer_schema() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let space = Space::new(backend);
        let server = crate::api::Server::of(&space);
        let ask = |text: &str| {
            let body = serde_json::json!({"question": text, "kind": "approval"});
            server.post("coder", "/gates", body)
        };
        let ready = || server.raw(&server.request("GET", "/health/ready", None, None)).status;
        let gate = ask("Before?").is(201);
        assert_eq!(ready(), 200);
        let entries_before = space.audit().len();
        let version = sayso_version(&space);
        set_version(&space, version + 1);
        ask("Behind?").refused(503, "SAY022");
        let answer = serde_json::json!({"verdict": "approved"});
        server.answer("ann", &gate, answer.clone()).refused(503, "SAY022");
        assert_eq!(ready(), 503);
        let id = gate["id"].as_str().unwrap();
        assert_eq!(server.get("ann", &format!("/gates/{id}")).is(200)["state"], "open");
        set_version(&space, version);
        assert_eq!(ready(), 200);
        assert_eq!(space.audit().len(), entries_before, "something was written meanwhile");
        server.answer("ann", &gate, answer).is(200);
        space.verify();
    }
}

fn set_version(space: &Space, version: i64) {
    match &space.store {
        Some(url) => postgres::Client::connect(url, postgres::NoTls)
            .unwrap()
            .batch_execute(&format!("UPDATE sayso.schema SET version = {version}"))
            .unwrap(),
        None => rusqlite::Connection::open(space.file())
            .unwrap()
            .execute_batch(&format!("PRAGMA user_version = {version}"))
            .unwrap(),
    }
}

fn sayso_version(space: &Space) -> i64 {
    match &space.store {
        Some(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.query_one("SELECT version FROM sayso.schema", &[]).unwrap().get(0)
        }
        None => {
            let file = rusqlite::Connection::open(space.file()).unwrap();
            file.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
        }
    }
}

#[test]
fn settings_that_cannot_be_read_are_named() {
    let space = Space::new(Backend::Sqlite);
    let settings = space.path().join(".sayso/config.yaml");
    let good = std::fs::read_to_string(&settings).unwrap();
    let before = entries(&space);
    for (bad, named) in [
        ("space: x\nstoer: sqlite\n", "stoer"),
        ("space: [unclosed\n", "config.yaml"),
        ("space: {a: 1}\n", "config.yaml"),
        ("- a\n- list\n", "config.yaml"),
        ("\u{0}\u{1}\u{2}", "config.yaml"),
        ("space: x\nspace: y\n", "config.yaml"),
    ] {
        std::fs::write(&settings, bad).unwrap();
        let ran = fails(space.run(Who::Agent("coder"), &["ask", "Here?"]), 2, "SAY032");
        assert!(ran.stderr.contains(named), "{bad:?}: {}", ran.stderr);
    }
    std::fs::write(&settings, [0xff, 0xfe, b'a']).unwrap();
    space.run(Who::Agent("coder"), &["ask", "Here?"]).exits(2).refused("SAY032");
    std::fs::remove_file(&settings).unwrap();
    // Without settings the folder's name and the file beside them are meant.
    space.run(Who::Agent("coder"), &["ask", "Here?"]).ok();
    std::fs::write(&settings, good).unwrap();
    assert_eq!(entries(&space), before + 1);
}

/// Ten aliases of ten aliases, nine times over: a billion words, were they ever written out.
#[test]
fn a_yaml_bomb_does_not_go_off() {
    let space = Space::new(Backend::Sqlite);
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{inner}]\n");
    }
    let deep = format!("space: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("space: {}\n", "y".repeat(50_000_000));
    for text in [bomb, deep, long] {
        std::fs::write(space.path().join(".sayso/config.yaml"), text).unwrap();
        let began = Instant::now();
        let ran = space.run(Who::Agent("coder"), &["ask", "Here?"]);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert!([2, 3].contains(&ran.code), "{ran:.2000?}");
        assert!(ran.stdout.is_empty());
        assert!(ran.stderr.len() < 100_000, "{} bytes of complaint", ran.stderr.len());
    }
}

#[test]
fn an_unreachable_server_allows_nothing_and_shows_no_password() {
    let space = Space::empty();
    let secret = "hunter2-very-secret";
    // A port nobody listens on, one that accepts and says nothing, one that speaks something else.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let babbling = babbler();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let stores = [
        format!("postgres://ann:{secret}@127.0.0.1:{gone}/x"),
        format!("postgres://ann:{secret}@127.0.0.1:{silent_port}/x"),
        format!("postgres://ann:{secret}@127.0.0.1:{babbling}/x"),
        format!("postgres://ann:{secret}@does-not-exist.invalid/x"),
        format!("postgres://ann:{secret}@[::1/x"),
        format!("postgres://127.0.0.1:{gone}/x?user=ann&password={secret}"),
        format!("postgres://127.0.0.1:{gone}/x?password={secret}&sslmode=nonsense"),
    ];
    for store in &stores {
        for verb in [vec!["ask", "Go?"], vec!["init"], vec!["inbox"], vec!["doctor"]] {
            let mut args = vec!["--space", "s", "--store", store];
            args.extend(&verb);
            let began = Instant::now();
            let ran = space.run(Who::Script, &args);
            assert!(began.elapsed() < Duration::from_secs(30), "{store}: {:?}", began.elapsed());
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains(secret), "the password is shown: {said}");
            assert_eq!(ran.code, 9, "{store} {verb:?}: {said}");
            assert!(said.contains("SAY023") || verb[0] == "doctor", "{said}");
        }
        // The settings hold it, too, and an error about them must not show it.
        std::fs::create_dir_all(space.path().join(".sayso")).unwrap();
        for wrong in [
            format!("space: s\nstore: {store}\nunknown: 1\n"),
            format!("space: s\nstore: {store}: 1\n"),
            format!("space: s\nstore: [{store}]\n"),
            format!("space: s\nstore: !!int {store}\n"),
            format!("{store}\n"),
            format!("{store}: 1\n"),
        ] {
            std::fs::write(space.path().join(".sayso/config.yaml"), wrong).unwrap();
            let ran = space.run(Who::Script, &["ask", "Go?"]);
            assert!(!ran.stderr.contains(secret), "the password is shown: {}", ran.stderr);
            assert!([2, 9].contains(&ran.code), "{ran:?}");
        }
        std::fs::remove_dir_all(space.path().join(".sayso")).unwrap();
    }
    drop(silent);
}

/// Something that listens and speaks another protocol.
fn babbler() -> u16 {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut client = client;
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\n\r\n<html>approved</html>");
        }
    });
    port
}

/// A space that is known to the settings and not to the store, and a store without any space.
#[test]
fn a_missing_space_is_told_apart_from_a_missing_store() {
    let space = Space::new(Backend::Sqlite);
    fails(space.run(Who::Script, &["--space", "nobody", "inbox"]), 3, "SAY020");
    std::fs::remove_file(space.file()).unwrap();
    fails(space.run(Who::Script, &["inbox"]), 3, "SAY020");
    fails(Space::empty().run(Who::Script, &["inbox"]), 3, "SAY020");
    let made = Space::new(Backend::Sqlite);
    assert!(desk(&made).spaces().unwrap().len() == 1);
}
