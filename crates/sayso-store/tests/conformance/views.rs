//! What is kept beside gates and tasks: messages, credentials, deliveries, notices, runs.

use crate::world::{World, actor, at};
use sayso_core::message::AgentMessage;
use sayso_core::run::{self, Run, RunSpec};
use sayso_core::{GateId, MessageId, Role, RunId, TaskId, TokenId};
use sayso_store::{DeliveryRow, Error, OutboxNotice, TokenRow};

pub(crate) fn messages_are_kept_until_they_are_read(world: &World) {
    let message = |n: u128, to: &str| {
        let id = MessageId::mint(at(0), n << 60);
        AgentMessage {
            id,
            space: world.space,
            handle: id.handle(4),
            to: to.into(),
            from: "ann".into(),
            from_role: Role::Human,
            text: format!("text {n} 'quoted' \0 ✓"),
            sent_at: at(n as i64),
            read_at: None,
        }
    };
    let all = [message(1, "bot"), message(2, "eve"), message(3, "bot"), message(4, "bot")];
    let sent = all.clone();
    world.write(move |write| sent.iter().try_for_each(|message| write.put_message(message)));
    let list = |to: Option<&str>, unread, limit| {
        let page =
            world.store.read(|read| read.messages(world.space, to, unread, None, limit)).unwrap();
        (page.items.iter().map(|m| m.sent_at).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(list(None, false, 9), (vec![at(1), at(2), at(3), at(4)], false));
    assert_eq!(list(Some("bot"), true, 2), (vec![at(1), at(3)], true));
    let behind = |last: &AgentMessage| {
        let page = world.store.read(|read| read.messages(world.space, None, false, Some(last), 2));
        page.unwrap().items.iter().map(|m| m.sent_at).collect::<Vec<_>>()
    };
    assert_eq!(behind(&all[0]), [at(2), at(3)]);
    assert_eq!(behind(&all[3]), []);
    let read = AgentMessage { read_at: Some(at(9)), ..all[0].clone() };
    let written = read.clone();
    world.write(move |write| write.put_message(&written));
    assert_eq!(list(Some("bot"), true, 9), (vec![at(3), at(4)], false));
    assert_eq!(list(Some("bot"), false, 9), (vec![at(1), at(3), at(4)], false));
    assert_eq!(list(None, true, 9), (vec![at(2), at(3), at(4)], false));
    assert_eq!(list(Some("nobody"), false, 9), (vec![], false));
    let named = |name: &str| world.store.read(|read| read.message(world.space, name)).unwrap();
    assert_eq!(named(&read.handle), Some(read.clone()));
    assert_eq!(named(&read.id.to_string()), Some(read.clone()));
    assert_eq!(named(&read.id.to_string().to_lowercase()), Some(read));
    assert_eq!(named("m0000"), None);
}

pub(crate) fn tokens_are_found_by_hash_and_revoked(world: &World) {
    let runs = [RunId::mint(at(0), 1), RunId::mint(at(0), 2)];
    let token = |n: u128, run: Option<RunId>| {
        let id = TokenId::mint(at(n as i64), n << 60);
        TokenRow {
            id,
            space: world.space,
            handle: id.handle(4),
            hash: format!("hash{n}"),
            role: Role::ALL[n as usize % 6],
            name: format!("name {n}"),
            task: run.map(|_| TaskId::mint(at(0), n)),
            run,
            launcher: "ann".into(),
            created_at: at(n as i64),
            expires_at: run.map(|_| at(50)),
            revoked_at: None,
            scopes: None,
        }
    };
    let all =
        [token(1, None), token(2, Some(runs[0])), token(3, Some(runs[0])), token(4, Some(runs[1]))];
    let minted = all.clone();
    world.write(move |write| minted.iter().try_for_each(|token| write.add_token(token)));
    let by_hash = |hash: &str| world.store.read(|read| read.token_by_hash(hash)).unwrap();
    for token in &all {
        assert_eq!(by_hash(&token.hash).as_ref(), Some(token));
        let named = world.store.read(|read| read.token(world.space, &token.handle)).unwrap();
        assert_eq!(named.as_ref(), Some(token));
    }
    assert_eq!(by_hash("hash"), None);
    // With the place where its holder typed a passphrase, and no other's.
    let at_place = |hash: &str| {
        let found = world.store.query(|read| read.credential(hash, "at/")).unwrap();
        found.map(|found| (found.token, found.unlocked_until))
    };
    let (first, space) = (all[0].clone(), world.space);
    let place = |token: &TokenRow| format!("at/{}", token.id);
    assert_eq!(at_place("hash1"), Some((first.clone(), None)));
    assert_eq!(at_place("hash"), None);
    let unlocks = [
        (first.name.clone(), place(&first), at(60)),
        (first.name.clone(), place(&all[1]), at(70)),
        (all[2].name.clone(), place(&all[3]), at(80)),
    ];
    world.write(move |write| {
        let mut all = unlocks.iter();
        all.try_for_each(|(name, place, until)| write.put_unlock(space, name, place, *until))
    });
    assert_eq!(at_place("hash1"), Some((first, Some(at(60)))));
    for other in &all[1..] {
        assert_eq!(at_place(&other.hash), Some((other.clone(), None)));
    }
    let page = world.store.read(|read| read.tokens(world.space, None, 3)).unwrap();
    let newest: Vec<_> = page.items.iter().map(|t| t.created_at).collect();
    assert_eq!((newest, page.more), (vec![at(4), at(3), at(2)], true));
    let page = world.store.read(|read| read.tokens(world.space, Some(all[1].id), 3)).unwrap();
    assert_eq!(page.items.iter().map(|t| t.created_at).collect::<Vec<_>>(), [at(1)]);
    let first = all[0].id;
    world.write(move |write| {
        write.revoke_token(first, at(7))?;
        write.revoke_token(first, at(8))?;
        write.revoke_tokens_of(runs[0], at(9))
    });
    let revoked: Vec<_> = all.iter().map(|t| by_hash(&t.hash).unwrap().revoked_at).collect();
    assert_eq!(revoked, [Some(at(7)), Some(at(9)), Some(at(9)), None]);
    let twin = TokenRow { id: TokenId::mint(at(0), 77), handle: "k9999".into(), ..all[3].clone() };
    let outcome = world.store.write(move |write| write.add_token(&twin));
    assert!(matches!(outcome, Err(Error::Conflict)), "{outcome:?}");
}

pub(crate) fn passphrases_and_unlocks(world: &World) {
    let space = world.space;
    let read = || {
        world
            .store
            .read(|read| {
                let unlocked = read.unlocked_until(space, "ann", "pts/1")?;
                Ok((read.passphrase(space, "ann")?, read.passphrase(space, "bob")?, unlocked))
            })
            .unwrap()
    };
    assert_eq!(read(), (None, None, None));
    world.write(move |write| {
        write.put_passphrase(space, "ann", "first")?;
        write.put_passphrase(space, "ann", "second")?;
        write.put_unlock(space, "ann", "pts/1", at(60))
    });
    assert_eq!(read(), (Some("second".into()), None, Some(at(60))));
    world.write(move |write| write.put_unlock(space, "ann", "pts/1", at(0)));
    assert_eq!(read().2, Some(at(0)));
    let other = world.store.read(|read| read.unlocked_until(space, "ann", "pts/2")).unwrap();
    assert_eq!(other, None);
}

pub(crate) fn deliveries_stay_under_way_until_acknowledged(world: &World) {
    let space = world.space;
    let gates = [3, 1, 2].map(|n| GateId::mint(at(0), n));
    let put = move |n: usize, asker: &'static str, state: &'static str, when| {
        world.write(move |write| {
            let delivery = DeliveryRow { gate: gates[n], asker, state };
            write.put_delivery(space, &delivery, at(when))
        });
    };
    let under_way = |asker: &str, limit| {
        world.store.read(|read| read.deliveries_under_way(space, asker, limit)).unwrap()
    };
    put(0, "bot", "pending", 1);
    put(1, "bot", "pending", 2);
    put(2, "bot", "failed", 2);
    put(2, "eve", "pending", 1);
    assert_eq!(under_way("bot", 9), gates);
    assert_eq!(under_way("bot", 1), gates[..1]);
    put(0, "bot", "delivered", 3);
    assert_eq!(under_way("bot", 9), [gates[1], gates[2], gates[0]]);
    put(1, "bot", "acknowledged", 4);
    put(2, "bot", "acknowledged", 4);
    assert_eq!(under_way("bot", 9), [gates[0]]);
    assert_eq!(under_way("eve", usize::MAX), [gates[2]]);
}

pub(crate) fn notice(world: &World, id: &str) -> OutboxNotice {
    let (channel, body) = ("web".into(), format!("{{\"about\":\"{id}\"}}"));
    OutboxNotice { id: id.into(), space: world.space, channel, body, attempts: 0 }
}

pub(crate) fn notices_come_back_until_they_are_settled(world: &World) {
    let add = |id: &str, due| {
        let notice = notice(world, id);
        world.write(move |write| write.add_notice(&notice, at(due)));
    };
    let space = world.space;
    let claim_of = move |channel: &'static str, now, limit| {
        move |write: &mut sayso_store::WriteTransaction<'_>| {
            write.claim_notices(space, &[channel], at(now), at(now + 30), limit)
        }
    };
    let claim = |now, limit| {
        assert_eq!(world.write(claim_of("mail", now, limit)), [], "another channel's");
        let taken = world.write(claim_of("web", now, limit));
        taken.into_iter().map(|n| (n.id, n.attempts)).collect::<Vec<_>>()
    };
    let told = |list: &[(&str, u32)]| -> Vec<_> {
        list.iter().map(|(id, attempts)| (String::from(*id), *attempts)).collect()
    };
    add("late", 20);
    add("b", 10);
    add("a", 10);
    // The same again is told once, and as it was first said.
    add("a", 5);
    assert_eq!(claim(9, 9), []);
    assert_eq!(claim(10, 1), told(&[("a", 1)]));
    assert_eq!(claim(10, 9), told(&[("b", 1)]));
    assert_eq!(claim(39, 9), told(&[("late", 1)]));
    // The lease of the first two ran out at 40: whoever held them may be gone.
    assert_eq!(claim(40, 9), told(&[("a", 2), ("b", 2)]));
    world.write(|write| {
        write.settle_notice("a", at(41))?;
        write.fail_notice("b", "no route \0 to host", at(50))
    });
    assert_eq!(claim(49, 9), []);
    assert_eq!(claim(50, 9), told(&[("b", 3)]));
    world.write(|write| {
        write.settle_notice("b", at(51))?;
        // Too late: what was sent stays sent.
        write.fail_notice("b", "late", at(52))
    });
    add("a", 60);
    assert_eq!(claim(1_000, 9), told(&[("late", 2)]));
    world.write(|write| write.settle_notice("late", at(1_001)));
    let whole = notice(world, "whole");
    let again = OutboxNotice { attempts: 1, ..whole.clone() };
    world.write(move |write| write.add_notice(&whole, at(2_000)));
    assert_eq!(world.write(claim_of("web", 2_000, 1)).pop(), Some(again));
}

pub(crate) fn one_notice_is_taken_once_and_for_one_channel(world: &World) {
    let space = world.space;
    for id in ["a", "b"] {
        let notice = OutboxNotice { channel: "deed@".into(), ..notice(world, id) };
        world.write(move |write| write.add_notice(&notice, at(10)));
    }
    let under_way = |channels: &'static str| {
        let all = world.write(move |write| write.notices_under_way(space, channels, 9));
        let what =
            |u: sayso_store::PendingNotice| (u.notice.id, u.notice.channel, u.notice.attempts);
        all.into_iter().map(what).collect::<Vec<_>>()
    };
    let claim = |id: &'static str, now| {
        world.write(move |write| write.claim_notice(id, "deed@here", at(now), at(now + 30)))
    };
    assert_eq!(under_way("mail"), []);
    assert_eq!(under_way("deed@").len(), 2);
    assert!(!claim("a", 9), "not due yet");
    assert!(claim("a", 10) && !claim("a", 10), "somebody has it");
    assert!(!claim("c", 10), "there is none");
    assert_eq!(
        under_way("deed@"),
        [("b".into(), "deed@".into(), 0), ("a".into(), "deed@here".into(), 1)]
    );
    assert_eq!(under_way("deed@here").len(), 1);
    assert!(claim("a", 40), "whoever had it is gone");
    world.write(|write| write.fail_notice("a", "no such program", at(50)));
    let failed = world.write(|write| write.notice_under_way("a")).unwrap();
    assert_eq!((failed.due_at, failed.error.as_deref()), (at(50), Some("no such program")));
    world.write(|write| write.settle_notice("a", at(51)));
    assert!(!claim("a", 99), "what is settled stays settled");
    assert_eq!(world.write(|write| write.notice_under_way("a")), None);
}

pub(crate) fn what_was_told_is_found_by_its_beginning(world: &World) {
    let space = world.space;
    let channels = [
        ("01A/x/1", "web"),
        ("01A/y", "mail"),
        ("01AB/x", "web"),
        ("01A", "web"),
        ("01A/z", "deed@"),
    ];
    for (due, (id, channel)) in channels.into_iter().enumerate() {
        let notice = OutboxNotice { channel: channel.into(), ..notice(world, id) };
        world.write(move |write| write.add_notice(&notice, at(10 + due as i64)));
    }
    let under = || world.write(|write| write.notices_under("01A", 9));
    let ids: Vec<_> = under().into_iter().map(|told| told.under_way.notice.id).collect();
    assert_eq!(ids, ["01A/x/1", "01A/y", "01A/z"]);
    let next = |channels: &'static [&'static str]| {
        world.write(move |write| write.next_notice(space, channels))
    };
    assert_eq!(next(&["web"]), Some(at(10)));
    assert_eq!(next(&["mail", "deed@"]), Some(at(11)));
    assert_eq!((next(&["chat"]), next(&[])), (None, None));
    world.write(|write| {
        write.settle_notice("01A/x/1", at(20))?;
        write.drop_notice("01A/y", "not needed", at(21))?;
        // What was sent stays sent.
        write.drop_notice("01A/x/1", "not needed", at(22))
    });
    let told = under();
    let state = |n: usize| (told[n].settled_at, told[n].under_way.error.as_deref());
    assert_eq!(state(0), (Some(at(20)), None));
    assert_eq!(state(1), (Some(at(21)), Some("not needed")));
    assert_eq!(state(2), (None, None));
    let people = world.write(move |write| write.notices_to_people(space, 9));
    let ids: Vec<_> = people.into_iter().map(|under_way| under_way.notice.id).collect();
    assert_eq!(ids, ["01AB/x", "01A"], "orders to machines are not for people");
    assert_eq!(next(&["web", "mail"]), Some(at(12)));
}

pub(crate) fn what_was_told_long_ago_is_swept(world: &World) {
    let open = world.gate(|_| {}).opened.id;
    let gone = GateId::mint(at(0), 77);
    let ids = [
        format!("{gone}/old"),
        format!("{gone}/recent"),
        format!("{gone}/unsettled"),
        format!("{open}/old"),
        "nudge/old".to_owned(),
    ];
    for id in &ids {
        let notice = notice(world, id);
        world.write(move |write| write.add_notice(&notice, at(1)));
    }
    let settled = ids.clone();
    world.write(move |write| {
        write.settle_notice(&settled[0], at(5))?;
        write.settle_notice(&settled[1], at(50))?;
        write.settle_notice(&settled[3], at(5))?;
        write.settle_notice(&settled[4], at(5))
    });
    // In pieces, from its beginning to its end, and then anew.
    let mut from = String::new();
    let mut pieces = 0;
    while let Some(last) = {
        let from = from.clone();
        world.write(move |write| write.sweep_notices(&from, at(40), 2))
    } {
        from = last;
        pieces += 1;
        assert!(pieces <= ids.len());
    }
    assert!(pieces >= 2, "it was swept at one go");
    let there = |id: &str| {
        let (beginning, _) = id.split_once('/').unwrap();
        let told = world.store.read(|read| read.notices_under(beginning, 9)).unwrap();
        told.iter().any(|told| told.under_way.notice.id == id)
    };
    let left: Vec<_> = ids.iter().map(|id| there(id)).collect();
    // What was settled lately, what is not settled, and what is about a gate that waits.
    assert_eq!(left, [false, true, true, true, false]);
}

pub(crate) fn runs_are_what_they_were_told_last(world: &World) {
    let started = RunSpec {
        id: RunId::mint(at(0), 5),
        space: world.space,
        task: TaskId::mint(at(0), 6),
        agent: "claude".into(),
        launcher: "ann".into(),
        fence: 1,
        lease_until: at(60),
        holder: run::LeaseHolder { host: "here".into(), ..run::LeaseHolder::default() },
        session: None,
    };
    let (id, task) = (started.id, started.task);
    let worker = actor(Role::Operator, "worker");
    let mut state: Option<Run> = None;
    let mut version = 0;
    for command in [
        run::RunCommand::Start(Box::new(started)),
        run::RunCommand::Name { session: "s'1".into() },
        run::RunCommand::Renew { fence: 1, until: at(120) },
        run::RunCommand::End {
            fence: 1,
            how: run::RunEndKind::Completed,
            note: "done".into(),
            spent: run::RunUsage { cost_micros: 7, ..run::RunUsage::default() },
        },
    ] {
        for event in run::decide(state.as_ref(), &command, &worker, at(10)).unwrap() {
            state = run::apply(state, &event, at(10));
            version += 1;
        }
        let now = state.clone().unwrap();
        world.write(move |write| write.put_run(&now, version));
        let read = world.store.read(|read| read.run(id)).unwrap();
        assert_eq!(read, state.clone().map(|run| (run, version)));
        let of_task = world.store.read(|read| read.runs_of(task, 9)).unwrap();
        assert_eq!(of_task, state.clone().into_iter().collect::<Vec<_>>());
        let live = world.store.read(|read| read.live_runs(world.space, 9)).unwrap();
        assert_eq!(live.len(), usize::from(of_task[0].state == run::RunState::Running));
    }
    assert_eq!(version, 4);
    assert_eq!(world.store.read(|read| read.run(RunId::mint(at(0), 9))).unwrap(), None);
}

/// PostgreSQL has no such text, so SQLite does not take it either.
pub(crate) fn no_column_takes_a_nul(world: &World) {
    let space = world.space;
    let outcome = world.store.write(move |write| write.put_passphrase(space, "a\0b", "hash"));
    assert!(matches!(outcome, Err(Error::Other(_))), "{outcome:?}");
    let found = world.store.read(|read| read.passphrase(space, "a\0b")).unwrap();
    assert_eq!(found, None);
    assert_eq!(world.store.read(|read| read.events("x\0")).unwrap(), []);
}
