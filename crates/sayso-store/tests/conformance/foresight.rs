//! Foresight: what was asked early is what would have been heard, whatever is written on the way.

use crate::world::{World, actor, ann, at};
use sayso_core::audit::ChainEntry;
use sayso_core::gate::{self, Card, GateCommand, GateSpec};
use sayso_core::id::HANDLE_LEN_MIN;
use sayso_core::{Answer, AnswerShape, FlowId, GateId, GateKind, IdentityProof, Role, SpaceId};
use sayso_store::{
    GateRows, HandleTable, OutboxNotice, PrefetchPlan, ResponseKey, Result, StoredResponse,
    StoredSetting, WriteTransaction,
};

/// Hands a command to a gate, as a part of a write.
fn on_gate(
    write: &mut WriteTransaction<'_>,
    space: SpaceId,
    id: GateId,
    command: &GateCommand,
) -> Result<()> {
    let (mut gate, mut version) = match write.gate_view(id)? {
        Some((gate, version)) => (Some(gate), version),
        None => (None, 0),
    };
    let now = at(500);
    let mut rows = vec![];
    for event in gate::decide(gate.as_ref(), command, &ann(), now).unwrap() {
        version += 1;
        rows.push((format!("gate/{id}"), version, serde_json::to_string(&event).unwrap()));
        gate = gate::apply(gate, &event, now);
    }
    let gate = gate.unwrap();
    write.append(ChainEntry::new(&ann(), space, now, "test.done", gate.handle()), &rows)?;
    write.put_gate(&gate, version)
}

fn open(write: &mut WriteTransaction<'_>, space: SpaceId, id: GateId, handle: &str) -> Result<()> {
    let card = Card {
        question: "Ship it?".into(),
        narrative: String::new(),
        facts: vec![],
        shape: AnswerShape::Verdict,
    };
    let lineage = actor(Role::Operator, "bot").lineage();
    let opened = GateSpec::new(id, space, handle, GateKind::Approval, card, lineage);
    let opened = GateSpec { least_proof: IdentityProof::None, ..opened };
    on_gate(write, space, id, &GateCommand::Open(Box::new(opened)))
}

fn rows(write: &mut WriteTransaction<'_>, id: GateId) -> Result<GateRows> {
    write.gate_rows(&format!("gate/{id}"), id)
}

pub(crate) fn a_gate_is_as_it_was_left(world: &World) {
    let (gate, space) = (world.gate(|_| ()), world.space);
    let (id, digest) = (gate.opened.id, gate.digest.to_string());
    let foresight = PrefetchPlan::of(space).ending_gate(id, 9).gate(id);
    let foreseen = world.store.write_prefetched(foresight, move |write| {
        write.lock(space)?;
        let before = rows(write, id)?;
        assert_eq!(before, rows(write, id)?, "asked twice, it says the same");
        let command = GateCommand::Answer { answer: Answer::approved(), digest: digest.clone() };
        on_gate(write, space, id, &command)?;
        Ok((before, rows(write, id)?))
    });
    let (before, after) = foreseen.unwrap();
    assert_eq!((before.events.len(), before.view.map(|view| view.version)), (1, Some(1)));
    assert_eq!((after.events.len(), after.view.as_ref().map(|view| view.version)), (2, Some(2)));
    // The entry that covers the ending comes with it.
    let ending = after.events.last().map(|event| event.audit);
    assert_eq!(after.entries.first().map(|entry| entry.seq), ending);
    assert_eq!(world.write(move |write| rows(write, id)), after);
}

pub(crate) fn a_handle_that_was_free_is_taken_on_the_way(world: &World) {
    let space = world.space;
    let [mine, others] = [1, 2].map(|last| GateId::mint(at(0), 0xabcd << 60 | last));
    let short = mine.handle(HANDLE_LEN_MIN);
    let of = |id: GateId| move |len| id.handle(len);
    let foresight = PrefetchPlan::of(space).new_gate(mine);
    let given = world.store.write_prefetched(foresight, move |write| {
        write.lock(space)?;
        let before = write.free_handle(HandleTable::Gates, space, of(mine))?;
        open(write, space, others, &before)?;
        Ok((before, write.free_handle(HandleTable::Gates, space, of(mine))?))
    });
    let (before, after) = given.unwrap();
    assert_eq!(before, short);
    assert!(after.len() > short.len(), "{after} is taken");
}

pub(crate) fn everything_else_is_seen_as_it_is_then(world: &World) {
    let (space, gate) = (world.space, world.gate(|_| ()).opened.id);
    let flow = FlowId::mint(at(1), 9);
    let key = ResponseKey { credential: "c".into(), request: "r".into(), part: 0 };
    let foresight = PrefetchPlan::of(space).ending_gate(gate, 9).flow(flow).reply(key.clone());
    let told = move |write: &mut WriteTransaction<'_>| write.notices_under(&gate.to_string(), 9);
    let done = world.store.write_prefetched(foresight, move |write| {
        write.lock(space)?;
        let stream = format!("flow/{flow}");
        assert!(told(write)?.is_empty() && write.events(&stream)?.is_empty());
        assert!(write.reply(space, &key)?.is_none());
        assert_eq!(write.settings_seq(space)?, 0);
        let (id, channel, body) = (format!("{gate}/notify"), "web".to_owned(), "{}".to_owned());
        write.add_notice(&OutboxNotice { id, space, channel, body, attempts: 0 }, at(2))?;
        assert_eq!(told(write)?.len(), 1);
        assert_eq!(write.claim_notices(space, &["web"], at(3), at(9), 9)?.len(), 1);
        assert_eq!(told(write)?[0].under_way.notice.attempts, 1, "taken by somebody else");
        write.drop_notice(&format!("{gate}/notify"), "why", at(4))?;
        assert!(told(write)?[0].settled_at.is_some());
        let event = crate::world::event(&stream, 1);
        write.append(crate::world::entry(space, at(501)), &[event])?;
        assert_eq!(write.events(&stream)?.len(), 1);
        let reply = StoredResponse { digest: "d".into(), body: "{}".into() };
        write.add_reply(space, &key, &reply, at(5), at(1))?;
        assert_eq!(write.reply(space, &key)?, Some(reply));
        write.put_setting(space, &setting())?;
        write.settings_seq(space)
    });
    assert_eq!(done.unwrap(), 77);
}

fn setting() -> StoredSetting {
    StoredSetting {
        kind: "person".into(),
        name: "ann".into(),
        seq: 77,
        set_by: "ann".into(),
        set_at: at(6),
        body: Some("{}".into()),
    }
}
