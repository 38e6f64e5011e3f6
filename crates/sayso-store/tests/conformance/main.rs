//! One suite that every place a store can be in must pass: memory, SQLite and PostgreSQL.
//!
//! A case is a function of a [`World`]: a fresh store with a space in it. Each runs on all three
//! places, and at the end of each the audit chain must hold and cover every event. What only one
//! place can do (files, a server that goes away) has tests of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crowd;
mod files;
mod finding;
mod foresight;
mod gates;
mod inbox;
mod log;
mod plans;
mod schema;
mod server;
mod settings;
mod site;
mod tasks;
mod views;
mod waking;
mod world;

use site::Site;
use world::World;

/// Runs a case in a fresh world and checks what must hold after every case.
fn exercise(site: Site, case: fn(&World)) {
    let world = World::new(site);
    case(&world);
    world.verify();
}

macro_rules! exercise_everywhere {
    ($($module:ident: $($case:ident)*;)*) => {
        exercise_everywhere!(@place memory; $($module: $($case)*;)*);
        exercise_everywhere!(@place sqlite; $($module: $($case)*;)*);
        exercise_everywhere!(@place postgres; $($module: $($case)*;)*);
    };
    (@place $place:ident; $($module:ident: $($case:ident)*;)*) => {
        mod $place {
            $(mod $module {
                $(#[test]
                fn $case() {
                    crate::exercise(crate::Site::$place(), crate::$module::$case);
                })*
            })*
        }
    };
}

exercise_everywhere! {
    log:
        a_space_is_found_by_its_name
        a_deleted_space_stays_to_be_seen
        an_append_moves_the_head
        streams_and_the_chain_are_read_in_pages
        a_version_that_is_taken_leaves_nothing_behind
        an_error_undoes_the_whole_write
        an_error_that_was_passed_over_is_not_committed
        a_panic_undoes_the_write_and_nothing_else
        only_the_space_that_is_there_is_written_to;
    gates:
        a_view_follows_its_gate
        a_look_sees_what_was_committed_last
        lists_by_state_task_asker_and_kind
        pages_have_no_gaps_and_no_doubles
        what_is_put_off_is_left_out
        open_gates_are_counted_up_to_a_limit;
    foresight:
        a_gate_is_as_it_was_left
        a_handle_that_was_free_is_taken_on_the_way
        everything_else_is_seen_as_it_is_then;
    inbox:
        gates_that_ask_the_same_are_found_while_they_wait
        what_waits_is_listed_by_kind_and_asker
        what_waits_is_read_in_turns
        endings_under_way_are_found_by_time;
    tasks:
        the_ready_come_by_priority_and_age
        a_blocker_counts_until_it_is_closed
        a_child_counts_until_it_is_closed
        a_child_counts_where_it_is_moved_to
        neighbours_may_come_in_any_order
        a_deferred_task_is_ready_at_its_time
        a_task_that_waits_for_a_person_is_not_ready
        what_a_flow_leads_is_not_ready_while_it_goes_on
        filters_by_what_tasks_are
        filters_by_what_they_wait_for
        what_is_under_an_epic
        pages_have_no_gaps_and_no_doubles
        circles_are_seen;
    finding:
        by_handle_prefix_and_id
        hostile_names_find_nothing
        in_another_space
        a_handle_grows_where_it_is_taken;
    views:
        messages_are_kept_until_they_are_read
        tokens_are_found_by_hash_and_revoked
        passphrases_and_unlocks
        deliveries_stay_under_way_until_acknowledged
        notices_come_back_until_they_are_settled
        one_notice_is_taken_once_and_for_one_channel
        what_was_told_is_found_by_its_beginning
        what_was_told_long_ago_is_swept
        runs_are_what_they_were_told_last
        no_column_takes_a_nul;
    settings:
        the_last_word_counts_and_what_is_gone_leaves_its_number
        requests_are_read_in_pages_and_counted
        what_is_due_comes_by_its_time;
    crowd:
        many_threads_share_one_writer
        many_stores_write_to_one_place
        two_senders_never_take_the_same_notice;
    waking:
        a_waiter_is_woken_and_does_not_look_by_itself
        a_waiter_is_woken_by_the_group
        one_who_leaves_does_not_deafen_the_others
        those_who_are_near_hear_of_each_commit
        nothing_said_means_a_slow_look;
}
