//! Those who answer in the place of others: one gate, or everything while somebody is away.

use super::{policy, times};
use crate::harness::{Ran, Space, Who, everywhere};
use crate::notices::{notices, set_channels};

/// A review is bob's alone, a release takes ann and bob.
const RULES: &str = "
rules:
  - name: code
    on: ask
    match: {kind: review}
    then: ask
    ask: {of: bob}
  - name: releases
    on: ask
    match: {label: release}
    then: ask
    ask: {of: 'all of (ann, bob)'}
";

fn bob(space: &Space, args: &[&str]) -> Ran {
    space.run(Who::Human("bob"), args)
}

fn cid(space: &Space, args: &[&str]) -> Ran {
    space.run(Who::Human("cid"), args)
}

fn with_rules(space: &Space) {
    space.mint("human", "cid");
    policy(space, "space", RULES);
}

/// A gate that waits for bob.
fn review(space: &Space) -> String {
    space.gate(&space.create(&["Look at it", "--awaiting", "review"]))
}

/// A gate that takes ann and bob.
fn release(space: &Space) -> String {
    let task = space.create(&["Release", "--label", "release"]);
    space.ask("coder", &["Ship it?", "--verdict", "--task", &task])
}

everywhere! {
    /// A gate is handed on, answered by whom it was handed to, and the record says all of it.
    fn one_gate_is_handed_on(space: &Space) {
        with_rules(space);
        let gate = review(space);
        cid(space, &["delegate", &gate, "--to", "cid"]).refused("SAY013");
        space.coder(&["delegate", &gate, "--to", "coder"]).exits(3).refused("SAY001");
        bob(space, &["delegate", &gate, "--to", "bob"]).refused("SAY038");
        let said = bob(space, &["delegate", &gate, "--to", "cid", "--reason", "she wrote it"]);
        said.exits(0).says("waits for cid in your place");
        space.ann(&["show", &gate]).says("handed to cid for bob").says("she wrote it");
        space.ann(&["approve", &gate]).refused("SAY013");
        cid(space, &["delegate", &gate, "--to", "ann"]).refused("SAY013");
        cid(space, &["approve", &gate]).ok();
        let shown = space.show(&gate);
        assert_eq!((shown["answer"]["by"].as_str(), shown["state"].as_str()), (Some("cid"), Some("answered")));
        assert_eq!(shown["answer"]["stands_for"], serde_json::json!(["bob"]));
        assert_eq!(shown["delegations"][0]["to"], "cid");
        assert_eq!(times(space, "gate.delegated"), 1);
        space.verify();
    }
}

everywhere! {
    /// While somebody is away another answers for them; where two must agree they are one of the two.
    fn somebody_is_away(space: &Space) {
        with_rules(space);
        let (before, both) = (review(space), release(space));
        cid(space, &["approve", &before]).refused("SAY013");
        space.coder(&["away", "--until", "3d", "--to", "coder"]).exits(5).refused("SAY010");
        bob(space, &["away", "--until", "3d", "--to", "bob"]).refused("SAY038");
        bob(space, &["away", "--until", "500d", "--to", "cid"]).refused("SAY038");
        bob(space, &["away", "--until", "3d", "--to", "cid"]).exits(0).says("cid stands in for you");
        space.ann(&["away"]).says("bob").says("cid stands in");
        cid(space, &["approve", &before]).ok();
        // Ann stands in for nobody, and cid alone is not two.
        cid(space, &["approve", &both]).says("still needs").ok();
        cid(space, &["approve", &both]).ok();
        assert_eq!(space.show(&both)["state"], "open");
        space.ann(&["approve", &both]).ok();
        assert_eq!(space.show(&both)["verdict"], "approved");
        // Back, it is bob's again.
        bob(space, &["back"]).exits(0).says("you are back");
        bob(space, &["back"]).exits(0).says("you were not away");
        let after = review(space);
        cid(space, &["approve", &after]).refused("SAY013");
        bob(space, &["approve", &after]).ok();
        space.verify();
    }
}

everywhere! {
    /// Nobody is two people because another went away.
    fn one_is_not_two(space: &Space) {
        with_rules(space);
        let both = release(space);
        bob(space, &["away", "--until", "1h", "--to", "ann"]).ok();
        space.ann(&["approve", &both]).says("still needs bob").ok();
        space.ann(&["approve", &both]).ok();
        assert_eq!(space.show(&both)["state"], "open");
        bob(space, &["approve", &both]).ok();
        assert_eq!(space.show(&both)["verdict"], "approved");
        space.verify();
    }
}

crate::harness::on_both! {
    /// Whoever stands in is told instead; where nobody does, it waits until they are back.
    fn who_is_told(space: &Space) {
        with_rules(space);
        set_channels(space, "bobs: {command: [\"true\"], who: [bob]}\ncids: {command: [\"true\"], who: [cid]}");
        let told = |gate: &str| {
            let all = notices(space, &[]);
            let of_gate = all.into_iter().filter(|notice| notice["gate"] == gate);
            let mut told: Vec<_> = of_gate
                .map(|notice| {
                    let (who, why) = (notice["person"].clone(), notice["why"].clone());
                    format!("{} {}", who.as_str().unwrap(), why.as_str().unwrap())
                })
                .collect();
            told.sort();
            told
        };
        let gate = review(space);
        assert_eq!(told(&gate), ["bob asked"]);
        bob(space, &["delegate", &gate, "--to", "cid"]).ok();
        assert_eq!(told(&gate), ["bob asked", "cid delegated"]);
        bob(space, &["away", "--until", "3d", "--to", "cid"]).ok();
        assert_eq!(told(&review(space)), ["cid asked"]);
        bob(space, &["away", "--until", "3d"]).ok();
        let gate = review(space);
        assert_eq!(told(&gate), ["bob asked"]);
        let later = notices(space, &[]).into_iter().find(|notice| notice["gate"] == gate.as_str());
        let due = later.unwrap()["next"].as_str().unwrap().to_owned();
        let in_two_days = space.run(Who::Script, &["away", "--json"]).json()[0]["until"].clone();
        assert!(due.as_str() >= in_two_days.as_str().unwrap(), "{due} before {in_two_days}");
    }
}
