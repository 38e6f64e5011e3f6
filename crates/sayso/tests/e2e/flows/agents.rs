//! Flows whose steps are agents: one task, one worktree, one conversation; checks, write paths, questions on
//! the way, and work that comes home at the end.

use super::{begin, flow, flows, gate, resume};
use crate::harness::everywhere;
use crate::worker::{COMPLETE, Project, turns, writes};

const PIPELINE: &str = "workflow: pipeline
phases:
  - name: plan
    prompt: Write PLAN.md.
    check: [{file: PLAN.md}]
    writes: [PLAN.md]
    ask: {approval: Shall this plan be carried out?}
    on_reject: plan
  - name: implement
    prompt: Carry out PLAN.md.
    check: [{passes: test -s work.txt}]
    retries: 2
  - name: note
    run: wc -c < work.txt > size.txt
";

const ASKS: &str = "<promise>INPUT_NEEDED: Which colour?</promise>";

everywhere! {
    /// Seed 004: steps on one branch. What is outside of the write paths and what fails its check does not
    /// count; every question and answer is in every later prompt (scenario X); nothing comes home before
    /// the end.
    fn a_pipeline_of_agents(space: &Space) {
        let script = turns(&[
            &writes("oops.txt", "not allowed", COMPLETE),
            &format!("- run: rm oops.txt\n{}", writes("PLAN.md", "first", COMPLETE)),
            &writes("PLAN.md", "second", COMPLETE),
            &writes("half.txt", "half", ASKS),
            &writes("work.txt", "", COMPLETE),
            &writes("work.txt", "blue", COMPLETE),
        ]);
        let project = Project::new(space, &script, "  land: merge");
        project.write("pipeline.yaml", PIPELINE);
        begin(space, &["pipeline.yaml", "--key", "door"]).says("Shall this plan").exits(7);
        let task = flow(space)["task"].as_str().unwrap().to_owned();
        space.ann(&["reject", &gate(space), "name the paint"]).ok();
        resume(space).exits(7);
        let prompts = project.prompts(&task);
        assert!(prompts[1].contains("oops.txt"), "it is told what it may not change: {}", prompts[1]);
        assert!(prompts[2].contains("name the paint"), "{}", prompts[2]);
        space.ann(&["approve", &gate(space)]).ok();
        // The agent asks on its way; the flow waits with it.
        resume(space).exits(7);
        space.ann(&["respond", &gate(space), "a calm blue"]).ok();
        assert_eq!(project.read("PLAN.md"), None, "nothing comes home on the way");
        resume(space).says("merged into main").says("done").exits(0);
        let prompts = project.prompts(&task);
        for later in &prompts[4..] {
            assert!(later.contains("a calm blue") || later.contains("test -s work.txt"), "{later}");
        }
        assert!(prompts.last().unwrap().contains("test -s work.txt"), "{}", prompts.last().unwrap());
        assert_eq!(project.read("work.txt").as_deref(), Some("blue"));
        assert_eq!(project.read("PLAN.md").as_deref(), Some("second"));
        assert_eq!(project.read("size.txt").unwrap().trim(), "4");
        assert_eq!(space.state(&task), "closed");
        space.verify();
    }
}

everywhere! {
    /// Task files go through a workflow one after the other, each from what the one before brought home.
    fn a_sequence_of_task_files(space: &Space) {
        let script = turns(&[&format!("- run: echo x >> work.txt\n{}", crate::worker::says(COMPLETE))]);
        let project = Project::new(space, &script, "  land: merge");
        std::fs::create_dir(space.path().join("tasks")).unwrap();
        for (name, text) in [("1-one.md", "# The first\n\nDo one.\n"), ("2-two.md", "# The second\n\nDo two.\n")] {
            project.write(&format!("tasks/{name}"), text);
        }
        project.write("one.yaml", "workflow: one\nphases:\n  - name: work\n    prompt: Do what the task says.\n");
        begin(space, &["one.yaml", "--tasks", "tasks/*.md"]).exits(0);
        let flows = flows(space);
        assert_eq!(flows.len(), 2);
        assert!(flows.iter().all(|flow| flow["standing"] == "done"), "{flows:?}");
        assert_eq!(project.read("work.txt").as_deref(), Some("x\nx\n"));
        // Gone through again there is nothing left.
        begin(space, &["one.yaml", "--tasks", "tasks/*.md"]).exits(0);
        assert_eq!(project.read("work.txt").as_deref(), Some("x\nx\n"));
    }
}

everywhere! {
    /// What a flow leads is not offered as free work while the flow goes on; every list says who leads it.
    fn a_task_that_a_flow_leads_is_not_free(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("PLAN.md", "first", COMPLETE)]), "  land: merge");
        project.write("pipeline.yaml", PIPELINE);
        let free = space.create(&["Free work", "--priority", "4"]);
        begin(space, &["pipeline.yaml", "--key", "door"]).exits(7);
        let led = flow(space);
        let (handle, task) = (led["handle"].as_str().unwrap(), led["task"].as_str().unwrap());
        // Answered, it waits for nobody: only its flow may go on with it.
        space.ann(&["approve", &gate(space)]).says(&format!("flow {handle} leads it")).ok();
        assert_eq!(space.state(task), "open");
        let ready = space.ann(&["ready", "--json"]).json();
        let ready: Vec<_> = ready["items"].as_array().unwrap().iter().map(|row| row["handle"].clone()).collect();
        assert_eq!(ready, [free.as_str()]);
        assert_eq!(space.ann(&["next", "--json"]).json()["handle"], free.as_str());
        assert_eq!(space.show(task)["flow"], handle);
        for list in [&["list"][..], &["tree"], &["show", task]] {
            space.ann(list).says(&format!("led by flow {handle}")).exits(0);
        }
        assert_eq!(space.show(&free)["flow"], serde_json::Value::Null);
        // Taken back, it is nobody's work.
        space.ann(&["flow", "cancel", handle, "later"]).ok();
        assert_eq!(space.ann(&["next", "--json"]).json()["handle"], free.as_str());
        assert_eq!(space.state(task), "closed");
        space.verify();
    }
}
