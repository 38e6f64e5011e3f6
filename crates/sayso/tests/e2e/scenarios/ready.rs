//! What can be worked on now, in which order, and what stands in the way.

use crate::harness::{Space, Who, everywhere};

fn handles(page: &serde_json::Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["handle"].as_str().unwrap().to_owned()).collect()
}

fn ready(space: &Space, args: &[&str]) -> Vec<String> {
    handles(&space.run(Who::Script, &[&["ready", "--json"], args].concat()).json())
}

everywhere! {
    fn by_priority_and_then_by_age(space: &Space) {
        let later = space.create(&["Later", "--priority", "3"]);
        let usual = space.create(&["Usual"]);
        let younger = space.create(&["Younger"]);
        let urgent = space.create(&["Urgent", "-p", "P0"]);
        assert_eq!(ready(space, &[]), [&urgent, &usual, &younger, &later].map(Clone::clone));
        let next = space.coder(&["next", "--json"]).json();
        assert_eq!(next["handle"], urgent.as_str());
        space.coder(&["next"]).exits(0).says("P0").says("Urgent").says("[open]");
        // Whoever took it, gave it away or waits for a person is not ready.
        space.coder(&["update", &urgent, "--status", "in_progress"]).ok();
        space.coder(&["update", &usual, "--awaiting", "input"]).ok();
        assert_eq!(ready(space, &[]), [younger.clone(), later.clone()]);
        space.ann(&["update", &later, "--priority", "1"]).ok();
        assert_eq!(ready(space, &[]), [later.clone(), younger.clone()]);
        let gate = space.gate(&usual);
        space.ann(&["respond", &usual, "blue"]).ok();
        assert_eq!(ready(space, &[]), [later.clone(), usual.clone(), younger.clone()]);
        // Who asked hears the answer before the task goes.
        assert_eq!(space.coder(&["wait", &gate]).ok(), "blue");
        for task in [&later, &usual, &younger] {
            space.coder(&["close", task]).ok();
        }
        space.coder(&["next"]).exits(3).refused("SAY001");
        space.coder(&["ready"]).exits(0).says("nothing is ready");
        space.run(Who::Script, &["create", "x", "--priority", "5"]).exits(2);
    }
}

everywhere! {
    fn dependencies(space: &Space) {
        let base = space.create(&["Base"]);
        let top = space.create(&["Top", "--blocked-by", &base]);
        let roof = space.create(&["Roof", "--blocked-by", &format!("{base},{top}")]);
        assert_eq!(space.state(&top), "blocked");
        assert_eq!(ready(space, &[]), [base.as_str()]);
        assert_eq!(handles(&space.ann(&["list", "--blocked", "--json"]).json()), [top.clone(), roof.clone()]);
        space.ann(&["show", &roof]).exits(0).says(&format!("waits for {base} (open)"));
        for (task, on) in [(&base, &top), (&base, &roof), (&base, &base), (&top, &roof)] {
            space.ann(&["dep", "add", task, on]).exits(6).refused("SAY017");
        }
        space.coder(&["close", &base]).ok();
        assert_eq!(ready(space, &[]), [top.as_str()]);
        assert_eq!(space.show(&roof)["blockers"], 1);
        space.ann(&["dep", "remove", &roof, &top]).exits(0).says("no longer waits");
        assert_eq!(ready(space, &[]), [top.clone(), roof.clone()]);
        space.ann(&["dep", "add", &top, &roof]).exits(0).says(&format!("waits for {roof}"));
        assert_eq!(ready(space, &[]), [roof.as_str()]);
        space.ann(&["reopen", &base]).ok();
        assert_eq!(space.state(&top), "blocked");
        space.ann(&["dep", "add", &top, "t0000"]).exits(3).refused("SAY001");
    }
}

everywhere! {
    fn epics(space: &Space) {
        let epic = space.create(&["Epic", "--type", "epic", "-p", "0"]);
        let part = space.create(&["Part", "--parent", &epic]);
        let deep = space.create(&["Deep", "--parent", &part, "-p", "4"]);
        let other = space.create(&["Other", "-p", "0"]);
        // An epic is not ready while its parts are open.
        assert_eq!(ready(space, &[]), [other.clone(), deep.clone()]);
        assert_eq!(ready(space, &[&epic]), [deep.as_str()]);
        assert_eq!(space.coder(&["next", &epic, "--json"]).json()["handle"], deep.as_str());
        assert_eq!(handles(&space.ann(&["list", "--parent", &epic, "--json"]).json()), [part.as_str()]);
        for (task, parent) in [(&epic, &deep), (&epic, &part), (&epic, &epic)] {
            space.ann(&["update", task, "--parent", parent]).exits(6).refused("SAY017");
        }
        space.coder(&["close", &epic]).exits(6).refused("SAY018").says("--force");
        space.coder(&["close", &deep]).ok();
        assert_eq!(ready(space, &[&epic]), [part.as_str()]);
        space.coder(&["close", &part]).ok();
        assert_eq!(ready(space, &[]), [epic.clone(), other.clone()]);
        space.coder(&["next", &other]).exits(3).refused("SAY001");
        let part = space.create(&["More", "--parent", &epic]);
        space.coder(&["close", &epic, "--force"]).ok();
        assert_eq!(space.state(&part), "closed");
        space.ann(&["update", &part, "--parent", "null"]).ok();
        assert_eq!(space.show(&part)["parent"], serde_json::Value::Null);
    }
}

everywhere! {
    fn put_off(space: &Space) {
        let task = space.create(&["Build it"]);
        space.ann(&["defer", &task, "--until", "6s"]).exits(0).says("put off until");
        assert_eq!(space.state(&task), "deferred");
        assert!(ready(space, &[]).is_empty());
        space.ann(&["show", &task]).exits(0).says("put off until");
        // It comes back by itself.
        crate::worker::budgets::until(|| (ready(space, &[]) == [task.as_str()]).then_some(()));
        space.ann(&["defer", &task]).ok();
        assert!(ready(space, &[]).is_empty());
        space.ann(&["reopen", &task]).exits(0).says("is open");
        assert_eq!(space.state(&task), "open");
        space.ann(&["defer", &task, "--until", "whenever"]).exits(2).refused("SAY038");
        space.ann(&["defer", &task, "--until", "2020-01-01"]).exits(2).refused("SAY038");
        space.ann(&["defer", &task, "--until", "2099-12-24T18:00"]).ok();
        assert!(space.show(&task)["deferred_until"].as_str().unwrap().starts_with("2099-12-24"));
    }
}

everywhere! {
    /// A page ends where the next one begins.
    fn pages_have_no_gaps(space: &Space) {
        let tasks: Vec<_> = (0..7)
            .map(|n| space.create(&[&format!("Task {n}"), "-p", &(n % 3).to_string()]))
            .collect();
        let gates: Vec<_> = (0..5).map(|n| space.ask("coder", &[&format!("Question {n}?")])).collect();
        for (list, all) in [("list", tasks.len()), ("ready", tasks.len()), ("inbox", gates.len())] {
            let whole = handles(&space.ann(&[list, "--json"]).json());
            assert_eq!(whole.len(), all, "{list}");
            let (mut walked, mut after) = (vec![], None::<String>);
            loop {
                let mut args = vec![list, "--limit", "2", "--json"];
                args.extend(after.as_deref().map(|last| ["--after", last]).into_iter().flatten());
                let page = space.ann(&args).json();
                walked.extend(handles(&page));
                match page["next"].as_str() {
                    Some(next) => after = Some(next.to_owned()),
                    None => break,
                }
            }
            assert_eq!(walked, whole, "{list}");
        }
        space.ann(&["list", "--limit", "2"]).exits(0).says("--after");
        space.ann(&["list", "--after", "t0000"]).exits(3).refused("SAY001");
        assert_eq!(handles(&space.ann(&["inbox", "--json"]).json()), gates, "the oldest first");
        for gate in &gates[..3] {
            space.ann(&["respond", gate, "so"]).ok();
        }
        let done = handles(&space.ann(&["inbox", "--done", "--json"]).json());
        assert_eq!(done, [gates[2].clone(), gates[1].clone(), gates[0].clone()], "the newest first");
    }
}
