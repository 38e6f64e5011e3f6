//! Agents ask, are answered, and go on: in the same session and worktree, with every answer in every
//! later prompt.

use super::{COMPLETE, Project, says, turns, writes};
use crate::harness::{Backend, Space, Who, everywhere};

const ASKS: &str = "<promise>INPUT_NEEDED: Which colour?\nRed is loud, blue is calm.</promise>";

everywhere! {
    /// Scenario A.
    fn an_answer_resumes_the_agent_where_it_was(space: &Space) {
        let script = turns(&[&writes("half.txt", "half", ASKS), &writes("done.txt", "done", COMPLETE)]);
        let project = Project::new(space, &script, "");
        let task = space.create(&["Paint the door"]);
        project.work(&[]).says("waits for a person").says("Which colour?").ok();
        assert_eq!(space.state(&task), "awaiting_input");
        // Partial work is kept as it is: not committed, not rolled back, not in the main tree.
        assert_eq!(std::fs::read_to_string(project.tree(&task).join("half.txt")).unwrap(), "half");
        assert_eq!(project.git(&["log", "--format=%s", &project.branch(&task)]), "begin");
        assert_eq!(project.read("half.txt"), None);
        project.work(&[]).says("0 turns").ok();

        space.ann(&["respond", &task, "blue, of course"]).ok();
        project.work(&[]).says("goes on with").says("completed").ok();
        assert_eq!(space.state(&task), "closed");
        let prompts = project.prompts(&task);
        assert_eq!(prompts.len(), 2);
        assert!(prompts[1].contains("Which colour?\nRed is loud, blue is calm."), "{}", prompts[1]);
        assert!(prompts[1].contains("blue, of course"), "{}", prompts[1]);
        let runs = project.runs(&task);
        assert_eq!(runs[0]["session"], runs[1]["session"], "the same conversation");
        assert_eq!(project.endings(&task), ["asked", "completed"]);
        let branch = project.branch(&task);
        assert_eq!(project.git(&["show", &format!("{branch}:half.txt")]), "half");
        assert_eq!(project.git(&["show", &format!("{branch}:done.txt")]), "done");
        let gate = &space.show(&task)["questions"][0];
        assert_eq!(gate["delivery"]["state"], "acknowledged", "{gate}");
        // The receipt names the turn that went on with the answer, and how it ended.
        let shown = space.show(gate["handle"].as_str().unwrap());
        let onward = &shown["onward"];
        assert_eq!((&onward["number"], &onward["state"]), (&2.into(), &"completed".into()), "{onward}");
        assert_eq!(onward["run"], runs[1]["id"]);
        let last = shown["receipt"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["step"], &last["door"]), (&"acted".into(), &"worker".into()), "{last}");
        space.verify();
    }
}

everywhere! {
    /// Scenarios B, C and U: what is required is asked at the end, survives rejections, and cannot be
    /// skipped; human rejections are not taken for being stuck.
    fn a_required_approval_survives_rejections(space: &Space) {
        let tries: Vec<_> = (1..=5).map(|n| writes("work.txt", &format!("try {n}"), COMPLETE)).collect();
        let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
        let project = Project::new(space, &turns(&tries), "  fruitless: 2\n  land: merge");
        let task = space.create(&["Write it", "--requires", "approval"]);
        for n in 1..=4 {
            project.work(&[]).says("waits for a person").ok();
            let gate = space.gate(&task);
            let shown = space.show(&gate);
            assert_eq!(shown["kind"], "approval");
            let facts = shown["facts"].to_string();
            assert!(facts.contains(&format!("+try {n}")), "the person sees the work: {facts}");
            assert_eq!(project.read("work.txt"), None, "nothing comes home before the yes");
            if n < 4 {
                space.ann(&["reject", &gate, &format!("not good enough, {n}")]).ok();
            }
            if n == 2 {
                // What the first no led to: the second turn, and what it did.
                let first = space.show(&task)["questions"][0]["handle"].as_str().unwrap().to_owned();
                let onward = space.show(&first)["onward"].clone();
                assert_eq!((&onward["number"], &onward["state"]), (&2.into(), &"completed".into()), "{onward}");
                assert!(onward["files"].as_str().unwrap().contains("work.txt"), "{onward}");
                assert_eq!(onward["commit"].as_str().unwrap().len(), 40, "{onward}");
            }
        }
        space.ann(&["approve", &task]).ok();
        assert_eq!(space.state(&task), "closed");
        project.work(&[]).says("merged into main").ok();
        assert_eq!(project.read("work.txt").as_deref(), Some("try 4"));
        assert!(!project.tree(&task).exists());
        let prompts = project.prompts(&task);
        assert_eq!(prompts.len(), 4);
        for n in 1..=3 {
            for later in &prompts[n..] {
                assert!(later.contains(&format!("not good enough, {n}")), "{later}");
            }
        }
        space.verify();
    }
}

everywhere! {
    /// Scenario H: the last answer releases the task, and the agent hears all of them.
    fn several_questions_at_once(space: &Space) {
        let asks = "<promise>INPUT_NEEDED: First?</promise>\n<promise>INPUT_NEEDED: Second?</promise>\n\
                    <promise>INPUT_NEEDED: Third?</promise>\n<promise>COMPLETE</promise>";
        let project = Project::new(space, &turns(&[&says(asks), &says(COMPLETE)]), "");
        let task = space.create(&["Ask a lot"]);
        project.work(&[]).ok();
        let gates = space.gates(&task);
        assert_eq!(gates.len(), 3, "a question is never outranked by COMPLETE");
        for (n, gate) in gates.iter().enumerate() {
            assert_eq!(space.state(&task), "awaiting_input");
            project.work(&[]).says("0 turns").ok();
            space.ann(&["respond", gate, &format!("answer number {n}")]).ok();
        }
        project.work(&[]).ok();
        assert_eq!(space.state(&task), "closed");
        let last = project.prompts(&task).pop().unwrap();
        for n in 0..3 {
            assert!(last.contains(&format!("answer number {n}")), "{last}");
        }
    }
}

everywhere! {
    /// Scenario E: other tasks go on while one waits.
    fn others_go_on_while_one_waits(space: &Space) {
        let script = format!(
            "scenes:\n  - match: Ask me\n    turns:\n      -\n        - final: \"<promise>INPUT_NEEDED: What?</promise>\"\n  - match: Just do\n    turns:\n      -\n        - write: {{out.txt: done}}\n        - final: {COMPLETE:?}\n"
        );
        let project = Project::new(space, &script, "  jobs: 2");
        let mut tasks = vec![];
        for n in 0..6 {
            let title = if n % 2 == 0 { "Ask me" } else { "Just do" };
            tasks.push(space.create(&[&format!("{title} {n}")]));
        }
        project.work(&[]).says("6 turns: 3 completed, 3 asked").ok();
        for (n, task) in tasks.iter().enumerate() {
            let state = if n % 2 == 0 { "awaiting_input" } else { "closed" };
            assert_eq!(space.state(task), state);
        }
        space.verify();
    }
}

everywhere! {
    /// Asked on the way and not waited for: nothing comes home before the answer, and it is heard.
    fn a_question_left_open_is_not_outranked_by_complete(space: &Space) {
        let leaves = format!("- ask: [\"Which colour?\"]\n{}", writes("work.txt", "work", COMPLETE));
        let script = turns(&[&leaves, &writes("more.txt", "more", COMPLETE)]);
        let project = Project::new(space, &script, "  land: merge");
        let task = space.create(&["Paint the door"]);
        project.work(&[]).says("waits for a person").never_says("merged").ok();
        assert_eq!(space.state(&task), "awaiting_input");
        assert_eq!(project.read("work.txt"), None, "nothing comes home before the answer");
        assert!(project.tree(&task).join("work.txt").exists(), "its tree stays as it is");
        space.ann(&["respond", &task, "blue, of course"]).ok();
        project.work(&[]).says("merged into main").ok();
        assert_eq!(space.state(&task), "closed");
        assert!(project.prompts(&task)[1].contains("blue, of course"));
        assert_eq!(project.read("work.txt").as_deref(), Some("work"));
        assert_eq!(project.read("more.txt").as_deref(), Some("more"));
        space.verify();
    }
}

everywhere! {
    /// A rejected question closes the task; the work stays on its branch.
    fn a_declined_question_ends_the_task(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("half.txt", "half", ASKS)]), "");
        let task = space.create(&["Paint the door"]);
        project.work(&[]).ok();
        space.ann(&["reject", &task, "we keep the old one"]).ok();
        assert_eq!(space.state(&task), "closed");
        project.work(&[]).says("its work is on").ok();
        let branch = project.branch(&task);
        assert_eq!(project.git(&["show", &format!("{branch}:half.txt")]), "half");
        assert!(!project.tree(&task).exists());
    }
}

everywhere! {
    /// A session the client no longer knows is begun anew, with everything that was said.
    fn a_forgotten_session_begins_anew_with_the_whole_history(space: &Space) {
        let script = format!(
            "scenes:\n  - match: blue, of course\n    turns:\n      - - final: {COMPLETE:?}\n  - turns:\n      - - \
             final: {ASKS:?}\n      - - session_gone: true\n        - exit: 1\n"
        );
        let project = Project::new(space, &script, "");
        let task = space.create(&["Paint the door", "--description", "The green one."]);
        project.work(&[]).ok();
        space.ann(&["respond", &task, "blue, of course"]).ok();
        project.work(&[]).says("completed").ok();
        assert_eq!(space.state(&task), "closed");
        let last = project.prompts(&task).pop().unwrap();
        assert!(last.contains("The green one.") && last.contains("Which colour?"), "{last}");
        assert!(last.contains("blue, of course"), "{last}");
        assert_eq!(space.show(&task)["questions"][0]["delivery"]["state"], "acknowledged");
    }
}

everywhere! {
    /// A resume that fails keeps the answer: it is tried again, shown, and delivered in the end.
    fn an_answer_survives_resumes_that_fail(space: &Space) {
        let script = turns(&[&says(ASKS), "- exit: 1"]);
        let project = Project::new(space, &script, "  retry: 1s\n  fruitless: 2");
        let task = space.create(&["Paint the door"]);
        project.work(&[]).ok();
        space.ann(&["respond", &task, "blue, of course"]).ok();
        project.work(&[]).says("blocked").says("could not begin, 2 times").exits(14);
        assert_eq!(space.state(&task), "blocked");
        let gate = &space.show(&task)["questions"][0];
        assert_eq!(gate["delivery"]["state"], "failed", "{gate}");
        // It is an alert wherever a person looks, with what to do.
        let inbox = space.ann(&["inbox", "--json"]).json();
        assert_eq!(inbox["alerts"][0]["trouble"], "delivery_failed", "{inbox}");
        let handle = gate["handle"].as_str().unwrap();
        assert_eq!(inbox["alerts"][0]["gate"], handle);
        for args in [&["inbox"][..], &["show", handle], &["doctor", "--quick"]] {
            space.ann(args).says("could not be handed to").says("sayso work");
        }
        project.script(&turns(&[&says(ASKS), &says(COMPLETE), &says(COMPLETE), &says(COMPLETE)]));
        space.ann(&["reopen", &task]).ok();
        project.work(&[]).says("completed").ok();
        assert_eq!(space.state(&task), "closed");
        assert_eq!(space.show(&task)["questions"][0]["delivery"]["state"], "acknowledged");
        assert!(project.prompts(&task).pop().unwrap().contains("blue, of course"));
        space.verify();
    }
}

everywhere! {
    /// Scenario S: who is sure enough is not asked about, who is not, or does not say, is.
    fn work_of_an_agent_that_is_not_sure_is_shown_first(space: &Space) {
        let done = |confidence: &str| {
            says(&format!("```json\n{{\"status\": \"completed\", \"summary\": \"did it\"{confidence}}}\n```"))
        };
        let scene = |title: &str, turn: &str| {
            let turn: Vec<_> = turn.lines().map(|line| format!("        {line}")).collect();
            format!("  - match: {title}\n    turns:\n      -\n{}\n", turn.join("\n"))
        };
        let sure = scene("Sure", &done(", \"confidence\": 0.9"));
        let unsure = scene("Unsafe", &done(", \"confidence\": 0.4"));
        let silent = scene("Silent", &done(""));
        let script = format!("scenes:\n{sure}{unsure}{silent}");
        let project = Project::new(space, &script, "  sure: 70");
        let [sure, unsure, silent] = ["Sure", "Unsafe", "Silent"].map(|title| space.create(&[title]));
        project.work(&[]).says("3 turns: 1 completed, 2 asked").ok();
        assert_eq!(space.state(&sure), "closed");
        let asked = space.show(&space.gate(&unsure));
        assert_eq!(asked["kind"], "approval");
        assert!(asked["question"].as_str().unwrap().contains("40 % sure"), "{asked}");
        assert!(project.prompts(&sure)[0].contains("confidence"));
        space.ann(&["approve", &unsure]).ok();
        space.ann(&["reject", &silent, "say how sure you are"]).ok();
        assert_eq!((space.state(&unsure), space.state(&silent)), ("closed".into(), "open".into()));
    }
}

/// What was begun elsewhere is left to that place, until somebody says that it is to be taken over.
#[test]
fn another_copy_of_the_project_takes_over_only_when_told() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
    let task = space.create(&["Paint the door"]);
    project.work(&[]).ok();
    space.ann(&["respond", &task, "blue, of course"]).ok();
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy");
    project.git(&["clone", "--quiet", ".", copy.to_str().unwrap()]);
    std::fs::create_dir(copy.join(".sayso")).unwrap();
    let settings = std::fs::read_to_string(space.path().join(".sayso/config.yaml")).unwrap();
    let store = format!("store: {}", space.file().display());
    std::fs::write(copy.join(".sayso/config.yaml"), settings.replace("store: sqlite", &store))
        .unwrap();
    let there = copy.to_str().unwrap();
    space.run(Who::Script, &["-C", there, "trust"]).ok();
    space.run(Who::Script, &["-C", there, "work"]).says("begun on another machine").exits(14);
    assert_eq!(space.state(&task), "open");
    space.run(Who::Script, &["-C", there, "work", "--adopt"]).says("waits for a person").exits(0);
    let prompts = project.prompts(&task);
    assert_eq!(prompts.len(), 2, "a new conversation");
    assert!(
        prompts[1].contains("blue, of course") && prompts[1].contains("# Your role"),
        "{}",
        prompts[1]
    );
}
