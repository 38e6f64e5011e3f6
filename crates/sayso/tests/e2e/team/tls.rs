//! TLS: the server's own certificate, and an authority that only this team knows.

use super::certificates::Authority;
use super::join;
use crate::harness::{Backend, Server, Space, Who};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// A server with a certificate of an authority of its own.
struct Guarded {
    home: Space,
    authority: Authority,
    server: Server,
    name: String,
}

impl Guarded {
    fn start(listen: &str) -> Self {
        let (home, authority) = (Space::bare(Backend::Sqlite), Authority::new());
        let files = authority.certify(&["127.0.0.1", "localhost"]).write(home.path());
        let [certificate, key] = files.each_ref().map(|path| path.to_str().unwrap());
        let server = Server::at(
            home.path(),
            listen,
            &["--host", "localhost", "--tls-cert", certificate, "--tls-key", key],
        );
        let name = home.path().file_name().unwrap().to_str().unwrap().to_owned();
        Self { home, authority, server, name }
    }

    fn machine(&self) -> Space {
        let machine = Space::empty();
        let init = ["init", "--name", &self.name, "--store", &self.server.url];
        machine.run(Who::Script, &init).ok();
        machine
    }

    fn port(&self) -> u16 {
        self.server.url.rsplit(':').next().unwrap().parse().unwrap()
    }
}

#[test]
fn a_team_works_over_tls_with_an_authority_of_its_own() {
    // Beyond this machine: with TLS it may.
    let team = Guarded::start("0.0.0.0:0");
    assert!(team.server.url.starts_with("https://localhost:"), "{}", team.server.url);
    let ann = team.machine();
    let code = team.home.first_code("ann");

    let told = join(&ann, "ann", &code, "correct horse").refused("SAY023").exits(9);
    told.says("is not trusted").says("SAYSO_CA_FILE").never_says(&code);
    // Somebody else's authority is not ours, whatever name the certificate has.
    let other = ann.path().join("other.pem");
    std::fs::write(&other, Authority::new().pem).unwrap();
    let with = [("SAYSO_CA_FILE", other.to_str().unwrap())];
    ann.run(Who::With(&with), &["list"]).refused("SAY023").says("is not trusted").exits(9);

    // Without TLS to where it is spoken, and the other way round.
    let plain = format!("http://127.0.0.1:{}", team.port());
    ann.run(Who::Script, &["--store", &plain, "list"]).refused("SAY023").says("try https://");
    let home = Space::bare(Backend::Sqlite);
    let bare = Server::start(home.path(), &[]);
    let secret = bare.url.replace("http://", "https://");
    ann.run(Who::Script, &["--store", &secret, "list"])
        .refused("SAY023")
        .says("begins with http://");

    // In the settings, from the folder of their file.
    let settings = ann.path().join(".sayso/config.yaml");
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(text.contains("\nca: \"\"\n"), "{text}");
    std::fs::write(&settings, text.replace("\nca: \"\"\n", "\nca: ca.pem\n")).unwrap();
    ann.trust();
    ann.run(Who::Script, &["list"]).refused("SAY032").says("ca.pem cannot be used").exits(2);
    std::fs::write(ann.path().join(".sayso/ca.pem"), "nothing").unwrap();
    ann.run(Who::Script, &["list"]).refused("SAY032").says("no certificate in it");
    std::fs::write(ann.path().join(".sayso/ca.pem"), &team.authority.pem).unwrap();
    join(&ann, "ann", &code, "correct horse").exits(0).says("logged in");
    let gate = ann.run(Who::Script, &["ask", "Ship it?", "--verdict"]).ok();
    ann.run(Who::Terminal, &["approve", &gate]).says("by ann with passphrase").ok();
    ann.run(Who::Script, &["wait", &gate]).says("approved by ann").ok();
    // Whoever waits hears, though their connection was taken apart meanwhile.
    let second = ann.run(Who::Script, &["ask", "And this?", "--verdict"]).ok();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| ann.run(Who::Script, &["wait", &second]));
        std::thread::sleep(Duration::from_secs(1));
        ann.run(Who::Terminal, &["approve", &second]).ok();
        waiter.join().unwrap().says("approved by ann").ok();
    });

    // Or in the environment, which counts before them.
    let file = ann.path().join("team.pem");
    std::fs::write(&file, &team.authority.pem).unwrap();
    std::fs::write(ann.path().join(".sayso/ca.pem"), "nothing").unwrap();
    let with = [("SAYSO_CA_FILE", file.to_str().unwrap())];
    ann.run(Who::With(&with), &["show", &gate]).says("Ship it?").ok();

    // Who speaks in the clear hears nothing.
    let mut plain = TcpStream::connect(("127.0.0.1", team.port())).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    plain.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut heard = vec![];
    let _ = plain.read_to_end(&mut heard);
    assert!(!String::from_utf8_lossy(&heard).contains("HTTP"), "{heard:?}");
}

#[test]
fn whoever_hangs_in_the_handshake_holds_up_nobody() {
    let team = Guarded::start("127.0.0.1:0");
    let ann = team.machine();
    let file = ann.path().join("team.pem");
    std::fs::write(&file, &team.authority.pem).unwrap();
    // More than it takes up at one time, and none of them says a word.
    let address = ("127.0.0.1", team.port());
    let silent: Vec<_> = (0..560).map(|_| TcpStream::connect(address).unwrap()).collect();
    let began = Instant::now();
    let with = [("SAYSO_CA_FILE", file.to_str().unwrap())];
    // It gets through to where a credential is asked for.
    ann.run(Who::With(&with), &["list"]).refused("SAY028").exits(4);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    // The oldest had to make room.
    let mut first = &silent[0];
    first.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    assert_eq!(first.read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn a_certificate_that_cannot_be_used_is_told_before_anybody_is_served() {
    let (home, authority) = (Space::bare(Backend::Sqlite), Authority::new());
    let folder = home.path();
    let [certificate, key] = authority.certify(&["127.0.0.1"]).write(folder);
    let serve = |certificate: &str, key: &str| {
        let args = ["serve", "--listen", "0.0.0.0:0", "--tls-cert", certificate, "--tls-key", key];
        home.run(Who::Script, &args)
    };
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    serve("missing.pem", key).refused("SAY032").says("certificate missing.pem").exits(2);
    serve(certificate, "missing.pem").refused("SAY032").says("key missing.pem").exits(2);
    serve(key, key).refused("SAY032").says("there is none in it").exits(2);
    std::fs::set_permissions(certificate, Permissions::from_mode(0o600)).unwrap();
    serve(certificate, certificate).refused("SAY032").says("no private key").exits(2);
    let other = folder.join("other");
    std::fs::create_dir(&other).unwrap();
    let [_, stranger] = authority.certify(&["127.0.0.1"]).write(&other);
    let told = serve(certificate, stranger.to_str().unwrap()).refused("SAY032").exits(2);
    told.says("not the key of the certificate");
    std::fs::set_permissions(key, Permissions::from_mode(0o644)).unwrap();
    let told = serve(certificate, key).refused("SAY032").exits(2);
    told.says("others can read it (644)").says("chmod 600").never_says("PRIVATE KEY");
    // One without the other is a mistake of the command line; and without both nobody else gets in.
    home.run(Who::Script, &["serve", "--tls-cert", certificate]).says("--tls-key").exits(2);
    let plain = home.run(Who::Script, &["serve", "--listen", "0.0.0.0:0"]);
    plain.refused("SAY038").says("without TLS").exits(2);
}
