//! Results an agent reports: the policy may want a person to look before they count (A11, S).

use super::policy;
use crate::harness::{Who, everywhere};
use crate::worker::{Project, turns, writes};

const UNSURE: &str =
    "```json\n{\"status\": \"completed\", \"summary\": \"done\", \"confidence\": 0.4}\n```";
const SURE: &str =
    "```json\n{\"status\": \"completed\", \"summary\": \"done\", \"confidence\": 0.95}\n```";

const POLICY: &str = "
rules:
  - name: unsure
    on: result
    when: '!has(result.confidence) || result.confidence < 80'
    then: ask
    ask: {of: bob}
    reason: The agent is not sure.
";

everywhere! {
    /// Asked on low confidence, not on high; the yes brings the work home.
    fn a_person_looks_where_the_agent_is_unsure(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("a.txt", "a", UNSURE)]), "  land: merge");
        policy(space, "space", POLICY);
        let task = space.create(&["Make a"]);
        project.work(&[]).ok();
        assert_eq!(space.state(&task), "awaiting_input");
        let gate = space.gate(&task);
        let card = space.show(&gate);
        assert_eq!(card["kind"], "approval");
        assert!(card["facts"].to_string().contains("unsure (policy space:3)"), "{card}");
        assert_eq!(project.read("a.txt"), None);
        space.ann(&["approve", &gate]).refused("SAY013");
        space.run(Who::Human("bob"), &["approve", &gate]).ok();
        project.work(&[]).ok();
        assert_eq!(project.read("a.txt").as_deref(), Some("a"));
        project.script(&turns(&[&writes("b.txt", "b", SURE)]));
        let task = space.create(&["Make b"]);
        project.work(&[]).says("merged into main").ok();
        assert_eq!(space.state(&task), "closed");
        space.verify();
    }
}

everywhere! {
    /// A rule about closing tasks holds for what the worker closes, too.
    fn closing_by_the_worker_is_ruled_on(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("a.txt", "a", SURE)]), "  land: merge");
        policy(space, "space", "
rules:
  - name: done
    on: transition
    match: {to: closed, label: prod}
    then: ask
    ask: {of: 2 of anyone}
");
        let (plain, prod) = (space.create(&["Plain"]), space.create(&["Prod", "--label", "prod"]));
        project.work(&[]).ok();
        assert_eq!((space.state(&plain), space.state(&prod)), ("closed".into(), "awaiting_input".into()));
        let gate = space.gate(&prod);
        space.ann(&["approve", &gate]).says("still needs").ok();
        space.run(Who::Human("bob"), &["approve", &gate]).ok();
        assert_eq!(space.state(&prod), "closed");
        space.verify();
    }
}

everywhere! {
    /// Where an admin lets silence approve what is of low risk, the work comes home, and the record says
    /// that nobody answered.
    fn what_silence_approves_comes_home(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("a.txt", "a", UNSURE)]), "  land: merge");
        policy(space, "admin", &POLICY.replace("{of: bob}", "{risk: low, deadline: 6s, at_end: approve}"));
        let task = space.create(&["Make a"]);
        project.work(&[]).ok();
        let gate = space.gate(&task);
        space.ann(&["show", &gate]).says("it is a YES").ok();
        std::thread::sleep(std::time::Duration::from_millis(6_100));
        project.work(&[]).says("merged into main").ok();
        assert_eq!(space.state(&task), "closed");
        let card = space.show(&gate);
        assert_eq!((&card["state"], &card["answer"]), (&"expired".into(), &serde_json::Value::Null));
        assert_eq!(project.read("a.txt").as_deref(), Some("a"));
        space.verify();
    }
}
