//! The main job, from end to end: an agent asks, a person answers, the agent goes on.

use crate::harness::{Who, everywhere};

everywhere! {
    fn an_agent_asks_and_a_person_answers(space: &Space) {
        let gate = space.ask("coder", &["Ship 1.2?", "--option", "yes", "--option", "no"]);
        let waiting = space.run(Who::Human("ann"), &["inbox", "--json"]).json();
        assert_eq!(waiting["items"][0]["handle"], gate.as_str());
        assert_eq!(waiting["items"][0]["asked_by_role"], "agent");
        space.run(Who::Agent("coder"), &["choose", &gate, "yes"]).exits(5).refused("SAY010");
        space.run(Who::Human("ann"), &["choose", &gate, "yes"]).ok();
        assert_eq!(space.run(Who::Agent("coder"), &["wait", &gate]).ok(), "yes");
        let gate = space.show(&gate);
        assert_eq!(gate["answer"]["by"], "ann");
        assert_eq!(gate["delivery"]["state"], "acknowledged");
        space.verify();
    }
}
