//! An older copy that was put back is whole in itself. What was seen of the chain is kept outside of the store, and
//! shows that it is older.

use crate::harness::{Backend, Space, Who};
use std::path::Path;

/// Copies the store as it is, with what its log holds beside it.
fn copy(from: &Path, to: &Path) {
    let store = from.join(".sayso");
    std::fs::create_dir_all(to).unwrap();
    for name in ["sayso.db", "sayso.db-wal"] {
        let _ = std::fs::remove_file(to.join(name));
        if store.join(name).exists() {
            std::fs::copy(store.join(name), to.join(name)).unwrap();
        }
    }
}

fn put_back(space: &Space, from: &Path) {
    let store = space.path().join(".sayso");
    for name in ["sayso.db", "sayso.db-wal", "sayso.db-shm"] {
        let _ = std::fs::remove_file(store.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), store.join(name)).unwrap();
        }
    }
}

#[test]
fn an_older_copy_is_named() {
    let space = Space::new(Backend::Sqlite);
    let kept = tempfile::tempdir().unwrap();
    space.ask("coder", &["First?"]);
    copy(space.path(), kept.path());
    // What no person verified in between is missed, too.
    let gate = space.ask("coder", &["Ship it?", "--kind", "approval"]);
    space.ann(&["approve", &gate]).ok();
    let newest = space.audit()[0]["seq"].as_u64().unwrap();
    put_back(&space, kept.path());
    let is_named = || {
        for (who, args) in [
            (Who::Human("ann"), ["audit", "verify"].as_slice()),
            (Who::Script, &["audit", "verify"]),
            (Who::Human("ann"), &["doctor"]),
        ] {
            let ran = space.run(who, args).exits(10);
            ran.says(&format!("entry {newest} is missing or another one")).says("--accept-older");
        }
    };
    is_named();
    // Work goes on, and the chain becomes as long as the other was, and longer: it is another one all the same.
    while space.audit()[0]["seq"].as_u64().unwrap() <= newest + 2 {
        space.ask("coder", &["What now?"]);
    }
    is_named();
    // That is a person's to say, and it is written down.
    for who in [Who::Script, Who::Agent("coder")] {
        space.run(who, &["audit", "verify", "--accept-older"]).exits(5);
    }
    space.ann(&["audit", "verify", "--accept-older"]).ok();
    assert_eq!(space.audit()[0]["action"], "audit.accepted");
    space.verify();
    space.ask("coder", &["And now?"]);
    space.verify();
    space.ann(&["doctor"]).ok();
}

/// It is kept for the space, by whoever uses the machine: another user's is another's.
#[test]
fn what_was_seen_is_kept_in_the_users_state() {
    let space = Space::new(Backend::Sqlite);
    space.ask("coder", &["First?"]);
    let heads = space.path().join("xdg/state/sayso/heads");
    let all: Vec<_> = std::fs::read_dir(&heads).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    let text = std::fs::read_to_string(&all[0]).unwrap();
    let seen: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["head"]["seq"], space.audit()[0]["seq"]);
    // What cannot be kept stands in nobody's way.
    std::fs::remove_dir_all(space.path().join("xdg/state")).unwrap();
    std::fs::write(space.path().join("xdg/state"), "no folder").unwrap();
    space.ask("coder", &["Second?"]);
    space.verify();
}
