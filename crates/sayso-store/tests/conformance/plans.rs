//! Nothing scans the history: every list has its index, and is read in the index's order.

use crate::site::Site;
use crate::world::{World, at};
use sayso_core::message::AgentMessage;
use sayso_core::task::TaskStatus;
use sayso_core::{FlowId, GateId, GateKind, MessageId, Role, RunId, TaskId, TokenId};
use sayso_store::{FlowFilter, GateFilter, Result, TaskFilter, WriteTransaction};

/// The plan of everything `work` asks for.
fn plan(world: &World, work: impl FnOnce(&mut WriteTransaction<'_>) -> Result<()>) -> String {
    let plans = world.store.explain(work).unwrap();
    assert!(!plans.is_empty());
    plans.into_iter().map(|(sql, steps)| format!("{sql}\n{steps}\n")).collect()
}

/// What may be read from end to end: the few spaces, and what a search has found already.
const SMALL: &[&str] = &[
    "s",
    "found_gates",
    "found_tasks",
    "waiting",
    "asked",
    "behind",
    "above",
    "under",
    "held",
    "json_each",
    // The one row of a SELECT that reads no table.
    "CONSTANT",
];

/// No table or index is read from end to end, and `index` is among those that are used.
fn assert_searches(plan: &str, index: &str) {
    let scanned = plan.lines().filter_map(|line| line.strip_prefix("SCAN ")?.split(' ').next());
    let large: Vec<_> = scanned.filter(|name| !SMALL.contains(name)).collect();
    assert!(large.is_empty(), "reads all of {large:?}:\n{plan}");
    assert!(plan.contains(index), "does not use {index}:\n{plan}");
}

/// Besides, the index has them in order, so that a page costs a page.
fn assert_in_order(plan: &str, index: &str) {
    assert_searches(plan, index);
    assert!(!plan.contains("TEMP B-TREE"), "sorts everything:\n{plan}");
}

#[test]
fn lists_of_gates() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let plan = |filter: GateFilter| {
        let paged = GateFilter { after: Some(GateId::mint(at(0), 1)), ..filter.clone() };
        let both = plan(&world, move |write| {
            write.gates(space, &filter)?;
            write.gates(space, &paged).map(drop)
        });
        assert_eq!(both.matches("SELECT body").count(), 2);
        both
    };
    let filter = GateFilter { limit: 50, ..Default::default() };
    let asker = Some(String::from("bot"));
    let (kinds, awake_at) = (vec![GateKind::Tool, GateKind::Input], Some(at(1)));
    let ended = GateFilter { ended: true, ..filter.clone() };
    assert_in_order(&plan(filter.clone()), "gates_open");
    assert_in_order(&plan(GateFilter { kinds, awake_at, ..filter.clone() }), "gates_open");
    assert_in_order(&plan(ended.clone()), "gates_ended");
    assert_in_order(
        &plan(GateFilter { asker: asker.clone(), ..filter.clone() }),
        "gates_asker_open",
    );
    assert_in_order(&plan(GateFilter { asker, ..ended }), "gates_asker_ended");
    let task = Some(TaskId::mint(at(0), 1));
    assert_in_order(&plan(GateFilter { task, ..filter }), "gates_task");
}

#[test]
fn what_waits_as_cards() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let check = |index: &str, work: &dyn Fn(&mut WriteTransaction<'_>) -> Result<()>| {
        assert_in_order(&plan(&world, work), index);
    };
    check("gates_open", &|write| write.queued_gates(space, &[], None, 9).map(drop));
    check("gates_open", &|write| write.queued_gates(space, &[GateKind::Input], None, 9).map(drop));
    check("gates_asker_open", &|write| write.queued_gates(space, &[], Some("bot"), 9).map(drop));
    check("gates_asker_open", &|write| write.count_asked(space, &[], &["bot"]).map(drop));
    check("gates_same", &|write| write.open_gates_with_key(space, "x", 9).map(drop));
    check("deliveries_at", &|write| write.deliveries_between(space, at(0), at(1), 9).map(drop));
    let some = GateId::mint(at(0), 1);
    check("sqlite_autoindex_gates_1", &|write| write.gate_views(&[some]).map(drop));
    check("sqlite_autoindex_gates_1", &|write| write.queued_gate(some).map(drop));
    check("gates_ended", &|write| write.ended_with(space, some, 9).map(drop));
    let task = TaskId::mint(at(0), 1);
    let behind = plan(&world, move |write| write.dependents(&[task]).map(drop));
    assert_searches(&behind, "dependencies_on");
    check("flows_live", &|write| write.waiting_flows(space, 9).map(drop));
}

#[test]
fn settings_requests_and_what_is_due() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let due = plan(&world, move |write| {
        write.gates_due(space, at(1), 50)?;
        write.next_due(space).map(drop)
    });
    assert_in_order(&due, "gates_due");
    assert_in_order(&plan(&world, move |w| w.settings_seq(space).map(drop)), "settings_seq");
    let requests = plan(&world, move |w| w.requests(space, at(1), None, 50).map(drop));
    assert_in_order(&requests, "requests_at");
    let tally = plan(&world, move |write| write.tally(space, "bot", at(1)).map(drop));
    assert_searches(&tally, "requests_agent");
}

#[test]
fn lists_of_tasks() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let plan = |filter: TaskFilter| {
        let paged = TaskFilter { after: Some(TaskId::mint(at(0), 1)), ..filter.clone() };
        plan(&world, move |write| {
            write.tasks(space, &filter)?;
            write.tasks(space, &paged).map(drop)
        })
    };
    let filter = TaskFilter { limit: 50, ..Default::default() };
    let some = Some(TaskId::mint(at(0), 1));
    let ready = plan(TaskFilter { ready_at: Some(at(1)), ..filter.clone() });
    assert_in_order(&ready, "tasks_ready");
    // Whether a flow leads one is looked up for the few that are shown.
    let looked_up = ["INDEX flows_task (task=?)", "COVERING INDEX flows_task (task=?)"];
    let found = looked_up.map(|index| ready.matches(&format!("SEARCH f USING {index}")).count());
    assert_eq!(found.iter().sum::<usize>(), 4, "{ready}");
    assert_in_order(&plan(filter.clone()), "tasks_live");
    assert_in_order(&plan(TaskFilter { all: true, ..filter.clone() }), "tasks_all");
    assert_in_order(&plan(TaskFilter { blocked: true, ..filter.clone() }), "tasks_live");
    assert_in_order(&plan(TaskFilter { priority: Some(1), ..filter.clone() }), "tasks_live");
    let awaiting = |kinds| TaskFilter { awaiting: Some(kinds), ..filter.clone() };
    assert_in_order(&plan(awaiting(vec![])), "tasks_waiting");
    assert_in_order(&plan(awaiting(vec![GateKind::Input])), "_open (space=?)");
    let with = |statuses| TaskFilter { statuses, ..filter.clone() };
    assert_in_order(&plan(with(vec![TaskStatus::Failed])), "tasks_status");
    assert_searches(&plan(with(vec![TaskStatus::Failed, TaskStatus::Open])), "tasks_status");
    assert_searches(&plan(TaskFilter { label: Some("ui".into()), ..filter.clone() }), "labels");
    assert_in_order(&plan(TaskFilter { parent: some, ..filter.clone() }), "tasks_parent");
    assert_searches(&plan(TaskFilter { under: some, ..filter }), "tasks_parent");
}

#[test]
fn lists_of_flows() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let plan = |filter: FlowFilter| {
        let paged = FlowFilter { after: Some(FlowId::mint(at(0), 1)), ..filter.clone() };
        plan(&world, move |write| {
            write.flows(space, &filter)?;
            write.flows(space, &paged).map(drop)
        })
    };
    let filter = FlowFilter { limit: 50, ..Default::default() };
    assert_in_order(&plan(filter.clone()), "flows_live");
    assert_in_order(&plan(FlowFilter { over: true, ..filter.clone() }), "flows_over");
    assert_in_order(&plan(FlowFilter { all: true, ..filter.clone() }), "flows_all");
    let workflow = Some(String::from("release"));
    assert_in_order(&plan(FlowFilter { all: true, workflow, ..filter }), "flows_of");
}

#[test]
fn finding_things() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let exact_and_prefix = plan(&world, move |write| write.find(space, "g7k").map(drop));
    assert_in_order(&exact_and_prefix, "gates_handle (space=? AND handle>? AND handle<?)");
    assert!(exact_and_prefix.contains("tasks_handle (space=? AND handle>? AND handle<?)"));
    let by_id =
        plan(&world, move |write| write.find(space, &TaskId::mint(at(0), 1).to_string()).map(drop));
    assert_in_order(&by_id, "(id=?)");
    let elsewhere = plan(&world, |write| write.find_in_other_space("g7k").map(drop));
    assert_searches(&elsewhere, "gates_handle");
}

#[test]
fn everything_else_that_is_read() {
    let world = World::new(Site::sqlite());
    let space = world.space;
    let check = |index: &str, work: &dyn Fn(&mut WriteTransaction<'_>) -> Result<()>| {
        assert_in_order(&plan(&world, work), index);
    };
    check("messages_unread", &|write| write.messages(space, Some("bot"), true, None, 9).map(drop));
    check("messages_unread_all", &|write| write.messages(space, None, true, None, 9).map(drop));
    check("messages_to", &|write| write.messages(space, Some("bot"), false, None, 9).map(drop));
    check("messages_all", &|write| write.messages(space, None, false, None, 9).map(drop));
    let last = AgentMessage {
        id: MessageId::mint(at(0), 1),
        space,
        handle: String::new(),
        to: String::new(),
        from: String::new(),
        from_role: Role::Human,
        text: String::new(),
        sent_at: at(0),
        read_at: None,
    };
    let behind =
        |to| plan(&world, |write| write.messages(space, to, true, Some(&last), 9).map(drop));
    assert_in_order(&behind(Some("bot")), "INDEX messages_");
    assert_in_order(&behind(None), "INDEX messages_");
    check("gates_open", &|write| write.count_open_since(space, at(1), 9).map(drop));
    check("gates_ended", &|write| write.gates_ended_since(space, at(1), 9).map(drop));
    check("_open (space=?)", &|write| write.waiting_gates(space, 9).map(drop));
    let last = Some((at(0), sayso_core::GateId::mint(at(0), 1)));
    for after in [None, last] {
        let ended = plan(&world, |write| write.gates_ended_after(space, after, 9).map(drop));
        assert_in_order(&ended, "gates_ended");
    }
    let token = Some(TokenId::mint(at(0), 1));
    check("tokens_all", &|write| write.tokens(space, token, 9).map(drop));
    check("deliveries_under_way", &|write| write.deliveries_under_way(space, "bot", 9).map(drop));
    check("_open (space=?)", &|write| write.count_open_gates(space, 9).map(drop));
    check("PRIMARY KEY", &|write| write.events("gate/x").map(drop));
    check("PRIMARY KEY", &|write| write.events_after(space, "gate/x", 1, 9).map(drop));
    check("PRIMARY KEY", &|write| write.audit_after(space, 1, 9).map(drop));
    check("PRIMARY KEY", &|write| write.audit_last(space, 9).map(drop));
    check("tokens_all", &|write| write.tokens(space, None, 9).map(drop));
    check("sqlite_autoindex_tokens", &|write| write.token_by_hash("x").map(drop));
    check("sqlite_autoindex_tokens", &|write| write.credential("x", "y").map(drop));
    let gate = GateId::mint(at(0), 1);
    let rows = plan(&world, move |write| write.gate_rows("gate/x", gate).map(drop));
    assert_searches(&rows, "PRIMARY KEY");
    assert_searches(&rows, "autoindex_gates");
    check("outbox_due", &|write| write.claim_notices(space, &["web"], at(1), at(2), 9).map(drop));
    check("autoindex_outbox", &|write| write.notice_under_way("x").map(drop));
    check("autoindex_outbox", &|write| write.notices_under("x", 9).map(drop));
    check("autoindex_outbox", &|write| write.drop_notice("x", "y", at(1)).map(drop));
    // All of this index is read: it has nothing but what is under way.
    let people = plan(&world, move |write| write.notices_to_people(space, 9).map(drop));
    assert!(people.contains("SCAN outbox USING INDEX outbox_due"), "{people}");
    let waiting = plan(&world, move |write| write.waiting_notices(space, 9).map(drop));
    assert!(waiting.contains("SCAN outbox USING INDEX outbox_due"), "{waiting}");
    let next = plan(&world, move |write| write.next_notice(space, &["web"]).map(drop));
    assert!(next.contains("SCAN outbox USING INDEX outbox_due"), "{next}");
    let under_way = plan(&world, move |write| write.notices_under_way(space, "web", 9).map(drop));
    assert!(under_way.contains("SCAN outbox USING INDEX outbox_due"), "{under_way}");
    let some = TaskId::mint(at(0), 1);
    assert_searches(&plan(&world, |write| write.open_children(some).map(drop)), "tasks_parent");
    // Whoever looks for a circle walks from task to task.
    let on = TaskId::mint(at(0), 2);
    let walk = plan(&world, |write| write.would_cycle(some, on).map(drop));
    assert_searches(&walk, "SEARCH d USING PRIMARY KEY (task=?)");
    let walk = plan(&world, |write| write.is_above(some, on).map(drop));
    assert_searches(&walk, "SEARCH t USING INDEX sqlite_autoindex_tasks_1 (id=?)");
}

#[test]
fn everything_that_is_written() {
    let world = World::new(Site::sqlite());
    let epic = world.task(|_| ());
    let child = world.task(|t| t.parent = Some(epic.id));
    let gate = world.gate(|_| ());
    let put = plan(&world, move |write| {
        let mut child = child.clone();
        child.status = TaskStatus::Closed;
        child.labels.insert("x".into());
        child.blocked_by.insert(epic.id);
        write.put_task(&child, 2)?;
        write.put_gate(&gate, 2)?;
        write.revoke_tokens_of(RunId::mint(at(0), 1), at(1))
    });
    for index in ["tasks_parent", "dependencies_on", "labels_task", "tokens_run"] {
        assert_searches(&put, index);
    }
    assert!(put.matches("UPDATE tasks").count() >= 3, "{put}");
}

/// PostgreSQL reads small tables whole, and rightly so; here it is told to avoid it if it can.
#[test]
fn postgres_has_an_index_for_every_list() {
    let site = Site::postgres();
    site.tamper(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', \
         current_database()); END $$",
    )
    .unwrap();
    let world = World::new(site);
    let space = world.space;
    let plan = plan(&world, move |write| {
        let (after_gate, after) = (Some(GateId::mint(at(0), 1)), Some(TaskId::mint(at(0), 1)));
        let gates = GateFilter { limit: 9, after: after_gate, ..Default::default() };
        let tasks = TaskFilter { limit: 9, after, ..Default::default() };
        let asker = Some(String::from("bot"));
        write.gates(space, &gates)?;
        write.gates(space, &GateFilter { ended: true, ..gates.clone() })?;
        write.gates(space, &GateFilter { asker, ..gates.clone() })?;
        write.gates(space, &GateFilter { task: after, ..gates })?;
        write.tasks(space, &tasks)?;
        write.tasks(space, &TaskFilter { ready_at: Some(at(1)), ..tasks.clone() })?;
        write
            .tasks(space, &TaskFilter { awaiting: Some(vec![GateKind::Input]), ..tasks.clone() })?;
        write.tasks(space, &TaskFilter { statuses: vec![TaskStatus::Failed], ..tasks.clone() })?;
        write.tasks(space, &TaskFilter { under: after, ..tasks })?;
        write.flows(space, &FlowFilter { limit: 9, ..Default::default() })?;
        write.flows(space, &FlowFilter { over: true, limit: 9, ..Default::default() })?;
        write.find(space, "g7k")?;
        write.queued_gates(space, &[], None, 9)?;
        write.open_gates_with_key(space, "x", 9)?;
        write.deliveries_between(space, at(0), at(1), 9)?;
        write.messages(space, Some("bot"), true, None, 9)?;
        write.deliveries_under_way(space, "bot", 9)?;
        write.claim_notices(space, &["web"], at(1), at(2), 9)?;
        write.next_notice(space, &["web"])?;
        write.notices_under("x", 9)?;
        write.notices_to_people(space, 9)?;
        write.waiting_gates(space, 9)?;
        write.waiting_notices(space, 9)?;
        write.gates_ended_after(space, Some((at(0), sayso_core::GateId::mint(at(0), 1))), 9)?;
        write.revoke_tokens_of(RunId::mint(at(0), 1), at(1))
    });
    assert!(!plan.contains("Seq Scan"), "{plan}");
    assert!(plan.matches("Index").count() >= 17, "{plan}");
}
