//! TLS to PostgreSQL, with the real one: it gets a certificate while it runs.

use super::certificates::{Authority, Certificate};
use crate::api::PATIENCE;
use crate::harness::{Backend, Ran, Server, Space, Who, server};
use postgres::{Client, NoTls};
use std::time::{Duration, Instant};

#[test]
fn what_an_address_asks_for_is_kept() {
    let space = Space::bare(Backend::Postgres);
    let mut admin = Client::connect(&server(), NoTls).unwrap();
    let authority = Authority::new();
    let file = space.path().join("ca.pem");
    std::fs::write(&file, &authority.pem).unwrap();
    let trusting = format!("&sslrootcert={}", file.display());
    let with = |parameters: &str| -> Ran {
        let store = format!("{}?{parameters}", space.store.as_ref().unwrap());
        space.run(Who::Script, &["--store", &store, "list"])
    };

    // A server that cannot: where TLS is asked for there is no way without it.
    switch(&mut admin, None);
    for asked in ["sslmode=require", "sslmode=verify-full", &format!("sslmode=require{trusting}")] {
        with(asked).refused("SAY023").says("does not support TLS").exits(9);
    }
    with("sslmode=prefer").ok();
    with("sslmode=disable").ok();
    with("sslmode=verify-ca").refused("SAY023").says("sslmode is disable, prefer").exits(9);

    switch(&mut admin, Some(&authority.certify(&["127.0.0.1", "localhost"])));
    with("sslmode=require").ok();
    with(&format!("sslmode=verify-full{trusting}")).ok();
    with(&format!("sslmode=require{trusting}")).ok();
    with("sslmode=disable").ok();
    // No public authority knows it, and a stranger of ours does not either.
    with("sslmode=verify-full").refused("SAY023").says("UnknownIssuer").exits(9);
    let stranger = space.path().join("stranger.pem");
    std::fs::write(&stranger, Authority::new().pem).unwrap();
    let strange = format!("sslmode=verify-full&sslrootcert={}", stranger.display());
    with(&strange).refused("SAY023").exits(9);
    with("sslmode=verify-full&sslrootcert=/nowhere.pem").refused("SAY023").says("/nowhere.pem");

    every_connection_is_encrypted(&space, &trusting);

    // The right authority, for somebody else's name.
    switch(&mut admin, Some(&authority.certify(&["db.example"])));
    let told = with(&format!("sslmode=verify-full{trusting}")).refused("SAY023").exits(9);
    told.says("not valid for name");
    with("sslmode=require").ok();
    switch(&mut admin, None);
}

/// A server of ours holds several connections: to read, to write, to listen.
fn every_connection_is_encrypted(space: &Space, trusting: &str) {
    let store = space.store.as_ref().unwrap();
    let address = format!("{store}?sslmode=verify-full{trusting}");
    let folder = space.path().join("served");
    std::fs::create_dir(&folder).unwrap();
    let name = space.path().file_name().unwrap().to_str().unwrap();
    let init = ["-C", folder.to_str().unwrap(), "init", "--name", name, "--store", &address];
    space.run(Who::Script, &init).ok();
    let _serving = Server::start(&folder, &[]);
    let mut client = Client::connect(store, NoTls).unwrap();
    let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
               WHERE application_name = 'sayso' AND datname = current_database()";
    let mut found =
        || -> Vec<bool> { client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect() };
    // It listens when the first is there; the others come meanwhile.
    let began = Instant::now();
    while found().len() < 3 && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = found();
    assert!(found.len() >= 3 && found.iter().all(|is_secret| *is_secret), "{found:?}");
}

/// Gives the database's server a certificate, or takes it away, without a restart.
fn switch(admin: &mut Client, certificate: Option<&Certificate>) {
    let state = if certificate.is_some() { "on" } else { "off" };
    if let Some(Certificate { pem, key }) = certificate {
        for (name, text) in [("tls.crt", pem), ("tls.key", key)] {
            // It writes the files itself: it may run as another user, and insists on owning its key.
            let coded: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            let write = format!(
                "COPY (SELECT convert_from(decode('{coded}', 'hex'), 'UTF8')) \
                 TO PROGRAM 'umask 077; printf %b \"$(cat)\" > {name}'"
            );
            admin.batch_execute(&write).unwrap();
        }
    }
    for setting in
        ["ssl_cert_file = 'tls.crt'", "ssl_key_file = 'tls.key'", &format!("ssl = {state}")]
    {
        admin.batch_execute(&format!("ALTER SYSTEM SET {setting}")).unwrap();
    }
    admin.batch_execute("SELECT pg_reload_conf()").unwrap();
    // Those who come from now on find it so, as soon as the server has looked.
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let mut fresh = Client::connect(&server(), NoTls).unwrap();
        let found: String = fresh.query_one("SHOW ssl", &[]).unwrap().get(0);
        if found == state {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "ssl is {found}");
    }
}
