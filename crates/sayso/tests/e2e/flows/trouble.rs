//! Flows that do not go on: what is wrong is said wherever one looks, what was done is not done again, and no other
//! flow is held up by it.

use super::{begin, flow, flows, gate, resume, write};
use crate::harness::{Space, Who, on_both};
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
        let ran = space.run(Who::Terminal, &["flow", "resume", "--all"]);
        ran.says("test -e there.txt").exits(1);
        assert_eq!(log(space).matches("shipped").count(), 3, "{}", listed(space));
        write(space, "there.txt", "");
        space.run(Who::Terminal, &["flow", "resume", "--all"]).exits(0);
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
        assert!(flows(space).iter().all(|flow| flow["standing"] == "running"), "{}", listed(space));
    }
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
        resume(space).says("group nobody").exits(1);
        assert_eq!(log(space), "x\n");
        assert!(listed(space).contains("stuck in a") && listed(space).contains("group nobody"), "{}", listed(space));
        write(space, "policy.yaml", "groups:\n  nobody: [ann]\nrules: []\n");
        space.ann(&["policy", "set", "policy.yaml"]).ok();
        resume(space).says("Go?").exits(7);
        let waits = listed(space);
        assert!(waits.contains("waiting in a") && !waits.contains("group nobody"), "{waits}");
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        space.ann(&["approve", &gate(space)]).says(&format!("sayso flow resume {handle}")).exits(0);
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
        space.ann(&["reject", &gate(space), "nobody paints here"]).ok();
        resume(space).says("rejected").says("nobody paints here").exits(8);
        assert_eq!(flow(space)["standing"], "rejected");
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
