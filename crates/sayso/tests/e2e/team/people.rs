//! How people get in, and what they may do there.

use super::{for_teams, join, log_in};
use crate::harness::{Ran, Server, Who};

for_teams! {
    /// The first one gets in by the code on the server's terminal, and invites the others.
    fn the_first_and_the_others(team: &Team) {
        let ann = team.first("ann");
        ann.run(Who::Terminal, &["people", "list"]).says("ann  looks after the space").ok();
        // It was used, and there is somebody now: no new one is made.
        join(&team.machine(), "eve", &team.server.first_code(), "correct horse").refused("SAY055").exits(4);
        let second = Server::start(team.home.path(), &[]);
        assert!(second.said().is_empty(), "{}", second.said());

        let bob = team.invited(&ann, "bob");
        let gate = bob.run(Who::Script, &["ask", "Ship it?", "--verdict"]).ok();
        ann.run(Who::Terminal, &["approve", &gate]).says("by ann with passphrase").ok();
        bob.run(Who::Script, &["wait", &gate]).says("approved by ann").ok();
        // What is written down is who they are there, whatever the machine calls them.
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json();
        let said = audit.to_string();
        for action in ["person.invited", "person.joined", "gate.answered"] {
            assert!(said.contains(action), "{action}");
        }
        ann.run(Who::Terminal, &["audit", "verify"]).ok();
    }
}

for_teams! {
    /// A code counts once, for one name, and for a passphrase that is one.
    fn codes(team: &Team) {
        let ann = team.first("ann");
        let code = ann.run(Who::Terminal, &["people", "invite", "bob", "--json"]).json();
        let code = code["code"].as_str().unwrap();
        let machine = team.machine();
        join(&machine, "eve", code, "correct horse").refused("SAY055").exits(4);
        join(&machine, "bob", "0000-0000-0000-0000", "correct horse").refused("SAY055");
        join(&machine, "bob", code, "short").refused("SAY038").exits(2);
        join(&machine, "bob", &code.to_lowercase().replace('-', ""), "correct horse").exits(0);
        join(&machine, "bob", code, "another horse").refused("SAY055");
        // Who forgot their passphrase is invited anew; nothing else changes it.
        let again = ann.run(Who::Terminal, &["people", "invite", "bob", "--json"]).json();
        join(&machine, "bob", again["code"].as_str().unwrap(), "a new horse").exits(0);
        log_in(&machine, "bob", "correct horse").refused("SAY039").exits(4);
        log_in(&machine, "bob", "a new horse").exits(0);
        // Only people at a terminal log in, and no agent does it for them.
        machine.run(Who::Script, &["login", "--name", "bob"]).refused("SAY041");
        let agent = machine.run(Who::With(&[("CLAUDECODE", "1")]), &["login", "--name", "bob"]);
        agent.refused("SAY010").exits(5);
    }
}

for_teams! {
    /// Whoever guesses waits, on every server, and learns nothing about who is known.
    fn guessing(team: &Team) {
        let ann = team.first("ann");
        let second = Server::start(team.home.path(), &[]);
        // What the terminal echoes before the program reads is not the program's.
        let words = |ran: Ran| ran.said().split_once("error[").unwrap().1.to_owned();
        let unknown = words(log_in(&ann, "nobody", "wrong horse").refused("SAY039"));
        let mut counted = 0;
        while counted < 7 {
            let known = words(log_in(&ann, "ann", "wrong horse"));
            if known.starts_with("SAY054") {
                std::thread::sleep(std::time::Duration::from_millis(200));
                continue;
            }
            assert_eq!(unknown.replace("nobody", "ann"), known);
            counted += 1;
        }
        let elsewhere = ["--store", &second.url, "login", "--name", "ann"];
        let right = ann.run_with_input(Who::Terminal, &elsewhere, "correct horse\n");
        right.refused("SAY054").says("wait").exits(4);
        // Those who are in stay in, and the pause ends by itself.
        ann.run(Who::Terminal, &["people", "list"]).ok();
        std::thread::sleep(std::time::Duration::from_millis(4_100));
        log_in(&ann, "ann", "correct horse").exits(0);
    }
}

for_teams! {
    /// Whoever is let in no more leaves nothing to anybody: their stand-in is only themselves again.
    fn a_dismissed_person_leaves_nobody_behind(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        let cid = team.invited(&ann, "cid");
        std::fs::write(ann.path().join("p.yaml"), "rules:\n  - {name: bobs, on: ask, then: ask, ask: {of: bob}}\n").unwrap();
        ann.run(Who::Terminal, &["policy", "set", "p.yaml"]).ok();
        bob.run(Who::Terminal, &["away", "--until", "3d", "--to", "cid"]).ok();
        let ask = || ann.run(Who::Script, &["ask", "May I?", "--verdict"]).ok();
        cid.run(Who::Terminal, &["approve", &ask()]).ok();
        ann.run(Who::Terminal, &["people", "dismiss", "bob"]).ok();
        cid.run(Who::Terminal, &["approve", &ask()]).refused("SAY013");
        ann.run(Who::Terminal, &["away"]).says("nobody is away").ok();
    }
}

for_teams! {
    /// From elsewhere it takes more than being a person to change what holds for all.
    fn who_looks_after_the_space(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        std::fs::write(bob.path().join("p.yaml"), "otherwise: {tool: allow}\n").unwrap();
        for args in [
            &["policy", "set", "p.yaml"][..],
            &["people", "invite", "eve"],
            &["people", "invite", "bob", "--admin"],
            &["token", "create", "--role", "admin", "--name", "bob"],
            &["token", "list"],
            &["delete", "--space", &team.name, "--yes"],
        ] {
            let refused = bob.run(Who::Terminal, args);
            assert!(refused.code == 5 || refused.code == 2, "{args:?}: {}", refused.said());
            assert_ne!(refused.code, 0, "{args:?}");
        }
        std::fs::write(ann.path().join("p.yaml"), "otherwise: {tool: allow}\n").unwrap();
        ann.run(Who::Terminal, &["policy", "set", "p.yaml"]).ok();
        ann.run(Who::Terminal, &["people", "dismiss", "ann"]).refused("SAY018");
        ann.run(Who::Terminal, &["people", "dismiss", "nobody"]).refused("SAY001");
        ann.run(Who::Terminal, &["people", "dismiss", "bob"]).ok();
        bob.run(Who::Terminal, &["list"]).refused("SAY028").exits(4);
        log_in(&bob, "bob", "correct horse").refused("SAY039");
        // A script with her login is not her.
        ann.run(Who::Script, &["policy", "set", "p.yaml"]).refused("SAY011");
        ann.run(Who::Script, &["people", "invite", "eve"]).refused("SAY011");
    }
}

for_teams! {
    /// A login that ended counts nowhere; nor does one whose passphrase was shown too long ago, for what
    /// takes it.
    fn logging_out(team: &Team) {
        let ann = team.first("ann");
        let login = std::fs::read_dir(ann.path().join("xdg/sayso/logins")).unwrap().next().unwrap();
        let kept = std::fs::read_to_string(login.unwrap().path()).unwrap();
        let secret = serde_json::from_str::<serde_json::Value>(&kept).unwrap();
        let stolen = ann.path().join("stolen");
        std::fs::write(&stolen, secret["secret"].as_str().unwrap()).unwrap();
        ann.run(Who::Holder(&stolen), &["list"]).ok();
        ann.run(Who::Terminal, &["lock"]).ok();
        ann.run(Who::Terminal, &["people", "invite", "bob", "--no-input"]).refused("SAY012");
        ann.run(Who::Terminal, &["logout"]).says("logged out").ok();
        ann.run(Who::Terminal, &["list"]).refused("SAY028").exits(4);
        ann.run(Who::Holder(&stolen), &["list"]).refused("SAY028").exits(4);
        log_in(&ann, "ann", "correct horse").exits(0);
        ann.run(Who::Terminal, &["list"]).ok();
    }
}

for_teams! {
    /// A token that is limited does that and nothing else.
    fn scopes(team: &Team) {
        let ann = team.first("ann");
        let file = ann.path().join("reader");
        let name = file.to_str().unwrap();
        let make = ["token", "create", "--role", "human", "--name", "tv", "--scope", "read", "--out", name];
        ann.run(Who::Terminal, &make).ok();
        let gate = ann.run(Who::Script, &["ask", "Ship it?", "--verdict"]).ok();
        ann.run(Who::Holder(&file), &["inbox"]).says("Ship it?").ok();
        ann.run(Who::Holder(&file), &["approve", &gate]).refused("SAY037").says("scope").exits(5);
        ann.run(Who::Holder(&file), &["create", "Something"]).refused("SAY037");
        ann.run(Who::Holder(&file), &["audit", "list"]).refused("SAY037");
        let tokens = ann.run(Who::Terminal, &["token", "list", "--json"]).json();
        assert_eq!(tokens["items"][0]["scopes"], serde_json::json!(["read"]));
        let wrong = ["token", "create", "--role", "human", "--name", "x", "--scope", "everything"];
        ann.run(Who::Terminal, &wrong).says("answer, ask, track").exits(2);
    }
}
