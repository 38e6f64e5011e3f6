//! Outbound attacks: nothing near is called unless it is allowed, however it is spelt, and redirects lead
//! nowhere.

use super::receiver::{Manner, Receiver};
use super::{SECRET, hook, notices, set_channels, write_secret};
use crate::harness::{Backend, Space, Who, on_both};

/// Whatever leads to this machine, its networks or the services that tell its secrets is refused, and
/// nobody is called.
#[test]
fn what_is_near_is_refused_however_it_is_spelt() {
    let space = Space::new(Backend::Sqlite);
    let receiver = Receiver::good();
    let port = receiver.port();
    let near = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "10.0.0.1",
        "192.168.1.1",
        "0.0.0.0",
    ];
    let never = [
        "169.254.169.254",
        "2852039166",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
    ];
    let mut refused = 0;
    for (hosts, scheme, rest) in [
        (&near[..], "https", ""),
        (&never[..], "https", ""),
        (&never[..], "http", ", private: allowed"),
    ] {
        for host in hosts {
            let url = format!("{scheme}://{host}:{port}/latest/meta-data");
            set_channels(&space, &format!("x: {{webhook: \"{url}\", secret: hook.secret{rest}}}"));
            space
                .ann(&["notices", "test", "x"])
                .exits(1)
                .says("may not be called")
                .never_says("meta-data");
            refused += 1;
        }
    }
    assert_eq!((refused, receiver.calls()), (29, 0));
    set_channels(
        &space,
        &format!("x: {{webhook: \"http://127.0.0.1:{port}/\", secret: hook.secret}}"),
    );
    space.ann(&["notices", "test", "x"]).exits(2).says("needs https");
    // A proxy would look up names behind our back.
    set_channels(&space, "x: {webhook: \"https://localhost/\", secret: hook.secret}");
    let proxy = format!("http://127.0.0.1:{port}");
    let mut command = space.command(Who::Human("ann"), &["notices", "test", "x"]);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        command.env(name, &proxy);
    }
    space.finish(&mut command).exits(1).says("may not be called");
    assert_eq!(receiver.calls(), 0);
    set_channels(&space, &hook("x", &receiver, ""));
    space.ann(&["notices", "test", "x"]).ok();
    assert_eq!(receiver.calls(), 1, "what is allowed works");
}

on_both! {
    /// A receiver that sends us on, to something near or far, is not followed.
    fn redirects_lead_nowhere(space: &Space) {
        let target = Receiver::good();
        for to in [target.url(), "http://169.254.169.254/latest".into(), "file:///etc/passwd".into(), "/other".into()] {
            let receiver = Receiver::new(move |_| Manner::Redirects(to.clone()));
            set_channels(space, &hook("x", &receiver, ""));
            space.ann(&["notices", "test", "x"]).exits(1).says("redirects are not followed");
            assert_eq!(receiver.calls(), 1);
        }
        assert_eq!(target.calls(), 0);
    }
}

/// A secret that others can read, or that is none, is refused before anybody is called; what waits to be
/// sent says why and comes when it is mended.
#[test]
fn a_secret_is_kept() {
    let space = Space::new(Backend::Sqlite);
    let receiver = Receiver::good();
    set_channels(&space, &hook("x", &receiver, ""));
    let test = || space.ann(&["notices", "test", "x"]);
    for (text, mode, says) in [
        (SECRET, 0o644, "open to others (644)"),
        (SECRET, 0o640, "chmod 600"),
        ("whsec_short", 0o600, "is not whsec_"),
        ("", 0o600, "is not whsec_"),
    ] {
        write_secret(&space, text, mode);
        let ran = test().exits(1).says(says);
        assert!(text.len() < 20 || !ran.said().contains(&text[6..]), "{}", ran.said());
    }
    std::fs::remove_file(space.path().join(".sayso/hook.secret")).unwrap();
    test().exits(1).says("No such file");
    space.ask("coder", &["Ship?"]);
    super::send(&space);
    assert!(notices(&space, &[])[0]["error"].as_str().unwrap().contains("No such file"));
    assert_eq!(receiver.calls(), 0);
    write_secret(&space, SECRET, 0o600);
    super::let_time_pass(&space);
    super::send(&space);
    assert_eq!(receiver.ids().len(), 1);
    // Settings with a mistake are named, and stand in the way of nobody who asks.
    set_channels(&space, "bad: {command: [x], webhook: \"https://x\"}");
    space.run(Who::Script, &["validate"]).exits_not(0).says("a command or a webhook");
    space.ann(&["doctor", "--quick"]).says("a command or a webhook");
    space.ask("coder", &["Ship it all?"]);
}
