//! What is set for a space, what was put before its policy, and what time does next.

use crate::world::{World, at};
use sayso_core::Verdict;
use sayso_store::{RequestCounts, RequestRow, StoredSetting};

fn setting(kind: &str, name: &str, seq: u64, body: Option<&str>) -> StoredSetting {
    let (kind, name, body) = (kind.into(), name.into(), body.map(str::to_owned));
    StoredSetting { kind, name, seq, set_by: "ann".into(), set_at: at(seq as i64), body }
}

pub(crate) fn the_last_word_counts_and_what_is_gone_leaves_its_number(world: &World) {
    let space = world.space;
    let seq = || world.store.read(|read| read.settings_seq(space)).unwrap();
    assert_eq!(seq(), 0);
    let all = [
        setting("policy", "space", 3, Some("rules: []")),
        setting("group", "b", 4, Some("[]")),
        setting("group", "a", 5, Some("['ann']")),
        setting("group", "b", 7, None),
    ];
    let sets = all.clone();
    world.write(move |write| sets.iter().try_for_each(|one| write.put_setting(space, one)));
    assert_eq!(seq(), 7, "also what was taken away is news");
    let set = world.store.read(|read| read.settings(space, 9)).unwrap();
    assert_eq!(set, [all[2].clone(), all[0].clone()]);
    let one = |name: &str| world.store.read(|read| read.setting(space, "group", name)).unwrap();
    assert_eq!(one("b"), Some(all[3].clone()));
    assert_eq!(one("c"), None);
}

pub(crate) fn requests_are_read_in_pages_and_counted(world: &World) {
    let space = world.space;
    let row = |n: i64, agent: &str, ruling: &str| RequestRow {
        id: format!("r{n}"),
        at: at(n / 2),
        agent: agent.into(),
        ruling: ruling.into(),
        verdict: None,
        body: format!("{{\"n\": {n}}}"),
    };
    let all = [
        row(1, "bot", "allow"),
        row(2, "bot", "ask"),
        row(3, "bot", "ask"),
        row(4, "eve", "ask"),
        row(5, "bot", "deny"),
        row(6, "bot", "ask"),
    ];
    let rows = all.clone();
    world.write(move |write| {
        for row in rows.iter().chain(&rows) {
            write.add_request(space, row)?;
        }
        write.settle_request("r2", Verdict::Approved)?;
        write.settle_request("r3", Verdict::Rejected)?;
        // The first word stands.
        write.settle_request("r3", Verdict::Approved)
    });
    let page = |since: i64, after: Option<&RequestRow>| {
        let page = world.store.read(|read| read.requests(space, at(since), after, 2)).unwrap();
        (page.items.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page(0, None), (vec!["r1".into(), "r2".into()], true));
    assert_eq!(page(0, Some(&all[1])), (vec!["r3".into(), "r4".into()], true));
    assert_eq!(page(0, Some(&all[3])), (vec!["r5".into(), "r6".into()], false));
    assert_eq!(page(2, None), (vec!["r4".into(), "r5".into()], true));
    let one = world.store.read(|read| read.request("r3")).unwrap();
    assert_eq!(one.and_then(|row| row.verdict).as_deref(), Some("rejected"));
    let tally = |agent: &str, since: i64| {
        let RequestCounts { asked, approved, denied } =
            world.store.read(|read| read.tally(space, agent, at(since))).unwrap();
        (asked, approved, denied)
    };
    assert_eq!(tally("bot", 0), (3, 1, 2));
    assert_eq!(tally("bot", 2), (1, 0, 1));
    assert_eq!(tally("eve", 0), (1, 0, 0));
    assert_eq!(tally("nobody", 0), (0, 0, 0));
}

pub(crate) fn what_is_due_comes_by_its_time(world: &World) {
    let space = world.space;
    let with = |deadline: Option<i64>| {
        let gate = world.gate(|opened| opened.deadline = deadline.map(at));
        gate.opened.id
    };
    let (late, never, soon) = (with(Some(900)), with(None), with(Some(500)));
    let due = |now: i64| world.store.read(|read| read.gates_due(space, at(now), 9)).unwrap();
    assert_eq!(due(499), []);
    assert_eq!(due(500), [soon]);
    assert_eq!(due(1_000), [soon, late]);
    let next = || world.store.read(|read| read.next_due(space)).unwrap();
    assert_eq!(next(), Some(at(500)));
    let gate = world.store.read(|read| read.gate_view(soon)).unwrap().unwrap().0;
    world.answer(&gate);
    assert_eq!(due(1_000), [late], "what was answered is not due any more");
    assert_eq!(next(), Some(at(900)));
    assert_ne!(never, late);
}
