//! Again: repeating a request is harmless, and one id never means two things (R6).

use super::{Chance, ann, desk, entries, gate_id, now, task_id};
use crate::harness::{Space, Who, everywhere};
use sayso_core::MessageId;

everywhere! {
    fn the_same_request_again_has_one_effect(space: &Space) {
        let mut chance = Chance::new(21);
        let task = task_id(&mut chance).to_string();
        let gate = gate_id(&mut chance).to_string();
        let message = MessageId::mint(now(), chance.wide()).to_string();
        let requests: [(Who<'_>, Vec<&str>); 7] = [
            (Who::Script, vec!["create", "Ship it", "--id", &task, "-l", "web"]),
            (Who::Agent("coder"), vec!["ask", "Ship?", "--id", &gate, "--task", &task]),
            (Who::Human("ann"), vec!["tell", "coder", "go on", "--id", &message]),
            (Who::Human("ann"), vec!["respond", &gate, "yes, today"]),
            (Who::Agent("coder"), vec!["wait", &gate]),
            (Who::Agent("coder"), vec!["messages", "--ack", &message]),
            (Who::Human("ann"), vec!["close", &task]),
        ];
        for (who, args) in &requests {
            let first = space.run(*who, args).ok();
            let after = entries(space);
            for _ in 0..3 {
                assert_eq!(space.run(*who, args).ok(), first, "{args:?}");
            }
            assert_eq!(entries(space), after, "{args:?} had another effect");
        }
        space.verify();
    }
}

everywhere! {
    fn one_id_never_means_two_things(space: &Space) {
        let mut chance = Chance::new(22);
        let task = task_id(&mut chance).to_string();
        let gate = gate_id(&mut chance).to_string();
        let message = MessageId::mint(now(), chance.wide()).to_string();
        space.run(Who::Script, &["create", "Ship it", "--id", &task]).ok();
        space.run(Who::Agent("coder"), &["ask", "Ship?", "--id", &gate]).ok();
        space.run(Who::Human("ann"), &["tell", "coder", "go on", "--id", &message]).ok();
        let before = entries(space);
        let clashes: [(Who<'_>, Vec<&str>); 8] = [
            (Who::Script, vec!["create", "Ship that", "--id", &task]),
            (Who::Script, vec!["create", "Ship it", "-p", "0", "--id", &task]),
            (Who::Agent("coder"), vec!["ask", "Ship it all?", "--id", &gate]),
            (Who::Agent("coder"), vec!["ask", "Ship?", "--verdict", "--id", &gate]),
            (Who::Agent("tester"), vec!["ask", "Ship?", "--id", &gate]),
            (Who::Human("ann"), vec!["tell", "coder", "stop", "--id", &message]),
            (Who::Human("ann"), vec!["tell", "tester", "go on", "--id", &message]),
            (Who::Human("bob"), vec!["tell", "coder", "go on", "--id", &message]),
        ];
        for (who, args) in &clashes {
            let refused = space.run(*who, args).exits(6).refused("SAY030");
            assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
        }
        assert_eq!(entries(space), before, "a refused request left something behind");
        space.run(Who::Human("ann"), &["respond", &gate, "yes"]).ok();
        let before = entries(space);
        let late = space.run(Who::Human("ann"), &["respond", &gate, "no"]).exits(6);
        late.refused("SAY004");
        space.run(Who::Human("bob"), &["respond", &gate, "yes"]).exits(6).refused("SAY004");
        assert_eq!(entries(space), before);
        space.verify();
    }
}

everywhere! {
    /// An id that another space of the same store has is not free either, and the refusal says so
    /// instead of blaming the store.
    fn an_id_of_another_space_is_taken(space: &Space) {
        let mut chance = Chance::new(23);
        let task = task_id(&mut chance).to_string();
        let gate = gate_id(&mut chance).to_string();
        let message = MessageId::mint(now(), chance.wide()).to_string();
        let requests = [
            vec!["create", "Ship it", "--id", &task],
            vec!["ask", "Ship?", "--id", &gate],
            vec!["tell", "coder", "go on", "--id", &message],
        ];
        let other = other_space(space);
        for args in &requests {
            space.run(Who::Script, args).ok();
            let there: Vec<_> = other.iter().map(String::as_str).chain(args.clone()).collect();
            space.run(Who::Script, &there).exits(6).refused("SAY030");
        }
        space.verify();
    }
}

/// Makes a second space in the same store; returns the flags that lead there.
fn other_space(space: &Space) -> Vec<String> {
    let store = match &space.store {
        Some(url) => url.clone(),
        None => space.file().to_str().unwrap().to_owned(),
    };
    let folder = space.path().join("other");
    std::fs::create_dir(&folder).unwrap();
    let dir = folder.to_str().unwrap();
    space.run(Who::Script, &["-C", dir, "init", "--name", "other", "--store", &store]).ok();
    ["-C", dir].map(Into::into).into()
}

everywhere! {
    /// Two openers of one id at once: with one content both succeed and there is one gate, with two
    /// contents one of them is told that the id is taken.
    fn two_openers_of_one_id(space: &Space) {
        let mut chance = Chance::new(24);
        let views = || desk(space).verify_audit(&ann(), |_| {}).unwrap().views;
        let (mut same, mut clashed, before_all) = (0, 0, views());
        for round in 0..30 {
            let id = gate_id(&mut chance).to_string();
            let before = entries(space);
            let texts = if round % 2 == 0 { ["one", "one"] } else { ["one", "two"] };
            let started =
                texts.map(|text| space.start(Who::Agent("coder"), &["ask", text, "--id", &id]));
            let ended = started.map(|child| child.wait_with_output().unwrap());
            let codes = ended.each_ref().map(|output| output.status.code().unwrap());
            match (round % 2, codes) {
                (0, [0, 0]) => same += 1,
                (1, [0, 6] | [6, 0]) => clashed += 1,
                _ => panic!("{texts:?} ended with {codes:?}: {ended:?}"),
            }
            let gate = desk(space).gate(id.parse().unwrap()).unwrap();
            let winner = codes.iter().position(|code| *code == 0).unwrap();
            assert_eq!(gate.card.question, texts[winner]);
            assert_eq!(entries(space), before + 1, "one effect");
        }
        assert_eq!((same, clashed), (15, 15));
        assert_eq!(views(), before_all + 30);
    }
}

everywhere! {
    /// Several processes make the same space at once: one makes it, all may use it.
    fn many_make_the_same_space(space: &Space) {
        let store = space.store.clone();
        for round in 0..5 {
            let folder = space.path().join(format!("new-{round}"));
            std::fs::create_dir(&folder).unwrap();
            let dir = folder.to_str().unwrap();
            let name = format!("new-{round}");
            let mut args = vec!["-C", dir, "init", "--name", &name];
            if let Some(store) = &store {
                args.extend(["--store", store]);
            }
            let started: Vec<_> = (0..8).map(|_| space.start(Who::Script, &args)).collect();
            for child in started {
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{said}");
            }
            space.run(Who::Script, &["-C", dir, "ask", "Is it there?"]).ok();
        }
    }
}
