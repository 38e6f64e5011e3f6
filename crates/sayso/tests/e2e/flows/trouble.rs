//! Flows that do not go on: what is wrong is said wherever one looks, what was done is not done again, and no other
//! flow is held up by it.

use super::{begin, flow, flows, gate, resume, write};
use crate::harness::{Backend, Space, Who, on_both};
use crate::worker::budgets::until;
use crate::worker::{COMPLETE, Project, turns, writes};

const ASKS: &str = "workflow: ask\nphases:\n  - name: build\n    run: echo built >> log.txt\n    \
                    ask: {approval: Ship it?}\n  - name: ship\n    run: echo shipped >> log.txt\n";

fn log(space: &Space) -> String {
    std::fs::read_to_string(space.path().join("log.txt")).unwrap_or_default()
}

/// What `flow list --all` says to a person.
fn listed(space: &Space) -> String {
    space.ann(&["flow", "list", "--all"]).ok()
}

on_both! {
    /// At a terminal everything goes on that can; one that is broken is reported, and keeps nobody.
    fn all_go_on_at_a_terminal(space: &Space) {
        write(space, "broken.yaml", "workflow: broken\nphases:\n  - name: a\n    run: test -e there.txt\n");
        begin(space, &["broken.yaml", "--key", "first"]).exits(1);
        write(space, "ask.yaml", ASKS);
        for key in ["one", "two", "three"] {
            begin(space, &["ask.yaml", "--key", key]).exits(7);
            space.ann(&["approve", &gate(space)]).ok();
        }
        let ran = space.run(Who::Terminal, &["flow", "resume", "--all", "--stuck"]);
        ran.says("test -e there.txt").exits(1);
        assert_eq!(log(space).matches("shipped").count(), 3, "{}", listed(space));
        write(space, "there.txt", "");
        space.run(Who::Terminal, &["flow", "resume", "--all", "--stuck"]).exits(0);
        assert!(flows(space).iter().all(|flow| flow["standing"] == "done"), "{}", listed(space));
    }
}

on_both! {
    /// A sequence at a terminal does not end with its first file; one that cannot be read is found before.
    fn a_sequence_goes_on_at_a_terminal(space: &Space) {
        std::fs::create_dir_all(space.path().join("sub/tasks")).unwrap();
        for name in ["1-one.md", "2-two.md"] {
            write(space, &format!("sub/tasks/{name}"), "# Do it\n");
        }
        let text = "workflow: seq\nsequence: tasks\nphases:\n  - name: a\n    run: echo x >> log.txt\n";
        write(space, "sub/seq.yaml", text);
        write(space, "sub/tasks/3-bad.md", "---\nthreshold: 7\n---\n# Do it\n");
        begin(space, &["sub/seq.yaml"]).refused("SAY046").exits(2);
        assert_eq!(flows(space).len(), 0, "nothing was begun");
        std::fs::remove_file(space.path().join("sub/tasks/3-bad.md")).unwrap();
        space.run(Who::Terminal, &["flow", "run", "sub/seq.yaml"]).exits(0);
        assert_eq!(log(space), "x\nx\n");
        // What is typed is meant from where it is typed.
        begin(space, &["sub/seq.yaml", "--tasks", "tasks"]).refused("SAY001").exits(3);
        begin(space, &["sub/seq.yaml", "--tasks", "sub/tasks"]).exits(0);
        assert_eq!(log(space), "x\nx\nx\nx\n");
    }
}

/// One key is one flow: a sequence is several, and is not dropped in silence.
#[test]
fn a_key_is_not_for_a_sequence() {
    let space = &Space::new(Backend::Sqlite);
    std::fs::create_dir_all(space.path().join("tasks")).unwrap();
    write(space, "tasks/1-one.md", "# Do it\n");
    let text = "workflow: seq\nsequence: tasks\nphases:\n  - name: a\n    run: echo x >> log.txt\n";
    write(space, "seq.yaml", text);
    begin(space, &["seq.yaml", "--key", "again"])
        .refused("SAY038")
        .says("leave out --key")
        .exits(2);
    assert_eq!((flows(space).len(), log(space).as_str()), (0, ""));
    begin(space, &["seq.yaml"]).exits(0);
    assert_eq!(log(space), "x\n");
}

/// A task that was rejected holds up those behind it, and the command that goes on without it is told, wherever the
/// workflow stands.
#[test]
fn a_sequence_goes_on_without_what_was_rejected() {
    let space = &Space::new(Backend::Sqlite);
    for (folder, file) in [("", "seq.yaml"), ("sub/", "sub/seq.yaml")] {
        std::fs::create_dir_all(space.path().join(format!("{folder}tasks"))).unwrap();
        for name in ["1-one.md", "2-two.md", "3 three.md"] {
            write(space, &format!("{folder}tasks/{name}"), "# Do it\n");
        }
        let workflow = if folder.is_empty() { "here" } else { "there" };
        let text = format!(
            "workflow: {workflow}\nsequence: tasks\nphases:\n  - name: a\n    run: echo {workflow} >> log.txt\n    \
             ask: {{approval: Is it done?}}\n"
        );
        write(space, file, &text);
        begin(space, &[file]).exits(7);
        space.ann(&["approve", &gate(space)]).ok();
        begin(space, &[file]).exits(7);
        space.ann(&["reject", &gate(space), "not that one"]).ok();
        let ran = begin(space, &[file]).says("tasks/2-two.md holds up those behind it").exits(8);
        let told = ran.said();
        let told = told.lines().find_map(|line| line.split_once("go on without it: ")).unwrap().1;
        let words = "--tasks tasks/1-one.md --tasks 'tasks/3 three.md'";
        assert!(told.trim().ends_with(words), "{told}");
        let from = space.path().join("sub").display().to_string();
        let all = match folder.is_empty() {
            true => vec!["flow", "run", "seq.yaml"],
            false => vec!["-C", &from, "flow", "run", "seq.yaml"],
        };
        assert!(told.contains(&all.join(" ")), "{told}");
        let tasks = ["--tasks", "tasks/1-one.md", "--tasks", "tasks/3 three.md"];
        let args: Vec<_> = all.iter().chain(&tasks).copied().collect();
        space.run(Who::Script, &args).exits(7);
        space.ann(&["approve", &gate(space)]).ok();
        space.run(Who::Script, &args).exits(0);
        // The first was done already, and was not done again.
        assert_eq!(log(space).matches(workflow).count(), 3, "{}", log(space));
    }
}

/// Where a question ended without an answer, that is what is said, and not that somebody answered.
#[test]
fn what_nobody_answered_is_unanswered() {
    let space = &Space::new(Backend::Sqlite);
    write(space, "ask.yaml", ASKS);
    begin(space, &["ask.yaml", "--key", "gone"]).exits(7);
    space.ann(&["withdraw", &gate(space), "never mind"]).ok();
    assert_eq!(flow(space)["standing"], "unanswered");
    let handle = flow(space)["handle"].as_str().unwrap().to_owned();
    for said in [listed(space), space.ann(&["flow", "show", &handle]).ok()] {
        assert!(said.contains("ended without an answer") && !said.contains(" answered"), "{said}");
    }
    resume(space).exits(1);
    begin(space, &["ask.yaml", "--key", "said"]).exits(7);
    space.ann(&["approve", &gate(space)]).ok();
    assert_eq!(flows(space)[0]["standing"], "answered");
}

/// Whoever does not say which flow is told how to say all.
#[test]
fn resume_alone_names_all() {
    let space = &Space::new(Backend::Sqlite);
    for args in [&["flow", "resume"][..], &["flow", "resume", "--stuck"]] {
        space.run(Who::Script, args).refused("SAY038").says("sayso flow resume --all").exits(2);
    }
}

/// Paths are meant from the folder that `-C` names, whatever takes them.
#[test]
fn paths_are_meant_from_the_named_folder() {
    let space = &Space::new(Backend::Sqlite);
    std::fs::create_dir_all(space.path().join("sub/flows")).unwrap();
    write(space, "sub/flows/ask.yaml", ASKS);
    let from = |folder: &str, args: &[&str]| {
        let args: Vec<_> = ["-C", folder].iter().chain(args).copied().collect();
        space.run(Who::Script, &args)
    };
    from("sub", &["flow", "graph", "flows/ask.yaml"]).says("build").exits(0);
    from("sub", &["validate", "flows/ask.yaml"]).exits(0);
    from("sub/flows", &["flow", "run", "ask.yaml"]).exits(7);
    from("sub", &["backup", "copy.db"]).exits(0);
    assert!(space.path().join("sub/copy.db").exists());
    from("nowhere", &["inbox"]).refused("SAY001").exits(3);
}

on_both! {
    /// What a step changed is counted from where it began, however often it is tried.
    fn write_paths_hold_over_tries(space: &Space) {
        let project = Project::new(space, "scenes: []\n", "");
        let text = "workflow: w\nphases:\n  - name: a\n    run: |\n      \
                    test -e bad.txt || { echo x > bad.txt; exit 1; }\n      echo ok > ok.txt\n    \
                    writes: [ok.txt]\n    retries: RETRIES\n";
        for (key, retries) in [("again", "2"), ("once", "0")] {
            let _ = std::fs::remove_file(space.path().join("bad.txt"));
            project.write("w.yaml", &text.replace("RETRIES", retries));
            begin(space, &["w.yaml", "--key", key]).exits(1);
            for _ in 0..2 {
                begin(space, &["w.yaml", "--key", key]).says("it changed bad.txt").exits(1);
            }
        }
        assert!(flows(space).iter().all(|flow| flow["standing"] == "stuck"), "{}", listed(space));
    }
}

on_both! {
    /// Whoever picks up answers does not repeat what failed: it is left out, that is said, and it is tried again by
    /// its name or when somebody asks for it.
    fn what_failed_is_not_tried_again_by_the_way(space: &Space) {
        write(space, "pay.yaml", "workflow: pay\nphases:\n  - name: a\n    run: echo paid >> log.txt; exit 4\n");
        for key in ["one", "two"] {
            begin(space, &["pay.yaml", "--key", key]).exits(1);
        }
        let paid = || log(space).matches("paid").count();
        for _ in 0..2 {
            resume(space).says("left out: 2 flows whose step failed").says("--stuck").exits(14);
        }
        assert_eq!(paid(), 2, "each once");
        let handle = flows(space)[0]["handle"].as_str().unwrap().to_owned();
        space.run(Who::Script, &["flow", "resume", &handle]).says("exit 4").exits(1);
        assert_eq!(paid(), 3);
        let ran = space.run(Who::Script, &["flow", "resume", "--all", "--stuck", "--json"]).exits(1);
        assert_eq!(paid(), 5);
        let errors = ran.said().lines().filter(|line| line.contains("\"code\":\"SAY")).count();
        assert_eq!(errors, 2, "with --json errors are JSON: {}", ran.said());
    }
}

on_both! {
    /// However many flows nobody here can go on with, one that was answered gets its turn.
    fn nobody_is_starved(space: &Space) {
        let desk = crate::reliability::desk(space);
        for n in 0..120 {
            let id = desk.new_flow_id();
            let new = sayso_engine::NewFlow {
                id,
                workflow: "elsewhere".into(),
                version: "1".into(),
                definition: None,
                title: format!("of a program, {n}"),
                task: None,
                phase: "a".into(),
                state: serde_json::json!({}),
                place: None,
            };
            desk.start_flow(&crate::reliability::ann(), new).unwrap();
        }
        write(space, "ask.yaml", ASKS);
        begin(space, &["ask.yaml"]).exits(7);
        space.ann(&["approve", &gate(space)]).ok();
        resume(space).exits(0);
        assert_eq!(log(space), "built\nshipped\n");
    }
}

on_both! {
    /// Whoever begins a flow goes on with it, though somebody watches for flows to go on with.
    fn a_flow_is_its_beginners(space: &Space) {
        write(space, "w.yaml", "workflow: w\nphases:\n  - name: a\n    run: echo x >> log.txt\n");
        let mut watching = space.start(Who::Script, &["flow", "resume", "--watch"]);
        let begun: Vec<_> = (0..8).map(|_| space.start(Who::Script, &["flow", "run", "w.yaml"])).collect();
        for child in begun {
            crate::harness::Ran::of(&child.wait_with_output().unwrap()).exits(0);
        }
        assert_eq!(log(space).lines().count(), 8);
        watching.kill().unwrap();
        watching.wait().unwrap();
    }
}

on_both! {
    /// What a terminal says of a flow is what programs are told, and the other way round; a picture says it, too.
    fn every_door_says_the_same(space: &Space) {
        write(space, "ask.yaml", ASKS);
        write(space, "fails.yaml", "workflow: f\nphases:\n  - name: a\n    run: exit 4\n");
        let check = |standing: &str, waits: usize| {
            let flow = &flows(space)[0];
            assert_eq!(flow["standing"], standing, "{flow}");
            assert_eq!(flow["waits_for"].as_array().unwrap().len(), waits, "{flow}");
            assert!(listed(space).contains(&format!("{standing} in ")), "{}", listed(space));
            let shown = space.ann(&["flow", "show", flow["handle"].as_str().unwrap(), "--json"]).json();
            assert_eq!(shown["standing"], standing);
        };
        begin(space, &["ask.yaml"]).exits(7);
        check("waiting", 1);
        space.ann(&["approve", &gate(space)]).ok();
        check("answered", 0);
        resume(space).exits(0);
        check("done", 0);
        begin(space, &["fails.yaml"]).exits(1);
        check("stuck", 0);
        let handle = flows(space)[0]["handle"].as_str().unwrap().to_owned();
        space.ann(&["flow", "graph", &handle, "--json"]).refused("SAY038").says("flow show");
    }
}

on_both! {
    /// A question says which flow asks it; flows that are about something else are other cards.
    fn a_question_names_its_flow(space: &Space) {
        write(space, "w.yaml", "workflow: release\nphases:\n  - name: check\n    ask: {choice: Which?, options: [a, b]}\n");
        for key in ["1.2", "1.3"] {
            begin(space, &["w.yaml", "--key", key]).exits(7);
        }
        let inbox = space.ann(&["inbox", "--json"]).json();
        let cards = inbox["items"].as_array().unwrap();
        assert_eq!(cards.len(), 2, "{inbox}");
        for (card, flow) in cards.iter().zip(flows(space).iter().rev()) {
            assert_eq!(card["flow"], flow["id"]);
            let fact = |name: &str, value: &serde_json::Value| serde_json::json!({"name": name, "value": value, "verified": true});
            let known = [fact("workflow", &"release".into()), fact("phase", &"check".into()), fact("about", &flow["title"])];
            let facts = card["facts"].as_array().unwrap();
            assert_eq!(facts[..3], known);
            // And what it runs, where, by which text.
            let names: Vec<_> = facts[3..].iter().map(|fact| fact["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["runs", "in", "version"]);
            let shown = space.ann(&["show", card["handle"].as_str().unwrap()]).ok();
            assert!(shown.contains(&format!("sayso flow show {}", flow["handle"].as_str().unwrap())), "{shown}");
        }
    }
}

/// A key is a name: there is one, and it is not a book.
#[test]
fn keys_have_a_length() {
    let space = &Space::new(crate::harness::Backend::Sqlite);
    write(space, "ask.yaml", ASKS);
    for key in ["", "  ", &"k".repeat(5_000)] {
        begin(space, &["ask.yaml", "--key", key]).refused("SAY038").exits(2);
    }
    assert_eq!(flows(space).len(), 0);
}

on_both! {
    /// What follows a step and cannot be done does not undo the step; the group is named, and how one is made.
    fn a_step_is_kept_whatever_follows(space: &Space) {
        let text = "workflow: w\nphases:\n  - name: a\n    run: echo x >> log.txt\n    \
                    ask: {approval: Go?, to: [group:nobody]}\n";
        write(space, "w.yaml", text);
        space.ann(&["validate", "w.yaml"]).says("nobody is in the group \"nobody\"").exits(2);
        let ran = begin(space, &["w.yaml", "--key", "k"]).says("group nobody").says("sayso policy set").exits(1);
        assert!(ran.said().contains("phase \"a\""), "{}", ran.said());
        let again = || space.run(Who::Script, &["flow", "resume", "--all", "--stuck"]);
        again().says("group nobody").exits(1);
        assert_eq!(log(space), "x\n");
        assert!(listed(space).contains("stuck in a") && listed(space).contains("group nobody"), "{}", listed(space));
        write(space, "policy.yaml", "groups:\n  nobody: [ann]\nrules: []\n");
        space.ann(&["policy", "set", "policy.yaml"]).ok();
        again().says("Go?").exits(7);
        let waits = listed(space);
        assert!(waits.contains("waiting in a") && !waits.contains("group nobody"), "{waits}");
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        // Another's flow is theirs to go on with.
        space.ann(&["approve", &gate(space)]).says(&format!("flow {handle} asked it, and goes on in")).exits(0);
        let answered = listed(space);
        assert!(answered.contains("answered in a") && answered.contains("sayso flow resume"), "{answered}");
        resume(space).exits(0);
        assert_eq!(log(space), "x\n");
        space.verify();
    }
}

on_both! {
    /// What can never be computed fails the flow, with the line of the expression, wherever it stands.
    fn what_cannot_be_computed_fails_the_flow(space: &Space) {
        let after = [
            ("set", "    set:\n      here: output.text\n      gone: output.json.b\n", "on line 7"),
            ("if", "    ask:\n      approval: Go?\n      if: output.json.b > 1\n", "on line 7"),
            ("next", "    next:\n      - {if: output.json.b > 1, to: end}\n      - {to: end}\n", "on line 6"),
        ];
        write(space, "a.json", "{\"a\": 1}\n");
        for (key, text, line) in after {
            write(space, "w.yaml", &format!("workflow: w\nphases:\n  - name: a\n    run: cat a.json | tee -a log.txt\n{text}"));
            begin(space, &["w.yaml", "--key", key]).says(line).says("keeps the text").exits(1);
            let flow = &flows(space)[0];
            assert_eq!(flow["standing"], "failed", "{flow}");
            assert!(flow["note"].as_str().unwrap().contains(line), "{flow}");
            let handle = flow["handle"].as_str().unwrap();
            space.ann(&["flow", "show", handle]).says(line).says("done: ").exits(0);
        }
        assert_eq!(log(space).lines().count(), 3, "each step once");
        space.verify();
    }
}

on_both! {
    /// What failed and may be tried again is said in list and show, until somebody tries.
    fn what_failed_is_said_wherever_one_looks(space: &Space) {
        write(space, "w.yaml", "workflow: w\nphases:\n  - name: a\n    run: test -e there.txt\n");
        begin(space, &["w.yaml"]).exits(1);
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        assert!(flow(space)["stuck"].as_str().unwrap().contains("test -e there.txt"));
        let resume = format!("sayso flow resume {handle}");
        for shown in [listed(space), space.ann(&["flow", "show", &handle]).ok()] {
            assert!(shown.contains("stuck in a") && shown.contains("test -e there.txt"), "{shown}");
            assert!(shown.contains(&resume) && shown.contains("sayso flow cancel"), "{shown}");
        }
        space.ann(&["flow", "cancel", &handle, "no use"]).ok();
        assert!(space.ann(&["flow", "show", &handle]).ok().contains("cancelled by ann: no use"));
    }
}

on_both! {
    /// `retries` is how often an agent may try again, whether its conversation goes on or not.
    fn an_agent_tries_as_often_as_it_may(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("a.txt", "x", COMPLETE)]), "  fruitless: 3");
        for (key, retries) in [("none", 0), ("two", 2)] {
            let text = format!(
                "workflow: w\nphases:\n  - name: a\n    prompt: Do it.\n    check: [{{passes: 'false'}}]\n    retries: {retries}\n"
            );
            project.write("w.yaml", &text);
            begin(space, &["w.yaml", "--key", key]).says("attempt").exits(1);
            let task = flows(space)[0]["task"].as_str().unwrap().to_owned();
            assert_eq!(project.prompts(&task).len(), retries + 1, "{key}");
            assert_eq!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().len(), 0);
        }
    }
}

const WORK: &str = "workflow: w\nphases:\n  - {name: a, prompt: Do it.}\n";

on_both! {
    /// A person's no to what the agent asked ends the flow as rejected, with their reason.
    fn a_no_to_the_agent_ends_the_flow(space: &Space) {
        let asks = writes("half.txt", "half", "<promise>INPUT_NEEDED: Which colour?</promise>");
        let project = Project::new(space, &turns(&[&asks]), "");
        project.write("w.yaml", WORK);
        // Without inputs, and about nothing in particular.
        begin(space, &["w.yaml"]).says("Which colour?").exits(7);
        assert!(listed(space).contains("waiting in a") && listed(space).contains("Which colour?"));
        let asks = flow(space);
        assert_eq!(asks["standing"], "waiting", "{asks}");
        assert_eq!(asks["waits_for"][0], space.show(&gate(space))["id"]);
        space.ann(&["flow", "graph", asks["handle"].as_str().unwrap()]).says("waits for a person");
        let asked = gate(space);
        space.ann(&["reject", &asked, "nobody paints here"]).ok();
        resume(space).says("rejected").says("nobody paints here").exits(8);
        assert_eq!(flow(space)["standing"], "rejected");
        // No agent comes for it any more, and nobody is told that one should.
        assert_eq!(space.show(&asked)["delivery"]["state"], "acknowledged");
        space.verify();
    }
}

on_both! {
    /// Taken back: the agent's question goes, and the task is nobody's work; what was done stays.
    fn a_flow_is_taken_back_with_its_task(space: &Space) {
        let asks = writes("half.txt", "half", "<promise>INPUT_NEEDED: Which colour?</promise>");
        let project = Project::new(space, &turns(&[&asks]), "");
        project.write("w.yaml", WORK);
        begin(space, &["w.yaml"]).exits(7);
        let (handle, task) = (flow(space)["handle"].clone(), flow(space)["task"].clone());
        let (handle, task) = (handle.as_str().unwrap(), task.as_str().unwrap());
        space.ann(&["flow", "cancel", handle, "not now"]).ok();
        assert!(space.ann(&["inbox"]).ok().is_empty());
        assert_eq!(space.state(task), "closed");
        assert_eq!(space.ann(&["ready", "--json"]).json()["items"].as_array().unwrap().len(), 0);
        assert!(!project.branch(space.show(task)["handle"].as_str().unwrap()).is_empty());
        // One that was there before is what it was.
        let own = space.create(&["My own work"]);
        begin(space, &["w.yaml", "--task", &own]).exits(7);
        let led = flows(space)[0]["handle"].as_str().unwrap().to_owned();
        space.ann(&["flow", "cancel", &led]).ok();
        assert_eq!(space.state(&own), "open");
        assert_eq!(space.ann(&["ready", "--json"]).json()["items"][0]["handle"], own.as_str());
        space.verify();
    }
}

on_both! {
    /// What a flow runs ends when the flow is taken back, and so does whoever leads it.
    fn what_runs_ends_with_the_flow(space: &Space) {
        write(space, "w.yaml", "workflow: w\nphases:\n  - name: a\n    run: echo $$ > pid.txt; sleep 300\n");
        let child = space.start(Who::Script, &["flow", "run", "w.yaml"]);
        let pid = until(|| {
            let text = std::fs::read_to_string(space.path().join("pid.txt")).ok()?;
            text.trim().parse::<u32>().ok()
        });
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        space.ann(&["flow", "cancel", &handle]).ok();
        let ran = crate::harness::Ran::of(&child.wait_with_output().unwrap());
        ran.says("cancelled").exits(11);
        let is_gone = || !std::path::Path::new(&format!("/proc/{pid}")).exists();
        until(|| is_gone().then_some(()));
    }
}

on_both! {
    /// One task file after the other, each from what the one before left, also where nothing is merged; the
    /// command that is printed goes on with all of them.
    fn a_sequence_builds_on_itself(space: &Space) {
        let turn = format!("- run: echo x >> work.txt\n{}", crate::worker::says(COMPLETE));
        let project = Project::new(space, &turns(&[&turn]), "  land: leave");
        std::fs::create_dir(space.path().join("tasks")).unwrap();
        for name in ["1-one.md", "2-two.md"] {
            project.write(&format!("tasks/{name}"), "# Do it\n");
        }
        let text = "workflow: seq\nsequence: tasks/*.md\nphases:\n  - name: a\n    prompt: Do it.\n  - name: b\n    \
                    run: wc -l < work.txt\n    ask: {approval: Is it good?, context: '{{ output.text }}'}\n";
        project.write("seq.yaml", text);
        begin(space, &["seq.yaml"]).says("go on with: sayso flow run seq.yaml").exits(7);
        space.ann(&["approve", &gate(space)]).ok();
        begin(space, &["seq.yaml"]).exits(7);
        assert_eq!(space.show(&gate(space))["context"], "2");
        space.ann(&["approve", &gate(space)]).ok();
        begin(space, &["seq.yaml"]).exits(0);
        assert_eq!(project.read("work.txt"), None, "nothing is merged");
        assert_eq!(flows(space).len(), 2);
    }
}

on_both! {
    /// The same key goes on with what it began with, and says so where something else is given.
    fn a_key_that_means_something_else_by_now(space: &Space) {
        write(space, "ask.yaml", ASKS);
        begin(space, &["ask.yaml", "--key", "v1"]).exits(7);
        let same = begin(space, &["ask.yaml", "--key", "v1"]).exits(7);
        assert!(!same.said().contains("was changed"), "{}", same.said());
        write(space, "ask.yaml", &ASKS.replace("Ship it?", "Really?"));
        begin(space, &["ask.yaml", "--key", "v1"]).says("the workflow was changed").says("Ship it?").exits(7);
    }
}

on_both! {
    /// What a person mends between two attempts is theirs; what the step did against its rule stays until it is taken
    /// back.
    fn a_step_with_write_paths_is_mended_and_gone_on_with(space: &Space) {
        let project = Project::new(space, "scenes: []\n", "");
        project.write("build.sh", "echo half > out.txt\necho x > bad.txt\nexit 1\n");
        project.write("w.yaml", "workflow: w\nphases:\n  - name: a\n    run: sh build.sh\n    writes: [out.txt]\n");
        begin(space, &["w.yaml", "--key", "k"]).says("it ended with 1").says("it changed bad.txt").exits(1);
        project.write("build.sh", "echo whole > out.txt\n");
        project.write("README.md", "Somebody else was here.\n");
        let still = begin(space, &["w.yaml", "--key", "k"]).says("it changed bad.txt;").exits(1);
        assert!(!still.said().contains("build.sh;") && !still.said().contains("README"), "{}", still.said());
        std::fs::remove_file(space.path().join("bad.txt")).unwrap();
        begin(space, &["w.yaml", "--key", "k"]).says("done").exits(0);
    }
}

on_both! {
    /// However much a command prints, people can be asked about it; what is left out is said.
    fn a_command_that_prints_much_is_asked_about(space: &Space) {
        let text = "workflow: w\nphases:\n  - name: a\n    run: yes | head -c 600000; echo end\n    \
                    set: {is_cut: output.cut}\n    ask: {approval: Go?, context: '{{ output.text }}'}\n";
        write(space, "w.yaml", text);
        begin(space, &["w.yaml"]).says("Go?").exits(7);
        let shown = space.show(&gate(space))["context"].as_str().unwrap().to_owned();
        assert!(shown.contains("bytes left out)") && shown.ends_with("end"), "{}", &shown[..100]);
        assert_eq!(flow(space)["state"]["state"]["is_cut"], true);
        space.ann(&["approve", &gate(space)]).ok();
        resume(space).exits(0);
    }
}

/// What cannot be done is found before anything was done.
#[test]
fn what_a_flow_cannot_be_begun_with_is_said_first() {
    let space = &Space::new(crate::harness::Backend::Sqlite);
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").args(args).current_dir(space.path()).output();
        assert!(done.unwrap().status.success(), "{args:?}");
    };
    let text = "workflow: w\ninput: {x: {default: a}}\nphases:\n  - name: a\n    run: echo x >> log.txt\n    writes: [log.txt]\n";
    write(space, ".gitignore", "*.token\nxdg/\n.sayso/\n");
    write(space, "w.yaml", text);
    begin(space, &["w.yaml"]).says("not in a git repository").says("git init").exits(1);
    git(&["init", "-q"]);
    begin(space, &["w.yaml"]).says("no commit yet").says("git commit --allow-empty").exits(1);
    git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "begin",
    ]);
    begin(space, &["w.yaml", "--set", "x=1", "--set", "x=2"]).says("`x` is given twice").exits(2);
    begin(space, &["w.yaml", "--task", "t1"]).says("none works in this workflow").exits(2);
    assert_eq!((flows(space).len(), log(space).as_str()), (0, ""));
    begin(space, &["w.yaml"]).exits(0);
    assert_eq!(log(space), "x\n");
}
