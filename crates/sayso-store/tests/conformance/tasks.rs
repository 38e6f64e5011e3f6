//! The views of tasks: what is ready, what waits, what is part of what.

use crate::world::{World, at, ids};
use sayso_core::flow::{self, Flow, FlowEndKind, FlowLogEvent, FlowSpec};
use sayso_core::task::{TaskCommand, TaskEdit, TaskStatus};
use sayso_core::{FlowId, GateKind, TaskId};
use sayso_store::{FlowFilter, TaskFilter};
use std::collections::BTreeSet;

fn filter() -> TaskFilter {
    TaskFilter { limit: 100, ..Default::default() }
}

fn counts(world: &World, id: TaskId) -> (u64, u64) {
    let row = world.row(id);
    (row.blockers, row.open_children)
}

pub(crate) fn the_ready_come_by_priority_and_age(world: &World) {
    let [late, early, urgent, some_day] =
        [2, 2, 0, 4].map(|priority| world.task(|t| t.priority = priority).id);
    let (early, late) = (late, early);
    assert_eq!(world.ready(), [urgent, early, late, some_day]);
    world.edit(some_day, TaskEdit { priority: Some(1), ..Default::default() });
    assert_eq!(world.ready(), [urgent, some_day, early, late]);
    world.on_task(urgent, TaskCommand::Start { run: None });
    world.close(early);
    world.on_task(late, TaskCommand::Fail { reason: "no".into() });
    assert_eq!(world.ready(), [some_day]);
    world.reopen(early);
    assert_eq!(world.ready(), [some_day, early]);
    let page = world.tasks(TaskFilter { ready_at: Some(world.tick()), limit: 1, ..filter() });
    assert_eq!((ids(&page), page.more), (vec![some_day], true));
    // At the moment before it was made a task cannot be taken.
    let before = TaskFilter { ready_at: Some(at(0)), ..filter() };
    assert_eq!(ids(&world.tasks(before)), []);
}

pub(crate) fn a_blocker_counts_until_it_is_closed(world: &World) {
    let [first, second] = [world.task(|_| ()).id, world.task(|_| ()).id];
    let blocked = world.task(|t| t.blocked_by = BTreeSet::from([first])).id;
    assert_eq!((counts(world, blocked), world.ready()), ((1, 0), vec![first, second]));
    world.on_task(blocked, TaskCommand::AddDependency { on: second });
    assert_eq!(counts(world, blocked).0, 2);
    let list = ids(&world.tasks(TaskFilter { blocked: true, ..filter() }));
    assert_eq!(list, [blocked]);
    world.close(first);
    assert_eq!(counts(world, blocked).0, 1);
    world.on_task(second, TaskCommand::Delete { reason: "no".into(), open_children: 0 });
    assert_eq!((counts(world, blocked).0, world.ready()), (0, vec![blocked]));
    world.reopen(first);
    assert_eq!((counts(world, blocked).0, world.ready()), (1, vec![first]));
    // Failing is not the end of a task, and so not of the wait for it.
    world.on_task(first, TaskCommand::Fail { reason: "no".into() });
    assert_eq!(counts(world, blocked).0, 1);
    world.on_task(blocked, TaskCommand::RemoveDependency { on: first });
    assert_eq!((counts(world, blocked).0, world.ready()), (0, vec![blocked]));
    assert_eq!(ids(&world.tasks(TaskFilter { blocked: true, ..filter() })), []);
}

pub(crate) fn a_child_counts_until_it_is_closed(world: &World) {
    let epic = world.task(|_| ()).id;
    let [one, two] = [0, 1].map(|_| world.task(|t| t.parent = Some(epic)).id);
    assert_eq!((counts(world, epic), world.ready()), ((0, 2), vec![one, two]));
    world.close(one);
    assert_eq!(counts(world, epic).1, 1);
    let open = world.store.read(|read| read.open_children(epic)).unwrap();
    assert_eq!(open, [two]);
    world.close(two);
    assert_eq!((counts(world, epic).1, world.ready()), (0, vec![epic]));
    world.reopen(two);
    assert_eq!((counts(world, epic).1, world.ready()), (1, vec![two]));
}

pub(crate) fn a_child_counts_where_it_is_moved_to(world: &World) {
    let [from, to] = [world.task(|_| ()).id, world.task(|_| ()).id];
    let [child, done] = [0, 1].map(|_| world.task(|t| t.parent = Some(from)).id);
    world.close(done);
    let move_to =
        |child, parent| world.edit(child, TaskEdit { parent: Some(parent), ..Default::default() });
    move_to(child, Some(to));
    move_to(done, Some(to));
    assert_eq!((counts(world, from).1, counts(world, to).1), (0, 1));
    world.reopen(done);
    assert_eq!((counts(world, from).1, counts(world, to).1), (0, 2));
    move_to(child, None);
    move_to(done, None);
    assert_eq!((counts(world, from).1, counts(world, to).1), (0, 0));
    assert_eq!(world.ready(), [from, to, child, done]);
}

/// As when views are made again from the log: a task may come after those that depend on it.
pub(crate) fn neighbours_may_come_in_any_order(world: &World) {
    let (epic, blocker) = (TaskId::mint(at(0), 1 << 70), TaskId::mint(at(0), 1 << 71));
    let child = world.task(|t| {
        (t.parent, t.blocked_by) = (Some(epic), BTreeSet::from([blocker]));
    });
    assert_eq!(counts(world, child.id), (0, 0));
    world.task(|t| t.id = blocker);
    assert_eq!(counts(world, child.id), (1, 0));
    world.task(|t| t.id = epic);
    assert_eq!(counts(world, epic), (0, 1));
    assert_eq!(world.ready(), [blocker]);
}

pub(crate) fn a_deferred_task_is_ready_at_its_time(world: &World) {
    let [until, for_ever] = [world.task(|_| ()).id, world.task(|_| ()).id];
    world.on_task(until, TaskCommand::Defer { until: Some(at(500)) });
    world.on_task(for_ever, TaskCommand::Defer { until: None });
    let ready = |now| ids(&world.tasks(TaskFilter { ready_at: Some(now), ..filter() }));
    assert_eq!(ready(at(499)), []);
    assert_eq!(ready(at(500)), [until]);
    assert_eq!(ready(at(1_000_000)), [until]);
    world.reopen(for_ever);
    assert_eq!(ready(at(499)), [for_ever]);
}

pub(crate) fn a_task_that_waits_for_a_person_is_not_ready(world: &World) {
    let task = world.task(|_| ()).id;
    let gates = [world.ask(task, GateKind::Input), world.ask(task, GateKind::Escalation)];
    assert_eq!(world.ready(), []);
    world.settle(&gates[0]);
    assert_eq!(world.ready(), []);
    world.settle(&gates[1]);
    assert_eq!(world.ready(), [task]);
    let last = world.ask(task, GateKind::Approval);
    world.settle(&last);
    assert_eq!((world.row(task).task.status, world.ready()), (TaskStatus::Closed, vec![]));
}

pub(crate) fn filters_by_what_tasks_are(world: &World) {
    let bug = world
        .task(|t| (t.sort, t.labels) = ("bug".into(), ["ui", "a'b%"].map(String::from).into()))
        .id;
    let urgent = world.task(|t| (t.priority, t.labels) = (0, [String::from("ui")].into())).id;
    let [closed, failed, deleted] = [0, 1, 2].map(|_| world.task(|_| ()).id);
    world.close(closed);
    world.on_task(failed, TaskCommand::Fail { reason: "no".into() });
    world.on_task(deleted, TaskCommand::Delete { reason: "no".into(), open_children: 0 });
    let list = |filter: TaskFilter| ids(&world.tasks(filter));
    assert_eq!(list(filter()), [urgent, bug, failed]);
    assert_eq!(list(TaskFilter { all: true, ..filter() }), [urgent, bug, closed, failed]);
    let with = |statuses: &[TaskStatus]| list(TaskFilter { statuses: statuses.into(), ..filter() });
    assert_eq!(with(&[TaskStatus::Closed]), [closed]);
    assert_eq!(with(&[TaskStatus::Deleted]), [deleted]);
    assert_eq!(
        with(&[TaskStatus::Failed, TaskStatus::Open, TaskStatus::Closed]),
        [urgent, bug, closed, failed]
    );
    let labelled = |label: &str| list(TaskFilter { label: Some(label.into()), ..filter() });
    assert_eq!(labelled("ui"), [urgent, bug]);
    assert_eq!(labelled("a'b%"), [bug]);
    assert_eq!(labelled("u%"), []);
    assert_eq!(list(TaskFilter { sort: Some("bug".into()), ..filter() }), [bug]);
    assert_eq!(list(TaskFilter { priority: Some(0), ..filter() }), [urgent]);
    let unlabel = TaskEdit { remove_labels: [String::from("ui")].into(), ..Default::default() };
    world.edit(bug, unlabel);
    assert_eq!(labelled("ui"), [urgent]);
    let both = TaskFilter {
        label: Some("ui".into()),
        sort: Some("task".into()),
        priority: Some(0),
        ..filter()
    };
    assert_eq!(list(both), [urgent]);
    let names = world
        .store
        .read(|read| read.task_names(world.space, &[closed, TaskId::mint(at(0), 1), bug]))
        .unwrap();
    let states: Vec<_> = names.iter().map(|(id, _, status)| (*id, *status)).collect();
    assert_eq!(states, [(closed, TaskStatus::Closed), (bug, TaskStatus::Open)]);
}

pub(crate) fn filters_by_what_they_wait_for(world: &World) {
    let [input, review, both, none] = [0, 1, 2, 3].map(|_| world.task(|_| ()).id);
    let answered = world.ask(input, GateKind::Input);
    world.ask(review, GateKind::Review);
    world.ask(both, GateKind::Input);
    world.ask(both, GateKind::Review);
    let waiting = |kinds: &[GateKind]| {
        ids(&world.tasks(TaskFilter { awaiting: Some(kinds.into()), ..filter() }))
    };
    assert_eq!(waiting(&[]), [input, review, both]);
    assert_eq!(waiting(&[GateKind::Input]), [input, both]);
    assert_eq!(waiting(&[GateKind::Review, GateKind::Tool]), [review, both]);
    assert_eq!(waiting(&[GateKind::Tool]), []);
    world.settle(&answered);
    assert_eq!(waiting(&[GateKind::Input]), [both]);
    assert_eq!(world.ready(), [input, none]);
}

pub(crate) fn what_is_under_an_epic(world: &World) {
    let top = world.task(|_| ()).id;
    let mut chain = vec![top];
    for _ in 0..30 {
        let parent = chain.last().copied();
        chain.push(world.task(|t| t.parent = parent).id);
    }
    let beside = world.task(|t| t.parent = Some(top)).id;
    let stranger = world.task(|_| ()).id;
    let under = |id| ids(&world.tasks(TaskFilter { under: Some(id), ..filter() }));
    assert_eq!(under(top), [&chain[1..], &[beside]].concat());
    assert_eq!(under(chain[29]), [chain[30]]);
    assert_eq!(under(stranger), []);
    let children = |id| ids(&world.tasks(TaskFilter { parent: Some(id), ..filter() }));
    assert_eq!(children(top), [chain[1], beside]);
    world.close(chain[30]);
    assert_eq!(under(chain[29]), []);
    let all = TaskFilter { under: Some(chain[29]), all: true, ..filter() };
    assert_eq!(ids(&world.tasks(all)), [chain[30]]);
    let ready = TaskFilter { under: Some(top), ready_at: Some(world.tick()), ..filter() };
    assert_eq!(ids(&world.tasks(ready)), [chain[29], beside]);
}

pub(crate) fn pages_have_no_gaps_and_no_doubles(world: &World) {
    // Several share a priority and a moment: then the id decides.
    let moment = world.tick();
    let label = [String::from("l")];
    for n in 0..40 {
        world.task_at(moment.plus_micros(n / 7), |t| {
            (t.priority, t.labels) = ((n % 3) as u8, label.clone().into());
        });
    }
    let now = Some(world.tick());
    let mut read_through = 0;
    for list in [
        filter(),
        TaskFilter { ready_at: now, ..filter() },
        TaskFilter { all: true, ..filter() },
        TaskFilter { statuses: vec![TaskStatus::Open], ..filter() },
        TaskFilter { label: Some("l".into()), ..filter() },
    ] {
        let whole = ids(&world.tasks(list.clone()));
        assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), 40);
        for limit in [1, 6, 13, 40] {
            let mut seen = vec![];
            let mut next = TaskFilter { limit, ..list.clone() };
            loop {
                let page = world.tasks(next.clone());
                seen.extend(ids(&page));
                assert!(seen.len() <= 40, "the list has no end");
                if !page.more {
                    break;
                }
                next.after = seen.last().copied();
            }
            assert_eq!(seen, whole, "{next:?}");
            read_through += 1;
        }
    }
    assert_eq!(read_through, 20);
}

pub(crate) fn circles_are_seen(world: &World) {
    let [a, b, c, alone] = [0, 1, 2, 3].map(|_| world.task(|_| ()).id);
    world.on_task(a, TaskCommand::AddDependency { on: b });
    world.on_task(b, TaskCommand::AddDependency { on: c });
    let circle = |task, on| world.store.read(|read| read.would_cycle(task, on)).unwrap();
    assert_eq!([circle(c, a), circle(c, b), circle(b, a), circle(a, a)], [true; 4]);
    assert_eq!([circle(a, c), circle(alone, a), circle(a, alone)], [false; 3]);
    let under = |child, parent| {
        world.edit(child, TaskEdit { parent: Some(Some(parent)), ..Default::default() });
    };
    under(b, a);
    under(c, b);
    let above = |task, parent| world.store.read(|read| read.is_above(task, parent)).unwrap();
    assert_eq!([above(a, c), above(a, b), above(b, c), above(a, a)], [true; 4]);
    assert_eq!([above(c, a), above(b, a), above(alone, c), above(c, alone)], [false; 4]);
    // One that slipped in does not catch the reader.
    under(a, c);
    assert!(above(b, a));
    let loops = ids(&world.tasks(TaskFilter { under: Some(a), ..filter() }));
    assert_eq!(loops.len(), 3);
}

/// A flow that works on a task, as it begins.
pub(crate) fn led(world: &World, task: Option<TaskId>) -> Flow {
    let (at, id) = (world.tick(), FlowId::mint(world.tick(), world.chance()));
    let started = FlowSpec {
        id,
        space: world.space,
        handle: id.handle(4),
        workflow: "release".into(),
        version: "1".into(),
        definition: None,
        title: "1.2".into(),
        task,
        phase: "build".into(),
        state: Default::default(),
        launcher: "ann".into(),
        launcher_role: None,
        place: None,
    };
    let flow = flow::apply(None, &FlowLogEvent::Started(Box::new(started)), at).unwrap();
    put(world, &flow, 1);
    flow
}

fn put(world: &World, flow: &Flow, version: u64) {
    let flow = flow.clone();
    world.write(move |write| write.put_flow(&flow, version));
}

fn end(world: &World, flow: &Flow) {
    let ended =
        FlowLogEvent::Ended { how: FlowEndKind::Cancelled, note: String::new(), state: None };
    put(world, &flow::apply(Some(flow.clone()), &ended, world.tick()).unwrap(), 2);
}

pub(crate) fn what_a_flow_leads_is_not_ready_while_it_goes_on(world: &World) {
    let [free, task] = [world.task(|_| ()).id, world.task(|_| ()).id];
    assert_eq!(world.ready(), [free, task]);
    let first = led(world, Some(task));
    led(world, None);
    assert_eq!(world.ready(), [free]);
    assert_eq!(world.row(task).flow.as_deref(), Some(first.started.handle.as_str()));
    assert_eq!(world.row(free).flow, None);
    assert_eq!(ids(&world.tasks(filter())), [free, task], "lists have it");
    // The one that began last is named; it is free when none goes on with it.
    let second = led(world, Some(task));
    assert_eq!(world.row(task).flow, Some(second.started.handle.clone()));
    end(world, &second);
    assert_eq!(
        (world.ready(), world.row(task).flow),
        (vec![free], Some(first.started.handle.clone()))
    );
    end(world, &first);
    assert_eq!((world.ready(), world.row(task).flow), (vec![free, task], None));
    let flows = |filter: FlowFilter| {
        let page = world.store.read(|read| read.flows(world.space, &filter)).unwrap();
        page.items.into_iter().map(|flow| flow.started.id).collect::<Vec<_>>()
    };
    let over = FlowFilter { over: true, limit: 9, ..FlowFilter::default() };
    assert_eq!(flows(over.clone()), [second.started.id, first.started.id]);
    assert_eq!(flows(FlowFilter { after: Some(second.started.id), ..over }), [first.started.id]);
    assert_eq!(flows(FlowFilter { limit: 9, ..FlowFilter::default() }).len(), 1);
    assert_eq!(flows(FlowFilter { all: true, limit: 9, ..FlowFilter::default() }).len(), 3);
}
