//! How people get in, and what they may do there.

use super::{for_teams, join, log_in};
use crate::harness::{Ran, SAYSO, Server, Space, Who, shows, user};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

for_teams! {
    /// Whoever starts a server at a terminal is shown a code for the first admin. Another start takes nothing
    /// from it; once somebody looks after the space, none of them counts any more.
    fn the_first_code(team: &Team) {
        let start = || {
            let mut server = team.home.start(Who::Terminal, &["serve", "--listen", "127.0.0.1:0"]);
            let said = shows(&mut server, "/login#");
            let (_, rest) = said.split_once("--code ").expect("a code");
            let code = rest.split_whitespace().next().unwrap().to_owned();
            (server, code)
        };
        let (mut one, first) = start();
        let (mut two, second) = start();
        assert_ne!(first, second);
        let ann = team.machine();
        join(&ann, "ann", "0000-0000-0000-0000", "correct horse").refused("SAY055")
            .says("nobody looks after this space yet").says("people invite NAME --admin");
        join(&ann, "ann", &first, "correct horse").exits(0).says("logged in");
        join(&team.machine(), "eve", &first, "correct horse").refused("SAY055").exits(4);
        join(&team.machine(), "eve", &second, "correct horse").refused("SAY055").exits(4)
            .never_says("nobody looks after");
        // Who started it is who gave the code out.
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json();
        let invited = audit.as_array().unwrap().iter().filter(|e| e["action"] == "person.invited");
        let by: Vec<_> = invited.map(|entry| (entry["actor"].clone(), entry["proof"].clone())).collect();
        let person = (user().into(), "tty".into());
        assert_eq!(by, [person.clone(), person]);
        for server in [&mut one, &mut two] {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

for_teams! {
    /// What a server says goes into files that others read, also where a person starts it: no code is in there.
    fn no_code_in_a_log(team: &Team) {
        let line = format!("{SAYSO} serve --listen 127.0.0.1:0 2> said.log");
        let mut server = team.home.line(&line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shows(&mut server, "http://");
        let said = std::fs::read_to_string(team.home.path().join("said.log")).unwrap();
        assert!(said.contains("nobody looks after"), "{said}");
        assert!(!said.contains("code=") && !said.contains("--code"), "{said}");
        let _ = server.kill();
        let _ = server.wait();
    }
}

for_teams! {
    /// A server without a terminal shows no code, since its log is read by others; a person gets one at a terminal
    /// of the store, and invites the others.
    fn the_first_and_the_others(team: &Team) {
        let said = team.server.said();
        assert!(said.contains("nobody looks after") && said.contains("people invite YOU --admin"), "{said}");
        assert!(!said.contains("--code"), "{said}");
        let ann = team.first("ann");
        ann.run(Who::Terminal, &["people", "list"]).says("ann  looks after the space").ok();
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
    /// Guesses of strangers keep nobody out who is in: a login has its own count of wrong passphrases.
    fn guesses_of_strangers_lock_no_login_out(team: &Team) {
        let ann = team.first("ann");
        let stranger = team.machine();
        // Pauses begin with a second, which a slow machine takes for one try.
        let is_slowed = |guess: &dyn Fn() -> Ran| (0..12).any(|_| guess().said().contains("SAY054"));
        assert!(is_slowed(&|| log_in(&stranger, "ann", "wrong horse")));
        let unlock = |passphrase: &str| {
            ann.run_with_input(Who::Terminal, &["unlock"], &format!("{passphrase}\n"))
        };
        unlock("correct horse").exits(0).says("unlocked until");
        // The wrong ones of this login count for it, and for no other.
        assert!(is_slowed(&|| unlock("wrong horse")));
        let again = ann.run(Who::Terminal, &["people", "invite", "bob", "--json"]).json();
        join(&stranger, "bob", again["code"].as_str().unwrap(), "correct horse").exits(0);
        stranger.run_with_input(Who::Terminal, &["unlock"], "correct horse\n").exits(0);
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
        // One that everybody can read is told of.
        ann.run(Who::Holder(&file), &["inbox"]).never_says("every user").ok();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        ann.run(Who::Holder(&file), &["inbox"]).says("every user can read the token").ok();
        ann.run(Who::Terminal, &["token", "list"]).says("only to read").ok();
        ann.run(Who::Terminal, &["audit", "list"]).says("human for tv, only to read").ok();
        let wrong = ["token", "create", "--role", "human", "--name", "x", "--scope", "everything"];
        ann.run(Who::Terminal, &wrong).says("answer, ask, track").exits(2);
    }
}

for_teams! {
    /// Whoever may ask hears the answer, and takes note of it.
    fn who_asks_hears(team: &Team) {
        let ann = team.first("ann");
        for (role, name) in [("service", "job"), ("agent", "coder")] {
            let file = ann.token(name);
            let path = file.to_str().unwrap();
            let make = ["token", "create", "--role", role, "--name", name, "--scope", "ask", "--out", path];
            ann.run(Who::Terminal, &make).ok();
            let gate = ann.run(Who::Holder(&file), &["ask", "Ship it?", "--verdict"]).ok();
            ann.run(Who::Terminal, &["approve", &gate]).ok();
            ann.run(Who::Holder(&file), &["wait", &gate]).exits(0).says("approved by ann");
            assert_eq!(ann.run(Who::Terminal, &["show", &gate, "--json"]).json()["delivery"]["state"], "acknowledged");
            // Only to its own, and nothing else.
            let other = ann.run(Who::Script, &["ask", "And this?", "--verdict"]).ok();
            ann.run(Who::Terminal, &["approve", &other]).ok();
            ann.run(Who::Holder(&file), &["wait", &other]).exits_not(0);
            ann.run(Who::Holder(&file), &["create", "A task"]).refused("SAY037");
        }
    }
}

for_teams! {
    /// Nobody stands in for another who is not there, and no agent does; a name is a person's or an agent's.
    fn who_can_stand_in(team: &Team) {
        let ann = team.first("ann");
        let bob = team.invited(&ann, "bob");
        team.token(&ann, "agent", "coder");
        let gate = ann.run(Who::Script, &["ask", "Ship it?", "--verdict"]).ok();
        let delegate = |to: &str| ann.run(Who::Terminal, &["delegate", &gate, "--to", to]);
        let away = |to: &str| ann.run(Who::Terminal, &["away", "--until", "3d", "--to", to]);
        delegate("bobb").refused("SAY038").exits(2).says("nobody here is called").says("did you mean bob?");
        delegate("zacharias").refused("SAY038").says("there are: ann, bob");
        delegate("coder").refused("SAY038").says("is an agent");
        away("coder").refused("SAY038").says("is an agent");
        away("nobody-knows").refused("SAY038").says("nobody here is called");
        delegate("bob").ok();
        bob.run(Who::Terminal, &["approve", &gate]).says("approved by bob (in the place of ann) with passphrase").ok();
        ann.run(Who::Terminal, &["show", &gate]).says("approved by bob (in the place of ann)").ok();
        let audit = ann.run(Who::Terminal, &["audit", "list", "--json"]).json();
        let reason = |action: &str| {
            let all = audit.as_array().unwrap();
            all.iter().find(|entry| entry["action"] == action).unwrap()["reason"].clone()
        };
        assert_eq!([reason("gate.delegated"), reason("gate.answered")], ["to bob", "stands in for ann"]);

        for name in ["../x", ".x", "a/b"] {
            ann.run(Who::Terminal, &["people", "invite", name]).refused("SAY038").says("a person's name");
        }
        ann.run(Who::Terminal, &["people", "invite", "coder"]).refused("SAY038").says("an agent is called coder");
        bob.run(Who::Terminal, &["people", "invite", "eve"]).refused("SAY037").says("bob may not invite people");
        bob.run(Who::Terminal, &["token", "list"]).refused("SAY037").says("bob may not list tokens");
    }
}

for_teams! {
    /// What a machine says of a server before anybody has logged in there is not more than it knows.
    fn a_space_that_is_not_there(team: &Team) {
        let machine = Space::empty();
        let init = ["init", "--name", "nosuch", "--store", &team.server.url];
        machine.run(Who::Script, &init).exits(0).says("is set to space nosuch").never_says("already there");
        log_in(&machine, "ann", "correct horse").refused("SAY039").says("space nosuch of http");
        join(&machine, "ann", "0000-0000-0000-0000", "correct horse").refused("SAY055").says("space nosuch of http");
        // Who logged in somewhere is told how another folder gets to it.
        let ann = team.first("ann");
        let elsewhere = tempfile::tempdir().unwrap();
        let mut list = ann.command(Who::Terminal, &["people", "list"]);
        let said = ann.finish(list.current_dir(elsewhere.path())).refused("SAY020");
        said.says(&format!("sayso init --store {} --name {}", team.server.url, team.name));
    }
}
