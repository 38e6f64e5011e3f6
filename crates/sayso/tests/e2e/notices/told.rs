//! Who is told: whoever waits sends, the worker sends, people are told by the channels they want.

use super::receiver::{Receiver, verify};
use super::{hook, notices, send, set_channels, until};
use crate::harness::{Backend, Space, Who, on_both};
use crate::worker::{COMPLETE, Project, says, turns};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

on_both! {
    /// One user, no people, no worker: the asker that waits tells them, and gets its answer.
    fn whoever_waits_sends(space: &Space) {
        let receiver = Receiver::good();
        set_channels(space, &hook("bell", &receiver, ""));
        let asker = space.start(Who::Agent("coder"), &["ask", "Which port?", "--wait"]);
        until("the notice", || receiver.ids().len() == 1);
        let heard = receiver.heard().remove(0);
        verify(&heard);
        let gate = heard.data("handle").as_str().unwrap().to_owned();
        until("settled", || notices(space, &[]).is_empty());
        space.ann(&["respond", &gate, "8080"]).ok();
        let said = crate::harness::Ran::of(&asker.wait_with_output().unwrap());
        assert_eq!(said.ok(), "8080");
        // An earlier question of somebody who did not wait is told by who waits next.
        let other = space.ask("tester", &["Which host?"]);
        let mut waiter = space.start(Who::Agent("tester"), &["wait", &other]);
        until("the other notice", || receiver.ids().len() == 2);
        space.ann(&["respond", &other, "here"]).ok();
        assert!(waiter.wait().unwrap().success());
        assert_eq!(receiver.calls(), 2);
        space.verify();
    }
}

on_both! {
    /// The worker tells what its agents ask, also what they ask last.
    fn the_worker_sends(space: &Space) {
        let receiver = Receiver::good();
        let asks = says("<promise>INPUT_NEEDED: Which port?</promise>");
        let project = Project::new(space, &turns(&[&asks, &says(COMPLETE)]), "");
        set_channels(space, &hook("bell", &receiver, ""));
        let task = space.create(&["Serve it"]);
        project.work(&[]).ok();
        assert_eq!(space.state(&task), "awaiting_input");
        assert_eq!(receiver.ids().len(), 1, "told before the worker ended");
        let heard = receiver.heard().remove(0);
        assert_eq!((heard.data("title"), heard.data("kind")), ("Which port?".into(), "input".into()));
        space.verify();
    }
}

/// Behind a server it is the server that tells people, in every space of its store that somebody came to;
/// whoever waits elsewhere runs and calls nothing. A courier of somebody who may run workers can help out.
#[test]
fn the_server_sends() {
    let space = Space::new(Backend::Sqlite);
    let (room, mine) = (Receiver::good(), Receiver::good());
    set_channels(&space, &hook("room", &room, ""));
    let config = space.path().join(".sayso/config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}pages: https://sayso.example/\n")).unwrap();
    space.trust();
    std::fs::write(space.path().join("fleet.yaml"), "people:\n  ann: {notify: [mine]}\n").unwrap();
    space.run(Who::Terminal, &["apply", "fleet.yaml"]).ok();
    space.mint("operator", "opal");
    let mut serve = space.command(Who::Script, &["serve", "--listen", "127.0.0.1:0"]);
    let mut server = serve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let name = space.path().file_name().unwrap().to_str().unwrap().to_owned();
    let far = |who: &str, args: &[&str]| {
        let there = ["--store", url.trim(), "--space", &name];
        let args: Vec<_> = there.iter().chain(args).copied().collect();
        let mut command = space.command(Who::Human(who), &args);
        command.current_dir(elsewhere.path());
        command
    };
    // The channels of whoever asks are theirs; asking and waiting calls none of them.
    let folder = space.path().join("xdg/sayso");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(space.path().join(".sayso/hook.secret"), folder.join("hook.secret")).unwrap();
    std::fs::write(folder.join("config.yaml"), format!("notify:\n  {}", hook("mine", &mine, "")))
        .unwrap();
    let asker = far("coder", &["ask", "Ship?", "--wait"]).stdout(Stdio::piped()).spawn().unwrap();
    until("the server's notice", || room.ids().len() == 1);
    let heard = room.heard().remove(0);
    verify(&heard);
    let gate = heard.data("handle").as_str().unwrap().to_owned();
    assert_eq!(heard.data("url"), format!("https://sayso.example/gates/{gate}"));
    assert_eq!(mine.calls(), 0);
    space.finish(&mut far("coder", &["notices", "send"])).refused("SAY037");
    assert_eq!(mine.calls(), 0);
    space.finish(&mut far("opal", &["notices", "send"])).ok();
    assert_eq!((mine.ids().len(), mine.heard()[0].data("to")), (1, "ann".into()));
    space.finish(&mut far("ann", &["show", &gate])).says("told ann by mine").says("told by room");
    space.ann(&["respond", &gate, "Yes."]).ok();
    let said = crate::harness::Ran::of(&asker.wait_with_output().unwrap());
    assert_eq!(said.ok(), "Yes.");
    server.kill().unwrap();
    server.wait().unwrap();
    space.verify();
}

on_both! {
    /// People name channels in the fleet file; the machine says what they are. Each is told once, and only
    /// who is asked.
    fn people_choose_their_channels(space: &Space) {
        let (phone, mail, room) = (Receiver::good(), Receiver::good(), Receiver::good());
        set_channels(space, &(hook("phone", &phone, "") + &hook("mail", &mail, ", who: [bob]")
            + &hook("room", &room, "")));
        let fleet = "people:\n  ann: {notify: [phone]}\n  bob: {}\n  eve: {notify: []}\n";
        std::fs::write(space.path().join("fleet.yaml"), fleet).unwrap();
        space.run(Who::Terminal, &["apply", "fleet.yaml"]).ok();
        space.run(Who::Terminal, &["export"]).says("notify");
        let gate = space.ask("coder", &["Ship?", "--to", "ann", "--remind", "1s"]);
        send(space);
        assert_eq!((phone.calls(), mail.calls(), room.calls()), (1, 0, 1));
        assert_eq!((phone.heard()[0].data("to"), room.heard()[0].data("to")), ("ann".into(), serde_json::Value::Null));
        until("the reminder", || {
            send(space);
            phone.calls() == 2
        });
        let last = phone.heard().pop().unwrap();
        assert_eq!((last.json()["type"].clone(), last.data("reminder")), ("gate.reminded".into(), 1.into()));
        assert_eq!(phone.ids().len(), 2, "another notice has another id");
        space.ann(&["show", &gate]).says("told ann by phone");
        space.ask("coder", &["Anyone?"]);
        send(space);
        assert_eq!((phone.calls(), mail.calls(), room.calls()), (3, 1, 3));
        // What a machine runs is not for a fleet file to say, nor what is in the outbox for others.
        for body in ["notify: [nudge@here]", "notify: {phone: {command: [sh]}}"] {
            std::fs::write(space.path().join("fleet.yaml"), format!("people:\n  ann: {{{body}}}\n")).unwrap();
            space.run(Who::Terminal, &["apply", "fleet.yaml"]).exits_not(0);
        }
        space.coder(&["notices"]).refused("SAY037");
        space.coder(&["notices", "test", "phone"]).refused("SAY037");
        space.coder(&["notices", "--gate", &gate]).ok();
        space.run(Who::Agent("tester"), &["notices", "--gate", &gate]).refused("SAY001");
        space.verify();
    }
}
