//! Where the policy has rules for tool calls, a worker starts no agent that it cannot hold to them.

use super::{COMPLETE, Project, says, turns};
use crate::governed::policy;
use crate::harness::{Who, everywhere};

const RULES: &str = "rules: [{name: pushes, on: tool, match: {command: git push *}, then: ask}]";

everywhere! {
    fn an_agent_without_a_hook_is_not_started(space: &Space) {
        let project = Project::new(space, &turns(&[&says(COMPLETE)]), "");
        let task = space.create(&["Build it"]);
        let doctor = || space.run(Who::Script, &["doctor", "--quick"]);
        doctor().never_says("SAY064").never_says("cannot be held");
        policy(space, "space", RULES);
        let refused = project.work(&[]).exits(2).refused("SAY064");
        refused.says("scripted cannot be held").says("own_hook");
        assert_eq!(space.state(&task), "open");
        assert!(project.runs(&task).is_empty());
        doctor().says("scripted cannot be held");
        // One that says that it asks by itself is started.
        let path = space.path().join(".sayso/config.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("    adapter: command\n", "    adapter: command\n    own_hook: true\n")).unwrap();
        space.trust();
        doctor().never_says("cannot be held");
        project.work(&[]).says("1 turn:").ok();
        assert_eq!(space.state(&task), "closed");
    }
}

everywhere! {
    /// Rules about other things need no hook.
    fn other_rules_need_no_hook(space: &Space) {
        let project = Project::new(space, &turns(&[&says(COMPLETE)]), "");
        policy(space, "space", "rules: [{name: none, on: lifecycle, then: deny}]");
        let task = space.create(&["Build it"]);
        project.work(&[]).says("1 turn:").ok();
        assert_eq!(space.state(&task), "closed");
    }
}
